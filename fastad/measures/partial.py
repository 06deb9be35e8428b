"""Areas under a part of the receiver operating characteristic."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from fastad._core.arrays import as_readonly
from fastad._core.declared import Choice, OpenRate, Rate
from fastad._core.types import ArrayLike, Count, CountVector, Label, Normalize, Point
from fastad._kernels.curves import early
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import AREA, Extremes, Measure
from fastad.measures.points import (
    Exact,
    at_fraction,
    entry,
    exact,
    height,
    last_within,
    need_both,
    plain,
    quotient,
    twice_area,
)
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.cuts import CurvePart

# Real weights: how far rounding may take an area at chance level below it.
_ROUNDING = Fraction(1, 10**13)
_NORMALIZE = Choice.of("width", "none", "mcclish")


def _auc_at_fpr(
    counts: OrderedCounts, fpr: Fraction, *, min_fpr: Fraction, normalize: Normalize
) -> float:
    need_both(counts, "auc_at_fpr")
    width = check_width(min_fpr, fpr, "min_fpr", "fpr")
    inside = _area_between(
        counts.fps, counts.tps, min_fpr, fpr, counts.n_normals, counts.n_anomalies
    )
    return _normalized(counts, inside, width, lambda: (fpr**2 - min_fpr**2) / 2, normalize)


def _part_up_to_fpr(parameters: Mapping[str, Any]) -> CurvePart:
    return CurvePart(parameters["min_fpr"], parameters["fpr"])


def _range_of_area(parameters: Mapping[str, Any], *, ends: tuple[str, str]) -> tuple[float, float]:
    """Return the lowest and the highest area as it is normalised."""
    low, high = (parameters[name] for name in ends)
    ranges = {"width": (0.0, 1.0), "none": (0.0, float(high - low)), "mcclish": (0.5, 1.0)}
    return ranges[parameters["normalize"]]


AUC_AT_FPR = Measure(
    name="auc_at_fpr",
    title="area under the ROC curve up to a false positive rate",
    key="auc@",
    compute=_auc_at_fpr,
    parameters={"fpr": Rate(), "min_fpr": Rate(default=0.0), "normalize": _NORMALIZE},
    operating_point="fpr",
    curve_part=_part_up_to_fpr,
    rises_with_curve=True,
    extremes=AREA,
    range_at=partial(_range_of_area, ends=("min_fpr", "fpr")),
)


def auc_at_fpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point,
    min_fpr: Point = 0.0,
    normalize: Normalize = "width",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the ROC curve over a range of false positive rates.

    The integral of TPR over FPR in [min_fpr, fpr], on the interpolated curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float
        Upper end of the range, in (0, 1], taken as the decimal that is written.
    min_fpr : float, default 0
        Lower end of the range, in [0, 1).
    normalize : {"width", "none", "mcclish"}, default "width"
        ``"none"``: the area A itself. ``"width"``: A divided by the width w of the range.
        ``"mcclish"``: (1 + (A - c) / (w - c)) / 2 with the area c of chance: 0.5 is chance, 1
        is perfect.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, the range has no width, or A < c under ``"mcclish"``.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 2.2.

    Examples
    --------
    >>> import fastad
    >>> fastad.auc_at_fpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], fpr=0.75)
    0.6666666666666666
    """
    return AUC_AT_FPR.of(
        y_true, y_score, sample_weight, pos_label, fpr=fpr, min_fpr=min_fpr, normalize=normalize
    )


def _auc_at_tpr(
    counts: OrderedCounts, *, min_tpr: Fraction, max_tpr: Fraction, normalize: Normalize
) -> float:
    need_both(counts, "auc_at_tpr")
    passed = as_readonly(counts.n_normals - counts.fps)

    width = check_width(min_tpr, max_tpr, "min_tpr", "max_tpr")
    inside = _area_between(
        counts.tps, passed, min_tpr, max_tpr, counts.n_anomalies, counts.n_normals
    )
    return _normalized(
        counts, inside, width, lambda: width - (max_tpr**2 - min_tpr**2) / 2, normalize
    )


AUC_AT_TPR = Measure(
    name="auc_at_tpr",
    title="area beside the ROC curve from a true positive rate on",
    key="auc@tpr",
    compute=_auc_at_tpr,
    parameters={
        "min_tpr": Rate(default=0.0),
        "max_tpr": Rate(default=1.0),
        "normalize": _NORMALIZE,
    },
    operating_point="min_tpr",
    default_points=(Fraction(9, 10),),
    rises_with_curve=True,
    extremes=AREA,
    range_at=partial(_range_of_area, ends=("min_tpr", "max_tpr")),
)


def auc_at_tpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    min_tpr: Point = 0.0,
    max_tpr: Point = 1.0,
    normalize: Normalize = "width",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area beside the ROC curve over a range of true positive rates.

    The integral of 1 - FPR over TPR in [min_tpr, max_tpr], on the interpolated curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    min_tpr : float, default 0
        Lower end of the range, in [0, 1), taken as the decimal that is written.
    max_tpr : float, default 1
        Upper end of the range, in (0, 1].
    normalize : {"width", "none", "mcclish"}, default "width"
        ``"none"``: the area A itself. ``"width"``: A divided by the width w of the range.
        ``"mcclish"``: (1 + (A - c) / (w - c)) / 2 with the area c of chance: 0.5 is chance, 1
        is perfect.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, the range has no width, or A < c under ``"mcclish"``.

    References
    ----------
    .. [1] X. Robin et al., "pROC: an open-source package for R and S+ to analyze and compare ROC
       curves", 2011: partial areas with a focus on sensitivity.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.auc_at_tpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], min_tpr=0.5)
    0.5
    """
    return AUC_AT_TPR.of(
        y_true,
        y_score,
        sample_weight,
        pos_label,
        min_tpr=min_tpr,
        max_tpr=max_tpr,
        normalize=normalize,
    )


def _area_between(
    xs: CountVector, ys: CountVector, low: Fraction, high: Fraction, total: Count, tallest: Count
) -> tuple[Exact, Exact]:
    """Return the area under a curve of straight pieces between two fractions of a total.

    A quotient in units of the whole square, ``total`` wide and ``tallest`` high.
    """
    # Both ends over one divisor.
    end, divisor = at_fraction(high, total)
    start, other = at_fraction(low, total)
    if divisor != other:
        start, end, divisor = start * divisor, end * other, divisor * other
    first, last = last_within(xs, start, divisor), last_within(xs, end, divisor)
    left, left_over = height(xs, ys, first, start, divisor)
    right, right_over = height(xs, ys, last, end, divisor)
    over = left_over * right_over
    if first == last:
        twice = (end - start) * (left * right_over + right * left_over)
    else:
        # The covered parts of the first piece and of the last, and the whole pieces.
        before = entry(xs, first + 1) * divisor - start
        after = end - entry(xs, last) * divisor
        twice = before * (left + entry(ys, first + 1) * left_over) * right_over
        twice += after * (entry(ys, last) * right_over + right) * left_over
        twice += divisor * over * plain(twice_area(xs, ys, first + 1, last))
    return twice, 2 * divisor * over * plain(total) * plain(tallest)


def check_width(low: Fraction, high: Fraction, low_name: str, high_name: str) -> Fraction:
    """Return the width of a range; raise where it has none."""
    width = high - low
    if width.numerator < 0:
        raise InvalidInputError(
            f"{high_name} must not be less than {low_name}; found {float(high)} < {float(low)}"
        )
    if not width:
        raise UndefinedMeasureError(
            f"the area is undefined over a range of zero width: {low_name} = {high_name} = "
            f"{float(low)}"
        )
    return width


def _normalized(
    counts: OrderedCounts,
    area: tuple[Exact, Exact],
    width: Fraction,
    chance_area: Callable[[], Fraction],
    normalize: Normalize,
) -> float:
    part, whole = area
    if counts.weighting == "real":
        # Rounding may take the area of a perfect order beyond the whole range.
        part = min(part, whole * width)
    if normalize == "none":
        return quotient(part, whole)
    if normalize == "width":
        return quotient(part * width.denominator, whole * width.numerator)
    inside, chance = Fraction(part) / whole, chance_area()
    if counts.weighting == "real" and abs(inside - chance) < _ROUNDING * chance:
        inside = chance
    if inside < chance:
        raise UndefinedMeasureError(
            "normalize='mcclish' is undefined below chance: "
            f"the area is {float(inside)}, chance {float(chance)}"
        )
    return float((1 + (inside - chance) / (width - chance)) / 2)


def _log_auc(counts: OrderedCounts, min_fpr: Fraction, *, max_fpr: Fraction) -> float:
    need_both(counts, "log_auc")
    check_width(min_fpr, max_fpr, "min_fpr", "max_fpr")
    start, end = (at_fraction(rate, counts.n_normals) for rate in (min_fpr, max_fpr))
    points = slice(last_within(counts.fps, *start), last_within(counts.fps, *end) + 2)
    fps, tps = (as_readonly(cumulative[points]) for cumulative in (counts.fps, counts.tps))
    left, right = (float(rate * exact(counts.n_normals)) for rate in (min_fpr, max_fpr))
    right = max(right, math.nextafter(left, math.inf))
    inside = early.logarithmic_area_between(fps, tps, left, right)
    # The ends between which is integrated; either form is right where it is used.
    near = right < 2 * left
    width = math.log1p((right - left) / left) if near else math.log(right) - math.log(left)
    return min(inside / (counts.n_anomalies * width), 1.0)


LOG_AUC = Measure(
    name="log_auc",
    title="area under the ROC curve over the logarithm of the false positive rate",
    key="auc_log@",
    compute=_log_auc,
    parameters={"min_fpr": OpenRate(default=0.001), "max_fpr": Rate(default=0.1)},
    operating_point="min_fpr",
    default_points=(Fraction(1, 1000),),
    rises_with_curve=True,
    extremes=Extremes(exact=False, corners=True),
)


def log_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    min_fpr: Point = 0.001,
    max_fpr: Point = 0.1,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the ROC curve over the logarithm of the false positive rate.

    The integral of TPR over log(FPR) from ``min_fpr`` to ``max_fpr``, on the interpolated curve,
    divided by the width log(max_fpr / min_fpr): the mean TPR where each decade of the FPR counts
    the same.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    min_fpr : float, default 0.001
        Lower end of the range, in (0, 1), taken as the decimal that is written.
    max_fpr : float, default 0.1
        Upper end of the range, in (0, 1].
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, or the range has no width.

    Notes
    -----
    Each straight piece of the curve is integrated in closed form.

    References
    ----------
    .. [1] M. M. Mysinger and B. K. Shoichet, "Rapid context-dependent ligand desolvation in
       molecular docking", Journal of Chemical Information and Modeling 50, 2010.
    .. [2] J. Mendenhall and J. Meiler, "Improving quantitative structure-activity relationship
       models using artificial neural networks trained with dropout", Journal of Computer-Aided
       Molecular Design 30, 2016.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 1, 1], [1, 2, 3, 5, 4, 6]
    >>> round(fastad.measures.log_auc(y_true, y_score, min_fpr=0.1, max_fpr=1), 6)
    0.80103
    """
    return LOG_AUC.of(y_true, y_score, sample_weight, pos_label, min_fpr=min_fpr, max_fpr=max_fpr)


# In the order of the default table.
MEASURES = (AUC_AT_FPR, AUC_AT_TPR, LOG_AUC)

"""The receiver operating characteristic, areas under the whole of it, and rates at a point."""

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.declared import Choice, Flag, Rate
from fastad._core.threads import thread_map
from fastad._core.types import ArrayLike, BoolVector, Interpolation, Label, Point, Quadrature
from fastad._kernels.curves import area as kernels
from fastad._kernels.ordering import cell_curves, sweep
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import AREA, POINT, Extremes, Measure
from fastad.measures.points import (
    INTERPOLATION,
    LARGEST_AREA,
    Exact,
    at_fraction,
    entry,
    first_reaching,
    fractions_of,
    height,
    height_between,
    last_within,
    need_both,
    part_around_fpr,
    plain,
    quotient,
    thresholds_from_infinity,
    twice_area,
)
from fastad.measures.results import RocCurve
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.orders import PackedOrder, Range

# An area is far below chance if it is below the first, and below 0.5 by the second number of
# standard deviations of an area by chance.
_FAR_BELOW_CHANCE, _DEVIATIONS = 0.4, 3


def _roc_curve(counts: OrderedCounts, *, drop_collinear: bool) -> RocCurve:
    need_both(counts, "roc_curve")
    fps, tps, thresholds = counts.fps, counts.tps, thresholds_from_infinity(counts)
    if drop_collinear:
        kept = _corners(counts)
        fps, tps, thresholds = fps[kept], tps[kept], thresholds[kept]
    return RocCurve.of(
        fractions_of(fps, counts.n_normals), fractions_of(tps, counts.n_anomalies), thresholds
    )


ROC_CURVE = Measure(
    name="roc_curve",
    title="receiver operating characteristic",
    key="roc",
    compute=_roc_curve,
    parameters={"drop_collinear": Flag()},
    kind="curve",
    higher_is_better=None,
)


def roc_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    drop_collinear: bool = False,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> RocCurve:
    """Receiver operating characteristic of anomaly scores.

    A sample is flagged when ``y_score >= threshold``. Tied scores are one step of the curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    drop_collinear : bool, default False
        Leave out points on a straight piece. The area stays; thresholds are lost.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    RocCurve
        ``fpr``, ``tpr`` and ``thresholds``, from (0, 0) at +inf to (1, 1).

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 2.1.

    Examples
    --------
    >>> import fastad
    >>> fpr, tpr, thresholds = fastad.roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> tpr
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    return ROC_CURVE.of(y_true, y_score, sample_weight, pos_label, drop_collinear=drop_collinear)


def _roc_auc(counts: OrderedCounts) -> float:
    need_both(counts, "roc_auc")
    twice = twice_area(counts.fps, counts.tps, 0, counts.fps.shape[0] - 1)
    # Python divides integers of any length with one rounding. The sum of real weights is rounded,
    # and may exceed the sum over all pairs.
    return min(twice / (2 * counts.n_anomalies * counts.n_normals), 1.0)


def _roc_auc_of_order(order: PackedOrder) -> float | None:
    """Area straight from an order: half the time of counting first; None where it may not fit.

    Tied to `roc_auc` by a test.
    """
    pairs = 2 * order.n_anomalies * (order.n_points - order.n_anomalies)
    if not 0 < pairs < LARGEST_AREA:
        return None

    if len(order.ranges) == 1:
        return int(kernels.twice_area_packed(order.packed, order.ranges[0].tp)) / pairs

    def twice_area_in(where: Range) -> int:
        return int(kernels.twice_area_packed(order.packed[where.start : where.stop], where.tp))

    return sum(thread_map(twice_area_in, order.ranges)) / pairs


ROC_AUC = Measure(
    name="roc_auc",
    title="area under the ROC curve",
    key="auc",
    compute=_roc_auc,
    from_order=_roc_auc_of_order,
    rises_with_curve=True,
    extremes=AREA,
)


def area_or_chance(counts: OrderedCounts) -> float:
    """Return the area under the ROC curve; 1/2 without a class."""
    try:
        return _roc_auc(counts)
    except UndefinedMeasureError:
        return 0.5


def is_far_below_chance(areas: Iterable[tuple[float, float, float]]) -> bool:
    """Tell whether areas on some data sets are, all of them, and together beyond chance.

    Each comes with the numbers of anomalies and normals; those that are not defined do not count.
    """
    defined = [each for each in areas if not math.isnan(each[0])]
    if not defined or max(area for area, _, _ in defined) >= _FAR_BELOW_CHANCE:
        return False
    # Mann and Whitney's variance of an area by chance.
    variance = sum((n + m + 1) / (12 * n * m) for _, n, m in defined)
    return sum(0.5 - area for area, _, _ in defined) > _DEVIATIONS * math.sqrt(variance)


def roc_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the ROC curve: the chance that an anomaly scores above a normal sample.

    P(s+ > s-) + P(s+ = s-) / 2, which is the trapezoid area under the curve. Exact: pairs are
    counted in integers and divided once.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1]; 0.5 for constant scores.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    Notes
    -----
    O(n log n) time and 8 bytes a score for n samples.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, equation (1).

    Examples
    --------
    >>> import fastad
    >>> fastad.roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    return ROC_AUC.of(y_true, y_score, sample_weight, pos_label)


def _weighted_auc(counts: OrderedCounts, *, quadrature: Quadrature) -> float:
    need_both(counts, "weighted_auc")
    if quadrature == "exact":
        if counts.weighting != "none":
            raise InvalidInputError(
                "sample_weight must not be given with quadrature='exact', which starts at "
                "1 / (number of normals); found weights"
            )
        if counts.n_normals == 1:
            raise UndefinedMeasureError(
                "weighted_auc with quadrature='exact' is undefined for a single normal sample: "
                "FPR in [1/m, 1] has no width"
            )
        return sum(kernels.logarithmic_area(counts.fps, counts.tps, 0.0, 0.0)) / counts.n_anomalies
    return sum(kernels.inverse_fpr_area(counts.fps, counts.tps, 0.0, 0.0)) / counts.n_anomalies


def _highest_weighted_auc(
    counts: OrderedCounts, ties: BoolVector, *, quadrature: Quadrature
) -> float | None:
    """Area with weight 1 / FPR where, in each cell, normals stand one by one below all anomalies.

    The quadrature takes the FPR at the right end of a step: of a tie, the largest. The exact
    integral does not see ties.
    """
    if quadrature == "exact":
        return None
    need_both(counts, "weighted_auc")
    if counts.weighting == "real":
        # Normals may weigh as little as may be: steps are integrals, infinite from FPR 0 on.
        before, fps, tps = counts.fps[:-1], counts.fps[1:], counts.tps
        with np.errstate(invalid="ignore", divide="ignore"):
            one_by_one = tps[1:] * np.log(fps / before)
            tied = (fps - before) / fps * (tps[1:] + tps[:-1]) / 2
        terms = np.where(ties, tied, one_by_one)[(fps > before) & (tps[1:] > 0)]
        return float(terms.sum() / counts.n_anomalies)
    area = cell_curves.highest_inverse_fpr_area(counts.fps, counts.tps, as_readonly(ties))
    return area / counts.n_anomalies


WEIGHTED_AUC = Measure(
    name="weighted_auc",
    title="area under the ROC curve with weight 1 / FPR",
    key="auc_w",
    compute=_weighted_auc,
    parameters={"quadrature": Choice.of("right", "exact")},
    value_range=(0.0, math.inf),
    extremes=Extremes(exact=False, highest=_highest_weighted_auc),
)


def weighted_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    quadrature: Quadrature = "right",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the ROC curve with weight 1 / FPR, which stresses low false positive rates.

    The integral of TPR / FPR over FPR. It depends on the number m of normals by definition and
    may exceed 1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    quadrature : {"right", "exact"}, default "right"
        ``"right"``: each trapezoid is divided by its right end, and segments that end at FPR 0
        are dropped. ``"exact"``: closed form over FPR in [1/m, 1]; refuses ``sample_weight``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        Not negative.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, or ``"exact"`` has a single normal sample, so no range.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, equation (3).

    Examples
    --------
    >>> import fastad
    >>> fastad.weighted_auc([0, 0, 0, 0, 1], [0.1, 0.2, 0.3, 0.5, 0.4])
    1.0833333333333333
    """
    return WEIGHTED_AUC.of(y_true, y_score, sample_weight, pos_label, quadrature=quadrature)


def _corners(counts: OrderedCounts) -> BoolVector:
    """Tell the end points and the points where the slope changes."""
    widths, heights = np.diff(counts.fps), np.diff(counts.tps)
    if widths.dtype.kind == "i" and counts.n_anomalies * counts.n_normals >= LARGEST_AREA:
        widths, heights = widths.astype(object), heights.astype(object)
    kept: BoolVector = np.ones(counts.fps.shape[0], np.bool_)
    kept[1:-1] = widths[:-1] * heights[1:] != widths[1:] * heights[:-1]
    return kept


def _tpr_at_fpr(counts: OrderedCounts, fpr: Fraction, *, interpolation: Interpolation) -> float:
    need_both(counts, "tpr_at_fpr")
    tp, divisor = _tp_at(counts, fpr, interpolation)
    return quotient(tp, divisor * plain(counts.n_anomalies))


def _tpr_at_fpr_of_order(
    order: PackedOrder, fpr: Fraction, *, interpolation: Interpolation
) -> float | None:
    """TPR straight from an order in one range, without counts at all other scores."""
    n_normals = order.n_points - order.n_anomalies
    if len(order.ranges) > 1 or not 0 < n_normals < order.n_points:
        return None
    end, divisor = at_fraction(fpr, n_normals)
    fp, tp, next_fp, next_tp = sweep.counts_around(order.packed, end // divisor, 0)
    if interpolation == "conservative" or next_fp == fp:
        return quotient(tp, order.n_anomalies)
    numerator, denominator = height_between((fp, tp), (next_fp, next_tp), end, divisor)
    return quotient(numerator, denominator * order.n_anomalies)


TPR_AT_FPR = Measure(
    name="tpr_at_fpr",
    title="true positive rate at a false positive rate",
    key="tpr@",
    compute=_tpr_at_fpr,
    from_order=_tpr_at_fpr_of_order,
    parameters={"fpr": Rate(), "interpolation": INTERPOLATION},
    operating_point="fpr",
    curve_part=part_around_fpr,
    rises_with_curve=True,
    extremes=POINT,
)


def tpr_at_fpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point,
    interpolation: Interpolation = "linear",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """True positive rate at a false positive rate.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float
        False positive rate in [0, 1], compared as the decimal that is written: 0.29 of 100
        normals are 29.
    interpolation : {"linear", "conservative"}, default "linear"
        ``"linear"``: height of the interpolated ROC curve, on a vertical piece its upper end.
        ``"conservative"``: the last real point whose FPR is at most ``fpr``.
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
        If a class is absent.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 2.3.

    Examples
    --------
    >>> import fastad
    >>> fastad.tpr_at_fpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], fpr=0.25)
    0.5
    """
    return TPR_AT_FPR.of(
        y_true, y_score, sample_weight, pos_label, fpr=fpr, interpolation=interpolation
    )


def _fpr_at_tpr(counts: OrderedCounts, tpr: Fraction, *, interpolation: Interpolation) -> float:
    need_both(counts, "fpr_at_tpr")
    fp, divisor = _fp_at(counts, tpr, interpolation)
    return quotient(fp, divisor * plain(counts.n_normals))


FPR_AT_TPR = Measure(
    name="fpr_at_tpr",
    title="false positive rate at a true positive rate",
    key="fpr@tpr",
    compute=_fpr_at_tpr,
    parameters={"tpr": Rate(), "interpolation": INTERPOLATION},
    operating_point="tpr",
    default_points=(Fraction(95, 100),),
    higher_is_better=False,
    rises_with_curve=True,
    extremes=POINT,
)


def fpr_at_tpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    tpr: Point,
    interpolation: Interpolation = "linear",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """False positive rate at a true positive rate.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    tpr : float
        True positive rate in [0, 1], compared as the decimal that is written.
    interpolation : {"linear", "conservative"}, default "linear"
        ``"linear"``: abscissa of the interpolated ROC curve, on a horizontal piece its left end.
        ``"conservative"``: the first real point whose TPR is at least ``tpr``.
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
        If a class is absent.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020,
       section 3.1.

    Examples
    --------
    >>> import fastad
    >>> fastad.fpr_at_tpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], tpr=0.95)
    0.5
    """
    return FPR_AT_TPR.of(
        y_true, y_score, sample_weight, pos_label, tpr=tpr, interpolation=interpolation
    )


def _tp_at(
    counts: OrderedCounts, rate: Fraction, interpolation: Interpolation
) -> tuple[Exact, Exact]:
    """Return the count of anomalies at a false positive rate, at the top of a vertical step."""
    end, divisor = at_fraction(rate, counts.n_normals)
    left = last_within(counts.fps, end, divisor)
    if interpolation == "conservative":
        return entry(counts.tps, left), 1
    return height(counts.fps, counts.tps, left, end, divisor)


def _fp_at(
    counts: OrderedCounts, rate: Fraction, interpolation: Interpolation
) -> tuple[Exact, Exact]:
    """Return the count of normals at a true positive rate, at the left of a horizontal step."""
    goal, divisor = at_fraction(rate, counts.n_anomalies)
    right = first_reaching(counts.tps, goal, divisor)
    if interpolation == "conservative" or right == 0:
        return entry(counts.fps, right), 1
    return height(counts.tps, counts.fps, right - 1, goal, divisor)


MEASURES = (ROC_CURVE, ROC_AUC, WEIGHTED_AUC, TPR_AT_FPR, FPR_AT_TPR)

"""Thresholds at an operating point."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fastad._core.arrays import real_vector
from fastad._core.buffers import ReusedBuffers
from fastad._core.declared import Rate
from fastad._core.types import ArrayLike, Interpolation, Label, Point, Threshold
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import Extremes, Measure
from fastad.measures.points import (
    INTERPOLATION,
    Exact,
    at_fraction,
    entry,
    exact,
    last_within,
    need_normals,
    part_around_fpr,
)
from fastad.ordering.counts import OrderedCounts, count_scores
from fastad.ordering.cuts import CurvePart
from fastad.ordering.labels import all_normal, check_labels, check_scores


def _threshold_at_fpr(
    counts: OrderedCounts, fpr: Fraction, *, interpolation: Interpolation
) -> Threshold:
    need_normals(counts, "threshold_at_fpr")
    return threshold_from(counts, fpr, last_point(counts, fpr), interpolation)


THRESHOLD_AT_FPR = Measure(
    name="threshold_at_fpr",
    title="threshold at a false positive rate",
    key="threshold@",
    compute=_threshold_at_fpr,
    parameters={"fpr": Rate(), "interpolation": INTERPOLATION},
    operating_point="fpr",
    kind="threshold",
    curve_part=part_around_fpr,
    classes="normals",
    higher_is_better=None,
    value_range=(-math.inf, math.inf),
    extremes=Extremes(reads="threshold", local=True),
)


def threshold_at_fpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point,
    interpolation: Interpolation = "linear",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Threshold:
    """Threshold whose false positive rate does not exceed a bound.

    Let L be the last point of the ROC curve with FPR <= ``fpr`` and R the next. Whatever the
    interpolation, ``score >= threshold`` flags the same samples as the threshold of L.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float
        False positive rate in [0, 1], compared as the decimal that is written.
    interpolation : {"linear", "conservative"}, default "linear"
        ``"conservative"``: the threshold of L. ``"linear"``: interpolated in FPR between the
        thresholds of L and R where both are finite, else the threshold of L.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float, int
        Threshold in the units of the scores, as exact as their type: a float, or an int for integer
        scores; +inf where nothing may be flagged.

    Raises
    ------
    UndefinedMeasureError
        If there is no normal sample, or if normals that score +inf exceed ``fpr``.

    Notes
    -----
    Anomalies are not needed, but move the linear value.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, algorithm 1.

    Examples
    --------
    >>> import fastad
    >>> fastad.threshold_at_fpr([0, 0, 0, 0, 1], [0.9, 0.8, 0.1, 0.0, 1.0], fpr=0.25)
    0.9
    """
    return THRESHOLD_AT_FPR.of(
        y_true, y_score, sample_weight, pos_label, fpr=fpr, interpolation=interpolation
    )


def thresholds_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    rates: Sequence[Fraction],
    interpolation: Interpolation = "linear",
    pos_label: Label | None = None,
) -> list[Threshold]:
    """Return the thresholds at several false positive rates, from one order of the scores."""
    INTERPOLATION.check(interpolation, "interpolation")
    with ReusedBuffers():
        labels = check_labels(y_true, pos_label=pos_label)
        counts = count_scores(check_scores(y_score, labels), labels)
        return [_threshold_at_fpr(counts, rate, interpolation=interpolation) for rate in rates]


def _threshold_at_rate(
    counts: OrderedCounts, rate: Fraction, *, interpolation: Interpolation
) -> Threshold:
    return _threshold_at_fpr(as_flagged(counts), rate, interpolation=interpolation)


THRESHOLD_AT_RATE = Measure(
    name="threshold_at_rate",
    title="threshold for a budget of alerts",
    key="threshold@rate",
    compute=_threshold_at_rate,
    parameters={"rate": Rate(), "interpolation": INTERPOLATION},
    operating_point="rate",
    kind="threshold",
    classes="any",
    higher_is_better=None,
    value_range=(-math.inf, math.inf),
    extremes=Extremes(reads="threshold", local=True),
)


def threshold_at_rate(
    y_score: ArrayLike, *, rate: Point, interpolation: Interpolation = "linear"
) -> Threshold:
    """Threshold for a budget of alerts: flags at most a fraction of all samples; no labels.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    rate : float
        Fraction of the samples in [0, 1], compared as the decimal that is written.
    interpolation : {"linear", "conservative"}, default "linear"
        As in `threshold_at_fpr`, where every sample counts as a normal one.

    Returns
    -------
    float, int
        Threshold in the units of the scores, as exact as their type: a float, or an int for integer
        scores; +inf where nothing may be flagged.

    Raises
    ------
    UndefinedMeasureError
        If scores of +inf make up more than ``rate``.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.threshold_at_rate([0.1, 0.2, 0.3, 0.4], rate=0.25)
    0.4
    """
    checked = THRESHOLD_AT_RATE.check({"rate": rate, "interpolation": interpolation})
    labels = all_normal(real_vector(y_score, "y_score").shape[0])
    part = CurvePart.around(checked["rate"])
    with ReusedBuffers():
        counts = count_scores(check_scores(y_score, labels), labels, part=part)
        result: Threshold = _threshold_at_fpr(
            counts, checked["rate"], interpolation=checked["interpolation"]
        )
    return result


def as_flagged(counts: OrderedCounts) -> OrderedCounts:
    """Return the counts with all samples as normals, so that the FPR is the flagged fraction."""
    return replace(
        counts,
        fps=counts.fps + counts.tps,
        tps=np.zeros_like(counts.tps),
        n_normals=counts.total,
        n_anomalies=0,
    )


def last_point(counts: OrderedCounts, rate: Fraction) -> int:
    """Return the last point of the curve within a false positive rate."""
    point = last_within(counts.fps, *at_fraction(rate, counts.n_normals))
    # Even the threshold +inf flags scores of +inf.
    if point == 0 and counts.threshold(1) == np.inf and counts.fps[1] > 0:
        lowest = float(exact(counts.fps[1]) / exact(counts.n_normals))
        raise UndefinedMeasureError(
            f"no threshold has a rate of at most {float(rate)}: every threshold flags scores of "
            f"+inf, which make the lowest rate {lowest}"
        )
    return point


def threshold_from(
    counts: OrderedCounts, rate: Fraction, left: int, interpolation: Interpolation
) -> Threshold:
    """Return the threshold at a rate, whose last point is the left one."""
    upper = counts.threshold(left)
    if interpolation == "conservative" or left == 0 or left + 1 == counts.fps.shape[0]:
        return upper
    lower = counts.threshold(left + 1)
    if upper == math.inf or lower == -math.inf:
        return upper
    # The step is below 1, so that the exact value lies above the next threshold; rounding it
    # up keeps it there, and never raises it above the upper one.
    goal, divisor = at_fraction(rate, counts.n_normals)
    start, end = entry(counts.fps, left), entry(counts.fps, left + 1)
    # The left point is beyond the rate only by rounding of real weights.
    step, whole = _integers(max(goal - start * divisor, 0), (end - start) * divisor)
    top, top_over = upper.as_integer_ratio()
    bottom, bottom_over = lower.as_integer_ratio()
    fall = top * bottom_over - bottom * top_over
    over = top_over * bottom_over * whole
    value = top * bottom_over * whole - step * fall
    return _round_up(value, over, counts.codec.dtype)


def _integers(numerator: Exact, denominator: Exact) -> tuple[int, int]:
    """Return a quotient as one of integers, which need not be reduced."""
    if isinstance(numerator, int) and isinstance(denominator, int):
        return numerator, denominator
    return (Fraction(numerator) / denominator).as_integer_ratio()


def _round_up(value: int, over: int, dtype: np.dtype[np.generic]) -> Threshold:
    """Return the smallest number of the scores' type that is not below value / over."""
    if dtype.kind != "f":
        return -(-value // over)
    nearest = value / over
    if dtype.itemsize == 8:
        return nearest if _is_above(nearest, value, over) else math.nextafter(nearest, math.inf)
    number = dtype.type(nearest)
    with np.errstate(under="ignore"):
        while _is_above(number.item(), value, over):
            number = np.nextafter(number, dtype.type(-np.inf))
        while not _is_above(number.item(), value, over):
            number = np.nextafter(number, dtype.type(np.inf))
    result: float = number.item()
    return result


def _is_above(number: float, value: int, over: int) -> bool:
    """Tell exactly whether a number is at least value / over."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * over >= value * denominator


MEASURES = (THRESHOLD_AT_FPR, THRESHOLD_AT_RATE)

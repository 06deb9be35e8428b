"""Thresholds at a false positive rate, and what they flag."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fastad._core.types import Count, FloatVector, Interpolation, ScoreVector, Threshold
from fastad.errors import UndefinedMeasureError
from fastad.measures.points import (
    Rates,
    at_each,
    at_share,
    entry,
    exact,
    hits_among,
    last_within,
    need_both,
    need_normals,
)
from fastad.measures.results import Confusion
from fastad.ordering.counts import OrderedCounts

# Whole numbers from here on are above every finite float64.
_BEYOND_FLOATS = 2**1024


def threshold_at_fpr(
    counts: OrderedCounts, fpr: Rates, *, interpolation: Interpolation = "linear"
) -> Threshold | ScoreVector:
    """Threshold that flags at most a share of the normals; see `fastad.threshold_at_fpr`."""
    need_normals(counts, "threshold_at_fpr")
    if isinstance(fpr, Fraction):
        return _threshold(counts, fpr, interpolation)
    return threshold_array([_threshold(counts, rate, interpolation) for rate in fpr])


def threshold_at_rate(
    counts: OrderedCounts, rate: Rates, *, interpolation: Interpolation = "linear"
) -> Threshold | ScoreVector:
    """Threshold that flags at most a share of all points; see `threshold_at_rate`."""
    alike = replace(
        counts,
        fps=counts.fps + counts.tps,
        tps=np.zeros_like(counts.tps),
        n_normals=counts.total,
        n_anomalies=0,
    )
    return threshold_at_fpr(alike, rate, interpolation=interpolation)


def f1_at_fpr(
    counts: OrderedCounts, fpr: Rates, *, prevalence: Fraction | None = None
) -> float | FloatVector:
    """F1 score of the points that a threshold flags; see `fastad.f1_at_fpr`."""
    need_both(counts, "f1_at_fpr")
    scaled = counts.at_prevalence(prevalence)
    return at_each(fpr, lambda rate: confusion(scaled, _last_point(counts, rate)).f1)


def precision_at_fpr(
    counts: OrderedCounts, fpr: Rates, *, prevalence: Fraction | None = None
) -> float | FloatVector:
    """Precision of the points that a threshold flags; see `fastad.precision_at_fpr`."""
    need_both(counts, "precision_at_fpr")
    scaled = counts.at_prevalence(prevalence)

    def precision(rate: Fraction) -> float:
        flagged = confusion(scaled, _last_point(counts, rate))
        if flagged.n_flagged == 0:
            raise UndefinedMeasureError(
                f"precision_at_fpr is undefined where nothing is flagged, at fpr = {float(rate)}"
            )
        return flagged.precision

    return at_each(fpr, precision)


def confusion_at(
    counts: OrderedCounts, *, threshold: Threshold | None = None, k: int | None = None
) -> Confusion:
    """Counts and rates at a threshold or for the k highest scores; see `fastad.confusion_at`."""
    if k is None:
        assert threshold is not None
        return confusion(counts, _points_flagged(counts, threshold))
    hits = hits_among(counts, k, "confusion_at")
    others = exact(counts.n_normals) - (k - hits)
    missed = exact(counts.n_anomalies) - hits
    return Confusion(*(_as_count(count) for count in (hits, k - hits, others, missed)))


def confusion(counts: OrderedCounts, point: int) -> Confusion:
    """Return the counts of one point of the curve."""
    tp, fp = counts.tps.item(point), counts.fps.item(point)
    return Confusion(tp, fp, counts.n_normals - fp, counts.n_anomalies - tp)


def _last_point(counts: OrderedCounts, rate: Fraction) -> int:
    point = last_within(counts.fps, *at_share(rate, counts.n_normals))
    # Even the threshold +inf flags what scores +inf.
    if point == 0 and counts.threshold(1) == np.inf and counts.fps[1] > 0:
        lowest = float(exact(counts.fps[1]) / exact(counts.n_normals))
        raise UndefinedMeasureError(
            f"no threshold has a false positive rate of at most {float(rate)}: "
            f"normal points that score +inf make the lowest rate {lowest}"
        )
    return point


def threshold_and_flagged(counts: OrderedCounts, rate: Fraction) -> tuple[Threshold, Confusion]:
    """Return the threshold at a false positive rate and the counts of what it flags."""
    need_normals(counts, "threshold_at_fpr")
    point = _last_point(counts, rate)
    return _threshold_from(counts, rate, point, "linear"), confusion(counts, point)


def _threshold(counts: OrderedCounts, rate: Fraction, interpolation: Interpolation) -> Threshold:
    return _threshold_from(counts, rate, _last_point(counts, rate), interpolation)


def _threshold_from(
    counts: OrderedCounts, rate: Fraction, left: int, interpolation: Interpolation
) -> Threshold:
    upper = counts.threshold(left)
    if interpolation == "conservative" or left == 0 or left + 1 == counts.fps.shape[0]:
        return upper
    lower = counts.threshold(left + 1)
    if upper == math.inf or lower == -math.inf:
        return upper
    # The step is below 1, so that the exact value lies above the next threshold; rounding it
    # up keeps it there, and never raises it above the upper one.
    place, divisor = at_share(rate, counts.n_normals)
    start, end = entry(counts.fps, left), entry(counts.fps, left + 1)
    step = Fraction(place - start * divisor) / ((end - start) * divisor)
    top, top_over = upper.as_integer_ratio()
    bottom, bottom_over = lower.as_integer_ratio()
    fall = top * bottom_over - bottom * top_over
    over = top_over * bottom_over * step.denominator
    value = top * bottom_over * step.denominator - step.numerator * fall
    return _round_up(value, over, counts.codec.dtype)


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


def threshold_array(thresholds: list[Threshold]) -> ScoreVector:
    """Return an array that holds each threshold exactly."""
    if all(isinstance(value, float) for value in thresholds):
        return np.array(thresholds, np.float64)
    if all(isinstance(value, int) for value in thresholds):
        return np.array(thresholds)
    exact_as_floats = all(float(value) == value for value in thresholds)
    return np.array(thresholds, np.float64 if exact_as_floats else object)


def _points_flagged(counts: OrderedCounts, threshold: Threshold) -> int:
    """Return how many distinct scores reach a threshold, as NumPy compares them."""
    scores = counts.thresholds()
    if scores.dtype.kind == "b":
        scores = scores.view(np.uint8)
    if scores.dtype.kind != "f":
        if threshold in (math.inf, -math.inf):
            return 0 if threshold > 0 else scores.shape[0]
        # NumPy would compare an integer with a float as floats, which merges large integers.
        threshold = -(-Fraction(threshold).numerator // Fraction(threshold).denominator)
    elif isinstance(threshold, int) and abs(threshold) >= _BEYOND_FLOATS:
        threshold = math.inf if threshold > 0 else -math.inf
    with np.errstate(over="ignore"):
        return int(np.count_nonzero(scores >= threshold))


def _as_count(value: Fraction) -> Count:
    return value.numerator if value.denominator == 1 else float(value)

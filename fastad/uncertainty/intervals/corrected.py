"""Intervals of measures that are corrected for anomalies hidden among the normals.

Where both observed rates at a threshold are known to lie in an interval each, so does what follows
from them: no variance of the corrected curve is needed, and small numbers do no harm.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv

from fastad._core.types import FloatVector, IntVector
from fastad.errors import UndefinedMeasureError
from fastad.measures.contamination import (
    CorrectedMeasure,
    corrected,
    corrected_area,
    refuse_impossible,
    refuse_unidentified,
)
from fastad.measures.measure import BoundMeasure
from fastad.measures.points import need_both
from fastad.measures.rates import RATES, confusion_at_threshold, rate_of
from fastad.measures.results import Confusion
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.hidden import ContaminatedCounts, largest_contamination, without_hidden
from fastad.uncertainty.results import Interval, lowest_coverage
from fastad.uncertainty.samples.closed_forms import Bounds, clopper_pearson

# Rates that the hidden anomalies leave as they are.
_OF_ANOMALIES = ("tpr", "recall", "fnr")
_AT_ONE_POINT = ("tpr_at_fpr", "fpr_at_tpr")
# Steps over a range of fractions where the extremes may lie between its ends.
_SEARCHED = 16
# Quotients of linear functions of the fraction, which rise or fall throughout.
_QUOTIENTS = ("roc_auc", *(name for name in RATES if name != "mcc"))
# Steps through larger samples, or weights, beside one for each distinct score.
_MOST_STEPS = 1 << 20
# Parameters of measures of the highest ranks, which also depend on the anomalies' number.
_OF_RANKS = {"k", "fraction", "alpha"}


def has_inversion(measure: CorrectedMeasure[float]) -> bool:
    """Return whether a corrected measure follows from both rates at a threshold."""
    return measure.plain.name in (*_AT_ONE_POINT, *RATES)


def observed_area(bound: BoundMeasure) -> BoundMeasure:
    """Return the area as it is observed for a corrected one, other measures as they are."""
    measure = bound.measure
    if isinstance(measure, CorrectedMeasure) and measure.plain.name == "roc_auc":
        return replace(bound, measure=measure.plain)
    return bound


def interval_of_area(result: Interval, bound: BoundMeasure) -> Interval:
    """Return the interval of a corrected area from the interval of the observed one.

    The one is a linear function of the other, and so are their ends.
    """
    if observed_area(bound) is bound:
        return result
    assert isinstance(bound.measure, CorrectedMeasure)
    contamination = bound.measure.contamination
    value, low, high = (
        corrected_area(x, contamination) for x in (result.value, result.low, result.high)
    )
    standard_error = result.standard_error / (1 - float(contamination))
    return replace(result, value=value, low=low, high=high, standard_error=standard_error)


def inversion(counts: OrderedCounts, bound: BoundMeasure, alpha: float) -> Bounds:
    """Return all values of a corrected measure that intervals of both observed rates allow."""
    measure = bound.measure
    assert isinstance(measure, CorrectedMeasure)
    fraction = float(measure.contamination)
    name = measure.plain.name
    if name in RATES:
        return _of_rate(counts, replace(bound, measure=measure.plain), fraction, alpha)
    if name == "tpr_at_fpr":
        return _tpr_at(counts, bound, fraction, alpha)
    return _fpr_at(counts, bound, fraction, alpha)


def _of_rate(counts: OrderedCounts, plain: BoundMeasure, fraction: float, alpha: float) -> Bounds:
    """Return the extremes of a rate at a threshold over intervals of both observed rates.

    Every rate rises, or falls, with each of the two.
    """
    seen = confusion_at_threshold(counts, plain.parameters["threshold"])
    n, m = float(counts.n_anomalies), float(counts.n_normals)
    level = alpha if plain.measure.name in _OF_ANOMALIES else _of_both(alpha)
    values = []
    for rates in product(clopper_pearson(seen.tp, n, level), clopper_pearson(seen.fp, m, level)):
        (tp, fp), (anomalies, normals) = without_hidden(*rates, (n, m), fraction)
        confusion = Confusion(tp, fp, normals - fp, anomalies - tp)
        values.append(rate_of(plain.measure.name, confusion))
    low, high = plain.measure.value_range
    if any(value != value for value in values):
        # Where nothing, or everything, is flagged the rate may be anything.
        return low, high
    return max(min(values), low), min(max(values), high)


class _Path(NamedTuple):
    """The observed curve in steps of one sample of a class; arrays of shape (n_steps + 1,).

    A tie flags its samples together and is a segment of the curve: where the population reaches a
    rate within a tie, no threshold has that rate. Numbers on a segment are means over all orders of
    the tied samples, which vary less than binomial numbers do.

    Attributes
    ----------
    fps, tps : numpy.ndarray
        Numbers that are flagged.
    before, after : numpy.ndarray
        Index of the last distinct score up to each step, and of the first from it on.
    """

    fps: FloatVector
    tps: FloatVector
    before: IntVector
    after: IntVector

    @classmethod
    def of(cls, counts: OrderedCounts) -> "_Path":
        """Return the path through all points; O(n)."""
        tied = np.maximum(np.diff(counts.fps), np.diff(counts.tps))
        size = max(float(tied.sum()) / _MOST_STEPS, 1.0)
        thresholds = np.concatenate([[0], np.cumsum(np.ceil(tied / size).astype(np.int64))])
        steps = np.arange(thresholds[-1] + 1)
        fps, tps = (np.interp(steps, thresholds, k) for k in (counts.fps, counts.tps))
        after = thresholds[np.searchsorted(thresholds, steps)]
        before = thresholds[np.searchsorted(thresholds, steps, side="right") - 1]
        return cls(fps, tps, before, after)


def _tpr_at(counts: OrderedCounts, bound: BoundMeasure, fraction: float, alpha: float) -> Bounds:
    """Return the true positive rates that some threshold makes compatible with the observed ones.

    At the threshold of an FPR x the observed FPR' is (1 - pi) x + pi TPR. Its counts are those of
    one of the steps of the curve, whichever, and both rates lie in their intervals there. The
    conservative TPR is that of the threshold before.
    """
    level = _of_both(alpha)
    normals = (1 - fraction) * float(bound.parameters["fpr"])
    path = _Path.of(counts)
    # Beyond, more normals are flagged than at a TPR of 1.
    n_steps = bisect_right(
        range(path.fps.shape[0]),
        normals + fraction,
        key=lambda i: clopper_pearson(float(path.fps[i]), float(counts.n_normals), level)[0],
    )
    least, most = _rates(path.fps[:n_steps], counts.n_normals, level)
    low, high = _rates(path.tps[:n_steps], counts.n_anomalies, level)
    low_end = np.maximum(low, (least - normals) / fraction)
    high_end = np.minimum(high, (most - normals) / fraction)
    possible = low_end <= high_end
    if bound.parameters["interpolation"] == "conservative":
        before = path.before[:n_steps]
        low_end, high_end = low_end[before], np.minimum(high[before], high_end)
        possible &= low_end <= high_end
    if not possible.any():
        return 0.0, 1.0
    return _clipped(float(low_end[possible].min())), _clipped(float(high_end[possible].max()))


def _fpr_at(counts: OrderedCounts, bound: BoundMeasure, fraction: float, alpha: float) -> Bounds:
    """Return the false positive rates at the thresholds that may have a true positive rate.

    The conservative FPR is the FPR of the next threshold.
    """
    level = _of_both(alpha)
    tpr = float(bound.parameters["tpr"])
    path = _Path.of(counts)
    low, high = _rates(path.tps, counts.n_anomalies, level)
    possible = np.flatnonzero((low <= tpr) & (tpr <= high))
    if not possible.shape[0]:
        return 0.0, 1.0
    last = possible
    if bound.parameters["interpolation"] == "conservative":
        last = path.after[possible]
    least = _rates(path.fps[possible], counts.n_normals, level)[0] - fraction * tpr
    most = _rates(path.fps[last], counts.n_normals, level)[1]
    most -= fraction * np.maximum(low[last], tpr)
    ends = (float(rate) / (1 - fraction) for rate in (least.min(), most.max()))
    low_end, high_end = map(_clipped, ends)
    return low_end, high_end


def _rates(flagged: FloatVector, total: float, alpha: float) -> tuple[FloatVector, FloatVector]:
    """Return Clopper and Pearson's intervals of the rates at all steps of the curve."""
    k, n = flagged, float(total)
    low = np.where(k > 0, betaincinv(np.where(k > 0, k, 1), n - k + 1, alpha / 2), 0.0)
    high = np.where(k < n, betainccinv(k + 1, np.where(k < n, n - k, 1), alpha / 2), 1.0)
    return low, high


def _of_both(alpha: float) -> float:
    """Return the miscoverage of each of two independent intervals that both cover together."""
    return -math.expm1(math.log1p(-alpha) / 2) if alpha < 1 else 1.0


def _clipped(rate: float) -> float:
    return min(max(rate, 0.0), 1.0)


def fractions_between(
    counts: OrderedCounts, bound: BoundMeasure, low: Fraction, high: Fraction
) -> list[Fraction]:
    """Return the fractions of hidden anomalies among which a measure takes its extremes.

    Where the curve lies above the diagonal, FPR = (FPR' - pi TPR) / (1 - pi) falls with pi at each
    threshold, and least squares keep the order; with the anomalies' number, a measure that never
    gets worse where the curve rises takes its extremes at the ends. So do the area and rates at a
    threshold, whatever the curve. Else the range is searched.
    """
    if low == high:
        return [low]
    n, m = float(counts.n_anomalies), float(counts.n_normals)
    rises = bound.measure.rises_with_curve and not bound.parameters.keys() & _OF_RANKS
    above = bool(np.all(counts.tps / n >= counts.fps / m))
    if bound.measure.name in _QUOTIENTS or (rises and above):
        return [low, high]
    return [low + (high - low) * Fraction(i, _SEARCHED) for i in range(_SEARCHED + 1)]


def corrected_over(
    counts: OrderedCounts, bound: BoundMeasure, fractions: tuple[Fraction, Fraction]
) -> list[BoundMeasure]:
    """Return a measure corrected for fractions of hidden anomalies in a range.

    The one in the middle first, then those that may be its extremes at fractions that the data
    allow; where nothing is hidden, the measure alone.
    """
    low, high = fractions
    if high == 0:
        return [bound]
    need_both(counts, bound.measure.name)
    refuse_impossible(counts, low)
    high = max(low, min(high, Fraction(largest_contamination(counts))))
    refuse_unidentified(ContaminatedCounts.of(counts, high), bound.measure, bound.parameters)
    at = fractions_between(counts, bound, low, high)
    middle = (low + high) / 2
    return [corrected(bound, fraction) for fraction in dict.fromkeys([middle, *at])]


def enclosing_interval(results: Iterable[Interval | UndefinedMeasureError]) -> Interval:
    """Return the first of some intervals, from the lowest end of them to the highest."""
    intervals: list[Interval] = []
    for result in results:
        if isinstance(result, UndefinedMeasureError):
            raise result
        intervals.append(result)
    return replace(
        intervals[0],
        low=min(interval.low for interval in intervals),
        high=max(interval.high for interval in intervals),
        coverage=lowest_coverage(intervals),
    )

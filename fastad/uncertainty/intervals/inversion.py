"""Intervals of corrected measures from exact intervals of both observed rates.

Where both observed rates at a threshold are known to lie in an interval each, so is what follows
from them without hidden anomalies: no variance of the corrected curve is needed, and small numbers
do no harm.
"""

import math
from bisect import bisect_right
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv

from fastad._core.types import FloatVector, IntVector
from fastad.measures.contamination import CorrectedMeasure
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import RATES, confusion_at_threshold, rate_of
from fastad.measures.results import Confusion
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.hidden import without_hidden
from fastad.uncertainty.samples.closed_forms import Bounds, clopper_pearson

# Rates that the hidden anomalies leave as they are.
_OF_ANOMALIES = ("tpr", "recall", "fnr")
# Most steps through a sample, or weights, beside one for each distinct score.
_MOST_STEPS = 1 << 20


def inversion(counts: OrderedCounts, bound: BoundMeasure, alpha: float) -> Bounds:
    """Return all values of a measure that intervals of both observed rates allow.

    Of a corrected one, or of a plain one where a range of fractions begins at 0.
    """
    measure = bound.measure
    plain, fraction = measure, 0.0
    if isinstance(measure, CorrectedMeasure):
        plain, fraction = measure.plain, float(measure.contamination)
    if plain.name in RATES:
        return _of_rate(counts, replace(bound, measure=plain), fraction, alpha)
    if plain.name == "tpr_at_fpr":
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
    """

    fps: FloatVector
    tps: FloatVector
    # Index of the last distinct score up to each step, and of the first from it on.
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

    At the threshold of an FPR x the observed FPR' is (1 - pi) x + pi TPR. The threshold is one of
    the steps of the curve, whichever, and both rates lie in their intervals there. The conservative
    TPR is the TPR of the threshold before.
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
    if fraction:
        low_end = np.maximum(low, (least - normals) / fraction)
        high_end = np.minimum(high, (most - normals) / fraction)
    else:
        low_end = np.where(least <= normals, low, np.inf)
        high_end = np.where(most >= normals, high, -np.inf)
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
    """Return Clopper and Pearson's intervals of the rates at all steps of the curve.

    From 0 to 1 where SciPy has no quantile, of probabilities as 1e-200.
    """
    k, n = flagged, float(total)
    low = np.where(k > 0, betaincinv(np.where(k > 0, k, 1), n - k + 1, alpha / 2), 0.0)
    high = np.where(k < n, betainccinv(k + 1, np.where(k < n, n - k, 1), alpha / 2), 1.0)
    return np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)


def _of_both(alpha: float) -> float:
    """Return the miscoverage of each of two independent intervals that both cover together."""
    return -math.expm1(math.log1p(-alpha) / 2) if alpha < 1 else 1.0


def _clipped(rate: float) -> float:
    return min(max(rate, 0.0), 1.0)

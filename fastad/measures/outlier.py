"""Measures that the literature on outlier detection has added to those of ROC and precision."""

from fractions import Fraction

import numpy as np

from fastad._core.types import Count, FloatVector, IntVector
from fastad._kernels.resampling import subsample
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.points import Rates, at_each, exact, last_flagging, last_within, need_both
from fastad.measures.results import NpCurve
from fastad.measures.roc import thresholds_from_infinity, twice_area
from fastad.ordering.counts import OrderedCounts

_INT64 = 2**63


def np_curve(counts: OrderedCounts, *, alpha: Fraction) -> NpCurve:
    """Neyman-Pearson score at every point; see `fastad.measures.np_curve`."""
    need_both(counts, "np_curve")
    fpr, fnr = counts.fps / counts.n_normals, 1 - counts.tps / counts.n_anomalies
    with np.errstate(over="ignore"):  # a bound near 0 makes scores infinite
        score = np.maximum(fpr - float(alpha), 0) / float(alpha) + fnr
    return NpCurve.of(score, thresholds_from_infinity(counts))


def np_score(counts: OrderedCounts, alpha: Rates) -> float | FloatVector:
    """Lowest Neyman-Pearson score; see `fastad.measures.np_score`."""

    def lowest(bound: Fraction) -> float:
        point = int(np.argmin(np_curve(counts, alpha=bound).score))
        fpr = exact(counts.fps[point]) / exact(counts.n_normals)
        tpr = exact(counts.tps[point]) / exact(counts.n_anomalies)
        return float(max(fpr - bound, Fraction(0)) / bound + 1 - tpr)

    need_both(counts, "np_score")
    return at_each(alpha, lowest)


def ht_auc(counts: OrderedCounts, alpha: Rates) -> float | FloatVector:
    """AUC without the highest normals, which count as won; see `fastad.measures.ht_auc`."""
    n, m = _whole_classes(counts, "ht_auc")
    whole = twice_area(counts.fps, counts.tps, 0, len(counts.fps) - 1)

    def forgiving(share: Fraction) -> float:
        dropped = int(share * m)
        # A dropped normal loses the anomalies above it and half of those tied with it.
        won = whole - _twice_wins(counts, dropped)
        return (won + 2 * n * dropped) / (2 * n * m)

    return at_each(alpha, forgiving)


def lf_auc(counts: OrderedCounts, alpha: Rates) -> float | FloatVector:
    """AUC of the highest anomalies, the others counting as won; see `fastad.measures.lf_auc`."""
    n, m = _whole_classes(counts, "lf_auc")

    def of_highest(share: Fraction) -> float:
        kept = int(share * n)
        point = last_within(counts.tps, Fraction(kept))
        fp, tp = int(counts.fps[point]), int(counts.tps[point])
        # Of tp * m pairs those below the curve are won: the rectangle less the area on its left.
        won = 2 * tp * m - (2 * tp * fp - twice_area(counts.fps, counts.tps, 0, point))
        if kept > tp:
            won += (kept - tp) * (2 * m - fp - int(counts.fps[point + 1]))
        return (won + 2 * m * (n - kept)) / (2 * n * m)

    return at_each(alpha, of_highest)


def rank_power(counts: OrderedCounts, k: int | list[int]) -> float | FloatVector:
    """How near to the top the anomalies are; see `fastad.measures.rank_power`."""
    _need_whole(counts, "rank_power")
    if isinstance(k, list):
        return np.array([_rank_power(counts, flagged) for flagged in k], np.float64)
    return _rank_power(counts, k)


def _rank_power(counts: OrderedCounts, k: int) -> float:
    if k > counts.total:
        raise UndefinedMeasureError(
            f"rank_power is undefined for more than all points: k = {k} of {counts.total}"
        )
    point = last_flagging(counts, k)
    before = int(counts.fps[point] + counts.tps[point])
    hits = int(counts.tps[point])
    anomalies = np.diff(counts.tps[: point + 1]).astype(object)
    twice_ranks = int(np.dot(anomalies, _twice_mean_ranks(counts, point)))
    if before == k:
        return _power(hits, twice_ranks)
    # Of the tie at the cut, s of its anomalies are among the k highest: a hypergeometric number.
    tied_anomalies = int(counts.tps[point + 1]) - hits
    tied_normals = int(counts.fps[point + 1]) - int(counts.fps[point])
    places = k - before
    twice_rank = 2 * before + tied_anomalies + tied_normals + 1
    _power(hits + max(0, places - tied_normals), 1)
    population = tied_anomalies + tied_normals
    chances = np.empty(subsample.window_capacity(population, places))
    first, size = subsample.hypergeometric_window(population, tied_anomalies, places, chances)
    s = np.arange(first, first + size, dtype=np.float64)
    powers = (hits + s) * (hits + s + 1) / (twice_ranks + s * twice_rank)
    return float(np.dot(chances[:size], powers))


def cost_auc(counts: OrderedCounts, cost_ratio: Rates) -> float | FloatVector:
    """Pairs whose ranks stand in more than a ratio; see `fastad.measures.cost_auc`."""
    n, m = _whole_classes(counts, "cost_auc")
    ranks = _twice_mean_ranks(counts, len(counts.fps) - 1)
    anomalies, normals = np.diff(counts.tps), np.diff(counts.fps)

    def share(ratio: Fraction) -> float:
        scaled, divisor = ranks, ratio.denominator
        if max(int(ranks[-1]) * ratio.numerator, divisor) >= _INT64:
            scaled = ranks.astype(object)
        scaled = scaled * ratio.numerator
        # No rank is above the highest, so that larger limits are all alike.
        limits = np.minimum(scaled // divisor, int(ranks[-1]) + 1).astype(np.int64)
        # The first distinct score whose rank is above the limit, and the one before it.
        beyond = np.searchsorted(ranks, limits, side="right")
        before = np.maximum(beyond - 1, 0)
        at_limit = (scaled % divisor == 0) & (ranks[before] == limits)
        won = 2 * (m - counts.fps[beyond]) + np.where(at_limit, normals[before], 0)
        if 2 * n * m >= _INT64:
            won = won.astype(object)
        return int(np.dot(anomalies.astype(won.dtype), won)) / (2 * n * m)

    return at_each(cost_ratio, share)


def _whole_classes(counts: OrderedCounts, measure: str) -> tuple[int, int]:
    """Return the numbers of anomalies and normals, which must be whole."""
    need_both(counts, measure)
    _need_whole(counts, measure)
    return int(counts.n_anomalies), int(counts.n_normals)


def _need_whole(counts: OrderedCounts, measure: str) -> None:
    if counts.weighting == "real":
        raise InvalidInputError(
            f"{measure} counts whole points: sample_weight must hold whole numbers; "
            "found other values"
        )


def _twice_wins(counts: OrderedCounts, n_highest: int) -> Count:
    """Return twice the pairs that the highest normals lose, ties counting half."""
    point = last_within(counts.fps, Fraction(n_highest))
    rest = n_highest - int(counts.fps[point])
    lost = twice_area(counts.fps, counts.tps, 0, point)
    if rest:
        lost += rest * (int(counts.tps[point]) + int(counts.tps[point + 1]))
    return lost


def _twice_mean_ranks(counts: OrderedCounts, stop: int) -> IntVector:
    """Return twice the mean rank of each distinct score up to a point; rank 1 is highest."""
    flagged = counts.fps[: stop + 1] + counts.tps[: stop + 1]
    ranks: IntVector = flagged[:-1] + flagged[1:] + 1
    return ranks


def _power(hits: int, twice_ranks: int) -> float:
    if hits == 0:
        raise UndefinedMeasureError(
            "rank_power is undefined where no anomaly may be among the k highest"
        )
    return hits * (hits + 1) / twice_ranks

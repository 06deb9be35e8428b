"""Measures that read the values of scores, not only their order."""

import math
from fractions import Fraction

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.types import Count, CountVector, FloatVector, ScoreVector, Threshold
from fastad._kernels.curves import values
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.operating import threshold_array
from fastad.measures.points import Rates, at_each, exact, first_reaching, last_within, need_both
from fastad.measures.results import ClassPercentiles, RpCurve
from fastad.ordering.counts import OrderedCounts

# From here on, differences of scores might overflow.
_WIDE = 1e300
# Scaled scores so near to their mean are compared with it exactly.
_NEAR = 1e-9

ScoreRange = tuple[Fraction, Fraction]


def class_percentiles(counts: OrderedCounts, p: list[Fraction]) -> ClassPercentiles:
    """Percentiles of each class; see `fastad.measures.class_percentiles`."""
    need_both(counts, "class_percentiles")
    _need_finite(counts, "class_percentiles")
    return ClassPercentiles.of(
        np.array([float(share) for share in p]),
        _array([_percentile(counts, counts.tps, counts.n_anomalies, x) for x in p]),
        _array([_percentile(counts, counts.fps, counts.n_normals, x) for x in p]),
    )


def rp_distance(counts: OrderedCounts, p: Rates) -> float | FloatVector:
    """Reverse percentile distance; see `fastad.measures.rp_distance`."""
    need_both(counts, "rp_distance")
    _need_finite(counts, "rp_distance")
    return at_each(p, lambda percentile: _distance(counts, percentile))


def rp_curve(counts: OrderedCounts) -> RpCurve:
    """Distances at all whole percentiles; see `fastad.measures.rp_curve`."""
    need_both(counts, "rp_curve")
    _need_finite(counts, "rp_curve")
    distance = np.array([_distance(counts, Fraction(p)) for p in range(101)])
    return RpCurve.of(np.arange(101.0), distance, _zero(counts))


def rp_auc(counts: OrderedCounts, *, score_range: ScoreRange) -> float:
    """Area under the RP curve; see `fastad.measures.rp_auc`.

    The percentile of a class, integrated over all percentiles, is 100 times the mean of the
    class. So the area needs no percentiles: it is `probabilistic_auc`.
    """
    return _separation(counts, score_range, "rp_auc")


def probabilistic_auc(counts: OrderedCounts, *, score_range: ScoreRange) -> float:
    """Mean separation on scaled scores; see `fastad.measures.probabilistic_auc`."""
    return _separation(counts, score_range, "probabilistic_auc")


def scored_auc(counts: OrderedCounts, *, score_range: ScoreRange) -> float:
    """Mean positive difference on scaled scores; see `fastad.measures.scored_auc`."""
    need_both(counts, "scored_auc")
    scaled = scaled_scores(counts, score_range, "scored_auc")
    differences = values.positive_differences(scaled, counts.fps, counts.tps)
    return differences / (counts.n_anomalies * counts.n_normals)


def smooth_roc(counts: OrderedCounts, *, score_range: ScoreRange) -> float:
    """Area under the smooth ROC; see `fastad.measures.smooth_roc`."""
    need_both(counts, "smooth_roc")
    scaled = scaled_scores(counts, score_range, "smooth_roc")
    not_above, below = _around_mean(counts, scaled)
    area, x, y = values.smooth_area(scaled, counts.fps, counts.tps, not_above, below)
    if x * y == 0:
        raise UndefinedMeasureError("smooth_roc is undefined: its curve does not leave an axis")
    return area / (x * y)


def _array(scores: list[Threshold]) -> ScoreVector:
    """Return floats, but integers as they are where a float would not be exact."""
    exact_as_floats = all(float(score) == score for score in scores)
    return np.array(scores, np.float64) if exact_as_floats else threshold_array(scores)


def _distance(counts: OrderedCounts, percentile: Fraction) -> float:
    anomaly = _percentile(counts, counts.tps, counts.n_anomalies, 100 - percentile)
    normal = _percentile(counts, counts.fps, counts.n_normals, percentile)
    try:
        return float(Fraction(anomaly) - Fraction(normal))
    except OverflowError:
        return math.copysign(math.inf, anomaly)


def _percentile(
    counts: OrderedCounts, cumulative: CountVector, total: Count, percentile: Fraction
) -> Threshold:
    """Return the lowest score that at least p percent of a class do not exceed."""
    return counts.threshold(_quantile(cumulative, total, percentile / 100))


def _quantile(cumulative: CountVector, total: Count, share: Fraction) -> int:
    """Return the point of the lowest score that at least a share of a class does not exceed."""
    above = last_within(cumulative, (1 - share) * exact(total)) + 1
    return above if above < cumulative.shape[0] else first_reaching(cumulative, exact(total))


def _zero(counts: OrderedCounts) -> float:
    """Return the lowest percentile where the distance is not positive.

    RP(p) <= 0 where for some score v the share of normals below v is less than p and that of
    anomalies above v at most p (both as shares, with a normal at or above v and an anomaly at
    or below it): the least over v of the larger of the two shares.
    """
    n, m = counts.n_anomalies, counts.n_normals
    normals_below, anomalies_above = m - counts.fps[1:], counts.tps[:-1]
    possible = (normals_below < m) & (anomalies_above < n)
    if not np.any(possible):
        return float("nan")
    shares = np.maximum(normals_below / m, anomalies_above / n)[possible]
    best = np.flatnonzero(possible)[int(np.argmin(shares))]
    normal = exact(normals_below[best]) / exact(m)
    anomaly = exact(anomalies_above[best]) / exact(n)
    return float(100 * max(normal, anomaly))


def _separation(counts: OrderedCounts, score_range: ScoreRange, measure: str) -> float:
    need_both(counts, measure)
    scaled = scaled_scores(counts, score_range, measure)
    normal, anomalous = values.class_sums(scaled, counts.fps, counts.tps)
    return 0.5 + (anomalous / counts.n_anomalies - normal / counts.n_normals) / 2


def _need_finite(counts: OrderedCounts, measure: str) -> None:
    if not (np.isfinite(counts.threshold(1)) and np.isfinite(counts.threshold(len(counts.keys)))):
        raise InvalidInputError(
            f"y_score must be finite for {measure}, which reads its values", argument="y_score"
        )


def scaled_scores(counts: OrderedCounts, score_range: ScoreRange, measure: str) -> FloatVector:
    """Return the distinct scores, falling, from the range of the scores scaled to [0, 1]."""
    _need_finite(counts, measure)
    scores = counts.thresholds()
    low, high = score_range
    if scores.dtype.kind == "f":
        # A bound such as 0.8 stands for the nearest number of the scores' type.
        with np.errstate(over="ignore"):
            lowest, highest = np.array([float(low), float(high)]).astype(scores.dtype)
        outside = scores[-1] < lowest or scores[0] > highest
    else:
        outside = int(scores[-1]) < low or int(scores[0]) > high
    if outside:
        raise InvalidInputError(
            f"y_score must lie in score_range=({float(low)}, {float(high)}); "
            f"found scores from {scores[-1]} to {scores[0]}",
            argument="y_score",
        )
    if scores.dtype.kind != "f" and max(abs(int(scores[0])), abs(int(scores[-1]))) > 2**53:
        # A float64 would merge neighbours.
        return as_readonly(np.array([float((int(s) - low) / (high - low)) for s in scores]))
    # By a power of two, so that the widest range does not overflow and no digit is lost.
    scale = 0.25 if high - low > _WIDE else 1.0
    width = float((high - low) * Fraction(scale))
    scaled = (scores.astype(np.float64) * scale - float(low) * scale) / width
    return as_readonly(np.clip(scaled, 0, 1))


def _around_mean(counts: OrderedCounts, scaled: FloatVector) -> tuple[int, int]:
    """Return the first distinct scores that are not above, and below, the exact mean."""
    normal, anomalous = values.class_sums(scaled, counts.fps, counts.tps)
    mean = (normal + anomalous) / counts.total
    above = int(np.count_nonzero(scaled > mean + _NEAR))
    near = range(above, int(np.count_nonzero(scaled >= mean - _NEAR)))
    if not near:
        return above, above
    # Rounding may put the mean on the wrong side of a score next to it: add up exactly.
    scores = [Fraction(score) for score in counts.thresholds().tolist()]
    points = np.diff(counts.fps + counts.tps).tolist()
    products = (s * Fraction(c) for s, c in zip(scores, points, strict=True))
    exact_mean = sum(products, Fraction(0)) / exact(counts.total)
    not_above = above + sum(scores[i] > exact_mean for i in near)
    below = above + sum(scores[i] >= exact_mean for i in near)
    return not_above, below

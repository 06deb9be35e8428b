"""Measures that read the values of scores, not only their order."""

from fractions import Fraction

import numpy as np

from fastad._kernels import values
from fastad._types import Count, CountVector, FloatVector
from fastad.counts import OrderedCounts
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures._points import (
    Rates,
    at_each,
    exact,
    first_reaching,
    last_within,
    need_both,
)
from fastad.results import ClassPercentiles, RpCurve

ScoreRange = tuple[Fraction, Fraction]


def class_percentiles(counts: OrderedCounts, p: list[Fraction]) -> ClassPercentiles:
    """Percentiles of each class; see `fastad.class_percentiles`."""
    need_both(counts, "class_percentiles")
    scores = _finite_scores(counts, "class_percentiles")
    return ClassPercentiles.of(
        np.array([float(share) for share in p]),
        np.array([scores[_quantile(counts.tps, counts.n_anomalies, x / 100) - 1] for x in p]),
        np.array([scores[_quantile(counts.fps, counts.n_normals, x / 100) - 1] for x in p]),
    )


def rp_distance(counts: OrderedCounts, p: Rates) -> float | FloatVector:
    """Reverse percentile distance; see `fastad.rp_distance`."""
    need_both(counts, "rp_distance")
    scores = _finite_scores(counts, "rp_distance")

    def distance(percentile: Fraction) -> float:
        share = percentile / 100
        anomaly = scores[_quantile(counts.tps, counts.n_anomalies, 1 - share) - 1]
        normal = scores[_quantile(counts.fps, counts.n_normals, share) - 1]
        return float(anomaly - normal)

    return at_each(p, distance)


def rp_curve(counts: OrderedCounts) -> RpCurve:
    """Distances at all whole percentiles; see `fastad.rp_curve`."""
    distance = rp_distance(counts, [Fraction(p) for p in range(101)])
    return RpCurve.of(np.arange(101.0), distance, _zero(counts))


def rp_auc(counts: OrderedCounts, *, score_range: ScoreRange) -> float:
    """Area under the RP curve; see `fastad.rp_auc`.

    The percentile of a class, integrated over all percentiles, is 100 times the mean of the
    class. So the area needs no percentiles: it is `probabilistic_auc`.
    """
    return _separation(counts, score_range, "rp_auc")


def probabilistic_auc(counts: OrderedCounts, *, score_range: ScoreRange) -> float:
    """Mean separation on scaled scores; see `fastad.probabilistic_auc`."""
    return _separation(counts, score_range, "probabilistic_auc")


def scored_auc(counts: OrderedCounts, *, score_range: ScoreRange) -> float:
    """Mean positive difference on scaled scores; see `fastad.scored_auc`."""
    need_both(counts, "scored_auc")
    scores = _scores_within(counts, score_range, "scored_auc")
    differences = values.positive_differences(scores, counts.fps, counts.tps)
    return differences / _width(score_range) / (counts.n_anomalies * counts.n_normals)


def smooth_roc(counts: OrderedCounts, *, score_range: ScoreRange) -> float:
    """Area under the smooth ROC; see `fastad.smooth_roc`."""
    need_both(counts, "smooth_roc")
    scores = _scores_within(counts, score_range, "smooth_roc")
    not_above, below = _around_mean(counts, scores)
    scaled = (scores - float(score_range[0])) / _width(score_range)
    area, x, y = values.smooth_area(scaled, counts.fps, counts.tps, not_above, below)
    if x * y == 0:
        raise UndefinedMeasureError("smooth_roc is undefined: its curve does not leave an axis")
    return area / (x * y)


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
    scores = _scores_within(counts, score_range, measure)
    normal, anomalous = values.class_sums(scores, counts.fps, counts.tps)
    gap = anomalous / counts.n_anomalies - normal / counts.n_normals
    return 0.5 + gap / (2 * _width(score_range))


def _finite_scores(counts: OrderedCounts, measure: str) -> FloatVector:
    """Return the distinct scores, falling, as floats."""
    scores = counts.thresholds().astype(np.float64)
    if not (np.isfinite(scores[0]) and np.isfinite(scores[-1])):
        raise InvalidInputError(f"{measure} reads the values of scores: y_score must be finite")
    return scores


def _scores_within(counts: OrderedCounts, score_range: ScoreRange, measure: str) -> FloatVector:
    scores = _finite_scores(counts, measure)
    low, high = score_range
    if scores[-1] < float(low) or scores[0] > float(high):
        raise InvalidInputError(
            f"y_score must lie in score_range=({float(low)}, {float(high)}); "
            f"found scores from {scores[-1]} to {scores[0]}"
        )
    return scores


def _width(score_range: ScoreRange) -> float:
    return float(score_range[1] - score_range[0])


def _around_mean(counts: OrderedCounts, scores: FloatVector) -> tuple[int, int]:
    """Return the first distinct scores that are not above, and below, the exact mean."""
    normal, anomalous = values.class_sums(scores, counts.fps, counts.tps)
    mean = (normal + anomalous) / counts.total
    margin = 1e-9 * max(abs(scores[0]), abs(scores[-1]))
    near = (scores >= mean - margin) & (scores <= mean + margin)
    above = int(np.count_nonzero(scores > mean + margin))
    if not np.any(near):
        return above, above
    # Rounding may put the mean on the wrong side of a score next to it: add up exactly.
    points = np.diff(counts.fps + counts.tps)
    total = sum(
        (Fraction(s) * Fraction(c) for s, c in zip(scores.tolist(), points.tolist(), strict=True)),
        Fraction(0),
    )
    exact_mean = total / exact(counts.total)
    not_above = above + sum(Fraction(s) > exact_mean for s in scores[near].tolist())
    below = above + sum(Fraction(s) >= exact_mean for s in scores[near].tolist())
    return not_above, below

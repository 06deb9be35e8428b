"""Points of curves, read exactly from ordered counts, and functions for measures that read them."""

import operator
from bisect import bisect_right
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from fastad._core.declared import Choice
from fastad._core.parameters import nearest_float
from fastad._core.threads import in_steps, slices, thread_map
from fastad._core.types import Count, CountVector, FloatVector, IntVector, ScoreVector
from fastad._kernels.curves import area as kernels
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.cuts import CurvePart
from fastad.ordering.orders import PackedOrder

# Above this, twice an area does not fit into int64.
LARGEST_AREA = 2**63
# Bound of the rounding error of a quotient of counts, and some more.
NEAR = 1e-14
# Real weights are rounded when they are read, and their sums when they are stored: a quotient of
# two sums is that far from the quotient of the exact weights, as a fraction of itself ...
_ROUNDING = Fraction(1, 2**51)
# ... and of the fractions with denominators up to this one at most one is that near to it.
_LARGEST_DENOMINATOR = 2**25
# Points whose values are computed at a time: they stay in a core's cache.
_BLOCK = 1 << 15
# Between two points of a curve, or at the last one that stays within a rate.
INTERPOLATION = Choice.of("linear", "conservative")

# Whole counts are ints, real weights fractions; a quotient of either is rounded once.
Exact: TypeAlias = int | Fraction


def need_anomalies(counts: OrderedCounts | PackedOrder, measure: str) -> None:
    """Raise where there is no anomaly."""
    if counts.n_anomalies == 0:
        raise UndefinedMeasureError(f"{measure} is undefined without anomalies (label 1)")


def need_normals(counts: OrderedCounts, measure: str) -> None:
    """Raise where there is no normal sample."""
    if counts.n_normals == 0:
        raise UndefinedMeasureError(f"{measure} is undefined without normal samples (label 0)")


def need_both(counts: OrderedCounts, measure: str) -> None:
    """Raise where one of the two classes is absent."""
    need_anomalies(counts, measure)
    need_normals(counts, measure)


def k_or_anomalies(counts: OrderedCounts, k: int | None, measure: str) -> Count:
    """Return a number of highest scores, by default the number of anomalies."""
    if k is None and counts.n_anomalies == 0:
        raise UndefinedMeasureError(
            f"{measure} is undefined for the default k, the number of anomalies, where there are "
            "none"
        )
    return counts.n_anomalies if k is None else k


def last_within(counts: CountVector, limit: Exact, divisor: int = 1) -> int:
    """Return the last point whose cumulative count is at most an exact limit / divisor."""
    if counts.dtype.kind == "f":
        return _first_beyond(counts, Fraction(limit) / divisor, operator.gt) - 1
    return int(counts.searchsorted(limit // divisor, side="right")) - 1


def first_reaching(counts: CountVector, goal: Exact, divisor: int = 1) -> int:
    """Return the first point whose cumulative count is at least an exact goal / divisor."""
    if counts.dtype.kind == "f":
        return _first_beyond(counts, Fraction(goal) / divisor, operator.ge)
    return int(counts.searchsorted(-(-goal // divisor), side="left"))


def unrounded(number: Fraction) -> Fraction:
    """Return the fraction of integers that rounding of real weights may have made a number of.

    Where weights are multiples of one number, a quotient of their sums is one of integers, and
    steps of measures lie where they do with these integers as weights.
    """
    fraction = number.limit_denominator(_LARGEST_DENOMINATOR)
    return fraction if abs(fraction - number) <= _ROUNDING * number else number


def _first_beyond(
    counts: CountVector, limit: Fraction, is_beyond: Callable[[Fraction, Fraction], bool]
) -> int:
    """Return the first point whose sum of real weights compares with a limit."""
    total = Fraction(counts.item(-1))
    margin = 2 * float(_ROUNDING * abs(limit))
    about = nearest_float(limit)
    first = int(counts.searchsorted(about - margin, side="left"))
    last = int(counts.searchsorted(about + margin, side="right"))
    # Sums at neighbouring points may be equal: each is compared once.
    for point in (first + np.unique(counts[first:last], return_index=True)[1]).tolist():
        # A limit that is itself a sum is not compared with the fraction that this stands for.
        reached = Fraction(counts.item(point))
        if reached != limit:
            reached = unrounded(reached / total) * total
        if is_beyond(reached, limit):
            return int(point)
    return last


def last_flagging(counts: OrderedCounts, n_flagged: Count | Fraction) -> int:
    """Return the last point that flags at most ``n_flagged`` samples."""
    # Unless weights are real, each point flags at least one sample more than the one before.
    n_points = counts.fps.shape[0]
    points = range(n_points if counts.weighting == "real" else min(n_points, int(n_flagged) + 1))
    if flagged_at(counts, points[-1]) <= n_flagged:  # without ties, and where all are flagged
        return points[-1]
    # As Python's numbers, which are compared with a fraction exactly.
    return bisect_right(points, n_flagged, key=lambda i: flagged_at(counts, i)) - 1


def flagged_at(counts: OrderedCounts, point: int) -> Exact:
    """Return how many samples a point flags."""
    n_flagged = counts.fps.item(point) + counts.tps.item(point)
    return unrounded(Fraction(n_flagged)) if counts.weighting == "real" else n_flagged


def best_point(
    counts: OrderedCounts,
    value: Callable[[CountVector, CountVector], FloatVector],
    exact_value: Callable[[Fraction, Fraction], Fraction],
    *,
    first: int = 0,
    last: int | None = None,
    scale: float = 0.0,
) -> int:
    """Return the point with the highest value in a range; of equal values the first one.

    ``value`` of arrays of fp and tp is right to some ulps, or to such a fraction of ``scale``.
    Exact values decide where rounding may mislead; sums of real weights have none, and values
    that near are equal.
    """

    def near(values: FloatVector) -> IntVector:
        highest = float(values.max())
        close: IntVector = (values >= highest - NEAR * max(abs(highest), scale)).nonzero()[0]
        return close

    def candidates(points: range) -> tuple[IntVector, FloatVector]:
        block = slice(points.start, points.stop)
        values = value(counts.fps[block], counts.tps[block])
        chosen = near(values)
        return chosen + points.start, values[chosen]

    stop = counts.tps.shape[0] if last is None else last + 1
    if stop - first <= _BLOCK:
        points, _ = candidates(range(first, stop))
    else:
        blocks = thread_map(candidates, in_steps(first, stop, _BLOCK))
        points, values = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        points = points[near(values)]
    best: list[int] = points.tolist()
    if len(best) == 1 or counts.weighting == "real":
        return best[0]
    return max(best, key=lambda i: exact_value(exact(counts.fps[i]), exact(counts.tps[i])))


def hits_among(counts: OrderedCounts, k: Count | Fraction, measure: str) -> Exact:
    """Return the anomalies among the k highest scores, ties at the cut by expectation."""
    n_all = flagged_at(counts, -1)
    if counts.weighting == "real" and n_all < k <= n_all * (1 + _ROUNDING):
        k = n_all
    if k > n_all:
        raise UndefinedMeasureError(
            f"{measure} is undefined for more than all samples: k = "
            f"{k if isinstance(k, int) else float(k)} of {counts.total}"
        )
    left = last_flagging(counts, k)
    hits = entry(counts.tps, left)
    rest = plain(k) - hits - entry(counts.fps, left)
    # A sum of real weights may miss k by rounding.
    if rest <= 0 or left + 1 == counts.tps.shape[0]:
        return hits
    anomalies = entry(counts.tps, left + 1) - hits
    normals = plain(counts.fps.item(left + 1) - counts.fps.item(left))
    return hits + Fraction(rest * anomalies) / (anomalies + normals)


def exact(count: CountVector | Count | Fraction) -> Fraction:
    """Return a count, or a real total weight, as an exact fraction."""
    return Fraction(count.item() if isinstance(count, np.generic) else count)  # type: ignore[arg-type]


def plain(count: Count | Fraction) -> Exact:
    """Return a whole count as it is, a real one as an exact fraction."""
    return count if isinstance(count, int) else Fraction(count)


def entry(counts: CountVector, point: int) -> Exact:
    """Return the exact cumulative count of a point."""
    return plain(counts.item(point))


def at_fraction(rate: Fraction, total: Count) -> tuple[Exact, int]:
    """Return where a fraction of a total lies on its axis, as a quotient that is not reduced.

    Exact quotients of integers stay apart until they are divided once: most of the time
    of a fraction goes into keeping it reduced.
    """
    return rate.numerator * plain(total), rate.denominator


def height(
    xs: CountVector, ys: CountVector, left: int, x: Exact, divisor: int
) -> tuple[Exact, Exact]:
    """Return the height at x / divisor on the straight piece that starts at a point, as a quotient.

    At the last point, where no piece starts, it is the point's own height.
    """
    y0 = entry(ys, left)
    if left + 1 == xs.shape[0]:
        return y0, 1
    return height_between(
        (entry(xs, left), y0), (entry(xs, left + 1), entry(ys, left + 1)), x, divisor
    )


def height_between(
    left: tuple[Exact, Exact], right: tuple[Exact, Exact], x: Exact, divisor: int
) -> tuple[Exact, Exact]:
    """Return the height at x / divisor on the straight piece between two points, as a quotient."""
    (x0, y0), (x1, y1) = left, right
    whole = (x1 - x0) * divisor
    # Beyond the piece only by rounding of real weights.
    along = min(max(x - x0 * divisor, 0), whole)
    return y0 * whole + (y1 - y0) * along, whole


def quotient(numerator: Exact, denominator: Exact) -> float:
    """Divide exact numbers with one rounding."""
    return float(numerator / denominator)


def fractions_of(counts: CountVector, total: Count) -> FloatVector:
    """Return counts as fractions of their total."""
    fractions = np.empty(counts.shape)
    thread_map(
        lambda rows: np.divide(counts[rows], total, out=fractions[rows]), slices(counts.shape[0])
    )
    return fractions


def thresholds_from_infinity(counts: OrderedCounts) -> ScoreVector:
    """Return +inf and all distinct scores, in a type that holds both exactly."""
    return counts.codec.decode_after(np.inf, counts.keys)


def twice_area(xs: CountVector, ys: CountVector, start: int, stop: int) -> Count:
    """Return twice the area between two points, in counts; exact unless weights are real."""
    highest = max(int(ys[start]), int(ys[stop]))
    if xs.dtype.kind == "f" or 2 * int(xs[stop] - xs[start]) * highest < LARGEST_AREA:
        twice = kernels.twice_area(xs, ys, start, stop)
        # Without compilation it is NumPy's number, which overflows where Python's does not.
        return float(twice) if xs.dtype.kind == "f" else int(twice)
    widths = np.diff(xs[start : stop + 1]).astype(object)
    heights = ys[start : stop + 1].astype(object)
    return int(np.dot(widths, heights[1:] + heights[:-1]))


def need_integer_weights(counts: OrderedCounts, measure: str) -> None:
    """Raise where samples have real weights."""
    if counts.weighting == "real":
        raise InvalidInputError(
            f"sample_weight must contain integers for {measure}, which counts whole samples; "
            "found other values"
        )


def twice_mean_ranks(counts: OrderedCounts, stop: int) -> IntVector:
    """Return twice the mean rank of each distinct score up to a point; rank 1 is highest."""
    flagged = counts.fps[: stop + 1] + counts.tps[: stop + 1]
    ranks: IntVector = flagged[:-1] + flagged[1:] + 1
    return ranks


def need_finite(counts: OrderedCounts, measure: str) -> None:
    """Raise where a score is infinite."""
    if not (np.isfinite(counts.threshold(1)) and np.isfinite(counts.threshold(len(counts.keys)))):
        raise InvalidInputError(
            f"y_score must be finite for {measure}, which reads its values; found an infinity"
        )


def part_around_fpr(parameters: Mapping[str, Any]) -> CurvePart:
    """Return the part of the ROC curve that a measure at false positive rates reads."""
    return CurvePart.around(parameters["fpr"])

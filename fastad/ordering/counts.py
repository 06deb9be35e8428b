"""``OrderedCounts``: what everything with labels reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.buffers import ReusedBuffers, borrow_buffer
from fastad._core.threads import thread_map
from fastad._core.types import ArrayLike, Count, CountVector, IntVector, Label, ScoreVector
from fastad._kernels.ordering import sweep
from fastad.ordering.cuts import CurvePart
from fastad.ordering.distinct import count_listed, count_narrow
from fastad.ordering.gaps import count_corners
from fastad.ordering.labels import Labels, check_labels, check_scores
from fastad.ordering.orders import PackedOrder, Range, RowOrder, order_rows, order_values
from fastad.ordering.raw import KeyCodec, view_raw

Weighting = Literal["none", "integer", "real"]

_INT64 = np.dtype(np.int64)
# Fewer samples are sorted soon enough: narrow ones, and others, of which some are looked at first.
_FEWEST_NARROW, _FEWEST_WIDE = 2**13, 2**15
_N_FIRST = 2**7
# With fewer distinct scores among the first ones looked at, many tie with an anomaly.
_FEWEST_DISTINCT = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class OrderedCounts:
    """Anomalies and normals at or above each distinct score, from the highest score down.

    Point 0 lies above all scores, where nothing is flagged; point i > 0 flags the i highest
    distinct scores. Counts may hold only a part of the curve; then point 0 lies above the part,
    and the totals, which stand apart, still count all points.
    """

    # (n_distinct + 1,): flagged normals and flagged anomalies at each point. Integers (int64), or
    # float64 under real sample weights.
    fps: CountVector
    tps: CountVector
    # (n_distinct,): falling key of each distinct score; ``codec`` turns keys into scores.
    keys: IntVector
    codec: KeyCodec
    n_anomalies: Count  # totals: numbers of points, or total weights
    n_normals: Count
    n_points: int  # rows with a weight other than 0
    n_tied: int  # rows that share their score with another row; in a part of the curve, those in it
    weighting: Weighting  # kind of the sample weights

    def at_points(self, points: IntVector) -> "OrderedCounts":
        """Return the counts at some points alone, from point 0 on."""
        return replace(
            self,
            fps=as_readonly(self.fps[points]),
            tps=as_readonly(self.tps[points]),
            keys=as_readonly(self.keys[points[1:] - 1]),
        )

    def at_occurring(self) -> "OrderedCounts":
        """Return the counts without the scores that no sample has."""
        return self.at_points(np.flatnonzero(np.diff(self.fps + self.tps, prepend=-1)))

    @property
    def total(self) -> Count:
        """Number of points, or their total weight."""
        return self.n_anomalies + self.n_normals

    def normal_weight(self, prevalence: Fraction | None) -> Fraction:
        """Return the weight of a normal sample with which anomalies have a prevalence."""
        if prevalence is None:
            return Fraction(1)
        return (1 - prevalence) / prevalence * Fraction(self.n_anomalies) / Fraction(self.n_normals)

    def at_prevalence(self, prevalence: Fraction | None) -> "OrderedCounts":
        """Return the counts with normals weighted so that anomalies have a prevalence."""
        if prevalence is None:
            return self
        return self.with_normals_weighted(float(self.normal_weight(prevalence)))

    def with_normals_weighted(self, weight: float) -> "OrderedCounts":
        """Return the counts if there were so many times the normal samples."""
        return replace(
            self,
            fps=as_readonly(self.fps * weight),
            tps=as_readonly(self.tps.astype(np.float64)),
            n_anomalies=float(self.n_anomalies),
            n_normals=self.n_normals * weight,
            weighting="real",
        )

    def thresholds(self) -> ScoreVector:
        """Return the distinct scores, falling, in the type that the scores had."""
        return self.codec.decode(self.keys)

    def threshold(self, point: int) -> float | int:
        """Return the threshold of one point: +inf for point 0, an int for integer scores."""
        if point == 0:
            return np.inf
        return self.codec.decode_one(int(self.keys[point - 1]))


def count_values(order: PackedOrder) -> OrderedCounts:
    """Count at each distinct score of an order without rows; one pass."""
    keys, fps, tps = _buffers(order.packed.shape[0], _INT64)
    fps[0], tps[0] = order.ranges[0].fp, order.ranges[0].tp

    if len(order.ranges) == 1:
        centre, fp, tp = order.ranges[0][2:]
        n_distinct, n_tied = sweep.count_packed(
            order.packed, centre, fp, tp, keys, fps[1:], tps[1:]
        )
    else:
        n_distinct, n_tied = _count_ranges(order, keys, fps, tps)
    return OrderedCounts(
        fps=set_readonly(fps[: n_distinct + 1]),
        tps=set_readonly(tps[: n_distinct + 1]),
        keys=set_readonly(keys[:n_distinct]),
        codec=order.codec,
        n_anomalies=order.n_anomalies,
        n_normals=order.n_points - order.n_anomalies,
        n_points=order.n_points,
        n_tied=n_tied,
        weighting="none",
    )


def _count_ranges(
    order: PackedOrder, keys: IntVector, fps: CountVector, tps: CountVector
) -> tuple[int, int]:
    """Count in threads; return the numbers of distinct scores and of tied rows."""

    def sweep_range(where: Range) -> tuple[int, int]:
        rows = slice(where.start, where.stop)
        points = slice(where.start + 1, where.stop + 1)
        counted: tuple[int, int] = sweep.count_packed(
            order.packed[rows],
            where.centre,
            where.fp,
            where.tp,
            keys[rows],
            fps[points],
            tps[points],
        )
        return counted

    swept = thread_map(sweep_range, order.ranges)
    n_distinct = 0
    for where, (points, _) in zip(order.ranges, swept, strict=True):
        if n_distinct < where.start and points:
            # Ties have left room behind the range before.
            for counts, first in ((keys, 0), (fps, 1), (tps, 1)):
                moved = counts[where.start + first : where.start + first + points]
                counts[n_distinct + first : n_distinct + first + points] = moved
        n_distinct += points
    return n_distinct, sum(tied for _, tied in swept)


def count_rows(order: RowOrder, labels: Labels, weights: CountVector) -> OrderedCounts:
    """Add up the weights at each distinct score of an order that knows its rows."""
    n_points = weights.shape[0]
    keys, fps, tps = _buffers(n_points, weights.dtype)
    fps[0] = tps[0] = 0
    n_distinct, n_tied = sweep.count_rows(
        order.falling, order.rows, labels.values, as_readonly(weights), keys, fps[1:], tps[1:]
    )
    return OrderedCounts(
        fps=as_readonly(fps[: n_distinct + 1]),
        tps=as_readonly(tps[: n_distinct + 1]),
        keys=as_readonly(keys[:n_distinct]),
        codec=order.codec,
        n_anomalies=tps[n_distinct].item(),
        n_normals=fps[n_distinct].item(),
        n_points=n_points,
        n_tied=n_tied,
        weighting="integer" if weights.dtype == np.int64 else "real",
    )


def count_scores(
    scores: ScoreVector, labels: Labels, name: str = "y_score", part: CurvePart | None = None
) -> OrderedCounts:
    """Count at each distinct score, in order; O(N log N).

    The counts of a part of the curve reach at least one point beyond it, or to the end of the
    curve. Inside a block of `ReusedBuffers` the counts hold until others are made.
    """
    counts = count_without_sorting(scores, labels, name, part)
    return count_sorted(scores, labels, name, part) if counts is None else counts


def count_sorted(
    scores: ScoreVector, labels: Labels, name: str = "y_score", part: CurvePart | None = None
) -> OrderedCounts:
    """Sort scores, and count as `count_scores` does."""
    if labels.weights is not None:
        return count_rows(order_rows(scores, labels, name), labels, labels.weights)
    counts = count_values(order_values(scores, labels, name, part))
    if part is not None and not covers(counts, part):
        counts = count_values(order_values(scores, labels, name))
    return counts


def count_without_sorting(
    scores: ScoreVector,
    labels: Labels,
    name: str = "y_score",
    part: CurvePart | None = None,
    *,
    corners: bool = False,
) -> OrderedCounts | None:
    """Count in O(n) time, without sorting all scores; None where that is not faster.

    Where corners of the curve are enough, counts may have these alone, and no keys.
    """
    if labels.weights is not None or scores.shape[0] < _FEWEST_NARROW:
        return None
    counted, curve = count_narrow(scores, labels, name, part), None
    is_wide = scores.itemsize > 2 and scores.shape[0] >= _FEWEST_WIDE
    if counted is None and part is None and is_wide:
        raw = view_raw(scores)
        # As Python's numbers: so few are compared in a third of the time of an array.
        first = raw.values[:: max(raw.values.shape[0] // _N_FIRST, 1)].tolist()
        if len(set(first)) <= _FEWEST_DISTINCT * len(first):
            counted = count_listed(raw, labels, name)
        elif corners:
            curve = count_corners(raw, labels, name)
    if counted is not None:
        fps, tps = (
            np.concatenate([[0], np.cumsum(n)]) for n in (counted.n_normals, counted.n_anomalies)
        )
        n_equal = counted.n_normals + counted.n_anomalies
        keys, n_tied = counted.keys, int(n_equal[n_equal > 1].sum())
    elif curve is not None:
        fps, tps = curve
        keys, n_tied = np.arange(fps.shape[0] - 1), 0
    else:
        return None
    n_points, n_anomalies = scores.shape[0], labels.n_anomalies
    return OrderedCounts(
        fps=as_readonly(fps),
        tps=as_readonly(tps),
        keys=as_readonly(keys),
        codec=KeyCodec(scores.dtype, 0),
        n_anomalies=n_anomalies,
        n_normals=n_points - n_anomalies,
        n_points=n_points,
        n_tied=n_tied,
        weighting="none",
    )


def covers(counts: OrderedCounts, part: CurvePart) -> bool:
    """Tell whether counts hold the points on both sides of each end of a part of the curve."""
    fps, tps, n_normals = counts.fps, counts.tps, counts.n_normals
    # As Python's numbers: NumPy's take ten times as long to compare with a fraction.
    begins = fps.item(0) == tps.item(0) == 0 or fps.item(1) <= part.low * n_normals
    last = fps.item(-1)
    ends = last + tps.item(-1) == counts.n_points or last > part.high * n_normals
    return bool(begins and ends)


def corners_of(tps: CountVector) -> IntVector:
    """Return the points of a curve beside a step upwards, and both ends, by flagged anomalies.

    Of neighbouring normals these are the last one: others are on a straight line.
    """
    rises = np.diff(tps) > 0
    return np.flatnonzero(np.append(rises, True) | np.append(True, rises))


def count(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    part: CurvePart | None = None,
) -> OrderedCounts:
    """Check labels, scores and weights as a user gives them, and count."""
    labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
    return count_scores(check_scores(y_score, labels), labels, part=part)


@contextmanager
def counted(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    part: CurvePart | None = None,
) -> Iterator[OrderedCounts]:
    """Count as `count` does, for the length of a block, in memory that is used again."""
    with ReusedBuffers():
        yield count(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label, part=part)


def _buffers(
    n_points: int, dtype: np.dtype[np.generic]
) -> tuple[IntVector, CountVector, CountVector]:
    return (
        borrow_buffer("keys", n_points, _INT64),
        borrow_buffer("fps", n_points + 1, dtype),
        borrow_buffer("tps", n_points + 1, dtype),
    )

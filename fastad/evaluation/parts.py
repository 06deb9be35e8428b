"""Kinds of anomalies and segments of normals, from the order of all scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.threads import slices, thread_map
from fastad._core.types import IntMatrix, IntVector, ScoreVector
from fastad._kernels.ordering import kinds as kernels
from fastad.evaluation.operating_point import OperatingPoint
from fastad.evaluation.part_counts import PartCounter
from fastad.measures.flagged import points_flagged
from fastad.measures.measure import BoundMeasure, Extremes
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.groups import Groups
from fastad.ordering.labels import Labels
from fastad.ordering.membership import Membership
from fastad.ordering.orders import sort
from fastad.ordering.raw import view_raw

# Bits of a key that is not negative.
_KEY_BITS = 63


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Kinds of anomalies and segments of normals, and what is evaluated of them."""

    members: Mapping[str, Membership]  # of "kinds", "segments", or both
    confidence_level: Fraction
    rates: Sequence[Fraction]  # operating points where no measure has any
    events_per_day: float | None

    def take(self, rows: IntVector) -> "Parts":
        """Return the parts of some of the rows, which are numbered anew."""
        return replace(self, members={x: each.take(rows) for x, each in self.members.items()})


def points_by_part(
    points: Sequence[OperatingPoint], scores: ScoreVector, labels: Labels, parts: Parts
) -> list[OperatingPoint]:
    """Return operating points with the rates of each part at the same thresholds."""
    counter = PartCounter([x for x in points if x.threshold is not None])
    counter.count(labels.values.view(np.bool_), scores, parts.members, labels.weights)
    evaluated = iter(counter.evaluate(parts.confidence_level))
    return [x if x.threshold is None else next(evaluated) for x in points]


def reads_corners(bound: BoundMeasure) -> bool:
    """Tell whether a measure reads the corners of the curve and the operating points alone."""
    extremes = bound.measure.extremes
    if not isinstance(extremes, Extremes):
        return False
    at_point = bound.fpr is not None or bound.measure.operating_point == "threshold"
    return extremes.corners or (extremes.local and at_point)


def counts_by_kind(
    counts: OrderedCounts,
    scores: ScoreVector,
    kinds: Membership,
    points: Sequence[OperatingPoint],
    *,
    keyed: bool,
) -> list[tuple[Any, Callable[[], OrderedCounts]]]:
    """Return each kind and what counts it beside all normals, without another order of these.

    The points are where the curve of the kind bends, and the operating points; they have keys only
    where these are needed.
    """
    codes, columns = _in_order(counts, scores, kinds)
    sizes = np.bincount(codes, minlength=len(kinds.names))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    together = thread_map(Groups({}, starts, as_readonly(codes)).arrange, columns)
    last = counts.fps.shape[0] - 1
    thresholds = [x.threshold for x in points if x.threshold is not None]
    flagged = np.array([points_flagged(counts, x) for x in thresholds], np.int64)
    extra = np.unique(np.concatenate([[0, last], flagged, np.minimum(flagged + 1, last)]))
    normals = np.diff(counts.fps) if counts.n_tied else None
    n_tied_normals = 0 if normals is None else int(normals[normals > 1].sum())

    def count(kind: int) -> OrderedCounts:
        own = [column[starts[kind] : starts[kind + 1]] for column in together]
        at, fps, tps = written = np.empty((3, 2 * own[0].shape[0] + extra.shape[0]), np.int64)
        n = kernels.corner_points(own[0], own[1], own[2], extra, counts.fps[extra], at, fps, tps)
        at, fps, tps = written[:, :n]
        n_tied = 0
        if normals is not None:
            distinct, n_equal = np.unique(own[0], return_counts=True)
            alone = normals[distinct]
            together_there = alone + n_equal
            n_tied = int(together_there[together_there > 1].sum() - alone[alone > 1].sum())
        return replace(
            counts,
            fps=set_readonly(fps),
            tps=set_readonly(tps),
            keys=as_readonly(counts.keys[at[1:] - 1] if keyed else at[1:]),
            n_anomalies=own[0].shape[0],
            n_points=int(counts.n_normals) + own[0].shape[0],
            n_tied=n_tied_normals + n_tied,
        )

    return [(kinds.names[i], partial(count, i)) for i in np.flatnonzero(sizes).tolist()]


def _in_order(
    counts: OrderedCounts, scores: ScoreVector, kinds: Membership
) -> tuple[IntVector, list[IntVector]]:
    """Return the kinds of anomalies by falling score, and three columns beside them.

    These are the position of each score among all, and the normals above it, and at or above it.
    The counts say how many anomalies have each score, so that nothing is looked up.
    """
    raw = view_raw(as_readonly(kinds.of_entries(scores)))
    own = kinds.of_entries(kinds.own)

    def take(rows: slice) -> tuple[IntVector, IntVector]:
        n = np.count_nonzero(own[rows])
        taken = np.empty((2, n + 1), np.int64)
        values = raw.values[rows], raw.largest, raw.signed
        kernels.take_keys(*values, kinds.codes[rows], own[rows], *taken)
        return taken[0, :n], taken[1, :n]

    falling, codes = map(np.concatenate, zip(*thread_map(take, slices(own.shape[0])), strict=True))
    # Sorting values takes a third of the time of sorting positions: codes go along in the lowest
    # bits, if need be in place of the lowest of the keys, of which few scores differ in no others.
    n_bits = (len(kinds.names) - 1).bit_length()
    lowest = falling.min()
    span = int(falling.max()) - int(lowest)
    n_dropped = max(span.bit_length() + n_bits - _KEY_BITS, 0)
    # Differences beyond 63 bits are right as unsigned integers.
    above = (falling - lowest).view(np.uint64) >> np.uint64(n_dropped)
    keys = above.view(np.int64) << n_bits | codes
    sort(keys)
    columns = _scores_of_anomalies(counts)
    of_keys = _distinct(keys >> n_bits)
    if of_keys[-1] + 1 == columns[0].shape[0]:
        codes = keys & ((1 << n_bits) - 1)
    else:
        order = np.argsort(falling)
        codes, of_keys = codes[order], _distinct(falling[order])
    is_distinct = of_keys.shape[0] == columns[0].shape[0]
    return codes, columns if is_distinct else [column[of_keys] for column in columns]


def _scores_of_anomalies(counts: OrderedCounts) -> list[IntVector]:
    """Return the positions of the scores that anomalies have, and the normals around them."""

    def find(scores: slice) -> IntMatrix:
        fps, tps = (x[scores.start : scores.stop + 1] for x in (counts.fps, counts.tps))
        most = min(tps[-1] - tps[0], tps.shape[0] - 1)
        columns = np.empty((3, most + 1), np.int64)
        return columns[:, : kernels.scores_of_anomalies(fps, tps, scores.start, *columns)]

    return list(np.concatenate(thread_map(find, slices(counts.tps.shape[0] - 1)), axis=1))


def _distinct(ordered: IntVector) -> IntVector:
    """Number rising values, equal ones alike."""
    return np.cumsum(np.concatenate([[False], ordered[1:] != ordered[:-1]]))

"""Kinds of anomalies and segments of normals: counts at thresholds, and the curves of kinds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.parameters import check_choice, check_positive
from fastad._core.threads import slices, thread_map
from fastad._core.types import (
    AnyVector,
    BoolVector,
    CountVector,
    IntMatrix,
    IntVector,
    Point,
    ScoreVector,
)
from fastad._kernels.ordering import kinds as kernels
from fastad.errors import InvalidInputError
from fastad.evaluation.operating_point import OperatingPoint
from fastad.measures.flagged import flags, points_flagged
from fastad.measures.measure import BoundMeasure, Extremes
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.groups import Groups
from fastad.ordering.labels import Labels
from fastad.ordering.membership import OVERLAPS, Membership, Overlap
from fastad.ordering.orders import sort
from fastad.ordering.raw import view_raw

if TYPE_CHECKING:
    from fastad.uncertainty.rates.group_rates import RateComparison


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


@dataclass(eq=False)
class PartCounter:
    """Rows of each part of each class, and how many of them thresholds flag."""

    points: Sequence[OperatingPoint]
    # By kinds and segments: numbers of rows of each part, all and flagged at each threshold. A part
    # is known by the position of its column, its value there, and its name.
    counts: dict[str, dict[Any, IntVector]] = field(default_factory=dict)
    # The same for anomalies and for normals.
    totals: dict[str, IntVector] = field(default_factory=dict)
    overlapping: set[str] = field(default_factory=set)  # those with rows of several parts

    def count(
        self,
        anomalous: BoolVector,
        scores: AnyVector,
        members: Mapping[str, Membership],
        weights: CountVector | None = None,
    ) -> None:
        """Count rows whose labels, scores and parts have been checked."""
        if not self.points:
            return
        thresholds = [x.threshold for x in self.points if x.threshold is not None]
        flagged = [flags(scores, x) for x in thresholds]
        for part, own in (("kinds", anomalous), ("segments", ~anomalous)):
            member = members.get(part)
            counts = self.counts.setdefault(part, {})
            if member is not None:
                at_each = [member.count(each, weights) for each in flagged]
                numbers = np.stack([at_each[0][0], *(each[1] for each in at_each)], axis=1)
                for i in np.flatnonzero(numbers[:, 0]).tolist():
                    key = (*member.source(i), member.names[i])
                    counts[key] = counts.get(key, 0) + numbers[i]
            if member is not None and member.is_disjoint:
                total = numbers.sum(axis=0)
            else:
                masks = [own, *(own & each for each in flagged)]
                size = np.count_nonzero if weights is None else lambda x: weights[x].sum()
                total = np.array([size(each) for each in masks])
                self.overlapping |= set() if member is None else {part}
            self.totals[part] = self.totals.get(part, 0) + total

    def merge(self, other: "PartCounter") -> None:
        """Add the counts of other rows."""
        for part, total in other.totals.items():
            self.totals[part] = self.totals.get(part, 0) + total
            own = self.counts.setdefault(part, {})
            for key, numbers in other.counts[part].items():
                own[key] = own.get(key, 0) + numbers
        self.overlapping |= other.overlapping

    def names(self, part: str) -> list[Any]:
        """Return the names of the kinds or the segments: none where there is no threshold."""
        return [name for *_, name in self.counts.get(part, ())]

    def rename(self, part: str, new: Mapping[Any, Any]) -> None:
        """Give the kinds or the segments of a single column other names."""
        counts = self.counts.get(part, {})
        self.counts[part] = {
            (column, new[name], new[name]): each for (column, _, name), each in counts.items()
        }

    def empty(self) -> "PartCounter":
        """Return a counter of the same thresholds without rows."""
        return PartCounter(self.points)

    @property
    def n_normals(self) -> int:
        """Number of normal samples."""
        return int(self.totals["segments"][0]) if self.totals else 0

    def evaluate(self, level: Fraction) -> list[OperatingPoint]:
        """Return the points with counts, and the rates of kinds and segments, None without any."""
        # Here, because SciPy's functions take a sixth of a second to import.
        from fastad.uncertainty.rates.group_rates import compared_rates

        def compare(part: str, i: int) -> "RateComparison | None":
            numbers = np.array([*self.counts[part].values()])
            if not numbers.shape[0]:
                return None
            samples, events = numbers[:, 0].copy(), numbers[:, i].copy()
            total = self.totals[part][i].item(), self.totals[part][0].item()
            return compared_rates(
                self.names(part),
                events,
                samples,
                total if part in self.overlapping else None,
                higher_is_better=part == "kinds",
                level=level,
                noun=part[:-1],
            )

        return [
            replace(
                point,
                tp=self.totals["kinds"][i].item(),
                fp=self.totals["segments"][i].item(),
                kinds=compare("kinds", i),
                segments=compare("segments", i),
            )
            for i, point in enumerate(self.points, 1)
        ]


def check_part_options(
    overlap: Overlap, events_per_day: Point | None, names: tuple[str, str], *, are_given: bool
) -> float | None:
    """Check the options of kinds and segments, which need either; return the events a day."""
    check_choice(overlap, OVERLAPS, "overlap")
    events = None
    if events_per_day is not None:
        events = float(check_positive(events_per_day, "events_per_day"))
    if not are_given and (events is not None or overlap != "raise"):
        name = "overlap" if events is None else "events_per_day"
        raise InvalidInputError(f"{name} must be given with {' or '.join(names)}; found neither")
    return events

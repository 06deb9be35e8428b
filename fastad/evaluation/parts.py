"""Kinds of anomalies and segments of normals: counts at thresholds, and the curves of kinds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.parameters import check_choice, check_positive
from fastad._core.types import AnyVector, BoolVector, CountVector, IntVector, Point, ScoreVector
from fastad.errors import InvalidInputError
from fastad.evaluation.operating_point import OperatingPoint
from fastad.measures.flagged import lowest_flagged, points_flagged
from fastad.measures.measure import BoundMeasure, Extremes
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.groups import Groups
from fastad.ordering.labels import Labels
from fastad.ordering.membership import OVERLAPS, Membership, Overlap

if TYPE_CHECKING:
    from fastad.uncertainty.rates.group_rates import RateComparison


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
    points: Sequence[OperatingPoint] | None,
) -> list[tuple[Any, Callable[[], OrderedCounts]]]:
    """Return each kind and what counts it beside all normals, without another order of these.

    If points are given, only these are counted, and those where the curve of the kind bends.
    """
    rows = np.flatnonzero(kinds.of_entries(kinds.own))
    codes = as_readonly(kinds.codes[rows])
    sizes = np.bincount(codes, minlength=len(kinds.names))
    starts = np.append(0, np.cumsum(sizes))
    values = Groups({}, starts, codes).arrange(kinds.of_entries(scores)[rows])
    # Few scores are of anomalies, and among few a search is fast.
    rising = np.flatnonzero(counts.tps[1:] > counts.tps[:-1])[::-1]
    distinct = counts.codec.decode(counts.keys[rising])
    last = counts.fps.shape[0] - 1
    n_tied = _tied(np.diff(counts.fps))
    thresholds = [x.threshold for x in points or () if x.threshold is not None]
    flagged = np.array([points_flagged(counts, x) for x in thresholds], np.int64)
    extra = np.concatenate([[0, last], flagged, np.minimum(flagged + 1, last)])

    def count(kind: int) -> OrderedCounts:
        own = np.sort(values[starts[kind] : starts[kind + 1]])
        at = rising[np.searchsorted(distinct, own)][::-1]
        if points is None:
            kept = np.arange(last + 1)
            tps = np.cumsum(np.bincount(at + 1, minlength=last + 1))
        else:
            kept = np.sort(np.concatenate([at, at + 1, extra]), kind="stable")
            tps = np.searchsorted(at, kept)
        fps = counts.fps[kept]
        # Left out are points twice, and points at which scores of other kinds alone are added.
        is_new = np.append(True, np.diff(fps + tps) > 0)
        kept, fps, tps = kept[is_new], fps[is_new], tps[is_new]
        n_equal = np.diff(tps)
        alone = np.diff(fps)[n_equal > 0]
        return replace(
            counts,
            fps=as_readonly(fps),
            tps=as_readonly(tps),
            keys=as_readonly(counts.keys[kept[1:] - 1]),
            n_anomalies=own.shape[0],
            n_points=int(counts.n_normals) + own.shape[0],
            n_tied=n_tied + _tied(alone + n_equal[n_equal > 0]) - _tied(alone),
        )

    return [(kinds.names[i], partial(count, i)) for i in np.flatnonzero(sizes).tolist()]


def _tied(n_equal: CountVector) -> int:
    """Return how many rows share their score, by the numbers of rows of each score."""
    return int(n_equal[n_equal > 1].sum())


@dataclass(eq=False)
class PartCounter:
    """Rows of each part of each class, and how many of them thresholds flag."""

    points: Sequence[OperatingPoint]
    # By kinds and segments: numbers of rows of each part, all and flagged at each threshold.
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
        flagged = [scores >= lowest_flagged(x, scores.dtype) for x in thresholds]
        for part, own in (("kinds", anomalous), ("segments", ~anomalous)):
            member = members.get(part)
            by_name = self.counts.setdefault(part, {})
            if member is not None:
                at_each = [member.count(each, weights) for each in flagged]
                numbers = np.stack([at_each[0][0], *(each[1] for each in at_each)], axis=1)
                for i in np.flatnonzero(numbers[:, 0]).tolist():
                    name = member.names[i]
                    by_name[name] = by_name.get(name, 0) + numbers[i]
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
            for name, numbers in other.counts[part].items():
                own[name] = own.get(name, 0) + numbers
        self.overlapping |= other.overlapping

    def names(self, part: str) -> list[Any]:
        """Return the names of the kinds or the segments: none where there is no threshold."""
        return list(self.counts.get(part, ()))

    def rename(self, part: str, new: Mapping[Any, Any]) -> None:
        """Give the kinds or the segments other names."""
        by_name = self.counts.get(part, {})
        self.counts[part] = {new[name]: numbers for name, numbers in by_name.items()}

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
                list(self.counts[part]),
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

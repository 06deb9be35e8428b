"""Kinds of anomalies and segments of normals in files: counts at thresholds, in one more pass."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fastad._core.parameters import check_choice, check_column_names, check_positive, check_rate
from fastad._core.types import AnyVector, BoolVector, IntVector, Point, Points, Threshold
from fastad._tables.errors import TableError
from fastad._tables.table import Batch
from fastad.errors import InvalidInputError
from fastad.evaluation.breakdown import Breakdown, PointByPart, RunByPart
from fastad.evaluation.parts import compare_parts
from fastad.measures.flagged import lowest_flagged
from fastad.measures.measure import BoundMeasure
from fastad.measures.thresholds import THRESHOLD_AT_FPR
from fastad.ordering.labels import Labels
from fastad.ordering.membership import OVERLAPS, Membership, Overlap, check_membership
from fastad.streaming.sketches.results import BoundedEvaluation

_LEVEL = Fraction(95, 100)


def in_order(names: Iterable[Any]) -> list[Any]:
    """Return names in the order of their values, where these have one, each once."""
    listed = list(dict.fromkeys(names))
    try:
        return sorted(listed)
    except TypeError:
        return listed


class PartColumns(NamedTuple):
    """Columns of kinds and of segments, and what is done about rows of several."""

    kinds: Sequence[str]
    segments: Sequence[str]
    overlap: Overlap
    events_per_day: float | None

    @property
    def names(self) -> list[str]:
        """All columns, each once."""
        return list(dict.fromkeys([*self.kinds, *self.segments]))

    def members(self, batch: Batch, labels: Labels) -> dict[str, Membership]:
        """Return the kinds and segments of the rows of a batch."""
        found = {}
        for part, names, label in (("kinds", self.kinds, 1), ("segments", self.segments, 0)):
            if names:
                columns = {name: batch.columns[name] for name in names}
                try:
                    found[part] = check_membership(columns, labels, part, label, self.overlap)
                except InvalidInputError as error:
                    raise TableError(f"{batch.where}: {error} of a batch") from None
        return found


@dataclass(eq=False)
class PartCounter:
    """Rows of each part of each class, and how many of them thresholds flag."""

    points: Sequence[tuple[float | None, Threshold]]  # false positive rates, and thresholds
    # By kinds and segments: numbers of rows of each part, all and flagged at each threshold.
    counts: dict[str, dict[Any, IntVector]] = field(default_factory=dict)
    # The same for anomalies and for normals.
    totals: dict[str, IntVector] = field(default_factory=dict)
    has_overlap: dict[str, bool] = field(default_factory=dict)

    def count(
        self, anomalous: BoolVector, scores: AnyVector, members: Mapping[str, Membership]
    ) -> None:
        """Count rows whose labels, scores and parts have been checked."""
        everything = np.ones(scores.shape[0], np.bool_)
        chosen = [
            everything,
            *(scores >= lowest_flagged(x, scores.dtype) for _, x in self.points),
        ]
        for part, own in (("kinds", anomalous), ("segments", ~anomalous)):
            self._add_total(part, np.array([np.count_nonzero(own & each) for each in chosen]))
            if part not in members:
                continue
            member = members[part]
            numbers = np.stack([member.count(None, each)[1] for each in chosen], axis=1)
            by_name = self.counts.setdefault(part, {})
            for name, row in zip(member.names, numbers, strict=True):
                if row[0]:
                    by_name[name] = by_name.get(name, 0) + row
            self.has_overlap[part] = self.has_overlap.get(part, False) or not member.is_disjoint

    def merge(self, other: "PartCounter") -> None:
        """Add the counts of other rows."""
        for part, total in other.totals.items():
            self._add_total(part, total)
        for part, by_name in other.counts.items():
            own = self.counts.setdefault(part, {})
            for name, row in by_name.items():
                own[name] = own.get(name, 0) + row
            self.has_overlap[part] = self.has_overlap.get(part, False) or other.has_overlap[part]

    def _add_total(self, part: str, numbers: IntVector) -> None:
        self.totals[part] = self.totals.get(part, np.zeros_like(numbers)) + numbers

    def empty(self) -> "PartCounter":
        """Return a counter of the same thresholds without rows."""
        return PartCounter(self.points)

    def rename(self, part: str, rename: Callable[[list[Any]], list[Any]]) -> None:
        """Give the kinds or the segments other names."""
        by_name = self.counts.get(part, {})
        names = rename(list(by_name))
        self.counts[part] = dict(zip(names, by_name.values(), strict=True))

    def run_by_part(self, names: Mapping[str, Any]) -> RunByPart:
        """Return what a breakdown shows of a detector, in a group of some names."""
        normals = self.totals["segments"].tolist()
        points = [
            PointByPart(
                rate,
                threshold,
                normals[i],
                normals[0],
                self._rates("kinds", "kind", i),
                self._rates("segments", "segment", i),
            )
            for i, (rate, threshold) in enumerate(self.points, 1)
        ]
        return RunByPart(names, points, {}, {})

    def _rates(self, part: str, noun: str, i: int) -> Any:
        by_name = self.counts.get(part)
        if not by_name:
            return None
        names = in_order(by_name)
        samples, events = (np.array([by_name[name][j] for name in names]) for j in (0, i))
        total = None
        if self.has_overlap[part]:
            total = self.totals[part][i].item(), self.totals[part][0].item()
        return compare_parts(names, events, samples, total, noun, _LEVEL)


def check_parts(
    kind_columns: str | Sequence[str] | None,
    segment_columns: str | Sequence[str] | None,
    overlap: Overlap,
    events_per_day: Point | None,
) -> PartColumns | None:
    """Check columns of kinds and segments; None where there are neither."""
    check_choice(overlap, OVERLAPS, "overlap")
    events = None
    if events_per_day is not None:
        events = float(check_positive(events_per_day, "events_per_day"))
    if kind_columns is None and segment_columns is None:
        if events is not None or overlap != "raise":
            name = "overlap" if events is None else "events_per_day"
            raise InvalidInputError(
                f"{name} must be given with kind_columns or segment_columns; found neither"
            )
        return None
    kinds, segments = (
        () if each is None else list(dict.fromkeys(check_column_names(each, name)))
        for each, name in ((kind_columns, "kind_columns"), (segment_columns, "segment_columns"))
    )
    return PartColumns(kinds, segments, overlap, events)


def add_thresholds(measures: Sequence[BoundMeasure], fpr: Point | Points) -> Sequence[BoundMeasure]:
    """Return measures with the thresholds at false positive rates, where none has a threshold."""
    if any("threshold" in x.parameters or x.measure is THRESHOLD_AT_FPR for x in measures):
        return measures
    rates = check_rate(fpr, "fpr")
    each = [rates] if isinstance(rates, Fraction) else rates
    checked = [(rate, THRESHOLD_AT_FPR.check({"fpr": rate})) for rate in each]
    key = THRESHOLD_AT_FPR.key_at
    return [*measures, *(BoundMeasure(key(rate), THRESHOLD_AT_FPR, x) for rate, x in checked)]


def part_counter(measures: Sequence[BoundMeasure], table: BoundedEvaluation) -> PartCounter:
    """Return a counter at the thresholds of a table, or those that measures were given.

    A threshold that is known up to its cell is taken at its value: the rates are exact there.
    """
    points: list[tuple[float | None, Threshold]] = []
    for bound in measures:
        if bound.measure is THRESHOLD_AT_FPR and bound.key in table:
            points.append((float(bound.parameters["fpr"]), table[bound.key].value))
        elif bound.parameters.get("threshold") is not None:
            points.append((None, bound.parameters["threshold"]))
    return PartCounter([x for x in dict.fromkeys(points) if x[1] == x[1]])


def breakdown_of(
    counters: Mapping[tuple[Any, str], PartCounter],
    group_columns: Sequence[str],
    parts: PartColumns,
) -> Breakdown:
    """Return the rates of parts, by group and column of scores."""

    def names(group: Any, column: str) -> dict[str, Any]:
        values = group if len(group_columns) > 1 else (group,)[: len(group_columns)]
        return {**dict(zip(group_columns, values, strict=True)), "detector": column}

    runs = [each.run_by_part(names(*key)) for key, each in counters.items()]
    return Breakdown(runs, parts.events_per_day)

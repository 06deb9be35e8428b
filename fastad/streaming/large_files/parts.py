"""Kinds of anomalies and segments of normals in files: counts at thresholds, in one more pass."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from fastad._core.parameters import check_column_names, check_inside, check_rates
from fastad._core.types import Point, Points, Threshold
from fastad._tables.errors import TableError
from fastad._tables.table import Batch
from fastad.errors import InvalidInputError
from fastad.evaluation.breakdown import Breakdown, RunByPart
from fastad.evaluation.few_normals import LEVEL
from fastad.evaluation.operating_point import OperatingPoint
from fastad.evaluation.parts import PartCounter, check_part_options
from fastad.measures.measure import BoundMeasure
from fastad.measures.thresholds import THRESHOLD_AT_FPR
from fastad.ordering.groups import in_order
from fastad.ordering.labels import Labels
from fastad.ordering.membership import Membership, Overlap, check_membership
from fastad.streaming.sketches.bounds import threshold_measures
from fastad.streaming.sketches.results import BoundedEvaluation


class PartColumns(NamedTuple):
    """Columns of kinds and of segments, and what is done about rows of several."""

    kinds: Sequence[str]
    segments: Sequence[str]
    overlap: Overlap
    events_per_day: float | None
    level: Fraction

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


def check_parts(
    kind_columns: str | Sequence[str] | None,
    segment_columns: str | Sequence[str] | None,
    overlap: Overlap,
    events_per_day: Point | None,
    confidence_level: Point | None = None,
) -> PartColumns | None:
    """Check columns of kinds and segments; None where there are neither."""
    are_given = kind_columns is not None or segment_columns is not None
    names = ("kind_columns", "segment_columns")
    events = check_part_options(overlap, events_per_day, names, are_given=are_given)
    if not are_given:
        return None
    kinds, segments = (
        () if each is None else list(dict.fromkeys(check_column_names(each, name)))
        for each, name in zip((kind_columns, segment_columns), names, strict=True)
    )
    level = (
        LEVEL if confidence_level is None else check_inside(confidence_level, "confidence_level")
    )
    return PartColumns(kinds, segments, overlap, events, level)


def add_thresholds(measures: Sequence[BoundMeasure], fpr: Point | Points) -> Sequence[BoundMeasure]:
    """Return measures with the thresholds at false positive rates, where none has a threshold."""
    if any("threshold" in x.parameters or x.measure is THRESHOLD_AT_FPR for x in measures):
        return measures
    return [*measures, *threshold_measures(check_rates(fpr, "fpr"))]


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
    points.sort(key=lambda x: x[0] is None)  # rates first, as in memory
    distinct = [x for x in dict.fromkeys(points) if x[1] == x[1]]
    return PartCounter([OperatingPoint(*point, None, None) for point in distinct])


def breakdown_of(
    counters: Mapping[tuple[Any, str], PartCounter],
    group_columns: Sequence[str],
    parts: PartColumns,
) -> Breakdown | None:
    """Return the rates of parts, by group and column of scores; None without any, as in memory."""
    runs = []
    for (group, column), each in counters.items():
        values = group if len(group_columns) > 1 else (group,)[: len(group_columns)]
        names = {**dict(zip(group_columns, values, strict=True)), "detector": column}
        for part, counts in each.counts.items():
            each.counts[part] = {key: counts[key] for key in in_order(counts)}
        runs.append(RunByPart(names, each.evaluate(parts.level), each.n_normals))
    if all(x.kinds is None and x.segments is None for run in runs for x in run.points):
        return None
    return Breakdown(runs, parts.events_per_day)

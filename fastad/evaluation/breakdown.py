"""The rates of kinds of anomalies and of segments of normals at the operating points: a table."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastad._core.results import Column, TableResult
from fastad._core.text_tables import DASH, TextTable, count_text, number_text, value_text
from fastad._core.types import Count
from fastad.evaluation.notes import UNRESOLVED, line_of_unresolved
from fastad.evaluation.operating_point import OperatingPoint, plain_text

if TYPE_CHECKING:
    from fastad.uncertainty.rates.group_rates import RateComparison

# Columns of frames beside the groups, the detector and the measures.
PART_COLUMNS = (
    *("fpr", "threshold", "of", "part", "name", "n_samples", "n_events", "value", "low", "high"),
    *("p_value", "alarms_per_day"),
)
_MAX_PRINTED = 20
_HEADS = {"kind": ("anomalies", "flagged", "tpr"), "segment": ("normals", "flagged", "fpr")}


@dataclass(frozen=True, slots=True)
class RunByPart:
    """A detector, on all rows or in a group, with what there is of each part."""

    names: Mapping[str, Any]  # columns of its group, and the detector
    points: Sequence[OperatingPoint]  # with a threshold
    n_normals: Count
    values: Mapping[str, float] = field(default_factory=dict)  # measures of all anomalies
    by_kind: Mapping[Any, Mapping[str, float]] = field(default_factory=dict)
    # Why the samples are too few for values, by their keys, of each kind, and by None of all.
    unresolved: Mapping[Any, Mapping[str, str]] = field(default_factory=dict)


class Breakdown(TableResult):
    """Rates of kinds of anomalies and of segments of normals at operating points.

    Prints tables for each detector and point. Frames have a row for all samples, each part and the
    worst one at each point: the columns of groups, ``detector``, ``fpr``, ``threshold``, the
    columns of `fastad.uncertainty.RateComparison`, ``alarms_per_day``, and the keys of the
    measures, whose values are of each kind against all normal samples.

    Attributes
    ----------
    events_per_day : float or None
        Number of normal events a day, of which alarms are a fraction.
    """

    __slots__ = ("_runs", "events_per_day")

    def __init__(self, runs: Sequence[RunByPart], events_per_day: float | None) -> None:
        self._runs = list(runs)
        self.events_per_day = events_per_day

    def __repr__(self) -> str:
        return f"<Breakdown of {count_text(len(self._runs), 'run')}>"

    def _declare_columns(self) -> list[Column]:
        rows = list(self._rows())
        return [Column(name, [row[name] for row in rows], _cell) for name in rows[0]]

    def _rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the frame."""
        nan = math.nan
        for run in self._runs:
            for point in run.points:
                head = {
                    **run.names,
                    "fpr": nan if point.fpr is None else point.fpr,
                    "threshold": point.plain_threshold,
                }
                for rates in filter(None, (point.kinds, point.segments)):
                    cells = rates.to_columns()
                    alarms = self._alarms(rates, run.n_normals)
                    for i, part in enumerate(cells["part"]):
                        row = {name: column[i] for name, column in cells.items()}
                        values: Mapping[str, float] = {}
                        if rates.noun == "kind" and part in ("all", "kind"):
                            of_kind = run.by_kind.get(row["name"], {})
                            values = run.values if part == "all" else of_kind
                        yield {
                            **head,
                            "of": rates.noun,
                            **row,
                            "alarms_per_day": alarms[i],
                            **{key: values.get(key, nan) for key in run.values},
                        }

    def _alarms(self, rates: "RateComparison", n_normals: Count) -> list[float]:
        """Return the false alarms a day of each row, NaN where there are none."""
        counts = rates.to_columns()["n_events"]
        if self.events_per_day is None or rates.noun == "kind":
            return [math.nan] * len(counts)
        return [count / n_normals * self.events_per_day for count in counts]

    def _blocks(self) -> list[TextTable | str]:
        blocks: list[TextTable | str] = []
        for run in self._runs:
            title = ", ".join(map(str, run.names.values()))
            if run.by_kind:
                blocks += ["", f"{title}: each kind against all normals", _by_kind(run)]
            for point in run.points:
                blocks += ["", f"{title}, {self._point_text(point, run.n_normals)}"]
                for rates in filter(None, (point.kinds, point.segments)):
                    blocks += [self._table(rates, run.n_normals), *rates.statements]
        return [*blocks[1:], *(["", *self.notes] if self.notes else [])]

    @property
    def notes(self) -> list[str]:
        """What the marks, the intervals and the p-values mean."""
        # Here, as the functions of intervals are.
        from fastad.uncertainty.rates.group_rates import line_of_intervals

        comparisons = [
            rates for run in self._runs for x in run.points for rates in (x.kinds, x.segments)
        ]
        levels = {rates.confidence_level for rates in comparisons if rates is not None}
        of_kinds = (each for run in self._runs if run.by_kind for each in run.unresolved.values())
        return [*line_of_unresolved(of_kinds), *(line_of_intervals(level) for level in levels)]

    def _point_text(self, point: OperatingPoint, n_normals: Count) -> str:
        rate = math.nan if point.fp is None or not n_normals else point.fp / n_normals
        at = "" if point.fpr is None else f"FPR {point.fpr:g}, "
        text = f"{at}threshold {plain_text(point.threshold)}: flags {rate:.3g} of the normals"
        if self.events_per_day is None:
            return text
        return f"{text}, {rate * self.events_per_day:.3g} false alarms a day"

    def _table(self, rates: "RateComparison", n_normals: Count) -> TextTable:
        """Return a printed table of the rates of kinds or of segments."""
        table = rates.text_table()
        header = [rates.noun, *_HEADS[rates.noun], *table.header[4:]]
        rows = [list(row) for row in table.rows]
        if self.events_per_day is not None and rates.noun == "segment":
            header.append("alarms a day")
            for row, alarms in zip(rows, self._alarms(rates, n_normals), strict=True):
                row.append(number_text(alarms, ".3g"))
        shown = rows
        if len(rows) > _MAX_PRINTED + 2:
            # The worst come first where not all are shown.
            sign = 1 if rates.higher_is_better else -1
            order = sorted(range(len(rates.names)), key=lambda i: sign * rates.value[i])
            shown = [rows[0], *(rows[1 + i] for i in order[:_MAX_PRINTED])]
            more = count_text(len(order) - _MAX_PRINTED, f"more {rates.noun}")
            shown += [[f"and {more}", *[DASH] * (len(header) - 1)], rows[-1]]
        return TextTable(header, shown)


def _cell(value: Any) -> str:
    return number_text(value, ".4g") if isinstance(value, float) else str(value)


def _by_kind(run: RunByPart) -> TextTable:
    """Return a table of the measures of each kind."""
    keys = list(run.values)

    def mark(name: Any, key: str) -> str:
        return UNRESOLVED if key in run.unresolved[name] else ""

    # A kind may be called "all", and none is called None.
    rows = {None: run.values, **run.by_kind}
    table = [
        [
            "all" if name is None else str(name),
            *(f"{mark(name, key)}{value_text(each[key])}" for key in keys),
        ]
        for name, each in rows.items()
    ]
    shown, n_more = table[: _MAX_PRINTED + 1], len(run.by_kind) - _MAX_PRINTED
    if n_more > 0:
        shown.append([f"and {count_text(n_more, 'more kind')}", *[DASH] * len(keys)])
    return TextTable(["kind", *keys], shown)

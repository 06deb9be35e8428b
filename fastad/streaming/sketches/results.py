"""Values with bounds that are certain."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastad._core.results import (
    Column,
    NamedParts,
    Record,
    Result,
    TableResult,
    attribute_columns,
    plain_record,
    plain_rows,
)
from fastad._core.text_tables import TextTable, level_text
from fastad._core.types import Threshold
from fastad.evaluation.breakdown import Breakdown
from fastad.measures.requests import key_of
from fastad.uncertainty.results import Interval


@dataclass(frozen=True, slots=True)
class BoundedValue(Record):
    """A measure of scores that are known up to their cells.

    The bounds are certain: no order of the points within their cells, and no ties among them,
    lead beyond. They say nothing of other samples from the same distribution, which is what a
    confidence interval is for.

    Attributes
    ----------
    value : float
        The measure where all points of a cell have the same score; NaN where that leaves it
        undefined.
    low, high : float
        Lowest and highest value that the exact scores can have.
    """

    value: Threshold
    low: Threshold
    high: Threshold

    @property
    def is_exact(self) -> bool:
        """Whether the exact scores have this value."""
        return self.low == self.high

    @property
    def error(self) -> float:
        """How far the exact scores' value can be from this one; NaN where it is undefined."""
        if self.is_exact:
            return 0.0
        # An infinite threshold is not far from itself.
        above = 0 if self.high == self.value else self.high - self.value
        below = 0 if self.low == self.value else self.value - self.low
        return float(max(above, below))

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        value, bounds = self.cells()
        return f"{value} ({bounds if self.is_exact else f'certainly from {bounds}'})"

    def cells(self) -> tuple[str, str]:
        """Return the value and its bounds as they stand in a table."""
        if self.is_exact:
            return f"{self.value:.6g}", "exact"
        digits = 6
        if 0 < self.error < math.inf and self.value:
            # As many digits as show that the bounds differ.
            digits = max(6, math.ceil(math.log10(abs(self.value) / self.error)) + 2)
        bounds = f"{self.low:.{digits}g} to {self.high:.{digits}g}"
        return f"{self.value:.{digits}g}", bounds


@dataclass(frozen=True, slots=True)
class BoundedInterval:
    """A confidence interval of a measure, and the certain bounds of its estimate.

    Attributes
    ----------
    interval : Interval
        What other samples from the same distribution may show, whatever the exact scores are.
    bounds : BoundedValue
        What the exact scores of these samples may show.
    """

    interval: Interval
    bounds: BoundedValue

    def __str__(self) -> str:
        level = level_text(self.interval.confidence_level)
        return (
            f"{self.bounds}; {level} confidence {self.interval.low:.6g} to {self.interval.high:.6g}"
        )


class BoundedEvaluation(Result, NamedParts[str, BoundedValue]):
    """A table of measures with certain bounds: ``result["auc"].low``.

    Frames have a row for each: ``measure``, ``value``, ``low`` and ``high``; with confidence
    intervals also ``interval_low`` and ``interval_high``.

    Attributes
    ----------
    intervals : dict of str to Interval
        Confidence intervals, where they were asked for; thresholds have none.
    undefined : dict of str to str
        Measures that the points leave undefined, and why.
    notes : tuple of str
        Further remarks on the points.
    """

    __slots__ = ("intervals", "notes", "undefined")
    _parts: Mapping[str, BoundedValue]

    def __init__(
        self,
        values: Mapping[str, BoundedValue],
        undefined: Mapping[str, str],
        notes: Sequence[str] = (),
        intervals: Mapping[str, Interval] | None = None,
    ) -> None:
        self._parts = dict(values)
        self.intervals = dict(intervals or {})
        self.undefined = dict(undefined)
        self.notes = tuple(notes)

    def noted(self, notes: Sequence[str]) -> "BoundedEvaluation":
        """Return the same table with further notes."""
        notes = [*self.notes, *notes]
        return BoundedEvaluation(self._parts, self.undefined, notes, self.intervals)

    def __getitem__(self, key: str) -> BoundedValue:
        if key not in self._parts:
            key = key_of(key)
            if key in self.undefined:
                raise KeyError(f"{key}: {self.undefined[key]}")
        return self._parts[key]

    def __repr__(self) -> str:
        return f"<BoundedEvaluation of {len(self)} measures: {', '.join(self)}>"

    def _declare_columns(self) -> list[Column]:
        values = attribute_columns(self.values(), "value", "low", "high")
        return [Column("measure", self), *values, *_interval_columns([self])]

    def _content(self) -> dict[str, Any]:
        return {
            "measures": {key: self._plain_value(key) for key in self},
            "undefined": self.undefined,
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def __str__(self) -> str:
        width = max(map(len, self._parts), default=0)
        lines = [
            f"{key:{width}}  {BoundedInterval(self.intervals[key], each)}"
            if key in self.intervals
            else f"{key:{width}}  {each}"
            for key, each in self.items()
        ]
        lines += [f"{key}: {reason}" for key, reason in self.undefined.items()]
        return "\n".join([*lines, *self.notes])

    def _plain_value(self, key: str) -> dict[str, Any]:
        interval = self.intervals.get(key)
        beside = {} if interval is None else {"interval": interval.to_dict()}
        return {**self._parts[key].to_dict(), **beside}


def _interval_columns(tables: Iterable[BoundedEvaluation]) -> list[Column]:
    """Return the columns of confidence intervals, if there are any."""
    intervals = [table.intervals.get(key) for table in tables for key in table]
    if not any(intervals):
        return []
    ends = [(math.nan, math.nan) if each is None else (each.low, each.high) for each in intervals]
    texts = [f"{low:.6g} to {high:.6g}" if low == low else "" for low, high in ends]
    level = next(each for each in intervals if each is not None).confidence_level
    return [
        Column("interval_low", [low for low, _ in ends]),
        Column("interval_high", [high for _, high in ends]),
        Column(None, texts, str, f"{level_text(level)} confidence"),
    ]


class StreamedEvaluation(TableResult, NamedParts[Any, BoundedEvaluation]):
    """Measures with certain bounds of one column of scores or several, of all rows or of groups.

    ``result["score"]["auc"]``; with groups ``result[group, "score"]["auc"]``, where a group is a
    tuple if it has several columns. Frames have a row for each measure: the columns of the groups,
    ``detector``, ``measure``, ``value``, ``low`` and ``high``; with confidence intervals also
    ``interval_low`` and ``interval_high``.

    Attributes
    ----------
    group_columns : sequence of str
        Columns that the groups come from.
    n_passes : int
        Number of passes over the files.
    breakdown : fastad.evaluation.Breakdown or None
        Rates of kinds of anomalies and of segments of normals, where their columns were given.
    """

    __slots__ = ("breakdown", "group_columns", "n_passes")

    def __init__(
        self,
        tables: Mapping[Any, BoundedEvaluation],
        group_columns: Sequence[str],
        n_passes: int,
        breakdown: Breakdown | None = None,
    ) -> None:
        self._parts = dict(tables)
        self.group_columns = tuple(group_columns)
        self.n_passes = n_passes
        self.breakdown = breakdown

    @classmethod
    def of(
        cls,
        tables: Mapping[tuple[Any, str], BoundedEvaluation],
        group_columns: Sequence[str],
        n_passes: int,
        breakdown: Breakdown | None = None,
    ) -> "StreamedEvaluation":
        """Make the result from tables by group and detector; without groups, by detector."""
        if group_columns:
            return cls(tables, group_columns, n_passes, breakdown)
        plain = {detector: table for (_, detector), table in tables.items()}
        return cls(plain, (), n_passes, breakdown)

    def _blocks(self) -> list[TextTable | str]:
        below = [] if self.breakdown is None else ["", *self.breakdown._blocks()]
        return [*super()._blocks(), *below]

    def __repr__(self) -> str:
        n_detectors = len({self._detector(key) for key in self})
        groups = f", {len({key[0] for key in self})} groups" if self.group_columns else ""
        return f"<StreamedEvaluation of {n_detectors} detectors{groups}>"

    def _declare_columns(self) -> list[Column]:
        rows = [(key, *item) for key, table in self.items() for item in table.items()]
        groups = [self._groups(key) for key, _, _ in rows]
        texts = [bounded.cells() for _, _, bounded in rows]
        return [
            *(
                Column(name, [x[i] for x in groups], str)
                for i, name in enumerate(self.group_columns)
            ),
            Column("detector", (self._detector(key) for key, _, _ in rows), str),
            Column("measure", (measure for _, measure, _ in rows), str),
            *attribute_columns((bounded for _, _, bounded in rows), "value", "low", "high"),
            Column(None, (value for value, _ in texts), str, "value"),
            Column(None, (bounds for _, bounds in texts), str, "certain bounds"),
            *_interval_columns(self.values()),
        ]

    def _content(self) -> dict[str, Any]:
        rows = [] if self.breakdown is None else plain_rows(self.breakdown.to_columns())
        results = []
        for key, table in self.items():
            group = dict(zip(self.group_columns, self._groups(key), strict=True))
            detector = self._detector(key)
            named = plain_record({**group, "detector": detector}).items()
            own = [row for row in rows if named <= row.items()]
            results.append(
                {
                    **({"group": group} if group else {}),
                    "detector": detector,
                    **table._content(),
                    **({"breakdown": own} if own else {}),
                }
            )
        return {"detectors": results}

    @property
    def notes(self) -> Sequence[str]:
        """What is undefined or not exact, and why, and what else is to be known of the scores."""
        return [
            f"{', '.join([*map(str, self._groups(key)), self._detector(key)])}: {note}"
            for key, table in self.items()
            for note in dict.fromkeys([*table.undefined.values(), *table.notes])
        ]

    def _groups(self, key: Any) -> tuple[Any, ...]:
        if not self.group_columns:
            return ()
        return key[0] if len(self.group_columns) > 1 else (key[0],)

    def _detector(self, key: Any) -> str:
        return str(key[1] if self.group_columns else key)

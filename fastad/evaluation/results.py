"""Results of `evaluate`: tables that print, iterate, and turn into other forms."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.results import (
    Column,
    NamedParts,
    Record,
    TableResult,
    frame_columns,
    plain_record,
)
from fastad._core.text_tables import (
    DASH,
    TextTable,
    best_detectors,
    fixed_text,
    format_p,
    html_text,
    intervals_text,
    value_text,
)
from fastad._core.types import Count
from fastad.evaluation.breakdown import Breakdown, RunByPart
from fastad.evaluation.few_normals import FewNormals
from fastad.evaluation.notes import (
    UNRESOLVED,
    ScoredRun,
    line_left_out,
    line_of_contamination,
    line_of_omitted,
    line_of_thresholds,
    line_of_unresolved,
    lines_of_reasons,
    lines_of_sampling,
    lines_of_scores,
    split_keys,
)
from fastad.evaluation.operating_point import OperatingPoint, plain_text
from fastad.evaluation.roc_points import RocPoints, curves_html
from fastad.measures.requests import key_of, read_key
from fastad.uncertainty.results import Interval

if TYPE_CHECKING:
    from fastad.uncertainty.chance.chance_level import ChanceLevel


# Key of the area under the ROC curve.
AUC = "auc"
# Endings of the columns beside a value: its interval and its chance level.
SUFFIXES = ("_low", "_high", "_adjusted", "_p_value")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DetectorEvaluation(Record, Mapping[str, float]):
    """Values of one detector by the keys of their measures.

    Attributes
    ----------
    detector : str
        Name of the detector.
    n_anomalies, n_normals : int or float
        Numbers of points, or total weights.
    tied_fraction : float
        Fraction of the points whose score occurs more than once, in [0, 1].
    by_key : mapping of str to float
        Value of each measure; NaN where it is undefined.
    undefined : mapping of str to str
        Why a value is NaN.
    unresolved : mapping of str to str
        For which values the samples are too few: a TPR at FPR 0.01 of fewer than 500 normals
        rests on fewer than 5. Unknown, and so empty, with real sample weights.
    operating_points : sequence of OperatingPoint
        Threshold and flagged counts at each false positive rate in use, then at each threshold
        that was given.
    intervals : mapping of str to Interval
        Interval of each measure that has one, where ``confidence_level`` was given.
    chance : mapping of str to ChanceLevel
        Chance level of each measure, with ``chance=True``.
    interval_errors : mapping of str to str
        Why a value has no interval, or no chance level.
    error : str or None
        What was wrong with the scores.
    n_omitted : int or None
        Rows that were left out because their score is NaN; None where NaN is refused.
    contamination : float
        Fraction of anomalies among the normals for which all values are corrected.
    few_normals : FewNormals or None
        What `exact_intervals` are computed from.
    n_distinct : int or None
        Number of distinct scores; None where it was not counted.
    curve : RocPoints or None
        At most 1000 points of the ROC curve, for a page.
    chosen_elsewhere : sequence of str
        Keys of the measures at thresholds that were chosen on other samples, by ``threshold_from``.
    by_kind : mapping of str to DetectorEvaluation
        Measures of each kind of anomaly against all normals, where ``kinds`` were given.
    events_per_day : float or None
        Number of normal events a day, of which alarms are a fraction.
    effective_sizes : (float, float) or None
        Numbers of anomalies and normals of equal weight that say as much, of real sample weights.
    """

    detector: str
    n_anomalies: Count
    n_normals: Count
    tied_fraction: float
    by_key: Mapping[str, float]
    undefined: Mapping[str, str] = field(default_factory=dict)
    unresolved: Mapping[str, str] = field(default_factory=dict)
    operating_points: Sequence[OperatingPoint] = ()
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    chance: Mapping[str, "ChanceLevel"] = field(default_factory=dict)
    interval_errors: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    n_omitted: int | None = None
    contamination: float = 0.0
    few_normals: FewNormals | None = None
    n_distinct: int | None = None
    curve: RocPoints | None = None
    chosen_elsewhere: Sequence[str] = ()
    by_kind: Mapping[Any, "DetectorEvaluation"] = field(default_factory=dict)
    events_per_day: float | None = None
    effective_sizes: tuple[float, float] | None = None

    def __getitem__(self, key: str) -> float:
        return self.by_key[key if key in self.by_key else key_of(key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_key)

    def __len__(self) -> int:
        return len(self.by_key)

    def __repr__(self) -> str:
        return f"<DetectorEvaluation of {self.detector}: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        return Evaluation([self])._repr_html_()

    @property
    def interval_notes(self) -> dict[str, str]:
        """Reasons why an interval or a chance level is missing or unreliable, by key."""
        notes = {key: interval.reliability_note for key, interval in self.intervals.items()}
        reliable = {key: note for key, note in notes.items() if note is not None}
        return {**reliable, **self.interval_errors}

    @property
    def exact_intervals(self) -> Mapping[str, Interval]:
        """Exact 95 % intervals of values at one point whose rate rests on too few normals.

        Computed when they are first read. Areas have none.
        """
        return {} if self.few_normals is None else self.few_normals.intervals

    @property
    def scored_run(self) -> ScoredRun:
        """Facts behind the notes on its scores."""
        sizes = self.effective_sizes or (self.n_anomalies, self.n_normals)
        return ScoredRun(self.detector, self.n_distinct, *sizes, self.get(AUC, math.nan))

    def shown_interval(self, key: str) -> Interval | None:
        """Return the interval that stands beside a value: the requested one, or the exact one."""
        return self.intervals.get(key) or self.exact_intervals.get(key)

    def mark(self, key: str) -> str:
        """Return the mark of a value for which the samples are too few, else nothing."""
        return UNRESOLVED if key in self.unresolved else ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; NaN becomes None."""
        counts = ("detector", "n_anomalies", "n_normals", "tied_fraction")
        names = [*counts, "values", "undefined", "unresolved", "exact_intervals"]
        names += ["operating_points", "intervals", "chance", "interval_errors", "error"]
        names += ["n_omitted", "contamination"] if self.contamination else ["n_omitted"]
        names += ["chosen_elsewhere"] if self.chosen_elsewhere else []
        values = {x: self.by_key if x == "values" else getattr(self, x) for x in names}
        if self.by_kind:
            of_kinds = [{"kind": name, **each.to_dict()} for name, each in self.by_kind.items()]
            values["by_kind"] = of_kinds
        return plain_record(values)

    def cell(self, key: str) -> str:
        """Return a value as a string, with its mark, and its interval where it has one."""
        value, interval = self[key], self.shown_interval(key)
        text = self.mark(key) + value_text(value)
        if interval is None:
            return text
        # Means of numbers of samples have one decimal.
        show = "{:.1f}".format if isinstance(value, int) else fixed_text
        return f"{text} [{show(interval.low)}, {show(interval.high)}]"


class Evaluation(TableResult, NamedParts[str, DetectorEvaluation]):
    """Values of many detectors: detector, then key, then value.

    Prints as a table; iterates over the names of the detectors. Frames have a row for each
    detector: ``detector``, ``n_anomalies``, ``n_normals``, ``tied_fraction``, ``n_omitted`` where
    rows without a score are left out, ``contamination`` where values are corrected for hidden
    anomalies, the keys of the measures, for each false positive rate ``threshold@`` and
    ``flagged@``, and ``threshold`` where each detector has its own; with the options for them, each
    key with ``_low``, ``_high``, ``_adjusted``, ``_p_value``. The last column, ``unresolved``, has
    the keys of the measures for which the samples are too few.
    """

    __slots__ = ()

    def __init__(self, detectors: Sequence[DetectorEvaluation]) -> None:
        self._parts = {result.detector: result for result in detectors}

    def __repr__(self) -> str:
        return f"<Evaluation of {len(self)} detectors: {', '.join(self.measure_keys)}>"

    def _blocks(self) -> list[TextTable | str]:
        blocks: list[TextTable | str] = [self.text_table()]
        for table in (self.operating_table(), self.chance_table()):
            blocks += ["", table] if table.rows else []
        blocks += ["", *self.notes] if self.notes else []
        parts = self.breakdown
        return blocks if parts is None else [*blocks, "", *parts._blocks()]

    @property
    def breakdown(self) -> Breakdown | None:
        """Rates of kinds and segments at the operating points; None where there are none."""
        return breakdown_of([({}, each) for each in self.values()])

    def page_body(self) -> str:
        """Return the content of a page in HTML, with curves and the meaning of keys and marks."""
        curves = {name: x.curve for name, x in self.items() if x.curve is not None}
        parts = [html_text(self._blocks()), curves_html(curves) if curves else ""]
        meanings = html_text([*self._marks(), self._meanings()])
        parts.append(f'<div class="words">\n<h2>Keys and marks</h2>\n{meanings}\n</div>')
        return "\n".join(parts)

    def _meanings(self) -> TextTable:
        """Return the measures behind the keys, as a table."""
        named = [(key, read_key(key)) for key in self._split_keys()[0]]
        direction = {True: "higher", False: "lower", None: DASH}
        rows = [
            [key, one.measure.title, direction[one.measure.higher_is_better]]
            for key, one in named
            if one is not None
        ]
        return TextTable(["key", "measure", "better"], rows)

    def _marks(self) -> Iterator[str]:
        """Yield the meaning of each mark in the table."""
        if any(x.unresolved for x in self.values()):
            yield f"{UNRESOLVED} before a value: too few samples, see the note below the table."
        intervals = [one for x in self.values() for one in x.intervals.values()]
        if intervals:
            yield f"Brackets behind a value: its {intervals_text(intervals[0].confidence_level)}."
        if any(x.undefined for x in self.values()):
            yield "nan: undefined, see the note below the table."
        if any(x.contamination for x in self.values()):
            yield "Curves: of the labels as given, without the correction for hidden anomalies."
        if any(x.operating_points for x in self.values()):
            yield (
                "flagged: samples whose score is at least the threshold, of which so many are "
                "anomalies and normals."
            )

    def class_columns(self, dataset: str) -> dict[str, list[Any]]:
        """Return the measures of each kind as columns for `fastad.benchmarking.class_sensitivity`.

        Parameters
        ----------
        dataset : str
            Name of the data set.

        Returns
        -------
        dict of str to list
            ``dataset``, ``anomaly_class``, ``detector`` and a column for each measure, with a row
            for each detector and kind.
        """
        rows = [(kind, each) for x in self.values() for kind, each in x.by_kind.items()]
        return {
            "dataset": [dataset] * len(rows),
            "anomaly_class": [str(kind) for kind, _ in rows],
            "detector": [each.detector for _, each in rows],
            **{key: [each[key] for _, each in rows] for key in self.measure_keys},
        }

    @property
    def measure_keys(self) -> list[str]:
        """Keys of the measures, in the order of the table."""
        return list(next(iter(self.values())))

    def _declare_table(self) -> list[Column]:
        # The shorter side goes across. A measure that is undefined for every detector is left out,
        # unless all are.
        keys, _ = self._split_keys()
        if len(self) <= len(keys):
            values = [Column(name, map(x.cell, keys), str) for name, x in self.items()]
            return [Column(None, keys, str), *values]
        by_key = [Column(key, [x.cell(key) for x in self.values()], str) for key in keys]
        return [Column(None, self, str), *by_key]

    def _paper_table(self) -> TextTable:
        """Return the table with the best detectors by each measure marked, where it has several."""
        keys, _ = self._split_keys()
        table, is_across = self.text_table(), len(self) <= len(keys)
        head = ["measure" if is_across else "detector", *table.header[1:]]
        if len(self) == 1:
            return TextTable(head, table.rows)
        named = [read_key(key) for key in keys]
        better = [None if one is None else one.measure.higher_is_better for one in named]
        # A measure without a direction has no better values.
        signs = [math.nan if higher is None else 1.0 if higher else -1.0 for higher in better]
        values = np.array([[float(x[key]) for key in keys] for x in self.values()])
        marks = best_detectors(values * signs)
        return TextTable(head, table.rows, (marks.T if is_across else marks).tolist())

    def operating_table(self) -> TextTable:
        """Return the thresholds and flagged counts as strings."""
        head = ["", "fpr", "threshold", "flagged", "anomalies", "normals"]
        rows = [
            [
                result.detector,
                point.rule or (DASH if point.fpr is None else f"{point.fpr:g}"),
                plain_text(point.threshold),
                plain_text(point.n_flagged),
                plain_text(point.tp),
                plain_text(point.fp),
            ]
            for result in self.values()
            for point in result.operating_points
        ]
        return TextTable(head, rows)

    def chance_table(self) -> TextTable:
        """Return the values beside their distribution by chance as strings."""
        head = ["", "measure", "value", "by chance", "std", "p", "above chance"]
        rows = [
            [
                result.detector,
                key,
                f"{result.mark(key)}{level.value:.4f}",
                f"{level.expected:.4f}",
                f"{level.standard_deviation:.4f}",
                format_p(level.p_value),
                f"{level.adjusted:.4f}",
            ]
            for result in self.values()
            for key, level in result.chance.items()
        ]
        return TextTable(head, rows)

    @property
    def notes(self) -> list[str]:
        """A line for each reason why values are undefined, and the names it concerns.

        Others for what was left out, for scores that look like a mistake, and for each reason why
        intervals or chance levels are missing or not reliable.
        """
        results = list(self.values())
        keys, left_out = self._split_keys()
        reasons = [
            (x.detector, {key: x.undefined[key] for key in keys if key in x.undefined})
            for x in results
        ]
        where = "all detectors" if len(results) > 1 else results[0].detector
        unreliable = ((result.detector, result.interval_notes) for result in results)
        is_exact = any(
            result.exact_intervals.keys() - result.intervals.keys() for result in results
        )
        return [
            *lines_of_reasons("nan", reasons, keys),
            *line_left_out([result.undefined for result in results], left_out, where),
            *line_of_omitted([f"{x.n_omitted} of {x.detector}" for x in results if x.n_omitted]),
            *line_of_unresolved((result.unresolved for result in results), is_exact=is_exact),
            *line_of_contamination(results[0].contamination),
            *line_of_thresholds(results[0].chosen_elsewhere),
            *lines_of_sampling((result.detector, result.intervals) for result in results),
            *lines_of_scores(result.scored_run for result in results),
            *lines_of_reasons("note", unreliable, self.measure_keys),
        ]

    def _content(self) -> dict[str, Any]:
        notes = {"notes": self.notes} if self.notes else {}
        return {"detectors": list(self.values()), **notes}

    def _declare_columns(self) -> list[Column]:
        return frame_columns(columns_of(list(self.values())))

    def _split_keys(self) -> tuple[list[str], list[str]]:
        return split_keys([x.undefined for x in self.values()], self.measure_keys)


def breakdown_of(runs: Sequence[tuple[Mapping[str, Any], DetectorEvaluation]]) -> Breakdown | None:
    """Return the rates of kinds and segments of detectors in groups; None without these."""
    points = [point for _, each in runs for point in each.operating_points]
    if all(point.kinds is None and point.segments is None for point in points):
        return None
    by_part = [
        RunByPart(
            {**group, "detector": group.get("detector", each.detector)},
            [x for x in each.operating_points if x.threshold is not None and x.fp is not None],
            each.n_normals,
            each,
            each.by_kind,
            {None: each.unresolved, **{kind: x.unresolved for kind, x in each.by_kind.items()}},
        )
        for group, each in runs
    ]
    return Breakdown(by_part, runs[0][1].events_per_day)


def columns_of(results: Sequence[DetectorEvaluation]) -> dict[str, list[Any]]:
    """Return results as columns: names, counts, values, thresholds and flagged points."""
    columns: dict[str, list[Any]] = {
        "detector": [result.detector for result in results],
        "n_anomalies": [result.n_anomalies for result in results],
        "n_normals": [result.n_normals for result in results],
        "tied_fraction": [result.tied_fraction for result in results],
    }
    if results[0].n_omitted is not None:
        columns["n_omitted"] = [result.n_omitted for result in results]
    if results[0].contamination:
        columns["contamination"] = [result.contamination for result in results]
    for key in results[0]:
        columns[key] = [result[key] for result in results]
    for points in zip(*(result.operating_points for result in results), strict=True):
        if points[0].fpr is not None:
            rate = f"{points[0].fpr:g}"
            columns[f"threshold@{rate}"] = [point.plain_threshold for point in points]
            columns[f"flagged@{rate}"] = [point.n_flagged for point in points]
        elif points[0].is_own:
            columns["threshold"] = [point.plain_threshold for point in points]
    for key in results[0]:
        if any(result.intervals for result in results):
            intervals = [result.intervals.get(key) for result in results]
            columns[f"{key}_low"] = [x.low if x else math.nan for x in intervals]
            columns[f"{key}_high"] = [x.high if x else math.nan for x in intervals]
        if any(result.chance for result in results):
            levels = [result.chance.get(key) for result in results]
            columns[f"{key}_adjusted"] = [x.adjusted if x else math.nan for x in levels]
            columns[f"{key}_p_value"] = [x.p_value if x else math.nan for x in levels]
    columns["unresolved"] = [", ".join(result.unresolved) for result in results]
    return columns

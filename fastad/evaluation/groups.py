"""Runs: groups of rows that are evaluated each by itself, and their summary."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from fastad._core.buffers import ReusedBuffers
from fastad._core.parameters import short_repr
from fastad._core.results import Column, NamedParts, TableResult, frame_columns
from fastad._core.text_tables import TextTable, count_text, value_text
from fastad._core.threads import thread_map
from fastad._core.types import ArrayLike, ScoreVector
from fastad._kernels.ordering.groups import twice_areas
from fastad.errors import InvalidInputError
from fastad.evaluation.breakdown import PART_COLUMNS, Breakdown
from fastad.evaluation.detector import (
    EvaluationRequest,
    evaluate_measures,
    evaluate_scores,
    failed_evaluation,
    without_scores,
)
from fastad.evaluation.notes import (
    line_left_out,
    line_of_contamination,
    line_of_omitted,
    line_of_thresholds,
    line_of_unresolved,
    lines_of_runs,
    lines_of_sampled_runs,
    lines_of_scores,
    split_keys,
)
from fastad.evaluation.operating_point import plain_text
from fastad.evaluation.results import (
    SUFFIXES,
    DetectorEvaluation,
    Evaluation,
    breakdown_of,
    columns_of,
)
from fastad.evaluation.summary import STATISTICS, Summary, summarize
from fastad.ordering.counts import count_values
from fastad.ordering.groups import GroupOrder, Groups, group_blocks, order_groups
from fastad.ordering.labels import Labels, check_scores, rows_with_score, score_name

_MAX_PRINTED_RUNS = 20


class GroupedEvaluation(TableResult, NamedParts[Any, Evaluation]):
    """Values of many runs: group, then detector, then key, then value.

    A group is known by its value, or by the tuple of its values where there are several columns.
    Frames have a row for each run and detector: the columns of the groups, then the columns of
    `Evaluation`.
    """

    __slots__ = ("_columns",)

    def __init__(
        self, columns: Mapping[str, Sequence[Any]], results: Sequence[Sequence[DetectorEvaluation]]
    ) -> None:
        self._columns = dict(columns)
        first, *others = columns.values()
        keys = zip(first, *others, strict=True) if others else first
        self._parts = dict(zip(keys, results, strict=True))

    def __getitem__(self, group: Any) -> Evaluation:
        return Evaluation(self._parts[group])

    def __repr__(self) -> str:
        by = ", ".join(self._columns)
        return f"<GroupedEvaluation of {len(self)} groups by {by}: {', '.join(self.measure_keys)}>"

    def _blocks(self) -> list[TextTable | str]:
        table = self.text_table()
        n_more = len(table.rows) - _MAX_PRINTED_RUNS
        more = [f"and {count_text(n_more, 'more run')}"] if n_more > 0 else []
        first = TextTable(table.header, table.rows[:_MAX_PRINTED_RUNS])
        parts = self.breakdown
        below = [] if parts is None else ["", *parts._blocks()]
        return [first, *more, *self.notes, *below]

    @property
    def breakdown(self) -> Breakdown | None:
        """Rates of kinds and segments in each group; None where there are none."""
        groups = zip(*self._columns.values(), strict=True)
        names = [dict(zip(self._columns, group, strict=True)) for group in groups]
        runs = zip(names, self._parts.values(), strict=True)
        return breakdown_of([(group, each) for group, results in runs for each in results])

    def _declare_table(self) -> Iterator[Column]:
        # A measure that is undefined in all runs is left out, unless all are; marks and a note say
        # what the columns "unresolved" and "contamination" say.
        _, left_out = self._split_keys()
        unprinted = {f"{key}{of}" for key in left_out for of in ("", *SUFFIXES)}
        unprinted |= {"unresolved", "contamination"}
        marked = self.measure_keys
        values = {f"{key}{of}" for key in marked for of in ("", *SUFFIXES)} | {"tied_fraction"}
        runs = self._runs()
        for column in self._declare_columns():
            # Groups are names, and counts and thresholds may be of any size.
            name, cells = column.name, list(column.cells)
            is_name = name in self._columns or name in ("detector", "unresolved")
            shown = str if is_name else value_text if name in values else plain_text
            texts = list(map(shown, cells))
            if name in marked:
                texts = [run.mark(name) + text for run, text in zip(runs, texts, strict=True)]
            if name not in unprinted:
                yield Column(name, texts, str)

    @property
    def notes(self) -> list[str]:
        """Lines for the measures that are undefined in some runs, and for what was left out.

        Others for scores that look like a mistake, and for intervals and chance levels that are
        missing or not reliable.
        """
        runs = self._runs()
        n_runs = count_text(len(runs), "run")
        omitted = [run.n_omitted for run in runs if run.n_omitted]
        total = [f"{sum(omitted)}, in {len(omitted)} of {n_runs}"] if omitted else []
        reasons = [run.undefined for run in runs]
        keys, left_out = self._split_keys()
        return [
            *lines_of_runs("nan", reasons, keys),
            *line_left_out(reasons, left_out, f"all {n_runs}" if len(runs) > 1 else n_runs),
            *line_of_omitted(total),
            *line_of_unresolved(run.unresolved for run in runs),
            *line_of_contamination(runs[0].contamination),
            *line_of_thresholds(runs[0].chosen_elsewhere),
            *lines_of_sampled_runs((run.detector, run.intervals) for run in runs),
            *lines_of_scores(run.scored_run for run in runs),
            *lines_of_runs("note", [run.interval_notes for run in runs], self.measure_keys),
        ]

    @property
    def measure_keys(self) -> list[str]:
        """Keys of the measures, in the order of the table."""
        return list(next(iter(self._parts.values()))[0])

    @property
    def n_undefined(self) -> dict[str, int]:
        """For each key the number of runs in which it is undefined."""
        runs = self._runs()
        return {key: sum(math.isnan(run[key]) for run in runs) for key in self.measure_keys}

    def _declare_columns(self) -> list[Column]:
        runs = self._runs()
        n_detectors = len(runs) // len(self)
        groups = {
            name: [value for value in values for _ in range(n_detectors)]
            for name, values in self._columns.items()
        }
        # A group named "detector" replaces the name of the scores.
        return frame_columns({**groups, **columns_of(runs), **groups})

    def _content(self) -> dict[str, Any]:
        groups = zip(*self._columns.values(), strict=True)
        detectors = [
            {"group": dict(zip(self._columns, group, strict=True)), **result.to_dict()}
            for group, results in zip(groups, self._parts.values(), strict=True)
            for result in results
        ]
        return {"detectors": detectors, **({"notes": self.notes} if self.notes else {})}

    def summary(self, over: str | None = None) -> Summary:
        """Return mean and standard deviation over the groups.

        Parameters
        ----------
        over : str, optional
            Column over which to average, such as ``"fold"``; the other columns stay apart. By
            default over all groups.

        Returns
        -------
        Summary
            For each detector (and remaining group) the mean, the standard deviation (n - 1), the
            number of runs and the number in which a measure is undefined; prints as a table.

        Raises
        ------
        InvalidInputError
            If there is no such column.
        """
        if over is not None and over not in self._columns:
            known = ", ".join(self._columns)
            raise InvalidInputError(f"over must be one of {known}; found {short_repr(over)}")
        columns = self.to_columns()
        kept = [name for name in self._columns if over is not None and name != over]
        by = {name: columns[name] for name in dict.fromkeys([*kept, "detector"]) if name != over}
        values = {key: columns[key] for key in self.measure_keys}
        unresolved = [run.unresolved.keys() for run in self._runs()]
        return summarize(by, values, unresolved, self.notes)

    def _split_keys(self) -> tuple[list[str], list[str]]:
        return split_keys([run.undefined for run in self._runs()], self.measure_keys)

    def _runs(self) -> list[DetectorEvaluation]:
        """Return the detectors of each group, one group after the other."""
        return list(chain.from_iterable(self._parts.values()))


def other_columns(request: EvaluationRequest) -> set[str]:
    """Return the names of columns that results have beside those of groups and of measures."""
    empty = without_scores("", 0, request)
    names = {*columns_of([replace(empty, by_key={})]), "n_runs"}
    names |= {f"{key}{of}" for key in empty for of in (*SUFFIXES, *STATISTICS)}
    return names if request.parts is None else names.union(PART_COLUMNS)


def evaluate_groups(
    labels: Labels,
    detectors: Sequence[tuple[str, ArrayLike]],
    groups: Groups,
    request: EvaluationRequest,
) -> GroupedEvaluation:
    """Evaluate each group of each detector by itself; the scores are packed into keys once."""

    def evaluate_one(detector: tuple[str, ArrayLike]) -> list[DetectorEvaluation]:
        name, y_score = detector
        return _evaluate_runs(name, y_score, labels, groups, request.of_detector(name))

    by_detector = thread_map(evaluate_one, detectors)
    return GroupedEvaluation(groups.columns, list(zip(*by_detector, strict=True)))


def _evaluate_runs(
    name: str, y_score: ArrayLike, labels: Labels, groups: Groups, request: EvaluationRequest
) -> list[DetectorEvaluation]:
    """Evaluate each group of one detector."""
    try:
        scores = check_scores(y_score, labels, name=score_name(name))
    except InvalidInputError as error:
        if request.on_error == "raise":
            raise
        message = str(error)
        parts = labels_by_group(labels, groups)
        return [failed_evaluation(name, part, request, message) for part in parts]
    kept = rows_with_score(scores) if request.nan_policy == "omit" else None
    if kept is None:
        return _evaluate_scores(name, scores, labels, groups, request)
    some, present = groups.keep(kept)
    request = request.of_rows(np.flatnonzero(kept))
    evaluated: list[DetectorEvaluation] = []
    if present.shape[0]:
        evaluated = _evaluate_scores(name, scores[kept], labels.keep(kept), some, request)
    results = iter(evaluated)
    n_kept = np.zeros(groups.starts.shape[0] - 1, np.int64)
    n_kept[present] = np.diff(some.starts)
    n_omitted = np.diff(groups.starts) - n_kept
    return [
        replace(next(results), n_omitted=omitted) if n else without_scores(name, omitted, request)
        for n, omitted in zip(n_kept.tolist(), n_omitted.tolist(), strict=True)
    ]


def _evaluate_scores(
    name: str, scores: ScoreVector, labels: Labels, groups: Groups, request: EvaluationRequest
) -> list[DetectorEvaluation]:
    """Evaluate each group of scores of the right length."""
    # With weights, clusters or blocks, and where scores are NaN, groups are ordered one by one.
    order = None
    if labels.weights is None and request.design is None and request.parts is None:
        try:
            order = order_groups(scores, labels, groups.codes, groups.starts, score_name(name))
        except InvalidInputError:
            if request.on_error == "raise":
                raise
    if order is None:
        together, rows = groups.arrange(scores), groups.arrange(np.arange(scores.shape[0]))
        return [
            evaluate_scores(name, together[where], part, request.of_rows(rows[where]))
            for where, part in zip(groups.slices(), labels_by_group(labels, groups), strict=True)
        ]
    return _evaluate_order(name, order, request)


def labels_by_group(labels: Labels, groups: Groups) -> Iterator[Labels]:
    """Yield the labels of each group, which know the rows that they came from."""
    rows = groups.arrange(np.arange(labels.n_rows) if labels.rows is None else labels.rows)
    values = groups.arrange(labels.values)
    weights = None if labels.weights is None else groups.arrange(labels.weights)
    for where in groups.slices():
        yield Labels(
            values[where],
            int(values[where].sum()),
            None if weights is None else weights[where],
            rows[where],
            labels.row_index,
        )


def _evaluate_order(
    name: str, order: GroupOrder, request: EvaluationRequest
) -> list[DetectorEvaluation]:
    """Evaluate each group, in threads over blocks of groups."""

    def evaluate(block: slice) -> list[DetectorEvaluation]:
        if request.is_only_auc:
            return _areas(name, order, block, request)
        with ReusedBuffers():
            counts = (count_values(order.group(i)) for i in range(block.start, block.stop))
            return [evaluate_measures(name, part, request) for part in counts]

    return list(chain.from_iterable(thread_map(evaluate, group_blocks(order.starts))))


def _areas(
    name: str, order: GroupOrder, block: slice, request: EvaluationRequest
) -> list[DetectorEvaluation]:
    """Return the areas under the ROC curve, without counts, for a block of groups in one pass."""
    starts, anomalies = order.starts[block.start : block.stop + 1], order.anomalies[block]
    areas, tied = np.empty_like(anomalies), np.empty_like(anomalies)
    twice_areas(order.packed, starts, areas, tied)
    key = request.measures[0].key
    results = []
    numbers = (np.diff(starts), anomalies, areas, tied)
    for i, (size, n, twice, shared) in enumerate(
        zip(*(column.tolist() for column in numbers), strict=True)
    ):
        pairs = n * (size - n)
        if pairs:
            value = {key: twice / (2 * pairs)}
            # Of one or two distinct scores, one sample at most has its score alone.
            may_be_few = shared >= size - 1
            n_distinct = (
                count_values(order.group(block.start + i)).keys.shape[0] if may_be_few else None
            )
            results.append(
                DetectorEvaluation(
                    name,
                    n,
                    size - n,
                    shared / size,
                    value,
                    n_omitted=request.none_omitted,
                    n_distinct=n_distinct,
                )
            )
        else:
            counts = count_values(order.group(block.start + i))
            results.append(evaluate_measures(name, counts, request))
    return results

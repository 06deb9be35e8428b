"""Section ``answer``: leaders and failures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from fastad._core.text_tables import count_text, number_text, some_of
from fastad.benchmarking.rank_comparison import RankComparison
from fastad.benchmarking.reading import problems_text
from fastad.benchmarking.values import mean_values
from fastad.study.files import ArrowTable
from fastad.study.report.sections import Section, SectionBuilder, SimpleTable
from fastad.study.report.study_results import Cell, StudyResults
from fastad.study.results import EQUAL_SCORES, NOT_APPLICABLE, configuration_names, count_reasons

# Detectors and reasons that are named in a sentence.
_NAMED = 4
_EQUAL = "equal scores of all test rows"


def answer_section(results: StudyResults) -> Section:
    """Return the results in sentences, and the mean ranks in all collections beside each other."""
    builder = SectionBuilder(
        "answer",
        "Results in short",
        "Mean ranks are over data sets, each detector with the parameters that are best there by "
        "the measure; differences of ranks are significant or not by Nemenyi's test. The tables "
        "and figures of all these results are below.",
    )
    cells = list(results.cells(builder))
    whole = results.whole()
    leaders, selection = [], []
    for cell in cells if whole is None else [whole, *cells]:
        for measure in results.principal_measures(cell):
            leads = builder.attempt(f"{cell.where} by {measure}", _leads, results, cell, measure)
            if leads is not None:
                leaders.append(f"{cell.where}: {leads}.")
    if whole is not None:
        _add_ranks(builder, results, whole, cells)
    for cell in cells:
        for target in results.targets(cell):
            what = f"{cell.where}, for {target}"
            recommendation = builder.attempt(what, results.recommendation, cell, target)
            if recommendation is not None:
                selection.append(f"{cell.where}: {recommendation.text}")
    lists = {
        "Who leads": leaders,
        "What to select models by": selection,
        "What failed": list(_outcomes(results)),
    }
    builder.lists += [(head, sentences) for head, sentences in lists.items() if sentences]
    return builder.section()


def _leads(results: StudyResults, cell: Cell, measure: str) -> str:
    """Return which detector leads: by ranks, or on one data set by its value."""
    if cell.has_several_datasets:
        return results.comparison(cell, measure).leaders
    values = mean_values(cell.table, measures=[measure])
    counted = ~np.isnan(values.mean[0]).any(axis=1)
    means = values.mean[0][counted].mean(axis=0) if counted.any() else np.full(1, np.nan)
    if np.isnan(means).any():
        return f"By {measure} there is no problem on which all detectors have a value"
    order = np.argsort(-cell.table.measure(measure).sign * means, kind="stable")
    first, *others = (f"{values.detectors[i]} ({number_text(means[i], '.3f')})" for i in order)
    after = f", before {some_of(others, _NAMED)}" if others else ""
    return (
        f"By {measure} {first} is the best{after}, on "
        f"{problems_text(cell.table.clusters[counted])}; a single data set is no sample of data "
        "sets, so that nothing is tested"
    )


def _add_ranks(
    builder: SectionBuilder, results: StudyResults, whole: Cell, cells: list[Cell]
) -> None:
    """Add a table of mean ranks with a row for each detector and a column for each collection."""
    for measure in results.principal_measures(whole):
        ranks: dict[str, Mapping[str, float]] = {}
        for cell in (whole, *cells):
            comparison = builder.attempt(
                f"ranks by {measure} of {cell.where}", results.comparison, cell, measure
            )
            ranks[cell.collection] = {} if comparison is None else _mean_ranks(comparison)
        names = list(ranks[whole.collection])
        names += [name for name in results.detectors if name not in names]
        rows = [
            [name, *(number_text(ranks[where].get(name, np.nan), ".2f") for where in ranks)]
            for name in names
        ]
        values: dict[str, list[Any]] = {"detector": names}
        values |= {where: [each.get(name) for name in names] for where, each in ranks.items()}
        title = f"Mean ranks by {measure}, in all collections and in each"
        content = SimpleTable(["detector", *ranks], rows, (), values)
        builder.table(f"leaders-{measure.replace('@', '-')}", title, content)


def _mean_ranks(comparison: RankComparison) -> dict[str, float]:
    return dict(zip(comparison.detectors, comparison.mean_ranks.tolist(), strict=True))


def _outcomes(results: StudyResults) -> Iterator[str]:
    """Yield how many tasks failed or were not applicable, and why; whose scores rank nothing."""
    study = results.study
    n = study.tasks.num_rows
    if not n:
        return
    reasons = study.tasks["reason"].to_pylist()
    is_equal = [reason.startswith(EQUAL_SCORES) for reason in reasons]
    # For all numbers of rows together.
    kinds = [_EQUAL if equal else why for equal, why in zip(is_equal, reasons, strict=True)]
    failures, not_applicable = count_reasons(kinds)
    tasks = count_text(n, "task")
    yield f"Of {tasks} {_counted(failures, 'failed')}."
    if not_applicable:
        yield f"Of {tasks} {_counted(not_applicable, 'not applicable')}; that is no failure."
    lost = study.failed_detectors()
    if lost:
        yield f"Every task of these configurations failed: {some_of(lost, _NAMED)}."
    equal = _counted_of(study.tasks, is_equal, "tasks")
    if equal:
        yield (
            f"{_EQUAL.capitalize()}, which rank nothing (scores of a Gaussian kernel are all 0 "
            f"where gamma is too large for the distances of the data): {some_of(equal, _NAMED)}."
        )
    infinite = _counted_of(study.curves, _is_infinite(study.curves), "data sets")
    if infinite:
        yield (
            "Infinite scores on the first split, which are measured by their order and not drawn: "
            f"{some_of(infinite, _NAMED)}."
        )


def _is_infinite(curves: ArrowTable) -> list[bool]:
    """Return of which rows the scores have no percentiles, as some are infinite."""
    if "normal_percentiles" not in curves.column_names:
        return []
    return [not percentiles for percentiles in curves["normal_percentiles"].to_pylist()]


def _counted_of(rows: ArrowTable, is_kind: Iterable[bool], noun: str) -> list[str]:
    """Return the configurations that have rows of a kind, and how many of all of theirs."""
    names = configuration_names(rows)
    totals = Counter(names)
    kinds = Counter(name for name, is_one in zip(names, is_kind, strict=True) if is_one)
    return [f"{name} ({k} of {totals[name]} {noun})" for name, k in kinds.items()]


def _counted(reasons: Mapping[str, int], what: str) -> str:
    if not reasons:
        return f"none {what}"
    parts = [f"{why.removeprefix(NOT_APPLICABLE)} ({n})" for why, n in reasons.items()]
    verb = what if what == "failed" else f"{'was' if sum(reasons.values()) == 1 else 'were'} {what}"
    return f"{sum(reasons.values())} {verb}: {some_of(parts, _NAMED)}"

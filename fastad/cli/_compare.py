"""``fastad compare``: detectors on the same samples, or each on two independent samples."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fastad._core.arrays import python_values
from fastad._core.parameters import check_choice
from fastad._core.progress import LATE
from fastad.cli._console import (
    DataError,
    data_from,
    print_message,
    print_result,
    print_table,
    progress_bar,
)
from fastad.cli._saving import check_output, deliver, versioned_json
from fastad.cli._scored_tables import ScoreColumns, ScoredTable, read_scored_table
from fastad.errors import InvalidTypeError, UndefinedMeasureError
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.uncertainty.comparisons.comparison import (
    adjust_together,
    adjusted_p_values,
    compare_all,
)
from fastad.uncertainty.comparisons.comparison_results import Comparisons, IndependentComparison
from fastad.uncertainty.comparisons.corrections import CORRECTIONS
from fastad.uncertainty.comparisons.independent import compare_independent, compare_named
from fastad.uncertainty.samples.sampling import blocks_among, check_design


def run_compare(
    path: Path,
    columns: ScoreColumns,
    options: Mapping[str, Any],
    *,
    as_json: bool,
    output: Path | None,
) -> None:
    """Compare the detectors of a file, print which are better, and save it."""
    check_output(output)
    table = read_scored_table(path, columns)
    if len(table.scores) < 2:
        reason = f"; {table.message}" if table.message else ""
        raise typer.BadParameter(f"two columns of scores are needed{reason}", param_hint="--score")
    with (
        data_from(path, table.columns),
        _measures_as_keys(),
        progress_bar("replicates", after=LATE) as progress,
    ):
        results, skipped = _compare_groups(table, {**options, "progress": progress})
    for message in filter(None, [table.message, *skipped]):
        print_message(message)

    def print_text() -> None:
        for group, result in results.items():
            if group:
                print_result(_group_text(table.groups, group))
            if len(result) > 1:
                print_table(result.text_table())
            for summary in result.summaries():
                print_result(summary)
            sampling = next(iter(result.values())).sampling
            if sampling is not None:
                print_result(f"sampling: {sampling}")
        for note in first.notes:  # of the comparisons of all groups together
            print_result(note)

    first = next(iter(results.values()))
    titles = {group: _group_text(table.groups, group) or str(path) for group in results}
    deliver(
        {titles[group]: result for group, result in results.items()},
        lambda: _comparisons_json(results, table.groups),
        print_text,
        as_json=as_json,
        output=output,
        keys={
            title: dict(zip(table.groups, group, strict=True)) or {"file": title}
            for group, title in titles.items()
        },
    )


def run_compare_independent(
    files: tuple[Path, Path],
    columns: ScoreColumns,
    options: Mapping[str, Any],
    *,
    correction: str,
    as_json: bool,
) -> None:
    """Compare each detector's measure on the samples of two files, and print where it is better."""
    check_choice(correction, tuple(CORRECTIONS), "correction")
    first, second = tables = [read_scored_table(path, columns) for path in files]
    detectors = [name for name in first.scores if name in second.scores]
    if not detectors:
        raise DataError(
            f"{files[1]}: it must have a column of scores of {files[0]}; found "
            f"{', '.join(second.scores) or 'none'} beside {', '.join(first.scores)}"
        )
    stems = files[0].stem, files[1].stem
    names = stems if stems[0] != stems[1] else (str(files[0]), str(files[1]))
    given = dict(options)
    measure = given.pop("measure")
    results: dict[str, IndependentComparison] = {}
    with (
        progress_bar("replicates", after=LATE) as progress,
        data_from(" and ".join(map(str, files))),
        _measures_as_keys(),
    ):
        bound = bind(measure, {}, compare_independent)
        for name in detectors:
            samples = [(table.labels, table.scores[name]) for table in tables]
            results[name] = compare_named(samples, names, bound, **given, progress=progress)
    adjusted, notes = adjusted_p_values(list(results.values()), correction)  # type: ignore[arg-type]
    p_values = dict(zip(results, adjusted.tolist(), strict=True))
    summaries = {
        name: result.corrected_summary(p_values[name], correction)
        for name, result in results.items()
    }
    for table in tables:
        if table.message:
            print_message(table.message)
    if as_json:
        rows = [
            {
                "detector": name,
                **result.to_dict(),
                "summary": summaries[name],
                "adjusted_p_value": p_values[name],
            }
            for name, result in results.items()
        ]
        print_result(versioned_json(correction=correction, comparisons=rows, notes=notes))
        return
    for name, summary in summaries.items():
        print_result(f"{name}: {summary}")
    for note in notes:
        print_result(note)


@contextmanager
def _measures_as_keys() -> Iterator[None]:
    """Refuse a function in place of the key of a measure."""
    try:
        yield
    except InvalidTypeError as error:
        raise typer.BadParameter(str(error), param_hint="--measure") from None


def _compare_groups(
    table: ScoredTable, options: Mapping[str, Any]
) -> tuple[dict[tuple[Any, ...], Comparisons], list[str]]:
    """Compare the detectors in each group; p-values allow for the comparisons of all groups.

    Without groups there is one, of no name. What is undefined in a group is a message.
    """
    if not table.groups:
        return {(): compare_all(table.labels, table.scores, clusters=table.clusters, **options)}, []
    rows_of: dict[tuple[Any, ...], list[int]] = {}
    keys = zip(*map(python_values, table.groups.values()), strict=True)
    for row, key in enumerate(keys):
        rows_of.setdefault(key, []).append(row)
    results: dict[tuple[Any, ...], Comparisons] = {}
    skipped = []
    blocks = check_design(None, options.get("blocks"), check_labels(table.labels)).blocks
    for group in sorted(rows_of):
        rows = np.array(rows_of[group])
        scores = {name: values[rows] for name, values in table.scores.items()}
        try:
            results[group] = compare_all(
                table.labels[rows],
                scores,
                clusters=None if table.clusters is None else table.clusters[rows],
                **{**options, "correction": "none", "blocks": blocks_among(blocks, len(rows))},
            )
        except UndefinedMeasureError as error:
            skipped.append(f"{_group_text(table.groups, group)}: skipped: {error}")
    if not results:
        raise UndefinedMeasureError("; ".join(skipped))
    by_group = [list(result.values()) for result in results.values()]
    together = adjust_together(by_group, options["correction"])
    return dict(zip(results, together, strict=True)), skipped


def _group_text(groups: Mapping[str, Any], group: tuple[Any, ...]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(groups, group, strict=True))


def _comparisons_json(
    results: Mapping[tuple[Any, ...], Comparisons], groups: Mapping[str, Any]
) -> str:
    """Return one object, or with groups the comparisons of all, each with its group."""
    if not groups:
        return results[()].to_json(indent=2)
    rows = [
        {"group": dict(zip(groups, group, strict=True)), **row}
        for group, result in results.items()
        for row in result.to_dict()["comparisons"]
    ]
    first = next(iter(results.values()))
    return versioned_json(correction=first.correction, comparisons=rows, notes=list(first.notes))

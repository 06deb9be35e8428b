"""``fastad compare`` and ``fastad compare-runs``: detectors on one data set, and on many."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fastad._core.files import save_text, written_aside
from fastad._core.progress import LATE
from fastad._core.results import json_text, plain_rows, with_versions
from fastad.benchmarking.overview import compare_runs
from fastad.benchmarking.runs_overview import RunsOverview
from fastad.cli._console import (
    DataError,
    data_from,
    print_message,
    print_result,
    print_table,
    progress_bar,
    warnings_as_messages,
)
from fastad.cli._result_tables import ResultColumns, file_names, read_results
from fastad.cli._saving import check_output, save_columns, save_results
from fastad.cli._scored_tables import ScoreColumns, ScoredTable, read_scored_table
from fastad.errors import InvalidTypeError, MissingExtraError, UndefinedMeasureError
from fastad.uncertainty.comparisons.comparison import compare_all
from fastad.uncertainty.comparisons.comparison_results import Comparisons
from fastad.uncertainty.comparisons.corrections import CORRECTIONS

_DPI = 150
# Tables of more rows are saved, and not printed.
_LONG = 20


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
    with data_from(path, table.columns):
        try:
            with progress_bar("replicates", after=LATE) as progress:
                results, skipped = _compare_groups(table, {**options, "progress": progress})
        except InvalidTypeError as error:
            # A function in place of the key of a measure.
            raise typer.BadParameter(str(error), param_hint="--measure") from None
    for message in filter(None, [table.message, *skipped]):
        print_message(message)
    if output is not None:
        titles = {_group_text(table.groups, group) or str(path): group for group in results}
        keys = {
            title: dict(zip(table.groups, group, strict=True)) or {"file": title}
            for title, group in titles.items()
        }
        saved = {title: results[group] for title, group in titles.items()}
        save_results(saved, output, lambda: _comparisons_json(results, table.groups), keys=keys)
    if as_json:
        print_result(_comparisons_json(results, table.groups))
        return
    for group, result in results.items():
        if group:
            print_result(_group_text(table.groups, group))
        if len(result) > 1:
            print_table(result.text_table())
        for comparison in result.values():
            print_result(comparison.summary)
        sampling = next(iter(result.values())).sampling
        if sampling is not None:
            print_result(f"sampling: {sampling}")


def _compare_groups(
    table: ScoredTable, options: Mapping[str, Any]
) -> tuple[dict[tuple[Any, ...], Comparisons], list[str]]:
    """Compare the detectors in each group; p-values allow for the comparisons of all groups.

    Without groups there is one, of no name. What is undefined in a group is a message.
    """
    if not table.groups:
        comparisons = compare_all(
            table.labels,
            table.scores,
            clusters=table.clusters,
            **options,
        )
        return {(): comparisons}, []
    rows_of: dict[tuple[Any, ...], list[int]] = {}
    keys = zip(*(values.tolist() for values in table.groups.values()), strict=True)
    for row, key in enumerate(keys):
        rows_of.setdefault(key, []).append(row)
    results: dict[tuple[Any, ...], Comparisons] = {}
    skipped = []
    for group in sorted(rows_of):
        rows = np.array(rows_of[group])
        scores = {name: values[rows] for name, values in table.scores.items()}
        try:
            results[group] = compare_all(
                table.labels[rows],
                scores,
                clusters=None if table.clusters is None else table.clusters[rows],
                **options,
            )
        except UndefinedMeasureError as error:
            skipped.append(f"{_group_text(table.groups, group)}: skipped: {error}")
    if not results:
        raise UndefinedMeasureError("; ".join(skipped))
    pairs = [comparison for result in results.values() for comparison in result.values()]
    adjust = CORRECTIONS[options["correction"]]
    adjusted = iter(adjust(np.array([pair.p_value for pair in pairs])).tolist())
    return {
        group: Comparisons(
            list(result.values()), [next(adjusted) for _ in result], options["correction"]
        )
        for group, result in results.items()
    }, skipped


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
    correction = next(iter(results.values())).correction
    return json_text(with_versions({"correction": correction, "comparisons": rows}), indent=2)


def run_compare_runs(
    files: Sequence[Path],
    columns: ResultColumns,
    options: Mapping[str, Any],
    *,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare the results of all files, print what they show, and save it."""
    for name in columns.higher:
        if name in columns.lower:
            raise typer.BadParameter(
                f"{name!r} is also --higher-is-better", param_hint="--lower-is-better"
            )
    for option, names in (
        ("--higher-is-better", columns.higher),
        ("--lower-is-better", columns.lower),
    ):
        for name in names if options["measures"] is not None else ():
            if name not in options["measures"]:
                raise typer.BadParameter(
                    f"would be ignored: {name!r} is not among --measure", param_hint=option
                )
    table = read_results(files, columns, options["measures"])
    if output is not None:
        _check_folder(output)
    with (
        data_from(file_names(files)),
        warnings_as_messages(),
        progress_bar("comparisons") as progress,
    ):
        overview = compare_runs(table, **options, progress=progress)
    if not overview:
        raise DataError(
            f"{file_names(files)}: nothing can be compared: {'; '.join(overview.reasons())}"
        )
    if output is not None:
        _save(overview, output)
    if as_json:
        print_result(_as_json(overview, files))
        return
    if overview.answer():
        print_result("\n".join([*overview.answer(), ""]))
    for note in overview.notes:
        print_message(note)
    for name, notes in overview.new_notes().items():
        shown = overview[name].text_table()
        # Not as the title of the table, which breaks it where the table is narrow.
        print_result(overview.title(name))
        if len(shown.rows) > _LONG:
            where = "--output saves it" if output is None else f"it is in {output / f'{name}.md'}"
            print_result(f"a table of {len(shown.rows)} rows; {where}\n")
        else:
            print_table(shown)
        if notes:
            print_result("\n".join([*notes, ""]))
    for reason in overview.reasons():
        print_message(reason)


def _check_folder(folder: Path) -> None:
    """Make the folder, and check that a file can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataError(f"{folder}: the folder cannot be written to: {error.strerror}") from None


def _save(overview: RunsOverview, folder: Path) -> None:
    """Save each comparison as a table and as a picture, and a page of all."""
    try:
        for name, section in overview.items():
            save_columns(section.to_columns(), folder / f"{name}.csv")
            notes = [f"- {note}" for note in overview.notes_of(name)]
            text = "\n".join([section.text_table().markdown(), *notes])
            save_text(text.rstrip("\n") + "\n", folder / f"{name}.md")
            save_text(section.to_latex(), folder / f"{name}.tex")
        pictures = _save_pictures(overview, folder)
        save_text(overview.to_markdown(pictures), folder / "index.md")
    except OSError as error:
        raise DataError(f"{folder}: files cannot be written: {error.strerror}") from None


def _save_pictures(overview: RunsOverview, folder: Path) -> dict[str, str]:
    """Save pictures where matplotlib is installed; return their names."""
    # Matplotlib is slow to load: only when pictures are saved.
    from fastad.plot.overview import draw_overview

    pictures: dict[str, str] = {}
    try:
        with progress_bar("pictures") as progress:
            for name, figure in draw_overview(overview):
                import matplotlib as mpl

                progress(len(pictures), None)
                # The same bits whenever they are drawn.
                with mpl.rc_context({"svg.hashsalt": "fastad"}):
                    for extension, metadata in ((".png", {}), (".svg", {"Date": None})):
                        with written_aside(folder / f"{name}{extension}") as aside:
                            figure.savefig(aside, dpi=_DPI, metadata=metadata)
                pictures[name] = f"{name}.png"
    except MissingExtraError as error:
        print_message(f"There are no pictures: {error}")
    return pictures


def _as_json(overview: RunsOverview, files: Sequence[Path]) -> str:
    content = {
        "files": [str(path) for path in files],
        "measure": overview.measure,
        "measures": list(overview.measures),
        "answer": overview.answer(),
        "notes": overview.notes,
        "sections": {name: plain_rows(section.to_columns()) for name, section in overview.items()},
        "notes_of_sections": {name: overview.notes_of(name) for name in overview},
        "skipped": dict(overview.skipped),
    }
    return json_text(with_versions(content), indent=2)

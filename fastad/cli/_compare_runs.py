"""``fastad compare-runs``: results of detectors on many data sets, read from files."""

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fastad._core.arrays import python_values
from fastad._core.files import save_text, written_aside
from fastad._core.results import plain_rows
from fastad._core.text_tables import some_of
from fastad._core.types import AnyVector
from fastad._tables.columns import Names, Numbers, Role, integers_if_canonical
from fastad._tables.files import save_columns
from fastad._tables.table import N_NAMED, Table
from fastad.benchmarking.columns import COLLECTION, CONTAMINATION, TableColumns, find_columns
from fastad.benchmarking.overview import compare_runs
from fastad.benchmarking.result_table import ResultTable
from fastad.benchmarking.runs_overview import RunsOverview
from fastad.cli._console import (
    DataError,
    data_from,
    print_message,
    print_notes,
    print_result,
    print_table,
    progress_bar,
)
from fastad.cli._saving import versioned_json
from fastad.errors import InvalidInputError, MissingExtraError

_DPI = 150
# Tables of more rows are saved, and not printed.
_LONG = 20
# Arguments of `ResultTable.from_table` that name columns, by the options that give them; the first
# two have defaults that must be there.
_OPTIONS = {
    "dataset_columns": "--dataset",
    "detector_column": "--detector",
    "params_columns": "--params",
    "fold_columns": "--fold",
    "anomaly_class_column": "--anomaly-class",
}
_DEFAULTS = {"dataset_columns": "dataset", "detector_column": "detector"}


def run_compare_runs(
    files: Sequence[Path],
    columns: Mapping[str, Any],
    directions: Mapping[str, Sequence[str]],
    options: Mapping[str, Any],
    *,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare the results of all files, print what they show, and save it.

    ``columns`` are those arguments of `ResultTable.from_table` that options give, ``directions``
    measures that fastad does not know, by ``--higher-is-better`` and ``--lower-is-better``.
    """
    higher, lower = directions.values()
    for name in higher:
        if name in lower:
            raise typer.BadParameter(
                f"{name!r} is also --higher-is-better", param_hint="--lower-is-better"
            )
    for option, names in directions.items():
        for name in names if options["measures"] is not None else ():
            if name not in options["measures"]:
                raise typer.BadParameter(
                    f"would be ignored: {name!r} is not among --measure", param_hint=option
                )
    higher_is_better = {**dict.fromkeys(higher, True), **dict.fromkeys(lower, False)}
    table = _read_results(files, columns, higher_is_better, options["measures"])
    if output is not None:
        _check_folder(output)
    with data_from(_file_names(files)), progress_bar("comparisons") as progress:
        overview = compare_runs(table, **options, progress=progress)
    if not overview:
        raise DataError(
            f"{_file_names(files)}: nothing can be compared: {'; '.join(overview.reasons())}"
        )
    if output is not None:
        _save(overview, output)
    if as_json:
        print_result(_as_json(overview, files))
        return
    print_notes(overview.answer())
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
        print_notes(notes)
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
    return versioned_json(**content)


def _read_results(
    files: Sequence[Path],
    columns: Mapping[str, Any],
    higher_is_better: Mapping[str, bool],
    measures: Sequence[str] | None,
) -> ResultTable:
    """Read the rows of all files into one table."""
    tables = {path: Table(path) for path in files}
    if len(tables) < len(files):
        repeated = next(path for path in files if files.count(path) > 1)
        raise typer.BadParameter(f"{repeated} is named twice", param_hint="FILE")
    named = {**_DEFAULTS, **columns}
    for path, table in tables.items():
        for argument, option in _OPTIONS.items():
            names = named.get(argument, ())
            for name in [names] if isinstance(names, str) else names:
                if name not in table.names:
                    raise DataError(
                        f"{path}: there is no column {name!r} for {option}; found "
                        f"{some_of(table.names, N_NAMED)}"
                    )
    names = list(dict.fromkeys(name for table in tables.values() for name in table.names))
    keywords: dict[str, Any] = {**named, "higher_is_better": higher_is_better}
    with data_from(_file_names(files)):
        if measures is not None:
            find_columns(names, measures=measures, **keywords)
        table_columns = find_columns(names, **keywords)
    keys = table_columns.key_names
    has_collections = all(COLLECTION in table.names for table in tables.values())
    if has_collections and "dataset_columns" not in columns:
        keys += [name for name in (COLLECTION, CONTAMINATION) if name in names and name not in keys]
    measured = [measure.column for measure in table_columns.measures]
    if measures is None:
        _name_unknown(tables.values(), [*keys, *measured], table_columns)
    optional = [*table_columns.keys["params"], *table_columns.keys["anomaly_class"]]
    parts = {}
    for path, table in tables.items():
        present = [name for name in measured if name in table.names]
        table.check([*keys, *present], "source")
        roles: dict[str, Role] = {name: Names(may_miss=name in optional) for name in keys}
        values = table.read({**roles, **{name: Numbers(may_miss=True) for name in present}})
        parts[path] = {name: _as_key(table, name, values[name]) for name in keys}
        parts[path] |= {name: np.asarray(values[name], np.float64) for name in present}
        absent = [name for name in measured if name not in present]
        if absent:
            print_message(
                f"{path}: there is no column {some_of(absent, N_NAMED)}; "
                "its rows have no such value"
            )
    joined = {name: _join([part[name] for part in parts.values()]) for name in keys}
    for name in measured:
        joined[name] = np.concatenate(
            [part.get(name, np.full(len(part[keys[0]]), np.nan)) for part in parts.values()]
        )
    try:
        return ResultTable.from_table(joined, measures=measured, **keywords)
    except InvalidInputError as error:
        raise DataError(
            f"{_file_names(files)}: {error}; columns that distinguish rows are named by --params, "
            "--fold and --anomaly-class"
        ) from None


def _name_unknown(
    tables: Iterable[Table], read: Sequence[str], table_columns: TableColumns
) -> None:
    """Say which columns are not read, of those that may be numbers."""
    numeric = {
        name
        for table in tables
        for name in table.names
        if name not in read and table.kind(name) != "other"
    }
    unknown = [name for name in table_columns.unknown if name in numeric]
    if unknown:
        print_message(
            f"left out: {some_of(unknown, N_NAMED)}, no measures that fastad knows: "
            "--higher-is-better and --lower-is-better name others"
        )


def _file_names(files: Sequence[Path]) -> str:
    """Return the names of files as a message has them."""
    return ", ".join(map(str, files))


def _as_key(table: Table, name: str, values: AnyVector) -> AnyVector:
    """Return names as other formats have them: of text, parameters that are floats are such."""
    if values.dtype == object:
        if table.kind(name) != "text":
            return values
        cells, rows = np.unique(values.astype(np.str_), return_inverse=True)
        missing = [value is None for value in values]
        parameters = np.array([_parameter(cell) for cell in cells.tolist()], object)[rows]
        parameters[missing] = None
        return parameters
    return values


def _parameter(cell: str) -> str | float:
    """Return a cell as other formats have it: a float where it reads the same, or a string."""
    try:
        number = float(cell)
    except ValueError:
        return cell
    return number if math.isfinite(number) and str(number) == cell else cell


def _join(parts: Sequence[AnyVector]) -> AnyVector:
    """Put the names of several files below each other, as integers if all are such."""
    if any(part.dtype == object for part in parts):
        return np.concatenate([part.astype(object) for part in parts])
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [np.array([str(name) for name in python_values(part)]) for part in parts]
    joined = np.concatenate(parts)
    if joined.dtype.kind != "U":
        return joined
    distinct, codes = np.unique(joined, return_inverse=True)
    return np.array(integers_if_canonical(distinct.tolist()))[codes]

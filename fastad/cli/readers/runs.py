"""Reading the results of runs from files: names as they are, measures with gaps."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import typer

from fastad._core.text_tables import some_of
from fastad.benchmarking.columns import find_measures
from fastad.benchmarking.result_table import ResultTable
from fastad.cli._console import DataError, say
from fastad.cli.readers import need_once, open_source
from fastad.cli.readers.arrow import ArrowFile
from fastad.cli.readers.delimited import DelimitedFile
from fastad.cli.readers.source import Column, Source, is_number, reading
from fastad.errors import InvalidInputError

# So many columns of a file are named in a message.
_NAMED = 12

# Columns of a file, by name.
_Part: TypeAlias = Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of the files; those of no name are the function's usual ones, where there are such.

    Attributes
    ----------
    dataset, params, fold : sequence of str
        Columns that name a data set, the parameters of a detector, and a fold together.
    detector, anomaly_class : str or None
        Columns of the detector, and of the class of the anomalies.
    higher, lower : sequence of str
        Columns of measures that fastad does not know, by which way is better.
    """

    dataset: Sequence[str]
    detector: str | None
    params: Sequence[str]
    fold: Sequence[str]
    anomaly_class: str | None
    higher: Sequence[str]
    lower: Sequence[str]

    def keys(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return the columns that say what a row is of, by option."""

        def usual(name: str) -> list[str]:
            return [name] if name in names else []

        return {
            "dataset": list(self.dataset) or ["dataset"],
            "anomaly-class": [self.anomaly_class] if self.anomaly_class else usual("anomaly_class"),
            "detector": [self.detector or "detector"],
            "params": list(self.params) or usual("params"),
            "fold": list(self.fold) or usual("fold"),
        }

    @property
    def directions(self) -> dict[str, bool]:
        """Which way is better, of measures that fastad does not know."""
        return {**dict.fromkeys(self.higher, True), **dict.fromkeys(self.lower, False)}


def read_runs(
    files: Sequence[Path], columns: Columns, measures: Sequence[str] | None
) -> ResultTable:
    """Read the rows of all files into one table."""
    sources = {path: open_source(path) for path in files}
    if len(sources) < len(files):
        twice = next(path for path in files if files.count(path) > 1)
        raise typer.BadParameter(f"{twice} is named twice", param_hint="FILE")
    names = list(dict.fromkeys(name for one in sources.values() for name in one.names))
    keys = columns.keys(names)
    for path, source in sources.items():
        for option, wanted in keys.items():
            _need(path, source, wanted, f"--{option}")
    taken = [name for wanted in keys.values() for name in wanted]
    found = _measures(files, names, taken, columns, measures)
    parts = {}
    for path, source in sources.items():
        here = [name for name in found if name in source.names]
        need_once(path, source, here)
        parts[path] = _read_part(path, source, keys, here)
        missing = [name for name in found if name not in here]
        if missing:
            lacking = some_of(missing, _NAMED)
            say(f"{path}: there is no column {lacking}; its rows have no such value")
    n_rows = {path: len(part[taken[0]]) for path, part in parts.items()}
    together = {name: _join([part[name] for part in parts.values()]) for name in taken}
    for name in found:
        together[name] = np.concatenate(
            [part.get(name, np.full(n_rows[path], np.nan)) for path, part in parts.items()]
        )
    try:
        return ResultTable.from_table(
            together,
            measures=found,
            dataset=keys["dataset"],
            detector=keys["detector"][0],
            params=keys["params"] or None,
            fold=keys["fold"] or None,
            anomaly_class=next(iter(keys["anomaly-class"]), None),
            higher_is_better=columns.directions,
        )
    except InvalidInputError as error:
        hint = ""
        if "repeated rows" in str(error):
            hint = "; what tells rows apart is named by --params, --fold and --anomaly-class"
        raise DataError(f"{named_files(files)}: {error}{hint}") from None


def _need(path: Path, source: Source, wanted: Sequence[str], option: str) -> None:
    """Check that each column is there, and only once."""
    for name in wanted:
        if name not in source.names:
            raise DataError(
                f"{path}: there is no column {name!r} for {option}; found "
                f"{some_of(source.names, _NAMED)}"
            )
        need_once(path, source, [name])


def _measures(
    files: Sequence[Path],
    names: Sequence[str],
    taken: Sequence[str],
    columns: Columns,
    measures: Sequence[str] | None,
) -> list[str]:
    """Return the columns of measures."""
    for option, stated in (("higher", columns.higher), ("lower", columns.lower)):
        for name in stated:
            if name not in names or name in taken:
                raise typer.BadParameter(
                    f"{name!r} is no column of a measure; found {some_of(names, _NAMED)}",
                    param_hint=f"--{option}-is-better",
                )
    for name in measures or ():
        if name in names and name not in taken:
            try:
                find_measures(names, taken, [name], columns.directions)
            except InvalidInputError:
                raise typer.BadParameter(
                    f"{name!r} is no measure that fastad knows; say which way is better with "
                    f"--higher-is-better {name} or --lower-is-better {name}",
                    param_hint="--measure",
                ) from None
    try:
        return [one.name for one in find_measures(names, taken, None, columns.directions)]
    except InvalidInputError:
        raise DataError(
            f"{named_files(files)}: there is no column of a measure that fastad knows, such as "
            f"auc or tpr@0.05; found {some_of(names, _NAMED)}; others are named by "
            "--higher-is-better and --lower-is-better"
        ) from None


def _read_part(
    path: Path, source: Source, keys: Mapping[str, Sequence[str]], measures: Sequence[str]
) -> _Part:
    """Read columns of a file: texts or numbers, and those of measures with NaN for no value."""
    optional = keys["params"]
    named = [name for wanted in keys.values() for name in wanted]
    if isinstance(source, DelimitedFile):
        return _delimited(path, source, named, optional, measures)
    if isinstance(source, ArrowFile):
        return _arrow(path, named, optional, measures)
    part = {name: source.values(name) for name in (*named, *measures)}
    n_rows = part[named[0]].shape[:1]
    for name, column in part.items():
        kinds = "biuf" if name in measures else "biufU"
        if column.dtype.kind not in kinds or column.ndim != 1 or column.shape != n_rows:
            what = "numbers" if name in measures else "names"
            raise DataError(
                f"{path}: column {name!r} must be a vector of {what}, as long as {named[0]!r}; "
                f"found {column.dtype} of shape {column.shape}"
            )
    return part


def _delimited(
    path: Path,
    source: DelimitedFile,
    named: Sequence[str],
    optional: Sequence[str],
    measures: Sequence[str],
) -> _Part:
    wanted = [*named, *measures]
    pick = itemgetter(*(source.names.index(name) for name in wanted))
    rows, lines = [], []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            cells = csv.reader(file, delimiter=source.delimiter)
            next(cells)
            for row in cells:
                if not row:
                    continue
                if len(row) != len(source.names):
                    raise DataError(
                        f"{path}: line {cells.line_num}: there are {len(row)} cells, and "
                        f"{len(source.names)} columns"
                    )
                rows.append(pick(row))
                lines.append(cells.line_num)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: the text is not UTF-8: {error}") from None
    except csv.Error as error:
        raise DataError(f"{path}: line {cells.line_num} cannot be read: {error}") from None
    if not rows:
        raise DataError(f"{path}: there are no rows below the header")
    part: dict[str, Column] = {}
    for name, column in zip(wanted, zip(*rows, strict=True), strict=True):
        where = f"{path}: column {name!r}"
        if name in measures:
            part[name] = _numbers(column, where, lines)
        elif name in optional:
            part[name] = np.array([_parameter(cell) for cell in column], object)
        elif "" in column:
            raise DataError(f"{where}, line {lines[column.index('')]}: the cell is empty")
        else:
            part[name] = np.array(column)
    return part


def _numbers(cells: Sequence[str], where: str, lines: Sequence[int]) -> Column:
    """Return texts as numbers, an empty one as NaN."""
    try:
        if not any("_" in cell for cell in cells):
            return np.array([float(cell) if cell.strip() else math.nan for cell in cells])
    except ValueError:
        pass
    row = next(i for i, cell in enumerate(cells) if cell.strip() and not is_number(cell))
    raise DataError(f"{where}, line {lines[row]}: {cells[row]!r} is not a number")


def _parameter(cell: str) -> str | float | None:
    """Return a cell as other files hold it: a float, which reads like a whole number if it is."""
    try:
        number = float(cell)
    except ValueError:
        return cell or None
    return number if math.isfinite(number) and str(number) == cell else cell


def _arrow(
    path: Path, named: Sequence[str], optional: Sequence[str], measures: Sequence[str]
) -> _Part:
    import pyarrow as pa
    from pyarrow import feather, parquet

    wanted = [*named, *measures]
    with reading(path, "the file"):
        if path.suffix.lower() == ".parquet":
            table: Any = parquet.read_table(path, columns=wanted)
        else:
            table = feather.read_table(path, columns=wanted)
        # Texts and categories of a damaged file may lie outside of it.
        table.validate(full=True)
    if table.num_rows == 0:
        raise DataError(f"{path}: there are no rows")
    part: dict[str, Column] = {}
    for name in wanted:
        column, where = table[name], f"{path}: column {name!r}"
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if name in measures:
            kind = column.type
            tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
            if not pa.types.is_null(kind) and not any(test(kind) for test in tests):
                raise DataError(f"{where} must hold numbers; found {kind}")
            if pa.types.is_boolean(kind):
                column = column.cast(pa.int8())
            part[name] = column.cast(pa.float64(), safe=False).to_numpy()
        elif name in optional:
            part[name] = np.array(column.to_pylist(), object)
        elif column.null_count:
            first = column.is_null().index(True).as_py()
            raise DataError(
                f"{where} must not have missing values; found {column.null_count}, the first at "
                f"row {first}"
            )
        elif pa.types.is_integer(column.type):
            part[name] = column.to_numpy()
        else:
            part[name] = np.array([str(cell) for cell in column.to_pylist()])
    return part


def _join(parts: Sequence[Column]) -> Column:
    """Put the names of several files below each other, as whole numbers if all are such."""
    if any(part.dtype == object for part in parts):
        return np.concatenate([part.astype(object) for part in parts])
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(np.str_) for part in parts]
    together = np.concatenate(parts)
    if together.dtype.kind == "U":
        try:
            whole = together.astype(np.int64)
        except (ValueError, OverflowError):
            return together
        # "007" is not 7.
        if np.array_equal(whole.astype(np.str_), together):
            return whole
    return together


def named_files(files: Sequence[Path]) -> str:
    """Return the names of files as a message has them."""
    return ", ".join(map(str, files))

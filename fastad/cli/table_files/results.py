"""Results of detectors on data sets, read from files: names as they are, measures with gaps."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fastad._core.text_cells import is_number
from fastad._core.text_tables import some_of
from fastad._core.types import AnyVector
from fastad.benchmarking.columns import TableColumns, find_columns
from fastad.benchmarking.result_table import ResultTable
from fastad.cli._console import DataError, data_from, print_message
from fastad.cli.table_files import N_NAMED, Source, check_columns, open_source
from fastad.cli.table_files.columnar import ArrowFile
from fastad.cli.table_files.delimited import DelimitedFile
from fastad.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """Columns of the files; those that are not named have their default names, where present.

    Attributes
    ----------
    dataset, params, fold : sequence of str
        Columns that together name a data set, the parameters of a detector, and a fold.
    detector, anomaly_class : str or None
        Columns of the detector, and of the class of the anomalies.
    higher, lower : sequence of str
        Columns of measures that fastad does not know, by which direction is better.
    """

    dataset: Sequence[str]
    detector: str | None
    params: Sequence[str]
    fold: Sequence[str]
    anomaly_class: str | None
    higher: Sequence[str]
    lower: Sequence[str]

    def by_option(self) -> dict[str, Sequence[str]]:
        """Return the columns that must be there, by the option that names them."""
        return {
            "--dataset": self.dataset or ["dataset"],
            "--detector": [self.detector or "detector"],
            "--params": self.params,
            "--fold": self.fold,
            "--anomaly-class": [self.anomaly_class] if self.anomaly_class else [],
        }

    def keywords(self) -> dict[str, Any]:
        """Return the arguments of `ResultTable.from_table`."""
        return {
            "dataset": self.dataset or "dataset",
            "detector": self.detector or "detector",
            "params": self.params or None,
            "fold": self.fold or None,
            "anomaly_class": self.anomaly_class,
            "higher_is_better": {
                **dict.fromkeys(self.higher, True),
                **dict.fromkeys(self.lower, False),
            },
        }


def read_results(
    files: Sequence[Path], columns: ResultColumns, measures: Sequence[str] | None
) -> ResultTable:
    """Read the rows of all files into one table."""
    sources = {path: open_source(path) for path in files}
    if len(sources) < len(files):
        repeated = next(path for path in files if files.count(path) > 1)
        raise typer.BadParameter(f"{repeated} is named twice", param_hint="FILE")
    for path, source in sources.items():
        for option, named in columns.by_option().items():
            for name in named:
                if name not in source.names:
                    raise DataError(
                        f"{path}: there is no column {name!r} for {option}; found "
                        f"{some_of(source.names, N_NAMED)}"
                    )
    names = list(dict.fromkeys(name for source in sources.values() for name in source.names))
    keywords = columns.keywords()
    with data_from(file_names(files)):
        if measures is not None:
            find_columns(names, measures=measures, **keywords)
        table_columns = find_columns(names, **keywords)
    keys = table_columns.key_names
    measured = [measure.column for measure in table_columns.measures]
    if measures is None:
        _name_unknown(sources.values(), table_columns)
    parts = {}
    for path, source in sources.items():
        present = [name for name in measured if name in source.names]
        check_columns(path, source.names, [*keys, *present])
        parts[path] = _read_part(path, source, keys, table_columns.keys["params"], present)
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
            f"{file_names(files)}: {error}; columns that distinguish rows are named by --params, "
            "--fold and --anomaly-class"
        ) from None


def _name_unknown(sources: Iterable[Source], table_columns: TableColumns) -> None:
    """Say which columns are not read, of those that may be numbers."""
    read = [*table_columns.key_names, *(x.column for x in table_columns.measures)]
    numeric = {name for source in sources for name in source.candidates(read)}
    unknown = [name for name in table_columns.unknown if name in numeric]
    if unknown:
        print_message(
            f"left out: {some_of(unknown, N_NAMED)}, no measures that fastad knows: "
            "--higher-is-better and --lower-is-better name others"
        )


def file_names(files: Sequence[Path]) -> str:
    """Return the names of files as a message has them."""
    return ", ".join(map(str, files))


def _read_part(
    path: Path,
    source: Source,
    keys: Sequence[str],
    optional: Sequence[str],
    measures: Sequence[str],
) -> Mapping[str, AnyVector]:
    """Read columns of a file: strings or numbers, and measures with NaN where there is no value.

    ``optional`` are the keys that may be missing in a row.
    """
    if isinstance(source, DelimitedFile):
        return _delimited_part(path, source, keys, optional, measures)
    if isinstance(source, ArrowFile):
        return _arrow_part(path, source, keys, optional, measures)
    part = {name: source.values(name) for name in (*keys, *measures)}
    shape = part[keys[0]].shape[:1]
    for name, column in part.items():
        kinds = "biuf" if name in measures else "biufU"
        if column.dtype.kind not in kinds or column.ndim != 1 or column.shape != shape:
            what = "numbers" if name in measures else "names"
            raise DataError(
                f"{path}: column {name!r} must be a vector of {what}, as long as {keys[0]!r}; "
                f"found {column.dtype} of shape {column.shape}"
            )
    return part


def _delimited_part(
    path: Path,
    source: DelimitedFile,
    keys: Sequence[str],
    optional: Sequence[str],
    measures: Sequence[str],
) -> Mapping[str, AnyVector]:
    large = source.large_columns(keys, measures)
    required = [name for name in keys if name not in optional]
    if large is not None and not any(np.any(large[name] == "") for name in required):
        for name in optional:
            cells, rows = np.unique(large[name], return_inverse=True)
            large[name] = np.array([_parameter(cell) for cell in cells.tolist()], object)[rows]
        return large
    names = [*keys, *measures]
    columns, lines = source.cells(names)
    part: dict[str, AnyVector] = {}
    for name, column in zip(names, columns, strict=True):
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


def _numbers(cells: Sequence[str], where: str, lines: Sequence[int]) -> AnyVector:
    """Return cells as numbers, an empty one as NaN."""
    try:
        if not any("_" in cell for cell in cells):
            return np.array([float(cell) if cell.strip() else math.nan for cell in cells])
    except ValueError:
        pass
    row = next(i for i, cell in enumerate(cells) if cell.strip() and not is_number(cell))
    raise DataError(f"{where}, line {lines[row]}: {cells[row]!r} is not a number")


def _parameter(cell: str) -> str | float | None:
    """Return a cell as other formats have it: a float where it reads the same, or a string."""
    try:
        number = float(cell)
    except ValueError:
        return cell or None
    return number if math.isfinite(number) and str(number) == cell else cell


def _arrow_part(
    path: Path,
    source: ArrowFile,
    keys: Sequence[str],
    optional: Sequence[str],
    measures: Sequence[str],
) -> Mapping[str, AnyVector]:
    # Inside, as other files need no pyarrow.
    import pyarrow as pa

    table = source.table([*keys, *measures])
    if table.num_rows == 0:
        raise DataError(f"{path}: there are no rows")
    part: dict[str, AnyVector] = {}
    for name in (*keys, *measures):
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if name in measures:
            kind = column.type
            tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
            if not pa.types.is_null(kind) and not any(test(kind) for test in tests):
                raise DataError(f"{path}: column {name!r} must contain numbers; found {kind}")
            if pa.types.is_boolean(kind):
                column = column.cast(pa.int8())
            part[name] = column.cast(pa.float64(), safe=False).to_numpy()
        elif name in optional:
            part[name] = np.array(column.to_pylist(), object)
        else:
            source.refuse_missing(name, column)
            if pa.types.is_integer(column.type):
                part[name] = column.to_numpy()
            else:
                part[name] = np.array([str(cell) for cell in column.to_pylist()])
    return part


def _join(parts: Sequence[AnyVector]) -> AnyVector:
    """Put the names of several files below each other, as integers if all are such."""
    if any(part.dtype == object for part in parts):
        return np.concatenate([part.astype(object) for part in parts])
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(np.str_) for part in parts]
    joined = np.concatenate(parts)
    if joined.dtype.kind == "U":
        try:
            integers = joined.astype(np.int64)
        except (ValueError, OverflowError):
            return joined
        # "007" is not 7.
        if np.array_equal(integers.astype(np.str_), joined):
            return integers
    return joined

"""Results of detectors on data sets, read from files: names as they are, measures with gaps."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fastad._core.text_tables import some_of
from fastad._core.types import AnyVector
from fastad._tables.columns import Names, Numbers, Role, integers_if_canonical
from fastad._tables.table import N_NAMED, Table
from fastad.benchmarking.columns import (
    COLLECTION,
    CONTAMINATION,
    TableColumns,
    find_columns,
)
from fastad.benchmarking.result_table import ResultTable
from fastad.cli._console import DataError, data_from, print_message
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
            "dataset_columns": self.dataset or "dataset",
            "detector_column": self.detector or "detector",
            "params_columns": self.params or None,
            "fold_columns": self.fold or None,
            "anomaly_class_column": self.anomaly_class,
            "higher_is_better": {
                **dict.fromkeys(self.higher, True),
                **dict.fromkeys(self.lower, False),
            },
        }


def read_results(
    files: Sequence[Path], columns: ResultColumns, measures: Sequence[str] | None
) -> ResultTable:
    """Read the rows of all files into one table."""
    tables = {path: Table(path) for path in files}
    if len(tables) < len(files):
        repeated = next(path for path in files if files.count(path) > 1)
        raise typer.BadParameter(f"{repeated} is named twice", param_hint="FILE")
    for path, table in tables.items():
        for option, named in columns.by_option().items():
            for name in named:
                if name not in table.names:
                    raise DataError(
                        f"{path}: there is no column {name!r} for {option}; found "
                        f"{some_of(table.names, N_NAMED)}"
                    )
    names = list(dict.fromkeys(name for table in tables.values() for name in table.names))
    keywords = columns.keywords()
    with data_from(file_names(files)):
        if measures is not None:
            find_columns(names, measures=measures, **keywords)
        table_columns = find_columns(names, **keywords)
    keys = table_columns.key_names
    if not columns.dataset and all(COLLECTION in table.names for table in tables.values()):
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
            f"{file_names(files)}: {error}; columns that distinguish rows are named by --params, "
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


def file_names(files: Sequence[Path]) -> str:
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
        parts = [np.array([str(name) for name in part.tolist()]) for part in parts]
    joined = np.concatenate(parts)
    if joined.dtype.kind != "U":
        return joined
    distinct, codes = np.unique(joined, return_inverse=True)
    return np.array(integers_if_canonical(distinct.tolist()))[codes]

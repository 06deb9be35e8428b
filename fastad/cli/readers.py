"""Reading columns of labels and scores from files."""

import csv
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._types import Label
from fastad.cli._console import DataError

Column: TypeAlias = npt.NDArray[Any]

_DELIMITERS = ",;\t"
# From here on, neighbouring integers share a float64.
_FLOATS_MERGE = 2.0**53


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns that are asked for: labels, scores (all others if None), anomalies' label."""

    label: str
    scores: Sequence[str] | None
    pos_label: str | None


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """Labels, the scores of detectors by their columns' names, and the anomalies' label."""

    labels: Column
    scores: Mapping[str, Column]
    pos_label: Label | None


def read_table(path: Path, wanted: Wanted) -> ScoredTable:
    """Read the columns that are asked for from a file."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(_READERS)
        raise DataError(f"{path}: the ending must be one of {known}; found {path.suffix!r}")
    return reader(path, wanted)


def _read_csv(path: Path, wanted: Wanted) -> ScoredTable:
    names, delimiter = _header(path)
    label = wanted.label
    if wanted.scores is None:
        chosen = [name for name in names if name != label]
    else:
        chosen = list(dict.fromkeys(wanted.scores))
    for name in (label, *chosen):
        if names.count(name) != 1:
            what = "no column" if name not in names else "more than one column"
            raise DataError(f"{path}: there is {what} {name!r}; found {', '.join(names)}")
    if not chosen:
        raise DataError(f"{path}: there is no column of scores beside {label!r}")
    columns = _Columns(path, delimiter, names)
    if wanted.pos_label is not None:
        return ScoredTable(columns.texts(label), columns.numbers(chosen), wanted.pos_label)
    values = columns.numbers([label, *chosen])
    return ScoredTable(values.pop(label), values, None)


def _header(path: Path) -> tuple[list[str], str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: the text is not UTF-8: {error}") from None
    if not first.strip():
        raise DataError(f"{path}: the file is empty; its first line must name the columns")
    delimiter = max(_DELIMITERS, key=first.count)
    return [name.strip() for name in next(csv.reader([first], delimiter=delimiter))], delimiter


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a CSV file below its header."""

    path: Path
    delimiter: str
    names: list[str]

    def numbers(self, chosen: Sequence[str]) -> dict[str, Column]:
        """Read columns of numbers; integers that a float64 would merge stay integers."""
        try:
            values = self._load(chosen, np.float64)
        except UnicodeDecodeError as error:
            raise DataError(f"{self.path}: the text is not UTF-8: {error}") from None
        except (ValueError, OverflowError) as error:
            raise DataError(f"{self.path}: {self._first_bad_cell(chosen) or error}") from None
        if values.shape[0] == 0:
            raise DataError(f"{self.path}: there are no rows below the header")
        return {name: self._as_written(name, values[:, i]) for i, name in enumerate(chosen)}

    def texts(self, name: str) -> Column:
        """Read one column of text."""
        return self._load([name], np.str_)[:, 0]

    def _load(self, chosen: Sequence[str], dtype: type) -> npt.NDArray[Any]:
        with self.path.open(encoding="utf-8-sig", newline="") as lines:
            lines.readline()
            if not any(line.strip() for line in lines):
                return np.empty((0, len(chosen)), dtype)
            lines.seek(0)
            return np.loadtxt(
                lines,
                dtype=dtype,
                delimiter=self.delimiter,
                quotechar='"',
                comments=None,
                skiprows=1,
                usecols=[self.names.index(name) for name in chosen],
                ndmin=2,
            )

    def _as_written(self, name: str, values: Column) -> Column:
        if np.max(np.abs(values)) < _FLOATS_MERGE or not np.all(values == np.floor(values)):
            return values
        for dtype in (np.int64, np.uint64):
            try:
                return self._load([name], dtype)[:, 0]
            except (ValueError, OverflowError):
                continue
        return values

    def _first_bad_cell(self, chosen: Sequence[str]) -> str | None:
        """Say where the first cell is that is not a number."""
        with self.path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(lines, delimiter=self.delimiter)
            next(rows)
            for row in rows:
                for name in chosen:
                    where = f"column {name!r}, line {rows.line_num}"
                    if row and self.names.index(name) >= len(row):
                        return f"{where}: the cell is missing"
                    if row and not _is_number(row[self.names.index(name)]):
                        cell = row[self.names.index(name)]
                        return f"{where}: {cell!r} is not a number"
        return None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_npz(path: Path, wanted: Wanted) -> ScoredTable:
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path}: the file is not an archive of arrays (.npz)")
    with np.load(path, allow_pickle=False) as archive:
        labels = _array(path, archive, wanted.label)
        if wanted.scores is not None:
            arrays = {name: _array(path, archive, name) for name in wanted.scores}
        else:
            # Data sets travel with other arrays, such as names, and the matrix of features.
            arrays = {
                name: array
                for name in archive
                if name != wanted.label
                and (array := _array(path, archive, name)).shape == labels.shape
                and array.dtype.kind in "biuf"
            }
    if not arrays:
        raise DataError(f"{path}: there is no array of scores beside {wanted.label!r}")
    if wanted.pos_label is None or labels.dtype.kind not in "biuf":
        return ScoredTable(labels, arrays, wanted.pos_label)
    # Arrays have their own type, while an option is text.
    if not _is_number(wanted.pos_label):
        raise DataError(
            f"{path}: the labels {wanted.label!r} are numbers; found {wanted.pos_label!r}"
        )
    return ScoredTable(labels, arrays, float(wanted.pos_label))


def _array(path: Path, archive: Mapping[str, Column], name: str) -> Column:
    if name not in archive:
        raise DataError(f"{path}: there is no array {name!r}; found {', '.join(archive)}")
    try:
        return archive[name]
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise DataError(f"{path}: the array {name!r} cannot be read: {error}") from None


_READERS: dict[str, Callable[[Path, Wanted], ScoredTable]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".npz": _read_npz,
}

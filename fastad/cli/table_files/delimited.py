"""Columns of text files."""

import csv
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.types import AnyVector
from fastad.cli._console import DataError

_DELIMITERS = ",;\t"
# From here on, neighbouring integers share a float64.
_FLOATS_MERGE = 2.0**53


def is_number(text: str) -> bool:
    """Return whether a cell is a number."""
    try:
        float(text)
    except ValueError:
        return False
    # Python reads "1_000" as a number, tables do not.
    return "_" not in text


class DelimitedFile:
    """The columns of a .csv or .tsv file, named by its first line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names, self.delimiter = _header(path)

    def candidates(self, excluded: Sequence[str]) -> list[str]:
        """Return the columns that may be scores: all others."""
        return [name for name in self.names if name not in excluded]

    def texts(self, names: Sequence[str]) -> list[str]:
        """Return which of the columns have text in some cell, and a number in none.

        Bad cells among numbers, or decimal commas, do not make them text: they are refused where
        they are read.
        """
        undecided, with_text = {name: self.names.index(name) for name in names}, set[str]()
        with (
            suppress(csv.Error, UnicodeDecodeError),
            self.path.open(encoding="utf-8-sig", newline="") as lines,
        ):
            rows = csv.reader(lines, delimiter=self.delimiter)
            next(rows)
            for row in rows:
                for name, column in list(undecided.items()) if len(row) == len(self.names) else ():
                    if is_number(row[column].replace(",", ".", 1)):
                        del undecided[name]
                    elif row[column].strip():
                        with_text.add(name)
                if not undecided:
                    break
        return [name for name in undecided if name in with_text]

    def numbers(self, names: Sequence[str], may_miss: Sequence[str] = ()) -> dict[str, AnyVector]:
        """Read columns of numbers; integers that a float64 would merge stay integers.

        Empty cells are NaN in the columns that may miss some.
        """
        # All columns are read, so that each row must have as many as the first line.
        types = [np.float64 if name in names else "U1" for name in self.names]
        dtype = np.dtype([(f"column {i}", kind) for i, kind in enumerate(types)])
        try:
            values = self._load(dtype)
        except UnicodeDecodeError as error:
            raise self._not_utf8(error) from None
        except (ValueError, OverflowError) as error:
            bad_cell = self._bad_cell(names, may_miss)
            if bad_cell is None and may_miss:
                return {name: self._with_gaps(name) for name in names}
            raise DataError(f"{self.path}: {bad_cell or error}") from None
        if values.shape[0] == 0:
            raise DataError(f"{self.path}: there are no rows below the header")
        return {
            name: self._as_written(name, values[f"column {self.names.index(name)}"])
            for name in names
        }

    def values(self, name: str) -> AnyVector:
        """Read one column of strings, none of them empty."""
        values = self._load(np.dtype(np.str_), self.names.index(name))
        missing = values == ""
        if np.any(missing):
            raise DataError(
                f"{self.path}: column {name!r}: {np.count_nonzero(missing)} cells are missing, the "
                f"first in row {int(np.argmax(missing))}"
            )
        return values

    def cells(self, names: Sequence[str]) -> tuple[list[tuple[str, ...]], list[int]]:
        """Read columns as they are written, and the line that each row ends in."""
        pick = itemgetter(*(self.names.index(name) for name in names))
        rows, lines = [], []
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file, delimiter=self.delimiter)
                next(reader)
                for row in reader:
                    if not row:
                        continue
                    if len(row) != len(self.names):
                        raise DataError(
                            f"{self.path}: line {reader.line_num}: there are {len(row)} cells, "
                            f"and {len(self.names)} columns"
                        )
                    rows.append(pick(row))
                    lines.append(reader.line_num)
        except UnicodeDecodeError as error:
            raise self._not_utf8(error) from None
        except csv.Error as error:
            raise DataError(
                f"{self.path}: line {reader.line_num} cannot be read: {error}"
            ) from None
        if not rows:
            raise DataError(f"{self.path}: there are no rows below the header")
        return list(zip(*rows, strict=True)), lines

    def _not_utf8(self, error: UnicodeDecodeError) -> DataError:
        return DataError(f"{self.path}: the text is not UTF-8: {error}")

    def _load(self, dtype: np.dtype[Any], column: int | None = None) -> npt.NDArray[Any]:
        with self.path.open(encoding="utf-8-sig", newline="") as lines:
            lines.readline()
            if not any(line.strip() for line in lines):
                return np.empty(0, dtype)
            lines.seek(0)
            with warnings.catch_warnings():
                # Blank lines are no rows.
                warnings.filterwarnings("ignore", "Input line .* contained no data", UserWarning)
                return np.loadtxt(
                    lines,
                    dtype=dtype,
                    delimiter=self.delimiter,
                    quotechar='"',
                    comments=None,
                    skiprows=1,
                    usecols=column,
                    ndmin=1,
                )

    def _as_written(self, name: str, values: AnyVector) -> AnyVector:
        if np.max(np.abs(values)) < _FLOATS_MERGE or not np.all(values == np.floor(values)):
            return values
        cells = self._load(np.dtype(np.str_), self.names.index(name))
        if not np.all(np.strings.isdecimal(np.strings.lstrip(cells, "+- "))):
            return values
        integers = np.array([int(cell) for cell in cells])
        return values if integers.dtype == object else integers

    def _with_gaps(self, name: str) -> AnyVector:
        """Read a column of numbers and empty cells."""
        cells = np.strings.strip(self._load(np.dtype(np.str_), self.names.index(name)))
        return np.where(cells == "", "nan", cells).astype(np.float64)

    def _bad_cell(self, names: Sequence[str], may_miss: Sequence[str] = ()) -> str | None:
        """Return where the first cell is that is not a number; None where even that fails."""
        with suppress(csv.Error), self.path.open(encoding="utf-8-sig", newline="") as lines:
            # Python 3.10 refuses lines with NUL, which are the ones to name.
            readable = (line.replace("\0", "\N{REPLACEMENT CHARACTER}") for line in lines)
            rows = csv.reader(readable, delimiter=self.delimiter)
            next(rows)
            for row in rows:
                if row and len(row) < len(self.names):
                    name = self.names[len(row)]
                    return f"column {name!r}, line {rows.line_num}: the cell is missing"
                if len(row) > len(self.names):
                    return f"line {rows.line_num}: there are more cells than columns"
                for name in names if row else ():
                    cell = row[self.names.index(name)]
                    if not is_number(cell) and (cell.strip() or name not in may_miss):
                        return f"column {name!r}, line {rows.line_num}: {cell!r} is not a number"
        return None


def _header(path: Path) -> tuple[list[str], str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: the text is not UTF-8: {error}") from None
    if not first.strip():
        raise DataError(f"{path}: the file is empty; its first line must name the columns")
    # What stands in quotes is part of a name.
    delimiter = max(_DELIMITERS, key=re.sub(r'"[^"]*"', "", first).count)
    try:
        names = next(csv.reader([first], delimiter=delimiter))
    except csv.Error as error:
        raise DataError(f"{path}: the first line must name the columns: {error}") from None
    return [name.strip() for name in names], delimiter

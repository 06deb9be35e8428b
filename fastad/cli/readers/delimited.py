"""Columns of text files."""

import csv
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad.cli._console import DataError
from fastad.cli.readers.source import Column, is_number

_DELIMITERS = ",;\t"
# From here on, neighbouring integers share a float64.
_FLOATS_MERGE = 2.0**53


class DelimitedFile:
    """The columns of a .csv or .tsv file, named by its first line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names, self.delimiter = _header(path)

    def candidates(self, excluded: Sequence[str]) -> list[str]:
        """Return the columns that may hold scores: all others."""
        return [name for name in self.names if name not in excluded]

    def numbers(self, chosen: Sequence[str]) -> dict[str, Column]:
        """Read columns of numbers; integers that a float64 would merge stay integers."""
        # All columns are read, so that each row must have as many as the first line.
        wanted = set(chosen)
        types = [np.float64 if name in wanted else "U1" for name in self.names]
        dtype = np.dtype([(f"column {i}", kind) for i, kind in enumerate(types)])
        try:
            values = self._load(dtype)
        except UnicodeDecodeError as error:
            raise DataError(f"{self.path}: the text is not UTF-8: {error}") from None
        except (ValueError, OverflowError) as error:
            raise DataError(f"{self.path}: {self._bad_cell(chosen) or error}") from None
        if values.shape[0] == 0:
            raise DataError(f"{self.path}: there are no rows below the header")
        return {
            name: self._as_written(name, values[f"column {self.names.index(name)}"])
            for name in chosen
        }

    def values(self, name: str) -> Column:
        """Read one column of text."""
        values = self._load(np.dtype(np.str_), self.names.index(name))
        missing = values == ""
        if np.any(missing):
            raise DataError(
                f"{self.path}: column {name!r}: {np.count_nonzero(missing)} cells are missing, the "
                f"first in row {int(np.argmax(missing))}"
            )
        return values

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

    def _as_written(self, name: str, values: Column) -> Column:
        if np.max(np.abs(values)) < _FLOATS_MERGE or not np.all(values == np.floor(values)):
            return values
        cells = self._load(np.dtype(np.str_), self.names.index(name))
        if not np.all(np.strings.isdecimal(np.strings.lstrip(cells, "+- "))):
            return values
        whole = np.array([int(cell) for cell in cells])
        return values if whole.dtype == object else whole

    def _bad_cell(self, chosen: Sequence[str]) -> str | None:
        """Say where the first cell is that is not a number; None where even that fails."""
        try:
            return self._first_bad_cell(chosen)
        except csv.Error:
            return None

    def _first_bad_cell(self, chosen: Sequence[str]) -> str | None:
        with self.path.open(encoding="utf-8-sig", newline="") as lines:
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
                for name in chosen:
                    where = f"column {name!r}, line {rows.line_num}"
                    if row and not is_number(row[self.names.index(name)]):
                        cell = row[self.names.index(name)]
                        return f"{where}: {cell!r} is not a number"
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

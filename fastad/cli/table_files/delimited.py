"""Columns of text files."""

import csv
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from operator import itemgetter
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.text_cells import guess_delimiter, is_number
from fastad._core.types import AnyVector
from fastad.cli._console import DataError
from fastad.cli.table_files.arrow_text import ArrowText
from fastad.cli.table_files.content import Content

# So many rows decide on most columns whether they are numbers.
_FIRST_ROWS = 1000
# From here on, neighbouring integers share a float64.
_FLOATS_MERGE = 2.0**53


class DelimitedFile:
    """The columns of a .csv or .tsv file, named by its first line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._content = Content(path)
        self.names, self.delimiter = _header(self._content)
        # Large files without bad cells; all others are read here.
        self._arrow = ArrowText(self._content, self.delimiter, len(self.names))

    def candidates(self, excluded: Sequence[str]) -> list[str]:
        """Return the columns that may be scores: all others."""
        return [name for name in self.names if name not in excluded]

    def texts(self, names: Sequence[str]) -> list[str]:
        """Return which of the columns have text in some cell, and a number in none.

        Bad cells among numbers, or decimal commas, do not make them text: they are refused where
        they are read.
        """
        undecided = list(self._without_numbers(names, _FIRST_ROWS))
        distinct = [self._arrow.distinct(self.names.index(name)) for name in undecided]
        if None in distinct:
            return [name for name, text in self._without_numbers(undecided).items() if text]
        return [
            name
            for name, cells in zip(undecided, distinct, strict=True)
            if any(cell.strip() for cell in cells or ()) and not any(map(_is_numeric, cells or ()))
        ]

    def _without_numbers(self, names: Sequence[str], n_rows: int | None = None) -> dict[str, bool]:
        """Return the columns without a number in the first rows, and whether they have text."""
        without = dict.fromkeys(names, False)
        for row in islice(self._rows(), n_rows):
            for name in list(without):
                cell = row[self.names.index(name)]
                if _is_numeric(cell):
                    del without[name]
                elif cell.strip():
                    without[name] = True
            if not without:
                break
        return without

    def _rows(self) -> Iterator[Sequence[str]]:
        """Yield the rows with a cell for each column, as far as they can be read."""
        with suppress(csv.Error, UnicodeDecodeError), self._content.lines() as lines:
            rows = csv.reader(lines, delimiter=self.delimiter)
            next(rows)
            yield from (row for row in rows if len(row) == len(self.names))

    def numbers(self, names: Sequence[str], may_miss: Sequence[str] = ()) -> dict[str, AnyVector]:
        """Read columns of numbers; integers that a float64 would merge stay integers.

        Empty cells are NaN in the columns that may miss some.
        """
        columns = {name: self.names.index(name) for name in names}
        read = self._arrow.numbers(
            list(columns.values()), {columns[name] for name in names if name in may_miss}
        )
        if read is not None:
            return {name: self._as_written(name, read[i]) for name, i in columns.items()}
        # All columns are read, so that each row must have as many as the first line.
        types = [np.float64 if name in names else "U1" for name in self.names]
        dtype = np.dtype([(f"column {i}", kind) for i, kind in enumerate(types)])
        try:
            values = self._load(dtype)
        except UnicodeDecodeError as error:
            raise self._content.not_utf8(error) from None
        except (ValueError, OverflowError) as error:
            bad_cell = self._bad_cell(names, may_miss)
            if bad_cell is None and may_miss:
                return {name: self._with_gaps(name) for name in names}
            raise DataError(f"{self.path}: {bad_cell or error}") from None
        if values.shape[0] == 0:
            raise DataError(f"{self.path}: there are no rows below the header")
        return {name: self._as_written(name, values[f"column {i}"]) for name, i in columns.items()}

    def values(self, name: str) -> AnyVector:
        """Read one column of strings, none of them empty."""
        values = self._texts(name)
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
            with self._content.lines() as file:
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
            raise self._content.not_utf8(error) from None
        except csv.Error as error:
            raise DataError(
                f"{self.path}: line {reader.line_num} cannot be read: {error}"
            ) from None
        if not rows:
            raise DataError(f"{self.path}: there are no rows below the header")
        return list(zip(*rows, strict=True)), lines

    def large_columns(
        self, texts: Sequence[str], numbers: Sequence[str]
    ) -> dict[str, AnyVector] | None:
        """Read columns as strings, and numbers with gaps; None unless pyarrow reads them."""
        indices = [self.names.index(name) for name in numbers]
        read = self._arrow.numbers(indices, indices)
        if read is None:
            return None
        columns = {name: read[index] for name, index in zip(numbers, indices, strict=True)}
        for name in texts:
            cells = self._arrow.texts(self.names.index(name))
            if cells is None:
                return None
            columns[name] = cells
        return columns

    def _texts(self, name: str) -> AnyVector:
        """Read one column as it is written."""
        column = self.names.index(name)
        cells = self._arrow.texts(column)
        return self._load(np.dtype(np.str_), column) if cells is None else cells

    def _load(self, dtype: np.dtype[Any], column: int | None = None) -> npt.NDArray[Any]:
        with self._content.lines() as lines:
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
        cells = self._texts(name)
        if not np.all(np.strings.isdecimal(np.strings.lstrip(cells, "+- "))):
            return values
        integers = np.array([int(cell) for cell in cells])
        return values if integers.dtype == object else integers

    def _with_gaps(self, name: str) -> AnyVector:
        """Read a column of numbers and empty cells."""
        cells = np.strings.strip(self._texts(name))
        return np.where(cells == "", "nan", cells).astype(np.float64)

    def _bad_cell(self, names: Sequence[str], may_miss: Sequence[str] = ()) -> str | None:
        """Return where the first cell is that is not a number; None if there is none."""
        with self._content.lines() as lines:
            # Python 3.10 refuses lines with NUL, which are the ones to name.
            readable = (line.replace("\0", "\N{REPLACEMENT CHARACTER}") for line in lines)
            rows = csv.reader(readable, delimiter=self.delimiter)
            next(rows)
            try:
                for row in rows:
                    if row and len(row) < len(self.names):
                        name = self.names[len(row)]
                        return f"column {name!r}, line {rows.line_num}: the cell is missing"
                    if len(row) > len(self.names):
                        return f"line {rows.line_num}: there are more cells than columns"
                    for name in names if row else ():
                        cell = row[self.names.index(name)]
                        if not is_number(cell) and (cell.strip() or name not in may_miss):
                            where = f"column {name!r}, line {rows.line_num}"
                            return f"{where}: {short(cell)} is not a number"
            except csv.Error as error:
                return f"line {rows.line_num} cannot be read: {error}"
        return None


def _is_numeric(cell: str) -> bool:
    """Return whether a cell is a number, or would be with a decimal point for its comma."""
    return is_number(cell.replace(",", ".", 1))


def _header(content: Content) -> tuple[list[str], str]:
    """Return the names of the columns and what separates them."""
    path = content.path
    try:
        with content.lines() as lines:
            first, second = lines.readline(), lines.readline()
    except UnicodeDecodeError as error:
        raise content.not_utf8(error) from None
    if not first.strip():
        raise DataError(f"{path}: the file is empty; its first line must name the columns")
    delimiter = guess_delimiter(first, second)
    try:
        reader = csv.reader([first, second], delimiter=delimiter)
        names = next(reader)
    except csv.Error as error:
        raise DataError(f"{path}: the first line must name the columns: {error}") from None
    if reader.line_num > 1:
        raise DataError(
            f"{path}: the first line must name the columns: a quote is not closed in it"
        )
    return [name.strip() for name in names], delimiter

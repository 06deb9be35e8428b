"""Text files: columns named by the first line, parsed by pyarrow as their roles ask."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from reprlib import repr as short
from typing import Any, TextIO

import numpy as np

from fastad._core.threads import available_threads
from fastad._tables.columns import (
    MISSING,
    Numbers,
    NumberSummary,
    Role,
    cells_to_exact,
    cells_to_floats,
    guess_delimiter,
    is_missing,
    is_number,
    missing_text,
)
from fastad._tables.errors import InexactColumnError, TableError, reading
from fastad._tables.files import Bytes, extension_of, need_pyarrow

# Bytes that are parsed at once at least, and lines at least.
_BLOCK, _LINES_A_BLOCK = 2**20, 16
# The most that csv takes everywhere, and of a name that messages may list.
_LONGEST_CELL, _LONGEST_NAME = 2**31 - 1, 2**17
# The column of an error of pyarrow's about a cell that it cannot convert.
_UNCONVERTED = re.compile(r"In CSV column #(\d+): ")


class TextFile:
    """The columns of a .csv or .tsv file, which does not say how many rows it has.

    ``exact`` has the columns whose numbers pyarrow does not parse as float64, and the type that
    holds them.
    """

    untyped = True
    n_rows = None

    def __init__(self, path: Path) -> None:
        need_pyarrow(f"a {extension_of(path) or '.csv'} file")
        self.path = path
        self._bytes = Bytes(path)
        self.exact: dict[str, str] = {}
        first, second = self._first_lines()
        # Blank lines are no rows.
        self._is_empty = not second
        self._block = max(_BLOCK, _LINES_A_BLOCK * len(first + second))
        # By default 128 kB; pyarrow reads longer cells. The limit is one of the process, and stays:
        # another thread may read.
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
        self._delimiter = guess_delimiter(first, second)
        self.names = self._header(first, second)

    def kind(self, name: str) -> str:
        """Return the content of a column, which is always text."""
        return "text"

    def state(self) -> object:
        """Return a value that changes where the file is written anew."""
        return self._bytes.state()

    def cells(self, names: Sequence[str], n_rows: int | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield columns as they are written, batch by batch, which are small whatever is asked."""
        yield from self._parsed(dict.fromkeys(names, "string"))

    def batches(self, roles: Mapping[str, Role]) -> Iterator[Mapping[str, Any]]:
        """Yield columns batch by batch: numbers as arrays, other columns as they are written."""
        kinds = {
            name: "float64" if isinstance(role, Numbers) and name not in self.exact else "string"
            for name, role in roles.items()
        }
        for batch in self._parsed(kinds, roles):
            yield {name: self._values(name, cells, roles[name]) for name, cells in batch.items()}

    def summarize(self, name: str, summary: NumberSummary, file: int) -> None:
        """Add a column to the summary of its numbers."""
        first_row = 0
        for batch in self.cells([name]):
            summary.add(batch[name].to_pylist(), file, first_row)
            first_row += len(batch[name])

    def where(self, row: int) -> str:
        """Return the line that a row ends in, which a person looks for in an editor."""
        rows_left = row
        with self._rows() as rows:
            next(rows)
            for cells in rows:
                rows_left -= bool(cells)
                if rows_left < 0:
                    break
        return f"line {rows.line_num}"

    def _values(self, name: str, cells: Any, role: Role) -> Any:
        """Return numbers as an array; cells of names and labels as they are."""
        if not isinstance(role, Numbers):
            return cells
        if name in self.exact:
            values = cells_to_exact(cells, self.exact[name])
            n_missing = n_nan = values.null_count
        else:
            values = cells_to_floats(cells, name)
            # Arrow takes "nan(1)" for a number, too.
            n_missing, n_nan = cells.null_count, np.count_nonzero(np.isnan(values))
        if n_nan > (n_missing if role.may_miss else 0):
            raise self._error({name: role}) or TableError(
                f"{self.path}: the file has changed while it was read"
            )
        return values

    def _parsed(
        self, kinds: Mapping[str, str], roles: Mapping[str, Role] | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """Yield columns as pyarrow parses them: as float64 or strings."""
        import pyarrow as pa  # Inside, as arrays need no pyarrow.
        from pyarrow import csv as arrow_csv

        types = {"float64": pa.float64(), "string": pa.string()}
        if self._is_empty:
            return
        positions = {name: str(self.names.index(name)) for name in kinds}
        try:
            with self._bytes.stream() as stream:
                reader = arrow_csv.open_csv(
                    stream,
                    arrow_csv.ReadOptions(
                        use_threads=available_threads() > 1,
                        block_size=self._block,
                        skip_rows=1,
                        column_names=[str(column) for column in range(len(self.names))],
                    ),
                    arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
                    arrow_csv.ConvertOptions(
                        column_types={positions[name]: types[kind] for name, kind in kinds.items()},
                        include_columns=list(positions.values()),
                        null_values=MISSING,
                    ),
                )
                for batch in reader:
                    yield {name: batch.column(position) for name, position in positions.items()}
        except (pa.ArrowException, OSError) as error:
            raise self._reason(error, roles or {}) from None

    def _reason(self, error: Exception, roles: Mapping[str, Role]) -> Exception:
        """Return the error of the text that pyarrow could not parse."""
        numbers = {name: role for name, role in roles.items() if isinstance(role, Numbers)}
        bad = self._error(numbers)
        if bad is not None:
            return bad
        unconverted = _UNCONVERTED.search(str(error))
        if unconverted is not None:
            name = self.names[int(unconverted[1])]
            if name in numbers and name not in self.exact:
                return InexactColumnError(name)
        return TableError(f"{self.path}: the file cannot be read: {error}")

    def _error(self, numbers: Mapping[str, Numbers]) -> TableError | None:
        """Return the error about the first row of other cells, or cell that is no number."""
        try:
            with reading(self.path, "the file"), self._rows() as rows:
                problem = self._problem(rows, numbers)
        except TableError as error:
            return error
        return None if problem is None else TableError(f"{self.path}: {problem}")

    def _problem(self, rows: Any, numbers: Mapping[str, Numbers]) -> str | None:
        positions = {name: self.names.index(name) for name in numbers}
        try:
            next(rows)
            for row in rows:
                if row and len(row) < len(self.names):
                    name = self.names[len(row)]
                    return f"column {name!r}, line {rows.line_num}: the cell is missing"
                if len(row) > len(self.names):
                    return f"line {rows.line_num}: there are more cells than columns"
                for name, role in numbers.items() if row else ():
                    cell = row[positions[name]]
                    where = f"column {name!r}, line {rows.line_num}"
                    if is_missing(cell):
                        if not role.may_miss:
                            return f"{where}: {missing_text(cell)}"
                    elif not is_number(cell):
                        return f"{where}: {short(cell)} is not a number"
        except csv.Error as error:
            return f"line {rows.line_num} cannot be read: {error}"
        return None

    @contextmanager
    def _rows(self) -> Iterator[Any]:
        """Open the rows, the first of them the header, as a reader that counts lines."""
        with self._lines() as lines:
            # Python 3.10 refuses lines with NUL, which are the ones to name.
            readable = (line.replace("\0", "\N{REPLACEMENT CHARACTER}") for line in lines)
            yield csv.reader(readable, delimiter=self._delimiter)

    @contextmanager
    def _lines(self) -> Iterator[TextIO]:
        """Open the text, with the ends of lines as they are."""
        with self._bytes.open() as stream:
            # Streams of pyarrow's have no read1.
            raw = stream if hasattr(stream, "read1") else io.BytesIO(stream.read())
            try:
                yield io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
            except UnicodeDecodeError as error:
                raise TableError(f"{self.path}: the text is not UTF-8: {error}") from None

    def _first_lines(self) -> tuple[str, str]:
        with reading(self.path, "the file"), self._lines() as lines:
            first, second = lines.readline(), lines.readline()
            while second and not second.strip():
                second = lines.readline()
            return first, second

    def _header(self, first: str, second: str) -> list[str]:
        if not first.strip():
            what = "first line is blank; it" if second else "file is empty; its first line"
            raise TableError(f"{self.path}: the {what} must name the columns")
        names: list[str] = []
        what = "a NUL is in it, as UTF-16 has it" if "\0" in first else ""
        try:
            reader = csv.reader([first, second], delimiter=self._delimiter)
            if not what:
                names = next(reader)
                what = "a quote is not closed in it" if reader.line_num > 1 else ""
                if max(map(len, names)) > _LONGEST_NAME:
                    what = f"a name in it is longer than {_LONGEST_NAME} characters"
        except csv.Error as error:
            what = str(error)
        if what:
            raise TableError(f"{self.path}: the first line must name the columns: {what}")
        return [name.strip() for name in names]

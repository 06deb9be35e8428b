"""Columns of text files by pyarrow's reader, which takes a quarter of the time of NumPy's."""

import codecs
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fastad._core.threads import available_threads
from fastad._core.types import AnyVector
from fastad.cli.table_files.content import Content

# Of fewer bytes, NumPy's reader is faster than the import of pyarrow.
_WORTHWHILE = 4_000_000
_PIECE = 2**18
# Cells that stand for a number that is missing.
_MISSING = ["", "nan", "NaN"]


class ArrowText:
    """The columns of a text file by their positions, None where pyarrow does not read them.

    It reads what `DelimitedFile` reads without it, to the bit. It does not read small files, and
    none with a bad cell: the caller's own reader says what is wrong where.
    """

    def __init__(self, content: Content, delimiter: str, n_columns: int) -> None:
        self._content = content
        self._delimiter = delimiter
        self._n_columns = n_columns

    def numbers(
        self, columns: Sequence[int], may_miss: Collection[int]
    ) -> dict[int, AnyVector] | None:
        """Read columns of numbers; missing ones are NaN in the columns that may miss some."""
        table = self._read(dict.fromkeys(columns, "float64"))
        if table is None:
            return None
        numbers = {}
        for column in columns:
            cells = table[str(column)]
            numbers[column] = cells.to_numpy()
            n_missing = cells.null_count
            # It takes "nan(1)" for a number, too.
            n_nan = np.count_nonzero(np.isnan(numbers[column]))
            if (n_missing and column not in may_miss) or n_nan > n_missing:
                return None
        return numbers

    def texts(self, column: int) -> AnyVector | None:
        """Read a column of strings."""
        table = self._read({column: "dictionary"})
        if table is None:
            return None
        cells = table[str(column)].unify_dictionaries().combine_chunks()
        distinct: AnyVector = np.array(cells.dictionary.to_pylist(), np.str_)
        values: AnyVector = distinct[cells.indices.to_numpy()]
        return values

    def distinct(self, column: int) -> list[str] | None:
        """Return the distinct cells of a column."""
        table = self._read({column: "dictionary"})
        return None if table is None else [str(x) for x in table[str(column)].unique().to_pylist()]

    def _read(self, types: Mapping[int, str]) -> Any:
        if self._quoted is None:
            return None
        # Inside, as small files need no pyarrow.
        import pyarrow as pa
        from pyarrow import csv

        kinds = {"float64": pa.float64(), "dictionary": pa.dictionary(pa.int32(), pa.string())}
        try:
            with self._opened() as file:
                table = csv.read_csv(
                    file,
                    csv.ReadOptions(
                        use_threads=available_threads() > 1,
                        skip_rows=1,
                        column_names=[str(column) for column in range(self._n_columns)],
                    ),
                    csv.ParseOptions(
                        delimiter=self._delimiter, newlines_in_values=bool(self._quoted)
                    ),
                    csv.ConvertOptions(
                        # The whole text has been checked.
                        check_utf8=False,
                        column_types={str(x): kinds[kind] for x, kind in types.items()},
                        include_columns=[str(column) for column in types],
                        null_values=_MISSING,
                    ),
                )
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows else None

    def _opened(self) -> Any:
        # Inside, as small files need no pyarrow.
        import pyarrow as pa

        kept = self._content.kept
        return pa.memory_map(str(self._content.path)) if kept is None else pa.BufferReader(kept)

    @cached_property
    def _quoted(self) -> bool | None:
        """Whether there are quotes; None where pyarrow is not there, or is not to read the text."""
        # A blank line is a cell of a single column, or none.
        if self._content.size() < _WORTHWHILE or self._n_columns == 1:
            return None
        try:
            import pyarrow  # noqa: F401
        except ModuleNotFoundError:
            return None
        quoted, decoder = False, codecs.getincrementaldecoder("utf-8")()
        try:
            with self._content.binary() as file:
                while piece := file.read(_PIECE):
                    if b"\0" in piece:
                        return None
                    quoted = quoted or b'"' in piece
                    if not piece.isascii() or decoder.getstate()[0]:
                        decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return None
        return quoted

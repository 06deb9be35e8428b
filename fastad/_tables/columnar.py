"""Parquet and Arrow files, and archives of NumPy's arrays."""

import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastad._core.threads import available_threads
from fastad._core.types import AnyVector
from fastad._tables.columns import Role
from fastad._tables.errors import TableError, reading
from fastad._tables.files import need_pyarrow, state_of

# Rows of a batch, and bytes of a column that are read at once: a group of rows may be the whole
# file. For 2e7 rows in one group, a sketch of 8 MB takes 67 MB in all; with 2^20 rows and
# whole columns it was 300 MB, and no faster.
_ROWS = 2**18
_BUFFER = 2**20


class _TypedFile(ABC):
    """Columns with types of their own, which are read as they are."""

    untyped = False
    path: Path

    @abstractmethod
    def cells(self, names: Sequence[str], n_rows: int | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield columns as they are, batch by batch."""

    def batches(self, roles: Mapping[str, Role]) -> Iterator[Mapping[str, Any]]:
        """Yield columns as they are, whatever their roles."""
        return self.cells(list(roles))

    def state(self) -> object:
        """Return a value that changes where the file is written anew."""
        return state_of(self.path)

    def where(self, row: int) -> str:
        """Return how messages name a row."""
        return f"row {row}"


class ArrowFile(_TypedFile):
    """The columns of a .parquet, .arrow or .feather file; only those in use are read.

    ``n_rows`` is None where the file does not have the number of its rows.
    """

    def __init__(self, path: Path) -> None:
        need_pyarrow(f"a {path.suffix} file")
        self.path = path
        self._is_parquet = path.suffix.lower() == ".parquet"
        with reading(path, "the file"):
            if self._is_parquet:
                # Inside, as arrays need no pyarrow.
                from pyarrow import parquet

                with parquet.ParquetFile(path) as file:
                    schema, self.n_rows = file.schema_arrow, file.metadata.num_rows
            else:
                import pyarrow as pa

                self.n_rows = None
                with pa.OSFile(str(path)) as file:
                    schema = pa.ipc.open_file(file).schema
        self.names: list[str] = list(schema.names)
        self._types = {field.name: field.type for field in schema}

    def kind(self, name: str) -> str:
        """Return the content of a column: numbers, booleans, or something else."""
        from pyarrow import types  # Inside, as arrays need no pyarrow.

        kind = self._types[name]
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_boolean(kind):
            return "boolean"
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            return "number"
        return "other"

    def type_of(self, name: str) -> str:
        """Return the type of a column, which has to be the same in all files."""
        return str(self._types[name])

    def cells(self, names: Sequence[str], n_rows: int | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield columns as they are, batch by batch."""
        with reading(self.path, "the file"):
            read = self._parquet_batches if self._is_parquet else self._ipc_batches
            for batch in read(list(names), n_rows or _ROWS):
                columns = {name: batch.column(name) for name in names}
                for column in columns.values():
                    # Strings and categories of a damaged file may lie outside of it.
                    column.validate(full=True)
                yield columns

    def _parquet_batches(self, names: list[str], n_rows: int) -> Iterator[Any]:
        from pyarrow import parquet  # Inside, as arrays need no pyarrow.

        with parquet.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False) as file:
            threads = available_threads() > 1
            yield from file.iter_batches(n_rows, columns=names, use_threads=threads)

    def _ipc_batches(self, names: list[str], n_rows: int) -> Iterator[Any]:
        import pyarrow as pa  # Inside, as arrays need no pyarrow.

        fields = [self.names.index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        # Not mapped into memory: another process may cut the file off meanwhile.
        with pa.OSFile(str(self.path)) as file:
            reader = pa.ipc.open_file(file, options=options)
            for i in range(reader.num_record_batches):
                batch = reader.get_batch(i)
                for start in range(0, batch.num_rows, n_rows):
                    yield batch.slice(start, n_rows)


class ArrayArchive(_TypedFile):
    """The arrays of an .npz file, which may have any lengths."""

    n_rows = None

    def __init__(self, path: Path) -> None:
        if not zipfile.is_zipfile(path):
            raise TableError(f"{path}: the file is not an archive of arrays (.npz)")
        self.path = path
        self._forms: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
        # From an open file: NumPy leaves its own open where an archive is damaged.
        with reading(path, "the archive"), path.open("rb") as file:
            self.names = list(np.load(file, allow_pickle=False))

    def array(self, name: str) -> AnyVector:
        """Read one array, of any shape."""
        with reading(self.path, f"the array {name!r}"), self.path.open("rb") as file:
            array = np.load(file, allow_pickle=False)[name]
            if isinstance(array, np.ndarray) and array.dtype.kind == "U":
                # Numbers beyond all characters, from a damaged file, fail here.
                array.tolist()
        if not isinstance(array, np.ndarray):
            raise TableError(f"{self.path}: {name!r} is not an array")
        return array

    def kind(self, name: str) -> str:
        """Return the content of an array: numbers, booleans, or something else."""
        kind = self._form(name)[0].kind
        return "boolean" if kind == "b" else "number" if kind in "iuf" else "other"

    def type_of(self, name: str) -> str:
        """Return the type of an array, which has to be the same in all files."""
        # Without the length of strings, and the unit of times.
        return self._form(name)[0].type.__name__

    def left_out(self, names: Sequence[str], first: str) -> dict[str, str]:
        """Return why arrays do not go with a first one; nothing for those that do.

        Data sets travel with other arrays, such as names, and the matrix of features.
        """
        shape = self._form(first)[1]
        reasons = {}
        for name in names:
            try:
                dtype, own = self._form(name)
            except TableError:
                reasons[name] = "cannot be read"
                continue
            reasons[name] = "no numbers" if dtype.kind not in "biuf" else ""
            if not reasons[name] and own != shape:
                one_dimensional = len(own) == len(shape) == 1
                reasons[name] = (
                    f"{own[0]} values, {first!r} has {shape[0]}"
                    if one_dimensional
                    else f"of shape {own}, {first!r} of {shape}"
                )
        return reasons

    def cells(self, names: Sequence[str], n_rows: int | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield arrays, in one batch."""
        arrays = {name: self.array(name) for name in names}
        for name, array in arrays.items():
            if array.ndim != 1:
                raise TableError(
                    f"{self.path}: column {name!r} must be one-dimensional; found shape "
                    f"{array.shape}"
                )
        first = next(iter(arrays))
        for name, array in arrays.items():
            if len(array) != len(arrays[first]):
                raise TableError(
                    f"{self.path}: columns must be of one length; found {len(array)} values of "
                    f"{name!r} and {len(arrays[first])} of {first!r}"
                )
        yield arrays

    def _form(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Return the type and the shape of an array, for which it is read once."""
        if name not in self._forms:
            array = self.array(name)
            self._forms[name] = array.dtype, array.shape
        return self._forms[name]

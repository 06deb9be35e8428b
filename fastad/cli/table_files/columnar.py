"""Columns of NumPy archives, Parquet and Arrow files."""

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastad._core.extras import missing_extra
from fastad._core.frames import as_array
from fastad._core.types import AnyVector
from fastad.cli._console import DataError, data_from
from fastad.errors import MissingExtraError


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Turn any error of a library on a damaged file into a message that names the file.

    They may be of any type: of zip, of zlib, of Python's parser, of memory.
    """
    try:
        yield
    except (DataError, MissingExtraError):
        raise
    except Exception as error:
        raise DataError(f"{path}: {what} cannot be read: {error}") from None


class ArrayArchive:
    """The arrays of an .npz file."""

    def __init__(self, path: Path) -> None:
        if not zipfile.is_zipfile(path):
            raise DataError(f"{path}: the file is not an archive of arrays (.npz)")
        self.path = path
        self._forms: dict[str, _Form] = {}
        # Of an open file: NumPy leaves its own open where an archive is damaged.
        with reading(path, "the archive"), path.open("rb") as file:
            self.names = list(np.load(file, allow_pickle=False))

    def candidates(self, excluded: Sequence[str]) -> list[str]:
        """Return the vectors of numbers as long as the first excluded array."""
        return [name for name, reason in self.left_out(excluded).items() if not reason]

    def left_out(self, excluded: Sequence[str]) -> dict[str, str]:
        """Return why each other array is no candidate; nothing for those that are.

        Data sets travel with other arrays, such as names, and the matrix of features.
        """
        shape = self._form(excluded[0]).shape
        reasons = {}
        for name in self.names:
            if name not in excluded:
                try:
                    reasons[name] = _no_candidate(self._form(name), excluded[0], shape)
                except DataError:
                    reasons[name] = "cannot be read"
        return reasons

    def texts(self, names: Sequence[str]) -> list[str]:
        """Return which of the arrays are no numbers."""
        return [name for name in names if self._form(name).kind not in "biuf"]

    def numbers(self, names: Sequence[str], may_miss: Sequence[str] = ()) -> dict[str, AnyVector]:
        """Read arrays, which miss nothing."""
        return {name: self.values(name) for name in names}

    def values(self, name: str) -> AnyVector:
        """Read one array."""
        with reading(self.path, f"the array {name!r}"), self.path.open("rb") as file:
            array = np.load(file, allow_pickle=False)[name]
            if isinstance(array, np.ndarray) and array.dtype.kind == "U":
                # Numbers beyond all characters, from a damaged file, fail here.
                array.tolist()
        if not isinstance(array, np.ndarray):
            raise DataError(f"{self.path}: {name!r} is not an array")
        return array

    def _form(self, name: str) -> "_Form":
        """Return the form of an array, for which it is read once."""
        if name not in self._forms:
            array = self.values(name)
            self._forms[name] = _Form(array.dtype.kind, array.shape)
        return self._forms[name]


class _Form(NamedTuple):
    """The kind of the values of an array, as NumPy abbreviates it, and its shape."""

    kind: str
    shape: tuple[int, ...]


def _no_candidate(form: _Form, first: str, shape: tuple[int, ...]) -> str:
    """Return why an array is no candidate beside a first one of some shape, nothing if it is."""
    if form.kind not in "biuf":
        return "no numbers"
    if form.shape == shape:
        return ""
    if len(form.shape) == len(shape) == 1:
        return f"{form.shape[0]} values, {first!r} has {shape[0]}"
    return f"of shape {form.shape}, {first!r} of {shape}"


class ArrowFile:
    """The columns of a .parquet, .arrow or .feather file; only those in use are read."""

    def __init__(self, path: Path) -> None:
        try:
            # Inside, as other files need no pyarrow.
            import pyarrow as pa
            from pyarrow import feather, parquet
        except ModuleNotFoundError:
            raise missing_extra(f"a {path.suffix} file", "pyarrow", extra="df") from None
        self.path = path
        is_parquet = path.suffix.lower() == ".parquet"
        self._read: Any = parquet.read_table if is_parquet else feather.read_table
        with reading(path, "the file"):
            if is_parquet:
                schema = parquet.read_schema(path)
            else:
                with pa.memory_map(str(path)) as file:
                    schema = pa.ipc.open_file(file).schema
            self.names = list(schema.names)
            self._numeric = [
                field.name
                for field in schema
                if pa.types.is_integer(field.type)
                or pa.types.is_floating(field.type)
                or pa.types.is_boolean(field.type)
            ]

    def candidates(self, excluded: Sequence[str]) -> list[str]:
        """Return the columns of numbers."""
        return [name for name in self._numeric if name not in excluded]

    def texts(self, names: Sequence[str]) -> list[str]:
        """Return which of the columns are no numbers."""
        return [name for name in names if name not in self._numeric]

    def numbers(self, names: Sequence[str], may_miss: Sequence[str] = ()) -> dict[str, AnyVector]:
        """Read columns; what is missing is NaN in those that may miss some."""
        return {
            name: self.table([name])[name].to_numpy() if name in may_miss else self.values(name)
            for name in names
        }

    def values(self, name: str) -> AnyVector:
        """Read one column, which must not have missing values."""
        column = self.table([name])[name]
        self.refuse_missing(name, column)
        with data_from(self.path):
            return as_array(column, name)

    def table(self, names: Sequence[str]) -> Any:
        """Read columns as an Arrow table."""
        what = f"column {names[0]!r}" if len(names) == 1 else "the file"
        with reading(self.path, what):
            table = self._read(self.path, columns=list(names))
            # Strings and categories of a damaged file may lie outside of it.
            table.validate(full=True)
        return table

    def refuse_missing(self, name: str, column: Any) -> None:
        """Check that a column has no missing values."""
        if column.null_count:
            first = column.is_null().index(True).as_py()
            raise DataError(
                f"{self.path}: column {name!r} must not have missing values; "
                f"found {column.null_count}, the first at row {first}"
            )

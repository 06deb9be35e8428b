"""Tables of a study in Parquet files: their columns, what damage is, and how they are written."""

import contextlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from fastad._core.extras import missing_extra
from fastad._core.files import written_aside
from fastad.errors import InvalidInputError, InvalidTypeError

# pyarrow ships no types.
ArrowTable: TypeAlias = Any
ArrowSchema: TypeAlias = Any

# The column of files of batches that says to which task a row belongs.
TASK = "task"
# Metadata of a result: how many rows the files beside it have.
_ROWS = b"fastad.rows"


def arrow() -> Any:
    """Return pyarrow, which a study needs and the rest of fastad does not."""
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise missing_extra("a study", "pyarrow", extra="study") from None
    return pa


class DamagedFileError(Exception):
    """A file is not a study's, or not complete."""


def make_table(columns: Mapping[str, Sequence[Any]], name: str) -> ArrowTable:
    """Return columns as a table of few types.

    They are strings, integers and floats of 64 bits, booleans, lists of floats of 32 bits, and
    columns of None alone, which take the type that they have elsewhere.

    Raises
    ------
    InvalidInputError
        If there are no rows, or columns differ in length.
    TypeError
        If a column has another type.
    """
    pa = arrow()
    if not isinstance(columns, Mapping):
        raise InvalidTypeError(
            f"{name} must map columns to values; found {type(columns).__name__}", argument=name
        )
    arrays = {column: _array(values, f"{name}[{column!r}]") for column, values in columns.items()}
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        counts = ", ".join(f"{len(array)} of {column}" for column, array in arrays.items())
        raise InvalidInputError(
            f"{name} must have columns of equal length; found {counts}", argument=name
        )
    if not lengths or 0 in lengths:
        raise InvalidInputError(f"{name} must have at least one row; found none", argument=name)
    if TASK in arrays:
        raise InvalidInputError(f"{name} must not have a column {TASK!r}", argument=name)
    return pa.table(arrays)


def common_schema(
    a: ArrowSchema, b: ArrowSchema, name: str, optional: Collection[str] = ()
) -> ArrowSchema:
    """Return the columns of two tables as one: None gives way to all, int to float.

    Raises
    ------
    InvalidInputError
        If they have different columns that are not optional, or columns of different types.
    """
    pa = arrow()
    differing = sorted((set(a.names) ^ set(b.names)).difference(optional))
    if differing:
        raise InvalidInputError(
            f"{name} must have the same columns in all batches; not all have "
            f"{', '.join(differing)}",
            argument=name,
        )
    try:
        return pa.unify_schemas([a, b], promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise InvalidInputError(
            f"{name} must have the same types in all batches: {error}",
            argument=name,
        ) from None


def write_table(path: Path, table: ArrowTable, beside: Mapping[str, int] | None = None) -> None:
    """Write a table whose bytes depend on its rows alone, and wait until the disk has it.

    It notes how many rows the files beside it have, which must be there whenever it is.
    """
    noted = {_ROWS: json.dumps(beside)} if beside else None
    write_parquet(path, table.replace_schema_metadata(noted).combine_chunks(), sync=True)


def check_beside(path: Path, table: ArrowTable) -> None:
    """Check that the files are there which a table that was read from a file needs beside it.

    Raises
    ------
    DamagedFileError
        If one is missing, or is not that of this table.
    """
    pa = arrow()
    noted: dict[str, int] = json.loads((table.schema.metadata or {}).get(_ROWS, b"{}"))
    for name, n_rows in noted.items():
        file = path.with_name(name)
        try:
            with damage(file):
                n_present = pa.parquet.read_metadata(file).num_rows
        except FileNotFoundError:
            raise DamagedFileError(f"{file} is missing") from None
        if n_present != n_rows:
            raise DamagedFileError(f"{file} is damaged: it has {n_present} rows and not {n_rows}")


def read_table(path: Path, columns: Sequence[str] | None = None) -> ArrowTable | None:
    """Return what `write_table` wrote, None where it is not there."""
    pa = arrow()
    try:
        with damage(path), pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(columns=columns)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def damage(path: Path) -> Iterator[None]:
    """Distinguish a file that is damaged from a disk or a system that fails."""
    pa = arrow()
    try:
        yield
    except (ValueError, OSError, pa.ArrowNotImplementedError) as error:
        # Errors of the operating system have a number; they do not concern the content.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = " ".join(str(error).split())
        raise DamagedFileError(f"{path} is damaged: {reason}") from None


def _array(values: Sequence[Any], name: str) -> Any:
    """Return a column in one of the types that tables have."""
    pa = arrow()
    try:
        array = pa.array(list(values))
        kind = array.type
        if pa.types.is_integer(kind):
            return array.cast(pa.int64())
        if pa.types.is_floating(kind):
            return array.cast(pa.float64())
        if pa.types.is_list(kind):
            return array.cast(pa.list_(pa.float32()))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidTypeError(
            f"{name} must contain plain values of one type: {error}", argument=name
        ) from None
    if not (pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise InvalidTypeError(
            f"{name} must contain strings, numbers or lists of numbers; found {kind}", argument=name
        )
    return array


def write_parquet(path: Path, table: ArrowTable, *, sync: bool) -> None:
    """Write a table aside; sync waits until the disk has it."""
    pa = arrow()
    with written_aside(path) as aside:
        pa.parquet.write_table(
            table,
            aside,
            compression="zstd",
            # Both cost time in a small file, and nothing reads the statistics.
            use_dictionary=sync,
            write_statistics=False,
            write_page_checksum=True,
        )
        if sync:
            # Windows flushes only what is open for writing.
            _sync(aside, os.O_RDWR)
    if sync:
        # Its name, too. Not every file system can wait for a folder, and Windows opens none.
        with contextlib.suppress(OSError):
            _sync(path.parent, os.O_RDONLY)


def _sync(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

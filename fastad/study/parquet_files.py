"""Parquet files of a study's tables: their columns, signs of damage, and how they are written."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from fastad._core.extras import missing_extra
from fastad._core.files import written_aside

# pyarrow ships no types.
ArrowTable: TypeAlias = Any
ArrowSchema: TypeAlias = Any

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


def make_table(columns: Mapping[str, Sequence[Any]]) -> ArrowTable:
    """Return columns as a table of few types.

    They are strings, integers and floats of 64 bits, booleans, lists of floats of 32 bits, and
    columns of None alone.
    """
    pa = arrow()
    arrays = {}
    for name, values in columns.items():
        array = pa.array(values)
        arrays[name] = array.cast(pa.list_(pa.float32())) if pa.types.is_list(array.type) else array
    return pa.table(arrays)


def write_table(path: Path, table: ArrowTable, beside: Mapping[str, int] | None = None) -> None:
    """Write a table whose bytes depend on its rows alone, and wait until the disk has it.

    It notes how many rows the files beside it have, which must be there whenever it is.
    """
    pa = arrow()
    noted = {_ROWS: json.dumps(beside)} if beside else None
    with written_aside(path) as aside:
        pa.parquet.write_table(
            table.replace_schema_metadata(noted),
            aside,
            compression="zstd",
            write_statistics=False,  # which nothing reads
            write_page_checksum=True,
        )
        # Windows flushes only files that are open for writing.
        _sync(aside, os.O_RDWR)
    # Its name, too. Not every file system can wait for a folder, and Windows opens none.
    with contextlib.suppress(OSError):
        _sync(path.parent, os.O_RDONLY)


def check_beside(path: Path, table: ArrowTable) -> None:
    """Check that the files are there which a table that was read from a file needs beside it.

    Raises
    ------
    DamagedFileError
        If one is missing, or belongs to another table.
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
    """Return the table that `write_table` wrote, None where there is none."""
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


def _sync(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

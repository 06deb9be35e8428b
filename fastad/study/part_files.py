"""Folders of parts: Parquet files of one batch, or of many that were merged.

A part is written aside and renamed, so that what has its name is whole, but for what a power cut
or a stranger did to it. Each row carries its batch, and each file names its batches. Whatever
kills a process between the writing of a merged file and the removal of its parts leaves the rows
twice, and readers drop the repeats.
"""

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fastad._core.files import written_aside
from fastad.errors import InvalidInputError, MissingExtraError
from fastad.study.tables import ArrowTable

ArrowSchema: TypeAlias = Any

BATCH = "batch"
SUFFIX = ".parquet"
LEFTOVERS = ".fastad-*"
_BATCHES = b"fastad.batches"
_MERGED = re.compile(r"all-(\d+)")


def arrow() -> Any:
    """Return pyarrow, which a study needs and the rest of fastad does not."""
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise MissingExtraError("a study needs pyarrow: pip install 'fastad[study]'") from None
    return pa


class DamagedPartError(Exception):
    """A file is not one of ours, or not whole."""


@dataclass(frozen=True, slots=True)
class Part:
    """What the foot of a file says.

    Attributes
    ----------
    path : Path
        The file.
    batches : tuple of str
        Whose rows it holds.
    schema : pyarrow.Schema
        Its columns, without that of the batch.
    """

    path: Path
    batches: tuple[str, ...]
    schema: ArrowSchema


def part_path(folder: Path, batch: str) -> Path:
    """Return where the rows of a batch go."""
    return folder / f"{batch}{SUFFIX}"


def part_paths(folder: Path, planned: frozenset[str]) -> list[Path]:
    """Return the files of a folder, newest first: those of planned batches, then merged ones."""
    paths = _paths(folder)
    return [path for path in paths if is_merged(path) or path.stem in planned]


def strange_files(folder: Path, planned: frozenset[str]) -> list[str]:
    """Return the names of the other files."""
    paths = _paths(folder)
    return [path.name for path in paths if not is_merged(path) and path.stem not in planned]


def next_merged_path(folder: Path) -> Path:
    """Return the path of the next merged file."""
    numbers = (_MERGED.fullmatch(path.stem) for path in _paths(folder))
    last = max((int(found[1]) for found in numbers if found), default=0)
    return folder / f"all-{last + 1}{SUFFIX}"


def is_merged(path: Path) -> bool:
    """Tell whether a file is one of many batches."""
    return _MERGED.fullmatch(path.stem) is not None


def table_of(columns: Mapping[str, Sequence[Any]], name: str) -> ArrowTable:
    """Return columns as a table of few types.

    They are text, whole numbers and floats of 64 bits, booleans, lists of floats of 32 bits, and
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
        raise TypeError(f"{name} must map columns to values; found {type(columns).__name__}")
    arrays = {column: _array(values, f"{name}[{column!r}]") for column, values in columns.items()}
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        found = ", ".join(f"{len(array)} of {column}" for column, array in arrays.items())
        raise InvalidInputError(
            f"{name} must have columns of equal length; found {found}", argument=name
        )
    if not lengths or 0 in lengths:
        raise InvalidInputError(f"{name} must have at least one row; found none", argument=name)
    if BATCH in arrays:
        raise InvalidInputError(f"{name} must not have a column {BATCH!r}", argument=name)
    return pa.table(arrays)


def common_schema(one: ArrowSchema, other: ArrowSchema, name: str) -> ArrowSchema:
    """Return the columns of two tables as one: None gives way to all, int to float.

    Raises
    ------
    InvalidInputError
        If they have different columns, or columns of different types.
    """
    pa = arrow()
    if set(one.names) != set(other.names):
        odd = sorted(set(one.names) ^ set(other.names))
        raise InvalidInputError(
            f"{name} must have the same columns in all batches; not all have {', '.join(odd)}",
            argument=name,
        )
    try:
        return pa.unify_schemas([one, other], promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise InvalidInputError(
            f"{name} must have the same types in all batches: {error}",
            argument=name,
        ) from None


def write_batch(path: Path, table: ArrowTable, batch: str) -> None:
    """Write the rows of a batch: all of them or, after an error, nothing."""
    pa = arrow()
    column = pa.array([batch] * table.num_rows, pa.string())
    # A power cut may spoil it, which shows, and the batch runs again: waiting for the disk would
    # cost more than most batches.
    _write(path, _named(table.append_column(BATCH, column), [batch]), durable=False)


def write_merged(path: Path, tables: Iterable[ArrowTable], batches: Sequence[str]) -> None:
    """Write the rows of many batches, and wait until the disk has them."""
    pa = arrow()
    whole = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    _write(path, _named(whole, batches), durable=True)


def write_result(path: Path, table: ArrowTable) -> None:
    """Write a table whose bytes depend on its rows alone, and wait until the disk has it."""
    _write(path, table.replace_schema_metadata(None).combine_chunks(), durable=True)


def look(path: Path) -> Part:
    """Return what the foot of a file says.

    Raises
    ------
    DamagedPartError
        If the file is not a whole part.
    FileNotFoundError
        If it is not there any more.
    """
    pa = arrow()
    with _damage(path):
        schema = pa.parquet.read_schema(path)
        named = _batches_of(schema, path)
        plain = schema.remove(schema.names.index(BATCH)).remove_metadata()
        return Part(path, named, plain)


def read(path: Path, columns: Sequence[str] | None = None) -> ArrowTable:
    """Return the rows of a file, checked; its metadata name its batches.

    Raises
    ------
    DamagedPartError, FileNotFoundError
        As `look`.
    """
    pa = arrow()
    with _damage(path), pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
        _batches_of(file.schema_arrow, path)
        return file.read(columns=columns, use_threads=is_merged(path))


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds.

    Attributes
    ----------
    tables : sequence of pyarrow.Table
        Rows, each batch in one table only.
    batches : frozenset of str
        Whose they are.
    damaged : mapping of Path to str
        Files that are not whole, and what is wrong with them.
    """

    tables: Sequence[ArrowTable]
    batches: frozenset[str]
    damaged: Mapping[Path, str]


def read_all(folder: Path, planned: frozenset[str], columns: Sequence[str] | None = None) -> Found:
    """Return the rows of planned batches; works while a runner saves and merges."""
    tables, damaged = _read_files(folder, planned, columns)
    seen: set[str] = set()
    kept = []
    for path in sorted(tables, key=_age):
        named = _batches_of(tables[path].schema, path)
        kept.append(_without(tables[path], seen.intersection(named)))
        seen.update(named)
    return Found(kept, planned & seen, damaged)


def read_result(path: Path, columns: Sequence[str] | None = None) -> ArrowTable | None:
    """Return what `write_result` wrote, None where it is not there."""
    pa = arrow()
    try:
        with _damage(path), pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(columns=columns)
    except FileNotFoundError:
        return None


def in_order(found: Found, batches: Sequence[str]) -> ArrowTable:
    """Return the rows of batches, in their order, without the column of the batch.

    Rows of a batch stay in the order in which they were saved; those of other batches are left
    out.
    """
    pa = arrow()
    if not found.tables:
        return pa.table({})
    bare = [table.replace_schema_metadata(None) for table in found.tables]
    # In one piece, of which rows are taken at once; from many they are gathered one by one.
    whole = pa.concat_tables(bare, promote_options="permissive").combine_chunks()
    places = pa.compute.index_in(whole[BATCH], value_set=pa.array(batches, pa.string()))
    place = pa.compute.fill_null(places, -1).to_numpy()
    order = np.argsort(place, kind="stable")
    return whole.drop_columns([BATCH]).take(pa.array(order[place[order] >= 0]))


@contextlib.contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Tell a file that is damaged from a disk or a system that fails."""
    pa = arrow()
    try:
        yield
    except (ValueError, OSError, pa.ArrowNotImplementedError) as error:
        # What the system says has a number, and says nothing of what the file holds.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DamagedPartError(f"{path} is damaged: {error}") from None


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
        raise TypeError(f"{name} must hold plain values of one type: {error}") from None
    if not (pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise TypeError(f"{name} must hold text, numbers or lists of numbers; found {kind}")
    return array


def _read_files(
    folder: Path, planned: frozenset[str], columns: Sequence[str] | None
) -> tuple[dict[Path, ArrowTable], dict[Path, str]]:
    """Return the rows of all files of a folder, and what is wrong with others."""
    tables: dict[Path, ArrowTable] = {}
    damaged: dict[Path, str] = {}
    while True:
        for path in part_paths(folder, planned):
            if path not in tables and path not in damaged:
                try:
                    tables[path] = read(path, columns)
                except DamagedPartError as error:
                    damaged[path] = str(error)
                except FileNotFoundError:
                    continue  # merged meanwhile
        # A file that was merged while the folder was listed may be in the list neither by itself
        # nor in the merged file: as long as there are new ones of these, look once more.
        if set(filter(is_merged, part_paths(folder, planned))) <= tables.keys() | damaged.keys():
            return tables, damaged


def _paths(folder: Path) -> list[Path]:
    """Return the files of a folder that could be parts, newest first."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_file()]
    except FileNotFoundError:
        return []
    paths = [folder / name for name in names if name.endswith(SUFFIX) and name[0] != "."]
    return sorted(paths, key=_age)


def _named(table: ArrowTable, batches: Sequence[str]) -> ArrowTable:
    return table.replace_schema_metadata({_BATCHES: json.dumps(list(batches))})


def _batches_of(schema: ArrowSchema, path: Path) -> tuple[str, ...]:
    """Return the batches that a file names."""
    if BATCH not in schema.names or _BATCHES not in (schema.metadata or {}):
        raise ValueError("it is not a part of a study")
    named = tuple(json.loads(schema.metadata[_BATCHES]))
    if not is_merged(path) and named != (path.stem,):
        raise ValueError(f"it holds {', '.join(named)}")
    return named


def _without(table: ArrowTable, repeated: set[str]) -> ArrowTable:
    """Return the rows of other batches."""
    pa = arrow()
    if not repeated:
        return table
    found = pa.compute.is_in(table[BATCH], value_set=pa.array(sorted(repeated), pa.string()))
    return table.filter(pa.compute.invert(found))


def _write(path: Path, table: ArrowTable, *, durable: bool) -> None:
    pa = arrow()
    with written_aside(path) as aside:
        pa.parquet.write_table(
            table,
            aside,
            compression="zstd",
            # Both cost time in a small file, and nothing reads the statistics.
            use_dictionary=durable,
            write_statistics=False,
            write_page_checksum=True,
        )
        if durable:
            # Windows flushes only what is open for writing.
            _wait_for_disk(aside, os.O_RDWR)
    if durable:
        # Its name, too. Not every file system can wait for a folder, and Windows opens none.
        with contextlib.suppress(OSError):
            _wait_for_disk(path.parent, os.O_RDONLY)


def _wait_for_disk(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _age(path: Path) -> tuple[int, str]:
    """Order paths: files of one batch by name, then merged ones, the last one first."""
    merged = _MERGED.fullmatch(path.stem)
    return (-int(merged[1]), "") if merged else (-sys.maxsize, path.name)

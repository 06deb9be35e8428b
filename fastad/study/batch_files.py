"""``BatchFolder``: the rows of one table of a study, in Parquet files of one batch or of many.

A file is written aside and renamed, so that a file with its final name is complete, unless a power
cut or another program damaged it. Each row has its task, and each file names its tasks: those of a
batch that was run at once, or of many, also some that the study does not name any more.

Files of single batches are merged now and then: 2 000 of them take 4.9 s to ask for the reasons of
failures and 19 s to read, and 36 MB; merged 0.05 s, 0.07 s and 16 kB (`pyarrow.dataset` reads the
single files in 16 s). Whatever kills a process between the writing of a merged file and the removal
of its parts leaves the rows twice, and readers drop the repeats.
"""

import contextlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fastad._core.extras import missing_extra
from fastad._core.files import written_aside
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.study.identity import is_name, is_name_of, renamed

# pyarrow ships no types.
ArrowTable: TypeAlias = Any
ArrowSchema: TypeAlias = Any

# The column that says to which task a row belongs.
TASK = "task"
_SUFFIX = ".parquet"
# Metadata of a file: its tasks; and of a result: how many rows the files beside it have.
_TASKS, _ROWS = b"fastad.tasks", b"fastad.rows"
_MERGED = re.compile(r"all-(\d+)")


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


@dataclass(frozen=True, slots=True)
class BatchRows:
    """What a folder contains.

    Attributes
    ----------
    table : pyarrow.Table
        Rows in the order of the plan; without columns where there are none.
    tasks : frozenset of str
        Whose they are.
    damaged : mapping of Path to str
        Files that are not whole, and what is wrong with them.
    """

    table: ArrowTable
    tasks: frozenset[str]
    damaged: Mapping[Path, str]


class BatchFolder:
    """The files of a table of a study.

    Parameters
    ----------
    path : Path
        The folder; reading works without it.
    planned : sequence of str
        The tasks of the table, in order; rows of others stay in their files and are not read.
    """

    def __init__(self, path: Path, planned: Sequence[str]) -> None:
        self.path = path
        self._planned = dict.fromkeys(planned)

    def file(self, batch: str) -> Path:
        """Return where the rows of a batch go."""
        return self.path / f"{batch}{_SUFFIX}"

    def files(self) -> list[Path]:
        """Return the files of batches, sorted, and behind them the merged ones."""
        paths = [path for path in self._candidates() if _is_ours(path)]
        return sorted(paths, key=lambda path: (is_merged(path), path.name))

    def other_files(self) -> list[str]:
        """Return the names of files that are not those of batches, and are left alone."""
        return sorted(path.name for path in self._candidates() if not _is_ours(path))

    def tasks_of(self, path: Path) -> tuple[set[str], ArrowSchema]:
        """Return the planned tasks and the columns of a file, all of which is read and checked.

        Raises
        ------
        DamagedFileError
            If the file is not a study's, or not complete.
        FileNotFoundError
            If it is not there any more.
        """
        schema = _read(path).schema
        with _damage(path):
            tasks = self._planned.keys() & _named_tasks(schema, path)
            return tasks, schema.remove(schema.names.index(TASK)).remove_metadata()

    def write(self, batch: str, tasks: Sequence[str], table: ArrowTable) -> None:
        """Write the rows of a batch, as many for each task: all or, after an error, nothing."""
        pa = arrow()
        column = pa.array(np.repeat(tasks, table.num_rows // len(tasks)), pa.string())
        # A power cut may damage it, which shows, and the batch runs again: waiting for the disk
        # would cost more than most batches.
        _write(
            self.file(batch),
            _name_tasks(table.append_column(TASK, column), tasks),
            sync=False,
        )

    def merge(self) -> dict[Path, str]:
        """Merge the files of single batches, and return those that are damaged."""
        pa = arrow()
        tables: dict[Path, ArrowTable] = {}
        damaged: dict[Path, str] = {}
        for path in self.files():
            if not is_merged(path):
                try:
                    tables[path] = _read(path)
                except DamagedFileError as error:
                    damaged[path] = str(error)
        if len(tables) > 1:
            numbers = (_MERGED.fullmatch(path.stem) for path in self.files())
            last = max((int(match[1]) for match in numbers if match), default=0)
            whole = pa.concat_tables(tables.values(), promote_options="permissive").combine_chunks()
            target = self.file(f"all-{last + 1}")
            tasks = set().union(*(_named_tasks(x.schema, path) for path, x in tables.items()))
            _write(target, _name_tasks(whole, sorted(tasks)), sync=True)
            for path in tables:
                # Windows keeps a file while it is read; it is merged once more then.
                with contextlib.suppress(PermissionError):
                    path.unlink(missing_ok=True)
        return damaged

    def remove(self, tasks: Collection[str]) -> None:
        """Remove the rows of tasks from all files."""
        for path in self.files():
            table = _read(path)
            named = _named_tasks(table.schema, path)
            if named.isdisjoint(tasks):
                continue
            left = sorted(named.difference(tasks))
            target = path if is_merged(path) else self.file(renamed(path.stem, left))
            if left:
                _write(target, _name_tasks(_drop_tasks(table, tasks), left), sync=True)
            if not left or target != path:
                path.unlink()

    def read(self, columns: Sequence[str] | None = None, *, with_tasks: bool = False) -> BatchRows:
        """Return all rows of planned tasks; works while a runner saves and merges.

        With ``with_tasks`` the table has the column `TASK` too.
        """
        pa = arrow()
        tables, damaged = self._read_files(None if columns is None else (TASK, *columns))
        seen: set[str] = set()
        unique = []
        for path in sorted(tables):
            tasks = _named_tasks(tables[path].schema, path)
            unique.append(_drop_tasks(tables[path], seen & tasks))
            seen |= tasks
        done = frozenset(self._planned.keys() & seen)
        if not unique:
            return BatchRows(pa.table({}), done, damaged)
        bare = [table.replace_schema_metadata(None) for table in unique]
        # In one piece, from which rows are selected at once, not one by one as from many.
        whole = pa.concat_tables(bare, promote_options="permissive").combine_chunks()
        # In the order of the plan; rows of a task stay in the order in which they were saved.
        planned = pa.array(self._planned, pa.string())
        indices = pa.compute.index_in(whole[TASK], value_set=planned)
        position = pa.compute.fill_null(indices, -1).to_numpy()
        order = np.argsort(position, kind="stable")
        table = whole if with_tasks else whole.drop_columns([TASK])
        table = _without_types_of_none(table.take(pa.array(order[position[order] >= 0])))
        return BatchRows(table, done, damaged)

    def _read_files(
        self, columns: Sequence[str] | None
    ) -> tuple[dict[Path, ArrowTable], dict[Path, str]]:
        """Return the rows of all files, and what is wrong with damaged ones."""
        tables: dict[Path, ArrowTable] = {}
        damaged: dict[Path, str] = {}
        while True:
            for path in self.files():
                if path not in tables and path not in damaged:
                    try:
                        tables[path] = _read(path, columns)
                    except DamagedFileError as error:
                        damaged[path] = str(error)
                    except FileNotFoundError:
                        continue  # merged meanwhile
            # A file that was merged while the folder was listed may be in the list neither by
            # itself nor in the merged file: as long as there are new ones of these, look again.
            if set(filter(is_merged, self.files())) <= tables.keys() | damaged.keys():
                return tables, damaged

    def _candidates(self) -> list[Path]:
        try:
            with os.scandir(self.path) as entries:
                names = [entry.name for entry in entries if entry.is_file()]
        except FileNotFoundError:
            return []
        return [self.path / name for name in names if name.endswith(_SUFFIX) and name[0] != "."]


def is_merged(path: Path) -> bool:
    """Tell whether a file is one of many batches."""
    return _MERGED.fullmatch(path.stem) is not None


def _is_ours(path: Path) -> bool:
    return is_merged(path) or is_name(path.stem)


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
    _write(path, table.replace_schema_metadata(noted).combine_chunks(), sync=True)


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
            with _damage(file):
                found = pa.parquet.read_metadata(file).num_rows
        except FileNotFoundError:
            raise DamagedFileError(f"{file} is missing") from None
        if found != n_rows:
            raise DamagedFileError(f"{file} is damaged: it has {found} rows and not {n_rows}")


def read_table(path: Path, columns: Sequence[str] | None = None) -> ArrowTable | None:
    """Return what `write_table` wrote, None where it is not there."""
    pa = arrow()
    try:
        with _damage(path), pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(columns=columns)
    except FileNotFoundError:
        return None


def _read(path: Path, columns: Sequence[str] | None = None) -> ArrowTable:
    """Return the rows of a file, checked; its metadata name its batches."""
    pa = arrow()
    with _damage(path), pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
        _named_tasks(file.schema_arrow, path)
        return file.read(columns=columns, use_threads=is_merged(path))


@contextlib.contextmanager
def _damage(path: Path) -> Iterator[None]:
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


def _name_tasks(table: ArrowTable, tasks: Sequence[str]) -> ArrowTable:
    return table.replace_schema_metadata({_TASKS: json.dumps(list(tasks))})


def _named_tasks(schema: ArrowSchema, path: Path) -> set[str]:
    """Return the tasks that a file names."""
    if TASK not in schema.names or _TASKS not in (schema.metadata or {}):
        raise ValueError("it is not a batch of a study")
    tasks: list[str] = json.loads(schema.metadata[_TASKS])
    if not is_merged(path) and not is_name_of(path.stem, tasks):
        raise ValueError(f"it contains other tasks: {', '.join(tasks)}")
    return set(tasks)


def _drop_tasks(table: ArrowTable, tasks: Iterable[str]) -> ArrowTable:
    """Return the rows of other tasks."""
    pa = arrow()
    dropped = pa.array(sorted(tasks), pa.string())
    if not len(dropped):
        return table
    return table.filter(pa.compute.invert(pa.compute.is_in(table[TASK], value_set=dropped)))


def _without_types_of_none(table: ArrowTable) -> ArrowTable:
    """Return columns of None alone without the type that rows which are not read gave them."""
    pa = arrow()
    for i, column in enumerate(table.columns):
        if 0 < column.null_count == table.num_rows and not pa.types.is_null(column.type):
            table = table.set_column(i, table.column_names[i], pa.nulls(table.num_rows))
    return table


def _write(path: Path, table: ArrowTable, *, sync: bool) -> None:
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

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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fastad.study.identity import is_name, is_name_of, renamed
from fastad.study.parquet_files import (
    TASK,
    ArrowSchema,
    ArrowTable,
    DamagedFileError,
    arrow,
    damage,
    write_parquet,
)

_SUFFIX = ".parquet"
# Metadata of a file: its tasks.
_TASKS = b"fastad.tasks"
_MERGED = re.compile(r"all-(\d+)")


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
        with damage(path):
            tasks = self._planned.keys() & _named_tasks(schema, path)
            return tasks, schema.remove(schema.names.index(TASK)).remove_metadata()

    def write(self, batch: str, tasks: Sequence[str], table: ArrowTable) -> None:
        """Write the rows of a batch, as many for each task: all or, after an error, nothing."""
        pa = arrow()
        column = pa.array(np.repeat(tasks, table.num_rows // len(tasks)), pa.string())
        # A power cut may damage it, which shows, and the batch runs again: waiting for the disk
        # would cost more than most batches.
        write_parquet(
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
            write_parquet(target, _name_tasks(whole, sorted(tasks)), sync=True)
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
                write_parquet(target, _name_tasks(_drop_tasks(table, tasks), left), sync=True)
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


def _read(path: Path, columns: Sequence[str] | None = None) -> ArrowTable:
    """Return the rows of a file, checked; its metadata name its tasks."""
    pa = arrow()
    with damage(path), pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
        _named_tasks(file.schema_arrow, path)
        return file.read(columns=columns, use_threads=is_merged(path))


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

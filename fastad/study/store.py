"""The folder of a study: what is done stays, whatever ends a run, and the next run goes on.

``study.json`` is the manifest, ``batches`` has a folder for each table with what is done so far,
and the Parquet files are the results, once all is done. One runner at a time has the lock.
"""

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from fastad._core.parameters import short_repr
from fastad._core.text_tables import some_of
from fastad.errors import InvalidInputError
from fastad.study.identity import is_name_of
from fastad.study.lock import LOCK, RUNNER, file_lock, runner_lock
from fastad.study.manifest import MANIFEST, Manifest
from fastad.study.parquet_files import (
    TASK,
    ArrowSchema,
    DamagedFileError,
    arrow,
    common_schema,
    make_table,
    write_table,
)
from fastad.study.results import (
    CURVES,
    CURVES_FILE,
    TASKS,
    TIMES_FILE,
    batch_folders,
    is_failure,
    remove_results,
    split_tasks,
    table_file,
)
from fastad.study.resumption import begin_study

# What a folder may contain before a study begins there, beside hidden files.
_HARMLESS = (LOCK, RUNNER, "report")
_LEFTOVERS = ".fastad-*"
# Errors of a disk or a quota that is full.
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
# Names that a message shows.
_MAX_NAMES = 8


class StudyStore:
    """Where a runner keeps results; `open` makes one.

    One process uses it, and one thread of that process at a time.

    Attributes
    ----------
    folder : Path
        Where it is.
    manifest : Manifest
        The study, with all versions of libraries that took part.
    note_work : callable
        Notes what is at work: by its title, since when.
    """

    note_work: Callable[[Mapping[str, str]], None]

    def __init__(self, folder: Path, manifest: Manifest, notes: Sequence[str]) -> None:
        self.folder = folder
        self.manifest = manifest
        self._notes = list(notes)
        self._folders = batch_folders(folder, manifest)
        self._table_of = {
            task: table for table in manifest.batches for task in manifest.tasks(table)
        }
        self._done: set[str] = set()
        self._schemas: dict[str, ArrowSchema] = {}
        self._lock = contextlib.ExitStack()

    @classmethod
    def open(cls, folder: str | os.PathLike[str], manifest: Manifest) -> "StudyStore":
        """Begin a study in a folder, or go on with the one that is there.

        Parameters
        ----------
        folder : path
            New, empty, or that of the same study, perhaps with other detectors or data.
        manifest : Manifest
            The study.

        Returns
        -------
        StudyStore
            A context manager; the folder is locked until it is closed.

        Raises
        ------
        InvalidInputError
            If the folder cannot be written, contains something else or another study, or another
            runner is at work there.
        MissingExtraError
            If pyarrow or filelock is not installed.
        """
        arrow(), file_lock()  # before anything is made
        root = Path(folder)
        _check_folder(root)
        with contextlib.ExitStack() as lock:
            note_work = lock.enter_context(runner_lock(root))
            store = cls(root, *begin_study(root, manifest))
            store.note_work = note_work
            store._make_folders()
            store._find_tasks()
            store._lock = lock.pop_all()
        return store

    def __enter__(self) -> "StudyStore":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the folder back."""
        self._lock.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know: other versions of libraries, damaged files."""
        return tuple(self._notes)

    def forget_failed(self) -> None:
        """Remove the tasks that failed, which are to be done again."""
        for folder in self._folders.values():
            rows = folder.read(("reason",), with_tasks=True)
            if "reason" not in rows.table.column_names:
                continue
            reasons = rows.table["reason"].to_pylist()
            tasks = rows.table[TASK].to_pylist()
            failed = {task for task, why in zip(tasks, reasons, strict=True) if is_failure(why)}
            folder.remove(failed)
            self._done -= failed

    def done(self) -> frozenset[str]:
        """Return the tasks that are done."""
        return frozenset(self._done)

    def save(self, batch: str, tasks: Sequence[str], rows: Mapping[str, Sequence[Any]]) -> None:
        """Keep the rows of a batch, whose tasks are done then.

        Parameters
        ----------
        batch : str
            Its name.
        tasks : sequence of str
            Its tasks, of those planned.
        rows : mapping of str to sequence
            A column for each name; the same columns for all batches of a table, but for those of
            curves, which may be left out. As many rows for each task.

        Raises
        ------
        InvalidInputError, TypeError
            If an argument is not as described.
        OSError
            If it cannot be written, for example to a full disk; nothing is left of it then.
        """
        if not is_name_of(batch, tasks):
            raise InvalidInputError(
                f"batch must be the name of its tasks; found {short_repr(batch)}", argument="batch"
            )
        for task in tasks:
            if task not in self._table_of:
                raise InvalidInputError(
                    f"tasks must be of those planned; found {short_repr(task)}", argument="tasks"
                )
            if task in self._done:
                raise InvalidInputError(
                    f"tasks must not be done already; found {task!r}", argument="tasks"
                )
        table = make_table(rows, "rows")
        if table.num_rows % len(tasks):
            raise InvalidInputError(
                f"rows must be as many for each of {len(tasks)} tasks; found {table.num_rows}",
                argument="rows",
            )
        target = self._table_of[tasks[0]]
        schema = self._common_schema(target, table.schema, "rows")
        # In the same order in all batches.
        names = set(table.column_names)
        table = table.select([name for name in schema.names if name in names])
        with _on_full_disk(self.folder):
            self._folders[target].write(batch, tasks, table)
        self._schemas[target] = schema
        self._done.update(tasks)

    def compact(self) -> None:
        """Merge the files of single batches, of which a study may have very many.

        Takes about 2 ms a file; worth it every few hundred batches.
        """
        damaged: dict[Path, str] = {}
        for folder in self._folders.values():
            damaged |= folder.merge()
        if damaged:
            for path, error in damaged.items():
                self._discard(path, error)
            self._find_tasks()

    def remove_results(self) -> None:
        """Remove the files of the results, which lack what is to be done."""
        remove_results(self.folder, list(self._folders))

    def finish(self) -> None:
        """Write all rows, in the order of the plan, to the files of the results.

        Their bytes depend on the rows and the version of pyarrow only; times have a file of their
        own, with the columns that distinguish tasks.

        Raises
        ------
        InvalidInputError
            If a batch is not done.
        OSError
            If they cannot be written; nothing is left of the file that failed.
        """
        self._refuse_unfinished()
        saved = {name: folder.read() for name, folder in self._folders.items()}
        self._done = set().union(*(rows.tasks for rows in saved.values()))
        # What the foot of a file promised may turn out to be damaged when all of it is read.
        for rows in saved.values():
            for path, error in rows.damaged.items():
                self._discard(path, error)
        self._refuse_unfinished()
        with _on_full_disk(self.folder):
            for name, rows in saved.items():
                table = rows.table
                beside: dict[str, int] = {}
                if name == TASKS:
                    parts = split_tasks(table)
                    for file, part in ((TIMES_FILE, parts.times), (CURVES_FILE, parts.curves)):
                        if part.num_rows:
                            write_table(self.folder / file, part)
                            beside[file] = part.num_rows
                    table = parts.tasks
                # Last: where it exists, the other files are complete.
                write_table(table_file(self.folder, name), table, beside)

    def _make_folders(self) -> None:
        """Make the folders of batches, and remove what a killed run was writing."""
        paths = [folder.path for folder in self._folders.values()]
        try:
            for path in paths:
                path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise InvalidInputError(
                f"folder must be that of a study; {error.filename} is a file",
                argument="folder",
            ) from None
        for path in (self.folder, *paths):
            for leftover in path.glob(_LEFTOVERS):
                leftover.unlink(missing_ok=True)
        for folder in self._folders.values():
            others = folder.other_files()
            if others:
                self._notes.append(
                    f"{folder.path} has files of no batch, which are left alone: "
                    f"{some_of(others, _MAX_NAMES)}"
                )

    def _find_tasks(self) -> None:
        """Learn what is done, and remove what is damaged."""
        self._done = set()
        for table, folder in self._folders.items():
            for path in folder.files():
                try:
                    tasks, schema = folder.tasks_of(path)
                except DamagedFileError as error:
                    self._discard(path, str(error))
                else:
                    self._schemas[table] = self._common_schema(table, schema, str(path))
                    self._done |= tasks

    def _discard(self, path: Path, error: str) -> None:
        """Remove a damaged file; its tasks run again."""
        path.unlink(missing_ok=True)
        self._notes.append(f"{error}; the file is removed, and its tasks are to be done again")

    def _common_schema(self, table: str, schema: ArrowSchema, name: str) -> ArrowSchema:
        """Return the columns of all that is there and of a table."""
        return common_schema(self._schemas.get(table, schema), schema, name, optional=CURVES)

    def _refuse_unfinished(self) -> None:
        missing = [
            name
            for batches in self.manifest.batches.values()
            for name, tasks in batches.items()
            if not self._done.issuperset(tasks)
        ]
        if missing:
            raise InvalidInputError(
                f"all {self.manifest.n_batches} batches must be done; {len(missing)} are not: "
                f"{some_of(missing, _MAX_NAMES)}"
            )


@contextlib.contextmanager
def _on_full_disk(folder: Path) -> Iterator[None]:
    """Name the folder if there is no room, and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise OSError(
            error.errno,
            f"{error.strerror} in {folder}: what is done is saved; make room, and run the same "
            "study again",
        ) from None


def _check_folder(root: Path) -> None:
    """Make a folder and try to write there, unless it is that of something else.

    Raises
    ------
    InvalidInputError
        If it cannot be written, or contains something else.
    """
    try:
        _refuse_others(root)
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        raise InvalidInputError(
            f"folder must be one that can be written; {root}: {error.strerror}",
            argument="folder",
        ) from None


def _refuse_others(root: Path) -> None:
    """Refuse a folder of something else."""
    try:
        names = sorted(os.listdir(root))
    except FileNotFoundError:
        return
    other_names = [name for name in names if name not in _HARMLESS and name[0] != "."]
    if MANIFEST not in names and other_names:
        raise InvalidInputError(
            f"folder must be new, empty or that of a study; {root} has no {MANIFEST} and contains "
            f"{some_of(other_names, _MAX_NAMES)}",
            argument="folder",
        )

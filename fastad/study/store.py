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
from fastad.study.batch_files import (
    BATCH,
    ArrowSchema,
    DamagedFileError,
    arrow,
    common_schema,
    is_merged,
    make_table,
    write_table,
)
from fastad.study.lock import LOCK, RUNNER, file_lock, runner_lock
from fastad.study.manifest import MANIFEST, Manifest, begin_study
from fastad.study.results import (
    CURVES,
    CURVES_FILE,
    TASKS,
    TIMES_FILE,
    batch_folders,
    is_failure,
    split_tasks,
    table_file,
)

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
            batch: table for table, batches in manifest.batches.items() for batch in batches
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
            New, empty, or that of the same study.
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
            for table in store._folders:
                store._find_batches(table)
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
        """Remove the batches with tasks that failed, which are to be done again."""
        for folder in self._folders.values():
            rows = folder.read(("reason",), with_batches=True)
            if "reason" not in rows.table.column_names:
                continue
            reasons = rows.table["reason"].to_pylist()
            names = rows.table[BATCH].to_pylist()
            failed = {n for n, reason in zip(names, reasons, strict=True) if is_failure(reason)}
            folder.remove(failed)
            self._done -= failed

    def done(self) -> frozenset[str]:
        """Return the ids of the batches that are done."""
        return frozenset(self._done)

    def save(self, batch: str, rows: Mapping[str, Sequence[Any]]) -> None:
        """Keep the rows of a batch, which is done then.

        Parameters
        ----------
        batch : str
            Its id, one of those planned.
        rows : mapping of str to sequence
            A column for each name; the same columns for all batches of a table, but for those of
            curves, which may be left out.

        Raises
        ------
        InvalidInputError, TypeError
            If an argument is not as described.
        OSError
            If it cannot be written, for example to a full disk; nothing is left of it then.
        """
        if batch not in self._table_of:
            raise InvalidInputError(
                f"batch must be one of those planned; found {short_repr(batch)}",
                argument="batch",
            )
        if batch in self._done:
            raise InvalidInputError(
                f"batch must not be done already; found {batch!r}", argument="batch"
            )
        table = make_table(rows, "rows")
        target = self._table_of[batch]
        schema = self._common_schema(target, table.schema, "rows")
        # In the same order in all batches.
        names = set(table.column_names)
        table = table.select([name for name in schema.names if name in names])
        with _on_full_disk(self.folder):
            self._folders[target].write(batch, table)
        self._schemas[target] = schema
        self._done.add(batch)

    def compact(self) -> None:
        """Merge the files of single batches, of which a study may have very many.

        Takes about 2 ms a file; worth it every few hundred batches.
        """
        for folder in self._folders.values():
            for path, error in folder.merge().items():
                self._discard(path, error)

    def remove_results(self) -> None:
        """Remove the files of the results, which lack what is to be done."""
        # That of the tasks first: where it exists, the other files are complete.
        files = [table_file(self.folder, TASKS), self.folder / CURVES_FILE]
        files += [self.folder / TIMES_FILE]
        files += [table_file(self.folder, table) for table in self._folders]
        for file in files:
            file.unlink(missing_ok=True)

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
        found = {name: folder.read() for name, folder in self._folders.items()}
        self._done = set().union(*(rows.batches for rows in found.values()))
        # What the foot of a file promised may turn out to be damaged when all of it is read.
        for rows in found.values():
            for path, error in rows.damaged.items():
                self._discard(path, error)
        self._refuse_unfinished()
        with _on_full_disk(self.folder):
            for name, rows in found.items():
                table = rows.table
                if name == TASKS:
                    parts = split_tasks(table)
                    for file, part in ((TIMES_FILE, parts.times), (CURVES_FILE, parts.curves)):
                        if part.num_rows:
                            write_table(self.folder / file, part)
                    table = parts.tasks
                # Last: where it exists, the other files are complete.
                write_table(table_file(self.folder, name), table)

    def _make_folders(self) -> None:
        """Make the folders of batches, and remove what a killed run was writing."""
        folders = [folder.path for folder in self._folders.values()]
        try:
            for folder in folders:
                folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise InvalidInputError(
                f"folder must be that of a study; {error.filename} is a file",
                argument="folder",
            ) from None
        for folder in (self.folder, *folders):
            for path in folder.glob(_LEFTOVERS):
                path.unlink(missing_ok=True)

    def _find_batches(self, table: str) -> None:
        """Learn what is done, and remove what is damaged."""
        folder = self._folders[table]
        for path in folder.files():
            try:
                batches, schema = folder.batches_of(path)
            except DamagedFileError as error:
                self._discard(path, str(error))
            else:
                self._schemas[table] = self._common_schema(table, schema, str(path))
                self._done |= batches
        others = folder.other_files()
        if others:
            self._notes.append(
                f"{folder.path} has files of no batch, which are left alone: "
                f"{some_of(others, _MAX_NAMES)}"
            )

    def _discard(self, path: Path, error: str) -> None:
        """Remove a damaged file; its batches run again."""
        if not is_merged(path):
            self._done.discard(path.stem)
        path.unlink(missing_ok=True)
        self._notes.append(f"{error}; the file is removed, and its batches are to be done again")

    def _common_schema(self, table: str, schema: ArrowSchema, name: str) -> ArrowSchema:
        """Return the columns of all that is there and of a table."""
        return common_schema(self._schemas.get(table, schema), schema, name, optional=CURVES)

    def _refuse_unfinished(self) -> None:
        missing = [batch for batch in self.manifest.all_batches if batch not in self._done]
        if missing:
            raise InvalidInputError(
                f"all {len(self._table_of)} batches must be done; {len(missing)} are not: "
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

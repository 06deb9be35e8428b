"""The folder of a study: results stay, whatever ends a run, and the next run resumes it.

``study.json`` is the manifest, ``done.log`` has the tasks that were ever done, and the Parquet
files are the results, once all is done. One runner at a time has the lock.
"""

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from fastad._core.text_tables import some_of
from fastad.errors import InvalidInputError
from fastad.study.files import (
    LOCK,
    LOG,
    RUNNER,
    TaskRows,
    append_tasks,
    arrow,
    file_lock,
    read_tasks,
    runner_lock,
    write_table,
)
from fastad.study.manifest import (
    MANIFEST,
    MAX_DIFFERENCES,
    Manifest,
    changes,
    conflicts,
    read_manifest,
    version_changes,
    write_manifest,
)
from fastad.study.results import (
    CURVES_FILE,
    TASKS,
    TIMES_FILE,
    is_failure,
    remove_results,
    rows_of,
    split_tasks,
    table_file,
)

# Files that a folder may contain before a study begins there, beside hidden files.
_HARMLESS = (LOCK, RUNNER, "report")
_LEFTOVERS = ".fastad-*"
# Errors of a disk or a quota that is full.
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
# Names that a message shows.
_MAX_NAMES = 8

WorkNote: TypeAlias = Callable[[Mapping[str, str]], None]


class StudyStore:
    """Results of a runner on disk; `open_store` makes one.

    One process uses it, and one thread of that process at a time. ``manifest`` has all versions of
    libraries that took part, ``notes`` are for the user, ``done`` are the tasks that are done, and
    ``note_work`` writes the work in progress: start by title.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, notes: list[str], note_work: WorkNote
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.notes = notes
        self.note_work = note_work
        self._planned = {task for table in manifest.batches for task in manifest.tasks(table)}
        self.done: set[str] = self._read().keys() & self._planned

    def forget_failed(self) -> None:
        """Remove the tasks that failed, which are to be done again."""
        failed = [
            task
            for task, rows in self._read().items()
            if task in self._planned and any(map(is_failure, rows.values("reason")))
        ]
        if failed:
            with _on_full_disk(self.folder):
                append_tasks(self.folder, failed, {})
            self.done.difference_update(failed)

    def save(self, tasks: Sequence[str], rows: Mapping[str, Sequence[Any]]) -> None:
        """Keep the rows of planned tasks of one table, which are done then.

        All tasks of a table have as many rows, in the same columns, but for columns of curves,
        which may be left out. After an OSError, for example of a full disk, nothing is left of
        them.
        """
        with _on_full_disk(self.folder):
            append_tasks(self.folder, tasks, rows)
        self.done.update(tasks)

    def remove_results(self) -> None:
        """Remove the files of the results, which lack the pending tasks."""
        remove_results(self.folder, list(self.manifest.batches))

    def finish(self) -> None:
        """Write all rows, in the order of the plan, to the files of the results.

        Their bytes depend on the rows and the version of pyarrow only; times have a file of their
        own, with the columns that distinguish tasks. It is an `InvalidInputError` if a batch is not
        done; after an OSError nothing is left of the file that failed.
        """
        done = self._read()
        self.done = done.keys() & self._planned
        missing = self.manifest.n_batches - self.manifest.n_done(done)
        if missing:
            raise InvalidInputError(
                f"all {self.manifest.n_batches} batches must be done; {missing} are not"
            )
        with _on_full_disk(self.folder):
            for name in self.manifest.batches:
                table = rows_of(self.manifest, name, done)
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

    def _read(self) -> dict[str, TaskRows]:
        """Return the rows of all tasks that were ever done; remove damaged batches."""
        with _on_full_disk(self.folder):
            done, n_damaged = read_tasks(self.folder, repair=True)
        if n_damaged:
            self.notes.append(
                f"{self.folder / LOG} is damaged: {n_damaged} of its batches "
                "cannot be read; their tasks are to be done again"
            )
        return done


@contextlib.contextmanager
def open_store(folder: str | os.PathLike[str], manifest: Manifest) -> Iterator[StudyStore]:
    """Begin a study in a folder, or go on with the one that is there; lock the folder meanwhile.

    The folder is new, empty, or has the same study, perhaps with other detectors or data. It is an
    `InvalidInputError` if it cannot be written, contains something else or another study, or
    another runner is at work there.
    """
    arrow(), file_lock()  # before anything is made
    root = Path(folder)
    _check_folder(root)
    with runner_lock(root) as note_work:
        for leftover in root.glob(_LEFTOVERS):  # unfinished files of a killed run
            leftover.unlink(missing_ok=True)
        yield StudyStore(root, *_begin_study(root, manifest), note_work)


def _begin_study(root: Path, manifest: Manifest) -> tuple[Manifest, list[str]]:
    """Write the manifest of a new study, or resume the one that is there; with notes to the user.

    Common tasks are not run again, new ones are, and the results contain the present tasks alone;
    saved rows of other tasks are left in the folder, for a configuration that names them again.
    """
    old = read_manifest(root)
    if old is None:
        write_manifest(root, manifest)
        return manifest, []
    differences = conflicts(manifest, old)
    if differences:
        raise InvalidInputError(
            f"folder must be new or contain the same study; {root} contains another: "
            + "; ".join(differences[:MAX_DIFFERENCES])
            + (f"; and {more} more" if (more := len(differences) - MAX_DIFFERENCES) > 0 else "")
        )
    notes = [
        f"{change}: earlier results that depend on it do not count"
        for change in changes(manifest, old)
    ]
    other_versions = version_changes(manifest.versions, old.versions)
    later = list(old.later_versions)
    if other_versions and manifest.versions not in later:
        later.append(manifest.versions)
    # Libraries that only new detectors need have no other version.
    versions = {**manifest.versions, **old.versions}
    merged = replace(manifest, versions=versions, later_versions=later, created=old.created)
    if merged.batches != old.batches:
        # First: the files that a reader takes for the results must match the manifest.
        remove_results(root, [*old.batches, *merged.batches])
    if merged.to_dict() != old.to_dict():
        write_manifest(root, merged)
    return merged, notes + other_versions


@contextlib.contextmanager
def _on_full_disk(folder: Path) -> Iterator[None]:
    """Name the folder if there is no room, and a remedy."""
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
    """Make a folder and try to write there, unless it contains something else."""
    try:
        _refuse_others(root)
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        raise InvalidInputError(
            f"folder must be one that can be written; {root}: {error.strerror}"
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
            f"folder must be new, empty or contain a study; {root} has no {MANIFEST} and contains "
            f"{some_of(other_names, _MAX_NAMES)}"
        )

"""The folder of a study: what is done stays, whatever ends a run, and the next run goes on."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from fastad._core.parameters import short_repr
from fastad._core.text_tables import some_of
from fastad.errors import InvalidInputError
from fastad.study.folder import CURVES, GOIX, PARTS, RESULTS, TIMES, TIMES_FILE, begin, check_folder
from fastad.study.manifest import Manifest
from fastad.study.part_files import (
    LEFTOVERS,
    ArrowSchema,
    DamagedPartError,
    arrow,
    common_schema,
    in_order,
    is_merged,
    look,
    next_merged_path,
    part_path,
    part_paths,
    read,
    read_all,
    strange_files,
    table_of,
    write_batch,
    write_merged,
    write_result,
)
from fastad.study.runner_lock import file_lock, runner_lock
from fastad.study.saved import StudyStatus, read_study, study_status
from fastad.study.tables import KEYS, ArrowTable

__all__ = ["StudyStatus", "StudyStore", "read_study", "study_status"]

# Names that a message shows.
_NAMED = 8


class StudyStore:
    """Where a runner keeps what it finds; `open` makes one.

    One process holds it, and one thread of it at a time.

    Attributes
    ----------
    folder : Path
        Where it is.
    manifest : Manifest
        The study, with all versions of libraries that took part.
    """

    def __init__(self, folder: Path, manifest: Manifest, remarks: Sequence[str]) -> None:
        self.folder = folder
        self.manifest = manifest
        self._remarks = list(remarks)
        self._planned = frozenset(manifest.batches)
        self._done: dict[str, set[str]] = {kind: set() for kind in RESULTS}
        self._schemas: dict[str, ArrowSchema] = {}
        self._held = contextlib.ExitStack()

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
            If the folder cannot be written, holds something else or another study, or another
            runner is at work there.
        MissingExtraError
            If pyarrow or filelock is not installed.
        """
        arrow(), file_lock()  # before anything is made
        root = Path(folder)
        check_folder(root)
        with contextlib.ExitStack() as held:
            held.enter_context(runner_lock(root))
            store = cls(root, *begin(root, manifest))
            store._make_folders()
            store._find_parts()
            store._held = held.pop_all()
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
        self._held.close()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know: other versions of libraries, damaged files."""
        return tuple(self._remarks)

    def done(self) -> frozenset[str]:
        """Return the ids of the batches that are done."""
        return frozenset(self._done[PARTS] | self._done[GOIX])

    def save(
        self,
        batch: str,
        rows: Mapping[str, Sequence[Any]],
        *,
        curves: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        """Keep the rows of a batch, which is done then.

        Parameters
        ----------
        batch : str
            Its id, one of those planned.
        rows : mapping of str to sequence
            A column for each name; the same columns for all batches.
        curves : mapping of str to sequence, optional
            Likewise, where curves are kept.

        Raises
        ------
        InvalidInputError, TypeError
            If an argument is not as described.
        OSError
            If it cannot be written, for example to a full disk; nothing is left of it then.
        """
        self._check_batch(batch)
        tables = {} if curves is None else {CURVES: self._checked(CURVES, curves, "curves")}
        # Last: a batch is done as soon as they are there.
        tables[PARTS] = self._checked(PARTS, rows, "rows")
        try:
            for kind, table in tables.items():
                self._write(kind, batch, table)
        except BaseException:
            # Ctrl-C may come when the rows are there already, whose curves must stay.
            if not part_path(self.folder / PARTS, batch).exists():
                part_path(self.folder / CURVES, batch).unlink(missing_ok=True)
            raise

    def save_goix(self, batch: str, rows: Mapping[str, Sequence[Any]]) -> None:
        """Keep the rows of a batch of goix's protocol, as `GoixBenchmark.to_columns` gives them.

        Raises
        ------
        InvalidInputError, TypeError, OSError
            As `save`.
        """
        self._check_batch(batch)
        self._write(GOIX, batch, self._checked(GOIX, rows, "rows"))

    def compact(self) -> None:
        """Merge the files of single batches, of which a study may have very many.

        Takes about 2 ms a file; worth it every few hundred batches.
        """
        # Curves first: if they are damaged, the rows of their batch have to go too.
        for kind in (CURVES, PARTS, GOIX):
            tables: dict[Path, ArrowTable] = {}
            for path in part_paths(self.folder / kind, self._planned):
                if not is_merged(path):
                    try:
                        tables[path] = read(path)
                    except DamagedPartError as error:
                        self._discard(kind, path, str(error))
            if len(tables) > 1:
                names = [path.stem for path in tables]
                write_merged(next_merged_path(self.folder / kind), tables.values(), names)
                for path in tables:
                    # Windows keeps a file that somebody reads; it is merged once more then.
                    with contextlib.suppress(PermissionError):
                        path.unlink(missing_ok=True)

    def finish(self) -> None:
        """Write all rows, in the order of the plan, to the files of the results.

        Their bytes depend on the rows and the version of pyarrow only; times have a file of their
        own, with the columns that tell tasks from each other.

        Raises
        ------
        InvalidInputError
            If a batch is not done.
        OSError
            If they cannot be written; nothing is left of the file that failed.
        """
        self._refuse_unfinished()
        found = {kind: read_all(self.folder / kind, self._planned) for kind in RESULTS}
        for kind, rows in found.items():
            self._done[kind] = set(rows.batches)
        # What the foot of a file promised may turn out to be damaged when all of it is read.
        for kind, rows in found.items():
            for path, error in rows.damaged.items():
                self._discard(kind, path, error)
        self._refuse_unfinished()
        for kind, rows in found.items():
            path = self.folder / RESULTS[kind]
            if rows.batches:
                table = in_order(rows, self.manifest.batches)
                if kind == PARTS:
                    table = self._without_times(table)
                write_result(path, table)
            else:
                path.unlink(missing_ok=True)

    def _without_times(self, table: ArrowTable) -> ArrowTable:
        """Write the times of tasks, and return what else there is of them."""
        times = [name for name in TIMES if name in table.column_names]
        keys = [name for name in KEYS if name in table.column_names]
        if times:
            write_result(self.folder / TIMES_FILE, table.select([*keys, *times]))
        return table.drop_columns(times)

    def _make_folders(self) -> None:
        """Make the folders of parts, and remove what a killed run was writing."""
        try:
            for kind in RESULTS:
                (self.folder / kind).mkdir(exist_ok=True)
        except FileExistsError as error:
            raise InvalidInputError(
                f"folder must be that of a study; {error.filename} is a file",
                argument="folder",
            ) from None
        for folder in (self.folder, *(self.folder / kind for kind in RESULTS)):
            for path in folder.glob(LEFTOVERS):
                path.unlink(missing_ok=True)

    def _find_parts(self) -> None:
        """Learn what is done, and remove what is damaged."""
        for kind in RESULTS:
            folder = self.folder / kind
            for path in part_paths(folder, self._planned):
                try:
                    part = look(path)
                except DamagedPartError as error:
                    self._discard(kind, path, str(error))
                else:
                    self._schemas[kind] = self._fitting(kind, part.schema, str(path))
                    self._done[kind].update(self._planned.intersection(part.batches))
            strange = strange_files(folder, self._planned)
            if strange:
                self._remarks.append(
                    f"{folder} holds files of no batch, which are left alone: "
                    f"{some_of(strange, _NAMED)}"
                )

    def _discard(self, kind: str, path: Path, error: str) -> None:
        """Remove a damaged file; its batches run again."""
        lost = "its batches are to be done again"
        if kind == CURVES and is_merged(path):
            # Whose they were is not known, and their rows are merged too.
            lost = "curves are lost"
        elif not is_merged(path):
            # Curves go with the rows of their batch, and last: they tell that it has some.
            part_path(self.folder / PARTS, path.stem).unlink(missing_ok=True)
            for done in self._done.values():
                done.discard(path.stem)
        path.unlink(missing_ok=True)
        self._remarks.append(f"{error}; the file is removed, and {lost}")

    def _check_batch(self, batch: str) -> None:
        if batch not in self._planned:
            raise InvalidInputError(
                f"batch must be one of those planned; found {short_repr(batch)}",
                argument="batch",
            )
        if batch in self._done[PARTS] or batch in self._done[GOIX]:
            raise InvalidInputError(
                f"batch must not be done already; found {batch!r}", argument="batch"
            )

    def _checked(self, kind: str, columns: Mapping[str, Sequence[Any]], name: str) -> ArrowTable:
        """Return columns as a table that fits to those that are there."""
        table = table_of(columns, name)
        schema = self._fitting(kind, table.schema, name)
        return table.select(schema.names)

    def _fitting(self, kind: str, schema: ArrowSchema, name: str) -> ArrowSchema:
        """Return the columns of all that is there and of a table."""
        return common_schema(self._schemas.get(kind, schema), schema, name)

    def _write(self, kind: str, batch: str, table: ArrowTable) -> None:
        write_batch(part_path(self.folder / kind, batch), table, batch)
        self._schemas[kind] = self._fitting(kind, table.schema, kind)
        self._done[kind].add(batch)

    def _refuse_unfinished(self) -> None:
        done = self.done()
        missing = [batch for batch in self.manifest.batches if batch not in done]
        if missing:
            raise InvalidInputError(
                f"all {len(self._planned)} batches must be done; {len(missing)} are not: "
                f"{some_of(missing, _NAMED)}"
            )

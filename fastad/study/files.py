"""Files of a study's folder: the lock, the log of the tasks that are done, and Parquet tables.

A process that is killed while it writes the log leaves a line without an end, and damage breaks the
checksum of a line; either is left out, and its tasks run again. Readers need no lock, nor a folder
that can be written, and the log may be on a network.

A batch of 20 tasks is appended in 1.3 ms; a Parquet file of its own takes 21 ms, and SQLite with a
row for each task 3 ms and four times the space. All of 40 000 tasks are read in 3 s.
"""

import base64
import contextlib
import json
import os
import socket
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fastad._core.extras import import_extra
from fastad._core.files import written_aside
from fastad.errors import InvalidInputError

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK = "study.lock"
# The process that has the lock; a file beside it, as Windows prevents reading a locked file.
RUNNER = "study.runner.json"
# Longer than `active_runner` takes to try a lock.
_PATIENCE_S = 0.2
LOG = "done.log"
# pyarrow ships no types.
ArrowTable: TypeAlias = Any

# Metadata of a result: how many rows the files beside it have, and the checksum of the file, in
# which it counts as blank. Pages have checksums of their own, names and types of columns have none.
_ROWS, _CHECKSUM = b"fastad.rows", b"fastad.crc32"
_BLANK = b"00000000"


def file_lock() -> "type[BaseFileLock]":
    """Return the lock of filelock, which a study needs and the rest of fastad does not."""
    lock: type[BaseFileLock] = import_extra("filelock", "a study", extra="study").FileLock
    return lock


@contextlib.contextmanager
def runner_lock(folder: Path) -> Iterator[Callable[[Mapping[str, str]], None]]:
    """Hold the lock of a folder, which the system gives back however the process ends.

    Yields a function that writes the work in progress: start by title. The note of a runner that is
    killed stays. Another runner is an `InvalidInputError`.
    """
    lock = _lock(folder, _PATIENCE_S)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock)
        except TimeoutError:
            raise InvalidInputError(
                f"folder must not be in use; {_runner_note(folder)} is at work in {folder}"
            ) from None
        except OSError as error:
            raise InvalidInputError(
                f"folder must be one that can be locked; {folder}: {error.strerror}"
            ) from None
        runner = folder / RUNNER
        stack.callback(runner.unlink, missing_ok=True)
        values = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }

        def note(work: Mapping[str, str]) -> None:
            with written_aside(runner) as aside:
                aside.write_text(json.dumps({**values, "work": dict(work)}), encoding="utf-8")

        note({})
        yield note


def active_runner(folder: Path) -> str | None:
    """Return the process that works in a folder; None where there is none."""
    if not (folder / LOCK).exists():
        return None
    try:
        with _lock(folder, 0):
            return None
    except TimeoutError:
        return _runner_note(folder)
    except OSError:
        # Somebody else's folder, whose lock cannot be tried: its note is all there is.
        return _runner_note(folder) if (folder / RUNNER).exists() else None


def noted_work(folder: Path) -> dict[str, str]:
    """Return the start of each work in progress in a folder, or when its runner was killed."""
    try:
        work = json.loads((folder / RUNNER).read_bytes())["work"]
        return {str(title): str(since) for title, since in work.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _lock(folder: Path, patience_s: float) -> "BaseFileLock":
    # Not bound to a thread: one thread may open a store and another close it.
    return file_lock()(folder / LOCK, timeout=patience_s, thread_local=False)


def _runner_note(folder: Path) -> str:
    """Return the process that has noted that it works in a folder."""
    try:
        values = json.loads((folder / RUNNER).read_bytes())
        return f"process {values['pid']} on {values['host']} (since {values['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        # The file is being written or removed.
        return "another runner"


class TaskRows(NamedTuple):
    """The rows of a task: a part of the columns that its batch has."""

    columns: Mapping[str, Sequence[Any]]
    start: int
    stop: int

    def values(self, name: str) -> Sequence[Any]:
        """Return the values of a column, None where the batch has none."""
        if name not in self.columns:
            return [None] * (self.stop - self.start)
        return self.columns[name][self.start : self.stop]


def append_tasks(root: Path, tasks: Sequence[str], rows: Mapping[str, Sequence[Any]]) -> None:
    """Append the rows of tasks, as many for each: all, or after an error nothing.

    Without columns the tasks are to be done again.
    """
    path = root / LOG
    content = json.dumps([list(tasks), dict(rows)]).encode()
    size = path.stat().st_size if path.exists() else 0
    try:
        # A power cut may lose the last lines, which run again: waiting for the disk would cost
        # more than most batches.
        with path.open("ab") as file:
            file.write(base64.b64encode(zlib.compress(content, 1)) + b"\n")
    except BaseException:
        if path.exists():
            os.truncate(path, size)
        raise


def read_tasks(root: Path, *, repair: bool = False) -> tuple[dict[str, TaskRows], int]:
    """Return the rows of each task that is done, and how many lines are damaged.

    With ``repair`` damaged lines are removed, and one without an end; for the runner alone.
    """
    path = root / LOG
    content = path.read_bytes() if path.exists() else b""
    done: dict[str, TaskRows] = {}
    whole = []
    # Without the text after the last end of a line: it is being written, or was not finished.
    lines = content.split(b"\n")[:-1]
    for line in lines:
        try:
            tasks, columns = json.loads(zlib.decompress(base64.b64decode(line, validate=True)))
        except (ValueError, zlib.error):
            continue
        whole.append(line + b"\n")
        if columns:
            n = len(next(iter(columns.values()))) // len(tasks)
            for i, task in enumerate(tasks):
                done[task] = TaskRows(columns, n * i, n * (i + 1))
        else:
            done = {task: rows for task, rows in done.items() if task not in tasks}
    repaired = b"".join(whole)
    if repair and repaired != content:
        with written_aside(path) as aside:
            aside.write_bytes(repaired)
    return done, len(lines) - len(whole)


def arrow() -> Any:
    """Return pyarrow, which a study needs and the rest of fastad does not."""
    parts = ("pyarrow.compute", "pyarrow.parquet", "pyarrow")
    return [import_extra(part, "a study", extra="study") for part in parts][-1]


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
    noted = {_ROWS: json.dumps(beside)} if beside else {}
    with written_aside(path) as aside:
        pa.parquet.write_table(
            table.replace_schema_metadata({**noted, _CHECKSUM: _BLANK}),
            aside,
            compression="zstd",
            write_statistics=False,  # which nothing reads
            write_page_checksum=True,
        )
        _write_checksum(aside)
        # Windows flushes only files that are open for writing.
        _sync(aside, os.O_RDWR)
    # Its name, too. Not every file system can wait for a folder, and Windows opens none.
    with contextlib.suppress(OSError):
        _sync(path.parent, os.O_RDONLY)


def check_beside(path: Path, table: ArrowTable) -> None:
    """Check that the files are there which a table that was read from a file needs beside it."""
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
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    at = _checksum_at(content)
    if content[at : at + len(_BLANK)] != _checksum(content, at):
        raise DamagedFileError(f"{path} is damaged: its checksum is another")
    source = pa.BufferReader(content)
    with damage(path), pa.parquet.ParquetFile(source, page_checksum_verification=True) as file:
        # Arrow's threads have aborted a process that ended just after they had started.
        return file.read(columns=columns, use_threads=False)


def _write_checksum(path: Path) -> None:
    content = path.read_bytes()
    at = _checksum_at(content)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(_checksum(content, at))


def _checksum_at(content: bytes) -> int:
    """Return where a file has its checksum: behind the key, and type and length of the value."""
    return content.rfind(_CHECKSUM) + len(_CHECKSUM) + 2


def _checksum(content: bytes, at: int) -> bytes:
    blank = zlib.crc32(_BLANK, zlib.crc32(content[:at]))
    return b"%08x" % zlib.crc32(content[at + len(_BLANK) :], blank)


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

"""One runner at a time in a folder, and who it is."""

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from fastad._core.extras import missing_extra
from fastad._core.files import written_aside
from fastad.errors import InvalidInputError

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK = "study.lock"
# The process that has the lock; a file beside it, as Windows prevents reading a locked file.
RUNNER = "study.runner.json"
# Longer than `active_runner` takes to try a lock.
_PATIENCE_S = 0.2


def file_lock() -> "type[BaseFileLock]":
    """Return the lock of filelock, which a study needs and the rest of fastad does not."""
    try:
        from filelock import FileLock
    except ModuleNotFoundError:
        raise missing_extra("a study", "filelock", extra="study") from None
    return FileLock


@contextlib.contextmanager
def runner_lock(folder: Path) -> Iterator[Callable[[Mapping[str, str]], None]]:
    """Hold the lock of a folder, which the system gives back however the process ends.

    Yields
    ------
    callable
        Writes the work in progress: start by title. The note of a runner that is killed stays.

    Raises
    ------
    InvalidInputError
        If another runner has it.
    """
    lock = _lock(folder, _PATIENCE_S)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock)
        except TimeoutError:
            raise InvalidInputError(
                f"folder must not be in use; {_runner_note(folder)} is at work in {folder}",
                argument="folder",
            ) from None
        except OSError as error:
            raise InvalidInputError(
                f"folder must be one that can be locked; {folder}: {error.strerror}",
                argument="folder",
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
    """Return who is at work in a folder; None where nobody is."""
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
    """Return who has noted that it is at work."""
    try:
        values = json.loads((folder / RUNNER).read_bytes())
        return f"process {values['pid']} on {values['host']} (since {values['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        # It is being written or removed.
        return "another runner"

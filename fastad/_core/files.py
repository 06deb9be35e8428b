"""Files that are whole or not there, and files and folders that are removed when a block ends.

The latter also where SIGTERM ends the process. If SIGKILL leaves a folder, the next process that
makes one of the same name there removes it.
"""

import contextlib
import errno
import hashlib
import os
import platform
import secrets
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from fastad._core.interrupts import handled_sigterm, uninterrupted

if sys.platform != "win32":
    import fcntl

# Paths that the blocks of this process remove.
_paths: set[Path] = set()


@contextlib.contextmanager
def written_aside(path: Path, *, is_new: bool = False) -> Iterator[Path]:
    """Give the path of a new file beside another, which it replaces if nothing fails.

    With ``is_new`` it replaces none: FileExistsError is raised where another process was faster.
    Whoever reads the path meanwhile sees the old file or none; after a failure (a full disk,
    Ctrl-C, SIGTERM) nothing is left behind.
    """
    # A short name: the other may be as long as names can be.
    aside = path.parent / f".fastad-{secrets.token_hex(8)}{path.suffix}"
    with removed_afterwards(aside):
        os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        # The usual permissions, once the file is whole; until then it is for its owner alone.
        usual = aside.stat().st_mode
        aside.chmod(0o600)
        yield aside
        aside.chmod(usual)
        if is_new:
            try:
                os.link(aside, path)
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                os.replace(aside, path)
        else:
            os.replace(aside, path)


def save_text(text: str, path: Path) -> None:
    """Save a string, completely or not at all."""
    with written_aside(path) as aside:
        # Names may contain what UTF-8 does not.
        aside.write_text(text, encoding="utf-8", errors="backslashreplace")


@contextlib.contextmanager
def removed_afterwards(path: Path) -> Iterator[None]:
    """Remove a file or a folder after the block, also if SIGTERM ends the process within it.

    The process ends as it would without this; see `handled_sigterm` for where that is possible.
    """
    with handled_sigterm(_terminate):
        _paths.add(path)
        try:
            yield
        finally:
            # A forked child leaves it to its parent.
            if path in _paths:
                try:
                    if path.is_dir():
                        uninterrupted(lambda: shutil.rmtree(path))
                    else:
                        path.unlink(missing_ok=True)
                finally:
                    _paths.discard(path)


@contextlib.contextmanager
def temporary_folder(parent: Path, name: str) -> Iterator[Path]:
    """Make a folder that is removed after the block; remove those that killed processes left.

    A folder is locked while its process lives, and not removed by others then. Locks may not reach
    other computers with the same disk: their folders have other names, and stay.
    """
    computer = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
    prefix = f"{name}-{computer}-"
    _remove_abandoned(parent, prefix)
    with contextlib.ExitStack() as stack:
        path = None
        while path is None:
            path = _make_locked(parent / f"{prefix}{secrets.token_hex(8)}", stack)
        yield path


def _make_locked(path: Path, stack: contextlib.ExitStack) -> Path | None:
    """Make a folder with a lock; None where another process found it before it had one."""
    # The lock is released after the folder has been removed.
    locks = stack.enter_context(contextlib.ExitStack())
    stack.enter_context(removed_afterwards(path))
    path.mkdir(0o700)
    try:
        locks.callback(os.close, _lock(path))
    except (BlockingIOError, FileNotFoundError):
        return None
    except OSError:
        # Without locks nobody takes it for abandoned.
        pass
    return path


def _remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove folders whose lock no process has."""
    for path in parent.glob(f"{prefix}*"):
        # Somebody else's, in use, or just being removed.
        with contextlib.suppress(OSError):
            lock = _lock(path)
            try:
                shutil.rmtree(path)
            finally:
                os.close(lock)


def _lock(folder: Path) -> int:
    """Return a descriptor of a folder that is locked until it is closed, or its process ends."""
    if sys.platform == "win32":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    # The folder itself, because a file in it would have to be made before it can be locked.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # It may have been removed before it was locked.
        if not os.path.samestat(os.fstat(descriptor), folder.stat()):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _terminate(number: int, _frame: object) -> None:
    """Remove the files of the blocks, and end the process by the signal."""
    for path in tuple(_paths):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    # The first process of a container is not ended by it.
    os._exit(128 + number)


def _leave_to_parent() -> None:
    """Make a forked child leave its parent's files."""
    _paths.clear()
    if signal.getsignal(signal.SIGTERM) is _terminate:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)

"""Files and folders that are removed when a block or its process ends."""

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fastad._core import files
from fastad._core.files import removed_afterwards, temporary_folder, written_aside
from tests.support.processes import environment, in_forked_child

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, signals and locks")
PREAMBLE = """
import os, signal, sys, threading, time
from pathlib import Path
from fastad._core.files import written_aside
from fastad._core.files import temporary_folder
folder = Path(sys.argv[1])
def wait():
    print("ready", flush=True)
    time.sleep(600)
def work():
    with temporary_folder(folder, "work") as path, written_aside(folder / "out.csv") as aside:
        (path / "inner").mkdir()
        (path / "inner" / "file").write_text("half")
        aside.write_text("half")
        wait()
"""


@contextlib.contextmanager
def waiting(folder: Path, code: str) -> Iterator["subprocess.Popen[str]"]:
    """Run code in a process of its own until it waits."""
    command = [sys.executable, "-c", PREAMBLE + code, str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.communicate()
            yield process
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]", number: int) -> int:
    """Send a signal; return how the process ends, which prints nothing."""
    process.send_signal(number)
    assert process.communicate(timeout=60) == ("", "")
    return process.returncode


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt, SystemExit])
def test_a_folder_is_removed_after_its_block(
    tmp_path: Path, error: type[BaseException] | None
) -> None:
    def fill(path: Path) -> None:
        (path / "inner").mkdir()
        (path / "inner" / "file").touch()
        if error is not None:
            raise error

    with pytest.raises(error) if error else contextlib.nullcontext():  # noqa: SIM117
        with temporary_folder(tmp_path, "work") as path:
            assert path.parent == tmp_path
            fill(path)
    assert os.listdir(tmp_path) == []


def test_what_is_not_there_need_not_be_removed(tmp_path: Path) -> None:
    with removed_afterwards(tmp_path / "none"):
        pass
    with temporary_folder(tmp_path, "work") as path:
        path.rmdir()
    assert os.listdir(tmp_path) == []


@POSIX
def test_nobody_else_reads_a_folder(tmp_path: Path) -> None:
    with temporary_folder(tmp_path, "work") as path:
        assert path.stat().st_mode & 0o077 == 0


# SIGTERM.


@POSIX
@pytest.mark.system
@pytest.mark.parametrize(
    "code",
    [
        "work()",
        # The main thread handles signals: here within a block of its own.
        "with temporary_folder(folder, 'main'):\n"
        "    threading.Thread(target=work).start()\n"
        "    time.sleep(600)",
    ],
)
def test_sigterm_ends_the_process_as_ever_and_leaves_nothing(tmp_path: Path, code: str) -> None:
    with waiting(tmp_path, code) as process:
        assert os.listdir(tmp_path) != []
        assert ended(process, signal.SIGTERM) == -signal.SIGTERM
    assert os.listdir(tmp_path) == []


@POSIX
@pytest.mark.system
def test_sigterm_during_the_removal_leaves_nothing(tmp_path: Path) -> None:
    code = """
import shutil
remove = shutil.rmtree
def slow(path, ignore_errors=False):
    if not ignore_errors:
        wait()
    remove(path, ignore_errors=ignore_errors)
shutil.rmtree = slow
with temporary_folder(folder, "work"): pass
"""
    with waiting(tmp_path, code) as process:
        assert ended(process, signal.SIGTERM) == -signal.SIGTERM
    assert os.listdir(tmp_path) == []


@POSIX
@pytest.mark.system
def test_a_handler_of_the_application_stays(tmp_path: Path) -> None:
    code = """
def handle(number, frame):
    print("handled", flush=True)
    raise SystemExit(7)
signal.signal(signal.SIGTERM, handle)
work()
"""
    with waiting(tmp_path, code) as process:
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60) == ("handled\n", "")
        assert process.returncode == 7
    assert os.listdir(tmp_path) == []


@POSIX
@pytest.mark.parametrize("ignored", [True, False])
def test_the_handler_is_the_same_after_the_block(tmp_path: Path, ignored: bool) -> None:
    usual = signal.SIG_IGN if ignored else signal.SIG_DFL
    before = signal.signal(signal.SIGTERM, usual)
    try:
        with temporary_folder(tmp_path, "work"), written_aside(tmp_path / "out") as aside:
            aside.touch()
            assert (signal.getsignal(signal.SIGTERM) == usual) == ignored
        assert signal.getsignal(signal.SIGTERM) == usual
        with temporary_folder(tmp_path, "work"):
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_another_thread_needs_no_handler(tmp_path: Path) -> None:
    before, seen = signal.getsignal(signal.SIGTERM), []

    def work() -> None:
        with temporary_folder(tmp_path, "work"):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
    assert os.listdir(tmp_path) == []


@POSIX
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_removes_nothing_of_its_parent(tmp_path: Path) -> None:
    def terminated() -> str:
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
        return str(os.waitpid(child, 0)[1])

    def leave() -> str:
        block.close()
        return str(os.listdir(tmp_path))

    with contextlib.ExitStack() as block:
        path = block.enter_context(temporary_folder(tmp_path, "work"))
        assert in_forked_child(terminated) == str(signal.SIGTERM.value)
        assert in_forked_child(leave) == str([path.name])
        assert path.exists()
    assert os.listdir(tmp_path) == []


# SIGKILL.


@POSIX
@pytest.mark.system
def test_the_next_folder_removes_what_sigkill_left_and_nothing_that_is_in_use(
    tmp_path: Path,
) -> None:
    with waiting(tmp_path, "work()") as lives:
        of_living = set(tmp_path.glob("work-*"))
        with waiting(tmp_path, "work()") as killed:
            of_killed = set(tmp_path.glob("work-*")) - of_living
            assert (len(of_living), len(of_killed)) == (1, 1)
            with temporary_folder(tmp_path, "work") as path:
                assert set(tmp_path.glob("work-*")) == {path, *of_living, *of_killed}
            assert ended(killed, signal.SIGKILL) == -signal.SIGKILL
        assert set(tmp_path.glob("work-*")) == of_living | of_killed
        # Of another name.
        with temporary_folder(tmp_path, "other"):
            assert set(tmp_path.glob("work-*")) == of_living | of_killed
        for _ in range(2):
            with temporary_folder(tmp_path, "work") as path:
                assert set(tmp_path.glob("work-*")) == {path, *of_living}
        assert [each.name for each in of_living.pop().rglob("*")] == ["inner", "file"]
        assert ended(lives, signal.SIGTERM) == -signal.SIGTERM


@POSIX
def test_only_abandoned_folders_of_this_computer_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with temporary_folder(tmp_path, "work") as path:
        prefix = path.name[: -len("0123456789abcdef")]
    target = tmp_path / "target"
    target.mkdir()
    (target / "file").touch()
    abandoned = tmp_path / f"{prefix}0"
    abandoned.mkdir()
    (tmp_path / f"{prefix}1").touch()
    (tmp_path / f"{prefix}2").symlink_to(target)
    (tmp_path / "work-of-somebody").mkdir()
    kept = set(tmp_path.iterdir()) - {abandoned}
    with monkeypatch.context() as patched:
        patched.setattr("platform.node", lambda: "another computer")
        with temporary_folder(tmp_path, "work"):
            assert abandoned.exists()
    with temporary_folder(tmp_path, "work") as path, temporary_folder(tmp_path, "work") as other:
        assert set(tmp_path.iterdir()) == {*kept, path, other}
    assert set(tmp_path.iterdir()) == kept
    assert (target / "file").exists()


@POSIX
@pytest.mark.parametrize("removed", ["before", "while"])
def test_a_folder_that_is_taken_for_abandoned_at_once_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: str
) -> None:
    import fcntl

    lock, n_calls = fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        n_calls.append(1)
        if len(n_calls) == 1 and removed == "while":
            raise BlockingIOError(errno.EWOULDBLOCK, "held by whoever removes it")
        if len(n_calls) == 1:
            shutil.rmtree(next(tmp_path.iterdir()))
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with temporary_folder(tmp_path, "work") as path:
        assert path.is_dir()
        assert len(n_calls) == 2
    assert os.listdir(tmp_path) == []


@POSIX
def test_where_folders_have_no_locks_they_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlockable(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("fcntl.flock", unlockable)
    with temporary_folder(tmp_path, "work") as path, temporary_folder(tmp_path, "work") as other:
        assert set(tmp_path.iterdir()) == {path, other}
    assert os.listdir(tmp_path) == []


@POSIX
def test_locks_are_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, close = list[int](), os.close

    def noted_close(descriptor: int) -> None:
        closed.append(descriptor)
        close(descriptor)

    monkeypatch.setattr(os, "close", noted_close)
    locked, lock = list[int](), files._lock

    def noted(folder: Path) -> int:
        locked.append(lock(folder))
        return locked[-1]

    monkeypatch.setattr(files, "_lock", noted)
    for _ in range(3):
        with temporary_folder(tmp_path, "work"):
            pass
    assert len(locked) == 3
    assert all(closed.count(each) >= locked.count(each) for each in locked)
    assert files._paths == set()


def test_a_file_that_cannot_be_removed_is_not_kept_in_mind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unremovable(_path: Path, *, missing_ok: bool) -> None:
        raise PermissionError(errno.EACCES, "read-only", missing_ok)

    monkeypatch.setattr(Path, "unlink", unremovable)
    with pytest.raises(PermissionError), files.removed_afterwards(tmp_path / "file"):
        pass
    assert files._paths == set()

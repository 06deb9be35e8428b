"""The lock of an object that threads share, in forked children."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import fastad
from fastad._core.interrupts import StateLock
from fastad.errors import ForkedStateError
from tests.support.processes import in_forked_child

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

# Files with plain locks and events, and why a forked child never waits for one of them.
PLAIN = {
    "_core/cache.py": "acquired without waiting",
    "_core/interrupts.py": "made anew in a child",
    "_core/progress.py": "of one call, which no child continues",
    "_core/threads.py": "made anew in a child, or of one call, which no child continues",
    "benchmarking/pairwise_tests/pairs.py": "of one call, which no child continues",
    "regions/scores.py": "of one call, which no child continues",
}


def test_objects_that_outlive_a_call_have_no_plain_lock() -> None:
    package = Path(fastad.__file__).parent
    kinds = ("Lock()", "Event()", "Condition()", "Semaphore(")
    with_locks = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(kind in path.read_text("utf-8") for kind in kinds)
    }
    assert with_locks == set(PLAIN)


@contextmanager
def held(lock: StateLock) -> Iterator[None]:
    """Let another thread hold a lock."""
    has, end = threading.Event(), threading.Event()

    def hold() -> None:
        with lock.checked():
            has.set()
            end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    has.wait()
    try:
        yield
    finally:
        end.set()
        thread.join()


def used(lock: StateLock) -> str:
    try:
        with lock.checked():
            return "works"
    except ForkedStateError as error:
        return str(error)


def used_by_a_child_of_a_child(lock: StateLock) -> str:
    return in_forked_child(lambda: used(lock))


def test_a_child_works_with_a_lock_that_was_free() -> None:
    lock = StateLock("Thing")
    assert in_forked_child(lambda: used(lock)) == "works"
    assert in_forked_child(lambda: used_by_a_child_of_a_child(lock)) == "works"
    assert used(lock) == "works"


def test_a_lock_that_was_held_is_refused_in_the_child_and_its_children() -> None:
    lock = StateLock("Thing")
    with held(lock):
        answers = [
            in_forked_child(lambda: used(lock)),
            in_forked_child(lambda: used(lock) and used(lock)),
            # Forked before the child has used it.
            in_forked_child(lambda: used_by_a_child_of_a_child(lock)),
            in_forked_child(lambda: used(lock) and used_by_a_child_of_a_child(lock)),
        ]
    assert set(answers) == {answers[0]}
    assert answers[0].startswith("a thread was using this Thing when the process was forked")
    assert used(lock) == "works"
    assert in_forked_child(lambda: used(lock)) == "works"


def test_a_lock_held_in_the_child_is_waited_for() -> None:
    """The lock is that of the child: its own threads exclude each other."""
    lock = StateLock("Thing")

    def exclude() -> str:
        with held(lock):
            return str(lock.checked().acquire(blocking=False))

    assert in_forked_child(exclude) == "False"


def test_many_threads_of_a_child_use_a_lock_first_at_once() -> None:
    lock = StateLock("Thing")

    def count() -> str:
        total = 0
        start = threading.Barrier(8)

        def add() -> None:
            nonlocal total
            start.wait()
            for _ in range(200):
                with lock.checked():
                    before = total
                    # Another thread runs here, were it not for the lock.
                    os.sched_yield()
                    total = before + 1

        threads = [threading.Thread(target=add) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return str(total)

    assert in_forked_child(count) == "1600"

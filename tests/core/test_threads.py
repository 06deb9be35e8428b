"""The pool of threads: errors, interruption, busy and absent pools, and who may use it."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest

import fastad
from fastad import UndefinedMeasureError
from fastad._core import threads as _threads
from fastad._core.threads import current_threads, slices, thread_limit, thread_map
from fastad.measures.registry import MEASURES
from tests.support.operating import options_of
from tests.support.processes import run


def test_of_several_errors_that_of_the_first_item_is_raised() -> None:
    both = threading.Barrier(2)

    def fail(item: int) -> None:
        both.wait(10)
        raise ValueError(f"item {item}")

    for _ in range(20):
        with thread_limit(2), pytest.raises(ValueError, match="item 0"):
            thread_map(fail, range(2))


def test_after_an_error_no_item_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, stopped, begun = _threads._Job.stop, threading.Event(), []

    def stop_and_tell(job: _threads._Job[int, None]) -> None:
        stop(job)
        stopped.set()

    def work(item: int) -> None:
        begun.append(item)
        if item == 0:
            raise ValueError("first")
        assert stopped.wait(10)

    monkeypatch.setattr(_threads._Job, "stop", stop_and_tell)
    with thread_limit(2), pytest.raises(ValueError, match="first"):
        thread_map(work, range(20))
    assert len(begun) <= 2


def test_two_threads_work_at_the_same_time() -> None:
    both = threading.Barrier(2)
    with thread_limit(2):
        assert len(set(thread_map(lambda _: both.wait(10), range(2)))) == 2


def test_a_busy_pool_does_not_block() -> None:
    release = threading.Event()
    pool = _threads._pool_of(2)
    blocked = [pool.submit(release.wait, 30) for _ in range(_threads._pool_size)]
    try:
        with thread_limit(2):
            assert thread_map(lambda i: -i, range(100)) == [-i for i in range(100)]
    finally:
        release.set()
        assert all(future.result() for future in blocked)


@pytest.mark.parametrize("message", ["can't start new thread", "after interpreter shutdown"])
def test_without_threads_the_caller_does_all(message: str) -> None:
    refused = mock.patch.object(ThreadPoolExecutor, "submit", side_effect=RuntimeError(message))
    with refused, thread_limit(4):
        assert set(thread_map(lambda _: threading.get_ident(), range(9))) == {threading.get_ident()}


def test_a_larger_pool_takes_the_place_of_a_smaller_one() -> None:
    seen: set[int] = set()
    for n_threads in (2, 5, 3):
        together = threading.Barrier(n_threads)

        def meet(_: int, together: threading.Barrier = together) -> int:
            together.wait(10)
            return threading.get_ident()

        with thread_limit(n_threads):
            seen.update(thread_map(meet, range(n_threads)))
    assert threading.get_ident() in seen


def test_inside_a_worker_there_is_one_thread() -> None:
    def inner(_: int) -> tuple[int, bool]:
        me = threading.get_ident()
        with thread_limit(8):
            return current_threads(), {me} == set(
                thread_map(lambda _: threading.get_ident(), range(4))
            )

    with thread_limit(3):
        assert thread_map(inner, range(6)) == [(1, True)] * 6
        assert current_threads() == 3


def test_a_limit_ends_with_its_block_and_never_raises_an_outer_one() -> None:
    default = current_threads()
    with thread_limit(2):
        with thread_limit(5):
            assert current_threads() == 2
        with pytest.raises(KeyError), thread_limit(1):
            raise KeyError
        assert current_threads() == 2
    assert current_threads() == default


def test_few_points_are_not_divided() -> None:
    with thread_limit(8):
        assert slices(150_000) == [slice(0, 150_000)]
        assert slices(300_001) == [
            slice(0, 100_000),
            slice(100_000, 200_000),
            slice(200_000, 300_001),
        ]
        assert len(slices(10**7)) == 8
    with thread_limit(1):
        assert len(slices(10**7)) == 1
    assert slices(0) == [slice(0, 0)]


@pytest.mark.system
def test_measures_work_while_the_interpreter_shuts_down() -> None:
    program = """
import atexit
import numpy as np
import fastad
y, s = np.arange(300_000) % 2, np.sin(np.arange(300_000))
scores = {str(i): s for i in range(6)}
expected = fastad.evaluate(y, scores, measures=["auc"]).to_json()
atexit.register(lambda: print(fastad.evaluate(y, scores, measures=["auc"]).to_json() == expected))
"""
    assert run(program, FASTAD_NUM_THREADS="2").split() == ["True"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_an_interrupt_ends_the_work_at_once_and_later_calls_work() -> None:
    program = """
import itertools, os, signal
import numpy as np
import fastad
rng = np.random.default_rng(0)
y, s = rng.random(20_000) < 0.1, rng.normal(size=20_000)
few = {"a": s, "b": -s, "c": s * s}
expected = fastad.evaluate(y, few).to_json()
reads = itertools.count(1)
class Scores:
    def __array__(self, dtype=None, copy=None):
        if next(reads) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return s
try:
    fastad.evaluate(y, {str(i): Scores() for i in range(1000)})
except KeyboardInterrupt:
    print("interrupted", next(reads) < 1000)
print(fastad.evaluate(y, few).to_json() == expected)
"""
    assert run(program, FASTAD_NUM_THREADS="2").split() == ["interrupted", "True", "True"]


@pytest.mark.slow
def test_thirty_two_threads_find_the_bits_of_one_in_every_measure() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(250_000) < 0.1
    wide = rng.normal(size=y.size) + y
    inputs = [
        (y[:5000], wide[:5000]),
        (y[:5000], np.round(wide[:5000], 1).astype(np.float32)),
        (y, wide),
    ]
    jobs = [(name, case) for name in sorted(MEASURES) for case in range(len(inputs))]

    def measure(job: tuple[str, int]) -> str:
        name, case = job
        try:
            # One takes no labels.
            data = inputs[case][name == "threshold_at_rate" :]
            return repr(getattr(fastad.measures, name)(*data, **options_of(MEASURES[name])))
        except UndefinedMeasureError as error:
            return repr(error)

    alone = [measure(job) for job in jobs]
    with ThreadPoolExecutor(32) as pool:
        assert list(pool.map(measure, jobs + jobs[::-1])) == alone + alone[::-1]


def test_after_ctrl_c_inner_work_of_other_threads_ends() -> None:
    """Else the process, which waits for its threads, would go on until all is done."""
    begun, ended = threading.Event(), threading.Event()
    n_done = 0

    def step(_: int) -> None:
        nonlocal n_done
        n_done += 1
        begun.set()
        time.sleep(0.001)

    def work(_: int) -> None:
        if threading.current_thread() is threading.main_thread():
            assert begun.wait(10)
            raise KeyboardInterrupt
        try:
            thread_map(step, range(10**6))
        finally:
            ended.set()

    with thread_limit(2), pytest.raises(KeyboardInterrupt):
        thread_map(work, range(2))
    assert ended.wait(10)
    assert n_done < 10**6
    # Neither this thread nor those of the pool remember it.
    with thread_limit(2):
        assert thread_map(lambda i: thread_map(lambda j: i + j, range(3)), range(4)) == [
            [i, i + 1, i + 2] for i in range(4)
        ]

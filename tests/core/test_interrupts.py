"""What Ctrl-C must not cut in two is done to its end, or not begun."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from fastad._core.interrupts import uninterrupted
from tests.support.processes import environment


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


@contextmanager
def handled(number: int, handler: Any) -> Iterator[None]:
    """Handle a signal in the block."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def test_results_and_errors_are_those_of_the_function() -> None:
    def fail() -> None:
        raise OSError(28, "full")

    assert uninterrupted(lambda: 7) == 7
    with pytest.raises(OSError, match="full"):
        uninterrupted(fail)


@pytest.mark.parametrize("is_main", [False, True])
def test_a_thread_that_python_never_interrupts_calls_it_itself(
    monkeypatch: pytest.MonkeyPatch, is_main: bool
) -> None:
    """Where Python is embedded, the thread that imports `threading` first is the main one."""
    called: list[threading.Thread] = []
    worker = threading.Thread(
        target=lambda: uninterrupted(lambda: called.append(threading.current_thread()))
    )
    if is_main:
        monkeypatch.setattr(threading, "main_thread", lambda: worker)
    worker.start()
    worker.join()
    assert called == [worker]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("n_times", [1, 2])
def test_ctrl_c_is_raised_after_the_function(n_times: int) -> None:
    steps = []

    def work() -> None:
        for _ in range(n_times):
            interrupt()
        steps.append("end")

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)
    assert steps == ["end"]


def test_ctrl_c_comes_before_an_error_of_the_function() -> None:
    def work() -> None:
        interrupt()
        raise ValueError

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)


def test_a_handler_of_ones_own_is_called_at_once_and_stays() -> None:
    steps: list[str] = []

    def work() -> None:
        interrupt()
        steps.append("end")

    def handle(number: int, frame: FrameType | None) -> None:
        assert frame is not None
        steps.append(f"signal {number}")

    with handled(signal.SIGINT, handle):
        uninterrupted(work)
        assert signal.getsignal(signal.SIGINT) is handle
    assert steps == [f"signal {signal.SIGINT:d}", "end"]


def test_a_handler_may_set_another_one_for_the_next_time() -> None:
    def first(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    with handled(signal.SIGINT, first):
        uninterrupted(interrupt)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_without_a_handler_of_python_none_is_set(handler: signal.Handlers) -> None:
    with handled(signal.SIGINT, handler):
        kept = uninterrupted(lambda: signal.getsignal(signal.SIGINT))
        assert kept is handler
        assert signal.getsignal(signal.SIGINT) is handler


class TimeLimitError(Exception):
    pass


def exceed(_number: int, _frame: FrameType | None) -> None:
    raise TimeLimitError


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarms")
def test_the_error_of_a_time_limit_is_raised_after_the_function() -> None:
    steps = []

    def work() -> None:
        signal.raise_signal(signal.SIGALRM)
        steps.append("end")

    with handled(signal.SIGALRM, exceed):
        with pytest.raises(TimeLimitError):
            uninterrupted(work)
        assert signal.getsignal(signal.SIGALRM) is exceed
    assert steps == ["end"]


def test_a_call_within_another_holds_signals_until_the_outer_one_ends() -> None:
    steps = []

    def work() -> None:
        uninterrupted(interrupt)
        steps.append("end")

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)
    assert steps == ["end"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_that_another_thread_forks_meanwhile_takes_signals_at_once() -> None:
    status: list[int] = []

    def fork() -> None:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                interrupt()
                time.sleep(5)
            except KeyboardInterrupt:
                code = 0
            finally:
                os._exit(code)
        status.append(os.waitpid(child, 0)[1])

    def work() -> None:
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()

    uninterrupted(work)
    assert status == [0]


_DISTURBED = """
import os, signal, sys, threading, time
import numpy as np
from fastad.streaming import DriftMonitor, RateMonitor, ScoreSketch, SlidingEvaluation
rng = np.random.default_rng(0)
y, s = rng.random(1000) < 0.1, rng.normal(size=1000)
# In two panes.
times = np.arange(1000.0) * 4
reference = ScoreSketch()
reference.update(y_score=s)
class Stop(BaseException):
    pass
def handle(number, frame):
    global n_handled
    n_handled += 1
    raise Stop
if sys.argv[1] == "own":
    signal.signal(signal.SIGINT, handle)
# What makes an object, updates it, and says how often it was updated.
KINDS = (
    (ScoreSketch, lambda x: x.update(y, s), lambda x: x.n_points / 1000),
    (
        lambda: SlidingEvaluation(pane="1h", window="2h"),
        lambda x: x.update(y, s, time=times),
        lambda x: x.sketch().n_points / 1000,
    ),
    (
        lambda: RateMonitor("tpr", expected_rate=0.5, threshold=0.0),
        lambda x: x.update_counts(50, 100),
        lambda x: x.n_updates,
    ),
    (lambda: DriftMonitor(reference), lambda x: x.update(s), lambda x: x.n_updates),
)
ready = threading.Event()
def disturb():
    # No signal before the main thread is in the block that catches its exception.
    for _ in range(30):
        ready.wait(10)
        ready.clear()
        time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
def work():
    while disturber.is_alive():
        update(shared)
for make, update, count in KINDS:
    n_handled, interrupts = 0, 0
    ready.clear()
    shared = make()
    update(shared)
    disturber = threading.Thread(target=disturb)
    worker = threading.Thread(target=work)
    disturber.start()
    worker.start()
    while True:
        try:
            ready.set()
            work()
            worker.join()
            time.sleep(0.1)
            break
        except (KeyboardInterrupt, Stop):
            interrupts += 1
    n_updates, undisturbed = count(shared), make()
    assert n_updates == int(n_updates) > 1, n_updates
    for _ in range(int(n_updates)):
        update(undisturbed)
    assert undisturbed.to_bytes() == shared.to_bytes()
    assert n_handled >= interrupts if sys.argv[1] == "own" else n_handled == 0
    print(interrupts)
"""


@pytest.mark.system
@pytest.mark.parametrize("handler", ["default", "own"])
def test_state_has_whole_updates_only_whenever_ctrl_c_comes(handler: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DISTURBED, handler],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    interrupts = [int(line) for line in done.stdout.splitlines()]
    assert len(interrupts) == 4
    assert min(interrupts) > 26

"""What Ctrl-C must not cut in two is done to its end, or not begun."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from fastad._core.interrupts import uninterrupted
from tests.support.processes import environment


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_results_and_errors_are_those_of_the_function() -> None:
    def fail() -> None:
        raise OSError(28, "full")

    assert uninterrupted(lambda: 7) == 7
    with pytest.raises(OSError, match="full"):
        uninterrupted(fail)


def test_a_thread_that_python_never_interrupts_calls_it_itself() -> None:
    called: list[threading.Thread] = []
    worker = threading.Thread(
        target=lambda: uninterrupted(lambda: called.append(threading.current_thread()))
    )
    worker.start()
    worker.join()
    assert called == [worker]


@pytest.mark.parametrize("n_times", [1, 2])
def test_ctrl_c_is_raised_after_the_function(n_times: int) -> None:
    steps = []

    def work() -> None:
        for _ in range(n_times):
            interrupt()
            time.sleep(0.05)
        steps.append("end")

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)
    assert steps == ["end"]


def test_ctrl_c_comes_before_an_error_of_the_function() -> None:
    def work() -> None:
        interrupt()
        time.sleep(0.05)
        raise ValueError

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)


@pytest.mark.parametrize("begins", [True, False])
def test_ctrl_c_while_the_thread_starts(monkeypatch: pytest.MonkeyPatch, *, begins: bool) -> None:
    start = threading.Thread.start
    begun, steps = threading.Event(), []

    def interrupted_start(thread: threading.Thread) -> None:
        if begins:
            start(thread)
            begun.wait()
        raise KeyboardInterrupt

    def work() -> None:
        begun.set()
        time.sleep(0.05)
        steps.append("end")

    monkeypatch.setattr(threading.Thread, "start", interrupted_start)
    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)
    assert steps == (["end"] if begins else [])


def test_a_thread_that_starts_late_does_nothing_after_ctrl_c(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, steps = threading.Thread.start, []
    waiting: list[Callable[[], None]] = []

    def interrupted_start(thread: threading.Thread) -> None:
        waiting.append(lambda: start(thread))
        waiting.append(thread.join)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted_start)
    with pytest.raises(KeyboardInterrupt):
        uninterrupted(lambda: steps.append("end"))
    for step in waiting:
        step()
    assert steps == []


@pytest.mark.system
def test_a_sketch_has_whole_updates_only_whenever_ctrl_c_comes() -> None:
    code = """
import os, signal, threading, time
import numpy as np
from fastad.streaming import ScoreSketch
rng = np.random.default_rng(0)
y, s = rng.random(1000) < 0.1, rng.normal(size=1000)
sketch, n_done, interrupts = ScoreSketch(), 0, 0
sketch.update(y, s)
main = threading.main_thread().ident
def disturb():
    for _ in range(200):
        time.sleep(0.003)
        os.kill(os.getpid(), signal.SIGINT)
thread = threading.Thread(target=disturb)
while True:
    try:
        if not thread.ident:
            thread.start()
        while thread.is_alive():
            sketch.update(y, s)
        time.sleep(0.1)
        break
    except KeyboardInterrupt:
        interrupts += 1
n = sketch.n_anomalies + sketch.n_normals
assert n % 1000 == 0 and n > 1000, n
assert sketch.n_anomalies * 1000 == n * int(y.sum())
print(interrupts)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20

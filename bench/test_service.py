"""Time inside a service: batches that arrive on many threads at once, and how callers scale.

Not run with a free-threaded Python: the index has wheels of Numba for one (``pip download numba
--no-deps --only-binary=:all: --python-version 3.14 --abi cp314t``; none for 3.13), but no such
Python was at hand.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fastad
from bench.data import Case, generate
from bench.pages import number
from fastad.streaming import SlidingEvaluation

N_THREADS = 8
# Calls of each thread in one round, by the size of a batch.
CALLS = {10**2: 200, 10**3: 100, 10**4: 20, 10**5: 4}
N_CALLS = 40
HOUR, N_HOURS = 3600, 168

pytestmark = pytest.mark.benchmark(min_rounds=3, max_time=1, disable_gc=True)


def full_week() -> SlidingEvaluation:
    """A week of panes of an hour, each with more scores than it has cells."""
    week = SlidingEvaluation(pane="1h", window="7d")
    labels, scores = generate(Case(10**5, 0.01))
    for hour in range(N_HOURS):
        week.update(labels, scores + hour % 7 / 10, time=hour * HOUR)
    return week


def percentiles_of_calls(
    benchmark: BenchmarkFixture, call: Callable[[], object], n_calls: int, n_threads: int
) -> dict[str, str]:
    """Return p50 and p99 in milliseconds of a call that each thread makes so often."""
    times: list[float] = []

    def call_often(_: int) -> None:
        for _ in range(n_calls):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(call_often, range(n_threads)))
        times.clear()
        benchmark(lambda: list(pool.map(call_often, range(n_threads))))
    p50, p99 = np.percentile(times, [50, 99])
    return {"p50": number(1e3 * p50, 3), "p99": number(1e3 * p99, 3)}


@pytest.mark.parametrize("size", CALLS)
def test_batches(benchmark: BenchmarkFixture, size: int) -> None:
    """Time of each call of `evaluate` while eight threads call without a pause."""
    labels, scores = generate(Case(size, 0.01 if size > 10**2 else 0.5))
    percentiles = percentiles_of_calls(
        benchmark, lambda: fastad.evaluate(labels, scores), CALLS[size], N_THREADS
    )
    benchmark.extra_info.update(percentiles)


@pytest.mark.parametrize("n_threads", [1, N_THREADS])
@pytest.mark.parametrize("size", CALLS)
def test_updates_of_a_window(benchmark: BenchmarkFixture, size: int, n_threads: int) -> None:
    """Time of each update of the last pane of a week."""
    labels, scores = generate(Case(size, 0.01 if size > 10**2 else 0.5))
    week = full_week()

    def update() -> None:
        week.update(labels, scores, time=N_HOURS * HOUR - 1)

    percentiles = percentiles_of_calls(benchmark, update, CALLS[size], n_threads)
    benchmark.extra_info.update(percentiles)


def resident_megabytes() -> float:
    """Return what the process has in memory, as Linux says."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in status if line.startswith("VmRSS"))


def test_memory_of_a_million_updates(benchmark: BenchmarkFixture) -> None:
    """Memory at each tenth of a million updates, with windows that slide, groups and queries."""
    labels, scores = generate(Case(10**6, 0.01))
    batches = list(zip(labels.reshape(-1, 20), scores.reshape(-1, 20), strict=True))
    week = SlidingEvaluation(pane=60, window=168 * 60, memory="16kB", max_groups=3)
    megabytes: list[float] = []

    def update() -> None:
        for i in range(10**6):
            week.update(*batches[i % len(batches)], time=i / 10, group=i // 7 % 4)
            if i % 10**5 == 0:
                week.evaluate(["auc"])
                megabytes.append(round(resident_megabytes(), 1))

    benchmark.pedantic(update, rounds=1)  # type: ignore[no-untyped-call]
    benchmark.extra_info.update(megabytes=megabytes)


@pytest.mark.parametrize("what", ["auc", "table"])
def test_windows(benchmark: BenchmarkFixture, what: str) -> None:
    """Time of a measure of a week, and of the default table."""
    week = full_week()
    benchmark(lambda: week.evaluate(["auc"] if what == "auc" else None))


def test_a_window_while_others_update(benchmark: BenchmarkFixture) -> None:
    """Time of a measure of a week while eight threads update."""
    labels, scores = generate(Case(10**3, 0.01))
    week = full_week()
    stop = threading.Event()

    def update() -> None:
        while not stop.is_set():
            week.update(labels, scores, time=N_HOURS * HOUR - 1)
            time.sleep(0.01)

    with ThreadPoolExecutor(N_THREADS) as pool:
        updates = [pool.submit(update) for _ in range(N_THREADS)]
        benchmark(lambda: week.evaluate(["auc"]))
        stop.set()
        for running in updates:
            running.result()


@pytest.mark.parametrize("n_callers", [1, 2])
@pytest.mark.parametrize("size", [10**4, 10**5, 10**6])
def test_callers(
    benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch, size: int, n_callers: int
) -> None:
    """Time of many calls that each use one thread, made by one caller or shared by two."""
    monkeypatch.setenv("FASTAD_NUM_THREADS", "1")
    labels, scores = generate(Case(size, 0.5))
    n_calls = max(N_CALLS * 10**5 // size, 8)

    def measure(_: int) -> float:
        return fastad.roc_auc(labels, scores)

    benchmark.group = f"{n_calls} times the AUC of {size} points, one thread a call"
    with ThreadPoolExecutor(n_callers) as pool:
        benchmark(lambda: list(pool.map(measure, range(n_calls))))

"""Reports of progress and Ctrl-C follow time, whatever a score takes; numbers do not."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
import pytest

import fastad
from fastad._core import progress
from fastad._core.progress import Pace
from fastad.unsupervised import level_sets
from tests.support.rare import ball

BOX = fastad.Box([0, 0], [1, 1])
X = np.random.default_rng(0).uniform(size=(100, 2))


@numba.njit(nogil=True)
def slow(point: Any) -> float:
    """Take some tenths of a millisecond."""
    total = 0.0
    for i in range(20_000):
        total += np.sin(point[0] * i)
    return float(max(point[0], point[1]) + 1e-30 * total)


TAKERS: Mapping[str, Callable[..., Any]] = {
    "uniform": lambda **options: fastad.volume(slow, 0.5, BOX, method="uniform", **options),
    "sobol": lambda **options: fastad.volume(slow, 0.5, BOX, method="sobol", **options),
    "level_sets": lambda **options: level_sets(slow, X, method="uniform", **options),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKERS)
def test_slow_scores_are_reported_on_now_and_then(name: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(progress, "_ROUND", 0.01)
    reports: list[tuple[int, int | None]] = []
    TAKERS[name](n_draws=1024, rng=0, n_threads=2, progress=lambda *at: reports.append(at))
    done = [number for number, _ in reports]
    assert done == sorted(done)
    assert {total for _, total in reports} == {1024}
    # Rounds of a hundredth of a second are of about a hundred points.
    assert max(np.diff([0, *done])) < 600


@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("name", TAKERS)
def test_ctrl_c_ends_slow_scores(name: str) -> None:
    TAKERS[name](n_draws=1000, rng=0)  # compiled before
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.1, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            TAKERS[name](n_draws=400_000, rng=0)  # a minute or more
    finally:
        timer.cancel()
    assert time.perf_counter() - sent[0] < 20


@pytest.mark.parametrize("method", ["uniform", "sobol", "splitting", "level_sets"])
def test_numbers_do_not_depend_on_the_rounds(method: Any, monkeypatch: Any) -> None:
    region = ball(4)
    data = region.data(200, 0)
    results: list[Any] = []
    for seconds in (1e-12, 0.002, 1e9):
        monkeypatch.setattr(progress, "_ROUND", seconds)
        for n_threads in (1, 2):
            options: dict[str, Any] = {"n_draws": 20_000, "rng": 0, "n_threads": n_threads}
            if method == "level_sets":
                levels = level_sets(region.jitted, data, **options)
                results.append((levels.masses.tolist(), levels.n_uniform))
                continue
            estimate = fastad.volume(
                *(region.jitted, 1.0, region.box), method=method, data=data, **options
            )
            results.append(estimate.to_dict())
    assert all(one == results[0] for one in results)


def test_rounds_grow_and_shrink_with_what_points_take() -> None:
    sizes = []
    it = Pace()
    for seconds_a_point in (1e-6, 1e-6, 1e-6, 1e-6, 1e-3, 1e-2, 10.0):
        sizes.append(it.size)
        it.took(it.size, it.size * seconds_a_point)
    # 16 times as many at most, and so many that they take a tenth of a second.
    assert sizes == [16, 256, 4096, 65536, 100_000, 100, 16]
    it.took(it.size, 0.0)
    assert it.size == 256
    it.took(3, 1e-6)  # the last ones of all
    assert it.size == 256

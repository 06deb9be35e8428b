"""Time of both curves without labels against loops over scores, NumPy, and sorting alone.

The loops evaluate a grid of levels or masses score by score, as the reference implementation of the
EM and MV benchmark does; results are compared on that grid before anything is timed.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fastad

Floats = npt.NDArray[np.float64]

SIZES = ((5_000, 100_000), (1_000_000, 10_000_000))
VOLUME = 7.0
# The grids of the reference: masses by ten thousandths, and levels by hundredths of one over the
# volume.
MASSES = np.arange(0.9, 0.999, 0.0001)
LEVELS = np.arange(0.0, 100.0, 0.01) / VOLUME

pytestmark = pytest.mark.benchmark(min_rounds=3, max_time=2, warmup=True, disable_gc=True)


class _Scores(NamedTuple):
    test: Floats
    uniform: Floats


@lru_cache
def _scores(n_test: int, n_uniform: int) -> _Scores:
    """Squared distances from the middle of three Gaussian features, and of a box around it."""
    rng = np.random.default_rng(0)
    test = (rng.normal(size=(n_test, 3)) ** 2).sum(axis=1)
    return _Scores(test, (rng.uniform(-4, 4, size=(n_uniform, 3)) ** 2).sum(axis=1))


def excess_mass(scores: _Scores) -> float:
    """By fastad."""
    return fastad.excess_mass_curve(*scores, VOLUME).area()


def mass_volume(scores: _Scores) -> float:
    """By fastad."""
    return fastad.mass_volume_curve(*scores, VOLUME).area()


def sorts(scores: _Scores) -> None:
    """Sort both kinds of scores, and nothing else."""
    np.sort(scores.test)
    np.sort(scores.uniform)


def excess_mass_loop(scores: _Scores) -> float:
    """Look at all points again for each distinct score."""
    n, m = scores.test.shape[0], scores.uniform.shape[0]
    heights = np.zeros(LEVELS.shape[0])
    for threshold in np.unique(scores.test):
        mass = (scores.test <= threshold).sum() / n
        volume = (scores.uniform <= threshold).sum() / m * VOLUME
        heights = np.maximum(heights, mass - LEVELS * volume)
    return _area_down_to(heights, LEVELS)


def mass_volume_loop(scores: _Scores) -> float:
    """Look at all uniform points again for each mass."""
    n, m = scores.test.shape[0], scores.uniform.shape[0]
    rising = np.sort(scores.test)
    volumes = np.empty(MASSES.shape[0])
    for i, mass in enumerate(MASSES):
        threshold = rising[int(np.ceil(mass * n - 1e-9)) - 1]
        volumes[i] = (scores.uniform <= threshold).sum() / m * VOLUME
    return float(np.trapezoid(volumes, MASSES))


def excess_mass_numpy(scores: _Scores, *, whole: bool) -> float:
    """Sort both kinds of scores, count by bisection, and evaluate lines a hundred levels at a time.

    All of them, as the loop does, or no more once the area has ended.
    """
    rising = np.unique(scores.test)
    mass = np.searchsorted(np.sort(scores.test), rising, "right") / scores.test.shape[0]
    volume = np.searchsorted(np.sort(scores.uniform), rising, "right") / scores.uniform.shape[0]
    heights: list[Floats] = []
    for block in np.split(LEVELS, 100):
        heights.append((mass - np.outer(block, VOLUME * volume)).max(axis=1))
        if not whole and heights[-1][-1] <= 0.9:
            break
    return _area_down_to(np.concatenate(heights), LEVELS)


def _area_down_to(heights: Floats, levels: Floats) -> float:
    last = int(np.argmax(heights <= 0.9)) + 1
    return float(np.trapezoid(heights[:last], levels[:last]))


# Where each contender runs: the loops would take minutes on the larger size.
CASES: dict[str, tuple[Callable[[_Scores], Any], str, tuple[tuple[int, int], ...]]] = {
    "EM fastad": (excess_mass, "EM", SIZES),
    "EM loop": (excess_mass_loop, "EM", SIZES[:1]),
    "EM NumPy": (partial(excess_mass_numpy, whole=True), "EM", SIZES[:1]),
    "EM NumPy-short": (partial(excess_mass_numpy, whole=False), "EM", SIZES[:1]),
    "EM sorts": (sorts, "EM", SIZES),
    "MV fastad": (mass_volume, "MV", SIZES),
    "MV loop": (mass_volume_loop, "MV", SIZES[:1]),
    "MV sorts": (sorts, "MV", SIZES),
}


@pytest.mark.parametrize(
    ("name", "size"), [(name, size) for name, (_, _, sizes) in CASES.items() for size in sizes]
)
def test_curves(benchmark: BenchmarkFixture, name: str, size: tuple[int, int]) -> None:
    function, criterion, _ = CASES[name]
    scores = _scores(*size)
    exact = excess_mass(scores) if criterion == "EM" else mass_volume(scores)
    result = function(scores)
    if result is not None:
        # The end of the grid of levels is off by up to a step of it.
        assert result == pytest.approx(exact, rel=0.15 if criterion == "EM" else 0.01)
    benchmark.group = f"{criterion} {size}"
    benchmark(function, scores)


def test_criteria_with_intervals(benchmark: BenchmarkFixture) -> None:
    """Both criteria of a detector with 1 000 + 400 replicates of 105 000 points."""
    scores = _scores(*SIZES[0])
    benchmark.group = "criteria with intervals"
    benchmark(
        lambda: fastad.unsupervised.emmv({"a": scores.test}, {"a": scores.uniform}, VOLUME, rng=0)
    )

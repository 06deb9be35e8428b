"""Time of drawing points and testing them: a ball in five dimensions."""

import math
from collections.abc import Callable

import numba
import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fastad
from tests.support.volumes import square_of_point

N_POINTS, N_FEATURES = 10**7, 5
FRACTION = math.pi ** (N_FEATURES / 2) / math.gamma(N_FEATURES / 2 + 1) / 2**N_FEATURES
BOX = fastad.Box(-np.ones(N_FEATURES), np.ones(N_FEATURES))

pytestmark = pytest.mark.benchmark(min_rounds=3, max_time=1, disable_gc=True)

Floats = npt.NDArray[np.float64]


@numba.njit(nogil=True)
def _radii(points: Floats, scores: Floats) -> None:
    for i in range(points.shape[1]):
        a, b, c, d, e = points[0, i], points[1, i], points[2, i], points[3, i], points[4, i]
        scores[i] = a * a + b * b + c * c + d * d + e * e


class Ball(fastad.detectors.CompiledScorer):
    """Squared distance from the centre."""

    n_features, name, kernel = N_FEATURES, "ball", _radii


def _compiled() -> float:
    return fastad.volume(Ball(), 1.0, BOX, method="uniform", n_draws=N_POINTS, rng=0).value


def _jitted() -> float:
    return fastad.volume(square_of_point, 1.0, BOX, method="uniform", n_draws=N_POINTS, rng=0).value


def _numpy() -> float:
    """Draw and count in blocks that stay in the cache."""
    rng = np.random.default_rng(0)
    inside, size = 0, 10_000
    for _ in range(N_POINTS // size):
        points = rng.uniform(-1, 1, (size, N_FEATURES))
        inside += np.count_nonzero(np.einsum("ij,ij->i", points, points) < 1)
    return inside / N_POINTS


LIBRARIES: dict[str, Callable[[], float]] = {
    "fastad, compiled score, all threads": _compiled,
    "fastad, jitted function of a point, all threads": _jitted,
    "NumPy, vectorised, one thread": _numpy,
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_ball(benchmark: BenchmarkFixture, library: str) -> None:
    benchmark.group = "10^7 points of a box in 5 dimensions, those in a ball counted"
    LIBRARIES[library]()
    result = benchmark(LIBRARIES[library])
    assert abs(result - FRACTION) < 5 * math.sqrt(FRACTION / N_POINTS)

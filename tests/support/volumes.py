"""Regions whose fraction of a box has a closed form, and scores of every kind for them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from fastad.detectors.scorer import CompiledScorer
from fastad.regions.box import Box
from fastad.regions.results import VolumeEstimate
from fastad.regions.volume_estimation import volume

Array = npt.NDArray[Any]
Batch = Callable[[Array], Array]

KINDS = ("jitted", "batch", "compiled")


class OfBatch(CompiledScorer):
    """A compiled scorer in name alone: it calls a function of a batch."""

    name = "batch"

    def __init__(self, function: Batch, n_features: int) -> None:
        self.function = function
        self.n_features = n_features

    def score_block(self, points: Array, scores: Array) -> None:
        scores[:] = self.function(np.ascontiguousarray(points.T))


class Counting:
    """A function of a batch that keeps the sizes of its batches."""

    def __init__(self, function: Batch) -> None:
        self.function = function
        self.sizes: list[int] = []

    def __call__(self, X: Array) -> Array:
        self.sizes.append(len(X))
        return self.function(X)

    @property
    def n_scored(self) -> int:
        return sum(self.sizes)


@dataclass(frozen=True)
class Region:
    """Where a score is below a threshold, in a box, and which fraction of it that is."""

    box: Box
    threshold: float
    fraction: float
    batch: Batch
    jitted: Any

    def score(self, kind: str) -> Any:
        if kind == "compiled":
            return OfBatch(self.batch, self.box.n_features)
        return self.jitted if kind == "jitted" else self.batch


def unit_cube(d: int) -> Box:
    return Box([0] * d, [1] * d)


def centred_cube(d: int) -> Box:
    return Box([-1] * d, [1] * d)


def ball_volume(d: int) -> float:
    """Of radius 1."""
    return float(math.pi ** (d / 2)) / math.gamma(d / 2 + 1)


# Scores of one point, for any number of features.


def _square(x: Array) -> float:
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * x[j]
    return total


def _norm(x: Array) -> float:
    return math.sqrt(square_of_point(x))


def _scaled(x: Array) -> float:
    total = 0.0
    for j in range(x.shape[0]):
        total += (x[j] / (j + 1)) ** 2
    return total


def _largest(x: Array) -> float:
    largest = 0.0
    for j in range(x.shape[0]):
        largest = max(largest, abs(x[j] - 0.25))
    return largest


def _sum(x: Array) -> float:
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j]
    return total


def _two(x: Array) -> float:
    near, far = 0.0, 0.0
    for j in range(x.shape[0]):
        near += x[j] * x[j]
        far += (x[j] - 4.0 * (j == 0)) ** 2
    return min(near, far)


def _from_shell(x: Array) -> float:
    return abs(math.sqrt(square_of_point(x)) - 0.75)


def _first(x: Array) -> float:
    return float(x[0])


square_of_point: Any = numba.njit(_square)
norm_of_point: Any = numba.njit(_norm)
scaled_of_point: Any = numba.njit(_scaled)
largest_of_point: Any = numba.njit(_largest)
sum_of_point: Any = numba.njit(_sum)
two_of_point: Any = numba.njit(_two)
from_shell_of_point: Any = numba.njit(_from_shell)
first_of_point: Any = numba.njit(_first)


# The same scores of a batch.


def square(X: Array) -> Array:
    result: Array = (X * X).sum(axis=1)
    return result


def norm(X: Array) -> Array:
    return np.sqrt(square(X))


def scaled(X: Array) -> Array:
    result: Array = ((X / np.arange(1, X.shape[1] + 1)) ** 2).sum(axis=1)
    return result


def largest(X: Array) -> Array:
    result: Array = np.abs(X - 0.25).max(axis=1)
    return result


def total(X: Array) -> Array:
    result: Array = X.sum(axis=1)
    return result


def two(X: Array) -> Array:
    other = X - 4.0 * (np.arange(X.shape[1]) == 0)
    return np.minimum(square(X), square(other))


def from_shell(X: Array) -> Array:
    return np.abs(norm(X) - 0.75)


def first(X: Array) -> Array:
    return X[:, 0]


# Regions.


def ball(d: int) -> Region:
    return Region(centred_cube(d), 1.0, ball_volume(d) / 2**d, norm, norm_of_point)


def ellipsoid(d: int) -> Region:
    """Semi-axes 1 ... d in a box that is wider on one side."""
    axes = np.arange(1, d + 1)
    fraction = ball_volume(d) / 2.125**d
    return Region(Box(-axes, 1.125 * axes), 1.0, fraction, scaled, scaled_of_point)


def sub_box(d: int) -> Region:
    return Region(unit_cube(d), 0.25, 0.5**d, largest, largest_of_point)


def simplex(d: int) -> Region:
    return Region(unit_cube(d), 1.0, 1 / math.factorial(d), total, sum_of_point)


def cut_cube(d: int) -> Region:
    """Below a sum that cuts the corners of the cube off (Irwin and Hall)."""
    at = 0.45 * d
    terms = [(-1) ** k * math.comb(d, k) * (at - k) ** d for k in range(int(at) + 1)]
    fraction = math.fsum(terms) / math.factorial(d)
    return Region(unit_cube(d), at, fraction, total, sum_of_point)


def two_balls(d: int) -> Region:
    box = Box([-1] * d, [5] + [1] * (d - 1))
    return Region(box, 0.9**2, 2 * ball_volume(d) * 0.9**d / (6 * 2 ** (d - 1)), two, two_of_point)


def shell(d: int) -> Region:
    fraction = ball_volume(d) * (1 - 0.5**d) / 2**d
    return Region(centred_cube(d), 0.25, fraction, from_shell, from_shell_of_point)


def steps(d: int) -> Region:
    """One range, the others constant or of three values; the sum of all below 4.5."""
    values = [None, *([[0.0, 1.0, 3.0] if j % 2 else [0.5] for j in range(1, d)])]
    low = [0.0, *([0.0 if j % 2 else 0.5 for j in range(1, d)])]
    high = [2.0, *([3.0 if j % 2 else 0.5 for j in range(1, d)])]
    sums = [0.0]
    for of_feature in values[1:]:
        sums = [x + value for x in sums for value in of_feature or ()]
    fraction = math.fsum(min(max((4.5 - x) / 2, 0.0), 1.0) for x in sums) / len(sums)
    return Region(Box(low, high, values=values), 4.5, fraction, total, sum_of_point)


def all_discrete(d: int) -> Region:
    """Bits; fewer than half of them set."""
    fraction = sum(math.comb(d, k) for k in range(d + 1) if 2 * k < d) / 2**d
    box = Box([0] * d, [1] * d, values=[[0, 1]] * d)
    return Region(box, d / 2, fraction, total, sum_of_point)


SHAPES = (*(ball, ellipsoid, sub_box, simplex, cut_cube, two_balls, shell), *(steps, all_discrete))


# What the tests read of estimates.


def fields(estimate: VolumeEstimate) -> list[str]:
    """All fields, to be compared bit for bit; NaN is equal to itself."""
    names = (
        *("value", "standard_error", "low", "high", "log_value", "n_drawn", "n_inside"),
        *("method", "confidence_level", "threshold", "is_bound"),
    )
    return [repr(getattr(estimate, name)) for name in names]


def drawn(box: Box, n_draws: int, seed: int, method: Any = "uniform") -> Array:
    """The points at which a score is computed, in their order."""
    seen: list[Array] = []

    def keep(X: Array) -> Array:
        seen.append(X.copy())
        return np.zeros(len(X))

    volume(keep, 0.0, box, method=method, n_draws=n_draws, rng=seed)
    return np.concatenate(seen)


SQUARE = Box([0, 0], [1, 1])
# So often an interval of 95 % must cover the true value in 400 trials: four deviations below 380.
TRIALS, ENOUGH = 400, 364
# The same of methods that take longer: three deviations below 57.
SLOW_TRIALS, SLOW_ENOUGH = 60, 51
# Options of the methods that draw from the whole box.
OPTIONS: list[dict[str, Any]] = [
    {"method": "uniform", "n_draws": 10_000},
    {"method": "sobol", "n_draws": 2**10},
    {"rtol": 0.1, "n_draws": 10_000},
]

"""Regions of many features that fill tiny fractions of a box, known in closed form."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from fastad.regions.box import Box
from tests.support.volumes import (
    Array,
    Batch,
    centred_cube,
    square,
    square_of_point,
    sum_of_point,
    total,
    unit_cube,
)

# Distance of the two balls' centres from zero in each coordinate, and their radius.
_CENTRE, _RADIUS = 0.6, 0.3
# Inner radius of the shell; the outer one is 1.
_INNER = 0.9
# The shortest semi-axis of the ellipsoid; the longest is 1.
_SHORTEST = 0.1
# The fractions of multiples of these make the vectors of reflections that turn the ellipsoid.
_STEPS = (0.6180339887498949, 0.4142135623730951, 0.7320508075688772)


@dataclass(frozen=True)
class Rare:
    """Where a score is below a threshold, the logarithm of its fraction, and points of it."""

    name: str
    box: Box
    threshold: float
    log_fraction: float
    batch: Batch
    jitted: Any
    inside: Callable[[np.random.Generator, int, int], Array]  # generator, points, features

    def data(self, n: int, seed: int) -> Array:
        """Points of shape (n, d), drawn uniformly in the region."""
        return self.inside(np.random.default_rng(seed), n, self.box.n_features)


def log_ball_volume(d: int) -> float:
    """Of radius 1."""
    return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)


# Scores of one point, for any number of features, beside those of tests/support/volumes.py.


def _two(x: Array) -> float:
    upper, lower = 0.0, 0.0
    for j in range(x.shape[0]):
        upper += (x[j] - _CENTRE) ** 2
        lower += (x[j] + _CENTRE) ** 2
    return min(upper, lower) / (_RADIUS * _RADIUS)


def _from_shell(x: Array) -> float:
    return abs(math.sqrt(square_of_point(x)) - (1 + _INNER) / 2)


def _turned(x: Array) -> float:
    d = x.shape[0]
    y = x.copy()
    for step in _STEPS:
        along, length = 0.0, 0.0
        for j in range(d):
            v = ((j + 1) * step) % 1.0 - 0.5
            along += v * y[j]
            length += v * v
        for j in range(d):
            y[j] -= 2 * along / length * (((j + 1) * step) % 1.0 - 0.5)
    total = 0.0
    for j in range(d):
        total += (y[j] / _SHORTEST ** (j / max(d - 1, 1))) ** 2
    return total


two_of_point: Any = numba.njit(_two)
from_shell_of_point: Any = numba.njit(_from_shell)
turned_of_point: Any = numba.njit(_turned)


# The same scores of a batch.


def two(X: Array) -> Array:
    result: Array = np.minimum(square(X - _CENTRE), square(X + _CENTRE)) / _RADIUS**2
    return result


def from_shell(X: Array) -> Array:
    return np.abs(np.sqrt(square(X)) - (1 + _INNER) / 2)


def turned(X: Array) -> Array:
    return square(_turn(X, _STEPS) / _axes(X.shape[1]))


def _turn(X: Array, steps: tuple[float, ...]) -> Array:
    """Reflect rows, one time for each step: the matrix of it is orthogonal."""
    for step in steps:
        v = (np.arange(1, X.shape[1] + 1) * step) % 1.0 - 0.5
        X = X - 2 * np.outer(X @ v, v) / (v @ v)
    return X


def _axes(d: int) -> Array:
    axes: Array = _SHORTEST ** (np.arange(d) / max(d - 1, 1))
    return axes


# Points of the regions.


def _in_ball(rng: np.random.Generator, n: int, d: int) -> Array:
    return _between(rng, n, d, 0.0)


def _between(rng: np.random.Generator, n: int, d: int, inner: float) -> Array:
    """Points between two spheres, the outer one of radius 1."""
    X = rng.normal(size=(n, d))
    least = inner**d
    radii = (least + (1 - least) * rng.uniform(size=n)) ** (1 / d)
    result: Array = X * (radii / np.sqrt(square(X)))[:, None]
    return result


def _in_shell(rng: np.random.Generator, n: int, d: int) -> Array:
    return _between(rng, n, d, _INNER)


def _in_ellipsoid(rng: np.random.Generator, n: int, d: int) -> Array:
    return _turn(_in_ball(rng, n, d) * _axes(d), _STEPS[::-1])


def _in_simplex(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.dirichlet(np.ones(d + 1), size=n)[:, :-1]


def _in_two_balls(rng: np.random.Generator, n: int, d: int) -> Array:
    centres = np.where(rng.uniform(size=(n, 1)) < 0.5, _CENTRE, -_CENTRE)
    return centres + _RADIUS * _in_ball(rng, n, d)


# Regions.


def ball(d: int) -> Rare:
    """Of radius 1 in the box from -1 to 1."""
    log_fraction = log_ball_volume(d) - d * math.log(2)
    return Rare("ball", centred_cube(d), 1.0, log_fraction, square, square_of_point, _in_ball)


def ellipsoid(d: int) -> Rare:
    """Turned; its semi-axes go from 1 to 0.1 by equal ratios."""
    log_fraction = log_ball_volume(d) + math.fsum(np.log(_axes(d))) - d * math.log(2)
    return Rare(
        "ellipsoid", centred_cube(d), 1.0, log_fraction, turned, turned_of_point, _in_ellipsoid
    )


def simplex(d: int) -> Rare:
    """The corner of the unit cube whose coordinates sum to less than 1."""
    log_fraction = -math.lgamma(d + 1)
    return Rare("simplex", unit_cube(d), 1.0, log_fraction, total, sum_of_point, _in_simplex)


def two_balls(d: int) -> Rare:
    """Far from one another, on a diagonal of the box from -1 to 1."""
    log_fraction = math.log(2) + log_ball_volume(d) + d * math.log(_RADIUS / 2)
    return Rare("two_balls", centred_cube(d), 1.0, log_fraction, two, two_of_point, _in_two_balls)


def shell(d: int) -> Rare:
    """Between the spheres of radius 0.9 and 1."""
    log_fraction = log_ball_volume(d) + math.log1p(-(_INNER**d)) - d * math.log(2)
    half = (1 - _INNER) / 2
    return Rare(
        "shell", centred_cube(d), half, log_fraction, from_shell, from_shell_of_point, _in_shell
    )


SHAPES: dict[str, Callable[[int], Rare]] = {
    "ball": ball,
    "ellipsoid": ellipsoid,
    "simplex": simplex,
    "two_balls": two_balls,
    "shell": shell,
}

"""Regions that particles reach with difficulty, or miss; their size is known in closed form."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np

from fastad.regions.box import Box
from tests.support.rare import Rare
from tests.support.volumes import Array, centred_cube, unit_cube

# Where the valley and the needle are, in each coordinate of the unit cube.
_VALLEY, _NEEDLE = 0.4, 0.87
# Half a side of the needle at level 1, and how slowly it becomes narrower.
_HALF, _POWER = 0.12, 6
_LEVEL = 0.3  # of the needle in the valley
_WIDTH = 0.05  # of rods


def _box_of_point(x: Array) -> float:
    largest = 0.0
    for j in range(x.shape[0]):
        largest = max(largest, abs(x[j] - _VALLEY))
    return largest


def _rods_of_point(x: Array) -> float:
    largest, second = 0.0, 0.0
    for j in range(x.shape[0]):
        far = abs(x[j])
        if far > largest:
            largest, second = far, largest
        elif far > second:
            second = far
    return second


def _wide_and_needle(x: Array) -> float:
    wide, needle = 0.0, 0.0
    for j in range(x.shape[0]):
        wide = max(wide, abs(x[j] - _VALLEY))
        needle = max(needle, abs(x[j] - _NEEDLE))
    return min(math.sqrt(wide / (1 - _VALLEY)), (needle / _HALF) ** _POWER)


def _dry_and_needle(x: Array) -> float:
    wide, needle = 0.0, 0.0
    for j in range(x.shape[0]):
        wide = max(wide, abs(x[j] - _VALLEY))
        needle = max(needle, abs(x[j] - _NEEDLE))
    return min(0.2 + wide, 8 * needle)


def _never(rng: np.random.Generator, n: int, d: int) -> Array:
    raise NotImplementedError


def _in_valley_or_needle(rng: np.random.Generator, n: int, d: int) -> Array:
    """Points of the two boxes that `needle_in_valley` is, by their volumes."""
    valley, needle = _halves(_LEVEL)
    middles, halves = np.array([[_VALLEY, _NEEDLE], [valley, needle]])
    part = (rng.uniform(size=n) < 1 / (1 + (valley / needle) ** d)).astype(int)
    result: Array = middles[part, None] + halves[part, None] * rng.uniform(-1, 1, size=(n, d))
    return result


def _halves(level: float) -> tuple[float, float]:
    """Half a side of the valley and of the needle, below a level."""
    return (1 - _VALLEY) * level**2, _HALF * level ** (1 / _POWER)


@cache
def _compiled(score: Any) -> Any:
    """Return one function for all numbers of features, so that it is compiled once."""
    return numba.njit(score)


def _of(
    name: str,
    score: Any,
    box: Box,
    threshold: float,
    log_fraction: float,
    inside: Callable[[np.random.Generator, int, int], Array] = _never,
) -> Rare:
    jitted = _compiled(score)

    def batch(X: Array) -> Array:
        return np.array([score(x) for x in X])

    return Rare(name, box, threshold, log_fraction, batch, jitted, inside)


def box(d: int) -> Rare:
    """A cube of side 0.2."""
    return _of("box", _box_of_point, unit_cube(d), 0.1, d * math.log(0.2))


def rods(d: int) -> Rare:
    """Along each axis one, thin, which cross in the middle: all coordinates but one are small."""
    log_fraction = (d - 1) * math.log(_WIDTH) + math.log(_WIDTH + d * (1 - _WIDTH))
    return _of("rods", _rods_of_point, centred_cube(d), _WIDTH, log_fraction)


def needle_in_valley(d: int) -> Rare:
    """A valley that is wide at first and small at last; most of the region is a needle beside."""
    valley, needle = _halves(_LEVEL)
    log_fraction = math.log((2 * valley) ** d + (2 * needle) ** d)
    return _of(
        *("needle_in_valley", _wide_and_needle, unit_cube(d), _LEVEL, log_fraction),
        _in_valley_or_needle,
    )


def needle_below_valley(d: int) -> Rare:
    """A valley that does not come down to the threshold; the region is a needle beside."""
    level = 0.1
    log_fraction = d * math.log(2 * level / 8)
    return _of("needle_below_valley", _dry_and_needle, unit_cube(d), level, log_fraction)


SHAPES: dict[str, Callable[[int], Rare]] = {
    "box": box,
    "rods": rods,
    "needle_in_valley": needle_in_valley,
    "needle_below_valley": needle_below_valley,
}

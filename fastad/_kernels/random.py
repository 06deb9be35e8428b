"""Random numbers of a key: uniform bits, and standard normal numbers made of them.

They are splitmix64's (Steele, Lea and Flood 2014): a function of a key and a position, so that
neither threads nor the order of the work change them. Two normal numbers are made of two uniform
ones (Box and Muller 1958), by functions that compile to vector instructions.
"""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatVector
from fastad._kernels.elementary import logarithm

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)

_TWO_PI = 6.283185307179586
_UNIT = 2.0**-53


@kernel
def bits(key: np.uint64, position: int) -> np.uint64:
    """Return the 64 random bits of a key at a position."""
    z = key + (np.uint64(position) + np.uint64(1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    mixed: np.uint64 = np.uint64(z ^ (z >> np.uint64(31)))
    return mixed


@kernel
def write_normals(key: np.uint64, numbers: FloatVector) -> None:
    """Write an even number of the normal numbers of a key."""
    half = numbers.shape[0] // 2
    first = numbers[:half]
    second = numbers[half:]
    # In two loops, each of which compiles to vector instructions: one of both does not.
    for i in range(half):
        whole = np.float64(np.int64(bits(key, 2 * i) >> np.uint64(11)) + 1)
        first[i] = math.sqrt(-2.0 * logarithm(whole * _UNIT))
        second[i] = np.float64(np.int64(bits(key, 2 * i + 1) >> np.uint64(11))) * _UNIT
    for i in range(half):
        # Quarters of a turn, and a remainder of at most an eighth.
        quarter = np.int64(4.0 * second[i] + 0.5)
        x = _TWO_PI * (second[i] - 0.25 * np.float64(quarter))
        t = x * x
        # The first terms left out are 5e-17 and 7e-18.
        low = 1.0 + t * (-1 / 6 + t * (1 / 120 + t * (-1 / 5040)))
        high = 1 / 362880 + t * (-1 / 39916800 + t * (1 / 6227020800 - t / 1307674368000))
        sine = x * (low + t * t * t * t * high)
        low = 1.0 + t * (-1 / 2 + t * (1 / 24 + t * (-1 / 720 + t * (1 / 40320))))
        high = -1 / 3628800 + t * (1 / 479001600 + t * (-1 / 87178291200 + t / 20922789888000))
        cosine = low + t * t * t * t * t * high
        across = sine if quarter & np.int64(1) else cosine
        along = cosine if quarter & np.int64(1) else sine
        radius = first[i]
        first[i] = radius * across * np.float64(1 - ((quarter + np.int64(1)) & np.int64(2)))
        second[i] = radius * along * np.float64(1 - (quarter & np.int64(2)))

"""What the kernel of p-values needs for pairs of samples of one size.

Welch's degrees of freedom then lie between that of one sample and twice as many, so that one number
of terms is enough for all pairs. Fewer terms for pairs that lie far apart saved a tenth of the time
and were left out.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fastad._types import FloatVector

# What may be left out of a sum from 1 to 2.
_SMALLEST_TERM = 1e-18
# The error falls by this factor with each weighted term of an alternating sum.
_GAIN = 3 + math.sqrt(8)
# The series of the gamma functions begins here.
_FARTHEST = 13


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Sums of the p-values of pairs of samples of n each.

    Attributes
    ----------
    half : float
        Half of the least number of degrees of freedom, (n - 1) / 2.
    weights : numpy.ndarray of shape (n_terms,)
        Weights of the terms; their number is 1 modulo 4.
    scale : float
        A power of two next to the reciprocal of the factors.
    """

    half: float
    weights: FloatVector
    scale: float


@lru_cache(maxsize=8)
def terms(n: int) -> Terms:
    """Return the sums for samples of n each, n >= 2."""
    half = (n - 1) / 2
    # From here on the terms alternate, whatever the number of degrees of freedom.
    alternating = n - 1
    # The largest term, as a function of the number of degrees of freedom, for t = 0.
    a = half * np.linspace(1.0, 2.0, 33)
    size = np.ones_like(a)
    n_plain = 0
    while size.max() > _SMALLEST_TERM and n_plain < alternating:
        size *= np.abs(a - 1 - n_plain) / (a + 1 + n_plain)
        n_plain += 1
    n_weighted = max(math.ceil(math.log(2 * size.max() / _SMALLEST_TERM, _GAIN)), 0)
    n_terms = max(n_plain + n_weighted, math.ceil(_FARTHEST - half), 5)
    n_terms += -(n_terms - 1) % 4
    weights = np.array([1.0] * n_plain + _ending(n_terms - n_plain))
    scale = 2.0 ** -round(math.log2(1.5 * half + n_terms / 2))
    return Terms(half, weights, scale)


def _ending(n: int) -> list[float]:
    """Return the weights of the first n terms of an alternating sum, from near 1 down to near 0.

    Cohen, Villegas and Zagier 2000, algorithm 1.
    """
    if n == 0:
        return []
    d = (_GAIN**n + _GAIN**-n) / 2
    b, c = -1.0, -d
    weights = []
    for k in range(n):
        c = b - c
        weights.append(abs(c) / d)
        b *= (k + n) * (k - n) / ((k + 0.5) * (k + 1))
    return weights

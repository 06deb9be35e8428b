"""Intervals for a binomial share: k of n independent trials."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from scipy.special import betaincinv, ndtri

Bounds = tuple[float, float]


def wilson(k: float, n: float, doubt: float) -> Bounds:
    """Return the shares that a score test does not reject (Wilson 1927)."""
    z = -float(ndtri(doubt / 2))
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    # Rounding must not leave the ends.
    return (0.0 if k == 0 else centre - half), (1.0 if k == n else centre + half)


def clopper_pearson(k: float, n: float, doubt: float) -> Bounds:
    """Return the shares that neither exact one-sided test rejects (Clopper and Pearson 1934)."""
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, doubt / 2))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - doubt / 2))
    return low, high


def jeffreys(k: float, n: float, doubt: float) -> Bounds:
    """Return the central part of the posterior under Jeffreys' prior, open at 0 and n.

    Brown, Cai and DasGupta 2001, "Interval estimation for a binomial proportion", section 4.1.2.
    """
    low = 0.0 if k == 0 else float(betaincinv(k + 0.5, n - k + 0.5, doubt / 2))
    high = 1.0 if k == n else float(betaincinv(k + 0.5, n - k + 0.5, 1 - doubt / 2))
    return low, high


BINOMIAL: Mapping[str, Callable[[float, float, float], Bounds]] = MappingProxyType(
    {"wilson": wilson, "clopper-pearson": clopper_pearson, "jeffreys": jeffreys}
)

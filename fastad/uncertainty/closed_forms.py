"""Intervals for a binomial share: k of n independent trials."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri

from fastad._kernels.curves.influence import sum_of_powers
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.influence import Influence

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


# Closer to 0 and 1 than this no end of an interval is looked for.
_NEAREST = 1e-15


def newcombe(area: float, n: float, m: float, doubt: float) -> Bounds:
    """Return the areas whose own standard error does not set them apart from the one at hand.

    The standard error is a function of the area, as under exponential laws (Hanley and McNeil
    1982) but alike for both classes. So an area of 1 has an interval, too. Newcombe 2006,
    "Confidence intervals for an effect size measure based on the Mann-Whitney statistic, part 2",
    method 5.
    """
    # Here, because SciPy's solvers take a while to import.
    from scipy.optimize import brentq

    quantile = -float(ndtri(doubt / 2))

    def excess(other: float) -> float:
        distance = abs(area - other)
        return distance - quantile * math.sqrt(_variance(other, n, m))

    first, last = _NEAREST, 1 - _NEAREST
    inside = min(max(area, first), last)
    if excess(inside) >= 0:  # at an end, with next to no confidence
        return area, area
    low = float(brentq(excess, first, inside)) if excess(first) > 0 else 0.0
    high = float(brentq(excess, inside, last)) if excess(last) > 0 else 1.0
    return low, high


def _variance(area: float, n: float, m: float) -> float:
    others = (n + m) / 2 - 1
    by_chance = area * (1 - area)
    return by_chance * (1 + others * ((1 - area) / (2 - area) + area / (1 + area))) / (n * m)


def variance(counts: OrderedCounts, influence: Influence) -> float:
    """Return the variance of a measure.

    For the area under the ROC it is that of DeLong, DeLong and Clarke-Pearson 1988, equation (6).
    Needs two points of each class.
    """
    total = 0.0
    for values, cumulative in ((influence.anomalies, counts.tps), (influence.normals, counts.fps)):
        n = int(cumulative[-1])
        total += sum_of_powers(values, cumulative, 2) / (n - 1) / n
    return total


def plain_interval(value: float, deviation: float, bounds: Bounds, doubt: float) -> Bounds:
    """Return value and normal quantiles, clipped to what the measure can be."""
    half = -float(ndtri(doubt / 2)) * deviation
    return max(value - half, bounds[0]), min(value + half, bounds[1])


def logit_interval(value: float, deviation: float, bounds: Bounds, doubt: float) -> Bounds:
    """Return the same on the scale of the log odds, which has no ends to clip at.

    Pepe 2003, "The Statistical Evaluation of Medical Tests", section 5.2.
    """
    low, high = bounds
    share = (value - low) / (high - low)
    if deviation == 0 or not 0 < share < 1:
        return value, value
    half = -float(ndtri(doubt / 2)) * deviation / (high - low) / (share * (1 - share))
    ends = expit(logit(share) + np.array([-half, half]))
    return tuple((low + (high - low) * ends).tolist())


def pairs_interval(value: float, counts: OrderedCounts, doubt: float) -> Bounds:
    """Return what pairs of points that share none can tell of the area under the ROC.

    An area of 1 leaves no variance to estimate. But of min(n, m) such pairs, independent of one
    another, each has its anomaly above its normal with the probability that the area is; all had.
    A share of pairs stands for the number of them.
    """
    n_pairs = int(min(counts.n_anomalies, counts.n_normals))
    return clopper_pearson(value * n_pairs, n_pairs, doubt)

"""Ends of intervals, from closed forms and from replicates."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from scipy.special import betainccinv, betaincinv, expit, gammaincinv, logit, ndtr, ndtri, stdtrit

from fastad._core.types import FloatVector
from fastad._kernels.curves.influence import sum_of_powers
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.samples.influence import Influence

Bounds = tuple[float, float]


def normal_quantile(alpha: float) -> float:
    """Return the standard deviations beyond which, on both sides, lies a probability of alpha."""
    return -float(ndtri(alpha / 2))


def student_quantile(alpha: float, df: float) -> float:
    """Return the two-sided quantile of Student's t (normal in the limit)."""
    if math.isinf(df):
        return normal_quantile(alpha)
    quantile = -float(stdtrit(df, alpha / 2))
    if quantile == -math.inf:  # of few degrees and a level below 1e-290 it has the wrong sign
        quantile = math.sqrt(df * (1 / float(betaincinv(df / 2, 0.5, alpha)) - 1))
    return quantile


def student_over_normal(alpha: float, df: float) -> float:
    """Return the ratio of both quantiles; 1 where they are 0, at a confidence level near 0."""
    normal = normal_quantile(alpha)
    return student_quantile(alpha, df) / normal if normal else 1.0


def wilson(k: float, n: float, alpha: float) -> Bounds:
    """Return the proportions that a score test does not reject (Wilson 1927)."""
    z = normal_quantile(alpha)
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    # Rounding must not leave the ends.
    return (0.0 if k == 0 else centre - half), (1.0 if k == n else centre + half)


def clopper_pearson(k: float, n: float, alpha: float) -> Bounds:
    """Return the proportions that no exact one-sided test rejects (Clopper and Pearson 1934)."""
    low = 0.0 if k == 0 else _beta_quantile(k, n - k + 1, alpha / 2)
    high = 1.0 if k == n else _upper_beta_quantile(k + 1, n - k, alpha / 2)
    return low, high


def jeffreys(k: float, n: float, alpha: float) -> Bounds:
    """Return the central part of the posterior under Jeffreys' prior, open at 0 and n.

    Brown, Cai and DasGupta 2001, "Interval estimation for a binomial proportion", section 4.1.2.
    """
    low = 0.0 if k == 0 else _beta_quantile(k + 0.5, n - k + 0.5, alpha / 2)
    high = 1.0 if k == n else _upper_beta_quantile(k + 0.5, n - k + 0.5, alpha / 2)
    return low, high


def _beta_quantile(a: float, b: float, probability: float) -> float:
    """Return a quantile of a beta distribution; 0 where SciPy has none, of probabilities as 1e-200.

    There it is below 1e-30.
    """
    quantile = float(betaincinv(a, b, probability))
    return 0.0 if math.isnan(quantile) else quantile


def _upper_beta_quantile(a: float, b: float, probability: float) -> float:
    """Return the quantile above which a beta distribution has a probability; 1 where none is known.

    One less the probability would be 1 below 1e-16.
    """
    quantile = float(betainccinv(a, b, probability))
    return 1.0 if math.isnan(quantile) else quantile


BINOMIAL: Mapping[str, Callable[[float, float, float], Bounds]] = MappingProxyType(
    {"wilson": wilson, "clopper-pearson": clopper_pearson, "jeffreys": jeffreys}
)


# The measures are right to 1e-14 or so: below this fraction of their range, and this, differences
# and standard deviations are 0 but for rounding.
_ROUNDING = 1e-12
# Closer to 0 and 1 than this no end of an interval is searched.
_NEAREST = 1e-15


def newcombe(area: float, n: float, m: float, alpha: float) -> Bounds:
    """Return the areas that do not differ significantly from the observed one.

    The standard error is a function of the area, as for exponential distributions (Hanley and
    McNeil 1982) but the same for both classes. So an area of 1 has an interval, too. Newcombe 2006,
    "Confidence intervals for an effect size measure based on the Mann-Whitney statistic, part 2",
    method 5.
    """
    # Imported here, because scipy.optimize takes a while to import.
    from scipy.optimize import brentq

    quantile = normal_quantile(alpha)

    def excess(candidate: float) -> float:
        distance = abs(area - candidate)
        return distance - quantile * math.sqrt(newcombe_variance(candidate, n, m))

    first, last = _NEAREST, 1 - _NEAREST
    inside = min(max(area, first), last)
    if excess(inside) >= 0:  # at an end, at a confidence level near 0
        return area, area
    low = float(brentq(excess, first, inside)) if excess(first) > 0 else 0.0
    high = float(brentq(excess, inside, last)) if excess(last) > 0 else 1.0
    return low, high


def newcombe_variance(area: float, n: float, m: float) -> float:
    """Return the variance of an area under the ROC curve by Newcombe's method 5."""
    mean_size = (n + m) / 2 - 1
    binomial = area * (1 - area)
    return binomial * (1 + mean_size * ((1 - area) / (2 - area) + area / (1 + area))) / (n * m)


def variance(counts: OrderedCounts, influence: Influence) -> float:
    """Return the variance of a measure.

    DeLong, DeLong and Clarke-Pearson 1988, equation (6), for the area under the ROC curve.
    Needs two samples of each class.
    """
    total = 0.0
    for values, cumulative in ((influence.anomalies, counts.tps), (influence.normals, counts.fps)):
        n = int(cumulative[-1])
        total += sum_of_powers(values, cumulative, 2) / (n - 1) / n
    return total


def rounding_of(bound: BoundMeasure) -> float:
    """Return the largest difference that may be rounding alone."""
    low, high = bound.bounds
    return _ROUNDING * min(1.0, high - low)


def standard_error_of(variance: float, bound: BoundMeasure) -> float:
    """Return the root of the variance of a measure, 0 where that is rounding alone."""
    error = math.sqrt(variance)
    return 0.0 if error <= rounding_of(bound) else error


def symmetric_ends(value: float, half: float, bounds: Bounds) -> Bounds:
    """Return the ends so far from the value, clipped to the range of the measure."""
    return max(value - half, bounds[0]), min(value + half, bounds[1])


def logit_ends(value: float, half: float, bounds: Bounds) -> Bounds:
    """Return the same on the scale of the log odds, which has no ends to clip at.

    A value at an end of the range has no log odds. Pepe 2003, "The Statistical Evaluation of
    Medical Tests", section 5.2.
    """
    low, high = bounds
    scaled = (value - low) / (high - low)
    if half == 0 or not 0 < scaled < 1:
        return symmetric_ends(value, half, bounds)
    step = half / (high - low) / (scaled * (1 - scaled))
    ends = expit(logit(scaled) + np.array([-step, step]))
    return tuple((low + (high - low) * ends).tolist())


def gamma_ends(value: float, standard_error: float, bounds: Bounds, alpha: float) -> Bounds:
    """Return the ends if few samples decide how far the value is from an end of its range.

    The distance of k samples that are each as far varies as the number of them does, which is
    Poisson distributed: the distance is that of (distance / standard error)^2 samples. Fewer may be
    usual: the true value is nearer to the end, but for Garwood's limit (Biometrika 28, 1936), which
    fails with a probability of alpha.
    """
    low, high = bounds
    nearer = []
    for distance in (value - low, high - value):
        k = (distance / standard_error) ** 2
        nearer.append(distance * float(gammaincinv(k, alpha)) / k if k > 0 else 0.0)
    return low + nearer[0], high - nearer[1]


def pairs_interval(value: float, counts: OrderedCounts, alpha: float) -> Bounds:
    """Return an interval of the area under the ROC curve from disjoint pairs of samples.

    An area of 1 leaves no variance to estimate. But min(n, m) disjoint pairs are independent, and
    each has its anomaly above its normal sample with the probability that the area is; all had.
    Their number is the area times the number of pairs.
    """
    n_pairs = int(min(counts.n_anomalies, counts.n_normals))
    return clopper_pearson(value * n_pairs, n_pairs, alpha)


def widened(replicates: FloatVector, centre: float, factor: float | None) -> FloatVector:
    """Return replicates with their distances from a centre multiplied; None leaves them."""
    return replicates if factor is None else centre + factor * (replicates - centre)


def percentile(replicates: FloatVector, alpha: float) -> Bounds:
    """Return the central part of the replicates."""
    low, high = np.quantile(replicates, [alpha / 2, 1 - alpha / 2]).tolist()
    return low, high


def basic(value: float, replicates: FloatVector, alpha: float) -> Bounds:
    """Return the percentiles, reflected at the value."""
    low, high = percentile(replicates, alpha)
    return 2 * value - high, 2 * value - low


def bias_corrected(
    value: float, replicates: FloatVector, acceleration: float, alpha: float
) -> Bounds:
    """Return percentiles corrected for bias and for a variance that changes with the value.

    BCa, DiCiccio and Efron 1996, equation (2.3).
    """
    below = np.count_nonzero(replicates < value) + np.count_nonzero(replicates == value) / 2
    # All replicates on one side would put an end at infinity.
    fraction = min(max(below, 0.5), replicates.shape[0] - 0.5) / replicates.shape[0]
    bias = ndtri(fraction)
    quantile = float(ndtri(alpha / 2))
    shifted = bias + np.array([quantile, -quantile])
    # Beyond this the ends would change places.
    denominator = np.maximum(1 - acceleration * shifted, 0.1)
    low, high = np.quantile(replicates, ndtr(bias + shifted / denominator)).tolist()
    return low, high


def acceleration(counts: OrderedCounts, influence: Influence) -> float:
    """Return the acceleration of BCa intervals, from the skewness of the influences.

    Efron 1987, "Better bootstrap confidence intervals", equation (7.3), over both classes; O(n).
    """
    squares = cubes = 0.0
    for values, cumulative in ((influence.anomalies, counts.tps), (influence.normals, counts.fps)):
        total = float(cumulative[-1])
        squares += sum_of_powers(values, cumulative, 2) / total**2
        cubes += sum_of_powers(values, cumulative, 3) / total**3
    return cubes / (6 * squares**1.5) if squares > 0 else 0.0

"""Variances from influences, and the intervals that follow from them."""

import numpy as np
from scipy.special import expit, logit, ndtri

from fastad._kernels.influence import sum_of_powers
from fastad.certainty.influence import Influence
from fastad.certainty.proportions import Bounds, clopper_pearson
from fastad.counts import OrderedCounts


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

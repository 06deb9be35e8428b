"""From replicates to intervals (Efron and Tibshirani 1993; DiCiccio and Efron 1996)."""

import numpy as np
from scipy.special import ndtr, ndtri

from fastad._kernels.influence import sum_of_powers
from fastad._types import FloatVector
from fastad.certainty.influence import Influence
from fastad.certainty.proportions import Bounds
from fastad.counts import OrderedCounts


def percentile(replicates: FloatVector, doubt: float) -> Bounds:
    """Return the central part of the replicates."""
    low, high = np.quantile(replicates, [doubt / 2, 1 - doubt / 2]).tolist()
    return low, high


def basic(value: float, replicates: FloatVector, doubt: float) -> Bounds:
    """Return what is left if replicates err as the value itself does."""
    low, high = percentile(replicates, doubt)
    return 2 * value - high, 2 * value - low


def bias_corrected(
    value: float, replicates: FloatVector, acceleration: float, doubt: float
) -> Bounds:
    """Return percentiles that allow for bias and for a variance that moves with the value.

    BCa, DiCiccio and Efron 1996, equation (2.3).
    """
    below = np.count_nonzero(replicates < value) + np.count_nonzero(replicates == value) / 2
    # All replicates on one side would put an end at infinity.
    share = min(max(below, 0.5), replicates.shape[0] - 0.5) / replicates.shape[0]
    bias = ndtri(share)
    reach = float(ndtri(doubt / 2))
    shifted = bias + np.array([reach, -reach])
    # Beyond this an end would turn round.
    stretch = np.maximum(1 - acceleration * shifted, 0.1)
    low, high = np.quantile(replicates, ndtr(bias + shifted / stretch)).tolist()
    return low, high


def acceleration(counts: OrderedCounts, influence: Influence) -> float:
    """Return how fast the standard deviation moves with the value, from the influences' skewness.

    Efron 1987, "Better bootstrap confidence intervals", equation (7.3), over both classes; O(n).
    """
    squares = cubes = 0.0
    for values, cumulative in ((influence.anomalies, counts.tps), (influence.normals, counts.fps)):
        total = float(cumulative[-1])
        squares += sum_of_powers(values, cumulative, 2) / total**2
        cubes += sum_of_powers(values, cumulative, 3) / total**3
    return cubes / (6 * squares**1.5) if squares > 0 else 0.0

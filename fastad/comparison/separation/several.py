"""Welch's test of equal means of several groups with their own variances."""

import math
from dataclasses import dataclass

import numpy as np

from fastad.comparison.separation.models import Models


@dataclass(frozen=True, slots=True)
class Overall:
    """Statistic, degrees of freedom and p-value; NaN where they are undefined."""

    f: float
    df_between: float
    df_within: float
    p_value: float


def welch_test(models: Models) -> Overall:
    """Test all models at once (Welch 1951).

    Without variance there are no weights: equal means give F = 0 and p = 1, two models without
    variance and with different means an infinite F and p = 0; whatever else is undefined.
    """
    # Here, because `import fastad` is to stay light.
    from scipy.special import fdtrc

    n, k = models.n_models, models.n_folds
    means, deviations = models.means, models.deviations
    constant = means[deviations == 0.0]
    if constant.shape[0] > 0:
        if means[0] == means[-1]:
            return Overall(0.0, n - 1.0, math.nan, 1.0)
        if constant[0] < constant[-1]:
            return Overall(math.inf, n - 1.0, math.nan, 0.0)
        return Overall(math.nan, n - 1.0, math.nan, math.nan)
    smallest = float(deviations.min())
    weights = (smallest / deviations) ** 2
    total = math.fsum(weights)
    # From the lowest mean, so that equal means differ by exactly nothing.
    above = means - means[0]
    centred = above - math.fsum(weights * above) / total
    # An infinite F where a quotient is beyond the floats.
    with np.errstate(over="ignore"):
        between = math.fsum(k * (centred / deviations) ** 2) / (n - 1)
    uneven = math.fsum((1.0 - weights / total) ** 2) / (k - 1)
    f = between / (1.0 + 2.0 * (n - 2) / (n * n - 1.0) * uneven)
    df_within = (n * n - 1.0) / (3.0 * uneven)
    return Overall(f, n - 1.0, df_within, float(fdtrc(n - 1.0, df_within, f)))

"""Tukey's statistic q of all pairs: a difference of means in units that all pairs share.

Hence all that is asked of it comes from sorted means, without looking at each pair.
"""

import math
from dataclasses import dataclass

import numpy as np

from fastad._kernels.pairs import count_differences, select_difference
from fastad.comparison.separation.models import Models


@dataclass(frozen=True, slots=True)
class Tukey:
    """Tukey's criteria of one level."""

    q: float
    mean: float
    median: float
    n_infinite: int
    n_separable: int


def tukey(models: Models, critical: float) -> Tukey:
    """Compute the criteria, and count pairs whose q exceeds the critical value."""
    means, n_pairs = models.means, models.n_pairs
    unit = standard_error(models)
    q = _extremes(models)
    if unit == 0.0:
        n_infinite = n_pairs - count_differences(means, 1.0, 0.0)
        finite = 0.0 if n_infinite < n_pairs else math.nan
        return Tukey(q, finite, finite, n_infinite, n_infinite)
    below = np.arange(1, models.n_models)
    # Each gap between neighbours lies in the differences of those below and those above.
    total = math.fsum(np.diff(means) * (below * below[::-1]))
    middle = {(n_pairs - 1) // 2, n_pairs // 2}
    median = math.fsum(select_difference(means, rank) / unit for rank in middle) / len(middle)
    n_separable = n_pairs - count_differences(means, unit, critical)
    return Tukey(q, total / n_pairs / unit, median, 0, n_separable)


def standard_error(models: Models) -> float:
    """Return the root of the mean variance over the number of folds."""
    largest = float(models.deviations.max())
    if largest == 0.0:
        return 0.0
    squares = math.fsum((models.deviations / largest) ** 2)
    return largest * math.sqrt(squares / models.n_models) / models.root


def _extremes(models: Models) -> float:
    """Return q of the best and the worst model with the variance of these two; NaN if infinite."""
    means = models.means
    spread = float(means[-1] - means[0])
    if spread == 0.0:
        return 0.0
    # Where several are worst, the last of them varies most, and so does the last of the best.
    worst = int(np.searchsorted(means, means[0], side="right")) - 1
    pooled = math.hypot(models.deviations[worst], models.deviations[-1]) / math.sqrt(2.0)
    return spread / (pooled / models.root) if pooled > 0.0 else math.nan

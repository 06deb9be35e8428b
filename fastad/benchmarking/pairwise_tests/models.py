"""The models of one level in the order of their means, and how their pairs are shared out."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.rank_tests.folds import summarize

# Pairs of one step, after which an interrupt is noticed: a tenth of a second.
_PAIRS_A_STEP = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """Means and standard deviations over folds, by rising mean, where these tie by deviation.

    In units of a power of two that makes the largest value at most 1: no statistic depends on it.

    Attributes
    ----------
    means, deviations : numpy.ndarray of shape (n_models,)
        Deviations with k - 1; exactly 0 for equal values.
    order : numpy.ndarray of shape (n_models,)
        Place of each model among those that were given.
    n_folds : int
        Number of folds k.
    """

    means: FloatVector
    deviations: FloatVector
    order: IntVector
    n_folds: int

    @classmethod
    def of(cls, values: FloatMatrix) -> "Models":
        """Summarise finite values of shape (n_models, n_folds)."""
        n_models, n_folds = values.shape
        _, exponent = math.frexp(float(np.abs(values).max()))
        # Sorted, so that the order of folds does not change a bit.
        folds = np.sort(np.ldexp(values, -exponent), axis=1)
        means, deviations = np.empty(n_models), np.empty(n_models)
        summarize(folds, means, deviations)
        order = np.lexsort((deviations, means))
        return cls(means[order], deviations[order], order, n_folds)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return int(self.means.shape[0])

    @property
    def n_pairs(self) -> int:
        """Number of pairs of models."""
        return self.n_models * (self.n_models - 1) // 2

    @property
    def root(self) -> float:
        """Root of the number of folds."""
        return math.sqrt(self.n_folds)

    @property
    def n_constant(self) -> int:
        """Number of models whose values are all equal."""
        return int(np.count_nonzero(self.deviations == 0.0))

    def steps(self) -> list[tuple[int, int]]:
        """Share out the rows of pairs (i, j), i < j; the same for any number of threads."""
        pairs_before = np.cumsum(np.arange(self.n_models - 1, 0, -1))
        number = (pairs_before - 1) // _PAIRS_A_STEP
        ends = np.append(np.flatnonzero(np.diff(number)) + 1, self.n_models - 1)
        return list(pairwise([0, *ends.tolist()]))


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

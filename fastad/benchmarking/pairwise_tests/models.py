"""The models of one level, the test of all of them at once, and critical values for pairs."""

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from fastad._core.floats import SMALLEST_P, positive_p
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.rank_tests.folds import summarize

# Pairs of one step, after which an interrupt is noticed: a tenth of a second.
_PAIRS_A_STEP = 2**22
# Negligible terms of a sum from 1 to 2.
_SMALLEST_TERM = 1e-18
# The error falls by this factor with each weighted term of an alternating sum.
_GAIN = 3 + math.sqrt(8)
# The series of the gamma functions begins here.
_FARTHEST = 13
# One more than a multiple of four coefficients; with fewer where these are enough.
_DEGREES = (8, 12, 16, 20, 24, 32, 40)
_ENOUGH = 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """Means and standard deviations over folds, by rising mean, where these tie by deviation.

    In units of a power of two that makes the largest value at most 1: no statistic depends on it.
    """

    # Deviations with k - 1; exactly 0 for equal values.
    means: FloatVector
    deviations: FloatVector
    order: IntVector  # index of each model among those that were given
    n_folds: int  # number of folds k

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
        """Divide the rows of pairs (i, j), i < j, into steps, whatever the number of threads."""
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
            return Overall(math.inf, n - 1.0, math.nan, SMALLEST_P)
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
    return Overall(f, n - 1.0, df_within, positive_p(float(fdtrc(n - 1.0, df_within, f))))


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Sums of the p-values of pairs of samples of n each, for the kernel.

    Welch's degrees of freedom are between n - 1 and 2 (n - 1), so that one number
    of terms is enough for all pairs. Fewer terms for pairs that lie far apart saved a tenth of the
    time and were left out.
    """

    half: float  # half of the least number of degrees of freedom, (n - 1) / 2
    weights: FloatVector  # weights of the terms; their number is 1 modulo 4
    scale: float  # a power of two next to the reciprocal of the factors


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


@lru_cache(maxsize=8)
def welch_coefficients(n_folds: int, alpha: float) -> FloatVector:
    """Return Student's two-sided critical value as a polynomial in the degrees of freedom.

    With n = `n_folds`, of x = 4 (n - 1) / nu - 3 in [-1, 1], lowest power first. Measured against
    the critical values themselves, the best of some degrees: 2e-15 of the value for an alpha of
    0.05, and for 2 folds and one of 1e-6 still 1e-13.
    """
    # Here, because `import fastad` is to stay light.
    from scipy.special import stdtrit

    def critical(x: FloatVector) -> FloatVector:
        nu = (n_folds - 1) * 4.0 / (x + 3.0)
        return np.asarray(-stdtrit(nu, alpha / 2), np.float64)

    grid = np.linspace(-1.0, 1.0, 301)
    exact = critical(grid)
    best, smallest = np.zeros(1), np.inf
    for degree in _DEGREES:
        nodes = np.polynomial.chebyshev.chebpts1(degree + 1)
        # At Chebyshev's points a fit of degree ``degree`` is exact.
        series = np.polynomial.chebyshev.chebfit(nodes, critical(nodes), degree)
        powers = np.asarray(np.polynomial.chebyshev.cheb2poly(series), np.float64)
        # cheb2poly drops trailing zeros.
        powers = np.pad(powers, (0, degree + 1 - powers.shape[0]))
        error = np.max(np.abs(np.polynomial.polynomial.polyval(grid, powers) / exact - 1.0))
        if error < smallest:
            best, smallest = powers, error
        if smallest <= _ENOUGH:
            break
    return best


@lru_cache(maxsize=64)
def tukey_critical(n_models: int, n_folds: int, alpha: float) -> float:
    """Return the critical value of the studentized range of the means of all models."""
    nu = n_models * (n_folds - 1)
    if n_models == 2:
        # The range of two means is a difference: SciPy's integral loses three digits here.
        from scipy.special import stdtrit

        return float(-stdtrit(nu, alpha / 2) * np.sqrt(2.0))
    # Here, because SciPy's statistics take half a second to import.
    from scipy.stats import studentized_range

    with warnings.catch_warnings():
        # Warns of its integral far out, where the bracket of the root begins.
        warnings.simplefilter("ignore")
        return float(studentized_range.ppf(1 - alpha, n_models, nu))

"""Critical values: what a statistic must exceed at some level."""

import warnings
from functools import lru_cache

import numpy as np

from fastad._types import FloatVector

# One more than a multiple of four coefficients; with fewer where these are enough.
_DEGREES = (8, 12, 16, 20, 24, 32, 40)
_ENOUGH = 1e-15


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
        # At Chebyshev's points a fit with as many coefficients goes through them.
        series = np.polynomial.chebyshev.chebfit(nodes, critical(nodes), degree)
        powers = np.asarray(np.polynomial.chebyshev.cheb2poly(series), np.float64)
        # Of trailing zeros it keeps none.
        powers = np.pad(powers, (0, degree + 1 - powers.shape[0]))
        error = np.max(np.abs(np.polynomial.polynomial.polyval(grid, powers) / exact - 1.0))
        if error < smallest:
            best, smallest = powers, error
        if smallest <= _ENOUGH:
            break
    return best


@lru_cache(maxsize=64)
def tukey_critical(n_models: int, n_folds: int, alpha: float) -> float:
    """Return the critical value of the studentized range of so many means."""
    nu = n_models * (n_folds - 1)
    if n_models == 2:
        # The range of two means is a difference: SciPy's integral loses three digits here.
        from scipy.special import stdtrit

        return float(-stdtrit(nu, alpha / 2) * np.sqrt(2.0))
    # Here, because SciPy's statistics take half a second to import.
    from scipy.stats import studentized_range

    with warnings.catch_warnings():
        # Of its integral far out, where the bracket of the root begins.
        warnings.simplefilter("ignore")
        return float(studentized_range.ppf(1 - alpha, n_models, nu))

"""``bayesian_hierarchical_t``: detectors on the splits of many data sets, as one model."""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fastad._core.parameters import check_count, check_inside
from fastad._core.random import numbered_generator, random_key
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_map
from fastad._core.types import FloatMatrix, FloatVector, Point
from fastad.benchmarking.bayesian import BayesianComparison, as_comparison, check_rope
from fastad.benchmarking.means import defined_mean, differences
from fastad.benchmarking.ranks import CompleteMerits, shared_points
from fastad.benchmarking.result_table import Results
from fastad.errors import UndefinedMeasureError

# Parallel chains, and draws of each that are left out at the beginning.
_N_CHAINS, _N_WARMUP = 20, 200
# Degrees of freedom, less 1: points of the grid.
_GRID = np.geomspace(0.05, 2000, 33)
# The prior of the degrees of freedom, and the bound of deviations in their own unit, as in baycomp.
_SHAPES, _RATES, _BOUND = (1.0, 2.0), (0.01, 0.1), 1000.0


@suggests_arguments
def bayesian_hierarchical_t(
    results: Results,
    *,
    test_fraction: Point,
    measure: str | None = None,
    rope: Point = 0.01,
    n_draws: int = 4000,
    rng: int | np.random.Generator | None = None,
) -> BayesianComparison:
    """Compare each two detectors by the hierarchical correlated t-test, over data sets and folds.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models, a row for each data set and split (``fold``); a detector's best model
        on a data set counts.
    test_fraction : float
        Fraction of the samples that each split tests on, in (0, 1): 1 / k for k folds. It is the
        correlation of the differences on two splits.
    measure : str, optional
        Key of the measure; it may be left out where the table has one alone.
    rope : float, default 0.01
        Difference up to which detectors are equivalent in practice, at least 0, in the unit of
        the measure. To be chosen before the results are seen.
    n_draws : int, default 4000
        Number of draws of the posterior, in 20 chains.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the draws.

    Returns
    -------
    BayesianComparison
        Probabilities of being better, equivalent and worse on another data set.

    Raises
    ------
    InvalidInputError
        If there is one detector only, or ``rope`` is negative.
    UndefinedMeasureError
        If there are fewer than two data sets on which both of two detectors have values in two
        splits, or a value is infinite.

    See Also
    --------
    bayesian_signed_rank : From the mean over folds alone.
    resampled_t_test : One data set.

    Notes
    -----
    Differences on the splits of a data set i are normal, with mean d_i, deviation s_i and equal
    correlations; d_i have Student's distribution about d_0, with scale s_0 and m degrees of
    freedom. Priors are baycomp's: uniform for d_0 and the deviations, and for m - 1 a
    gamma distribution with a shape from 1 to 2 and a rate from 0.01 to 0.1, on a grid of 33 values.
    The posterior probability of a region is the fraction of draws of (d_0, s_0, m), by Gibbs
    sampling, by which the difference on another data set is most likely there.

    Splits that only one of two detectors has do not count, nor do data sets with fewer than two.
    Where all differences on a data set are equal, its deviation is the deviation of uniform numbers
    within the region, as in baycomp.

    O(n) time for each draw and pair of detectors on n data sets.

    References
    ----------
    .. [1] G. Corani, A. Benavoli, J. Demšar, F. Mangili and M. Zaffalon, "Statistical comparison of
       classifiers through Bayesian hierarchical modelling", 2017.
    .. [2] Y. Yu and X.-L. Meng, "To center or not to center: that is not the question", 2011.

    Examples
    --------
    >>> import fastad, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal([[0.9], [0.8]], 0.02, (12, 2, 5))
    >>> results = fastad.ResultTable.from_arrays({"auc": values}, detectors=["knn", "lof"])
    >>> test = fastad.benchmarking.bayesian_hierarchical_t(results, test_fraction=0.2, rng=0)
    >>> bool(test.p_better[0, 1] > 0.99)
    True
    """
    half_width, n_draws = check_rope(rope), check_count(n_draws, "n_draws")
    correlation = float(check_inside(test_fraction, "test_fraction"))
    key = random_key(rng)
    complete = CompleteMerits.of(results, measure, "hierarchical comparisons", 2)
    order = complete.by_mean("hierarchical comparisons")
    values = complete.column.sign * complete.by_fold()[:, order]
    detectors = complete.names(order)
    pairs = list(combinations(range(len(order)), 2))
    n_kept = -(-n_draws // _N_CHAINS)

    def compare(p: int) -> FloatMatrix:
        i, j = pairs[p]
        change = differences(values[:, i], values[:, j])
        names = f"{detectors[i]} and {detectors[j]}"
        folds = _Folds.of(change, half_width, correlation, names)
        generator = numbered_generator(key, p)
        return _region_fractions(*folds.draw(n_kept, generator), half_width)

    by_chain = np.array(thread_map(compare, range(len(pairs))))
    return as_comparison(
        complete,
        order,
        by_chain.mean(axis=1),
        rope=half_width,
        method="hierarchical-t",
        n_draws=n_kept * _N_CHAINS,
        monte_carlo_error=float(np.max(by_chain.std(axis=1, ddof=1))) / math.sqrt(_N_CHAINS),
        _notes=[*complete.notes, *shared_points(complete.clusters, "probabilities", "")],
    )


@dataclass(frozen=True, slots=True)
class _Folds:
    """What the model needs of the differences on the splits of each data set."""

    means: FloatVector
    weights: FloatVector  # of a mean: the number of splits that it is worth, at variance 1
    squares: FloatVector  # sum of squared deviations from the mean, over 1 less the correlation
    sizes: FloatVector
    bounds: tuple[float, float, float]  # of the location's size, deviations and scale

    @classmethod
    def of(cls, change: FloatMatrix, rope: float, correlation: float, names: str) -> "_Folds":
        sizes = np.count_nonzero(~np.isnan(change), axis=1)
        change = change[sizes > 1]
        sizes = sizes[sizes > 1].astype(np.float64)
        if len(sizes) < 2 or not np.isfinite(change[~np.isnan(change)]).all():
            found = len(sizes) if len(sizes) < 2 else "an infinite value"
            raise UndefinedMeasureError(
                f"a hierarchical comparison of {names} needs finite values of both in two splits "
                f"of two data sets; found {found}"
            )
        means = defined_mean(change, axis=1)
        squares = np.nansum((change - means[:, np.newaxis]) ** 2, axis=1)
        if rope == 0 and np.any(squares == 0):
            raise UndefinedMeasureError(
                f"a hierarchical comparison of {names} without a region needs differences that "
                "vary on each data set; found equal ones"
            )
        squares[squares == 0] = (sizes * rope**2 / 3)[squares == 0]
        within = float(np.mean(np.sqrt(squares / sizes)))
        among = float(np.std(means)) or within
        bounds = float(np.nanmax(np.abs(change))) or rope, _BOUND * within, _BOUND * among
        weights = sizes / (1 + (sizes - 1) * correlation)
        return cls(means, weights, squares / (1 - correlation), sizes, bounds)

    def draw(
        self, n_kept: int, rng: np.random.Generator
    ) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
        """Draw location, scale and degrees of freedom of each chain, shape (n_kept, n_chains)."""
        # Here, because SciPy's special functions take a tenth of a second to import.
        from scipy.special import gammaln, ndtr, ndtri

        shape = _N_CHAINS, len(self.means)
        location_bound, deviation_bound, scale_bound = self.bounds
        log_prior, df_grid = _log_prior_of_df(), 1 + _GRID
        # The factor of Student's density.
        log_constant = gammaln((df_grid + 1) / 2) - gammaln(df_grid / 2) - np.log(df_grid) / 2
        kept = np.empty((3, n_kept, _N_CHAINS))
        deltas = self.means + rng.standard_normal(shape) * np.sqrt(self.squares / self.sizes**2)
        location = deltas.mean(axis=1)
        scale = deltas.std(axis=1)
        deviations = np.tile(np.sqrt(self.squares / self.sizes), (_N_CHAINS, 1))
        for step in range(-_N_WARMUP, n_kept):
            # A draw beyond a bound is left: a step of Metropolis's within its region.
            rates = (self.squares + self.weights * (self.means - deltas) ** 2) / 2
            new = np.sqrt(rates / rng.standard_gamma((self.sizes - 1) / 2, shape))
            deviations = np.where(new < deviation_bound, new, deviations)
            precisions = self.weights / deviations**2
            # The degrees of freedom, without the weights of the data sets, then these.
            squares = ((deltas - location[:, np.newaxis]) / scale[:, np.newaxis]) ** 2
            logs = np.log1p(squares[..., np.newaxis] / df_grid).sum(axis=1)
            log_density = log_prior + shape[1] * log_constant - (df_grid + 1) / 2 * logs
            density = np.cumsum(np.exp(log_density - log_density.max(axis=1)[:, None]), axis=1)
            chosen = density < density[:, -1:] * rng.random((_N_CHAINS, 1))
            df = df_grid[np.count_nonzero(chosen, axis=1)]
            of_df = df[:, np.newaxis]
            trust = rng.standard_gamma(np.broadcast_to((of_df + 1) / 2, shape))
            trust /= (of_df + squares) / 2
            pull = trust / scale[:, np.newaxis] ** 2
            total = precisions + pull
            deltas = (precisions * self.means + pull * location[:, np.newaxis]) / total
            deltas += rng.standard_normal(shape) / np.sqrt(total)
            # Location and scale given the differences of the data sets ...
            weight = trust.sum(axis=1)
            new = (trust * deltas).sum(axis=1) / weight
            new += rng.standard_normal(_N_CHAINS) * scale / np.sqrt(weight)
            location = np.where(np.abs(new) < location_bound, new, location)
            rates = (trust * (deltas - location[:, np.newaxis]) ** 2).sum(axis=1) / 2
            new = np.sqrt(rates / rng.standard_gamma((shape[1] - 1) / 2, _N_CHAINS))
            scale = np.where((new > 0) & (new < scale_bound), new, scale)
            # ... and given these in units of the scale, which moves where they vary little.
            units = (deltas - location[:, np.newaxis]) / scale[:, np.newaxis]
            total = (precisions * units**2).sum(axis=1)
            rest = self.means - location[:, np.newaxis]
            mean, error = (precisions * units * rest).sum(axis=1) / total, 1 / np.sqrt(total)
            new = mean - error * ndtri(rng.random(_N_CHAINS) * ndtr(mean / error))
            scale = np.where((new > 0) & (new < scale_bound), new, scale)
            total = precisions.sum(axis=1)
            rest = self.means - scale[:, np.newaxis] * units
            new = (precisions * rest).sum(axis=1) / total
            new += rng.standard_normal(_N_CHAINS) / np.sqrt(total)
            location = np.where(np.abs(new) < location_bound, new, location)
            deltas = location[:, np.newaxis] + scale[:, np.newaxis] * units
            if step >= 0:
                kept[:, step] = location, scale, df
        return kept[0], kept[1], kept[2]


def _log_prior_of_df() -> FloatVector:
    """Return the logarithm of the prior probability of each degree of freedom of the grid.

    The probability of the cell around it, averaged over shapes and rates.
    """
    from scipy.special import gammainc

    nodes, weights = np.polynomial.legendre.leggauss(16)
    shapes, rates = (low + (high - low) * (nodes + 1) / 2 for low, high in (_SHAPES, _RATES))
    ends = np.concatenate([[0.0], np.sqrt(_GRID[1:] * _GRID[:-1]), [np.inf]])
    below = gammainc(shapes[:, None, None], rates[:, None] * ends)
    cells: FloatVector = np.einsum("i,j,ijg->g", weights, weights, np.diff(below)) / 4
    return np.log(cells)


def _region_fractions(
    location: FloatMatrix, scale: FloatMatrix, df: FloatMatrix, rope: float
) -> FloatMatrix:
    """Return in which fraction of the draws of each chain each region is the most likely."""
    from scipy.special import stdtr

    below = stdtr(df, (-rope - location) / scale)
    above = stdtr(df, (location - rope) / scale)
    regions = np.argmax([below, 1 - below - above, above], axis=0)
    return np.stack([np.mean(regions == region, axis=0) for region in range(3)], axis=1)

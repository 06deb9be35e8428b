"""Bayesian comparison of detectors: probabilities of being better, equivalent and worse."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_count, exact_number
from fastad._core.random import numbered_generator, random_key
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_map
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, IntVector, Point
from fastad._kernels.rank_tests.regions import count_regions
from fastad.benchmarking.detector_pairs import PairMatrix, pair_matrix
from fastad.benchmarking.means import defined_mean, differences
from fastad.benchmarking.ranks import CompleteMerits
from fastad.benchmarking.result_table import Results
from fastad.errors import InvalidInputError

# Weight of the difference 0 beside the data sets, each of which has 1: Benavoli's prior.
_PRIOR = 0.5
# Draws whose weights are in memory at once.
_BLOCK = 1000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BayesianComparison(PairMatrix):
    """Probabilities that a detector is better than another, or equivalent; prints as a matrix.

    Frames have a row for each two, ``first`` the better by mean.

    Attributes
    ----------
    detectors : sequence of str
        Names, the best mean first.
    p_better, p_equivalent : numpy.ndarray of shape (n_detectors, n_detectors)
        Probability that the detector of the row is better than the column's by more than ``rope``,
        and that neither is; NaN on the diagonal.
    rope : float
        Largest difference that is of no consequence: half of the region of practical equivalence.
    method, measure, data : str
        The model, key of the measure, and how many data sets.
    n_draws : int
        Number of draws of the posterior.
    monte_carlo_error : float
        Largest standard error of the probabilities because of the number of draws.
    """

    detectors: Sequence[str]
    p_better: FloatMatrix
    p_equivalent: FloatMatrix
    rope: float
    method: str
    measure: str
    data: str
    n_draws: int
    monte_carlo_error: float
    _notes: Sequence[str]

    @property
    def p_worse(self) -> FloatMatrix:
        """Probability that the detector of the row is worse by more than ``rope``."""
        worse: FloatMatrix = self.p_better.T
        return worse

    @property
    def notes(self) -> list[str]:
        """What the cells are, and the data sets that were left out."""
        return [
            f"row better, equivalent within {self.rope:g}, worse ({self.method}, {self.data}; "
            f"Monte Carlo error at most {self.monte_carlo_error:.2g})",
            *self._notes,
        ]

    @property
    def shades(self) -> FloatMatrix:
        """Probability of being better less the probability of being worse."""
        return self.p_better - self.p_worse

    def cell(self, i: int, j: int) -> tuple[str, ...]:
        """Return the three probabilities."""
        three = self.p_better[i, j], self.p_equivalent[i, j], self.p_better[j, i]
        return tuple(f"{p:.2f}" for p in three)

    def _matrices(self) -> dict[str, npt.NDArray[Any]]:
        return {name: getattr(self, name) for name in ("p_better", "p_equivalent", "p_worse")}


@suggests_arguments
def bayesian_signed_rank(
    results: Results,
    *,
    measure: str | None = None,
    rope: Point = 0.01,
    n_draws: int = 10_000,
    rng: int | np.random.Generator | None = None,
) -> BayesianComparison:
    """Compare each two detectors by the Bayesian signed-rank test over data sets.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets, averaged over folds; a detector's best model counts.
    measure : str, optional
        Key of the measure; it may be left out where the table has one alone.
    rope : float, default 0.01
        Difference up to which detectors are equivalent in practice, at least 0, in the unit of
        the measure. To be chosen before the results are seen.
    n_draws : int, default 10000
        Number of draws of the posterior.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the draws.

    Returns
    -------
    BayesianComparison
        Probabilities of being better, equivalent and worse.

    Raises
    ------
    InvalidInputError
        If there is one detector only, or ``rope`` is negative.
    UndefinedMeasureError
        If there is no data set on which every detector has a finite value.

    See Also
    --------
    bayesian_hierarchical_t : From the values on each fold.
    wilcoxon_holm : The test that this one corresponds to.
    fastad.plot.PairMatrixDisplay : The picture.

    Notes
    -----
    Data sets have random weights, of Dirichlet's distribution with parameter 1 for each data set,
    shared by its problems, and 0.5 for a difference of 0. The mean of two differences drawn by
    these weights lies below, within, or above the region from ``-rope`` to ``rope``; the posterior
    probability of a region is the fraction of draws in which it is the most likely one.

    O(n) time for each draw and O(n^2) for each pair of detectors on n data sets.

    References
    ----------
    .. [1] A. Benavoli, F. Mangili, G. Corani, M. Zaffalon and F. Ruggeri, "A Bayesian Wilcoxon
       signed-rank test based on the Dirichlet process", 2014.
    .. [2] A. Benavoli, G. Corani, J. Demšar and M. Zaffalon, "Time for a change: a tutorial for
       comparing multiple classifiers through Bayesian analysis", 2017, section 4.2.

    Examples
    --------
    >>> import fastad, numpy as np
    >>> values = np.random.default_rng(0).normal([0.9, 0.89, 0.8], 0.02, (12, 3))
    >>> results = fastad.ResultTable.from_arrays({"auc": values}, detectors=["knn", "lof", "svm"])
    >>> test = fastad.benchmarking.bayesian_signed_rank(results, rng=0)
    >>> bool(test.p_better[0, 2] > 0.99)
    True
    """
    half_width, n_draws = check_rope(rope), check_count(n_draws, "n_draws")
    key = random_key(rng)
    complete = CompleteMerits.of(results, measure, "differences of detectors")
    order = complete.by_mean("differences of detectors")
    columns = np.ascontiguousarray(complete.merits[:, order].T)
    pairs = list(combinations(range(len(order)), 2))
    sides = [_sides(columns[i], columns[j], half_width) for i, j in pairs]
    counts = np.zeros((len(pairs), 3), np.int64)
    for start in range(0, n_draws, _BLOCK):
        generator = numbered_generator(key, start)
        size = min(_BLOCK, n_draws - start)
        weights = np.empty((size, len(complete.clusters) + 1))
        by_dataset = generator.standard_exponential((size, complete.n_datasets))
        weights[:, :-1] = by_dataset[:, complete.clusters]
        # Problems have the whole weight of their data set, and the prior as many times its own.
        problems_a_dataset = len(complete.clusters) / complete.n_datasets
        weights[:, -1] = generator.standard_gamma(_PRIOR, size) * problems_a_dataset
        thread_map(partial(_count, weights), list(zip(sides, counts, strict=True)))
    fractions = counts / (2 * n_draws)
    return as_comparison(
        complete,
        order,
        fractions,
        rope=half_width,
        method="signed-rank",
        n_draws=n_draws,
        monte_carlo_error=math.sqrt(float(np.max(fractions * (1 - fractions))) / n_draws),
        _notes=complete.notes,
    )


def _sides(first: FloatVector, second: FloatVector, rope: float) -> tuple[IntVector, IntMatrix]:
    """Return the order of differences, and how many partners of each lie where the mean is below.

    Below the region, below or at its lower end, below or at its upper end, below its upper end.
    """
    change = np.append(differences(first[np.newaxis], second[np.newaxis])[0], 0.0)
    order = np.argsort(change, kind="stable")
    rising = change[order]
    # Exact, as rates are decimals: a mean of two may lie at an end of the region.
    means = defined_mean(np.stack(np.broadcast_arrays(rising, rising[:, np.newaxis])), axis=0)
    sides = means < -rope, means <= -rope, means <= rope, means < rope
    return order, np.count_nonzero(sides, axis=2)


def _count(weights: FloatMatrix, pair: tuple[tuple[IntVector, IntMatrix], IntVector]) -> None:
    (order, starts), counts = pair
    count_regions(weights, order, starts, np.empty(len(order) + 1), counts)


def check_rope(rope: Point) -> float:
    """Check half the width of a region of practical equivalence."""
    exact: Fraction = exact_number(rope, "rope")
    if exact < 0:
        raise InvalidInputError(f"rope must be at least 0; found {rope!r}")
    return float(exact)


def as_comparison(
    complete: CompleteMerits, order: IntVector, fractions: FloatMatrix, **attributes: Any
) -> BayesianComparison:
    """Return matrices of the fractions of draws that are worse, equivalent and better."""
    worse, equivalent, better = fractions.T
    return BayesianComparison(
        complete.names(order),
        pair_matrix(better, worse),
        pair_matrix(equivalent, equivalent),
        measure=complete.column.key,
        data=complete.data,
        **attributes,
    )

"""p-values of all pairs of models at one level."""

from typing import Literal, TypeAlias

import numpy as np

from fastad._core.threads import in_steps, thread_map
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.rank_tests.pairs import matrix_pass
from fastad._kernels.rank_tests.student import two_sided
from fastad.benchmarking.pairwise_tests.critical import terms
from fastad.benchmarking.pairwise_tests.models import Models
from fastad.benchmarking.pairwise_tests.welch import (
    LARGEST_CORRECTED,
    PairCorrection,
    standard_error,
)
from fastad.errors import InvalidInputError
from fastad.uncertainty.corrections import CORRECTIONS, shaffer

PairTest: TypeAlias = Literal["welch", "tukey"]

# Integrals of one step, after which an interrupt is noticed: some tenths of a second.
_INTEGRALS_A_STEP = 100


def pair_p_values(
    values: FloatMatrix, *, test: PairTest = "welch", correction: PairCorrection = "none"
) -> FloatMatrix:
    """Compute the two-sided p-values of all pairs of models.

    Welch's take some ten nanoseconds a pair, and 1e-13 of them is rounding. Tukey's are integrals
    that SciPy computes: a millisecond for each distinct difference of means, and exact to about
    1e-13, whatever their size.

    Parameters
    ----------
    values : numpy.ndarray of shape (n_models, n_folds)
        Finite; at least two models and two folds.
    test : {"welch", "tukey"}, default "welch"
        Tukey's p-values are corrected for all pairs as they are.
    correction : str, default "none"
        For Welch's test, also "bonferroni", "holm", "shaffer" (up to `LARGEST_CORRECTED` models)
        and "benjamini-hochberg".

    Returns
    -------
    numpy.ndarray of shape (n_models, n_models)
        Symmetric, in [0, 1]; 1 on the diagonal and for equal means, 0 for different means without
        variance.

    Raises
    ------
    InvalidInputError
        If the correction does not suit the test or the number of models.
    """
    n_models = values.shape[0]
    if test == "tukey" and correction != "none":
        raise InvalidInputError(
            "correction must be 'none' for Tukey's test, which corrects itself; "
            f"found {correction!r}",
            argument="correction",
        )
    if correction == "shaffer" and n_models > LARGEST_CORRECTED:
        raise InvalidInputError(
            f"correction 'shaffer' takes at most {LARGEST_CORRECTED} models; found {n_models}"
        )
    models = Models.of(values)
    if test == "tukey":
        return _tukey(models)
    matrix = _welch(models)
    if correction == "none":
        return matrix
    upper = np.triu_indices(n_models, 1)
    correct = shaffer if correction == "shaffer" else CORRECTIONS[correction]
    return _symmetric(correct(matrix[upper]), n_models)


def _welch(models: Models) -> FloatMatrix:
    sums = terms(models.n_folds)
    matrix = np.ones((models.n_models, models.n_models))

    def write(rows: tuple[int, int]) -> None:
        numbers = (models.root, sums.half, sums.scale)
        matrix_pass(
            models.means, models.deviations, rows, numbers, sums.weights, models.order, matrix
        )

    thread_map(write, models.steps())
    return matrix


def _tukey(models: Models) -> FloatMatrix:
    """Integrate once for each distinct difference of means."""
    n, unit = models.n_models, standard_error(models)
    upper = np.triu_indices(n, 1)
    means = np.empty(n)
    means[models.order] = models.means
    differences, places = np.unique(np.abs(means[upper[0]] - means[upper[1]]), return_inverse=True)
    p_values = np.where(differences > 0.0, 0.0, 1.0)
    inside = np.flatnonzero(differences > 0.0) if unit > 0.0 else np.empty(0, np.int64)
    steps = in_steps(0, inside.shape[0], _INTEGRALS_A_STEP)
    q = differences[inside] / (unit if unit > 0.0 else 1.0)
    parts = thread_map(lambda step: _range_p_values(q[step.start : step.stop], models), steps)
    p_values[inside] = np.concatenate([np.empty(0), *parts])
    return _symmetric(p_values[places], n)


def _range_p_values(q: FloatVector, models: Models) -> FloatVector:
    """Return the probabilities that the studentized range is at least q."""
    nu = models.n_models * (models.n_folds - 1)
    if models.n_models == 2:
        # The range of two means is a difference, and that of Student's is exact far out.
        return np.array([two_sided(x / np.sqrt(2.0), float(nu)) for x in q.tolist()])
    # Here, because SciPy's statistics take half a second to import.
    from scipy.stats import studentized_range

    return np.clip(studentized_range.sf(q, models.n_models, nu), 0.0, 1.0)


def _symmetric(upper: FloatVector, n_models: int) -> FloatMatrix:
    """Return the matrix of pairs (i, j), i < j, in rows; 1 on its diagonal."""
    matrix = np.ones((n_models, n_models))
    places = np.triu_indices(n_models, 1)
    matrix[places] = upper
    matrix[places[::-1]] = upper
    return matrix

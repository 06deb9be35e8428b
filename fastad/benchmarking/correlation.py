"""Kendall's rank correlation between measures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import N_RESAMPLES
from fastad._core.threads import in_steps, thread_limit, thread_map
from fastad._core.types import Point
from fastad._kernels.rank_tests.concordance import concordance
from fastad.benchmarking.matrix import MeasureMatrix, averaged
from fastad.benchmarking.resampling import check_resampling
from fastad.benchmarking.result_table import Results, as_results
from fastad.benchmarking.selection import Merits, merits_of

# Problems that a thread takes at once.
_STEP = 16


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KendallMatrix(MeasureMatrix):
    """Kendall's tau between measures over models, averaged over data sets; in [-1, 1]."""

    _names: ClassVar[tuple[str, str, str]] = ("measure", "other", "tau")


def kendall_matrix(
    results: Results,
    *,
    measures: Sequence[str] | None = None,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    n_threads: int | None = None,
) -> KendallMatrix:
    """Rank correlation between measures over models, averaged over data sets.

    Parameters
    ----------
    results : ResultTable, or what `ResultTable.from_table` reads
        Measures of models on data sets; averaged over folds.
    measures : sequence of str, optional
        Labels of the measures; by default all of the table.
    confidence_level : float, default 0.95
        Of each interval, in (0, 1).
    n_resamples : int, default 2000
        Number of times that data sets are drawn again.
    rng : int or numpy.random.Generator, optional
        Seed of the intervals.
    n_threads : int, optional
        Threads over data sets.

    Returns
    -------
    KendallMatrix
        Mean tau over data sets with its interval; prints as the papers' table.

    Raises
    ------
    InvalidInputError
        If an argument is not as described, or a measure is not in the table.

    Notes
    -----
    Kendall's tau_b = (C - D) / sqrt((P - T_1)(P - T_2)) of the C pairs of models that two measures
    order alike, the D that they order unlike, and those among all P that the one or the other
    ties. Measures where lower is better are turned round first, so that agreement is positive. A
    model that lacks one of two measures is left out for these two; a data set where tau is
    undefined, because a measure ties all models, is left out and counted. The ``"mean"`` of a row
    contains its diagonal, as in the paper.

    O(n_datasets n_measures^2 n_models log n_models) time.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 5.2, Table 5.
    .. [2] W. R. Knight, "A computer method for calculating Kendall's tau with ungrouped data",
       Journal of the American Statistical Association 61, 1966.

    Examples
    --------
    >>> import fastad
    >>> auc, tpr = [[0.9, 0.8, 0.7]], [[0.5, 0.6, 0.1]]
    >>> results = fastad.ResultTable.from_arrays({"auc": auc, "tpr@0.05": tpr})
    >>> print(fastad.benchmarking.kendall_matrix(results, rng=0))
    measure     auc  tpr@0.05   mean
    auc          -      0.33¹  0.67¹
    tpr@0.05  0.33¹        -   0.67¹
    """
    table = as_results(results, measures)
    resampling = check_resampling(table.clusters, confidence_level, n_resamples, rng)
    with thread_limit(n_threads):
        tau = kendall_by_problem(merits_of(table, table.measures))
    own, missing = table.measures, table.missing_rows()
    return KendallMatrix(**averaged(tau, own, own, table.problems, resampling, missing))


def kendall_by_problem(merits: Merits) -> npt.NDArray[np.float64]:
    """Return tau_b of each problem and every two measures; NaN where it is undefined."""
    n_problems, n_models, n_measures = merits.shape
    by_measure = np.ascontiguousarray(merits.transpose(0, 2, 1))
    balance = np.empty((n_problems, n_measures, n_measures), np.int64)
    untied = np.empty_like(balance)

    def count(problems: range) -> None:
        room = np.empty((2, n_models))
        for i in problems:
            orders = np.argsort(by_measure[i], axis=1)
            concordance(by_measure[i], orders, balance[i], untied[i], room)

    thread_map(count, in_steps(0, n_problems, _STEP))
    pairs = untied * untied.transpose(0, 2, 1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        tau: npt.NDArray[np.float64] = balance / np.sqrt(pairs)
    return tau

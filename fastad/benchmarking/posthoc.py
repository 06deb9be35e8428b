"""``nemenyi`` and ``wilcoxon_holm``: which detectors differ significantly."""

import math
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np

from fastad._core.arrays import set_all_readonly
from fastad._core.floats import SMALLEST_P, positive_p
from fastad._core.parameters import N_RESAMPLES, check_inside, short_repr
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import count_text
from fastad._core.types import FloatMatrix, FloatVector, IntVector, Point
from fastad.benchmarking.rank_comparison import RankComparison, runs_without_difference
from fastad.benchmarking.rank_distributions import range_quantile, range_tail, signed_ranks
from fastad.benchmarking.ranks import CompleteMerits, rank_rows, shared_points
from fastad.benchmarking.resampling import check_resampling
from fastad.benchmarking.result_table import Results, ResultTable, as_results
from fastad.errors import InvalidInputError
from fastad.uncertainty.comparisons.corrections import CORRECTIONS

# Columns of the first and of the second detector of each pair, the better mean rank first.
_Pairs: TypeAlias = tuple[IntVector, IntVector]


@suggests_arguments
def nemenyi(
    results: Results,
    *,
    measure: str | None = None,
    control: str | None = None,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> RankComparison:
    """Compare the mean ranks of every two detectors, or of all with a control.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets; averaged over folds.
        Detectors are ranked as by `average_ranks`.
    measure : str, optional
        Key of the measure; it may be left out where the table has one alone.
    control : str, optional
        Name of a detector to compare the others with, and only these pairs: fewer, so that
        smaller differences are significant. It must be chosen before the results are seen. By
        default every two are compared.
    confidence_level : float, default 0.95
        Confidence level of each interval; family-wise for the comparisons, in (0, 1).
    n_resamples : int, default 2000
        Replicates of the intervals: data sets with random weights.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the replicates.

    Returns
    -------
    RankComparison
        Mean ranks, the critical difference, p-values, and which detectors differ significantly.

    Raises
    ------
    InvalidInputError
        If there is one detector only.
    UndefinedMeasureError
        If there is no data set on which every detector has a value.

    See Also
    --------
    friedman : Whether detectors differ at all; to be tested first.
    wilcoxon_holm : Compares values, not only ranks, and each pair by itself.
    fastad.plot.CriticalDifferenceDisplay : The picture.

    Notes
    -----
    Mean ranks of n data sets and k detectors differ with the standard error
    sqrt(k (k + 1) / (6 n)). With z the difference in its unit, p-values are from the normal
    distribution. For every two they are adjusted by the distribution of the range of k normal
    numbers at sqrt(2) z (Nemenyi's test), and with a control they are multiplied by k - 1
    (Bonferroni's and Dunn's). The critical difference is the z at which they fall to
    ``1 - confidence_level``, times the standard error. It does not allow for ties, which make it
    too large. For two detectors the test is the exact sign test, because the normal approximation
    of four data sets calls one of eight pairs of equal detectors different.

    O(n k log k + k^2) time, then O(n k) for each replicate.

    References
    ----------
    .. [1] P. B. Nemenyi, "Distribution-free multiple comparisons", 1963.
    .. [2] O. J. Dunn, "Multiple comparisons among means", 1961.
    .. [3] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", 2006,
       section 3.2.2.

    Examples
    --------
    >>> import fastad
    >>> auc = [[0.9, 0.8, 0.7], [0.9, 0.8, 0.6], [0.8, 0.7, 0.5], [0.9, 0.8, 0.5]]
    >>> results = fastad.ResultTable.from_arrays({"auc": auc}, detectors=["knn", "lof", "svm"])
    >>> print(fastad.benchmarking.nemenyi(results, measure="auc", rng=0))
    auc  mean rank  95 % interval  p against knn  p, nemenyi
    knn      1.00¹   [1.00, 2.19]              -           -
    lof      2.00    [1.40, 2.60]           0.16        0.33
    svm      3.00    [1.81, 3.00]         0.0047       0.013
    knn is better than svm; no other differences are significant (auc, 4 data sets, nemenyi, 95 %)
    critical difference: 1.657
    """
    test = partial(_compare_mean_ranks, has_control=control is not None)
    return _compare(results, measure, control, confidence_level, n_resamples, rng, test)


class _PairTest(NamedTuple):
    """Result of a test of pairs of detectors, with an entry for each pair.

    The advantage is positive where the first detector is better. ``smallest`` returns the smallest
    adjusted p-value that a number of data sets can give.
    """

    method: str
    p_values: FloatVector
    adjusted_p_values: FloatVector
    advantage: FloatVector
    critical_difference: float | None
    smallest: Callable[[int], float]


def _compare_mean_ranks(
    merits: FloatMatrix, ranks: FloatMatrix, pairs: _Pairs, alpha: float, *, has_control: bool
) -> _PairTest:
    n, k = ranks.shape
    # Sums of ranks are multiples of a half, and so exact: equal differences are one.
    sums = ranks.sum(axis=0)
    difference = sums[pairs[1]] - sums[pairs[0]]
    error = math.sqrt(k * (k + 1) / (6 * n))
    method = "bonferroni-dunn" if has_control else "nemenyi"
    if k == 2:
        untied = np.count_nonzero(ranks[:, 0] != ranks[:, 1])
        p_values = np.array([_sign_test(int(abs(difference[0])), int(untied))])
        # One more than all would be needed where all do not suffice.
        reached = [each for each in range(n, -1, -2) if _sign_test(each, n) <= alpha]
        critical = (reached[-1] if reached else n + 2) / n
        return _PairTest(
            method, p_values, p_values, difference, critical, lambda n: _sign_test(n, n)
        )
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import ndtr, ndtri

    def adjust(z: FloatVector) -> FloatVector:
        if has_control:
            return np.asarray(np.minimum(2 * ndtr(-z) * (k - 1), 1), np.float64)
        return range_tail(math.sqrt(2) * z, k)

    def smallest(n_datasets: int) -> float:
        return float(adjust(np.array([(k - 1) * math.sqrt(6 * n_datasets / (k * (k + 1)))]))[0])

    sizes, which = np.unique(np.abs(difference), return_inverse=True)
    z = sizes / (n * error)
    if has_control:
        critical = -float(ndtri(alpha / (2 * (k - 1))))
    else:
        critical = range_quantile(alpha, k) / math.sqrt(2)
    p_values = np.maximum(2 * ndtr(-z)[which], SMALLEST_P)
    adjusted = np.maximum(adjust(z)[which], SMALLEST_P)
    return _PairTest(method, p_values, adjusted, difference, critical * error, smallest)


def _sign_test(advantage: int, n: int) -> float:
    """Return the two-sided p-value of ``advantage`` more wins than losses among n."""
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import bdtr

    return positive_p(min(1.0, 2 * float(bdtr((n - advantage) // 2, n, 0.5))))


@suggests_arguments
def wilcoxon_holm(
    results: Results,
    *,
    measure: str | None = None,
    control: str | None = None,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> RankComparison:
    """Compare every two detectors, or all with a control, by Wilcoxon's signed ranks.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets; averaged over folds.
        On each data set a detector stands for the best of its models.
    measure : str, optional
        Key of the measure; it may be left out where the table has one alone.
    control : str, optional
        Name of a detector to compare the others with, and only these pairs. It must be chosen
        before the results are seen. By default every two are compared.
    confidence_level : float, default 0.95
        Confidence level of each interval of a mean rank, in (0, 1); family-wise for the
        comparisons, whose p-values Holm's correction adjusts for their number.
    n_resamples : int, default 2000
        Replicates of the intervals: data sets with random weights.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the replicates.

    Returns
    -------
    RankComparison
        Mean ranks, p-values, and which detectors differ significantly. There is no critical
        difference.

    Raises
    ------
    InvalidInputError
        If there is one detector only.
    UndefinedMeasureError
        If there is no data set on which every detector has a value.

    See Also
    --------
    nemenyi : Compares mean ranks, on which other detectors have a bearing.

    Notes
    -----
    Differences of two detectors are ranked over data sets by their size, and the ranks of those in
    favour of each are added up. Data sets without a difference are ranked with the others, and half
    of their ranks goes to each sum (Demšar), where they stay when the p-value counts changes of the
    other signs (Pratt): exactly up to 50 data sets, with ties too, by the normal distribution
    beyond. The detector with the larger sum is the better of a pair, in rare cases not the one with
    the better mean rank. Differences of rates and decimals are tied where
    they are equal as fractions: 0.9 - 0.8 and 0.7 - 0.6, which floats round apart.

    With n data sets the smallest p-value is 2 / 2^n. Where it cannot reach the level with the
    correction, the notes say so, and how many data sets can.

    Each pair takes O(n log n) time for n data sets, up to 50 of them O(n^3).

    References
    ----------
    .. [1] F. Wilcoxon, "Individual comparisons by ranking methods", 1945.
    .. [2] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", 2006,
       section 3.1.3.
    .. [3] J. W. Pratt, "Remarks on zeros and ties in the Wilcoxon signed rank procedures", 1959.
    .. [4] S. Holm, "A simple sequentially rejective multiple test procedure", 1979.

    Examples
    --------
    >>> import fastad
    >>> knn = [0.91, 0.82, 0.73, 0.94, 0.85, 0.96, 0.87, 0.78]
    >>> auc = [[value, value - 0.01 * i] for i, value in enumerate(knn, start=1)]
    >>> results = fastad.ResultTable.from_arrays({"auc": auc}, detectors=["knn", "lof"])
    >>> test = fastad.benchmarking.wilcoxon_holm(results, measure="auc", rng=0)
    >>> test.significant_pairs, float(test.p_values[0, 1])
    ([('knn', 'lof')], 0.0078125)
    """
    test = _compare_signed_ranks
    return _compare(results, measure, control, confidence_level, n_resamples, rng, test)


def _compare_signed_ranks(
    merits: FloatMatrix, ranks: FloatMatrix, pairs: _Pairs, alpha: float
) -> _PairTest:
    p_values, advantage = signed_ranks(merits, *pairs)
    adjust = CORRECTIONS["holm"]

    def smallest(n_datasets: int) -> float:
        # One detector of each pair is better on every data set: both signs of all are as extreme.
        return float(adjust(np.full(len(p_values), 2.0 ** (1 - n_datasets)))[0])

    return _PairTest("wilcoxon-holm", p_values, adjust(p_values), advantage, None, smallest)


def check_control(table: ResultTable, control: str | None) -> None:
    """Check the name of the detector to compare the others with."""
    if control is not None and (not isinstance(control, str) or control not in table.detectors):
        raise InvalidInputError(
            f"control must be one of {', '.join(table.detectors)}; found {short_repr(control)}"
        )


def _compare(
    results: Results,
    measure: str | None,
    control: str | None,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    test: Callable[[FloatMatrix, FloatMatrix, _Pairs, float], _PairTest],
) -> RankComparison:
    """Rank detectors on the data sets where all have values, and test the pairs.

    The test takes merits and ranks of detectors in order of mean rank, the pairs of their columns,
    and its level.
    """
    table = as_results(results, None)
    alpha = float(1 - check_inside(confidence_level, "confidence_level"))
    resampling = check_resampling(table.clusters, confidence_level, n_resamples, rng)
    complete = CompleteMerits.of(table, measure, "comparisons of detectors")
    check_control(table, control)
    ranks = rank_rows(complete.merits)
    order = np.argsort(ranks.sum(axis=0), kind="stable")
    ranks, merits = ranks[:, order], complete.merits[:, order]
    n, k = ranks.shape
    detectors, data = complete.names(order), complete.data
    first, second = np.triu_indices(k, 1)
    if control is not None:
        other = np.delete(np.arange(k), detectors.index(control))
        first, second = (end(detectors.index(control), other) for end in (np.minimum, np.maximum))
    tested = test(merits, ranks, (first, second), alpha)
    significant = tested.adjusted_p_values <= alpha
    wins = np.zeros((k, k), np.bool_)
    wins[first, second] = significant & (tested.advantage > 0)
    wins[second, first] = significant & (tested.advantage < 0)
    runs = runs_without_difference(wins | wins.T) if control is None else []
    by_pair, adjusted_by_pair = np.full((2, k, k), np.nan)
    by_pair[first, second] = by_pair[second, first] = tested.p_values
    adjusted_by_pair[first, second] = adjusted_by_pair[second, first] = tested.adjusted_p_values
    notes = [*complete.notes, *shared_points(complete.clusters)]
    if (least := tested.smallest(n)) > alpha:
        enough = next(i for i in count(n + 1) if tested.smallest(i) <= alpha)
        notes.append(
            f"no difference can be significant on {data}: the smallest possible p-value, "
            f"adjusted for {count_text(len(first), 'pair')}, is {least:.2g}; {enough} would do"
        )
    all_ranks = np.full((table.n_datasets, k), np.nan)
    all_ranks[complete.counted] = ranks
    means = resampling.bounded_means(all_ranks, 1, k)
    set_all_readonly(by_pair, adjusted_by_pair, wins)
    return RankComparison(
        detectors=detectors,
        mean_ranks=means.value,
        low=means.low,
        high=means.high,
        critical_difference=tested.critical_difference,
        p_values=by_pair,
        adjusted_p_values=adjusted_by_pair,
        wins=wins,
        groups=[tuple(detectors[first : last + 1]) for first, last in runs],
        control=control,
        method=tested.method,
        measure=complete.column.key,
        n_datasets=n,
        data=data,
        confidence_level=resampling.confidence_level,
        n_resamples=resampling.n_resamples,
        _notes=notes,
    )

"""``nemenyi`` and ``wilcoxon_holm``: which detectors differ significantly."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import N_RESAMPLES, check_choice, check_inside, short_repr
from fastad._core.text_tables import count_text
from fastad._core.types import Correction, FloatMatrix, FloatVector, IntVector, Point
from fastad.benchmarking.rank_comparison import RankComparison, runs_without_difference
from fastad.benchmarking.rank_distributions import range_quantile, range_tail, signed_ranks
from fastad.benchmarking.ranks import (
    best_merits,
    check_detectors,
    notes_of_ranks,
    rank_rows,
    shared_points,
)
from fastad.benchmarking.reading import problems_text
from fastad.benchmarking.resampling import Means, check_resampling
from fastad.benchmarking.result_table import Results, ResultTable, as_results
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.uncertainty.comparisons.corrections import CORRECTIONS


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
    ranked = _rank(results, measure, control, confidence_level, n_resamples, rng)
    n, k = ranked.ranks.shape
    first, second = ranked.pairs
    # Sums of ranks are multiples of a half, and so exact: equal differences are one.
    sums = ranked.ranks.sum(axis=0)
    difference = sums[second] - sums[first]
    error = math.sqrt(k * (k + 1) / (6 * n))
    sizes, which = np.unique(np.abs(difference), return_inverse=True)
    method = "nemenyi" if control is None else "bonferroni-dunn"
    if k == 2:
        untied = np.count_nonzero(ranked.ranks[:, 0] != ranked.ranks[:, 1])
        p_values = np.array([_sign_test(int(abs(difference[0])), int(untied))])
        # One more than all would be needed where all do not suffice.
        reached = [each for each in range(n, -1, -2) if _sign_test(each, n) <= ranked.alpha]
        critical = (reached[-1] if reached else n + 2) / n
        return ranked.comparison(
            p_values, p_values, difference, critical, method, lambda n: _sign_test(n, n)
        )
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import ndtr, ndtri

    def adjust(z: FloatVector) -> FloatVector:
        if control is None:
            return range_tail(math.sqrt(2) * z, k)
        return np.asarray(np.minimum(2 * ndtr(-z) * (k - 1), 1), np.float64)

    def smallest(n_datasets: int) -> float:
        return float(adjust(np.array([(k - 1) * math.sqrt(6 * n_datasets / (k * (k + 1)))]))[0])

    z = sizes / (n * error)
    if control is None:
        critical = range_quantile(ranked.alpha, k) / math.sqrt(2)
    else:
        critical = -float(ndtri(ranked.alpha / (2 * (k - 1))))
    return ranked.comparison(
        2 * ndtr(-z)[which],
        adjust(z)[which],
        difference,
        critical * error,
        method,
        smallest,
    )


def _sign_test(advantage: int, n: int) -> float:
    """Return the two-sided p-value of ``advantage`` more wins than losses among n."""
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr((n - advantage) // 2, n, 0.5)))


def wilcoxon_holm(
    results: Results,
    *,
    measure: str | None = None,
    control: str | None = None,
    correction: Correction = "holm",
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
    correction : {"holm", "benjamini-hochberg", "bonferroni", "none"}, default "holm"
        Correction of the p-values for the number of pairs that are compared, as for `compare_all`.
    confidence_level : float, default 0.95
        Confidence level of each interval of a mean rank, in (0, 1). 1 less it is the level of all
        comparisons together by Holm's and Bonferroni's corrections, of each by itself without a
        correction, and of the proportion of false ones by Benjamini's and Hochberg's.
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
    check_choice(correction, tuple(CORRECTIONS), "correction")
    ranked = _rank(results, measure, control, confidence_level, n_resamples, rng)
    p_values, advantage = signed_ranks(ranked.merits, *ranked.pairs)
    adjust = CORRECTIONS[correction]

    def smallest(n_datasets: int) -> float:
        # One detector of each pair is better on every data set: both signs of all are as extreme.
        return float(adjust(np.full(len(p_values), 2.0 ** (1 - n_datasets)))[0])

    return ranked.comparison(
        p_values, adjust(p_values), advantage, None, f"wilcoxon-{correction}", smallest
    )


def check_control(table: ResultTable, control: str | None) -> None:
    """Check the name of the detector to compare the others with."""
    if control is not None and (not isinstance(control, str) or control not in table.detectors):
        raise InvalidInputError(
            f"control must be one of {', '.join(table.detectors)}; found {short_repr(control)}",
            argument="control",
        )


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Detectors in order of mean rank, on the data sets that count, and the pairs to compare."""

    detectors: list[str]
    merits: FloatMatrix
    ranks: FloatMatrix
    means: Means
    control: str | None
    measure: str
    data: str
    alpha: float
    confidence_level: float
    n_resamples: int
    notes: list[str]

    @property
    def pairs(self) -> tuple[IntVector, IntVector]:
        """First and second detector of each pair, the better mean rank first."""
        if self.control is None:
            return np.triu_indices(len(self.detectors), 1)
        control = self.detectors.index(self.control)
        others = np.delete(np.arange(len(self.detectors)), control)
        return np.minimum(control, others), np.maximum(control, others)

    def comparison(
        self,
        p_values: FloatVector,
        adjusted: FloatVector,
        advantage: FloatVector,
        critical_difference: float | None,
        method: str,
        smallest: Callable[[int], float],
    ) -> RankComparison:
        """Return the result, from p-values and the advantage of the first detector of each pair.

        ``smallest`` returns the smallest adjusted p-value that a number of data sets can give.
        """
        first, second = self.pairs
        k = len(self.detectors)
        significant = adjusted <= self.alpha
        wins = np.zeros((k, k), np.bool_)
        wins[first, second] = significant & (advantage > 0)
        wins[second, first] = significant & (advantage < 0)
        runs = runs_without_difference(wins | wins.T) if self.control is None else []
        by_pair, adjusted_by_pair = np.full((2, k, k), np.nan)
        for square, values in ((by_pair, p_values), (adjusted_by_pair, adjusted)):
            square[first, second] = square[second, first] = values
        means = self.means
        set_all_readonly(means.value, means.low, means.high, by_pair, adjusted_by_pair, wins)
        return RankComparison(
            self.detectors,
            means.value,
            means.low,
            means.high,
            critical_difference,
            by_pair,
            adjusted_by_pair,
            wins,
            [tuple(self.detectors[first : last + 1]) for first, last in runs],
            self.control,
            method,
            self.measure,
            len(self.ranks),
            self.data,
            self.confidence_level,
            self.n_resamples,
            self.notes + self._too_few(smallest),
        )

    def _too_few(self, smallest: Callable[[int], float]) -> list[str]:
        """Return a note where no difference could be significant on so few data sets."""
        n, n_pairs = len(self.ranks), len(self.pairs[0])
        if smallest(n) <= self.alpha:
            return []
        enough = next(i for i in count(n + 1) if smallest(i) <= self.alpha)
        return [
            f"no difference can be significant on {self.data}: the smallest possible p-value, "
            f"adjusted for {count_text(n_pairs, 'pair')}, is {smallest(n):.2g}; {enough} would do"
        ]


def _rank(
    results: Results,
    measure: str | None,
    control: str | None,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
) -> _Ranked:
    """Check the arguments, and rank detectors on the data sets where all have values."""
    table = as_results(results, None)
    column = table.only_measure() if measure is None else table.measure(measure)
    alpha = float(1 - check_inside(confidence_level, "confidence_level"))
    resampling = check_resampling(table.clusters, confidence_level, n_resamples, rng)
    check_detectors(table)
    check_control(table, control)
    merits = best_merits(table, column)
    gaps = notes_of_ranks(table, column, merits)
    ranks = rank_rows(merits)
    counted: npt.NDArray[np.bool_] = ~np.isnan(ranks[:, 0])
    if not counted.any():
        raise UndefinedMeasureError(
            f"detectors cannot be compared without a data set on which all have a value: {gaps[0]}"
        )
    order = np.argsort(ranks[counted].sum(axis=0), kind="stable")
    ranks, merits = ranks[:, order], merits[:, order]
    return _Ranked(
        [table.detectors[i] for i in order],
        merits[counted],
        ranks[counted],
        resampling.bounded_means(ranks, 1, ranks.shape[1]),
        control,
        column.key,
        problems_text(table.clusters[counted]),
        alpha,
        resampling.confidence_level,
        resampling.n_resamples,
        [*table.omissions(), *gaps, *shared_points(table)],
    )

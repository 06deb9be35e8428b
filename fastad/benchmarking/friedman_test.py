"""``friedman``: whether detectors differ at all."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from fastad._core.floats import positive_p
from fastad._core.parameters import check_flag, check_float_level
from fastad._core.results import Column, NamedParts, TableResult, interval_columns
from fastad._core.text_tables import DASH, count_text, format_p, intervals_text, number_text
from fastad._core.types import FloatMatrix, IntMatrix, IntVector, Point
from fastad.benchmarking.concordance_interval import MIN_DATASETS, concordance_interval
from fastad.benchmarking.ranks import (
    best_merits,
    check_detectors,
    notes_of_ranks,
    rank_rows,
    shared_points,
)
from fastad.benchmarking.result_table import Results, as_results

# Limit of the sums of ranks for an exact p-value: a fifth of a second.
_MAX_SUMS = 50_000


@dataclass(frozen=True, slots=True)
class FriedmanTest:
    """Friedman's test of differences between detectors by one measure.

    Attributes
    ----------
    measure : str
        Key of the measure.
    n_datasets, n_detectors : int
        Problems that count, and detectors.
    statistic, p_value : float
        Friedman's statistic and its p-value, by the chi-square distribution; NaN where undefined.
    df : int
        Degrees of freedom of the chi-square distribution.
    f_statistic, f_p_value : float
        Iman's and Davenport's statistic and its p-value; where all data sets order the detectors
        identically the statistic is infinite, and the p-value the exact one.
    f_df : tuple of int
        Degrees of freedom of Iman's and Davenport's statistic.
    exact_p_value : float
        Probability of a statistic as large if each data set orders the detectors at random, counted
        over all orders; NaN where there are too many.
    kendall_w : float
        Concordance of the data sets, from 0 to 1, where all order the detectors identically.
    low, high : float
        Ends of the interval of the concordance of all data sets of which these were drawn; NaN
        for fewer than three data sets.
    confidence_level : float
        Confidence level of that interval.
    correct_ties : bool
        Whether the statistics allow for ties.
    reason : str or None
        Reason why the test is undefined, or the concordance has no interval.
    """

    measure: str
    n_datasets: int
    n_detectors: int
    statistic: float
    p_value: float
    df: int
    f_statistic: float
    f_p_value: float
    f_df: tuple[int, int]
    exact_p_value: float
    kendall_w: float
    low: float
    high: float
    confidence_level: float
    correct_ties: bool
    reason: str | None = None


class FriedmanTable(TableResult, NamedParts[str, FriedmanTest]):
    """Friedman's test by each measure; prints as a table.

    Frames have a row for each measure: ``measure``, ``n_datasets``, ``n_detectors``, ``statistic``,
    ``df``, ``p_value``, ``f_statistic``, ``f_df_1``, ``f_df_2``, ``f_p_value``, ``exact_p_value``,
    ``kendall_w``, ``low`` and ``high``.
    """

    __slots__ = ("_notes",)

    def __init__(self, tests: Sequence[FriedmanTest], notes: Sequence[str]) -> None:
        self._parts = {test.measure: test for test in tests}
        self._notes = list(notes)

    def __repr__(self) -> str:
        return f"<FriedmanTable of {', '.join(self)}>"

    @property
    def notes(self) -> list[str]:
        """Reasons why tests are undefined or data sets were left out."""
        undefined = [f"{test.measure}: {test.reason}" for test in self.values() if test.reason]
        return [*undefined, *self._notes]

    def _declare_columns(self) -> list[Column]:
        tests = list(self.values())

        def column(name: str, form: Any = None, head: str | None = None) -> Column:
            return Column(name, [getattr(test, name) for test in tests], form, head)

        level = intervals_text(tests[0].confidence_level)
        low, high = column("low").cells, column("high").cells
        return [
            column("measure", str),
            column("n_datasets"),
            column("n_detectors"),
            column("statistic", ".2f", "chi-square"),
            column("df"),
            column("p_value", format_p, "p"),
            column("f_statistic"),
            *(Column(f"f_df_{i + 1}", [test.f_df[i] for test in tests]) for i in range(2)),
            Column(None, map(_f_text, tests), str, "F"),
            column("f_p_value", format_p, "p of F"),
            column("exact_p_value", format_p, "exact p"),
            column("kendall_w", ".3f", "W"),
            *interval_columns(low, high, level, ".3f"),
        ]


def friedman(
    results: Results,
    *,
    measures: Sequence[str] | None = None,
    correct_ties: bool = True,
    confidence_level: Point = 0.95,
) -> FriedmanTable:
    """Test whether detectors differ, by their ranks on data sets.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets; averaged over folds.
        Detectors are ranked as by `average_ranks`.
    measures : sequence of str, optional
        Keys of the measures; by default all.
    correct_ties : bool, default True
        Whether to allow for ties, which make ranks vary less. Without, the statistics are
        Demšar's by the plain formula.
    confidence_level : float, default 0.95
        Confidence level of the interval of the concordance, in (0, 1).

    Returns
    -------
    FriedmanTable
        ``result["auc"]`` is the `FriedmanTest` of a measure. It is NaN, with the reason, where
        fewer than two data sets count or all detectors are tied on all of them.

    Raises
    ------
    InvalidInputError
        If there is one detector only.

    See Also
    --------
    average_ranks : The ranks.
    nemenyi : Which detectors differ.

    Notes
    -----
    With ranks r of n data sets and k detectors, u = r - (k + 1) / 2 and U its sums over data sets,
    Kendall's concordance is W = sum(U²) / (n sum(u²)), chi-square n (k - 1) W with k - 1 degrees of
    freedom, and F = (n - 1) W / (1 - W) with k - 1 and (k - 1) (n - 1). Without the correction,
    sum(u²) has its value without ties.

    For two detectors chi-square is too large where data sets are few; for more it is conservative,
    and F is to be preferred (Demšar). Where few orders are possible, with two detectors, three on
    20 data sets or four on five, the exact p-value counts them all, with the ties that there are.

    The interval covers the concordance V of the population of data sets, which W exceeds by
    (1 - V) / n on average. It contains W, a score interval, and the jackknife of the
    mean rank correlation of two data sets: see the guide for how often it covers V. Two data sets
    tell too little of it.

    O(n k (n + log k)) time.

    References
    ----------
    .. [1] R. L. Iman and J. M. Davenport, "Approximations of the critical region of the Friedman
       statistic", 1980.
    .. [2] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", 2006,
       section 3.2.2.
    .. [3] M. G. Kendall and B. Babington Smith, "The problem of m rankings", 1939.
    .. [4] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       1927: the score interval.

    Examples
    --------
    >>> import fastad
    >>> auc = [[0.9, 0.8, 0.7], [0.9, 0.8, 0.6], [0.8, 0.7, 0.9], [0.9, 0.8, 0.5]]
    >>> results = fastad.ResultTable.from_arrays({"auc": auc}, detectors=["knn", "lof", "svm"])
    >>> test = fastad.benchmarking.friedman(results)["auc"]
    >>> test.statistic, test.f_df, round(test.f_p_value, 4)
    (3.5, (2, 6), 0.178)
    """
    table = as_results(results, measures)
    corrected = check_flag(correct_ties, "correct_ties")
    level = check_float_level(confidence_level)
    check_detectors(table)
    tests, notes = [], table.omissions()
    shared: dict[str, list[str]] = {}
    for measure in table.measures:
        merits = best_merits(table, measure)
        ranks = rank_rows(merits)
        tests.append(_test(measure.key, ranks, table.clusters, level, corrected=corrected))
        notes += notes_of_ranks(table, measure, merits)
        for note in shared_points(table.clusters[~np.isnan(ranks[:, 0])]):
            shared.setdefault(note, []).append(measure.key)
    for note, keys in shared.items():
        of_all = len(keys) == len(tests)
        notes.append(note if of_all else f"{', '.join(keys)}: {note}")
    return FriedmanTable(tests, notes)


def _test(
    key: str, ranks: FloatMatrix, clusters: IntVector, level: float, *, corrected: bool
) -> FriedmanTest:
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import chdtrc, fdtrc

    counted = ~np.isnan(ranks[:, 0])
    n, k = int(np.count_nonzero(counted)), ranks.shape[1]
    # Twice the deviations from the mean rank: integers, whose sums are exact.
    deviations = (2 * ranks[counted]).astype(np.int64) - (k + 1)
    # In Python's integers: a sum of squares may not fit into 64 bits.
    between = sum(total * total for total in deviations.sum(axis=0).tolist())
    lengths = within = int(np.sum(deviations**2))
    if not corrected and within:
        within = n * k * (k * k - 1) // 3
    df = k - 1, (k - 1) * (n - 1)
    reason = None
    if n < 2:
        reason = f"Friedman's test needs at least two data sets with all detectors; found {n}"
    elif not within:
        reason = "all detectors are tied on all data sets"
    statistic = p_value = f_statistic = f_p_value = exact = w = low = high = math.nan
    if reason is None:
        w = between / (n * within)
        statistic = (k - 1) * between / within
        p_value = positive_p(float(chdtrc(df[0], statistic)))
        left = n * within - between
        f_statistic = (n - 1) * between / left if left else math.inf
        exact = positive_p(_exact_p_value(deviations))
        f_p_value = positive_p(float(fdtrc(*df, f_statistic))) if left else exact
        ends = concordance_interval(deviations, clusters[counted], level)
        # Without the correction the concordance is as much lower as W. Not multiplied where it
        # is W: rounding might leave it out.
        low, high = (end * lengths / within for end in ends)
        low, high = min(low, w), max(high, w)
        if math.isnan(low):
            n_datasets = count_text(len(np.unique(clusters[counted])), "data set")
            reason = f"W has no interval below {MIN_DATASETS} data sets; found {n_datasets}"
    return FriedmanTest(
        key,
        n,
        k,
        statistic,
        p_value,
        df[0],
        f_statistic,
        f_p_value,
        df,
        exact,
        w,
        low,
        high,
        level,
        corrected,
        reason,
    )


def _exact_p_value(deviations: IntMatrix) -> float:
    """Return how likely rank sums vary as much if each data set orders detectors at random.

    With the ties that there are; NaN where too many sums are possible. ``deviations`` of ranks
    from their mean are doubled. Data sets are added one after the other: how the sums vary
    depends on them in any order, so that sorted sums and their probabilities are enough.
    """
    first, *others = sorted(tuple(sorted(row)) for row in deviations.tolist())
    if (deviations == deviations[0]).all():
        return math.pow(_n_orders(first), -len(others))
    observed = sum(total * total for total in deviations.sum(axis=0).tolist())
    probabilities, left = {first: 1.0}, _MAX_SUMS
    for row in others:
        left -= len(probabilities) * _n_orders(row)
        if left < 0:
            return math.nan
        orders = set(permutations(row))
        added: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for sums, probability in probabilities.items():
            each = probability / len(orders)
            for order in orders:
                added[tuple(sorted(map(sum, zip(sums, order, strict=True))))] += each
        probabilities = added
    return min(
        math.fsum(p for sums, p in probabilities.items() if sum(x * x for x in sums) >= observed),
        1.0,
    )


def _n_orders(row: tuple[int, ...]) -> int:
    """Return in how many orders ranks with ties can stand."""
    ties = math.prod(math.factorial(row.count(rank)) for rank in set(row))
    return math.factorial(len(row)) // ties


def _f_text(test: FriedmanTest) -> str:
    if math.isnan(test.statistic):
        return DASH
    value = number_text(test.f_statistic, ".2f").replace("inf", "∞")
    return f"F({test.f_df[0]}, {test.f_df[1]}) = {value}"

"""``rank_intervals``: ranks of detectors over a population of data sets, with intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Literal, TypeAlias

import numpy as np

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import N_RESAMPLES, check_choice, check_count, check_inside
from fastad._core.random import numbered_generator, random_key
from fastad._core.results import Column, TableResult, interval_columns
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import count_text, intervals_text, level_text, some_of
from fastad._core.threads import current_threads, in_steps, thread_map
from fastad._core.types import BoolMatrix, FloatMatrix, FloatVector, IntMatrix, IntVector, Point
from fastad._kernels.rank_tests import simultaneous as kernels
from fastad.benchmarking.means import defined_mean, in_units
from fastad.benchmarking.ranks import CompleteMerits, rank_rows
from fastad.benchmarking.result_table import Results

RankedBy: TypeAlias = Literal["mean_value", "mean_rank"]
# Writes the largest statistic of some replicates, of the pairs whose factor is not 0.
Largest: TypeAlias = Callable[[IntVector, FloatMatrix, FloatVector], None]

# Replicates of a block: sums of 500 detectors fit a core's second memory.
_BLOCK = 128
_MAX_NAMES = 5
# Random signs for a test of skewness, and how many of them may exceed the data: the level is
# 2 / 40. Squares of detectors times data sets that it looks at.
_N_SKEWED, _N_ABOVE, _SKEWED_WORK = 39, 1, 100_000
# Replicates of the studentized bootstrap, each of which takes O(k^2 n).
_MAX_STUDENTIZED = 1000
# Differences below this part of the largest value are rounding.
_ROUNDING = 1e-12
# Statistics of equal differences are equal to this factor: sums of decimals are rounded.
_EQUAL = 1 + 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankIntervals(TableResult):
    """Ranks of detectors with intervals that cover all true ranks at once; prints as a table.

    Arrays are in the order of ``detectors``; frames have a row for each detector.

    Attributes
    ----------
    detectors : sequence of str
        Names, the best first.
    mean : numpy.ndarray of shape (n_detectors,)
        Mean value of each over data sets.
    mean_rank : numpy.ndarray of shape (n_detectors,)
        Mean of its ranks on the data sets, as by `average_ranks`; NaN for scores on one data set.
    rank, low, high : numpy.ndarray of shape (n_detectors,)
        One more than the number of better detectors, and its interval, integers.
    better : numpy.ndarray of shape (n_detectors, n_detectors)
        Whether the detector of the row is significantly better than the detector of the column.
    rank_probabilities : numpy.ndarray of shape (n_detectors, n_detectors)
        Probability that a detector has rank 1, 2, …
    ranked_by, n_best, measure, confidence_level, n_resamples
        The arguments; the key of the measure.
    data : str
        Data that the intervals generalise from.
    """

    detectors: Sequence[str]
    mean: FloatVector
    mean_rank: FloatVector
    rank: IntVector
    low: IntVector
    high: IntVector
    better: BoolMatrix
    rank_probabilities: FloatMatrix
    ranked_by: RankedBy
    n_best: int
    measure: str
    data: str
    confidence_level: float
    n_resamples: int
    _notes: Sequence[str]

    def __repr__(self) -> str:
        return f"<RankIntervals of {len(self.detectors)} detectors in {self.measure}>"

    @property
    def tied_with_best(self) -> list[str]:
        """Detectors than which no other is significantly better."""
        return [name for name, low in zip(self.detectors, self.low, strict=True) if low == 1]

    @property
    def n_tied_neighbours(self) -> int:
        """Number of neighbours in the order that do not differ significantly."""
        return len(self.detectors) - 1 - int(np.count_nonzero(np.diagonal(self.better, 1)))

    def best_probabilities(self, n_best: int = 1) -> FloatVector:
        """Return the probability of each detector to be among the best.

        Parameters
        ----------
        n_best : int, default 1
            Number of best detectors.

        Returns
        -------
        numpy.ndarray of shape (n_detectors,)
            Fraction of replicates in which fewer than ``n_best`` detectors are better.
        """
        n = check_count(n_best, "n_best")
        among: FloatVector = self.rank_probabilities[:, :n].sum(axis=1)
        return np.minimum(among, 1.0)

    @property
    def summary(self) -> str:
        """Which detectors may be the best, and how many neighbours may change places."""
        tied, n = self.tied_with_best, len(self.detectors)
        return (
            f"tied with the best at {level_text(self.confidence_level)}: "
            f"{some_of(tied, _MAX_NAMES)} ({len(tied)} of {n}); {self.n_tied_neighbours} of "
            f"{count_text(n - 1, 'pair')} of neighbours do not differ significantly "
            f"({self.measure}, {self.ranked_by.replace('_', ' ')}, {self.data})"
        )

    @property
    def notes(self) -> list[str]:
        """The summary, and the data sets that were left out."""
        return [self.summary, *self._notes]

    def _declare_columns(self) -> list[Column]:
        level = intervals_text(self.confidence_level)
        best, among = self.best_probabilities(), self.best_probabilities(self.n_best)
        return [
            Column("detector", self.detectors, str, self.measure),
            Column("mean", self.mean, ".4f"),
            Column("mean_rank", self.mean_rank, ".2f", "mean rank"),
            Column("rank", self.rank, str),
            *interval_columns(self.low, self.high, level, ".0f"),
            Column("is_tied_with_best", self.low == 1),
            Column("p_best", best, ".2f", "P(best)"),
            Column("p_among_best", among, ".2f", f"P(best {self.n_best})"),
        ]


@suggests_arguments
def rank_intervals(
    results: Results,
    *,
    measure: str | None = None,
    ranked_by: RankedBy = "mean_value",
    n_best: int = 3,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> RankIntervals:
    """Rank detectors over all data sets like these, with intervals that cover all ranks at once.

    The rank of a detector is one more than the number of detectors whose mean over the population
    of data sets is better.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets, averaged over folds or seeds; a detector's best model on
        a data set counts. Data sets on which a detector has no value are left out.
    measure : str, optional
        Key of the measure; it may be left out where the table has one alone.
    ranked_by : {"mean_value", "mean_rank"}, default "mean_value"
        The mean that orders detectors: the measure itself, or the rank on each data set, which
        `average_ranks` returns, and on which the other detectors have a bearing.
    n_best : int, default 3
        Number of best detectors of the last column of the table.
    confidence_level : float, default 0.95
        Probability that all intervals cover, in (0, 1).
    n_resamples : int, default 2000
        Number of random signs for the intervals, and of random weights for the probabilities.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the replicates.

    Returns
    -------
    RankIntervals
        Ranks with intervals, and the probability of each detector to be among the best.

    Raises
    ------
    InvalidInputError
        If there is one detector only.
    UndefinedMeasureError
        If there are fewer than two data sets on which every detector has a value, or a value of
        which a mean is formed is infinite.

    See Also
    --------
    average_ranks : Mean ranks, each with an interval by itself.
    fastad.plot.RankIntervalsDisplay : The picture.

    Notes
    -----
    A detector's interval begins after those significantly better, and ends before those
    significantly worse. All ordered pairs are tested together, step by step, by the sum
    of differences over the root of the sum of their squares, a monotone function of t. Its
    distribution is that under random signs of the data sets, problems of one data set together: if
    differences of equal detectors are symmetric, the intervals cover for any number of data sets.
    Fewer than six cannot show a difference at 95 %. Where mean values are ranked whose differences
    are significantly skewed, at 5 % by random signs, a note says so, and differences are
    resampled (the studentized bootstrap), which is valid for many data sets.

    Probabilities are fractions of replicates with random weights of data sets (the Bayesian
    bootstrap), with a Monte Carlo error of at most ``0.5 / sqrt(n_resamples)``.

    O(k^2 + k n) time for each replicate of k detectors on n data sets, and if differences are
    skewed O(k^2 n), of at most 1 000 replicates.

    References
    ----------
    .. [1] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with
       applications to mobility across neighbourhoods and academic achievement across countries",
       Review of Economic Studies 91, 2024.
    .. [2] J. P. Romano and M. Wolf, "Exact and approximate stepdown methods for multiple
       hypothesis testing", 2005.
    .. [3] P. Hall, "Theoretical comparison of bootstrap confidence intervals", 1988.

    Examples
    --------
    >>> import fastad, numpy as np
    >>> values = np.random.default_rng(0).normal([0.9, 0.89, 0.8], 0.02, (12, 3))
    >>> results = fastad.ResultTable.from_arrays({"auc": values}, detectors=["knn", "lof", "svm"])
    >>> ranks = fastad.benchmarking.rank_intervals(results, n_best=2, rng=0)
    >>> ranks.tied_with_best
    ['knn', 'lof']
    """
    check_choice(ranked_by, ("mean_value", "mean_rank"), "ranked_by")
    n_best, n_resamples = check_count(n_best, "n_best"), check_count(n_resamples, "n_resamples")
    level, key = check_inside(confidence_level, "confidence_level"), random_key(rng)
    hint = ". Folds or seeds of one data set say nothing of others"
    complete = CompleteMerits.of(results, measure, "ranks over data sets", 2, hint)
    merits, n, notes = complete.merits, complete.n_datasets, [*complete.notes]
    ranks = rank_rows(merits)
    if by_value := ranked_by == "mean_value":
        ranked, order = merits, complete.by_mean("ranks by mean value", ": rank by mean_rank")
    else:
        ranked, order = -ranks, np.argsort(defined_mean(ranks, axis=0), kind="stable")
    means = defined_mean(ranked[:, order], axis=0)
    sums: FloatMatrix = np.zeros((n, len(order)))
    # What detectors have in common on a data set cancels, and so does the unit.
    np.add.at(sums, complete.clusters, ranked[:, order] - ranked.mean(axis=1, keepdims=True))
    by_dataset: FloatMatrix = in_units(sums.reshape(1, -1))[0].reshape(sums.shape)
    alpha = float(1 - level)
    notes += few_replicates(n_resamples, alpha)
    better_pairs = _better_by_signs
    if 2.0 ** (1 - n) > alpha:
        enough = 1 + math.ceil(-math.log2(alpha))
        notes.append(f"{n} data sets cannot show a difference at this level; {enough} may")
    elif by_value and _are_skewed(by_dataset, key):
        better_pairs = _better_by_bootstrap
        notes.append(
            "differences of detectors are skewed: intervals are by the studentized bootstrap, "
            "which is wider than random signs; ranked_by='mean_rank' does not need it"
        )
    return as_ranks(
        complete.names(order),
        means,
        better_pairs(by_dataset, alpha, n_resamples, key),
        _probabilities(by_dataset, n_resamples, key),
        mean=complete.column.sign * defined_mean(merits, axis=0)[order],
        mean_rank=defined_mean(ranks, axis=0)[order],
        ranked_by=ranked_by,
        n_best=min(n_best, len(order)),
        measure=complete.column.key,
        data=complete.data,
        confidence_level=float(level),
        n_resamples=n_resamples,
        _notes=notes,
    )


def as_ranks(
    detectors: Sequence[str],
    means: FloatVector,
    better: BoolMatrix,
    probabilities: FloatMatrix,
    **attributes: Any,
) -> RankIntervals:
    """Return ranks with intervals, each between those significantly better and worse.

    Higher means are better; ``better`` and the attributes are as in `RankIntervals`.
    """
    rank = 1 + np.count_nonzero(means > means[:, np.newaxis], axis=1)
    low = 1 + np.count_nonzero(better, axis=0)
    high = len(means) - np.count_nonzero(better, axis=1)
    arrays = {"rank": rank, "low": low, "high": high}
    arrays |= {"better": better, "rank_probabilities": probabilities}
    set_all_readonly(attributes["mean"], attributes["mean_rank"], *arrays.values())
    return RankIntervals(detectors=detectors, **arrays, **attributes)


def _better_by_signs(
    values: FloatMatrix, alpha: float, n_resamples: int, key: np.uint64
) -> BoolMatrix:
    """Return which detectors are significantly better than others, by signs of the data sets."""

    def draw(replicates: range) -> FloatMatrix:
        generator = numbered_generator(key, 2 * replicates.start)
        coins = generator.integers(0, 2, (len(values), len(replicates)))
        return weighted_sums(2 * coins.astype(np.float64) - 1, values)

    sums = np.concatenate(thread_map(draw, in_steps(0, n_resamples, _BLOCK)), axis=1)
    largest_of = partial(largest_differences, sums)
    return step_down(*_statistics(values), largest_of, n_resamples, alpha)


def _better_by_bootstrap(
    values: FloatMatrix, alpha: float, n_resamples: int, key: np.uint64
) -> BoolMatrix:
    """Return which detectors are significantly better than others, by resampled data sets."""
    n_resamples = min(n_resamples, max(_MAX_STUDENTIZED, math.ceil(1 / alpha)))
    n = len(values)
    counts = numbered_generator(key, 0).multinomial(n, np.full(n, 1 / n), n_resamples)
    weights, centred = counts.T.astype(np.float64), values - values.mean(axis=0)

    def largest_of(some: IntVector, factors: FloatMatrix, largest: FloatVector) -> None:
        drawn, squares = weights[:, some].copy(), np.empty(len(some))
        sums = weighted_sums(drawn, centred)
        kernels.largest_resampled(drawn, centred, sums, factors, squares, largest)

    return step_down(*_statistics(values), largest_of, n_resamples, alpha)


def _statistics(values: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the statistic of each two detectors, and the factor of the difference of sums."""
    inverses = inverse_norms(values)
    sums = weighted_sums(np.ones((len(values), 1)), values)
    return (sums - sums[:, 0]) * inverses, inverses


def weighted_sums(weights: FloatMatrix, values: FloatMatrix) -> FloatMatrix:
    """Add up the values of each detector with the weights of each replicate."""
    sums = np.empty((values.shape[1], weights.shape[1]))
    kernels.weighted_sums(weights, values, sums)
    return sums


def inverse_norms(values: FloatMatrix) -> FloatMatrix:
    """Return the factor by which the sum of differences of two detectors is their statistic."""
    inverses = np.empty((values.shape[1], values.shape[1]))
    kernels.inverse_norms(values, inverses)
    return inverses


def largest_differences(
    sums: FloatMatrix, some: IntVector, factors: FloatMatrix, largest: FloatVector
) -> None:
    """Write the largest scaled difference of the sums of some replicates."""
    kernels.largest_differences(sums[:, some].copy(), factors, largest)


def step_down(
    statistics: FloatMatrix,
    inverses: FloatMatrix,
    largest_of: Largest,
    n_resamples: int,
    alpha: float,
) -> BoolMatrix:
    """Return which detectors are significantly better than which, by replicates of all.

    A pair, the row better than the column, differs where its statistic exceeds the quantile of the
    largest one of all pairs that are left, in the replicates and the data themselves. Fewer pairs
    make no replicate's largest one larger: only the largest are computed anew, as far as the
    quantile depends on them. Pairs whose factor is 0 are left out.
    """

    def largest_statistics(replicates: IntVector) -> FloatVector:
        values = np.empty(len(replicates))
        parts = [slice(x.start, x.stop) for x in in_steps(0, len(values), _BLOCK)]
        thread_map(lambda part: largest_of(replicates[part], left, values[part]), parts)
        return values

    left, better = inverses.copy(), np.zeros(inverses.shape, np.bool_)
    # Number of statistics, the one of the data included, that may exceed the quantile.
    n_above = math.floor(alpha * (n_resamples + 1) + 1e-9)
    largest = largest_statistics(np.arange(n_resamples))
    while True:
        bound = max(float(np.max(np.where(better, 0.0, statistics))), 0.0)
        critical = -float(np.partition(np.append(-largest, -bound), n_above)[n_above])
        significant = (statistics > critical * _EQUAL) & ~better
        if not significant.any():
            return better
        better |= significant
        left[significant] = 0.0
        order, before = np.argsort(-largest, kind="stable"), largest.copy()
        for end in range(n_above + _BLOCK, n_resamples + n_above + _BLOCK, n_above + _BLOCK):
            some = order[end - n_above - _BLOCK : end]
            largest[some] = largest_statistics(some)
            if end >= n_resamples:
                break
            quantile = -np.partition(-largest[order[:end]], n_above)[n_above]
            if quantile >= before[order[end]]:
                break


def few_replicates(n_resamples: int, alpha: float) -> list[str]:
    """Return a note where replicates are too few for the level."""
    enough = math.ceil(1 / alpha - 1e-9) - 1
    if n_resamples >= enough:
        return []
    return [f"{n_resamples} replicates cannot show a difference at this level; {enough} may"]


def _are_skewed(values: FloatMatrix, key: np.uint64) -> bool:
    """Return whether differences of detectors are significantly skewed over data sets.

    The mean minus the median over the deviation, which outliers do not decide as they do the third
    moment: summed over a detector's pairs, beside the same under random signs.
    """
    n, k = values.shape
    size = min(k, max(math.isqrt(_SKEWED_WORK // n), 2))
    some = values[:, np.linspace(0, k - 1, size).round().astype(np.int64)].copy()

    def skewness(signs: IntVector) -> float:
        sums = np.empty(size)
        kernels.sum_skewness(signs.astype(np.float64), some, _ROUNDING, np.empty((2, n)), sums)
        return float(np.abs(sums).sum())

    # Opposite signs change nothing but the rounding.
    observed = skewness(np.ones(n, np.int64)) * (1 + _ROUNDING)
    # The signs of replicates have other numbers.
    signs = 2 * numbered_generator(key, 2).integers(0, 2, (_N_SKEWED, n)) - 1
    above = (None for each in signs if skewness(each) > observed)
    # As many as decide; the others need not be looked at.
    return observed > 0 and len(list(islice(above, _N_ABOVE + 1))) <= _N_ABOVE


def _probabilities(values: FloatMatrix, n_resamples: int, key: np.uint64) -> FloatMatrix:
    """Return the probability of each rank of each detector, by random weights of data sets."""

    def draw(replicates: range) -> FloatMatrix:
        generator = numbered_generator(key, 2 * replicates.start + 1)
        return weighted_sums(generator.standard_exponential((len(values), len(replicates))), values)

    return rank_frequencies(draw, values.shape[1], n_resamples)


def rank_frequencies(draw: Callable[[range], FloatMatrix], k: int, n_resamples: int) -> FloatMatrix:
    """Return how often each of k detectors has each rank in replicates, drawn in blocks."""

    def count(blocks: Sequence[range]) -> IntMatrix:
        counts = np.zeros((k, k), np.int64)
        for some in blocks:
            kernels.count_ranks(draw(some), np.empty((1, len(some)), np.int64), counts)
        return counts

    blocks = in_steps(0, n_resamples, _BLOCK)
    n_parts = min(4 * current_threads(), len(blocks))
    counts = thread_map(count, [blocks[i::n_parts] for i in range(n_parts)])
    frequencies: FloatMatrix = np.sum(counts, axis=0) / float(n_resamples)
    return frequencies

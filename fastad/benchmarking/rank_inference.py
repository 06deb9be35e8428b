"""``rank_intervals``: ranks of detectors over a population of data sets, with intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import N_RESAMPLES, check_choice, check_count, check_inside
from fastad._core.random import numbered_generator, random_key
from fastad._core.results import Column, TableResult, interval_columns
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import count_text, intervals_text, level_text, some_of
from fastad._core.threads import current_threads, in_steps, thread_map
from fastad._core.types import (
    BoolMatrix,
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    Point,
)
from fastad._kernels.rank_tests.simultaneous import (
    count_ranks,
    inverse_norms,
    largest_differences,
    largest_resampled,
    sum_skewness,
    weighted_sums,
)
from fastad.benchmarking.complete_merits import CompleteMerits
from fastad.benchmarking.means import defined_mean, in_units
from fastad.benchmarking.ranks import rank_rows
from fastad.benchmarking.result_table import Results

# Writes the largest statistic of some replicates, of the pairs whose factor is not 0.
Largest: TypeAlias = Callable[[IntVector, FloatMatrix, FloatVector], None]
RankedBy: TypeAlias = Literal["mean_value", "mean_rank"]

# Replicates of a block: sums of 500 detectors fit a core's second memory.
_BLOCK = 128
_MAX_NAMES = 5
# Random signs for a test of skewness, and how many of them may exceed the data: the level is
# 3 / 60. Squares of detectors times data sets that it looks at, and signs of a step.
_N_SKEWED, _N_ABOVE, _SKEWED_WORK, _SKEWED_BLOCK = 59, 2, 300_000, 5
# Replicates of the studentized bootstrap, each of which takes O(k^2 n).
_MAX_STUDENTIZED = 1000
# Differences below this part of the largest value are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankIntervals(TableResult):
    """Ranks of detectors with intervals that cover all true ranks at once; prints as a table.

    Arrays are in the order of ``detectors``. Frames have a row for each detector: ``detector``,
    ``mean``, ``mean_rank``, ``rank``, ``low``, ``high``, ``is_tied_with_best``, ``p_best`` and
    ``p_among_best``.

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
    ranked_by : {"mean_value", "mean_rank"}
        The mean that orders the detectors.
    n_best : int
        Number of best detectors of the last column of the table.
    measure : str
        Key of the measure.
    data : str
        Data that the intervals generalise from.
    confidence_level : float
        Probability that all intervals cover.
    n_resamples : int
        Number of replicates.
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
    of data sets is better. All intervals cover these ranks together with the confidence level.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets; averaged over folds or seeds.
        On each data set a detector stands for the best of its models.
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
        Ranks, their intervals, which detectors are tied with the best, and the probability of each
        to be among the best.

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
    significantly worse (Mogstad and others 2024). All ordered pairs are tested together, step by
    step: the largest statistic of the pairs that are left decides, until none is rejected (Romano
    and Wolf 2005). The statistic is the sum of differences over data sets over the root of the sum
    of their squares, a monotone function of t; its distribution is that under random signs of the
    data sets, problems of one data set together. If differences of equal detectors are symmetric,
    as in Wilcoxon's test, the intervals cover for any number of data sets and detectors, and
    otherwise for many data sets; a note says where differences are skewed. The normal distribution
    with estimated covariance, which is used elsewhere, has no such bound: 50 equal detectors on 40
    data sets had a wrong rank in a fifth of tables. Fewer than six data sets cannot show a
    difference at 95 %.

    Probabilities are fractions of replicates in which data sets have random weights of Dirichlet's
    distribution (the Bayesian bootstrap, Rubin 1981). Their Monte Carlo error is at most
    ``0.5 / sqrt(n_resamples)``.

    A data set on which a detector has no value is left out, as by `average_ranks`.

    O(k^2 + k n) time for each replicate of k detectors on n data sets, 8 k bytes of memory.

    References
    ----------
    .. [1] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with
       applications to mobility across neighbourhoods and academic achievement across countries",
       Review of Economic Studies 91, 2024.
    .. [2] J. P. Romano and M. Wolf, "Exact and approximate stepdown methods for multiple
       hypothesis testing", 2005.
    .. [3] J. Hemerik and J. Goeman, "Exact testing with random permutations", 2018.
    .. [4] D. B. Rubin, "The Bayesian bootstrap", 1981.

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
    n_best = check_count(n_best, "n_best")
    level = check_inside(confidence_level, "confidence_level")
    n_resamples = check_count(n_resamples, "n_resamples")
    key = random_key(rng)
    hint = ". Folds or seeds of one data set say nothing of others"
    complete = CompleteMerits.of(results, measure, "ranks over data sets", 2, hint)
    merits, n = complete.merits, complete.n_datasets
    ranks, notes = rank_rows(merits), list(complete.notes)
    if ranked_by == "mean_value":
        ranked, order = merits, complete.by_mean("ranks by mean value", ": rank by mean_rank")
    else:
        ranked, order = -ranks, np.argsort(defined_mean(ranks, axis=0), kind="stable")
    means = defined_mean(ranked[:, order], axis=0)
    sums: FloatMatrix = np.zeros((n, len(order)))
    # What detectors have in common on a data set cancels, and so does the unit.
    np.add.at(sums, complete.clusters, ranked[:, order] - ranked.mean(axis=1, keepdims=True))
    by_dataset: FloatMatrix = in_units(sums.reshape(1, -1))[0].reshape(sums.shape)
    alpha = float(1 - level)
    is_shown = 2.0 ** (1 - n) <= alpha
    skewed = is_shown and ranked_by == "mean_value" and _are_skewed(by_dataset, key)
    better = _better_pairs(by_dataset, alpha, n_resamples, key, skewed)
    if not is_shown:
        enough = 1 + math.ceil(-math.log2(alpha))
        notes.append(f"{n} data sets cannot show a difference at this level; {enough} may")
    if skewed:
        notes.append(
            "differences of detectors are skewed: intervals are by the studentized bootstrap, "
            "which is wider than random signs; ranked_by='mean_rank' does not need it"
        )
    mean = complete.column.sign * defined_mean(merits, axis=0)[order]
    mean_rank = defined_mean(ranks, axis=0)[order]
    probabilities = _probabilities(by_dataset, n_resamples, key)
    bounds = bounds_of_ranks(means, better)
    set_all_readonly(mean, mean_rank, *bounds, better, probabilities)
    return RankIntervals(
        complete.names(order),
        mean,
        mean_rank,
        *bounds,
        better,
        probabilities,
        ranked_by,
        min(n_best, len(order)),
        complete.column.key,
        complete.data,
        float(level),
        n_resamples,
        notes,
    )


def bounds_of_ranks(
    means: FloatVector, better: BoolMatrix
) -> tuple[IntVector, IntVector, IntVector]:
    """Return each rank and its interval, between those significantly better and worse.

    Higher means are better; ``better`` is as in `RankIntervals`.
    """
    rank = 1 + np.count_nonzero(means > means[:, np.newaxis], axis=1)
    low = 1 + np.count_nonzero(better, axis=0)
    return rank, low, len(means) - np.count_nonzero(better, axis=1)


def _better_pairs(
    values: FloatMatrix, alpha: float, n_resamples: int, key: np.uint64, skewed: bool
) -> BoolMatrix:
    """Return which detectors are significantly better than which.

    By signs of the data sets, or if differences are skewed by resampled data sets.
    """
    n, k = values.shape
    observed, inverses = np.empty((k, 1)), np.empty((k, k))
    weighted_sums(np.ones((n, 1)), values, observed)
    inverse_norms(values, inverses)
    statistics = (observed - observed[:, 0]) * inverses
    if skewed:
        n_resamples = min(n_resamples, _MAX_STUDENTIZED)
        counts = numbered_generator(key, 0).multinomial(n, np.full(n, 1 / n), n_resamples)
        weights, centred = counts.T.astype(np.float64), values - values.mean(axis=0)

        def resample(some: IntVector, factors: FloatMatrix, largest: FloatVector) -> None:
            work = np.empty((2, len(some)))
            largest_resampled(weights[:, some].copy(), centred, factors, work, largest)

        return step_down(statistics, inverses, resample, n_resamples, alpha)
    sums = np.empty((k, n_resamples))

    def draw(replicates: range) -> None:
        coins = numbered_generator(key, 2 * replicates.start).integers(0, 2, (n, len(replicates)))
        signs = 2 * coins.astype(np.float64) - 1
        some = np.empty((k, len(replicates)))
        weighted_sums(signs, values, some)
        sums[:, replicates.start : replicates.stop] = some

    thread_map(draw, in_steps(0, n_resamples, _BLOCK))
    return step_down(statistics, inverses, differences_of(sums), n_resamples, alpha)


def differences_of(sums: FloatMatrix) -> Largest:
    """Return a function for `step_down`: the largest scaled difference of replicates' sums."""

    def fill(some: IntVector, factors: FloatMatrix, largest: FloatVector) -> None:
        largest_differences(sums[:, some].copy(), factors, largest)

    return fill


def step_down(
    statistics: FloatMatrix,
    inverses: FloatMatrix,
    largest_of: Largest,
    n_resamples: int,
    alpha: float,
) -> BoolMatrix:
    """Return which detectors are significantly better than which, by replicates of all.

    A pair differs where its statistic exceeds the quantile of the largest one of all pairs that
    are left, in the replicates and the data themselves. Fewer pairs make no replicate's largest
    one larger: only the largest are computed anew, as far as the quantile depends on them.

    Parameters
    ----------
    statistics : numpy.ndarray of shape (n_detectors, n_detectors)
        Of the detector of the row against the one of the column, higher is better.
    inverses : numpy.ndarray of shape (n_detectors, n_detectors)
        Factor of each difference of sums, which is its statistic.
    largest_of : callable
        Writes the largest statistic of each of some replicates, of pairs whose factor is not 0.
    n_resamples : int
        Number of replicates.
    alpha : float
        Probability of any error.
    """

    def largest_statistics(replicates: IntVector) -> FloatVector:
        values = np.empty(len(replicates))
        thread_map(
            lambda part: largest_of(
                replicates[part.start : part.stop], left, values[part.start : part.stop]
            ),
            in_steps(0, len(replicates), _BLOCK),
        )
        return values

    left, better = inverses.copy(), np.zeros(inverses.shape, np.bool_)
    # So many of all, with the data, may exceed the quantile.
    n_above = math.floor(alpha * (n_resamples + 1) + 1e-9)
    largest = largest_statistics(np.arange(n_resamples))
    while True:
        bound = max(float(np.max(np.where(better, 0.0, statistics))), 0.0)
        critical = -float(np.partition(np.append(-largest, -bound), n_above)[n_above])
        significant = (statistics > critical) & ~better
        if not significant.any():
            return better
        better |= significant
        left[significant] = 0.0
        order = np.argsort(-largest, kind="stable")
        before = largest.copy()
        for start in range(0, n_resamples, n_above + _BLOCK):
            end = start + n_above + _BLOCK
            largest[order[start:end]] = largest_statistics(order[start:end])
            quantile = -np.partition(-largest[order[:end]], n_above)[n_above]
            if end >= n_resamples or quantile >= before[order[end]]:
                break


def _are_skewed(values: FloatMatrix, key: np.uint64) -> bool:
    """Return whether differences of detectors are significantly skewed over data sets.

    The mean minus the median over the deviation, which outliers do not decide as they do the third
    moment: summed over a detector's pairs, beside the same under random signs.
    """
    n, k = values.shape
    size = min(k, max(math.isqrt(_SKEWED_WORK // n), 2))
    some = values[:, np.linspace(0, k - 1, size).round().astype(np.int64)].copy()

    def sizes(signs: IntMatrix) -> FloatVector:
        sums = np.empty((len(signs), size))

        def fill(part: range) -> None:
            rows = slice(part.start, part.stop)
            work = np.empty((2, n))
            sum_skewness(signs[rows].astype(np.float64), some, _ROUNDING, work, sums[rows])

        thread_map(fill, in_steps(0, len(signs), _SKEWED_BLOCK))
        total: FloatVector = np.abs(sums).sum(axis=1)
        return total

    # Opposite signs change nothing but the rounding.
    observed = float(sizes(np.ones((1, n), np.int64))[0]) * (1 + _ROUNDING)
    # The signs of replicates have other numbers.
    signs = 2 * numbered_generator(key, 2).integers(0, 2, (_N_SKEWED, n)) - 1
    n_above = 0
    for some_signs in np.array_split(signs, 6):
        n_above += np.count_nonzero(sizes(some_signs) > observed)
        if n_above > _N_ABOVE:
            return False
    return observed > 0


def _probabilities(values: FloatMatrix, n_resamples: int, key: np.uint64) -> FloatMatrix:
    """Return the probability of each rank of each detector, by random weights of data sets."""
    n, k = values.shape

    def draw(replicates: range) -> FloatMatrix:
        generator = numbered_generator(key, 2 * replicates.start + 1)
        weights = generator.standard_exponential((n, len(replicates)))
        sums = np.empty((k, len(replicates)))
        weighted_sums(weights, values, sums)
        return sums

    return rank_frequencies(draw, k, n_resamples)


def rank_frequencies(draw: Callable[[range], FloatMatrix], k: int, n_resamples: int) -> FloatMatrix:
    """Return how often each of k detectors has each rank in replicates, drawn in blocks."""

    def count(blocks: range) -> IntMatrix:
        counts = np.zeros((k, k), np.int64)
        for block in blocks:
            some = replicates[block]
            count_ranks(draw(some), np.empty((1, len(some)), np.int64), counts)
        return counts

    replicates = in_steps(0, n_resamples, _BLOCK)
    n_blocks = len(replicates)
    parts = in_steps(0, n_blocks, -(-n_blocks // (4 * current_threads())))
    frequencies: FloatMatrix = np.sum(thread_map(count, parts), axis=0) / float(n_resamples)
    return frequencies

"""Distance of the rankings of detectors by two measures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import N_RESAMPLES
from fastad._core.results import Column, TableResult, grid_columns, interval_columns
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import best_three, count_text, intervals_text
from fastad._core.types import FloatMatrix, FloatVector, Point
from fastad.benchmarking.ranks import best_merits, check_detectors, rank_rows
from fastad.benchmarking.reading import problem_noun
from fastad.benchmarking.resampling import Means, check_resampling
from fastad.benchmarking.result_table import Results, as_results
from fastad.errors import InvalidInputError


@dataclass(frozen=True, slots=True, eq=False)
class RankDistances(TableResult):
    """Distances of rankings by measures from the ranking by a reference.

    Frames have a row for each data set and measure: ``dataset``, ``measure``, ``reference`` and
    ``distance``.

    Attributes
    ----------
    reference : str
        Key of the measure of the reference ranking.
    measures : sequence of str
        Keys of the others.
    datasets : sequence of str
        Names of the data sets.
    distances : numpy.ndarray of shape (n_datasets, n_measures)
        Euclidean, between the ranks of the detectors; NaN where a detector lacks one of the two.
    means : Means
        Mean distances over data sets, with their intervals.
    closest : numpy.ndarray of shape (n_measures,)
        Fraction of the data sets on which no other measure is closer, of those where all have a
        distance; NaN for a measure that has none.
    confidence_level : float
        Confidence level of each interval.
    missing : sequence of str
        Notes of the rows that the table lacks.
    noun : str
        Name of a data set in the table: ``"problem"`` where a data set has several.
    """

    reference: str
    measures: Sequence[str]
    datasets: Sequence[str]
    distances: FloatMatrix
    means: Means
    closest: FloatVector
    confidence_level: float
    missing: Sequence[str]
    noun: str

    def __repr__(self) -> str:
        return f"<RankDistances of {len(self.measures)} measures from {self.reference}>"

    def _declare_table(self) -> list[Column]:
        means = self.means
        comparable = means.n == means.n.max()  # others are means over other data sets
        merits = np.where(comparable, [-means.value, self.closest], np.nan)
        nearest, closest = best_three(merits.T).T.tolist()
        return [
            Column(f"distance from {self.reference}", self.measures, str),
            Column("mean", means.value, ".3f", marks=nearest),
            *interval_columns(means.low, means.high, intervals_text(self.confidence_level), ".3f"),
            Column("closest", self.closest, ".0%", marks=closest),
            Column(f"{self.noun}s", means.n, str),
        ]

    @property
    def notes(self) -> list[str]:
        """Notes of undefined distances."""
        total = count_text(len(self.datasets), self.noun)
        return [
            *self.missing,
            *(
                f"nan: {key} or {self.reference} lacks a detector in {n} of {total}"
                for key, n in zip(self.measures, self.means.n_undefined.tolist(), strict=True)
                if n
            ),
        ]

    def _declare_columns(self) -> list[Column]:
        axes = {"dataset": self.datasets, "measure": self.measures}
        return grid_columns(axes, reference=self.reference, distance=self.distances)


@suggests_arguments
def rank_distance(
    results: Results,
    *,
    reference: str,
    measures: Sequence[str] | None = None,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> RankDistances:
    """Distance between the ranking of detectors by a measure and by a reference.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of detectors on data sets.
    reference : str
        Key of the measure of the reference ranking: ``"tpr@0.4"`` where anomalies must
        not be missed, ``"fpr@tpr0.8"`` where alarms must not be false.
    measures : sequence of str, optional
        Keys of the measures; by default all others of the table.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1).
    n_resamples : int, default 2000
        Number of times that data sets are drawn again.
    rng : int or numpy.random.Generator, optional
        Seed of the intervals.

    Returns
    -------
    RankDistances
        Distance on each data set, and its mean with an interval.

    Raises
    ------
    InvalidInputError
        If a measure is not in the table.

    Notes
    -----
    On each data set detectors are ranked as by `average_ranks`, ties sharing their mean rank, and
    the distance is Euclidean: the root of the sum of the squares of the differences of ranks. For
    k detectors it lies between 0 and the root of k (k^2 - 1) / 3, where one ranking is the
    reverse of the other.

    O(n_datasets n_measures n_detectors log n_detectors) time.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, section 3.1,
       Figures 3 and 4.

    Examples
    --------
    >>> import fastad
    >>> table = {
    ...     "dataset": ["wine"] * 3,
    ...     "detector": ["iforest", "knn", "lof"],
    ...     "tpr@0.4": [0.9, 0.7, 0.8],
    ...     "auc": [0.8, 0.6, 0.5],
    ... }
    >>> fastad.benchmarking.rank_distance(table, reference="tpr@0.4").means.value
    array([1.41421356])
    """
    table = as_results(results, None)
    target = table.measure(reference, "reference")
    check_detectors(table)
    resampling = check_resampling(table.clusters, confidence_level, n_resamples, rng)
    others = (
        [column for column in table.measures if column is not target]
        if measures is None
        else table.select(measures, "measures")
    )
    if not others:
        raise InvalidInputError(f"results must have a measure beside {target.key}; found none")
    goal = rank_rows(best_merits(table, target))
    ranks = np.stack([rank_rows(best_merits(table, column)) for column in others], axis=1)
    distances = np.sqrt(np.sum((ranks - goal[:, None, :]) ** 2, axis=2))
    k = len(table.detectors)
    farthest = math.sqrt(k * (k * k - 1) / 3)
    # Only data sets on which every measure with any distance has one, so that fractions compare.
    defined = ~np.isnan(distances)
    common = distances[np.all(defined[:, defined.any(axis=0)], axis=1) & defined.any(axis=1)]
    closest = np.full(len(others), np.nan)
    if len(common):
        nearest = np.nanmin(common, axis=1, keepdims=True)
        closest = np.where(defined.any(axis=0), np.mean(common == nearest, axis=0), np.nan)
    set_all_readonly(distances, closest)
    return RankDistances(
        target.key,
        [column.key for column in others],
        table.problems,
        distances,
        resampling.bounded_means(distances, 0, farthest),
        closest,
        resampling.confidence_level,
        table.omissions(),
        problem_noun(table.clusters),
    )

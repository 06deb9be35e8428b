"""``average_ranks``: ranks of detectors, averaged over data sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import N_RESAMPLES
from fastad._core.results import Column, TableResult, grid_columns
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import best_detectors, count_text, mean_text
from fastad._core.types import BoolVector, FloatMatrix, IntMatrix, IntVector, Point
from fastad.benchmarking.columns import MeasureColumn
from fastad.benchmarking.means import defined_mean
from fastad.benchmarking.reading import problems_text
from fastad.benchmarking.resampling import check_resampling
from fastad.benchmarking.result_table import Results, ResultTable, as_results
from fastad.errors import InvalidInputError, UndefinedMeasureError

_MAX_NAMES = 3


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankTable(TableResult):
    """Ranks of detectors by each measure; prints as a table of mean ± standard deviation.

    A row for each measure, a column for each detector. The best three of a row are marked, of up to
    three detectors the best. Frames have a row for each measure and detector:
    ``measure``, ``detector``, ``mean_rank``, ``std``, ``low``, ``high`` and ``n_datasets``.

    Attributes
    ----------
    measures : sequence of str
        Keys of the measures.
    detectors : sequence of str
        Names of the detectors.
    ranks : mapping of str to numpy.ndarray of shape (n_datasets, n_detectors)
        Rank of each detector on each problem, 1 for the best, by measure; NaN on problems
        that are left out.
    mean, std : numpy.ndarray of shape (n_measures, n_detectors)
        Mean over problems, and sample deviation (n - 1). NaN where there are too few.
    low, high : numpy.ndarray of shape (n_measures, n_detectors)
        Ends of the interval of the mean; NaN where fewer than two data sets count.
    n_datasets : numpy.ndarray of shape (n_measures,)
        Number of problems that count.
    confidence_level : float
        Confidence level of each interval.
    n_resamples : int
        Replicates that they are made of.
    """

    measures: Sequence[str]
    detectors: Sequence[str]
    ranks: Mapping[str, FloatMatrix]
    mean: FloatMatrix
    std: FloatMatrix
    low: FloatMatrix
    high: FloatMatrix
    n_datasets: IntVector
    confidence_level: float
    n_resamples: int
    _notes: Sequence[str]

    def __repr__(self) -> str:
        return (
            f"<RankTable of {len(self.detectors)} detectors by {len(self.measures)} measures: "
            f"{', '.join(self.measures)}>"
        )

    def _declare_table(self) -> list[Column]:
        text = partial(mean_text, form=".2f")
        marks = best_detectors(-self.mean.T).tolist()
        return [Column("measure", self.measures, str)] + [
            Column(name, map(text, self.mean[:, j], self.std[:, j]), str, marks=marks[j])
            for j, name in enumerate(self.detectors)
        ]

    def _declare_columns(self) -> list[Column]:
        return grid_columns(
            {"measure": self.measures, "detector": self.detectors},
            mean_rank=self.mean,
            std=self.std,
            low=self.low,
            high=self.high,
            n_datasets=self.n_datasets[:, np.newaxis],
        )


@suggests_arguments
def average_ranks(
    results: Results,
    *,
    measures: Sequence[str] | None = None,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> RankTable:
    """Mean ranks of detectors over data sets, by each measure.

    On each data set a detector stands for the best of its models by the measure, the mean over
    folds; the best detector has rank 1, and equal ones share the mean of their ranks.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets; averaged over folds.
    measures : sequence of str, optional
        Keys of the measures; by default all.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1).
    n_resamples : int, default 2000
        Replicates: data sets with random weights.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the replicates.

    Returns
    -------
    RankTable
        Mean, standard deviation and interval of the rank of each detector.

    Raises
    ------
    InvalidInputError
        If there is one detector only.

    See Also
    --------
    friedman : Whether the detectors differ at all.
    nemenyi : Which of them differ.

    Notes
    -----
    A data set on which a detector has no value is left out for that measure: the notes count
    and name them, and the means over fewer folds than others. The interval of a mean rank is
    Gaffke's for values between 1 and k: a data set with the worst rank, or the best, may be among
    those that were not drawn, so that it has a length even if all ranks are equal. Anomaly classes
    of a data set are ranked each by itself, and have one weight in the intervals.

    O(n k log k) time for n data sets and k detectors, then O(n k) for each replicate.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 5.2, tables 3 and 4.
    .. [2] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", 2006,
       section 3.2.2.
    .. [3] N. Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean
       of a nonnegative variable", 2005.
    .. [4] E. Learned-Miller and P. S. Thomas, "A new confidence interval for the mean of a bounded
       random variable", 2019: of intervals such as Gaffke's, and Clopper's and Pearson's.

    Examples
    --------
    >>> import fastad
    >>> auc = [[0.9, 0.8, 0.7], [0.9, 0.9, 0.6], [0.8, 0.7, 0.9]]
    >>> results = fastad.ResultTable.from_arrays({"auc": auc}, detectors=["knn", "lof", "svm"])
    >>> print(fastad.benchmarking.average_ranks(results, rng=0))
    measure           knn          lof          svm
    auc      1.50 ± 0.50¹  2.17 ± 0.76  2.33 ± 1.15
    """
    table = as_results(results, measures)
    resampling = check_resampling(table.clusters, confidence_level, n_resamples, rng)
    check_detectors(table)
    keys, shape = table.measure_keys, (len(table.measures), len(table.detectors))
    ranks: dict[str, FloatMatrix] = {}
    mean, std, low, high = np.full((4, *shape), np.nan)
    n_datasets = np.zeros(shape[0], np.int64)
    notes = table.omissions()
    for i, measure in enumerate(table.measures):
        merits = best_merits(table, measure)
        ranks[measure.key] = ranked = rank_rows(merits)
        means = resampling.bounded_means(ranked, 1, len(table.detectors))
        mean[i], low[i], high[i] = means.value, means.low, means.high
        n_datasets[i] = n = means.n[0]
        if n > 1:
            std[i] = np.nanstd(ranked, axis=0, ddof=1)
        notes += notes_of_ranks(table, measure, merits)
    set_all_readonly(mean, std, low, high, n_datasets, *ranks.values())
    return RankTable(
        keys,
        table.detectors,
        ranks,
        mean,
        std,
        low,
        high,
        n_datasets,
        resampling.confidence_level,
        resampling.n_resamples,
        notes,
    )


def check_detectors(results: ResultTable) -> None:
    """Check that there are detectors to rank; their models alone are none."""
    if len(results.detectors) < 2:
        raise InvalidInputError(
            f"results must contain at least two detectors to rank; found {results.detectors[0]},"
            f" with {len(results.models)} models"
        )


def best_merits(results: ResultTable, measure: MeasureColumn) -> FloatMatrix:
    """Return the merit of each detector's best model on each problem; NaN where none has a value.

    Means over folds times the sign of the measure: higher is better.
    """
    order = np.argsort(results.detector_of, kind="stable")
    firsts = np.searchsorted(results.detector_of[order], np.arange(len(results.detectors)))
    merits = measure.sign * results.means(measure.key)[:, order]
    best: FloatMatrix = np.fmax.reduceat(merits, firsts, axis=1)
    return best


def best_models(results: ResultTable, measure: MeasureColumn) -> tuple[IntMatrix, IntMatrix]:
    """Return each detector's best model on each problem, and in how many folds it has a value.

    -1 and 0 where no model has a value; of models with equal means the first.
    """
    merits = measure.sign * results.means(measure.key)
    best = np.empty((results.n_datasets, len(results.detectors)), np.int64)
    for j in range(len(results.detectors)):
        models = np.flatnonzero(results.detector_of == j)
        highest = np.fmax.reduce(merits[:, models], axis=1, keepdims=True)
        best[:, j] = models[np.argmax(merits[:, models] == highest, axis=1)]
    defined = np.count_nonzero(~np.isnan(results.by_fold(measure.key)), axis=2)
    n_folds = np.take_along_axis(defined, best, axis=1)
    return np.where(n_folds > 0, best, -1), n_folds


def rank_rows(merits: FloatMatrix) -> FloatMatrix:
    """Return ranks within each row, 1 for the highest; equal values share their mean rank.

    A row with a NaN has no ranks.
    """
    shape = merits.shape
    order = np.argsort(-merits, axis=1, kind="stable")
    ordered = np.take_along_axis(merits, order, axis=1)
    first = np.ones(shape, np.bool_)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    # Equal values are a run in the rows laid end to end, as each row starts one.
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], first.size)
    runs = (starts + ends + 1) / 2
    ranked = np.repeat(runs, ends - starts).reshape(shape)
    ranked -= shape[1] * np.arange(shape[0])[:, np.newaxis]
    ranks = np.empty(shape)
    np.put_along_axis(ranks, order, ranked, axis=1)
    ranks[np.isnan(merits).any(axis=1)] = np.nan
    return ranks


def left_out(results: ResultTable, key: str, merits: FloatMatrix) -> list[str]:
    """Return a note of the problems on which a detector has no value."""
    undefined = np.isnan(merits)
    rows = np.flatnonzero(undefined.any(axis=1))
    if not len(rows):
        return []
    problems = results.problems
    names = [
        f"{problems[row]} for {results.detectors[int(np.argmax(undefined[row]))]}"
        for row in rows[:_MAX_NAMES].tolist()
    ]
    more = "; …" * (len(rows) > _MAX_NAMES)
    verb = "is" if len(rows) == 1 else "are"
    return [
        f"{key}: {len(rows)} of {problems_text(results.clusters)} {verb} left out, where a "
        f"detector has no value ({'; '.join(names)}{more})"
    ]


def fewer_folds(
    results: ResultTable, key: str, n_folds: IntMatrix, counted: BoolVector
) -> list[str]:
    """Return a note of the values, on the problems that count, that are means over fewer folds."""
    most = len(results.folds)
    lacking = np.argwhere((n_folds < most) & counted[:, np.newaxis]).tolist()
    if not lacking:
        return []
    problems = results.problems
    named = "; ".join(
        f"{problems[i]}, {results.detectors[j]}: {n_folds[i, j]}" for i, j in lacking[:_MAX_NAMES]
    )
    more = "; …" * (len(lacking) > _MAX_NAMES)
    total = np.count_nonzero(counted) * n_folds.shape[1]
    return [
        f"{key}: {len(lacking)} of {total} values are of fewer than {most} folds ({named}{more})"
    ]


def notes_of_ranks(results: ResultTable, measure: MeasureColumn, merits: FloatMatrix) -> list[str]:
    """Return notes of problems without a value, and of missing folds."""
    counted = ~np.any(np.isnan(merits), axis=1)
    n_folds = best_models(results, measure)[1]
    return left_out(results, measure.key, merits) + fewer_folds(
        results, measure.key, n_folds, counted
    )


def shared_points(
    clusters: IntVector, what: str = "p-values", ending: str = "; intervals do not"
) -> list[str]:
    """Return a note where a test takes dependent problems for independent ones.

    ``clusters`` are the data sets of the problems that are tested.
    """
    n = len(np.unique(clusters))
    if n == len(clusters):
        return []
    return [
        f"{what} take the {len(clusters)} problems for independent, which come from "
        f"{count_text(n, 'data set')}{ending}"
    ]


@dataclass(frozen=True, slots=True)
class CompleteMerits:
    """Merits on the problems where all detectors have values, as `average_ranks` counts them."""

    table: ResultTable
    column: MeasureColumn
    merits: FloatMatrix  # (n_problems, n_detectors), higher is better
    counted: BoolVector  # of all problems those that are there
    clusters: IntVector  # data set of each problem, from 0
    notes: Sequence[str]

    @classmethod
    def of(
        cls, results: Results, measure: str | None, what: str, least: int = 1, hint: str = ""
    ) -> "CompleteMerits":
        """Select a measure, the only one by default; leave out problems without a value.

        ``what`` needs so many data sets, and the hint ends the message where there are fewer.
        """
        table = as_results(results, None)
        column = table.only_measure() if measure is None else table.measure(measure)
        check_detectors(table)
        merits = best_merits(table, column)
        notes = [*table.omissions(), *notes_of_ranks(table, column, merits)]
        counted: BoolVector = np.asarray(~np.isnan(merits).any(axis=1))
        clusters = np.unique(table.clusters[counted], return_inverse=True)[1].astype(np.int64)
        complete = cls(table, column, merits[counted], counted, clusters, notes)
        if complete.n_datasets < least:
            noun = "a data set" if least == 1 else "two data sets"
            left_out = "" if counted.all() else f" ({notes[-1]})"
            raise UndefinedMeasureError(
                f"{what} need {noun} on which all detectors have a value; found "
                f"{complete.n_datasets}{left_out}{hint}"
            )
        return complete

    @property
    def n_datasets(self) -> int:
        """Number of data sets."""
        return len(np.unique(self.clusters))

    @property
    def data(self) -> str:
        """How many problems there are."""
        return problems_text(self.clusters)

    def by_mean(self, what: str, hint: str = "") -> IntVector:
        """Return the detectors in order of their mean, the best first; refuse infinite values."""
        infinite = np.argwhere(~np.isfinite(self.merits))
        if len(infinite):
            i, j = infinite[0].tolist()
            problem = self.table.problems[int(np.flatnonzero(self.counted)[i])]
            raise UndefinedMeasureError(
                f"{what} need finite values; found {self.column.sign * self.merits[i, j]} of "
                f"{self.table.detectors[j]} on {problem}{hint}"
            )
        return np.argsort(-defined_mean(self.merits, axis=0), kind="stable")

    def by_fold(self) -> npt.NDArray[np.float64]:
        """Return the values of each detector's best model on the folds; NaN where undefined."""
        models = best_models(self.table, self.column)[0][self.counted]
        problems = np.flatnonzero(self.counted)[:, np.newaxis]
        return self.table.by_fold(self.column.key)[problems, models]

    def names(self, order: IntVector) -> list[str]:
        """Return the names of detectors."""
        return [self.table.detectors[i] for i in order.tolist()]

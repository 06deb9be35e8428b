"""The cost of selecting a model by another measure, or on another class of anomalies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import N_RESAMPLES
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import count_text
from fastad._core.types import IntVector, Point
from fastad.benchmarking.matrix import MeasureMatrix, averaged
from fastad.benchmarking.means import cell_means, defined_mean
from fastad.benchmarking.reading import problem_names
from fastad.benchmarking.resampling import check_resampling
from fastad.benchmarking.result_table import Merits, Results, ResultTable, as_results
from fastad.errors import InvalidInputError, UndefinedMeasureError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LossMatrix(MeasureMatrix):
    """Relative loss in the column's measure where models are selected by the row's.

    Losses are fractions of the best value, 0 where nothing is lost.
    """

    _names: ClassVar[tuple[str, str, str]] = ("selected_by", "evaluated_by", "loss")
    form: ClassVar[str] = ".1%"
    higher_is_better: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SensitivityMatrix(LossMatrix):
    """The same loss on other anomalies than those on which models are selected."""

    _trivial_diagonal: ClassVar[bool] = False


@suggests_arguments
def selection_loss(
    results: Results,
    *,
    measures: Sequence[str] | None = None,
    evaluated_by: Sequence[str] | None = None,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> LossMatrix:
    """Relative loss in one measure where the model is selected by another.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets; averaged over folds.
    measures : sequence of str, optional
        Keys of the measures to select by, the rows; by default all of the table.
    evaluated_by : sequence of str, optional
        Keys of the measures that evaluate, the columns; by default the measures of the rows.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1).
    n_resamples : int, default 2000
        Number of times that data sets are drawn again.
    rng : int or numpy.random.Generator, optional
        Seed of the intervals.

    Returns
    -------
    LossMatrix
        Mean losses over data sets with their intervals; prints as the papers' tables.

    Raises
    ------
    InvalidInputError
        If a measure is not in the table.

    Notes
    -----
    On each data set the model is selected that is best by the row's measure; its loss is
    (c_best - c_used) / c_best in the column's measure, (c_used - c_best) / c_best where lower is
    better, over the size of c_best where that is negative. Of several models with the
    same best value the losses are averaged. A data set where c_best is 0, infinite or
    undefined, or where a selected model lacks the column's measure, is left out and counted.

    Models are selected and evaluated on the same test data, so that the loss tells how two measures
    disagree and nothing else; `recommend` also evaluates on other folds.

    Intervals are made of resampled data sets, percentiles and studentized means. O(n_datasets
    n_models n_measures^2) time.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 5.3, Tables 6-8.

    Examples
    --------
    >>> import fastad
    >>> table = {
    ...     "dataset": ["a", "a", "b", "b"],
    ...     "detector": ["knn", "lof", "knn", "lof"],
    ...     "auc": [0.9, 0.8, 0.7, 0.6],
    ...     "tpr@0.05": [0.4, 0.5, 0.6, 0.3],
    ... }
    >>> print(fastad.benchmarking.selection_loss(table, rng=0))
    selected by    auc  tpr@0.05   mean
    auc             -     10.0%¹  5.0%²
    tpr@0.05     5.6%¹        -   2.8%¹
    """
    table = as_results(results, measures, evaluated_by=evaluated_by)
    rows = table.measures if measures is None else table.select(measures, "measures")
    columns = rows if evaluated_by is None else table.select(evaluated_by, "evaluated_by")
    resampling = check_resampling(table.clusters, confidence_level, n_resamples, rng)
    best = best_models(table.merits(rows))
    loss = loss_of(best, shortfalls(table.merits(columns)))
    missing = table.omissions()
    return LossMatrix(**averaged(loss, rows, columns, table.problems, resampling, missing))


@suggests_arguments
def class_sensitivity(
    results: Results,
    *,
    measures: Sequence[str] | None = None,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> SensitivityMatrix:
    """Relative loss where the model is selected on anomalies of another class.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets and classes of anomalies: it must have a class column.
    measures : sequence of str, optional
        Keys of the measures; by default all of the table.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1).
    n_resamples : int, default 2000
        Number of times that data sets are drawn again.
    rng : int or numpy.random.Generator, optional
        Seed of the intervals.

    Returns
    -------
    SensitivityMatrix
        Mean losses over data sets with their intervals. The diagonal is not 0: the measure is
        the same, but the anomalies are others.

    Raises
    ------
    InvalidInputError
        If there is no column of anomaly classes.
    UndefinedMeasureError
        If no data set has two classes of anomalies.

    Notes
    -----
    The model that is best by the row's measure on anomalies of class A is evaluated by the column's
    measure on class B, as in `selection_loss`; averaged over the ordered pairs A ≠ B of a data
    set, then over data sets. Data sets with one class are left out.

    O(n_problems n_classes n_models n_measures^2) time.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 5.4, Tables 10 and 11.

    Examples
    --------
    Two models that are each the best on one class:

    >>> import fastad
    >>> table = {
    ...     "dataset": ["cardio"] * 4,
    ...     "anomaly_class": ["5", "5", "8", "8"],
    ...     "detector": ["ocsvm"] * 4,
    ...     "params": ["gamma=0.01", "gamma=50"] * 2,
    ...     "auc": [0.87, 0.74, 0.02, 0.99],
    ... }
    >>> sensitivity = fastad.benchmarking.class_sensitivity(table, rng=0)
    >>> round(float(sensitivity.value[0, 0]), 3)  # mean of 0.97/0.99 and 0.13/0.87
    0.565
    """
    table = as_results(results, measures)
    if table.anomaly_classes is None:
        raise InvalidInputError(
            "results must have a column of the classes of anomalies, anomaly_class; found none"
        )
    n_classes = np.bincount(table.clusters)
    n_datasets = int(np.count_nonzero(n_classes > 1))
    if n_datasets == 0:
        raise UndefinedMeasureError(
            "class_sensitivity needs a data set with at least two classes of anomalies; found none "
            f"in {len(n_classes)}"
        )
    resampling = check_resampling(np.arange(n_datasets), confidence_level, n_resamples, rng)
    columns = table.measures
    merits = table.merits(columns)
    losses = list(class_losses(table, best_models(merits), shortfalls(merits)))
    names = problem_names([table.datasets[classes[0]] for classes, _ in losses], None)
    values = np.array([loss for _, loss in losses])
    missing = table.omissions()
    if n_datasets < len(n_classes):
        alone = count_text(len(n_classes) - n_datasets, "data set")
        missing.append(f"left out: {alone} with one class of anomalies")
    return SensitivityMatrix(**averaged(values, columns, columns, names, resampling, missing))


def best_models(merits: Merits) -> npt.NDArray[np.bool_]:
    """Return which models each measure selects on each problem: all with the best value."""
    selected: npt.NDArray[np.bool_] = merits == highest(merits)[:, None, :]
    return selected


def highest(merits: Merits) -> npt.NDArray[np.float64]:
    """Return the highest merit of each problem and measure; NaN where there is none."""
    best: npt.NDArray[np.float64] = np.fmax.reduce(merits, axis=1)
    return best


def shortfalls(merits: Merits) -> npt.NDArray[np.float64]:
    """Return the relative loss of each model against the best value."""
    return shortfall(highest(merits)[:, None, :], merits)


def shortfall(
    best: npt.NDArray[np.float64], merits: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the loss of merits relative to a best value; NaN where that is 0."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        short: npt.NDArray[np.float64] = (best - merits) / np.abs(best)
    short[~np.isfinite(short)] = np.nan
    return short


def loss_of(
    selected: npt.NDArray[np.bool_], short: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the loss of each problem, selecting and evaluating measure, a mean over models."""
    n_problems, _, n_rows = selected.shape
    problem, _, model = np.nonzero(selected.transpose(0, 2, 1))
    n_selected = selected.sum(axis=1).reshape(-1)
    starts = np.concatenate([[0], np.cumsum(n_selected)])
    set_all_readonly(starts)  # as in a table: one compiled form
    loss = np.empty((n_problems * n_rows, short.shape[2]))
    for column in range(short.shape[2]):
        means, defined = cell_means(short[problem, model, column], starts)
        loss[:, column] = np.where(defined == n_selected, means, np.nan)
    return loss.reshape(n_problems, n_rows, -1)


def class_losses(
    table: ResultTable, best: npt.NDArray[np.bool_], short: npt.NDArray[np.float64]
) -> Iterator[tuple[IntVector, npt.NDArray[np.float64]]]:
    """Yield the problems of each data set with several classes, and its losses between them.

    Losses are means over the ordered pairs of different classes where they are defined.
    """
    for cluster in range(int(table.clusters.max()) + 1):
        classes = np.flatnonzero(table.clusters == cluster)
        if len(classes) > 1:
            losses = []
            for selecting in classes:
                others = classes[classes != selecting]
                selected = np.broadcast_to(best[selecting], (len(others), *best.shape[1:]))
                losses.append(loss_of(selected, short[others]))
            yield classes, defined_mean(np.concatenate(losses), axis=0)

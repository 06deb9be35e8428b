"""``mean_values``: the values of detectors on each data set, averaged over folds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastad._core.arrays import set_all_readonly
from fastad._core.results import Column, TableResult, grid_columns
from fastad._core.text_tables import best_detectors, count_text, mean_text
from fastad._core.types import FloatMatrix, IntMatrix
from fastad.benchmarking.columns import MeasureColumn
from fastad.benchmarking.means import in_units
from fastad.benchmarking.ranks import best_models, check_detectors, fewer_folds
from fastad.benchmarking.reading import problem_names, problem_noun
from fastad.benchmarking.result_table import Results, ResultTable, as_results


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MeanValues(TableResult):
    """Values of detectors on each data set; prints as a table of mean ± standard deviation.

    A row for each measure and problem, a column for each detector. The best three of a row are
    marked, of up to three detectors the best. Detectors with equal means share a mark.
    Frames have a row for each measure, problem and detector: ``measure``, ``dataset``,
    ``anomaly_class`` where there is one, ``detector``, ``model`` (None where no model has a value),
    ``mean``, ``std`` and ``n_folds``.

    Attributes
    ----------
    measures : sequence of str
        Keys of the measures.
    datasets : sequence
        Name of the data set of each problem.
    anomaly_classes : sequence or None
        Class of the anomalies of each problem, where data sets have several.
    detectors : sequence of str
        Names of the detectors.
    models : sequence of str
        Detector and parameters of each model.
    mean, std : numpy.ndarray of shape (n_measures, n_datasets, n_detectors)
        Mean over folds of the detector's best model, and its sample deviation (n - 1). NaN where
        there are too few.
    n_folds : numpy.ndarray of shape (n_measures, n_datasets, n_detectors)
        Number of folds that count.
    model_of : numpy.ndarray of shape (n_measures, n_datasets, n_detectors)
        Index among ``models`` of the detector's best model; -1 where none has a value.
    """

    measures: Sequence[str]
    datasets: Sequence[Any]
    anomaly_classes: Sequence[Any] | None
    detectors: Sequence[str]
    models: Sequence[str]
    mean: FloatMatrix
    std: FloatMatrix
    n_folds: IntMatrix
    model_of: IntMatrix
    _signs: Sequence[float]
    _notes: Sequence[str]
    _noun: str

    def __repr__(self) -> str:
        return (
            f"<MeanValues of {len(self.detectors)} detectors on "
            f"{count_text(len(self.datasets), self._noun)}: "
            f"{', '.join(self.measures)}>"
        )

    def _declare_table(self) -> list[Column]:
        problems = problem_names(self.datasets, self.anomaly_classes)
        ranked = zip(self._signs, self.mean, strict=True)
        marks = np.hstack([best_detectors(sign * mean.T) for sign, mean in ranked]).tolist()
        columns = grid_columns({"measure": self.measures, self._noun: problems})
        keys = [replace(column, form=str) for column in columns]
        detectors = enumerate(self.detectors)
        return keys + [
            Column(
                name,
                map(mean_text, self.mean[..., j].ravel(), self.std[..., j].ravel()),
                str,
                marks=marks[j],
            )
            for j, name in detectors
        ]

    def _declare_columns(self) -> list[Column]:
        best = [None if i < 0 else self.models[i] for i in self.model_of.ravel().tolist()]
        columns = grid_columns(
            {"measure": self.measures, "dataset": self.datasets, "detector": self.detectors},
            model=np.array(best, object).reshape(self.mean.shape),
            mean=self.mean,
            std=self.std,
            n_folds=self.n_folds,
        )
        if self.anomaly_classes is not None:
            classes = [name for name in self.anomaly_classes for _ in self.detectors]
            columns.insert(2, Column("anomaly_class", classes * len(self.measures)))
        return columns


def mean_values(results: Results, *, measures: Sequence[str] | None = None) -> MeanValues:
    """Values of detectors on each data set: mean and standard deviation over folds.

    On each data set a detector stands for the best of its models by the measure, the mean over
    folds, as in `average_ranks`.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets and folds.
    measures : sequence of str, optional
        Keys of the measures; by default all.

    Returns
    -------
    MeanValues
        Mean and standard deviation of each detector on each data set, the best marked.

    Raises
    ------
    InvalidInputError
        If there is one detector only.

    See Also
    --------
    average_ranks : Ranks of the same values, averaged over data sets.

    Notes
    -----
    Means are over the folds in which a measure is defined. Rates whose sums over folds are equal
    have equal means, so that such detectors share a mark. Of models with equal means the first
    stands for the detector. The value of a best model is optimistic where its parameters were
    selected on the same folds.

    O(n) time and memory for n rows of the table and each measure.

    Examples
    --------
    >>> import fastad
    >>> auc = [[[0.91, 0.93], [0.80, 0.84]], [[0.70, 0.72], [0.75, 0.77]]]
    >>> results = fastad.ResultTable.from_arrays(
    ...     {"auc": auc}, datasets=["wine", "yeast"], detectors=["knn", "lof"]
    ... )
    >>> print(fastad.benchmarking.mean_values(results))
    measure  data set               knn               lof
    auc          wine  0.9200 ± 0.0141¹  0.8200 ± 0.0283
    auc         yeast  0.7100 ± 0.0141   0.7600 ± 0.0141¹
    """
    table = as_results(results, measures)
    check_detectors(table)
    shape = len(table.measures), table.n_datasets, len(table.detectors)
    mean, std = np.full((2, *shape), np.nan)
    n_folds, model_of = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    notes, all_problems = table.omissions(), np.ones(table.n_datasets, np.bool_)
    for i, measure in enumerate(table.measures):
        _fill(table, measure, mean[i], std[i], n_folds[i], model_of[i])
        notes += fewer_folds(table, measure.key, n_folds[i], all_problems)
    set_all_readonly(mean, std, n_folds, model_of)
    return MeanValues(
        table.measure_keys,
        table.datasets,
        table.anomaly_classes,
        table.detectors,
        table.models,
        mean,
        std,
        n_folds,
        model_of,
        [measure.sign for measure in table.measures],
        notes,
        problem_noun(table.clusters),
    )


def _fill(
    table: ResultTable,
    measure: MeasureColumn,
    mean: FloatMatrix,
    std: FloatMatrix,
    n_folds: IntMatrix,
    model_of: IntMatrix,
) -> None:
    """Write the values of each detector's best model by a measure, by problem and detector."""
    means, by_fold = table.means(measure.key), table.by_fold(measure.key)
    problems = np.arange(table.n_datasets)
    model_of[:], n_folds[:] = best_models(table, measure)
    for j in range(len(table.detectors)):
        # Without a value, any model of the detector shows none.
        mean[:, j] = np.where(n_folds[:, j] > 0, means[problems, model_of[:, j]], np.nan)
        values = by_fold[problems, model_of[:, j]]
        defined, n = ~np.isnan(values), n_folds[:, j]
        several = n > 1
        # About the mean that is rounded once: equal values do not vary.
        with np.errstate(invalid="ignore", over="ignore"):  # infinities have no deviation
            deviations = np.where(defined, values - mean[:, j, np.newaxis], 0.0)[several]
            scaled, exponents = in_units(deviations)
            variance = np.sum(scaled**2, axis=1) / (n[several] - 1)
            std[several, j] = np.ldexp(np.sqrt(variance), exponents[:, 0])

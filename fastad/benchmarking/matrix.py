"""A number for each two measures, averaged over data sets: ``MeasureMatrix``, Kendall's tau."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import N_RESAMPLES
from fastad._core.results import Column, ShortRepr, TableResult, grid_columns
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import best_three, count_text
from fastad._core.threads import in_steps, thread_limit, thread_map
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, Point
from fastad._kernels.rank_tests.concordance import concordance
from fastad.benchmarking.columns import MeasureColumn
from fastad.benchmarking.means import defined_mean
from fastad.benchmarking.reading import problem_noun
from fastad.benchmarking.resampling import Averages, Resampling, check_resampling
from fastad.benchmarking.result_table import Merits, Results, as_results

# Problems of one step of a thread.
_STEP = 16


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowMeans(ShortRepr):
    """Means of the rows of a matrix over some of its columns.

    Attributes
    ----------
    value, low, high : numpy.ndarray of shape (n_rows,)
        Mean of the row's cells, and its interval; cells that are NaN are left out.
    """

    value: FloatVector
    low: FloatVector
    high: FloatVector


@dataclass(frozen=True, slots=True, eq=False)
class MeasureMatrix(TableResult):
    """A number for each two measures, averaged over data sets; prints as the papers' tables.

    Frames have a row for each two measures: the two keys, the number with ``low`` and ``high``,
    ``n_datasets`` and ``n_undefined``.

    Attributes
    ----------
    rows, columns : sequence of str
        Keys of the measures.
    value, low, high : numpy.ndarray of shape (n_rows, n_columns)
        Means over data sets with their intervals; NaN where no data set is defined.
    n_datasets, n_undefined : numpy.ndarray of shape (n_rows, n_columns)
        Numbers of data sets behind each mean, and left out.
    means : mapping of str to RowMeans
        Mean of each row over all columns, ``"mean"``, and over those at one rate, ``"mean@0.05"``,
        where there are several rates, and at it several measures; the diagonal is part of them.
    datasets : sequence of str
        Names of the data sets.
    by_dataset : numpy.ndarray of shape (n_datasets, n_rows, n_columns)
        The numbers behind the means.
    confidence_level : float
        Confidence level of each interval.
    missing : sequence of str
        Notes of the rows that the table lacks.
    noun : str
        Name of a data set in the notes: ``"problem"`` where a data set has several.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    value: FloatMatrix
    low: FloatMatrix
    high: FloatMatrix
    n_datasets: IntMatrix
    n_undefined: IntMatrix
    means: Mapping[str, RowMeans]
    datasets: Sequence[str]
    by_dataset: npt.NDArray[np.float64]
    confidence_level: float
    missing: Sequence[str]
    noun: str

    # Names of row, column and value, their format, and which way is better.
    _names: ClassVar[tuple[str, str, str]] = ("row", "column", "value")
    form: ClassVar[str] = ".2f"
    higher_is_better: ClassVar[bool] = True
    _trivial_diagonal: ClassVar[bool] = True

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} of {len(self.rows)} x {len(self.columns)} measures>"

    @property
    def row_name(self) -> str:
        """Heading of the measures of the rows."""
        return self._names[0].replace("_", " ")

    @property
    def column_name(self) -> str:
        """Heading of the measures of the columns."""
        return self._names[1].replace("_", " ")

    def _declare_table(self) -> list[Column]:
        sign = 1.0 if self.higher_is_better else -1.0
        diagonal = np.zeros(self.value.shape, np.bool_)
        if self._trivial_diagonal:
            diagonal = np.array([[row == column for column in self.columns] for row in self.rows])
        # Means over fewer data sets than others of the column are not compared with them.
        fewer = self.n_datasets < np.where(diagonal, 0, self.n_datasets).max(axis=0)
        means = [mean.value for mean in self.means.values()]
        values = np.column_stack([np.where(diagonal, math.nan, self.value), *means])
        left_out = np.column_stack([fewer, *[(fewer & ~diagonal).any(axis=1)] * len(means)])
        marks = best_three(np.where(left_out, math.nan, sign * values))
        return [Column(self.row_name, self.rows, str)] + [
            Column(head, values[:, j], self.form, marks=marks[:, j].tolist())
            for j, head in enumerate([*self.columns, *self.means])
        ]

    @property
    def notes(self) -> list[str]:
        """Notes of the measures without numbers on some data sets."""
        # A measure that is undefined by itself is undefined in its whole row or column.
        lacking = dict(zip(self.columns, self.n_undefined.min(axis=0).tolist(), strict=True))
        for name, n in zip(self.rows, self.n_undefined.min(axis=1).tolist(), strict=True):
            lacking[name] = max(n, lacking.get(name, 0))
        total = count_text(len(self.datasets), self.noun)
        notes = [
            f"nan: no {self._names[2]} by {name} in {n} of {total}, which are left out"
            for name, n in lacking.items()
            if n
        ]
        noted = set()
        for (i, j), n in np.ndenumerate(self.n_undefined):
            pair = frozenset([self.rows[i], self.columns[j]])
            if n > max(lacking[name] for name in pair) and (pair, n) not in noted:
                noted.add((pair, n))
                notes.append(
                    f"nan: no {self._names[2]} by {self.rows[i]} with {self.columns[j]} in {n} of "
                    f"{total}"
                )
        return [*self.missing, *notes]

    def _declare_columns(self) -> list[Column]:
        row, column, value = self._names
        cells = {"low": self.low, "high": self.high}
        counts = {"n_datasets": self.n_datasets, "n_undefined": self.n_undefined}
        axes = {row: self.rows, column: self.columns}
        return grid_columns(axes, **{value: self.value}, **cells, **counts)


def averaged(
    by_dataset: npt.NDArray[np.float64],
    rows: Sequence[MeasureColumn],
    columns: Sequence[MeasureColumn],
    datasets: Sequence[str],
    resampling: Resampling,
    missing: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the fields of a matrix: means over data sets, the first axis."""
    averages = resampling.average(by_dataset)
    groups = {"mean": list(range(len(columns)))}
    rates = sorted({column.rate for column in columns if column.rate is not None})
    if len(rates) > 1:
        for rate in rates:
            at_rate = [i for i, column in enumerate(columns) if column.rate == rate]
            if len(at_rate) > 1:
                groups[f"mean@{float(rate):g}"] = at_rate
    low, high = resampling.interval_of_mean(averages)
    fields: dict[str, Any] = {
        "value": averages.value,
        "low": low,
        "high": high,
        "n_datasets": averages.n,
        "n_undefined": averages.n_undefined,
        "by_dataset": by_dataset,
    }
    set_all_readonly(*fields.values())
    return {
        "rows": [column.key for column in rows],
        "columns": [column.key for column in columns],
        **fields,
        "means": {name: _row_means(averages, group, resampling) for name, group in groups.items()},
        "datasets": datasets,
        "confidence_level": resampling.confidence_level,
        "missing": missing,
        "noun": problem_noun(resampling.clusters),
    }


def _row_means(averages: Averages, columns: list[int], resampling: Resampling) -> RowMeans:
    """Average each row over some columns; a row of one cell among several has no mean."""
    value = defined_mean(averages.value[:, columns], axis=1)
    low, high = resampling.interval(
        value,
        defined_mean(averages.replicates[..., columns], axis=-1),
        averages.n_clusters[:, columns].max(axis=1),
    )
    alone = np.count_nonzero(~np.isnan(averages.value[:, columns]), axis=1) < min(2, len(columns))
    for array in (value, low, high):
        array[alone] = np.nan
    set_all_readonly(value, low, high)
    return RowMeans(value, low, high)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KendallMatrix(MeasureMatrix):
    """Kendall's tau between measures over models, averaged over data sets; in [-1, 1]."""

    _names: ClassVar[tuple[str, str, str]] = ("measure", "other", "tau")


@suggests_arguments
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
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets; averaged over folds.
    measures : sequence of str, optional
        Keys of the measures; by default all of the table.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1).
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
        If a measure is not in the table.

    Notes
    -----
    Kendall's tau_b = (C - D) / sqrt((P - T_1)(P - T_2)) of the C pairs of models that two measures
    order in the same way, the D that they order the other way, and those among all P that the one
    or the other ties. Measures where lower is better change their sign first, so that agreement is
    positive. A model that lacks one of two measures is left out for these two; a data set where
    tau is undefined, because a measure ties all models, is left out and counted. The ``"mean"`` of
    a row contains its diagonal, as in the paper.

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
        tau = kendall_by_problem(table.merits(table.measures))
    columns, missing = table.measures, table.omissions()
    return KendallMatrix(**averaged(tau, columns, columns, table.problems, resampling, missing))


def kendall_by_problem(merits: Merits) -> npt.NDArray[np.float64]:
    """Return tau_b of each problem and every two measures; NaN where it is undefined."""
    n_problems, n_models, n_measures = merits.shape
    by_measure = np.ascontiguousarray(merits.transpose(0, 2, 1))
    balance = np.empty((n_problems, n_measures, n_measures), np.int64)
    untied = np.empty_like(balance)

    def count(problems: range) -> None:
        buffer = np.empty((2, n_models))
        for i in problems:
            orders = np.argsort(by_measure[i], axis=1)
            concordance(by_measure[i], orders, balance[i], untied[i], buffer)

    thread_map(count, in_steps(0, n_problems, _STEP))
    pairs = untied * untied.transpose(0, 2, 1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        tau: npt.NDArray[np.float64] = balance / np.sqrt(pairs)
    return tau

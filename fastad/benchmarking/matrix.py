"""``MeasureMatrix``: a number for each two measures, averaged over data sets."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.results import TableResult
from fastad._core.text_tables import DASH, TextTable, best_three, number_text
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix
from fastad.benchmarking.columns import MeasureColumn
from fastad.benchmarking.resampling import Averages, Resampling, defined_mean


@dataclass(frozen=True, slots=True, eq=False)
class RowMeans:
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

    Attributes
    ----------
    rows, columns : sequence of str
        Labels of the measures.
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
        Of each interval.
    missing : sequence of str
        In words, which rows the table lacks.
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

    # What the numbers are, how they read, and which way is better.
    _names: ClassVar[tuple[str, str, str]] = ("row", "column", "value")
    form: ClassVar[str] = ".2f"
    higher_is_better: ClassVar[bool] = True
    _trivial_diagonal: ClassVar[bool] = True

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} of {len(self.rows)} x {len(self.columns)} measures>"

    @property
    def row_name(self) -> str:
        """What the measures of the rows are for."""
        return self._names[0].replace("_", " ")

    @property
    def column_name(self) -> str:
        """What the measures of the columns are for."""
        return self._names[1].replace("_", " ")

    def text_table(self) -> TextTable:
        """Return the cells as text, with the best three of a column marked."""
        texts = [[number_text(cell, self.form) for cell in row] for row in self.value.tolist()]
        sign = 1.0 if self.higher_is_better else -1.0
        own = np.zeros(self.value.shape, np.bool_)
        if self._trivial_diagonal:
            own = np.array([[row == column for column in self.columns] for row in self.rows])
            for i, j in np.argwhere(own).tolist():
                texts[i][j] = DASH
        # Means over fewer data sets than others of the column are not compared with them.
        thin = self.n_datasets < np.where(own, 0, self.n_datasets).max(axis=0)
        merits = np.where(own | thin, math.nan, sign * self.value)
        whole = ~(thin & ~own).any(axis=1)
        for mean in self.means.values():
            merits = np.column_stack([merits, np.where(whole, sign * mean.value, math.nan)])
            for row, cell in zip(texts, mean.value.tolist(), strict=True):
                row.append(number_text(cell, self.form))
        return TextTable(
            [self.row_name, *self.columns, *self.means],
            [[name, *row] for name, row in zip(self.rows, texts, strict=True)],
            best_three(merits).tolist(),
        )

    @property
    def notes(self) -> list[str]:
        """Which measures have no numbers on some data sets."""
        # What is undefined for one measure alone is so in its whole row or column.
        lacking = dict(zip(self.columns, self.n_undefined.min(axis=0).tolist(), strict=True))
        for name, n in zip(self.rows, self.n_undefined.min(axis=1).tolist(), strict=True):
            lacking[name] = max(n, lacking.get(name, 0))
        total = len(self.datasets)
        remarks = [
            f"nan: no {self._names[2]} by {name} in {n} of {total} data sets, which are left out"
            for name, n in lacking.items()
            if n
        ]
        said = set()
        for (i, j), n in np.ndenumerate(self.n_undefined):
            pair = frozenset([self.rows[i], self.columns[j]])
            if n > max(lacking[name] for name in pair) and (pair, n) not in said:
                said.add((pair, n))
                remarks.append(
                    f"nan: no {self._names[2]} by {self.rows[i]} with {self.columns[j]} in {n} of "
                    f"{total} data sets"
                )
        return [*self.missing, *remarks]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists: a row for each two measures.

        The two labels, the number with ``low`` and ``high``, ``n_datasets`` and ``n_undefined``.
        """
        row, column, value = self._names
        n_rows, n_columns = self.value.shape
        return {
            row: [name for name in self.rows for _ in range(n_columns)],
            column: list(self.columns) * n_rows,
            value: self.value.reshape(-1).tolist(),
            "low": self.low.reshape(-1).tolist(),
            "high": self.high.reshape(-1).tolist(),
            "n_datasets": self.n_datasets.reshape(-1).tolist(),
            "n_undefined": self.n_undefined.reshape(-1).tolist(),
        }


def averaged(
    by_dataset: npt.NDArray[np.float64],
    rows: Sequence[MeasureColumn],
    columns: Sequence[MeasureColumn],
    datasets: Sequence[str],
    resampling: Resampling,
    missing: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the fields of a matrix: means over data sets, the first axis."""
    found = resampling.average(by_dataset)
    groups = {"mean": list(range(len(columns)))}
    rates = sorted({one.rate for one in columns if one.rate is not None})
    if len(rates) > 1:
        for rate in rates:
            at_rate = [i for i, one in enumerate(columns) if one.rate == rate]
            if len(at_rate) > 1:
                groups[f"mean@{float(rate):g}"] = at_rate
    low, high = resampling.interval_of_mean(found)
    fields: dict[str, Any] = {
        "value": found.value,
        "low": low,
        "high": high,
        "n_datasets": found.n,
        "n_undefined": found.n_undefined,
        "by_dataset": by_dataset,
    }
    set_all_readonly(*fields.values())
    return {
        "rows": [one.name for one in rows],
        "columns": [one.name for one in columns],
        **fields,
        "means": {name: _row_means(found, chosen, resampling) for name, chosen in groups.items()},
        "datasets": datasets,
        "confidence_level": resampling.confidence_level,
        "missing": missing,
    }


def _row_means(found: Averages, chosen: list[int], resampling: Resampling) -> RowMeans:
    """Average each row over some columns; a row of one cell among several has no mean."""
    value = defined_mean(found.value[:, chosen], axis=1)
    low, high = resampling.interval(
        defined_mean(found.replicates[..., chosen], axis=-1),
        found.n_clusters[:, chosen].max(axis=1),
    )
    alone = np.count_nonzero(~np.isnan(found.value[:, chosen]), axis=1) < min(2, len(chosen))
    for array in (value, low, high):
        array[alone] = np.nan
    set_all_readonly(value, low, high)
    return RowMeans(value, low, high)

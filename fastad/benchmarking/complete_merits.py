"""Merits of detectors on the data sets where all of them have values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastad._core.types import BoolVector, FloatMatrix, IntVector
from fastad.benchmarking.columns import MeasureColumn
from fastad.benchmarking.ranks import best_merits, check_detectors, notes_of_ranks
from fastad.benchmarking.reading import problems_text
from fastad.benchmarking.result_table import ResultTable
from fastad.errors import UndefinedMeasureError


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
    def of(cls, table: ResultTable, measure: str | None) -> "CompleteMerits":
        """Select a measure, the only one by default, and leave out problems without a value."""
        column = table.only_measure() if measure is None else table.measure(measure)
        check_detectors(table)
        merits = best_merits(table, column)
        notes = [*table.omissions(), *notes_of_ranks(table, column, merits)]
        counted: BoolVector = np.asarray(~np.isnan(merits).any(axis=1))
        clusters = np.unique(table.clusters[counted], return_inverse=True)[1].astype(np.int64)
        return cls(table, column, merits[counted], counted, clusters, notes)

    @property
    def data(self) -> str:
        """How many problems there are."""
        return problems_text(self.table.clusters[self.counted])

    @property
    def n_datasets(self) -> int:
        """Number of data sets."""
        return int(self.clusters.max()) + 1 if len(self.clusters) else 0

    def check(self, what: str, least: int, hint: str = "") -> None:
        """Check that there are enough data sets."""
        if self.n_datasets < least:
            noun = "a data set" if least == 1 else "two data sets"
            left_out = "" if self.counted.all() else f" ({self.notes[-1]})"
            raise UndefinedMeasureError(
                f"{what} need {noun} on which all detectors have a value; found "
                f"{self.n_datasets}{left_out}{hint}"
            )

    def check_finite(self, what: str, hint: str = "") -> None:
        """Check that means can be formed."""
        infinite = np.argwhere(~np.isfinite(self.merits))
        if len(infinite):
            i, j = infinite[0].tolist()
            problem = self.table.problems[int(np.flatnonzero(self.counted)[i])]
            raise UndefinedMeasureError(
                f"{what} need finite values; found {self.column.sign * self.merits[i, j]} of "
                f"{self.table.detectors[j]} on {problem}{hint}"
            )

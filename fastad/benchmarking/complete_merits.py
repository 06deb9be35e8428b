"""Merits of detectors on the data sets where all of them have values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastad._core.types import BoolVector, FloatMatrix, IntVector
from fastad.benchmarking.columns import MeasureColumn
from fastad.benchmarking.means import defined_mean
from fastad.benchmarking.ranks import best_merits, check_detectors, notes_of_ranks
from fastad.benchmarking.reading import problems_text
from fastad.benchmarking.result_table import Results, ResultTable, as_results
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

    def names(self, order: IntVector) -> list[str]:
        """Return the names of detectors."""
        return [self.table.detectors[i] for i in order.tolist()]

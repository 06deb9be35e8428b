"""``StudyTables``: what a study has found, as tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fastad.benchmarking.result_table import ResultTable
from fastad.errors import InvalidInputError

# pyarrow ships no types.
ArrowTable: TypeAlias = Any

# Columns that tell a task from all others.
KEYS = (
    *("collection", "dataset", "anomaly_class", "contamination", "repeat"),
    *("detector", "params"),
)
# Stands for the class of anomalies of data sets that have one, beside others that have several.
ONE_CLASS = "anomalies"


@dataclass(frozen=True, slots=True, eq=False)
class StudyTables:
    """What a study has found.

    Attributes
    ----------
    tasks : pyarrow.Table
        A row for each task that is done, failed ones included; without its times.
    curves : pyarrow.Table
        Curves of the first problem of each data set; without rows where none were kept.
    goix : pyarrow.Table
        Rows of goix's protocol, as `GoixRow.to_dict` makes them; without rows where it was not
        asked for.
    manifest : mapping
        The study as it was planned: what ``study.json`` holds.
    n_batches, n_done : int
        Batches that are planned, and those that are done.
    """

    tasks: ArrowTable
    curves: ArrowTable
    goix: ArrowTable
    manifest: Mapping[str, Any]
    n_batches: int
    n_done: int

    def results(
        self, *, collection: str | None = None, contamination: float | None = None
    ) -> ResultTable:
        """Return the measures of the tasks that went well, to be compared.

        Parameters
        ----------
        collection : str, optional
            Whose data sets; by default those of all.
        contamination : float, optional
            Anomalies in training for each normal row; by default the lowest that there is.

        Returns
        -------
        ResultTable
            Repeats are its folds. Tasks that failed are rows that it lacks.

        Raises
        ------
        InvalidInputError
            If there is no such task, or all of them failed.
        """
        rows = self.tasks
        if collection is not None:
            rows = _where(rows, "collection", collection)
        if contamination is None and rows.num_rows:
            contamination = min(rows["contamination"].to_pylist())
        if contamination is not None and rows.num_rows:
            rows = _where(rows, "contamination", contamination)
        if not rows.num_rows:
            raise InvalidInputError(
                f"there is no task of collection={collection!r}, contamination={contamination!r}"
            )
        well = _where(rows, "reason", "")
        if not well.num_rows:
            raise InvalidInputError(f"all of {rows.num_rows} tasks failed")
        columns = {name: well[name] for name in well.column_names}
        classes = columns.pop("anomaly_class").to_pylist()
        if any(one is not None for one in classes):
            columns["anomaly_class"] = [ONE_CLASS if one is None else one for one in classes]
        several = len(set(columns["collection"].to_pylist())) > 1
        dataset = ("collection", "dataset") if several else "dataset"
        return ResultTable.from_table(columns, dataset=dataset, fold="repeat")


def _where(table: ArrowTable, column: str, value: object) -> ArrowTable:
    return table.filter(np.asarray(table[column]) == value)

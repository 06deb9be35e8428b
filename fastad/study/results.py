"""``StudyTables``: the results of a study, read while it runs or afterwards."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastad.benchmarking.result_table import ResultTable
from fastad.errors import InvalidInputError
from fastad.study.files import (
    ArrowTable,
    DamagedFileError,
    TaskRows,
    active_runner,
    arrow,
    check_beside,
    make_table,
    noted_work,
    read_table,
    read_tasks,
)
from fastad.study.manifest import MANIFEST, Manifest, read_manifest

# The table of tasks, whose batches have the columns of three files.
TASKS = "results"
CURVES_FILE, TIMES_FILE = "curves.parquet", "times.parquet"
# Columns that distinguish tasks.
KEYS = (
    *("collection", "dataset", "anomaly_class", "contamination", "repeat"),
    *("detector", "params"),
)
# Columns that describe the split of a task: no measures.
SPLIT_COLUMNS = (
    *("contamination", "n_features", "n_train", "n_train_anomalies"),
    *("n_test", "n_test_anomalies"),
)
# Times differ from run to run: a file of their own keeps the files of results identical.
TIMES = ("fit_time_s", "score_time_s")
# Columns of the first split of each data set; None for tasks without curves.
CURVES = (
    *("roc", "pr", "mv_mass", "mv_volume", "em_level", "em_mass"),
    *("normal_percentiles", "anomaly_percentiles"),
)
# Beginning of the reason if a detector cannot be applied to so few rows, which is no failure.
NOT_APPLICABLE = "not applicable: "
# Beginning of the reason if a detector gives all rows the same score, as it may on one data set
# only: that task fails, and the study is not refused.
EQUAL_SCORES = "equal scores of all "


@dataclass(frozen=True, slots=True, eq=False)
class StudyTables:
    """The results of a study so far.

    Attributes
    ----------
    tasks : pyarrow.Table
        A row for each task that is done, failed ones included; without its times.
    curves : pyarrow.Table
        Curves of the first problem of each data set; without rows where none were kept.
    extra : mapping of str to pyarrow.Table
        Tables beside the tasks, by their name in the configuration, such as ``"goix"``.
    manifest : mapping
        The study as it was planned: the content of ``study.json``.
    n_batches, n_done : int
        Batches that are planned, and those that are done.
    """

    tasks: ArrowTable
    curves: ArrowTable
    extra: Mapping[str, ArrowTable]
    manifest: Mapping[str, Any]
    n_batches: int
    n_done: int

    def results(
        self, *, collection: str | None = None, contamination: float | None = None
    ) -> ResultTable:
        """Return the measures of the tasks that succeeded, to be compared.

        Parameters
        ----------
        collection : str, optional
            Collection of the data sets; by default all.
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
        # Without rows there are no columns.
        if collection is not None and rows.num_rows:
            rows = rows_with(rows, "collection", collection)
        if contamination is None and rows.num_rows:
            contamination = min(rows["contamination"].to_pylist())
        if contamination is not None and rows.num_rows:
            rows = rows_with(rows, "contamination", contamination)
        if not rows.num_rows:
            raise InvalidInputError(
                f"collection and contamination must be of a task; found no task of "
                f"{collection!r} and {contamination!r}"
            )
        succeeded = rows_with(rows, "reason", "")
        if not succeeded.num_rows:
            raise InvalidInputError(f"all of {rows.num_rows} tasks failed")
        # Columns that describe a split are no measures.
        columns = {
            name: succeeded[name] for name in succeeded.column_names if name not in SPLIT_COLUMNS
        }
        return ResultTable.from_table(
            columns, higher_is_better=own_directions(self.manifest) or None
        )

    def failed_detectors(self) -> list[str]:
        """Return the detectors, with their parameters, of which every task failed."""
        if not self.tasks.num_rows:
            return []
        outcomes: dict[str, list[bool]] = {}
        reasons = self.tasks["reason"].to_pylist()
        for name, reason in zip(configuration_names(self.tasks), reasons, strict=True):
            outcomes.setdefault(name, []).append(is_failure(reason))
        return [name for name, failed in outcomes.items() if all(failed)]


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """State of a study.

    Attributes
    ----------
    n_batches, n_done : int
        Batches that are planned, and those that are done.
    failures : mapping of str to int
        For each reason the number of tasks that failed, the most frequent first; a detector in
        goix's protocol on a data set is a task, too.
    not_applicable : mapping of str to int
        For each reason the number of tasks whose detector cannot be applied, such as to fewer
        rows than it has neighbours, and of those in goix's protocol without ROC and PR.
    runner : str or None
        Runner at work now.
    at_work : mapping of str to str
        Work in progress, or when the last runner was killed: start by title, in ISO 8601.
    """

    n_batches: int
    n_done: int
    failures: Mapping[str, int]
    not_applicable: Mapping[str, int]
    runner: str | None
    at_work: Mapping[str, str]


def own_directions(manifest: Mapping[str, Any]) -> dict[str, bool]:
    """Return of measures that the user has made whether higher is better, by their keys."""
    measures = manifest.get("config", {}).get("own_measures", {})
    return {key: facts["higher_is_better"] for key, facts in measures.items()}


def configuration_names(rows: ArrowTable) -> list[str]:
    """Return the detector of each row, with its parameters."""
    if not rows.num_rows:
        return []
    columns = (rows[name].to_pylist() for name in ("detector", "params"))
    return [f"{detector} {params}".rstrip() for detector, params in zip(*columns, strict=True)]


def is_failure(reason: str) -> bool:
    """Tell whether the reason of a task is a failure."""
    return reason != "" and not reason.startswith(NOT_APPLICABLE)


def count_reasons(reasons: Iterable[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Count the reasons of tasks that failed, and of those whose detector is not applicable.

    Reasons are empty where tasks succeeded; of each kind the most frequent come first.
    """
    counts = Counter(filter(None, reasons)).most_common()
    return (
        {reason: n for reason, n in counts if is_failure(reason)},
        {reason: n for reason, n in counts if not is_failure(reason)},
    )


def reasons_of(tables: Iterable[ArrowTable]) -> list[str]:
    """Return the reasons of the rows of tables, empty where tasks succeeded."""
    with_reasons = (table for table in tables if "reason" in table.column_names)
    return [reason for table in with_reasons for reason in table["reason"].to_pylist()]


def read_study(folder: str | os.PathLike[str]) -> StudyTables:
    """Read the results of a study so far; also while it is running.

    Parameters
    ----------
    folder : path
        Folder of the study.

    Returns
    -------
    StudyTables
        Rows in the order of the plan; tables without columns where nothing is there.

    Raises
    ------
    InvalidInputError
        If the folder contains no study, or its files are damaged.
    """
    root = Path(folder)
    manifest = _existing_manifest(root)
    tables, n_done = _read(root, manifest)
    tasks = tables.pop(TASKS, arrow().table({}))
    curves = _read_result(root / CURVES_FILE) if table_file(root, TASKS).exists() else None
    parts = split_tasks(tasks.replace_schema_metadata(None))
    return StudyTables(
        tasks=parts.tasks,
        curves=parts.curves if curves is None else curves,
        extra=tables,
        manifest=manifest.to_dict(),
        n_batches=manifest.n_batches,
        n_done=n_done,
    )


def study_status(folder: str | os.PathLike[str]) -> StudyStatus:
    """Tell how far a study is, and who is at work.

    Parameters
    ----------
    folder : path
        Folder of the study.

    Returns
    -------
    StudyStatus

    Raises
    ------
    InvalidInputError
        As `read_study`.
    """
    root = Path(folder)
    manifest = _existing_manifest(root)
    tables, n_done = _read(root, manifest, columns=("reason",))
    failures, not_applicable = count_reasons(reasons_of(tables.values()))
    return StudyStatus(
        n_batches=manifest.n_batches,
        n_done=n_done,
        failures=failures,
        not_applicable=not_applicable,
        runner=active_runner(root),
        at_work=noted_work(root),
    )


class TaskTables(NamedTuple):
    """The columns of the batches of tasks as three tables; the last two may lack columns."""

    tasks: ArrowTable
    curves: ArrowTable
    times: ArrowTable


def split_tasks(table: ArrowTable) -> TaskTables:
    """Return the tasks, the curves of those that have some, and the times."""
    pa = arrow()
    keys, times, curves = (
        [name for name in names if name in table.column_names] for names in (KEYS, TIMES, CURVES)
    )
    with_curves = pa.table({})
    if curves:
        kept = pa.compute.is_valid(table[curves[0]])
        with_curves = table.select([*keys, *curves]).filter(kept).combine_chunks()
    return TaskTables(
        tasks=table.drop_columns([*times, *curves]),
        curves=with_curves if with_curves.num_rows else pa.table({}),
        times=table.select([*keys, *times]) if times else pa.table({}),
    )


def table_file(root: Path, table: str) -> Path:
    """Return the file of a table once all is done."""
    return root / f"{table}.parquet"


def remove_results(root: Path, tables: Sequence[str]) -> None:
    """Remove the files of the results of a study."""
    # The table of the tasks first: where it exists, the other files are complete.
    for file in (
        table_file(root, TASKS),
        *(root / name for name in (CURVES_FILE, TIMES_FILE)),
        *(table_file(root, table) for table in tables),
    ):
        file.unlink(missing_ok=True)


def rows_of(manifest: Manifest, table: str, done: Mapping[str, TaskRows]) -> ArrowTable:
    """Return the rows of the tasks of a table that are done, in the order of the plan."""
    tasks = [done[task] for task in manifest.tasks(table) if task in done]
    # Some have curves.
    names = dict.fromkeys(name for rows in tasks for name in rows.columns)
    return make_table(
        {name: [value for rows in tasks for value in rows.values(name)] for name in names}
    )


def _existing_manifest(root: Path) -> Manifest:
    manifest = read_manifest(root)
    if manifest is None:
        raise InvalidInputError(f"folder must contain a study; {root} has no {MANIFEST}")
    return manifest


def _read(
    root: Path, manifest: Manifest, columns: Sequence[str] | None = None
) -> tuple[dict[str, ArrowTable], int]:
    """Return the tables of a study, and how many batches are done."""
    tables = {name: _read_result(table_file(root, name), columns) for name in manifest.batches}
    unfinished = [name for name, table in tables.items() if table is None]
    done, _ = read_tasks(root) if unfinished else ({}, 0)
    tables |= {name: rows_of(manifest, name, done) for name in unfinished}
    tasks = done.keys() | {
        task for name in tables.keys() - {*unfinished} for task in manifest.tasks(name)
    }
    return tables, manifest.n_done(tasks)


def _read_result(path: Path, columns: Sequence[str] | None = None) -> ArrowTable | None:
    try:
        table = read_table(path, columns)
        if table is not None:
            check_beside(path, table)
        return table
    except DamagedFileError as error:
        raise InvalidInputError(f"{error}; run the study again to write it anew") from None


def rows_with(table: ArrowTable, column: str, value: object) -> ArrowTable:
    """Return the rows that have a value in a column."""
    return table.filter(np.asarray(table[column]) == value)

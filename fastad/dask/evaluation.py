"""``evaluate`` on Dask: sketches of partitions, merged along a tree."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from fastad._core.parameters import check_flag
from fastad._core.threads import thread_limit
from fastad._core.types import Label, Point, Points
from fastad._tables.columns import Labels
from fastad._tables.table import Batch, located
from fastad.dask.tables import PartitionedTable, convert_batch
from fastad.dask.tasks import Versions, dask_module, now_or_later
from fastad.measures.measure import MeasureLike
from fastad.ordering.groups import in_order
from fastad.ordering.membership import Overlap
from fastad.streaming.large_files.evaluation import (
    Columns,
    Counters,
    PartedColumns,
    Streams,
    by_passes,
    check_group_columns,
    check_other_columns,
    split,
)
from fastad.streaming.large_files.exact import Pass
from fastad.streaming.large_files.parts import (
    add_thresholds,
    breakdown_of,
    check_parts,
    part_counter,
)
from fastad.streaming.sketches.bounds import measures_to_bound
from fastad.streaming.sketches.checks import check_memory
from fastad.streaming.sketches.results import StreamedEvaluation
from fastad.streaming.sketches.sketch import ScoreSketch

# Counters that one task merges.
_FAN_IN = 8


def evaluate(
    source: Any,
    *,
    label_column: str = "y",
    score_columns: str | Sequence[str] | None = None,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    fpr: Point | Points = (0.01, 0.05),
    score_range: tuple[Point, Point] | None = None,
    group_columns: str | Sequence[str] | None = None,
    kind_columns: str | Sequence[str] | None = None,
    segment_columns: str | Sequence[str] | None = None,
    overlap: Overlap = "raise",
    events_per_day: Point | None = None,
    exact: bool = False,
    memory: int | str = "64MB",
    pos_label: Label | None = None,
    compute: bool = True,
) -> Any:
    """Evaluate scores in Dask data frames or arrays, with bounds that are certain, or exactly.

    Each partition is counted in a sketch of its own, and sketches are merged along a tree, to the
    same numbers as on one machine, however the rows are partitioned. ``exact=True`` computes the
    partitions again for measures that still need it, see `fastad.streaming.evaluate`; for areas,
    the anomalies go to all workers, where they fit the memory.

    Parameters
    ----------
    source : dask.dataframe.DataFrame, or mapping of str to dask.array.Array
        Columns of labels, scores and groups.
    label_column, score_columns, measures, fpr, score_range, group_columns, pos_label
        As for `fastad.streaming.evaluate`; groups may cross partitions. By default constant columns
        are scores too, as finding them takes a pass over all partitions.
    kind_columns, segment_columns, overlap, events_per_day
        As for `fastad.streaming.evaluate`.
    exact : bool, default False
        Compute the partitions again until values are exact. Those for which that is not possible
        keep their bounds, and notes name them: `weighted_auc`, which depends on ties between
        normals, and areas whose anomalies do not fit the memory, as workers write nothing to disk.
    memory : int or str, default "64MB"
        Bytes for the counts of a task; all groups and detectors share it.
    compute : bool, default True
        False returns a ``dask.delayed`` object.

    Returns
    -------
    StreamedEvaluation, or a delayed object
        As `fastad.streaming.evaluate` returns it.

    Raises
    ------
    InvalidInputError
        If a partition is invalid; the message names it and the column.
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array
    >>> import fastad
    >>> labels = np.arange(1000) < 50
    >>> scores = np.random.default_rng(0).normal(size=1000) + 2 * labels
    >>> columns = {
    ...     "y": dask.array.from_array(labels, chunks=300),
    ...     "score": dask.array.from_array(scores, chunks=300),
    ... }
    >>> result = fastad.dask.evaluate(columns, measures="auc")
    >>> result["score"]["auc"].value == fastad.roc_auc(labels, scores)
    True
    """
    check_flag(exact, "exact")
    n_bytes = check_memory(memory)
    bound = measures_to_bound(measures, fpr, score_range)
    parts = check_parts(kind_columns, segment_columns, overlap, events_per_day)
    grouping = check_group_columns(group_columns, parts)
    table = PartitionedTable(source)
    others = check_other_columns(table, label_column, grouping, parts)
    if parts is not None:
        bound = add_thresholds(bound, fpr)
        table.optional = frozenset(parts.names) - {*grouping, label_column}
    scores = table.scores(score_columns, others)

    def run() -> StreamedEvaluation:
        columns = Columns(label_column, scores, grouping, pos_label, parts)
        names = _groups(table, columns) if grouping else [None]

        def count(left: Streams, n_passes: int, stack: ExitStack) -> Counters:
            counters = {key: each.next_pass() for key, each in left.items()}
            return _count(table, counters, columns)

        tables, n_passes = by_passes(bound, n_bytes, names, scores, count, exact=exact)
        breakdown = None
        if parts is not None:
            counted = {key: part_counter(bound, each) for key, each in tables.items()}
            counted = _count(table, counted, PartedColumns(*columns))
            breakdown = breakdown_of(counted, grouping, parts)
        # The groups had to be found first, and kinds are counted at the thresholds.
        n_passes += bool(grouping) + (parts is not None)
        return StreamedEvaluation.of(tables, grouping, n_passes, breakdown)

    return now_or_later(run, compute=compute)


def sketch(
    source: Any,
    *,
    label_column: str = "y",
    score_columns: str | Sequence[str] | None = None,
    memory: int | str = "8MB",
    pos_label: Label | None = None,
    compute: bool = True,
) -> Any:
    """Count scores of Dask data frames or arrays in one sketch for each detector.

    A sketch has the same bytes as on one machine. Its `ScoreSketch.interval` covers other samples,
    with the certain bounds of the estimate beside.

    Parameters
    ----------
    source, label_column, score_columns, pos_label, compute
        As for `evaluate`.
    memory : int or str, default "8MB"
        Bytes of a sketch.

    Returns
    -------
    dict of str to ScoreSketch, or a delayed object
        Sketches by column of scores.

    Raises
    ------
    InvalidInputError
        If a partition is invalid; the message names it and the column.
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array
    >>> import fastad
    >>> labels = np.arange(1000) < 50
    >>> scores = np.random.default_rng(0).normal(size=1000) + 2 * labels
    >>> columns = {
    ...     "y": dask.array.from_array(labels, chunks=300),
    ...     "score": dask.array.from_array(scores, chunks=300),
    ... }
    >>> found = fastad.dask.sketch(columns)["score"]
    >>> print(found.interval(measure="auc", method="delong"))
    0.949579 (exact); 95 % confidence 0.921717 to 0.977441
    """
    size = ScoreSketch(memory).memory
    table = PartitionedTable(source)
    table.check([label_column], "label_column")
    scores = table.scores(score_columns, [label_column])

    def run() -> dict[str, ScoreSketch]:
        counters: Counters = {(None, column): Pass(ScoreSketch(size)) for column in scores}
        counted: dict[Any, Any] = _count(
            table, counters, Columns(label_column, scores, [], pos_label)
        )
        return {column: counted[None, column].sketch for column in scores}

    return now_or_later(run, compute=compute)


class _Counted(NamedTuple):
    """Counters of some rows, and the labels that occur in them."""

    counters: Counters
    labels: Labels


def _groups(table: PartitionedTable, columns: Columns) -> list[Any]:
    tasks = table.map(_groups_of, columns.group_columns, columns=columns)
    return in_order(name for names in dask_module().compute(*tasks) for name in names)


def _count(table: PartitionedTable, counters: Counters, columns: Columns) -> Counters:
    """Count all rows, each partition apart, and merge along a tree."""
    dask = dask_module()
    # One object for all tasks of a worker, as anomalies may go with it.
    empty = dask.delayed(counters, traverse=False)
    level = table.map(
        _count_rows, columns.names(counters), empty=empty, columns=columns, versions=Versions.here()
    )
    while len(level) > 1:
        level = [
            dask.delayed(_merge, pure=False)(
                level[i : i + _FAN_IN], columns.label_column, columns.pos_label
            )
            for i in range(0, len(level), _FAN_IN)
        ]
    for result in dask.compute(*level):
        counters = result.counters
    return counters


def _groups_of(batches: Iterable[Batch], columns: Columns) -> set[Any]:
    roles = columns.roles(columns.group_columns)
    return {
        name
        for batch in batches
        if batch.n_rows
        for name, _ in split(convert_batch(batch, roles), columns.group_columns)
    }


def _count_rows(
    batches: Iterable[Batch], empty: Counters, columns: Columns, versions: Versions
) -> _Counted:
    """Count the rows of some partitions; the task of a worker."""
    versions.check()
    labels = Labels(columns.pos_label)
    counters = {key: counter.empty() for key, counter in empty.items()}
    roles = {**columns.roles(columns.names(counters)), columns.label_column: labels}
    with thread_limit(1):
        for batch in batches:
            if batch.n_rows:
                columns.count_batch(convert_batch(batch, roles), counters)
    return _Counted(counters, labels)


def _merge(parts: Sequence[_Counted], label: str, pos_label: Label | None) -> _Counted:
    """Merge the counters of some partitions into new ones, as a task may share its counters."""
    labels = Labels(pos_label)
    merged = {key: counter.empty() for key, counter in parts[0].counters.items()}
    with thread_limit(1):
        for part in parts:
            with located("source", label, str):
                labels.merge(part.labels)
            for key, counter in part.counters.items():
                merged[key].merge(counter)
    return _Counted(merged, labels)

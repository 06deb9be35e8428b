"""``evaluate`` on Dask: sketches of partitions, merged along a tree."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastad._core.parameters import check_flag, check_rate, short_repr
from fastad._core.suggestions import did_you_mean
from fastad._core.threads import thread_limit
from fastad._core.types import AnyVector, Label, Point, Points
from fastad.dask.tasks import Versions, dask_module, now_or_later
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.streaming.bounds import measures_to_bound
from fastad.streaming.evaluation import (
    Counters,
    OtherLabel,
    StreamedEvaluation,
    Streams,
    by_passes,
    count_batch,
    in_order,
    score_columns,
    split,
)
from fastad.streaming.files import Batch, names_of
from fastad.streaming.points import StreamedPoints
from fastad.streaming.sizes import check_memory
from fastad.streaming.sketch import ScoreSketch

# By group and column of scores, what has ``empty``, ``add`` and ``merge``.
_AnyCounters: TypeAlias = dict[Any, Any]
# Counters that one task merges.
_FAN_IN = 8


def evaluate(
    source: Any,
    *,
    label: str = "label",
    score: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    fpr: Point | Points = (0.01, 0.05),
    groups: str | Sequence[str] | None = None,
    exact: bool = False,
    memory: int | str = "64MB",
    pos_label: Label | None = None,
    compute: bool = True,
) -> Any:
    """Evaluate scores in Dask data frames or arrays, with bounds that are certain, or exactly.

    Each partition is counted in a sketch of its own, and sketches are merged along a tree, to the
    same numbers as on one machine, however the rows are partitioned. ``exact=True`` computes the
    partitions again for what measures still depend on, see `fastad.streaming.evaluate`; for areas,
    the anomalies go to all workers, where they fit the memory.

    Parameters
    ----------
    source : dask.dataframe.DataFrame, or mapping of str to dask.array.Array
        Columns of labels, scores and groups.
    label : str, default "label"
        Column of the labels: 1 or True for an anomaly.
    score : str or sequence of str, optional
        Columns of scores, a detector each; by default all other columns of numbers.
    measures : str or sequence of str, optional
        Keys such as ``"tpr@0.01"`` or names of measures; by default those of `fastad.evaluate`.
    fpr : float or sequence of floats, default (0.01, 0.05)
        False positive rates for names without one.
    groups : str or sequence of str, optional
        Columns whose values divide the rows into groups, which may cross partitions.
    exact : bool, default False
        Compute the partitions again until values are exact. Those for which that is not possible
        keep their bounds.
    memory : int or str, default "64MB"
        Bytes for the counts of a task; all groups and detectors share it.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    compute : bool, default True
        False returns a ``dask.delayed`` object.

    Returns
    -------
    StreamedEvaluation, or a delayed object
        As `fastad.streaming.evaluate` returns it.

    Raises
    ------
    InvalidInputError
        If an argument is not as described, or a partition: the message names it and the column.
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array
    >>> import fastad, fastad.dask
    >>> labels = np.arange(1000) < 50
    >>> scores = np.random.default_rng(0).normal(size=1000) + 2 * labels
    >>> columns = {
    ...     "label": dask.array.from_array(labels, chunks=300),
    ...     "score": dask.array.from_array(scores, chunks=300),
    ... }
    >>> result = fastad.dask.evaluate(columns, measures="auc")
    >>> result["score"]["auc"].value == fastad.roc_auc(labels, scores)
    True
    """
    check_flag(exact, "exact")
    n_bytes = check_memory(memory)
    rates = check_rate(fpr, "fpr")
    bound = measures_to_bound(measures, [rates] if isinstance(rates, Fraction) else rates)
    group_columns = [] if groups is None else names_of(groups, "groups")
    table = _Table(source)
    table.check([label], "label")
    table.check(group_columns, "groups")
    scores = table.scores(score, [label, *group_columns])

    def run() -> StreamedEvaluation:
        names = table.groups(group_columns) if group_columns else [None]

        def count(left: Streams, n_passes: int, stack: ExitStack) -> Counters:
            counters = {key: each.next_pass() for key, each in left.items()}
            return table.count(counters, label, group_columns, pos_label)

        tables, n_passes = by_passes(bound, names, scores, n_bytes, count, exact=exact)
        # The groups had to be found first.
        return StreamedEvaluation.of(tables, group_columns, n_passes + bool(group_columns))

    return now_or_later(run, compute=compute)


def sketch(
    source: Any,
    *,
    label: str = "label",
    score: str | Sequence[str] | None = None,
    memory: int | str = "8MB",
    pos_label: Label | None = None,
    compute: bool = True,
) -> Any:
    """Count scores of Dask data frames or arrays in one sketch for each detector.

    A sketch has the bytes that one machine gives it. Its `ScoreSketch.interval` says what other
    samples may show, with the certain bounds of the estimate beside.

    Parameters
    ----------
    source, label, score, pos_label, compute
        As for `evaluate`.
    memory : int or str, default "8MB"
        Bytes of a sketch.

    Returns
    -------
    dict of str to ScoreSketch, or a delayed object
        By column of scores.

    Raises
    ------
    InvalidInputError
        If an argument is not as described, or a partition: the message names it and the column.
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array
    >>> import fastad.dask
    >>> labels = np.arange(1000) < 50
    >>> scores = np.random.default_rng(0).normal(size=1000) + 2 * labels
    >>> columns = {
    ...     "label": dask.array.from_array(labels, chunks=300),
    ...     "score": dask.array.from_array(scores, chunks=300),
    ... }
    >>> found = fastad.dask.sketch(columns)["score"]
    >>> print(found.interval(measure="auc", method="delong"))
    0.949579 (exact); 95 % confidence 0.921717 to 0.977441
    """
    size = ScoreSketch(memory).memory
    table = _Table(source)
    table.check([label], "label")
    scores = table.scores(score, [label])

    def run() -> dict[str, ScoreSketch]:
        counters: _AnyCounters = {(None, column): _SketchCounter(size) for column in scores}
        counted = table.count(counters, label, [], pos_label)
        return {column: counted[None, column].sketch for column in scores}

    return now_or_later(run, compute=compute)


class _SketchCounter:
    """A sketch of some of the points."""

    def __init__(self, memory: int) -> None:
        self.sketch = ScoreSketch(memory)

    def empty(self) -> "_SketchCounter":
        return _SketchCounter(self.sketch.memory)

    def add(self, points: StreamedPoints) -> None:
        self.sketch.count_points(points)

    def merge(self, other: "_SketchCounter") -> None:
        self.sketch.merge(other.sketch)


class _Counted(NamedTuple):
    """What was counted of some rows, and their label beside that of the anomalies."""

    counters: _AnyCounters
    other: OtherLabel


class _Table:
    """Columns in partitions: of a data frame, or arrays with the same chunks."""

    def __init__(self, source: Any) -> None:
        dask_module()
        self._types: dict[str, Any]
        self._parts: list[dict[str, Any]] | None = None
        if isinstance(source, Mapping):
            self._types = {name: array.dtype for name, array in source.items()}
            self._parts = _chunks(source)
        elif hasattr(source, "to_delayed") and hasattr(source, "dtypes"):
            self._types = dict(source.dtypes.items())
            self._frame = source
        else:
            raise InvalidTypeError(
                "source must be a Dask data frame, or a mapping of names to Dask arrays; found "
                f"{type(source).__name__}",
                argument="source",
            )

    def check(self, names: Sequence[str], argument: str) -> None:
        """Check that there are some columns."""
        for name in names:
            if name not in self._types:
                raise InvalidInputError(
                    f"{argument} must be a column of source, which has "
                    f"{', '.join(map(str, self._types))}; found {short_repr(name)}"
                    f"{did_you_mean(name, {str(each): str(each) for each in self._types})}",
                    argument=argument,
                )

    def scores(self, score: str | Sequence[str] | None, others: Sequence[str]) -> list[str]:
        """Return the columns of scores, by default all others of numbers."""
        numbers = [
            name for name, dtype in self._types.items() if getattr(dtype, "kind", "O") in "biuf"
        ]
        names = score_columns(score, list(self._types), numbers, others)
        self.check(names, "score")
        return names

    def groups(self, group_columns: Sequence[str]) -> list[Any]:
        """Return all groups, in the order of their values."""
        dask = dask_module()
        tasks = [
            dask.delayed(_groups_of, pure=False)(part, number, self._numeric(group_columns))
            for number, part in enumerate(self._delayed(group_columns))
        ]
        return in_order(name for names in dask.compute(*tasks) for name in names)

    def count(
        self,
        counters: _AnyCounters,
        label: str,
        group_columns: Sequence[str],
        pos_label: Label | None,
    ) -> _AnyCounters:
        """Count all rows, each partition apart, and merge along a tree."""
        dask = dask_module()
        scores = list(dict.fromkeys(column for _, column in counters))
        names = list(dict.fromkeys([label, *scores, *group_columns]))
        types = self._numeric(names)
        empty = dask.delayed(counters, traverse=False)
        versions = Versions.here()
        level = [
            dask.delayed(_count_part, pure=False)(
                part, number, types, empty, label, list(group_columns), pos_label, versions
            )
            for number, part in enumerate(self._delayed(names))
        ]
        while len(level) > 1:
            level = [
                dask.delayed(_merge, pure=False)(
                    level[i : i + _FAN_IN], OtherLabel(label, pos_label)
                )
                for i in range(0, len(level), _FAN_IN)
            ]
        if not level:
            return counters
        counted: _Counted = dask.compute(level[0])[0]
        return counted.counters

    def _numeric(self, names: Sequence[str]) -> dict[str, str | None]:
        """Return the types of columns of numbers, which partitions must have; None of others."""
        kinds = {name: self._types[name] for name in names}
        return {
            name: str(dtype) if getattr(dtype, "kind", "O") in "biuf" else None
            for name, dtype in kinds.items()
        }

    def _delayed(self, names: Sequence[str]) -> list[Any]:
        """Return each partition as a delayed mapping, or frame, of some columns."""
        if self._parts is None:
            return list(self._frame[list(names)].to_delayed())
        return [{name: part[name] for name in names} for part in self._parts]


def _chunks(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the chunks of arrays, brought to those of the first."""
    arrays = dict(source)
    if not arrays:
        raise InvalidInputError("source must have columns; found none", argument="source")
    for name, array in arrays.items():
        if not hasattr(array, "to_delayed") or array.ndim != 1:
            raise InvalidInputError(
                f"source must have Dask arrays of one dimension; found "
                f"{type(array).__name__} in {name!r}",
                argument="source",
            )
    first = next(iter(arrays.values()))
    unknown = any(np.isnan(array.shape[0]) for array in arrays.values())
    if not unknown:
        sizes = {name: array.shape[0] for name, array in arrays.items()}
        if len(set(sizes.values())) > 1:
            raise InvalidInputError(
                f"source must have arrays of one length; found {sizes}", argument="source"
            )
        arrays = {name: array.rechunk(first.chunks) for name, array in arrays.items()}
    elif len({array.numblocks for array in arrays.values()}) > 1:
        raise InvalidInputError(
            "source must have arrays of the same chunks where their sizes are unknown; found "
            f"{ {name: array.numblocks[0] for name, array in arrays.items()} }",
            argument="source",
        )
    parts = {name: array.to_delayed() for name, array in arrays.items()}
    return [{name: blocks[i] for name, blocks in parts.items()} for i in range(first.numblocks[0])]


def _batch(part: Any, number: int, types: Mapping[str, str | None]) -> Batch:
    """Return a partition as arrays; refuse one with other columns or types, by name."""
    columns = {}
    for name, expected in types.items():
        try:
            column = part[name]
        except (KeyError, IndexError):
            raise InvalidInputError(
                f"source must have column {name!r} in all partitions; found none in partition "
                f"{number}",
                argument="source",
            ) from None
        found = str(column.dtype)
        if len(column) and expected is not None and found != expected:
            raise InvalidInputError(
                f"source must have {expected} in column {name!r} of all partitions; found {found} "
                f"in partition {number}",
                argument="source",
            )
        columns[name] = _array(column, name, number)
    sizes = {array.shape[0] for array in columns.values()}
    if len(sizes) > 1:
        raise InvalidInputError(
            f"source must have columns of one length; found {sorted(sizes)} rows in partition "
            f"{number}",
            argument="source",
        )
    return Batch(columns, f"partition {number}", sizes.pop())


def _array(column: Any, name: str, number: int) -> AnyVector:
    """Return a column as an array, without missing values."""
    if hasattr(column, "isna") and getattr(column.dtype, "kind", "O") != "f":
        n_missing = int(column.isna().sum())
        if n_missing:
            raise InvalidInputError(
                f"source must have no missing values; found {n_missing} in column {name!r} of "
                f"partition {number}",
                argument="source",
            )
    # Nullable types have one of NumPy's below them.
    below = getattr(column.dtype, "numpy_dtype", None)
    return np.asarray(column if below is None else column.to_numpy(dtype=below))


def _groups_of(part: Any, number: int, types: Mapping[str, str | None]) -> list[Any]:
    batch = _batch(part, number, types)
    return [name for name, _ in split(batch, list(types))] if batch.n_rows else []


def _count_part(
    part: Any,
    number: int,
    types: Mapping[str, str | None],
    empty: _AnyCounters,
    label: str,
    group_columns: Sequence[str],
    pos_label: Label | None,
    versions: Versions,
) -> _Counted:
    """Count the rows of a partition; the task of a worker."""
    versions.check()
    other = OtherLabel(label, pos_label)
    counters = {key: counter.empty() for key, counter in empty.items()}
    batch = _batch(part, number, types)
    if batch.n_rows:
        with thread_limit(1):
            count_batch(batch, label, group_columns, counters, pos_label)
            other.check(batch)
    return _Counted(counters, other)


def _merge(parts: Sequence[_Counted], other: OtherLabel) -> _Counted:
    """Merge the counters of some partitions; those of a task may be in use elsewhere."""
    merged = {key: counter.empty() for key, counter in parts[0].counters.items()}
    with thread_limit(1):
        for part in parts:
            other.merge(part.other)
            for key, counter in part.counters.items():
                merged[key].merge(counter)
    return _Counted(merged, other)

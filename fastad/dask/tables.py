"""Tables in partitions: data frames and arrays of Dask."""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fastad._core.frames import is_missing, value_type, with_gaps, zone_of
from fastad._core.parameters import short_repr
from fastad._core.suggestions import did_you_mean
from fastad._tables.columns import MISSING_VALUE, Role, convert
from fastad._tables.detectors import kind_by_name
from fastad._tables.errors import TableError
from fastad._tables.table import Batch, located
from fastad.dask.tasks import dask_module
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.streaming.large_files.evaluation import check_some, distinct_names

# Tasks per thread: enough to keep threads busy to the end. Partitions of a task: few enough to be
# lost with a worker.
_TASKS_A_THREAD, _MOST_TOGETHER = 4, 64


class PartitionedTable:
    """Columns in partitions: of a data frame, or arrays with the same chunks."""

    def __init__(self, source: Any) -> None:
        dask_module()
        # Columns that may have missing values.
        self.optional: frozenset[str] = frozenset()
        self._types: dict[str, Any]
        self._arrays: dict[str, Any] | None = None
        if isinstance(source, Mapping):
            self._arrays = _aligned(source)
            self._types = {name: array.dtype for name, array in self._arrays.items()}
        elif hasattr(source, "to_delayed") and hasattr(source, "dtypes"):
            self._types = dict(source.dtypes.items())
            self._frame = source
        else:
            raise InvalidTypeError(
                "source must be a Dask data frame, or a mapping of names to Dask arrays; found "
                f"{type(source).__name__}"
            )

    def check(self, names: Sequence[str], argument: str) -> None:
        """Check that there are some columns."""
        for name in names:
            if name not in self._types:
                raise InvalidInputError(
                    f"{argument} must be a column of source, which has "
                    f"{', '.join(map(str, self._types))}; found {short_repr(name)}"
                    f"{did_you_mean(name, {str(each): str(each) for each in self._types})}"
                )

    def scores(self, score_columns: str | Sequence[str] | None, others: Sequence[str]) -> list[str]:
        """Return the columns of scores, by default all others of numbers but an index or a fold."""
        if score_columns is not None:
            names = distinct_names(score_columns, "score_columns")
        else:
            names = [
                name
                for name, dtype in self._types.items()
                if name not in others
                and _has_numbers(value_type(dtype))
                and not kind_by_name(str(name))
            ]
        check_some(names, list(self._types))
        self.check(names, "score_columns")
        return names

    def map(self, function: Callable[..., Any], names: Sequence[str], **options: Any) -> list[Any]:
        """Return, delayed, a function of an iterator of partitions, each a `Batch` of columns.

        A task makes some partitions by itself, one after the other, so that rows stay where they
        are read. Partitions that are in memory already, or share inputs with others, come
        from tasks of their own, and the function is called for each.
        """
        dask = dask_module()
        parts = self._parts(names)
        types = self._numeric(names)
        graphs = _graphs_apart(parts)
        if graphs is None:
            return [
                dask.delayed(_of_part, pure=False)(
                    function, part, i, types, self.optional, **options
                )
                for i, part in enumerate(parts)
            ]
        n_together = _partitions_together(len(parts))
        return [
            dask.delayed(
                partial(_of_graphs, function, graphs[i : i + n_together], i, types, self.optional),
                pure=False,
            )(**options)
            for i in range(0, len(parts), n_together)
        ]

    def _parts(self, names: Sequence[str]) -> list[Any]:
        """Return, delayed, each partition as a frame, or as a mapping of arrays."""
        if self._arrays is None:
            return list(self._frame[list(names)].to_delayed())
        operands = [each for name in names for each in (self._arrays[name], "i")]
        columns = importlib.import_module("dask.array").blockwise(
            _chunk,
            "i",
            *operands,
            names=list(names),
            dtype=object,
            meta=np.empty(0, object),
            align_arrays=False,
        )
        return list(columns.to_delayed())

    def _numeric(self, names: Sequence[str]) -> dict[str, str | None]:
        """Return the types of columns of numbers, which partitions must have; None of others."""
        kinds = {name: self._types[name] for name in names}
        return {
            name: str(dtype) if getattr(dtype, "kind", "O") in "biuf" else None
            for name, dtype in kinds.items()
        }


def _has_numbers(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "iuf" or str(dtype).startswith("decimal")


def _chunk(*arrays: Any, names: Sequence[str]) -> dict[str, Any]:
    return dict(zip(names, arrays, strict=True))


def _graphs_apart(parts: Sequence[Any]) -> list[tuple[Any, Any]] | None:
    """Return the graph and key of each partition; None if a task could not make it by itself."""
    try:
        from distributed import futures_of  # Dask may be here without it.
    except ModuleNotFoundError:
        pass
    else:
        if futures_of(list(parts)):
            return None
    cull = importlib.import_module("dask.optimization").cull
    graphs = []
    seen: set[Any] = set()
    # The parts of a collection share one graph.
    wholes: dict[int, dict[Any, Any]] = {}
    for part in parts:
        whole = part.__dask_graph__()
        if id(whole) not in wholes:
            wholes[id(whole)] = dict(whole)
        graph, _ = cull(wholes[id(whole)], part.key)
        if not seen.isdisjoint(graph):
            return None
        seen.update(graph)
        graphs.append((graph, part.key))
    return graphs


def _partitions_together(n_partitions: int) -> int:
    """Return how many partitions a task makes, so that all threads have several tasks."""
    try:
        from distributed import get_client

        n_threads: int = sum(get_client().nthreads().values())
    except (ModuleNotFoundError, ValueError):
        n_threads = importlib.import_module("dask.system").CPU_COUNT
    return min(max(n_partitions // (_TASKS_A_THREAD * max(n_threads, 1)), 1), _MOST_TOGETHER)


def _of_part(
    function: Callable[..., Any],
    part: Any,
    number: int,
    types: Mapping[str, str | None],
    optional: frozenset[str],
    **options: Any,
) -> Any:
    return function([_batch(part, number, types, optional)], **options)


def _of_graphs(
    function: Callable[..., Any],
    graphs: Sequence[tuple[Any, Any]],
    first: int,
    types: Mapping[str, str | None],
    optional: frozenset[str],
    **options: Any,
) -> Any:
    get = dask_module().get

    def batches() -> Iterator[Batch]:
        for number, (graph, key) in enumerate(graphs, first):
            try:
                part = get(graph, key)
            except KeyError as error:
                # The library reads the columns that are asked for alone.
                raise InvalidInputError(
                    f"source must have columns {', '.join(types)} in all partitions; found others "
                    f"in partition {number}: {error.args[0]}"
                ) from None
            yield _batch(part, number, types, optional)

    return function(batches(), **options)


def _aligned(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays, brought to the chunks of the first."""
    arrays = dict(source)
    if not arrays:
        raise InvalidInputError("source must have columns; found none")
    kind = importlib.import_module("dask.array").Array
    for name, array in arrays.items():
        if not isinstance(array, kind) or array.ndim != 1:
            shape = f" of shape {array.shape}" if isinstance(array, kind) else ""
            raise InvalidInputError(
                "source must have Dask arrays of one dimension; found "
                f"{type(array).__name__}{shape} in {name!r}"
            )
    first = next(iter(arrays.values()))
    unknown = any(np.isnan(array.shape[0]) for array in arrays.values())
    if not unknown:
        sizes = {name: array.shape[0] for name, array in arrays.items()}
        if len(set(sizes.values())) > 1:
            raise InvalidInputError(f"source must have arrays of one length; found {sizes}")
        arrays = {name: array.rechunk(first.chunks) for name, array in arrays.items()}
    elif len({array.numblocks for array in arrays.values()}) > 1:
        raise InvalidInputError(
            "source must have arrays of the same chunks where their sizes are unknown; found "
            f"{ {name: array.numblocks[0] for name, array in arrays.items()} }"
        )
    return arrays


def convert_batch(batch: Batch, roles: Mapping[str, Role]) -> Batch:
    """Return the columns of a partition as their roles have them."""
    columns = {}
    for name, role in roles.items():
        with located(batch.where, name, "row {}".format):
            columns[name] = convert(batch.columns[name], role)
    return batch._replace(columns=columns)


def _batch(
    part: Any, number: int, types: Mapping[str, str | None], optional: frozenset[str]
) -> Batch:
    """Return a partition as arrays; refuse one with other columns or types, by name."""
    columns = {}
    for name, expected in types.items():
        try:
            column = part[name]
        except (KeyError, IndexError):
            raise InvalidInputError(
                f"source must have column {name!r} in all partitions; found none in partition "
                f"{number}"
            ) from None
        found = str(column.dtype)
        if len(column) and expected is not None and found != expected:
            raise InvalidInputError(
                f"source must have {expected} in column {name!r} of all partitions; found {found} "
                f"in partition {number}"
            )
        read = with_gaps(column, name) if name in optional else _array(column, name, number)
        columns[name] = read
    sizes = set(map(len, columns.values()))
    if len(sizes) > 1:
        raise InvalidInputError(
            f"source must have columns of one length; found {sorted(sizes)} rows in partition "
            f"{number}"
        )
    return Batch(columns, f"partition {number}", sizes.pop())


def _array(column: Any, name: str, number: int) -> Any:
    """Return a column as an array of NumPy's, or of Arrow's, without missing values."""
    if getattr(column.dtype, "kind", "O") != "f":
        missing = np.asarray(column.isna()) if hasattr(column, "isna") else is_missing(column)
        if missing.any():
            row = int(np.argmax(missing))
            raise TableError(f"partition {number}: column {name!r}, row {row}: {MISSING_VALUE}")
    # NumPy has neither decimals nor times of a zone.
    if hasattr(column.dtype, "pyarrow_dtype"):
        return column.array.__arrow_array__().combine_chunks()
    if zone_of(column) is not None:
        return importlib.import_module("pyarrow").array(column)
    # Nullable types have one of NumPy's below them.
    below = getattr(column.dtype, "numpy_dtype", None)
    return np.asarray(column if below is None else column.to_numpy(dtype=below))

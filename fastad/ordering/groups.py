"""Groups of rows: from columns of names or numbers to codes, and rows group by group."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import RowIndex, as_readonly, as_vector, python_values
from fastad._core.frames import codes_of, in_zone, is_missing, refuse_missing, zone_of
from fastad._core.threads import current_threads, thread_map
from fastad._core.types import BoolVector, IntVector, KeyVector, ScoreVector
from fastad._kernels.ordering import groups as kernels
from fastad.errors import InvalidInputError
from fastad.ordering.labels import Labels
from fastad.ordering.orders import PackedOrder, Range, pack_values, sort
from fastad.ordering.raw import KeyCodec, view_raw

# Up to so many times the number of rows, a table over the range of integers beats sorting.
_TABLE_LIMIT = 4


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of rows."""

    columns: dict[str, list[Any]]  # value of each group in each column, in the order of the groups
    starts: IntVector  # (n_groups + 1,): where each group starts when rows are brought in order
    # (n_rows,): group of each row; None where rows come group by group already.
    codes: IntVector | None

    def slices(self) -> Iterator[slice]:
        """Yield where each group lies when rows are brought in order."""
        for start, stop in pairwise(self.starts.tolist()):
            yield slice(start, stop)

    def arrange(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Bring the values of rows in the order of the groups."""
        values = as_readonly(values)
        if self.codes is None:
            return values
        together = np.empty_like(values)
        # Numba has no float16; its bits are moved as well as the number.
        movable = np.uint16 if values.dtype == np.float16 else values.dtype
        kernels.bring_together(
            self.codes, self.starts.copy(), values.view(movable), together.view(movable)
        )
        return as_readonly(together)

    def keep(self, kept: BoolVector) -> tuple["Groups", IntVector]:
        """Return the groups of some of the rows, and which groups have any: the others are gone."""
        if self.codes is None:
            sizes = np.diff(np.concatenate([[0], np.cumsum(kept)])[self.starts])
        else:
            sizes = np.bincount(self.codes[kept], minlength=self.starts.shape[0] - 1)
        present = np.flatnonzero(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[present])])
        columns = {name: [column[i] for i in present] for name, column in self.columns.items()}
        codes = None
        if self.codes is not None:
            codes = as_readonly((np.cumsum(sizes > 0) - 1)[self.codes[kept]])
        return Groups(columns, as_readonly(starts), codes), present


def refuse_taken(names: Iterable[str], taken: Collection[str], argument: str) -> None:
    """Refuse names of other columns of the result, which groups or measures would replace."""
    for name in names:
        if name in taken:
            raise InvalidInputError(
                f"{argument} must not name columns that the result has; found {name!r}"
            )


def make_groups(columns: Mapping[str, Any], labels: Labels) -> Groups:
    """Check the columns of groups, and bring rows together that are in use."""
    kept = labels.rows
    codes: IntVector = np.zeros(1, np.int64)
    factors: dict[str, tuple[IntVector, npt.NDArray[Any]]] = {}
    for name, column in columns.items():
        column_codes, distinct = factorize(column, f"groups[{name!r}]", labels.row_index)
        if kept is not None:
            column_codes = column_codes[kept]
        codes = codes * len(distinct) + column_codes if factors else column_codes
        factors[name] = column_codes, distinct
        if kept is not None or len(columns) > 1:
            # Only what occurs is numbered, so that codes stay below the number of rows.
            codes, _ = _factorize_integers(codes)
    codes = as_readonly(codes)
    starts = np.zeros(int(codes.max()) + 2, np.int64)
    are_sorted = kernels.group_starts(codes, starts)
    firsts = np.empty(starts.shape[0] - 1, np.int64)
    kernels.first_rows(codes, firsts)
    named = {
        name: python_values(distinct[column_codes[firsts]])
        for name, (column_codes, distinct) in factors.items()
    }
    return Groups(named, as_readonly(starts), None if are_sorted else codes)


def factorize(column: Any, name: str, rows: RowIndex) -> tuple[IntVector, npt.NDArray[Any]]:
    """Check a column of the rows; return the code of each row and the distinct values.

    These are sorted; objects that have no order stand in the order in which they come.
    """
    coded = codes_of(column)
    values = as_vector(column, name) if coded is None else coded[0]
    if values.shape[0] != rows.n_rows:
        raise InvalidInputError(
            f"{name} must have one value for each label; found {values.shape[0]} values and "
            f"{rows.n_rows} labels"
        )
    rows.check(column, name)
    if coded is not None:
        return _factorize_categories(*coded, name)
    if values.dtype.kind in "biu" and values.dtype != np.uint64:
        return _factorize_integers(values)
    if values.dtype.kind == "O":
        return _factorize_objects(values, name)
    if values.dtype == np.dtype("M8"):
        raise InvalidInputError(f"{name} must have dates of some unit; found datetime64 without")
    refuse_missing(is_missing(values), name)
    distinct, codes = np.unique(values, return_inverse=True)
    if values.dtype.kind == "f":
        distinct += 0  # -0.0 is called 0.0, whichever of them comes first
    if values.dtype.kind == "M" and (zone := zone_of(column)) is not None:
        distinct = in_zone(distinct, zone)
    return codes.astype(np.int64, copy=False), distinct


def _factorize_integers(values: npt.NDArray[Any]) -> tuple[IntVector, npt.NDArray[Any]]:
    """Number integers, or booleans, by their order; O(n) where their range is not much wider."""
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest > _TABLE_LIMIT * len(values) + 1000:
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int64, copy=False), distinct
    table = np.zeros(highest - lowest + 1, np.int64)
    wide = as_readonly(values.astype(np.int64, copy=False))
    kernels.mark_present(wide, lowest, table)
    distinct = np.flatnonzero(table) + lowest
    if lowest == 0 and len(distinct) == len(table):
        return wide, distinct.astype(values.dtype)
    np.cumsum(table, out=table)
    table -= 1
    codes = np.empty(len(values), np.int64)
    kernels.look_up(wide, lowest, as_readonly(table), codes)
    return codes, distinct.astype(values.dtype)


def _factorize_categories(
    codes: IntVector, categories: npt.NDArray[Any], name: str
) -> tuple[IntVector, npt.NDArray[Any]]:
    """Factorize the categories that occur, instead of the value of each row."""
    refuse_missing(codes < 0, name)
    codes, present = _factorize_integers(codes)
    firsts = np.empty(len(present), np.int64)
    kernels.first_rows(as_readonly(codes), firsts)
    order = np.argsort(firsts)
    new = np.empty(len(present), np.int64)
    new[order], distinct = factorize(categories[present[order]], name, RowIndex(len(present)))
    return new[codes], distinct


def in_order(names: Iterable[Any]) -> list[Any]:
    """Return names in the order of their values, where these have one, each once."""
    listed = list(dict.fromkeys(names))
    try:
        rising = sorted(listed)
        # Sets have a partial order.
        return rising if all(a < b for a, b in pairwise(rising)) else listed
    except (TypeError, ValueError, ArithmeticError):
        return listed


def _factorize_objects(values: npt.NDArray[Any], name: str) -> tuple[IntVector, npt.NDArray[Any]]:
    refuse_missing(is_missing(values), name)
    entries = values.tolist()
    try:
        distinct = list(dict.fromkeys(entries))
        for entry in distinct:
            str(entry)
    except (TypeError, ValueError) as error:
        # Raised by lists, arrays, and integers of too many digits.
        raise InvalidInputError(
            f"{name} must contain names, numbers or the like; found a value of which {error}"
        ) from None
    distinct = in_order(distinct)
    code_of = {entry: code for code, entry in enumerate(distinct)}
    codes = np.fromiter((code_of[entry] for entry in entries), np.int64, len(entries))
    kept = np.empty(len(distinct), object)
    kept[:] = distinct
    return codes, kept


# Blocks for each thread, so that none waits long for the last one.
_BLOCKS_A_THREAD = 4


@dataclass(frozen=True, slots=True, eq=False)
class GroupOrder:
    """Falling keys with the label in the lowest bit, group by group, sorted within each."""

    packed: KeyVector  # (n_points,): the keys
    starts: IntVector  # (n_groups + 1,): where each group starts
    anomalies: IntVector  # (n_groups,): number of anomalies in each group
    centre: int  # folded score whose packed key is 0, in all groups
    codec: KeyCodec  # what keys without label and centre stand for

    def group(self, group: int) -> PackedOrder:
        """Return the order of one group."""
        start, stop = self.starts[group : group + 2].tolist()
        size = stop - start
        whole = Range(0, size, self.centre, 0, 0)
        anomalies = int(self.anomalies[group])
        return PackedOrder(self.packed[start:stop], [whole], self.codec, size, anomalies)


def order_groups(
    scores: ScoreVector, labels: Labels, codes: IntVector | None, starts: IntVector, name: str
) -> GroupOrder | None:
    """Order scores group by group; None where keys have no free bit.

    Rows are packed where they are and brought together as keys, unless ``codes`` is None and
    they come group by group.
    """
    keyed = pack_values(view_raw(scores), labels, name)
    if keyed is None:
        return None
    packed, centre, codec = keyed
    if codes is not None:
        together = np.empty_like(packed)
        kernels.bring_together(codes, starts.copy(), as_readonly(packed), together)
        packed = together
    anomalies = np.empty(starts.shape[0] - 1, np.int64)

    def sort_block(block: slice) -> None:
        bounds = starts[block.start : block.stop + 1]
        for start, stop in pairwise(bounds.tolist()):
            sort(packed[start:stop])
        kernels.count_anomalies(as_readonly(packed), bounds, anomalies[block])

    thread_map(sort_block, group_blocks(starts))
    return GroupOrder(as_readonly(packed), starts, anomalies, centre, codec)


def group_blocks(starts: IntVector) -> list[slice]:
    """Cut groups into blocks of about as many points each, some blocks for each thread."""
    n_groups, n_points = starts.shape[0] - 1, int(starts[-1])
    n_threads = current_threads()
    n_blocks = 1 if n_threads == 1 else min(n_groups, _BLOCKS_A_THREAD * n_threads)
    positions = np.arange(n_blocks + 1) * (n_points / n_blocks)
    edges = np.unique(np.searchsorted(starts, np.rint(positions)))
    return [slice(first, last) for first, last in pairwise(edges.tolist())]

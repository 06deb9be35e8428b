"""Orders of scores: packed values that carry their labels, or keys with their rows.

Keys are sorted in place, by NumPy where its sort has fast instructions, else digit by digit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from time import perf_counter
from timeit import repeat
from typing import NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.buffers import borrow_buffer
from fastad._core.threads import slices, thread_map
from fastad._core.types import IntVector, KeyVector, ScoreVector
from fastad._kernels.ordering import keys
from fastad._kernels.ordering.radix import radix_sort
from fastad.ordering.cuts import FEWEST_POINTS, NO_CUTS, CurvePart, Cuts, choose_cuts
from fastad.ordering.labels import Labels
from fastad.ordering.raw import KeyCodec, RawScores, view_raw

# Fewer keys are sorted soon enough in any way.
_FEWEST_KEYS = 2**12
# Keys to sort at once: with as many to spare they fill one MiB, a core's second-level cache.
CACHED_KEYS = 2**16
_TRIED_KEYS = 2**16
# NumPy's other sort takes a tenth of the time of its stable sort with vector instructions, as long
# without, and three quarters with slow ones (AVX-512 on AMD's Zen 4). A sort digit by digit takes a
# tenth on any processor.
_FAST_RATIO = 0.5


def sort(packed: KeyVector) -> None:
    """Sort keys; digit by digit it takes as much memory again."""
    if packed.shape[0] < _FEWEST_KEYS or numpy_sorts_fast():
        packed.sort()
        return
    radix_sort(packed, np.empty_like(packed), CACHED_KEYS)


def numpy_sorts_fast() -> bool:
    """Tell whether NumPy sorts integers by fast instructions; the order is the same by any."""
    return sort_ratio() < _FAST_RATIO


@cache
def sort_ratio() -> float:
    """Return the time of NumPy's sort as a fraction of its stable one's: a trial of 15 ms, once.

    On fewer keys a slow sort was taken for a fast one in two of 66 processes.
    """
    mixed = np.random.default_rng(0).integers(-(2**62), 2**62, _TRIED_KEYS)
    quick, stable = (
        min(repeat(partial(np.sort, mixed, kind=kind), number=1, repeat=3, timer=perf_counter))
        for kind in ("quicksort", "stable")
    )
    return quick / stable


class Range(NamedTuple):
    """Neighbours in the order, sorted: ``packed[start:stop]``."""

    start: int  # where the range is among the packed keys
    stop: int
    centre: int  # folded score whose packed key is 0
    fp: int  # normals and anomalies above the range
    tp: int


class PackedOrder(NamedTuple):
    """Falling keys with the label in the lowest bit, sorted in each of falling ranges."""

    packed: KeyVector  # the keys, restricted to a part of the curve if one is given
    ranges: Sequence[Range]  # from the highest scores down, at least one
    codec: KeyCodec  # what keys without label and centre stand for
    n_points: int  # totals, also of what is not in the order
    n_anomalies: int


class _Look(NamedTuple):
    """Result of one look at all scores.

    ``above`` holds for each slice of the rows, and each cut from the highest down, the number of
    points and of anomalies above the cut; before the cuts stands none, and after them all.
    """

    low: int
    high: int
    base: int
    rows: list[slice]
    above: list[list[list[int]]]


class _Piece(NamedTuple):
    """Rows of which some go to a slice of the packed keys: those between two rank bits."""

    rows: slice
    target: slice
    lowest: int
    highest: int
    centre: int


def order_values(
    scores: ScoreVector, labels: Labels, name: str = "y_score", part: CurvePart | None = None
) -> PackedOrder:
    """Order scores with their labels, without their rows; 8 bytes a score at most."""
    raw = view_raw(scores)
    few = raw.values.shape[0] < FEWEST_POINTS
    cuts = NO_CUTS if few else choose_cuts(raw, labels, part)
    if not cuts.values:
        keyed = pack_values(raw, labels, name)
        if keyed is not None:
            packed, centre, codec = keyed
            sort(packed)
            n_points = packed.shape[0]
            whole = Range(0, n_points, centre, 0, 0)
            return PackedOrder(set_readonly(packed), (whole,), codec, n_points, labels.n_anomalies)
        cuts = cuts.and_between_signs()
    return _order_ranges(raw, labels, name, cuts)


def pack_values(
    raw: RawScores, labels: Labels, name: str
) -> tuple[KeyVector, int, KeyCodec] | None:
    """Return keys where their rows are, and their centre; None where they span too much."""
    packed = borrow_buffer("packed", raw.values.shape[0], raw.values.dtype)
    low, high, base, centre, fits = keys.pack(
        raw.values, labels.values, raw.largest, raw.signed, packed
    )
    # Without compilation these are NumPy's integers, which overflow.
    raw.refuse_nan(int(low), int(high), labels, name)
    return (packed, int(centre), KeyCodec(raw.scores.dtype, int(base))) if fits else None


def _order_ranges(raw: RawScores, labels: Labels, name: str, cuts: Cuts) -> PackedOrder:
    """Order the ranges between cuts, in threads."""
    look = _look(raw, labels, cuts.values)
    raw.refuse_nan(look.low, look.high, labels, name)
    codec = KeyCodec(raw.dtype, look.base)
    bounds = _bounds(look, cuts)
    most = 1 << (8 * raw.values.itemsize - 1)  # more folds in a range leave no bit for the label
    if any(codec.fold(highest) - codec.fold(lowest) >= most for lowest, highest in bounds):
        cuts = cuts.and_between_signs()
        look = _look(raw, labels, cuts.values)
        bounds = _bounds(look, cuts)
    ranges, pieces = _lay_out(look, cuts, codec, bounds)
    packed = borrow_buffer("packed", ranges[-1].stop, raw.values.dtype)

    def pack(piece: _Piece) -> None:
        keys.pack_between(
            raw.values[piece.rows],
            labels.values[piece.rows],
            piece.lowest,
            piece.highest,
            codec.base,
            piece.centre,
            raw.largest,
            raw.signed,
            packed[piece.target],
        )

    thread_map(pack, pieces)
    thread_map(lambda where: sort(packed[where.start : where.stop]), ranges)
    return PackedOrder(set_readonly(packed), ranges, codec, raw.values.shape[0], labels.n_anomalies)


def _lay_out(
    look: _Look, cuts: Cuts, codec: KeyCodec, bounds: list[tuple[int, int]]
) -> tuple[list[Range], list[_Piece]]:
    """Return the ranges that hold points, and which rows go where in them."""
    above = [tuple(map(sum, zip(*counts, strict=True))) for counts in zip(*look.above, strict=True)]
    skipped = above[cuts.first][0]
    ranges, pieces = [], []
    for i, (lowest, highest) in zip(range(cuts.first, cuts.last), bounds, strict=True):
        (start, tp), (stop, _) = above[i], above[i + 1]
        if start == stop:
            continue
        low, high = codec.fold(lowest), codec.fold(highest)
        centre = low + (high - low) // 2
        ranges.append(Range(start - skipped, stop - skipped, centre, start - tp, tp))
        first = start - skipped
        for rows, counts in zip(look.rows, look.above, strict=True):
            last = first + counts[i + 1][0] - counts[i][0]
            if first < last:
                pieces.append(_Piece(rows, slice(first, last), lowest, highest, centre))
            first = last
    return ranges, pieces


def _look(raw: RawScores, labels: Labels, cuts: Sequence[int]) -> _Look:
    """Look at all scores in threads."""
    all_rows = slices(raw.values.shape[0])
    falling = as_readonly(np.array(cuts, np.int64))

    def look(rows: slice) -> _Look:
        above = np.zeros((len(cuts) + 2, 2), np.int64)
        keys.count_above(
            raw.values[rows], labels.values[rows], falling, raw.largest, raw.signed, above
        )
        return _Look(*raw.scan(rows), [rows], [above.tolist()])

    looks = thread_map(look, all_rows)
    return _Look(
        min(look.low for look in looks),
        max(look.high for look in looks),
        min(look.base for look in looks),
        all_rows,
        [above for look in looks for above in look.above],
    )


def _bounds(look: _Look, cuts: Cuts) -> list[tuple[int, int]]:
    """Return the lowest and the highest rank bits of each range that is kept."""
    edges = [look.high, *cuts.values, look.low - 1][cuts.first : cuts.last + 1]
    return [(max(low + 1, look.low), min(high, look.high)) for high, low in pairwise(edges)]


@dataclass(frozen=True, slots=True, eq=False)
class RowOrder:
    """Falling key of each row and the rows in the order of their keys."""

    falling: IntVector
    rows: IntVector
    codec: KeyCodec


def order_rows(scores: ScoreVector, labels: Labels, name: str = "y_score") -> RowOrder:
    """Order scores together with their rows; about three times the cost of ``order_values``."""
    raw = view_raw(scores)
    low, high, _ = raw.scan()
    raw.refuse_nan(low, high, labels, name)
    falling = np.empty(scores.shape[0], np.int64)
    keys.fall(raw.values, raw.largest, raw.signed, falling)
    return RowOrder(as_readonly(falling), as_readonly(np.argsort(falling)), KeyCodec(raw.dtype, 0))

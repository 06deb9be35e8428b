"""The fast ordering: values that carry their labels, sorted range by range.

NumPy's SIMD sort of plain integers is the fastest there is, three to seven times as fast as
argsort. So the label travels in the lowest bit of the key, and only what needs the rows uses
the other ordering.

The scores are cut into ranges, each above the next, which threads order independently. Cuts have
three uses: several threads share the work; of scores that span more than a key with a label can
tell apart, each sign gets keys of its own; and where only a part of the curve is asked for, the
ranges above and below it are counted but not ordered. Wherever the cuts fall, the counts are the
same whole numbers.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fastad._kernels import keys
from fastad._scratch import take
from fastad._threads import slices, thread_map
from fastad._types import KeyVector, ScoreVector
from fastad._validate import Labels, fixed
from fastad.ordering.cuts import CurvePart, Cuts, choose_cuts
from fastad.ordering.raw import KeyCodec, RawScores, view_raw
from fastad.ordering.sorting import sort


class Range(NamedTuple):
    """Neighbours in the order, sorted: ``packed[start:stop]``.

    Attributes
    ----------
    start, stop : int
        Where the range is among the packed keys.
    centre : int
        Folded score whose packed key is 0.
    fp, tp : int
        Normals and anomalies above the range.
    """

    start: int
    stop: int
    centre: int
    fp: int
    tp: int


class PackedOrder(NamedTuple):
    """Falling keys with the label in the lowest bit, sorted in each of falling ranges.

    Attributes
    ----------
    packed : numpy.ndarray
        Of a part of the curve, only what lies in it.
    ranges : sequence of Range
        From the highest scores down, at least one.
    codec : KeyCodec
        What keys without label and centre stand for.
    n_points, n_anomalies : int
        Totals, also of what is not in the order.
    """

    packed: KeyVector
    ranges: Sequence[Range]
    codec: KeyCodec
    n_points: int
    n_anomalies: int


class _Look(NamedTuple):
    """What one look at all scores shows.

    ``above`` holds for each slice of the rows, and each cut from the highest down, the number of
    points and of anomalies above the cut; before the cuts stands none, and after them all.
    """

    low: int
    high: int
    base: int
    above: list[list[list[int]]]


def order_values(
    scores: ScoreVector,
    labels: Labels,
    name: str = "y_score",
    part: CurvePart | None = None,
) -> PackedOrder:
    """Order scores with their labels, without their rows; 8 bytes a score at most."""
    raw = view_raw(scores)
    cuts = choose_cuts(raw, labels, part)
    if not cuts.values:
        keyed = pack_values(raw, labels, name)
        if keyed is not None:
            packed, centre, codec = keyed
            sort(packed)
            n_points = packed.shape[0]
            whole = Range(0, n_points, centre, 0, 0)
            return PackedOrder(fixed(packed), (whole,), codec, n_points, labels.n_anomalies)
        cuts = cuts.and_between_signs()
    return _order_ranges(raw, labels, name, cuts)


def pack_values(
    raw: RawScores, labels: Labels, name: str
) -> tuple[KeyVector, int, KeyCodec] | None:
    """Return keys where their rows are, and their centre; None where they span too much."""
    low, high, base = raw.scan(slice(None))
    raw.refuse_nan(low, high, labels, name)
    codec = KeyCodec(raw.dtype, base)
    lowest, highest = codec.fold(low), codec.fold(high)
    if _too_wide(raw, lowest, highest):
        return None
    centre = lowest + (highest - lowest) // 2
    packed = take("packed", raw.values.shape[0], raw.values.dtype)
    keys.pack(raw.values, labels.values, codec.base, centre, raw.largest, raw.signed, packed)
    return packed, centre, codec


def _order_ranges(raw: RawScores, labels: Labels, name: str, cuts: Cuts) -> PackedOrder:
    """Order the ranges between cuts, in threads."""
    look = _look(raw, labels, cuts.values)
    raw.refuse_nan(look.low, look.high, labels, name)
    codec = KeyCodec(raw.dtype, look.base)
    bounds = _bounds(codec, look, cuts)
    if any(_too_wide(raw, *map(codec.fold, bound)) for bound in bounds):
        cuts = cuts.and_between_signs()
        look = _look(raw, labels, cuts.values)
        bounds = _bounds(codec, look, cuts)
    n_points, rows = raw.values.shape[0], slices(raw.values.shape[0])
    kept = range(cuts.first, cuts.last)
    # Before the first slice of rows there is nothing in any range; after the last, everything.
    above = [tuple(map(sum, zip(*counts, strict=True))) for counts in zip(*look.above, strict=True)]
    skipped = above[cuts.first][0]
    packed = take("packed", above[cuts.last][0] - skipped, raw.values.dtype)
    ranges, pieces = [], []
    for i, bound in zip(kept, bounds, strict=True):
        (start, tp), (stop, _) = above[i], above[i + 1]
        if start == stop:
            continue
        where = Range(start - skipped, stop - skipped, _centre(codec, bound), start - tp, tp)
        ranges.append(where)
        first = where.start
        for own, counts in zip(rows, look.above, strict=True):
            last = first + counts[i + 1][0] - counts[i][0]
            if first < last:
                pieces.append((own, slice(first, last), bound, where.centre))
            first = last

    def pack(piece: tuple[slice, slice, tuple[int, int], int]) -> None:
        own, place, (lowest, highest), centre = piece
        keys.pack_between(
            raw.values[own],
            labels.values[own],
            lowest,
            highest,
            codec.base,
            centre,
            raw.largest,
            raw.signed,
            packed[place],
        )

    thread_map(pack, pieces)
    thread_map(lambda where: sort(packed[where.start : where.stop]), ranges)
    return PackedOrder(fixed(packed), ranges, codec, n_points, labels.n_anomalies)


def _look(raw: RawScores, labels: Labels, cuts: Sequence[int]) -> _Look:
    """Look at each score once, and once more for each cut."""
    falling = fixed(np.array(cuts, np.int64))

    def look(rows: slice) -> _Look:
        above = np.zeros((len(cuts) + 2, 2), np.int64)
        keys.count_above(
            raw.values[rows], labels.values[rows], falling, raw.largest, raw.signed, above
        )
        return _Look(*raw.scan(rows), [above.tolist()])

    looks = thread_map(look, slices(raw.values.shape[0]))
    return _Look(
        min(look.low for look in looks),
        max(look.high for look in looks),
        min(look.base for look in looks),
        [above for look in looks for above in look.above],
    )


def _bounds(codec: KeyCodec, look: _Look, cuts: Cuts) -> list[tuple[int, int]]:
    """Return the lowest and the highest rank bits of each range that is kept."""
    edges = [look.high, *cuts.values, look.low - 1][cuts.first : cuts.last + 1]
    return [(max(low + 1, look.low), min(high, look.high)) for high, low in pairwise(edges)]


def _too_wide(raw: RawScores, lowest: int, highest: int) -> bool:
    """Tell whether folds from the lowest to the highest leave no bit for the label."""
    return highest - lowest >= 1 << (8 * raw.values.itemsize - 1)


def _centre(codec: KeyCodec, bound: tuple[int, int]) -> int:
    lowest, highest = map(codec.fold, bound)
    return lowest + (highest - lowest) // 2

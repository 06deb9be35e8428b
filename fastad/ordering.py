"""The two orderings of scores: packed values (fast), and keys with their rows (weights).

NumPy's SIMD sort of plain integers is the fastest there is, three to seven times as fast as
argsort. So the label travels in the lowest bit of the key, and only what needs the rows uses
the second ordering.
"""

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fastad._kernels import groups, keys
from fastad._scratch import FRESH, FreshMemory, Scratch
from fastad._types import IntVector, KeyVector, ScoreVector
from fastad._validate import Labels, fixed, refuse_nan

_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class KeyCodec:
    """How falling keys stand for scores; see ``fastad._kernels.keys``.

    Attributes
    ----------
    dtype : numpy.dtype
        Type of the scores.
    base : int
        Unused magnitudes that were taken out around zero (floats only).
    centre : int
        Folded score whose key is 0.
    """

    dtype: np.dtype[Any]
    base: int
    centre: int

    def decode(self, falling: IntVector) -> ScoreVector:
        """Return the scores of some keys, in the type that the scores had."""
        if self.dtype.kind == "f":
            width = max(self.dtype.itemsize, 4)
            bits = np.empty(falling.shape, np.int64 if width == 8 else np.int32)
            largest, _ = keys.float_layout(8 * width)
            keys.decode_floats(fixed(falling), self.base, self.centre, largest, bits)
            scores: ScoreVector = bits.view(np.float64 if width == 8 else np.float32)
            return scores.astype(self.dtype, copy=False)
        values: IntVector = self.centre - falling
        if self.dtype == np.uint64:
            unsigned: ScoreVector = values.view(np.uint64) ^ _SIGN
            return unsigned
        return values.astype(self.dtype)

    def decode_one(self, falling: int) -> float | int:
        """Return the score of one key, an int for integer scores; ten times as fast as an array."""
        folded = self.centre - falling
        if self.dtype.kind != "f":
            return folded + 2**63 if self.dtype == np.uint64 else folded
        magnitude = abs(folded) + self.base if folded else 0
        code, integer = ("<d", "<q") if self.dtype.itemsize == 8 else ("<f", "<i")
        (number,) = struct.unpack(code, struct.pack(integer, magnitude))
        return -float(number) if folded < 0 else float(number)


@dataclass(frozen=True, slots=True, eq=False)
class PackedOrder:
    """Sorted falling keys with the label in the lowest bit."""

    packed: KeyVector
    codec: KeyCodec


@dataclass(frozen=True, slots=True, eq=False)
class SplitOrder:
    """Sorted falling keys of each class: for scores that leave no free bit for the label."""

    normals: IntVector
    anomalies: IntVector
    codec: KeyCodec


@dataclass(frozen=True, slots=True, eq=False)
class RowOrder:
    """Falling key of each row and the rows in the order of their keys."""

    falling: IntVector
    rows: IntVector
    codec: KeyCodec


@dataclass(frozen=True, slots=True, eq=False)
class _Folded:
    """Scores as signed integers of 32 or 64 bits, and what one look at them has shown.

    ``low`` and ``high`` are the extremes of the folded scores; ``largest`` and ``shift``
    describe the float's layout.
    """

    values: KeyVector
    dtype: np.dtype[Any]
    low: int
    high: int
    base: int = 0
    largest: int = 0
    shift: int = 0

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"

    def falling(self) -> tuple[IntVector, KeyCodec]:
        """Return 64-bit falling keys that hold no label and leave no range out."""
        if not self.is_float:
            # The complement falls as its argument rises, and cannot overflow.
            return ~self.values.astype(np.int64, copy=False), KeyCodec(self.dtype, 0, -1)
        falling = np.empty(self.values.shape[0], np.int64)
        keys.fold_floats(self.values, self.largest, self.shift, falling)
        return falling, KeyCodec(self.dtype, 0, 0)


def order_values(
    scores: ScoreVector,
    labels: Labels,
    name: str = "y_score",
    memory: Scratch | FreshMemory = FRESH,
) -> PackedOrder | SplitOrder:
    """Order scores with their labels, without their rows; 8 bytes a score."""
    folded = _fold(scores, labels, name)
    keyed = _pack(folded, labels, memory)
    if keyed is not None:
        packed, codec = keyed
        packed.sort()
        return PackedOrder(fixed(packed), codec)
    falling, codec = folded.falling()
    anomalous = labels.values.view(np.bool_)
    normals, anomalies = falling[~anomalous], falling[anomalous]
    normals.sort()
    anomalies.sort()
    return SplitOrder(fixed(normals), fixed(anomalies), codec)


def order_groups(
    scores: ScoreVector, labels: Labels, codes: IntVector | None, starts: IntVector, name: str
) -> PackedOrder | None:
    """Order scores group by group; None where keys have no free bit.

    Rows are packed where they are and brought together as keys, unless ``codes`` is None and
    they come group by group.
    """
    keyed = _pack(_fold(scores, labels, name), labels, FRESH)
    if keyed is None:
        return None
    packed, codec = keyed
    if codes is not None:
        together = np.empty_like(packed)
        groups.bring_together(codes, starts.copy(), fixed(packed), together)
        packed = together
    for start, stop in pairwise(starts.tolist()):
        packed[start:stop].sort()
    return PackedOrder(fixed(packed), codec)


def _pack(
    folded: _Folded, labels: Labels, memory: Scratch | FreshMemory
) -> tuple[KeyVector, KeyCodec] | None:
    """Return keys with the label in the lowest bit, not sorted; None where there is no room."""
    span = folded.high - folded.low
    # A key of w bits has room for the label and a span of w - 1 bits.
    width = 32 if folded.values.itemsize == 4 and span < 2**31 else 64
    if span >= 2 ** (width - 1):
        return None
    codec = KeyCodec(folded.dtype, folded.base, folded.low + span // 2)
    packed = memory.take("packed", folded.values.shape[0], f"i{width // 8}")
    if folded.is_float:
        keys.pack_floats(
            folded.values,
            labels.values,
            codec.base,
            codec.centre,
            folded.largest,
            folded.shift,
            packed,
        )
    else:
        keys.pack_integers(folded.values, labels.values, codec.centre, packed)
    return packed, codec


def order_rows(scores: ScoreVector, labels: Labels, name: str = "y_score") -> RowOrder:
    """Order scores together with their rows; about three times the cost of ``order_values``."""
    falling, codec = _fold(scores, labels, name).falling()
    return RowOrder(fixed(falling), fixed(np.argsort(falling)), codec)


def _fold(scores: ScoreVector, labels: Labels, name: str) -> _Folded:
    """View or widen the scores as signed integers and look at each of them once."""
    dtype = scores.dtype
    if dtype.kind == "f":
        # float16 has no SIMD sort of its own; as float32 it keeps its order and its ties.
        floats = scores.astype(np.float32) if dtype.itemsize == 2 else scores
        bits = 8 * floats.itemsize
        values = fixed(floats).view(f"i{bits // 8}")
        largest, shift = keys.float_layout(bits)
        low, high, base = map(int, keys.scan_floats(values, largest, shift))
        infinity = int(np.array(np.inf, floats.dtype).view(values.dtype))
        if max(high, -low) > infinity:
            refuse_nan(scores, name, labels.rows)
        return _Folded(
            values,
            dtype,
            low - base if low > 0 else min(low + base, 0),
            high - base if high > 0 else min(high + base, 0),
            base,
            largest,
            shift,
        )
    if dtype == np.uint64:
        values = (scores ^ _SIGN).view(np.int64)
    else:
        # 16 bits and fewer, and unsigned 32 bits, go to the next signed type that holds them.
        values = scores.astype(np.int32 if dtype.itemsize < 4 else np.result_type(dtype, np.int32))
    values = fixed(values)
    low, high = keys.scan_integers(values)
    return _Folded(values, dtype, int(low), int(high))

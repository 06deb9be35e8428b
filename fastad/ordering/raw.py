"""Scores of any type as integers that a kernel can order, and what the integers stand for."""

import struct
from typing import Any, NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.threads import slices, thread_map
from fastad._core.types import IntVector, KeyVector, ScoreVector
from fastad._kernels.ordering import keys
from fastad.ordering.labels import Labels, refuse_missing_scores

# Integers up to this are exact as float64.
_LARGEST_EXACT = 2**53
_SIGN = np.uint64(1 << 63)


class RawScores(NamedTuple):
    """Scores as signed integers of 32 or 64 bits; see ``fastad._kernels.ordering.keys``."""

    scores: ScoreVector  # (n_points,)
    values: KeyVector  # (n_points,): the bits of floats, or integers, int32 or int64
    largest: int  # how kernels read the values
    signed: int
    infinity: int  # largest magnitude of rank bits that is not NaN

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores."""
        return self.scores.dtype

    def take(self, rows: slice | IntVector) -> "RawScores":
        """Return the scores of some rows."""
        scores, values = as_readonly(self.scores[rows]), as_readonly(self.values[rows])
        return RawScores(scores, values, *self[2:])

    def sample(self, size: int) -> "RawScores":
        """Return scores of about so many rows at equal steps; all where there are fewer."""
        return self.take(slice(None, None, max(self.values.shape[0] // size, 1)))

    def refuse_nan(self, low: int, high: int, labels: Labels, name: str) -> None:
        """Raise where the extremes of the rank bits are NaN."""
        if high > self.infinity or -low > self.infinity:
            refuse_missing_scores(self.scores, labels, name)

    def scan(self, rows: slice | None = None) -> tuple[int, int, int]:
        """Return the extremes of the rank bits of all rows or some, and their base: `KeyCodec`."""
        values = self.values if rows is None else self.values[rows]
        if not self.signed:
            return int(values.min()), int(values.max()), 0
        low, high, base = keys.scan_floats(values, self.largest)
        # Without compilation these are NumPy's integers, which overflow.
        return int(low), int(high), int(base)


def view_raw(scores: ScoreVector) -> RawScores:
    """View or widen scores as signed integers."""
    dtype = scores.dtype
    if dtype.kind == "f":
        if dtype.itemsize == 8:
            return RawScores(scores, as_readonly(scores, np.int64), 2**63 - 1, -1, 0x7FF << 52)
        # float16 has no SIMD sort of its own; as float32 it keeps its order and its ties.
        floats = scores.astype(np.float32, copy=False)
        return RawScores(scores, as_readonly(floats, np.int32), 2**31 - 1, -1, 0xFF << 23)
    if dtype == np.uint64:
        values = (scores ^ _SIGN).view(np.int64)
    else:
        # 16 bits and fewer, and unsigned 32 bits, go to the next signed type that holds them.
        wide = np.int32 if dtype.itemsize < 4 else np.result_type(dtype, np.int32)
        values = scores.astype(wide, copy=False)
    return RawScores(scores, as_readonly(values), -1, 0, 2**63)


class KeyCodec(NamedTuple):
    """Falling keys of scores: the complement of their fold."""

    dtype: np.dtype[Any]  # type of the scores
    base: int  # unused magnitudes that were taken out around zero (floats only)

    def fold(self, bits: int) -> int:
        """Return the fold of rank bits, in the range taken out the nearest one to it."""
        return max(bits - self.base, 0) if bits > 0 else min(bits + self.base, 0)

    def decode(self, falling: IntVector) -> ScoreVector:
        """Return the scores of some keys, in the type that the scores had."""
        if self.dtype.kind == "f":
            scores: ScoreVector = np.empty(falling.shape, self.dtype)
            self.decode_floats(falling, scores)
            return scores
        values: IntVector = ~falling
        if self.dtype == np.uint64:
            unsigned: ScoreVector = values.view(np.uint64) ^ _SIGN
            return unsigned
        return values.astype(self.dtype)

    def decode_after(self, first: float, falling: IntVector) -> ScoreVector:
        """Return an infinity and the scores of keys that rise or fall, in a type that holds both.

        That of float scores; float64 for integers, or Python's in an object array where a float64
        would not be exact.
        """
        dtype: type | np.dtype[np.generic] = self.dtype
        if self.dtype.kind != "f":
            ends = [abs(int(self.decode_one(int(falling[i])))) for i in (0, -1)]
            dtype = np.float64 if max(ends) <= _LARGEST_EXACT else object
        scores = np.empty(falling.shape[0] + 1, dtype)
        scores[0] = first
        if self.dtype.kind == "f":
            self.decode_floats(falling, scores[1:])
        else:
            scores[1:] = self.decode(falling)
        return scores

    def decode_floats(self, falling: IntVector, scores: ScoreVector) -> None:
        """Write the scores of some keys, in the type of float that the scores had."""
        # As in `view_raw`, float16 goes by way of float32.
        floats = scores if scores.itemsize > 2 else np.empty(scores.shape, np.float32)
        bits = floats.view(f"i{floats.itemsize}")
        falling = as_readonly(falling)

        def decode(rows: slice) -> None:
            keys.decode_floats(falling[rows], self.base, int(np.iinfo(bits.dtype).max), bits[rows])

        thread_map(decode, slices(falling.shape[0]))
        if floats is not scores:
            scores[:] = floats

    def decode_one(self, falling: int) -> float | int:
        """Return the score of one key, an int for integer scores; ten times as fast as an array."""
        folded = ~falling
        if self.dtype.kind != "f":
            return folded + 2**63 if self.dtype == np.uint64 else folded
        magnitude = abs(folded) + self.base if folded else 0
        code, integer = ("<d", "<q") if self.dtype.itemsize == 8 else ("<f", "<i")
        (number,) = struct.unpack(code, struct.pack(integer, magnitude))
        return -float(number) if folded < 0 else float(number)

"""Scores of any type to ordered integer keys, with the label packed into the lowest bit.

A score is read as a signed integer that orders as scores do, its *rank bits*: an integer is its
own, and of an IEEE float they are the sign and the magnitude of its bits. Two steps make room for
the label without merging neighbours that are one ulp apart:

- *fold*: of floats, the unused range around zero is removed: ``sign * (magnitude - base)`` with
  base one less than the smallest magnitude other than zero. -0.0 and 0.0 fold to the same 0.
- *centre*: a falling key ``centre - fold`` that lies in the lower half of the integer's range
  and is then doubled, the label taking the free bit.

Two numbers tell the kernels how to read a type. ``largest`` masks the magnitude: all ones but the
sign bit for floats, all ones for integers. ``signed`` is -1 where a sign stands beside the
magnitude, as in floats, and 0 for integers. Only this file sees the types of scores and labels.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.jit import kernel
from fastad._core.types import IntMatrix, IntVector, KeyVector, LabelVector
from fastad._kernels.random import bits

# Points that are packed at a time: their keys stay in a core's fastest memory.
_BLOCK = 1024


@kernel
def label_counts(
    y_true: npt.NDArray[Any],  # (n,) any boolean, integer or float type
    labels: LabelVector,  # (n,) written here
) -> tuple[int, int]:
    """Write 0 or 1 for each label; return how many are 1 and how many are neither."""
    ones = 0
    zeros = 0
    for i in range(y_true.shape[0]):
        is_one = y_true[i] == 1
        labels[i] = is_one
        ones += is_one
        zeros += y_true[i] == 0
    return ones, y_true.shape[0] - ones - zeros


@kernel
def rank_bits(value: Any, largest: int, signed: int) -> int:
    """Return the rank bits of a score, from its bits."""
    value = np.int64(value)
    sign = (value >> 63) & signed
    return int(((value & largest) ^ sign) - sign)


@kernel
def fingerprint(
    values: KeyVector,  # (n,) bits of floats, or integers
    kinds: LabelVector,  # (n,)
) -> np.uint64:
    """Return a sum of hashes modulo 2^64, the same for the same points in any order."""
    total: np.uint64 = np.uint64(0)
    for i in range(values.shape[0]):
        position: Any = np.uint64(np.int64(values[i]))
        total = total + bits(np.uint64(kinds[i]), position)
    return total


@kernel
def scan_floats(
    values: KeyVector,  # (n,) bits of floats
    largest: int,
) -> tuple[int, int, int]:
    """Return the extremes of the rank bits, and the base.

    NaN has a larger magnitude than infinity, so that it shows in the extremes.
    """
    low: Any = largest
    high: Any = -largest
    base: Any = largest
    for i in range(values.shape[0]):
        value = np.int64(values[i])
        bits = rank_bits(value, largest, -1)
        low = min(low, bits)
        high = max(high, bits)
        # Less one, magnitude 0 becomes the largest: no branch, so that the loop vectorises.
        base = min(base, ((value & largest) - 1) & largest)
    return low, high, base


@kernel
def count_above(
    values: KeyVector,  # (n,)
    labels: LabelVector,  # (n,)
    cuts: IntVector,  # (k,) rank bits
    largest: int,
    signed: int,
    above: IntMatrix,  # (k + 2, 2) zeros; from row 1 on written here: points, and anomalies
) -> None:
    """Count the points above each cut, and all; block by block, so that memory is read once."""
    bits = np.empty(_BLOCK, np.int64)
    for start in range(0, values.shape[0], _BLOCK):
        block = values[start : start + _BLOCK]
        flags = labels[start : start + _BLOCK]
        for i in range(block.shape[0]):
            bits[i] = rank_bits(block[i], largest, signed)
        for k in range(cuts.shape[0]):
            cut = cuts[k]
            points = 0
            anomalies = 0
            for i in range(block.shape[0]):
                higher = bits[i] > cut
                points += higher
                anomalies += higher & flags[i]
            above[k + 1, 0] += points
            above[k + 1, 1] += anomalies
        anomalies = 0
        for i in range(block.shape[0]):
            anomalies += flags[i]
        above[-1, 0] += block.shape[0]
        above[-1, 1] += anomalies


@kernel
def take_sample(
    values: KeyVector,  # (n,)
    labels: LabelVector,  # (n,)
    step: int,
    largest: int,
    signed: int,
    sample: IntVector,  # (ceil(n / step),) written here
) -> int:
    """Write the rank bits of rows at equal steps, the label in place of the lowest bit.

    Return the number of normals among them.
    """
    normals = 0
    for i in range(sample.shape[0]):
        label = np.int64(labels[i * step])
        sample[i] = rank_bits(values[i * step], largest, signed) & -2 | label
        normals += label == 0
    return normals


@kernel
def positions_of_normals(
    sample: IntVector,  # (n,) rising, with the label in the lowest bit
    first: int,
    second: int,  # not below the first
) -> tuple[int, int]:
    """Return the positions of two normals, numbered from the highest down."""
    before = -1
    rank = -1
    for i in range(sample.shape[0] - 1, -1, -1):
        rank += 1 - (sample[i] & 1)
        if rank >= first and before < 0:
            before = i
        if rank >= second:
            return before, i
    return before, -1


@kernel
def fold(bits: int, base: int) -> int:
    """Return the fold of rank bits, in the range taken out the nearest one to it."""
    return max(bits - base, 0) if bits > 0 else min(bits + base, 0)


@kernel
def pack(
    values: KeyVector,  # (n,)
    labels: LabelVector,  # (n,)
    largest: int,
    signed: int,
    packed: KeyVector,  # (n,) written here if the keys leave a bit for the label
) -> tuple[int, int, int, int, bool]:
    """Write the falling key of each score, doubled, with its label in the lowest bit.

    Return the extremes of the rank bits, the base, the centre, and whether there is such a bit. Of
    NaN, which shows in the extremes, keys mean nothing.
    """
    low: Any = np.int64(values[0])
    high: Any = np.int64(values[0])
    base: Any = 0
    if signed:
        low, high, base = scan_floats(values, largest)
    else:
        for i in range(values.shape[0]):
            low = min(low, np.int64(values[i]))
            high = max(high, np.int64(values[i]))
    lowest, highest = fold(low, base), fold(high, base)
    # As floats, whose difference does not overflow; they are rounded by less than the margin.
    if float(highest) - float(lowest) >= 2.0 ** (8 * packed.itemsize - 1) - 2.0**12:
        return low, high, base, 0, False
    centre = lowest + (highest - lowest) // 2
    for i in range(values.shape[0]):
        value = np.int64(values[i])
        magnitude = value & largest
        sign = (value >> 63) & signed
        reduced = magnitude - base if magnitude != 0 else 0
        packed[i] = ((centre - ((reduced ^ sign) - sign)) << 1) | labels[i]
    return low, high, base, centre, True


@kernel
def pack_between(
    values: KeyVector,  # (n,)
    labels: LabelVector,  # (n,)
    lowest: int,  # rank bits
    highest: int,
    base: int,
    centre: int,
    largest: int,
    signed: int,
    packed: KeyVector,  # (number of points between both,) written here
) -> None:
    """Write the keys of the points between two bounds, both included, in the order of the rows.

    Block by block, all keys are made and then those between the bounds are moved together: two
    loops without branches, each several times as fast as one that decides point by point.
    """
    keys = np.empty(_BLOCK, packed.dtype)
    inside = np.empty(_BLOCK, np.uint8)
    position = 0
    for start in range(0, values.shape[0], _BLOCK):
        block = values[start : start + _BLOCK]
        flags = labels[start : start + _BLOCK]
        size = block.shape[0]
        for i in range(size):
            value = np.int64(block[i])
            magnitude = value & largest
            sign = (value >> 63) & signed
            bits = (magnitude ^ sign) - sign
            reduced = magnitude - base if magnitude != 0 else 0
            between = (bits >= lowest) & (bits <= highest)
            # Values outside may not fit into a key.
            folded = (reduced ^ sign) - sign if between else centre
            keys[i] = ((centre - folded) << 1) | flags[i]
            inside[i] = between
        if position + size <= packed.shape[0]:
            for i in range(size):
                # Something is written for each row, and over it unless it is kept.
                packed[position] = keys[i]
                position += inside[i]
        else:
            for i in range(size):
                if inside[i]:
                    packed[position] = keys[i]
                    position += 1


@kernel
def fall(
    values: KeyVector,  # (n,)
    largest: int,
    signed: int,
    falling: IntVector,  # (n,) written here
) -> None:
    """Write the falling key of each score, without a label and with no range removed."""
    for i in range(values.shape[0]):
        falling[i] = ~rank_bits(values[i], largest, signed)


@kernel
def decode_floats(
    keys: IntVector,  # (n,) falling keys
    base: int,
    largest: int,
    bits: KeyVector,  # (n,) written here
) -> None:
    """Undo the fold: the bits of the float of each key."""
    for i in range(keys.shape[0]):
        folded = ~keys[i]
        if folded > 0:
            bits[i] = folded + base
        elif folded < 0:
            # Sign and magnitude in two's complement: the lowest integer is the sign bit alone.
            bits[i] = (base - folded) + (-largest - 1)
        else:
            bits[i] = 0

"""Scores of any type to ordered integer keys, with the label packed into the lowest bit.

The bits of an IEEE float, read as sign and magnitude, order as the floats do. Two steps make
room for the label without merging neighbours that are one ulp apart:

- *fold*: sign and magnitude become one signed integer, from which the unused range around zero
  is taken out: ``sign * (magnitude - base)`` with base one less than the smallest magnitude
  other than zero. -0.0 and 0.0 fold to the same 0.
- *centre*: a falling key ``centre - fold`` that lies in the lower half of the integer's range
  and is then doubled, the label taking the free bit.

An integer score is its own fold. Only this file sees the types of scores and labels.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._jit import kernel
from fastad._types import IntVector, KeyVector, LabelVector


@kernel
def label_counts(
    y_true: npt.NDArray[Any],  # (n,) any boolean, integer or float type
    labels: LabelVector,  # (n,) written here
) -> tuple[int, int]:
    """Write 0 or 1 for each label; return how many are 1 and how many are neither."""
    ones = 0
    zeros = 0
    for i in range(y_true.shape[0]):
        one = y_true[i] == 1
        labels[i] = one
        ones += one
        zeros += y_true[i] == 0
    return ones, y_true.shape[0] - ones - zeros


@kernel
def scan_floats(
    bits: KeyVector,  # (n,) floats viewed as signed integers
    largest: int,  # the integer of all ones but the sign bit
    shift: int,  # number of bits less one
) -> tuple[int, int, int]:
    """Return the extremes of the signed magnitudes and the base.

    The base is one less than the smallest magnitude that is not 0. NaN
    has a larger magnitude than infinity, so that it shows in the extremes.
    """
    low = largest
    high = -largest
    base = largest
    for i in range(bits.shape[0]):
        magnitude = bits[i] & largest
        sign = bits[i] >> shift
        signed = (magnitude ^ sign) - sign
        low = min(low, signed)
        high = max(high, signed)
        # Less one, magnitude 0 becomes the largest: no branch, so that the loop vectorises.
        base = min(base, (magnitude - 1) & largest)
    return low, high, base


@kernel
def scan_integers(values: KeyVector) -> tuple[int, int]:
    """Return the smallest and the largest value of a vector that is not empty."""
    low = values[0]
    high = values[0]
    for i in range(values.shape[0]):
        low = min(low, values[i])
        high = max(high, values[i])
    return low, high


@kernel
def pack_floats(
    bits: KeyVector,  # (n,) floats viewed as signed integers
    labels: LabelVector,  # (n,)
    base: int,
    centre: int,
    largest: int,
    shift: int,
    packed: KeyVector,  # (n,) written here, of the same or of double width
) -> None:
    """Write the falling key of each float, doubled, with its label in the lowest bit."""
    for i in range(bits.shape[0]):
        value = np.int64(bits[i])
        magnitude = value & largest
        sign = value >> shift
        reduced = magnitude - base if magnitude != 0 else 0
        packed[i] = ((centre - ((reduced ^ sign) - sign)) << 1) | labels[i]


@kernel
def pack_integers(
    values: KeyVector,  # (n,)
    labels: LabelVector,  # (n,)
    centre: int,
    packed: KeyVector,  # (n,) written here, of the same or of double width
) -> None:
    """Write the falling key of each integer, doubled, with its label in the lowest bit."""
    for i in range(values.shape[0]):
        packed[i] = ((centre - np.int64(values[i])) << 1) | labels[i]


@kernel
def fold_floats(
    bits: KeyVector,  # (n,) floats viewed as signed integers
    largest: int,
    shift: int,
    falling: IntVector,  # (n,) written here
) -> None:
    """Write the falling key of each float without a label: minus its signed magnitude."""
    for i in range(bits.shape[0]):
        value = np.int64(bits[i])
        sign = value >> shift
        falling[i] = sign - ((value & largest) ^ sign)


@kernel
def decode_floats(
    keys: IntVector,  # (n,) falling keys
    base: int,
    centre: int,
    largest: int,
    bits: KeyVector,  # (n,) written here
) -> None:
    """Undo the fold: the bits of the score of each key."""
    for i in range(keys.shape[0]):
        folded = centre - keys[i]
        if folded > 0:
            bits[i] = folded + base
        elif folded < 0:
            # Sign and magnitude in two's complement: the lowest integer is the sign bit alone.
            bits[i] = (base - folded) + (-largest - 1)
        else:
            bits[i] = 0


def float_layout(bits: int) -> tuple[int, int]:
    """Return the mask of the magnitude and the shift of the sign for floats of so many bits."""
    return int(np.iinfo(np.int64 if bits == 64 else np.int32).max), bits - 1

"""Rows by their rank bits: in ranges, of one class, and between points."""

from typing import Any

import numpy.typing as npt

from fastad._core.jit import kernel
from fastad._core.types import IntVector, KeyVector, LabelVector
from fastad._kernels.ordering.keys import rank_bits


@kernel
def rows_between(
    values: KeyVector,  # (n,) bits of scores
    largest: int,
    signed: int,
    lows: IntVector,  # (k,) rising rank bits, at least one
    highs: IntVector,  # (k,) the ends of the ranges, which do not overlap
    rows: IntVector,  # (n,) written here
) -> int:
    """Write the rows whose rank bits lie in a range, ends included; return how many there are."""
    n_rows = 0
    lowest = lows[0]
    highest = highs[-1]
    for i in range(values.shape[0]):
        bits = rank_bits(values[i], largest, signed)
        if bits < lowest or bits > highest:
            continue
        # The last range that does not begin above it.
        first = 0
        last = lows.shape[0]
        while last - first > 1:
            middle = (first + last) // 2
            if lows[middle] <= bits:
                first = middle
            else:
                last = middle
        if bits <= highs[first]:
            rows[n_rows] = i
            n_rows += 1
    return n_rows


@kernel
def take_bits(
    values: KeyVector,  # (n,) bits of scores
    kinds: LabelVector,  # (n,)
    kind: int,
    largest: int,
    signed: int,
    taken: IntVector,  # (m,) written here from a position on; there is room for all
    position: int,
) -> int:
    """Write the rank bits of the points of one kind; return where the next one goes."""
    for i in range(values.shape[0]):
        # Something is written for each row, and over it unless it is of the kind.
        taken[position] = rank_bits(values[i], largest, signed)
        position += kinds[i] == kind
    return position


@kernel
def count_between(
    points: IntVector,  # (k,) rising, also equal ones
    block: IntVector,  # (n,) rising
    between: npt.NDArray[Any],  # (k + 1,) added to here: how many lie below each point
    equal: npt.NDArray[Any],  # (k,) added to here, at the first of equal points
) -> None:
    """Count numbers between points and at them; a number above all points counts last."""
    k = points.shape[0]
    position = 0
    for i in range(block.shape[0]):
        value = block[i]
        # In steps that double, as the next point is near or far.
        step = 1
        while position + step < k and points[position + step] < value:
            position += step
            step *= 2
        while step > 0:
            if position + step <= k and points[position + step - 1] < value:
                position += step
            step //= 2
        if position < k and points[position] == value:
            equal[position] += 1
        else:
            between[position] += 1

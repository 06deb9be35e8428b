"""Scores counted in the gaps between a few points, of which only those nearby are compared.

A map that never falls gives each score a cell: cell 0 lies below all points, the last one above
them, and those between are of equal width. In a cell without a point scores are only counted.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.jit import kernel
from fastad._core.types import IntVector, KeyVector
from fastad._kernels.ordering.keys import rank_bits

# Scores that are placed at a time: they stay in a core's fastest memory.
BLOCK = 2048
# Initial count of a cell with a point, which is recognised by its sign.
MARKED = -(2**31)
# Points of a cell that are compared one by one.
_FEW = 4


@kernel
def cells_of_scores(
    scores: npt.NDArray[Any],  # (n,)
    low: float,  # lowest and highest point, finite
    high: float,
    scale: float,
    last: int,  # the last cell
    cells: npt.NDArray[np.uint32],  # (n,) written here
) -> int:
    """Write the cell of each score, by its value; return how many are NaN, in any cell."""
    n_missing = 0
    for i in range(scores.shape[0]):
        score = np.float64(scores[i])
        inner = score if score > low else low
        inner = inner if inner < high else high
        cell = np.int32((inner - low) * scale) + np.int32(1)
        cell = np.int32(0) if score < low else cell
        cells[i] = np.int32(last) if score > high else cell
        n_missing += score != score
    return n_missing


@kernel
def cells_of_bits(
    values: KeyVector,  # (n,) bits of floats
    largest: int,
    infinity: int,  # its magnitude
    base: int,  # magnitudes that are taken out around zero
    low: float,  # remainder of the lowest and of the highest point
    high: float,
    scale: float,
    last: int,
    cells: npt.NDArray[np.uint32],  # (n,) written here
) -> int:
    """Write the cell of each score, by its rank bits: widths are relative to magnitudes.

    Return how many are NaN, whose magnitudes are above the infinite one.
    """
    n_missing: Any = 0
    for i in range(values.shape[0]):
        value: Any = np.int64(values[i])
        sign = value >> 63
        reduced: Any = max((value & largest) - base, 0)
        left = np.float64((reduced ^ sign) - sign)
        inner = left if left > low else low
        inner = inner if inner < high else high
        cell = np.int32((inner - low) * scale) + np.int32(1)
        cell = np.int32(0) if left < low else cell
        cells[i] = np.int32(last) if left > high else cell
        n_missing += (value & largest) > infinity
    return int(n_missing)


@kernel
def mark_cells(
    cells: npt.NDArray[np.int32],  # (k,) of each point, rising
    starts: npt.NDArray[np.int32],  # (n_cells + 1,) written here: points in lower cells
    counts: npt.NDArray[np.int32],  # (n_cells,) written here
) -> None:
    """Mark the cells with a point, and count the points below each cell."""
    counts[:] = 0
    cell = 0
    for i in range(cells.shape[0]):
        counts[cells[i]] = MARKED
        while cell <= cells[i]:
            starts[cell] = i
            cell += 1
    starts[cell:] = cells.shape[0]


@kernel
def place(
    scores: npt.NDArray[Any],  # (n,)
    values: KeyVector,  # (n,) bits of the scores
    largest: int,
    infinity: int,
    by_value: bool,  # noqa: FBT001 - kernels take no keywords
    base: int,
    low: float,
    high: float,
    scale: float,
    points: IntVector,  # (k,) rising rank bits, also equal ones
    starts: npt.NDArray[np.int32],  # (n_cells + 1,)
    counts: npt.NDArray[np.int32],  # (n_cells,) added to here
    between: IntVector,  # (k + 1,) added to here: scores of marked cells below each point
    equal: IntVector,  # (k,) added to here, at the first of equal points
) -> int:
    """Count scores by their cells, compare those in cells with a point; return how many are NaN.

    In three loops: the first vectorises, the second has no branches, and few scores come to the
    third one.
    """
    cells = np.empty(BLOCK, np.uint32)
    kept = np.empty(BLOCK, np.uint32)
    last = counts.shape[0] - 1
    n_missing = 0
    for start in range(0, scores.shape[0], BLOCK):
        block = scores[start : start + BLOCK]
        bits = values[start : start + BLOCK]
        size = block.shape[0]
        if by_value:
            n_missing += cells_of_scores(block, low, high, scale, last, cells)
        else:
            n_missing += cells_of_bits(bits, largest, infinity, base, low, high, scale, last, cells)
        n_kept = np.uint32(0)
        for i in range(size):
            cell = cells[i]
            count = counts[cell]
            counts[cell] = count + np.int32(1)
            # Something is written for each score, and over it unless its cell is marked.
            kept[n_kept] = i
            n_kept += np.uint32(count < 0)
        for k in range(n_kept):
            i = kept[k]
            rank = rank_bits(bits[i], largest, -1)
            first = np.uint32(starts[cells[i]])
            stop = np.uint32(starts[cells[i] + np.uint32(1)])
            while stop - first > _FEW:
                middle = (first + stop) >> np.uint32(1)
                if points[middle] < rank:
                    first = middle + np.uint32(1)
                else:
                    stop = middle
            while first < stop and points[first] < rank:
                first += np.uint32(1)
            if first < points.shape[0] and points[first] == rank:
                equal[first] += 1
            else:
                between[first] += 1
    return n_missing


@kernel
def add_cells(
    starts: npt.NDArray[np.int32],  # (n_cells + 1,)
    counts: npt.NDArray[np.int32],  # (n_cells,)
    between: IntVector,  # (k + 1,) added to here
) -> None:
    """Add the counts of cells without a point."""
    for cell in range(counts.shape[0]):
        if counts[cell] > 0:
            between[starts[cell]] += counts[cell]

"""Means and standard deviations over the folds of many models or cells of a table."""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntVector


@kernel
def sum_of_sorted(
    values: FloatVector,  # (n,)
    divisor: float,  # of each value
) -> float:
    """Sum quotients with the rounding errors of the sum."""
    total, lost = 0.0, 0.0
    for i in range(values.shape[0]):
        value = values[i] / divisor
        larger = total + value
        rest = larger - total
        lost += (total - (larger - rest)) + (value - rest)
        total = larger
    if total - total == 0.0:  # infinite sums have lost nothing that can be told
        total += lost
    return total


@kernel
def fold_means(
    values: FloatVector,  # (n_rows,) cell by cell; sorted within each cell here
    starts: IntVector,  # (n_cells + 1,)
    means: FloatVector,  # (n_cells,) written here; NaN where no fold is defined
    defined: IntVector,  # (n_cells,) written here: folds that are
) -> None:
    """Average each cell over the folds where it is defined.

    Values are sorted, and their rounding errors summed beside them: neither the order of rows nor
    that of folds moves a bit, so that equal models stay equal.
    """
    for cell in range(means.shape[0]):
        start = starts[cell]
        n = start
        for i in range(start, starts[cell + 1]):
            if values[i] == values[i]:
                values[n] = values[i]
                n += 1
        count = n - start
        values[start:n].sort()
        mean = sum_of_sorted(values[start:n], 1.0) / count
        if (
            count > 0
            and mean - mean != 0.0
            and abs(values[start]) < np.inf
            and values[n - 1] < np.inf
        ):
            mean = sum_of_sorted(values[start:n], float(count))  # the sum is beyond float64
        defined[cell] = count
        means[cell] = mean


@kernel
def summarize(
    folds: FloatMatrix,  # (n, k) each row sorted, at most 1 in size
    means: FloatVector,  # (n,) written here
    deviations: FloatVector,  # (n,) written here: standard deviations, with k - 1
) -> None:
    """Average each row, to the nearest float; equal values deviate by exactly 0."""
    k = folds.shape[1]
    for i in range(folds.shape[0]):
        # Two floats hold the sum.
        total = 0.0
        lost = 0.0
        for j in range(k):
            value = folds[i, j]
            added = total + value
            back = added - total
            lost += (total - (added - back)) + (value - back)
            total = added
        added = total + lost
        lost -= added - total
        total = added
        # And their quotient by k: first rounded, then with what the rounding left.
        mean = total / k
        mean += (remainder(total, mean, k) + lost) / k
        largest = max(folds[i, k - 1] - mean, mean - folds[i, 0])
        means[i] = mean
        deviations[i] = 0.0
        if folds[i, 0] < folds[i, k - 1]:
            # In units of the largest, so that no square vanishes; the sum is not quite 0, because
            # the mean is rounded.
            squares = 0.0
            rest = 0.0
            for j in range(k):
                unit = (folds[i, j] - mean) / largest
                squares += unit * unit
                rest += unit
            deviations[i] = largest * math.sqrt((squares - rest * rest / k) / (k - 1))


@kernel
def remainder(total: float, quotient: float, k: int) -> float:
    """Return total - quotient * k exactly, for a k of at most 26 bits."""
    # Veltkamp's splitting: the upper half times k is exact, and so is the lower one.
    wide = quotient * 134217729.0
    upper = wide - (wide - quotient)
    return (total - upper * k) - (quotient - upper) * k

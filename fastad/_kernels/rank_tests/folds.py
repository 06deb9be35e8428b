"""Means over the folds of many cells of a table."""

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatVector, IntVector


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

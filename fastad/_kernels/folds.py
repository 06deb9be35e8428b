"""Means over the folds of many cells of a table."""

from fastad._jit import kernel
from fastad._types import FloatVector, IntVector


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
            value = values[i]
            if value == value:
                place = n
                while place > start and values[place - 1] > value:
                    values[place] = values[place - 1]
                    place -= 1
                values[place] = value
                n += 1
        total, lost = 0.0, 0.0
        for i in range(start, n):
            larger = total + values[i]
            rest = larger - total
            lost += (total - (larger - rest)) + (values[i] - rest)
            total = larger
        if total - total == 0.0:  # infinite sums have lost nothing that can be told
            total += lost
        count = n - start
        defined[cell] = count
        means[cell] = total / count

"""Scores of few distinct values: counted for each value, without sorting."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.jit import kernel
from fastad._core.types import IntMatrix, IntVector, KeyVector, LabelVector
from fastad._kernels.ordering.cells import entry_of, hash_shift


@kernel
def count_patterns(
    values: npt.NDArray[Any],  # (n,) unsigned
    dropped: int,  # number of the lowest bits, of which all should be 0
    labels: LabelVector,  # (n,)
    counts: npt.NDArray[np.int64],  # (2 * 2**bits,) added to here: normals and anomalies of each
) -> bool:
    """Count each value by its other bits, 8 or 16; return whether the lowest ones are 0."""
    shift = np.uint32(dropped)
    lowest = np.uint32(0)
    for i in range(values.shape[0]):
        value = np.uint32(values[i])
        counts[(value >> shift) << np.uint32(1) | np.uint32(labels[i])] += 1
        lowest |= value & np.uint32((1 << dropped) - 1)
    return bool(lowest == 0)


@kernel
def count_listed(
    values: KeyVector,  # (n,) bits of scores
    labels: LabelVector,  # (n,)
    directory: IntMatrix,  # (2**k, 2) values and their positions, as `fill_directory` writes them
    counts: IntVector,  # (2 * n_listed,) added to here: normals and anomalies of each value
    others: IntVector,  # (n,) the rows with another value, written here
) -> int:
    """Count the values of a list; return how many rows have others."""
    drop = hash_shift(directory.shape[0])
    n_others = 0
    for i in range(values.shape[0]):
        position = directory[entry_of(np.int64(values[i]), directory, drop), 1]
        if position < 0:
            others[n_others] = i
            n_others += 1
        else:
            counts[position << 1 | labels[i]] += 1
    return n_others

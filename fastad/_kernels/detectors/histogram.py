"""Sums over the features of the values of bins."""

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntVector


@kernel
def sum_of_bins(
    points: FloatMatrix,  # (d, n)
    scores: FloatVector,  # (n,) written here
    edges: FloatMatrix,  # (d, 2**k - 1) of bins, rising; +inf behind the last
    n_bins: IntVector,  # (d,)
    margins: FloatMatrix,  # (d, 2) how far outside a point still counts as in the outer bins
    values: FloatMatrix,  # (d, most bins + 2) of points below, in each bin, and above
) -> None:
    """Write the sum over features of the values of the bins in which a point lies.

    A bin holds its upper edge. The binary search takes the same steps for all points, and positions
    are unsigned, which never count from the end: so it compiles to vector instructions, in half
    the time. (Counting all edges below is faster for ten bins, and much slower for a hundred.)
    """
    d, n = points.shape
    positions = np.empty(n, np.uint64)
    scores[:] = 0.0
    for j in range(d):
        row = points[j]
        feature_edges = edges[j]
        positions[:] = 0
        step = np.uint64((edges.shape[1] + 1) // 2)
        while step > 0:
            for i in range(n):
                below = feature_edges[positions[i] + step - np.uint64(1)] < row[i]
                positions[i] += step if below else np.uint64(0)
            step = step >> np.uint64(1)
        last = n_bins[j]
        lowest = feature_edges[0]
        highest = feature_edges[last]
        for i in range(n):
            # The differences are compared as PyOD rounds them.
            near_first = np.int64(lowest - row[i] <= margins[j, 0])
            beyond_last = np.int64(row[i] - highest > margins[j, 1])
            positions[i] = min(max(np.int64(positions[i]), near_first), last + beyond_last)
        value = values[j]
        for i in range(n):
            scores[i] += value[positions[i]]

"""Sums over the features of what a bin is worth."""

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
    worths: FloatMatrix,  # (d, most bins + 2) of points below, in each bin, and above
) -> None:
    """Write the sum over features of what the bins are worth in which a point lies.

    A bin holds its upper edge. The binary search takes the same steps for all points, and places
    are unsigned, which never count from the end: so it compiles to vector instructions, in half
    the time. (Counting all edges below is faster for ten bins, and much slower for a hundred.)
    """
    d, n = points.shape
    places = np.empty(n, np.uint64)
    scores[:] = 0.0
    for j in range(d):
        row = points[j]
        own = edges[j]
        places[:] = 0
        step = np.uint64((edges.shape[1] + 1) // 2)
        while step > 0:
            for i in range(n):
                below = own[places[i] + step - np.uint64(1)] < row[i]
                places[i] += step if below else np.uint64(0)
            step = step >> np.uint64(1)
        last = n_bins[j]
        lowest = own[0]
        highest = own[last]
        for i in range(n):
            # The differences are compared as PyOD rounds them.
            near_first = np.int64(lowest - row[i] <= margins[j, 0])
            beyond_last = np.int64(row[i] - highest > margins[j, 1])
            places[i] = min(max(np.int64(places[i]), near_first), last + beyond_last)
        worth = worths[j]
        for i in range(n):
            scores[i] += worth[places[i]]

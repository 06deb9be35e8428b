"""Scores by the nearest of some centres, and by the smallest sphere that a point lies in."""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import BoolVector, FloatMatrix, FloatVector
from fastad._kernels.detectors.support import write_squared_distances

# Points at a time: in five dimensions they stay in a core's fastest memory with their sums.
_TILE = 512


@kernel
def distance_to_large(
    points: FloatMatrix,  # (d, n)
    scores: FloatVector,  # (n,) written here
    centres: FloatMatrix,  # (c, d)
    factors: FloatVector,  # (c,)
    large: BoolVector,  # (c,) at least one of them
) -> None:
    """Write the distance to the nearest large centre times the factor of the nearest of all."""
    n = points.shape[1]
    squares = np.empty(min(n, _TILE))
    nearest = np.empty(min(n, _TILE))
    factor = np.empty(min(n, _TILE))
    for start in range(0, n, _TILE):
        distance = scores[start : start + _TILE]
        m = distance.shape[0]
        distance[:] = np.inf
        nearest[:] = np.inf
        factor[:] = factors[0]
        for c in range(centres.shape[0]):
            write_squared_distances(points, start, centres[c], squares[:m])
            of_centre = factors[c]
            for i in range(m):
                # The first of several at the same distance.
                factor[i] = of_centre if squares[i] < nearest[i] else factor[i]
                nearest[i] = min(nearest[i], squares[i])
            if large[c]:
                for i in range(m):
                    distance[i] = min(distance[i], squares[i])
        for i in range(m):
            distance[i] = math.sqrt(distance[i]) * factor[i]


@kernel
def mean_of_spheres(
    points: FloatMatrix,  # (d, n)
    scores: FloatVector,  # (n,) written here
    centres: FloatMatrix,  # (e * s, d) set by set, each from the largest sphere to the smallest
    squared_radii: FloatVector,  # (e * s,)
    values: FloatVector,  # (e * s,)
    size: int,  # s, of a set
) -> None:
    """Write the mean over sets of the value of the smallest sphere that holds a point, 1 if none.

    A sphere holds its surface.
    """
    n = points.shape[1]
    n_sets = centres.shape[0] // size
    squares = np.empty(min(n, _TILE))
    value = np.empty(min(n, _TILE))
    for start in range(0, n, _TILE):
        total = scores[start : start + _TILE]
        m = total.shape[0]
        total[:] = 0.0
        for first in range(0, n_sets * size, size):
            value[:] = 1.0
            for c in range(first, first + size):
                write_squared_distances(points, start, centres[c], squares[:m])
                radius, inside = squared_radii[c], values[c]
                for i in range(m):
                    value[i] = inside if squares[i] <= radius else value[i]
            for i in range(m):
                total[i] += value[i]
        for i in range(m):
            total[i] /= n_sets

"""Loops of drawing, scoring and counting, made for one way of scoring each.

Between the steps of such a loop nobody waits for the interpreter's lock, and points stay in a
core's fastest memory from their numbers to their count.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from fastad._jit import kernel_around, uncached
from fastad._kernels.volume import Ranges, add_below, draw
from fastad._types import FloatMatrix, FloatVector, IntVector

# Coordinates at a time, and points.
_COORDINATES = 8192
_FEWEST, _MOST = 64, 1024


@lru_cache(maxsize=64)
def counting(score: Any) -> Any:
    """Make the loop around a kernel of points of shape (d, n), their scores, and its arguments."""

    def count(
        key: np.uint64,
        first: int,  # number of the first point
        last: int,  # behind the last
        ranges: Ranges,
        thresholds: FloatVector,
        counts: IntVector,  # of points below each threshold, added to here
        arguments: tuple[Any, ...],
    ) -> bool:
        """Draw, score and count; tell whether all scores were numbers."""
        d = ranges.lows.shape[0]
        at_once = min(max(_COORDINATES // d, _FEWEST), _MOST, last - first)
        memory = np.empty(d * at_once)
        scores = np.empty(at_once)
        for start in range(first, last, at_once):
            n = min(at_once, last - start)
            points = memory[: d * n].reshape(d, n)
            draw(key, start, ranges, points)
            score(points, scores[:n], *arguments)
            if add_below(scores[:n], thresholds, counts) >= 0:
                return False
        return True

    return kernel_around(score, count)


@lru_cache(maxsize=64)
def over_points(function: Any) -> Any:
    """Make the loop of a function of one point, compiled into it, over points."""

    @uncached
    def write(points: FloatMatrix, scores: FloatVector) -> None:
        point = np.empty(points.shape[0])
        for i in range(points.shape[1]):
            for j in range(points.shape[0]):
                point[j] = points[j, i]
            scores[i] = function(point)

    return write

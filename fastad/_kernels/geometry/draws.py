"""Drawing points in a box, and counting those on one side of a threshold.

Coordinate j of point i is made of the random bits of a key at the position i * d + j (splitmix64,
Steele, Lea and Flood 2014), so that neither threads nor blocks change the sample.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fastad._core.jit import kernel, kernel_around, uncached
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.elementary import to_normal_quantiles

_UNIT = 2.0**-53
# The least probability that a normal number is found for.
_LEAST = 1e-300
_STEP = np.uint64(0x9E3779B97F4A7C15)


class Ranges(NamedTuple):
    """A box as kernels see it."""

    lows: FloatVector  # (d,) of the ranges that are drawn at once; 0 where a step follows
    highs: FloatVector  # (d,) 1 where a step follows
    special: IntVector  # (s,) features that need a step more
    ends: FloatMatrix  # (s, 2) ends of the special features
    values: FloatVector  # (v,) of the discrete special features, one after the other
    last_values: IntVector  # (s,) where the values end; a continuous feature has none


@kernel
def draw(
    key: np.uint64,
    first: int,  # number of the first point
    ranges: Ranges,
    points: FloatMatrix,  # (d, n) written here
) -> None:
    """Draw points of a box, from numbers in [0, 1) of 53 bits."""
    d = points.shape[0]
    for j in range(d):
        numbers = points[j]
        low = ranges.lows[j]
        high = ranges.highs[j]
        scale = (high - low) * _UNIT
        # Adding a step from position to position saves a product in three.
        counter = key + np.uint64(first * d + j + 1) * _STEP
        step = np.uint64(d) * _STEP
        for i in range(numbers.shape[0]):
            z = counter
            counter += step
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
            # Rounding may go beyond the end by its last digit.
            numbers[i] = min(low + scale * np.float64(np.int64(z >> np.uint64(11))), high)
    if ranges.special.shape[0] > 0:
        _scale_special(ranges, points)


@kernel
def scale_to_box(ranges: Ranges, points: FloatMatrix) -> None:
    """Scale points of the unit cube to the box."""
    for j in range(points.shape[0]):
        numbers = points[j]
        low = ranges.lows[j]
        high = ranges.highs[j]
        for i in range(numbers.shape[0]):
            numbers[i] = min(low + (high - low) * numbers[i], high)
    if ranges.special.shape[0] > 0:
        _scale_special(ranges, points)


@kernel
def scale_to_normal(
    mean: FloatVector,  # (d,)
    factor: FloatMatrix,  # (d, d) lower triangle of the covariance's Cholesky decomposition
    points: FloatMatrix,  # (d, n) of the unit cube; overwritten
) -> None:
    """Replace uniform numbers by normal ones: mean + factor * quantiles."""
    d, n = points.shape
    signs = np.empty(n)
    for j in range(d):
        row = points[j]
        for i in range(n):
            # The smaller tail, which keeps its digits.
            signs[i] = 1.0 if row[i] < 0.5 else -1.0
            row[i] = max(min(row[i], 1.0 - row[i]), _LEAST)
        to_normal_quantiles(row)
        for i in range(n):
            row[i] *= signs[i]
    # The last coordinates first, which need the others as they are.
    for j in range(d - 1, -1, -1):
        row = points[j]
        f = factor[j, j]
        m = mean[j]
        for i in range(n):
            row[i] = m + f * row[i]
        for k in range(j):
            f = factor[j, k]
            other = points[k]
            for i in range(n):
                row[i] += f * other[i]


@kernel
def _scale_special(ranges: Ranges, points: FloatMatrix) -> None:
    """Scale the special features, which are in [0, 1)."""
    first = 0
    for k in range(ranges.special.shape[0]):
        numbers = points[ranges.special[k]]
        last = ranges.last_values[k]
        if last > first:
            _select_values(numbers, ranges.values[first:last])
        else:
            _scale_to_range(numbers, ranges.ends[k, 0], ranges.ends[k, 1])
        first = last


@kernel
def _scale_to_range(numbers: FloatVector, low: float, high: float) -> None:
    """Scale numbers in [0, 1) to a range, whose width may overflow or have few digits."""
    width = high - low
    for i in range(numbers.shape[0]):
        fraction = numbers[i]
        if width < np.inf:
            numbers[i] = min(low + width * fraction, high)
        else:
            numbers[i] = max(low, min(low * (1.0 - fraction) + high * fraction, high))


@kernel
def _select_values(numbers: FloatVector, values: FloatVector) -> None:
    """Replace numbers in [0, 1) by one of some values."""
    n = values.shape[0]
    for i in range(numbers.shape[0]):
        numbers[i] = values[min(np.int64(numbers[i] * n), n - 1)]


@kernel
def add_below(scores: FloatVector, thresholds: FloatVector, counts: IntVector) -> int:
    """Count the scores below each threshold; return where the first NaN is, or -1."""
    for k in range(thresholds.shape[0]):
        below = 0
        for i in range(scores.shape[0]):
            below += scores[i] < thresholds[k]
        counts[k] += below
    n_nan = 0
    for i in range(scores.shape[0]):
        n_nan += scores[i] != scores[i]
    if n_nan:
        for i in range(scores.shape[0]):
            if scores[i] != scores[i]:
                return i
    return -1


@kernel
def write_coordinates(rows: FloatMatrix, points: FloatMatrix) -> None:
    """Write rows coordinate by coordinate."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            points[j, i] = rows[i, j]


@kernel
def write_rows(points: FloatMatrix, rows: FloatMatrix) -> None:
    """Write points, which are given coordinate by coordinate, row by row."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            rows[i, j] = points[j, i]


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

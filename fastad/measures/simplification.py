"""Fewer points of a curve, with bounds of what that changes."""

import numpy as np

from fastad._core.types import CountVector, FloatVector, IntVector
from fastad._kernels.curves.simplification import split_farthest

# Steps of the ordinate of a curve with more points, on both sides of which points are candidates.
_N_STEPS = 4096


def simplified(xs: CountVector, ys: CountVector, max_points: int) -> tuple[IntVector, float]:
    """Return which points of a rising curve to keep, and a bound of its distance from the others.

    The curve is counts or rates from (0, 0) on, which do not fall, joined by straight lines; at
    most ``max_points`` points, 8 or more, stay. The distance is vertical, in units of ``ys``:
    values read off at an abscissa differ by no more than the bound, and areas by no more than the
    bound times their width. It is 0 where all points are kept, and otherwise allows for rounding.

    A quarter of the points is for equal ratios of the abscissas; others are added where a point is
    farthest, as Douglas and Peucker (1973) do. Of curves of many points only candidates are
    searched. A point between two of them is no farther from their chord than the ordinates of both
    are apart.
    """
    n_points = xs.shape[0]
    if n_points <= max_points:
        return np.arange(n_points), 0.0
    # The last point at or before each abscissa, from the mean width of a point on. In another type
    # than the points, which NumPy would copy to it, they take as long as all the rest.
    ratios = (xs[-1] * np.geomspace(1 / n_points, 1, max_points // 4)).astype(xs.dtype)
    given = np.union1d(np.searchsorted(xs, ratios, side="right") - 1, [0, n_points - 1])
    candidates = _candidates(ys, given)
    between = np.diff(ys[candidates])[np.diff(candidates) > 1]
    starts, ends, worst = np.zeros((3, max_points - 1), np.int64)
    gaps = np.zeros(max_points - 1)
    positions = np.searchsorted(candidates, given)
    n_given = given.shape[0] - 1
    starts[:n_given], ends[:n_given] = positions[:-1], positions[1:]
    n = split_farthest(xs[candidates], ys[candidates], starts, ends, n_given, worst, gaps)
    kept = candidates[np.append(np.sort(starts[:n]), positions[-1])]
    rounding = 8 * np.finfo(np.float64).eps * float(ys[-1])
    return kept, float(gaps[:n].max()) + float(between.max(initial=0)) + rounding


def _candidates(ys: CountVector, given: IntVector) -> IntVector:
    """Return all points, or of many those that are given and those around equal steps."""
    if ys.shape[0] <= 2 * _N_STEPS:
        return np.arange(ys.shape[0])
    above = np.searchsorted(ys, np.linspace(0, ys[-1], _N_STEPS + 1, dtype=ys.dtype)[1:])
    return np.unique(np.concatenate([given, above, above - 1]))


def errors_of(xs: FloatVector, ys: FloatVector, kept: IntVector) -> tuple[float, float]:
    """Return how far a rising curve is from the one through some of its points, at most.

    The first number is the largest vertical distance; the second bounds the difference of the
    areas below both over any interval of abscissas. Both include what rounding may add.
    """
    starts, lengths = kept[:-1], np.diff(kept)
    x0, y0 = (np.repeat(values[starts], lengths) for values in (xs, ys))
    width, height = (np.repeat(np.diff(values[kept]), lengths) for values in (xs, ys))
    # On an upright chord points are on it.
    slope = np.divide(height, width, out=np.zeros_like(width), where=width > 0)
    gaps = np.where(width > 0, ys[:-1] - y0 - slope * (xs[:-1] - x0), 0.0)
    gaps = np.append(gaps, 0.0)
    steps = np.diff(xs)
    areas = np.concatenate([[0.0], np.cumsum(steps * (gaps[1:] + gaps[:-1]) / 2)])
    largest = np.maximum(np.abs(gaps[1:]), np.abs(gaps[:-1]))
    # Between two points, where the sign of the distance changes, areas may be farther apart.
    within = float((steps * largest).max(initial=0.0))
    rounding = 8 * float(np.finfo(np.float64).eps)
    distance = float(largest.max(initial=0.0)) + rounding
    # Rounding of a running sum of so many terms.
    return distance, float(np.ptp(areas)) + within + rounding * (1 + len(xs) * distance)

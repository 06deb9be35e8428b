"""The Kolmogorov distance of scores that were counted in cells, with certain bounds."""

import numpy as np

from fastad._core.parameters import check_type
from fastad._core.types import IntVector
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.streaming.sketches.cells import CellCounts
from fastad.streaming.sketches.results import BoundedValue
from fastad.streaming.sketches.sketch import ScoreSketch

# Numbers of points whose product is smaller are compared in integers.
_LARGEST = 2**62
# What rounding may add to the difference of two quotients.
_ROUNDING = 2.0**-50


def kolmogorov_distance(a: ScoreSketch, b: ScoreSketch) -> BoundedValue:
    """Largest difference between the distribution functions of the scores of two sketches.

    All points count, labelled or not. Where all distinct scores fitted both sketches, the distance
    is exact; in cells, it is bounded: between two edges the points of a cell may have any order.
    Sketches may have different memories; the coarser cells decide.

    Parameters
    ----------
    a, b : ScoreSketch
        Sketches of scores of one type, each with a point at least.

    Returns
    -------
    BoundedValue
        In [0, 1]. ``low`` is attained at an edge of the cells, as is ``value``; ``high`` is what
        the exact scores may have at most.

    Raises
    ------
    InvalidInputError
        If the scores have different types.
    UndefinedMeasureError
        If a sketch has no points.

    Notes
    -----
    O(c log c) time for c cells: 2 ms for 4000 in each sketch, 60 ms for 340 000. The distance
    describes these points. Whether it is more than chance, look after look, is what `DriftMonitor`
    says: the p-value of a Kolmogorov-Smirnov test holds for one look, at a time fixed before.

    Examples
    --------
    >>> import fastad
    >>> a, b = fastad.streaming.ScoreSketch(), fastad.streaming.ScoreSketch()
    >>> a.update(y_score=[0.1, 0.2, 0.3, 0.4])
    >>> b.update(y_score=[0.3, 0.4, 0.5, 0.6])
    >>> fastad.streaming.kolmogorov_distance(a, b)
    BoundedValue(value=0.5, low=0.5, high=0.5)
    """
    for name, sketch in (("a", a), ("b", b)):
        check_type(sketch, ScoreSketch, name, "a ScoreSketch")
    if a.dtype is None or b.dtype is None:
        raise UndefinedMeasureError("a sketch without points has no distribution of scores")
    if a.dtype != b.dtype:
        raise InvalidInputError(f"b must contain {a.dtype} as a does; found {b.dtype}")
    return distance_of(a.listed(), b.listed())


def distance_of(a: CellCounts, b: CellCounts) -> BoundedValue:
    """Return the distance of counts in cells; each has a point at least."""
    shift = max(a.shift, b.shift)
    a, b = (each.coarsened(shift - each.shift) for each in (a, b))
    # A stable sort merges two sorted parts; that a cell stands there twice changes no maximum.
    cells = np.sort(np.concatenate([a.cells, b.cells]), kind="stable")
    up_to_a, up_to_b = _up_to(cells, a), _up_to(cells, b)
    at_edges = _largest_difference(up_to_a, up_to_b, a.n_points, b.n_points)
    low, high = at_edges, at_edges
    if shift:
        # All points of a in a cell may come before all of b, or after them.
        high = max(
            _largest_difference(up_to_a[1:], up_to_b[:-1], a.n_points, b.n_points),
            _largest_difference(up_to_a[:-1], up_to_b[1:], a.n_points, b.n_points),
        )
    if a.n_points * b.n_points >= _LARGEST:
        low, high = max(0.0, low - _ROUNDING), min(1.0, high + _ROUNDING)
    return BoundedValue(at_edges, low, high)


def _up_to(cells: IntVector, counted: CellCounts) -> IntVector:
    """Return the numbers of points below all cells, and up to the upper end of each."""
    totals = np.concatenate([[0], np.cumsum(counted.counts.sum(axis=1))])
    n_cells = np.searchsorted(counted.cells, cells, side="right")
    return np.concatenate([[0], totals[n_cells]])


def _largest_difference(a: IntVector, b: IntVector, n_a: int, n_b: int) -> float:
    """Return the largest difference of a / n_a and b / n_b, divided once where that is possible."""
    if n_a * n_b < _LARGEST:
        return int(np.max(np.abs(a * n_b - b * n_a))) / (n_a * n_b)
    return float(np.max(np.abs(a / n_a - b / n_b)))

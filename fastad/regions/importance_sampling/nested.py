"""Which of many nested regions a mixture is fitted to, and the data in them."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fastad._core.types import FloatMatrix, FloatVector
from fastad.regions.importance_sampling.weights import RefusedError
from fastad.regions.scores import Cube

# Distinct points that a centre and a width can be estimated from.
FEWEST_POINTS = 5
# Regions that a part of the mixture is fitted to: usual number, and limit where sizes of two differ
# by more than _WIDEST_GAP. More leave fewer points to each: with eight for twelve rates of
# a detector (5, 10 and 20 features) a run took three times as long as with three, its largest error
# was larger, and it was refused more often.
_REGIONS, _MOST_REGIONS = 3, 8
_WIDEST_GAP = 6.0
# Regions that these are chosen from.
_CANDIDATES = 64
_TINY = 1e-300


def points_below(
    cube: Cube, thresholds: Sequence[float], data: FloatMatrix
) -> dict[float, FloatMatrix]:
    """Return the distinct data below some of the thresholds, the lowest and the highest among them.

    Those between are spread evenly, with more of them where the data below differ much in size.
    """
    scores = cube.scores(data) if data.shape[1] else np.empty(0)
    rising = sorted(set(thresholds))
    indices = np.linspace(0, len(rising) - 1, min(len(rising), _CANDIDATES)).round().astype(int)
    inside = {rising[k]: data[:, scores < rising[k]] for k in indices.tolist()}
    _check_points(rising[0], inside[rising[0]], data.shape[1])
    # Logarithms of volumes, up to a constant, from the spread of the points; made to rise.
    spreads = [np.maximum(points.std(axis=1), _TINY) for points in inside.values()]
    sizes = np.maximum.accumulate([math.fsum(np.log(spread)) for spread in spreads])
    candidates = list(inside)
    chosen = {
        threshold: np.unique(inside[threshold], axis=1)
        for threshold in (candidates[k] for k in _spread(sizes))
    }
    for threshold, points in chosen.items():
        _check_points(threshold, points, data.shape[1])
    return chosen


def _spread(sizes: FloatVector) -> list[int]:
    """Return indices of rising sizes: evenly spaced ones, and more of them in wide gaps."""
    n = len(sizes)
    kept = sorted(set(np.linspace(0, n - 1, min(n, _REGIONS)).round().astype(int).tolist()))
    while len(kept) < min(n, _MOST_REGIONS):
        gap, low, high = max((sizes[j] - sizes[i], i, j) for i, j in pairwise(kept) if j > i + 1)
        if gap <= _WIDEST_GAP:
            break
        between = np.abs(sizes[low + 1 : high] - (sizes[low] + sizes[high]) / 2)
        kept = sorted([*kept, low + 1 + int(between.argmin())])
    return kept


def _check_points(threshold: float, points: FloatMatrix, n_data: int) -> None:
    """Refuse a region with too few distinct data."""
    if (n_points := np.unique(points, axis=1).shape[1]) < FEWEST_POINTS:
        raise RefusedError(
            f"data must contain at least {FEWEST_POINTS} distinct samples with scores below "
            f"{threshold} for method='importance'; found {n_points} among {n_data} "
            "samples of the box: give more data, or use method='splitting'",
            why="too few of the data lie in the region",
            numbers=f"{n_points} of at least {FEWEST_POINTS} distinct samples",
            argument="data",
        )

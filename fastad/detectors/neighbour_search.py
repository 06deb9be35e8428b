"""Training points laid out for the search of their nearest ones, and that search, in order."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_readonly
from fastad._core.types import FloatMatrix, IntMatrix
from fastad._kernels.detectors.neighbour_tree import Tree
from fastad._kernels.detectors.neighbours import nearest_in_tree, nearest_of_all

# Points of a leaf: 16 and 32 take the same time, 8 and 64 a tenth more (d = 5, 2 000 points).
_LEAF = 32
# Leaves whose distances from a point are computed together: 64 and 128 take the same time.
_GROUP = 64
# Keys of the search have 16 bits for the number of a group, and 16 for a leaf in it.
_MOST_GROUPS = 2**16
# Floats in one register of the widest processors.
_LANES = 8

# For uniform points the 51 nearest are found faster in a tree from about 1 000 rows a feature on;
# with more features than these it leaves out too little to pay at any number of rows.
_ROWS_A_FEATURE, _MOST_FEATURES = 1000, 10
# Training points of a tile, points compared with it together, points with neighbours at once.
_TILE, _TOGETHER, _POINTS = 256, 32, 256
# Sums of squares at once, so that many training points take no more memory.
_MOST_SUMS = 2**20


class Search:
    """The k nearest of some training points, in Euclidean distance: in order, tied ones by row."""

    def __init__(self, training: FloatMatrix, k: int) -> None:
        n_train, d = training.shape
        self._k, self._n_train, self._tiles = k, n_train, _tiles(training)
        in_tree = d <= _MOST_FEATURES and n_train > _ROWS_A_FEATURE * d
        self._tree = build_tree(training) if in_tree else None

    def of(self, points: FloatMatrix) -> Iterator[tuple[int, FloatMatrix, IntMatrix]]:
        """Yield distances and rows of the neighbours of some points, and which is the first.

        The points, of shape (n_features, n_points), are read-only.
        """
        n_points = points.shape[1]
        size = min(_POINTS, n_points)
        distances, rows = np.empty((size, self._k)), np.empty((size, self._k), np.int64)
        for first in range(0, n_points, _POINTS):
            m = min(_POINTS, n_points - first)
            self.find(points, first, distances[:m], rows[:m])
            yield first, distances[:m], rows[:m]

    def find(
        self, points: FloatMatrix, first: int, distances: FloatMatrix, rows: IntMatrix
    ) -> None:
        """Write distances and rows of the neighbours of points from the first on, in order."""
        n_sums = self._tiles.shape[0] * self._tiles.shape[2]
        if self._tree is None or distances.shape[1] == self._n_train:
            together = max(min(_TOGETHER, _MOST_SUMS // n_sums), 1)
            sums = np.empty((together, n_sums))
            nearest_of_all(self._tiles, points, first, sums, distances, rows)
        else:
            sums = np.empty((1, n_sums))
            nearest_in_tree(self._tree, self._tiles, points, first, sums, distances, rows)


def build_tree(training: FloatMatrix) -> Tree:
    """Return a tree whose boxes are halved at the median of their widest coordinate."""
    rows = np.arange(training.shape[0])
    starts = [0, training.shape[0]]
    while training.shape[0] > _LEAF * (len(starts) - 1):
        middles = [(start + stop) // 2 for start, stop in pairwise(starts)]
        for (start, stop), middle in zip(pairwise(starts), middles, strict=True):
            inside = rows[start:stop]
            values = training[inside]
            with np.errstate(over="ignore"):
                widths = np.ptp(values, axis=0)
            if not widths.any():  # duplicates in order, so that the first rows are in few leaves
                rows[start:stop] = np.sort(inside)
                continue
            widest = values[:, widths.argmax()]
            rows[start:stop] = inside[np.argpartition(widest, middle - start)]
        starts = sorted(starts + middles)
    return tree_from_leaves(training, rows, starts)


def tree_from_leaves(training: FloatMatrix, rows: npt.NDArray[Any], starts: Sequence[int]) -> Tree:
    """Return the tree whose leaves hold given rows; their number is a power of two."""
    n_leaves = len(starts) - 1
    size = -(-int(np.diff(starts).max()) // _LANES) * _LANES
    points = np.full((n_leaves, training.shape[1], size), np.inf)
    leaf_rows = np.zeros((n_leaves, size), np.int64)
    low, high = np.empty((2, n_leaves, training.shape[1]))
    first = np.empty(n_leaves, np.int64)
    for leaf, (start, stop) in enumerate(pairwise(starts)):
        inside = rows[start:stop]
        values = training[inside]
        points[leaf, :, : inside.size] = values.T
        leaf_rows[leaf, : inside.size] = inside
        low[leaf], high[leaf] = values.min(axis=0), values.max(axis=0)
        first[leaf] = inside.min()
    upper, lower = _edges(low, high)
    levels, lowest = [np.empty((0, training.shape[1], 4))], [first]
    while len(low) > 1:
        levels.append(np.stack([low[::2], high[::2], low[1::2], high[1::2]], axis=2))
        low, high = np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])
        lowest.append(np.minimum(lowest[-1][::2], lowest[-1][1::2]))
    return Tree(
        set_readonly(np.concatenate(levels[::-1])),
        set_readonly(points),
        set_readonly(leaf_rows),
        set_readonly(np.concatenate(lowest[::-1])),
        set_readonly(upper),
        set_readonly(lower),
    )


def leaves_in_group(n_leaves: int) -> int:
    """Return how many of a power of two of leaves are a group: the number of groups is small."""
    return min(n_leaves, max(_GROUP, n_leaves // _MOST_GROUPS))


def _edges(low: FloatMatrix, high: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the edges of groups of leaves, and of the leaves, as a tree has them."""
    n_leaves, d = low.shape
    in_group = leaves_in_group(n_leaves)
    parts = (n_leaves // in_group, in_group, d)
    low, high = low.reshape(parts), high.reshape(parts)
    upper = np.stack([low.min(axis=1), high.max(axis=1)], axis=1)  # (groups, 2, d)
    lower = np.stack([low, high], axis=1)  # (groups, 2, leaves, d)
    return (
        np.ascontiguousarray(upper.transpose(2, 1, 0)[None]),
        np.ascontiguousarray(lower.transpose(0, 3, 1, 2)),
    )


def _tiles(training: FloatMatrix) -> FloatMatrix:
    """Cut training points into tiles of one size, coordinate by coordinate, filled up with inf."""
    n_train, d = training.shape
    n_tiles = -(-n_train // _TILE)
    size = -(-n_train // (n_tiles * _LANES)) * _LANES
    filled = np.full((n_tiles * size, d), np.inf)
    filled[:n_train] = training
    return set_readonly(np.ascontiguousarray(filled.reshape(n_tiles, size, d).transpose(0, 2, 1)))

"""The k nearest neighbours of points, in a k-d tree or by comparing all training points.

They come in order: by distance, and at the same one by row. The searches differ in which of tied
neighbours at the k-th distance count. `nearest` keeps those that scikit-learn keeps;
`nearest_of_all` and `nearest_in_tree`, which serve every k up to theirs, keep the first rows. In
the tree a second search looks for the first rows at that distance alone, and leaves out the nodes
of later rows: among many duplicates it takes no longer than the first.
"""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, IntVector
from fastad._kernels.detectors.neighbour_tree import LEVELS, SLACK, Tree, first_rows, gather, search

# Neighbours from which on lists are faster than a heap.
_LISTED = 8
# Coordinates of a tile that stay in a core's nearest memory while all points pass by.
_COORDINATES = 16


@kernel
def nearest(
    tree: Tree,
    points: FloatMatrix,  # (d, n)
    first: int,  # of the m points to search for
    p: float,  # 1, 2 or inf
    distances: FloatMatrix,  # (m, k) written here, rising
    rows: IntMatrix,  # (m, k) written here
) -> None:
    """Find the k nearest neighbours of points, in order, in a tree.

    Ties are broken by scikit-learn's order of search (nearer child first, a heap of its layout), so
    that the same tree gives the same neighbours.
    """
    m, k = distances.shape
    d = points.shape[0]
    size = tree.points.shape[2]
    of_position = tree.rows.reshape(-1)
    x = np.empty(d)
    sums = np.empty(size)
    nodes = np.empty(LEVELS, np.int64)
    bounds = np.empty(LEVELS)
    heap = np.empty(k)
    kept = np.empty(k, np.int64)
    groups = np.empty(tree.upper.shape[3], np.int64)
    leaves = np.empty(tree.lower.shape[3], np.int64)
    box_bounds = np.empty(max(groups.shape[0], leaves.shape[0]))
    values = np.empty(k + 2 * SLACK + 2 * size)
    positions = np.empty(values.shape[0], np.int64)
    in_vain = 0
    for i in range(m):
        for j in range(d):
            x[j] = points[j, first + i]
        # The heap alone if most points have tied neighbours.
        if p == 2.0 and k >= _LISTED and 2 * in_vain <= i + 16:
            if gather(tree, x, k, values, positions, sums, box_bounds, groups, leaves) == k:
                for j in range(k):
                    positions[j] = of_position[positions[j]]
                sort(values[:k], positions[:k], distances[i], rows[i])
                take_roots(distances[i])
                continue
            in_vain += 1
        for j in range(k):
            heap[j] = math.inf
            kept[j] = -1 - j
        search(tree, x, p, 0.0, heap, kept, sums, nodes, bounds)
        # Points at an infinite distance are not on the heap: they have no row yet.
        for j in range(k):
            if kept[j] >= 0:
                kept[j] = of_position[kept[j]]
        sort(heap, kept, distances[i], rows[i])
        for j in range(k):
            rows[i, j] = max(rows[i, j], 0)
        if p == 2.0:
            take_roots(distances[i])


@kernel
def nearest_of_all(
    tiles: FloatMatrix,  # (tiles, d, size) the training points in order, filled up with +inf
    points: FloatMatrix,  # (d, n)
    first: int,  # of the m points to search for
    sums: FloatMatrix,  # (some, tiles * size) working memory, for some points at once
    distances: FloatMatrix,  # (m, k) written here, rising
    rows: IntMatrix,  # (m, k) written here
) -> None:
    """Find the k nearest neighbours of points, in order, by comparing all training points."""
    m, k = distances.shape
    values = np.empty(k + k // 4 + 8)
    positions = np.empty(values.shape[0] + 1, np.int64)
    for start in range(0, m, sums.shape[0]):
        stop = min(start + sums.shape[0], m)
        add_squares(tiles, points, first + start, first + stop, sums)
        for i in range(start, stop):
            size = select(sums[i - start], k, values, positions)
            sort(values[:size], positions[:size], distances[i], rows[i])
            take_roots(distances[i])


@kernel
def nearest_in_tree(
    tree: Tree,
    tiles: FloatMatrix,  # as above; these and the others
    points: FloatMatrix,
    first: int,
    sums: FloatMatrix,
    distances: FloatMatrix,
    rows: IntMatrix,
) -> None:
    """Find the k nearest neighbours of points, in order, in a tree of more than k."""
    m, k = distances.shape
    d = points.shape[0]
    size = tree.points.shape[2]
    of_position = tree.rows.reshape(-1)
    x = np.empty(d)
    leaf = np.empty(size)
    nodes = np.empty(LEVELS, np.int64)
    order = np.empty(k)
    groups = np.empty(tree.upper.shape[3], np.int64)
    leaves = np.empty(tree.lower.shape[3], np.int64)
    box_bounds = np.empty(max(groups.shape[0], leaves.shape[0]))
    bounds = np.empty(LEVELS)
    values = np.empty(k + 2 * SLACK + 2 * size)
    positions = np.empty(values.shape[0], np.int64)
    for i in range(m):
        for j in range(d):
            x[j] = points[j, first + i]
        listed = gather(tree, x, k, values, positions, leaf, box_bounds, groups, leaves)
        if listed != k:
            for j in range(k):
                values[j] = math.inf
                positions[j] = 0
            search(tree, x, 2.0, 0.0, values[:k], positions[:k], leaf, nodes, bounds)
            limit = values[0]
            if limit == math.inf:
                row = slice(i, i + 1)
                nearest_of_all(tiles, points, first + i, sums, distances[row], rows[row])
                continue
            listed = 0
            for j in range(k):
                if values[j] < limit:
                    values[listed] = values[j]
                    positions[listed] = positions[j]
                    listed += 1
            values[listed:k] = limit
        for j in range(listed):
            positions[j] = of_position[positions[j]]
        if listed < k:
            # The k-th distance is tied, and the search has kept whichever came first.
            first_rows(tree, x, values[k - 1], order[listed:k], positions[listed:k], leaf, nodes)
        sort(values[:k], positions[:k], distances[i], rows[i])
        take_roots(distances[i])


@kernel
def count_nearer(
    tree: Tree,
    points: FloatMatrix,  # (d, n)
    p: float,
    k: int,
    thresholds: FloatVector,  # rising
    counts: IntVector,  # added to here
) -> None:
    """Count the points with at least k neighbours that are nearer than each of some thresholds.

    A search looks no farther than the highest threshold, and ends below the lowest one.
    """
    d = points.shape[0]
    size = tree.points.shape[2]
    m = thresholds.shape[0]
    limits = np.empty(m)
    for j in range(m):
        limits[j] = limit(thresholds[j], p)
    x = np.empty(d)
    sums = np.empty(size)
    nodes = np.empty(LEVELS, np.int64)
    bounds = np.empty(LEVELS)
    heap = np.empty(k)
    positions = np.empty(k, np.int64)
    below = np.zeros(m + 1, np.int64)
    for i in range(points.shape[1]):
        for j in range(d):
            x[j] = points[j, i]
        for j in range(k):
            heap[j] = limits[m - 1]
        search(tree, x, p, limits[0], heap, positions, sums, nodes, bounds)
        low = 0
        high = m
        while low < high:
            middle = (low + high) // 2
            if heap[0] < limits[middle]:
                high = middle
            else:
                low = middle + 1
        below[low] += 1
    total = 0
    for j in range(m):
        total += below[j]
        counts[j] += total


@kernel
def limit(threshold: float, p: float) -> float:
    """Return the bound that a sum is below exactly if its distance is below the threshold."""
    if p != 2.0 or not threshold > 0.0:
        return threshold
    # The root is rounded: several squares share one. The smallest is some steps from here.
    square = threshold * threshold
    while math.sqrt(square) < threshold:
        square = np.nextafter(square, math.inf)
    below = np.nextafter(square, 0.0)
    while math.sqrt(below) >= threshold:
        square = below
        below = np.nextafter(square, 0.0)
    return square


@kernel
def add_squares(
    tiles: FloatMatrix,  # (tiles, d, size)
    points: FloatMatrix,  # (d, n)
    first: int,  # of some points
    stop: int,
    sums: FloatMatrix,  # (at least stop - first, tiles * size) written here
) -> None:
    """Sum up the squared differences of some points to all training points."""
    n_tiles, d, size = tiles.shape
    for t in range(n_tiles):
        # Not a slice of it, of which compiled code does not know that it has no gaps.
        tile = tiles[t]
        start = t * size
        sums[:, start : start + size] = 0.0
        for j in range(0, d, _COORDINATES):
            for i in range(first, stop):
                part = sums[i - first, start : start + size]
                add_coordinates(tile, points, i, j, min(j + _COORDINATES, d), part)


@kernel
def add_coordinates(
    tile: FloatMatrix,  # (d, size)
    points: FloatMatrix,  # (d, n)
    point: int,
    first: int,  # of some coordinates
    stop: int,
    sums: FloatVector,  # (size,) added to here
) -> None:
    """Add the squared differences of a point in some coordinates, in their order."""
    size = tile.shape[1]
    j = first
    # Four at once, so that a sum is read and written once for them.
    while j + 4 <= stop:
        a = points[j, point]
        b = points[j + 1, point]
        c = points[j + 2, point]
        e = points[j + 3, point]
        for i in range(size):
            total = sums[i]
            gap = tile[j, i] - a
            total += gap * gap
            gap = tile[j + 1, i] - b
            total += gap * gap
            gap = tile[j + 2, i] - c
            total += gap * gap
            gap = tile[j + 3, i] - e
            total += gap * gap
            sums[i] = total
        j += 4
    while j < stop:
        a = points[j, point]
        for i in range(size):
            gap = tile[j, i] - a
            sums[i] += gap * gap
        j += 1


@kernel
def select(
    sums: FloatVector,  # (n,) from 0 on
    k: int,  # at most n
    values: FloatVector,  # (m,) at least k, written here
    positions: IntVector,  # (m + 1,) written here, rising
) -> int:
    """Select the k smallest sums, of equal ones the first, and perhaps some more; return how many.

    The bits of numbers from 0 on rise with them: the bits of the limit are found by bisection, and
    one count of those up to it takes few nanoseconds.
    """
    bits = sums.view(np.int64)
    low = bits[0]
    high = bits[0]
    for i in range(bits.shape[0]):
        low = min(low, bits[i])
        high = max(high, bits[i])
    low -= 1
    below = 0  # counts up to low, and up to high
    within = bits.shape[0]
    while within > values.shape[0] and high - low > 1:
        middle = low + (high - low) // 2
        count = 0
        for i in range(bits.shape[0]):
            count += bits[i] <= middle
        if count < k:
            low = middle
            below = count
        else:
            high = middle
            within = count
    size = 0
    if within <= values.shape[0]:
        for i in range(bits.shape[0]):
            # Without a branch: points that are not selected are overwritten.
            positions[size] = i
            size += bits[i] <= high
    else:
        equal = k - below
        for i in range(bits.shape[0]):
            if bits[i] < high or (bits[i] == high and equal > 0):
                equal -= bits[i] == high
                positions[size] = i
                size += 1
    for i in range(size):
        values[i] = sums[positions[i]]
    return size


@kernel
def sort(
    values: FloatVector,  # (n,)
    positions: IntVector,  # (n,) all different
    distances: FloatVector,  # (k,) written here, at most n
    rows: IntVector,  # (k,) written here
) -> None:
    """Write the k smallest values in order, equal ones by their position.

    By counting the smaller values of each: for some fifty values faster than moving them. Positions
    are compared where values are tied, which the sum of the ranks shows.
    """
    n = values.shape[0]
    total = 0
    for i in range(n):
        value = values[i]
        rank = 0
        for j in range(n):
            rank += values[j] < value
        total += rank
        if rank < distances.shape[0]:
            distances[rank] = value
            rows[rank] = positions[i]
    if 2 * total == n * (n - 1):
        return
    for i in range(n):
        value = values[i]
        position = positions[i]
        rank = 0
        for j in range(n):
            rank += (values[j] < value) | ((values[j] == value) & (positions[j] < position))
        if rank < distances.shape[0]:
            distances[rank] = value
            rows[rank] = position


@kernel
def take_roots(squares: FloatVector) -> None:
    """Replace squares by their roots."""
    for i in range(squares.shape[0]):
        squares[i] = math.sqrt(squares[i])

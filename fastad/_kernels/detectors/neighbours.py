"""The k nearest neighbours of points, in a k-d tree or by comparing all training points.

Distances are compared before the last step, for p = 2 as sums of squares: a box never seems farther
away than a point in it, because both are sums over the coordinates in the same order, of rounded
terms of which none is larger. What a search leaves out is therefore no nearer, to the last bit, and
all searches find the same distances.

They differ in the order of the neighbours. `nearest` serves one k: it leaves them on the heap, and
of tied ones keeps those that scikit-learn keeps. `nearest_of_all` and `nearest_in_tree` serve every
k up to theirs: they sort by distance, and at the same one by row. Where the last place is tied, a
second search of the tree looks for the first rows at that distance alone, and leaves out the nodes
of later rows: among many duplicates it takes no longer than the first.
"""

import math
from typing import NamedTuple

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, IntVector

# Nodes that wait in a search: the tree is complete, so that their number is that of its levels.
_LEVELS = 64
# Coordinates of a tile that stay in a core's nearest memory while all points pass by.
_COORDINATES = 16


class Tree(NamedTuple):
    """A complete k-d tree: node i has the children 2 i + 1 and 2 i + 2, the leaves come last."""

    boxes: FloatMatrix  # (inner nodes, d, 4) lowest and highest of one child, then of the other
    points: FloatMatrix  # (leaves, d, m) coordinate by coordinate; leaves are filled up with +inf
    rows: IntMatrix  # (leaves, m) of the training data
    lowest: IntVector  # (nodes,) the lowest row of each


@kernel
def nearest(
    tree: Tree,
    points: FloatMatrix,  # (d, n)
    first: int,  # of the m points to search for
    p: float,  # 1, 2 or inf
    distances: FloatMatrix,  # (m, k) written here: the k-th neighbour first, then in any order
    rows: IntMatrix,  # (m, k) written here
) -> None:
    """Find the k nearest neighbours of points in a tree, not in order.

    Of neighbours at the same distance those that come first stay. The order is that of
    scikit-learn's search (nearer child first, a heap of its layout), so that the same tree gives
    the same neighbours.
    """
    d = points.shape[0]
    size = tree.points.shape[2]
    k = distances.shape[1]
    x = np.empty(d)
    sums = np.empty(size)
    nodes = np.empty(_LEVELS, np.int64)
    bounds = np.empty(_LEVELS)
    heap = np.empty(k)
    positions = np.empty(k, np.int64)
    for i in range(distances.shape[0]):
        for j in range(d):
            x[j] = points[j, first + i]
        for j in range(k):
            heap[j] = math.inf
            positions[j] = 0
        search(tree, x, p, 0.0, heap, positions, sums, nodes, bounds)
        for j in range(k):
            distances[i, j] = math.sqrt(heap[j]) if p == 2.0 else heap[j]
            rows[i, j] = tree.rows[positions[j] // size, positions[j] % size]


@kernel
def nearest_of_all(
    tiles: FloatMatrix,  # (tiles, d, size) the training points in order, filled up with +inf
    points: FloatMatrix,  # (d, n)
    first: int,  # of the m points to search for
    sums: FloatMatrix,  # (some, tiles * size) working memory, for so many points at once
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
    x = np.empty(d)
    leaf = np.empty(size)
    nodes = np.empty(_LEVELS, np.int64)
    bounds = np.empty(_LEVELS)
    heap = np.empty(k + 1)
    order = np.empty(k)
    # What is infinitely far is not put on the heap, and its position stays what it was.
    positions = np.zeros(k + 1, np.int64)
    for i in range(m):
        for j in range(d):
            x[j] = points[j, first + i]
        heap[:] = math.inf
        search(tree, x, 2.0, 0.0, heap, positions, leaf, nodes, bounds)
        last = max(heap[1], heap[2]) if k > 1 else heap[1]
        if heap[0] == math.inf:
            nearest_of_all(tiles, points, first + i, sums, distances[i : i + 1], rows[i : i + 1])
            continue
        limit = heap[0]
        for j in range(k + 1):
            positions[j] = tree.rows[positions[j] // size, positions[j] % size]
        if last < limit:
            sort(heap, positions, distances[i], rows[i])
            continue
        # The k-th distance is tied, and the search has kept whichever came first.
        nearer = 0
        for j in range(k + 1):
            if heap[j] < limit:
                heap[nearer] = heap[j]
                positions[nearer] = positions[j]
                nearer += 1
        heap[nearer:] = limit
        first_rows(tree, x, limit, order[nearer:k], positions[nearer:k], leaf, nodes)
        sort(heap[:k], positions[:k], distances[i], rows[i])


@kernel
def first_rows(
    tree: Tree,
    x: FloatVector,
    square: float,  # of a distance, at which there are at least as many rows
    order: FloatVector,  # (m,) working memory
    rows: IntVector,  # (m,) written here, in any order
    sums: FloatVector,
    nodes: IntVector,
) -> None:
    """Find the first rows at a distance, the nodes of lower rows first."""
    boxes = tree.boxes
    points = tree.points
    n_inner = boxes.shape[0]
    d = x.shape[0]
    size = sums.shape[0]
    order[:] = math.inf
    nodes[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = nodes[waiting]
        if not tree.lowest[node] < order[0]:
            continue
        if node < n_inner:
            left = 0.0
            right = 0.0
            for j in range(d):
                a = outside(boxes[node, j, 0], boxes[node, j, 1], x[j])
                b = outside(boxes[node, j, 2], boxes[node, j, 3], x[j])
                left += a * a
                right += b * b
            later = 2 * node + 1
            sooner = later + 1
            if tree.lowest[later] < tree.lowest[sooner]:
                sooner, later = later, sooner
                left, right = right, left
            # The last one on the list is looked at next.
            if left <= square:
                nodes[waiting] = later
                waiting += 1
            if right <= square:
                nodes[waiting] = sooner
                waiting += 1
            continue
        leaf = node - n_inner
        sums[:] = 0.0
        for j in range(d):
            for i in range(size):
                gap = points[leaf, j, i] - x[j]
                sums[i] += gap * gap
        for i in range(size):
            row = tree.rows[leaf, i]
            if sums[i] == square and row < order[0]:
                replace(order, rows, float(row), row)


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
    nodes = np.empty(_LEVELS, np.int64)
    bounds = np.empty(_LEVELS)
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
    """Return what a sum is below exactly if its distance is below the threshold."""
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
def search(
    tree: Tree,
    x: FloatVector,
    p: float,
    enough: float,  # end when the largest on the heap is below
    heap: FloatVector,  # (k,) the largest first; what is as large or larger is not looked for
    positions: IntVector,  # (k,) in the leaves, of what is on the heap
    sums: FloatVector,
    nodes: IntVector,
    bounds: FloatVector,
) -> None:
    """Put the nearest points of a tree on a heap."""
    boxes = tree.boxes
    points = tree.points
    n_inner = boxes.shape[0]
    d = x.shape[0]
    size = sums.shape[0]
    nodes[0] = 0
    bounds[0] = 0.0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = nodes[waiting]
        bound = bounds[waiting]
        while node < n_inner and bound < heap[0]:
            left = 0.0
            right = 0.0
            for j in range(d):
                a = outside(boxes[node, j, 0], boxes[node, j, 1], x[j])
                b = outside(boxes[node, j, 2], boxes[node, j, 3], x[j])
                if p == 2.0:
                    left += a * a
                    right += b * b
                elif p == 1.0:
                    left += a
                    right += b
                else:
                    left = max(left, a)
                    right = max(right, b)
            far = 2 * node + 1
            node = far + 1
            bound = right
            other = left
            if left <= right:
                node, far = far, node
                bound, other = other, bound
            if other < heap[0]:
                nodes[waiting] = far
                bounds[waiting] = other
                waiting += 1
        if not bound < heap[0]:
            continue
        leaf = node - n_inner
        # In a kernel of its own this takes a tenth longer.
        for i in range(size):
            sums[i] = 0.0
        for j in range(d):
            value = x[j]
            if p == 2.0:
                for i in range(size):
                    gap = points[leaf, j, i] - value
                    sums[i] += gap * gap
            elif p == 1.0:
                for i in range(size):
                    sums[i] += abs(points[leaf, j, i] - value)
            else:
                for i in range(size):
                    gap = abs(points[leaf, j, i] - value)
                    sums[i] = gap if gap > sums[i] else sums[i]
        # Most leaves that are looked at hold nothing: one pass without branches saves a tenth.
        largest = heap[0]
        hits = 0
        for i in range(size):
            hits += sums[i] < largest
        if hits == 0:
            continue
        for i in range(size):
            if sums[i] < heap[0]:
                replace(heap, positions, sums[i], leaf * size + i)
        if heap[0] < enough:
            return


@kernel
def outside(low: float, high: float, value: float) -> float:
    """Return how far a value lies outside of a range."""
    # Not by max(), which compiles to a test for NaN.
    gap = low - value
    other = value - high
    gap = gap if gap > other else other
    return gap if gap > 0.0 else 0.0


@kernel
def replace(heap: FloatVector, positions: IntVector, value: float, position: int) -> None:
    """Put a smaller value on a heap in place of the largest one."""
    k = heap.shape[0]
    i = 0
    child = 1
    while child < k:
        if child + 1 < k and heap[child + 1] > heap[child]:
            child += 1
        if not value < heap[child]:
            break
        heap[i] = heap[child]
        positions[i] = positions[child]
        i = child
        child = 2 * i + 1
    heap[i] = value
    positions[i] = position


@kernel
def add_squares(
    tiles: FloatMatrix,  # (tiles, d, size)
    points: FloatMatrix,  # (d, n)
    first: int,  # of some points
    stop: int,
    sums: FloatMatrix,  # (at least so many, tiles * size) written here
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
            # Without a branch: what is not selected is overwritten.
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
    """Write the roots of the k smallest values in order, equal ones by their position.

    By counting what comes before each: for some fifty values faster than moving them.
    """
    for i in range(values.shape[0]):
        value = values[i]
        position = positions[i]
        rank = 0
        for j in range(values.shape[0]):
            rank += (values[j] < value) | ((values[j] == value) & (positions[j] < position))
        if rank < distances.shape[0]:
            distances[rank] = math.sqrt(value)
            rows[rank] = position

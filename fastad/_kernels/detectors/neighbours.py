"""Nearest neighbours of points in a k-d tree, and scores that follow from them.

Distances are compared before the last step, for p = 2 as sums of squares: a box never seems
farther away than a point in it, because both are sums in the same order of rounded terms of which
none is larger. What is left out is therefore no nearer, to the last bit.
"""

import math
from typing import NamedTuple

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, IntVector

# Nodes that wait: the tree is complete, so that their number is that of its levels.
_LEVELS = 64


class Tree(NamedTuple):
    """A complete k-d tree: node i has the children 2 i + 1 and 2 i + 2, the leaves come last."""

    boxes: FloatMatrix  # (inner nodes, d, 4) lowest and highest of one child, then of the other
    points: FloatMatrix  # (leaves, d, m) coordinate by coordinate; leaves are filled up with +inf
    rows: IntMatrix  # (leaves, m) of the training data


@kernel
def nearest(
    tree: Tree,
    points: FloatMatrix,  # (d, n)
    first: int,  # of the m points that are asked for
    p: float,  # 1, 2 or inf
    distances: FloatMatrix,  # (m, k) written here: the k-th neighbour first, then in any order
    rows: IntMatrix,  # (m, k) written here
) -> None:
    """Find the k nearest neighbours of points.

    Of neighbours at the same distance those stay that come first. The order is that of
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
    places = np.empty(k, np.int64)
    for i in range(distances.shape[0]):
        for j in range(d):
            x[j] = points[j, first + i]
        for j in range(k):
            heap[j] = math.inf
            places[j] = 0
        search(tree, x, p, 0.0, heap, places, sums, nodes, bounds)
        for j in range(k):
            distances[i, j] = math.sqrt(heap[j]) if p == 2.0 else heap[j]
            rows[i, j] = tree.rows[places[j] // size, places[j] % size]


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
    places = np.empty(k, np.int64)
    below = np.zeros(m + 1, np.int64)
    for i in range(points.shape[1]):
        for j in range(d):
            x[j] = points[j, i]
        for j in range(k):
            heap[j] = limits[m - 1]
        search(tree, x, p, limits[0], heap, places, sums, nodes, bounds)
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
    places: IntVector,  # (k,) in the leaves, of what is on the heap
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
                replace(heap, places, sums[i], leaf * size + i)
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
def replace(heap: FloatVector, places: IntVector, value: float, place: int) -> None:
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
        places[i] = places[child]
        i = child
        child = 2 * i + 1
    heap[i] = value
    places[i] = place


@kernel
def length_of_mean(
    training: FloatMatrix,  # (rows, d)
    points: FloatMatrix,  # (d, n)
    first: int,  # of the m points that are asked for
    rows: IntMatrix,  # (m, k)
    lengths: FloatVector,  # (m,) written here
) -> None:
    """Write the length of the mean of the vectors from a point to its neighbours."""
    k = rows.shape[1]
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(points.shape[0]):
            part = 0.0
            for neighbour in range(k):
                part += training[rows[i, neighbour], j] - points[j, first + i]
            part /= k
            total += part * part
        lengths[i] = math.sqrt(total)


@kernel
def local_outlier_factor(
    distances: FloatMatrix,  # (n, k)
    rows: IntMatrix,  # (n, k)
    reaches: FloatVector,  # of the training data: distance to the k-th neighbour
    densities: FloatVector,  # of the training data: local reachability density
    factors: FloatVector,  # (n,) written here
) -> None:
    """Write the mean density of the neighbours by that of a point."""
    k = rows.shape[1]
    for i in range(rows.shape[0]):
        reach = 0.0
        density = 0.0
        for j in range(k):
            row = rows[i, j]
            reach += max(distances[i, j], reaches[row])
            density += densities[row]
        # As in scikit-learn, which keeps densities finite among more than k duplicates so.
        factors[i] = density / k * (reach / k + 1e-10)

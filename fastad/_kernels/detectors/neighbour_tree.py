"""Search of a k-d tree: by a heap of the nearest points, or by lists of nearer ones.

Distances are compared before the last step, for p = 2 as sums of squares: a box never seems farther
away than a point in it, because both are sums over the coordinates in the same order, of rounded
terms of which none is larger. Points that a search leaves out are therefore no nearer, to the last
bit, and all searches find the same distances.
"""

import math
from typing import NamedTuple

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, IntVector

# Nodes that wait in a search, at most: the levels of the tree, which is complete.
LEVELS = 64
# Points that a list may hold beyond the k nearest before it is shortened, and thereafter.
SLACK = 8
_LARGEST = float(np.finfo(np.float64).max)
# Digits of a bound that its box's number takes in a key; no key of a box is as large as the last.
_NUMBER = np.int64(0xFFFF)
_NO_KEY = np.int64(0x7FFFFFFFFFFFFFFF)


class Tree(NamedTuple):
    """A complete k-d tree: node i has the children 2 i + 1 and 2 i + 2, the leaves come last."""

    boxes: FloatMatrix  # (inner nodes, d, 4) lowest and highest of one child, then of the other
    points: FloatMatrix  # (leaves, d, m) coordinate by coordinate; leaves are filled up with +inf
    rows: IntMatrix  # (leaves, m) of the training data
    lowest: IntVector  # (nodes,) the lowest row of each
    # Lowest and highest of groups of leaves (1, d, 2, groups), and of the leaves of each
    # (groups, d, 2, leaves).
    upper: FloatMatrix
    lower: FloatMatrix


@kernel
def search(
    tree: Tree,
    x: FloatVector,
    p: float,
    enough: float,  # end when the largest on the heap is below
    heap: FloatVector,  # (k,) the largest first; as large or larger values are not searched
    positions: IntVector,  # (k,) in the leaves, of the points on the heap
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
def first_rows(
    tree: Tree,
    x: FloatVector,
    square: float,  # of a distance that at least m rows have
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
def gather(
    tree: Tree,
    x: FloatVector,
    k: int,
    values: FloatVector,  # (at least k + 2 * SLACK + 2 * leaf,) sums of squares, written here
    positions: IntVector,  # likewise: in the leaves
    sums: FloatVector,
    bounds: FloatVector,  # (groups or leaves of one, whichever are more,)
    groups: IntVector,  # working memory, for as many keys as bounds
    leaves: IntVector,
) -> int:
    """List the k nearest points of a tree, in Euclidean distance; return how many.

    Others than k where the k-th distance is tied or beyond all numbers. Bounds of many boxes at
    once take a vector instruction each; nodes of the tree one by one took most of a search. A list
    that is shortened now and then takes less time than a heap from about eight neighbours on.
    """
    points = tree.points
    size = sums.shape[0]
    whole = x.shape[0] - x.shape[0] % 3
    values[:] = math.inf
    listed = 0
    limit = _LARGEST
    limit_key = np.float64(_LARGEST).view(np.int64)
    write_keys(tree.upper[0], x, bounds, groups)
    while True:
        key = lowest_key(groups)
        if key & ~_NUMBER > limit_key:
            break
        group = key & _NUMBER
        groups[group] = _NO_KEY
        write_keys(tree.lower[group], x, bounds, leaves)
        while True:
            key = lowest_key(leaves)
            if key & ~_NUMBER > limit_key:
                break
            number = key & _NUMBER
            leaves[number] = _NO_KEY
            leaf = group * leaves.shape[0] + number
            sums[:] = 0.0
            # Three at once: the sums are read and written a third as often.
            for j in range(0, whole, 3):
                first, second, third = x[j], x[j + 1], x[j + 2]
                for i in range(size):
                    gap = points[leaf, j, i] - first
                    total = sums[i] + gap * gap
                    gap = points[leaf, j + 1, i] - second
                    total += gap * gap
                    gap = points[leaf, j + 2, i] - third
                    sums[i] = total + gap * gap
            for j in range(whole, x.shape[0]):
                value = x[j]
                for i in range(size):
                    gap = points[leaf, j, i] - value
                    sums[i] += gap * gap
            hits = 0
            for i in range(size):
                hits += sums[i] <= limit
            if hits == 0:
                continue
            # Without a branch: farther points are overwritten.
            for i in range(size):
                values[listed] = sums[i]
                positions[listed] = leaf * size + i
                listed += sums[i] <= limit
            values[listed] = math.inf
            if listed >= k + 2 * SLACK:
                listed = shorten(values, positions, listed, k, SLACK)
                if listed > k + 2 * SLACK:
                    return listed  # most are tied
                limit = 0.0
                for i in range(listed):
                    limit = max(limit, values[i])
                limit_key = np.float64(limit).view(np.int64)
    return shorten(values, positions, listed, k, 0)


@kernel
def write_keys(
    edges: FloatMatrix,  # (d, 2, n) lowest and highest of boxes
    x: FloatVector,
    bounds: FloatVector,  # (at least n,) working memory
    keys: IntVector,  # (n,) written here
) -> None:
    """Write how far boxes are as integers that rise with it, but for the last digits.

    These are the number of the box, so that the lowest key says which box is nearest.
    """
    n = keys.shape[0]
    for i in range(n):
        bounds[i] = 0.0
    for j in range(x.shape[0]):
        value = x[j]
        for i in range(n):
            gap = outside(edges[j, 0, i], edges[j, 1, i], value)
            bounds[i] += gap * gap
    bits = bounds.view(np.int64)
    for i in range(n):
        keys[i] = (bits[i] & ~_NUMBER) | i


@kernel
def lowest_key(keys: IntVector) -> int:
    """Return the lowest key."""
    lowest = int(_NO_KEY)
    for i in range(keys.shape[0]):
        lowest = min(lowest, keys[i])
    return lowest


@kernel
def shorten(
    values: FloatVector,  # from 0 on, inf behind those listed
    positions: IntVector,
    size: int,  # of the list
    k: int,
    slack: int,
) -> int:
    """Leave the k lowest values and at most some more, but for tied ones; return how many."""
    bits = values.view(np.int64)
    low = bits[0]
    high = bits[0]
    for i in range(size):
        low = min(low, bits[i])
        high = max(high, bits[i])
    low -= 1
    # Whole vectors: the values behind the list are below no limit.
    n = min((size + 15) // 16 * 16, bits.shape[0])
    within = size
    while within > k + slack and high - low > 1:
        middle = low + (high - low) // 2
        count = 0
        for i in range(n):
            count += bits[i] <= middle
        if count < k:
            low = middle
        else:
            high = middle
            within = count
    left = 0
    for i in range(size):
        value = bits[i]
        position = positions[i]
        bits[left] = value
        positions[left] = position
        left += value <= high
    for i in range(left, size):
        values[i] = math.inf
    return left

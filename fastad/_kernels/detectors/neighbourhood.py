"""The k nearest neighbours in order, and the scores of many rules that follow from them.

Neighbours stand by their squared distance, and at the same one by their row. Squares are sums over
the coordinates in their order, by whichever way a neighbour is found: both ways find the same ones,
to the last bit.
"""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, IntVector
from fastad._kernels.detectors.neighbours import Tree, search

# Nodes that wait in a search: the tree is complete, so that their number is that of its levels.
_LEVELS = 64
# Coordinates of a tile that stay in a core's nearest memory while all points pass by.
_COORDINATES = 16


@kernel
def nearest_of_all(
    tiles: FloatMatrix,  # (tiles, d, size) the training points in order, filled up with +inf
    points: FloatMatrix,  # (d, n)
    first: int,  # of the m points that are asked for
    sums: FloatMatrix,  # (some, tiles * size) scratch, for so many points at once
    squares: FloatMatrix,  # (m, k) written here, rising
    rows: IntMatrix,  # (m, k) written here
) -> None:
    """Find the k nearest neighbours of points among all."""
    m, k = squares.shape
    values = np.empty(k + k // 4 + 8)
    places = np.empty(values.shape[0] + 1, np.int64)
    for start in range(0, m, sums.shape[0]):
        stop = min(start + sums.shape[0], m)
        add_squares(tiles, points, first + start, first + stop, sums)
        for i in range(start, stop):
            found = select(sums[i - start], k, values, places)
            sort(values[:found], places[:found], squares[i], rows[i])


@kernel
def nearest_in_tree(
    tree: Tree,
    tiles: FloatMatrix,  # as above
    points: FloatMatrix,
    first: int,
    sums: FloatMatrix,
    squares: FloatMatrix,
    rows: IntMatrix,
) -> None:
    """Find the k nearest neighbours of points, of more than k, in a tree."""
    m, k = squares.shape
    d = points.shape[0]
    size = tree.points.shape[2]
    x = np.empty(d)
    leaf = np.empty(size)
    nodes = np.empty(_LEVELS, np.int64)
    bounds = np.empty(_LEVELS)
    heap = np.empty(k + 1)
    # What is infinitely far is not put on the heap, so that its place is what it was.
    places = np.zeros(k + 1, np.int64)
    for i in range(m):
        for j in range(d):
            x[j] = points[j, first + i]
        heap[:] = math.inf
        search(tree, x, 2.0, 0.0, heap, places, leaf, nodes, bounds)
        last = max(heap[1], heap[2]) if k > 1 else heap[1]
        if last < heap[0]:
            for j in range(k + 1):
                places[j] = tree.rows[places[j] // size, places[j] % size]
            sort(heap, places, squares[i], rows[i])
        else:
            # The last place is tied, and the search has taken whichever came first.
            nearest_of_all(tiles, points, first + i, sums, squares[i : i + 1], rows[i : i + 1])


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
    for number in range(n_tiles):
        # Not a slice of it, of which compiled code does not know that it has no gaps.
        tile = tiles[number]
        start = number * size
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
    places: IntVector,  # (m + 1,) written here, rising
) -> int:
    """Take out the k smallest sums, the first ones of equal ones, and perhaps some more.

    Returns how many. The bits of numbers from 0 on rise with them: that of a limit is found by
    halving, and one count of those up to it takes few nanoseconds.
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
    found = 0
    if within <= values.shape[0]:
        for i in range(bits.shape[0]):
            # Without a branch: what is not taken is written over.
            places[found] = i
            found += bits[i] <= high
    else:
        equal = k - below
        for i in range(bits.shape[0]):
            if bits[i] < high or (bits[i] == high and equal > 0):
                equal -= bits[i] == high
                places[found] = i
                found += 1
    for i in range(found):
        values[i] = sums[places[i]]
    return found


@kernel
def sort(
    values: FloatVector,  # (n,)
    places: IntVector,  # (n,) all different
    squares: FloatVector,  # (k,) written here, at most n
    rows: IntVector,  # (k,) written here
) -> None:
    """Write the k smallest values in order, equal ones by their place.

    By counting what comes before each: for some fifty values faster than any order of moves.
    """
    for i in range(values.shape[0]):
        value = values[i]
        place = places[i]
        rank = 0
        for j in range(values.shape[0]):
            rank += (values[j] < value) | ((values[j] == value) & (places[j] < place))
        if rank < squares.shape[0]:
            squares[rank] = value
            rows[rank] = place


@kernel
def write_distances(
    squares: FloatMatrix,  # (m, K) of the neighbours in order
    ks: IntVector,  # rising, up to K
    slots: IntVector,  # where the score of each of them goes
    scores: FloatMatrix,  # (m, rules) written here
) -> None:
    """Write the distances to the k-th neighbours."""
    for i in range(squares.shape[0]):
        for rule in range(ks.shape[0]):
            scores[i, slots[rule]] = math.sqrt(squares[i, ks[rule] - 1])


@kernel
def write_means(
    squares: FloatMatrix,  # these and the others as above
    ks: IntVector,
    slots: IntVector,
    scores: FloatMatrix,
) -> None:
    """Write the means of the distances to the k neighbours."""
    for i in range(squares.shape[0]):
        total = 0.0
        done = 0
        for rule in range(ks.shape[0]):
            while done < ks[rule]:
                total += math.sqrt(squares[i, done])
                done += 1
            scores[i, slots[rule]] = total / done


@kernel
def write_lengths(
    training: FloatMatrix,  # (n_train, d)
    points: FloatMatrix,  # (d, n)
    first: int,  # of the m points
    rows: IntMatrix,  # (m, K) of the neighbours in order
    ks: IntVector,
    slots: IntVector,
    scores: FloatMatrix,
) -> None:
    """Write the lengths of the means of the vectors to the k neighbours."""
    d = points.shape[0]
    x = np.empty(d)
    total = np.empty(d)
    for i in range(rows.shape[0]):
        for j in range(d):
            x[j] = points[j, first + i]
            total[j] = 0.0
        done = 0
        for rule in range(ks.shape[0]):
            while done < ks[rule]:
                row = rows[i, done]
                for j in range(d):
                    total[j] += training[row, j] - x[j]
                done += 1
            square = 0.0
            for j in range(d):
                part = total[j] / done
                square += part * part
            scores[i, slots[rule]] = math.sqrt(square)


@kernel
def write_factors(
    squares: FloatMatrix,
    rows: IntMatrix,
    reaches: FloatMatrix,  # (rules of this kind, n_train) distances to the k-th neighbours
    densities: FloatMatrix,  # likewise: local reachability densities
    ks: IntVector,
    slots: IntVector,
    scores: FloatMatrix,
) -> None:
    """Write the mean densities of the k neighbours by that of a point."""
    for i in range(squares.shape[0]):
        for rule in range(ks.shape[0]):
            k = ks[rule]
            reach = 0.0
            density = 0.0
            for j in range(k):
                row = rows[i, j]
                reach += max(math.sqrt(squares[i, j]), reaches[rule, row])
                density += densities[rule, row]
            # As in scikit-learn, which keeps densities finite among more than k duplicates so.
            scores[i, slots[rule]] = density / k * (reach / k + 1e-10)

"""Cells of a box, cut until the sum of a forest's leaf values is precise enough in each.

Along each feature the cuts of all trees divide the box into intervals, which are numbered; a cell
is a range of intervals for each feature. A search is depth first, on a stack that outlasts the
call: it goes on where it was left.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.sums import add

IndexVector: TypeAlias = npt.NDArray[np.int32]
IndexMatrix: TypeAlias = npt.NDArray[np.int32]


class Nodes(NamedTuple):
    """Trees, all their nodes in one row, each before its children."""

    links: IndexMatrix  # (m, 4) feature, first interval to the right, left child, right child
    bounds: FloatMatrix  # (m, 2) smallest and largest value of the leaves below
    roots: IndexVector  # (t,)


class Grid(NamedTuple):
    """Intervals of all features."""

    edges: FloatVector  # (e,) of the first feature, then of the second, and so on
    firsts: IntVector  # (d + 1,) where the edges of each feature begin
    widths: FloatVector  # (d,) from the first to the last edge


class Stack(NamedTuple):
    """Cells that wait, each with the trees that differ inside the cell that it was cut from."""

    lows: IndexMatrix  # (c, d) first interval
    highs: IndexMatrix  # (c, d) behind the last
    starts: IntVector  # (c,) where its trees begin in ``open_nodes``
    sizes: IntVector  # (c,) how many those are
    bases: FloatVector  # (c,) sum of the values of all others
    open_nodes: IndexVector  # (n,) for each such tree a node below which all of the cell lies


class State(NamedTuple):
    """State of a search."""

    counts: IntVector  # (3,) cells on the stack, cells looked at, nodes looked at
    sums: FloatMatrix  # (2, k) fraction of the box in each class, and its rounding error


@kernel
def bound(
    links: IndexMatrix,  # (m, 4) as in `Nodes`; the feature is -1 at a leaf
    bounds: FloatMatrix,  # (m, 2) of the leaves; of the others written here
) -> int:
    """Find the bounds of all nodes from the leaves' bounds; return the height of the trees."""
    heights = np.zeros(links.shape[0], np.int32)
    highest = 0
    for i in range(links.shape[0] - 1, -1, -1):
        if links[i, 0] >= 0:
            left, right = links[i, 2], links[i, 3]
            bounds[i, 0] = min(bounds[left, 0], bounds[right, 0])
            bounds[i, 1] = max(bounds[left, 1], bounds[right, 1])
            heights[i] = 1 + max(heights[left], heights[right])
            highest = max(highest, heights[i])
    return highest


@kernel
def search(
    nodes: Nodes,
    grid: Grid,
    breaks: FloatVector,  # (k - 1,) rising: where a sum's class ends and the next begins
    slack: float,  # no sum in whatever order is farther from that in the order of the trees
    height: int,  # of the highest tree
    stack: Stack,  # changed here
    state: State,  # changed here
    most_nodes: int,  # to visit in this call, but for the nodes of the last cell
) -> bool:
    """Cut cells until each is in one class of sums; tell whether the stack was large enough.

    A cell is bounded by the least and the largest value of each tree inside of it, and cut where
    the tree of which these differ most makes its next cut. Weighing cuts by the differences that
    they leave, or by how evenly they cut, or taking medians over trees, changed the number of cells
    by an eighth at most, either way.
    """
    # Handed to a function as a tuple, arrays are counted as used, which takes turns on threads.
    links, bounds, roots = nodes
    edges, firsts, widths = grid
    lows, highs, starts, sizes, bases, open_nodes = stack
    counts, sums = state
    d = widths.shape[0]
    low = np.empty(d, np.int32)
    high = np.empty(d, np.int32)
    path = np.empty(height + 2, np.int32)
    top, n_cells, n_nodes = counts[0], counts[1], counts[2]
    last_node = n_nodes + most_nodes
    enough = True
    while top > 0 and n_nodes < last_node:
        start, size = starts[top - 1], sizes[top - 1]
        end = start + size
        # Its children take its place and the next one.
        if top == starts.shape[0] or end + size > open_nodes.shape[0]:
            enough = False
            break
        top -= 1
        for j in range(d):
            low[j] = lows[top, j]
            high[j] = highs[top, j]
        base = bases[top]
        least = largest = 0.0
        n_open = 0
        widest, cut = 0.0, np.int32(0)
        for i in range(start, end):
            node = open_nodes[i]
            feature = links[node, 0]
            while feature >= 0:  # down to where the cell is cut
                position = links[node, 1]
                if high[feature] <= position:
                    node = links[node, 2]
                elif low[feature] >= position:
                    node = links[node, 3]
                else:
                    break
                feature = links[node, 0]
            if feature < 0:
                n_nodes += 1
                base += bounds[node, 0]
                continue
            least_here, largest_here, n_seen = _span(links, bounds, node, low, high, path)
            n_nodes += n_seen
            if least_here == largest_here:
                base += least_here
                continue
            least += least_here
            largest += largest_here
            open_nodes[end + n_open] = node
            n_open += 1
            if largest_here - least_here > widest:
                widest, cut = largest_here - least_here, node
        n_cells += 1
        least += base
        largest += base
        first = _class_of(breaks, least - slack)
        last = _class_of(breaks, largest + slack)
        if first < last and _class_of(breaks, least + slack) >= _class_of(breaks, largest - slack):
            # The rounding of the sum decides.
            least, largest, n_seen = _sums_in_order(links, bounds, roots, low, high, path)
            n_nodes += n_seen
            first = _class_of(breaks, least)
            last = _class_of(breaks, largest)
        if first >= last:
            term = _fraction(edges, firsts, widths, low, high)
            sums[0, first], sums[1, first] = add(sums[0, first], sums[1, first], term)
            continue
        for child in range(top, top + 2):
            for j in range(d):
                lows[child, j] = low[j]
                highs[child, j] = high[j]
            starts[child] = end
            sizes[child] = n_open
            bases[child] = base
        feature, position = links[cut, 0], links[cut, 1]
        highs[top, feature] = position
        lows[top + 1, feature] = position
        top += 2
    counts[0], counts[1], counts[2] = top, n_cells, n_nodes
    return enough


@kernel
def _span(
    links: IndexMatrix,
    bounds: FloatMatrix,
    node: np.int32,
    low: IndexVector,
    high: IndexVector,
    path: IndexVector,  # working memory
) -> tuple[float, float, int]:
    """Return the bounds of a tree's values in a cell, and how many nodes were looked at."""
    least, largest = np.inf, -np.inf
    n_seen, n_left = 0, 1
    path[0] = node
    while n_left > 0:
        n_left -= 1
        n_seen += 1
        node = path[n_left]
        if bounds[node, 0] >= least and bounds[node, 1] <= largest:
            continue
        feature = links[node, 0]
        if feature < 0:
            least = min(least, bounds[node, 0])
            largest = max(largest, bounds[node, 1])
            continue
        position = links[node, 1]
        if high[feature] > position:
            path[n_left] = links[node, 3]
            n_left += 1
        if low[feature] < position:
            path[n_left] = links[node, 2]
            n_left += 1
    return least, largest, n_seen


@kernel
def _sums_in_order(
    links: IndexMatrix,
    bounds: FloatMatrix,
    roots: IndexVector,
    low: IndexVector,
    high: IndexVector,
    path: IndexVector,  # working memory
) -> tuple[float, float, int]:
    """Return bounds of the sum of all trees, rounded as it is for a point; and nodes looked at.

    Rounding is monotone: no point of the cell has a sum beyond the rounded sum of the bounds.
    """
    least = largest = 0.0
    n_nodes = 0
    for root in roots:
        least_here, largest_here, n_seen = _span(links, bounds, root, low, high, path)
        least += least_here
        largest += largest_here
        n_nodes += n_seen
    return least, largest, n_nodes


@kernel
def _class_of(breaks: FloatVector, value: float) -> int:
    """Return how many breaks are not above a value."""
    first, last = 0, breaks.shape[0]
    while first < last:
        middle = (first + last) >> 1
        if breaks[middle] <= value:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def _fraction(
    edges: FloatVector, firsts: IntVector, widths: FloatVector, low: IndexVector, high: IndexVector
) -> float:
    """Return the fraction of the box that a cell is."""
    fraction = 1.0
    for j in range(low.shape[0]):
        first = firsts[j]
        fraction *= (edges[first + high[j]] - edges[first + low[j]]) / widths[j]
    return fraction

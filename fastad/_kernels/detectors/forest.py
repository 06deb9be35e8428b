"""Depths of points in a forest of binary trees."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.jit import kernel
from fastad._core.types import FloatVector, IntMatrix, IntVector

SingleVector: TypeAlias = npt.NDArray[np.float32]
SingleMatrix: TypeAlias = npt.NDArray[np.float32]
IndexMatrix: TypeAlias = npt.NDArray[np.int32]

# A node's left child and its feature share one word: the right child is the next node.
_LOW = np.int64(0xFFFFFFFF)
_HALF = np.int64(32)


@kernel
def add_depths(
    points: SingleMatrix,  # (d, n) coordinate by coordinate
    trees: IntMatrix,  # (t, 3) end of its steps, first of its nodes, levels to walk
    steps: IndexMatrix,  # (s, 4) feature, slot, and the exits to the left and right, -1 for a slot
    cuts: SingleVector,  # (s,) of each step
    nodes: tuple[IntVector, SingleVector, FloatVector],  # (m,) left child and feature; cut; value
    n_slots: int,
    depths: FloatVector,  # (n,) added to here
) -> None:
    """Add the value of the leaf that each point reaches in each tree, tree after tree.

    A point goes to the right where its coordinate is above the cut. The top of a tree, mostly all
    of it, is computed for all points without following any: from the bottom up, each step chooses
    between the exits of its two children. That takes vector instructions for 16 points at
    once, and 0.03 ns a step and point; following a point takes 0.7 ns a level, eight levels as
    long as 180 steps, and a tree of 256 points has 63. Below the top points are followed.
    """
    branches, limits, values = nodes
    n = points.shape[1]
    slots = np.empty((n_slots, n), np.int16)
    positions = np.empty(n, np.int32)
    i = 0
    for tree in range(trees.shape[0]):
        while i < trees[tree, 0]:
            feature, slot = steps[i, 0], steps[i, 1]
            left, right = np.int16(steps[i, 2]), np.int16(steps[i, 3])
            cut = cuts[i]
            # Written with masks: of a choice between a slot and a number, compilers make a jump.
            if left >= 0 and right >= 0:
                for j in range(n):
                    above = -np.int16(points[feature, j] > cut)
                    slots[slot, j] = left ^ ((left ^ right) & above)
            elif left >= 0:
                for j in range(n):
                    above = -np.int16(points[feature, j] > cut)
                    slots[slot, j] = left ^ ((left ^ slots[slot, j]) & above)
            elif right >= 0:
                for j in range(n):
                    above = -np.int16(points[feature, j] > cut)
                    slots[slot, j] ^= (slots[slot, j] ^ right) & above
            else:
                for j in range(n):
                    above = -np.int16(points[feature, j] > cut)
                    slots[slot, j] ^= (slots[slot, j] ^ slots[slot + 1, j]) & above
            i += 1
        first = np.int32(trees[tree, 1])
        for j in range(n):
            positions[j] = first + slots[0, j]
        for _ in range(trees[tree, 2]):
            for j in range(n):
                branch = branches[positions[j]]
                step = np.int64(points[branch & _LOW, j] > limits[positions[j]])
                positions[j] = (branch >> _HALF) + step
        for j in range(n):
            depths[j] += values[positions[j]]

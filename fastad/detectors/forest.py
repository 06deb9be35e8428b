"""Isolation forests of scikit-learn and PyOD as compiled scorers."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.types import AnyVector, FloatMatrix, FloatVector, IntVector
from fastad._kernels.detectors.forest import add_depths
from fastad.detectors.scorer import CompiledScorer

# A step costs 0.03 ns a point and a level of following 0.7 ns or more. Larger trees have steps for
# their top levels only, and points are followed below.
_MOST_STEPS = 256
_TOP_LEVELS = 8


def compile_isolation_forest(forest: Any) -> CompiledScorer:
    """Compile ``-score_samples`` of scikit-learn's IsolationForest."""
    return ForestScorer("IsolationForest", forest, None)


def compile_iforest(detector: Any) -> CompiledScorer:
    """Compile ``decision_function`` of PyOD's IForest."""
    return ForestScorer("IForest", detector.detector_, detector.detector_.offset_)


class ForestScorer(CompiledScorer):
    """Depths in the trees of a forest, one tree after the other.

    Scores have the bits of the detector's, so that a threshold taken from them flags the same
    points. (Under a joblib backend of several threads scikit-learn adds up trees in any order, and
    its own last bits vary.) Coordinates beyond the range of single precision, which some versions
    of scikit-learn refuse, lie beyond every split.

    There is no early exit in `count_below`. Bounds from the remaining trees decide points late: at
    the 0.9 to 0.99 quantiles of the training scores a point needs 65 to 84 of 100 trees on average
    in 2 to 10 dimensions, checked after every tree, and more thresholds need more.

    References
    ----------
    .. [1] F. T. Liu, K. M. Ting and Z.-H. Zhou, Isolation forest, 2008.
    """

    def __init__(self, name: str, forest: Any, offset: float | None) -> None:
        self.name = name
        self.n_features = int(forest.n_features_in_)
        self._offset = offset
        mean_depth = _average_path_length(np.array([forest.max_samples_]))
        self._mean_depth_sum = float(len(forest.estimators_) * mean_depth[0])
        flat: list[_FlatTree] = []
        ends = []
        n_steps = n_nodes = 0
        for estimator, features in zip(
            forest.estimators_, forest.estimators_features_, strict=True
        ):
            # A tree that sees all features sees them in their own order.
            subset = features if len(features) < self.n_features else np.arange(self.n_features)
            tree = _flatten(estimator.tree_, subset, n_nodes)
            n_steps += len(tree.steps)
            ends.append((n_steps, n_nodes, tree.n_levels))
            n_nodes += len(tree.values)
            flat.append(tree)
        self._trees = np.array(ends, np.int64)
        self._steps = np.concatenate([tree.steps for tree in flat])
        self._cuts = np.concatenate([tree.cuts for tree in flat])
        self._nodes = (
            np.concatenate([tree.branches for tree in flat]),
            np.concatenate([tree.limits for tree in flat]),
            np.concatenate([tree.values for tree in flat]),
        )
        self._n_slots = int(self._steps[:, 1].max()) + 1

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of some points, as said by `CompiledScorer`."""
        with np.errstate(over="ignore"):  # beyond its range single precision has infinities
            rounded = points.astype(np.float32)
        depths = np.zeros(scores.shape[0])
        add_depths(
            rounded, self._trees, self._steps, self._cuts, self._nodes, self._n_slots, depths
        )
        self.finish(depths, scores)

    def finish(self, depths: FloatVector, scores: FloatVector) -> None:
        """Write scores of points from the sums of their leaves, added up in the order of the trees.

        The sums are overwritten.
        """
        # The detectors' own expressions: another power function would move some last bits.
        if self._mean_depth_sum == 0.0:  # trees of one point
            depths[:] = 1.0
        else:
            depths /= self._mean_depth_sum
        scores[:] = 2**-depths
        if self._offset is not None:
            scores[:] = -(-scores - self._offset)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return int(self._steps.shape[0] + self._nodes[2].shape[0])

    def trees(self) -> "Trees":
        """Return the trees as nodes with two children; they are laid out for speed here.

        Takes time and memory that grow with the number of nodes.
        """
        branches, limits, values = self._nodes
        ends, n_steps = self._trees[:, 0], self._steps.shape[0]
        n_nodes = n_steps + values.shape[0]
        features = np.full(n_nodes, -1, np.int32)
        cuts = np.concatenate([self._cuts[::-1], limits])
        lefts, rights = features.copy(), features.copy()
        below = branches >> 32
        inner = below != np.arange(values.shape[0])
        features[n_steps:][inner] = branches[inner] & 0xFFFFFFFF
        lefts[n_steps:][inner] = n_steps + below[inner]
        rights[n_steps:][inner] = n_steps + below[inner] + 1
        features[:n_steps] = self._steps[::-1, 0]
        # A step comes behind its children's steps: backwards, parents stand first.
        slots = np.zeros(self._n_slots + 1, np.int64)
        tree = 0
        for i, (_, slot, left, right) in enumerate(self._steps.tolist()):
            if i == ends[tree]:
                tree += 1
            node, first = n_steps - 1 - i, n_steps + self._trees[tree, 1]
            lefts[node] = first + left if left >= 0 else slots[slot]
            rights[node] = first + right if right >= 0 else slots[slot + (left < 0)]
            slots[slot] = node
        leaf_values = np.concatenate([np.zeros(n_steps), values])
        roots = (n_steps - ends).astype(np.int32)
        return Trees(features, cuts, lefts, rights, leaf_values, roots)


class Trees(NamedTuple):
    """Trees of a forest, all their nodes in one row, each before its children."""

    features: npt.NDArray[np.int32]  # -1 at a leaf
    cuts: npt.NDArray[np.float32]  # a point goes to the right where its coordinate is above
    lefts: npt.NDArray[np.int32]  # -1 at a leaf
    rights: npt.NDArray[np.int32]
    values: FloatVector  # of the leaves, to be added up tree by tree
    roots: npt.NDArray[np.int32]


class _FlatTree(NamedTuple):
    """A tree: steps for its top, nodes for the rest; the first nodes are the top's exits."""

    steps: npt.NDArray[np.int32]
    cuts: npt.NDArray[np.float32]
    branches: IntVector
    limits: npt.NDArray[np.float32]
    values: FloatVector
    n_levels: int


def _flatten(tree: Any, features: IntVector, first: int) -> _FlatTree:
    """Lay out a tree whose nodes get the indices from ``first`` on."""
    left, right = tree.children_left, tree.children_right
    inner = left >= 0
    depths = _node_depths(left, right)
    top = inner if np.count_nonzero(inner) <= _MOST_STEPS else inner & (depths < _TOP_LEVELS)
    # A leaf in the place of an inner node sends every point to itself, its own left child.
    feature = np.where(inner, features[tree.feature * inner], 0)
    cut = np.where(inner, _round_down(tree.threshold), np.float32(np.inf))
    exits: list[int] = []
    steps: list[tuple[int, int, int, int]] = []
    cuts: list[float] = []

    def visit(node: int, slot: int) -> None:
        """Write the steps of a subtree, of which the last leaves its exits in a slot."""
        targets: list[int] = []
        for child in (int(left[node]), int(right[node])):
            if top[child]:
                visit(child, slot + targets.count(-1))
                targets.append(-1)
            else:
                targets.append(len(exits))
                exits.append(child)
        steps.append((int(feature[node]), slot, targets[0], targets[1]))
        cuts.append(cut[node])

    if top[0]:
        visit(0, 0)
    else:  # one leaf, which every point reaches
        exits, steps, cuts = [0], [(0, 0, 0, 0)], [np.inf]
    below = np.flatnonzero(inner & ~top)
    # Siblings are neighbours: the right child comes right after the left one.
    members = np.concatenate([exits, np.column_stack([left[below], right[below]]).ravel()])
    indices = np.empty(left.shape[0], np.int64)
    indices[members] = np.arange(first, first + members.size)
    next_indices = np.where(inner, indices[left], indices)[members]
    return _FlatTree(
        np.array(steps, np.int32),
        np.array(cuts, np.float32),
        feature[members] | next_indices << 32,
        cut[members],
        # In the order in which scikit-learn adds up, its root having the depth 1.
        ((depths + 1 + _average_path_length(tree.n_node_samples)) - 1.0)[members],
        int(depths.max()) - _TOP_LEVELS if below.size else 0,
    )


def _node_depths(left: IntVector, right: IntVector) -> IntVector:
    """Return how many splits lie above each node."""
    depths = np.zeros(left.shape[0], np.int64)
    nodes = np.zeros(1, np.int64)
    depth = 0
    while nodes.size:
        depths[nodes] = depth
        nodes = nodes[left[nodes] >= 0]
        nodes = np.concatenate([left[nodes], right[nodes]])
        depth += 1
    return depths


def _round_down(thresholds: FloatVector) -> npt.NDArray[np.float32]:
    """Return the largest numbers of single precision that are not above the thresholds.

    No number of single precision lies between, so that comparisons with one come out the same.
    """
    with np.errstate(over="ignore"):
        rounded = thresholds.astype(np.float32)
        lower = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > thresholds, lower, rounded)


def _average_path_length(n_samples: AnyVector) -> FloatVector:
    """Return the mean depth of a tree of each number of points, in scikit-learn's expression."""
    lengths = np.zeros(n_samples.shape[0])
    lengths[n_samples == 2] = 1.0
    many = n_samples > 2
    n = n_samples[many]
    lengths[many] = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return lengths

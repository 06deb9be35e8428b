"""Scores of points by their nearest training points: one rule, or several by one search.

Both kinds of scorer share the tree, the kernels of the search and those of the scores. They differ
in which of tied neighbours count. `NeighbourScorer` follows one rule, as the detectors of
scikit-learn and PyOD do, and of tied neighbours takes those that scikit-learn takes.
`Neighbourhood` follows several rules, of several k, and takes tied ones in the order of the
training rows. Sorting the neighbours, which serves all its rules, takes a single one a tenth to a
fifth more time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.parameters import check_choice, check_count
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector, IntMatrix, IntVector
from fastad._kernels.detectors.neighbour_scores import (
    write_distances,
    write_factors,
    write_lengths,
    write_means,
)
from fastad._kernels.detectors.neighbours import (
    Tree,
    count_nearer,
    nearest,
    nearest_in_tree,
    nearest_of_all,
)
from fastad.detectors.scorer import CompiledScorer, blocks, check_samples, floats
from fastad.errors import InvalidInputError

RuleKind: TypeAlias = Literal["kappa", "gamma", "delta", "lof"]

# Points of a leaf: 16 and 32 take the same time, 8 and 64 a tenth more (d = 5, 2 000 points).
_LEAF = 32
# So many floats fill one register of the widest processors.
_LANES = 8
# Neighbours of one rule that are kept at once, two numbers of eight bytes each.
_MOST_NEIGHBOURS = 2**17

# Of uniform points the 51 nearest are found faster in a tree from about 1 000 rows a feature on;
# in more features than these it leaves out too little to pay at any number of rows.
_ROWS_A_FEATURE, _MOST_FEATURES = 1000, 10
# Training points of a tile, points compared with it together, points with neighbours at once.
_TILE, _TOGETHER, _POINTS = 256, 32, 256
# Sums of squares at once, so that many training points take no more memory.
_MOST_SUMS = 2**20


@dataclass(frozen=True, slots=True)
class Rule:
    """A score of a point by its nearest training points, in Euclidean distance.

    Attributes
    ----------
    kind : {"kappa", "gamma", "delta", "lof"}
        The distance to the k-th neighbour; the mean of the distances to all k; the length of the
        mean of the vectors to them; the local outlier factor. The first three are those of
        `fastad.detectors.KNNDetector`.
    k : int
        Number of neighbours.
    """

    kind: RuleKind
    k: int

    def __post_init__(self) -> None:
        check_choice(self.kind, get_args(RuleKind), "kind")
        object.__setattr__(self, "k", check_count(self.k, "k"))


def impossible_rules(n_train: int, rules: Sequence[Rule]) -> dict[Rule, str]:
    """Return the rules that need more neighbours than there are, each with the reason.

    Parameters
    ----------
    n_train : int
        Training points. Each is a neighbour of new points, but not of itself when the densities
        of a local outlier factor are computed.
    rules : sequence of Rule
        Any.
    """
    needed = {rule: rule.k + (rule.kind == "lof") for rule in rules}
    return {
        rule: f"k={rule.k} needs at least {least} training rows; found {n_train}"
        for rule, least in needed.items()
        if least > n_train
    }


# --- one rule


class NeighbourScorer(CompiledScorer):
    """A score by the k nearest points of a tree.

    Parameters
    ----------
    name : str
        Of the detector.
    training : numpy.ndarray of shape (n_train, n_features)
        The points of the tree, read-only.
    tree : Tree
        One with scikit-learn's leaves finds the neighbours that scikit-learn finds.
    k : int
        Number of neighbours, at most n_train.
    p : {1, 2, inf}
        Of the Minkowski distance.
    kind : {"kappa", "gamma", "median", "delta", "lof"}
        That of a `Rule`, or the median of the distances.
    densities : tuple of numpy.ndarray of shape (1, n_train), optional
        For "lof", see `local_densities`.
    """

    def __init__(
        self,
        name: str,
        training: FloatMatrix,
        tree: Tree,
        k: int,
        p: float,
        kind: RuleKind | Literal["median"],
        densities: tuple[FloatMatrix, FloatMatrix] | None = None,
    ) -> None:
        self.name = name
        self.n_features = training.shape[1]
        self._training, self._tree, self._k, self._p = training, tree, k, p
        self._kind, self._densities = kind, densities
        # One rule for the kernels of several.
        self._columns = _Columns(*(set_readonly(np.array([i], np.int64)) for i in (k, 0)))

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of some points, as said by `CompiledScorer`."""
        points = as_readonly(points)
        n_points = points.shape[1]
        step = max(_MOST_NEIGHBOURS // self._k, 1)
        distances = np.empty((min(step, n_points), self._k))
        rows = np.empty(distances.shape, np.int64)
        for first in range(0, n_points, step):
            part = slice(min(step, n_points - first))
            nearest(self._tree, points, first, self._p, distances[part], rows[part])
            self._summarise(
                points, first, distances[part], rows[part], scores[first : first + step]
            )

    def _summarise(
        self,
        points: FloatMatrix,
        first: int,
        distances: FloatMatrix,
        rows: IntMatrix,
        scores: FloatVector,
    ) -> None:
        """Write scores of points from the first on; distances may be overwritten."""
        if self._kind == "kappa":
            scores[:] = distances[:, 0]
        elif self._kind == "gamma":
            # Not in the order of the search: equal distances give equal means, to the last bit, and
            # those of PyOD. Some hundredths of the time.
            distances.sort(axis=1)
            distances.mean(axis=1, out=scores)
        elif self._kind == "median":
            distances.sort(axis=1)
            np.add(distances[:, (self._k - 1) // 2], distances[:, self._k // 2], out=scores)
            scores /= 2
        elif self._kind == "delta":
            write_lengths(self._training, points, first, rows, *self._columns, scores[:, None])
        elif self._densities is not None:
            write_factors(distances, rows, *self._densities, *self._columns, scores[:, None])

    def count_below(
        self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector, scores: FloatVector
    ) -> None:
        """Add the numbers of points below thresholds; the k-th distance itself is not needed."""
        if self._kind == "kappa" and thresholds.size:
            count_nearer(self._tree, points, self._p, self._k, thresholds, counts)
        else:
            super().count_below(points, thresholds, counts, scores)


# --- several rules


class Neighbourhood:
    """Scores of points by several rules, by one search for their neighbours.

    Neighbours come in the order of their distance, those at the same distance in the order of the
    training rows: the first k of them count. (Distances are compared as sums of squares, before
    the root is rounded.) Only "delta" and "lof" depend on which ones count where the k-th distance
    is tied. A training point is its own neighbour, at the distance 0, as are its duplicates; where
    the densities of a local outlier factor are computed it is not, its duplicates still are.

    Parameters
    ----------
    X_train : array-like of shape (n_train, n_features)
        Finite numbers.
    rules : sequence of Rule
        At least one; scores come in their order.

    Attributes
    ----------
    n_features : int
        Length of a point.
    rules : tuple of Rule
        As given.

    Raises
    ------
    InvalidInputError
        If X_train is no table of finite numbers, or has fewer rows than a rule needs.

    Examples
    --------
    >>> from fastad.detectors.neighbours import Neighbourhood, Rule
    >>> scorer = Neighbourhood([[0.0], [1.0], [5.0]], [Rule("kappa", 1), Rule("gamma", 2)])
    >>> scorer.score_rows([[1.0], [7.0]])
    array([[0. , 2. ],
           [0.5, 4. ]])
    """

    def __init__(self, X_train: ArrayLike, rules: Sequence[Rule]) -> None:
        training = set_readonly(floats(check_samples(X_train, None, "X_train")))
        n_train, self.n_features = training.shape
        self.rules = tuple(rules)
        if not self.n_features or not self.rules:
            name = "rules" if self.n_features else "X_train"
            raise InvalidInputError(f"{name} must not be empty", argument=name)
        for rule, reason in impossible_rules(n_train, self.rules).items():
            raise InvalidInputError(
                f"X_train must have enough rows: {rule.kind} of {reason}", argument="X_train"
            )
        self._training = training
        self._tiles = _tiles(training)
        in_tree = self.n_features <= _MOST_FEATURES and n_train > _ROWS_A_FEATURE * self.n_features
        self._tree = grow(training) if in_tree else None
        self._k = max(rule.k for rule in self.rules)
        self._columns = {kind: _columns_of(self.rules, kind) for kind in get_args(RuleKind)}
        ks = self._columns["lof"].ks
        reaches, densities = np.empty((2, ks.size, n_train))
        if ks.size:
            distances, rows = self._other_neighbours(int(ks[-1]))
            for i, k in enumerate(ks):
                reaches[i], densities[i] = local_densities(distances[:, :k], rows[:, :k])
        self._densities = set_readonly(reaches), set_readonly(densities)

    def score_rows(self, X: ArrayLike) -> FloatMatrix:
        """Return the scores of all rules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        numpy.ndarray of shape (n_rules, n_samples)
            Higher is more anomalous.

        Raises
        ------
        InvalidInputError
            If X has another shape, or contains what is no finite number.
        """
        samples = check_samples(X, self.n_features)
        scores = np.empty((len(self.rules), samples.shape[0]))
        for points, part in blocks(samples):
            self.write(points, scores[:, part])
        return scores

    def write(self, points: FloatMatrix, scores: FloatMatrix) -> None:
        """Write the scores of some points, mostly without the interpreter's lock.

        Parameters
        ----------
        points : numpy.ndarray of shape (n_features, n_points)
            Coordinate by coordinate, finite.
        scores : numpy.ndarray of shape (n_rules, n_points)
            Written here; higher is more anomalous.
        """
        points = as_readonly(points)
        n_points = points.shape[1]
        size = min(_POINTS, n_points)
        distances, rows = np.empty((size, self._k)), np.empty((size, self._k), np.int64)
        by_point = np.empty((size, len(self.rules)))
        columns = self._columns
        for first in range(0, n_points, _POINTS):
            m = min(_POINTS, n_points - first)
            near, its_rows, part = distances[:m], rows[:m], by_point[:m]
            self._find(points, first, near, its_rows)
            write_distances(near, *columns["kappa"], part)
            write_means(near, *columns["gamma"], part)
            write_lengths(self._training, points, first, its_rows, *columns["delta"], part)
            write_factors(near, its_rows, *self._densities, *columns["lof"], part)
            scores[:, first : first + m] = part.T

    def _find(
        self, points: FloatMatrix, first: int, distances: FloatMatrix, rows: IntMatrix
    ) -> None:
        """Write distances and rows of the neighbours of points from the first on, in order."""
        n_sums = self._tiles.shape[0] * self._tiles.shape[2]
        if self._tree is None or distances.shape[1] == self._training.shape[0]:
            together = max(min(_TOGETHER, _MOST_SUMS // n_sums), 1)
            sums = np.empty((together, n_sums))
            nearest_of_all(self._tiles, points, first, sums, distances, rows)
        else:
            sums = np.empty((1, n_sums))
            nearest_in_tree(self._tree, self._tiles, points, first, sums, distances, rows)

    def _other_neighbours(self, k: int) -> tuple[FloatMatrix, IntMatrix]:
        """Return distances and rows of k neighbours of each training point, without itself."""
        n_train = self._training.shape[0]
        distances, rows = np.empty((n_train, k + 1)), np.empty((n_train, k + 1), np.int64)
        self._find(as_readonly(self._training.T), 0, distances, rows)
        others = rows != np.arange(n_train)[:, None]
        # Itself is not there where more than k duplicates stand before it.
        others[others.all(axis=1), -1] = False
        return distances[others].reshape(-1, k), rows[others].reshape(-1, k)


class _Columns(NamedTuple):
    """Rules of one kind: rising numbers of neighbours, and the columns of their scores."""

    ks: IntVector
    columns: IntVector


def _columns_of(rules: Sequence[Rule], kind: RuleKind) -> _Columns:
    pairs = sorted((rule.k, i) for i, rule in enumerate(rules) if rule.kind == kind)
    return _Columns(
        *(set_readonly(np.array([pair[i] for pair in pairs], np.int64)) for i in (0, 1))
    )


def local_densities(distances: npt.NDArray[Any], rows: IntMatrix) -> tuple[Any, Any]:
    """Return what a local outlier factor reads of the training points.

    Parameters
    ----------
    distances : numpy.ndarray of shape (n_train, k)
        To the neighbours of each training point, without itself; that to the k-th comes last.
    rows : numpy.ndarray of shape (n_train, k)
        Those neighbours.

    Returns
    -------
    reaches, densities : numpy.ndarray of shape (n_train,)
        Distances to the k-th neighbour, and local reachability densities.
    """
    reaches = distances[:, -1]
    reached = np.maximum(distances, reaches[rows])
    with np.errstate(over="ignore"):
        return reaches, 1.0 / (reached.mean(axis=1) + 1e-10)


# --- training points for the search


def grow(training: FloatMatrix) -> Tree:
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
    return plant(training, rows, starts)


def plant(training: FloatMatrix, rows: npt.NDArray[Any], starts: Sequence[int]) -> Tree:
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
    )


def _tiles(training: FloatMatrix) -> FloatMatrix:
    """Cut training points into tiles of one size, coordinate by coordinate, filled up with inf."""
    n_train, d = training.shape
    n_tiles = -(-n_train // _TILE)
    size = -(-n_train // (n_tiles * _LANES)) * _LANES
    filled = np.full((n_tiles * size, d), np.inf)
    filled[:n_train] = training
    return set_readonly(np.ascontiguousarray(filled.reshape(n_tiles, size, d).transpose(0, 2, 1)))

"""All rules of nearest neighbours that are compared, by one search for neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.parameters import check_choice, check_count
from fastad._core.types import FloatMatrix, IntMatrix, IntVector
from fastad._kernels.detectors.neighbourhood import (
    nearest_in_tree,
    nearest_of_all,
    write_distances,
    write_factors,
    write_lengths,
    write_means,
)
from fastad._kernels.detectors.neighbours import Tree
from fastad.detectors.neighbours import grow
from fastad.detectors.scorer import blocks, check_samples, floats
from fastad.errors import InvalidInputError

Kind: TypeAlias = Literal["kappa", "gamma", "delta", "lof"]

# Of uniform points the 51 nearest are found faster in a tree from about 1 000 rows a feature on;
# in more features than these it leaves out too little to pay at any number of rows.
_ROWS_A_FEATURE, _MOST_FEATURES = 1000, 10
# Training points of a tile, points that pass it together, points whose neighbours are held.
_TILE, _TOGETHER, _HELD = 256, 32, 256
# Sums of squares that are held at once, so that many training points take no more memory.
_SUMS = 2**20
# So many floats fill one register of the widest processors.
_LANES = 8


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

    kind: Kind
    k: int

    def __post_init__(self) -> None:
        check_choice(self.kind, get_args(Kind), "kind")
        check_count(self.k, "k")


def impossible_rules(n_train: int, rules: Sequence[Rule]) -> dict[Rule, str]:
    """Tell which rules ask for more neighbours than there are, and why they cannot be followed.

    Parameters
    ----------
    n_train : int
        Training points. Each is a neighbour of new points, but none of itself when the densities
        of a local outlier factor are learnt.
    rules : sequence of Rule
        Any.

    Returns
    -------
    dict
        Those that need more, each with its reason.
    """
    needed = {rule: rule.k + (rule.kind == "lof") for rule in rules}
    return {
        rule: f"k={rule.k} needs at least {least} training rows; found {n_train}"
        for rule, least in needed.items()
        if least > n_train
    }


class Neighbourhood:
    """Scores of points by several rules, for which their neighbours are sought once.

    Neighbours come in the order of their distance, those at the same distance in the order of the
    training rows: the first k of them count. (Distances are compared as sums of squares, before
    the root is rounded.) Only "delta" and "lof" depend on which ones count where the k-th place is
    tied. A training point is its own neighbour, at the distance 0, as are its duplicates; it is
    not where the densities of a local outlier factor are learnt, its duplicates still are.

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
    >>> from fastad.detectors.neighbourhood import Neighbourhood, Rule
    >>> own = Neighbourhood([[0.0], [1.0], [5.0]], [Rule("kappa", 1), Rule("gamma", 2)])
    >>> own.score_rows([[1.0], [7.0]])
    array([[0. , 2. ],
           [0.5, 4. ]])
    """

    def __init__(self, X_train: npt.ArrayLike, rules: Sequence[Rule]) -> None:
        training = set_readonly(floats(check_samples(X_train, None, "X_train")))
        n_train, self.n_features = training.shape
        self.rules = tuple(rules)
        if not self.n_features or not self.rules:
            what = "rules" if self.n_features else "X_train"
            raise InvalidInputError(f"{what} must not be empty")
        for rule, reason in impossible_rules(n_train, self.rules).items():
            raise InvalidInputError(f"X_train must have enough rows: {rule.kind} of {reason}")
        self._training = training
        self._search = _Search(training)
        self._k = max(rule.k for rule in self.rules)
        self._asked: dict[Kind, _Asked] = {
            kind: _asked(self.rules, kind) for kind in get_args(Kind)
        }
        self._learnt = _learn(training, self._search, self._asked["lof"].ks)

    def score_rows(self, X: npt.ArrayLike) -> FloatMatrix:
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
            If X has another shape, or holds what is no finite number.
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
        held = min(_HELD, n_points)
        squares, rows = np.empty((held, self._k)), np.empty((held, self._k), np.int64)
        found = np.empty((held, len(self.rules)))
        for first in range(0, n_points, _HELD):
            part = slice(min(_HELD, n_points - first))
            self._search.find(points, first, squares[part], rows[part])
            self._judge(points, first, squares[part], rows[part], found[part])
            scores[:, first : first + _HELD] = found[part].T

    def _judge(
        self,
        points: FloatMatrix,
        first: int,
        squares: FloatMatrix,
        rows: IntMatrix,
        scores: FloatMatrix,
    ) -> None:
        """Write the scores of points whose neighbours are known, point by point."""
        asked = self._asked
        write_distances(squares, *asked["kappa"], scores)
        write_means(squares, *asked["gamma"], scores)
        write_lengths(self._training, points, first, rows, *asked["delta"], scores)
        write_factors(squares, rows, *self._learnt, *asked["lof"], scores)


class _Asked(NamedTuple):
    """Rules of one kind: the numbers of neighbours, rising, and their places among all rules."""

    ks: IntVector
    slots: IntVector


def _asked(rules: Sequence[Rule], kind: Kind) -> _Asked:
    pairs = sorted((rule.k, slot) for slot, rule in enumerate(rules) if rule.kind == kind)
    ks, slots = (set_readonly(np.array([pair[i] for pair in pairs], np.int64)) for i in range(2))
    return _Asked(ks, slots)


class _Search:
    """Finds the nearest training points of points, in order."""

    def __init__(self, training: FloatMatrix) -> None:
        self._n_train, d = training.shape
        self._tiles = _tiles(training)
        in_tree = d <= _MOST_FEATURES and self._n_train > _ROWS_A_FEATURE * d
        self._tree: Tree | None = grow(training) if in_tree else None

    def find(self, points: FloatMatrix, first: int, squares: FloatMatrix, rows: IntMatrix) -> None:
        """Write squared distances and rows of the neighbours of points from the first on."""
        tree = self._tree if squares.shape[1] < self._n_train else None
        tiles = self._tiles
        n_sums = tiles.shape[0] * tiles.shape[2]
        together = max(min(_TOGETHER, _SUMS // n_sums), 1)
        if tree is None:
            nearest_of_all(tiles, points, first, np.empty((together, n_sums)), squares, rows)
        else:
            nearest_in_tree(tree, tiles, points, first, np.empty((1, n_sums)), squares, rows)


def _tiles(training: FloatMatrix) -> FloatMatrix:
    """Cut training points into tiles of one size, coordinate by coordinate, filled up with inf."""
    n_train, d = training.shape
    n_tiles = -(-n_train // _TILE)
    size = -(-n_train // (n_tiles * _LANES)) * _LANES
    filled = np.full((n_tiles * size, d), np.inf)
    filled[:n_train] = training
    return set_readonly(np.ascontiguousarray(filled.reshape(n_tiles, size, d).transpose(0, 2, 1)))


def _learn(
    training: FloatMatrix, search: _Search, ks: IntVector
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the reaches and the local reachability densities of the training points by each k."""
    n_train = training.shape[0]
    reaches, densities = np.empty((2, ks.size, n_train))
    if ks.size:
        distances, rows = _other_neighbours(training, search, int(ks[-1]))
        for i, k in enumerate(ks):
            reaches[i] = distances[:, k - 1]
            reached = np.maximum(distances[:, :k], reaches[i][rows[:, :k]])
            with np.errstate(over="ignore"):
                densities[i] = 1.0 / (reached.mean(axis=1) + 1e-10)
    return set_readonly(reaches), set_readonly(densities)


def _other_neighbours(
    training: FloatMatrix, search: _Search, k: int
) -> tuple[FloatMatrix, npt.NDArray[Any]]:
    """Return distances and rows of the k neighbours of each training point, without itself."""
    n_train = training.shape[0]
    squares, rows = np.empty((n_train, k + 1)), np.empty((n_train, k + 1), np.int64)
    search.find(as_readonly(training.T), 0, squares, rows)
    others = rows != np.arange(n_train)[:, None]
    # Itself is not there where more than k duplicates stand before it.
    others[others.all(axis=1), -1] = False
    return np.sqrt(squares[others].reshape(-1, k)), rows[others].reshape(-1, k)

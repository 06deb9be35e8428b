"""Scores of points by their nearest training points: one rule, or several by one search.

Both kinds of scorer share the tree and the kernels of the search and of the scores. They differ
in which of tied neighbours count. `NeighbourScorer` follows one rule, as the detectors of
scikit-learn and PyOD do, and takes the same tied neighbours as scikit-learn.
`Neighbourhood` follows several rules, of several k, and takes tied ones in the order of the
training rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
from fastad._kernels.detectors.neighbour_tree import Tree
from fastad._kernels.detectors.neighbours import count_nearer, nearest
from fastad.detectors.neighbour_search import Search
from fastad.detectors.scorer import CompiledScorer, blocks, check_samples, floats
from fastad.errors import InvalidInputError

RuleKind: TypeAlias = Literal["kappa", "gamma", "delta", "lof"]

# Neighbours of one rule that are kept at once, two numbers of eight bytes each.
_MOST_NEIGHBOURS = 2**17


@dataclass(frozen=True, slots=True)
class Rule:
    """A score of a point by its nearest training points, in Euclidean distance."""

    # The distance to the k-th neighbour; the mean of the distances to all k; the length of the mean
    # of the vectors to them; the local outlier factor. The first three are scores of
    # `fastad.detectors.KNNDetector`.
    kind: RuleKind
    k: int  # number of neighbours

    def __post_init__(self) -> None:
        check_choice(self.kind, get_args(RuleKind), "kind")
        object.__setattr__(self, "k", check_count(self.k, "k"))


def impossible_rules(n_train: int, rules: Sequence[Rule]) -> dict[Rule, str]:
    """Return the rules that need more neighbours than there are, each with the reason.

    A training point is a neighbour of new points, but not of itself when the densities of a local
    outlier factor are computed.
    """
    needed = {rule: rule.k + (rule.kind == "lof") for rule in rules}
    return {
        rule: f"k={rule.k} needs at least {least} training rows; found {n_train}"
        for rule, least in needed.items()
        if least > n_train
    }


class NeighbourScorer(CompiledScorer):
    """A score by the k nearest points of a tree, of which there must be as many.

    A tree with scikit-learn's leaves finds the neighbours that scikit-learn finds. ``p`` is the
    order of the Minkowski distance: 1, 2 or inf. The kind is a `Rule`'s, or the median of the
    distances; "lof" needs the densities of `local_densities`, each of shape (1, n_train).
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
        self.training, self.k, self.p, self.kind = training, k, p, kind
        self._tree, self._densities = tree, densities
        # One rule for the kernels of several.
        self._columns = _Columns(*(set_readonly(np.array([i], np.int64)) for i in (k, 0)))

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of some points, as said by `CompiledScorer`."""
        points = as_readonly(points)
        n_points = points.shape[1]
        step = max(_MOST_NEIGHBOURS // self.k, 1)
        distances = np.empty((min(step, n_points), self.k))
        rows = np.empty(distances.shape, np.int64)
        for first in range(0, n_points, step):
            part = slice(min(step, n_points - first))
            nearest(self._tree, points, first, self.p, distances[part], rows[part])
            self.write_from(
                points, first, distances[part], rows[part], scores[first : first + step]
            )

    def write_from(
        self,
        points: FloatMatrix,
        first: int,
        distances: FloatMatrix,
        rows: IntMatrix,
        scores: FloatVector,
    ) -> None:
        """Write scores of m points, the first of which has the number ``first``.

        ``distances`` and ``rows`` of shape (m, at least k) have their neighbours in order.
        """
        k = self.k
        if self.kind == "kappa":
            scores[:] = distances[:, k - 1]
        elif self.kind == "gamma":
            distances[:, :k].mean(axis=1, out=scores)
        elif self.kind == "median":
            np.add(distances[:, (k - 1) // 2], distances[:, k // 2], out=scores)
            scores /= 2
        elif self.kind == "delta":
            write_lengths(self.training, points, first, rows, *self._columns, scores[:, None])
        elif self._densities is not None:
            write_factors(distances, rows, *self._densities, *self._columns, scores[:, None])

    def count_below(
        self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector, scores: FloatVector
    ) -> None:
        """Add the numbers of points below thresholds; the k-th distance itself is not needed."""
        if self.kind == "kappa" and thresholds.size:
            count_nearer(self._tree, points, self.p, self.k, thresholds, counts)
        else:
            super().count_below(points, thresholds, counts, scores)


class Neighbourhood:
    """Scores of points by several rules, by one search for their neighbours.

    Neighbours come in the order of their distance, those at the same distance in the order of the
    training rows: the first k of them count. (Distances are compared as sums of squares, before
    the root is rounded.) Only "delta" and "lof" depend on which ones count where the k-th distance
    is tied. A training point is its own neighbour, at the distance 0, as are its duplicates; where
    the densities of a local outlier factor are computed it is not, its duplicates still are.

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
        if not self.rules:
            raise InvalidInputError("rules must not be empty")
        for rule, reason in impossible_rules(n_train, self.rules).items():
            raise InvalidInputError(f"X_train must have enough rows: {rule.kind} of {reason}")
        self._training = training
        self._search = Search(training, max(rule.k for rule in self.rules))
        self._columns = {kind: _columns_of(self.rules, kind) for kind in get_args(RuleKind)}
        ks = self._columns["lof"].ks
        reaches, densities = np.empty((2, ks.size, n_train))
        if ks.size:
            distances, rows = self._other_neighbours(int(ks[-1]))
            for i, k in enumerate(ks):
                reaches[i], densities[i] = local_densities(distances[:, :k], rows[:, :k])
        self._densities = set_readonly(reaches), set_readonly(densities)

    def score_rows(self, X: ArrayLike) -> FloatMatrix:
        """Return the scores of all rules (n_rules, n_samples); higher is more anomalous."""
        samples = check_samples(X, self.n_features)
        scores = np.empty((len(self.rules), samples.shape[0]))
        for points, part in blocks(samples):
            self.write(points, scores[:, part])
        return scores

    def write(self, points: FloatMatrix, scores: FloatMatrix) -> None:
        """Write the scores of some points, mostly without the interpreter's lock.

        Points have the shape (n_features, n_points), scores (n_rules, n_points).
        """
        points = as_readonly(points)
        columns = self._columns
        for first, near, its_rows in self._search.of(points):
            m = near.shape[0]
            part = np.empty((m, len(self.rules)))
            write_distances(near, *columns["kappa"], part)
            write_means(near, *columns["gamma"], part)
            write_lengths(self._training, points, first, its_rows, *columns["delta"], part)
            write_factors(near, its_rows, *self._densities, *columns["lof"], part)
            scores[:, first : first + m] = part.T

    def _other_neighbours(self, k: int) -> tuple[FloatMatrix, IntMatrix]:
        """Return distances and rows of k neighbours of each training point, without itself."""
        n_train = self._training.shape[0]
        distances, rows = np.empty((n_train, k + 1)), np.empty((n_train, k + 1), np.int64)
        self._search.find(as_readonly(self._training.T), 0, distances, rows)
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
    """Return reaches and densities of training points for the local outlier factor.

    They are distances to the k-th neighbour and local reachability densities, from the distances to
    the neighbours of each training point without itself, in order, and their rows.
    """
    reaches = distances[:, -1]
    reached = np.maximum(distances, reaches[rows])
    with np.errstate(over="ignore"):
        return reaches, 1.0 / (reached.mean(axis=1) + 1e-10)

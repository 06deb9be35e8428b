"""Detectors of nearest neighbours as compiled scorers."""

import math
import sys
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_readonly
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, IntVector
from fastad._kernels.detectors.neighbours import (
    Tree,
    count_nearer,
    length_of_mean,
    local_outlier_factor,
    nearest,
)
from fastad.detectors.scorer import CompiledScorer, check_fitted, floats
from fastad.errors import InvalidInputError

Summary: TypeAlias = Literal["largest", "mean", "median", "vector"]

# Points of a leaf: 16 and 32 take the same time, 8 and 64 a tenth more (d = 5, 2 000 points).
_LEAF = 32
# So many floats fill one register of the widest processors.
_LANES = 8
# Neighbours that are held at once, two numbers of eight bytes each.
_HELD = 2**17
_P = {
    **dict.fromkeys(("euclidean", "l2"), 2.0),
    **dict.fromkeys(("manhattan", "cityblock", "l1"), 1.0),
    **dict.fromkeys(("chebyshev", "infinity"), math.inf),
}


def compile_nearest_neighbors(fitted: Any) -> CompiledScorer:
    """Compile the distance to the last of the neighbours that scikit-learn finds.

    A training point is its own neighbour, at the distance 0, and so are its duplicates.

    Parameters
    ----------
    fitted : sklearn.neighbors.NearestNeighbors
        Fitted on an array, with the Euclidean, Manhattan or Chebyshev distance.

    Returns
    -------
    CompiledScorer
        Of ``kneighbors(X)[0][:, -1]``. Where scikit-learn goes by brute force, as it does in more
        than 15 dimensions, it takes squares of distances as differences of products, and loses
        digits of distances that are small beside the coordinates; the compiled ones keep them.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, not fitted, or has another distance.
    """
    check_fitted(fitted, "sklearn.neighbors", "NearestNeighbors", "n_samples_fit_")
    return _compile_distance("NearestNeighbors", fitted, "largest")


def compile_knn(fitted: Any) -> CompiledScorer:
    """Compile a fitted detector of nearest neighbours of PyOD.

    Parameters
    ----------
    fitted : pyod.models.knn.KNN
        Of method "largest", "mean" or "median"; as for `compile_nearest_neighbors`.

    Returns
    -------
    CompiledScorer
        Of ``decision_function``.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, not fitted, or has another distance or method.
    """
    check_fitted(fitted, "pyod.models.knn", "KNN", "decision_scores_")
    search = fitted.neigh_
    # PyOD 2 replaces a search by brute force by a tree that knows nothing of p.
    own = fitted.tree_ is not search and fitted.tree_ is not search._tree
    if own and _p_of("KNN", search) != 2.0:
        raise InvalidInputError(
            "the algorithm of KNN must be 'kd_tree' or 'ball_tree' to be compiled where p is not "
            "2: this version of PyOD scores by another distance than it was fitted with; found "
            f"{fitted.algorithm!r}"
        )
    if fitted.method not in ("largest", "mean", "median"):
        raise InvalidInputError(
            f"method of KNN must be 'largest', 'mean' or 'median'; found {fitted.method!r}"
        )
    return _compile_distance("KNN", search, fitted.method)


def compile_local_outlier_factor(fitted: Any) -> CompiledScorer:
    """Compile a fitted local outlier factor of scikit-learn.

    Parameters
    ----------
    fitted : sklearn.neighbors.LocalOutlierFactor
        With ``novelty=True``; as for `compile_nearest_neighbors`.

    Returns
    -------
    CompiledScorer
        Of ``-score_samples`` for samples of float64. Training points at the same distance from a
        sample need not have the same density, so that a score depends on which of them count
        among its neighbours. Where scikit-learn searches a k-d tree, as it does by default in up
        to 15 dimensions, they are the same ones. Its other searches may choose others.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, not fitted, without ``novelty``, or has another distance.

    References
    ----------
    .. [1] M. M. Breunig, H.-P. Kriegel, R. T. Ng and J. Sander, LOF: identifying density-based
           local outliers, 2000.
    """
    check_fitted(fitted, "sklearn.neighbors", "LocalOutlierFactor", "negative_outlier_factor_")
    return _LocalOutlierFactor("LocalOutlierFactor", fitted)


def compile_lof(fitted: Any) -> CompiledScorer:
    """Compile a fitted local outlier factor of PyOD.

    Parameters
    ----------
    fitted : pyod.models.lof.LOF
        As for `compile_local_outlier_factor`.

    Returns
    -------
    CompiledScorer
        Of ``decision_function``, as for `compile_local_outlier_factor`.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, not fitted, without ``novelty``, or has another distance.
    """
    check_fitted(fitted, "pyod.models.lof", "LOF", "decision_scores_")
    return _LocalOutlierFactor("LOF", fitted.detector_)


class _NeighbourScorer(CompiledScorer):
    """A score that follows from the k nearest training points."""

    def __init__(self, name: str, training: FloatMatrix, tree: Tree, k: int, p: float) -> None:
        self.name = name
        self.n_features = training.shape[1]
        self._training = training
        self._tree = tree
        self._k = k
        self._p = p

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of points that stand coordinate by coordinate."""
        n_points = points.shape[1]
        step = max(_HELD // self._k, 1)
        distances = np.empty((min(step, n_points), self._k))
        rows = np.empty(distances.shape, np.int64)
        for first in range(0, n_points, step):
            part = slice(min(step, n_points - first))
            found = distances[part], rows[part]
            nearest(self._tree, points, first, self._p, *found)
            self._summarise(points, first, *found, scores[first : first + step])

    @abstractmethod
    def _summarise(
        self,
        points: FloatMatrix,
        first: int,
        distances: FloatMatrix,
        rows: IntMatrix,
        scores: FloatVector,
    ) -> None:
        """Write scores of points from the first on; distances may be overwritten."""


class DistanceScorer(_NeighbourScorer):
    """Distance to the k-th of the nearest points, or the mean or median of those to all k.

    Summed up as "vector", the length of the mean of the vectors to them.
    """

    def __init__(
        self, name: str, training: FloatMatrix, tree: Tree, k: int, p: float, summary: Summary
    ) -> None:
        super().__init__(name, training, tree, k, p)
        self._summary = summary

    def _summarise(
        self,
        points: FloatMatrix,
        first: int,
        distances: FloatMatrix,
        rows: IntMatrix,
        scores: FloatVector,
    ) -> None:
        if self._summary == "largest":
            scores[:] = distances[:, 0]
        elif self._summary == "mean":
            distances.mean(axis=1, out=scores)
        elif self._summary == "median":
            distances.sort(axis=1)
            np.add(distances[:, (self._k - 1) // 2], distances[:, self._k // 2], out=scores)
            scores /= 2
        else:
            length_of_mean(self._training, points, first, rows, scores)

    def count_below(
        self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector, scores: FloatVector
    ) -> None:
        """Add the numbers of points below thresholds; a k-th distance need not be known for it."""
        if self._summary == "largest" and thresholds.size:
            count_nearer(self._tree, points, self._p, self._k, thresholds, counts)
        else:
            super().count_below(points, thresholds, counts, scores)


class _LocalOutlierFactor(_NeighbourScorer):
    def __init__(self, name: str, fitted: Any) -> None:
        if not fitted.novelty:
            raise InvalidInputError(
                f"novelty of {name} must be True for it to score new points; found "
                f"{fitted.novelty!r}"
            )
        p = _p_of(name, fitted)
        training = _training_of(name, fitted)
        k = int(fitted.n_neighbors_)
        super().__init__(name, training, _tree_of(fitted, training), k, p)
        # Its own attributes for these are private. Equal numbers in the same type come out equal.
        distances, rows = fitted.kneighbors(n_neighbors=k)
        if fitted._fit_X.dtype == np.float32:
            distances = distances.astype(np.float32)
        reaches = distances[:, -1]
        reached = np.maximum(distances, reaches[rows])
        self._reaches = set_readonly(floats(reaches))
        self._densities = set_readonly(floats(1.0 / (np.mean(reached, axis=1) + 1e-10)))

    def _summarise(
        self,
        points: FloatMatrix,
        first: int,
        distances: FloatMatrix,
        rows: IntMatrix,
        scores: FloatVector,
    ) -> None:
        local_outlier_factor(distances, rows, self._reaches, self._densities, scores)


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
                widest = values[:, np.ptp(values, axis=0).argmax()]
            rows[start:stop] = inside[np.argpartition(widest, middle - start)]
        starts = sorted(starts + middles)
    return plant(training, rows, starts)


def plant(training: FloatMatrix, rows: npt.NDArray[Any], starts: Sequence[int]) -> Tree:
    """Return the tree whose leaves hold given rows; their number is a power of two."""
    n_leaves = len(starts) - 1
    size = -(-int(np.diff(starts).max()) // _LANES) * _LANES
    points = np.full((n_leaves, training.shape[1], size), np.inf)
    kept = np.zeros((n_leaves, size), np.int64)
    low, high = np.empty((2, n_leaves, training.shape[1]))
    for leaf, (start, stop) in enumerate(pairwise(starts)):
        inside = rows[start:stop]
        values = training[inside]
        points[leaf, :, : inside.size] = values.T
        kept[leaf, : inside.size] = inside
        low[leaf], high[leaf] = values.min(axis=0), values.max(axis=0)
    levels = [np.empty((0, training.shape[1], 4))]
    while len(low) > 1:
        levels.append(np.stack([low[::2], high[::2], low[1::2], high[1::2]], axis=2))
        low, high = np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])
    return Tree(
        set_readonly(np.concatenate(levels[::-1])), set_readonly(points), set_readonly(kept)
    )


def _compile_distance(name: str, fitted: Any, summary: Summary) -> DistanceScorer:
    p = _p_of(name, fitted)
    training = _training_of(name, fitted)
    k = int(fitted.n_neighbors)
    if k > training.shape[0]:
        raise InvalidInputError(
            f"n_neighbors of {name} must be at most the {training.shape[0]} samples that it was "
            f"fitted on; found {k}"
        )
    return DistanceScorer(name, training, _tree_of(fitted, training), k, p, summary)


def _p_of(name: str, fitted: Any) -> float:
    """Return the p of a Minkowski distance that is compiled."""
    metric = fitted.effective_metric_
    parameters = {key: x for key, x in fitted.effective_metric_params_.items() if x is not None}
    if not isinstance(metric, str) or metric not in _P or parameters:
        shown = metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric))
        of = "".join(f", {key}={value!r}" for key, value in parameters.items())
        raise InvalidInputError(
            f"metric of {name} must be 'euclidean', 'manhattan' or 'chebyshev', or 'minkowski' "
            f"with p=1, 2 or inf, to be compiled; found {shown}{of}"
        )
    return _P[metric]


def _training_of(name: str, fitted: Any) -> FloatMatrix:
    """Return the samples that a search was fitted on; no public attribute has them."""
    # One that was fitted on a tree or on another search uses the distance of that.
    if not hasattr(fitted, "n_features_in_"):
        raise InvalidInputError(
            f"{name} must be fitted on an array to be compiled; found one fitted on a search",
            argument=name,
        )
    if not isinstance(fitted._fit_X, np.ndarray):
        raise InvalidInputError(
            f"{name} must be fitted on an array to be compiled; found a "
            f"{type(fitted._fit_X).__name__}",
            argument=name,
        )
    return set_readonly(floats(fitted._fit_X))


def _tree_of(fitted: Any, training: FloatMatrix) -> Tree:
    """Return the k-d tree of a search, so that ties end as they do there, or another one."""
    tree = fitted._tree
    if type(tree) is not sys.modules["sklearn.neighbors"].KDTree:
        return grow(training)
    _, rows, nodes, _ = tree.get_arrays()
    starts = nodes["idx_start"][nodes.size // 2 :]
    return plant(training, rows, [*starts.tolist(), rows.size])

"""Detectors by nearest neighbours: `KNNDetector`, and compiled ones of scikit-learn and PyOD."""

import math
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from fastad._core.arrays import set_readonly
from fastad._core.frames import column_names
from fastad._core.parameters import check_choice, check_count
from fastad._core.suggestions import suggests_arguments
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector
from fastad._kernels.detectors.neighbour_tree import Tree
from fastad.detectors.neighbour_search import build_tree, tree_from_leaves
from fastad.detectors.neighbours import NeighbourScorer, local_densities
from fastad.detectors.scorer import CompiledScorer, check_samples, floats
from fastad.errors import InvalidInputError

Kind: TypeAlias = Literal["kappa", "gamma", "delta"]

# The distances that are compiled, and their p.
_P = {
    **dict.fromkeys(("euclidean", "l2"), 2.0),
    **dict.fromkeys(("manhattan", "cityblock", "l1"), 1.0),
    **dict.fromkeys(("chebyshev", "infinity"), math.inf),
}
# PyOD's methods.
_KINDS: Mapping[str, Literal["kappa", "gamma", "median"]] = MappingProxyType(
    {"largest": "kappa", "mean": "gamma", "median": "median"}
)


class KNNDetector:
    """Anomaly score of a point by its k nearest training points, in Euclidean distance.

    A training point is its own neighbour, at the distance 0, and so are its duplicates.

    Parameters
    ----------
    k : int
        Number of neighbours, at most the number of training points.
    kind : {"kappa", "gamma", "delta"}, default "kappa"
        The distance to the k-th neighbour; the mean of the distances to all k; the length of the
        mean of the vectors to them, which for a point amid its neighbours is near 0 although each
        may be far. Where the k-th place is tied, which neighbours count for "delta" depends on the
        order of the training data, "kappa" and "gamma" do not.

    Attributes
    ----------
    feature_names_in_ : list of str or None
        Columns of the frame that it was fitted on, if it was one.

    References
    ----------
    .. [1] V. Skvara, T. Pevny and V. Smidl, Is AUC the best measure for practical comparison of
           anomaly detectors?, 2019, section 4.1.
    .. [2] S. Harmeling et al., From outliers to prototypes: ordering data, 2006.

    Examples
    --------
    >>> import fastad
    >>> detector = fastad.detectors.KNNDetector(2, kind="gamma").fit([[0.0], [1.0], [5.0]])
    >>> detector.score_samples([[1.0], [7.0]])
    array([0.5, 4. ])
    """

    def __init__(self, k: int, *, kind: Kind = "kappa") -> None:
        self.k = check_count(k, "k")
        self.kind = check_choice(kind, get_args(Kind), "kind")

    def __repr__(self) -> str:
        return f"KNNDetector({self.k}, kind={self.kind!r})"

    def fit(self, X: ArrayLike) -> "KNNDetector":
        """Build a tree of the training points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        KNNDetector
            Itself.

        Raises
        ------
        InvalidInputError
            If X is no table of finite numbers, or has fewer than k rows.
        """
        samples = check_samples(X, None)
        if samples.shape[0] < self.k:
            raise InvalidInputError(
                f"X must have at least k={self.k} rows; found {samples.shape[0]}"
            )
        training = set_readonly(floats(samples))
        self._scorer = NeighbourScorer(
            "KNNDetector", training, build_tree(training), self.k, 2.0, self.kind
        )
        self.feature_names_in_ = self._scorer.feature_names = column_names(X)
        return self

    @suggests_arguments
    def score_samples(self, X: ArrayLike, *, n_threads: int | None = None) -> FloatVector:
        """Return anomaly scores, higher is more anomalous.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.
        n_threads : int, optional
            As in `CompiledScorer.score_samples`.

        Returns
        -------
        numpy.ndarray of shape (n_samples,)
            Scores from 0 on, in units of the features.

        Raises
        ------
        InvalidInputError
            If the detector is not fitted, or X has another shape or values that are not finite.
        """
        if not hasattr(self, "_scorer"):
            raise InvalidInputError("KNNDetector must be fitted; found an unfitted KNNDetector")
        return self._scorer.score_samples(X, n_threads=n_threads)


def compile_knn_detector(detector: KNNDetector) -> CompiledScorer:
    """Return the scorer of a fitted KNNDetector; later fits of it do not change it."""
    return detector._scorer


def compile_nearest_neighbors(search: Any) -> CompiledScorer:
    """Compile ``kneighbors(X)[0][:, -1]`` of scikit-learn's NearestNeighbors.

    A training point is its own neighbour, at the distance 0, and so are its duplicates. Where
    scikit-learn compares all points, as it does in more than 15 dimensions, it takes squares of
    distances as differences of products, and loses digits of distances that are small beside the
    coordinates; the compiled ones keep them.
    """
    return _compile_distance("NearestNeighbors", search, "kappa")


def compile_knn(detector: Any) -> CompiledScorer:
    """Compile ``decision_function`` of PyOD's KNN."""
    search = detector.neigh_
    # PyOD 2 replaces a search by brute force by a tree that knows nothing of p.
    is_replaced = detector.tree_ is not search and detector.tree_ is not search._tree
    if is_replaced and _p_of("KNN", search) != 2.0:
        raise InvalidInputError(
            "the algorithm of KNN must be 'kd_tree' or 'ball_tree' to be compiled where p is not "
            "2: this version of PyOD scores by another distance than it was fitted with; found "
            f"{detector.algorithm!r}",
            argument="algorithm",
        )
    if detector.method not in _KINDS:
        raise InvalidInputError(
            f"method of KNN must be 'largest', 'mean' or 'median'; found {detector.method!r}",
            argument="method",
        )
    return _compile_distance("KNN", search, _KINDS[detector.method])


def compile_local_outlier_factor(factor: Any) -> CompiledScorer:
    """Compile ``-score_samples`` of scikit-learn's LocalOutlierFactor, for samples of float64.

    Training points at the same distance from a sample need not have the same density, so that a
    score depends on which of them count among its neighbours. Where scikit-learn searches a k-d
    tree, as it does by default in up to 15 dimensions, they are the same ones. Its other searches
    may choose others.

    References
    ----------
    .. [1] M. M. Breunig, H.-P. Kriegel, R. T. Ng and J. Sander, LOF: identifying density-based
           local outliers, 2000.
    """
    return _compile_factor("LocalOutlierFactor", factor)


def compile_lof(detector: Any) -> CompiledScorer:
    """Compile ``decision_function`` of PyOD's LOF."""
    return _compile_factor("LOF", detector.detector_)


def _compile_distance(
    name: str, fitted: Any, kind: Literal["kappa", "gamma", "median"]
) -> NeighbourScorer:
    p = _p_of(name, fitted)
    training = _training_of(name, fitted)
    k = int(fitted.n_neighbors)
    if k > training.shape[0]:
        raise InvalidInputError(
            f"n_neighbors of {name} must be at most the {training.shape[0]} samples that it was "
            f"fitted on; found {k}",
            argument="n_neighbors",
        )
    return NeighbourScorer(name, training, _tree_of(fitted, training), k, p, kind)


def _compile_factor(name: str, fitted: Any) -> NeighbourScorer:
    if not fitted.novelty:
        raise InvalidInputError(
            f"novelty of {name} must be True for it to score new points; found {fitted.novelty!r}",
            argument="novelty",
        )
    p = _p_of(name, fitted)
    training = _training_of(name, fitted)
    k = int(fitted.n_neighbors_)
    # Its own attributes for these are private. Equal numbers in the same type come out equal.
    distances, rows = fitted.kneighbors(n_neighbors=k)
    if fitted._fit_X.dtype == np.float32:
        distances = distances.astype(np.float32)
    reaches, densities = (
        set_readonly(floats(values)[None]) for values in local_densities(distances, rows)
    )
    tree = _tree_of(fitted, training)
    return NeighbourScorer(name, training, tree, k, p, "lof", (reaches, densities))


def _p_of(name: str, fitted: Any) -> float:
    """Return the p of a Minkowski distance that is compiled."""
    metric = fitted.effective_metric_
    parameters = {key: x for key, x in fitted.effective_metric_params_.items() if x is not None}
    if not isinstance(metric, str) or metric not in _P or parameters:
        shown = metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric))
        options = "".join(f", {key}={value!r}" for key, value in parameters.items())
        raise InvalidInputError(
            f"metric of {name} must be 'euclidean', 'manhattan' or 'chebyshev', or 'minkowski' "
            f"with p=1, 2 or inf, to be compiled; found {shown}{options}",
            argument="metric",
        )
    return _P[metric]


def _training_of(name: str, fitted: Any) -> FloatMatrix:
    """Return the samples that a search was fitted on; no public attribute has them."""
    # One that was fitted on a tree or on another search uses the distance of that.
    if not hasattr(fitted, "n_features_in_"):
        raise InvalidInputError(
            f"{name} must be fitted on an array to be compiled; found one fitted on a search",
            argument="detector",
        )
    if not isinstance(fitted._fit_X, np.ndarray):
        raise InvalidInputError(
            f"{name} must be fitted on an array to be compiled; found a "
            f"{type(fitted._fit_X).__name__}",
            argument="detector",
        )
    return set_readonly(floats(fitted._fit_X))


def _tree_of(fitted: Any, training: FloatMatrix) -> Tree:
    """Return the k-d tree of a search, so that ties end as they do there, or another one."""
    tree = fitted._tree
    if type(tree) is not sys.modules["sklearn.neighbors"].KDTree:
        return build_tree(training)
    _, rows, nodes, _ = tree.get_arrays()
    starts = nodes["idx_start"][nodes.size // 2 :]
    return tree_from_leaves(training, rows, [*starts.tolist(), rows.size])

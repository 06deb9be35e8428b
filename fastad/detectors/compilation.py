"""``compile_scorer``: from a fitted detector to a compiled one."""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastad._core.parameters import short_repr
from fastad._core.types import FloatMatrix, FloatVector, ScoreVector
from fastad._core.user_warnings import warn_user
from fastad._kernels.geometry.draws import write_rows
from fastad.detectors import centres, density, forest, knn, support
from fastad.detectors.orientation import (
    anomaly_scores,
    is_pyod,
    kind_of,
    last_step,
    name_of,
    unwrapped,
)
from fastad.detectors.scorer import CompiledScorer, is_exactly
from fastad.detectors.transformation import after, can_compile
from fastad.errors import BatchScorerWarning, InvalidInputError, InvalidTypeError


class _Compiler(NamedTuple):
    """A class of detectors, an attribute that fitting sets, and its compiler."""

    module: str  # where users import it from
    name: str
    attribute: str
    # None where one like this has no compiled form: it scores itself.
    compile: Callable[[Any], CompiledScorer | None]


_COMPILERS = {
    (compiler.module.partition(".")[0], compiler.name): compiler
    for compiler in (
        _Compiler(
            "sklearn.ensemble", "IsolationForest", "offset_", forest.compile_isolation_forest
        ),
        _Compiler("sklearn.svm", "OneClassSVM", "offset_", support.compile_one_class_svm),
        _Compiler(
            "sklearn.neighbors",
            "LocalOutlierFactor",
            "negative_outlier_factor_",
            knn.compile_local_outlier_factor,
        ),
        _Compiler(
            "sklearn.neighbors", "NearestNeighbors", "n_samples_fit_", knn.compile_nearest_neighbors
        ),
        _Compiler("sklearn.neighbors", "KernelDensity", "tree_", density.DensityScorer),
        _Compiler("sklearn.covariance", "EllipticEnvelope", "offset_", density.MahalanobisScorer),
        _Compiler(
            "sklearn.mixture", "GaussianMixture", "precisions_cholesky_", density.MixtureScorer
        ),
        _Compiler("pyod.models.iforest", "IForest", "decision_scores_", forest.compile_iforest),
        _Compiler("pyod.models.ocsvm", "OCSVM", "decision_scores_", support.compile_ocsvm),
        _Compiler("pyod.models.knn", "KNN", "decision_scores_", knn.compile_knn),
        _Compiler("pyod.models.lof", "LOF", "decision_scores_", knn.compile_lof),
        _Compiler("pyod.models.hbos", "HBOS", "decision_scores_", density.HistogramScorer),
        _Compiler("pyod.models.pca", "PCA", "decision_scores_", centres.compile_pca),
        _Compiler("pyod.models.loda", "LODA", "decision_scores_", density.ProjectionScorer),
        _Compiler("pyod.models.cblof", "CBLOF", "decision_scores_", centres.compile_cblof),
        _Compiler("pyod.models.inne", "INNE", "decision_scores_", centres.SphereScorer),
        _Compiler("pyod.models.mcd", "MCD", "decision_scores_", density.compile_mcd),
        _Compiler("pyod.models.gmm", "GMM", "labels_", density.compile_gmm),
        _Compiler("pyod.models.kde", "KDE", "labels_", density.compile_kde),
        _Compiler("fastad.detectors.knn", "KNNDetector", "_scorer", knn.compile_knn_detector),
    )
}
# Detectors of PyOD whose score of a point depends on the others of the batch: ranks among them and
# the training data (ECOD, COPOD), or a fit to the batch itself.
_OF_BATCHES = {
    ("pyod", name) for name in ("ECOD", "COPOD", "COF", "SOS", "SOD", "LOCI", "LMDD", "ROD", "CD")
}


def check_single_points(kind: tuple[str, str], argument: str) -> None:
    """Check that a detector, by its package and class, scores each point by itself."""
    if kind in _OF_BATCHES:
        raise InvalidInputError(
            f"{argument} must score single points; {kind[1]} scores a batch together, so "
            "that the score of a point depends on the others"
        )


def compile_scorer(detector: Any) -> CompiledScorer:
    """Compile the anomaly score of a fitted detector.

    Parameters
    ----------
    detector : object
        Fitted; of scikit-learn: IsolationForest, OneClassSVM, LocalOutlierFactor
        (``novelty=True``), NearestNeighbors (the distance to the k-th neighbour), EllipticEnvelope,
        GaussianMixture, KernelDensity (gaussian), and a Pipeline of StandardScaler, MinMaxScaler,
        RobustScaler or PCA before one. Of PyOD: KNN, LOF, IForest, OCSVM, HBOS, PCA, LODA, INNE,
        CBLOF (with k-means), MCD, GMM, KDE (gaussian). A `KNNDetector`.
        Every other detector whose orientation is known scores batch by batch itself.

    Returns
    -------
    CompiledScorer
        ``score_samples(X)`` on threads, higher is more anomalous; also a detector for `volume`.

    Raises
    ------
    InvalidInputError
        If the detector is not fitted, has an option that cannot be compiled, or scores no single
        point (PyOD's ECOD, COPOD, COF, SOS, SOD, LOCI, LMDD, ROD and CD).

    Warns
    -----
    BatchScorerWarning
        If there is no compiled form, so that the detector itself scores.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> from sklearn.ensemble import IsolationForest
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> forest = IsolationForest(random_state=0).fit(X)
    >>> compiled = fastad.compile_scorer(forest)
    >>> np.allclose(compiled.score_samples(X), -forest.score_samples(X), rtol=1e-9)
    True
    """
    scorer = _compiled(detector, "detector")
    scorer.feature_names = getattr(detector, "feature_names_in_", None)
    return scorer


# Methods whose values order points. Of scikit-learn's detectors all are lower for anomalies.
_SCORING = ("score_samples", "decision_function", "predict")


def scorer_of(score: Any, argument: str) -> CompiledScorer | None:
    """Return the scorer that a score stands for; None where it is a function of its own.

    A fitted detector stands for its compiled scorer, and so does its bound method that returns the
    same scores. Methods of detectors that score normal samples higher are refused.
    """
    if isinstance(score, CompiledScorer):
        return score
    if hasattr(score, "fit") and (isinstance(score, type) or not callable(score)):
        return _compiled(score, argument)
    owner, method = getattr(score, "__self__", None), getattr(score, "__name__", "")
    if method not in _SCORING:
        return None
    if isinstance(owner, CompiledScorer | knn.KNNDetector) and method == "score_samples":
        return scorer_of(owner, argument)
    # Nothing else is asked of scikit-learn and PyOD, which are optional extras.
    libraries = {base.__module__.partition(".")[0] for base in type(owner).__mro__}
    if not libraries & {"sklearn", "pyod"}:
        return None
    step = last_step(owner)
    if is_pyod(step):
        return _compiled(owner, argument) if method == "decision_function" else None
    name = type(step).__name__
    # All of scikit-learn's are log-likelihoods, or as high for what is normal.
    is_density = type(step).__module__.startswith("sklearn.") and method == "score_samples"
    if kind_of(owner) == "outlier detector" or is_density:
        is_compiled = ("sklearn", name) in _COMPILERS
        itself = f"the fitted {name} itself, which is compiled"
        raise InvalidInputError(
            f"{argument} must be higher for what is more anomalous; found {method} of {name}, "
            f"which is lower. Give {itself if is_compiled else 'a function of its negative'}"
        )
    return None


def _compiled(fitted: Any, argument: str) -> CompiledScorer:
    if isinstance(fitted, type):
        raise InvalidTypeError(
            f"{argument} must be a fitted detector; found the class {fitted.__name__}"
        )
    fitted = unwrapped(fitted)
    kind = type(fitted).__module__.partition(".")[0], type(fitted).__name__
    check_single_points(kind, argument)
    if kind in _COMPILERS:
        compiler = _COMPILERS[kind]
        _check_class(fitted, compiler.module, compiler.name, argument)
        if not hasattr(fitted, compiler.attribute):
            raise InvalidInputError(f"{argument} must be fitted; found an unfitted {compiler.name}")
        scorer = compiler.compile(fitted)
        return BatchScorer(fitted, argument) if scorer is None else scorer
    if kind == ("sklearn", "Pipeline") and all(can_compile(step) for _, step in fitted.steps[:-1]):
        _check_class(fitted, "sklearn.pipeline", "Pipeline", argument)
        *before, (_, last) = fitted.steps
        scorer = _compiled(last, argument)
        for name, step in reversed(before):
            if step is not None and not (isinstance(step, str) and step == "passthrough"):
                scorer = after(step, scorer, f"step {name!r}")
        return scorer
    return BatchScorer(fitted, argument)


def _check_class(fitted: Any, module: str, name: str, argument: str) -> None:
    if not is_exactly(fitted, module, name):
        raise InvalidInputError(
            f"{argument} must be the {name} of {module}, and no subclass; found "
            f"{type(fitted).__module__}.{type(fitted).__qualname__}"
        )


class BatchScorer(CompiledScorer):
    """A detector that has no compiled form and scores one batch after the other."""

    on_threads = False

    def __init__(self, fitted: Any, argument: str) -> None:
        if kind_of(fitted) not in ("outlier detector", "PyOD detector"):
            raise InvalidInputError(
                f"{argument} must be a detector of scikit-learn or PyOD; found "
                f"{short_repr(type(fitted).__name__)}. Any function of a batch is a score as it is"
            )
        self._set(fitted, anomaly_scores)
        warn_user(
            f"{self.name} has no compiled form: it scores batch by batch, on one thread",
            BatchScorerWarning,
        )

    def _set(self, fitted: Any, scores: Callable[[Any, Any], ScoreVector]) -> None:
        # PyOD's detectors do not have it.
        self.n_features = getattr(fitted, "n_features_in_", None)
        self.name = name_of(fitted)
        self._columns = getattr(fitted, "feature_names_in_", None)
        self._fitted, self._scores = fitted, scores

    def __repr__(self) -> str:
        return f"<BatchScorer of {self.name}>"

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the detector's own scores of a batch."""
        rows = np.empty((points.shape[1], points.shape[0]))
        write_rows(points, rows)
        scores[:] = self._scores(self._fitted, self._named(rows))

    def _named(self, rows: FloatMatrix) -> Any:
        """Return rows with the names of the frame that the detector was fitted on, if it was."""
        if self._columns is None:
            return rows
        try:
            # Here, because pandas is an optional extra.
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError:
            return rows
        return pandas.DataFrame(rows, columns=self._columns)

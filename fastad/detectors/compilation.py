"""``compile_scorer``: from a fitted detector to a compiled one."""

import importlib
import warnings
from typing import Any

import numpy as np

from fastad._core.parameters import short_repr
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.geometry.draws import write_rows
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import BatchScorerWarning, InvalidInputError

# Class, by its package and name, and who compiles it: module and function under this package.
_COMPILERS = {
    ("sklearn", "Pipeline"): ("linear", "compile_pipeline"),
    ("sklearn", "IsolationForest"): ("forest", "compile_forest"),
    ("sklearn", "OneClassSVM"): ("support", "compile_one_class_svm"),
    ("sklearn", "LocalOutlierFactor"): ("knn", "compile_local_outlier_factor"),
    ("sklearn", "NearestNeighbors"): ("knn", "compile_nearest_neighbors"),
    ("sklearn", "EllipticEnvelope"): ("density", "compile_elliptic_envelope"),
    ("sklearn", "GaussianMixture"): ("density", "compile_gaussian_mixture"),
    ("sklearn", "KernelDensity"): ("density", "compile_kernel_density"),
    ("pyod", "IForest"): ("forest", "compile_forest"),
    ("pyod", "OCSVM"): ("support", "compile_ocsvm"),
    ("pyod", "KNN"): ("knn", "compile_knn"),
    ("pyod", "LOF"): ("knn", "compile_lof"),
    ("pyod", "HBOS"): ("density", "compile_hbos"),
    ("pyod", "PCA"): ("linear", "compile_pca"),
    ("fastad", "KNNDetector"): ("knn", "compile_knn_detector"),
}
_SCALERS = ("StandardScaler", "MinMaxScaler")
# Detectors that score a batch by the ranks of its points among themselves and the training data.
OF_BATCHES = {("pyod", "ECOD"), ("pyod", "COPOD")}


def compile_scorer(fitted: Any) -> CompiledScorer:
    """Compile the anomaly score of a fitted detector.

    Parameters
    ----------
    fitted : object
        Of scikit-learn: IsolationForest, OneClassSVM, LocalOutlierFactor (``novelty=True``),
        NearestNeighbors (the distance to the k-th neighbour), EllipticEnvelope, GaussianMixture,
        KernelDensity (gaussian), and a Pipeline of StandardScaler or MinMaxScaler before one. Of
        PyOD: KNN, LOF, IForest, OCSVM, HBOS, PCA. A `KNNDetector`. Every other detector whose
        orientation is known is asked batch by batch.

    Returns
    -------
    CompiledScorer
        ``score_samples(X)`` on threads, higher is more anomalous; also a score for `volume`.

    Raises
    ------
    InvalidInputError
        If the detector is not fitted, has an option that cannot be compiled, or scores no single
        point (PyOD's ECOD and COPOD).

    Warns
    -----
    BatchScorerWarning
        If there is no compiled form, so that the detector itself is asked.

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
    while hasattr(fitted, "best_estimator_"):
        fitted = fitted.best_estimator_
    kind = type(fitted).__module__.partition(".")[0], type(fitted).__name__
    if kind in OF_BATCHES:
        raise InvalidInputError(
            f"fitted must score single points; {kind[1]} scores a batch together with the training "
            "data, so that the score of a point depends on the others",
            argument="fitted",
        )
    if kind in _COMPILERS and _is_scaled_only(fitted, kind[1]):
        module, function = _COMPILERS[kind]
        compiler = getattr(importlib.import_module(f"fastad.detectors.{module}"), function)
        if function == "compile_pipeline":
            compiled: CompiledScorer = compiler(fitted, compile_scorer)
        else:
            compiled = compiler(fitted)
        return compiled
    return BatchScorer(fitted)


def _is_scaled_only(fitted: Any, name: str) -> bool:
    """Tell whether nothing but scalers stands before the detector."""
    if name != "Pipeline":
        return True
    before = [step for _, step in fitted.steps[:-1]]
    return all(
        step is None or isinstance(step, str) or type(step).__name__ in _SCALERS for step in before
    )


class BatchScorer(CompiledScorer):
    """A detector that has no compiled form, asked for one batch after the other."""

    on_threads = False

    def __init__(self, fitted: Any) -> None:
        # Here, because scikit-learn is an optional extra.
        from fastad.detectors.orientation import anomaly_scores, kind_of, name_of

        if kind_of(fitted) not in ("outlier detector", "PyOD detector"):
            raise InvalidInputError(
                "fitted must be a detector of scikit-learn or PyOD; found "
                f"{short_repr(type(fitted).__name__)}. Any function of a batch is a score as it is",
                argument="fitted",
            )
        # PyOD's detectors do not tell.
        self.n_features = getattr(fitted, "n_features_in_", None)
        self.name = name_of(fitted)
        self._fitted, self._scores = fitted, anomaly_scores
        warnings.warn(
            f"{self.name} has no compiled form: it is asked batch by batch, on one thread",
            BatchScorerWarning,
            stacklevel=3,
        )

    def __repr__(self) -> str:
        return f"<BatchScorer of {self.name}>"

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Ask the detector for the scores of a batch."""
        rows = np.empty((points.shape[1], points.shape[0]))
        write_rows(points, rows)
        scores[:] = self._scores(self._fitted, rows)

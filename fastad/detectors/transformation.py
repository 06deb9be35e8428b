"""Steps of pipelines before a compiled scorer: scaling, principal components."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.geometry.linear import multiply
from fastad.detectors.scorer import CompiledScorer, floats, is_exactly
from fastad.errors import InvalidInputError


def can_compile(step: Any) -> bool:
    """Return whether a step of a pipeline has a compiled form, or does nothing."""
    return step is None or isinstance(step, str) or type(step).__name__ in _STEPS


def after(step: Any, inner: CompiledScorer, argument: str = "scaler") -> CompiledScorer:
    """Put a fitted step of scikit-learn before a scorer.

    The same operations as in scikit-learn in the same order, in double precision. (scikit-learn
    transforms single precision in single precision.)
    """
    name = type(step).__name__
    module, compiled = _STEPS.get(name, ("", None))
    if compiled is None or not is_exactly(step, module, name):
        raise InvalidInputError(
            f"{argument} must be one of {', '.join(_STEPS)} of scikit-learn to be compiled; found "
            f"{type(step).__module__}.{type(step).__qualname__}"
        )
    if not hasattr(step, "n_features_in_"):
        raise InvalidInputError(f"{argument} must be fitted; found an unfitted {name}")
    n_returned = step.n_components_ if name == "PCA" else step.n_features_in_
    if inner.n_features not in (None, n_returned):
        raise InvalidInputError(
            f"{argument} must return the {inner.n_features} features of {inner.name}; "
            f"found {n_returned}"
        )
    return _TransformedScorer(inner, compiled(step), int(step.n_features_in_))


class _Transformation(Protocol):
    """A fitted step, compiled; it does not change, so that threads may share it."""

    def apply(self, points: FloatMatrix) -> FloatMatrix:
        """Return the points (n_features, n_points) transformed; they may be overwritten."""


class _TransformedScorer(CompiledScorer):
    def __init__(self, inner: CompiledScorer, step: _Transformation, n_features: int) -> None:
        self.name = inner.name
        self.n_features = n_features
        self.on_threads = inner.on_threads
        self._inner = inner
        self._step = step

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        self._inner.score_block(self._step.apply(points), scores)

    def count_below(
        self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector, scores: FloatVector
    ) -> None:
        self._inner.count_below(self._step.apply(points), thresholds, counts, scores)


class _Scaling(NamedTuple):
    """Operations on coordinates, in this order; None is left out."""

    subtract: FloatMatrix | None = None
    divide: FloatMatrix | None = None
    multiply: FloatMatrix | None = None
    add: FloatMatrix | None = None
    clip: tuple[float, float] | None = None

    def apply(self, points: FloatMatrix) -> FloatMatrix:
        if self.subtract is not None:
            points -= self.subtract
        if self.divide is not None:
            points /= self.divide
        if self.multiply is not None:
            points *= self.multiply
        if self.add is not None:
            points += self.add
        if self.clip is not None:
            points.clip(*self.clip, out=points)
        return points


def _standard(scaler: Any) -> _Scaling:
    return _Scaling(
        subtract=_column(scaler.mean_) if scaler.with_mean else None,
        divide=_column(scaler.scale_) if scaler.with_std else None,
    )


def _robust(scaler: Any) -> _Scaling:
    return _Scaling(
        subtract=_column(scaler.center_) if scaler.with_centering else None,
        divide=_column(scaler.scale_) if scaler.with_scaling else None,
    )


def _min_max(scaler: Any) -> _Scaling:
    low, high = scaler.feature_range
    return _Scaling(
        multiply=_column(scaler.scale_),
        add=_column(scaler.min_),
        clip=(float(low), float(high)) if scaler.clip else None,
    )


def _column(values: Any) -> FloatMatrix:
    return floats(values)[:, None]


class _Projection:
    """Coordinates on principal components, as scikit-learn's to rounding, which uses BLAS."""

    def __init__(self, pca: Any) -> None:
        self._components = floats(pca.components_)
        self._offset = self._times(_column(pca.mean_))
        self._divide = None
        if pca.whiten:
            spread = np.sqrt(floats(pca.explained_variance_))
            self._divide = np.maximum(spread, np.finfo(np.float64).eps)[:, None]

    def apply(self, points: FloatMatrix) -> FloatMatrix:
        projected = self._times(points)
        projected -= self._offset
        if self._divide is not None:
            projected /= self._divide
        return projected

    def _times(self, points: FloatMatrix) -> FloatMatrix:
        product = np.empty((self._components.shape[0], points.shape[1]))
        multiply(self._components, points, product)
        return product


_Compile: TypeAlias = Callable[[Any], _Transformation]
# By name of class: the module that users import it from, and its compiler.
_STEPS: Mapping[str, tuple[str, _Compile]] = {
    "StandardScaler": ("sklearn.preprocessing", _standard),
    "MinMaxScaler": ("sklearn.preprocessing", _min_max),
    "RobustScaler": ("sklearn.preprocessing", _robust),
    "PCA": ("sklearn.decomposition", _Projection),
}

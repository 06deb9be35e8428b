"""Scaling before a compiled scorer, and principal components."""

from typing import Any, NamedTuple

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.detectors.support import sum_distances
from fastad.detectors.scorer import CompiledScorer, floats, is_exactly
from fastad.errors import InvalidInputError


def scaled(scaler: Any, inner: CompiledScorer, argument: str = "scaler") -> CompiledScorer:
    """Put a fitted StandardScaler or MinMaxScaler before a scorer.

    The same operations as in scikit-learn in the same order, in double precision. (scikit-learn
    scales single precision in single precision.)
    """
    scaling = _scaling_of(scaler, argument)
    if scaler.n_features_in_ != inner.n_features:
        raise InvalidInputError(
            f"{argument} must be fitted to the {inner.n_features} features of {inner.name}; "
            f"found {scaler.n_features_in_}",
            argument=argument,
        )
    return _ScaledScorer(inner, scaling)


class _Scaling(NamedTuple):
    """What is done to coordinates, in this order; None is left out."""

    subtract: FloatMatrix | None = None
    divide: FloatMatrix | None = None
    multiply: FloatMatrix | None = None
    add: FloatMatrix | None = None
    clip: tuple[float, float] | None = None

    def apply(self, points: FloatMatrix) -> None:
        """Scale points of shape (n_features, n_points) where they are."""
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


class _ScaledScorer(CompiledScorer):
    """Scorer of scaled points."""

    def __init__(self, inner: CompiledScorer, scaling: _Scaling) -> None:
        self.name = inner.name
        self.n_features = inner.n_features
        self.on_threads = inner.on_threads
        self._inner = inner
        self._scaling = scaling

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        self._scaling.apply(points)
        self._inner.score_block(points, scores)

    def count_below(
        self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector, scores: FloatVector
    ) -> None:
        self._scaling.apply(points)
        self._inner.count_below(points, thresholds, counts, scores)


def _scaling_of(scaler: Any, argument: str) -> _Scaling:
    standard = is_exactly(scaler, "sklearn.preprocessing", "StandardScaler")
    if not standard and not is_exactly(scaler, "sklearn.preprocessing", "MinMaxScaler"):
        raise InvalidInputError(
            f"{argument} must be a StandardScaler or a MinMaxScaler to be compiled; found "
            f"{type(scaler).__module__}.{type(scaler).__qualname__}",
            argument=argument,
        )
    if not hasattr(scaler, "n_features_in_"):
        raise InvalidInputError(
            f"{argument} must be fitted; found an unfitted {type(scaler).__name__}",
            argument=argument,
        )
    if standard:
        return _Scaling(
            subtract=_column(scaler.mean_) if scaler.with_mean else None,
            divide=_column(scaler.scale_) if scaler.with_std else None,
        )
    low, high = scaler.feature_range
    return _Scaling(
        multiply=_column(scaler.scale_),
        add=_column(scaler.min_),
        clip=(float(low), float(high)) if scaler.clip else None,
    )


def _column(values: Any) -> FloatMatrix:
    return floats(values)[:, None]


def compile_pca(detector: Any) -> CompiledScorer:
    """Compile PyOD's PCA, which may scale before."""
    scorer = ComponentScorer(detector)
    return scaled(detector.scaler_, scorer) if detector.standardization else scorer


class ComponentScorer(CompiledScorer):
    """``decision_function`` of PyOD's PCA.

    That is the sum over components of the distance from the point to the tip of the component's
    unit vector, divided by the component's weight.
    """

    name = "PCA"
    kernel = sum_distances

    def __init__(self, detector: Any) -> None:
        components = floats(detector.selected_components_)
        self.n_features = components.shape[1]
        self.arguments = (components, floats(detector.selected_w_components_))

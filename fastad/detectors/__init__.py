"""Fitted detectors as compiled scorers of one orientation."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.detectors.compilation import compile_scorer as compile_scorer
    from fastad.detectors.knn import KNNDetector as KNNDetector
    from fastad.detectors.onnx_models import onnx_scorer as onnx_scorer
    from fastad.detectors.scorer import CompiledScorer as CompiledScorer

__getattr__, __dir__, __all__ = lazy_names()

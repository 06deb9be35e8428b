"""Principal components as a detector."""

from typing import Any

from fastad._kernels.detectors.support import sum_distances
from fastad.detectors.scorer import CompiledScorer, floats
from fastad.detectors.transformation import after


def compile_pca(detector: Any) -> CompiledScorer:
    """Compile PyOD's PCA, which may scale before."""
    scorer = ComponentScorer(detector)
    return after(detector.scaler_, scorer) if detector.standardization else scorer


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

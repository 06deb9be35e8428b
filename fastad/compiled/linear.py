"""PyOD's principal components as a compiled scorer."""

from typing import Any

from fastad._kernels.support import sum_distances
from fastad.compiled.fitted import check_fitted, floats
from fastad.compiled.scaling import scaled
from fastad.compiled.scorer import CompiledScorer


def compile_pca(fitted: Any) -> CompiledScorer:
    """Compile a fitted PCA detector of PyOD.

    The score is what PyOD computes: the sum over components of the distance from the point to the
    tip of the component's unit vector, divided by the component's weight.

    Parameters
    ----------
    fitted : pyod.models.pca.PCA

    Returns
    -------
    CompiledScorer
        Of ``decision_function``.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, or not fitted.
    """
    check_fitted(fitted, "pyod.models.pca", "PCA", "decision_scores_")
    scorer = _ComponentScorer(fitted)
    return scaled(fitted.scaler_, scorer) if fitted.standardization else scorer


class _ComponentScorer(CompiledScorer):
    name = "PCA"
    kernel = sum_distances

    def __init__(self, detector: Any) -> None:
        components = floats(detector.selected_components_)
        self.n_features = components.shape[1]
        self.arguments = (components, floats(detector.selected_w_components_))

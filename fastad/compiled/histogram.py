"""PyOD's histograms as a compiled scorer."""

from typing import Any

import numpy as np

from fastad._kernels.histogram import sum_of_bins
from fastad._types import FloatMatrix, FloatVector
from fastad.compiled.fitted import check_fitted, floats
from fastad.compiled.scorer import CompiledScorer


def compile_hbos(fitted: Any) -> CompiledScorer:
    """Compile a fitted histogram detector (HBOS) of PyOD.

    Parameters
    ----------
    fitted : pyod.models.hbos.HBOS
        Of a number of bins, or "auto".

    Returns
    -------
    CompiledScorer
        Of ``decision_function``.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, or not fitted.

    References
    ----------
    .. [1] M. Goldstein and A. Dengel, Histogram-based outlier score (HBOS), 2012.
    """
    check_fitted(fitted, "pyod.models.hbos", "HBOS", "decision_scores_")
    return _HistogramScorer(fitted)


class _HistogramScorer(CompiledScorer):
    name = "HBOS"

    def __init__(self, detector: Any) -> None:
        # With "auto" lists by feature, otherwise matrices with the features in columns.
        by_feature = isinstance(detector.hist_, list)
        densities = detector.hist_ if by_feature else detector.hist_.T
        edges = detector.bin_edges_ if by_feature else detector.bin_edges_.T
        self.n_features = d = len(densities)
        self._n_bins = np.array([len(density) for density in densities])
        most = int(self._n_bins.max())
        # The search halves a number of edges that is one less than a power of two.
        self._edges = np.full((d, 2 ** (most + 1).bit_length() - 1), np.inf)
        self._margins = np.empty((d, 2))
        self._worths = np.zeros((d, most + 2))
        for j, n_bins in enumerate(self._n_bins):
            own, logs = floats(edges[j]), np.log2(floats(densities[j]) + detector.alpha)
            self._edges[j, : n_bins + 1] = own
            self._margins[j] = (own[1] - own[0], own[-1] - own[-2])
            self._worths[j, : n_bins + 2] = -np.concatenate([[logs.min()], logs, [logs.min()]])
        self._margins *= detector.tol

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        sum_of_bins(points, self._edges, self._n_bins, self._margins, self._worths, scores)

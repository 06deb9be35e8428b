"""PyOD's histograms as a compiled scorer."""

from typing import Any

import numpy as np

from fastad._kernels.histogram import sum_of_bins
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
    kernel = sum_of_bins

    def __init__(self, detector: Any) -> None:
        # With "auto" lists by feature, otherwise matrices with the features in columns.
        by_feature = isinstance(detector.hist_, list)
        densities = detector.hist_ if by_feature else detector.hist_.T
        edges = detector.bin_edges_ if by_feature else detector.bin_edges_.T
        self.n_features = d = len(densities)
        counts = np.array([len(density) for density in densities])
        most = int(counts.max())
        # The search halves a number of edges that is one less than a power of two.
        rising = np.full((d, 2 ** (most + 1).bit_length() - 1), np.inf)
        margins = np.empty((d, 2))
        worths = np.zeros((d, most + 2))
        for j, n_bins in enumerate(counts):
            own, logs = floats(edges[j]), np.log2(floats(densities[j]) + detector.alpha)
            rising[j, : n_bins + 1] = own
            margins[j] = (own[1] - own[0], own[-1] - own[-2])
            worths[j, : n_bins + 2] = -np.concatenate([[logs.min()], logs, [logs.min()]])
        self.arguments = (rising, counts, margins * detector.tol, worths)

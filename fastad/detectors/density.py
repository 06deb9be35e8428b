"""Detectors by densities (normal, mixtures, kernels, histograms) as compiled scorers."""

import math
from typing import Any

import numpy as np

from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.detectors.gaussian import (
    diagonal_exponents,
    full_exponents,
    negative_log_sum,
    quadratic_form,
)
from fastad._kernels.detectors.histogram import sum_of_bins
from fastad._kernels.detectors.support import log_sum_gaussians
from fastad.detectors.scorer import CompiledScorer, floats
from fastad.errors import InvalidInputError


class MahalanobisScorer(CompiledScorer):
    """``-score_samples`` of an EllipticEnvelope: the squared Mahalanobis distance."""

    name = "EllipticEnvelope"
    kernel = quadratic_form

    def __init__(self, envelope: Any) -> None:
        precision = floats(envelope.get_precision())
        self.n_features = precision.shape[0]
        # Not by a triangular factor: a pseudo-inverse, as of data on a plane, need not have one.
        upper = np.triu(precision) + np.tril(precision, -1).T
        self.arguments = (floats(envelope.location_), upper)


class MixtureScorer(CompiledScorer):
    """``-score_samples`` of a GaussianMixture: the negative logarithm of the density.

    Fitted in single precision, the original scores in it in part, and agrees to that only.
    """

    name = "GaussianMixture"

    def __init__(self, mixture: Any) -> None:
        self._means = floats(mixture.means_)
        n_components, d = self._means.shape
        self.n_features = d
        factors = floats(mixture.precisions_cholesky_)
        self._full = mixture.covariance_type in ("full", "tied")
        if self._full:
            self._factors = floats(np.broadcast_to(factors, (n_components, d, d)))
            diagonals = np.diagonal(self._factors, axis1=1, axis2=2)
        else:
            columns = factors.reshape(n_components, -1)  # one a component if spherical
            self._factors = diagonals = floats(np.broadcast_to(columns, (n_components, d)))
        with np.errstate(divide="ignore"):  # a component may have no weight
            log_weights = np.log(floats(mixture.weights_))
        log_determinants = np.log(diagonals).sum(axis=1)
        self._constants = log_weights + log_determinants - 0.5 * d * math.log(2.0 * math.pi)

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of some points, as said by `CompiledScorer`."""
        exponents = np.empty((self._constants.shape[0], points.shape[1]))
        write_exponents = full_exponents if self._full else diagonal_exponents
        write_exponents(points, self._means, self._factors, self._constants, exponents)
        negative_log_sum(exponents, scores)


class DensityScorer(CompiledScorer):
    """``-score_samples`` of a KernelDensity: the negative logarithm of the density.

    The compiled density is the sum over all samples. The original may stop at its tolerances
    ``atol`` and ``rtol``: with both at 0 it is that sum, too. A score takes time in proportion to
    the samples times the features.
    """

    name = "KernelDensity"

    def __init__(self, density: Any) -> None:
        for option, value in (("kernel", "gaussian"), ("metric", "euclidean")):
            if getattr(density, option) != value:
                raise InvalidInputError(
                    f"{option} must be {value!r} to be compiled; "
                    f"found {getattr(density, option)!r}",
                    argument=option,
                )
        samples, weights = floats(density.tree_.data), density.tree_.sample_weight
        self.n_features = samples.shape[1]
        weights = np.ones(samples.shape[0]) if weights is None else floats(weights)
        # The nearest sample must count, as the largest term of a sum.
        self._samples, self._weights = samples[weights > 0], weights[weights > 0]
        width = float(density.bandwidth_)
        self._rate = 0.5 / (width * width * math.log(2.0))
        self._constant = math.log(weights.sum()) + self.n_features * (
            0.5 * math.log(2.0 * math.pi) + math.log(width)
        )

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of some points, as said by `CompiledScorer`."""
        log_sum_gaussians(points, self._samples, self._weights, self._rate, scores)
        scores += self._constant


class HistogramScorer(CompiledScorer):
    """``decision_function`` of PyOD's HBOS, of a number of bins or "auto".

    References
    ----------
    .. [1] M. Goldstein and A. Dengel, Histogram-based outlier score (HBOS), 2012.
    """

    name = "HBOS"
    kernel = sum_of_bins

    def __init__(self, detector: Any) -> None:
        # With "auto" lists by feature, otherwise matrices with the features in columns.
        by_feature = isinstance(detector.hist_, list)
        densities = detector.hist_ if by_feature else detector.hist_.T
        edges = detector.bin_edges_ if by_feature else detector.bin_edges_.T
        self.n_features = d = len(densities)
        counts = np.array([len(density) for density in densities])
        n_most = int(counts.max())
        # The search halves a number of edges that is one less than a power of two.
        rising = np.full((d, 2 ** (n_most + 1).bit_length() - 1), np.inf)
        margins = np.empty((d, 2))
        values = np.zeros((d, n_most + 2))
        for j, n_bins in enumerate(counts):
            bounds, logs = floats(edges[j]), np.log2(floats(densities[j]) + detector.alpha)
            rising[j, : n_bins + 1] = bounds
            margins[j] = (bounds[1] - bounds[0], bounds[-1] - bounds[-2])
            values[j, : n_bins + 2] = -np.concatenate([[logs.min()], logs, [logs.min()]])
        self.arguments = (rising, counts, margins * detector.tol, values)

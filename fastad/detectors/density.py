"""Detectors of normal densities as compiled scorers."""

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
from fastad.detectors.scorer import CompiledScorer, check_fitted, floats
from fastad.errors import InvalidInputError


def compile_elliptic_envelope(fitted: Any) -> CompiledScorer:
    """Compile a fitted elliptic envelope.

    Parameters
    ----------
    fitted : sklearn.covariance.EllipticEnvelope

    Returns
    -------
    CompiledScorer
        Of ``-score_samples``, which is the squared Mahalanobis distance.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, or not fitted.
    """
    check_fitted(fitted, "sklearn.covariance", "EllipticEnvelope", "offset_")
    return _MahalanobisScorer(fitted)


class _MahalanobisScorer(CompiledScorer):
    name = "EllipticEnvelope"
    kernel = quadratic_form

    def __init__(self, envelope: Any) -> None:
        precision = floats(envelope.get_precision())
        self.n_features = precision.shape[0]
        # Not by a triangular factor: a pseudo-inverse, as of data on a plane, need not have one.
        upper = np.triu(precision) + np.tril(precision, -1).T
        self.arguments = (floats(envelope.location_), upper)


def compile_gaussian_mixture(fitted: Any) -> CompiledScorer:
    """Compile a fitted mixture of normal distributions.

    Parameters
    ----------
    fitted : sklearn.mixture.GaussianMixture
        Of any covariance type. Fitted in single precision, the original scores in it in part, and
        agrees to that only.

    Returns
    -------
    CompiledScorer
        Of ``-score_samples``, the negative logarithm of the density.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, or not fitted.
    """
    check_fitted(fitted, "sklearn.mixture", "GaussianMixture", "precisions_cholesky_")
    return _MixtureScorer(fitted)


class _MixtureScorer(CompiledScorer):
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
        exponents = np.empty((self._constants.shape[0], points.shape[1]))
        write_exponents = full_exponents if self._full else diagonal_exponents
        write_exponents(points, self._means, self._factors, self._constants, exponents)
        negative_log_sum(exponents, scores)


def compile_kernel_density(fitted: Any) -> CompiledScorer:
    """Compile a fitted kernel density estimate.

    The compiled density is the sum over all samples. The original may stop at its tolerances
    ``atol`` and ``rtol``: with both at 0 it is that sum, too. A score takes time in proportion to
    the samples times the features.

    Parameters
    ----------
    fitted : sklearn.neighbors.KernelDensity
        Of the normal kernel and the Euclidean metric; samples may have weights.

    Returns
    -------
    CompiledScorer
        Of ``-score_samples``, the negative logarithm of the density.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, not fitted, or has another kernel or metric.
    """
    check_fitted(fitted, "sklearn.neighbors", "KernelDensity", "tree_")
    if fitted.kernel != "gaussian":
        raise InvalidInputError(
            f"kernel must be 'gaussian' to be compiled; found {fitted.kernel!r}",
            argument="kernel",
        )
    if fitted.metric != "euclidean":
        raise InvalidInputError(
            f"metric must be 'euclidean' to be compiled; found {fitted.metric!r}",
            argument="metric",
        )
    return _DensityScorer(fitted)


class _DensityScorer(CompiledScorer):
    name = "KernelDensity"

    def __init__(self, density: Any) -> None:
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
        log_sum_gaussians(points, self._samples, self._weights, self._rate, scores)
        scores += self._constant


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

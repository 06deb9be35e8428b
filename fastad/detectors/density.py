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
from fastad._kernels.geometry.linear import multiply
from fastad.detectors.scorer import CompiledScorer, floats
from fastad.errors import InvalidInputError

# Points that are projected together.
_PROJECTED = 2048


class MahalanobisScorer(CompiledScorer):
    """``-score_samples`` of an EllipticEnvelope: the squared Mahalanobis distance."""

    kernel = quadratic_form

    def __init__(self, envelope: Any, name: str = "EllipticEnvelope") -> None:
        self.name = name
        precision = floats(envelope.get_precision())
        self.n_features = precision.shape[0]
        # Not by a triangular factor: a pseudo-inverse, as of data on a plane, need not have one.
        upper = np.triu(precision) + np.tril(precision, -1).T
        self.arguments = (floats(envelope.location_), upper)


def compile_mcd(detector: Any) -> CompiledScorer:
    """Compile ``decision_function`` of PyOD's MCD: the squared Mahalanobis distance."""
    return MahalanobisScorer(detector.detector_, "MCD")


def compile_gmm(detector: Any) -> CompiledScorer:
    """Compile ``decision_function`` of PyOD's GMM."""
    return MixtureScorer(detector.detector_, "GMM")


def compile_kde(detector: Any) -> CompiledScorer | None:
    """Compile ``decision_function`` of PyOD's KDE with its own metric; others score themselves."""
    return DensityScorer(detector.kde_, "KDE") if _is_euclidean(detector.kde_) else None


def _is_euclidean(density: Any) -> bool:
    # The default p of Minkowski's distance is 2; with parameters the metric may be another.
    if density.metric == "minkowski":
        return density.metric_params is None
    return bool(density.metric == "euclidean")


class MixtureScorer(CompiledScorer):
    """``-score_samples`` of a GaussianMixture: the negative logarithm of the density.

    Fitted in single precision, the original scores in it in part, and agrees to that only.
    """

    def __init__(self, mixture: Any, name: str = "GaussianMixture") -> None:
        self.name = name
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

    The compiled density is the sum over all samples. The original's tree stops at its tolerances
    ``atol`` and ``rtol``, and loses digits far from all samples, also with both at 0: of small
    bandwidths take the compiled scores for thresholds, too. A score takes time in proportion to the
    samples times the features.
    """

    def __init__(self, density: Any, name: str = "KernelDensity") -> None:
        self.name = name
        for option, value, is_right in (
            ("kernel", "gaussian", density.kernel == "gaussian"),
            ("metric", "euclidean", _is_euclidean(density)),
        ):
            if not is_right:
                raise InvalidInputError(
                    f"{option} must be {value!r} to be compiled; found {getattr(density, option)!r}"
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


class ProjectionScorer(CompiledScorer):
    """``decision_function`` of PyOD's LODA, of a number of bins or "auto".

    The mean over random directions of minus the logarithm of the bin's relative frequency. As in
    the original, a bin holds its upper edge, and is the one above the bin of the histogram's count.
    Where the projection of a point is an edge, as of the lowest training point in a direction,
    it may lie on the other side of it by rounding.

    References
    ----------
    .. [1] T. Pevny, Loda: lightweight on-line detector of anomalies, 2016.
    """

    name = "LODA"

    def __init__(self, detector: Any) -> None:
        self._directions = floats(detector.projections_)
        n_directions, self.n_features = self._directions.shape
        weights = floats(detector.weights) / n_directions
        counts = np.array([len(histogram) for histogram in detector.histograms_])
        n_most = int(counts.max())
        # As for `HistogramScorer`; only the lowest edges count, one less than there are bins.
        edges = np.full((n_directions, 2 ** (n_most + 1).bit_length() - 1), np.inf)
        values = np.zeros((n_directions, n_most + 2))
        for j, n_bins in enumerate(counts):
            edges[j, : n_bins - 1] = detector.limits_[j][: n_bins - 1]
            values[j, :n_bins] = -weights[j] * np.log(detector.histograms_[j])
        # Nothing outside of the bins is near them: the search alone decides.
        margins = np.column_stack([np.full(n_directions, -np.inf), np.full(n_directions, np.inf)])
        self._bins = (edges, counts - 1, margins, values)

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of some points, as said by `CompiledScorer`."""
        # Not all at once: there are often a hundred directions.
        for start in range(0, points.shape[1], _PROJECTED):
            some = np.ascontiguousarray(points[:, start : start + _PROJECTED])
            projected = np.empty((self._directions.shape[0], some.shape[1]))
            multiply(self._directions, some, projected)
            sum_of_bins(projected, scores[start : start + _PROJECTED], *self._bins)

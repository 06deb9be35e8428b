"""Detectors by distances from a few points, compiled: PyOD's CBLOF, INNE and PCA."""

from typing import Any

import numpy as np

from fastad._kernels.detectors.centres import distance_to_large, mean_of_spheres
from fastad._kernels.detectors.support import sum_distances, write_squared_distances
from fastad.detectors.scorer import CompiledScorer, floats, is_exactly
from fastad.detectors.transformation import after


def compile_cblof(detector: Any) -> CompiledScorer | None:
    """Compile ``decision_function`` of PyOD's CBLOF where k-means found the clusters.

    Other clusterings assign new points by rules of their own: None, and they score themselves.
    """
    clusters = detector.clustering_estimator_
    kinds = ("KMeans", "MiniBatchKMeans")
    is_known = any(is_exactly(clusters, "sklearn.cluster", kind) for kind in kinds)
    return ClusterScorer(detector) if is_known else None


class ClusterScorer(CompiledScorer):
    """Distance to the nearest large cluster's centre, times the size of the point's own cluster.

    The size counts with ``use_weights`` only. A point belongs to the nearest centre, by distances
    from differences: k-means itself takes products, and rounds otherwise where two centres are
    equally far.

    References
    ----------
    .. [1] Z. He, X. Xu and S. Deng, Discovering cluster-based local outliers, 2003.
    """

    name = "CBLOF"
    kernel = distance_to_large

    def __init__(self, detector: Any) -> None:
        centres = floats(detector.cluster_centers_)
        self.n_features = centres.shape[1]
        n_centres = centres.shape[0]
        factors = floats(detector.cluster_sizes_) if detector.use_weights else np.ones(n_centres)
        large = np.zeros(n_centres, np.bool_)
        large[detector.large_cluster_labels_] = True
        self.arguments = (centres, factors, large)


class SphereScorer(CompiledScorer):
    """``decision_function`` of PyOD's INNE, isolation by nearest-neighbour spheres.

    The radius of a sphere is the distance from its centre to the nearest other centre of its set,
    which thus lies on its surface, and inside. Here both distances have the same bits; the original
    takes them as differences of products, in which such a point may lie outside by rounding.

    References
    ----------
    .. [1] T. R. Bandaragoda et al., Isolation-based anomaly detection using nearest-neighbor
           ensembles, 2018.
    """

    name = "INNE"
    kernel = mean_of_spheres

    def __init__(self, detector: Any) -> None:
        centres = floats(detector._centroids)
        n_sets, size, self.n_features = centres.shape
        radii = np.empty((n_sets, size))
        squares = np.empty(size)
        for centres_of_set, radii_of_set in zip(centres, radii, strict=True):
            others = np.ascontiguousarray(centres_of_set.T)
            for i, centre in enumerate(centres_of_set):
                write_squared_distances(others, 0, centre, squares)
                squares[i] = np.inf
                radii_of_set[i] = squares.min()
        # Among equally large spheres the first counts: it comes last.
        order = np.argsort(radii, axis=1, kind="stable")[:, ::-1]
        self.arguments = (
            np.take_along_axis(centres, order[:, :, None], 1).reshape(-1, self.n_features),
            np.take_along_axis(radii, order, 1).ravel(),
            np.take_along_axis(floats(detector._ratio), order, 1).ravel(),
            size,
        )


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

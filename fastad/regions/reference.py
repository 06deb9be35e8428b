"""``Normal``: a distribution of points to weigh regions by, in place of the uniform one of a box.

A normal distribution is the image of the unit cube under a map that is monotone in each
coordinate. A region's mass is the fraction of the cube that the map takes into it, so that all
methods for boxes hold for it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from fastad._core.arrays import as_readonly, check_rows
from fastad._core.frames import as_array
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector
from fastad._kernels.geometry.draws import scale_to_normal
from fastad._kernels.geometry.moves import to_round
from fastad.detectors.scorer import check_samples
from fastad.errors import InvalidInputError
from fastad.regions.algebra import factor_of
from fastad.regions.box import Box, finite_vector

if TYPE_CHECKING:
    from typing_extensions import Self

# Relative difference of two entries of a covariance that must be equal.
_ASYMMETRY = 1e-8
# Standard deviation of a feature given those before it, relative to its own, that is rounding: the
# root of the rounding of a variance.
_NO_DEVIATION = 1e-7
# Range of a constant feature, relative to its largest number.
_ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True, slots=True, eq=False)
class Normal:
    """A normal distribution, as reference for the mass of a region.

    Parameters
    ----------
    mean : array-like of shape (n_features,)
        Means, finite.
    covariance : array-like of shape (n_features, n_features)
        Symmetric and positive definite.

    Attributes
    ----------
    mean : numpy.ndarray of shape (n_features,)
        Means.
    factor : numpy.ndarray of shape (n_features, n_features)
        Lower triangle of the covariance's Cholesky decomposition.

    Raises
    ------
    InvalidInputError
        If the mean is not finite, or the covariance has another shape, or is not symmetric or not
        positive definite.

    Examples
    --------
    >>> import fastad
    >>> reference = fastad.regions.Normal([0, 0], [[1, 0], [0, 4]])
    >>> mass = fastad.volume(lambda X: X[:, 1], -2.0, reference=reference, rng=0)
    >>> bool(mass.low < 0.158655 < mass.high)
    True
    """

    mean: FloatVector
    factor: FloatMatrix

    def __init__(self, mean: ArrayLike, covariance: ArrayLike) -> None:
        check_rows({"mean": mean, "covariance": covariance})
        means, matrix = finite_vector(mean, "mean"), as_array(covariance, "covariance")
        d = means.shape[0]
        if matrix.shape != (d, d):
            raise InvalidInputError(
                f"covariance must have the shape ({d}, {d}) for a mean of {d} features; found "
                f"{matrix.shape}"
            )
        matrix = check_samples(matrix, d, "covariance").astype(np.float64)
        scale = np.sqrt(np.abs(np.diag(matrix)))
        if (np.abs(matrix - matrix.T) > _ASYMMETRY * np.outer(scale, scale)).any():
            raise InvalidInputError(
                "covariance must be symmetric; found entries that differ from those across the "
                "diagonal"
            )
        # The factor of a matrix that is not positive definite has NaN, zeros or rounding.
        factor = factor_of((matrix + matrix.T) / 2)
        if not (np.diag(factor) > _NO_DEVIATION * scale).all():
            raise InvalidInputError(
                "covariance must be positive definite; found a least eigenvalue of "
                f"{np.linalg.eigvalsh(matrix)[0]:.3g}"
            )
        object.__setattr__(self, "mean", as_readonly(means))
        object.__setattr__(self, "factor", as_readonly(factor))

    @classmethod
    def from_data(cls, X: ArrayLike) -> "Self":
        """Normal distribution with the mean and the covariance of data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers, more rows than features.

        Returns
        -------
        Normal

        Raises
        ------
        InvalidInputError
            If X is not finite, or its rows lie in a plane, such as those of a constant feature.
        """
        samples = check_samples(X, None).astype(np.float64)
        n, d = samples.shape
        if n <= d:
            raise InvalidInputError(f"X must have more rows than features; found {n} and {d}")
        constant = np.flatnonzero(
            np.ptp(samples, axis=0) <= _ROUNDING * np.abs(samples).max(axis=0)
        )
        if constant.size:
            raise InvalidInputError(f"X must not lie in a plane: feature {constant[0]} is constant")
        try:
            return cls(samples.mean(axis=0), np.cov(samples, rowvar=False).reshape(d, d))
        except InvalidInputError as error:
            raise InvalidInputError(
                f"X must have a covariance, not lie in a plane: {error}"
            ) from None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.mean.shape[0])

    @property
    def cube(self) -> Box:
        """Unit cube that stands for the distribution."""
        return Box(np.zeros(self.n_features), np.ones(self.n_features))

    def to_cube(self, samples: FloatMatrix) -> FloatMatrix:
        """Return the rows of the cube that stand for samples, of one shape."""
        normal = np.empty(samples.shape[::-1])
        to_round(np.ascontiguousarray(samples.T), self.mean, self.factor, normal)
        rows: FloatMatrix = np.minimum(ndtr(normal), np.nextafter(1.0, 0.0)).T
        return rows


class Referred(NamedTuple):
    """A detector of the points of a reference, by points of the unit cube."""

    detector: Any
    reference: Normal

    def from_cube(self, points: FloatMatrix) -> None:
        """Replace points of the cube, of shape (n_features, n_points), by those they stand for."""
        scale_to_normal(self.reference.mean, self.reference.factor, points)

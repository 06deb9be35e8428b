"""Distributions of single coordinates of the unit cube, mapped to normal numbers."""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.elementary import to_normal_quantiles, to_normal_tails
from fastad._kernels.geometry import truncated as kernels
from fastad.regions.algebra import dot, mean_of

_LOG_ROOT = 0.5 * math.log(2 * math.pi)
# Deviations that are far: an end of [0, 1] there has no effect on a normal distribution, and one
# whose mean is there outside of [0, 1] is an exponential distribution for all purposes, with tails
# still far from the end of floats; one so many times as wide as [0, 1] is uniform.
_FAR = 9.0
# Points agree where they are within the rounding of numbers in [0, 1]; their region is wider.
_SAME = 1e-14
_NARROWEST = 1e-4
# Coordinates outside of their ends in a draw, on average: they show that ends are farther out. With
# half as many the error of a box in 60 features is three times as large, twice as many change
# little. Gain of the mean log density from which on coordinates have ends, in a box 0.18 for each:
# halved or doubled, it changes no box of 20 features or more.
_OUTSIDE, _LEAST_GAIN = 0.5, 1.0
# Features of more values are treated as continuous ones, which need fewer points to be known.
MOST_VALUES = 32
# Quadrature and iterations that fit truncated normal distributions.
_NODES = 64
_MOST_ITERATIONS = 60
_LONGEST = 20.0
_STEEPEST = 1000.0
_CLOSE = 1e-9
_TINY = 1e-300


class Truncated(NamedTuple):
    """Normal distributions on [0, 1], where coordinates come near the sides of the cube."""

    indices: IntVector  # which coordinates
    centres: FloatMatrix  # (m, 1), as the others
    widths: FloatMatrix
    outside: FloatMatrix  # (m, 4) of the whole normal distribution: below 0, not, above 1, not
    mass: FloatMatrix  # of [0, 1]
    constants: FloatMatrix

    def mean_logs(self, points: FloatMatrix, weights: FloatVector) -> FloatVector:
        """Return the mean log density of each of the coordinates at weighted points."""
        deviations = (points[self.indices] - self.centres) / self.widths
        logs: FloatVector = self.constants[:, 0] - 0.5 * mean_of(deviations * deviations, weights)
        return logs - _LOG_ROOT

    def to_normal(self, points: FloatMatrix, out: FloatMatrix, jacobian: FloatVector) -> None:
        """Write the normal numbers; add the logarithms of their derivatives."""
        shape = self.indices.shape[0], points.shape[1]
        u, z, is_low = np.empty(shape), np.empty(shape), np.empty(shape, np.bool_)
        kernels.standardize(points, self.indices, self.centres, self.widths, u, z)
        to_normal_tails(z.ravel())
        kernels.to_probabilities(u, self.outside, self.mass, z, is_low)
        to_normal_quantiles(z.ravel())
        kernels.write_normal(u, z, is_low, self.constants, self.indices, out, jacobian)

    def to_cube(self, normal: FloatMatrix, out: FloatMatrix) -> None:
        """Write the coordinates of normal numbers."""
        z = normal[self.indices]
        u, is_low = np.abs(z), np.empty(z.shape, np.bool_)
        to_normal_tails(u.ravel())
        kernels.from_probabilities(z, self.outside, self.mass, u, is_low)
        to_normal_quantiles(u.ravel())
        kernels.write_coordinates(
            u, is_low, self.centres, self.widths, float(np.nextafter(1.0, 0.0)), self.indices, out
        )


class Steps(NamedTuple):
    """A distribution of one coordinate that is uniform in each of some parts of [0, 1]."""

    feature: int
    knots: FloatVector
    cumulated: FloatVector
    logs: FloatVector  # of the density in each part

    @classmethod
    def of(cls, feature: int, knots: FloatVector, probabilities: FloatVector) -> "Steps":
        """Return the distribution with these probabilities of the parts between knots."""
        cumulated = np.concatenate([[0.0], np.cumsum(probabilities)])
        cumulated /= cumulated[-1]
        return cls(feature, knots, cumulated, np.log(np.diff(cumulated) / np.diff(knots)))

    def to_normal(self, points: FloatMatrix, out: FloatMatrix, jacobian: FloatVector) -> None:
        """Write the normal numbers; add the logarithms of their derivatives."""
        x = points[self.feature]
        z = ndtri(np.clip(np.interp(x, self.knots, self.cumulated), _TINY, 1 - 2.0**-53))
        parts = np.searchsorted(self.knots[1:-1], x, side="right")
        out[self.feature] = z
        jacobian += self.logs[parts] + 0.5 * z * z + _LOG_ROOT

    def to_cube(self, normal: FloatMatrix, out: FloatMatrix) -> None:
        """Write the coordinates of normal numbers."""
        x = np.interp(ndtr(normal[self.feature]), self.cumulated, self.knots)
        out[self.feature] = np.minimum(x, np.nextafter(1.0, 0.0))


class Marginals(NamedTuple):
    """A distribution for each coordinate: normal, cut at the sides of the cube where they are near.

    Each maps its coordinate to a standard normal number. Far from the sides the map is affine, so
    that those numbers are normal where the point is normal in the cube; a coordinate that is
    uniform in the cube, or exponential from a side on, has a distribution of its own here as well,
    which with normal ones alone would cost a constant factor for every such coordinate. So have
    coordinates that are uniform between two ends, and those of discrete features.
    """

    centres: FloatMatrix  # (d, 1)
    widths: FloatMatrix
    constant: float
    others: tuple[Truncated | Steps, ...]

    def to_normal(self, points: FloatMatrix) -> tuple[FloatMatrix, FloatVector]:
        """Return normal numbers, and the logarithm of the map's determinant at each point."""
        points = np.ascontiguousarray(points)
        z = (points - self.centres) / self.widths
        jacobian = np.full(points.shape[1], self.constant)
        for other in self.others:
            other.to_normal(points, z, jacobian)
        return z, jacobian

    def to_cube(self, normal: FloatMatrix) -> FloatMatrix:
        """Return the points of normal numbers; some may lie outside of the cube."""
        points = self.centres + self.widths * normal
        for other in self.others:
            other.to_cube(normal, points)
        return points


def fit_marginals(points: FloatMatrix, weights: FloatVector, n_values: Sequence[int]) -> Marginals:
    """Fit distributions to points, each a column, whose weights add up to 1.

    ``n_values`` is the number of values of each feature; 0 for a continuous one.
    """
    means = mean_of(points, weights)
    deviations = points - means[:, None]
    spreads = np.sqrt(mean_of(deviations * deviations, weights))
    spreads = np.where(spreads > _SAME, spreads, _NARROWEST)
    others: list[Truncated | Steps] = []
    discrete = np.array([0 < number <= MOST_VALUES for number in n_values])
    near = np.minimum(means, 1 - means) < _FAR * spreads
    logs = np.where(discrete, np.inf, -np.log(spreads) - 0.5 - _LOG_ROOT)
    if (cut := np.flatnonzero(near & ~discrete)).shape[0]:
        truncated = _fit_truncated(cut, means[cut], spreads[cut])
        logs[cut] = truncated.mean_logs(points, weights)
        others.append(truncated)
    if plateaus := _fit_plateaus(points, weights, logs):
        flat = np.array([plateau.feature for plateau in plateaus])
        others = [*plateaus]
        if (cut := np.setdiff1d(cut, flat)).shape[0]:
            others.append(_fit_truncated(cut, means[cut], spreads[cut]))
        near[flat] = True
    n_effective = 1 / dot(weights, weights)
    for j in np.flatnonzero(discrete).tolist():
        others.append(_fit_categories(j, points[j], weights, n_values[j], n_effective))
    plain = ~(near | discrete)
    return Marginals(
        np.where(plain, means, 0.0)[:, None],
        np.where(plain, spreads, 1.0)[:, None],
        -math.fsum(np.log(spreads[plain])),
        tuple(others),
    )


def _fit_categories(
    feature: int, coordinates: FloatVector, weights: FloatVector, n_values: int, n_effective: float
) -> Steps:
    parts = np.minimum((coordinates * n_values).astype(np.int64), n_values - 1)
    counts = np.bincount(parts, weights, n_values).astype(np.float64) * n_effective
    # Half a point more for each value (Krichevsky and Trofimov): none is excluded.
    probabilities = (counts + 0.5) / (n_effective + 0.5 * n_values)
    return Steps.of(feature, np.arange(n_values + 1) / n_values, probabilities)


def _fit_plateaus(points: FloatMatrix, weights: FloatVector, logs: FloatVector) -> list[Steps]:
    """Return distributions that are uniform between ends, for coordinates that they suit better.

    ``logs`` are mean log densities of the others. In a box three quarters of the draws of a normal
    distribution are effective for each feature, and in 30 features nothing is left.
    """
    d = points.shape[0]
    low, high = points.min(axis=1), points.max(axis=1)
    # As far beyond the last point as points are from each other.
    room = (high - low) * dot(weights, weights)
    low, high = np.maximum(low - room, 0.0), np.minimum(high + room, 1.0)
    outside = _OUTSIDE / d
    low, high = np.where(low > _SAME, low, 0.0), np.where(high < 1 - _SAME, high, 1.0)
    lengths = np.maximum(high - low, _SAME)
    gains = math.log1p(-outside) - np.log(lengths) - logs
    suited = np.flatnonzero((gains > 0) & (lengths > _SAME) & (lengths < 1))
    if math.fsum(gains[suited]) < _LEAST_GAIN:
        return []
    plateaus = []
    for j in suited.tolist():
        knots = np.unique([0.0, low[j], high[j], 1.0])
        probabilities: FloatVector = np.diff(knots) * outside / (1 - lengths[j])
        probabilities[knots[:-1] == low[j]] = 1 - outside
        plateaus.append(Steps.of(j, knots, probabilities))
    return plateaus


def _fit_truncated(indices: IntVector, means: FloatVector, spreads: FloatVector) -> Truncated:
    """Fit normal distributions on [0, 1] by their first two moments.

    The likelihood of exp(a t + b t**2) is concave in a and b: Newton's method, with the moments
    from a quadrature, finds its maximum. b stays negative, so that it is a normal distribution.
    """
    # The nearer side becomes 0, and t is in units of the range of the distribution.
    turned = means > 0.5
    means = np.where(turned, 1 - means, means)
    reach = np.minimum(means + 14 * spreads, 1.0)
    nodes, quadrature = _quadrature()
    t = (nodes + 1) / 2
    first, second = means / reach, (means**2 + spreads**2) / reach**2
    powers = t ** np.arange(5)[:, None]

    def moments(a: FloatVector, b: FloatVector) -> FloatMatrix:
        exponents = np.outer(a, t) + np.outer(b, t * t)
        p = np.exp(exponents - exponents.max(axis=1, keepdims=True)) * quadrature
        means: FloatMatrix = powers @ (p / p.sum(axis=1, keepdims=True)).T
        return means

    a, b = np.zeros_like(means), np.zeros_like(means)
    for _ in range(_MOST_ITERATIONS):
        _, m1, m2, m3, m4 = moments(a, b)
        s11, s12, s22 = m2 - m1 * m1, m3 - m1 * m2, m4 - m2 * m2
        g1, g2 = first - m1, second - m2
        determinant = np.maximum(s11 * s22 - s12 * s12, _TINY)
        step_a = (s22 * g1 - s12 * g2) / determinant
        step_b = (s11 * g2 - s12 * g1) / determinant
        # Steps of a bounded length: far from the maximum the quadratic form misleads.
        damping = 1 / np.maximum(1, np.hypot(step_a, step_b) / _LONGEST)
        a, b = a + damping * step_a, b + damping * step_b
        if np.all(np.hypot(step_a, step_b) < _CLOSE * (1 + np.hypot(a, b))):
            break
    # Otherwise, or with a mean too far outside: the distribution on the bound of the mean.
    bounded = np.flatnonzero(~(b < _bound(a)))
    # Means on the bound rise with a as long as widths stay the same, up to 0.58, and fall far from
    # there: only up to here is there one root. The nearer side being 0, means are 0.5 at most.
    lowest = np.full(bounded.shape[0], -_STEEPEST)
    highest = np.ones(bounded.shape[0])
    for _ in range(_MOST_ITERATIONS if bounded.shape[0] else 0):
        middle = (lowest + highest) / 2
        below = moments(middle, _bound(middle))[1] < first[bounded]
        lowest, highest = np.where(below, middle, lowest), np.where(below, highest, middle)
    a[bounded] = lowest
    b[bounded] = _bound(lowest)
    widths = np.sqrt(-0.5 / b)
    centres = np.where(turned, 1 - a * widths**2 * reach, a * widths**2 * reach)
    widths = widths * reach
    centres = centres[:, None]
    widths = widths[:, None]
    low, high = -centres / widths, (1 - centres) / widths
    below, not_below, above, not_above = ndtr(low), ndtr(-low), ndtr(-high), ndtr(high)
    mass = np.where(low > 0, not_below - above, not_above - below)
    # The root of 2 pi in the normal density cancels against the standard density.
    constants = -np.log(widths) - np.log(mass)
    outside = np.concatenate([below, not_below, above, not_above], axis=1)
    return Truncated(indices, centres, widths, outside, mass, constants)


@cache
def _quadrature() -> tuple[FloatVector, FloatVector]:
    return np.polynomial.legendre.leggauss(_NODES)


def _bound(a: FloatVector) -> FloatVector:
    """Return the largest b with which the width and the mean are no farther than allowed."""
    bound: FloatVector = -np.maximum(1.0, a * a) / (2 * _FAR**2)
    return bound

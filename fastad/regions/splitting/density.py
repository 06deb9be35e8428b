"""Mixtures that points of the unit cube are drawn from, and their fit to weighted points."""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from fastad._core.threads import in_steps, thread_map
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.regions.algebra import (
    dot,
    eigen_of,
    mean_of,
    normal_numbers,
    product_of,
    products_of,
    squared_distances,
)
from fastad.regions.splitting.marginals import Marginals, fit_marginals

Mask = npt.NDArray[np.bool_]
Item = TypeVar("Item")
Result = TypeVar("Result")

# Points for each component, at least.
POINTS_A_COMPONENT = 20
# Gain of the mean log density that justifies doubling the components: they cost time.
_WORTH = 0.05
# Iterations of expectation and maximisation in a fit, and of k-means before it.
_ITERATIONS = 3
# Responsibilities for a point that a component may do without, relative to its largest one.
_NEGLIGIBLE = 1e-6
# Weights are as even as this, as effective number by number.
_LEAST_EVEN = 0.2
_CLOSE = 1e-3
# Part of each component that has the radii of a normal distribution.
_NORMAL_PART = 0.15
# The variance of squared radii is widened: too narrow costs more than too wide.
_WIDENED = 1.2
_SHARPEST = 1e6
# Parts of the points for which eigenvalues are found in turn: a component of no more effective
# points is given up. The least eigenvalue.
_PARTS = 5
_FLATTEST = 1e-4
_TINY = 1e-300
# Points that are drawn at once, and whose densities a thread finds at once.
POINTS_AT_ONCE = 2**13
# Fewer are done before another thread has begun.
_NUMBERS_A_THREAD = 2**17
_LOG_TWO_PI = math.log(2 * math.pi)


class Radius(NamedTuple):
    """Distribution of the squared radius of whitened numbers: gamma, and in part the normal one.

    The squared radius in a ball of many features varies much less than for normal numbers.
    The part of the normal one keeps the density away from zero near the centre and far outside.
    """

    n_features: int
    shape: float
    scale: float

    def draw(self, white: FloatMatrix, rng: np.random.Generator) -> None:
        """Give normal numbers, which are overwritten, the radii of this distribution."""
        n = white.shape[1]
        squares = rng.standard_gamma(self.shape, n) * self.scale
        is_gamma = rng.random(n) >= _NORMAL_PART
        factors = np.sqrt(squares / np.einsum("ij,ij->j", white, white))
        white *= np.where(is_gamma, factors, 1.0)

    def log_ratio(self, squares: FloatVector) -> FloatVector:
        """Return the logarithm of the density by the normal one's at squared radii."""
        half = self.n_features / 2
        squares = np.maximum(squares, _TINY)
        logs = (self.shape - half) * np.log(squares) + squares * (0.5 - 1 / self.scale)
        logs += math.lgamma(half) - math.lgamma(self.shape)
        logs += half * math.log(2) - self.shape * math.log(self.scale)
        normal, gamma = math.log(_NORMAL_PART), math.log1p(-_NORMAL_PART)
        ratios: FloatVector = np.logaddexp(normal, gamma + logs)
        return ratios


class Component(NamedTuple):
    """Correlated numbers behind the marginal distributions (an elliptical copula).

    Where no side of the cube is near it is an elliptical distribution.
    """

    marginals: Marginals
    root: FloatMatrix  # root root' is the covariance
    inverse: FloatMatrix
    constant: float
    radius: Radius

    def draw(self, n: int, rng: np.random.Generator) -> FloatMatrix:
        """Draw points."""
        white = normal_numbers(self.root.shape[0], n, rng)
        self.radius.draw(white, rng)
        return self.marginals.to_cube(product_of(self.root, white))

    def log_density(self, points: FloatMatrix) -> FloatVector:
        """Return the logarithm of the density at points of the cube."""
        normal, jacobian = self.marginals.to_normal(points)
        white = product_of(self.inverse, normal)
        squares = np.einsum("ij,ij->j", white, white)
        logs: FloatVector = self.constant + jacobian - 0.5 * squares
        return logs + self.radius.log_ratio(squares)


class Mixture(NamedTuple):
    """Components and their weights; the weights sum to one."""

    components: tuple[Component, ...]
    weights: FloatVector

    def log_densities(self, points: FloatMatrix) -> FloatMatrix:
        """Return the logarithms of weight times density, one row for each component."""
        logs = np.empty((len(self.components), points.shape[1]))

        def write(item: tuple[int, range]) -> None:
            k, part = item
            some = slice(part.start, part.stop)
            logs[k, some] = self.components[k].log_density(points[:, some])

        blocks = in_steps(0, points.shape[1], POINTS_AT_ONCE)
        _each(write, list(product(range(len(self.components)), blocks)), points.size)
        logs += np.log(self.weights)[:, None]
        return logs

    def log_density(self, points: FloatMatrix) -> FloatVector:
        """Return the logarithm of the density at points."""
        logs = self.log_densities(points)
        total: FloatVector = logs[0] if len(logs) == 1 else logsumexp(logs, axis=0)
        return total


def components_drawn(mixture: Mixture, n: float) -> tuple[tuple[Component, ...], IntVector]:
    """Return the components of about ``n`` draws, and the fixed number of draws from each."""
    counts = np.floor(n * mixture.weights).astype(np.int64)
    pairs = zip(mixture.components, counts, strict=True)
    return tuple(component for component, count in pairs if count), counts[counts > 0]


def draw_in_cube(
    components: Sequence[Component], counts: IntVector, rng: np.random.Generator
) -> list[FloatMatrix]:
    """Draw from components, block by block; return the points in the cube."""
    blocks = [
        (component, len(block))
        for component, count in zip(components, counts.tolist(), strict=True)
        for block in in_steps(0, count, POINTS_AT_ONCE)
    ]

    def drawn(item: tuple[tuple[Component, int], int]) -> FloatMatrix:
        (component, n), seed = item
        points = component.draw(n, np.random.default_rng(seed))
        return points[:, np.all((points >= 0) & (points < 1), axis=0)]

    # A generator for each block, whatever thread draws it.
    seeds = rng.integers(2**63, size=len(blocks)).tolist()
    n_numbers = int(counts.sum()) * components[0].root.shape[0]
    return _each(drawn, list(zip(blocks, seeds, strict=True)), n_numbers)


def fit_component(points: FloatMatrix, weights: FloatVector, n_values: Sequence[int]) -> Component:
    """Fit a component to weighted points, whose weights sum to one."""
    marginals = fit_marginals(points, weights, n_values)
    normal, _ = marginals.to_normal(points)
    vectors, values, squares = _spectrum(normal, weights)
    roots = np.sqrt(values)
    constant = -0.5 * values.shape[0] * _LOG_TWO_PI - math.fsum(np.log(roots))
    return Component(
        marginals,
        vectors * roots,
        (vectors / roots).T.copy(),
        constant,
        _fit_radius(values.shape[0], squares, weights),
    )


def _spectrum(
    normal: FloatMatrix, weights: FloatVector
) -> tuple[FloatMatrix, FloatVector, FloatVector]:
    """Return eigenvectors and eigenvalues of a covariance, and squared radii of the points.

    The eigenvalues of a sample's covariance are spread too far, the smallest ones being much too
    small where there are not many more points than features; and the points are nearer to the
    centre than others would be. So both are found for points that the eigenvectors were not
    fitted to, in turn for each part of the points [1]_.

    References
    ----------
    .. [1] D. Bartz, "Cross-validation based nonlinear shrinkage", 2016.
    """
    n = normal.shape[1]
    parts = [slice(i, None, _PARTS) for i in range(min(_PARTS, n))]
    # The marginal maps have brought the means near zero.
    scaled, centre = normal * np.sqrt(weights), np.zeros(normal.shape[0])
    sums = [products_of(scaled[:, part], centre) for part in parts]
    total = np.sum(sums, axis=0)
    projected = np.empty_like(normal)
    for part, sum_of_part in zip(parts, sums, strict=True):
        vectors = eigen_of(total - sum_of_part)[1]
        projected[:, part] = product_of(vectors.T, normal[:, part])
    projected *= projected
    values = np.maximum(np.sort(mean_of(projected, weights)), _FLATTEST)
    return eigen_of(total)[1], values, (projected / values[:, None]).sum(axis=0)


def _fit_radius(d: int, squares: FloatVector, weights: FloatVector) -> Radius:
    """Fit by the first two moments."""
    mean = dot(squares, weights)
    variance = dot((squares - mean) ** 2, weights) * _WIDENED
    shape = min(max(mean**2 / max(variance, _TINY), d / 8), _SHARPEST)
    return Radius(d, shape, mean / shape)


def start(points: FloatMatrix, n_values: Sequence[int], rng: np.random.Generator) -> Mixture:
    """Fit a mixture to distinct points, with the number of components that suits new points."""
    n = points.shape[1]
    weights = np.full(n, 1 / n)
    first_half = rng.permutation(n) < n / 2

    def gain(k: int) -> float:
        """Return the mean log density of points by a fit to the others."""
        mean = 0.0
        for half in (first_half, np.logical_not(first_half)):
            fitted = clustered(points[:, half], _normed(weights[half]), k, n_values, rng)
            mean += float(fitted.log_density(points[:, ~half]).sum()) / n
        return mean

    chosen, best = 1, gain(1) if n >= 2 * POINTS_A_COMPONENT else 0.0
    k = 2
    # Two clusters of two may need four components to be separated; more are not tried.
    while k <= min(4 * chosen, n / (2 * POINTS_A_COMPONENT)):
        if (mean := gain(k)) > best + _WORTH:
            chosen, best = k, mean
        k *= 2
    return clustered(points, weights, chosen, n_values, rng)


def adapt(
    mixture: Mixture,
    points: FloatMatrix,
    logs: FloatVector,
    n_values: Sequence[int],
    rng: np.random.Generator,
) -> Mixture:
    """Fit a mixture to weighted hits of a pilot: with as many components, half or twice as many.

    The number is chosen by the cross-entropy on the other half of the hits, the mean of the log
    density by their weights.
    """
    weights = tempered(logs)
    first_half = np.less(rng.random(logs.shape[0]), 0.5)
    present = len(mixture.components)

    def fit(k: int, part: Mask) -> Mixture:
        if k == present:
            return refine(mixture, points[:, part], _normed(weights[part]), n_values)
        return clustered(points[:, part], _normed(weights[part]), k, n_values, rng)

    chosen, best = present, -math.inf
    n_half = min(np.count_nonzero(first_half), np.count_nonzero(~first_half))
    if (most := n_half // POINTS_A_COMPONENT) > 0:
        for k in sorted({max(1, present // 2), present, min(2 * present, max(present, most))}):
            densities = fit(k, first_half).log_density(points[:, ~first_half])
            mean = dot(densities, _normed(weights[~first_half]))
            if mean > best + _WORTH:
                chosen, best = k, mean
    return fit(chosen, np.ones_like(first_half))


def clustered(
    points: FloatMatrix,
    weights: FloatVector,
    n_components: int,
    n_values: Sequence[int],
    rng: np.random.Generator,
) -> Mixture:
    """Fit a mixture to weighted points, from clusters of them."""
    if n_components == 1:
        return from_responsibilities(weights[None], points, n_values)
    labels = _clusters(points, weights, n_components, rng)
    rows = np.where(labels == np.arange(n_components)[:, None], weights, 0.0)
    return refine(from_responsibilities(rows, points, n_values), points, weights, n_values)


def refine(
    mixture: Mixture, points: FloatMatrix, weights: FloatVector, n_values: Sequence[int]
) -> Mixture:
    """Fit a mixture to weighted points by expectation and maximisation, from another one."""
    for _ in range(_ITERATIONS):
        if len(mixture.components) == 1:
            return from_responsibilities(weights[None], points, n_values)
        logs = mixture.log_densities(points)
        responsibilities = np.exp(logs - logsumexp(logs, axis=0)) * weights
        mixture = from_responsibilities(responsibilities, points, n_values)
    return mixture


def from_responsibilities(
    rows: FloatMatrix, points: FloatMatrix, n_values: Sequence[int]
) -> Mixture:
    """Fit a component to each row of responsibilities for points, but for those with too few."""
    totals = rows.sum(axis=1)
    enough = totals**2 > _PARTS * (rows**2).sum(axis=1)
    if not enough.any():
        rows, totals, enough = rows.sum(axis=0)[None], totals.sum()[None], np.array([True])

    def fit(row: FloatVector) -> Component:
        # Points of other components cost as much time as its own, and do not matter.
        near = np.flatnonzero(row > _NEGLIGIBLE * row.max())
        return fit_component(points[:, near], _normed(row[near]), n_values)

    components = _each(fit, list(rows[enough]), points.size)
    return Mixture(tuple(components), _normed(totals[enough]))


def _clusters(
    points: FloatMatrix, weights: FloatVector, k: int, rng: np.random.Generator
) -> IntVector:
    """Return the nearest of k centres for each point (k-means++ and Lloyd's iterations)."""
    spreads = points.std(axis=1, keepdims=True)
    scaled = points / np.where(spreads > 0, spreads, 1.0)
    centres = scaled[:, [rng.choice(scaled.shape[1], p=weights)]]
    while centres.shape[1] < k:
        chances = squared_distances(centres, scaled).min(axis=0) * weights
        if chances.sum() == 0:
            break
        another = scaled[:, [rng.choice(scaled.shape[1], p=_normed(chances))]]
        centres = np.concatenate([centres, another], axis=1)
    for _ in range(_ITERATIONS):
        labels = squared_distances(centres, scaled).argmin(axis=0)
        masses = np.bincount(labels, weights, centres.shape[1])
        for j in np.flatnonzero(masses):
            cluster = labels == j
            centres[:, j] = mean_of(scaled[:, cluster], weights[cluster]) / masses[j]
    nearest: IntVector = squared_distances(centres, scaled).argmin(axis=0)
    return nearest


def tempered(logs: FloatVector) -> FloatVector:
    """Return weights, or a power of them below one where few of them are almost all.

    A fit to few points is worse than a fit to many that stand for a distribution between the draws
    and the region.
    """

    def to_power(power: float) -> FloatVector:
        return _normed(np.exp(power * (logs - logs.max())))

    lowest, highest = 0.0, 1.0
    while highest - lowest > _CLOSE:
        power = (lowest + highest) / 2
        weights = to_power(power)
        if 1 / dot(weights, weights) >= _LEAST_EVEN * logs.shape[0]:
            lowest = power
        else:
            highest = power
    return to_power(highest)


def _each(
    function: Callable[[Item], Result], items: Sequence[Item], n_numbers: int
) -> list[Result]:
    """Apply a function to each item; on threads where each reads enough numbers for that to pay."""
    if n_numbers < _NUMBERS_A_THREAD:
        return [function(item) for item in items]
    return thread_map(function, items)


def _normed(weights: FloatVector) -> FloatVector:
    """Return weights of sum one."""
    normed: FloatVector = weights / weights.sum()
    return normed

"""Draws around single data points, for parts of a region that a fitted mixture hardly reaches."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.regions.algebra import squared_distances

# Points to draw around; more of them cost time, and their neighbourhoods overlap.
MOST_CENTRES = 256
# The neighbour whose distance is the unit of a point's widths.
_NEIGHBOUR = 3
# Mean lengths of steps, in this unit: short ones stay in thin parts, long ones close gaps.
_LENGTHS = (0.4, 1.0)
# Part of the draws in which a discrete feature has any of its values.
_ANY_VALUE = 0.2
_TINY = 1e-12
_LOG_TWO_PI = math.log(2 * math.pi)


class Neighbourhoods(NamedTuple):
    """Normal distributions around points, of two widths each, as far as the next points are.

    Attributes
    ----------
    mean, spread : numpy.ndarray of shape (n_continuous, 1)
        Mean and deviation of the data; distances are between coordinates in these units.
    centres : numpy.ndarray of shape (n_continuous, n_centres)
        Centres in these units.
    widths : numpy.ndarray of shape (n_centres, 2)
        Standard deviations.
    continuous, discrete : numpy.ndarray
        Indices of the features.
    n_values : numpy.ndarray of shape (n_discrete, 1)
        Numbers of values.
    cells : numpy.ndarray of shape (n_discrete, n_centres)
        Values of the centres, as numbers from 0.
    """

    mean: FloatMatrix
    spread: FloatMatrix
    centres: FloatMatrix
    widths: FloatMatrix
    continuous: IntVector
    discrete: IntVector
    n_values: IntVector
    cells: IntVector

    def draw(self, n: int, rng: np.random.Generator) -> FloatMatrix:
        """Draw points."""
        points = np.empty((self.continuous.shape[0] + self.discrete.shape[0], n))
        centre = rng.integers(self.centres.shape[1], size=n)
        widths = self.widths[centre, rng.integers(self.widths.shape[1], size=n)]
        steps = rng.standard_normal((self.continuous.shape[0], n)) * widths
        points[self.continuous] = (self.centres[:, centre] + steps) * self.spread + self.mean
        if self.discrete.shape[0]:
            shape = self.discrete.shape[0], n
            other = rng.integers(np.broadcast_to(self.n_values, shape))
            cells = np.where(rng.random(shape) < _ANY_VALUE, other, self.cells[:, centre])
            points[self.discrete] = (cells + rng.random(shape)) / self.n_values
        return points

    def log_density(self, points: FloatMatrix) -> FloatVector:
        """Return the logarithm of the density at points of the cube."""
        d = self.continuous.shape[0]
        scaled = (points[self.continuous] - self.mean) / self.spread
        squares = squared_distances(self.centres, scaled)
        logs = np.logaddexp(
            *(
                -0.5 * squares / widths[:, None] ** 2 - d * np.log(widths)[:, None]
                for widths in self.widths.T
            )
        )
        if self.discrete.shape[0]:
            cells = np.floor(points[self.discrete] * self.n_values).astype(np.int64)
            for of_points, of_centres, n in zip(cells, self.cells, self.n_values, strict=True):
                kept = np.where(of_points == of_centres[:, None], n * (1 - _ANY_VALUE), 0.0)
                logs += np.log(_ANY_VALUE + kept)
        constant = -0.5 * d * _LOG_TWO_PI - np.log(self.spread).sum() - math.log(self.widths.size)
        density: FloatVector = logsumexp(logs, axis=0) + constant
        return density


def neighbourhoods(
    points: FloatMatrix, n_values: Sequence[int], rng: np.random.Generator
) -> Neighbourhoods:
    """Return distributions around distinct points of the cube, or some of them."""
    kinds = np.asarray(n_values)
    continuous, discrete = np.flatnonzero(kinds == 0), np.flatnonzero(kinds)
    n = points.shape[1]
    chosen = np.sort(rng.choice(n, min(n, MOST_CENTRES), replace=False))
    coordinates = points[continuous]
    mean = coordinates.mean(axis=1, keepdims=True)
    spread = np.maximum(coordinates.std(axis=1, keepdims=True), _TINY)
    scaled = (coordinates - mean) / spread
    squares = np.sort(squared_distances(scaled[:, chosen], scaled), axis=1)
    distances = np.sqrt(squares[:, min(_NEIGHBOUR, n - 1)])
    unit = np.maximum(distances, _TINY) / math.sqrt(max(continuous.shape[0], 1))
    values = kinds[discrete][:, None]
    return Neighbourhoods(
        mean,
        spread,
        np.ascontiguousarray(scaled[:, chosen]),
        unit[:, None] * np.array(_LENGTHS),
        continuous,
        discrete,
        values,
        np.floor(points[discrete][:, chosen] * values).astype(np.int64),
    )

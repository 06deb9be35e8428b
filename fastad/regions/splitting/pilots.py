"""Densities of the region of a bridge, fitted to particles and to draws of pilots."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from fastad._core.types import FloatMatrix, FloatVector
from fastad.regions.scores import Cube
from fastad.regions.splitting.density import (
    Mixture,
    adapt,
    components_drawn,
    draw_in_cube,
    fit_component,
    tempered,
)

# A density, and each of its components, is fitted to at least this many points.
FEWEST_POINTS = 40
# Effective draws of a pilot, as a part of its draws: good enough to end with, and required.
_GOOD_EFFICIENCY, _LEAST_EFFICIENCY = 0.3, 0.01
# Pilots whose points in the region are fitted together, and points at most.
_POOLED_PILOTS, _MOST_POINTS = 3, 30_000
# Part of all draws that the components of the density share evenly.
_EVEN_PART = 0.5
# A component is fitted to the points of which it is responsible for more than this part.
_LEAST_RESPONSIBILITY = 0.01


class Draws(NamedTuple):
    """Draws from a mixture that lie in the region."""

    mixture: Mixture  # with the weights by which was drawn
    n_drawn: int
    points: FloatMatrix
    logs: FloatVector  # of the mixture's density there


def fit_densities(
    cube: Cube,
    mixture: Mixture,
    halves: Sequence[tuple[FloatMatrix, FloatMatrix]],
    threshold: float,
    n_pilot: int,
    most: int,
    rng: np.random.Generator,
    report: Callable[[], None],
) -> list[Mixture] | None:
    """Fit mixtures to weighted draws of pilots and to particles; None where none fits.

    Particles count as one draw each: otherwise a part of the region that few of the first draws
    meet, or with too small weights, would be lost. They determine the number of components; each of
    several components is also fitted to the positions of particles, of which a part with few
    particles has many.

    A density is larger at particles that it was fitted to than elsewhere. So there is a mixture for
    each half of the particles, fitted to the last pilots. ``halves`` has the present and the
    earlier positions of each half; at most ``most`` points are scored by the end of the last pilot.
    """
    pilots: list[tuple[FloatMatrix, FloatVector]] = []

    def fitted(particles: FloatMatrix, positions: FloatMatrix) -> Mixture:
        n, n_positions = particles.shape[1], positions.shape[1]
        joined = _joined((particles, np.zeros(n)), *pilots)
        adapted = adapt(mixture, *joined, cube.n_values, rng)
        if len(adapted.components) > 1:
            logs = np.full(n_positions, math.log(n / n_positions))
            adapted = _each_fitted(adapted, *_joined((positions, logs), *pilots), cube.n_values)
        return _evened(adapted)

    whole = [np.concatenate(parts, axis=1) for parts in zip(*halves, strict=True)]
    efficiencies: list[float] = []
    while True:
        drawn = draw(cube, mixture, threshold, n_pilot, rng, report)
        if drawn.logs.shape[0] == 0:
            return None
        log_sum = float(logsumexp(-drawn.logs))
        n_effective = math.exp(2 * log_sum - float(logsumexp(-2 * drawn.logs)))
        efficiencies = [*efficiencies[1 - _POOLED_PILOTS :], n_effective / n_pilot]
        # Evenly spaced points are of all components. Each pilot counts by its effective number.
        some = slice(None, None, -(-drawn.logs.shape[0] * _POOLED_PILOTS // _MOST_POINTS))
        logs = -drawn.logs[some] - log_sum + math.log(n_effective)
        pilots = [*pilots[1 - _POOLED_PILOTS :], (drawn.points[:, some], logs)]
        if efficiencies[-1] >= _GOOD_EFFICIENCY or cube.n_scored + n_pilot > most:
            break
        mixture = fitted(*whole)
    # In one of the pilots that are fitted together a draw far out may have most of the weight.
    if max(efficiencies) < _LEAST_EFFICIENCY:
        return None
    return [fitted(*half) for half in halves]


def _joined(*parts: tuple[FloatMatrix, FloatVector]) -> tuple[FloatMatrix, FloatVector]:
    """Return all points, and the logarithms of their weights."""
    points = np.concatenate([points for points, _ in parts], axis=1)
    return points, np.concatenate([logs for _, logs in parts])


def _each_fitted(
    mixture: Mixture, points: FloatMatrix, logs: FloatVector, n_values: Sequence[int]
) -> Mixture:
    """Fit each component to the points near it, of which more than a few count.

    If points were weighted together, the weights of a well-known part would make up for another
    part, of which a single point may count.
    """
    responsibilities = mixture.log_densities(points)
    responsibilities = np.exp(responsibilities - logsumexp(responsibilities, axis=0))
    components = list(mixture.components)
    for k, row in enumerate(responsibilities):
        near = np.flatnonzero(row > _LEAST_RESPONSIBILITY)
        if near.shape[0] >= FEWEST_POINTS:
            weights = row[near] * tempered(logs[near])
            components[k] = fit_component(points[:, near], weights / weights.sum(), n_values)
    return mixture._replace(components=tuple(components))


def _evened(mixture: Mixture) -> Mixture:
    """Return a mixture of whose draws a part is shared evenly by the components.

    One that was fitted to few particles meets the region seldom: its part of the region seems
    small, it would be drawn from the less, and never get its shape.
    """
    even = _EVEN_PART / len(mixture.components)
    return mixture._replace(weights=(1 - _EVEN_PART) * mixture.weights + even)


def draw(
    cube: Cube,
    mixture: Mixture,
    threshold: float,
    n: int,
    rng: np.random.Generator,
    report: Callable[[], None],
) -> Draws:
    """Draw a fixed number of points from each component, and keep the points in the region.

    Points outside of the cube are not scored.
    """
    components, counts = components_drawn(mixture, n)
    n_drawn = int(counts.sum())
    drawn = Mixture(components, counts / n_drawn)
    blocks = [np.empty((cube.n_features, 0))]
    for inside, _ in draw_in_cube(components, counts, rng):
        blocks.append(inside[:, cube.scores(inside) < threshold])
        report()
    points = np.concatenate(blocks, axis=1)
    return Draws(drawn, n_drawn, points, log_density(drawn, points))


def log_density(mixture: Mixture, points: FloatMatrix) -> FloatVector:
    """Return logarithms of the density of a mixture at points."""
    if points.shape[1] == 0:
        return np.empty(0)
    logs: FloatVector = logsumexp(mixture.log_densities(points), axis=0)
    return logs

"""Densities of the region of a bridge, fitted to particles and to draws of pilots."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from fastad._core.types import FloatMatrix, FloatVector
from fastad.regions.scores import Cube
from fastad.regions.splitting.density import (
    POINTS_AT_ONCE,
    Mixture,
    adapt,
    components_drawn,
    draw_in_cube,
)

# Effective draws of a pilot, as a part of its draws: good enough to end with, and required. A
# mixture whose density is at least that part of the region's uniform one everywhere has them.
_GOOD_EFFICIENCY, LEAST_EFFICIENCY = 0.3, 0.01
# Pilots whose points in the region are fitted together.
_POOLED_PILOTS = 3
# Part of all draws that the components of the density share evenly.
_EVEN_PART = 0.5


class Draws(NamedTuple):
    """Draws from a mixture that lie in the region."""

    mixture: Mixture  # with the weights by which was drawn
    n_drawn: int
    points: FloatMatrix
    logs: FloatVector  # of the mixture's density there


def fit_densities(
    cube: Cube,
    mixture: Mixture,
    halves: Sequence[FloatMatrix],
    threshold: float,
    n_pilot: int,
    ends: tuple[int, int],
    rng: np.random.Generator,
    report: Callable[[], None],
) -> list[Mixture] | None:
    """Fit mixtures to weighted draws of pilots and to particles; None where none fits.

    A particle counts as much as a draw in the region does on average: otherwise a part of the
    region that few of the first draws meet, or with too small weights, would be lost. If it counted
    for more, particles that are akin to each other would keep the mixture where they are.

    A density is larger at particles that it was fitted to than elsewhere. So there is a mixture for
    each half of the particles, fitted to the last pilots. ``ends`` are the most points that may be
    scored by the end of the last pilot, if the mixture suits the region by then, and if not.
    """
    pilots: list[tuple[FloatMatrix, FloatVector]] = []

    def fitted(particles: FloatMatrix) -> Mixture:
        points = np.concatenate([points for points, _ in pilots], axis=1)
        logs = np.concatenate([logs for _, logs in pilots])
        mean = float(logsumexp(logs)) - math.log(logs.shape[0])
        points = np.concatenate([particles, points], axis=1)
        logs = np.concatenate([np.full(particles.shape[1], mean), logs])
        return _evened(adapt(mixture, points, logs, cube.n_values, rng))

    efficiencies: list[float] = []
    while True:
        drawn = draw(cube, mixture, threshold, n_pilot, rng, report)
        if drawn.logs.shape[0] == 0:
            return None
        log_sum = float(logsumexp(-drawn.logs))
        n_effective = math.exp(2 * log_sum - float(logsumexp(-2 * drawn.logs)))
        efficiencies = [*efficiencies, n_effective / n_pilot][-_POOLED_PILOTS:]
        # Evenly spaced points are of all components, and as many as are drawn at once are enough.
        # Each pilot counts by its effective number.
        some = slice(None, None, -(-drawn.logs.shape[0] // POINTS_AT_ONCE))
        logs = -drawn.logs[some] - log_sum + math.log(n_effective)
        pilots = [*pilots, (drawn.points[:, some], logs)][-_POOLED_PILOTS:]
        # In one of the pilots that are fitted together a draw far out may have most of the weight.
        suits = max(efficiencies) >= LEAST_EFFICIENCY
        if efficiencies[-1] >= _GOOD_EFFICIENCY or cube.n_scored + n_pilot > ends[not suits]:
            break
        mixture = fitted(np.concatenate(halves, axis=1))
    return [fitted(half) for half in halves] if suits else None


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
    points = np.concatenate(draw_in_cube(components, counts, rng), axis=1)
    points = points[:, cube.scores(points, report) < threshold]
    return Draws(drawn, n_drawn, points, drawn.log_density(points))

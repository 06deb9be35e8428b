"""Moves of particles inside a region: of several kinds, most often those that go far.

Each kind leaves the uniform distribution on the region as it is (Metropolis, Rosenbluth,
Rosenbluth, Teller and Teller 1953), given the cloud, which consists of other particles.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.geometry import moves as kernels
from fastad._kernels.geometry.moves import Cloud
from fastad.regions.algebra import factor_of, products_of


class Kind(NamedTuple):
    """A kind of move."""

    number: int  # number of the kind in kernels
    target_rate: float = 0.25  # acceptance rate that the scale is tuned to; 0 where it stays
    largest: float = 8.0  # maximum of the scale


# Moves of a process whose distribution is the normal one of the cloud (Neal 1998; Cotter, Roberts,
# Stuart and White 2013), at scale 1 to a place independent of the last: in ellipsoids of many
# dimensions a large part of such moves is accepted. Steps in any direction, correlated or
# independent. Differences of two particles (ter Braak 2006). Steps along one coordinate. New values
# of some coordinates.
KINDS = {
    "independent": Kind(kernels.AUTOREGRESSIVE, 0.0, 1.0),
    "autoregressive": Kind(kernels.AUTOREGRESSIVE, 0.1, 1.0),
    "walk": Kind(kernels.WALK),
    "reflected walk": Kind(kernels.REFLECTED_WALK),
    "difference": Kind(kernels.DIFFERENCE),
    "coordinate": Kind(kernels.COORDINATE, 0.4),
    "redraw": Kind(kernels.REDRAW, largest=1.0),
}
_NAMES = tuple(KINDS)
# Each kind makes at least this fraction of all moves, so that one that becomes better is noticed;
# up to so many features more, and in more features less of that. The best kind for most particles
# seldom moves those in a narrow part: of particles in the lower curved valley, .030 were in a part
# that is .054 of it. In 100 features a mixture of two ellipsoids was not reached where each kind
# made a tenth.
_LEAST, _LEAST_OF_FEW, _FEW = 0.02, 0.1, 5
# A proposal that needs no score costs this part of one that does.
_UNSCORED = 0.05
_SMALLEST = 1e-9
# This part of the weight of earlier levels counts at the next level.
_KEPT = 0.9


class Shape:
    """Correlations of particles, as they are estimated from level to level.

    Regions of levels that follow one another are identical but for their widths: some levels
    together give better estimates than the particles of one.
    """

    def __init__(self) -> None:
        self._correlations: FloatMatrix | None = None
        self._weight = 0.0

    def cloud(self, points: FloatMatrix) -> Cloud:
        """Learn from particles of shape (n_features, n_particles), and describe them."""
        d, n = points.shape
        mean = points.mean(axis=1)
        covariance = products_of(points, mean) / n
        spread = np.maximum(np.sqrt(np.diag(covariance)), _SMALLEST)
        correlations = covariance / np.outer(spread, spread)
        weight = float(n)
        if self._correlations is not None:
            kept = _KEPT * self._weight
            correlations = (n * correlations + kept * self._correlations) / (n + kept)
            weight += kept
        self._correlations, self._weight = correlations, weight
        # Few particles seem to lie in a plane.
        shrunk = correlations * (weight / (weight + d))
        shrunk[np.diag_indices(d)] = 1.0
        factor = spread[:, None] * factor_of(shrunk)
        rounded = np.empty(points.shape)
        kernels.to_round(points, mean, factor, rounded)
        return Cloud(rounded, mean, spread, factor)


@dataclass(slots=True)
class Tally:
    """Results of moves of a kind."""

    tried: int = 0
    scored: int = 0
    accepted: int = 0
    distance: float = 0.0  # sum of squares, in round coordinates

    def __iadd__(self, other: "Tally") -> "Tally":
        self.tried += other.tried
        self.scored += other.scored
        self.accepted += other.accepted
        self.distance += other.distance
        return self


class Tuning:
    """Scale and frequency of each kind of move."""

    def __init__(self, n_features: int) -> None:
        self.scales = dict.fromkeys(KINDS, 1.0)
        self._worths = dict.fromkeys(KINDS, 1.0)
        self._least = max(_LEAST, _LEAST_OF_FEW * min(_FEW / n_features, 1.0))

    def choose(self, rng: np.random.Generator, n_sweeps: int) -> list[str]:
        """Choose the kinds of some sweeps."""
        worths = np.array(list(self._worths.values()))
        rates = self._least + (1 - self._least * len(KINDS)) * worths / worths.sum()
        return [_NAMES[i] for i in rng.choice(len(KINDS), n_sweeps, p=rates / rates.sum())]

    def learn(self, name: str, tally: Tally) -> None:
        """Tune a kind's scale and worth to the results of its moves."""
        kind = KINDS[name]
        if kind.target_rate:
            scale = self.scales[name] * math.exp(
                2 * (tally.accepted / tally.tried - kind.target_rate)
            )
            self.scales[name] = min(max(scale, _SMALLEST), kind.largest)
        # Squared, so that the best kinds make most of the moves.
        cost = tally.scored + _UNSCORED * tally.tried
        self._worths[name] += 0.5 * ((tally.distance / cost) ** 2 - self._worths[name])


class Walkers:
    """Some particles that move below a level.

    Attributes
    ----------
    points : numpy.ndarray of shape (n_features, n_walkers)
        Positions of the walkers.
    scores : numpy.ndarray of shape (n_walkers,)
        Scores of the points.
    rounded : numpy.ndarray of shape (n_features, n_walkers)
        Positions in the cloud's coordinates.
    """

    def __init__(
        self, points: FloatMatrix, scores: FloatVector, level: float, cloud: Cloud
    ) -> None:
        self.points, self.scores = np.ascontiguousarray(points), scores
        self.rounded = np.empty_like(self.points)
        kernels.to_round(self.points, cloud.mean, cloud.factor, self.rounded)
        self._level, self._cloud = level, cloud
        self._chosen = np.empty(scores.shape[0], np.int64)
        self._packed = np.empty(points.size)
        self._candidates = points[:, :0]

    def propose(self, name: str, scale: float, key: np.uint64) -> FloatMatrix:
        """Propose a move for each; return the points, coordinate by coordinate, to be scored."""
        n = kernels.propose(
            *(KINDS[name].number, scale, key, self._cloud, self.points, self.rounded),
            *(self._chosen, self._packed),
        )
        d = self.points.shape[0]
        self._candidates = self._packed[: d * n].reshape(d, n)
        return self._candidates

    def settle(self, scores: FloatVector) -> Tally:
        """Move those whose proposed point scores below the level."""
        n = scores.shape[0]
        accepted, distance = kernels.settle(
            *(self._candidates, scores, self._chosen[:n], self._level, self._cloud),
            *(self.points, self.rounded, self.scores),
        )
        return Tally(self.scores.shape[0], n, accepted, distance)

"""Particles of one repeat of multilevel splitting, and the levels that they have passed."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.regions.splitting.restarts import MOST_COMPARED

# Moves of tied particles of one ancestor at most, so that they come to an end.
_MOST_PARTINGS = 20


class Loss(NamedTuple):
    """Particles that leave together, at or above a level."""

    level: float
    rising: FloatVector  # scores of those that stay
    survivors: IntVector
    lost: IntVector

    def parents(self, rng: np.random.Generator) -> IntVector:
        """Draw survivors whose copies replace the lost particles, each about as often."""
        n_lost, n_kept = self.lost.shape[0], self.survivors.shape[0]
        rounds = [rng.permutation(self.survivors) for _ in range(-(-n_lost // n_kept))]
        return np.concatenate(rounds)[:n_lost]


class Particles:
    """Particles of one repeat, uniform below one level after the other.

    Attributes
    ----------
    points : numpy.ndarray of shape (n_features, n_particles)
        Positions in the cube.
    scores : numpy.ndarray of shape (n_particles,)
        Scores of the positions.
    survivors : numpy.ndarray of shape (n_features, n_survivors)
        Some of the particles that the last level has left in place: enough to know their shape.
    levels, log_fractions : list of float
        Levels passed, from +inf, and logarithms of the fractions of the cube below them.
    is_stuck : bool
        Whether all particles have the same score, above the target.
    """

    def __init__(self, points: FloatMatrix, scores: FloatVector) -> None:
        self.points, self.scores = points, scores
        self.survivors = points
        self.levels = [math.inf]
        self.log_fractions = [0.0]
        self.is_stuck = False
        self._n_tied = 0
        self._rising = [np.sort(scores)]

    @property
    def n_particles(self) -> int:
        """Number of particles."""
        return int(self.scores.shape[0])

    def lose(self, target: float) -> Loss | None:
        """Pass the next level, which about half of the particles are below.

        Ties leave together. None, and nothing changes, if the target is as near, or all are tied.
        Where all come from one particle they shall move some more, below the level they have
        passed.
        """
        rising = self._rising[-1]
        n = rising.shape[0]
        level = rising[n // 2]
        n_kept = int(np.searchsorted(rising, level, "left"))
        if n_kept == 0:  # more than half have the lowest score
            n_kept = int(np.searchsorted(rising, level, "right"))
            level = rising[n_kept] if n_kept < n else math.inf
        if n_kept == n:
            if target > rising[0]:
                return None
            self._n_tied += 1
            # Where all agree in a coordinate they are no plateau, but have one ancestor.
            agree = (self.points == self.points[:, :1]).all(axis=1).any()
            self.is_stuck = self._n_tied > _MOST_PARTINGS or not (len(self.levels) > 1 and agree)
            return None if self.is_stuck else self._part(rising)
        if level <= target:
            return None
        self._n_tied = 0
        self.levels.append(float(level))
        self.log_fractions.append(self.log_fractions[-1] + math.log(n_kept / n))
        stays = self.scores < level
        loss = Loss(float(level), rising[:n_kept], np.flatnonzero(stays), np.flatnonzero(~stays))
        step = -(-n_kept // MOST_COMPARED)
        self.survivors = np.ascontiguousarray(self.points[:, loss.survivors[::step]])
        return loss

    def _part(self, rising: FloatVector) -> Loss:
        """Let all but one move again."""
        self.levels.append(self.levels[-1])
        self.log_fractions.append(self.log_fractions[-1])
        indices = np.arange(self.n_particles)
        return Loss(self.levels[-1], rising[:1], indices[:1], indices[1:])

    def replace(self, loss: Loss, points: FloatMatrix, scores: FloatVector) -> None:
        """Replace lost particles by particles that have moved."""
        self.points[:, loss.lost] = points
        self.scores[loss.lost] = scores
        self._rising.append(np.sort(self.scores))

    def log_fraction(self, threshold: float) -> float:
        """Return the logarithm of the fraction below a threshold; -inf where no particle was."""
        return float(self.log_fractions_below(np.array([threshold]))[0])

    def log_fractions_below(self, thresholds: FloatVector) -> FloatVector:
        """Return `log_fraction` at each of many thresholds."""
        stages = self._stages(thresholds)
        order = np.argsort(stages, kind="stable")
        ends = np.searchsorted(stages[order], np.arange(len(self.levels) + 1)).tolist()
        counts = np.empty(thresholds.shape[0], np.int64)
        for rising, (start, stop) in zip(self._rising, pairwise(ends), strict=True):
            part = order[start:stop]
            counts[part] = np.searchsorted(rising, thresholds[part], "left")
        n = self.n_particles
        # Not by np.log, which rounds otherwise.
        parts = [math.log(n_below / n) if n_below else -math.inf for n_below in counts.tolist()]
        logs: FloatVector = np.array(self.log_fractions)[stages] + np.array(parts, np.float64)
        return logs

    def n_below(self, threshold: float) -> int:
        """Count the particles below a threshold, below the last level above it."""
        return int(np.searchsorted(self._rising[self._stages(threshold)], threshold, "left"))

    def n_first_below(self, threshold: float) -> int:
        """Count the first particles, uniform in the box, that were below a threshold."""
        return int(np.searchsorted(self._rising[0], threshold, "left"))

    def is_first(self, threshold: float) -> bool:
        """Tell whether a threshold is above the first level that was passed."""
        return int(self._stages(threshold)) == 0

    def _stages(self, thresholds: FloatVector | float) -> IntVector:
        """Return the last level that is not below each threshold."""
        return np.searchsorted(-np.array(self.levels), -thresholds, "right") - 1

    def variance(self, threshold: float) -> float:
        """Return the variance of that logarithm, were all particles independent."""
        steps = zip(self.levels, self.log_fractions, strict=True)
        passed = [log_fraction for level, log_fraction in steps if level >= threshold]
        passed.append(self.log_fraction(threshold))
        if passed[-1] == -math.inf:
            return math.inf
        return sum(math.expm1(high - low) for high, low in pairwise(passed)) / self.n_particles

    def variances_below(self, thresholds: FloatVector) -> FloatVector:
        """Return `variance` at each of many thresholds, nearly."""
        stages = self._stages(thresholds)
        passed = np.array(self.log_fractions)
        sums = np.concatenate([[0.0], np.cumsum(np.expm1(passed[:-1] - passed[1:]))])
        variances: FloatVector = sums[stages] + np.expm1(
            passed[stages] - self.log_fractions_below(thresholds)
        )
        return variances / self.n_particles

"""Particles that pass level after level, and what their scores tell of the regions below."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import chdtr, chdtrc, ndtr

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.regions.linear import dot

# Particles of a repeat that tell a shape: these, and so many for each feature.
_SHAPED, _SHAPED_EACH = 256, 8
# So often tied particles of one ancestor move again before they are taken to be on a plateau.
_PARTINGS = 20


class Loss(NamedTuple):
    """Particles that leave together, at or above a level."""

    level: float
    rising: FloatVector  # scores of those that stay
    survivors: IntVector
    lost: IntVector

    def parents(self, rng: np.random.Generator) -> IntVector:
        """Draw survivors whose copies take the place of what was lost, each about as often."""
        n_lost, n_kept = self.lost.shape[0], self.survivors.shape[0]
        rounds = [rng.permutation(self.survivors) for _ in range(-(-n_lost // n_kept))]
        return np.concatenate(rounds)[:n_lost]


class Particles:
    """Particles of one repeat, uniform below one level after the other.

    Attributes
    ----------
    points : numpy.ndarray of shape (n_features, n_particles)
        Where they are in the cube.
    scores : numpy.ndarray of shape (n_particles,)
        Their scores.
    survivors : numpy.ndarray of shape (n_features, n_survivors)
        Some of those that the last level has left where they were: enough to know their shape.
    levels, log_shares : list of float
        Levels passed, from +inf, and logarithms of the shares of the cube below them.
    is_stuck : bool
        Whether all particles have the same score, above what is looked for.
    """

    def __init__(self, points: FloatMatrix, scores: FloatVector) -> None:
        self.points, self.scores = points, scores
        self.survivors = points
        self.levels = [math.inf]
        self.log_shares = [0.0]
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
        if n_kept == 0:  # the lowest score is that of more than half
            n_kept = int(np.searchsorted(rising, level, "right"))
            level = rising[n_kept] if n_kept < n else math.inf
        if n_kept == n:
            if target > rising[0]:
                return None
            self._n_tied += 1
            self.is_stuck = self._n_tied > _PARTINGS or not self._are_kin()
            return None if self.is_stuck else self._part(rising)
        if level <= target:
            return None
        self._n_tied = 0
        self.levels.append(float(level))
        self.log_shares.append(self.log_shares[-1] + math.log(n_kept / n))
        stays = self.scores < level
        loss = Loss(float(level), rising[:n_kept], np.flatnonzero(stays), np.flatnonzero(~stays))
        step = -(-n_kept // (_SHAPED + _SHAPED_EACH * self.points.shape[0]))
        self.survivors = np.ascontiguousarray(self.points[:, loss.survivors[::step]])
        return loss

    def _are_kin(self) -> bool:
        """Tell whether all agree in a coordinate: that is no plateau, but one ancestor."""
        return len(self.levels) > 1 and bool((self.points == self.points[:, :1]).all(1).any())

    def _part(self, rising: FloatVector) -> Loss:
        """Let all but one move again."""
        self.levels.append(self.levels[-1])
        self.log_shares.append(self.log_shares[-1])
        places = np.arange(self.n_particles)
        return Loss(self.levels[-1], rising[:1], places[:1], places[1:])

    def place(self, loss: Loss, points: FloatMatrix, scores: FloatVector) -> None:
        """Put particles that have moved in the place of what was lost."""
        self.points[:, loss.lost] = points
        self.scores[loss.lost] = scores
        self._rising.append(np.sort(self.scores))

    def log_share(self, threshold: float) -> float:
        """Return the logarithm of the share below a threshold; -inf where no particle was."""
        n_below = self.n_below(threshold)
        if n_below == 0:
            return -math.inf
        return self.log_shares[self._stage(threshold)] + math.log(n_below / self.n_particles)

    def log_shares_below(self, thresholds: FloatVector) -> FloatVector:
        """Return what `log_share` returns of each of many thresholds, bit for bit."""
        stages = np.searchsorted(-np.array(self.levels), -thresholds, "right") - 1
        order = np.argsort(stages, kind="stable")
        ends = np.searchsorted(stages[order], np.arange(len(self.levels) + 1)).tolist()
        counts = np.empty(thresholds.shape[0], np.int64)
        for rising, (start, stop) in zip(self._rising, pairwise(ends), strict=True):
            own = order[start:stop]
            counts[own] = np.searchsorted(rising, thresholds[own], "left")
        n = self.n_particles
        # Not by np.log, which rounds otherwise.
        parts = [math.log(n_below / n) if n_below else -math.inf for n_below in counts.tolist()]
        found: FloatVector = np.array(self.log_shares)[stages] + np.array(parts, np.float64)
        return found

    def n_below(self, threshold: float) -> int:
        """Count the particles below a threshold, below the last level above it."""
        return int(np.searchsorted(self._rising[self._stage(threshold)], threshold, "left"))

    def is_first(self, threshold: float) -> bool:
        """Tell whether a threshold is above the first level that was passed."""
        return self._stage(threshold) == 0

    def _stage(self, threshold: float) -> int:
        """Return the last level that is not below a threshold."""
        return bisect_right(self.levels, -threshold, key=lambda level: -level) - 1

    def variance(self, threshold: float) -> float:
        """Return the variance of that logarithm, were all particles independent."""
        steps = zip(self.levels, self.log_shares, strict=True)
        passed = [log_share for level, log_share in steps if level >= threshold]
        passed.append(self.log_share(threshold))
        if passed[-1] == -math.inf:
            return math.inf
        return sum(math.expm1(high - low) for high, low in pairwise(passed)) / self.n_particles


# So many scores are enough to see whether their ranks are right.
_RANKED = 1024


def ranks_among(rising: FloatVector, scores: FloatVector) -> FloatVector:
    """Return ranks of scores among others, in [0, 1]; those of ties are in the middle."""
    left = np.searchsorted(rising, scores, "left")
    right = np.searchsorted(rising, scores, "right")
    ranks: FloatVector = (left + right) / (2 * rising.shape[0])
    return ranks


def rank_deviation(rising: FloatVector, scores: FloatVector) -> float:
    """Return by how many standard errors the mean rank is off (Mann and Whitney 1947).

    Were the scores independent of the others, and of the same law, it would be of mean 0 and
    variance 1. Copies that have not moved have the ranks of the others: then it is 0. NaN where
    all are tied.
    """
    scores = scores[:_RANKED]
    n, m = rising.shape[0], scores.shape[0]
    _, ties = np.unique(np.concatenate([rising, scores]), return_counts=True)
    total = n + m
    tied = float((ties.astype(np.float64) ** 3 - ties).sum()) / (total * (total - 1.0))
    variance = (total + 1.0 - tied) / (12.0 * n * m)
    if variance <= 0:
        return math.nan
    return float((ranks_among(rising, scores).mean() - 0.5) / math.sqrt(variance))


# The mean square of deviations may be within this factor of 1. Particles that still know in part
# where they began cost some accuracy, which the repeats measure; they are no reason to warn.
_TOLERATED = 2.0


def insertion_p_value(deviations: Sequence[float]) -> float:
    """Return the p-value of rank deviations of many steps: of their mean and of their spread.

    Ranks of new points among the others are uniform where both have the same law (Fowlie, Handley
    and Su 2020, for nested sampling).
    """
    known = np.array(deviations, np.float64)
    known = known[~np.isnan(known)]
    n = known.shape[0]
    if n == 0:
        return 1.0
    shifted = 2.0 * float(ndtr(-abs(known.sum()) / math.sqrt(n)))
    squares = float((known**2).sum())
    narrow = float(chdtr(n, squares * _TOLERATED))
    wide = float(chdtrc(n, squares / _TOLERATED))
    return min(1.0, 3.0 * min(shifted, narrow, wide))


def correlation(one: FloatVector, two: FloatVector) -> float:
    """Return the correlation of what was and what is; 0 where nothing varies."""
    one, two = one - one.mean(), two - two.mean()
    scale = math.sqrt(dot(one, one) * dot(two, two))
    return dot(one, two) / scale if scale > 0 else 0.0

"""Multilevel splitting: a tiny region as the last of many that lie in one another.

Particles, uniform in the box, lose the half with the highest scores; copies of the others take its
place and move until they have forgotten where they began (Kahn and Harris 1951; Cérou and Guyader
2007). Several repeats at once tell the error, and each other's proposals.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastad._core.threads import in_steps, thread_map
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.random import bits
from fastad.regions.cube import Cube
from fastad.regions.splitting.moves import Shape, Tally, Tuning, Walkers
from fastad.regions.splitting.particles import (
    Loss,
    Particles,
    correlation,
    rank_deviation,
    ranks_among,
)

# Particles that a thread moves together.
_AT_ONCE = 2048
# Moves of each particle between two looks at what they have forgotten.
_SWEEPS = 3
# They may stop where they correlate so much with where they began: that a copy is like another
# particle costs as much accuracy as the moves it takes to part them.
_FORGOTTEN = 0.25
# Before, whatever it costs, this part must have moved at all: copies are no sample.
_MOVED = 0.75
# Particles of each repeat that are looked at.
_WATCHED = 128


class Splitting:
    """Some repeats of multilevel splitting, side by side.

    Attributes
    ----------
    repeats : list of Particles
        At least two, as each is moved by proposals from the others.
    deviations : list of float
        Of the ranks of moved particles, for each repeat and level (`rank_deviation`).
    likenesses : list of float
        Correlations of particles with where they began to move, for each level.
    tuning : Tuning
        How moves are made.
    """

    def __init__(
        self,
        cube: Cube,
        n_repeats: int,
        n_particles: int,
        rng: np.random.Generator,
        tuning: Tuning | None = None,
    ) -> None:
        self.deviations: list[float] = []
        self.likenesses: list[float] = []
        self.tuning = Tuning() if tuning is None else tuning
        self._cube, self._rng = cube, rng
        self.repeats = []
        for _ in range(n_repeats):
            points = rng.random((cube.n_features, n_particles))
            self.repeats.append(Particles(points, cube.scores(points)))
        self._shapes = {one: Shape() for one in self.repeats}

    @property
    def n_particles(self) -> int:
        """Particles of each repeat."""
        return self.repeats[0].n_particles

    def advance(self, target: float, allowance: float = math.inf) -> bool:
        """Let the repeats pass one level each; tell whether one did.

        With about so many score calls; the first moves are made whatever they cost.
        """
        moving = [(one, loss) for one in self.repeats if (loss := one.lose(target)) is not None]
        if not moving:
            return False
        groups = [self._walkers(one, loss) for one, loss in moving]
        self._move(moving, groups, self._cube.n_scored + allowance)
        for (one, loss), group in zip(moving, groups, strict=True):
            points = np.concatenate([walkers.points for walkers in group], axis=1)
            scores = np.concatenate([walkers.scores for walkers in group])
            one.place(loss, points, scores)
            self.deviations.append(rank_deviation(loss.rising, scores))
        return True

    def _walkers(self, own: Particles, loss: Loss) -> list[Walkers]:
        """Return the copies, to be moved by proposals that know nothing of them."""
        others = [one.survivors for one in self.repeats if one is not own]
        cloud = self._shapes[own].cloud(np.concatenate(others, axis=1))
        parents = loss.parents(self._rng)
        return [
            Walkers(own.points[:, part], own.scores[part], loss.level, cloud)
            for numbers in in_steps(0, parents.shape[0], _AT_ONCE)
            for part in [parents[numbers.start : numbers.stop]]
        ]

    def _move(
        self, moving: list[tuple[Particles, Loss]], groups: list[list[Walkers]], most: float
    ) -> None:
        """Move particles until they have forgotten where they began, or for long."""
        walkers = [one for group in groups for one in group]
        watched = [(group[0], loss) for (_, loss), group in zip(moving, groups, strict=True)]
        began = _View.of(watched)
        key = self._rng.integers(2**64, dtype=np.uint64)
        likeness = 1.0
        for done in range(0, 10 + 5 * self._cube.n_features, _SWEEPS):
            before = self._cube.n_scored
            kinds = self.tuning.choose(self._rng, _SWEEPS)
            self._sweep(walkers, kinds, np.uint64(bits(key, done)))
            now = _View.of(watched)
            likeness = now.likeness(began)
            # As many calls again would be too many, or more so than they are now too few.
            is_last = self._cube.n_scored + (self._cube.n_scored - before) / 2 > most
            if likeness <= _FORGOTTEN or (is_last and now.moved(began) >= _MOVED):
                break
        self.likenesses.append(likeness)

    def _sweep(self, walkers: list[Walkers], kinds: list[str], key: np.uint64) -> None:
        """Let all particles try a move of each of some kinds."""
        scales = [self.tuning.scales[kind] for kind in kinds]
        keys = [
            [np.uint64(bits(key, i * len(kinds) + step)) for step in range(len(kinds))]
            for i in range(len(walkers))
        ]
        if self._cube.on_threads:

            def move(i: int) -> list[Tally]:
                return [
                    walkers[i].settle(self._cube.scores(walkers[i].propose(*how)))
                    for how in zip(kinds, scales, keys[i], strict=True)
                ]

            tallies = thread_map(move, range(len(walkers)))
        else:
            tallies = [[] for _ in walkers]
            for step, (kind, scale) in enumerate(zip(kinds, scales, strict=True)):
                proposed = [
                    one.propose(kind, scale, own[step])
                    for one, own in zip(walkers, keys, strict=True)
                ]
                # All at once: a call of a user's function is dear.
                scores = self._cube.scores(np.concatenate(proposed, axis=1))
                ends = np.cumsum([points.shape[1] for points in proposed])
                for one, own, tally in zip(
                    walkers, np.split(scores, ends[:-1]), tallies, strict=True
                ):
                    tally.append(one.settle(own))
        for step, kind in enumerate(kinds):
            total = Tally()
            for tally in tallies:
                total += tally[step]
            self.tuning.learn(kind, total)


class _View(NamedTuple):
    """Where some particles of each repeat are.

    Attributes
    ----------
    ranks : numpy.ndarray of shape (n_watched,)
        Of their scores, among the particles that stay.
    places : numpy.ndarray of shape (n_features, n_watched)
        In the cloud's coordinates.
    """

    ranks: FloatVector
    places: FloatMatrix

    @classmethod
    def of(cls, watched: Sequence[tuple[Walkers, Loss]]) -> "_View":
        """Look at the first ones of each repeat."""
        ranks = [ranks_among(loss.rising, one.scores[:_WATCHED]) for one, loss in watched]
        places = [one.rounded[:, :_WATCHED] for one, _ in watched]
        return cls(np.concatenate(ranks), np.concatenate(places, axis=1))

    def moved(self, began: "_View") -> float:
        """Return the share of those that are not where they began."""
        return float((self.places != began.places).any(axis=0).mean())

    def likeness(self, began: "_View") -> float:
        """Return how much they correlate with where they began: in rank, or in place.

        In place on the mean of the coordinates, without the fifth that are most alike: in a region
        of several parts one direction leads from part to part, and moves cross it seldom.
        """
        pairs = zip(began.places, self.places, strict=True)
        each = sorted(correlation(before, now) for before, now in pairs)
        in_place = float(np.mean(each[: max(1, 4 * len(each) // 5)]))
        return max(correlation(began.ranks, self.ranks), in_place)

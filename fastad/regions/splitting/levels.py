"""Multilevel splitting: a tiny region as the last of many that lie in one another.

Particles, uniform in the box, lose the half with the highest scores; copies of the others replace
them and move until they have forgotten where they began (Kahn and Harris 1951; Cérou and Guyader
2007). From several repeats at once the error is estimated, and each makes proposals for the others.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastad._core.progress import show_note
from fastad._core.threads import in_steps, thread_map
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.random import bits
from fastad.regions.scores import Cube
from fastad.regions.splitting.diagnostics import correlation, rank_deviation, ranks_among
from fastad.regions.splitting.moves import Shape, Tally, Tuning, Walkers
from fastad.regions.splitting.particles import Loss, Particles
from fastad.regions.splitting.restarts import MOST_COMPARED

# Particles that a thread moves together.
_AT_ONCE = 2048
# Moves of each particle between two checks of the correlation with the start.
SWEEPS = 3
# Correlation with the start at which particles may stop: then a copy that is like another particle
# costs as much accuracy as the moves that part them. Those that stand still correlate as much as
# they are a part of all: at any cost they are no more, as copies are no sample.
_FORGOTTEN = 0.25
# Turns of moves below the target, each with the shape that the last one has shown.
TURNS = 4


class Splitting:
    """Some repeats of multilevel splitting, side by side.

    Attributes
    ----------
    repeats : list of Particles
        At least two repeats, as each is moved by proposals from the others.
    deviations : list of float
        Deviations of the ranks of moved particles, by repeat and level (`rank_deviation`).
    correlations : list of float
        Correlations of particles with where they began to move, for each level.
    tuning : Tuning
        Settings of the moves.
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
        self.correlations: list[float] = []
        self.tuning = Tuning(cube.n_features) if tuning is None else tuning
        self._cube, self._rng = cube, rng
        self.repeats = []
        for _ in range(n_repeats):
            points = rng.random((cube.n_features, n_particles))
            self.repeats.append(Particles(points, cube.scores(points)))
        self._shapes = {repeat: Shape() for repeat in self.repeats}

    @property
    def n_particles(self) -> int:
        """Particles of each repeat."""
        return self.repeats[0].n_particles

    def advance(self, target: float, allowance: float = math.inf) -> bool:
        """Let the repeats pass one level each; tell whether one did.

        Takes about ``allowance`` score calls; the first moves are made at any cost.
        """
        moving = [
            (repeat, loss) for repeat in self.repeats if (loss := repeat.lose(target)) is not None
        ]
        if not moving:
            return False
        groups = [self._walkers(repeat, loss) for repeat, loss in moving]
        self._move(moving, groups, self._cube.n_scored + allowance)
        for (repeat, loss), group in zip(moving, groups, strict=True):
            points = np.concatenate([walkers.points for walkers in group], axis=1)
            scores = np.concatenate([walkers.scores for walkers in group])
            repeat.replace(loss, points, scores)
            self.deviations.append(rank_deviation(loss.rising, scores))
        show_note(self._depth)
        return True

    def _depth(self) -> str:
        """Return in words how small the region is that the repeats have come down to."""
        log_fraction = float(np.mean([repeat.log_fractions[-1] for repeat in self.repeats]))
        return f"down to 10^{log_fraction / math.log(10):.1f} of the box"

    def wander(self, target: float, n_calls: int) -> tuple[list[FloatMatrix], list[FloatMatrix]]:
        """Let the particles below a target move on there, with about ``n_calls`` score calls.

        Few particles, akin to each other, become many that are less so: all positions where they
        have been are points of the region (as in waste-free sequential Monte Carlo, Dau and Chopin
        2022). Of too many particles, some move. They replace the original ones.

        Returns the last positions of each repeat's particles, and all their positions, a point a
        column.
        """
        most_of_each = max(n_calls // (2 * TURNS * SWEEPS * len(self.repeats)), 1)
        inside = []
        for repeat in self.repeats:
            below = np.flatnonzero(repeat.scores < target)
            inside.append(below[:: -(-below.shape[0] // most_of_each)])
        points = [r.points[:, i] for r, i in zip(self.repeats, inside, strict=True)]
        scores = [r.scores[i] for r, i in zip(self.repeats, inside, strict=True)]
        positions = points  # of the last turn
        begin = self._cube.n_scored
        n_particles = sum(moving.shape[1] for moving in points)
        for turn in range(1, TURNS + 1):
            walkers = []
            for k, repeat in enumerate(self.repeats):
                others = np.concatenate([*positions[:k], *positions[k + 1 :]], axis=1)
                cloud = self._shapes[repeat].cloud(others)
                walkers.append(Walkers(points[k], scores[k], target, cloud))
            key = self._rng.integers(2**64, dtype=np.uint64)
            views: list[list[FloatMatrix]] = [[] for _ in walkers]
            # Proposals outside of the cube cost nothing, and must come to an end all the same.
            most_moves = 4 * n_calls // (TURNS * n_particles) + 1
            for done in range(0, most_moves, SWEEPS):
                kinds = self.tuning.choose(self._rng, SWEEPS)
                self._sweep(walkers, kinds, np.uint64(bits(key, done)))
                for view, walker in zip(views, walkers, strict=True):
                    view.append(walker.points.copy())
                if self._cube.n_scored - begin >= turn * n_calls // TURNS:
                    break
            positions = [np.concatenate(view, axis=1) for view in views]
            points = [walker.points for walker in walkers]
            scores = [walker.scores for walker in walkers]
        for repeat, i, moved, new in zip(self.repeats, inside, points, scores, strict=True):
            repeat.points[:, i], repeat.scores[i] = moved, new
        return points, positions

    def _walkers(self, repeat: Particles, loss: Loss) -> list[Walkers]:
        """Return the copies, to be moved by proposals that are independent of them."""
        survivors = [other.survivors for other in self.repeats if other is not repeat]
        cloud = self._shapes[repeat].cloud(np.concatenate(survivors, axis=1))
        parents = loss.parents(self._rng)
        return [
            Walkers(repeat.points[:, part], repeat.scores[part], loss.level, cloud)
            for numbers in in_steps(0, parents.shape[0], _AT_ONCE)
            for part in [parents[numbers.start : numbers.stop]]
        ]

    def _move(
        self, moving: list[tuple[Particles, Loss]], groups: list[list[Walkers]], most: float
    ) -> None:
        """Move particles until they have forgotten where they began, or for long."""
        walkers = [walker for group in groups for walker in group]
        watched = [(group[0], loss) for (_, loss), group in zip(moving, groups, strict=True)]
        began = _View.of(watched)
        key = self._rng.integers(2**64, dtype=np.uint64)
        correlation_with_start = 1.0
        for done in range(0, 10 + 5 * self._cube.n_features, SWEEPS):
            before = self._cube.n_scored
            kinds = self.tuning.choose(self._rng, SWEEPS)
            self._sweep(walkers, kinds, np.uint64(bits(key, done)))
            now = _View.of(watched)
            correlation_with_start = now.correlation_with_start(began)
            # The next sweep would overshoot the budget by more than is left of it.
            is_last = self._cube.n_scored + (self._cube.n_scored - before) / 2 > most
            if correlation_with_start <= _FORGOTTEN or (is_last and now.still(began) <= _FORGOTTEN):
                break
        self.correlations.append(correlation_with_start)

    def _sweep(self, walkers: list[Walkers], kinds: list[str], key: np.uint64) -> None:
        """Let all particles try a move of each of some kinds."""
        scales = [self.tuning.scales[kind] for kind in kinds]
        keys = [
            [np.uint64(bits(key, i * len(kinds) + step)) for step in range(len(kinds))]
            for i in range(len(walkers))
        ]
        if self._cube.on_threads:

            def move_all(i: int) -> list[Tally]:
                return [
                    walkers[i].settle(self._cube.scores(walkers[i].propose(*move)))
                    for move in zip(kinds, scales, keys[i], strict=True)
                ]

            tallies = thread_map(move_all, range(len(walkers)))
        else:
            tallies = [[] for _ in walkers]
            for step, (kind, scale) in enumerate(zip(kinds, scales, strict=True)):
                proposed = [
                    walker.propose(kind, scale, steps[step])
                    for walker, steps in zip(walkers, keys, strict=True)
                ]
                # All at once: a call of a user's function is expensive.
                scores = self._cube.scores(np.concatenate(proposed, axis=1))
                ends = np.cumsum([points.shape[1] for points in proposed])
                for walker, part, tally in zip(
                    walkers, np.split(scores, ends[:-1]), tallies, strict=True
                ):
                    tally.append(walker.settle(part))
        for step, kind in enumerate(kinds):
            total = Tally()
            for tally in tallies:
                total += tally[step]
            self.tuning.learn(kind, total)


class _View(NamedTuple):
    """Some particles of each repeat, to compare with later positions."""

    ranks: FloatVector  # (n_watched,): ranks of their scores among the particles that stay
    coordinates: FloatMatrix  # (n_features, n_watched): coordinates in the cloud

    @classmethod
    def of(cls, watched: Sequence[tuple[Walkers, Loss]]) -> "_View":
        """Look at the first ones of each repeat."""
        ranks = [
            ranks_among(loss.rising, walkers.scores[:MOST_COMPARED]) for walkers, loss in watched
        ]
        coordinates = [walkers.rounded[:, :MOST_COMPARED] for walkers, _ in watched]
        return cls(np.concatenate(ranks), np.concatenate(coordinates, axis=1))

    def still(self, began: "_View") -> float:
        """Return the fraction of those that are where they began."""
        return float((self.coordinates == began.coordinates).all(axis=0).mean())

    def correlation_with_start(self, began: "_View") -> float:
        """Return how much they correlate with where they began: in rank, or in position.

        In position on the mean of the coordinates, without the fifth that correlate most: in a
        region of several parts one direction leads from part to part, and moves cross it seldom.
        """
        pairs = zip(began.coordinates, self.coordinates, strict=True)
        each = sorted(correlation(before, now) for before, now in pairs)
        in_position = float(np.mean(each[: max(1, 4 * len(each) // 5)]))
        return max(correlation(began.ranks, self.ranks), in_position)

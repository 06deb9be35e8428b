"""Multilevel splitting: a tiny region as the last of many that lie in one another.

Particles, uniform in the box, lose the half with the highest scores; copies of the others replace
them and move until they have forgotten where they began (Kahn and Harris 1951; Cérou and Guyader
2007). From several repeats at once the error is estimated, and each makes proposals for the others.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fastad._core.progress import say
from fastad._core.threads import in_steps, thread_map
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.random import bits
from fastad.regions.scores import Cube
from fastad.regions.splitting.diagnostics import correlation, rank_deviation, ranks_among
from fastad.regions.splitting.moves import Shape, Tally, Tuning, Walkers

# Particles of a repeat that a shape is estimated from: these, and so many for each feature.
_SHAPED, _SHAPED_EACH = 256, 8
# So often tied particles of one ancestor move again before they are taken to be on a plateau.
_PARTINGS = 20
# Particles that a thread moves together.
_AT_ONCE = 2048
# Moves of each particle between two looks at what they have forgotten.
_SWEEPS = 3
# They may stop where they correlate so much with where they began: that a copy is like another
# particle costs as much accuracy as the moves it takes to part them.
_FORGOTTEN = 0.25
# Before, whatever it costs, this part must have moved at all: copies are no sample.
_MOVED = 0.75
# Turns of moves below the target, each with the shape that the last one has shown, and how often
# places are noted in each, about.
_TURNS, _VIEWS = 4, 20
# Particles of each repeat that are looked at.
_WATCHED = 128


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
    levels, log_fractions : list of float
        Levels passed, from +inf, and logarithms of the fractions of the cube below them.
    is_stuck : bool
        Whether all particles have the same score, above what is looked for.
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
        if n_kept == 0:  # the lowest score is that of more than half
            n_kept = int(np.searchsorted(rising, level, "right"))
            level = rising[n_kept] if n_kept < n else math.inf
        if n_kept == n:
            if target > rising[0]:
                return None
            self._n_tied += 1
            self.is_stuck = self._n_tied > _PARTINGS or not self._have_one_ancestor()
            return None if self.is_stuck else self._part(rising)
        if level <= target:
            return None
        self._n_tied = 0
        self.levels.append(float(level))
        self.log_fractions.append(self.log_fractions[-1] + math.log(n_kept / n))
        stays = self.scores < level
        loss = Loss(float(level), rising[:n_kept], np.flatnonzero(stays), np.flatnonzero(~stays))
        step = -(-n_kept // (_SHAPED + _SHAPED_EACH * self.points.shape[0]))
        self.survivors = np.ascontiguousarray(self.points[:, loss.survivors[::step]])
        return loss

    def _have_one_ancestor(self) -> bool:
        """Tell whether all agree in a coordinate: that is no plateau, but one ancestor."""
        return len(self.levels) > 1 and bool((self.points == self.points[:, :1]).all(1).any())

    def _part(self, rising: FloatVector) -> Loss:
        """Let all but one move again."""
        self.levels.append(self.levels[-1])
        self.log_fractions.append(self.log_fractions[-1])
        indices = np.arange(self.n_particles)
        return Loss(self.levels[-1], rising[:1], indices[:1], indices[1:])

    def replace(self, loss: Loss, points: FloatMatrix, scores: FloatVector) -> None:
        """Replace what was lost by particles that have moved."""
        self.points[:, loss.lost] = points
        self.scores[loss.lost] = scores
        self._rising.append(np.sort(self.scores))

    def log_fraction(self, threshold: float) -> float:
        """Return the logarithm of the fraction below a threshold; -inf where no particle was."""
        n_below = self.n_below(threshold)
        if n_below == 0:
            return -math.inf
        return self.log_fractions[self._stage(threshold)] + math.log(n_below / self.n_particles)

    def log_fractions_below(self, thresholds: FloatVector) -> FloatVector:
        """Return what `log_fraction` returns of each of many thresholds, bit for bit."""
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
        return int(np.searchsorted(self._rising[self._stage(threshold)], threshold, "left"))

    def n_first_below(self, threshold: float) -> int:
        """Count the first particles, uniform in the box, that were below a threshold."""
        return int(np.searchsorted(self._rising[0], threshold, "left"))

    def is_first(self, threshold: float) -> bool:
        """Tell whether a threshold is above the first level that was passed."""
        return self._stage(threshold) == 0

    def _stage(self, threshold: float) -> int:
        """Return the last level that is not below a threshold."""
        return bisect_right(self.levels, -threshold, key=lambda level: -level) - 1

    def _stages(self, thresholds: FloatVector) -> IntVector:
        """Return what `_stage` returns of each of many thresholds."""
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
        """Return what `variance` returns of each of many thresholds, nearly."""
        stages = self._stages(thresholds)
        passed = np.array(self.log_fractions)
        sums = np.concatenate([[0.0], np.cumsum(np.expm1(passed[:-1] - passed[1:]))])
        variances: FloatVector = sums[stages] + np.expm1(
            passed[stages] - self.log_fractions_below(thresholds)
        )
        return variances / self.n_particles


class Splitting:
    """Some repeats of multilevel splitting, side by side.

    Attributes
    ----------
    repeats : list of Particles
        At least two, as each is moved by proposals from the others.
    deviations : list of float
        Of the ranks of moved particles, for each repeat and level (`rank_deviation`).
    correlations : list of float
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
        self.correlations: list[float] = []
        self.tuning = Tuning() if tuning is None else tuning
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

        With about so many score calls; the first moves are made whatever they cost.
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
        say(self._depth)
        return True

    def _depth(self) -> str:
        """Return in words how small the region is that the repeats have come down to."""
        log_fraction = float(np.mean([repeat.log_fractions[-1] for repeat in self.repeats]))
        return f"down to 10^{log_fraction / math.log(10):.1f} of the box"

    def wander(self, target: float, n_calls: int) -> tuple[list[FloatMatrix], list[FloatMatrix]]:
        """Let the particles below a target move on there, with about so many score calls.

        Of few particles, akin to each other, these become many that are less so: all places where
        they have been are points of the region (as in waste-free sequential Monte Carlo, Dau and
        Chopin 2022). Of more than can move far some do. They replace what they were.

        Returns
        -------
        list of numpy.ndarray of shape (n_features, n_particles)
            Where those of each repeat are at the end.
        list of numpy.ndarray of shape (n_features, n_points)
            Where those of each have been.
        """
        most = max(n_calls // (2 * _TURNS * _SWEEPS * len(self.repeats)), 1)
        inside = []
        for repeat in self.repeats:
            below = np.flatnonzero(repeat.scores < target)
            inside.append(below[:: -(-below.shape[0] // most)])
        points = [r.points[:, i] for r, i in zip(self.repeats, inside, strict=True)]
        scores = [r.scores[i] for r, i in zip(self.repeats, inside, strict=True)]
        places = points  # of the last turn
        begin = self._cube.n_scored
        n_particles = sum(one.shape[1] for one in points)
        for turn in range(1, _TURNS + 1):
            walkers = []
            for k, repeat in enumerate(self.repeats):
                others = np.concatenate([one for i, one in enumerate(places) if i != k], axis=1)
                cloud = self._shapes[repeat].cloud(others)
                walkers.append(Walkers(points[k], scores[k], target, cloud))
            key = self._rng.integers(2**64, dtype=np.uint64)
            views: list[list[FloatMatrix]] = [[] for _ in walkers]
            # Proposals outside of the cube cost nothing, and must come to an end all the same.
            most = 4 * n_calls // (_TURNS * n_particles) + 1
            # Far apart, so that they are less akin, and that clouds stay small.
            step = -(-most // (4 * _SWEEPS * _VIEWS)) * _SWEEPS
            for done in range(0, most, _SWEEPS):
                kinds = self.tuning.choose(self._rng, _SWEEPS)
                self._sweep(walkers, kinds, np.uint64(bits(key, done)))
                if done % step == 0:
                    for view, walker in zip(views, walkers, strict=True):
                        view.append(walker.points.copy())
                if self._cube.n_scored - begin >= turn * n_calls // _TURNS:
                    break
            places = [np.concatenate(view, axis=1) for view in views]
            points = [walker.points for walker in walkers]
            scores = [walker.scores for walker in walkers]
        for repeat, i, moved, their in zip(self.repeats, inside, points, scores, strict=True):
            repeat.points[:, i], repeat.scores[i] = moved, their
        return points, places

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
        for done in range(0, 10 + 5 * self._cube.n_features, _SWEEPS):
            before = self._cube.n_scored
            kinds = self.tuning.choose(self._rng, _SWEEPS)
            self._sweep(walkers, kinds, np.uint64(bits(key, done)))
            now = _View.of(watched)
            correlation_with_start = now.correlation_with_start(began)
            # As many calls again would be too many, or more so than they are now too few.
            is_last = self._cube.n_scored + (self._cube.n_scored - before) / 2 > most
            if correlation_with_start <= _FORGOTTEN or (is_last and now.moved(began) >= _MOVED):
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
    """Where some particles of each repeat are.

    Attributes
    ----------
    ranks : numpy.ndarray of shape (n_watched,)
        Of their scores, among the particles that stay.
    coordinates : numpy.ndarray of shape (n_features, n_watched)
        In the cloud.
    """

    ranks: FloatVector
    coordinates: FloatMatrix

    @classmethod
    def of(cls, watched: Sequence[tuple[Walkers, Loss]]) -> "_View":
        """Look at the first ones of each repeat."""
        ranks = [ranks_among(loss.rising, walkers.scores[:_WATCHED]) for walkers, loss in watched]
        coordinates = [walkers.rounded[:, :_WATCHED] for walkers, _ in watched]
        return cls(np.concatenate(ranks), np.concatenate(coordinates, axis=1))

    def moved(self, began: "_View") -> float:
        """Return the fraction of those that are not where they began."""
        return float((self.coordinates != began.coordinates).any(axis=0).mean())

    def correlation_with_start(self, began: "_View") -> float:
        """Return how much they correlate with where they began: in rank, or in position.

        In position on the mean of the coordinates, without the fifth that correlate most: in a
        region of several parts one direction leads from part to part, and moves cross it seldom.
        """
        pairs = zip(began.coordinates, self.coordinates, strict=True)
        each = sorted(correlation(before, now) for before, now in pairs)
        in_position = float(np.mean(each[: max(1, 4 * len(each) // 5)]))
        return max(correlation(began.ranks, self.ranks), in_position)

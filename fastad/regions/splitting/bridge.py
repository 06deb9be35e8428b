"""Bridges: the fraction of the last region by particles and by draws from a density fitted to them.

A product of the fractions of levels errs the more the smaller it is: of particles that are
independent, the logarithm by no less than 1.2 ln(1 / fraction) / sqrt(n_draws). A density q that is
fitted to particles of the region knows its own integral, however small the region is. For any
function h the fraction is the integral of q h over the region by the mean of q h over particles
(Bennett 1976; Meng and Wong 1996): by draws from q and by particles, of which the ones tell how
much of q is in the region, and the others how much of the region is in q.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, stdtrit

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.regions.algebra import dot
from fastad.regions.scores import Cube
from fastad.regions.splitting.density import (
    POINTS_A_COMPONENT,
    Mixture,
    from_responsibilities,
    refine,
    start,
)
from fastad.regions.splitting.diagnostics import correlation
from fastad.regions.splitting.levels import SWEEPS, TURNS, Splitting
from fastad.regions.splitting.pilots import LEAST_EFFICIENCY, Draws, draw, fit_densities
from fastad.regions.splitting.restarts import (
    MOST_COMPARED,
    WALKS_PART,
    Cells,
    connected_components,
    isolated,
    random_walk,
    thin,
)

# A density is fitted with at least this many draws.
FEWEST_DRAWS = 10_000
# Parts of the calls that are left: for each pilot; for particles, on their way to the region at
# least, and then to move on there.
_PILOT_PART, PARTICLES_PART = 0.04, 0.25
# Parts of the draws that pilots leave for the densities fitted: as a rule, and where otherwise none
# fits. For a ball in 100 features, with 240 particles, the efficiency grows from 0.0004 in pilot 1
# to 0.43 in pilot 5; for a mixture of two ellipsoids from 0.0001 to 0.012 in pilot 13.
_LEFT_PART, _LEAST_LEFT_PART = 0.28, 0.15
# Random walks: starts in each component of the region and isolated points at most, positions of
# each, and starts in a cell without a particle.
_MOST_STARTS, _POSITIONS, _STARTS_IN_EMPTY_CELL = 40, 1500, 2
# Part of each repeat's particles that the density must cover: where it is at least the required
# efficiency of a pilot times the region's uniform density.
_LEAST_COVERAGE = 0.5
# p-value of draws that show more of the region than particles do. With a tenth of it an ellipsoid
# in 100 features was too small by 0.04, where the interval had 0.02.
_SUSPICIOUS = 1e-2
# Correlations of rounds are at most this.
_MOST_KEPT = 0.95
_MOST_ITERATIONS, _TOLERANCE = 500, 1e-10


class _Near(NamedTuple):
    """Points of one cell of the region."""

    points: FloatMatrix
    independent: float  # part of the points that counts beside draws
    inflation: float  # variance over the points as a multiple of that over independent ones


class _Moments(NamedTuple):
    """Variance of a mean by its square, and the variance of the estimate of this variance."""

    variance: float
    of_variance: float


class Bridge(NamedTuple):
    """Evidence of the bridges to some repeats on the region below a threshold."""

    threshold: float
    log_fractions: FloatVector  # (n_repeats,): the region's fraction, by repeat
    variance: float  # mean variance of these logarithms, were all points independent
    df: float  # degrees of freedom of this variance: few where few draws have most of the weight
    n_independent: float  # independent places that the places of particles are worth
    # Excess of the logarithm by draws alone over the one by particles; 0 where chance explains it.
    excess: float

    def missed(self, level: float) -> float:
        """Return the fraction of a part that particles miss too often for an end of an interval.

        The density may leave it out. It is the same in all repeats, and not in their scatter.
        """
        return max(-math.log((1 - level) / 2) / self.n_independent, math.expm1(self.excess))


def bridge(
    cube: Cube,
    splitting: Splitting,
    threshold: float,
    n_draws: int,
    each: float,
    rng: np.random.Generator,
    report: Callable[[], None],
    others: FloatMatrix,
) -> Bridge | str:
    """Estimate the region by the particles of each repeat, and by draws for each.

    The density also covers parts of the region that particles have missed, and in which ``others``
    were found.

    The density is fitted to the particles of all, and then to draws: the particles determine only
    which parts of the region it covers. Where it does not suit the region, or too few particles
    are there, the reason is returned.

    Parameters
    ----------
    each : float
        Calls by which a particle moves until it has forgotten where it was.
    """
    if n_draws < FEWEST_DRAWS:
        return "too few calls were left for one"
    repeats = splitting.repeats
    n_below = [repeat.n_below(threshold) for repeat in repeats]
    if min(n_below) == 0 or sum(n_below) < 2 * POINTS_A_COMPONENT:
        return "too few particles came below the threshold"
    last, n_values = cube.n_scored + n_draws, cube.n_values
    rounds, visited = _wandered(splitting, threshold, int(PARTICLES_PART * n_draws), each)
    report()
    inside = [np.concatenate(parts, axis=1) for parts in zip(*rounds, strict=True)]
    # Places of a particle in different rounds are near each other, and so are a component's.
    present = rounds[-1]
    points = np.unique(np.concatenate(present, axis=1), axis=1)
    distant = isolated(others, np.concatenate(visited, axis=1))[:, :_MOST_STARTS]
    some = np.concatenate([thin(points, MOST_COMPARED), distant], axis=1)
    labels = connected_components(some)
    are_parts = labels.max() > 0
    if not are_parts:
        labels = (np.arange(some.shape[1]) >= some.shape[1] - distant.shape[1]).astype(np.int64)
    cells = Cells(some, labels)
    own = [np.concatenate(present[half::2], axis=1) for half in (0, 1)]
    n_calls = int(WALKS_PART * n_draws)
    if are_parts:
        walked = [_walked(cube, cells, here, threshold, n_calls, rng) for here in own]
        report()
        if min(part.shape[1] for parts in walked for part in parts) == 0:
            return "a part of the region could not be walked in"
        mixture = _of_parts(
            [np.concatenate(x, axis=1) for x in zip(*walked, strict=True)], n_values
        )
    else:
        mixture = _of_positions(points, np.concatenate(visited, axis=1), n_values, rng)
    halves = [np.concatenate([here, distant], axis=1) for here in own]
    n_pilot = int(_PILOT_PART * n_draws)
    ends = last - int(_LEFT_PART * n_draws), last - int(_LEAST_LEFT_PART * n_draws)
    densities = fit_densities(cube, mixture, halves, threshold, n_pilot, ends, rng, report)
    if densities is None:
        return "no density fits the region"
    n_calls = min(n_calls, (last - cube.n_scored) // 2) // max(cells.n_empty(inside), 1)
    inflation = _inflation(rounds, densities)
    kept = _correlation_of_rounds([np.concatenate(places, axis=1) for places in rounds], cells)
    n_places = sum(particles.shape[1] for particles in inside)
    fewest = 1 / len(rounds) / max(len(repeat.levels) for repeat in repeats)
    independent = max((1 - kept) / (1 + kept), fewest)
    # The density that was not fitted to particles of this repeat.
    mixtures = [densities[1 - i % 2] for i in range(len(repeats))]
    near = [
        _by_cell(
            cube, cells, _Near(points, independent, inflation), mixture, threshold, n_calls, rng
        )
        for points, mixture in zip(inside, mixtures, strict=True)
    ]
    both, moments = np.empty((2, len(repeats))), np.empty((2, 2, len(repeats)))
    n_each = (last - cube.n_scored) // len(repeats)
    for i, (of_cells, mixture) in enumerate(zip(near, mixtures, strict=True)):
        drawn = draw(cube, mixture, threshold, n_each, rng, report)
        bridged = _bridge_cells(drawn, cells, of_cells)
        if bridged is None:
            return "the density does not cover the region"
        both[:, i], moments[..., i] = bridged
    excess = _excess(both[1] - both[0])
    by = int(excess > 0)
    variance, of_variance = moments[:, by].mean(axis=1).tolist()
    # Satterthwaite's, of the mean over the repeats.
    least = max(math.ulp(1.0) * variance**2, math.ulp(0.0))
    df = 2 * variance**2 * len(repeats) / max(of_variance, least)
    return Bridge(threshold, both[by], variance, df, n_places * independent, excess)


def _inflation(rounds: Sequence[Sequence[FloatMatrix]], densities: Sequence[Mixture]) -> float:
    """Return the variance over places as a multiple of the variance of independent places.

    By the correlation of the density at places with the density at places a round before.
    """
    logs = [
        [densities[1 - i % 2].log_density(places) for i, places in enumerate(repeats)]
        for repeats in rounds
    ]
    each = [np.concatenate(of_repeats) for of_repeats in logs]
    kept = correlation(np.concatenate(each[:-1]), np.concatenate(each[1:]))
    kept = min(max(kept, 0.0), _MOST_KEPT)
    return (1 + kept) / (1 - kept)


def _excess(differences: FloatVector) -> float:
    """Return the mean of differences of each repeat; 0 where it is not above 0 but by chance.

    Weighted draws alone have the fraction of what the density covers, which is no more than the
    region's. If they show more than with particles, these have not mixed: so it is in 100 features
    that have different widths.
    """
    mean, n = float(differences.mean()), differences.shape[0]
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    return mean if mean > float(stdtrit(n - 1, 1 - _SUSPICIOUS)) * error else 0.0


def _wandered(
    splitting: Splitting, threshold: float, n_calls: int, each: float
) -> tuple[list[list[FloatMatrix]], list[FloatMatrix]]:
    """Let particles move on; return their places after each round, by repeat, and all positions.

    A round is about as long as a particle needs to forget where it was, of ``each`` calls; in a
    shorter one than the least not all would move.
    """
    n_particles = sum(repeat.n_below(threshold) for repeat in splitting.repeats)
    n_rounds = max(int(n_calls / (n_particles * max(each, 2 * TURNS * SWEEPS))), 2)
    rounds = [splitting.wander(threshold, n_calls // n_rounds) for _ in range(n_rounds)]
    positions = zip(*(visited for _, visited in rounds), strict=True)
    return [places for places, _ in rounds], [np.concatenate(x, axis=1) for x in positions]


def _correlation_of_rounds(rounds: Sequence[FloatMatrix], cells: Cells) -> float:
    """Return the correlation of places with those a round before, of the slowest coordinate.

    Within cells, whose sizes draws show.
    """
    befores, afters = [], []
    for before, after in pairwise(rounds):
        labels = cells.of(before)
        stay = labels == cells.of(after)
        befores.append(_centred(before[:, stay], labels[stay]))
        afters.append(_centred(after[:, stay], labels[stay]))
    before, after = np.concatenate(befores, axis=1), np.concatenate(afters, axis=1)
    return _slowest(np.array([*map(correlation, before, after)]), before.shape[1])


def _slowest(correlations: FloatVector, n_pairs: int) -> float:
    """Return the largest of the coordinates' correlations, without its excess by chance.

    It is shrunk to the mean by the part of the differences that pairs of points explain (as by
    James and Stein 1961): of 20 equal coordinates with 250 pairs the largest is too high by 0.1.
    """
    slowest, mean = float(correlations.max()), float(correlations.mean())
    if correlations.shape[0] > 1:
        by_chance = (1 - slowest**2) ** 2 / max(n_pairs, 1)
        spread = max(float(correlations.var(ddof=1)), math.ulp(0.0))
        slowest = mean + max(1 - by_chance / spread, 0.0) * (slowest - mean)
    return min(max(slowest, 0.0), 1.0)


def _centred(points: FloatMatrix, labels: IntVector) -> FloatMatrix:
    """Return points less the mean of those with the same label."""
    centred = np.empty_like(points)
    for label in np.unique(labels):
        there = labels == label
        centred[:, there] = points[:, there] - points[:, there].mean(axis=1, keepdims=True)
    return centred


def _walked(
    cube: Cube,
    cells: Cells,
    points: FloatMatrix,
    threshold: float,
    n_calls: int,
    rng: np.random.Generator,
) -> list[FloatMatrix]:
    """Return many points of each cell, by walks from some points, or from the cell's own."""
    labels, walked = cells.of(points), []
    for k in range(cells.n):
        begin = points[:, labels == k]
        begin = begin if begin.shape[1] else cells.points[:, cells.labels == k]
        walked.append(_spread(cube, begin, threshold, n_calls // cells.n, rng))
    return walked


def _of_parts(parts: Sequence[FloatMatrix], n_values: Sequence[int]) -> Mixture:
    """Return a mixture with a component for each part."""
    rows = np.repeat(np.eye(len(parts)), [part.shape[1] for part in parts], axis=1)
    rows /= rows.sum(axis=1, keepdims=True)
    return from_responsibilities(rows, np.concatenate(parts, axis=1), n_values)


def _of_positions(
    points: FloatMatrix, positions: FloatMatrix, n_values: Sequence[int], rng: np.random.Generator
) -> Mixture:
    """Return a mixture that is fitted to positions, of as many components as suits points.

    Fitted to all positions, it would have a component for each particle.
    """
    even = np.full(positions.shape[1], 1 / positions.shape[1])
    return refine(start(np.unique(points, axis=1), n_values, rng), positions, even, n_values)


def _by_cell(
    cube: Cube,
    cells: Cells,
    places: _Near,
    mixture: Mixture,
    threshold: float,
    n_calls: int,
    rng: np.random.Generator,
) -> list[_Near]:
    """Return the particles in each cell; where there is none, positions of chains from there."""
    labels, by_cell = cells.of(places.points), []
    for k in range(cells.n):
        near = places._replace(points=places.points[:, labels == k])
        if near.points.shape[1] == 0:
            begin = cells.points[:, cells.labels == k]
            begin = begin[:, rng.choice(begin.shape[1], _STARTS_IN_EMPTY_CELL)]
            near = _akin(_spread(cube, begin, threshold, n_calls, rng), begin.shape[1], mixture)
            near = near._replace(points=near.points[:, cells.of(near.points) == k])
        by_cell.append(near)
    return by_cell


def _akin(positions: FloatMatrix, n_chains: int, mixture: Mixture) -> _Near:
    """Return positions of chains, of which each is one step from the one before in its chain."""
    if positions.shape[1] <= n_chains:
        return _Near(positions, 1.0, 1.0)
    before, after = positions[:, :-n_chains], positions[:, n_chains:]
    of_density = correlation(mixture.log_density(before), mixture.log_density(after))
    fewest = n_chains / positions.shape[1]
    independent, of_mean = (
        max((1 - kept) / (1 + kept), fewest)
        for kept in (max(0.0, *map(correlation, before, after)), max(0.0, of_density))
    )
    return _Near(positions, independent, 1 / of_mean)


def _bridge_cells(
    drawn: Draws, cells: Cells, near: Sequence[_Near]
) -> tuple[FloatVector, FloatMatrix] | None:
    """Return the logarithm of the fraction and its moments, by the sum over cells.

    Each by draws and particles, and by draws alone. Draws alone show the sizes of the cells:
    particles of a repeat may all be in one of two parts, however large the other one is. None where
    a cell is not covered.
    """
    labels, n = cells.of(drawn.points), drawn.n_drawn
    logs, moments = np.empty((2, cells.n)), np.empty((2, 2, cells.n))
    for k, of_cell in enumerate(near):
        there = labels == k
        part = drawn._replace(points=drawn.points[:, there], logs=drawn.logs[there])
        if of_cell.points.shape[1] == 0:
            return None
        of_near = drawn.mixture.log_density(of_cell.points)
        logs[0, k], moments[:, 0, k], covered = _bridge(
            part, of_near, of_cell.independent, of_cell.inflation
        )
        if covered < _LEAST_COVERAGE:
            return None
        logs[1, k] = float(logsumexp(-part.logs)) - math.log(n)
        moments[:, 1, k] = _moments(-part.logs, n)
    total: FloatVector = logsumexp(logs, axis=1)
    weights = np.exp(logs - total[:, None])
    # A draw that is in one cell is in no other.
    variances = (weights**2 * moments[0]).sum(axis=1) - (1 - (weights**2).sum(axis=1)) / n
    return total, np.stack([np.maximum(variances, 0.0), (weights**4 * moments[1]).sum(axis=1)])


def _spread(
    cube: Cube, points: FloatMatrix, threshold: float, n_calls: int, rng: np.random.Generator
) -> FloatMatrix:
    """Return many points of a part of the region, from few of it."""
    points = thin(points, _MOST_STARTS)
    n = points.shape[1]
    scores = cube.scores(np.ascontiguousarray(points))
    n_views = -(-_POSITIONS // n)
    return random_walk(cube, points, scores, threshold, n_calls // n, n_views, rng).positions


def _bridge(
    drawn: Draws, logs: FloatVector, independent: float = 1.0, inflation: float = 1.0
) -> tuple[float, _Moments, float]:
    """Return the logarithm of the fraction, its moments, and coverage.

    ``logs`` are the logarithms of the mixture's density at particles, which are uniform in the
    region; the coverage is the part of them where the mixture is not too thin. They count as the
    part ``independent`` of them (Gronau et al. 2017), and the variance of a mean over them is
    ``inflation`` times the variance of a mean over independent ones.

    With 1 / h the density of all the points together, draws and particles, which is the best h
    (Meng and Wong 1996): it needs the fraction itself, and is iterated.
    """
    n, m = drawn.n_drawn, logs.shape[0]
    if drawn.logs.shape[0] == 0:
        return -math.inf, _Moments(math.inf, math.inf), 0.0
    counting = independent * m
    log_n, log_m = math.log(n / (n + counting)), math.log(counting / (n + counting))
    log_fraction = -float(np.median(logs))
    for _ in range(_MOST_ITERATIONS):
        # h is over draws, q h over particles.
        h = -np.logaddexp(log_n + drawn.logs, log_m - log_fraction)
        qh = logs - np.logaddexp(log_n + logs, log_m - log_fraction)
        before = log_fraction
        log_fraction = float(logsumexp(h)) - math.log(n) - float(logsumexp(qh)) + math.log(m)
        if abs(log_fraction - before) < _TOLERANCE:
            break
    covered = float((logs + log_fraction > math.log(LEAST_EFFICIENCY)).mean())
    of_draws, of_points = _moments(h, n), _moments(qh, m)
    moments = _Moments(
        of_draws.variance + inflation * of_points.variance,
        of_draws.of_variance + inflation**3 * of_points.of_variance,
    )
    return log_fraction, moments, covered


def _moments(logs: FloatVector, n: int) -> _Moments:
    """Return the moments of a mean of n numbers, from the logarithms of some.

    The others are zero.
    """
    numbers = np.exp(logs - logs.max())
    deviations = numbers / numbers.sum() - 1 / n
    n_zero = n - logs.shape[0]
    variance = dot(deviations, deviations) + n_zero / n**2
    # What each number adds to it, by itself and by the mean.
    added = deviations**2 - 2 * variance * deviations - variance / n
    return _Moments(variance, dot(added, added) + n_zero * ((1 / n + variance) / n) ** 2)

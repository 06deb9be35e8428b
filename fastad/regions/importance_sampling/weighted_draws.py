"""Draws from a mixture that is fitted to the data of regions and to the hits of pilots.

The mixture is one around the data of the regions, refined by cross-entropy, and of the uniform
distribution, which keeps the weights bounded.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from fastad._core.progress import Progress
from fastad._core.threads import in_steps
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.errors import InvalidInputError
from fastad.regions.importance_sampling.neighbourhoods import neighbourhoods
from fastad.regions.importance_sampling.nested import points_below
from fastad.regions.importance_sampling.proposal import (
    POINTS_AT_ONCE,
    Mask,
    Mixture,
    adapt,
    beside,
    components_drawn,
    draw_in_cube,
    mixed,
    start,
)
from fastad.regions.importance_sampling.weights import Missed, WeightSums
from fastad.regions.scores import Cube

# Fewer score calls leave the pilots too few hits to fit anything to.
FEWEST_DRAWS = 1000
# Part of the draws that is uniform.
_UNIFORM_PART = 0.1
# Fractions of the budget: of scores of the data, and of each pilot.
_DATA_PART, _PILOT_PART = 0.1, 0.06
_N_PILOTS = 5
# Effective draws in the region per draw of a pilot, from which on no other pilot is needed.
_GOOD = 0.4
# Pilots whose hits are fitted together: the last ones.
_POOLED = 3
# Hits that a fit reads; more do not improve it by their cost.
_MOST_HITS = 30_000
# Part of the draws around single data points, where the mixture misses some.
_NEAR_PART = 0.2


class Hits(NamedTuple):
    """Draws below the largest threshold."""

    points: FloatMatrix
    scores: FloatVector
    logs: FloatVector  # of weights, 1 / density
    numbers: IntVector  # among the draws of their component


class WeightedDraws(NamedTuple):
    """Draws of an estimate.

    Attributes
    ----------
    n_drawn : int
        Number of draws.
    missed : dict
        Missed parts of the region below some of the thresholds.
    blocks : iterator
        The draws themselves.
    """

    n_drawn: int
    missed: dict[float, Missed]
    blocks: Iterator[Hits]


def weighted_draws(
    cube: Cube,
    thresholds: Sequence[float],
    data: FloatMatrix,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> WeightedDraws:
    """Fit a mixture to the data below thresholds, and draw from it."""
    if n_draws < FEWEST_DRAWS:
        raise InvalidInputError(
            f"n_draws must be at least {FEWEST_DRAWS} for method='importance'; found {n_draws}",
            argument="n_draws",
        )
    first = cube.n_scored

    def report() -> None:
        if progress is not None:
            progress(cube.n_scored - first, n_draws)

    most = int(_DATA_PART * n_draws)
    if data.shape[1] > most:
        data = data[:, np.sort(rng.choice(data.shape[1], most, replace=False))]
    inside = points_below(cube, thresholds, data)
    report()
    mixture, log_fractions = _refined(cube, inside, int(_PILOT_PART * n_draws), rng, report)
    n_drawn = n_draws - (cube.n_scored - first)
    mixture, missed = _reaching(mixture, inside, log_fractions, n_drawn, cube.n_values, rng)
    return WeightedDraws(
        n_drawn, missed, _drawn(cube, mixture, n_drawn, max(thresholds), rng, report)
    )


def _refined(
    cube: Cube,
    inside: dict[float, FloatMatrix],
    n_pilot: int,
    rng: np.random.Generator,
    report: Callable[[], None],
) -> tuple[Mixture, dict[float, float]]:
    """Fit a mixture to the data below each threshold, and then to the weighted hits of pilots.

    Returns
    -------
    mixture : Mixture
        Mixture for all thresholds.
    log_fractions : dict
        Logarithms of the fractions below them, from the pilots.
    """
    n_values = cube.n_values
    mixtures = {threshold: start(points, n_values, rng) for threshold, points in inside.items()}
    pilots: list[Hits] = []
    for _ in range(_N_PILOTS):
        drawn = list(
            _drawn(cube, mixed(list(mixtures.values())), n_pilot, max(inside), rng, report)
        )
        pilots = [*pilots[1 - _POOLED :], together(drawn)]
        efficiencies = []
        for threshold, mixture in mixtures.items():
            points, logs, n_effective = _pooled(pilots, threshold)
            efficiencies.append(n_effective / n_pilot)
            if n_effective > 1:
                mixtures[threshold] = adapt(mixture, points, logs, n_values, rng)
        if min(efficiencies) * len(efficiencies) >= _GOOD:
            break
    log_fractions = {}
    for threshold in inside:
        sums = WeightSums(n_pilot * len(pilots))
        for pilot in pilots:
            sums.add(pilot.logs[pilot.scores < threshold])
        log_fractions[threshold] = sums.log_sum - math.log(n_pilot * len(pilots))
    return mixed(list(mixtures.values())), log_fractions


def _reaching(
    mixture: Mixture,
    inside: dict[float, FloatMatrix],
    log_fractions: dict[float, float],
    n_drawn: int,
    n_values: Sequence[int],
    rng: np.random.Generator,
) -> tuple[Mixture, dict[float, Missed]]:
    """Let some draws be around single data points where a mixture misses any.

    The region may have a part in which there are data, but no draws, and no weights tell of it.
    The part that is still missed is counted at points that are not drawn around.
    """

    def missed(mixture: Mixture, without: FloatMatrix) -> dict[float, Missed]:
        return {
            threshold: _missed_below(
                mixture, points, _are_others(points, without), log_fractions[threshold], n_drawn
            )
            for threshold, points in inside.items()
        }

    missed_before = missed(mixture, np.empty((len(n_values), 0)))
    points = [inside[threshold] for threshold, part in missed_before.items() if part.n_missed]
    if not points:
        return mixture, missed_before
    distinct = np.unique(np.concatenate(points, axis=1), axis=1)
    centres = distinct[:, rng.permutation(distinct.shape[1]) < distinct.shape[1] / 2]
    wider = beside(mixture, neighbourhoods(centres, n_values, rng), _NEAR_PART)
    return wider, missed(wider, centres)


def _missed_below(
    mixture: Mixture, points: FloatMatrix, are_checked: Mask, log_fraction: float, n_drawn: int
) -> Missed:
    """Count points in whose part of a region fewer than one draw is expected."""
    n, checked = points.shape[1], points[:, are_checked]
    if checked.shape[1] == 0:
        return Missed(0, 0)
    logs = np.logaddexp(
        logsumexp(mixture.log_densities(checked), axis=0) + math.log1p(-_UNIFORM_PART),
        math.log(_UNIFORM_PART),
    )
    log_expected = logs + log_fraction - math.log(n) + math.log(n_drawn)
    return Missed(int(np.count_nonzero(log_expected < 0)), checked.shape[1])


def _are_others(points: FloatMatrix, without: FloatMatrix) -> Mask:
    """Tell which points are none of some others."""
    listed = set(map(tuple, without.T.tolist()))
    return np.array([tuple(point) not in listed for point in points.T.tolist()])


def together(blocks: Sequence[Hits]) -> Hits:
    """Return the hits of blocks as one."""
    return Hits(
        np.concatenate([hits.points for hits in blocks], axis=1),
        np.concatenate([hits.scores for hits in blocks]),
        np.concatenate([hits.logs for hits in blocks]),
        np.concatenate([hits.numbers for hits in blocks]),
    )


def _pooled(pilots: Sequence[Hits], threshold: float) -> tuple[FloatMatrix, FloatVector, float]:
    """Return the hits of pilots, logarithms of weights, and the last one's effective number.

    Each pilot has the weight of its effective number of hits.
    """
    points, logs, n_effective = [], [], 0.0
    most = _MOST_HITS // len(pilots)
    for pilot in pilots:
        below = np.flatnonzero(pilot.scores < threshold)
        sums = WeightSums(below.shape[0])
        sums.add(pilot.logs[below])
        n_effective = sums.effective
        if below.shape[0]:
            # Hits stand component by component: evenly spaced ones are of all components.
            below = below[:: -(-below.shape[0] // most)]
            points.append(pilot.points[:, below])
            logs.append(pilot.logs[below] - sums.log_sum + math.log(n_effective))
    if not points:
        return np.empty((pilots[0].points.shape[0], 0)), np.empty(0), 0.0
    return np.concatenate(points, axis=1), np.concatenate(logs), n_effective


def _drawn(
    cube: Cube,
    mixture: Mixture,
    n_drawn: int,
    threshold: float,
    rng: np.random.Generator,
    report: Callable[[], None],
) -> Iterator[Hits]:
    """Draw from a mixture, block by block; yield the draws below a threshold, with their weights.

    Draws outside of the cube have no weight and are not scored.
    """
    components, counts = components_drawn(mixture, (1 - _UNIFORM_PART) * n_drawn)
    n_uniform = n_drawn - int(counts.sum())
    # Weights by the numbers that are drawn in truth: only with those is the estimate unbiased.
    drawn = Mixture(components, counts / n_drawn)
    log_uniform = math.log(n_uniform / n_drawn)
    for points, numbers in draw_in_cube(components, counts, rng):
        yield _weighted(cube, drawn, log_uniform, points, numbers, threshold, report)
        report()
    for block in in_steps(0, n_uniform, POINTS_AT_ONCE):
        points = rng.random((cube.n_features, len(block)))
        yield _weighted(cube, drawn, log_uniform, points, np.asarray(block), threshold, report)
        report()


def _weighted(
    cube: Cube,
    mixture: Mixture,
    log_uniform: float,
    points: FloatMatrix,
    numbers: IntVector,
    threshold: float,
    report: Callable[[], None],
) -> Hits:
    scores = cube.scores(points, report) if points.shape[1] else np.empty(0)
    below = np.flatnonzero(scores < threshold)
    points = points[:, below]
    logs = np.empty(0)
    if below.shape[0]:
        logs = -np.logaddexp(logsumexp(mixture.log_densities(points), axis=0), log_uniform)
    return Hits(points, scores[below], logs, numbers[below])

"""A run of multilevel splitting: how many repeats and particles a budget allows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

from fastad._core.progress import Progress
from fastad._core.types import FloatMatrix, FloatVector
from fastad.errors import InvalidInputError
from fastad.regions.scores import Cube
from fastad.regions.splitting.bridge import FEWEST_DRAWS, PARTICLES_PART, Bridge, bridge
from fastad.regions.splitting.diagnostics import insertion_p_value
from fastad.regions.splitting.levels import Splitting
from fastad.regions.splitting.particles import Particles
from fastad.regions.splitting.restarts import WALKS_PART, descend, isolated

# Repeats that the error is estimated from.
N_REPEATS = 8
# Particles of a repeat: enough for a trial, and for a bridge, most of whose error is due to its
# draws; and at least.
_ENOUGH_PARTICLES, _FEWEST_PARTICLES = 50, 20
# Score calls of a run, at least.
FEWEST_CALLS = 10_000
# Part of the budget that is enough for a trial, whose levels are passed as in a longer run until it
# is spent; and too little for a further set of repeats.
_TRIAL_PART = 0.2
# Calls that may be spent beyond the budget to come down to the threshold, and levels beyond the
# trial's, as a part of these.
_EXCESS_PART = 0.1
# Parts of the calls left that particles take: at most before a bridge, and for a curve.
_MOST_FIRST_PART, _CURVE_PART = 0.5, 0.7
# Calls of a level, as a part of the trial's: among more particles, whose cloud is better known,
# moves go farther.
_CHEAPER = 0.7
# In fewer levels the first particles, which are uniform draws, meet each part of the region.
_FEW_LEVELS = 4
# Coordinates of all particles: 128 megabytes.
_LARGEST = 2**24


@dataclass(frozen=True, eq=False)  # no slots: the p-value is kept
class SplittingRun:
    """Repeats that have come down to a threshold, or as far as they could."""

    repeats: list[Particles]  # repeats of all sets
    # As in `Splitting`, of all sets.
    deviations: list[float]
    correlations: list[float]
    drawn: FloatVector  # (n_draws,): rising scores of uniform draws beside the first particles
    bridge: Bridge | str  # bridge from the particles to draws, or why there is none
    # Points of the region far from all particles; 0 with a bridge, which covers them.
    n_isolated: int = 0

    @classmethod
    def of(
        cls,
        sets: Sequence[Splitting],
        drawn: FloatVector,
        bridge: Bridge | str,
        n_isolated: int = 0,
    ) -> "SplittingRun":
        """Return the repeats of several sets together, or of one with its bridges."""
        return cls(
            [repeat for group in sets for repeat in group.repeats],
            [deviation for group in sets for deviation in group.deviations],
            [correlation for group in sets for correlation in group.correlations],
            *(drawn, bridge, n_isolated),
        )

    @cached_property
    def mixing_p_value(self) -> float:
        """p-value of the hypothesis that particles have moved enough."""
        return insertion_p_value(self.deviations)


def split(
    cube: Cube,
    target: float,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
    data: FloatMatrix | None = None,
    *,
    curve: bool = False,
) -> SplittingRun:
    """Bring particles down to a threshold, as many as about ``n_draws`` score calls allow.

    Independent points, from anywhere and from data, show the parts that particles have missed.

    For a curve particles take more of the calls: a bridge has its effect at the threshold.

    Where the budget ends before, and where all particles are tied, they stay above the threshold.
    """
    if n_draws < FEWEST_CALLS:
        raise InvalidInputError(
            f"n_draws must be at least {FEWEST_CALLS} for method='splitting'; found {n_draws}"
        )

    def report() -> None:
        if progress is not None:
            progress(min(cube.n_scored, n_draws), n_draws)

    n_calls = math.ceil(WALKS_PART * n_draws)
    trial, n_levels, each = _try(cube, target, n_draws - n_calls, rng, report)
    others, drawn = np.empty((cube.n_features, 0)), np.empty(0)
    begin, budget = cube.n_scored, n_draws
    if n_levels >= _FEW_LEVELS:
        # Particles do not depend on these points: nor does their number of calls.
        of_descents = np.random.default_rng(rng.integers(2**63))
        others, drawn = descend(cube, target, data, n_calls, of_descents)
        report()
        budget += cube.n_scored - begin - n_calls

    def bridge_to_draws(splitting: Splitting, calls_of_a_level: float) -> Bridge | str:
        if any(repeat.is_first(target) for repeat in splitting.repeats):
            return "particles are in the region from the beginning"
        left = budget - cube.n_scored
        return bridge(cube, splitting, target, left, calls_of_a_level, rng, report, others)

    bridged: Bridge | str = "n_draws is too small for one"
    # Few particles do, from which a bridge leads to as many draws as are left: the trial's
    # where as many others are too expensive.
    least = N_REPEATS * _FEWEST_PARTICLES * each
    may_bridge = curve or least < _MOST_FIRST_PART * (budget - cube.n_scored)
    if not may_bridge:
        bridged = bridge_to_draws(trial, (each - 1) / (n_levels + 0.5))
        if isinstance(bridged, Bridge):
            return SplittingRun.of([trial], drawn, bridged)
    sets: list[Splitting] = []
    while (left := budget - cube.n_scored) > _TRIAL_PART * budget:
        if may_bridge:
            part = each * N_REPEATS * _ENOUGH_PARTICLES / left
            part = _CURVE_PART if curve else min(max(part, PARTICLES_PART), _MOST_FIRST_PART)
            may_bridge = (1 - part) * left >= FEWEST_DRAWS
            left = int(part * left) if may_bridge else left
        before = cube.n_scored
        n_particles = min(int(left / (N_REPEATS * each)), _LARGEST // (N_REPEATS * cube.n_features))
        more = Splitting(cube, N_REPEATS, max(n_particles, _FEWEST_PARTICLES), rng, trial.tuning)
        for level in count():
            # There may be some levels more than in the trial: the last ones with few moves.
            levels_left = max(n_levels - level, _EXCESS_PART * n_levels, 1)
            allowance = (before + left - cube.n_scored) / levels_left
            if cube.n_scored > (1 + _EXCESS_PART) * budget or not more.advance(target, allowance):
                break
            report()
        sets.append(more)
        each = (cube.n_scored - before) / (N_REPEATS * more.n_particles)
        if may_bridge:
            bridged = bridge_to_draws(more, each / (level + 1))
            if isinstance(bridged, Bridge):
                return SplittingRun.of(sets, drawn, bridged)
            may_bridge = False
    report()
    sets = sets or [trial]  # the trial where it alone took most of the budget
    return SplittingRun.of(sets, drawn, bridged, _n_isolated(sets, others, target))


def _n_isolated(sets: Sequence[Splitting], others: FloatMatrix, target: float) -> int:
    """Count points of the region that are far from all particles there."""
    repeats = [repeat for group in sets for repeat in group.repeats]
    inside = [repeat.points[:, repeat.scores < target] for repeat in repeats]
    particles = np.concatenate(inside, axis=1)
    return int((isolated(others, particles) if particles.shape[1] > 1 else others).shape[1])


def _try(
    cube: Cube, target: float, n_draws: int, rng: np.random.Generator, report: Callable[[], None]
) -> tuple[Splitting, int, float]:
    """Bring a few particles down with few moves, to learn how many levels and calls it takes.

    Returns these particles, the levels, and the calls that a particle of a longer run takes.
    """
    n_particles = min(max(n_draws // 20_000, _FEWEST_PARTICLES), _ENOUGH_PARTICLES)
    trial = Splitting(cube, N_REPEATS, n_particles, rng)
    # Calls per level and particle: with few moves, and with as many as are needed.
    short, long = [1.0], [0.0]
    for level in count():
        before = cube.n_scored
        # Levels 4 and 5, 16 and 17, … are pairs: the first parts particles that few moves have left
        # together, and the second is as in a longer run.
        base = 4 ** max(1, (level.bit_length() - 1) // 2)
        is_long = level in (base, base + 1)
        allowance = _TRIAL_PART * n_draws - before if is_long else 0.0
        if before >= n_draws or not trial.advance(target, allowance):
            break
        report()
        if level == base + 1 or not is_long:
            costs = long if is_long else short
            costs.append((cube.n_scored - before) / (N_REPEATS * n_particles))
    # The last levels matter most. There may be one more.
    each_level = max(_CHEAPER * float(np.mean(long[-2:])), float(np.mean(short)))
    return trial, level, 1.0 + (level + 0.5) * each_level

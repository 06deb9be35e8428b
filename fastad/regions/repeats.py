"""Estimates from repeats of multilevel splitting: how many particles, and what they tell."""

import math
import warnings
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, logsumexp, stdtrit

from fastad._callers import callers_level
from fastad._types import FloatVector
from fastad.certainty.proportions import clopper_pearson
from fastad.errors import InsufficientMixingWarning, InvalidInputError
from fastad.regions.cube import Cube
from fastad.regions.mixing import insertion_p_value
from fastad.regions.particles import Particles
from fastad.regions.results import VolumeEstimate, of_log_share
from fastad.regions.splitting import Splitting
from fastad.regions.uniform import Progress

# Repeats that tell the error.
N_REPEATS = 8
# Particles of a repeat: of the trial, and at least.
_TRIAL_PARTICLES, _FEWEST_PARTICLES = 50, 20
_FEWEST_CALLS = 10_000
# In the trial two levels are passed as in a longer run now and then, in this part of the budget.
_LONG_PART = 0.2
# Among more particles, whose cloud is better known, moves go farther than in the trial, and fewer
# are needed.
_CHEAPER = 0.7
# To come down to the threshold the budget may be exceeded so far.
_OVER = 1.1
# With less than this part of the budget nothing more is begun.
_WORTH_MORE = 0.4
# Coordinates of all particles: 128 megabytes.
_LARGEST = 2**24
# P-values that are warned of; and how many times the variance of independent particles is none.
_SUSPICIOUS = 1e-3
_TOLERATED = 2.0
# Correlations with the beginning that are warned of.
_ALIKE = 0.9


class Run(NamedTuple):
    """Repeats that have come down to a threshold, or as far as they could."""

    repeats: list[Particles]
    deviations: list[float]
    likenesses: list[float]

    def add(self, more: Splitting) -> None:
        """Add more repeats."""
        self.repeats.extend(more.repeats)
        self.deviations.extend(more.deviations)
        self.likenesses.extend(more.likenesses)


def split(
    cube: Cube,
    target: float,
    n_samples: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Run:
    """Bring particles down to a threshold, as many as about so many score calls allow.

    Where the budget ends before, and where all particles are tied, they stay above the threshold.
    """
    if n_samples < _FEWEST_CALLS:
        raise InvalidInputError(
            f"n_samples must be at least {_FEWEST_CALLS} for method='splitting'; found {n_samples}"
        )

    def tell() -> None:
        if progress is not None:
            progress(min(cube.n_scored, n_samples), n_samples)

    trial, n_levels, each = _try(cube, target, n_samples, rng, tell)
    found = Run([], [], [])
    while (left := n_samples - cube.n_scored) > _WORTH_MORE * n_samples:
        n_particles = min(int(left / (N_REPEATS * each)), _LARGEST // (N_REPEATS * cube.n_features))
        more = Splitting(cube, N_REPEATS, max(n_particles, _FEWEST_PARTICLES), rng, trial.tuning)
        for level in count():
            # There may be some levels more than in the trial: the last ones with few moves.
            levels_left = max(n_levels - level, 0.1 * n_levels, 1)
            allowance = (n_samples - cube.n_scored) / levels_left
            if cube.n_scored > _OVER * n_samples or not more.advance(target, allowance):
                break
            tell()
        found.add(more)
        each = (left - (n_samples - cube.n_scored)) / (N_REPEATS * more.n_particles)
    if not found.repeats:  # the trial alone took most of the budget
        found.add(trial)
    tell()
    return found


def _try(
    cube: Cube, target: float, n_samples: int, rng: np.random.Generator, tell: Callable[[], None]
) -> tuple[Splitting, int, float]:
    """Bring a few particles down with few moves, to learn how many levels and calls it takes.

    Returns these particles, the levels, and the calls that a particle of a longer run takes.
    """
    n_particles = min(max(n_samples // 20_000, _FEWEST_PARTICLES), _TRIAL_PARTICLES)
    trial = Splitting(cube, N_REPEATS, n_particles, rng)
    # Calls a level and particle: with few moves, and with as many as it takes.
    short, long = [1.0], [0.0]
    for level in count():
        before = cube.n_scored
        # Of two levels, 4 and 5, 16 and 17, …, the first parts particles that few moves have left
        # together, and the second is as in a longer run.
        base = 4 ** max(1, (level.bit_length() - 1) // 2)
        is_long = level in (base, base + 1)
        allowance = _LONG_PART * n_samples - before if is_long else 0.0
        if before >= n_samples or not trial.advance(target, allowance):
            break
        tell()
        if level == base + 1 or not is_long:
            costs = long if is_long else short
            costs.append((cube.n_scored - before) / (N_REPEATS * n_particles))
    # Of levels the last ones matter most. There may be one more.
    each_level = max(_CHEAPER * float(np.mean(long[-2:])), float(np.mean(short)))
    return trial, level, 1.0 + (level + 0.5) * each_level


def estimate_shares(
    cube: Cube,
    thresholds: Sequence[float],
    n_samples: int,
    level: float,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[VolumeEstimate]:
    """Estimate the share below each threshold, by one set of particles."""
    found = split(cube, min(thresholds), n_samples, rng, progress)
    warn_of_mixing(found, min(thresholds))
    return [estimate(found, threshold, level, cube.n_scored) for threshold in thresholds]


def estimate(found: Run, threshold: float, level: float, n_scored: int) -> VolumeEstimate:
    """Return what the repeats tell of one threshold.

    Logarithms of the repeats' shares are nearly normal, and the shares unbiased but for the choice
    of levels. So the estimate is the mean logarithm and half its variance, with the interval of
    Cox (Land 1972) for such means; never narrower than for particles that are independent.
    """
    repeats = found.repeats
    logs = np.array([one.log_share(threshold) for one in repeats])
    others: dict[str, Any] = {
        "n_drawn": n_scored,
        "n_inside": sum(one.n_below(threshold) for one in repeats),
        "n_scored": n_scored,
        "method": "splitting",
        "confidence_level": level,
        "threshold": threshold,
        "mixing_p_value": insertion_p_value(found.deviations),
    }
    quantile = float(stdtrit(len(repeats) - 1, (1 + level) / 2))
    if all(one.is_first(threshold) for one in repeats):
        # No level was passed: these are independent uniform draws.
        n_inside, n_drawn = others["n_inside"], sum(one.n_particles for one in repeats)
        low, high = clopper_pearson(n_inside, n_drawn, 1 - level)
        if n_inside:
            value = n_inside / n_drawn
            error = math.sqrt((1 - value) / n_inside)
            ends = math.log(low), math.log(high)
            return _estimate(math.log(value), error, ends, others)
    if np.isneginf(logs).any():
        return _bound(found, logs, quantile, level, others)
    log_value, error = _combined(repeats, logs, threshold)
    return _estimate(
        log_value, error, (log_value - quantile * error, log_value + quantile * error), others
    )


def _estimate(
    log_value: float, error: float, ends: tuple[float, float], others: dict[str, Any]
) -> VolumeEstimate:
    ess = 1 / error**2 if error else math.inf
    return of_log_share(
        log_value, error, *ends, effective_sample_size=ess, is_bound=False, **others
    )


def _combined(repeats: list[Particles], logs: FloatVector, threshold: float) -> tuple[float, float]:
    """Return the logarithm of the mean share, and its standard error."""
    sizes = np.array([one.n_particles for one in repeats])
    total, n = float(sizes.sum()), len(repeats)
    mean = float(sizes @ logs) / total
    # Variances are in inverse proportion to the particles.
    each = max(float(sizes @ (logs - mean) ** 2) / (n - 1), _independent(repeats, threshold))
    shift = n * each / (2 * total)
    return mean + shift, math.sqrt(each / total + 2 * shift**2 / (n - 1))


def _independent(repeats: list[Particles], threshold: float) -> float:
    """Return the variance of a logarithm times the particles, were they independent."""
    return float(np.mean([one.variance(threshold) * one.n_particles for one in repeats]))


def _bound(
    found: Run, logs: FloatVector, quantile: float, level: float, others: dict[str, Any]
) -> VolumeEstimate:
    """Return an upper bound: of some repeats no particle has come below the threshold.

    Their shares may be as large as that below their last level, times what none of so many
    particles leaves possible (Clopper and Pearson).
    """
    repeats = found.repeats
    above = [one for one, log in zip(repeats, logs, strict=True) if log == -math.inf]
    n = sum(one.n_particles for one in above)
    none = math.log(-math.expm1(math.log((1 - level) / 2) / n))
    ends = np.where(np.isneginf(logs), [one.log_shares[-1] + none for one in repeats], logs)
    error = float(ends.std(ddof=1)) / math.sqrt(len(repeats))
    high = float(logsumexp(ends)) - math.log(len(repeats)) + quantile * error
    lowest = min(float(one.scores.min()) for one in above)
    stuck = all(one.is_stuck for one in above)
    what = "all particles have the same score" if stuck else "n_samples was used up"
    where = "" if len(above) == len(repeats) else f" in {len(above)} of {len(repeats)} repeats"
    return of_log_share(
        *(high, math.nan, -math.inf, high),
        **others,
        effective_sample_size=0.0,
        is_bound=True,
        reason=f"{what} above the threshold{where}, the lowest {lowest:.6g}",
    )


def warn_of_mixing(found: Run, threshold: float) -> None:
    """Warn where particles have moved too little, or repeats differ by more than chance."""
    doubts = []
    p_value = insertion_p_value(found.deviations)
    if p_value < _SUSPICIOUS:
        doubts.append(
            "ranks of moved particles among the others are not those of new points (p-value "
            f"{p_value:.2g})"
        )
    likeness = float(np.mean(found.likenesses)) if found.likenesses else 0.0
    if likeness > _ALIKE:
        doubts.append(
            f"particles were still much like those they are copies of (correlation {likeness:.2f})"
        )
    logs = np.array([one.log_share(threshold) for one in found.repeats])
    if np.isfinite(logs).all():
        sizes = np.array([one.n_particles for one in found.repeats])
        mean = sizes @ logs / sizes.sum()
        independent = max(_independent(found.repeats, threshold), math.ulp(0.0))
        squares = float(sizes @ (logs - mean) ** 2) / independent
        if float(chdtrc(len(logs) - 1, squares / _TOLERATED)) < _SUSPICIOUS:
            doubts.append(
                f"repeats differ {math.sqrt(squares / (len(logs) - 1)):.1f} times as much as those "
                "of independent particles"
            )
    if doubts:
        warnings.warn(
            f"particles may have missed parts of the region: {'; '.join(doubts)}. The interval "
            "follows from how much repeats differ; a larger n_samples lets particles move more",
            InsufficientMixingWarning,
            stacklevel=callers_level(),
        )

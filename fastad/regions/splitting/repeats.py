"""Repeats of multilevel splitting, and the volumes that they estimate."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, stdtrit

from fastad._core.progress import Progress
from fastad._core.types import FloatMatrix, FloatVector
from fastad.errors import InvalidInputError
from fastad.regions.results import VolumeEstimate, from_log_fraction
from fastad.regions.scores import Cube
from fastad.regions.splitting.bridge import FEWEST_DRAWS, Bridge, bridge
from fastad.regions.splitting.diagnostics import insertion_p_value
from fastad.regions.splitting.particles import Particles, Splitting
from fastad.regions.splitting.restarts import apart, found_alone
from fastad.uncertainty.closed_forms import clopper_pearson

# Repeats that the error is estimated from.
N_REPEATS = 8
# Particles of a repeat: of the trial, and at least.
_TRIAL_PARTICLES, _FEWEST_PARTICLES = 50, 20
_FEWEST_CALLS = 10_000
# In the trial two levels are passed as in a longer run now and then, in this part of the budget.
_LONG_PART = 0.2
# Among more particles, whose cloud is better known, moves go farther than in the trial, and fewer
# are needed.
_CHEAPER = 0.7
# Part of the budget in which particles come down, where the rest suffices for a bridge.
_DOWN = 0.7
# To come down to the threshold the budget may be exceeded so far.
_OVER = 1.1
# Part of the budget by which points are found without particles.
_ALONE = 0.1
# Of fewer levels the first particles, which are uniform draws, meet each part.
_FEW_LEVELS = 4
# With less than this part of the budget nothing more is begun.
_WORTH_MORE = 0.4
# Coordinates of all particles: 128 megabytes.
_LARGEST = 2**24
# P-values that are warned of; and up to how many times the variance of independent particles is no
# reason to warn.
_SUSPICIOUS = 1e-3
_TOLERATED = 2.0
# Correlations with the beginning that are warned of.
_CORRELATED = 0.9


@dataclass(frozen=True, eq=False)  # no slots: the p-value is kept
class SplittingRun:
    """Repeats that have come down to a threshold, or as far as they could."""

    repeats: list[Particles]
    deviations: list[float]
    correlations: list[float]
    bridge: Bridge | None = None
    n_apart: int = 0  # points of the region where no particle is, were these all that is known

    @classmethod
    def of(
        cls, sets: Sequence[Splitting], bridge: Bridge | None = None, n_apart: int = 0
    ) -> "SplittingRun":
        """Return the repeats of several sets together, or those of one and the bridges to them."""
        return cls(
            [repeat for group in sets for repeat in group.repeats],
            [deviation for group in sets for deviation in group.deviations],
            [correlation for group in sets for correlation in group.correlations],
            bridge,
            n_apart,
        )

    @cached_property
    def mixing_p_value(self) -> float:
        """Of the hypothesis that particles have moved enough."""
        return insertion_p_value(self.deviations)


def split(
    cube: Cube,
    target: float,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
    data: FloatMatrix | None = None,
) -> SplittingRun:
    """Bring particles down to a threshold, as many as about so many score calls allow.

    And a few points each by itself, from anywhere and from data, which show what they have missed.

    Where the budget ends before, and where all particles are tied, they stay above the threshold.
    """
    if n_draws < _FEWEST_CALLS:
        raise InvalidInputError(
            f"n_draws must be at least {_FEWEST_CALLS} for method='splitting'; found {n_draws}",
            argument="n_draws",
        )

    def report() -> None:
        if progress is not None:
            progress(min(cube.n_scored, n_draws), n_draws)

    trial, n_levels, each = _try(cube, target, n_draws, rng, report)
    alone = np.empty((cube.n_features, 0))
    n_alone, begin, budget = math.ceil(_ALONE * n_draws), cube.n_scored, n_draws
    if n_levels >= _FEW_LEVELS and begin < n_draws - n_alone:
        # Particles do not depend on what is found so: nor does their number of calls.
        alone = found_alone(cube, target, data, n_alone, np.random.default_rng(rng.integers(2**63)))
        report()
        budget += cube.n_scored - begin - n_alone
    sets: list[Splitting] = []
    # Particles have the budget, but for what is kept for bridges: the first ones, until these fail.
    n_kept = math.floor((1 - _DOWN) * budget)
    n_kept = n_kept if n_kept >= FEWEST_DRAWS else 0
    while (left := budget - cube.n_scored) > _WORTH_MORE * budget:
        left, before = max(left - n_kept, left // 2), cube.n_scored
        n_particles = min(int(left / (N_REPEATS * each)), _LARGEST // (N_REPEATS * cube.n_features))
        more = Splitting(cube, N_REPEATS, max(n_particles, _FEWEST_PARTICLES), rng, trial.tuning)
        for level in count():
            # There may be some levels more than in the trial: the last ones with few moves.
            levels_left = max(n_levels - level, 0.1 * n_levels, 1)
            allowance = (before + left - cube.n_scored) / levels_left
            if cube.n_scored > _OVER * budget or not more.advance(target, allowance):
                break
            report()
        sets.append(more)
        each = (cube.n_scored - before) / (N_REPEATS * more.n_particles)
        if n_kept and not any(repeat.is_first(target) for repeat in more.repeats):
            found = bridge(cube, more, target, budget - cube.n_scored, rng, report, alone)
            if found is not None:
                report()
                return SplittingRun.of(sets, found)
        n_kept = 0
    report()
    sets = sets or [trial]  # the trial where it alone took most of the budget
    return SplittingRun.of(sets, n_apart=_n_apart(sets, alone, target))


def _n_apart(sets: Sequence[Splitting], alone: FloatMatrix, target: float) -> int:
    """Count points of the region that are far from all particles there."""
    repeats = [repeat for group in sets for repeat in group.repeats]
    inside = [repeat.points[:, repeat.scores < target] for repeat in repeats]
    particles = np.concatenate(inside, axis=1)
    return int((apart(alone, particles) if particles.shape[1] > 1 else alone).shape[1])


def _try(
    cube: Cube, target: float, n_draws: int, rng: np.random.Generator, report: Callable[[], None]
) -> tuple[Splitting, int, float]:
    """Bring a few particles down with few moves, to learn how many levels and calls it takes.

    Returns these particles, the levels, and the calls that a particle of a longer run takes.
    """
    n_particles = min(max(n_draws // 20_000, _FEWEST_PARTICLES), _TRIAL_PARTICLES)
    trial = Splitting(cube, N_REPEATS, n_particles, rng)
    # Calls a level and particle: with few moves, and with as many as it takes.
    short, long = [1.0], [0.0]
    for level in count():
        before = cube.n_scored
        # Of two levels, 4 and 5, 16 and 17, …, the first parts particles that few moves have left
        # together, and the second is as in a longer run.
        base = 4 ** max(1, (level.bit_length() - 1) // 2)
        is_long = level in (base, base + 1)
        allowance = _LONG_PART * n_draws - before if is_long else 0.0
        if before >= n_draws or not trial.advance(target, allowance):
            break
        report()
        if level == base + 1 or not is_long:
            costs = long if is_long else short
            costs.append((cube.n_scored - before) / (N_REPEATS * n_particles))
    # Of levels the last ones matter most. There may be one more.
    each_level = max(_CHEAPER * float(np.mean(long[-2:])), float(np.mean(short)))
    return trial, level, 1.0 + (level + 0.5) * each_level


def log_fractions(run: SplittingRun, thresholds: FloatVector) -> FloatMatrix:
    """Return the logarithm of the fraction below each threshold, as each repeat has it.

    Parameters
    ----------
    run : SplittingRun
        The repeats.
    thresholds : numpy.ndarray of shape (n_thresholds,)
        In any order.

    Returns
    -------
    numpy.ndarray of shape (n_repeats, n_thresholds)
        -inf where no particle of a repeat was below; in each repeat non-decreasing in the
        threshold.
    """
    logs = np.array([repeat.log_fractions_below(thresholds) for repeat in run.repeats])
    if run.bridge is None:
        return logs
    # Above the region of the bridges, whose logarithm they give, a repeat's logarithm is corrected
    # in proportion to the variance up to there: the best estimate of a sum of independent terms of
    # which the whole is known.
    for i, repeat in enumerate(run.repeats):
        error = run.bridge.log_fractions[i] - repeat.log_fraction(run.bridge.threshold)
        whole = repeat.variance(run.bridge.threshold)
        logs[i] += error * np.minimum(repeat.variances_below(thresholds) / whole, 1.0)
    return logs


def estimates(
    run: SplittingRun, thresholds: Sequence[float], level: float, n_scored: int
) -> list[VolumeEstimate]:
    """Return the estimate of each threshold.

    Logarithms of the repeats' fractions are nearly normal, and these unbiased but for the choice
    of levels. So the estimate is the mean logarithm and half its variance, with the interval of
    Cox (Land 1972) for such means; never narrower than for particles that are independent.
    """
    # A row for each threshold, whose sums do not depend on how many there are.
    by_threshold = np.ascontiguousarray(log_fractions(run, np.array(thresholds, np.float64)).T)
    return [
        _estimate_at(run, threshold, logs, level, n_scored)
        for threshold, logs in zip(thresholds, by_threshold, strict=True)
    ]


def _estimate_at(
    run: SplittingRun, threshold: float, logs: FloatVector, level: float, n_scored: int
) -> VolumeEstimate:
    repeats = run.repeats
    fields: dict[str, Any] = {
        "n_drawn": n_scored,
        "n_inside": sum(repeat.n_below(threshold) for repeat in repeats),
        "n_scored": n_scored,
        "method": "splitting",
        "confidence_level": level,
        "threshold": threshold,
        "mixing_p_value": run.mixing_p_value,
    }
    # The first particles are independent uniform draws: this interval holds for any region.
    n_first = sum(repeat.n_particles for repeat in repeats)
    n_first_below = sum(repeat.n_first_below(threshold) for repeat in repeats)
    low, high = clopper_pearson(n_first_below, n_first, 1 - level)
    fields["uniform_low"], fields["uniform_high"] = low, high
    quantile = float(stdtrit(len(repeats) - 1, (1 + level) / 2))
    if n_first_below and all(repeat.is_first(threshold) for repeat in repeats):
        # No level was passed: no other draws count.
        value = n_first_below / n_first
        error = math.sqrt((1 - value) / n_first_below)
        return _estimate(math.log(value), error, (math.log(low), math.log(high)), fields)
    if np.isneginf(logs).any():
        return _bound(run, logs, quantile, level, fields)
    log_value, error = _Scatter.of(repeats, logs, threshold, run.bridge).log_value()
    if run.bridge is not None:
        error = math.hypot(error, run.bridge.missed)
    fields["reason"] = _condition(repeats, level)
    return _estimate(
        log_value, error, (log_value - quantile * error, log_value + quantile * error), fields
    )


def _estimate(
    log_value: float, error: float, ends: tuple[float, float], fields: dict[str, Any]
) -> VolumeEstimate:
    ess = 1 / error**2 if error else math.inf
    return from_log_fraction(
        log_value, error, *ends, effective_sample_size=ess, is_bound=False, **fields
    )


class _Scatter(NamedTuple):
    """How much the logarithms of the repeats' fractions differ, larger repeats counting for more.

    Attributes
    ----------
    n_repeats : int
        How many they are.
    n_particles : float
        Of all repeats.
    mean : float
        Of the logarithms.
    squares : float
        Sum of their squared deviations from it, each times the repeat's particles.
    independent : float
        Their variance times the particles, were these independent.
    """

    n_repeats: int
    n_particles: float
    mean: float
    squares: float
    independent: float

    @classmethod
    def of(
        cls,
        repeats: Sequence[Particles],
        logs: FloatVector,
        threshold: float,
        bridge: Bridge | None = None,
    ) -> "_Scatter":
        """Compute it from logarithms that are finite; of those that a bridge corrects, with it."""
        sizes = np.array([repeat.n_particles for repeat in repeats])
        n_particles = float(sizes.sum())
        mean = float(sizes @ logs) / n_particles
        squares = float(sizes @ (logs - mean) ** 2)
        variances = np.array([repeat.variance(threshold) for repeat in repeats])
        if bridge is not None:
            parts = variances / [repeat.variance(bridge.threshold) for repeat in repeats]
            variances = variances * (1 - parts) + parts**2 * bridge.variance
        return cls(len(repeats), n_particles, mean, squares, float(np.mean(sizes * variances)))

    def log_value(self) -> tuple[float, float]:
        """Return the logarithm of the mean fraction, and its standard error."""
        # Variances are in inverse proportion to the particles.
        each = max(self.squares / (self.n_repeats - 1), self.independent)
        shift = self.n_repeats * each / (2 * self.n_particles)
        error = math.sqrt(each / self.n_particles + 2 * shift**2 / (self.n_repeats - 1))
        return self.mean + shift, error

    def ratio(self) -> float:
        """Return how many times those of independent particles the squared deviations are."""
        return self.squares / max(self.independent, math.ulp(0.0))


def _bound(
    run: SplittingRun, logs: FloatVector, quantile: float, level: float, fields: dict[str, Any]
) -> VolumeEstimate:
    """Return an upper bound: of some repeats no particle has come below the threshold.

    The region lies below the last level that all repeats have passed: the bound is the upper end
    of the interval of the fraction there, or that by the first particles if it is lower. Each fails
    in half of the cases that the level leaves, so that the lower one fails in all of them at most.
    """
    repeats = run.repeats
    above = [repeat for repeat, log in zip(repeats, logs, strict=True) if log == -math.inf]
    high, condition = math.log(fields["uniform_high"]), ""
    if all(len(repeat.levels) > 1 for repeat in above):
        common = max(repeat.levels[-1] for repeat in above)
        passed = np.array([repeat.log_fraction(common) for repeat in repeats])
        log_value, error = _Scatter.of(repeats, passed, common).log_value()
        if log_value + quantile * error < high:
            high = log_value + quantile * error
            condition = f"; {_condition(repeats, level)}"
    lowest = min(float(repeat.scores.min()) for repeat in above)
    stuck = all(repeat.is_stuck for repeat in above)
    what = "all particles have the same score" if stuck else "n_draws was used up"
    where = "" if len(above) == len(repeats) else f" in {len(above)} of {len(repeats)} repeats"
    return from_log_fraction(
        *(high, math.nan, -math.inf, high),
        **fields,
        effective_sample_size=0.0,
        is_bound=True,
        reason=f"{what} above the threshold{where}, the lowest {lowest:.6g}{condition}",
    )


def _condition(repeats: Sequence[Particles], level: float) -> str:
    """Return what the interval assumes.

    A part that no particle has found changes neither the particles nor how repeats differ.
    """
    n_particles = sum(repeat.n_particles for repeat in repeats)
    missed = -math.expm1(math.log1p(-level) / n_particles)
    return (
        "the interval assumes that no part of the region was missed, as those below "
        f"{missed:.2g} of each level may be; uniform_low and uniform_high do not"
    )


def mixing_problems(run: SplittingRun, threshold: float) -> list[str]:
    """Return why the interval may be wrong.

    Particles have moved too little, have not come down, or repeats differ by more than chance.
    """
    problems = []
    if run.mixing_p_value < _SUSPICIOUS:
        problems.append(
            "ranks of moved particles among the others are not those of new points (p-value "
            f"{run.mixing_p_value:.2g})"
        )
    correlation = float(np.mean(run.correlations)) if run.correlations else 0.0
    if correlation > _CORRELATED:
        problems.append(
            "particles were still close to those they are copies of (correlation "
            f"{correlation:.2f})"
        )
    logs = np.array([repeat.log_fraction(threshold) for repeat in run.repeats])
    n_above = sum(
        log == -math.inf and not repeat.is_stuck
        for repeat, log in zip(run.repeats, logs, strict=True)
    )
    if n_above:
        problems.append(
            f"n_draws was used up above the threshold in {n_above} of {len(logs)} repeats"
        )
    if run.n_apart:
        problems.append(
            f"{run.n_apart} points below the threshold, from data or from single draws, lie where "
            "no particle is"
        )
    # A bridge has the parts of its region by draws, wherever the particles of each repeat are.
    by_levels = run.bridge is None or threshold > run.bridge.threshold
    if by_levels and np.isfinite(logs).all():
        ratio, df = _Scatter.of(run.repeats, logs, threshold).ratio(), len(logs) - 1
        if float(chdtrc(df, ratio / _TOLERATED)) < _SUSPICIOUS:
            problems.append(
                f"repeats differ {math.sqrt(ratio / df):.1f} times as much as those of "
                "independent particles"
            )
    return problems

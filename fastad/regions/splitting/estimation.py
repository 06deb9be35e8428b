"""The volumes that repeats of multilevel splitting estimate, and why these may be wrong."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import chdtrc, chdtri, fdtrc, stdtrit

from fastad._core.floats import exp
from fastad._core.text_tables import format_p
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.regions.results import VolumeEstimate, from_log_fraction, rising
from fastad.regions.splitting.bridge import Bridge
from fastad.regions.splitting.particles import Particles
from fastad.regions.splitting.repeats import SplittingRun
from fastad.uncertainty.samples.closed_forms import clopper_pearson

# Number of uniform draws that were counted before, and numbers below each threshold.
First: TypeAlias = tuple[int, IntVector]

# P-values that are warned of; and up to how many times the variance of independent particles is no
# reason to warn.
_SUSPICIOUS = 1e-3
_TOLERATED = 2.0
# For bridges whose repeats differ by more than independent points do: the weight of the variance of
# such points beside the scatter's, and the p-value of that difference.
_PRIOR, _DIFFERENT = 1.0, 0.05
# Correlations with the beginning that are warned of.
_CORRELATED = 0.9


def log_fractions(run: SplittingRun, thresholds: FloatVector) -> FloatMatrix:
    """Return logarithms of fractions below thresholds, of shape (n_repeats, n_thresholds).

    -inf where no particle of a repeat was below; in each repeat non-decreasing in the threshold.
    Their mean and half their variance are the estimate.
    """
    logs = np.array([repeat.log_fractions_below(thresholds) for repeat in run.repeats])
    if isinstance(run.bridge, str):
        return logs
    # Above the region of the bridges, whose logarithm they give, a repeat's logarithm is corrected
    # in proportion to the variance up to there: the best estimate of a sum of independent terms of
    # which the whole is known. Particles of lower levels are more akin: where repeats differ by
    # more than independent particles, what is more grows with the square of it.
    repeats, bridged = run.repeats, run.bridge
    ends = np.array([repeat.log_fraction(bridged.threshold) for repeat in repeats])
    whole = np.array([repeat.variance(bridged.threshold) for repeat in repeats])
    kinship = max(float(ends.var(ddof=1) / whole.mean()), 1.0)
    variances = np.array([repeat.variances_below(thresholds) for repeat in repeats])
    parts = np.minimum(variances / whole[:, None], 1.0)
    parts *= (1 + (kinship - 1) * parts) / kinship
    logs += parts * (bridged.log_fractions - ends)[:, None]
    # A mean of logarithms lacks half of their variance, but a corrected one that of bridges only.
    of_levels = variances * (1 - parts)
    all_terms = np.maximum(of_levels + parts**2 * bridged.variance, math.ulp(0.0))
    logs -= (of_levels / all_terms).mean(axis=0) * logs.var(axis=0, ddof=1) / 2
    rising = np.argsort(thresholds, kind="stable")
    logs[:, rising] = np.maximum.accumulate(logs[:, rising], axis=1)
    return logs


def estimates_of(
    run: SplittingRun,
    thresholds: Sequence[float],
    level: float,
    n_scored: int,
    first: First | None = None,
) -> list[VolumeEstimate]:
    """Return the estimate of each threshold.

    Logarithms of the repeats' fractions are nearly normal, and these unbiased but for the choice
    of levels. So the estimate is the mean logarithm and half its variance, with the interval of
    Cox (Land 1972) for such means, or a higher upper end (Zou et al. 2009); never narrower than
    for particles that are independent. None is below that of a lower threshold, which is of a part
    of the region.
    """
    n_drawn, counts = first or (0, np.zeros(len(thresholds), np.int64))
    # A row for each threshold, whose sums do not depend on how many there are.
    by_threshold = np.ascontiguousarray(log_fractions(run, np.array(thresholds, np.float64)).T)
    return rising(
        [
            _estimate_at(run, threshold, logs, level, n_scored, (n_drawn, count))
            for threshold, logs, count in zip(
                thresholds, by_threshold, counts.tolist(), strict=True
            )
        ]
    )


def _estimate_at(
    run: SplittingRun,
    threshold: float,
    logs: FloatVector,
    level: float,
    n_scored: int,
    first: tuple[int, int],
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
    # The first particles are independent uniform draws, and so are the descents', and any that
    # were counted before: this interval holds for any region.
    n_first, n_first_below = first
    n_first += sum(repeat.n_particles for repeat in repeats) + run.drawn.shape[0]
    n_first_below += sum(repeat.n_first_below(threshold) for repeat in repeats)
    n_first_below += int(np.searchsorted(run.drawn, threshold, "left"))
    low, high = clopper_pearson(n_first_below, n_first, 1 - level)
    fields["uniform_low"], fields["uniform_high"] = low, high
    fraction = n_first_below / n_first
    error_of_draws = math.sqrt((1 - fraction) / n_first_below) if n_first_below else math.inf

    def by_draws() -> VolumeEstimate:
        ends = math.log(low), math.log(high)
        return _estimate(math.log(fraction), error_of_draws, ends, fields, n_first_below)

    # No level was passed: no other draws count.
    if n_first_below and all(repeat.is_first(threshold) for repeat in repeats):
        return by_draws()
    if np.isneginf(logs).any():
        return _bound(run, logs, fields)
    scatter = _Scatter.of(repeats, logs, threshold, run.bridge)
    log_value, error, half, upper = scatter.log_value(level)
    if error_of_draws < scatter.least_error:
        fields["reason"] = "by uniform draws, which err less than particles"
        return by_draws()
    allowance = ""
    if isinstance(run.bridge, Bridge):
        by = "by bridges"
        if threshold > run.bridge.threshold:
            by = f"by levels, and bridges from threshold {run.bridge.threshold:.6g} on"
        if run.bridge.excess > 0:
            by += ", of draws alone, as these show more of the region than particles do"
        missed = run.bridge.missed(level)
        if missed > upper:
            allowance = (
                f"; more than half of the upper end is for a part of {missed:.2g} of the region "
                "that particles may have missed"
            )
        upper += missed
    else:
        by = f"by levels without a bridge, as {run.bridge}"
    fields["reason"] = f"{by}; {_condition(repeats, level)}{allowance}"
    ess = -math.expm1(log_value) / error**2 if error else math.inf
    return _estimate(log_value, error, (log_value - half, log_value + upper), fields, ess)


def _estimate(
    log_value: float, error: float, ends: tuple[float, float], fields: dict[str, Any], ess: float
) -> VolumeEstimate:
    return from_log_fraction(
        log_value, error, *ends, effective_sample_size=ess, is_bound=False, **fields
    )


class _Scatter(NamedTuple):
    """Differences of the repeats' logarithms of fractions, larger repeats counting for more."""

    n_repeats: int
    n_particles: float  # particles of all repeats
    mean: float  # mean of the logarithms
    highest: float  # highest of the logarithms
    squares: float  # sum of the squared deviations from it, each times the repeat's particles
    independent: float  # variance of a logarithm times its particles, were these independent
    # Weight of the variance of independent points beside the repeats': 0 by levels, whose particles
    # are akin to each other.
    prior: float

    @classmethod
    def of(
        cls,
        repeats: Sequence[Particles],
        logs: FloatVector,
        threshold: float,
        bridge: Bridge | str = "",
    ) -> "_Scatter":
        """Compute it from logarithms that are finite; of those that a bridge corrects, with it."""
        sizes = np.array([repeat.n_particles for repeat in repeats])
        n_particles = float(sizes.sum())
        mean = float(sizes @ logs) / n_particles
        squares = float(sizes @ (logs - mean) ** 2)
        variances = np.array([repeat.variance(threshold) for repeat in repeats])
        prior = 0.0
        if isinstance(bridge, Bridge):
            parts = variances / [repeat.variance(bridge.threshold) for repeat in repeats]
            variances = variances * (1 - parts) + parts**2 * bridge.variance
            prior = _PRIOR * min(float(parts.mean()), 1.0)
        independent = float(np.mean(sizes * variances))
        highest = float(logs.max())
        scatter = cls(len(repeats), n_particles, mean, highest, squares, independent, prior)
        if isinstance(bridge, Bridge) and threshold <= bridge.threshold:
            df = len(repeats) - 1
            if fdtrc(df, bridge.df, scatter.ratio() / df) >= _DIFFERENT:
                return scatter._replace(prior=bridge.df / df)
        return scatter

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        return (self.n_repeats - 1) * (1 + self.prior)

    def log_value(self, level: float) -> tuple[float, float, float, float]:
        """Return the logarithm of the mean fraction, its error, and its distances from both ends.

        The distances are that of the interval's lower end, and that of the upper one.
        """
        # Variances are in inverse proportion to the particles. A mean of both by their degrees of
        # freedom, as in moderated t tests (Smyth 2004).
        each = self.squares / (self.n_repeats - 1) + self.prior * self.independent
        each = max(each / (1 + self.prior), self.independent)
        shift = self.n_repeats * each / (2 * self.n_particles)
        error = math.sqrt(each / self.n_particles + 2 * shift**2 / (self.n_repeats - 1))
        half = float(stdtrit(self.df, (1 + level) / 2)) * error
        # The variance of few repeats is not normal: where it is large, Cox's interval is often too
        # low and hardly ever too high (of 8 repeats with standard deviation 2 in 9 and 0 %). So the
        # upper end is at least the upper limit of Zou, Huo and Taleban (2009) at the level.
        sure = max(level, 0.5)
        of_mean = float(stdtrit(self.df, sure)) * math.sqrt(each / self.n_particles)
        of_shift = shift * (self.df / float(chdtri(self.df, sure)) - 1)
        # Few logarithms that differ by orders of magnitude are not normal.
        log_value = min(self.mean + shift, self.highest)
        return log_value, error, half, max(half, math.hypot(of_mean, of_shift))

    @property
    def least_error(self) -> float:
        """Standard error of the logarithm, were all particles independent."""
        return math.sqrt(self.independent / self.n_particles)

    def ratio(self) -> float:
        """Return the squared deviations, relative to independent particles."""
        return self.squares / max(self.independent, math.ulp(0.0))


def _bound(run: SplittingRun, logs: FloatVector, fields: dict[str, Any]) -> VolumeEstimate:
    """Return the upper bound by uniform draws: of some repeats no particle has come down.

    How far the others came is no bound: they may have missed the part that is the most of it.
    """
    above = [repeat for repeat, log in zip(run.repeats, logs, strict=True) if log == -math.inf]
    high = math.log(fields["uniform_high"])
    lowest = min(float(repeat.scores.min()) for repeat in above)
    stuck = all(repeat.is_stuck for repeat in above)
    what = "all particles have the same score" if stuck else "n_draws was used up"
    where = "" if len(above) == len(logs) else f" in {len(above)} of {len(logs)} repeats"
    return from_log_fraction(
        *(high, math.nan, -math.inf, high),
        **fields,
        effective_sample_size=0.0,
        is_bound=True,
        reason=f"{what} above the threshold{where}, the lowest {lowest:.6g}",
    )


def _condition(repeats: Sequence[Particles], level: float) -> str:
    """Return the assumption of the interval.

    A part that no particle has found changes neither the particles nor how repeats differ.
    """
    n_particles = sum(repeat.n_particles for repeat in repeats)
    missed = -math.expm1(math.log1p(-level) / n_particles)
    return (
        "the interval assumes that no part of the region was missed, as those below "
        f"{missed:.2g} of each level may be; uniform_low and uniform_high do not"
    )


def mixing_problems(run: SplittingRun, threshold: float, highest: float = -math.inf) -> list[str]:
    """Return why the intervals from a threshold on, up to the highest if given, may be wrong.

    Particles have moved too little, have not come down, or repeats differ by more than chance.
    """
    problems = []
    logs = np.array([repeat.log_fraction(threshold) for repeat in run.repeats])
    n_above = sum(
        log == -math.inf and not repeat.is_stuck
        for repeat, log in zip(run.repeats, logs, strict=True)
    )
    if n_above:
        problems.append(
            f"n_draws was used up above the threshold in {n_above} of {len(logs)} repeats"
        )
    if run.n_isolated:
        problems.append(
            f"{run.n_isolated} points below the threshold, from data or from single draws, lie "
            "where no particle is"
        )
    if run.mixing_p_value < _SUSPICIOUS:
        problems.append(
            "ranks of moved particles among the others differ from the ranks of new points "
            f"({format_p(run.mixing_p_value, 'p')})"
        )
    if isinstance(run.bridge, Bridge):
        if max(threshold, highest) > run.bridge.threshold:
            problems += _levels_above(run.repeats, run.bridge)
        # A bridge has the parts of its region by draws, wherever the particles of each repeat are.
        if threshold <= run.bridge.threshold:
            return problems
    correlation = float(np.mean(run.correlations)) if run.correlations else 0.0
    if correlation > _CORRELATED:
        problems.append(
            "particles were still close to those they are copies of (correlation "
            f"{correlation:.2f})"
        )
    if np.isfinite(logs).all():
        ratio, df = _Scatter.of(run.repeats, logs, threshold).ratio(), len(logs) - 1
        if float(chdtrc(df, ratio / _TOLERATED)) < _SUSPICIOUS:
            problems.append(
                f"repeats differ {math.sqrt(ratio / df):.1f} times as much as repeats of "
                "independent particles"
            )
    return problems


def _levels_above(repeats: Sequence[Particles], bridge: Bridge) -> list[str]:
    """Return why levels above a bridge may be wrong: its draws show more of its region."""
    ends = np.array([repeat.log_fraction(bridge.threshold) for repeat in repeats])
    # A mean of logarithms lacks half of their variance.
    more = float(bridge.log_fractions.mean() - ends.mean() - ends.var(ddof=1) / 2)
    error = float(ends.std(ddof=1)) / math.sqrt(len(ends))
    if more <= float(stdtrit(len(ends) - 1, 1 - _SUSPICIOUS)) * error:
        return []
    return [
        f"below threshold {bridge.threshold:.6g} draws show {exp(more):.2g} times as much of the "
        "region as particles do, which alone have the levels above"
    ]

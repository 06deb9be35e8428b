"""Effective sample size of a class, for its rates under a sampling design."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastad._core.types import Blocks, BoolVector, CountVector, FloatVector, IntVector
from fastad._core.user_warnings import warn_user
from fastad.errors import LowCoverageWarning, UndefinedMeasureError
from fastad.uncertainty.results import ENOUGH_UNITS
from fastad.uncertainty.samples.closed_forms import student_over_normal
from fastad.uncertainty.samples.dependence import block_length, df_of_lags, long_run_variance
from fastad.uncertainty.samples.sampling import FEWEST_UNITS, DesignedSample


@dataclass(frozen=True, slots=True)
class EffectiveSize:
    """Effective sample size of a class, for its rates under a sampling design."""

    n_effective: float  # number of independent samples that say as much, at most the number of rows
    # Variance of a rate over the variance with as many independent rows; at least 1.
    design_effect: float
    n_units: float  # clusters, rows or blocks that have rows of the class
    n_equal: float  # number of those of equal size that tell as much of how they vary


def doubled_up_to_half(rate: float) -> list[float]:
    """Return a rate, twice the rate and so on, up to one half."""
    return [rate * 2**i for i in range(max(1, math.floor(math.log2(0.5 / rate)) + 1))]


def effective_size(
    sample: DesignedSample,
    blocks: Blocks | None,
    label: int,
    what: str,
    *,
    from_top: Sequence[float] = (),
    from_bottom: Sequence[float] = (),
    tail: float,
) -> EffectiveSize:
    """Return the effective size of a class, for rates that its highest or lowest scores have.

    The smallest over the given rates, divided by the square of Student's over the normal quantile
    for a tail of this probability and one degree of freedom less than there are clusters (Korn and
    Graubard 1998), or equal ones that tell as much. The effect at a single low rate rests on few
    clusters: where they happen to have few of the highest scores, both the rate and its variance
    are estimated too low.
    """
    member = sample.labels == label
    n = float(sample.n_rows[1 - label])
    position = np.empty(sample.labels.shape[0], np.int64)
    position[sample.rows] = np.repeat(np.arange(sample.ends.shape[0] - 1), np.diff(sample.ends))
    n_units = float(np.unique(sample.units[member]).shape[0])
    _refuse_few(sample, n_units, what)
    effect, longest = 1.0, 1.0
    for rates, depth in ((from_top, position), (from_bottom, -position)):
        for is_beyond, rate in _beyond(depth, member, sample.weights, rates):
            variance, length = _variance(
                sample, member, is_beyond.astype(np.float64) - rate, n_units, blocks
            )
            effect = max(effect, n * variance / (rate * (1 - rate)))
            longest = max(longest, length)
    if blocks is not None:
        n_units = sample.n_units / longest
    widening, n_equal = widening_of_few(sample, n_units, (label,), 2 * tail, what)
    return EffectiveSize(n / effect / widening**2, effect, n_units, n_equal)


def widening_of_few(
    sample: DesignedSample, n_units: float, labels: Sequence[int], alpha: float, what: str
) -> tuple[float, float]:
    """Return the widening factor for a number of clusters, blocks or rows, and a number of these.

    The factor is the ratio of Student's to the normal quantile, with the degrees of freedom of a
    variance by blocks, or one less than clusters or rows of equal size that tell as much of the
    given classes. The number is that of blocks, or of those of equal size.
    """
    _refuse_few(sample, n_units, what)
    if sample.kind == "blocks":
        n_equal, df = n_units, df_of_lags(sample.n_units, sample.n_units / n_units)
    else:
        n_equal = sample.n_equal_units(*labels)
        df = n_equal - 1
    return student_over_normal(alpha, max(df, 1.0)), n_equal


def warn_of_few(sample: DesignedSample, n_equal: float, what: str) -> None:
    """Warn where few clusters, blocks or rows of equal size tell how much they vary."""
    if n_equal < ENOUGH_UNITS:
        is_weighted = sample.kind == "weights"
        units = "rows of equal weight" if is_weighted else f"{sample.kind} of equal size"
        warn_user(
            f"with {n_equal:.4g} {units}, or as much, fewer than {ENOUGH_UNITS}, it is not known "
            f"how often {what} of such data holds",
            LowCoverageWarning,
        )


def _refuse_few(sample: DesignedSample, n_units: float, what: str) -> None:
    """Raise where a class is in too few clusters, blocks or rows."""
    fewest = 2 if sample.kind == "weights" else FEWEST_UNITS
    if n_units < fewest:
        unit = "rows" if sample.kind == "weights" else sample.kind
        raise UndefinedMeasureError(
            f"{what} needs samples of the class in {fewest} {unit}; found {n_units:.4g}"
        )


def _beyond(
    depth: IntVector, member: BoolVector, weights: CountVector, rates: Sequence[float]
) -> list[tuple[BoolVector, float]]:
    """Return, for each rate, the rows beyond it, ties included, and their rate."""
    order = np.argsort(depth[member], kind="stable")
    sorted_depth = depth[member][order]
    fraction = np.cumsum(weights[member][order]) / weights[member].sum()
    beyond = []
    for rate in rates:
        # Sums of real weights may fall short of a rate by rounding.
        first = int(np.searchsorted(fraction, rate * (1 - 1e-12)))
        cut = sorted_depth[min(first, fraction.shape[0] - 1)]
        reached = int(np.searchsorted(sorted_depth, cut, side="right"))
        # A tie of all rows leaves no rate to vary.
        if reached < fraction.shape[0]:
            beyond.append((depth <= cut, float(fraction[reached - 1])))
    return beyond


def _variance(
    sample: DesignedSample,
    member: BoolVector,
    deviations: FloatVector,
    n_units: float,
    blocks: Blocks | None,
) -> tuple[float, float]:
    """Return the variance of the mean of deviations in a class, and the length of blocks."""
    weights = sample.weights / sample.weights[member].sum()
    parts = np.where(member, weights * deviations, 0.0)
    if blocks is None:
        sums = np.bincount(sample.units, parts, sample.n_units)
        return float(n_units / (n_units - 1) * (sums @ sums)), 1.0
    length = block_length(parts) if blocks == "auto" else float(blocks)
    return long_run_variance(parts, length), length

"""Estimates of a difference from variances, replicates and permutations, and their options."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from fastad._core.floats import positive_p
from fastad._core.types import FloatVector, Point
from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure
from fastad.measures.roc import area_or_chance, is_far_below_chance
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.intervals.interval_estimation import (
    InferenceOptions,
    check_options,
    missing_kind,
)
from fastad.uncertainty.results import Interval
from fastad.uncertainty.samples.bootstrap import refuse_often_undefined
from fastad.uncertainty.samples.closed_forms import (
    Bounds,
    rounding_of,
    standard_error_of,
    student_quantile,
)
from fastad.uncertainty.samples.influence import has_influence

# Rounding of a count of resamples, relative to a level.
_ROUNDING = 1e-12

# A detector whose value has most of the variance of both, and is nearer to an end of the range.
_DECIDING_PART, _DEVIATIONS_FROM_END = 0.75, 1.96

# One sample of n alone that differs from equal others has 2n / (n + 1) degrees of freedom.
_FEWEST_DF = 2

# With fewer anomalies or normals even a method that was asked for by name has a note.
FEWEST_SAMPLES = (5, 5)

# Methods by a variance that is a sum over the samples, which smooth measures have.
NORMAL_METHODS = ("delong", "student")


def check_comparison_options(
    bound: BoundMeasure,
    methods: Mapping[str, Callable[..., Any]],
    method: str,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    *,
    stratified: bool = True,
) -> InferenceOptions:
    """Check the options of a comparison of a measure by one of the methods."""
    options = check_options(
        method, confidence_level, n_resamples, rng, stratified=stratified, methods=methods
    )
    check_direction(bound)
    if method in NORMAL_METHODS and not has_influence(bound.measure):
        *others, last = [repr(other) for other in methods if other not in NORMAL_METHODS]
        raise InvalidInputError(
            f"method must be {', '.join(others)} or {last} for {bound.measure.name}, because "
            f"{method!r} needs a smooth measure; found {method!r}"
        )
    return options


class PairEstimate(NamedTuple):
    """The estimate of a method for one pair."""

    # From one computation: the interval excludes 0 where the p-value is at most alpha, and nowhere
    # else.
    low: float
    high: float
    p_value: float
    variance: float  # of the difference; NaN where the method has none
    df: float  # degrees of freedom with which the variance is known
    method: str  # how it was computed
    n_resamples: int = 0  # replicates or permutations
    n_undefined: int = 0  # of them, which left the measure undefined
    intervals: tuple[Interval, ...] = ()  # of both values, where the difference's is made of them
    coverage: float | None = None  # of these intervals, where it was measured
    doubt: str | None = None  # why the difference is not distributed as its variance says
    smallest_p_value: float = 0.0  # that so many replicates can give


def doubts(
    names: Sequence[str],
    counts: Sequence[OrderedCounts],
    sizes: Sequence[tuple[float, float]],
    bound: BoundMeasure,
    variances: Sequence[float],
    alpha: float,
    *,
    is_normal: bool,
) -> Callable[[int, int, Bounds], str | None]:
    """Return a function that tells why a pair's difference does not vary as its interval says.

    The influences of a detector in the reversed order, and of one so near an end of the range that
    its normal interval would leave it, are skewed. Differences of two such detectors are less so.
    One without variance may have missed a kind of samples, which changes its value by more than the
    interval of the difference allows. ``sizes`` are numbers of anomalies and normals that are
    independent and tell as much.
    """
    is_reversed = [
        is_far_below_chance([(area_or_chance(each), *of_classes)])
        for each, of_classes in zip(counts, sizes, strict=True)
    ]
    low, high = bound.bounds
    values = [bound.value_or_nan(each) for each in counts]
    is_near_end = [
        0 < min(value - low, high - value) < _DEVIATIONS_FROM_END * math.sqrt(variance)
        for value, variance in zip(values, variances, strict=True)
    ]

    def doubt(i: int, j: int, ends: Bounds) -> str | None:
        difference = values[i] - values[j]
        allowed = min(difference - ends[0], ends[1] - difference)
        for each in (i, j):
            if is_reversed[each]:
                return (
                    f"the AUC of {names[each]} is far below 0.5: the order of its scores may be "
                    "reversed"
                )
        for each in (i, j):
            decides = variances[each] >= _DECIDING_PART * (variances[i] + variances[j])
            if is_normal and decides and is_near_end[each]:
                return (
                    f"{names[each]} is so near an end of the range that its value varies to one "
                    "side"
                )
            # Rates at a threshold may be of one class, and have no samples of the other.
            missing = missing_kind(min(filter(None, sizes[each])), alpha)
            if standard_error_of(variances[each], bound) == 0 and allowed < missing * (high - low):
                return f"the estimated variance of {names[each]} is zero"
        return None

    return doubt


def few_df_note(df: float) -> str | None:
    """Return why a difference is unreliable whose variance so few samples decide, or None."""
    if df >= _FEWEST_DF:
        return None
    return (
        "how much the difference varies is hardly known: too few samples decide "
        f"({df:.2g} degrees of freedom)"
    )


def variance_of_replicates(values: FloatVector) -> float:
    """Return the variance of a value, from its replicates; NaN of fewer than two."""
    defined = values[~np.isnan(values)]
    return float(np.var(defined, ddof=1)) if defined.shape[0] > 1 else math.nan


def range_of_difference(bound: BoundMeasure) -> float:
    """Return the largest difference that two values can have."""
    low, high = bound.bounds
    return high - low


def within_range(ends: Bounds, bound: BoundMeasure) -> Bounds:
    """Return the ends that are possible; 0 is, so that the p-value still belongs to them."""
    reach = range_of_difference(bound)
    return max(ends[0], -reach), min(ends[1], reach)


def student_test(
    difference: float, deviation: float, df: float, bound: BoundMeasure, alpha: float
) -> tuple[Bounds, float]:
    """Return the interval and the p-value of a difference with this standard deviation.

    By Student's distribution, which for infinite degrees of freedom is the normal one.
    """
    ratio = -abs(difference) / deviation
    p_value = positive_p(2 * float(ndtr(ratio) if math.isinf(df) else stdtr(df, ratio)))
    half = student_quantile(alpha, df) * deviation
    return within_range((difference - half, difference + half), bound), p_value


def pairs_test(
    difference: float, n_pairs: int, bound: BoundMeasure, alpha: float
) -> tuple[Bounds, float]:
    """Return the interval and the p-value of a difference without variance.

    Each of n_pairs independent pairs of an anomaly and a normal sample has the same difference.
    Then a pair has another with a probability of at most 1 - (alpha / 2)^(1 / n_pairs) (Clopper and
    Pearson 1934), which moves the mean by no more than the range. Where one detector is right on
    every pair and the other wrong, this is the sign test.
    """
    reach = range_of_difference(bound)
    p_value = positive_p(min(1.0, 2 * (1 + abs(difference) / reach) ** -n_pairs))
    if math.isinf(reach):
        return (-reach, reach), p_value
    others = -math.expm1(math.log(alpha / 2) / n_pairs)
    low = difference - (difference + reach) * others
    high = difference + (reach - difference) * others
    return (low, high), p_value


def estimate_of_replicates(
    values: FloatVector,
    difference: float,
    bound: BoundMeasure,
    options: InferenceOptions,
    df: Callable[[int], float],
    df_of_data: float = math.inf,
) -> PairEstimate:
    """Return percentiles of the differences on replicates, and the p-value that belongs to them.

    Percentiles are too narrow where few samples tell how much the difference varies: they are those
    at the probabilities that the normal distribution has where Student's, with the data's degrees
    of freedom, has the nominal ones (Hesterberg 2015, "What teachers should know about the
    bootstrap", section 3.2). ``df`` gives the degrees of freedom of a variance of a number of
    resamples.
    """
    defined = values[~np.isnan(values)]
    n_undefined = values.shape[0] - defined.shape[0]
    refuse_often_undefined(f"a comparison of {bound.key}", n_undefined, values.shape[0])
    on_each_side = np.count_nonzero(defined <= 0), np.count_nonzero(defined >= 0)
    p_value, smallest = (
        min(1.0, 2 * (1 + n_beyond) / (1 + defined.shape[0])) for n_beyond in (min(on_each_side), 0)
    )
    alpha = options.alpha
    if not math.isinf(df_of_data):
        alpha = 2 * float(ndtr(-student_quantile(alpha, df_of_data)))
        p_value, smallest = (
            positive_p(2 * float(stdtr(df_of_data, ndtri(p / 2)))) for p in (p_value, smallest)
        )
    # Number of replicates beyond 0 up to which the p-value is at most alpha.
    n_beyond = math.floor(alpha * (1 + defined.shape[0]) / 2 + _ROUNDING) - 1
    reach = range_of_difference(bound)
    low, high = -reach, reach
    if n_beyond >= 0:
        low, high = np.sort(defined)[[n_beyond, -1 - n_beyond]].tolist()
    low, high = within_range((min(low, difference), max(high, difference)), bound)
    return PairEstimate(
        low,
        high,
        p_value,
        variance_of_replicates(defined) if defined.shape[0] > 1 else 0.0,
        df(defined.shape[0]),
        "bootstrap",
        values.shape[0],
        n_undefined,
        smallest_p_value=smallest,
    )


def estimate_of_permutations(
    values: FloatVector,
    difference: float,
    bound: BoundMeasure,
    options: InferenceOptions,
    df: Callable[[int], float],
    *,
    is_exact: bool,
) -> PairEstimate:
    """Return the p-value of a difference among permuted ones, and an interval around it.

    ``df`` gives the degrees of freedom of a variance of a number of resamples.
    """
    null = values[~np.isnan(values)]
    n_undefined = values.shape[0] - null.shape[0]
    refuse_often_undefined(f"a comparison of {bound.key}", n_undefined, values.shape[0])
    n_extreme = np.count_nonzero(np.abs(null) >= abs(difference) - rounding_of(bound))
    # The data themselves are one permutation more (Phipson and Smyth 2010).
    extra = 0 if is_exact else 1
    # Number of extreme permutations up to which the p-value is at most alpha.
    n_allowed = math.floor(options.alpha * (extra + null.shape[0]) + _ROUNDING) - extra
    reach = range_of_difference(bound)
    low, high, variance = -reach, reach, float(np.mean(null**2))
    if 0 <= n_allowed < null.shape[0]:
        spread = float(np.sort(np.abs(null))[-1 - n_allowed])
        if spread <= rounding_of(bound):  # nearly all permutations have no difference
            variance = 0.0
        low, high = _score_ends(difference, spread, reach)
        if spread >= abs(difference) - rounding_of(bound):  # whatever rounding leaves of 0
            low, high = min(low, 0.0), max(high, 0.0)
    return PairEstimate(
        low,
        high,
        float((extra + n_extreme) / (extra + null.shape[0])),
        variance,
        df(null.shape[0]),
        "exact permutation" if is_exact else "permutation",
        values.shape[0],
        n_undefined,
        smallest_p_value=extra / (extra + null.shape[0]),
    )


def _score_ends(difference: float, spread: float, reach: float) -> Bounds:
    """Return the differences that are not rejected, given how far permutations spread around 0.

    The spread around a difference falls from there to 0 at either end of the range, as the standard
    deviation of a proportion does: |d - x| <= spread * sqrt(1 - (x / reach)^2), Wilson's interval.
    """
    curvature = (spread / reach) ** 2
    half = spread * math.sqrt(max(0.0, 1 + curvature - (difference / reach) ** 2))
    low, high = (difference - half) / (1 + curvature), (difference + half) / (1 + curvature)
    # Rounding must not leave the ends.
    return max(-reach, min(low, difference)), min(reach, max(high, difference))


def check_direction(bound: BoundMeasure) -> None:
    """Check that a measure says which of two values is the better one."""
    if bound.measure.higher_is_better is None:
        raise InvalidInputError(
            f"measure must be one of which more, or less, is better; found {bound.key}"
        )

"""Confidence sequences: intervals of a rate that hold at all times at once.

Against a rate p, the likelihood ratio of every rate q is a martingale if p is true: it begins at 1,
and its expected value stays there. So is a mixture of them over a distribution of q that was fixed
before. By Ville's inequality it ever reaches 1 / alpha with a probability of at most alpha; the
rates at which it has not are a confidence sequence (Robbins, 1970; Howard, Ramdas, McAuliffe
and Sekhon, 2021, on conjugate mixtures). Here q has the beta distribution with both parameters 1/2
(Krichevsky and Trofimov, 1981), for which the mixture is a function of the counts.
"""

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, gammaln

from fastad._core.arrays import check_rows, real_vector, set_all_readonly
from fastad._core.parameters import check_choice, check_inside, short_repr
from fastad._core.results import Column, Result, ShortRepr
from fastad._core.types import ArrayLike, FloatVector, Point
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.uncertainty.rates.rate_evidence import Alternative

_HALF_LOG_2_PI = math.log(2 * math.pi) / 2
# Above it, two terms of Stirling's series leave less than 1e-15.
_LARGE = 200.0
_SMALLEST, _LARGEST = np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0)


def log_mixture(k: FloatVector, n: FloatVector, rate: FloatVector) -> FloatVector:
    """Return the logarithm of the mixture of k events among n, against rates in (0, 1).

    B(k + 1/2, n - k + 1/2) / B(1/2, 1/2) / (p**k * (1 - p)**(n - k)), written with the deviations
    of the counts from the expected ones, so that nothing large cancels: it is accurate to about
    1e-13 of its size or of 1, also where there are 10**12 points.
    """
    others, complement = n - k, 1 - rate
    # The complement of a rate above 1/2 is exact.
    excess = np.where(rate > 0.5, n * complement - others, k - n * rate)
    divergence = _times_log(n * rate, k, -excess) + _times_log(n * complement, others, excess)
    return _log_regret(k, n) - divergence


def end_of_rates(
    k: FloatVector, n: FloatVector, log_limit: float, *, upper: bool, one_sided: bool
) -> FloatVector:
    """Return lower or upper ends of the rates against which the mixture is below a limit.

    The logarithm of the mixture is convex in the rate, with its minimum at k / n, so that each end
    is unique, and bisection finds it. For a lower end that shall hold alone, ``one_sided`` mixes
    over the rates above the one that is tested, and leaves the weight of the others at 1: none of
    these ratios rises with the tested rate below k / n, so that the end is unique again, and each
    is a supermartingale if the true rate is lower than the tested one. Upper ends mirror that.
    """
    # At that end no rate is rejected.
    counted = k < n if upper else k > 0
    # The bits of positive floats order as they do: 62 halvings lead to neighbours.
    rejected = np.full(k.shape, 1.0 if upper else 0.0).view(np.int64)
    accepted = rejected.copy()
    accepted[counted] = (k[counted] / n[counted]).view(np.int64)
    while np.any(abs(accepted - rejected) > 1):
        middle = (accepted + rejected) // 2
        rate = np.clip(middle.view(np.float64), _SMALLEST, _LARGEST)
        log_value = log_mixture(k, n, rate)
        if one_sided:
            beyond, before = (betainc, betaincc) if upper else (betaincc, betainc)
            with np.errstate(divide="ignore"):
                log_value = np.logaddexp(
                    log_value + np.log(beyond(k + 0.5, n - k + 0.5, rate)),
                    np.log(before(0.5, 0.5, rate)),
                )
        is_rejected = log_value >= log_limit
        rejected = np.where(is_rejected & counted, middle, rejected)
        accepted = np.where(is_rejected | ~counted, accepted, middle)
    # The neighbour that is rejected: rounded outwards.
    ends: FloatVector = rejected.view(np.float64)
    return ends


def _times_log(other: FloatVector, count: FloatVector, difference: FloatVector) -> FloatVector:
    """Return count * log(other / count), where other - count is known better than other."""
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = difference / count
        logarithm = np.where(abs(relative) < 0.5, np.log1p(relative), np.log(other / count))
        return np.where(count == 0, 0.0, count * logarithm)


def _log_regret(k: FloatVector, n: FloatVector) -> FloatVector:
    """Return the logarithm of the mixture against the rate k / n; it is at most 0.

    The logarithm of the beta function has terms as large as n log n. The terms of
    Stirling's formula are cancelled by hand, so that the rest is as small as the result.
    """
    others = n - k
    half, one = np.array(0.5), np.array(1.0)
    of_counts = _times_log(k + half, k, half) + _times_log(others + half, others, half)
    of_all = _times_log(n + 1, n, one)
    remainders = _stirling(k + 0.5) + _stirling(others + 0.5) - _stirling(n + 1)
    # B(1/2, 1/2) = pi.
    return of_counts - of_all - np.log(n + 1) / 2 + _HALF_LOG_2_PI - math.log(math.pi) + remainders


def _stirling(x: FloatVector) -> FloatVector:
    """Return the remainder of Stirling's formula for the logarithm of the gamma function."""
    series = (1 - 1 / (30 * x * x)) / (12 * x)
    near = np.minimum(x, _LARGE)
    exact = gammaln(near) - ((near - 0.5) * np.log(near) - near + _HALF_LOG_2_PI)
    return np.where(x < _LARGE, exact, series)


ALTERNATIVES = ("two-sided", "greater", "less")
# Larger counts are no longer exact as floats.
MOST = 2**53


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConfidenceSequence(ShortRepr, Result):
    """A rate after each look, and intervals that cover the true rate at all looks at once.

    Attributes
    ----------
    n_events, n_samples : numpy.ndarray of shape (n_looks,)
        Numbers that were counted until then.
    value : numpy.ndarray of shape (n_looks,)
        ``n_events / n_samples``; NaN before there are samples.
    low, high : numpy.ndarray of shape (n_looks,)
        Ends of the intervals, in [0, 1].
    confidence_level : float
        Probability that the true rate lies in all of the intervals, at least.
    alternative : str
        Excluded rates: too low and too high ones, or those on one side.
    """

    n_events: FloatVector
    n_samples: FloatVector
    value: FloatVector
    low: FloatVector
    high: FloatVector
    confidence_level: float
    alternative: Alternative

    def _declare_columns(self) -> list[Column]:
        counts = [Column(name, map(int, getattr(self, name))) for name in ("n_events", "n_samples")]
        return counts + [Column(name, getattr(self, name)) for name in ("value", "low", "high")]


def rate_confidence_sequence(
    n_events: ArrayLike,
    n_samples: ArrayLike,
    *,
    confidence_level: Point = 0.95,
    alternative: Alternative = "two-sided",
) -> ConfidenceSequence:
    """Intervals of a rate that hold at all looks at once, however often it is looked at.

    A confidence interval covers the true rate with its level at one time that was fixed before.
    Looked at after every batch, it leaves the true rate sooner or later. These intervals cover it
    at all times together with the level, so that one may look, stop, or go on at any time, for any
    reason. They are functions of the counts alone: not of the order of the points, of the sizes of
    the batches, or of how often it was looked at.

    Parameters
    ----------
    n_events : array-like of shape (n_looks,)
        Number of events so far at each look: false alarms, detected anomalies.
    n_samples : array-like of shape (n_looks,)
        Number of points so far: normal samples, anomalies; up to 2**53.
    confidence_level : float, default 0.95
        Probability that the true rate lies in all intervals, in (0, 1).
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        As in SciPy: ``"greater"`` gives lower ends alone, which show that a rate is greater than
        a target, and ``"less"`` upper ends.

    Returns
    -------
    ConfidenceSequence
        ``value``, ``low`` and ``high`` at each look, rounded outwards.

    Raises
    ------
    InvalidInputError
        If counts fall: they are totals.

    Notes
    -----
    Each point is an event with the same probability, independently of those before. One-sided
    sequences need less: ``low`` also holds if the probability is at most the rate at each point,
    whatever happened before. A rate p is in the interval as long as a mixture martingale against
    it, with a beta distribution of parameters 1/2 of the alternatives, is below
    ``1 / (1 - confidence_level)`` (Robbins; Howard et al., on conjugate mixtures). That it ever is
    not, has a probability of at most ``1 - confidence_level`` if p is true (Ville's inequality).

    Some 15 microseconds a look, 65 for one-sided sequences.

    References
    ----------
    .. [1] H. Robbins, "Statistical methods related to the law of the iterated logarithm", 1970.
    .. [2] S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, "Time-uniform, nonparametric,
       nonasymptotic confidence sequences", 2021.

    Examples
    --------
    >>> import fastad
    >>> counts = [1, 12, 104], [100, 1000, 10_000]
    >>> sequence = fastad.uncertainty.rate_confidence_sequence(*counts)
    >>> sequence.low.round(4), sequence.high.round(4)
    (array([0.    , 0.0034, 0.0069]), array([0.084 , 0.0292, 0.0149]))
    """
    level = check_inside(confidence_level, "confidence_level")
    check_choice(alternative, ALTERNATIVES, "alternative")
    k, n = _check_totals(n_events, "n_events"), _check_totals(n_samples, "n_samples")
    check_rows({"n_events": n_events, "n_samples": n_samples})
    if k.shape != n.shape:
        raise InvalidInputError(
            f"n_events must have as many counts as n_samples, {n.shape[0]}; found {k.shape[0]}"
        )
    if np.any(k > n):
        first = int(np.argmax(k > n))
        raise InvalidInputError(
            f"n_events must not exceed n_samples; found {np.count_nonzero(k > n)}, the first at "
            f"index {first}: {k[first]:.0f} of {n[first]:.0f}"
        )
    low, high = rate_bounds(k, n, float(1 - level), alternative)
    value = np.full(k.shape, math.nan)
    np.divide(k, n, out=value, where=n > 0)
    set_all_readonly(k, n, value, low, high)
    return ConfidenceSequence(k, n, value, low, high, float(level), alternative)


def rate_bounds(
    k: FloatVector, n: FloatVector, alpha: float, alternative: Alternative
) -> tuple[FloatVector, FloatVector]:
    """Return the ends of intervals of counts that have been checked."""
    one_sided = alternative != "two-sided"
    limit = -math.log(alpha)
    low, high = np.zeros(k.shape), np.ones(k.shape)
    if alternative != "less":
        low = end_of_rates(k, n, limit, upper=False, one_sided=one_sided)
    if alternative != "greater":
        high = end_of_rates(k, n, limit, upper=True, one_sided=one_sided)
    return low, high


def check_counts(
    n_events: Any, n_samples: Any, names: tuple[str, str] = ("n_events", "n_samples")
) -> tuple[int, int]:
    """Check the numbers of events and of points of one batch."""
    counts = []
    for name, given in zip(names, (n_events, n_samples), strict=True):
        if isinstance(given, bool | np.bool_) or not isinstance(given, Integral):
            raise InvalidTypeError(f"{name} must be an integer; found {type(given).__name__}")
        count = int(given)
        if not 0 <= count <= MOST:
            raise InvalidInputError(
                f"{name} must lie between 0 and 2^53; found {short_repr(count)}"
            )
        counts.append(count)
    if counts[0] > counts[1]:
        raise InvalidInputError(
            f"{names[0]} must not exceed {names[1]}; found {counts[0]} of {counts[1]}"
        )
    return counts[0], counts[1]


def _check_totals(values: ArrayLike, name: str) -> FloatVector:
    """Check counts that do not fall, and return them as floats."""
    given = real_vector(values, name)
    counts = np.array(given, np.float64)
    for wrong, expected in (
        (~(counts == np.floor(counts)), "contain integers"),
        (counts < 0, "not be negative"),
        (counts > MOST, "be at most 2^53"),
        (np.append(False, counts[1:] < counts[:-1]), "be totals, which do not fall"),
    ):
        if np.any(wrong):
            first = int(np.argmax(wrong))
            raise InvalidInputError(
                f"{name} must {expected}; found {np.count_nonzero(wrong)}, the first at index "
                f"{first}: {given[first]}"
            )
    return counts


def radius_at_one_time(n: int, alpha: float) -> float:
    """Return a bound that the Kolmogorov distance exceeds with probability alpha at most.

    Samples are independent, of any one distribution. Massart, "The tight constant in the
    Dvoretzky-Kiefer-Wolfowitz inequality", 1990, corollary 1. Without samples it is 1.
    """
    return min(1.0, math.sqrt(math.log(2 / alpha) / (2 * n))) if n else 1.0


def radius_at_all_times(n: int, alpha: float) -> float:
    """Return a bound that it exceeds at any of the times 1, 2, ... with probability alpha at most.

    Howard and Ramdas, "Sequential estimation of quantiles with applications to A/B testing and
    best-arm identification", 2022, theorem 2 with m = 1 and A = 0.85. There C is
    0.8 log(1612 / alpha); 1620 suffices for all alpha up to 1/2, the largest that is taken here.
    """
    if n == 0:
        return 1.0
    growth = math.log(math.log(n) + 1) + 0.8 * math.log(1620 / alpha)
    return min(1.0, 0.85 * math.sqrt(growth / n))

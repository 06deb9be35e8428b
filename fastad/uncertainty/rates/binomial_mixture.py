"""The mixture martingale of a binomial rate, and the rates that it does not reject.

Against a rate p, the likelihood ratio of every rate q is a martingale if p is true: it begins at 1,
and its expected value stays there. So is a mixture of them over a distribution of q that was fixed
before. By Ville's inequality it ever reaches 1 / alpha with a probability of at most alpha; the
rates at which it has not are a confidence sequence (Robbins, 1970; Howard, Ramdas, McAuliffe
and Sekhon, 2021, on conjugate mixtures). Here q has the beta distribution with both parameters 1/2
(Krichevsky and Trofimov, 1981), for which the mixture is a function of the counts.
"""

import math

import numpy as np
from scipy.special import betainc, betaincc, gammaln

from fastad._core.types import FloatVector

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

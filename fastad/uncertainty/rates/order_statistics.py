"""The exact distribution of the rate beyond an order statistic.

Of n independent samples, let t be the r-th from one end. The true proportion beyond t is at
most a rate with the probability that a binomial number of n trials at that rate is at least r;
with ties it is more probable still. (Order statistics of uniforms are beta distributed: David and
Nagaraja, "Order Statistics", 2003, section 2.3.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, betainccinv, betaincinv

from fastad._core.arrays import set_readonly
from fastad._core.types import CountVector, FloatVector, IntVector
from fastad.errors import InvalidInputError
from fastad.measures.points import need_both
from fastad.ordering.counts import OrderedCounts

# Floats decide unless they are so close to the bound, relative to it; then integers do.
_CLOSE = 1e-9
# Most samples for integers; with more, a bound that floats cannot decide counts as not reached.
_LARGEST_EXACT = 5_000


def guaranteed_rank(n_samples: int, rate: Fraction, alpha: Fraction) -> int:
    """Return the largest rank that guarantees the rate with confidence 1 - alpha, else 0."""
    low, high = 0, n_samples
    while low < high:
        middle = (low + high + 1) // 2
        if _is_guaranteed(middle, n_samples, rate, alpha):
            low = middle
        else:
            high = middle - 1
    return low


def confidence_of_rank(rank: int, n_samples: int, rate: Fraction) -> float:
    """Return a lower bound on the probability that the rate beyond a rank holds."""
    return 1.0 - float(bdtr(rank - 1, n_samples, float(rate)))


def required_sample_size(rate: Fraction, alpha: Fraction) -> int:
    """Return the smallest number of samples of which the first rank guarantees a rate."""
    if 1 - rate <= alpha:
        return 1
    exact = math.log(alpha) / math.log1p(-float(rate))
    nearest = max(round(exact), 1)
    if abs(exact - nearest) > _CLOSE * nearest:
        return math.ceil(exact)
    return nearest if _is_guaranteed_exactly(1, nearest, rate, alpha) else nearest + 1


def _is_guaranteed(rank: int, n_samples: int, rate: Fraction, alpha: Fraction) -> bool:
    """Return whether a binomial number is below the rank with probability alpha at most."""
    below = float(bdtr(rank - 1, n_samples, float(rate)))
    if abs(below - float(alpha)) > _CLOSE * float(alpha):
        return below < alpha
    return _is_guaranteed_exactly(rank, n_samples, rate, alpha)


def _is_guaranteed_exactly(rank: int, n_samples: int, rate: Fraction, alpha: Fraction) -> bool:
    """Return the same from integers; False where there are too many samples for them."""
    if n_samples > _LARGEST_EXACT:
        return False
    p, q = rate.numerator, rate.denominator
    ways = sum(math.comb(n_samples, k) * p**k * (q - p) ** (n_samples - k) for k in range(rank))
    return bool(ways * alpha.denominator <= alpha.numerator * q**n_samples)


# Most samples for which the joint distribution of all ranks is simulated; with more, ranks spaced
# logarithmically from both ends, and others spaced evenly.
_ALL = 256
_LOGARITHMIC = 100
_EVEN = 56
# Fraction of alpha for the ranks between those simulated. Halved or doubled, no width changes by
# more than 2 %.
_BETWEEN = 0.1

_SIMULATIONS = 20_000
_SEED = 20_130_701
# Probability that the simulated level is too high by chance.
_SIMULATION_ALPHA = Fraction(1, 1000)
# Halvings of the range of the logarithm, after which the level is known to a factor of
# 256 ** (1 / 1024), or 1.005.
_STEPS = 10

# With more samples in a class, the bounds of the lowest ranks round to 1.
_LARGEST_CLASS = 10**10


class RateBounds(Protocol):
    """Bounds on the rate at a rank: 0 at rank 0, and 1 at rank n + 1, below all samples."""

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""

    def lower(self, ranks: IntVector) -> FloatVector:
        """Return lower bounds, which rise with the rank."""

    def upper(self, ranks: IntVector) -> FloatVector:
        """Return upper bounds, which rise with the rank."""


@dataclass(frozen=True, slots=True)
class EachRank:
    """Clopper and Pearson's bounds, which hold at any one rank with confidence 1 - alpha."""

    n_samples: Any  # a number, or one for each rank
    alpha: float

    def lower(self, ranks: IntVector) -> FloatVector:
        """Return quantiles of the beta distribution of each rank at alpha / 2."""
        inside = np.clip(ranks, 1, self.n_samples)
        bounds = betaincinv(inside, self.n_samples - inside + 1, self.alpha / 2)
        return self._with_ends(ranks, np.nan_to_num(bounds, nan=0.0))

    def upper(self, ranks: IntVector) -> FloatVector:
        """Return quantiles of the beta distribution of each rank at 1 - alpha / 2."""
        inside = np.clip(ranks, 1, self.n_samples)
        bounds = betainccinv(inside, self.n_samples - inside + 1, self.alpha / 2)
        return self._with_ends(ranks, np.nan_to_num(bounds, nan=1.0))

    def _with_ends(self, ranks: IntVector, bounds: FloatVector) -> FloatVector:
        # SciPy has no quantile at some probabilities below 1e-150: nothing is known there.
        return np.where(ranks < 1, 0.0, np.where(ranks > self.n_samples, 1.0, bounds))


@dataclass(frozen=True, slots=True, eq=False)
class AllRanks:
    """Bounds that hold at all ranks at once with confidence 1 - alpha."""

    n_samples: int  # number of samples, n
    # (n_knots,): ranks whose joint distribution was simulated, with 0 and n + 1 around them.
    knots: IntVector
    lows: FloatVector  # (n_knots,): bounds there
    highs: FloatVector
    # (n_knots,): how far the samples behind each knot may be from even, as fractions of their gap.
    slacks: FloatVector

    def lower(self, ranks: IntVector) -> FloatVector:
        """Return the bounds at the knots, and those that follow from them between."""
        left, step, inner = self._locate(ranks)
        return self._between(self.lows, left, step, step / inner - self.slacks[left])

    def upper(self, ranks: IntVector) -> FloatVector:
        """Return the bounds at the knots, and those that follow from them between."""
        left, step, inner = self._locate(ranks)
        return self._between(self.highs, left, step, (step - 1) / inner + self.slacks[left])

    def _locate(self, ranks: IntVector) -> tuple[IntVector, IntVector, IntVector]:
        """Return the knot at or before each rank, the steps from it, and how many lie between."""
        left = np.searchsorted(self.knots, ranks, side="right") - 1
        right = np.minimum(left + 1, self.knots.shape[0] - 1)
        inner = np.maximum(self.knots[right] - self.knots[left] - 1, 1)
        return left, ranks - self.knots[left], inner

    def _between(
        self, bounds: FloatVector, left: IntVector, step: IntVector, fraction: FloatVector
    ) -> FloatVector:
        """Return a bound on the rate that lies at most, or at least, at a fraction of its gap."""
        fraction = np.where(step == 0, 0.0, np.clip(fraction, 0.0, 1.0))
        right = np.minimum(left + 1, bounds.shape[0] - 1)
        between: FloatVector = (1 - fraction) * bounds[left] + fraction * bounds[right]
        return between


@lru_cache(maxsize=128)
def all_ranks(n_samples: int, alpha: float) -> AllRanks:
    """Return bounds at all ranks at once, each knot with the same miscoverage by itself.

    Equal local levels (Aldor-Noiman et al. 2013, "The power to see: a new graphical test of
    normality", section 2). Given the rates at two knots, those between are as many independent
    uniform numbers: Massart's inequality (1990) bounds how far they are from even.
    """
    ranks = _simulated_ranks(n_samples)
    between = np.diff(ranks) - 1
    n_gaps = int(np.count_nonzero(between))
    alpha_of_gaps = _BETWEEN * alpha if n_gaps else 0.0
    local = EachRank(n_samples, _local_alpha(ranks, n_samples, alpha - alpha_of_gaps))
    slacks = np.zeros(ranks.shape[0] + 2)
    if n_gaps:
        slacks[1:-2] = np.sqrt(math.log(2 * n_gaps / alpha_of_gaps) / (2 * np.maximum(between, 1)))
    knots = np.concatenate([[0], ranks, [n_samples + 1]])
    bounds = (local.lower(knots), local.upper(knots), slacks)
    return AllRanks(n_samples, set_readonly(knots), *map(set_readonly, bounds))


def _simulated_ranks(n_samples: int) -> IntVector:
    """Return the ranks whose joint distribution is simulated: both ends, and some between."""
    if n_samples <= _ALL:
        return np.arange(1, n_samples + 1)
    first = np.geomspace(1, n_samples // 2, _LOGARITHMIC).round().astype(np.int64)
    even = np.linspace(1, n_samples, _EVEN).round().astype(np.int64)[1:-1]
    return np.unique(np.concatenate([first, even, n_samples + 1 - first]))


def _local_alpha(ranks: IntVector, n_samples: int, alpha: float) -> float:
    """Return the miscoverage of each rank at which all at once have a miscoverage of alpha.

    As many simulations may fail as leave the true miscoverage at alpha with high confidence. If
    none may, alpha is divided by the number of ranks (Bonferroni), which needs no simulation.
    """
    bonferroni: float = alpha / ranks.shape[0]
    may_fail = guaranteed_rank(_SIMULATIONS, Fraction(alpha), _SIMULATION_ALPHA) - 1
    if may_fail < 0:
        return bonferroni
    rates = _simulated_rates(ranks, n_samples)
    low, high = math.log(bonferroni), math.log(alpha)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        bounds = EachRank(n_samples, math.exp(middle))
        outside = rates < bounds.lower(ranks)[:, None]
        outside |= rates > bounds.upper(ranks)[:, None]
        if np.count_nonzero(outside.any(axis=0)) <= may_fail:
            low = middle
        else:
            high = middle
    return math.exp(low)


def _simulated_rates(ranks: IntVector, n_samples: int) -> npt.NDArray[np.float64]:
    """Return simulated rates at the ranks of samples, one sample a column.

    Spacings of n uniform numbers are n + 1 exponential ones over their sum, and gaps of several
    are gamma distributed (David and Nagaraja, "Order Statistics", 2003, section 6.4).
    """
    gaps = np.diff(ranks, prepend=0, append=n_samples + 1).astype(np.float64)
    rng = np.random.default_rng(_SEED)
    sums = rng.standard_gamma(gaps[:, None], size=(gaps.shape[0], _SIMULATIONS))
    np.cumsum(sums, axis=0, out=sums)
    sums /= sums[-1].copy()
    return sums[:-1]


@dataclass(frozen=True, slots=True, eq=False)
class EffectiveRanks:
    """Effective numbers of samples at or above each distinct score, which end in whole numbers."""

    tps: FloatVector  # (n_points + 1,): ranks of anomalies and of normals
    fps: FloatVector


def rate_bounds(
    counts: OrderedCounts,
    measure: str,
    level: Fraction,
    *,
    simultaneous: bool,
    ranks: EffectiveRanks | None = None,
) -> tuple[RateBounds, RateBounds]:
    """Return bounds on the rates of anomalies and of normals.

    Simultaneous bounds must hold for both classes: they are independent, and their confidences
    multiply to the level. At one point each class has the full alpha, because no curve lets both
    fail on both sides; docs/guide/bands.md has the proof.
    """
    need_both(counts, measure)
    if ranks is not None:
        # Classes in the same clusters depend on each other: their alphas add up (Bonferroni).
        bounds = all_ranks if simultaneous else EachRank
        n, m = (int(each[-1]) for each in (ranks.tps, ranks.fps))
        half = float(1 - level) / 2
        return bounds(n, half), bounds(m, half)
    if counts.weighting == "real":
        raise InvalidInputError(
            f"sample_weight must contain integers for {measure}, which counts samples; "
            "found real weights"
        )
    n, m, alpha = int(counts.n_anomalies), int(counts.n_normals), float(1 - level)
    if max(n, m) > _LARGEST_CLASS:
        raise InvalidInputError(
            f"y_true must have at most {_LARGEST_CLASS} samples of a class for {measure}; "
            f"found {max(n, m)}"
        )
    if not simultaneous:
        return EachRank(n, alpha), EachRank(m, alpha)
    # This is 1 - sqrt(level), without cancellation where the level is close to 1.
    alpha /= 1 + math.sqrt(level)
    return all_ranks(n, alpha), all_ranks(m, alpha)


def rank_above(of_class: CountVector, of_other: CountVector, ranks: IntVector) -> IntVector:
    """Return the rank in the other class of its lowest sample strictly above one of this class.

    The rate strictly above that sample is at least the rate at the rank that is returned. Rank 0
    is above all samples, and n + 1 below all.
    """
    points = np.searchsorted(of_class, ranks, side="left")
    n_above = np.where(ranks > of_class[-1], of_other[-1] + 1, of_other[np.maximum(points - 1, 0)])
    return np.floor(n_above).astype(np.int64)


def rank_below(of_class: CountVector, of_other: CountVector, ranks: IntVector) -> IntVector:
    """Return the rank in the other class of its highest sample strictly below one of this class.

    The rate at or above that sample is at most the rate strictly above the one that is returned.
    """
    points = np.minimum(np.searchsorted(of_class, ranks, side="left"), of_class.shape[0] - 1)
    return np.where(ranks < 1, 0, np.ceil(of_other[points]) + 1).astype(np.int64)


def ranks_around(
    bounds: RateBounds,
    rates: FloatVector,
    is_within: Callable[[FloatVector, FloatVector], npt.NDArray[np.bool_]] = np.less_equal,
) -> tuple[IntVector, IntVector]:
    """Return, for each rate, the last rank that is within it, and the first one beyond it."""
    n, size = bounds.n_samples, rates.shape[0]
    within = _last_rank(lambda ranks: is_within(bounds.upper(ranks), rates), n, size)
    beyond = _last_rank(lambda ranks: is_within(bounds.lower(ranks), rates), n, size) + 1
    return within, beyond


def _last_rank(
    holds: Callable[[IntVector], npt.NDArray[np.bool_]], n_samples: int, size: int
) -> IntVector:
    """Return, for each point, the last rank up to n + 1 at which the condition holds, or -1."""
    low, high = np.full(size, -1), np.full(size, n_samples + 1)
    while np.any(low < high):
        middle = low + (high - low + 1) // 2
        is_true = holds(middle)
        low, high = np.where(is_true, middle, low), np.where(is_true, high, middle - 1)
    return low

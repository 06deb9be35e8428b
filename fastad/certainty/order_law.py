"""The exact law of the rate beyond an order statistic.

Of n independent points, let t be the r-th from one end. The true share of points beyond t is at
most a rate with the probability that a binomial number of n trials at that rate is at least r;
with ties it is more probable still. (Order statistics of uniforms are beta distributed: David and
Nagaraja, "Order Statistics", 2003, section 2.3.)
"""

import math
from fractions import Fraction

from scipy.special import bdtr

# Floats decide unless they are so close to the bound, relative to it; then whole numbers do.
_CLOSE = 1e-9
# Up to so many points; beyond, a bound that floats cannot tell counts as not reached.
_LARGEST_EXACT = 5_000


def guaranteed_rank(n_points: int, rate: Fraction, doubt: Fraction) -> int:
    """Return the largest rank beyond which the rate holds, but for a doubt; 0 if there is none."""
    low, high = 0, n_points
    while low < high:
        middle = (low + high + 1) // 2
        if _is_doubt_enough(middle, n_points, rate, doubt):
            low = middle
        else:
            high = middle - 1
    return low


def probability(rank: int, n_points: int, rate: Fraction) -> float:
    """Return how probable it is, at least, that the rate beyond a rank holds."""
    return 1.0 - float(bdtr(rank - 1, n_points, float(rate)))


def points_needed(rate: Fraction, doubt: Fraction) -> int:
    """Return the smallest number of points of which the first rank guarantees a rate."""
    exact = math.log(doubt) / math.log1p(-float(rate))
    nearest = max(round(exact), 1)
    if abs(exact - nearest) > _CLOSE * nearest:
        return math.ceil(exact)
    return nearest if _decided_exactly(1, nearest, rate, doubt) else nearest + 1


def _is_doubt_enough(rank: int, n_points: int, rate: Fraction, doubt: Fraction) -> bool:
    """Tell whether a binomial number is below the rank with at most the probability of doubt."""
    below = float(bdtr(rank - 1, n_points, float(rate)))
    if abs(below - float(doubt)) > _CLOSE * float(doubt):
        return below < doubt
    return _decided_exactly(rank, n_points, rate, doubt)


def _decided_exactly(rank: int, n_points: int, rate: Fraction, doubt: Fraction) -> bool:
    """Tell the same in whole numbers; False where there are too many points for them."""
    if n_points > _LARGEST_EXACT:
        return False
    p, q = rate.numerator, rate.denominator
    ways = sum(math.comb(n_points, k) * p**k * (q - p) ** (n_points - k) for k in range(rank))
    return bool(ways * doubt.denominator <= doubt.numerator * q**n_points)

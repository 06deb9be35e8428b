"""A score interval for the area under the ROC, for few anomalies and for areas near 1."""

import math

from scipy.special import ndtri

from fastad.certainty.proportions import Bounds

# Closer to 0 and 1 than this no end of an interval is looked for.
_NEAREST = 1e-15


def newcombe(area: float, n: float, m: float, doubt: float) -> Bounds:
    """Return the areas whose own standard error does not set them apart from the one at hand.

    The standard error is a function of the area, as under exponential laws (Hanley and McNeil
    1982) but alike for both classes. So an area of 1 has an interval, too. Newcombe 2006,
    "Confidence intervals for an effect size measure based on the Mann-Whitney statistic, part 2",
    method 5.
    """
    # Here, because SciPy's solvers take a while to import.
    from scipy.optimize import brentq

    quantile = -float(ndtri(doubt / 2))

    def excess(other: float) -> float:
        distance = abs(area - other)
        return distance - quantile * math.sqrt(_variance(other, n, m))

    first, last = _NEAREST, 1 - _NEAREST
    inside = min(max(area, first), last)
    if excess(inside) >= 0:  # at an end, with next to no confidence
        return area, area
    low = float(brentq(excess, first, inside)) if excess(first) > 0 else 0.0
    high = float(brentq(excess, inside, last)) if excess(last) > 0 else 1.0
    return low, high


def _variance(area: float, n: float, m: float) -> float:
    others = (n + m) / 2 - 1
    by_chance = area * (1 - area)
    return by_chance * (1 + others * ((1 - area) / (2 - area) + area / (1 + area))) / (n * m)

"""How far an empirical distribution is from the true one: at one time, and at all times at once."""

import math


def radius_at_one_time(n: int, alpha: float) -> float:
    """Return what the Kolmogorov distance exceeds with probability alpha at most.

    Samples are independent, of any one distribution. Massart, "The tight constant in the
    Dvoretzky-Kiefer-Wolfowitz inequality", 1990, corollary 1. Without samples it is 1.
    """
    return min(1.0, math.sqrt(math.log(2 / alpha) / (2 * n))) if n else 1.0


def radius_at_all_times(n: int, alpha: float) -> float:
    """Return what the distance exceeds at any of the times n = 1, 2, ... with such a probability.

    Howard and Ramdas, "Sequential estimation of quantiles with applications to A/B testing and
    best-arm identification", 2022, theorem 2 with m = 1 and A = 0.85. There C is
    0.8 log(1612 / alpha); 1620 suffices for all alpha up to 1/2, the largest that is taken here.
    """
    if n == 0:
        return 1.0
    growth = math.log(math.log(n) + 1) + 0.8 * math.log(1620 / alpha)
    return min(1.0, 0.85 * math.sqrt(growth / n))

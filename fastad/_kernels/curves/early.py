"""Early recognition: sums of exponential weights of ranks, areas over log(FPR).

Counts have the shape (g + 1,), as for `area`. Sums are compensated, and the order of the points
fixes their bits.
"""

import math

from fastad._core.jit import kernel
from fastad._core.types import CountVector
from fastad._kernels.curves.area import log1p_less
from fastad._kernels.sums import add


@kernel
def early_gain(
    fps: CountVector,
    tps: CountVector,
    start: int,  # points of which the gain is added up, the first one excluded
    stop: int,
    rate: float,
    n_normals: float,
    whole: bool,  # noqa: FBT001 - whether counts are integers; kernels take no keywords
) -> tuple[float, float]:
    """Add up the excess of anomalies' weights over the weights that they would have last of all.

    A sample between the ranks r and r + 1 has the weight integral of e**-t over t in
    [rate * r, rate * (r + 1)], and one of a tie the mean over its ranks. Each anomaly is compared
    with itself below the d normals that it is above; for infinitely many the gain is the weight.
    For a tie of e anomalies among c samples, with p = rate * e and x = rate * c, it is
    e**(-rate * above) * ((1 - e**-p) * (1 - e**(-rate * d)) - p * (f(p) - f(x)))
    where f(t) = (1 - e**-t) / t is the mean of e**-u over u in [0, t]. No term is negative.
    Returns the sum, and its rounding error.
    """
    total = 0.0
    lost = 0.0
    one, step, back = -math.expm1(-rate), math.exp(-rate), math.exp(rate)
    for first in range(start, stop, 16):
        last = min(first + 16, stop)
        if tps[last] == tps[first]:  # the more frequent, the rarer anomalies are
            continue
        above = fps[first] + tps[first]
        power = math.exp(-rate * above)
        term = 0.0
        if (
            whole
            and rate < 1.0
            and fps[last] + tps[last] - above == last - first
            and rate * (n_normals - fps[last]) > 0.1
        ):
            # No ties, so that products replace most exponentials; a few at a time, for rounding.
            beyond = math.exp(-rate * (n_normals - fps[first]))
            for i in range(first + 1, last + 1):
                hits = tps[i] - tps[i - 1]
                term += hits * (power - power * beyond)
                power *= step
                beyond *= back if hits == 0 else 1.0
            term *= one
        else:
            for i in range(first + 1, last + 1):
                hits = float(tps[i] - tps[i - 1])
                if hits > 0.0:
                    p = rate * hits
                    gain = math.expm1(-p) * math.expm1(-rate * (n_normals - fps[i - 1]))
                    if fps[i] > fps[i - 1]:
                        gain -= p * mean_difference(p, rate * float(fps[i] - fps[i - 1]))
                    term += gain * math.exp(-rate * (fps[i - 1] + tps[i - 1]))
        total, lost = add(total, lost, term)
    return total, lost


@kernel
def mean_difference(p: float, q: float) -> float:
    """Return the mean of e**-u over u in [0, p], minus the mean over [0, p + q]."""
    x = p + q
    if x > 0.5:  # nothing cancels
        return (-q * math.expm1(-p) + p * math.exp(-p) * math.expm1(-q)) / (p * x)
    # The sum over k of (-1)**(k + 1) * (x**k - p**k) / (k + 1)!; the first term left out is below
    # 1e-19 of the first one.
    difference = q
    power = p
    factor = 0.5
    total = 0.0
    for k in range(1, 14):
        total += factor * difference
        difference = x * difference + power * q
        power *= p
        factor /= -(k + 2)
    return total


@kernel
def logarithmic_area_between(fps: CountVector, tps: CountVector, low: float, high: float) -> float:
    """Return the integral of TPs / FPs over the FPs in a range with 0 < low < high.

    On a level piece of the curve it is TP * log(x2 / x1), whatever the points on it; on a sloped
    one see `area.logarithmic_area`.
    """
    total = 0.0
    lost = 0.0
    g = fps.shape[0]
    begin = low  # of the level piece
    for i in range(1, g + 1):
        if i < g and tps[i] == tps[i - 1]:
            continue
        left = min(max(float(fps[i - 1]), low), high) if i < g else high
        term = 0.0
        if left > begin:
            term = tps[i - 1] * math.log1p((left - begin) / begin)
        begin = left
        if i < g:
            right = min(max(float(fps[i]), low), high)
            if right > left:
                slope = (tps[i] - tps[i - 1]) / (fps[i] - fps[i - 1])
                height = tps[i - 1] + slope * (left - fps[i - 1])
                wide = (right - left) / left
                term += height * math.log1p(wide) + slope * left * log1p_less(wide)
            begin = right
        total, lost = add(total, lost, term)
    return total + lost

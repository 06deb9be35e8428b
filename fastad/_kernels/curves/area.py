"""Areas under curves that are given by cumulative counts.

Counts have the shape (g + 1,), for g distinct scores: those above all scores, which are 0, and then
those at or above each. Sums of floats are compensated: they are right to the last digits in any
length, and the order of the points fixes their bits.
"""

import math
from typing import Any

from fastad._core.jit import kernel
from fastad._core.types import CountVector, KeyVector
from fastad._kernels.sums import add


@kernel
def twice_area_packed(packed: KeyVector, tp: int) -> int:
    """Return twice the area under a piece of the ROC in units of (anomaly, normal) pairs.

    The piece starts below ``tp`` anomalies. Reads sorted falling keys with the label in bit 0, so
    that within a tie normals come first. A normal adds the anomalies before it, and a tie of d
    normals and e anomalies adds d * e / 2.
    """
    n = packed.shape[0]
    concordant = 0
    tied = 0
    for i in range(n):
        label = packed[i] & 1
        concordant += (1 - label) * tp
        tp += label
        # Within a tie the label changes once: there, keys differ in the lowest bit alone.
        if i > 0 and packed[i] ^ 1 == packed[i - 1]:
            first = i - 1
            while first > 0 and packed[first - 1] == packed[i - 1]:
                first -= 1
            last = i
            while last + 1 < n and packed[last + 1] == packed[i]:
                last += 1
            tied += (i - first) * (last + 1 - i)
    return 2 * concordant + tied


@kernel
def twice_area(xs: CountVector, ys: CountVector, start: int, stop: int) -> Any:
    """Return twice the area under a curve of straight pieces between two of its points.

    Integer counts add exactly (the caller makes sure that the sum fits into 64 bits).
    """
    # Indices from 1 on are known not to count from the end, so that the loop vectorises.
    xs, ys = xs[start : stop + 1], ys[start : stop + 1]
    total = xs[0] - xs[0]
    lost = total
    for i in range(1, xs.shape[0]):
        term = (xs[i] - xs[i - 1]) * (ys[i] + ys[i - 1])
        total, lost = add(total, lost, term)
    return total + lost


@kernel
def inverse_fpr_area(
    fps: CountVector, tps: CountVector, total: float, lost: float
) -> tuple[float, float]:
    """Go on integrating TPs / FPs over the FPs, each trapezoid divided by its right end.

    Segments that end at no normal are dropped. ``total`` and ``lost`` are the sum so far, and its
    rounding error; the sum of both is the integral.
    """
    for i in range(1, fps.shape[0]):
        width = fps[i] - fps[i - 1]
        # No branch: an upright segment adds exactly 0.
        end = fps[i] if width > 0 else 1.0
        term = width / end * (0.5 * (tps[i] + tps[i - 1]))
        total, lost = add(total, lost, term)
    return total, lost


@kernel
def log1p_less(x: float) -> float:
    """Return x - log(1 + x), x >= 0, without the cancellation near 0."""
    if x > 0.1:
        return x - math.log1p(x)
    power = x * x
    total = 0.0
    # The first term left out, x**19 / 19, is at most 2e-18 of the first one, x**2 / 2.
    for k in range(2, 19):
        total += power / k
        power *= -x
    return total


@kernel
def logarithmic_area(
    fps: CountVector, tps: CountVector, total: float, lost: float
) -> tuple[float, float]:
    """Go on integrating TPs / FPs over the FPs from 1 on, in closed form on straight segments.

    From x1 to x2 with TP = y1 + slope * (x - x1) and d = x2 / x1 - 1 the integral is
    y1 * log(1 + d) + slope * x1 * (d - log(1 + d)).
    """
    for i in range(1, fps.shape[0]):
        if fps[i] > fps[i - 1]:
            slope = (tps[i] - tps[i - 1]) / (fps[i] - fps[i - 1])
            left = max(float(fps[i - 1]), 1.0)
            start = tps[i - 1] + slope * (left - fps[i - 1])
            step = (fps[i] - left) / left
            term = start * math.log1p(step) + slope * left * log1p_less(step)
            total, lost = add(total, lost, term)
    return total, lost


@kernel
def precision_area(fps: CountVector, tps: CountVector) -> float:
    """Integrate the precision over the TPs, along straight pieces of the ROC curve.

    On a piece from (fp1, tp1) on with steps dx, dy let a = 1 + dx / dy, s = tp1 + fp1 and
    u = (dx + dy) / s. The integral of (tp1 + t) / (s + a t) over t in [0, dy] is
    tp1 / a * log(1 + u) + s / a**2 * (u - log(1 + u)): no term is negative, nothing cancels.
    """
    total = 0.0
    lost = 0.0
    for i in range(1, fps.shape[0]):
        dy = float(tps[i] - tps[i - 1])
        if dy > 0.0:
            dx = float(fps[i] - fps[i - 1])
            a = 1.0 + dx / dy
            start = float(tps[i - 1]) + float(fps[i - 1])
            if start == 0.0:
                term = dy / a
            else:
                u = (dx + dy) / start
                term = float(tps[i - 1]) / a * math.log1p(u) + start / (a * a) * log1p_less(u)
            total, lost = add(total, lost, term)
    return total + lost


@kernel
def precision_sum(
    fps: CountVector, tps: CountVector, total: float, lost: float
) -> tuple[float, float]:
    """Go on adding up the precision at each distinct score, weighted by its anomalies."""
    for i in range(1, fps.shape[0]):
        # No branch: a score without anomalies adds exactly 0.
        term = (tps[i] - tps[i - 1]) * (tps[i] / (tps[i] + fps[i]))
        total, lost = add(total, lost, term)
    return total, lost


@kernel
def precision_sum_packed(
    packed: KeyVector,  # (n,) sorted falling keys with the label in bit 0, of one range
    above: int,  # points above the range
    tp: int,  # anomalies above the range
    total: float,  # the sum above the range, and its rounding error
    lost: float,
) -> tuple[float, float]:
    """Go on with the sum of `precision_sum`, term by term the same, without counting first."""
    n = packed.shape[0]
    before = tp
    for i in range(n):
        tp += packed[i] & 1
        last = i + 1 == n or packed[i + 1] >> 1 != packed[i] >> 1
        # No branch: inside a tie nothing is added yet.
        hits = tp - before if last else 0
        before += hits
        term = hits * (tp / (above + i + 1))
        total, lost = add(total, lost, term)
    return total, lost

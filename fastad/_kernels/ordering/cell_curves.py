"""Curves through cells and points that were counted apart, and bounds of sums along them."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.jit import kernel
from fastad._core.types import CountVector, IntVector
from fastad._kernels.sums import add

# From here on, the first terms of the harmonic numbers' expansion are right to the last digits.
_MANY = 1000
# Terms of a sum in one cell that are added one by one.
_TOO_MANY = 100_000


@kernel
def write_corners(
    anomalies: IntVector,  # (n,) rising rank bits
    between: npt.NDArray[Any],  # (n + 1,) normals below each anomaly, and above the last
    equal: npt.NDArray[Any],  # (n,) normals that tie with each, at the first of equal anomalies
    start: int,  # the anomaly from which to go down, the first of its tie
    stop: int,
    fp: int,  # normals above it
    tp: int,
    fps: CountVector,  # (2 (start - stop) + 2,) written here
    tps: CountVector,
) -> int:
    """Write the corners of the curve from one anomaly down to another; return how many.

    Normals that no anomaly separates are one step. ``start`` and ``stop`` are numbers of
    anomalies that are not above the piece, and each the end of a tie.
    """
    fps[0] = fp
    tps[0] = tp
    points = 1
    i = start
    while i > stop:
        first = i - 1
        while first > 0 and anomalies[first - 1] == anomalies[i - 1]:
            first -= 1
        if between[i] > 0:
            fp += between[i]
            fps[points] = fp
            tps[points] = tp
            points += 1
        fp += equal[first]
        tp += i - first
        fps[points] = fp
        tps[points] = tp
        points += 1
        i = first
    if stop == 0 and between[0] > 0:
        fps[points] = fp + between[0]
        tps[points] = tp
        points += 1
    return points


@kernel
def write_points(
    anomalies: IntVector,  # (k,) rising rank bits
    normals: IntVector,  # (n,) rising rank bits
    fp: int,  # normals above them
    tp: int,
    corners: bool,  # noqa: FBT001 - kernels take no keywords
    keys: IntVector,  # (k + n,) written here: rising keys of the distinct scores
    fps: CountVector,  # (k + n + 1,) written here
    tps: CountVector,
) -> int:
    """Write the curve of points from above down; return how many points are written.

    There is one for each distinct score; with ``corners``, normals that no anomaly separates are
    one step.
    """
    i, j = anomalies.shape[0], normals.shape[0]
    fps[0] = fp
    tps[0] = tp
    points = 0
    goes_on = False
    while i > 0 or j > 0:
        bits = (
            anomalies[i - 1]
            if j == 0 or (i > 0 and anomalies[i - 1] > normals[j - 1])
            else normals[j - 1]
        )
        first = tp
        while i > 0 and anomalies[i - 1] == bits:
            i -= 1
            tp += 1
        while j > 0 and normals[j - 1] == bits:
            j -= 1
            fp += 1
        if not (goes_on and tp == first):
            points += 1
        goes_on = corners and tp == first
        keys[points - 1] = ~bits
        fps[points] = fp
        tps[points] = tp
    return points


@kernel
def arrange(
    lowest: IntVector,  # (n,) falling rank bits: lowest score of each cell
    highest: IntVector,  # (n,) highest one
    normals: CountVector,  # (n,)
    anomalies: CountVector,  # (n,)
    anomalies_first: bool,  # noqa: FBT001 - kernels take no keywords
    keys: IntVector,  # (2 n,) written here: falling keys
    fps: CountVector,  # (2 n + 1,) written here
    tps: CountVector,  # (2 n + 1,) written here
) -> int:
    """Write the counts of a curve through cells; return how many distinct scores it has.

    In each cell one class has the highest score and the other the lowest one. A cell of a single
    score is a tie.
    """
    points = 0
    fp = 0
    tp = 0
    fps[0] = 0
    tps[0] = 0
    for i in range(lowest.shape[0]):
        upper_fp = 0 if anomalies_first else normals[i]
        upper_tp = anomalies[i] if anomalies_first else 0
        if lowest[i] != highest[i] and upper_fp + upper_tp > 0:
            keys[points] = ~highest[i]
            points += 1
            fps[points] = fp + upper_fp
            tps[points] = tp + upper_tp
        else:
            upper_fp = 0
            upper_tp = 0
        fp += normals[i]
        tp += anomalies[i]
        if upper_fp + upper_tp < normals[i] + anomalies[i]:
            keys[points] = ~lowest[i]
            points += 1
            fps[points] = fp
            tps[points] = tp
    return points


@kernel
def harmonic_difference(low: int, high: int) -> float:
    """Return 1 / (low + 1) + ... + 1 / high."""
    total = 0.0
    first = min(high, _MANY)
    for i in range(first, low, -1):
        total += 1.0 / i
    if high > max(low, _MANY):
        a = float(max(low, _MANY))
        b = float(high)
        # H(x) = log x + 1 / 2x - 1 / 12x^2 + ..., whose next term is below 1e-14.
        total += math.log1p((b - a) / a) + 0.5 / b - 0.5 / a
        total += (1.0 / (a * a) - 1.0 / (b * b)) / 12.0
    return total


@kernel
def lowest_precision_sum(
    fps: CountVector,  # (n + 1,) at the cells' edges
    tps: CountVector,  # (n + 1,)
    ties: npt.NDArray[np.bool_],  # (n,) cells of a single score
    weight: float,  # of a normal sample
) -> float:
    """Add up the lowest precision at each anomaly.

    In each cell anomalies stand one by one below all normals.
    """
    total = 0.0
    lost = 0.0
    for i in range(1, fps.shape[0]):
        fp = weight * fps[i]
        first = tps[i - 1]
        n = tps[i] - first
        if n == 0:
            continue
        if fp == 0.0:
            term = float(n)
        elif ties[i - 1]:
            term = n * (tps[i] / (tps[i] + fp))
        elif n < _TOO_MANY:
            term = 0.0
            for j in range(1, n + 1):
                term += (first + j) / (first + j + fp)
        else:
            # The precision rises in j, so that the sum is above the integral from 0 to n. The
            # largest error of the difference of two numbers near n is subtracted.
            term = max(n - fp * math.log1p(n / (first + fp)) - 1e-14 * n, 0.0)
        total, lost = add(total, lost, term)
    return total + lost


@kernel
def highest_inverse_fpr_area(
    fps: CountVector,  # (n + 1,) at the cells' edges
    tps: CountVector,  # (n + 1,)
    ties: npt.NDArray[np.bool_],  # (n,) cells of a single score
) -> float:
    """Integrate TPs / FPs as `inverse_fpr_area` does, in the order that makes it highest.

    In each cell normals stand one by one below all anomalies.
    """
    total = 0.0
    lost = 0.0
    for i in range(1, fps.shape[0]):
        if fps[i] == fps[i - 1]:
            continue
        if ties[i - 1]:
            term = (fps[i] - fps[i - 1]) / fps[i] * (0.5 * (tps[i] + tps[i - 1]))
        else:
            term = tps[i] * harmonic_difference(fps[i - 1], fps[i])
        total, lost = add(total, lost, term)
    return total + lost

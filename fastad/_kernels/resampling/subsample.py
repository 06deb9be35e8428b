"""The distribution of the anomalies among the highest scores after anomalies were drawn.

Cumulative counts have the shape (g + 1,), for g distinct scores, and begin with 0.
"""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import CountVector, FloatVector

# Probabilities below this part of the largest one cannot move the sixteenth digit of a sum.
_NEGLIGIBLE = 1e-18


@kernel
def hypergeometric_window(
    population: int, marked: int, drawn: int, probabilities: FloatVector
) -> tuple[int, int]:
    """Write the probabilities of the numbers of marked among the drawn that matter.

    The recurrence starts at the mode, and the window is divided by its own sum: logarithms of
    factorials would lose seven digits. Return the first number and how many were written.
    """
    lowest = max(0, drawn - (population - marked))
    highest = min(marked, drawn)
    mode = int((drawn + 1.0) * (marked + 1.0) / (population + 2.0))
    mode = min(max(mode, lowest), highest)
    first = mode
    p = 1.0
    total = 1.0
    while first > lowest and p > _NEGLIGIBLE:
        p *= float(first) * float(population - marked - drawn + first)
        p /= float(marked - first + 1) * float(drawn - first + 1)
        total += p
        first -= 1
    last = mode
    q = 1.0
    while last < highest and q > _NEGLIGIBLE:
        q *= float(marked - last) * float(drawn - last)
        q /= float(last + 1) * float(population - marked - drawn + last + 1)
        total += q
        last += 1
    size = min(last - first + 1, probabilities.shape[0])
    p = 1.0
    for x in range(mode, first - 1, -1):
        probabilities[x - first] = p / total
        p *= float(x) * float(population - marked - drawn + x)
        p /= float(marked - x + 1) * float(drawn - x + 1)
    p = 1.0
    for x in range(mode, first + size):
        probabilities[x - first] = p / total
        p *= float(marked - x) * float(drawn - x)
        p /= float(x + 1) * float(population - marked - drawn + x + 1)
    return first, size


@kernel
def window_capacity(population: int, drawn: int) -> int:
    """Return how long a window can be: 12 standard deviations to each side and some more."""
    spread = 0.5 * math.sqrt(min(drawn, population - drawn) + 1.0)
    return int(min(24.0 * spread + 120.0, drawn + 1.0))


@kernel
def tie_terms(
    population: int, marked: int, drawn: int, above: int, room: int, normals: int
) -> tuple[float, float]:
    """Return the fraction of draws that put the cut inside a tie, and the mean hits over them.

    The tie holds ``marked`` of the ``population`` anomalies from which ``drawn`` are still to be
    drawn, and ``normals`` normals; ``room`` positions remain for it, ``above`` anomalies stand
    before it. If s of its anomalies are drawn and s + normals >= room, the tied points fill the
    room in random order: above + room * s / (s + normals) hits.
    """
    lowest = max(0, drawn - (population - marked))
    highest = min(marked, drawn)
    mode = int((drawn + 1.0) * (marked + 1.0) / (population + 2.0))
    mode = min(max(mode, lowest), highest)
    total = 0.0
    inside = 0.0
    hits = 0.0
    p = 1.0
    s = mode
    while True:
        total += p
        if s + normals >= room:
            inside += p
            hits += p * (above + room * (s / (s + normals)))
        if s == lowest or p < _NEGLIGIBLE:
            break
        p *= float(s) * float(population - marked - drawn + s)
        p /= float(marked - s + 1) * float(drawn - s + 1)
        s -= 1
    p = 1.0
    s = mode
    while s < highest and p > _NEGLIGIBLE:
        p *= float(marked - s) * float(drawn - s)
        p /= float(s + 1) * float(population - marked - drawn + s + 1)
        s += 1
        total += p
        if s + normals >= room:
            inside += p
            hits += p * (above + room * (s / (s + normals)))
    return inside / total, hits / total


@kernel
def first_at_least(counts: CountVector, value: int) -> int:
    """Return the first index at which rising counts are at least a value."""
    low = 0
    high = counts.shape[0]
    while low < high:
        middle = (low + high) // 2
        if counts[middle] >= value:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def run_around(fps: CountVector, tps: CountVector, i: int) -> tuple[int, int]:
    """Return the points before and after the straight part of the curve that ends in point i.

    Neighbouring points with anomalies alone, or normals alone, are one run: whether their scores
    are tied changes nothing, and must not change the last bit.
    """
    if fps[i] == fps[i - 1]:
        return first_at_least(fps, fps[i]), first_at_least(fps, fps[i] + 1) - 1
    if tps[i] == tps[i - 1]:
        return first_at_least(tps, tps[i]), first_at_least(tps, tps[i] + 1) - 1
    return i - 1, i


@kernel
def upper_tail(
    population: int, marked: int, drawn: int, least: int, probabilities: FloatVector
) -> float:
    """Return the probability that at least ``least`` of the drawn are marked."""
    first, size = hypergeometric_window(population, marked, drawn, probabilities)
    if least <= first:
        return 1.0
    total = 0.0
    for x in range(size - 1, least - first - 1, -1):
        total += probabilities[x]
    return total


@kernel
def expected_hits(fps: CountVector, tps: CountVector, k: int) -> float:
    """Return the mean number of anomalies among the k highest scores after k were drawn.

    k of the n anomalies are drawn at random, all normals stay, ties are in random order. The
    tie (or run of points of one class) of the k-th position follows from how many of the
    anomalies above it were drawn: a hypergeometric number. Only ties near the middle of that
    distribution count, so that the work grows as k, not as k times n.
    """
    n = tps[-1]
    points = tps.shape[0]
    low = 1
    high = points - 1
    while low < high:
        middle = (low + high) // 2
        if float(tps[middle]) / n * k + fps[middle] >= k:
            high = middle
        else:
            low = middle + 1
    capacity = window_capacity(n, k)
    probabilities = np.empty(capacity)
    mass = 0.0
    hits = 0.0
    _, middle = run_around(fps, tps, low)
    for direction in (-1, 1):
        i = middle if direction == -1 else middle + 1
        while 1 <= i < points:
            left, right = run_around(fps, tps, i)
            before = tps[left]
            marked = tps[right] - before
            fp = fps[left]
            normals = fps[right] - fp
            first, size = hypergeometric_window(n, before, k, probabilities)
            # Going up, stop where the cut cannot lie above.
            if direction == 1 and first >= k - fp:
                break
            ends = first + size <= k - fp
            if normals == 0:
                # The cut lies among anomalies: whatever their number, all up to it are hits.
                inside = -upper_tail(n, before, k, k - fp, probabilities)
                inside += upper_tail(n, tps[right], k, k - fp, probabilities)
                mass += inside
                hits += inside * (k - fp)
            else:
                # The cut lies in this tie only if x + fp < k <= x + s + fp + normals.
                start = max(first, k - fp - normals - marked)
                stop = min(first + size, k - fp)
                for x in range(start, stop):
                    p = probabilities[x - first]
                    if marked == 0:
                        mass += p
                        hits += p * x
                    else:
                        inside, tie_hits = tie_terms(
                            n - before, marked, k - x, x, k - fp - x, normals
                        )
                        mass += p * inside
                        hits += p * tie_hits
            # Going down, stop where the cut cannot lie below.
            if direction == -1 and ends:
                break
            i = left if direction == -1 else right + 1
    return hits / mass

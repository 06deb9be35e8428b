"""All pairs of models at one level: Welch's and Tukey's statistics, p-values and counts.

Models come in the order of their means, and of their standard deviations where means tie, so that
neither their order nor the threads change a bit. Nothing is kept for each pair.
"""

import math
from typing import Any

import numpy as np

from fastad._core.floats import SMALLEST_P
from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntVector, ShortVector
from fastad._kernels.rank_tests.student import two_sided_block

# Pairs of a row that are worked on together; they stay in the innermost cache.
_BLOCK = 256
# The last bits of a float, which a bin of the histogram does not see.
_SHIFT = np.int64(46)
# Some roundings.
_NEAR = 2.0**-50
# In place of a p-value of 0, which is below alpha however many tests there are.
_LEAST_P = 1e-300


@kernel
def compare_row(
    means: FloatVector,
    deviations: FloatVector,
    i: int,
    start: int,  # of the models that are compared with model i
    root: float,  # of the number of folds
    t: FloatVector,  # (size,) written here: |t|; infinite, or 0 for equal means, without variance
    inverse_df: FloatVector,  # (size,) written here: (k - 1) / nu in [1/2, 1]; 0 without variance
) -> None:
    """Compare a model with some of those after it, as Welch did."""
    mean = means[i]
    deviation = deviations[i]
    for c in range(t.shape[0]):
        difference = means[start + c] - mean
        other = deviations[start + c]
        largest = max(deviation, other)
        # Ratios of deviations: their squares may be too small for a float, and then do not matter.
        unit = largest if largest > 0.0 else 1.0
        ratio = min(deviation, other) / unit
        u = ratio * ratio
        total = 1.0 + u
        without = np.inf if difference > 0.0 else 0.0
        t[c] = root * difference / (unit * math.sqrt(total)) if largest > 0.0 else without
        inverse_df[c] = (1.0 + u * u) / (total * total) if largest > 0.0 else 0.0


@kernel
def row_p_values(
    t: FloatVector,  # (size,)
    inverse_df: FloatVector,  # (size,)
    half: float,
    weights: FloatVector,
    scale: float,
    work: FloatMatrix,  # (8, size or more) room
    p_values: FloatVector,  # (size,) written here
) -> None:
    """Find the two-sided p-values of a row; 1 for equal means, never 0."""
    z, ratio = work[6, : t.shape[0]], work[7, : t.shape[0]]
    least = 1.0 / (2.0 * half)
    for c in range(t.shape[0]):
        ratio[c] = inverse_df[c] if inverse_df[c] > 0.0 else 1.0
        z[c] = t[c] * math.sqrt(ratio[c] * least) if t[c] < np.inf else 1.0
    two_sided_block(z, ratio, half, weights, scale, work, p_values)
    for c in range(t.shape[0]):
        if t[c] == 0.0:
            p_values[c] = 1.0
        elif t[c] == np.inf or p_values[c] < SMALLEST_P:
            p_values[c] = SMALLEST_P


@kernel
def welch_pass(
    means: FloatVector,  # (n,)
    deviations: FloatVector,  # (n,)
    rows: tuple[int, int],  # first, and one after the last
    numbers: tuple[float, float, float, float],  # root of folds, half, scale (see student), alpha
    weights: FloatVector,  # see student
    critical: FloatVector,  # (d,) of the critical value in 4 inverse_df - 3; d = 1 modulo 4
    histogram: IntVector,  # (2**17,) counted up here: upper bits of |t|
    buckets: Any,  # (2, m + 1) int32 counted up here, or (2, 0): see `step_down`, `step_up`
) -> tuple[float, float, int, int]:
    """Compare all pairs of some rows.

    Return the sum of finite |t|, the sum of critical values where there are degrees of freedom, and
    how many p-values are at most alpha, without correction and with Bonferroni's.
    """
    n = means.shape[0]
    m = n * (n - 1) / 2.0
    root, half, scale, alpha = numbers
    degree = critical.shape[0] - 1
    # Sums by position in the block: they compile to vector instructions, and lose little.
    sum_t = np.zeros(_BLOCK)
    sum_critical = np.zeros(_BLOCK)
    room = np.empty((12, _BLOCK))
    n_below = 0
    n_bonferroni = 0
    for i in range(rows[0], rows[1]):
        for start in range(i + 1, n, _BLOCK):
            size = min(_BLOCK, n - start)
            t, inverse_df, p_values = room[8, :size], room[9, :size], room[10, :size]
            value, bits = room[11, :size], t.view(np.int64)
            compare_row(means, deviations, i, start, root, t, inverse_df)
            for c in range(size):
                sum_t[c] += t[c] if t[c] < np.inf else 0.0
                value[c] = critical[degree]
            for d in range(degree - 4, -1, -4):
                c0, c1, c2, c3 = critical[d], critical[d + 1], critical[d + 2], critical[d + 3]
                for c in range(size):
                    x = 4.0 * inverse_df[c] - 3.0
                    value[c] = (((value[c] * x + c3) * x + c2) * x + c1) * x + c0
            for c in range(size):
                sum_critical[c] += value[c] if inverse_df[c] > 0.0 else 0.0
            for c in range(size):
                histogram[bits[c] >> _SHIFT] += 1
            row_p_values(t, inverse_df, half, weights, scale, room[:8], p_values)
            for c in range(size):
                n_below += p_values[c] <= alpha
                n_bonferroni += p_values[c] * m <= alpha
            if buckets.shape[1] > 0:
                # Divisions here, because in this loop they compile to vector instructions.
                for c in range(size):
                    t[c] = alpha / max(p_values[c], _LEAST_P)
                    inverse_df[c] = p_values[c] * m / alpha
                for c in range(size):
                    p = p_values[c]
                    if p <= alpha < p * m:
                        buckets[0, most_tests(p, m, alpha, t[c])] += 1
                        buckets[1, least_rank(p, m, alpha, inverse_df[c])] += 1
    return sum_t.sum(), sum_critical.sum(), n_below, n_bonferroni


@kernel
def most_tests(p: float, m: float, alpha: float, quotient: float) -> int:
    """Return the largest integer s for which p * s <= alpha, where p <= alpha < p * m.

    `quotient`: alpha / p. Rounding matters only where it is next to an integer.
    """
    s = float(math.floor(quotient))
    if abs(quotient - np.rint(quotient)) <= _NEAR * quotient:
        s = min(s + 1.0, m)
        while p * s > alpha:
            s -= 1.0
    return int(s)


@kernel
def least_rank(p: float, m: float, alpha: float, quotient: float) -> int:
    """Return the smallest integer r for which p * (m / r) <= alpha, where p <= alpha < p * m.

    `quotient`: p m / alpha. Rounding matters only where it is next to an integer.
    """
    r = float(math.ceil(quotient))
    if abs(quotient - np.rint(quotient)) <= _NEAR * quotient:
        r = max(r - 1.0, 1.0)
        while p * (m / r) > alpha:
            r += 1.0
    return int(r)


@kernel
def step_down(
    tests: ShortVector,  # (m + 1,) p-values that are significant with at most this many tests
    n_possible: ShortVector,  # (m + 1,) hypotheses that may be true of this many remaining ones
) -> int:
    """Return how many hypotheses fall one after the other (Holm 1979, Shaffer 1986)."""
    m = tests.shape[0] - 1
    at_least = np.empty(m + 2, np.int64)
    at_least[m + 1] = 0
    for s in range(m, -1, -1):
        at_least[s] = at_least[s + 1] + tests[s]
    rejected = 0
    while rejected < m:
        falling = at_least[n_possible[m - rejected]]
        if falling <= rejected:
            break
        rejected = falling
    return rejected


@kernel
def step_up(ranks: ShortVector) -> int:
    """Return the largest rank whose p-value is small enough for it (Benjamini, Hochberg 1995).

    `ranks`: (m + 1,) p-values that are significant from this rank on.
    """
    rejected = 0
    at_most = 0
    for r in range(1, ranks.shape[0]):
        at_most += ranks[r]
        if at_most >= r:
            rejected = r
    return rejected


@kernel
def collect_pass(
    means: FloatVector,
    deviations: FloatVector,
    rows: tuple[int, int],
    root: float,
    index: int,  # the upper bits
    collected: FloatVector,  # written here, from the first element on
) -> int:
    """Collect the |t| of a bin of the histogram; return how many there are."""
    n = means.shape[0]
    room = np.empty((2, _BLOCK))
    n_collected = 0
    for i in range(rows[0], rows[1]):
        for start in range(i + 1, n, _BLOCK):
            size = min(_BLOCK, n - start)
            compare_row(means, deviations, i, start, root, room[0, :size], room[1, :size])
            bits = room[0, :size].view(np.int64)
            for c in range(size):
                if bits[c] >> _SHIFT == index:
                    collected[n_collected] = room[0, c]
                    n_collected += 1
    return n_collected


@kernel
def matrix_pass(
    means: FloatVector,
    deviations: FloatVector,
    rows: tuple[int, int],
    numbers: tuple[float, float, float],  # root of folds, half, scale
    weights: FloatVector,
    order: IntVector,  # (n,) index of each model in the caller's order
    matrix: FloatMatrix,  # (n, n) written here: both elements of each pair
) -> None:
    """Write the p-values of all pairs of some rows."""
    n = means.shape[0]
    root, half, scale = numbers
    room = np.empty((11, _BLOCK))
    for i in range(rows[0], rows[1]):
        for start in range(i + 1, n, _BLOCK):
            size = min(_BLOCK, n - start)
            t, inverse_df, p_values = room[8, :size], room[9, :size], room[10, :size]
            compare_row(means, deviations, i, start, root, t, inverse_df)
            row_p_values(t, inverse_df, half, weights, scale, room[:8], p_values)
            for c in range(size):
                matrix[order[i], order[start + c]] = p_values[c]
                matrix[order[start + c], order[i]] = p_values[c]


@kernel
def count_differences(means: FloatVector, unit: float, limit: float) -> int:
    """Count pairs whose difference of means, in some unit, is at most a limit.

    Rounded differences of sorted numbers rise as they do: one pass with two indices.
    """
    n = means.shape[0]
    count = 0
    j = 0
    for i in range(n):
        j = max(j, i)
        while j + 1 < n and (means[j + 1] - means[i]) / unit <= limit:
            j += 1
        count += j - i
    return count


@kernel
def select_difference(means: FloatVector, rank: int) -> float:
    """Return the difference of means, of all pairs, with ``rank`` others at or below it.

    `rank` counts from 0. Floats from 0 on are ordered as their bits are, which are halved.
    """
    difference = np.empty(1)
    bits = difference.view(np.int64)
    difference[0] = means[-1] - means[0]
    low = np.int64(0)
    high = bits[0]
    while low < high:
        middle = (low + high) // 2
        bits[0] = middle
        if count_differences(means, 1.0, difference[0]) > rank:
            high = middle
        else:
            low = middle + 1
    bits[0] = low
    return float(difference[0])


@kernel
def possible_numbers(n_models: int, largest: ShortVector) -> None:
    """Find which numbers of hypotheses of equal means can be true together (Shaffer 1986).

    Groups of equal models of sizes j make sum of j (j - 1) / 2 equal pairs: x is possible if the
    groups that make x need no more models than there are. `largest`: (m + 1,) written here, for
    each number the largest possible one up to it.
    """
    fewest = np.empty(largest.shape[0], np.int32)
    fewest[0] = 0
    group = 1
    possible = 0
    largest[0] = 0
    for x in range(1, largest.shape[0]):
        while (group + 1) * group // 2 <= x:
            group += 1
        best = 2 * x
        for j in range(group, 1, -1):
            rest = x - j * (j - 1) // 2
            # Fewest models of `rest` pairs; smaller groups leave more pairs.
            if j + (1.0 + math.sqrt(1.0 + 8.0 * rest)) / 2.0 >= best + 1.0 and rest > 0:
                break
            best = min(best, j + fewest[rest])
        fewest[x] = best
        if best <= n_models:
            possible = x
        largest[x] = possible

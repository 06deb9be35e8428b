"""Means and standard deviations over the folds of many models or cells of a table."""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.sums import add

# Fractions of two denominators up to this differ by more than floats below 1 do.
_LARGEST_DENOMINATOR = 2.0**26
# Below it no such fraction lies but 0, and from the other on floats are integers.
_LEAST, _INTEGERS = 2.0**-26, 2.0**53
# Part of the largest fraction that two floats lose of it.
_LOST = 2.0**-106
# Sums of larger values may be beyond float64, or the halves of Veltkamp's splitting.
_LARGE, _SMALLER = 2.0**900, 2.0**-200


@kernel
def beyond_float(value: float) -> float:
    """Return how far above a float the simple fraction lies that it stands for; 0 without one.

    A rate is a quotient of integers: the float next to 1/10 stands for 1/10. With u the distance
    between floats at x, the fraction p/q, q <= 2^26 and q² u < 1, that rounds to x, if there is
    one. It is the only one: two that round to x differ by at most u, but two fractions with such
    denominators by at least 1/(q q') > u. And it is a convergent of the continued fraction of x
    (Legendre), because |x - p/q| <= u/2 < 1/(2 q²). So every quotient of integers with a
    denominator up to 2^26 that was divided once is recovered, of values up to 1.

    Convergents follow by Euclid's algorithm from 1 and x: ``rest`` is |p - q x|, exactly.
    """
    x = abs(value)
    if not _LEAST <= x < _INTEGERS:  # NaN too
        return 0.0
    exponent = math.frexp(x)[1]
    unit = math.ldexp(1.0, exponent - 53)
    before, rest = 1.0, x - np.floor(x)
    q_before, q = 0.0, 1.0
    side = -1.0 if value > 0.0 else 1.0  # convergents lie below x and above it by turns
    while rest > 0.0:
        if rest <= q * (0.5 * unit):
            return float(side * (rest / q))
        quotient = before / rest
        if not quotient <= _LARGEST_DENOMINATOR:
            return 0.0
        quotient = np.floor(quotient)
        left = remainder(before, rest, quotient)
        if left < 0.0:  # the division was rounded up to an integer
            quotient -= 1.0
            left += rest
        q_before, q = q, quotient * q + q_before
        if q > _LARGEST_DENOMINATOR or q * q * unit >= 1.0:
            return 0.0
        before, rest = rest, left
        side = -side
    return 0.0


@kernel
def fold_means(
    values: FloatVector,  # (n_rows,) cell by cell; sorted within each cell here
    starts: IntVector,  # (n_cells + 1,)
    means: FloatVector,  # (n_cells,) written here; NaN where no fold is defined
    defined: IntVector,  # (n_cells,) written here: folds that are
) -> None:
    """Average each cell over the folds where it is defined; see `fastad.benchmarking.means`."""
    for cell in range(means.shape[0]):
        start = starts[cell]
        n = start
        for i in range(start, starts[cell + 1]):
            if values[i] == values[i]:
                values[n] = values[i]
                n += 1
        values[start:n].sort()
        defined[cell] = n - start
        means[cell] = mean_of_sorted(values[start:n])


@kernel
def mean_of_sorted(
    values: FloatVector,  # (n,) rising; scaled here where their sum might be too large
) -> float:
    """Average the fractions that floats stand for, and round once; NaN of nothing."""
    n = values.shape[0]
    if n == 0:
        return np.nan
    if values[0] == values[n - 1]:
        return float(values[0])
    largest = max(-values[0], values[n - 1])
    if largest == np.inf:
        return float(values[0] + values[n - 1])
    scale = 1.0
    if largest > _LARGE:
        scale = _SMALLER
        for i in range(n):
            values[i] *= scale
    total, lost, beyond, rounded = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        value = values[i]
        if i == 0 or value != values[i - 1]:
            beyond = beyond_float(value)
        total, lost = add(total, lost, value)
        lost += beyond
        if beyond != 0.0:
            rounded = largest
    # Fractions of both signs whose sum is 0 leave what two floats cannot hold of them.
    if abs(total + lost) <= rounded * float(n) ** 3 * _LOST:
        return 0.0
    return round_mean(total, lost, n) / scale


@kernel
def round_mean(total: float, lost: float, k: int) -> float:
    """Return (total + lost) / k, rounded once: first the quotient, then with its remainder."""
    upper = total + lost
    lower = lost - (upper - total)
    mean = upper / k
    return mean + (remainder(upper, mean, float(k)) + lower) / k


@kernel
def summarize(
    folds: FloatMatrix,  # (n, k) each row sorted, at most 1 in size
    means: FloatVector,  # (n,) written here
    deviations: FloatVector,  # (n,) written here: standard deviations, with k - 1
) -> None:
    """Average each row, to the nearest float; equal values deviate by exactly 0."""
    k = folds.shape[1]
    for i in range(folds.shape[0]):
        # Two floats hold the sum.
        total = 0.0
        lost = 0.0
        for j in range(k):
            total, lost = add(total, lost, folds[i, j])
        mean = round_mean(total, lost, k)
        largest = max(folds[i, k - 1] - mean, mean - folds[i, 0])
        means[i] = mean
        deviations[i] = 0.0
        if folds[i, 0] < folds[i, k - 1]:
            # In units of the largest, so that no square vanishes; the sum is not quite 0, because
            # the mean is rounded.
            squares = 0.0
            rest = 0.0
            for j in range(k):
                unit = (folds[i, j] - mean) / largest
                squares += unit * unit
                rest += unit
            deviations[i] = largest * math.sqrt((squares - rest * rest / k) / (k - 1))


@kernel
def remainder(total: float, quotient: float, k: float) -> float:
    """Return total - quotient * k exactly, for a k of at most 26 bits."""
    # Veltkamp's splitting: the upper half times k is exact, and so is the lower one.
    wide = quotient * 134217729.0
    upper = wide - (wide - quotient)
    return (total - upper * k) - (quotient - upper) * k

"""Two-sided p-values of Student's t, for any real number of degrees of freedom.

With a = nu / 2, z = |t| / sqrt(nu), h = sqrt(1 + z**2) and rho = 1 / (h + z)**2,

    p = 2 / sqrt(pi) G(a + 1/2) / G(a + 1)  h / (h + z)  (1 + z**2)**-a  S,
    S = sum over n of T_n,  T_0 = 1,  T_{n+1} = T_n rho (a - 1 - n) / (a + 1 + n):

the integral of the density in the variable r of t = tanh, expanded in r. All factors are positive
and none is a difference, so that small p-values are as exact as large ones. The terms are positive
while n < a; after that they alternate, and those are moments of a beta distribution, so that
Cohen, Villegas and Zagier's weights (2000, algorithm 1) end the sum after a few of them.
"""

import math
from typing import Any

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.elementary import split_power

# Bits of sqrt(1/2), and the bits to which a small integer is added for 1.5 * 2**52 plus it.
_SQRT_HALF = np.int64(0x3FE6A09E667F3BCD)
_WHOLE_BITS = np.int64(0x4338000000000000)
_WHOLE = 6755399441055744.0
_LOG2_E = 1.4426950408889634
_TWO_OVER_SQRT_PI = 1.1283791670955126

# Beyond it the square of z, or the p-value, is near the end of the floats.
_LARGEST_Z = 2.0**400
_LEAST_P = 1e-290
# Factors between 1/3 and 2 whose product is a float.
_MOST_TERMS = 600

# Terms at the end of an alternating sum: the first error is 2 / (3 + sqrt(8))**24 = 8e-19.
_N_WEIGHTED = 24
_SMALLEST_TERM = 1e-19


@kernel
def log2_above_one(y: Any) -> Any:
    """Return the binary logarithm of 1 + y, 0 <= y <= 2**1000, exact for small y as well.

    Made of vector instructions only, unlike the C library's.
    """
    c = 1.0 + y
    # Rounding error of a small y; a large one does not miss it.
    lost = y - (c - 1.0) if c < 1.25 else 0.0
    bits = np.float64(c).view(np.int64)
    # The exponent for which the mantissa lies in [sqrt(1/2), sqrt(2)).
    exponent = np.int64(np.uint64(bits - _SQRT_HALF) >> np.uint64(52))
    mantissa = np.int64(bits - (exponent << 52)).view(np.float64)
    whole = np.int64(exponent + _WHOLE_BITS).view(np.float64) - _WHOLE
    # log(m) = 2 artanh(f), f**2 < 0.0295: the first term left out is 2e-18 of the sum.
    f = ((mantissa - 1.0) + lost) / (mantissa + 1.0)
    x = f * f
    x2 = x * x
    low = (1 / 3 + x * (1 / 5)) + x2 * (1 / 7 + x * (1 / 9))
    high = (1 / 11 + x * (1 / 13)) + x2 * (1 / 15 + x * (1 / 17))
    rest = x * (low + x2 * x2 * (high + x2 * x2 * (1 / 19 + x * (1 / 21))))
    return whole + (2.0 * f + 2.0 * f * rest) * _LOG2_E


@kernel
def gamma_series(v: Any) -> Any:
    """Return sqrt(v) G(v + 1/4) / G(v + 3/4) for v > 12, to a few units in the last place.

    A series in 1 / v, which has even powers only; at 12 the first term left out is 2e-17.
    """
    x = 1.0 / (v * v)
    series = -20898423 / 8589934592 + x * (7426362705 / 1099511627776)
    series = -671 / 524288 + x * (180323 / 134217728 + x * series)
    return 1.0 + x * (-1 / 64 + x * (21 / 8192 + x * series))


@kernel
def two_sided(t: float, nu: float) -> float:
    """Return the probability that |T| is at least |t|, for nu >= 1; term by term, for any t."""
    t = abs(t)
    if t == 0.0:
        return 1.0
    if math.isinf(t):
        return 0.0
    a = nu / 2.0
    z = t / math.sqrt(nu)
    if z > _LARGEST_Z:
        power = -a * (2.0 * math.log2(z))
        h = z
    else:
        # Not the square of z, whose rounding many degrees of freedom would show.
        square = t * t / nu
        power = -a * (math.log1p(square) * _LOG2_E)
        h = math.sqrt(1.0 + square)
    if power < -1100.0:
        return 0.0
    root = 1.0 / (h + z)
    rho = root * root
    total = 0.0
    term = 1.0
    n = 0
    while n < a and term > _SMALLEST_TERM:
        total += term
        term *= rho * (a - 1.0 - n) / (a + 1.0 + n)
        n += 1
    if n >= a and term != 0.0:
        d = (3.0 + math.sqrt(8.0)) ** _N_WEIGHTED
        d = (d + 1.0 / d) / 2.0
        b = -1.0
        c = -d
        ending = 0.0
        for k in range(_N_WEIGHTED):
            c = b - c
            # The weights alternate, and so do the terms.
            ending += (c if k % 2 == 0 else -c) * term
            b *= (k + _N_WEIGHTED) * (k - _N_WEIGHTED) / ((k + 0.5) * (k + 1.0))
            term *= rho * (a - 1.0 - n) / (a + 1.0 + n)
            n += 1
        total += ending / d
    ratio = 1.0
    y = a
    while y < 12.0:
        ratio *= (y + 1.0) / (y + 0.5)
        y += 1.0
    ratio *= gamma_series(y + 0.25) / math.sqrt(y + 0.25)
    # The power by halves: the result may be below the smallest normal number.
    half = 2.0 ** (power / 2.0)
    return float(min(_TWO_OVER_SQRT_PI * ratio * (h * root) * total * half * half, 1.0))


@kernel
def two_sided_block(
    z: FloatVector,  # (size,) |t| / sqrt(nu), above 0, finite
    inverse_df: FloatVector,  # (size,) twice `half` / nu, in [1/2, 1]
    half: float,  # of the smallest number of degrees of freedom
    weights: FloatVector,  # (n,) of the terms; n = 1 modulo 4, n + half >= 13
    scale: float,  # a power of two near the reciprocal of the factors, so that products stay small
    work: FloatMatrix,  # (6, size or more) room
    p_values: FloatVector,  # (size,) written here
) -> None:
    """Sum a fixed number of terms for many pairs at once.

    The sum is one fraction, by Horner's scheme on its numerator and its denominator: a division a
    term took more than twice the time.
    """
    size = z.shape[0]
    n = weights.shape[0]
    if n > _MOST_TERMS:
        for i in range(size):
            nu = 2.0 * half / inverse_df[i]
            p_values[i] = two_sided(z[i] * math.sqrt(nu), nu)
        return
    scaled, rho, top, bottom, halves, front = work[0], work[1], work[2], work[3], work[4], work[5]
    for i in range(size):
        near = min(z[i], _LARGEST_Z)
        square = near * near
        h = math.sqrt(1.0 + square)
        root = 1.0 / (h + near)
        a = half / inverse_df[i]
        power = -a * log2_above_one(square)
        factor, rest = split_power(max(power, -1022.0))
        front[i] = h * root * (factor + factor * rest)
        rho[i] = root * root
        scaled[i] = a * scale
        top[i] = weights[n - 1]
        bottom[i] = 1.0
        halves[i] = 1.0
    offset = scale / 2.0
    unscale = 1.0 / scale
    for j in range(n - 5, -1, -4):
        c0, c1, c2, c3 = (j + 1) * scale, (j + 2) * scale, (j + 3) * scale, (j + 4) * scale
        w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for i in range(size):
            a = scaled[i]
            r = rho[i]
            d3 = bottom[i] * (a + c3)
            t3 = w3 * d3 + r * (a - c3) * top[i]
            d2 = d3 * (a + c2)
            t2 = w2 * d2 + r * (a - c2) * t3
            d1 = d2 * (a + c1)
            t1 = w1 * d1 + r * (a - c1) * t2
            d0 = d1 * (a + c0)
            top[i] = w0 * d0 + r * (a - c0) * t1
            bottom[i] = d0
            # The denominator times G(a + 1) is the gamma function further out, and so is this.
            a -= offset
            halves[i] *= ((a + c3) * (a + c2)) * ((a + c1) * (a + c0))
    for i in range(size):
        v = scaled[i] * unscale + (n - 0.75)
        upper = _TWO_OVER_SQRT_PI * front[i] * gamma_series(v)
        p_values[i] = min(upper * (top[i] / (halves[i] * math.sqrt(v))), 1.0)
    # Counted first, which is a quarter of a nanosecond: there is seldom one.
    n_far = 0
    for i in range(size):
        n_far += (p_values[i] < _LEAST_P) | (z[i] > _LARGEST_Z)
    for i in range(size if n_far > 0 else 0):
        if p_values[i] < _LEAST_P or z[i] > _LARGEST_Z:
            nu = 2.0 * half / inverse_df[i]
            p_values[i] = two_sided(z[i] * math.sqrt(nu), nu)

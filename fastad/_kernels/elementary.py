"""Powers of two that compile to vector instructions, as the C library's exponential does not."""

import math
from typing import Any

import numpy as np

from fastad._core.jit import kernel

# To a float of 52 bits behind its leading one, 1.5 * 2**52 leaves no digit behind the point, so
# that the sum is rounded to an integer, which stands in its lowest bits; here with the bias
# of an exponent. Shifted into the place of the exponent they are a power of two.
_ROUND = 6755399441055744.0 + 1023.0
_MANTISSA = 52

# -2 / log(2)
_MINUS_2_LOG2_E = -2.8853900817779268

# log(2)**k / k!: the first term left out is 4e-18 of the sum for |r| <= 1/2.
_C1 = 0.6931471805599453
_C2 = 0.24022650695910072
_C3 = 0.05550410866482158
_C4 = 0.009618129107628477
_C5 = 0.0013333558146428443
_C6 = 0.0001540353039338161
_C7 = 1.5252733804059841e-05
_C8 = 1.3215486790144307e-06
_C9 = 1.01780860092397e-07
_C10 = 7.054911620801123e-09
_C11 = 4.4455382718708116e-10
_C12 = 2.5678435993488206e-11
_C13 = 1.3691488853904128e-12


@kernel
def split_power(x: Any) -> tuple[Any, Any]:
    """Return 2**k and 2**(x - k) - 1 for the integer k next to x, -1022 <= x <= 0.

    The polynomial is evaluated by Estrin's scheme. Horner's, one long chain in which each step
    waits for the one before, took a third more time. Fused multiplications (a sixth less) are not
    used: the bits would depend on the processor.
    """
    whole = x + _ROUND
    r = x - (whole - _ROUND)
    r2 = r * r
    r4 = r2 * r2
    low = (_C1 + _C2 * r) + (_C3 + _C4 * r) * r2
    middle = (_C5 + _C6 * r) + (_C7 + _C8 * r) * r2
    high = (_C9 + _C10 * r) + (_C11 + _C12 * r) * r2
    rest = r * (low + r4 * (middle + r4 * (high + r4 * _C13)))
    scale = np.int64(np.float64(whole).view(np.int64) << _MANTISSA).view(np.float64)
    return scale, rest


@kernel
def power_of_two(x: Any) -> Any:
    """Return 2**x, x <= 0, to one and a half units in the last place.

    Below the smallest normal number the result is 0: no sum in which another term, or an offset,
    is near one notices. NaN gives 0 as well.
    """
    scale, rest = split_power(max(x, -1022.0))
    return scale + scale * rest if x >= -1022.0 else 0.0


@kernel
def hyperbolic_tangent(x: Any) -> Any:
    """Return tanh(x) = -e / (2 + e), x >= 0, where e = exp(-2 x) - 1; odd in x."""
    scale, rest = split_power(max(abs(x) * _MINUS_2_LOG2_E, -1022.0))
    # Nothing cancels: near 0 the scale is 1, and elsewhere the terms differ.
    e = (scale - 1.0) + scale * rest
    return math.copysign(e / (2.0 + e), x)

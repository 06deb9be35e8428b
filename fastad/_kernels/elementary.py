"""Functions that compile to vector instructions, unlike the C library's.

Those of more than some ten terms stand in loops: the compiler does not insert them into others.
"""

import math
from typing import Any

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatVector

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


_HALF_LOG2_E, _LOG_2 = 0.7213475204444817, 0.6931471805599453
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)  # bits of the float sqrt(1/2)
_ONE = np.int64(0x3FF0000000000000)
_FRACTION = np.int64(0x000FFFFFFFFFFFFF)
_TINY = 1e-300


@kernel
def logarithm(x: Any) -> Any:
    """Return log(x) for a normal number above 0."""
    # The factor beside the power of two is brought between sqrt(1/2) and sqrt(2).
    shifted = np.float64(x).view(np.int64) + (_ONE - _ROOT_HALF)
    power = np.float64((shifted >> np.int64(_MANTISSA)) - np.int64(1023))
    factor = np.int64((shifted & _FRACTION) + _ROOT_HALF).view(np.float64)
    s = (factor - 1.0) / (factor + 1.0)
    t = s * s
    # The first term left out of atanh(s) is 1e-15 of the sum.
    low = 1.0 + t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9))))
    high = 1 / 11 + t * (1 / 13 + t * (1 / 15 + t * (1 / 17)))
    return power * _LOG_2 + 2.0 * s * (low + t * t * t * t * t * high)


# Coefficients of quotients of polynomials, the highest powers first. The normal integral: by the
# square near the centre, by the number up to 4 sqrt(2), and by its inverse square beyond (W. J.
# Cody, "Algorithm 715", 1993).
_CENTRE, _BEYOND = 0.67448975, 4 * math.sqrt(2)
_ROOT_TWO_PI = 0.3989422804014327  # of the inverse
_T0 = (
    *(0.065682337918207449113, 2.2352520354606839287, 161.02823106855587881),
    *(1067.6894854603709582, 18154.981253343561249),
)
_T1 = (
    *(1.0, 47.20258190468824187, 976.09855173777669322, 10260.932208618978205),
    45507.789335026729956,
)
_T2 = (
    *(1.0765576773720192317e-8, 0.39894151208813466764, 8.8831497943883759412),
    *(93.506656132177855979, 597.27027639480026226, 2494.5375852903726711),
    *(6848.1904505362823326, 11602.651437647350124, 9842.7148383839780218),
)
_T3 = (
    *(1.0, 22.266688044328115691, 235.38790178262499861, 1519.377599407554805),
    *(6485.558298266760755, 18615.571640885098091, 34900.952721145977266),
    *(38912.003286093271411, 19685.429676859990727),
)
_T4 = (
    *(0.02307344176494017303, 0.21589853405795699, 0.1274011611602473639),
    *(0.022235277870649807, 0.001421619193227893466, 2.9112874951168792e-5),
)
_T5 = (
    *(1.0, 1.28426009614491121, 0.468238212480865118, 0.0659881378689285515),
    *(0.00378239633202758244, 7.29751555083966205e-5),
)
# Its inverse: by the square for probabilities from 0.075, by the root of the logarithm down to
# exp(-25), and below (M. J. Wichura, "Algorithm AS 241", 1988).
_Q0 = (
    *(2509.0809287301226727, 33430.575583588128105, 67265.770927008700853),
    *(45921.953931549871457, 13731.693765509461125, 1971.5909503065514427),
    *(133.14166789178437745, 3.3871328727963666080),
)
_Q1 = (
    *(5226.4952788528545610, 28729.085735721942674, 39307.895800092710610),
    *(21213.794301586595867, 5394.1960214247511077, 687.18700749205790830),
    *(42.313330701600911252, 1.0),
)
_Q2 = (
    *(7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1),
    *(1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550),
    *(4.63033784615654529590, 1.42343711074968357734),
)
_Q3 = (
    *(1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2),
    *(1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940),
    *(2.05319162663775882187, 1.0),
)
_Q4 = (
    *(2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3),
    *(2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580),
    *(5.46378491116411436990, 6.65790464350110377720),
)
_Q5 = (
    *(2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5),
    *(7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1),
    *(5.99832206555887937690e-1, 1.0),
)


@kernel
def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """Return the value of a polynomial, given the coefficients of the highest powers first."""
    value = coefficients[0]
    for k in range(1, len(coefficients)):
        value = value * x + coefficients[k]
    return value


@kernel
def to_normal_tails(
    numbers: FloatVector,  # (n,) not below 0; become the probabilities to be above them
) -> None:
    """Replace numbers by tails of the normal distribution.

    To 3e-15 of themselves up to 3, and to 3e-13, as the exponential's argument, at 37.
    """
    for i in range(numbers.shape[0]):
        x = numbers[i]
        square = x * x
        near = 0.5 - x * (polynomial(_T0, square) / polynomial(_T1, square))
        middle = polynomial(_T2, x) / polynomial(_T3, x)
        t = 1.0 / max(square, 1.0)
        far = (_ROOT_TWO_PI - t * (polynomial(_T4, t) / polynomial(_T5, t))) / max(x, 1.0)
        tail = power_of_two(-_HALF_LOG2_E * square) * (middle if x <= _BEYOND else far)
        numbers[i] = near if x <= _CENTRE else tail


@kernel
def to_normal_quantiles(
    probabilities: FloatVector,  # (n,) in [1e-300, 1/2]; become numbers not above 0
) -> None:
    """Replace probabilities by the numbers that a normal number is below with them."""
    for i in range(probabilities.shape[0]):
        p = probabilities[i]
        q = p - 0.5
        t = 0.180625 - q * q
        near = q * (polynomial(_Q0, t) / polynomial(_Q1, t))
        root = math.sqrt(-logarithm(max(p, _TINY)))
        middle = polynomial(_Q2, root - 1.6) / polynomial(_Q3, root - 1.6)
        far = polynomial(_Q4, root - 5.0) / polynomial(_Q5, root - 5.0)
        probabilities[i] = near if p >= 0.075 else -(middle if root <= 5.0 else far)

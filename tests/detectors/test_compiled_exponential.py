"""Powers of two and hyperbolic tangents that compile to vector instructions."""

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad._core.jit import kernel
from fastad._core.types import FloatVector
from fastad._kernels.elementary import hyperbolic_tangent, power_of_two

SMALLEST = sys.float_info.min


@kernel
def _powers(x: FloatVector, results: FloatVector) -> None:
    for i in range(x.shape[0]):
        results[i] = power_of_two(x[i])


@kernel
def _tangents(x: FloatVector, results: FloatVector) -> None:
    for i in range(x.shape[0]):
        results[i] = hyperbolic_tangent(x[i])


def _of(function: Any, x: Any) -> FloatVector:
    values = np.atleast_1d(np.asarray(x, np.float64))
    results = np.empty_like(values)
    function(values, results)
    return results


@pytest.mark.parametrize("low", [-1e-12, -1e-3, -0.5, -1.0, -30.0, -1022.0])
def test_powers_are_right_to_two_units_in_the_last_place(low: float) -> None:
    x = np.linspace(low, 0.0, 20_001)
    expected = np.array([2.0**value for value in x])
    # 1.4 units off at most, and the C library up to half of one.
    assert (np.abs(_of(_powers, x) - expected) <= 2.0 * np.spacing(expected)).all()


@given(st.floats(-708.0, 0.0))
def test_the_exponential_to_the_rounding_of_its_argument(x: float) -> None:
    result = _of(_powers, x / math.log(2.0))[0]
    assert result == pytest.approx(math.exp(x), rel=4.5e-16 + abs(x) * 3.4e-16, abs=0.0)


def test_whole_powers_are_exact() -> None:
    x = np.arange(-1022.0, 1.0)
    np.testing.assert_array_equal(_of(_powers, x), np.ldexp(1.0, x.astype(int)))


def test_below_the_smallest_normal_number_is_zero() -> None:
    log2 = math.log(2.0)
    inside, outside = -1022.0, np.nextafter(-1022.0, -np.inf)
    np.testing.assert_array_equal(_of(_powers, [inside, outside]), [SMALLEST, 0.0])
    # Subnormal results of exp are within the smallest normal number.
    x = np.linspace(-745.0, -708.5, 1001)
    assert (np.abs(_of(_powers, x / log2) - np.exp(x)) < SMALLEST).all()
    for far in (-745.0 / log2, -1e300, -np.inf):
        assert _of(_powers, far)[0] == 0.0


def test_zero() -> None:
    np.testing.assert_array_equal(_of(_powers, [0.0, -0.0]), [1.0, 1.0])
    np.testing.assert_array_equal(np.signbit(_of(_tangents, [0.0, -0.0])), [False, True])


@given(st.floats(allow_nan=False))
def test_hyperbolic_tangent(x: float) -> None:
    # From 1e-290 on, below which e in units of its last place is no longer of full precision.
    result, expected = _of(_tangents, x)[0], math.tanh(x)
    assert abs(result - expected) <= max(6.0 * math.ulp(expected), 1e-300)
    assert math.copysign(1.0, result) == math.copysign(1.0, expected)

"""p-values of Student's t against exact sums, other formulas and numbers from elsewhere."""

import math
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.special

from fastad._core.types import FloatVector
from fastad._kernels.rank_tests.student import (
    gamma_series,
    log2_above_one,
    two_sided,
    two_sided_block,
)
from fastad.benchmarking.pairwise_tests.models import terms, tukey_critical, welch_coefficients
from tests.support.loops import loop


def in_blocks(t: FloatVector, nu: FloatVector, n: int) -> FloatVector:
    """The p-values of pairs of samples of n each."""
    sums = terms(n)
    z, inverse_df = t / np.sqrt(nu), 2 * sums.half / nu
    result = np.empty(t.shape[0])
    work = np.empty((6, t.shape[0]))
    two_sided_block(z, inverse_df, sums.half, sums.weights, sums.scale, work, result)
    return result


def exact(t: float, nu: int) -> Decimal:
    """The finite sum for an even number of degrees of freedom (Abramowitz, Stegun 26.7.4)."""
    with localcontext() as context:
        context.prec = 400
        square = Decimal(t) ** 2
        cosine = nu / (nu + square)
        term = total = Decimal(1)
        for j in range(1, nu // 2):
            term *= cosine * (2 * j - 1) / (2 * j)
            total += term
        return 1 - (square / (nu + square)).sqrt() * total


def error(result: float, expected: Decimal) -> float:
    assert getcontext().prec >= 17
    return float(abs(Decimal(result) / expected - 1))


# By mpmath 1.3: betainc(nu/2, 1/2, 0, nu/(nu + t**2), regularized=True) with 40 digits.
GOLDEN = [
    (0.5, 1.0, 0.70483276469913345165),
    (1e-09, 1.0, 0.99999999936338022763),
    (1000000000.0, 1.0, 6.3661977236758134286e-10),
    (1e120, 1.5, 7.5417048640324929293e-181),
    (2.5, 1.3, 0.1932807671561534006),
    (0.001, 3.7, 0.9992536770590863172),
    (7.25, 3.7, 0.0025799572546810688699),
    (1e12, 11.11, 7.2154778313883105696e-129),
    (2.0, 11.11, 0.070548408619279371325),
    (4.5, 17.3, 0.00030328523620385792677),
    (300.0, 99.5, 6.2579540497713649684e-149),
    (1e30, 10.0, 2.4609374999999995107e-296),
    (2.25, 3000.3, 0.024521126184628008229),
    (36.0, 3000.3, 3.198647717363933065e-236),
    (1e-05, 1e6, 0.99999202115638681548),
    (1.96, 1e6, 0.049996067585269790686),
    (37.0, 1e6, 1.8299730861802263061e-299),
    (12.5, 123456.78, 7.8480881171237759166e-36),
]


@loop(("t", "nu", "expected"), GOLDEN)
def test_values_from_elsewhere(t: float, nu: float, expected: float) -> None:
    assert two_sided(t, nu) == pytest.approx(expected, rel=3e-13, abs=0)
    assert two_sided(-t, nu) == two_sided(t, nu)
    if nu < 2000:
        n = math.ceil(nu)
        n = max(n, 2)
        assert n - 1 <= nu <= 2 * (n - 1)
        result = in_blocks(np.array([t]), np.array([nu]), n)[0]
        assert result == pytest.approx(expected, rel=3e-13, abs=0)


@pytest.mark.parametrize("nu", [2, 4, 10, 18, 60, 200, 1000])
def test_exact_sums(nu: int) -> None:
    rng = np.random.default_rng(nu)
    t = np.concatenate([10 ** rng.uniform(-9, 6, 60), rng.uniform(0.1, 12, 60)])
    expected = [exact(x, nu) for x in t.tolist()]
    # The oracle's own digits, and the end of normal floats.
    kept = [i for i, p in enumerate(expected) if p > Decimal("1e-300")]
    assert len(kept) > 60
    least, most = nu // 2 + 1, nu + 1
    smallest = in_blocks(t, np.full(t.shape, float(nu)), most)
    largest = in_blocks(t, np.full(t.shape, float(nu)), least)
    for i in kept:
        assert error(two_sided(t[i], nu), expected[i]) < 5e-13
        assert error(smallest[i], expected[i]) < 5e-13
        assert error(largest[i], expected[i]) < 5e-13


@loop("n", [2, 3, 4, 5, 7, 10, 11, 20, 33, 64, 101, 300, 1001, 4000, 30000])
def test_blocks_are_the_sum_term_by_term(n: int) -> None:
    rng = np.random.default_rng(n)
    nu = (n - 1) * rng.uniform(1, 2, 400)
    nu[:2] = n - 1, 2 * (n - 1)
    z = np.concatenate([rng.uniform(0, 2, 300), 10 ** rng.uniform(-12, 3, 100)])
    t = z * np.sqrt(nu)
    expected = np.array([two_sided(x, y) for x, y in zip(t.tolist(), nu.tolist(), strict=True)])
    assert (expected > 1e-280).sum() > 100
    np.testing.assert_allclose(in_blocks(t, nu, n), expected, rtol=1e-12, atol=1e-305)


def test_peer() -> None:
    rng = np.random.default_rng(1)
    nu = 10 ** rng.uniform(0, 2.3, 2000)
    # The square of t is all that the other function sees, and one less a small part of it.
    t = 10 ** rng.uniform(0, 2, 2000)
    expected = scipy.special.betainc(nu / 2, 0.5, nu / (nu + t * t))
    results = [two_sided(x, y) for x, y in zip(t.tolist(), nu.tolist(), strict=True)]
    np.testing.assert_allclose(results, expected, rtol=3e-12, atol=1e-300)


def test_closed_forms() -> None:
    for t in (1e-300, 1e-8, 0.3, 1.0, 5.0, 1e5, 1e100, 1e160, 1e290):
        assert two_sided(t, 1.0) == pytest.approx(2 / math.pi * math.atan2(1, t), rel=1e-12, abs=0)
        result = in_blocks(np.array([t]), np.array([1.0]), 2)[0]
        assert result == pytest.approx(2 / math.pi * math.atan2(1, t), rel=1e-12, abs=0)


def test_ends() -> None:
    assert two_sided(0.0, 7.5) == 1.0
    assert two_sided(math.inf, 7.5) == 0.0
    assert two_sided(1e200, 20.0) == 0.0
    assert 0.0 < two_sided(1e31, 10.0) < 1e-305
    assert in_blocks(np.array([1e200, 1e31]), np.full(2, 10.0), 10).tolist() == [
        0.0,
        two_sided(1e31, 10.0),
    ]


def test_logarithm() -> None:
    for y in [0.0, 1e-300, 1e-17, 1e-9, 0.1, 0.4, 0.42, 1.0, 3.0, 1e5, 2.0**52, 1e18, 2.0**900]:
        expected = math.log1p(y) / math.log(2)
        assert log2_above_one(y) == pytest.approx(expected, rel=1e-15, abs=0)


def test_ratio_of_gamma_functions() -> None:
    for y in (12, 13, 20, 50, 400):
        # G(y + 1/2) / G(y + 1) = sqrt(pi) C(2 y, y) / 4**y
        expected = math.sqrt(math.pi) * float(Fraction(math.comb(2 * y, y), 4**y))
        assert gamma_series(y + 0.25) / math.sqrt(y + 0.25) == pytest.approx(expected, rel=1e-15)


@loop("alpha", [0.5, 0.05, 1e-3, 1e-6])
@loop("n", [2, 3, 10, 100])
def test_critical_values(n: int, alpha: float) -> None:
    coefficients = welch_coefficients(n, alpha)
    assert coefficients.shape[0] % 4 == 1
    for nu in np.linspace(n - 1, 2 * (n - 1), 23).tolist():
        result = np.polynomial.polynomial.polyval(4 * (n - 1) / nu - 3, coefficients)
        assert two_sided(float(result), nu) == pytest.approx(alpha, rel=1e-12)


def test_critical_values_of_tables() -> None:
    # Printed tables of the studentized range, upper 5 %.
    assert tukey_critical(3, 5, 0.05) == pytest.approx(3.773, abs=5e-4)
    assert tukey_critical(5, 3, 0.05) == pytest.approx(4.654, abs=5e-4)
    assert tukey_critical(2, 2, 0.05) == pytest.approx(6.085, abs=5e-4)
    assert tukey_critical(2, 31, 0.01) == pytest.approx(3.762, abs=5e-4)

"""Normal numbers of the moves of particles, by their formula, and the normal integral."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fastad._kernels.elementary import logarithm, to_normal_quantiles, to_normal_tails
from fastad._kernels.random import write_normals

Array = Any


def slow_bits(key: int, index: int) -> int:
    """Splitmix64 in integers of Python."""
    z = (key + (index + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def slow_normals(key: int, n: int) -> Array:
    """By the formula of Box and Muller, and the functions of the standard library."""
    pairs = []
    for i in range(n // 2):
        one = ((slow_bits(key, 2 * i) >> 11) + 1) / 2**53
        turns = (slow_bits(key, 2 * i + 1) >> 11) / 2**53
        radius = math.sqrt(-2 * math.log(one))
        pairs.append((radius * math.cos(math.tau * turns), radius * math.sin(math.tau * turns)))
    return np.array(pairs).T.ravel()


def normals(key: int, n: int) -> Array:
    numbers = np.full(n, np.nan)
    write_normals(np.uint64(key), numbers)
    return numbers


@pytest.mark.parametrize("key", [0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF])
def test_normal_numbers_are_those_of_the_formula(key: int) -> None:
    # A part of a turn near 1 has few digits beside its whole turn: absolute, not relative.
    assert normals(key, 4000) == pytest.approx(slow_normals(key, 4000), rel=1e-14, abs=4e-15)


def test_the_number_of_normal_numbers_may_be_small() -> None:
    assert normals(3, 0).shape == (0,)
    assert normals(3, 2) == pytest.approx(slow_normals(3, 2), rel=1e-13)


def test_logarithms_of_numbers_of_the_unit_interval() -> None:
    around = [2**k + step for k in range(54) for step in (-1, 0, 1)]
    # Where the factor changes from one power of two to the next.
    edges = [round(2**k * math.sqrt(0.5)) + step for k in range(2, 54) for step in (-1, 0, 1)]
    drawn = [slow_bits(5, i) >> shift for i in range(2000) for shift in (11, 20, 40, 58)]
    for numerator in [*around, *edges, *drawn, 3, 2**53 - 1, 2**53 - 2, 2**53]:
        if 1 <= numerator <= 2**53:
            exact = math.log(numerator / 2**53)
            assert logarithm(numerator / 2**53) == pytest.approx(exact, rel=2e-15, abs=0)
    assert logarithm(1.0) == 0


@pytest.mark.slow
def test_normal_numbers_have_their_distribution() -> None:
    numbers = normals(7, 10**6)
    n = numbers.shape[0]
    assert stats.kstest(numbers, "norm").pvalue > 1e-4
    for power, moment, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)]:
        assert abs((numbers**power).mean() - moment) < 4.5 * math.sqrt(variance / n)
    for bound in (2.0, 3.0, 4.0):
        for tail in (numbers > bound, numbers < -bound):
            fraction = float(stats.norm.sf(bound))
            assert abs(tail.mean() - fraction) < 4.5 * math.sqrt(fraction / n)
    # The two of a pair, and neighbours.
    pairs = numbers.reshape(2, -1)
    for one, two in [(pairs[0], pairs[1]), (numbers[1:], numbers[:-1])]:
        for a, b in [(one, two), (one**2, two**2), (abs(one), two)]:
            assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 / math.sqrt(one.shape[0])


def test_keys_that_follow_one_another_have_unrelated_numbers() -> None:
    for one, two in [(0, 1), (5, 5 + 2**32), (1, 1 + 0x9E3779B97F4A7C15)]:
        a, b = normals(one, 10**5), normals(two, 10**5)
        assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 / math.sqrt(10**5)


def test_tails_and_quantiles_of_the_normal_distribution() -> None:
    """By SciPy, whose own error is 1e-13 far out; both sides of each change of formula."""
    edges = np.array([0.67448975, 1.0, 4 * math.sqrt(2)])
    near = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 9)])
    x = np.concatenate([np.linspace(0, 6, 3001), near, np.linspace(6, 37, 1001)])
    tails = x.copy()
    to_normal_tails(tails)
    np.testing.assert_allclose(tails[x <= 3], stats.norm.sf(x[x <= 3]), rtol=4e-15)
    np.testing.assert_allclose(tails, stats.norm.sf(x), rtol=4e-13)
    far = np.array([38.0, 1e3, 1e200])  # below all floats
    to_normal_tails(far)
    assert ((far >= 0) & (far < 1e-300)).all()
    edges = np.array([0.075, math.exp(-25)])
    near = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1), [0.5]])
    p = np.concatenate([np.linspace(1e-4, 0.5, 3001), near, 10.0 ** -np.linspace(4, 300, 1001)])
    quantiles = p.copy()
    to_normal_quantiles(quantiles)
    np.testing.assert_allclose(quantiles, stats.norm.ppf(p), rtol=3e-15, atol=3e-16)

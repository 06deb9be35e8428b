"""Level sets of scores: all ways of ordering, all types, and volumes beyond floats."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import Box, InvalidInputError
from fastad._core.threads import thread_limit
from tests.support import levels as slow
from tests.support.levels import KINDS, Array, Scored, counted, curve_bits, curve_of, large
from tests.support.oracles import written
from tests.support.ranges import tiny_ranges

# All ways of ordering.


@given(slow.scores(max_size=20), st.integers(2, 5))
def test_however_the_scores_are_cut_into_ranges(scored: Scored, n_threads: int) -> None:
    with thread_limit(1):
        expected = curve_bits(curve_of(scored))
    with tiny_ranges(n_threads):
        assert curve_bits(curve_of(scored)) == expected


def sorted_counts(scored: Scored) -> tuple[Array, Array]:
    """Counts by a plain sort, for samples that are too large for fractions."""
    together = np.concatenate([scored.test, scored.uniform])
    _, rank = np.unique(together, return_inverse=True)
    test, uniform = np.sort(rank[: len(scored.test)]), np.sort(rank[len(scored.test) :])
    distinct = np.unique(test)
    return (
        np.concatenate([[0], np.searchsorted(test, distinct, side="right")]),
        np.concatenate([[0], np.searchsorted(uniform, distinct, side="right")]),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n", "m"),
    [
        (300, 4000),
        (80_000, 121_000),
        pytest.param(3, 70_000, marks=pytest.mark.evidence),
        pytest.param(70_000, 3, marks=pytest.mark.evidence),
    ],
)
def test_all_types_and_sizes_on_threads(kind: str, n: int, m: int) -> None:
    scored = large(kind, n, m)
    masses, volumes = sorted_counts(scored)
    with thread_limit(1):
        one = curve_of(scored)
    with thread_limit(2):
        two = curve_of(scored)
    np.testing.assert_array_equal(one.levels.masses, masses)
    np.testing.assert_array_equal(counted(one.levels), volumes)
    np.testing.assert_array_equal(one.thresholds[1:], np.unique(scored.test))
    assert curve_bits(one) == curve_bits(two)


# Types that do not fit together.


@pytest.mark.parametrize(
    ("test", "uniform"),
    [
        (np.array([2**53 + 1]), np.array([0.5])),
        (np.array([0.5]), np.array([2**53 + 1])),
        (np.array([2**53 + 1], np.uint64), np.array([-1])),
        (np.array([2**63 - 1]), np.array([0.5])),
        (np.array([2**64 - 1], np.uint64), np.array([0.5])),
        (np.array([2**64 - 1], np.uint64), np.array([-1])),
        (np.array([-1]), np.array([2**64 - 1], np.uint64)),
    ],
)
def test_integers_that_a_float_would_round_are_refused(test: Array, uniform: Array) -> None:
    with pytest.raises(InvalidInputError, match="of one type, or of types that one type holds"):
        fastad.mass_volume_curve(test, uniform, 1.0)


# Volumes beyond floats.


@pytest.mark.parametrize("log_volume", [-900.0, 900.0, -1e6, 1e6])
def test_beyond_all_floats_the_logarithms_stay(log_volume: float) -> None:
    scored = Scored(np.array([0.1, 0.2, 0.4, 0.8]), np.array([0.3, 0.5, 0.7, 0.9, 1.0]))
    curve = fastad.mass_volume_curve(scored.test, scored.uniform, log_volume=log_volume)
    expected = [-math.inf] * 3 + [log_volume + math.log(x) for x in (0.2, 0.6)]
    np.testing.assert_allclose(curve.log_volume, expected, rtol=1e-14)
    assert curve.log_area(0.5, 1.0) == pytest.approx(log_volume + math.log(0.2), rel=1e-14)
    end = 0.0 if log_volume < 0 else math.inf
    assert curve.volume.tolist() == [0.0, 0.0, 0.0, end, end]
    assert curve.area(0.5, 1.0) == end
    assert curve.area(0.0, 0.5) == 0.0
    assert curve([0, 0.9]).tolist() == [0.0, end]


@pytest.mark.parametrize("volume", [Fraction(10) ** 400, Fraction(1, 10**400), 10**400, 5e-324])
def test_fractions_beyond_floats_are_volumes(volume: Any) -> None:
    curve = fastad.mass_volume_curve([1.0, 3.0], [0.0, 2.0, 4.0], volume)
    exact = Fraction(volume) if not isinstance(volume, float) else written(volume)
    expected = math.log(exact.numerator) - math.log(exact.denominator) + math.log(0.5)
    assert curve.log_area(0, 1) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("volume", [1e-307, 2.3e-308, 1.79e308])
def test_the_area_at_the_ends_of_all_floats_is_exact(volume: float) -> None:
    curve = fastad.mass_volume_curve([1.0, 3.0], [0.0, 2.0, 4.0, *[5.0] * 997], volume)
    assert curve.area(0, 1) == float(Fraction(3, 2000) * written(volume))
    assert curve.log_area(0, 1) == pytest.approx(math.log(0.0015) + math.log(volume), rel=1e-14)


def test_a_box_of_hundreds_of_features() -> None:
    box = Box(np.zeros(700), np.full(700, 20.0))
    curve = fastad.mass_volume_curve([1.0], [0.0, 2.0], box)
    assert curve.log_area(0, 1) == pytest.approx(700 * math.log(20.0) + math.log(0.5), rel=1e-13)


def test_a_box_has_the_volume_that_it_says() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        box = Box(np.zeros(3), rng.uniform(0.1, 3, size=3))
        test, uniform = rng.random(7), rng.random(13)
        one, other = (fastad.mass_volume_curve(test, uniform, v) for v in (box, box.volume))
        assert one.area(0, 1) == other.area(0, 1)

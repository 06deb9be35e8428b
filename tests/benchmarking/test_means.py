"""Means over folds: equal sums of rates tie, everywhere, whatever floats make of them."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad import ResultTable
from fastad._kernels.rank_tests.folds import beyond_float
from fastad.benchmarking import average_ranks, recommend, wilcoxon_holm
from fastad.benchmarking.means import defined_mean, differences

LARGEST_DENOMINATOR = 2**26

fractions_up_to_one = st.integers(1, LARGEST_DENOMINATOR).flatmap(
    lambda q: st.integers(-q, q).map(lambda p: Fraction(p, q))
)
# Rates of few anomalies, whose sums are often equal.
N_ANOMALIES = 10
rates = st.integers(0, N_ANOMALIES).map(lambda p: Fraction(p, N_ANOMALIES))


def mean(row: list[Fraction]) -> Fraction:
    return sum(row, Fraction(0)) / len(row)


def as_floats(rows: list[list[Fraction]]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array([[float(x) for x in row] for row in rows])


@given(fractions_up_to_one)
def test_quotients_of_integers_are_recovered(exact: Fraction) -> None:
    value = float(exact)
    beyond = Fraction(beyond_float(value))
    assert abs(Fraction(value) + beyond - exact) <= abs(exact) / 2**104


@pytest.mark.parametrize(
    ("value", "exact"),
    [(33.3, Fraction(333, 10)), (-1234.5625, Fraction(-12345625, 10**4)), (7e15, Fraction(7e15))],
)
def test_larger_decimals_are_recovered(value: float, exact: Fraction) -> None:
    assert float(Fraction(value) - exact) == pytest.approx(-beyond_float(value), rel=1e-15)


def stands_for(value: float) -> Fraction:
    """The nearest fraction with such a denominator, if it rounds to the float."""
    nearest = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return nearest if float(nearest) == value else Fraction(value)


@given(st.floats(-1, 1))
def test_a_float_stands_for_one_fraction_or_itself(value: float) -> None:
    beyond = Fraction(beyond_float(value))
    assert float(beyond) == float(stands_for(value) - Fraction(value))


@pytest.mark.parametrize("value", [1e300, -1e17, math.inf, -math.inf, math.nan, 0.0])
def test_integers_and_infinities_stand_for_themselves(value: float) -> None:
    assert beyond_float(value) == 0


@given(st.lists(st.floats(0.25, 1), min_size=1, max_size=6))
def test_means_of_any_floats_are_rounded_once(values: list[float]) -> None:
    exact = mean([stands_for(x) for x in values])
    assert defined_mean(np.array(values), axis=0) == float(exact)


@given(st.lists(st.fractions(0, 1, max_denominator=1000), min_size=1, max_size=3), st.randoms())
def test_means_are_the_nearest_floats_of_exact_means(
    row: list[Fraction], random: random.Random
) -> None:
    exact = float(mean(row))
    random.shuffle(row)
    values = np.array([float(x) for x in row])
    assert defined_mean(values, axis=0) == exact
    assert defined_mean(-values, axis=0) == -exact
    assert defined_mean(np.append(values, math.nan), axis=0) == exact


@given(st.lists(st.fractions(-1, 1, max_denominator=100), min_size=1, max_size=3))
def test_means_of_values_that_cancel_are_0(row: list[Fraction]) -> None:
    cancelling = [*row, -sum(row, Fraction(0))]
    assert defined_mean(as_floats([cancelling]), axis=1).tolist() == [0]


def test_what_is_left_of_values_that_are_no_fractions_is_kept() -> None:
    assert defined_mean(np.array([-1.0, 3e-40, 1.0]), axis=0) == pytest.approx(
        1e-40, rel=1e-12, abs=0
    )


def test_means_of_large_values_and_infinities() -> None:
    largest = np.finfo(float).max
    rows = [[largest] * 3, [math.inf, 1, 2], [-math.inf, 1, math.inf], [math.nan] * 3]
    assert defined_mean(np.array(rows), axis=1).tolist()[:2] == [largest, math.inf]
    assert np.isnan(defined_mean(np.array(rows), axis=1)[2:]).all()


@given(st.lists(st.lists(rates, min_size=2, max_size=2), min_size=2, max_size=8))
def test_detectors_tie_where_their_sums_over_folds_do(rows: list[list[Fraction]]) -> None:
    exact = [mean(row) for row in rows]
    table = ResultTable.from_arrays(
        {"tpr@0.05": as_floats(rows)[None]}, detectors=[f"{i:02}" for i in range(len(rows))]
    )
    ranks = [
        1 + sum(x > y for x in exact) + Fraction(sum(x == y for x in exact) - 1, 2) for y in exact
    ]
    result = average_ranks(table, n_resamples=1, rng=0).ranks["tpr@0.05"][0]
    assert result.tolist() == [float(rank) for rank in ranks]


@given(st.lists(st.lists(rates, min_size=3, max_size=3), min_size=2, max_size=5))
def test_recommend_selects_all_models_of_equal_sums(rows: list[list[Fraction]]) -> None:
    if not any(map(mean, rows)):
        return
    best = max(map(mean, rows))
    losses = []
    for fold in range(3):
        others = [mean(row[:fold] + row[fold + 1 :]) for row in rows]
        chosen = [
            row[fold] for row, other in zip(rows, others, strict=True) if other == max(others)
        ]
        losses.append((best - mean(chosen)) / best)
    table = ResultTable.from_arrays({"tpr@0.05": as_floats(rows)[None]})
    result = recommend(table, operating_fpr=0.05, n_resamples=1, rng=0)
    assert result.losses["other folds"].value[0] == pytest.approx(float(mean(losses)), abs=1e-14)


def test_a_difference_from_nothing_is_nothing() -> None:
    first, second = np.array([[0.5, np.nan, 0.5, np.nan]]), np.array([[0.25, 0.5, np.nan, np.nan]])
    expected = [[0.25, np.nan, np.nan, np.nan]]
    np.testing.assert_array_equal(differences(first, second), expected)


@given(
    st.lists(st.lists(st.fractions(0, 1, max_denominator=100), min_size=4, max_size=4), min_size=1)
)
def test_differences_tie_where_fractions_do(rows: list[list[Fraction]]) -> None:
    values = as_floats(rows)
    exact = [[float(a - b), float(c - d)] for a, b, c, d in rows]
    assert differences(values[:, ::2], values[:, 1::2]).tolist() == exact


def test_wilcoxon_ties_equal_differences_of_decimals() -> None:
    # Differences 1, -1, 1 and 2 tenths: of the signs of ranks 2, 2, 2 and 4 those with a lesser
    # sum of at most 2 are 8 of 16.
    auc = [[0.9, 0.8], [0.6, 0.7], [0.4, 0.3], [0.5, 0.3]]
    assert 0.9 - 0.8 != 0.4 - 0.3
    result = wilcoxon_holm(ResultTable.from_arrays({"auc": auc}), measure="auc", rng=0)
    assert result.p_values[0, 1] == 0.5

"""Which of several values are significantly larger, by the largest difference of replicates."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastad.uncertainty.comparisons.corrections import significantly_larger


def slow(values: Any, replicates: Any, df: float, level: float) -> set[tuple[int, int]]:
    """Return the pairs by the definition, replicate by replicate."""
    n, k = replicates.shape
    pairs = list(combinations(range(k), 2))
    means = {(i, j): np.mean(replicates[:, i] - replicates[:, j]) for i, j in pairs}
    spreads = {(i, j): np.std(replicates[:, i] - replicates[:, j], ddof=1) for i, j in pairs}
    largest = sorted(
        max(abs(row[i] - row[j] - means[i, j]) / spreads[i, j] for i, j in pairs)
        for row in replicates
    )
    freedom = 1 / (1 / df + 1 / (n - 1))
    rank = math.ceil((n + 1) * level)
    if rank > n or min(df, n - 1) < 4:
        return set()
    critical = stats.t.isf(stats.norm.sf(largest[rank - 1]), freedom)
    result = set()
    for i, j in pairs:
        difference = values[i] - values[j]
        if abs(difference) > critical * math.hypot(spreads[i, j], means[i, j] - difference):
            result.add((i, j) if difference > 0 else (j, i))
    return result


@given(
    seed=st.integers(0, 1000),
    n=st.integers(2, 60),
    k=st.integers(2, 5),
    df=st.sampled_from([2.0, 4.0, 7.0, math.inf]),
    level=st.sampled_from([0.5, 0.9, 0.95]),
)
def test_pairs_are_those_of_the_definition(
    seed: int, n: int, k: int, df: float, level: float
) -> None:
    rng = np.random.default_rng(seed)
    values = 2 * rng.normal(size=k)
    replicates = values + rng.normal(size=(n, k))
    result = significantly_larger(values, replicates, np.full(k, df), level)
    assert {(int(i), int(j)) for i, j in np.argwhere(result)} == slow(values, replicates, df, level)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("n_replicates", [2, 18, 19, 40, 200])
def test_equal_values_seldom_differ(n_replicates: int, k: int) -> None:
    """However few replicates there are; of 2, half of all pairs did."""
    rng = np.random.default_rng([n_replicates, k])
    n_tried, wrong = 600, 0
    for _ in range(n_tried):
        values = rng.normal(size=k)
        replicates = values + rng.normal(size=(n_replicates, k))
        result = significantly_larger(values, replicates, np.full(k, math.inf), 0.95)
        wrong += bool(result.any())
    assert wrong <= stats.binom.ppf(0.999, n_tried, 0.05)
    assert wrong > 0 or n_replicates < 19


def test_four_degrees_of_freedom_of_the_data_suffice() -> None:
    """Those of an error are fewer, as replicates estimate it; of five data sets none differed."""
    rng = np.random.default_rng(0)
    values = np.array([0.0, 100.0])
    replicates = values + rng.normal(size=(1999, 2))
    for df, differs in ((3.9, False), (4.0, True)):
        larger = significantly_larger(values, replicates, np.full(2, df), 0.95)
        assert larger.tolist() == [[False, False], [differs, False]]


@pytest.mark.parametrize("undefined", [-math.inf, math.nan])
def test_more_undefined_replicates_than_the_level_allows_leave_a_pair_open(
    undefined: float,
) -> None:
    """The largest differences may be among them."""
    values = np.array([0.0, 100.0])
    replicates = values + np.random.default_rng(0).normal(size=(1000, 2))
    for n_undefined, differs in ((49, True), (50, False)):  # 951 of 1000 must be defined
        replicates[:n_undefined, 0] = undefined
        larger = significantly_larger(values, replicates, np.full(2, math.inf), 0.95)
        assert larger.tolist() == [[False, False], [differs, False]]


@pytest.mark.parametrize("undefined", [-math.inf, math.nan])
def test_undefined_replicates_count_as_the_largest_differences(undefined: float) -> None:
    """Beyond 1.96 lie a twentieth of normal differences, those without a value among them."""
    normal = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    for difference, differs in ((1.9, False), (2.1, True)):
        replicates = np.stack([np.zeros(2000), difference + normal], axis=1)
        for n_undefined in (0, 49):
            replicates[:n_undefined, 1] = replicates[2000 - n_undefined :, 1] = undefined
            values = np.array([0.0, difference])
            larger = significantly_larger(values, replicates, np.full(2, math.inf), 0.95)
            assert larger.tolist() == [[False, False], [differs, False]]


def test_pairs_that_are_undefined_together_too_often_leave_the_others_significant() -> None:
    """Of a twentieth of the replicates their largest difference is not known, but all others'."""
    values = np.array([0.0, 100.0, 0.0, 0.0])
    replicates = values + np.random.default_rng(0).normal(size=(1000, 4))
    for of_third, of_fourth, open_pairs in ((24, 25, []), (25, 25, [2, 3]), (24, 26, [3])):
        replicates[:of_third, 2] = math.nan
        replicates[-of_fourth:, 3] = math.nan
        larger = significantly_larger(values, replicates, np.full(4, math.inf), 0.95)
        assert np.argwhere(larger).tolist() == [[1, j] for j in (0, 2, 3) if j not in open_pairs]


def test_pairs_that_are_never_significant_do_not_count() -> None:
    """Of fewer than 4 degrees of freedom: 1.96 is the cut-off of one pair, 2.39 of three."""
    values, df = np.array([0.0, 2.1, 0.0]), np.array([math.inf, math.inf, 3.0])
    normal = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    others = np.random.default_rng(0).permutation(normal)
    replicates = values + np.stack([np.zeros(2000), normal, others], axis=1)
    assert np.argwhere(significantly_larger(values, replicates, df, 0.95)).tolist() == [[1, 0]]
    assert not significantly_larger(values, replicates, np.full(3, math.inf), 0.95).any()

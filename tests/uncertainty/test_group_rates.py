"""Rates of groups: bounds, tests and required numbers against SciPy and whole distributions."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, binomtest, fisher_exact, hypergeom

import fastad
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.uncertainty import RateComparison, compare_rates

SIZES = (1, 4, 9)


def fisher(table: list[list[int]]) -> float:
    return float(fisher_exact(np.array(table)).pvalue)


TABLES = list(product(*(range(n + 1) for n in SIZES)))


def test_intervals_are_those_of_scipy_at_sidaks_level() -> None:
    rates = compare_rates([90, 40, 1], [100, 80, 2], confidence_level=0.9)
    level = 0.9 ** (1 / 3)
    for k, n, low, high in zip((90, 40, 1), (100, 80, 2), rates.low, rates.high, strict=True):
        expected = binomtest(k, n).proportion_ci(level, "exact")
        assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-9)
    overall = binomtest(131, 182).proportion_ci(0.9, "exact")
    assert rates.overall.low == pytest.approx(overall.low, rel=1e-9)


def test_overlapping_groups_have_bonferronis_level_and_their_own_total() -> None:
    rates = compare_rates([9, 8], [10, 10], total=(12, 15))
    expected = binomtest(9, 10).proportion_ci(0.975, "exact")
    assert rates.low[0] == pytest.approx(expected.low, rel=1e-9)
    assert rates.overall.value == 12 / 15


@pytest.mark.parametrize("k", [0, 3, 7, 10])
def test_two_groups_have_fishers_test(k: int) -> None:
    expected = fisher([[k, 10 - k], [9, 21]])
    assert compare_rates([k, 9], [10, 30]).p_value == pytest.approx(expected, rel=1e-9)


def test_each_group_is_tested_against_all_others() -> None:
    k, n = np.array([9, 30, 2]), np.array([20, 90, 40])
    raw = [
        fisher([[a, b - a], [41 - a, 150 - b - 41 + a]])
        for a, b in zip(k.tolist(), n.tolist(), strict=True)
    ]
    assert compare_rates(k, n).p_values == pytest.approx(np.minimum(3 * np.array(raw), 1), rel=1e-9)


def test_groups_that_cannot_differ_are_no_test() -> None:
    """Tarone: a group of one sample has no small p-value among so many events."""
    raw = fisher([[9, 1], [10, 20]])  # the first group against the two others
    alone = compare_rates([9, 10, 0], [10, 29, 1])
    assert alone.p_values[0] == pytest.approx(2 * raw, rel=1e-9)


def test_tests_of_unequal_groups_keep_their_level() -> None:
    """Of all tables with the same number of events, by their exact probabilities."""
    for events in range(1, sum(SIZES)):
        p_values, chances = [], []
        for table in TABLES:
            if sum(table) == events:
                ways = math.prod(math.comb(n, k) for n, k in zip(SIZES, table, strict=True))
                chances.append(ways / math.comb(sum(SIZES), events))
                p_values.append(compare_rates(table, SIZES).p_value)
        each, chance = np.array(p_values), np.array(chances)
        for p in each:
            assert chance[each <= p].sum() <= p * (1 + 1e-9)


@pytest.mark.parametrize(
    "rates", [(0.5, 0.5, 0.5), (0.05, 0.3, 0.9), (0.97, 0.9, 0.99), (0, 0.2, 1)]
)
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_intervals_cover_over_all_tables(rates: tuple[float, ...], higher_is_better: bool) -> None:
    """Exactly: each table of small unequal groups with its probability."""
    covered = dict.fromkeys(["all", "worst", "difference", "ratio"], 0.0)
    true = np.array(rates)
    extreme = min(rates) if higher_is_better else max(rates)
    for table in TABLES:
        chance = math.prod(binom.pmf(k, n, p) for k, n, p in zip(table, SIZES, rates, strict=True))
        one = compare_rates(table, SIZES, higher_is_better=higher_is_better, confidence_level=0.8)
        covered["all"] += chance * bool(np.all((one.low <= true) & (true <= one.high)))
        for name, value in (
            ("worst", extreme),
            ("difference", max(rates) - min(rates)),
            ("ratio", min(rates) / max(rates)),
        ):
            interval = getattr(one, name)
            covered[name] += chance * (interval.low <= value <= interval.high)
            assert math.isnan(interval.value) or interval.low <= interval.value <= interval.high
    assert min(covered.values()) >= 0.8, covered


def test_required_number_lets_extreme_outcomes_differ() -> None:
    rates = compare_rates([80, 3], [100, 4])
    n, rate = rates.n_required, 83 / 104
    assert n is not None
    assert list(rates.too_few) == [1]

    def differs(size: int) -> bool:
        all_or_none = [compare_rates([k, 0], [size, 1]) for k in (0, size)]
        return bool(all_or_none[0].high[0] < rate < all_or_none[1].low[0])

    assert differs(n)
    assert not differs(n - 1)


def test_worst_bound_does_not_pay_for_the_number_of_groups() -> None:
    few, many = compare_rates([5], [10]), compare_rates([5, *[100] * 50], [10, *[100] * 50])
    assert few.worst.low == many.worst.low
    assert many.low[0] < many.worst.low
    assert many.worst.high == many.worst.high > few.worst.high


def test_of_equal_rates_the_larger_group_is_the_worst() -> None:
    assert compare_rates([1, 50], [2, 100], names=["a", "b"]).worst_name == "b"


def test_no_events_say_that_nothing_differs() -> None:
    rates = compare_rates([0, 0], [10, 1000], higher_is_better=False)
    assert rates.p_value == 1
    assert math.isnan(rates.ratio.value)
    assert (rates.ratio.low, rates.ratio.high) == (0, 1)
    assert rates.n_required is None
    assert rates.too_few == {}


def test_large_counts_have_tails_of_scipy() -> None:
    k, n = [1_050, 9_000], [1_000_000, 10**7]
    expected = hypergeom.sf(1049, 11 * 10**6, 10**6, 10_050)
    p = compare_rates(k, n).p_value
    assert expected < p < 2.2 * expected


def test_result_has_all_forms() -> None:
    rates = compare_rates([1, 0], [4, 40], names=["a", "b"], higher_is_better=False)
    assert rates.to_columns()["part"] == ["all", "group", "group", "worst group"]
    assert rates.to_dict()["rows"][1]["name"] == "a"
    assert "equal rates of 2 groups" in str(rates)
    assert rates.of("a").value == 0.25
    assert isinstance(rates, RateComparison)
    with pytest.raises(InvalidInputError, match="name must be one of a, b; found 'aa'"):
        rates.of("aa")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1], [0]), {}, "n_events must not exceed n_samples; found 1 of 0"),
        (([0], [0]), {}, "n_samples must be positive; found 0 for 0"),
        (([1, 2], [3]), {}, "n_events must have one count for each of n_samples"),
        (([1, 2], [3, 4]), {"names": ["a"]}, "names must have one name for each group, 2; found 1"),
        (
            ([1, 2], [3, 4]),
            {"names": ["a", "a"]},
            "names must name each group once; found 'a' twice",
        ),
        (([1], [3]), {"total": (4, 3)}, r"total\[0\] must not exceed total\[1\]; found 4 of 3"),
        (([-1], [3]), {}, "n_events must lie between 0 and 2"),
    ],
)
def test_bad_counts_are_refused(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        compare_rates(*arguments, **options)


def test_counts_must_be_integers() -> None:
    with pytest.raises(InvalidTypeError, match="n_events must be an integer; found float"):
        fastad.uncertainty.compare_rates([0.5], [3])


def test_a_group_that_differs_is_not_too_small() -> None:
    """53 of 100 flagged at 1 % were said to be too few samples to say so."""
    rates = compare_rates([53, 60, 0], [100, 10_000, 80], higher_is_better=False)
    assert rates.n_required is not None
    assert rates.n_required > 100
    assert rates.p_values[0] < 1e-9
    assert rates.too_few == {2: 80}
    (line,) = (line for line in rates.statements if "too few" in line)
    assert line.startswith("too few samples to show a lower rate than that of all, which takes ")


@pytest.mark.parametrize(
    ("total", "name"),
    [((4, 1000), "a"), ((0, 0), "a"), ((5, 13), "a"), ((5, 52), "b"), ((5, 14), "b")],
)
def test_totals_have_the_samples_of_each_group(total: tuple[int, int], name: str) -> None:
    """Five of 14 events, and two of 50: at least five events and 48 others."""
    message = f"total must have at least the events, .* found .*, and more for '{name}'"
    with pytest.raises(InvalidInputError, match=message):
        compare_rates([5, 2], [14, 50], names=["a", "b"], total=total)
    assert compare_rates([5, 2], [14, 50], names=["a", "b"], total=(5, 53)).overall.value == 5 / 53

"""Bets on a rate beyond its bounds: a martingale, whatever the batches and times of bets."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from fastad.uncertainty.rates.rate_evidence import Alternative, RateBets, RateEvidence

EXPONENTS = range(-16, 13)


def literal_bets(rate: Fraction, alternative: str) -> list[tuple[Fraction, Fraction, Fraction]]:
    """What a stake is multiplied by for an event and for another point; and weights, exactly."""
    rows = []
    for i in EXPONENTS:
        x, weight = Fraction(2) ** i, Fraction(1, 1 + i * i)
        if alternative != "less":
            rows.append(((1 + x) / (1 + rate * x), 1 / (1 + rate * x), weight))
        if alternative != "greater":
            other = 1 - rate
            rows.append((1 / (1 + other * x), (1 + x) / (1 + other * x), weight))
    total = sum(weight for _, _, weight in rows)
    return [(won, lost, weight / total) for won, lost, weight in rows]


def held_back(rate: Fraction, n: int) -> Fraction:
    """The part of each bet's capital that is kept after n points: any numbers that fall do."""
    return Fraction(0.5 * (1 + n * float(min(rate, 1 - rate))) ** -0.1)


def literal_capital(
    path: tuple[int, ...], batches: list[int], rate: Fraction, alternative: str
) -> Fraction:
    capital = Fraction(0)
    for won, lost, weight in literal_bets(rate, alternative):
        stake, kept, n = Fraction(0), Fraction(1), 0
        for size in batches:
            left = held_back(rate, n)
            stake, kept = stake + kept - left, left
            for outcome in path[n : n + size]:
                stake *= won if outcome else lost
            n += size
        capital += weight * (stake + kept)
    return capital


def capitals(paths: Any, batches: list[int], rate: Fraction, alternative: Alternative) -> Any:
    base = float(rate)
    evidence = RateEvidence(RateBets.against(base, base, alternative), (len(paths),))
    start = 0
    for size in batches:
        evidence.update(paths[:, start : start + size].sum(axis=1), size)
        start += size
    return np.exp(evidence.log_value)


def probability(path: tuple[int, ...], p: Fraction) -> Fraction:
    k = sum(path)
    return p**k * (1 - p) ** (len(path) - k)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("rate", [Fraction(1, 64), Fraction(3, 4)])
def test_the_capital_is_that_of_the_bets_and_its_expected_value_is_1(
    rate: Fraction, alternative: Alternative
) -> None:
    paths = list(product((0, 1), repeat=4))
    for batches in ([1] * 4, [2, 1, 1], [4]):
        exact = [literal_capital(path, batches, rate, alternative) for path in paths]
        assert sum(c * probability(path, rate) for c, path in zip(exact, paths, strict=True)) == 1
        computed = capitals(np.array(paths), batches, rate, alternative)
        assert computed == pytest.approx(np.array(exact, float), rel=1e-12)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("rate", [Fraction(1, 64), Fraction(1, 2)])
@pytest.mark.parametrize("batches", [[1] * 12, [3, 1, 8]])
def test_the_expected_value_over_all_longer_paths_is_1(
    rate: Fraction, alternative: Alternative, batches: list[int]
) -> None:
    paths = np.array(list(product((0, 1), repeat=12)))
    k = paths.sum(axis=1)
    p = float(rate)
    mean = (p**k * (1 - p) ** (12 - k)) @ capitals(paths, batches, rate, alternative)
    assert mean == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_the_expected_value_does_not_rise_while_the_rate_stays_on_its_side(
    alternative: Alternative,
) -> None:
    """Also where the probability of the next event depends on those before."""
    rate = Fraction(1, 4)
    factors = (Fraction(0), Fraction(1, 2), Fraction(1))
    for won, lost, _ in literal_bets(rate, alternative):
        for factor in factors:
            p = rate * factor if alternative == "greater" else 1 - (1 - rate) * factor
            assert p * won + (1 - p) * lost <= 1


def test_bets_know_nothing_of_the_batch_that_comes() -> None:
    """A batch may end when its events do: what is placed depends on the points before alone."""
    bets = RateBets.against(0.1, 0.1, "greater")
    first, second = RateEvidence(bets), RateEvidence(bets)
    first.update(0, 10)
    second.update(7, 10_000)
    assert np.array_equal(first.kept, second.kept)


def test_many_streams_are_watched_as_each_by_itself() -> None:
    bets = RateBets.against(0.02, 0.02, "two-sided")
    together = RateEvidence(bets, (3,))
    alone = [RateEvidence(bets) for _ in range(3)]
    for k in ([0, 3, 50], [1, 0, 90]):
        together.update(np.array(k), 100)
        for each, count in zip(alone, k, strict=True):
            each.update(count, 100)
    assert together.log_value.tolist() == [float(each.log_value) for each in alone]


@pytest.mark.parametrize("k", [0, 10**10, 10**12])
def test_large_counts_are_finite(k: int) -> None:
    evidence = RateEvidence(RateBets.against(0.01, 0.01, "two-sided"))
    evidence.update(k, 10**12)
    evidence.update(k, 10**12)
    assert np.isfinite(evidence.log_value)
    assert (evidence.log_value > 100) == (k != 10**10)

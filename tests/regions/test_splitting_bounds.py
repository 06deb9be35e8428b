"""Bounds of splitting that ran out of draws, and what is said of parts that may be missed."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from fastad.errors import InsufficientMixingWarning
from fastad.regions.splitting.estimation import estimates_of
from fastad.regions.splitting.particles import Particles
from fastad.regions.splitting.repeats import SplittingRun
from tests.support import hidden, rare
from tests.support.rare import Rare
from tests.support.splitting import of

ALL = {**rare.SHAPES, **hidden.SHAPES}


def outcomes(region: Rare, n_draws: int, n_seeds: int) -> tuple[int, int, int]:
    """Count upper ends below the truth, bounds, and warnings among those."""
    false, bounds, warned = 0, 0, 0
    for seed in range(n_seeds):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InsufficientMixingWarning)
            result = of(region, n_draws, seed, n_threads=1)
        false += result.log_high < region.log_fraction
        bounds += result.is_bound
        warned += result.is_bound and any("n_draws was used up" in str(w.message) for w in caught)
    return false, bounds, warned


@pytest.mark.parametrize("name", ALL)
def test_a_budget_that_ends_above_the_threshold_is_warned_of(name: str) -> None:
    _, bounds, warned = outcomes(ALL[name](30), 10_000, 1)
    assert bounds == warned == 1


@pytest.mark.evidence
@pytest.mark.parametrize("name", ["ellipsoid", "box", "rods", "needle_in_valley"])
def test_bounds_are_above_the_truth(name: str) -> None:
    """10 000 calls do not suffice."""
    n = 8
    false, bounds, _ = outcomes(ALL[name](10), 10_000, n)
    assert bounds >= n // 2
    assert false <= stats.binom.ppf(0.999, n, 0.05)


@pytest.mark.slow
def test_a_bound_is_that_of_uniform_draws() -> None:
    """How far particles came may leave out the part that is most of the region."""
    region = hidden.needle_in_valley(10)
    with pytest.warns(InsufficientMixingWarning, match="n_draws was used up"):
        result = of(region, 10_000, 0)
    assert result.is_bound
    assert result.high == pytest.approx(result.uniform_high, rel=1e-12)
    # Of N draws none was inside; the ends of a Clopper and Pearson interval in closed form.
    n = math.log(0.025) / math.log1p(-result.uniform_high)
    assert n == pytest.approx(round(n), rel=1e-9)
    assert 160 <= round(n) <= 10_000


@pytest.mark.parametrize("threshold", [0.1, 0.6, 0.7])
def test_the_interval_by_uniform_draws_counts_all_of_them(threshold: float) -> None:
    scores = np.linspace(0.5, 0.9, 50)
    drawn = np.linspace(0.0, 1.0, 101)
    repeats = [Particles(np.zeros((1, 50)), scores) for _ in range(8)]
    for repeat in repeats:
        repeat.lose(0.0)
        repeat._rising.append(scores / 10)  # below the level, where they count for nothing
    before = 20, np.array([3])
    result = estimates_of(
        SplittingRun(repeats, [], [], drawn, ""), [threshold], 0.95, 10_000, before
    )[0]
    n_below = 8 * int((scores < threshold).sum()) + int((drawn < threshold).sum()) + 3
    oracle = stats.binomtest(n_below, 400 + 101 + 20).proportion_ci(0.95)
    assert (result.uniform_low, result.uniform_high) == pytest.approx(tuple(oracle), rel=1e-9)


@pytest.mark.parametrize("d", [2, pytest.param(10, marks=pytest.mark.evidence)])
@pytest.mark.parametrize("name", ALL)
def test_the_interval_by_uniform_draws_holds_and_what_the_other_assumes_is_said(
    name: str, d: int
) -> None:
    region = ALL[name](d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        result = of(region, 10_000, 0, confidence_level=0.9999)
    assert result.uniform_low <= math.exp(region.log_fraction) <= result.uniform_high
    rest = result.complement
    assert (rest.uniform_low, rest.uniform_high) == (
        1 - result.uniform_high,
        1 - result.uniform_low,
    )
    by_draws = (result.uniform_low, result.uniform_high)
    if (result.low, result.high) == pytest.approx(by_draws, rel=1e-12):
        assert "assumes" not in result.reason
        assert "by uniform draws" not in str(result)
        return
    bound = pytest.approx(result.uniform_high, rel=1e-12)
    assert "assumes that no part" in result.reason or result.high == bound
    for one in (result, rest):
        assert str(one).endswith(
            f"; by uniform draws alone [{one.uniform_low:.4g}, {one.uniform_high:.4g}]"
        )


@pytest.mark.evidence
@pytest.mark.parametrize("name", ["needle_in_valley", "needle_below_valley"])
def test_the_interval_by_uniform_draws_holds_where_parts_are_missed(name: str) -> None:
    region = ALL[name](5)
    n, truth, false = 16, math.exp(region.log_fraction), 0
    for seed in range(n):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsufficientMixingWarning)
            result = of(region, 10_000, seed, n_threads=1)
        false += not result.uniform_low <= truth <= result.uniform_high
    assert false <= stats.binom.ppf(0.999, n, 0.05)

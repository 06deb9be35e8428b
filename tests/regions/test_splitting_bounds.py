"""Bounds of splitting that ran out of draws, and what is said of parts that may be missed."""

import math
import re
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fastad.errors import InsufficientMixingWarning
from fastad.regions.splitting.particles import Particles
from fastad.regions.splitting.repeats import SplittingRun, estimates
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
            found = of(region, n_draws, seed, n_threads=1)
        false += found.log_high < region.log_fraction
        bounds += found.is_bound
        warned += found.is_bound and any("n_draws was used up" in str(w.message) for w in caught)
    return false, bounds, warned


@pytest.mark.parametrize("name", ALL)
def test_a_budget_that_ends_above_the_threshold_is_warned_of(name: str) -> None:
    _, bounds, warned = outcomes(ALL[name](30), 10_000, 1)
    assert bounds == warned == 1


@pytest.mark.evidence
@pytest.mark.parametrize("d", [10, 20])
@pytest.mark.parametrize("name", ["ellipsoid", "box", "rods", "needle_in_valley"])
def test_bounds_are_above_the_truth(name: str, d: int) -> None:
    """In regions whose particles see all parts as long as they go; 10 000 calls do not suffice."""
    n = 25
    false, bounds, _ = outcomes(ALL[name](d), 10_000, n)
    assert bounds >= n // 2
    assert false <= stats.binom.ppf(0.999, n, 0.05)


def test_the_bound_is_of_the_last_level_that_all_have_passed() -> None:
    """Fractions of levels below it, which some repeats have reached, count for nothing."""

    def passed(*logs: float) -> Particles:
        one = Particles(np.zeros((1, 50)), np.linspace(0.5, 0.9, 50))
        for k, log in enumerate(logs):
            one.levels.append(10.0 - k)
            one.log_fractions.append(log)
            one._rising.append(np.sort(one.scores))
        return one

    first = [-8.0 + 0.1 * k for k in range(8)]
    near = [passed(log) for log in first]
    far = [passed(log, *([log - 30] if k else [])) for k, log in enumerate(first)]
    bounds = [
        estimates(SplittingRun(run, [], []), [0.1], 0.95, 10_000)[0].log_high for run in (near, far)
    ]
    assert bounds[0] == pytest.approx(bounds[1])
    assert bounds[0] > float(np.mean(first))


@pytest.mark.parametrize("d", [2, 5, 10])
@pytest.mark.parametrize("name", ALL)
def test_what_may_be_missed_and_what_holds_even_then_is_said(name: str, d: int) -> None:
    region = ALL[name](d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        found: Any = of(region, 10_000, 0, confidence_level=0.9999)
    if region.log_fraction > -0.5:  # no level was passed: uniform draws, whose interval is exact
        assert not found.reason
        return
    if "assumed" not in found.reason:  # then the bound itself holds for any region
        assert found.log_high >= region.log_fraction
        return
    numbers = re.search(r"those below (\S+) of each level .* at most (\S+)$", found.reason)
    assert numbers, found.reason
    missed, certain = float(numbers[1]), float(numbers[2])
    assert 0 < missed < 1
    assert certain >= math.exp(region.log_fraction)

"""Coverage of confidence bands, by simulation and by exact sums."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm

from fastad.uncertainty.rates.bands import precision_recall_band, roc_band
from fastad.uncertainty.rates.order_statistics import AllRanks, EachRank, all_ranks

Vector = npt.NDArray[Any]


def chance_that_all_hold(bounds: AllRanks) -> float:
    """Probability that all of n uniform numbers in order lie within their bounds, exactly.

    How many lie below each bound is a chain: binomial steps, within the numbers that bounds allow.
    """
    n = bounds.n_samples
    ranks = np.arange(1, n + 1)
    lows, highs = bounds.lower(ranks), bounds.upper(ranks)
    chances, least, before = np.ones(1), 0, 0.0
    for t in np.unique(np.concatenate([lows, highs])).tolist():
        new_least, most = int(np.sum(highs <= t)), int(np.sum(lows < t))
        now = np.arange(new_least, most + 1)
        then = np.arange(least, least + len(chances))
        step = (t - before) / (1 - before)
        moves = binom.pmf(now[None, :] - then[:, None], n - then[:, None], step)
        chances, least, before = chances @ moves, new_least, t
    # Numbers above the last bound must be none.
    return float(chances[n - least]) if n - least < len(chances) else 0.0


@pytest.mark.evidence
@pytest.mark.parametrize("n", [1, 2, 7, 60, 300])
@pytest.mark.parametrize("alpha", [0.5, 0.05])
def test_bounds_at_all_ranks_have_their_confidence(n: int, alpha: float) -> None:
    """Of 300 points, not all ranks are simulated: those between have bounds that follow."""
    chance = chance_that_all_hold(all_ranks(n, alpha))
    assert chance >= 1 - alpha - 1e-12
    # What simulation and the ranks between cost.
    assert 1 - chance > 0.6 * alpha


@pytest.mark.parametrize("n", [1, 7, 256, 257, 5000, 10**6, 10**10])
def test_bounds_at_all_ranks_increase_and_contain_those_of_each(n: int) -> None:
    bounds, each = all_ranks(n, 0.05), EachRank(n, 0.05)
    ranks = np.unique(
        np.concatenate(
            [np.arange(min(n, 3000) + 2), np.geomspace(1, n, 3000).astype(np.int64), [n, n + 1]]
        )
    )
    assert (bounds.lower(ranks) <= each.lower(ranks) + 1e-15).all()
    assert (np.diff(bounds.lower(ranks)) >= 0).all()
    assert (bounds.upper(ranks) >= each.upper(ranks) - 1e-15).all()
    assert (np.diff(bounds.upper(ranks)) >= 0).all()
    for ends in (bounds, each):
        assert ends.lower(np.array([0, n + 1])).tolist() == [0, 1]
        assert ends.upper(np.array([0, n + 1])).tolist() == [0, 1]
    if n <= 10**6:
        # Not much wider than what one rank takes at the level that all of them share.
        inside, local = ranks[1:-1], EachRank(n, 2e-4)
        width = bounds.upper(inside) - bounds.lower(inside)
        assert (width < 1.4 * (local.upper(inside) - local.lower(inside))).all()


def test_a_tiny_alpha_is_divided_by_the_number_of_ranks() -> None:
    bounds = all_ranks(40, 1e-9)
    ranks = np.arange(1, 41)
    np.testing.assert_allclose(bounds.lower(ranks), beta.ppf(1e-9 / 80, ranks, 41 - ranks))
    np.testing.assert_allclose(bounds.upper(ranks), beta.isf(1e-9 / 80, ranks, 41 - ranks))


def mass_between(cuts: Vector, rank: int, n: int) -> Vector:
    """Chances that the rate at a rank lies in each of some intervals."""
    inside = 1 <= rank <= n
    return np.diff(beta.cdf(cuts, rank, n + 1 - rank)) if inside else np.zeros(len(cuts) - 1)


def worst_chance_to_fail(n: int, m: int, x: float, height: float, alpha: float) -> float:
    """Chance that bounds at x miss the height there, of the worst curve that was found.

    A curve of steps: one height in each of some intervals on either side of x. On each side, all
    rising sequences of heights on a grid are tried.
    """
    normals, anomalies = EachRank(m, alpha), EachRank(n, alpha)
    every = np.arange(m + 2)
    inside = int(np.sum(normals.upper(every) <= x)) - 1
    outside = int(np.sum(normals.lower(every) <= x))
    flagged = np.arange(n + 2)
    too_many = int(np.sum(anomalies.lower(flagged) <= height))  # so many anomalies: low is above
    too_few = int(np.sum(anomalies.upper(flagged) < height)) - 2  # so many: high is below

    def worst(cuts: Vector, heights: Vector) -> float:
        early, late = mass_between(cuts, inside, m), mass_between(cuts, outside, m)
        above = np.asarray(binom.sf(too_many - 1, n, heights))
        below = np.asarray(binom.cdf(too_few, n, heights))
        steps = map(list, itertools.combinations_with_replacement(range(len(heights)), 4))
        return max(float(early @ above[step] + late @ below[step]) for step in steps)

    near = math.sqrt(x * (1 - x) / m) * np.array([0.3, 1, 2])
    left = np.concatenate([[0], np.maximum(x - near[::-1], 0), [x]])
    right = np.concatenate([[x], np.minimum(x + near, 1), [1]])
    return worst(left, np.linspace(0, height, 9)) + worst(right, np.linspace(height, 1, 9))


@pytest.mark.evidence
@settings(max_examples=25)
@given(
    st.integers(1, 80),
    st.integers(1, 80),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
    st.sampled_from([0.05, 0.3, 0.8]),
)
def test_no_curve_makes_bounds_at_a_point_fail_more_often(
    n: int, m: int, x: float, height: float, alpha: float
) -> None:
    """The whole alpha for either class: what no curve lets both use."""
    assert worst_chance_to_fail(n, m, x, height, alpha) <= alpha * (1 + 1e-9)


N_TRIALS = 400
# At 95 %, 380 of 400 are expected, with a deviation of 4.4; less than 364 has a chance of 0.0002.
N_LEAST = 364
SHIFT = 1.5
GRID = np.unique(np.concatenate([np.geomspace(1e-4, 1, 25), np.linspace(0, 1, 21)]))


def draw(seed: int, n_normals: int, n_anomalies: int, step: float | None) -> tuple[Vector, Vector]:
    """Labels and scores of two normal distributions, rounded to multiples of a step."""
    rng = np.random.default_rng(seed)
    s = np.concatenate([rng.normal(size=n_normals), rng.normal(SHIFT, 1, n_anomalies)])
    y = np.repeat([0, 1], [n_normals, n_anomalies])
    return y, s if step is None else (s / step).round() * step


def check_coverage(band_of: Callable[[int], Any], true: Vector, simultaneous: bool) -> None:
    """Look at how many bands, one of each seed, have the true values: all of them, or each."""
    covered = np.zeros((N_TRIALS, len(true)), np.bool_)
    for seed in range(N_TRIALS):
        band = band_of(seed)
        covered[seed] = (band.low <= true) & (true <= band.high)
    n_covered = np.sum(covered.all(axis=1)) if simultaneous else covered.sum(axis=0).min()
    assert n_covered >= N_LEAST


def true_curve(step: float | None) -> tuple[Vector, Vector]:
    """FPR and TPR, from which the true curve is interpolated."""
    if step is None:
        t = np.concatenate([[np.inf], np.linspace(9, -9, 20_001), [-np.inf]])
    else:
        t = np.concatenate([[np.inf], (np.arange(20, -20, -1) - 0.5) * step, [-np.inf]])
    return norm.sf(t), norm.sf(t - SHIFT)


@pytest.mark.evidence
@pytest.mark.parametrize(("n_normals", "n_anomalies", "step"), [(300, 40, None), (40, 40, 0.5)])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_coverage_of_roc_bands(
    n_normals: int, n_anomalies: int, step: float | None, simultaneous: bool
) -> None:
    fpr, tpr = true_curve(step)
    x = GRID if simultaneous else np.array([0.002, 0.01, 0.05, 0.2, 0.5, 0.9])
    true = np.interp(x, fpr, tpr)
    check_coverage(
        lambda seed: roc_band(
            *draw(seed, n_normals, n_anomalies, step), fpr=x, simultaneous=simultaneous
        ),
        true,
        simultaneous,
    )


@pytest.mark.evidence
@pytest.mark.parametrize(("step", "simultaneous"), [(0.5, False), (None, True)])
def test_coverage_of_precision_recall_bands(step: float | None, simultaneous: bool) -> None:
    fpr, tpr = true_curve(step)
    x = np.array([0.05, 0.2, 0.5, 0.8, 0.95])
    if simultaneous:
        x = np.append(np.geomspace(0.01, 0.5, 15), np.linspace(0.6, 1, 10))
    n, m = 60, 200
    true = n * x / (n * x + m * np.interp(x, tpr, fpr))
    check_coverage(
        lambda seed: precision_recall_band(
            *draw(seed, m, n, step), recall=x, simultaneous=simultaneous
        ),
        true,
        simultaneous,
    )


@pytest.mark.evidence
@pytest.mark.parametrize("simultaneous", [False, True])
def test_coverage_of_the_band_of_a_step_curve(simultaneous: bool) -> None:
    """Half of the anomalies above all normals, half below: flat, where bounds are least wide."""
    covered = 0
    for seed in range(N_TRIALS):
        rng = np.random.default_rng(seed)
        s = np.concatenate([rng.random(150), rng.choice([-1.0, 2.0], 60)])
        y = np.repeat([0, 1], [150, 60])
        band = roc_band(y, s, fpr=[0.1, 0.5], simultaneous=simultaneous)
        covered += bool(((band.low <= 0.5) & (band.high >= 0.5)).all())
    assert covered >= N_LEAST

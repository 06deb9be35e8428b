"""Multilevel splitting: closed forms, coverage, budgets, the same bits, and several thresholds."""

import json
import math
import warnings
from functools import cache
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pytest
from scipy import stats

from fastad import Box, InvalidInputError
from fastad.errors import InsufficientMixingWarning
from fastad.regions import VolumeEstimate, volume_curve
from tests.support.rare import SHAPES, Rare, ball, two_balls
from tests.support.splitting import Array, of, split, values
from tests.support.volumes import KINDS, SLOW_ENOUGH, SLOW_TRIALS, OfBatch

# Closed forms.


@pytest.mark.parametrize("d", [2, 5, 20])  # 10: see the test of bridges
@pytest.mark.parametrize("shape", SHAPES)
def test_fractions_of_closed_forms_are_found(shape: str, d: int) -> None:
    region = SHAPES[shape](d)
    with warnings.catch_warnings():
        # Whether it is warned of is another matter; the interval must hold all the same.
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        result = of(region, 60_000 if d == 20 else 20_000, d, confidence_level=0.9999)
    assert result.log_low <= region.log_fraction <= result.log_high
    assert result.log_low <= result.log_value <= result.log_high
    assert (result.method, result.threshold) == ("splitting", region.threshold)
    assert result.value == math.exp(result.log_value)
    assert result.n_inside > 0
    assert not result.is_bound


@pytest.mark.slow
def test_one_feature_down_to_its_last_digits() -> None:
    result = split(lambda X: abs(X[:, 0] - 0.3), 1e-12, Box([0], [1]), 200_000)
    assert abs(result.log_value - math.log(2e-12)) < 1
    assert result.log_low <= math.log(2e-12) <= result.log_high


@pytest.mark.slow
def test_a_region_at_a_corner_of_a_box_of_many_units() -> None:
    box = Box([-1e6, 0, 5], [1e6, 1e-6, 6])
    fraction = 1e-3**3

    def score(X: Array) -> Array:
        far: Array = np.max((X - box.low) / (box.high - box.low), axis=1)
        return far

    result = split(score, 1e-3, box, 200_000, confidence_level=0.9999)
    assert result.log_low <= math.log(fraction) <= result.log_high
    assert result.log_high - result.log_low < 2


@pytest.mark.slow
def test_discrete_and_constant_features() -> None:
    """A ball of three features, two of ten bits set at most, one of 30 values, one constant."""
    bits: list[Any] = [[0, 1]] * 10
    box = Box(
        [-1, -1, -1, *[0] * 10, 1, 7],
        [1, 1, 1, *[1] * 10, 30, 7],
        values=[None] * 3 + bits + [range(1, 31), [7]],
    )

    def score(X: Array) -> Array:
        assert set(X[:, 3:13].ravel()) <= {0, 1}
        assert (X[:, 14] == 7).all()
        assert set(X[:, 13]) <= set(range(1, 31))
        square = (X[:, :3] ** 2).sum(axis=1) / 0.2
        return np.maximum.reduce([square, X[:, 3:13].sum(axis=1) / 2.5, X[:, 13] / 1.5])

    truth = math.log(4 / 3 * math.pi * 0.2**1.5 / 8 * 56 / 1024 / 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        result = split(score, 1.0, box, 60_000, confidence_level=0.9999)
    assert result.log_low <= truth <= result.log_high
    assert abs(result.log_value - truth) < 0.7


@pytest.mark.evidence
def test_features_that_do_not_matter_do_not_mislead() -> None:
    """Long steps of them are accepted, so that a wall of the cube is often reached."""
    box = Box([0] * 3, [1] * 3)

    def score(X: Array) -> Array:
        # First the one feature matters, and, where it is small, another.
        return np.where(X[:, 0] >= 1e-4, 1 + X[:, 0], X[:, 1])

    truth = math.log(1e-4 * 0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        logs = [split(score, 0.05, box, 40_000, rng=seed).log_value for seed in range(8)]
    assert abs(float(np.mean(logs)) - truth) < 4 * float(np.std(logs)) / math.sqrt(8)


# The distribution of the estimate.


@cache
def trials(name: str, d: int, n_draws: int) -> tuple[Rare, list[VolumeEstimate]]:
    region = SHAPES[name](d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        return region, [of(region, n_draws, seed, n_threads=1) for seed in range(SLOW_TRIALS)]


CHEAP = [("simplex", 5, 10_000)]


@pytest.mark.evidence
@pytest.mark.parametrize("case", CHEAP)
def test_intervals_cover_the_true_value_as_often_as_they_say(case: Any) -> None:
    region, result = trials(*case)
    covered = sum(one.log_low <= region.log_fraction <= one.log_high for one in result)
    assert covered >= SLOW_ENOUGH


@pytest.mark.evidence
@pytest.mark.parametrize("case", CHEAP)
def test_estimates_are_nearly_unbiased_and_errors_nearly_as_large_as_they_say(case: Any) -> None:
    region, result = trials(*case)
    ratios = np.array([math.exp(one.log_value - region.log_fraction) for one in result])
    claimed = np.array([one.standard_error / one.value for one in result])
    # A bias that is a fifth of the error does not matter to the interval.
    error = float(np.std(ratios))
    assert abs(float(np.mean(ratios)) - 1) < 4 * error / math.sqrt(SLOW_TRIALS) + 0.2 * error
    assert 0.7 < error / float(np.sqrt(np.mean(claimed**2))) < 1.15


@pytest.mark.evidence
@pytest.mark.parametrize("case", CHEAP)
def test_the_budget_is_kept_nearly(case: Any) -> None:
    _, result = trials(*case)
    spent = np.array([one.n_scored for one in result]) / case[-1]
    # The last repeats of few particles may have a level more: of 150 runs two spent 1.7 and 1.8.
    assert np.quantile(spent, 0.97) <= 1.25
    assert spent.max() <= 2
    assert spent.mean() <= 1.06 + 3 * spent.std() / math.sqrt(SLOW_TRIALS)
    assert spent.mean() >= 0.6


@pytest.mark.evidence
def test_two_balls_are_found() -> None:
    """With warnings of few seeds at most."""
    region = two_balls(5)
    covered = warned = 0
    n_trials = 12
    for seed in range(n_trials):
        with warnings.catch_warnings(record=True) as result:
            warnings.simplefilter("always")
            one = of(region, 20_000, seed)
        covered += one.log_low <= region.log_fraction <= one.log_high
        warned += bool(result)
    assert covered >= stats.binom.ppf(0.0001, n_trials, 0.95)
    assert warned <= 1


@pytest.mark.evidence
def test_a_budget_that_ends_on_the_way_gives_no_interval_that_leaves_out_the_truth() -> None:
    """Repeats that have not come down yet are not repeats that have found nothing."""
    region = ball(30)
    covered, n = 0, 10
    for seed in range(n):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsufficientMixingWarning)
            result = of(region, 10_000, seed)
        covered += result.log_low <= region.log_fraction <= result.log_high
    assert covered >= 0.95 * n - 4 * math.sqrt(0.95 * 0.05 * n)


# Budgets.


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [1.0, 0.9, 0.6, 0.4, 0.2, 0.1, 1e-2, 1e-3, 1e-6, 1e-12])
def test_the_budget_is_kept_nearly_for_fractions_of_any_size(fraction: float) -> None:
    seen: list[int] = []

    def score(X: Array) -> Array:
        assert X.shape[1] == 2
        assert ((X >= 0) & (X <= 1)).all()
        seen.append(len(X))
        return X.max(axis=1)

    for n_draws in (10_000, 50_000):
        seen.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsufficientMixingWarning)
            result = split(score, math.sqrt(fraction), Box([0, 0], [1, 1]), n_draws)
        assert result.n_scored == result.n_drawn == sum(seen)
        assert sum(seen) <= 1.2 * n_draws
        assert sum(seen) >= 0.4 * n_draws
        assert result.log_low <= math.log(fraction) <= result.log_high or fraction == 1


@pytest.mark.slow
@pytest.mark.parametrize("d", [40, 100])
def test_a_small_budget_and_many_features(d: int) -> None:
    region = ball(d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        result = of(region, 10_000, 0)
    assert result.n_scored <= 12_000
    assert result.is_bound or result.n_inside
    assert result.log_high >= region.log_fraction
    assert result.log_low <= region.log_fraction


@pytest.mark.slow
def test_a_budget_that_ends_above_the_threshold_gives_a_bound() -> None:
    region = ball(100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        result = of(region, 10_000, 0)
    assert result.is_bound
    assert result.n_inside == 0
    assert "n_draws was used up" in result.reason
    assert result.value == result.high
    assert result.log_low == -math.inf
    assert math.isnan(result.standard_error)
    assert result.log_high > region.log_fraction
    assert str(result).startswith("<")
    assert result.complement.low == pytest.approx(1 - result.high)
    assert "nan" not in str(result)
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize("n_draws", [1, 999, 9_999])
def test_few_score_calls_are_refused(n_draws: int) -> None:
    with pytest.raises(InvalidInputError, match=f"n_draws must be at least 10000.*{n_draws}"):
        split(lambda X: X[:, 0], 0.1, Box([0], [1]), n_draws)


# The same bits.


@pytest.mark.slow
def test_neither_threads_nor_the_kind_of_score_change_a_bit() -> None:
    """A score whose bits do not depend on how it is computed."""

    @numba.njit
    def of_point(x: Any) -> float:
        largest = abs(x[0] - 0.25)
        for j in range(1, x.shape[0]):
            largest = max(largest, abs(x[j] - 0.25))
        return float(largest)

    def of_batch(X: Array) -> Array:
        largest: Array = np.abs(X - 0.25).max(axis=1)
        return largest

    d = 6
    scores = {"jitted": of_point, "batch": of_batch, "compiled": OfBatch(of_batch, d)}
    assert set(scores) == set(KINDS)
    results = [
        split(score, 0.05, Box([0] * d, [1] * d), 30_000, rng=3, n_threads=n_threads)
        for kind, score in scores.items()
        for n_threads in {"jitted": (1, 3), "batch": (None,), "compiled": (2,)}[kind]
    ]
    assert all(values(one) == values(results[0]) for one in results)
    assert results[0].log_low <= d * math.log(0.1) <= results[0].log_high
    again = split(of_point, 0.05, Box([0] * d, [1] * d), 30_000, rng=4)
    assert again.log_value != results[0].log_value


def test_a_generator_moves_on() -> None:
    region = ball(4)
    rng = np.random.default_rng(5)
    one, two = (split(region.jitted, 1.0, region.box, rng=rng) for _ in range(2))
    assert one.log_value != two.log_value
    again = split(region.jitted, 1.0, region.box, rng=np.random.default_rng(5))
    assert values(again) == values(one)


# Several thresholds.


@pytest.mark.slow
def test_one_run_answers_several_thresholds() -> None:
    region = ball(6)
    thresholds = [1.0, 0.05, math.inf, 1e-3, 0.3, 0.05, *np.geomspace(1e-3, 6, 25).tolist()]
    calls: list[int] = []

    def score(X: Array) -> Array:
        calls.append(len(X))
        return region.batch(X)

    result = split(score, thresholds, region.box, 40_000, confidence_level=0.9999)
    assert [one.threshold for one in result] == thresholds
    assert {one.n_scored for one in result} == {sum(calls)}
    for one in result:
        if one.threshold <= 1:
            truth = region.log_fraction + 3 * math.log(one.threshold)
            assert one.log_low <= truth <= one.log_high
    assert values(result[1]) == values(result[5])
    rising = sorted(result, key=lambda one: float(one.threshold))
    logs = [one.log_value for one in rising]
    assert all(high >= low for low, high in pairwise(logs))
    # The lowest as if it were the only threshold.
    alone = split(region.batch, 1e-3, region.box, 40_000, confidence_level=0.9999)
    assert values(alone) == values(result[3])


@numba.njit
def in_a_corner(x: Array) -> float:
    return float(np.sqrt((x**2).sum()))


@numba.njit
def in_a_slab(x: Array) -> float:
    return float(abs(x[0] - 0.37))


@pytest.mark.slow
def test_regions_above_the_one_with_the_bridges_are_unbiased() -> None:
    """What the bridges correct by is no bias of logarithms that is added once more."""
    errors, n_missed = [], 0
    thresholds = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
    truth = np.log(2 * np.array(thresholds))
    n_seeds = 8
    for seed in range(n_seeds):
        estimates = split(in_a_slab, thresholds, Box([0] * 3, [1] * 3), 40_000, rng=seed)
        logs = [(one.log_low, one.log_value, one.log_high) for one in estimates]
        low, value, high = np.array(logs).T
        errors.append(value - truth)
        n_missed += np.count_nonzero((truth < low) | (truth > high))
    deviations = np.std(errors, axis=0, ddof=1)
    bound = 3 / math.sqrt(n_seeds) * deviations
    np.testing.assert_array_less(abs(np.mean(errors, axis=0)), bound)
    assert n_missed <= stats.binom.ppf(0.999, n_seeds * len(thresholds), 0.05)


def test_no_region_is_larger_than_one_of_a_higher_threshold() -> None:
    """Few particles: half the variance of the logarithms grows faster than their mean falls."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        curve = volume_curve(in_a_slab, 1e-6, Box([0] * 3, [1] * 3), n_draws=10_000, rng=26)
    kept = ~curve.is_bound
    for logs in (curve.log_low, curve.log_fraction, curve.log_high):
        assert (np.diff(logs[kept]) <= 0).all()
    assert curve(1e-6).log_value == curve.log_fraction[-1]


@pytest.mark.slow
def test_a_curve_says_where_it_is_only_a_bound() -> None:
    with pytest.warns(InsufficientMixingWarning):
        curve = volume_curve(in_a_corner, 1e-30, Box([-1] * 3, [1] * 3), n_draws=10_000, rng=0)
    assert curve.is_bound[-1] == curve(1e-30).is_bound == np.isneginf(curve.log_low[-1])
    assert not curve.is_bound[:10].any()


@pytest.mark.parametrize("rest", [1e-3, 1e-5, 1e-7])
def test_nearly_all_of_the_box_has_an_interval_with_the_true_value(rest: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)  # of the other threshold
        result = split(lambda X: X[:, 0], [1 - rest, 1e-6], Box([0, 0], [1, 1]), 20_000)[0]
    assert result.low <= 1 - rest <= result.high


def test_all_of_the_box() -> None:
    result = split(lambda X: X[:, 0], math.inf, Box([0], [1]))
    assert result.value == 1
    assert result.high == 1
    assert result.n_inside > 0
    assert not result.is_bound
    json.dumps(result.to_dict(), allow_nan=False)
    rest = result.complement
    assert (rest.low, rest.n_inside, rest.effective_sample_size) == (0, 0, 0)
    assert rest.high < 0.01

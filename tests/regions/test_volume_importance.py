"""Importance sampling: closed forms of tiny fractions, coverage, refusals, several thresholds."""

import itertools
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from fastad._core.threads import thread_limit
from fastad._core.types import FloatMatrix
from fastad.errors import InvalidInputError
from fastad.regions.box import Box
from fastad.regions.importance_sampling.neighbourhoods import neighbourhoods
from fastad.regions.importance_sampling.sampling import estimate_fractions
from fastad.regions.importance_sampling.weights import FEWEST_EFFECTIVE, Missed, RefusedError
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import Cube, block_score, into_cube
from tests.support.rare import SHAPES, Rare, ball, ellipsoid, log_ball_volume, simplex, two_balls
from tests.support.volumes import SLOW_ENOUGH, SLOW_TRIALS

Array = Any


def estimates(
    score: Any,
    box: Box,
    thresholds: Sequence[float],
    X: Array,
    n_draws: int = 20_000,
    seed: int = 0,
    level: float = 0.95,
    progress: Any = None,
) -> list[VolumeEstimate]:
    rng = np.random.default_rng(seed)
    cube = Cube(box, block_score(score, box.n_features))
    data = into_cube(box, np.asarray(X, np.float64), rng)
    return estimate_fractions(cube, thresholds, data, n_draws, level, rng, progress)


def of(region: Rare, n_draws: int, seed: int, level: float = 0.95, n: int = 500) -> Any:
    X = region.data(n, 1)
    return estimates(region.jitted, region.box, [region.threshold], X, n_draws, seed, level)[0]


# Closed forms.


@pytest.mark.one_in(10)
@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("shape", SHAPES)
def test_fractions_of_closed_forms_are_found(shape: str, d: int) -> None:
    region = SHAPES[shape](d)
    result = of(region, 20_000, d, 0.99999)
    assert result.log_low <= region.log_fraction <= result.log_high
    assert result.log_low <= result.log_value <= result.log_high
    assert result.method == "importance"
    assert result.effective_sample_size >= FEWEST_EFFECTIVE
    assert result.n_scored <= 20_000


@pytest.mark.evidence
@pytest.mark.parametrize("shape", [ball, simplex])
def test_fractions_far_below_the_smallest_float_of_a_hundred_features_are_found(shape: Any) -> None:
    region = shape(100)
    result = of(region, 60_000, 0, 0.99999, n=1000)
    assert region.log_fraction < math.log(1e-68)
    assert result.log_low <= region.log_fraction <= result.log_high
    assert result.log_high - result.log_low < 0.5


@pytest.mark.evidence
def test_a_ball_of_many_features_is_known_to_a_percent() -> None:
    for d in (20, 50):
        region = ball(d)
        result = of(region, 100_000, 0, n=1000)
        assert abs(result.log_value - region.log_fraction) < 0.02
        assert result.standard_error < 0.007 * result.value


def test_one_feature() -> None:
    result = estimates(
        lambda X: abs(X[:, 0] - 0.3),
        Box([0], [1]),
        [1e-9],
        [[0.3 + i * 1e-10] for i in range(9)],
        level=0.99999,
    )[0]
    assert result.log_low <= math.log(2e-9) <= result.log_high


def test_all_of_the_box() -> None:
    X = np.random.default_rng(0).uniform(size=(500, 3))
    result = estimates(lambda X: X.sum(axis=1), Box([0] * 3, [1] * 3), [math.inf], X)[0]
    assert result.n_inside == result.n_drawn
    assert result.value == pytest.approx(1, abs=0.01)
    assert result.high <= 1
    assert result.log_low <= 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("spread", [0.1, 0.2])
def test_normal_data_of_a_ball(spread: float) -> None:
    d = 20
    X = np.random.default_rng(3).normal(0, spread, (1000, d))
    threshold = float(np.quantile((X**2).sum(axis=1), 0.95))
    truth = log_ball_volume(d) + d / 2 * math.log(threshold) - d * math.log(2)
    region = ball(d)
    result = estimates(region.jitted, region.box, [threshold], X, 50_000, 0, 0.99999)[0]
    assert result.log_low <= truth <= result.log_high
    assert result.standard_error < 0.02 * result.value


def test_discrete_and_constant_features() -> None:
    # Ten bits, of which at most two are set, a constant, and a ball of four features.
    box = Box([-1] * 4 + [0] * 11, [1] * 4 + [1] * 11, values=[None] * 4 + [[0, 1]] * 10 + [[0.5]])

    def score(X: Array) -> Array:
        bits = X[:, 4:14].sum(axis=1)
        return np.maximum((X[:, :4] ** 2).sum(axis=1), bits / 2.5)

    rng = np.random.default_rng(0)
    X = np.full((4000, 15), 0.5)
    X[:, :4] = rng.uniform(-1, 1, (4000, 4))
    X[:, 4:14] = rng.uniform(size=(4000, 10)) < 0.15
    truth = log_ball_volume(4) - 4 * math.log(2) + math.log(56 / 1024)
    result = estimates(score, box, [1.0], X[score(X) < 1], 40_000, 0, 0.99999)[0]
    assert result.log_low <= truth <= result.log_high
    assert result.standard_error < 0.05 * result.value


def test_data_with_duplicates() -> None:
    region = ball(10)
    X = np.repeat(region.data(50, 1), 20, axis=0)
    result = estimates(region.jitted, region.box, [1.0], X, 20_000, 0, 0.99999)[0]
    assert result.log_low <= region.log_fraction <= result.log_high


# The distribution of the estimate.


@pytest.fixture(scope="module")
def trials() -> tuple[Rare, list[VolumeEstimate]]:
    region = ellipsoid(6)
    results = []
    with thread_limit(1):
        for seed in range(SLOW_TRIALS):
            # With so few draws a tail of weights that is not heavy may seem to be.
            with suppress(RefusedError):
                results.append(of(region, 4000, seed, n=100))
    assert len(results) >= 0.98 * SLOW_TRIALS
    return region, results


@pytest.mark.evidence
def test_intervals_cover_the_true_value_as_often_as_they_say(trials: Any) -> None:
    region, result = trials
    covered = sum(one.log_low <= region.log_fraction <= one.log_high for one in result)
    assert covered >= SLOW_ENOUGH / SLOW_TRIALS * len(result)


@pytest.mark.evidence
def test_estimates_are_unbiased_and_errors_as_large_as_they_say(trials: Any) -> None:
    region, result = trials
    ratios = [math.exp(one.log_value - region.log_fraction) for one in result]
    error = np.std(ratios) / math.sqrt(len(result))
    assert abs(np.mean(ratios) - 1) < 4 * error
    claimed = np.mean([one.standard_error / one.value for one in result])
    assert 0.85 < np.std(ratios) / claimed < 1.15


# Several thresholds.


@pytest.mark.slow
def test_several_thresholds_share_draws_and_are_in_their_order() -> None:
    d = 6
    region = ball(d)
    thresholds = [1.0, 0.01, 0.3, 1e-4, 0.3, *np.geomspace(0.02, 0.9, 12).tolist()]
    X = np.concatenate([region.data(100, k) * math.sqrt(t) for k, t in enumerate(thresholds)])
    result = estimates(region.jitted, region.box, thresholds, X, 60_000, 1, 0.99999)
    for one, threshold in zip(result, thresholds, strict=True):
        truth = region.log_fraction + d / 2 * math.log(threshold)
        assert one.threshold == threshold
        assert one.log_low <= truth <= one.log_high
    assert result[2].log_value == result[4].log_value
    assert len({(one.n_drawn, one.n_scored) for one in result}) == 1


# Refusals.


@pytest.mark.parametrize("threshold", [-math.inf, -1.0, 0.0])
def test_a_region_without_data_is_refused(threshold: float) -> None:
    region = ball(3)
    with pytest.raises(RefusedError, match=r"at least 5 distinct samples.*found 0"):
        estimates(region.jitted, region.box, [1.0, threshold], region.data(100, 0))


def test_no_data_are_refused() -> None:
    region = ball(3)
    with pytest.raises(RefusedError, match=r"at least 5 distinct samples.*found 0"):
        estimates(region.jitted, region.box, [1.0], np.full((3, 3), 2.0))


def test_one_point_many_times_is_refused() -> None:
    region = ball(3)
    with pytest.raises(RefusedError, match=r"at least 5 distinct samples.*found 1"):
        estimates(region.jitted, region.box, [1.0], np.zeros((100, 3)))


def test_few_score_calls_are_refused() -> None:
    region = ball(3)
    with pytest.raises(InvalidInputError, match=r"n_draws must be at least 1000.*found 999"):
        estimates(region.jitted, region.box, [1.0], region.data(100, 0), 999)


def test_few_effective_draws_are_refused() -> None:
    region = ellipsoid(50)
    with pytest.raises(RefusedError, match="worth 100 independent ones"):
        estimates(region.jitted, region.box, [1.0], region.data(100, 0), 5000)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("d", [15, 20, 30])
def test_data_on_a_plane_of_a_thick_region_are_refused(d: int) -> None:
    region = ball(d)
    X = region.data(500, d) * 0.8
    X[:, -1] = X[:, 0]
    with pytest.raises(RefusedError, match="method='importance' needs"):
        estimates(region.jitted, region.box, [1.0], X, 20_000, d)


# How the score is called.


def test_points_that_the_score_sees_are_counted() -> None:
    region = ball(8)
    seen: list[int] = []
    reports: list[tuple[int, int]] = []

    def score(X: Array) -> Array:
        assert np.all((X >= -1) & (X <= 1))
        seen.append(X.shape[0])
        return region.batch(X)

    result = estimates(
        score,
        region.box,
        [1.0],
        region.data(5000, 0),
        10_000,
        progress=lambda done, of_all: reports.append((done, of_all)),
    )[0]
    assert sum(seen) == result.n_scored <= 10_000
    assert result.n_inside <= result.n_drawn < result.n_scored
    assert reports == sorted(reports)
    assert reports[-1] == (result.n_scored, 10_000)


def test_an_interrupt_passes_through() -> None:
    region = ball(3)

    def stop(done: int, of_all: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        estimates(region.jitted, region.box, [1.0], region.data(100, 0), progress=stop)


@pytest.mark.slow
def test_neither_threads_nor_the_kind_of_score_change_a_bit() -> None:
    region = two_balls(20)
    X = region.data(500, 0)
    results = []
    for n_threads in (1, 3):
        with thread_limit(n_threads):
            results += estimates(region.jitted, region.box, [1.0], X, 20_000, 5)
    assert len({(one.log_value, one.log_low, one.n_inside, one.n_scored) for one in results}) == 1
    assert estimates(region.jitted, region.box, [1.0], X, 20_000, 6)[0].value != results[0].value


# Draws around single points.


def slab_of(d: int, width: float, seed: int, n: int) -> tuple[FloatMatrix, float]:
    """Return points uniform where the first two features differ by less, and their fraction."""
    points = np.random.default_rng(seed).random((20 * n, d))
    points[:, 1] = points[:, 0] + width * (2 * points[:, 1] - 1)
    inside = points[(points[:, 1] >= 0) & (points[:, 1] < 1)]
    assert inside.shape[0] >= n
    return inside[:n], -math.expm1(2 * math.log1p(-width))


@pytest.mark.evidence
def test_the_ends_of_a_diagonal_slab_are_reached() -> None:
    """Normal distributions along the diagonal hardly reach the two corners."""
    covered = 0
    for seed in range(20):
        X, fraction = slab_of(2, 0.005, seed, 500)
        result = estimates(
            lambda X: np.abs(X[:, 0] - X[:, 1]), Box([0, 0], [1, 1]), [0.005], X, 10_000, seed
        )[0]
        covered += result.log_low <= math.log(fraction) <= result.log_high
    # 91 of 100, less one standard deviation.
    assert covered >= 17


@pytest.mark.parametrize("n_missed", [0, 1, 25, 26])
def test_what_draws_miss_is_bounded_or_too_much(n_missed: int) -> None:
    missed, level = Missed(n_missed, 100), 0.9
    if n_missed > 25:
        with pytest.raises(RefusedError, match=r"found 26 of 100 samples of data below 0\.5"):
            missed.check(0.5)
        return
    missed.check(0.5)
    part = -math.expm1(-missed.most(level))
    if n_missed == 0:
        assert part == 0.0
    else:  # so few of the points are missed with a probability of a twentieth
        assert binom.cdf(n_missed, 100, part) == pytest.approx((1 - level) / 2, rel=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_values", [(0, 0, 0), (0, 4, 0), (3, 2, 5)])
def test_neighbourhoods_have_the_density_of_their_draws(n_values: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    near = neighbourhoods(rng.uniform(0.2, 0.8, (3, 40)), n_values, rng)
    drawn = near.draw(100_000, rng).T
    for low in itertools.product((0.0, 0.25, 0.5, 0.75), repeat=3):
        inside = np.all((drawn >= low) & (drawn < np.add(low, 0.25)), axis=1)
        # The density's integral over the box.
        points = np.array(low)[:, None] + 0.25 * rng.random((3, 4000))
        densities = np.exp(near.log_density(points)) / 64
        error = math.hypot(
            densities.std() / math.sqrt(4000), math.sqrt(inside.mean() + 1e-5) / math.sqrt(100_000)
        )
        assert abs(inside.mean() - densities.mean()) < 5 * error

"""``volume``: closed forms, coverage, a relative error, and several thresholds."""

import math
import statistics
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nbinom
from scipy.stats import t as student

from fastad.errors import InsufficientMixingWarning
from fastad.regions import volume
from fastad.regions.box import Box
from fastad.regions.quasi import replicate_counts
from fastad.regions.scores import block_score
from tests.support.volumes import (
    ENOUGH,
    KINDS,
    OPTIONS,
    SHAPES,
    SQUARE,
    TRIALS,
    Array,
    OfBatch,
    ball,
    ball_volume,
    cut_cube,
    drawn,
    ellipsoid,
    fields,
    first,
    first_of_point,
    shell,
    simplex,
    steps,
    two_balls,
)

# Closed forms.


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("shape", SHAPES)
def test_uniform_draws_find_closed_forms(shape: Any, d: int) -> None:
    """By each kind of score for each number of features; functions of a point are compiled."""
    region = shape(d)
    kinds = KINDS if shape in (ball, steps) else KINDS[1:]
    kind = kinds[(SHAPES.index(shape) + d) % len(kinds)]
    result = volume(
        region.score(kind),
        region.threshold,
        region.box,
        method="uniform",
        n_draws=100_000,
        confidence_level=0.99999,
        rng=d,
    )
    assert result.low <= region.fraction <= result.high
    assert result.low <= result.value <= result.high
    assert (result.n_drawn, result.method, result.threshold) == (
        100_000,
        "uniform",
        region.threshold,
    )
    assert result.log_value == math.log(result.value)
    if result.n_inside:
        assert result.value == result.n_inside / result.n_drawn
        error = math.sqrt(result.value * (1 - result.value) / result.n_drawn)
        assert result.standard_error == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("shape", SHAPES)
def test_sobol_draws_find_closed_forms(shape: Any, d: int) -> None:
    region = shape(d)
    result = volume(
        region.batch,
        region.threshold,
        region.box,
        method="sobol",
        n_draws=2**14,
        confidence_level=0.99999,
        rng=d,
    )
    assert result.low <= region.fraction <= result.high
    assert result.low <= result.value <= result.high
    assert (result.n_drawn, result.method) == (2**14, "sobol")
    assert result.is_bound or result.value == result.n_inside / 2**14


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("shape", [ellipsoid, two_balls, shell, cut_cube])
def test_sobol_points_come_closer_than_uniform_ones_where_features_are_few(
    shape: Any, d: int
) -> None:
    region = shape(d)
    errors: dict[str, list[float]] = {"uniform": [], "sobol": []}
    for seed in range(10):
        for method, squares in errors.items():
            options: dict[str, Any] = {"method": method, "n_draws": 2**13, "rng": seed}
            result = volume(region.batch, region.threshold, region.box, **options)
            squares.append((result.value - region.fraction) ** 2)
    assert sum(errors["sobol"]) < sum(errors["uniform"]) / 2


def test_errors_of_sobol_points_are_those_of_the_mean_of_replicates() -> None:
    region = ball(3)
    result = volume(region.batch, 1.0, region.box, method="sobol", n_draws=2**12, rng=3)
    score, rng = block_score(region.batch, 3), np.random.default_rng(3)
    counts, size = replicate_counts(region.box, score, np.array([1.0]), 2**12, rng)
    values = [int(count) / size for count in counts[:, 0]]
    assert (len(values), size) == (16, 2**8)
    assert result.value == pytest.approx(statistics.mean(values), rel=1e-12)
    error = statistics.stdev(values) / 4
    assert result.standard_error == pytest.approx(error, rel=1e-12)
    half = float(student.ppf(0.975, 15)) * error
    assert [result.low, result.high] == pytest.approx([result.value - half, result.value + half])


def test_discrete_regions_are_counted_exactly_by_their_values() -> None:
    """16 values and all of them: nothing but their frequencies is random."""
    box = Box([0], [15], values=[range(16)])
    result = volume(first, [1, 4, 15.5], box, method="sobol", n_draws=2**12, rng=0)
    assert [x.value for x in result] == [1 / 16, 1 / 4, 1]
    constant = Box([3, 0], [3, 1], values=[[3], None])
    assert volume(first, 3, constant, n_draws=1000, rng=0).n_inside == 0
    assert volume(first, math.nextafter(3, 4), constant, n_draws=1000, rng=0).value == 1


@pytest.mark.slow
def test_volumes_in_units_of_the_features() -> None:
    for d in (2, 3, 5):
        axes = np.arange(1, d + 1)
        region = ellipsoid(d)
        options: dict[str, Any] = {"method": "uniform", "n_draws": 200_000, "rng": 0}
        result = volume(region.batch, 1.0, region.box, **options)
        exact = ball_volume(d) * math.prod(axes.tolist())
        assert result.value * region.box.volume == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize(
    ("kind", "box", "options", "method", "n_drawn"),
    [
        ("batch", Box([0] * 12, [1] * 12), {}, "sobol", 2**17),
        ("batch", Box([0] * 13, [1] * 13), {"n_draws": 1000}, "uniform", 1000),
        ("batch", Box([0], [1], values=[[0, 1]]), {"n_draws": 1000}, "uniform", 1000),
        ("jitted", SQUARE, {}, "uniform", 10**6),
        ("compiled", SQUARE, {"n_draws": 5}, "uniform", 5),
        ("batch", SQUARE, {"rtol": 0.5, "n_draws": 1000}, "uniform", None),
        ("batch", SQUARE, {"n_draws": 1000}, "uniform", 1000),
        ("batch", SQUARE, {"n_draws": 1023, "method": "uniform"}, "uniform", 1023),
        ("jitted", SQUARE, {"n_draws": 1023, "method": "sobol"}, "sobol", 512),
        ("jitted", SQUARE, {"n_draws": 1024, "method": "sobol"}, "sobol", 1024),
        ("jitted", SQUARE, {"n_draws": 16, "method": "sobol"}, "sobol", 16),
    ],
)
def test_how_draws_are_made(
    kind: str, box: Box, options: dict[str, Any], method: str, n_drawn: int | None
) -> None:
    score = {"batch": first, "jitted": first_of_point, "compiled": OfBatch(first, box.n_features)}[
        kind
    ]
    result = volume(score, 0.7, box, rng=0, **options)
    assert result.method == method
    assert n_drawn is None or result.n_drawn == n_drawn


# How often intervals cover the true value.


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 1000])
@pytest.mark.parametrize("fraction", [0.002, 0.05, 0.4, 0.98])
def test_coverage_of_uniform_draws(n: int, fraction: float) -> None:
    covered = 0
    for seed in range(TRIALS):
        result = volume(first_of_point, fraction, Box([0], [1]), n_draws=n, rng=seed)
        covered += result.low <= fraction <= result.high
    assert covered >= ENOUGH


@pytest.mark.slow
@pytest.mark.parametrize("rtol", [0.1, 0.4])
@pytest.mark.parametrize("fraction", [0.004, 0.3, 0.97])
def test_coverage_and_error_of_draws_until_a_relative_error(rtol: float, fraction: float) -> None:
    covered, errors = 0, []
    for seed in range(TRIALS):
        result = volume(first_of_point, fraction, Box([0], [1]), rtol=rtol, rng=seed)
        covered += result.low <= fraction <= result.high
        errors.append(result.value / fraction - 1)
        assert result.low <= result.value <= result.high
    assert covered >= ENOUGH
    # The estimate has no bias, and errors no larger than wished: within three deviations.
    assert abs(np.mean(errors)) < 3 * rtol / math.sqrt(TRIALS)
    assert math.sqrt(np.mean(np.square(errors))) <= rtol * (1 + 3 / math.sqrt(2 * TRIALS))


@pytest.mark.slow
@pytest.mark.parametrize("n", [400, 2000])
def test_coverage_where_the_budget_often_ends_the_draws(n: int) -> None:
    """27 hits are wished for; about 20 or 100 are to be had."""
    covered, bounded = 0, 0
    for seed in range(TRIALS):
        result = volume(first_of_point, 0.05, Box([0], [1]), rtol=0.2, n_draws=n, rng=seed)
        covered += result.low <= 0.05 <= result.high
        bounded += result.n_drawn == n
        assert result.n_drawn <= n
    assert covered >= ENOUGH
    assert (bounded > 0) == (n == 400)


@pytest.mark.evidence
@pytest.mark.parametrize(("shape", "d"), [(ellipsoid, 1), (shell, 3)])
def test_coverage_of_sobol_draws(shape: Any, d: int) -> None:
    region = shape(d)
    covered = 0
    for seed in range(TRIALS):
        result = volume(
            region.batch, region.threshold, region.box, method="sobol", n_draws=2048, rng=seed
        )
        covered += result.low <= region.fraction <= result.high
    assert covered >= ENOUGH


# A relative error.


@given(
    st.sampled_from([0.02, 0.3, 1.0]),
    st.sampled_from([0.05, 0.1, 0.2, 0.5, 0.9]),
    st.integers(0, 2**32),
)
def test_draws_end_with_the_hit_that_is_needed(fraction: float, rtol: float, seed: int) -> None:
    result = volume(first, fraction, Box([0], [1]), method="uniform", rtol=rtol, rng=seed)
    hits = math.ceil(round(1 / rtol**2, 9)) + 2
    points = drawn(Box([0], [1]), 65_536, seed)[:, 0]
    assert result.n_inside == hits
    assert result.n_drawn == np.flatnonzero(points < fraction)[hits - 1] + 1
    assert result.value == (hits - 1) / (result.n_drawn - 1)


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("fraction", [0.02, 0.3, 0.7])
def test_ends_of_draws_until_a_relative_error_are_exact(fraction: float, level: float) -> None:
    """As many draws or fewer, and as many or more, are improbable at the ends."""
    options: dict[str, Any] = {"method": "uniform", "rtol": 0.2, "rng": 0}
    result = volume(first, fraction, Box([0], [1]), confidence_level=level, **options)
    misses, hits = result.n_drawn - result.n_inside, result.n_inside
    assert nbinom.cdf(misses, hits, result.low) == pytest.approx((1 - level) / 2, rel=1e-9)
    assert nbinom.sf(misses - 1, hits, result.high) == pytest.approx((1 - level) / 2, rel=1e-9)


@pytest.mark.slow
def test_a_relative_error_out_of_reach_gives_what_the_budget_gives() -> None:
    for kind in KINDS:
        region = ball(3)
        options: dict[str, Any] = {"n_draws": 70_000, "rng": 4, "method": "uniform"}
        until = volume(region.score(kind), 0.5, region.box, rtol=1e-4, **options)
        plain = volume(region.score(kind), 0.5, region.box, **options)
        assert fields(until) == fields(plain)
    none = volume(first, -1, SQUARE, rtol=0.1, n_draws=5000, rng=0)
    assert (none.is_bound, none.n_drawn, none.low) == (True, 5000, 0)


def test_each_of_several_regions_ends_by_itself() -> None:
    result = volume(first, [0.001, 0.5, 2.0], SQUARE, rtol=0.2, n_draws=10_000, rng=0)
    assert result[0].n_drawn == 10_000
    assert result[0].n_inside < 27
    assert [x.n_inside for x in result[1:]] == [27, 27]
    assert result[1].n_drawn < 200
    # All inside: the hits are the draws.
    assert (result[2].n_drawn, result[2].value, result[2].high) == (27, 1, 1)


# Thresholds.

THRESHOLDS = [-math.inf, -1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 3, math.inf]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@given(
    st.lists(st.sampled_from(THRESHOLDS), min_size=1, max_size=7),
    st.sampled_from([list, tuple, np.array]),
    st.sampled_from(KINDS),
)
def test_several_thresholds_give_the_same_as_one_by_one(
    options: dict[str, Any], thresholds: list[float], kind_of_list: Any, kind: str
) -> None:
    """In the order that they are given in, repeated or not."""
    region = simplex(2)
    together = volume(region.score(kind), kind_of_list(thresholds), region.box, rng=3, **options)
    assert isinstance(together, list)
    alone = [volume(region.score(kind), t, region.box, rng=3, **options) for t in thresholds]
    assert [fields(x) for x in together] == [fields(x) for x in alone]
    assert [x.threshold for x in together] == thresholds


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS[:2], ids=str)
def test_the_volume_rises_with_the_threshold(options: dict[str, Any]) -> None:
    region = two_balls(3)
    thresholds = np.linspace(0, 12, 30)
    result = volume(region.batch, thresholds, region.box, rng=0, **options)
    counts = [x.n_inside for x in result]
    assert counts == sorted(counts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_at_the_threshold_is_no_normal_one(kind: str) -> None:
    """Plateaus, as of forests: strictly below."""
    box = Box([0], [1], values=[[0, 0.25, 0.5, 0.75]])
    score = {"batch": first, "jitted": first_of_point, "compiled": OfBatch(first, 1)}[kind]
    thresholds = [0, 0.25, 0.5, 0.75, math.nextafter(0.5, 1), math.nextafter(0.75, 1)]
    result = volume(score, thresholds, box, method="sobol", n_draws=2**10, rng=0)
    fractions = [0.0 if x.is_bound else x.value for x in result]
    assert fractions == [0, 0.25, 0.5, 0.75, 0.75, 1]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32, ">f8"])
def test_scores_of_any_type(dtype: Any) -> None:
    def score(X: Array) -> Array:
        result: Array = (X[:, 0] < 0.25).astype(dtype)
        return result

    thresholds = [0, 0.5, 1, math.nextafter(1, 2)]
    result = volume(score, thresholds, SQUARE, method="sobol", n_draws=2**10, rng=0)
    assert [0 if x.is_bound else x.value for x in result] == [0, 0.75, 0.75, 1]


def test_a_list_of_scores_is_an_array_of_them() -> None:
    result = volume(lambda X: X[:, 0].tolist(), 0.5, SQUARE, n_draws=1000, rng=0)
    assert fields(result) == fields(volume(first, 0.5, SQUARE, n_draws=1000, rng=0))


@pytest.mark.parametrize("threshold", [0.5, np.float32(0.5), np.array(0.5), np.array(0.5, ">f2")])
def test_one_threshold_of_any_type(threshold: Any) -> None:
    result = volume(first, threshold, SQUARE, n_draws=1000, rng=0)
    assert (result.threshold, type(result.threshold)) == (0.5, float)
    assert fields(result) == fields(volume(first, 0.5, SQUARE, n_draws=1000, rng=0))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_infinite_scores_are_ordered(options: dict[str, Any]) -> None:
    def score(X: Array) -> Array:
        return np.where(X[:, 0] < 0.25, -np.inf, np.where(X[:, 0] < 0.5, 0.0, np.inf))

    low, middle, high = volume(score, [-np.inf, 0, np.inf], SQUARE, rng=0, **options)
    assert low.is_bound
    assert middle.value == pytest.approx(0.25, rel=0.3)
    assert high.value == pytest.approx(0.5, rel=0.3)


@pytest.mark.parametrize(
    ("method", "n_draws"),
    [
        ("splitting", 10_000),
        ("auto", 64),
        pytest.param("splitting", 20_000, marks=pytest.mark.slow),
        pytest.param("auto", 20_000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("threshold", [0.05, 0.9])
def test_nothing_lies_below_minus_infinity_and_it_takes_no_draws_from_others(
    method: Any, n_draws: int, threshold: float
) -> None:
    """Of a ball in five features whose volume is a millionth of its cube, and of a larger one."""
    region = ball(5)
    options: dict[str, Any] = {"method": method, "n_draws": n_draws, "rng": 0}

    def quiet(thresholds: Any) -> Any:
        with warnings.catch_warnings():
            # So few particles need not mix.
            warnings.simplefilter("ignore", InsufficientMixingWarning)
            return volume(region.batch, thresholds, region.box, **options)

    alone = quiet(threshold)
    for order in ([-math.inf, threshold], [threshold, -math.inf]):
        together = dict(zip(order, quiet(order), strict=True))
        assert fields(together[threshold]) == fields(alone)
        nothing = together[-math.inf]
        assert (nothing.is_bound, nothing.n_inside, nothing.low) == (True, 0, 0)
        assert 0 < nothing.value == nothing.high < 0.1


def test_sobol_points_until_a_relative_error_end_beside_minus_infinity() -> None:
    region = ball(3)
    options: dict[str, Any] = {"method": "sobol", "rtol": 0.1, "rng": 0}
    nothing, found = volume(region.batch, [-math.inf, 0.9], region.box, **options)
    assert nothing.is_bound
    assert fields(found) == fields(volume(region.batch, 0.9, region.box, **options))
    assert found.n_drawn < 10_000


@pytest.mark.parametrize(("method", "n_draws"), [("uniform", 10_000), ("splitting", 10_000)])
def test_the_complement_of_all_inside_is_a_bound(method: Any, n_draws: int) -> None:
    result = volume(first, 2.0, SQUARE, method=method, n_draws=n_draws, rng=0)
    assert (result.value, result.is_bound) == (1, False)
    others = result.complement
    assert (others.is_bound, others.low) == (True, 0)
    assert others.value == others.high == 1 - result.low > 0
    assert str(others).startswith("< ")
    assert others.complement.value == 1


@pytest.mark.parametrize("threshold", [1.9, 0.5])
def test_as_many_independent_draws_inside_have_the_same_error(threshold: float) -> None:
    """They are binomial, whichever method they stand for: above a half and below it."""
    methods: list[Any] = ["splitting", "sobol", "uniform"]
    for method in methods:
        result = volume(
            lambda X: abs(X).sum(axis=1), threshold, SQUARE, method=method, n_draws=10_000, rng=0
        )
        for one in (result, result.complement):
            error = one.value * math.sqrt((1 - one.value) / one.effective_sample_size)
            assert one.standard_error == pytest.approx(error, rel=1e-9)

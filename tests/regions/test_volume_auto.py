"""The choice of a method, what is said of it, and data."""

import math
import re
from typing import Any

import numba
import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

import fastad
from fastad import Box, InvalidInputError, volume
from fastad.regions import VolumeEstimate, choice
from fastad.regions.uniform import binomial
from tests.support.rare import ball, ellipsoid, simplex
from tests.support.volumes import Counting, OfBatch

Array = Any


def numbers(estimate: VolumeEstimate, *but: str) -> dict[str, str]:
    return {name: repr(value) for name, value in estimate.to_dict().items() if name not in but}


def forest(n_trees: int, d: int, samples: int = 64) -> tuple[Any, Array]:
    X = np.random.default_rng(0).normal(0, 0.3, (500, d))
    model = IsolationForest(n_estimators=n_trees, max_samples=samples, random_state=0).fit(X)
    return fastad.compile_scorer(model), X


# What is chosen.


def test_leaves_of_a_small_forest() -> None:
    scorer, X = forest(5, 2)
    box = Box([-1, -1], [1, 1])
    threshold = float(np.median(scorer.score_samples(X)))
    result = volume(scorer, threshold, box, rng=0)
    assert result.method == "exact"
    assert "forest is small enough" in result.reason
    uniform = volume(scorer, threshold, box, method="uniform", rng=0, confidence_level=0.9999)
    assert uniform.low <= result.value <= uniform.high


def test_draws_for_a_large_forest() -> None:
    scorer, X = forest(100, 10, 256)
    box = Box([-1] * 10, [1] * 10)
    threshold = float(np.quantile(scorer.score_samples(X), 0.95))
    result = volume(scorer, threshold, box, n_draws=50_000, rng=0)
    assert result.method != "exact"
    assert "first draws)" in result.reason


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["jitted", "compiled"])
def test_uniform_draws_where_the_first_ones_fall_inside(kind: str) -> None:
    region = ball(3)
    score = region.jitted if kind == "jitted" else OfBatch(region.batch, 3)
    for seed in (0, 1):
        result = volume(score, [1.0, 0.5], region.box, n_draws=100_000, rng=seed)
        plain = volume(score, [1.0, 0.5], region.box, n_draws=100_000, rng=seed, method="uniform")
        for one, other in zip(result, plain, strict=True):
            assert one.method == "uniform"
            assert re.fullmatch(
                r"enough uniform draws fall inside \(\d+ of 12500 first draws\), with an expected "
                r"relative error of [\d.]+; rejected: importance sampling \(no data\)",
                one.reason,
            )
            assert other.reason == ""
            assert numbers(one, "reason") == numbers(other, "reason")


def test_first_draws_are_counted_in_what_is_said() -> None:
    """The same draws, one after the other, as those of uniform ones."""
    region = ball(3)
    first = volume(region.jitted, 0.5, region.box, n_draws=2**14, rng=7, method="uniform")
    result = volume(region.jitted, 0.5, region.box, n_draws=200_000, rng=7)
    assert f" ({first.n_inside} of 16384 first draws)" in result.reason


@pytest.mark.parametrize("d", [2, 12])
def test_sobol_points_for_a_function_of_a_batch(d: int) -> None:
    score = Counting(lambda X: X[:, 0] + X[:, 1])
    result = volume(score, 0.5, Box([0] * d, [1] * d), n_draws=2**15, rng=0)
    assert result.method == "sobol"
    assert re.search(r"few enough for Sobol points \(\d+ of 1024 first draws\)", result.reason)
    assert result.low <= 0.125 <= result.high
    assert result.n_scored == score.n_scored


def test_no_sobol_points_for_many_or_discrete_features() -> None:
    for box in (Box([0] * 13, [1] * 13), Box([0, 0], [1, 2], values=[None, [0, 1, 2]])):
        score = Counting(lambda X: X[:, 0])
        result = volume(score, 0.5, box, n_draws=2**14, rng=0)
        assert result.method == "uniform"
        assert result.n_scored == score.n_scored
        assert result.low <= 0.5 <= result.high


@pytest.mark.parametrize("kind", ["jitted", "batch"])
def test_data_say_where_to_look(kind: str) -> None:
    region = ball(15)
    score = Counting(region.batch) if kind == "batch" else region.jitted
    result = volume(score, 1.0, region.box, data=region.data(500, 0), n_draws=50_000, rng=0)
    assert result.method == "importance"
    assert re.fullmatch(
        r"too few uniform draws fall inside, and data say where to look \(0 of "
        rf"{1024 if kind == 'batch' else 6250} first draws\); rejected: uniform draws "
        r"\(at least [\d.]+\), splitting \(by levels [\d.]+\)",
        result.reason,
    )
    assert abs(result.log_value - region.log_fraction) < 0.3
    if isinstance(score, Counting):
        assert result.n_scored == score.n_scored


def test_particles_without_data() -> None:
    region = ball(10)
    threshold = 0.2
    truth = region.log_fraction + 5 * math.log(threshold)
    score = Counting(region.batch)
    result = volume(score, threshold, region.box, n_draws=100_000, rng=0, confidence_level=0.999)
    assert result.method == "splitting"
    choice, rejected, assumption = result.reason.split("; ", 2)
    assert choice == (
        "too few uniform draws fall inside, and no data say where to look (0 of 1024 first draws)"
    )
    assert rejected == f"rejected: uniform draws (at least {math.sqrt(1023 / 100_000):.2g})"
    assert assumption.startswith("the interval assumes that no part of the region was missed")
    assert result.log_low <= truth <= result.log_high
    assert result.n_scored == score.n_scored


def test_particles_where_importance_sampling_is_refused() -> None:
    region = ellipsoid(12)
    score = Counting(region.batch)
    with_no_use = np.full((50, 12), 0.99)
    result = volume(
        score,
        0.1,
        region.box,
        data=with_no_use,
        n_draws=100_000,
        rng=0,
        confidence_level=0.9999,
    )
    assert result.method == "splitting"
    assert result.reason.split("; rejected: ")[0] == (
        "too few uniform draws fall inside, and importance sampling is not reliable, because too "
        "few of the data lie in the region (0 of 1024 first draws; "
        "0 of at least 5 distinct samples)"
    )
    assert result.log_low <= region.log_fraction + 6 * math.log(0.1) <= result.log_high


def test_points_that_were_scored_before_a_refusal_are_counted() -> None:
    region = ellipsoid(12)
    score = Counting(region.batch)
    data = np.full((50, 12), 0.99)
    result = volume(score, 0.1, region.box, data=data, n_draws=50_000, rng=0)
    assert "importance sampling is not reliable" in result.reason
    assert result.n_scored == score.n_scored


def test_data_are_not_looked_at_where_uniform_draws_are_as_good() -> None:
    region = ball(2)
    options: dict[str, Any] = {"n_draws": 50_000, "rng": 0}
    result = volume(region.jitted, 1.0, region.box, data=region.data(100, 0), **options)
    assert result.method == "uniform"
    assert result.reason.endswith("; rejected: importance sampling (at best 0.0045)")
    without = volume(region.jitted, 1.0, region.box, **options)
    assert numbers(result, "reason") == numbers(without, "reason")


@pytest.mark.parametrize("kind", ["jitted", "batch"])
def test_data_win_where_a_pilot_expects_a_smaller_error(kind: str) -> None:
    region = ball(6)
    score = Counting(region.batch) if kind == "batch" else region.jitted
    options: dict[str, Any] = {"n_draws": 60_000, "rng": 2}
    result = volume(score, 0.7, region.box, data=region.data(300, 0), **options)
    plain = volume(region.jitted, 0.7, region.box, method="uniform", **options)
    assert result.method == "importance"
    what = "Sobol points" if kind == "batch" else "uniform draws"
    pattern = (
        r"data say where to look, and by a pilot the relative error is ([\d.]+); "
        rf"rejected: {what} \(([\d.]+); (\d+) of (\d+) first draws\)"
    )
    match = re.fullmatch(pattern, result.reason)
    assert match is not None
    expected, rejected = float(match[1]), float(match[2])
    assert expected < rejected
    assert result.relative_error == pytest.approx(expected, rel=0.4)
    if isinstance(score, Counting):
        assert result.n_scored == score.n_scored
    else:
        assert plain.relative_error == pytest.approx(rejected, rel=0.4)
    assert result.n_scored <= 1.05 * 60_000


def test_data_lose_where_a_pilot_expects_no_smaller_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_GAIN", 0.01)
    region = ball(6)
    score = Counting(region.batch)
    result = volume(score, 0.7, region.box, data=region.data(300, 0), n_draws=60_000, rng=2)
    assert result.method == "sobol"
    assert re.search(r"; rejected: importance sampling \([\d.]+\)$", result.reason)
    assert result.n_scored == score.n_scored <= 60_000


@pytest.mark.parametrize(
    ("n_inside", "contradicts"), [(0, True), (430, True), (460, False), (540, False), (570, True)]
)
def test_first_draws_contradict_what_cannot_be(n_inside: int, contradicts: bool) -> None:
    first = choice._First(np.array([900, n_inside]), 1000)
    sure, other = (binomial(n, 10**6, 1.0, 0.95, "uniform") for n in (900_000, 500_000))
    assert first.contradict([sure, other]) == contradicts


@pytest.mark.parametrize("answers", [[True], [False, True]])
def test_what_the_first_draws_contradict_is_rejected(
    answers: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Be it the pilot, or the estimate by all draws behind it."""
    left = list(answers)
    monkeypatch.setattr(choice._First, "contradict", lambda *_: left.pop(0))
    region = ball(6)
    score = Counting(region.batch)
    result = volume(score, 0.7, region.box, data=region.data(300, 0), n_draws=60_000, rng=2)
    assert not left
    assert result.method == "sobol"
    assert result.reason.endswith("rejected: importance sampling (the first draws contradict it)")
    assert result.n_scored == score.n_scored


@numba.njit
def of_two_discs(x: Any) -> float:
    return min(math.hypot(x[0] - 0.2, x[1] - 0.5), math.hypot(x[0] - 0.8, x[1] - 0.5))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [0, 1])
def test_data_that_show_a_part_alone_do_not_lead_astray(seed: int) -> None:
    data = np.array([0.2, 0.5]) + 1e-3 * np.random.default_rng(seed).normal(size=(200, 2))
    result = volume(
        *(of_two_discs, 0.1, Box([0, 0], [1, 1])),
        data=data,
        n_draws=60_000,
        rng=seed,
        confidence_level=0.9999,
    )
    assert result.low <= 2 * math.pi * 0.1**2 <= result.high


def test_few_score_calls_are_uniform() -> None:
    region = ball(20)
    for score in (region.jitted, region.batch):
        result = volume(score, 1.0, region.box, n_draws=9_999, rng=0)
        assert result.method == "uniform"
        assert result.reason == "n_draws is too small for other methods (they take 20000 points)"
        assert result.n_scored == 9_999
        assert result.is_bound


@pytest.mark.one_in(4)
@pytest.mark.parametrize("n_draws", [10_000, 100_000])
@pytest.mark.parametrize("d", [3, 10])
def test_the_budget_includes_the_first_draws(d: int, n_draws: int) -> None:
    for score in (simplex(d).jitted, simplex(d).batch):
        result = volume(score, 1.0, simplex(d).box, n_draws=n_draws, rng=0)
        assert result.n_scored <= 1.25 * n_draws


def test_no_region_at_all_is_uniform() -> None:
    region = ball(3)
    result = volume(region.jitted, [-math.inf, 1.0], region.box, n_draws=20_000, rng=0)
    assert [one.method for one in result] == ["uniform"] * 2
    assert result[0].is_bound
    assert result[0].reason


def test_the_lowest_threshold_decides() -> None:
    region = ball(8)
    thresholds = [1.0, 5.0, 0.01]
    result = volume(
        region.jitted, thresholds, region.box, n_draws=100_000, rng=0, confidence_level=0.9999
    )
    assert {one.method for one in result} == {"splitting"}
    assert len({one.reason.split("; the interval assumes")[0] for one in result}) == 1
    assert len({one.n_scored for one in result}) == 1
    truth = region.log_fraction + 4 * math.log(0.01)
    assert result[2].log_low <= truth <= result[2].log_high
    assert result[0].log_low <= region.log_fraction <= result[0].log_high


def test_reasons_of_a_choice_and_of_a_bound_stand_together() -> None:
    result = volume(
        lambda X: np.maximum(X[:, 0], 0.01), 0.01, Box([0, 0], [1, 1]), n_draws=50_000, rng=0
    )
    assert result.method == "splitting"
    assert result.is_bound
    first, _, last = result.reason.split("; ")
    assert first.endswith("(0 of 1024 first draws)")
    assert last.startswith("all particles have the same score above the threshold")


def test_named_methods_give_no_reason() -> None:
    region = ball(3)
    data = region.data(200, 0)
    for method in ("uniform", "sobol", "importance", "splitting"):
        options: Any = {"method": method, "n_draws": 16_384, "rng": 0, "data": data}
        result = volume(region.batch, 0.3, region.box, **options)
        assert result.method == method
        # Only splitting may miss a part of the region, and says so.
        first, _, _ = result.reason.partition(" that no part")
        assert first == ("the interval assumes" if method == "splitting" else "")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("with_data", [False, True])
def test_the_same_seed_gives_the_same_on_any_number_of_threads(with_data: bool) -> None:
    region = ball(10)
    data = region.data(300, 0) if with_data else None
    results = [
        volume(
            region.jitted, 0.2, region.box, n_draws=50_000, rng=3, data=data, n_threads=n_threads
        )
        for n_threads in (1, 2, 3)
    ]
    assert numbers(results[0]) == numbers(results[1]) == numbers(results[2])


# Data.


@pytest.mark.parametrize("method", ["auto", "importance", "uniform", "splitting"])
def test_bad_data_are_refused(method: Any) -> None:
    region = ball(3)
    for data, message in (
        (np.zeros((5, 2)), "data must have 3 features as the box; found 2"),
        (np.zeros(3), "data must have the shape"),
        (np.full((5, 3), math.nan), "data must contain finite numbers; found others in 5 rows"),
        (np.zeros((0, 3)), "data must contain at least one sample; found none"),
        (np.array([["a", "b", "c"]]), "data must contain numbers"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            volume(region.jitted, 1.0, region.box, data=data, method=method, n_draws=20_000)


def test_importance_sampling_without_data_is_refused() -> None:
    region = ball(3)
    with pytest.raises(InvalidInputError, match="data must be given for method='importance'"):
        volume(region.jitted, 1.0, region.box, method="importance")


def test_importance_sampling_of_useless_data_is_refused() -> None:
    region = ball(3)
    with pytest.raises(InvalidInputError, match="found 0"):
        volume(region.jitted, 0.1, region.box, method="importance", data=np.full((9, 3), 0.9))


def test_data_of_any_kind_of_number() -> None:
    box = Box([0, 0, 0], [9, 9, 9])
    X = np.random.default_rng(0).integers(0, 9, (400, 3))

    @numba.njit
    def largest(x: Any) -> float:
        return float(max(x[0], max(x[1], x[2])))

    results = [
        volume(largest, 3.0, box, data=data, method="importance", n_draws=5000, rng=0)
        for data in (X, X.astype(np.float32), X.tolist(), np.asfortranarray(X, np.float64))
    ]
    assert len({one.value for one in results}) == 1
    assert results[0].low <= 1 / 27 <= results[0].high

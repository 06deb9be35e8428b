"""EM and MV of a detector: values, replicates, and intervals."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad._kernels.random import bits
from fastad._kernels.resampling.draws import draw_evenly
from fastad.unsupervised import emmv, level_sets, required_uniform_draws
from fastad.unsupervised.criteria import CriteriaPlan
from fastad.unsupervised.criteria_estimation import (
    PointLevels,
    Spread,
    replicate_logs,
    student_interval,
)
from fastad.unsupervised.mass_volume import Window
from tests.support import levels as slow
from tests.support.criteria import (
    Array,
    Scores,
    criteria_of,
    criteria_of_normal,
    evaluate,
    first,
    points,
)
from tests.support.levels import Scored
from tests.support.volumes import norm, norm_of_point

# Values.


@given(slow.small_floats())
def test_values_are_the_areas_of_the_curves(scored: Scored) -> None:
    both = scored.test, scored.uniform
    result = emmv({"a": both[0]}, {"a": both[1]}, 3.0, rng=0, n_resamples=20)["a"]
    mass = fastad.mass_volume_curve(*both, 3.0)
    excess = fastad.excess_mass_curve(*both, 3.0)
    assert result.mv.value == mass.area()
    assert result.mv.log_value == mass.log_area()
    try:
        area = excess.area()
    except UndefinedMeasureError as error:
        assert math.isnan(result.em.value)
        assert math.isnan(result.em.low)
        reason = str(error)
    else:
        reason = ""
        assert result.em.value == area
        assert result.em.log_value == excess.log_area()
    assert result.em.reason == reason
    for criterion in result:
        printed, _, interval = str(criterion).partition(" [")
        if criterion.reason:
            assert (printed, interval) == ("undefined", "")
        else:
            # Of the exponential of the logarithm, which may round a half to either side.
            assert printed in {f"{criterion.value * x:.3g}" for x in (1 - 1e-12, 1, 1 + 1e-12)}
            assert interval
        assert criterion.n_test == len(scored.test)
        assert criterion.n_uniform == len(scored.uniform)
        assert criterion.n_resamples == 20
        if math.isfinite(criterion.low):
            assert 0 <= criterion.low <= criterion.high


def test_other_areas_may_be_requested() -> None:
    X, U = points(0, 300, 3000)
    mass = fastad.mass_volume_curve(norm(X), norm(U), 100.0)
    excess = fastad.excess_mass_curve(norm(X), norm(U), 100.0)
    result = evaluate({"a": norm}, X, U, mass=(0.5, 0.95), excess_mass=0.4)["a"]
    assert result.mv.value == mass.area(0.5, 0.95)
    assert result.em.value == excess.area(0.4)
    levels = mass.levels
    again = criteria_of(levels, mass=(0.5, 0.95), excess_mass=0.4, rng=0, n_resamples=200)
    assert [x.value for x in again] == [x.value for x in result]
    for name in ("sampling_error", "monte_carlo_error"):
        for a, b in zip(again, result, strict=True):
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=0.35)


def test_logarithms_are_those_of_the_ends() -> None:
    for criterion in criteria_of_normal():
        for name in ("value", "low", "high"):
            value = getattr(criterion, name)
            assert getattr(criterion, f"log_{name}") == pytest.approx(math.log(value), abs=1e-12)


@pytest.mark.parametrize("log_volume", [-2000.0, 900.0, 1e5])
def test_beyond_all_floats_the_logarithms_of_the_intervals_stay(log_volume: float) -> None:
    X, U = points(0, 300, 3000)
    expected = emmv({"a": norm(X)}, {"a": norm(U)}, 1.0, rng=0, n_resamples=50)["a"]
    result = emmv({"a": norm(X)}, {"a": norm(U)}, log_volume=log_volume, rng=0, n_resamples=50)["a"]
    for sign, a, b in zip((-1, 1), result, expected, strict=True):
        for name in ("log_value", "log_low", "log_high"):
            shift = getattr(a, name) - getattr(b, name)
            assert shift == pytest.approx(sign * log_volume, rel=1e-12)
        assert a.value in (0.0, math.inf)
        assert a.sampling_error == pytest.approx(b.sampling_error, rel=1e-6)
        assert "nan" not in str(a)
        assert json.dumps(a.to_dict(), allow_nan=False)


# Replicates.


def redrawn(key: np.uint64, replicate: int, kind: int, scores: Array) -> Array:
    """The points of a replicate, each as often as it is drawn."""
    times = np.empty(len(scores), np.uint8)
    stream = bits(np.uint64(bits(key, replicate)), kind)
    draw_evenly(np.uint64(stream), len(scores), times, np.empty(512, np.int64))
    return np.repeat(scores, times)


@given(slow.small_floats(max_size=12), st.booleans(), st.booleans())
def test_a_replicate_has_the_criteria_of_its_points(
    scored: Scored, of_test: bool, of_uniform: bool
) -> None:
    curve = fastad.mass_volume_curve(scored.test, scored.uniform, 1)
    levels, n, key = curve.levels, len(scored.test), np.uint64(12345)
    mass, height = (Fraction(3, 10), Fraction(19, 20)), Fraction(3, 5)
    plan, window = CriteriaPlan(mass, height, 10, 0.95, key), Window.of(*mass, n)
    points, volumes = PointLevels.of(levels, scored.test, scored.uniform), levels.volumes(0)
    drawn = of_test, of_uniform
    result = np.exp(replicate_logs(levels, points, plan, window, [volumes] * 2, 10, drawn))
    for replicate in range(10):
        test = redrawn(key, replicate, 0, scored.test) if of_test else scored.test
        uniform = redrawn(key, replicate, 1, scored.uniform) if of_uniform else scored.uniform
        sets = slow.level_sets(Scored(test, uniform), Fraction(1))
        mv = slow.mass_volume_area(sets, *mass)
        em = slow.area_or_none(lambda sets=sets: slow.excess_mass_area(sets, height))  # type: ignore[misc]
        assert result[replicate, 1] == pytest.approx(float(mv), rel=1e-12)
        if em is None:
            assert math.isnan(result[replicate, 0])
        else:
            assert result[replicate, 0] == pytest.approx(float(em), rel=1e-12)


# Intervals.


@pytest.mark.evidence
@pytest.mark.parametrize("seed", [0])
def test_intervals_cover_the_true_value_in_most_samples(seed: int) -> None:
    """Of 60 at 95 %: 51 or more, but for one case in about 500 at a coverage of 94 %."""
    em, mv = slow.normal_areas(2)
    hits = np.zeros(2, int)
    for number in range(60):
        result = criteria_of_normal(1000 * seed + number, n=1000, m=10_000)
        hits += [result.em.low < em < result.em.high, result.mv.low < mv < result.mv.high]
    assert hits.min() >= 50


@pytest.mark.evidence
def test_intervals_are_not_too_wide() -> None:
    """At 50 % they miss the truth in a good part of the samples."""
    em, mv = slow.normal_areas(2)
    hits = np.zeros(2, int)
    for number in range(40):
        result = criteria_of_normal(number, n=1000, m=5000, confidence_level=0.5, n_resamples=100)
        hits += [result.em.low < em < result.em.high, result.mv.low < mv < result.mv.high]
    assert hits.max() <= 31
    assert hits.min() >= 9


def test_a_higher_confidence_is_a_wider_interval() -> None:
    widths = []
    for level in (0.5, 0.9, 0.99):
        result = criteria_of_normal(confidence_level=level)
        assert result.em.confidence_level == level
        widths.append([x.log_high - x.log_low for x in result])
    assert (np.diff(widths, axis=0) > 0).all()


def test_errors_fall_with_the_square_root_of_the_points() -> None:
    few = criteria_of_normal(m=4000, n_resamples=400)
    many = criteria_of_normal(m=64_000, n_resamples=400)
    for a, b in zip(few, many, strict=True):
        assert a.monte_carlo_error / b.monte_carlo_error == pytest.approx(4, rel=0.3)
        assert a.sampling_error == pytest.approx(b.sampling_error, rel=0.4)
    short, long = criteria_of_normal(n=200, m=50_000), criteria_of_normal(n=3200, m=50_000)
    assert short.mv.sampling_error / long.mv.sampling_error == pytest.approx(4, rel=0.5)


def test_the_volume_error_is_that_of_fresh_uniform_points() -> None:
    X, _ = points(0, 500, 1)
    logs = []
    for seed in range(60):
        U = points(seed, 1, 4000)[1]
        result = evaluate({"a": norm}, X, U, n_resamples=2)["a"]
        logs.append([x.log_value for x in result])
    spread = np.std(logs, axis=0, ddof=1)
    result = evaluate({"a": norm}, X, points(99, 1, 4000)[1])["a"]
    for criterion, expected in zip(result, spread.tolist(), strict=True):
        assert criterion.monte_carlo_error == pytest.approx(expected, rel=0.35)


def test_how_many_uniform_points_a_wish_needs() -> None:
    few = criteria_of_normal(m=4000, n_resamples=400)
    for a in few:
        wanted = a.required_uniform_draws(a.monte_carlo_error / 4)
        assert wanted == pytest.approx(64_000, rel=1e-3)
        assert a.required_uniform_draws(0.001) > a.required_uniform_draws(0.01) >= 1
        with pytest.raises(InvalidInputError, match="rtol must lie strictly between"):
            a.required_uniform_draws(0)
    many = criteria_of_normal(m=few.mv.required_uniform_draws(0.01))
    assert many.mv.monte_carlo_error == pytest.approx(0.01, rel=0.25)


def test_how_many_uniform_points_a_fraction_needs() -> None:
    fraction, rtol = 0.02, 0.05
    m = required_uniform_draws(fraction, rtol=rtol)
    assert m == math.ceil(0.98 / (0.02 * 0.0025))
    rng = np.random.default_rng(0)
    result = rng.binomial(m, fraction, size=4000) / m
    assert np.std(result) / fraction == pytest.approx(rtol, rel=0.05)
    for bad in (0, 1, -0.1, math.nan):
        with pytest.raises(InvalidInputError):
            required_uniform_draws(bad, rtol=0.1)
        with pytest.raises(InvalidInputError):
            required_uniform_draws(0.1, rtol=bad)


@pytest.mark.slow
def test_of_estimates_by_splitting_no_number_of_uniform_points_follows() -> None:
    levels = level_sets(
        norm_of_point, points(0, 300, 1)[0], method="splitting", n_draws=50_000, rng=0
    )
    result = criteria_of(levels, rng=0, n_resamples=50)
    assert result.em.n_uniform is None
    assert 0 < result.mv.monte_carlo_error < 0.2
    with pytest.raises(UndefinedMeasureError, match="known where volumes are counted"):
        result.mv.required_uniform_draws(0.1)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_intervals() -> None:
    X, U = points(0, 1000, 10_000)
    scores: Scores = {"a": norm, "b": first}
    alone = evaluate(scores, X, U, n_threads=1, n_resamples=200)
    assert alone.to_json() == evaluate(scores, X, U, n_threads=3, n_resamples=200).to_json()
    assert alone.to_json() == evaluate(scores, X, U, n_resamples=200).to_json()
    assert alone.to_json() != evaluate(scores, X, U, n_resamples=200, rng=1).to_json()
    levels = fastad.mass_volume_curve(norm(X), norm(U), 100.0).levels
    results = [str(criteria_of(levels, rng=3, n_threads=k, n_resamples=200)) for k in (1, 3)]
    assert results[0] == results[1]


@pytest.mark.parametrize("shift", [0, 2**53, 2**62])
def test_only_the_order_of_the_scores_counts(shift: int) -> None:
    """Integers beyond 2**53 too, which no float64 holds."""
    X, U = points(0, 400, 4000)
    test, uniform = (np.round(norm(rows) * 100).astype(np.int64) for rows in (X, U))
    options: dict[str, Any] = {"rng": 0, "n_resamples": 50}
    expected = emmv({"a": test}, {"a": uniform}, 1.0, **options)
    moved = emmv({"a": test + shift}, {"a": uniform + shift}, 1.0, **options)
    assert moved.to_json() == expected.to_json()
    floats = emmv({"a": np.expm1(test / 50)}, {"a": np.expm1(uniform / 50)}, 1.0, **options)
    assert floats.to_json() == expected.to_json()


# Undefined criteria.


def test_where_no_uniform_point_falls_inside_mv_has_an_upper_bound() -> None:
    result = emmv({"a": np.arange(20.0)}, {"a": np.full(1000, 50.0)}, 7.0, rng=0)["a"].mv
    assert result.value == result.low == 0.0
    assert result.log_value == result.log_low == -math.inf
    # None of 1000, at 97.5 %, over the width of 0.099.
    fraction = 1 - 0.025 ** (1 / 1000)
    assert result.high == pytest.approx(fraction * 7.0 * 0.099, rel=1e-12)
    assert str(result).startswith("0 [0, ")
    assert result.to_dict()["log_value"] == "-inf"
    assert result.reason == ""
    with pytest.raises(UndefinedMeasureError, match="some points fall inside"):
        result.required_uniform_draws(0.1)


def test_an_undefined_em_has_a_reason_and_is_left_out_of_rankings() -> None:
    X, U = points(0, 300, 3000)
    test = {"a": norm(X), "b": first(X), "far": np.arange(300.0) - 1000}
    uniform = {"a": norm(U), "b": first(U), "far": norm(U)}
    result = emmv(test, uniform, 100.0, rng=0, n_resamples=100)
    em = result["far"].em
    assert all(math.isnan(x) for x in (em.value, em.low, em.high, em.log_value, em.log_low))
    assert "score below all uniform points; found 300 of 300" in em.reason
    assert str(em) == "undefined"
    assert [place.detector for place in result.ranking("em")] == ["a", "b"]
    assert [place.detector for place in result.ranking("mv")] == ["far", "a", "b"]
    assert all("far" not in pair for pair in result.significant_pairs("em"))
    row = next(x for x in result.to_dict()["detectors"] if x["detector"] == "far")
    assert row["em"]["value"] is None
    assert row["em"]["reason"] == em.reason
    columns = result.to_columns()
    assert columns["em_best"][2] is None
    assert math.isnan(columns["em"][2])
    assert "undefined" in str(result)
    assert json.loads(result.to_json()) == result.to_dict()


@pytest.mark.parametrize("k", [1, 3, 9])
def test_of_few_uniform_points_inside_intervals_are_those_of_their_number(k: int) -> None:
    """Test points of one score have one level set, of a volume V: EM falls by V up to 0.1 / V."""
    uniform = np.where(np.arange(1000) < k, 0.0, 1.0)
    result = emmv({"a": np.zeros(50)}, {"a": uniform}, 1.0, rng=0, n_resamples=2000)["a"]
    low, high = binomtest(k, 1000).proportion_ci(method="exact")
    ends = [result.mv.low / 0.099, result.mv.high / 0.099]
    ends += [0.095 / result.em.high, 0.095 / result.em.low]
    assert ends == pytest.approx([low, high] * 2, rel=0.15)


def test_an_interval_allows_for_undefined_replicates() -> None:
    """EM is defined, most of its replicates are not."""
    test, uniform = {"a": np.arange(10.0)}, {"a": [8.5, *[20.0] * 100]}
    em = emmv(test, uniform, 1.0, rng=0)["a"].em
    assert 2 * em.n_undefined > em.n_resamples
    # One point is inside: there may be as many as where none is, by the inverse of which EM falls.
    most = 101 * binomtest(0, 101).proportion_ci(method="exact").high
    assert 0 < em.low < em.value / most < em.value < em.high < math.inf


def test_a_value_without_an_interval_is_told() -> None:
    test, uniform = {"a": np.arange(10.0)}, {"a": [8.5, *[20.0] * 100]}
    result = emmv(test, uniform, 1.0, rng=0, n_resamples=1)
    em = result["a"].em
    assert em.value > 0
    assert str(em) == f"{em.value:.3g} [nan, nan]"
    assert str(em) in str(result)
    assert json.loads(result.to_json())


@pytest.mark.parametrize("n_resamples", [1, 2, 3, 18, 19])
def test_fewer_replicates_than_a_level_needs_tell_no_difference(n_resamples: int) -> None:
    """At 95 % one of twenty is beyond the quantile."""
    X, U = points(0, 200, 2000)
    result = evaluate({"a": norm, "b": first}, X, U, n_resamples=n_resamples)
    pairs = [("a", "b")] if n_resamples == 19 else []
    assert [result.significant_pairs("em"), result.significant_pairs("mv")] == [pairs, pairs]
    assert ("nan" in str(result)) == (n_resamples == 1)
    assert json.loads(result.to_json())


@pytest.mark.parametrize("n_resamples", [2, 3, 10, 1000])
def test_intervals_of_few_replicates_are_those_of_student(n_resamples: int) -> None:
    """Of normal errors with a known mean, which a value and its replicates share."""
    rng = np.random.default_rng(n_resamples)
    n, covered = 4000, 0
    for value in rng.normal(size=n):
        replicates = value + rng.normal(size=n_resamples)
        low, high = student_interval(value, Spread.of(replicates), math.inf, 0.95)
        covered += low <= 0 <= high
    assert abs(covered / n - 0.95) < 4 * math.sqrt(0.95 * 0.05 / n)


@pytest.mark.parametrize(("test", "uniform"), [([1.0], [0.0]), ([1.0], [2.0]), ([1.0], [1.0])])
def test_one_point_of_each_kind(test: list[float], uniform: list[float]) -> None:
    result = emmv({"a": test}, {"a": uniform}, 1.0, rng=0, n_resamples=10)
    assert len(str(result).splitlines()) >= 3
    assert result.summary() == "EM and MV: fewer than two detectors to compare"


def test_one_test_point_has_no_interval() -> None:
    """Its resamples are itself: the interval showed the errors of the volumes alone."""
    uniform = np.random.default_rng(0).uniform(0, 5, 3000)
    for n, is_known in ((1, False), (2, True)):
        both = fastad.unsupervised.emmv({"a": np.full(n, 0.5)}, {"a": uniform}, 5.0, rng=0)["a"]
        for criterion in (both.em, both.mv):
            assert criterion.value > 0
            assert math.isnan(criterion.low) != is_known

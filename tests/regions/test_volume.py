"""Volumes of decision regions: closed forms, coverage of the intervals, thresholds, bad input."""

import math
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.detectors.scorer import CompiledScorer
from fastad.regions import volume, volume_at_fpr
from fastad.regions.box import Box
from tests.support.volumes import (
    KINDS,
    SHAPES,
    Array,
    OfBatch,
    all_discrete,
    ball,
    ball_volume,
    cut_cube,
    drawn,
    ellipsoid,
    fields,
    first,
    first_of_point,
    norm,
    shell,
    simplex,
    steps,
    two_balls,
)

SQUARE = Box([0, 0], [1, 1])
# So often an interval of 95 % must hold the truth in 400 trials: four deviations below 380.
TRIALS, ENOUGH = 400, 364


# --- closed forms


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("shape", SHAPES)
def test_uniform_draws_find_closed_forms(shape: Any, d: int, kind: str) -> None:
    region = shape(d)
    found = volume(
        region.score(kind),
        region.threshold,
        region.box,
        method="uniform",
        n_draws=100_000,
        confidence_level=0.99999,
        rng=d,
    )
    assert found.low <= region.share <= found.high
    assert found.low <= found.value <= found.high
    assert (found.n_drawn, found.method, found.threshold) == (100_000, "uniform", region.threshold)
    assert found.log_value == math.log(found.value)
    if found.n_inside:
        assert found.value == found.n_inside / found.n_drawn
        error = math.sqrt(found.value * (1 - found.value) / found.n_drawn)
        assert found.standard_error == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("shape", SHAPES)
def test_sobol_draws_find_closed_forms(shape: Any, d: int) -> None:
    region = shape(d)
    found = volume(
        region.batch,
        region.threshold,
        region.box,
        method="sobol",
        n_draws=2**14,
        confidence_level=0.99999,
        rng=d,
    )
    assert found.low <= region.share <= found.high
    assert found.low <= found.value <= found.high
    assert (found.n_drawn, found.method) == (2**14, "sobol")
    assert found.is_bound or found.value == found.n_inside / 2**14


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("shape", [ellipsoid, two_balls, shell, cut_cube])
def test_sobol_points_come_closer_than_uniform_ones_where_features_are_few(
    shape: Any, d: int
) -> None:
    region = shape(d)
    errors: dict[str, list[float]] = {"uniform": [], "sobol": []}
    for seed in range(10):
        for method, own in errors.items():
            options: dict[str, Any] = {"method": method, "n_draws": 2**13, "rng": seed}
            found = volume(region.batch, region.threshold, region.box, **options)
            own.append((found.value - region.share) ** 2)
    assert sum(errors["sobol"]) < sum(errors["uniform"]) / 2


def test_discrete_regions_are_counted_exactly_by_their_values() -> None:
    """16 values and all of them: nothing but their frequencies is random."""
    box = Box([0], [15], values=[range(16)])
    found = volume(first, [1, 4, 15.5], box, method="sobol", n_draws=2**12, rng=0)
    assert [x.value for x in found] == [1 / 16, 1 / 4, 1]
    constant = Box([3, 0], [3, 1], values=[[3], None])
    assert volume(first, 3, constant, n_draws=1000, rng=0).n_inside == 0
    assert volume(first, math.nextafter(3, 4), constant, n_draws=1000, rng=0).value == 1


def test_volumes_in_units_of_the_features() -> None:
    for d in (2, 3, 5):
        axes = np.arange(1, d + 1)
        region = ellipsoid(d)
        found = volume(region.jitted, 1.0, region.box, n_draws=10**6, rng=0)
        exact = ball_volume(d) * math.prod(axes.tolist())
        assert found.value * region.box.volume == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize(
    ("kind", "box", "options", "method", "n_drawn"),
    [
        ("batch", Box([0] * 12, [1] * 12), {}, "sobol", 2**17),
        ("batch", Box([0] * 13, [1] * 13), {"n_draws": 1000}, "uniform", 1000),
        ("batch", Box([0], [1], values=[[0, 1]]), {"n_draws": 1000}, "uniform", 1000),
        ("jitted", SQUARE, {}, "uniform", 10**6),
        ("compiled", SQUARE, {"n_draws": 5}, "uniform", 5),
        ("batch", SQUARE, {"rtol": 0.5}, "uniform", None),
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
    score = {
        "batch": first,
        "jitted": first_of_point,
        "compiled": OfBatch(first, box.n_features),
    }[kind]
    found = volume(score, 0.5, box, rng=0, **options)
    assert found.method == method
    assert n_drawn is None or found.n_drawn == n_drawn


# --- how often intervals hold the truth


@pytest.mark.parametrize("n", [30, 1000])
@pytest.mark.parametrize("share", [0.002, 0.05, 0.4, 0.98])
def test_coverage_of_uniform_draws(n: int, share: float) -> None:
    held = 0
    for seed in range(TRIALS):
        found = volume(first_of_point, share, Box([0], [1]), n_draws=n, rng=seed)
        held += found.low <= share <= found.high
    assert held >= ENOUGH


@pytest.mark.parametrize("rtol", [0.1, 0.4])
@pytest.mark.parametrize("share", [0.004, 0.3, 0.97])
def test_coverage_and_error_of_draws_until_a_relative_error(rtol: float, share: float) -> None:
    held, errors = 0, []
    for seed in range(TRIALS):
        found = volume(first_of_point, share, Box([0], [1]), rtol=rtol, rng=seed)
        held += found.low <= share <= found.high
        errors.append(found.value / share - 1)
        assert found.low <= found.value <= found.high
    assert held >= ENOUGH
    # The estimate has no bias, and errors no larger than wished: within three deviations.
    assert abs(np.mean(errors)) < 3 * rtol / math.sqrt(TRIALS)
    assert math.sqrt(np.mean(np.square(errors))) <= rtol * (1 + 3 / math.sqrt(2 * TRIALS))


@pytest.mark.parametrize("n", [400, 2000])
def test_coverage_where_the_budget_often_ends_the_draws(n: int) -> None:
    """27 hits are wished for; about 20 or 100 are to be had."""
    held, bounded = 0, 0
    for seed in range(TRIALS):
        found = volume(first_of_point, 0.05, Box([0], [1]), rtol=0.2, n_draws=n, rng=seed)
        held += found.low <= 0.05 <= found.high
        bounded += found.n_drawn == n
        assert found.n_drawn <= n
    assert held >= ENOUGH
    assert (bounded > 0) == (n == 400)


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("shape", "d"), [(ellipsoid, 1), (two_balls, 2), (shell, 3), (simplex, 4), (cut_cube, 5)]
)
def test_coverage_of_sobol_draws(shape: Any, d: int) -> None:
    region = shape(d)
    held = 0
    for seed in range(TRIALS):
        found = volume(
            region.batch, region.threshold, region.box, method="sobol", n_draws=2048, rng=seed
        )
        held += found.low <= region.share <= found.high
    assert held >= ENOUGH


# --- a wished relative error


@given(
    st.sampled_from([0.02, 0.3, 1.0]),
    st.sampled_from([0.05, 0.1, 0.2, 0.5, 0.9]),
    st.integers(0, 2**32),
)
def test_draws_end_with_the_hit_that_is_needed(share: float, rtol: float, seed: int) -> None:
    found = volume(first, share, Box([0], [1]), rtol=rtol, rng=seed)
    hits = math.ceil(round(1 / rtol**2, 9)) + 2
    points = drawn(Box([0], [1]), 65_536, seed)[:, 0]
    assert found.n_inside == hits
    assert found.n_drawn == np.flatnonzero(points < share)[hits - 1] + 1
    assert found.value == (hits - 1) / (found.n_drawn - 1)


def test_a_relative_error_out_of_reach_gives_what_the_budget_gives() -> None:
    for kind in KINDS:
        region = ball(3)
        options: dict[str, Any] = {"n_draws": 70_000, "rng": 4}
        until = volume(region.score(kind), 0.5, region.box, rtol=1e-4, **options)
        plain = volume(region.score(kind), 0.5, region.box, method="uniform", **options)
        assert fields(until) == fields(plain)
    none = volume(first, -1, SQUARE, rtol=0.1, n_draws=5000, rng=0)
    assert (none.is_bound, none.n_drawn, none.low) == (True, 5000, 0)


def test_each_of_several_regions_ends_by_itself() -> None:
    found = volume(first, [0.001, 0.5, 2.0], SQUARE, rtol=0.2, n_draws=10_000, rng=0)
    assert found[0].n_drawn == 10_000
    assert found[0].n_inside < 27
    assert [x.n_inside for x in found[1:]] == [27, 27]
    assert found[1].n_drawn < 200
    # All inside: the hits are the draws.
    assert (found[2].n_drawn, found[2].value, found[2].high) == (27, 1, 1)


# --- thresholds

THRESHOLDS = [-math.inf, -1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 3, math.inf]
HOW: list[dict[str, Any]] = [
    {"method": "uniform", "n_draws": 10_000},
    {"method": "sobol", "n_draws": 2**10},
    {"rtol": 0.1, "n_draws": 10_000},
]


@pytest.mark.parametrize("options", HOW, ids=str)
@given(
    st.lists(st.sampled_from(THRESHOLDS), min_size=1, max_size=7),
    st.sampled_from([list, tuple, np.array]),
    st.sampled_from(KINDS),
)
def test_several_thresholds_are_answered_as_one_by_one(
    options: dict[str, Any], thresholds: list[float], kind_of_list: Any, kind: str
) -> None:
    """In the order that they are given in, repeated or not."""
    region = simplex(2)
    together = volume(region.score(kind), kind_of_list(thresholds), region.box, rng=3, **options)
    assert isinstance(together, list)
    alone = [volume(region.score(kind), t, region.box, rng=3, **options) for t in thresholds]
    assert [fields(x) for x in together] == [fields(x) for x in alone]
    assert [x.threshold for x in together] == thresholds


@pytest.mark.parametrize("options", HOW[:2], ids=str)
def test_the_volume_rises_with_the_threshold(options: dict[str, Any]) -> None:
    region = two_balls(3)
    thresholds = np.linspace(0, 12, 30)
    found = volume(region.jitted, thresholds, region.box, rng=0, **options)
    counts = [x.n_inside for x in found]
    assert counts == sorted(counts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_at_the_threshold_is_no_normal_one(kind: str) -> None:
    """Plateaus, as of forests: strictly below."""
    box = Box([0], [1], values=[[0, 0.25, 0.5, 0.75]])
    score = {"batch": first, "jitted": first_of_point, "compiled": OfBatch(first, 1)}[kind]
    thresholds = [0, 0.25, 0.5, 0.75, math.nextafter(0.5, 1), math.nextafter(0.75, 1)]
    found = volume(score, thresholds, box, method="sobol", n_draws=2**10, rng=0)
    shares = [0.0 if x.is_bound else x.value for x in found]
    assert shares == [0, 0.25, 0.5, 0.75, 0.75, 1]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32, ">f8"])
def test_scores_of_any_type(dtype: Any) -> None:
    def score(X: Array) -> Array:
        found: Array = (X[:, 0] < 0.25).astype(dtype)
        return found

    thresholds = [0, 0.5, 1, math.nextafter(1, 2)]
    found = volume(score, thresholds, SQUARE, method="sobol", n_draws=2**10, rng=0)
    assert [0 if x.is_bound else x.value for x in found] == [0, 0.75, 0.75, 1]


def test_a_list_of_scores_is_an_array_of_them() -> None:
    found = volume(lambda X: X[:, 0].tolist(), 0.5, SQUARE, n_draws=1000, rng=0)
    assert fields(found) == fields(volume(first, 0.5, SQUARE, n_draws=1000, rng=0))


@pytest.mark.parametrize("threshold", [0.5, np.float32(0.5), np.array(0.5), np.array(0.5, ">f2")])
def test_one_threshold_of_any_type(threshold: Any) -> None:
    found = volume(first, threshold, SQUARE, n_draws=1000, rng=0)
    assert (found.threshold, type(found.threshold)) == (0.5, float)
    assert fields(found) == fields(volume(first, 0.5, SQUARE, n_draws=1000, rng=0))


@pytest.mark.parametrize("options", HOW, ids=str)
def test_infinite_scores_are_ordered(options: dict[str, Any]) -> None:
    def score(X: Array) -> Array:
        return np.where(X[:, 0] < 0.25, -np.inf, np.where(X[:, 0] < 0.5, 0.0, np.inf))

    low, middle, high = volume(score, [-np.inf, 0, np.inf], SQUARE, rng=0, **options)
    assert low.is_bound
    assert middle.value == pytest.approx(0.25, rel=0.3)
    assert high.value == pytest.approx(0.5, rel=0.3)


# --- nothing and everything inside


@pytest.mark.parametrize("threshold", [-1, -math.inf, 0])
@pytest.mark.parametrize("options", HOW, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_where_no_draw_falls_inside_the_value_is_a_bound(
    threshold: float, options: dict[str, Any], kind: str
) -> None:
    region = simplex(2)
    found = volume(region.score(kind), threshold, region.box, rng=0, **options)
    n = options["n_draws"]
    assert (found.is_bound, found.n_inside, found.n_drawn, found.low) == (True, 0, n, 0)
    assert found.value == found.high == pytest.approx(1 - 0.025 ** (1 / n), rel=1e-12)
    assert found.log_value == math.log(found.high)
    assert math.isnan(found.standard_error)
    assert str(found) == f"< {found.high:.3g} (none of {n} draws fell inside)"
    others = found.complement
    assert (others.is_bound, others.value, others.log_value, others.high) == (False, 1, 0, 1)
    assert (others.n_inside, others.n_drawn, others.low) == (n, n, 1 - found.high)
    assert others.complement.is_bound
    assert others.complement.value == pytest.approx(found.value, rel=1e-9)
    assert found.to_dict()["standard_error"] is None


@pytest.mark.parametrize("threshold", [2.1, math.inf])
@pytest.mark.parametrize("options", HOW, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_where_all_draws_fall_inside(threshold: float, options: dict[str, Any], kind: str) -> None:
    region = simplex(2)
    found = volume(region.score(kind), threshold, region.box, rng=0, **options)
    assert found.n_inside == found.n_drawn
    assert (found.value, found.high, found.log_value, found.is_bound) == (1, 1, 0, False)
    assert 0.9 < found.low < 1
    others = found.complement
    assert (others.is_bound, others.n_inside, others.low) == (True, 0, 0)
    assert others.value == others.high == 1 - found.low
    assert others.log_value == pytest.approx(math.log(others.value), rel=1e-14)
    assert str(others).startswith("< ")


@given(st.floats(0.01, 0.99), st.sampled_from(HOW), st.sampled_from([0.5, 0.9, 0.95, 1 - 1e-12]))
def test_the_complement_is_the_rest(
    threshold: float, options: dict[str, Any], level: float
) -> None:
    found = volume(first, threshold, SQUARE, rng=0, confidence_level=level, **options)
    others = found.complement
    assert found.value + others.value == pytest.approx(1, abs=1e-15)
    assert (others.low, others.high) == (1 - found.high, 1 - found.low)
    assert others.n_inside + found.n_inside == others.n_drawn == found.n_drawn
    assert others.log_value == pytest.approx(math.log(others.value), rel=1e-14)
    assert (others.standard_error, others.threshold) == (found.standard_error, found.threshold)
    back = others.complement
    assert back.n_inside == found.n_inside
    assert back.value == pytest.approx(found.value, abs=1e-15)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert str(found).startswith(f"{found.value:.4g} [")
    assert found.confidence_level == level


def test_intervals_widen_with_the_level() -> None:
    for options in HOW:
        widths = [
            x.high - x.low
            for level in (1e-6, 0.5, 0.9, 0.99, 1 - 1e-15)
            for x in [volume(first, 0.3, SQUARE, rng=0, confidence_level=level, **options)]
        ]
        assert widths == sorted(widths)
        assert widths[0] < widths[-1]


def test_an_estimate_is_fixed_and_plain() -> None:
    found = volume(first, 0.5, SQUARE, method="uniform", n_draws=100, rng=0)
    with pytest.raises(AttributeError):
        found.value = 1  # type: ignore[misc]
    plain = found.to_dict()
    assert plain.pop("mixing_p_value") is None
    assert {type(x) for x in plain.values()} <= {float, int, str, bool}
    assert (plain["value"], plain["n_inside"]) == (found.value, found.n_inside)
    assert volume(first, math.inf, SQUARE, n_draws=100, rng=0).to_dict()["threshold"] == "inf"


# --- at a false positive rate


def labelled(n: int = 400) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(n, 2)), rng.uniform(-4, 4, (n // 10, 2))]
    return X, np.arange(len(X)) >= n, norm(X)


@pytest.mark.parametrize("only_normals", [False, True])
@pytest.mark.parametrize("interpolation", ["linear", "conservative"])
def test_the_volume_at_a_rate_is_that_at_its_threshold(
    only_normals: bool, interpolation: Any
) -> None:
    X, y, s = labelled()
    if only_normals:
        X, y, s = X[~y], y[~y], s[~y]
    box = Box.from_data(X)
    rates = [0.05, 0.0, 1.0, 0.01, 0.05]
    options: dict[str, Any] = {"n_draws": 2**12, "rng": 2}
    found = volume_at_fpr(norm, y, s, box, fpr=rates, interpolation=interpolation, **options)
    thresholds = fastad.threshold_at_fpr(y, s, fpr=rates, interpolation=interpolation)
    assert [x.threshold for x in found] == list(thresholds)
    expected = volume(norm, thresholds, box, **options)
    assert [fields(x) for x in found] == [fields(x) for x in expected]
    for rate, one in zip(rates, found, strict=True):
        alone = volume_at_fpr(norm, y, s, box, fpr=rate, interpolation=interpolation, **options)
        assert fields(alone) == fields(one)
    flagged = s >= found[0].threshold
    assert flagged[~y].mean() <= 0.05


def test_where_no_threshold_reaches_the_rate_the_volume_is_the_box() -> None:
    """The highest score is a normal one: at a rate of 0 nothing may be flagged."""
    y, s = np.zeros(10, int), np.arange(10.0)
    found = volume_at_fpr(norm, y, s, SQUARE, fpr=0, n_draws=1000, rng=0)
    assert (found.threshold, found.value, found.complement.is_bound) == (math.inf, 1, True)


def test_labels_of_another_name() -> None:
    X, y, s = labelled()
    box = Box.from_data(X)
    options: dict[str, Any] = {"fpr": 0.1, "n_draws": 1024, "rng": 0}
    names = np.where(y, "odd", "fine")
    assert fields(volume_at_fpr(norm, names, s, box, pos_label="odd", **options)) == fields(
        volume_at_fpr(norm, y, s, box, **options)
    )


def test_a_rate_of_float32_scores() -> None:
    """The threshold is of the scores' type, and means the same where scores are float64."""
    X, y, s = labelled()
    found = volume_at_fpr(
        norm, y, s.astype(np.float32), Box.from_data(X), fpr=0.1, n_draws=64, rng=0
    )
    assert found.threshold == np.float32(found.threshold)


def test_undefined_rates() -> None:
    with pytest.raises(UndefinedMeasureError):
        volume_at_fpr(norm, [1, 1], [0.0, 1.0], SQUARE, fpr=0.1)
    with pytest.raises(UndefinedMeasureError):
        volume_at_fpr(norm, [0, 0], [0.0, np.inf], SQUARE, fpr=0.1)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"fpr": 1.5}, "fpr must lie in"),
        ({"fpr": []}, "fpr must be"),
        ({"fpr": "low"}, "fpr"),
        ({"fpr": 0.1, "method": "fast"}, "method must be one of"),
        ({"fpr": 0.1, "draws": 5}, "draws"),
        ({"fpr": 0.1, "interpolation": "cubic"}, "interpolation must be one of"),
        ({}, "fpr"),
    ],
)
def test_bad_options_at_a_rate(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        volume_at_fpr(norm, [0, 1], [0.0, 1.0], SQUARE, **keywords)


# --- bad input


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        (math.nan, "threshold must be a number; found NaN"),
        ([0.5, math.nan], "threshold must be a number; found NaN"),
        ("0.5", "threshold must be a number; found str"),
        (["0.5"], "threshold must be a number"),
        (None, "threshold must be a number; found NoneType"),
        ([None], "threshold must be a number"),
        ([], "threshold must be a number or a sequence of at least one"),
        ([[0.5]], "threshold must be a number or a sequence"),
        (1j, "threshold must be a number"),
        (b"1", "threshold must be a number; found bytes"),
        ({0.5}, "threshold must be a number"),
    ],
)
@pytest.mark.parametrize("options", HOW, ids=str)
def test_bad_thresholds_are_named(threshold: Any, message: str, options: dict[str, Any]) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        volume(first, threshold, SQUARE, **options)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"n_draws": 0}, "n_draws must be at least 1; found 0"),
        ({"n_draws": -5}, "n_draws must be at least 1; found -5"),
        ({"n_draws": 10.0}, "n_draws must be a whole number; found float"),
        ({"n_draws": True}, "n_draws must be a whole number; found bool"),
        ({"n_draws": "10"}, "n_draws must be a whole number; found str"),
        ({"n_draws": 15, "method": "sobol"}, "n_draws must be at least 16 for method='sobol'"),
        ({"rtol": 0}, "rtol must lie strictly between 0 and 1"),
        ({"rtol": 1}, "rtol must lie strictly between 0 and 1"),
        ({"rtol": -0.1}, "rtol must lie in"),
        ({"rtol": 1.5}, "rtol must lie in"),
        ({"rtol": math.nan}, "rtol must be finite"),
        ({"rtol": "small"}, "rtol must be a number; found str"),
        ({"rtol": 0.1, "method": "sobol"}, "rtol takes uniform draws; found method='sobol'"),
        ({"confidence_level": 1}, "confidence_level must lie strictly"),
        ({"confidence_level": 95}, "confidence_level must lie in"),
        ({"confidence_level": None}, "confidence_level must be a number"),
        ({"method": "random"}, "method must be one of 'auto', 'uniform', 'sobol'"),
        ({"method": None}, "method must be one of"),
        ({"rng": -1}, "rng must not be negative"),
        ({"rng": 0.5}, "rng must be an int"),
        ({"n_threads": 0}, "n_threads must be at least 1"),
        ({"n_threads": 1.5}, "n_threads must be a whole number"),
    ],
)
@pytest.mark.parametrize("score", [first, first_of_point, OfBatch(first, 2)])
def test_bad_options_are_named(keywords: dict[str, Any], message: str, score: Any) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        volume(score, 0.5, SQUARE, **keywords)


@pytest.mark.parametrize("box", [None, ([0, 0], [1, 1]), np.zeros((2, 2)), "box"])
def test_a_box_of_another_type_is_named(box: Any) -> None:
    with pytest.raises(TypeError, match=r"box must be a fastad\.Box; found"):
        volume(first, 0.5, box)


@pytest.mark.parametrize("score", [None, 5, "score", np.zeros(3)])
def test_what_is_no_score_is_named(score: Any) -> None:
    with pytest.raises(TypeError, match="score must be a jitted function of a point, a function"):
        volume(score, 0.5, SQUARE)


def test_a_compiled_score_of_another_dimension_is_named() -> None:
    with pytest.raises(InvalidInputError, match="box must have 3 features as the score; found 2"):
        volume(OfBatch(first, 3), 0.5, SQUARE)


def bad_scores() -> dict[str, tuple[Any, str]]:
    def fail(x: Array) -> float:
        if x[0] > 0.5:
            raise ValueError("too far")
        return float(x[0])

    def no_number(x: Array) -> float:
        return float(np.nan) if x[0] > 0.5 else float(x[0])

    def divide(X: Array) -> Array:
        raise ZeroDivisionError("by nothing")

    def nan_beyond(X: Array) -> Array:
        return np.where(X[:, 0] > 0.5, np.nan, X[:, 0])

    shape = r"score must return one number for each of \d+ points; found shape "
    point = r"\[0\.\d+, 0\.\d+\]"
    return {
        "jitted raises": (numba.njit(fail), rf"score raised ValueError \(too far\) .* {point}"),
        "jitted NaN": (numba.njit(no_number), rf"score must not return NaN; .* at {point}"),
        "jitted row": (numba.njit(lambda x: x), "score raised TypingError"),
        "jitted complex": (numba.njit(lambda x: x[0] + 1j), "score raised TypingError"),
        "batch raises": (divide, rf"score raised ZeroDivisionError \(by nothing\) .* {point}"),
        "batch NaN": (nan_beyond, rf"score must not return NaN; .* at {point}"),
        "NaN": (lambda X: np.full(len(X), np.nan), rf"score must not return NaN; .* at {point}"),
        "column": (lambda X: X[:, :1], rf"{shape}\(\d+, 1\) of float64, .* {point}"),
        "too few": (lambda X: X[1:, 0], rf"{shape}\(\d+,\) of float64, .* {point}"),
        "number": (lambda X: 0.5, rf"{shape}\(\) of float64"),
        "nothing": (lambda X: None, rf"{shape}\(\) of object"),
        "text": (lambda X: X[:, 0].astype(str), rf"{shape}\(\d+,\) of <U"),
        "complex": (lambda X: X[:, 0] + 0j, rf"{shape}\(\d+,\) of complex128"),
        "objects": (lambda X: X[:, 0].astype(object), rf"{shape}\(\d+,\) of object"),
        "no argument": (lambda: 0.5, "score raised TypeError"),
    }


BAD_SCORES = bad_scores()


@pytest.mark.parametrize("options", HOW, ids=str)
@pytest.mark.parametrize("name", BAD_SCORES)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_scores_that_fail_are_named_with_a_point(
    name: str, options: dict[str, Any], n_threads: int
) -> None:
    score, message = BAD_SCORES[name]
    with pytest.raises(InvalidInputError, match=message):
        volume(score, 0.25, SQUARE, rng=0, n_threads=n_threads, **options)


def test_the_cause_of_a_failure_is_kept() -> None:
    with pytest.raises(InvalidInputError) as caught:
        volume(BAD_SCORES["batch raises"][0], 0.25, SQUARE, rng=0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_jitted_score_that_fails_on_a_late_point_on_threads() -> None:
    limit = drawn(Box([0], [1]), 300_000, 0).max()

    def fail(x: Array) -> float:
        if x[0] >= limit:
            raise ValueError("the last")
        return float(x[0])

    with pytest.raises(InvalidInputError, match="the last"):
        volume(numba.njit(fail), 0.5, Box([0], [1]), n_draws=300_000, rng=0, n_threads=2)
    assert volume(first_of_point, 0.5, SQUARE, n_draws=300_000, n_threads=2).n_drawn == 300_000


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_failure_of_the_score_comes_out_as_it_is(error: type[BaseException]) -> None:
    def stop(X: Array) -> Array:
        raise error

    with pytest.raises(error):
        volume(stop, 0.5, SQUARE)


def test_compiled_scorers_are_told_blocks_by_coordinates() -> None:
    seen: list[tuple[int, ...]] = []

    class Own(CompiledScorer):
        n_features, name = 2, "own"

        def score_block(self, points: Array, scores: Array) -> None:
            assert points.flags.c_contiguous
            assert points.dtype == scores.dtype == np.float64
            assert scores.shape == points.shape[1:]
            seen.append(points.shape)
            scores[:] = points[0]
            # A scorer may use the memory of the points.
            points[:] = np.nan

    for options in HOW:
        seen.clear()
        found = volume(Own(), 0.3, SQUARE, rng=0, **options)
        assert {d for d, _ in seen} == {2}
        assert fields(found) == fields(volume(first_of_point, 0.3, SQUARE, rng=0, **options))


def test_one_set_of_points_for_regions_of_any_kind() -> None:
    """Mixed features: what is drawn from values and what from ranges, by one jitted function."""
    for shape in (steps, all_discrete):
        region = shape(6)
        assert 0 < region.share < 1
        found = volume(region.jitted, region.threshold, region.box, n_draws=200_000, rng=1)
        assert found.value == pytest.approx(region.share, abs=5 * found.standard_error)

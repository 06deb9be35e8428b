"""``volume``: nothing and everything inside, what is refused, and scores that fail."""

import math
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad import InvalidInputError
from fastad.detectors.scorer import CompiledScorer
from fastad.regions import volume, volume_curve
from fastad.regions.box import Box
from fastad.unsupervised import emmv
from tests.support.volumes import (
    KINDS,
    OPTIONS,
    SQUARE,
    Array,
    OfBatch,
    all_discrete,
    drawn,
    fields,
    first,
    first_of_point,
    simplex,
    steps,
)

# Nothing and everything inside.


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [-1, -math.inf, 0])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_where_no_draw_falls_inside_the_value_is_a_bound(
    threshold: float, options: dict[str, Any], kind: str
) -> None:
    region = simplex(2)
    result = volume(region.score(kind), threshold, region.box, rng=0, **options)
    n = options["n_draws"]
    assert (result.is_bound, result.n_inside, result.n_drawn, result.low) == (True, 0, n, 0)
    assert result.value == result.high == pytest.approx(1 - 0.025 ** (1 / n), rel=1e-12)
    assert result.log_value == math.log(result.high)
    assert math.isnan(result.standard_error)
    assert str(result) == f"< {result.high:.3g} (none of {n} draws fell inside)"
    others = result.complement
    assert (others.is_bound, others.value, others.log_value, others.high) == (False, 1, 0, 1)
    assert (others.n_inside, others.n_drawn, others.low) == (n, n, 1 - result.high)
    assert others.complement.is_bound
    assert others.complement.value == pytest.approx(result.value, rel=1e-9)
    assert result.to_dict()["standard_error"] is None


@pytest.mark.parametrize("third", [Fraction(1, 3), Fraction(2, 3)])
def test_a_threshold_that_no_float_is_has_the_floats_below_it_inside(third: Any) -> None:
    near = float(third)  # below a third, and below two
    assert near < third
    inside = volume(lambda X: np.full(len(X), near), third, SQUARE, n_draws=100, rng=0)
    above = math.nextafter(near, 1)
    outside = volume(lambda X: np.full(len(X), above), third, SQUARE, n_draws=100, rng=0)
    assert (inside.value, outside.n_inside) == (1, 0)


@pytest.mark.parametrize("threshold", [2.1, math.inf])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_where_all_draws_fall_inside(threshold: float, options: dict[str, Any], kind: str) -> None:
    region = simplex(2)
    result = volume(region.score(kind), threshold, region.box, rng=0, **options)
    assert result.n_inside == result.n_drawn
    assert (result.value, result.high, result.log_value, result.is_bound) == (1, 1, 0, False)
    assert 0.9 < result.low < 1
    others = result.complement
    assert (others.is_bound, others.n_inside, others.low) == (True, 0, 0)
    assert others.value == others.high == 1 - result.low
    assert others.log_value == pytest.approx(math.log(others.value), rel=1e-14)
    assert str(others).startswith("< ")


@given(
    st.floats(0.01, 0.99), st.sampled_from(OPTIONS), st.sampled_from([0.5, 0.9, 0.95, 1 - 1e-12])
)
def test_the_complement_is_the_rest(
    threshold: float, options: dict[str, Any], level: float
) -> None:
    result = volume(first, threshold, SQUARE, rng=0, confidence_level=level, **options)
    others = result.complement
    assert result.value + others.value == pytest.approx(1, abs=1e-15)
    assert (others.low, others.high) == (1 - result.high, 1 - result.low)
    assert others.n_inside + result.n_inside == others.n_drawn == result.n_drawn
    assert others.log_value == pytest.approx(math.log(others.value), rel=1e-14)
    assert (others.standard_error, others.threshold) == (result.standard_error, result.threshold)
    back = others.complement
    assert back.n_inside == result.n_inside
    assert back.value == pytest.approx(result.value, abs=1e-15)
    assert 0 <= result.low <= result.value <= result.high <= 1
    # Of the exponential of the logarithm, which may round a half to either side.
    printed, _, interval = str(result).partition(" [")
    assert printed in {f"{result.value * x:.4g}" for x in (1 - 1e-12, 1, 1 + 1e-12)}
    assert interval
    assert result.confidence_level == level


def test_intervals_widen_with_the_level() -> None:
    for options in OPTIONS:
        widths = [
            x.high - x.low
            for level in (1e-6, 0.5, 0.9, 0.99, 1 - 1e-15)
            for x in [volume(first, 0.3, SQUARE, rng=0, confidence_level=level, **options)]
        ]
        assert widths == sorted(widths)
        assert widths[0] < widths[-1]


def test_an_estimate_is_fixed_and_plain() -> None:
    result = volume(first, 0.5, SQUARE, method="uniform", n_draws=100, rng=0)
    with pytest.raises(AttributeError):
        result.value = 1  # type: ignore[misc]
    plain = result.to_dict()
    for name in ("mixing_p_value", "uniform_low", "uniform_high"):
        assert plain.pop(name) is None
    assert {type(x) for x in plain.values()} <= {float, int, str, bool}
    assert (plain["value"], plain["n_inside"]) == (result.value, result.n_inside)
    assert volume(first, math.inf, SQUARE, n_draws=100, rng=0).to_dict()["threshold"] == "inf"


# Bad input.


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        (math.nan, "threshold must be a number; found NaN"),
        ([0.5, math.nan], r"threshold\[1\] must be a number; found NaN"),
        ("0.5", "threshold must be a number; found str"),
        (["0.5"], r"threshold\[0\] must be a number; found str"),
        (None, "threshold must be a number; found NoneType"),
        ([None], r"threshold\[0\] must be a number; found NoneType"),
        ([], "threshold must be a number or a sequence of at least one"),
        ([[0.5]], "threshold must be a number or a sequence"),
        (1j, "threshold must be a number"),
        (b"1", "threshold must be a number; found bytes"),
        ({0.5}, "threshold must be a number"),
    ],
)
def test_bad_thresholds_are_named(threshold: Any, message: str) -> None:
    for options in OPTIONS:
        with pytest.raises((InvalidInputError, TypeError), match=message):
            volume(first, threshold, SQUARE, **options)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"n_draws": 0}, "n_draws must be at least 1; found 0"),
        ({"n_draws": -5}, "n_draws must be at least 1; found -5"),
        ({"n_draws": 10.5}, "n_draws must be an integer; found 10.5"),
        ({"n_draws": math.inf}, "n_draws must be an integer; found inf"),
        ({"n_draws": math.nan}, "n_draws must be an integer; found nan"),
        ({"n_draws": True}, "n_draws must be an integer; found bool"),
        ({"n_draws": "10"}, "n_draws must be an integer; found str"),
        ({"n_draws": 15, "method": "sobol"}, "n_draws must be at least 16 for method='sobol'"),
        ({"n_draws": 2**35, "method": "sobol"}, "n_draws must be less than 34359738368"),
        ({"rtol": 0}, "rtol must lie strictly between 0 and 1"),
        ({"rtol": 1}, "rtol must lie strictly between 0 and 1"),
        ({"rtol": -0.1}, "rtol must lie in"),
        ({"rtol": 1.5}, "rtol must lie in"),
        ({"rtol": math.nan}, "rtol must be finite"),
        ({"rtol": "small"}, "rtol must be a number; found str"),
        ({"confidence_level": 1}, "confidence_level must lie strictly"),
        ({"confidence_level": 95}, "confidence_level must lie in"),
        ({"confidence_level": None}, "confidence_level must be a number"),
        ({"method": "random"}, "method must be one of 'auto', 'uniform', 'sobol'"),
        ({"method": None}, "method must be one of"),
        ({"rng": -1}, "rng must not be negative"),
        ({"rng": 0.5}, "rng must be an int"),
        ({"n_threads": 0}, "n_threads must be at least 1"),
        ({"n_threads": 1.5}, "n_threads must be an integer"),
    ],
)
def test_bad_options_are_named(keywords: dict[str, Any], message: str) -> None:
    for score in (first, first_of_point, OfBatch(first, 2)):
        with pytest.raises((InvalidInputError, TypeError), match=message):
            volume(score, 0.5, SQUARE, **keywords)


@pytest.mark.parametrize("box", [([0, 0], [1, 1]), np.zeros((2, 2)), "box"])
def test_a_box_of_another_type_is_named(box: Any) -> None:
    with pytest.raises(TypeError, match=r"box must be a fastad\.Box; found"):
        volume(first, 0.5, box)


@pytest.mark.parametrize("score", [None, 5, "score", np.zeros(3)])
def test_what_is_no_score_is_named(score: Any) -> None:
    with pytest.raises(
        TypeError, match="detector must be a fitted detector, a jitted function of a point"
    ):
        volume(score, 0.5, SQUARE)


def test_a_compiled_score_of_another_dimension_is_named() -> None:
    with pytest.raises(
        InvalidInputError, match="box must have 3 features as the detector; found 2"
    ):
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

    shape = r"detector must return one number for each of \d+ points; found shape "
    point = r"\[0\.\d+, 0\.\d+\]"
    return {
        "jitted raises": (numba.njit(fail), rf"detector raised ValueError \(too far\) .* {point}"),
        "jitted NaN": (numba.njit(no_number), rf"detector must not return NaN; .* at {point}"),
        "jitted row": (numba.njit(lambda x: x), "detector raised TypingError"),
        "jitted complex": (numba.njit(lambda x: x[0] + 1j), "detector raised TypingError"),
        "batch raises": (divide, rf"detector raised ZeroDivisionError \(by nothing\) .* {point}"),
        "batch NaN": (nan_beyond, rf"detector must not return NaN; .* at {point}"),
        "NaN": (lambda X: np.full(len(X), np.nan), rf"detector must not return NaN; .* at {point}"),
        "column": (lambda X: X[:, :1], rf"{shape}\(\d+, 1\) of float64, .* {point}"),
        "too few": (lambda X: X[1:, 0], rf"{shape}\(\d+,\) of float64, .* {point}"),
        "number": (lambda X: 0.5, rf"{shape}\(\) of float64"),
        "nothing": (lambda X: None, rf"{shape}\(\) of object"),
        "text": (lambda X: X[:, 0].astype(str), rf"{shape}\(\d+,\) of <U"),
        "complex": (lambda X: X[:, 0] + 0j, rf"{shape}\(\d+,\) of complex128"),
        "objects": (lambda X: X[:, 0].astype(object), rf"{shape}\(\d+,\) of object"),
        "no argument": (lambda: 0.5, "detector raised TypeError"),
    }


BAD_SCORES = bad_scores()


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", BAD_SCORES)
def test_scores_that_fail_are_named_with_a_point(name: str, options: dict[str, Any]) -> None:
    score, message = BAD_SCORES[name]
    for n_threads in (1, 2):
        with pytest.raises(InvalidInputError, match=message):
            volume(score, 0.25, SQUARE, rng=0, n_threads=n_threads, **options)


def test_the_cause_of_a_failure_is_kept() -> None:
    with pytest.raises(InvalidInputError) as caught:
        volume(BAD_SCORES["batch raises"][0], 0.25, SQUARE, rng=0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.slow
def test_a_jitted_score_that_fails_on_a_late_point_on_threads() -> None:
    limit = drawn(Box([0], [1]), 300_000, 0).max()

    def fail(x: Array) -> float:
        if x[0] >= limit:
            raise ValueError("the last")
        return float(x[0])

    options: Any = {"method": "uniform", "n_draws": 300_000, "n_threads": 2}
    with pytest.raises(InvalidInputError, match="the last"):
        volume(numba.njit(fail), 0.5, Box([0], [1]), **options, rng=0)
    assert volume(first_of_point, 0.5, SQUARE, **options).n_drawn == 300_000


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_failure_of_the_score_comes_out_as_it_is(error: type[BaseException]) -> None:
    def stop(X: Array) -> Array:
        raise error

    with pytest.raises(error):
        volume(stop, 0.5, SQUARE)


@pytest.mark.slow
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

    for options in OPTIONS:
        seen.clear()
        result = volume(Own(), 0.3, SQUARE, rng=0, **options)
        assert {d for d, _ in seen} == {2}
        assert fields(result) == fields(volume(first_of_point, 0.3, SQUARE, rng=0, **options))


@pytest.mark.slow
def test_one_set_of_points_for_regions_of_any_kind() -> None:
    """Mixed features: what is drawn from values and what from ranges, by one jitted function."""
    for shape in (steps, all_discrete):
        region = shape(6)
        assert 0 < region.fraction < 1
        result = volume(region.jitted, region.threshold, region.box, n_draws=200_000, rng=1)
        assert result.value == pytest.approx(region.fraction, abs=5 * result.standard_error)


def squares(rows: Any) -> Any:
    return (rows**2).sum(axis=1)


MASKED = np.ma.masked_array([[0.1, 0.2], [999.0, 0.3]], [[False, False], [True, False]])
CALLS: dict[str, Any] = {
    "X": lambda: Box.from_data(MASKED),
    "low": lambda: Box(MASKED[0], [2, 2]),
    "data": lambda: volume(squares, 1.0, SQUARE, data=MASKED, n_draws=1000),
    "threshold": lambda: volume(squares, MASKED[1], SQUARE, n_draws=1000),
    "scores of a detector": lambda: volume(
        lambda rows: np.ma.masked_greater(squares(rows), 1), 1.0, SQUARE, n_draws=1000
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_mask_is_not_lost(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{name} must not be a masked array"):
        CALLS[name]()


@pytest.mark.parametrize("method", ["auto", "uniform", "sobol", "splitting"])
def test_an_error_that_is_not_reached_is_said(method: Any) -> None:
    options: dict[str, Any] = {"method": method, "rng": 0}
    few = volume(squares, 0.5, SQUARE, rtol=1e-6, n_draws=20_000, **options)
    assert few.relative_error > 1e-6
    assert few.reason.endswith(
        f"n_draws was used up at a relative error of {few.relative_error:.2g}, above rtol=1e-06"
    )
    enough = volume(squares, 0.5, SQUARE, rtol=0.2, **options)
    assert "rtol" not in enough.reason
    assert enough.relative_error <= 0.2


def test_thresholds_are_those_of_measures() -> None:
    """Fractions too, as `evaluate` and `volume_curve` take them."""
    region = simplex(2)
    exact: Any = Fraction(1, 2)
    given: Any = [exact, np.float32(0.25)]
    one = volume(region.score("batch"), exact, region.box, rng=0, n_draws=1000)
    several = volume(region.score("batch"), given, region.box, rng=0, n_draws=1000)
    assert [one.threshold, *(each.threshold for each in several)] == [0.5, 0.5, 0.25]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", [int, Fraction])
def test_thresholds_beyond_all_floats_have_the_whole_box_or_nothing_below(
    sign: int, kind: Any
) -> None:
    result = volume(first, kind(sign * 10**400), SQUARE, n_draws=1000, rng=0)
    assert (result.n_inside, result.is_bound) == ((1000, False) if sign > 0 else (0, True))
    assert sign < 0 or result.value == 1


def test_a_box_or_a_reference_must_be_given() -> None:
    with pytest.raises(InvalidInputError, match="box or reference must be given; found neither"):
        volume(first, 1.0)


LEVELS: dict[str, Any] = {
    "volume": lambda level: volume(first, 0.5, SQUARE, n_draws=100, confidence_level=level),
    "volume_curve": lambda level: volume_curve(first, 0.5, SQUARE, confidence_level=level),
    "emmv": lambda level: emmv([0.1, 0.2], [0.1, 0.3], 1.0, confidence_level=level),
}


@pytest.mark.parametrize("level", [1 - 2**-53, 1 - 2**-52, Fraction(10**16 - 1, 10**16)])
@pytest.mark.parametrize("name", LEVELS)
def test_levels_whose_tails_floats_do_not_have_are_refused(name: str, level: Any) -> None:
    with pytest.raises(InvalidInputError, match="confidence_level must be at most 1 - 4e-16 here"):
        LEVELS[name](level)


@pytest.mark.parametrize("thresholds", [0.5, [0.25, 0.5]])
def test_more_draws_keep_the_reason_of_their_method(thresholds: Any) -> None:
    found = volume(first, thresholds, SQUARE, n_draws=1000, rng=0)
    for each in found if isinstance(found, list) else [found]:
        assert each.reason
        more = each.extend(1000)
        assert (more.n_drawn, more.reason) == (2000, each.reason)
        assert more.extend(1000).reason == each.reason

"""Boxes: what they are made of, their volumes, and where the points of a draw lie."""

import copy
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fastad import InvalidInputError
from fastad.regions.box import Box
from tests.support.strategies import FLOATS, INTEGERS, LAYOUTS, in_layout
from tests.support.volumes import Array, drawn

LARGEST = float(np.finfo(np.float64).max)

finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def ends(draw: st.DrawFn) -> tuple[float, float]:
    """Two ends of any size and distance, down to neighbours among the floats."""
    low = draw(finite)
    near = st.integers(1, 4).map(lambda k: low + k * math.ulp(low))
    high = draw(st.one_of(finite, near))
    assume(math.isfinite(high) and low != high)
    return min(low, high), max(low, high)


def exact_log(fraction: Fraction) -> float:
    return math.log(fraction.numerator) - math.log(fraction.denominator)


# What a box is made of.


def test_a_box_keeps_its_own_read_only_arrays() -> None:
    low, high, values = np.zeros(2), np.ones(2), np.array([1.0, 0.0])
    box = Box(low, high, values=[None, values])
    low[0], high[0], values[0] = 5, 6, 7
    assert (box.low.tolist(), box.high.tolist()) == ([0, 0], [1, 1])
    own = box.values[1]
    assert own is not None
    assert (box.values[0], own.tolist()) == (None, [0, 1])
    for array in (box.low, box.high, own):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3
    with pytest.raises(AttributeError):
        box.low = box.high  # type: ignore[misc]


def pickled(box: Box) -> Any:
    return pickle.loads(pickle.dumps(box))


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickled])
def test_copies_of_a_box_draw_the_same_points(make: Any) -> None:
    box = Box([0, -LARGEST, 1], [2, LARGEST, 1], values=[None, None, [1]])
    other = make(box)
    assert drawn(other, 100, 0).tolist() == drawn(box, 100, 0).tolist()
    assert other.log_volume == box.log_volume


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, bool])
def test_ends_of_any_type_and_layout(dtype: Any) -> None:
    for layout in LAYOUTS:
        low = in_layout(np.zeros(3, dtype), layout)
        high = in_layout(np.ones(3, dtype), layout)
        box = Box(low, high, values=[None, None, in_layout(np.array([1, 0, 1], dtype), layout)])
        assert {str(box.low.dtype), str(box.high.dtype)} == {"float64"}
        assert box.values[2] is not None
        assert box.values[2].tolist() == [0, 1]
        assert (box.n_features, box.discrete.tolist()) == (3, [False, False, True])
        assert (box.volume, box.log_volume) == (2, math.log(2))


@pytest.mark.parametrize(
    ("low", "high", "values", "message"),
    [
        ([0], [0], None, "low must be below high in each continuous feature; found 0.0 and 0.0 in"),
        ([0, 1], [1, 0], None, "found 1.0 and 0.0 in feature 1"),
        ([0, 1], [1], None, "low and high must be equally long; found 2 and 1"),
        ([], [], None, "low must be a vector of at least one number"),
        ([0, np.nan], [1, 1], None, "low must contain finite numbers; .* at index 1: nan"),
        ([0], [np.inf], None, "high must contain finite numbers"),
        ([-np.inf], [0], None, "low must contain finite numbers"),
        ([[0]], [[1]], None, r"low must be a vector .*; found shape \(1, 1\)"),
        (0, 1, None, "low must be a vector"),
        (["a"], ["b"], None, "low must contain numbers"),
        ([0j], [1], None, "low must contain numbers; found complex128"),
        ([None], [1], None, "low"),
        (None, [1], None, "low"),
        ([0], [1], [None, None], "values must have an entry for each of 1 features; found 2"),
        ([0], [1], [], "values must have an entry for each of 1 features; found 0"),
        ([0], [1], [[]], r"values\[0\] must be a vector of at least one"),
        ([0, 0], [1, 1], [None, [0, 2]], r"values\[1\] must lie in \[0.0, 1.0\]; found values"),
        ([0], [1], [[-1, 1]], r"values\[0\] must lie in"),
        ([0], [1], [[np.nan]], r"values\[0\] must contain finite numbers"),
        ([0], [1], ["ab"], r"values\[0\]"),
        ([0], [1], 5, "values must be a sequence with an entry for each feature; found 5"),
        ([0], [1], "a", "values must be a sequence with an entry for each feature; found 'a'"),
        ([0], [1], [1.0], r"values\[0\] must be a vector"),
        ([1], [0], [[0.5]], r"values\[0\] must lie in"),
    ],
)
def test_bad_ends_and_values_are_named(low: Any, high: Any, values: Any, message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        Box(low, high, values=values)


# Volume.


@given(st.lists(ends(), min_size=1, max_size=8), st.lists(st.integers(1, 9), max_size=3))
@example([(-LARGEST, LARGEST)] * 4, [])
@example([(0.0, 5e-324)] * 4, [])
@example([(-LARGEST, LARGEST), (0.0, 5e-324)], [2])
@example([(0.0, 1e300), (0.0, 1e300), (0.0, 1e-300), (0.0, 1e-300)], [])
def test_the_logarithm_of_the_volume_neither_overflows_nor_underflows(
    ranges: list[tuple[float, float]], numbers: list[int]
) -> None:
    low, high = [x for x, _ in ranges], [y for _, y in ranges]
    values: list[Any] = [None] * len(ranges) + [list(range(n)) for n in numbers]
    box = Box(low + [0.0] * len(numbers), high + [9.0] * len(numbers), values=values)
    exact = Fraction(math.prod(numbers))
    for x, y in ranges:
        exact *= Fraction(y) - Fraction(x)
    # An ulp of each factor's logarithm, of up to 745.
    assert box.log_volume == pytest.approx(exact_log(exact), abs=1e-12 * len(values), rel=1e-14)
    # Widths of one sign of their logarithms: the product has no detour over what no float holds.
    widths = [Fraction(y) - Fraction(x) for x, y in ranges]
    if all(w >= 1 for w in widths) or (all(w <= 1 for w in widths) and not numbers):
        if exact > LARGEST:
            # As one of its factors may be rounded down.
            assert box.volume >= LARGEST * (1 - 1e-14)
            assert box.volume == math.inf or exact < 2 * Fraction(LARGEST)
        elif exact < Fraction(5e-324) / 2:
            assert box.volume <= 5e-324
        elif exact > Fraction(1, 2**1000):
            assert box.volume == pytest.approx(float(exact), rel=1e-14)


def test_volumes_that_no_float_holds() -> None:
    wide = Box([-1e300] * 3, [1e300] * 3)
    assert wide.volume == math.inf
    assert wide.log_volume == pytest.approx(3 * (math.log(2) + 300 * math.log(10)), rel=1e-15)
    small = Box([0] * 3, [1e-300] * 3)
    assert small.volume == 0
    assert small.log_volume == pytest.approx(-900 * math.log(10), rel=1e-15)
    widest = Box([-LARGEST], [LARGEST])
    assert widest.volume == math.inf
    assert widest.log_volume == pytest.approx(1025 * math.log(2), rel=1e-15)


def test_discrete_features_count_their_values() -> None:
    box = Box([0, 5, -1], [2, 5, 3], values=[None, [5], [3, -1, 0, 3]])
    assert box.volume == 6
    assert box.log_volume == pytest.approx(math.log(6), abs=1e-15)
    assert Box([5], [5], values=[[5]]).volume == 1
    assert Box([5], [5], values=[[5]]).log_volume == 0
    # Both zeros are one value.
    assert Box([0], [0], values=[[0.0, -0.0]]).volume == 1


# Contains.


@given(st.lists(ends(), min_size=1, max_size=3))
def test_the_ends_belong_to_the_box_and_the_next_floats_do_not(
    ranges: list[tuple[float, float]],
) -> None:
    low, high = np.array(ranges).T
    box = Box(low, high)
    assert box.contains(np.array([low, high])).tolist() == [True, True]
    for j in range(len(ranges)):
        for corner, beyond in ((low, -np.inf), (high, np.inf)):
            point = corner.copy()
            point[j] = math.nextafter(point[j], beyond)
            if math.isfinite(point[j]):
                assert box.contains(point[None]).tolist() == [False]


def test_discrete_features_contain_their_range() -> None:
    box = Box([0, 0], [1, 4], values=[None, [0, 4]])
    assert box.contains([[0.5, 2.0], [0.5, 5.0], [2.0, 0.0]]).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.0, 1.0]], r"X must have the shape \(n_samples, 1\); found \(1, 2\)"),
        ([0.0], "X must have the shape"),
        ([[np.nan]], "X must contain finite numbers; found others in 1 rows, .* row 0"),
        ([["a"]], "X must contain numbers"),
        (np.empty((0, 1)), "X must contain rows"),
    ],
)
def test_rows_that_cannot_be_in_a_box(X: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Box([0], [1]).contains(X)


# From data.


@given(
    st.integers(1, 120),
    st.one_of(
        st.sampled_from([0, 1, 0.0, 1.0, 0.29, 0.05, np.float32(0.05), np.float16(0.3)]),
        st.integers(0, 100).map(lambda k: k / 100),
        st.fractions(0, 1, max_denominator=30),
    ),
    st.data(),
)
def test_a_feature_is_discrete_up_to_a_share_of_distinct_values(
    n: int, fraction: Any, data: st.DataObject
) -> None:
    """The fraction is the decimal as written: 29 of 100 values are discrete at 0.29."""
    exact = fraction if isinstance(fraction, Fraction) else Fraction(str(fraction))
    edge = min(max(math.floor(exact * n), 1), n)
    n_distinct = data.draw(st.sampled_from(sorted({edge, min(edge + 1, n), 1, n})))
    column = np.arange(n) % n_distinct
    X = np.column_stack([column[::-1], np.arange(n)])
    box = Box.from_data(X, fraction)
    assert box.discrete[0] == (n_distinct == 1 or n_distinct <= exact * n)
    own = box.values[0]
    if own is not None:
        assert own.tolist() == list(range(n_distinct))
    assert (box.low[0], box.high[0]) == (0, n_distinct - 1)
    assert box.contains(X).all()


def test_the_default_is_exactly_five_per_cent() -> None:
    rows = np.arange(100)
    assert Box.from_data(np.column_stack([rows % 5, rows % 6])).discrete.tolist() == [True, False]
    assert Box.from_data(rows[:99, None] % 5).discrete.tolist() == [False]
    assert Box.from_data(np.column_stack([rows % 5, rows % 6])).volume == 5 * 5


def test_constant_features_have_one_value() -> None:
    X = np.column_stack([np.full(10, 7.5), np.arange(10)])
    for fraction in (0, 0.05, 1):
        box = Box.from_data(X, fraction, margin=3)
        assert box.values[0] is not None
        assert box.values[0].tolist() == [7.5]
        assert (box.low[0], box.high[0]) == (7.5, 7.5)
    assert Box.from_data(X).volume == 9
    assert Box.from_data([[1.0, 2.0]]).volume == 1
    assert Box.from_data([[0.0], [-0.0]]).volume == 1
    assert set(drawn(Box.from_data(X), 50, 0)[:, 0]) == {7.5}
    with pytest.raises(InvalidInputError, match=r"found feature 0 with 7\.5 in all rows"):
        Box.from_data(X, None)


def test_without_a_threshold_every_feature_is_continuous() -> None:
    X = np.arange(100)[:, None] % 2
    assert Box.from_data(X, None).discrete.tolist() == [False]
    assert Box.from_data(X).discrete.tolist() == [True]


def test_the_margin_widens_continuous_features_on_both_sides() -> None:
    X = np.column_stack([np.linspace(0, 8, 100), np.arange(100) % 2])
    box = Box.from_data(X, margin=0.25)
    assert (box.low.tolist(), box.high.tolist()) == ([-2, 0], [10, 1])
    assert Box.from_data(X, margin=Fraction(1, 4)).volume == box.volume == 24


@given(st.lists(finite.map(lambda x: x / 4), min_size=2, max_size=9, unique=True))
def test_the_box_of_data_holds_the_data(column: list[float]) -> None:
    X = np.array(column)[:, None]
    box = Box.from_data(X, None)
    assert (box.low[0], box.high[0]) == (X.min(), X.max())
    assert box.contains(X).all()
    assert Box.from_data(X, None, margin=0.25).contains(X).all()


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_data_of_any_type_and_layout_are_only_read(dtype: Any) -> None:
    for layout in LAYOUTS:
        X = np.arange(120).reshape(40, 3).astype(dtype)
        # One that skips rows is made of them all twice.
        X = np.repeat(X, 2, axis=0)[::2] if layout == "strided" else in_layout(X, layout)
        before = X.copy()
        box = Box.from_data(X)
        assert (box.low.tolist(), box.high.tolist()) == ([0, 1, 2], [117, 118, 119])
        assert Box.from_data(np.asfortranarray(X)).volume == box.volume == 117**3
        np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("X", "keywords", "message"),
    [
        ([[0.0], [np.nan]], {}, "X must contain finite numbers; .* in 1 rows, .* row 1"),
        ([[0.0, -np.inf]], {}, "X must contain finite numbers; .* in 1 rows, .* row 0"),
        ([1.0, 2.0], {}, "X must have the shape"),
        (np.zeros((2, 2, 2)), {}, "X must have the shape"),
        (np.empty((0, 2)), {}, "X must contain rows"),
        (np.empty((2, 0)), {}, "X must have at least one feature"),
        ([["a"]], {}, "X must contain numbers"),
        ([[1j]], {}, "X must contain numbers"),
        ([[1.0], [1.0, 2.0]], {}, "X must be"),
        ([[0.0], [1.0]], {"discrete_threshold": 1.5}, r"discrete_threshold must lie in \[0, 1\]"),
        ([[0.0], [1.0]], {"discrete_threshold": -0.1}, "discrete_threshold must lie in"),
        ([[0.0], [1.0]], {"discrete_threshold": np.nan}, "discrete_threshold must be finite"),
        ([[0.0], [1.0]], {"discrete_threshold": "5 %"}, "discrete_threshold must be a number"),
        ([[0.0], [1.0]], {"discrete_threshold": True}, "discrete_threshold must be a number"),
        ([[0.0], [1.0]], {"margin": -1}, "margin must not be negative; found -1"),
        ([[0.0], [1.0]], {"margin": np.inf}, "margin must be finite"),
        ([[0.0], [1.0]], {"margin": None}, "margin must be a number"),
    ],
)
def test_bad_data_are_named(X: Any, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        Box.from_data(X, **keywords)


# Where points lie.


def between(low: float, high: float) -> list[float]:
    """The few floats from one to another."""
    results = [low]
    while results[-1] < high:
        results.append(float(np.nextafter(results[-1], np.inf)))
    return results


@pytest.mark.parametrize("method", ["uniform", "sobol"])
@given(ranges=st.lists(ends(), min_size=1, max_size=3), seed=st.integers(0, 2**32))
@example(ranges=[(-LARGEST, LARGEST), (0.0, 5e-324), (-5e-324, 0.0)], seed=0)
@example(ranges=[(-LARGEST, float(np.nextafter(-LARGEST, 0))), (1.0, LARGEST)], seed=1)
@example(ranges=[(-5e-324, 5e-324), (2.0**-1030, 2.0**-1022), (-3.3, -3.3 + 1e-15)], seed=2)
@example(ranges=[(0.1, 0.3), (-0.3, -0.1), (1e16, 1e16 + 4)], seed=3)
def test_points_never_leave_the_box(
    method: str, ranges: list[tuple[float, float]], seed: int
) -> None:
    low, high = np.array(ranges).T
    box = Box(low, high)
    points = drawn(box, 256, seed, method)
    assert points.shape == (256, len(ranges))
    assert box.contains(points).all()


@pytest.mark.parametrize("method", ["uniform", "sobol"])
def test_narrow_ranges_are_filled(method: str) -> None:
    """Every float of a range of few floats is drawn, about as often as rounding gives it."""
    starts = [1e-280, 3.0, 3.3, 1e16, -3.3, -1e-280, 1e308, -1e308]
    if method == "sobol":
        starts += [0.0, 5e-324, 2.0**-1022, -5e-324]
    for start in starts:
        high = start
        for _ in range(4):
            high = float(np.nextafter(high, np.inf))
        points = drawn(Box([start], [high]), 4096, 0, method)[:, 0]
        values = between(start, high)
        counts = [int(np.sum(points == value)) for value in values]
        assert sum(counts) == 4096
        assert min(counts[1:-1]) > 800
        assert min(counts) > 350


@pytest.mark.parametrize("method", ["uniform", "sobol"])
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-LARGEST, LARGEST),
        (-1e308, 1.7e308),
        (1e308, LARGEST),
        (-1e-280, 1e-280),
        (-7e100, 2e-9),
        (-1.0, 1e300),
        (-30.0, -20.0),
    ],
)
def test_points_are_uniform_whatever_the_width(method: str, low: float, high: float) -> None:
    points = drawn(Box([low, 0], [high, 1]), 2**13, 5, method)[:, 0]
    half = low / 2 + high / 2
    fractions = [(x / 2 - low / 2) / (high / 2 - low / 2) for x in points.tolist()]
    assert min(fractions) >= 0
    assert max(fractions) <= 1
    # Four deviations of the mean of as many uniform numbers, and of a count of halves.
    assert abs(np.mean(fractions) - 0.5) < 4 * math.sqrt(1 / 12 / 2**13)
    assert abs(np.mean(points < half) - 0.5) < 4 * 0.5 / math.sqrt(2**13)


@pytest.mark.parametrize("n_values", [2, 3, 7, 100])
def test_discrete_values_are_drawn_evenly(n_values: int) -> None:
    values = np.cumsum(np.arange(1, n_values + 1)) / 3.0 - 1e3
    box = Box([-1e4, 0, 0], [1e4, 1, 5], values=[values, None, [5]])
    for method, limit in (("uniform", 4.0), ("sobol", 0.5)):
        points = drawn(box, 2**15, 3, method)
        result, counts = np.unique(points[:, 0], return_counts=True)
        assert result.tolist() == values.tolist()
        expected = len(points) / n_values
        # Chi-square over its degrees of freedom; deviations of a single count.
        assert ((counts - expected) ** 2 / expected).sum() / (n_values - 1) < limit
        assert np.abs(counts - expected).max() < 5 * math.sqrt(expected)
        assert set(points[:, 2]) == {5}


def test_discrete_features_do_not_change_what_other_features_draw() -> None:
    plain = drawn(Box([0, 0], [1, 1]), 1000, 0)
    mixed = drawn(Box([0, 0], [1, 1], values=[None, [0, 1]]), 1000, 0)
    assert (plain[:, 0] == mixed[:, 0]).all()
    assert ((plain[:, 1] >= 0.5) == mixed[:, 1]).all()


def test_one_value_apart_from_the_ends_of_its_range() -> None:
    box = Box([0], [9], values=[[4]])
    assert set(drawn(box, 100, 0)[:, 0]) == {4}
    assert box.volume == 1


def frames() -> list[Any]:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    columns = {"a": [0.0, 1.0, 2.0], "b": [5, 5, 5]}
    return [pandas.DataFrame(columns), polars.DataFrame(columns)]


def test_tables_of_data_frame_libraries() -> None:
    expected: Array = np.array([[0.0, 5], [2.0, 5]])
    for table in frames():
        box = Box.from_data(table)
        assert np.array([box.low, box.high]).tolist() == expected.tolist()
        assert box.contains(table).all()

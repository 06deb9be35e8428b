"""The excess-mass curve is its definition: the upper envelope of one line for each level set."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.unsupervised import ExcessMassCurve
from tests.support import levels as slow
from tests.support.levels import KINDS, Scored, large
from tests.support.oracles import UndefinedError, written
from tests.support.volumes import ball_volume

Array = npt.NDArray[Any]


def curve_of(scored: Scored, volume: Any = 1) -> ExcessMassCurve:
    return fastad.excess_mass_curve(scored.test, scored.uniform, volume)


def curve_bits(curve: ExcessMassCurve) -> list[bytes]:
    arrays = (curve.level, curve.excess_mass, curve.thresholds, curve.hull, curve.log_level)
    # Bytes of arrays of objects are addresses.
    return [repr(array.tolist()).encode() for array in arrays]


def outcome(curve: ExcessMassCurve, height: Any = 0.9) -> str:
    try:
        return curve.area(height).hex()
    except UndefinedMeasureError as error:
        return str(error)


heights: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([0.9, 0.5, 0.1, 0.99, 1e-6, 1 - 1e-9, Fraction(2, 3), Fraction(1, 7)]),
    st.floats(0.001, 0.999),
    st.fractions(Fraction(1, 60), Fraction(59, 60), max_denominator=60),
)


# The definition.


@given(slow.scores(), slow.volumes, st.data())
def test_the_curve_at_any_level_is_the_largest_excess(
    scored: Scored, volume: Any, data: st.DataObject
) -> None:
    exact = written(volume)
    sets = slow.level_sets(scored, exact)
    curve = curve_of(scored, volume)
    corners = [float(corner) for corner in slow.corners(sets)]
    factor = data.draw(st.floats(0, 100))
    for level in (0.0, factor / float(exact), *corners, *np.nextafter(corners, np.inf).tolist()):
        expected = slow.excess_mass(sets, Fraction(level))
        assert curve(level) == pytest.approx(float(expected), abs=1e-15, rel=1e-15)


@given(slow.scores(), slow.volumes)
def test_corners_are_where_the_slope_changes(scored: Scored, volume: Any) -> None:
    expected = slow.excess_mass_corners(slow.level_sets(scored, written(volume)))
    curve = curve_of(scored, volume)
    assert curve.excess_mass.shape == (len(expected),)
    np.testing.assert_allclose(curve.level, [float(x) for x, _ in expected], rtol=1e-15)
    heights = [float(y) for _, y in expected]
    np.testing.assert_allclose(curve.excess_mass, heights, rtol=3e-16, atol=1e-300)
    with np.errstate(divide="ignore"):
        logs = np.log([float(x) for x, _ in expected])
    np.testing.assert_allclose(curve.log_level, logs, rtol=1e-14, atol=1e-14)
    for array in (curve.level, curve.excess_mass, curve.thresholds, curve.hull):
        assert not array.flags.writeable


@given(slow.small_floats())
def test_the_sets_below_the_thresholds_exceed_the_most(scored: Scored) -> None:
    sets = slow.level_sets(scored, Fraction(1))
    curve = curve_of(scored)
    corners = [x for x, _ in slow.excess_mass_corners(sets)]
    between = [(a + b) / 2 for a, b in zip(corners, [*corners[1:], corners[-1] + 2], strict=True)]
    for threshold, level in zip(curve.thresholds.tolist(), between, strict=True):
        mass = Fraction(int(np.sum(scored.test <= threshold)), len(scored.test))
        volume = Fraction(int(np.sum(scored.uniform <= threshold)), len(scored.uniform))
        assert mass - level * volume == slow.excess_mass(sets, level)


@given(slow.scores(), slow.volumes, heights)
def test_the_area_down_to_a_height(scored: Scored, volume: Any, height: Any) -> None:
    sets = slow.level_sets(scored, written(volume))
    curve = curve_of(scored, volume)
    try:
        expected = slow.excess_mass_area(sets, written(height))
    except UndefinedError:
        for ask in (curve.area, curve.log_area, curve.level_at):
            with pytest.raises(UndefinedMeasureError, match="score below all uniform points"):
                ask(height)
        return
    # Of one set that is hardly larger than the height, the difference of both keeps fewer digits.
    left = [one.mass - written(height) for one in sets if one.mass != written(height)]
    rel = 1e-14 + 1e-15 / float(min(map(abs, left)))
    assert curve.area(height) == pytest.approx(float(expected), rel=rel)
    end = slow.level_at(sets, written(height))
    assert curve.level_at(height) == pytest.approx(float(end), rel=rel)
    logarithm = math.log(expected.numerator) - math.log(expected.denominator)
    assert curve.log_area(height) == pytest.approx(logarithm, abs=2 * rel + 1e-13)
    assert curve(curve.level_at(height)) == pytest.approx(float(written(height)), rel=1e-14)


@given(slow.small_floats(), slow.volumes)
def test_the_default_area_is_that_of_goix(scored: Scored, volume: Any) -> None:
    sets = slow.level_sets(scored, written(volume))
    expected = slow.area_or_none(lambda: slow.excess_mass_area(sets, Fraction(9, 10)))
    assume(expected is not None)
    assert expected is not None
    curve = curve_of(scored, volume)
    assert curve.area() == pytest.approx(float(expected), rel=1e-13)
    assert curve.area() == curve.area(0.9) == curve.area(np.float32(0.9))


def test_one_line_by_hand() -> None:
    """One set of all the mass and half the volume: 1 - 5 t, down to 0.9 at t = 0.02."""
    curve = fastad.excess_mass_curve([1.0], [0.0, 2.0], 10.0)
    assert curve.level.tolist() == [0.0, 0.2]
    assert curve.excess_mass.tolist() == [1.0, 0.0]
    assert curve.level_at() == pytest.approx(0.02, rel=1e-15)
    assert curve.area() == pytest.approx(0.02 * 0.95, rel=1e-15)
    assert curve([0.1, 0.2, 5.0, math.inf]).tolist() == [0.5, 0.0, 0.0, 0.0]


def test_a_height_that_a_flat_curve_reaches_exactly() -> None:
    """Nine of ten points for nothing: the curve is 0.9 from its corner on."""
    test, uniform = [*range(9), 20], [10.0, 30.0]
    curve = fastad.excess_mass_curve(test, uniform, 1.0)
    assert curve.excess_mass.tolist() == [1.0, 0.9]
    assert curve.level_at(0.9) == 0.2
    assert curve.area(0.9) == pytest.approx(0.2 * 0.95, rel=1e-15)
    with pytest.raises(UndefinedMeasureError, match="found 9 of 10"):
        curve.area(0.8999)


def test_scores_so_large_that_products_fill_63_bits() -> None:
    """Made-up counts: the corners are those of fractions."""
    n, m = 3 * 10**9, 3 * 10**9
    masses = np.array([0, 10**9, 2 * 10**9, n])
    volumes = np.array([0, 1, 3, m])
    curve = fastad.excess_mass_curve(made_up(masses, volumes, m))
    assert curve.hull.tolist() == [3, 2, 1, 0]
    sets = [
        slow.Level(Fraction(int(a), n), Fraction(int(b), m))
        for a, b in zip(masses, volumes, strict=True)
    ]
    expected = slow.excess_mass_corners(sets)
    np.testing.assert_allclose(curve.level, [float(x) for x, _ in expected], rtol=1e-15)
    assert curve.area(0.5) == pytest.approx(
        float(slow.excess_mass_area(sets, Fraction(1, 2))), rel=1e-13
    )
    # Collinear but for one point in 3e9.
    for shift, kept in ((-1, [3, 0]), (0, [3, 0]), (1, [3, 1, 0])):
        masses = np.array([0, 10**9 + shift, 2 * 10**9 + shift, n])
        volumes = np.array([0, 10**9, 2 * 10**9 + max(shift, 0) * 2, m])
        curve = fastad.excess_mass_curve(made_up(masses, volumes, m))
        assert curve.hull.tolist() == kept


def made_up(masses: Array, volumes: Array, m: int) -> fastad.unsupervised.LevelSets:
    """Level sets of counts that nobody could draw."""
    template = fastad.excess_mass_curve([1.0], [1.0], 1.0).levels
    thresholds = np.arange(len(masses)) - 1.0
    return fastad.unsupervised.LevelSets(thresholds, masses, volumes, None, template.box, m)


# Shape.


@given(slow.scores(max_size=30), slow.volumes)
def test_it_is_convex_and_falls_from_one_and_is_never_negative(scored: Scored, volume: Any) -> None:
    curve = curve_of(scored, volume)
    assert curve.level[0] == 0.0
    assert curve.excess_mass[0] == 1.0
    assert curve(0) == 1.0
    assert (np.diff(curve.level) > 0).all()
    assert (np.diff(curve.excess_mass) < 0).all()
    slopes = np.diff(curve.excess_mass) / np.diff(curve.level)
    assert (np.diff(slopes) >= -1e-12 * np.abs(slopes[1:])).all()
    at = np.concatenate([curve.level, np.geomspace(1e-6, 1e6, 50) / float(written(volume))])
    values = curve(np.sort(at))
    assert (np.diff(values) <= 1e-15).all()
    assert (values >= 0).all()
    assert (values <= 1).all()
    assert values[-1] == curve.excess_mass[-1]


@given(slow.small_floats(), st.integers(2, 9))
def test_to_repeat_all_points_changes_nothing(scored: Scored, times: int) -> None:
    more = Scored(np.tile(scored.test, times), np.tile(scored.uniform, times))
    one, other = curve_of(scored), curve_of(more)
    np.testing.assert_allclose(other.level, one.level, rtol=1e-15)
    np.testing.assert_allclose(other.excess_mass, one.excess_mass, rtol=1e-15)


@given(slow.scores(), slow.volumes, st.integers(-60, 60))
def test_levels_scale_with_one_over_the_volume(scored: Scored, volume: Any, power: int) -> None:
    exact = written(volume)
    one, other = curve_of(scored, exact), curve_of(scored, exact * Fraction(2) ** power)
    np.testing.assert_array_equal(other.level, np.ldexp(one.level, -power))
    np.testing.assert_array_equal(other.excess_mass, one.excess_mass)
    try:
        area = one.area()
    except UndefinedMeasureError:
        with pytest.raises(UndefinedMeasureError):
            other.area()
        return
    assert other.area() == math.ldexp(area, -power)


@given(slow.scores(), slow.volumes)
def test_the_logarithm_of_the_volume_gives_the_same_curve(scored: Scored, volume: Any) -> None:
    exact = written(volume)
    log_volume = math.log(exact.numerator) - math.log(exact.denominator)
    one = curve_of(scored, volume)
    other = fastad.excess_mass_curve(scored.test, scored.uniform, log_volume=log_volume)
    np.testing.assert_allclose(other.level, one.level, rtol=1e-13)
    np.testing.assert_array_equal(other.excess_mass, one.excess_mass)
    at = one.level[1:] * 0.7
    np.testing.assert_allclose(other(at), one(at), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(one(log_level=np.log(at)), one(at), rtol=1e-12, atol=1e-13)
    if outcome(one).startswith("0x"):
        assert other.area() == pytest.approx(one.area(), rel=1e-13)
    else:
        assert outcome(other) == outcome(one)


@given(slow.small_floats())
def test_less_volume_or_more_levels_is_never_worse(scored: Scored) -> None:
    """The levels of a coarser score are among those of the finer one."""
    coarse = Scored(np.ceil(scored.test), np.ceil(scored.uniform))
    at = np.linspace(0, 5, 41)
    assert (curve_of(scored)(at) >= curve_of(coarse)(at) - 1e-15).all()


# All ways of ordering.


@pytest.mark.parametrize("kind", KINDS)
def test_at_any_level_no_set_exceeds_the_curve_and_one_reaches_it(kind: str) -> None:
    curve = curve_of(large(kind, 90_000, 140_000), 3.0)
    masses = curve.levels.masses / 90_000
    volumes = np.asarray(curve.levels.inside) / 140_000 * 3.0
    for level in (0.0, 0.01, 0.2, 1 / 3, 0.5, 2.0, 100.0):
        assert curve(level) == pytest.approx((masses - level * volumes).max(), abs=1e-14)


# Where it is undefined.


def test_where_most_of_the_data_meet_no_uniform_point_the_area_is_undefined() -> None:
    curve = fastad.excess_mass_curve([0.0, 1.0, 2.0, 3.0], [2.5, 4.0], 7.0)
    assert curve.excess_mass[-1] == 0.75
    assert curve.area(0.75) > 0
    for ask in (curve.area, curve.log_area, curve.level_at):
        with pytest.raises(UndefinedMeasureError) as caught:
            ask(0.7)
        message = str(caught.value)
        assert "down to 0.7" in message
        assert "score below all uniform points; found 3 of 4" in message


def test_the_message_names_the_height_as_it_was_given() -> None:
    with pytest.raises(UndefinedMeasureError, match=r"down to 0\.9 is undefined"):
        fastad.excess_mass_curve([0.0], [1.0], 1.0).area()


def test_a_detector_of_one_score_has_one_line() -> None:
    curve = fastad.excess_mass_curve([1.0, 1.0], [1.0, 1.0, 1.0], 2.0)
    assert curve.level.tolist() == [0.0, 0.5]
    assert curve.excess_mass.tolist() == [1.0, 0.0]
    assert curve.area() == pytest.approx(0.05 * 0.95, rel=1e-15)
    assert curve.thresholds.tolist() == [1.0, -math.inf]


# Volumes beyond floats.


@pytest.mark.parametrize("log_volume", [-900.0, 900.0, -1e6, 1e6])
def test_beyond_all_floats_the_logarithms_stay(log_volume: float) -> None:
    curve = fastad.excess_mass_curve([1.0], [0.0, 2.0], log_volume=log_volume)
    assert curve.log_area() == pytest.approx(math.log(0.19) - log_volume, rel=1e-14)
    assert curve.log_level.tolist() == pytest.approx([-math.inf, math.log(2) - log_volume])
    end = 0.0 if log_volume > 0 else math.inf
    assert curve.area() == end
    assert curve.level_at() == end
    assert curve.level.tolist() == [0.0, end]
    assert curve(log_level=math.log(0.5) - log_volume) == pytest.approx(0.75, rel=1e-9)
    assert curve(log_level=-math.inf) == 1.0
    assert curve(log_level=[math.log(0.5) - log_volume, -math.inf]).shape == (2,)
    assert curve(0.0) == 1.0
    assert curve(1.0) == (0.0 if log_volume > 0 else 1.0)


@pytest.mark.parametrize("volume", [1e-307, 2.3e-308, 1.79e308, 5e-324])
@pytest.mark.parametrize(("n", "m"), [(10, 1000), (1000, 10), (1, 1)])
def test_volumes_at_the_ends_of_all_floats(volume: float, n: int, m: int) -> None:
    rng = np.random.default_rng(0)
    test, uniform = rng.random(n), rng.random(m)
    uniform[0] = 0.0
    # Written as 5e-324, the smallest float is 1.2 % less than that.
    exact = written(volume)
    log_volume = math.log(exact.numerator) - math.log(exact.denominator)
    fraction, whole = (fastad.excess_mass_curve(test, uniform, v) for v in (1.0, volume))
    assert whole.log_area() == pytest.approx(fraction.log_area() - log_volume, rel=1e-13)
    assert whole.excess_mass.tobytes() == fraction.excess_mass.tobytes()
    np.testing.assert_allclose(whole.log_level[1:], fraction.log_level[1:] - log_volume, rtol=1e-13)
    with np.errstate(over="ignore", under="ignore"):
        expected = np.exp(whole.log_level)
    np.testing.assert_allclose(whole.level, expected, rtol=1e-10, atol=1e-310)
    at = fraction.log_level[1:] - 0.5
    np.testing.assert_allclose(whole(log_level=at - log_volume), fraction(log_level=at), 1e-9)
    assert whole(0.0) == 1.0


@pytest.mark.parametrize("volume", [Fraction(10) ** 400, Fraction(1, 10**400), 10**400])
def test_fractions_beyond_floats_are_volumes(volume: Any) -> None:
    curve = fastad.excess_mass_curve([1.0], [0.0, 2.0], volume)
    exact = Fraction(volume)
    expected = math.log(exact.denominator) - math.log(exact.numerator) + math.log(0.19)
    assert curve.log_area() == pytest.approx(expected, rel=1e-14)


# The closed form.


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_normal_distribution_has_its_closed_form(d: int) -> None:
    rng = np.random.default_rng(10 + d)
    n, m, half = 20_000, 100_000, 4.5
    X, U = rng.normal(size=(n, d)), rng.uniform(-half, half, size=(m, d))
    test, uniform = (np.sqrt((rows**2).sum(axis=1)) for rows in (X, U))
    volume = (2 * half) ** d
    curve = fastad.excess_mass_curve(test, uniform, volume)
    highest = (2 * math.pi) ** (-d / 2)
    for part in (0.001, 0.01, 0.1, 0.3, 0.7):
        level = part * highest
        expected = slow.normal_excess(d, level)
        square = -2 * math.log(part)
        inside = ball_volume(d) * square ** (d / 2)
        mass = expected + level * inside
        # The maximum is too large by far less than one error of the best set.
        of_test = math.sqrt(mass * (1 - mass) / n)
        of_uniform = level * math.sqrt(inside * max(volume - inside, 0) / m)
        error = math.hypot(of_test, of_uniform)
        assert -4 * error < curve(level) - expected < 4 * error + 0.002
    area, _ = slow.normal_areas(d)
    assert curve.area() == pytest.approx(area, rel=0.05)


# Validation.


def test_what_a_level_must_be() -> None:
    curve = fastad.excess_mass_curve([1.0], [0.0, 2.0], 10.0)
    for bad in (-1e-300, math.nan, [0.1, math.nan], [[0.1]], "x", ["x"], True, 1j):
        with pytest.raises(InvalidInputError, match="level must"):
            curve(bad)  # type: ignore[arg-type]
    for bad in (math.nan, [[0.1]], "x"):
        with pytest.raises(InvalidInputError, match="log_level must"):
            curve(log_level=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"level must be given.*found both"):
        curve(0.1, log_level=0.0)  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match=r"level must be given.*found neither"):
        curve()  # type: ignore[call-overload]
    assert isinstance(curve(1), float)
    assert isinstance(curve(np.float32(0.125)), float)
    assert curve(np.float32(0.125)) == 0.375
    assert curve((0.1, 0)).tolist() == [0.5, 1.0]
    assert curve(np.array([0, 1])).tolist() == [1.0, 0.0]


def test_a_level_may_be_a_fraction_as_everywhere_else() -> None:
    curve = fastad.excess_mass_curve([1.0], [0.0, 2.0], 10.0)
    assert curve(Fraction(1, 10)) == 0.5
    assert curve(10**400) == curve(log_level=10**400) == 0.0


@pytest.mark.parametrize("bad", [0, 1, 0.0, 1.0, -0.1, 1.5, math.nan])
def test_what_the_height_must_be(bad: float) -> None:
    curve = fastad.excess_mass_curve([1.0], [0.0, 2.0], 10.0)
    for ask in (curve.area, curve.log_area, curve.level_at):
        with pytest.raises(InvalidInputError, match="excess_mass must"):
            ask(bad)

"""Bands of the mass-volume and the excess-mass curve cover the true curves and the given ones."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

import fastad
from fastad import InvalidInputError
from fastad.errors import InvalidTypeError
from fastad.unsupervised import (
    ExcessMassCurve,
    MassVolumeCurve,
    excess_mass_band,
    level_sets,
    mass_volume_band,
)
from tests.support import levels as slow
from tests.support.levels import Scored
from tests.support.volumes import norm_of_point

Array = npt.NDArray[Any]
WIDTH = 10.0


def normal(seed: int, n: int = 500, m: int = 10_000) -> Scored:
    """One feature, whose score is the distance from the centre, in a box of width 10."""
    rng = np.random.default_rng(seed)
    return Scored(np.abs(rng.normal(size=n)), np.abs(rng.uniform(-5, 5, size=m)))


def mass_volume(scored: Scored) -> MassVolumeCurve:
    return fastad.mass_volume_curve(scored.test, scored.uniform, WIDTH)


def excess_mass(scored: Scored) -> ExcessMassCurve:
    return fastad.excess_mass_curve(scored.test, scored.uniform, WIDTH)


def true_volume(mass: Array) -> Array:
    result: Array = np.minimum(slow.normal_volume(1, mass), WIDTH)
    return result


# They cover the true value.


@pytest.mark.evidence
@pytest.mark.parametrize(("n", "m"), [(500, 10_000), (60, 300)])
def test_each_point_covers_the_true_value_in_most_samples(n: int, m: int) -> None:
    """Of 100 at 90 %: 81 or more, but for one case in 300, at each of five masses."""
    masses = np.array([0.02, 0.2, 0.5, 0.9, 0.97])
    hits = np.zeros(5, int)
    for seed in range(100):
        band = mass_volume_band(mass_volume(normal(seed, n, m)), mass=masses, confidence_level=0.9)
        expected = true_volume(masses)
        hits += (band.low <= expected) & (expected <= band.high)
    assert hits.min() >= 82


@pytest.mark.slow
def test_points_are_not_far_too_wide() -> None:
    """With many more uniform points only the test points count, and their bounds are tight."""
    masses = np.array([0.2, 0.5, 0.9])
    hits = np.zeros(3, int)
    for seed in range(100):
        curve = mass_volume(normal(seed, 200, 100_000))
        band = mass_volume_band(curve, mass=masses, confidence_level=0.5)
        expected = true_volume(masses)
        hits += (band.low <= expected) & (expected <= band.high)
    assert hits.max() <= 75
    assert hits.min() >= 40


@pytest.mark.evidence
@pytest.mark.parametrize(("n", "m"), [(400, 4000), (50, 150)])
def test_the_whole_curve_lies_in_a_simultaneous_band_in_most_samples(n: int, m: int) -> None:
    """Of 60 at 80 %: 40 or more, but for one case in 400; likewise the excess mass."""
    hits = np.zeros(2, int)
    for seed in range(60):
        scored = normal(seed, n, m)
        band = mass_volume_band(mass_volume(scored), simultaneous=True, confidence_level=0.8)
        expected = true_volume(band.mass)
        hits[0] += bool(((band.low <= expected) & (expected <= band.high)).all())
        excess = excess_mass_band(excess_mass(scored), confidence_level=0.8)
        heights = np.array([slow.normal_excess(1, level) for level in excess.level.tolist()])
        hits[1] += bool(((excess.low <= heights) & (heights <= excess.high)).all())
    assert hits.min() >= 41


def test_the_band_of_the_excess_mass_follows_from_that_of_the_volumes() -> None:
    """What covers all curves between two bounds on volumes covers their excess mass."""
    scored = normal(3)
    curve = excess_mass(scored)
    level = np.linspace(0, 0.3, 16)
    band = excess_mass_band(curve, level=level)
    masses = np.unique(np.concatenate([np.linspace(0, 1, 1001), curve.levels.masses / 500]))
    volumes = mass_volume_band(mass_volume(scored), mass=masses, simultaneous=True)
    for t, low, high in zip(level, band.low, band.high, strict=True):
        # On a grid of masses the largest is a little smaller than on all of them.
        assert low >= max((masses - t * volumes.high).max(), 0) - 1e-12
        assert high >= min((masses - t * volumes.low).max(), 1) - 1e-12
        assert low <= max((masses - t * volumes.high).max(), 0) + 0.003
        assert high <= min((masses - t * volumes.low).max(), 1) + 0.003


# They cover the given curve.


@given(slow.small_floats())
def test_bands_cover_the_given_curve(scored: Scored) -> None:
    curve = mass_volume(scored)
    for simultaneous in (False, True):
        band = mass_volume_band(curve, simultaneous=simultaneous)
        assert (band.low <= band.volume).all()
        assert (band.volume <= band.high * (1 + 1e-15)).all()
        assert (band.low >= 0).all()
        assert (band.high <= WIDTH * (1 + 1e-15)).all()
        assert (np.diff(band.low) >= 0).all()
        assert (np.diff(band.high) >= 0).all()
        np.testing.assert_array_equal(band.volume, curve(band.mass))
    excess = excess_mass(scored)
    levels = np.linspace(0, 3, 31)
    covered = excess_mass_band(excess, level=levels)
    np.testing.assert_allclose(covered.excess_mass, excess(levels), rtol=1e-14, atol=1e-15)
    assert (covered.low <= covered.excess_mass + 1e-15).all()
    assert (covered.excess_mass <= covered.high + 1e-15).all()
    assert (covered.low >= 0).all()
    assert (covered.high <= 1).all()
    assert (np.diff(covered.low) <= 0).all()
    assert (np.diff(covered.high) <= 0).all()
    assert covered.high[0] == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_a_simultaneous_band_contains_the_pointwise_one(seed: int) -> None:
    curve = mass_volume(normal(seed))
    one, whole = (mass_volume_band(curve, simultaneous=flag) for flag in (False, True))
    np.testing.assert_array_equal(one.mass, whole.mass)
    assert (whole.low <= one.low).all()
    assert (one.high <= whole.high).all()
    assert not one.simultaneous
    assert whole.simultaneous


@pytest.mark.slow
def test_a_higher_confidence_is_a_wider_band() -> None:
    scored = normal(0)
    for flag in (False, True):
        some, more = (
            mass_volume_band(mass_volume(scored), simultaneous=flag, confidence_level=level)
            for level in (0.8, 0.99)
        )
        assert (more.low <= some.low).all()
        assert (some.high <= more.high).all()
        assert (more.high > some.high).any()
    few, many = (
        excess_mass_band(excess_mass(scored), level=[0.05, 0.1], confidence_level=level)
        for level in (0.8, 0.99)
    )
    assert (many.low < few.low).all()
    assert (few.high < many.high).all()


@pytest.mark.slow
def test_more_points_are_a_narrower_band() -> None:
    widths = []
    for n, m in ((100, 1000), (1000, 10_000), (10_000, 100_000)):
        scored = normal(0, n, m)
        band = mass_volume_band(mass_volume(scored), mass=[0.5, 0.9], simultaneous=True)
        excess = excess_mass_band(excess_mass(scored), level=[0.05, 0.1])
        widths.append([*(band.high - band.low), *(excess.high - excess.low)])
    ratios = np.array(widths[:-1]) / np.array(widths[1:])
    assert (ratios > 2).all()


def test_ties_keep_the_bounds_valid() -> None:
    """Rounded scores have steps: the true volume at a mass is that of the next step."""
    hits = np.zeros(4, int)
    for seed in range(100, 250):
        scored = normal(seed, 300, 3000)
        coarse = Scored(np.ceil(scored.test * 4), np.ceil(scored.uniform * 4))
        band = mass_volume_band(
            mass_volume(coarse), mass=[0.3, 0.5, 0.8, 0.95], confidence_level=0.9
        )
        edges = np.arange(0, 21) / 4
        covered = np.array([math.erf(x / math.sqrt(2)) for x in edges])
        expected = 2 * edges[np.searchsorted(covered, band.mass)]
        hits += (band.low <= expected) & (expected <= band.high)
    # Of 150 at 90 %, at each mass: fewer than 123 in one case of 1000.
    assert hits.min() >= 123


# Volumes beyond floats, and other edges.


@pytest.mark.parametrize("volume", [1e-300, 1e300, 1e-5])
def test_bands_scale_with_the_volume_of_the_box(volume: float) -> None:
    scored = normal(0, 100, 1000)
    one, other = (
        mass_volume_band(fastad.mass_volume_curve(scored.test, scored.uniform, v))
        for v in (1.0, volume)
    )
    np.testing.assert_allclose(other.low, one.low * volume, rtol=1e-13)
    np.testing.assert_allclose(other.high, one.high * volume, rtol=1e-13)
    small, large = (
        excess_mass_band(fastad.excess_mass_curve(scored.test, scored.uniform, v))
        for v in (1.0, volume)
    )
    np.testing.assert_allclose(large.level, small.level / volume, rtol=1e-12)
    np.testing.assert_allclose(large.low, small.low, rtol=1e-11)
    np.testing.assert_allclose(large.high, small.high, rtol=1e-11)


@pytest.mark.parametrize("log_volume", [-900.0, 900.0])
@pytest.mark.parametrize(("name", "at"), [("mass_volume", "mass"), ("excess_mass", "level")])
def test_beyond_all_floats_a_band_holds_no_nan(name: str, at: str, log_volume: float) -> None:
    scored = normal(0, 100, 1000)
    curve_of = getattr(fastad, f"{name}_curve")
    curve = curve_of(scored.test, scored.uniform, log_volume=log_volume)
    band = getattr(fastad.unsupervised, f"{name}_band")(curve)
    value = band.volume if name == "mass_volume" else band.excess_mass
    assert not np.isnan([getattr(band, at), band.low, band.high]).any()
    assert (band.low <= value).all()
    assert (value <= band.high).all()


def test_where_em_is_undefined_levels_may_still_be_given() -> None:
    curve = fastad.excess_mass_curve(np.arange(20.0), np.full(100, 50.0), WIDTH)
    band = excess_mass_band(curve, level=[0.0, 0.1, 1.0])
    assert band.excess_mass.tolist() == [1.0, 1.0, 1.0]
    assert band.high.tolist() == [1.0, 1.0, 1.0]
    assert (band.low[1:] < 1).all()
    assert (band.low[:2] > 0.3).all()


def test_an_infinite_level_leaves_what_may_have_no_volume() -> None:
    curve = fastad.excess_mass_curve([*range(9), 20], [10.0] * 500 + [30.0] * 500, WIDTH)
    largest, infinite = excess_mass_band(curve, level=[1e300, math.inf]).high
    assert 0.9 < largest == infinite < 1
    # Beyond all floats too, times the volume of the box.
    wide = fastad.excess_mass_curve([*range(9), 20], [10.0] * 500 + [30.0] * 500, 1e200)
    assert excess_mass_band(wide, level=[1e300]).high == [infinite]


def test_where_em_is_undefined_the_default_levels_are_so_too() -> None:
    """Whatever is said, it is one of the errors of the library, and documented."""
    curve = fastad.excess_mass_curve(np.arange(20.0), np.full(100, 50.0), WIDTH)
    with pytest.raises(fastad.UndefinedMeasureError, match="score below all uniform points"):
        excess_mass_band(curve)
    assert "UndefinedMeasureError" in str(excess_mass_band.__doc__)


def test_one_point_of_each_kind_says_nothing() -> None:
    band = mass_volume_band(fastad.mass_volume_curve([1.0], [0.0], WIDTH), mass=[0.5, 1.0])
    assert (band.low < 0.3).all()
    assert band.high.tolist() == [WIDTH, WIDTH]
    excess = excess_mass_band(fastad.excess_mass_curve([1.0], [0.0], WIDTH), level=[0.0, 0.05, 1.0])
    assert excess.high[0] == 1.0
    assert (excess.low >= 0).all()


# Validation.


def test_bands_of_estimates_are_refused() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    levels = level_sets(norm_of_point, X, method="splitting", n_draws=20_000, rng=0)
    with pytest.raises(InvalidInputError, match="curve must be made of counted volumes"):
        mass_volume_band(fastad.mass_volume_curve(levels))
    with pytest.raises(InvalidInputError, match="curve must be made of counted volumes"):
        excess_mass_band(fastad.excess_mass_curve(levels))
    counted = level_sets(norm_of_point, X, method="uniform", n_draws=20_000, rng=0)
    assert mass_volume_band(fastad.mass_volume_curve(counted), mass=0.5).mass.tolist() == [0.5]


def test_what_the_options_must_be() -> None:
    scored = normal(0, 20, 50)
    curve, excess = mass_volume(scored), excess_mass(scored)
    for level in (0, 1, 1.5, math.nan):
        with pytest.raises(InvalidInputError, match="confidence_level"):
            mass_volume_band(curve, confidence_level=level)
        with pytest.raises(InvalidInputError, match="confidence_level"):
            excess_mass_band(excess, confidence_level=level)
    for mass in (-0.1, 1.1, math.nan, [0.5, 2.0], []):
        with pytest.raises(InvalidInputError, match="mass"):
            mass_volume_band(curve, mass=mass)
    with pytest.raises(TypeError, match="simultaneous must be True or False"):
        mass_volume_band(curve, simultaneous="yes")  # type: ignore[arg-type]
    for levels in ([-1.0], [math.nan], [[0.1]]):
        with pytest.raises(InvalidInputError, match="level must"):
            excess_mass_band(excess, level=levels)  # type: ignore[arg-type]


def test_levels_that_are_no_numbers_are_refused_in_the_librarys_words() -> None:
    excess = excess_mass(normal(0, 20, 50))
    bad: list[Any] = [["x"], "x", [None], {}]
    for levels in bad:
        with pytest.raises((InvalidInputError, TypeError), match="level must"):
            excess_mass_band(excess, level=levels)


def test_masses_and_levels_as_they_are_written() -> None:
    curve = mass_volume(normal(0, 20, 50))
    band = mass_volume_band(curve, mass=[Fraction(1, 3), 0.29, np.float32(0.9)])  # type: ignore[list-item]
    assert band.volume.tolist() == [curve(Fraction(1, 3)), curve(0.29), curve(0.9)]
    assert band.confidence_level == 0.95
    for array in (band.mass, band.volume, band.low, band.high):
        assert array.shape == (3,)
        assert not array.flags.writeable
    single = mass_volume_band(curve, mass=0.5)
    assert single.mass.tolist() == [0.5]


@pytest.mark.parametrize("curve", [None, [1.0, 2.0], "excess", "mass"])
def test_another_kind_of_curve_is_refused(curve: Any) -> None:
    """An excess-mass curve would have given excess masses for volumes."""
    curves: dict[Any, Any] = {"excess": excess_mass(normal(0)), "mass": mass_volume(normal(0))}
    given_curve = curves[curve] if isinstance(curve, str) else curve
    if curve != "mass":
        with pytest.raises(
            InvalidTypeError, match=r"^curve must be of type MassVolumeCurve; found"
        ):
            mass_volume_band(given_curve)
    if curve != "excess":
        with pytest.raises(
            InvalidTypeError, match=r"^curve must be of type ExcessMassCurve; found"
        ):
            excess_mass_band(given_curve)


def test_the_volume_at_a_fraction_is_that_of_the_curve() -> None:
    """As a float 1 / 34 may lie above the mass of one of 34 points, and takes the next."""
    scored = normal(0, 34, 500)
    curve = mass_volume(scored)
    for k in range(1, 35):
        mass: Any = [Fraction(k, 34)]
        (found,) = mass_volume_band(curve, mass=mass).volume
        highest = np.sort(scored.test)[k - 1]
        assert (
            found
            == curve(Fraction(k, 34))
            == pytest.approx(WIDTH * np.mean(scored.uniform <= highest), rel=1e-12)
        )

"""``level_sets`` by splitting and other methods that estimate volumes."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import fastad
from fastad import Box, InvalidInputError
from fastad.unsupervised import LevelSets, level_sets
from fastad.unsupervised.levels import Extent
from tests.support import levels as slow
from tests.support.criteria import criteria_of
from tests.support.detector_levels import Array, bits, normal
from tests.support.loops import loop
from tests.support.volumes import (
    ball_volume,
    first_of_point,
    largest_of_point,
    norm,
    norm_of_point,
    square_of_point,
)

# Splitting.


def relative_errors(levels: LevelSets, masses: list[float]) -> dict[float, float]:
    """How much the logarithm of the volume errs, of each mass (Cox)."""
    assert levels.log_fractions is not None
    results = {}
    for mass in masses:
        index = int(np.searchsorted(levels.masses, math.ceil(mass * levels.n_test)))
        variance, n = levels.log_fractions[:, index].var(ddof=1), len(levels.log_fractions)
        results[mass] = math.sqrt(variance / n + variance**2 / (2 * (n - 1)))
    return results


@pytest.mark.parametrize("method", ["sobol", "splitting"])
def test_in_two_features_all_methods_find_what_counting_finds(method: Any) -> None:
    X = normal(1000, 2)
    counted = level_sets(norm, X, method="uniform", n_draws=200_000, rng=0)
    split = level_sets(norm, X, method=method, n_draws=200_000, lowest_mass=0.1, rng=0)
    masses = [0.15, 0.3, 0.6, 0.9, 0.99]
    errors = relative_errors(split, masses)
    one, other = fastad.mass_volume_curve(counted), fastad.mass_volume_curve(split)
    for mass in masses:
        n_inside = one(mass) / (counted.box.times(1) / 200_000)
        error = math.hypot(errors[mass], 1 / math.sqrt(n_inside))
        assert abs(math.log(other(mass) / one(mass))) < 4.5 * error
    # Of the smallest sets some repeat may have found nothing.
    assert set(split.masses.tolist()) <= set(counted.masses.tolist())
    assert split.masses[-1] == 1000
    assert len(split.masses) > 850
    areas = [fastad.mass_volume_curve(levels).area() for levels in (counted, split)]
    assert areas[1] == pytest.approx(areas[0], rel=0.05)
    areas = [fastad.excess_mass_curve(levels).area() for levels in (counted, split)]
    assert areas[1] == pytest.approx(areas[0], rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("d", [20, 6])
def test_in_many_features_the_volumes_are_those_of_balls(d: int) -> None:
    """No uniform draw comes near: the box has volume 14^d."""
    X, box = normal(2000, d), Box([-7.0] * d, [7.0] * d)
    levels = level_sets(
        norm_of_point, X, box=box, method="splitting", n_draws=100_000, lowest_mass=0.5, rng=1
    )
    assert levels.n_uniform is None
    for mass, error in relative_errors(levels, [0.5, 0.75, 0.9, 0.99]).items():
        curve = fastad.mass_volume_curve(levels)
        ball = ball_volume(d) * curve.threshold_at(mass) ** d
        assert error < 0.5
        assert abs(math.log(curve(mass) / ball)) < 5 * max(error, 0.03)
    logs = levels.log_fractions
    assert logs is not None
    assert levels.inside is None
    assert np.diff(levels.log_volumes()[1:]).min() >= 0
    assert np.diff(logs[:, 1:], axis=1).min() >= 0
    logs = logs[:, 1:]
    cox = logs.mean(axis=0) + logs.var(axis=0, ddof=1) / 2 + levels.box.log
    np.testing.assert_allclose(levels.log_volumes()[1:], np.maximum.accumulate(cox), rtol=1e-14)


def test_the_areas_of_a_normal_distribution_in_many_features() -> None:
    d = 10
    X, box = normal(4000, d, seed=5), Box([-7.0] * d, [7.0] * d)
    levels = level_sets(
        norm_of_point, X, box=box, method="splitting", n_draws=100_000, lowest_mass=0.9, rng=1
    )
    em, mv = slow.normal_areas(d)
    result = criteria_of(levels, rng=0, n_resamples=300)
    # At 95 %, and one seed: both cover the true value.
    assert result.mv.low < mv < result.mv.high
    assert result.em.low < em < result.em.high
    assert result.mv.value == pytest.approx(mv, rel=0.25)
    assert result.em.value == pytest.approx(em, rel=0.3)


def test_volumes_below_the_lowest_mass_are_that_of_the_smallest_set_found() -> None:
    X = normal(500, 2)
    options: dict[str, Any] = {"method": "splitting", "n_draws": 200_000, "rng": 0}
    levels = level_sets(norm, X, lowest_mass=0.9, **options)
    assert levels.masses[:3].tolist() == [0, 450, 451]
    curve = fastad.mass_volume_curve(levels)
    assert curve(0.001) == curve(0.5) == curve(0.9) < curve(0.902)
    assert curve(0) == 0.0
    # Neither area asks for less.
    whole = level_sets(norm, X, lowest_mass=0, **options)
    assert whole.masses.shape == (501,)
    for one, other in (
        (curve.area(), fastad.mass_volume_curve(whole).area()),
        (fastad.excess_mass_curve(levels).area(), fastad.excess_mass_curve(whole).area()),
    ):
        assert one == pytest.approx(other, rel=0.06)


def test_the_lowest_mass_is_the_decimal_that_was_written() -> None:
    """0.07 of 100 points are 7, and a float above it."""
    levels = level_sets(
        norm, normal(100, 2), method="splitting", n_draws=20_000, lowest_mass=0.07, rng=0
    )
    assert levels.masses[1] == 7


def test_the_lowest_mass_of_uniform_draws_changes_nothing() -> None:
    X = normal(200, 2)
    one, other = (
        level_sets(norm, X, method="uniform", n_draws=1000, lowest_mass=lowest, rng=0)
        for lowest in (0, 0.9)
    )
    assert bits(one) == bits(other)


def test_closed_sets_contain_their_plateau() -> None:
    """Splitting finds the volume of open sets; the set of a plateau contains it."""
    X = np.linspace(0, 1, 201)[:, None]

    def stairs(rows: Array) -> Array:
        result: Array = np.floor(rows[:, 0] * 4)
        return result

    levels = level_sets(stairs, X, method="splitting", n_draws=50_000, rng=0)
    assert levels.thresholds.tolist() == [-math.inf, 0.0, 1.0, 2.0, 3.0, 4.0]
    expected = [0.25, 0.5, 0.75, 1.0, 1.0]
    assert levels.absolute_volumes()[1:] == pytest.approx(expected, rel=0.03)


def test_the_set_of_an_infinite_score_holds_all() -> None:
    """Scores of +inf are legal; the closed set of the highest is the whole box."""
    X = normal(200, 2)

    def score(rows: Array) -> Array:
        return np.where(rows[:, 0] > 0.5, np.inf, np.abs(rows[:, 0]))

    counted = level_sets(score, X, method="uniform", rng=0)
    split = level_sets(score, X, method="splitting", n_draws=50_000, rng=0)
    assert fastad.mass_volume_curve(counted)(1.0) == pytest.approx(Box.from_data(X).volume)
    assert fastad.mass_volume_curve(split)(1.0) == pytest.approx(Box.from_data(X).volume, rel=1e-6)
    assert split.masses[-1] == 200


@pytest.mark.parametrize("constant", [0.0, 7.5, -math.inf, math.inf])
def test_a_detector_that_says_one_thing(constant: float) -> None:
    X = normal(50, 2)
    for method in ("auto", "uniform", "splitting"):
        levels = level_sets(
            lambda rows: np.full(len(rows), constant), X, method=method, n_draws=20_000, rng=0
        )
        assert levels.masses.tolist() == [0, 50]
        assert fastad.mass_volume_curve(levels).area(0, 1) == pytest.approx(Box.from_data(X).volume)


@pytest.mark.parametrize("d", [2, 12])
def test_easy_cases_do_not_warn(d: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        levels = level_sets(
            square_of_point, normal(500, d), method="splitting", n_draws=100_000, rng=2
        )
    assert levels.masses[-1] == 500


@pytest.mark.filterwarnings("ignore::fastad.errors.InsufficientMixingWarning")
def test_a_small_budget_leaves_out_small_sets() -> None:
    box = Box([-10.0] * 10, [10.0] * 10)
    levels = level_sets(norm, normal(500, 10), box=box, method="splitting", n_draws=10_000, rng=0)
    assert 0 == levels.masses[0] < 1 < levels.masses[1] < levels.masses[-1] == 500
    assert np.isfinite(levels.log_volumes()[1:]).all()


@pytest.mark.parametrize(("n_draws", "found"), [(10_000, 10_000), (None, 1_000_000)])
def test_where_not_even_the_largest_set_is_reached_the_budget_is_named(
    n_draws: int | None, found: int
) -> None:
    X = np.full((5, 6), 0.5)
    with pytest.raises(InvalidInputError, match=f"^n_draws must let .* test score; found {found}$"):
        level_sets(
            lambda rows: np.where((rows == 0.5).all(axis=1), 0.0, 1.0),
            X,
            box=Box([0.0] * 6, [1.0] * 6),
            method="splitting",
            n_draws=n_draws,
            rng=0,
        )


@pytest.mark.evidence
def test_where_the_volume_of_the_box_overflows_logarithms_stay() -> None:
    """Cubes in a cube of 52 features, whose volume is e^736."""
    d, half = 52, 7e5
    X = np.random.default_rng(0).uniform(0.25 - 6e5, 0.25 + 6e5, size=(300, d))
    box = Box([0.25 - half] * d, [0.25 + half] * d)
    assert math.isinf(box.volume)
    split = level_sets(
        largest_of_point, X, box=box, method="splitting", n_draws=20_000, lowest_mass=0.9, rng=0
    )
    assert split.n_uniform is None
    curve = fastad.mass_volume_curve(split)
    cube = d * math.log(2 * curve.threshold_at(0.95))
    assert curve.log_volume[curve.mass >= 0.95][0] == pytest.approx(cube, abs=2)
    assert curve.log_area() == pytest.approx(cube + math.log(0.099), abs=2)
    assert curve.area() == math.inf
    assert fastad.excess_mass_curve(split).log_area() == pytest.approx(
        math.log(0.095) - cube, abs=2
    )
    assert fastad.excess_mass_curve(split).area() < 1e-300
    result = criteria_of(split, rng=0, n_resamples=100)
    assert result.mv.log_low < result.mv.log_value < result.mv.log_high
    assert result.mv.value == result.mv.low == math.inf
    counted = level_sets(first_of_point, X, box=box, method="uniform", rng=0, n_draws=10_000)
    fraction = math.log(
        (fastad.mass_volume_curve(counted).threshold_at(0.5) - 0.25 + half) / (2 * half)
    )
    mass = fastad.mass_volume_curve(counted)
    found_fraction = mass.log_volume[mass.mass >= 0.5][0] - box.log_volume
    assert found_fraction == pytest.approx(fraction, abs=0.05)


# Estimates whose volumes span more than floats do.


def wide(span: float) -> LevelSets:
    """One far point takes e^span times the volume of all others."""
    small = np.linspace(-3.0, 0.0, 99)
    logs = np.concatenate([[-math.inf], small, [span]]) - span
    thresholds = np.concatenate([[-math.inf], np.arange(1.0, 101.0)])
    repeats = np.array([logs - 0.01, logs + 0.01])
    return LevelSets(thresholds, np.arange(101), None, repeats, Extent(None, span), None)


@pytest.mark.slow
@loop("span", [10.0, 300.0, 600.0, 705.0, 740.0, 2000.0])
def test_one_point_far_out_does_not_drown_the_volumes_of_the_others(span: float) -> None:
    expected = wide(10.0)
    levels = wide(span)
    one, other = fastad.mass_volume_curve(levels), fastad.mass_volume_curve(expected)
    assert one.log_area(0.5, 0.9) == pytest.approx(other.log_area(0.5, 0.9), rel=1e-9)
    result = fastad.excess_mass_curve(levels).log_area(0.9)
    assert result == pytest.approx(fastad.excess_mass_curve(expected).log_area(0.9), rel=0.01)
    for criterion in criteria_of(levels, rng=0, n_resamples=50):
        assert not criterion.reason
        assert criterion.log_low < criterion.log_value < criterion.log_high

"""Mass-volume curves: definition, areas, shape, the ROC curve, and closed forms."""

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.unsupervised import MassVolumeCurve, mass_volume_from_roc
from tests.support import levels as slow
from tests.support.levels import INCREASING, Array, Scored, counted, curve_bits, curve_of
from tests.support.oracles import written
from tests.support.strategies import rates_of

# The definition.


@given(slow.scores(), slow.volumes, st.data())
def test_the_curve_at_any_mass_is_the_least_volume_that_holds_it(
    scored: Scored, volume: Any, data: st.DataObject
) -> None:
    expected = slow.level_sets(scored, written(volume))
    mass = data.draw(rates_of(scored.n_test))
    result = curve_of(scored, volume)(mass)
    # Volumes of the curve are a quotient times the volume of the box: two roundings.
    assert result == pytest.approx(float(slow.mass_volume(expected, written(mass))), rel=5e-16)


@pytest.mark.slow
@given(slow.scores())
def test_both_sides_of_every_step(scored: Scored) -> None:
    expected = slow.level_sets(scored, Fraction(1))
    curve, tiny = curve_of(scored), Fraction(1, 10**30)
    for k in range(scored.n_test + 1):
        step = Fraction(k, scored.n_test)
        for mass in (step - tiny, step, step + tiny):
            if 0 <= mass <= 1:
                assert curve(mass) == float(slow.mass_volume(expected, mass))


@given(slow.scores())
def test_the_arrays_hold_one_point_for_each_distinct_test_score(scored: Scored) -> None:
    expected = slow.level_sets(scored, Fraction(1))
    curve = curve_of(scored)
    assert curve.mass.tolist() == [float(one.mass) for one in expected]
    assert curve.volume.tolist() == [float(one.volume) for one in expected]
    levels = curve.levels
    assert levels.masses.tolist() == [one.mass * len(scored.test) for one in expected]
    assert counted(levels).tolist() == [one.volume * len(scored.uniform) for one in expected]
    assert levels.n_test == len(scored.test)
    assert levels.n_uniform == len(scored.uniform)
    for array in (curve.mass, curve.volume, curve.thresholds, levels.masses, counted(levels)):
        assert not array.flags.writeable


@given(slow.scores())
def test_thresholds_are_the_distinct_test_scores(scored: Scored) -> None:
    """Integers beyond 2**53 too, which no float64 holds."""
    curve = curve_of(scored)
    assert curve.thresholds.tolist() == [-math.inf, *slow.distinct(scored.test)]


@given(slow.scores(), st.data())
def test_the_set_below_the_threshold_holds_the_mass_and_the_volume(
    scored: Scored, data: st.DataObject
) -> None:
    wanted = data.draw(rates_of(scored.n_test))
    curve = curve_of(scored)
    index = int(np.argmax([one >= written(wanted) for one in exact_masses(curve)]))
    assert curve.threshold_at(wanted) == curve.thresholds[index]
    if written(wanted) > 0:
        assert math.isfinite(curve.threshold_at(wanted)) or np.isinf(scored.test).any()
    assert curve(wanted) == curve.volume[index]


def exact_masses(curve: MassVolumeCurve) -> list[Fraction]:
    return [Fraction(k, curve.levels.n_test) for k in curve.levels.masses.tolist()]


@given(slow.small_floats(), st.integers(0, 8))
def test_level_sets_are_closed(scored: Scored, k: int) -> None:
    mass = Fraction(min(k, scored.n_test), scored.n_test)
    curve = curve_of(scored)
    threshold = curve.threshold_at(mass)
    assert curve(mass) == np.mean(scored.uniform <= threshold)
    needed = mass * scored.n_test
    assert np.count_nonzero(scored.test <= threshold) >= needed
    assert mass == 0 or np.count_nonzero(scored.test < threshold) < needed


# Areas.


@given(slow.scores(), slow.volumes, st.data())
def test_the_area_is_the_exact_one_rounded_once(
    scored: Scored, volume: Any, data: st.DataObject
) -> None:
    ends = {written(x): x for x in (data.draw(rates_of(scored.n_test)) for _ in range(2))}
    assume(len(ends) == 2)
    low, high = (ends[one] for one in sorted(ends))
    expected = slow.mass_volume_area(
        slow.level_sets(scored, written(volume)), written(low), written(high)
    )
    curve = curve_of(scored, volume)
    assert curve.area(low, high) == float(expected)
    if expected:
        logarithm = math.log(expected.numerator) - math.log(expected.denominator)
        assert curve.log_area(low, high) == pytest.approx(logarithm, rel=1e-14, abs=1e-13)
    else:
        assert curve.log_area(low, high) == -math.inf


@given(slow.scores())
def test_the_default_area_is_that_of_goix(scored: Scored) -> None:
    expected = slow.mass_volume_area(
        slow.level_sets(scored, Fraction(1)), Fraction(9, 10), Fraction(999, 1000)
    )
    assert curve_of(scored).area() == float(expected)


@given(slow.scores(), st.data())
def test_areas_of_parts_add_up(scored: Scored, data: st.DataObject) -> None:
    cuts = [written(data.draw(rates_of(scored.n_test))) for _ in range(4)]
    ends = sorted({Fraction(0), Fraction(1), *cuts})
    curve = curve_of(scored)
    parts = [curve._area(a, b)[0] for a, b in pairwise(ends)]
    assert sum(parts) == curve._area(0, 1)[0]


@given(slow.scores())
def test_the_whole_area_is_the_mean_of_the_volumes_at_the_test_points(scored: Scored) -> None:
    uniform = slow.plain(scored.uniform)
    inside = [sum(u <= s for u in uniform) for s in slow.plain(scored.test)]
    assert curve_of(scored).area(0, 1) == float(Fraction(sum(inside), len(inside) * len(uniform)))


# Shape.


@given(slow.scores(), slow.volumes)
def test_it_rises_from_nothing_to_no_more_than_the_box(scored: Scored, volume: Any) -> None:
    curve = curve_of(scored, volume)
    assert curve(0) == 0.0
    assert (np.diff(curve.mass) > 0).all()
    assert (np.diff(curve.volume) >= 0).all()
    assert curve.volume[-1] <= float(written(volume)) * (1 + 5e-16)
    assert curve.mass[[0, -1]].tolist() == [0.0, 1.0]


@given(slow.scores(), slow.volumes, st.integers(-60, 60))
def test_the_volume_of_the_box_is_a_factor(scored: Scored, volume: Any, power: int) -> None:
    exact = written(volume)
    one, other = curve_of(scored, exact), curve_of(scored, exact * Fraction(2) ** power)
    assert other.area(0, 1) == math.ldexp(one.area(0, 1), power)
    np.testing.assert_array_equal(other.volume, np.ldexp(one.volume, power))


@given(slow.scores(), slow.volumes)
def test_the_logarithm_of_the_volume_gives_the_same_curve(scored: Scored, volume: Any) -> None:
    exact = written(volume)
    log_volume = math.log(exact.numerator) - math.log(exact.denominator)
    one = curve_of(scored, volume)
    other = fastad.mass_volume_curve(scored.test, scored.uniform, log_volume=log_volume)
    np.testing.assert_allclose(other.volume, one.volume, rtol=1e-13)
    np.testing.assert_allclose(other.log_volume, one.log_volume, rtol=1e-13, atol=1e-13)
    assert other.area(0, 1) == pytest.approx(one.area(0, 1), rel=1e-13)
    assert other.mass.tobytes() == one.mass.tobytes()


@given(slow.small_floats(), st.permutations(range(18)))
def test_any_order_of_the_rows_gives_the_same_bits(scored: Scored, order: list[int]) -> None:
    test = scored.test[[i for i in order if i < len(scored.test)]]
    uniform = scored.uniform[[i for i in order if i < len(scored.uniform)]]
    assert curve_bits(curve_of(Scored(test, uniform), 0.7)) == curve_bits(curve_of(scored, 0.7))


@given(slow.small_floats(), st.sampled_from(INCREASING))
def test_only_the_order_of_the_scores_counts(scored: Scored, transform: Any) -> None:
    moved = curve_of(Scored(transform(scored.test), transform(scored.uniform)))
    expected = curve_of(scored)
    assert moved.levels.masses.tobytes() == expected.levels.masses.tobytes()
    assert counted(moved.levels).tobytes() == counted(expected.levels).tobytes()
    assert moved.area(0, 1) == expected.area(0, 1)


def test_zeros_of_both_signs_are_one_score() -> None:
    curve = curve_of(Scored(np.array([-0.0, 0.0]), np.array([0.0, -0.0, 5e-324, -5e-324])), 4)
    assert curve.mass.tolist() == [0.0, 1.0]
    assert curve.volume.tolist() == [0.0, 3.0]


def test_infinities_are_ordered() -> None:
    inf = math.inf
    curve = curve_of(Scored(np.array([-inf, 0, inf]), np.array([-inf, -inf, 1, inf])), 4)
    assert curve.volume.tolist() == [0.0, 2.0, 2.0, 4.0]
    assert curve.threshold_at(1) == inf


def test_neighbours_are_not_merged() -> None:
    near = np.nextafter(1.0, 2.0)
    curve = curve_of(Scored(np.array([1.0, near]), np.array([near])))
    assert curve.volume.tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers_beyond_two_to_the_53_are_not_merged(dtype: Any) -> None:
    start = 2**53 if dtype == np.int64 else 2**63
    test, uniform = np.array([start, start + 1, start + 3], dtype), np.array([start + 2], dtype)
    curve = curve_of(Scored(test, uniform))
    assert curve.volume.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert curve.thresholds.tolist() == [-math.inf, start, start + 1, start + 3]
    assert curve.threshold_at(0.5) == start + 1


# The link with the ROC curve.


@given(slow.scores())
def test_it_is_the_roc_curve_turned(scored: Scored) -> None:
    assume(scored.test.dtype == scored.uniform.dtype)
    together = np.concatenate([scored.test, scored.uniform])
    y = np.repeat([0, 1], [len(scored.test), len(scored.uniform)])
    roc = fastad.roc_curve(y, together)
    curve = curve_of(scored, 1)
    points = set(zip(curve.levels.masses.tolist(), counted(curve.levels).tolist(), strict=True))
    n, m = len(scored.test), len(scored.uniform)
    turned = {
        (round((1 - fpr) * n), round((1 - tpr) * m))
        for fpr, tpr in zip(roc.fpr.tolist(), roc.tpr.tolist(), strict=True)
    }
    # The least volume of each mass, and the set below a test score: the ROC curve has both.
    assert points - {(0, 0)} <= turned | {(n, counted(curve.levels)[-1])}
    for fpr, tpr in zip(roc.fpr.tolist(), roc.tpr.tolist(), strict=True):
        assert curve.volume[np.searchsorted(curve.mass, 1 - fpr - 1e-12)] <= 1 - tpr + 1e-12
    same = mass_volume_from_roc(y, together, 1)
    assert curve_bits(same) == curve_bits(curve)


@pytest.mark.parametrize("seed", range(3))
def test_without_ties_the_whole_area_is_that_above_the_roc_curve(seed: int) -> None:
    rng = np.random.default_rng(seed)
    test, uniform = rng.normal(size=500), rng.uniform(-1, 4, size=700)
    y = np.repeat([0, 1], [500, 700])
    both = np.concatenate([test, uniform])
    area = mass_volume_from_roc(y, both, 3.5).area(0, 1)
    assert area == pytest.approx(3.5 * (1 - fastad.roc_auc(y, both)), rel=1e-14)
    roc, curve = fastad.roc_curve(y, both), fastad.mass_volume_curve(test, uniform, 3.5)
    for fpr in np.unique(roc.fpr):
        # Of a mass the ROC curve has several volumes; the least is the one of its last point.
        tpr = roc.tpr[roc.fpr == fpr].max()
        k = round((1 - fpr) * 500)
        assert curve(Fraction(k, 500)) == pytest.approx(3.5 * (1 - tpr), rel=1e-12, abs=1e-12)


def test_rows_of_one_kind_alone_make_no_curve() -> None:
    for y in ([0, 0], [1, 1]):
        with pytest.raises(UndefinedMeasureError, match="needs data and uniform points"):
            mass_volume_from_roc(y, [1.0, 2.0], 1.0)


def test_a_nan_is_named_by_its_row() -> None:
    with pytest.raises(InvalidInputError, match=r"y_score must not contain NaN.*at index 3"):
        mass_volume_from_roc([0, 1, 0, 1], [0.1, 0.2, 0.3, math.nan], 1.0)


# The closed form.


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_normal_distribution_has_its_closed_form(d: int) -> None:
    rng = np.random.default_rng(d)
    n, m, half = 20_000, 100_000, 4.5
    X, U = rng.normal(size=(n, d)), rng.uniform(-half, half, size=(m, d))
    test, uniform = (np.sqrt((rows**2).sum(axis=1)) for rows in (X, U))
    volume = (2 * half) ** d
    curve = fastad.mass_volume_curve(test, uniform, volume)
    for mass in (0.05, 0.3, 0.5, 0.9, 0.99):
        expected = slow.normal_volume(d, mass)
        # Errors of the quantile, which is normal, and of the binomial count.
        slope = (slow.normal_volume(d, mass + 1e-5) - slow.normal_volume(d, mass - 1e-5)) / 2e-5
        of_test = slope * math.sqrt(mass * (1 - mass) / n)
        of_uniform = math.sqrt(expected * (volume - expected) / m)
        assert abs(curve(mass) - expected) < 4 * math.hypot(of_test, of_uniform)
    _, area = slow.normal_areas(d)
    assert curve.area() == pytest.approx(area, rel=0.05)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [1, 2])
def test_of_a_mixture_no_score_beats_the_density(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-4, 4, size=(3, d))
    weights, scales = np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.8, 0.3])

    def density(rows: Array) -> Array:
        squares = ((rows[:, None] - centres) ** 2).sum(axis=2) / scales**2
        result: Array = (weights * scales**-d * np.exp(-squares / 2)).sum(axis=1)
        return result

    rivals: dict[str, Callable[[Array], Array]] = {
        "centre": lambda rows: ((rows - weights @ centres) ** 2).sum(axis=1),
        "one part": lambda rows: ((rows - centres[0]) ** 2).sum(axis=1),
        "first feature": lambda rows: np.abs(rows[:, 0]),
        "noisy density": lambda rows: -np.log(density(rows)) + 1.5 * np.sin(20 * rows.sum(axis=1)),
        "upside down": lambda rows: density(rows),
    }
    part = rng.choice(3, size=20_000, p=weights)
    X = centres[part] + scales[part, None] * rng.normal(size=(20_000, d))
    low, high = X.min(axis=0), X.max(axis=0)
    U = rng.uniform(low, high, size=(50_000, d))
    volume = float(np.prod(high - low))
    best = fastad.mass_volume_curve(-density(X), -density(U), volume)
    best_em = fastad.excess_mass_curve(-density(X), -density(U), volume)
    for rival in rivals.values():
        curve = fastad.mass_volume_curve(rival(X), rival(U), volume)
        assert best.area() < curve.area()
        assert best.area(0, 1) < curve.area(0, 1)
        excess = fastad.excess_mass_curve(rival(X), rival(U), volume)
        if counted(excess.levels)[excess.hull[-1]] == 0 and excess.excess_mass[-1] <= 0.9:
            assert best_em.area() > excess.area()


# Validation.


def test_what_the_scores_must_be() -> None:
    bad: list[tuple[Any, str]] = [
        ([], "must not be empty; found 0 values"),
        ([[1.0], [2.0]], "must be one-dimensional; found shape"),
        (["a"], "must contain booleans, integers or floats"),
        ([1j], "complex numbers"),
        ([1.0, math.nan, math.nan], "must not contain NaN; found 2, the first at index 1"),
        (np.ma.masked_array([1.0], [True]), "must not be a masked array"),
        (np.array([1], np.longdouble), "at most 64 bits"),
    ]
    for scores, message in bad:
        for curve in (fastad.mass_volume_curve, fastad.excess_mass_curve):
            with pytest.raises(InvalidInputError, match=f"^y_score.*{message}"):
                curve(scores, [1.0], 1.0)
            with pytest.raises(InvalidInputError, match=f"^uniform_score.*{message}"):
                curve([1.0], scores, 1.0)


@pytest.mark.parametrize(
    ("volume", "error", "message"),
    [
        (0, InvalidInputError, "volume must lie above 0; found 0"),
        (-1.5, InvalidInputError, "volume must lie above 0; found -1.5"),
        (math.nan, InvalidInputError, "volume must be finite; found nan"),
        (math.inf, InvalidInputError, "volume must be finite; found inf"),
        (True, TypeError, "volume must be a number; found bool"),
        ("1", TypeError, "volume must be a number; found str"),
        (None, InvalidInputError, "volume must be given, or log_volume, .*found neither"),
    ],
)
def test_what_the_volume_must_be(volume: Any, error: type[Exception], message: str) -> None:
    for function in (fastad.mass_volume_curve, fastad.excess_mass_curve):
        with pytest.raises(error, match=message):
            function([1.0], [1.0], volume)


def test_what_the_logarithm_of_the_volume_must_be() -> None:
    for function in (fastad.mass_volume_curve, fastad.excess_mass_curve):
        with pytest.raises(InvalidInputError, match=r"volume must be given.*found both"):
            function([1.0], [1.0], 1.0, log_volume=0.0)
        for bad in (math.nan, math.inf, -math.inf):
            with pytest.raises(InvalidInputError, match="log_volume must be finite"):
                function([1.0], [1.0], log_volume=bad)
        with pytest.raises(TypeError, match="log_volume must be a number"):
            function([1.0], [1.0], log_volume="0")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (0.9, 0.9, "low must lie below high; found 0.9 and 0.9"),
        (0.99, 0.9, "low must lie below high; found 0.99 and 0.9"),
        (-0.1, 0.9, r"low must lie in \[0, 1\]; found -0.1"),
        (0.1, 1.1, r"high must lie in \[0, 1\]; found 1.1"),
        (math.nan, 0.9, "low must be finite; found nan"),
    ],
)
def test_what_the_masses_of_an_area_must_be(low: float, high: float, message: str) -> None:
    curve = fastad.mass_volume_curve([1.0], [1.0], 1.0)
    for ask in (curve.area, curve.log_area):
        with pytest.raises(InvalidInputError, match=message):
            ask(low, high)


def test_what_a_mass_must_be() -> None:
    curve = fastad.mass_volume_curve([1.0], [1.0], 1.0)
    for bad in (-1e-9, 1.1, math.nan):
        with pytest.raises(InvalidInputError, match="mass"):
            curve(bad)
        with pytest.raises(InvalidInputError, match="mass"):
            curve.threshold_at(bad)
    with pytest.raises(InvalidInputError, match=r"mass\[1\]"):
        curve([0.5, 2.0])
    with pytest.raises(TypeError):
        curve("half")  # type: ignore[arg-type]
    assert isinstance(curve(0.5), float)
    assert curve([0.5, 1.0, 0.0]).tolist() == [1.0, 1.0, 0.0]
    assert curve(np.array([0.5])).shape == (1,)
    with pytest.raises(InvalidInputError, match="at least one"):
        curve([])


def test_nothing_is_written_to_and_nothing_is_said() -> None:
    test, uniform = np.array([3.0, 1.0, 2.0]), np.array([2.5, 0.5])
    for array in (test, uniform):
        array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = fastad.mass_volume_curve(test, uniform, 1.0)
    assert repr(curve) == "<MassVolumeCurve of 4 points>"
    assert repr(fastad.excess_mass_curve([1.0], [0.0], 1.0)) == "<ExcessMassCurve of 2 points>"
    assert test.tolist() == [3.0, 1.0, 2.0]
    assert repr(curve.levels) == "<LevelSets of 3 levels, 3 test points>"


def test_lists_and_frames_are_scores() -> None:
    pandas = pytest.importorskip("pandas")
    expected = curve_bits(fastad.mass_volume_curve([0.5, 1.5], [1.0, 2.0], 1.0))
    series = pandas.Series([0.5, 1.5]), pandas.Series([1.0, 2.0])
    assert curve_bits(fastad.mass_volume_curve(*series, 1.0)) == expected
    test, uniform = (one.astype("Float64") for one in series)
    assert curve_bits(fastad.mass_volume_curve(test, uniform, 1.0)) == expected

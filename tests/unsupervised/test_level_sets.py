"""``level_sets``: uniform draws, the choice of the method, and validation."""

import math
import warnings
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest

import fastad
from fastad import Box, InvalidInputError
from fastad.errors import InsufficientMixingWarning
from fastad.regions.scores import block_score
from fastad.unsupervised import level_sets
from fastad.unsupervised.level_set_estimation import LevelSetEstimator, LevelSetOptions
from tests.support import hidden
from tests.support.detector_levels import Array, Keeper, bits, normal, scorer
from tests.support.volumes import KINDS, Counting, norm, norm_of_point

# Uniform draws.


def test_uniform_draws_are_scores_of_points_in_the_box() -> None:
    X, keeper = normal(500, 3), Keeper()
    levels = level_sets(keeper, X, method="uniform", n_draws=7000, rng=3)
    U = keeper.drawn(500)
    assert U.shape == (7000, 3)
    assert Box.from_data(X).contains(U).all()
    expected = fastad.mass_volume_curve(norm(X), norm(U), Box.from_data(X)).levels
    assert bits(levels) == bits(expected)


def test_curves_of_level_sets_are_those_of_their_scores() -> None:
    X, keeper = normal(400, 2), Keeper()
    levels = level_sets(keeper, X, method="uniform", n_draws=3000, rng=3)
    both = norm(X), norm(keeper.drawn(400))
    box = Box.from_data(X)
    mass, other = fastad.mass_volume_curve(levels), fastad.mass_volume_curve(*both, box)
    assert mass.volume.tobytes() == other.volume.tobytes()
    assert mass.area() == other.area()
    assert fastad.excess_mass_curve(levels).area() == fastad.excess_mass_curve(*both, box).area()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["uniform", "sobol", "splitting"])
def test_scores_of_every_kind_give_the_same_level_sets(kind: str, method: Any) -> None:
    X = normal(300, 3)

    def found(kind: str, n_threads: int) -> list[Any]:
        with warnings.catch_warnings():
            # So few particles need not mix.
            warnings.simplefilter("ignore", InsufficientMixingWarning)
            return bits(
                level_sets(
                    scorer(kind, 3),
                    X,
                    method=method,
                    n_draws=10_000,
                    lowest_mass=0.1,
                    rng=1,
                    n_threads=n_threads,
                )
            )

    if kind == "jitted" and method != "uniform":
        # A sum in another order may differ in its last bit, after which particles part.
        assert found(kind, 1) == found(kind, 2)
        return
    one = found(kind, 1)
    assert one == found(kind, 5)
    if kind != "jitted":
        assert one == found("batch", 1)


def test_a_compiled_forest_is_a_detector() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    X = normal(400, 2)
    forest = ensemble.IsolationForest(n_estimators=20, random_state=0).fit(X[:200])
    compiled = fastad.compile_scorer(forest)

    def batch(rows: Array) -> Array:
        return np.asarray(-forest.score_samples(rows))

    one = level_sets(compiled, X[200:], method="uniform", n_draws=5000, rng=0)
    other = level_sets(batch, X[200:], method="uniform", n_draws=5000, rng=0)
    assert one.masses.shape[0] <= 201
    # The forest's own scores take a logarithm in another order of operations.
    np.testing.assert_allclose(one.thresholds, other.thresholds, rtol=1e-12)
    np.testing.assert_array_equal(one.inside, other.inside)
    by_splitting = level_sets(compiled, X[200:], method="splitting", n_draws=50_000, rng=0)
    ratio = fastad.mass_volume_curve(by_splitting).area() / fastad.mass_volume_curve(one).area()
    assert 0.8 < ratio < 1.25


def test_a_box_of_ones_own() -> None:
    X, box = normal(300, 2), Box([-10.0, -10.0], [10.0, 10.0])
    keeper = Keeper()
    levels = level_sets(keeper, X, box=box, method="uniform", n_draws=5000, rng=0)
    U = keeper.drawn(300)
    assert U.min() < -9.5
    assert U.max() > 9.5
    assert levels.box.times(1) == pytest.approx(400.0, rel=1e-15)


def test_points_outside_of_the_box_count_with_their_score() -> None:
    X = np.array([[0.5], [3.0]])
    levels = level_sets(
        lambda rows: np.abs(rows[:, 0]), X, box=Box([0.0], [1.0]), method="uniform", rng=0
    )
    curve = fastad.mass_volume_curve(levels)
    assert curve.mass.tolist() == [0.0, 0.5, 1.0]
    assert curve(0.5) == pytest.approx(0.5, abs=0.01)
    assert curve(1.0) == 1.0


def test_discrete_features_are_drawn_from_their_values() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=1000), rng.integers(0, 3, size=1000), np.ones(1000)])
    keeper = Keeper(lambda rows: np.abs(rows[:, 0]) + rows[:, 1])
    levels = level_sets(keeper, X, method="uniform", n_draws=9000, rng=0)
    U = keeper.drawn(1000)
    assert np.unique(U[:, 1]).tolist() == [0.0, 1.0, 2.0]
    assert (U[:, 2] == 1).all()
    width = X[:, 0].max() - X[:, 0].min()
    assert levels.box.times(1) == pytest.approx(3 * width, rel=1e-14)
    split = level_sets(keeper.batch, X, method="splitting", n_draws=50_000, rng=0)
    assert fastad.mass_volume_curve(split)(0.5) == pytest.approx(
        fastad.mass_volume_curve(levels)(0.5), rel=0.1
    )


def test_all_features_discrete() -> None:
    """Nine cells: the volumes are integers of them."""
    grid = np.array([[i, j] for i in range(3) for j in range(3)], float)
    X = np.repeat(grid, [60, 30, 10] * 3, axis=0)
    levels = level_sets(lambda rows: rows[:, 1], X, method="uniform", n_draws=90_000, rng=1)
    assert fastad.mass_volume_curve(levels).volume == pytest.approx([0, 3, 6, 9], rel=0.03)
    assert levels.masses.tolist() == [0, 180, 270, 300]


# Which method.


@pytest.mark.slow
def test_auto_counts_where_draws_hit_and_splits_where_they_do_not() -> None:
    X = normal(300, 2)
    easy = level_sets(norm, X, n_draws=4000, rng=0)
    assert easy.n_uniform == 4000
    assert bits(easy) == bits(level_sets(norm, X, method="uniform", n_draws=4000, rng=0))
    wide = Box([-1e4, -1e4], [1e4, 1e4])
    options: dict[str, Any] = {"n_draws": 100_000, "lowest_mass": 0.5, "rng": 0, "box": wide}
    hard = level_sets(norm_of_point, X, **options)
    assert hard.n_uniform is None
    assert bits(hard) == bits(level_sets(norm_of_point, X, method="splitting", **options))
    # The set that has the mass is a disc.
    curve = fastad.mass_volume_curve(hard)
    assert 0.7 < curve(0.9) / (np.pi * curve.threshold_at(0.9) ** 2) < 1.4


def test_by_default_so_many_points_are_scored() -> None:
    levels = level_sets(norm_of_point, normal(100, 2), rng=0)
    assert levels.n_uniform == 100_000


def test_the_same_seed_gives_the_same_level_sets() -> None:
    X = normal(100, 2)

    def found(rng: Any) -> list[Any]:
        return bits(level_sets(norm, X, method="uniform", n_draws=1000, rng=rng))

    assert found(5) == found(5) == found(np.random.default_rng(5))
    assert found(5) != found(6)


def test_progress_ends_with_all_points() -> None:
    for method, n in (("uniform", 300_000), ("splitting", 30_000)):
        seen: list[tuple[int, int | None]] = []
        level_sets(
            norm_of_point,
            normal(100, 2),
            method=method,  # type: ignore[arg-type]
            n_draws=n,
            rng=0,
            progress=lambda done, of, seen=seen: seen.append((done, of)),  # type: ignore[misc]
        )
        done = [one for one, _ in seen]
        assert done == sorted(done)
        assert done[-1] > 0
        if method == "uniform":
            assert seen[-1] == (n, n)


# Validation.


@pytest.fixture(name="X")
def some_rows() -> Array:
    return normal(20, 2)


def test_what_the_data_must_be(X: Array) -> None:
    with pytest.raises(InvalidInputError, match="X must contain at least one row"):
        level_sets(norm, X[:0], rng=0)
    with pytest.raises(InvalidInputError, match="X must have the shape"):
        level_sets(norm, X[:, 0], rng=0)
    bad = X.copy()
    bad[3, 1] = math.nan
    with pytest.raises(InvalidInputError, match="X must contain finite numbers"):
        level_sets(norm, bad, rng=0)
    with pytest.raises(InvalidInputError, match="box must have 2 features as X; found 3"):
        level_sets(norm, X, box=Box([0] * 3, [1] * 3), rng=0)


def test_what_the_options_must_be(X: Array) -> None:
    with pytest.raises(InvalidInputError, match="method must be one of 'auto', 'uniform'"):
        level_sets(norm, X, method="exact", rng=0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="n_draws must be at least 1; found 0"):
        level_sets(norm, X, n_draws=0, rng=0)
    with pytest.raises(TypeError, match="n_draws must be an integer"):
        level_sets(norm, X, n_draws=0.5, rng=0)  # type: ignore[arg-type]
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(InvalidInputError, match="lowest_mass must"):
            level_sets(norm, X, lowest_mass=bad, rng=0)
    with pytest.raises(TypeError, match="box must"):
        level_sets(norm, X, box=[[0, 0], [1, 1]], rng=0)  # type: ignore[arg-type]


def test_a_lowest_mass_of_one_is_outside_of_what_is_documented(X: Array) -> None:
    with pytest.raises(InvalidInputError, match="lowest_mass"):
        level_sets(norm, X, lowest_mass=1, rng=0)


def test_what_the_score_must_return(X: Array) -> None:
    with pytest.raises(InvalidInputError, match="NaN"):
        level_sets(lambda rows: np.full(len(rows), np.nan), X, rng=0)
    with pytest.raises(InvalidInputError, match="shape"):
        level_sets(lambda rows: rows, X, rng=0)

    def sometimes(rows: Array) -> Array:
        # On the data it is a number.
        return np.where(np.isin(rows[:, 0], X[:, 0]), 1.0, np.nan)

    for method in ("uniform", "splitting"):
        with pytest.raises(InvalidInputError, match="NaN"):
            level_sets(sometimes, X, method=method, rng=0)


def test_an_error_of_the_score_is_told(X: Array) -> None:
    def broken(rows: Array) -> Array:
        raise RuntimeError("out of order")

    with pytest.raises(InvalidInputError, match="out of order"):
        level_sets(broken, X, rng=0)


def test_a_jitted_score_of_float32() -> None:
    """Scores of a narrower type are ordered as they are."""

    @numba.njit
    def narrow(x: Array) -> Any:
        return np.float32(abs(x[0]))

    X = normal(50, 1)
    levels = level_sets(narrow, X, method="uniform", n_draws=1000, rng=0)
    expected = np.unique(np.abs(X[:, 0]).astype(np.float32))
    assert levels.thresholds[1:].tolist() == expected.tolist()


@pytest.mark.parametrize("n_draws", [1000, 20_000])
def test_auto_counts_with_the_draws_that_chose_the_method(n_draws: int) -> None:
    """They are the first of those that `method="uniform"` draws."""
    X = normal(100, 2)
    found = []
    for method in ("auto", "uniform"):
        score = Counting(norm)
        options: dict[str, Any] = {"method": method, "n_draws": n_draws, "rng": 3}
        found.append(level_sets(score, X, **options))
        assert score.n_scored == 100 + n_draws
    assert bits(found[0]) == bits(found[1])


@pytest.mark.parametrize("n_draws", [1000, 20_000])
def test_the_estimator_keeps_the_scores_of_the_same_uniform_points(n_draws: int) -> None:
    X, box, score = normal(100, 2), Box([-4.0] * 2, [4.0] * 2), Counting(norm)
    drawn = []
    for method in ("auto", "uniform"):
        estimator = LevelSetEstimator(block_score(score, 2), box, np.random.default_rng(3))
        options = LevelSetOptions.of(method, n_draws, Fraction(0))
        _, scores = estimator.level_sets(X, norm(X), options)
        assert scores is not None
        drawn.append(scores.tolist())
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == n_draws
    assert score.n_scored == 2 * n_draws


def test_few_draws_are_uniform_ones_in_many_features_too() -> None:
    """Splitting needs more; none of 1000 draws need fall into a small level set."""
    X = np.random.default_rng(0).normal(size=(2000, 12))
    levels = level_sets(lambda Z: np.sqrt((Z**2).sum(axis=1)), X, n_draws=1000, rng=0)
    assert levels.n_uniform == 1000


@pytest.mark.slow
def test_test_points_show_a_set_that_particles_have_missed() -> None:
    """No score leads into the needle, and a draw meets it with a probability of 6e-7."""
    region, rng = hidden.needle_in_valley(10), np.random.default_rng(0)
    X = region.inside(rng, 300, 10)
    with pytest.warns(InsufficientMixingWarning, match="times as much of the region as particles"):
        levels = level_sets(
            region.jitted, X, box=region.box, n_draws=200_000, lowest_mass=0.9, rng=0
        )
    threshold = float(np.sort(region.batch(X))[math.ceil(0.9 * 300) - 1])
    log_volume = math.log(sum((2 * half) ** 10 for half in hidden._halves(threshold)))
    assert abs(levels.log_volumes()[1] - log_volume) < 0.5

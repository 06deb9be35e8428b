"""Bridges between particles and draws from a fitted density: definitions, and tiny regions."""

import math
import warnings
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pytest
from scipy import optimize

import fastad
from fastad.errors import InsufficientMixingWarning
from fastad.regions import volume_curve
from fastad.regions.scores import Cube
from fastad.regions.splitting import bridge as bridges
from fastad.regions.splitting.bridge import Bridge, bridge
from fastad.regions.splitting.density import Mixture, start
from fastad.regions.splitting.levels import Splitting
from fastad.regions.splitting.moves import Shape
from fastad.regions.splitting.particles import Particles
from fastad.regions.splitting.pilots import Draws, draw
from fastad.regions.splitting.restarts import Cells
from tests.support.rare import SHAPES
from tests.support.splitting import cube_of, largest, of

Array = Any
NO_OTHERS = np.empty((3, 0))


def nothing() -> None:
    pass


def uniform(rng: np.random.Generator, n: int, low: float, high: float, d: int = 3) -> Array:
    return low + (high - low) * rng.random((d, n))


def in_two_cubes(X: Array) -> Array:
    """Below 0.1 in two cubes of this side, in opposite corners."""
    result: Array = np.minimum(X.max(axis=1), (1 - X).max(axis=1))
    return result


def splitting_of(cube: Cube, repeats: list[Particles]) -> Splitting:
    """Return particles that have come down, as those of a run."""
    run = Splitting(cube, len(repeats), 1, np.random.default_rng(0))
    run.repeats = repeats
    run._shapes = {repeat: Shape() for repeat in repeats}
    cube.n_scored = 0
    return run


def come_down(points: Array, scores: Array, threshold: float) -> Particles:
    """Return particles that lie below the threshold, as if they had passed two levels."""
    own = Particles(points, scores)
    for k, log_fraction in enumerate((-3.0, -6.0)):
        own.levels.append(threshold + 1 - k / 2)
        own.log_fractions.append(log_fraction)
        own._rising.append(np.sort(scores))
    return own


@pytest.mark.parametrize("independent", [1.0, 0.3])
@pytest.mark.parametrize("n_particles", [1, 30, 3000])
def test_the_fraction_solves_the_equation_of_bennett(n_particles: int, independent: float) -> None:
    rng = np.random.default_rng(n_particles)
    logs, of_particles = rng.normal(40, 3, 200), rng.normal(41, 2, n_particles)
    n = 500  # of which 300 lie outside of the region
    empty = Mixture((), np.empty(0))
    drawn = Draws(empty, n, np.empty((1, 200)), logs)
    result, _, _ = bridges._bridge(drawn, of_particles, independent)

    def difference(log_fraction: float) -> float:
        uniform_part = independent * n_particles / math.exp(log_fraction)
        h = [1 / (n * math.exp(log) + uniform_part) for log in logs]
        qh = [math.exp(log) / (n * math.exp(log) + uniform_part) for log in of_particles]
        return math.log(sum(h) / n) - math.log(sum(qh) / n_particles) - log_fraction

    assert result == pytest.approx(optimize.brentq(difference, -80, 0, xtol=1e-12), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("part", "independent"), [(0.0, 1.0), (0.5, 0.2)])
def test_bridges_are_unbiased_and_err_as_they_say(part: float, independent: float) -> None:
    """Also those by a density that leaves a part of the region out, which particles are in."""
    rng = np.random.default_rng(0)
    truth = 3 * math.log(0.1) + math.log(2)
    fitted = uniform(rng, 500, 0, 0.1)
    if part == 0:
        fitted = np.concatenate([fitted, 1 - fitted], axis=1)
    cube = cube_of(in_two_cubes)
    mixture = start(fitted, [0] * 3, rng)
    logs, variances = [], []
    for _ in range(100):
        particles = uniform(rng, 400, 0, 0.1)
        particles = np.where(rng.random(400) < 0.5, particles, 1 - particles)
        drawn = draw(cube, mixture, 0.1, 600, rng, nothing)
        of_particles = drawn.mixture.log_density(particles)
        log, moments, covered = bridges._bridge(drawn, of_particles, independent)
        assert covered == pytest.approx(1 - part, abs=0.15)
        logs.append(log)
        variances.append(moments.variance)
    error = float(np.std(logs))
    assert abs(float(np.mean(logs)) - truth) < 4 * error / math.sqrt(100) + error**2
    assert 0.8 < error / math.sqrt(float(np.mean(variances))) < 1.25


def test_the_variance_of_a_mean_is_estimated_with_its_own_variance() -> None:
    """Of numbers of which a third are zero, and others vary."""
    rng = np.random.default_rng(0)
    n, true, moments = 400, [], []
    for _ in range(2000):
        logs = rng.normal(0, 0.7, rng.binomial(n, 2 / 3))
        true.append(math.log(float(np.exp(logs).sum()) / n))
        moments.append(bridges._moments(logs, n))
    variances, of_variances = np.array(moments).T
    assert variances.mean() == pytest.approx(float(np.var(true)), rel=0.1)
    assert of_variances.mean() == pytest.approx(float(variances.var()), rel=0.25)
    assert bridges._moments(np.zeros(50), 50) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_a_region_of_two_cells_has_the_variance_of_one() -> None:
    """More draws in one cell are fewer in the other: the cells' errors are not independent."""
    rng = np.random.default_rng(0)
    fitted = uniform(rng, 500, 0, 0.1)
    fitted = np.concatenate([fitted, 1 - fitted], axis=1)
    drawn = draw(cube_of(in_two_cubes), start(fitted, [0] * 3, rng), 0.1, 5000, rng, nothing)
    particles = fitted[:, ::5]
    variances = []
    for labels in (np.zeros(1000, np.int64), (fitted[0] > 0.5).astype(np.int64)):
        cells = Cells(fitted, labels)
        own = cells.of(particles)
        near = [bridges._Near(particles[:, own == k], 1.0, 1.0) for k in range(cells.n)]
        bridged = bridges._bridge_cells(drawn, cells, near)
        assert bridged is not None
        variances.append(bridged[1][0, 0])
    assert variances[1] == pytest.approx(variances[0], rel=0.05)


def test_positions_of_chains_count_as_they_are_akin() -> None:
    rng = np.random.default_rng(0)
    kept, n_chains = 0.9, 2
    series = rng.normal(size=(4000, n_chains, 3))
    for before, after in pairwise(series):
        after *= math.sqrt(1 - kept**2)
        after += kept * before
    positions = 0.5 + 0.02 * series.reshape(-1, 3).T
    mixture = start(positions[:, ::50], [0] * 3, rng)
    near = bridges._akin(positions, n_chains, mixture)
    assert near.independent == pytest.approx((1 - kept) / (1 + kept), rel=0.25)
    # Of the logarithm of the density, a square, the correlation is the square of it.
    assert near.inflation == pytest.approx((1 + kept**2) / (1 - kept**2), rel=0.35)
    assert bridges._akin(positions[:, :2], n_chains, mixture)[1:] == (1.0, 1.0)


def test_the_slowest_coordinate_is_found_without_its_excess_by_chance() -> None:
    rng = np.random.default_rng(0)
    n_pairs, found = 250, []
    for kept in (np.full(20, 0.5), np.array([0.9] + [0.1] * 9), np.array([0.8])):
        error = (1 - kept**2) * rng.normal(size=(200, kept.shape[0])) / math.sqrt(n_pairs)
        found.append(np.mean([bridges._slowest(kept + one, n_pairs) for one in error]))
    assert found == pytest.approx([0.5, 0.9, 0.8], abs=0.03)


def test_a_density_of_another_place_is_refused() -> None:
    """Particles from which nothing is drawn into the region; and too few particles."""
    rng = np.random.default_rng(0)
    for n, low, why in ((100, 0.5, "no density fits"), (0, 0.0, "too few particles")):
        own = []
        for _ in range(8):
            points = uniform(rng, n, low, low + 0.01)
            own.append(come_down(points, np.full(n, 0.0005), 0.001))
        cube = cube_of(largest)
        options = 0.001, 30_000, 10.0, rng, nothing, NO_OTHERS
        assert why in str(bridge(cube, splitting_of(cube, own), *options))


@pytest.mark.slow
def test_few_draws_build_no_bridge() -> None:
    rng = np.random.default_rng(0)
    points = [uniform(rng, 100, 0, 0.1) for _ in range(8)]
    own = [come_down(one, one.max(axis=0), 0.1) for one in points]
    cube = cube_of(largest)
    run = splitting_of(cube, own)
    options = 10.0, rng, nothing, NO_OTHERS
    assert "too few calls" in str(bridge(cube, run, 0.1, bridges.FEWEST_DRAWS - 1, *options))
    assert cube.n_scored == 0
    result = bridge(cube, run, 0.1, bridges.FEWEST_DRAWS, *options)
    assert isinstance(result, Bridge)
    assert 0 < cube.n_scored <= bridges.FEWEST_DRAWS
    assert result.log_fractions.shape == (8,)
    assert abs(float(result.log_fractions.mean()) - 3 * math.log(0.1)) < 0.1


@pytest.mark.slow
def test_a_part_that_a_single_repeat_has_found_counts() -> None:
    """All are in one cube but the few particles of one repeat."""
    rng = np.random.default_rng(0)
    points = [uniform(rng, 100, 0, 0.1) for _ in range(7)] + [1 - uniform(rng, 3, 0, 0.1)]
    own = [come_down(one, np.full(one.shape[1], 0.05), 0.1) for one in points]
    cube = cube_of(in_two_cubes)
    result = bridge(cube, splitting_of(cube, own), 0.1, 30_000, 10.0, rng, nothing, NO_OTHERS)
    assert isinstance(result, Bridge)
    assert result.log_fractions == pytest.approx(np.full(8, math.log(2e-3)), abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["ball", "ellipsoid", "simplex", "two_balls", "shell"])
def test_tiny_regions_of_ten_features(shape: str) -> None:
    region = SHAPES[shape](10)
    result = of(region, 50_000, 0, confidence_level=0.9999)
    assert result.log_low <= region.log_fraction <= result.log_high
    assert abs(result.log_value - region.log_fraction) < 0.15
    assert result.n_scored <= 55_000


@pytest.mark.slow
def test_two_parts_of_forty_features() -> None:
    """Akin particles, of hundreds of levels, do not keep the density where they are."""
    region = SHAPES["two_balls"](40)
    result = of(region, 200_000, 0)
    assert result.log_high - result.log_low < 0.1
    assert abs(result.log_value - region.log_fraction) < 0.05


@pytest.mark.slow
def test_a_box_of_many_features() -> None:
    """With normal densities alone there was no bridge, and the log erred by 29 in 60 features."""
    d = 60

    @numba.njit
    def farthest(point: Array) -> float:
        return float(np.abs(point).max())

    box = fastad.Box([-1.0] * d, [1.0] * d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        result = fastad.volume(farthest, 0.5, box, method="splitting", n_draws=60_000, rng=0)
    assert result.reason.startswith("by bridges")
    assert result.log_low <= -d * math.log(2) <= result.log_high
    assert abs(result.log_value + d * math.log(2)) < 0.3


@pytest.mark.slow
def test_nine_small_parts_have_bridges_of_their_own() -> None:
    """Of up to six parts alone the half-width was 0.7, and the error 0.3.

    One seed in twelve has no bridge.
    """
    centres = np.array([[i, j, i, j] for i in (0.2, 0.5, 0.8) for j in (0.1, 0.5, 0.9)])
    radius = 0.01

    @numba.njit
    def to_nearest(point: Array) -> float:
        least = math.inf
        for centre in centres:
            least = min(least, ((point - centre) ** 2).sum())
        return least

    box = fastad.Box(np.zeros(4), np.ones(4))
    truth = math.log(9 * math.pi**2 / 2 * radius**4)
    result = fastad.volume(to_nearest, radius**2, box, method="splitting", n_draws=60_000, rng=1)
    assert result.log_low <= truth <= result.log_high
    assert result.log_high - result.log_low < 0.2


@pytest.mark.slow
def test_a_curve_ends_at_its_bridge_and_falls_to_it() -> None:
    region = SHAPES["ball"](8)
    curve = volume_curve(region.jitted, region.threshold, region.box, n_draws=100_000, rng=0)
    assert curve(region.threshold).log_value == pytest.approx(region.log_fraction, abs=0.02)
    assert (np.diff(curve.log_fraction) <= 0).all()
    # Of 0.8 of the logarithm above, the error is not yet small.
    for radius in (1.2, 1.1, 1.05):
        truth = region.log_fraction + 8 * math.log(radius)
        assert abs(curve(radius**2).log_value - truth) < 0.2


def test_positions_of_moving_particles_are_uniform_in_the_region() -> None:
    """Few particles, all near a corner of it, are spread over it."""
    rng = np.random.default_rng(0)
    points = [uniform(rng, 12, 0, 0.02) for _ in range(8)]
    cube = cube_of(largest)
    run = splitting_of(cube, [come_down(one, one.max(axis=0), 0.1) for one in points])
    ends, positions = run.wander(0.1, 20_000)
    assert [one.shape for one in ends] == [(3, 12)] * 8
    assert 20_000 <= cube.n_scored <= 22_000
    visited = np.concatenate(positions, axis=1)
    assert visited.shape[1] > 500
    assert ((visited >= 0) & (visited < 0.1)).all()
    assert visited.mean(axis=1) == pytest.approx(np.full(3, 0.05), abs=0.01)
    assert visited.std(axis=1) == pytest.approx(np.full(3, 0.1 / math.sqrt(12)), rel=0.2)

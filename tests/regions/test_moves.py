"""Moves of particles keep the uniform distribution."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fastad._kernels.geometry import moves as kernels
from fastad._kernels.geometry.moves import Cloud
from fastad.regions.splitting.moves import KINDS, Shape, Tally, Tuning, Walkers

Array = Any
# The random numbers are the same in every run. Of so many tests none is this unlikely by chance.
SUSPICIOUS = 1e-7


# Linear algebra.


@pytest.mark.parametrize(("d", "n"), [(1, 1), (1, 5), (3, 8), (5, 1003), (20, 2)])
def test_round_coordinates_and_back(d: int, n: int) -> None:
    rng = np.random.default_rng(d)
    points = rng.random((d, n))
    mean = rng.random(d)
    away = points - mean[:, None]
    factor = np.tril(rng.uniform(-1, 1, (d, d))) + 2 * np.eye(d)
    rounded, back = np.empty((d, n)), np.empty((d, n))
    kernels.to_round(points, mean, factor, rounded)
    assert rounded == pytest.approx(np.linalg.solve(factor, away), rel=1e-9, abs=1e-12)
    kernels.from_round(rounded, mean, factor, back)
    assert back == pytest.approx(points, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(("d", "n"), [(1, 50), (4, 300), (10, 12), (10, 3), (5, 1)])
def test_clouds_are_those_of_their_particles(d: int, n: int) -> None:
    rng = np.random.default_rng(0)
    points = rng.random((d, 1)) * 0.1 + rng.random((d, d)) / d @ rng.random((d, n))
    cloud = Shape().cloud(points)
    covariance = np.cov(points, bias=True).reshape(d, d) if n > 1 else np.zeros((d, d))
    assert cloud.mean == pytest.approx(points.mean(axis=1), rel=1e-12)
    spread = np.maximum(np.sqrt(np.diag(covariance)), 1e-9)
    assert cloud.spread == pytest.approx(spread, rel=1e-9)
    assert (np.triu(cloud.factor, 1) == 0).all()
    result = cloud.factor @ cloud.factor.T
    assert np.diag(result) == pytest.approx(spread**2, rel=1e-9)
    # Off the diagonal the same, but for what is covered back where particles are few.
    off = ~np.eye(d, dtype=bool)
    assert result[off] == pytest.approx(covariance[off] * n / (n + d), rel=1e-7, abs=1e-18)
    back = cloud.mean[:, None] + cloud.factor @ cloud.rounded
    assert back == pytest.approx(points, rel=1e-9, abs=1e-12)


def test_a_shape_is_remembered_in_the_size_of_now() -> None:
    rng = np.random.default_rng(0)
    mixing = np.array([[1.0, 0.0, 0.0], [0.8, 0.8, 0.0], [-0.5, 0.4, 0.7]])
    shape = Shape()
    for level in range(12):
        size = 0.1 * 0.7**level
        cloud = shape.cloud(0.5 + size * (mixing @ rng.normal(size=(3, 40))))
    truth = size**2 * mixing @ mixing.T
    result = cloud.factor @ cloud.factor.T
    # Of 40 particles alone the standard deviation would be 22 %.
    ratios = np.linalg.eigvals(np.linalg.solve(truth, result)).real
    assert ratios.min() > 0.6
    assert ratios.max() < 1.7


# Regions of the cube, uniform points of which are drawn directly.


@dataclass(frozen=True)
class Region:
    """Where points are inside, and uniform points of it."""

    d: int
    inside: Callable[[Array], Array]  # of points (d, n)
    drawn: Callable[[np.random.Generator, int], Array]  # more points than wished are cut off

    def points(self, rng: np.random.Generator, n: int) -> Array:
        result = np.empty((self.d, 0))
        while result.shape[1] < n:
            more = self.drawn(rng, n)
            inside = self.inside(more) & ((more >= 0) & (more < 1)).all(axis=0)
            result = np.concatenate([result, more[:, inside]], axis=1)
        return np.ascontiguousarray(result[:, :n])


def in_ball(rng: np.random.Generator, d: int, n: int) -> Array:
    away = rng.normal(size=(d, n))
    return away / np.sqrt((away**2).sum(axis=0)) * rng.random(n) ** (1 / d)


def needle(d: int) -> Region:
    """An ellipsoid, long and turned, which two walls cut."""
    turn = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))[0]
    matrix = turn * np.geomspace(0.5, 0.05, d)
    centre = np.full((d, 1), 0.2)
    inverse = np.linalg.inv(matrix)

    def inside(points: Array) -> Array:
        result: Array = ((inverse @ (points - centre)) ** 2).sum(axis=0) < 1
        return result

    return Region(d, inside, lambda rng, n: centre + matrix @ in_ball(rng, d, n))


def corner(d: int) -> Region:
    """Below a sum: at as many walls as there are features."""

    def drawn(rng: np.random.Generator, n: int) -> Array:
        return rng.dirichlet(np.ones(d + 1), size=n).T[:-1]

    return Region(d, lambda points: points.sum(axis=0) < 1, drawn)


def islands(d: int) -> Region:
    """A ball, and a smaller one half of which is beyond a wall."""
    one, two = np.full((d, 1), 0.3), np.full((d, 1), 0.75)
    two[0] = 1.0
    size = 0.8

    def inside(points: Array) -> Array:
        near = ((points - one) ** 2).sum(axis=0) < 0.2**2
        far = ((points - two) ** 2).sum(axis=0) < (0.2 * size) ** 2
        result: Array = near | far
        return result

    def drawn(rng: np.random.Generator, n: int) -> Array:
        is_far = rng.random(n) < size**d / (1 + size**d)
        result: Array = np.where(is_far, two, one) + 0.2 * np.where(is_far, size, 1) * in_ball(
            rng, d, n
        )
        return result

    return Region(d, inside, drawn)


def shell(d: int) -> Region:
    def drawn(rng: np.random.Generator, n: int) -> Array:
        away = in_ball(rng, d, n)
        length = np.sqrt((away**2).sum(axis=0))
        radius = (0.8**d + (1 - 0.8**d) * rng.random(n)) ** (1 / d)
        return 0.55 + 0.5 * away / length * radius

    def inside(points: Array) -> Array:
        square = ((points - 0.55) ** 2).sum(axis=0)
        result: Array = (square < 0.25) & (square > 0.16)
        return result

    return Region(d, inside, drawn)


def slab(d: int) -> Region:
    """Thin in one feature, which lies off the middle; all of the others."""

    def drawn(rng: np.random.Generator, n: int) -> Array:
        points = rng.random((d, n))
        points[0] = 0.15 + 0.3 * points[0]
        return points

    return Region(d, lambda points: (points[0] > 0.15) & (points[0] < 0.45), drawn)


def corridor(d: int) -> Region:
    """Around a corner."""
    return Region(
        d, lambda points: (points[0] < 0.25) | (points[-1] > 0.8), lambda rng, n: rng.random((d, n))
    )


REGIONS = {
    **{f"needle {d}": needle(d) for d in (1, 2, 3, 8)},
    **{f"corner {d}": corner(d) for d in (2, 3, 8)},
    **{f"islands {d}": islands(d) for d in (2, 3)},
    **{f"shell {d}": shell(d) for d in (2, 3, 8)},
    **{f"slab {d}": slab(d) for d in (1, 2, 8)},
    "corridor 2": corridor(2),
}


def moved(
    region: Region, start: Array, cloud: Cloud, moves: list[tuple[str, float]], seed: int = 1
) -> tuple[Array, float]:
    """Return the particles after some moves, and the fraction of proposals that were accepted."""
    n = start.shape[1]
    rng = np.random.default_rng(seed)
    walkers = Walkers(start.copy(), np.zeros(n), 0.5, cloud)
    accepted = 0
    for name, scale in moves:
        candidates = walkers.propose(name, scale, rng.integers(2**64, dtype=np.uint64))
        assert ((candidates >= 0) & (candidates < 1)).all()
        outside = ~region.inside(candidates)
        accepted += walkers.settle(outside.astype(np.float64)).accepted
    assert region.inside(walkers.points).all()
    return walkers.points, accepted / (n * len(moves))


N_MOVED = 12_000
# Of uniform points that are drawn once there are many: fewer particles need be moved.
N_FRESH = 120_000
QUANTILES = np.arange(1, 256) / 256


@cache
def uniform_points(name: str) -> Array:
    return REGIONS[name].points(np.random.default_rng(0), N_MOVED)


@cache
def uniform_law(name: str) -> list[tuple[Callable[[Array], Array], Array]]:
    """Return functionals of points, and the quantiles of them."""
    fresh = REGIONS[name].points(np.random.default_rng(5), N_FRESH)
    d = fresh.shape[0]
    middle = fresh.mean(axis=1)[:, None]
    functionals: list[Callable[[Array], Array]] = [
        *((lambda points, j=j: points[j]) for j in sorted({0, d // 2, d - 1})),
        lambda points: points.sum(axis=0),
        lambda points: ((points - middle) ** 2).sum(axis=0),
        lambda points: points.min(axis=0) - points.max(axis=0) if d > 1 else points[0],
        lambda points: points[0] * points[-1],
    ]
    return [(functional, np.quantile(functional(fresh), QUANTILES)) for functional in functionals]


def assert_uniform(result: Array, name: str) -> None:
    """By the statistic of Kolmogorov and Smirnov, at quantiles."""
    n = result.shape[1]
    most = math.sqrt(math.log(2 / SUSPICIOUS) / 2 * (1 / n + 1 / N_FRESH))
    for functional, quantiles in uniform_law(name):
        between = np.searchsorted(quantiles, functional(result))
        fractions = np.cumsum(np.bincount(between, minlength=len(QUANTILES) + 1))[:-1] / n
        assert np.abs(fractions - QUANTILES).max() < most


SCALES = {
    "independent": (1.0,),
    "autoregressive": (0.4, 1.0),
    "walk": (0.5, 8.0),
    "reflected walk": (0.5, 3.0, 8.0),
    "difference": (0.5, 8.0),
    "coordinate": (0.5, 3.0, 8.0),
    "redraw": (0.2, 0.9),
}


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_move_leaves_the_uniform_distribution_as_it_is(kind: str, name: str) -> None:
    region, start = REGIONS[name], uniform_points(name)
    cloud = Shape().cloud(region.points(np.random.default_rng(1), 500))
    accepted = []
    for scale in SCALES[kind]:
        result, fraction = moved(region, start, cloud, [(kind, scale)] * 12)
        assert_uniform(result, name)
        accepted.append(fraction)
    # A kind that does not move shows nothing.
    assert max(accepted) > 0.005


def test_all_kinds_after_one_another_leave_the_uniform_distribution_as_it_is() -> None:
    region = REGIONS["corner 3"]
    rng = np.random.default_rng(0)
    cloud = Shape().cloud(region.points(rng, 100))
    moves = [(kind, scale) for kind in KINDS for scale in SCALES[kind]] * 2
    result, _ = moved(region, region.points(rng, 50_000), cloud, moves)
    assert_uniform(result, "corner 3")


@pytest.mark.parametrize("kind", ["reflected walk", "coordinate"])
@pytest.mark.parametrize("scale", [1.0, 3.0, 8.0])
def test_reflected_steps_as_long_as_the_box_leave_the_uniform_distribution_as_it_is(
    kind: str, scale: float
) -> None:
    """A step from wall to wall and back must be as likely as its opposite."""
    region = slab(2)
    rng = np.random.default_rng(0)
    cloud = Shape().cloud(region.points(rng, 2000))
    result, _ = moved(region, region.points(rng, 200_000), cloud, [(kind, scale)] * 15)
    assert stats.kstest(result[1], "uniform").pvalue > SUSPICIOUS
    assert stats.kstest(result[0], "uniform", (0.15, 0.3)).pvalue > SUSPICIOUS


def flat(name: str, region: Region) -> Array:
    """Particles that tell little of a region."""
    rng = np.random.default_rng(4)
    points = region.points(rng, 40)
    if name == "few":
        return points[:, :3]
    if name == "one":
        return points[:, :1]
    if name == "in a plane":
        points[-1] = points[0]
        return points
    if name == "same":
        return np.repeat(points[:, :1], 7, axis=1)
    points[0] = 0.3
    return points


@pytest.mark.parametrize("cloud", ["few", "one", "in a plane", "same", "constant coordinate"])
@pytest.mark.parametrize("name", ["needle 3", "slab 2", "corner 8"])
def test_moves_by_a_flat_cloud_keep_the_uniform_distribution(name: str, cloud: str) -> None:
    region = REGIONS[name]
    start = uniform_points(name)
    described = Shape().cloud(flat(cloud, region))
    assert all(np.isfinite(part).all() for part in described)
    for kind in KINDS:
        result, _ = moved(region, start, described, [(kind, 0.7)] * 6)
        assert_uniform(result, name)


@pytest.mark.parametrize("kind", KINDS)
def test_particles_reach_all_of_their_region(kind: str) -> None:
    """From one end of a slab, so that a move that stays where it is cannot pass."""
    region = slab(2)
    rng = np.random.default_rng(0)
    start = region.points(rng, 20_000)
    start[1] *= 0.2
    cloud = Shape().cloud(region.points(rng, 500))
    result, _ = moved(region, start, cloud, [(kind, 1.0)] * 80)
    counts = np.histogram(result[1], 5, (0, 1))[0]
    assert counts.min() > 0.7 * counts.max()


# What moves are given, and what they return.


def test_a_particle_moves_where_its_score_stays_below_its_level() -> None:
    points = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0.5, 0.5]])
    cloud = Cloud(points, np.zeros(2), np.ones(2), np.diag([1.0, 0.5]))
    walkers = Walkers(points.copy(), np.array([1.0, 2, 3, 4]), 9.0, cloud)
    candidates = np.array([[0.6, 0.7, 0.8], [0.5, 0.25, 0.5]])
    walkers._candidates = candidates
    walkers._chosen[:3] = [0, 2, 3]
    # Below the level; at it, which is not below; +inf, which never is.
    tally = walkers.settle(np.array([7.0, 9.0, math.inf]))
    assert (tally.tried, tally.scored, tally.accepted) == (4, 3, 1)
    assert tally.distance == pytest.approx(0.25)
    assert walkers.scores.tolist() == [7, 2, 3, 4]
    assert walkers.points.tolist() == [[0.6, 0.2, 0.3, 0.4], [0.5] * 4]
    assert walkers.rounded[:, 0] == pytest.approx([0.6, 1.0])


def test_tuning_leads_scales_to_the_wished_share_of_accepted_moves() -> None:
    for name, kind in KINDS.items():
        tuning = Tuning(5)
        for _ in range(50):
            tuning.learn(name, Tally(100, 100, 100, 1.0))
        assert tuning.scales[name] == (kind.largest if kind.target_rate else 1.0)
        for _ in range(200):
            tuning.learn(name, Tally(100, 100, 0, 0.0))
        assert 0 < tuning.scales[name] < 1e-6 or not kind.target_rate
        # Without a single point to be scored, too.
        tuning.learn(name, Tally(100, 0, 0, 0.0))
        assert all(math.isfinite(scale) for scale in tuning.scales.values())


@pytest.mark.parametrize(("n_features", "least"), [(1, 0.1), (5, 0.1), (20, 0.025), (100, 0.02)])
def test_kinds_that_go_farthest_are_made_most_and_none_never(n_features: int, least: float) -> None:
    """Each of seven kinds makes a least part, the best one most of the rest: 900 of 906."""
    tuning = Tuning(n_features)
    for _ in range(20):
        for name in KINDS:
            tuning.learn(name, Tally(100, 100, 30, 900.0 if name == "walk" else 30.0))
    chosen = tuning.choose(np.random.default_rng(0), 20_000)
    counts = {name: chosen.count(name) for name in KINDS}
    assert counts["walk"] == pytest.approx((least + (1 - 7 * least) * 900 / 906) * 20_000, abs=300)
    assert min(counts.values()) > 0.9 * least * 20_000

"""Points that come to a region each by itself, and what they show of parts that particles miss."""

import math
from typing import Any

import numpy as np
import pytest

import fastad
from fastad.errors import InsufficientMixingWarning
from fastad.regions.scores import Cube, block_score
from fastad.regions.splitting import bridge as bridges
from fastad.regions.splitting.bridge import Bridge
from fastad.regions.splitting.density import start
from fastad.regions.splitting.estimation import mixing_problems
from fastad.regions.splitting.pilots import draw
from fastad.regions.splitting.repeats import split
from fastad.regions.splitting.restarts import (
    Cells,
    connected_components,
    descend,
    isolated,
    random_walk,
)
from tests.support import hidden
from tests.support.splitting import cube_of, largest

Array = Any


def in_two_cubes(X: Array) -> Array:
    result: Array = np.minimum(X.max(axis=1), 2 * (1 - X).max(axis=1))
    return result


def ball(X: Array) -> Array:
    result: Array = ((X - 0.5) ** 2).sum(axis=1)
    return result


@pytest.mark.parametrize("n_calls", [1000, 3000])
def test_short_descents_from_the_lowest_draws_do_not_stand_for_all(n_calls: int) -> None:
    for seed in range(10):
        cube = cube_of(ball, 10)
        descend(cube, 0.25, None, n_calls, np.random.default_rng(seed))
        assert 0.6 * n_calls <= cube.n_scored <= 1.4 * n_calls


def test_points_come_down_and_are_uniform_below() -> None:
    rng = np.random.default_rng(0)
    cube = cube_of(largest, 3)
    points = rng.random((3, 40))
    walk = random_walk(cube, points, cube.scores(points), 0.1, 3000, 400, rng)
    assert (walk.scores < 0.1).all()
    assert (walk.scores == walk.points.max(axis=0)).all()
    assert ((walk.positions >= 0) & (walk.positions < 0.1)).all()
    # Each position of a chain is like the next: 40 chains of some tens of independent ones.
    assert walk.positions.mean(axis=1) == pytest.approx(np.full(3, 0.05), abs=0.005)
    assert walk.positions.std(axis=1) == pytest.approx(np.full(3, 0.1 / math.sqrt(12)), rel=0.08)
    corner = (walk.positions < 0.02).all(axis=0).mean()
    assert 0.004 < corner < 0.014  # 0.008


def test_single_draws_and_data_find_both_parts() -> None:
    rng = np.random.default_rng(0)
    cube = cube_of(in_two_cubes, 4)
    result, drawn = descend(cube, 0.05, None, 20_000, rng)
    assert drawn.shape == (10_000,)
    assert (np.diff(drawn) >= 0).all()
    # Below s lies a power of s, of which the smaller cube adds a sixteenth.
    assert np.mean(drawn < 0.5) == pytest.approx(0.5**4 * (1 + 1 / 16), rel=0.15)
    assert 19_000 <= cube.n_scored <= 24_000
    assert (in_two_cubes(result.T) < 0.05).all()
    assert (result[0] < 0.5).any()
    assert (result[0] > 0.5).any()
    data = np.full((4, 3), [[0.01, 0.5, 0.99]])
    assert descend(cube, 0.05, data, 100, rng)[0][:, :2].T.tolist() == [[0.01] * 4, [0.99] * 4]
    assert descend(cube, 1e-9, data[:, :0], 100, rng)[0].shape == (4, 0)


def test_isolated_points_and_components() -> None:
    line = np.linspace(0, 0.1, 50)[None]
    far = np.array([[0.05, 0.103, 0.2, 0.9]])
    assert isolated(far, line).tolist() == [[0.2, 0.9]]
    assert isolated(far[:, :0], line).shape == (1, 0)
    assert isolated(far, line[:, :1]).shape == (1, 0)
    both = np.concatenate([line, line + 0.5], axis=1)
    assert connected_components(both).tolist() == [0] * 50 + [1] * 50
    assert connected_components(line).max() == 0
    cells = Cells(np.concatenate([far[:, 3:], line], axis=1), np.array([1] + [0] * 50))
    assert cells.of(np.array([[0.1, 0.4, 0.6]])).tolist() == [0, 0, 1]
    assert cells.n_empty([line, far, far[:, 3:], line[:, :0]]) == 1 + 0 + 1 + 2
    assert Cells(line, np.zeros(50, np.int64)).of(far).tolist() == [0] * 4


@pytest.mark.slow
def test_cells_sum_to_the_region_whatever_their_shares_of_points() -> None:
    """Particles are in the small cube only, as all of a repeat may be: chains are in the other."""
    rng = np.random.default_rng(0)
    truth = math.log(0.1**3 + 0.2**3)

    def score(X: Array) -> Array:
        return np.minimum(X.max(axis=1) * 2, (1 - X).max(axis=1))

    cube = cube_of(score, 3)
    both = np.concatenate([0.1 * rng.random((3, 300)), 1 - 0.2 * rng.random((3, 300))], axis=1)
    mixture = start(both, [0] * 3, rng)
    cells = Cells(both, np.repeat([0, 1], 300))
    logs = []
    for _ in range(30):
        places = bridges._Near(0.1 * rng.random((3, 200)), 1.0, 1.0)
        own = bridges._by_cell(cube, cells, places, mixture, 0.2, 500, rng)
        assert np.array_equal(own[0].points, places.points)
        assert np.array_equal(cells.of(own[1].points), np.ones(own[1].points.shape[1]))
        assert own[1].independent < 0.5
        drawn = draw(cube, mixture, 0.2, 1000, rng, lambda: None)
        bridged = bridges._bridge_cells(drawn, cells, own)
        assert bridged is not None
        logs.append(bridged[0][0])
    assert abs(float(np.mean(logs)) - truth) < 4 * float(np.std(logs)) / math.sqrt(30) + 0.01
    assert np.std(logs) < 0.15
    empty = own[1]._replace(points=own[1].points[:, :0])
    assert bridges._bridge_cells(drawn, cells, [own[0], empty]) is None


@pytest.mark.slow
def test_a_bridge_does_not_mind_in_which_part_the_particles_of_a_repeat_are() -> None:
    """Levels of such repeats differ by more than chance; draws have both parts."""
    region = hidden.needle_in_valley(5)
    # Of eight seeds the only one with so different repeats.
    rng = np.random.default_rng(1)
    cube = Cube(region.box, block_score(region.jitted, 5))
    run = split(cube, region.threshold, 100_000, rng)
    levels = [repeat.log_fraction(region.threshold) for repeat in run.repeats]
    assert np.std(levels) > 1.5
    assert isinstance(run.bridge, Bridge)
    assert np.abs(run.bridge.log_fractions - region.log_fraction).max() < 0.5
    assert not any("repeats differ" in one for one in mixing_problems(run, region.threshold))
    assert any("repeats differ" in one for one in mixing_problems(run, region.threshold * 1.001))


@pytest.mark.slow
def test_data_show_a_needle_beside_a_wide_valley() -> None:
    """Which no draw meets: without data it is missed."""
    region = hidden.needle_in_valley(10)
    half = 0.12 * 0.3 ** (1 / 6)
    data = 0.87 + half * (2 * np.random.default_rng(0).random((30, 10)) - 1)
    result = fastad.volume(
        *(region.jitted, region.threshold, region.box),
        method="splitting",
        data=data,
        n_draws=100_000,
        rng=0,
        confidence_level=0.999,
    )
    assert result.log_low <= region.log_fraction <= result.log_high
    assert abs(result.log_value - region.log_fraction) < 0.4


@pytest.mark.slow
def test_a_point_where_no_particle_is_is_warned_of() -> None:
    """Too few draws for a bridge."""
    region = hidden.needle_in_valley(10)
    data = np.full((1, 10), 0.87)
    with pytest.warns(InsufficientMixingWarning, match="where no particle is"):
        fastad.volume(
            *(region.jitted, region.threshold, region.box),
            method="splitting",
            data=data,
            n_draws=30_000,
            rng=0,
        )


def test_large_regions_cost_no_points_alone() -> None:
    """Of few levels the first particles meet each part."""
    cube = cube_of(largest, 2)
    run = split(cube, 0.5, 20_000, np.random.default_rng(0))
    assert run.n_isolated == 0
    assert cube.n_scored <= 20_000

"""The unit cube that stands for a box: its points, and their scores."""

import math
from typing import Any

import numpy as np
import pytest

from fastad import Box, InvalidInputError
from fastad._kernels.geometry.draws import scale_to_box
from fastad.regions.scores import Cube, block_score, into_cube
from tests.support.rare import ellipsoid
from tests.support.volumes import OfBatch

BOX = Box(
    [-3, 1e-9, 0, 7, -1e308, 100],
    [5, 2e-9, 4, 7, 1e308, 100.5],
    values=[None, None, [0, 1, 4], [7], None, None],
)


def test_points_of_the_box_come_back_from_the_cube() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1000, 6))
    X[:, 0] = 8 * X[:, 0] - 3
    X[:, 1] = 1e-9 + 1e-9 * X[:, 1]
    X[:, 2] = rng.choice([0, 1, 4], 1000)
    X[:, 3] = 7
    X[:, 4] = (2 * X[:, 4] - 1) * 1e308
    X[:, 5] = 100 + 0.5 * X[:, 5]
    X[0], X[1] = BOX.low, BOX.high
    points = into_cube(BOX, X, rng)
    assert points.shape == (6, 1000)
    assert ((points >= 0) & (points < 1)).all()
    back = points.copy()
    scale_to_box(BOX.ranges, back)
    assert (back[[2, 3]] == X.T[[2, 3]]).all()
    span = np.array([8.0, 1e-9, 1, 1, 1e308, 0.5])[:, None]
    assert np.abs(back / span - X.T / span).max() < 1e-12
    # Parts of the values are filled evenly.
    for value, low in [(0, 0), (1, 1 / 3), (4, 2 / 3)]:
        own = points[2][X[:, 2] == value]
        assert own.min() >= low
        assert own.max() <= low + 1 / 3
        assert abs(own.mean() - low - 1 / 6) < 4 / 3 / math.sqrt(12 * len(own))


def test_data_outside_of_the_box_are_left_out() -> None:
    box = Box([0, 0], [1, 1])
    X = np.array([[0.5, 0.5], [1.5, 0.5], [0.5, -0.1], [0.0, 1.0], [math.nextafter(1, 2), 0]])
    points = into_cube(box, X, np.random.default_rng(0))
    assert points.T[:, 0].tolist() == [0.5, 0]
    assert points.shape == (2, 2)
    assert points[1, 1] == pytest.approx(1)
    assert points[1, 1] < 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jitted", "batch", "compiled"])
def test_scores_of_the_cube_are_those_of_the_box(kind: str) -> None:
    region = ellipsoid(5)
    box = Box([-1, 0, 2, -1, -1], [1, 4, 2.5, 0, 1])
    score: Any = {
        "jitted": region.jitted,
        "batch": region.batch,
        "compiled": OfBatch(region.batch, 5),
    }[kind]
    cube = Cube(box, block_score(score, 5))
    assert cube.n_features == 5
    points = np.random.default_rng(0).random((5, 3001))
    before = points.copy()
    result = cube.scores(points)
    assert (points == before).all()
    X = (box.low + (box.high - box.low) * points.T).astype(np.float64)
    assert result == pytest.approx(region.batch(X), rel=1e-12)
    assert cube.n_scored == 3001
    assert cube.scores(points[:, :0]).shape == (0,)
    assert cube.scores(points[:, ::2]) == pytest.approx(result[::2], rel=1e-15)
    assert cube.n_scored == 3001 + 1501


def test_nan_of_the_cube_names_a_point_of_the_box() -> None:
    box = Box([10, 10], [20, 20])
    cube = Cube(box, block_score(lambda X: np.where(X[:, 0] > 15, math.nan, 0.0), 2))
    points = np.full((2, 700), 0.25)
    cube.scores(points)
    points[:, 600] = 0.75
    with pytest.raises(InvalidInputError, match=r"\[17\.5, 17\.5\]"):
        cube.scores(points)

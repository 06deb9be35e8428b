"""Which of nested regions a mixture is fitted to: three, and more where volumes differ widely."""

import numpy as np
import pytest

from fastad.regions.importance_sampling.nested import FEWEST_POINTS, points_below
from fastad.regions.importance_sampling.weights import RefusedError
from fastad.regions.scores import Cube, block_score
from tests.support.rare import ball
from tests.support.volumes import Array

D = 6
REGION = ball(D)


def below(thresholds: list[float], data: Array) -> dict[float, Array]:
    cube = Cube(REGION.box, block_score(REGION.jitted, D))
    return points_below(cube, thresholds, ((data + 1) / 2).T.copy())


def squares(points: Array) -> Array:
    """Scores of points of the cube, shape (d, n)."""
    result: Array = ((2 * points - 1) ** 2).sum(axis=0)
    return result


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_regions_are_all_taken(n: int) -> None:
    thresholds = [1.0, 0.8, 0.9][:n]
    assert list(below(thresholds, REGION.data(500, 0))) == sorted(thresholds)


def test_three_of_many_regions_of_like_volume_are_taken() -> None:
    thresholds = np.linspace(0.8, 1.0, 101).tolist()
    taken = below(thresholds, REGION.data(500, 0))
    assert len(taken) == 3
    assert [min(taken), max(taken)] == [0.8, 1.0]


@pytest.mark.parametrize("smallest", [1e-4, 1e-8])
def test_more_are_taken_where_volumes_differ(smallest: float) -> None:
    thresholds = np.geomspace(smallest, 1.0, 100).tolist()
    data = np.concatenate([REGION.data(50, k) * np.sqrt(t) for k, t in enumerate(thresholds)])
    taken = np.array(list(below(thresholds, data)))
    assert [taken.min(), taken.max()] == [smallest, 1.0]
    # The volume of a ball, by the power D / 2 of this score.
    gaps = D / 2 * np.diff(np.log(np.sort(taken)))
    assert 3 < len(taken) <= 8
    assert gaps.max() < max(7.0, 2 * gaps.sum() / 7)


def test_each_has_the_distinct_data_below_it() -> None:
    data = np.repeat(REGION.data(300, 0), 2, axis=0)
    taken = below([0.7, 0.9, 1.0], data)
    for threshold, points in taken.items():
        expected = np.unique(data[(data**2).sum(axis=1) < threshold], axis=0)
        assert points.shape[1] == expected.shape[0]
        assert (squares(points) < threshold).all()


def test_too_few_distinct_data_below_the_lowest_are_refused() -> None:
    data = np.concatenate([np.repeat(np.full((1, D), 0.01), 9, axis=0), REGION.data(300, 0)])
    n_below = np.unique(data[(data**2).sum(axis=1) < 0.01], axis=0).shape[0]
    assert n_below < FEWEST_POINTS
    with pytest.raises(RefusedError, match=rf"below 0.01 .*found {n_below} among 309"):
        below([0.01, 1.0], data)

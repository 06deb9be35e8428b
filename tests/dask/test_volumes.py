"""Volumes on Dask: the draws are numbered, so that counts of ranges add up to the same."""

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

import fastad
from fastad.dask import regions

dask = pytest.importorskip("dask", reason="the extra dask is not installed")

X = np.random.default_rng(0).normal(size=(300, 3))
BOX = fastad.Box.from_data(X)
FOREST = IsolationForest(n_estimators=10, random_state=0).fit(X)
OPTIONS: dict[str, Any] = {"n_draws": 20_001, "rng": 3}


@numba.njit
def radius(point: Any) -> float:
    return float(np.sqrt(point[0] ** 2 + point[1] ** 2 + point[2] ** 2))


def batch(rows: Any) -> Any:
    return np.abs(rows).max(axis=1)


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: Any) -> Iterator[None]:
    monkeypatch.setattr(regions, "_FEWEST", 1000)
    with dask.config.set(scheduler="threads"):
        yield


@pytest.mark.parametrize(
    ("score", "thresholds"), [(FOREST, [0.5, 0.45]), (radius, 1.5), (batch, [2.0, 1.0, 0.1])]
)
def test_volumes_are_those_of_one_machine(score: Any, thresholds: Any) -> None:
    expected: Any = fastad.volume(score, thresholds, BOX, method="uniform", **OPTIONS)
    for n_tasks in (1, 7, 64):
        result = fastad.dask.volume(score, thresholds, BOX, n_tasks=n_tasks, **OPTIONS)
        assert isinstance(result, list) == isinstance(thresholds, list)
        for one, other in zip(np.atleast_1d(result), np.atleast_1d(expected), strict=True):
            assert one.to_dict() == other.to_dict()


@pytest.mark.slow
def test_at_fpr_several_detectors_and_later() -> None:
    labels = np.zeros(300)
    scores = -FOREST.score_samples(X)
    expected = fastad.volume_at_fpr(
        FOREST, labels, scores, BOX, fpr=0.1, method="uniform", **OPTIONS
    )
    result = fastad.dask.volume_at_fpr(
        FOREST, labels, scores, BOX, fpr=0.1, compute=False, **OPTIONS
    )
    assert result.compute().to_dict() == expected.to_dict()
    detectors = {"forest": FOREST, "radius": radius}
    there = fastad.dask.volumes(detectors, X, labels, fpr=[0.05, 0.2], **OPTIONS)
    here = fastad.volumes(detectors, X, labels, fpr=[0.05, 0.2], method="uniform", **OPTIONS)
    assert there.to_dict() == here.to_dict()


def test_functions_score_the_batches_of_one_machine() -> None:
    """In other batches a function may round otherwise."""
    sizes: list[int] = []

    def score(rows: Any) -> Any:
        sizes.append(len(rows))
        return batch(rows)

    fastad.volume(score, 1.0, BOX, method="uniform", **OPTIONS)
    expected = sorted(sizes)
    for n_tasks in (2, 7):
        sizes.clear()
        fastad.dask.volume(score, 1.0, BOX, n_tasks=n_tasks, **OPTIONS)
        assert sorted(sizes) == expected


def test_errors_of_scores_and_options_are_those_of_one_machine() -> None:
    with pytest.raises(fastad.InvalidInputError, match="NaN"):
        fastad.dask.volume(lambda rows: rows[:, 0] * np.nan, 0.5, BOX, **OPTIONS)
    with pytest.raises(fastad.InvalidInputError, match="n_tasks must be"):
        fastad.dask.volume(radius, 0.5, BOX, n_tasks=0, **OPTIONS)
    with pytest.raises(TypeError, match="method must be left out on Dask"):
        fastad.dask.volume(radius, 0.5, BOX, method="splitting", **OPTIONS)
    with pytest.raises(TypeError, match="method must be left out on Dask"):
        fastad.dask.volumes({"a": radius}, X, np.zeros(300), method="uniform", fpr=0.1)

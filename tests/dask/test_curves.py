"""Volume curves whose particles are scored on Dask: the bits of one machine."""

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import KernelDensity

import fastad

dask = pytest.importorskip("dask", reason="the extra dask is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::fastad.errors.InsufficientMixingWarning")

X = np.random.default_rng(0).normal(size=(200, 3))
BOX = fastad.Box.from_data(X)
FOREST = IsolationForest(n_estimators=5, random_state=0).fit(X)
KDE = KernelDensity().fit(X)
OPTIONS: dict[str, Any] = {"n_draws": 10_000, "rng": 3}


@numba.njit(nogil=True)
def radius(point: Any) -> float:
    return float(point[0] ** 2 + point[1] ** 2 + point[2] ** 2)


def batch(rows: Any) -> Any:
    return np.abs(rows).max(axis=1)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    with dask.config.set(scheduler="threads"):
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score", "threshold"), [(radius, 0.01), (batch, 0.05), (FOREST, 0.47), (KDE, 6.0)]
)
def test_curves_are_those_of_one_machine(
    monkeypatch: pytest.MonkeyPatch, score: Any, threshold: float
) -> None:
    expected = fastad.regions.volume_curve(score, threshold, BOX, **OPTIONS)
    # Batches so small that there are several of them.
    monkeypatch.setattr("fastad.dask.regions.points_at_once", lambda _: 64)
    for n_tasks in (1, 7):
        result = fastad.dask.volume_curve(score, threshold, BOX, n_tasks=n_tasks, **OPTIONS)
        assert result.to_columns() == expected.to_columns()
        assert result.n_scored == expected.n_scored
        assert result(2 * threshold).to_dict() == expected(2 * threshold).to_dict()


@pytest.mark.slow
def test_later_and_errors() -> None:
    expected = fastad.regions.volume_curve(batch, 0.1, BOX, **OPTIONS)
    later = fastad.dask.volume_curve(batch, 0.1, BOX, compute=False, **OPTIONS)
    assert later.compute().to_columns() == expected.to_columns()
    with pytest.raises(fastad.InvalidInputError, match="NaN"):
        fastad.dask.volume_curve(lambda rows: rows[:, 0] * np.nan, 0.5, BOX, **OPTIONS)
    with pytest.raises(fastad.InvalidInputError, match="threshold must be finite"):
        fastad.dask.volume_curve(batch, -np.inf, BOX, **OPTIONS)
    with pytest.raises(fastad.InvalidInputError, match="n_tasks must be"):
        fastad.dask.volume_curve(batch, 0.1, BOX, n_tasks=0, **OPTIONS)
    # Nothing is left behind.
    assert fastad.regions.volume_curve(batch, 0.1, BOX, **OPTIONS).n_scored == expected.n_scored


@pytest.mark.slow
def test_moves_of_no_particle() -> None:
    """With this seed no particle moves on one level, and there is nothing to score."""
    box = fastad.Box([-1] * 3, [1] * 3)
    expected = fastad.regions.volume_curve(batch, 0.5, box, n_draws=10_000, rng=0)
    result = fastad.dask.volume_curve(batch, 0.5, box, n_draws=10_000, rng=0)
    assert result.to_columns() == expected.to_columns()

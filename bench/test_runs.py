"""Time of many runs in one call: groups of rows, and detectors on the same rows."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn.metrics import roc_auc_score

import fastad

N_GROUPS, GROUP_SIZE = 10_000, 1_000
N_DETECTORS, N_POINTS = 500, 100_000

pytestmark = pytest.mark.benchmark(min_rounds=3, max_time=1, disable_gc=True)


@lru_cache(maxsize=1)
def _long_table() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(N_GROUPS), GROUP_SIZE))
    labels = (rng.random(groups.size) < 0.1).astype(np.int64)
    return groups, labels, rng.normal(size=groups.size) + 1.5 * labels


def _areas() -> Any:
    groups, labels, scores = _long_table()
    runs = fastad.evaluate(labels, scores, groups=groups, measures=["auc"])
    return [run["score"]["auc"] for run in runs.values()]


def _areas_of_pandas() -> Any:
    groups, labels, scores = _long_table()
    table = pd.DataFrame({"group": groups, "label": labels, "score": scores})
    return table.groupby("group")[["label", "score"]].apply(
        lambda run: roc_auc_score(run["label"], run["score"])
    )


@pytest.mark.parametrize(("areas", "rounds"), [(_areas, 5), (_areas_of_pandas, 1)])
def test_groups(benchmark: BenchmarkFixture, areas: Any, rounds: int) -> None:
    benchmark.group = "AUC of 10 000 groups of 1 000 points"
    expected = _areas()
    result = benchmark.pedantic(areas, rounds=rounds)  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12)


@lru_cache(maxsize=1)
def _many_detectors() -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    labels = rng.random(N_POINTS) < 0.01
    return labels, rng.normal(size=(N_DETECTORS, N_POINTS)) + 1.5 * labels


@pytest.mark.parametrize("n_threads", [1, 2])
def test_detectors(benchmark: BenchmarkFixture, n_threads: int) -> None:
    labels, scores = _many_detectors()
    benchmark.group = "`evaluate` of 500 detectors on 10^5 points"
    benchmark(lambda: fastad.evaluate(labels, scores, n_threads=n_threads))

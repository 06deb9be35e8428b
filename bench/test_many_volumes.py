"""Time of the volumes of many detectors on one set of draws, together and one after the other."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

import fastad
from fastad.detectors import KNNDetector

N_TRAINING, N_DRAWS = 1_500, 50_000
FPR = [0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5]

pytestmark = pytest.mark.benchmark(min_rounds=1, max_time=1, disable_gc=True)


@lru_cache(maxsize=1)
def _detectors(d: int) -> dict[str, Any]:
    X = np.random.default_rng(0).normal(size=(N_TRAINING, d))
    kinds: Any = ("kappa", "gamma", "delta")
    results: dict[str, Any] = {
        f"{kind}, k = {k}": KNNDetector(k, kind=kind).fit(X)
        for kind in kinds
        for k in (1, 3, 5, 7, 9, 13, 21, 31, 51)
    }
    for k in (10, 20, 50):
        results[f"LOF, k = {k}"] = LocalOutlierFactor(n_neighbors=k, novelty=True).fit(X)
    for gamma in (0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10):
        results[f"machine, gamma = {gamma}"] = OneClassSVM(gamma=gamma).fit(X)
    for n in (50, 100, 150, 200):
        results[f"forest of {n}"] = IsolationForest(n_estimators=n, random_state=0).fit(X)
    return results


def _volumes(detectors: dict[str, Any], d: int) -> fastad.regions.Volumes:
    X = np.random.default_rng(1).normal(size=(2_000, d))
    return fastad.volumes(
        *(detectors, X, np.zeros(2_000)), fpr=FPR, method="uniform", n_draws=N_DRAWS, rng=0
    )


@pytest.mark.parametrize("d", [5, 20])
@pytest.mark.parametrize("way", ["together", "one after the other"])
def test_volumes(benchmark: BenchmarkFixture, way: str, d: int) -> None:
    detectors = _detectors(d)
    benchmark.group = (
        f"{len(detectors)} detectors at {len(FPR)} rates, {N_DRAWS} draws in {d} dimensions"
    )
    together = _volumes(detectors, d)

    def alone() -> list[dict[str, Any]]:
        return [dict(_volumes({name: model}, d)[name]) for name, model in detectors.items()]

    if way == "together":
        benchmark(lambda: _volumes(detectors, d))
        return
    for name, volumes in zip(detectors, benchmark(alone), strict=True):
        assert [x.value for x in volumes.values()] == [x.value for x in together[name].values()]

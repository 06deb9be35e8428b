"""Time of intervals: DeLong's and the bootstrap, against those of other libraries."""

import statistics
import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import confidenceinterval
import numpy as np
import pytest
import scipy.stats
import torch
import torchmetrics.classification
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn.metrics import roc_auc_score
from torchmetrics.wrappers import BootStrapper

import fastad
from bench.data import Case, Labels, Scores, generate

N_RESAMPLES, N_FEW = 1000, 200
SMALL, LARGE = 10**4, 10**6

pytestmark = pytest.mark.benchmark(min_rounds=3, max_time=1, disable_gc=True)


def _fastad(labels: Labels, scores: Scores, **options: Any) -> tuple[float, float]:
    default: Any = {"measure": "auc", "method": "bootstrap", "n_resamples": N_RESAMPLES}
    result = fastad.interval(labels, scores, rng=0, **(default | options))
    return result.low, result.high


def _sklearn(labels: Labels, scores: Scores) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    areas = []
    for _ in range(N_RESAMPLES):
        rows = rng.integers(labels.shape[0], size=labels.shape[0])
        areas.append(roc_auc_score(labels[rows], scores[rows]))
    low, high = np.quantile(areas, [0.025, 0.975]).tolist()
    return low, high


def _torchmetrics(labels: Labels, scores: Scores) -> tuple[float, float]:
    torch.manual_seed(0)
    bootstrap = BootStrapper(
        torchmetrics.classification.BinaryAUROC(),
        num_bootstraps=N_RESAMPLES,
        quantile=torch.tensor([0.025, 0.975]),
    )
    # Outside of [0, 1] scores would go through a sigmoid in every resample.
    probabilities = torch.from_numpy(scores).sigmoid()
    bootstrap.update(probabilities, torch.from_numpy(labels))
    low, high = bootstrap.compute()["quantile"].tolist()
    return low, high


def _scipy(labels: Labels, scores: Scores) -> tuple[float, float]:
    def area(anomalies: Scores, normals: Scores) -> float:
        both = np.concatenate([anomalies, normals])
        ranks = scipy.stats.rankdata(both)[: anomalies.shape[0]]
        n, m = anomalies.shape[0], normals.shape[0]
        return float((ranks.sum() - n * (n + 1) / 2) / (n * m))

    return _scipy_interval(labels, scores, area, N_RESAMPLES)


def _scipy_interval(
    labels: Labels, scores: Scores, measure: Callable[[Scores, Scores], float], n_resamples: int
) -> tuple[float, float]:
    """Return the percentile interval of a measure of anomalies and normals."""
    result = scipy.stats.bootstrap(
        (scores[labels == 1], scores[labels == 0]),
        measure,
        n_resamples=n_resamples,
        method="percentile",
        vectorized=False,
        rng=np.random.default_rng(0),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


BOOTSTRAPS: dict[str, Callable[[Labels, Scores], tuple[float, float]]] = {
    "fastad": _fastad,
    "scikit-learn in a loop": _sklearn,
    "torchmetrics BootStrapper": _torchmetrics,
    "scipy.stats.bootstrap": _scipy,
}


@pytest.mark.parametrize("library", BOOTSTRAPS)
def test_bootstrap(benchmark: BenchmarkFixture, library: str) -> None:
    data = generate(Case(SMALL, 0.5))
    benchmark.group = "1 000 replicates of the AUC of 10^4 points"
    expected = _fastad(*data)
    if library == "fastad":
        benchmark(_fastad, *data)
    else:
        result = benchmark.pedantic(  # type: ignore[no-untyped-call]
            BOOTSTRAPS[library], data, rounds=1
        )
        # The ends of intervals of a thousand replicates, drawn each in its own way.
        np.testing.assert_allclose(result, expected, rtol=0, atol=2e-3)


def test_bootstrap_of_a_million(benchmark: BenchmarkFixture) -> None:
    benchmark.group = "1 000 replicates of the AUC of 10^6 points"
    benchmark.pedantic(_fastad, generate(Case(LARGE, 0.5)), rounds=3)  # type: ignore[no-untyped-call]


_fastad_part = partial(_fastad, measure="tpr@0.01", n_resamples=N_FEW)


def _scipy_part(labels: Labels, scores: Scores) -> tuple[float, float]:
    def tpr(anomalies: Scores, normals: Scores) -> float:
        last = normals.shape[0] - 1 - normals.shape[0] // 100
        return float(np.mean(anomalies > np.partition(normals, last)[last]))

    return _scipy_interval(labels, scores, tpr, N_FEW)


@pytest.mark.parametrize("library", ["fastad", "scipy.stats.bootstrap"])
def test_bootstrap_of_a_part_of_the_curve(benchmark: BenchmarkFixture, library: str) -> None:
    data = generate(Case(LARGE, 0.5))
    benchmark.group = "200 replicates of the TPR at FPR 0.01 of 10^6 points"
    expected = _fastad_part(*data)
    function = _fastad_part if library == "fastad" else _scipy_part
    rounds = 5 if library == "fastad" else 1
    result = benchmark.pedantic(function, data, rounds=rounds)  # type: ignore[no-untyped-call]
    # Ends of intervals 0.004 wide, of two hundred replicates, drawn each in its own way.
    np.testing.assert_allclose(result, expected, rtol=0, atol=1.5e-3)


def test_table_with_intervals(benchmark: BenchmarkFixture) -> None:
    benchmark.group = "evaluate with intervals of the default table, 2 * 10^6 points"
    labels, scores = generate(Case(2 * LARGE, 0.5))
    benchmark.pedantic(  # type: ignore[no-untyped-call]
        lambda: fastad.evaluate(labels, scores, confidence_level=0.95, rng=0), rounds=3
    )


def test_replicates_of_clusters(benchmark: BenchmarkFixture) -> None:
    """All measures of a table share the replicates."""
    labels, scores = generate(Case(LARGE, 0.01))
    benchmark.group = "evaluate with intervals of 10^6 points in 10^4 clusters, 1 000 replicates"
    clusters = [*range(10**4)] * (LARGE // 10**4)
    options = {"confidence_level": 0.95, "clusters": clusters, "n_resamples": N_RESAMPLES, "rng": 0}
    benchmark.pedantic(fastad.evaluate, (labels, scores), options, rounds=1)  # type: ignore[no-untyped-call]


_delong = partial(_fastad, method="delong")


def _confidenceinterval(labels: Labels, scores: Scores) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, (low, high) = confidenceinterval.roc_auc_score(labels, scores)
    return float(low), float(high)


@pytest.mark.parametrize("library", ["fastad", "confidenceinterval"])
def test_delong(benchmark: BenchmarkFixture, library: str) -> None:
    data = generate(Case(LARGE, 0.5))
    benchmark.group = "DeLong's interval of the AUC of 10^6 points"
    result = benchmark(_delong if library == "fastad" else _confidenceinterval, *data)
    np.testing.assert_allclose(result, _delong(*data), rtol=0, atol=1e-6)


@pytest.mark.parametrize("measure", ["ap", "auc@0.05", "tpr@0.05"])
def test_other_measures(benchmark: BenchmarkFixture, measure: str) -> None:
    labels, scores = generate(Case(SMALL, 0.5))
    benchmark.group = "1 000 replicates of other measures of 10^4 points"
    benchmark(_fastad, labels, scores, measure=measure)


@pytest.mark.parametrize("method", ["delong", "bootstrap"])
def test_memory_grows_with_the_points_only(benchmark: BenchmarkFixture, method: Any) -> None:
    """Not with the replicates: bytes a point, at the peak."""
    labels, scores = generate(Case(LARGE, 0.5))
    peaks = []

    def measured() -> None:
        tracemalloc.start()
        _fastad(labels, scores, method=method, n_resamples=20)
        peaks.append(tracemalloc.get_traced_memory()[1] / LARGE)
        tracemalloc.stop()

    benchmark.group = "memory of an interval of 10^6 points"
    benchmark.pedantic(measured, rounds=3, warmup_rounds=1)  # type: ignore[no-untyped-call]
    bytes_a_point = statistics.median(peaks)
    benchmark.extra_info.update(bytes_a_point=bytes_a_point)
    assert bytes_a_point < 100

"""Time of splitting with compiled scorers against the same algorithm in vectorised NumPy.

NumPy's points are scored by the detectors themselves, as often as fastad scores.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

import fastad
from bench.splitting_in_numpy import numpy_only

N_TRAINING, N_FEATURES, N_DRAWS = 2_000, 10, 1_000_000
FPR = 0.05

pytestmark = pytest.mark.benchmark(min_rounds=1, max_time=1, warmup=False, disable_gc=True)

Floats = npt.NDArray[np.float64]

DETECTORS: dict[str, Any] = {
    "OneClassSVM rbf, nu = 0.1": OneClassSVM(nu=0.1),
    "OneClassSVM rbf, nu = 0.5": OneClassSVM(nu=0.5),
    "IsolationForest": IsolationForest(random_state=0),
    "LocalOutlierFactor": LocalOutlierFactor(novelty=True),
    "EllipticEnvelope": EllipticEnvelope(random_state=0),
}


class _Case(NamedTuple):
    compiled: fastad.detectors.CompiledScorer
    original: Callable[[Floats], Floats]
    threshold: float
    box: fastad.Box


@lru_cache
def _case(name: str) -> _Case:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_TRAINING, N_FEATURES))
    detector = DETECTORS[name].fit(X)

    def original(rows: Floats) -> Floats:
        scores: Floats = -detector.score_samples(rows)
        return scores

    normals = rng.normal(size=(N_TRAINING, N_FEATURES))
    threshold = float(np.quantile(original(normals), 1 - FPR))
    box = fastad.Box.from_data(np.concatenate([X, normals]))
    return _Case(fastad.compile_scorer(detector), original, threshold, box)


def _compiled(case: _Case) -> fastad.regions.VolumeEstimate:
    return fastad.volume(
        case.compiled, case.threshold, case.box, method="splitting", n_draws=N_DRAWS, rng=0
    )


def _in_numpy(case: _Case) -> fastad.regions.VolumeEstimate:
    with numpy_only():
        return fastad.volume(
            case.original, case.threshold, case.box, method="splitting", n_draws=N_DRAWS, rng=0
        )


@pytest.mark.parametrize("name", DETECTORS)
def test_numpy(benchmark: BenchmarkFixture, name: str) -> None:
    case = _case(name)
    result = benchmark(lambda: _in_numpy(case))
    expected = _compiled(case)
    assert 0.8 * expected.n_scored < result.n_scored < 1.25 * expected.n_scored
    benchmark.extra_info["score calls"] = result.n_scored
    widths = result.log_high - result.log_low + expected.log_high - expected.log_low
    assert abs(result.log_value - expected.log_value) < widths


@pytest.mark.parametrize("name", DETECTORS)
def test_fastad(benchmark: BenchmarkFixture, name: str) -> None:
    case = _case(name)
    result = _compiled(case)
    assert 0.6 * N_DRAWS < result.n_scored < 1.2 * N_DRAWS
    benchmark.extra_info["score calls"] = result.n_scored
    benchmark(lambda: _compiled(case))

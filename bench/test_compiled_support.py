"""Time of compiled detectors against the originals on the same points."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn.covariance import EllipticEnvelope
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.svm import OneClassSVM

from fastad._core.threads import MOST as BLOCK
from fastad._core.threads import thread_limit, thread_map
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.scorer import CompiledScorer

N_TRAINING, N_FEATURES = 2_000, 5
HBOS = pytest.importorskip("pyod.models.hbos").HBOS
PCA = pytest.importorskip("pyod.models.pca").PCA
LODA = pytest.importorskip("pyod.models.loda").LODA
CBLOF = pytest.importorskip("pyod.models.cblof").CBLOF
INNE = pytest.importorskip("pyod.models.inne").INNE

pytestmark = pytest.mark.benchmark(min_rounds=3, max_time=1, disable_gc=True)


class _Case(NamedTuple):
    estimator: Any
    sign: int
    n_points: int


CASES = {
    "OneClassSVM rbf, nu = 0.1": _Case(OneClassSVM(nu=0.1), -1, 1_000_000),
    "OneClassSVM rbf, nu = 0.5": _Case(OneClassSVM(nu=0.5), -1, 1_000_000),
    "OneClassSVM rbf, nu = 0.5, gamma = 0.01": _Case(
        OneClassSVM(nu=0.5, gamma=0.01), -1, 1_000_000
    ),
    "OneClassSVM rbf, nu = 0.5, gamma = 1": _Case(OneClassSVM(nu=0.5, gamma=1.0), -1, 1_000_000),
    "OneClassSVM poly, nu = 0.1": _Case(
        OneClassSVM(kernel="poly", coef0=1.0, nu=0.1), -1, 1_000_000
    ),
    "OneClassSVM sigmoid, nu = 0.1": _Case(OneClassSVM(kernel="sigmoid", nu=0.1), -1, 1_000_000),
    "EllipticEnvelope": _Case(EllipticEnvelope(random_state=0), -1, 1_000_000),
    "GaussianMixture, 4 full": _Case(GaussianMixture(4, random_state=0), -1, 1_000_000),
    # One leaf: a tree of many is slower here, and loses its digits far from the samples.
    "KernelDensity, one leaf": _Case(
        KernelDensity(bandwidth=0.5, leaf_size=N_TRAINING), -1, 10_000
    ),
    "PyOD PCA": _Case(PCA(), 1, 1_000_000),
    "PyOD HBOS": _Case(HBOS(), 1, 1_000_000),
    "PyOD LODA": _Case(LODA(random_state=0), 1, 100_000),
    "PyOD CBLOF": _Case(CBLOF(alpha=0.6, random_state=0), 1, 1_000_000),
    "PyOD INNE": _Case(INNE(random_state=0), 1, 20_000),
}


class _Fitted(NamedTuple):
    scorer: CompiledScorer
    X: npt.NDArray[np.float64]
    original: Callable[[], npt.NDArray[np.float64]]


@lru_cache(maxsize=1)
def _fitted(name: str) -> _Fitted:
    case = CASES[name]
    rng = np.random.default_rng(0)
    estimator = case.estimator.fit(rng.normal(size=(N_TRAINING, N_FEATURES)))
    X = rng.uniform(-4.0, 4.0, size=(case.n_points, N_FEATURES))
    method = estimator.score_samples if case.sign < 0 else estimator.decision_function
    return _Fitted(compile_scorer(estimator), X, lambda: case.sign * method(X))


def _blocks(X: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    return [np.array(X[i : i + BLOCK].T, order="C") for i in range(0, len(X), BLOCK)]


def _score_blocks(
    scorer: CompiledScorer, blocks: list[npt.NDArray[np.float64]], n_threads: int
) -> npt.NDArray[np.float64]:
    scores = np.empty((len(blocks), BLOCK))

    def score(first: int) -> None:
        for i in range(first, len(blocks), 16):
            scorer.score_block(blocks[i], scores[i, : blocks[i].shape[1]])

    with thread_limit(n_threads):
        thread_map(score, range(16))
    return scores.ravel()[: sum(block.shape[1] for block in blocks)]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.benchmark(min_rounds=1, max_time=0)
def test_original(benchmark: BenchmarkFixture, name: str) -> None:
    fitted = _fitted(name)
    benchmark.group = f"{CASES[name].n_points} points"
    expected = fitted.original()
    result = fitted.scorer.score_samples(fitted.X)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())
    benchmark(fitted.original)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_table(benchmark: BenchmarkFixture, name: str, n_threads: int) -> None:
    fitted = _fitted(name)
    benchmark.group = f"{CASES[name].n_points} points"
    benchmark(lambda: fitted.scorer.score_samples(fitted.X, n_threads=n_threads))


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_blocks(benchmark: BenchmarkFixture, name: str, n_threads: int) -> None:
    # As for a volume, whose points are made where they are scored.
    fitted = _fitted(name)
    benchmark.group = f"{CASES[name].n_points} points"
    blocks = _blocks(fitted.X)
    result = _score_blocks(fitted.scorer, blocks, n_threads)
    np.testing.assert_array_equal(result, fitted.scorer.score_samples(fitted.X))
    # Scorers may move the points: later rounds score others, in the same time.
    benchmark(lambda: _score_blocks(fitted.scorer, blocks, n_threads))

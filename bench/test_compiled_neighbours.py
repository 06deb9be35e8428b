"""Time to score points by nearest neighbours, and to count those of a region."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from scipy.spatial import cKDTree
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from fastad._core.threads import points_at_once, thread_limit, thread_map
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.neighbours import Neighbourhood, Rule
from fastad.detectors.scorer import CompiledScorer

N_POINTS, D, N_TRAINING, K = 10**6, 5, 2_000, 5
KNN = "kNN region, 10^6 points of 5 features"
LOF = "LOF scores, 10^6 points of 5 features"

pytestmark = pytest.mark.benchmark(min_rounds=3, max_time=1, disable_gc=True)
SLOW = pytest.mark.benchmark(min_rounds=1, max_time=0)


class Case(NamedTuple):
    """A region of training points from N(0, 1): within it are 95 % of them."""

    training: npt.NDArray[np.float64]
    points: npt.NDArray[np.float64]
    search: Any
    threshold: float


@lru_cache(maxsize=1)
def _case() -> Case:
    rng = np.random.default_rng(0)
    training = rng.normal(size=(N_TRAINING, D))
    points = rng.uniform(training.min(axis=0), training.max(axis=0), size=(N_POINTS, D))
    search = NearestNeighbors(n_neighbors=K).fit(training)
    threshold = float(np.quantile(search.kneighbors(training)[0][:, -1], 0.95))
    return Case(training, points, search, threshold)


@lru_cache(maxsize=1)
def _factor() -> Any:
    return LocalOutlierFactor(novelty=True).fit(_case().training)


@lru_cache(maxsize=1)
def _blocks() -> list[npt.NDArray[np.float64]]:
    """Return the points as the volume of a region draws them: coordinate by coordinate."""
    points, step = _case().points, points_at_once(D)
    return [np.array(points[i : i + step].T, order="C") for i in range(0, N_POINTS, step)]


def _count(scorer: CompiledScorer, threshold: float) -> int:
    thresholds = np.array([threshold])

    def count(blocks: list[npt.NDArray[np.float64]]) -> int:
        counts = np.zeros(1, np.int64)
        for block in blocks:
            scorer.count_below(block, thresholds, counts, np.empty(block.shape[1]))
        return int(counts[0])

    with thread_limit(2):
        return sum(thread_map(count, [_blocks()[i::16] for i in range(16)]))


def test_region(benchmark: BenchmarkFixture) -> None:
    benchmark.group = KNN
    case = _case()
    scorer = compile_scorer(case.search)
    expected = np.count_nonzero(scorer.score_samples(case.points) < case.threshold)
    assert _count(scorer, case.threshold) == expected
    benchmark(lambda: _count(scorer, case.threshold))


@SLOW
def test_region_of_scikit_learn(benchmark: BenchmarkFixture) -> None:
    benchmark.group = KNN
    case = _case()
    distances = benchmark(lambda: case.search.kneighbors(case.points)[0])
    expected = np.count_nonzero(distances[:, -1] < case.threshold)
    assert _count(compile_scorer(case.search), case.threshold) == expected


@SLOW
def test_region_of_scipy(benchmark: BenchmarkFixture) -> None:
    benchmark.group = KNN
    case = _case()
    tree = cKDTree(case.training)
    distances, _ = benchmark(lambda: tree.query(case.points, k=K, workers=2))
    # SciPy adds up squares in another order.
    close = 1e-9 * case.threshold
    count = _count(compile_scorer(case.search), case.threshold)
    assert np.count_nonzero(distances[:, -1] < case.threshold - close) <= count
    assert count <= np.count_nonzero(distances[:, -1] < case.threshold + close)


def test_factors(benchmark: BenchmarkFixture) -> None:
    benchmark.group = LOF
    scorer = compile_scorer(_factor())
    benchmark(lambda: scorer.score_samples(_case().points, n_threads=2))


@SLOW
def test_factors_of_scikit_learn(benchmark: BenchmarkFixture) -> None:
    benchmark.group = LOF
    result = benchmark(lambda: _factor().score_samples(_case().points))
    scores = compile_scorer(_factor()).score_samples(_case().points)
    np.testing.assert_allclose(scores, -result, rtol=1e-9)


@pytest.mark.parametrize("n", [40_000, 452_000])
@SLOW
def test_duplicates(benchmark: BenchmarkFixture, n: int) -> None:
    """Nearly all places are tied: three features of few values."""
    benchmark.group = f"LOF of k = 20 fitted on {n} rows with duplicates"
    X = np.floor(np.random.default_rng(0).exponential(3.0, size=(n, 3)))
    assert np.unique(X, axis=0).shape[0] < n / 10
    benchmark(lambda: Neighbourhood(X, [Rule("lof", 20)]))

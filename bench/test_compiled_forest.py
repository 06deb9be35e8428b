"""Time to score a million points of 5 features with an isolation forest of 100 trees."""

from functools import lru_cache
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn.ensemble import IsolationForest

from fastad.detectors.compilation import compile_scorer
from fastad.detectors.scorer import CompiledScorer

N_TRAINING, N_POINTS, N_FEATURES = 2_000, 1_000_000, 5
FLAGGED = (0.5, 0.1, 0.01)  # fractions of the points

pytestmark = pytest.mark.benchmark(min_rounds=3, max_time=1, disable_gc=True)


@lru_cache(maxsize=2)
def _case(max_samples: int) -> tuple[Any, CompiledScorer, npt.NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    training = rng.normal(size=(N_TRAINING, N_FEATURES))
    forest = IsolationForest(max_samples=max_samples, random_state=0).fit(training)
    points = rng.uniform(training.min(axis=0), training.max(axis=0), (N_POINTS, N_FEATURES))
    return forest, compile_scorer(forest), points


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("max_samples", [256, 2000])
def test_forest(benchmark: BenchmarkFixture, max_samples: int, n_threads: int) -> None:
    _, scorer, points = _case(max_samples)
    scorer.score_samples(points[:1])
    benchmark(lambda: scorer.score_samples(points, n_threads=n_threads))


@pytest.mark.benchmark(min_rounds=1, max_time=0)
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("max_samples", [256, 2000])
def test_forest_of_scikit_learn(
    benchmark: BenchmarkFixture, max_samples: int, n_threads: int
) -> None:
    forest, scorer, points = _case(max_samples)
    some = points[:100_000]
    np.testing.assert_array_equal(scorer.score_samples(some), -forest.score_samples(some))
    with joblib.parallel_config("threading", n_jobs=n_threads):
        benchmark(lambda: forest.score_samples(points))


@pytest.mark.parametrize("flagged", FLAGGED)
def test_forest_below_a_threshold(benchmark: BenchmarkFixture, flagged: float) -> None:
    """One thread: the blocks that `count_below` sees, without the threads over them."""
    forest, scorer, points = _case(256)
    benchmark.group = f"10^5 points, those below the threshold of the {flagged:.0%} highest"
    some = points[:100_000]
    threshold = np.quantile(scorer.score_samples(some), [1 - flagged])
    blocks = [np.ascontiguousarray(part.T) for part in np.array_split(some, 100)]
    scores = np.empty(blocks[0].shape[1])

    def count() -> int:
        counts = np.zeros(1, np.int64)
        for block in blocks:
            scorer.count_below(block, threshold, counts, scores)
        return int(counts[0])

    assert count() == np.count_nonzero(-forest.score_samples(some) < threshold[0])
    benchmark(count)

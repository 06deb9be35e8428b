"""Time of comparisons of many models against loops over NumPy and SciPy.

The loops take too long to run whole: they compare a part of the pairs, or a part of the data sets,
and the table divides their times by ``extra_info["fraction"]``. Results agree on that part before
anything is timed.
"""

from functools import lru_cache
from itertools import combinations, islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from scipy import special, stats

import fastad
from fastad.benchmarking.pairwise_tests.pairs import PairwiseTests, compare_pairs, pair_p_values

Floats = npt.NDArray[np.float64]

N_MODELS, N_FOLDS, N_LEVELS = 1000, 10, 100
N_PAIRS = N_MODELS * (N_MODELS - 1) // 2
SOME_PAIRS = 2000
LABELS = ("auc", "auc_w", "ap", "auc@0.05", "tpr@0.05", "precision@p0.05", "f1@0.05")

pytestmark = pytest.mark.benchmark(min_rounds=1, max_time=2, warmup=False, disable_gc=True)


@lru_cache
def runs() -> Floats:
    """Curves of 1 000 models on 10 folds at 100 levels."""
    rng = np.random.default_rng(0)
    quality = rng.uniform(0.3, 0.9, (N_MODELS, 1, 1))
    return quality + rng.normal(0, 0.05, (N_MODELS, N_FOLDS, N_LEVELS)).cumsum(axis=2) / 10


def pairs_by_fastad() -> PairwiseTests:
    """All pairs, all criteria, all corrections."""
    return compare_pairs(runs(), alpha=0.05)


def pairs_by_scipy() -> Floats:
    """Welch's test of some pairs, one after the other, each at all levels at once."""
    values = runs()
    return np.array(
        [
            stats.ttest_ind(values[i], values[j], equal_var=False).pvalue
            for i, j in islice(combinations(range(N_MODELS), 2), SOME_PAIRS)
        ]
    )


def pairs_by_numpy() -> Floats:
    """The same with the least that NumPy needs."""
    values = runs()
    means, squares = values.mean(axis=1), values.var(axis=1, ddof=1) / N_FOLDS
    results = []
    for i, j in islice(combinations(range(N_MODELS), 2), SOME_PAIRS):
        total = squares[i] + squares[j]
        t = (means[i] - means[j]) / np.sqrt(total)
        nu = total**2 / ((squares[i] ** 2 + squares[j] ** 2) / (N_FOLDS - 1))
        results.append(2 * special.stdtr(nu, -np.abs(t)))
    return np.array(results)


def test_loops_agree() -> None:
    np.testing.assert_allclose(pairs_by_numpy(), pairs_by_scipy(), rtol=1e-9)
    # The first pairs are those of the first model.
    expected = pairs_by_numpy()[: N_MODELS - 1, 3]
    np.testing.assert_allclose(pair_p_values(runs()[:, :, 3])[0, 1:], expected, rtol=1e-9)


@pytest.mark.parametrize("how", [pairs_by_fastad, pairs_by_scipy, pairs_by_numpy])
def test_all_pairs(benchmark: BenchmarkFixture, how: Any) -> None:
    fraction = 1.0 if how is pairs_by_fastad else SOME_PAIRS / N_PAIRS
    benchmark.group = f"{N_MODELS} models x {N_FOLDS} folds x {N_LEVELS} levels, all pairs"
    benchmark.extra_info["fraction"] = fraction
    benchmark(how)


def test_counts_of_many_models(benchmark: BenchmarkFixture) -> None:
    rng = np.random.default_rng(1)
    values = rng.uniform(0.3, 0.9, (10_000, 1, 1)) + rng.normal(0, 0.05, (10_000, 10, 2))
    benchmark.group = "10 000 models x 10 folds, counts at 2 of 100 levels"
    benchmark.extra_info["fraction"] = 0.02
    benchmark(lambda: compare_pairs(values, alpha=0.05))


@lru_cache
def table(n_datasets: int) -> fastad.ResultTable:
    """Measures of 500 models."""
    rng = np.random.default_rng(2)
    quality = rng.uniform(0.3, 0.9, (n_datasets, 500))
    return fastad.ResultTable.from_arrays(
        {label: quality + rng.normal(0, 0.1, quality.shape) for label in LABELS}
    )


def kendall_by_scipy(n_datasets: int) -> Floats:
    """Kendall's tau of every two measures on every data set."""
    result = table(n_datasets)
    return np.array(
        [
            [
                stats.kendalltau(result.means(a)[i], result.means(b)[i]).statistic
                for a, b in combinations(LABELS, 2)
            ]
            for i in range(n_datasets)
        ]
    )


def test_kendall_agrees() -> None:
    upper = np.triu_indices(len(LABELS), 1)
    result = fastad.benchmarking.kendall_matrix(table(5), rng=0).by_dataset[:, upper[0], upper[1]]
    np.testing.assert_allclose(result, kendall_by_scipy(5), rtol=1e-12)


@pytest.mark.parametrize("how", ["fastad", "scipy"])
def test_kendall(benchmark: BenchmarkFixture, how: str) -> None:
    benchmark.group = "Kendall's tau, 1 000 data sets x 500 models x 7 measures"
    if how == "fastad":
        result = table(1000)
        benchmark(lambda: fastad.benchmarking.kendall_matrix(result, rng=0))
    else:
        benchmark.extra_info["fraction"] = 0.005
        benchmark(lambda: kendall_by_scipy(5))


def test_selection_loss(benchmark: BenchmarkFixture) -> None:
    benchmark.group = "selection loss, 1 000 data sets x 500 models x 7 measures"
    result = table(1000)
    benchmark(lambda: fastad.benchmarking.selection_loss(result, rng=0))

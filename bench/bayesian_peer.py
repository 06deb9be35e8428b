"""Bayesian tests of fastad beside baycomp's, on the same tables.

``python -m bench.bayesian_peer`` prints the largest difference of a probability, its Monte Carlo
error, and seconds. baycomp's hierarchical test needs Stan, which is not installed; its test for one
data set is the corrected t-test, whose posterior is Student's distribution.
"""

from time import perf_counter

import baycomp
import numpy as np

from fastad import ResultTable
from fastad.benchmarking import bayesian_signed_rank, resampled_t_test

N_DRAWS, N_TABLES = 50_000, 10
ROPES = (0.0, 0.01, 0.03)


def signed_rank() -> None:
    """Compare four detectors on twenty data sets, of ten tables."""
    largest, ours, theirs = 0.0, 0.0, 0.0
    for seed in range(N_TABLES):
        values = np.random.default_rng(seed).normal([0.9, 0.89, 0.88, 0.85], 0.03, (20, 4))
        table = ResultTable.from_arrays({"auc": values})
        for rope in ROPES:
            start = perf_counter()
            result = bayesian_signed_rank(table, rope=rope, n_draws=N_DRAWS, rng=seed)
            ours += perf_counter() - start
            columns = [int(name) for name in result.detectors]
            for i in range(4):
                for j in range(i + 1, 4):
                    start = perf_counter()
                    first, second = values[:, columns[i]], values[:, columns[j]]
                    posterior = baycomp.SignedRankTest(
                        first, second, rope, nsamples=N_DRAWS, random_state=seed
                    )
                    expected = posterior.probs()
                    theirs += perf_counter() - start
                    three = result.p_better, result.p_equivalent, result.p_worse
                    found = [matrix[i, j] for matrix in three]
                    largest = max(largest, float(np.max(np.abs(np.subtract(found, expected)))))
    error = 0.5 * np.sqrt(2 / N_DRAWS)
    n_pairs = 6 * N_TABLES * len(ROPES)
    print(f"signed ranks: {largest:.4f} at most, of {n_pairs} pairs; standard error {error:.4f}")
    print(f"seconds: {ours:.2f}, baycomp {theirs:.2f}")


def correlated_t() -> None:
    """Compare two detectors on ten folds: the p-value is twice the smaller tail."""
    largest = 0.0
    for seed in range(N_TABLES):
        values = np.random.default_rng(seed).normal([[0.9], [0.88]], 0.03, (1, 2, 10))
        test = resampled_t_test(ResultTable.from_arrays({"auc": values}), test_fraction=0.1)
        left, right = baycomp.CorrelatedTTest(values[0, 1], values[0, 0], 0).probs()
        largest = max(largest, abs(2 * min(left, right) - float(test.p_values[0])))
    print(f"correlated t: {largest:.2g} at most")


if __name__ == "__main__":
    signed_rank()
    correlated_t()

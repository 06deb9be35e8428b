"""Intervals of ranks beside those of csranks, the R package of the method's authors.

``python -m bench.csranks_peer`` needs ``Rscript`` with csranks, or with MASS and the folder of
csranks's R files as an argument. csranks is given the values and their covariance, which the paper
takes for normal; `score_rank_intervals` differs from it by Student's distribution, and
`rank_intervals` by random signs in place of an estimated covariance of data sets.
"""

import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import numpy.typing as npt

from fastad import ResultTable
from fastad.benchmarking import RankIntervals, rank_intervals, score_rank_intervals
from fastad.benchmarking.rank_inference import largest_differences, step_down
from fastad.uncertainty import delong_covariance

Floats = npt.NDArray[np.float64]
Bounds = npt.NDArray[np.int64]

N_TABLES, N_DETECTORS, N_RESAMPLES = 20, 10, 4999
# Anomalies and normal samples.
N_SAMPLES = (500, 2000)
SCRIPT = """
csranks_simul <- NULL
if (length(args) > 1) for (file in list.files(args[2], full.names = TRUE)) source(file)
if (is.null(csranks_simul)) csranks_simul <- csranks:::csranks_simul
for (file in list.files(args[1], full.names = TRUE)) {
  table <- unname(as.matrix(read.csv(file, header = FALSE)))
  result <- csranks_simul(table[1, ], table[-1, ], R = %d, seed = %d)
  cat(result$L, result$U, "\\n")
}
"""


def csranks(tables: list[tuple[Floats, Floats]], sources: list[str], seed: int = 1) -> list[Bounds]:
    """Return the lower and upper ends of csranks, given values and covariances of tables."""
    with TemporaryDirectory() as folder:
        for i, (values, covariance) in enumerate(tables):
            np.savetxt(Path(folder) / f"{i:03}.csv", [values, *covariance], "%.17g", ",")
        code = f"args <- commandArgs(TRUE)\n{SCRIPT % (N_RESAMPLES, seed)}"
        command = ["Rscript", "-e", code, folder, *sources]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [np.array(line.split(), np.int64).reshape(2, -1) for line in lines.splitlines()]


def normal_steps(values: Floats, covariance: Floats, rng: np.random.Generator) -> Bounds:
    """Return the ends of fastad's steps with csranks's normal distribution."""
    k = len(values)
    sums = rng.multivariate_normal(np.zeros(k), covariance, N_RESAMPLES).T.copy()
    variances = np.add.outer(np.diag(covariance), np.diag(covariance)) - 2 * covariance
    inverses = np.zeros((k, k))
    inverses[~np.eye(k, dtype=bool)] = variances[~np.eye(k, dtype=bool)] ** -0.5
    statistics = (values[:, np.newaxis] - values) * inverses
    largest_of = partial(largest_differences, sums)
    better = step_down(statistics, inverses, largest_of, N_RESAMPLES, 0.05)
    return np.array([1 + better.sum(axis=0), k - better.sum(axis=1)])


def bounds(result: RankIntervals) -> Bounds:
    """Return both ends in the order of the detectors' numbers."""
    order = np.argsort([int(name) for name in result.detectors])
    return np.array([result.low, result.high])[:, order]


def compare(what: str, ours: list[Bounds], theirs: list[Bounds]) -> None:
    """Print how many ends differ, by how much at most, and mean lengths."""
    change = np.array(ours) - np.array(theirs)
    lengths = [float(np.mean(np.diff(each, axis=1))) for each in (np.array(ours), np.array(theirs))]
    print(
        f"{what}: {np.count_nonzero(change)} of {change.size} ends differ, by "
        f"{np.abs(change).max()} at most; mean lengths {lengths[0]:.2f}, csranks {lengths[1]:.2f}"
    )


def main() -> None:
    """Compare scores on one data set, and tables of 20, 40 and 200 data sets."""
    sources, rng = sys.argv[1:], np.random.default_rng(0)
    labels = np.repeat([1, 0], N_SAMPLES)
    tables, ours = [], []
    for _ in range(N_TABLES):
        shifts = np.linspace(0.9, 1.5, N_DETECTORS)[:, np.newaxis] * labels
        noise = rng.normal(size=(N_DETECTORS, len(labels))) + rng.normal(size=len(labels))
        scores = {str(i): each for i, each in enumerate(shifts + noise)}
        covariance = delong_covariance(labels, scores)
        tables.append((covariance.values, covariance.matrix))
        result = score_rank_intervals(
            labels, scores, measure="auc", n_resamples=N_RESAMPLES, rng=rng
        )
        ours.append(bounds(result))
    compare("scores", ours, csranks(tables, sources))
    for n in (20, 40, 200):
        tables, ours, seconds = [], [], 0.0
        for _ in range(N_TABLES):
            values = rng.normal(size=(n, N_DETECTORS)) + np.linspace(0, 2, N_DETECTORS)
            tables.append((values.mean(axis=0), np.cov(values.T) / n))
            start = perf_counter()
            table = ResultTable.from_arrays({"auc": values})
            ours.append(bounds(rank_intervals(table, n_resamples=N_RESAMPLES, rng=rng)))
            seconds += perf_counter() - start
        start = perf_counter()
        theirs = csranks(tables, sources)
        compare(f"{n} data sets", ours, theirs)
        print(f"seconds: {seconds:.2f}, csranks with R's start {perf_counter() - start:.2f}")
        steps = [normal_steps(*each, rng) for each in tables]
        compare("the same normal distribution", steps, theirs)
        compare("csranks with another seed", csranks(tables, sources, 2), theirs)


if __name__ == "__main__":
    main()

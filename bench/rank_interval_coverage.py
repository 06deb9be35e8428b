"""How often intervals of ranks cover all ranks of 50 detectors: the table in the docs.

``python -m bench.rank_interval_coverage`` writes ``docs/evidence/rank_intervals.csv``, and times a
table of 500 detectors on 200 data sets.
"""

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
import numpy.typing as npt

from bench.pages import EVIDENCE, write_rows
from fastad import ResultTable
from fastad.benchmarking import RankIntervals, rank_intervals
from fastad.benchmarking.rank_inference import RankedBy
from fastad.benchmarking.ranks import rank_rows

Floats = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, int]], Floats]

TABLE = EVIDENCE / "rank_intervals.csv"
N_DETECTORS, N_SAMPLES, N_RESAMPLES, N_NORMAL = 50, 1000, 999, 300
N_DATASETS, FEW_DETECTORS = (10, 40), (2, 8)
# Means of the detectors, in standard deviations of their noise.
MEANS: dict[str, Floats] = {
    "all equal": np.zeros(N_DETECTORS),
    "near ties": np.repeat(np.linspace(0.0, 0.8, 5), N_DETECTORS // 5),
    "evenly spaced": np.linspace(0.0, 4.9, N_DETECTORS),
    "one is better": np.append(2.0, np.zeros(N_DETECTORS - 1)),
}
# Fraction of the cells that are missing in a table of its own.
_MISSING = 0.005


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Equal variances, and a part that detectors share on a data set."""
    values: Floats = rng.normal(size=shape) + 3 * rng.normal(size=(shape[0], 1))
    return values


def unequal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Every second detector varies five times as much."""
    return normal(rng, shape) * np.where(np.arange(shape[1]) % 2, 5.0, 1.0)


def heavy_tailed(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Student's distribution with three degrees of freedom."""
    values: Floats = rng.standard_t(3, size=shape)
    return values


def skewed(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Lognormal noise, about its mean, of one size."""
    values: Floats = rng.lognormal(size=shape) - np.exp(0.5)
    return values


def skewed_unequal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """The same where every second detector varies five times as much."""
    return skewed(rng, shape) * np.where(np.arange(shape[1]) % 2, 5.0, 1.0)


def exponential_unequal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Exponential noise where every second detector varies five times as much."""
    values: Floats = rng.exponential(size=shape) - 1
    return values * np.where(np.arange(shape[1]) % 2, 5.0, 1.0)


NOISES: tuple[Noise, ...] = (
    normal,
    unequal,
    heavy_tailed,
    skewed,
    skewed_unequal,
    exponential_unequal,
)


def mean_ranks(noise: Noise) -> Floats:
    """Return merits of equal means by their mean ranks: each second detector has the same one."""
    ranks = rank_rows(noise(np.random.default_rng(0), (20_000, N_DETECTORS))).mean(axis=0)
    merits: Floats = -ranks.reshape(-1, 2).mean(axis=0)[np.arange(N_DETECTORS) % 2]
    return merits


def coverage(
    noise: Noise, means: Floats, n_datasets: int, missing: float, ranked_by: RankedBy = "mean_value"
) -> dict[str, str]:
    """Return how often all ranks are covered, mean lengths, and how often a note says skewed.

    By mean rank the noise has the means, which are those of ranks.
    """
    n_detectors = len(means)
    rng = np.random.default_rng([n_datasets, NOISES.index(noise), int(1000 * missing)])
    # A rank with ties is any between those of fewer and of as many better ones.
    least = 1 + np.count_nonzero(means > means[:, np.newaxis], axis=1)
    most = np.count_nonzero(means >= means[:, np.newaxis], axis=1)
    covered, length, noted = 0, 0.0, 0
    for _ in range(N_SAMPLES):
        values = noise(rng, (n_datasets, n_detectors))
        values += means * (ranked_by == "mean_value")
        values[rng.random(values.shape) < missing] = np.nan
        ranks = rank_intervals(
            ResultTable.from_arrays({"auc": values}),
            ranked_by=ranked_by,
            n_resamples=N_RESAMPLES,
            rng=rng,
        )
        order = np.array([int(name) for name in ranks.detectors])
        covered += bool(np.all((ranks.low <= least[order]) & (most[order] <= ranks.high)))
        length += float(np.mean(ranks.high - ranks.low))
        noted += any("are skewed" in note for note in ranks.notes)
    return {
        "coverage": f"{covered / N_SAMPLES:.3f}",
        "length": f"{length / N_SAMPLES:.1f}",
        "noted": f"{noted / N_SAMPLES:.3f}",
    }


def normal_bootstrap(n_datasets: int) -> float:
    """Return how often equal detectors are covered by normal numbers of the estimated covariance.

    The first step of the procedure, which any error needs.
    """
    rng, covered = np.random.default_rng(n_datasets), 0
    first, second = np.triu_indices(N_DETECTORS, 1)
    for _ in range(N_NORMAL):
        values = normal(rng, (n_datasets, N_DETECTORS))
        means = values.mean(axis=0)
        errors = (values - means) / np.sqrt(n_datasets * (n_datasets - 1))
        scale = np.sqrt(np.sum((errors[:, first] - errors[:, second]) ** 2, axis=0))
        drawn = rng.normal(size=(N_RESAMPLES, n_datasets)) @ errors
        largest = np.max(np.abs(drawn[:, first] - drawn[:, second]) / scale, axis=1)
        observed = np.max(np.abs(means[first] - means[second]) / scale)
        covered += bool(observed <= np.quantile(largest, 0.95))
    return covered / N_NORMAL


def leaderboard() -> RankIntervals:
    """Return the ranks of 180 detectors on 57 data sets, as close as those of a leaderboard."""
    rng = np.random.default_rng(0)
    strengths, difficulties = rng.normal(0.75, 0.05, 180), rng.normal(0, 0.1, (57, 1))
    values = np.clip(strengths + difficulties + rng.normal(0, 0.06, (57, 180)), 0, 1)
    return rank_intervals(ResultTable.from_arrays({"auc": values}), n_resamples=10_000, rng=0)


def seconds() -> float:
    """Return the time of 500 detectors on 200 data sets with 10 000 replicates."""
    values = np.random.default_rng(0).normal(size=(200, 500)) + np.linspace(0, 1, 500)
    table = ResultTable.from_arrays({"auc": values})
    rank_intervals(table, n_resamples=200, rng=0)
    start = perf_counter()
    rank_intervals(table, n_resamples=10_000, rng=0)
    return perf_counter() - start


def main() -> None:
    """Measure all cells, write them, and print the time of a large table."""
    rows: list[dict[str, object]] = []
    for noise in NOISES:
        for name, means in MEANS.items():
            for n in N_DATASETS:
                for missing in (0.0, _MISSING) if n == max(N_DATASETS) else (0.0,):
                    row = {"noise": noise.__name__, "means": name, "n_datasets": n}
                    row |= {"n_detectors": N_DETECTORS, "missing": missing, "n_tables": N_SAMPLES}
                    rows.append(row | coverage(noise, means, n, missing))
                    print(*rows[-1].values(), file=sys.stderr, flush=True)
    for noise in (normal, skewed_unequal, exponential_unequal):
        for n_detectors in FEW_DETECTORS:
            for n in N_DATASETS:
                row = {"noise": noise.__name__, "means": "all equal", "n_datasets": n}
                row |= {"n_detectors": n_detectors, "missing": 0.0, "n_tables": N_SAMPLES}
                rows.append(row | coverage(noise, np.zeros(n_detectors), n, 0.0))
    merits = mean_ranks(skewed_unequal)
    for n in N_DATASETS:
        row = {"noise": "skewed_unequal", "means": "all equal, by mean rank", "n_datasets": n}
        row |= {"n_detectors": N_DETECTORS, "missing": 0.0, "n_tables": N_SAMPLES}
        rows.append(row | coverage(skewed_unequal, merits, n, 0.0, "mean_rank"))
    write_rows(TABLE, rows)
    for n in N_DATASETS:
        print(f"normal bootstrap, {n} data sets: {normal_bootstrap(n):.1%}")
    print(leaderboard().summary)
    print(f"{seconds():.2f} seconds for 500 detectors on 200 data sets")


if __name__ == "__main__":
    main()

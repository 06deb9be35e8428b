"""How often the interval of Kendall's W covers the true concordance: the table in the docs.

``python -m bench.concordance_coverage`` writes ``docs/evidence/concordance.csv``, in a quarter of
an hour, and prints the lowest coverage of each model and number of data sets.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.pages import EVIDENCE, table, write_rows
from fastad.benchmarking.concordance_interval import MIN_DATASETS, concordance_interval
from fastad.benchmarking.ranks import rank_rows

Floats = npt.NDArray[np.float64]
# Values of detectors on data sets, by the strength of the concordance.
Model = Callable[[np.random.Generator, tuple[int, int], float], Floats]

TABLE = EVIDENCE / "concordance.csv"
N_DATASETS = (3, 4, 5, 6, 8, 12, 20, 30)
N_DETECTORS = (3, 6, 20)
CONCORDANCES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.9)
N_SAMPLES = 1000
# Data sets behind each true value, and steps towards the strength that gives it.
N_TRUE, N_STEPS = 100_000, 20
HEAD = ["model", "n_detectors", "concordance", "n_datasets", "coverage", "width"]


def _means(n_detectors: int) -> Floats:
    return np.linspace(1, -1, n_detectors)


def gaussian(rng: np.random.Generator, shape: tuple[int, int], strength: float) -> Floats:
    """Evenly spaced means, and normal noise."""
    return strength * _means(shape[1]) + rng.normal(size=shape)


def heavy_tailed(rng: np.random.Generator, shape: tuple[int, int], strength: float) -> Floats:
    """The same with noise of Student's distribution with 1.5 degrees of freedom."""
    return strength * _means(shape[1]) + rng.standard_t(1.5, shape)


def tied(rng: np.random.Generator, shape: tuple[int, int], strength: float) -> Floats:
    """The first, rounded so that many are tied."""
    return np.asarray(np.floor(gaussian(rng, shape, strength) / 1.5), np.float64)


def two_levels(rng: np.random.Generator, shape: tuple[int, int], strength: float) -> Floats:
    """Half of the detectors good, half bad."""
    level: Floats = np.where(_means(shape[1]) > 0, 1.0, -1.0)
    return strength * level + rng.normal(size=shape)


def one_better(rng: np.random.Generator, shape: tuple[int, int], strength: float) -> Floats:
    """One detector better than all others, which are equally good."""
    best: Floats = np.where(_means(shape[1]) == 1, 1.0, 0.0)
    return strength * best + rng.normal(size=shape)


def unequal_noise(rng: np.random.Generator, shape: tuple[int, int], strength: float) -> Floats:
    """Every second detector varies fifteen times as much."""
    spread = np.where(np.arange(shape[1]) % 2, 0.2, 3.0)
    return strength * _means(shape[1]) + spread * rng.normal(size=shape)


def some_random(rng: np.random.Generator, shape: tuple[int, int], strength: float) -> Floats:
    """One order on some data sets, any order on the others."""
    same = rng.random((shape[0], 1)) < strength
    return np.where(same, _means(shape[1]), rng.normal(size=shape))


def two_kinds(rng: np.random.Generator, shape: tuple[int, int], strength: float) -> Floats:
    """One order on some data sets, the opposite one on the others."""
    same = rng.random((shape[0], 1)) < (1 + strength) / 2
    return np.where(same, 1.0, -1.0) * _means(shape[1])


# The largest strength of each.
MODELS: dict[Model, float] = {
    gaussian: 100,
    heavy_tailed: 1000,
    tied: 100,
    two_levels: 100,
    one_better: 100,
    unequal_noise: 100,
    some_random: 1,
    two_kinds: 1,
}


def deviations(values: Floats) -> npt.NDArray[np.int64]:
    """Return twice the deviations of ranks from their mean."""
    ranks: Floats = 2 * rank_rows(values) - (values.shape[1] + 1)
    return ranks.astype(np.int64)


def concordance(model: Model, n_detectors: int, strength: float) -> float:
    """Return the concordance of infinitely many data sets, from many."""
    rng = np.random.default_rng(5)
    ranks = deviations(model(rng, (N_TRUE, n_detectors), strength)).astype(np.float64)
    length = float(np.sum(ranks**2))
    if length == 0:
        return 1.0
    # Without what W exceeds it by.
    return max((float(np.sum(ranks.sum(axis=0) ** 2)) - length) / ((N_TRUE - 1) * length), 0.0)


def strength_of(model: Model, n_detectors: int, target: float) -> tuple[float, float] | None:
    """Return a strength that gives a concordance, and that; None where there is none."""
    if target == 0:
        return 0.0, 0.0
    low, high = 0.0, MODELS[model]
    if concordance(model, n_detectors, high) < target:
        return None
    for _ in range(N_STEPS):
        middle = (low + high) / 2 if high <= 1 else np.sqrt(max(low, 1e-3) * high)
        if concordance(model, n_detectors, middle) < target:
            low = middle
        else:
            high = middle
    return high, concordance(model, n_detectors, high)


def coverage(
    model: Model, n_detectors: int, strength: float, truth: float, n_datasets: int
) -> tuple[float, float]:
    """Return the fraction of samples whose interval covers the truth, and its mean width."""
    rng = np.random.default_rng([n_datasets, n_detectors, list(MODELS).index(model)])
    clusters, covered = np.arange(n_datasets), 0
    widths: list[float] = []
    while len(widths) < N_SAMPLES:
        ranks = deviations(model(rng, (n_datasets, n_detectors), strength))
        if ranks.any():  # else there is no test
            low, high = concordance_interval(ranks, clusters, 0.95)
            # Truths come from many data sets, of which the last digits are chance.
            covered += low <= truth + 1e-3 and truth - 1e-3 <= high
            widths.append(high - low)
    return covered / N_SAMPLES, float(np.mean(widths))


def print_lowest(rows: Sequence[Mapping[str, Any]], form: str) -> None:
    """Print the lowest coverage of each model and number of data sets."""
    lowest: dict[str, dict[int, float]] = {}
    for row in rows:
        of_model = lowest.setdefault(row["model"], {})
        n, covers = row["n_datasets"], float(row["coverage"])
        of_model[n] = min(of_model.get(n, 1.0), covers)
    lines = [[name, *(format(x, form) for x in each.values())] for name, each in lowest.items()]
    print(table(["data sets", *map(str, next(iter(lowest.values())))], lines))


def main() -> None:
    """Measure all cells, write them, and print the lowest coverages."""
    assert min(N_DATASETS) == MIN_DATASETS
    rows = []
    for model, n_detectors, target in product(MODELS, N_DETECTORS, CONCORDANCES):
        result = strength_of(model, n_detectors, target)
        if result is None:
            continue
        for n in N_DATASETS:
            covers, width = coverage(model, n_detectors, *result, n)
            row = (model.__name__, n_detectors, target, n, f"{covers:.3f}", f"{width:.2f}")
            rows.append(dict(zip(HEAD, row, strict=True)))
        write_rows(TABLE, rows)
    print_lowest(rows, ".2f")


if __name__ == "__main__":
    main()

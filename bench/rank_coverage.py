"""How often intervals of mean ranks cover the true ones: the table in the docs.

``python -m bench.rank_coverage`` writes ``docs/evidence/mean_ranks.csv``, in ten minutes, and
prints the lowest coverage of any detector by model and number of data sets.
"""

from itertools import product

import numpy as np

from bench import concordance_coverage as models
from bench.concordance_coverage import Floats, Model, print_lowest
from bench.pages import EVIDENCE, write_rows
from fastad.benchmarking.ranks import rank_rows
from fastad.benchmarking.resampling import check_resampling

TABLE = EVIDENCE / "mean_ranks.csv"
N_DATASETS = (3, 5, 8, 12, 20, 30)
N_DETECTORS = (2, 3, 10)
N_SAMPLES, N_RESAMPLES = 1000, 400
# Samples whose intervals are computed at once, and data sets behind each true value.
_BATCH, N_TRUE = 50, 100_000
HEAD = ["model", "strength", "n_detectors", "n_datasets", "coverage", "width"]


def wins_or_fails(rng: np.random.Generator, shape: tuple[int, int], strength: float) -> Floats:
    """One detector best on some data sets, last on the others."""
    values: Floats = rng.normal(size=shape)
    values[:, 0] = np.where(rng.random(shape[0]) < strength, np.inf, -np.inf)
    return values


def wins_or_not(rng: np.random.Generator, shape: tuple[int, int], strength: float) -> Floats:
    """One detector best on some data sets, like the others elsewhere."""
    values: Floats = rng.normal(size=shape)
    values[rng.random(shape[0]) < strength, 0] = np.inf
    return values


_EFFECTS, _FRACTIONS = (0.0, 0.5, 1.0, 3.0), (0.5, 0.8, 0.9, 0.95)
# The strengths of each.
MODELS: dict[Model, tuple[float, ...]] = {
    models.gaussian: _EFFECTS,
    models.heavy_tailed: _EFFECTS,
    models.tied: _EFFECTS,
    models.two_levels: _EFFECTS,
    models.one_better: _EFFECTS,
    models.unequal_noise: _EFFECTS,
    models.some_random: _FRACTIONS,
    models.two_kinds: _FRACTIONS,
    wins_or_fails: _FRACTIONS,
    wins_or_not: _FRACTIONS,
}


def true_ranks(model: Model, strength: float, n_detectors: int) -> Floats:
    """Return the mean ranks over infinitely many data sets, from many."""
    values = model(np.random.default_rng(5), (N_TRUE, n_detectors), strength)
    mean: Floats = rank_rows(values).mean(axis=0)
    return mean


def coverage(model: Model, strength: float, truth: Floats, n_datasets: int) -> tuple[float, float]:
    """Return the lowest coverage of any detector's mean rank, and the intervals' mean width."""
    n_detectors = len(truth)
    seeds = [n_datasets, n_detectors, list(MODELS).index(model), round(100 * strength)]
    rng = np.random.default_rng(seeds)
    # The last digits of the truth are chance.
    margin = 3 * (n_detectors - 1) / np.sqrt(N_TRUE)
    covered, width = np.zeros(n_detectors), 0.0
    for _ in range(N_SAMPLES // _BATCH):
        ranks = rank_rows(model(rng, (_BATCH * n_datasets, n_detectors), strength))
        samples = ranks.reshape(n_datasets, _BATCH, n_detectors)
        resampling = check_resampling(np.arange(n_datasets), 0.95, N_RESAMPLES, rng)
        means = resampling.bounded_means(samples, 1, n_detectors)
        covers = (means.low <= truth + margin) & (truth - margin <= means.high)
        covered += covers.sum(axis=0)
        width += float((means.high - means.low).mean(axis=1).sum())
    return float(covered.min()) / N_SAMPLES, width / N_SAMPLES


def main() -> None:
    """Measure all cells, write them, and print the lowest coverages."""
    rows = []
    for model, n_detectors in product(MODELS, N_DETECTORS):
        for strength, n in product(MODELS[model], N_DATASETS):
            truth = true_ranks(model, strength, n_detectors)
            covers, width = coverage(model, strength, truth, n)
            row = (model.__name__, strength, n_detectors, n, f"{covers:.3f}", f"{width:.2f}")
            rows.append(dict(zip(HEAD, row, strict=True)))
    write_rows(TABLE, rows)
    print_lowest(rows, ".0%")
    print(min(str(row["coverage"]) for row in rows))


if __name__ == "__main__":
    main()

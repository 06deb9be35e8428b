"""Measure the coverage of intervals, and the false positive rate of comparisons.

The first table is the one that ``method="auto"`` follows; `bench.coverage_page` puts both into the
documentation.

Normals come from N(0, 1), anomalies from N(mu, 1), with and without rounding to halves; the true
value is the measure on the distributions themselves. Every cell has its own fixed seeds, so that a
run gives the same table. Finished cells are kept: a run that was stopped continues.

    python -m bench.coverage [CELLS] [PROCESSES]
"""

import csv
import itertools
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

import fastad
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count
from fastad.uncertainty.bootstrap import Ranking, plan, replicate_values
from fastad.uncertainty.intervals import (
    IntervalOptions,
    Task,
    check_interval_options,
    estimate_interval,
)
from fastad.uncertainty.methods import RESAMPLING, methods_of

SIZES = (10, 30, 100, 1000)
AREAS = (0.7, 0.95, 0.99)
N_NORMALS = 1000
N_SEEDS = 400
N_RESAMPLES = 500
# Samples whose mean is the true value where a measure depends on their size by definition.
N_FOR_MEAN = 4000
DEPENDENT = {
    *("weighted_auc", "localized_auc", "beta_weighted_auc", "gaussian_weighted_auc"),
    "histogram_weighted_auc",
}
TABLE = Path(__file__).parent.parent / "fastad" / "uncertainty" / "coverage.csv"
COMPARISONS = Path(__file__).parent.parent / "docs" / "evidence" / "comparisons.csv"
COMPARED = ("auc", "auc@0.05", "ap", "tpr@0.05")
# Population samples for each one of a sample.
SCALE = 1000
RANGE = {"score_range": (-10, 10)}
# The threshold of the rates at a threshold.
THRESHOLD = {"threshold": 1.5}

Scores = npt.NDArray[np.float64]


class Cell(NamedTuple):
    """A setting of the generated data."""

    n_anomalies: int
    auc: float
    ties: bool

    @property
    def shift(self) -> float:
        """Mean of the anomalies' scores."""
        return float(math.sqrt(2) * ndtri(self.auc))

    def sample(self, seed: int) -> OrderedCounts:
        """Draw a sample."""
        rng = np.random.default_rng([seed, self.n_anomalies, round(100 * self.auc), self.ties])
        labels = np.arange(self.n_anomalies + N_NORMALS) < self.n_anomalies
        scores = rng.normal(self.shift * labels)
        return count(labels, np.round(2 * scores) / 2 if self.ties else scores)

    def population(self, *, whole: bool) -> OrderedCounts:
        """Return the distributions themselves as weights of many scores."""
        step = 0.5 if self.ties else 1e-4
        grid = np.arange(round(-9 / step), round(9 / step) + 1) * step
        ends = np.append(grid[:-1] + step / 2, np.inf)
        sizes = (N_NORMALS * SCALE, self.n_anomalies * SCALE)
        shifts = (0, self.shift)
        cumulative = [ndtr(ends - shift) * n for shift, n in zip(shifts, sizes, strict=True)]
        if whole:
            cumulative = [np.round(column) for column in cumulative]
        weights = np.concatenate([np.diff(column, prepend=0) for column in cumulative])
        if not whole:
            weights[weights < 1e-90] = 0
        labels = np.repeat([0, 1], grid.shape[0])
        return count(labels, np.tile(grid, 2), sample_weight=weights)


def measures(scale: int = 1) -> list[BoundMeasure]:
    """Return the measures, for a sample or for a population that many times its size."""
    labels: list[tuple[str, dict[str, Any]]] = [
        *((label, {}) for label in ("auc", "auc@0.05", "auc@tpr0.9", "ht_auc@0.2", "lf_auc@0.8")),
        *((label, {}) for label in ("ap", "auc_pr", "auc_prg", "auc_w", "eer", "np@0.05")),
        *((label, {}) for label in ("tpr@0.05", "fpr@tpr0.95", "precision@fpr0.05", "f1@0.05")),
        *((label, {}) for label in ("precision@p0.009", "precision@n", "recall@n", "f1_best")),
        *((label, {}) for label in ("recall@precision0.5", "cost_auc@2", "rp@90")),
        *((label, {}) for label in ("auc_local@0.05", "auc_beta@0.05")),
        *((label, {}) for label in ("auc_gauss@0.05", "auc_hist@0.05")),
        (f"rank_power@k{50 * scale}", {}),
        *((label, RANGE) for label in ("auc_rp", "auc_p", "auc_scored", "auc_smooth")),
        ("tpr", THRESHOLD),
    ]
    return [bind(label, options) for label, options in labels]


def true_values(cell: Cell) -> list[float]:
    """Return the true values; of areas whose weights depend on m they are the means."""
    populations = {whole: cell.population(whole=whole) for whole in (False, True)}
    values = []
    for bound in measures(SCALE):
        if bound.measure.name in DEPENDENT:
            seeds = range(N_SEEDS, N_SEEDS + N_FOR_MEAN)
            values.append(float(np.mean([bound.value(cell.sample(seed)) for seed in seeds])))
            continue
        try:
            values.append(bound.value(populations[bound.measure.weights == "whole"]))
        except UndefinedMeasureError:
            values.append(math.nan)
    return values


def measure(cell: Cell) -> list[dict[str, Any]]:
    """Return the rows of a cell."""
    true = true_values(cell)
    cases: dict[tuple[int, str], list[tuple[bool, float]]] = {}
    for seed in range(N_SEEDS):
        counts = cell.sample(seed)
        options = check_interval_options("auto", 0.95, N_RESAMPLES, seed)
        for (i, method), interval in intervals(counts, options).items():
            covers = interval[0] <= true[i] <= interval[1]
            cases.setdefault((i, method), []).append((covers, interval[1] - interval[0]))
    bound = measures()
    return [
        {
            "measure": bound[i].measure.name,
            "method": method,
            "n_anomalies": cell.n_anomalies,
            "auc": cell.auc,
            "ties": "yes" if cell.ties else "no",
            "defined": len(results),
            "coverage": round(float(np.mean([covers for covers, _ in results])), 4),
            "width": float(f"{np.mean([width for _, width in results]):.4g}"),
        }
        for (i, method), results in cases.items()
        if math.isfinite(true[i]) and 2 * len(results) >= N_SEEDS
    ]


def intervals(
    counts: OrderedCounts, options: IntervalOptions
) -> dict[tuple[int, str], tuple[float, float]]:
    """Return the intervals of all measures by all their methods."""
    defined = {}
    for i, bound in enumerate(measures()):
        try:
            defined[i] = bound, bound.value(counts)
        except UndefinedMeasureError:
            continue
    resamples = plan(counts, options.n_resamples, options.key, stratified=options.stratified)
    replicates_of_all = replicate_values(
        Ranking(counts), [bound for bound, _ in defined.values()], resamples
    )
    ends = {}
    for (i, (bound, value)), replicates in zip(defined.items(), replicates_of_all, strict=True):
        for method in methods_of(bound):
            used = replicates if method in RESAMPLING else None
            interval = estimate_interval(counts, Task(bound, value, method), options, used)
            if not isinstance(interval, UndefinedMeasureError):
                ends[i, method] = interval.low, interval.high
    return ends


def false_positives(n_anomalies: int) -> list[dict[str, Any]]:
    """Return how often each method finds a significant difference between equal detectors."""
    labels = np.arange(n_anomalies + N_NORMALS) < n_anomalies
    found: dict[tuple[str, str], list[bool]] = {}
    for seed in range(N_SEEDS):
        rng = np.random.default_rng([seed, n_anomalies])
        # A part that the two have in common, and one of each.
        common = rng.normal(size=labels.shape[0]) + 2 * labels
        a, b = common + rng.normal(size=(2, labels.shape[0]))
        for measure in COMPARED:
            for method in ("delong", "bootstrap", "permutation"):
                if method == "delong" and measure.startswith("tpr"):
                    continue
                comparison = fastad.compare(
                    labels, a, b, measure=measure, method=method, n_resamples=N_RESAMPLES, rng=seed
                )
                found.setdefault((measure, method), []).append(comparison.is_significant)
    return [
        {
            "measure": measure,
            "method": method,
            "n_anomalies": n_anomalies,
            "wrong": round(float(np.mean(wrong)), 4),
        }
        for (measure, method), wrong in found.items()
    ]


def main(n_cells: int | None = None, n_processes: int = 2) -> None:
    """Measure the cells that are lacking, and write the table."""
    os.environ["FASTAD_NUM_THREADS"] = "1"
    cells = [Cell(*cell) for cell in itertools.product(SIZES, AREAS, (False, True))]
    notes = TABLE.with_suffix(".partial")
    known = [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
    done = {tuple(entry["cell"]): entry["rows"] for entry in known}
    todo = [cell for cell in cells if tuple(cell) not in done][:n_cells]
    with ProcessPoolExecutor(n_processes) as pool, notes.open("a") as file:
        for cell, rows in zip(todo, pool.map(measure, todo), strict=True):
            done[tuple(cell)] = rows
            print(json.dumps({"cell": cell, "rows": rows}), file=file, flush=True)
            print(f"{len(done)} of {len(cells)} cells", flush=True)
    if len(done) == len(cells):
        write(TABLE, [row for cell in cells for row in done[tuple(cell)]])
        with ProcessPoolExecutor(n_processes) as pool:
            write(COMPARISONS, [row for rows in pool.map(false_positives, SIZES) for row in rows])
        notes.unlink()


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a table aside, and put it into its place."""
    aside = path.with_suffix(".new")
    with aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    aside.replace(path)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))

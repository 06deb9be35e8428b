"""Measure the coverage of areas that a few samples of one class decide, or one.

Of the area under the ROC curve by Newcombe's method, the logit of DeLong's, and ``auto``, which
takes the larger of both variances; where one sample decides, of precisions too, by `logit` and by
``auto``, whose intervals with a note about their reliability count apart.

    python -m bench.area_coverage [PROCESSES]
"""

import itertools
from collections import Counter
from typing import Any

import numpy as np

from bench.coverage import AREA, SCALE, Cell, closed_intervals_of_area, rows_of_cells
from bench.families import ALL_FAMILIES, DECIDED_BY_FEW, DECIDED_BY_ONE
from bench.pages import EVIDENCE, write_rows
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from fastad.uncertainty.intervals.interval_estimation import check_options, intervals_of
from fastad.uncertainty.results import Interval
from fastad.uncertainty.samples.bootstrap import IndependentSample

SIZES = ((20, 1000), (30, 300), (100, 30), (300, 60), (1000, 100))
FIRST_SEED, N_SEEDS = 50_000, 500
METHODS = ("newcombe", "logit", "auto")
TABLE = EVIDENCE / "areas.csv"
SIZES_OF_ONE = ((10, 1000), (20, 1000), (20, 10_000), (100, 1000))
MEASURES_OF_ONE = (AREA, bind("ap", {}), bind("auc_pr", {}))
TABLE_OF_ONE = EVIDENCE / "areas_of_one.csv"


def measure(cell: Cell) -> list[dict[str, Any]]:
    """Return the coverage of each method in a cell."""
    population = ALL_FAMILIES[cell.family].population(
        cell.n_anomalies * SCALE, cell.n_normals * SCALE, whole=False
    )
    true = AREA.value(population)
    n_covering = dict.fromkeys(METHODS, 0)
    for seed in range(FIRST_SEED, FIRST_SEED + N_SEEDS):
        counts = cell.sample(seed)
        options = check_options("auto", 0.95, 150, seed)
        (auto,) = intervals_of(IndependentSample.of(counts), [AREA], options)
        assert isinstance(auto, Interval)
        ends = {**closed_intervals_of_area(counts), "auto": (auto.low, auto.high)}
        for method in METHODS:
            low, high = ends[method]
            n_covering[method] += low - 1e-12 <= true <= high + 1e-12
    return [
        {
            "family": cell.family,
            "n_anomalies": cell.n_anomalies,
            "n_normals": cell.n_normals,
            **{method: f"{n / N_SEEDS:.3f}" for method, n in n_covering.items()},
        }
    ]


def measure_of_one(cell: Cell) -> list[dict[str, Any]]:
    """Return the coverage by `logit` and by `auto`, of intervals without a note, in a cell."""
    n, m, name = cell
    family = DECIDED_BY_ONE[name]
    population = family.population(n * SCALE, m * SCALE, whole=False)
    tallies = {bound: Counter[str]() for bound in MEASURES_OF_ONE}
    for seed in range(FIRST_SEED, FIRST_SEED + N_SEEDS):
        rng = np.random.default_rng([seed, n, m, list(DECIDED_BY_ONE).index(name)])
        sample = IndependentSample.of(count(*family.sample(rng, n, m)))
        for method in ("logit", "auto"):
            options = check_options(method, 0.95, 150, seed)
            intervals = intervals_of(sample, MEASURES_OF_ONE, options)
            for (bound, tally), interval in zip(tallies.items(), intervals, strict=True):
                assert isinstance(interval, Interval)
                true, has_note = bound.value(population), interval.reliability_note is not None
                covers = interval.low - 1e-12 <= true <= interval.high + 1e-12
                if method == "logit":
                    tally["logit"] += covers
                else:
                    tally["noted" if has_note else "without_note"] += 1
                    tally["covering"] += covers and not has_note
    return [
        {
            "key": bound.key,
            "family": name,
            "n_anomalies": n,
            "n_normals": m,
            **{key: tally[key] for key in ("logit", "noted", "without_note", "covering")},
        }
        for bound, tally in tallies.items()
    ]


def main() -> None:
    """Measure all cells, and write the tables."""
    for families, sizes, function, path in (
        (DECIDED_BY_FEW, SIZES, measure, TABLE),
        (DECIDED_BY_ONE, SIZES_OF_ONE, measure_of_one, TABLE_OF_ONE),
    ):
        cells = [Cell(*size, family) for family, size in itertools.product(families, sizes)]
        write_rows(path, list(itertools.chain(*rows_of_cells(function, cells))))


if __name__ == "__main__":
    main()

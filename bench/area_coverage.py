"""Measure the coverage of areas under the ROC curve that a few samples of one class decide.

Newcombe's method, the logit of DeLong's, and ``auto``, which takes the larger of both variances.

    python -m bench.area_coverage [PROCESSES]
"""

import itertools
from typing import Any

from bench.coverage import AREA, SCALE, Cell, closed_intervals_of_area, rows_of_cells
from bench.families import ALL_FAMILIES, DECIDED_BY_FEW
from bench.pages import EVIDENCE, write_rows
from fastad.uncertainty.intervals.interval_estimation import check_options, intervals_of
from fastad.uncertainty.results import Interval
from fastad.uncertainty.samples.bootstrap import IndependentSample

SIZES = ((20, 1000), (30, 300), (100, 30), (300, 60), (1000, 100))
FIRST_SEED, N_SEEDS = 50_000, 500
METHODS = ("newcombe", "logit", "auto")
TABLE = EVIDENCE / "areas.csv"


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


def main() -> None:
    """Measure all cells, and write the table."""
    cells = [Cell(*size, family) for family, size in itertools.product(DECIDED_BY_FEW, SIZES)]
    write_rows(TABLE, list(itertools.chain(*rows_of_cells(measure, cells))))


if __name__ == "__main__":
    main()

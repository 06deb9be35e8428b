"""Measure how wide the intervals of ``method="auto"`` are for areas and average precision.

Beside the narrowest of the methods without a bootstrap that cover the true value in 93 % of the
same samples: what it would take to know the family of the scores.

    python -m bench.auto_price [PROCESSES]
"""

import itertools
from typing import Any

import numpy as np

from bench.coverage import AREA, Cell, closed_intervals_of_area, intervals, rows_of_cells
from bench.families import ALL_FAMILIES
from bench.pages import EVIDENCE, write_rows
from fastad.errors import UndefinedMeasureError
from fastad.measures.requests import bind
from fastad.uncertainty.intervals.interval_estimation import check_options, intervals_of
from fastad.uncertainty.intervals.methods import METHODS, RESAMPLING
from fastad.uncertainty.samples.bootstrap import IndependentSample

SIZES = ((15, 100), (30, 300), (100, 100), (100, 2000), (1000, 100), (1000, 1000))
MEASURES = (AREA, bind("ap", {}))
FIRST_SEED, N_SEEDS, N_RESAMPLES = 30_000, 200, 200
SUFFICIENT = 0.93
TABLE = EVIDENCE / "auto_price.csv"
SCALE = 1000
UNDRAWN = [method for method in METHODS if method not in RESAMPLING]


def measure(cell: Cell) -> list[dict[str, Any]]:
    """Return the coverage and the median width of `auto`, and of the narrowest method."""
    population = ALL_FAMILIES[cell.family].population(
        cell.n_anomalies * SCALE, cell.n_normals * SCALE, whole=False
    )
    ends: dict[tuple[int, str], list[tuple[float, float]]] = {}
    n_noted = [0] * len(MEASURES)
    for seed in range(FIRST_SEED, FIRST_SEED + N_SEEDS):
        counts = cell.sample(seed)
        options = check_options("auto", 0.95, N_RESAMPLES, seed)
        for i, interval in enumerate(intervals_of(IndependentSample.of(counts), MEASURES, options)):
            assert not isinstance(interval, UndefinedMeasureError)
            ends.setdefault((i, "auto"), []).append((interval.low, interval.high))
            n_noted[i] += interval.reliability_note is not None
        others = intervals(counts, MEASURES, options, UNDRAWN, with_curves=True)
        for method, each in closed_intervals_of_area(counts).items():
            others[MEASURES.index(AREA), method] = each
        for key, each in others.items():
            ends.setdefault(key, []).append(each)
    rows = []
    for i, bound in enumerate(MEASURES):
        true = bound.value(population)
        coverage, width = {}, {}
        for (index, method), pairs in ends.items():
            if index == i:
                low, high = np.array(pairs).T
                coverage[method] = np.mean((low <= true + 1e-12) & (true - 1e-12 <= high)).item()
                width[method] = np.median(high - low).item()
        enough = [each for each in width if each != "auto" and coverage[each] >= SUFFICIENT]
        best = min(enough, key=lambda method: width[method], default="")
        rows.append(
            {
                "key": bound.key,
                "family": cell.family,
                "n_anomalies": cell.n_anomalies,
                "n_normals": cell.n_normals,
                "noted": n_noted[i],
                "coverage": f"{coverage['auto']:.3f}",
                "width": f"{width['auto']:.4g}",
                "narrowest": best,
                "narrowest_coverage": f"{coverage[best]:.3f}" if best else "",
                "ratio": f"{width['auto'] / width[best]:.2f}" if best else "",
            }
        )
    return rows


def main() -> None:
    """Measure all cells, and write the table."""
    cells = [Cell(*size, family) for size, family in itertools.product(SIZES, ALL_FAMILIES)]
    write_rows(TABLE, list(itertools.chain(*rows_of_cells(measure, cells))))


if __name__ == "__main__":
    main()

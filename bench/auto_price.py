"""Measure how wide the intervals of ``method="auto"`` are for the area under the ROC curve.

Beside the narrowest of the closed forms that cover the true value in 93 % of the same samples: what
it would take to know the family of the scores.

    python -m bench.auto_price [PROCESSES]
"""

import itertools
from typing import Any

import numpy as np

from bench.coverage import AREA, Cell, closed_intervals_of_area, rows_of_cells
from bench.families import FAMILIES
from bench.pages import EVIDENCE, write_rows
from fastad.errors import UndefinedMeasureError
from fastad.uncertainty.intervals.interval_estimation import check_options, intervals_of
from fastad.uncertainty.samples.bootstrap import IndependentSample

SIZES = ((15, 100), (30, 300), (100, 2000), (1000, 1000))
FIRST_SEED, N_SEEDS, N_RESAMPLES = 30_000, 400, 400
SUFFICIENT = 0.93
TABLE = EVIDENCE / "auto_price.csv"


def measure(cell: Cell) -> list[dict[str, Any]]:
    """Return the coverage and the median width of `auto`, and of the narrowest closed form."""
    true = AREA.value(FAMILIES[cell.family].population(*cell[:2], whole=False))
    ends: dict[str, list[tuple[float, float]]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + N_SEEDS):
        counts = cell.sample(seed)
        options = check_options("auto", 0.95, N_RESAMPLES, seed)
        (interval,) = intervals_of(IndependentSample.of(counts), [AREA], options)
        assert not isinstance(interval, UndefinedMeasureError)
        closed = closed_intervals_of_area(counts)
        for method, each in {"auto": (interval.low, interval.high), **closed}.items():
            ends.setdefault(method, []).append(each)
    coverage, width = {}, {}
    for method, pairs in ends.items():
        low, high = np.array(pairs).T
        coverage[method] = float(np.mean((low <= true) & (true <= high)))
        width[method] = float(np.median(high - low))
    enough = [each for each in ends if each != "auto" and coverage[each] >= SUFFICIENT]
    best = min(enough, key=lambda method: width[method], default="")
    return [
        {
            "family": cell.family,
            "n_anomalies": cell.n_anomalies,
            "n_normals": cell.n_normals,
            "coverage": f"{coverage['auto']:.3f}",
            "width": f"{width['auto']:.4g}",
            "narrowest": best,
            "narrowest_coverage": f"{coverage[best]:.3f}" if best else "",
            "ratio": f"{width['auto'] / width[best]:.2f}" if best else "",
        }
    ]


def main() -> None:
    """Measure all cells, and write the table."""
    cells = [Cell(*size, family) for size, family in itertools.product(SIZES, FAMILIES)]
    write_rows(TABLE, list(itertools.chain(*rows_of_cells(measure, cells))))


if __name__ == "__main__":
    main()

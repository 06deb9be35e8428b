"""Measure the coverage of the intervals that ``method="auto"`` selects, on samples of their own.

The families of `bench.coverage` and curves that step at an operating point, sizes on its grid and
between, other seeds. An interval that came with a note about its reliability counts apart. Keys
that are given are measured alone. Of 120 intervals with a coverage of 95 % every tenth cell has
less than 92 %: such cells are drawn again with more samples, of other seeds, which `again` does of
a table that is there.

    python -m bench.auto_coverage [PROCESSES [KEY ... | again]]
"""

import itertools
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from bench.coverage import RATES, Cell, rows_of_cells
from bench.families import ALL_FAMILIES, STEPPED
from bench.pages import EVIDENCE, read_rows, write_rows
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.uncertainty.intervals.enclosing_curves import has_order
from fastad.uncertainty.intervals.interval_estimation import check_options, intervals_of
from fastad.uncertainty.samples.bootstrap import IndependentSample

ANOMALIES = (30, 400)
NORMALS = (60, 300, 1000)
N_RESAMPLES = 150
SEEDS, SEEDS_AGAIN = range(10_000, 10_120), range(200_000, 200_600)
SUFFICIENT = 0.92
TABLE = EVIDENCE / "auto_coverage.csv"
SCALE = 1000


# Measures that are tried where the curve steps: those of one point, and three of the whole.
OF_STEPS = ("tpr@", "fpr@", "f1@", "precision@fpr", "precision@recall", "auc", "ap", "eer")


def measures(family: str) -> list[BoundMeasure]:
    """Return the measures that are tried on a family of scores."""
    keys = ["auc", "ap", "auc_pr", "auc_prg", "eer", "f1_best", "recall@precision0.5", "np@0.05"]
    keys += [f"{prefix}{x}" for prefix in ("auc@", "tpr@", "f1@", "precision@fpr") for x in RATES]
    keys += ["auc@tpr0.9", "auc@tpr0.95", "fpr@tpr0.95"]
    keys += ["auc_log@0.001", "auc_log@0.02", "bedroc@20", "rie@20", "ef@0.01", "ef@0.1"]
    keys += ["mindcf@0.01", "precision@recall0.5", "precision@recall0.9"]
    keys += [f"{name}@threshold1.5" for name in ("dcf", "mcc", "balanced_accuracy")]
    if family in STEPPED:
        keys = [key for key in keys if key in OF_STEPS or key.startswith(OF_STEPS[:5])]
    return [bind(key, {}) for key in keys]


def measure(cell: Cell, keys: Collection[str] = (), seeds: range = SEEDS) -> list[dict[str, Any]]:
    """Return the coverage of each measure in a cell, of intervals with a note and without."""
    population = ALL_FAMILIES[cell.family].population(
        cell.n_anomalies * SCALE, cell.n_normals * SCALE, whole=False
    )
    bound = [each for each in measures(cell.family) if not keys or each.key in keys]
    true = [each.value_or_nan(population) for each in bound]
    # The rates of one point are known as closely as the grid of the scores.
    slack = [
        1e-3 * abs(x) if has_order(each) else 1e-12 for x, each in zip(true, bound, strict=True)
    ]
    n_without, n_covering, n_noted = ([0] * len(bound) for _ in range(3))
    for seed in seeds:
        options = check_options("auto", 0.95, N_RESAMPLES, seed)
        for i, interval in enumerate(
            intervals_of(IndependentSample.of(cell.sample(seed)), bound, options)
        ):
            if isinstance(interval, UndefinedMeasureError) or true[i] != true[i]:
                continue
            n_noted[i] += interval.reliability_note is not None
            n_without[i] += interval.reliability_note is None
            covers = interval.low - slack[i] <= true[i] <= interval.high + slack[i]
            n_covering[i] += interval.reliability_note is None and covers
    return [
        {
            "key": each.key,
            "family": cell.family,
            "n_anomalies": cell.n_anomalies,
            "n_normals": cell.n_normals,
            "noted": n_noted[i],
            "without_note": n_without[i],
            "covering": n_covering[i],
        }
        for i, each in enumerate(bound)
    ]


def drawn_again(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows, with those of low coverage from more samples."""
    result = []
    for row in rows:
        n, covering = int(row["without_note"]), int(row["covering"])
        if n <= len(SEEDS) and covering < SUFFICIENT * n:
            cell = Cell(int(row["n_anomalies"]), int(row["n_normals"]), row["family"])
            (row,) = measure(cell, [row["key"]], SEEDS_AGAIN)
            print(row, flush=True)
        result.append(row)
    return result


def main() -> None:
    """Measure all cells, or keys alone in all cells, and write the table."""
    keys = sys.argv[2:]
    if keys == ["again"]:
        write_rows(TABLE, drawn_again(read_rows(TABLE)))
        return
    cells = [Cell(*cell) for cell in itertools.product(ANOMALIES, NORMALS, ALL_FAMILIES)]
    rows = list(itertools.chain(*rows_of_cells(partial(measure, keys=keys), cells)))
    if keys:
        rows += [row for row in read_rows(TABLE) if row["key"] not in keys]
        order = [(*cell, bound.key) for cell in cells for bound in measures(cell.family)]
        rows.sort(
            key=lambda row: order.index(
                (int(row["n_anomalies"]), int(row["n_normals"]), row["family"], row["key"])
            )
        )
    write_rows(TABLE, drawn_again(rows))


if __name__ == "__main__":
    main()

"""Measure the coverage of intervals.

Scores of six families (`bench.families`), from 10 to 1000 anomalies and 30 to 3000 normals, at
false positive rates from 0.001 to 0.2; the true value is the measure on the distributions
themselves. The area under the ROC curve is tried at sizes between, too, and by closed forms on more
samples, because several of them are nearly right. It is the table that ``method="auto"`` follows;
`bench.coverage_page` puts it into the documentation. Every cell has its own fixed seeds, so that a
run gives the same table. Finished cells are kept: a run that was stopped continues. Methods that
are given are measured alone.

    python -m bench.coverage [PROCESSES [METHOD ...]]
"""

import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.families import ALL_FAMILIES, FAMILIES
from bench.pages import read_finished, read_rows, write_rows
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count
from fastad.uncertainty.intervals.enclosing_curves import PRECISION_AREAS, fiducial_values
from fastad.uncertainty.intervals.interval_estimation import (
    InferenceOptions,
    Task,
    check_options,
    estimate_interval,
)
from fastad.uncertainty.intervals.methods import (
    METHODS,
    RESAMPLING,
    draws_curves,
    limits_of,
    methods_of,
)
from fastad.uncertainty.results import or_error
from fastad.uncertainty.samples.bootstrap import IndependentSample, plan, replicate_values

ANOMALIES = (10, 30, 100, 1000)
NORMALS = (30, 100, 300, 1000, 3000)
# The most normals are tried with few and with many anomalies.
SIZES = [
    (n, m) for n, m in itertools.product(ANOMALIES, NORMALS) if m < NORMALS[-1] or n in (10, 1000)
]
# Sizes between these, at which only the area under the ROC curve is tried, without a bootstrap.
SIZES_OF_AREA = [
    *((15, 30), (15, 100), (15, 300), (15, 1000), (30, 2000), (60, 100), (60, 300), (60, 1000)),
    *((100, 2000), (300, 300), (300, 1000), (300, 2000)),
]
RATES = (0.001, 0.01, 0.05, 0.2)
N_SEEDS = 200
# Closed forms of the area under the ROC curve take a millisecond.
N_SEEDS_OF_AREA = 2000
# Random curves are costly, and valid by construction: they are drawn for so many data sets, but of
# measures with a kernel for them.
N_SEEDS_OF_CURVES = 40
N_RESAMPLES = 150
# Samples whose mean is the true value where a measure depends on their size by definition.
N_FOR_MEAN = 500
DEPENDENT = {
    *("weighted_auc", "localized_auc", "beta_weighted_auc", "gaussian_weighted_auc"),
    "histogram_weighted_auc",
}
# One value of the smooth ROC's area takes milliseconds beyond so many samples.
SLOW = {"smooth_roc": 200}
# Sizes at which the measures that few use are tried.
FEW_SIZES = ((30, 100), (100, 1000))
CLOSED_OF_AREA = ("delong", "logit", "newcombe", "pairs", "combined")
DRAWN_OF_AREA = ("fiducial", *RESAMPLING)
NEARLY_PERFECT = ("nearly perfect", "nearly perfect, heavy-tailed")
AREA = bind("auc", {})
TABLE = Path(__file__).parent.parent / "fastad" / "uncertainty" / "coverage.csv"
COMMON = ("measure", "key", "method", "n_anomalies", "n_normals", "anomalies", "normals")
# So many times the size of a sample is its population.
SCALE = 1000
RANGE = {"score_range": (-(10**9), 10**9)}
# The threshold of the rates at a threshold.
THRESHOLD = {"threshold": 1.5}


class Cell(NamedTuple):
    """A setting of the generated data."""

    n_anomalies: int
    n_normals: int
    family: str

    def sample(self, seed: int) -> OrderedCounts:
        """Draw a sample."""
        index = list(ALL_FAMILIES).index(self.family)
        rng = np.random.default_rng([seed, self.n_anomalies, self.n_normals, index])
        return count(*ALL_FAMILIES[self.family].sample(rng, self.n_anomalies, self.n_normals))


def measures(cell: Cell, scale: int = 1) -> list[BoundMeasure]:
    """Return the measures, for a sample or for a population that many times its size."""
    if cell[:2] in SIZES_OF_AREA:
        return [AREA]
    labels: list[tuple[str, dict[str, Any]]] = [
        *((label, {}) for label in ("auc", "ap", "auc_pr", "auc_prg", "eer", "f1_best")),
        *((f"{label}@{rate}", {}) for label in ("auc", "tpr", "f1", "np") for rate in RATES),
        *((f"precision@fpr{rate}", {}) for rate in RATES),
        *((label, {}) for label in ("auc@tpr0.9", "auc@tpr0.95", "fpr@tpr0.9", "fpr@tpr0.95")),
        *((label, {}) for label in ("precision@n", "recall@n", "recall@precision0.5")),
    ]
    if cell[:2] in FEW_SIZES:
        labels += [
            *((label, {}) for label in ("ht_auc@0.2", "lf_auc@0.8", "precision@p0.05", "auc_w")),
            *((label, {}) for label in ("cost_auc@2", "rp@90", "auc_local@0.05")),
            *((label, {}) for label in ("auc_log@0.001", "auc_log@0.02", "bedroc@20", "rie@20")),
            *((label, {}) for label in ("ef@0.01", "ef@0.1", "mindcf", "mindcf@0.01")),
            *(
                (label, {})
                for label in ("precision@recall0.5", "precision@recall0.9", "dcf@threshold1.5")
            ),
            *((label, {}) for label in ("auc_beta@0.05", "auc_gauss@0.05", "auc_hist@0.05")),
            (f"rank_power@k{5 * scale}", {}),
            *((label, RANGE) for label in ("auc_rp", "auc_p", "auc_scored", "auc_smooth")),
            *((label, THRESHOLD) for label in ("mcc", "balanced_accuracy")),
        ]
    return [bind(label, options) for label, options in labels]


def true_values(cell: Cell) -> list[float]:
    """Return the true values; of areas whose weights depend on m they are the means."""
    sizes = cell.n_anomalies * SCALE, cell.n_normals * SCALE
    family = FAMILIES[cell.family]
    populations = {whole: family.population(*sizes, whole=whole) for whole in (False, True)}
    dependent = {
        i: bound for i, bound in enumerate(measures(cell)) if bound.measure.name in DEPENDENT
    }
    sums = dict.fromkeys(dependent, 0.0)
    for seed in range(N_SEEDS, N_SEEDS + N_FOR_MEAN) if dependent else ():
        counts = cell.sample(seed)
        for i, bound in dependent.items():
            sums[i] += bound.value_or_nan(counts) / N_FOR_MEAN
    return [
        sums[i] if i in dependent else bound.value_or_nan(populations[_is_whole(bound)])
        for i, bound in enumerate(measures(cell, SCALE))
    ]


def _is_whole(bound: BoundMeasure) -> bool:
    return bound.measure.weights == "integer"


def measure(cell: Cell, methods: Collection[str] = METHODS) -> list[dict[str, Any]]:
    """Return the rows of a cell."""
    true, bound = true_values(cell), measures(cell)
    cases: dict[tuple[int, str], list[tuple[bool, float]]] = {}
    area = bound.index(AREA)
    for seed in range(N_SEEDS_OF_AREA):
        if not {*methods}.intersection(CLOSED_OF_AREA):
            break
        for method, (low, high) in closed_intervals_of_area(cell.sample(seed), methods).items():
            covers = low - 1e-12 <= true[area] <= high + 1e-12
            cases.setdefault((area, method), []).append((covers, high - low))
    for seed in range(N_SEEDS):
        counts = cell.sample(seed)
        options = check_options("auto", 0.95, N_RESAMPLES, seed)
        for (i, method), (low, high) in intervals(
            counts, bound, options, methods, with_curves=seed < N_SEEDS_OF_CURVES
        ).items():
            # Means over samples are known to three digits.
            slack = 1e-3 * abs(true[i]) if bound[i].measure.name in DEPENDENT else 1e-12
            covers = low - slack <= true[i] <= high + slack
            cases.setdefault((i, method), []).append((covers, high - low))
    rows = []
    for (i, method), results in cases.items():
        limits = limits_of(bound[i], cell.n_anomalies, cell.n_normals)
        n_seeds = N_SEEDS_OF_CURVES if method == "fiducial" else N_SEEDS
        left_out = method in RESAMPLING and cell[:2] in SIZES_OF_AREA
        if not left_out and math.isfinite(true[i]) and 2 * len(results) >= n_seeds:
            rows.append(
                {
                    "measure": bound[i].measure.name,
                    "key": bound[i].key,
                    "method": method,
                    "family": cell.family,
                    "n_anomalies": cell.n_anomalies,
                    "n_normals": cell.n_normals,
                    "anomalies": float(f"{limits.anomalies:.4g}"),
                    "normals": float(f"{limits.normals:.4g}"),
                    "coverage": round(float(np.mean([covers for covers, _ in results])), 4),
                    "width": float(f"{np.mean([width for _, width in results]):.4g}"),
                }
            )
    return rows


def intervals(
    counts: OrderedCounts,
    measures: Sequence[BoundMeasure],
    options: InferenceOptions,
    methods: Collection[str],
    *,
    with_curves: bool,
) -> dict[tuple[int, str], tuple[float, float]]:
    """Return the intervals of all measures by all their methods."""
    defined = {}
    for i, bound in enumerate(measures):
        if counts.total > SLOW.get(bound.measure.name, math.inf):
            continue
        try:
            defined[i] = bound, bound.value(counts)
        except UndefinedMeasureError:
            continue
    resamples = plan(counts, options.n_resamples, options.key, stratified=options.stratified)
    replicates = {}
    if {*methods}.intersection(RESAMPLING):
        values = replicate_values(
            IndependentSample(counts), [bound for bound, _ in defined.values()], resamples
        )
        replicates = dict(zip(defined, values, strict=True))
    enclosed = [
        i
        for i, (bound, _) in defined.items()
        if any(draws_curves(each, bound) for each in methods_of(bound) if each in methods)
    ]
    if not with_curves:
        enclosed = [i for i in enclosed if defined[i][0].measure.name in PRECISION_AREAS]
    measures_of_curves = [defined[i][0] for i in enclosed]
    drawn_curves = fiducial_values(counts, measures_of_curves, options.n_resamples, options.key)
    curves = dict(zip(enclosed, drawn_curves, strict=True))
    ends = {}
    for i, (bound, value) in defined.items():
        for method in methods_of(bound):
            if method not in methods or (bound == AREA and method not in DRAWN_OF_AREA):
                continue
            drawn = replicates[i] if method in RESAMPLING else None
            if draws_curves(method, bound):
                if i not in curves:
                    continue
                drawn = curves[i]
            task = Task(bound, value, method)
            interval = or_error(estimate_interval, IndependentSample(counts), task, options, drawn)
            if not isinstance(interval, UndefinedMeasureError):
                ends[i, method] = interval.low, interval.high
    return ends


def closed_intervals_of_area(
    counts: OrderedCounts, methods: Collection[str] = CLOSED_OF_AREA
) -> dict[str, tuple[float, float]]:
    """Return the intervals of the area under the ROC curve for which nothing is drawn."""
    options = check_options("auto", 0.95, 1, 0)
    ends = {}
    for method in (each for each in CLOSED_OF_AREA if each in methods):
        task = Task(AREA, AREA.value(counts), method)
        interval = estimate_interval(IndependentSample(counts), task, options, None)
        ends[method] = interval.low, interval.high
    return ends


def table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each measure, method and size, with the coverage of each family."""
    groups: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in COMMON), {})[row["family"]] = row
    result = []
    for common, families in groups.items():
        widths: dict[str, list[float]] = {"width": [], "width_nearly_perfect": []}
        for name, row in families.items():
            widths["width" + "_nearly_perfect" * (name in NEARLY_PERFECT)].append(row["width"])
        result.append(
            {
                **dict(zip(COMMON, common, strict=True)),
                **{
                    name: f"{sum(values) / len(values):.4g}" if values else ""
                    for name, values in widths.items()
                },
                **{
                    name: families[name]["coverage"] if name in families else ""
                    for name in FAMILIES
                },
            }
        )
    return result


def main() -> None:
    """Measure the cells that are lacking, or methods alone in all cells, and write the table."""
    methods = sys.argv[2:] or METHODS
    sizes = sorted([*SIZES, *SIZES_OF_AREA])
    cells = [Cell(n, m, family) for (n, m), family in itertools.product(sizes, FAMILIES)]
    notes = TABLE.with_suffix(".partial")
    result = table(resumed(partial(measure, methods=methods), cells, notes))
    if sys.argv[2:]:
        result += [row for row in read_rows(TABLE) if row["method"] not in methods]
        order = [
            (bound.key, method)
            for bound in measures(Cell(*FEW_SIZES[0], "Gaussian"))
            for method in (
                (*CLOSED_OF_AREA, *DRAWN_OF_AREA) if bound == AREA else methods_of(bound)
            )
        ]
        result.sort(
            key=lambda row: (
                *(int(row[name]) for name in ("n_anomalies", "n_normals")),
                order.index((row["key"], row["method"])),
            )
        )
    write_rows(TABLE, result)
    notes.unlink()


def resumed(
    measure: Callable[[Any], list[dict[str, Any]]], cells: Sequence[Any], notes: Path
) -> list[dict[str, Any]]:
    """Measure the cells that the notes of a run that was stopped lack; return the rows of all."""
    done = {tuple(entry["cell"]): entry["rows"] for entry in read_finished(notes)}
    todo = [cell for cell in cells if cell not in done]
    with notes.open("a", encoding="utf-8") as file:
        for cell, rows in zip(todo, rows_of_cells(measure, todo), strict=True):
            done[cell] = rows
            print(json.dumps({"cell": cell, "rows": rows}), file=file, flush=True)
    return [row for cell in cells for row in done[cell]]


def rows_of_cells(
    measure: Callable[[Any], list[dict[str, Any]]], cells: Sequence[Any]
) -> Iterator[list[dict[str, Any]]]:
    """Measure cells in processes, as many as the command says, and say how far it is."""
    os.environ["FASTAD_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(int(sys.argv[1]) if len(sys.argv) > 1 else 2) as pool:
        for i, rows in enumerate(pool.map(measure, cells)):
            yield rows
            print(f"{i + 1} of {len(cells)} cells", flush=True)


if __name__ == "__main__":
    main()

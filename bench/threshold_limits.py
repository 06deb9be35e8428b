"""Measure limits and intervals of measures at a threshold, where both rates are binomial.

A limit is the true value: of `at_least`, at most 5 % may pass and at most 5 % may fail.

    python -m bench.threshold_limits [PROCESSES]
"""

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bench.coverage import rows_of_cells
from bench.pages import EVIDENCE, fill, read_rows, table, write_rows
from fastad.errors import UndefinedMeasureError
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from fastad.uncertainty.comparisons.one_sided import value_tests
from fastad.uncertainty.intervals.interval_estimation import check_options, intervals_of
from fastad.uncertainty.results import Interval
from fastad.uncertainty.samples.bootstrap import IndependentSample

SIZES = ((10, 100), (30, 100), (30, 300), (100, 100), (100, 1000), (1000, 100), (1000, 10_000))
TPRS, FPRS = (0.5, 0.8, 0.92, 0.99), (0.001, 0.03, 0.3)
KEYS = tuple(
    f"{name}@threshold1" for name in ("mcc", "balanced_accuracy", "dcf", "f1", "precision")
)
N_DRAWS, N_RESAMPLES = 2000, 1000
# True values are those of so many samples of each.
SCALE = 1000
TABLE = EVIDENCE / "threshold_limits.csv"
PAGE = EVIDENCE / "gate.md"


class Cell(NamedTuple):
    """Numbers of samples, and the rates at the threshold."""

    n_anomalies: int
    n_normals: int
    tpr: float
    fpr: float


def sample(n: int, m: int, tp: int, fp: int) -> IndependentSample:
    """Return a sample with so many flagged anomalies and normals, whose score is 1."""
    scores = np.concatenate([np.arange(n) < tp, np.arange(m) < fp]).astype(np.float64)
    return IndependentSample.of(count(np.arange(n + m) < n, scores))


def measure(cell: Cell) -> list[dict[str, Any]]:
    """Return how often limits pass and fail, and intervals cover, the true value."""
    n, m, tpr, fpr = cell
    rng = np.random.default_rng([n, m, round(1000 * tpr), round(1000 * fpr)])
    flagged = zip(rng.binomial(n, tpr, N_DRAWS), rng.binomial(m, fpr, N_DRAWS), strict=True)
    outcomes = Counter((int(tp), int(fp)) for tp, fp in flagged)
    all_flagged = round(n * SCALE * tpr), round(m * SCALE * fpr)
    truth = sample(n * SCALE, m * SCALE, *all_flagged).counts
    rows = []
    for key in KEYS:
        bound = bind(key, {})
        true, found = bound.value(truth), Counter[str]()
        for (tp, fp), times in outcomes.items():
            drawn, seed = sample(n, m, tp, fp), tp * (m + 1) + fp
            limits, two_sided = (
                check_options("auto", x, N_RESAMPLES, seed) for x in (Fraction(9, 10), 0.95)
            )
            try:
                low, high = (tests := value_tests(drawn, bound, limits)).ends
            except UndefinedMeasureError:
                continue
            (interval,) = intervals_of(drawn, [bound], two_sided)
            assert isinstance(interval, Interval)
            is_known = interval.reliability_note is None
            within = interval.low - 1e-12 <= true <= interval.high + 1e-12
            direction = 1 if bound.measure.higher_is_better else -1
            is_below, is_above = high < true - 1e-12, low > true + 1e-12
            passed, failed = (is_above, is_below)[::direction]
            found["tried"] += times
            found["noted"] += times * (not is_known)
            found["passed"] += times * (passed and tests.note is None)
            found["failed"] += times * (failed and tests.note is None)
            found["covered"] += times * (within and is_known)
        counted = ("tried", "noted", "passed", "failed", "covered")
        rows.append({"key": key, **cell._asdict(), **{name: found[name] for name in counted}})
    return rows


def limits_table() -> str:
    """Return the highest rates, and the lowest coverage, over both rates at the threshold."""
    rows = read_rows(TABLE)

    @cache
    def of(key: str, n: int, m: int) -> str:
        chosen = [
            {name: float(x) for name, x in row.items() if name != "key"}
            for row in rows
            if row["key"] == key and (int(row["n_anomalies"]), int(row["n_normals"])) == (n, m)
        ]
        passed, failed = (
            max(100 * x[y] / x["tried"] for x in chosen) for y in ("passed", "failed")
        )
        known = [x for x in chosen if x["tried"] > x["noted"]]
        covered = min(100 * x["covered"] / (x["tried"] - x["noted"]) for x in known)
        return f"{passed:.1f} / {failed:.1f} / {covered:.1f}"

    return table(
        ["anomalies, normals", *(f"`{key.partition('@')[0]}`" for key in KEYS)],
        [[f"{n}, {m}", *(of(key, n, m) for key in KEYS)] for n, m in SIZES],
    )


def main() -> None:
    """Measure all cells, and write the table and the page."""
    cells = [Cell(*size, *rates) for size in SIZES for rates in itertools.product(TPRS, FPRS)]
    write_rows(TABLE, list(itertools.chain(*rows_of_cells(measure, cells))))
    fill(PAGE, {"threshold": limits_table()})


if __name__ == "__main__":
    main()

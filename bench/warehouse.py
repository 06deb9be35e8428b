"""Counts that a database makes: what histograms print, what a query costs, what fewer points lose.

python -m bench.warehouse areas
python -m bench.warehouse duckdb 1e8
python -m bench.warehouse points
"""

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import fastad
from fastad.streaming import ScoreSketch, counts_query

Vector = npt.NDArray[Any]
# Default buckets of Prometheus' clients.
_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
_REPEATS = 5


class Case(NamedTuple):
    """Scores in bins, and the area that is printed of the counts."""

    name: str
    scores: Callable[[Vector, Vector], Vector]  # of labels and of normal deviates
    edges: Callable[[Vector], Vector]
    # Whether each bin counts with the TPR of its upper corner, in place of its mean.
    steps: bool = False


CASES = (
    Case(
        "200 equal bins of heavy-tailed scores",
        lambda y, z: np.exp(1.5 * (z + 1.6 * y)),
        lambda s: np.linspace(0, s.max(), 201),
    ),
    Case(
        "12 equal bins, added up as steps",
        lambda y, z: z + 2.21 * y,
        lambda s: np.linspace(s.min(), s.max(), 13),
        steps=True,
    ),
    Case(
        "201 thresholds in [0, 1], scores near 1",
        lambda y, z: 1 / (1 + np.exp(-3 - 1.5 * z - 2 * y)),
        lambda s: np.linspace(0, 1, 202),
    ),
    Case(
        "Prometheus' default buckets",
        lambda y, z: 0.1 * np.exp(0.8 * (z + 1.6 * y)),
        lambda s: np.array([-np.inf, *_BUCKETS, np.inf]),
    ),
)


def samples(case: Case, n: int = 200_000) -> tuple[Vector, Vector]:
    """Return labels and scores of a case."""
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.05
    return y, case.scores(y, rng.normal(size=n))


def counts_of(case: Case, y: Vector, s: Vector) -> tuple[Vector, Vector, Vector]:
    """Return edges, and the numbers of normals and of anomalies between them."""
    edges = case.edges(s)
    normals, anomalies = (np.histogram(s[y == k], edges)[0] for k in (0, 1))
    return edges, normals, anomalies


def printed_area(case: Case, normals: Vector, anomalies: Vector) -> float:
    """Return the area that is printed of counts."""
    fpr, tpr = (np.append(0, np.cumsum(n[::-1])) / n.sum() for n in (normals, anomalies))
    heights = tpr[1:] if case.steps else (tpr[1:] + tpr[:-1]) / 2
    return float(np.sum(np.diff(fpr) * heights))


def print_areas() -> None:
    """Print the area of each case, as it is printed, exact, and with its bounds."""
    for case in CASES:
        y, s = samples(case)
        edges, normals, anomalies = counts_of(case, y, s)
        bounds = ScoreSketch.from_counts(edges, normals, anomalies).roc_auc()
        print(
            f"| {case.name} | {printed_area(case, normals, anomalies):.4f} | "
            f"{fastad.roc_auc(y, s):.4f} | {bounds.low:.4f} to {bounds.high:.4f} |"
        )


def time_duckdb(n_rows: int) -> None:
    """Print the processor time, over all threads, of a GROUP BY in DuckDB, and of the query."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE scores AS SELECT hash(i) % 1000 < 10 AS y, "
        "ln(1 + hash(i + 1) % 4294967296 / 4294967296.0 * 7) + hash(i + 2) % 65536 / 65536.0 "
        f"+ CASE WHEN hash(i) % 1000 < 10 THEN 1.0 ELSE 0.0 END AS s FROM range({n_rows}) r(i)"
    )
    ((low, high),) = connection.execute("SELECT min(s), max(s) FROM scores").fetchall()
    # As one would write it by hand, knowing the range.
    bin_of = f"floor((s - {low!r}) * {4096 / (high - low)!r}) AS bin"
    by_hand = f"SELECT {bin_of}, y, count(*) AS n FROM scores GROUP BY bin, y"
    own = f"SELECT {bin_of}, y, count(*) AS n, min(s), max(s) FROM scores GROUP BY bin, y"
    query = counts_query("duckdb", table="scores", score_column="s", label_column="y")

    def run(*queries: str) -> Any:
        return [connection.execute(each).fetchnumpy() for each in queries][-1]

    def evaluate() -> None:
        rows = run(query)
        ends = np.column_stack([rows["low"], rows["high"]])
        counts = rows["normals"], rows["anomalies"]
        ScoreSketch.from_counts(ends, *counts, closed="both").evaluate()

    ends = "SELECT min(s), max(s) FROM scores"
    runs: dict[str, Callable[[], Any]] = {
        "GROUP BY, counts alone, of a range that is known": lambda: run(by_hand),
        "range, then GROUP BY with the ends of bins": lambda: run(ends, own),
        "the query": lambda: run(query),
        "the query, and its evaluation": evaluate,
    }
    evaluate()
    best = dict.fromkeys(runs, float("inf"))
    # In turns; other work that runs beside changes processor time less than seconds.
    for _ in range(_REPEATS):
        for name in runs:
            start = time.process_time()
            runs[name]()
            best[name] = min(best[name], time.process_time() - start)
    for name, seconds in best.items():
        print(f"{name}: {seconds:.3f} s")


def print_points() -> None:
    """Print the errors of curves through 1000 points."""
    for n, fraction, digits in (
        (10**4, 0.1, 9),
        (10**5, 0.01, 9),
        (10**6, 0.05, 9),
        (10**6, 0.3, 3),
    ):
        rng = np.random.default_rng(0)
        y = rng.random(n) < fraction
        curve = fastad.roc_curve(y, np.round(rng.normal(size=n) + 1.5 * y, digits))
        few = curve.simplify(1000)
        auc, of_few = (np.trapezoid(each.tpr, each.fpr) for each in (curve, few.curve))
        errors = few.area_error, abs(auc - of_few), few.tpr_error, few.fpr_error
        cells = [n, fraction, len(curve.fpr), *(f"{error:.1e}" for error in errors)]
        print(f"| {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    if sys.argv[1] == "areas":
        print_areas()
    elif sys.argv[1] == "duckdb":
        time_duckdb(int(float(sys.argv[2])))
    else:
        print_points()

"""Measure what uniform draws and splitting estimate on real data.

For each data set and detector the threshold is that of a false positive rate of 5 % on test
normals, and the volume that of the decision region in the box of all rows. Rows of the table are
kept as they come: a run that was stopped goes on.

    python -m bench.rare_study FOLDER    measures, where FOLDER has the files DATA.npz
    python -m bench.rare_study           puts the table into the page
"""

import json
import math
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

import fastad
from bench.pages import EVIDENCE, fill, read_finished, read_rows, table, write_rows
from fastad.regions.methods import VolumeMethod

DATA = ("mammography", "cover", "Waveform", "WDBC", "satellite")
DETECTORS = ("kNN", "LOF", "OCSVM", "forest")
# Score calls of each method.
BUDGETS: Mapping[VolumeMethod, int] = {"uniform": 10**6, "splitting": 10**5, "auto": 10**5}
METHODS = tuple(BUDGETS)
FPR = 0.05
MOST_NORMALS = 2500
TABLE, PAGE = EVIDENCE / "rare.csv", EVIDENCE / "rare.md"

# Columns with the ends of intervals.
LOW, HIGH = "log10_low", "log10_high"

Rows = npt.NDArray[np.float64]
Row = dict[str, Any]


class Problem(NamedTuple):
    """A data set, standardised and split."""

    train: Rows
    test: Rows  # normals
    box: fastad.Box


def load(path: Path) -> Problem:
    """Read a data set; standardise all rows, and split the normals."""
    with np.load(path, allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    normals = np.random.default_rng(0).permutation(np.flatnonzero(y == 0))[:MOST_NORMALS]
    deviations = X.std(axis=0, ddof=1)
    X = (X - X.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    n_train = int(0.8 * normals.shape[0])
    train, test = X[normals[:n_train]], X[normals[n_train:]]
    return Problem(train, test, fastad.Box.from_data(np.concatenate([train, test, X[y == 1]])))


def fitted(detector: str, train: Rows) -> fastad.detectors.CompiledScorer:
    """Return a detector's score."""
    models: dict[str, Any] = {
        "kNN": lambda: fastad.detectors.KNNDetector(5),
        "LOF": lambda: LocalOutlierFactor(20, novelty=True),
        "OCSVM": lambda: OneClassSVM(gamma=0.05, nu=0.5),
        "forest": lambda: IsolationForest(n_estimators=100, random_state=0),
    }
    return fastad.compile_scorer(models[detector]().fit(train))


def estimates(
    problem: Problem, detector: str, budgets: Mapping[VolumeMethod, int] = BUDGETS
) -> Iterator[Row]:
    """Estimate the volume by each method; yield a row for each."""
    score = fitted(detector, problem.train)
    normal = score.score_samples(problem.test)
    threshold = fastad.threshold_at_fpr(np.zeros(normal.shape[0], int), normal, fpr=FPR)
    # What is compiled at first is not timed.
    score.score_samples(problem.train[:2])
    for method, budget in budgets.items():
        begin = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = fastad.volume(
                *(score, threshold, problem.box),
                method=method,
                n_draws=budget,
                data=problem.train,
                rng=METHODS.index(method),
            )
        yield {
            "n_features": problem.train.shape[1],
            "n_discrete": int(problem.box.discrete.sum()),
            "n_train": problem.train.shape[0],
            "threshold": float(f"{threshold:.6g}"),
            "method": method,
            **_columns(result),
            "warnings": "; ".join(f"{x.category.__name__}: {x.message}" for x in caught),
            "seconds": round(time.perf_counter() - begin, 2),
        }


def _columns(result: fastad.regions.VolumeEstimate) -> Row:
    names = (
        *("log10_share", LOW, HIGH, "is_bound", "n_inside", "n_scored"),
        *("effective", "mixing_p_value", "chosen", "reason"),
    )
    logs = (result.log_value, result.log_low, result.log_high)
    values = (
        *(_short(log / math.log(10), 4) for log in logs),
        *("yes" if result.is_bound else "no", result.n_inside, result.n_scored),
        *(_short(result.effective_sample_size, 0), _short(result.mixing_p_value, 5)),
        *(result.method, result.reason),
    )
    return dict(zip(names, values, strict=True))


def _short(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def run(
    folder: Path,
    path: Path = TABLE,
    names: Sequence[str] = DATA,
    budgets: Mapping[VolumeMethod, int] = BUDGETS,
) -> None:
    """Measure the cells that are lacking, and write the table."""
    notes = path.with_suffix(".partial")
    done = {(row["data"], row["detector"], row["method"]): row for row in read_finished(notes)}
    cells = [(name, detector) for name in names for detector in DETECTORS]
    with notes.open("a", encoding="utf-8") as file:
        for name, detector in cells:
            lacking = {
                method: budget
                for method, budget in budgets.items()
                if (name, detector, method) not in done
            }
            if not lacking:
                continue
            for columns in estimates(load(folder / f"{name}.npz"), detector, lacking):
                row = {"data": name, "detector": detector, **columns}
                done[name, detector, row["method"]] = row
                print(json.dumps(row), file=file, flush=True)
                print(name, detector, _cell(row), row["seconds"], flush=True)
    rows = [done[name, detector, method] for name, detector in cells for method in budgets]
    write_rows(path, rows)
    notes.unlink()


def by_cell(rows: Iterable[Row]) -> dict[tuple[str, str], dict[str, Row]]:
    """Return the rows of each data set and detector, by their methods."""
    cells: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        cells.setdefault((row["data"], row["detector"]), {})[row["method"]] = row
    return cells


def is_estimate(row: Row) -> bool:
    """Tell whether there is an estimate, and not only a bound."""
    return bool(row["is_bound"] == "no")


def overlap(first: Row, second: Row) -> bool:
    """Tell whether two intervals have a point in common."""
    ends = [(float(row[LOW]), float(row[HIGH])) for row in (first, second)]
    return max(low for low, _ in ends) <= min(high for _, high in ends)


def pairs(rows: Iterable[Row]) -> list[tuple[Row, Row]]:
    """Return the estimates of one volume by every two methods, "auto" left out."""
    return [
        pair
        for cell in by_cell(rows).values()
        for pair in combinations([cell[method] for method in METHODS[:-1] if method in cell], 2)
        if all(is_estimate(row) for row in pair)
    ]


def lines(rows: Iterable[Row]) -> str:
    """Return the table of the page."""
    head = ["data", "d", "detector", *METHODS[:-1], "`auto` takes"]
    results = []
    for (name, detector), cell in by_cell(rows).items():
        auto = cell["auto"]
        by_method = [_cell(cell[method]) for method in METHODS[:-1]]
        results.append([name, auto["n_features"], detector, *by_method, auto["chosen"]])
    return table(head, results)


def _cell(row: Row) -> str:
    """Return a logarithm and half the width of its interval; a star stands for a warning."""
    star = r"\*" if row["warnings"] else ""
    if row["is_bound"] == "yes":
        return f"< {float(row[HIGH]):.1f}{star}"
    value, low, high = (float(row[k]) for k in ("log10_share", LOW, HIGH))
    if low == -math.inf:
        return f"{value:.2f}, < {high:.2f}{star}"
    # Adding 0 turns -0 into 0.
    return f"{round(value, 3) + 0:.3f} ± {(high - low) / 2:.3f}{star}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(Path(sys.argv[1]))
    fill(PAGE, {"rare": lines(read_rows(TABLE))})

"""Print the tables of what pytest-benchmark has written; ``--write`` puts them into the documents.

The table of the measures goes to docs/evidence/benchmarks.md, three of its rows to the README. A
benchmark that ran a part of its work alone says in ``extra_info["fraction"]`` which part: its time
is divided by that.
"""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.pages import EVIDENCE, fill, table

PLAIN = "continuous"
# How many times the time of fastad another library is to take, on continuous scores.
TO_REACH: dict[tuple[str, int], dict[str, float]] = {
    ("AUC", 10**3): {"scikit-learn": 80},
    ("AUC", 10**5): {"scikit-learn": 30, "argsort + sweep": 2},
    ("AUC", 10**6): {"scikit-learn": 45, "argsort + sweep": 4},
    ("AUC", 10**7): {"scikit-learn": 50, "argsort + sweep": 8},
    ("TPR@5%", 10**6): {"scikit-learn": 110},
    ("AP", 10**6): {"scikit-learn": 25},
    ("ROC curve", 10**6): {"scikit-learn": 15},
    ("evaluate", 10**6): {"scikit-learn": 1},
}
# Where it depends on the proportion of anomalies.
TO_REACH_AT = {("AUC@5%", 10**6, 0.01): 120, ("AUC@5%", 10**6, 0.5): 55}
# The AUC of a million scores of other kinds.
TO_REACH_ELSEWHERE = 20
# Machines differ from run to run: so much of a ratio counts as reached.
ENOUGH = 0.9
README, PAGE = EVIDENCE.parents[1] / "README.md", EVIDENCE / "benchmarks.md"
# Measure, number of scores and kind of the rows of the README; fastad loses the second one.
README_ROWS = (("AUC", 10**6, PLAIN), ("AUC", 10**3, PLAIN), ("TPR@5%", 10**6, PLAIN))
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Row(NamedTuple):
    """What a row of the table is about."""

    measure: str
    n: int
    proportion: float
    dtype: str
    kind: str

    def cells(self) -> list[str]:
        proportion = f"{self.proportion:.0%}"
        return [self.measure, f"10^{math.log10(self.n):.0f}", proportion, self.dtype, self.kind]


def main(path: str, *, write: bool = False) -> None:
    run = json.loads(Path(path).read_text())
    medians: dict[Row, dict[str, float]] = {}
    runs: dict[str, dict[str, float]] = {}
    starts: dict[str, float] = {}
    batches: dict[int, tuple[float, float]] = {}
    remaining: dict[str, float] = {}
    for entry in run["benchmarks"]:
        info = entry["extra_info"]
        median = 1e3 * entry["stats"]["median"] / info.get("fraction", 1)
        if "start" in info:
            starts[info["start"]] = median
        elif "batch" in info and "threads" not in info:
            batches[info["batch"]] = info["p50"], info["p99"]
        elif "runs" in info:
            runs.setdefault(info["runs"], {})[info["library"]] = median
        elif info.keys() >= {*Row._fields, "library"}:
            row = Row(*(info[field] for field in Row._fields))
            medians.setdefault(row, {})[info["library"]] = median
        else:
            remaining[entry["name"]] = median
    _print_measures(medians)
    _print_runs(runs)
    _print_batches(batches)
    _print_starts(starts)
    print("All others, median time in ms.\n")
    _print_table(["test", "ms"], ([name, _number(time, 3)] for name, time in remaining.items()))
    if write:
        _write_documents(medians)
    _print_machine(run["machine_info"])


def _print_measures(medians: dict[Row, dict[str, float]]) -> None:
    print("Median time in ms, and in brackets how many times that of fastad.\n")
    libraries = list(dict.fromkeys(name for times in medians.values() for name in times))
    measures = list(dict.fromkeys(row.measure for row in medians))
    rows = sorted(medians, key=lambda row: (measures.index(row.measure), row.kind, row.n))
    _print_table(
        ["measure", "n", "anomalies", "type", "scores", *libraries, "to reach"],
        (
            [
                *row.cells(),
                *(_time(medians[row], name) for name in libraries),
                _reached(row, medians[row]),
            ]
            for row in rows
        ),
    )
    print("Bold: faster than fastad.")
    print("`evaluate`: all standard measures of fastad, against the AUC alone of scikit-learn.")
    print("-: no such measure, or a wrong value on these scores.")


def _time(times: dict[str, float], library: str) -> str:
    if library not in times:
        return "-"
    if library == "fastad":
        return _number(times[library], 3)
    ratio = times[library] / times["fastad"]
    text = f"{_number(times[library], 3)} ({_number(ratio, 2)}x)"
    return text if ratio >= 1 else f"**{text}**"


def _reached(row: Row, times: dict[str, float]) -> str:
    ratios = dict(TO_REACH.get((row.measure, row.n), {}))
    if (row.measure, row.n, row.proportion) in TO_REACH_AT:
        ratios["scikit-learn"] = TO_REACH_AT[row.measure, row.n, row.proportion]
    if row.kind != PLAIN:
        ratios = {"scikit-learn": TO_REACH_ELSEWHERE}
    results = []
    for library, ratio in ratios.items():
        if library in times:
            reached = times[library] >= ENOUGH * ratio * times["fastad"]
            results.append(f"{ratio:g}x {library}: {'reached' if reached else 'missed'}")
    return "; ".join(results)


def _write_documents(medians: dict[Row, dict[str, float]]) -> None:
    """Replace the tables of the documents: float64 scores, half of them anomalies."""
    medians = {
        row: times
        for row, times in medians.items()
        if (row.dtype, row.proportion) == ("float64", 0.5)
    }
    libraries = list(dict.fromkeys(name for times in medians.values() for name in times))
    measures = list(dict.fromkeys(row.measure for row in medians))
    rows = sorted(medians, key=lambda row: (measures.index(row.measure), row.kind, row.n))
    head = ["measure", "n", "scores", *libraries]
    lines = {
        (row.measure, row.n, row.kind): [
            row.measure,
            "10" + f"{math.log10(row.n):.0f}".translate(SUPERSCRIPTS),
            row.kind,
            *(
                _time(medians[row], name).replace("x)", " \N{MULTIPLICATION SIGN})")
                for name in libraries
            ),
        ]
        for row in rows
    }
    fill(PAGE, {"bench": table(head, list(lines.values()))})
    fill(README, {"bench": table(head, [lines[key] for key in README_ROWS])})


def _print_batches(batches: dict[int, tuple[float, float]]) -> None:
    print("\n`evaluate` on eight threads at once, time of a call in ms.\n")
    rows = [[str(size), *(_number(time, 3) for time in times)] for size, times in batches.items()]
    _print_table(["batch", "p50", "p99"], rows)


def _print_runs(runs: dict[str, dict[str, float]]) -> None:
    print(
        "\nMany runs in one call, median time in ms; in brackets against the first row of each.\n"
    )
    rows = [
        [name, library, f"{_number(time, 3)} ({_number(time / next(iter(times.values())), 2)}x)"]
        for name, times in runs.items()
        for library, time in times.items()
    ]
    _print_table(["runs", "library", "ms"], rows)


def _print_starts(starts: dict[str, float]) -> None:
    print("\nFresh processes, median time in ms.\n")
    _print_table(["program", "ms"], ([name, _number(time, 3)] for name, time in starts.items()))


def _print_machine(info: dict[str, Any]) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in info["versions"].items())
    threads = ", ".join(f"{name} {count}" for name, count in info["threads"].items())
    print(f"{info['cpu']['brand_raw']}, {info['cpu']['count']} processors; threads: {threads}.")
    print(f"Python {info['python_version']}, {versions}.")


def _print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(table(head, rows), end="\n\n")


def _number(value: float, digits: int) -> str:
    """Write so many digits, and all of those before the point."""
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(value)))}f}"


if __name__ == "__main__":
    main(sys.argv[1], write="--write" in sys.argv[2:])

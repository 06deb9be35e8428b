"""Print the tables of the README from the file that pytest-benchmark has written."""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# At least so many times the speed of a library, on continuous scores.
TO_REACH = {("AUC", 10**6): ("scikit-learn", 30)}


class Row(NamedTuple):
    """What a row of the table is about."""

    measure: str
    n: int
    share: float
    dtype: str
    kind: str

    def cells(self) -> list[str]:
        share = f"{self.share:.0%}"
        return [self.measure, f"10^{math.log10(self.n):.0f}", share, self.dtype, self.kind]


def main(path: str) -> None:
    run = json.loads(Path(path).read_text())
    medians: dict[Row, dict[str, float]] = {}
    runs: dict[str, dict[str, float]] = {}
    starts: dict[str, float] = {}
    for entry in run["benchmarks"]:
        info, median = entry["extra_info"], 1e3 * entry["stats"]["median"]
        if "start" in info:
            starts[info["start"]] = median
        elif "runs" in info:
            runs.setdefault(info["runs"], {})[info["library"]] = median
        else:
            row = Row(*(info[field] for field in Row._fields))
            medians.setdefault(row, {})[info["library"]] = median
    _print_measures(medians)
    _print_runs(runs)
    _print_starts(starts)
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
    library, ratio = TO_REACH.get((row.measure, row.n), ("", 0))
    if row.kind != "continuous" or library not in times:
        return ""
    verdict = "reached" if times[library] >= ratio * times["fastad"] else "missed"
    return f"{ratio}x {library}: {verdict}"


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


def _print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    for cells in (header, ["---"] * len(header), *rows):
        print(f"| {' | '.join(cells)} |")
    print()


def _number(value: float, digits: int) -> str:
    """Write so many digits, and all of those before the point."""
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(value)))}f}"


if __name__ == "__main__":
    main(sys.argv[1])

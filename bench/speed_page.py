"""Tables of speed in the documentation, from one file of times for each processor.

``python -m bench.speed_page`` fills the page of benchmarks and the README. The first line of a file
of ``docs/evidence/speed/`` tells the processor, the date and the versions, each other one the
milliseconds that each library takes for a row.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from bench.data import CONTINUOUS, Case
from bench.pages import EVIDENCE, fill, number, read_finished, table
from bench.processor import describe

FOLDER = EVIDENCE / "speed"
README, PAGE = EVIDENCE.parents[1] / "README.md", EVIDENCE / "benchmarks.md"
HEAD = ("measure", "n", "anomalies", "scores")
FASTAD, PEER = "fastad", "scikit-learn"
LIMITS = ("copy", "NumPy's sort", "NumPy's sort without AVX-512", "fastad's sort by digits")
MILLION = 10**6
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

# Milliseconds by library.
Times = Mapping[str, float]


class Row(NamedTuple):
    """What a row of the table is about."""

    measure: str
    case: Case

    def cells(self) -> list[str]:
        power = str(len(str(self.case.n)) - 1).translate(_SUPERSCRIPTS)
        size = f"10{power}" if str(self.case.n).strip("0") == "1" else str(self.case.n)
        names = [x for x in (self.case.dtype, self.case.kind) if x not in ("float64", CONTINUOUS)]
        scores = ", ".join(names) or CONTINUOUS
        return [self.measure, size, _percent(self.case.proportion), scores]


class Run(NamedTuple):
    """What is known of a processor and of the run on it, and the times of each row."""

    facts: dict[str, Any]
    rows: dict[Row, Times]

    def names(self) -> list[str]:
        """Return all that has a time in some row."""
        return list(dict.fromkeys(name for times in self.rows.values() for name in times))

    @property
    def design(self) -> str:
        """The design of the processor, or its name."""
        return str(self.facts.get("design") or self.facts["name"])

    @property
    def date(self) -> str:
        day = date.fromisoformat(self.facts["date"])
        return f"{day.day} {day:%B %Y}"


# What the README shows; at a thousand scores fastad may lose.
README_ROWS = (
    *(Row("AUC", Case(MILLION, proportion)) for proportion in (0.01, 0.5)),
    Row("AUC", Case(10**3, 0.5)),
    Row("TPR@5%", Case(MILLION, 0.01)),
)


def read_run(path: Path) -> Run:
    """Read a file."""
    facts, *lines = read_finished(path)
    times = [line.pop("ms") for line in lines]
    rows = [Row(line.pop("measure"), Case(**line)) for line in lines]
    return Run(facts, dict(zip(rows, times, strict=True)))


def read_runs() -> list[Run]:
    """Read all files, the newest first."""
    runs = map(read_run, FOLDER.glob("*.jsonl"))
    return sorted(runs, key=lambda run: run.facts["date"], reverse=True)


def cell(times: Times, name: str) -> str:
    """Return milliseconds, and how many times as long as fastad; bold if a library is faster."""
    if name not in times:
        return "-"
    if name == FASTAD:
        return number(times[name], 3)
    text = f"{number(times[name], 3)} {_multiple(times, name)}"
    return f"**{text}**" if times[name] < times[FASTAD] and name not in LIMITS else text


def _multiple(times: Times, name: str) -> str:
    return f"({number(times[name] / times[FASTAD], 2)} \N{MULTIPLICATION SIGN})"


def speeds(runs: list[Run], rows: Iterable[Row]) -> str:
    """Return the table of the newest run, and the times of fastad in the others."""
    newest, *others = runs
    libraries = [name for name in newest.names() if name not in LIMITS]
    head = [*HEAD, *libraries, *(f"fastad on {run.design}, {run.date}" for run in others)]
    return table(
        head,
        [
            [
                *row.cells(),
                *(cell(newest.rows[row], name) for name in libraries),
                *(_fastad_beside_peer(run.rows.get(row, {})) for run in others),
            ]
            for row in rows
            if row in newest.rows
        ],
    )


def _fastad_beside_peer(times: Times) -> str:
    return " ".join([cell(times, FASTAD), *([_multiple(times, PEER)] if PEER in times else [])])


def limits(run: Run) -> str:
    """Return the table of what bounds an AUC."""
    names = [FASTAD, *(name for name in LIMITS if name in run.names())]
    rows = [(row, times) for row, times in run.rows.items() if LIMITS[0] in times]
    return table(
        [*HEAD, *names], [[*row.cells(), *(cell(times, x) for x in names)] for row, times in rows]
    )


def machine(run: Run) -> str:
    """Return the processor of a run, its date, and what else took part."""
    counts = [f"{name} {count} threads" for name, count in run.facts["threads"].items()]
    versions = [f"{name} {number}" for name, number in run.facts["versions"].items()]
    return f"{run.date}: {describe(run.facts)}; {', '.join([*counts, *versions])}."


def ratio_sentence(runs: list[Run]) -> str:
    """Tell how much longer scikit-learn takes for the AUC of a million continuous scores."""
    designs = {run.design: run for run in reversed(runs)}  # the newest of each
    parts = []
    for design, run in designs.items():
        ratios = {
            row.case.proportion: number(times[PEER] / times[FASTAD], 2)
            for row, times in run.rows.items()
            if row == Row("AUC", Case(MILLION, row.case.proportion))
        }
        ends = sorted(ratios, reverse=True)[:: max(1, len(ratios) - 1)]
        times = " to ".join(ratios[share] for share in ends)
        shares = " to ".join(map(_percent, ends))
        parts.append(f"{times} times as long as fastad on {design} ({shares} anomalies)")
    return f"For the AUC of a million scores scikit-learn takes {', '.join(parts)}."


def fill_pages() -> None:
    """Put the tables into the page of benchmarks and the README."""
    for path, tables in pages(read_runs()).items():
        fill(path, tables)


def pages(runs: list[Run]) -> dict[Path, dict[str, str]]:
    """Return by page what stands at each of its marks."""
    newest = runs[0]
    where = f"Medians in milliseconds on {describe(newest.facts)}, {newest.date}."
    return {
        PAGE: {
            "processors": "\n".join(f"- {machine(run)}" for run in runs),
            "bench": f"{where}\n\n{speeds(runs, newest.rows)}",
            "limits": f"{where}\n\n{limits(newest)}",
        },
        README: {"bench": f"{ratio_sentence(runs)}\n{where}\n\n{speeds([newest], README_ROWS)}"},
    }


def _percent(proportion: float) -> str:
    return f"{100 * proportion:g} %"


if __name__ == "__main__":
    fill_pages()

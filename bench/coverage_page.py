"""Put the tables of coverage and of false positives into the page of the documentation.

python -m bench.coverage_page
"""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.coverage import AREAS, COMPARISONS, SIZES
from fastad.uncertainty.methods import Coverage, best_method, coverage_table

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "coverage.md"
MARKS = {
    "coverage": ("<!-- coverage -->", "<!-- /coverage -->"),
    "comparisons": ("<!-- comparisons -->", "<!-- /comparisons -->"),
}


def coverage() -> str:
    """Return a row for each method of each measure: lowest and mean coverage of six cells."""
    rows = coverage_table()
    lines = [_line(["measure", "method", *(f"n = {n}" for n in SIZES)]), _line(["---"] * 6)]
    for measure in dict.fromkeys(row.measure for row in rows):
        of_measure = [row for row in rows if row.measure == measure]
        for method in dict.fromkeys(row.method for row in of_measure):
            cells = [
                _cell(row for row in of_measure if row.method == method and row.n_anomalies == n)
                for n in SIZES
            ]
            lines.append(_line([f"`{measure}`", method, *cells]))
        selected = [_cell(_selected(of_measure, n)) for n in SIZES]
        lines.append(_line([f"`{measure}`", "**auto**", *(f"**{cell}**" for cell in selected)]))
    return "\n".join(lines)


def comparisons() -> str:
    """Return a row for each measure and method: how often a difference was significant."""
    with COMPARISONS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [_line(["measure", "method", *(f"n = {n}" for n in SIZES)]), _line(["---"] * 6)]
    for measure, method in dict.fromkeys((row["measure"], row["method"]) for row in rows):
        wrong = {
            int(row["n_anomalies"]): float(row["wrong"])
            for row in rows
            if (row["measure"], row["method"]) == (measure, method)
        }
        lines.append(_line([f"`{measure}`", method, *(f"{100 * wrong[n]:.1f}" for n in SIZES)]))
    return "\n".join(lines)


def page() -> str:
    """Return the page with its tables."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("coverage", coverage()), ("comparisons", comparisons())):
        begin, end = MARKS[name]
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    return text


def _selected(rows: Sequence[Coverage], n: int) -> Iterable[Coverage]:
    """Return the cells of the methods that `auto` selects."""
    for auc in AREAS:
        cell = [row for row in rows if row.n_anomalies == n and row.auc == auc]
        if cell:
            method, _ = best_method(cell)
            yield from (row for row in cell if row.method == method)


def _cell(rows: Iterable[Coverage]) -> str:
    coverages = [100 * row.coverage for row in rows]
    return f"{min(coverages):.0f} / {sum(coverages) / len(coverages):.0f}" if coverages else "-"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

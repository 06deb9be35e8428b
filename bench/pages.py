"""Tables of measurements, in files and in pages of the documentation.

What was measured is kept in CSV files; a page shows a table between the marks ``<!-- NAME -->``
and ``<!-- /NAME -->``.
"""

import csv
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

EVIDENCE = Path(__file__).parent.parent / "docs" / "evidence"
# A column with such an entry is one of numbers.
_NUMBER = re.compile(r"[<\[-]?\d")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a file; all entries are strings."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(
    path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None
) -> None:
    """Write a file aside, and rename it; by default with the columns of the first row."""
    aside = path.with_suffix(".new")
    with aside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(columns or rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    aside.replace(path)


def read_finished(path: Path) -> list[Any]:
    """Return the lines of JSON that a run that was stopped has kept; none without the file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def line(cells: Iterable[object]) -> str:
    """Return a line of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown, columns of numbers aligned at the right.

    Without rows it is the head alone, behind which rows are printed as they are measured.
    """
    rows = list(rows)
    rules = [
        "---:" if any(_NUMBER.match(str(row[i])) for row in rows) else "---"
        for i in range(len(head))
    ]
    return "\n".join(map(line, [head, rules, *rows]))


def number(value: float, digits: int) -> str:
    """Write so many digits, and all of those before the point."""
    power = math.floor(math.log10(float(f"{value:.{digits}g}")))
    return f"{value:.{max(0, digits - 1 - power)}f}"


def filled(page: str, tables: Mapping[str, str]) -> str:
    """Return a page with what is to stand at each mark."""
    for name, content in tables.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        before, at, rest = page.partition(begin)
        _, behind, after = rest.partition(end)
        if not (at and behind):
            raise ValueError(f"the page must contain the marks of {name}")
        page = before + begin + content + end + after
    return page


def fill(path: Path, tables: Mapping[str, str]) -> None:
    """Put tables into a page."""
    path.write_text(filled(path.read_text(encoding="utf-8"), tables), encoding="utf-8")

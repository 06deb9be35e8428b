"""The table of definitions in the guide; ``python -m tests.support.definition_table`` writes it."""

from pathlib import Path

from fastad.evaluation.definitions.table import DEFINITIONS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "explain.md"
MARKS = ("<!-- definitions -->\n", "<!-- /definitions -->\n")


def make_table() -> str:
    """Return a row for each source and reason, with the names that share them."""
    rows: dict[tuple[str, str], list[str]] = {}
    for one in DEFINITIONS:
        rows.setdefault((one.source, one.reason), []).append(one.name)
    lines = ["| what | who | why it differs |", "| --- | --- | --- |"]
    lines += [
        f"| {'; '.join(names)} | {source} | {reason} |" for (source, reason), names in rows.items()
    ]
    return "\n".join(lines) + "\n"


def parts_of(page: str) -> tuple[str, str, str]:
    """Return what stands before, in and behind the table."""
    before, _, rest = page.partition(MARKS[0])
    table, _, after = rest.partition(MARKS[1])
    return before, table, after


if __name__ == "__main__":
    before, _, after = parts_of(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(before + MARKS[0] + make_table() + MARKS[1] + after, encoding="utf-8")

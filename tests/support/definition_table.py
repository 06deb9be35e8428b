"""The table of definitions in the guide; ``python -m tests.support.definition_table`` writes it."""

import re
from pathlib import Path

from bench.pages import fill, table
from fastad.explain.explanation import DEFINITIONS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "explain.md"


def make_table() -> str:
    """Return a row for each source and reason, with the names that share them."""
    rows: dict[tuple[str, str], list[str]] = {}
    for definition in DEFINITIONS:
        rows.setdefault((definition.source, definition.reason), []).append(definition.name)
    return table(
        ["what", "who", "why it differs"],
        [(join_names(names), source, reason) for (source, reason), names in rows.items()],
    )


def join_names(names: list[str]) -> str:
    """Return names in short: those that differ in a number as one, a common end only once."""
    numbers: dict[str, list[str]] = {}
    for name in names:
        number = re.search(r"(?<= )[\d.]+%?(?=\W|$)", name)
        shape = name if number is None else name[: number.start()] + "\0" + name[number.end() :]
        numbers.setdefault(shape, []).append("" if number is None else number[0])
    merged = [shape.replace("\0", _either(values)) for shape, values in numbers.items()]
    words = [name.split() for name in merged]
    n_common = 0
    while len(words) > 1 and len({" ".join(name[-n_common - 1 :]) for name in words}) == 1:
        n_common += 1
    if n_common == 0:
        return "; ".join(merged)
    common = " ".join(words[0][-n_common:])
    return f"{_either([' '.join(name[:-n_common]) for name in words])} {common}"


def _either(values: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(values[:-1]), values[-1]]))


if __name__ == "__main__":
    fill(PAGE, {"definitions": make_table()})

"""Put the tables of corrected measures and of independent samples into the documentation.

python -m bench.contamination_page
"""

import csv
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench import contamination, unpaired

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "contamination.md"


def read(path: Path) -> list[dict[str, str]]:
    """Read a table."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def corrected() -> str:
    """Return the coverage of corrected measures, in percent."""
    head = ["scores", "measure", "truth", "as labelled", "corrected", "interval as labelled"]
    head += ["fraction known", "known to 30 %", "bounds alone", "width, known", "width, to 30 %"]
    rows = []
    for row in read(contamination.TABLE):
        n_sets = int(row["n_sets"])
        percent = [
            f"{100 * int(row[kind]) / n_sets:.0f}"
            for kind in ("plain", "known", "within_30_percent", "bounds")
        ]
        values = [_number(row[name]) for name in ("truth", "plain_value", "corrected_value")]
        widths = [_number(row[name]) for name in ("width_known", "width_range")]
        rows.append([row["family"], row["measure"], *values, *percent, *widths])
    return _table(head, rows)


def independent() -> str:
    """Return the coverage of intervals of differences, in percent, by sizes of the samples."""
    table = read(unpaired.TABLE)
    sizes = list(dict.fromkeys(row["sizes"] for row in table))
    cells: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
    for row in table:
        cells.setdefault((row["measure"], f"{row['first']}, {row['second']}"), {})[row["sizes"]] = (
            row
        )
    rows = [
        [
            *key,
            *(
                f"{100 * float(by_size[size]['coverage']):.1f} ({by_size[size]['methods']})"
                for size in sizes
            ),
        ]
        for key, by_size in cells.items()
    ]
    return _table(["measure", "scores", *sizes], rows)


def _number(text: str) -> str:
    value = float(text)
    return f"{value:.4f}" if value >= 0.01 else f"{value:.5f}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Write the page."""
    text = PAGE.read_text(encoding="utf-8")
    for mark, table in (("corrected", corrected()), ("independent", independent())):
        pattern = re.compile(f"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
        assert pattern.search(text), f"the page must have the mark {mark}"
        text = pattern.sub(rf"\g<1>{table}\n\g<2>", text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Put the tables of corrected measures and of independent samples into the documentation.

python -m bench.contamination_page
"""

from collections.abc import Mapping

from bench import contamination, unpaired
from bench.pages import EVIDENCE, fill, read_rows, table

PAGE = EVIDENCE / "contamination.md"


def corrected() -> str:
    """Return the coverage of corrected measures, in percent."""
    head = ["scores", "measure", "truth", "as labelled", "corrected", "interval as labelled"]
    head += ["fraction known", "known to 30 %", "bounds alone", "width, known", "width, to 30 %"]
    rows = []
    for row in read_rows(contamination.TABLE):
        n_sets = int(row["n_sets"])
        percent = [
            f"{100 * int(row[kind]) / n_sets:.0f}"
            for kind in ("plain", "known", "within_30_percent", "bounds")
        ]
        values = [_number(row[name]) for name in ("truth", "plain_value", "corrected_value")]
        widths = [_number(row[name]) for name in ("width_known", "width_range")]
        rows.append([row["family"], row["measure"], *values, *percent, *widths])
    return table(head, rows)


def independent() -> str:
    """Return the coverage of intervals of differences, in percent, by sizes of the samples."""
    result = read_rows(unpaired.TABLE)
    sizes = list(dict.fromkeys(row["sizes"] for row in result))
    cells: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
    for row in result:
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
    return table(["measure", "scores", *sizes], rows)


def _number(text: str) -> str:
    value = float(text)
    return f"{value:.4f}" if value >= 0.01 else f"{value:.5f}"


if __name__ == "__main__":
    fill(PAGE, {"corrected": corrected(), "independent": independent()})

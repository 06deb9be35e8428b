"""Put the tables of coverage and of false positives into the page of the documentation.

python -m bench.coverage_page
"""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence

from bench import area_coverage, auto_coverage, auto_price, coverage, false_positives
from bench.families import ALL_FAMILIES, DECIDED_BY_FEW, DECIDED_BY_ONE, FAMILIES, STEPPED
from bench.pages import EVIDENCE, fill, read_rows, table

PAGE = EVIDENCE / "coverage.md"
Rows = Sequence[Mapping[str, str]]
# With so few intervals a coverage says nothing.
_FEWEST = 50


def auto(families: Collection[str]) -> str:
    """Return the lowest coverage of `auto` over families, by key and numbers of samples."""
    rows = [row for row in read_rows(auto_coverage.TABLE) if row["family"] in families]
    sizes = list(itertools.product(auto_coverage.ANOMALIES, auto_coverage.NORMALS))

    def cell(key: str, size: tuple[int, int]) -> str:
        chosen = [row for row in rows if row["key"] == key and _size(row) == size]
        coverages = [
            100 * int(row["covering"]) / int(row["without_note"])
            for row in chosen
            if int(row["without_note"]) >= _FEWEST
        ]
        noted = sum(int(row["noted"]) for row in chosen) / max(
            1, sum(int(row["noted"]) + int(row["without_note"]) for row in chosen)
        )
        mark = f" ({100 * noted:.0f})" if noted >= 0.005 else ""
        return (f"{min(coverages):.0f}" if coverages else "-") + mark

    return _table(["key"], [f"{n}, {m}" for n, m in sizes], _keys(rows), sizes, cell)


def price(key: str) -> str:
    """Return coverage and width of `auto` for a measure."""
    rows = [row for row in read_rows(auto_price.TABLE) if row["key"] == key]

    def cell(family: str, size: tuple[int, int]) -> str:
        (row,) = (each for each in rows if each["family"] == family and _size(each) == size)
        ratio = f", {row['ratio']} of {row['narrowest']}" if row["narrowest"] else ""
        noted = int(row["noted"]) / auto_price.N_SEEDS
        mark = f" ({100 * noted:.0f})" if noted >= 0.005 else ""
        return f"{100 * float(row['coverage']):.1f}{mark}{ratio}"

    sizes = auto_price.SIZES
    body = [[family, *(cell(family, size) for size in sizes)] for family in ALL_FAMILIES]
    return table(["family", *(f"{n}, {m}" for n, m in sizes)], body)


def areas() -> str:
    """Return the coverage of three methods where a few samples decide the area."""
    rows = read_rows(area_coverage.TABLE)

    def cell(family: str, size: tuple[int, int]) -> str:
        (row,) = (each for each in rows if each["family"] == family and _size(each) == size)
        return " / ".join(f"{100 * float(row[each]):.0f}" for each in area_coverage.METHODS)

    sizes = area_coverage.SIZES
    body = [[family, *(cell(family, size) for size in sizes)] for family in DECIDED_BY_FEW]
    return table(["family", *(f"{n}, {m}" for n, m in sizes)], body)


def one() -> str:
    """Return the coverage of two methods where one sample decides."""
    rows = read_rows(area_coverage.TABLE_OF_ONE)

    def cell(key: tuple[str, str], size: tuple[int, int]) -> str:
        (row,) = (
            each for each in rows if (each["key"], each["family"]) == key and _size(each) == size
        )
        n, noted = int(row["without_note"]), 100 * int(row["noted"]) / area_coverage.N_SEEDS
        auto = f"{100 * int(row['covering']) / n:.0f}" if n >= _FEWEST else "-"
        mark = f" ({noted:.0f})" if noted >= 0.5 else ""
        return f"{100 * int(row['logit']) / area_coverage.N_SEEDS:.0f} / {auto}{mark}"

    keys = [
        (bound.key, family) for bound in area_coverage.MEASURES_OF_ONE for family in DECIDED_BY_ONE
    ]
    sizes = area_coverage.SIZES_OF_ONE
    return _table(["key", "family"], [f"{n}, {m}" for n, m in sizes], keys, sizes, cell)


def methods() -> str:
    """Return the lowest coverage of each method over the families and numbers of anomalies."""
    coverages: dict[tuple[tuple[str, str], int], list[float]] = {}
    for row in read_rows(coverage.TABLE):
        values = coverages.setdefault(((row["key"], row["method"]), int(row["n_normals"])), [])
        if int(row["n_anomalies"]) >= 30:
            values += [100 * float(row[family]) for family in FAMILIES if row[family]]

    def cell(key: tuple[str, str], m: int) -> str:
        values = coverages.get((key, m))
        return f"{min(values):.0f} / {sum(values) / len(values):.0f}" if values else "-"

    keys = list(dict.fromkeys(key for key, _ in coverages))
    sizes = coverage.NORMALS
    return _table(["key", "method"], [f"m = {m}" for m in sizes], keys, sizes, cell)


def comparisons() -> str:
    """Return the highest rate of false positives over the families."""
    rows = read_rows(false_positives.BY_FAMILY)
    sizes = list(dict.fromkeys(_size(row) for row in rows if _size(row)[0] in (30, 100, 1000)))

    rates: dict[tuple[tuple[str, str], tuple[int, int]], float] = {}
    for row in rows:
        cell_of_row = (row["key"], row["method"]), _size(row)
        rates[cell_of_row] = max(rates.get(cell_of_row, 0.0), 100 * float(row["rate"]))

    def cell(key: tuple[str, str], size: tuple[int, int]) -> str:
        return f"{rates[key, size]:.0f}" if (key, size) in rates else "-"

    keys = list(dict.fromkeys((row["key"], row["method"]) for row in rows))
    return _table(["key", "method"], [f"{n}, {m}" for n, m in sizes], keys, sizes, cell)


def tables() -> dict[str, str]:
    """Return the tables of the page."""
    return {
        "auto": auto(FAMILIES),
        "steps": auto(STEPPED),
        "areas": areas(),
        "one": one(),
        "few": auto(DECIDED_BY_FEW),
        "price": price("auc"),
        "price of ap": price("ap"),
        "methods": methods(),
        "comparisons": comparisons(),
    }


def _size(row: Mapping[str, str]) -> tuple[int, int]:
    return int(row["n_anomalies"]), int(row["n_normals"])


def _keys(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["key"] for row in rows))


def _table(
    names: Sequence[str],
    columns: Sequence[str],
    keys: Sequence[object],
    sizes: Sequence[object],
    cell: Callable[..., str],
) -> str:
    rows = []
    for key in keys:
        cells = [cell(key, size) for size in sizes]
        first, *rest = key if isinstance(key, tuple) else (key,)
        if any(entry != "-" for entry in cells):
            rows.append([f"`{first}`", *rest, *cells])
    return table([*names, *columns], rows)


if __name__ == "__main__":
    fill(PAGE, tables())

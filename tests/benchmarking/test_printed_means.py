"""Means of the papers' printed matrices, as fastad averages them."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fastad.benchmarking.columns import find_measures
from fastad.benchmarking.matrix import averaged
from fastad.benchmarking.resampling import check_resampling

SKVARA = json.loads(
    (Path(__file__).parents[1] / "golden" / "skvara_tables.json").read_text("utf-8")
)
TABLES = [name for name in SKVARA if name[:2] == "20"]


def exact(cell: str, diagonal: int) -> Fraction:
    return Fraction(diagonal) if cell == "-" else Fraction(cell.rstrip("%"))


def printed_matrix(name: str) -> list[list[Fraction]]:
    # The dash stands for tau 1 or loss 0.
    diagonal = 1 if name == "2019-5" else 0
    return [
        [exact(cell, diagonal) for cell in row["cells"]] for row in SKVARA[name]["rows"].values()
    ]


def means_of(name: str) -> dict[str, list[float]]:
    # The papers write precision@0.05 for the precision at p.
    labels = [
        label.lower().replace("precision@", "precision@p") for label in SKVARA[name]["columns"]
    ]
    named = {label: True for label in labels if "tukey" in label or "welch" in label}
    measures = find_measures(labels, [], labels, named)
    by_dataset = np.array(printed_matrix(name), float)[None]
    one = check_resampling(np.zeros(1, int), 0.95, 10, 0)
    result = averaged(by_dataset, measures, measures, ["all"], one)
    return {mean: rows.value.tolist() for mean, rows in result["means"].items()}


def exact_mean(
    name: str, row: int, mean: str, *, with_diagonal: bool = True
) -> tuple[Fraction, Fraction]:
    """The mean of printed cells, and how far from it that of cells before rounding can be."""
    chosen = [
        j
        for j, column in enumerate(SKVARA[name]["columns"])
        if (mean == "mean" or column.endswith(mean[4:])) and (with_diagonal or j != row)
    ]
    cells = printed_matrix(name)[row]
    middle = sum((cells[j] for j in chosen), Fraction(0)) / len(chosen)
    return middle, unit_of(name) / 2 * sum(j != row for j in chosen) / len(chosen)


def unit_of(name: str) -> Fraction:
    return Fraction(1, 100) if name == "2019-5" else Fraction(1, 10)


def printed_means(name: str) -> Iterator[tuple[int, str, str]]:
    for i, row in enumerate(SKVARA[name]["rows"].values()):
        for mean, cell in row["means"].items():
            yield i, mean, cell


def test_the_papers_tables_are_whole() -> None:
    assert [int(name[5:]) for name in TABLES] == [5, 6, 7, 8, 2, 3, 4, 5, 6]
    for name in TABLES:
        rows = SKVARA[name]["rows"]
        assert list(rows) == SKVARA[name]["columns"]
        assert len(rows) == 12
        for i, row in enumerate(rows.values()):
            assert [j for j, cell in enumerate(row["cells"]) if cell == "-"] == [i]
            assert list(row["means"]) == ["mean", "mean@0.01", "mean@0.05"][: 3 ** (name > "2020")]
    # The paper's Tables 5 and 6 of 2020 differ in two names alone.
    cells = [[row["cells"] for row in SKVARA[f"2020-{n}"]["rows"].values()] for n in (5, 6)]
    assert cells[0] == cells[1]
    tau = printed_matrix("2019-5")
    assert tau == [list(column) for column in zip(*tau, strict=True)]


# All can be reached; for 204 of 228 the mean of the rounded cells rounds to the printed digit.
@pytest.mark.parametrize("name", TABLES)
def test_printed_means_are_those_of_the_printed_cells(name: str) -> None:
    result = means_of(name)
    for i, mean, cell in printed_means(name):
        middle, slack = exact_mean(name, i, mean)
        assert result[mean][i] == pytest.approx(float(middle), rel=1e-13)
        assert abs(middle - exact(cell, 0)) <= slack + unit_of(name) / 2


@pytest.mark.parametrize("name", TABLES)
def test_the_means_would_be_others_without_the_diagonal(name: str) -> None:
    # What the check above can tell.
    unreachable = 0
    for i, mean, cell in printed_means(name):
        middle, slack = exact_mean(name, i, mean, with_diagonal=False)
        unreachable += abs(middle - exact(cell, 0)) > slack + unit_of(name) / 2
    assert unreachable >= 8


def test_rates_group_the_columns() -> None:
    result = means_of("2020-2")
    assert list(result) == ["mean", "mean@0.01", "mean@0.05"]
    cells = [[float(cell) for cell in row] for row in printed_matrix("2020-2")]
    assert result["mean@0.01"][1] == pytest.approx(sum(cells[1][j] for j in (2, 4, 6, 8)) / 4)
    assert result["mean@0.05"][1] == pytest.approx(sum(cells[1][j] for j in (3, 5, 7, 9)) / 4)

"""The base of results: columns that are declared once, and plain values."""

import json
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import fastad
from fastad._core.results import (
    Column,
    Record,
    Result,
    TableResult,
    grid_columns,
    interval_columns,
    plain_value,
)
from fastad.uncertainty import compare_all, compare_independent

Y = np.repeat([0, 1], [60, 40])
A, B = np.random.default_rng(0).normal(size=(2, 100)) + Y


class Rows(TableResult):
    def _declare_columns(self) -> list[Column]:
        return [
            Column("name", ["a", "b", "c"], str, "detector"),
            Column("mean", np.array([0.5, math.nan, -1e-9]), ".2f", marks=[1, 0, 2]),
            Column("n", np.array([3, 0, 4])),
            *interval_columns([0.25, math.nan, -1.0], [0.75, math.nan, 1.0], "interval"),
        ]

    @property
    def notes(self) -> list[str]:
        return ["nan: b is undefined"]


def test_frames_tables_and_json_follow_from_one_declaration() -> None:
    columns = Rows().to_columns()
    assert list(columns) == ["name", "mean", "n", "low", "high"]
    assert columns["n"] == [3, 0, 4]
    assert {type(cell) for cell in columns["mean"] + columns["low"]} == {float}
    assert str(Rows()).splitlines() == [
        "detector   mean       interval",
        "a         0.50¹   [0.25, 0.75]",
        "b            -               -",
        "c         0.00²  [-1.00, 1.00]",
        "nan: b is undefined",
    ]
    assert "| a | **0.50** | [0.25, 0.75] |" in Rows().to_markdown()
    assert r"\cellcolor[gray]{0.70}0.50" in Rows().to_latex()
    assert "<td><b>0.50</b></td>" in Rows()._repr_html_()
    rows = json.loads(Rows().to_json())["rows"]
    assert rows[1] == {"name": "b", "mean": None, "n": 0, "low": None, "high": None}


def test_a_grid_has_a_row_for_each_cell() -> None:
    values = np.arange(6.0).reshape(2, 3)
    columns = grid_columns(
        {"x": ["a", "b"], "y": [1, 2, 3]}, value=values, n=np.array([[7], [8]]), of="z"
    )
    cells = {column.name: column.values() for column in columns}
    assert cells["x"] == ["a", "a", "a", "b", "b", "b"]
    assert cells["y"] == [1, 2, 3, 1, 2, 3]
    assert cells["value"] == values.ravel().tolist()
    assert cells["n"] == [7, 7, 7, 8, 8, 8]
    assert cells["of"] == ["z"] * 6


@dataclass(frozen=True, slots=True)
class Part(Record):
    value: float
    reason: str | None = None
    parts: tuple["Part", ...] = ()
    _hidden: list[int] = field(default_factory=list)

    _optional, _derived = ("reason",), ("twice",)

    @property
    def twice(self) -> float:
        return 2 * self.value


def test_a_record_has_the_plain_values_of_its_attributes() -> None:
    inner = {"value": "-inf", "reason": "it is", "parts": [], "twice": "-inf"}
    outer = Part(math.nan, parts=(Part(-math.inf, "it is"),))
    assert outer.to_dict() == {"value": None, "parts": [inner], "twice": None}


@dataclass(frozen=True, slots=True)
class Named(Part):
    names: tuple[str, ...] = ("<a>", "b & c")
    inner: Part | None = None

    def __str__(self) -> str:
        return f"of <{self.value:g}>"


def test_a_record_in_html_has_its_text_and_its_attributes() -> None:
    assert Named(1 / 3, inner=Named(math.nan))._repr_html_() == (
        "<p>of &lt;0.333333&gt;</p>\n"
        "<table><thead><tr><th></th><th>Named</th></tr></thead><tbody>\n"
        "<tr><td>value</td><td>0.333333</td></tr>\n"
        "<tr><td>names</td><td>&lt;a&gt;, b &amp; c</td></tr>\n"
        "<tr><td>inner</td><td>of &lt;nan&gt;</td></tr>\n"
        "</tbody></table>"
    )
    assert Part(2.0)._repr_html_().startswith("<table>")


def test_plain_values_are_those_of_json() -> None:
    value = {"a": np.array([[1.0, np.inf]]), "b": (np.int64(3), np.float64("nan")), "c": None}
    assert plain_value(value) == {"a": [[1.0, "inf"]], "b": [3, None], "c": None}


@pytest.mark.parametrize(
    "result",
    [
        fastad.evaluate(Y, {"a": A, "b": B}, confidence_level=0.9, chance=True, rng=0),
        fastad.evaluate(Y, A, groups={"fold": [0, 1] * 50}),
        fastad.evaluate(Y, A, groups={"fold": [0, 1] * 50}).summary(),
        compare_all(Y, {"a": A, "b": B}, measure="auc"),
    ],
    ids=["evaluation", "groups", "summary", "comparisons"],
)
def test_dictionaries_are_what_their_json_says(result: Result) -> None:
    assert json.loads(result.to_json()) == result.to_dict()


def test_infinite_values_are_strings_in_records_too() -> None:
    result = compare_independent((Y, A), (Y, B), measure="auc", method="bootstrap", rng=0)
    assert result.df == math.inf
    assert result.to_dict()["df"] == "inf"
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()

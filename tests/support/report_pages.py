"""Made-up sections of a report."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from fastad._core.results import Column, TableResult
from fastad._core.text_tables import TextTable
from fastad.study.report.sections import Part, Picture, Section, Table

HOSTILE = '<b>"R&D"</b> \\{{ 1 }}'
SMALL = {"uci": {"cardio": ("5", "8"), "wine": (None,)}, "adbench": {"wide": (None,)}}


@dataclass(frozen=True, slots=True)
class Cells(TableResult):
    """A table of given cells."""

    table: TextTable
    notes: Sequence[str] = ()

    def text_table(self) -> TextTable:
        return self.table

    def _declare_columns(self) -> Iterator[Column]:
        for head, cells in zip(self.table.header, zip(*self.table.rows, strict=True), strict=True):
            yield Column(head, cells, str)


def small_figure() -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1], [1, 0])
    return figure


def image_of(attributes: Mapping[str, str | None]) -> bytes:
    return base64.b64decode(str(attributes["src"]).partition(",")[2])


def made_up() -> list[Section]:
    marks = [[1, 0], [0, 2], [3, 0]]
    rows = [["kNN", "0.91", "-"], [HOSTILE, "0.5", "1e-05"], ["µ ± ∞", "0.70", "50 %"]]
    table = Cells(TextTable(["detector", "auc", "mv"], rows, marks), ["left out: <none>"])
    words = Cells(TextTable(["what", "why"], [["a", "it has words"]]))
    parts: list[Part] = [
        Table("ranks", "Ranks & places", table),
        Picture("map", HOSTILE, small_figure, ["a note"]),
        Table("plain", "Words", words),
    ]
    return [
        Section("first", HOSTILE, [f"words of {HOSTILE}"], parts),
        Section("bare", "Nothing found", ["Missing: everything."]),
        Section("mute", "No words"),
    ]


def contents(folder: Path) -> Mapping[str, bytes]:
    """Read all files below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }

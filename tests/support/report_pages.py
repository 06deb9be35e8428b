"""Made-up sections of a report, and a page that was read."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from matplotlib.figure import Figure

from fastad._core.results import Column, TableResult
from fastad._core.text_tables import TextTable
from fastad.study.report.sections import Part, Picture, Section, Table

HOSTILE = '<b>"R&D"</b> \\{{ 1 }}'
VOID = {"meta", "img", "br", "hr", "link", "input", "wbr"}
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


class Page(HTMLParser):
    """A page that was read: its tags must be balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


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

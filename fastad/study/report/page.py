"""The page of a report: HTML that needs no other file."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from fastad._core.extras import import_extra
from fastad._core.text_tables import TextTable, count_text
from fastad.study.report.sections import Choice, Part, Picture, Section, Table
from fastad.study.results import StudyTables, count_reasons, reasons_of

_TEMPLATE = "page.html.jinja"
# Sections with more pictures show them on demand; longer tables scroll; columns
# with longer cells have lines that break; more notes are shown on demand.
_OPEN, _LONG, _PROSE, _NOTES = 12, 25, 24, 3
# Pixels: room in a card of a window of 1400; width of a character of a table at most, of the space
# around a column's text, and of a column of prose.
_ROOM, _CHARACTER, _PADDING, _PROSE_WIDTH = 1020, 8.6, 16, 224
# Places where the head of a column may break.
_BREAKS = re.compile(r"\s|(?<=@)")
# Fraction of its size on the screen that a picture keeps where there is no room: its type can be
# read.
_MIN_FRACTION = 0.85
# Cells of numbers; a dash or an empty cell stands for a missing number.
_NUMBERS = re.compile(r"([-+±<=≤.,:;/%∞\[\]()\s\d]|(?<=\d)e(?=[-+]\d)|\bof\b)*")

# A text with its style; heads and rows of a table.
Cell: TypeAlias = tuple[str, str]
Block: TypeAlias = tuple[list[Cell], list[list[Cell]]]


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table as the page shows it: cells, notes below it, and links to its files by kind."""

    text: TextTable
    notes: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def heads(self) -> list[tuple[str, str]]:
        """Heads of the columns with their styles: columns of words are aligned left."""
        return [
            (head, _style(cells))
            for head, cells in zip(self.text.header, self._columns(), strict=True)
        ]

    @property
    def rows(self) -> Iterator[list[tuple[str, str]]]:
        """Rows of cells with their styles, which show the best three."""
        styles = [style for _, style in self.heads]
        for row, marks in self.text.rows_with_marks():
            yield [
                (cell, f"{style} p{mark}".strip() if mark else style)
                for cell, style, mark in zip(row, styles, marks, strict=True)
            ]

    @property
    def blocks(self) -> list[Block]:
        """The table as one that fits into its card, or as several below one another.

        Columns of words at its left, which identify a row, are in all of them.
        """
        heads, rows = self.heads, list(self.rows)
        widths = [
            _width(head, style, cells)
            for (head, style), cells in zip(heads, self._columns(), strict=True)
        ]
        n_labels = next((i for i, (_, style) in enumerate(heads) if not style), 1) or 1
        if n_labels == len(heads) or sum(widths[:n_labels]) > _ROOM / 2:
            n_labels = 1
        labels = list(range(n_labels))
        blocks = [labels]
        for i in range(n_labels, len(heads)):
            if len(blocks[-1]) > n_labels and sum(widths[j] for j in (*blocks[-1], i)) > _ROOM:
                blocks.append(labels)
            blocks[-1] = [*blocks[-1], i]
        return [
            ([heads[i] for i in block], [[row[i] for i in block] for row in rows])
            for block in blocks
        ]

    @property
    def long(self) -> bool:
        """True if the table has enough rows to scroll."""
        return len(self.text.rows) > _LONG

    def _columns(self) -> list[tuple[str, ...]]:
        rows = self.text.rows
        return list(zip(*rows, strict=True)) if rows else [() for _ in self.text.header]


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A picture as the page shows it: a PNG file, and its size on the screen in pixels."""

    image: bytes
    width: int
    height: int
    notes: Sequence[str]
    links: Mapping[str, str]

    @property
    def address(self) -> str:
        """The picture itself as an address."""
        return "data:image/png;base64," + base64.b64encode(self.image).decode("ascii")

    @property
    def min_width(self) -> int:
        """Width in pixels below which the picture scrolls."""
        return round(_MIN_FRACTION * self.width)


def check_jinja2() -> None:
    """Raise where jinja2 is not installed: before all work, as the page comes last."""
    _template()


def render_page(
    study: StudyTables, sections: Sequence[Section], shown: Mapping[str, PageTable | PagePicture]
) -> str:
    """Return the HTML of the page of a study; ``shown`` has tables and pictures by their names."""
    text: str = _template().render(
        title=study.manifest["config"]["title"],
        summary=_summary(study),
        sections=sections,
        shown=shown,
        groups=_groups,
        is_folded=_is_folded,
        n_notes=_NOTES,
        has_choices=any(isinstance(part, Choice) for one in sections for part in one.parts),
    )
    return text


def _groups(parts: Sequence[Part]) -> dict[str, list[Part]]:
    """Return the parts of each collection, for the contents."""
    groups: dict[str, list[Part]] = {}
    for part in parts:
        groups.setdefault(part.group, []).append(part)
    return groups


def _is_folded(part: Table | Picture, section: Section) -> bool:
    """Tell whether a part is a click away; pictures are where there are too many of them."""
    if isinstance(part, Table):
        return part.folded
    return sum(isinstance(each, Picture) for each in section.parts) > _OPEN


def _style(cells: Sequence[str]) -> str:
    if all(map(_NUMBERS.fullmatch, cells)):
        return ""
    return "words prose" if max(map(len, cells)) > _PROSE else "words"


def _width(head: str, style: str, cells: Sequence[str]) -> float:
    """Return how many pixels a column takes at most."""
    words = max(map(len, _BREAKS.split(head))) * _CHARACTER
    if "prose" in style:
        return max(words + _PADDING, _PROSE_WIDTH)
    return max(words, max(map(len, cells), default=0) * _CHARACTER) + _PADDING


def _summary(study: StudyTables) -> str:
    """Return a sentence about the work that was run."""
    problems = study.manifest["problems"]
    n_datasets = len({(problem["collection"], problem["dataset"]) for problem in problems})
    n_detectors = len(study.manifest["config"]["detectors"])
    reasons = reasons_of((study.tasks, *study.extra.values()))
    n_failed, n_not_applicable = (sum(counts.values()) for counts in count_reasons(reasons))
    summary = (
        f"{count_text(n_datasets, 'data set')}, {count_text(len(problems), 'problem')}, "
        f"{count_text(n_detectors, 'configuration')} of detectors, "
        f"{count_text(len(reasons), 'task')} done"
    )
    if n_failed:
        summary += f", of which {n_failed} failed"
    if n_not_applicable:
        verb = "was" if n_not_applicable == 1 else "were"
        summary += (
            f"{' and' if n_failed else ', of which'} {n_not_applicable} {verb} not applicable"
        )
    if study.n_done < study.n_batches:
        summary += f"; {study.n_done} of {study.n_batches} batches are done so far"
    return summary + "."


@lru_cache(maxsize=1)
def _template() -> Any:
    jinja2 = import_extra("jinja2", "a report", extra="study")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fastad.study.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(_TEMPLATE)

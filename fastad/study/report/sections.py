"""Contents of a report: sections, and the tables and pictures in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from fastad._core.results import Column, TableResult, frame_columns
from fastad._core.text_tables import DASH, some_of
from fastad.errors import InvalidInputError, UndefinedMeasureError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = TypeVar("Result")
# Names of missing things listed for one reason.
_MAX_NAMES = 12


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a section.

    Attributes
    ----------
    name : str
        Name of its files, without their extensions; unique in the report.
    title : str
        Heading above it.
    content : TableResult
        The result; its notes are below it.
    notes : sequence of str
        Further notes.
    group : str
        The collection that it is of; empty if it is of none alone.
    folded : bool
        Whether it is a click away: a detail, or the numbers of a picture.
    """

    name: str
    title: str
    content: TableResult
    notes: Sequence[str] = ()
    group: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a section, drawn when it is needed.

    Attributes
    ----------
    name, title, group
        As of a `Table`.
    draw : callable
        Returns the figure, which pyplot does not know of.
    notes : sequence of str
        Notes below it.
    """

    name: str
    title: str
    draw: "Callable[[], Figure]"
    notes: Sequence[str] = ()
    group: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """Tables of which the page shows one at a time, which the reader chooses.

    Attributes
    ----------
    name, title, group
        As of a `Table`; files have the tables, each under its own name.
    option : str
        What is chosen, such as ``"measure"``.
    tables : mapping of str to Table
        By the options; the first is shown at the beginning.
    """

    name: str
    title: str
    option: str
    tables: Mapping[str, Table]
    group: str = ""


Part: TypeAlias = Table | Picture | Choice


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report.

    Attributes
    ----------
    name : str
        Its address within the page.
    title : str
        Its heading.
    paragraphs : sequence of str
        Paragraphs below the heading, with the missing results and the reasons.
    parts : sequence of Table, Picture or Choice
        Tables and pictures in their order.
    lists : sequence of (str, sequence of str)
        Lists of sentences below the paragraphs, each with its heading.
    """

    name: str
    title: str
    paragraphs: Sequence[str] = ()
    parts: Sequence[Part] = ()
    lists: Sequence[tuple[str, Sequence[str]]] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SimpleTable(TableResult):
    """A table of counts and names, in which nothing is marked.

    Attributes
    ----------
    header : sequence of str
        Heads of the columns.
    rows : sequence of sequences
        Cells: strings, or numbers that read as they are; None is a dash.
    notes : sequence of str
        Notes below it.
    values : mapping of str to list, optional
        Columns of `to_frame`, where they differ from the printed table's columns.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    values: Mapping[str, list[Any]] | None = None

    def _declare_table(self) -> list[Column]:
        return [
            Column(name, [DASH if row[i] is None else row[i] for row in self.rows], str)
            for i, name in enumerate(self.header)
        ]

    def _declare_columns(self) -> list[Column]:
        cells = {name: [row[i] for row in self.rows] for i, name in enumerate(self.header)}
        return frame_columns(cells if self.values is None else self.values)


class SectionBuilder:
    """A section while it is written.

    Parameters
    ----------
    name, title : str
        As of a `Section`.
    paragraphs : str
        Its first paragraphs.

    Attributes
    ----------
    paragraphs : list of str
        Paragraphs so far.
    parts : list of Table, Picture or Choice
        Tables and pictures in their order.
    lists : list of (str, sequence of str)
        Lists of sentences, as of a `Section`.
    group : str
        Collection of new parts.
    without_values : sequence of str
        Subjects without values in new tables.
    """

    def __init__(self, name: str, title: str, *paragraphs: str) -> None:
        self.paragraphs = list(paragraphs)
        self.parts: list[Part] = []
        self.lists: list[tuple[str, Sequence[str]]] = []
        self.group = ""
        self.without_values: Sequence[str] = ()
        self._name, self._title = name, title
        self._missing: dict[str, list[str]] = {}

    def lacks(self, what: str, why: str) -> None:
        """Note something missing, and the reason."""
        self._missing.setdefault(why.rstrip("."), []).append(what)

    def attempt(self, what: str, make: Callable[[], Result]) -> Result | None:
        """Return a function's result; None where results do not allow it, which is noted."""
        try:
            return make()
        except (InvalidInputError, UndefinedMeasureError) as error:
            self.lacks(what, str(error))
            return None

    def table(self, name: str, title: str, content: TableResult, *, folded: bool = False) -> None:
        """Add a table; entries without values are named below it."""
        self.parts.append(self._noted(name, title, content, folded=folded))

    def choice(
        self, name: str, title: str, by_measure: Mapping[str, TableResult], names: Sequence[str]
    ) -> None:
        """Add tables of which one is shown at a time, by their measures; with names for files."""
        tables = {
            key: self._noted(f"{name}-{own}", f"{title} by {key}", content)
            for own, (key, content) in zip(names, by_measure.items(), strict=True)
        }
        self.parts.append(Choice(name, title, "measure", tables, self.group))

    def _noted(self, name: str, title: str, content: TableResult, *, folded: bool = False) -> Table:
        notes = []
        if self.without_values:
            named = some_of(self.without_values, _MAX_NAMES)
            notes.append(f"without any value, as every task failed or was not applicable: {named}")
        return Table(name, title, content, notes, self.group, folded)

    def drawn(
        self,
        name: str,
        picture_name: str,
        title: str,
        content: TableResult,
        *,
        draw: "Callable[[Any], Figure] | None" = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Add the picture of a comparison, and its table, a click away."""
        make = partial(draw or _draw, content)
        self.parts.append(Picture(picture_name, title, make, notes, self.group))
        self.table(name, f"{title}, as a table", content, folded=True)

    def section(self) -> Section:
        """Return the section, with a paragraph for each reason why something is missing."""
        missing = [
            f"Missing: {some_of(list(dict.fromkeys(what)), _MAX_NAMES)}: {why}."
            for why, what in self._missing.items()
        ]
        paragraphs = (*self.paragraphs, *missing)
        return Section(self._name, self._title, paragraphs, tuple(self.parts), tuple(self.lists))


def _draw(content: TableResult) -> "Figure":
    # Here, because matplotlib is for those who want pictures.
    from fastad.plot.overview import draw_result

    figure = draw_result(content)
    assert figure is not None
    return figure

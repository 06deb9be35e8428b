"""Contents of a report: sections, and the tables and pictures in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

from fastad._core.results import Column, TableResult, frame_columns
from fastad._core.text_tables import DASH, some_of
from fastad.errors import InvalidInputError, UndefinedMeasureError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
# Names of missing things listed for one reason.
_MAX_NAMES = 12


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a section."""

    # Name of its files, without their extensions; unique in the report.
    name: str
    title: str
    content: TableResult
    # Beside the notes of the result.
    notes: Sequence[str] = ()
    # The collection that it is of; empty if it is of none alone.
    group: str = ""
    # Whether it is a click away: a detail, or the numbers of a picture.
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a section, drawn when it is needed, as a figure that pyplot does not know."""

    name: str
    title: str
    draw: "Callable[[], Figure]"
    notes: Sequence[str] = ()
    group: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """Tables of which the page shows one at a time, which the reader chooses."""

    name: str
    title: str
    # The thing to choose, such as ``"measure"``.
    option: str
    # By the options; the first is shown at the beginning. Each has files of its own.
    tables: Mapping[str, Table]
    group: str = ""


Part: TypeAlias = Table | Picture | Choice


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report."""

    # Its address within the page.
    name: str
    title: str
    # Also of missing results, with the reasons.
    paragraphs: Sequence[str] = ()
    parts: Sequence[Part] = ()
    # Sentences below the paragraphs, by their headings.
    lists: Sequence[tuple[str, Sequence[str]]] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SimpleTable(TableResult):
    """A table of counts and names, in which nothing is marked."""

    header: Sequence[str]
    # Cells are strings, or numbers that read as they are; None is a dash.
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    # Columns of `to_frame`, where they differ from the printed table's columns.
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

    ``group`` is the collection of new parts, and ``without_values`` names what has no value in new
    tables.
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

    def attempt(
        self,
        what: str,
        make: Callable[Parameters, Result],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result | None:
        """Return a function's result; None where results do not allow it, which is noted."""
        try:
            return make(*args, **kwargs)
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

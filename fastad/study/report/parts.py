"""What a report consists of: sections, and the tables and pictures in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fastad._core.results import TableResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a section.

    Attributes
    ----------
    name : str
        Of its files, without their endings; unique in the report.
    title : str
        What stands above it.
    content : TableResult
        The result; its remarks stand below it.
    """

    name: str
    title: str
    content: TableResult


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a section, drawn when it is needed.

    Attributes
    ----------
    name, title
        As of a `Table`.
    draw : callable
        Returns the figure, which pyplot does not know of.
    notes : sequence of str
        What stands below it.
    """

    name: str
    title: str
    draw: "Callable[[], Figure]"
    notes: Sequence[str] = ()


Part: TypeAlias = Table | Picture


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report.

    Attributes
    ----------
    name : str
        Its address within the page.
    title : str
        Its heading.
    words : sequence of str
        Paragraphs below the heading; what is missing is named here, with the reason.
    parts : sequence of Table or Picture
        In their order.
    """

    name: str
    title: str
    words: Sequence[str] = ()
    parts: Sequence[Part] = ()

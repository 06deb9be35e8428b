"""``Draft``: a section while it is written, and what it must do without."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from fastad._core.results import TableResult
from fastad._core.text_tables import some_of
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.study.report.parts import Part, Picture, Section, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Found = TypeVar("Found")
# So many of what is missing for one reason are named.
_NAMED = 12


class Draft:
    """A section while it is written.

    Parameters
    ----------
    name, title : str
        As of a `Section`.
    words : str
        Its first paragraphs.

    Attributes
    ----------
    words : list of str
        Paragraphs.
    parts : list of Table or Picture
        In their order.
    """

    def __init__(self, name: str, title: str, *words: str) -> None:
        self.words = list(words)
        self.parts: list[Part] = []
        self._name, self._title = name, title
        self._missing: dict[str, list[str]] = {}

    def lacks(self, what: str, why: str) -> None:
        """Note what is missing, and why."""
        self._missing.setdefault(why.rstrip("."), []).append(what)

    def attempt(self, what: str, make: Callable[[], Found]) -> Found | None:
        """Return what a function makes; None where results do not allow it, which is noted."""
        try:
            return make()
        except (InvalidInputError, UndefinedMeasureError) as error:
            self.lacks(what, str(error))
            return None

    def table(self, name: str, title: str, content: TableResult) -> None:
        """Add a table."""
        self.parts.append(Table(name, title, content))

    def picture(self, name: str, title: str, content: TableResult) -> None:
        """Add the picture of a comparison."""
        self.parts.append(Picture(name, title, partial(_drawn, content)))

    def section(self) -> Section:
        """Return the section, with a paragraph for each reason why something is missing."""
        missing = [
            f"Missing: {some_of(list(dict.fromkeys(what)), _NAMED)}: {why}."
            for why, what in self._missing.items()
        ]
        return Section(self._name, self._title, (*self.words, *missing), tuple(self.parts))


def _drawn(content: TableResult) -> "Figure":
    # Here, because matplotlib is for those who want pictures.
    from fastad.plot.overview import draw_result

    figure = draw_result(content)
    assert figure is not None
    return figure

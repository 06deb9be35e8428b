"""Results that print as the tables of a paper, and turn into frames, Markdown and LaTeX."""

import math
from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.frames import Frameable
from fastad._core.text_tables import TextTable
from fastad._core.types import FloatMatrix, IntMatrix

NOTHING = "-"


class Tabular(Frameable):
    """What prints as a table, with its remarks below."""

    __slots__ = ()

    @abstractmethod
    def text_table(self) -> TextTable:
        """Return the cells as text, with the best three marked."""

    def remarks(self) -> list[str]:
        """Return in words what was left out, and why."""
        return []

    def __str__(self) -> str:
        return "\n".join([self.text_table().plain(), *self.remarks()])

    def to_markdown(self) -> str:
        """Return the table in Markdown: the best of a column bold, the next two marked.

        Remarks are a list below it.
        """
        remarks = "".join(f"- {one}\n" for one in self.remarks())
        return self.text_table().markdown() + (f"\n{remarks}" if remarks else "")

    def to_latex(self) -> str:
        """Return the table in LaTeX: the best three of a column shaded.

        It needs the packages ``booktabs`` and ``colortbl``. Remarks are comments below it.
        """
        remarks = "".join(f"% {' '.join(one.splitlines())}\n" for one in self.remarks())
        return self.text_table().latex() + remarks


def best_three(merits: FloatMatrix) -> IntMatrix:
    """Return 1, 2 and 3 where a value is among the three highest of its column, else 0.

    Equal values share the place of the first of them; NaN has none.
    """
    places = np.zeros(merits.shape, np.int64)
    for column in range(merits.shape[1]):
        values = merits[:, column]
        known = values[~np.isnan(values)]
        place = 1 + np.sum(known[None, :] > values[:, None], axis=1)
        places[:, column] = np.where(np.isnan(values) | (place > 3), 0, place)
    return places


def number(value: float, form: str = ".4f") -> str:
    """Return a value as text, a dash where there is none; what rounds to 0 has no sign."""
    if math.isnan(value):
        return NOTHING
    text = format(value, form)
    return text.lstrip("-") if not text.strip("-0.%") else text


def interval_text(low: float, high: float, form: str = ".2f") -> str:
    """Return an interval as text, a dash where there is none."""
    return NOTHING if math.isnan(low) else f"[{number(low, form)}, {number(high, form)}]"


def how_many(n: int, what: str) -> str:
    """Return a number of things: 1 data set, 2 data sets."""
    return f"{n} {what}{'s' * (n != 1)}"


def fixed_arrays(*arrays: npt.NDArray[Any]) -> None:
    """Make the arrays of a result read-only."""
    for array in arrays:
        array.flags.writeable = False

"""What the readers of all kinds of files offer."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy.typing as npt

Column: TypeAlias = npt.NDArray[Any]


class Source(Protocol):
    """The columns of one file."""

    names: list[str]

    def candidates(self, excluded: Sequence[str]) -> list[str]:
        """Return the columns that may hold scores."""

    def numbers(self, chosen: Sequence[str]) -> dict[str, Column]:
        """Read columns of numbers."""

    def values(self, name: str) -> Column:
        """Read one column of any kind."""


def is_number(text: str) -> bool:
    """Tell whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    # Python reads "1_000" as a number, tables do not.
    return "_" not in text

"""What the readers of all kinds of files offer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy.typing as npt

from fastad.cli._console import DataError
from fastad.errors import MissingExtraError

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


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a library says of a damaged file into a message that names the file.

    Libraries say it with errors of any kind: of zip, of zlib, of Python's parser, of memory.
    """
    try:
        yield
    except (DataError, MissingExtraError):
        raise
    except Exception as error:
        raise DataError(f"{path}: {what} cannot be read: {error}") from None


def is_number(text: str) -> bool:
    """Tell whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    # Python reads "1_000" as a number, tables do not.
    return "_" not in text

"""The base of results: data frames, plain values, JSON and tables of text from columns."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from fastad._core.frames import FrameLibrary, frame
from fastad._core.text_tables import TextTable, html_text
from fastad._core.version import SCHEMA_VERSION, __version__

# Arrays of up to so many numbers are shown.
_SHORT = 6


class ShortRepr:
    """A record whose repr has the shapes of long arrays and the sizes of tables in it.

    Dataclasses leave it as it is with ``repr=False``.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{field.name}={_short(getattr(self, field.name))}"
            for field in fields(self)  # type: ignore[arg-type]  # its subclasses are dataclasses
            if not field.name.startswith("_")
        )
        return f"{type(self).__name__}({shown})"


class Result(ABC):
    """A result with columns of equal length; it turns into a data frame and into JSON."""

    __slots__ = ()

    @abstractmethod
    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists."""

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """Return a data frame of the columns that `to_columns` names.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Whose frame; by default the first of these that is installed.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            Its rows and columns are those of `to_columns`.

        Raises
        ------
        MissingExtraError
            If narwhals or the library is not installed.
        """
        return frame(self.to_columns(), library)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: versions, and the rows of `to_columns`, None for NaN."""
        return with_versions({"rows": plain_rows(self.to_columns())})

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as a JSON string; NaN is null."""
        return json_text(self.to_dict(), indent=indent)


class TableResult(Result):
    """A result that prints as a table, with notes below it."""

    __slots__ = ()

    @abstractmethod
    def text_table(self) -> TextTable:
        """Return the cells as strings, with the best three marked where they are comparable."""

    @property
    def notes(self) -> Sequence[str]:
        """What was left out or is undefined, and why: a line each."""
        return ()

    def __str__(self) -> str:
        return "\n".join([self.text_table().plain(), *self.notes])

    def _repr_html_(self) -> str:
        return html_text(self._blocks())

    def _blocks(self) -> list[TextTable | str]:
        """Return what a notebook shows: tables, and lines of text."""
        return [self.text_table(), *self.notes]

    def to_markdown(self) -> str:
        """Return the table in Markdown: the best of a column bold, the next two marked.

        Notes are a list below it.
        """
        notes = "".join(f"- {note}\n" for note in self.notes)
        return self.text_table().markdown() + (f"\n{notes}" if notes else "")

    def to_latex(self) -> str:
        """Return the table in LaTeX: the best three of a column shaded.

        It needs the packages ``booktabs`` and ``colortbl``. Notes are comments below it.
        """
        notes = "".join(f"% {' '.join(note.splitlines())}\n" for note in self.notes)
        return self.text_table().latex() + notes


def _short(value: Any) -> str:
    """Return a value as a string, of what is long only the size."""
    if isinstance(value, np.ndarray):
        if value.size > _SHORT or value.ndim > 1:
            return f"<{value.dtype} of shape {value.shape}>"
        return "[" + ", ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in value) + "]"
    if isinstance(value, Mapping | list | tuple) and len(value) > _SHORT:
        return f"<{type(value).__name__} of {len(value)}>"
    if isinstance(value, Mapping):
        cells = (f"{name!r}: {_short(each)}" for name, each in value.items())
        return "{" + ", ".join(cells) + "}"
    return repr(value)


def with_versions(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values under the versions of their schema and of the package."""
    return {"schema_version": SCHEMA_VERSION, "fastad_version": __version__, **content}


def json_text(content: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return plain values as JSON; what JSON has no type for, such as a date, is a string."""
    return json.dumps(content, indent=indent, allow_nan=False, ensure_ascii=False, default=str)


def plain_rows(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the rows of columns as plain values."""
    return [
        {name: plain_value(cell) for name, cell in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]


def plain_value(value: Any) -> Any:
    """Return what JSON can hold: None for NaN, a string for infinities."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value

"""The base of results: frames, plain values, JSON and printed tables of declared columns."""

import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._core.files import save_text
from fastad._core.frames import FrameLibrary, frame
from fastad._core.page import html_page
from fastad._core.parameters import check_count
from fastad._core.suggestions import did_you_mean
from fastad._core.text_tables import (
    TextTable,
    digits_of_numbers,
    html_text,
    interval_text,
    number_text,
)
from fastad._core.version import SCHEMA_VERSION, __version__
from fastad.errors import InvalidInputError

Key = TypeVar("Key")
Part = TypeVar("Part")

_MAX_SHOWN = 6


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


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result, which frames and printed tables share."""

    name: str | None  # name in frames, None of a column that is only printed
    cells: Iterable[Any]
    # Format of numbers, or a function from a value to its text; columns without are not printed.
    form: str | Callable[[Any], str] | None = None
    head: str | None = None  # head of the printed column, by default the name
    marks: Sequence[int] = ()  # 1, 2 or 3 for each cell that is among the best three, else 0

    def values(self) -> list[Any]:
        """Return the cells as plain values."""
        return self.cells.tolist() if isinstance(self.cells, np.ndarray) else list(self.cells)

    def texts(self) -> list[str]:
        """Return the cells as they are printed."""
        form = self.form
        if isinstance(form, str):
            return [number_text(value, form) for value in self.values()]
        return [] if form is None else [form(value) for value in self.values()]


def interval_columns(
    low: Iterable[float], high: Iterable[float], head: str, form: str = ".2f"
) -> list[Column]:
    """Return ``low`` and ``high`` of frames, and the intervals as they are printed."""
    ends = [*map(float, low)], [*map(float, high)]
    texts = [interval_text(*interval, form) for interval in zip(*ends, strict=True)]
    return [Column("low", ends[0]), Column("high", ends[1]), Column(None, texts, str, head)]


def frame_columns(columns: Mapping[str, Iterable[Any]]) -> list[Column]:
    """Return columns that only frames have."""
    return [Column(name, cells) for name, cells in columns.items()]


def grid_columns(axes: Mapping[str, Sequence[Any]], **arrays: npt.ArrayLike) -> list[Column]:
    """Return columns of frames with a row for each cell of arrays, whose axes are named."""
    rows = list(product(*axes.values()))
    shape = [len(axis) for axis in axes.values()]
    keys = {name: [row[i] for row in rows] for i, name in enumerate(axes)}
    cells = {name: np.broadcast_to(array, shape).ravel() for name, array in arrays.items()}
    return frame_columns({**keys, **cells})


def attribute_columns(rows: Iterable[Any], *names: str) -> list[Column]:
    """Return columns of frames with attributes of the rows."""
    records = list(rows)
    return [Column(name, [getattr(each, name) for each in records]) for name in names]


def estimate_columns(name: str, estimates: Iterable[Any]) -> list[Column]:
    """Return columns of frames with estimates and the ends of their intervals."""
    columns = attribute_columns(estimates, "value", "low", "high")
    names = name, f"{name}_low", f"{name}_high"
    return [replace(column, name=each) for column, each in zip(columns, names, strict=True)]


class Record:
    """A record that turns into plain values: dataclasses of which a result has several."""

    __slots__ = ()
    # Attributes that are left out where they are None, and properties that are included.
    _optional: ClassVar[tuple[str, ...]] = ()
    _derived: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values: None for NaN, a string for infinities."""
        names = [x.name for x in fields(self) if not x.name.startswith("_")]  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in (*names, *self._derived)}
        left_out = {name for name in self._optional if values[name] is None}
        return plain_record({name: value for name, value in values.items() if name not in left_out})

    def _repr_html_(self) -> str:
        """Return the record in a sentence, where it has one, above a table of its attributes."""
        shown = {x.name: getattr(self, x.name) for x in fields(self) if not x.name.startswith("_")}  # type: ignore[arg-type]
        cells = [[name, _cell(value)] for name, value in shown.items()]
        table = TextTable(["", type(self).__name__], [row for row in cells if row[1]])
        has_text = type(self).__str__ is not object.__str__
        return html_text([str(self), table] if has_text else [table])


class NamedParts(Mapping[Key, Part]):
    """A mapping of the parts of a result by their names, in their order."""

    __slots__ = ("_parts",)
    _parts: Mapping[Key, Any]

    def __getitem__(self, key: Key) -> Part:
        part: Part = self._parts[key]
        return part

    def __iter__(self) -> Iterator[Key]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


class Result(ABC):
    """A result with columns of equal length; it turns into a data frame and into JSON."""

    __slots__ = ()

    @abstractmethod
    def _declare_columns(self) -> Iterable[Column]:
        """Yield the columns, from which frames, printed tables and plain values follow."""

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists."""
        columns = self._declare_columns()
        return {column.name: column.values() for column in columns if column.name is not None}

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """Return a data frame of the columns that `to_columns` names.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; by default the first of these that is installed.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            Frame with the rows and columns of `to_columns`.

        Raises
        ------
        MissingExtraError
            If narwhals or the library is not installed.
        """
        return frame(self.to_columns(), library)

    def _content(self) -> Mapping[str, Any]:
        """Return the content of `to_dict`: by default the rows of `to_columns`."""
        return {"rows": plain_rows(self.to_columns())}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with versions: None for NaN, a string for infinities."""
        return with_versions(plain_record(self._content()))

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as a JSON string; NaN is null."""
        return json_text(self.to_dict(), indent=indent)


class TableResult(Result):
    """A result that prints as a table, with notes below it."""

    __slots__ = ()

    def _declare_table(self) -> Iterable[Column]:
        """Yield the columns of the printed table, where its rows differ from the frame's."""
        return self._declare_columns()

    def text_table(self) -> TextTable:
        """Return the cells as strings, with the best three marked where they are comparable."""
        columns = [column for column in self._declare_table() if column.form is not None]
        heads = [column.name if column.head is None else column.head for column in columns]
        rows = list(map(list, zip(*(column.texts() for column in columns), strict=True)))
        marks = [column.marks or [0] * len(rows) for column in columns[1:]]
        is_marked = any(column.marks for column in columns)
        return TextTable(
            [head or "" for head in heads],
            rows,
            list(zip(*marks, strict=True)) if is_marked else [],
        )

    @property
    def notes(self) -> Sequence[str]:
        """Reasons why values are undefined or were left out: a line each."""
        return getattr(self, "_notes", ())

    def _text_above(self) -> str:
        """Return the text above the table, if there is any."""
        return ""

    def _blocks(self) -> list[TextTable | str]:
        """Return the printed parts: tables, lines of text, and empty ones between them."""
        head = self._text_above()
        return [*([head, ""] if head else []), self.text_table(), *self.notes]

    def __str__(self) -> str:
        blocks = self._blocks()
        return "\n".join(x.plain() if isinstance(x, TextTable) else x for x in blocks)

    def _repr_html_(self) -> str:
        return html_text(self._blocks())

    def page_body(self) -> str:
        """Return the content of a page in HTML."""
        return html_text(self._blocks())

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a page in HTML that needs no other file and no network.

        Parameters
        ----------
        path : str or path, optional
            File to save it to, too, completely or not at all.

        Returns
        -------
        str
            The page: the printed tables and the notes, and what the result adds to them.
        """
        title = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).capitalize()
        page = html_page(title, {title: self.page_body()})
        if path is not None:
            save_text(page, Path(path))
        return page

    def _paper_table(self) -> TextTable:
        """Return the table for papers, where it has other heads or marks than the printed one."""
        return self.text_table()

    def _table_of(self, digits: int | None, columns: Sequence[str] | None) -> TextTable:
        """Return the table for papers with so many digits, and some of its columns."""
        with digits_of_numbers(None if digits is None else check_count(digits, "digits")):
            table = self._paper_table()
        if columns is None:
            return table
        for head in columns:
            if head not in table.header[1:]:
                raise InvalidInputError(
                    f"columns must contain {', '.join(table.header[1:])}; found {head!r}"
                    f"{did_you_mean(head, {each: each for each in table.header[1:]})}"
                )
        return table.of_columns(columns)

    def to_markdown(
        self, *, digits: int | None = None, columns: Sequence[str] | None = None
    ) -> str:
        """Return the table in Markdown: the best value bold, the next two marked.

        Marked are comparable values: of a measure, or on a data set, by several detectors. Text
        above the printed table is a paragraph, and notes are a list below the table.

        Parameters
        ----------
        digits : int, optional
            Decimals of the values; by default as they are printed.
        columns : sequence of str, optional
            Heads of the columns after the first, in their order; by default all.

        Returns
        -------
        str
            Markdown.
        """
        notes = "".join(f"- {note}\n" for note in self.notes)
        table = self._table_of(digits, columns).markdown()
        return self._markdown_head() + table + (f"\n{notes}" if notes else "")

    def _markdown_head(self) -> str:
        """Return the text above the table in Markdown."""
        head = self._text_above()
        return f"{head}\n\n" if head else ""

    def to_latex(
        self,
        *,
        caption: str | None = None,
        label: str | None = None,
        digits: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> str:
        """Return the table in LaTeX: the best three values shaded.

        It needs the packages ``booktabs`` and ``colortbl``. Values are marked as in `to_markdown`.
        Text above the printed table and notes are comments above and below it.

        Parameters
        ----------
        caption : str, optional
            Caption above the table, as plain text; with it, or a label, the table floats.
        label : str, optional
            Name of the table for references.
        digits, columns : optional
            Decimals of the values, and heads of the columns, as for `to_markdown`.

        Returns
        -------
        str
            LaTeX.
        """
        above, below = (
            "".join(f"% {' '.join(text.splitlines())}\n" for text in texts if text)
            for texts in ([self._text_above()], self.notes)
        )
        return above + self._table_of(digits, columns).latex(caption, label) + below


def _cell(value: Any) -> str:
    """Return an attribute as a cell; nothing for None and for empty sequences."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    if isinstance(value, float):
        return number_text(value, ".6g")
    return str(value) if isinstance(value, Record) else _short(value)


def _short(value: Any) -> str:
    """Return a value as a string, for long ones only the size."""
    if isinstance(value, np.ndarray):
        if value.size > _MAX_SHOWN or value.ndim > 1:
            return f"<{value.dtype} of shape {value.shape}>"
        return "[" + ", ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in value) + "]"
    if isinstance(value, Mapping | list | tuple) and len(value) > _MAX_SHOWN:
        return f"<{type(value).__name__} of {len(value)}>"
    if isinstance(value, Mapping):
        cells = (f"{name!r}: {_short(each)}" for name, each in value.items())
        return "{" + ", ".join(cells) + "}"
    return repr(value)


def with_versions(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values under the versions of their schema and of the package."""
    return {"schema_version": SCHEMA_VERSION, "fastad_version": __version__, **content}


def json_text(content: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return plain values as JSON; values of other types, such as dates, are strings."""
    return json.dumps(content, indent=indent, allow_nan=False, ensure_ascii=False, default=str)


def plain_rows(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the rows of columns as plain values."""
    rows = zip(*columns.values(), strict=True)
    return [plain_record(dict(zip(columns, row, strict=True))) for row in rows]


def plain_record(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by their names as plain values."""
    return {name: plain_value(value) for name, value in values.items()}


def plain_value(value: Any) -> Any:
    """Return a value for JSON, of containers too: None for NaN, a string for infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(float(value))
    if isinstance(value, np.datetime64 | np.timedelta64) and isinstance(value.tolist(), int):
        return str(value)  # finer than dates of Python
    if isinstance(value, np.generic | np.ndarray):
        return plain_value(value.tolist())
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return plain_record(value)
    if hasattr(value, "_asdict"):
        return plain_record(value._asdict())
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
    return value

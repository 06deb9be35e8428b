"""``Plain``: a table of counts and names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastad._core.results import TableResult
from fastad._core.text_tables import DASH, TextTable


@dataclass(frozen=True, slots=True, eq=False)
class Plain(TableResult):
    """A table of counts and names; nothing is marked.

    Attributes
    ----------
    header : sequence of str
        Heads of the columns.
    rows : sequence of sequences
        What stands in them: text, or numbers that read as they are; None is a dash.
    notes : sequence of str
        What stands below it.
    values : mapping of str to list, optional
        Columns of `to_frame`, where they are others than those that are shown.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    values: Mapping[str, list[Any]] | None = None

    def text_table(self) -> TextTable:
        """Return the cells as text."""
        texts = [[DASH if cell is None else str(cell) for cell in row] for row in self.rows]
        return TextTable(self.header, texts)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists."""
        if self.values is not None:
            return dict(self.values)
        return {name: [row[i] for row in self.rows] for i, name in enumerate(self.header)}

"""The result of scores in files: measures with certain bounds, by group and column."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastad._core.results import TableResult, with_versions
from fastad._core.text_tables import TextTable
from fastad.streaming.results import BoundedEvaluation


class StreamedEvaluation(TableResult, Mapping[Any, BoundedEvaluation]):
    """Measures with certain bounds of one column of scores or several, of all rows or of groups.

    ``result["score"]["auc"]``; with groups ``result[group, "score"]["auc"]``, where a group is a
    tuple if it has several columns.

    Attributes
    ----------
    group_columns : sequence of str
        Columns that the groups come from.
    n_passes : int
        How often the files were read.
    """

    __slots__ = ("_tables", "group_columns", "n_passes")

    def __init__(
        self,
        tables: Mapping[Any, BoundedEvaluation],
        group_columns: Sequence[str],
        n_passes: int,
    ) -> None:
        self._tables = dict(tables)
        self.group_columns = tuple(group_columns)
        self.n_passes = n_passes

    @classmethod
    def of(
        cls,
        tables: Mapping[tuple[Any, str], BoundedEvaluation],
        group_columns: Sequence[str],
        n_passes: int,
    ) -> "StreamedEvaluation":
        """Take tables by group and detector; without groups, by detector alone."""
        if group_columns:
            return cls(tables, group_columns, n_passes)
        return cls({detector: table for (_, detector), table in tables.items()}, (), n_passes)

    def __getitem__(self, key: Any) -> BoundedEvaluation:
        table: BoundedEvaluation = self._tables[key]
        return table

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        n_detectors = len({self._detector(key) for key in self})
        groups = f", {len(self) // n_detectors} groups" if self.group_columns else ""
        return f"<StreamedEvaluation of {n_detectors} detectors{groups}>"

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of the groups, detector, measure, value, low and high."""
        rows = [
            (*self._groups(key), self._detector(key), *row)
            for key, table in self._tables.items()
            for row in zip(*table.to_columns().values(), strict=True)
        ]
        names = [*self.group_columns, "detector", "measure", "value", "low", "high"]
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with versions, as `to_json` writes them."""
        return with_versions({"results": self.plain()})

    def plain(self) -> list[dict[str, Any]]:
        """Return plain values of each detector, without versions."""
        return [
            {
                **dict(zip(self.group_columns, self._groups(key), strict=True)),
                "detector": self._detector(key),
                **table.plain(),
            }
            for key, table in self._tables.items()
        ]

    def text_table(self) -> TextTable:
        """Return a row for each measure, with its certain bounds."""
        header = [*self.group_columns, "detector", "measure", "value", "certain bounds"]
        rows = [
            [*map(str, self._groups(key)), self._detector(key), measure, *bounded.cells()]
            for key, table in self._tables.items()
            for measure, bounded in table.items()
        ]
        return TextTable(header, rows)

    @property
    def notes(self) -> Sequence[str]:
        """What is undefined or not exact, and why, and what else is to be known of the scores."""
        return [
            f"{', '.join([*map(str, self._groups(key)), self._detector(key)])}: {note}"
            for key, table in self._tables.items()
            for note in dict.fromkeys([*table.undefined.values(), *table.notes])
        ]

    def _groups(self, key: Any) -> tuple[Any, ...]:
        if not self.group_columns:
            return ()
        return key[0] if len(self.group_columns) > 1 else (key[0],)

    def _detector(self, key: Any) -> str:
        return str(key[1] if self.group_columns else key)

"""The result of scores in files: measures with certain bounds, by group and column."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastad._core.results import Column, TableResult, attribute_columns
from fastad.streaming.sketches.results import BoundedEvaluation


class StreamedEvaluation(TableResult, Mapping[Any, BoundedEvaluation]):
    """Measures with certain bounds of one column of scores or several, of all rows or of groups.

    ``result["score"]["auc"]``; with groups ``result[group, "score"]["auc"]``, where a group is a
    tuple if it has several columns. Frames have a row for each measure: the columns of the groups,
    ``detector``, ``measure``, ``value``, ``low`` and ``high``.

    Attributes
    ----------
    group_columns : sequence of str
        Columns that the groups come from.
    n_passes : int
        Number of passes over the files.
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
        """Make the result from tables by group and detector; without groups, by detector."""
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

    def _declare_columns(self) -> list[Column]:
        rows = [(key, *item) for key, table in self._tables.items() for item in table.items()]
        groups = [self._groups(key) for key, _, _ in rows]
        texts = [bounded.cells() for _, _, bounded in rows]
        return [
            *(
                Column(name, [x[i] for x in groups], str)
                for i, name in enumerate(self.group_columns)
            ),
            Column("detector", (self._detector(key) for key, _, _ in rows), str),
            Column("measure", (measure for _, measure, _ in rows), str),
            *attribute_columns((bounded for _, _, bounded in rows), "value", "low", "high"),
            Column(None, (value for value, _ in texts), str, "value"),
            Column(None, (bounds for _, bounds in texts), str, "certain bounds"),
        ]

    def _content(self) -> dict[str, Any]:
        return {"results": self.plain()}

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

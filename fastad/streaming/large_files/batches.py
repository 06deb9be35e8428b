"""Batches of rows, given to the counters of their groups and columns."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastad._core.arrays import python_values
from fastad._core.parameters import check_column_names
from fastad._core.types import AnyVector, Label
from fastad._tables.columns import Labels, Names, Numbers, Role
from fastad._tables.table import Batch
from fastad.streaming.large_files.exact import Pass
from fastad.streaming.sketches.checks import check_points

Counters: TypeAlias = dict[Any, Pass]


class Columns(NamedTuple):
    """Columns of labels, scores and groups."""

    label_column: str
    score_columns: Sequence[str]
    group_columns: Sequence[str]
    pos_label: Label | None

    def roles(self, names: Iterable[str]) -> dict[str, Role]:
        """Return what columns are read as: as labels, as scores, else as names of groups.

        A column of labels or scores may divide the rows into groups, too: their names are numbers.
        """
        return {
            name: Labels(self.pos_label)
            if name == self.label_column
            else Numbers()
            if name in self.score_columns
            else Names()
            for name in names
        }

    def names(self, counters: Counters) -> list[str]:
        """Return the columns that counters need, each once."""
        scores = (column for _, column in counters)
        return list(dict.fromkeys([self.label_column, *scores, *self.group_columns]))

    def count_batch(self, batch: Batch, counters: Counters) -> None:
        """Give the rows of a batch, whose labels are 0 and 1, to the counters of their groups."""
        scores = list(dict.fromkeys(column for _, column in counters))
        for name, rows in split(batch, self.group_columns):
            for column in scores:
                if (name, column) not in counters:
                    continue
                points = check_points(
                    batch.columns[self.label_column][rows], batch.columns[column][rows], None, None
                )
                if points is not None:
                    counters[name, column].count_points(points)


def split(batch: Batch, group_columns: Sequence[str]) -> Iterator[tuple[Any, AnyVector | slice]]:
    """Yield the groups in a batch with their rows."""
    if not group_columns:
        yield None, slice(None)
        return
    codes, firsts = np.zeros(batch.n_rows, np.int64), np.zeros(1, np.int64)
    for name in group_columns:
        values, inverse = np.unique(batch.columns[name], return_inverse=True)
        # Numbered anew, so that no product of the numbers of values is beyond 64 bits.
        _, firsts, codes = np.unique(
            codes * values.shape[0] + inverse, return_index=True, return_inverse=True
        )
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(firsts.shape[0] + 1))
    for i, first in enumerate(firsts.tolist()):
        names = tuple(python_values(batch.columns[each][[first]])[0] for each in group_columns)
        yield names if len(names) > 1 else names[0], order[bounds[i] : bounds[i + 1]]


def in_order(groups: Iterable[Any]) -> list[Any]:
    """Return groups in the order of their values, where these have one."""
    listed = list(dict.fromkeys(groups))
    try:
        return sorted(listed)
    except TypeError:
        return listed


def distinct_names(value: object, argument: str) -> list[str]:
    """Return the columns that an argument names, each once."""
    return list(dict.fromkeys(check_column_names(value, argument)))

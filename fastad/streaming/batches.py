"""Batches of rows, given to the counters of their groups and columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from fastad._core.arrays import python_values
from fastad._core.types import AnyVector, Label
from fastad.errors import InvalidInputError
from fastad.streaming.exact import FinerPass, SketchPass
from fastad.streaming.files import Batch
from fastad.streaming.points import check_points

Counters: TypeAlias = dict[Any, SketchPass | FinerPass]


class OtherLabel:
    """The label beside that of the anomalies, which has to be the same in all batches."""

    def __init__(self, column: str, pos_label: Label | None) -> None:
        self._column = column
        self._pos_label = pos_label
        self._found: dict[Any, None] = {}

    def check(self, batch: Batch) -> None:
        """Check the labels of a batch, which have been checked by themselves."""
        if self._pos_label is None:
            return
        labels = batch.columns[self._column]
        others = labels[labels != self._pos_label]
        if others.shape[0]:
            # Each group has one.
            self._found |= dict.fromkeys([others[0], others[np.argmax(others != others[0])]])
        self._refuse_several(f"column {self._column!r} of {batch.where}")

    def merge(self, other: "OtherLabel") -> None:
        """Check the labels of other batches beside those of these."""
        self._found |= other._found
        self._refuse_several(f"column {self._column!r}")

    def _refuse_several(self, where: str) -> None:
        if len(self._found) > 1:
            raise InvalidInputError(
                f"{where} must contain at most two labels, pos_label={self._pos_label!r} and one "
                f"other; found {' and '.join(map(str, self._found))} beside it",
                argument="source",
            )


def count_batch(
    batch: Batch,
    label: str,
    group_columns: Sequence[str],
    counters: Mapping[Any, SketchPass | FinerPass],
    pos_label: Label | None,
) -> None:
    """Give the rows of a batch to the counters of their groups and columns."""
    scores = list(dict.fromkeys(column for _, column in counters))
    for name, rows in split(batch, group_columns):
        for column in scores:
            if (name, column) not in counters:
                continue
            labels, values = batch.columns[label][rows], batch.columns[column][rows]
            try:
                points = check_points(labels, values, None, pos_label)
                if points is not None:
                    counters[name, column].add(points)
            except InvalidInputError as error:
                raise _located(error, batch, label, column) from None


def _located(error: InvalidInputError, batch: Batch, label: str, column: str) -> InvalidInputError:
    """Return an error about labels or scores that names the column and the file."""
    name = column if error.argument == "y_score" else label
    argument = "pos_label" if error.argument == "pos_label" else "source"
    message = str(error).removeprefix(f"{error.item} ")
    if argument == "pos_label":
        message = message.replace("or y_true have", "or that have")
        message = f"pos_label {message.replace('y_true', f'column {name!r} of {batch.where}', 1)}"
    else:
        message = f"column {name!r} of {batch.where} {message}"
    return InvalidInputError(message, argument=argument)


def split(batch: Batch, group_columns: Sequence[str]) -> Iterator[tuple[Any, AnyVector | slice]]:
    """Yield the groups in a batch with their rows; refuse groups that are NaN."""
    if not group_columns:
        yield None, slice(None)
        return
    codes, firsts = np.zeros(batch.n_rows, np.int64), np.zeros(1, np.int64)
    for name in group_columns:
        _refuse_nan(batch, name)
        values, inverse = np.unique(batch.columns[name], return_inverse=True)
        # Numbered anew, so that no product of the numbers of values is beyond 64 bits.
        _, firsts, codes = np.unique(
            codes * values.shape[0] + inverse, return_index=True, return_inverse=True
        )
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(firsts.shape[0] + 1))
    for i, first in enumerate(firsts.tolist()):
        yield _group(batch, group_columns, first), order[bounds[i] : bounds[i + 1]]


def _refuse_nan(batch: Batch, name: str) -> None:
    values = batch.columns[name]
    n_missing = np.count_nonzero(np.isnan(values)) if values.dtype.kind == "f" else 0
    if n_missing:
        raise InvalidInputError(
            f"source must have no missing values; found {n_missing} in column {name!r} of "
            f"{batch.where}",
            argument="source",
        )


def _group(batch: Batch, group_columns: Sequence[str], row: int) -> Any:
    plain = tuple(python_values(batch.columns[name][[row]])[0] for name in group_columns)
    return plain if len(plain) > 1 else plain[0]


def in_order(groups: Iterable[Any]) -> list[Any]:
    """Return groups in the order of their values, where these have one."""
    listed = list(dict.fromkeys(groups))
    try:
        return sorted(listed)
    except TypeError:
        return listed

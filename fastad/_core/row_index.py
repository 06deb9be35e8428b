"""The index of pandas, by which arguments with a value for each row name their rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastad._core.parameters import plain_repr
from fastad.errors import InvalidInputError


class RowIndex:
    """The index that all arguments of a call with a value for each row must have.

    It is the index of the first argument that has one: Series and frames of pandas, or of a library
    that is made like it. Rows are paired by their position, so that rows in another order would
    be paired with other rows. A call has one, which its threads may share once all
    detectors have been named.
    """

    __slots__ = ("_index", "_name", "n_rows")

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self._index: Any = None
        self._name = ""

    def adopt(self, values: Any, name: str) -> None:
        """Adopt the index of an argument if none before it had one."""
        if self._index is None:
            self._index, self._name = self._index_of(values), name

    def check(self, values: Any, name: str) -> None:
        """Check that an argument has the index of those before it; others than pandas have none.

        The number of rows is checked elsewhere, with the name of the items.
        """
        other = self._index_of(values)
        if other is None:
            return
        self.adopt(values, name)
        index = self._index
        if other is index or index.equals(other):
            return
        differing = np.fromiter(map(_differ, index.tolist(), other.tolist()), bool, self.n_rows)
        if not differing.any():
            return
        first, of = int(np.argmax(differing)), self._name
        raise InvalidInputError(
            f"{name} must have the index of {of}; found {np.count_nonzero(differing)} rows of "
            f"other names, the first at index {first}: {plain_repr(other[first])} where {of} has "
            f"{plain_repr(index[first])}. Use {name}.reindex({of}.index), or {name}.to_numpy() if "
            "rows are in the same order"
        )

    def _index_of(self, values: Any) -> Any:
        if type(values) is np.ndarray:
            return None
        index = index_of(values)
        return index if index is not None and len(index) == self.n_rows else None


def check_rows(arguments: Mapping[str, Any]) -> None:
    """Check that arguments with a value for each row, by their names, have the same index."""
    indexes = (index_of(values) for values in arguments.values())
    first = next((index for index in indexes if index is not None), None)
    if first is not None:
        rows = RowIndex(len(first))
        for name, values in arguments.items():
            rows.check(values, name)


def index_of(values: Any) -> Any:
    """Return the index of a Series or a frame of pandas, which is not imported for it."""
    if type(values) is np.ndarray:
        return None
    index = getattr(values, "index", None)
    # A list has a method of this name.
    return index if hasattr(index, "equals") and hasattr(index, "tolist") else None


def _differ(a: Any, b: Any) -> bool:
    """Return whether two names of rows differ; a missing one is the same as another."""
    try:
        return bool(a != b) and not (bool(a != a) and bool(b != b))
    except TypeError:  # NA of pandas is neither equal nor different
        return a is not b

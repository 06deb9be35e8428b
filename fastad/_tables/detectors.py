"""Columns of scores of detectors in a table, if no option names them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastad._core.text_tables import some_of
from fastad._tables.columns import FLOATS_MERGE, is_missing, is_number, to_numpy
from fastad._tables.errors import TableError
from fastad._tables.table import N_NAMED, Table

# Names that pandas, polars and R give to the index of rows.
_INDEX = re.compile(r"(unnamed: \d+|__index_level_\d+__|level_\d+|index|id|rownames|)", re.I)
# Rows of a batch; a few decide on most columns.
_FEW = 2**14
# Names of columns that tell runs apart, as `ResultTable.from_table` has them.
_RUNS = {"anomaly_class", "dataset", "fold", "group", "params", "repeat", "split"}


@dataclass(frozen=True, slots=True)
class DetectorColumns:
    """The columns that are scores of detectors, and why other columns are none."""

    names: Sequence[str]  # columns of scores, in the order of the table
    left_out: Mapping[str, str]  # kind of each column that was left out

    def message(self, title: str) -> str:
        """Return which columns are detectors, and which are not."""
        return f"{title}: detectors: {some_of(self.names, N_NAMED)}{self.reasons()}"

    def reasons(self) -> str:
        """Return the end of a message: which columns were left out."""
        reasons = [f"{name!r} ({reason})" for name, reason in self.left_out.items()]
        return f"; left out: {some_of(reasons, N_NAMED)}; --score names others" if reasons else ""


def kind_by_name(name: str) -> str:
    """Return the kind of a column by its name, other than scores; nothing if it may be scores."""
    if _INDEX.fullmatch(name):
        return "an index"
    return "tells runs apart" if name.lower() in _RUNS else ""


def find_detectors(table: Table, others: Sequence[str]) -> DetectorColumns:
    """Return the columns of numbers that are no index, no constant, and tell no runs apart.

    The first of the ``others``, if there are any, has the labels. Rows are read until every column
    is decided, which takes a few rows of most columns.
    """
    names = [name for name in table.names if name not in others]
    reasons = dict.fromkeys(names, "")
    if table.archive is not None and others:
        # Labels of another shape are refused as such.
        next(table.archive.cells(others[:1]))
        reasons |= table.archive.left_out(names, others[0])
    for name in names:
        if not reasons[name] and table.kind(name) == "other":
            reasons[name] = "no numbers"
        reasons[name] = reasons[name] or kind_by_name(name)
    candidates = [name for name in names if not reasons[name]]
    table.check(candidates, "score_columns")
    reasons |= _kinds_by_values(table, candidates)
    detectors = DetectorColumns(
        [name for name in names if not reasons[name]],
        {name: reason for name, reason in reasons.items() if reason},
    )
    if not detectors.names:
        raise TableError(
            f"{table.title}: there is no column of scores"
            f"{f' beside {others[0]!r}' if others else ''}{detectors.reasons()}",
            argument="score_columns",
        )
    return detectors


def _kinds_by_values(table: Table, names: Sequence[str]) -> dict[str, str]:
    first = table.names[0]
    tests = {
        name: _ColumnTest(may_index=name == first)
        for name in names
        if table.kind(name) != "boolean"
    }
    undecided = list(tests)
    for file, batch in table.cells(undecided, _FEW) if undecided else ():
        for name in undecided:
            tests[name].add(batch[name], file, is_text=table.kind(name) == "text")
        undecided = [name for name in undecided if not tests[name].is_decided]
        if not undecided:
            break
    reasons = {name: tests[name].reason() if name in tests else "true or false" for name in names}
    scores = [name for name in names if not reasons[name]]
    if first in scores and len(scores) > 1 and tests[first].counts_rows:
        reasons[first] = "an index"
    return reasons


class _ColumnTest:
    """Kind of a column by its values, batch by batch: scores, text, a constant or an index."""

    def __init__(self, *, may_index: bool) -> None:
        # Whether the values are the numbers of the rows so far, from 0 or 1 in all files or in
        # each, and the next number where the rows go on.
        self.counts_rows = may_index
        self._next: Any = None
        self._file = 0
        self._has_text = self._has_number = self._differs = False
        self._first: Any = None
        self._n_rows = 0

    @property
    def is_decided(self) -> bool:
        """True if the rows so far are enough; a first batch of text is."""
        if self._has_number:
            return self._differs and not self.counts_rows
        return self._has_text

    def reason(self) -> str:
        """Return the kind of the column if it is not scores; nothing if it may be scores."""
        if self._has_text and not self._has_number:
            return "no numbers"
        return "constant" if self._n_rows > 1 and not self._differs else ""

    def add(self, values: Any, file: int, *, is_text: bool) -> None:
        """Look at the values of a batch of a file, whose number is given."""
        numbers = self._cells(values) if is_text else self._typed(values)
        if not numbers.size:
            return
        if self._first is None:
            self._first = self._next = numbers[0]
        if self.counts_rows:
            begins = file != self._file and numbers[0] == self._first
            start = self._first if begins else self._next
            # In 64 bits, as the values may be of 8.
            counted = np.arange(numbers.size) + start
            self.counts_rows = self._first in (0, 1) and np.array_equal(numbers, counted)
            self._next, self._file = counted[-1] + 1, file
        self._n_rows += numbers.size
        # A missing score is an error later, and makes no constant.
        self._differs = self._differs or bool(np.any(numbers != self._first))

    def _typed(self, values: Any) -> Any:
        self._has_number = True
        if isinstance(values, np.ndarray):
            return values
        if hasattr(values, "dictionary_decode"):
            values = values.dictionary_decode()
        if values.null_count or not hasattr(values.type, "bit_width") or values.type.bit_width > 64:
            # Missing, or a decimal.
            values = values.cast("float64", safe=False)
        return to_numpy(values)

    def _cells(self, values: Any) -> Any:
        """Return cells of text as numbers, NaN where they are none."""
        encoded = values.dictionary_encode()
        cells = encoded.dictionary.to_pylist()
        numbers = np.array([float(cell) if is_number(cell) else np.nan for cell in cells])
        for cell in cells:
            # A number with a decimal comma is refused where it is read.
            if is_number(cell.replace(",", ".", 1)):
                self._has_number = True
            elif not is_missing(cell):
                self._has_text = True
        large = np.isfinite(numbers) & (np.abs(numbers) >= FLOATS_MERGE)
        self._differs = self._differs or bool(np.count_nonzero(large) > 1)
        return numbers[to_numpy(encoded.indices)]

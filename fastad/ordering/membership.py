"""Kinds of anomalies and segments of normals: which rows of one class belong to which of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly, python_values
from fastad._core.frames import converted, is_missing, table_columns
from fastad._core.parameters import plain_repr
from fastad._core.row_index import RowIndex
from fastad._core.types import BoolVector, CountVector, IntMatrix, IntVector
from fastad._kernels.ordering import kinds as kernels
from fastad.errors import InvalidInputError
from fastad.ordering.groups import factorize
from fastad.ordering.labels import Labels

# Treatment of rows that belong to several.
OVERLAPS = ("raise", "count")
Overlap = Literal["raise", "count"]


@dataclass(frozen=True, slots=True, eq=False)
class Membership:
    """Rows of each part of a class: kinds of anomalies, or segments of normals."""

    names: Sequence[Any]
    # (n_entries,): rows, and the positions of their parts; a row of several has several entries.
    rows: IntVector
    codes: IntVector
    is_disjoint: bool  # whether no row belongs to several parts

    def count(self, weights: CountVector | None, chosen: BoolVector) -> IntMatrix:
        """Return the numbers of rows of each part, and below them of the chosen rows among them.

        With integer weights their sums.
        """
        counts = np.zeros((2, len(self.names)), np.int64)
        of_rows = np.ones(1, np.int64) if weights is None else weights
        rows, codes = as_readonly(self.rows), as_readonly(self.codes)
        kernels.count_parts(rows, codes, as_readonly(chosen), as_readonly(of_rows), counts)
        return counts

    def take(self, rows: IntVector) -> "Membership":
        """Return the parts of some of the rows, which rise and are numbered anew."""
        new = np.searchsorted(rows, self.rows)
        kept = np.append(rows, -1)[new] == self.rows
        return replace(self, rows=new[kept], codes=as_readonly(self.codes[kept]))

    def beside(self, others: BoolVector) -> Iterator[tuple[Any, BoolVector]]:
        """Yield the parts that have rows, and which rows are theirs or among the others."""
        for i, name in enumerate(self.names):
            own = self.rows[self.codes == i]
            if own.shape[0]:
                rows = others.copy()
                rows[own] = True
                yield name, rows


def check_membership(
    columns: Any, labels: Labels, argument: str, label: int, overlap: Overlap
) -> Membership:
    """Check the parts of the rows with a label; parts of other rows are not read.

    A vector has the name of the part of each row. In a mapping or table, columns of booleans say
    which rows belong to the part that they are called, and other columns have names.
    """
    is_anomalous = labels.values.view(np.bool_)
    own = np.flatnonzero(is_anomalous if label else ~is_anomalous)
    of_user = own if labels.rows is None else labels.rows[own]
    table: list[tuple[str | None, Any]] = [(None, columns)]
    table = [*(table_columns(columns, argument) or table)]
    read = {
        name: _read(column, labels, argument if name is None else f"{argument}[{name!r}]")[of_user]
        for name, column in table
    }
    named = [name for name, values in read.items() if name is None or not _is_indicator(values)]
    if len(read) == len(named) == 1:
        (values,) = read.values()
        _refuse_unnamed(of_user, _is_absent(values), argument, label)
        codes, distinct = _factorize(values, argument)
        return Membership(distinct, as_readonly(own), as_readonly(codes), is_disjoint=True)
    names: list[Any] = []
    entries: list[tuple[IntVector, IntVector]] = []
    n_parts = np.zeros(own.shape[0], np.int64)
    for name, values in read.items():
        if name in named:
            _refuse_unnamed(of_user, _is_absent(values), argument, label)
            codes, distinct = _factorize(values, argument)
            parts = [f"{name}={x}" for x in distinct] if len(named) > 1 else distinct
            positions = np.arange(own.shape[0])
        else:
            positions = np.flatnonzero(values)
            codes, parts = np.zeros(positions.shape[0], np.int64), [name]
        entries.append((positions, codes + len(names)))
        n_parts[positions] += 1
        names += parts
    _refuse_unnamed(of_user, n_parts == 0, argument, label)
    positions, codes = map(np.concatenate, zip(*entries, strict=True))
    several = n_parts > 1
    if overlap == "raise" and several.any():
        first = int(np.argmax(several))
        some = " and ".join(plain_repr(names[code]) for code in codes[positions == first][:2])
        raise InvalidInputError(
            f"{argument} must have one {argument[:-1]} for each row; found "
            f"{np.count_nonzero(several)} rows of several, the first at index {of_user[first]}: "
            f"{some}. overlap='count' counts them in each"
        )
    return Membership(names, own[positions], as_readonly(codes), is_disjoint=not several.any())


def _factorize(values: npt.NDArray[Any], argument: str) -> tuple[IntVector, list[Any]]:
    if not values.shape[0]:
        return np.zeros(0, np.int64), []
    if values.dtype == object and {*map(type, values.tolist())} == {int}:
        values = np.array(values.tolist())  # beside missing values, which are gone
    codes, distinct = factorize(values, argument, RowIndex(values.shape[0]))
    return codes, python_values(distinct)


def _read(column: Any, labels: Labels, name: str) -> npt.NDArray[Any]:
    """Return a column, which may have missing values in rows of the other class."""
    # A list would become strings, of what is missing too.
    values = np.array(column, object) if isinstance(column, list) else converted(column, name)
    if values.ndim != 1 or values.shape[0] != labels.n_rows:
        raise InvalidInputError(
            f"{name} must have one value for each label; found shape {values.shape} for "
            f"{labels.n_rows} labels"
        )
    labels.row_index.check(column, name)
    return values


def _is_indicator(values: npt.NDArray[Any]) -> bool:
    return values.dtype == np.bool_ or (
        values.dtype == object and all(type(x) is bool for x in values.tolist())
    )


def _is_absent(values: npt.NDArray[Any]) -> BoolVector:
    """Return which names are missing; an empty string is no name."""
    missing = is_missing(values)
    if values.dtype.kind in "USTO":
        # Some missing values cannot be compared.
        present = np.flatnonzero(~missing)
        missing[present] = values[present] == ""
    return missing


def _refuse_unnamed(rows: IntVector, missing: BoolVector, argument: str, label: int) -> None:
    if missing.any():
        each = "anomaly (label 1)" if label else "normal sample (label 0)"
        raise InvalidInputError(
            f"{argument} must name the {argument[:-1]} of each {each}; found "
            f"{np.count_nonzero(missing)} without, the first at index {rows[np.argmax(missing)]}"
        )

"""Kinds of anomalies and segments of normals: which rows of one class belong to which of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import RowIndex, as_readonly, python_values
from fastad._core.frames import codes_of, is_missing, table_columns, with_gaps
from fastad._core.parameters import plain_repr
from fastad._core.threads import slices, thread_map
from fastad._core.types import BoolVector, CountVector, IntMatrix, IntVector
from fastad._kernels.ordering import kinds as kernels
from fastad.errors import InvalidInputError
from fastad.ordering.groups import factorize
from fastad.ordering.labels import Labels

# Treatment of rows that belong to several.
OVERLAPS = ("raise", "count")
Overlap = Literal["raise", "count"]
# Parts that may have no rows.
_MOST_INTEGERS = 2**12


@dataclass(frozen=True, slots=True, eq=False)
class Membership:
    """Rows of each part of a class: kinds of anomalies, or segments of normals."""

    names: Sequence[Any]  # of which some may have no rows
    own: BoolVector  # (n_rows,) rows of the class
    codes: IntVector  # (n_entries,) positions of the parts
    # (n_entries,): a row of several parts has several entries. None where each row is an entry, and
    # codes of rows of the other class have no meaning.
    rows: IntVector | None = None
    # (n_names,) column of each part, by its position, and the value there, which order parts of
    # several batches; None for the names of a single column.
    sources: Sequence[tuple[int, Any]] | None = None

    @property
    def is_disjoint(self) -> bool:
        """Whether no row belongs to several parts."""
        return self.rows is None

    def source(self, part: int) -> tuple[int, Any]:
        """Return the position of the column that a part comes from, and the value there."""
        return (0, self.names[part]) if self.sources is None else self.sources[part]

    def of_entries(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values of the rows of the entries."""
        return as_readonly(values if self.rows is None else values[self.rows])

    def count(self, chosen: BoolVector, weights: CountVector | None = None) -> IntMatrix:
        """Return the numbers of rows of each part, and below them of the chosen rows among them.

        With integer weights their sums.
        """
        own, chosen = self.of_entries(self.own), self.of_entries(chosen)
        weights = None if weights is None else self.of_entries(weights)
        one = as_readonly(np.ones(1, np.int64))

        def count(some: slice) -> IntMatrix:
            counts = np.zeros((3, len(self.names)), np.int64)
            of_each = one if weights is None else weights[some]
            kernels.count_parts(self.codes[some], own[some], chosen[some], of_each, counts)
            return counts

        counted = thread_map(count, slices(self.codes.shape[0]))
        _, others, theirs = np.sum(counted, axis=0)
        return np.stack([others + theirs, theirs])

    def take(self, rows: IntVector) -> "Membership":
        """Return the parts of some of the rows, which rise and are numbered anew."""
        own = as_readonly(self.own[rows])
        if self.rows is None:
            return replace(self, own=own, codes=as_readonly(self.codes[rows]))
        new = np.searchsorted(rows, self.rows)
        kept = np.append(rows, -1)[new] == self.rows
        return replace(self, own=own, rows=new[kept], codes=as_readonly(self.codes[kept]))

    def beside(self, others: BoolVector) -> Iterator[tuple[Any, BoolVector]]:
        """Yield the parts that have rows, and which rows are theirs or among the others."""
        for i, name in enumerate(self.names):
            entries = np.flatnonzero((self.codes == i) & self.of_entries(self.own))
            if entries.shape[0]:
                rows = others.copy()
                rows[entries if self.rows is None else self.rows[entries]] = True
                yield name, rows


def check_membership(
    columns: Any, labels: Labels, argument: str, label: int, overlap: Overlap
) -> Membership:
    """Check the parts of the rows with a label; parts of other rows are not read.

    A vector has the name of the part of each row. In a mapping or table, columns of booleans say
    which rows belong to the part that they are called, and other columns have names.
    """
    is_anomalous = labels.values.view(np.bool_)
    own = as_readonly(is_anomalous if label else ~is_anomalous)
    table: list[tuple[str | None, Any]] = [(None, columns)]
    table = [*(table_columns(columns, argument) or table)]
    read = {
        name: _read(column, labels, argument if name is None else f"{argument}[{name!r}]")
        for name, column in table
    }
    if len(read) == 1:
        (values,) = read.values()
        if (few := _few_integers(values)) is not None:
            return Membership(few[0], own, as_readonly(few[1]))
    rows = np.flatnonzero(own)
    of_user = rows if labels.rows is None else labels.rows[rows]
    read = {name: values[rows] for name, values in read.items()}
    named = [name for name, values in read.items() if name is None or not _is_indicator(values)]
    names: list[Any] = []
    sources: list[tuple[int, Any]] = []
    entries: list[tuple[IntVector, IntVector]] = []
    for column, (name, values) in enumerate(read.items()):
        positions = np.arange(rows.shape[0])
        if name in named:
            _refuse_unnamed(of_user, _is_absent(values), argument, label)
            codes, distinct = _factorize(values, argument)
            parts = [f"{name}={x}" for x in distinct] if len(named) > 1 else distinct
        else:
            positions = np.flatnonzero(values)
            codes, parts = np.zeros(positions.shape[0], np.int64), [name]
            distinct = parts
        sources += [(column, value) for value in distinct]
        entries.append((positions, codes + len(names)))
        names += parts
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise InvalidInputError(
            f"{argument} must have another name for each {argument[:-1]}; found "
            f"{plain_repr(twice[0])} in several columns"
        )
    positions, codes = map(np.concatenate, zip(*entries, strict=True))
    n_parts = np.bincount(positions, minlength=rows.shape[0])
    _refuse_unnamed(of_user, n_parts == 0, argument, label)
    several = n_parts > 1
    if not several.any():
        of_rows = np.zeros(own.shape[0], np.int64)
        of_rows[rows[positions]] = codes
        # The codes of rows of the other class must be of a part, too.
        return Membership(names or [None], own, as_readonly(of_rows), None, sources or None)
    if overlap == "raise":
        first = int(np.argmax(several))
        some = " and ".join(plain_repr(names[code]) for code in codes[positions == first][:2])
        raise InvalidInputError(
            f"{argument} must have one {argument[:-1]} for each row; found "
            f"{np.count_nonzero(several)} rows of several, the first at index {of_user[first]}: "
            f"{some}. overlap='count' counts them in each"
        )
    return Membership(names, own, as_readonly(codes), rows[positions], sources)


def _few_integers(values: npt.NDArray[Any]) -> tuple[range, IntVector] | None:
    """Return a range of all integers between the lowest and the highest, and positions in it.

    None of other values, and where there are many integers, which may have few rows each.
    """
    if values.dtype.kind not in "iu" or values.dtype == np.uint64:
        return None
    ends = thread_map(lambda x: (values[x].min(), values[x].max()), slices(values.shape[0]))
    lowest, highest = int(min(low for low, _ in ends)), int(max(high for _, high in ends))
    if highest - lowest >= _MOST_INTEGERS:
        return None
    codes = values.astype(np.int64, copy=False)
    return range(lowest, highest + 1), codes - lowest if lowest else codes


def _factorize(values: npt.NDArray[Any], argument: str) -> tuple[IntVector, list[Any]]:
    if not values.shape[0]:
        return np.zeros(0, np.int64), []
    if values.dtype == object and {*map(type, values.tolist())} == {int}:
        values = np.array(values.tolist())  # beside missing values, which are gone
    codes, distinct = factorize(values, argument, RowIndex(values.shape[0]))
    return codes, python_values(distinct)


def _read(column: Any, labels: Labels, name: str) -> Any:
    """Return a column of the rows in use, which may have missing values in the other class.

    Pandas' categories stay what they are, but for booleans; others become an array.
    """
    values, coded = getattr(column, "array", column), codes_of(column)
    if coded is None or coded[1].dtype == np.bool_:
        # A list would become strings, of what is missing too.
        values = np.array(column, object) if isinstance(column, list) else with_gaps(column, name)
    if values.ndim != 1 or values.shape[0] != labels.n_rows:
        raise InvalidInputError(
            f"{name} must have one value for each label; found shape {values.shape} for "
            f"{labels.n_rows} labels"
        )
    labels.row_index.check(column, name)
    return values if labels.rows is None else values[labels.rows]


def _is_indicator(values: Any) -> bool:
    return values.dtype == np.bool_ or (
        values.dtype == object and all(type(x) is bool for x in values.tolist())
    )


def _is_absent(values: Any) -> BoolVector:
    """Return which names are missing; an empty string is no name."""
    if (coded := codes_of(values)) is not None:
        codes, categories = coded
        return np.append(_is_absent(categories), True)[codes]  # the last one of code -1
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

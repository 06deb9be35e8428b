"""Tables of counts that a database made, in place of labels and scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastad._core.text_tables import count_text
from fastad._core.types import FloatVector
from fastad._tables.columns import Names, Numbers, Role
from fastad._tables.errors import TableError
from fastad._tables.table import Batch, Table
from fastad.errors import InvalidInputError
from fastad.streaming.sketches.bins import bins_of, exact_floats, ranges_of
from fastad.streaming.sketches.cells import ScoreCells

_COUNTS = ("normals", "anomalies")
# Lowest and highest score of each range, or the upper edge of a bucket of Prometheus, whose counts
# are cumulative.
_RANGE, _BUCKET = ("low", "high"), ("le",)
# Rows that the query could not count; a column that may be absent.
_OTHERS = "others"


def is_counts(table: Table, label_column: str) -> bool:
    """Tell whether a table has counts: by its columns, and as it has none of labels."""
    names = set(table.names)
    return label_column not in names and any(
        names.issuperset((*_COUNTS, *ends)) for ends in (_RANGE, _BUCKET)
    )


def read_counts(table: Table, group_columns: Sequence[str]) -> Batch:
    """Read the columns of counts and of groups; refuse rows that the database could not count."""
    ends = _RANGE if set(_RANGE) <= set(table.names) else _BUCKET
    numbers = [*ends, *_COUNTS, *((_OTHERS,) if _OTHERS in table.names else ())]
    table.check(numbers, "source")
    roles: dict[str, Role] = {name: Names() for name in group_columns}
    values = table.read({**roles, **{name: Numbers(may_miss=name in ends) for name in numbers}})
    columns = {name: np.asarray(values[name]) for name in numbers}
    n_others = int(columns.get(_OTHERS, np.zeros(1)).sum())
    if n_others:
        raise TableError(
            f"{table.title}: column {_OTHERS!r} must be 0; found {count_text(n_others, 'row')} "
            "whose label is neither 0 nor 1"
        )
    for name in ends:
        n_missing = int(np.count_nonzero(np.isnan(columns[name])))
        if n_missing:
            raise TableError(
                f"{table.title}: column {name!r} must be a score; found "
                f"{count_text(n_missing, 'row')} without one: the scores of some samples are NULL "
                "or NaN"
            )
    return Batch(values, table.title, len(columns[_COUNTS[0]]))


def cells_of(batch: Batch, rows: Any) -> ScoreCells:
    """Return the counts in some rows as cells."""
    some = {name: values[rows] for name, values in batch.columns.items()}
    try:
        if _BUCKET[0] not in some:
            low, high = (exact_floats(some[name], name) for name in _RANGE)
            return ranges_of(low, high, some["normals"], some["anomalies"])
        return _of_buckets(exact_floats(some["le"], "le"), some["normals"], some["anomalies"])
    except InvalidInputError as error:
        raise TableError(f"{batch.where}: {error}") from None


def _of_buckets(le: FloatVector, normals: Any, anomalies: Any) -> ScoreCells:
    """Return the ranges between the upper edges of cumulative buckets."""
    order = np.argsort(le, kind="stable")
    if le[order[-1]] != np.inf:
        raise InvalidInputError(
            f"le must end with +Inf, the number of all samples; found {le[order[-1]]:g}"
        )
    counts = {}
    for name, cumulative in zip(_COUNTS, (normals, anomalies), strict=True):
        rising = cumulative[order]
        falls = rising[1:] < rising[:-1]
        if falls.any():
            first = le[order[int(np.argmax(falls)) + 1]]
            raise InvalidInputError(
                f"{name} must not fall with le, as they are cumulative; found a fall at {first:g}"
            )
        counts[name] = np.diff(rising, prepend=rising.dtype.type(0))
    edges = np.concatenate([[-np.inf], le[order]])
    return bins_of(edges, counts["normals"], counts["anomalies"], "right")

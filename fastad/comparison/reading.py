"""Reading a tidy table: its columns, and numbers for what is named in them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._frames import Frameable, table_columns
from fastad._kernels import groups as kernels
from fastad._types import IntVector
from fastad._validate import fixed
from fastad.comparison.columns import texts
from fastad.errors import InvalidInputError
from fastad.grouping import factorize

# Between the parameters of a model, where no text has it.
_BETWEEN = "\x1f"


def table_of(table: Any) -> dict[str, Any]:
    """Return the columns of a table by name."""
    if isinstance(table, Frameable):
        return table.to_columns()
    columns = table_columns(table, "table")
    if columns is None:
        raise TypeError(
            "table must be a data frame, a mapping of columns, an evaluation or a ResultTable; "
            f"found {type(table).__name__}"
        )
    return dict(columns)


def key_names(wanted: Any, argument: str) -> list[str]:
    """Return the names of columns that an argument gives: one, or a sequence of them."""
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must be the name of a column, or several; found {wanted!r}")
    return list(names)


def check_lengths(columns: Mapping[str, Any], keys: Sequence[str]) -> int:
    """Check that all columns are as long as that of the first key; return how long."""
    lengths = {}
    for name, column in columns.items():
        try:
            lengths[name] = len(column)
        except TypeError:
            raise InvalidInputError(
                f"table[{name!r}] must be a column; found {type(column).__name__}"
            ) from None
    n_rows = lengths[keys[0]]
    for name, n in lengths.items():
        if n != n_rows:
            raise InvalidInputError(
                f"table must have columns of one length; found {n_rows} rows of {keys[0]!r} and "
                f"{n} of {name!r}"
            )
    if n_rows == 0:
        raise InvalidInputError("table must not be empty; found no row")
    return n_rows


def combined(
    columns: Sequence[tuple[IntVector, npt.NDArray[Any]]], n_rows: int
) -> tuple[IntVector, list[Any]]:
    """Return the code of each row and the names, tuples of several columns."""
    if not columns:
        return np.zeros(n_rows, np.int64), [None]
    if len(columns) == 1:
        codes, names = columns[0]
        return codes, names.tolist()
    codes, places = numbered([codes for codes, _ in columns])
    parts = [names[place].tolist() for (_, names), place in zip(columns, places, strict=True)]
    return codes, list(zip(*parts, strict=True))


def numbered(columns: Sequence[IntVector]) -> tuple[IntVector, list[IntVector]]:
    """Number the combinations of codes that occur; return also the codes of each."""
    joined = columns[0]
    for codes in columns[1:]:
        if codes.any():
            joined = np.unique(joined * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    joined = fixed(joined.astype(np.int64, copy=False))
    first = np.empty(int(joined.max()) + 1, np.int64)
    kernels.first_rows(joined, first)
    return joined, [codes[first] for codes in columns]


def given_names(given: Any, n: int, argument: str) -> npt.NDArray[Any]:
    """Return n names, by default whole numbers, as entries that may be tuples."""
    try:
        names = list(range(n)) if given is None else list(given)
    except TypeError:
        raise TypeError(f"{argument} must be a sequence of names; found {given!r}") from None
    if len(names) != n:
        raise InvalidInputError(f"{argument} must have {n} names; found {len(names)}")
    entries = np.empty(n, object)
    entries[:] = names
    return entries


def parameters(
    columns: Mapping[str, Any], names: Sequence[str], n_rows: int
) -> tuple[IntVector, list[str]]:
    """Return the code of each row's parameters, and how they read."""
    if not names:
        return np.zeros(n_rows, np.int64), [""]
    rows = zip(*(texts(columns[name], f"table[{name!r}]") for name in names), strict=True)
    # What is missing differs from every text.
    whole = [_BETWEEN.join("" if cell is None else f"={cell}" for cell in row) for row in rows]
    codes, distinct = factorize(np.array(whole, object), "table", n_rows)
    shown = []
    for text in distinct.tolist():
        cells = text.split(_BETWEEN)
        if len(names) == 1:
            shown.append(cells[0][1:])
        else:
            given = zip(names, cells, strict=True)
            shown.append(", ".join(f"{name}{cell}" for name, cell in given if cell))
    return codes, shown


def problem_names(datasets: Sequence[Any], classes: Sequence[Any] | None) -> list[str]:
    """Return how each data set is named, with the class of its anomalies."""
    if classes is None:
        return [_as_text(name) for name in datasets]
    return [f"{_as_text(name)} {one}" for name, one in zip(datasets, classes, strict=True)]


def _as_text(name: Any) -> str:
    return " ".join(str(part) for part in name) if isinstance(name, tuple) else str(name)

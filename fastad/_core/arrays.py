"""Validation of arrays and of their index of rows, and read-only views of arrays."""

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from fastad._core.frames import as_array, is_absent, refuse_missing
from fastad._core.parameters import plain_repr, short_repr
from fastad._core.text_tables import some_of
from fastad._core.types import ArrayLike, ScoreVector
from fastad.errors import InvalidInputError

_PLAIN = {bool, int, float}
_STRINGS: dict[str, type] = {"U": str, "S": bytes}
# Columns that a message names.
_MAX_NAMES = 4
# NumPy's mark of types that another library has registered.
_OF_A_USER = 2

# Options of tables with a value for each row.
_OPTIONS_OF_ROWS = ("sample_weight", "clusters", "kinds", "segments")


def real_vector(values: ArrayLike, name: str) -> ScoreVector:
    """Check that an argument is a vector of booleans, integers or floats of a native type."""
    vector = as_vector(values, name)
    if vector.dtype == object:
        vector = read_numbers(vector, name)
    kind = vector.dtype.kind
    if kind not in "biuf" or vector.dtype.itemsize > 8:
        raise InvalidInputError(
            f"{name} must contain booleans, integers or floats of at most 64 bits; "
            f"found {describe_type(vector)}"
        )
    return vector if vector.dtype.isnative else vector.astype(vector.dtype.newbyteorder("="))


def read_numbers(objects: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return an array of objects as one of numbers; as it is where an entry is no real number.

    Fractions, decimals and integers of more than 64 bits are read where they equal a float, or the
    float stands for the decimal, and refused elsewhere.
    """
    entries = objects.tolist()
    kinds = set(map(type, entries))
    if not kinds <= _PLAIN:
        refuse_missing(np.array([is_absent(entry) for entry in entries], np.bool_), name)
        if not all(map(_is_number, kinds)):
            return objects
    numbers = np.array(entries)
    if numbers.dtype == object:
        _refuse_rounded(entries, name)
        return numbers.astype(np.float64)
    refuse_merged(entries, numbers, name)
    return numbers


def refuse_merged(values: Any, array: npt.NDArray[Any], name: str) -> None:
    """Refuse integers of a list or a column that its array has rounded to floats.

    NumPy and the libraries of columns make integers floats where they stand beside floats or
    missing values, or where no type of integers has all of them.
    """
    # As a scalar of NumPy's, since 2^53 is no float16.
    is_large = array.dtype.kind == "f" and np.any(np.abs(array) >= np.float64(2**53))
    if is_large and _may_hold_integers(values):
        _refuse_rounded(values.to_pylist() if hasattr(values, "to_pylist") else values, name)


def _refuse_rounded(entries: Iterable[Any], name: str) -> None:
    """Refuse numbers that are no floats themselves, and that a float would round."""
    for i, entry in enumerate(entries):
        if not isinstance(entry, float | np.floating) and _is_rounded(entry):
            raise InvalidInputError(
                f"{name} must contain numbers that a single type holds; found "
                f"{plain_repr(entry)} at index {i}, which a float would round. Give an array of "
                "int64, uint64 or float64, without missing values"
            )


def _is_rounded(entry: Any) -> bool:
    """Return whether an entry is a number that no float is, or stands for."""
    if not _is_number(type(entry)):
        return False
    # NumPy compares its integers as floats.
    number = int(entry) if isinstance(entry, Integral) else entry
    try:
        nearest = float(number)
    except (OverflowError, ValueError):  # it is too large, or a decimal that signals
        return True
    # A float stands for its shortest decimal, so that no two decimals become one.
    exact = Decimal(repr(nearest)) if isinstance(number, Decimal) else nearest
    return bool(exact != number) and not math.isnan(nearest)


def _is_number(kind: type) -> bool:
    return issubclass(kind, Real | Decimal | np.bool_) and not issubclass(kind, np.timedelta64)


def _may_hold_integers(values: Any) -> bool:
    """Return whether integers may stand beside floats, or in a column beside missing values."""
    kind = getattr(values, "dtype", getattr(values, "type", None))
    if isinstance(kind, np.dtype) and kind.kind != "O":
        return False
    # Only the float types of columns have names of their own.
    return not any(word in str(kind).lower() for word in ("float", "double"))


def check_no_nan(scores: ScoreVector, name: str, rows: npt.NDArray[np.int64] | None = None) -> None:
    """Check scores for NaN, where no kernel that reads them says so; they may be none at all."""
    if scores.shape[0] and scores.dtype.kind == "f" and np.isnan(scores.max()):
        refuse_nan(scores, name, rows)


def refuse_nan(
    scores: ScoreVector, name: str, rows: npt.NDArray[np.int64] | None, *, hint: str = ""
) -> NoReturn:
    """Raise the error that says how many scores are NaN and where the first is."""
    bad = np.isnan(scores)
    first = int(np.argmax(bad))
    raise InvalidInputError(
        f"{name} must not contain NaN; found {np.count_nonzero(bad)}, "
        f"the first at index {first if rows is None else int(rows[first])}{hint}"
    )


def refuse_wrong(wrong: Any, values: npt.NDArray[Any], name: str, must: str) -> None:
    """Refuse values of which some are wrong; the error says how many, and the first."""
    if np.any(wrong):
        first = int(np.argmax(wrong))
        raise InvalidInputError(
            f"{name} must {must}; found {np.count_nonzero(wrong)} other values, the first at "
            f"index {first}: {values[first]}"
        )


def as_readonly(vector: npt.NDArray[Any], bits: type | None = None) -> npt.NDArray[Any]:
    """Return a contiguous read-only view (a copy if strided): one compiled signature a type.

    ``bits`` is the type as which the view reads the memory, by default the vector's type.
    """
    contiguous = np.ascontiguousarray(vector)
    view: npt.NDArray[Any] = contiguous.view() if bits is None else contiguous.view(bits)
    view.setflags(write=False)
    return view


def set_readonly(vector: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array read-only that is contiguous and that nobody else writes to."""
    vector.setflags(write=False)
    return vector


def set_all_readonly(*arrays: npt.NDArray[Any]) -> None:
    """Make the arrays of a result read-only."""
    for array in arrays:
        set_readonly(array)


def python_values(values: npt.NDArray[Any]) -> list[Any]:
    """Return values as Python's types; NumPy's dates of finer units stay as they are."""
    listed: list[Any] = values.tolist()
    if values.dtype.kind not in "mM" or not any(isinstance(value, int) for value in listed):
        return listed
    # NumPy makes integers of nanoseconds, in which pandas writes dates.
    micros = values.astype(f"{values.dtype.kind}8[us]")
    return [
        micro.item() if micro == value else value
        for micro, value in zip(micros, values, strict=True)
    ]


def as_vector(values: ArrayLike, name: str) -> npt.NDArray[Any]:
    """Check that an argument is a vector of at least one value, of whatever type."""
    if type(values) is np.ndarray:
        vector: npt.NDArray[Any] = values
    else:
        vector = as_array(values, name)
        if vector.ndim == 1:
            vector = _unmerged(values, vector, name)
    if vector.ndim != 1:
        raise InvalidInputError(
            f"{name} must be one-dimensional; found {_shape_text(values, vector.shape)}"
            f"{two_classes_hint(vector, name)}"
        )
    if vector.shape[0] == 0:
        raise InvalidInputError(f"{name} must not be empty; found 0 values")
    if vector.dtype.isbuiltin == _OF_A_USER and np.can_cast(vector.dtype, np.float32):
        # Short floats and integers of machine learning, such as bfloat16.
        return vector.astype(np.float32)
    return vector


def _shape_text(values: Any, shape: tuple[int, ...]) -> str:
    """Return the shape of values that are no vector, or their type with the names of columns."""
    kind = type(values).__name__
    if isinstance(values, Mapping):
        return f"{kind} of {_some_names(values)}"
    # Of pandas and polars, and of pyarrow.
    names = getattr(values, "columns", None) if shape else None
    names = getattr(values, "column_names", names)
    if names is not None:
        return f"{kind} of shape {shape} with columns {_some_names(names)}"
    return f"shape {shape}" if shape else f"{kind} of shape ()"


def _some_names(names: Iterable[Any]) -> str:
    return some_of(list(map(short_repr, names)), _MAX_NAMES) or "nothing"


def two_classes_hint(matrix: npt.NDArray[Any], name: str) -> str:
    """Return the end of a message on a matrix that may be a classifier's ``predict_proba``."""
    if matrix.ndim != 2 or matrix.shape[1] != 2 or matrix.dtype.kind not in "biuf":
        return ""
    with np.errstate(invalid="ignore", over="ignore"):
        adds_up = matrix.shape[0] > 0 and np.allclose(matrix.sum(axis=1), 1)
    hint = f", which looks like the probabilities of two classes: pass {name}[:, 1]"
    return hint if adds_up else ""


def _unmerged(values: Any, vector: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return a vector in which different entries of a list or a column are still different."""
    refuse_merged(values, vector, name)
    kind = _STRINGS.get(vector.dtype.kind)
    if (
        kind is None
        or not isinstance(values, Sequence)
        or all(isinstance(entry, kind) for entry in values)
    ):
        return vector
    # NumPy would make strings of numbers and of NaN beside strings.
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects


def describe_type(vector: npt.NDArray[Any]) -> str:
    """Return how a message calls the type of a vector."""
    kinds = {
        **{"c": "complex numbers", "U": "strings", "T": "strings", "S": "bytes"},
        **{"M": "dates", "m": "durations"},
    }
    if vector.dtype.kind == "O":
        example = next((x for x in vector if not _is_number(type(x))), vector[0])
        return f"objects such as {short_repr(example)}"
    return f"{kinds.get(vector.dtype.kind, 'type')} ({vector.dtype})"


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


def check_option_rows(arguments: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Check the rows of arguments, and of the options of tables that have a value for each row."""
    of_rows = dict(arguments)
    for name in _OPTIONS_OF_ROWS:
        given = options.get(name)
        columns = given.items() if isinstance(given, Mapping) else ()
        of_rows |= {f"{name}[{key!r}]": each for key, each in columns} or {name: given}
    check_rows(of_rows)


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

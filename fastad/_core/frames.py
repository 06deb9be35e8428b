"""Data frames of whatever library is installed, in and out, through narwhals."""

import importlib.util
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone, tzinfo
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from fastad._core.extras import import_extra
from fastad._core.types import BoolVector, IntVector
from fastad.errors import InvalidInputError, MissingExtraError

FrameLibrary: TypeAlias = Literal["pandas", "polars", "pyarrow"]
_LARGEST_INT64 = 2**63 - 1
_LIBRARIES = ("pandas", "polars", "pyarrow")
_NEVER_MISSING = {str, bytes, int, bool}


def frame(columns: Mapping[str, Sequence[Any]], library: FrameLibrary | None) -> Any:
    """Return columns as a frame of a library, by default the first that is installed."""
    if library is not None and library not in _LIBRARIES:
        raise InvalidInputError(
            f"library must be one of {', '.join(_LIBRARIES)}; found "
            f"{repr(library) if isinstance(library, str) else type(library).__name__}"
        )
    candidates = _LIBRARIES if library is None else (library,)
    installed = [name for name in candidates if importlib.util.find_spec(name) is not None]
    if not installed:
        raise MissingExtraError(f"to_frame needs {' or '.join(candidates)}; install one of them")
    typed = {name: _of_one_type(cells) for name, cells in columns.items()}
    return _narwhals("to_frame").from_dict(typed, backend=installed[0]).to_native()


def _of_one_type(cells: Sequence[Any]) -> Any:
    """Return cells of no one type as text, but integers beside floats as floats (+inf is one)."""
    kinds = {type(cell) for cell in cells}
    present = kinds - {type(None)}
    are_numbers = bool not in present and all(issubclass(kind, Real) for kind in present)
    is_text = len(present) > 1 and not are_numbers
    if present == {int}:
        integers = [cell for cell in cells if cell is not None]
        low, high = min(integers), max(integers)
        if kinds == present and low >= 0 and _LARGEST_INT64 < high < 2**64:
            return np.array(cells, np.uint64)
        # A float would merge integers of more bits, which may name groups.
        is_text = low < -(2**63) or high > _LARGEST_INT64
    if is_text:
        return [None if is_missing_entry(cell) else str(cell) for cell in cells]
    if kinds >= {int, float}:
        return [float(cell) if isinstance(cell, int) else cell for cell in cells]
    return cells


def table_columns(table: Any, name: str) -> list[tuple[str, Any]] | None:
    """Return the columns of a mapping or a table with their names; None if it is neither."""
    kind = type(table)
    if isinstance(table, Mapping):
        names = list(table)
    elif hasattr(kind, "collect"):
        raise InvalidInputError(f"{name} must be in memory; found a {kind.__name__} to collect")
    elif hasattr(kind, "column_names") and hasattr(kind, "__getitem__"):
        names = list(table.column_names)
    elif hasattr(kind, "columns") and hasattr(kind, "__getitem__"):
        names = list(table.columns)
    else:
        return None
    if not names:
        raise InvalidInputError(f"{name} must contain at least one column; found none")
    try:
        strings = [str(column) for column in names]
    except ValueError as error:  # an integer of too many digits
        raise InvalidInputError(f"{name} must have shorter names of columns: {error}") from None
    if len(set(strings)) < len(names):
        raise InvalidInputError(f"{name} must name each column once; found equal names")
    return [(string, table[column]) for string, column in zip(strings, names, strict=True)]


def column_names(table: Any) -> list[str] | None:
    """Return the names of the columns of a table; None if it has none, or numbers for names."""
    kind = type(table)
    attribute = next((each for each in ("column_names", "columns") if hasattr(kind, each)), None)
    if attribute is None:
        return None
    names = list(getattr(table, attribute))
    return names if all(isinstance(name, str) for name in names) else None


def as_array(values: Any, name: str) -> npt.NDArray[Any]:
    """Return values as an array, without a copy where that is possible.

    NumPy turns columns of nullable types into arrays of objects: those go through narwhals, and
    must not have missing values.
    """
    if type(values) is np.ndarray:
        return values
    array = converted(values, name)
    if array.dtype != object or not _is_of_library(values):
        return array
    narwhals = _narwhals(f"{name}, a column of a nullable type,")
    series = narwhals.from_native(values, series_only=True, pass_through=True)
    if series is values:
        return array
    missing = series.is_null().to_numpy()
    refuse_missing(missing, name)
    return np.asarray(series.to_numpy())


def as_matrix(table: Any, name: str) -> npt.NDArray[Any]:
    """Return a table as an array; NumPy turns frames with columns of several types into objects."""
    array = as_array(table, name)
    if array.dtype != object or array.ndim != 2 or column_names(table) is None:
        return array
    columns = table_columns(table, name) or []
    vectors = {column: as_array(values, f"{name}[{column!r}]") for column, values in columns}
    for column, vector in vectors.items():
        if vector.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"{name} must contain numbers; found {vector.dtype} in column {column!r}"
            )
    return np.column_stack(list(vectors.values()))


def converted(values: Any, name: str, expected: str = "be one-dimensional") -> npt.NDArray[Any]:
    """Return values as NumPy's array; refusals of NumPy and of libraries name the argument.

    ``expected`` completes "must" in the message for lists of lists of different lengths.
    """
    refuse_masked(values, name)
    if callable(values) or hasattr(values, "fit"):  # ensembles of scikit-learn are sequences
        raise InvalidInputError(
            f"{name} must be an array; found {getattr(values, '__name__', type(values).__name__)}. "
            "Of a fitted detector pass the scores, higher for anomalies: decision_function(X) of "
            "PyOD, -decision_function(X) of scikit-learn. evaluate_unsupervised takes detectors"
        )
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name} must {expected}; found {error}") from None
    except Exception as error:
        # Libraries have their own errors for columns that NumPy cannot hold; tensors of PyTorch
        # raise these types.
        if not (_is_of_library(values) or isinstance(error, TypeError | RuntimeError)):
            raise
        raise InvalidInputError(f"{name} must be a column for NumPy; found {error}") from None


def with_gaps(values: Any, name: str) -> npt.NDArray[Any]:
    """Return a column as an array; integers some of which are missing as objects, exactly.

    NumPy would have them as floats, which merge large ones.
    """
    array = converted(values, name)
    kind = value_type(getattr(values, "dtype", getattr(values, "type", "")))
    if array.dtype.kind != "f" or not str(kind).lower().startswith(("int", "uint")):
        return array
    names = ("tolist", "to_list", "to_pylist")  # of pandas, polars and pyarrow
    to_list = next(getattr(values, each) for each in names if hasattr(values, each))
    return np.array(to_list(), object)


def value_type(dtype: Any) -> Any:
    """Return the type of the values of a column: of pandas' categories the type of these."""
    return getattr(getattr(dtype, "categories", None), "dtype", dtype)


def refuse_masked(values: Any, name: str) -> None:
    """Refuse a masked array."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidInputError(
            f"{name} must not be a masked array, whose mask would be lost; found one. Leave out "
            "the masked rows"
        )


def zone_of(column: Any) -> tzinfo | None:
    """Return the time zone of a column of pandas, polars or pyarrow; None where it has none."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    zone = getattr(dtype, "tz", getattr(dtype, "time_zone", None))
    if zone is None or isinstance(zone, tzinfo):
        return zone
    try:
        return ZoneInfo(zone)
    except (ValueError, ZoneInfoNotFoundError):
        pass
    try:
        return datetime.strptime(zone, "%z").tzinfo  # a fixed offset
    except ValueError:
        return timezone.utc


def in_zone(times: npt.NDArray[Any], zone: tzinfo) -> npt.NDArray[Any]:
    """Return times of UTC as datetimes of a zone, unless these cannot hold them.

    Each has its offset alone: two datetimes of one zone are equal if clocks show the same, as they
    do twice when summer time ends.
    """
    zoned = np.empty(times.shape, object)
    for i, time in enumerate(times):
        micros = time.astype("M8[us]").item()
        try:
            local = micros.replace(tzinfo=timezone.utc).astimezone(zone)
        except (AttributeError, OverflowError, TypeError):  # beyond the years of datetimes
            return times
        zoned[i] = local.replace(tzinfo=timezone(local.utcoffset()), fold=0)
        if np.datetime64(micros).astype(times.dtype) != time:  # rounded, or far beyond
            return times
    return zoned


def codes_of(column: Any) -> tuple[IntVector, npt.NDArray[Any]] | None:
    """Return codes, -1 for a missing value, and categories; None if pandas has none of a column."""
    categories = getattr(column, "array", column)  # of a series
    if not (hasattr(categories, "codes") and hasattr(categories, "categories")):
        return None
    return np.asarray(categories.codes, np.int64), np.asarray(categories.categories)


def _is_of_library(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] in _LIBRARIES


def is_missing(values: npt.NDArray[Any]) -> BoolVector:
    """Return which values are missing: NaN, NaT, None, or NA of pandas."""
    if values.dtype.kind in "fcmM":
        missing: BoolVector = np.isnan(values)
        return missing
    if values.dtype.kind not in "OT":
        return np.zeros(values.shape, np.bool_)
    entries = values.tolist()
    # Seen at once for strings, of which there are most.
    if set(map(type, entries)) <= _NEVER_MISSING:
        return np.zeros(values.shape, np.bool_)
    return np.array([is_missing_entry(entry) for entry in entries], np.bool_)


def is_missing_entry(entry: Any) -> bool:
    """Return whether an entry is missing: NaN, NaT, None, or NA of pandas."""
    if isinstance(entry, Decimal):
        return entry.is_nan()
    is_number = isinstance(entry, float | complex | np.number | np.datetime64)
    return is_absent(entry) or (is_number and bool(entry != entry))


def is_absent(entry: Any) -> bool:
    """Return whether an entry stands for no value: None, or NA or NaT of pandas."""
    return entry is None or type(entry).__name__ in ("NAType", "NaTType")


def refuse_missing(missing: BoolVector, name: str) -> None:
    """Refuse values some of which are missing; the message says how many and where."""
    if missing.any():
        raise InvalidInputError(
            f"{name} must not have missing values; found {np.count_nonzero(missing)}, the first "
            f"at index {int(np.argmax(missing))}"
        )


def _narwhals(purpose: str) -> Any:
    return import_extra("narwhals.stable.v2", purpose, extra="df")

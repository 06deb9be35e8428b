"""Cells of text, and roles of columns: numbers, names or labels, each checked in one place."""

import csv
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from reprlib import repr as short
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import python_values
from fastad._core.frames import in_zone, zone_of
from fastad._core.types import AnyVector, Label
from fastad._tables.errors import CellError, ColumnError, InexactColumnError
from fastad.errors import InvalidInputError

_DELIMITERS = ",;\t|"
# Cells that stand for a missing number or label. Of names only the empty cell is missing: NA is
# Namibia, too.
MISSING = ("", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "null", "NULL", "None")
_NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)[ \t]*",
    re.ASCII | re.IGNORECASE,
)
_TRUTHS = {"true": 1, "false": 0}
# From here on, neighbouring integers share a float64.
FLOATS_MERGE = 2.0**53
# More digits are infinite as a float.
_INTEGER = re.compile(r"[ \t]*([+-]?\d{1,300})(?:\.0*)?[ \t]*", re.ASCII)
# Columns of CSV parsers, Parquet and Arrow, and of NumPy's archives and Dask's partitions.
Values: TypeAlias = Any
MISSING_VALUE = "the value is missing"


def guess_delimiter(first: str, second: str) -> str:
    """Return the delimiter of the names in the first line, and of the cells in the second one."""
    # Names may contain a sign too, but rows have as many cells as there are names.
    return max(
        _DELIMITERS,
        key=lambda sign: (
            1 < _n_cells(first, sign) == _n_cells(second, sign),
            _n_cells(first, sign),
        ),
    )


def is_number(text: str) -> bool:
    """Return whether a cell is a number in ASCII digits, or an infinity."""
    return _NUMBER.fullmatch(text) is not None


def is_missing(text: str) -> bool:
    """Return whether a cell stands for a missing number or label."""
    return text.strip() in MISSING


def read_number(text: str) -> int | float:
    """Return a number, which is an integer if it is written so: a float would merge large ones."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def label_of(cell: str) -> int | float | str:
    """Return the label that a cell is: a number if it is one, 1 and 0 for true and false.

    "007" is a name, and not 7.
    """
    stripped = cell.strip()
    digits = stripped.lstrip("+-")
    if is_number(stripped) and not (digits[:1] == "0" and digits[1:2].isdigit()):
        return read_number(stripped)
    return _TRUTHS.get(stripped.lower(), stripped)


def _n_cells(line: str, delimiter: str) -> int:
    """Return the number of cells of a line; 0 where it cannot be read."""
    with suppress(csv.Error, StopIteration):
        return len(next(csv.reader([line], delimiter=delimiter)))
    return 0


class Numbers(NamedTuple):
    """Scores, features or measures, read as float64 where that rounds no integer."""

    may_miss: bool = False  # whether missing numbers are read, as NaN


class Names(NamedTuple):
    """Groups, clusters, data sets or parameters: text as it is written, other types as they are."""

    may_miss: bool = False  # whether missing names are read, as None


class Labels:
    """Labels, read as 1 for an anomaly and 0 for a normal sample.

    Without ``pos_label``, the label of the anomalies, labels are 0 and 1, or true and false. Normal
    samples must have one label in all rows; an instance remembers it from batch to batch.
    """

    def __init__(self, pos_label: Label | None = None) -> None:
        self.pos_label = pos_label
        self._others: list[Any] = []

    def convert(self, values: Values) -> npt.NDArray[np.uint8]:
        """Return 1 for each anomaly."""
        distinct, codes = _factorized(values)
        if distinct is None:
            numbers = _numbers(values, Numbers(), "a label")
            if self.pos_label is None:
                return _binary(numbers)
            labels, codes = np.unique(numbers, return_inverse=True)
            distinct = labels.tolist()
        ones = np.empty(len(distinct), np.uint8)
        for code, value in enumerate(distinct):
            try:
                ones[code] = self._is_anomaly(value)
            except ColumnError as error:
                raise CellError(int(np.argmax(codes == code)), str(error)) from None
        anomalous: npt.NDArray[np.uint8] = ones[codes]
        return anomalous

    def merge(self, other: "Labels") -> None:
        """Check the labels of other rows against the labels of these."""
        for value in other._others:
            self._add_other(value)

    def _is_anomaly(self, value: Any) -> bool:
        is_text = isinstance(value, str)
        label = label_of(value) if is_text else value
        positive = self.pos_label
        if positive is None:
            if is_text and is_missing(value):
                raise ColumnError(missing_text(value))
            if label in (0, 1) and not isinstance(label, str):
                return bool(label)
            raise ColumnError(_not_binary(value))
        if is_text and value == positive:
            return True
        if is_text and is_missing(value):
            raise ColumnError(missing_text(value))
        # Options of the command line are strings, whatever the labels are.
        if isinstance(positive, str):
            if not is_text and not isinstance(value, bool) and not is_number(positive):
                raise InvalidInputError(
                    f"pos_label must be a number, as the labels are; found {positive!r}"
                )
            # A number is neither true nor false, as words and booleans are.
            if is_number(positive) or not (is_text and is_number(value)):
                positive = label_of(positive)
        if label == positive:
            return True
        self._add_other(label)
        return False

    def _add_other(self, label: Any) -> None:
        if label not in self._others:
            self._others.append(label)
        if len(self._others) > 1:
            first, second = self._others
            raise ColumnError(
                f"must have one label beside pos_label={self.pos_label!r}; found {first!r} "
                f"and {second!r}"
            )


Role: TypeAlias = Numbers | Names | Labels


def convert(values: Values, role: Role, *, untyped: bool = False) -> Any:
    """Return values as their role has them, as an array of NumPy's.

    Integers beyond 2^53 with gaps stay an array of Arrow's, since no type of NumPy's holds them.
    ``untyped`` values are cells of a text file, of which the empty ones are missing.
    """
    if not isinstance(values, np.ndarray):
        values = _decoded(values)
    if isinstance(role, Labels):
        return role.convert(values)
    if isinstance(role, Names):
        return _names(values, role, untyped=untyped)
    return _numbers(values, role)


def to_numpy(values: Any) -> npt.NDArray[Any]:
    """Return an array of Arrow's as one of NumPy's; missing floats are NaN.

    Arrow's own conversion imports pandas where it is installed, which takes half a second.
    """
    from pyarrow import types  # Inside, as arrays need no pyarrow.

    if types.is_floating(values.type) and values.null_count:
        values = values.fill_null(float("nan"))
    if values.null_count or not (types.is_floating(values.type) or types.is_integer(values.type)):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    return np.from_dlpack(values)


def join_integers(parts: Sequence[Any]) -> Any:
    """Return batches of integers, which are floats where some are missing, as one Arrow array."""
    import pyarrow as pa  # Inside, as arrays need no pyarrow.

    arrays = [pa.array(part, from_pandas=True) for part in parts]
    kind = next(array.type for array in arrays if pa.types.is_integer(array.type))
    return pa.concat_arrays([array.cast(kind) for array in arrays])


def missing_text(cell: str) -> str:
    """Return the words of a message for a cell that stands for a missing value."""
    return "the cell is missing" if not cell.strip() else f"{cell!r} is a missing value"


def _numbers(values: Values, role: Numbers, what: str = "the value") -> Any:
    """Return numbers, which must not be NaN unless some may be missing."""
    if not isinstance(values, np.ndarray):
        values = _numbers_of_arrow(values, role)
        if not isinstance(values, np.ndarray):
            return values
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise ColumnError(f"must contain numbers; found {values.dtype}")
    if not role.may_miss and values.dtype.kind == "f" and values.size and np.isnan(values.max()):
        is_nan = np.isnan(values).reshape(values.shape[0], -1).any(axis=1)
        raise CellError(int(np.argmax(is_nan)), f"{what} must not be NaN")
    return values


def _names(values: Values, role: Names, *, untyped: bool) -> Any:
    """Return names: strings, or values of another type."""
    if role.may_miss and not isinstance(values, np.ndarray) and values.null_count:
        cells = np.empty(len(values), object)
        present = _names(values.drop_null(), role, untyped=untyped)
        cells[to_numpy(values.is_valid())] = python_values(present)
        return cells
    distinct, codes = _factorized(values)
    if distinct is not None:
        if untyped and "" in distinct:
            if role.may_miss:
                return np.array([cell or None for cell in distinct], object)[codes]
            row = np.argmax(codes == distinct.index(""))
            raise CellError(int(row), missing_text(""))
        return np.array(distinct, object if role.may_miss else np.str_)[codes]
    if not isinstance(values, np.ndarray):
        if values.null_count:
            raise CellError(_first_null(values), MISSING_VALUE)
        if (zone := zone_of(values)) is not None:
            encoded = values.dictionary_encode()
            return in_zone(to_numpy(encoded.dictionary), zone)[to_numpy(encoded.indices)]
        values = to_numpy(values)
    if values.dtype.kind in "fmM" and not role.may_miss:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
        if missing.any():
            raise CellError(int(np.argmax(missing)), MISSING_VALUE)
    return values


def integers_if_canonical(names: Sequence[Any]) -> list[Any]:
    """Return strings as integers if all are written as integers are: "007" is not 7."""
    try:
        integers = [int(name) for name in names]
    except (TypeError, ValueError):
        return list(names)
    same = all(str(integer) == name for integer, name in zip(integers, names, strict=True))
    in_range = all(-(2**63) <= integer < 2**63 for integer in integers)
    return integers if same and in_range else list(names)


def cells_to_floats(values: Any, column: str) -> AnyVector:
    """Return a column of text that was parsed as float64, unless that has rounded integers."""
    numbers = to_numpy(values)
    if numbers.size:
        # NaN is in neither.
        highest, lowest = np.fmax.reduce(numbers), np.fmin.reduce(numbers)
        if highest >= FLOATS_MERGE or lowest <= -FLOATS_MERGE:
            large = (np.abs(numbers) >= FLOATS_MERGE) & np.isfinite(numbers)
            if large.any():
                raise InexactColumnError(column)
    return numbers


def cells_to_exact(values: Any, kind: str) -> Any:
    """Return cells of text, all numbers or missing, as an Arrow array of a type."""
    import pyarrow as pa  # Inside, as arrays need no pyarrow.

    cells = [None if is_missing(cell) else cell for cell in values.to_pylist()]
    if kind == "float64":
        return pa.array([None if cell is None else float(cell) for cell in cells], kind)
    return pa.array([None if cell is None else _integer(cell) for cell in cells], kind)


class NumberSummary:
    """Facts on the numbers of a column of text, for a type that rounds no integer."""

    def __init__(self) -> None:
        self._all_integers = True
        self._lowest = self._highest = 0
        # The first integer that a float64 would round, and where it is.
        self.rounded: tuple[int, int, int] | None = None

    def add(self, cells: Sequence[str], file: int, first_row: int) -> None:
        """Add the cells of a batch, which are numbers or missing."""
        for row, cell in enumerate(cells, first_row):
            if is_missing(cell):
                continue
            integer = _integer(cell)
            if integer is None:
                if not is_number(cell):
                    raise CellError(row, f"{short(cell)} is not a number")
                self._all_integers = False
                continue
            self._lowest = min(self._lowest, integer)
            self._highest = max(self._highest, integer)
            if self.rounded is None and int(float(integer)) != integer:
                self.rounded = file, row, integer

    def kind(self) -> str | None:
        """Return the type that holds all numbers; None if there is none."""
        if max(self._highest, -self._lowest) < FLOATS_MERGE:
            return "float64"
        if self._all_integers:
            if self._lowest >= -(2**63) and self._highest < 2**63:
                return "int64"
            if self._lowest >= 0 and self._highest < 2**64:
                return "uint64"
        return "float64" if self.rounded is None else None

    def reason(self) -> str:
        """Return why no type holds all numbers."""
        assert self.rounded is not None
        why = "it stands beside numbers that are no integers"
        if self._all_integers:
            is_wide = max(self._highest, -self._lowest) >= 2**64
            beside = "has more than 64 bits" if is_wide else "stands beside negative numbers"
            why = f"it {beside}"
        return f"{self.rounded[2]} would be rounded to a float: {why}"


def _integer(cell: str) -> int | None:
    """Return the integer that a cell is, written with zeros behind a point or without."""
    found = _INTEGER.fullmatch(cell)
    return None if found is None else int(found[1])


def _binary(numbers: AnyVector) -> npt.NDArray[np.uint8]:
    """Return labels that are 0 and 1 already."""
    labels: npt.NDArray[np.uint8] = (numbers == 1).view(np.uint8)
    wrong = labels != numbers
    if wrong.any():
        row = int(np.argmax(wrong))
        raise CellError(row, _not_binary(numbers[row].item()))
    return labels


def _not_binary(value: Any) -> str:
    return (
        f"the label must be 0 (normal) or 1 (anomaly); found {value!r}. Name the anomalies' label "
        "with pos_label= if it is another"
    )


def _decoded(values: Any) -> Any:
    """Return the values of an array of Arrow's without its dictionary.

    A dictionary may have missing values, and values that no row has.
    """
    from pyarrow import types  # Inside, as arrays need no pyarrow.

    return values.cast(values.type.value_type) if types.is_dictionary(values.type) else values


def _factorized(values: Values) -> tuple[list[Any] | None, Any]:
    """Return the distinct strings and the code of each row; None for other values."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "U":
            distinct, codes = np.unique(values, return_inverse=True)
            return distinct.tolist(), codes
        if values.dtype.kind == "O" and all(isinstance(value, str) for value in values.flat):
            distinct, codes = np.unique(values.astype(np.str_), return_inverse=True)
            return distinct.tolist(), codes
        return None, None
    from pyarrow import types  # Inside, as arrays need no pyarrow.

    kind = values.type
    if types.is_nested(kind):
        raise ColumnError(f"must contain single values; found {kind}")
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        return None, None
    if values.null_count:
        raise CellError(_first_null(values), MISSING_VALUE)
    encoded = values.dictionary_encode()
    return encoded.dictionary.to_pylist(), to_numpy(encoded.indices)


def _numbers_of_arrow(values: Any, role: Numbers) -> Any:
    from pyarrow import compute, types  # Inside, as arrays need no pyarrow.

    if types.is_decimal(values.type):
        values = _floats_of_decimals(values)
    kind = values.type
    is_integer = types.is_integer(kind)
    if types.is_null(kind):
        values = values.cast("float64")
    elif not (is_integer or types.is_floating(kind) or types.is_boolean(kind)):
        raise ColumnError(f"must contain numbers; found {kind}")
    if values.null_count:
        if not role.may_miss:
            raise CellError(_first_null(values), MISSING_VALUE)
        if types.is_boolean(kind):
            values = values.cast("int8")
        if types.is_floating(kind):
            return to_numpy(values)
        if is_integer:
            extremes = compute.min_max(values).as_py()
            if max(-(extremes["min"] or 0), extremes["max"] or 0) > FLOATS_MERGE:
                return values
        values = values.cast("float64")
    return to_numpy(values)


def _floats_of_decimals(values: Any) -> Any:
    """Return decimals as float64, if these stand for no other decimals."""
    # Arrow's own cast is not correctly rounded.
    floats = values.cast("string").cast("float64")
    # Floats keep that many digits; more only if the shortest digits of the float are the same.
    if values.type.precision > sys.float_info.dig:
        for number, value in zip(floats.to_pylist(), values.to_pylist(), strict=True):
            if number is not None and Decimal(repr(number)) != value:
                raise ColumnError(
                    f"must contain numbers of at most 64 bits; found {values.type} with {value}, "
                    "which a float would round"
                )
    return floats


def _first_null(values: Any) -> int:
    first: int = values.is_null().index(True).as_py()
    return first

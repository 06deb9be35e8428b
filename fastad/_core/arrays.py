"""Validation of arrays, and read-only views of them."""

from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from fastad._core.frames import as_array
from fastad._core.parameters import short_repr
from fastad._core.types import ArrayLike, ScoreVector
from fastad.errors import InvalidInputError


def real_vector(values: ArrayLike, name: str) -> ScoreVector:
    """Check that an argument is a vector of booleans, integers or floats of a native type."""
    vector = as_vector(values, name)
    kind = vector.dtype.kind
    if kind not in "biuf" or vector.dtype.itemsize > 8:
        raise InvalidInputError(
            f"{name} must contain booleans, integers or floats of at most 64 bits; "
            f"found {describe_type(vector)}",
            argument=name,
        )
    # As a scalar of NumPy's, since 2^53 is no float16.
    if kind == "f" and _may_hold_integers(values) and np.any(np.abs(vector) >= np.float64(2**53)):
        _refuse_merged(values, name)
    return vector if vector.dtype.isnative else vector.astype(vector.dtype.newbyteorder("="))


def _may_hold_integers(values: ArrayLike) -> bool:
    """Return whether integers may stand beside floats, or in a column beside missing values."""
    if type(values) is np.ndarray:
        return False
    kind = getattr(values, "dtype", getattr(values, "type", ""))
    return isinstance(values, list | tuple) or "int" in str(kind).lower()


def _refuse_merged(values: Any, name: str) -> None:
    """Refuse integers that NumPy has made floats, because no integer type holds all entries."""
    for i, value in enumerate(values.to_pylist() if hasattr(values, "to_pylist") else values):
        if isinstance(value, Integral) and int(float(value)) != int(value):
            raise InvalidInputError(
                f"{name} must not mix integers that no single type holds; found {value} at "
                f"index {i}, which a float would round. Give an array of int64 or uint64",
                argument=name,
            )


def check_no_nan(scores: ScoreVector, name: str, rows: npt.NDArray[np.int64] | None = None) -> None:
    """Check scores for NaN, where no kernel that reads them says so; they may be none at all."""
    if scores.shape[0] and scores.dtype.kind == "f" and np.isnan(scores.max()):
        refuse_nan(scores, name, rows)


def refuse_nan(scores: ScoreVector, name: str, rows: npt.NDArray[np.int64] | None) -> NoReturn:
    """Raise the error that says how many scores are NaN and where the first is."""
    bad = np.isnan(scores)
    first = int(np.argmax(bad))
    raise InvalidInputError(
        f"{name} must not contain NaN; found {np.count_nonzero(bad)}, "
        f"the first at index {first if rows is None else int(rows[first])}",
        argument=name,
    )


def as_readonly(vector: npt.NDArray[Any], bits: type | None = None) -> npt.NDArray[Any]:
    """Return a contiguous read-only view (a copy if strided): one compiled signature a type.

    ``bits`` is the type as which the view reads the memory, by default that of the vector.
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
    """Return values as Python has them; those of NumPy's dates that are finer as they are."""
    listed: list[Any] = values.tolist()
    if values.dtype.kind not in "mM" or not any(isinstance(value, int) for value in listed):
        return listed
    # Of nanoseconds, in which pandas writes dates, NumPy makes integers.
    micros = values.astype(f"{values.dtype.kind}8[us]")
    return [
        micro.item() if micro == value else value
        for micro, value in zip(micros, values, strict=True)
    ]


def as_vector(values: ArrayLike, name: str) -> npt.NDArray[Any]:
    """Check that an argument is a vector of at least one value, of whatever type."""
    if type(values) is np.ndarray:
        vector: npt.NDArray[Any] = values
    elif isinstance(values, np.ma.MaskedArray):
        raise InvalidInputError(
            f"{name} must not be a masked array, whose mask would be lost; found one. Leave out "
            "the masked rows",
            argument=name,
        )
    else:
        vector = as_array(values, name)
    if vector.ndim != 1:
        raise InvalidInputError(
            f"{name} must be one-dimensional; found shape {vector.shape}", argument=name
        )
    if vector.shape[0] == 0:
        raise InvalidInputError(f"{name} must not be empty; found 0 values", argument=name)
    return vector


def describe_type(vector: npt.NDArray[Any]) -> str:
    """Return how a message calls the type of a vector."""
    kinds = {
        **{"c": "complex numbers", "U": "strings", "T": "strings", "S": "bytes"},
        **{"M": "dates", "m": "durations"},
    }
    if vector.dtype.kind == "O":
        example = next((x for x in vector if not isinstance(x, Real)), vector[0])
        return f"objects such as {short_repr(example)}"
    return f"{kinds.get(vector.dtype.kind, 'type')} ({vector.dtype})"

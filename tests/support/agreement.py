"""How results are compared."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fastad
from tests.support.oracles import UndefinedError


def outcome(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result of a call as bits that can be compared; "undefined" where it has none."""
    try:
        result = function(*arguments, **options)
    except fastad.UndefinedMeasureError:
        return "undefined"
    return bits(result)


def bits(result: Any) -> Any:
    """What two results share exactly if they are the same."""
    if isinstance(result, np.ndarray):
        if result.dtype == object:
            return ("object", tuple(bits(entry) for entry in result))
        return (result.dtype.str, result.shape, result.tobytes())
    if is_dataclass(result):
        return tuple(bits(getattr(result, field.name)) for field in fields(result))
    if isinstance(result, fastad.measures.ValueAtThreshold):
        return (float(result).hex(), bits(result.threshold))
    if isinstance(result, float):
        return float(result).hex()
    return result


def numbers(result: Any) -> list[float]:
    """All numbers of a result in one list, for comparisons with a tolerance."""
    if isinstance(result, np.ndarray):
        return [float(entry) for entry in result]
    if is_dataclass(result):
        return [x for field in fields(result) for x in numbers(getattr(result, field.name))]
    if isinstance(result, fastad.measures.ValueAtThreshold):
        return [float(result), float(result.threshold)]
    return [float(result)]


def assert_equal(function: Callable[[], Any], oracle: Callable[[], Fraction]) -> None:
    """The result is the fraction, rounded once; or both are undefined."""
    try:
        expected = oracle()
    except UndefinedError:
        with pytest.raises(fastad.UndefinedMeasureError):
            function()
        return
    result = function()
    assert type(result) is float
    assert result == float(expected)


def assert_close(
    function: Callable[[], Any],
    oracle: Callable[[], Fraction | float],
    relative: float,
    absolute: float = 0,
) -> None:
    """The result is the expected number to an error; or both are undefined."""
    try:
        expected = float(oracle())
    except UndefinedError:
        with pytest.raises(fastad.UndefinedMeasureError):
            function()
        return
    assert function() == pytest.approx(expected, rel=relative, abs=absolute)

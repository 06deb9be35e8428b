"""How results are compared."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import fastad
from tests.support import oracles
from tests.support.strategies import Sample


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


def assert_measure(
    name: str,
    sample: Sample,
    oracle: Callable[[oracles.Rows], Any],
    *,
    relative: float = 0,
    absolute: float = 0,
    **options: Any,
) -> None:
    """A measure is what an oracle finds in the rows, to an error; or both are undefined.

    Of an oracle without an error the result is the fraction, rounded once. Some also return the
    threshold.
    """
    measure = getattr(fastad.measures, name)
    call = partial(measure, sample.y, sample.s, sample_weight=sample.w, **options)
    try:
        expected = oracle(sample.rows)
    except oracles.UndefinedError:
        with pytest.raises(fastad.UndefinedMeasureError):
            call()
        return
    result = call()
    if isinstance(expected, tuple):
        expected, threshold = expected
        assert result.threshold == threshold
    else:
        assert type(result) is float
    assert result == pytest.approx(float(expected), rel=relative, abs=absolute)

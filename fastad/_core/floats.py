"""Floats next to numbers that are beyond all floats."""

import math
from typing import Any


def nearest_float(value: Any) -> float:
    """Return a number as a float, infinite where it is beyond all others."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def exp(logarithm: float) -> float:
    """Return e to a power, infinite where it is beyond all floats."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf

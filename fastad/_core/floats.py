"""Numbers beyond the floats: infinite powers, and the smallest p-value."""

import math
import sys

# Smaller p-values have no floats of full precision, and would be rounded to 0.
SMALLEST_P = sys.float_info.min


def exp(logarithm: float) -> float:
    """Return e to a power, infinite where it is beyond all floats."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf


def positive_p(p_value: float) -> float:
    """Return a p-value, or the smallest that there is in place of 0; NaN stays."""
    return max(p_value, SMALLEST_P)

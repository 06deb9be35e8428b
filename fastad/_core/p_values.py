"""The smallest p-value."""

import sys

# Smaller ones have no floats of full precision, and would be rounded to 0.
SMALLEST_P = sys.float_info.min


def positive_p(p_value: float) -> float:
    """Return a p-value, or the smallest that there is in place of 0; NaN stays."""
    return max(p_value, SMALLEST_P)

"""The smallest p-value."""

import sys

import numpy as np

from fastad._core.types import FloatVector

# Smaller ones have no floats of full precision, and would be rounded to 0.
SMALLEST_P = sys.float_info.min


def positive_p(p_value: float) -> float:
    """Return a p-value, or the smallest that there is in place of 0; NaN stays."""
    return max(p_value, SMALLEST_P)


def positive_ps(p_values: FloatVector) -> FloatVector:
    """Return p-values, of any shape, with the smallest that there is in place of 0; NaN stays."""
    return np.maximum(p_values, SMALLEST_P)

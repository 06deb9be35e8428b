"""p-values of several tests at once."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from fastad._types import FloatVector


def _none(p_values: FloatVector) -> FloatVector:
    return p_values


def _bonferroni(p_values: FloatVector) -> FloatVector:
    adjusted: FloatVector = np.minimum(p_values * p_values.shape[0], 1.0)
    return adjusted


def _holm(p_values: FloatVector) -> FloatVector:
    """Step down: the k-th smallest is tested among those that are left (Holm 1979)."""
    order = np.argsort(p_values)
    left = np.arange(p_values.shape[0], 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * left), 1.0)
    return adjusted


def _benjamini_hochberg(p_values: FloatVector) -> FloatVector:
    # Here, because SciPy's statistics take half a second to import.
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p_values, method="bh"), np.float64)


CORRECTIONS: Mapping[str, Callable[[FloatVector], FloatVector]] = MappingProxyType(
    {
        "holm": _holm,
        "benjamini-hochberg": _benjamini_hochberg,
        "bonferroni": _bonferroni,
        "none": _none,
    }
)

"""p-values adjusted for several tests."""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from fastad._core.types import FloatVector, ShortVector
from fastad._kernels.rank_tests.pairs import possible_numbers


def _none(p_values: FloatVector) -> FloatVector:
    return p_values


def _bonferroni(p_values: FloatVector) -> FloatVector:
    adjusted: FloatVector = np.minimum(p_values * p_values.shape[0], 1.0)
    return adjusted


def _holm(p_values: FloatVector) -> FloatVector:
    """Step down: the k-th smallest is tested among those that are left (Holm 1979)."""
    order = np.argsort(p_values)
    n_left = np.arange(p_values.shape[0], 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * n_left), 1.0)
    return adjusted


def _benjamini_hochberg(p_values: FloatVector) -> FloatVector:
    # Imported here, because scipy.stats takes half a second to import.
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


def shaffer(p_values: FloatVector) -> FloatVector:
    """Correct the p-values of all pairs of some groups (Shaffer 1986, her static S1).

    Step down, as Holm's; but where a hypothesis is false others are false with it, so that of those
    left only some numbers can be true together, and the k-th smallest p-value is multiplied by the
    largest of these. Not among `CORRECTIONS`, because it holds for all pairs of groups only.
    """
    n_groups = (1 + math.isqrt(1 + 8 * p_values.shape[0])) // 2
    order = np.argsort(p_values)
    n_left = np.arange(p_values.shape[0], 0, -1)
    adjusted = np.empty_like(p_values)
    products = p_values[order] * possible(n_groups)[n_left]
    adjusted[order] = np.minimum(np.maximum.accumulate(products), 1.0)
    return adjusted


@lru_cache(maxsize=4)
def possible(n_groups: int) -> ShortVector:
    """Return, for each number of pairs of groups, the most of them that can be equal together.

    The largest number up to it that is a sum of j (j - 1) / 2 over sets of j equal groups.
    """
    largest = np.empty(math.comb(n_groups, 2) + 1, np.int32)
    possible_numbers(n_groups, largest)
    return largest

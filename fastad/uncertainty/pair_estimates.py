"""The estimate of a difference: from the differences on replicates, or on permutations."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fastad._core.types import FloatVector
from fastad.measures.measure import BoundMeasure
from fastad.uncertainty.bootstrap import too_often_undefined
from fastad.uncertainty.closed_forms import rounding_of
from fastad.uncertainty.comparison_options import ComparisonOptions

# Relative to a level, what counts of resamples may be wrong by.
_ROUNDING = 1e-12


class PairEstimate(NamedTuple):
    """The estimate of a method for one pair.

    Attributes
    ----------
    low, high, p_value : float
        Of the difference, from one computation: the interval excludes 0 where the p-value is at
        most alpha, and nowhere else.
    variance : float
        Of the difference.
    df : float
        Degrees of freedom with which the variance is known.
    method : str
        How it was computed.
    n_resamples, n_undefined : int
        Number of replicates or permutations, and how many left the measure undefined.
    """

    low: float
    high: float
    p_value: float
    variance: float
    df: float
    method: str
    n_resamples: int = 0
    n_undefined: int = 0


def estimate_of_replicates(
    values: FloatVector,
    difference: float,
    bound: BoundMeasure,
    options: ComparisonOptions,
    df: Callable[[int], float],
) -> PairEstimate:
    """Return percentiles of the differences on replicates, and the p-value that belongs to them.

    ``df`` tells the degrees of freedom of a variance of so many resamples.
    """
    defined = values[~np.isnan(values)]
    n_undefined = values.shape[0] - defined.shape[0]
    _check_defined(bound, n_undefined, values.shape[0])
    on_each_side = np.count_nonzero(defined <= 0), np.count_nonzero(defined >= 0)
    p_value = min(1.0, 2 * (1 + min(on_each_side)) / (1 + defined.shape[0]))
    # So many replicates may lie beyond 0 where the p-value is at most alpha.
    n_beyond = math.floor(options.alpha * (1 + defined.shape[0]) / 2 + _ROUNDING) - 1
    lowest, highest = bound.bounds
    low, high = lowest - highest, highest - lowest
    if n_beyond >= 0:
        low, high = np.sort(defined)[[n_beyond, -1 - n_beyond]].tolist()
    return PairEstimate(
        min(low, difference),
        max(high, difference),
        p_value,
        float(np.var(defined, ddof=1)) if defined.shape[0] > 1 else 0.0,
        df(defined.shape[0]),
        "bootstrap",
        values.shape[0],
        n_undefined,
    )


def estimate_of_permutations(
    values: FloatVector,
    difference: float,
    bound: BoundMeasure,
    options: ComparisonOptions,
    df: Callable[[int], float],
    *,
    is_exact: bool,
) -> PairEstimate:
    """Return the p-value of a difference among those of permutations, and their spread around it.

    ``df`` tells the degrees of freedom of a variance of so many resamples.
    """
    null = values[~np.isnan(values)]
    n_undefined = values.shape[0] - null.shape[0]
    _check_defined(bound, n_undefined, values.shape[0])
    n_extreme = np.count_nonzero(np.abs(null) >= abs(difference) - rounding_of(bound))
    # The data themselves are one permutation more (Phipson and Smyth 2010).
    extra = 0 if is_exact else 1
    # So many permutations may be as extreme where the p-value is at most alpha.
    n_allowed = math.floor(options.alpha * (extra + null.shape[0]) + _ROUNDING) - extra
    half = bound.bounds[1] - bound.bounds[0]
    if 0 <= n_allowed < null.shape[0]:
        half = float(np.sort(np.abs(null))[-1 - n_allowed])
    return PairEstimate(
        difference - half,
        difference + half,
        float((extra + n_extreme) / (extra + null.shape[0])),
        float(np.mean(null**2)),
        df(null.shape[0]),
        "exact permutation" if is_exact else "permutation",
        values.shape[0],
        n_undefined,
    )


def _check_defined(bound: BoundMeasure, n_undefined: int, n_resamples: int) -> None:
    error = too_often_undefined(f"a comparison of {bound.key}", n_undefined, n_resamples)
    if error is not None:
        raise error

"""Corrections for several tests at once: adjusted p-values, and max-T tests of all pairs."""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

from fastad._core.types import FloatMatrix, FloatVector, IntVector, ShortVector
from fastad._kernels.rank_tests.pairs import possible_numbers

# Fewer degrees of freedom, of the data or of the replicates, do not estimate their own errors: of
# 2 subspaces 18 % of equal distributions were significantly different.
_MIN_DEGREES_OF_FREEDOM = 4


def _none(p_values: FloatVector) -> FloatVector:
    return p_values


def _bonferroni(p_values: FloatVector) -> FloatVector:
    adjusted: FloatVector = np.minimum(p_values * p_values.shape[0], 1.0)
    return adjusted


def _holm(p_values: FloatVector) -> FloatVector:
    """Test the k-th smallest among those that are left (Holm 1979)."""
    return _step_down(p_values, np.arange(p_values.shape[0], 0, -1))


def _step_down(p_values: FloatVector, factors: IntVector | ShortVector) -> FloatVector:
    """Multiply p-values by factors, the smallest by the first; none is below a smaller one's."""
    order = np.argsort(p_values)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
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

    Step down, as Holm's; but where a hypothesis is false others are false with it: only some
    numbers of the remaining hypotheses can be true together, and the k-th smallest p-value is
    multiplied by the largest such number. Not among `CORRECTIONS`, because it holds for all pairs
    of groups only.
    """
    n_groups = (1 + math.isqrt(1 + 8 * p_values.shape[0])) // 2
    # Of all that are left, down to one.
    return _step_down(p_values, possible(n_groups)[:0:-1])


@lru_cache(maxsize=4)
def possible(n_groups: int) -> ShortVector:
    """Return, for each number of pairs of groups, the most of them that can be equal together.

    The largest number up to it that is a sum of j (j - 1) / 2 over sets of j equal groups.
    """
    largest = np.empty(math.comb(n_groups, 2) + 1, np.int32)
    possible_numbers(n_groups, largest)
    return largest


def error_degrees_of_freedom(of_data: float, n_replicates: int) -> float:
    """Return the degrees of freedom of an error that replicates estimate; 0 of fewer than two.

    The variances of both estimates, of the data and of the replicates, add up (Satterthwaite 1946).
    """
    if of_data <= 0 or n_replicates < 2:
        return 0.0
    return 1 / (1 / of_data + 1 / (n_replicates - 1))


def significantly_larger(
    values: FloatVector,  # (k,); NaN where there is none
    replicates: FloatMatrix,  # (n_resamples, k): all share the drawn samples
    degrees_of_freedom: FloatVector,  # (k,): of the errors
    level: float,  # confidence level of all pairs at once
) -> npt.NDArray[np.bool_]:
    """Return whether each value, a row, is significantly larger than each other, a column.

    Differences of all pairs at once: each is compared with its error, and the largest ratio of all
    with its distribution over the replicates (single-step max-T, Westfall and Young 1993). The
    error is the root of the mean square by which replicates differ from the value, their bias
    included. With fewer replicates than 1 / (1 - level) - 1 none is significantly larger. Values
    are compared as they are: subtracting the bias of EM, which two identical detectors share, would
    add noise; of 120 samples 18 to 28 then found equal distributions significantly different.
    """
    k = values.shape[0]
    larger = np.zeros((k, k), np.bool_)
    rank = math.ceil((replicates.shape[0] + 1) * level)  # of the largest of random differences
    if rank > replicates.shape[0]:
        return larger
    tests: list[tuple[int, int, float, float, int]] = []
    largest: dict[int, FloatVector] = {}  # by the number of undefined replicates of a pair
    for i, j in combinations(range(k), 2):
        with np.errstate(invalid="ignore"):  # of infinities
            differences = replicates[:, i] - replicates[:, j]
        defined = differences[np.isfinite(differences)]
        df = float(min(degrees_of_freedom[i], degrees_of_freedom[j]))
        if min(df, defined.shape[0] - 1) < _MIN_DEGREES_OF_FREEDOM:
            continue
        mean, deviation = defined.mean(), defined.std(ddof=1)
        if deviation > 0 and np.isfinite(values[i] - values[j]):
            error = math.hypot(deviation, mean - (values[i] - values[j]))
            df = error_degrees_of_freedom(df, defined.shape[0])
            n_undefined = differences.shape[0] - defined.shape[0]
            tests.append((i, j, error, df, n_undefined))
            # What undefined replicates would be may lie beyond all others.
            score = abs(differences - mean) / deviation
            score = np.where(np.isfinite(score), score, np.inf)
            largest[n_undefined] = np.maximum(largest.get(n_undefined, 0.0), score)
    # Pairs with the fewest undefined replicates first, while enough of all together are defined.
    farthest, most, of_all = math.inf, -1, np.zeros(replicates.shape[0])
    for n_undefined in sorted(largest):
        of_all = np.maximum(of_all, largest[n_undefined])
        if math.isinf(quantile := float(np.sort(of_all)[rank - 1])):
            break
        farthest, most = quantile, n_undefined
    for i, j, error, df, n_undefined in tests:
        if n_undefined > most:
            continue
        # The quantile of Student's distribution that corresponds to the normal one; of probability
        # 0 SciPy has it with the wrong sign.
        critical = abs(float(stdtrit(df, float(ndtr(-farthest)))))
        if abs(values[i] - values[j]) > critical * error:
            larger[(i, j) if values[i] > values[j] else (j, i)] = True
    return larger

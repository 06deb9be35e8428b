"""Distributions behind comparisons of ranks: the range of normal numbers, signed ranks."""

import math

import numpy as np

from fastad._core.floats import SMALLEST_P
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.benchmarking.means import differences
from fastad.benchmarking.ranks import rank_rows

# The integrand is below 1e-18 of its integral at 9 from its middle. It is so smooth that steps of
# an eighth leave no error that floats show.
_HALF_WIDTH, _STEP = 9.0, 0.125
# Numbers in one block.
_BLOCK = 2_000_000
# Up to this number of data sets all signs are counted: the counts are exact in floats.
_MAX_EXACT = 50


def range_tail(q: FloatVector, k: int) -> FloatVector:
    """Return the probability that the range of k standard normal numbers reaches q.

    In relative precision, where one less SciPy's distribution function has none from 1e-14 on.
    With z the highest of the numbers, it is the integral of
    k φ(z) (Φ(z)^(k-1) - (Φ(z) - Φ(z - q))^(k-1)).
    """
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import log_ndtr

    steps = np.arange(-_HALF_WIDTH, _HALF_WIDTH + _STEP, _STEP)
    tail = np.empty(len(q))
    size = _BLOCK // len(steps)
    for start in range(0, len(q), size):
        block = q[start : start + size, np.newaxis]
        z = block / 2 + steps
        log_below = log_ndtr(z)
        density = np.exp((k - 1) * log_below - z * z / 2)
        with np.errstate(divide="ignore"):  # q = 0
            log_within = np.log1p(-np.exp(log_ndtr(z - block) - log_below))
        tail[start : start + size] = np.sum(density * -np.expm1((k - 1) * log_within), axis=1)
    tail *= k * _STEP / math.sqrt(2 * math.pi)
    return np.minimum(tail, 1.0, out=tail)


def range_quantile(alpha: float, k: int) -> float:
    """Return the least range of k standard normal numbers of a tail no larger than alpha."""
    low, high = 0.0, 1.0
    while range_tail(np.array([high]), k)[0] > alpha:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        if range_tail(np.array([middle]), k)[0] > alpha:
            low = middle
        else:
            high = middle
    return high


def signed_ranks(
    merits: FloatMatrix, first: IntVector, second: IntVector
) -> tuple[FloatVector, FloatVector]:
    """Return p-values of Wilcoxon's test of pairs of columns, and how far the first is ahead."""
    n, n_pairs = len(merits), len(first)
    p_values, advantage = np.empty(n_pairs), np.empty(n_pairs)
    columns = np.ascontiguousarray(merits.T)
    tail = _exact if n <= _MAX_EXACT else _normal
    size = max(_BLOCK // n, 1)
    for start in range(0, n_pairs, size):
        some = slice(start, start + size)
        a, b = columns[first[some]], columns[second[some]]
        difference = differences(a, b)
        # Twice the ranks, which are integers; those without a difference go to neither side.
        ranks = (2 * rank_rows(-np.abs(difference))).astype(np.int64)
        signed = np.where(difference > 0, ranks, -ranks)
        signed[difference == 0] = 0
        advantage[some] = signed.sum(axis=1)
        p_values[some] = tail(signed)
    return p_values, advantage


def _normal(signed: IntVector) -> FloatVector:
    """Return p-values by the normal distribution, of variance sum(rank²) without zeros."""
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import ndtr

    ahead = np.abs(signed.sum(axis=1)).astype(np.float64)
    spread = np.sqrt(np.sum(signed.astype(np.float64) ** 2, axis=1))
    z = np.divide(ahead, spread, out=np.zeros(len(signed)), where=spread > 0)
    p_values: FloatVector = np.maximum(2 * ndtr(-z), SMALLEST_P)
    return p_values


def _exact(signed: IntVector) -> FloatVector:
    """Return p-values by counting the signs whose lesser sum is at most as small."""
    computed: dict[tuple[bytes, int], float] = {}
    sizes = np.sort(np.abs(signed), axis=1)
    lesser = ((sizes.sum(axis=1) - np.abs(signed.sum(axis=1))) // 2).tolist()
    p_values = np.empty(len(signed))
    for i, least in enumerate(lesser):
        case = sizes[i].tobytes(), least
        if case not in computed:
            computed[case] = _fraction_of_signs(sizes[i][sizes[i] > 0].tolist(), least)
        p_values[i] = computed[case]
    return p_values


def _fraction_of_signs(ranks: list[int], least: int) -> float:
    """Return the fraction of all signs whose lesser sum of ranks is at most ``least``."""
    ways = np.zeros(least + 1)
    ways[0] = 1
    for rank in ranks:
        if rank <= least:
            ways[rank:] += ways[:-rank].copy()
    return min(1.0, 2 * math.fsum(ways) / 2.0 ** len(ranks))

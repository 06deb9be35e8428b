"""The exact distribution of Friedman's statistic, where data sets and detectors are few."""

import math
from collections import defaultdict
from itertools import permutations

from fastad._core.types import IntMatrix

# Sums of ranks that are computed at most: a fifth of a second.
_MOST_SUMS = 50_000


def exact_p_value(deviations: IntMatrix) -> float:
    """Return how likely rank sums vary as much if each data set orders detectors at random.

    With the ties that there are. Data sets are added one after the other: how the sums vary depends
    on them in any order, so that sorted sums and their probabilities are enough.

    Parameters
    ----------
    deviations : numpy.ndarray of shape (n_datasets, n_detectors)
        Twice the deviations of ranks from their mean.

    Returns
    -------
    float
        NaN where too many sums are possible.
    """
    first, *others = sorted(tuple(sorted(row)) for row in deviations.tolist())
    if (deviations == deviations[0]).all():
        return math.pow(orders_of(first), -len(others))
    observed = sum(total * total for total in deviations.sum(axis=0).tolist())
    probabilities, left = {first: 1.0}, _MOST_SUMS
    for row in others:
        left -= len(probabilities) * orders_of(row)
        if left < 0:
            return math.nan
        orders = set(permutations(row))
        added: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for sums, probability in probabilities.items():
            each = probability / len(orders)
            for order in orders:
                added[tuple(sorted(map(sum, zip(sums, order, strict=True))))] += each
        probabilities = added
    return min(
        math.fsum(p for sums, p in probabilities.items() if sum(x * x for x in sums) >= observed),
        1.0,
    )


def orders_of(row: tuple[int, ...]) -> int:
    """Return in how many orders ranks with ties can stand."""
    ties = math.prod(math.factorial(row.count(rank)) for rank in set(row))
    return math.factorial(len(row)) // ties

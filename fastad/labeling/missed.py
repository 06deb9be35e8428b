"""A bound on how many anomalies a threshold misses, for any probabilities of the rows.

Of U anomalies without a label, each escaped a round in which it had the probability p or more.
With a = k least / p for the least probability of all rows, the product of 1 - a over the anomalies
that were found, times (1 - k least)^-(anomalies), has the mean 1 for each k in (0, 1), also for
samples by priority (their products are unbiased, too). So has the mean over several k; that it
exceeds 1 / alpha has a probability of alpha at most (Markov's inequality). The bound is the largest
U for which it does not. It needs no model and no number of anomalies that are found. Of rows with
one probability the binomial distribution gives a lower bound.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, logsumexp

from fastad._core.types import FloatVector

_FRACTIONS = np.array([0.1, 0.2, 0.4, 0.6, 0.8, 0.95])


class RoundBelow(NamedTuple):
    """Anomalies below a threshold that a round has found.

    Attributes
    ----------
    probability : numpy.ndarray of shape (n_found,)
        Probability with which each was drawn.
    least : float
        The least probability of all rows.
    """

    probability: FloatVector
    least: float


def missed_bound(rounds: Sequence[RoundBelow], n_unlabeled: int, alpha: float) -> int:
    """Return how many anomalies at most are among the rows without a label below a threshold."""
    log_e, growth = np.zeros(_FRACTIONS.shape[0]), np.zeros(_FRACTIONS.shape[0])
    for each in rounds:
        growth = growth - np.log1p(-_FRACTIONS * each.least)
        found = _FRACTIONS[:, None] * (each.least / each.probability)
        log_e += np.log1p(-found).sum(axis=1) + growth * each.probability.shape[0]
    limit = math.log(1 / alpha) + math.log(_FRACTIONS.shape[0])
    return _largest(n_unlabeled, lambda n: bool(logsumexp(log_e + n * growth) <= limit))


def missed_bound_if_uniform(n_found: int, fraction: float, n_unlabeled: int, alpha: float) -> int:
    """Return the same where a fraction of the rows was drawn, each with one probability.

    Rows are drawn without replacement, of which so few anomalies are even less probable.
    """
    return _largest(n_unlabeled, lambda n: bool(bdtr(n_found, n_found + n, fraction) > alpha))


def _largest(most: int, is_possible: Callable[[int], bool]) -> int:
    """Return the largest number that is possible, as all smaller ones are; 0 if none is."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_possible(middle) else (low, middle - 1)
    return low

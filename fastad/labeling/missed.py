"""A bound on how many anomalies a threshold misses, for any probabilities of the rows.

Of U anomalies without a label, each escaped a round in which it had the probability p or more.
With a = k least / p for the least probability of all rows, the product of 1 - a over the anomalies
that were found, times (1 - k least)^-(anomalies), has the mean 1 for each k in (0, 1), also for
samples by priority (their products are unbiased, too). So has the mean over several k; that it
exceeds 1 / alpha has a probability of alpha at most (Markov's inequality). The bound is the largest
U for which it does not. It needs no model and no number of anomalies that are found. Of rows with
one probability the binomial distribution gives a lower bound, and a prior over its posterior a
martingale: one that holds at all numbers of labels at once (Waudby-Smith and Ramdas 2020,
"Confidence sequences for sampling without replacement").
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import bdtr, betaln, logsumexp

from fastad._core.types import FloatVector

_FRACTIONS = np.array([0.1, 0.2, 0.4, 0.6, 0.8, 0.95])


def missed_bound(
    rounds: Sequence[tuple[FloatVector, float]], n_unlabeled: int, alpha: float
) -> int:
    """Return how many anomalies at most are among the rows without a label below a threshold.

    Of each round the probabilities of the anomalies found there, and the least one of all rows.
    """
    log_e, growth = np.zeros(_FRACTIONS.shape[0]), np.zeros(_FRACTIONS.shape[0])
    for probability, least in rounds:
        growth = growth - np.log1p(-_FRACTIONS * least)
        found = _FRACTIONS[:, None] * (least / probability)
        log_e += np.log1p(-found).sum(axis=1) + growth * probability.shape[0]
    limit = math.log(1 / alpha) + math.log(_FRACTIONS.shape[0])
    return _largest(n_unlabeled, lambda n: bool(logsumexp(log_e + n * growth) <= limit))


def missed_bound_if_uniform(n_found: int, fraction: float, n_unlabeled: int, alpha: float) -> int:
    """Return the same where a fraction of the rows was drawn, each with one probability.

    Rows are drawn without replacement, of which so few anomalies are even less probable.
    """
    return _largest(n_unlabeled, lambda n: bool(bdtr(n_found, n_found + n, fraction) > alpha))


def missed_sequence(
    n_found: int, n_normal: int, n_unlabeled: int, planned: float, alpha: float
) -> int:
    """Return the same of uniform rows at all numbers of labels, narrowest near a planned one.

    The fraction of anomalies has the prior Beta(1, planned).
    """
    n, planned = n_unlabeled + n_found + n_normal, max(planned, 1.0)

    def log_ratio(k: int) -> float:
        prior = _beta_binomial(k + n_found, n, 1.0, planned)
        posterior = _beta_binomial(k, n_unlabeled, 1.0 + n_found, planned + n_normal)
        return prior - posterior

    mode = math.floor(n_found * (n_unlabeled + 1) / (n_found + planned + n_normal))
    limit = math.log(1 / alpha)
    return _largest(n_unlabeled, lambda k: log_ratio(k) < limit, min(mode, n_unlabeled))


def _beta_binomial(k: int, n: int, a: float, b: float) -> float:
    """Return the logarithm of the probability of k anomalies among n rows."""
    of_k = betaln(k + a, n - k + b) - betaln(k + 1, n - k + 1) - betaln(a, b)
    return float(of_k) - math.log(n + 1)


def _largest(most: int, is_possible: Callable[[int], bool], low: int = 0) -> int:
    """Return the largest number that is possible, as all from the low one on are."""
    return low + bisect_right(range(low + 1, most + 1), 0, key=lambda n: not is_possible(n))

"""Tests of the ranks and positions of particles that have moved too little, and the warning."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import chdtr, chdtrc, ndtr

from fastad._core.types import FloatVector
from fastad._core.user_warnings import warn_user
from fastad.errors import InsufficientMixingWarning
from fastad.regions.algebra import dot
from fastad.regions.scores import named_as

# Scores whose ranks are tested.
_RANKED = 1024
# The mean square of deviations may be within this factor of 1. Particles that still know in part
# where they began cost some accuracy, which the repeats measure; they are no reason to warn.
_TOLERATED = 2.0


def ranks_among(rising: FloatVector, scores: FloatVector) -> FloatVector:
    """Return ranks of scores among others, in [0, 1]; ties have the middle of their ranks."""
    left = np.searchsorted(rising, scores, "left")
    right = np.searchsorted(rising, scores, "right")
    ranks: FloatVector = (left + right) / (2 * rising.shape[0])
    return ranks


def rank_deviation(rising: FloatVector, scores: FloatVector) -> float:
    """Return by how many standard errors the mean rank is off (Mann and Whitney 1947).

    Were the scores independent of the others, and of the same distribution, it would be of mean
    0 and variance 1. Copies that have not moved have the ranks of the others: then it is 0. NaN
    where all are tied.
    """
    scores = scores[:_RANKED]
    n, m = rising.shape[0], scores.shape[0]
    _, ties = np.unique(np.concatenate([rising, scores]), return_counts=True)
    total = n + m
    tied = float((ties.astype(np.float64) ** 3 - ties).sum()) / (total * (total - 1.0))
    variance = (total + 1.0 - tied) / (12.0 * n * m)
    if variance <= 0:
        return math.nan
    return float((ranks_among(rising, scores).mean() - 0.5) / math.sqrt(variance))


def insertion_p_value(deviations: Sequence[float]) -> float:
    """Return the p-value of rank deviations of many steps: of their mean and of their spread.

    Ranks of new points among the others are uniform where both have the same distribution (Fowlie,
    Handley and Su 2020, for nested sampling).
    """
    defined = np.array(deviations, np.float64)
    defined = defined[~np.isnan(defined)]
    n = defined.shape[0]
    if n == 0:
        return 1.0
    shifted = 2.0 * float(ndtr(-abs(defined.sum()) / math.sqrt(n)))
    squares = float((defined**2).sum())
    narrow = float(chdtr(n, squares * _TOLERATED))
    wide = float(chdtrc(n, squares / _TOLERATED))
    return min(1.0, 3.0 * min(shifted, narrow, wide))


def correlation(before: FloatVector, after: FloatVector) -> float:
    """Return the correlation of two vectors; 0 where one is constant."""
    before, after = before - before.mean(), after - after.mean()
    scale = math.sqrt(dot(before, before) * dot(after, after))
    return dot(before, after) / scale if scale > 0 else 0.0


def warn_of_mixing(problems: Sequence[str]) -> None:
    """Warn of problems, if there are any; at the line of the user."""
    if problems:
        of = f" of {named_as.get()}" if named_as.get() else ""
        warn_user(
            f"particles may have missed parts of the region{of}: {'; '.join(problems)}. The "
            "interval follows from how much repeats differ; a larger n_draws lets particles move "
            "more",
            InsufficientMixingWarning,
        )

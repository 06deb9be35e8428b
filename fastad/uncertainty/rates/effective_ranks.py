"""Bounds on the rates of both classes at once, and the ranks at which they are read."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastad._core.types import CountVector, FloatVector, IntVector
from fastad.errors import InvalidInputError
from fastad.measures.points import need_both
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.rates.order_statistics import EachRank, RateBounds, all_ranks

# With more samples in a class, the bounds of the lowest ranks round to 1.
_LARGEST_CLASS = 10**10


@dataclass(frozen=True, slots=True, eq=False)
class EffectiveRanks:
    """Effective numbers of samples at or above each distinct score, which end in whole numbers.

    Attributes
    ----------
    tps, fps : numpy.ndarray of shape (n_points + 1,)
        Ranks of anomalies and of normals.
    """

    tps: FloatVector
    fps: FloatVector


def rate_bounds(
    counts: OrderedCounts,
    measure: str,
    level: Fraction,
    *,
    simultaneous: bool,
    ranks: EffectiveRanks | None = None,
) -> tuple[RateBounds, RateBounds]:
    """Return bounds on the rates of anomalies and of normals.

    Simultaneous bounds must hold for both classes: they are independent, and their confidences
    multiply to the level. At one point each class has the full alpha, because no curve lets both
    fail on both sides; docs/guide/bands.md has the proof.
    """
    need_both(counts, measure)
    if ranks is not None:
        # Classes in the same clusters depend on each other: their alphas add up (Bonferroni).
        bounds = all_ranks if simultaneous else EachRank
        n, m = (int(each[-1]) for each in (ranks.tps, ranks.fps))
        half = float(1 - level) / 2
        return bounds(n, half), bounds(m, half)
    if counts.weighting == "real":
        raise InvalidInputError(
            f"sample_weight must contain integers for {measure}, which counts samples; "
            "found real weights",
            argument="sample_weight",
        )
    n, m, alpha = int(counts.n_anomalies), int(counts.n_normals), float(1 - level)
    if max(n, m) > _LARGEST_CLASS:
        raise InvalidInputError(
            f"y_true must have at most {_LARGEST_CLASS} samples of a class for {measure}; "
            f"found {max(n, m)}",
            argument="y_true",
        )
    if not simultaneous:
        return EachRank(n, alpha), EachRank(m, alpha)
    # This is 1 - sqrt(level), without cancellation where the level is close to 1.
    alpha /= 1 + math.sqrt(level)
    return all_ranks(n, alpha), all_ranks(m, alpha)


def rank_above(of_class: CountVector, of_other: CountVector, ranks: IntVector) -> IntVector:
    """Return the rank in the other class of its lowest sample strictly above one of this class.

    The rate strictly above that sample is at least the rate at the rank that is returned. Rank 0
    is above all samples, and n + 1 below all.
    """
    points = np.searchsorted(of_class, ranks, side="left")
    n_above = np.where(ranks > of_class[-1], of_other[-1] + 1, of_other[np.maximum(points - 1, 0)])
    return np.floor(n_above).astype(np.int64)


def rank_below(of_class: CountVector, of_other: CountVector, ranks: IntVector) -> IntVector:
    """Return the rank in the other class of its highest sample strictly below one of this class.

    The rate at or above that sample is at most the rate strictly above the one that is returned.
    """
    points = np.minimum(np.searchsorted(of_class, ranks, side="left"), of_class.shape[0] - 1)
    return np.where(ranks < 1, 0, np.ceil(of_other[points]) + 1).astype(np.int64)

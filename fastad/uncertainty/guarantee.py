"""Thresholds whose rate holds for the points to come."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import real_vector, refuse_nan
from fastad._core.parameters import check_inside
from fastad._core.types import Point, ScoreVector, Threshold
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.uncertainty.order_statistics import guaranteed_rank, points_needed, probability


@dataclass(frozen=True, slots=True)
class GuaranteedThreshold:
    """A threshold, and what is guaranteed of it.

    Attributes
    ----------
    threshold : float or int
        Flags what scores at or above it; in the units of the scores, exact in their type.
    confidence : float
        Probability, over the scores that were given, that the rate holds: at least the confidence
        level that was asked for.
    n_points : int
        Number of scores.
    n_exceeding : int
        How many of them lie on the side of the errors: flagged normals, or missed anomalies.
    """

    threshold: Threshold
    confidence: float
    n_points: int
    n_exceeding: int


def threshold_with_guarantee(
    y_score: npt.ArrayLike,
    *,
    fpr: Point | None = None,
    tpr: Point | None = None,
    confidence_level: Point = 0.95,
) -> GuaranteedThreshold:
    """Threshold whose false or true positive rate holds for the points to come.

    With ``fpr`` from scores of *normal* points: the lowest threshold of which it is guaranteed
    that it flags at most this share of all normal points. With ``tpr`` from scores of
    *anomalies*: the highest threshold of which it is guaranteed that it flags at least this share
    of all anomalies. `fastad.threshold_at_fpr` meets a rate on the points that it was given; on
    new ones it exceeds the rate about every second time.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Anomaly scores of one class, higher is more anomalous, of points that the detector was not
        fitted to.
    fpr : float, optional
        Bound on the false positive rate, in (0, 1), taken as the decimal that is written.
    tpr : float, optional
        Bound on the true positive rate, in (0, 1); give one of both.
    confidence_level : float, default 0.95
        How probable it must be, over the draw of the scores, that the rate holds; in (0, 1).

    Returns
    -------
    GuaranteedThreshold
        ``threshold``, its ``confidence``, and how many of the scores lie beyond it.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If there are too few scores, see `sample_size_for_guarantee`, or too many are infinite.

    Notes
    -----
    Points must be independent and alike; nothing is assumed of their distribution. The law is
    exact for scores without ties, and on the safe side with them. O(n) time for n points.

    References
    ----------
    .. [1] H. A. David and H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 7.2
       (tolerance intervals).
    .. [2] V. Vovk, "Conditional validity of inductive conformal predictors", 2012, section 2.

    Examples
    --------
    >>> import fastad
    >>> fastad.threshold_with_guarantee(range(100), fpr=0.05).threshold
    99
    """
    rate, doubt = _check(fpr, tpr, confidence_level)
    scores = real_vector(y_score, "y_score")
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        refuse_nan(scores, "y_score", None)
    n_points = scores.shape[0]
    rank = guaranteed_rank(n_points, rate, doubt)
    if rank == 0:
        wanted = f"fpr = {float(rate):g}" if tpr is None else f"tpr = {float(1 - rate):g}"
        raise UndefinedMeasureError(
            f"{wanted} with confidence {float(1 - doubt):g} takes at least "
            f"{points_needed(rate, doubt)} scores; found {n_points}"
        )
    threshold = _above(scores, rank) if tpr is None else _lowest(scores, rank)
    beyond = scores >= threshold if tpr is None else scores < threshold
    return GuaranteedThreshold(
        threshold, probability(rank, n_points, rate), n_points, int(np.count_nonzero(beyond))
    )


def sample_size_for_guarantee(
    *, fpr: Point | None = None, tpr: Point | None = None, confidence_level: Point = 0.95
) -> int:
    """Smallest number of scores with which `threshold_with_guarantee` has an answer.

    Parameters
    ----------
    fpr : float, optional
        Bound on the false positive rate, in (0, 1): how many normal points.
    tpr : float, optional
        Bound on the true positive rate, in (0, 1): how many anomalies; give one of both.
    confidence_level : float, default 0.95
        How probable it must be that the rate holds, in (0, 1).

    Returns
    -------
    int
        The least n with ``(1 - fpr)**n <= 1 - confidence_level``, or with ``tpr**n``.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.

    Examples
    --------
    >>> import fastad
    >>> fastad.sample_size_for_guarantee(fpr=0.01)
    299
    """
    return points_needed(*_check(fpr, tpr, confidence_level))


def _check(
    fpr: Point | None, tpr: Point | None, confidence_level: Point
) -> tuple[Fraction, Fraction]:
    """Return the bound on the rate of errors, and the probability that it may fail."""
    if (fpr is None) == (tpr is None):
        raise InvalidInputError(f"give one of fpr and tpr; found fpr={fpr!r} and tpr={tpr!r}")
    name, bound = ("tpr", tpr) if fpr is None else ("fpr", fpr)
    assert bound is not None
    rate = check_inside(bound, name)
    doubt = 1 - check_inside(confidence_level, "confidence_level")
    return rate if name == "fpr" else 1 - rate, doubt


def _above(scores: ScoreVector, rank: int) -> Threshold:
    """Return the lowest threshold that does not flag the score of a rank from above."""
    score = np.partition(scores, scores.shape[0] - rank)[scores.shape[0] - rank]
    if scores.dtype.kind != "f":
        return int(score) + 1
    if score == np.inf:
        raise UndefinedMeasureError(
            f"no threshold has the rate: {np.count_nonzero(scores == np.inf)} scores are +inf, "
            "which every threshold flags"
        )
    next_score: float = np.nextafter(score, scores.dtype.type(math.inf)).item()
    return next_score


def _lowest(scores: ScoreVector, rank: int) -> Threshold:
    """Return the score of a rank from below."""
    score: Threshold = np.partition(scores, rank - 1)[rank - 1].item()
    return score if scores.dtype.kind == "f" else int(score)

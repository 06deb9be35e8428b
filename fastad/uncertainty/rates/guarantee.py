"""Thresholds with a guaranteed error rate on new samples."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import betainc, gammainc

from fastad._core.arrays import RowIndex, real_vector, refuse_nan
from fastad._core.parameters import check_inside, short_repr
from fastad._core.types import (
    ArrayLike,
    Blocks,
    BoolVector,
    FloatVector,
    IntVector,
    Point,
    ScoreVector,
    Threshold,
)
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.ordering.labels import Labels, check_labels
from fastad.uncertainty.rates.order_statistics import (
    confidence_of_rank,
    guaranteed_rank,
    required_sample_size,
)
from fastad.uncertainty.samples.effective_size import (
    doubled_up_to_half,
    effective_size,
    warn_of_few,
)
from fastad.uncertainty.samples.sampling import (
    DesignedSample,
    SamplingDesign,
    check_design,
    needs_design,
)

# The second parameter of a beta distribution must be positive.
_LEAST = 1e-9
# Up to this rate sums of weights are those of rare events.
_LARGEST_RATE = 0.5


@dataclass(frozen=True, slots=True)
class GuaranteedThreshold:
    """A threshold and its guarantee.

    Attributes
    ----------
    threshold : float or int
        Samples that score at or above it are flagged; in the units of the scores, exact in their
        type.
    confidence : float
        Probability, over the draw of the scores, that the rate holds: at least the confidence
        level that was given.
    n_samples : int
        Number of scores.
    n_exceeding : int
        Number of errors among them: flagged normal samples, or missed anomalies.
    n_effective : float or None
        Number of independent scores that would say as much as clusters, series or weights do.
    """

    threshold: Threshold
    confidence: float
    n_samples: int
    n_exceeding: int
    n_effective: float | None = None


def threshold_with_guarantee(
    y_score: ArrayLike,
    *,
    fpr: Point | None = None,
    tpr: Point | None = None,
    confidence_level: Point = 0.95,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
) -> GuaranteedThreshold:
    """Threshold with a guaranteed false or true positive rate on new samples.

    With ``fpr``, from scores of *normal* samples: the lowest threshold that is guaranteed to flag
    at most this fraction of all normal samples. With ``tpr``, from scores of *anomalies*: the
    highest threshold that is guaranteed to flag at least this fraction of all anomalies.
    `fastad.threshold_at_fpr` meets a rate on the samples that it was given; on new ones it exceeds
    the rate about every second time.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Anomaly scores of one class, higher is more anomalous, of samples that the detector was
        not fitted to.
    fpr : float, optional
        Bound on the false positive rate, in (0, 1), taken as the decimal as written.
    tpr : float, optional
        Bound on the true positive rate, in (0, 1); give one of the two.
    confidence_level : float, default 0.95
        Probability, over the draw of the scores, that the rate holds; in (0, 1).
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, such as a user or a device, where samples of one cluster depend.
    blocks : int or "auto", optional
        Mean length of blocks of samples that depend, where rows are in the order of time.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, integers repeat rows, others are weights of
        sampling, inverse to the probability with which a row was chosen.

    Returns
    -------
    GuaranteedThreshold
        ``threshold``, its ``confidence``, and the numbers of scores and of errors among them.

    Raises
    ------
    UndefinedMeasureError
        If there are too few scores, see `sample_size_for_guarantee`, or too many are infinite;
        if there are fewer than 10 clusters or blocks.

    Warns
    -----
    LowCoverageWarning
        If there are fewer than 50 clusters or blocks, or as few by size.

    Notes
    -----
    Samples must be independent, unless ``clusters`` or ``blocks`` say otherwise, and identically
    distributed; nothing else is assumed of their distribution. The confidence is exact without
    ties, and conservative with them. O(n) time.

    In clusters, series and with real weights the confidence comes from the binomial distribution
    with effective numbers of samples and errors [3]. The number of samples is divided by a design
    effect, the variance of the flagged fraction over its variance among independent samples: the
    largest of the effects at the rate, twice the rate and so on up to one half; and by the square
    of Student's over the normal quantile. With real weights, and a rate of at most 1/2, the
    confidence is that of a gamma distribution where that is lower: of the weights of the errors,
    and of one more sample, which has the largest weight at rates of up to twice the given one [4].
    Both are approximate, and were measured to be conservative. O(n log n) time.

    References
    ----------
    .. [1] H. A. David and H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 7.2
       (tolerance intervals).
    .. [2] V. Vovk, "Conditional validity of inductive conformal predictors", 2012, section 2.
    .. [3] E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected
       number of positive counts estimated from survey data", Survey Methodology 24, 1998.
    .. [4] M. P. Fay and E. J. Feuer, "Confidence intervals for directly standardized rates: a
       method based on the gamma distribution", Statistics in Medicine 16, 1997.

    Examples
    --------
    >>> import fastad
    >>> fastad.threshold_with_guarantee(range(100), fpr=0.05).threshold
    99
    """
    rate, alpha = _check(fpr, tpr, confidence_level)
    scores = real_vector(y_score, "y_score")
    rows = RowIndex(scores.shape[0])
    rows.check(y_score, "y_score")
    labels = check_labels(np.zeros(scores.shape[0], np.int64), sample_weight=sample_weight)
    rows.check(sample_weight, "sample_weight")
    design = check_design(clusters, blocks, replace(labels, row_index=rows))
    if labels.rows is not None:
        scores = scores[labels.rows]
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        refuse_nan(scores, "y_score", labels.rows)
    if needs_design(design, labels):
        return _of_design(scores, labels, design, rate, alpha, is_fpr=tpr is None)
    if labels.weights is not None:
        scores = np.repeat(scores, labels.weights)
    n_samples = scores.shape[0]
    rank = guaranteed_rank(n_samples, rate, alpha)
    if rank == 0:
        raise UndefinedMeasureError(
            f"{_requirement(rate, alpha, is_fpr=tpr is None)} scores; found {n_samples}"
        )
    threshold, is_error = _threshold_of_rank(scores, rank, is_fpr=tpr is None)
    return GuaranteedThreshold(
        threshold,
        confidence_of_rank(rank, n_samples, rate),
        n_samples,
        int(np.count_nonzero(is_error)),
    )


def _of_design(
    scores: ScoreVector,
    labels: Labels,
    design: SamplingDesign,
    rate: Fraction,
    alpha: Fraction,
    *,
    is_fpr: bool,
) -> GuaranteedThreshold:
    """Return the threshold of samples in clusters, in time, or with real weights."""
    bound, level = float(rate), float(1 - alpha)
    sample = DesignedSample.of(scores, labels, design)
    beyond = {"from_top" if is_fpr else "from_bottom": doubled_up_to_half(bound)}
    what = "a threshold with a guarantee"
    size = effective_size(sample, design.blocks, 0, what, tail=float(alpha), **beyond)
    warn_of_few(sample, size.n_equal, what)
    n = size.n_effective
    # From the highest or the lowest score on: rows, and how many may be wrong, ties together.
    n_rows = scores.shape[0]
    rows = np.asarray(sample.rows) if is_fpr else sample.rows[::-1]
    n_errors = np.asarray(sample.ends) if is_fpr else n_rows - sample.ends[::-1]
    weights = sample.weights[rows]
    fractions = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])[n_errors]
    errors = n * fractions[fractions < bound]
    confidences = betainc(errors + 1, np.maximum(n - errors, _LEAST), bound)
    as_much = n
    if weights.dtype.kind == "f" and bound <= _LARGEST_RATE:
        of_weights, largest = _confidences_of_weights(weights / weights.sum(), n_errors, bound)
        confidences = np.minimum(confidences, of_weights[: errors.shape[0]])
        # Of so many independent scores it is as probable that none is an error.
        as_much = min(n, -bound / math.log1p(-bound) / largest)
    n_allowed = int(np.count_nonzero(np.logical_and.accumulate(confidences >= level))) - 1
    if n_allowed < 0:
        raise UndefinedMeasureError(
            f"{_requirement(rate, alpha, is_fpr=is_fpr)} independent scores; found {n_rows} in "
            f"{size.n_units:.4g} {sample.kind}, as much as {as_much:.4g}"
        )
    threshold, is_error = _threshold_of_rank(scores, int(n_errors[n_allowed]) + 1, is_fpr=is_fpr)
    is_whole = sample.weights.dtype.kind == "i"
    times = sample.weights if is_whole else np.ones(scores.shape[0], np.int64)
    return GuaranteedThreshold(
        threshold, float(confidences[n_allowed]), int(times.sum()), int(times[is_error].sum()), n
    )


def _confidences_of_weights(
    weights: FloatVector, n_errors: IntVector, rate: float
) -> tuple[FloatVector, float]:
    """Return the confidence in a rate after some numbers of errors, whose weights come first.

    And the largest weight at rates of up to twice the rate; all add up to 1.
    """
    fractions, squares = (
        np.concatenate([[0.0], np.cumsum(each)])[n_errors] for each in (weights, weights**2)
    )
    last = min(int(np.searchsorted(fractions, 2 * rate)), n_errors.shape[0] - 1)
    largest = float(weights[: n_errors[last]].max())
    mean, variance = fractions + largest, squares + largest**2
    return gammainc(mean**2 / variance, rate * mean / variance), largest


def sample_size_for_guarantee(
    *, fpr: Point | None = None, tpr: Point | None = None, confidence_level: Point = 0.95
) -> int:
    """Smallest number of scores for which `threshold_with_guarantee` returns a threshold.

    Parameters
    ----------
    fpr : float, optional
        Bound on the false positive rate, in (0, 1): the result counts normal samples.
    tpr : float, optional
        Bound on the true positive rate, in (0, 1): the result counts anomalies; give one of them.
    confidence_level : float, default 0.95
        Probability that the rate holds, in (0, 1).

    Returns
    -------
    int
        The least n with ``(1 - fpr)**n <= 1 - confidence_level``, or with ``tpr**n``.

    Raises
    ------
    InvalidInputError
        If both or none of ``fpr`` and ``tpr`` are given, or a rate or the level is not in (0, 1).

    Examples
    --------
    >>> import fastad
    >>> fastad.sample_size_for_guarantee(fpr=0.01)
    299
    """
    return required_sample_size(*_check(fpr, tpr, confidence_level))


def _check(
    fpr: Point | None, tpr: Point | None, confidence_level: Point
) -> tuple[Fraction, Fraction]:
    """Return the bound on the rate of errors, and the probability alpha that it is exceeded."""
    if (fpr is None) == (tpr is None):
        raise InvalidInputError(
            f"fpr must be given, or tpr, and not both; found "
            f"fpr={short_repr(fpr)} and tpr={short_repr(tpr)}"
        )
    name, bound = ("tpr", tpr) if fpr is None else ("fpr", fpr)
    assert bound is not None
    rate = check_inside(bound, name)
    alpha = 1 - check_inside(confidence_level, "confidence_level")
    return rate if name == "fpr" else 1 - rate, alpha


def _requirement(rate: Fraction, alpha: Fraction, *, is_fpr: bool) -> str:
    target = f"fpr = {float(rate):g}" if is_fpr else f"tpr = {float(1 - rate):g}"
    return (
        f"{target} with confidence {float(1 - alpha):g} needs at least "
        f"{required_sample_size(rate, alpha)}"
    )


def _threshold_of_rank(
    scores: ScoreVector, rank: int, *, is_fpr: bool
) -> tuple[Threshold, BoolVector]:
    """Return the threshold with fewer errors than the rank, and which scores are errors at it."""
    if is_fpr:
        threshold = _lowest_above(scores, rank)
        return threshold, scores >= threshold
    score = np.partition(scores, rank - 1)[rank - 1].item()
    threshold = score if scores.dtype.kind == "f" else int(score)
    return threshold, scores < threshold


def _lowest_above(scores: ScoreVector, rank: int) -> Threshold:
    """Return the lowest threshold that does not flag the score of a rank from above."""
    score = np.partition(scores, scores.shape[0] - rank)[scores.shape[0] - rank]
    if scores.dtype.kind != "f":
        return int(score) + 1
    if score == np.inf:
        raise UndefinedMeasureError(
            f"no threshold has the rate: {np.count_nonzero(scores == np.inf)} scores are +inf, "
            "which every threshold flags"
        )
    with np.errstate(over="ignore"):  # above the largest float is infinity
        next_score: float = np.nextafter(score, scores.dtype.type(math.inf)).item()
    return next_score

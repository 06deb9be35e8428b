"""Measures of scores that are scaled from their possible range to [0, 1]."""

from fractions import Fraction

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.declared import ScoreBounds
from fastad._core.types import ArrayLike, FloatVector, Label, Point
from fastad._kernels.curves import values
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import ROUNDED_AREA, Measure
from fastad.measures.points import exact, need_both, need_finite
from fastad.ordering.counts import OrderedCounts

# From here on, differences of scores might overflow.
_WIDE = 1e300
# Scaled scores so near to their mean are compared with it exactly.
_NEAR = 1e-9
# Rounding of a mean by real weights, as a part of the range of the scores.
_ROUNDING = Fraction(1, 2**50)
_Bounds = tuple[Fraction, Fraction]


def _rp_auc(counts: OrderedCounts, *, score_range: _Bounds) -> float:
    """Area under the RP curve.

    The percentile of a class, integrated over all percentiles, is 100 times the mean of the
    class. So the area needs no percentiles: it is `probabilistic_auc`.
    """
    return _separation(counts, score_range, "rp_auc")


RP_AUC = Measure(
    name="rp_auc",
    title="area under the RP curve",
    key="auc_rp",
    compute=_rp_auc,
    parameters={"score_range": ScoreBounds()},
    reads_values=True,
    extremes=ROUNDED_AREA,
)


def rp_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    score_range: tuple[Point, Point],
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the RP curve, relative to the range of the scores.

    1/2 + integral of RP over p in [0, 100] / (200 (hi - lo)), exactly. As the percentiles of a
    class integrate to 100 times its mean, this is `probabilistic_auc`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    score_range : (float, float)
        Lowest and highest score that are possible; scores outside are an error.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1]; 0.5 for constant scores.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] Á. Fülöp, "Novel performance metrics for anomaly detection algorithms", balabit 2017.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.rp_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], score_range=(0, 1))
    0.6625
    """
    return RP_AUC.of(y_true, y_score, sample_weight, pos_label, score_range=score_range)


def _probabilistic_auc(counts: OrderedCounts, *, score_range: _Bounds) -> float:
    return _separation(counts, score_range, "probabilistic_auc")


PROBABILISTIC_AUC = Measure(
    name="probabilistic_auc",
    title="mean separation of the classes on scaled scores",
    key="auc_p",
    compute=_probabilistic_auc,
    parameters={"score_range": ScoreBounds()},
    reads_values=True,
    extremes=ROUNDED_AREA,
)


def probabilistic_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    score_range: tuple[Point, Point],
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Ferri's probabilistic AUC: the mean separation of the classes.

    (mean of the anomalies - mean of the normals + 1) / 2 on scores scaled to [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    score_range : (float, float)
        Lowest and highest score that are possible; scores outside are an error.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1]; 0.5 for constant scores.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] C. Ferri et al., "Modifying ROC curves to incorporate predicted probabilities", 2005.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.probabilistic_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], score_range=(0, 1))
    0.6625
    """
    return PROBABILISTIC_AUC.of(y_true, y_score, sample_weight, pos_label, score_range=score_range)


def _scored_auc(counts: OrderedCounts, *, score_range: _Bounds) -> float:
    need_both(counts, "scored_auc")
    scaled = scaled_scores(counts, score_range, "scored_auc")
    differences = values.positive_differences(scaled, counts.fps, counts.tps)
    return differences / (counts.n_anomalies * counts.n_normals)


SCORED_AUC = Measure(
    name="scored_auc",
    title="mean by which anomalies score above normals, where they do",
    key="auc_scored",
    compute=_scored_auc,
    parameters={"score_range": ScoreBounds()},
    reads_values=True,
    extremes=ROUNDED_AREA,
)


def scored_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    score_range: tuple[Point, Point],
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Mean by which anomalies score above normals, where they do.

    The mean over all pairs of max(s+ - s-, 0) on scores scaled to [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    score_range : (float, float)
        Lowest and highest score that are possible; scores outside are an error.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1]; 0 for constant scores.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] S. Wu and P. Flach, "A scored AUC metric for classifier evaluation and selection", 2005.

    Examples
    --------
    >>> import fastad
    >>> y, s = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> round(fastad.measures.scored_auc(y, s, score_range=(0, 1)), 6)
    0.3375
    """
    return SCORED_AUC.of(y_true, y_score, sample_weight, pos_label, score_range=score_range)


def _smooth_roc(counts: OrderedCounts, *, score_range: _Bounds) -> float:
    need_both(counts, "smooth_roc")
    scaled = scaled_scores(counts, score_range, "smooth_roc")
    not_above, below = _around_mean(counts, scaled)
    area, x, y = values.smooth_area(scaled, counts.fps, counts.tps, not_above, below)
    if x * y == 0:
        raise UndefinedMeasureError("smooth_roc is undefined: its curve does not leave an axis")
    return area / (x * y)


SMOOTH_ROC = Measure(
    name="smooth_roc",
    title="area under the smooth ROC curve",
    key="auc_smooth",
    compute=_smooth_roc,
    parameters={"score_range": ScoreBounds()},
    reads_values=True,
)


def smooth_roc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    score_range: tuple[Point, Point],
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the smooth ROC curve, which weights each step by the score.

    Scores are scaled to [0, 1] and walked from the top, one step for each distinct one. Above the
    mean score an anomaly moves (1 - s, s) and a normal (s, 1 - s); below it an anomaly
    (s, 1 - s) and a normal (1 - s, s); at the mean nothing moves. The area is divided by the area
    of the rectangle in which the walk ends.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    score_range : (float, float)
        Lowest and highest score that are possible; scores outside are an error.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, or the walk does not leave an axis.

    References
    ----------
    .. [1] W. Klement et al., "Smooth receiver operating characteristics (smROC) curves", 2011.

    Examples
    --------
    >>> import fastad
    >>> y, s = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> round(fastad.measures.smooth_roc(y, s, score_range=(0, 1)), 6)
    0.731395
    """
    return SMOOTH_ROC.of(y_true, y_score, sample_weight, pos_label, score_range=score_range)


def _separation(counts: OrderedCounts, score_range: _Bounds, measure: str) -> float:
    need_both(counts, measure)
    scaled = scaled_scores(counts, score_range, measure)
    normal, anomalous = values.class_sums(scaled, counts.fps, counts.tps)
    return 0.5 + (anomalous / counts.n_anomalies - normal / counts.n_normals) / 2


def scaled_scores(counts: OrderedCounts, score_range: _Bounds, measure: str) -> FloatVector:
    """Return the distinct scores, falling, from the range of the scores scaled to [0, 1]."""
    need_finite(counts, measure)
    scores = counts.thresholds()
    low, high = score_range
    if scores.dtype.kind == "f":
        # A bound such as 0.8 stands for the nearest number of the scores' type.
        with np.errstate(over="ignore"):
            lowest, highest = np.array([float(low), float(high)]).astype(scores.dtype)
        outside = scores[-1] < lowest or scores[0] > highest
    else:
        outside = int(scores[-1]) < low or int(scores[0]) > high
    if outside:
        raise InvalidInputError(
            f"y_score must lie in score_range=({float(low)}, {float(high)}); "
            f"found scores from {scores[-1]} to {scores[0]}"
        )
    if scores.dtype.kind != "f" and max(abs(int(scores[0])), abs(int(scores[-1]))) > 2**53:
        # A float64 would merge neighbours.
        return as_readonly(np.array([float((int(s) - low) / (high - low)) for s in scores]))
    # By a power of two, so that the widest range does not overflow and no digit is lost.
    scale = 0.25 if high - low > _WIDE else 1.0
    width = float((high - low) * Fraction(scale))
    scaled = (scores.astype(np.float64) * scale - float(low) * scale) / width
    return as_readonly(np.clip(scaled, 0, 1))


def _around_mean(counts: OrderedCounts, scaled: FloatVector) -> tuple[int, int]:
    """Return the first distinct scores that are not above, and below, the exact mean."""
    normal, anomalous = values.class_sums(scaled, counts.fps, counts.tps)
    mean = (normal + anomalous) / counts.total
    above = int(np.count_nonzero(scaled > mean + _NEAR))
    near = range(above, int(np.count_nonzero(scaled >= mean - _NEAR)))
    if not near:
        return above, above
    # Rounding may put the mean on the wrong side of a score next to it: add up exactly.
    scores = [Fraction(score) for score in counts.thresholds().tolist()]
    points = np.diff(counts.fps + counts.tps).tolist()
    products = (s * Fraction(c) for s, c in zip(scores, points, strict=True))
    exact_mean = sum(products, Fraction(0)) / exact(counts.total)
    # Sums of real weights are rounded, and so is their mean.
    rounding = (scores[0] - scores[-1]) * _ROUNDING if counts.weighting == "real" else 0
    not_above = above + sum(scores[i] > exact_mean + rounding for i in near)
    below = above + sum(scores[i] >= exact_mean - rounding for i in near)
    return not_above, below


MEASURES = (RP_AUC, PROBABILISTIC_AUC, SCORED_AUC, SMOOTH_ROC)

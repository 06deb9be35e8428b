"""Samples that a threshold flags: confusion counts, and their precision and F1."""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from fastad._core.arrays import set_readonly
from fastad._core.declared import Integer, Prevalence, Rate, ThresholdValue
from fastad._core.parameters import nearest_float
from fastad._core.types import AnyVector, ArrayLike, BoolVector, Count, Label, Point, Threshold
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import Extremes, Measure
from fastad.measures.points import exact, hits_among, need_both, need_normals, part_around_fpr
from fastad.measures.results import Confusion
from fastad.measures.thresholds import last_point, threshold_from
from fastad.ordering.counts import OrderedCounts

# Integers from here on are above every finite float64.
_BEYOND_FLOATS = 2**1024


def _f1_at_fpr(counts: OrderedCounts, fpr: Fraction, *, prevalence: Fraction | None) -> float:
    need_both(counts, "f1_at_fpr")
    scaled = counts.at_prevalence(prevalence)
    return confusion(scaled, last_point(counts, fpr)).f1


def flagging_most_normals(counts: OrderedCounts, ties: BoolVector, rate: Fraction) -> OrderedCounts:
    """Return the counts with one more point, where a threshold flags the most normals allowed.

    It flags no anomaly in the cell that the rate cuts.
    """
    left = last_point(counts, rate)
    most = rate * exact(counts.n_normals)
    # A real weight is rounded down, so that the rate still allows it.
    is_real = counts.weighting == "real"
    allowed: Count = math.nextafter(float(most), 0) if is_real else int(most)
    if left == ties.shape[0] or ties[left] or allowed <= counts.fps[left]:
        return counts
    return replace(
        counts,
        fps=set_readonly(np.insert(counts.fps, left + 1, allowed)),
        tps=set_readonly(np.insert(counts.tps, left + 1, counts.tps[left])),
        keys=set_readonly(np.insert(counts.keys, left, counts.keys[left])),
    )


def _of_most_normals(
    counts: OrderedCounts,
    ties: BoolVector,
    *,
    fpr: Fraction,
    prevalence: Fraction | None,
    compute: Callable[..., float],
) -> float:
    """Value where a threshold flags the most normals allowed."""
    return compute(flagging_most_normals(counts, ties, fpr), fpr, prevalence=prevalence)


F1_AT_FPR = Measure(
    name="f1_at_fpr",
    title="F1 score of what is flagged at a false positive rate",
    key="f1@",
    compute=_f1_at_fpr,
    parameters={"fpr": Rate(), "prevalence": Prevalence()},
    operating_point="fpr",
    curve_part=part_around_fpr,
    rises_with_curve=True,
    extremes=Extremes(local=True, lowest=partial(_of_most_normals, compute=_f1_at_fpr)),
)


def f1_at_fpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point,
    prevalence: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """F1 score of the samples that `threshold_at_fpr` flags.

    2 tp / (2 tp + fp + fn); 0 where nothing is flagged.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float
        False positive rate in [0, 1], compared as the decimal that is written.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
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
        If a class is absent, or if normals that score +inf exceed ``fpr``.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, equation (5).

    Examples
    --------
    >>> import fastad
    >>> fastad.f1_at_fpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], fpr=0.5)
    0.8
    """
    result: float = F1_AT_FPR.of(
        y_true, y_score, sample_weight, pos_label, fpr=fpr, prevalence=prevalence
    )
    return result


def _precision_at_fpr(
    counts: OrderedCounts, fpr: Fraction, *, prevalence: Fraction | None
) -> float:
    need_both(counts, "precision_at_fpr")
    scaled = counts.at_prevalence(prevalence)

    flagged = confusion(scaled, last_point(counts, fpr))
    if flagged.n_flagged == 0:
        raise UndefinedMeasureError(
            f"precision_at_fpr is undefined where nothing is flagged, at fpr = {float(fpr)}"
        )
    return flagged.precision


PRECISION_AT_FPR = Measure(
    name="precision_at_fpr",
    title="precision of what is flagged at a false positive rate",
    key="precision@fpr",
    compute=_precision_at_fpr,
    parameters={"fpr": Rate(), "prevalence": Prevalence()},
    operating_point="fpr",
    curve_part=part_around_fpr,
    rises_with_curve=True,
    extremes=Extremes(local=True, lowest=partial(_of_most_normals, compute=_precision_at_fpr)),
)


def precision_at_fpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point,
    prevalence: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Precision of the samples that `threshold_at_fpr` flags.

    tp / (tp + fp).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float
        False positive rate in [0, 1], compared as the decimal that is written.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
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
        If a class is absent, nothing is flagged, or normals that score +inf exceed ``fpr``.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 2.5.

    Examples
    --------
    >>> import fastad
    >>> fastad.precision_at_fpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], fpr=0.5)
    0.6666666666666666
    """
    return PRECISION_AT_FPR.of(
        y_true, y_score, sample_weight, pos_label, fpr=fpr, prevalence=prevalence
    )


def _confusion_at(
    counts: OrderedCounts, *, threshold: Threshold | None, k: int | None
) -> Confusion:
    if (threshold is None) == (k is None):
        raise InvalidInputError(
            "threshold must be given, or k, and not both; found "
            f"{'neither' if k is None else 'both'}"
        )
    if threshold is not None:
        return confusion(counts, points_flagged(counts, threshold))
    assert k is not None
    hits = hits_among(counts, k, "confusion_at")
    # A k that is the rounded sum of all real weights may exceed the sum.
    others = max(exact(counts.n_normals) - (k - hits), Fraction(0))
    missed = exact(counts.n_anomalies) - hits
    counted = (hits, k - hits, others, missed)
    return Confusion(*(x.numerator if x.denominator == 1 else float(x) for x in counted))


CONFUSION_AT = Measure(
    name="confusion_at",
    title="confusion counts at a threshold or for the k highest scores",
    key="confusion@",
    compute=_confusion_at,
    parameters={"threshold": ThresholdValue(default=None), "k": Integer(default=None)},
    operating_point="threshold",
    kind="counts",
    classes="any",
    higher_is_better=None,
    value_range=(-math.inf, math.inf),
)


def confusion_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    threshold: Threshold | None = None,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Confusion:
    """Confusion counts and all their rates, at a threshold or for the k highest scores.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    threshold : float or int, optional
        Samples with ``score >= threshold`` are flagged, compared as NumPy compares the scores
        with a Python number.
    k : int, optional
        Number of flagged samples (their total weight under weights). Ties at the cut are shared
        out by expectation, so that counts may be fractional. Give either ``threshold`` or ``k``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    Confusion
        ``tp``, ``fp``, ``tn``, ``fn``, and rates such as ``tpr``, ``precision``, ``f1`` and
        ``mcc``; a rate whose denominator is 0 is NaN.

    Raises
    ------
    UndefinedMeasureError
        If ``k`` exceeds the number of samples.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, section 1.1.

    Examples
    --------
    >>> import fastad
    >>> fastad.confusion_at([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], threshold=0.35)
    Confusion(tp=2, fp=1, tn=1, fn=0)
    """
    return CONFUSION_AT.of(y_true, y_score, sample_weight, pos_label, threshold=threshold, k=k)


def confusion(counts: OrderedCounts, point: int) -> Confusion:
    """Return the counts of one point of the curve."""
    tp, fp = counts.tps.item(point), counts.fps.item(point)
    return Confusion(tp, fp, counts.n_normals - fp, counts.n_anomalies - tp)


def threshold_and_flagged(counts: OrderedCounts, rate: Fraction) -> tuple[Threshold, Confusion]:
    """Return the threshold at a false positive rate and its confusion counts."""
    need_normals(counts, "threshold_at_fpr")
    point = last_point(counts, rate)
    return threshold_from(counts, rate, point, "linear"), confusion(counts, point)


def lowest_flagged(threshold: Threshold, dtype: np.dtype[Any]) -> Threshold:
    """Return the number from which scores of a type reach a threshold, as NumPy compares them."""
    if dtype.kind != "f":
        if threshold not in (math.inf, -math.inf):
            # NumPy would compare an integer with a float as floats, which merges large integers.
            return -(-Fraction(threshold).numerator // Fraction(threshold).denominator)
    elif isinstance(threshold, int) and abs(threshold) >= _BEYOND_FLOATS:
        return math.inf if threshold > 0 else -math.inf
    elif isinstance(threshold, int | float):
        # In the type in which NumPy compares an array of such scores with the number.
        common = np.result_type(np.empty(0, dtype), threshold)
        with np.errstate(over="ignore"):
            lowest: Threshold = np.asarray(threshold).astype(common).item()
        return lowest
    elif isinstance(threshold, Fraction):
        # No score lies between it and the next float.
        nearest = nearest_float(threshold)
        return nearest if nearest >= threshold else math.nextafter(nearest, math.inf)
    return threshold


def flags(scores: AnyVector, threshold: Threshold) -> BoolVector:
    """Return which scores reach a threshold; the points of their curve that do are the same."""
    lowest = lowest_flagged(threshold, scores.dtype)
    if scores.dtype == np.bool_:
        # With integers of any size, NumPy compares integers alone.
        scores = scores.view(np.uint8)
    # As its own float, NumPy does not round the threshold to the type of the scores once more.
    reached: BoolVector = scores >= (np.float64(lowest) if scores.dtype.kind == "f" else lowest)
    return reached


def points_flagged(counts: OrderedCounts, threshold: Threshold) -> int:
    """Return how many distinct scores reach a threshold, as NumPy compares them."""
    keys, codec = counts.keys, counts.codec
    lowest = lowest_flagged(threshold, codec.dtype)
    # Scores fall along the points.
    return bisect_right(
        range(keys.shape[0]), -lowest, key=lambda i: -codec.decode_one(int(keys[i]))
    )


MEASURES = (F1_AT_FPR, PRECISION_AT_FPR, CONFUSION_AT)

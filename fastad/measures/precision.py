"""Measures of precision and recall over all thresholds."""

import math
from fractions import Fraction
from typing import overload

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.parameters import Prevalence, Rate
from fastad._core.types import ArrayLike, BoolVector, FloatVector, Label, Point, Points
from fastad._kernels.curves import area
from fastad._kernels.ordering import cells
from fastad.errors import UndefinedMeasureError
from fastad.measures.extremes import POINT, ROUNDED_AREA, Extremes
from fastad.measures.measure import Measure
from fastad.measures.points import (
    Rates,
    exact,
    first_reaching,
    fractions_of,
    height,
    need_anomalies,
    need_both,
    need_normals,
    thresholds_from_infinity,
)
from fastad.measures.results import PrecisionRecallCurve, ValueAtThreshold
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.orders import PackedOrder

# How far rounding can move a quotient of counts, and some more.
_NEAR = 1e-14


def _precision_recall_curve(
    counts: OrderedCounts, *, prevalence: Fraction | None
) -> PrecisionRecallCurve:
    """All points of the curve."""
    counts = _reweighted(counts, "precision_recall_curve", prevalence)
    precision = np.empty(counts.tps.shape[0])
    np.divide(counts.tps[1:], counts.tps[1:] + counts.fps[1:], out=precision[1:])
    precision[0] = precision[1]
    recall = fractions_of(counts.tps, counts.n_anomalies)
    return PrecisionRecallCurve.of(precision, recall, thresholds_from_infinity(counts))


PRECISION_RECALL_CURVE = Measure(
    name="precision_recall_curve",
    title="precision and recall by falling threshold",
    key="pr",
    compute=_precision_recall_curve,
    source="Škvára, Pevný and Šmídl 2019, section 2.8",
    parameters={"prevalence": Prevalence()},
    kind="curve",
    classes="anomalies",
    higher_is_better=None,
)


def precision_recall_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    prevalence: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> PrecisionRecallCurve:
    """Precision and recall at every distinct threshold, by falling threshold.

    Recall rises from 0 at +inf, where the precision is that of the next point.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    PrecisionRecallCurve
        ``precision``, ``recall`` and ``thresholds``.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If there is no anomaly; with ``prevalence`` also if there is no normal sample.

    Notes
    -----
    O(n log n) time for n samples.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 2.8.

    Examples
    --------
    >>> import fastad
    >>> fastad.precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).recall
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    return PRECISION_RECALL_CURVE.of(
        y_true, y_score, sample_weight, pos_label, prevalence=prevalence
    )


def _average_precision(counts: OrderedCounts, *, prevalence: Fraction | None) -> float:
    """Mean precision over the anomalies."""
    counts = _reweighted(counts, "average_precision", prevalence)
    return sum(area.precision_sum(counts.fps, counts.tps, 0.0, 0.0)) / counts.n_anomalies


def _average_precision_of_order(order: PackedOrder, *, prevalence: Fraction | None) -> float | None:
    """Mean precision straight from an order, in half the memory; the bits of `average_precision`.

    The sum runs down the whole order in one thread, so that its bits do not depend on ranges.
    """
    if prevalence is not None:
        return None
    need_anomalies(order, "average_precision")
    total, lost = 0.0, 0.0
    for where in order.ranges:
        packed = order.packed[where.start : where.stop]
        total, lost = area.precision_sum_packed(packed, where.fp + where.tp, where.tp, total, lost)
    return (total + lost) / order.n_anomalies


def _lowest_average_precision(
    counts: OrderedCounts, ties: BoolVector, *, prevalence: Fraction | None
) -> float:
    """Average precision where, in each cell, anomalies stand one by one below all normals.

    It is no area under a staircase: tied anomalies all have the precision of the last one.
    """
    need_anomalies(counts, "average_precision")
    weight = float(counts.normal_weight(prevalence))
    total = cells.lowest_precision_sum(counts.fps, counts.tps, as_readonly(ties), weight)
    return total / counts.n_anomalies


AVERAGE_PRECISION = Measure(
    name="average_precision",
    title="average precision",
    key="ap",
    compute=_average_precision,
    source="Ning et al. 2020, PR_AUC",
    parameters={"prevalence": Prevalence()},
    from_order=_average_precision_of_order,
    standard=True,
    classes="anomalies",
    smooth=True,
    range_text="(0, 1]",
    rises_with_curve=True,
    extremes=Extremes(exact=False, corners=True, lowest=_lowest_average_precision),
)


def average_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    prevalence: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Average precision: the sum of precision times the step in recall.

    The sum of (R_i - R_{i-1}) P_i over distinct thresholds; nothing is interpolated.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In (0, 1].

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If there is no anomaly; with ``prevalence`` also if there is no normal sample.

    Notes
    -----
    O(n log n) time for n samples.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, PR_AUC.

    Examples
    --------
    >>> import fastad
    >>> round(fastad.average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 6)
    0.833333
    """
    return AVERAGE_PRECISION.of(y_true, y_score, sample_weight, pos_label, prevalence=prevalence)


def _pr_auc(counts: OrderedCounts, *, prevalence: Fraction | None) -> float:
    """Area under the interpolated curve."""
    counts = _reweighted(counts, "pr_auc", prevalence)
    return area.precision_area(counts.fps, counts.tps) / counts.n_anomalies


PR_AUC = Measure(
    name="pr_auc",
    title="area under the interpolated precision-recall curve",
    key="auc_pr",
    compute=_pr_auc,
    source="Škvára, Pevný and Šmídl 2019, section 2.8; Keilwagen et al. 2014",
    parameters={"prevalence": Prevalence()},
    classes="anomalies",
    smooth=True,
    range_text="(0, 1]",
    rises_with_curve=True,
    extremes=Extremes(exact=False, corners=True),
)


def pr_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    prevalence: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the precision-recall curve, interpolated as the ROC curve is straight.

    Between two points the counts move along a straight piece of the ROC curve, so that precision
    is not linear in recall; the area is a closed form with logarithms.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In (0, 1].

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If there is no anomaly; with ``prevalence`` also if there is no normal sample.

    Notes
    -----
    O(n log n) time for n samples.

    References
    ----------
    .. [1] J. Davis and M. Goadrich, "The relationship between precision-recall and ROC curves",
       2006.
    .. [2] J. Keilwagen, I. Grosse and J. Grau, "Area under precision-recall curves for weighted and
       unweighted data", 2014.

    Examples
    --------
    >>> import fastad
    >>> round(fastad.measures.pr_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 6)
    0.797267
    """
    return PR_AUC.of(y_true, y_score, sample_weight, pos_label, prevalence=prevalence)


def _precision_gain_auc(counts: OrderedCounts) -> float:
    """Area under the precision-recall-gain curve."""
    need_both(counts, "precision_gain_auc")
    n, m = exact(counts.n_anomalies), exact(counts.n_normals)
    # Recall gain is 0 where recall equals the fraction of anomalies; the ROC is straight there.
    start = n * n / (n + m)
    right = first_reaching(counts.tps, start)
    fp = Fraction(*height(counts.tps, counts.fps, right - 1, start, 1))
    tps, fps = counts.tps[right:].astype(np.float64), counts.fps[right:].astype(np.float64)
    # Products of whole counts are exact: what is at chance has a gain of exactly 0.
    won = float(m) * tps
    precision_gain = np.concatenate(
        [[float(1 - n * fp / (m * start))], (won - float(n) * fps) / won]
    )
    recall_gain = np.concatenate([[0.0], (won - float(n) * (float(n) - tps)) / won])
    return math.fsum(np.diff(recall_gain) * (precision_gain[1:] + precision_gain[:-1]) / 2)


PRECISION_GAIN_AUC = Measure(
    name="precision_gain_auc",
    title="area under the precision-recall-gain curve",
    key="auc_prg",
    compute=_precision_gain_auc,
    source="Flach and Kull 2015",
    smooth=True,
    value_range=(-math.inf, 1.0),
    range_text="(-∞, 1]",
    extremes=ROUNDED_AREA,
)


def precision_gain_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the precision-recall-gain curve.

    Gains put precision and recall on a harmonic scale on which the classifier that flags
    everything has gain 0. The area runs over recall gain in [0, 1]; negative precision gain
    counts negative.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        At most 1; 0 for constant scores.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If a class is absent.

    Notes
    -----
    O(n log n) time for n samples.

    References
    ----------
    .. [1] P. Flach and M. Kull, "Precision-recall-gain curves: PR analysis done right", 2015.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.precision_gain_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.25
    """
    return PRECISION_GAIN_AUC.of(y_true, y_score, sample_weight, pos_label)


def _best_f1(counts: OrderedCounts, *, prevalence: Fraction | None) -> ValueAtThreshold:
    """Highest F1 score over all thresholds."""
    scaled = _reweighted(counts, "best_f1", prevalence)
    values = 2 * scaled.tps / (scaled.tps + scaled.fps + scaled.n_anomalies)
    # Rounding may order equal values: the exact ones decide, and of equals the highest threshold.
    near: list[int] = np.flatnonzero(values >= values.max() * (1 - _NEAR)).tolist()
    weight = counts.normal_weight(prevalence)

    def exact_f1(point: int) -> Fraction:
        tp, fp = exact(counts.tps[point]), exact(counts.fps[point])
        return 2 * tp / (tp + weight * fp + exact(counts.n_anomalies))

    point = max(near, key=exact_f1)
    return ValueAtThreshold(float(exact_f1(point)), counts.threshold(point))


BEST_F1 = Measure(
    name="best_f1",
    title="highest F1 score over all thresholds",
    key="f1_best",
    compute=_best_f1,
    source="practice",
    parameters={"prevalence": Prevalence()},
    classes="anomalies",
    rises_with_curve=True,
    extremes=POINT,
)


def best_f1(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    prevalence: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> ValueAtThreshold:
    """Highest F1 score over all thresholds, with its threshold.

    The maximum of 2 tp / (2 tp + fp + fn) over the real points; of equal ones that of the highest
    threshold. It is chosen with the labels, and so is optimistic.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    ValueAtThreshold
        A float with the attribute ``threshold``.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If there is no anomaly; with ``prevalence`` also if there is no normal sample.

    Notes
    -----
    O(n log n) time for n samples.

    Examples
    --------
    >>> import fastad
    >>> best = fastad.best_f1([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> best, best.threshold
    (ValueAtThreshold(0.8, threshold=0.35), 0.35)
    """
    result: ValueAtThreshold = BEST_F1.of(
        y_true, y_score, sample_weight, pos_label, prevalence=prevalence
    )
    return result


def _recall_at_precision(
    counts: OrderedCounts, precision: Rates, *, prevalence: Fraction | None
) -> ValueAtThreshold | FloatVector:
    """Highest recall at a precision or above."""
    scaled = _reweighted(counts, "recall_at_precision", prevalence)
    reached = scaled.tps[1:] / (scaled.tps[1:] + scaled.fps[1:])
    weight = counts.normal_weight(prevalence)
    if isinstance(precision, Fraction):
        return _recall(counts, reached, precision, weight)
    return np.array([_recall(counts, reached, bound, weight) for bound in precision], np.float64)


RECALL_AT_PRECISION = Measure(
    name="recall_at_precision",
    title="highest recall at a precision or above",
    key="recall@precision",
    compute=_recall_at_precision,
    source="practice",
    parameters={"precision": Rate(sequence=True), "prevalence": Prevalence()},
    operating_point="precision",
    default_points=(Fraction(9, 10),),
    classes="anomalies",
    rises_with_curve=True,
    extremes=POINT,
)


@overload
def recall_at_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    precision: Point,
    prevalence: Point | None = ...,
    sample_weight: ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> ValueAtThreshold: ...
@overload
def recall_at_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    precision: Points,
    prevalence: Point | None = ...,
    sample_weight: ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def recall_at_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    precision: Point | Points,
    prevalence: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> ValueAtThreshold | FloatVector:
    """Highest recall among the thresholds that reach a precision, with its threshold.

    The maximum over the real points; of equal ones that of the highest threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    precision : float or sequence of floats
        Lowest precision, in [0, 1], compared as the decimal that is written.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    ValueAtThreshold or numpy.ndarray
        A float with the attribute ``threshold``; a plain array for a sequence.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If there is no anomaly, or no threshold reaches the precision.

    Notes
    -----
    O(n log n) time for n samples.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.recall_at_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], precision=0.6)
    ValueAtThreshold(1.0, threshold=0.35)
    """
    return RECALL_AT_PRECISION.of(
        y_true, y_score, sample_weight, pos_label, precision=precision, prevalence=prevalence
    )


def _reweighted(counts: OrderedCounts, measure: str, prevalence: Fraction | None) -> OrderedCounts:
    """Return the counts at a prevalence, for which both classes are needed."""
    need_anomalies(counts, measure)
    if prevalence is not None:
        need_normals(counts, measure)
    return counts.at_prevalence(prevalence)


def _recall(
    counts: OrderedCounts, reached: FloatVector, bound: Fraction, weight: Fraction
) -> ValueAtThreshold:
    tps, fps = counts.tps[1:], counts.fps[1:]
    good = reached > float(bound)
    # Rounding may misjudge points next to the bound: there, exact numbers decide.
    for i in np.flatnonzero(np.abs(reached - float(bound)) < _NEAR):
        tp = exact(tps[i])
        good[i] = tp >= bound * (tp + weight * exact(fps[i]))
    good &= tps > 0
    if not np.any(good):
        raise UndefinedMeasureError(
            f"recall_at_precision is undefined: no threshold reaches precision {float(bound)}"
        )
    most = tps[np.flatnonzero(good)[-1]]
    point = 1 + int(np.flatnonzero(good & (tps == most))[0])
    recall = float(exact(counts.tps[point]) / exact(counts.n_anomalies))
    return ValueAtThreshold(recall, counts.threshold(point))


MEASURES = (
    PRECISION_RECALL_CURVE,
    AVERAGE_PRECISION,
    PR_AUC,
    PRECISION_GAIN_AUC,
    BEST_F1,
    RECALL_AT_PRECISION,
)

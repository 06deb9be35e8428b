"""The precision-recall curve, and areas under it."""

import math
from fractions import Fraction

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.declared import Prevalence
from fastad._core.types import ArrayLike, BoolVector, Label, Point
from fastad._kernels.curves import area
from fastad._kernels.ordering import cell_curves
from fastad.measures.measure import ROUNDED_AREA, Extremes, Measure
from fastad.measures.points import (
    exact,
    first_reaching,
    fractions_of,
    height,
    need_anomalies,
    need_both,
    need_normals,
    thresholds_from_infinity,
)
from fastad.measures.results import PrecisionRecallCurve
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.orders import PackedOrder


def _precision_recall_curve(
    counts: OrderedCounts, *, prevalence: Fraction | None
) -> PrecisionRecallCurve:
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

    Recall rises from 0 at +inf, where the precision equals the next point's.

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
    UndefinedMeasureError
        If there is no anomaly; with ``prevalence`` also if there is no normal sample.

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
    counts = _reweighted(counts, "average_precision", prevalence)
    total = sum(area.precision_sum(counts.fps, counts.tps, 0.0, 0.0))
    return min(total / counts.n_anomalies, 1.0)  # which real weights may exceed by rounding


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
    if counts.weighting == "real":
        # Anomalies may weigh as little as may be: the sum is an integral.
        first, n, fp = counts.tps[:-1], np.diff(counts.tps), weight * counts.fps[1:]
        with np.errstate(invalid="ignore", divide="ignore"):
            one_by_one = n - fp * np.log1p(n / (first + fp))
        tied = n * counts.tps[1:] / (counts.tps[1:] + fp)
        known = ties | (fp == 0) | (n == 0)
        return float(np.where(known, tied, np.maximum(one_by_one, 0)).sum() / counts.n_anomalies)
    total = cell_curves.lowest_precision_sum(counts.fps, counts.tps, as_readonly(ties), weight)
    return total / counts.n_anomalies


AVERAGE_PRECISION = Measure(
    name="average_precision",
    title="average precision",
    key="ap",
    compute=_average_precision,
    parameters={"prevalence": Prevalence()},
    from_order=_average_precision_of_order,
    classes="anomalies",
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
    UndefinedMeasureError
        If there is no anomaly; with ``prevalence`` also if there is no normal sample.

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
    counts = _reweighted(counts, "pr_auc", prevalence)
    total = area.precision_area(counts.fps, counts.tps)
    return min(total / counts.n_anomalies, 1.0)  # which real weights may exceed by rounding


PR_AUC = Measure(
    name="pr_auc",
    title="area under the interpolated precision-recall curve",
    key="auc_pr",
    compute=_pr_auc,
    parameters={"prevalence": Prevalence()},
    classes="anomalies",
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
    UndefinedMeasureError
        If there is no anomaly; with ``prevalence`` also if there is no normal sample.

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
    need_both(counts, "precision_gain_auc")
    n, m = exact(counts.n_anomalies), exact(counts.n_normals)
    # Recall gain is 0 where recall equals the fraction of anomalies; the ROC is straight there.
    start = n * n / (n + m)
    right = first_reaching(counts.tps, start)
    fp = Fraction(*height(counts.tps, counts.fps, right - 1, start, 1))
    tps, fps = counts.tps[right:].astype(np.float64), counts.fps[right:].astype(np.float64)
    # Products of counts are exact up to 2^53: points at chance have a gain of exactly 0.
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
    value_range=(-math.inf, 1.0),
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
    UndefinedMeasureError
        If a class is absent.

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


def need_classes(counts: OrderedCounts, measure: str, prevalence: Fraction | None) -> None:
    """Raise where there is no anomaly or, at a given prevalence, no normal sample."""
    need_anomalies(counts, measure)
    if prevalence is not None:
        need_normals(counts, measure)


def _reweighted(counts: OrderedCounts, measure: str, prevalence: Fraction | None) -> OrderedCounts:
    need_classes(counts, measure, prevalence)
    return counts.at_prevalence(prevalence)


MEASURES = (PRECISION_RECALL_CURVE, AVERAGE_PRECISION, PR_AUC, PRECISION_GAIN_AUC)

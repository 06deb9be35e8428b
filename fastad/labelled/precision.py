"""Public measures of precision and recall."""

import numpy.typing as npt

from fastad._core.buffers import ReusedBuffers
from fastad._core.parameters import check_prevalence
from fastad._core.types import Label, Point
from fastad.measures import precision
from fastad.measures.results import PrecisionRecallCurve
from fastad.ordering.counts import count_scores, counted
from fastad.ordering.labels import check_labels, check_scores
from fastad.ordering.orders import order_values


def precision_recall_curve(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    prevalence: Point | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> PrecisionRecallCurve:
    """Precision and recall at every distinct threshold, by falling threshold.

    Recall rises from 0 at +inf, where the precision is that of the next point.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    prevalence : float, optional
        Share of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
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
        If there is no anomaly; with ``prevalence`` also if there is no normal point.

    Notes
    -----
    O(n log n) time for n points.

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
    share = check_prevalence(prevalence)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return precision.precision_recall_curve(counts, prevalence=share)


def average_precision(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    prevalence: Point | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Average precision: the sum of precision times the step in recall.

    The sum of (R_i - R_{i-1}) P_i over distinct thresholds; nothing is interpolated.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    prevalence : float, optional
        Share of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
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
        If there is no anomaly; with ``prevalence`` also if there is no normal point.

    Notes
    -----
    O(n log n) time for n points.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, PR_AUC.

    Examples
    --------
    >>> import fastad
    >>> round(fastad.average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 6)
    0.833333
    """
    share = check_prevalence(prevalence)
    with ReusedBuffers():
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        scores = check_scores(y_score, labels)
        if labels.weights is None and share is None:
            return precision.average_precision_of_values(order_values(scores, labels))
        return precision.average_precision(count_scores(scores, labels), prevalence=share)


def pr_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    prevalence: Point | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the precision-recall curve, interpolated as the ROC curve is straight.

    Between two points the counts move along a straight piece of the ROC curve, so that precision
    is not linear in recall; the area is a closed form with logarithms.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    prevalence : float, optional
        Share of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
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
        If there is no anomaly; with ``prevalence`` also if there is no normal point.

    Notes
    -----
    O(n log n) time for n points.

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
    share = check_prevalence(prevalence)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return precision.pr_auc(counts, prevalence=share)


def precision_gain_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the precision-recall-gain curve.

    Gains put precision and recall on a harmonic scale on which the classifier that flags
    everything has gain 0. The area runs over recall gain in [0, 1]; negative precision gain
    counts negative.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
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
    O(n log n) time for n points.

    References
    ----------
    .. [1] P. Flach and M. Kull, "Precision-recall-gain curves: PR analysis done right", 2015.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.precision_gain_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.25
    """
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return precision.precision_gain_auc(counts)

"""Public measures of the whole receiver operating characteristic."""

import numpy.typing as npt

from fastad._core.buffers import ReusedBuffers
from fastad._core.parameters import QUADRATURES, check_choice, check_flag
from fastad._core.types import Label, Quadrature
from fastad.measures import roc
from fastad.measures.results import DetCurve, RocCurve
from fastad.ordering.counts import count_scores, count_values, counted
from fastad.ordering.labels import check_labels, check_scores
from fastad.ordering.orders import order_values


def roc_curve(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    drop_collinear: bool = False,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> RocCurve:
    """Receiver operating characteristic of anomaly scores.

    A point is flagged when ``y_score >= threshold``. Tied scores are one step of the curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    drop_collinear : bool, default False
        Leave out points on a straight piece. The area stays; thresholds are lost.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    RocCurve
        ``fpr``, ``tpr`` and ``thresholds``, from (0, 0) at +inf to (1, 1).

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
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 2.1.

    Examples
    --------
    >>> import fastad
    >>> fastad.roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).tpr
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    thin = check_flag(drop_collinear, "drop_collinear")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return roc.roc_curve(counts, drop_collinear=thin)


def roc_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the ROC curve: the chance that an anomaly scores above a normal point.

    P(s+ > s-) + P(s+ = s-) / 2, which is the trapezoid area under the curve. Exact: pairs are
    counted in whole numbers and divided once.

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
        In [0, 1]; 0.5 for constant scores.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If a class is absent.

    Notes
    -----
    O(n log n) time and 8 bytes a score for n points.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, equation (1).

    Examples
    --------
    >>> import fastad
    >>> fastad.roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    with ReusedBuffers():
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        scores = check_scores(y_score, labels)
        if labels.weights is not None:
            return roc.roc_auc(count_scores(scores, labels))
        order = order_values(scores, labels)
        value = roc.roc_auc_of_values(order)
        return roc.roc_auc(count_values(order)) if value is None else value


def weighted_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    quadrature: Quadrature = "right",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the ROC curve with weight 1 / FPR, which stresses low false positive rates.

    The integral of TPR / FPR over FPR. It depends on the number m of normals by definition and
    may exceed 1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    quadrature : {"right", "exact"}, default "right"
        ``"right"``: each trapezoid is divided by its right end, and segments that end at FPR 0
        are dropped. ``"exact"``: closed form over FPR in [1/m, 1], without weights.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        Not negative.

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
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, equation (3).

    Examples
    --------
    >>> import fastad
    >>> fastad.weighted_auc([0, 0, 0, 0, 1], [0.1, 0.2, 0.3, 0.5, 0.4])
    1.0833333333333333
    """
    check_choice(quadrature, QUADRATURES, "quadrature")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return roc.weighted_auc(counts, quadrature=quadrature)


def det_curve(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> DetCurve:
    """Detection error trade-off: false negative against false positive rate.

    Commonly drawn on normal-deviate axes.

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
    DetCurve
        ``fpr``, ``fnr`` and ``thresholds``, by falling threshold.

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
    .. [1] A. Martin et al., "The DET curve in assessment of detection task performance", 1997.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.det_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).fnr
    array([1. , 0.5, 0.5, 0. , 0. ])
    """
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return roc.det_curve(counts)


def equal_error_rate(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Error rate where false positive and false negative rate are equal.

    Read from the interpolated ROC curve.

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
        In [0, 1]; lower is better.

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
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 1.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.equal_error_rate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5
    """
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return roc.equal_error_rate(counts)

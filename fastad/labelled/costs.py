"""Public measures that price errors: Neyman-Pearson scores and the AUC under a ratio of costs."""

from typing import overload

import numpy.typing as npt

from fastad._core.parameters import check_positive, check_positives
from fastad._core.types import FloatVector, Label, Point, Points
from fastad.measures import outlier
from fastad.measures.results import NpCurve
from fastad.ordering.counts import counted


def np_curve(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: Point,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> NpCurve:
    """Neyman-Pearson score at every threshold: the price of exceeding a false positive rate.

    max(FPR - alpha, 0) / alpha + FNR.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    alpha : float
        False positive rate that costs nothing, above 0, taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    NpCurve
        ``score`` and ``thresholds``, by falling threshold.

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
       anomaly detectors?", 2019, equation (2), after Scott 2007.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.np_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], alpha=0.5).score
    array([1. , 0.5, 0.5, 0. , 1. ])
    """
    bound = check_positive(alpha, "alpha")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return outlier.np_curve(counts, alpha=bound)


@overload
def np_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: Point,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def np_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: Points,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def np_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: Point | Points,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Lowest Neyman-Pearson score over all thresholds.

    The minimum of max(FPR - alpha, 0) / alpha + FNR over the real points.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    alpha : float or sequence of floats
        False positive rate that costs nothing, above 0, taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        An array for a sequence. In [0, 1]; lower is better.

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
       anomaly detectors?", 2019, equation (2), after Scott 2007.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.np_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], alpha=0.25)
    0.5
    """
    bound = check_positives(alpha, "alpha")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return outlier.np_score(counts, bound)


@overload
def cost_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    cost_ratio: Point,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def cost_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    cost_ratio: Points,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def cost_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    cost_ratio: Point | Points,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Share of the pairs whose ranks stand in more than a ratio of costs.

    The mean over all pairs of I(rank- > c rank+) + I(rank- = c rank+) / 2; rank 1 is the highest
    score, ties share their mean rank.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    cost_ratio : float or sequence of floats
        c = cost of a false alarm over that of a missed anomaly, above 0, taken as the decimal that
        is written.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        An array for a sequence. In [0, 1]; the AUC for c = 1.

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
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020,
       section 1.3 (meta_AUC).

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.cost_auc([0, 1, 1, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], cost_ratio=0.8)
    0.8
    """
    ratio = check_positives(cost_ratio, "cost_ratio")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return outlier.cost_auc(counts, cost_ratio=ratio)

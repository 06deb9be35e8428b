"""Public measures of a point or a part of the receiver operating characteristic."""

from typing import overload

import numpy.typing as npt

from fastad._core.parameters import (
    INTERPOLATIONS,
    NORMALIZATIONS,
    check_choice,
    check_rate,
    exact_rate,
)
from fastad._core.types import FloatVector, Interpolation, Label, Normalize, Point, Points
from fastad.measures import roc
from fastad.ordering.counts import counted
from fastad.ordering.cuts import CurvePart


@overload
def tpr_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point,
    interpolation: Interpolation = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def tpr_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Points,
    interpolation: Interpolation = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def tpr_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point | Points,
    interpolation: Interpolation = "linear",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """True positive rate at a false positive rate.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float or sequence of floats
        False positive rate in [0, 1], compared as the decimal that is written: 0.29 of 100
        normals are 29.
    interpolation : {"linear", "conservative"}, default "linear"
        ``"linear"``: height of the interpolated ROC curve, on a vertical piece its upper end.
        ``"conservative"``: the last real point whose FPR is at most ``fpr``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        In [0, 1]; an array for a sequence of operating points.

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
       anomaly detectors?", 2019, section 2.3.

    Examples
    --------
    >>> import fastad
    >>> fastad.tpr_at_fpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], fpr=0.25)
    0.5
    """
    rates = check_rate(fpr, "fpr")
    check_choice(interpolation, INTERPOLATIONS, "interpolation")
    part = CurvePart.around(rates)
    with counted(
        y_true, y_score, sample_weight=sample_weight, pos_label=pos_label, part=part
    ) as counts:
        return roc.tpr_at_fpr(counts, rates, interpolation=interpolation)


@overload
def fpr_at_tpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    tpr: Point,
    interpolation: Interpolation = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def fpr_at_tpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    tpr: Points,
    interpolation: Interpolation = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def fpr_at_tpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    tpr: Point | Points,
    interpolation: Interpolation = "linear",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """False positive rate at a true positive rate.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    tpr : float or sequence of floats
        True positive rate in [0, 1], compared as the decimal that is written.
    interpolation : {"linear", "conservative"}, default "linear"
        ``"linear"``: abscissa of the interpolated ROC curve, on a horizontal piece its left end.
        ``"conservative"``: the first real point whose TPR is at least ``tpr``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        In [0, 1]; an array for a sequence of operating points.

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
       section 3.1.

    Examples
    --------
    >>> import fastad
    >>> fastad.fpr_at_tpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], tpr=0.95)
    0.5
    """
    rates = check_rate(tpr, "tpr")
    check_choice(interpolation, INTERPOLATIONS, "interpolation")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return roc.fpr_at_tpr(counts, rates, interpolation=interpolation)


@overload
def auc_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point,
    min_fpr: Point = ...,
    normalize: Normalize = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def auc_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Points,
    min_fpr: Point = ...,
    normalize: Normalize = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def auc_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point | Points,
    min_fpr: Point = 0.0,
    normalize: Normalize = "width",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Area under the ROC curve over a range of false positive rates.

    The integral of TPR over FPR in [min_fpr, fpr], on the interpolated curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float or sequence of floats
        Upper end of the range, in (0, 1], taken as the decimal that is written.
    min_fpr : float, default 0
        Lower end of the range, in [0, 1).
    normalize : {"width", "none", "mcclish"}, default "width"
        ``"none"``: the area A itself. ``"width"``: A divided by the width w of the range.
        ``"mcclish"``: (1 + (A - c) / (w - c)) / 2 with the area c of chance: 0.5 is chance, 1
        is perfect.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        In [0, 1]; an array for a sequence of operating points.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If a class is absent, the range has no width, or A < c under ``"mcclish"``.

    Notes
    -----
    O(n log n) time for n points.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 2.2.

    Examples
    --------
    >>> import fastad
    >>> fastad.auc_at_fpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], fpr=0.75)
    0.6666666666666666
    """
    rates = check_rate(fpr, "fpr")
    lowest = exact_rate(min_fpr, "min_fpr")
    check_choice(normalize, NORMALIZATIONS, "normalize")
    part = CurvePart(lowest, CurvePart.around(rates).high)
    with counted(
        y_true, y_score, sample_weight=sample_weight, pos_label=pos_label, part=part
    ) as counts:
        return roc.auc_at_fpr(counts, rates, min_fpr=lowest, normalize=normalize)


@overload
def auc_at_tpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    min_tpr: Point = ...,
    max_tpr: Point = ...,
    normalize: Normalize = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def auc_at_tpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    min_tpr: Points,
    max_tpr: Point = ...,
    normalize: Normalize = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def auc_at_tpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    min_tpr: Point | Points = 0.0,
    max_tpr: Point = 1.0,
    normalize: Normalize = "width",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Area beside the ROC curve over a range of true positive rates.

    The integral of 1 - FPR over TPR in [min_tpr, max_tpr], on the interpolated curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    min_tpr : float or sequence of floats, default 0
        Lower end of the range, in [0, 1), taken as the decimal that is written.
    max_tpr : float, default 1
        Upper end of the range, in (0, 1].
    normalize : {"width", "none", "mcclish"}, default "width"
        ``"none"``: the area A itself. ``"width"``: A divided by the width w of the range.
        ``"mcclish"``: (1 + (A - c) / (w - c)) / 2 with the area c of chance: 0.5 is chance, 1
        is perfect.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        In [0, 1]; an array for a sequence of operating points.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If a class is absent, the range has no width, or A < c under ``"mcclish"``.

    Notes
    -----
    O(n log n) time for n points.

    References
    ----------
    .. [1] X. Robin et al., "pROC: an open-source package for R and S+ to analyze and compare ROC
       curves", 2011: partial areas with a focus on sensitivity.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.auc_at_tpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], min_tpr=0.5)
    0.5
    """
    lowest, highest = check_rate(min_tpr, "min_tpr"), exact_rate(max_tpr, "max_tpr")
    check_choice(normalize, NORMALIZATIONS, "normalize")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return roc.auc_at_tpr(counts, min_tpr=lowest, max_tpr=highest, normalize=normalize)

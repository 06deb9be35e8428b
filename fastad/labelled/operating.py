"""Public thresholds at an operating point, and what they flag."""

from typing import overload

import numpy.typing as npt

from fastad._core.arrays import real_vector
from fastad._core.buffers import ReusedBuffers
from fastad._core.parameters import INTERPOLATIONS, check_choice, check_prevalence, check_rate
from fastad._core.types import (
    FloatVector,
    Interpolation,
    Label,
    Point,
    Points,
    ScoreVector,
    Threshold,
)
from fastad.measures import operating
from fastad.ordering.counts import count_scores, counted
from fastad.ordering.cuts import CurvePart
from fastad.ordering.labels import all_normal, check_scores


@overload
def threshold_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point,
    interpolation: Interpolation = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> Threshold: ...
@overload
def threshold_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Points,
    interpolation: Interpolation = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> ScoreVector: ...
def threshold_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point | Points,
    interpolation: Interpolation = "linear",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Threshold | ScoreVector:
    """Threshold whose false positive rate does not exceed a bound.

    Let L be the last point of the ROC curve with FPR <= ``fpr`` and R the next. Whatever the
    interpolation, ``score >= threshold`` flags what the threshold of L flags.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float or sequence of floats
        False positive rate in [0, 1], compared as the decimal that is written.
    interpolation : {"linear", "conservative"}, default "linear"
        ``"conservative"``: the threshold of L. ``"linear"``: interpolated in FPR between the
        thresholds of L and R where both are finite, else that of L.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float, int or numpy.ndarray
        In the units of the scores, and as exact as their type: a float, or an int for integer
        scores; +inf where nothing may be flagged. An array for a sequence of operating points.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If there is no normal point, or if normals that score +inf exceed ``fpr``.

    Notes
    -----
    O(n log n) time for n points. Anomalies are not needed, but move the linear value.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, algorithm 1.

    Examples
    --------
    >>> import fastad
    >>> fastad.threshold_at_fpr([0, 0, 0, 0, 1], [0.9, 0.8, 0.1, 0.0, 1.0], fpr=0.25)
    0.9
    """
    rates = check_rate(fpr, "fpr")
    check_choice(interpolation, INTERPOLATIONS, "interpolation")
    part = CurvePart.around(rates)
    with counted(
        y_true, y_score, sample_weight=sample_weight, pos_label=pos_label, part=part
    ) as counts:
        return operating.threshold_at_fpr(counts, rates, interpolation=interpolation)


@overload
def threshold_at_rate(
    y_score: npt.ArrayLike, *, rate: Point, interpolation: Interpolation = ...
) -> Threshold: ...
@overload
def threshold_at_rate(
    y_score: npt.ArrayLike, *, rate: Points, interpolation: Interpolation = ...
) -> ScoreVector: ...
def threshold_at_rate(
    y_score: npt.ArrayLike, *, rate: Point | Points, interpolation: Interpolation = "linear"
) -> Threshold | ScoreVector:
    """Threshold for a budget of alerts: flags at most a share of all points; no labels.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    rate : float or sequence of floats
        Share of the points in [0, 1], compared as the decimal that is written.
    interpolation : {"linear", "conservative"}, default "linear"
        As in `threshold_at_fpr`, with every point in the part of a normal one.

    Returns
    -------
    float, int or numpy.ndarray
        In the units of the scores, and as exact as their type: a float, or an int for integer
        scores; +inf where nothing may be flagged. An array for a sequence of operating points.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If scores of +inf make up more than ``rate``.

    Notes
    -----
    O(n log n) time for n points.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.threshold_at_rate([0.1, 0.2, 0.3, 0.4], rate=0.25)
    0.4
    """
    rates = check_rate(rate, "rate")
    check_choice(interpolation, INTERPOLATIONS, "interpolation")
    labels = all_normal(real_vector(y_score, "y_score").shape[0])
    part = CurvePart.around(rates)
    with ReusedBuffers():
        counts = count_scores(check_scores(y_score, labels), labels, part=part)
        return operating.threshold_at_fpr(counts, rates, interpolation=interpolation)


@overload
def f1_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point,
    prevalence: Point | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def f1_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Points,
    prevalence: Point | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def f1_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point | Points,
    prevalence: Point | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """F1 score of the points that `threshold_at_fpr` flags.

    2 tp / (2 tp + fp + fn); 0 where nothing is flagged.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float or sequence of floats
        False positive rate in [0, 1], compared as the decimal that is written.
    prevalence : float, optional
        Share of anomalies in (0, 1) to which the classes are weighted; by default as they are.
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
        If a class is absent, or if normals that score +inf exceed ``fpr``.

    Notes
    -----
    O(n log n) time for n points.

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
    rates, share = check_rate(fpr, "fpr"), check_prevalence(prevalence)
    part = CurvePart.around(rates)
    with counted(
        y_true, y_score, sample_weight=sample_weight, pos_label=pos_label, part=part
    ) as counts:
        return operating.f1_at_fpr(counts, rates, prevalence=share)


@overload
def precision_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point,
    prevalence: Point | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def precision_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Points,
    prevalence: Point | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def precision_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point | Points,
    prevalence: Point | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Precision of the points that `threshold_at_fpr` flags.

    tp / (tp + fp).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float or sequence of floats
        False positive rate in [0, 1], compared as the decimal that is written.
    prevalence : float, optional
        Share of anomalies in (0, 1) to which the classes are weighted; by default as they are.
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
        If a class is absent, nothing is flagged, or normals that score +inf exceed ``fpr``.

    Notes
    -----
    O(n log n) time for n points.

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
    rates, share = check_rate(fpr, "fpr"), check_prevalence(prevalence)
    part = CurvePart.around(rates)
    with counted(
        y_true, y_score, sample_weight=sample_weight, pos_label=pos_label, part=part
    ) as counts:
        return operating.precision_at_fpr(counts, rates, prevalence=share)

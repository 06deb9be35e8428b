"""Public measures at the best of all thresholds."""

from typing import overload

import numpy.typing as npt

from fastad._core.parameters import check_prevalence, check_rate
from fastad._core.types import FloatVector, Label, Point, Points
from fastad.measures import precision as measures
from fastad.measures.results import ValueAtThreshold
from fastad.ordering.counts import counted


def best_f1(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    prevalence: Point | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> ValueAtThreshold:
    """Highest F1 score over all thresholds, with its threshold.

    The maximum of 2 tp / (2 tp + fp + fn) over the real points; of equal ones that of the highest
    threshold. It is chosen with the labels, and so is optimistic.

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
    ValueAtThreshold
        A float with the attribute ``threshold``.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If there is no anomaly; with ``prevalence`` also if there is no normal point.

    Notes
    -----
    O(n log n) time for n points.

    Examples
    --------
    >>> import fastad
    >>> best = fastad.best_f1([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> best, best.threshold
    (ValueAtThreshold(0.8, threshold=0.35), 0.35)
    """
    share = check_prevalence(prevalence)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return measures.best_f1(counts, prevalence=share)


@overload
def recall_at_precision(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    precision: Point,
    prevalence: Point | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> ValueAtThreshold: ...
@overload
def recall_at_precision(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    precision: Points,
    prevalence: Point | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def recall_at_precision(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    precision: Point | Points,
    prevalence: Point | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> ValueAtThreshold | FloatVector:
    """Highest recall among the thresholds that reach a precision, with its threshold.

    The maximum over the real points; of equal ones that of the highest threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    precision : float or sequence of floats
        Lowest precision, in [0, 1], compared as the decimal that is written.
    prevalence : float, optional
        Share of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
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
    O(n log n) time for n points.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.recall_at_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], precision=0.6)
    ValueAtThreshold(1.0, threshold=0.35)
    """
    bound, share = check_rate(precision, "precision"), check_prevalence(prevalence)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return measures.recall_at_precision(counts, bound, prevalence=share)

"""Public measures at a number of alarms, or at a share of anomalies."""

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import (
    check_count,
    check_counts,
    check_cut,
    check_generator,
    check_rate,
)
from fastad._core.types import FloatVector, IntVector, Label, Point, Points, Threshold
from fastad.measures import operating, precision
from fastad.measures.results import Confusion
from fastad.ordering.counts import counted


@overload
def precision_at_k(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    k: int | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def precision_at_k(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    k: Sequence[int] | IntVector,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def precision_at_k(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    k: int | Sequence[int] | IntVector | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Share of anomalies among the k highest scores.

    With the default ``k`` this is known as precision@n, or R-precision.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    k : int or sequence of ints, optional
        Number of highest scores (their total weight under weights); by default the number of
        anomalies. Ties at the cut count by expectation over their order.
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
        If ``k`` exceeds the number of points, or by default if there is no anomaly.

    Notes
    -----
    O(n log n) time for n points.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, Table 1.

    Examples
    --------
    >>> import fastad
    >>> fastad.precision_at_k([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], k=1)
    1.0
    """
    flagged = check_counts(k, "k")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return precision.precision_at_k(counts, flagged)


@overload
def recall_at_k(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    k: int | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def recall_at_k(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    k: Sequence[int] | IntVector,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def recall_at_k(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    k: int | Sequence[int] | IntVector | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Share of the anomalies that are among the k highest scores.

    Also known as detection rate.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    k : int or sequence of ints, optional
        Number of highest scores (their total weight under weights); by default the number of
        anomalies. Ties at the cut count by expectation over their order.
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
        If ``k`` exceeds the number of points, or if there is no anomaly.

    Notes
    -----
    O(n log n) time for n points.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, Table 1 (DR).

    Examples
    --------
    >>> import fastad
    >>> fastad.recall_at_k([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], k=1)
    0.5
    """
    flagged = check_counts(k, "k")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return precision.recall_at_k(counts, flagged)


@overload
def precision_at_p(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    p: Point,
    n_repeats: int | None = ...,
    rng: int | np.random.Generator | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def precision_at_p(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    p: Points,
    n_repeats: int | None = ...,
    rng: int | np.random.Generator | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def precision_at_p(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    p: Point | Points,
    n_repeats: int | None = None,
    rng: int | np.random.Generator | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Precision after anomalies were drawn at random down to a share p.

    k = floor(m p / (1 - p)) of the n anomalies are drawn, so that they make the share p beside
    the m normals; then the precision among the k highest scores. This makes data sets with
    different shares of anomalies comparable. By default the exact expectation over all draws.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    p : float or sequence of floats
        Share of anomalies in [0, 1), taken as the decimal that is written.
    n_repeats : int, optional
        Average over so many random draws instead, as the paper does (with 10).
    rng : int or numpy.random.Generator, optional
        Seed or generator of the draws; read only with ``n_repeats``.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers, not negative: how many times each row counts.
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
        If a class is absent, or if ``p`` takes no anomaly or more than there are.

    Notes
    -----
    O(n log n + k) time for n points. Ties count by expectation over their order.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, equation (4).

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 9 + [1] * 4
    >>> scores = [.1, .2, .3, .4, .5, .6, .7, .8, .9, .35, .55, .95, .85]
    >>> round(fastad.precision_at_p(labels, scores, p=0.2), 6)
    0.416667
    """
    shares = check_rate(p, "p")
    repeats = None if n_repeats is None else check_count(n_repeats, "n_repeats")
    generator = check_generator(rng)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return precision.precision_at_p(counts, shares, n_repeats=repeats, rng=generator)


def confusion_at(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    threshold: Threshold | None = None,
    k: int | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Confusion:
    """Confusion counts and all their rates, at a threshold or for the k highest scores.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    threshold : float or int, optional
        Points with ``score >= threshold`` are flagged, compared as NumPy compares the scores
        with a Python number.
    k : int, optional
        Number of flagged points (their total weight under weights). Ties at the cut are shared
        out by expectation, so that counts may be fractional. Give either ``threshold`` or ``k``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    Confusion
        ``tp``, ``fp``, ``tn``, ``fn``, and rates such as ``tpr``, ``precision``, ``f1`` and
        ``mcc``; a rate whose denominator is 0 is NaN.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If ``k`` exceeds the number of points.

    Notes
    -----
    O(n log n) time for n points.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, section 1.1.

    Examples
    --------
    >>> import fastad
    >>> fastad.confusion_at([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], threshold=0.35)
    Confusion(tp=2, fp=1, tn=1, fn=0)
    """
    cut, flagged = check_cut(threshold, k)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return operating.confusion_at(counts, threshold=cut, k=flagged)

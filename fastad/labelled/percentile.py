"""Public measures that read the values of scores, not only their order."""

from typing import overload

import numpy.typing as npt

from fastad._core.parameters import check_percentiles, check_range
from fastad._core.types import FloatVector, Label, Point, Points
from fastad.measures import percentile
from fastad.measures.results import ClassPercentiles, RpCurve
from fastad.ordering.counts import counted


def class_percentiles(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    p: Points = tuple(range(101)),
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> ClassPercentiles:
    """Percentiles of the scores of each class.

    The percentile p of a class is the lowest score that at least p percent of its points do not
    exceed (NumPy's ``inverted_cdf``).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    p : sequence of floats, default 0, 1, …, 100
        Percentiles in [0, 100], taken as the decimals that are written.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    ClassPercentiles
        ``p``, ``anomalies`` and ``normals``.

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
    .. [1] balabit, "RP distance: a new metric for evaluating unsupervised anomaly detection", 2017.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.class_percentiles([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], p=[50]).normals
    array([0.1])
    """
    percentiles = check_percentiles(p)
    shares = percentiles if isinstance(percentiles, list) else [percentiles]
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return percentile.class_percentiles(counts, shares)


@overload
def rp_distance(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    p: Point,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def rp_distance(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    p: Points,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def rp_distance(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    p: Point | Points,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Reverse percentile distance: how far apart the classes are at a percentile.

    Percentile 100 - p of the anomalies less percentile p of the normals.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    p : float or sequence of floats
        Percentile in [0, 100], taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        In units of the scores; an array for a sequence of percentiles.

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
    .. [1] balabit, "RP distance: a new metric for evaluating unsupervised anomaly detection", 2017.

    Examples
    --------
    >>> import fastad
    >>> round(fastad.measures.rp_distance([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], p=50), 6)
    0.25
    """
    percentiles = check_percentiles(p)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return percentile.rp_distance(counts, percentiles)


def rp_curve(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> RpCurve:
    """Reverse percentile distance at the percentiles 0, 1, …, 100.

    It falls; where it meets 0 says which share of each class can be told apart.

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
    RpCurve
        ``p``, ``distance``, and ``zero``, where the distance is no longer positive.

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
    .. [1] balabit, "RP distance: a new metric for evaluating unsupervised anomaly detection", 2017.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.rp_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).zero
    50.0
    """
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return percentile.rp_curve(counts)


def rp_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    score_range: tuple[Point, Point],
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the RP curve, relative to the range of the scores.

    1/2 + integral of RP over p in [0, 100] / (200 (hi - lo)), exactly. As the percentiles of a
    class integrate to 100 times its mean, this is `probabilistic_auc`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    score_range : (float, float)
        Lowest and highest score that are possible; scores outside are an error.
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
    O(n log n) time for n points.

    References
    ----------
    .. [1] balabit, "RP distance: a new metric for evaluating unsupervised anomaly detection", 2017.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.rp_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], score_range=(0, 1))
    0.6625
    """
    bounds = check_range(score_range)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return percentile.rp_auc(counts, score_range=bounds)


def probabilistic_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    score_range: tuple[Point, Point],
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Ferri's probabilistic AUC: the mean separation of the classes.

    (mean of the anomalies - mean of the normals + 1) / 2 on scores scaled to [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    score_range : (float, float)
        Lowest and highest score that are possible; scores outside are an error.
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
    O(n log n) time for n points.

    References
    ----------
    .. [1] C. Ferri et al., "Modifying ROC curves to incorporate predicted probabilities", 2005.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.probabilistic_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], score_range=(0, 1))
    0.6625
    """
    bounds = check_range(score_range)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return percentile.probabilistic_auc(counts, score_range=bounds)


def scored_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    score_range: tuple[Point, Point],
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Mean by which anomalies score above normals, where they do.

    The mean over all pairs of max(s+ - s-, 0) on scores scaled to [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    score_range : (float, float)
        Lowest and highest score that are possible; scores outside are an error.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1]; 0 for constant scores.

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
    .. [1] S. Wu and P. Flach, "A scored AUC metric for classifier evaluation and selection", 2005.

    Examples
    --------
    >>> import fastad
    >>> y, s = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> round(fastad.measures.scored_auc(y, s, score_range=(0, 1)), 6)
    0.3375
    """
    bounds = check_range(score_range)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return percentile.scored_auc(counts, score_range=bounds)


def smooth_roc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    score_range: tuple[Point, Point],
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the smooth ROC curve, which weights each step by the score.

    Scores are scaled to [0, 1] and walked from the top, one step for each distinct one. Above the
    mean score an anomaly moves (1 - s, s) and a normal (s, 1 - s); below it an anomaly
    (s, 1 - s) and a normal (1 - s, s); at the mean nothing moves. The area is divided by that of
    the rectangle in which the walk ends.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    score_range : (float, float)
        Lowest and highest score that are possible; scores outside are an error.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If a class is absent, or the walk does not leave an axis.

    Notes
    -----
    O(n log n) time for n points.

    References
    ----------
    .. [1] W. Klement et al., "Smooth receiver operating characteristics (smROC) curves", 2011.

    Examples
    --------
    >>> import fastad
    >>> y, s = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> round(fastad.measures.smooth_roc(y, s, score_range=(0, 1)), 6)
    0.731395
    """
    bounds = check_range(score_range)
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return percentile.smooth_roc(counts, score_range=bounds)

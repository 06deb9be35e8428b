"""Public measures that the literature on outlier detection has added."""

from collections.abc import Sequence
from typing import overload

import numpy.typing as npt

from fastad._types import FloatVector, IntVector, Label, Point, Points
from fastad._validate import check_positive, check_positives, check_rate, check_some_counts
from fastad.counts import count
from fastad.measures import outlier
from fastad.results import NpCurve


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
    >>> fastad.np_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], alpha=0.5).score
    array([1. , 0.5, 0.5, 0. , 1. ])
    """
    bound = check_positive(alpha, "alpha")
    return outlier.np_curve(
        count(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label), alpha=bound
    )


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
    >>> fastad.np_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], alpha=0.25)
    0.5
    """
    bound = check_positives(alpha, "alpha")
    return outlier.np_score(
        count(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label), bound
    )


@overload
def ht_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: Point,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def ht_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: Points,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def ht_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: Point | Points,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """High-TPR AUC: the share alpha of the highest normals is forgiven.

    The k = floor(alpha m) highest-scored of the m normals are dropped and count as won:
    the sum over the other pairs, ties counting half, divided by n m, plus k / m.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    alpha : float or sequence of floats
        Share of the normals in [0, 1], taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        An array for a sequence. In [0, 1]; the AUC for alpha 0, and 1 for alpha 1.

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
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, equation (1).

    Examples
    --------
    >>> import fastad
    >>> fastad.ht_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], alpha=0.5)
    1.0
    """
    share = check_rate(alpha, "alpha")
    return outlier.ht_auc(
        count(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label), alpha=share
    )


@overload
def lf_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: Point,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def lf_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: Points,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def lf_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: Point | Points,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Low-FPR AUC: only the share alpha of the highest anomalies is judged.

    The k = floor(alpha n) highest-scored of the n anomalies are kept, the others count as won:
    the sum over the pairs of those kept, ties counting half, divided by n m, plus (n - k) / n.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    alpha : float or sequence of floats
        Share of the anomalies in [0, 1], taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        An array for a sequence. In [0, 1]; the AUC for alpha 1, and 1 for alpha 0.

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
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, equation (2);
       there [(1 - alpha) n] / n is printed instead of (n - k) / n.

    Examples
    --------
    >>> import fastad
    >>> fastad.lf_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], alpha=0.5)
    1.0
    """
    share = check_rate(alpha, "alpha")
    return outlier.lf_auc(
        count(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label), alpha=share
    )


@overload
def rank_power(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    k: int,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...
@overload
def rank_power(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    k: Sequence[int] | IntVector,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def rank_power(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    k: int | Sequence[int] | IntVector,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Rank power: how near to the top the anomalies among the k highest scores are.

    j (j + 1) / (2 sum of ranks) over the j anomalies among the k highest; rank 1 is the highest
    score, tied points share their mean rank. At a tied cut the expectation over its order.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    k : int or sequence of ints
        Number of highest scores.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        An array for a sequence. In (0, 1]; 1 where these anomalies hold the highest ranks.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If ``k`` exceeds the number of points, or no anomaly may be among them.

    Notes
    -----
    O(n log n) time for n points.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, Table 1.

    Examples
    --------
    >>> import fastad
    >>> fastad.rank_power([0, 1, 1, 0, 1, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], k=4)
    0.6
    """
    flagged = check_some_counts(k, "k")
    return outlier.rank_power(
        count(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label), k=flagged
    )


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
    >>> fastad.cost_auc([0, 1, 1, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], cost_ratio=0.8)
    0.8
    """
    ratio = check_positives(cost_ratio, "cost_ratio")
    return outlier.cost_auc(
        count(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label), cost_ratio=ratio
    )

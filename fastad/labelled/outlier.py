"""Public measures that judge the highest-ranked points, from the literature on outliers."""

from collections.abc import Sequence
from typing import overload

import numpy.typing as npt

from fastad._core.parameters import check_rate, check_some_counts
from fastad._core.types import FloatVector, IntVector, Label, Point, Points
from fastad.measures import outlier
from fastad.ordering.counts import counted


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
    >>> fastad.measures.ht_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], alpha=0.5)
    1.0
    """
    share = check_rate(alpha, "alpha")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return outlier.ht_auc(counts, alpha=share)


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
    >>> fastad.measures.lf_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], alpha=0.5)
    1.0
    """
    share = check_rate(alpha, "alpha")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return outlier.lf_auc(counts, alpha=share)


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
    >>> fastad.measures.rank_power([0, 1, 1, 0, 1, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], k=4)
    0.6
    """
    flagged = check_some_counts(k, "k")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return outlier.rank_power(counts, k=flagged)

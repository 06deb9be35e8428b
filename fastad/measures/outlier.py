"""Areas of the literature on outlier detection: with a ratio of costs, or forgiving."""

from fractions import Fraction

import numpy as np

from fastad._core.declared import Positive, Rate
from fastad._core.types import ArrayLike, Count, Label, Point
from fastad.measures.measure import AREA, DROPPED, KEPT, Measure
from fastad.measures.points import (
    last_within,
    need_both,
    need_integer_weights,
    twice_area,
    twice_mean_ranks,
)
from fastad.ordering.counts import OrderedCounts

_INT64 = 2**63


def _cost_auc(counts: OrderedCounts, cost_ratio: Fraction) -> float:
    n, m = _integer_classes(counts, "cost_auc")
    ranks = twice_mean_ranks(counts, len(counts.fps) - 1)
    anomalies, normals = np.diff(counts.tps), np.diff(counts.fps)

    scaled, divisor = ranks, cost_ratio.denominator
    if max(int(ranks[-1]) * cost_ratio.numerator, divisor) >= _INT64:
        scaled = ranks.astype(object)
    scaled = scaled * cost_ratio.numerator
    # No rank is above the highest, so that larger limits are all equivalent.
    limits = np.minimum(scaled // divisor, int(ranks[-1]) + 1).astype(np.int64)
    # The first distinct score whose rank is above the limit, and the one before it.
    beyond = np.searchsorted(ranks, limits, side="right")
    before = np.maximum(beyond - 1, 0)
    at_limit = (scaled % divisor == 0) & (ranks[before] == limits)
    won = 2 * (m - counts.fps[beyond]) + np.where(at_limit, normals[before], 0)
    if 2 * n * m >= _INT64:
        won = won.astype(object)
    return int(np.dot(anomalies.astype(won.dtype), won)) / (2 * n * m)


COST_AUC = Measure(
    name="cost_auc",
    title="fraction of pairs whose ranks stand in more than a ratio of costs",
    key="cost_auc@",
    compute=_cost_auc,
    parameters={"cost_ratio": Positive()},
    operating_point="cost_ratio",
    default_points=(),
    weights="integer",
)


def cost_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    cost_ratio: Point,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Fraction of the pairs whose ranks stand in more than a ratio of costs.

    The mean over all pairs of I(rank- > c rank+) + I(rank- = c rank+) / 2; rank 1 is the highest
    score, ties share their mean rank.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    cost_ratio : float
        c = cost of a false alarm over the cost of a missed anomaly, above 0, taken as the decimal
        that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Integers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1]; the AUC for c = 1.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

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
    return COST_AUC.of(y_true, y_score, sample_weight, pos_label, cost_ratio=cost_ratio)


def _ht_auc(counts: OrderedCounts, alpha: Fraction) -> float:
    n, m = _integer_classes(counts, "ht_auc")
    whole = twice_area(counts.fps, counts.tps, 0, len(counts.fps) - 1)

    dropped = int(alpha * m)
    # Pairs of dropped normals count as won, whatever their order.
    won = whole - _twice_wins(counts, dropped)
    return (won + 2 * n * dropped) / (2 * n * m)


HT_AUC = Measure(
    name="ht_auc",
    title="high-TPR AUC: a fraction of the highest normals is forgiven",
    key="ht_auc@",
    compute=_ht_auc,
    parameters={"alpha": Rate()},
    operating_point="alpha",
    tail=DROPPED,
    default_points=(Fraction(2, 10),),
    weights="integer",
    extremes=AREA,
)


def ht_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    alpha: Point,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """High-TPR AUC: the fraction alpha of the highest normals is forgiven.

    The k = floor(alpha m) highest-scored of the m normals are dropped and count as won:
    the sum over the other pairs, ties counting half, divided by n m, plus k / m.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    alpha : float
        Fraction of the normals in [0, 1], taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Integers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1]; the AUC for alpha 0, and 1 for alpha 1.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, equation (1).

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.ht_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], alpha=0.5)
    1.0
    """
    return HT_AUC.of(y_true, y_score, sample_weight, pos_label, alpha=alpha)


def _lf_auc(counts: OrderedCounts, alpha: Fraction) -> float:
    n, m = _integer_classes(counts, "lf_auc")

    kept = int(alpha * n)
    point = last_within(counts.tps, Fraction(kept))
    fp, tp = int(counts.fps[point]), int(counts.tps[point])
    # Of tp * m pairs, the pairs below the curve are won: the rectangle less the area on its left.
    won = 2 * tp * m - (2 * tp * fp - twice_area(counts.fps, counts.tps, 0, point))
    if kept > tp:
        won += (kept - tp) * (2 * m - fp - int(counts.fps[point + 1]))
    return (won + 2 * m * (n - kept)) / (2 * n * m)


LF_AUC = Measure(
    name="lf_auc",
    title="low-FPR AUC: only a fraction of the highest anomalies is counted",
    key="lf_auc@",
    compute=_lf_auc,
    parameters={"alpha": Rate()},
    operating_point="alpha",
    tail=KEPT,
    default_points=(Fraction(8, 10),),
    weights="integer",
    extremes=AREA,
)


def lf_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    alpha: Point,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Low-FPR AUC: only the fraction alpha of the highest anomalies is counted.

    The k = floor(alpha n) highest-scored of the n anomalies are kept, the others count as won:
    the sum over the pairs of those kept, ties counting half, divided by n m, plus (n - k) / n.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    alpha : float
        Fraction of the anomalies in [0, 1], taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Integers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1]; the AUC for alpha 1, and 1 for alpha 0.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

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
    return LF_AUC.of(y_true, y_score, sample_weight, pos_label, alpha=alpha)


def _integer_classes(counts: OrderedCounts, measure: str) -> tuple[int, int]:
    """Return the numbers of anomalies and normals, which must be whole."""
    need_both(counts, measure)
    need_integer_weights(counts, measure)
    return int(counts.n_anomalies), int(counts.n_normals)


def _twice_wins(counts: OrderedCounts, n_highest: int) -> Count:
    """Return twice the pairs that anomalies win against the highest normals, ties counting half."""
    point = last_within(counts.fps, Fraction(n_highest))
    rest = n_highest - int(counts.fps[point])
    won = twice_area(counts.fps, counts.tps, 0, point)
    if rest:
        won += rest * (int(counts.tps[point]) + int(counts.tps[point + 1]))
    return won


MEASURES = (COST_AUC, HT_AUC, LF_AUC)

"""Measures of the percentiles of the scores of each class."""

import math
from fractions import Fraction

import numpy as np

from fastad._core.declared import Percentile
from fastad._core.types import (
    ArrayLike,
    Count,
    CountVector,
    Label,
    Point,
    Points,
    ScoreVector,
    Threshold,
)
from fastad.measures.measure import POINT, Measure
from fastad.measures.points import exact, first_reaching, last_within, need_both, need_finite
from fastad.measures.results import ClassPercentiles, RpCurve
from fastad.ordering.counts import OrderedCounts


def _class_percentiles(counts: OrderedCounts, p: Fraction | list[Fraction]) -> ClassPercentiles:
    need_both(counts, "class_percentiles")
    need_finite(counts, "class_percentiles")
    percentiles = p if isinstance(p, list) else [p]
    return ClassPercentiles.of(
        np.array([float(fraction) for fraction in percentiles]),
        _array([_percentile(counts, counts.tps, counts.n_anomalies, x) for x in percentiles]),
        _array([_percentile(counts, counts.fps, counts.n_normals, x) for x in percentiles]),
    )


CLASS_PERCENTILES = Measure(
    name="class_percentiles",
    title="percentiles of the scores of each class",
    key="percentiles",
    compute=_class_percentiles,
    parameters={"p": Percentile(default=tuple(range(101)), sequence=True)},
    operating_point="p",
    kind="curve",
    reads_values=True,
    higher_is_better=None,
    value_range=(-math.inf, math.inf),
)


def class_percentiles(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    p: Points = tuple(range(101)),
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> ClassPercentiles:
    """Percentiles of the scores of each class.

    The percentile p of a class is the lowest score that at least p percent of its samples do not
    exceed (NumPy's ``inverted_cdf``).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    p : sequence of floats, default 0, 1, …, 100
        Percentiles in [0, 100], taken as the decimals that are written.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    ClassPercentiles
        ``p``, ``anomalies`` and ``normals``.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] Á. Fülöp, "Novel performance metrics for anomaly detection algorithms", balabit 2017.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.class_percentiles([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], p=[50]).normals
    array([0.1])
    """
    return CLASS_PERCENTILES.of(y_true, y_score, sample_weight, pos_label, p=p)


def _rp_distance(counts: OrderedCounts, p: Fraction) -> float:
    need_both(counts, "rp_distance")
    need_finite(counts, "rp_distance")
    return _distance(counts, p)


RP_DISTANCE = Measure(
    name="rp_distance",
    title="reverse percentile distance",
    key="rp@",
    compute=_rp_distance,
    parameters={"p": Percentile()},
    operating_point="p",
    default_points=(Fraction(90),),
    reads_values=True,
    value_range=(-math.inf, math.inf),
    extremes=POINT,
)


def rp_distance(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    p: Point,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Reverse percentile distance: how far apart the classes are at a percentile.

    Percentile 100 - p of the anomalies less percentile p of the normals.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    p : float
        Percentile in [0, 100], taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        Distance in units of the scores.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] Á. Fülöp, "Novel performance metrics for anomaly detection algorithms", balabit 2017.

    Examples
    --------
    >>> import fastad
    >>> round(fastad.measures.rp_distance([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], p=50), 6)
    0.25
    """
    return RP_DISTANCE.of(y_true, y_score, sample_weight, pos_label, p=p)


def _rp_curve(counts: OrderedCounts) -> RpCurve:
    need_both(counts, "rp_curve")
    need_finite(counts, "rp_curve")
    distance = np.array([_distance(counts, Fraction(p)) for p in range(101)])
    return RpCurve.of(np.arange(101.0), distance, _zero(counts))


RP_CURVE = Measure(
    name="rp_curve",
    title="reverse percentile distance by percentile",
    key="rp",
    compute=_rp_curve,
    kind="curve",
    reads_values=True,
    higher_is_better=None,
    value_range=(-math.inf, math.inf),
)


def rp_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> RpCurve:
    """Reverse percentile distance at the percentiles 0, 1, …, 100.

    It falls; where it meets 0 says which fraction of each class can be distinguished.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    RpCurve
        ``p``, ``distance``, and ``zero``, where the distance is no longer positive.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] Á. Fülöp, "Novel performance metrics for anomaly detection algorithms", balabit 2017.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.rp_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).zero
    50.0
    """
    return RP_CURVE.of(y_true, y_score, sample_weight, pos_label)


def _array(scores: list[Threshold]) -> ScoreVector:
    """Return floats, but integers as they are where a float would not be exact."""
    exact_as_floats = all(float(score) == score for score in scores)
    return np.array(scores, np.float64 if exact_as_floats else None)


def _distance(counts: OrderedCounts, percentile: Fraction) -> float:
    anomaly = _percentile(counts, counts.tps, counts.n_anomalies, 100 - percentile)
    normal = _percentile(counts, counts.fps, counts.n_normals, percentile)
    try:
        return float(Fraction(anomaly) - Fraction(normal))
    except OverflowError:
        return math.copysign(math.inf, anomaly)


def _percentile(
    counts: OrderedCounts, cumulative: CountVector, total: Count, percentile: Fraction
) -> Threshold:
    """Return the lowest score that at least p percent of a class do not exceed."""
    return counts.threshold(_quantile(cumulative, total, percentile / 100))


def _quantile(cumulative: CountVector, total: Count, fraction: Fraction) -> int:
    """Return the point of the lowest score that at least a fraction of a class does not exceed."""
    above = last_within(cumulative, (1 - fraction) * exact(total)) + 1
    return above if above < cumulative.shape[0] else first_reaching(cumulative, exact(total))


def _zero(counts: OrderedCounts) -> float:
    """Return the lowest percentile where the distance is not positive.

    RP(p) <= 0 where for some score v the fraction of normals below v is less than p and the
    fraction of anomalies above v at most p (both as fractions, with a normal at or above v and an
    anomaly at or below it): the least over v of the larger of the two fractions.
    """
    n, m = counts.n_anomalies, counts.n_normals
    normals_below, anomalies_above = m - counts.fps[1:], counts.tps[:-1]
    possible = (normals_below < m) & (anomalies_above < n)
    if not np.any(possible):
        return float("nan")
    fractions = np.maximum(normals_below / m, anomalies_above / n)[possible]
    best = np.flatnonzero(possible)[int(np.argmin(fractions))]
    normal = exact(normals_below[best]) / exact(m)
    anomaly = exact(anomalies_above[best]) / exact(n)
    return float(100 * max(normal, anomaly))


MEASURES = (CLASS_PERCENTILES, RP_DISTANCE, RP_CURVE)

"""The Neyman-Pearson score: misses, and the price of exceeding a false positive rate."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.declared import Positive
from fastad._core.parameters import nearest_float
from fastad._core.types import ArrayLike, FloatVector, Label, Point
from fastad.measures.measure import FALSE_ALARMS, POINT, Measure
from fastad.measures.points import exact, need_both, thresholds_from_infinity
from fastad.measures.results import NpCurve
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.cuts import CurvePart


def _np_curve(counts: OrderedCounts, *, alpha: Fraction) -> NpCurve:
    need_both(counts, "np_curve")
    return NpCurve.of(_scores(counts, alpha), thresholds_from_infinity(counts))


NP_CURVE = Measure(
    name="np_curve",
    title="Neyman-Pearson score by falling threshold",
    key="np",
    compute=_np_curve,
    parameters={"alpha": Positive(example=Fraction(1, 100))},
    operating_point="alpha",
    kind="curve",
    higher_is_better=None,
    value_range=(0.0, math.inf),
)


def np_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    alpha: Point,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> NpCurve:
    """Neyman-Pearson score at every threshold: the price of exceeding a false positive rate.

    max(FPR - alpha, 0) / alpha + FNR.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    alpha : float
        False positive rate that costs nothing, above 0, taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    NpCurve
        ``score`` and ``thresholds``, by falling threshold.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

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
    return NP_CURVE.of(y_true, y_score, sample_weight, pos_label, alpha=alpha)


def _np_score(counts: OrderedCounts, alpha: Fraction) -> float:
    need_both(counts, "np_score")
    point = int(np.argmin(_scores(counts, alpha)))
    fpr = exact(counts.fps[point]) / exact(counts.n_normals)
    tpr = exact(counts.tps[point]) / exact(counts.n_anomalies)
    return float(max(fpr - alpha, Fraction(0)) / alpha + 1 - tpr)


def _part_reaching_score(
    parameters: Mapping[str, Any], counts: OrderedCounts | None = None, score: float = math.nan
) -> CurvePart | None:
    """Return the part of the curve beyond which the excess of the FPR alone costs more."""
    if counts is None or not math.isfinite(score):
        return None
    return CurvePart(Fraction(0), min(parameters["alpha"] * (1 + Fraction(score)), Fraction(1)))


NP_SCORE = Measure(
    name="np_score",
    title="lowest Neyman-Pearson score",
    key="np@",
    compute=_np_score,
    parameters={"alpha": Positive(example=Fraction(1, 100))},
    operating_point="alpha",
    tail=FALSE_ALARMS,
    curve_part=_part_reaching_score,
    higher_is_better=False,
    rises_with_curve=True,
    extremes=POINT,
)


def np_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    alpha: Point,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Lowest Neyman-Pearson score over all thresholds.

    The minimum of max(FPR - alpha, 0) / alpha + FNR over the real points.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    alpha : float
        False positive rate that costs nothing, above 0, taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1]; lower is better.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

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
    return NP_SCORE.of(y_true, y_score, sample_weight, pos_label, alpha=alpha)


def _scores(counts: OrderedCounts, alpha: Fraction) -> FloatVector:
    fpr, fnr = counts.fps / counts.n_normals, 1 - counts.tps / counts.n_anomalies
    bound = nearest_float(alpha) or math.ulp(0.0)
    with np.errstate(over="ignore"):  # a bound near 0 makes scores infinite
        scores: FloatVector = np.maximum(fpr - bound, 0) / bound + fnr
    return scores


MEASURES = (NP_CURVE, NP_SCORE)

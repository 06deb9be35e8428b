"""Costs of errors: NIST's normalised detection cost at a threshold, and at the best one."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from fastad._core.declared import Positive, Prevalence, ThresholdValue
from fastad._core.parameters import nearest_float
from fastad._core.types import ArrayLike, CountVector, FloatVector, Label, Point, Threshold
from fastad.measures.flagged import points_flagged
from fastad.measures.measure import POINT, Extremes, Measure
from fastad.measures.points import (
    best_point,
    exact,
    first_reaching,
    last_within,
    need_both,
    unrounded,
)
from fastad.measures.results import ValueAtThreshold
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.cuts import CurvePart

_COSTS = {"cost_miss": Positive(default=1.0), "cost_false_alarm": Positive(default=1.0)}


class Weights(NamedTuple):
    """Cost of each error rate; the lower one of both costs is 1."""

    # Weights of the false negative and of the false positive rate.
    misses: Fraction
    false_alarms: Fraction

    @classmethod
    def of(cls, prevalence: Fraction, cost_miss: Fraction, cost_false_alarm: Fraction) -> "Weights":
        """Return the weights over the cost of the better one of two detectors without scores.

        They flag everything, or nothing.
        """
        misses, false_alarms = cost_miss * prevalence, cost_false_alarm * (1 - prevalence)
        cheapest = min(misses, false_alarms)
        return cls(misses / cheapest, false_alarms / cheapest)


def weights_of(counts: OrderedCounts, prevalence: Fraction | None, **costs: Fraction) -> Weights:
    """Return the weights at a prevalence, by default the samples' own."""
    if prevalence is None:
        n, m = exact(counts.n_anomalies), exact(counts.n_normals)
        prevalence = n / (n + m)
        if counts.weighting == "real" and 0 < (whole := unrounded(prevalence)) < 1:
            prevalence = whole
    return Weights.of(prevalence, **costs)


def _cost_at(counts: OrderedCounts, point: int, weights: Weights) -> float:
    missed = 1 - exact(counts.tps[point]) / exact(counts.n_anomalies)
    false_alarms = exact(counts.fps[point]) / exact(counts.n_normals)
    return nearest_float(weights.misses * missed + weights.false_alarms * false_alarms)


def _detection_cost(
    counts: OrderedCounts, *, threshold: Threshold, prevalence: Fraction | None, **costs: Fraction
) -> float:
    need_both(counts, "detection_cost")
    point = points_flagged(counts, threshold)
    return _cost_at(counts, point, weights_of(counts, prevalence, **costs))


def _costs(
    counts: OrderedCounts,
    tps: FloatVector,
    fps: FloatVector,
    *,
    threshold: Threshold,
    prevalence: Fraction | None,
    **costs: Fraction,
) -> FloatVector:
    misses, false_alarms = map(nearest_float, weights_of(counts, prevalence, **costs))
    missed: FloatVector = 1 - tps / counts.n_anomalies
    return misses * missed + false_alarms * fps / counts.n_normals


DETECTION_COST = Measure(
    name="detection_cost",
    title="normalised cost of the errors at a threshold",
    key="dcf@threshold",
    compute=_detection_cost,
    parameters={"threshold": ThresholdValue(example=0.5), "prevalence": Prevalence(), **_COSTS},
    operating_point="threshold",
    default_points=(),
    reads_values=True,
    values_at=_costs,
    monotone=True,
    higher_is_better=False,
    value_range=(0.0, math.inf),
    extremes=Extremes(reads="confusion", local=True),
)


def detection_cost(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    threshold: Threshold,
    prevalence: Point | None = None,
    cost_miss: Point = 1.0,
    cost_false_alarm: Point = 1.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Detection cost at a threshold, normalised as by NIST: the actual DCF.

    With the prevalence p, cost_miss p FNR + cost_false_alarm (1 - p) FPR, divided by the lower one
    of cost_miss p, the cost of flagging nothing, and cost_false_alarm (1 - p), the cost of flagging
    everything.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    threshold : float or int
        Samples with ``score >= threshold`` are flagged, compared as NumPy compares the scores
        with a Python number.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) where the detector is used; by default as they are.
    cost_miss : float, default 1
        Cost of an anomaly that is not flagged, above 0.
    cost_false_alarm : float, default 1
        Cost of a normal sample that is flagged, above 0.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        Not negative; 1 is the cost of a detector that does not look at the samples.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] A. Martin and M. Przybocki, "The NIST 1999 speaker recognition evaluation - an overview",
       Digital Signal Processing 10, 2000.
    .. [2] NIST 2010 speaker recognition evaluation plan.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 1, 1], [1, 2, 3, 5, 4, 6]
    >>> fastad.measures.detection_cost(y_true, y_score, threshold=4, prevalence=0.2)
    1.0
    """
    return DETECTION_COST.of(
        y_true,
        y_score,
        sample_weight,
        pos_label,
        threshold=threshold,
        prevalence=prevalence,
        cost_miss=cost_miss,
        cost_false_alarm=cost_false_alarm,
    )


def _min_detection_cost(
    counts: OrderedCounts, prevalence: Fraction | None, **costs: Fraction
) -> ValueAtThreshold:
    need_both(counts, "min_detection_cost")
    weights = weights_of(counts, prevalence, **costs)
    gain, loss = weights.misses / exact(counts.n_anomalies), weights.false_alarms
    loss /= exact(counts.n_normals)
    # Savings by flagging, in units in which floats neither overflow nor are all 0.
    unit = max(weights)
    about_gain, about_loss = float(gain / unit), float(loss / unit)

    def saved(fps: CountVector, tps: CountVector) -> FloatVector:
        return about_gain * tps - about_loss * fps

    def exactly_saved(fp: Fraction, tp: Fraction) -> Fraction:
        return gain * tp - loss * fp

    # Beyond these points one kind of errors alone costs more than a detector without scores.
    passed = exact(counts.n_anomalies) * (1 - 1 / weights.misses)
    first = first_reaching(counts.tps, passed)
    last = last_within(counts.fps, exact(counts.n_normals) / weights.false_alarms)
    point = best_point(counts, saved, exactly_saved, first=first, last=last, scale=1.0)
    return ValueAtThreshold(_cost_at(counts, point, weights), counts.threshold(point))


def _part_reaching_cost(
    parameters: Mapping[str, Any], counts: OrderedCounts | None = None, cost: float = math.nan
) -> CurvePart | None:
    """Return the part of the curve beyond which false alarms alone cost more."""
    if counts is None or not math.isfinite(cost):
        return None
    weights = weights_of(counts, **parameters)
    if weights.misses > 1:  # the curve is searched from a TPR on, which may lie farther
        return None
    return CurvePart(Fraction(0), min(Fraction(cost) / weights.false_alarms, Fraction(1)))


MIN_DETECTION_COST = Measure(
    name="min_detection_cost",
    title="lowest normalised cost of the errors over all thresholds",
    key="mindcf",
    number_key="mindcf@",
    compute=_min_detection_cost,
    parameters={"prevalence": Prevalence(), **_COSTS},
    operating_point="prevalence",
    default_points=(None,),
    curve_part=_part_reaching_cost,
    higher_is_better=False,
    rises_with_curve=True,
    extremes=POINT,
)


def min_detection_cost(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    prevalence: Point | None = None,
    cost_miss: Point = 1.0,
    cost_false_alarm: Point = 1.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> ValueAtThreshold:
    """Lowest detection cost over all thresholds, with its threshold: NIST's minDCF.

    The minimum of `detection_cost` over the real points, of flagging nothing, and of flagging
    everything; in a tie the one with the highest threshold. It is chosen with the labels, and so
    is optimistic.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) where the detector is used; by default as they are.
    cost_miss : float, default 1
        Cost of an anomaly that is not flagged, above 0.
    cost_false_alarm : float, default 1
        Cost of a normal sample that is flagged, above 0.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    ValueAtThreshold
        A float in [0, 1] with the attribute ``threshold``.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] A. Martin and M. Przybocki, "The NIST 1999 speaker recognition evaluation - an overview",
       Digital Signal Processing 10, 2000.
    .. [2] NIST 2010 speaker recognition evaluation plan.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 1, 1], [1, 2, 3, 5, 4, 6]
    >>> fastad.measures.min_detection_cost(y_true, y_score, prevalence=0.2)
    ValueAtThreshold(0.5, threshold=6)
    """
    return MIN_DETECTION_COST.of(
        y_true,
        y_score,
        sample_weight,
        pos_label,
        prevalence=prevalence,
        cost_miss=cost_miss,
        cost_false_alarm=cost_false_alarm,
    )


MEASURES = (DETECTION_COST, MIN_DETECTION_COST)

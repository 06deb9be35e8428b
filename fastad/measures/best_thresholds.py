"""The best of all thresholds by a criterion, and measures there: F1, recall, precision."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.declared import Choice, Positive, Prevalence, Rate
from fastad._core.types import (
    ArrayLike,
    CountVector,
    FloatVector,
    Label,
    Point,
    Threshold,
    ThresholdCriterion,
)
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.costs import MIN_DETECTION_COST
from fastad.measures.measure import POINT, Measure
from fastad.measures.points import (
    NEAR,
    Exact,
    at_fraction,
    best_point,
    entry,
    exact,
    first_reaching,
    last_within,
    need_both,
    plain,
    unrounded,
)
from fastad.measures.precision import need_classes
from fastad.measures.results import ValueAtThreshold
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.cuts import CurvePart


def _best_f1(counts: OrderedCounts, *, prevalence: Fraction | None) -> ValueAtThreshold:
    need_classes(counts, "best_f1", prevalence)
    n, weight = plain(counts.n_anomalies), counts.normal_weight(prevalence)
    about_n, about = float(n), float(weight)

    def f1(fps: CountVector, tps: CountVector) -> FloatVector:
        return 2 * tps / (tps + about * fps + about_n)

    def exact_f1(fp: Exact, tp: Exact) -> Fraction:
        # Integers, divided once: most of the time of fractions goes into reducing them.
        normals, each = weight.as_integer_ratio()
        return Fraction(2 * tp * each) / (tp * each + normals * fp + n * each)

    point = best_point(counts, f1, exact_f1)
    value = exact_f1(entry(counts.fps, point), entry(counts.tps, point))
    return ValueAtThreshold(float(value), counts.threshold(point))


def _part_reaching_f1(
    parameters: Mapping[str, Any], counts: OrderedCounts | None = None, f1: float = math.nan
) -> CurvePart | None:
    """Return the part of the curve beyond which F1 is lower.

    With n anomalies and fp false positives it is at most 2 n / (2 n + fp).
    """
    if counts is None:
        return None
    highest = Fraction(1)
    if f1 > 0 and counts.n_normals:
        normals = counts.normal_weight(parameters["prevalence"]) * exact(counts.n_normals)
        highest = min(2 * exact(counts.n_anomalies) * (1 / Fraction(f1) - 1) / normals, highest)
    return CurvePart(Fraction(0), highest)


BEST_F1 = Measure(
    name="best_f1",
    title="highest F1 score over all thresholds",
    key="f1_best",
    compute=_best_f1,
    parameters={"prevalence": Prevalence()},
    curve_part=_part_reaching_f1,
    classes="anomalies",
    rises_with_curve=True,
    extremes=POINT,
)


def best_f1(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    prevalence: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> ValueAtThreshold:
    """Highest F1 score over all thresholds, with its threshold.

    The maximum of 2 tp / (2 tp + fp + fn) over the real points; in a tie the one with the highest
    threshold. It is chosen with the labels, and so is optimistic:
    `fastad.uncertainty.best_f1_optimism` corrects the value for that.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    ValueAtThreshold
        A float with the attribute ``threshold``.

    Raises
    ------
    UndefinedMeasureError
        If there is no anomaly; with ``prevalence`` also if there is no normal sample.

    Examples
    --------
    >>> import fastad
    >>> best = fastad.best_f1([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> best, best.threshold
    (ValueAtThreshold(0.8, threshold=0.35), 0.35)
    """
    result: ValueAtThreshold = BEST_F1.of(
        y_true, y_score, sample_weight, pos_label, prevalence=prevalence
    )
    return result


def _recall_at_precision(
    counts: OrderedCounts, precision: Fraction, *, prevalence: Fraction | None
) -> ValueAtThreshold:
    need_classes(counts, "recall_at_precision", prevalence)
    scaled = counts.at_prevalence(prevalence)
    reached = scaled.tps[1:] / (scaled.tps[1:] + scaled.fps[1:])
    weight = counts.normal_weight(prevalence)
    # Rounding may misjudge points next to it: there, exact numbers decide, from the last
    # point on, as long perfect orders have many.
    for i in np.flatnonzero((reached > float(precision) - NEAR) & (counts.tps[1:] > 0))[::-1]:
        tp, fp = exact(counts.tps[i + 1]), exact(counts.fps[i + 1])
        value = _precision(weight * fp, tp)
        if counts.weighting == "real":
            value = unrounded(value)
        if value >= precision:
            # The first point with this recall is the most precise.
            point = first_reaching(counts.tps, tp)
            recall = float(tp / exact(counts.n_anomalies))
            return ValueAtThreshold(recall, counts.threshold(point))
    raise UndefinedMeasureError(
        f"recall_at_precision is undefined: no threshold reaches precision {float(precision)}"
    )


RECALL_AT_PRECISION = Measure(
    name="recall_at_precision",
    title="highest recall at a precision or above",
    key="recall@precision",
    compute=_recall_at_precision,
    parameters={"precision": Rate(), "prevalence": Prevalence()},
    operating_point="precision",
    default_points=(Fraction(9, 10),),
    classes="anomalies",
    rises_with_curve=True,
    extremes=POINT,
)


def recall_at_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    precision: Point,
    prevalence: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> ValueAtThreshold:
    """Highest recall among the thresholds that reach a precision, with its threshold.

    The maximum over the real points; in a tie the one with the highest threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    precision : float
        Lowest precision, in [0, 1], compared as the decimal that is written.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    ValueAtThreshold
        A float with the attribute ``threshold``.

    Raises
    ------
    UndefinedMeasureError
        If there is no anomaly, or no threshold reaches the precision; with ``prevalence`` also if
        there is no normal sample.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.recall_at_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], precision=0.6)
    ValueAtThreshold(1.0, threshold=0.35)
    """
    return RECALL_AT_PRECISION.of(
        y_true, y_score, sample_weight, pos_label, precision=precision, prevalence=prevalence
    )


def _precision_at_recall(
    counts: OrderedCounts, recall: Fraction, *, prevalence: Fraction | None
) -> ValueAtThreshold:
    need_classes(counts, "precision_at_recall", prevalence)
    weight = counts.normal_weight(prevalence)
    # Without flagged samples there is no precision.
    first = max(1, first_reaching(counts.tps, *at_fraction(recall, counts.n_anomalies)))
    point = first
    # Above the highest normal precision is 1. Elsewhere its order is that at any prevalence.
    if counts.fps[first] > 0:
        point = best_point(
            counts, _precision, _precision, first=first, last=_last_as_precise(counts, first)
        )
    value = _precision(weight * exact(counts.fps[point]), exact(counts.tps[point]))
    return ValueAtThreshold(float(value), counts.threshold(point))


PRECISION_AT_RECALL = Measure(
    name="precision_at_recall",
    title="highest precision at a recall or above",
    key="precision@recall",
    compute=_precision_at_recall,
    parameters={"recall": Rate(), "prevalence": Prevalence()},
    operating_point="recall",
    default_points=(Fraction(9, 10),),
    classes="anomalies",
    rises_with_curve=True,
    extremes=POINT,
)


def precision_at_recall(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    recall: Point,
    prevalence: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> ValueAtThreshold:
    """Highest precision among the thresholds that reach a recall, with its threshold.

    The maximum over the real points; in a tie the one with the highest threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    recall : float
        Lowest recall, in [0, 1], compared as the decimal that is written.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    ValueAtThreshold
        A float with the attribute ``threshold``, in [0, 1].

    Raises
    ------
    UndefinedMeasureError
        If there is no anomaly; with ``prevalence`` also if there is no normal sample.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.precision_at_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], recall=0.9)
    ValueAtThreshold(0.6666666666666666, threshold=0.35)
    """
    return PRECISION_AT_RECALL.of(
        y_true, y_score, sample_weight, pos_label, recall=recall, prevalence=prevalence
    )


def _last_as_precise(counts: OrderedCounts, first: int) -> int | None:
    """Return the last point whose precision may reach the first one's, None for all.

    Were all anomalies found there, it would be n / (n + fp).
    """
    tp, fp = exact(counts.tps[first]), exact(counts.fps[first])
    if tp == 0:
        return None
    limit = min(exact(counts.n_anomalies) * fp / tp, exact(counts.n_normals))
    return last_within(counts.fps, limit)


def _precision(fp: Any, tp: Any) -> Any:
    return tp / (tp + fp)


# Parameters of each criterion.
_OPTIONS = {
    "youden": (),
    "closest": (),
    "f1": ("prevalence",),
    "cost": ("prevalence", "cost_miss", "cost_false_alarm"),
}


def _best_threshold(
    counts: OrderedCounts, criterion: ThresholdCriterion, **options: Fraction | None
) -> Threshold:
    """Threshold that is the best one by a criterion."""
    need_both(counts, "best_threshold")
    given = {name: option for name, option in options.items() if option is not None}
    for name in given:
        if name not in _OPTIONS[criterion]:
            raise InvalidInputError(
                f"{name} must not be given with criterion={criterion!r}, which does not read it; "
                f"found {float(given[name]):g}"
            )
    if criterion == "closest":
        return counts.threshold(_closest_point(counts))
    if criterion == "f1":
        return BEST_F1.compute(counts, prevalence=given.get("prevalence")).threshold
    if criterion == "youden":
        # At equal weights of both rates the cost is 1 - J.
        given = {"prevalence": Fraction(1, 2)}
    return MIN_DETECTION_COST.compute(counts, **MIN_DETECTION_COST.check(given)).threshold


def _closest_point(counts: OrderedCounts) -> int:
    """Return the point of the ROC curve that is closest to FPR 0, TPR 1."""
    n, m = exact(counts.n_anomalies), exact(counts.n_normals)
    about_n, about_m = float(n), float(m)

    def nearness(fps: CountVector, tps: CountVector) -> FloatVector:
        return -((1 - tps / about_n) ** 2) - (fps / about_m) ** 2

    def exact_nearness(fp: Fraction, tp: Fraction) -> Fraction:
        return -((1 - tp / n) ** 2) - (fp / m) ** 2

    return best_point(counts, nearness, exact_nearness, scale=1.0)


# No measure of a detector, and so not listed with them.
_BEST_THRESHOLD = Measure(
    name="best_threshold",
    title="threshold that is the best one by a criterion",
    key="threshold_best",
    compute=_best_threshold,
    parameters={
        "criterion": Choice.of("youden", "closest", "f1", "cost"),
        "prevalence": Prevalence(),
        "cost_miss": Positive(default=None),
        "cost_false_alarm": Positive(default=None),
    },
    kind="threshold",
)


def best_threshold(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    criterion: ThresholdCriterion = "youden",
    prevalence: Point | None = None,
    cost_miss: Point | None = None,
    cost_false_alarm: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Threshold:
    """Threshold that is the best of all by a criterion.

    Of equally good ones the highest, which flags the fewest samples. It is chosen with the labels:
    what it reaches on them is optimistic.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    criterion : {"youden", "closest", "f1", "cost"}, default "youden"
        ``"youden"``: highest TPR - FPR, Youden's index. ``"closest"``: lowest distance of the point
        of the ROC curve to FPR 0, TPR 1. ``"f1"``: highest F1, as `best_f1`. ``"cost"``: lowest
        cost, as `min_detection_cost`.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) where the detector is used, for ``"f1"`` and ``"cost"``; by
        default as they are.
    cost_miss : float, optional
        Cost of an anomaly that is not flagged, above 0, for ``"cost"``; by default 1.
    cost_false_alarm : float, optional
        Cost of a normal sample that is flagged, above 0, for ``"cost"``; by default 1.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float, int
        A score that occurs; +inf where nothing is better than to flag no sample.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] W. J. Youden, "Index for rating diagnostic tests", Cancer 3, 1950.
    .. [2] N. J. Perkins and E. F. Schisterman, "The inconsistency of 'optimal' cutpoints obtained
       using two criteria based on the receiver operating characteristic curve", American Journal
       of Epidemiology 163, 2006.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 1, 1], [1, 2, 3, 5, 4, 6]
    >>> fastad.measures.best_threshold(y_true, y_score, criterion="youden")
    4
    >>> fastad.measures.best_threshold(y_true, y_score, criterion="cost", prevalence=0.2)
    6
    """
    return _BEST_THRESHOLD.of(
        y_true,
        y_score,
        sample_weight,
        pos_label,
        criterion=criterion,
        prevalence=prevalence,
        cost_miss=cost_miss,
        cost_false_alarm=cost_false_alarm,
    )


MEASURES = (BEST_F1, RECALL_AT_PRECISION, PRECISION_AT_RECALL)

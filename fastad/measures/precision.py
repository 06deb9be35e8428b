"""Precision and recall: their curve, at a number of alarms, at a share of anomalies."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fastad._core.types import Count, FloatVector
from fastad._kernels.curves import area
from fastad._kernels.resampling import subsample
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.points import (
    Rates,
    at_each,
    exact,
    first_reaching,
    height,
    hits_among,
    need_anomalies,
    need_both,
    need_normals,
)
from fastad.measures.results import PrecisionRecallCurve, ValueAtThreshold
from fastad.measures.roc import shares_of, thresholds_from_infinity
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.orders import PackedOrder

# How far rounding can move a quotient of counts, and some more.
_NEAR = 1e-14


def precision_recall_curve(
    counts: OrderedCounts, *, prevalence: Fraction | None = None
) -> PrecisionRecallCurve:
    """All points of the curve; see `fastad.precision_recall_curve`."""
    counts = _reweighted(counts, "precision_recall_curve", prevalence)
    precision = np.empty(counts.tps.shape[0])
    np.divide(counts.tps[1:], counts.tps[1:] + counts.fps[1:], out=precision[1:])
    precision[0] = precision[1]
    recall = shares_of(counts.tps, counts.n_anomalies)
    return PrecisionRecallCurve.of(precision, recall, thresholds_from_infinity(counts))


def average_precision(counts: OrderedCounts, *, prevalence: Fraction | None = None) -> float:
    """Mean precision over the anomalies; see `fastad.average_precision`."""
    counts = _reweighted(counts, "average_precision", prevalence)
    return area.precision_sum(counts.fps, counts.tps) / counts.n_anomalies


def average_precision_of_values(order: PackedOrder) -> float:
    """Mean precision straight from an order, in half the memory; the bits of `average_precision`.

    The sum runs down the whole order in one thread, so that its bits do not depend on ranges.
    """
    need_anomalies(order, "average_precision")
    total, lost = 0.0, 0.0
    for where in order.ranges:
        packed = order.packed[where.start : where.stop]
        total, lost = area.precision_sum_packed(packed, where.fp + where.tp, where.tp, total, lost)
    return (total + lost) / order.n_anomalies


def pr_auc(counts: OrderedCounts, *, prevalence: Fraction | None = None) -> float:
    """Area under the interpolated curve; see `fastad.measures.pr_auc`."""
    counts = _reweighted(counts, "pr_auc", prevalence)
    return area.precision_area(counts.fps, counts.tps) / counts.n_anomalies


def precision_gain_auc(counts: OrderedCounts) -> float:
    """Area under the precision-recall-gain curve; see `fastad.measures.precision_gain_auc`."""
    need_both(counts, "precision_gain_auc")
    n, m = exact(counts.n_anomalies), exact(counts.n_normals)
    # Recall gain is 0 where recall equals the share of anomalies; the ROC is straight there.
    start = n * n / (n + m)
    right = first_reaching(counts.tps, start)
    fp = Fraction(*height(counts.tps, counts.fps, right - 1, start, 1))
    tps, fps = counts.tps[right:].astype(np.float64), counts.fps[right:].astype(np.float64)
    # Products of whole counts are exact: what is at chance has a gain of exactly 0.
    won = float(m) * tps
    precision_gain = np.concatenate(
        [[float(1 - n * fp / (m * start))], (won - float(n) * fps) / won]
    )
    recall_gain = np.concatenate([[0.0], (won - float(n) * (float(n) - tps)) / won])
    return math.fsum(np.diff(recall_gain) * (precision_gain[1:] + precision_gain[:-1]) / 2)


def best_f1(counts: OrderedCounts, *, prevalence: Fraction | None = None) -> ValueAtThreshold:
    """Highest F1 score over all thresholds; see `fastad.best_f1`."""
    scaled = _reweighted(counts, "best_f1", prevalence)
    values = 2 * scaled.tps / (scaled.tps + scaled.fps + scaled.n_anomalies)
    # Rounding may order equal values: the exact ones decide, and of equals the highest threshold.
    near: list[int] = np.flatnonzero(values >= values.max() * (1 - _NEAR)).tolist()
    weight = counts.normal_weight(prevalence)

    def exact_f1(point: int) -> Fraction:
        tp, fp = exact(counts.tps[point]), exact(counts.fps[point])
        return 2 * tp / (tp + weight * fp + exact(counts.n_anomalies))

    point = max(near, key=exact_f1)
    return ValueAtThreshold(float(exact_f1(point)), counts.threshold(point))


def recall_at_precision(
    counts: OrderedCounts, precision: Rates, *, prevalence: Fraction | None = None
) -> ValueAtThreshold | FloatVector:
    """Highest recall at a precision or above; see `fastad.measures.recall_at_precision`."""
    scaled = _reweighted(counts, "recall_at_precision", prevalence)
    reached = scaled.tps[1:] / (scaled.tps[1:] + scaled.fps[1:])
    weight = counts.normal_weight(prevalence)
    if isinstance(precision, Fraction):
        return _recall(counts, reached, precision, weight)
    return np.array([_recall(counts, reached, bound, weight) for bound in precision], np.float64)


def _recall(
    counts: OrderedCounts, reached: FloatVector, bound: Fraction, weight: Fraction
) -> ValueAtThreshold:
    tps, fps = counts.tps[1:], counts.fps[1:]
    good = reached > float(bound)
    # Rounding may misjudge points next to the bound: there, exact numbers decide.
    for i in np.flatnonzero(np.abs(reached - float(bound)) < _NEAR):
        tp = exact(tps[i])
        good[i] = tp >= bound * (tp + weight * exact(fps[i]))
    good &= tps > 0
    if not np.any(good):
        raise UndefinedMeasureError(
            f"recall_at_precision is undefined: no threshold reaches precision {float(bound)}"
        )
    most = tps[np.flatnonzero(good)[-1]]
    point = 1 + int(np.flatnonzero(good & (tps == most))[0])
    recall = float(exact(counts.tps[point]) / exact(counts.n_anomalies))
    return ValueAtThreshold(recall, counts.threshold(point))


def precision_at_k(counts: OrderedCounts, k: int | list[int] | None = None) -> float | FloatVector:
    """Share of anomalies among the k highest scores; see `fastad.precision_at_k`."""

    def precision(flagged: Count) -> float:
        return float(hits_among(counts, flagged, "precision_at_k") / exact(flagged))

    return _at_each_k(counts, k, precision, "precision_at_k")


def recall_at_k(counts: OrderedCounts, k: int | list[int] | None = None) -> float | FloatVector:
    """Share of the anomalies that are among the k highest scores; see `fastad.recall_at_k`."""
    need_anomalies(counts, "recall_at_k")

    def recall(flagged: Count) -> float:
        return float(hits_among(counts, flagged, "recall_at_k") / exact(counts.n_anomalies))

    return _at_each_k(counts, k, recall, "recall_at_k")


def precision_at_p(
    counts: OrderedCounts,
    p: Rates,
    *,
    n_repeats: int | None = None,
    rng: np.random.Generator | None = None,
) -> float | FloatVector:
    """Precision after anomalies were drawn down to a share p; see `fastad.precision_at_p`."""
    need_both(counts, "precision_at_p")
    if counts.weighting == "real":
        raise InvalidInputError(
            "precision_at_p draws whole points: sample_weight must hold whole numbers; "
            "found other values"
        )

    def precision(share: Fraction) -> float:
        k = _n_drawn(counts, share)
        if n_repeats is None:
            return subsample.expected_hits(counts.fps, counts.tps, k) / k
        assert rng is not None
        return float(np.mean([_drawn_hits(counts, k, rng) / k for _ in range(n_repeats)]))

    return at_each(p, precision)


def _reweighted(counts: OrderedCounts, measure: str, prevalence: Fraction | None) -> OrderedCounts:
    """Return the counts at a prevalence, for which both classes are needed."""
    need_anomalies(counts, measure)
    if prevalence is not None:
        need_normals(counts, measure)
    return counts.at_prevalence(prevalence)


def _at_each_k(
    counts: OrderedCounts,
    k: int | list[int] | None,
    measure: Callable[[Count], float],
    name: str,
) -> float | FloatVector:
    if isinstance(k, list):
        return np.array([measure(flagged) for flagged in k], np.float64)
    if k is None and counts.n_anomalies == 0:
        raise UndefinedMeasureError(
            f"{name} is undefined for the default k, the number of anomalies, where there are none"
        )
    return measure(counts.n_anomalies if k is None else k)


def _n_drawn(counts: OrderedCounts, share: Fraction) -> int:
    """Return how many anomalies make the share p beside all normals, rounded down."""
    n, m = int(counts.n_anomalies), int(counts.n_normals)
    p, q = share.numerator, share.denominator
    k = n + 1 if share == 1 else m * p // (q - p)
    if not 1 <= k <= n:
        raise UndefinedMeasureError(
            f"precision_at_p is undefined at p = {float(share)}: a share p beside {m} normals "
            f"takes {'all too many' if share == 1 else k} of {n} anomalies"
        )
    return k


def _drawn_hits(counts: OrderedCounts, k: int, rng: np.random.Generator) -> float:
    """Draw k anomalies and return the hits among the k highest scores."""
    drawn = rng.choice(counts.n_anomalies, k, replace=False, shuffle=False)
    tie = np.searchsorted(counts.tps, drawn, side="right")
    tps = np.cumsum(np.bincount(tie, minlength=counts.tps.shape[0]))
    left = int(np.searchsorted(tps + counts.fps, k, side="right")) - 1
    hits = float(tps[left])
    rest = k - tps[left] - counts.fps[left]
    if rest:
        anomalies = tps[left + 1] - tps[left]
        hits += rest * anomalies / (anomalies + counts.fps[left + 1] - counts.fps[left])
    return hits

"""Precision and recall: their curve, at a number of alarms, at a share of anomalies."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fastad._kernels import area, subsample
from fastad._types import Count, FloatVector
from fastad.counts import OrderedCounts
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures._points import Rates, at_each, exact, hits_among, need_anomalies, need_both
from fastad.measures.roc import thresholds_from_infinity
from fastad.results import PrecisionRecallCurve


def precision_recall_curve(counts: OrderedCounts) -> PrecisionRecallCurve:
    """All points of the curve; see `fastad.precision_recall_curve`."""
    need_anomalies(counts, "precision_recall_curve")
    precision = np.empty(counts.tps.shape[0])
    np.divide(counts.tps[1:], counts.tps[1:] + counts.fps[1:], out=precision[1:])
    precision[0] = precision[1]
    recall = counts.tps / counts.n_anomalies
    curve = PrecisionRecallCurve(precision, recall, thresholds_from_infinity(counts))
    for values in (curve.precision, curve.recall, curve.thresholds):
        values.flags.writeable = False
    return curve


def average_precision(counts: OrderedCounts) -> float:
    """Mean precision over the anomalies; see `fastad.average_precision`."""
    need_anomalies(counts, "average_precision")
    return area.precision_sum(counts.fps, counts.tps) / counts.n_anomalies


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
    k = n + 1 if share == 1 else int(m * share / (1 - share))
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

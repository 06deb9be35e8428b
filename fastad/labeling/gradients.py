"""Gradients: how a measure changes as one row turns from a normal sample into an anomaly.

All rows have scores and few have labels, so that what is flagged at a threshold is known and only
the labels are not. A measure of estimated labels is wrong by the sum, to first order, of the error
of each row's label times the row's gradient. At an operating point the threshold moves with the
labels: a normal sample less above it lets others follow, of which the local odds are anomalies.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fastad._core.types import FloatVector
from fastad.errors import InvalidInputError
from fastad.measures.flagged import points_flagged
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import RATES, rate_of
from fastad.measures.results import Confusion
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.samples.influence import INFLUENCES, has_influence, influence

# Relative change of the weight of normals, for a measure's slope, and of the anomalies' number.
_STEP = 1e-4
# Half the width, relative to the operating point, of the part of the curve that has the slope.
_BANDWIDTH = 0.2
# Rates at the operating points of measures.
_RATES_AT: Mapping[str, str] = {
    "tpr_at_fpr": "tpr",
    "precision_at_fpr": "precision",
    "f1_at_fpr": "f1",
    "fpr_at_tpr": "fpr",
    "precision_at_k": "precision",
    "recall_at_k": "recall",
    "precision_at_p": "precision",
    **{name: name for name in RATES},
    "missed": "fn",
}


class _Point(NamedTuple):
    """An operating point, and what one more anomaly above and below it changes there."""

    tp: float
    fp: float
    flagged: FloatVector  # part of each distinct score that is flagged, 1 or 0 but at a tie
    above: tuple[float, float]  # changes of tp and fp
    below: tuple[float, float]


def check_differentiable(bound: BoundMeasure) -> None:
    """Refuse measures without a gradient."""
    if has_influence(bound.measure):
        return
    known = sorted({*INFLUENCES, *_RATES_AT})
    if bound.measure.name not in _RATES_AT:
        raise InvalidInputError(
            f"target must be a measure with a gradient, one of {', '.join(known)}; found "
            f"{bound.measure.name!r}",
            argument="target",
        )
    if bound.parameters.get("prevalence") is not None:
        raise InvalidInputError(
            f"target must not have a prevalence of its own; found {bound.key}", argument="target"
        )
    if bound.parameters.get("k", 1) is None:
        raise InvalidInputError(
            f"target must name k; found {bound.measure.name} at the number of anomalies",
            argument="target",
        )


def gradient(counts: OrderedCounts, bound: BoundMeasure) -> FloatVector:
    """Return the change of a measure per row that turns into an anomaly, at each distinct score.

    Counts may be sums of probabilities. Of one class alone, all labels are known, and it is 0.
    O(g) for g distinct scores.
    """
    if not (counts.n_anomalies > 0 and counts.n_normals > 0):
        return np.zeros(counts.keys.shape[0])
    if has_influence(bound.measure):
        return _by_influence(counts, bound)
    point = _operating_point(counts, bound)
    name = _RATES_AT[bound.measure.name]
    above, below = (_slope(counts, point, name, change) for change in (point.above, point.below))
    gradients: FloatVector = below + (above - below) * point.flagged
    return gradients


def _by_influence(counts: OrderedCounts, bound: BoundMeasure) -> FloatVector:
    """An anomaly more and a normal sample less, at the same score; the classes' ratio changes."""
    by_score = influence(counts, bound)
    n, m = float(counts.n_anomalies), float(counts.n_normals)
    less, more = (
        bound.value_or_nan(counts.with_normals_weighted(factor))
        for factor in (1 - _STEP, 1 + _STEP)
    )
    slope = (more - less) / (2 * _STEP)
    # NaN where the measure takes no weights of classes.
    of_ratio = 0.0 if math.isnan(slope) else slope * (1 / n + 1 / m)
    gradients: FloatVector = by_score.anomalies / n - by_score.normals / m - of_ratio
    return gradients


def _operating_point(counts: OrderedCounts, bound: BoundMeasure) -> _Point:
    fps, tps = counts.fps.astype(np.float64), counts.tps.astype(np.float64)
    kind = bound.measure.operating_point or ""
    if kind == "threshold":
        last = points_flagged(counts, bound.parameters["threshold"])
        flagged = (np.arange(fps.shape[0] - 1) < last).astype(np.float64)
        return _Point(tps[last], fps[last], flagged, (1.0, -1.0), (0.0, 0.0))
    point = float(bound.parameters[kind])
    if kind == "fpr":
        axis, total = fps, counts.n_normals
    elif kind == "tpr":
        axis, total = tps, counts.n_anomalies
    else:
        axis, total = fps + tps, counts.total
    goal = point if kind == "k" else point * total
    last = min(max(int(np.searchsorted(axis, goal, side="right")) - 1, 0), axis.shape[0] - 2)
    width = axis[last + 1] - axis[last]
    along = min(max((goal - axis[last]) / width, 0.0), 1.0) if width > 0 else 0.0
    flagged = (np.arange(fps.shape[0] - 1) < last).astype(np.float64)
    flagged[last] = along
    tp, fp = (xs[last] + along * (xs[last + 1] - xs[last]) for xs in (tps, fps))
    if kind == "fpr":
        odds = _local_slope(fps, tps, goal)
        # The goal falls by the rate with the number of normals.
        return _Point(tp, fp, flagged, (1 + odds * (1 - point), -point), (-odds * point, -point))
    if kind == "tpr":
        odds = _local_slope(tps, fps, goal)
        return _Point(tp, fp, flagged, (point, -1 + odds * (point - 1)), (point, odds * point))
    return _Point(tp, fp, flagged, (1.0, -1.0), (0.0, 0.0))


def _local_slope(xs: FloatVector, ys: FloatVector, x: float) -> float:
    """Return the slope of a curve around a point, over a part of it."""
    ends = np.clip(np.array([1 - _BANDWIDTH, 1 + _BANDWIDTH]) * x, xs[0], xs[-1])
    low, high = np.interp(ends, xs, ys)
    return float((high - low) / (ends[1] - ends[0])) if ends[1] > ends[0] else 0.0


def _slope(counts: OrderedCounts, at: _Point, name: str, change: tuple[float, float]) -> float:
    """Return the derivative of a rate as tp and fp change and a normal row becomes an anomaly."""
    n, m = float(counts.n_anomalies), float(counts.n_normals)

    def value(step: float) -> float:
        tp, fp = at.tp + step * change[0], at.fp + step * change[1]
        confusion: Confusion = Confusion(tp, fp, m - step - fp, n + step - tp)
        return rate_of(name, confusion)

    step = _STEP * n
    slope = (value(step) - value(-step)) / (2 * step)
    return 0.0 if math.isnan(slope) else slope

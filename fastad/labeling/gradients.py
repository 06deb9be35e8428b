"""Gradients: how a measure changes as one row turns from a normal sample into an anomaly.

All rows have scores and few have labels, so that what is flagged at a threshold is known and only
the labels are not. A measure of estimated labels is wrong by the sum, to first order, of the error
of each row's label times the row's gradient. At an operating point the threshold moves with the
labels: a normal sample less above it lets others follow, of which the local odds are anomalies.
"""

import math
from typing import NamedTuple

import numpy as np

from fastad._core.types import FloatVector, IntVector
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
# Rows of a class that a tie at the operating point has at least, where it makes a step.
_FEWEST_TIED = 5
# Standard errors within which a threshold may lie at the other end of a tie.
_DEVIATIONS = 2
# Rates at operating points, and at thresholds.
_AT_POINTS = (
    *("tpr_at_fpr", "precision_at_fpr", "f1_at_fpr", "fpr_at_tpr", "precision_at_k"),
    *("recall_at_k", *RATES),
)
_RATES = {"missed": "fn", **{name: name.partition("_at_")[0] for name in _AT_POINTS}}


def check_differentiable(bound: BoundMeasure) -> None:
    """Refuse measures without a gradient."""
    name, parameters = bound.measure.name, bound.parameters
    if bound.measure.weights == "integer":
        message = f"be a measure of labels that are probabilities; found {name!r}"
    elif has_influence(bound.measure):
        return
    elif name not in _RATES:
        known = ", ".join(sorted({*INFLUENCES, *_RATES}))
        message = f"be a measure with a gradient, one of {known}; found {name!r}"
    elif parameters.get("k", 1) is None:
        message = f"name k; found {name} at the number of anomalies"
    elif parameters.get("fpr") == 0 or parameters.get("tpr") == 1:
        # Such a threshold is the score of one row, and hardly any draw has its label.
        message = f"have an FPR above 0 and a TPR below 1; found {bound.key}"
    else:
        return
    raise InvalidInputError(f"target must {message}")


def gradient(counts: OrderedCounts, bound: BoundMeasure, *, at_steps: bool = False) -> FloatVector:
    """Return the change of a measure per row that turns into an anomaly, at each distinct score.

    Counts may be sums of probabilities. Of one class alone, all labels are known, and it is 0.
    O(g) for g distinct scores. With ``at_steps`` a threshold between large ties stays where it is.
    """
    n, m = float(counts.n_anomalies), float(counts.n_normals)
    if not (n > 0 and m > 0):
        return np.zeros(counts.keys.shape[0])
    if not has_influence(bound.measure):
        return _at_point(counts, bound, _step_at(counts, bound) if at_steps else None)
    by_score = influence(counts, bound)
    # One anomaly more and one normal sample less, at the same score: the classes' ratio changes.
    less, more = (
        bound.value_or_nan(counts.with_normals_weighted(factor))
        for factor in (1 - _STEP, 1 + _STEP)
    )
    slope = (more - less) / (2 * _STEP)
    # NaN where the measure takes no weights of classes.
    of_ratio = 0.0 if math.isnan(slope) else slope * (1 / n + 1 / m)
    gradients: FloatVector = by_score.anomalies / n - by_score.normals / m - of_ratio
    return gradients


class _Step(NamedTuple):
    """A large tie at an operating point: thresholds lie at its ends, and jump between these."""

    n_flagged: tuple[int, int]  # distinct scores that are flagged at either end
    distances: tuple[float, float]  # from the operating point to the ends, in rows of its class
    is_at: int  # the end at which the threshold is


def _step_at(counts: OrderedCounts, bound: BoundMeasure) -> _Step | None:
    """Return the step at the operating point of a measure of real thresholds, None without one."""
    kind = bound.measure.operating_point
    is_linear = bound.parameters.get("interpolation") == "linear"
    if kind not in ("fpr", "tpr") or is_linear or has_influence(bound.measure):
        return None
    axis = counts.fps if kind == "fpr" else counts.tps
    goal = float(bound.parameters[kind]) * float(axis[-1])
    # A false positive rate is kept to, and a true positive rate is reached.
    next_one = int(np.searchsorted(axis, goal, side="right" if kind == "fpr" else "left"))
    if not 0 < next_one < axis.shape[0]:
        return None
    low, high = float(axis[next_one - 1]), float(axis[next_one])
    if high - low < max(_BANDWIDTH * goal, _FEWEST_TIED):
        return None
    return _Step((next_one - 1, next_one), (goal - low, high - goal), int(kind == "tpr"))


def may_jump(
    counts: OrderedCounts, bound: BoundMeasure, points: IntVector, errors: FloatVector
) -> bool:
    """Tell whether the threshold may lie at the other end of a large tie.

    By the distinct scores of rows, and the standard errors that their labels add to sums.
    """
    if (step := _step_at(counts, bound)) is None:
        return False
    rate = float(bound.parameters[bound.measure.operating_point or ""])
    return any(
        distance < _DEVIATIONS * float(np.linalg.norm(((points < end) - rate) * errors))
        for end, distance in zip(step.n_flagged, step.distances, strict=True)
    )


def _at_point(counts: OrderedCounts, bound: BoundMeasure, step: _Step | None) -> FloatVector:
    """Return the gradient of a rate at an operating point: one above it, and one below."""
    fps, tps = counts.fps.astype(np.float64), counts.tps.astype(np.float64)
    kind = bound.measure.operating_point or ""
    point = float(bound.parameters[kind])
    # What one more anomaly above and below changes there, of tp and of fp.
    above, below = (1.0, -1.0), (0.0, 0.0)
    if kind == "threshold":
        last, along = points_flagged(counts, bound.parameters["threshold"]), 0.0
    elif step is not None:
        last, along = step.n_flagged[step.is_at], 0.0
    else:
        axes = {"fpr": (fps, counts.n_normals), "tpr": (tps, counts.n_anomalies)}
        axis, total = axes.get(kind, (fps + tps, 1))
        goal = point * total
        last = min(max(int(np.searchsorted(axis, goal, side="right")) - 1, 0), axis.shape[0] - 2)
        width = axis[last + 1] - axis[last]
        along = min(max((goal - axis[last]) / width, 0.0), 1.0) if width > 0 else 0.0
        # The goal changes with the number of its class.
        if kind == "fpr":
            odds = _local_slope(fps, tps, goal)
            above, below = (1 + odds * (1 - point), -point), (-odds * point, -point)
        elif kind == "tpr":
            odds = _local_slope(tps, fps, goal)
            above, below = (point, -1 + odds * (point - 1)), (point, odds * point)
    # The part of each distinct score that is flagged, 1 or 0 but at a tie.
    flagged = (np.arange(fps.shape[0] - 1) < last).astype(np.float64)
    flagged[last : last + 1] = along
    after = min(last + 1, fps.shape[0] - 1)
    tp, fp = (xs[last] + along * (xs[after] - xs[last]) for xs in (tps, fps))
    n, m = float(counts.n_anomalies), float(counts.n_normals)
    name, move = _RATES[bound.measure.name], _STEP * n

    def value(change: tuple[float, float], by: float) -> float:
        tp_there, fp_there = tp + by * change[0], fp + by * change[1]
        there: Confusion = Confusion(tp_there, fp_there, m - by - fp_there, n + by - tp_there)
        # A step from where none or all are flagged leads out of what has a correlation, and so does
        # one of more than there are normal samples.
        margins = there.tp + there.fp, there.tn + there.fn, there.tn + there.fp
        if name == "mcc" and min(margins) <= 0:
            return math.nan
        return rate_of(name, there)

    slopes = [(value(x, move) - value(x, -move)) / (2 * move) for x in (above, below)]
    of_above, of_below = (0.0 if math.isnan(slope) else slope for slope in slopes)
    gradients: FloatVector = of_below + (of_above - of_below) * flagged
    return gradients


def rows_near(counts: OrderedCounts, bound: BoundMeasure, points: IntVector) -> float:
    """Return how many rows, by their distinct scores, tell where a threshold lies.

    Infinitely many where labels do not move it.
    """
    kind = bound.measure.operating_point or ""
    axis = {"fpr": counts.fps, "tpr": counts.tps}.get(kind)
    if axis is None or has_influence(bound.measure):
        return math.inf
    goal = float(bound.parameters[kind]) * axis[-1]
    return float(np.sum(np.abs(axis[1:][points] - goal) <= _BANDWIDTH * goal))


def _local_slope(xs: FloatVector, ys: FloatVector, x: float) -> float:
    """Return the slope of a curve around a point, over a part of it."""
    ends = np.clip(np.array([1 - _BANDWIDTH, 1 + _BANDWIDTH]) * x, xs[0], xs[-1])
    low, high = np.interp(ends, xs, ys)
    return float((high - low) / (ends[1] - ends[0])) if ends[1] > ends[0] else 0.0

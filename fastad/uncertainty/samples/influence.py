"""Influence functions: the derivative of a measure towards one more anomaly or normal sample.

A measure is a function of two distributions, of the anomalies' scores and of the normals'. Its
derivative towards a sample (its influence function) averages to 0 over each class, and the
variance of the measure is, to first order, the sum over the classes of the variance of the
influence over the number of samples (Hampel 1974). For the area under the ROC the influences are
DeLong's placements (DeLong, DeLong and Clarke-Pearson 1988, equations (4) and (5)). None needs a
density: an operating point changes with the distribution of the normal scores.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from fastad._core.parameters import nearest_float
from fastad._core.types import CountVector, FloatVector
from fastad._kernels.curves import influence as kernels
from fastad.errors import InvalidInputError
from fastad.measures.costs import weights_of
from fastad.measures.early import exponent_of, highest_gain, weights_of_ties
from fastad.measures.flagged import points_flagged
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.points import at_fraction, first_reaching, last_within
from fastad.measures.scaled_scores import scaled_scores
from fastad.ordering.counts import OrderedCounts

Parameters = Mapping[str, Any]
# Widths of pieces of a curve below this are none.
_ROUNDING = 1e-9


class Influence(NamedTuple):
    """Influence of an anomaly and of a normal sample at each distinct score, from the highest."""

    anomalies: FloatVector  # (n_distinct,): averages to 0 over the samples of the class
    normals: FloatVector


def _roc_auc(counts: OrderedCounts, parameters: Parameters) -> Influence:
    return Influence(*_under(counts.tps, counts.fps, Fraction(0), Fraction(1)))


def _auc_at_fpr(counts: OrderedCounts, parameters: Parameters) -> Influence:
    low, high = parameters["min_fpr"], parameters["fpr"]
    anomalies, normals = _under(counts.tps, counts.fps, low, high)
    scale = _scale(low, high, (high**2 - low**2) / 2, parameters)
    return Influence(scale * anomalies, scale * normals)


def _auc_at_tpr(counts: OrderedCounts, parameters: Parameters) -> Influence:
    low, high = parameters["min_tpr"], parameters["max_tpr"]
    # The area on the left of the curve is the rectangle minus that below it, with axes swapped.
    normals, anomalies = _under(counts.fps, counts.tps, low, high)
    scale = _scale(low, high, high - low - (high**2 - low**2) / 2, parameters)
    return Influence(-scale * anomalies, -scale * normals)


def _ht_auc(counts: OrderedCounts, parameters: Parameters) -> Influence:
    m = int(counts.n_normals)
    lowest = Fraction(int(parameters["alpha"] * m), m)
    return Influence(*_under(counts.tps, counts.fps, lowest, Fraction(1), cut_by_expectation=True))


def _lf_auc(counts: OrderedCounts, parameters: Parameters) -> Influence:
    n = int(counts.n_anomalies)
    highest = Fraction(int(parameters["alpha"] * n), n)
    normals, anomalies = _under(
        counts.fps, counts.tps, Fraction(0), highest, cut_by_expectation=True
    )
    return Influence(-anomalies, -normals)


def _average_precision(counts: OrderedCounts, parameters: Parameters) -> Influence:
    scaled = counts.at_prevalence(parameters["prevalence"])
    tps, fps = scaled.tps[1:].astype(np.float64), scaled.fps[1:].astype(np.float64)
    hits = np.diff(scaled.tps)
    precision = tps / (tps + fps)
    weights = hits / (tps + fps) ** 2
    anomalies = precision + _from_here_on(weights * fps)
    normals = -_from_here_on(weights * tps) * (scaled.n_normals / scaled.n_anomalies)
    return _centred(counts, anomalies, normals)


def _pr_auc(counts: OrderedCounts, parameters: Parameters) -> Influence:
    """Derive the closed form of each straight piece, see `_kernels.curves.area.precision_area`."""
    scaled = counts.at_prevalence(parameters["prevalence"])
    dy, dx = (np.diff(c).astype(np.float64) for c in (scaled.tps, scaled.fps))
    tp, fp = scaled.tps[:-1].astype(np.float64), scaled.fps[:-1].astype(np.float64)
    rises = dy > 0
    steep = np.where(rises, dy, 1.0)
    a = np.where(rises, 1.0 + dx / steep, 1.0)
    first = tp + fp == 0
    s = np.where(first, 1.0, tp + fp)
    u = (dx + dy) / s
    log = np.log1p(u)
    rest = u - log
    by_u = tp / (a * (1 + u)) + s * (u / (1 + u)) / a**2
    by_a = -tp * log / a**2 - 2 * s * rest / a**3
    # By the counts at the left end, and by those that the piece itself adds.
    by_fp = np.where(rises & ~first, -u / s * by_u + rest / a**2, 0.0)
    by_tp = np.where(rises & ~first, by_fp + log / a, 0.0)
    by_dy = np.where(first, (dy + 2 * dx) * dy, 0.0) / np.where(first, (dx + dy) ** 2, 1.0)
    by_dx = np.where(first, -(dy**2), 0.0) / np.where(first, (dx + dy) ** 2, 1.0)
    level = tp / np.where(rises, 1.0, dx) * log
    by_dy = np.where(first, by_dy, np.where(rises, by_u / s - by_a * dx / steep**2, level))
    by_dx = np.where(first, by_dx, np.where(rises, by_u / s + by_a / steep, 0.0))
    anomalies = by_dy + _after(by_tp)
    normals = (by_dx + _after(by_fp)) * (scaled.n_normals / scaled.n_anomalies)
    return _centred(counts, anomalies, normals)


def _precision_gain_auc(counts: OrderedCounts, parameters: Parameters) -> Influence:
    """Derive the sum of trapezoids by the counts at their corners."""
    n, m = float(counts.n_anomalies), float(counts.n_normals)
    start = n * n / (n + m)
    right = first_reaching(counts.tps, Fraction(start))
    tps, fps = counts.tps.astype(np.float64), counts.fps.astype(np.float64)
    along = (start - tps[right - 1]) / (tps[right] - tps[right - 1])
    fp = fps[right - 1] + along * (fps[right] - fps[right - 1])
    y, x = np.concatenate([[start], tps[right:]]), np.concatenate([[fp], fps[right:]])
    precision_gain, recall_gain = 1 - n * x / (m * y), 1 - n * (n - y) / (m * y)
    padded = np.pad(recall_gain, 1, mode="edge")
    by_precision = (padded[2:] - padded[:-2]) / 2
    padded = np.pad(precision_gain, 1)
    by_recall = (padded[:-2] - padded[2:]) / 2
    by_recall[0], by_recall[-1] = (-(precision_gain[:2].sum()) / 2, precision_gain[-2:].sum() / 2)
    by_x = -by_precision * n / (m * y)
    by_y = by_precision * n * x / (m * y**2) + by_recall * n * n / (m * y**2)
    by_tp, by_fp = np.zeros_like(tps), np.zeros_like(fps)
    by_tp[right:], by_fp[right:] = by_y[1:], by_x[1:]
    # The first corner lies between two points, at a height that does not change.
    slope = (fps[right] - fps[right - 1]) / (tps[right] - tps[right - 1])
    for point, fraction in ((right - 1, 1 - along), (right, along)):
        by_fp[point] += by_x[0] * fraction
        by_tp[point] -= by_x[0] * fraction * slope
    return _centred(counts, n * _from_here_on(by_tp[1:]), m * _from_here_on(by_fp[1:]))


def _weighted_auc(counts: OrderedCounts, parameters: Parameters) -> Influence:
    n, m = float(counts.n_anomalies), float(counts.n_normals)
    tps, fps = counts.tps.astype(np.float64), counts.fps.astype(np.float64)
    width = np.diff(fps)
    if parameters["quadrature"] == "right":
        end = np.where(fps[1:] > 0, fps[1:], 1.0)
        quotient, height = width / end, (tps[1:] + tps[:-1]) / (2 * n)
        anomalies = _from_here_on(quotient) - quotient / 2
        # A normal sample widens its own segment, and moves the right end of all from there on.
        normals = np.where(fps[1:] > 0, height / end, 0.0) - _from_here_on(height * quotient / end)
        return _centred(counts, anomalies, m * normals)
    # On each straight piece, the contribution of a step upwards of its left and of its right end to
    # the integral of TP / FP from FP 1 on; a step to the right adds the height there, less the rise
    # of the piece.
    left, right = np.maximum(fps[:-1], 1.0), fps[1:]
    rises = right > left
    wide = np.where(width > 0, width, 1.0)
    log = np.where(rises, np.log(np.where(rises, right, left) / left), 0.0)
    by_right = np.where(rises, (right - left - fps[:-1] * log) / wide, 0.0)
    by_left = log - by_right
    slope = np.diff(tps) / wide
    to_right = np.where(width > 0, tps[1:] / np.maximum(right, 1.0), 0.0) - slope * by_right
    from_left = np.where((width > 0) & (fps[:-1] >= 1), tps[:-1] / left, 0.0) + slope * by_left
    by_tp, by_fp = np.zeros_like(tps), np.zeros_like(fps)
    by_tp[1:], by_fp[1:] = by_right, to_right
    by_tp[:-1] += by_left
    by_fp[:-1] -= from_left
    anomalies, normals = _from_here_on(by_tp[1:]), _from_here_on(by_fp[1:])
    # One more where there are anomalies alone.
    normals += np.where((width > 0) | (fps[1:] < 1), 0.0, (tps[1:] + tps[:-1]) / (2 * left))
    return _centred(counts, anomalies, m / n * normals)


def _separation(counts: OrderedCounts, parameters: Parameters) -> Influence:
    scores = scaled_scores(counts, parameters["score_range"], "interval")
    return _centred(counts, scores / 2, -scores / 2)


def _scored_auc(counts: OrderedCounts, parameters: Parameters) -> Influence:
    scores = scaled_scores(counts, parameters["score_range"], "interval")
    normals, anomalies = np.diff(counts.fps), np.diff(counts.tps)
    below = scores * _after(normals) - _after(normals * scores)
    above = np.cumsum(anomalies * scores) - scores * counts.tps[1:]
    return _centred(counts, below / counts.n_normals, above / counts.n_anomalies)


def _log_auc(counts: OrderedCounts, parameters: Parameters) -> Influence:
    """Derive the mean, over the anomalies, of g(x) = log(b / x) of the FPR x at their scores.

    Below the range x is its lower end a, and above it g is 0. The anomalies of a tie lie evenly
    along its piece of the curve.
    """
    a, b = float(parameters["min_fpr"]), float(parameters["max_fpr"])
    x = counts.fps / counts.n_normals
    inside = np.clip(x, a, b)
    height = np.log(b / inside)
    width = math.log(b / a)
    # The integral of g from FPR 0 on, and its mean over each piece.
    integral = (np.minimum(x, a) - a) * width + inside * height + inside - a
    pieces = np.diff(x)
    # Real weights may leave a width by rounding.
    is_wide = pieces > _ROUNDING
    wide = np.where(is_wide, pieces, 1.0)
    gain = np.where(is_wide, np.diff(integral) / wide, height[1:])
    # How the mean changes as the right end of a piece moves, and as both do.
    steep = np.where((x > a) & (x < b), -1 / inside, 0.0)[1:]
    to_right = np.where(is_wide, (height[1:] - gain) / wide, steep / 2)
    along = np.where(is_wide, np.diff(height) / wide, steep)
    hits = np.diff(counts.tps) / counts.n_anomalies
    normals = hits * to_right + _after(hits * along)
    return _centred(counts, gain / width, normals / width)


def _early(counts: OrderedCounts, parameters: Parameters) -> Influence:
    """Derive the sum of the weights of `_kernels.curves.early` over the anomalies."""
    n, m = float(counts.n_anomalies), float(counts.n_normals)
    rate = exponent_of(parameters["alpha"]) / (n + m)
    ranks = (counts.fps + counts.tps).astype(np.float64)
    sizes, hits = np.diff(ranks), np.diff(counts.tps)
    weight = weights_of_ties(ranks[:-1], sizes, rate)
    # One more sample takes the lower end of its own tie further down, and all ties below it.
    lower = (rate * np.exp(-rate * ranks[1:]) - weight) / sizes
    moved = hits * lower - rate * _after(hits * weight)
    return _centred(counts, n * (weight + moved), m * moved)


def _robust_initial_enhancement(counts: OrderedCounts, parameters: Parameters) -> Influence:
    whole = -math.expm1(-exponent_of(parameters["alpha"]))
    scale = counts.total / counts.n_anomalies / whole
    return _scaled(_early(counts, parameters), scale)


def _bedroc(counts: OrderedCounts, parameters: Parameters) -> Influence:
    return _scaled(_early(counts, parameters), 1 / highest_gain(counts, parameters["alpha"]))


def _scaled(influence: Influence, factor: float) -> Influence:
    return Influence(factor * influence.anomalies, factor * influence.normals)


def _detection_cost(counts: OrderedCounts, parameters: Parameters) -> Influence:
    costs = {name: parameters[name] for name in ("cost_miss", "cost_false_alarm")}
    weights = weights_of(counts, parameters["prevalence"], **costs)
    flagged = np.arange(counts.keys.shape[0]) < points_flagged(counts, parameters["threshold"])
    anomalies = np.where(flagged, -nearest_float(weights.misses), 0.0)
    normals = np.where(flagged, nearest_float(weights.false_alarms), 0.0)
    return _centred(counts, anomalies, normals)


INFLUENCES: Mapping[str, Callable[[OrderedCounts, Parameters], Influence]] = MappingProxyType(
    {
        "roc_auc": _roc_auc,
        "auc_at_fpr": _auc_at_fpr,
        "auc_at_tpr": _auc_at_tpr,
        "average_precision": _average_precision,
        "pr_auc": _pr_auc,
        "precision_gain_auc": _precision_gain_auc,
        "weighted_auc": _weighted_auc,
        "ht_auc": _ht_auc,
        "lf_auc": _lf_auc,
        "rp_auc": _separation,
        "probabilistic_auc": _separation,
        "scored_auc": _scored_auc,
        "log_auc": _log_auc,
        "robust_initial_enhancement": _robust_initial_enhancement,
        "bedroc": _bedroc,
        "detection_cost": _detection_cost,
    }
)


def has_influence(measure: Measure[Any]) -> bool:
    """Return whether the influences on a measure are known."""
    return measure.name in INFLUENCES or measure.slopes is not None


def check_smooth(bound: BoundMeasure) -> None:
    """Raise where the influences on a measure are not known."""
    if not has_influence(bound.measure):
        raise InvalidInputError(
            f"measure must be smooth, one of {', '.join(INFLUENCES)}; found {bound.measure.name!r}"
        )


def influence(counts: OrderedCounts, bound: BoundMeasure) -> Influence:
    """Return the influences on a smooth measure; O(g) for g distinct scores."""
    if bound.measure.slopes is None:
        return INFLUENCES[bound.measure.name](counts, bound.parameters)
    by_tpr, by_fpr = bound.measure.slopes(counts, **bound.parameters)
    n_flagged = points_flagged(counts, bound.parameters["threshold"])
    flagged = np.arange(counts.keys.shape[0]) < n_flagged
    return _centred(counts, np.where(flagged, by_tpr, 0.0), np.where(flagged, by_fpr, 0.0))


def class_influences(counts: OrderedCounts, bound: BoundMeasure) -> list[FloatVector]:
    """Return the influence of each anomaly, and of each normal, from the highest score down."""
    by_score = influence(counts, bound)
    return [
        np.repeat(by_score.anomalies, np.diff(counts.tps)),
        np.repeat(by_score.normals, np.diff(counts.fps)),
    ]


def _under(
    ys: CountVector,
    xs: CountVector,
    low: Fraction,
    high: Fraction,
    *,
    cut_by_expectation: bool = False,
) -> tuple[FloatVector, FloatVector]:
    """Return the influences on the area over a range, of the classes that the axes count."""
    upright, level = np.zeros(xs.shape[0] - 1), np.zeros(xs.shape[0] - 1)
    for end, sign in ((high, 1.0), (low, -1.0)):
        if end > 0:
            last = min(last_within(xs, *at_fraction(end, xs[-1].item())), xs.shape[0] - 2)
            kernels.add_under(ys, xs, float(end), last, cut_by_expectation, sign, upright, level)
    kernels.centre(upright, ys)
    kernels.centre(level, xs)
    return upright, level


def _scale(low: Fraction, high: Fraction, chance: Fraction, parameters: Parameters) -> float:
    """Return the factor by which an area was normalised."""
    width = high - low
    factors = {"none": 1.0, "width": float(1 / width), "mcclish": float(1 / (width - chance) / 2)}
    return factors[parameters["normalize"]]


def _from_here_on(values: FloatVector) -> FloatVector:
    return np.cumsum(values[::-1])[::-1]


def _after(values: FloatVector) -> FloatVector:
    return _from_here_on(values) - values


def _centred(counts: OrderedCounts, anomalies: FloatVector, normals: FloatVector) -> Influence:
    kernels.centre(anomalies, counts.tps)
    kernels.centre(normals, counts.fps)
    return Influence(anomalies, normals)

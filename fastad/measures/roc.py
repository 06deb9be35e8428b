"""Measures of the receiver operating characteristic."""

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fastad._kernels import area as kernels
from fastad._types import (
    Count,
    CountVector,
    FloatVector,
    Interpolation,
    Normalize,
    Quadrature,
    ScoreVector,
)
from fastad._validate import fixed
from fastad.counts import OrderedCounts
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures._points import (
    Rates,
    at_each,
    between,
    exact,
    first_reaching,
    last_within,
    need_both,
    plain,
)
from fastad.ordering import PackedOrder
from fastad.results import DetCurve, RocCurve

# Above this, twice an area does not fit into int64.
_LARGEST_AREA = 2**63
# Real weights: how far rounding may take an area at chance level below it.
_ROUNDING = Fraction(1, 10**13)


def roc_curve(counts: OrderedCounts, *, drop_collinear: bool = False) -> RocCurve:
    """All points of the curve; see `fastad.roc_curve`."""
    need_both(counts, "roc_curve")
    fps, tps, thresholds = counts.fps, counts.tps, thresholds_from_infinity(counts)
    if drop_collinear:
        kept = _corners(counts)
        fps, tps, thresholds = fps[kept], tps[kept], thresholds[kept]
    return RocCurve.of(fps / counts.n_normals, tps / counts.n_anomalies, thresholds)


def roc_auc(counts: OrderedCounts) -> float:
    """Area under the curve; see `fastad.roc_auc`."""
    need_both(counts, "roc_auc")
    twice = twice_area(counts.fps, counts.tps, 0, counts.fps.shape[0] - 1)
    # Python divides whole numbers of any length with one rounding.
    return twice / (2 * counts.n_anomalies * counts.n_normals)


def roc_auc_of_values(order: PackedOrder, n_anomalies: int) -> float | None:
    """Area straight from an order: half the time of counting first; None where it may not fit.

    Tied to `roc_auc` by a test.
    """
    pairs = 2 * n_anomalies * (len(order.packed) - n_anomalies)
    if not 0 < pairs < _LARGEST_AREA:
        return None
    return int(kernels.twice_area_packed(order.packed)) / pairs


def tpr_at_fpr(
    counts: OrderedCounts, fpr: Rates, *, interpolation: Interpolation = "linear"
) -> float | FloatVector:
    """Height of the curve at a false positive rate; see `fastad.tpr_at_fpr`."""
    need_both(counts, "tpr_at_fpr")

    def height(rate: Fraction) -> float:
        return float(_tp_at(counts, rate, interpolation) / exact(counts.n_anomalies))

    return at_each(fpr, height)


def fpr_at_tpr(
    counts: OrderedCounts, tpr: Rates, *, interpolation: Interpolation = "linear"
) -> float | FloatVector:
    """Abscissa of the curve at a true positive rate; see `fastad.fpr_at_tpr`."""
    need_both(counts, "fpr_at_tpr")

    def abscissa(rate: Fraction) -> float:
        return float(_fp_at(counts, rate, interpolation) / exact(counts.n_normals))

    return at_each(tpr, abscissa)


def auc_at_fpr(
    counts: OrderedCounts,
    fpr: Rates,
    *,
    min_fpr: Fraction = Fraction(0),
    normalize: Normalize = "width",
) -> float | FloatVector:
    """Area over a range of false positive rates; see `fastad.auc_at_fpr`."""
    need_both(counts, "auc_at_fpr")

    def partial(rate: Fraction) -> float:
        width = _width(min_fpr, rate, "min_fpr", "fpr")
        normals = plain(counts.n_normals)
        twice = _twice_area_between(counts.fps, counts.tps, min_fpr * normals, rate * normals)
        inside = twice / (2 * plain(counts.n_anomalies) * normals)
        return _normalized(counts, inside, width, lambda: (rate**2 - min_fpr**2) / 2, normalize)

    return at_each(fpr, partial)


def auc_at_tpr(
    counts: OrderedCounts,
    *,
    min_tpr: Rates = Fraction(0),
    max_tpr: Fraction = Fraction(1),
    normalize: Normalize = "width",
) -> float | FloatVector:
    """Area over a range of true positive rates; see `fastad.auc_at_tpr`."""
    need_both(counts, "auc_at_tpr")
    anomalies = plain(counts.n_anomalies)
    passed = fixed(counts.n_normals - counts.fps)

    def partial(rate: Fraction) -> float:
        width = _width(rate, max_tpr, "min_tpr", "max_tpr")
        twice = _twice_area_between(counts.tps, passed, rate * anomalies, max_tpr * anomalies)
        inside = twice / (2 * anomalies * plain(counts.n_normals))
        return _normalized(
            counts, inside, width, lambda: width - (max_tpr**2 - rate**2) / 2, normalize
        )

    return at_each(min_tpr, partial)


def weighted_auc(counts: OrderedCounts, *, quadrature: Quadrature = "right") -> float:
    """Area with weight 1 / FPR; see `fastad.weighted_auc`."""
    need_both(counts, "weighted_auc")
    if quadrature == "exact":
        if counts.weighting != "none":
            raise InvalidInputError(
                "quadrature='exact' starts at 1 / (number of normals) and takes no "
                "sample_weight; found weights"
            )
        if counts.n_normals == 1:
            raise UndefinedMeasureError(
                "weighted_auc with quadrature='exact' is undefined for a single normal point: "
                "FPR in [1/m, 1] has no width"
            )
        return kernels.logarithmic_area(counts.fps, counts.tps) / counts.n_anomalies
    return kernels.inverse_fpr_area(counts.fps, counts.tps) / counts.n_anomalies


def det_curve(counts: OrderedCounts) -> DetCurve:
    """False negative against false positive rate; see `fastad.det_curve`."""
    need_both(counts, "det_curve")
    fnr = (counts.n_anomalies - counts.tps) / counts.n_anomalies
    return DetCurve.of(counts.fps / counts.n_normals, fnr, thresholds_from_infinity(counts))


def equal_error_rate(counts: OrderedCounts) -> float:
    """Where the curve meets FPR = FNR; see `fastad.equal_error_rate`."""
    need_both(counts, "equal_error_rate")
    n, m = exact(counts.n_anomalies), exact(counts.n_normals)

    def excess(point: int) -> Fraction:
        """FPR - FNR, which rises from -1 to 1."""
        return exact(counts.fps[point]) / m + exact(counts.tps[point]) / n - 1

    right = bisect_left(range(counts.fps.shape[0]), Fraction(0), key=excess)
    below, above = excess(right - 1), excess(right)
    start, end = exact(counts.fps[right - 1]) / m, exact(counts.fps[right]) / m
    return float(start + (end - start) * below / (below - above))


def thresholds_from_infinity(counts: OrderedCounts) -> ScoreVector:
    """Return +inf and all distinct scores, in a type that holds both exactly."""
    scores = counts.thresholds()
    dtype: type | np.dtype[np.generic] = scores.dtype
    if scores.dtype.kind != "f":
        limit = 2**53
        small = int(scores[0]) <= limit and int(scores[-1]) >= -limit
        dtype = np.float64 if small else object
    thresholds = np.empty(scores.shape[0] + 1, dtype)
    thresholds[0] = np.inf
    thresholds[1:] = scores
    return thresholds


def _corners(counts: OrderedCounts) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell the end points and the points where the slope changes."""
    widths, heights = np.diff(counts.fps), np.diff(counts.tps)
    if widths.dtype.kind == "i" and counts.n_anomalies * counts.n_normals >= _LARGEST_AREA:
        widths, heights = widths.astype(object), heights.astype(object)
    kept = np.ones(counts.fps.shape[0], np.bool_)
    kept[1:-1] = widths[:-1] * heights[1:] != widths[1:] * heights[:-1]
    return kept


def twice_area(xs: CountVector, ys: CountVector, start: int, stop: int) -> Count:
    """Return twice the area between two points, in counts; exact unless weights are real."""
    highest = max(int(ys[start]), int(ys[stop]))
    if xs.dtype.kind == "f" or 2 * int(xs[stop] - xs[start]) * highest < _LARGEST_AREA:
        twice: Count = kernels.twice_area(xs, ys, start, stop)
        return twice
    widths = np.diff(xs[start : stop + 1]).astype(object)
    heights = ys[start : stop + 1].astype(object)
    return int(np.dot(widths, heights[1:] + heights[:-1]))


def _twice_area_between(
    xs: CountVector, ys: CountVector, start: Fraction, end: Fraction
) -> Fraction:
    """Return twice the area under a curve of straight pieces over a range, in counts."""
    first, last = last_within(xs, start), last_within(xs, end)
    # Whole numbers are several times as fast as fractions.
    left_end = start.numerator if start.denominator == 1 else start
    left, right = _height(xs, ys, first, left_end), _height(xs, ys, last, end)
    if first == last:
        return (end - start) * (left + right)
    # What the range covers of the first piece, the whole pieces, and what it covers of the last.
    before = (plain(xs[first + 1]) - left_end) * (left + plain(ys[first + 1]))
    after = (end - plain(xs[last])) * (plain(ys[last]) + right)
    # Added to the whole number first where it is one.
    middle = twice_area(xs, ys, first + 1, last)
    return after + (before + (middle if isinstance(middle, int) else Fraction(middle)))


def _height(xs: CountVector, ys: CountVector, point: int, x: Fraction | int) -> Fraction | int:
    """Return the height at x, which lies on the piece that starts at a point."""
    if x == plain(xs[point]):
        return plain(ys[point])
    return between(xs, ys, point, point + 1, Fraction(x))


def _tp_at(counts: OrderedCounts, rate: Fraction, interpolation: Interpolation) -> Fraction:
    """Return the count of anomalies at a false positive rate, at the top of a vertical step."""
    end = rate * plain(counts.n_normals)
    left = last_within(counts.fps, end)
    if interpolation == "conservative" or left + 1 == counts.fps.shape[0]:
        return exact(counts.tps[left])
    return between(counts.fps, counts.tps, left, left + 1, end)


def _fp_at(counts: OrderedCounts, rate: Fraction, interpolation: Interpolation) -> Fraction:
    """Return the count of normals at a true positive rate, at the left of a horizontal step."""
    goal = rate * plain(counts.n_anomalies)
    right = first_reaching(counts.tps, goal)
    if interpolation == "conservative" or right == 0:
        return exact(counts.fps[right])
    return between(counts.tps, counts.fps, right - 1, right, goal)


def _width(low: Fraction, high: Fraction, low_name: str, high_name: str) -> Fraction:
    if high < low:
        raise InvalidInputError(
            f"{high_name} must not be less than {low_name}; found {float(high)} < {float(low)}"
        )
    if high == low:
        raise UndefinedMeasureError(
            f"the area is undefined over a range of zero width: {low_name} = {high_name} = "
            f"{float(low)}"
        )
    return high - low


def _normalized(
    counts: OrderedCounts,
    inside: Fraction,
    width: Fraction,
    chance_area: Callable[[], Fraction],
    normalize: Normalize,
) -> float:
    if normalize == "none":
        return float(inside)
    if normalize == "width":
        return float(inside / width)
    chance = chance_area()
    if counts.weighting == "real" and abs(inside - chance) < _ROUNDING * chance:
        inside = chance
    if inside < chance:
        raise UndefinedMeasureError(
            "normalize='mcclish' is undefined below chance: "
            f"the area is {float(inside)}, chance {float(chance)}"
        )
    return float((1 + (inside - chance) / (width - chance)) / 2)

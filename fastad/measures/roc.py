"""Measures of the receiver operating characteristic."""

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.threads import slices, thread_map
from fastad._core.types import (
    Count,
    CountVector,
    FloatVector,
    Interpolation,
    Normalize,
    Quadrature,
    ScoreVector,
)
from fastad._kernels.curves import area as kernels
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.points import (
    Exact,
    Rates,
    at_each,
    at_share,
    entry,
    exact,
    first_reaching,
    height,
    last_within,
    need_both,
    plain,
    quotient,
)
from fastad.measures.results import DetCurve, RocCurve
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.orders import PackedOrder, Range

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
    return RocCurve.of(
        shares_of(fps, counts.n_normals), shares_of(tps, counts.n_anomalies), thresholds
    )


def roc_auc(counts: OrderedCounts) -> float:
    """Area under the curve; see `fastad.roc_auc`."""
    need_both(counts, "roc_auc")
    twice = twice_area(counts.fps, counts.tps, 0, counts.fps.shape[0] - 1)
    # Python divides whole numbers of any length with one rounding.
    return twice / (2 * counts.n_anomalies * counts.n_normals)


def roc_auc_of_values(order: PackedOrder) -> float | None:
    """Area straight from an order: half the time of counting first; None where it may not fit.

    Tied to `roc_auc` by a test.
    """
    pairs = 2 * order.n_anomalies * (order.n_points - order.n_anomalies)
    if not 0 < pairs < _LARGEST_AREA:
        return None

    def twice_area_in(where: Range) -> int:
        return int(kernels.twice_area_packed(order.packed[where.start : where.stop], where.tp))

    return sum(thread_map(twice_area_in, order.ranges)) / pairs


def tpr_at_fpr(
    counts: OrderedCounts, fpr: Rates, *, interpolation: Interpolation = "linear"
) -> float | FloatVector:
    """Height of the curve at a false positive rate; see `fastad.tpr_at_fpr`."""
    need_both(counts, "tpr_at_fpr")

    def ordinate(rate: Fraction) -> float:
        tp, divisor = _tp_at(counts, rate, interpolation)
        return quotient(tp, divisor * plain(counts.n_anomalies))

    return at_each(fpr, ordinate)


def fpr_at_tpr(
    counts: OrderedCounts, tpr: Rates, *, interpolation: Interpolation = "linear"
) -> float | FloatVector:
    """Abscissa of the curve at a true positive rate; see `fastad.fpr_at_tpr`."""
    need_both(counts, "fpr_at_tpr")

    def abscissa(rate: Fraction) -> float:
        fp, divisor = _fp_at(counts, rate, interpolation)
        return quotient(fp, divisor * plain(counts.n_normals))

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
        inside = _area_between(
            counts.fps, counts.tps, min_fpr, rate, counts.n_normals, counts.n_anomalies
        )
        return _normalized(counts, inside, width, lambda: (rate**2 - min_fpr**2) / 2, normalize)

    return at_each(fpr, partial)


def auc_at_tpr(
    counts: OrderedCounts,
    *,
    min_tpr: Rates = Fraction(0),
    max_tpr: Fraction = Fraction(1),
    normalize: Normalize = "width",
) -> float | FloatVector:
    """Area over a range of true positive rates; see `fastad.measures.auc_at_tpr`."""
    need_both(counts, "auc_at_tpr")
    passed = as_readonly(counts.n_normals - counts.fps)

    def partial(rate: Fraction) -> float:
        width = _width(rate, max_tpr, "min_tpr", "max_tpr")
        inside = _area_between(
            counts.tps, passed, rate, max_tpr, counts.n_anomalies, counts.n_normals
        )
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
    """False negative against false positive rate; see `fastad.measures.det_curve`."""
    need_both(counts, "det_curve")
    fnr = shares_of(counts.n_anomalies - counts.tps, counts.n_anomalies)
    return DetCurve.of(
        shares_of(counts.fps, counts.n_normals), fnr, thresholds_from_infinity(counts)
    )


def equal_error_rate(counts: OrderedCounts) -> float:
    """Where the curve meets FPR = FNR; see `fastad.measures.equal_error_rate`."""
    need_both(counts, "equal_error_rate")
    n, m = exact(counts.n_anomalies), exact(counts.n_normals)

    def excess(point: int) -> Fraction:
        """FPR - FNR, which rises from -1 to 1."""
        return exact(counts.fps[point]) / m + exact(counts.tps[point]) / n - 1

    right = bisect_left(range(counts.fps.shape[0]), Fraction(0), key=excess)
    below, above = excess(right - 1), excess(right)
    start, end = exact(counts.fps[right - 1]) / m, exact(counts.fps[right]) / m
    return float(start + (end - start) * below / (below - above))


def shares_of(counts: CountVector, total: Count) -> FloatVector:
    """Return counts as shares of their total."""
    shares = np.empty(counts.shape)
    thread_map(
        lambda rows: np.divide(counts[rows], total, out=shares[rows]), slices(counts.shape[0])
    )
    return shares


def thresholds_from_infinity(counts: OrderedCounts) -> ScoreVector:
    """Return +inf and all distinct scores, in a type that holds both exactly."""
    return counts.codec.decode_after(np.inf, counts.keys)


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
        twice = kernels.twice_area(xs, ys, start, stop)
        # Without compilation it is NumPy's number, which overflows where Python's does not.
        return float(twice) if xs.dtype.kind == "f" else int(twice)
    widths = np.diff(xs[start : stop + 1]).astype(object)
    heights = ys[start : stop + 1].astype(object)
    return int(np.dot(widths, heights[1:] + heights[:-1]))


def _area_between(
    xs: CountVector, ys: CountVector, low: Fraction, high: Fraction, total: Count, tallest: Count
) -> tuple[Exact, Exact]:
    """Return the area under a curve of straight pieces between two shares of a total.

    A quotient in units of the whole square, ``total`` wide and ``tallest`` high.
    """
    # Both ends over one divisor.
    end, divisor = at_share(high, total)
    start, other = at_share(low, total)
    if divisor != other:
        start, end, divisor = start * divisor, end * other, divisor * other
    first, last = last_within(xs, start, divisor), last_within(xs, end, divisor)
    left, left_over = height(xs, ys, first, start, divisor)
    right, right_over = height(xs, ys, last, end, divisor)
    over = left_over * right_over
    if first == last:
        twice = (end - start) * (left * right_over + right * left_over)
    else:
        # What the range covers of the first piece and of the last, and the whole pieces.
        before = entry(xs, first + 1) * divisor - start
        after = end - entry(xs, last) * divisor
        twice = before * (left + entry(ys, first + 1) * left_over) * right_over
        twice += after * (entry(ys, last) * right_over + right) * left_over
        twice += divisor * over * plain(twice_area(xs, ys, first + 1, last))
    return twice, 2 * divisor * over * plain(total) * plain(tallest)


def _tp_at(
    counts: OrderedCounts, rate: Fraction, interpolation: Interpolation
) -> tuple[Exact, Exact]:
    """Return the count of anomalies at a false positive rate, at the top of a vertical step."""
    end, divisor = at_share(rate, counts.n_normals)
    left = last_within(counts.fps, end, divisor)
    if interpolation == "conservative":
        return entry(counts.tps, left), 1
    return height(counts.fps, counts.tps, left, end, divisor)


def _fp_at(
    counts: OrderedCounts, rate: Fraction, interpolation: Interpolation
) -> tuple[Exact, Exact]:
    """Return the count of normals at a true positive rate, at the left of a horizontal step."""
    goal, divisor = at_share(rate, counts.n_anomalies)
    right = first_reaching(counts.tps, goal, divisor)
    if interpolation == "conservative" or right == 0:
        return entry(counts.fps, right), 1
    return height(counts.tps, counts.fps, right - 1, goal, divisor)


def _width(low: Fraction, high: Fraction, low_name: str, high_name: str) -> Fraction:
    if high < low:
        raise InvalidInputError(
            f"{high_name} must not be less than {low_name}; found {float(high)} < {float(low)}",
            argument=high_name,
        )
    if high == low:
        raise UndefinedMeasureError(
            f"the area is undefined over a range of zero width: {low_name} = {high_name} = "
            f"{float(low)}"
        )
    return high - low


def _normalized(
    counts: OrderedCounts,
    area: tuple[Exact, Exact],
    width: Fraction,
    chance_area: Callable[[], Fraction],
    normalize: Normalize,
) -> float:
    part, whole = area
    if normalize == "none":
        return quotient(part, whole)
    if normalize == "width":
        return quotient(part * width.denominator, whole * width.numerator)
    inside, chance = Fraction(part) / whole, chance_area()
    if counts.weighting == "real" and abs(inside - chance) < _ROUNDING * chance:
        inside = chance
    if inside < chance:
        raise UndefinedMeasureError(
            "normalize='mcclish' is undefined below chance: "
            f"the area is {float(inside)}, chance {float(chance)}"
        )
    return float((1 + (inside - chance) / (width - chance)) / 2)

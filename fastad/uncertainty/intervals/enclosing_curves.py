"""Intervals from order statistics, for any numbers of samples.

The rate beyond an order statistic has a known distribution, and a measure that never falls where
the ROC curve rises lies between its values on two curves that enclose the population's. No variance
is estimated: where few samples lie beyond an operating point the interval is wide, and covers the
true value all the same. At one point of the curve (`order_interval`) that is so for any
distribution of the scores; quantiles over random curves (`fiducial`) cover less than they say where
the curve steps at the point (`has_step`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.pace import fill_in_steps
from fastad._core.progress import Progress
from fastad._core.random import numbered_generator
from fastad._core.types import CountVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from fastad._kernels.curves import many
from fastad.measures.detection_errors import equal_rate
from fastad.measures.flagged import points_flagged
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.raw import KeyCodec
from fastad.uncertainty.rates.order_statistics import (
    EachRank,
    rank_above,
    rank_below,
    ranks_around,
    rate_bounds,
)
from fastad.uncertainty.samples.closed_forms import Bounds, clopper_pearson

# Measures of one point of the curve, for which bounds at that point suffice.
_AT_ONE_POINT = ("tpr_at_fpr", "fpr_at_tpr", "precision_at_fpr", "f1_at_fpr")
# The normals fix the threshold at an FPR, the anomalies at these rates.
_OF_ANOMALIES = ("tpr", "recall")
# Part of the other rate's range at a rank from which on a gap between neighbours is a step.
_PART_OF_STEP = 0.5
# Measures whose value on a random curve is biased: it belongs to a threshold at a lower FPR, or to
# the best of all thresholds.
_WITHOUT_FIDUCIAL = (
    *("precision_at_fpr", "f1_at_fpr", "best_f1", "np_score", "min_detection_cost"),
)
# A step matters at the ranks that a threshold may have with a confidence of 95 %.
_ALPHA_OF_STEP = 0.05
# Twice an area in counts must fit into 64 bits.
_AREA_BITS = 61
# Corners, and most random curves, that are drawn together: they stay in a core's cache.
_CORNERS_OF_BLOCK, _LARGEST_BLOCK = 2**13, 64


def has_order(bound: BoundMeasure) -> bool:
    """Return whether a measure reads one point of the curve, so that bounds there suffice."""
    measure = bound.measure
    return measure.name in _AT_ONE_POINT or (measure.monotone and "fpr" in bound.parameters)


def order_interval(counts: OrderedCounts, bound: BoundMeasure, level: Fraction) -> Bounds:
    """Return bounds on a measure of one point of the curve; see `fastad.uncertainty.roc_band`."""
    if "tpr" in bound.parameters:
        low, high, _ = _tpr_bounds(_swap_classes(counts), 1 - bound.parameters["tpr"], level)
        return 1 - high, 1 - low
    fpr = bound.parameters["fpr"]
    low, high, lowest_fpr = _tpr_bounds(counts, fpr, level)
    if bound.measure.name == "tpr_at_fpr":
        return low, high
    # The threshold of the population has at most this FPR; with ties, perhaps less.
    worst, best = (float(fpr), low), (lowest_fpr, high)
    ends = [_at_point(counts, bound, *point) for point in (worst, best)]
    # Where nothing is flagged nothing may be known.
    least, most = bound.bounds
    if not bound.measure.higher_is_better:
        least, most = most, least
    least_end, most_end = (
        extreme if end != end else end for end, extreme in zip(ends, (least, most), strict=True)
    )
    return min(least_end, most_end), max(least_end, most_end)


def _tpr_bounds(
    counts: OrderedCounts, fpr: Fraction, level: Fraction
) -> tuple[float, float, float]:
    """Return bounds on the TPR, and a lower one on the FPR of the threshold that stays within."""
    anomalies, normals = rate_bounds(counts, "an interval", level, simultaneous=False)
    assert isinstance(normals, EachRank)
    x = float(fpr)
    within, beyond = _ranks_around(normals, x)
    low = anomalies.lower(rank_above(counts.fps, counts.tps, within)).item()
    high = anomalies.upper(rank_below(counts.fps, counts.tps, beyond)).item()
    first, last = np.searchsorted(counts.fps, np.concatenate([within, beyond]), side="left")
    steps = np.diff(counts.fps[max(first - 1, 0) : last + 1])
    if np.all(steps <= 1):
        return low, high, x
    n_above = counts.fps[max(first - 1, 0)]
    return low, high, normals.lower(np.array([n_above])).item()


def has_step(counts: OrderedCounts, bound: BoundMeasure) -> bool:
    """Return whether the curve may step at the operating point of a measure of one point there.

    One score, or the gap between two neighbours of the class that fixes the threshold, then has
    most of the range of the other class's rate that its rank leaves open, and more than the
    standard error of that rate. Both rates of the point must hold together: at a step of the
    population each end of an interval from random curves fails with P(U V < alpha / 2) for uniform
    U and V, .117 at 95 %. For the best precision at a recall or above only ties do so: samples in a
    gap have one order.
    """
    if not (has_order(bound) or bound.measure.name == "precision_at_recall"):
        return False
    point = next(name for name in ("fpr", *_OF_ANOMALIES) if name in bound.parameters)
    rate = bound.parameters[point]
    if point in _OF_ANOMALIES:
        counts, rate = _swap_classes(counts), 1 - rate
    n, m = int(counts.n_anomalies), int(counts.n_normals)
    within, beyond = _ranks_around(EachRank(m, _ALPHA_OF_STEP), float(rate))
    # The highest TPR at each FPR: its neighbours differ by a tie or by the samples in the gap.
    at = np.flatnonzero(np.diff(counts.fps, append=np.inf))
    fps, tps = counts.fps[at], counts.tps[at]
    reached = tps[1:] if has_order(bound) else counts.tps[at[:-1] + 1]
    first = max(int(np.searchsorted(fps, within[0])) - 1, 0)
    last = min(int(np.searchsorted(fps, beyond[0])), fps.shape[0] - 1)
    tpr = (tps[np.searchsorted(fps, math.floor(rate * m), side="right") - 1] + 1) / (n + 2)
    least = max(1, math.sqrt(n * tpr * (1 - tpr)), _PART_OF_STEP * (tps[last] - tps[first]))
    return bool(np.any(reached[first:last] - tps[first:last] > least))


# The same for all detectors on the same labels, and for all measures at a rate.
@lru_cache(maxsize=1024)
def _ranks_around(normals: EachRank, x: float) -> tuple[IntVector, IntVector]:
    """Return the last rank that is within a rate, and the first one that is beyond it."""
    within, beyond = ranks_around(normals, np.array([x]))
    return set_readonly(within), set_readonly(beyond)


def _at_point(counts: OrderedCounts, bound: BoundMeasure, fpr: float, tpr: float) -> float:
    """Return a measure of the curve through one point."""
    fp = fpr * float(counts.n_normals)
    # Rounding must not move the point beyond the rate.
    limit = bound.parameters["fpr"] * Fraction(counts.n_normals)
    while Fraction(fp) > limit:
        fp = math.nextafter(fp, 0)
    xs = np.array([0.0, fp, float(counts.n_normals)])
    ys = np.array([0.0, tpr * float(counts.n_anomalies), float(counts.n_anomalies)])
    return bound.value_or_nan(counts_of_curve(counts, xs, ys))


def counts_of_curve(counts: OrderedCounts, xs: CountVector, ys: CountVector) -> OrderedCounts:
    """Return weighted counts of which a curve through these points is the ROC curve."""
    return replace(
        counts,
        fps=as_readonly(xs),
        tps=as_readonly(ys),
        keys=as_readonly(np.arange(xs.shape[0] - 1, dtype=np.int64)),
        codec=KeyCodec(np.dtype(np.int64), 0),
        n_anomalies=float(counts.n_anomalies),
        n_normals=float(counts.n_normals),
        n_points=xs.shape[0] - 1,
        n_tied=0,
        weighting="real",
    )


def _swap_classes(counts: OrderedCounts) -> OrderedCounts:
    """Return the counts of negated scores with the classes exchanged.

    There the FPR is 1 - TPR of here, and the TPR 1 - FPR.
    """
    return replace(
        counts,
        fps=as_readonly((counts.n_anomalies - counts.tps)[::-1]),
        tps=as_readonly((counts.n_normals - counts.fps)[::-1]),
        n_anomalies=counts.n_normals,
        n_normals=counts.n_anomalies,
    )


def has_box(bound: BoundMeasure) -> bool:
    """Return whether a measure is a monotone function of both rates at a fixed threshold."""
    return bound.measure.monotone and "threshold" in bound.parameters


def box_interval(counts: OrderedCounts, bound: BoundMeasure, alpha: float) -> Bounds:
    """Return a monotone measure at the corners of a box that contains both rates at a threshold.

    Each rate is outside its interval of Clopper and Pearson with at most half of alpha.
    """
    point = points_flagged(counts, bound.parameters["threshold"])
    totals = counts.n_anomalies, counts.n_normals
    rates = [
        clopper_pearson(cumulative.item(point), total, alpha / 2)
        for cumulative, total in zip((counts.tps, counts.fps), totals, strict=True)
    ]
    least, most = bound.bounds
    if not bound.measure.higher_is_better:
        least, most = most, least
    ends = []
    for tpr, fpr, unknown in ((rates[0][0], rates[1][1], least), (rates[0][1], rates[1][0], most)):
        tps, fps = counts.tps.astype(np.float64), counts.fps.astype(np.float64)
        # Nothing but this point is read.
        tps[point], fps[point] = tpr * totals[0], fpr * totals[1]
        corner = replace(counts, tps=as_readonly(tps), fps=as_readonly(fps), weighting="real")
        value = bound.value_or_nan(corner)
        ends.append(unknown if value != value else value)
    return min(ends), max(ends)


def has_fiducial(bound: BoundMeasure) -> bool:
    """Return whether random curves that enclose the population's enclose its value, too."""
    measure = bound.measure
    return measure.rises_with_curve and measure.name not in _WITHOUT_FIDUCIAL


def fiducial_values(
    counts: OrderedCounts,
    measures: Sequence[BoundMeasure],
    n_resamples: int,
    key: np.uint64,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Return each measure on random lower and upper curves, shape (n_measures, 2, n_resamples).

    The rates at the ranks of n samples are distributed as the partial sums of n + 1 exponential
    spacings over their total. Between two neighbouring ranks nothing is known of the curve, so the
    lower curve has one more normal sample above all and one more anomaly below all, and the upper
    curve the reverse. For a single rate this gives the interval of Clopper and Pearson. Rubin 1981,
    "The Bayesian bootstrap", has the spacings; Hannig et al. 2016, "Generalized fiducial
    inference", the construction. O(c) time for each replicate in threads, for c corners of the
    curve: at most twice the anomalies, however many normal samples there are.
    """
    n, m = int(counts.n_anomalies), int(counts.n_normals)
    values = np.empty((len(measures), 2, n_resamples))
    # Only corners of the curve matter: of neighbouring normal samples, the last.
    corners = np.append(np.diff(counts.tps) > 0, True) | np.append(True, np.diff(counts.tps) > 0)
    fps, tps = counts.fps[corners], counts.tps[corners]
    tpr_gaps, tpr_at = _gaps(tps, n)
    fpr_gaps, fpr_at = _gaps(fps, m)
    # Parts of a sample as integers, of which measures are computed several times as fast.
    scale = 1 << max(0, (_AREA_BITS - (n * m).bit_length()) // 2)
    scaled = [_in_parts(bound, scale) for bound in measures]
    kernels = [_kernel_of(bound, n * scale, m * scale) for bound in measures]
    size = min(max(_CORNERS_OF_BLOCK // fps.shape[0], 1), _LARGEST_BLOCK)

    def fill(blocks: range) -> None:
        for block in blocks:
            rows = slice(block * size, min((block + 1) * size, n_resamples))
            rng = numbered_generator(key, block)
            tpr = _random_rates(rng, tpr_gaps, rows.stop - rows.start)
            fpr = _random_rates(rng, fpr_gaps, rows.stop - rows.start)
            lower = as_readonly(fpr[:, fpr_at[1]]), as_readonly(tpr[:, tpr_at[0]])
            upper = as_readonly(fpr[:, fpr_at[0]]), as_readonly(tpr[:, tpr_at[1]])
            for end, (xs, ys) in enumerate((lower, upper)):
                for i, (bound, kernel) in enumerate(zip(scaled, kernels, strict=True)):
                    if kernel is not None:
                        kernel(xs, ys, values[i, end, rows])
                        continue
                    for row in range(xs.shape[0]):
                        curve = _curve(counts, xs[row], ys[row], scale)
                        values[i, end, rows.start + row] = bound.value_or_nan(curve)

    def report(done: int, _: int | None) -> None:
        if progress is not None:
            progress(min(done * size, n_resamples), n_resamples)

    n_blocks = -(-n_resamples // size)
    fill_in_steps(fill, n_blocks, size * fps.shape[0], None if progress is None else report)
    return values


def _curve(counts: OrderedCounts, x: FloatVector, y: FloatVector, scale: int) -> OrderedCounts:
    """Return the counts of parts of samples whose curve has these rates, from (0, 0) to (1, 1)."""
    n, m = int(counts.n_anomalies) * scale, int(counts.n_normals) * scale
    fps, tps = (
        np.rint(np.concatenate([[0.0], rates, [1.0]]) * size).astype(np.int64)
        for rates, size in ((x, m), (y, n))
    )
    curve = counts_of_curve(counts, fps, tps)
    return replace(curve, n_anomalies=n, n_normals=m, weighting="integer")


def _kernel_of(
    bound: BoundMeasure, n_anomalies: int, n_normals: int
) -> Callable[[FloatMatrix, FloatMatrix, FloatVector], None] | None:
    """Return a function that writes a measure of many curves; None if computed one by one."""
    name, parameters = bound.measure.name, bound.parameters
    if name in ("tpr_at_fpr", "fpr_at_tpr"):
        first, conservative = name == "fpr_at_tpr", parameters["interpolation"] == "conservative"
        at = float(parameters["tpr" if first else "fpr"])

        def coordinates(xs: FloatMatrix, ys: FloatMatrix, values: FloatVector) -> None:
            known, other = (ys, xs) if first else (xs, ys)
            many.coordinates(known, other, at, first, conservative, values)

        return coordinates
    if name == "equal_error_rate":

        def equal_rates(xs: FloatMatrix, ys: FloatMatrix, values: FloatVector) -> None:
            found = np.empty((xs.shape[0], 4), np.int64)
            many.equal_errors(xs, ys, n_normals, n_anomalies, found)
            values[:] = [
                equal_rate(start, end, below, above, n_normals)
                for start, end, below, above in found.tolist()
            ]

        return equal_rates
    low, high, width = 0.0, 1.0, 1.0
    if name == "auc_at_fpr" and parameters["normalize"] != "mcclish":
        low, high = float(parameters["min_fpr"]), float(parameters["fpr"])
        width = high - low if parameters["normalize"] == "width" else 1.0
    elif name != "roc_auc":
        return None

    def area(xs: FloatMatrix, ys: FloatMatrix, values: FloatVector) -> None:
        many.areas(xs, ys, low, high, values)
        values /= width

    return area


def _in_parts(bound: BoundMeasure, scale: int) -> BoundMeasure:
    """Return the measure of counts of parts of samples; a number of top scores is one of parts."""
    k = bound.parameters.get("k")
    if k is None:
        return bound
    return replace(bound, parameters={**bound.parameters, "k": k * scale})


def _gaps(cumulative: CountVector, n_samples: int) -> tuple[FloatVector, IntMatrix]:
    """Return the gaps between the ranks that matter, and where each corner's rate is among them.

    A corner with k samples above it needs the rate at rank k and at rank k + 1.
    """
    both = np.stack([cumulative, cumulative + 1])
    ranks, at = np.unique(np.append(both, [0, n_samples + 1]), return_inverse=True)
    return np.diff(ranks).astype(np.float64), at[:-2].reshape(both.shape)


def _random_rates(rng: np.random.Generator, gaps: FloatVector, n: int) -> FloatMatrix:
    """Draw rates at ranks with these gaps, n times: sums of exponential spacings are gamma."""
    rates = np.zeros((n, gaps.shape[0] + 1))
    np.cumsum(rng.standard_gamma(gaps, (n, gaps.shape[0])), axis=1, out=rates[:, 1:])
    rates /= rates[:, -1:]
    return rates


def fiducial(bound: BoundMeasure, curves: npt.NDArray[np.float64], alpha: float) -> Bounds:
    """Return the quantiles of the lower curves' values and of the upper ones'.

    Where a curve leaves the measure undefined nothing is known of it.
    """
    lower, upper = curves if bound.measure.higher_is_better else curves[::-1]
    least, most = bound.bounds
    low = np.quantile(np.where(np.isnan(lower), least, lower), alpha / 2, method="lower")
    high = np.quantile(np.where(np.isnan(upper), most, upper), 1 - alpha / 2, method="higher")
    return float(low), float(high)

"""Intervals from order statistics, for any numbers of samples.

The rate beyond an order statistic has a known distribution, and a measure that never falls where
the ROC curve rises lies between its values on two curves that enclose the population's. No variance
is estimated: where few samples lie beyond an operating point the interval is wide, and covers the
true value all the same. At one point of the curve (`order_interval`) that is so for any
distribution of the scores; quantiles over random curves (`fiducial`) cover less than they say where
the curve steps at the point (`step_at`), but for ties, whose segment is straight. Both rates at a
fixed threshold are binomial, and have no steps.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.progress import Progress, fill_in_steps, part_of
from fastad._core.random import numbered_generator
from fastad._core.types import CountVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from fastad._kernels.curves import many
from fastad.measures.detection_errors import equal_rate
from fastad.measures.flagged import points_flagged
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts, corners_of
from fastad.ordering.raw import KeyCodec
from fastad.uncertainty.rates.order_statistics import (
    EachRank,
    rank_above,
    rank_below,
    ranks_around,
    rate_bounds,
)
from fastad.uncertainty.samples.closed_forms import Bounds

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
# Measures whose value on a curve is a mean over it.
PRECISION_AREAS = ("average_precision", "pr_auc")
PARTIAL_AREAS = ("auc_at_fpr", "auc_at_tpr")
_AREAS = ("roc_auc", *PRECISION_AREAS, *PARTIAL_AREAS)
# Corners of a random curve, about. Of 10^5 samples, half of them anomalous, with ties or without,
# and of 3 000 anomalies among 3 10^5 normals, the ends of areas at 2^10 corners differ by at most
# 0.04 of a width from those at all corners: two draws at all corners differ by as much. The ends of
# the best precision at a recall differ by up to 0.46 at 2^10 corners, and by 0.08 at 2^12.
_MOST_CORNERS, _MOST_CORNERS_OF_AREAS = 2**12, 2**10
# Corners, and most random curves, that are drawn together: they stay in a core's cache.
_CORNERS_OF_BLOCK, _LARGEST_BLOCK = 2**13, 64


def has_order(bound: BoundMeasure) -> bool:
    """Return whether a measure reads one point of the curve, so that bounds there suffice."""
    measure = bound.measure
    return measure.name in _AT_ONE_POINT or (measure.monotone and "fpr" in bound.parameters)


def order_interval(counts: OrderedCounts, bound: BoundMeasure, level: Fraction) -> Bounds:
    """Return bounds on a measure of one point of the curve; see `fastad.uncertainty.roc_band`."""
    if "tpr" in bound.parameters:
        rate = 1 - bound.parameters["tpr"]
        low, high = _tpr_bounds(_swap_classes(counts), rate, level, linear=_is_linear(bound))
        return 1 - high, 1 - low
    fpr = bound.parameters["fpr"]
    if bound.measure.name == "tpr_at_fpr":
        return _tpr_bounds(counts, fpr, level, linear=_is_linear(bound))
    least, most = bound.bounds
    if not bound.measure.higher_is_better:
        least, most = most, least
    # Where nothing is flagged nothing may be known.
    ends = [
        extreme if end != end else end
        for worst_and_best in _rates_of_thresholds(counts, fpr, level)
        for rates, extreme in zip(worst_and_best, (least, most), strict=True)
        for end in [_at_point(counts, bound, *rates)]
    ]
    return min(ends), max(ends)


def _is_linear(bound: BoundMeasure) -> bool:
    """Return whether the point may lie inside a segment of the curve; else it is a threshold's."""
    return bound.parameters.get("interpolation") == "linear"


def _tpr_bounds(
    counts: OrderedCounts, fpr: Fraction, level: Fraction, *, linear: bool
) -> tuple[float, float]:
    anomalies, normals = rate_bounds(counts, "an interval", level, simultaneous=False)
    within, beyond = _ranks_around(cast(EachRank, normals), float(fpr))
    reached = rank_below(counts.fps, counts.tps, beyond)
    if not linear:
        # The threshold lies above the normal beyond the rate, and above what is tied with it.
        reached = np.minimum(reached, rank_above(counts.fps, counts.tps, beyond) + 1)
    low = anomalies.lower(rank_above(counts.fps, counts.tps, within)).item()
    return low, anomalies.upper(reached).item()


def _rates_of_thresholds(
    counts: OrderedCounts, fpr: Fraction, level: Fraction
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the worst and the best rates, FPR and TPR, of the thresholds that may be the true one.

    Without ties the threshold of the population has this FPR. With ties it may have a lower one,
    and does not part a tie: thresholds above the largest tie and below it have rates of their own.
    """
    anomalies, normals = rate_bounds(counts, "an interval", level, simultaneous=False)
    x = float(fpr)
    around = np.concatenate(_ranks_around(cast(EachRank, normals), x))
    # The thresholds just above the normals within and beyond the rate, and those between.
    first, last = np.maximum(np.searchsorted(counts.fps, around, side="left") - 1, 0)
    least = anomalies.lower(rank_above(counts.fps, counts.tps, around[:1])).item()
    if np.all(np.diff(counts.fps[first : last + 2]) <= 1):
        return [((x, least), (x, anomalies.upper(counts.tps[[last]] + 1).item()))]
    fps, tps = counts.fps[first : last + 1], counts.tps[first : last + 1]
    tied = np.where(np.diff(fps) > 0, np.diff(tps), 0)
    ends = [0, fps.shape[0]]
    if np.any(tied):
        ends.insert(1, int(np.argmax(tied)) + 1)
    rates = []
    for start, stop in pairwise(ends):
        low = anomalies.lower(tps[[start]]).item() if start else least
        high = anomalies.upper(tps[[stop - 1]] + 1).item()
        fewest = normals.lower(fps[[start]]).item()
        most = min(x, normals.upper(fps[[stop - 1]] + 1).item())
        rates.append(((most, low), (fewest, high)))
    return rates


class Step(NamedTuple):
    """A part of the curve that has most of what is open of one of the rates of a point."""

    # Whether that is one score, whose segment is straight, not a gap, in which nothing is known.
    is_tie: bool
    # The first and the last of its ends that the point may lie on either side of, as points of the
    # counts: the same if only one may be, and None without any.
    ends: tuple[int, int] | None


def step_at(counts: OrderedCounts, bound: BoundMeasure) -> Step | None:
    """Return the step that the curve may have at the operating point of a measure of one point.

    One score, or the gap between two neighbours of the class that fixes the threshold, then has
    most of the range of the other class's rate that its rank leaves open, and more than the
    standard error of that rate. Both rates of the point must hold together: at a step of the
    population each end of an interval from random curves fails with P(U V < alpha / 2) for uniform
    U and V, .117 at 95 %. For the best precision at a recall or above only ties do so: samples in a
    gap have one order.
    """
    if not (has_order(bound) or bound.measure.name == "precision_at_recall"):
        return None
    counts, rate, is_swapped = _at_rate_of_normals(counts, bound)
    n, m = int(counts.n_anomalies), int(counts.n_normals)
    within, beyond = _ranks_around(EachRank(m, _ALPHA_OF_STEP), float(rate))
    # The corners from the last one before these ranks to the first one after them.
    start = max(int(np.searchsorted(counts.fps, within[0])) - 1, 0)
    after = min(int(np.searchsorted(counts.fps, beyond[0])), counts.fps.shape[0] - 1)
    stop = int(np.searchsorted(counts.fps, counts.fps[after], side="right"))
    # The highest TPR at each FPR: its neighbours differ by a tie or by the samples in the gap.
    at = start + np.flatnonzero(np.diff(counts.fps[start:stop], append=np.inf))
    tps = counts.tps[at]
    after_tie = counts.tps[at[:-1] + 1]
    reached = tps[1:] if has_order(bound) else after_tie
    inside = np.searchsorted(counts.fps, math.floor(rate * m), side="right") - 1
    tpr = (counts.tps[inside] + 1) / (n + 2)
    least = max(1, math.sqrt(n * tpr * (1 - tpr)), _PART_OF_STEP * (tps[-1] - tps[0]))
    steps = np.flatnonzero(reached - tps[:-1] > least)
    if steps.size == 0:
        return None
    # No other has more than half.
    step = steps[0]
    ends = [int(end) for end in at[step] + [0, 1] if within[0] <= counts.fps[end] < beyond[0]]
    if is_swapped:
        ends = [counts.fps.shape[0] - 1 - end for end in reversed(ends)]
    is_tie = bool(after_tie[step] - tps[step] > least)
    return Step(is_tie, (ends[0], ends[-1]) if ends else None)


def is_beyond_all(counts: OrderedCounts, bound: BoundMeasure) -> bool:
    """Return whether one class is on one side of the threshold that the other one fixes.

    Replicates then know no other rate of it.
    """
    counts, rate, _ = _at_rate_of_normals(counts, bound)
    limit = math.floor(rate * int(counts.n_normals))
    at = np.searchsorted(counts.fps, limit, side="right") - 1
    return bool(counts.tps[at] in (0, counts.n_anomalies))


def _at_rate_of_normals(
    counts: OrderedCounts, bound: BoundMeasure
) -> tuple[OrderedCounts, Fraction, bool]:
    """Return counts, the FPR in them of a measure of one point, and whether classes are swapped."""
    point = next(name for name in ("fpr", *_OF_ANOMALIES) if name in bound.parameters)
    if point in _OF_ANOMALIES:
        return _swap_classes(counts), 1 - bound.parameters[point], True
    return counts, bound.parameters[point], False


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


def is_of_both_rates(bound: BoundMeasure) -> bool:
    """Return whether a measure is a monotone function of both rates at a fixed threshold."""
    return bound.measure.monotone and bound.measure.values_at is not None


def has_fiducial(bound: BoundMeasure) -> bool:
    """Return whether random curves that enclose the population's enclose its value, too."""
    measure = bound.measure
    if is_of_both_rates(bound):
        return True
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
    curve: at most twice the anomalies, however many normal samples there are, and some 4 000, or
    1 000 for areas.
    """
    values = np.empty((len(measures), 2, n_resamples))
    every = corners_of(counts.tps)
    has_many = every.shape[0] > _MOST_CORNERS_OF_AREAS
    groups: dict[int, list[int]] = {}
    for i, bound in enumerate(measures):
        if is_of_both_rates(bound):
            values[i] = _values_at_threshold(counts, bound, n_resamples, key)
            continue
        is_coarse = has_many and bound.measure.name in _AREAS
        groups.setdefault(_MOST_CORNERS_OF_AREAS if is_coarse else _MOST_CORNERS, []).append(i)
    for part, (most, group) in enumerate(groups.items()):
        corners = every, _resolved(counts, every, most)
        of_group = [measures[i] for i in group]
        reported = part_of(progress, part, len(groups))
        values[group] = _values_on_curves(counts, of_group, n_resamples, key, corners, reported)
    return values


def _values_at_threshold(
    counts: OrderedCounts, bound: BoundMeasure, n_resamples: int, key: np.uint64
) -> FloatMatrix:
    """Return a measure of both rates at a fixed threshold on random lower and upper curves."""
    point = points_flagged(counts, bound.parameters["threshold"])
    rng = numbered_generator(key, 0)
    flagged = []
    for of_class, total in ((counts.tps, counts.n_anomalies), (counts.fps, counts.n_normals)):
        gaps, at = _gaps(of_class[point : point + 1], int(total))
        flagged.append(_random_rates(rng, gaps, n_resamples)[:, at[:, 0]].T * total)
    (fewest_tps, most_tps), (fewest_fps, most_fps) = flagged
    values_at = partial(cast(Callable[..., FloatVector], bound.measure.values_at), counts)
    lower = values_at(fewest_tps, most_fps, **bound.parameters)
    return np.stack([lower, values_at(most_tps, fewest_fps, **bound.parameters)])


def _values_on_curves(
    counts: OrderedCounts,
    measures: Sequence[BoundMeasure],
    n_resamples: int,
    key: np.uint64,
    all_and_drawn: tuple[IntVector, IntVector],
    progress: Progress | None,
) -> npt.NDArray[np.float64]:
    """Return each measure on random curves, of whose corners some are drawn."""
    every, corners = all_and_drawn
    n, m = int(counts.n_anomalies), int(counts.n_normals)
    values = np.empty((len(measures), 2, n_resamples))
    tpr_gaps, tpr_at = _gaps(counts.tps[corners], n)
    fpr_gaps, fpr_at = _gaps(counts.fps[corners], m)
    # Parts of a sample as integers, of which measures are computed several times as fast.
    scale = 1 << max(0, (_AREA_BITS - (n * m).bit_length()) // 2)
    scaled = [_in_parts(bound, scale) for bound in measures]
    kernels = [
        [_kernel_of(bound, n * scale, m * scale, is_lower=end == 0) for end in range(2)]
        for bound in measures
    ]
    ties = [_corners_of_tie(counts, bound, corners) for bound in measures]
    size = min(max(_CORNERS_OF_BLOCK // corners.shape[0], 1), _LARGEST_BLOCK)

    def write(i: int, end: int, xs: FloatMatrix, ys: FloatMatrix, of_curves: FloatVector) -> None:
        if (kernel := kernels[i][end]) is not None:
            kernel(xs, ys, of_curves)
            return
        for row in range(xs.shape[0]):
            of_curves[row] = scaled[i].value_or_nan(_curve(counts, xs[row], ys[row], scale))

    shifts = np.zeros((len(measures), 2))
    if corners.shape[0] < every.shape[0]:
        # What the corners left out change on the mean curve, they change on all.
        for i, end in np.ndindex(*shifts.shape):
            both = np.empty((2, 1))
            for value, some in zip(both, (every, corners), strict=True):
                xs = (counts.fps[some] + (1 - end)) / (m + 1)
                ys = (counts.tps[some] + end) / (n + 1)
                write(i, end, as_readonly(xs[None]), as_readonly(ys[None]), value)
            shifts[i, end] = np.nan_to_num(both[0, 0] - both[1, 0])

    def fill(blocks: range) -> None:
        for block in blocks:
            rows = slice(block * size, min((block + 1) * size, n_resamples))
            rng = numbered_generator(key, block)
            tpr = _random_rates(rng, tpr_gaps, rows.stop - rows.start)
            fpr = _random_rates(rng, fpr_gaps, rows.stop - rows.start)
            lower = as_readonly(fpr[:, fpr_at[1]]), as_readonly(tpr[:, tpr_at[0]])
            upper = as_readonly(fpr[:, fpr_at[0]]), as_readonly(tpr[:, tpr_at[1]])
            for end, (xs, ys) in enumerate((lower, upper)):
                for i, bound in enumerate(scaled):
                    of_curves = values[i, end, rows]
                    write(i, end, xs, ys, of_curves)
                    if shifts[i, end]:
                        np.clip(of_curves + shifts[i, end], *bound.bounds, out=of_curves)
                    if (corners_of_tie := ties[i]) is not None:
                        rates = ys if bound.measure.name == "tpr_at_fpr" else xs
                        is_low = (end == 0) == bound.measure.higher_is_better
                        of_corner = rates[:, corners_of_tie[0 if is_low else 1]]
                        (np.minimum if is_low else np.maximum)(of_curves, of_corner, out=of_curves)

    def report(done: int, _: int | None) -> None:
        if progress is not None:
            progress(min(done * size, n_resamples), n_resamples)

    n_blocks = -(-n_resamples // size)
    fill_in_steps(fill, n_blocks, size * corners.shape[0], None if progress is None else report)
    return values


def _resolved(counts: OrderedCounts, corners: IntVector, most: int) -> IntVector:
    """Return the corners, or of too many the first and the last of each part of the curve.

    For each class parts are equally long by arcsin(sqrt(rate)), and by the logarithm of the odds.
    On the first scale a rate has the same variance everywhere; on the second parts are short where
    few samples are, and hardly longer than a sample at either end.
    """
    if corners.shape[0] <= most:
        return corners
    scale = np.arange(most // 8) / (most // 8)
    firsts = [np.zeros(1, np.int64)]
    for of_class in (counts.tps, counts.fps):
        total = int(of_class[-1])
        odds = (total + 1.0) ** (2 * scale - 1)  # of one sample more on either side
        ranks = total * np.sin(scale * np.pi / 2) ** 2, (odds * (total + 1) - 1) / (1 + odds)
        firsts += [np.searchsorted(of_class[corners], each) for each in ranks]
    first = np.unique(np.concatenate(firsts))
    resolved: IntVector = corners[np.union1d(first, first[1:] - 1)]
    return resolved


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
    bound: BoundMeasure, n_anomalies: int, n_normals: int, *, is_lower: bool
) -> Callable[[FloatMatrix, FloatMatrix, FloatVector], None] | None:
    """Return a function that writes a measure of many curves; None if computed one by one.

    The average precision of a population is that at the end of each tie, and along the curve where
    scores have none: below it is the lower of both on lower curves.
    """
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
    if name in ("average_precision", "pr_auc") and n_normals:
        prevalence, at_end = parameters["prevalence"], name == "average_precision"
        ratio = (
            n_normals / n_anomalies if prevalence is None else float((1 - prevalence) / prevalence)
        )

        def mean_precision(xs: FloatMatrix, ys: FloatMatrix, values: FloatVector) -> None:
            many.precisions(xs, ys, ratio, at_end, is_lower or not at_end, values)

        return mean_precision
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


def _corners_of_tie(
    counts: OrderedCounts, bound: BoundMeasure, corners: IntVector
) -> tuple[int, int] | None:
    """Return the first and the last corner of a tie that a point of the curve may lie beside.

    The curve has one straight line on each side of a corner. Where they meet, random curves have
    the lower, or the higher, of two random lines: an interval from them is too low or too high.
    The one from each line up to the corner, whatever side the point is on, is not.
    """
    step = step_at(counts, bound) if _is_linear(bound) else None
    if step is None or not step.is_tie or step.ends is None:
        return None
    first, last = (np.searchsorted(corners, step.ends, side="right") - 1).tolist()
    return first, last


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

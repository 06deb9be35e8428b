"""Bootstrap replicates of ordered counts: drawn with replacement, never sorted again.

A replicate is determined by a key and its number alone: the same samples are drawn for every
measure, for every detector, and for any number of threads. Measures that read a part of the curve
have that part drawn alone: how many samples are drawn beside it is a binomial number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from fastad._core.arrays import as_readonly
from fastad._core.buffers import MemoryPool
from fastad._core.pace import fill_in_steps
from fastad._core.progress import Progress
from fastad._core.remote_hook import RemoteHook
from fastad._core.types import Count, FloatVector, IntMatrix, IntVector, LabelVector, ShortVector
from fastad._kernels.curves.influence import sum_of_powers
from fastad._kernels.resampling import resample
from fastad._kernels.resampling.draws import BLOCK
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.best_thresholds import BEST_F1, part_reaching_f1
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts, covers
from fastad.ordering.cuts import CurvePart
from fastad.uncertainty.closed_forms import Bounds
from fastad.uncertainty.influence import Influence

# An index of a sample is made of 32 random bits.
_LARGEST_TOTAL = 2**31
# Twice an area must fit into 64 bits.
_LARGEST_AREA = 2**63
# How many standard deviations of a rank, and how many points, a part is wider than what is read of
# it. Once in a thousand million replicates it is not enough, and all is drawn.
_DEVIATIONS, _POINTS = 6, 64
# The best F1 of nearly all replicates is at least this fraction of the one observed.
_NEAR_BEST = 0.75
# To tell how many samples of a class are drawn beside a part takes this fraction of drawing them.
_COST_BESIDE = 1 / 32


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """The replicates to draw.

    Attributes
    ----------
    key : numpy.uint64
        Of their random numbers.
    n_drawn : numpy.ndarray of shape (n_resamples, 2)
        Anomalies and normals of each.
    first : int
        Number of the first one.
    """

    key: np.uint64
    n_drawn: IntMatrix
    first: int = 0

    @property
    def n_resamples(self) -> int:
        """Number of replicates."""
        return int(self.n_drawn.shape[0])

    def part(self, numbers: range) -> "Resamples":
        """Return some of them."""
        return Resamples(
            self.key, self.n_drawn[numbers.start : numbers.stop], self.first + numbers.start
        )


class Ranking(NamedTuple):
    """Ordered counts, and the samples that they count.

    Attributes
    ----------
    counts : OrderedCounts
        Integer counts.
    rows : (numpy.ndarray of shape (n_anomalies,), numpy.ndarray of shape (n_normals,)) or None
        Samples of each class from the highest score down, within a tie in any order; None where
        samples are numbered in this order, as those of a single detector may be.
    """

    counts: OrderedCounts
    rows: tuple[ShortVector, ShortVector] | None = None


# Of a ranking, measures and replicates: their values. Replicates are numbered, so that those of any
# parts are the same.
replicated_elsewhere: RemoteHook[
    [Ranking, Sequence[BoundMeasure], Resamples], npt.NDArray[np.float64]
] = RemoteHook("replicated_elsewhere")


def check_drawable(counts: OrderedCounts) -> None:
    """Raise where samples cannot be drawn: for real weights, and beyond memory."""
    if counts.weighting == "real":
        raise InvalidInputError(
            "sample_weight must contain integers, because samples are counted; found other values",
            argument="sample_weight",
        )
    if counts.n_points == 0 or counts.total >= _LARGEST_TOTAL:
        raise InvalidInputError(
            f"y_true must have between 1 and {_LARGEST_TOTAL - 1} samples; found {counts.total}",
            argument="y_true",
        )


def too_few_samples(
    what: str, n_anomalies: Count, n_normals: Count, least: int = 2
) -> UndefinedMeasureError | None:
    """Return the error that a class has fewer than two samples, which have no variance, or one."""
    if min(n_anomalies, n_normals) >= least:
        return None
    needed = "two samples" if least == 2 else "a sample"
    return UndefinedMeasureError(
        f"{what} needs {needed} of each class; found {n_anomalies} anomalies and {n_normals} "
        "normal samples"
    )


def too_often_undefined(
    what: str, n_undefined: int, n_resamples: int
) -> UndefinedMeasureError | None:
    """Return the error that a measure is undefined on more than half of the resamples."""
    if 2 * n_undefined <= n_resamples:
        return None
    return UndefinedMeasureError(
        f"{what} needs the measure on resamples; it is undefined on {n_undefined} of {n_resamples}"
    )


def plan(counts: OrderedCounts, n_resamples: int, key: np.uint64, *, stratified: bool) -> Resamples:
    """Return the numbers of samples that each replicate draws from each class.

    Stratified, each class is drawn from by itself; otherwise all samples are drawn from, so that
    the number of anomalies is binomial, and the draws within a class are the same.
    """
    check_drawable(counts)
    n, m = int(counts.n_anomalies), int(counts.n_normals)
    n_drawn = np.tile(np.array([n, m], np.int64), (n_resamples, 1))
    if not stratified:
        rng = np.random.default_rng(int(key))
        n_drawn[:, 0] = rng.binomial(n + m, n / (n + m), n_resamples)
        n_drawn[:, 1] = n + m - n_drawn[:, 0]
    return Resamples(key, n_drawn)


def replicate_values(
    ranking: Ranking,
    measures: Sequence[BoundMeasure],
    resamples: Resamples,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Return each measure of each replicate, shape (n_measures, n_resamples).

    NaN where a replicate leaves a measure undefined. O(n) time for each replicate, in threads, or
    O(k) and a thirtieth of O(n) for the k samples in the part of the curve that is read.
    """
    if (replicate_elsewhere := replicated_elsewhere.get()) is not None:
        return replicate_elsewhere(ranking, measures, resamples)
    if [bound.measure.name for bound in measures] == ["roc_auc"] and _area_fits(ranking, resamples):
        return _areas(ranking, resamples, progress)[np.newaxis]
    values = np.empty((len(measures), resamples.n_resamples))
    windows = _windows(ranking, measures)
    pool = MemoryPool(lambda: [_Memory.of(window) for window in windows])

    def fill(part: range) -> None:
        with pool.borrowed() as memories:
            for replicate in part:
                for window, memory in zip(windows, memories, strict=True):
                    counts = _replicate(ranking, resamples, replicate, window, memory)
                    for i in window.measures:
                        read = window.part and _part(measures[i], counts)
                        if read is not None and not covers(counts, read):
                            whole = _Window.around(ranking, None, window.measures)
                            counts = _replicate(
                                ranking, resamples, replicate, whole, _Memory.of(whole)
                            )
                        values[i, replicate] = measures[i].value_or_nan(counts)

    cost = sum(window.cost for window in windows)
    fill_in_steps(fill, resamples.n_resamples, cost, progress)
    return values


def _part(bound: BoundMeasure, counts: OrderedCounts, *, near: float = 1) -> CurvePart | None:
    """Return the part of the curve that a measure reads; None for all of it.

    Of the best F1 it depends on the value: where it may reach this fraction of it.
    """
    if bound.measure is BEST_F1:
        f1 = near * bound.value_or_nan(counts)
        return part_reaching_f1(counts, f1, bound.parameters["prevalence"])
    part = bound.measure.curve_part
    return None if part is None else part(bound.parameters)


def _windows(ranking: Ranking, measures: Sequence[BoundMeasure]) -> list["_Window"]:
    """Return the windows in which replicates are drawn, so that they are soonest done.

    One for all measures, or one for each part of the curve that some of them read.
    """
    positions = range(len(measures))
    readers: dict[CurvePart, list[int]] = {}
    for i, bound in enumerate(measures):
        part = None if ranking.rows is not None else _part(bound, ranking.counts, near=_NEAR_BEST)
        if part is None:
            return [_Window.around(ranking, None, positions)]
        readers.setdefault(part, []).append(i)
    hull = CurvePart(min(part.low for part in readers), max(part.high for part in readers))
    together = _Window.around(ranking, hull, positions)
    apart = [_Window.around(ranking, part, of_part) for part, of_part in readers.items()]
    return apart if sum(window.cost for window in apart) < together.cost else [together]


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Points of the curve, and the blocks of samples that they count.

    Attributes
    ----------
    part : CurvePart or None
        The part of the curve that is read in it; None for all of it.
    measures : sequence of int
        Positions of the measures that read it.
    points : tuple of numpy.ndarray
        Keys (k,), and counts of normals and anomalies at and around them (k + 1,).
    starts, sizes : numpy.ndarray of shape (2,)
        First anomaly and normal of the blocks, and how many there are in them.
    n_samples : numpy.ndarray of shape (2,)
        Of both classes, in the window or not.
    """

    part: CurvePart | None
    measures: Sequence[int]
    points: tuple[IntVector, IntVector, IntVector]
    starts: IntVector
    sizes: IntVector
    n_samples: IntVector

    @classmethod
    def around(cls, ranking: Ranking, part: CurvePart | None, measures: Sequence[int]) -> "_Window":
        """Return the window for a part of the curve, wide enough for nearly all replicates."""
        counts = ranking.counts
        first, last = 0, counts.keys.shape[0]
        if part is not None:
            low, high = (float(rate) * counts.n_normals for rate in (part.low, part.high))
            above, below = low - _DEVIATIONS * low**0.5, high + _DEVIATIONS * high**0.5
            first = max(int(np.searchsorted(counts.fps, above)) - _POINTS, 0)
            last = min(int(np.searchsorted(counts.fps, below, side="right")) + _POINTS, last)
        n_samples = np.array([counts.n_anomalies, counts.n_normals])
        starts, ends = (np.array([c[i] for c in (counts.tps, counts.fps)]) for i in (first, last))
        # Whole blocks, at least one.
        starts = np.minimum(starts, np.maximum(n_samples - 1, 0)) // BLOCK * BLOCK
        ends = np.minimum(-(-ends // BLOCK) * BLOCK, n_samples)
        points = (
            counts.keys[first:last],
            counts.fps[first : last + 1],
            counts.tps[first : last + 1],
        )
        return cls(part, measures, points, starts, np.maximum(ends - starts, 0), n_samples)

    @property
    def cost(self) -> float:
        """Time of a replicate, in samples that are drawn."""
        return float(self.sizes.sum() + _COST_BESIDE * self.n_samples.sum())


class _Memory(NamedTuple):
    """What replicates are counted in, one after the other.

    One a thread, for all its replicates: of a million points the system would take 17 of 20 seconds
    to hand it out page by page for each.
    """

    points: tuple[IntVector, IntVector, IntVector]  # keys, fps, tps
    times: tuple[LabelVector, LabelVector]
    running: tuple[ShortVector, ShortVector]

    @classmethod
    def of(cls, window: _Window) -> "_Memory":
        g, (n, m) = window.points[0].shape[0], window.sizes.tolist()
        return cls(
            (np.empty(g, np.int64), np.empty(g + 1, np.int64), np.empty(g + 1, np.int64)),
            (np.empty(n, np.uint8), np.empty(m, np.uint8)),
            (np.empty(n + 1, np.int32), np.empty(m + 1, np.int32)),
        )


def _replicate(
    ranking: Ranking, resamples: Resamples, replicate: int, window: _Window, memory: _Memory
) -> OrderedCounts:
    """Draw one replicate of a window; it holds until another is drawn in the same memory."""
    counts = ranking.counts
    keys, fps, tps = memory.points
    n_drawn = resamples.n_drawn[replicate]
    n_distinct = resample.resample_counts(
        resamples.key,
        resamples.first + replicate,
        n_drawn,
        window.n_samples,
        ranking.rows or (None, None),
        window.points,
        window.starts,
        *memory,
    )
    n_anomalies, n_normals = n_drawn.tolist()
    return OrderedCounts(
        fps=as_readonly(fps[: n_distinct + 1]),
        tps=as_readonly(tps[: n_distinct + 1]),
        keys=as_readonly(keys[:n_distinct]),
        codec=counts.codec,
        n_anomalies=n_anomalies,
        n_normals=n_normals,
        n_points=n_anomalies + n_normals,
        n_tied=counts.n_tied,
        weighting=counts.weighting,
    )


def _area_fits(ranking: Ranking, resamples: Resamples) -> bool:
    n, m = resamples.n_drawn.max(axis=0).tolist()
    classes = min(ranking.counts.n_anomalies, ranking.counts.n_normals)
    return bool(2 * n * m < _LARGEST_AREA and classes > 0)


def _areas(ranking: Ranking, resamples: Resamples, progress: Progress | None) -> FloatVector:
    """Return the area under the ROC curve of each replicate, without counting each one."""
    counts = ranking.counts
    widths = np.diff(counts.fps)
    above = np.repeat(counts.tps[:-1].astype(np.int32), widths)
    reached = np.repeat(counts.tps[1:].astype(np.int32), widths)
    anomalies, normals = ranking.rows or (None, None)
    twice = np.empty(resamples.n_resamples, np.int64)

    def fill(part: range) -> None:
        block = slice(part.start, part.stop)
        resample.resample_areas(
            resamples.key,
            resamples.first + part.start,
            resamples.n_drawn[block],
            int(counts.n_anomalies),
            anomalies,
            normals,
            above,
            reached,
            twice[block],
        )

    fill_in_steps(fill, resamples.n_resamples, int(counts.total), progress)
    pairs = resamples.n_drawn[:, 0] * resamples.n_drawn[:, 1]
    areas: FloatVector = np.full(twice.shape, np.nan)
    np.divide(twice, 2 * pairs, out=areas, where=pairs > 0)
    return areas


def percentile(replicates: FloatVector, alpha: float) -> Bounds:
    """Return the central part of the replicates."""
    low, high = np.quantile(replicates, [alpha / 2, 1 - alpha / 2]).tolist()
    return low, high


def basic(value: float, replicates: FloatVector, alpha: float) -> Bounds:
    """Return the percentiles, reflected at the value."""
    low, high = percentile(replicates, alpha)
    return 2 * value - high, 2 * value - low


def bias_corrected(
    value: float, replicates: FloatVector, acceleration: float, alpha: float
) -> Bounds:
    """Return percentiles corrected for bias and for a variance that changes with the value.

    BCa, DiCiccio and Efron 1996, equation (2.3).
    """
    below = np.count_nonzero(replicates < value) + np.count_nonzero(replicates == value) / 2
    # All replicates on one side would put an end at infinity.
    fraction = min(max(below, 0.5), replicates.shape[0] - 0.5) / replicates.shape[0]
    bias = ndtri(fraction)
    quantile = float(ndtri(alpha / 2))
    shifted = bias + np.array([quantile, -quantile])
    # Beyond this the ends would change places.
    denominator = np.maximum(1 - acceleration * shifted, 0.1)
    low, high = np.quantile(replicates, ndtr(bias + shifted / denominator)).tolist()
    return low, high


def acceleration(counts: OrderedCounts, influence: Influence) -> float:
    """Return how fast the standard deviation changes with the value, from the influences' skewness.

    Efron 1987, "Better bootstrap confidence intervals", equation (7.3), over both classes; O(n).
    """
    squares = cubes = 0.0
    for values, cumulative in ((influence.anomalies, counts.tps), (influence.normals, counts.fps)):
        total = float(cumulative[-1])
        squares += sum_of_powers(values, cumulative, 2) / total**2
        cubes += sum_of_powers(values, cumulative, 3) / total**3
    return cubes / (6 * squares**1.5) if squares > 0 else 0.0

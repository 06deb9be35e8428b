"""Bootstrap replicates of ordered counts: drawn with replacement, never sorted again.

A replicate is determined by a key and its number alone: the same samples are drawn for every
measure, for every detector, and for any number of threads. Measures that read a part of the curve
have that part drawn alone: the number of samples drawn beside it is binomial.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.buffers import MemoryPool
from fastad._core.progress import Progress, fill_in_steps
from fastad._core.threads import RemoteHook
from fastad._core.types import Count, FloatVector, IntMatrix, IntVector, LabelVector, ShortVector
from fastad._kernels.resampling import resample
from fastad._kernels.resampling.draws import BLOCK
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts, covers
from fastad.ordering.cuts import CurvePart
from fastad.uncertainty.samples.closed_forms import variance
from fastad.uncertainty.samples.influence import class_influences, influence

# An index of a sample is made of 32 random bits.
_LARGEST_TOTAL = 2**31
# Twice an area must fit into 64 bits.
_LARGEST_AREA = 2**63
# Standard deviations of a rank, and points, by which a window is wider than the part that is read.
# Once in a thousand million replicates it is not enough, and all is drawn.
_DEVIATIONS, _POINTS = 6, 64
# Fraction of the value on the samples that nearly all replicates reach, or of theirs that it is.
_NEAR_VALUE = 0.75
# Cost of the number of samples that are drawn beside a part, as a fraction of drawing them.
_COST_BESIDE = 1 / 32


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """The replicates to draw."""

    key: np.uint64  # seed of their random numbers
    n_drawn: IntMatrix  # (n_resamples, 2): anomalies and normals of each
    first: int = 0  # number of the first one

    @property
    def n_resamples(self) -> int:
        """Number of replicates."""
        return int(self.n_drawn.shape[0])

    def part(self, numbers: range) -> "Resamples":
        """Return some of them."""
        return Resamples(
            self.key, self.n_drawn[numbers.start : numbers.stop], self.first + numbers.start
        )


class IndependentSample(NamedTuple):
    """Ordered counts, and the independent samples that they count."""

    counts: OrderedCounts  # integer counts
    # Samples of each class, (n_anomalies,) and (n_normals,), from the highest score down, within a
    # tie in any order; None where they are numbered in this order, as for a single detector.
    rows: tuple[ShortVector, ShortVector] | None = None
    # Anomalies and normals, by their numbers, among which are all in the part of the curve that a
    # measure reads; None where that is not known.
    n_first: tuple[int, int] | None = None

    @classmethod
    def of(cls, counts: OrderedCounts) -> "IndependentSample":
        """Return the sample of counts; raise where it cannot be drawn from."""
        check_drawable(counts)
        return cls(counts)

    @property
    def kind(self) -> None:
        """None: no cluster, block or weight makes rows differ."""

    @property
    def n_independent(self) -> float:
        """Number of rows."""
        return float(self.counts.total)

    @property
    def class_sizes(self) -> tuple[float, float]:
        """Numbers of anomalies and of normals."""
        return float(self.counts.n_anomalies), float(self.counts.n_normals)

    @property
    def deciding_sizes(self) -> tuple[float, float]:
        """The same numbers: no row is like another."""
        return self.class_sizes

    def refuse(self, what: str, least: int = 2) -> None:
        """Refuse a class of fewer than two samples, or one."""
        refuse_few(what, self.counts.n_anomalies, self.counts.n_normals, least)

    def effect(self) -> None:
        """Return None: other samples are compared with independent rows."""

    def contributions(self, bound: BoundMeasure) -> FloatVector:
        """Return the influence of each anomaly, then of each normal, in the order of the rows."""
        assert self.rows is not None
        influences = []
        for rows, falling in zip(self.rows, class_influences(self.counts, bound), strict=True):
            influences.append(np.empty(falling.shape[0]))
            influences[-1][rows] = falling
        return np.concatenate(influences)

    def variance(self, bound: BoundMeasure) -> float:
        """Return the variance of a smooth measure."""
        return variance(self.counts, influence(self.counts, bound))

    def degrees_of_freedom(self, bound: BoundMeasure) -> float:
        """Return infinity: intervals of one measure take the normal distribution."""
        return math.inf

    def widening(self, df: float, alpha: float) -> None:
        """Return None: percentiles of replicates are as they are."""

    def replicates(
        self,
        measures: Sequence[BoundMeasure],
        n_resamples: int,
        key: np.uint64,
        progress: Progress | None = None,
        *,
        stratified: bool = True,
    ) -> npt.NDArray[np.float64]:
        """Return each measure on each replicate, shape (n_measures, n_resamples)."""
        resamples = plan(self.counts, n_resamples, key, stratified=stratified)
        return replicate_values(self, measures, resamples, progress)

    def order(self) -> tuple[IntVector, IntVector]:
        """Return twice the mean rank of each anomaly and normal; rank 1 is highest."""
        counts = self.counts
        flagged = counts.fps + counts.tps
        by_score = flagged[:-1] + flagged[1:] + 1
        assert self.rows is not None
        ranks = np.empty(counts.tps[-1], np.int64), np.empty(counts.fps[-1], np.int64)
        for of_class, rows, cumulative in zip(
            ranks, self.rows, (counts.tps, counts.fps), strict=True
        ):
            of_class[rows] = np.repeat(by_score, np.diff(cumulative))
        return ranks


# Replaces `replicate_values`. Replicates are numbered, so that they are the same in any parts.
replicated_elsewhere: RemoteHook[
    [IndependentSample, Sequence[BoundMeasure], Resamples], npt.NDArray[np.float64]
] = RemoteHook("replicated_elsewhere")


def check_drawable(counts: OrderedCounts) -> None:
    """Raise where samples cannot be drawn: for real weights, and beyond memory."""
    if counts.weighting == "real":
        raise InvalidInputError(
            "sample_weight must contain integers, because samples are counted; found other values"
        )
    if counts.n_points == 0 or counts.total >= _LARGEST_TOTAL:
        raise InvalidInputError(
            f"y_true must have between 1 and {_LARGEST_TOTAL - 1} samples; found {counts.total}"
        )


def refuse_few(what: str, n_anomalies: Count, n_normals: Count, least: int = 2) -> None:
    """Refuse a class of fewer than two samples, which have no variance, or one."""
    if min(n_anomalies, n_normals) < least:
        needed = "two samples" if least == 2 else "a sample"
        raise UndefinedMeasureError(
            f"{what} needs {needed} of each class; found {n_anomalies} anomalies and {n_normals} "
            "normal samples"
        )


def refuse_often_undefined(what: str, n_undefined: int, n_resamples: int) -> None:
    """Refuse a measure that is undefined on more than half of the resamples."""
    if 2 * n_undefined > n_resamples:
        raise UndefinedMeasureError(
            f"{what} needs the measure on resamples; it is undefined on {n_undefined} of "
            f"{n_resamples}"
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
    sample: IndependentSample,
    measures: Sequence[BoundMeasure],
    resamples: Resamples,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Return each measure of each replicate, shape (n_measures, n_resamples).

    NaN where a replicate leaves a measure undefined. O(n) time for each replicate, in threads, or
    O(k) and a thirtieth of O(n) for the k samples in the part of the curve that is read.
    """
    if (replicate_elsewhere := replicated_elsewhere.get()) is not None:
        return replicate_elsewhere(sample, measures, resamples)
    if [bound.measure.name for bound in measures] == ["roc_auc"] and _area_fits(sample, resamples):
        return _areas(sample, resamples, progress)[np.newaxis]
    values = np.empty((len(measures), resamples.n_resamples))
    windows = _windows(sample, measures)
    pool = MemoryPool(lambda: [_Memory.of(window) for window in windows])

    def fill(part: range) -> None:
        with pool.borrowed() as memories:
            for replicate in part:
                for window, memory in zip(windows, memories, strict=True):
                    counts = _replicate(sample, resamples, replicate, window, memory)
                    for i in window.measures:
                        value = _value_within(measures[i], counts, window.part)
                        if value is None:
                            whole = _Window.around(sample, None, window.measures)
                            counts = _replicate(
                                sample, resamples, replicate, whole, _Memory.of(whole)
                            )
                            value = measures[i].value_or_nan(counts)
                        values[i, replicate] = value

    cost = sum(window.cost for window in windows)
    fill_in_steps(fill, resamples.n_resamples, cost, progress)
    return values


def _value_within(
    bound: BoundMeasure, counts: OrderedCounts, part: CurvePart | None
) -> float | None:
    """Return a measure of counts of a part of the curve, None if it reads more than they hold."""
    curve_part = bound.measure.curve_part
    if part is None or curve_part is None:
        return bound.value_or_nan(counts)
    read = curve_part(bound.parameters)
    if read is not None:
        return bound.value_or_nan(counts) if covers(counts, read) else None
    value = bound.value_or_nan(counts)
    read = curve_part(bound.parameters, counts, value)
    return value if read is not None and covers(counts, read) else None


def _part(bound: BoundMeasure, counts: OrderedCounts) -> CurvePart | None:
    """Return the part of the curve that a measure reads on nearly all replicates, None for all."""
    curve_part = bound.measure.curve_part
    if curve_part is None:
        return None
    read = curve_part(bound.parameters)
    if read is not None:
        return read
    value = bound.value_or_nan(counts)
    near = _NEAR_VALUE * value if bound.measure.higher_is_better else value / _NEAR_VALUE
    return curve_part(bound.parameters, counts, near)


def _windows(sample: IndependentSample, measures: Sequence[BoundMeasure]) -> list["_Window"]:
    """Return the windows in which replicates are drawn, so that they are soonest done.

    One for all measures, or one for each part of the curve that some of them read.
    """
    positions = range(len(measures))
    readers: dict[CurvePart, list[int]] = {}
    for i, bound in enumerate(measures):
        is_known = sample.rows is None or sample.n_first is not None
        part = _part(bound, sample.counts) if is_known else None
        if part is None:
            return [_Window.around(sample, None, positions)]
        readers.setdefault(part, []).append(i)
    hull = CurvePart(min(part.low for part in readers), max(part.high for part in readers))
    together = _Window.around(sample, hull, positions)
    apart = [_Window.around(sample, part, of_part) for part, of_part in readers.items()]
    return apart if sum(window.cost for window in apart) < together.cost else [together]


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Points of the curve, and the blocks of samples that they count."""

    part: CurvePart | None  # the part of the curve that is read in it; None for all of it
    measures: Sequence[int]  # positions of the measures that read it
    # Keys (k,), and counts of normals and anomalies at and around them (k + 1,).
    points: tuple[IntVector, IntVector, IntVector]
    # (2,): first anomaly and normal of the blocks, and how many there are in them.
    starts: IntVector
    sizes: IntVector
    n_samples: IntVector  # (2,): samples of both classes, in the window or not
    # Numbers of the anomalies and normals in the blocks, from the highest score down; None where
    # they are numbered in that order.
    rows: tuple[ShortVector | None, ShortVector | None] = (None, None)

    @classmethod
    def around(
        cls, sample: IndependentSample, part: CurvePart | None, measures: Sequence[int]
    ) -> "_Window":
        """Return the window for a part of the curve, wide enough for nearly all replicates."""
        counts = sample.counts
        n_samples = np.array([counts.n_anomalies, counts.n_normals])
        if part is None:
            points = counts.keys, counts.fps, counts.tps
            rows = sample.rows or (None, None)
            return cls(part, measures, points, np.zeros(2, np.int64), n_samples, n_samples, rows)
        first, last = _points_around(counts, part)
        if sample.rows is not None and sample.n_first is not None:
            points = counts.keys[:last], counts.fps[: last + 1], counts.tps[: last + 1]
            sizes = np.minimum(-(-np.array(sample.n_first) // BLOCK) * BLOCK, n_samples)
            anomalies, normals = (
                _rows_from_top(each, int(cumulative[last]), size)
                for each, cumulative, size in zip(
                    sample.rows, (counts.tps, counts.fps), sizes, strict=True
                )
            )
            starts = np.zeros(2, np.int64)
            return cls(part, measures, points, starts, sizes, n_samples, (anomalies, normals))
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


def _points_around(counts: OrderedCounts, part: CurvePart) -> tuple[int, int]:
    """Return the first and last point that nearly all replicates of a part of the curve need."""
    low, high = (float(rate) * counts.n_normals for rate in (part.low, part.high))
    above, below = low - _DEVIATIONS * low**0.5, high + _DEVIATIONS * high**0.5
    first = max(int(np.searchsorted(counts.fps, above)) - _POINTS, 0)
    last = int(np.searchsorted(counts.fps, below, side="right")) + _POINTS
    return first, min(last, counts.keys.shape[0])


def _rows_from_top(rows: ShortVector, n_top: int, size: int) -> ShortVector:
    """Return the numbers of the samples at the top, followed by zeros that nobody counts."""
    result: ShortVector = np.zeros(size, rows.dtype)
    result[:n_top] = rows[:n_top]
    return result


def numbered_from_top(
    samples: Sequence[IndependentSample], bound: BoundMeasure
) -> Sequence[IndependentSample]:
    """Number the samples that some detector has in the part of the curve that is read first.

    Replicates of all detectors then draw these alone. Where that spares little, samples stay as
    they are.
    """
    parts = [_part(bound, each.counts) for each in samples]
    lasts = [
        _points_around(each.counts, part)[1]
        for each, part in zip(samples, parts, strict=True)
        if part is not None
    ]
    if len(lasts) < len(samples):
        return samples
    numbers, n_first = [], []
    for i in range(2):
        n = int((samples[0].counts.n_anomalies, samples[0].counts.n_normals)[i])
        is_top = np.zeros(n, np.bool_)
        for each, last in zip(samples, lasts, strict=True):
            assert each.rows is not None
            is_top[each.rows[i][: int((each.counts.tps, each.counts.fps)[i][last])]] = True
        n_first.append(int(np.count_nonzero(is_top)))
        numbers.append(np.where(is_top, np.cumsum(is_top) - 1, n_first[i] + np.cumsum(~is_top) - 1))
    numbered = []
    for each in samples:
        assert each.rows is not None
        anomalies, normals = (
            number[rows].astype(np.int32) for number, rows in zip(numbers, each.rows, strict=True)
        )
        numbered.append(each._replace(rows=(anomalies, normals), n_first=(n_first[0], n_first[1])))
    is_less = all(
        2 * _Window.around(each, part, ()).cost < _Window.around(each, None, ()).cost
        for each, part in zip(numbered, parts, strict=True)
    )
    return numbered if is_less else samples


class _Memory(NamedTuple):
    """Memory in which replicates are counted, one after the other.

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
    sample: IndependentSample,
    resamples: Resamples,
    replicate: int,
    window: _Window,
    memory: _Memory,
) -> OrderedCounts:
    """Draw one replicate of a window; it holds until another is drawn in the same memory."""
    counts = sample.counts
    keys, fps, tps = memory.points
    n_drawn = resamples.n_drawn[replicate]
    n_distinct = resample.resample_counts(
        resamples.key,
        resamples.first + replicate,
        n_drawn,
        window.n_samples,
        window.rows,
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


def _area_fits(sample: IndependentSample, resamples: Resamples) -> bool:
    n, m = resamples.n_drawn.max(axis=0).tolist()
    classes = min(sample.counts.n_anomalies, sample.counts.n_normals)
    return bool(2 * n * m < _LARGEST_AREA and classes > 0)


def _areas(
    sample: IndependentSample, resamples: Resamples, progress: Progress | None
) -> FloatVector:
    """Return the area under the ROC curve of each replicate, without counting each one."""
    counts = sample.counts
    widths = np.diff(counts.fps)
    above = np.repeat(counts.tps[:-1].astype(np.int32), widths)
    reached = np.repeat(counts.tps[1:].astype(np.int32), widths)
    anomalies, normals = sample.rows or (None, None)
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

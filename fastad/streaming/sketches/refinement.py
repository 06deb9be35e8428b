"""`Refinement`: a second pass over the scores on which a measure still depends."""

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.interrupts import uninterrupted
from fastad._core.parameters import check_count, check_type
from fastad._core.types import ArrayLike, BoolVector, Count, FloatVector, IntVector, Label
from fastad._kernels.ordering import rank_ranges
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.ordering.raw import RawScores
from fastad.streaming.sketches.bounds import bounds_of, extremes_of, uncertain_cells
from fastad.streaming.sketches.cell_table import CellTable
from fastad.streaming.sketches.cells import ANOMALY, NORMAL, ScoreCells
from fastad.streaming.sketches.checks import StreamedPoints, check_points
from fastad.streaming.sketches.results import BoundedValue
from fastad.streaming.sketches.sql import N_BINS, CountsQuery, Dialect

# A measure that is read at a point depends on few cells; where on more, all are counted.
_MOST_CELLS = 64
# Ranges, and equal parts of each, that a query splits at most.
_MOST_BRANCHES, _MOST_PARTS = 100, 2**16


class RangeCounter:
    """Counts the points of some ranges of scores; parts of the points are counted apart.

    ``lows`` and ``highs`` are the rising rank bits of the ends of the ranges.
    """

    def __init__(
        self, dtype: np.dtype[Any], lows: IntVector, highs: IntVector, memory: int
    ) -> None:
        self.dtype = dtype
        self.lows, self.highs = as_readonly(lows), as_readonly(highs)
        self.table = CellTable(memory)

    def empty(self) -> "RangeCounter":
        """Return a counter of the same ranges."""
        return RangeCounter(self.dtype, self.lows, self.highs, self.table.memory)

    def count_points(self, points: StreamedPoints) -> None:
        """Count the points that lie in the ranges; they have been checked."""
        if points.raw.dtype != self.dtype:
            raise InvalidInputError(
                f"y_score must contain {self.dtype} as before; found {points.raw.dtype}"
            )
        if self.lows.shape[0]:
            inside = points.keep(rows_inside(points.raw, self.lows, self.highs))
            uninterrupted(lambda: self.table.add(inside.raw, inside.kinds, inside.weights))

    def merge(self, other: "RangeCounter") -> None:
        """Add the points that were counted apart."""
        listed = other.table.listed()
        uninterrupted(lambda: self.table.plus(listed))

    def has_ranges_of(self, other: "RangeCounter") -> bool:
        """Tell whether two counters may be merged."""
        return np.array_equal(self.lows, other.lows) and np.array_equal(self.highs, other.highs)


class Refinement:
    """Counts the scores of some ranges again, in finer cells; made by `ScoreSketch.refine`.

    Give it the same points as the sketch, in any order and batches; those outside the ranges are
    passed over. The ranges are as few as make the measure certain to the tolerance, and so few
    that the memory has room to split the cells in them. Where that is not enough, ``result`` is
    only closer, and ``refine`` begins another pass; cells that have been split stay in memory.

    Attributes
    ----------
    measure : str
        Key of the measure.
    tolerance : float
        Largest error of the value that is allowed.
    ranges : sequence of (score, score)
        Lowest and highest score of each range, from the highest range down.
    n_points : int
        Points in the ranges.
    n_counted : int
        Points in the ranges that have come.
    """

    __slots__ = ("_bound", "_cells", "_chosen", "_counter", "_memory", "_tolerance")

    def __init__(
        self, cells: ScoreCells, bound: BoundMeasure, tolerance: Fraction, memory: int
    ) -> None:
        self._cells, self._bound, self._tolerance = cells, bound, tolerance
        self._memory = memory
        most = max(CellTable.most_cells(memory) // 2, 1)
        self._chosen = _heaviest(cells, choose_cells(cells, bound, tolerance), most)
        self._counter = self.counter()

    def __repr__(self) -> str:
        return (
            f"Refinement({self.measure!r}, {len(self.ranges)} ranges, {self.n_counted} of "
            f"{self.n_points} points)"
        )

    @property
    def measure(self) -> str:
        """Key of the measure."""
        return self._bound.key

    @property
    def tolerance(self) -> float:
        """Largest error of the value that is allowed."""
        return float(self._tolerance)

    @property
    def ranges(self) -> Sequence[tuple[float | int, float | int]]:
        """Lowest and highest score of each range, from the highest range down."""
        decode = self._cells.codec.decode_one
        lows, highs = self._counter.lows, self._counter.highs
        return [
            (decode(~low), decode(~high))
            for low, high in zip(lows[::-1].tolist(), highs[::-1].tolist(), strict=True)
        ]

    @property
    def n_points(self) -> Count:
        """Points in the ranges, or their total weight."""
        return self._cells.only(self._chosen).n_points

    @property
    def n_counted(self) -> int:
        """Points in the ranges that have come."""
        return self._counter.table.n_points

    def to_sql(
        self,
        sql: Dialect,
        *,
        table: str,
        score_column: str,
        label_column: str,
        group_columns: str | Sequence[str] = (),
        bins: int = N_BINS,
    ) -> str:
        """Return the query of `counts_query` that splits the ranges, too.

        In each range it counts equal bins, as many as the tolerance takes where scores in a range
        are spread evenly, or single values where it is 0. More than 100 ranges are split by a query
        of more bins, or of single values. The result contains all rows, and takes the place of the
        counts that were refined.

        Parameters
        ----------
        sql, table, score_column, label_column, group_columns, bins
            See `fastad.streaming.counts_query`.
        """
        query = CountsQuery(sql, table, score_column, label_column, group_columns, bins)
        return split_query([self], query)

    def _split(self) -> tuple[list[tuple[float, float]], int, int]:
        """Return ranges, in how many equal parts to split each, and the number of all cells.

        What is not split may take half of the tolerance, and the parts the other half. No parts
        stand for single values.
        """
        cells, tolerance = self._cells, self._tolerance
        if cells.is_real:
            raise InvalidInputError(
                "counts must be numbers of samples, as a query counts them; found real weights"
            )
        error, n_parts, chosen = bounds_of(cells, self._bound).error, 0, self._chosen
        if tolerance and math.isfinite(error):
            n_parts = max(min(math.ceil(4 * error / tolerance), _MOST_PARTS), 2)
            chosen = Refinement(cells, self._bound, tolerance / 2, self._memory)._chosen
        lows, highs = (cells.codec.decode(~ends[chosen]) for ends in (cells.lowest, cells.highest))
        return list(zip(lows.tolist(), highs.tolist(), strict=True)), n_parts, len(cells.lowest)

    def update(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
    ) -> None:
        """Count the points of a batch that lie in the ranges; see `ScoreSketch.update`."""
        points = check_points(y_true, y_score, sample_weight, pos_label, is_labelled=True)
        if points is not None:
            self._counter.count_points(points)

    def counter(self) -> RangeCounter:
        """Return a counter of the ranges, for a part of the points."""
        lows, highs = _merged_ranges(self._cells, self._chosen)
        return RangeCounter(self._cells.codec.dtype, lows, highs, self._memory)

    def counted_in(self, counters: Iterable[RangeCounter]) -> RangeCounter | None:
        """Return the counter of the same ranges, or None."""
        return next(filter(self._counter.has_ranges_of, counters), None)

    def absorb(self, counter: RangeCounter) -> None:
        """Add the points of a counter."""
        self._counter.merge(counter)

    def merge(self, other: "Refinement") -> None:
        """Add the points that another worker counted for the same refinement."""
        check_type(other, Refinement, "other", "a Refinement")
        same = other._bound == self._bound and self._counter.has_ranges_of(other._counter)
        if not same:
            raise InvalidInputError(
                "other must be a refinement of the same sketch and measure; found other ranges"
            )
        self._counter.merge(other._counter)

    def result(self) -> BoundedValue:
        """Return the measure with the bounds that the finer cells give.

        Raises
        ------
        InvalidInputError
            If the counted points differ from the points of the sketch.
        UndefinedMeasureError
            If the points leave the measure undefined.
        """
        return bounds_of(self._refined(), self._bound)

    def refine(self) -> "Refinement":
        """Begin another pass, over what the result still depends on; raises as `result` does."""
        return Refinement(self._refined(), self._bound, self._tolerance, self._memory)

    def _refined(self) -> ScoreCells:
        cells, chosen = self._cells, self._chosen
        if not chosen.any():
            return cells
        finer = ScoreCells.of(
            self._counter.table.listed(), int(cells.lowest[-1]), int(cells.highest[0]), cells.codec
        )
        # Base cell of each finer one; both fall.
        base = chosen.shape[0] - np.searchsorted(cells.lowest[::-1], finer.lowest, side="right")
        inside = finer.highest <= cells.highest[base]
        counted = np.zeros((chosen.shape[0], 2), np.int64)
        np.add.at(counted[:, NORMAL], base[inside], finer.normals[inside])
        np.add.at(counted[:, ANOMALY], base[inside], finer.anomalies[inside])
        expected = np.column_stack([cells.normals, cells.anomalies])
        expected[~chosen] = 0
        whole, empty = _whole(cells, finer)
        missing = (counted != expected).any(axis=1) & whole | empty
        if (missing & chosen).any() or self._counter.table.n_points != int(expected.sum()):
            raise InvalidInputError(
                "update must have been given the points of the sketch, each once; found "
                f"{self.n_counted} points in the ranges, and {int(expected.sum())} in the sketch",
                argument="y_score",
            )
        split = chosen & whole
        return cells.only(~split).plus(finer.only(split[base] & inside))


def split_query(refinements: Iterable[Refinement], query: CountsQuery) -> str:
    """Return the query that splits the ranges of some refinements, such as one of each group."""
    splits = [split for split in (each._split() for each in refinements) if split[0]]
    joined: list[tuple[float, float]] = []
    for low, high in sorted(each for ranges, *_ in splits for each in ranges):
        if joined and low <= joined[-1][1]:
            low, high = joined[-1][0], max(high, joined.pop()[1])
        joined.append((low, high))
    n_parts = {n for _, n, _ in splits}
    parts = 0 if 0 in n_parts else max(n_parts, default=1)
    if len(joined) <= _MOST_BRANCHES:
        return query.write(joined, parts)
    # Databases take microseconds a row for so many branches.
    n_bins = parts * max(check_count(query.bins, "bins"), *(n for *_, n in splits))
    return query._replace(bins=n_bins).write() if parts else query.write_single_values()


def _whole(cells: ScoreCells, finer: ScoreCells) -> tuple[BoolVector, BoolVector]:
    """Return which cells consist of cells of the second pass, and which contain none of its points.

    One of the second pass that is wider than one of the first may reach beyond it.
    """
    n_finer = finer.lowest.shape[0]
    if n_finer == 0:
        none = np.zeros(cells.lowest.shape[0], np.bool_)
        return none, ~none
    lows, highs = finer.lowest[::-1], finer.highest[::-1]
    first = np.searchsorted(highs, cells.lowest, side="left")
    last = np.searchsorted(lows, cells.highest, side="right") - 1
    empty: BoolVector = first > last
    first, last = np.minimum(first, n_finer - 1), np.maximum(last, 0)
    whole: BoolVector = (lows[first] >= cells.lowest) & (highs[last] <= cells.highest) & ~empty
    return whole, empty


def choose_cells(cells: ScoreCells, bound: BoundMeasure, tolerance: Fraction) -> BoolVector:
    """Return which cells have to be counted in finer ones."""
    positions = uncertain_cells(cells, bound)
    chosen, uncertain = (np.zeros(cells.lowest.shape[0], np.bool_) for _ in range(2))
    uncertain[positions] = True
    if _is_within(bounds_of(cells, bound, rounding=tolerance == 0), tolerance):
        return chosen
    if extremes_of(bound.measure).local:
        few = list(_influential(cells, bound, positions))
        chosen[few[:_MOST_CELLS]] = True
        if len(few) <= _MOST_CELLS and _is_certain(cells.as_ties(chosen), bound, tolerance):
            return chosen
        return uncertain
    if tolerance == 0:
        return uncertain
    sizes = cells.normals + cells.anomalies
    choices = [_fewest(cells, bound, tolerance, weights) for weights in _weights(cells)]
    fewest: BoolVector = min(choices, key=lambda chosen: int(sizes[chosen].sum()))
    return fewest


def rows_inside(raw: RawScores, lows: IntVector, highs: IntVector) -> IntVector:
    """Return the rows whose rank bits lie in rising ranges, ends included."""
    rows = np.empty(raw.values.shape[0], np.int64)
    n_rows = rank_ranges.rows_between(raw.values, raw.largest, raw.signed, lows, highs, rows)
    return rows[:n_rows]


def _is_within(value: BoundedValue, tolerance: Fraction) -> bool:
    return value.is_exact or bool(value.error <= tolerance)


def _is_certain(cells: ScoreCells, bound: BoundMeasure, tolerance: Fraction) -> bool:
    """Tell whether a measure would be certain if these were the cells."""
    try:
        return _is_within(bounds_of(cells, bound, rounding=False), tolerance)
    except UndefinedMeasureError:
        # The scores that are asked for may still define it; nothing more can be asked for now.
        return True


def _depends(cells: ScoreCells, bound: BoundMeasure, some: IntVector) -> bool:
    """Tell whether a measure depends on the order in some cells, if all others are ties."""
    others = np.ones(cells.lowest.shape[0], np.bool_)
    others[some] = False
    try:
        # What has been added for rounding says nothing.
        return not bounds_of(cells.as_ties(others), bound, rounding=False).is_exact
    except UndefinedMeasureError:
        return True


def _influential(cells: ScoreCells, bound: BoundMeasure, some: IntVector) -> Iterator[int]:
    """Find the cells on whose order a measure depends, by halving; one more than enough at most."""
    stack, found = [some], 0
    while stack and found <= _MOST_CELLS:
        group = stack.pop()
        if not _depends(cells, bound, group):
            continue
        if group.shape[0] == 1:
            found += 1
            yield int(group[0])
        else:
            middle = group.shape[0] // 2
            stack += [group[middle:], group[:middle]]


def _weights(cells: ScoreCells) -> Iterator[FloatVector]:
    """Yield orders in which cells may matter: by their pairs, and by their pairs near the top."""
    pairs = cells.anomalies.astype(np.float64) * (cells.normals + cells.anomalies)
    yield pairs
    yield pairs / np.cumsum(cells.normals + cells.anomalies)


def _heaviest(cells: ScoreCells, chosen: BoolVector, most: int) -> BoolVector:
    """Return at most ``most`` of the chosen cells, so that each can be split in two."""
    positions = np.flatnonzero(chosen)
    if positions.shape[0] <= most:
        return chosen
    weights = next(_weights(cells))[positions]
    heaviest: BoolVector = np.zeros(chosen.shape[0], np.bool_)
    heaviest[positions[np.argsort(-weights, kind="stable")[:most]]] = True
    return heaviest


def _fewest(
    cells: ScoreCells, bound: BoundMeasure, tolerance: Fraction, weights: FloatVector
) -> BoolVector:
    """Return as few of the heaviest cells as leave the measure certain to the tolerance."""
    positions = uncertain_cells(cells, bound)
    order = positions[np.argsort(-weights[positions], kind="stable")]
    chosen = np.zeros(cells.lowest.shape[0], np.bool_)
    low, high = 0, order.shape[0]
    while low < high:
        middle = (low + high) // 2
        chosen[:] = False
        chosen[order[:middle]] = True
        if _is_certain(cells.as_ties(chosen), bound, tolerance):
            high = middle
        else:
            low = middle + 1
    chosen[:] = False
    chosen[order[:high]] = True
    return chosen


def _merged_ranges(cells: ScoreCells, chosen: BoolVector) -> tuple[IntVector, IntVector]:
    """Return the rising ends of the chosen cells, neighbours as one range."""
    lows, highs = cells.lowest[chosen][::-1], cells.highest[chosen][::-1]
    if lows.shape[0] == 0:
        return as_readonly(lows), as_readonly(highs)
    apart = lows[1:] != highs[:-1] + 1
    end = np.ones(1, np.bool_)
    first, last = np.concatenate([end, apart]), np.concatenate([apart, end])
    return as_readonly(lows[first]), as_readonly(highs[last])

"""`ScoreSketch`: measures of scores that come in streams, with bounds that are certain."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fastad._core.interrupts import StateLock, uninterrupted
from fastad._core.parameters import check_type, short_repr
from fastad._core.text_tables import count_text
from fastad._core.types import ArrayLike, Count, IntVector, Label
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.ordering.raw import KeyCodec
from fastad.streaming.sketches import serialization
from fastad.streaming.sketches.bins import Closed, bins_of
from fastad.streaming.sketches.cell_measures import CellMeasures
from fastad.streaming.sketches.cell_table import CellTable
from fastad.streaming.sketches.cells import ANOMALY, NORMAL, UNLABELLED, CellCounts, ScoreCells
from fastad.streaming.sketches.checks import StreamedPoints, check_memory, check_points, shown_size
from fastad.streaming.sketches.serialization import SketchState

_MEMORY = "8MB"


class ScoreSketch(CellMeasures):
    """Counts of scores in cells, from which every measure is read with bounds that are certain.

    A cell contains the scores whose bits agree but for the lowest ones. The resolution is the
    finest one at which the cells with a score fit the memory: so the state depends on the scores
    and labels alone, not on their order, and merging sketches in any order and grouping gives the
    same bytes; only `merge` of real total weights rounds. As long as the distinct scores fit, every
    value is exact. No range of the scores needs to be known, and none is favoured: float scores are
    resolved relative to their size.

    Each measure with one number is a method that takes the options of the function of the same
    name and returns a `BoundedValue`. Threads may share a sketch.

    Parameters
    ----------
    memory : int or str, default "8MB"
        Bytes for the counts, or a size such as ``"512kB"`` or ``"1GiB"``. Points without a label
        take half as much again while there are any; in an update of millions of points, each
        further thread takes as much again, up to eight.

    Attributes
    ----------
    memory : int
        Bytes for the counts.
    dtype : numpy.dtype or None
        Type of the scores; None before there are any.

    Examples
    --------
    >>> from fastad.streaming import ScoreSketch
    >>> sketch = ScoreSketch()
    >>> sketch.update([0, 0], [0.1, 0.4])
    >>> sketch.update([1, 1], [0.35, 0.8])
    >>> sketch.roc_auc()
    BoundedValue(value=0.75, low=0.75, high=0.75)
    """

    __slots__ = ("_bins", "_cells", "_dtype", "_highest", "_lock", "_lowest", "_table")

    def __init__(self, memory: int | str = _MEMORY) -> None:
        size = check_memory(memory)
        if CellTable.most_cells(size) < 2:
            raise InvalidInputError(
                f"memory must suffice for two cells; found {short_repr(memory)}"
            )
        self._lock = StateLock("ScoreSketch")
        self._table = CellTable(size)
        self._dtype: np.dtype[Any] | None = None
        self._lowest = self._highest = 0
        self._cells: ScoreCells | None = None
        # Points that somebody else has counted, beside the points of the table.
        self._bins: ScoreCells | None = None

    @classmethod
    def from_counts(
        cls,
        edges: ArrayLike,
        normals: ArrayLike,
        anomalies: ArrayLike,
        *,
        closed: Closed = "left",
        memory: int | str = _MEMORY,
    ) -> "ScoreSketch":
        """Return a sketch of points that somebody else has counted in bins of scores.

        Any bins will do that a score falls into one of: of equal or unequal widths, between
        quantiles, buckets of Prometheus, single values. Nothing is assumed of the scores in a bin:
        each measure has the bounds that are certain.

        Parameters
        ----------
        edges : array-like of shape (n_bins + 1,) or (n_bins, 2)
            Rising edges of the bins, which may begin and end with an infinity; with
            ``closed="both"``, the lowest and the highest score of each bin, which is the same for
            single values. Floats, or integers below 2^53.
        normals, anomalies : array-like of shape (n_bins,)
            Numbers of normal samples and of anomalies in each bin, or their total weights. If all
            are integers, they count samples, and must be below 2^53.
        closed : {"left", "right", "both"}, default "left"
            Which edge of a bin is part of it. The outermost edges always are.
        memory : int or str, default "8MB"
            Bytes for points that are counted beside the bins, as `ScoreSketch` takes them.

        Returns
        -------
        ScoreSketch
            The scores have the type float64. `merge` adds the points of other sketches, `update`
            further points, and `refine` says which bins have to be split; where ranges of scores
            overlap, they become one, and a note of `evaluate` says so.

        Raises
        ------
        InvalidInputError
            If edges do not rise, numbers of bins differ, or a count is negative, not finite, or
            from 2^53 on, where it may have been rounded. Total weights that are all integers and
            as large can be scaled: only their ratios matter.

        Notes
        -----
        O(n) time and 32 bytes a bin for n bins.

        Examples
        --------
        >>> from fastad.streaming import ScoreSketch
        >>> edges = [0.0, 0.25, 0.5, 0.75, 1.0]
        >>> sketch = ScoreSketch.from_counts(edges, [40, 7, 2, 1], [1, 0, 3, 6])
        >>> print(sketch.roc_auc())
        0.922 (certainly from 0.87 to 0.974)
        """
        return cls.of_bins([bins_of(edges, normals, anomalies, closed)], memory)

    @classmethod
    def of_bins(cls, parts: Iterable[ScoreCells], memory: int | str = _MEMORY) -> "ScoreSketch":
        """Return a sketch of bins that have been checked."""
        sketch = cls(memory)
        for bins in parts:
            if bins.lowest.shape[0]:
                sketch._bins = bins if sketch._bins is None else sketch._bins.plus(bins)
                sketch._dtype = bins.codec.dtype
        return sketch

    def __repr__(self) -> str:
        n_normals, n_anomalies, n_unlabelled = self._totals()
        waiting = f", n_unlabelled={n_unlabelled}" if n_unlabelled else ""
        return (
            f"ScoreSketch({shown_size(self.memory)}, n_anomalies={n_anomalies}, "
            f"n_normals={n_normals}{waiting}, resolution={self.resolution!r})"
        )

    @property
    def memory(self) -> int:
        """Bytes for the counts."""
        return self._table.memory

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Type of the scores; None before there are any."""
        self._lock.checked()
        return self._dtype

    @property
    def n_anomalies(self) -> Count:
        """Number of anomalies, or their total weight."""
        return self._totals()[ANOMALY]

    @property
    def n_normals(self) -> Count:
        """Number of normal samples, or their total weight."""
        return self._totals()[NORMAL]

    @property
    def n_unlabelled(self) -> int:
        """Number of points whose label has not come yet."""
        with self._lock.checked():
            return self._table.totals()[UNLABELLED]

    @property
    def n_points(self) -> Count:
        """Number of points, with and without a label."""
        self._lock.checked()
        return self._table.n_points + (0 if self._bins is None else self._bins.n_points)

    @property
    def resolution(self) -> str:
        """How wide a cell is, in words: a fraction of the scores in it, or a number of integers."""
        self._lock.checked()
        if self._bins is not None:
            cells = self.score_cells()
            return "exact" if cells.ties.all() else count_text(len(cells.lowest), "range")
        shift = self._table.shift
        if shift == 0:
            return "exact"
        if self._dtype is not None and self._dtype.kind == "f":
            digits = np.finfo(np.promote_types(self._dtype, np.float32)).nmant
            return f"{2.0 ** (shift - digits):.1g} of a score" if shift < digits else "factors of 2"
        return f"{2**shift} integers"

    def update(
        self,
        y_true: ArrayLike | None = None,
        y_score: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
    ) -> None:
        """Count points; without ``y_true`` they wait for `label`.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,), optional
            1 for an anomaly, 0 for a normal sample, or booleans.
        y_score : array-like of shape (n_samples,)
            Anomaly score, higher is more anomalous; of the same type in every update. Infinities
            are scores, NaN is not.
        sample_weight : array-like of shape (n_samples,), optional
            Integers from 0; k counts a row k times.
        pos_label : label, optional
            Label of the anomalies where labels are not 0 and 1.

        Raises
        ------
        InvalidInputError
            If an argument is invalid; nothing is counted then.

        Notes
        -----
        O(n) time for n samples. A Ctrl-C is raised after the points have been counted.
        """
        points = check_points(y_true, y_score, sample_weight, pos_label)
        if points is not None:
            self.count_points(points)

    def count_points(self, points: StreamedPoints) -> None:
        """Count points that have been checked."""
        with self._lock.checked():
            self._expect(points.raw.dtype)
            self._table.check_room(points.n_points, "sample_weight")
            uninterrupted(lambda: self._count(points))

    def check_room(self, n_points: int) -> None:
        """Refuse further points if their number would not fit into the counts."""
        self._lock.checked()
        self._table.check_room(n_points, "sample_weight")

    def label(
        self,
        y_score: ArrayLike,
        y_true: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
    ) -> None:
        """Give labels to points that were counted without one.

        Parameters
        ----------
        y_score : array-like of shape (n_samples,)
            Their scores, as they were counted.
        y_true : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights with which they were counted.
        pos_label : label, optional
            Label of the anomalies where labels are not 0 and 1.

        Raises
        ------
        InvalidInputError
            If fewer points without a label were counted in a cell than are labelled now; nothing
            is moved then.
        """
        points = check_points(y_true, y_score, sample_weight, pos_label, is_labelled=True)
        if points is None:
            return
        unknown = self.label_points(points)
        if unknown.shape[0]:
            raise never_counted(points, unknown)

    def label_points(self, points: StreamedPoints) -> IntVector:
        """Give labels to points; return those for which there are none, and then move nothing."""
        with self._lock.checked():
            self._expect(points.raw.dtype)
            # The labels change what has been read, also where a Ctrl-C comes after them.
            self._cells = None
            return uninterrupted(
                lambda: self._table.label(points.raw, points.kinds, points.weights)
            )

    def unknown_points(self, points: StreamedPoints) -> IntVector:
        """Return the points for which none was counted without a label."""
        with self._lock.checked():
            return self._table.unknown(points.raw, points.kinds, points.weights)

    def merge(self, other: "ScoreSketch") -> None:
        """Add the points of another sketch, of the same memory and type of scores, to this one.

        Merging sketches in any order and grouping gives the same bytes, except where three or more
        have bins with real total weights: each merge rounds their sums. Where bins of one and bins
        or cells of the other overlap, the points are counted in the range that both take.
        """
        check_type(other, ScoreSketch, "other", "a ScoreSketch")
        if other.memory != self.memory:
            raise InvalidInputError(
                f"other must have the memory of this sketch, {self.memory} bytes; found "
                f"{other.memory}"
            )
        # Two that are merged with each other at once do not wait for each other's lock.
        other = other.copy()
        with self._lock.checked():
            self._check_addable(other, 1, "other", "other")
            uninterrupted(lambda: self._add(other, 1))

    def copy(self) -> "ScoreSketch":
        """Return a sketch of the same points that changes by itself."""
        sketch = ScoreSketch(self.memory)
        with self._lock.checked():
            sketch._table = self._table.copy()
            sketch._dtype = self._dtype
            sketch._lowest, sketch._highest = self._lowest, self._highest
            sketch._bins = self._bins
        return sketch

    def to_bytes(self) -> bytes:
        """Return the sketch as bytes, versioned and with a checksum.

        Sketches of the same points and memory give the same bytes on every machine.
        """
        with self._lock.checked():
            state = SketchState(
                self._dtype,
                self.memory,
                self._table.listed(),
                self._lowest,
                self._highest,
                self._bins,
            )
        return serialization.to_bytes(state)

    @classmethod
    def from_bytes(cls, data: bytes) -> "ScoreSketch":
        """Return the sketch of which `to_bytes` returned the bytes; refuse anything else."""
        state = serialization.from_bytes(data)
        sketch = cls(state.memory)
        sketch._table.plus(state.listed)
        sketch._dtype, sketch._lowest, sketch._highest = state.dtype, state.lowest, state.highest
        sketch._bins = state.bins
        return sketch

    def __reduce__(self) -> tuple[Any, ...]:
        return ScoreSketch.from_bytes, (self.to_bytes(),)

    def score_cells(self) -> ScoreCells:
        """Return the cells with a labelled point; they are kept until the next change."""
        with self._lock.checked():
            if self._dtype is None:
                raise UndefinedMeasureError("a sketch without points has no measures")
            if self._cells is None:
                counted = ScoreCells.of(
                    self._table.listed(), self._lowest, self._highest, KeyCodec(self._dtype, 0)
                )
                self._cells = counted if self._bins is None else self._bins.plus(counted)
            return self._cells

    @classmethod
    def merged(
        cls, memory: int, parts: "Sequence[tuple[ScoreSketch, int]]", argument: str = "parts"
    ) -> "ScoreSketch":
        """Return a sketch of sketches of the same memory, each point counted with its weight.

        It has the bytes that `merge` gives, and takes a tenth of its time where they are many.
        The argument is named where they have too many points.
        """
        sketch = cls(memory)
        # Where one of them had to be as coarse, all of them together have to.
        for part, _ in parts:
            sketch._table.coarsen_to(part._table.shift)
        for part, weight in parts:
            with part._lock.checked():
                sketch._check_addable(part, weight, "parts", argument)
                sketch._add(part, weight)
        return sketch

    def listed(self) -> CellCounts:
        """Return the counts in cells with a point, labelled or not."""
        if self._bins is not None:
            raise InvalidInputError(
                "a sketch must have counted its points itself; found one with counts in bins"
            )
        with self._lock.checked():
            return self._table.listed()

    def _totals(self) -> tuple[Count, Count, int]:
        with self._lock.checked():
            n_normals, n_anomalies, n_unlabelled = self._table.totals()
        if self._bins is None:
            return n_normals, n_anomalies, n_unlabelled
        bins = self._bins
        totals = n_normals + bins.normals.sum().item(), n_anomalies + bins.anomalies.sum().item()
        return *totals, n_unlabelled

    def _check_addable(self, other: "ScoreSketch", weight: int, name: str, argument: str) -> None:
        """Refuse scores of another type under a name, and too many points under another."""
        if other._dtype is not None:
            self._expect(other._dtype, name)
            in_bins = sum(each._bins.n_points for each in (self, other) if each._bins is not None)
            self._table.check_room(other._table.n_points * weight + int(in_bins), argument)

    def _add(self, other: "ScoreSketch", weight: int) -> None:
        """Add the points of a sketch of the same memory and type, each ``weight`` times."""
        if other._dtype is None:
            return
        if other._table.n_points:
            is_first = self._table.n_points == 0
            self._table.coarsen_to(other._table.shift)
            self._table.add_table(other._table, weight)
            self._widen(other._lowest, other._highest, is_first=is_first)
        if other._bins is not None:
            # Only sketches that `merge` adds have bins.
            self._bins = other._bins if self._bins is None else self._bins.plus(other._bins)
        self._dtype, self._cells = other._dtype, None

    def _expect(self, dtype: np.dtype[Any], name: str = "y_score") -> None:
        if self._dtype is not None and dtype != self._dtype:
            raise InvalidInputError(
                f"{name} must contain {self._dtype} as before; found {dtype}", argument=name
            )

    def _count(self, points: StreamedPoints) -> None:
        is_first = self._table.n_points == 0
        self._table.add(points.raw, points.kinds, points.weights)
        self._widen(points.lowest, points.highest, is_first=is_first)
        self._dtype, self._cells = points.raw.dtype, None

    def _widen(self, lowest: int, highest: int, *, is_first: bool) -> None:
        self._lowest = lowest if is_first else min(self._lowest, lowest)
        self._highest = highest if is_first else max(self._highest, highest)


def never_counted(points: StreamedPoints, unknown: IntVector) -> InvalidInputError:
    """Return the error about labels of points that were not counted without one."""
    first = int(unknown[0])
    row = first if points.rows is None else int(points.rows[first])
    return InvalidInputError(
        "y_score must contain scores that were counted without a label; found "
        f"{unknown.shape[0]} in cells with too few of them, the first at index {row}: "
        f"{points.raw.scores[first]}"
    )

"""The passes over the scores of one detector, until its measures are exact."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.types import IntVector
from fastad._kernels.ordering import keys
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.raw import KeyCodec
from fastad.streaming.anomaly_ranks import (
    AnomalyRanks,
    KeptAnomalies,
    Piece,
    most_anomalies,
    rank_bits,
)
from fastad.streaming.bounds import evaluate_cells, extremes_of
from fastad.streaming.cell_counts import ANOMALY, NORMAL
from fastad.streaming.curve_sums import sum_of
from fastad.streaming.points import StreamedPoints
from fastad.streaming.refinement import RangeCounter, Refinement
from fastad.streaming.results import BoundedEvaluation, BoundedValue
from fastad.streaming.score_cells import ScoreCells
from fastad.streaming.sketch import ScoreSketch
from fastad.streaming.spill import Block, SpilledScores

# Bytes of a sketch: more cells would not fit a processor's cache.
_SKETCH = 8_000_000
# Of a detector on a group, so that its sketch has cells enough to refine.
FEWEST_BYTES = 2048
# Of a point of an exact curve in memory: its counts, and what a measure makes of them.
_BYTES_A_POINT = 64
# Fingerprints are sums modulo this.
_FINGERPRINTS = 2**64


class SketchPass:
    """What the first pass makes of some of the points: a sketch, and the anomalies if they fit.

    Parts of the points are counted apart and merged, in any order. Those that are read again have
    a fingerprint.
    """

    def __init__(
        self, memory: int, most_anomalies: int | None = None, *, is_reread: bool = False
    ) -> None:
        self.sketch = ScoreSketch(memory)
        self._most_anomalies = most_anomalies
        self._is_reread = is_reread
        self.fingerprint = 0
        # None where they are too many, or nobody needs them.
        self.anomalies = None if most_anomalies is None else KeptAnomalies(most_anomalies)

    def empty(self) -> "SketchPass":
        """Return what counts other points of the pass."""
        return SketchPass(self.sketch.memory, self._most_anomalies, is_reread=self._is_reread)

    def add(self, points: StreamedPoints) -> None:
        """Count points."""
        self.sketch.count_points(points)
        if self._is_reread:
            self.fingerprint = _added(self.fingerprint, points)
        if self.anomalies is not None and not self.anomalies.add(points):
            self.anomalies = None

    def merge(self, other: "SketchPass") -> None:
        """Add what was made of other points."""
        self.sketch.merge(other.sketch)
        self.fingerprint = (self.fingerprint + other.fingerprint) % _FINGERPRINTS
        if self.anomalies is not None and not (
            other.anomalies is not None and self.anomalies.merge(other.anomalies)
        ):
            self.anomalies = None


class FinerPass:
    """What a later pass makes of some of the points: finer cells, and what makes areas exact."""

    def __init__(
        self,
        refinements: Mapping[BoundMeasure, Refinement],
        ranks: AnomalyRanks | None,
        spilled: SpilledScores | None = None,
    ) -> None:
        # Measures that are read at one point of the curve depend on the same ranges.
        self._counters: list[RangeCounter] = []
        self._positions: dict[BoundMeasure, int] = {}
        for bound, refinement in refinements.items():
            counter = refinement.counter()
            same = [each.has_ranges_of(counter) for each in self._counters]
            if not any(same):
                self._counters.append(counter)
                same.append(True)
            self._positions[bound] = same.index(True)
        self.ranks = ranks
        self.spilled = spilled
        self.fingerprint = 0

    def counter(self, bound: BoundMeasure) -> RangeCounter:
        """Return what counted the ranges of a measure."""
        return self._counters[self._positions[bound]]

    def empty(self) -> "FinerPass":
        """Return what counts other points of the pass; nothing is written to disk."""
        empty = FinerPass({}, None if self.ranks is None else self.ranks.empty())
        empty._counters = [each.empty() for each in self._counters]
        empty._positions = self._positions
        return empty

    def add(self, points: StreamedPoints) -> None:
        """Count points."""
        self.fingerprint = _added(self.fingerprint, points)
        for counter in self._counters:
            counter.count(points)
        if self.ranks is not None:
            self.ranks.count(points)
        if self.spilled is not None:
            for kind in (NORMAL, ANOMALY):
                self.spilled.add(Block(rank_bits(points, kind), kind))

    def merge(self, other: "FinerPass") -> None:
        """Add what was made of other points."""
        self.fingerprint = (self.fingerprint + other.fingerprint) % _FINGERPRINTS
        for counter, counted in zip(self._counters, other._counters, strict=True):
            counter.merge(counted)
        if self.ranks is not None and other.ranks is not None:
            self.ranks.merge(other.ranks)


class ScorePasses:
    """One detector on one group: passes over its points until its measures are exact.

    Attributes
    ----------
    is_done : bool
        Whether another pass would add nothing.
    """

    def __init__(self, measures: Sequence[BoundMeasure], memory: int, *, exact: bool) -> None:
        self._measures = measures
        self._memory = memory
        self._exact = exact
        self._cells: ScoreCells | None = None
        self._refinements: dict[BoundMeasure, Refinement] = {}
        self._anomalies: IntVector | None = None
        # Measures that the next pass makes exact by the whole curve.
        self._of_curve: Sequence[BoundMeasure] = ()
        self._values: dict[str, BoundedValue] = {}
        # Of the points of the first pass, which no later pass may change.
        self._fingerprint = 0
        self._undefined: dict[str, str] = {}
        self._notes: Sequence[str] = ()
        self.is_done = False

    @property
    def can_spill(self) -> bool:
        """Whether the next pass needs a folder: it sorts all points on disk."""
        return bool(self._of_curve) and (self._anomalies is None or self._needs_points)

    @property
    def _needs_points(self) -> bool:
        """Whether corners are not enough: a measure depends on the normals between two of them."""
        return not all(extremes_of(bound.measure).corners for bound in self._of_curve)

    def next_pass(self, folder: Path | None = None) -> "SketchPass | FinerPass":
        """Return what counts the points of the next pass, or a part of them.

        Without a folder it makes no areas exact where the anomalies do not fit the memory.
        """
        if self._cells is None:
            keeps = self._exact and any(
                extremes_of(bound.measure).corners for bound in self._measures
            )
            n_bytes = min(_SKETCH, self._memory // 4)
            most = most_anomalies(self._memory - n_bytes) if keeps else None
            return SketchPass(n_bytes, most, is_reread=self._exact)
        ranks = spilled = None
        if self.can_spill and folder is not None:
            spilled = SpilledScores(
                self._cells, folder, self._memory, corners=not self._needs_points
            )
        elif self._of_curve and self._anomalies is not None:
            ranks = AnomalyRanks(self._anomalies, self._cells.n_points, self._memory)
        return FinerPass(self._refinements, ranks, spilled)

    def end(self, counted: "SketchPass | FinerPass") -> None:
        """Take what a pass has shown of all points, and decide on the next."""
        if isinstance(counted, SketchPass):
            self._end_of_sketch(counted)
        else:
            self._end_of_finer(counted)
        self.is_done = not self._refinements and not self._of_curve

    def _end_of_finer(self, counted: FinerPass) -> None:
        assert self._cells is not None
        if counted.fingerprint != self._fingerprint:
            raise InvalidInputError(
                "source must have the same rows in every pass; found other labels or scores in a "
                "later pass than in the first",
                argument="source",
            )
        left: dict[BoundMeasure, Refinement] = {}
        for bound, refinement in self._refinements.items():
            refinement.absorb(counted.counter(bound))
            with self._if_defined(bound):
                value = self._values[bound.key] = refinement.result()
                if not value.is_exact:
                    left[bound] = refinement.refine()
        self._refinements = left
        source = counted.spilled or counted.ranks
        if source is not None:
            shown = [
                bound
                for bound in self._of_curve
                if counted.spilled is not None or extremes_of(bound.measure).corners
            ]
            pieces = source.pieces()
            for bound, value_of in _curve_values(shown, pieces, self._cells.codec, self._memory):
                with self._if_defined(bound):
                    exact = value_of()
                    self._values[bound.key] = BoundedValue(exact, exact, exact)
        self._of_curve, self._anomalies = (), None

    @contextmanager
    def _if_defined(self, bound: BoundMeasure) -> Iterator[None]:
        """Keep why a measure is undefined, which the sketch alone may not have shown."""
        try:
            yield
        except UndefinedMeasureError as error:
            del self._values[bound.key]
            self._undefined[bound.key] = str(error)

    def result(self) -> BoundedEvaluation:
        """Return all measures with their bounds."""
        values = {
            bound.key: self._values[bound.key]
            for bound in self._measures
            if bound.key in self._values
        }
        open_keys = [key for key, value in values.items() if not value.is_exact]
        notes = []
        if self._exact and open_keys:
            notes.append(
                f"not exact: {', '.join(open_keys)}, which need all scores in order: they were "
                "sorted neither in memory nor on disk"
            )
        return BoundedEvaluation(values, self._undefined, [*self._notes, *notes])

    def _end_of_sketch(self, counted: SketchPass) -> None:
        try:
            self._cells = counted.sketch.score_cells()
        except UndefinedMeasureError as error:
            self._undefined = {bound.key: str(error) for bound in self._measures}
            return
        self._fingerprint = counted.fingerprint
        table = evaluate_cells(self._cells, self._measures)
        self._values, self._undefined, self._notes = dict(table), table.undefined, table.notes
        if not self._exact:
            return
        open_measures = [
            bound
            for bound in self._measures
            if bound.key in self._values and not self._values[bound.key].is_exact
        ]
        for bound in open_measures:
            if extremes_of(bound.measure).local:
                self._refinements[bound] = Refinement.of(
                    self._cells, bound, Fraction(0), counted.sketch.memory
                )
        # Others are read from all points, where these fit.
        fits = self._cells.n_points * _BYTES_A_POINT <= self._memory
        self._of_curve = [
            bound
            for bound in open_measures
            if extremes_of(bound.measure).corners
            or sum_of(bound) is not None
            or (fits and bound not in self._refinements)
        ]
        if self._of_curve and counted.anomalies is not None:
            self._anomalies = counted.anomalies.sorted()


def _added(fingerprint: int, points: StreamedPoints) -> int:
    """Return the fingerprint of points and of others, in any order."""
    return (fingerprint + int(keys.fingerprint(points.raw.values, points.kinds))) % _FINGERPRINTS


def _curve_values(
    measures: Sequence[BoundMeasure], pieces: Iterable[Piece], codec: KeyCodec, memory: int
) -> Iterator[tuple[BoundMeasure, Callable[[], float]]]:
    """Yield what computes measures of an exact curve: sums, and others where its points fit."""
    sums = {bound: sum_of(bound) for bound in measures}
    kept: list[Piece] | None = [] if None in sums.values() else None
    room = memory // _BYTES_A_POINT
    fp = tp = 0
    for piece in pieces:
        for each in sums.values():
            if each is not None:
                each.add(piece)
        fp, tp = int(piece.fps[-1]), int(piece.tps[-1])
        if kept is not None:
            kept.append(piece)
            room -= piece.fps.shape[0]
            kept = kept if room >= 0 else None
    counts = None if kept is None else _joined(kept, codec)
    for bound, each in sums.items():
        if each is not None:
            yield bound, partial(each.value, fp, tp)
        elif counts is not None:
            yield bound, partial(bound.value, counts)


def _joined(pieces: Sequence[Piece], codec: KeyCodec) -> OrderedCounts:
    """Return pieces of a curve as one."""
    fps = np.concatenate([pieces[0].fps[:1], *(piece.fps[1:] for piece in pieces)])
    tps = np.concatenate([pieces[0].tps[:1], *(piece.tps[1:] for piece in pieces)])
    keys = [piece.keys for piece in pieces if piece.keys is not None]
    has_keys = len(keys) == len(pieces)
    n_normals, n_anomalies = int(fps[-1]), int(tps[-1])
    return OrderedCounts(
        fps=as_readonly(fps),
        tps=as_readonly(tps),
        # Of corners there are no scores; what reads them reads none.
        keys=as_readonly(np.concatenate(keys) if has_keys else np.arange(fps.shape[0] - 1)),
        codec=codec,
        n_anomalies=n_anomalies,
        n_normals=n_normals,
        n_points=n_normals + n_anomalies,
        n_tied=0,
        weighting="none",
    )

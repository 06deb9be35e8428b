"""The passes over the scores of one detector, until its measures are exact."""

from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.types import ArrayLike, IntVector, Label
from fastad._kernels.ordering import keys
from fastad.errors import UndefinedMeasureError
from fastad.measures.extremes import AREA
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts
from fastad.streaming.anomaly_ranks import (
    BYTES_AN_ANOMALY,
    BYTES_OF_BLOCKS,
    AnomalyRanks,
    AreaSums,
    Piece,
)
from fastad.streaming.bounds import bounds_of, extremes_of
from fastad.streaming.cell_table import ANOMALY, NORMAL
from fastad.streaming.points import StreamedPoints, check_points
from fastad.streaming.refinement import Refinement
from fastad.streaming.results import BoundedEvaluation, BoundedValue
from fastad.streaming.score_cells import ScoreCells
from fastad.streaming.sketch import ScoreSketch
from fastad.streaming.spill import Block, SpilledScores, spill_folder

# Bytes of a sketch: more cells would not fit a processor's cache.
_SKETCH = 8_000_000
_FEWEST_BYTES = 512
# Of an exact curve in memory: its counts, and what a measure makes of them.
_BYTES_A_CORNER = 64


class ScorePasses:
    """One detector on one group: a sketch, and what further passes make exact.

    Attributes
    ----------
    is_done : bool
        Whether another pass would add nothing.
    """

    def __init__(self, measures: Sequence[BoundMeasure], memory: int, *, exact: bool) -> None:
        self._measures = measures
        self._memory = memory
        self._exact = exact
        self._sketch = ScoreSketch(max(min(_SKETCH, memory // 4), _FEWEST_BYTES))
        # Rank bits of all anomalies; None where they are too many, or nobody needs them.
        self._anomalies: list[IntVector] | None = None
        if exact and any(_reads_curve(bound) for bound in measures):
            self._anomalies = []
        self._curve: _ExactCurve | None = None
        self._cells: ScoreCells | None = None
        self._refinements: dict[BoundMeasure, Refinement] = {}
        self._values: dict[str, BoundedValue] = {}
        self._undefined: dict[str, str] = {}
        self.is_done = False

    def begin(self, stack: ExitStack, folder: Path | None) -> None:
        """Prepare the next pass; what it needs on disk lives as long as the stack."""
        if self._cells is None or self.is_done or self._curve is None:
            return
        self._curve.begin(stack, folder)

    def add(self, y_true: ArrayLike, y_score: ArrayLike, pos_label: Label | None) -> None:
        """Take a batch of the pass."""
        points = check_points(y_true, y_score, None, pos_label)
        if points is None:
            return
        if self._cells is None:
            self._sketch.count_points(points)
            self._keep_anomalies(points)
            return
        for refinement in self._refinements.values():
            refinement.count_points(points)
        if self._curve is not None:
            self._curve.add(points)

    def end(self) -> None:
        """Take what the pass has shown, and decide on the next."""
        if self.is_done:
            return
        if self._cells is None:
            self._end_of_sketch()
        else:
            for bound, refinement in self._refinements.items():
                self._values[bound.key] = refinement.result()
            self._refinements = {
                bound: refinement.refine()
                for bound, refinement in self._refinements.items()
                if not self._values[bound.key].is_exact
            }
            if self._curve is not None:
                self._values |= self._curve.values()
                self._curve = None
        self.is_done = not self._refinements and self._curve is None

    def result(self) -> BoundedEvaluation:
        """Return all measures with their bounds."""
        values = {
            bound.key: self._values[bound.key]
            for bound in self._measures
            if bound.key in self._values
        }
        return BoundedEvaluation(values, self._undefined)

    def _keep_anomalies(self, points: StreamedPoints) -> None:
        if self._anomalies is None:
            return
        self._anomalies.append(rank_bits(points, ANOMALY))
        n_bytes = sum(bits.nbytes for bits in self._anomalies) // 8 * BYTES_AN_ANOMALY
        if n_bytes + BYTES_OF_BLOCKS + self._sketch.memory > self._memory:
            self._anomalies = None

    def _end_of_sketch(self) -> None:
        try:
            self._cells = self._sketch.score_cells()
        except UndefinedMeasureError as error:
            self._undefined = {bound.key: str(error) for bound in self._measures}
            return
        for bound in self._measures:
            try:
                self._values[bound.key] = bounds_of(self._cells, bound)
            except UndefinedMeasureError as error:
                self._undefined[bound.key] = str(error)
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
                    self._cells, bound, Fraction(0), self._sketch.memory
                )
        of_curve = [bound for bound in open_measures if _reads_curve(bound)]
        if of_curve:
            self._curve = _ExactCurve(of_curve, self._cells, self._anomalies, self._memory)
        self._anomalies = None


class _ExactCurve:
    """The pass that makes areas exact: around all anomalies in memory, or on disk."""

    def __init__(
        self,
        measures: Sequence[BoundMeasure],
        cells: ScoreCells,
        anomalies: list[IntVector] | None,
        memory: int,
    ) -> None:
        self._measures = measures
        self._cells = cells
        self._anomalies = anomalies
        self._memory = memory
        self._ranks: AnomalyRanks | None = None
        self._spilled: SpilledScores | None = None

    def begin(self, stack: ExitStack, folder: Path | None) -> None:
        """Prepare for the points."""
        if self._anomalies is not None:
            n_points = int(self._cells.normals.sum() + self._cells.anomalies.sum())
            together = np.concatenate(self._anomalies)
            self._anomalies = None
            self._ranks = AnomalyRanks(together, n_points)
        else:
            place = stack.enter_context(spill_folder(folder))
            self._spilled = SpilledScores(self._cells, place, self._memory)

    def add(self, points: StreamedPoints) -> None:
        """Count points, or write them to disk."""
        if self._ranks is not None:
            self._ranks.count(rank_bits(points, NORMAL))
        elif self._spilled is not None:
            for kind in (NORMAL, ANOMALY):
                self._spilled.add(Block(rank_bits(points, kind), kind))

    def values(self) -> dict[str, BoundedValue]:
        """Return the measures of the exact curve."""
        source = self._ranks or self._spilled
        assert source is not None
        sums = AreaSums()
        kept: list[Piece] | None = []
        room = self._memory // _BYTES_A_CORNER
        for piece in source.pieces():
            sums.add(piece)
            if kept is not None:
                kept.append(piece)
                room -= piece.fps.shape[0]
                kept = kept if room >= 0 else None
        counts = None if kept is None else _joined(kept, self._cells)
        values = {}
        for bound in self._measures:
            value = _sum_of(sums, bound)
            if value is None and counts is not None:
                value = bound.value(counts)
            if value is not None:
                values[bound.key] = BoundedValue(value, value, value)
        return values


def rank_bits(points: StreamedPoints, kind: int) -> IntVector:
    """Return the rank bits of the points of one class."""
    raw = points.raw
    values = raw.values[points.kinds == kind]
    falling = np.empty(values.shape[0], np.int64)
    keys.fall(as_readonly(values), raw.largest, raw.signed, falling)
    return np.invert(falling, out=falling)


def _reads_curve(bound: BoundMeasure) -> bool:
    """Tell whether a measure has the same bits on the corners of the curve as on all points."""
    extremes = bound.measure.extremes
    return extremes is AREA or bound.measure.name in ("average_precision", "pr_auc")


def _sum_of(sums: AreaSums, bound: BoundMeasure) -> float | None:
    """Return a measure that was added up piece by piece."""
    if bound.measure.name == "roc_auc":
        return sums.roc_auc
    if bound.measure.name == "average_precision" and bound.parameters["prevalence"] is None:
        return sums.average_precision
    return None


def _joined(pieces: Sequence[Piece], cells: ScoreCells) -> OrderedCounts:
    """Return the corners of a curve as counts; no score is kept of them."""
    fps = np.concatenate([pieces[0].fps[:1], *(piece.fps[1:] for piece in pieces)])
    tps = np.concatenate([pieces[0].tps[:1], *(piece.tps[1:] for piece in pieces)])
    n_normals, n_anomalies = int(fps[-1]), int(tps[-1])
    return OrderedCounts(
        fps=as_readonly(fps),
        tps=as_readonly(tps),
        # Rising as falling keys do; what reads the corners reads no threshold.
        keys=as_readonly(np.arange(fps.shape[0] - 1)),
        codec=cells.codec,
        n_anomalies=n_anomalies,
        n_normals=n_normals,
        n_points=n_normals + n_anomalies,
        n_tied=0,
        weighting="none",
    )

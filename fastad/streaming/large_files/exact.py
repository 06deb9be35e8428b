"""The passes over the scores of one detector, until its measures are exact.

Two mechanisms make a value exact. What is read at a point of the curve depends on a few cells of
the sketch, which a later pass refines. What depends on the order of all scores is read from the
exact curve, in which a later pass sorts them: around the anomalies where these fit the memory, else
range by range on disk.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastad._core.types import IntVector
from fastad._kernels.ordering import keys
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.evaluation.notes import ScoredRun, doubts_about
from fastad.measures.measure import BoundMeasure
from fastad.streaming.large_files.anomaly_ranks import AnomalyRanks, KeptAnomalies, most_anomalies
from fastad.streaming.large_files.curves import BYTES_A_POINT, curve_values, has_corners, sum_of
from fastad.streaming.large_files.spill import SpilledScores
from fastad.streaming.sketches.bounds import (
    allowing_for_bounds,
    evaluate_cells,
    extremes_of,
    tied_intervals,
)
from fastad.streaming.sketches.cells import ScoreCells
from fastad.streaming.sketches.checks import StreamedPoints
from fastad.streaming.sketches.refinement import RangeCounter, Refinement
from fastad.streaming.sketches.results import BoundedEvaluation, BoundedValue
from fastad.streaming.sketches.sketch import ScoreSketch
from fastad.uncertainty.results import Interval

if TYPE_CHECKING:
    from fastad.uncertainty.intervals.interval_estimation import InferenceOptions

# Bytes of a sketch: more cells would not fit a processor's cache.
_SKETCH = 8_000_000
# Bytes of a detector on a group, so that its sketch has cells enough to refine.
FEWEST_BYTES = 2048


@dataclass(slots=True)
class Pass:
    """Counts of a pass; parts of the points are counted apart and merged in any order."""

    sketch: ScoreSketch | None = None  # all points; the first pass has one
    # The anomalies, which the next pass needs if it counts normals around them.
    anomalies: KeptAnomalies | None = None
    ranges: Sequence[RangeCounter] = ()  # the points in the ranges on which measures still depend
    # The exact curve; one on disk cannot be merged.
    curve: AnomalyRanks | SpilledScores | None = None
    # A sum over labels and scores in any order, which shows whether passes read the same rows.
    fingerprint: int | None = None

    def count_points(self, points: StreamedPoints) -> None:
        """Count points."""
        for counter in self._counters():
            counter.count_points(points)
        if self.fingerprint is not None:
            self._add(int(keys.fingerprint(points.raw.values, points.kinds)))

    def merge(self, other: "Pass") -> None:
        """Add the counts of other points."""
        for counter, counted in zip(self._counters(), other._counters(), strict=True):
            counter.merge(counted)
        if other.fingerprint is not None:
            self._add(other.fingerprint)

    def empty(self) -> "Pass":
        """Return an empty counter for other points of the pass."""
        return Pass(
            None if self.sketch is None else ScoreSketch(self.sketch.memory),
            None if self.anomalies is None else self.anomalies.empty(),
            [counter.empty() for counter in self.ranges],
            self.curve.empty() if isinstance(self.curve, AnomalyRanks) else None,
            None if self.fingerprint is None else 0,
        )

    def _counters(self) -> Iterator[Any]:
        for counter in (self.sketch, self.anomalies, *self.ranges, self.curve):
            if counter is not None:
                yield counter

    def _add(self, fingerprint: int) -> None:
        self.fingerprint = ((self.fingerprint or 0) + fingerprint) % 2**64


class ScorePasses:
    """One detector on one group: passes over its points until another one would add nothing."""

    def __init__(
        self,
        measures: Sequence[BoundMeasure],
        memory: int,
        *,
        exact: bool,
        intervals: "InferenceOptions | None" = None,
    ) -> None:
        self._measures = measures
        self._options = intervals
        # Intervals of tied cells.
        self._tied: Mapping[str, Interval | UndefinedMeasureError] = {}
        self._memory = memory
        self._exact = exact
        self._cells: ScoreCells | None = None
        self._refinements: dict[BoundMeasure, Refinement] = {}
        # Measures that the next pass reads from the exact curve, and the anomalies for it.
        self._of_curve: Sequence[BoundMeasure] = ()
        self._anomalies: IntVector | None = None
        self._values: dict[str, BoundedValue] = {}
        self._fingerprint = 0
        self._undefined: dict[str, str] = {}
        self._notes: Sequence[str] = ()
        self.is_done = False

    @property
    def can_spill(self) -> bool:
        """True if the next pass needs a folder, to sort all points on disk."""
        return bool(self._of_curve) and (
            self._anomalies is None or not all(map(has_corners, self._of_curve))
        )

    def next_pass(self, folder: Path | None = None) -> Pass:
        """Return the counter of the next pass, or of a part of its points.

        Without a folder it makes no areas exact where the anomalies do not fit the memory.
        """
        if self._cells is None:
            return self._first_pass()
        if folder is None and self.can_spill:
            fits = self._anomalies is not None
            self._of_curve = [bound for bound in self._of_curve if fits and has_corners(bound)]
        curve: AnomalyRanks | SpilledScores | None = None
        if self.can_spill and folder is not None:
            corners = all(map(has_corners, self._of_curve))
            curve = SpilledScores(self._cells, folder, self._memory, corners=corners)
        elif self._of_curve and self._anomalies is not None:
            curve = AnomalyRanks(self._anomalies, int(self._cells.n_points), self._memory)
        counters: list[RangeCounter] = []
        for refinement in self._refinements.values():
            # Measures that are read at one point of the curve depend on the same ranges.
            if refinement.counted_in(counters) is None:
                counters.append(refinement.counter())
        return Pass(ranges=counters, curve=curve, fingerprint=0)

    def end(self, counted: Pass) -> None:
        """Finish a pass and plan the next one."""
        if counted.sketch is None:
            self._end_of_later(counted)
        else:
            self._end_of_first(counted, counted.sketch)
        self.is_done = not self._refinements and not self._of_curve

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
                f"not exact: {', '.join(open_keys)}, which need all scores in order, or the "
                "corners of the curve in memory"
            )
        # The order of exact scores may give notes that the order of cells did not.
        if "auc" in values and self._cells is not None:
            auc = float(values["auc"].high)
            notes += doubts_about(ScoredRun("", None, *self._cells.class_sizes, auc))
        notes = list(dict.fromkeys([*self._notes, *notes]))
        intervals = allowing_for_bounds(self._tied, values, self._measures)
        return BoundedEvaluation(values, self._undefined, notes, intervals)

    def _first_pass(self) -> Pass:
        n_bytes = min(_SKETCH, self._memory // 4)
        if not self._exact:
            return Pass(ScoreSketch(n_bytes))
        anomalies = None
        if any(map(has_corners, self._measures)):
            anomalies = KeptAnomalies(most_anomalies(self._memory - n_bytes))
        return Pass(ScoreSketch(n_bytes), anomalies, fingerprint=0)

    def _end_of_first(self, counted: Pass, sketch: ScoreSketch) -> None:
        try:
            self._cells = sketch.score_cells()
        except UndefinedMeasureError as error:
            self._undefined = {bound.key: str(error) for bound in self._measures}
            return
        self._tied = tied_intervals(self._cells, self._measures, self._options)
        table = evaluate_cells(self._cells, self._measures, self._tied)
        self._values, self._undefined, self._notes = dict(table), table.undefined, table.notes
        if counted.fingerprint is None:
            return
        self._fingerprint = counted.fingerprint
        open_measures = [
            bound
            for bound in self._measures
            if bound.key in self._values and not self._values[bound.key].is_exact
        ]
        self._refinements = {
            bound: Refinement(self._cells, bound, Fraction(0), sketch.memory)
            for bound in open_measures
            if extremes_of(bound.measure).local
        }
        # Others are read from all points, where these fit.
        fits = self._cells.n_points * BYTES_A_POINT <= self._memory
        self._of_curve = [
            bound
            for bound in open_measures
            if has_corners(bound)
            or sum_of(bound) is not None
            or (fits and bound not in self._refinements)
        ]
        if self._of_curve and counted.anomalies is not None:
            self._anomalies = counted.anomalies.sorted()

    def _end_of_later(self, counted: Pass) -> None:
        assert self._cells is not None
        if counted.fingerprint != self._fingerprint:
            raise InvalidInputError(
                "source must have the same rows in every pass; found other labels or scores in a "
                "later pass than in the first"
            )
        refinements, self._refinements = self._refinements, {}
        for bound, refinement in refinements.items():
            counter = refinement.counted_in(counted.ranges)
            assert counter is not None
            refinement.absorb(counter)
            with self._if_defined(bound):
                value = self._values[bound.key] = refinement.result()
                if not value.is_exact:
                    self._refinements[bound] = refinement.refine()
        if counted.curve is not None:
            values = curve_values(
                self._of_curve, counted.curve.pieces(), self._cells.codec, self._memory
            )
            for bound, value_of in values:
                with self._if_defined(bound):
                    exact = value_of()
                    self._values[bound.key] = BoundedValue(exact, exact, exact)
        self._of_curve, self._anomalies = (), None

    @contextmanager
    def _if_defined(self, bound: BoundMeasure) -> Iterator[None]:
        """Record why a measure is undefined, which the sketch alone may not have shown."""
        try:
            yield
        except UndefinedMeasureError as error:
            del self._values[bound.key]
            self._undefined[bound.key] = str(error)

"""`CellMeasures`: tables of measures, intervals and second passes from cells of scores."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastad._core.parameters import N_RESAMPLES
from fastad._core.threads import thread_limit
from fastad._core.types import IntervalMethod, Point, Points
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.streaming.sketches.bounded_methods import BoundedMeasureMethods
from fastad.streaming.sketches.bounds import bounds_of, evaluate_cells, measures_to_bound
from fastad.streaming.sketches.refinement import Refinement, bind_named, check_tolerance
from fastad.streaming.sketches.results import BoundedEvaluation, BoundedInterval, BoundedValue
from fastad.streaming.sketches.score_cells import ScoreCells


class CellMeasures(BoundedMeasureMethods):
    """Cells of scores from which measures are read."""

    __slots__ = ()

    @property
    @abstractmethod
    def memory(self) -> int:
        """Bytes for the counts."""

    @abstractmethod
    def score_cells(self) -> ScoreCells:
        """Return the cells with a labelled point."""

    def evaluate(
        self,
        measures: MeasureLike | Sequence[MeasureLike] | None = None,
        *,
        fpr: Point | Points = (0.01, 0.05),
    ) -> BoundedEvaluation:
        """Return a table of measures with their bounds.

        Parameters
        ----------
        measures : str, Measure, BoundMeasure, or sequence of such, optional
            Keys such as ``"tpr@0.01"``, names of measures, or declarations; by default the
            measures of `fastad.evaluate`. The thresholds at the rates in use, ``threshold@0.01``,
            are added.
        fpr : float or sequence of floats, default (0.01, 0.05)
            False positive rates for names without one.

        Returns
        -------
        BoundedEvaluation
            ``result["auc"]`` is a `BoundedValue`; what the points leave undefined, and why, is in
            ``result.undefined``.
        """
        bound = measures_to_bound(measures, fpr)
        return evaluate_cells(self.score_cells(), bound)

    def interval(
        self,
        *,
        measure: MeasureLike,
        method: IntervalMethod = "auto",
        confidence_level: Point = 0.95,
        n_resamples: int = N_RESAMPLES,
        stratified: bool = True,
        rng: int | np.random.Generator | None = None,
        n_threads: int | None = None,
        **operating_point: Any,
    ) -> BoundedInterval:
        """See `fastad.interval`; beside the interval stand the certain bounds of the estimate.

        The interval says what other samples may show and is computed with all points of a cell at
        the same score; the bounds say what the exact scores of these samples may show.
        """
        # Here, because SciPy's functions take a sixth of a second to import.
        from fastad.uncertainty.intervals import interval as intervals
        from fastad.uncertainty.samples.bootstrap import IndependentSample

        bound, options, hidden = intervals.check_interval(
            measure,
            operating_point,
            method,
            confidence_level,
            n_resamples,
            rng,
            stratified=stratified,
        )
        bounds = self.bounds(bound)
        with thread_limit(n_threads):
            sample = IndependentSample.of(self.score_cells().tied)
            interval = intervals.interval_of(sample, bound, options, hidden)
        return BoundedInterval(interval, bounds)

    def bounds(self, bound: BoundMeasure) -> BoundedValue:
        """Return a measure that was bound to its parameters, with its certain bounds."""
        return bounds_of(self.score_cells(), bound)

    def refine(
        self, *, measure: MeasureLike, tolerance: Point = 0, **operating_point: Any
    ) -> Refinement:
        """Say which scores a second pass must count so that a measure is certain to a tolerance.

        Parameters
        ----------
        measure : str, Measure or BoundMeasure
            Key such as ``"tpr@0.001"``, or name of a measure or a threshold.
        tolerance : float, default 0
            Largest error of the value that is allowed; 0 asks for the exact value.
        **operating_point
            Parameters of the measure.

        Returns
        -------
        Refinement
            Its ``update`` takes the same points again, and its ``result`` is the value.

        Raises
        ------
        InvalidInputError
            If the bounds of the measure are not known.
        UndefinedMeasureError
            If the points leave the measure undefined, whatever their exact scores are.

        Examples
        --------
        >>> import numpy as np
        >>> from fastad.streaming import ScoreSketch
        >>> rng = np.random.default_rng(0)
        >>> labels = rng.random(100_000) < 0.1
        >>> scores = rng.normal(size=100_000) + labels
        >>> sketch = ScoreSketch("20kB")
        >>> sketch.update(labels, scores)
        >>> second = sketch.refine(measure="tpr@0.01")
        >>> second.update(labels, scores)
        >>> print(second.result())
        0.0889347 (exact)
        """
        allowed = check_tolerance(tolerance)
        bound = bind_named(measure, operating_point)
        return Refinement.of(self.score_cells(), bound, allowed, self.memory)

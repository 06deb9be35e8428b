"""What is read of counted cells: tables, intervals, curves, and what a second pass must split."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.parameters import N_RESAMPLES, exact_number
from fastad._core.threads import thread_limit
from fastad._core.types import IntervalMethod, Point, Points
from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.points import fractions_of, need_both
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.measures.results import RocCurve
from fastad.measures.roc import ROC_CURVE
from fastad.streaming.sketches.bounded_methods import BoundedMeasureMethods, bind_any
from fastad.streaming.sketches.bounds import (
    allow_for_bounds,
    bounds_of,
    check_intervals,
    evaluate_cells,
    measures_to_bound,
    tied_intervals,
)
from fastad.streaming.sketches.cells import ScoreCells
from fastad.streaming.sketches.refinement import Refinement
from fastad.streaming.sketches.results import BoundedEvaluation, BoundedInterval, BoundedValue

if TYPE_CHECKING:
    from fastad.uncertainty.rates.bands import RocBand


class CellMeasures(BoundedMeasureMethods):
    """Measures of counted cells, by name and in tables, with bounds that are certain."""

    __slots__ = ()

    @property
    @abstractmethod
    def memory(self) -> int:
        """Bytes for the counts, and for the counts of a second pass."""

    @abstractmethod
    def score_cells(self) -> ScoreCells:
        """Return the cells with a labelled point."""

    def evaluate(
        self,
        measures: MeasureLike | Sequence[MeasureLike] | None = None,
        *,
        fpr: Point | Points = (0.01, 0.05),
        score_range: tuple[Point, Point] | None = None,
        confidence_level: Point | None = None,
        n_resamples: int = N_RESAMPLES,
        rng: int | np.random.Generator | None = None,
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
        score_range : (float, float), optional
            Lowest and highest possible score, for measures that scale the scores.
        confidence_level : float, optional
            Level of confidence intervals, which stand beside the bounds as `interval` has them.
        n_resamples : int, default 2000
            Number of replicates of each interval that is resampled.
        rng : int or numpy.random.Generator, optional
            Seed, or generator, of random numbers.

        Returns
        -------
        BoundedEvaluation
            ``result["auc"]`` is a `BoundedValue`; what the points leave undefined, and why, is in
            ``result.undefined``.
        """
        bound = measures_to_bound(measures, fpr, score_range)
        options = check_intervals(confidence_level, n_resamples, rng)
        cells = self.score_cells()
        return evaluate_cells(cells, bound, tied_intervals(cells, bound, options))

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

        The bounds say what the exact scores of these samples may show, and the interval what other
        samples may show: each of its ends is as much farther away as the exact value may be.
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
        return BoundedInterval(allow_for_bounds(interval, bounds, bound), bounds)

    def bounds(self, bound: BoundMeasure) -> BoundedValue:
        """Return a measure that was bound to its parameters, with its certain bounds."""
        return bounds_of(self.score_cells(), bound)

    def roc_curve(self) -> RocCurve:
        """Return the ROC curve through the edges of the cells, where its points are exact."""
        return ROC_CURVE.compute(self.score_cells().tied, drop_collinear=False)

    def roc_band(self) -> "RocBand":
        """Return the band in which the ROC curve of the exact scores certainly lies.

        Its confidence level is 1; ``tpr`` is the TPR of `roc_curve`.
        """
        # Here, because SciPy's functions take a sixth of a second to import.
        from fastad.uncertainty.rates.bands import RocBand

        cells = self.score_cells()
        counts = cells.tied
        need_both(counts, "roc_band")
        fpr = np.repeat(fractions_of(counts.fps, counts.n_normals), 2)[1:-1]
        tpr = fractions_of(counts.tps, counts.n_anomalies)
        below, above = np.repeat(tpr[:-1], 2), np.repeat(tpr[1:], 2)
        at_edges = np.repeat(tpr, 2)[1:-1]
        tied = np.repeat(cells.ties, 2)
        low, high = np.where(tied, at_edges, below), np.where(tied, at_edges, above)
        return RocBand.of(fpr, at_edges, low, high, 1.0, True)  # noqa: FBT003 - arrays

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
        exact = exact_number(tolerance, "tolerance")
        if exact < 0:
            raise InvalidInputError(f"tolerance must not be negative; found {tolerance}")
        declared = MEASURES.get(measure) if isinstance(measure, str) else None
        if declared is not None and declared.kind == "threshold":
            bound = bind_any(declared, operating_point)
        else:
            bound = bind(measure, operating_point)
        return Refinement(self.score_cells(), bound, exact, self.memory)

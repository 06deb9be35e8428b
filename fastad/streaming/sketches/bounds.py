"""The bounds of a measure on cells of scores."""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from fastad._core.parameters import check_range, check_rates
from fastad._core.text_tables import count_text
from fastad._core.types import IntVector, Point, Points, Threshold
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.evaluation.notes import ScoredRun, doubts_about
from fastad.measures.measure import (
    NOT_A_NUMBER,
    BoundMeasure,
    Extreme,
    Extremes,
    Measure,
    MeasureLike,
)
from fastad.measures.requests import rates_of, table_measures
from fastad.measures.thresholds import THRESHOLD_AT_FPR, as_flagged, last_point
from fastad.ordering.counts import OrderedCounts
from fastad.streaming.sketches.bins import rank_bits
from fastad.streaming.sketches.cells import ScoreCells
from fastad.streaming.sketches.results import BoundedEvaluation, BoundedValue
from fastad.uncertainty.results import Interval

if TYPE_CHECKING:
    from fastad.uncertainty.intervals.interval_estimation import InferenceOptions

# Sums in floating point are right to some ulps.
_ROUNDING = 2.0**-46


def extremes_of(measure: Measure[object]) -> Extremes:
    """Return where a measure takes its extremes; refuse one of which that is not known."""
    extremes = measure.extremes
    if measure.kind not in ("value", "threshold"):
        extremes = NOT_A_NUMBER
    if isinstance(extremes, str):
        raise InvalidInputError(
            f"measure must be one whose bounds are known; found {measure.name}: {extremes}"
        )
    return extremes


def uncertain_cells(cells: ScoreCells, bound: BoundMeasure) -> IntVector:
    """Return the cells on whose unknown scores a measure may depend."""
    measure = bound.measure
    positions = cells.uncertain(values=measure.reads_values or measure.kind == "threshold")
    return positions[cells.anomalies[positions] > 0] if extremes_of(measure).corners else positions


def bounds_of(cells: ScoreCells, bound: BoundMeasure, *, rounding: bool = True) -> BoundedValue:
    """Return a measure with its certain bounds, which allow for rounding.

    Raises `UndefinedMeasureError` where it is undefined whatever the scores are.
    """
    extremes = extremes_of(bound.measure)
    if bound.measure.reads_values and extremes.reads == "curve":
        cells = _legal(cells, bound)
    tied = cells.tied
    bound.check_weights(tied)
    if uncertain_cells(cells, bound).shape[0] == 0:
        value = bound.value(tied)
        return BoundedValue(value, value, value)
    if extremes.reads == "threshold":
        return _threshold_bounds(cells, tied, bound)
    curves = [cells.best, cells.worst]
    if extremes.reads == "confusion":
        curves += [tied, cells.tied_highest]
    ends = [bound.value_or_nan(counts) for counts in curves]
    of_best, of_worst = extremes.highest, extremes.lowest
    if bound.measure.higher_is_better is False:
        of_best, of_worst = of_worst, of_best
    for i, extreme in enumerate((of_best, of_worst)):
        if extreme is not None:
            ends[i] = _end(extreme, cells, tied, bound, ends[i])
    defined = [end for end in ends if not math.isnan(end)]
    if not defined:
        bound.value(tied)
        raise UndefinedMeasureError(f"{bound.key} is undefined in any order of the scores")
    low, high = min(defined), max(defined)
    if len(defined) < len(ends):
        # Some orders leave it undefined, and others near them may have any value.
        low, high = min(low, bound.bounds[0]), max(high, bound.bounds[1])
    value = bound.value_or_nan(tied)
    # What is read at a point has the same bits wherever the counts there are the same.
    is_sum = not extremes.exact and (low != high or not extremes.local)
    if rounding and (is_sum or cells.is_real):
        sizes = [abs(end) for end in (low, high) if math.isfinite(end)]
        # Differences of real weights cancel.
        slack = _ROUNDING * max([*sizes, float(cells.is_real)])
        lowest, highest = bound.bounds
        low, high = max(low - slack, min(low, lowest)), min(high + slack, max(high, highest))
    return BoundedValue(value, low, high)


def _legal(cells: ScoreCells, bound: BoundMeasure) -> ScoreCells:
    """Return cells of which nothing is infinite or beyond the range that scores must lie in.

    Cells as wide as that come from counts in bins, whose scores are float64.
    """
    if cells.codec.dtype != np.float64:
        return cells
    largest = Fraction(sys.float_info.max)
    lowest, highest = bound.parameters.get("score_range", (-largest, largest))
    low, high = float(lowest), float(highest)
    low = math.nextafter(low, math.inf) if low < lowest else low
    high = math.nextafter(high, -math.inf) if high > highest else high
    return cells.cut(*rank_bits(np.array([low, high])).tolist())


def _end(
    extreme: Extreme, cells: ScoreCells, tied: OrderedCounts, bound: BoundMeasure, of_curve: float
) -> float:
    """Return an extreme value that no curve attains, NaN where it is undefined."""
    try:
        value = extreme(tied, cells.ties, **bound.parameters)
    except UndefinedMeasureError:
        return math.nan
    return of_curve if value is None else value


def _threshold_bounds(cells: ScoreCells, tied: OrderedCounts, bound: BoundMeasure) -> BoundedValue:
    """Return a threshold at a rate with its bounds.

    It lies between the cell that the rate cuts and the one above it, whose points it flags.
    """
    value: Threshold = bound.measure.compute(tied, **bound.parameters)
    flagged = as_flagged(tied) if bound.measure.name == "threshold_at_rate" else tied
    point = last_point(flagged, bound.parameters[str(bound.measure.operating_point)])
    above = point - 1
    high = math.inf if above < 0 else tied.codec.decode_one(~int(cells.highest[above]))
    last = point == cells.lowest.shape[0]
    low = tied.codec.decode_one(~int(cells.lowest[above if last else point]))
    if (above < 0 or cells.ties[above]) and (last or cells.ties[point]):
        return BoundedValue(value, value, value)
    return BoundedValue(value, min(low, value), max(high, value))


def measures_to_bound(
    measures: MeasureLike | Sequence[MeasureLike] | None,
    fpr: Point | Points,
    score_range: tuple[Point, Point] | None,
) -> Sequence[BoundMeasure]:
    """Check the measures of a table; return them, and the thresholds at the rates in use."""
    ranges = None if score_range is None else check_range(score_range)
    bound = table_measures(measures, check_rates(fpr, "fpr"), ranges)
    for each in bound:
        extremes_of(each.measure)
    return [*bound, *threshold_measures(rates_of(bound))]


def threshold_measures(rates: Iterable[Fraction]) -> list[BoundMeasure]:
    """Return the thresholds at false positive rates, as measures of a table."""
    key, checked = THRESHOLD_AT_FPR.key_at, [(x, THRESHOLD_AT_FPR.check({"fpr": x})) for x in rates]
    return [BoundMeasure(key(rate), THRESHOLD_AT_FPR, each) for rate, each in checked]


def check_intervals(
    confidence_level: Point | None, n_resamples: int, rng: int | np.random.Generator | None
) -> "InferenceOptions | None":
    """Check the options of the intervals of a table; None where it has none."""
    if confidence_level is None:
        return None
    # Here, because SciPy's functions take a sixth of a second to import.
    from fastad.uncertainty.intervals.interval_estimation import check_options

    return check_options("auto", confidence_level, n_resamples, rng)


def allow_for_bounds(interval: Interval, value: BoundedValue, measure: BoundMeasure) -> Interval:
    """Return the interval for any order of the scores within cells, from the one for tied cells.

    Each end is as far from the lowest and highest value as it was from the value of tied cells.
    """
    if value.is_exact and value.value == interval.value:
        return interval
    lowest, highest = measure.bounds
    low = max(interval.low - (interval.value - value.low), min(lowest, interval.low))
    high = min(interval.high + (value.high - interval.value), max(highest, interval.high))
    return replace(interval, value=float(value.value), low=low, high=high)


def tied_intervals(
    cells: ScoreCells, measures: Sequence[BoundMeasure], options: "InferenceOptions | None"
) -> dict[str, Interval | UndefinedMeasureError]:
    """Return intervals with all points of a cell at the same score, or why there is none."""
    if options is None:
        return {}
    # Here, because SciPy's functions take a sixth of a second to import.
    from fastad.uncertainty.intervals.interval_estimation import intervals_of
    from fastad.uncertainty.samples.bootstrap import IndependentSample

    sample = IndependentSample.of(cells.tied)
    numbers = [bound for bound in measures if bound.measure.kind == "value"]
    found = zip(numbers, intervals_of(sample, numbers, options), strict=True)
    return {bound.key: each for bound, each in found}


def allowing_for_bounds(
    tied: Mapping[str, Interval | UndefinedMeasureError],
    values: Mapping[str, BoundedValue],
    measures: Sequence[BoundMeasure],
) -> dict[str, Interval]:
    """Return the intervals of values, from those for tied cells."""
    found = ((bound, tied.get(bound.key)) for bound in measures if bound.key in values)
    return {
        bound.key: allow_for_bounds(each, values[bound.key], bound)
        for bound, each in found
        if isinstance(each, Interval)
    }


def evaluate_cells(
    cells: ScoreCells,
    measures: Sequence[BoundMeasure],
    tied: Mapping[str, Interval | UndefinedMeasureError] | None = None,
) -> BoundedEvaluation:
    """Return a table of measures with their bounds, and intervals from those for tied cells."""
    values: dict[str, BoundedValue] = {}
    undefined: dict[str, str] = {}
    for bound in measures:
        try:
            values[bound.key] = bounds_of(cells, bound)
        except UndefinedMeasureError as error:
            undefined[bound.key] = str(error)
    n_distinct = len(cells.lowest) if cells.ties.all() else None
    # Below 0.5 whatever the order within cells.
    auc = float(values["auc"].high) if "auc" in values else math.nan
    run = ScoredRun("", n_distinct, *cells.class_sizes, auc)
    notes = doubts_about(run)
    few = [bound.unresolved(cells.tied) for bound in measures if bound.key in values]
    notes += dict.fromkeys(note for note in few if note is not None)
    if cells.joined:
        notes.append(
            "bins of merged counts that overlap were joined, to "
            f"{count_text(len(cells.lowest), 'range')} of scores in all"
        )
    intervals = allowing_for_bounds(tied or {}, values, measures)
    unreliable = ((key, each.reliability_note) for key, each in intervals.items())
    notes += [f"{key}: {note}" for key, note in unreliable if note is not None]
    missing = ((key, tied[key]) for key in values if tied and key in tied)
    notes += [f"{key}: {each}" for key, each in missing if isinstance(each, UndefinedMeasureError)]
    return BoundedEvaluation(values, undefined, notes, intervals)

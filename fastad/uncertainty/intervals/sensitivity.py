"""``contamination_sensitivity``: a measure against the fraction of hidden anomalies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import N_RESAMPLES, short_repr
from fastad._core.progress import LATE, ProgressOption, reporting
from fastad._core.results import Column, ShortRepr, TableResult, interval_columns
from fastad._core.text_tables import fixed_text, intervals_text
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, Count, FloatVector, IntervalMethod, Label, Point, Points
from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError
from fastad.measures.contamination import check_contamination, corrected, refuse_unidentified
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.points import need_both
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count
from fastad.ordering.hidden import ContaminatedCounts, largest_contamination
from fastad.uncertainty.intervals.interval import fractions_between
from fastad.uncertainty.intervals.interval_estimation import (
    InferenceOptions,
    check_options,
    intervals_of,
)
from fastad.uncertainty.intervals.methods import check_method
from fastad.uncertainty.results import Interval, warn_if_noted
from fastad.uncertainty.samples.bootstrap import IndependentSample


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContaminationSensitivity(ShortRepr, TableResult):
    """A measure at several fractions of anomalies hidden among the normals; prints as a table.

    Frames have a row for each fraction: ``contamination``, ``value``, ``low``, ``high`` and
    ``undefined``.

    Attributes
    ----------
    measure : str
        Key of the measure.
    contamination : numpy.ndarray of shape (n_fractions,)
        The fractions.
    value : numpy.ndarray of shape (n_fractions,)
        The corrected measure; NaN where it is undefined, not identified, or ruled out.
    low, high : numpy.ndarray of shape (n_fractions,)
        Ends of its interval; NaN without ``confidence_level``.
    undefined : sequence of (str or None)
        Why a value is NaN.
    interval_notes : sequence of (str or None)
        Why an interval is missing or unreliable.
    bounds : (float, float)
        Lowest and highest value from the lowest fraction to the highest, or to the largest that the
        data allow: where the true fraction lies in this range, they contain the measure but for
        the sampling error. `fastad.interval` of a range of fractions allows for that, too. NaN
        where there is none.
    largest : float
        The largest fraction that the data allow.
    confidence_level : float or None
        Confidence level of the intervals.
    n_anomalies, n_normals : int or float
        Numbers of samples as they are labelled.
    """

    measure: str
    contamination: FloatVector
    value: FloatVector
    low: FloatVector
    high: FloatVector
    undefined: Sequence[str | None]
    interval_notes: Sequence[str | None]
    bounds: tuple[float, float]
    largest: float
    confidence_level: float | None
    n_anomalies: Count
    n_normals: Count

    @property
    def notes(self) -> list[str]:
        """The bounds, what the data allow, and why values are undefined: a line each."""
        low, high = self.bounds
        lines = [f"bounds: {low:.4f} to {high:.4f}"]
        if self.largest < 1:
            lines.append(f"the data allow a fraction of at most {self.largest:.4g}")
        reasons: dict[str, list[float]] = {}
        for kind, notes in (("nan", self.undefined), ("interval", self.interval_notes)):
            for fraction, note in zip(self.contamination.tolist(), notes, strict=True):
                if note is not None:
                    reasons.setdefault(f"{kind} at {{}}: {note}", []).append(fraction)
        return lines + [
            text.replace("{}", ", ".join(f"{x:g}" for x in fractions), 1)
            for text, fractions in reasons.items()
        ]

    def _declare_columns(self) -> list[Column]:
        level = self.confidence_level
        ends = interval_columns(self.low, self.high, intervals_text(level or math.nan), ".4f")
        return [
            Column("contamination", self.contamination, "g"),
            Column("value", self.value, fixed_text, self.measure),
            *(ends if level is not None else ends[:2]),
            Column("undefined", self.undefined),
        ]


def contamination_sensitivity(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    measure: MeasureLike,
    contamination: Points,
    confidence_level: Point | None = None,
    method: IntervalMethod = "auto",
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
    **operating_point: Any,
) -> ContaminationSensitivity:
    """Correct a measure for each of several fractions of anomalies hidden among the normals.

    How far the result depends on what nobody knows: the fraction of anomalies that were not found.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    measure : str, Measure or BoundMeasure
        A key such as ``"tpr@0.001"``, or a name with its operating point, as for `fastad.interval`.
    contamination : sequence of floats
        Increasing fractions of anomalies among the samples that are labelled normal, in [0, 1).
        At 0 the labels are taken as they are.
    confidence_level : float, optional
        Put an interval beside every value, as `fastad.interval`; in (0, 1).
    method : str, default "auto"
        Method of the intervals, as in `fastad.interval`.
    n_resamples : int, default 2000
        Replicates of an interval that needs them; all fractions share them.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the replicates.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over replicates; the same seed gives the same intervals for any number.
    progress : callable or True, optional
        True draws a bar after a second, where rich or tqdm is installed. A function is called with
        the numbers of replicates done and to be done, about ten times a second.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    ContaminationSensitivity
        ``value`` for each fraction, and the ``bounds`` over their range; prints as a table.

    Raises
    ------
    InvalidInputError
        If no correction is derived for the measure, or the data rule out every fraction.
    UndefinedMeasureError
        If a class is absent.

    Warns
    -----
    LowCoverageWarning
        If an interval is missing or unreliable; the notes say at which fractions.

    See Also
    --------
    fastad.plot.ContaminationSensitivityDisplay : The picture.
    fastad.rank_scores : All measures at one fraction.

    Notes
    -----
    O(n log n) time, then O(n) for each fraction, and for each replicate at each fraction. The
    bounds are the values at both ends of the range where the measure is known to rise or to fall
    with the fraction; else the range between the ends is searched, too.

    References
    ----------
    .. [1] S. Jain, M. White and P. Radivojac, "Recovering true classifier performance in
       positive-unlabeled learning", 2017.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 95 + [1] * 5
    >>> scores = [*range(90), *range(91, 100, 2), *range(90, 100, 2)]
    >>> print(
    ...     fastad.uncertainty.contamination_sensitivity(
    ...         labels, scores, measure="auc", contamination=[0, 0.025, 0.05]
    ...     )
    ... )
    contamination     auc
    0              0.9684
    0.025          0.9804
    0.05           0.9931
    bounds: 0.9684 to 0.9931
    """
    bound = bind(measure, operating_point, contamination_sensitivity)
    fractions = _check_fractions(contamination)
    # Refused where no correction is derived.
    check_method(method, corrected(bound, max(fractions[-1], Fraction(1, 2))))
    options = None
    if confidence_level is not None:
        options = check_options(method, confidence_level, n_resamples, rng)
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        counts = count(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label)
        need_both(counts, bound.measure.name)
        options = None if options is None else replace(options, progress=report)
        result = sensitivity_of(counts, bound, fractions, options)
    warn_if_noted(bound.key, next(filter(None, result.interval_notes), None))
    return result


def _check_fractions(contamination: Points) -> list[Fraction]:
    try:
        entries = list(contamination)
    except TypeError:
        raise InvalidTypeError(
            f"contamination must be a sequence of numbers; found {type(contamination).__name__}"
        ) from None
    fractions = [check_contamination(x, f"contamination[{i}]") for i, x in enumerate(entries)]
    falling = [i for i in range(1, len(fractions)) if fractions[i] <= fractions[i - 1]]
    if not fractions or falling:
        found = (
            "none"
            if not fractions
            else (
                f"{len(falling)} that do not, the first at index {falling[0]}: "
                f"{short_repr(entries[falling[0]])}"
            )
        )
        raise InvalidInputError(f"contamination must contain increasing fractions; found {found}")
    return fractions


def sensitivity_of(
    counts: OrderedCounts,
    bound: BoundMeasure,
    fractions: Sequence[Fraction],
    options: InferenceOptions | None = None,
) -> ContaminationSensitivity:
    """Correct a measure for each of several fractions, given counts."""
    largest = largest_contamination(counts)
    values: dict[Fraction, float] = {}
    undefined: list[str | None] = []
    for fraction in fractions:
        value = _value(counts, bound, fraction, largest)
        undefined.append(value if isinstance(value, str) else None)
        if not isinstance(value, str):
            values[fraction] = value
    if not values and all(fraction > largest for fraction in fractions):
        raise InvalidInputError(
            f"contamination must contain a fraction that the data allow, at most {largest:.4g}; "
            f"found none, the lowest {float(fractions[0]):g}"
        )
    intervals: dict[Fraction, Interval] = {}
    notes: dict[Fraction, str | None] = {}
    if options is not None and values:
        measures = [corrected(bound, fraction) for fraction in values]
        results = intervals_of(IndependentSample.of(counts), measures, options)
        for fraction, result in zip(values, results, strict=True):
            if isinstance(result, Interval):
                intervals[fraction] = result
            notes[fraction] = (
                result.reliability_note if isinstance(result, Interval) else str(result)
            )
    low, high = (
        np.array([getattr(intervals[x], end) if x in intervals else math.nan for x in fractions])
        for end in ("low", "high")
    )
    at = np.array([float(fraction) for fraction in fractions])
    value_at = np.array([values.get(fraction, math.nan) for fraction in fractions])
    set_all_readonly(at, value_at, low, high)
    return ContaminationSensitivity(
        measure=bound.key,
        contamination=at,
        value=value_at,
        low=low,
        high=high,
        undefined=undefined,
        interval_notes=[notes.get(fraction) for fraction in fractions],
        bounds=_bounds(counts, bound, fractions, largest),
        largest=largest,
        confidence_level=None if options is None else float(options.level),
        n_anomalies=counts.n_anomalies,
        n_normals=counts.n_normals,
    )


def _value(
    counts: OrderedCounts, bound: BoundMeasure, fraction: Fraction, largest: float
) -> float | str:
    """Return the measure at a fraction, or why there is none."""
    if fraction > largest:
        return f"the data rule out fractions above {largest:.4g}"
    observed = ContaminatedCounts.of(counts, fraction)
    try:
        refuse_unidentified(observed, bound.measure, bound.parameters)
        return corrected(bound, fraction).value(observed)
    except UndefinedMeasureError as error:
        return str(error)


def _bounds(
    counts: OrderedCounts, bound: BoundMeasure, fractions: Sequence[Fraction], largest: float
) -> tuple[float, float]:
    """Return the extremes over the range of the fractions, as far as the data allow them."""
    low, high = fractions[0], min(fractions[-1], Fraction(largest))
    if high < low:
        return math.nan, math.nan
    inside = [fraction for fraction in fractions if fraction <= high]
    between = dict.fromkeys([*inside, *fractions_between(counts, bound, low, high)])
    values = [corrected(bound, fraction).value_or_nan(counts) for fraction in between]
    defined = [value for value in values if value == value]
    return min(defined, default=math.nan), max(defined, default=math.nan)

"""The evaluation of one detector on one set of labelled samples."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from fastad._core.buffers import ReusedBuffers
from fastad._core.progress import Progress, SharedProgress
from fastad._core.threads import slices, thread_map
from fastad._core.types import (
    ArrayLike,
    Count,
    IntVector,
    NanPolicy,
    OnError,
    ScoreVector,
    Threshold,
)
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.evaluation.few_normals import FewNormals, highest_normals
from fastad.evaluation.operating_point import OperatingPoint
from fastad.evaluation.parts import Parts, counts_by_kind, points_by_part, reads_corners
from fastad.evaluation.results import DetectorEvaluation
from fastad.evaluation.roc_points import roc_points
from fastad.measures.contamination import corrected_counts, refuse_impossible, refuse_unidentified
from fastad.measures.flagged import CONFUSION_AT, threshold_and_flagged
from fastad.measures.measure import BoundMeasure, Resolution
from fastad.measures.requests import OWN_THRESHOLD, rates_of, thresholds_of
from fastad.measures.results import Confusion
from fastad.measures.thresholds import THRESHOLD_AT_FPR
from fastad.ordering.counts import OrderedCounts, count_scores
from fastad.ordering.hidden import ContaminatedCounts
from fastad.ordering.labels import Labels, check_scores, rows_with_score, score_name
from fastad.uncertainty.results import Interval

if TYPE_CHECKING:
    from fastad.uncertainty.chance.chance_level import ChanceLevel
    from fastad.uncertainty.intervals.interval_estimation import InferenceOptions
    from fastad.uncertainty.samples.sampling import Sample, SamplingDesign

Result = TypeVar("Result")
_NO_THRESHOLD = "the samples of threshold_from leave the threshold undefined"


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationRequest:
    """Measures and options that are the same for each detector."""

    measures: Sequence[BoundMeasure]  # the measures, in the order of the table
    on_error: OnError  # what to do about invalid scores
    # Whether scores that are NaN are invalid, or their rows are left out.
    nan_policy: NanPolicy = "raise"
    intervals: "InferenceOptions | None" = None  # options of the intervals beside the values
    # Options of the resamples that tell the chance level of the values.
    chance: "InferenceOptions | None" = None
    # By detector the measures with a threshold of its own; empty where all have the same.
    own_measures: Mapping[str, Sequence[BoundMeasure]] = field(default_factory=dict)
    # Rule of the threshold of each measure, by key, that was chosen on other samples.
    chosen_elsewhere: Mapping[str, str] = field(default_factory=dict)
    # Progress reporter shared by all interval and chance-level computations.
    progress: SharedProgress | None = None
    # Fraction of anomalies among the normals, for which the measures are corrected.
    contamination: Fraction = Fraction(0)
    # Clusters or blocks of all rows, for intervals and chance levels.
    design: "SamplingDesign | None" = None
    keeps_curves: bool = False  # whether to keep points of the ROC curves, for a page
    parts: Parts | None = None  # kinds of anomalies and segments of normals
    rates: Sequence[Fraction] = field(init=False)  # false positive rates in use, each once
    # Thresholds in use that were given, by what stands behind the @ in keys, or that were chosen on
    # other samples, by their rule; None where these leave it undefined.
    thresholds: Mapping[str, Threshold | None] = field(init=False)
    # Numbers of samples that the measures need at their operating points.
    resolutions: Mapping[str, Resolution] = field(init=False)

    def __post_init__(self) -> None:
        rules = self.chosen_elsewhere
        given = thresholds_of(bound for bound in self.measures if bound.key not in rules)
        chosen = {
            rules[bound.key]: None if (x := bound.parameters["threshold"]) != x else x
            for bound in self.measures
            if bound.key in rules
        }
        object.__setattr__(self, "thresholds", {**given, **chosen})
        rates = rates_of(self.measures)
        if self.parts is not None and not rates and not self.thresholds:
            rates = list(self.parts.rates)
        object.__setattr__(self, "rates", rates)
        needed = {bound.key: bound.resolution for bound in self.measures}
        resolutions = {key: one for key, one in needed.items() if one is not None}
        object.__setattr__(self, "resolutions", resolutions)

    def of_detector(self, name: str) -> "EvaluationRequest":
        """Return the request of one detector."""
        if not self.own_measures:
            return self
        return replace(self, measures=self.own_measures[name], own_measures={})

    def of_rows(self, rows: IntVector) -> "EvaluationRequest":
        """Return the request for some of the rows in use."""
        return self if self.parts is None else replace(self, parts=self.parts.take(rows))

    @property
    def none_omitted(self) -> int | None:
        """Number of rows left out where none is, None where NaN is refused."""
        return 0 if self.nan_policy == "omit" else None

    @property
    def events_per_day(self) -> float | None:
        """Number of normal events a day, with kinds or segments."""
        return None if self.parts is None else self.parts.events_per_day

    @property
    def is_only_auc(self) -> bool:
        """True if nothing is evaluated but the area under the ROC curve."""
        names = [bound.measure.name for bound in self.measures]
        return names == ["roc_auc"] and self.is_plain

    @property
    def is_plain(self) -> bool:
        """True if there are no intervals and no chance levels."""
        return self.intervals is None and self.chance is None


def evaluate_detector(
    detector: tuple[str, ArrayLike], labels: Labels, request: EvaluationRequest
) -> DetectorEvaluation:
    """Order the scores of one detector and evaluate all measures."""
    name, y_score = detector
    request = request.of_detector(name)
    try:
        scores = check_scores(y_score, labels, name=score_name(name))
    except InvalidInputError as error:
        if request.on_error == "raise":
            raise
        return failed_evaluation(name, labels, request, str(error))
    kept = rows_with_score(scores) if request.nan_policy == "omit" else None
    if kept is None:
        return evaluate_scores(name, scores, labels, request)
    some = labels.keep(kept)
    request = request.of_rows(np.flatnonzero(kept))
    n_omitted = scores.shape[0] - some.values.shape[0]
    if n_omitted == scores.shape[0]:
        return without_scores(name, n_omitted, request)
    return replace(evaluate_scores(name, scores[kept], some, request), n_omitted=n_omitted)


def evaluate_scores(
    name: str, scores: ScoreVector, labels: Labels, request: EvaluationRequest
) -> DetectorEvaluation:
    """Order scores that have been checked and evaluate all measures."""
    if request.design is not None:
        design = request.design.among(labels)
        request = replace(request, design=None if design.is_independent else design)
    with ReusedBuffers():
        try:
            sample = _sample(name, scores, labels, request)
            counts = (
                count_scores(scores, labels, score_name(name)) if sample is None else sample.counts
            )
        except InvalidInputError as error:
            if request.on_error == "raise":
                raise
            return failed_evaluation(name, labels, request, str(error))
        evaluation = evaluate_measures(name, counts, request, sample)
        if counts.weighting == "real":
            evaluation = replace(evaluation, effective_sizes=labels.effective_sizes)
        if request.parts is None:
            return evaluation
        return _with_parts(evaluation, counts, scores, labels, request)


def _with_parts(
    evaluation: DetectorEvaluation,
    counts: OrderedCounts,
    scores: ScoreVector,
    labels: Labels,
    request: EvaluationRequest,
) -> DetectorEvaluation:
    """Add the rates of kinds and segments, and the measures of each kind, from the same order."""
    parts = request.parts
    assert parts is not None
    points = points_by_part(evaluation.operating_points, scores, labels, parts)
    by_kind: dict[Any, DetectorEvaluation] = {}
    kinds = parts.members.get("kinds")
    if kinds is not None and labels.n_anomalies:
        name, own = evaluation.detector, replace(request, parts=None, progress=None)
        reads_curve = own.is_plain and not evaluation.unresolved
        if labels.weights is None and reads_curve and all(map(reads_corners, own.measures)):
            keyed = bool(own.rates or own.thresholds)
            counted = counts_by_kind(counts, scores, kinds, points, keyed=keyed)
            evaluated = thread_map(lambda kind: evaluate_measures(name, kind[1](), own), counted)
            by_kind = {
                # Distinct scores are not counted.
                kind: replace(each, n_distinct=None)
                for (kind, _), each in zip(counted, evaluated, strict=True)
            }
        else:
            by_kind = {
                kind: evaluate_scores(name, scores[rows], labels.keep(rows), own)
                for kind, rows in kinds.beside(labels.values == 0)
            }
    points_by_kind = [point.by_kind() for point in points]
    return replace(
        evaluation,
        operating_points=points,
        by_kind={
            kind: replace(
                each,
                operating_points=[
                    point if of_kinds is None else of_kinds[kind]
                    for point, of_kinds in zip(points, points_by_kind, strict=True)
                ],
            )
            for kind, each in by_kind.items()
        },
    )


def _sample(
    name: str, scores: ScoreVector, labels: Labels, request: EvaluationRequest
) -> "Sample | None":
    """Return the sample with what intervals need to know of how rows were sampled."""
    if request.intervals is None and request.chance is None:
        return None
    # Here, as the functions of intervals are.
    from fastad.uncertainty.samples.sampling import INDEPENDENT, refuse_contamination, sample_of

    sample = sample_of(scores, labels, request.design or INDEPENDENT, score_name(name))
    refuse_contamination(sample, request.contamination)
    return sample


def evaluate_measures(
    name: str, counts: OrderedCounts, request: EvaluationRequest, sample: "Sample | None" = None
) -> DetectorEvaluation:
    """Evaluate all measures on ordered counts; undefined ones are NaN with the reason."""
    is_independent = request.design is None
    curve = roc_points(counts, is_independent=is_independent) if request.keeps_curves else None
    if request.contamination:
        try:
            refuse_impossible(counts, request.contamination)
        except InvalidInputError as error:
            if request.on_error == "raise":
                raise
            return _undefined(name, (counts.n_anomalies, counts.n_normals), request, str(error))
        counts = ContaminatedCounts.of(counts, request.contamination)
    evaluate_one = partial(_value_or_reason, counts=counts, name=name, on_error=request.on_error)
    # Sums over all points take as long as a part of the sort.
    is_long = len(slices(counts.fps.shape[0])) > 1
    outcomes = list((thread_map if is_long else map)(evaluate_one, request.measures))
    keys = [bound.key for bound in request.measures]
    values = {key: value for key, (value, _) in zip(keys, outcomes, strict=True)}
    undefined = {key: why for key, (_, why) in zip(keys, outcomes, strict=True) if why is not None}
    notes = {key: resolution.unresolved(counts) for key, resolution in request.resolutions.items()}
    unresolved = {key: note for key, note in notes.items() if note and key not in undefined}
    defined = [bound for bound in request.measures if bound.key not in undefined]
    intervals, interval_errors = _separated(_intervals(counts, defined, request, sample))
    # By chance, a number of samples is what it is.
    merits = [bound for bound in defined if bound.measure.higher_is_better is not None]
    chance, chance_errors = _separated(_chance(counts, merits, request, sample))
    return DetectorEvaluation(
        detector=name,
        n_anomalies=counts.n_anomalies,
        n_normals=counts.n_normals,
        tied_fraction=counts.n_tied / counts.n_points,
        by_key=values,
        undefined=undefined,
        unresolved=unresolved,
        few_normals=_few_normals(counts, values, unresolved, request),
        operating_points=[
            *(_operating_point(counts, rate) for rate in request.rates),
            *(_point_at(counts, name, x, request) for name, x in request.thresholds.items()),
        ],
        intervals=intervals,
        chance=chance,
        interval_errors={**chance_errors, **interval_errors},
        contamination=float(request.contamination),
        n_omitted=request.none_omitted,
        n_distinct=_n_distinct(counts),
        curve=curve,
        chosen_elsewhere=tuple(request.chosen_elsewhere),
        events_per_day=request.events_per_day,
    )


def _value_or_reason(
    bound: BoundMeasure, counts: OrderedCounts, name: str, on_error: OnError
) -> tuple[float, str | None]:
    """Return a value, or NaN and the reason why it is undefined."""
    try:
        return _value(bound, counts), None
    except UndefinedMeasureError as error:
        return float("nan"), str(error)
    except InvalidInputError as error:
        # A measure of values, which these scores violate.
        message = str(error).replace("y_score", score_name(name))
        if on_error == "raise":
            raise InvalidInputError(message, argument=score_name(name)) from None
        return float("nan"), message


def _n_distinct(counts: OrderedCounts) -> int | None:
    """Return the number of distinct scores; None where only a part of them was counted."""
    is_whole = counts.fps[0] == counts.tps[0] == 0 and (counts.fps[-1], counts.tps[-1]) == (
        counts.n_normals,
        counts.n_anomalies,
    )
    return int(counts.keys.shape[0]) if is_whole else None


def _few_normals(
    counts: OrderedCounts,
    values: Mapping[str, float],
    unresolved: Collection[str],
    request: EvaluationRequest,
) -> FewNormals | None:
    """Return the request for exact intervals of values that rest on few normals, if any do."""
    few = [x for x in request.measures if x.key in unresolved and x.fpr is not None]
    # They are of independent samples, and allow for no correction.
    if not few or request.contamination or request.design is not None:
        return None
    return FewNormals(highest_normals(counts), few, [values[bound.key] for bound in few])


def _intervals(
    counts: OrderedCounts,
    measures: Sequence[BoundMeasure],
    request: EvaluationRequest,
    sample: "Sample | None",
) -> "dict[str, Interval | UndefinedMeasureError]":
    """Return the interval of each value, or why it has none."""
    if request.intervals is None:
        return {}
    # Here, because SciPy's functions take a sixth of a second to import.
    from fastad.uncertainty.intervals.interval_estimation import intervals_of
    from fastad.uncertainty.samples.bootstrap import IndependentSample

    sample = sample or IndependentSample.of(counts)
    with _part(request.progress) as report:
        options = replace(request.intervals, progress=report)
        intervals = intervals_of(sample, measures, options)
    return {bound.key: interval for bound, interval in zip(measures, intervals, strict=True)}


def _chance(
    counts: OrderedCounts,
    measures: Sequence[BoundMeasure],
    request: EvaluationRequest,
    sample: "Sample | None",
) -> "dict[str, ChanceLevel | UndefinedMeasureError]":
    """Return the chance level of each value, or why that is undefined."""
    options = request.chance
    if options is None:
        return {}
    # Here, as the functions of intervals are.
    from fastad.uncertainty.chance.chance_level import chances_of
    from fastad.uncertainty.samples.bootstrap import IndependentSample

    sample = sample or IndependentSample(counts)
    with _part(request.progress) as report:
        levels = chances_of(
            sample, measures, n_resamples=options.n_resamples, key=options.key, progress=report
        )
    return {bound.key: level for bound, level in zip(measures, levels, strict=True)}


@contextmanager
def _part(progress: SharedProgress | None) -> Iterator[Progress | None]:
    """Yield the progress report of a part, which is done at the end of the block."""
    report = None if progress is None else progress.part()
    yield report
    if report is not None:
        report(1, 1)


def _separated(
    results: Mapping[str, Result | UndefinedMeasureError],
) -> tuple[dict[str, Result], dict[str, str]]:
    """Return the results that are defined, and the reasons why others are not."""
    undefined = {x: each for x, each in results.items() if isinstance(each, UndefinedMeasureError)}
    defined = {x: cast("Result", each) for x, each in results.items() if x not in undefined}
    return defined, {key: str(error) for key, error in undefined.items()}


def _value(bound: BoundMeasure, counts: OrderedCounts) -> float:
    bound.check_weights(counts)
    if isinstance(counts, ContaminatedCounts):
        refuse_unidentified(counts, bound.measure, bound.parameters)
    return bound.value(counts)


def _operating_point(counts: OrderedCounts, rate: Fraction) -> OperatingPoint:
    try:
        if isinstance(counts, ContaminatedCounts):
            refuse_unidentified(counts, THRESHOLD_AT_FPR, {"fpr": rate})
            rising = corrected_counts(counts, THRESHOLD_AT_FPR, {"fpr": rate})
            threshold, _ = threshold_and_flagged(rising, rate)
            # What it flags, as where it is given: on the curve that rises there may be no point
            # with as many samples as reach it.
            flagged = _flagged(counts, threshold)
        else:
            threshold, flagged = threshold_and_flagged(counts, rate)
    except UndefinedMeasureError as error:
        return OperatingPoint(float(rate), None, None, None, str(error))
    return OperatingPoint(float(rate), threshold, flagged.tp, flagged.fp, None)


def _point_at(
    counts: OrderedCounts, name: str, threshold: Threshold | None, request: EvaluationRequest
) -> OperatingPoint:
    origin = _origin(name, request)
    if threshold is None:
        return OperatingPoint(None, None, None, None, _NO_THRESHOLD, **origin)
    flagged = _flagged(counts, threshold)
    return OperatingPoint(None, threshold, flagged.tp, flagged.fp, **origin)


def _origin(name: str, request: EvaluationRequest) -> dict[str, Any]:
    """Return the columns that tell where a threshold comes from."""
    rule = name if name in request.chosen_elsewhere.values() else None
    return {"is_own": name == OWN_THRESHOLD, "rule": rule}


def _flagged(counts: OrderedCounts, threshold: Threshold) -> Confusion:
    at = {"threshold": threshold, "k": None}
    flagged: Confusion = CONFUSION_AT.compute(corrected_counts(counts, CONFUSION_AT, at), **at)
    return flagged


def failed_evaluation(
    name: str, labels: Labels, request: EvaluationRequest, message: str
) -> DetectorEvaluation:
    """Return NaN for every measure, with one reason."""
    weights = (
        np.ones(labels.values.shape[0], np.int64) if labels.weights is None else labels.weights
    )
    anomalous = labels.values == 1
    sizes = weights[anomalous].sum().item(), weights[~anomalous].sum().item()
    return replace(_undefined(name, sizes, request, message), error=message)


def without_scores(name: str, n_omitted: int, request: EvaluationRequest) -> DetectorEvaluation:
    """Return NaN for every measure where each score is."""
    message = f"every measure is undefined without scores: all {n_omitted} are NaN"
    return replace(_undefined(name, (0, 0), request, message), n_omitted=n_omitted)


def _undefined(
    name: str, sizes: tuple[Count, Count], request: EvaluationRequest, message: str
) -> DetectorEvaluation:
    keys = [bound.key for bound in request.measures]
    return DetectorEvaluation(
        detector=name,
        n_anomalies=sizes[0],
        n_normals=sizes[1],
        tied_fraction=float("nan"),
        by_key=dict.fromkeys(keys, float("nan")),
        undefined=dict.fromkeys(keys, message),
        operating_points=[
            *(OperatingPoint(float(rate), None, None, None, message) for rate in request.rates),
            *(
                OperatingPoint(None, x, None, None, message, **_origin(name, request))
                for name, x in request.thresholds.items()
            ),
        ],
        contamination=float(request.contamination),
        n_omitted=request.none_omitted,
        chosen_elsewhere=tuple(request.chosen_elsewhere),
        events_per_day=request.events_per_day,
    )

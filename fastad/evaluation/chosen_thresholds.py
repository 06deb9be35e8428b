"""Thresholds of an evaluation that are chosen on other samples, such as validation data."""

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

from fastad._core.buffers import ReusedBuffers
from fastad._core.parameters import nearest_float, short_repr
from fastad._core.text_tables import some_of
from fastad._core.types import ArrayLike, Label, Threshold
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.evaluation.detector import EvaluationRequest
from fastad.measures.best_thresholds import BEST_F1, PRECISION_AT_RECALL, RECALL_AT_PRECISION
from fastad.measures.costs import DETECTION_COST, MIN_DETECTION_COST
from fastad.measures.flagged import F1_AT_FPR, PRECISION_AT_FPR
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.points import at_fraction, first_reaching
from fastad.measures.rates import RATES
from fastad.measures.results import ValueAtThreshold
from fastad.measures.roc import FPR_AT_TPR, TPR_AT_FPR
from fastad.measures.thresholds import THRESHOLD_AT_FPR
from fastad.ordering.counts import OrderedCounts, count_scores
from fastad.ordering.labels import (
    Labels,
    check_labels,
    check_scores,
    named_scores,
    rows_with_score,
    score_name,
)

_MAX_NAMES = 4
# Each measure as a function of a given threshold.
_AT_THRESHOLD: Mapping[str, Measure[Any]] = MappingProxyType(
    {
        BEST_F1.name: RATES["f1"],
        F1_AT_FPR.name: RATES["f1"],
        PRECISION_AT_FPR.name: RATES["precision"],
        PRECISION_AT_RECALL.name: RATES["precision"],
        RECALL_AT_PRECISION.name: RATES["tpr"],
        TPR_AT_FPR.name: RATES["tpr"],
        FPR_AT_TPR.name: RATES["fpr"],
        MIN_DETECTION_COST.name: DETECTION_COST,
    }
)


def check_pair(threshold_from: Any) -> None:
    """Check that labels and scores were given; their values are checked as in a call."""
    if not isinstance(threshold_from, tuple) or len(threshold_from) != 2:
        raise InvalidInputError(
            f"threshold_from must be a tuple (y_true, y_score); found {short_repr(threshold_from)}"
        )


def with_chosen_thresholds(
    request: EvaluationRequest,
    threshold_from: tuple[Any, Any],
    detectors: Collection[str],
    pos_label: Label | None,
) -> EvaluationRequest:
    """Return the request with the measures of each detector at thresholds from other samples."""
    rules = {x.key: _rule_of(x) for x in request.measures if _chooses_threshold(x)}
    if not rules:
        keys = some_of([bound.key for bound in request.measures], _MAX_NAMES)
        raise InvalidInputError(
            "threshold_from must be given with measures that choose a threshold, such as "
            f"'f1_best' or 'tpr@0.01'; found {keys}"
        )
    y_true, y_score = threshold_from
    try:
        labels = check_labels(y_true, pos_label=pos_label)
        scores = dict(named_scores(y_score, labels.row_index))
        if scores.keys() != set(detectors):
            raise InvalidInputError(
                f"y_score must have the detectors {some_of(list(detectors), _MAX_NAMES)}; found "
                f"{some_of(list(scores), _MAX_NAMES)}"
            )
        own = {
            name: _measures_or_error(name, scores[name], labels, request.of_detector(name))
            for name in detectors
        }
    except InvalidInputError as error:
        raise InvalidInputError(
            f"threshold_from must have labels and scores of the same detectors; found that {error}"
        ) from None
    first = next(iter(own.values()))
    return replace(request, measures=first, own_measures=own, chosen_elsewhere=rules)


def _measures_or_error(
    name: str, y_score: ArrayLike, labels: Labels, request: EvaluationRequest
) -> list[BoundMeasure]:
    """Return the measures of a detector, undefined ones where an error of it is recorded."""
    try:
        return _measures_of(name, y_score, labels, request)
    except InvalidInputError as error:
        if request.on_error == "raise":
            raise
        reason = f"the samples of threshold_from are invalid: {error}"
        return [
            _without_threshold(bound, reason) if _chooses_threshold(bound) else bound
            for bound in request.measures
        ]


def _measures_of(
    name: str, y_score: ArrayLike, labels: Labels, request: EvaluationRequest
) -> list[BoundMeasure]:
    """Return the measures of a detector at the thresholds that they choose on other samples."""
    scores = check_scores(y_score, labels, name=score_name(name))
    kept = rows_with_score(scores) if request.nan_policy == "omit" else None
    if kept is not None:
        scores, labels = scores[kept], labels.keep(kept)
    with ReusedBuffers():
        counts = count_scores(scores, labels, score_name(name))
        return [
            _at_chosen_threshold(bound, counts) if _chooses_threshold(bound) else bound
            for bound in request.measures
        ]


def _chooses_threshold(bound: BoundMeasure) -> bool:
    """Return whether a measure is the value at a threshold that it chooses."""
    return bound.measure.name in _AT_THRESHOLD


def _rule_of(bound: BoundMeasure) -> str:
    """Return the rule by which a measure chooses its threshold; measures at an FPR share one.

    A rate at a threshold knows the prevalence of the samples alone; another one is refused.
    """
    if bound.parameters.get("prevalence") is not None and bound.measure is not MIN_DETECTION_COST:
        raise InvalidInputError(
            "prevalence must not be given with threshold_from, because rates at a threshold are "
            f"of the samples; found one for {bound.key!r}"
        )
    return bound.key if bound.fpr is None else f"fpr {nearest_float(bound.fpr):g}"


def _at_chosen_threshold(bound: BoundMeasure, counts: OrderedCounts) -> BoundMeasure:
    """Return the measure at the threshold that it chooses on counts, under the same key.

    Where they leave the threshold undefined it is NaN, and the measure undefined for that reason.
    """
    try:
        return _at(bound, _threshold(bound, counts))
    except UndefinedMeasureError as error:
        return _without_threshold(bound, f"{error}, in threshold_from")


def _without_threshold(bound: BoundMeasure, reason: str) -> BoundMeasure:
    undefined = _at(bound, math.inf)
    return replace(
        undefined,
        measure=replace(undefined.measure, compute=partial(_raise, reason=reason)),
        parameters={**undefined.parameters, "threshold": math.nan},
    )


def _threshold(bound: BoundMeasure, counts: OrderedCounts) -> Threshold:
    if bound.fpr is not None:
        checked = THRESHOLD_AT_FPR.check({"fpr": bound.fpr})
        threshold: Threshold = THRESHOLD_AT_FPR.compute(counts, **checked)
        return threshold
    result = bound.measure.compute(counts, **bound.parameters)
    if isinstance(result, ValueAtThreshold):
        return result.threshold
    goal = at_fraction(bound.parameters["tpr"], counts.n_anomalies)
    return counts.threshold(first_reaching(counts.tps, *goal))


def _at(bound: BoundMeasure, threshold: Threshold) -> BoundMeasure:
    measure = _AT_THRESHOLD[bound.measure.name]
    shared = {name: x for name, x in bound.parameters.items() if name in measure.parameters}
    return replace(measure.bind(threshold=threshold, **shared), key=bound.key)


def _raise(counts: OrderedCounts, *, reason: str, **parameters: Any) -> NoReturn:
    raise UndefinedMeasureError(reason)

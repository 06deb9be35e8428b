"""Thresholds of an evaluation that are chosen on other samples, such as validation data."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from fastad._core.buffers import ReusedBuffers
from fastad._core.parameters import short_repr
from fastad._core.text_tables import some_of
from fastad._core.types import ArrayLike, Label
from fastad.errors import InvalidInputError
from fastad.evaluation.detector import EvaluationRequest
from fastad.measures.chosen_thresholds import at_chosen_threshold, chooses_threshold, rule_of
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import count_scores
from fastad.ordering.labels import Labels, check_labels, check_scores, rows_with_score
from fastad.ordering.named_scores import named_scores, score_name

_MAX_NAMES = 4


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
    rules = {x.key: rule_of(x) for x in request.measures if chooses_threshold(x)}
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
            name: _measures_of(name, scores[name], labels, request.of_detector(name))
            for name in detectors
        }
    except InvalidInputError as error:
        raise InvalidInputError(
            f"threshold_from must have labels and scores of the same detectors; found that {error}"
        ) from None
    first = next(iter(own.values()))
    return replace(request, measures=first, own_measures=own, chosen_elsewhere=rules)


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
            at_chosen_threshold(bound, counts) if chooses_threshold(bound) else bound
            for bound in request.measures
        ]

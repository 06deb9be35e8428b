"""The answers to questions about one detector on one set of points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._core.buffers import ReusedBuffers
from fastad._core.types import OnError, ScoreVector
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.evaluation.results import DetectorEvaluation, OperatingPoint
from fastad.measures.operating import threshold_and_flagged
from fastad.measures.requests import Question, Questions
from fastad.ordering.counts import OrderedCounts, count_scores
from fastad.ordering.labels import Labels, check_scores
from fastad.ordering.named_scores import score_name
from fastad.uncertainty.results import Interval

if TYPE_CHECKING:
    from fastad.uncertainty.chance import ChanceLevel
    from fastad.uncertainty.estimation import Wanted

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class Inquiry:
    """All that is asked about each detector.

    Attributes
    ----------
    questions : Questions
        The measures.
    on_error : {"raise", "record"}
        What to do about bad scores.
    intervals : Wanted or None
        Which intervals stand beside the values.
    chance : Wanted or None
        Which resamples tell what the values are worth by chance, where that is asked.
    """

    questions: Questions
    on_error: OnError
    intervals: "Wanted | None" = None
    chance: "Wanted | None" = None

    @property
    def is_one_area(self) -> bool:
        """Whether nothing is asked but the area under the ROC."""
        names = [question.measure.name for question in self.questions.each]
        return names == ["roc_auc"] and self.intervals is None and self.chance is None


def evaluate_detector(
    detector: tuple[str, npt.ArrayLike],
    labels: Labels,
    inquiry: Inquiry,
) -> DetectorEvaluation:
    """Order the scores of one detector and answer all questions about them."""
    name, y_score = detector
    try:
        scores = check_scores(y_score, labels, name=score_name(name))
    except InvalidInputError as error:
        if inquiry.on_error == "raise":
            raise
        return failed(name, labels, inquiry.questions, str(error))
    return evaluate_scores(name, scores, labels, inquiry)


def evaluate_scores(
    name: str,
    scores: ScoreVector,
    labels: Labels,
    inquiry: Inquiry,
) -> DetectorEvaluation:
    """Order scores that have passed the door and answer all questions about them."""
    with ReusedBuffers():
        try:
            counts = count_scores(scores, labels, score_name(name))
        except InvalidInputError as error:
            if inquiry.on_error == "raise":
                raise
            return failed(name, labels, inquiry.questions, str(error))
        return answer_all(name, counts, inquiry)


def answer_all(name: str, counts: OrderedCounts, inquiry: Inquiry) -> DetectorEvaluation:
    """Answer all questions from ordered counts; what is undefined is NaN with its reason."""
    questions = inquiry.questions
    values: dict[str, float] = {}
    undefined: dict[str, str] = {}
    for question in questions.each:
        try:
            values[question.label] = _answer(question, counts)
        except UndefinedMeasureError as error:
            values[question.label] = float("nan")
            undefined[question.label] = str(error)
        except InvalidInputError as error:
            # A measure of values, which these scores violate.
            message = str(error).replace("y_score", score_name(name))
            if inquiry.on_error == "raise":
                raise InvalidInputError(message) from None
            values[question.label] = float("nan")
            undefined[question.label] = message
    defined = [question for question in questions.each if question.label not in undefined]
    intervals = _intervals(counts, defined, inquiry.intervals)
    chance = _chance(counts, defined, inquiry.chance)
    return DetectorEvaluation(
        detector=name,
        n_anomalies=counts.n_anomalies,
        n_normals=counts.n_normals,
        tied_share=counts.n_tied / counts.n_points,
        by_label=values,
        undefined=undefined,
        operating_points=[_operating_point(counts, rate) for rate in questions.rates],
        intervals=_defined(intervals),
        chance=_defined(chance),
        interval_errors={**_reasons(chance), **_reasons(intervals)},
    )


def _intervals(
    counts: OrderedCounts, questions: Sequence[Question], wanted: "Wanted | None"
) -> "dict[str, Interval | UndefinedMeasureError]":
    """Return the interval of each value, or why it has none."""
    if wanted is None:
        return {}
    # Here, because SciPy's functions take a sixth of a second to import.
    from fastad.uncertainty.asked import ask_question
    from fastad.uncertainty.estimation import intervals_of

    found = intervals_of(counts, [ask_question(question) for question in questions], wanted)
    return {question.label: one for question, one in zip(questions, found, strict=True)}


def _chance(
    counts: OrderedCounts, questions: Sequence[Question], wanted: "Wanted | None"
) -> "dict[str, ChanceLevel | UndefinedMeasureError]":
    """Return what each value is worth by chance, or why that is undefined."""
    if wanted is None:
        return {}
    # Here, as the functions of intervals are.
    from fastad.uncertainty.asked import ask_question
    from fastad.uncertainty.chance import chances_of

    found = chances_of(
        counts,
        [ask_question(question) for question in questions],
        n_resamples=wanted.n_resamples,
        key=wanted.key,
    )
    return {question.label: one for question, one in zip(questions, found, strict=True)}


def _defined(found: "Mapping[str, Found | UndefinedMeasureError]") -> "dict[str, Found]":
    return {
        label: one for label, one in found.items() if not isinstance(one, UndefinedMeasureError)
    }


def _reasons(found: Mapping[str, Any]) -> dict[str, str]:
    return {
        label: str(one) for label, one in found.items() if isinstance(one, UndefinedMeasureError)
    }


def _answer(question: Question, counts: OrderedCounts) -> float:
    if question.measure.weights == "whole" and counts.weighting == "real":
        raise UndefinedMeasureError(
            f"{question.measure.name} takes whole sample weights only; found other values"
        )
    return float(question.measure.compute(counts, **question.parameters))


def _operating_point(counts: OrderedCounts, rate: Fraction) -> OperatingPoint:
    try:
        threshold, flagged = threshold_and_flagged(counts, rate)
    except UndefinedMeasureError as error:
        return OperatingPoint(float(rate), None, None, None, str(error))
    return OperatingPoint(float(rate), threshold, flagged.tp, flagged.fp, None)


def failed(name: str, labels: Labels, questions: Questions, message: str) -> DetectorEvaluation:
    """Return NaN for every question, with one reason."""
    weights = (
        np.ones(labels.values.shape[0], np.int64) if labels.weights is None else labels.weights
    )
    anomalous = labels.values == 1
    return DetectorEvaluation(
        detector=name,
        n_anomalies=weights[anomalous].sum().item(),
        n_normals=weights[~anomalous].sum().item(),
        tied_share=float("nan"),
        by_label=dict.fromkeys(questions.labels, float("nan")),
        undefined=dict.fromkeys(questions.labels, message),
        operating_points=[
            OperatingPoint(float(rate), None, None, None, message) for rate in questions.rates
        ],
        error=message,
    )

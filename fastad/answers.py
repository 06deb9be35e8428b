"""The answers to questions about one detector on one set of points."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fastad._scratch import ReusedBuffers
from fastad._types import OnError, ScoreVector
from fastad._validate import Labels, check_scores
from fastad.counts import OrderedCounts, count_scores
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.operating import threshold_and_flagged
from fastad.registry import Question, Questions
from fastad.report import DetectorEvaluation, OperatingPoint


def shown_name(detector: str) -> str:
    """Return how messages name the scores of a detector."""
    return "y_score" if detector == "score" else f"y_score[{detector!r}]"


def evaluate_detector(
    detector: tuple[str, npt.ArrayLike],
    labels: Labels,
    questions: Questions,
    on_error: OnError,
) -> DetectorEvaluation:
    """Order the scores of one detector and answer all questions about them."""
    name, y_score = detector
    try:
        scores = check_scores(y_score, labels, name=shown_name(name))
    except InvalidInputError as error:
        if on_error == "raise":
            raise
        return failed(name, labels, questions, str(error))
    return evaluate_scores(name, scores, labels, questions, on_error)


def evaluate_scores(
    name: str,
    scores: ScoreVector,
    labels: Labels,
    questions: Questions,
    on_error: OnError,
) -> DetectorEvaluation:
    """Order scores that have passed the door and answer all questions about them."""
    with ReusedBuffers():
        try:
            counts = count_scores(scores, labels, shown_name(name))
        except InvalidInputError as error:
            if on_error == "raise":
                raise
            return failed(name, labels, questions, str(error))
        return answer_all(name, counts, questions, on_error)


def answer_all(
    name: str, counts: OrderedCounts, questions: Questions, on_error: OnError
) -> DetectorEvaluation:
    """Answer all questions from ordered counts; what is undefined is NaN with its reason."""
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
            message = str(error).replace("y_score", shown_name(name))
            if on_error == "raise":
                raise InvalidInputError(message) from None
            values[question.label] = float("nan")
            undefined[question.label] = message
    return DetectorEvaluation(
        detector=name,
        n_anomalies=counts.n_anomalies,
        n_normals=counts.n_normals,
        tied_share=counts.n_tied / counts.n_points,
        by_label=values,
        undefined=undefined,
        operating_points=[_operating_point(counts, rate) for rate in questions.rates],
    )


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

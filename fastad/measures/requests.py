"""From labels and names of measures to measures at operating points."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

from fastad._core.parameters import check_count, check_positive, exact_point
from fastad.errors import InvalidInputError
from fastad.measures.measure import Measure
from fastad.measures.registry import MEASURES

_EXAMPLES = {"rate": Fraction(1, 100), "count": 10, "percentile": 90, "positive": 10}


@dataclass(frozen=True, slots=True)
class Question:
    """A measure at one operating point, under the label that it has in a table."""

    label: str
    measure: Measure
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Questions:
    """All questions of one table.

    Attributes
    ----------
    each : sequence of Question
        In the order of the table.
    """

    each: Sequence[Question]

    @property
    def labels(self) -> list[str]:
        """Labels of the values."""
        return [question.label for question in self.each]

    @cached_property
    def rates(self) -> list[Fraction]:
        """False positive rates in use, each once."""
        rates = (question.parameters.get("fpr") for question in self.each)
        return list(dict.fromkeys(rate for rate in rates if rate is not None))


# Only values stand in tables. Longer prefixes come first: "auc@tpr0.9" is not "auc@".
_VALUES = sorted(
    (row for row in MEASURES.values() if row.kind == "value"),
    key=lambda row: len(row.prefix),
    reverse=True,
)


def standard_questions(fpr: Sequence[Fraction]) -> Questions:
    """Return the default set: what needs no operating point, then the rest for each one."""
    standard = [row for row in MEASURES.values() if row.standard]
    whole = [Question(row.label, row) for row in standard if row.operating is None]
    parts = [_ask(row, x) for x in fpr for row in standard if row.operating is not None]
    return _distinct(whole + parts)


def parse_questions(measures: str | Iterable[str], fpr: Sequence[Fraction]) -> Questions:
    """Read labels ("tpr@0.01") and names ("tpr_at_fpr", at each ``fpr``) of measures."""
    try:
        texts = [measures] if isinstance(measures, str) else list(measures)
    except TypeError:  # an array without axes says that it is iterable
        raise TypeError(
            f"measures must be a sequence of texts; found {type(measures).__name__}"
        ) from None
    if not texts:
        raise InvalidInputError(
            "measures must name at least one measure; found none", argument="measures"
        )
    return _distinct([question for text in texts for question in _parse(text, fpr)])


def with_range(questions: Questions, score_range: tuple[Fraction, Fraction] | None) -> Questions:
    """Give the range of the scores to the measures that take it."""
    lacking = [question.label for question in questions.each if question.measure.ranged]
    if lacking and score_range is None:
        raise InvalidInputError(
            f"score_range must be given for {', '.join(lacking)}; found None",
            argument="score_range",
        )
    return Questions(
        [
            replace(question, parameters={**question.parameters, "score_range": score_range})
            if question.measure.ranged
            else question
            for question in questions.each
        ]
    )


def _parse(text: str, fpr: Sequence[Fraction]) -> list[Question]:
    if not isinstance(text, str):
        raise TypeError(f"measures must hold texts; found {type(text).__name__}")
    for row in _VALUES:
        if text == row.name:
            points = fpr if row.points is None else row.points
            if row.points == ():
                raise InvalidInputError(
                    f"measures: {text!r} needs its {row.operating} in the label, "
                    f"such as {example(row)!r}"
                )
            return [_ask(row, x) for x in points] if row.operating else [Question(row.label, row)]
    question = read_label(text)
    if question is not None:
        return [question]
    known = ", ".join(example(row) for row in MEASURES.values() if row.kind == "value")
    raise InvalidInputError(
        f"measures must hold labels such as {known}, or names of functions that return a value; "
        f"found {text!r}",
        argument="measures",
    )


def read_label(text: str) -> Question | None:
    """Return the question under a label such as "tpr@0.01", or None where it is no label."""
    for row in _VALUES:
        if text == row.label and (row.operating is None or row.points == (None,)):
            return Question(row.label, row)
        number = text[len(row.prefix) :]
        if row.operating and text.startswith(row.prefix) and number[:1].isdigit():
            return _ask(row, _read_point(row, number, text))
    return None


def _read_point(row: Measure, number: str, text: str) -> Fraction | int:
    name = f"the operating point of {text!r}"
    try:
        # By way of a float: a fraction would also read "1/2", and "1e999999999" for ever.
        point = Fraction(repr(float(number)))
    except ValueError:
        raise InvalidInputError(f"measures: {text!r} does not end in a finite number") from None
    if row.domain == "count":
        if point.denominator != 1:
            raise InvalidInputError(f"{name} must be a whole number; found {number}", argument=name)
        return check_count(point.numerator, name)
    if row.domain == "positive":
        return check_positive(point, name)
    return exact_point(point, name, highest=100 if row.domain == "percentile" else 1)


def _ask(row: Measure, point: Any) -> Question:
    assert row.operating is not None
    return Question(row.label_at(point), row, {} if point is None else {row.operating: point})


def example(row: Measure) -> str:
    """Return a label of a measure, at an operating point where it needs one."""
    return row.label_at(row.points[0] if row.points else _EXAMPLES[row.domain])


def _distinct(questions: list[Question]) -> Questions:
    """Leave out repetitions; two points with one label would overwrite each other."""
    seen: dict[str, Question] = {}
    for question in questions:
        known = seen.setdefault(question.label, question)
        if known.parameters != question.parameters:
            _refuse_alike(repr(question.label))
    rates: dict[str, Fraction] = {}
    for question in seen.values():
        rate = question.parameters.get("fpr")
        if rate is not None and rates.setdefault(f"{float(rate):g}", rate) != rate:
            _refuse_alike(f"{float(rate):g}")
    return Questions(list(seen.values()))


def _refuse_alike(shown: str) -> NoReturn:
    raise InvalidInputError(
        f"operating points of fpr and measures must differ in six digits; found two for {shown}"
    )

"""What is asked about: one number, at one operating point."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastad._core.parameters import check_threshold, short_repr
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.measure import Measure
from fastad.measures.operating import confusion_at
from fastad.measures.registry import MEASURES
from fastad.measures.requests import Question, parse_questions
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.rates import RATES

# They would draw anew in every resample.
_RANDOM = ("n_repeats", "rng")


@dataclass(frozen=True, slots=True)
class Asked:
    """A measure with all that it takes but the data.

    Attributes
    ----------
    label : str
        Its label in tables.
    measure : Measure
        What is known of it.
    options : mapping
        Operating point and options.
    value : callable
        The number, from ordered counts.
    """

    label: str
    measure: Measure
    options: Mapping[str, Any]
    value: Callable[[OrderedCounts], float]

    def value_or_nan(self, counts: OrderedCounts) -> float:
        """Return the number, NaN where the counts leave it undefined."""
        try:
            return self.value(counts)
        except UndefinedMeasureError:
            return math.nan

    @property
    def reads_ranks(self) -> bool:
        """Whether only the order of the scores counts, and not their unit."""
        return self.measure.needs != "values" and self.measure.name not in RATES

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest number that it can be."""
        normalize = self.options.get("normalize", "width")
        if normalize == "mcclish":
            return 0.5, 1.0
        if normalize == "none":
            ends = ("min_fpr", "fpr") if "fpr" in self.options else ("min_tpr", "max_tpr")
            low, high = (
                self.options.get(name, default) for name, default in zip(ends, (0, 1), strict=True)
            )
            return 0.0, float(high) - float(low)
        return self.measure.bounds


def ask(measure: str, options: Mapping[str, Any]) -> Asked:
    """Read a label ("tpr@0.01"), or a name with its operating point ("tpr_at_fpr", fpr=0.01)."""
    if not isinstance(measure, str):
        raise TypeError(f"measure must be a text; found {type(measure).__name__}")
    if measure in RATES:
        return _rate(RATES[measure], options)
    if measure in MEASURES:
        row = MEASURES[measure]
        if row.kind != "value":
            raise InvalidInputError(
                f"measure must return one number; {measure} does not", argument="measure"
            )
        return _asked(row, options)
    question = parse_questions([measure], []).each[0]
    twice = [name for name in question.parameters if name in options]
    if twice:
        raise InvalidInputError(
            f"{twice[0]} stands in the measure {measure!r} already; found {twice[0]}="
            f"{short_repr(options[twice[0]])} too"
        )
    return _asked(question.measure, {**question.parameters, **options})


def ask_question(question: Question) -> Asked:
    """Turn a question of a table into what is asked about."""
    return _asked(question.measure, question.parameters)


def _asked(row: Measure, options: Mapping[str, Any]) -> Asked:
    method = getattr(RankedScores, row.name)
    known = inspect.signature(method).parameters
    taken = [name for name in known if name not in ("self", *_RANDOM)]
    for name in options:
        if name not in taken:
            raise TypeError(
                f"{row.name} takes {', '.join(taken) or 'no options'}; found {name}="
                f"{short_repr(options[name])}"
            )
    lacking = [name for name in taken if known[name].default is inspect.Parameter.empty]
    for name in lacking:
        if name not in options:
            raise TypeError(f"{row.name} needs {name}")

    def value(counts: OrderedCounts) -> float:
        found = method(RankedScores(counts), **options)
        if not isinstance(found, float):
            raise InvalidInputError(
                f"{row.operating} must be one operating point; found "
                f"{short_repr(options.get(row.operating or ''))}"
            )
        return float(found)

    point = options.get(row.operating) if row.operating else None
    return Asked(row.label_at(point) if _is_number(point) else row.name, row, options, value)


def _rate(row: Measure, options: Mapping[str, Any]) -> Asked:
    if set(options) != {"threshold"}:
        found = ", ".join(options) or "nothing"
        raise TypeError(f"{row.name} takes a threshold, and nothing else; found {found}")
    threshold = check_threshold(options["threshold"])

    def value(counts: OrderedCounts) -> float:
        found = float(row.compute(confusion_at(counts, threshold=threshold)))
        if math.isnan(found):
            raise UndefinedMeasureError(
                f"{row.name} is undefined at threshold {threshold}: its denominator is 0"
            )
        return found

    return Asked(row.name, row, {"threshold": threshold}, value)


def _is_number(point: object) -> bool:
    return point is None or isinstance(point, int | float) or hasattr(point, "numerator")

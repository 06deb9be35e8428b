"""From keys and names of measures to measures with their parameters."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from fastad._core.parameters import short_repr
from fastad._core.types import Threshold
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.rates import RATES, STANDARD_RATES
from fastad.measures.registry import MEASURES
from fastad.measures.suggestions import suggest_measure

# Only values stand in tables. Longer prefixes come first: "auc@tpr0.9" is not "auc@".
_VALUES = sorted(
    (*(measure for measure in MEASURES.values() if measure.kind == "value"), *RATES.values()),
    key=lambda measure: len(measure.prefix),
    reverse=True,
)
# What stands behind the @ of measures at a threshold that differs by detector.
OWN_THRESHOLD = "threshold"
# Rates at a threshold, by name and by key.
_RATES = {**RATES, **{measure.key: measure for measure in RATES.values()}}
_NUMBER = re.compile(r"[-+]?(\d|\.\d|inf)")


class _Named(NamedTuple):
    """A measure at an operating point, as a key says it; it may lack the range of the scores."""

    measure: Measure[Any]
    parameters: Mapping[str, Any]
    # Whether the operating point is that of one detector, and not part of the key.
    own_point: bool = False


def bind(
    measure: str, options: Mapping[str, Any], function: Callable[..., Any] | None = None
) -> BoundMeasure:
    """Bind a key ("tpr@0.01"), or a name with its operating point ("tpr_at_fpr", fpr=0.01).

    ``function`` is the public function that takes the options beside its own.
    """
    if not isinstance(measure, str):
        raise InvalidTypeError(
            f"measure must be a string; found {type(measure).__name__}", argument="measure"
        )
    declaration, given = _declared(measure)
    declaration.refuse_unknown(options, declaration.number_parameters, function)
    for name in given:
        if name in options:
            raise InvalidInputError(
                f"{name} stands in the measure {measure!r} already; found {name}="
                f"{short_repr(options[name])} too",
                argument=name,
            )
    return declaration.bind(**given, **options)


def _declared(measure: str) -> tuple[Measure[Any], Mapping[str, Any]]:
    """Return the measure of a key or a name, and the operating point that the key says."""
    declaration = _RATES.get(measure) or MEASURES.get(measure)
    if declaration is not None:
        return declaration, {}
    ((declaration, parameters, _),) = _parse(measure, [], "measure")
    return declaration, parameters


@lru_cache(maxsize=64)
def standard_measures(fpr: tuple[Fraction, ...]) -> Sequence[BoundMeasure]:
    """Return the default set: what needs no operating point, then the rest for each one."""
    standard = [measure for measure in MEASURES.values() if measure.standard]
    return _bind_all(
        [_Named(measure, {}) for measure in standard if measure.operating_point is None]
        + [_at(measure, x) for x in fpr for measure in standard if measure.operating_point],
        None,
    )


def parse_measures(
    measures: str | Iterable[str],
    fpr: Sequence[Fraction],
    score_range: tuple[Fraction, Fraction] | None = None,
    thresholds: Sequence[Threshold] = (),
    *,
    own_thresholds: bool = False,
) -> list[BoundMeasure]:
    """Read keys ("tpr@0.01") and names ("tpr_at_fpr", at each ``fpr``) of measures.

    ``score_range`` is given to the measures that take it. Names of rates ("tpr") stand for their
    values at each of the thresholds; without any, all in `STANDARD_RATES` are added. The keys of
    own thresholds lack the number: they differ by detector.
    """
    texts = measure_texts(measures)
    named: list[_Named] = []
    for text in texts:
        if text in _RATES:
            named += _at_thresholds(text, thresholds, own_thresholds=own_thresholds)
        else:
            named += _parse(text, fpr)
    if not any(text in _RATES for text in texts):
        named += _standard_rates(thresholds, own_thresholds=own_thresholds)
    return _bind_all(named, score_range)


def table_measures(
    measures: str | Iterable[str] | None,
    points: Sequence[Fraction],
    score_range: tuple[Fraction, Fraction] | None = None,
    thresholds: Sequence[Threshold] = (),
    *,
    own_thresholds: bool = False,
) -> Sequence[BoundMeasure]:
    """Return the measures of a table, by default the standard ones."""
    if measures is not None:
        return parse_measures(
            measures, points, score_range, thresholds, own_thresholds=own_thresholds
        )
    standard = standard_measures(tuple(points))
    if not thresholds:
        return standard
    return [*standard, *standard_rates(thresholds, own_thresholds=own_thresholds)]


def measure_texts(measures: str | Iterable[str]) -> list[str]:
    """Check keys and names of measures for their type."""
    try:
        texts = [measures] if isinstance(measures, str) else list(measures)
    except TypeError:  # an array without axes says that it is iterable
        raise InvalidTypeError(
            f"measures must be a sequence of strings; found {type(measures).__name__}",
            argument="measures",
        ) from None
    if not texts:
        raise InvalidInputError(
            "measures must name at least one measure; found none", argument="measures"
        )
    for text in texts:
        if not isinstance(text, str):
            raise InvalidTypeError(
                f"measures must contain strings; found {type(text).__name__}", argument="measures"
            )
    return texts


def standard_rates(
    thresholds: Sequence[Threshold], *, own_thresholds: bool
) -> Sequence[BoundMeasure]:
    """Return what a table contains at thresholds that were given."""
    return _bind_all(_standard_rates(thresholds, own_thresholds=own_thresholds), None)


def _standard_rates(thresholds: Sequence[Threshold], *, own_thresholds: bool) -> list[_Named]:
    return [
        _Named(RATES[name], {"threshold": x}, own_thresholds)
        for x in thresholds
        for name in STANDARD_RATES
    ]


def _at_thresholds(
    text: str, thresholds: Sequence[Threshold], *, own_thresholds: bool
) -> list[_Named]:
    if not thresholds:
        raise InvalidInputError(
            f"threshold must be given for {text!r}, or in its key, such as "
            f"{_RATES[text].key_at(0.5)!r}; found None",
            argument="threshold",
        )
    return [_Named(_RATES[text], {"threshold": x}, own_thresholds) for x in thresholds]


def read_key(text: str, argument: str = "measures") -> _Named | None:
    """Return the measure of a key such as "tpr@0.01" and its point, or None where it is no key."""
    for measure in _VALUES:
        if text == measure.key and (
            measure.operating_point is None or measure.default_points == (None,)
        ):
            return _Named(measure, {})
        number = text[len(measure.prefix) :]
        if measure.operating_point and text.startswith(measure.prefix) and _NUMBER.match(number):
            return _at(measure, _read_point(measure, number, text, argument))
    return None


def example_key(measure: Measure[Any]) -> str:
    """Return a key of a measure, at an operating point where it needs one."""
    if measure.default_points:
        return measure.key_at(measure.default_points[0])
    return measure.key_at(measure.point_parameter.example if measure.operating_point else None)


def thresholds_of(measures: Iterable[BoundMeasure]) -> dict[str, Threshold]:
    """Return the thresholds in use that were given, by what stands behind the @ in keys."""
    return {
        bound.key.partition("@")[2]: bound.parameters["threshold"]
        for bound in measures
        if "threshold" in bound.parameters
    }


def rates_of(measures: Iterable[BoundMeasure]) -> list[Fraction]:
    """Return the false positive rates in use, each once."""
    return list(dict.fromkeys(bound.fpr for bound in measures if bound.fpr is not None))


def _parse(text: str, fpr: Sequence[Fraction], argument: str = "measures") -> list[_Named]:
    measure = MEASURES.get(text)
    if measure is not None and measure.kind == "value":
        if measure.operating_point is None:
            return [_Named(measure, {})]
        if measure.default_points == ():
            raise InvalidInputError(
                f"{argument}: {text!r} needs its {measure.operating_point} in the label, "
                f"such as {example_key(measure)!r}",
                argument=argument,
            )
        points = fpr if measure.default_points is None else measure.default_points
        return [_at(measure, x) for x in points]
    named = read_key(text, argument)
    if named is not None:
        return [named]
    known = ", ".join(example_key(row) for row in MEASURES.values() if row.kind == "value")
    expected = "contain labels" if argument == "measures" else "be a label"
    raise InvalidInputError(
        f"{argument} must {expected} such as {known}, or names of functions that return a value; "
        f"found {text!r}{suggestion_for(text)}",
        argument=argument,
    )


def suggestion_for(name: str) -> str:
    """Return the end of a message that says which keys a name may have meant."""
    return suggest_measure(name, MEASURES, example_key)


def function_of(label: str) -> str | None:
    """Return the name of the function whose values a label or a name stands for; None of others."""
    measure = MEASURES.get(label)
    if measure is not None:
        return label if measure.kind == "value" else None
    try:
        named = read_key(label)
    except InvalidInputError:  # "auc@7": no rate
        return None
    return None if named is None else named.measure.name


def _read_point(measure: Measure[Any], number: str, text: str, argument: str) -> Any:
    try:
        return measure.point_parameter.read(number, f"the operating point of {text!r}")
    except InvalidInputError as error:
        raise InvalidInputError(str(error), argument=argument) from None
    except ValueError:
        raise InvalidInputError(
            f"{argument}: {text!r} does not end in a finite number", argument=argument
        ) from None


def _at(measure: Measure[Any], point: Any) -> _Named:
    return _Named(measure, {} if point is None else {str(measure.operating_point): point})


def _bind_all(
    named: list[_Named], score_range: tuple[Fraction, Fraction] | None
) -> list[BoundMeasure]:
    """Bind all, each once; two points with one key would overwrite each other."""
    lacking = [
        measure.key_at(parameters.get(str(measure.operating_point)))
        for measure, parameters, _ in named
        if measure.takes_score_range and score_range is None
    ]
    if lacking:
        raise InvalidInputError(
            f"score_range must be given for {', '.join(dict.fromkeys(lacking))}; found None",
            argument="score_range",
        )
    bound: dict[str, BoundMeasure] = {}
    for measure, parameters, own_point in named:
        ranged = {"score_range": score_range} if measure.takes_score_range else {}
        one = measure.bind(**parameters, **ranged)
        if own_point:
            one = replace(one, key=measure.key)
        if bound.setdefault(one.key, one).parameters != one.parameters:
            _refuse_alike(repr(one.key))
    rates: dict[str, Fraction] = {}
    for rate in rates_of(bound.values()):
        if rates.setdefault(f"{float(rate):g}", rate) != rate:
            _refuse_alike(f"{float(rate):g}")
    return list(bound.values())


def _refuse_alike(key: str) -> NoReturn:
    raise InvalidInputError(
        f"operating points of fpr, threshold and measures must differ in six digits; found two for "
        f"{key}",
        argument="measures",
    )

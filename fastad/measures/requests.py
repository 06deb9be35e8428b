"""From keys and names of measures to measures with their parameters, misspelt ones included."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from fastad._core.declared import Parameter
from fastad._core.parameters import short_repr
from fastad._core.suggestions import did_you_mean, suggestion
from fastad._core.types import Threshold
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.measure import BoundMeasure, Measure, MeasureLike
from fastad.measures.rates import RATES, STANDARD_RATES
from fastad.measures.registry import MEASURES

# Only values stand in tables. Longer prefixes come first: "auc@tpr0.9" is not "auc@".
_VALUES = sorted(
    (*(measure for measure in MEASURES.values() if measure.kind == "value"), *RATES.values()),
    key=lambda measure: len(measure.prefix),
    reverse=True,
)
# Measures that `fastad.evaluate` computes by default.
STANDARD = (
    *("roc_auc", "weighted_auc", "auc_at_fpr", "tpr_at_fpr", "average_precision"),
    *("f1_at_fpr", "precision_at_fpr"),
)
# Text behind the @ of measures at a threshold that differs by detector.
OWN_THRESHOLD = "threshold"
# Rates at a threshold, by name and by key.
_RATES = {**RATES, **{measure.key: measure for measure in RATES.values()}}
_NUMBER = re.compile(r"[-+]?(\d|\.\d|inf)")

# Keys of measures by their names in scikit-learn and other libraries.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "roc_auc_score": ("auc", "roc_auc"),
        "auroc": ("auc", "roc_auc"),
        "aucroc": ("auc", "roc_auc"),
        "average_precision_score": ("ap", "average_precision"),
        "auprc": ("ap", "auc_pr"),
        "aucpr": ("ap", "auc_pr"),
        "f1_score": ("f1@0.05", "f1_best"),
        "precision_score": ("precision@fpr0.05", "precision@k10"),
        "recall_score": ("tpr@0.05", "recall@k10"),
        "top_k_accuracy_score": ("precision@k10",),
        "partial_auc": ("auc@0.05",),
        "pauc": ("auc@0.05",),
        "fpr95": ("fpr@tpr0.95",),
    }
)
_POINT = re.compile(r"(.*?@[a-z]*)([-+.\d].*)", re.DOTALL)


class _Named(NamedTuple):
    """A measure at an operating point, as a key says it; it may lack the range of the scores."""

    measure: Measure[Any]
    parameters: Mapping[str, Any]
    # Whether the point belongs to one detector, and is not part of the key.
    own_point: bool = False


def bind(
    measure: MeasureLike, options: Mapping[str, Any], function: Callable[..., Any] | None = None
) -> BoundMeasure:
    """Bind a key ("tpr@0.01"), or a name or declaration with its operating point (fpr=0.01).

    ``function`` is the public function that takes the options beside its own.
    """
    if isinstance(measure, BoundMeasure):
        declaration, given, text = measure.measure, measure.parameters, measure.key
    elif isinstance(measure, Measure):
        declaration, given, text = measure, {}, measure.name
    elif isinstance(measure, str):
        text, given = measure, {}
        declared = _RATES.get(measure) or MEASURES.get(measure)
        if declared is None:
            ((declared, given, _),) = _parse(measure, [], "measure")
        declaration = declared
    else:
        raise InvalidTypeError(
            f"measure must be a string, a Measure or a BoundMeasure; found {type(measure).__name__}"
        )
    declaration.refuse_unknown(options, declaration.number_parameters, function)
    for name in given:
        if name in options:
            raise InvalidInputError(
                f"{name} must not be given beside the measure {text!r}, which has one; found "
                f"{name}={short_repr(options[name])}"
            )
    return measure if isinstance(measure, BoundMeasure) else declaration.bind(**given, **options)


@lru_cache(maxsize=64)
def standard_measures(fpr: tuple[Fraction, ...]) -> Sequence[BoundMeasure]:
    """Return the default set: measures without operating point, then the rest for each one."""
    standard = [MEASURES[name] for name in STANDARD]
    return _bind_all(
        [_Named(measure, {}) for measure in standard if measure.operating_point is None]
        + [_at(measure, x) for x in fpr for measure in standard if measure.operating_point],
        None,
    )


def parse_measures(
    measures: MeasureLike | Iterable[MeasureLike],
    fpr: Sequence[Fraction],
    score_range: tuple[Fraction, Fraction] | None = None,
    thresholds: Sequence[Threshold] = (),
    *,
    own_thresholds: bool = False,
) -> list[BoundMeasure]:
    """Read keys ("tpr@0.01") and names ("tpr_at_fpr", at each ``fpr``) of measures.

    Declarations have the same effect as their names.

    ``score_range`` is given to the measures that take it. Names of rates ("tpr") stand for their
    values at each of the thresholds; without any, all in `STANDARD_RATES` are added. The keys of
    own thresholds lack the number: they differ by detector.
    """
    given = listed_measures(measures)
    named: list[_Named | BoundMeasure] = []
    for each in given:
        declared = _RATES.get(each, MEASURES.get(each)) if isinstance(each, str) else each
        if isinstance(declared, BoundMeasure):
            named.append(declared)
        elif declared is None or declared.kind != "value":  # a key, or a measure without a value
            named += _parse(str(each), fpr)
        elif declared.operating_point == "threshold":
            named += _at_thresholds(declared, thresholds, own_thresholds=own_thresholds)
        else:
            named += _at_points(declared, fpr, "measures")
    if not any(isinstance(each, str) and each in _RATES for each in given):
        named += _standard_rates(thresholds, own_thresholds=own_thresholds)
    return _bind_all(named, score_range)


def table_measures(
    measures: MeasureLike | Iterable[MeasureLike] | None,
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
    return [*standard, *_bind_all(_standard_rates(thresholds, own_thresholds=own_thresholds), None)]


def listed_measures(measures: MeasureLike | Iterable[MeasureLike]) -> list[MeasureLike]:
    """Check keys, names and declarations of measures for their type."""
    kinds = str, Measure, BoundMeasure
    try:
        listed = [measures] if isinstance(measures, kinds) else list(measures)
    except TypeError:  # an array without axes says that it is iterable
        raise InvalidTypeError(
            f"measures must be a sequence of strings; found {type(measures).__name__}"
        ) from None
    if not listed:
        raise InvalidInputError("measures must name at least one measure; found none")
    for each in listed:
        if not isinstance(each, kinds):
            raise InvalidTypeError(
                f"measures must contain strings, or declarations; found {type(each).__name__}"
            )
        if isinstance(each, Measure) and each.kind != "value":
            raise InvalidInputError(
                f"measures must return one number; found {each.name}, which does not"
            )
    return listed


def _standard_rates(
    thresholds: Sequence[Threshold], *, own_thresholds: bool
) -> list["_Named | BoundMeasure"]:
    return [
        _Named(RATES[name], {"threshold": x}, own_thresholds)
        for x in thresholds
        for name in STANDARD_RATES
    ]


def _at_thresholds(
    measure: Measure[Any], thresholds: Sequence[Threshold], *, own_thresholds: bool
) -> list[_Named]:
    if not thresholds:
        raise InvalidInputError(
            f"threshold must be given for {measure.name!r}, or in its key, such as "
            f"{measure.key_at(0.5)!r}; found None"
        )
    return [_Named(measure, {"threshold": x}, own_thresholds) for x in thresholds]


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


def key_of(name: str) -> str:
    """Return the key in tables of a function's name; other strings are keys."""
    measure = MEASURES.get(name)
    return name if measure is None else measure.key


def example_key(measure: Measure[Any]) -> str:
    """Return a key of a measure, at an operating point where it needs one."""
    if measure.default_points:
        return measure.key_at(measure.default_points[0])
    return measure.key_at(measure.point_parameter.example if measure.operating_point else None)


def thresholds_of(measures: Iterable[BoundMeasure]) -> dict[str, Threshold]:
    """Return the given thresholds in use, by the text behind the @ in keys."""
    return {
        bound.key.partition("@")[2]: bound.parameters["threshold"]
        for bound in measures
        if "threshold" in bound.parameters
    }


def rates_of(measures: Iterable[BoundMeasure]) -> list[Fraction]:
    """Return the false positive rates in use, each once."""
    rates = (bound.fpr for bound in measures)
    # By integers, which are found sooner than a fraction.
    return list({rate.as_integer_ratio(): rate for rate in rates if rate is not None}.values())


def _parse(text: str, fpr: Sequence[Fraction], argument: str = "measures") -> list[_Named]:
    measure = MEASURES.get(text)
    if measure is not None and measure.kind == "value":
        return _at_points(measure, fpr, argument)
    named = read_key(text, argument)
    if named is not None:
        return [named]
    expected = "contain keys or names" if argument == "measures" else "be a key or a name"
    raise InvalidInputError(
        f"{argument} must {expected} such as 'tpr@0.01' or 'roc_auc', of what returns a value; "
        f"found {text!r}{suggestion_for(text)}"
    )


def _at_points(measure: Measure[Any], fpr: Sequence[Fraction], argument: str) -> list[_Named]:
    """Return a measure at the operating points that a table has for it."""
    if measure.operating_point is None:
        return [_Named(measure, {})]
    if measure.default_points == ():
        raise InvalidInputError(
            f"{argument} must give {measure.operating_point} in the key of {measure.name!r}, "
            f"such as {example_key(measure)!r}; found none"
        )
    points = fpr if measure.default_points is None else measure.default_points
    return [_at(measure, x) for x in points]


@lru_cache(maxsize=64)  # a table says it of its columns in each result
def suggestion_for(name: str) -> str:
    """Return the end of a message: keys that a name may have meant; nothing where none is near."""
    if name.lower() in OTHER_NAMES:
        return suggestion(OTHER_NAMES[name.lower()])
    values = [measure for measure in MEASURES.values() if measure.kind == "value"]
    examples = [example_key(measure) for measure in values]
    same_word = [key for key in examples if key.partition("@")[0] == name.lower()]
    if same_word:
        return suggestion(same_word)
    point = _POINT.fullmatch(name)
    if point is not None:
        prefixes = {
            m.prefix: m.prefix + point[2]
            for m in values
            if m.operating_point and _takes(m.point_parameter, point[2])
        }
        word = point[1].partition("@")[0].lower()
        of_word = [key for prefix, key in prefixes.items() if prefix.partition("@")[0] == word]
        return suggestion(of_word) or did_you_mean(point[1], prefixes)
    candidates = {key: key for key in [*(measure.name for measure in values), *examples]}
    return did_you_mean(name, candidates)


def _takes(parameter: Parameter, number: str) -> bool:
    """Tell whether a number of a key may be an operating point of a measure."""
    try:
        parameter.read(number, "")
    except ValueError:
        return False
    return True


def function_of(key: str) -> str | None:
    """Return the function name for a key or a name, or None if unknown."""
    measure = MEASURES.get(key)
    if measure is not None:
        return key if measure.kind == "value" else None
    try:
        named = read_key(key)
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
            f"{argument} must end in a finite number behind the @; found {text!r}"
        ) from None


def _at(measure: Measure[Any], point: Any) -> _Named:
    return _Named(measure, {} if point is None else {str(measure.operating_point): point})


def _bind_all(
    named: Sequence[_Named | BoundMeasure], score_range: tuple[Fraction, Fraction] | None
) -> list[BoundMeasure]:
    """Bind all, each once; two points with one key would overwrite each other."""
    lacking = [
        each.measure.key_at(each.parameters.get(str(each.measure.operating_point)))
        for each in named
        if isinstance(each, _Named) and each.measure.takes_score_range and score_range is None
    ]
    if lacking:
        raise InvalidInputError(
            f"score_range must be given for {', '.join(dict.fromkeys(lacking))}; found None"
        )
    bound: dict[str, BoundMeasure] = {}
    for each in named:
        new = each if isinstance(each, BoundMeasure) else _bind_named(each, score_range)
        first = bound.setdefault(new.key, new)
        if first.measure is not new.measure:
            raise InvalidInputError(
                f"measures must have keys of their own; found two for {new.key!r}"
            )
        if first.parameters != new.parameters:
            _refuse_same_key(repr(new.key))
    rates: dict[str, Fraction] = {}
    for rate in rates_of(bound.values()):
        if rates.setdefault(f"{float(rate):g}", rate) != rate:
            _refuse_same_key(f"{float(rate):g}")
    return list(bound.values())


def _bind_named(named: _Named, score_range: tuple[Fraction, Fraction] | None) -> BoundMeasure:
    measure, parameters, own_point = named
    ranged = {"score_range": score_range} if measure.takes_score_range else {}
    bound = measure.bind(**parameters, **ranged)
    return replace(bound, key=measure.key) if own_point else bound


def _refuse_same_key(key: str) -> NoReturn:
    raise InvalidInputError(
        f"operating points of fpr, threshold and measures must differ in six digits; found two for "
        f"{key}",
        argument="measures",
    )

"""Checks of arguments, before any work."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Rational, Real
from typing import Any, TypeVar

import numpy as np

from fastad._core.frames import as_array, table_columns
from fastad._core.types import Point, Points, Threshold
from fastad.errors import InvalidInputError, InvalidTypeError

Word = TypeVar("Word", bound=str)
Checked = TypeVar("Checked")

# They fix the ends of an interval at 95 % to a fifteenth of the standard deviation.
N_RESAMPLES = 2000

_LARGEST_SCORE = np.finfo(np.float64).max
# Weighted by it, counts neither overflow nor vanish.
_SMALLEST_FRACTION = Fraction(1, 10**100)
# Smallest probability outside of an interval whose ends are taken from a float level.
_LEAST_TAIL = 4e-16
_PLAIN = (float, int, Fraction)
# Above it a number may have more digits than Python writes.
_LARGE = 10**100
# Python and NumPy count these among the integers.
_NO_NUMBERS = (bool, np.bool_, np.timedelta64)


def check_rate(value: Point | Points, name: str) -> Fraction | list[Fraction]:
    """Check one operating point or a sequence of them, each a rate in [0, 1]."""
    return check_each(value, name, exact_rate)


def check_rates(value: Point | Points, name: str) -> list[Fraction]:
    """Check operating points as `check_rate`; return a list of one, too."""
    rates = check_rate(value, name)
    return rates if isinstance(rates, list) else [rates]


def check_each(
    value: Any, name: str, check_one: Callable[[Any, str], Checked], expected: str = "a number"
) -> Checked | list[Checked]:
    """Check one value, or each of a sequence of them; messages expect one, or a sequence."""
    entries = entries_of(value, name, expected)
    if isinstance(entries, list):
        return [check_one(entry, f"{name}[{i}]") for i, entry in enumerate(entries)]
    return check_one(entries, name)


def exact_rate(value: Any, name: str) -> Fraction:
    """Return the decimal that was written for a rate in [0, 1] as an exact fraction.

    0.29 stands for 29/100 although the float nearest to it is smaller. A float32 stands for
    its own shortest decimal.
    """
    return exact_point(value, name, highest=1)


def significance_level(confidence_level: float) -> float:
    """Return the p-value up to which a difference is significant: 0.1 at 0.9, as is written."""
    return float(1 - exact_rate(confidence_level, "confidence_level"))


def exact_point(value: Any, name: str, *, highest: int | None) -> Fraction:
    """Return the decimal that was written for a number in [0, highest]."""
    exact = exact_number(value, name)
    # Without comparisons of fractions, which are slow.
    numerator, denominator = exact.as_integer_ratio()
    if highest is not None and not 0 <= numerator <= highest * denominator:
        raise InvalidInputError(
            f"{name} must lie in [0, {highest}]; "
            f"found {value if isinstance(value, Fraction) else repr(value)}"
        )
    return exact


def check_prevalence(prevalence: Point | None) -> Fraction | None:
    """Check a fraction of anomalies, strictly between 0 and 1; None: as they are."""
    return None if prevalence is None else check_inside(prevalence, "prevalence")


def check_inside(value: Point, name: str) -> Fraction:
    """Check a rate strictly between 0 and 1."""
    rate = exact_rate(value, name)
    if min(rate, 1 - rate) < _SMALLEST_FRACTION:
        raise InvalidInputError(
            f"{name} must lie strictly between 0 and 1, by {float(_SMALLEST_FRACTION):g}; "
            f"found {short_repr(value)}"
        )
    return rate


def check_float_level(value: Point) -> float:
    """Check a confidence level whose tails are taken from a float."""
    level = float(check_inside(value, "confidence_level"))
    if 1 - level < _LEAST_TAIL:
        raise InvalidInputError(
            f"confidence_level must be at most 1 - {_LEAST_TAIL:g} here; found {short_repr(value)}"
        )
    return level


def check_positive(value: Point, name: str) -> Fraction:
    """Check a number above 0."""
    exact = exact_number(value, name)
    if exact <= 0:
        raise InvalidInputError(f"{name} must lie above 0; found {value}")
    return exact


def check_range(score_range: tuple[Point, Point]) -> tuple[Fraction, Fraction]:
    """Check the lowest and the highest possible score."""
    bounds = entries_of(score_range, "score_range", "a number")
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise InvalidTypeError(
            f"score_range must be a pair of numbers; found {short_repr(score_range)}"
        )
    low, high = (exact_number(bound, "score_range") for bound in bounds)
    if not -_LARGEST_SCORE <= low < high <= _LARGEST_SCORE:
        raise InvalidInputError(
            f"score_range must rise within float64; found {short_repr(score_range)}"
        )
    return low, high


def exact_number(value: Any, name: str) -> Fraction:
    """Return the decimal that was written for a finite number as an exact fraction."""
    if type(value) is float and math.isfinite(value):
        return _decimal_of(value)
    if type(value) is Fraction and max(abs(value.numerator), value.denominator) < _LARGE:
        return value
    if not _is_number(value, Real):
        raise InvalidTypeError(f"{name} must be a number; found {type(value).__name__}")
    if isinstance(value, Rational):
        _refuse_endless(value, name)
        return Fraction(int(value.numerator), int(value.denominator))
    if not math.isfinite(value):
        raise InvalidInputError(f"{name} must be finite; found {value}")
    # str of a NumPy float is its shortest decimal at its own precision.
    return Fraction(str(value) if isinstance(value, np.floating) else repr(float(value)))


@lru_cache(maxsize=4096)
def _decimal_of(value: float) -> Fraction:
    """Return the shortest decimal of a float; reading it takes as long as sorting 500 scores."""
    return Fraction(repr(value))


def check_count(value: Any, name: str) -> int:
    """Check an integer of at least 1, which may be written as a float: 1e6."""
    if type(value) is int and 0 < value < _LARGE:  # a tenth of the time of what follows
        return value
    if not _is_number(value, Real):
        raise InvalidTypeError(f"{name} must be an integer; found {type(value).__name__}")
    _refuse_endless(value, name)
    if not isinstance(value, Integral) and not (
        math.isfinite(value) and value == math.floor(value)
    ):
        raise InvalidTypeError(f"{name} must be an integer; found {value}")
    if value < 1:
        raise InvalidInputError(f"{name} must be at least 1; found {value}")
    number: Any = value
    return int(number)


def check_threshold(value: Any, name: str = "threshold") -> Threshold:
    """Check a threshold: any real number, infinities included.

    Returns it in a type that integers can be compared with exactly.
    """
    if isinstance(value, np.bool_):
        value = bool(value)
    if isinstance(value, np.timedelta64) or not isinstance(value, Real):
        raise InvalidTypeError(f"{name} must be a number; found {type(value).__name__}")
    _refuse_endless(value, name)
    if value != value:
        raise InvalidInputError(f"{name} must be a number; found NaN")
    number: Any = value
    if isinstance(number, np.integer):
        return int(number)
    if isinstance(number, np.longdouble):
        number = Fraction(*number.as_integer_ratio()) if np.isfinite(number) else float(number)
    elif isinstance(number, np.floating):
        # Not float, which NumPy would round to float16 beside scores of that type.
        number = np.float64(number)
    return number  # type: ignore[no-any-return]


def check_thresholds(value: Any) -> list[Threshold] | dict[str, Threshold]:
    """Check one threshold or a sequence of them, or one for each detector by its name."""
    columns = table_columns(value, "threshold")
    if columns is not None:
        return {name: check_threshold(x, f"threshold[{name!r}]") for name, x in columns}
    checked = check_each(value, "threshold", check_threshold)
    return checked if isinstance(checked, list) else [checked]


def check_flag(value: object, name: str) -> bool:
    """Check an option that is on or off."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidTypeError(f"{name} must be True or False; found {type(value).__name__}")
    return bool(value)


def check_type(value: object, kind: type | tuple[type, ...], name: str, expected: str) -> None:
    """Check that an argument is of a type, or of one of several; ``expected`` says it in words."""
    if not isinstance(value, kind):
        raise InvalidTypeError(f"{name} must be {expected}; found {type(value).__name__}")


def check_choice(value: Word, choices: Sequence[str], name: str) -> Word:
    """Check that an option is one of a closed set of words."""
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise InvalidInputError(f"{name} must be one of {expected}; found {short_repr(value)}")
    return value


def check_mapping(values: object, name: str, what: str) -> dict[str, Any]:
    """Return values by their names as strings, which must differ; there must be at least one."""
    if not isinstance(values, Mapping) or not values:
        raise InvalidTypeError(
            f"{name} must name at least one {what}; found {type(values).__name__}"
            + (" without any" if isinstance(values, Mapping) else "")
        )
    named = {str(key): value for key, value in values.items()}
    if len(named) < len(values):
        raise InvalidInputError(f"{name} must have names that differ as strings; found equal ones")
    return named


def check_generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    """Return the generator that an argument names: itself, from a seed, or a fresh one."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    if not _is_number(rng, Integral):
        raise InvalidTypeError(
            f"rng must be an int, a numpy.random.Generator or None; found {type(rng).__name__}"
        )
    return np.random.default_rng(check_seed(rng, "rng"))


def check_seed(value: Any, name: str) -> int:
    """Check a seed that is kept, so that the same numbers can be drawn again."""
    if not _is_number(value, Integral):
        raise InvalidTypeError(f"{name} must be an integer; found {short_repr(value)}")
    if value < 0:
        raise InvalidInputError(f"{name} must not be negative; found {short_repr(value)}")
    return int(value)


def _is_number(value: object, kind: type) -> bool:
    """Return whether a value is a number of a kind, which booleans and durations are not."""
    return isinstance(value, kind) and not isinstance(value, _NO_NUMBERS)


def short_repr(value: object) -> str:
    """Return how a message shows a value, which Python may refuse to write in digits."""
    try:
        return repr(value)
    except ValueError:
        return type(value).__name__


def plain_repr(value: object) -> str:
    """Return how a message shows an entry of an array, without the name of its type."""
    return short_repr(value.item() if isinstance(value, np.generic) else value)


def _refuse_endless(value: Real, name: str) -> None:
    """Refuse a number of more digits than Python writes: no message could show it."""
    try:
        str(value)
    except ValueError as error:
        raise InvalidInputError(f"{name} must have fewer digits: {error}") from None


def entries_of(value: Any, name: str, expected: str) -> Any:
    """Return the entries of a sequence as a list; anything else as it is.

    Entries stay as they came: an array would turn a fraction or a float32 into another type.
    """
    if value is None or type(value) in _PLAIN or isinstance(value, Real | str | bytes):
        return value
    array = as_array(value, name)
    if array.ndim == 0:
        return array[()]
    if array.ndim > 1 or array.size == 0:
        raise InvalidInputError(
            f"{name} must be {expected} or a sequence of at least one; found shape {array.shape}"
        )
    as_they_came = isinstance(value, Sequence) and not isinstance(value, memoryview)
    return list(value if as_they_came else array)


def check_column_names(value: object, argument: str) -> list[str]:
    """Return the names of columns that are given as one string or several."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidTypeError(
            f"{argument} must be the name of a column, or several; found {short_repr(value)}"
        )
    return list(names)


def nearest_float(value: Any) -> float:
    """Return a number as a float, infinite where it is beyond all others."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def float_threshold(value: Threshold) -> float:
    """Return the float that floats are below where they are below a threshold.

    Integers beyond all digits of floats are rounded as scores that are such integers.
    """
    nearest = nearest_float(value)
    if isinstance(value, int) or nearest >= value:
        return nearest
    return math.nextafter(nearest, math.inf)


def short_number(value: Any) -> str:
    """Return an integer in all digits, another number in six."""
    return f"{value:d}" if isinstance(value, int) else f"{nearest_float(value):g}"


def refused(name: str, expected: str, found: object) -> InvalidInputError:
    """Return the error of an argument, which must do as expected and does not."""
    return InvalidInputError(f"{name} must {expected}; found {found}")


def refuse_given(options: Mapping[str, object], where: str, found: str = "") -> None:
    """Refuse options that are given beside what leaves them without use, or without what they need.

    Messages end with ``found``, by default the value.
    """
    for name, value in options.items():
        if value is not None:
            raise refused(name, f"not be given {where}", found or short_repr(value))


def mistyped(name: str, expected: str, found: object) -> InvalidTypeError:
    """Return the error of an argument of a wrong type."""
    return InvalidTypeError(f"{name} must {expected}; found {found}")

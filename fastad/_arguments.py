"""The door for options: every scalar argument is checked here, before any work."""

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, TypeVar

import numpy as np

from fastad._types import Point, Points
from fastad.errors import InvalidInputError

Choice = TypeVar("Choice", bound=str)

INTERPOLATIONS = ("linear", "conservative")
NORMALIZATIONS = ("width", "none", "mcclish")
QUADRATURES = ("right", "exact")

_LARGEST_SCORE = np.finfo(np.float64).max


def check_rate(value: Point | Points, name: str) -> Fraction | list[Fraction]:
    """Check one operating point or a sequence of them, each a rate in [0, 1]."""
    return check_points(value, name, highest=1)


def check_points(
    value: Point | Points, name: str, *, highest: int | None
) -> Fraction | list[Fraction]:
    """Check one point of an axis from 0 on, or a sequence of them."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if _is_scalar(value):
        return exact_point(value, name, highest=highest)
    points = np.asarray(value)
    if points.ndim != 1 or points.size == 0:
        raise InvalidInputError(
            f"{name} must be a number or a sequence of at least one number; "
            f"found shape {points.shape}"
        )
    # The entries as they came: an array would turn a fraction or a float32 into another type.
    entries: Any = value
    return [exact_point(entry, f"{name}[{i}]", highest=highest) for i, entry in enumerate(entries)]


def exact_rate(value: Any, name: str) -> Fraction:
    """Return the decimal that was written for a rate in [0, 1] as an exact fraction.

    0.29 stands for 29/100 although the float nearest to it is smaller. A float32 stands for
    its own shortest decimal.
    """
    return exact_point(value, name, highest=1)


def exact_point(value: Any, name: str, *, highest: int | None) -> Fraction:
    """Return the decimal that was written for a number in [0, highest]."""
    exact = exact_number(value, name)
    if highest is not None and not 0 <= exact <= highest:
        raise InvalidInputError(f"{name} must lie in [0, {highest}]; found {value!r}")
    return exact


def check_prevalence(prevalence: Point | None) -> Fraction | None:
    """Check a share of anomalies, strictly between 0 and 1."""
    if prevalence is None:
        return None
    share = exact_rate(prevalence, "prevalence")
    if share in (0, 1):
        raise InvalidInputError(f"prevalence must lie strictly in (0, 1); found {prevalence}")
    return share


def check_positive(value: Point, name: str) -> Fraction:
    """Check a number above 0."""
    exact = exact_number(value, name)
    if exact <= 0:
        raise InvalidInputError(f"{name} must lie above 0; found {value}")
    return exact


def check_positives(value: Point | Points, name: str) -> Fraction | list[Fraction]:
    """Check a number above 0, or a sequence of them."""
    points = check_points(value, name, highest=None)
    for point in points if isinstance(points, list) else [points]:
        check_positive(point, name)
    return points


def check_some_counts(value: Any, name: str) -> int | list[int]:
    """Check a whole number of at least 1, or a sequence of them."""
    counts = check_counts(value, name)
    return check_count(None, name) if counts is None else counts


def check_percentiles(p: Point | Points) -> Fraction | list[Fraction]:
    """Check percentiles, each in [0, 100]."""
    return check_points(p, "p", highest=100)


def check_range(score_range: tuple[Point, Point]) -> tuple[Fraction, Fraction]:
    """Check the lowest and the highest possible score."""
    if not isinstance(score_range, Sequence | np.ndarray) or len(score_range) != 2:
        raise TypeError(f"score_range must be a pair of numbers; found {score_range!r}")
    low, high = (exact_number(bound, "score_range") for bound in score_range)
    if not -_LARGEST_SCORE <= low < high <= _LARGEST_SCORE:
        raise InvalidInputError(f"score_range must rise within float64; found {score_range!r}")
    return low, high


def exact_number(value: Any, name: str) -> Fraction:
    """Return the decimal that was written for a finite number as an exact fraction."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; found {type(value).__name__}")
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if not math.isfinite(value):
        raise InvalidInputError(f"{name} must be finite; found {value}")
    # str of a NumPy float is its shortest decimal at its own precision.
    return Fraction(str(value) if isinstance(value, np.floating) else repr(float(value)))


def check_count(value: Any, name: str) -> int:
    """Check a whole number of at least 1."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number; found {type(value).__name__}")
    if value < 1:
        raise InvalidInputError(f"{name} must be at least 1; found {value}")
    return int(value)


def check_counts(value: Any, name: str) -> int | list[int] | None:
    """Check a whole number of at least 1, a sequence of them, or None."""
    if value is None:
        return None
    if isinstance(value, Integral):
        return check_count(value, name)
    entries = np.asarray(value)
    if entries.ndim == 0:
        return check_count(entries[()], name)
    if entries.ndim != 1 or entries.size == 0:
        raise InvalidInputError(
            f"{name} must be a whole number or a sequence of at least one; "
            f"found shape {entries.shape}"
        )
    return [check_count(entry, f"{name}[{i}]") for i, entry in enumerate(entries)]


def check_cut(threshold: Any, k: Any) -> tuple[float | int | None, int | None]:
    """Check that either a threshold or a number of points is given."""
    if (threshold is None) == (k is None):
        raise InvalidInputError(
            f"confusion_at takes either threshold or k; found {'neither' if k is None else 'both'}"
        )
    if threshold is None:
        return None, check_count(k, "k")
    return check_threshold(threshold), None


def check_threshold(value: Any) -> float | int:
    """Check a threshold: any real number, infinities included."""
    if isinstance(value, np.bool_):
        value = bool(value)
    if not isinstance(value, Real):
        raise TypeError(f"threshold must be a number; found {type(value).__name__}")
    if value != value:
        raise InvalidInputError("threshold must be a number; found NaN")
    return value  # type: ignore[return-value]


def check_flag(value: object, name: str) -> bool:
    """Check an option that is on or off."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; found {type(value).__name__}")
    return bool(value)


def check_choice(value: Choice, choices: Sequence[str], name: str) -> Choice:
    """Check that an option is one of a closed set of words."""
    if value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise InvalidInputError(f"{name} must be one of {expected}; found {value!r}")
    return value


def check_generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    """Return the generator that an argument names: itself, from a seed, or a fresh one."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is not None and (isinstance(rng, bool) or not isinstance(rng, Integral)):
        raise TypeError(
            f"rng must be an int, a numpy.random.Generator or None; found {type(rng).__name__}"
        )
    if rng is not None and rng < 0:
        raise InvalidInputError(f"rng must not be negative; found {rng}")
    return np.random.default_rng(None if rng is None else int(rng))


def _is_scalar(value: object) -> bool:
    return isinstance(value, Real | str | bytes) or value is None or np.ndim(value) == 0  # type: ignore[arg-type]

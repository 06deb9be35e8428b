"""Parameters of measures, which declare how their values are checked.

A `Parameter` belongs to the declaration of a measure: readers of arguments from Python, from keys
of tables and from the command line check them through it, once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.parameters import (
    check_choice,
    check_count,
    check_each,
    check_flag,
    check_generator,
    check_inside,
    check_positive,
    check_range,
    check_threshold,
    exact_point,
)
from fastad._core.types import Threshold
from fastad.errors import InvalidInputError


class _Required:
    """The default of a parameter that must be given."""

    def __reduce__(self) -> str:
        # By its name, so that a copy is the same object: it is compared by identity.
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Check of the value of a parameter."""

    # Default value, as a user would write it; `REQUIRED` where there is none.
    default: Any = REQUIRED
    sequence: bool = False  # whether it may be a sequence of values, whose result is an array
    # Whether it only tells how to draw, so that a measure without it is still one number.
    random: bool = False
    example: Any = None  # a value that stands for others, where it may be an operating point

    @property
    def is_required(self) -> bool:
        """True if it has no default."""
        return self.default is REQUIRED

    def check(self, value: Any, name: str) -> Any:
        """Return the value as computations take it, or raise an error that names it."""
        raise NotImplementedError

    def check_exact(self, number: Fraction, name: str) -> Any:
        """Check an exact number that was read from a string."""
        return self.check(number, name)

    def read(self, text: str, name: str) -> Any:
        """Return the value that a string stands for; `ValueError` where it is no number."""
        # By way of a float: a fraction would also read "1/2", and "1e999999999" for ever.
        return self.check_exact(Fraction(repr(float(text))), name)

    def _check_each(
        self,
        value: Any,
        name: str,
        check_one: Callable[[Any, str], Any],
        expected: str = "a number",
    ) -> Any:
        """Check a value, or each of a sequence where that is allowed; None where it is the default.

        The arguments are the check of one value, and its description in messages.
        """
        if value is None and self.default is None:
            return None
        if self.sequence:
            return check_each(value, name, check_one, expected)
        is_scalar = isinstance(value, np.ndarray) and value.ndim == 0
        return check_one(value[()] if is_scalar else value, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Parameter):
    """A rate in [0, 1], or another number from 0 to ``highest``; an exact fraction."""

    highest: int | None = 1

    example: Any = Fraction(1, 100)

    def check(self, value: Any, name: str) -> Any:
        return self._check_each(value, name, self._check_one)

    def _check_one(self, value: Any, name: str) -> Fraction:
        return exact_point(value, name, highest=self.highest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentile(Rate):
    """A percentile in [0, 100]."""

    highest: int | None = 100

    example: Any = Fraction(90)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRate(Parameter):
    """A rate strictly between 0 and 1; None too where that is the default."""

    example: Any = Fraction(1, 100)

    def check(self, value: Any, name: str) -> Any:
        return self._check_each(value, name, check_inside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prevalence(OpenRate):
    """A fraction of anomalies, or None: as they are."""

    default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Positive(Parameter):
    """A number above 0."""

    example: Any = Fraction(5, 4)

    def check(self, value: Any, name: str) -> Any:
        return self._check_each(value, name, check_positive)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(Parameter):
    """An integer from 1 to ``highest``; None too where that is the default."""

    highest: int | None = None

    example: Any = 10

    def check(self, value: Any, name: str) -> Any:
        return self._check_each(value, name, self._check_one, "an integer")

    def _check_one(self, value: Any, name: str) -> int:
        number = check_count(value, name)
        if self.highest is not None and number > self.highest:
            raise InvalidInputError(f"{name} must lie in [1, {self.highest}]; found {number}")
        return number

    def check_exact(self, number: Fraction, name: str) -> int:
        if number.denominator != 1:
            raise InvalidInputError(f"{name} must be an integer; found {float(number):g}")
        return self._check_one(number.numerator, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdValue(Parameter):
    """A threshold on the scores; None too where that is the default."""

    def check(self, value: Any, name: str) -> Any:
        return self._check_each(value, name, check_threshold)

    def read(self, text: str, name: str) -> Threshold:
        try:
            return int(text)  # a float would merge large integers
        except ValueError:
            return check_threshold(float(text), name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Parameter):
    """One of a closed set of strings."""

    choices: tuple[str, ...]

    @classmethod
    def of(cls, *choices: str) -> "Choice":
        """Return the choice between some strings, the first of which is the default."""
        return cls(choices=choices, default=choices[0])

    def check(self, value: str, name: str) -> str:
        return check_choice(value, self.choices, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Parameter):
    """True or False."""

    default: Any = False

    def check(self, value: Any, name: str) -> bool:
        return check_flag(value, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreBounds(Parameter):
    """The lowest and the highest possible score."""

    def check(self, value: Any, name: str) -> tuple[Fraction, Fraction]:
        return check_range(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator(Parameter):
    """A seed or a generator of random numbers, or None: a new one."""

    default: Any = None
    random: bool = True

    def check(self, value: Any, name: str) -> np.random.Generator:
        return check_generator(value)

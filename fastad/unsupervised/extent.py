"""How large a box is, also where no float is as large or as small."""

import math
import sys
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fastad._core.parameters import check_positive, exact_number
from fastad._core.types import FloatVector, Point
from fastad.errors import InvalidInputError
from fastad.regions.box import Box

_SMALLEST, _LARGEST = sys.float_info.min, sys.float_info.max


class Extent(NamedTuple):
    """A volume.

    Attributes
    ----------
    value : Fraction or None
        The float or fraction that it was given as; None where only its logarithm is known.
    log : float
        Its natural logarithm.
    """

    value: Fraction | None
    log: float

    def times(self, number: Fraction | float) -> float:
        """Return the product with a number that is not negative; 0 or inf beyond all floats."""
        if number == 0:
            return 0.0
        if self.value is not None:
            try:
                return float(self.value * Fraction(number))
            except OverflowError:
                return math.inf
        return exp(self.log_times(number))

    def log_times(self, number: Fraction | float) -> float:
        """Return the natural logarithm of the product."""
        return self.log + log(number)

    def times_each(self, numbers: FloatVector) -> FloatVector:
        """Return the products with many floats that are not negative."""
        factor = None if self.value is None else _in_range(self.value)
        with np.errstate(over="ignore", under="ignore"):
            if factor is not None:
                return numbers * float(factor)
            return np.exp(self.log_times_each(numbers))

    def log_times_each(self, numbers: FloatVector) -> FloatVector:
        """Return the natural logarithms of these."""
        with np.errstate(divide="ignore"):
            return np.log(numbers) + self.log

    def divided_by(self, number: int) -> "Extent":
        """Return a part of it."""
        value = None if self.value is None else self.value / number
        return Extent(value, self.log - math.log(number))

    def with_log(self, more: float) -> "Extent":
        """Return it times e to a power, of which the logarithm alone is known."""
        return Extent(None, self.log + more)

    def inverse(self) -> "Extent":
        """Return one over it."""
        return Extent(None if self.value is None else 1 / self.value, -self.log)


def check_extent(
    volume: Point | Box | None, log_volume: Point | None = None, name: str = "volume"
) -> Extent:
    """Check the volume of a box, or its logarithm."""
    if (volume is None) == (log_volume is None):
        raise InvalidInputError(
            f"either {name} or log_{name} must be given; found "
            f"{'neither' if volume is None else 'both'}"
        )
    if log_volume is not None:
        return Extent(None, float(exact_number(log_volume, f"log_{name}")))
    if isinstance(volume, Box):
        found = volume.volume
        fits = _SMALLEST <= found <= _LARGEST
        return Extent(exact_number(found, name) if fits else None, volume.log_volume)
    exact = check_positive(volume, name)  # type: ignore[arg-type]  # not None, as seen above
    return Extent(_in_range(exact), log(exact))


def _in_range(value: Fraction | float) -> Fraction | None:
    """Return a value that floats of all digits hold, else None."""
    return Fraction(value) if _SMALLEST <= value <= _LARGEST else None


def log(number: Fraction | float) -> float:
    """Return the natural logarithm, -inf of 0; also of fractions that are no floats."""
    if number == 0:
        return -math.inf
    if isinstance(number, Fraction):
        return math.log(number.numerator) - math.log(number.denominator)
    return math.log(number)


def exp(logarithm: float) -> float:
    """Return e to a power, inf beyond all floats."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf

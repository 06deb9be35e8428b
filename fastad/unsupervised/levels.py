"""``LevelSets``: mass and volume of the level sets of a score.

Test points take the place of normal samples and uniform points the place of anomalies: then both
have the order that measures with labels read, and a mass-volume curve is a ROC curve.
"""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.floats import exp
from fastad._core.parameters import check_positive, exact_number, nearest_float
from fastad._core.types import CountVector, FloatMatrix, FloatVector, IntVector, Point, ScoreVector
from fastad._kernels.curves import level_sets as kernels
from fastad.errors import InvalidInputError
from fastad.regions.box import Box

# Products of numbers up to this with numbers of points are floats.
LARGEST_LOG = 600.0


class Extent(NamedTuple):
    """A volume, also where no float is as large or as small."""

    # The float or fraction that it was given as; None where only its logarithm is known.
    value: Fraction | None
    log: float  # its natural logarithm

    def times(self, number: Fraction | float) -> float:
        """Return the product with a number that is not negative; 0 or inf beyond all floats."""
        if number == 0:
            return 0.0
        if self.value is not None:
            return nearest_float(self.value * Fraction(number))
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

    def inverse(self) -> "Extent":
        """Return one over it."""
        return Extent(None if self.value is None else 1 / self.value, -self.log)


def check_either(value: Any, log_value: Any, name: str) -> None:
    """Check that a value is given or its logarithm, and not both."""
    if (value is None) == (log_value is None):
        raise InvalidInputError(
            f"{name} must be given, or log_{name}, and not both; found "
            f"{'neither' if value is None else 'both'}"
        )


def check_extent(volume: Point | Box | None, log_volume: Point | None = None) -> Extent:
    """Check the volume of a box, or its logarithm."""
    check_either(volume, log_volume, "volume")
    if log_volume is not None:
        return Extent(None, float(exact_number(log_volume, "log_volume")))
    if isinstance(volume, Box):
        product = volume.volume
        fits = sys.float_info.min <= product <= sys.float_info.max
        return Extent(exact_number(product, "volume") if fits else None, volume.log_volume)
    exact = check_positive(volume, "volume")  # type: ignore[arg-type]  # not None, as seen above
    return Extent(_in_range(exact), log(exact))


def _in_range(value: Fraction | float) -> Fraction | None:
    """Return a value that a float represents with all its digits, else None."""
    fits = sys.float_info.min <= value <= sys.float_info.max
    return Fraction(value) if fits else None


def log(number: Fraction | float) -> float:
    """Return the natural logarithm, -inf of 0; also of fractions that are no floats."""
    if number == 0:
        return -math.inf
    if isinstance(number, Fraction):
        return math.log(number.numerator) - math.log(number.denominator)
    return math.log(number)


@dataclass(frozen=True, slots=True, eq=False)
class LevelSets:
    """Sets of all points that score at most a threshold: the mass and the volume of each.

    One set for each distinct score of the test points, and the empty set before them.

    Attributes
    ----------
    thresholds : numpy.ndarray of shape (n_levels + 1,)
        The distinct scores of the test points, rising, after -inf.
    masses : numpy.ndarray of int64 of shape (n_levels + 1,)
        Test points in each set, from 0 to their number.
    inside : numpy.ndarray of int64 of shape (n_levels + 1,) or None
        Uniform points in each set; None where volumes were estimated in another way.
    log_fractions : numpy.ndarray of shape (n_repeats, n_levels + 1) or None
        Instead, natural logarithms of the fractions of the box by independent repeats.
    box : Extent
        Volume of the box.
    n_uniform : int or None
        Uniform points in all.
    """

    thresholds: ScoreVector
    masses: IntVector
    inside: IntVector | None
    log_fractions: FloatMatrix | None
    box: Extent
    n_uniform: int | None

    def __repr__(self) -> str:
        return f"<LevelSets of {self.masses.shape[0] - 1} levels, {self.n_test} test points>"

    @property
    def n_test(self) -> int:
        """Number of test points."""
        return int(self.masses[-1])

    @property
    def log_unit(self) -> float:
        """Natural logarithm of the volume that a uniform point stands for, or of the box."""
        return self.box.log - math.log(self.n_uniform or 1)

    def volumes(self, mass: Fraction | float) -> "Volumes":
        """Return the volumes in a unit in which the volume at a mass is no extreme number.

        Parameters
        ----------
        mass : Fraction or float
            Mass in test points; counted volumes are the same for any.
        """
        if self.inside is not None and self.n_uniform is not None:
            return Volumes(self.inside, self.box.divided_by(self.n_uniform), None)
        assert self.log_fractions is not None  # one of both is given
        logs = self._mean_log_fractions()
        index = int(np.searchsorted(self.masses, float(mass), side="left"))
        middle = float(logs[max(index, 1)])
        # Larger values are cut off: a set that is so much larger matters only as a bound.
        each = np.exp(np.minimum(logs - middle, LARGEST_LOG))
        repeats = np.minimum(self.log_fractions - middle, LARGEST_LOG)
        return Volumes(as_readonly(each), Extent(None, self.box.log + middle), as_readonly(repeats))

    def log_error(self, mass: Fraction | float) -> float:
        """Return the standard error of the logarithm of the volume at a mass, in test points.

        Repeats have Cox's standard error, counted volumes the relative error of their count.
        """
        index = max(int(np.searchsorted(self.masses, float(mass), side="left")), 1)
        if self.log_fractions is None:
            n_inside = int(np.asarray(self.inside)[index])
            return math.sqrt(1 / n_inside - 1 / (self.n_uniform or 1)) if n_inside else math.inf
        n, variance = len(self.log_fractions), float(self.log_fractions[:, index].var(ddof=1))
        return math.sqrt(variance / n + variance**2 / (2 * (n - 1)))

    def log_volumes(self) -> FloatVector:
        """Return the natural logarithms of the volumes, -inf of the empty set."""
        if self.inside is None:
            return self._mean_log_fractions() + self.box.log
        with np.errstate(divide="ignore"):
            return np.log(self._counted_fractions()) + self.box.log

    def absolute_volumes(self) -> FloatVector:
        """Return the volumes in units of the features; 0 or inf beyond all floats."""
        if self.inside is None:
            with np.errstate(over="ignore", under="ignore"):
                return np.exp(self.log_volumes())
        # By the fraction, so that the whole box has its volume to the last digit.
        return self.box.times_each(self._counted_fractions())

    def _counted_fractions(self) -> FloatVector:
        return np.asarray(self.inside) / self.n_uniform

    def _mean_log_fractions(self) -> FloatVector:
        """Return the logarithms of the mean fractions, rising.

        Logarithms of the repeats are nearly normal, as `fastad.volume` takes them: their mean and
        half their variance. A mean of few such fractions would lack the large ones, and be too
        small. None is larger than 1, however much repeats differ.
        """
        logs = self.log_fractions[:, 1:] if self.log_fractions is not None else np.empty((1, 0))
        means = np.minimum(logs.mean(axis=0) + logs.var(axis=0, ddof=1) / 2, 0.0)
        return np.concatenate([[-math.inf], np.maximum.accumulate(means)])


class Volumes(NamedTuple):
    """Volumes of level sets in multiples of a unit."""

    each: CountVector  # uniform points (int64), or estimates (float64), rising from 0
    unit: Extent  # the volume for which 1 stands
    repeats: FloatMatrix | None  # natural logarithms of estimates by each repeat

    def hull(self, masses: IntVector) -> IntVector:
        """Return the levels whose mass less some multiple of their volume is the largest."""
        hull = np.empty(masses.shape[0], np.int64)
        size = kernels.concave_hull(masses, self.each, hull)
        return hull[:size]

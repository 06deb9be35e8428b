"""The criteria EM and MV of one detector, with their intervals."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from fastad._core.parameters import (
    check_count,
    check_float_level,
    check_inside,
    exact_rate,
    short_repr,
)
from fastad._core.random import random_key
from fastad._core.results import Record
from fastad._core.types import Point
from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError
from fastad.regions.results import format_exp

CriterionName: TypeAlias = Literal["em", "mv"]
CRITERIA: tuple[CriterionName, ...] = ("em", "mv")
# By which factor the logarithm of a criterion rises where it gets better.
SIGNS = {"em": 1.0, "mv": -1.0}
# By default: masses between which MV is the area, and excess mass at which the area EM ends.
MASS = (0.9, 0.999)
EXCESS_MASS = 0.9
N_RESAMPLES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Criterion(Record):
    """EM or MV of a detector, with its interval.

    Attributes
    ----------
    value : float
        The area; NaN where it is undefined, and 0 or inf beyond all floats, but its logarithm is
        not.
    low, high : float
        Ends of the interval, which allows for the draws of test points and of the volumes, and for
        bias. NaN of one test point or one replicate, and where most replicates of volumes that are
        not counted are undefined.
    log_value, log_low, log_high : float
        Natural logarithms of these.
    sampling_error, monte_carlo_error : float
        Relative standard errors that come from the test points, and from the draws that estimate
        volumes.
    confidence_level : float
        Confidence level of the interval, in (0, 1).
    n_test : int
        Test points.
    n_uniform : int or None
        Uniform points; None where volumes were estimated in another way.
    n_resamples, n_undefined : int
        Number of replicates, and of replicates whose criterion is undefined.
    reason : str
        Reason of a missing value.
    """

    value: float
    low: float
    high: float
    log_value: float
    log_low: float
    log_high: float
    sampling_error: float
    monte_carlo_error: float
    confidence_level: float
    n_test: int
    n_uniform: int | None
    n_resamples: int
    n_undefined: int
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return "undefined"
        low, high = format_exp(self.log_low, 3), format_exp(self.log_high, 3)
        return f"{format_exp(self.log_value, 3)} [{low}, {high}]"

    def required_uniform_draws(self, rtol: Point) -> int:
        """Return how many uniform points bring their relative standard error down to ``rtol``.

        Parameters
        ----------
        rtol : float
            Relative standard error due to the uniform points, in (0, 1).

        Returns
        -------
        int
            Number of points in proportion to the estimated variance.

        Raises
        ------
        UndefinedMeasureError
            If volumes were not counted, or the error is unknown.
        """
        error = float(check_inside(rtol, "rtol"))
        if self.n_uniform is None or not math.isfinite(self.monte_carlo_error):
            raise UndefinedMeasureError(
                "how many uniform points are needed is known where volumes are counted, and "
                f"some points fall inside; found {self.n_uniform} uniform points with an error of "
                f"{self.monte_carlo_error}"
            )
        return max(math.ceil(self.n_uniform * (self.monte_carlo_error / error) ** 2), 1)


class Criteria(NamedTuple):
    """Both criteria of a detector.

    Attributes
    ----------
    em : Criterion
        Area of the excess-mass curve; higher is better.
    mv : Criterion
        Area of the mass-volume curve; lower is better.
    """

    em: Criterion
    mv: Criterion


class CriteriaPlan(NamedTuple):
    """Checked options of the areas and of their intervals."""

    mass: tuple[Fraction, Fraction]  # masses between which MV is the area
    excess_mass: Fraction  # excess mass at which the area EM ends
    n_resamples: int
    level: float
    key: np.uint64  # seeds the random numbers


def check_criteria(
    mass: tuple[Point, Point],
    excess_mass: Point,
    n_resamples: int,
    confidence_level: Point,
    rng: int | np.random.Generator | None,
) -> CriteriaPlan:
    """Check which areas to compute, and how their intervals."""
    return CriteriaPlan(
        check_masses(mass),
        check_inside(excess_mass, "excess_mass"),
        check_count(n_resamples, "n_resamples"),
        check_float_level(confidence_level),
        random_key(rng),
    )


def check_masses(mass: tuple[Point, Point]) -> tuple[Fraction, Fraction]:
    """Check two masses, of which the first is the lower one."""
    if not isinstance(mass, tuple | list) or len(mass) != 2:
        raise InvalidTypeError(f"mass must be a pair of masses; found {short_repr(mass)}")
    low, high = (exact_rate(end, "mass") for end in mass)
    if low >= high:
        raise InvalidInputError(f"mass must be a pair of rising masses; found {short_repr(mass)}")
    return low, high


def required_uniform_draws(volume_fraction: Point, *, rtol: Point) -> int:
    """Return how many uniform points a volume needs for a relative standard error.

    Parameters
    ----------
    volume_fraction : float
        The volume as a fraction of the box, in (0, 1).
    rtol : float
        Relative standard error of its estimate, in (0, 1).

    Returns
    -------
    int
        (1 - p) / (p * rtol²) for a fraction p: binomial counts. So the number grows as volumes
        shrink, which they do exponentially with the number of features; beyond some 10⁹ use
        splitting.

    Raises
    ------
    InvalidInputError
        If the fraction or ``rtol`` is invalid.

    See Also
    --------
    Criterion.required_uniform_draws : The same for EM and MV, from the error that was estimated.

    Examples
    --------
    >>> import fastad
    >>> fastad.unsupervised.required_uniform_draws(0.001, rtol=0.05)
    399600
    """
    p, error = check_inside(volume_fraction, "volume_fraction"), check_inside(rtol, "rtol")
    return math.ceil((1 - p) / (p * error**2))

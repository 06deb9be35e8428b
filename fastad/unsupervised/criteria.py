"""The criteria EM and MV of one detector, and how sure they are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import stdtrit

from fastad._core.parameters import check_count, check_inside, exact_rate, short_repr
from fastad._core.random import random_key
from fastad._core.results import plain_value
from fastad._core.threads import thread_limit
from fastad._core.types import FloatMatrix, FloatVector, Point
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.regions.results import share_text
from fastad.unsupervised.excess_mass import EXCESS_MASS, excess_mass_of
from fastad.unsupervised.extent import exp
from fastad.unsupervised.levels import LevelSets, Volumes
from fastad.unsupervised.mass_volume import MASS, Window, mass_volume_of
from fastad.unsupervised.replicates import Rows, Sources, replicate_logs

CriterionName: TypeAlias = Literal["em", "mv"]
CRITERIA: tuple[CriterionName, ...] = ("em", "mv")
# By which factor the logarithm of a criterion rises where it gets better.
SIGNS = {"em": 1.0, "mv": -1.0}
# Replicates tell the errors of test and of uniform points by themselves to a twentieth.
N_RESAMPLES, _N_PARTS = 1000, 200
# The largest of many lines is too large on average; replicates err in the same way, but their mean
# shows only this part of it: 0.55-0.58 for Gaussian data in 2 and 5 features, 300 to 2 000 test
# points. Means of volumes are right.
_EM_BIAS_SHOWN = 4 / 7


class CriteriaPlan(NamedTuple):
    """Which areas, and how their intervals are made; checked.

    Attributes
    ----------
    mass : (Point, Point)
        Masses between which MV is the area.
    excess_mass : Point
        Excess mass at which the area EM ends.
    n_resamples : int
        Replicates.
    level : float
        Confidence level.
    key : numpy.uint64
        Of the random numbers.
    """

    mass: tuple[Point, Point]
    excess_mass: Point
    n_resamples: int
    level: float
    key: np.uint64


def check_criteria(
    mass: tuple[Point, Point],
    excess_mass: Point,
    n_resamples: int,
    confidence_level: Point,
    rng: int | np.random.Generator | None,
) -> CriteriaPlan:
    """Check which areas are wanted, and how sure."""
    if not isinstance(mass, tuple | list) or len(mass) != 2:
        raise TypeError(f"mass must be a pair of masses; found {short_repr(mass)}")
    low, high = (exact_rate(one, "mass") for one in mass)
    if low >= high:
        raise InvalidInputError(
            f"mass must be a pair of rising masses; found {short_repr(mass)}", argument="mass"
        )
    return CriteriaPlan(
        (low, high),
        check_inside(excess_mass, "excess_mass"),
        check_count(n_resamples, "n_resamples"),
        float(check_inside(confidence_level, "confidence_level")),
        random_key(rng),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Criterion:
    """EM or MV of a detector, with its interval.

    Attributes
    ----------
    value : float
        The area; NaN where it is undefined, and 0 or inf beyond all floats, but its logarithm is
        not.
    low, high : float
        Ends of the interval, which allows for the draws of test points and of the volumes, and for
        bias. NaN where most replicates are undefined.
    log_value, log_low, log_high : float
        Natural logarithms of these.
    sampling_error, monte_carlo_error : float
        Relative standard errors that come from the test points, and from the draws that estimate
        volumes.
    confidence_level : float
        Of the interval, in (0, 1).
    n_test : int
        Test points.
    n_uniform : int or None
        Uniform points; None where volumes were estimated in another way.
    n_resamples, n_undefined : int
        Replicates, and those of which the criterion is undefined.
    reason : str
        Why there is no value.
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
        low, high = share_text(self.log_low, 3), share_text(self.log_high, 3)
        return f"{share_text(self.log_value, 3)} [{low}, {high}]"

    def required_uniform_draws(self, rtol: Point) -> int:
        """Return how many uniform points bring their relative standard error down to a wish.

        Parameters
        ----------
        rtol : float
            Relative standard error due to the uniform points, in (0, 1).

        Returns
        -------
        int
            In proportion to the variance that was found.

        Raises
        ------
        UndefinedMeasureError
            If volumes were not counted, or the error is unknown.
        """
        wanted = float(check_inside(rtol, "rtol"))
        if self.n_uniform is None or not math.isfinite(self.monte_carlo_error):
            raise UndefinedMeasureError(
                "how many uniform points are needed is known where volumes are counted, and "
                f"some points fall inside; found {self.n_uniform} uniform points with an error of "
                f"{self.monte_carlo_error}"
            )
        return max(math.ceil(self.n_uniform * (self.monte_carlo_error / wanted) ** 2), 1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; None for NaN, text for infinities."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: plain_value(value) for name, value in found.items()}


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


class Judged(NamedTuple):
    """The criteria of a detector, and their replicates.

    Attributes
    ----------
    criteria : Criteria
        Both, with intervals.
    logs : numpy.ndarray of shape (2,)
        Logarithms that are compared with those of other detectors.
    replicates : numpy.ndarray of shape (n_resamples, 2)
        Logarithms of the replicates of both.
    freedom : numpy.ndarray of shape (2,)
        Degrees of freedom of their errors; inf where many points tell them.
    """

    criteria: Criteria
    logs: FloatVector
    replicates: FloatMatrix
    freedom: FloatVector


def criteria_of(
    levels: LevelSets,
    *,
    mass: tuple[Point, Point] = MASS,
    excess_mass: Point = EXCESS_MASS,
    n_resamples: int = N_RESAMPLES,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    n_threads: int | None = None,
) -> Criteria:
    """Return both criteria of level sets; see `LevelSets.criteria`."""
    plan = check_criteria(mass, excess_mass, n_resamples, confidence_level, rng)
    with thread_limit(n_threads):
        return judge(levels, Rows.in_order(levels), plan).criteria


def judge(levels: LevelSets, rows: Rows, plan: CriteriaPlan) -> Judged:
    """Return both criteria of a detector with their intervals."""
    window = Window.of(*plan.mass, levels.n_test)
    # Each criterion has a unit in which the volumes that matter to it are no extreme numbers.
    volumes = [levels.volumes(EXCESS_MASS * levels.n_test), levels.volumes(window.end)]
    draw = partial(_replicates, levels, rows, plan, window, volumes)
    both = draw(plan.n_resamples, Sources())
    by_test = draw(_N_PARTS, Sources(uniform=False))
    by_volume = draw(_N_PARTS, Sources(test=False))
    found, freedoms = [], []
    for k, area in enumerate(_areas(levels, plan)):
        spread = Spread.of(both[:, k])
        monte_carlo_error = Spread.of(by_volume[:, k]).deviation
        freedom = _freedom(levels, spread.deviation, monte_carlo_error)
        freedoms.append(freedom)
        ends = _interval(area.log_value, spread, area.bias_shown, freedom, plan.level)
        if area.log_value == -math.inf:
            ends = -math.inf, _log_of_none(levels, plan)
        found.append(
            Criterion(
                value=area.value,
                low=exp(ends[0]),
                high=exp(ends[1]),
                log_value=area.log_value,
                log_low=ends[0],
                log_high=ends[1],
                sampling_error=Spread.of(by_test[:, k]).deviation,
                monte_carlo_error=monte_carlo_error,
                confidence_level=plan.level,
                n_test=levels.n_test,
                n_uniform=levels.n_uniform,
                n_resamples=plan.n_resamples,
                n_undefined=spread.n_undefined,
                reason=area.reason,
            )
        )
    logs = np.array([one.log_value for one in found])
    return Judged(Criteria(*found), logs, both, np.array(freedoms))


def _replicates(
    levels: LevelSets,
    rows: Rows,
    plan: CriteriaPlan,
    window: Window,
    volumes: Sequence[Volumes],
    n_resamples: int,
    sources: Sources,
) -> FloatMatrix:
    """Return logarithms of both criteria of replicates, from volumes in a unit for each."""
    n = levels.n_test
    height = float(plan.excess_mass * n)

    def by_unit(own: Volumes) -> FloatMatrix:
        how = plan.key, n_resamples, window, height, sources
        units = np.array([-own.unit.log - 2 * math.log(n), own.unit.log - math.log(n)])
        found: FloatMatrix = replicate_logs(levels, own, rows, *how) + units
        return found

    of_em, of_mv = volumes
    if levels.inside is not None:  # counted, in the same unit
        return by_unit(of_em)
    return np.column_stack([by_unit(of_em)[:, 0], by_unit(of_mv)[:, 1]])


class _Area(NamedTuple):
    """An area, its logarithm, and how much of its bias replicates show."""

    value: float
    log_value: float
    bias_shown: float
    reason: str = ""


def _areas(levels: LevelSets, plan: CriteriaPlan) -> tuple[_Area, _Area]:
    """Return both areas, EM perhaps undefined."""
    excess, volume = excess_mass_of(levels), mass_volume_of(levels)
    try:
        area, log_area = excess.area(plan.excess_mass), excess.log_area(plan.excess_mass)
        em = _Area(area, log_area, _EM_BIAS_SHOWN)
    except UndefinedMeasureError as error:
        em = _Area(math.nan, math.nan, _EM_BIAS_SHOWN, str(error))
    return em, _Area(volume.area(*plan.mass), volume.log_area(*plan.mass), 1.0)


def _interval(
    log_value: float, spread: "Spread", bias_shown: float, freedom: float, level: float
) -> tuple[float, float]:
    """Return the ends of the interval around the logarithm without bias.

    Student's: the volumes' part of the variance is known from few repeats (Welch, Satterthwaite).
    """
    centre = log_value - (spread.mean - log_value) / bias_shown
    reach = float(stdtrit(freedom, (1 + level) / 2)) * spread.deviation
    return centre - reach, centre + reach


def _freedom(levels: LevelSets, error: float, monte_carlo_error: float) -> float:
    """Return the degrees of freedom of an error of which a part comes from repeats."""
    if levels.log_shares is None or not monte_carlo_error > 0:
        return math.inf
    return (len(levels.log_shares) - 1) * max(error / monte_carlo_error, 1.0) ** 4


def _log_of_none(levels: LevelSets, plan: CriteriaPlan) -> float:
    """Return the logarithm of an upper bound on MV where no uniform point fell inside.

    What none of so many points leaves possible (Clopper and Pearson), over the width.
    """
    if levels.n_uniform is None:
        return math.nan
    low, high = plan.mass
    doubt = (1 - plan.level) / 2
    share = -math.expm1(math.log(doubt) / levels.n_uniform)
    return levels.box.log_times(share * float(high - low))


class Spread(NamedTuple):
    """Mean and standard deviation of replicates that are defined."""

    mean: float
    deviation: float
    n_undefined: int

    @classmethod
    def of(cls, logs: FloatVector) -> "Spread":
        """Summarise logarithms; not a number where most are undefined."""
        defined = logs[np.isfinite(logs)]
        n_undefined = logs.shape[0] - defined.shape[0]
        if 2 * n_undefined > logs.shape[0] or defined.shape[0] < 2:
            return cls(math.nan, math.nan, n_undefined)
        return cls(float(defined.mean()), float(defined.std(ddof=1)), n_undefined)

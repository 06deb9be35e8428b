"""EM and MV from level sets: the areas, bootstrap replicates of both, and their intervals."""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from fastad._core.arrays import as_readonly
from fastad._core.floats import exp
from fastad._core.threads import in_steps, thread_map
from fastad._core.types import FloatMatrix, FloatVector, ScoreVector, ShortVector
from fastad._kernels.curves import level_sets as kernels
from fastad.errors import UndefinedMeasureError
from fastad.uncertainty.comparisons.corrections import error_degrees_of_freedom
from fastad.uncertainty.samples.closed_forms import clopper_pearson, student_over_normal
from fastad.unsupervised.criteria import EXCESS_MASS, Criteria, CriteriaPlan, Criterion
from fastad.unsupervised.excess_mass import excess_mass_curve
from fastad.unsupervised.levels import LARGEST_LOG, LevelSets, Volumes, log
from fastad.unsupervised.mass_volume import Window, mass_volume_curve

# Replicates that estimate the errors of test and of uniform points by themselves to a twentieth.
_N_PARTS = 200
# The largest of many lines is too large on average; replicates err in the same way, but their mean
# shows only this part of it: 0.55-0.58 for Gaussian data in 2 and 5 features, 300 to 2 000 test
# points. Means of volumes are right.
_EM_BIAS_SHOWN = 4 / 7
# Where fewer uniform points decide a criterion, its logarithm is not nearly normal: of 3 expected
# points, normal intervals at 95 % covered EM in 0.83 and MV in 0.91 of 400 samples.
_FEW_INSIDE = 10
# Points of a thread between two checks whether it is to stop.
_POINTS_A_STEP = 10_000_000


class PointLevels(NamedTuple):
    """Level of each point: the first one that contains it."""

    test: ShortVector  # level of each test point, from 1
    # Level of each uniform point; one more than there are levels if none contains it.
    uniform: ShortVector | None
    number: int = 0  # number of the detector: repeats of an estimate are drawn for each detector

    @classmethod
    def of(
        cls, levels: LevelSets, test: ScoreVector, uniform: ScoreVector | None, number: int = 0
    ) -> "PointLevels":
        """Return the levels of points in the order of their scores' arrays."""
        inside = None if uniform is None else _first_levels(levels, uniform)
        return cls(_first_levels(levels, test), inside, number)

    @classmethod
    def in_order(cls, levels: LevelSets) -> "PointLevels":
        """Return points numbered by their scores, as the points of a single detector may be."""
        indices = np.arange(1, levels.masses.shape[0] + 1, dtype=np.int32)
        test = np.repeat(indices[:-1], np.diff(levels.masses))
        if levels.inside is None:
            return cls(as_readonly(test), None)
        bounds = np.append(levels.inside, levels.n_uniform or 0)
        return cls(as_readonly(test), as_readonly(np.repeat(indices, np.diff(bounds))))

    @property
    def n_points(self) -> int:
        """Number of points of both kinds."""
        return int(self.test.shape[0] + (0 if self.uniform is None else self.uniform.shape[0]))


def _first_levels(levels: LevelSets, scores: ScoreVector) -> ShortVector:
    indices = np.searchsorted(levels.thresholds, scores, side="left").astype(np.int32)
    # A score of -inf is in the first set that is not empty.
    return as_readonly(np.maximum(indices, 1))


class CriterionEstimates(NamedTuple):
    """The criteria of a detector, and their replicates."""

    criteria: Criteria  # both, with intervals
    logs: FloatVector  # logarithms that are compared with other detectors' logarithms
    replicates: FloatMatrix  # logarithms of the replicates of both
    # Degrees of freedom of their errors; inf where many points estimate them.
    degrees_of_freedom: FloatVector


def estimate_with_points(
    levels: LevelSets, points: PointLevels, plan: CriteriaPlan
) -> CriterionEstimates:
    """Return both criteria of a detector with their intervals."""
    window = Window.of(*plan.mass, levels.n_test)
    # Each criterion has a unit in which the volumes that matter to it are no extreme numbers.
    volumes = [levels.volumes(EXCESS_MASS * levels.n_test), levels.volumes(window.end)]
    replicate = partial(replicate_logs, levels, points, plan, window, volumes)
    replicates = replicate(plan.n_resamples, (True, True))
    of_test = replicate(_N_PARTS, (True, False))
    of_volumes = replicate(_N_PARTS, (False, True))
    criteria, degrees_of_freedom = [], []
    for k, area in enumerate(_areas(levels, plan)):
        spread = Spread.of(replicates[:, k])
        monte_carlo_error = Spread.of(of_volumes[:, k]).deviation
        df = math.inf
        if levels.log_fractions is not None and monte_carlo_error > 0:
            # A part of the error is known from few repeats (Welch, Satterthwaite).
            ratio = max(spread.deviation / monte_carlo_error, 1.0)
            df = (len(levels.log_fractions) - 1) * ratio**4
        degrees_of_freedom.append(df)
        log_low, log_high = student_interval(
            area.log_value, spread, df, plan.level, bias_shown=area.bias_shown
        )
        if levels.n_uniform is not None and area.n_inside < _FEW_INSIDE and not area.reason:
            log_low, log_high = _interval_of_few(area, replicates[:, k], levels.n_uniform, plan)
        if levels.n_test < 2:  # resamples of one test point are itself
            log_low = log_high = math.nan
        criteria.append(
            Criterion(
                value=area.value,
                low=exp(log_low),
                high=exp(log_high),
                log_value=area.log_value,
                log_low=log_low,
                log_high=log_high,
                sampling_error=Spread.of(of_test[:, k]).deviation,
                monte_carlo_error=monte_carlo_error,
                confidence_level=plan.level,
                n_test=levels.n_test,
                n_uniform=levels.n_uniform,
                n_resamples=plan.n_resamples,
                n_undefined=spread.n_undefined,
                reason=area.reason,
            )
        )
    logs = np.array([criterion.log_value for criterion in criteria])
    return CriterionEstimates(Criteria(*criteria), logs, replicates, np.array(degrees_of_freedom))


def replicate_logs(
    levels: LevelSets,
    points: PointLevels,
    plan: CriteriaPlan,
    window: Window,
    volumes: Sequence[Volumes],
    n_resamples: int,
    resampled: tuple[bool, bool],
) -> FloatMatrix:
    """Return logarithms of both criteria of replicates, from volumes in a unit for each.

    ``resampled`` tells whether test points and whether uniform points are drawn anew.

    Returns
    -------
    numpy.ndarray of shape (n_resamples, 2)
        NaN where EM is undefined, -inf where MV is 0.
    """
    n = levels.n_test
    height = float(plan.excess_mass * n)
    ends = (window.first, window.last, float(window.before), float(window.behind))
    step = max(_POINTS_A_STEP // points.n_points, 1)

    def by_unit(volumes: Volumes) -> FloatMatrix:
        criteria = np.empty((n_resamples, 2))

        def resample(part: range) -> None:
            kernels.resample_criteria(
                plan.key,  # detectors of the same points share their replicates
                part.start,
                resampled,
                points.number,
                points.test,
                points.uniform,
                volumes.repeats,
                min(levels.box.log - volumes.unit.log, LARGEST_LOG),
                levels.masses,
                volumes.each,
                height,
                ends,
                criteria[part.start : part.stop],
            )

        thread_map(resample, in_steps(0, n_resamples, step))
        units = np.array([-volumes.unit.log - 2 * math.log(n), volumes.unit.log - math.log(n)])
        with np.errstate(divide="ignore"):
            logs: FloatMatrix = np.log(criteria) + units
        return logs

    of_em, of_mv = volumes
    if levels.inside is not None:  # counted, in the same unit
        return by_unit(of_em)
    return np.column_stack([by_unit(of_em)[:, 0], by_unit(of_mv)[:, 1]])


class _Area(NamedTuple):
    """An area, its logarithm, and how much of its bias replicates show."""

    value: float
    log_value: float
    bias_shown: float
    log_of_one: float = 0.0  # its logarithm if one uniform point decided it
    power: int = 1  # of the number of points that it is proportional to
    reason: str = ""

    @property
    def n_inside(self) -> float:
        """Number of uniform points that decide the area."""
        return exp(self.power * (self.log_value - self.log_of_one))


def _areas(levels: LevelSets, plan: CriteriaPlan) -> tuple[_Area, _Area]:
    """Return both areas, EM perhaps undefined."""
    excess, volume = excess_mass_curve(levels), mass_volume_curve(levels)
    try:
        area, log_area = excess.area(plan.excess_mass), excess.log_area(plan.excess_mass)
    except UndefinedMeasureError as error:
        em = _Area(math.nan, math.nan, _EM_BIAS_SHOWN, reason=str(error))
    else:
        log_of_one = log_area
        if levels.inside is not None:  # in the smallest set that the area depends on
            most = math.floor(plan.excess_mass * levels.n_test)
            index = int(np.searchsorted(levels.masses, most, "right"))
            log_of_one += math.log(levels.inside[index])
        em = _Area(area, log_area, _EM_BIAS_SHOWN, log_of_one, -1)
    low, high = plan.mass
    log_of_one = levels.log_unit + math.log(high - low)
    return em, _Area(volume.area(low, high), volume.log_area(low, high), 1.0, log_of_one)


def _interval_of_few(
    area: _Area, replicates: FloatVector, n_uniform: int, plan: CriteriaPlan
) -> tuple[float, float]:
    """Return the ends of an area that few uniform points decide, as logarithms.

    The Clopper-Pearson interval for the number of equal points that say as much. A point that is
    inside some of the sets counts in part; of points that are missing, one may count as a whole
    (Fay and Feuer, "Confidence intervals for directly standardized rates", 1997).
    """
    n_inside, alpha = area.n_inside, 1 - plan.level
    # EM is undefined where no point is inside.
    logs = np.nan_to_num(area.power * (replicates - area.log_of_one), nan=-math.inf)
    counts = np.exp(logs)
    variance, log_low = 0.0, -math.inf
    if n_inside > 0:
        if counts.shape[0] < 2:
            return math.nan, math.nan
        df = error_degrees_of_freedom(math.inf, counts.shape[0])
        # Without any variance all points are inside.
        variance = float(counts.var(ddof=1)) * student_over_normal(alpha, df) ** 2 or n_inside
        n = n_uniform * n_inside / variance
        low, _ = clopper_pearson(n_inside**2 / variance, n, alpha)
        log_low = log(min(low * n_uniform, n_inside))
    n = n_uniform * (n_inside + 1) / (variance + 1)
    _, high = clopper_pearson((n_inside + 1) ** 2 / (variance + 1) - 1, n, alpha)
    log_high = log(max(high * n_uniform, n_inside))
    low_end, high_end = sorted(area.log_of_one + area.power * end for end in (log_low, log_high))
    return low_end, high_end


class Spread(NamedTuple):
    """Mean and standard deviation of replicates that are defined."""

    mean: float
    deviation: float
    n_defined: int
    n_undefined: int

    @classmethod
    def of(cls, logs: FloatVector) -> "Spread":
        """Summarise logarithms; not a number where most are undefined."""
        defined = logs[np.isfinite(logs)]
        n_undefined = logs.shape[0] - defined.shape[0]
        if 2 * n_undefined > logs.shape[0] or defined.shape[0] < 2:
            return cls(math.nan, math.nan, defined.shape[0], n_undefined)
        deviation = float(defined.std(ddof=1))
        return cls(float(defined.mean()), deviation, defined.shape[0], n_undefined)


def student_interval(
    value: float, spread: Spread, df: float, level: float, *, bias_shown: float = 1.0
) -> tuple[float, float]:
    """Return Student's interval around a value without its bias.

    Replicates show a part of the bias. The fewer they are, the less is known of it and of the
    error, for which the data leave ``df`` degrees of freedom.
    """
    centre = value - (spread.mean - value) / bias_shown
    deviation = math.hypot(1, 1 / (bias_shown * math.sqrt(max(spread.n_defined, 1))))
    deviation *= spread.deviation
    half_width = deviation * float(
        stdtrit(error_degrees_of_freedom(df, spread.n_defined), (1 + level) / 2)
    )
    return centre - half_width, centre + half_width

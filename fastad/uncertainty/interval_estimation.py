"""Intervals of measures from counts: values, the method of each, and one set of replicates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fastad._core.progress import Progress, part_of
from fastad._core.types import FloatVector
from fastad.errors import UndefinedMeasureError
from fastad.measures.contamination import NOTHING_HIDDEN
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import OF_PROPORTION, TRIALS, confusion_at_threshold
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.bootstrap import (
    Ranking,
    acceleration,
    basic,
    bias_corrected,
    check_drawable,
    percentile,
    plan,
    replicate_values,
    too_few_samples,
    too_often_undefined,
)
from fastad.uncertainty.closed_forms import (
    BINOMIAL,
    Bounds,
    logit_ends,
    newcombe,
    newcombe_variance,
    normal_quantile,
    pairs_interval,
    standard_error_of,
    symmetric_ends,
    variance,
)
from fastad.uncertainty.corrected import interval_of_area, inversion, observed_area
from fastad.uncertainty.enclosing_curves import (
    box_interval,
    fiducial,
    fiducial_values,
    has_box,
    order_interval,
)
from fastad.uncertainty.influence import influence
from fastad.uncertainty.methods import ANY_SIZE, RESAMPLING, select_method
from fastad.uncertainty.results import Interval, reason_of_selection

# Methods that need no variance of the given samples.
_WITHOUT_VARIANCE = (*BINOMIAL, *ANY_SIZE, "newcombe", "inversion")


@dataclass(frozen=True, slots=True, eq=False)
class IntervalOptions:
    """Options of an interval, checked.

    Attributes
    ----------
    method : str
        One of the methods, or "auto".
    level : Fraction
        Confidence level.
    n_resamples, stratified, key
        Of a bootstrap; the key is that of its random numbers.
    contamination : (Fraction, Fraction)
        Lowest and highest fraction of anomalies hidden among the normals.
    """

    method: str
    level: Fraction
    n_resamples: int
    stratified: bool
    key: np.uint64
    contamination: tuple[Fraction, Fraction] = NOTHING_HIDDEN

    @property
    def alpha(self) -> float:
        """Nominal probability that the interval does not cover the true value."""
        return float(1 - self.level)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A measure with its value on the data, and the method for its interval.

    Attributes
    ----------
    coverage : float or None
        Coverage of the method on generated data, where it was selected by that.
    """

    bound: BoundMeasure
    value: float
    method: str
    coverage: float | None = None


def intervals_of(
    counts: OrderedCounts,
    measures: Sequence[BoundMeasure],
    options: IntervalOptions,
    progress: Progress | None = None,
) -> list[Interval | UndefinedMeasureError]:
    """Return the interval of each measure, or why there is none; all share their replicates."""
    check_drawable(counts)
    tasks = [_task(counts, observed_area(bound), options) for bound in measures]
    drawn: dict[int, npt.NDArray[np.float64]] = {}
    resampled = [task for task in tasks if isinstance(task, Task) and task.method in RESAMPLING]
    enclosed = [task for task in tasks if isinstance(task, Task) and task.method == "fiducial"]
    n_parts = bool(resampled) + bool(enclosed)
    if resampled:
        resamples = plan(counts, options.n_resamples, options.key, stratified=options.stratified)
        values = replicate_values(
            Ranking(counts),
            [task.bound for task in resampled],
            resamples,
            part_of(progress, 0, n_parts),
        )
        drawn.update(zip(map(id, resampled), values, strict=True))
    if enclosed:
        curves = fiducial_values(
            counts,
            [task.bound for task in enclosed],
            options.n_resamples,
            options.key,
            part_of(progress, n_parts - 1, n_parts),
        )
        drawn.update(zip(map(id, enclosed), curves, strict=True))
    results = [
        task
        if isinstance(task, UndefinedMeasureError)
        else estimate_interval(counts, task, options, drawn.get(id(task)))
        for task in tasks
    ]
    return [
        interval_of_area(result, bound) if isinstance(result, Interval) else result
        for result, bound in zip(results, measures, strict=True)
    ]


def _task(
    counts: OrderedCounts, bound: BoundMeasure, options: IntervalOptions
) -> Task | UndefinedMeasureError:
    if options.method == "auto":
        return task_of(counts, bound, *select_method(bound, counts))
    return task_of(counts, bound, options.method)


def task_of(
    counts: OrderedCounts, bound: BoundMeasure, method: str, coverage: float | None = None
) -> Task | UndefinedMeasureError:
    """Return the task of an interval by a method, or why there is none."""
    try:
        value = bound.value(counts)
    except UndefinedMeasureError as error:
        return error
    too_few = None
    if method not in _WITHOUT_VARIANCE:
        too_few = too_few_samples(
            f"an interval of {bound.key}", counts.n_anomalies, counts.n_normals
        )
    return too_few or Task(bound, value, method, coverage)


def estimate_interval(
    counts: OrderedCounts,
    task: Task,
    options: IntervalOptions,
    drawn: npt.NDArray[np.float64] | None,
) -> Interval | UndefinedMeasureError:
    """Return the interval of a measure, from its replicates where its method needs them."""
    n_resamples = n_undefined = 0
    if drawn is None:
        (low, high), standard_error = _closed_form(counts, task, options)
    elif task.method == "fiducial":
        n_resamples = drawn.shape[1]
        low, high = fiducial(task.bound, drawn, options.alpha)
        middle = drawn.mean(axis=0)
        standard_error = _deviation(middle[~np.isnan(middle)])
    else:
        defined = drawn[~np.isnan(drawn)]
        n_resamples = drawn.shape[0]
        n_undefined = n_resamples - defined.shape[0]
        error = too_often_undefined(f"an interval of {task.bound.key}", n_undefined, n_resamples)
        if error is not None:
            return error
        low, high = _from_replicates(counts, task, defined, options.alpha)
        standard_error = _deviation(defined)
    method = task.method
    if low == high and task.bound.measure.name == "roc_auc":
        method, standard_error = "pairs", math.nan
        low, high = pairs_interval(task.value, counts, options.alpha)
    # Replicates and bounds of a biased measure may all lie on one side of it.
    return Interval(
        value=task.value,
        low=min(low, task.value),
        high=max(high, task.value),
        standard_error=standard_error,
        confidence_level=float(options.level),
        method=method,
        coverage=task.coverage,
        n_resamples=n_resamples,
        n_undefined=n_undefined,
        selection=reason_of_selection(task.coverage, method) if options.method == "auto" else None,
    )


def _deviation(values: FloatVector) -> float:
    return float(np.std(values, ddof=1)) if values.shape[0] > 1 else math.nan


def _from_replicates(
    counts: OrderedCounts, task: Task, replicates: FloatVector, alpha: float
) -> Bounds:
    if task.method == "bca":
        skewness = acceleration(counts, influence(counts, task.bound))
        return bias_corrected(task.value, replicates, skewness, alpha)
    if task.method == "basic":
        low, high = basic(task.value, replicates, alpha)
        lowest, highest = task.bound.bounds
        return max(low, lowest), min(high, highest)
    return percentile(replicates, alpha)


def _closed_form(
    counts: OrderedCounts, task: Task, options: IntervalOptions
) -> tuple[Bounds, float]:
    """Return the ends of an interval that needs no replicates, and the standard error."""
    bound, value, alpha = task.bound, task.value, options.alpha
    if task.method == "inversion":
        return inversion(counts, bound, alpha), math.nan
    if task.method in BINOMIAL and has_box(bound):
        return box_interval(counts, bound, alpha), math.nan
    if task.method in BINOMIAL:
        confusion = confusion_at_threshold(counts, bound.parameters["threshold"])
        k, n = TRIALS[bound.measure.name](confusion)
        low, high = BINOMIAL[task.method](k, n, alpha)
        standard_error = math.sqrt(k * (n - k) / n) / n
        if bound.measure.name in OF_PROPORTION:
            value_of, slope = OF_PROPORTION[bound.measure.name]
            return (value_of(low, n), value_of(high, n)), standard_error * slope(k / n, n)
        return (low, high), standard_error
    if task.method == "newcombe":
        n, m = counts.n_anomalies, counts.n_normals
        return newcombe(value, n, m, alpha), math.sqrt(newcombe_variance(value, n, m))
    if task.method == "order":
        return order_interval(counts, bound, options.level), math.nan
    standard_error = standard_error_of(variance(counts, influence(counts, bound)), bound)
    ends = symmetric_ends if task.method == "delong" else logit_ends
    half = normal_quantile(alpha) * standard_error
    return ends(value, half, bound.bounds), standard_error

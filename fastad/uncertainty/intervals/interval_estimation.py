"""Intervals of measures from counts: values, the method of each, and one set of replicates."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import psi

from fastad._core.parameters import check_choice, check_count, check_flag, check_inside
from fastad._core.progress import Progress, part_of
from fastad._core.random import random_key
from fastad._core.threads import thread_map
from fastad._core.types import FloatVector, Point
from fastad.errors import UndefinedMeasureError
from fastad.measures.contamination import CorrectedMeasure, corrected_area, observed_area
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import OF_PROPORTION, TRIALS, confusion_at_threshold
from fastad.measures.roc import ROC_AUC
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.intervals.enclosing_curves import (
    PRECISION_AREAS,
    fiducial,
    fiducial_values,
    order_interval,
)
from fastad.uncertainty.intervals.inversion import inversion
from fastad.uncertainty.intervals.methods import (
    ANY_SIZE,
    METHODS,
    RESAMPLING,
    coverage_of_units,
    draws_curves,
    methods_of,
    note_of_few_units,
    select_method,
)
from fastad.uncertainty.results import Interval, or_error, reason_of_selection
from fastad.uncertainty.samples.bootstrap import refuse_often_undefined
from fastad.uncertainty.samples.closed_forms import (
    BINOMIAL,
    Bounds,
    acceleration,
    basic,
    bias_corrected,
    gamma_ends,
    logit_ends,
    newcombe,
    newcombe_variance,
    pairs_interval,
    percentile,
    rounding_of,
    standard_error_of,
    student_quantile,
    symmetric_ends,
    widened,
)
from fastad.uncertainty.samples.influence import influence
from fastad.uncertainty.samples.sampling import DesignedSample, Sample

# Methods that need no variance of the given samples.
_WITHOUT_VARIANCE = (*BINOMIAL, *ANY_SIZE, "newcombe", "pairs")
# Methods of the variance of the given samples, where they draw nothing.
BY_VARIANCE = ("combined", "delong", "logit")
# Of up to so many anomalies of which a tenth is below all normals, areas were covered in 78 to 94 %
# of samples, and in at least 92 % without this note. At 95 % intervals of 92 % have none.
_FEW_ANOMALIES, _MISSING = 20, 2 * 0.08 / 0.05


@dataclass(frozen=True, slots=True, eq=False)
class InferenceOptions:
    """Options of intervals and comparisons, checked."""

    method: str  # one of the methods, or "auto"
    level: Fraction
    n_resamples: int
    stratified: bool
    key: np.uint64  # seed of the random numbers of replicates and permutations
    progress: Progress | None = None  # of replicates

    @property
    def alpha(self) -> float:
        """Nominal probability that an interval does not cover the true value."""
        return float(1 - self.level)


def check_options(
    method: str,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    *,
    stratified: bool = True,
    methods: Iterable[str] = METHODS,
) -> InferenceOptions:
    """Check the options of intervals, or of comparisons by other methods."""
    return InferenceOptions(
        check_choice(method, ("auto", *methods), "method"),
        check_inside(confidence_level, "confidence_level"),
        check_count(n_resamples, "n_resamples"),
        check_flag(stratified, "stratified"),
        random_key(rng),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A measure with its value on the data, and the method for its interval."""

    bound: BoundMeasure
    value: float
    method: str
    # Coverage of the method on generated data, where it was selected by that; NaN where it is not
    # known.
    coverage: float | None = None
    df: float = math.inf  # degrees of freedom with which the variance is known
    variance: float | None = None  # of the samples; None where it is not computed yet


def intervals_of(
    sample: Sample, measures: Sequence[BoundMeasure], options: InferenceOptions
) -> list[Interval | UndefinedMeasureError]:
    """Return the interval of each measure, or why there is none; all share their replicates."""

    def select(bound: BoundMeasure) -> Task | UndefinedMeasureError:
        return or_error(select_task, sample, observed_area(bound), options)

    tasks = thread_map(select, measures)
    selected = [task for task in tasks if isinstance(task, Task)]
    drawn = _drawn(sample, selected, options)
    effect = sample.effect() if selected else None

    def estimate(position: int) -> Interval | UndefinedMeasureError:
        task = tasks[position]
        if isinstance(task, UndefinedMeasureError):
            return task
        result = or_error(estimate_interval, sample, task, options, drawn.get(id(task)))
        if isinstance(result, UndefinedMeasureError):
            return result
        return replace(interval_of_area(result, measures[position]), sampling=effect)

    return thread_map(estimate, range(len(measures)))


def _drawn(
    sample: Sample, tasks: Sequence[Task], options: InferenceOptions
) -> dict[int, npt.NDArray[np.float64]]:
    """Return the replicates, or the values on random curves, of the tasks whose methods draw."""
    drawn: dict[int, npt.NDArray[np.float64]] = {}
    resampled = [task for task in tasks if task.method in RESAMPLING]
    enclosed = [task for task in tasks if draws_curves(task.method, task.bound)]
    n_parts = bool(resampled) + bool(enclosed)
    if resampled:
        values = sample.replicates(
            [task.bound for task in resampled],
            options.n_resamples,
            options.key,
            part_of(options.progress, 0, n_parts),
            stratified=options.stratified,
        )
        drawn.update(zip(map(id, resampled), values, strict=True))
    if enclosed:
        curves = fiducial_values(
            sample.counts,
            [task.bound for task in enclosed],
            options.n_resamples,
            options.key,
            part_of(options.progress, n_parts - 1, n_parts),
        )
        drawn.update(zip(map(id, enclosed), curves, strict=True))
    return drawn


def interval_of_area(result: Interval, bound: BoundMeasure) -> Interval:
    """Return the interval of a corrected area from the interval of the observed one.

    The area is a linear function of the observed one, and so are the ends.
    """
    if observed_area(bound) is bound:
        return result
    assert isinstance(bound.measure, CorrectedMeasure)
    contamination = bound.measure.contamination
    value, low, high = (
        corrected_area(x, contamination) for x in (result.value, result.low, result.high)
    )
    standard_error = result.standard_error / (1 - float(contamination))
    return replace(result, value=value, low=low, high=high, standard_error=standard_error)


def interval_by_level(
    sample: Sample, task: Task, options: InferenceOptions
) -> tuple[Callable[[Fraction], Interval], npt.NDArray[np.float64] | None]:
    """Return the interval of a measure as a function of its level, and what was drawn, once."""
    drawn = _drawn(sample, [task], options).get(id(task))
    if drawn is None and task.method in BY_VARIANCE:
        # A p-value takes a hundred levels, and all of them this variance.
        task = replace(task, variance=sample.variance(task.bound))

    def at(level: Fraction) -> Interval:
        return estimate_interval(sample, task, replace(options, level=level), drawn)

    return at, drawn


def select_task(sample: Sample, bound: BoundMeasure, options: InferenceOptions) -> Task:
    """Return the task of an interval by the method that options name."""
    if options.method != "auto":
        return task_of(sample, bound, options.method)
    if isinstance(sample, DesignedSample):
        method = methods_of(bound, sample.kind)[0]
        return task_of(sample, bound, method, coverage_of_units(bound, sample))
    return task_of(sample, bound, *select_method(bound, sample.counts))


def task_of(
    sample: Sample, bound: BoundMeasure, method: str, coverage: float | None = None
) -> Task:
    """Return the task of an interval by a method; raise where there is no interval."""
    bound.check_weights(sample.counts)
    value = bound.value(sample.counts)
    if method not in _WITHOUT_VARIANCE:
        # Too few clusters or blocks are a reason that all measures share, and notes give once.
        of_measure = f" of {bound.key}" if sample.kind is None else ""
        sample.refuse(f"an interval{of_measure}")
    df = sample.degrees_of_freedom(bound)
    if isinstance(sample, DesignedSample) and note_of_few_units(bound, sample) is not None:
        coverage = math.nan
    return Task(bound, value, method, coverage, df)


def estimate_interval(
    sample: Sample, task: Task, options: InferenceOptions, drawn: npt.NDArray[np.float64] | None
) -> Interval:
    """Return the interval of a measure, from its replicates where its method needs them."""
    n_resamples = n_undefined = 0
    method, reason = task.method, None
    if drawn is None:
        method, (low, high), standard_error = _closed_form(sample, task, options)
    elif draws_curves(task.method, task.bound):
        n_resamples = drawn.shape[1]
        middle = drawn.mean(axis=0)
        standard_error = _deviation(middle[~np.isnan(middle)])
        method, (low, high) = _of_curves(sample, task, options, drawn, middle)
    else:
        defined = drawn[~np.isnan(drawn)]
        n_resamples = drawn.shape[0]
        n_undefined = n_resamples - defined.shape[0]
        refuse_often_undefined(f"an interval of {task.bound.key}", n_undefined, n_resamples)
        defined = widened(defined, task.value, sample.widening(task.df, options.alpha))
        low, high = _from_replicates(sample.counts, task, defined, options.alpha)
        standard_error = _deviation(defined)
    if low == high and task.bound.measure.name == ROC_AUC.name and sample.kind is None:
        method, standard_error = "pairs", math.nan
        low, high = pairs_interval(task.value, sample.counts, options.alpha)
    if low < high and task.bound.measure.name in PRECISION_AREAS:
        low = min(low, _value_without_bias(sample.counts, task))
    coverage = task.coverage
    if options.method == "auto":
        if _excludes_a_kind(sample.deciding_sizes[0], (low, high), task, options.alpha):
            coverage = math.nan
        reason = reason_of_selection(coverage, method, sample.kind)
    # Replicates and bounds of a biased measure may all lie on one side of it.
    return Interval(
        value=task.value,
        low=min(low, task.value),
        high=max(high, task.value),
        standard_error=standard_error,
        confidence_level=float(options.level),
        method=method,
        coverage=coverage,
        n_resamples=n_resamples,
        n_undefined=n_undefined,
        selection=reason,
    )


def _value_without_bias(counts: OrderedCounts, task: Task) -> float:
    """Return an area under the precision-recall curve less the bias of the smallest.

    If all anomalies are below all normals, the precisions at n anomalies are i / (i + r n), with r
    normals for each anomaly at the prevalence; their mean is higher than a population's,
    1 - r ln(1 + 1/r). The mean of a curve between the points is the same.
    """
    bound = task.bound
    n, m = float(counts.n_anomalies), float(counts.n_normals)
    prevalence = bound.parameters["prevalence"]
    ratio = m / n if prevalence is None else float((1 - prevalence) / prevalence)
    bias = 0.0
    if bound.measure.name == "average_precision" and counts.weighting != "real" and ratio > 0:
        sum_of_inverses = float(psi(n + ratio * n + 1) - psi(ratio * n + 1))
        bias = max(0.0, ratio * (math.log1p(1 / ratio) - sum_of_inverses))
    # Rounding must not leave out what is exactly the smallest.
    return max(bound.bounds[0], task.value - bias - rounding_of(bound))


def _ends_of_few(sample: Sample, task: Task, standard_error: float, alpha: float) -> Bounds:
    """Return the ends if few samples decide the value.

    If they hardly ever occur, the other end covers nearly always, and this one may miss with alpha.
    Of few anomalies, though, the samples that have none of them are those with a note.
    """
    if sample.deciding_sizes[0] <= _FEW_ANOMALIES:
        alpha /= 2
    return gamma_ends(task.value, standard_error, task.bound.bounds, alpha)


def _excludes_a_kind(n: float, ends: tuple[float, float], task: Task, alpha: float) -> bool:
    """Return whether a kind of anomalies that may be missing has a value which the end excludes.

    The sample has none of a kind that is 1 - x^(1/n) of the anomalies with a probability of x. An
    interval that does not cover with a probability of at most x / 2 contains what it would have
    made of the value, in half of the samples. The kind lies below all normals for the area under
    the ROC curve, and above all for precisions, which it raises.
    """
    if task.method != "combined":
        return False
    missing = missing_kind(n, alpha)
    if task.bound.measure.name == ROC_AUC.name:
        return n <= _FEW_ANOMALIES and ends[0] > task.value * (1 - missing)
    return ends[1] < task.value + (1 - task.value) * missing


def missing_kind(n_samples: float, alpha: float) -> float:
    """Return the largest part of the samples of which none may be among so many, by chance."""
    seen: float = min(1.0, _MISSING * alpha) ** (1 / n_samples)
    return 1 - seen


def _of_curves(
    sample: Sample,
    task: Task,
    options: InferenceOptions,
    curves: npt.NDArray[np.float64],
    middle: FloatVector,
) -> tuple[str, Bounds]:
    """Return the method and the ends of an interval from random curves.

    Combined, it contains the ends of `logit`, which knows the variance that the sample shows, the
    limits where few samples decide, and the middles of both curves, which know that one more sample
    may be above all. A sample without variance does not tell in which direction, and has the whole
    range from the lower curve on.
    """
    if task.method == "combined":
        _, (low, high), standard_error = _closed_form(
            sample, replace(task, method="logit"), options
        )
        if standard_error > 0:
            few = _ends_of_few(sample, task, standard_error, options.alpha)
            ends = fiducial(task.bound, np.stack([middle, middle]), options.alpha)
            return "combined", (min(low, few[0], ends[0]), max(high, few[1], ends[1]))
    return "fiducial", fiducial(task.bound, curves, options.alpha)


def _deviation(values: FloatVector) -> float:
    return float(np.std(values, ddof=1)) if values.shape[0] > 1 else math.nan


def _from_replicates(
    counts: OrderedCounts, task: Task, replicates: FloatVector, alpha: float
) -> Bounds:
    if task.method == "bca":
        skewness = acceleration(counts, influence(counts, task.bound))
        return bias_corrected(task.value, replicates, skewness, alpha)
    low, high = (
        basic(task.value, replicates, alpha)
        if task.method == "basic"
        else percentile(replicates, alpha)
    )
    lowest, highest = task.bound.bounds
    return max(low, lowest), min(high, highest)


def _closed_form(
    sample: Sample, task: Task, options: InferenceOptions
) -> tuple[str, Bounds, float]:
    """Return the method of an interval that needs no replicates, its ends and standard error."""
    counts, bound, value, alpha = sample.counts, task.bound, task.value, options.alpha
    method = task.method
    if method == "inversion":
        return method, inversion(counts, bound, alpha), math.nan
    if method in BINOMIAL:
        confusion = confusion_at_threshold(counts, bound.parameters["threshold"])
        k, n = TRIALS[bound.measure.name](confusion)
        low, high = BINOMIAL[method](k, n, alpha)
        standard_error = math.sqrt(k * (n - k) / n) / n
        if bound.measure.name in OF_PROPORTION:
            value_of, slope = OF_PROPORTION[bound.measure.name]
            return method, (value_of(low, n), value_of(high, n)), standard_error * slope(k / n, n)
        return method, (low, high), standard_error
    if method == "order":
        return method, order_interval(counts, bound, options.level), math.nan
    if method == "pairs":
        return method, pairs_interval(value, counts, alpha), math.nan
    n, m = sample.deciding_sizes
    if method == "newcombe":
        return method, newcombe(value, n, m, alpha), math.sqrt(newcombe_variance(value, n, m))
    variance = sample.variance(bound) if task.variance is None else task.variance
    standard_error = standard_error_of(variance, bound)
    ends_of = symmetric_ends if method == "delong" else logit_ends
    half = student_quantile(alpha, task.df) * standard_error
    ends = ends_of(value, half, bound.bounds)
    if method == "combined" and standard_error > 0:
        return _combined_area(sample, task, ends, standard_error, alpha)
    return method, ends, standard_error


def _combined_area(
    sample: Sample, task: Task, ends: Bounds, standard_error: float, alpha: float
) -> tuple[str, Bounds, float]:
    """Return the method of a combined interval of the area under the ROC curve, ends, and error.

    It contains those of `logit`, which are given, and where few samples decide. A variance that the
    sample does not show, but Newcombe's method has, may be of a kind that it has none of by chance:
    his ends are contained as far as a kind reaches of which one sample in twelve has none.
    """
    n, m = sample.deciding_sizes
    few = _ends_of_few(sample, task, standard_error, alpha)
    combined = min(ends[0], few[0]), max(ends[1], few[1])
    method = "logit" if combined == ends else "combined"
    allowed = math.sqrt(newcombe_variance(task.value, n, m))
    if allowed >= standard_error:
        others = newcombe(task.value, n, m, alpha)
        seen = 1 - missing_kind(min(n, m), alpha / 2)
        low = min(combined[0], max(others[0], task.value * seen))
        high = max(combined[1], min(others[1], 1 - (1 - task.value) * seen))
        combined, standard_error = (low, high), allowed
        # His method by itself takes rows alone.
        is_his = combined == others and sample.kind is None
        method = "newcombe" if is_his else "combined"
    return method, combined, standard_error

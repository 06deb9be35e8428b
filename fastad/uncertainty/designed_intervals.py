"""Intervals of measures on samples that depend on each other, or have real weights."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastad._core.progress import Progress
from fastad._core.types import FloatVector
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.partial import AUC_AT_FPR
from fastad.measures.roc import ROC_AUC
from fastad.uncertainty.bootstrap import basic, percentile, too_often_undefined
from fastad.uncertainty.closed_forms import (
    logit_ends,
    standard_error_of,
    student_over_normal,
    student_quantile,
    symmetric_ends,
)
from fastad.uncertainty.influence import has_influence
from fastad.uncertainty.interval_estimation import IntervalOptions
from fastad.uncertainty.results import ENOUGH_UNITS, Interval
from fastad.uncertainty.sampling import DesignedSample

REPLICATED = ("bootstrap", "basic")
# With fewer degrees of freedom intervals were measured to cover less often than they say.
_FEWEST_DEGREES = 10


def methods_of_design(bound: BoundMeasure) -> list[str]:
    """Return the methods that do not take rows as independent, the best first."""
    if not has_influence(bound.measure):
        return list(REPLICATED)
    has_ends = all(abs(end) < math.inf for end in bound.bounds)
    return [*(["logit"] if has_ends else []), "delong", *REPLICATED]


def check_method_of_design(method: str, bound: BoundMeasure) -> None:
    """Raise where a method takes rows as independent, or there is none of it for a measure."""
    possible = methods_of_design(bound)
    if method not in ("auto", *possible):
        expected = ", ".join(map(repr, ["auto", *possible]))
        raise InvalidInputError(
            f"method must be one of {expected} for {bound.measure.name} of samples in clusters or "
            f"in time, or with real weights; found {method!r}",
            argument="method",
        )


class _Task(NamedTuple):
    bound: BoundMeasure
    value: float
    method: str


def intervals_of_design(
    sample: DesignedSample,
    measures: Sequence[BoundMeasure],
    options: IntervalOptions,
    progress: Progress | None = None,
) -> list[Interval | UndefinedMeasureError]:
    """Return the interval of each measure, or why there is none; all share their replicates."""
    refusal = sample.refusal("an interval")
    tasks = [refusal or _task(sample, bound, options.method) for bound in measures]
    replicated = [task for task in tasks if isinstance(task, _Task) and task.method in REPLICATED]
    drawn: dict[str, FloatVector] = {}
    if replicated:
        bounds = [task.bound for task in replicated]
        values = sample.replicates(bounds, options.n_resamples, options.key, progress)
        drawn = dict(zip([bound.key for bound in bounds], values, strict=True))
    effect = None if refusal is not None else sample.effect()
    # Large weights are rare: a sample may have too few of them by chance.
    few = sample.kind == "weights" and refusal is None and sample.n_equal_units(1, 0) < ENOUGH_UNITS
    results: list[Interval | UndefinedMeasureError] = []
    for task in tasks:
        if isinstance(task, UndefinedMeasureError):
            results.append(task)
            continue
        bound, value = task.bound, task.value
        n_resamples = n_undefined = 0
        df = degrees_of_freedom(sample, bound)
        if task.method in REPLICATED:
            replicates = drawn[bound.key]
            defined = replicates[~np.isnan(replicates)]
            n_resamples = replicates.shape[0]
            n_undefined = n_resamples - defined.shape[0]
            refusal = too_often_undefined(f"an interval of {bound.key}", n_undefined, n_resamples)
            if refusal is not None:
                results.append(refusal)
                continue
            factor = widening(sample, df, options.alpha)
            low, high, error = _from_replicates(task, defined, factor, options.alpha)
        else:
            variance = sample.variances(sample.contributions(bound)).total
            error = standard_error_of(variance, bound)
            half = student_quantile(options.alpha, df) * error
            ends = logit_ends if task.method == "logit" else symmetric_ends
            low, high = ends(value, half, bound.bounds)
        results.append(
            Interval(
                value=value,
                low=min(low, value),
                high=max(high, value),
                standard_error=error,
                confidence_level=float(options.level),
                method=task.method,
                coverage=math.nan if few or df < _FEWEST_DEGREES else None,
                n_resamples=n_resamples,
                n_undefined=n_undefined,
                sampling=effect,
                selection=_reason(sample, task.method) if options.method == "auto" else None,
            )
        )
    return results


def _reason(sample: DesignedSample, method: str) -> str:
    """Return why `auto` selected a method."""
    article = "no" if method in REPLICATED else "a"
    return f"the measure has {article} closed form of its variance over {sample.kind}"


def degrees_of_freedom(sample: DesignedSample, bound: BoundMeasure) -> float:
    """Return the degrees of freedom with which a measure's variance is known.

    Of measures without influences those of an area, up to the FPR where the measure has one.
    """
    if not has_influence(bound.measure):
        fpr = bound.parameters.get("fpr") if bound.measure.operating_point == "fpr" else None
        bound = AUC_AT_FPR.bind(fpr=fpr) if fpr else ROC_AUC.bind()
    return sample.variances(sample.contributions(bound)).df


def widening(sample: DesignedSample, df: float, alpha: float) -> float:
    """Return the factor by which percentiles of replicates of few clusters are too narrow."""
    if math.isinf(df):
        return 1.0
    n = sample.n_units
    return student_over_normal(alpha, df) * math.sqrt(n / (n - 1))


def _task(
    sample: DesignedSample, bound: BoundMeasure, method: str
) -> "_Task | UndefinedMeasureError":
    if bound.measure.weights == "integer" and sample.counts.weighting == "real":
        return UndefinedMeasureError(
            f"{bound.measure.name} takes integer sample weights only; found other values"
        )
    try:
        value = bound.value(sample.counts)
    except UndefinedMeasureError as error:
        return error
    return _Task(bound, value, methods_of_design(bound)[0] if method == "auto" else method)


def _from_replicates(
    task: _Task, replicates: FloatVector, factor: float, alpha: float
) -> tuple[float, float, float]:
    """Return the ends of the interval and the standard error."""
    wider = task.value + factor * (replicates - task.value)
    error = float(np.std(wider, ddof=1)) if wider.shape[0] > 1 else math.nan
    low, high = (
        percentile(wider, alpha) if task.method == "bootstrap" else basic(task.value, wider, alpha)
    )
    lowest, highest = task.bound.bounds
    return max(low, lowest), min(high, highest), error

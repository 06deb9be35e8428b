"""The intervals of many measures of one detector, from one order and one set of replicates."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from fastad._core.parameters import check_choice, check_count, check_flag, check_inside
from fastad._core.random import random_key
from fastad._core.types import FloatVector, Point
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import TRIALS, confusion_at_threshold
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.bands import order_interval
from fastad.uncertainty.bootstrap import (
    Ranking,
    acceleration,
    basic,
    bias_corrected,
    need_whole,
    percentile,
    plan,
    replicate_values,
    too_few_points,
)
from fastad.uncertainty.closed_forms import (
    BINOMIAL,
    Bounds,
    logit_interval,
    newcombe,
    pairs_interval,
    plain_interval,
    variance,
)
from fastad.uncertainty.influence import influence
from fastad.uncertainty.methods import METHODS, RESAMPLING, chosen_method
from fastad.uncertainty.results import Interval

# These need no variance of the points at hand.
_FOR_ANY_SIZE = (*BINOMIAL, "newcombe", "order")


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What kind of interval is wanted, checked.

    Attributes
    ----------
    method : str
        One of the methods, or "auto".
    level : Fraction
        Confidence level.
    n_resamples, stratified, key
        Of a bootstrap; the key is that of its random numbers.
    """

    method: str
    level: Fraction
    n_resamples: int
    stratified: bool
    key: np.uint64

    @property
    def doubt(self) -> float:
        """Probability that the interval may fail."""
        return float(1 - self.level)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A measure that is defined, its value, and the method for its interval.

    Attributes
    ----------
    coverage : float or None
        How often the method held the truth, where it was chosen by that.
    """

    asked: BoundMeasure
    value: float
    method: str
    coverage: float | None = None


def check_wanted(
    method: str,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    *,
    stratified: bool = True,
) -> Wanted:
    """Check the options of an interval."""
    return Wanted(
        check_choice(method, ("auto", *METHODS), "method"),
        check_inside(confidence_level, "confidence_level"),
        check_count(n_resamples, "n_resamples"),
        check_flag(stratified, "stratified"),
        random_key(rng),
    )


def intervals_of(
    counts: OrderedCounts, asked: Sequence[BoundMeasure], wanted: Wanted
) -> list[Interval | UndefinedMeasureError]:
    """Return the interval of each measure, or why there is none; all share their replicates."""
    need_whole(counts)
    tasks = [_task(counts, one, wanted) for one in asked]
    drawn = [task for task in tasks if isinstance(task, Task) and task.method in RESAMPLING]
    replicates: dict[int, FloatVector] = {}
    if drawn:
        resamples = plan(counts, wanted.n_resamples, wanted.key, stratified=wanted.stratified)
        values = replicate_values(Ranking(counts), [task.asked for task in drawn], resamples)
        replicates = dict(zip(map(id, drawn), values, strict=True))
    return [
        task
        if isinstance(task, UndefinedMeasureError)
        else finish(counts, task, wanted, replicates.get(id(task)))
        for task in tasks
    ]


def _task(
    counts: OrderedCounts, asked: BoundMeasure, wanted: Wanted
) -> Task | UndefinedMeasureError:
    try:
        value = asked.value(counts)
    except UndefinedMeasureError as error:
        return error
    method, coverage = wanted.method, None
    if method == "auto":
        method, coverage = chosen_method(asked, counts)
    few = None
    if method not in _FOR_ANY_SIZE:
        few = too_few_points(f"an interval of {asked.key}", counts.n_anomalies, counts.n_normals)
    return few or Task(asked, value, method, coverage)


def finish(
    counts: OrderedCounts, task: Task, wanted: Wanted, replicates: FloatVector | None
) -> Interval | UndefinedMeasureError:
    """Return the interval of a measure, from its replicates where its method needs them."""
    n_resamples = n_undefined = 0
    if replicates is None:
        low, high = _CLOSED_FORMS[task.method](counts, task, wanted)
    else:
        defined = replicates[~np.isnan(replicates)]
        n_resamples = replicates.shape[0]
        n_undefined = n_resamples - defined.shape[0]
        if 2 * n_undefined > n_resamples:
            return UndefinedMeasureError(
                f"an interval of {task.asked.key} needs the measure on resamples; it is "
                f"undefined on {n_undefined} of {n_resamples}"
            )
        low, high = _from_replicates(counts, task, defined, wanted.doubt)
    method = task.method
    if low == high and task.asked.measure.name == "roc_auc":
        method, (low, high) = "pairs", pairs_interval(task.value, counts, wanted.doubt)
    return Interval(
        value=task.value,
        low=low,
        high=high,
        confidence_level=float(wanted.level),
        method=method,
        coverage=task.coverage,
        n_resamples=n_resamples,
        n_undefined=n_undefined,
    )


def _from_replicates(
    counts: OrderedCounts, task: Task, replicates: FloatVector, doubt: float
) -> Bounds:
    if task.method == "bca":
        skewed = acceleration(counts, influence(counts, task.asked))
        return bias_corrected(task.value, replicates, skewed, doubt)
    if task.method == "basic":
        low, high = basic(task.value, replicates, doubt)
        lowest, highest = task.asked.bounds
        return max(low, lowest), min(high, highest)
    return percentile(replicates, doubt)


def _smooth(transform: Callable[[float, float, Bounds, float], Bounds]) -> "_ClosedForm":
    def ends(counts: OrderedCounts, task: Task, wanted: Wanted) -> Bounds:
        deviation = math.sqrt(variance(counts, influence(counts, task.asked)))
        return transform(task.value, deviation, task.asked.bounds, wanted.doubt)

    return ends


def _binomial(bounds: Callable[[float, float, float], Bounds]) -> "_ClosedForm":
    def ends(counts: OrderedCounts, task: Task, wanted: Wanted) -> Bounds:
        confusion = confusion_at_threshold(counts, task.asked.parameters["threshold"])
        part, whole = TRIALS[task.asked.measure.name](confusion)
        return bounds(part, whole, wanted.doubt)

    return ends


def _newcombe(counts: OrderedCounts, task: Task, wanted: Wanted) -> Bounds:
    return newcombe(task.value, counts.n_anomalies, counts.n_normals, wanted.doubt)


def _order(counts: OrderedCounts, task: Task, wanted: Wanted) -> Bounds:
    return order_interval(counts, task.asked, wanted.level)


_ClosedForm: TypeAlias = Callable[[OrderedCounts, Task, Wanted], Bounds]
_CLOSED_FORMS: Mapping[str, _ClosedForm] = MappingProxyType(
    {
        "delong": _smooth(plain_interval),
        "logit": _smooth(logit_interval),
        "newcombe": _newcombe,
        "order": _order,
        **{name: _binomial(bounds) for name, bounds in BINOMIAL.items()},
    }
)

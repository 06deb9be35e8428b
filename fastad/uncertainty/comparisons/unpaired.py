"""The methods that compare a measure on two independent samples."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from fastad._core.arrays import RowIndex, as_readonly
from fastad._core.floats import SMALLEST_P
from fastad._core.progress import Progress, fill_in_steps, part_of
from fastad._core.random import numbered_generator
from fastad._core.types import BoolVector, CountVector, FloatVector, IntVector, ScoreVector
from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import PROPORTIONS, TRIALS
from fastad.ordering.counts import OrderedCounts, count_scores
from fastad.ordering.labels import Labels
from fastad.uncertainty.comparisons.pair_estimates import (
    FEWEST_SAMPLES,
    PairEstimate,
    doubts,
    estimate_of_permutations,
    estimate_of_replicates,
    range_of_difference,
    student_test,
    variance_of_replicates,
)
from fastad.uncertainty.comparisons.rate_margins import unpaired_rate_test
from fastad.uncertainty.intervals.interval_estimation import (
    InferenceOptions,
    interval_by_level,
    task_of,
)
from fastad.uncertainty.intervals.methods import (
    MANY,
    delong_coverage,
    delong_keeps_level,
    limits_of,
    note_of_few,
    select_method,
)
from fastad.uncertainty.results import Interval, coverage_note, lowest_coverage
from fastad.uncertainty.samples.bootstrap import IndependentSample
from fastad.uncertainty.samples.closed_forms import Bounds, rounding_of, variance
from fastad.uncertainty.samples.influence import has_influence, influence

# Up to this ratio of their sizes the errors of Wilson's intervals near 0 and 1 average out. With
# 10 against 20 000 samples equal rates differ significantly in up to 16 %; with 20 times as many in
# 6.7 %.
_MOST_UNEQUAL = 10
# Halvings in the search of a p-value.
_HALVINGS = 60
# More permutations than 2 to this power are never enumerated.
_MOST_BITS = 63


class Sample(NamedTuple):
    """One of two independent samples: its labels, its scores, and both counted."""

    labels: Labels
    scores: ScoreVector
    counts: OrderedCounts


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two independent samples, with their names, and the keys of their random numbers."""

    samples: tuple[Sample, Sample]
    names: tuple[str, str]
    keys: tuple[np.uint64, np.uint64]

    @property
    def counts(self) -> tuple[OrderedCounts, OrderedCounts]:
        """Counts of both samples."""
        return self.samples[0].counts, self.samples[1].counts


def select_unpaired_method(
    bound: BoundMeasure, counts: Sequence[OrderedCounts]
) -> tuple[str, float | None]:
    """Return the method that `auto` compares two samples by, and its coverage if that is known.

    NaN where nothing is known of it, None where the method tells it.
    """
    if bound.measure.name in PROPORTIONS:
        trials = unpaired_rate_test(counts, bound).sizes
        if max(trials) > _MOST_UNEQUAL * min(trials):
            return "exact", None
    # The variance is too small where few samples decide; intervals that were selected by their
    # coverage allow for that.
    coverages = [_interval_method(bound, side)[1] for side in counts]
    if not any(coverage != coverage for coverage in coverages):
        return "hybrid", None
    # The variance on one sample is as good as the variance of a difference of two detectors.
    keeps_level = (delong_keeps_level(bound, *each) for each in _sizes(counts))
    if has_influence(bound.measure) and all(keeps_level):
        return "delong", None
    limits = [limits_of(bound, float(side.n_anomalies), float(side.n_normals)) for side in counts]
    return "bootstrap", None if min(map(min, limits)) >= MANY else math.nan


def _sizes(counts: Sequence[OrderedCounts]) -> list[tuple[float, float]]:
    """Return the numbers of anomalies and normals of each side."""
    return [(float(side.n_anomalies), float(side.n_normals)) for side in counts]


def _interval_method(bound: BoundMeasure, counts: OrderedCounts) -> tuple[str, float | None]:
    """Return the method of the interval of one side, and its coverage."""
    if bound.measure.name in TRIALS:
        # Newcombe's method 10, which the difference of two exact intervals would widen.
        return "wilson", None
    return select_method(bound, counts)


def _exact(
    pair: Pair, bound: BoundMeasure, options: InferenceOptions, values: Sequence[float]
) -> PairEstimate:
    """Return the exact test of a rate at a threshold."""
    if bound.measure.name not in PROPORTIONS:
        raise InvalidInputError(
            "method must be another for a measure that is no proportion at a threshold, such as "
            f"'tpr@threshold0.5'; found 'exact' for {bound.key}"
        )
    ends, p_value = unpaired_rate_test(pair.counts, bound).two_sided(options.alpha)
    return PairEstimate(*ends, p_value, math.nan, math.inf, "exact")


def _delong(
    pair: Pair, bound: BoundMeasure, options: InferenceOptions, values: Sequence[float]
) -> PairEstimate:
    """Return Welch's test: one variance for each side, of n - 1 degrees of freedom."""
    difference = values[0] - values[1]
    variances, df = _welch_variances(pair, bound)
    deviation = math.sqrt(sum(variances))
    if deviation <= rounding_of(bound):
        return PairEstimate(difference, difference, 1.0, 0.0, math.inf, "delong")
    ends, p_value = student_test(difference, deviation, df, bound, options.alpha)
    # NaN, which is not known, if it is one of both.
    coverage = np.min([delong_coverage(bound, *each) for each in _sizes(pair.counts)])
    of_sizes = coverage_note(float(coverage), "delong")
    doubt = _doubt(pair, bound, options, variances, ends, is_normal=True) or of_sizes
    return PairEstimate(*ends, p_value, sum(variances), df, "delong", doubt=doubt)


def _welch_variances(pair: Pair, bound: BoundMeasure) -> tuple[list[float], float]:
    """Return the variance of a smooth measure on each side, and the degrees of freedom of both."""
    variances = [variance(counts, influence(counts, bound)) for counts in pair.counts]
    reciprocal = sum(
        each**2 / (float(counts.total) - 1)
        for each, counts in zip(variances, pair.counts, strict=True)
    )
    return variances, sum(variances) ** 2 / reciprocal if reciprocal else math.inf


def _doubt(
    pair: Pair,
    bound: BoundMeasure,
    options: InferenceOptions,
    variances: Sequence[float],
    ends: Bounds,
    *,
    is_normal: bool = False,
) -> str | None:
    sizes, names, alpha = _sizes(pair.counts), pair.names, options.alpha
    doubt_of = doubts(names, pair.counts, sizes, bound, variances, alpha, is_normal=is_normal)
    return doubt_of(0, 1, ends)


def _hybrid(
    pair: Pair, bound: BoundMeasure, options: InferenceOptions, values: Sequence[float]
) -> PairEstimate:
    """Return an interval made of one of each side, and the level at which it reaches 0."""
    sides = intervals_of_sides(pair, bound, options)
    first, second = (side(options.level) for side in sides)
    low, high = hybrid_ends(first, second)
    n_resamples = max(first.n_resamples, second.n_resamples)
    floor = 1 / (1 + n_resamples) if n_resamples else SMALLEST_P

    def excludes_zero(alpha: float) -> bool:
        lower, upper = hybrid_ends(*(side(1 - Fraction(alpha)) for side in sides))
        return lower > 0 or upper < 0

    # The interval tells on which side of alpha the p-value lies.
    above = math.nextafter(options.alpha, 1)
    if floor > options.alpha:
        reach = range_of_difference(bound)
        low, high = -reach, reach
    if values[0] == values[1]:
        p_value = 1.0
    elif low <= 0 <= high:
        p_value = smallest(excludes_zero, max(floor, above), 1.0)
    else:
        p_value = smallest(excludes_zero, floor, options.alpha)
    return PairEstimate(
        low,
        high,
        p_value,
        math.nan,
        math.inf,
        "hybrid",
        intervals=(first, second),
        coverage=lowest_coverage((first, second)),
        n_resamples=n_resamples,
        n_undefined=max(first.n_undefined, second.n_undefined),
        doubt=_doubt(
            pair,
            bound,
            options,
            # Intervals with a width allow for a sample without variance.
            [0.0 if side.low == side.high else math.nan for side in (first, second)],
            (low, high),
        ),
    )


def hybrid_ends(first: Interval, second: Interval) -> Bounds:
    """Return the ends of the interval of a difference, from the intervals of both values.

    The method of variance estimates recovery: the variance near each end of the difference is the
    sum of the variances near the ends of the values that it belongs to (Zou and Donner 2008,
    equation 3).
    """
    difference = first.value - second.value
    low = math.hypot(first.value - first.low, second.high - second.value)
    high = math.hypot(first.high - first.value, second.value - second.low)
    return difference - low, difference + high


def intervals_of_sides(
    pair: Pair, bound: BoundMeasure, options: InferenceOptions
) -> list[Callable[[Fraction], Interval]]:
    """Return the interval of each side as a function of its level."""
    return [_side(pair, i, bound, options, part_of(options.progress, i, 2)) for i in range(2)]


def _side(
    pair: Pair, i: int, bound: BoundMeasure, options: InferenceOptions, progress: Progress | None
) -> Callable[[Fraction], Interval]:
    """Return the interval of one side as a function of its level; replicates are drawn once."""
    counts = pair.counts[i]
    method, coverage = _interval_method(bound, counts)
    sample = IndependentSample(counts)
    task = task_of(sample, bound, method, coverage)
    options = replace(options, method=method, key=pair.keys[i], progress=progress)
    return interval_by_level(sample, task, options)[0]


def smallest(is_true: Callable[[float], bool], low: float, high: float) -> float:
    """Return the smallest number between both from which on a condition holds, as for the last."""
    if is_true(low):
        return low
    for _ in range(_HALVINGS):
        # Rounding must not leave the range.
        middle = min(max(low, math.sqrt(low) * math.sqrt(high)), high)
        low, high = (low, middle) if is_true(middle) else (middle, high)
    return high


def replicates_of_sides(
    pair: Pair, bound: BoundMeasure, options: InferenceOptions
) -> list[FloatVector]:
    """Return the measure on replicates of each side, drawn from each by itself."""
    return [
        IndependentSample(counts).replicates(
            [bound], options.n_resamples, key, part_of(options.progress, i, 2)
        )[0]
        for i, (counts, key) in enumerate(zip(pair.counts, pair.keys, strict=True))
    ]


def _bootstrap(
    pair: Pair, bound: BoundMeasure, options: InferenceOptions, values: Sequence[float]
) -> PairEstimate:
    first, second = replicates_of_sides(pair, bound, options)
    estimate = estimate_of_replicates(
        first - second, values[0] - values[1], bound, options, _infinite
    )
    variances = [variance_of_replicates(each) for each in (first, second)]
    doubt = _doubt(pair, bound, options, variances, (estimate.low, estimate.high))
    anomalies, normals = zip(*_sizes(pair.counts), strict=True)
    few = note_of_few("bootstrap", (min(anomalies), min(normals)), FEWEST_SAMPLES)
    return estimate._replace(doubt=doubt or few)


def _permutation(
    pair: Pair, bound: BoundMeasure, options: InferenceOptions, values: Sequence[float]
) -> PairEstimate:
    differences, is_exact = _permuted_differences(pair, bound, options)
    return estimate_of_permutations(
        differences, values[0] - values[1], bound, options, _infinite, is_exact=is_exact
    )


def _infinite(n_resamples: int) -> float:
    """Return degrees of freedom of a variance that is not used."""
    return math.inf


class _PooledClass(NamedTuple):
    """One class of both samples."""

    # (n_samples,): position of each score among all distinct scores, the highest first.
    positions: IntVector
    n_first: int  # how many are of the first sample


def _permuted_differences(
    pair: Pair, bound: BoundMeasure, options: InferenceOptions
) -> tuple[FloatVector, bool]:
    """Return the differences if within each class the sides are exchangeable, and whether all."""
    pooled, scores, is_anomaly = _pool(pair)
    n_distinct = pooled.keys.shape[0]
    positions = n_distinct - 1 - np.unique(scores, return_inverse=True)[1]
    classes = [
        _PooledClass(
            positions[mask], int(np.count_nonzero(mask[: pair.samples[0].scores.shape[0]]))
        )
        for mask in (is_anomaly, ~is_anomaly)
    ]
    n_all = math.prod(map(_n_choices, classes))
    is_exact = n_all <= options.n_resamples
    n_tried = int(n_all) if is_exact else options.n_resamples
    differences = np.empty(n_tried)
    chosen: list[tuple[tuple[int, ...], ...]] = []
    if is_exact:
        rows_of = (combinations(range(len(each.positions)), each.n_first) for each in classes)
        chosen = list(product(*rows_of))

    def fill(part: range) -> None:
        for i in part:
            if is_exact:
                first = [
                    of_class.positions[list(rows)]
                    for of_class, rows in zip(classes, chosen[i], strict=True)
                ]
            else:
                rng = numbered_generator(pair.keys[0], i)
                first = [
                    rng.permutation(of_class.positions)[: of_class.n_first] for of_class in classes
                ]
            values = [bound.value_or_nan(side) for side in _sides(pooled, first)]
            differences[i] = values[0] - values[1]

    fill_in_steps(fill, n_tried, scores.shape[0], options.progress)
    return differences, is_exact


def _n_choices(of_class: _PooledClass) -> float:
    """Return the number of choices; infinity where they are more than can be drawn."""
    n = len(of_class.positions)
    fewer = min(of_class.n_first, n - of_class.n_first)
    # At least 2**fewer; of a million samples the number has a million bits.
    return math.comb(n, fewer) if fewer < _MOST_BITS else math.inf


def _pool(pair: Pair) -> tuple[OrderedCounts, ScoreVector, BoolVector]:
    """Return the counts of both samples together, their scores, and which are anomalies."""
    scores = np.concatenate([sample.scores for sample in pair.samples])
    start = 0
    for sample in pair.samples:
        part = scores[start : start + sample.scores.shape[0]]
        with np.errstate(invalid="ignore"):  # of the largest integers as floats
            back = part.astype(sample.scores.dtype)
        if not np.array_equal(back, sample.scores):
            raise InvalidInputError(
                "sample_b must have scores of the type of sample_a for permutations, which mix "
                f"them; found {pair.samples[1].scores.dtype} beside {pair.samples[0].scores.dtype}"
            )
        start += part.shape[0]
    values = as_readonly(np.concatenate([sample.labels.values for sample in pair.samples]))
    labels = Labels(values, int(values.sum()), None, None, RowIndex(values.shape[0]))
    return count_scores(scores, labels), scores, values == 1


def _sides(
    pooled: OrderedCounts, first: Sequence[IntVector]
) -> tuple[OrderedCounts, OrderedCounts]:
    """Return the counts of both sides, given the positions of the first one's two classes."""
    cumulative = [
        np.concatenate([[0], np.cumsum(np.bincount(of_class, minlength=pooled.keys.shape[0]))])
        for of_class in first
    ]
    tps, fps = cumulative
    return _side_counts(pooled, fps, tps), _side_counts(pooled, pooled.fps - fps, pooled.tps - tps)


def _side_counts(pooled: OrderedCounts, fps: CountVector, tps: CountVector) -> OrderedCounts:
    """Return the counts of one side at the scores that occur in it."""
    n_anomalies, n_normals = int(tps[-1]), int(fps[-1])
    side = replace(
        pooled,
        fps=fps,
        tps=tps,
        n_anomalies=n_anomalies,
        n_normals=n_normals,
        n_points=n_anomalies + n_normals,
    )
    return side.at_occurring()


UNPAIRED_METHODS: Mapping[str, Callable[..., PairEstimate]] = MappingProxyType(
    {
        "exact": _exact,
        "delong": _delong,
        "hybrid": _hybrid,
        "bootstrap": _bootstrap,
        "permutation": _permutation,
    }
)

"""One-sided tests of a difference, or of a value, against any number, and its bounds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import ndtr, stdtr

from fastad._core.floats import SMALLEST_P, positive_p
from fastad._core.types import FloatVector
from fastad.measures.contamination import observed_area
from fastad.measures.measure import BoundMeasure
from fastad.measures.roc import ROC_AUC
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.comparisons.pair_estimates import (
    PairEstimate,
    estimate_of_replicates,
    few_df_note,
    within_range,
)
from fastad.uncertainty.comparisons.paired import (
    Detectors,
    change_of_replicates,
    draw_replicates,
    variance_of_change,
    variance_of_influences,
)
from fastad.uncertainty.comparisons.rate_margins import (
    RATES,
    RateTest,
    paired_rate_test,
    unpaired_rate_test,
)
from fastad.uncertainty.comparisons.unpaired import (
    Pair,
    hybrid_ends,
    intervals_of_sides,
    replicates_of_sides,
    select_unpaired_method,
    smallest,
)
from fastad.uncertainty.intervals.interval_estimation import (
    BY_VARIANCE,
    InferenceOptions,
    Task,
    interval_by_level,
    interval_of_area,
    select_task,
)
from fastad.uncertainty.intervals.methods import is_bounded, limits_of, margin_note
from fastad.uncertainty.results import Interval, coverage_note, lowest_coverage
from fastad.uncertainty.samples.bootstrap import IndependentSample, refuse_few
from fastad.uncertainty.samples.closed_forms import (
    Bounds,
    logit_ends,
    normal_quantile,
    rounding_of,
    student_quantile,
)
from fastad.uncertainty.samples.influence import class_influences, has_influence
from fastad.uncertainty.samples.sampling import DesignedSample, Sample

# Below it a skewness is rounding.
_NO_SKEWNESS = 1e-9
# Two-sided levels nearer to 0 are not asked for.
_LOWEST_LEVEL = Fraction(1, 1000)
# Of up to so many anomalies average precision passed in 6 to 9 % of samples by `combined` alone, at
# its limit.
_FEW_ANOMALIES = 30
# Rates of the normal samples; others rest on the anomalies, of which there are fewer.
OF_NORMALS = ("fpr", "tnr")


@dataclass(frozen=True, slots=True, eq=False)
class OneSidedTests:
    """Tests of a difference, or of a value, against any number, and the bounds that they accept.

    ``p_value(x, side)`` is that of the hypothesis that the true number is at most x (side 0), or at
    least x (side 1); ``ends`` are at the one-sided level.
    """

    estimate: float
    ends: Bounds
    p_value: Callable[[float, int], float]
    method: str
    note: str | None = None
    n_resamples: int = 0
    n_undefined: int = 0

    def scaled(self, factor: float) -> "OneSidedTests":
        """Return the tests of a multiple of the difference, which lies between -1 and 1."""
        low, high = (factor * end for end in self.ends)
        return replace(
            self,
            estimate=factor * self.estimate,
            ends=(max(low, -1.0), min(high, 1.0)),
            p_value=lambda x, side: self.p_value(x / factor, side),
        )


def allow_unseen_kind(
    tests: OneSidedTests,
    bound: BoundMeasure,
    values: Sequence[float],
    n_samples: Sequence[float],
    alpha: float,
) -> OneSidedTests:
    """Return tests that allow for a kind of samples that the data lack and one detector misses.

    Where it is q of a class, n independent samples have none with a probability of (1 - q)^n: it
    moves the difference by q times the room that a detector has to become worse.
    """
    low, high = bound.bounds
    if bound.measure.name == ROC_AUC.name:
        low = 0.5  # where their scores are distributed as the normal samples'
    if bound.measure.higher_is_better:
        rooms = [max(value - low, 0.0) for value in values]  # to fall, and to rise
    else:
        rooms = [high - value for value in values[::-1]]
    n = max(n_samples[bound.measure.name in OF_NORMALS], 1.0)
    reach = -math.expm1(math.log(alpha) / n)
    d, (lower, upper) = tests.estimate, tests.ends

    def p_value(x: float, side: int) -> float:
        distance, room = (x - d if side else d - x), rooms[side]
        is_possible = room > distance > 0
        unseen = (1 - distance / room) ** n if is_possible else float(distance <= 0)
        return max(tests.p_value(x, side), unseen)

    ends = min(lower, d - rooms[0] * reach), max(upper, d + rooms[1] * reach)
    return replace(tests, ends=ends, p_value=p_value)


def paired_tests(
    detectors: Detectors, bound: BoundMeasure, options: InferenceOptions, values: Sequence[float]
) -> OneSidedTests:
    """Return the tests of the difference of two detectors on the same samples.

    Options have the two-sided level whose ends are the one-sided bounds.
    """
    first = detectors.samples[0]
    rows = [each for each in detectors.samples if isinstance(each, IndependentSample)]
    if rows and bound.measure.name in RATES:
        return _exact(paired_rate_test(rows, bound), options)
    test = _student if has_influence(bound.measure) else _bootstrap
    tests = test(detectors, bound, options, values[0] - values[1])
    tests = allow_unseen_kind(tests, bound, values, first.deciding_sizes, options.alpha / 2)
    note = margin_note(bound, tests.method, detectors.samples, values) or tests.note
    effect = first.effect()
    return replace(tests, note=(effect.reliability_note if effect is not None else None) or note)


def _exact(test: RateTest, options: InferenceOptions) -> OneSidedTests:
    return OneSidedTests(test.difference, test.ends(options.alpha / 2), test.p_value, "exact")


def _student(
    detectors: Detectors, bound: BoundMeasure, options: InferenceOptions, difference: float
) -> OneSidedTests:
    first, second = (sample.contributions(bound) for sample in detectors.samples)
    change = first - second
    variance, df = variance_of_change(detectors, bound, change)
    return _student_tests(
        difference, variance, df, third_cumulant(detectors, change), bound, options
    )


def third_cumulant(detectors: Detectors, change: FloatVector) -> float:
    """Return the third cumulant of a sum of contributions, which are summed in units or blocks."""
    sample = detectors.samples[0]
    if isinstance(sample, DesignedSample):
        units = sample.units // math.ceil(sample.length or 1)
        return float(np.sum(np.bincount(units, change) ** 3))
    n = detectors.n_anomalies
    return math.fsum(map(_cumulant_of_mean, (change[:n], change[n:])))


def _cumulant_of_mean(values: FloatVector) -> float:
    values = np.sort(values)  # for a sum that does not depend on the order of the rows
    return float(np.mean((values - values.mean()) ** 3) / values.shape[0] ** 2)


def _student_of_classes(
    counts: Sequence[OrderedCounts], bound: BoundMeasure, options: InferenceOptions, value: float
) -> OneSidedTests:
    """Return the tests of a value, or of the difference of the values of two samples."""
    sides = [class_influences(each, bound) for each in counts]
    limits = [limits_of(bound, *map(len, of_side)) for of_side in sides]
    of_all = [of_class for of_side in sides for of_class in of_side]
    variance, df = variance_of_influences(of_all, min(limits, key=min))
    first, *second = (math.fsum(map(_cumulant_of_mean, of_side)) for of_side in sides)
    return _student_tests(value, variance, df, first - sum(second), bound, options)


def _student_tests(
    difference: float,
    variance: float,
    df: float,
    third_cumulant: float,
    bound: BoundMeasure,
    options: InferenceOptions,
) -> OneSidedTests:
    """Return Student's tests, or those with Hall's cubic for skewness if they reject less."""
    deviation = math.sqrt(variance) if math.sqrt(variance) > rounding_of(bound) else 0.0
    skewness = third_cumulant / variance**1.5 if deviation else 0.0

    def transformed(ratio: float) -> float:
        return ratio + skewness * ratio**2 / 3 + skewness**2 * ratio**3 / 27 + skewness / 6

    def inverse(ratio: float) -> float:
        if abs(skewness) < _NO_SKEWNESS:
            return ratio
        return float(np.cbrt(1 + skewness * (ratio - skewness / 6)) - 1) * 3 / skewness

    def p_value(x: float, side: int) -> float:
        sign, distance = 1 - 2 * side, difference - x
        if deviation == 0:
            return SMALLEST_P if sign * distance > 0 else 1.0
        ratio = distance / deviation
        least = min(sign * ratio, sign * transformed(ratio))
        return positive_p(float(ndtr(-least) if math.isinf(df) else stdtr(df, -least)))

    quantile = student_quantile(options.alpha, df)
    low = difference - deviation * max(quantile, inverse(quantile))
    high = difference + deviation * max(quantile, -inverse(-quantile))
    return OneSidedTests(
        difference,
        within_range((low, high), bound),
        p_value,
        "student",
        few_df_note(df) if deviation else None,
    )


def _bootstrap(
    detectors: Detectors, bound: BoundMeasure, options: InferenceOptions, difference: float
) -> OneSidedTests:
    replicates = draw_replicates(detectors, bound, options)
    change, df, df_of_data = change_of_replicates(
        detectors, bound, options, (0, 1), replicates, difference
    )

    def shifted(x: float) -> PairEstimate:
        return estimate_of_replicates(change - x, difference - x, bound, options, df, df_of_data)

    return _of_shifted(shifted, difference)


def _of_shifted(shifted: Callable[[float], PairEstimate], difference: float) -> OneSidedTests:
    """Return the tests of replicates, shifted so that the hypothesis is one of zero."""

    def p_value(x: float, side: int) -> float:
        half = shifted(x).p_value / 2
        return half if (x > difference if side else x < difference) else 1 - half

    estimate = shifted(0.0)
    return OneSidedTests(
        difference,
        (estimate.low, estimate.high),
        p_value,
        "bootstrap",
        few_df_note(estimate.df) if estimate.variance > 0 else None,
        estimate.n_resamples,
        estimate.n_undefined,
    )


def unpaired_tests(
    pair: Pair, bound: BoundMeasure, options: InferenceOptions, values: Sequence[float]
) -> OneSidedTests:
    """Return the tests of the difference of a measure on two independent samples."""
    difference = values[0] - values[1]
    if bound.measure.name in RATES:
        return _exact(unpaired_rate_test(pair.counts, bound), options)
    method, coverage = select_unpaired_method(bound, pair.counts)
    if method == "exact":
        return _exact(unpaired_rate_test(pair.counts, bound), options)
    for each in pair.counts if method != "hybrid" or has_influence(bound.measure) else ():
        refuse_few(f"a test of {bound.key}", each.n_anomalies, each.n_normals)
    if method == "hybrid":
        sides = intervals_of_sides(pair, bound, options)
        intervals = [side(options.level) for side in sides]
        coverage = lowest_coverage(intervals)
        tests = _tests_by_level(
            lambda level: hybrid_ends(*(side(level) for side in sides)),
            difference,
            options,
            max(each.n_resamples for each in intervals),
        )
        tests = replace(tests, method=method)
        if has_influence(bound.measure):
            # The ends of intervals of few anomalies are too near where these are of two kinds.
            tests = _either(tests, _student_of_classes(pair.counts, bound, options, difference))
    elif method == "delong":
        tests = _student_of_classes(pair.counts, bound, options, difference)
    else:
        first, second = replicates_of_sides(pair, bound, options)
        change = first - second
        tests = _of_shifted(
            lambda x: estimate_of_replicates(change - x, difference - x, bound, options, float),
            difference,
        )
    sizes = [
        float(min(each.n_anomalies for each in pair.counts)),
        float(min(each.n_normals for each in pair.counts)),
    ]
    tests = allow_unseen_kind(tests, bound, values, sizes, options.alpha / 2)
    return replace(tests, note=coverage_note(coverage, tests.method) or tests.note)


def _either(
    tests: OneSidedTests, others: OneSidedTests, sides: Sequence[int] = (0, 1)
) -> OneSidedTests:
    """Return tests that reject what both reject, on some sides; on the other what the first do."""
    low, high = zip(tests.ends, others.ends, strict=True)
    widest = min(low), max(high)
    ends = [(widest if side in sides else tests.ends)[side] for side in (0, 1)]

    def p_value(x: float, side: int) -> float:
        p = tests.p_value(x, side)
        return max(p, others.p_value(x, side)) if side in sides else p

    return replace(tests, ends=(ends[0], ends[1]), p_value=p_value)


def value_tests(sample: Sample, bound: BoundMeasure, options: InferenceOptions) -> OneSidedTests:
    """Return the tests of the measure of one detector, from its interval at any level."""
    task = select_task(sample, observed_area(bound), options)

    def tests_by(task: Task) -> tuple[OneSidedTests, Interval, FloatVector | None]:
        at, drawn = interval_by_level(sample, task, options)

        def ends(level: Fraction) -> Bounds:
            interval = interval_of_area(at(level), bound)
            return interval.low, interval.high

        interval = interval_of_area(at(options.level), bound)
        tests = _tests_by_level(ends, interval.value, options, interval.n_resamples)
        return tests, interval, drawn

    tests, interval, drawn = tests_by(task)
    # Each end by itself misses more often than an interval that is narrowed on one side.
    if task.method == "combined" and task.bound.measure.name == ROC_AUC.name:
        tests = _either(tests, tests_by(replace(task, method="newcombe"))[0])
    elif task.method == "combined" and sample.deciding_sizes[0] <= _FEW_ANOMALIES:
        tests = _either(tests, tests_by(replace(task, method="fiducial"))[0], sides=(0,))
    others = _skewed(sample, bound, options, task.method, interval, drawn)
    if others is not None:
        tests = _either(tests, others)
    note = replace(interval, sampling=sample.effect()).reliability_note
    low, high = tests.ends
    return replace(
        tests,
        ends=(max(low, bound.bounds[0]), min(high, bound.bounds[1])),
        method=interval.method,
        note=note,
        n_undefined=interval.n_undefined,
    )


def _skewed(
    sample: Sample,
    bound: BoundMeasure,
    options: InferenceOptions,
    method: str,
    interval: Interval,
    drawn: FloatVector | None,
) -> OneSidedTests | None:
    """Return tests that allow for the skewness of a value, where the method's ends do not."""
    value, bounds, error = interval.value, bound.bounds, interval.standard_error
    if drawn is not None and method == "bootstrap" and error > 0 and is_bounded(bound):
        # Replicates of a value near an end of the range vary less than samples of a limit farther
        # from it.
        def at(level: Fraction) -> Bounds:
            return logit_ends(value, normal_quantile(float(1 - level)) * error, bounds)

        by_range = _tests_by_level(at, value, options, interval.n_resamples)
        # A value far from the ends is skewed, too, where few anomalies are missed.
        return _either(by_range, _by_moments(sample, bound, options, value, drawn))
    is_plain = sample.kind is None and observed_area(bound) is bound
    # Their ends do not allow for skewness. Without variance the tests would know the value exactly.
    if method in BY_VARIANCE and is_plain and sample.variance(bound) > 0:
        return _student_of_classes([sample.counts], bound, options, value)
    return None


def _by_moments(
    sample: Sample, bound: BoundMeasure, options: InferenceOptions, value: float, drawn: FloatVector
) -> OneSidedTests:
    """Return the tests of a value by the variance and the skewness of its replicates."""
    values = drawn[~np.isnan(drawn)]
    cumulant = float(np.mean((values - values.mean()) ** 3))
    df = min(*sample.deciding_sizes, *limits_of(bound, *sample.class_sizes))
    return _student_tests(value, float(values.var(ddof=1)), df, cumulant, bound, options)


def _tests_by_level(
    ends: Callable[[Fraction], Bounds], estimate: float, options: InferenceOptions, n_resamples: int
) -> OneSidedTests:
    """Return tests that reject what the interval of twice their level excludes."""
    floor = 1 / (1 + n_resamples) if n_resamples else SMALLEST_P
    most = float(1 - _LOWEST_LEVEL) / 2

    def p_value(x: float, side: int) -> float:
        sign = 1 - 2 * side

        def is_rejected(alpha: float) -> bool:
            return sign * (ends(1 - 2 * Fraction(alpha))[side] - x) > 0

        if is_rejected(most):
            return smallest(is_rejected, floor, most)
        return 0.5 if sign * (estimate - x) >= 0 else 1 - p_value(x, 1 - side)

    return OneSidedTests(estimate, ends(options.level), p_value, "", n_resamples=n_resamples)

"""Several detectors on the same samples: their order, and the methods that compare pairs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.buffers import MemoryPool
from fastad._core.progress import Progress, fill_in_steps, part_of
from fastad._core.threads import thread_map
from fastad._core.types import ArrayLike, FloatVector, IntVector, Label
from fastad._kernels.random import bits
from fastad._kernels.resampling import resample
from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts, count_rows
from fastad.ordering.labels import Labels, check_labels, check_scores, named_scores, score_name
from fastad.ordering.orders import order_rows
from fastad.ordering.raw import KeyCodec
from fastad.uncertainty.comparisons.pair_estimates import (
    PairEstimate,
    doubts,
    estimate_of_permutations,
    estimate_of_replicates,
    student_test,
    variance_of_replicates,
)
from fastad.uncertainty.intervals.interval_estimation import InferenceOptions
from fastad.uncertainty.intervals.methods import deciding_samples, limits_of
from fastad.uncertainty.samples.bootstrap import IndependentSample, numbered_from_top
from fastad.uncertainty.samples.closed_forms import Bounds, rounding_of, widened
from fastad.uncertainty.samples.sampling import (
    INDEPENDENT,
    DesignedSample,
    Sample,
    SamplingDesign,
    needs_design,
)

# Lowest number of samples that degrees of freedom are computed from: without any there are none.
_FEW = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Detectors:
    """Detectors on the same samples, each in its order."""

    labels: Labels  # unweighted where rows are independent
    names: Sequence[str]
    score_names: Sequence[str]  # of their scores in messages
    # Samples of each class are numbered in the order of the rows, the same for all detectors.
    samples: Sequence[Sample]

    @property
    def n_anomalies(self) -> int:
        """Number of anomalies; rows of integer weights are as many, those of real ones are one."""
        return self.labels.class_sizes[0]

    @property
    def n_normals(self) -> int:
        """Number of normal samples."""
        return self.labels.class_sizes[1]


# Whoever has two detectors on different samples needs another test.
PAIRED = (
    ". The comparison is paired: each detector must score the same samples, those of y_true, in "
    "the same order; for different samples there is the unpaired test compare_independent"
)


def rank_detectors(
    labels: Labels,
    scores: Sequence[tuple[str, str, ArrayLike]],
    design: SamplingDesign = INDEPENDENT,
) -> Detectors:
    """Order the scores of each detector, given its name, its scores' name in messages, and them.

    Blocks of a design have one length, the longest that is best for a detector.
    """
    is_independent = not needs_design(design, labels)
    labels = labels.repeated() if is_independent else labels
    is_anomaly = labels.values == 1
    index_in_class = np.where(is_anomaly, np.cumsum(is_anomaly), np.cumsum(~is_anomaly)) - 1
    checked = [
        (name, check_scores(values, labels, name=name, hint=PAIRED)) for _, name, values in scores
    ]
    ones = np.ones(labels.values.shape[0], np.int64)

    def rank(detector: tuple[str, npt.NDArray[np.generic]]) -> Sample:
        score_name, values = detector
        if not is_independent:
            return DesignedSample.of(values, labels, design, score_name)
        order = order_rows(values, labels, score_name)
        counts = replace(count_rows(order, labels, ones), weighting="none")
        rows = index_in_class[order.rows].astype(np.int32)
        is_first = is_anomaly[order.rows]
        return IndependentSample(counts, (rows[is_first], rows[~is_first]))

    samples: list[Sample] = thread_map(rank, checked)
    in_blocks = [each for each in samples if isinstance(each, DesignedSample) and each.length]
    if in_blocks:
        longest = max(each.length or 0.0 for each in in_blocks)
        samples = [each.in_blocks(longest) for each in in_blocks]
    names = [name for name, _, _ in scores]
    return Detectors(labels, names, [name for name, _ in checked], samples)


def rank_table(y_true: ArrayLike, y_score: Any, pos_label: Label | None) -> Detectors:
    """Order the scores of each detector of a table, or of a mapping."""
    labels = check_labels(y_true, pos_label=pos_label)
    return rank_detectors(
        labels,
        [
            (name, score_name(name), scores)
            for name, scores in named_scores(y_score, labels.row_index)
        ],
    )


def _by_variance(
    detectors: Detectors,
    bound: BoundMeasure,
    options: InferenceOptions,
    pairs: Sequence[tuple[int, int]],
    differences: Sequence[float],
    *,
    method: str,
) -> list[PairEstimate]:
    samples = detectors.samples
    contributions = thread_map(lambda sample: sample.contributions(bound), samples)
    doubt_of = None
    if options.method == "auto":  # a method that is given has no notes
        variances = [variance_of_change(detectors, bound, each)[0] for each in contributions]
        doubt_of = _doubts(detectors, bound, options, variances, is_normal=True)
    estimates = []
    for (i, j), difference in zip(pairs, differences, strict=True):
        # Contributions to the difference: equal detectors leave no rounding.
        change = contributions[i] - contributions[j]
        variance, df = variance_of_change(detectors, bound, change)
        sample = samples[i]
        df_of_test = df if method == "student" else math.inf
        if isinstance(sample, DesignedSample):
            # DeLong's variance between few clusters is known no better by its other name.
            df_of_test, df = df, min(df, sample.n_independent)
        deviation = math.sqrt(variance)
        if deviation > rounding_of(bound):
            ends, p_value = student_test(difference, deviation, df_of_test, bound, options.alpha)
            doubt = None if doubt_of is None else doubt_of(i, j, ends)
            estimates.append(PairEstimate(*ends, p_value, variance, df, method, doubt=doubt))
        else:
            estimates.append(PairEstimate(difference, difference, 1.0, 0.0, df, method))
    return estimates


def _doubts(
    detectors: Detectors,
    bound: BoundMeasure,
    options: InferenceOptions,
    variances: Sequence[float],
    *,
    is_normal: bool,
) -> Callable[[int, int, Bounds], str | None]:
    counts = [each.counts for each in detectors.samples]
    sizes = [each.deciding_sizes for each in detectors.samples]
    names, alpha = detectors.names, options.alpha
    return doubts(names, counts, sizes, bound, variances, alpha, is_normal=is_normal)


def variance_of_change(
    detectors: Detectors, bound: BoundMeasure, change: FloatVector
) -> tuple[float, float]:
    """Return the variance of a sum of contributions, and its degrees of freedom."""
    sample = detectors.samples[0]
    if isinstance(sample, DesignedSample):
        variances = sample.variances(change)
        return variances.total, min(variances.df, _beyond(bound, sample))
    of_classes = change[: detectors.n_anomalies], change[detectors.n_anomalies :]
    return variance_of_influences(of_classes, limits_of(bound, *map(len, of_classes)))


def variance_of_influences(
    of_classes: Sequence[FloatVector], limits: tuple[float, float]
) -> tuple[float, float]:
    """Return the variance of a sum of means of influences, and its degrees of freedom.

    From the fourth moments: a variance with as many degrees of freedom has twice its square over
    them as its own variance (Satterthwaite 1946), a variance of n samples (m4 - m2^2) / n. The
    influences themselves are estimates, from the samples that limit the measure.
    """
    # In their order, so that sums do not depend on the order of the rows.
    of_classes = list(map(np.sort, of_classes))
    variance, variance_of_it = _variance(*of_classes), 0.0
    for values in of_classes:
        squares = (values - values.mean()) ** 2
        variance_of_it += float(np.var(squares)) / values.shape[0] ** 3
    reciprocal = variance_of_it / (2 * variance**2) if variance > 0 else 0.0
    return variance, 1 / (reciprocal + 1 / max(min(limits), _FEW))


def _variance(*of_classes: FloatVector) -> float:
    """Return the variance of a measure from the influences on it."""
    return math.fsum(float(np.var(values, ddof=1)) / values.shape[0] for values in of_classes)


def _bootstrap(
    detectors: Detectors,
    bound: BoundMeasure,
    options: InferenceOptions,
    pairs: Sequence[tuple[int, int]],
    differences: Sequence[float],
) -> list[PairEstimate]:
    replicates = draw_replicates(detectors, bound, options)
    variances = [variance_of_replicates(each) for each in replicates]
    doubt_of = _doubts(detectors, bound, options, variances, is_normal=False)
    estimates = []
    for (i, j), difference in zip(pairs, differences, strict=True):
        change, df, df_of_data = change_of_replicates(
            detectors, bound, options, (i, j), replicates, difference
        )
        estimate = estimate_of_replicates(change, difference, bound, options, df, df_of_data)
        if estimate.variance > 0:
            estimate = estimate._replace(doubt=doubt_of(i, j, (estimate.low, estimate.high)))
        estimates.append(estimate)
    return estimates


def draw_replicates(
    detectors: Detectors, bound: BoundMeasure, options: InferenceOptions
) -> list[FloatVector]:
    """Return the measure of each detector on the same replicates."""
    samples, n_detectors = detectors.samples, len(detectors.samples)
    independent = [each for each in samples if isinstance(each, IndependentSample)]
    if len(independent) == n_detectors:
        samples = numbered_from_top(independent, bound)
    return [
        sample.replicates(
            [bound],
            options.n_resamples,
            options.key,
            part_of(options.progress, i, n_detectors),
            stratified=options.stratified,
        )[0]
        for i, sample in enumerate(samples)
    ]


def change_of_replicates(
    detectors: Detectors,
    bound: BoundMeasure,
    options: InferenceOptions,
    pair: tuple[int, int],
    replicates: Sequence[FloatVector],
    difference: float,
) -> tuple[FloatVector, Callable[[int], float], float]:
    """Return the differences of a pair on replicates, and degrees of freedom.

    Those of a variance of a number of replicates, and the data's. Differences are farther out where
    percentiles of replicates of few clusters would be too narrow.
    """
    factors = []
    for sample in (detectors.samples[i] for i in pair):
        factor = sample.widening(sample.degrees_of_freedom(bound), options.alpha)
        factors += [] if factor is None else [factor]
    first, second = (replicates[i] for i in pair)
    change = widened(first - second, difference, max(factors, default=None))
    first_value, second_value = (bound.value_or_nan(detectors.samples[i].counts) for i in pair)
    df, df_of_data = _df_of_replicates(detectors, bound, (first_value, second_value))
    return change, partial(_resampled_df, df), df_of_data


def _df_of_replicates(
    detectors: Detectors, bound: BoundMeasure, values: tuple[float, float]
) -> tuple[float, float]:
    """Return the degrees of freedom of the data, and those that widen percentiles by themselves.

    Clusters, blocks and weights have widened the replicates already, but for the operating point.
    """
    sample = detectors.samples[0]
    n_deciding = deciding_samples(bound, values, *sample.class_sizes)
    # A number of samples is gamma distributed if they come at random, so that it has two degrees of
    # freedom for each: those beyond the operating point, which tell where the threshold lies, and
    # those that keep the values from the ends of their range.
    reciprocals = 1 / _beyond(bound, sample) + 1 / max(n_deciding, _FEW)
    df = 2 / reciprocals if reciprocals else math.inf
    return (df if sample.kind is None else min(df, sample.n_independent)), df


def _beyond(bound: BoundMeasure, sample: Sample) -> float:
    """Return the number of samples beyond the operating point.

    Without one, that of the smaller class; of clusters, blocks and weighted rows infinity, as their
    variance allows for their numbers.
    """
    sizes = sample.class_sizes
    pairs = zip(limits_of(bound, *sizes), sizes, strict=True)
    limits = [limit for limit, size in pairs if sample.kind is None or limit < size]
    return max(min(limits, default=math.inf), _FEW)


def _permutation(
    detectors: Detectors,
    bound: BoundMeasure,
    options: InferenceOptions,
    pairs: Sequence[tuple[int, int]],
    differences: Sequence[float],
) -> list[PairEstimate]:
    if detectors.samples[0].kind is not None:
        raise InvalidInputError(
            "method must be 'auto', 'delong', 'student' or 'bootstrap' for samples in clusters or "
            "in time, or with real weights, which are not exchangeable one by one; found "
            "'permutation'"
        )
    if not bound.reads_ranks:
        raise InvalidInputError(
            "method must not be 'permutation', which exchanges ranks, for a measure of the "
            f"scores' values; found measure {bound.measure.name}"
        )
    estimates = []
    limits = min(limits_of(bound, detectors.n_anomalies, detectors.n_normals))
    df = partial(_resampled_df, max(limits, 1.0))
    for i, (pair, difference) in enumerate(zip(pairs, differences, strict=True)):
        report = part_of(options.progress, i, len(pairs))
        values, is_exact = _permuted_differences(detectors, pair, bound, options, report)
        estimates.append(
            estimate_of_permutations(values, difference, bound, options, df, is_exact=is_exact)
        )
    return estimates


PAIRED_METHODS: Mapping[str, Callable[..., list[PairEstimate]]] = MappingProxyType(
    {
        "delong": partial(_by_variance, method="delong"),
        "student": partial(_by_variance, method="student"),
        "bootstrap": _bootstrap,
        "permutation": _permutation,
    }
)


def _resampled_df(df: float, n_resamples: int) -> float:
    """Return the degrees of freedom of a variance of resamples, given the data's."""
    return 1 / (1 / df + 1 / n_resamples)


def _permuted_differences(
    detectors: Detectors,
    pair: tuple[int, int],
    bound: BoundMeasure,
    options: InferenceOptions,
    progress: Progress | None,
) -> tuple[FloatVector, bool]:
    """Return the differences if each sample's two ranks are exchangeable, and whether all are here.

    Scores of two detectors have no common unit, their ranks have: each sample keeps its two mean
    ranks, and a coin decides which detector gets which (Venkatraman and Begg 1996, for areas).
    """
    first, second = (_mean_ranks(detectors, i) for i in pair)
    # Twice a mean rank is an integer: which occur is known without sorting.
    occurs = np.zeros(2 * first.shape[0] + 1, bool)
    occurs[first] = occurs[second] = True
    position = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    n_distinct = int(position[-1]) + 1
    ranks = position[first], position[second]
    labels = as_readonly(detectors.labels.values)
    differ = np.flatnonzero(first != second)
    is_exact = differ.shape[0] < 63 and 2 ** differ.shape[0] <= options.n_resamples
    n_tried = 2 ** differ.shape[0] if is_exact else options.n_resamples
    template = replace(
        detectors.samples[pair[0]].counts,
        keys=np.arange(1, n_distinct + 1),
        codec=KeyCodec(np.dtype(np.int64), 0),
    )
    differences = np.empty(n_tried)

    pool = MemoryPool(
        lambda: (np.zeros(labels.shape[0], np.uint8), np.empty((2, 2, n_distinct + 1), np.int64))
    )

    def fill(part: range) -> None:
        with pool.borrowed() as (flips, (fps, tps)):
            for i in part:
                if is_exact:
                    flips[differ] = (i >> np.arange(differ.shape[0])) & 1
                else:
                    resample.flip(np.uint64(bits(options.key, i)), flips)
                resample.count_swapped(flips, labels, ranks, fps, tps)
                values = [bound.value_or_nan(_counts(template, fps[k], tps[k])) for k in range(2)]
                differences[i] = values[0] - values[1]

    fill_in_steps(fill, n_tried, labels.shape[0], progress)
    return differences, is_exact


def _mean_ranks(detectors: Detectors, i: int) -> IntVector:
    """Return twice the mean rank of each row; rank 1 is highest."""
    sample = detectors.samples[i]
    assert isinstance(sample, IndependentSample)
    is_anomaly = detectors.labels.values == 1
    ranks = np.empty(is_anomaly.shape[0], np.int64)
    ranks[is_anomaly], ranks[~is_anomaly] = sample.order()
    return ranks


def _counts(template: OrderedCounts, fps: IntVector, tps: IntVector) -> OrderedCounts:
    """Return the counts at the ranks that occur; keys are the ranks."""
    return replace(template, fps=fps, tps=tps).at_occurring()

"""Comparisons of all pairs of detectors, from options that have been checked."""

import math
import sys
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtri

from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.comparisons.comparison_results import NO_VARIANCE, Comparison
from fastad.uncertainty.comparisons.pair_estimates import (
    FEWEST_SAMPLES,
    PairEstimate,
    few_df_note,
    pairs_test,
)
from fastad.uncertainty.comparisons.paired import PAIRED_METHODS, Detectors
from fastad.uncertainty.intervals.interval_estimation import InferenceOptions
from fastad.uncertainty.intervals.methods import (
    limits_of,
    note_of_few,
    paired_notes,
    select_paired_method,
)
from fastad.uncertainty.results import SamplingEffect, largest_effect
from fastad.uncertainty.samples.bootstrap import IndependentSample

# No quantile of a variance is lower: at a confidence level near 1 it may be no float.
_SMALLEST = sys.float_info.min


def compare_pairs(
    detectors: Detectors,
    bound: BoundMeasure,
    options: InferenceOptions,
    min_difference: Fraction | None = None,
    power: Fraction = Fraction(4, 5),
) -> list[Comparison]:
    """Compare all pairs of the detectors; all share their replicates.

    ``power`` is the probability with which the smallest difference of interest is to be detected.
    """
    samples, sizes = detectors.samples, (detectors.n_anomalies, detectors.n_normals)
    method = select_paired_method(bound) if options.method == "auto" else options.method
    what = f"a comparison of {bound.key}"
    first = samples[0]
    if isinstance(first, IndependentSample):
        first.refuse(what, 1 if method == "permutation" else 2)
    else:
        first.refuse(what)
    n_pairs = min(limits_of(bound, *first.deciding_sizes))
    values = [
        named_value(bound, sample.counts, name)
        for sample, name in zip(samples, detectors.score_names, strict=True)
    ]
    pairs = list(combinations(range(len(values)), 2))
    differences = [values[i] - values[j] for i, j in pairs]
    if options.method == "auto":
        notes = paired_notes(bound, method, samples, values, pairs)
    else:
        # The null distribution of permutations is exact for any numbers.
        is_known = method == "permutation" or first.kind is not None
        notes = [None if is_known else note_of_few(method, sizes, FEWEST_SAMPLES)] * len(pairs)
    estimates = PAIRED_METHODS[method](detectors, bound, options, pairs, differences)
    estimates = [
        estimate
        if difference == 0 and all(map(np.array_equal, samples[i].order(), samples[j].order()))
        else _with_variance(estimate, difference, max(1, math.floor(n_pairs)), bound, options)
        for estimate, difference, (i, j) in zip(estimates, differences, pairs, strict=True)
    ]
    effects = [sample.effect() for sample in samples]
    n_anomalies, n_normals = sizes
    results = []
    for (i, j), difference, estimate, note in zip(
        pairs, differences, estimates, notes, strict=True
    ):
        sampling = largest_effect((effects[i], effects[j]))
        required: tuple[int | None, tuple[int, int] | None] = None, None
        # Without a known variance, or one of equal rankings, nothing follows.
        if min_difference is not None and estimate.method != "pairs" and estimate.variance > 0:
            required = _required_anomalies(
                n_anomalies, estimate, options.alpha, min_difference, power
            )
        results.append(
            Comparison(
                difference=difference,
                low=estimate.low,
                high=estimate.high,
                p_value=float(estimate.p_value),
                method=estimate.method,
                confidence_level=float(options.level),
                measure=bound.key,
                higher_is_better=bool(bound.measure.higher_is_better),
                names=(detectors.names[i], detectors.names[j]),
                values=(values[i], values[j]),
                n_anomalies=n_anomalies,
                n_normals=n_normals,
                min_difference=None if min_difference is None else float(min_difference),
                power=float(power),
                required_anomalies=required[0],
                required_anomalies_interval=required[1],
                reliability_note=_note(estimate, sampling, options, note),
                n_resamples=estimate.n_resamples,
                n_undefined=estimate.n_undefined,
                smallest_p_value=estimate.smallest_p_value,
                sampling=sampling,
            )
        )
    return results


def _with_variance(
    estimate: PairEstimate,
    difference: float,
    n_pairs: int,
    bound: BoundMeasure,
    options: InferenceOptions,
) -> PairEstimate:
    """Return an estimate, or the estimate of disjoint pairs where the samples leave no variance."""
    # One replicate alone has none, whatever the samples are.
    if estimate.variance > 0 or estimate.n_resamples - estimate.n_undefined == 1:
        return estimate
    (low, high), p_value = pairs_test(difference, n_pairs, bound, options.alpha)
    return estimate._replace(low=low, high=high, p_value=p_value, df=0.0, method="pairs")


def _note(
    estimate: PairEstimate,
    sampling: SamplingEffect | None,
    options: InferenceOptions,
    of_samples: str | None,
) -> str | None:
    """Return why a comparison is unreliable, by its estimate or by its samples, or None."""
    if estimate.method == "pairs":
        return NO_VARIANCE
    of_sampling = None if sampling is None else sampling.reliability_note
    if of_sampling is not None:
        return of_sampling
    few_df = few_df_note(estimate.df)
    if options.method == "auto" and estimate.variance > 0 and few_df is not None:
        return few_df
    return of_samples or (estimate.doubt if options.method == "auto" else None)


def named_value(bound: BoundMeasure, counts: OrderedCounts, score_name: str) -> float:
    """Return the measure of a detector, or raise why its scores, so named, have none."""
    bound.check_weights(counts)
    try:
        return bound.value(counts)
    except InvalidInputError as error:
        # A measure of values, which these scores violate.
        message = str(error).replace("y_score", score_name)
        raise InvalidInputError(message, argument=score_name.split("[")[0]) from None


def _required_anomalies(
    n_anomalies: int,
    estimate: PairEstimate,
    alpha: float,
    min_difference: Fraction,
    power: Fraction,
) -> tuple[int, tuple[int, int]]:
    """Return the number of anomalies with which the smallest difference is detected.

    With k times the samples of both classes the variance is k times smaller. Its interval is that
    of the variance, from a chi-square distribution.
    """
    quantiles = float(ndtri(float(power)) - ndtri(alpha / 2))
    # Fractions, because the numbers may be larger than floats are.
    required = n_anomalies * Fraction(estimate.variance)
    required *= (Fraction(quantiles) / min_difference) ** 2
    factors = [1.0, 1.0]
    if estimate.df < math.inf:
        tail, half = alpha / 2, estimate.df / 2
        quantiles_of_gamma = gammainccinv(half, tail), max(gammaincinv(half, tail), _SMALLEST)
        factors = [half / float(x) for x in quantiles_of_gamma]
    n_required, n_low, n_high = (
        max(2, math.ceil(required * Fraction(factor))) for factor in (1.0, *factors)
    )
    return n_required, (n_low, n_high)

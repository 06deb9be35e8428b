"""Differences of detectors on samples that depend on each other, or have real weights."""

import math
from collections.abc import Sequence

from fastad._core.progress import part_of
from fastad._core.threads import thread_map
from fastad._core.types import ArrayLike, FloatVector
from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure
from fastad.ordering.labels import Labels, check_scores
from fastad.uncertainty.closed_forms import rounding_of
from fastad.uncertainty.comparison_options import NORMAL_METHODS, ComparisonOptions
from fastad.uncertainty.designed_intervals import degrees_of_freedom, widening
from fastad.uncertainty.influence import has_influence
from fastad.uncertainty.pair_estimates import PairEstimate, estimate_of_replicates, student_test
from fastad.uncertainty.paired import PAIRED
from fastad.uncertainty.sampling import DesignedSample, SamplingDesign


def order_designed(
    labels: Labels, scores: Sequence[tuple[str, str, ArrayLike]], design: SamplingDesign
) -> list[DesignedSample]:
    """Order the scores of each detector, given its name, its scores' name in messages, and them.

    All have blocks of one length, the longest that is best for one of them.
    """
    checked = [
        (name, check_scores(values, labels, name=name, hint=PAIRED)) for _, name, values in scores
    ]
    samples = thread_map(
        lambda detector: DesignedSample.of(detector[1], labels, design, detector[0]), checked
    )
    lengths = [sample.length for sample in samples if sample.length is not None]
    return [sample.in_blocks(max(lengths)) for sample in samples] if lengths else samples


def estimate_pairs(
    samples: Sequence[DesignedSample],
    bound: BoundMeasure,
    options: ComparisonOptions,
    pairs: Sequence[tuple[int, int]],
    differences: Sequence[float],
) -> list[PairEstimate]:
    """Return the estimate of each pair, all from the same draws of clusters, blocks or rows."""
    method = options.method
    if method == "auto":
        method = "student" if has_influence(bound.measure) else "bootstrap"
    if method == "permutation":
        raise InvalidInputError(
            "method must be 'auto', 'delong', 'student' or 'bootstrap' for samples in clusters or "
            "in time, or with real weights, which are not exchangeable one by one; found "
            "'permutation'",
            argument="method",
        )
    refusal = samples[0].refusal(f"a comparison of {bound.key}")
    if refusal is not None:
        raise refusal
    if method in NORMAL_METHODS:
        contributions = thread_map(lambda sample: sample.contributions(bound), samples)
        return [
            _of_contributions(
                samples[0], contributions[i] - contributions[j], difference, bound, options, method
            )
            for (i, j), difference in zip(pairs, differences, strict=True)
        ]
    n = len(samples)
    replicates = [
        sample.replicates(
            [bound], options.n_resamples, options.key, part_of(options.progress, i, n)
        )[0]
        for i, sample in enumerate(samples)
    ]
    factors = [
        widening(sample, degrees_of_freedom(sample, bound), options.alpha) for sample in samples
    ]
    return [
        estimate_of_replicates(
            difference + max(factors[i], factors[j]) * (replicates[i] - replicates[j] - difference),
            difference,
            bound,
            options,
            lambda n_resamples: 1 / (1 / samples[0].n_independent + 1 / n_resamples),
        )
        for (i, j), difference in zip(pairs, differences, strict=True)
    ]


def _of_contributions(
    sample: DesignedSample,
    contributions: FloatVector,
    difference: float,
    bound: BoundMeasure,
    options: ComparisonOptions,
    method: str,
) -> PairEstimate:
    variances = sample.variances(contributions)
    deviation = math.sqrt(variances.total)
    df = min(variances.df, sample.n_independent)
    if deviation <= rounding_of(bound):
        return PairEstimate(difference, difference, 1.0, 0.0, df, method)
    # DeLong's variance between few clusters is known no better by its other name.
    (low, high), p_value = student_test(difference, deviation, variances.df, bound, options.alpha)
    return PairEstimate(low, high, p_value, variances.total, df, method)

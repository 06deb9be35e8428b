"""``compare_independent``: the difference of a measure on two independent samples."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from fastad._core.parameters import N_RESAMPLES, check_generator
from fastad._core.progress import LATE, ProgressOption, reporting
from fastad._core.random import random_key
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, IndependentMethod, Label, Point
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.requests import bind
from fastad.ordering.counts import count_scores
from fastad.ordering.labels import check_labels, check_scores, series_names
from fastad.uncertainty.comparisons.comparison_results import NO_VARIANCE, IndependentComparison
from fastad.uncertainty.comparisons.pair_comparison import named_value
from fastad.uncertainty.comparisons.pair_estimates import check_comparison_options, pairs_test
from fastad.uncertainty.comparisons.unpaired import (
    UNPAIRED_METHODS,
    Pair,
    Sample,
    select_unpaired_method,
)
from fastad.uncertainty.intervals.interval_estimation import InferenceOptions
from fastad.uncertainty.intervals.methods import limits_of
from fastad.uncertainty.results import coverage_note, warn_if_noted
from fastad.uncertainty.samples.bootstrap import refuse_few

_ARGUMENTS = ("sample_a", "sample_b")


def compare_independent(
    sample_a: tuple[ArrayLike, ArrayLike],
    sample_b: tuple[ArrayLike, ArrayLike],
    *,
    measure: MeasureLike,
    method: IndependentMethod = "auto",
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
    **operating_point: Any,
) -> IndependentComparison:
    """Compare a measure on two independent samples: this week and last, one site and another.

    For two detectors on the same samples use `compare`, which is more powerful.

    Parameters
    ----------
    sample_a, sample_b : pair of array-like of shape (n_samples,)
        Each the labels ``y_true``, 1 for an anomaly, and the scores ``y_score``, higher is more
        anomalous. Sizes may differ, and no sample may be in both. Series of pandas and polars
        name them by their scores; others are called a and b.
    measure : str, Measure or BoundMeasure
        The measure to compare: a key, or a name with its operating point, as for `interval`.
    method : {"auto", "exact", "delong", "hybrid", "bootstrap", "permutation"}
        ``"exact"``
            For proportions at a threshold, such as the TPR or the precision: the unconditional
            test of two proportions, as by `noninferiority`, and the interval of the differences
            that it does not reject. Of hundreds of outcomes on both sides the normal one.
        ``"delong"``
            For smooth measures: the difference over its standard error, from DeLong's placements
            or other influences, as Student's t with the degrees of freedom of Welch and
            Satterthwaite.
        ``"hybrid"``
            From an interval of each side: those that `interval` selects, for rates at a threshold
            those of Wilson. The difference is as far from each end as the two distances of the
            values from their own ends, squared and added. Valid where both intervals are.
        ``"bootstrap"``
            Percentiles of the differences on replicates, drawn from each sample and each class
            by itself.
        ``"permutation"``
            Within each class, samples change sides at random: a test of whether the scores of
            both classes are distributed equally on both sides, exact for any numbers. Scores must
            be in one unit. All permutations where they are few.
        ``"auto"``, the default
            For proportions at a threshold hybrid, or exact where one sample is more than ten
            times as large. Else hybrid where the coverage of the intervals of one sample is known,
            DeLong's for smooth measures where it kept its level on generated data with no more
            samples of either class, or beyond the operating point, or the bootstrap.
    confidence_level : float, default 0.95
        Confidence level of the interval of the difference, in (0, 1).
    n_resamples : int, default 2000
        Number of replicates or permutations.
    rng : int or numpy.random.Generator, optional
        Seed or generator of replicates and permutations.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over replicates; the same seed gives the same result for any number.
    progress : callable or True, optional
        True draws a bar after a second, where rich or tqdm is installed. A function is called with
        the numbers of replicates done and to be done, about ten times a second.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    IndependentComparison
        ``difference`` (a - b), ``low``, ``high``, ``p_value``, and a ``summary`` in words.

    Raises
    ------
    UndefinedMeasureError
        If the measure is undefined on a sample, or a class has fewer than two samples (one, for
        permutations, and for hybrid intervals that need no variance).

    Warns
    -----
    LowCoverageWarning
        If no method is known to have sufficient coverage, or DeLong's, where it is given, has not
        on so few samples; if the difference or one of the values has no variance, or the order of
        a sample's scores may be reversed.

    Notes
    -----
    O(n log n), and O(n) for each replicate or permutation. The interval excludes 0 where the
    p-value is at most 1 - ``confidence_level``, and nowhere else, and lies within the range of the
    difference. That of permutations has their spread around 0, which falls to 0 at either end of
    the range as in Wilson's interval; without any variance it is one of disjoint pairs.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves", Biometrics 44, 1988.
    .. [2] B. L. Welch, "The generalization of Student's problem when several different population
       variances are involved", Biometrika 34, 1947.
    .. [3] R. G. Newcombe, "Interval estimation for the difference between independent proportions:
       comparison of eleven methods", Statistics in Medicine 17, 1998, method 10.
    .. [4] G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a
       general approach", Statistics in Medicine 27, 2008.

    Examples
    --------
    >>> import fastad
    >>> last_week = [0] * 50 + [1] * 50, [*range(50), *range(30, 80)]
    >>> this_week = [0] * 60 + [1] * 40, [*range(60), *range(25, 65)]
    >>> result = fastad.compare_independent(last_week, this_week, measure="auc")
    >>> result.is_significant, result.method
    (True, 'hybrid')
    """
    return compare_named(
        (sample_a, sample_b),
        None,
        bind(measure, operating_point, compare_independent),
        method=method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
        pos_label=pos_label,
        n_threads=n_threads,
        progress=progress,
    )


def compare_named(
    pair_of_samples: Sequence[tuple[ArrayLike, ArrayLike]],
    names: tuple[str, str] | None,
    bound: BoundMeasure,
    *,
    method: str,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
) -> IndependentComparison:
    """Compare two samples under some names, by default those of their scores; warn of notes."""
    # Each sample has a key of its own below.
    options = check_comparison_options(
        bound, UNPAIRED_METHODS, method, confidence_level, n_resamples, rng=0
    )
    generator = check_generator(rng)
    keys = random_key(generator), random_key(generator)
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        samples = [
            _read(sample, argument, pos_label)
            for sample, argument in zip(pair_of_samples, _ARGUMENTS, strict=True)
        ]
        first, second = names or series_names([each[1] for each in pair_of_samples], ["a", "b"])
        pair = Pair((samples[0], samples[1]), (first, second), keys)
        result = compare_samples(pair, bound, replace(options, progress=report))
    warn_if_noted(bound.key, result.reliability_note)
    return result


def _read(sample: Any, argument: str, pos_label: Label | None) -> Sample:
    """Check one sample and count it; messages name its labels and its scores."""
    if not isinstance(sample, tuple | list) or len(sample) != 2:
        found = type(sample).__name__
        if isinstance(sample, tuple | list):
            found = f"{len(sample)} entries"
        raise InvalidTypeError(
            f"{argument} must be a pair (y_true, y_score); found {found}", argument=argument
        )
    try:
        labels = check_labels(sample[0], pos_label=pos_label)
        scores = check_scores(sample[1], labels)
        return Sample(labels, scores, count_scores(scores, labels))
    except InvalidInputError as error:
        if error.argument == "pos_label":
            raise
        message = (
            str(error).replace("y_true", f"{argument}[0]").replace("y_score", f"{argument}[1]")
        )
        raise type(error)(message, argument=argument) from None


def compare_samples(
    pair: Pair, bound: BoundMeasure, options: InferenceOptions
) -> IndependentComparison:
    """Compare two samples that have been counted."""
    method, coverage = options.method, None
    if method == "auto":
        method, coverage = select_unpaired_method(bound, pair.counts)
    values = tuple(
        named_value(bound, counts, f"{argument}[1]")
        for counts, argument in zip(pair.counts, _ARGUMENTS, strict=True)
    )
    for counts in pair.counts if method in ("delong", "bootstrap") else ():
        refuse_few(f"a comparison of {bound.key}", counts.n_anomalies, counts.n_normals)
    estimate = UNPAIRED_METHODS[method](pair, bound, options, values)
    if estimate.low == estimate.high:
        # Of a class that is there: precisions are defined without normal samples.
        limits = [limits_of(bound, float(x.n_anomalies), float(x.n_normals)) for x in pair.counts]
        n_pairs = math.floor(min(filter(None, chain(*limits))))
        ends, p_value = pairs_test(values[0] - values[1], max(1, n_pairs), bound, options.alpha)
        estimate = estimate._replace(low=ends[0], high=ends[1], p_value=p_value, method="pairs")
    if estimate.coverage is not None:
        coverage = estimate.coverage
    if estimate.method == "pairs":
        note: str | None = NO_VARIANCE
    else:
        note = coverage_note(coverage, estimate.method) or estimate.doubt
    return IndependentComparison(
        difference=values[0] - values[1],
        low=estimate.low,
        high=estimate.high,
        p_value=estimate.p_value,
        method=estimate.method,
        confidence_level=float(options.level),
        measure=bound.key,
        higher_is_better=bool(bound.measure.higher_is_better),
        names=pair.names,
        values=(values[0], values[1]),
        intervals=estimate.intervals,
        n_anomalies=(int(pair.counts[0].n_anomalies), int(pair.counts[1].n_anomalies)),
        n_normals=(int(pair.counts[0].n_normals), int(pair.counts[1].n_normals)),
        df=estimate.df,
        coverage=coverage,
        reliability_note=note,
        n_resamples=estimate.n_resamples,
        n_undefined=estimate.n_undefined,
        smallest_p_value=estimate.smallest_p_value,
    )

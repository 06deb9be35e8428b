"""``compare`` and ``compare_all``: the difference of detectors on the same samples."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import chdtri, ndtri

from fastad._core.parameters import (
    N_RESAMPLES,
    check_choice,
    check_count,
    check_flag,
    check_inside,
    check_positive,
)
from fastad._core.progress import LATE, ProgressOption, reporting
from fastad._core.random import random_key
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, Blocks, ComparisonMethod, Correction, Label, Point
from fastad.errors import InvalidInputError, LowCoverageWarning
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.labels import Labels, check_labels
from fastad.ordering.named_scores import Table, named_scores, score_name, series_names
from fastad.uncertainty.bootstrap import too_few_samples
from fastad.uncertainty.corrections import CORRECTIONS
from fastad.uncertainty.designed_comparison import estimate_pairs, order_designed
from fastad.uncertainty.influence import has_influence
from fastad.uncertainty.methods import select_paired_method
from fastad.uncertainty.paired import (
    PAIRED_METHODS,
    ComparisonOptions,
    Detectors,
    PairEstimate,
    rank_detectors,
)
from fastad.uncertainty.results import Comparison, Comparisons, SamplingEffect
from fastad.uncertainty.sampling import SamplingDesign, check_design, needs_design


def compare(
    y_true: ArrayLike,
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    *,
    measure: MeasureLike,
    method: ComparisonMethod = "auto",
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    stratified: bool = True,
    rng: int | np.random.Generator | None = None,
    min_difference: Point | None = None,
    power: Point = 0.8,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
    **operating_point: Any,
) -> Comparison:
    """Compare two detectors on the same samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    scores_a, scores_b : array-like of shape (n_samples,)
        Anomaly scores of the two detectors, higher is more anomalous, each in a unit of its own.
        Series of pandas and polars name them; others are called a and b.
    measure : str, Measure or BoundMeasure
        The measure to compare: a key, or a name with its operating point, as for `interval`.
    method : {"auto", "delong", "bootstrap", "permutation"}, default "auto"
        ``"delong"``
            Normal approximation with DeLong's paired variance; for smooth measures.
        ``"bootstrap"``
            Percentiles of the differences on replicates of the samples, the same for both.
        ``"permutation"``
            The ranks that the two give a sample are exchanged at random: the distribution of the
            difference if the detectors are exchangeable. All permutations where they are few.
        ``"auto"``
            DeLong's for smooth measures where it kept its level on generated data with no more
            samples of either class, or beyond the operating point; for other measures the
            bootstrap, where at least 100 samples of each class lie beyond it. Else permutations,
            which keep their level for any numbers.
    confidence_level : float, default 0.95
        Of the interval of the difference, in (0, 1).
    n_resamples : int, default 2000
        Number of replicates or permutations.
    stratified : bool, default True
        Whether the bootstrap draws from each class by itself.
    rng : int or numpy.random.Generator, optional
        Seed or generator of replicates and permutations.
    min_difference : float, optional
        The smallest difference of interest; the result then says how many anomalies are required
        to detect it.
    power : float, default 0.8
        Probability with which that difference is to be detected, in (0, 1).
    clusters, blocks : optional
        Clusters of the rows, or mean length of blocks of rows in time, as for `interval`: the
        difference's variance is that between clusters or blocks, and ``"auto"`` is ``"delong"`` or
        ``"bootstrap"``.
    sample_weight : array-like of shape (n_samples,), optional
        Integers: a weight k counts the row k times, 0 leaves it out. Other weights are inverse
        probabilities with which rows were sampled, and the difference's variance allows for how
        they differ.
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
    Comparison
        ``difference`` (a - b), ``low``, ``high``, ``p_value``, a ``summary`` in words, and with
        ``min_difference`` the ``required_anomalies`` with their own interval.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If the measure is undefined, or a class has fewer than two samples (one, for
        permutations).

    Warns
    -----
    LowCoverageWarning
        If equal detectors are known to differ significantly too often by this method, or it is not
        known how often.

    Notes
    -----
    O(n log n), and O(n) for each replicate or permutation. If the difference has no variance,
    DeLong's p-value is 1 where the detectors are equal and 0 where they are not. The interval of
    a permutation test is the difference with the spread that permutations have around 0. Required
    anomalies are for a normal difference, with the variance estimated here; the upper end of
    ``required_anomalies_interval`` allows for what the variance itself may be wrong by.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves", Biometrics 44, 1988.
    .. [2] E. S. Venkatraman and C. B. Begg, "A distribution-free procedure for comparing receiver
       operating characteristic curves from a paired experiment", Biometrika 83, 1996.
    .. [3] B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", 2010.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 50 + [1] * 50
    >>> good, bad = range(100), [x * 7 % 100 for x in range(100)]
    >>> result = fastad.compare(labels, good, bad, measure="auc")
    >>> result.is_significant, result.method
    (True, 'delong')
    """
    bound = bind(measure, operating_point, compare)
    options = check_comparison_options(
        bound,
        method,
        confidence_level,
        n_resamples,
        rng,
        stratified=stratified,
        min_difference=min_difference,
        power=power,
    )
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        options = replace(options, progress=report)
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        design = check_design(clusters, blocks, labels.n_rows)
        names = series_names([scores_a, scores_b], ["a", "b"])
        arguments = zip(names, ("scores_a", "scores_b"), (scores_a, scores_b), strict=True)
        result = _compare(labels, list(arguments), design, bound, options)[0]
    if result.reliability_note is not None:
        warnings.warn(f"{bound.key}: {result.reliability_note}", LowCoverageWarning, stacklevel=2)
    return result


def compare_all(
    y_true: ArrayLike,
    y_score: ArrayLike | Mapping[str, ArrayLike] | Table,
    *,
    measure: MeasureLike,
    method: ComparisonMethod = "auto",
    correction: Correction = "holm",
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    stratified: bool = True,
    rng: int | np.random.Generator | None = None,
    min_difference: Point | None = None,
    power: Point = 0.8,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
    **operating_point: Any,
) -> Comparisons:
    """Compare all pairs of several detectors on the same samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_detectors, n_samples), mapping, or table
        Anomaly scores, higher is more anomalous, of each detector; as for `evaluate`.
    measure : str, Measure or BoundMeasure
        The measure to compare: a key, or a name with its operating point, as for `interval`.
    method : {"auto", "delong", "bootstrap", "permutation"}, default "auto"
        As for `compare`; all pairs share the replicates.
    correction : {"holm", "benjamini-hochberg", "bonferroni", "none"}, default "holm"
        How p-values allow for the number of comparisons: Holm's and Bonferroni's bound the
        probability of any false positive, Benjamini's and Hochberg's their proportion.
    confidence_level : float, default 0.95
        Of each interval by itself, in (0, 1).
    n_resamples : int, default 2000
        Number of replicates or permutations.
    stratified : bool, default True
        Whether the bootstrap draws from each class by itself.
    rng : int or numpy.random.Generator, optional
        Seed or generator of replicates and permutations.
    min_difference : float, optional
        The smallest difference of interest, as for `compare`.
    power : float, default 0.8
        Probability with which that difference is to be detected, in (0, 1).
    clusters, blocks : optional
        Clusters of the rows, or mean length of blocks of rows in time, as for `interval`: the
        difference's variance is that between clusters or blocks, and ``"auto"`` is ``"delong"`` or
        ``"bootstrap"``.
    sample_weight : array-like of shape (n_samples,), optional
        Integers: a weight k counts the row k times, 0 leaves it out. Other weights are inverse
        probabilities with which rows were sampled, and the difference's variance allows for how
        they differ.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over detectors and replicates; the same seed gives the same result for any number.
    progress : callable or True, optional
        True draws a bar after a second, where rich or tqdm is installed. A function is called with
        the numbers of replicates done and to be done, about ten times a second.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    Comparisons
        ``result["a", "b"]`` is the `Comparison` of two detectors, ``result.adjusted["a", "b"]``
        its adjusted p-value.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If the measure is undefined for a detector, or a class has fewer than two samples.

    Notes
    -----
    O(n log n) time for each detector, then O(n) for each pair or replicate.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", 1979.
    .. [2] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", 1995.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 50 + [1] * 50
    >>> scores = {"good": range(100), "bad": [x * 7 % 100 for x in range(100)]}
    >>> result = fastad.compare_all(labels, scores, measure="auc")
    >>> result.adjusted["good", "bad"] < 0.001
    True
    """
    bound = bind(measure, operating_point, compare_all)
    check_choice(correction, tuple(CORRECTIONS), "correction")
    options = check_comparison_options(
        bound,
        method,
        confidence_level,
        n_resamples,
        rng,
        stratified=stratified,
        min_difference=min_difference,
        power=power,
    )
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        options = replace(options, progress=report)
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        design = check_design(clusters, blocks, labels.n_rows)
        detectors = [
            (name, score_name(name), scores)
            for name, scores in named_scores(y_score, labels.n_rows)
        ]
        if len(detectors) < 2:
            raise InvalidInputError(
                "y_score must contain at least two detectors; found one", argument="y_score"
            )
        comparisons = _compare(labels, detectors, design, bound, options)
    note = comparisons[0].reliability_note
    if note is not None:
        warnings.warn(f"{bound.key}: {note}", LowCoverageWarning, stacklevel=2)
    p_values = np.array([comparison.p_value for comparison in comparisons])
    return Comparisons(comparisons, CORRECTIONS[correction](p_values).tolist(), correction)


def check_comparison_options(
    bound: BoundMeasure,
    method: str,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    *,
    stratified: bool,
    min_difference: Point | None,
    power: Point,
) -> ComparisonOptions:
    """Check the options of a comparison."""
    check_choice(method, ("auto", *PAIRED_METHODS), "method")
    if bound.measure.higher_is_better is None:
        raise InvalidInputError(
            f"measure must be one of which more, or less, is better; found {bound.key}",
            argument="measure",
        )
    if method == "delong" and not has_influence(bound.measure):
        raise InvalidInputError(
            f"method must be 'bootstrap' or 'permutation' for {bound.measure.name}, because "
            "'delong' needs a smooth measure; found 'delong'",
            argument="method",
        )
    return ComparisonOptions(
        method,
        check_inside(confidence_level, "confidence_level"),
        check_count(n_resamples, "n_resamples"),
        check_flag(stratified, "stratified"),
        random_key(rng),
        None if min_difference is None else check_positive(min_difference, "min_difference"),
        check_inside(power, "power"),
    )


def compare_pairs(
    detectors: Detectors, bound: BoundMeasure, options: ComparisonOptions
) -> list[Comparison]:
    """Compare all pairs of the detectors; all share their replicates."""
    method, false_positive_rate = options.method, None
    if method == "auto":
        method, false_positive_rate = select_paired_method(
            bound, detectors.n_anomalies, detectors.n_normals
        )
    error = too_few_samples(
        f"a comparison of {bound.key}", detectors.n_anomalies, detectors.n_normals
    )
    if method != "permutation" and error is not None:
        raise error
    values = [
        _value(bound, ranking.counts, name)
        for ranking, name in zip(detectors.rankings, detectors.score_names, strict=True)
    ]
    pairs = list(combinations(range(len(values)), 2))
    differences = [values[i] - values[j] for i, j in pairs]
    estimates = PAIRED_METHODS[method](detectors, bound, options, pairs, differences)
    sizes = detectors.n_anomalies, detectors.n_normals
    return _comparisons(
        detectors.names, values, estimates, sizes, bound, options, rate=false_positive_rate
    )


def _compare(
    labels: Labels,
    scores: Sequence[tuple[str, str, ArrayLike]],
    design: SamplingDesign,
    bound: BoundMeasure,
    options: ComparisonOptions,
) -> list[Comparison]:
    """Compare all pairs of detectors, given their names, names in messages, and scores."""
    if needs_design(design, labels):
        return _compare_designed(labels, scores, design, bound, options)
    return compare_pairs(rank_detectors(labels.repeated(), scores), bound, options)


def _compare_designed(
    labels: Labels,
    scores: Sequence[tuple[str, str, ArrayLike]],
    design: SamplingDesign,
    bound: BoundMeasure,
    options: ComparisonOptions,
) -> list[Comparison]:
    """Compare detectors on samples that depend on each other, or have weights."""
    samples = order_designed(labels, scores, design)
    values = [
        _value(bound, sample.counts, name)
        for sample, (_, name, _) in zip(samples, scores, strict=True)
    ]
    pairs = list(combinations(range(len(values)), 2))
    differences = [values[i] - values[j] for i, j in pairs]
    estimates = estimate_pairs(samples, bound, options, pairs, differences)
    sizes = labels.n_anomalies, int(labels.values.shape[0]) - labels.n_anomalies
    names = [name for name, _, _ in scores]
    effect = samples[0].effect()
    return _comparisons(names, values, estimates, sizes, bound, options, sampling=effect)


def _comparisons(
    names: Sequence[str],
    values: Sequence[float],
    estimates: Sequence[PairEstimate],
    sizes: tuple[int, int],
    bound: BoundMeasure,
    options: ComparisonOptions,
    *,
    rate: float | None = None,
    sampling: SamplingEffect | None = None,
) -> list[Comparison]:
    """Return the comparison of each pair from its estimate."""
    n_anomalies, n_normals = sizes
    results = []
    for (i, j), estimate in zip(combinations(range(len(values)), 2), estimates, strict=True):
        required = _required_anomalies(n_anomalies, estimate, options)
        results.append(
            Comparison(
                difference=values[i] - values[j],
                low=estimate.low,
                high=estimate.high,
                p_value=float(estimate.p_value),
                method=estimate.method,
                confidence_level=float(options.level),
                measure=bound.key,
                higher_is_better=bool(bound.measure.higher_is_better),
                names=(names[i], names[j]),
                values=(values[i], values[j]),
                n_anomalies=n_anomalies,
                n_normals=n_normals,
                min_difference=(
                    None if options.min_difference is None else float(options.min_difference)
                ),
                power=float(options.power),
                required_anomalies=required[0],
                required_anomalies_interval=required[1],
                false_positive_rate=rate,
                n_resamples=estimate.n_resamples,
                n_undefined=estimate.n_undefined,
                sampling=sampling,
            )
        )
    return results


def _value(bound: BoundMeasure, counts: OrderedCounts, score_name: str) -> float:
    try:
        return bound.value(counts)
    except InvalidInputError as error:
        # A measure of values, which these scores violate.
        message = str(error).replace("y_score", score_name)
        raise InvalidInputError(message, argument=score_name.split("[")[0]) from None


def _required_anomalies(
    n_anomalies: int, estimate: PairEstimate, options: ComparisonOptions
) -> tuple[int | None, tuple[int, int] | None]:
    """Return the number of anomalies with which the smallest difference is detected.

    With k times the samples of both classes the variance is k times smaller. Its interval is that
    of the variance, from a chi-square distribution.
    """
    if options.min_difference is None:
        return None, None
    quantiles = float(ndtri(float(options.power)) - ndtri(options.alpha / 2))
    required = n_anomalies * estimate.variance * (quantiles / float(options.min_difference)) ** 2
    ends = (required, required)
    if estimate.df < math.inf:
        low, high = chdtri(estimate.df, [options.alpha / 2, 1 - options.alpha / 2]).tolist()
        ends = (required * estimate.df / low, required * estimate.df / high)
    n_low, n_required, n_high = (max(2, math.ceil(x)) for x in (ends[0], required, ends[1]))
    return n_required, (n_low, n_high)

"""``compare`` and ``compare_all``: the difference of detectors on the same samples."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtridf, stdtrit

from fastad._core.parameters import (
    N_RESAMPLES,
    check_choice,
    check_inside,
    check_positive,
    significance_level,
)
from fastad._core.progress import LATE, ProgressOption, reporting
from fastad._core.text_tables import count_text
from fastad._core.threads import thread_limit
from fastad._core.types import (
    ArrayLike,
    Blocks,
    ComparisonMethod,
    Correction,
    FloatVector,
    Label,
    Point,
)
from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.requests import bind
from fastad.ordering.labels import Table, check_labels, named_scores, score_name, series_names
from fastad.uncertainty.comparisons.comparison_results import (
    Comparison,
    Comparisons,
    IndependentComparison,
)
from fastad.uncertainty.comparisons.corrections import CORRECTIONS
from fastad.uncertainty.comparisons.pair_comparison import compare_pairs
from fastad.uncertainty.comparisons.pair_estimates import (
    check_comparison_options,
    range_of_difference,
)
from fastad.uncertainty.comparisons.paired import PAIRED_METHODS, rank_detectors
from fastad.uncertainty.results import warn_if_noted
from fastad.uncertainty.samples.sampling import check_design

# Nobody draws more replicates: of 10^4 samples they take hours.
_MOST_RESAMPLES = 10**9


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
    method : {"auto", "delong", "student", "bootstrap", "permutation"}, default "auto"
        ``"delong"``
            Normal approximation with DeLong's paired variance; for smooth measures.
        ``"student"``
            The same variance with Student's distribution, whose degrees of freedom tell on how many
            samples the variance rests.
        ``"bootstrap"``
            Percentiles of the differences on replicates of the samples, the same for both; wider
            where few samples lie beyond the operating point, or are wrong.
        ``"permutation"``
            The ranks that the two give a sample are exchanged at random: a test of whether the
            detectors are exchangeable on each sample, which is more than that their values are
            equal. All permutations where they are few.
        ``"auto"``
            ``"student"`` for smooth measures, else ``"bootstrap"``.
    confidence_level : float, default 0.95
        Confidence level of the interval of the difference, in (0, 1).
    n_resamples : int, default 2000
        Number of replicates or permutations.
    stratified : bool, default True
        Whether the bootstrap draws from each class by itself.
    rng : int or numpy.random.Generator, optional
        Seed or generator of replicates and permutations.
    min_difference : float, optional
        The smallest difference of interest, at most the largest that is possible; the result then
        says how many anomalies are required to detect it.
    power : float, default 0.8
        Probability with which that difference is to be detected, in (0, 1).
    clusters, blocks : optional
        Clusters of the rows, or mean length of blocks of rows in time, as for `interval`: the
        difference's variance is that between clusters or blocks, and there are no permutations.
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
    UndefinedMeasureError
        If the measure is undefined, or a class has fewer than two samples (one, for
        permutations).

    Warns
    -----
    LowCoverageWarning
        If it is not known how reliable the method is, if hardly any samples decide, if the
        difference or one of the values has no variance, or if the order of a detector's scores may
        be reversed.

    Notes
    -----
    O(n log n), and O(n) for each replicate or permutation. The interval lies within the range of
    the difference, and excludes 0 where the p-value is at most 1 - ``confidence_level`` and nowhere
    else. The interval of permutations has their spread around 0, which falls to 0 at either end of
    the range as in Wilson's interval. If the difference has no variance, as between two perfect
    detectors, the interval is one of disjoint pairs of an anomaly and a normal sample. Required
    anomalies are for a normal difference, with the variance estimated here; the upper end of
    ``required_anomalies_interval`` allows for the error of the variance itself.

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
    (True, 'student')
    """
    bound = bind(measure, operating_point, compare)
    options = check_comparison_options(
        bound, PAIRED_METHODS, method, confidence_level, n_resamples, rng, stratified=stratified
    )
    target = _check_target(bound, min_difference, power)
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        options = replace(options, progress=report)
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        design = check_design(clusters, blocks, labels)
        names = series_names([scores_a, scores_b], ["a", "b"])
        arguments = zip(names, ("scores_a", "scores_b"), (scores_a, scores_b), strict=True)
        detectors = rank_detectors(labels, list(arguments), design)
        result = compare_pairs(detectors, bound, options, *target)[0]
    warn_if_noted(bound.key, result.reliability_note)
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
    method : {"auto", "delong", "student", "bootstrap", "permutation"}, default "auto"
        As for `compare`; all pairs share the replicates.
    correction : {"holm", "benjamini-hochberg", "bonferroni", "none"}, default "holm"
        How p-values allow for the number of comparisons: Holm's and Bonferroni's bound the
        probability of any false positive, Benjamini's and Hochberg's their proportion.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1); intervals are not adjusted.
    n_resamples : int, default 2000
        Number of replicates or permutations. More pairs need more for a p-value that is small
        enough once adjusted; a note says how many.
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
        difference's variance is that between clusters or blocks, and there are no permutations.
        Blocks of ``"auto"`` have the longest length of all detectors, not of a pair alone.
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
        ``result["a", "b"]`` is the `Comparison` of two detectors, and
        ``result.adjusted_p_values["a", "b"]`` its adjusted p-value.

    Raises
    ------
    UndefinedMeasureError
        If the measure is undefined for a detector, or a class has fewer than two samples.

    Warns
    -----
    LowCoverageWarning
        As for `compare`.

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
    >>> result.adjusted_p_values["good", "bad"] < 0.001
    True
    """
    bound = bind(measure, operating_point, compare_all)
    check_choice(correction, tuple(CORRECTIONS), "correction")
    options = check_comparison_options(
        bound, PAIRED_METHODS, method, confidence_level, n_resamples, rng, stratified=stratified
    )
    target = _check_target(bound, min_difference, power)
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        options = replace(options, progress=report)
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        design = check_design(clusters, blocks, labels)
        detectors = [
            (name, score_name(name), scores)
            for name, scores in named_scores(y_score, labels.row_index)
        ]
        if len(detectors) < 2:
            raise InvalidInputError("y_score must contain at least two detectors; found one")
        ranked = rank_detectors(labels, detectors, design)
        comparisons = compare_pairs(ranked, bound, options, *target)
    (result,) = adjust_together([comparisons], correction)
    for note in dict.fromkeys([*(each.reliability_note for each in comparisons), *result.notes]):
        warn_if_noted(bound.key, note)
    return result


def adjust_together(
    comparisons: Sequence[Sequence[Comparison]], correction: Correction
) -> list[Comparisons]:
    """Adjust the p-values of the comparisons of some groups for the number of all."""
    by_pair, notes = adjusted_p_values(list(chain.from_iterable(comparisons)), correction)
    values = iter(by_pair.tolist())
    return [
        Comparisons(each, [next(values) for _ in each], correction, notes) for each in comparisons
    ]


def adjusted_p_values(
    pairs: Sequence[Comparison | IndependentComparison], correction: Correction
) -> tuple[FloatVector, list[str]]:
    """Return the p-values of comparisons adjusted for their number, and notes on them."""
    p_values = np.array([pair.p_value for pair in pairs])
    smallest = np.array([pair.smallest_p_value for pair in pairs])
    level = significance_level(pairs[0].confidence_level)
    by_pair = CORRECTIONS[correction](p_values)
    # More replicates would give smaller p-values: none contradicts the difference.
    is_stuck = (p_values == smallest) & (by_pair > level)
    notes = []
    if is_stuck.any() and correction != "none":
        stuck = [pairs[i] for i in np.flatnonzero(is_stuck).tolist()]
        # The smallest of all p-values is multiplied by their number.
        enough = min(_required_resamples(pair, level / len(pairs)) for pair in stuck)
        text = f"can be significant with n_resamples={enough:.0f}"
        if enough > _MOST_RESAMPLES:
            text = "cannot be significant with as many as can be drawn: too few samples decide"
        notes.append(
            f"replicates are too few for {count_text(len(pairs), 'comparison')}: a difference that "
            f"none of them contradicts {text}"
        )
    return by_pair, notes


def _required_resamples(pair: Comparison | IndependentComparison, p_value: float) -> float:
    """Return how many replicates can give a p-value that is as small; infinity where none can."""
    n = pair.n_resamples - pair.n_undefined
    odds = (1 + n) * pair.smallest_p_value / p_value
    if pair.smallest_p_value > (2 + 1e-9) / (1 + n):  # by Student's distribution
        df = float(stdtridf(pair.smallest_p_value / 2, float(ndtri(1 / (1 + n)))))
        tail = float(ndtr(float(stdtrit(df, p_value / 2))))
        odds = 1 / tail if tail > 0 else math.inf
    return float(np.ceil((odds - 1) * pair.n_resamples / n + 1))


def _check_target(
    bound: BoundMeasure, min_difference: Point | None, power: Point
) -> tuple[Fraction | None, Fraction]:
    """Check the smallest difference of interest, and the probability of detecting it."""
    least = None if min_difference is None else check_positive(min_difference, "min_difference")
    largest = range_of_difference(bound)
    if least is not None and least > largest:
        raise InvalidInputError(
            f"min_difference must be at most {largest:g}, the largest difference in {bound.key}; "
            f"found {min_difference!r}"
        )
    return least, check_inside(power, "power")

"""``compare``, ``compare_all`` and ``delong_covariance``: detectors on the same samples."""

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtri

from fastad._core.parameters import (
    N_RESAMPLES,
    check_choice,
    check_count,
    check_flag,
    check_inside,
    check_positive,
)
from fastad._core.random import random_key
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, ComparisonMethod, Correction, Label, Point
from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.ordering.named_scores import Table, named_scores, score_name, series_names
from fastad.uncertainty.bootstrap import Ranking, too_few_samples
from fastad.uncertainty.corrections import CORRECTIONS
from fastad.uncertainty.influence import INFLUENCES
from fastad.uncertainty.paired import (
    PAIRED_METHODS,
    ComparisonOptions,
    Detectors,
    rank_detectors,
    row_influences,
)
from fastad.uncertainty.results import Comparison, Comparisons, Covariance

# With fewer samples of a class, intervals of differences are too narrow: docs/evidence/coverage.md.
_FEW = 30


def compare(
    y_true: ArrayLike,
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    *,
    measure: str,
    method: ComparisonMethod = "auto",
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    stratified: bool = True,
    rng: int | np.random.Generator | None = None,
    min_difference: Point | None = None,
    power: Point = 0.8,
    pos_label: Label | None = None,
    n_threads: int | None = None,
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
    measure : str
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
            Permutations with fewer than 30 samples of a class, where only they keep their level;
            else DeLong's for smooth measures and the bootstrap for the others.
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
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over replicates; the same seed gives the same result for any number.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    Comparison
        ``difference`` (a - b), ``low``, ``high``, ``p_value``, a ``summary`` in words, and with
        ``min_difference`` the ``required_anomalies``.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If the measure is undefined, or a class has fewer than two samples (one, for
        permutations).

    Notes
    -----
    O(n log n), and O(n) for each replicate or permutation. If the difference has no variance,
    DeLong's p-value is 1 where the detectors are equal and 0 where they are not. The interval of
    a permutation test is the difference with the spread that permutations have around 0. Required
    anomalies are for a normal difference, with the variance estimated here.

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
    with thread_limit(n_threads):
        labels = check_labels(y_true, pos_label=pos_label)
        names = series_names([scores_a, scores_b], ["a", "b"])
        arguments = zip(names, ("scores_a", "scores_b"), (scores_a, scores_b), strict=True)
        scores = list(arguments)
        return compare_pairs(rank_detectors(labels, scores), bound, options)[0]


def compare_all(
    y_true: ArrayLike,
    y_score: ArrayLike | Mapping[str, ArrayLike] | Table,
    *,
    measure: str,
    method: ComparisonMethod = "auto",
    correction: Correction = "holm",
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    stratified: bool = True,
    rng: int | np.random.Generator | None = None,
    min_difference: Point | None = None,
    power: Point = 0.8,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    **operating_point: Any,
) -> Comparisons:
    """Compare all pairs of several detectors on the same samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_detectors, n_samples), mapping, or table
        Anomaly scores, higher is more anomalous, of each detector; as for `evaluate`.
    measure : str
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
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over detectors and replicates; the same seed gives the same result for any number.
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
    with thread_limit(n_threads):
        detectors = _rank(y_true, y_score, pos_label)
        if len(detectors.names) < 2:
            raise InvalidInputError(
                "y_score must contain at least two detectors; found one", argument="y_score"
            )
        comparisons = compare_pairs(detectors, bound, options)
    p_values = np.array([comparison.p_value for comparison in comparisons])
    return Comparisons(comparisons, CORRECTIONS[correction](p_values).tolist(), correction)


def delong_covariance(
    y_true: ArrayLike,
    y_score: ArrayLike | Mapping[str, ArrayLike] | Table,
    *,
    measure: str = "roc_auc",
    pos_label: Label | None = None,
    n_threads: int | None = None,
    **operating_point: Any,
) -> Covariance:
    """Covariance of a measure of several detectors on the same samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_detectors, n_samples), mapping, or table
        Anomaly scores, higher is more anomalous, of each detector; as for `evaluate`.
    measure : str, default "roc_auc"
        A smooth measure: the area under the ROC or a part of it, average precision, ….
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over detectors.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    Covariance
        ``names``, ``values``, and the ``matrix``.

    Raises
    ------
    InvalidInputError
        If an argument is not as described, or the measure is not smooth.
    UndefinedMeasureError
        If the measure is undefined for a detector, or a class has fewer than two samples.

    Notes
    -----
    O(n log n) time and O(n) memory for each detector.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves", Biometrics 44, 1988, equation (6).

    Examples
    --------
    >>> import fastad
    >>> scores = [[1, 3, 2, 4], [1, 2, 3, 4]]
    >>> fastad.uncertainty.delong_covariance([0, 0, 1, 1], scores).matrix
    array([[0.125, 0.   ],
           [0.   , 0.   ]])
    """
    bound = bind(measure, operating_point, delong_covariance)
    if bound.measure.name not in INFLUENCES:
        raise InvalidInputError(
            f"measure must be smooth, one of {', '.join(INFLUENCES)}; found {measure!r}",
            argument="measure",
        )
    with thread_limit(n_threads):
        detectors = _rank(y_true, y_score, pos_label)
        error = too_few_samples(
            f"the covariance of {bound.key}", detectors.n_anomalies, detectors.n_normals
        )
        if error is not None:
            raise error
        values = np.array([bound.value(ranking.counts) for ranking in detectors.rankings])
        influences = [row_influences(ranking, bound) for ranking in detectors.rankings]
    anomalies, normals = (
        np.atleast_2d(np.cov(rows)) / len(rows[0]) for rows in zip(*influences, strict=True)
    )
    return Covariance(detectors.names, values, anomalies + normals)


def _rank(y_true: ArrayLike, y_score: Any, pos_label: Label | None) -> Detectors:
    labels = check_labels(y_true, pos_label=pos_label)
    return rank_detectors(
        labels,
        [(name, score_name(name), scores) for name, scores in named_scores(y_score, labels.n_rows)],
    )


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
    if method == "delong" and bound.measure.name not in INFLUENCES:
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
    method = options.method
    if method == "auto":
        method = _select_method(detectors, bound)
    error = too_few_samples(
        f"a comparison of {bound.key}", detectors.n_anomalies, detectors.n_normals
    )
    if method != "permutation" and error is not None:
        raise error
    values = [
        _value(bound, ranking, name)
        for ranking, name in zip(detectors.rankings, detectors.score_names, strict=True)
    ]
    pairs = list(combinations(range(len(values)), 2))
    differences = [values[i] - values[j] for i, j in pairs]
    estimates = PAIRED_METHODS[method](detectors, bound, options, pairs, differences)
    return [
        Comparison(
            difference=difference,
            low=estimate.low,
            high=estimate.high,
            p_value=estimate.p_value,
            method=estimate.method,
            confidence_level=float(options.level),
            measure=bound.key,
            higher_is_better=bool(bound.measure.higher_is_better),
            names=(detectors.names[i], detectors.names[j]),
            values=(values[i], values[j]),
            n_anomalies=detectors.n_anomalies,
            n_normals=detectors.n_normals,
            min_difference=(
                None if options.min_difference is None else float(options.min_difference)
            ),
            power=float(options.power),
            required_anomalies=_required_anomalies(
                detectors.n_anomalies, estimate.variance, options
            ),
            n_resamples=estimate.n_resamples,
            n_undefined=estimate.n_undefined,
        )
        for (i, j), difference, estimate in zip(pairs, differences, estimates, strict=True)
    ]


def _value(bound: BoundMeasure, ranking: Ranking, score_name: str) -> float:
    try:
        return bound.value(ranking.counts)
    except InvalidInputError as error:
        # A measure of values, which these scores violate.
        message = str(error).replace("y_score", score_name)
        raise InvalidInputError(message, argument=score_name.split("[")[0]) from None


def _select_method(detectors: Detectors, bound: BoundMeasure) -> str:
    is_small = min(detectors.n_anomalies, detectors.n_normals) < _FEW
    if is_small and bound.reads_ranks:
        return "permutation"
    return "delong" if bound.measure.name in INFLUENCES else "bootstrap"


def _required_anomalies(
    n_anomalies: int, variance: float, options: ComparisonOptions
) -> int | None:
    """Return the number of anomalies with which the smallest difference is detected.

    With k times the samples of both classes the variance is k times smaller.
    """
    if options.min_difference is None:
        return None
    quantiles = float(ndtri(float(options.power)) - ndtri(options.alpha / 2))
    required = n_anomalies * variance * (quantiles / float(options.min_difference)) ** 2
    return max(2, math.ceil(required))

"""``interval``: confidence intervals of measures, from one order and one set of replicates."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.parameters import N_RESAMPLES
from fastad._core.progress import LATE, ProgressOption, reporting
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, Blocks, IntervalMethod, Label, Point
from fastad.errors import UndefinedMeasureError
from fastad.measures.contamination import (
    check_contamination_range,
    corrected,
    refuse_impossible,
    refuse_unidentified,
)
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.points import need_both
from fastad.measures.rates import RATES
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.hidden import ContaminatedCounts, largest_contamination
from fastad.ordering.labels import check_labels, check_scores
from fastad.uncertainty.intervals.interval_estimation import (
    InferenceOptions,
    check_options,
    intervals_of,
)
from fastad.uncertainty.intervals.methods import check_method
from fastad.uncertainty.results import Interval, lowest_coverage, warn_if_noted
from fastad.uncertainty.samples.sampling import (
    Sample,
    check_design,
    refuse_contamination,
    sample_of,
)

# Steps over a range of fractions where the extremes may lie between its ends.
_SEARCHED = 16
# Quotients of linear functions of the fraction, which rise or fall throughout.
_QUOTIENTS = ("roc_auc", *(name for name in RATES if name != "mcc"))
# Parameters of measures of the highest ranks, which also depend on the anomalies' number.
_OF_RANKS = {"k", "fraction", "alpha"}


def interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    measure: MeasureLike,
    method: IntervalMethod = "auto",
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    stratified: bool = True,
    rng: int | np.random.Generator | None = None,
    contamination: Point | tuple[Point, Point] | None = None,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
    **operating_point: Any,
) -> Interval:
    """Confidence interval of a measure.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    measure : str, Measure or BoundMeasure
        Key such as ``"auc"`` or ``"tpr@0.01"``; name of a function that returns a number, such as
        ``"tpr_at_fpr"``, with its operating point and options as further arguments; or, with
        ``threshold=``, a rate of `fastad.measures.Confusion` such as ``"tpr"`` or ``"precision"``,
        or ``"n_flagged"``. A declaration, such as `fastad.measures.from_counts` makes, stands for
        its name.
    method : str, default "auto"
        ``"delong"``
            Normal interval from DeLong's placements, for partial areas, average precision and
            other smooth measures from the influence of each sample; clipped to the measure's range.
        ``"logit"``
            The same on the scale of the log odds.
        ``"newcombe"``
            For the area under the ROC: Newcombe's score interval, for few anomalies and areas
            near 1.
        ``"pairs"``
            For the area under the ROC: of as many disjoint pairs of an anomaly and a normal sample
            as the smaller class has, the proportion in order; where the samples have no variance.
        ``"order"``
            For measures of one point of the curve, such as the TPR or the F1 score at an FPR: the
            exact distributions of the threshold, which lies between two scores, and of the rate
            at it.
        ``"inversion"``
            With ``contamination``, for the TPR at an FPR, the FPR at a TPR and rates at a
            threshold: all values that the exact intervals of both observed rates allow.
        ``"wilson"``, ``"clopper-pearson"``, ``"jeffreys"``
            Binomial, for a rate, F1 or number of alarms at a threshold that was fixed beforehand.
        ``"fiducial"``
            For areas, average precision and other measures that never fall where the ROC curve
            rises: quantiles over random curves that enclose the population's curve, from the exact
            distribution of the rates at all ranks; also for measures at a fixed threshold that are
            monotone in both rates, such as the Matthews coefficient. Wide where few samples lie
            beyond an operating point. Where the curve steps at that point, or scores have few
            levels, it covers the true value less often than stated, and ``"auto"`` takes
            ``"order"``.
        ``"combined"``
            For average precision and the area under the precision-recall curve: contains
            ``"logit"``, which knows the variance that the samples show, and the quantiles of the
            values halfway between the lower and the upper curves of ``"fiducial"``, which know that
            one more sample may lie above all; for the area under the ROC, instead of these
            ``"newcombe"`` as far as a kind may explain that the sample lacks by chance. It contains
            values to which the few samples that decide belong by chance, too.
        ``"bootstrap"``, ``"basic"``
            Percentile and basic bootstrap, for every measure.
        ``"bca"``
            Bias-corrected and accelerated bootstrap, for smooth measures.
        ``"auto"``
            The method with the narrowest intervals of those with sufficient coverage on generated
            data with no more samples of either class, or beyond the operating point, over all
            families of scores that the sample does not rule out; ``"order"`` where the curve may
            step at the operating point. Warns where none covered the true value in 92 % of the
            samples, or that is not known.
    confidence_level : float, default 0.95
        Probability with which such intervals are to cover the true value, in (0, 1).
    n_resamples : int, default 2000
        Number of replicates of a bootstrap, or of random curves.
    stratified : bool, default True
        Whether a bootstrap draws from each class by itself; otherwise the number of anomalies
        varies too.
    rng : int or numpy.random.Generator, optional
        Seed or generator of a bootstrap.
    contamination : float or (float, float), optional
        Fraction of anomalies hidden among the normal samples, in [0, 1), or its lowest and
        highest possible value: the measure is corrected for them, see `fastad.rank_scores`. The
        interval of a range covers the true value at every fraction in it.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each row, such as a user, a device or a patient: rows of a cluster may depend on
        each other in any way, clusters are independent. Then ``"auto"`` is ``"logit"`` or
        ``"delong"``, from the sums of influences within clusters (for the area under the ROC curve
        ``"combined"`` [5]), or ``"bootstrap"`` of whole clusters, all with Student's quantiles.
    blocks : int or "auto", optional
        For rows in the order of time: mean length of the blocks in which they are drawn (the
        stationary bootstrap [6], and its exact variance), or by themselves from how long the
        area's influences are correlated [7].
    sample_weight : array-like of shape (n_samples,), optional
        Integers: a weight k counts the row k times, 0 leaves it out. Other weights are inverse
        probabilities with which rows were sampled, and intervals allow for how they differ.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over replicates; the same seed gives the same interval for any number.
    progress : callable or True, optional
        True draws a bar after a second, where rich or tqdm is installed. A function is called with
        the numbers of replicates done and to be done, about ten times a second.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ``threshold=0.5``, ….

    Returns
    -------
    Interval
        ``value``, ``low``, ``high``, ``standard_error``, and the ``method``.

    Raises
    ------
    UndefinedMeasureError
        If the measure is undefined, if a class has fewer than two samples, if more than half
        of the replicates leave the measure undefined, or if hidden anomalies outnumber the normals
        that are flagged at an FPR so much that the measure is not identified.

    Warns
    -----
    LowCoverageWarning
        If no method is known to have sufficient coverage, or the interval has no width.

    Notes
    -----
    Scores are ordered once, in O(n log n); a replicate takes O(n), a random curve O(n) up to some
    4000 corners. Everything else is O(n). All samples are assumed to be independent, unless
    ``clusters`` or ``blocks`` say otherwise; then the result's ``sampling`` says what they are
    worth. Fewer than 10 clusters or blocks are refused, and of fewer than 50 a warning is given. An
    area under the ROC curve of 1 gets an interval too: a lower bound from disjoint pairs of samples
    (method ``"pairs"``). The ``method`` of the result, which was selected or where ``"combined"``
    has no variance took its place, gives the same interval. Over a range of ``contamination`` it is
    the method at the middle; where the range begins at 0, ``"auto"`` may select another one there.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves", Biometrics 44, 1988.
    .. [2] T. J. DiCiccio and B. Efron, "Bootstrap confidence intervals", Statistical Science 11,
       1996.
    .. [3] L. D. Brown, T. T. Cai and A. DasGupta, "Interval estimation for a binomial
       proportion", Statistical Science 16, 2001.
    .. [4] R. G. Newcombe, "Confidence intervals for an effect size measure based on the
       Mann-Whitney statistic. Part 2", Statistics in Medicine 25, 2006.
    .. [5] N. A. Obuchowski, "Nonparametric analysis of clustered ROC curve data", Biometrics 53,
       1997.
    .. [6] D. N. Politis and J. P. Romano, "The stationary bootstrap", Journal of the American
       Statistical Association 89, 1994.
    .. [7] D. N. Politis and H. White, "Automatic block-length selection for the dependent
       bootstrap", Econometric Reviews 23, 2004, and the correction in 28, 2009.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 50 + [1] * 50
    >>> scores = [*range(50), *range(30, 80)]
    >>> print(fastad.interval(labels, scores, measure="auc", method="delong"))
    0.9200 [0.8716, 0.9684] (95 %, delong)
    """
    bound, options, hidden = check_interval(
        measure,
        operating_point,
        method,
        confidence_level,
        n_resamples,
        rng,
        stratified=stratified,
        contamination=contamination,
    )
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        options = replace(options, progress=report)
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        scores = check_scores(y_score, labels)
        design = check_design(clusters, blocks, labels)
        return interval_of(sample_of(scores, labels, design), bound, options, hidden)


def check_interval(
    measure: MeasureLike,
    parameters: Mapping[str, Any],
    method: str,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    *,
    stratified: bool,
    contamination: Point | tuple[Point, Point] | None = None,
) -> tuple[BoundMeasure, InferenceOptions, tuple[Fraction, Fraction]]:
    """Check all arguments of `interval` but the data; the last are the fractions of hidden ones."""
    bound = bind(measure, parameters, interval)
    options = check_options(method, confidence_level, n_resamples, rng, stratified=stratified)
    hidden = check_contamination_range(contamination)
    check_method(options.method, corrected(bound, hidden[1]))
    return bound, options, hidden


def interval_of(
    sample: Sample,
    bound: BoundMeasure,
    options: InferenceOptions,
    hidden: tuple[Fraction, Fraction],
) -> Interval:
    """Return the interval of one measure, corrected for hidden anomalies; warn if it is unreliable.

    For a function that users call: the warning names the line that called it.
    """
    refuse_contamination(sample, hidden[1])
    if sample.kind is not None:
        check_method(options.method, bound, sample.kind)
    measures = _corrected_over(sample.counts, bound, hidden)
    result = _enclosing_interval(intervals_of(sample, measures, options))
    warn_if_noted(bound.key, result.reliability_note)
    return result


def _corrected_over(
    counts: OrderedCounts, bound: BoundMeasure, fractions: tuple[Fraction, Fraction]
) -> list[BoundMeasure]:
    """Return a measure corrected for fractions of hidden anomalies in a range.

    The one in the middle first, then those that may be its extremes at fractions that the data
    allow; where nothing is hidden, the measure alone.
    """
    low, high = fractions
    if high == 0:
        return [bound]
    need_both(counts, bound.measure.name)
    refuse_impossible(counts, low)
    high = max(low, min(high, Fraction(largest_contamination(counts))))
    refuse_unidentified(ContaminatedCounts.of(counts, high), bound.measure, bound.parameters)
    at = fractions_between(counts, bound, low, high)
    middle = (low + high) / 2
    return [corrected(bound, fraction) for fraction in dict.fromkeys([middle, *at])]


def _enclosing_interval(results: Iterable[Interval | UndefinedMeasureError]) -> Interval:
    """Return the first of some intervals, from the lowest end of them to the highest."""
    intervals: list[Interval] = []
    for result in results:
        if isinstance(result, UndefinedMeasureError):
            raise result
        intervals.append(result)
    return replace(
        intervals[0],
        low=min(interval.low for interval in intervals),
        high=max(interval.high for interval in intervals),
        coverage=lowest_coverage(intervals),
    )


def fractions_between(
    counts: OrderedCounts, bound: BoundMeasure, low: Fraction, high: Fraction
) -> list[Fraction]:
    """Return the fractions of hidden anomalies among which a measure takes its extremes.

    Where the curve lies above the diagonal, FPR = (FPR' - pi TPR) / (1 - pi) falls with pi at each
    threshold, and least squares keep the order; with the anomalies' number, a measure that never
    gets worse where the curve rises takes its extremes at the ends. So do the area and rates at a
    threshold, whatever the curve. Else the range is searched.
    """
    if low == high:
        return [low]
    n, m = float(counts.n_anomalies), float(counts.n_normals)
    rises = bound.measure.rises_with_curve and not bound.parameters.keys() & _OF_RANKS
    above = bool(np.all(counts.tps / n >= counts.fps / m))
    if bound.measure.name in _QUOTIENTS or (rises and above):
        return [low, high]
    return [low + (high - low) * Fraction(i, _SEARCHED) for i in range(_SEARCHED + 1)]

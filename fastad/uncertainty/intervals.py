"""``interval``: confidence intervals of measures, from one order and one set of replicates."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import N_RESAMPLES, check_choice, check_count, check_flag, check_inside
from fastad._core.progress import LATE, Progress, ProgressOption, part_of, reporting
from fastad._core.random import random_key
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, Blocks, FloatVector, IntervalMethod, Label, Point
from fastad.errors import InvalidInputError, LowCoverageWarning, UndefinedMeasureError
from fastad.measures.contamination import (
    NOTHING_HIDDEN,
    check_contamination_range,
    corrected,
)
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.rates import OF_PROPORTION, TRIALS, confusion_at_threshold
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count_scores
from fastad.ordering.labels import check_labels, check_scores
from fastad.uncertainty.bootstrap import (
    Ranking,
    acceleration,
    basic,
    bias_corrected,
    check_drawable,
    percentile,
    plan,
    replicate_values,
    too_few_samples,
)
from fastad.uncertainty.closed_forms import (
    BINOMIAL,
    Bounds,
    logit_interval,
    newcombe,
    newcombe_variance,
    pairs_interval,
    plain_interval,
    variance,
)
from fastad.uncertainty.corrected import (
    interval_of_area,
    interval_over,
    inversion,
    observed_area,
)
from fastad.uncertainty.designed_intervals import check_method_of_design, intervals_of_design
from fastad.uncertainty.enclosing_curves import (
    box_interval,
    fiducial,
    fiducial_values,
    has_box,
    order_interval,
)
from fastad.uncertainty.influence import influence
from fastad.uncertainty.methods import (
    ANY_SIZE,
    METHODS,
    RESAMPLING,
    check_method,
    select_method,
)
from fastad.uncertainty.results import Interval
from fastad.uncertainty.sampling import DesignedSample, check_design, needs_design

# Methods that need no variance of the given samples.
_WITHOUT_VARIANCE = (*BINOMIAL, *ANY_SIZE, "newcombe", "inversion")


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
        ``"order"``
            For measures of one point of the curve, such as the TPR or the F1 score at an FPR: the
            exact distributions of the threshold, which lies between two scores, and of the rate
            at it.
        ``"inversion"``
            With ``contamination``, for the TPR at an FPR, the FPR at a TPR and rates at a
            threshold: all values that the exact intervals of both observed rates allow.
        ``"wilson"``, ``"clopper-pearson"``, ``"jeffreys"``
            Binomial, for a rate, F1 or number of alarms at a threshold that was fixed beforehand.
            ``"clopper-pearson"`` also for measures there that are monotone in both rates, such as
            the detection cost: the ends of a box that contains both.
        ``"fiducial"``
            For areas, average precision and other measures that never fall where the ROC curve
            rises: quantiles over random curves that enclose that of the population, from the exact
            distribution of the rates at all ranks. Wide where few samples lie beyond an operating
            point, and valid there.
        ``"bootstrap"``, ``"basic"``
            Percentile and basic bootstrap, for every measure.
        ``"bca"``
            Bias-corrected and accelerated bootstrap, for smooth measures.
        ``"auto"``
            The method with the narrowest intervals of those with sufficient coverage on generated
            data with no more samples of either class, or beyond the operating point, over five
            families of scores; warns where none covered the true value in 92 % of the samples.
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
        [5]), or ``"bootstrap"`` of whole clusters, all with Student's quantiles.
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
    InvalidInputError
        If an argument is not as described; the message says which and where.
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
    Scores are ordered once, in O(n log n); a replicate takes O(n). Everything else is O(n). All
    samples are assumed to be independent, unless ``clusters`` or ``blocks`` say otherwise; then
    the result's ``sampling`` says what they are worth. Fewer than 10 clusters or blocks are
    refused, and of fewer than 30 a warning is given. An area under the ROC curve of 1 gets an
    interval too: a lower bound from disjoint pairs of samples (method ``"pairs"``).

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
    0.9200 [0.8716, 0.9684]
    """
    bound, options = check_interval(
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
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        scores = check_scores(y_score, labels)
        design = check_design(clusters, blocks, labels.n_rows)
        if not needs_design(design, labels):
            return interval_of(count_scores(scores, labels), bound, options, report)
        sample = DesignedSample.of(scores, labels, design)
        return _interval_of_design(sample, bound, options, report)


@dataclass(frozen=True, slots=True, eq=False)
class IntervalOptions:
    """Options of an interval, checked.

    Attributes
    ----------
    method : str
        One of the methods, or "auto".
    level : Fraction
        Confidence level.
    n_resamples, stratified, key
        Of a bootstrap; the key is that of its random numbers.
    contamination : (Fraction, Fraction)
        Lowest and highest fraction of anomalies hidden among the normals.
    """

    method: str
    level: Fraction
    n_resamples: int
    stratified: bool
    key: np.uint64
    contamination: tuple[Fraction, Fraction] = NOTHING_HIDDEN

    @property
    def alpha(self) -> float:
        """Nominal probability that the interval does not cover the true value."""
        return float(1 - self.level)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A measure with its value on the data, and the method for its interval.

    Attributes
    ----------
    coverage : float or None
        Coverage of the method on generated data, where it was selected by that.
    """

    bound: BoundMeasure
    value: float
    method: str
    coverage: float | None = None


def check_interval_options(
    method: str,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    *,
    stratified: bool = True,
) -> IntervalOptions:
    """Check the options of an interval."""
    return IntervalOptions(
        check_choice(method, ("auto", *METHODS), "method"),
        check_inside(confidence_level, "confidence_level"),
        check_count(n_resamples, "n_resamples"),
        check_flag(stratified, "stratified"),
        random_key(rng),
    )


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
) -> tuple[BoundMeasure, IntervalOptions]:
    """Check all arguments of `interval` but the data."""
    bound = bind(measure, parameters, interval)
    options = check_interval_options(
        method, confidence_level, n_resamples, rng, stratified=stratified
    )
    if contamination is not None:
        options = replace(options, contamination=check_contamination_range(contamination))
    check_method(options.method, corrected(bound, options.contamination[1]))
    return bound, options


def interval_of(
    counts: OrderedCounts,
    bound: BoundMeasure,
    options: IntervalOptions,
    progress: Progress | None = None,
) -> Interval:
    """Return the interval of one measure; warn if it is unreliable.

    For a function that users call: the warning names the line that called it.
    """
    if options.contamination == NOTHING_HIDDEN:
        result = intervals_of(counts, [bound], options, progress)[0]
        if isinstance(result, UndefinedMeasureError):
            raise result
    else:
        check_drawable(counts)
        result = interval_over(
            counts,
            bound,
            options.contamination,
            lambda measures: intervals_of(counts, measures, options, progress),
        )
    if result.reliability_note is not None:
        warnings.warn(f"{bound.key}: {result.reliability_note}", LowCoverageWarning, stacklevel=3)
    return result


def _interval_of_design(
    sample: DesignedSample,
    bound: BoundMeasure,
    options: IntervalOptions,
    progress: Progress | None,
) -> Interval:
    """Return the interval of one measure of a sampling design; warn if it is unreliable."""
    if options.contamination != NOTHING_HIDDEN:
        raise InvalidInputError(
            "contamination must not be given for samples in clusters or in time, or with real "
            "weights; found both",
            argument="contamination",
        )
    check_method_of_design(options.method, bound)
    result = intervals_of_sample(sample, [bound], options, progress)[0]
    if isinstance(result, UndefinedMeasureError):
        raise result
    if result.reliability_note is not None:
        warnings.warn(f"{bound.key}: {result.reliability_note}", LowCoverageWarning, stacklevel=4)
    return result


def intervals_of_sample(
    sample: DesignedSample,
    measures: Sequence[BoundMeasure],
    options: IntervalOptions,
    progress: Progress | None = None,
) -> list[Interval | UndefinedMeasureError]:
    """Return intervals that allow for clusters, blocks or real weights."""
    return intervals_of_design(
        sample,
        measures,
        method=options.method,
        alpha=options.alpha,
        n_resamples=options.n_resamples,
        key=options.key,
        progress=progress,
    )


def intervals_of(
    counts: OrderedCounts,
    measures: Sequence[BoundMeasure],
    options: IntervalOptions,
    progress: Progress | None = None,
) -> list[Interval | UndefinedMeasureError]:
    """Return the interval of each measure, or why there is none; all share their replicates."""
    check_drawable(counts)
    tasks = [_task(counts, observed_area(bound), options) for bound in measures]
    drawn: dict[int, npt.NDArray[np.float64]] = {}
    resampled = [task for task in tasks if isinstance(task, Task) and task.method in RESAMPLING]
    enclosed = [task for task in tasks if isinstance(task, Task) and task.method == "fiducial"]
    n_parts = bool(resampled) + bool(enclosed)
    if resampled:
        resamples = plan(counts, options.n_resamples, options.key, stratified=options.stratified)
        values = replicate_values(
            Ranking(counts),
            [task.bound for task in resampled],
            resamples,
            part_of(progress, 0, n_parts),
        )
        drawn.update(zip(map(id, resampled), values, strict=True))
    if enclosed:
        curves = fiducial_values(
            counts,
            [task.bound for task in enclosed],
            options.n_resamples,
            options.key,
            part_of(progress, n_parts - 1, n_parts),
        )
        drawn.update(zip(map(id, enclosed), curves, strict=True))
    results = [
        task
        if isinstance(task, UndefinedMeasureError)
        else estimate_interval(counts, task, options, drawn.get(id(task)))
        for task in tasks
    ]
    return [
        interval_of_area(result, bound) if isinstance(result, Interval) else result
        for result, bound in zip(results, measures, strict=True)
    ]


def _task(
    counts: OrderedCounts, bound: BoundMeasure, options: IntervalOptions
) -> Task | UndefinedMeasureError:
    try:
        value = bound.value(counts)
    except UndefinedMeasureError as error:
        return error
    method, coverage = options.method, None
    if method == "auto":
        method, coverage = select_method(bound, counts)
    too_few = None
    if method not in _WITHOUT_VARIANCE:
        too_few = too_few_samples(
            f"an interval of {bound.key}", counts.n_anomalies, counts.n_normals
        )
    return too_few or Task(bound, value, method, coverage)


def estimate_interval(
    counts: OrderedCounts,
    task: Task,
    options: IntervalOptions,
    drawn: npt.NDArray[np.float64] | None,
) -> Interval | UndefinedMeasureError:
    """Return the interval of a measure, from its replicates where its method needs them."""
    n_resamples = n_undefined = 0
    if drawn is None:
        (low, high), standard_error = _closed_form(counts, task, options)
    elif task.method == "fiducial":
        n_resamples = drawn.shape[1]
        low, high = fiducial(task.bound, drawn, options.alpha)
        middle = drawn.mean(axis=0)
        standard_error = (
            float(np.std(middle[~np.isnan(middle)], ddof=1)) if n_resamples > 1 else math.nan
        )
    else:
        defined = drawn[~np.isnan(drawn)]
        n_resamples = drawn.shape[0]
        n_undefined = n_resamples - defined.shape[0]
        if 2 * n_undefined > n_resamples:
            return UndefinedMeasureError(
                f"an interval of {task.bound.key} needs the measure on resamples; it is "
                f"undefined on {n_undefined} of {n_resamples}"
            )
        low, high = _from_replicates(counts, task, defined, options.alpha)
        standard_error = float(np.std(defined, ddof=1)) if defined.shape[0] > 1 else math.nan
    method = task.method
    if low == high and task.bound.measure.name == "roc_auc":
        method, standard_error = "pairs", math.nan
        low, high = pairs_interval(task.value, counts, options.alpha)
    # Replicates and bounds of a biased measure may all lie on one side of it.
    return Interval(
        value=task.value,
        low=min(low, task.value),
        high=max(high, task.value),
        standard_error=standard_error,
        confidence_level=float(options.level),
        method=method,
        coverage=task.coverage,
        n_resamples=n_resamples,
        n_undefined=n_undefined,
    )


def _from_replicates(
    counts: OrderedCounts, task: Task, replicates: FloatVector, alpha: float
) -> Bounds:
    if task.method == "bca":
        skewness = acceleration(counts, influence(counts, task.bound))
        return bias_corrected(task.value, replicates, skewness, alpha)
    if task.method == "basic":
        low, high = basic(task.value, replicates, alpha)
        lowest, highest = task.bound.bounds
        return max(low, lowest), min(high, highest)
    return percentile(replicates, alpha)


def _closed_form(
    counts: OrderedCounts, task: Task, options: IntervalOptions
) -> tuple[Bounds, float]:
    """Return the ends of an interval that needs no replicates, and the standard error."""
    bound, value, alpha = task.bound, task.value, options.alpha
    if task.method == "inversion":
        return inversion(counts, bound, alpha), math.nan
    if task.method in BINOMIAL and has_box(bound):
        return box_interval(counts, bound, alpha), math.nan
    if task.method in BINOMIAL:
        confusion = confusion_at_threshold(counts, bound.parameters["threshold"])
        k, n = TRIALS[bound.measure.name](confusion)
        low, high = BINOMIAL[task.method](k, n, alpha)
        standard_error = math.sqrt(k * (n - k) / n) / n
        if bound.measure.name in OF_PROPORTION:
            value_of, slope = OF_PROPORTION[bound.measure.name]
            return (value_of(low, n), value_of(high, n)), standard_error * slope(k / n, n)
        return (low, high), standard_error
    if task.method == "newcombe":
        n, m = counts.n_anomalies, counts.n_normals
        return newcombe(value, n, m, alpha), math.sqrt(newcombe_variance(value, n, m))
    if task.method == "order":
        return order_interval(counts, bound, options.level), math.nan
    standard_error = math.sqrt(variance(counts, influence(counts, bound)))
    ends = plain_interval if task.method == "delong" else logit_interval
    return ends(value, standard_error, bound.bounds, alpha), standard_error

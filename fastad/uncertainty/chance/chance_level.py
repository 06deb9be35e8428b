"""``chance_level``: the distribution of a measure when the labels are permuted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fastad._core.floats import positive_p
from fastad._core.parameters import check_count
from fastad._core.progress import LATE, Progress, ProgressOption, reporting
from fastad._core.random import random_key
from fastad._core.results import Record
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, Blocks, FloatVector, Label
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count
from fastad.ordering.labels import check_labels, check_scores
from fastad.uncertainty.chance.null_distributions import (
    NullDistribution,
    moments,
    normal_approximation,
    null_distribution,
    sizes_of,
)
from fastad.uncertainty.chance.permutations import (
    drawn_values,
    enumerated,
    filled,
    labelled,
    values_by_chance,
)
from fastad.uncertainty.results import or_error
from fastad.uncertainty.samples.sampling import DesignedSample, Sample, check_design, sample_of

# Equal values may differ by rounding, some 1e-15 of the largest of them. Values this close to the
# observed one count as equal, which can only raise a p-value.
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class ChanceLevel(Record):
    """A value and its distribution by chance, when the labels are permuted.

    Attributes
    ----------
    value : float
        With the given labels.
    expected : float
        Mean over all permutations of the labels.
    standard_deviation : float
        Over all permutations of the labels.
    p_value : float
        Probability of a value at least as good; never 0, but at least 2.2e-308.
    adjusted : float
        ``(value - expected) / (best - expected)``: 1 for a perfect order, 0 at chance level,
        negative below it. NaN where the best value is the expected one, or undefined.
    method : {"exact", "normal", "permutation"}
        Whether the p-value comes from the exact distribution, from its normal approximation, or
        from drawn permutations.
    n_resamples : int
        Number of drawn permutations; 0 if none.
    undefined_fraction : float
        Fraction of the permutations on which the measure is undefined, which are left out.
    """

    value: float
    expected: float
    standard_deviation: float
    p_value: float
    adjusted: float
    method: Literal["exact", "normal", "permutation"]
    n_resamples: int
    undefined_fraction: float


def chance_level(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    measure: MeasureLike,
    n_resamples: int = 9999,
    rng: int | np.random.Generator | None = None,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
    **options: Any,
) -> ChanceLevel:
    """Chance level of a measure, the value adjusted for it, and a p-value.

    By chance means that the labels are permuted among the samples, all choices of as many
    anomalies being equally likely. Scores and their ties stay as they are. Of samples in clusters
    or in time, which are not exchangeable one by one, see ``clusters`` and ``blocks``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous: booleans, integers or floats of up to 64 bits,
        ordered as they are. Infinities are ordered, NaN is refused.
    measure : str, Measure or BoundMeasure
        Key, such as "auc" or "tpr@0.01", or name of a function that returns a number, with its
        operating point as an option: ``measure="tpr_at_fpr", fpr=0.01``; or a declaration.
    n_resamples : int, default 9999
        Permutations to draw, at least 1, where the exact distribution is unknown. A p-value is
        then at least ``1 / (1 + n_resamples)``. Where no more outcomes than that are possible, and
        up to 10 000 samples, all are enumerated instead.
    rng : int or numpy.random.Generator, optional
        Seed, or source of one; the same seed gives the same result with any number of threads.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, such as a user or a device. By chance means that the labels of a
        whole cluster, in the order of its rows and turned in a circle, are given to another cluster
        of the same size: clusters of a size are exchangeable, labels within one stationary, and
        independent of the scores [4].
    blocks : int or "auto", optional
        Mean length of blocks of samples that depend, where rows are in the order of time. By chance
        means that the series of labels is shifted in a circle against the scores: it is stationary,
        and independent of the scores [5]. The length decides only whether there
        are the ten blocks that are needed.
    sample_weight : array-like of shape (n_samples,), optional
        Integers: a weight k counts the row k times, 0 leaves it out. Labels beside other weights,
        and beside weights of clusters or blocks, are not exchangeable.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1; all other rows must share one label.
    n_threads : int, optional
        Threads over the permutations; by default the environment variable FASTAD_NUM_THREADS,
        else the processors that the process may use.
    progress : callable or True, optional
        True draws a bar after a second, where rich or tqdm is installed. A function is called with
        the numbers of permutations done and to be done, about ten times a second.
    **options
        Operating point and options of the measure.

    Returns
    -------
    ChanceLevel
        ``value``, ``expected``, ``standard_deviation``, ``p_value``, ``adjusted``, and the
        ``method``.

    Raises
    ------
    UndefinedMeasureError
        If the measure is undefined on the data, or on more than half of the permutations; if there
        are fewer than 10 clusters or blocks, or no clusters of one size have different labels; if
        weights are not integers, or stand beside clusters or blocks.

    Notes
    -----
    A permutation takes O(n) time for n samples, a thread O(n) memory. For the area under the ROC
    curve of many samples the normal approximation is used instead, where each class has at least 50
    samples and no more than a twentieth of all samples share a score.

    References
    ----------
    .. [1] G. O. Campos et al., "On the evaluation of unsupervised outlier detection", Data Mining
       and Knowledge Discovery 30, 2016 (adjustment for chance).
    .. [2] Y. Bestgen, "Exact expected average precision of the random baseline for system
       evaluation", Prague Bulletin of Mathematical Linguistics 103, 2015.
    .. [3] B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", Statistical
       Applications in Genetics and Molecular Biology 9, 2010.
    .. [4] A. M. Winkler et al., "Multi-level block permutation", NeuroImage 123, 2015 (whole-block
       exchangeability).
    .. [5] H. W. Lotwick and B. W. Silverman, "Methods for analysing spatial processes of several
       types of points", Journal of the Royal Statistical Society B 44, 1982 (shifts of one pattern
       against another).

    Examples
    --------
    >>> import fastad
    >>> level = fastad.chance_level([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], measure="auc")
    >>> level.value, level.expected, level.adjusted, round(level.p_value, 12)
    (0.75, 0.5, 0.5, 0.333333333333)
    """
    bound = bind(measure, options, chance_level)
    n_drawn = check_count(n_resamples, "n_resamples")
    key = random_key(rng)
    with thread_limit(n_threads), reporting(progress, "permutations", after=LATE) as report:
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        scores = check_scores(y_score, labels)
        design = check_design(clusters, blocks, labels)
        sample = sample_of(scores, labels, design)
        return chance_of(sample, bound, n_resamples=n_drawn, key=key, progress=report)


def chance_of(
    sample: Sample,
    bound: BoundMeasure,
    *,
    n_resamples: int,
    key: np.uint64,
    progress: Progress | None = None,
) -> ChanceLevel:
    """Return the chance level of one measure, or raise where it has none."""
    (level,) = chances_of(sample, [bound], n_resamples=n_resamples, key=key, progress=progress)
    if isinstance(level, UndefinedMeasureError):
        raise level
    return level


def chances_of(
    sample: Sample,
    measures: Sequence[BoundMeasure],
    *,
    n_resamples: int,
    key: np.uint64,
    progress: Progress | None = None,
) -> list[ChanceLevel | UndefinedMeasureError]:
    """Return the chance level of each measure, or why it has none.

    The sample counts the whole curve; an integer weight k counts as k samples, each with a label of
    its own. Labels of clusters are exchanged as a whole, labels of a series are shifted. The key
    determines the permutations, which all measures share; each gets the result that it would get
    alone.
    """
    counts = sample.counts
    levels: list[ChanceLevel | UndefinedMeasureError | None]
    one_by_one = sample.kind in (None, "weights")
    if isinstance(sample, DesignedSample) and not one_by_one:
        levels = [None] * len(measures)
        shared = or_error(values_by_chance, sample, measures, n_resamples, key, progress)
        if isinstance(shared, UndefinedMeasureError):
            return [shared] * len(measures)
        values, n_drawn = shared
    else:
        levels = [or_error(_without_draws, counts, bound, n_resamples) for bound in measures]
        remaining = [bound for bound, level in zip(measures, levels, strict=True) if level is None]
        values, n_drawn = drawn_values(counts, remaining, n_resamples, key, progress), n_resamples
    drawn = (NullDistribution(row, np.full(row.shape[0], 1 / row.shape[0])) for row in values)
    return [
        or_error(_from_distribution, counts, bound, next(drawn), n_drawn, one_by_one=one_by_one)
        if level is None
        else level
        for bound, level in zip(measures, levels, strict=True)
    ]


def _without_draws(
    counts: OrderedCounts, bound: BoundMeasure, n_resamples: int
) -> ChanceLevel | None:
    """Return the level where it is known in closed form; None where permutations must be drawn."""
    if counts.weighting == "real":
        raise UndefinedMeasureError(
            "the chance level is undefined for sample weights that are not integers: "
            "their labels are not exchangeable"
        )
    value = _value(counts, bound)
    exact = null_distribution(counts, bound) or enumerated(counts, bound, n_resamples + 1)
    if exact is not None:
        return _from_distribution(counts, bound, exact)
    normal = normal_approximation(counts, bound)
    if normal is None:
        return None
    return ChanceLevel(
        value=value,
        expected=normal.expected,
        standard_deviation=normal.standard_deviation,
        p_value=positive_p(normal.at_least(value)),
        adjusted=_adjusted(value, normal.expected, _best(counts, bound)),
        method="normal",
        n_resamples=0,
        undefined_fraction=0.0,
    )


def _from_distribution(
    counts: OrderedCounts,
    bound: BoundMeasure,
    distribution: NullDistribution,
    n_drawn: int = 0,
    *,
    one_by_one: bool = True,
) -> ChanceLevel:
    """Compare the value with a distribution, which is exact unless permutations were drawn.

    Moments are known where the labels are permuted one by one.
    """
    value = _value(counts, bound)
    undefined = np.isnan(distribution.values)
    undefined_fraction = math.fsum(distribution.probabilities[undefined])
    if undefined_fraction > 0.5:
        raise UndefinedMeasureError(
            f"the chance level of {bound.key} is undefined: more than half of the "
            "permutations of the labels have no value"
        )
    values = distribution.values[~undefined]
    probabilities = distribution.probabilities[~undefined]
    probabilities = probabilities / math.fsum(probabilities)
    tolerance = _TOLERANCE * max(abs(value), float(np.max(np.abs(values))))
    if bound.measure.higher_is_better is False:
        better = values <= value + tolerance
    else:
        better = values >= value - tolerance
    if n_drawn:
        p_value = (1 + int(np.count_nonzero(better))) / (1 + values.shape[0])
    else:
        p_value = positive_p(min(math.fsum(probabilities[better]), 1.0))
    expected, deviation = _mean_and_deviation(values, probabilities)
    exact = moments(counts, bound) if one_by_one else None
    if exact is not None:
        expected = exact.expected
        if exact.standard_deviation is not None:
            deviation = exact.standard_deviation
    return ChanceLevel(
        value=value,
        expected=expected,
        standard_deviation=deviation,
        p_value=p_value,
        adjusted=_adjusted(value, expected, _best(counts, bound)),
        method="permutation" if n_drawn else "exact",
        n_resamples=n_drawn,
        undefined_fraction=undefined_fraction,
    )


def _value(counts: OrderedCounts, bound: BoundMeasure) -> float:
    value = bound.value(counts)
    if math.isnan(value):
        raise UndefinedMeasureError(f"{bound.key} is undefined for these data")
    return value


def _mean_and_deviation(values: FloatVector, probabilities: FloatVector) -> tuple[float, float]:
    # Relative to one value, so that equal values have a deviation of exactly 0.
    differences = values - values[0]
    mean = math.fsum(differences * probabilities)
    return float(values[0] + mean), math.sqrt(math.fsum((differences - mean) ** 2 * probabilities))


def _adjusted(value: float, expected: float, best: float) -> float:
    distance = best - expected
    if not abs(distance) > _TOLERANCE * max(abs(best), abs(expected)):
        return math.nan
    return (value - expected) / distance


def _best(counts: OrderedCounts, bound: BoundMeasure) -> float:
    """Return the value of a perfect order, NaN where it is undefined.

    For measures of the order: all scores distinct. A detector whose ties keep it from a perfect
    order must not be excused for them, and without ties no order of as many samples is better by
    any measure of the registry (a test covers all). For measures of the scores' values, or at a
    threshold: the anomalies have the highest of the given scores.
    """
    n, total = int(counts.n_anomalies), int(counts.total)
    try:
        if bound.measure.reads_values:
            sizes = sizes_of(counts)
            return bound.value(labelled(counts, sizes, filled(sizes, n)))
        order = np.arange(total)
        return bound.value(count(order >= total - n, order))
    except UndefinedMeasureError:
        return math.nan

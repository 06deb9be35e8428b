"""``noninferiority``, ``equivalence``, ``at_least``: tests of margins and limits."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fastad._core.floats import positive_p
from fastad._core.parameters import (
    N_RESAMPLES,
    check_generator,
    check_inside,
    check_positive,
    exact_number,
    refuse_given,
    short_repr,
)
from fastad._core.progress import LATE, ProgressOption, reporting
from fastad._core.random import random_key
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, Blocks, Label, Point
from fastad.errors import InvalidInputError
from fastad.measures.contamination import (
    check_contamination,
    corrected,
    observed_area,
    refuse_impossible,
    refuse_unidentified,
)
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.requests import bind
from fastad.ordering.counts import count_scores
from fastad.ordering.hidden import ContaminatedCounts
from fastad.ordering.labels import check_labels, check_scores, series_names
from fastad.uncertainty.comparisons.margin_results import MarginTest
from fastad.uncertainty.comparisons.one_sided import (
    OneSidedTests,
    paired_tests,
    unpaired_tests,
    value_tests,
)
from fastad.uncertainty.comparisons.pair_comparison import named_value
from fastad.uncertainty.comparisons.pair_estimates import (
    check_comparison_options,
    range_of_difference,
)
from fastad.uncertainty.comparisons.paired import Detectors, rank_detectors
from fastad.uncertainty.comparisons.rate_margins import RATES
from fastad.uncertainty.comparisons.unpaired import Pair, Sample
from fastad.uncertainty.intervals.interval_estimation import InferenceOptions
from fastad.uncertainty.results import largest_effect, warn_if_noted
from fastad.uncertainty.samples.sampling import check_design, refuse_contamination, sample_of

Range = tuple[float, float]

# Farther than a number that a measure can be, in units of the estimate.
_BEYOND = 1e6


def noninferiority(
    y_true: ArrayLike | tuple[ArrayLike, ArrayLike],
    new: ArrayLike,
    old: ArrayLike,
    *,
    measure: MeasureLike,
    margin: Point,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    contamination: Point | None = None,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
    **operating_point: Any,
) -> MarginTest:
    """Test whether a new detector is worse than the old one by less than a margin.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,), or a pair of them
        1 for an anomaly, 0 for a normal sample, or booleans. A pair has the labels of two
        independent samples, such as two weeks: the new detector's, and the old one's.
    new, old : array-like of shape (n_samples,)
        Anomaly scores, higher is more anomalous, each in a unit of its own.
    measure : str, Measure or BoundMeasure
        The measure: a key, or a name with its operating point, as for `compare`.
    margin : float
        The largest acceptable loss in the measure, above 0 and below its range.
    confidence_level : float, default 0.95
        Confidence level of each bound, in (0.5, 1).
    n_resamples, rng : optional
        As for `compare`.
    contamination : float, optional
        Fraction of anomalies among the samples that are labelled normal, as for `interval`.
    clusters, blocks, sample_weight, pos_label, n_threads, progress : optional
        As for `compare`; independent samples have no clusters, blocks or weights.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    MarginTest
        Difference new - old with its bounds, the p-value, and the ``verdict``: ``"pass"`` where
        the loss is significantly less than the margin, ``"fail"`` where it is significantly more,
        else ``"not enough data"``.

    Raises
    ------
    UndefinedMeasureError
        If the measure is undefined, or too few samples, clusters or blocks have a variance.

    Warns
    -----
    LowCoverageWarning
        If it is not known how reliable the test is; there is no other verdict than "not enough
        data" then.

    Notes
    -----
    Rates of all anomalies or normal samples at a threshold have an exact test (unconditional; the
    normal distribution of its statistic where both kinds of events, or both samples, have about a
    hundred). Smooth measures have Student's test with the influences of both, or Hall's form of it
    that allows for skewness, whichever rejects less; other measures shifted replicates. Independent
    samples have the methods of `compare_independent`, and for smooth measures Student's test beside
    them. All but the exact tests also allow for a kind of anomalies that the new detector misses
    and the samples lack: where losing a fraction q of the anomalies would cost the margin, the
    p-value is at least (1 - q)^n_anomalies. So few anomalies never pass a small margin, although
    both detectors may rank them alike.

    References
    ----------
    .. [1] I. S. F. Chan, "Exact tests of equivalence and efficacy with a non-zero lower bound for
       comparative studies", Statistics in Medicine 17, 1998.
    .. [2] R. L. Berger and D. D. Boos, "P values maximized over a confidence set for the nuisance
       parameter", Journal of the American Statistical Association 89, 1994.
    .. [3] P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical
       Society B 54, 1992.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 500 + [1] * 100
    >>> old = [*range(500), *range(400, 500)]
    >>> new = [*range(500), *range(402, 502)]
    >>> fastad.uncertainty.noninferiority(labels, new, old, measure="auc", margin=0.05).verdict
    'pass'
    """
    bound = bind(measure, operating_point, noninferiority)
    options = check_test_options(bound, confidence_level, n_resamples, rng)
    accepted = range_of_margin(bound, margin)
    rows = Rows(clusters, blocks, sample_weight, pos_label)
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        samples = read_samples(y_true, new, old, rows, options.key)
        options = replace(options, progress=report)
        return _warned(margin_test(samples, bound, accepted, options, contamination))


def equivalence(
    y_true: ArrayLike | tuple[ArrayLike, ArrayLike],
    new: ArrayLike,
    old: ArrayLike,
    *,
    measure: MeasureLike,
    margin: Point,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    contamination: Point | None = None,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
    **operating_point: Any,
) -> MarginTest:
    """Test whether two detectors differ by less than a margin, in either direction.

    Two one-sided tests: each at the confidence level, so that the bounds are those of an interval
    at 90 % for 95 %.

    Parameters
    ----------
    y_true, new, old, measure : optional
        As for `noninferiority`.
    margin : float
        The largest acceptable difference in the measure, above 0 and below its range.
    confidence_level, n_resamples, rng, contamination, clusters, blocks, sample_weight : optional
        As for `noninferiority`.
    pos_label, n_threads, progress, **operating_point : optional
        As for `noninferiority`.

    Returns
    -------
    MarginTest
        ``"pass"`` where the difference is significantly within the margin, ``"fail"`` where it is
        significantly beyond it on one side, else ``"not enough data"``.

    Raises
    ------
    UndefinedMeasureError
        As for `noninferiority`.

    Warns
    -----
    LowCoverageWarning
        As for `noninferiority`.

    References
    ----------
    .. [1] D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power
       approach for assessing the equivalence of average bioavailability", Journal of
       Pharmacokinetics and Biopharmaceutics 15, 1987.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 500 + [1] * 100
    >>> old = [*range(500), *range(400, 500)]
    >>> new = [*range(500), *range(402, 502)]
    >>> fastad.uncertainty.equivalence(labels, new, old, measure="auc", margin=0.05).verdict
    'pass'
    """
    bound = bind(measure, operating_point, equivalence)
    options = check_test_options(bound, confidence_level, n_resamples, rng)
    accepted = range_of_margin(bound, margin, both=True)
    rows = Rows(clusters, blocks, sample_weight, pos_label)
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        samples = read_samples(y_true, new, old, rows, options.key)
        options = replace(options, progress=report)
        return _warned(margin_test(samples, bound, accepted, options, contamination))


def at_least(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    measure: MeasureLike,
    value: Point,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    contamination: Point | None = None,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
    **operating_point: Any,
) -> MarginTest:
    """Test whether a detector is at least as good as a value of a measure.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    measure : str, Measure or BoundMeasure
        The measure: a key, or a name with its operating point, as for `interval`.
    value : float
        The lowest acceptable value, within the measure's range; the highest one of measures of
        which less is better, such as a false positive rate.
    confidence_level, n_resamples, rng, contamination, clusters, blocks, sample_weight : optional
        As for `noninferiority`.
    pos_label, n_threads, progress, **operating_point : optional
        As for `noninferiority`.

    Returns
    -------
    MarginTest
        Value with its bounds, the ends of `interval` at 90 % for 95 %, or farther out where each
        end by itself would miss more often; ``"pass"`` where it is significantly better than the
        limit, ``"fail"`` where it is significantly worse.

    Raises
    ------
    UndefinedMeasureError
        If the measure or its interval is undefined.

    Warns
    -----
    LowCoverageWarning
        If it is not known how reliable the interval is.

    Examples
    --------
    >>> import fastad
    >>> labels, flagged = [0] * 200, [1] * 3 + [0] * 197
    >>> result = fastad.uncertainty.at_least(labels, flagged, measure="fpr@threshold1", value=0.05)
    >>> result.verdict, round(result.high, 3)
    ('pass', 0.038)
    """
    bound = bind(measure, operating_point, at_least)
    options = check_test_options(bound, confidence_level, n_resamples, rng)
    accepted = range_of_limit(bound, value)
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        scores = check_scores(y_score, labels)
        design = check_design(clusters, blocks, labels)
        names = series_names([y_score], ["new"])
        samples = Detectors(labels, names, names, [sample_of(scores, labels, design)])
        options = replace(options, progress=report)
        return _warned(margin_test(samples, bound, accepted, options, contamination))


class Rows(NamedTuple):
    """How rows depend on each other, what they stand for, and which are anomalies."""

    clusters: Any = None
    blocks: Any = None
    sample_weight: Any = None
    pos_label: Label | None = None


def check_test_options(
    bound: BoundMeasure,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
) -> InferenceOptions:
    """Check the options of a test; return those of the interval whose ends are its bounds."""
    level = check_inside(confidence_level, "confidence_level")
    if level <= Fraction(1, 2):
        raise InvalidInputError(
            f"confidence_level must lie above 0.5; found {short_repr(confidence_level)}"
        )
    return check_comparison_options(bound, {}, "auto", 2 * level - 1, n_resamples, rng)


def range_of_margin(
    bound: BoundMeasure, margin: Point, name: str = "margin", *, both: bool = False
) -> Range:
    """Check a margin; return the differences that are not worse by it, or by it either way."""
    checked, largest = check_positive(margin, name), range_of_difference(bound)
    if checked >= largest:
        raise InvalidInputError(
            f"{name} must be below {largest:g}, the largest difference in {bound.key}; "
            f"found {short_repr(margin)}"
        )
    x, is_better = float(checked), bound.measure.higher_is_better
    return -x if both or is_better else -math.inf, x if both or not is_better else math.inf


def range_of_limit(bound: BoundMeasure, value: Point, name: str = "value") -> Range:
    """Check the worst acceptable value; return the range of those that are acceptable."""
    limit, (low, high) = exact_number(value, name), bound.bounds
    if not low <= limit <= high:
        raise InvalidInputError(
            f"{name} must lie in [{low:g}, {high:g}], the range of {bound.key}; "
            f"found {short_repr(value)}"
        )
    x = float(limit)
    return (x, math.inf) if bound.measure.higher_is_better else (-math.inf, x)


def read_samples(
    y_true: Any, new: ArrayLike, old: ArrayLike, rows: Rows, key: np.uint64
) -> Detectors | Pair:
    """Order the scores of two detectors on the same samples, or of two independent samples."""
    scores, arguments = (new, old), ("new", "old")
    names = series_names(scores, arguments)
    is_pair = isinstance(y_true, tuple | list) and len(y_true) == 2
    if not is_pair or np.ndim(y_true[0]) == 0:
        labels = check_labels(y_true, sample_weight=rows.sample_weight, pos_label=rows.pos_label)
        design = check_design(rows.clusters, rows.blocks, labels)
        return rank_detectors(labels, list(zip(names, arguments, scores, strict=True)), design)
    names_of_pairs = ("clusters", "blocks", "sample_weight")
    refuse_given(
        {name: getattr(rows, name) for name in names_of_pairs},
        "for two independent samples, each with labels of its own",
        found="both",
    )
    sides = []
    for of_side, each, name in zip(y_true, scores, arguments, strict=True):
        labels = check_labels(of_side, pos_label=rows.pos_label)
        checked = check_scores(each, labels, name=name)
        sides.append(Sample(labels, checked, count_scores(checked, labels, name)))
    generator = check_generator(int(key))
    keys = random_key(generator), random_key(generator)
    return Pair((sides[0], sides[1]), (names[0], names[1]), keys)


def margin_test(
    samples: Detectors | Pair,
    bound: BoundMeasure,
    accepted: Range,
    options: InferenceOptions,
    contamination: Point | None = None,
) -> MarginTest:
    """Test the difference of two detectors, or the value of one, whose scores are in order."""
    bound, values, tests = one_sided_tests(samples, bound, options, contamination)
    sides = [side for side, end in enumerate(accepted) if not math.isinf(end)]
    outside = max(tests.p_value(accepted[side], side) for side in sides)
    inside = min(tests.p_value(accepted[side], 1 - side) for side in sides)
    alpha = options.alpha / 2
    if tests.n_resamples and tests.note is None and min(outside, inside) > alpha:
        # The p-value of a number that is farther than any replicate.
        reach = _BEYOND * (1 + abs(tests.estimate))
        if min(tests.p_value((2 * side - 1) * reach, side) for side in (0, 1)) > alpha:
            text = f"{tests.n_resamples} replicates are too few for any verdict at this level"
            tests = replace(tests, note=text)
    if isinstance(samples, Detectors):
        sizes = [(samples.n_anomalies, samples.n_normals)] * len(samples.samples)
    else:
        sizes = [(int(each.n_anomalies), int(each.n_normals)) for each in samples.counts]
    return MarginTest(
        measure=bound.key,
        names=tuple(samples.names),
        values=tuple(values),
        estimate=tests.estimate,
        low=tests.ends[0],
        high=tests.ends[1],
        accepted=accepted,
        p_value=positive_p(outside),
        # Two numbers that may be rejected (Bonferroni); it lies beyond one of them at most.
        p_value_inside=positive_p(min(1.0, len(sides) * inside)),
        confidence_level=float((1 + options.level) / 2),
        method=tests.method,
        higher_is_better=bool(bound.measure.higher_is_better),
        n_anomalies=tuple(of_anomalies for of_anomalies, _ in sizes),
        n_normals=tuple(of_normals for _, of_normals in sizes),
        reliability_note=tests.note,
        n_resamples=tests.n_resamples,
        n_undefined=tests.n_undefined,
        sampling=largest_effect(
            each.effect() for each in (samples.samples if isinstance(samples, Detectors) else ())
        ),
    )


def one_sided_tests(
    samples: Detectors | Pair,
    bound: BoundMeasure,
    options: InferenceOptions,
    contamination: Point | None,
) -> tuple[BoundMeasure, list[float], OneSidedTests]:
    """Return the measure corrected for hidden anomalies, its values, and the tests."""
    counts = [each.counts for each in samples.samples]
    fraction = check_contamination(0 if contamination is None else contamination)
    if isinstance(samples, Detectors):
        refuse_contamination(samples.samples[0], fraction)
    for each in counts if fraction else ():
        refuse_impossible(each, fraction)
        refuse_unidentified(ContaminatedCounts.of(each, fraction), bound.measure, bound.parameters)
    bound = corrected(bound, fraction)
    if len(counts) == 1 and isinstance(samples, Detectors):
        tests = value_tests(samples.samples[0], bound, options)
        return bound, [tests.estimate], tests
    names = samples.score_names if isinstance(samples, Detectors) else ("new", "old")
    values = [named_value(bound, *each) for each in zip(counts, names, strict=True)]
    # The area is a linear function of the observed one.
    observed = observed_area(bound)
    at_counts = values if observed is bound else [observed.value(each) for each in counts]
    if isinstance(samples, Detectors):
        # A rate of independent samples has an exact test, also of one class.
        if bound.measure.name not in RATES or samples.samples[0].kind is not None:
            samples.samples[0].refuse(f"a test of {bound.key}")
        tests = paired_tests(samples, observed, options, at_counts)
    else:
        tests = unpaired_tests(samples, observed, options, at_counts)
    return bound, values, tests if observed is bound else tests.scaled(1 / (1 - float(fraction)))


def _warned(result: MarginTest) -> MarginTest:
    warn_if_noted(result.measure, result.reliability_note)
    return result

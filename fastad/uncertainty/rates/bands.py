"""Confidence bands of the ROC and the precision-recall curve, from exact distributions."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastad._core.buffers import ReusedBuffers
from fastad._core.parameters import check_flag, check_inside, check_prevalence, check_rates
from fastad._core.types import (
    ArrayLike,
    Blocks,
    Count,
    FloatVector,
    Label,
    Point,
    Points,
    ScoreVector,
)
from fastad.measures.points import exact, first_reaching, height, need_both
from fastad.measures.results import Curve
from fastad.measures.roc import TPR_AT_FPR
from fastad.ordering.counts import OrderedCounts, count_scores
from fastad.ordering.labels import Labels, check_labels, check_scores
from fastad.uncertainty.rates.order_statistics import (
    EffectiveRanks,
    rank_above,
    rank_below,
    ranks_around,
    rate_bounds,
)
from fastad.uncertainty.samples.effective_size import (
    doubled_up_to_half,
    effective_size,
    warn_of_few,
)
from fastad.uncertainty.samples.sampling import (
    INDEPENDENT,
    DesignedSample,
    SamplingDesign,
    check_design,
    needs_design,
)

# Numbers of points of a grid, evenly and logarithmically spaced.
_EVEN = 100
_LOGARITHMIC = 100
# A rate with fewer samples beyond it says nothing of how the samples of a cluster depend.
_FEWEST_BEYOND = 20
_BELOW_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RocBand(Curve):
    """Confidence band of a receiver operating characteristic.

    Attributes
    ----------
    fpr : numpy.ndarray of shape (n_points,)
        False positive rates.
    tpr : numpy.ndarray of shape (n_points,)
        True positive rates of the interpolated curve there, as `fastad.tpr_at_fpr`.
    low, high : numpy.ndarray of shape (n_points,)
        Bounds on the true positive rates of the population.
    confidence_level : float
        Lower bound on the probability that the bounds hold.
    simultaneous : bool
        Whether they hold at all false positive rates at once, or at each by itself.
    """

    fpr: FloatVector
    tpr: FloatVector
    low: FloatVector
    high: FloatVector
    confidence_level: float
    simultaneous: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PrecisionRecallBand(Curve):
    """Confidence band of a precision-recall curve.

    Attributes
    ----------
    recall : numpy.ndarray of shape (n_points,)
        Recalls.
    precision : numpy.ndarray of shape (n_points,)
        Precision of the interpolated curve there, whose area is `fastad.measures.pr_auc`.
    low, high : numpy.ndarray of shape (n_points,)
        Bounds on the precision in the population.
    confidence_level : float
        Lower bound on the probability that the bounds hold.
    simultaneous : bool
        Whether they hold at all recalls at once, or at each by itself.
    """

    recall: FloatVector
    precision: FloatVector
    low: FloatVector
    high: FloatVector
    confidence_level: float
    simultaneous: bool


def roc_band(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point | Points | None = None,
    simultaneous: bool = False,
    confidence_level: Point = 0.95,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> RocBand:
    """Confidence band of the ROC curve, without assumptions on the scores' distribution.

    Bounds on the curve of the population from which the samples are drawn. At an FPR below 1 the
    band has a width, also where the empirical curve is at 0 or at 1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous, of samples that the detector was not fitted to.
    fpr : float or sequence of floats, optional
        False positive rates in [0, 1]; by default about 200, evenly and logarithmically spaced.
    simultaneous : bool, default False
        Whether the whole curve lies in the band with the confidence, or each of its points.
    confidence_level : float, default 0.95
        Probability, over the draw of the samples, that the bounds hold; in (0, 1).
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, such as a user or a device, where samples of one cluster depend.
    blocks : int or "auto", optional
        Mean length of blocks of samples that depend, where rows are in the order of time.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, integers repeat rows, others are weights of
        sampling, inverse to the probability with which a row was chosen.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    RocBand
        ``fpr``, ``tpr``, and the bounds ``low`` and ``high``.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, or in fewer than 10 clusters or blocks.

    Warns
    -----
    LowCoverageWarning
        If a class is in fewer than 50 clusters or blocks, or as few by size.

    Notes
    -----
    Samples must be independent, unless ``clusters`` or ``blocks`` say otherwise, and identically
    distributed within their class. The confidence is at least as given, and higher with ties.

    In clusters, series and with real weights each class counts as its effective number of samples
    [4], which follows from the variance of the rates between clusters or blocks and has a
    correction for few of them. As the classes may depend on each other, each has half of the
    probability that a bound fails. This is approximate, and was measured to be conservative.
    O(n log n) time. A simultaneous band takes some 0.4 s more and 50 MB once for new sizes of the
    classes; it is the same in every run.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated
       in the case of the binomial", 1934.
    .. [2] S. Aldor-Noiman et al., "The power to see: a new graphical test of normality", 2013.
    .. [3] G. Campbell, "Advances in statistical methodology for the evaluation of diagnostic and
       laboratory tests", 1994, on bands from both classes.
    .. [4] E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected
       number of positive counts estimated from survey data", Survey Methodology 24, 1998.

    Examples
    --------
    >>> import fastad
    >>> band = fastad.uncertainty.roc_band([0] * 50 + [1] * 50, range(100), fpr=[0.0, 0.1])
    >>> band.tpr, band.low.round(3)
    (array([1., 1.]), array([0.   , 0.929]))
    """
    rates = None if fpr is None else check_rates(fpr, "fpr")
    at_once = check_flag(simultaneous, "simultaneous")
    level = check_inside(confidence_level, "confidence_level")
    with ReusedBuffers():
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        scores = check_scores(y_score, labels)
        design = check_design(clusters, blocks, labels)
        counts, ranks = count_with_ranks(scores, labels, level, design)
        return roc_band_of(counts, rates, simultaneous=at_once, confidence_level=level, ranks=ranks)


def precision_recall_band(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    recall: Point | Points | None = None,
    simultaneous: bool = False,
    confidence_level: Point = 0.95,
    prevalence: Point | None = None,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> PrecisionRecallBand:
    """Confidence band of the precision-recall curve, from exact distributions as `roc_band`.

    Bounds on the precision in the population at a recall. The prevalence of anomalies is taken as
    known: the prevalence in the samples, or ``prevalence``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous, of samples that the detector was not fitted to.
    recall : float or sequence of floats, optional
        Recalls in [0, 1]; by default 0, 0.005, …, 1.
    simultaneous : bool, default False
        Whether the whole curve lies in the band with the confidence, or each of its points.
    confidence_level : float, default 0.95
        Probability, over the draw of the samples, that the bounds hold; in (0, 1).
    prevalence : float, optional
        Fraction of anomalies, in (0, 1), to which the classes are weighted; by default as they
        are.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, such as a user or a device, where samples of one cluster depend.
    blocks : int or "auto", optional
        Mean length of blocks of samples that depend, where rows are in the order of time.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, integers repeat rows, others are weights of
        sampling, inverse to the probability with which a row was chosen.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    PrecisionRecallBand
        ``recall``, ``precision``, and the bounds ``low`` and ``high``.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, or in fewer than 10 clusters or blocks.

    Warns
    -----
    LowCoverageWarning
        If a class is in fewer than 50 clusters or blocks, or as few by size.

    Notes
    -----
    At recall 0, where no sample bounds the precision, the band is [0, 1]. Time and memory are those
    of `roc_band`.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated
       in the case of the binomial", 1934.
    .. [2] S. Aldor-Noiman et al., "The power to see: a new graphical test of normality", 2013.

    Examples
    --------
    >>> import fastad
    >>> band = fastad.uncertainty.precision_recall_band([0] * 50 + [1] * 50, range(100), recall=0.5)
    >>> band.precision, band.low.round(3)
    (array([1.]), array([0.875]))
    """
    rates = None if recall is None else check_rates(recall, "recall")
    at_once = check_flag(simultaneous, "simultaneous")
    level = check_inside(confidence_level, "confidence_level")
    weight = check_prevalence(prevalence)
    with ReusedBuffers():
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        scores = check_scores(y_score, labels)
        design = check_design(clusters, blocks, labels)
        counts, ranks = count_with_ranks(scores, labels, level, design)
        return precision_recall_band_of(
            counts,
            rates,
            simultaneous=at_once,
            confidence_level=level,
            prevalence=weight,
            ranks=ranks,
        )


def roc_band_of(
    counts: OrderedCounts,
    fpr: list[Fraction] | None,
    *,
    simultaneous: bool,
    confidence_level: Fraction,
    ranks: EffectiveRanks | None = None,
) -> RocBand:
    """Band of the ROC curve; see `roc_band`."""
    anomalies, normals = rate_bounds(
        counts, "roc_band", confidence_level, simultaneous=simultaneous, ranks=ranks
    )
    fps, tps = (counts.fps, counts.tps) if ranks is None else (ranks.fps, ranks.tps)
    rates = _grid_of_fpr(normals.n_samples) if fpr is None else fpr
    x = _floats(rates)
    # Ranks of normal samples: strictly above `within` the FPR is at most x, at `beyond` above x.
    within, beyond = ranks_around(normals, x)
    low = anomalies.lower(rank_above(fps, tps, within))
    high = anomalies.upper(rank_below(fps, tps, beyond))
    tpr = np.array([TPR_AT_FPR.compute(counts, rate, interpolation="linear") for rate in rates])
    return RocBand.of(x, tpr, low, high, float(confidence_level), simultaneous)


def precision_recall_band_of(
    counts: OrderedCounts,
    recall: list[Fraction] | None,
    *,
    simultaneous: bool,
    confidence_level: Fraction,
    prevalence: Fraction | None = None,
    ranks: EffectiveRanks | None = None,
) -> PrecisionRecallBand:
    """Band of the precision-recall curve; see `precision_recall_band`."""
    anomalies, normals = rate_bounds(
        counts, "precision_recall_band", confidence_level, simultaneous=simultaneous, ranks=ranks
    )
    fps, tps = (counts.fps, counts.tps) if ranks is None else (ranks.fps, ranks.tps)
    rates = recall
    if rates is None:
        rates = [Fraction(i, 2 * _EVEN) for i in range(2 * _EVEN + 1)]
    x = _floats(rates)
    # Ranks of anomalies: strictly above `below` the TPR is below x, at `reaching` at least x.
    below, reaching = ranks_around(anomalies, x, np.less)
    fewest = normals.lower(rank_above(tps, fps, below))
    most = normals.upper(rank_below(tps, fps, reaching))

    n, m = exact(counts.n_anomalies), exact(counts.n_normals)
    weight = counts.normal_weight(prevalence) * m / n
    # Where nothing is flagged, the precision of the highest score.
    tp, fp = exact(counts.tps[1]) / n, exact(counts.fps[1]) / m
    precision = np.full(len(x), float(tp / (tp + weight * fp)))
    low, high = np.zeros(len(x)), np.ones(len(x))
    for i, rate in enumerate(rates):
        if rate > 0:
            # Each is rounded once, so that rounding does not change their order.
            precision[i] = rate / (rate + weight * _fp_at(counts, rate * n) / m)
            low[i] = rate / (rate + weight * Fraction(most[i]))
            high[i] = rate / (rate + weight * Fraction(fewest[i]))
    return PrecisionRecallBand.of(x, precision, low, high, float(confidence_level), simultaneous)


def count_with_ranks(
    scores: ScoreVector,
    labels: Labels,
    level: Fraction,
    design: SamplingDesign = INDEPENDENT,
    name: str = "y_score",
) -> tuple[OrderedCounts, EffectiveRanks | None]:
    """Count; where samples depend or have real weights, find the ranks that they are worth."""
    if not needs_design(design, labels):
        return count_scores(scores, labels, name), None
    sample = DesignedSample.of(scores, labels, design, name)
    need_both(sample.counts, "a band")
    sample.refuse("a band")
    ranks, n_equal = [], []
    classes = (1, sample.counts.tps), (0, sample.counts.fps)
    for (label, of_class), n in zip(classes, sample.n_rows, strict=True):
        rates = doubled_up_to_half(min(_FEWEST_BEYOND / n, 0.5))
        size = effective_size(
            sample,
            design.blocks,
            label,
            "a band",
            from_top=rates,
            from_bottom=rates,
            tail=float(1 - level) / 4,
        )
        n_equal.append(size.n_equal)
        # Rounded: a rank that a sum of weights misses by its last digit is another one.
        ranks.append(np.round(of_class / of_class[-1] * max(1, math.floor(size.n_effective)), 9))
    warn_of_few(sample, min(n_equal), "a band")
    return sample.counts, EffectiveRanks(*ranks)


def _fp_at(counts: OrderedCounts, tp: Fraction) -> Fraction:
    """Return the count of normal samples where the interpolated curve reaches one of anomalies."""
    right = first_reaching(counts.tps, tp)
    return Fraction(*height(counts.tps, counts.fps, right - 1, tp, 1))


def _floats(rates: list[Fraction]) -> FloatVector:
    """Return rates as floats; rates below 1 stay below, because the curve at 1 is known."""
    return np.array([1.0 if rate == 1 else min(float(rate), _BELOW_ONE) for rate in rates])


def _grid_of_fpr(n_normals: Count) -> list[Fraction]:
    """Return 0, rates evenly spaced to 1, and rates logarithmically spaced from 1 / (2 m)."""
    even = np.linspace(0, 1, _EVEN + 1)
    logarithmic = np.geomspace(0.5 / n_normals, 1, _LOGARITHMIC)
    return [Fraction(x) for x in np.union1d(even, logarithmic).tolist()]

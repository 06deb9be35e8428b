"""``difference_band``: the difference of two detectors at many thresholds at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from fastad._core.declared import ThresholdValue
from fastad._core.parameters import check_flag, check_float_level, nearest_float
from fastad._core.random import random_key
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import slices, thread_limit, thread_map
from fastad._core.types import (
    ArrayLike,
    Blocks,
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    Label,
    Point,
    ScoreVector,
    Threshold,
)
from fastad._core.user_warnings import warn_user
from fastad.errors import InvalidInputError, LowCoverageWarning
from fastad.measures.flagged import lowest_flagged
from fastad.measures.measure import Measure
from fastad.measures.results import Curve
from fastad.ordering.counts import count_scores
from fastad.ordering.labels import Labels, check_labels, check_scores
from fastad.uncertainty.comparisons.pair_estimates import range_of_difference
from fastad.uncertainty.samples.bootstrap import refuse_few
from fastad.uncertainty.samples.dependence import block_length, kept_by_blocks, lag_weights
from fastad.uncertainty.samples.effective_size import warn_of_few, widening_of_few
from fastad.uncertainty.samples.sampling import DesignedSample, check_design, needs_design

# Random curves of which the widest band is the quantile: it is known to a hundredth.
_N_CURVES = 20_000
# With fewer samples that only one of two detectors flags, the normal distribution is no good
# description.
_FEWEST_DISCORDANT = 20
_THRESHOLDS = ThresholdValue(sequence=True)
_NAME = "a band of a difference"
_MOST_THRESHOLDS = 2000
# A variance below it, in units of the largest one, is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DifferenceBand(Curve):
    """Difference of a measure between two detectors by threshold, with a confidence band.

    Attributes
    ----------
    thresholds : numpy.ndarray of shape (n_thresholds,)
        Thresholds as they were given.
    values_a, values_b : numpy.ndarray of shape (n_thresholds,)
        The measure of each detector.
    difference : numpy.ndarray of shape (n_thresholds,)
        ``values_a - values_b``.
    low, high : numpy.ndarray of shape (n_thresholds,)
        Bounds on the difference in the population.
    confidence_level : float
        Nominal probability that the bounds hold.
    simultaneous : bool
        Whether they hold at all thresholds at once, or at each by itself.
    """

    thresholds: FloatVector
    values_a: FloatVector
    values_b: FloatVector
    difference: FloatVector
    low: FloatVector
    high: FloatVector
    confidence_level: float
    simultaneous: bool


@suggests_arguments
def difference_band(
    y_true: ArrayLike,
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    *,
    measure: Measure[Any],
    threshold: ArrayLike,
    simultaneous: bool = False,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
) -> DifferenceBand:
    """Confidence band of the difference of two detectors on the same samples, by threshold.

    Both detectors are compared at the same thresholds, so that their scores must have a common
    unit, such as probabilities: the difference of two decision curves.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    scores_a, scores_b : array-like of shape (n_samples,)
        Anomaly scores of the two detectors, higher is more anomalous.
    measure : Measure
        A measure at a threshold, made by `fastad.measures.from_counts` with ``at="threshold"``.
    threshold : float or sequence of floats
        Where the measure is compared.
    simultaneous : bool, default False
        Whether the whole curve lies in the band with the confidence, or each of its points.
    confidence_level : float, default 0.95
        Probability with which the bounds are to hold, in (0, 1).
    rng : int or numpy.random.Generator, optional
        Seed or generator of the random curves of a simultaneous band.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, such as a user or a device, where samples of one cluster depend.
    blocks : int or "auto", optional
        Mean length of blocks of samples that depend, where rows are in the order of time.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, integers repeat rows, others are weights of
        sampling, inverse to the probability with which a row was chosen.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over the samples; the same seed gives the same band for any number.

    Returns
    -------
    DifferenceBand
        ``thresholds``, ``difference``, and the bounds ``low`` and ``high``.

    Raises
    ------
    UndefinedMeasureError
        If the measure is undefined at a threshold, or a class has fewer than two samples; if
        there are fewer than 10 clusters or blocks.

    Warns
    -----
    LowCoverageWarning
        If at some threshold fewer than 20 samples are flagged by one detector alone, or there are
        fewer than 50 clusters or blocks, or as few by size.

    Notes
    -----
    O(n log t) time for n samples and t thresholds, and O(t**3). The flagged fractions of each class
    are normal with the covariance of the samples, and the measure changes with them as its
    derivatives say; a simultaneous band has the width, in standard deviations, that a fraction
    ``confidence_level`` of random curves with this covariance stay within. The proportion of
    anomalies in the samples is taken as known.

    In clusters, series and with real weights the covariance of sums within clusters, or the
    long-run covariance, is taken, and the width is multiplied by the ratio of Student's to the
    normal quantile; O(units * thresholds) memory, where rows or the samples of a series are units.

    References
    ----------
    .. [1] A. J. Vickers and E. B. Elkin, "Decision curve analysis: a novel method for evaluating
       prediction models", Medical Decision Making 26, 2006.
    .. [2] J. L. Montiel Olea and M. Plagborg-Møller, "Simultaneous confidence bands: theory,
       implementation, and an application to SVARs", Journal of Applied Econometrics 34, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> def net_benefit(tp, fp, n_anomalies, n_normals, threshold):
    ...     return (tp - fp * threshold / (1 - threshold)) / (n_anomalies + n_normals)
    >>> benefit = fastad.measures.from_counts(
    ...     "net_benefit", net_benefit, at="threshold", takes_threshold=True
    ... )
    >>> labels = np.arange(1000) % 4 == 0
    >>> good = np.where(labels, 0.7, 0.1) + np.arange(1000) % 7 / 50
    >>> band = fastad.uncertainty.difference_band(
    ...     labels, good, np.full(1000, 0.25), measure=benefit, threshold=[0.2, 0.5], rng=0
    ... )
    >>> band.difference.round(4)
    array([0.134, 0.25 ])
    """
    if not (isinstance(measure, Measure) and measure.slopes is not None):
        raise InvalidInputError(
            "measure must be one that from_counts has made with at='threshold'; found "
            f"{measure.name if isinstance(measure, Measure) else measure!r}"
        )
    given = _THRESHOLDS.check(threshold, "threshold")
    as_given: list[Threshold] = given if isinstance(given, list) else [given]
    order = sorted(range(len(as_given)), key=as_given.__getitem__)
    thresholds = [as_given[i] for i in order]
    if len(thresholds) > _MOST_THRESHOLDS:
        raise InvalidInputError(
            f"threshold must have at most {_MOST_THRESHOLDS} entries; found {len(thresholds)}"
        )
    at_once = check_flag(simultaneous, "simultaneous")
    level = check_float_level(confidence_level)
    key = random_key(rng)
    with thread_limit(n_threads):
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        design = check_design(clusters, blocks, labels)
        pair = [
            check_scores(scores, labels, name=name)
            for name, scores in (("scores_a", scores_a), ("scores_b", scores_b))
        ]
        refuse_few(_NAME, labels.n_anomalies, labels.values.shape[0] - labels.n_anomalies)
        values, slopes = _at_thresholds(measure, labels, pair, thresholds)
        table, reached = _count_together(labels, pair, thresholds)
        discordant, covariance = _covariance(table, slopes)
        wider = 1.0
        if needs_design(design, labels):
            sample = DesignedSample.of(pair[0], labels, design, "scores_a")
            covariance, n_units = _covariance_of_design(sample, design.blocks, reached, slopes)
            sample.refuse(_NAME)
            wider, n_equal = widening_of_few(sample, n_units, (1, 0), 1 - level, _NAME)
            warn_of_few(sample, n_equal, _NAME)
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    half = wider * deviations * _quantile(covariance, level, key, simultaneous=at_once)
    fewest = int(np.argmin(discordant))
    if discordant[fewest] < _FEWEST_DISCORDANT:
        warn_user(
            f"{measure.name}: at threshold {thresholds[fewest]:g} "
            f"{discordant[fewest]} samples are flagged by one detector alone; the band is not "
            f"reliable of fewer than {_FEWEST_DISCORDANT}",
            LowCoverageWarning,
        )
    difference = values[0] - values[1]
    reach = range_of_difference(measure.bind(threshold=thresholds[0]))
    ends = np.maximum(difference - half, -reach), np.minimum(difference + half, reach)
    curves = (*values, difference, *ends)
    back = np.argsort(order)
    return DifferenceBand.of(
        np.array([nearest_float(each) for each in as_given]),
        *(curve[back] for curve in curves),
        level,
        at_once,
    )


def _at_thresholds(
    measure: Measure[Any], labels: Labels, pair: Sequence[ScoreVector], thresholds: list[Threshold]
) -> tuple[FloatMatrix, npt.NDArray[np.float64]]:
    """Return values (2, n_thresholds) of both detectors, and slopes (2, n_thresholds, 2)."""
    values, slopes = [], []
    assert measure.slopes is not None
    for scores in pair:
        counts = count_scores(scores, labels)
        values.append([measure.compute(counts, threshold=each) for each in thresholds])
        slopes.append([measure.slopes(counts, threshold=each) for each in thresholds])
    return np.array(values), np.array(slopes)


def _count_together(
    labels: Labels, pair: Sequence[ScoreVector], thresholds: list[Threshold]
) -> tuple[IntMatrix, list[IntVector]]:
    """Count the samples of each class by how many thresholds both scores reach.

    Shape (2, n_thresholds + 1, n_thresholds + 1), anomalies first; thresholds rise. Whole weights
    repeat rows, others are left out. Also return the number of thresholds that each score reaches.
    """
    n_bins = len(thresholds) + 1
    bounds = []
    for scores in pair:
        if scores.dtype.itemsize == 8 and scores.dtype.kind in "iu":  # floats would merge them
            least, most = np.iinfo(scores.dtype).min, np.iinfo(scores.dtype).max
            whole = (lowest_flagged(each, scores.dtype) for each in thresholds)
            # What no score reaches comes last.
            bounds.append(np.array([int(max(x, least)) for x in whole if x <= most], scores.dtype))
            continue
        dtype = scores.dtype if scores.dtype.kind == "f" else np.dtype(np.float64)
        lowest = np.array([nearest_float(lowest_flagged(each, dtype)) for each in thresholds])
        # Narrow scores reach a threshold from the next number of their type on.
        with np.errstate(over="ignore"):
            ends = lowest.astype(dtype)
        bounds.append(np.where(ends < lowest, np.nextafter(ends, dtype.type(np.inf)), ends))

    repeats = None
    if labels.weights is not None and labels.weights.dtype.kind == "i":
        repeats = labels.weights

    def count(rows: slice) -> tuple[IntMatrix, list[IntVector]]:
        reached = [
            np.searchsorted(ends, scores[rows].astype(ends.dtype, copy=False), side="right")
            for ends, scores in zip(bounds, pair, strict=True)
        ]
        normal = 1 - labels.values[rows].astype(np.int64)
        cells = (normal * n_bins + reached[0]) * n_bins + reached[1]
        times = None if repeats is None else repeats[rows]
        table = np.bincount(cells, times, minlength=2 * n_bins**2).astype(np.int64, copy=False)
        return table, reached

    parts = thread_map(count, slices(labels.values.shape[0]))
    table: IntMatrix = np.sum([part[0] for part in parts], axis=0).reshape(2, n_bins, n_bins)
    return table, [np.concatenate([part[1][i] for part in parts]) for i in (0, 1)]


def _covariance(table: IntMatrix, slopes: npt.NDArray[np.float64]) -> tuple[IntVector, FloatMatrix]:
    """Return the samples that one detector alone flags, and the covariance of the difference."""
    n_thresholds = table.shape[1] - 1
    later = np.maximum.outer(np.arange(n_thresholds), np.arange(n_thresholds)) + 1
    discordant = np.zeros(n_thresholds, np.int64)
    covariance = np.zeros((n_thresholds, n_thresholds))
    for of_class, (by_a, by_b) in zip(table, np.moveaxis(slopes, 2, 0), strict=True):
        # Samples by the numbers of thresholds that they reach at least with each score.
        reach = of_class[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
        n = int(reach[0, 0])
        both_a, both_b, a_and_b = reach[later, 0], reach[0, later], reach[1:, 1:]
        discordant += np.diag(both_a) + np.diag(both_b) - 2 * np.diag(a_and_b)
        cross = np.outer(by_a, by_b) * a_and_b
        products = np.outer(by_a, by_a) * both_a + np.outer(by_b, by_b) * both_b - cross - cross.T
        mean = (by_a * np.diag(both_a) - by_b * np.diag(both_b)) / n
        covariance += (products / n - np.outer(mean, mean)) / (n - 1)
    return discordant, covariance


def _covariance_of_design(
    sample: DesignedSample,
    blocks: Blocks | None,
    reached: Sequence[IntVector],
    slopes: npt.NDArray[np.float64],
) -> tuple[FloatMatrix, float]:
    """Return the covariance between thresholds, and the number of clusters, rows or blocks.

    From the contribution of each unit to the difference: for each row the number of thresholds that
    each score reaches, and the slopes of both detectors, shape (2, n_thresholds, 2). O(units *
    thresholds) memory.
    """
    n_thresholds = slopes.shape[1]
    n = sample.n_units
    by_class: list[FloatMatrix] = []
    n_with: list[int] = []
    for label, of_class in ((1, 0), (0, 1)):
        rows = np.flatnonzero(sample.labels == label)
        units = sample.units[rows]
        weights = sample.weights[rows] / sample.weights[rows].sum()
        total = np.bincount(units, weights, n)
        n_with.append(np.unique(units).shape[0])
        change = np.zeros((n, n_thresholds))
        for sign, detector in ((1, 0), (-1, 1)):
            cells = units * (n_thresholds + 1) + reached[detector][rows]
            table = np.bincount(cells, weights, n * (n_thresholds + 1))
            by_unit = table.reshape(n, -1)[:, ::-1].cumsum(axis=1)[:, ::-1]
            change += sign * slopes[detector, :, of_class] * by_unit[:, 1:]
        by_class.append(change - np.outer(total, change.sum(axis=0)))
    if blocks is None:
        # As `DesignedSample.variances`: the units of a class tell how they vary.
        within = [k / max(k - 1, 1) * (x.T @ x) for k, x in zip(n_with, by_class, strict=True)]
        between = n / (n - 1) * (by_class[0].T @ by_class[1])
        return sum(within) + between + between.T, float(min(n_with))
    added = by_class[0] + by_class[1]
    length = max(map(block_length, added.T)) if blocks == "auto" else float(blocks)
    # The long-run covariance, all lags by one convolution, as `long_run_variance` for each.
    covariances = []
    for of_lags in (kept_by_blocks(n, length), lag_weights(n, length)):
        kernel = np.concatenate([[1.0], of_lags, [0.0], of_lags[::-1]])
        spectrum = np.fft.rfft(added, 2 * n, axis=0) * np.fft.rfft(kernel)[:, None]
        covariance: FloatMatrix = added.T @ np.fft.irfft(spectrum, 2 * n, axis=0)[:n]
        covariances.append((covariance + covariance.T) / 2)
    of_bootstrap, corrected = (np.diag(each) for each in covariances)
    ratios = np.maximum(corrected, of_bootstrap) / np.where(of_bootstrap > 0, of_bootstrap, 1.0)
    wider = np.sqrt(np.maximum(ratios, 0.0))
    return covariances[0] * np.outer(wider, wider), n / length


def _quantile(
    covariance: FloatMatrix, level: float, key: np.uint64, *, simultaneous: bool
) -> float:
    """Return the half-width of a band in standard deviations."""
    if not simultaneous:
        return float(ndtri((1 + level) / 2))
    variances = np.diag(covariance)
    varied = variances > _ROUNDING * variances.max()
    if not varied.any():
        return 0.0
    deviations = np.sqrt(variances[varied])
    correlation = covariance[np.ix_(varied, varied)] / np.outer(deviations, deviations)
    spread, axes = np.linalg.eigh(correlation)
    kept = spread > _ROUNDING
    normal = np.random.default_rng(int(key)).normal(size=(_N_CURVES, int(kept.sum())))
    curves = normal @ (axes[:, kept] * np.sqrt(spread[kept])).T
    return float(np.quantile(np.abs(curves).max(axis=1), level, method="higher"))

"""Means of the true positive rate around one false positive rate."""

import math
from fractions import Fraction

import numpy as np

from fastad._core.declared import OpenRate, Rate
from fastad._core.types import ArrayLike, Label, Point
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import AREA, ROUNDED_AREA, Measure
from fastad.measures.partial import AUC_AT_FPR
from fastad.measures.points import need_both, need_integer_weights
from fastad.measures.threshold_distribution import (
    BetaWeights,
    NormalWeights,
    central_range,
    heights_at,
    mean_height,
    threshold_distribution,
)
from fastad.ordering.counts import OrderedCounts


def _localized_auc(
    counts: OrderedCounts, fpr: Fraction, *, coverage: Fraction, subsample: Fraction
) -> float:
    m, h, k = _sizes(counts, fpr, subsample, "localized_auc")
    low, high = central_range(m, h, k, coverage)
    if low == high:
        raise UndefinedMeasureError(
            f"localized_auc is undefined where the range has no width: the fraction "
            f"{float(coverage):g} of the thresholds at fpr = {float(fpr):g} has the false "
            f"positive rate {low / m:g}"
        )
    return AUC_AT_FPR.bind(fpr=Fraction(high, m), min_fpr=Fraction(low, m)).value(counts)


LOCALIZED_AUC = Measure(
    name="localized_auc",
    title="mean true positive rate over the thresholds to expect at a false positive rate",
    key="auc_local@",
    compute=_localized_auc,
    parameters={
        "fpr": Rate(),
        "coverage": OpenRate(default=0.95),
        "subsample": OpenRate(default=0.5),
    },
    operating_point="fpr",
    weights="integer",
    extremes=AREA,
)


def localized_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point,
    coverage: Point = 0.95,
    subsample: Point = 0.5,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Localized AUC: mean true positive rate over the thresholds to expect at an FPR.

    Draw h = floor(d m) of the m normals without replacement, and take the lowest threshold that
    flags at most the fraction p = ``fpr`` of them. It lies just above the normal of rank k + 1
    among the h, k = floor(p h). J of all m normals lie above it::

        P(J = j) = C(j, k) C(m - 1 - j, h - k - 1) / C(m, h),    j = k, ..., m - h + k,

    with tied normals in random order. The measure is the mean of TPR over the false positive rates
    from a / m to b / m, on the interpolated ROC curve, where a is the largest and b the smallest
    number with P(J < a) and P(J > b) at most (1 - ``coverage``) / 2 each.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float
        False positive rate in [0, 1], taken as the decimal that is written.
    coverage : float, default 0.95
        Fraction of the distribution that the range contains, in (0, 1), with equal tails, taken
        as the decimal that is written.
    subsample : float, default 0.5
        Fraction d of the normals in a subsample, in (0, 1), taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Integers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1], 1 for a perfect order.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, no normal is drawn (h = 0), or the range has no width: at ``fpr`` 1,
        or where one rate holds all but the tails of the distribution.

    Notes
    -----
    The authors' code draws subsamples of all samples at random and takes the smallest and the
    largest rate that it meets, a range that grows with the number of draws. Here it is a stated
    part of the exact distribution, without random numbers; so that it has no end that depends on
    the anomalies, of the thresholds that flag the same samples of a subsample the lowest is taken.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, code of the 2020 study of operating thresholds:
       EvalCurves.jl, beta_auc.jl.

    Examples
    --------
    >>> import fastad
    >>> y_true = [0, 0, 0, 0, 0, 0, 1, 1, 1]
    >>> y_score = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.5, 0.7, 0.9]
    >>> fastad.measures.localized_auc(y_true, y_score, fpr=0.1, coverage=0.75)
    0.5
    """
    return LOCALIZED_AUC.of(
        y_true, y_score, sample_weight, pos_label, fpr=fpr, coverage=coverage, subsample=subsample
    )


def _beta_weighted_auc(counts: OrderedCounts, fpr: Fraction, *, subsample: Fraction) -> float:
    sizes = _sizes(counts, fpr, subsample, "beta_weighted_auc")
    return mean_height(counts, BetaWeights.of(*sizes))


BETA_WEIGHTED_AUC = Measure(
    name="beta_weighted_auc",
    title="mean true positive rate around a false positive rate, by beta weights",
    key="auc_beta@",
    compute=_beta_weighted_auc,
    parameters={"fpr": Rate(), "subsample": OpenRate(default=0.5)},
    operating_point="fpr",
    weights="integer",
    extremes=ROUNDED_AREA,
)


def beta_weighted_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point,
    subsample: Point = 0.5,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the ROC curve with a beta density around an FPR.

    Of the m normals h = floor(d m) are drawn. J of all m lie above the lowest threshold that flags
    at most k = floor(p h) of them, p = ``fpr``, by the distribution that `localized_auc` states.
    With the mean and the variance of J / m, ::

        mu = ((k + 1) (m + 1) / (h + 1) - 1) / m
        v = (m + 1) (m - h) (k + 1) (h - k) / ((h + 1)^2 (h + 2) m^2),

    the measure is the integral of TPR(x) f(x) dx over [0, 1] on the interpolated ROC curve, f the
    beta density of this mean and variance: a = mu c and b = (1 - mu) c with
    c = mu (1 - mu) / v - 1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float
        False positive rate in [0, 1], taken as the decimal that is written.
    subsample : float, default 0.5
        Fraction d of the normals in a subsample, in (0, 1), taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Integers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1], 1 for a perfect order.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, no normal is drawn (h = 0), or ``fpr`` is 1, where the variance is 0.

    Notes
    -----
    On a straight piece of the curve the integral is a closed form of two incomplete beta functions;
    over short pieces, where it would lose digits, a rule of five points that is exact to rounding.
    The authors' code estimates mean and variance from random subsamples of all samples and adds up
    a thousand or more trapezoids.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, code of the 2020 study of operating thresholds:
       EvalCurves.jl, beta_auc.jl.

    Examples
    --------
    >>> import fastad
    >>> y_true = [0, 0, 0, 0, 0, 0, 1, 1, 1]
    >>> y_score = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.5, 0.7, 0.9]
    >>> round(fastad.measures.beta_weighted_auc(y_true, y_score, fpr=0.1), 6)
    0.459632
    """
    return BETA_WEIGHTED_AUC.of(
        y_true, y_score, sample_weight, pos_label, fpr=fpr, subsample=subsample
    )


def _gaussian_weighted_auc(counts: OrderedCounts, fpr: Fraction) -> float:
    need_both(counts, "gaussian_weighted_auc")
    need_integer_weights(counts, "gaussian_weighted_auc")
    weights = NormalWeights.of(int(counts.n_normals), fpr)
    if weights.deviation == 0:
        raise UndefinedMeasureError(
            f"gaussian_weighted_auc is undefined at fpr = {float(fpr):g}, "
            "where the weights have no variance"
        )
    return mean_height(counts, weights)


GAUSSIAN_WEIGHTED_AUC = Measure(
    name="gaussian_weighted_auc",
    title="mean true positive rate around a false positive rate, by normal weights",
    key="auc_gauss@",
    compute=_gaussian_weighted_auc,
    parameters={"fpr": Rate()},
    operating_point="fpr",
    weights="integer",
    extremes=ROUNDED_AREA,
)


def gaussian_weighted_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the ROC curve with a normal density around an FPR.

    The integral of TPR(x) f(x) dx over [0, 1] on the interpolated ROC curve, f the normal density
    of mean p = ``fpr`` and variance p (1 - p) / m for m normals, divided by its mass inside [0, 1].
    That is about the distribution of the false positive rate that the threshold of rate p has on
    m other normals.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float
        False positive rate in [0, 1], taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Integers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1], 1 for a perfect order.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, or ``fpr`` is 0 or 1, where the variance is 0.

    Notes
    -----
    On a straight piece of the curve the integral is a closed form of the normal density and
    distribution function; over short pieces, where it would lose digits, a rule of five points that
    is good to about 12 digits. The authors' code leaves out the weights outside of [0, 1], so that
    weights near 0 sum to less than 1, and adds up a thousand or more trapezoids.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, code of the 2020 study of operating thresholds:
       ADMetricEvaluation.jl, alternatives to the beta weights.

    Examples
    --------
    >>> import fastad
    >>> y_true = [0, 0, 0, 0, 0, 0, 1, 1, 1]
    >>> y_score = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.5, 0.7, 0.9]
    >>> round(fastad.measures.gaussian_weighted_auc(y_true, y_score, fpr=0.1), 6)
    0.468487
    """
    return GAUSSIAN_WEIGHTED_AUC.of(y_true, y_score, sample_weight, pos_label, fpr=fpr)


def _histogram_weighted_auc(counts: OrderedCounts, fpr: Fraction, *, subsample: Fraction) -> float:
    sizes = _sizes(counts, fpr, subsample, "histogram_weighted_auc")
    if fpr == 1:
        return 1.0
    first, probabilities = threshold_distribution(*sizes)
    heights = heights_at(counts, first + np.arange(probabilities.shape[0]))
    # Divided by their own sum, weights of height 1 make exactly 1.
    return math.fsum(probabilities * heights) / math.fsum(probabilities)


HISTOGRAM_WEIGHTED_AUC = Measure(
    name="histogram_weighted_auc",
    title="mean true positive rate of the thresholds of subsamples",
    key="auc_hist@",
    compute=_histogram_weighted_auc,
    parameters={"fpr": Rate(), "subsample": OpenRate(default=0.5)},
    operating_point="fpr",
    weights="integer",
    extremes=ROUNDED_AREA,
)


def histogram_weighted_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point,
    subsample: Point = 0.5,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Mean true positive rate over the thresholds of subsamples at an FPR.

    Of the m normals h = floor(d m) are drawn. J of all m lie above the lowest threshold that flags
    at most k = floor(p h) of them, p = ``fpr``, by the distribution that `localized_auc` states.
    The measure is the mean of TPR over this distribution, ::

        sum over j of P(J = j) TPR(j / m),

    with TPR read on the interpolated ROC curve, on a vertical piece its upper end, as by
    `fastad.tpr_at_fpr`. The rate j / m stands for the false positive rates from j / m to
    (j + 1) / m, where the curve of untied scores is level: for these it is also the area under
    the curve with the histogram of the rates for weight.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float
        False positive rate in [0, 1], taken as the decimal that is written.
    subsample : float, default 0.5
        Fraction d of the normals in a subsample, in (0, 1), taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Integers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1], 1 for a perfect order.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, or no normal is drawn (h = 0).

    Notes
    -----
    The authors' code fills the histogram with random subsamples of all samples; this is the limit
    of its weights, but with h fixed, and with the lowest of the thresholds that flag the same
    samples of a subsample, which depends on normals alone. At ``fpr`` 1 all rates are 1.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, code of the 2020 study of operating thresholds:
       ADMetricEvaluation.jl, alternatives to the beta weights.

    Examples
    --------
    >>> import fastad
    >>> y_true = [0, 0, 0, 0, 0, 0, 1, 1, 1]
    >>> y_score = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.5, 0.7, 0.9]
    >>> round(fastad.measures.histogram_weighted_auc(y_true, y_score, fpr=0.1), 6)
    0.566667
    """
    return HISTOGRAM_WEIGHTED_AUC.of(
        y_true, y_score, sample_weight, pos_label, fpr=fpr, subsample=subsample
    )


def _sizes(
    counts: OrderedCounts, fpr: Fraction, subsample: Fraction, measure: str
) -> tuple[int, int, int]:
    """Return how many normals there are, are drawn, and of these may be flagged at most."""
    need_both(counts, measure)
    need_integer_weights(counts, measure)
    m = int(counts.n_normals)
    h = int(subsample * m)
    if h == 0:
        raise UndefinedMeasureError(
            f"{measure} is undefined where no normal sample is drawn: "
            f"subsample = {float(subsample):g} of {m}"
        )
    if fpr == 1 and measure != "histogram_weighted_auc":
        raise UndefinedMeasureError(
            f"{measure} is undefined at fpr = 1, where every threshold has the rate 1"
        )
    return m, h, int(fpr * h)


MEASURES = (LOCALIZED_AUC, BETA_WEIGHTED_AUC, GAUSSIAN_WEIGHTED_AUC, HISTOGRAM_WEIGHTED_AUC)

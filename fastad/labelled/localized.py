"""Public measures of the ROC curve around one false positive rate."""

from typing import overload

import numpy.typing as npt

from fastad._core.parameters import check_inside, check_rate
from fastad._core.types import FloatVector, Label, Point, Points
from fastad.measures import localized
from fastad.ordering.counts import counted


@overload
def localized_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point,
    coverage: Point = ...,
    subsample: Point = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...


@overload
def localized_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Points,
    coverage: Point = ...,
    subsample: Point = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def localized_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point | Points,
    coverage: Point = 0.95,
    subsample: Point = 0.5,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Localized AUC: mean true positive rate over the thresholds to expect at an FPR.

    Draw h = floor(d m) of the m normals without replacement, and take the lowest threshold that
    flags at most the share p = ``fpr`` of them. It lies just above the normal of rank k + 1 among
    the h, k = floor(p h). J of all m normals lie above it::

        P(J = j) = C(j, k) C(m - 1 - j, h - k - 1) / C(m, h),    j = k, ..., m - h + k,

    with tied normals in random order. The measure is the mean of TPR over the false positive rates
    from a / m to b / m, on the interpolated ROC curve, where a is the largest and b the smallest
    number with P(J < a) and P(J > b) at most (1 - ``coverage``) / 2 each.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float or sequence of floats
        False positive rate in [0, 1], taken as the decimal that is written.
    coverage : float, default 0.95
        Share of the law that the range holds, in (0, 1), with equal tails, taken as the decimal
        that is written.
    subsample : float, default 0.5
        Share d of the normals in a subsample, in (0, 1), taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        In [0, 1], 1 for a perfect order; an array for a sequence of operating points.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If a class is absent, no normal is drawn (h = 0), or the range has no width: at ``fpr`` 1,
        or where one rate holds all but the tails of the law.

    Notes
    -----
    The authors' code draws subsamples of all points at random and takes the smallest and the
    largest rate that it meets, a range that grows with the number of draws. Here it is a stated
    part of the exact law, without random numbers; so that it has no end that depends on the
    anomalies, of the thresholds that flag the same points of a subsample the lowest is taken.
    O(n log n) time for n points.

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
    rates = check_rate(fpr, "fpr")
    share, drawn = check_inside(coverage, "coverage"), check_inside(subsample, "subsample")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return localized.localized_auc(counts, rates, coverage=share, subsample=drawn)


@overload
def beta_weighted_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point,
    subsample: Point = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...


@overload
def beta_weighted_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Points,
    subsample: Point = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def beta_weighted_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point | Points,
    subsample: Point = 0.5,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Area under the ROC curve with a beta density around an FPR.

    Draw h = floor(d m) of the m normals without replacement, and take the lowest threshold that
    flags at most the share p = ``fpr`` of them. It lies just above the normal of rank k + 1 among
    the h, k = floor(p h). J of all m normals lie above it::

        P(J = j) = C(j, k) C(m - 1 - j, h - k - 1) / C(m, h),    j = k, ..., m - h + k,

    with tied normals in random order. With the mean and the variance of J / m, ::

        mu = ((k + 1) (m + 1) / (h + 1) - 1) / m
        v = (m + 1) (m - h) (k + 1) (h - k) / ((h + 1)^2 (h + 2) m^2),

    the measure is the integral of TPR(x) f(x) dx over [0, 1] on the interpolated ROC curve, f the
    beta density of this mean and variance: a = mu c and b = (1 - mu) c with
    c = mu (1 - mu) / v - 1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float or sequence of floats
        False positive rate in [0, 1], taken as the decimal that is written.
    subsample : float, default 0.5
        Share d of the normals in a subsample, in (0, 1), taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        In [0, 1], 1 for a perfect order; an array for a sequence of operating points.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If a class is absent, no normal is drawn (h = 0), or ``fpr`` is 1, where the variance is 0.

    Notes
    -----
    On a straight piece of the curve the integral is a closed form of two incomplete beta
    functions; over short pieces, where it would lose digits, a rule of five points that is exact
    to rounding. The authors' code estimates mean and variance from random subsamples of all
    points and adds up a thousand or more trapezoids. O(n log n) time for n points.

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
    rates = check_rate(fpr, "fpr")
    drawn = check_inside(subsample, "subsample")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return localized.beta_weighted_auc(counts, rates, subsample=drawn)


@overload
def gaussian_weighted_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...


@overload
def gaussian_weighted_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Points,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def gaussian_weighted_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point | Points,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Area under the ROC curve with a normal density around an FPR.

    The integral of TPR(x) f(x) dx over [0, 1] on the interpolated ROC curve, f the normal density
    of mean p = ``fpr`` and variance p (1 - p) / m for m normals, divided by its mass inside [0, 1].
    That is about the law of the false positive rate that the threshold of rate p has on m other
    normals.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float or sequence of floats
        False positive rate in [0, 1], taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        In [0, 1], 1 for a perfect order; an array for a sequence of operating points.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If a class is absent, or ``fpr`` is 0 or 1, where the variance is 0.

    Notes
    -----
    On a straight piece of the curve the integral is a closed form of the normal density and
    distribution function; over short pieces, where it would lose digits, a rule of five points
    that is good to about 12 digits. The authors' code leaves out what lies outside of [0, 1], so
    that weights near 0 sum to less than 1, and adds up a thousand or more trapezoids. O(n log n)
    time for n points.

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
    rates = check_rate(fpr, "fpr")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return localized.gaussian_weighted_auc(counts, rates)


@overload
def histogram_weighted_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point,
    subsample: Point = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> float: ...


@overload
def histogram_weighted_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Points,
    subsample: Point = ...,
    sample_weight: npt.ArrayLike | None = ...,
    pos_label: Label | None = ...,
) -> FloatVector: ...
def histogram_weighted_auc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: Point | Points,
    subsample: Point = 0.5,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float | FloatVector:
    """Mean true positive rate over the thresholds of subsamples at an FPR.

    Draw h = floor(d m) of the m normals without replacement, and take the lowest threshold that
    flags at most the share p = ``fpr`` of them. It lies just above the normal of rank k + 1 among
    the h, k = floor(p h). J of all m normals lie above it::

        P(J = j) = C(j, k) C(m - 1 - j, h - k - 1) / C(m, h),    j = k, ..., m - h + k,

    with tied normals in random order. The measure is the mean of TPR over this law, ::

        sum over j of P(J = j) TPR(j / m),

    with TPR read on the interpolated ROC curve, on a vertical piece its upper end, as by
    `fastad.tpr_at_fpr`. The rate j / m stands for the false positive rates from j / m to
    (j + 1) / m, where the curve of untied scores is level: for these it is also the area under
    the curve with the histogram of the rates for weight.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float or sequence of floats
        False positive rate in [0, 1], taken as the decimal that is written.
    subsample : float, default 0.5
        Share d of the normals in a subsample, in (0, 1), taken as the decimal that is written.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float or numpy.ndarray
        In [0, 1], 1 for a perfect order; an array for a sequence of operating points.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If a class is absent, or no normal is drawn (h = 0).

    Notes
    -----
    The authors' code fills the histogram with random subsamples of all points; this is what its
    weights tend to, but that h is fixed and that of the thresholds which flag the same points of
    a subsample the lowest is taken, which depends on normals alone. At ``fpr`` 1 all rates are 1.
    O(n log n) time for n points.

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
    rates = check_rate(fpr, "fpr")
    drawn = check_inside(subsample, "subsample")
    with counted(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label) as counts:
        return localized.histogram_weighted_auc(counts, rates, subsample=drawn)

"""Rates at a point of the receiver operating characteristic."""

from fractions import Fraction

from fastad._core.declared import Rate
from fastad._core.types import ArrayLike, Interpolation, Label, Point
from fastad.measures.measure import POINT, Measure
from fastad.measures.points import (
    INTERPOLATION,
    Exact,
    at_fraction,
    entry,
    first_reaching,
    height,
    last_within,
    need_both,
    part_around_fpr,
    plain,
    quotient,
)
from fastad.ordering.counts import OrderedCounts


def _tpr_at_fpr(counts: OrderedCounts, fpr: Fraction, *, interpolation: Interpolation) -> float:
    """Height of the curve at a false positive rate."""
    need_both(counts, "tpr_at_fpr")
    tp, divisor = _tp_at(counts, fpr, interpolation)
    return quotient(tp, divisor * plain(counts.n_anomalies))


TPR_AT_FPR = Measure(
    name="tpr_at_fpr",
    title="true positive rate at a false positive rate",
    key="tpr@",
    compute=_tpr_at_fpr,
    parameters={"fpr": Rate(), "interpolation": INTERPOLATION},
    operating_point="fpr",
    curve_part=part_around_fpr,
    rises_with_curve=True,
    extremes=POINT,
)


def tpr_at_fpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point,
    interpolation: Interpolation = "linear",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """True positive rate at a false positive rate.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float
        False positive rate in [0, 1], compared as the decimal that is written: 0.29 of 100
        normals are 29.
    interpolation : {"linear", "conservative"}, default "linear"
        ``"linear"``: height of the interpolated ROC curve, on a vertical piece its upper end.
        ``"conservative"``: the last real point whose FPR is at most ``fpr``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 2.3.

    Examples
    --------
    >>> import fastad
    >>> fastad.tpr_at_fpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], fpr=0.25)
    0.5
    """
    return TPR_AT_FPR.of(
        y_true, y_score, sample_weight, pos_label, fpr=fpr, interpolation=interpolation
    )


def _fpr_at_tpr(counts: OrderedCounts, tpr: Fraction, *, interpolation: Interpolation) -> float:
    """Abscissa of the curve at a true positive rate."""
    need_both(counts, "fpr_at_tpr")
    fp, divisor = _fp_at(counts, tpr, interpolation)
    return quotient(fp, divisor * plain(counts.n_normals))


FPR_AT_TPR = Measure(
    name="fpr_at_tpr",
    title="false positive rate at a true positive rate",
    key="fpr@tpr",
    compute=_fpr_at_tpr,
    parameters={"tpr": Rate(), "interpolation": INTERPOLATION},
    operating_point="tpr",
    default_points=(Fraction(95, 100),),
    higher_is_better=False,
    rises_with_curve=True,
    extremes=POINT,
)


def fpr_at_tpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    tpr: Point,
    interpolation: Interpolation = "linear",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """False positive rate at a true positive rate.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    tpr : float
        True positive rate in [0, 1], compared as the decimal that is written.
    interpolation : {"linear", "conservative"}, default "linear"
        ``"linear"``: abscissa of the interpolated ROC curve, on a horizontal piece its left end.
        ``"conservative"``: the first real point whose TPR is at least ``tpr``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020,
       section 3.1.

    Examples
    --------
    >>> import fastad
    >>> fastad.fpr_at_tpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], tpr=0.95)
    0.5
    """
    return FPR_AT_TPR.of(
        y_true, y_score, sample_weight, pos_label, tpr=tpr, interpolation=interpolation
    )


def _tp_at(
    counts: OrderedCounts, rate: Fraction, interpolation: Interpolation
) -> tuple[Exact, Exact]:
    """Return the count of anomalies at a false positive rate, at the top of a vertical step."""
    end, divisor = at_fraction(rate, counts.n_normals)
    left = last_within(counts.fps, end, divisor)
    if interpolation == "conservative":
        return entry(counts.tps, left), 1
    return height(counts.fps, counts.tps, left, end, divisor)


def _fp_at(
    counts: OrderedCounts, rate: Fraction, interpolation: Interpolation
) -> tuple[Exact, Exact]:
    """Return the count of normals at a true positive rate, at the left of a horizontal step."""
    goal, divisor = at_fraction(rate, counts.n_anomalies)
    right = first_reaching(counts.tps, goal, divisor)
    if interpolation == "conservative" or right == 0:
        return entry(counts.fps, right), 1
    return height(counts.tps, counts.fps, right - 1, goal, divisor)


MEASURES = (TPR_AT_FPR, FPR_AT_TPR)

"""The area under the ROC curve over the logarithm of the false positive rate."""

import math
from fractions import Fraction

from fastad._core.arrays import as_readonly
from fastad._core.declared import OpenRate, Rate
from fastad._core.types import ArrayLike, Label, Point
from fastad._kernels.curves import early
from fastad.measures.measure import Extremes, Measure
from fastad.measures.partial import check_width
from fastad.measures.points import at_fraction, exact, last_within, need_both
from fastad.ordering.counts import OrderedCounts


def _log_auc(counts: OrderedCounts, min_fpr: Fraction, *, max_fpr: Fraction) -> float:
    """Area over a range of the logarithm of the false positive rate."""
    need_both(counts, "log_auc")
    check_width(min_fpr, max_fpr, "min_fpr", "max_fpr")
    start, end = (at_fraction(rate, counts.n_normals) for rate in (min_fpr, max_fpr))
    points = slice(last_within(counts.fps, *start), last_within(counts.fps, *end) + 2)
    fps, tps = (as_readonly(cumulative[points]) for cumulative in (counts.fps, counts.tps))
    left, right = (float(rate * exact(counts.n_normals)) for rate in (min_fpr, max_fpr))
    right = max(right, math.nextafter(left, math.inf))
    inside = early.logarithmic_area_between(fps, tps, left, right)
    # The ends between which is integrated; either form is right where it is used.
    near = right < 2 * left
    width = math.log1p((right - left) / left) if near else math.log(right) - math.log(left)
    return min(inside / (counts.n_anomalies * width), 1.0)


LOG_AUC = Measure(
    name="log_auc",
    title="area under the ROC curve over the logarithm of the false positive rate",
    key="auc_log@",
    compute=_log_auc,
    parameters={"min_fpr": OpenRate(default=0.001), "max_fpr": Rate(default=0.1)},
    operating_point="min_fpr",
    default_points=(Fraction(1, 1000),),
    rises_with_curve=True,
    extremes=Extremes(exact=False, corners=True),
)


def log_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    min_fpr: Point = 0.001,
    max_fpr: Point = 0.1,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Area under the ROC curve over the logarithm of the false positive rate.

    The integral of TPR over log(FPR) from ``min_fpr`` to ``max_fpr``, on the interpolated curve,
    divided by the width log(max_fpr / min_fpr): the mean TPR where each decade of the FPR counts
    the same.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    min_fpr : float, default 0.001
        Lower end of the range, in (0, 1), taken as the decimal that is written.
    max_fpr : float, default 0.1
        Upper end of the range, in (0, 1].
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
        If a class is absent, or the range has no width.

    Notes
    -----
    Each straight piece of the curve is integrated in closed form.

    References
    ----------
    .. [1] M. M. Mysinger and B. K. Shoichet, "Rapid context-dependent ligand desolvation in
       molecular docking", Journal of Chemical Information and Modeling 50, 2010.
    .. [2] J. Mendenhall and J. Meiler, "Improving quantitative structure-activity relationship
       models using artificial neural networks trained with dropout", Journal of Computer-Aided
       Molecular Design 30, 2016.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 1, 1], [1, 2, 3, 5, 4, 6]
    >>> round(fastad.measures.log_auc(y_true, y_score, min_fpr=0.1, max_fpr=1), 6)
    0.80103
    """
    return LOG_AUC.of(y_true, y_score, sample_weight, pos_label, min_fpr=min_fpr, max_fpr=max_fpr)


MEASURES = (LOG_AUC,)

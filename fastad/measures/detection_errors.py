"""The detection error trade-off, and the rate at which both errors are equally frequent."""

from bisect import bisect_left

from fastad._core.types import ArrayLike, Label
from fastad.measures.measure import POINT, Measure
from fastad.measures.points import (
    Exact,
    entry,
    fractions_of,
    need_both,
    plain,
    quotient,
    thresholds_from_infinity,
)
from fastad.measures.results import DetCurve
from fastad.ordering.counts import OrderedCounts


def _det_curve(counts: OrderedCounts) -> DetCurve:
    need_both(counts, "det_curve")
    fnr = fractions_of(counts.n_anomalies - counts.tps, counts.n_anomalies)
    return DetCurve.of(
        fractions_of(counts.fps, counts.n_normals), fnr, thresholds_from_infinity(counts)
    )


DET_CURVE = Measure(
    name="det_curve",
    title="detection error trade-off",
    key="det",
    compute=_det_curve,
    kind="curve",
    higher_is_better=None,
)


def det_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> DetCurve:
    """Detection error trade-off: false negative against false positive rate.

    Commonly drawn on normal-deviate axes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    DetCurve
        ``fpr``, ``fnr`` and ``thresholds``, by falling threshold.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] A. Martin et al., "The DET curve in assessment of detection task performance", 1997.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.det_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).fnr
    array([1. , 0.5, 0.5, 0. , 0. ])
    """
    return DET_CURVE.of(y_true, y_score, sample_weight, pos_label)


def _equal_error_rate(counts: OrderedCounts) -> float:
    need_both(counts, "equal_error_rate")
    n, m = plain(counts.n_anomalies), plain(counts.n_normals)

    def excess(point: int) -> Exact:
        """FPR - FNR, which rises from -1 to 1, in pairs of an anomaly and a normal sample."""
        return entry(counts.fps, point) * n + (entry(counts.tps, point) - n) * m

    points = range(counts.fps.shape[0])
    right = bisect_left(points, 1, key=lambda point: excess(point) >= 0)
    ends = entry(counts.fps, right - 1), entry(counts.fps, right)
    return equal_rate(*ends, excess(right - 1), excess(right), m)


def equal_rate(start: Exact, end: Exact, below: Exact, above: Exact, n_normals: Exact) -> float:
    """Return the FPR at which FPR - FNR is 0 on a straight piece, from its values at both ends.

    False positives are given, and FPR - FNR in any unit.
    """
    return quotient(start * above - end * below, n_normals * (above - below))


EQUAL_ERROR_RATE = Measure(
    name="equal_error_rate",
    title="error rate where false positives and false negatives are equally frequent",
    key="eer",
    compute=_equal_error_rate,
    higher_is_better=False,
    rises_with_curve=True,
    extremes=POINT,
)


def equal_error_rate(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Error rate where false positive and false negative rate are equal.

    Read from the interpolated ROC curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1]; lower is better.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 1.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.equal_error_rate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5
    """
    return EQUAL_ERROR_RATE.of(y_true, y_score, sample_weight, pos_label)


MEASURES = (DET_CURVE, EQUAL_ERROR_RATE)

"""The best of all thresholds, by a criterion of the ROC curve, F1 or costs."""

from fractions import Fraction

from fastad._core.declared import Choice, Positive, Prevalence
from fastad._core.types import (
    ArrayLike,
    CountVector,
    FloatVector,
    Label,
    Point,
    Threshold,
    ThresholdCriterion,
)
from fastad.errors import InvalidInputError
from fastad.measures.best_thresholds import BEST_F1
from fastad.measures.costs import MIN_DETECTION_COST
from fastad.measures.measure import Measure
from fastad.measures.points import best_point, exact, need_both
from fastad.ordering.counts import OrderedCounts

# What each criterion reads beside the counts.
_OPTIONS = {
    "youden": (),
    "closest": (),
    "f1": ("prevalence",),
    "cost": ("prevalence", "cost_miss", "cost_false_alarm"),
}


def _best_threshold(
    counts: OrderedCounts, criterion: ThresholdCriterion, **options: Fraction | None
) -> Threshold:
    """Threshold that is the best one by a criterion."""
    need_both(counts, "best_threshold")
    given = {name: option for name, option in options.items() if option is not None}
    for name in given:
        if name not in _OPTIONS[criterion]:
            raise InvalidInputError(
                f"{name} must not be given with criterion={criterion!r}, which does not read it; "
                f"found {float(given[name]):g}",
                argument=name,
            )
    if criterion == "closest":
        return counts.threshold(_closest_point(counts))
    if criterion == "f1":
        return BEST_F1.compute(counts, prevalence=given.get("prevalence")).threshold
    if criterion == "youden":
        # At equal weights of both rates the cost is 1 - J.
        given = {"prevalence": Fraction(1, 2)}
    return MIN_DETECTION_COST.compute(counts, **MIN_DETECTION_COST.check(given)).threshold


def _closest_point(counts: OrderedCounts) -> int:
    """Return the point of the ROC curve that is closest to FPR 0, TPR 1."""
    n, m = exact(counts.n_anomalies), exact(counts.n_normals)
    about_n, about_m = float(n), float(m)

    def nearness(fps: CountVector, tps: CountVector) -> FloatVector:
        return -((1 - tps / about_n) ** 2) - (fps / about_m) ** 2

    def exact_nearness(fp: Fraction, tp: Fraction) -> Fraction:
        return -((1 - tp / n) ** 2) - (fp / m) ** 2

    return best_point(counts, nearness, exact_nearness, scale=1.0)


# No measure of a detector, and so not listed with them.
_BEST_THRESHOLD = Measure(
    name="best_threshold",
    title="threshold that is the best one by a criterion",
    key="threshold_best",
    compute=_best_threshold,
    parameters={
        "criterion": Choice.of("youden", "closest", "f1", "cost"),
        "prevalence": Prevalence(),
        "cost_miss": Positive(default=None),
        "cost_false_alarm": Positive(default=None),
    },
    kind="threshold",
)


def best_threshold(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    criterion: ThresholdCriterion = "youden",
    prevalence: Point | None = None,
    cost_miss: Point | None = None,
    cost_false_alarm: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Threshold:
    """Threshold that is the best of all by a criterion.

    Of equally good ones the highest, which flags the fewest samples. It is chosen with the labels:
    what it reaches on them is optimistic.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    criterion : {"youden", "closest", "f1", "cost"}, default "youden"
        ``"youden"``: highest TPR - FPR, Youden's index. ``"closest"``: lowest distance of the point
        of the ROC curve to FPR 0, TPR 1. ``"f1"``: highest F1, as `best_f1`. ``"cost"``: lowest
        cost, as `min_detection_cost`.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) where the detector is used, for ``"f1"`` and ``"cost"``; by
        default as they are.
    cost_miss : float, optional
        Cost of an anomaly that is not flagged, above 0, for ``"cost"``; by default 1.
    cost_false_alarm : float, optional
        Cost of a normal sample that is flagged, above 0, for ``"cost"``; by default 1.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float, int
        A score that occurs; +inf where nothing is better than to flag no sample.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    References
    ----------
    .. [1] W. J. Youden, "Index for rating diagnostic tests", Cancer 3, 1950.
    .. [2] N. J. Perkins and E. F. Schisterman, "The inconsistency of 'optimal' cutpoints obtained
       using two criteria based on the receiver operating characteristic curve", American Journal
       of Epidemiology 163, 2006.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 1, 1], [1, 2, 3, 5, 4, 6]
    >>> fastad.measures.best_threshold(y_true, y_score, criterion="youden")
    4
    >>> fastad.measures.best_threshold(y_true, y_score, criterion="cost", prevalence=0.2)
    6
    """
    return _BEST_THRESHOLD.of(
        y_true,
        y_score,
        sample_weight,
        pos_label,
        criterion=criterion,
        prevalence=prevalence,
        cost_miss=cost_miss,
        cost_false_alarm=cost_false_alarm,
    )

"""``interval``: how sure one number is."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._arguments import check_choice, check_count, check_flag, check_generator, check_inside
from fastad._threads import thread_limit
from fastad._types import FloatVector, Label, Point
from fastad.certainty.asked import Asked, ask
from fastad.certainty.bootstrap import acceleration, basic, bias_corrected, percentile
from fastad.certainty.delong import logit_interval, pairs_interval, plain_interval, variance
from fastad.certainty.influence import influence
from fastad.certainty.methods import LEAST, METHODS, RESAMPLING, check_method, chosen_method
from fastad.certainty.order_interval import order_interval
from fastad.certainty.proportions import BINOMIAL, Bounds
from fastad.certainty.rates import SHARES
from fastad.certainty.replicates import need_whole, plan, ranking_alone, replicate_values
from fastad.counts import OrderedCounts, count
from fastad.errors import LowCoverageWarning, UndefinedMeasureError
from fastad.measures.operating import confusion_at
from fastad.results import Interval

IntervalMethod: TypeAlias = Literal[
    "auto",
    "delong",
    "logit",
    "order",
    "wilson",
    "clopper-pearson",
    "jeffreys",
    "bootstrap",
    "basic",
    "bca",
]

# So many resamples fix the ends of an interval at 95 % to a fifteenth of the standard deviation.
N_RESAMPLES = 2000


def interval(
    measure: str,
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    method: IntervalMethod = "auto",
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    stratified: bool = True,
    rng: int | np.random.Generator | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    **operating_point: Any,
) -> Interval:
    """Confidence interval of a measure.

    Parameters
    ----------
    measure : str
        Label such as ``"auc"`` or ``"tpr@0.01"``; name of a function that returns a number, such
        as ``"tpr_at_fpr"``, with its operating point and options as further arguments; or, with
        ``threshold=``, a rate of `fastad.Confusion` such as ``"tpr"`` or ``"precision"``.
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    method : str, default "auto"
        ``"delong"``
            Normal interval from DeLong's placements, for partial areas, average precision and
            other smooth measures from the influence of each point; clipped to the measure's range.
        ``"logit"``
            The same on the scale of the log odds.
        ``"order"``
            For the TPR at an FPR and the FPR at a TPR: the exact laws of the threshold, which
            lies between two scores, and of the rate at it.
        ``"wilson"``, ``"clopper-pearson"``, ``"jeffreys"``
            Binomial, for a rate at a threshold that was fixed beforehand.
        ``"bootstrap"``, ``"basic"``
            Percentile and basic bootstrap, for every measure.
        ``"bca"``
            Bias-corrected and accelerated bootstrap, for smooth measures.
        ``"auto"``
            The method with the narrowest intervals of those that held the truth often enough on
            generated data like these; warns where none did in 90 % of the cases at 95 %.
    confidence_level : float, default 0.95
        How often such intervals are to hold the truth, in (0, 1).
    n_resamples : int, default 2000
        Replicates of a bootstrap.
    stratified : bool, default True
        Whether a bootstrap draws from each class by itself; otherwise the number of anomalies
        varies too.
    rng : int or numpy.random.Generator, optional
        Seed or generator of a bootstrap.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers: a weight k counts the row k times, 0 leaves it out.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over replicates; the same seed gives the same interval for any number.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ``threshold=0.5``, ….

    Returns
    -------
    Interval
        ``value``, ``low``, ``high``, and the ``method``.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If the measure is undefined, if a class has fewer than two points, or if more than half
        of the replicates leave the measure undefined.

    Warns
    -----
    LowCoverageWarning
        If no method is known to hold the truth often enough, or the interval has no width.

    Notes
    -----
    Scores are ordered once, in O(n log n); a replicate takes O(n). Everything else is O(n). All
    points are taken to be independent. An area under the ROC of 1 gets an interval too: a lower
    bound from pairs of points that share none (method ``"pairs"``).

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves", Biometrics 44, 1988.
    .. [2] T. J. DiCiccio and B. Efron, "Bootstrap confidence intervals", Statistical Science 11,
       1996.
    .. [3] L. D. Brown, T. T. Cai and A. DasGupta, "Interval estimation for a binomial
       proportion", Statistical Science 16, 2001.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 50 + [1] * 50
    >>> scores = [*range(50), *range(30, 80)]
    >>> print(fastad.interval("auc", labels, scores, method="delong"))
    0.9200 [0.8735, 0.9665]
    """
    asked = ask(measure, operating_point)
    wanted = check_wanted(method, confidence_level, n_resamples, stratified, rng)
    if wanted.method != "auto":
        check_method(wanted.method, asked)
    with thread_limit(n_threads):
        counts = count(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label)
        found = intervals_of(counts, [asked], wanted)[0]
    if isinstance(found, UndefinedMeasureError):
        raise found
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What kind of interval is wanted, checked.

    Attributes
    ----------
    method : str
        One of the methods, or "auto".
    level : Fraction
        Confidence level.
    n_resamples, stratified, rng
        Of a bootstrap.
    """

    method: str
    level: Fraction
    n_resamples: int
    stratified: bool
    rng: np.random.Generator

    @property
    def doubt(self) -> float:
        """Probability that the interval may fail."""
        return float(1 - self.level)


def check_wanted(
    method: str,
    confidence_level: Point,
    n_resamples: int,
    stratified: bool,  # noqa: FBT001 - as the user gave it
    rng: int | np.random.Generator | None,
) -> Wanted:
    """Check the options of an interval."""
    return Wanted(
        check_choice(method, ("auto", *METHODS), "method"),
        check_inside(confidence_level, "confidence_level"),
        check_count(n_resamples, "n_resamples"),
        check_flag(stratified, "stratified"),
        check_generator(rng),
    )


def intervals_of(
    counts: OrderedCounts, asked: Sequence[Asked], wanted: Wanted
) -> list[Interval | UndefinedMeasureError]:
    """Return the interval of each measure, or why there is none; all share their replicates."""
    need_whole(counts)
    tasks = [_task(counts, one, wanted) for one in asked]
    drawn = [
        task for task in tasks if isinstance(task, Task) and task.method in RESAMPLING
    ]
    if drawn:
        resamples = plan(counts, wanted.n_resamples, wanted.rng, stratified=wanted.stratified)
        values = replicate_values(
            ranking_alone(counts), [task.asked for task in drawn], resamples
        )
        replicates = dict(zip(map(id, drawn), values, strict=True))
    return [
        task
        if isinstance(task, UndefinedMeasureError)
        else finish(counts, task, wanted, replicates.get(id(task)) if drawn else None)
        for task in tasks
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A measure that is defined, its value, and the method for its interval."""

    asked: Asked
    value: float
    method: str


def _task(counts: OrderedCounts, asked: Asked, wanted: Wanted) -> Task | UndefinedMeasureError:
    try:
        value = asked.value(counts)
    except UndefinedMeasureError as error:
        return error
    method = wanted.method
    if method == "auto":
        method, held = chosen_method(asked, counts)
        if held < LEAST:
            warnings.warn(
                f"of {int(counts.n_anomalies)} anomalies, 95 % intervals of {asked.label} hold "
                f"the truth in {held:.0%} of the cases with the best method, {method!r}",
                LowCoverageWarning,
                stacklevel=5,
            )
    if method not in (*BINOMIAL, "order") and min(counts.n_anomalies, counts.n_normals) < 2:
        return UndefinedMeasureError(
            f"an interval of {asked.label} needs two points of each class; found "
            f"{counts.n_anomalies} anomalies and {counts.n_normals} normal points"
        )
    return Task(asked, value, method)


def finish(
    counts: OrderedCounts, task: Task, wanted: Wanted, replicates: FloatVector | None
) -> Interval | UndefinedMeasureError:
    """Return the interval of a measure, from its replicates where its method needs them."""
    n_undefined = 0
    if replicates is not None:
        defined = replicates[~np.isnan(replicates)]
        n_undefined = replicates.shape[0] - defined.shape[0]
        if 2 * n_undefined > replicates.shape[0]:
            return UndefinedMeasureError(
                f"an interval of {task.asked.label} needs the measure on resamples; it is "
                f"undefined on {n_undefined} of {replicates.shape[0]}"
            )
        low, high = _from_replicates(counts, task, defined, wanted.doubt)
    else:
        low, high = _CLOSED_FORMS[task.method](counts, task, wanted)
    method = task.method
    if low == high and task.asked.measure.name == "roc_auc":
        method, (low, high) = "pairs", pairs_interval(task.value, counts, wanted.doubt)
    elif low == high:
        warnings.warn(
            f"nothing varies in {task.asked.label} = {task.value:g}, so that its interval has no "
            "width; that does not make it certain",
            LowCoverageWarning,
            stacklevel=5,
        )
    n_resamples = 0 if replicates is None else wanted.n_resamples
    return Interval(
        task.value, low, high, float(wanted.level), method, n_resamples, n_undefined
    )


def _from_replicates(
    counts: OrderedCounts, task: Task, replicates: FloatVector, doubt: float
) -> Bounds:
    if task.method == "bca":
        skewed = acceleration(counts, influence(counts, task.asked))
        return bias_corrected(task.value, replicates, skewed, doubt)
    if task.method == "basic":
        low, high = basic(task.value, replicates, doubt)
        lowest, highest = task.asked.bounds
        return max(low, lowest), min(high, highest)
    return percentile(replicates, doubt)


def _smooth(transform: Callable[[float, float, Bounds, float], Bounds]) -> "_ClosedForm":
    def ends(counts: OrderedCounts, task: Task, wanted: Wanted) -> Bounds:
        deviation = math.sqrt(variance(counts, influence(counts, task.asked)))
        return transform(task.value, deviation, task.asked.bounds, wanted.doubt)

    return ends


def _binomial(bounds: Callable[[float, float, float], Bounds]) -> "_ClosedForm":
    def ends(counts: OrderedCounts, task: Task, wanted: Wanted) -> Bounds:
        confusion = confusion_at(counts, threshold=task.asked.options["threshold"])
        part, whole = SHARES[task.asked.measure.name](confusion)
        return bounds(part, whole, wanted.doubt)

    return ends


def _order(counts: OrderedCounts, task: Task, wanted: Wanted) -> Bounds:
    return order_interval(counts, task.asked, wanted.level)


_ClosedForm: TypeAlias = Callable[[OrderedCounts, Task, Wanted], Bounds]
_CLOSED_FORMS: Mapping[str, _ClosedForm] = MappingProxyType(
    {
        "delong": _smooth(plain_interval),
        "logit": _smooth(logit_interval),
        "order": _order,
        **{name: _binomial(bounds) for name, bounds in BINOMIAL.items()},
    }
)

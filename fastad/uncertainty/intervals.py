"""``interval``: how sure one number is."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import N_RESAMPLES
from fastad._core.threads import thread_limit
from fastad._core.types import IntervalMethod, Label, Point
from fastad.errors import LowCoverageWarning, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count
from fastad.uncertainty.estimation import Wanted, check_wanted, intervals_of
from fastad.uncertainty.methods import check_method
from fastad.uncertainty.results import Interval


def interval(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    measure: str,
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
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    measure : str
        Label such as ``"auc"`` or ``"tpr@0.01"``; name of a function that returns a number, such
        as ``"tpr_at_fpr"``, with its operating point and options as further arguments; or, with
        ``threshold=``, a rate of `fastad.measures.Confusion` such as ``"tpr"`` or ``"precision"``.
    method : str, default "auto"
        ``"delong"``
            Normal interval from DeLong's placements, for partial areas, average precision and
            other smooth measures from the influence of each point; clipped to the measure's range.
        ``"logit"``
            The same on the scale of the log odds.
        ``"newcombe"``
            For the area under the ROC: Newcombe's score interval, for few anomalies and areas
            near 1.
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
    .. [4] R. G. Newcombe, "Confidence intervals for an effect size measure based on the
       Mann-Whitney statistic. Part 2", Statistics in Medicine 25, 2006.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 50 + [1] * 50
    >>> scores = [*range(50), *range(30, 80)]
    >>> print(fastad.interval(labels, scores, measure="auc", method="delong"))
    0.9200 [0.8716, 0.9684]
    """
    question = check_question(
        measure,
        operating_point,
        method,
        confidence_level,
        n_resamples,
        rng,
        stratified=stratified,
    )
    with thread_limit(n_threads):
        counts = count(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label)
        return interval_of(counts, *question)


def check_question(
    measure: str,
    options: Mapping[str, Any],
    method: str,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    *,
    stratified: bool,
) -> tuple[BoundMeasure, Wanted]:
    """Check which interval of what is wanted."""
    asked = bind(measure, options)
    wanted = check_wanted(method, confidence_level, n_resamples, rng, stratified=stratified)
    check_method(wanted.method, asked)
    return asked, wanted


def interval_of(counts: OrderedCounts, asked: BoundMeasure, wanted: Wanted) -> Interval:
    """Return the interval of one measure; warn of one that should not be taken at its word.

    For a function that users call: the warning names the line that called it.
    """
    found = intervals_of(counts, [asked], wanted)[0]
    if isinstance(found, UndefinedMeasureError):
        raise found
    if found.reliability_note is not None:
        warnings.warn(f"{asked.key}: {found.reliability_note}", LowCoverageWarning, stacklevel=3)
    return found

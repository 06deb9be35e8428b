"""``compare``: whether one detector is better than another, and by how much."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from fastad._core.parameters import (
    N_RESAMPLES,
    check_choice,
    check_count,
    check_flag,
    check_inside,
    check_positive,
)
from fastad._core.random import random_key
from fastad._core.threads import thread_limit
from fastad._core.types import ComparisonMethod, FloatVector, Label, Point
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.uncertainty.bootstrap import (
    Ranking,
    percentile,
    plan,
    replicate_values,
    too_few_points,
)
from fastad.uncertainty.influence import INFLUENCES
from fastad.uncertainty.paired import Detectors, order_detectors, permute, row_influences
from fastad.uncertainty.results import Comparison

METHODS = ("auto", "delong", "bootstrap", "permutation")
# With fewer points of a class, intervals of differences are too narrow (see the page on coverage).
_FEW = 30
# Below this share of a measure's range a standard deviation is what rounding leaves of none.
_ROUNDING = 1e-12


def compare(
    y_true: npt.ArrayLike,
    scores_a: npt.ArrayLike,
    scores_b: npt.ArrayLike,
    *,
    measure: str,
    method: ComparisonMethod = "auto",
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    stratified: bool = True,
    rng: int | np.random.Generator | None = None,
    min_difference: Point | None = None,
    power: Point = 0.8,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    **operating_point: Any,
) -> Comparison:
    """Compare two detectors on the same points.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    scores_a, scores_b : array-like of shape (n_samples,)
        Anomaly scores of the two detectors, higher is more anomalous, each in a unit of its own.
    measure : str
        What to compare: a label, or a name with its operating point, as for `interval`.
    method : {"auto", "delong", "bootstrap", "permutation"}, default "auto"
        ``"delong"``
            Normal law with DeLong's paired variance; for smooth measures.
        ``"bootstrap"``
            Percentiles of the differences on replicates of the points, the same for both.
        ``"permutation"``
            The ranks that the two give a point are exchanged at random: the law of the
            difference if the detectors are alike. All permutations where they are few.
        ``"auto"``
            Permutations with fewer than 30 points of a class, where only they keep to their
            level; else DeLong's for smooth measures and the bootstrap for the others.
    confidence_level : float, default 0.95
        Of the interval of the difference, in (0, 1).
    n_resamples : int, default 2000
        Replicates or permutations.
    stratified : bool, default True
        Whether the bootstrap draws from each class by itself.
    rng : int or numpy.random.Generator, optional
        Seed or generator of replicates and permutations.
    min_difference : float, optional
        The smallest difference that matters to you; the result then says how many anomalies it
        takes to see it.
    power : float, default 0.8
        How probable it is to be to see that difference, in (0, 1).
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over replicates; the same seed gives the same result for any number.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    Comparison
        ``difference`` (a - b), ``low``, ``high``, ``p_value``, the ``verdict`` in words, and with
        ``min_difference`` the ``required_anomalies``.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If the measure is undefined, or a class has fewer than two points (one, for
        permutations).

    Notes
    -----
    O(n log n), and O(n) for each replicate or permutation. If nothing varies in the difference,
    DeLong's p-value is 1 where the detectors are equal and 0 where they are not. The interval of
    a permutation test is the difference with the spread that permutations have around 0. Numbers
    of anomalies are for the normal law of the difference, with the variance that it has here.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves", Biometrics 44, 1988.
    .. [2] E. S. Venkatraman and C. B. Begg, "A distribution-free procedure for comparing receiver
       operating characteristic curves from a paired experiment", Biometrika 83, 1996.
    .. [3] B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", 2010.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 50 + [1] * 50
    >>> good, bad = range(100), [x * 7 % 100 for x in range(100)]
    >>> found = fastad.compare(labels, good, bad, measure="auc")
    >>> found.is_significant, found.method
    (True, 'delong')
    """
    asked = bind(measure, operating_point)
    wanted = check_comparison(
        asked,
        method,
        confidence_level,
        n_resamples,
        rng,
        stratified=stratified,
        min_difference=min_difference,
        power=power,
    )
    with thread_limit(n_threads):
        labels = check_labels(y_true, pos_label=pos_label)
        detectors = order_detectors(
            labels, [("a", "scores_a", scores_a), ("b", "scores_b", scores_b)]
        )
        return compare_pairs(detectors, asked, wanted)[0]


@dataclass(frozen=True, slots=True, eq=False)
class WantedComparison:
    """What kind of comparison is wanted, checked."""

    method: str
    level: Fraction
    n_resamples: int
    stratified: bool
    key: np.uint64
    min_difference: Fraction | None
    power: Fraction

    @property
    def doubt(self) -> float:
        """Probability that an interval may fail."""
        return float(1 - self.level)


class _Estimate(NamedTuple):
    """What a method finds of one pair."""

    low: float
    high: float
    p_value: float
    variance: float
    method: str
    n_resamples: int = 0
    n_undefined: int = 0


def check_comparison(
    asked: BoundMeasure,
    method: str,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
    *,
    stratified: bool,
    min_difference: Point | None,
    power: Point,
) -> WantedComparison:
    """Check the options of a comparison."""
    check_choice(method, METHODS, "method")
    smooth = asked.measure.name in INFLUENCES
    if method == "delong" and not smooth:
        raise InvalidInputError(
            f"method='delong' needs a smooth measure, which {asked.measure.name} is not; "
            "give 'bootstrap' or 'permutation'",
            argument="method",
        )
    smallest = None
    if min_difference is not None:
        smallest = check_positive(min_difference, "min_difference")
    return WantedComparison(
        method,
        check_inside(confidence_level, "confidence_level"),
        check_count(n_resamples, "n_resamples"),
        check_flag(stratified, "stratified"),
        random_key(rng),
        smallest,
        check_inside(power, "power"),
    )


def compare_pairs(
    detectors: Detectors, asked: BoundMeasure, wanted: WantedComparison
) -> list[Comparison]:
    """Compare every two of the detectors; all share their replicates."""
    method = wanted.method
    if method == "auto":
        method = _best_method(detectors, asked)
    few = too_few_points(f"a comparison of {asked.key}", detectors.n_anomalies, detectors.n_normals)
    if method != "permutation" and few is not None:
        raise few
    values = [
        _value(asked, ranking, shown)
        for ranking, shown in zip(detectors.rankings, detectors.shown, strict=True)
    ]
    pairs = list(combinations(range(len(values)), 2))
    differences = [values[i] - values[j] for i, j in pairs]
    estimates = _METHODS[method](detectors, asked, wanted, pairs, differences)
    return [
        Comparison(
            difference=difference,
            low=estimate.low,
            high=estimate.high,
            p_value=estimate.p_value,
            method=estimate.method,
            confidence_level=float(wanted.level),
            measure=asked.key,
            higher_is_better=bool(asked.measure.higher_is_better),
            names=(detectors.names[i], detectors.names[j]),
            values=(values[i], values[j]),
            n_anomalies=detectors.n_anomalies,
            n_normals=detectors.n_normals,
            min_difference=None if wanted.min_difference is None else float(wanted.min_difference),
            power=float(wanted.power),
            required_anomalies=_anomalies_needed(detectors.n_anomalies, estimate.variance, wanted),
            n_resamples=estimate.n_resamples,
            n_undefined=estimate.n_undefined,
        )
        for (i, j), difference, estimate in zip(pairs, differences, estimates, strict=True)
    ]


def _value(asked: BoundMeasure, ranking: Ranking, shown: str) -> float:
    try:
        return asked.value(ranking.counts)
    except InvalidInputError as error:
        # A measure of values, which these scores violate.
        raise InvalidInputError(str(error).replace("y_score", shown)) from None


def _best_method(detectors: Detectors, asked: BoundMeasure) -> str:
    few = min(detectors.n_anomalies, detectors.n_normals) < _FEW
    if few and asked.reads_ranks:
        return "permutation"
    return "delong" if asked.measure.name in INFLUENCES else "bootstrap"


def _delong(
    detectors: Detectors,
    asked: BoundMeasure,
    wanted: WantedComparison,
    pairs: Sequence[tuple[int, int]],
    differences: Sequence[float],
) -> list[_Estimate]:
    influences = [row_influences(ranking, asked) for ranking in detectors.rankings]
    quantile = -float(ndtri(wanted.doubt / 2))
    low, high = asked.bounds
    rounding = _ROUNDING * min(1.0, high - low)
    estimates = []
    for (i, j), difference in zip(pairs, differences, strict=True):
        # Of the difference itself: detectors that are equal leave no rounding.
        variance = sum(
            float(np.var(first - second, ddof=1)) / first.shape[0]
            for first, second in zip(influences[i], influences[j], strict=True)
        )
        deviation = math.sqrt(variance)
        if deviation > rounding:
            p_value = 2 * float(ndtr(-abs(difference) / deviation))
        else:
            p_value = float(abs(difference) <= rounding)
        half = quantile * deviation
        estimates.append(
            _Estimate(difference - half, difference + half, p_value, variance, "delong")
        )
    return estimates


def _bootstrap(
    detectors: Detectors,
    asked: BoundMeasure,
    wanted: WantedComparison,
    pairs: Sequence[tuple[int, int]],
    differences: Sequence[float],
) -> list[_Estimate]:
    resamples = plan(
        detectors.rankings[0].counts, wanted.n_resamples, wanted.key, stratified=wanted.stratified
    )
    replicates = [
        replicate_values(ranking, [asked], resamples)[0] for ranking in detectors.rankings
    ]
    estimates = []
    for i, j in pairs:
        drawn = replicates[i] - replicates[j]
        defined = _defined(drawn, asked)
        low, high = percentile(defined, wanted.doubt)
        # The interval leaves 0 out from this confidence on.
        sides = np.count_nonzero(defined <= 0), np.count_nonzero(defined >= 0)
        p_value = min(1.0, 2 * (1 + min(sides)) / (1 + defined.shape[0]))
        n_undefined = drawn.shape[0] - defined.shape[0]
        variance = float(np.var(defined, ddof=1)) if defined.shape[0] > 1 else 0.0
        estimates.append(
            _Estimate(low, high, p_value, variance, "bootstrap", drawn.shape[0], n_undefined)
        )
    return estimates


def _permutation(
    detectors: Detectors,
    asked: BoundMeasure,
    wanted: WantedComparison,
    pairs: Sequence[tuple[int, int]],
    differences: Sequence[float],
) -> list[_Estimate]:
    estimates = []
    for pair, difference in zip(pairs, differences, strict=True):
        null = permute(detectors, pair, asked, wanted.n_resamples, wanted.key)
        n_tried = null.values.shape[0] + null.n_undefined
        if 2 * null.n_undefined > n_tried:
            _refuse_undefined(asked, null.n_undefined, n_tried)
        half = float(np.quantile(np.abs(null.values), 1 - wanted.doubt))
        estimates.append(
            _Estimate(
                difference - half,
                difference + half,
                null.p_value(difference),
                float(np.mean(null.values**2)),
                "exact permutation" if null.exact else "permutation",
                n_tried,
                null.n_undefined,
            )
        )
    return estimates


_METHODS = {"delong": _delong, "bootstrap": _bootstrap, "permutation": _permutation}


def _defined(values: FloatVector, asked: BoundMeasure) -> FloatVector:
    defined = values[~np.isnan(values)]
    if 2 * defined.shape[0] < values.shape[0]:
        _refuse_undefined(asked, values.shape[0] - defined.shape[0], values.shape[0])
    return defined


def _refuse_undefined(asked: BoundMeasure, n_undefined: int, n_tried: int) -> None:
    raise UndefinedMeasureError(
        f"a comparison of {asked.key} needs the measure on resamples; it is undefined on "
        f"{n_undefined} of {n_tried}"
    )


def _anomalies_needed(n_anomalies: int, variance: float, wanted: WantedComparison) -> int | None:
    """Return with how many anomalies the smallest difference is seen with the power.

    With so many times the points of both classes the variance is so many times smaller.
    """
    if wanted.min_difference is None:
        return None
    reach = float(ndtri(float(wanted.power)) - ndtri(wanted.doubt / 2))
    needed = n_anomalies * variance * (reach / float(wanted.min_difference)) ** 2
    return max(2, math.ceil(needed))

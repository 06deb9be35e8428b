"""Measures that a user makes: ``from_counts`` declares a function of confusion counts as one."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from fastad._core.declared import Integer, Rate, ThresholdValue
from fastad._core.parameters import (
    check_choice,
    check_flag,
    check_type,
    exact_number,
    nearest_float,
    short_repr,
)
from fastad._core.types import BoolVector, FloatVector, Threshold
from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError
from fastad.measures.counts_function import CountsFunction
from fastad.measures.flagged import flagging_most_normals, points_flagged
from fastad.measures.measure import UNPROVEN, Extremes, Measure
from fastad.measures.points import (
    exact,
    flagged_at,
    hits_among,
    k_or_anomalies,
    last_flagging,
    need_normals,
    part_around_fpr,
    thresholds_from_infinity,
)
from fastad.measures.rates import RATES
from fastad.measures.registry import MEASURES
from fastad.measures.results import CountsCurve, ValueAtThreshold
from fastad.measures.thresholds import last_point
from fastad.ordering.counts import OrderedCounts

At = Literal["fpr", "threshold", "k", "best", "curve"]

_POINTS = ("fpr", "threshold", "k", "best", "curve")
# A derivative is a difference over this fraction of a class: its error, of the square, and the
# error of rounding over the step are about equal.
_STEP = 1e-5


def from_counts(
    name: str,
    function: Callable[..., Any],
    *,
    at: At,
    higher_is_better: bool | None = True,
    value_range: tuple[float, float] = (-math.inf, math.inf),
    monotone: bool = False,
    takes_threshold: bool = False,
) -> Measure[Any]:
    """Make a measure of a function of confusion counts.

    The result can take the place of a measure's key in `fastad.evaluate`, `fastad.interval`,
    `fastad.compare`, `fastad.chance_level`, sketches and scorers. It is computed by
    ``measure.of(y_true, y_score)``, with its operating point as a keyword.

    Parameters
    ----------
    name : str
        Name of the measure, an identifier that no measure of fastad has; also its key in tables.
    function : callable
        ``function(tp, fp, n_anomalies, n_normals)``: arrays of shape (n_points,) of the flagged
        anomalies and the flagged normals, floats that need not be integers, and the sizes of both
        classes; returns an array of shape (n_points,). A function that Numba has compiled takes
        numbers of one point and returns a number. NaN stands for undefined, and is refused where
        none of the four confusion counts is 0. It must depend on nothing else; threads may call it
        at once.
    at : {"fpr", "threshold", "k", "best", "curve"}
        ``"fpr"``
            At the threshold that flags at most a fraction ``fpr`` of the normals.
        ``"threshold"``
            At a ``threshold`` that was fixed beforehand.
        ``"k"``
            Among the ``k`` highest scores, by default as many as there are anomalies; at a tied cut
            of the expected counts.
        ``"best"``
            The best value over all thresholds, with its threshold.
        ``"curve"``
            The values at all thresholds: a `CountsCurve`.
    higher_is_better : bool or None, default True
        Direction of merit; None where there is none.
    value_range : (float, float), default (-inf, inf)
        Lowest and highest value that it can have; a value beyond is an error.
    monotone : bool, default False
        Whether it never gets worse with more flagged anomalies or with fewer flagged normals. Then
        sketches have certain bounds on it, and at an FPR it has exact intervals.
    takes_threshold : bool, default False
        Whether the threshold is a fifth argument of the function, an array like the counts.

    Returns
    -------
    Measure
        The declaration: its ``of`` computes it, its ``bind`` fixes the operating point.

    Raises
    ------
    InvalidInputError
        If the function raises, returns another shape, is not a function of each point by itself,
        or is NaN or beyond its range where it must not; the message has the counts. A later
        computation checks the same.

    Notes
    -----
    One call of the function for each value, and for each 32768 points of ``"best"`` and
    ``"curve"``.

    Examples
    --------
    >>> import fastad
    >>> def f2(tp, fp, n_anomalies, n_normals):
    ...     return 5 * tp / (tp + fp + 4 * n_anomalies)
    >>> f2_at_fpr = fastad.measures.from_counts("f2", f2, at="fpr", value_range=(0, 1))
    >>> labels, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> round(f2_at_fpr.of(labels, scores, fpr=0.5), 6)
    0.909091
    >>> fastad.evaluate(labels, scores, measures=["auc", f2_at_fpr], fpr=0.5)["score"]["f2@0.5"]
    0.9090909090909091
    """
    _check_name(name)
    check_choice(at, _POINTS, "at")
    if not callable(function):
        raise InvalidTypeError(f"function must be callable; found {short_repr(function)}")
    if higher_is_better is not None:
        higher_is_better = check_flag(higher_is_better, "higher_is_better")
    of = CountsFunction(
        name,
        function,
        check_flag(takes_threshold, "takes_threshold"),
        _check_value_range(value_range),
        higher_is_better,
    )
    rises = check_flag(monotone, "monotone")
    if rises and (higher_is_better is None or (of.takes_threshold and at != "threshold")):
        reason = "takes_threshold is True" if of.takes_threshold else "higher_is_better is None"
        raise InvalidInputError(
            f"monotone must be False where {reason} and at is {at!r}; found True"
        )
    of.try_out(monotone=rises)
    if at == "best" and higher_is_better is None:
        raise InvalidInputError("higher_is_better must be True or False for at='best'; found None")
    return _declare(of, at, monotone=rises)


def _check_name(name: Any) -> None:
    check_type(name, str, "name", "a string")
    declared = [*MEASURES.values(), *RATES.values()]
    reserved = {text for each in declared for text in (each.name, each.key)}
    reserved |= {each.prefix.partition("@")[0] for each in declared}
    if not name.isidentifier() or name in reserved:
        raise InvalidInputError(
            f"name must be an identifier that no measure of fastad has; found {name!r}"
        )


def _check_value_range(value_range: Any) -> tuple[float, float]:
    try:
        low, high = value_range
    except (TypeError, ValueError):
        raise InvalidTypeError(
            f"value_range must be a pair of numbers; found {short_repr(value_range)}"
        ) from None
    ends = [
        each if each in (math.inf, -math.inf) else nearest_float(exact_number(each, "value_range"))
        for each in (low, high)
    ]
    if not ends[0] < ends[1]:
        raise InvalidInputError(f"value_range must rise; found {short_repr(value_range)}")
    return ends[0], ends[1]


def _at_fpr(counts: OrderedCounts, fpr: Fraction, *, of: CountsFunction) -> float:
    need_normals(counts, of.name)
    return of.at_point(counts, last_point(counts, fpr))


def _of_most_normals(
    counts: OrderedCounts, ties: BoolVector, fpr: Fraction, *, of: CountsFunction
) -> float:
    """Value where a threshold flags the most normals allowed, and no anomaly of their cell."""
    most = flagging_most_normals(counts, ties, fpr)
    return of.at_point(most, last_point(most, fpr))


def _at_threshold(counts: OrderedCounts, threshold: Threshold, *, of: CountsFunction) -> float:
    return of.at_point(counts, points_flagged(counts, threshold), threshold)


def _slopes(
    counts: OrderedCounts, threshold: Threshold, *, of: CountsFunction
) -> tuple[float, float]:
    """Return how the value changes with the flagged fractions of both classes, by differences."""
    point = points_flagged(counts, threshold)
    slopes = []
    totals = counts.n_anomalies, counts.n_normals
    for changed, total in enumerate(totals):
        if total == 0:
            slopes.append(0.0)
            continue
        ends = []
        for step in (-_STEP, _STEP):
            at = [counts.tps.item(point), counts.fps.item(point)]
            at[changed] = min(max(at[changed] + step * total, 0.0), float(total))
            ends.append((at[changed] / total, of.value(counts, at[0], at[1], threshold)))
        slopes.append((ends[1][1] - ends[0][1]) / (ends[1][0] - ends[0][0]))
    return slopes[0], slopes[1]


def _values_at(
    counts: OrderedCounts,
    tps: FloatVector,
    fps: FloatVector,
    *,
    threshold: Threshold,
    of: CountsFunction,
) -> FloatVector:
    thresholds = np.full(tps.shape[0], nearest_float(threshold))
    return of.values(tps, fps, counts.n_anomalies, counts.n_normals, thresholds)


def _at_k(counts: OrderedCounts, k: int | None, *, of: CountsFunction) -> float:
    flagged = k_or_anomalies(counts, k, of.name)
    hits = hits_among(counts, flagged, of.name)
    # The lowest score of which some are among them.
    point = last_flagging(counts, flagged)
    if flagged_at(counts, point) < flagged:
        point = min(point + 1, counts.keys.shape[0])
    return of.value(counts, hits, exact(flagged) - hits, counts.threshold(point))


def _at_best(counts: OrderedCounts, *, of: CountsFunction) -> ValueAtThreshold:
    values = of.at_all(counts)
    merits = values if of.higher_is_better else -values
    undefined = np.isnan(merits)
    if undefined.all():
        raise UndefinedMeasureError(f"{of.name} is undefined at every threshold")
    point = int(np.argmax(np.where(undefined, -np.inf, merits)))
    if undefined[point]:  # all others are the worst value that there is
        point = int(np.argmin(undefined))
    return ValueAtThreshold(values.item(point), counts.threshold(point))


def _at_every(counts: OrderedCounts, *, of: CountsFunction) -> CountsCurve:
    return CountsCurve.of(of.at_all(counts), thresholds_from_infinity(counts))


def _declare(of: CountsFunction, at: At, *, monotone: bool) -> Measure[Any]:
    worst = partial(_of_most_normals, of=of)
    ends: dict[str, Any] = {"lowest" if of.higher_is_better else "highest": worst}
    at_one_point = Extremes(local=True, exact=False)
    where: dict[str, Any] = {
        "fpr": {
            "title": "at a false positive rate",
            "key": f"{of.name}@",
            "compute": _at_fpr,
            "parameters": {"fpr": Rate()},
            "curve_part": part_around_fpr,
            "extremes": Extremes(local=True, exact=False, **ends),
        },
        "threshold": {
            "title": "at a threshold",
            "key": f"{of.name}@threshold",
            "compute": _at_threshold,
            "parameters": {"threshold": ThresholdValue(example=0.5)},
            # A key without a number is that at the thresholds of an evaluation.
            "default_points": (None,),
            "slopes": partial(_slopes, of=of),
            "values_at": partial(_values_at, of=of),
            "extremes": Extremes(reads="confusion", local=True, exact=False),
        },
        "k": {
            "title": "of the k highest scores",
            "key": f"{of.name}@n",
            "number_key": f"{of.name}@k",
            "compute": _at_k,
            "parameters": {"k": Integer(default=None)},
            "default_points": (None,),
            "extremes": at_one_point,
        },
        "best": {"title": "at the best threshold", "compute": _at_best, "extremes": at_one_point},
        "curve": {"title": "by falling threshold", "compute": _at_every, "kind": "curve"},
    }
    facts = {"key": of.name, "extremes": UNPROVEN} | where[at]
    if not monotone:
        facts["extremes"] = UNPROVEN
    return Measure(
        name=of.name,
        title=f"{of.name} {facts.pop('title')}",
        compute=partial(facts.pop("compute"), of=of),
        operating_point=at if "parameters" in facts else None,
        classes="any",
        # A threshold is in the unit of the scores.
        reads_values=of.takes_threshold or at == "threshold",
        monotone=monotone and at != "curve",
        higher_is_better=of.higher_is_better,
        value_range=of.value_range,
        **facts,
    )

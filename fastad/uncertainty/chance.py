"""What a measure is worth by chance: when the labels are permuted among the points."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_count
from fastad._core.random import random_key
from fastad._core.threads import thread_limit
from fastad._core.types import FloatVector, Label
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count
from fastad.uncertainty.null_distributions import (
    Law,
    drawn_values,
    enumerated,
    filled,
    labelled,
    law,
    sizes_of,
)
from fastad.uncertainty.null_moments import moments, normal_law

# Equal values may differ by their rounding, some 1e-15 of the largest of them. What lies so near
# to the observed value counts as equal, which can only raise a p-value.
_NEAR = 1e-12

Parameters = ParamSpec("Parameters")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class ChanceLevel:
    """A value beside those that it has by chance.

    Attributes
    ----------
    value : float
        Of the labels as they are.
    expected : float
        Mean over all permutations of the labels.
    standard_deviation : float
        Over all permutations of the labels.
    p_value : float
        Probability of a value at least as good.
    adjusted : float
        ``(value - expected) / (best - expected)``: 1 for a perfect order, 0 at chance level,
        negative below it. NaN where the best value is the expected one, or undefined.
    method : {"exact", "normal", "permutation"}
        Whether the p-value comes from the whole law, from the normal law that is near to it, or
        from permutations that were drawn.
    n_resamples : int
        Permutations that were drawn; 0 if none.
    undefined_share : float
        Share of the permutations without a value, which are left out.
    """

    value: float
    expected: float
    standard_deviation: float
    p_value: float
    adjusted: float
    method: Literal["exact", "normal", "permutation"]
    n_resamples: int
    undefined_share: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; NaN becomes None."""
        plain = asdict(self)
        return {name: None if found != found else found for name, found in plain.items()}


def chance_level(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    measure: str,
    n_resamples: int = 9999,
    rng: int | np.random.Generator | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    **options: Any,
) -> ChanceLevel:
    """Level of chance of a measure, the value adjusted for it, and a p-value.

    By chance means that the labels are permuted among the points, every choice of as many
    anomalies being as likely. Scores and their ties stay as they are.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous: booleans, integers or floats of up to 64 bits,
        ordered as they are. Infinities are ordered, NaN is refused.
    measure : str
        Label, such as "auc" or "tpr@0.01", or name of a function that returns a number, with its
        operating point as an option: ``measure="tpr_at_fpr", fpr=0.01``.
    n_resamples : int, default 9999
        Permutations that are drawn where no law is known, from 1 on. A p-value is then at least
        ``1 / (1 + n_resamples)``. Where no more outcomes than that are possible, and up to 10 000
        points, all are counted instead.
    rng : int or numpy.random.Generator, optional
        Seed, or source of one; the same seed gives the same result with any number of threads.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1; all other rows must share one label.
    n_threads : int, optional
        Threads over the permutations; by default the environment variable FASTAD_NUM_THREADS,
        else the processors that the process may use.
    **options
        Operating point and options of the measure.

    Returns
    -------
    ChanceLevel
        ``value``, ``expected``, ``standard_deviation``, ``p_value``, ``adjusted``, and how they
        were found.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If the data do not determine the measure, or more than half of the permutations do not.

    Notes
    -----
    A permutation takes O(n) time for n points, a thread O(n) memory. The area under the ROC of
    many points has the normal law instead, where each class has at least 50 points and no score
    more than a twentieth of all points.

    References
    ----------
    .. [1] G. O. Campos et al., "On the evaluation of unsupervised outlier detection", Data Mining
       and Knowledge Discovery 30, 2016 (adjustment for chance).
    .. [2] Y. Bestgen, "Exact expected average precision of the random baseline for system
       evaluation", Prague Bulletin of Mathematical Linguistics 103, 2015.
    .. [3] B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", Statistical
       Applications in Genetics and Molecular Biology 9, 2010.

    Examples
    --------
    >>> import fastad
    >>> found = fastad.chance_level([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], measure="auc")
    >>> found.value, found.expected, found.adjusted, round(found.p_value, 12)
    (0.75, 0.5, 0.5, 0.333333333333)
    """
    asked = bind(measure, options)
    n_drawn = check_count(n_resamples, "n_resamples")
    key = random_key(rng)
    with thread_limit(n_threads):
        counts = count(y_true, y_score, pos_label=pos_label)
        return chance_of(counts, asked, n_resamples=n_drawn, key=key)


def chance_of(
    counts: OrderedCounts, asked: BoundMeasure, *, n_resamples: int, key: np.uint64
) -> ChanceLevel:
    """Return the level of chance of one measure, or raise where it has none."""
    (found,) = chances_of(counts, [asked], n_resamples=n_resamples, key=key)
    if isinstance(found, UndefinedMeasureError):
        raise found
    return found


def chances_of(
    counts: OrderedCounts, asked: Sequence[BoundMeasure], *, n_resamples: int, key: np.uint64
) -> list[ChanceLevel | UndefinedMeasureError]:
    """Return the level of chance of each measure, or why it has none.

    Counts are those of the whole curve; a whole weight counts as so many points, each with a label
    of its own. A key has its permutations, which all measures share; each gets what it would alone.
    """
    found = [_or_error(_undrawn, counts, one, n_resamples) for one in asked]
    left = [one for one, answer in zip(asked, found, strict=True) if answer is None]
    drawn = iter(drawn_values(counts, left, n_resamples, key))
    return [
        _or_error(_from_draws, counts, one, next(drawn)) if answer is None else answer
        for one, answer in zip(asked, found, strict=True)
    ]


def _or_error(
    find: Callable[Parameters, Found], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Found | UndefinedMeasureError:
    try:
        return find(*args, **kwargs)
    except UndefinedMeasureError as error:
        return error


def _undrawn(counts: OrderedCounts, asked: BoundMeasure, n_resamples: int) -> ChanceLevel | None:
    """Return what is known without permutations; None where they must be drawn."""
    if counts.weighting == "real":
        raise UndefinedMeasureError(
            "the level of chance is undefined for sample weights that are not whole numbers: "
            "their labels are not alike"
        )
    value = asked.value(counts)
    if math.isnan(value):
        raise UndefinedMeasureError(f"{asked.key} is undefined for these data")
    known = law(counts, asked) or enumerated(counts, asked, n_resamples + 1)
    if known is not None:
        return _from_law(counts, asked, known)
    normal = normal_law(counts, asked)
    if normal is None:
        return None
    return ChanceLevel(
        value=value,
        expected=normal.expected,
        standard_deviation=normal.standard_deviation,
        p_value=normal.at_least(value),
        adjusted=_adjusted(value, normal.expected, _best(counts, asked)),
        method="normal",
        n_resamples=0,
        undefined_share=0.0,
    )


def _from_draws(counts: OrderedCounts, asked: BoundMeasure, values: FloatVector) -> ChanceLevel:
    n_drawn = values.shape[0]
    return _from_law(counts, asked, Law(values, np.full(n_drawn, 1 / n_drawn)), n_drawn)


def _from_law(
    counts: OrderedCounts, asked: BoundMeasure, found: Law, n_drawn: int = 0
) -> ChanceLevel:
    """Place the value in a law, the whole one unless it is that of so many drawn permutations."""
    value = asked.value(counts)
    undefined = np.isnan(found.values)
    undefined_share = math.fsum(found.shares[undefined])
    if undefined_share > 0.5:
        raise UndefinedMeasureError(
            f"the level of chance of {asked.key} is undefined: more than half of the "
            "permutations of the labels have no value"
        )
    values, shares = found.values[~undefined], found.shares[~undefined]
    shares = shares / math.fsum(shares)
    near = _NEAR * max(abs(value), float(np.max(np.abs(values))))
    if asked.measure.higher_is_better is False:
        better = values <= value + near
    else:
        better = values >= value - near
    if n_drawn:
        p_value = (1 + int(np.count_nonzero(better))) / (1 + values.shape[0])
    else:
        p_value = min(math.fsum(shares[better]), 1.0)
    expected, deviation = _mean_and_deviation(values, shares)
    known = moments(counts, asked)
    if known is not None:
        expected = known.expected
        if known.standard_deviation is not None:
            deviation = known.standard_deviation
    return ChanceLevel(
        value=value,
        expected=expected,
        standard_deviation=deviation,
        p_value=p_value,
        adjusted=_adjusted(value, expected, _best(counts, asked)),
        method="permutation" if n_drawn else "exact",
        n_resamples=n_drawn,
        undefined_share=undefined_share,
    )


def _mean_and_deviation(values: FloatVector, shares: FloatVector) -> tuple[float, float]:
    # From a value on, so that equal values have no deviation at all.
    differences = values - values[0]
    mean = math.fsum(differences * shares)
    return float(values[0] + mean), math.sqrt(math.fsum((differences - mean) ** 2 * shares))


def _adjusted(value: float, expected: float, best: float) -> float:
    room = best - expected
    if not abs(room) > _NEAR * max(abs(best), abs(expected)):
        return math.nan
    return (value - expected) / room


def _best(counts: OrderedCounts, asked: BoundMeasure) -> float:
    """Return the value of a perfect order, NaN where there is none.

    Of the order alone: all scores distinct. A detector whose ties keep it from a perfect order
    must not be excused for them, and without ties no order of as many points is better by any
    measure of the registry (a test goes through all). Of the scores' values, or at a threshold:
    the highest of the given scores are those of the anomalies.
    """
    n, total = int(counts.n_anomalies), int(counts.total)
    try:
        if asked.measure.reads == "values":
            sizes = sizes_of(counts)
            return asked.value(labelled(counts, sizes, filled(sizes, n)))
        order = np.arange(total)
        return asked.value(count(order >= total - n, order))
    except UndefinedMeasureError:
        return math.nan

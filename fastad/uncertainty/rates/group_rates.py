"""Rates of several groups at one threshold: joint intervals, the worst group, and equality."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.arrays import check_rows, real_vector, set_all_readonly
from fastad._core.parameters import check_flag, check_inside, short_repr, significance_level
from fastad._core.results import Column, ShortRepr, TableResult, interval_columns, plain_rows
from fastad._core.suggestions import did_you_mean
from fastad._core.text_tables import count_text, estimate_text, format_p, intervals_text, some_of
from fastad._core.types import ArrayLike, FloatVector, IntVector, Point
from fastad._kernels.resampling.subsample import hypergeometric_window, window_capacity
from fastad.errors import InvalidInputError
from fastad.uncertainty.rates.order_statistics import EachRank, required_sample_size
from fastad.uncertainty.rates.sequences import check_counts
from fastad.uncertainty.results import Interval

METHOD = "clopper-pearson"
# Tails beyond it are not computed.
_SMALLEST_P = 1e-16
# Probabilities of outcomes that differ by less are equal, but for rounding.
_EQUAL = 1 + 1e-9
_MAX_NAMES = 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RateComparison(ShortRepr, TableResult):
    """Rates of groups of samples, and what they say jointly.

    Prints as a table of all samples, each group and the worst one. Frames have the columns
    ``part`` (``"all"``, the noun, ``"worst"`` with the noun), ``name``, ``n_samples``,
    ``n_events``, ``value``, ``low``, ``high`` and ``p_value``.

    Attributes
    ----------
    names : sequence
        Names of the groups.
    n_events, n_samples : numpy.ndarray of shape (n_groups,)
        Counts of each group.
    value : numpy.ndarray of shape (n_groups,)
        ``n_events / n_samples``.
    low, high : numpy.ndarray of shape (n_groups,)
        Simultaneous intervals: all cover the true rates with the confidence level.
    p_values : numpy.ndarray of shape (n_groups,)
        p-values of the hypothesis that a group has the rate of all other samples, adjusted for the
        number of groups.
    overall : Interval
        Rate of all samples, with an interval of its own.
    worst : Interval
        The worst rate that was observed, and an interval of the worst true rate of all groups.
    difference, ratio : Interval
        Highest minus lowest rate, and lowest over highest, with intervals of the differences and
        ratios of the highest and lowest true rates.
    n_required : int or None
        Number of samples from which on a group can show a lower rate than that of all samples, or
        a higher one where that exceeds 1/2: with fewer, no event at all, or nothing but events, is
        compatible with it. None where all samples or none are events.
    confidence_level : float
        Confidence level of each interval, and of all in ``low`` and ``high`` together.
    higher_is_better : bool
        Whether the lowest rate is the worst, or the highest.
    noun : str
        What a group is: ``"group"``, ``"kind"``, ``"segment"``.
    """

    names: Sequence[Any]
    n_events: IntVector
    n_samples: IntVector
    value: FloatVector
    low: FloatVector
    high: FloatVector
    p_values: FloatVector
    overall: Interval
    worst: Interval
    difference: Interval
    ratio: Interval
    n_required: int | None
    confidence_level: float
    higher_is_better: bool
    total: tuple[int, int]
    noun: str = "group"

    @property
    def p_value(self) -> float:
        """p-value of the hypothesis that all groups have the same rate."""
        return float(self.p_values.min())

    @property
    def worst_name(self) -> Any:
        """Name of the group with the worst rate; of equal ones, the group with the most samples."""
        return self.names[self.worst_index]

    @property
    def worst_index(self) -> int:
        """Position of this group."""
        sign = 1 if self.higher_is_better else -1
        return int(np.lexsort((-self.n_samples, sign * self.value))[0])

    @property
    def too_few(self) -> dict[Any, int]:
        """Groups with fewer samples than required, and their numbers; not those that differ."""
        least = 0 if self.n_required is None else self.n_required
        alpha = significance_level(self.confidence_level)
        is_open = (self.n_samples < least) & (self.p_values > alpha)
        return {self.names[i]: self.n_samples.item(i) for i in np.flatnonzero(is_open).tolist()}

    def of(self, name: Hashable) -> Interval:
        """Return the rate of one group with its simultaneous interval.

        Parameters
        ----------
        name : hashable
            Name of the group.

        Returns
        -------
        Interval
            Rate and interval.

        Raises
        ------
        InvalidInputError
            If there is no such group.
        """
        names = list(self.names)
        if name not in names:
            known = {str(each): str(each) for each in names}
            raise InvalidInputError(
                f"name must be one of {some_of(list(known), _MAX_NAMES)}; found "
                f"{short_repr(name)}{did_you_mean(str(name), known)}",
                argument="name",
            )
        i = names.index(name)
        ends = self.value.item(i), self.low.item(i), self.high.item(i)
        return Interval(*ends, math.nan, self.confidence_level, METHOD)

    def _content(self) -> dict[str, Any]:
        return self.plain()

    def plain(self) -> dict[str, Any]:
        """Return plain values, without versions."""
        return {
            "rows": plain_rows(self.to_columns()),
            "difference": self.difference,
            "ratio": self.ratio,
            "p_value": self.p_value,
            "n_required": self.n_required,
            "confidence_level": self.confidence_level,
        }

    def _declare_columns(self) -> list[Column]:
        i, overall, worst = self.worst_index, self.overall, self.worst
        worst_title = f"worst {self.noun}"

        def cells(of_all: float, of_groups: IntVector | FloatVector, of_worst: float) -> list[Any]:
            return [of_all, *of_groups.tolist(), of_worst]

        low, high, ends = interval_columns(
            cells(overall.low, self.low, worst.low),
            cells(overall.high, self.high, worst.high),
            "interval",
            ".3g",
        )
        samples = cells(self.total[1], self.n_samples, self.n_samples.item(i))
        events = cells(self.total[0], self.n_events, self.n_events.item(i))
        p_values = cells(self.p_value, self.p_values, math.nan)
        return [
            Column(None, ["all", *self.names, f"{worst_title}: {self.names[i]}"], str),
            Column("part", ["all", *[self.noun] * len(self.names), worst_title]),
            Column("name", ["all", *self.names, self.names[i]]),
            Column("n_samples", samples, str, "samples"),
            Column("n_events", events, str, "events"),
            Column("value", cells(overall.value, self.value, worst.value), ".3g", "rate"),
            low,
            high,
            ends,
            Column("p_value", p_values, format_p, "p"),
        ]

    @property
    def notes(self) -> list[str]:
        """What the intervals cover, whether rates differ, and which samples are too few."""
        return [*self.statements, line_of_intervals(self.confidence_level)]

    @property
    def statements(self) -> list[str]:
        """Sentences on the equality of the rates and on groups that are too small."""
        lines = []
        if len(self.names) > 1:
            lines.append(
                f"equal rates of {count_text(len(self.names), self.noun)}: "
                f"{format_p(self.p_value, 'p')}; highest minus lowest rate "
                f"{_ends(self.difference)}, lowest over highest {_ends(self.ratio)}"
            )
        if self.too_few:
            few = [f"{name} ({n})" for name, n in self.too_few.items()]
            side = "lower" if self.overall.value <= 0.5 else "higher"
            lines.append(
                f"too few samples to show a {side} rate than that of all, which takes "
                f"{self.n_required}: {some_of(few, _MAX_NAMES)}"
            )
        return lines


def _ends(interval: Interval) -> str:
    return estimate_text(interval.value, interval.low, interval.high, ".3g")


def line_of_intervals(confidence_level: float) -> str:
    """Return the meaning of the intervals in a table of groups."""
    return (
        f"{intervals_text(confidence_level)}: of all groups at once; of all samples by itself; of "
        "the worst group, of the worst true rate. p: a group has the rate of the others, "
        "adjusted for their number; of all, groups have equal rates"
    )


def compare_rates(
    n_events: ArrayLike,
    n_samples: ArrayLike,
    *,
    names: Sequence[Any] | None = None,
    total: tuple[int, int] | None = None,
    higher_is_better: bool = True,
    confidence_level: Point = 0.95,
) -> RateComparison:
    """Compare rates of groups: joint intervals, the worst group, equality, and parity.

    Such as the recall of each kind of anomaly, or the false positive rate of each segment of the
    normal samples, at one threshold. `fastad.evaluate` counts them with ``kinds=`` and
    ``segments=``.

    Parameters
    ----------
    n_events : array-like of shape (n_groups,)
        Number of flagged samples of each group.
    n_samples : array-like of shape (n_groups,)
        Number of its samples.
    names : sequence, optional
        Names of the groups; by default their positions.
    total : (int, int), optional
        Events and samples of all groups together, where a sample may be in several groups; by
        default the sums.
    higher_is_better : bool, default True
        Whether the worst group has the lowest rate, as for a recall, or the highest.
    confidence_level : float, default 0.95
        Confidence level, in (0, 1).

    Returns
    -------
    RateComparison
        Rates with simultaneous intervals, ``worst``, ``difference``, ``ratio``, ``p_value``.

    Raises
    ------
    InvalidInputError
        If a group has no samples, or more events than samples.

    Notes
    -----
    Samples must be independent; numbers of events are then binomial. All statements are exact: the
    intervals cover at least with their level, and tests reject at most as often as theirs, whatever
    the sizes of the groups.

    Intervals are Clopper and Pearson's. Simultaneous ones have Šidák's level, because separate
    groups are independent, and Bonferroni's with ``total``. A lower bound on the lowest true rate
    fails only if that of the group which truly has it fails, so that it needs no adjustment for the
    number of groups [2]; its upper bound does. The same holds for the upper bound on the
    difference, and the lower bound on the ratio, which two groups decide.

    Under equal rates the events of a group are hypergeometric, given all events: Fisher's exact
    test of a group against all others. Its p-value is multiplied by the number of groups that can
    have so small a p-value at all [1]. Smaller ones than 1e-16 are given as that.

    O(g) time for g groups, and up to the standard deviation of the events of each.

    References
    ----------
    .. [1] R. E. Tarone, "A modified Bonferroni method for discrete data", 1990.
    .. [2] E. M. Laska and M. J. Meisner, "Testing whether an identified treatment is best", 1989.

    Examples
    --------
    >>> import fastad
    >>> names = ["dos", "r2l", "u2r"]
    >>> rates = fastad.uncertainty.compare_rates([90, 40, 1], [100, 80, 2], names=names)
    >>> rates.worst_name, rates.n_required
    ('r2l', 15)
    >>> print(rates.worst)  # the lowest true rate, perhaps of a group of two samples
    0.5000 [0.0126, 0.6370] (95 %, clopper-pearson)
    """
    check_rows({"n_events": n_events, "n_samples": n_samples})
    k, n = real_vector(n_events, "n_events"), real_vector(n_samples, "n_samples")
    if k.shape != n.shape or k.shape[0] == 0:
        raise InvalidInputError(
            "n_events must have one count for each of n_samples, at least one; found "
            f"{k.shape[0]} and {n.shape[0]}"
        )
    pairs = [check_counts(*_integers(a, b)) for a, b in zip(k.tolist(), n.tolist(), strict=True)]
    events, samples = (np.array(each, np.int64) for each in zip(*pairs, strict=True))
    given = list(range(len(pairs))) if names is None else list(names)
    if len(given) != len(pairs):
        raise InvalidInputError(
            f"names must have one name for each group, {len(pairs)}; found {len(given)}"
        )
    for i, name in enumerate(given):
        if name in given[:i]:
            raise InvalidInputError(
                f"names must name each group once; found {short_repr(name)} twice"
            )
    if not samples.all():
        empty = given[int(np.argmin(samples))]
        raise InvalidInputError(f"n_samples must be positive; found 0 for {empty!r}")
    whole = None if total is None else check_counts(*total, names=("total[0]", "total[1]"))
    if whole is not None:
        n_others = whole[1] - whole[0]
        outside = (events > whole[0]) | (samples - events > n_others)
        if outside.any():
            raise InvalidInputError(
                "total must have at least the events, and the other samples, of each group; found "
                f"{tuple(whole)}, and more for {given[int(np.argmax(outside))]!r}"
            )
    return compared_rates(
        given,
        events,
        samples,
        whole,
        higher_is_better=check_flag(higher_is_better, "higher_is_better"),
        level=check_inside(confidence_level, "confidence_level"),
    )


def _integers(*counts: Any) -> list[Any]:
    """Return floats that are integers as such; others are refused by what checks counts."""
    return [int(x) if isinstance(x, float) and x.is_integer() else x for x in counts]


def compared_rates(
    names: Sequence[Any],
    k: IntVector,
    n: IntVector,
    total: tuple[int, int] | None,
    *,
    higher_is_better: bool,
    level: Fraction,
    noun: str = "group",
) -> RateComparison:
    """Compare rates of counts that have been checked; ``total`` where groups overlap."""
    alpha, n_groups = float(1 - level), n.shape[0]
    events, samples = (int(k.sum()), int(n.sum())) if total is None else total
    # At each end; separate groups are independent.
    each = alpha / (2 * n_groups) if total else -math.expm1(math.log1p(-alpha) / n_groups) / 2
    value = k / n
    low, high = exact_bounds(k, n, each)
    own_low, own_high = exact_bounds(k, n, alpha / 2)
    low_of_two, high_of_two = exact_bounds(k, n, alpha / 4)
    low_of_all, high_of_all = exact_bounds(k, n, alpha / (4 * n_groups))
    _, high_of_one = low_of_one, _ = exact_bounds(k, n, alpha / (2 * n_groups))
    if higher_is_better:
        worst = (value.min(), own_low.min(), high_of_one.min())
    else:
        worst = (value.max(), low_of_one.max(), own_high.max())
    difference = (
        value.max() - value.min(),
        max(low_of_all.max() - high_of_all.min(), 0.0),
        high_of_two.max() - low_of_two.min(),
    )
    highest = low_of_all.max()
    ratio = (
        value.min() / value.max() if value.max() else math.nan,
        low_of_two.min() / high_of_two.max(),
        min(high_of_all.min() / highest, 1.0) if highest else 1.0,
    )
    overall = exact_bounds(np.array([events]), np.array([samples]), alpha / 2)
    rate = Fraction(events, samples)
    rarer = min(rate, 1 - rate)
    p_values = _adjusted_p_values(k, n, events, samples)
    set_all_readonly(k, n, value, low, high, p_values)

    def interval(ends: tuple[float, float, float]) -> Interval:
        value, low, high = map(float, ends)
        return Interval(value, low, high, math.nan, float(level), METHOD)

    return RateComparison(
        names=names,
        n_events=k,
        n_samples=n,
        value=value,
        low=low,
        high=high,
        p_values=p_values,
        overall=interval((events / samples, overall[0].item(), overall[1].item())),
        worst=interval(worst),
        difference=interval(difference),
        ratio=interval(ratio),
        n_required=required_sample_size(rarer, Fraction(each)) if rarer else None,
        confidence_level=float(level),
        higher_is_better=higher_is_better,
        total=(events, samples),
        noun=noun,
    )


def exact_bounds(k: IntVector, n: IntVector, alpha: float) -> tuple[FloatVector, FloatVector]:
    """Return Clopper and Pearson's bounds, each of which fails with probability alpha at most."""
    ranks = EachRank(n, 2 * alpha)
    return ranks.lower(k), ranks.upper(k + 1)


def _adjusted_p_values(k: IntVector, n: IntVector, events: int, samples: int) -> FloatVector:
    """Return p-values of the equality of each group with the others, by Tarone's adjustment."""
    own, smallest = np.ones(k.shape), np.ones(k.shape)
    probabilities = np.empty(window_capacity(samples, events))
    for i, (seen, size) in enumerate(zip(k.tolist(), n.tolist(), strict=True)):
        first, count = hypergeometric_window(samples, size, events, probabilities)
        window = probabilities[:count]
        extremes = max(0, size - (samples - events)), min(size, events)
        # Outcomes outside the window have no probability to speak of.
        seen_or_end = [
            window.item(x - first) if first <= x < first + count else 0.0 for x in (seen, *extremes)
        ]
        own[i] = window[window <= seen_or_end[0] * _EQUAL].sum()
        smallest[i] = window[window <= min(seen_or_end[1:]) * _EQUAL].sum()
    own = np.clip(own, _SMALLEST_P, 1.0)
    n_tests = np.count_nonzero(smallest[None, :] <= own[:, None], axis=1)
    if k.shape[0] == 2 and int(n.sum()) == samples:
        n_tests = np.ones(2)  # one of them decides
    adjusted: FloatVector = np.minimum(own * np.maximum(n_tests, 1), 1.0)
    return adjusted

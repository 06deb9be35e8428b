"""Exact tests of a difference of two rates at a threshold against any margin.

The unconditional test: outcomes are ordered by a statistic, and the p-value is the probability of
those at least as extreme as the observed one, highest over the rate that the hypothesis leaves open
(Barnard 1947; Chan 1998 for a margin). That rate is searched where it is not refuted (Berger and
Boos 1994).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtr

from fastad._core.types import BoolVector, FloatMatrix, FloatVector, IntVector
from fastad.measures.flagged import points_flagged
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import TRIALS, confusion_at_threshold
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.samples.bootstrap import IndependentSample
from fastad.uncertainty.samples.closed_forms import Bounds, clopper_pearson, normal_quantile

# Rates of a number of samples that chance does not change.
RATES = ("tpr", "recall", "fnr", "fpr", "tnr", "accuracy")
# Probability that the open rate lies elsewhere than searched, by which p-values are higher.
_ELSEWHERE = 1e-6
# Rates that are tried, and standard deviations and events around them that are counted.
_N_TRIED, _DEVIATIONS, _MORE = 17, 6, 12
# With more outcomes of a pair the statistic is normal: there are a hundred events of either kind.
_MOST_OUTCOMES = 20_000
# With more outcomes of each of two samples. One sample decides, however large the other is.
_MOST_OF_A_SAMPLE = 300
_HALVINGS = 14
_TINY = 1e-300
# Statistics that differ by rounding alone are equal.
_ROUNDING = 1e-9


class RateTest(NamedTuple):
    """Numbers of events that raise and lower the difference, and of samples in which they are.

    Paired events are counted in the same samples, each of which has one of them at most.
    """

    events: tuple[int, int]
    sizes: tuple[int, int]
    is_paired: bool

    @property
    def swapped(self) -> "RateTest":
        """The test of the difference with the other sign."""
        return RateTest(self.events[::-1], self.sizes[::-1], self.is_paired)

    @property
    def difference(self) -> float:
        """The observed difference."""
        (up, down), (n, m) = self.events, self.sizes
        return up / n - down / m

    def statistic(self, up: npt.ArrayLike, down: npt.ArrayLike, x: float) -> FloatVector:
        """Return how many standard deviations outcomes lie above a difference x.

        The variance is one of slightly more even counts (Agresti and Caffo 2000; Agresti and Min
        2005), which is never 0.
        """
        a, b = np.asarray(up, np.float64), np.asarray(down, np.float64)
        n, m = self.sizes
        if self.is_paired:
            difference = (a - b) / (n + 2)
            variance = ((a + b + 1) / (n + 2) - difference**2) / (n + 2)
        else:
            p, q = (a + 1) / (n + 2), (b + 1) / (m + 2)
            difference = p - q
            variance = p * (1 - p) / (n + 2) + q * (1 - q) / (m + 2)
        ratio: FloatVector = (difference - x) / np.sqrt(variance)
        return ratio

    def p_value(self, x: float, side: int) -> float:
        """Return the p-value of the hypothesis that the difference is at most, or at least, x."""
        if side:
            return self.swapped.p_value(-x, 0)
        observed = float(self.statistic(*self.events, x))
        # The rate of the events that lower the difference is open, the others' is higher by x.
        of_up, of_down = (
            clopper_pearson(k, n, _ELSEWHERE / 2)
            for k, n in zip(self.events, self.sizes, strict=True)
        )
        low = max(of_up[0] - x, of_down[0], -x)
        high = min(of_up[1] - x, of_down[1], (1 - x) / (2 if self.is_paired else 1))
        if low > high:
            return _ELSEWHERE if self.difference > x else 1.0
        n, m = self.sizes
        ranges = _likely(n, max(0.0, low + x), min(1.0, high + x)), _likely(m, low, min(1.0, high))
        lengths = [each.shape[0] for each in ranges]
        is_long = math.prod(lengths) > _MOST_OUTCOMES
        if not self.is_paired:
            is_long = min(lengths) > _MOST_OF_A_SAMPLE
        if is_long:
            return float(ndtr(-observed))
        rate = np.linspace(low, high, _N_TRIED)
        of_outcomes = self._of_pairs if self.is_paired else self._of_samples
        highest = float(of_outcomes(ranges, x, observed - _ROUNDING, rate).max())
        return min(1.0, highest + _ELSEWHERE)

    def _of_pairs(
        self, ranges: Sequence[IntVector], x: float, least: float, rate: FloatVector
    ) -> FloatVector:
        """Return the probability of a statistic of at least so much, at each open rate."""
        n = self.sizes[0]
        up, down = (each.ravel() for each in np.meshgrid(*ranges, indexing="ij"))
        extreme = (up + down <= n) & (self.statistic(up, down, x) >= least)
        up, down = up[extreme], down[extreme]
        rates = [rate + x, rate, 1 - 2 * rate - x]
        total: FloatVector = _probabilities([up, down, n - up - down], rates).sum(axis=0)
        return total

    def _of_samples(
        self, ranges: Sequence[IntVector], x: float, least: float, rate: FloatVector
    ) -> FloatVector:
        """Return the same for two samples, whose events are independent."""
        of_up, of_down = (
            _probabilities([each, size - each], [here, 1 - here])
            for each, size, here in zip(ranges, self.sizes, (rate + x, rate), strict=True)
        )
        extreme = self.statistic(ranges[0][:, None], ranges[1], x) >= least
        total: FloatVector = (of_up * (extreme.astype(np.float64) @ of_down)).sum(axis=0)
        return total

    def two_sided(self, alpha: float) -> tuple[Bounds, float]:
        """Return the interval at the level 1 - alpha, and the p-value of no difference.

        The interval excludes 0 where the p-value is at most alpha.
        """
        p_value = min(1.0, 2 * min(self.p_value(0.0, side) for side in (0, 1)))
        low, high = self.ends(alpha / 2)
        if p_value > alpha:
            low, high = min(low, 0.0), max(high, 0.0)
        elif self.difference > 0:
            low = max(low, math.ulp(0.0))
        else:
            high = min(high, -math.ulp(0.0))
        return (low, high), p_value

    def ends(self, alpha: float) -> Bounds:
        """Return the differences that neither one-sided test rejects at the level alpha."""
        return self._low(alpha), -self.swapped._low(alpha)

    def _low(self, alpha: float) -> float:
        z, d = normal_quantile(2 * alpha), self.difference
        below = _last(lambda x: float(self.statistic(*self.events, x)) >= z, -1.0, d, 60)
        # The exact bound is farther from the difference, by much where events are few.
        start = max(-1.0, d - 4 * (d - below) - 4 / min(self.sizes))
        # Near such levels nothing is refuted.
        if self.p_value(start, 0) > alpha:
            return -1.0
        return _last(lambda x: self.p_value(x, 0) <= alpha, start, d, _HALVINGS)


def _probabilities(counts: Sequence[IntVector], rates: Sequence[FloatVector]) -> FloatMatrix:
    """Return the multinomial probabilities of outcomes, given by the counts of each event.

    A row for each outcome, a column for each rate.
    """
    orders = gammaln(sum(counts) + 1.0) - np.sum(gammaln(np.array(counts) + 1.0), axis=0)
    logs = np.log(np.maximum(np.array(rates), _TINY))
    probabilities: FloatMatrix = np.exp(orders[:, None] + np.array(counts, np.float64).T @ logs)
    return probabilities


def _likely(n: int, low: float, high: float) -> IntVector:
    """Return the numbers of events of n trials that are likely at rates in a range."""
    if low > 0.5:  # then the trials without an event are the rarer ones
        return n - _likely(n, 1 - high, 1 - low)[::-1]
    first = math.floor(n * low - _DEVIATIONS * math.sqrt(n * low))
    last = math.ceil(n * high + _DEVIATIONS * math.sqrt(n * high)) + _MORE
    return np.arange(max(0, first), min(n, last) + 1)


def _last(is_true: Callable[[float], bool], low: float, high: float, halvings: int) -> float:
    """Return the last number up to which a condition holds, as it does for the low end."""
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if is_true(middle) else (low, middle)
    return low


def paired_rate_test(samples: Sequence[IndependentSample], bound: BoundMeasure) -> RateTest:
    """Return the test of a rate at a threshold of two detectors on the same samples."""
    first, second = (_successes(sample, bound) for sample in samples)
    up, down = np.count_nonzero(first & ~second), np.count_nonzero(second & ~first)
    return RateTest((int(up), int(down)), (first.shape[0], first.shape[0]), is_paired=True)


def _successes(sample: IndependentSample, bound: BoundMeasure) -> BoolVector:
    """Return of which samples a rate counts the successes, and which are some."""
    counts, name = sample.counts, bound.measure.name
    assert sample.rows is not None
    point = points_flagged(counts, bound.parameters["threshold"])
    flagged = [np.zeros(rows.shape[0], np.bool_) for rows in sample.rows]
    for of_class, rows, cumulative in zip(
        flagged, sample.rows, (counts.tps, counts.fps), strict=True
    ):
        of_class[rows[: int(cumulative[point])]] = True
    if name == "accuracy":
        return np.concatenate([flagged[0], ~flagged[1]])
    of_class = flagged[name in ("fpr", "tnr")]
    return ~of_class if name in ("fnr", "tnr") else of_class


def unpaired_rate_test(counts: Sequence[OrderedCounts], bound: BoundMeasure) -> RateTest:
    """Return the test of a rate at a threshold on two samples, each of independent trials."""
    (up, n), (down, m) = (
        TRIALS[bound.measure.name](confusion_at_threshold(each, bound.parameters["threshold"]))
        for each in counts
    )
    return RateTest((int(up), int(down)), (int(n), int(m)), is_paired=False)

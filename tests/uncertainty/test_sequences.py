"""Confidence sequences of a rate: the martingale, and the rates that it does not reject."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from fastad.errors import InvalidInputError
from fastad.uncertainty import rate_confidence_sequence
from fastad.uncertainty.rates.sequences import log_mixture
from tests.support import log_gamma

# Events and points, from none to 10^12, and counts at the ends.
COUNTS = [
    *((0, 0), (0, 1), (1, 1), (0, 7), (7, 7), (3, 10), (100, 10_000), (199, 398)),
    *((10**10, 10**12), (0, 10**12), (10**12, 10**12), (1, 10**12), (5 * 10**11, 10**12)),
]
RATES = [Fraction(1, 100), Fraction(1, 3), Fraction(9, 10)]
ALPHA = 0.05
# Just before the logarithm of a cosine of 0.
END = math.pi / 2 - 1e-12


def mixture(k: int, n: int, p: Fraction) -> Fraction:
    """The mixture as it is written: moments of the beta distribution over the likelihood."""
    half = Fraction(1, 2)
    moment = math.prod([i + half for i in range(k)] + [i + half for i in range(n - k)])
    return Fraction(moment) / math.factorial(n) / (p**k * (1 - p) ** (n - k))


def one_sided(k: int, n: int, p: float) -> float:
    """The mixture over the rates above p, and the weight of those below."""

    def weighted(angle: float) -> float:
        # q = sin(angle)^2, of which the angle is uniform.
        q = math.sin(angle) ** 2
        ratio = k * math.log(q / p) + (n - k) * math.log(math.cos(angle) ** 2 / (1 - p))
        return math.exp(ratio) * 2 / math.pi

    start, peak, width = (math.asin(math.sqrt(x)) for x in (p, k / n, min(400 / n, 1)))
    knots = [start, *(x for x in (peak - width, peak, peak + width) if start < x < END), END]
    pieces = [quad(weighted, a, b, epsabs=1e-12)[0] for a, b in pairwise(knots)]
    return 2 * start / math.pi + sum(pieces)


def floats(*numbers: float) -> Any:
    return [np.array([float(number)]) for number in numbers]


@pytest.mark.parametrize("p", RATES)
def test_the_mixture_is_a_martingale_that_begins_at_1(p: Fraction) -> None:
    assert mixture(0, 0, p) == 1
    for n in range(13):
        for k in range(n + 1):
            value = mixture(k, n, p)
            assert p * mixture(k + 1, n + 1, p) + (1 - p) * mixture(k, n + 1, p) == value
            assert log_mixture(*floats(k, n, float(p)))[0] == pytest.approx(
                math.log(value), abs=1e-12
            )


@pytest.mark.parametrize("p", RATES)
def test_the_expected_value_over_all_paths_is_1(p: Fraction) -> None:
    for n in range(13):
        paths = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        assert sum(a * mixture(k, n, p) for k, a in enumerate(paths)) == 1
        computed = np.exp(
            log_mixture(np.arange(n + 1.0), np.full(n + 1, float(n)), np.full(n + 1, float(p)))
        )
        assert computed @ np.array(paths, float) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("k", "n"), COUNTS)
@pytest.mark.parametrize("factor", [1 - 1e-5, 1 + 1e-8, 1.2])
def test_the_mixture_keeps_its_digits(k: int, n: int, factor: float) -> None:
    rate = min(max(factor * k / max(n, 1), 1e-13), 1 - 1e-6)
    expected = log_gamma.log_mixture(k, n, rate)
    computed = log_mixture(*floats(k, n, rate))[0]
    assert computed == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("k", "n"), COUNTS)
@pytest.mark.parametrize("alpha", [0.5, ALPHA, 1e-9])
def test_intervals_end_where_the_mixture_reaches_its_limit(k: int, n: int, alpha: float) -> None:
    result = rate_confidence_sequence([k], [n], confidence_level=1 - alpha)
    low, high, limit = result.low[0], result.high[0], -math.log(alpha)
    assert (low > 0) == (k > 0 and n > 0 and log_gamma.log_mixture(k, n, 1e-300) > limit)
    for end, inwards in ((low, 1.0), (high, 0.0)):
        if 0 < end < 1:
            step = 1e-9 * min(end, 1 - end) + 8 * math.ulp(end)
            inside = end + step if inwards else end - step
            outside = end - step if inwards else end + step
            assert log_gamma.log_mixture(k, n, inside) < limit
            assert log_gamma.log_mixture(k, n, outside) > limit


@pytest.mark.parametrize(("k", "n"), [(1, 1), (3, 10), (100, 10_000), (199, 398), (15, 20)])
def test_one_sided_ends_are_where_the_one_sided_mixture_reaches_its_limit(k: int, n: int) -> None:
    low = rate_confidence_sequence([k], [n], alternative="greater").low[0]
    assert one_sided(k, n, low * (1 - 1e-5)) > 1 / ALPHA > one_sided(k, n, low * (1 + 1e-5))


def test_the_one_sided_mixture_does_not_rise_below_the_observed_rate() -> None:
    for k, n in [(1, 1), (3, 10), (30, 40)]:
        values = [one_sided(k, n, p) for p in np.linspace(0.001, k / n - 1e-6, 40)]
        assert all(b <= a * (1 + 1e-9) for a, b in pairwise(values))


counts = st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)).map(
    lambda pair: (min(pair), max(pair))
)


@given(pair=counts, alternative=st.sampled_from(["two-sided", "greater", "less"]))
def test_ends_rise_with_the_events_and_with_the_level(pair: Any, alternative: Any) -> None:
    k, n = pair
    few, many = (
        rate_confidence_sequence([x], [n + 1], alternative=alternative) for x in (k, k + 1)
    )
    assert few.low[0] <= many.low[0]
    assert few.high[0] <= many.high[0]
    surer = rate_confidence_sequence([k], [n + 1], confidence_level=0.99, alternative=alternative)
    assert surer.low[0] <= few.low[0] <= few.value[0] <= few.high[0] <= surer.high[0]


@given(pair=counts)
def test_sides_mirror_each_other_and_one_side_is_not_wider(pair: Any) -> None:
    k, n = pair
    both, mirrored = rate_confidence_sequence([k], [n]), rate_confidence_sequence([n - k], [n])
    assert both.low[0] == pytest.approx(1 - mirrored.high[0], abs=1e-12)
    greater = rate_confidence_sequence([k], [n], alternative="greater")
    less = rate_confidence_sequence([k], [n], alternative="less")
    assert both.low[0] <= greater.low[0] + 1e-15
    assert less.high[0] <= both.high[0] + 1e-15
    assert (greater.high[0], less.low[0]) == (1, 0)


def test_looks_do_not_depend_on_each_other() -> None:
    k, n = np.array([0, 0, 3, 9, 9]), np.array([0, 10, 20, 400, 1000])
    together = rate_confidence_sequence(k, n)
    for i in range(5):
        alone = rate_confidence_sequence(k[i : i + 1], n[i : i + 1])
        assert (together.low[i], together.high[i]) == (alone.low[0], alone.high[0])
    assert math.isnan(together.value[0])
    assert together.to_columns()["n_events"] == k.tolist()


@pytest.mark.parametrize(
    ("n_events", "n_samples", "message"),
    [
        ([1, -2], [3, 4], "n_events must not be negative; found 1, the first at index 1: -2"),
        ([1], [-1], "n_samples must not be negative"),
        ([1.5], [3], "n_events must contain integers; found 1, the first at index 0: 1.5"),
        ([1, math.nan], [3, 4], "n_events must contain integers; found 1, the first at index 1"),
        ([5, 2], [5, 8], "n_events must be totals, which do not fall; found 1, the first at"),
        ([1, 2], [8, 5], "n_samples must be totals"),
        ([1, 6], [2, 5], "n_events must not exceed n_samples; found 1, the first at index 1: 6 of"),
        ([1], [1, 2], "n_events must have as many counts as n_samples, 2; found 1"),
        ([1], [2**54], r"n_samples must be at most 2\^53"),
        ([1, 1], [math.inf, math.inf], r"n_samples must be at most 2\^53; found 2"),
        ([], [], "n_events must not be empty"),
    ],
)
def test_other_counts_are_refused(n_events: Any, n_samples: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        rate_confidence_sequence(n_events, n_samples)


@pytest.mark.parametrize("level", [0, 1, 1.2, -0.1])
def test_levels_are_between_0_and_1(level: float) -> None:
    with pytest.raises(InvalidInputError, match="confidence_level must lie"):
        rate_confidence_sequence([1], [2], confidence_level=level)


def test_an_unknown_alternative_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="alternative must be one of"):
        rate_confidence_sequence([1], [2], alternative="larger")  # type: ignore[arg-type]

"""Measures around one false positive rate: every subsample drawn, every integral by quadrature."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.measures import (
    beta_weighted_auc,
    gaussian_weighted_auc,
    histogram_weighted_auc,
    localized_auc,
)
from tests.support import oracles
from tests.support.loops import loop

Distribution = dict[Fraction, Fraction]
Sample = tuple[list[int], list[int]]
OF_SUBSAMPLES = ("localized_auc", "beta_weighted_auc", "histogram_weighted_auc")
ALL = (*OF_SUBSAMPLES, "gaussian_weighted_auc")


@st.composite
def samples(draw: st.DrawFn, most: int = 10, distinct: bool = False) -> Sample:
    """Labels of both classes, at least two normals; scores with heavy ties, or without any."""
    n = draw(st.integers(3, most))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    assume(0 < sum(y) < n - 1)
    if distinct:
        return y, draw(st.permutations(range(n)))
    return y, draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))


rates = st.integers(0, 19).map(lambda i: i / 20)
fractions = st.sampled_from([0.5, 0.3, 0.9, 0.71])


def distribution(m: int, rate: float, part: float = 0.5) -> Distribution:
    """The FPR of the threshold of each subsample, with normals in one order of their ties."""
    h = math.floor(oracles.written(part) * m)
    if h == 0:
        reject()  # the measure is undefined
    k = math.floor(oracles.written(rate) * h)
    # The normal of rank k + 1 is the highest that is not flagged.
    result = Counter(sorted(ranks)[k] for ranks in combinations(range(m), h))
    return {Fraction(j, m): Fraction(ways, result.total()) for j, ways in result.items()}


def distribution_of_scores(sample: Sample, rate: float, part: float) -> Distribution:
    """The same from scores: the lowest threshold with a rate of at most this in the subsample."""
    normals = [score for score, label in zip(sample[1], sample[0], strict=True) if not label]
    h = math.floor(oracles.written(part) * len(normals))
    if h == 0:
        reject()  # the measure is undefined
    result: Counter[Fraction] = Counter()
    for drawn in combinations(normals, h):
        # Thresholds half-way between whole scores: all that can flag different points.
        cuts = [x + 0.5 for x in range(-1, max(normals) + 1)]
        flagged = {cut: Fraction(sum(x > cut for x in drawn), h) for cut in cuts}
        cut = min(cut for cut in cuts if flagged[cut] <= oracles.written(rate))
        result[Fraction(sum(x > cut for x in normals), len(normals))] += 1
    return {x: Fraction(ways, result.total()) for x, ways in result.items()}


def moments(weights: Distribution) -> tuple[Fraction, Fraction]:
    mean = sum((x * p for x, p in weights.items()), Fraction(0))
    return mean, sum((x * x * p for x, p in weights.items()), Fraction(0)) - mean**2


def central(weights: Distribution, coverage: Fraction) -> tuple[Fraction, Fraction]:
    tail = (1 - coverage) / 2
    low = max(x for x in weights if sum(p for z, p in weights.items() if z < x) <= tail)
    high = min(x for x in weights if sum(p for z, p in weights.items() if z > x) <= tail)
    return low, high


def integral(sample: Sample, density: Callable[[float], float]) -> float:
    """The ROC curve times a density, piece by piece."""
    curve = oracles.rates(oracles.rows(*sample))
    total = 0.0
    for (x0, y0), (x1, y1) in pairwise(curve):
        if x1 > x0:
            a, b, slope = float(x0), float(x1), float((y1 - y0) / (x1 - x0))

            def height(x: float, a: float = a, y: float = float(y0), slope: float = slope) -> float:
                return (y + slope * (x - a)) * density(x)

            total += quad(height, a, b, epsabs=1e-11, epsrel=1e-11, limit=200)[0]
    return total


# Against the definitions.


@settings(max_examples=25, deadline=None)
@given(samples(), rates, fractions)
def test_histogram_weights_are_all_subsamples(sample: Sample, rate: float, part: float) -> None:
    weights = distribution(sample[0].count(0), rate, part)
    data = oracles.rows(*sample)
    expected = sum(p * oracles.tpr_at_fpr(data, x, "linear") for x, p in weights.items())
    result = histogram_weighted_auc(*sample, fpr=rate, subsample=part)
    assert result == pytest.approx(float(expected), rel=1e-14, abs=1e-15)


@settings(max_examples=25, deadline=None)
@given(samples(distinct=True), rates, fractions)
def test_the_distribution_of_ranks_is_that_of_thresholds(
    sample: Sample, rate: float, part: float
) -> None:
    assert distribution_of_scores(sample, rate, part) == distribution(
        sample[0].count(0), rate, part
    )


@settings(max_examples=25, deadline=None)
@given(samples(), rates, fractions, st.sampled_from([0.95, 0.5, Fraction(2, 3), 0.2]))
def test_localized_is_the_central_part_of_all_subsamples(
    sample: Sample, rate: float, part: float, coverage: Any
) -> None:
    low, high = central(distribution(sample[0].count(0), rate, part), oracles.written(coverage))
    options = {"fpr": rate, "subsample": part, "coverage": coverage}
    if low == high:
        with pytest.raises(UndefinedMeasureError, match="no width"):
            localized_auc(*sample, **options)
        return
    expected = oracles.auc_at_fpr(oracles.rows(*sample), high, low, "width")
    assert localized_auc(*sample, **options) == float(expected)


@pytest.mark.slow
@given(samples(), rates, fractions)
def test_beta_weights_have_the_moments_of_all_subsamples(
    sample: Sample, rate: float, part: float
) -> None:
    mean, variance = map(float, moments(distribution(sample[0].count(0), rate, part)))
    strength = mean * (1 - mean) / variance - 1
    density = stats.beta(mean * strength, (1 - mean) * strength).pdf
    result = beta_weighted_auc(*sample, fpr=rate, subsample=part)
    # Densities that are infinite at an end are hard for the quadrature alone.
    assert result == pytest.approx(integral(sample, density), abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(samples(), rates)
def test_gaussian_weights(sample: Sample, rate: float) -> None:
    assume(rate > 0)
    spread = math.sqrt(rate * (1 - rate) / sample[0].count(0))
    density = stats.truncnorm(-rate / spread, (1 - rate) / spread, rate, spread).pdf
    result = gaussian_weighted_auc(*sample, fpr=rate)
    assert result == pytest.approx(integral(sample, density), abs=1e-9)


# By hand.

Y = [0, 0, 0, 0, 0, 0, 1, 1, 1]
S = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.5, 0.7, 0.9]


def test_six_normals_by_hand() -> None:
    # h = 3, k = 0: J = 0, 1, 2, 3 in 10, 6, 3, 1 of 20 subsamples. TPR there: 1/3, 2/3, 1, 1.
    expected = Fraction(10 * 1 + 6 * 2 + 3 * 3 + 1 * 3, 60)
    result = histogram_weighted_auc(Y, S, fpr=0.1)
    assert result == pytest.approx(float(expected), rel=2**-52, abs=0)
    assert localized_auc(Y, S, fpr=0.1) == 2 / 3  # J up to 3
    assert localized_auc(Y, S, fpr=0.1, coverage=0.75) == 0.5  # J up to 2
    # An eighth and a twentieth lie beyond 2; exactly a tenth and more do not.
    assert localized_auc(Y, S, fpr=0.1, coverage=0.9) == 0.5
    assert localized_auc(Y, S, fpr=0.1, coverage=0.901) == 2 / 3


def test_two_normals_by_hand() -> None:
    # J = 0 or 1, mean rate 1/4, variance 1/16: beta with a = 1/2, b = 3/2, whose mass below 1/2
    # is 1/2 + 1/pi. TPR is 1/2 below 1/2, then 1.
    y, s = [1, 0, 1, 0], [4, 3, 2, 1]
    assert histogram_weighted_auc(y, s, fpr=0.1) == 0.75
    result = beta_weighted_auc(y, s, fpr=0.1)
    assert result == pytest.approx(0.75 - 1 / (2 * math.pi), rel=1e-15)
    # Half a standard deviation of sqrt(1/8) to each side of 1/2, and all in [0, 1].
    assert gaussian_weighted_auc(y, s, fpr=0.5) == pytest.approx(0.75, rel=1e-15)


# Limits.


@loop("name", ALL)
@loop("rate", [0.01, 0.29, 0.5, 0.99])
def test_perfect_and_reversed_order(name: str, rate: float) -> None:
    y = [0] * 31 + [1] * 7
    assert getattr(fastad.measures, name)(y, y, fpr=rate) == 1
    assert getattr(fastad.measures, name)(y, [-label for label in y], fpr=rate) < 0.2
    nearly = beta_weighted_auc(y, [*range(31), *range(32, 39)], fpr=rate)
    assert nearly == 1


@loop("rate", [0.0, 0.05, 0.29, 0.5, 0.99])
@loop(("m", "part"), [(12, 0.5), (9, 0.3), (11, 0.9)])
def test_constant_scores_have_the_mean_rate_of_the_weights(
    rate: float, m: int, part: float
) -> None:
    y, s = [0] * m + [1] * 3, [7] * (m + 3)
    weights = distribution(m, rate, part)
    mean = float(moments(weights)[0])
    options = {"fpr": rate, "subsample": part}
    assert histogram_weighted_auc(y, s, **options) == pytest.approx(mean, rel=1e-14)
    assert beta_weighted_auc(y, s, **options) == pytest.approx(mean, rel=1e-13)
    low, high = central(weights, Fraction(95, 100))
    assert localized_auc(y, s, **options) == float((low + high) / 2)
    if rate:
        spread = math.sqrt(rate * (1 - rate) / m)
        inside = stats.truncnorm(-rate / spread, (1 - rate) / spread, rate, spread)
        result = gaussian_weighted_auc(y, s, fpr=rate)
        assert result == pytest.approx(inside.mean(), rel=1e-12)


@pytest.mark.parametrize("m", [1_000, 100_000])
@pytest.mark.parametrize("rate", [0.001, 0.05, 0.5, 0.999])
def test_a_diagonal_of_many_short_pieces_is_one_long_piece(m: int, rate: float) -> None:
    # Differences over pieces of width 1 / m would lose the digits of m.
    y, s = np.tile([0, 1], m), np.repeat(np.arange(m), 2)
    for name in ("beta_weighted_auc", "gaussian_weighted_auc", "histogram_weighted_auc"):
        short = getattr(fastad.measures, name)(y, s, fpr=rate)
        tied = getattr(fastad.measures, name)(y, 0 * s, fpr=rate)
        assert short == pytest.approx(tied, rel=1e-12), name


@pytest.mark.slow
def test_weights_as_large_as_they_come() -> None:
    y, s, w = [1, 0, 1, 0], [4, 3, 2, 1], [1, 10**10, 1, 10**10]
    for name in ALL:
        result = getattr(fastad.measures, name)(y, s, fpr=0.5, sample_weight=w)
        # Half of the weights lie on each side of the second anomaly.
        assert result == pytest.approx(0.75, abs=1e-5)
    for name in ("localized_auc", "histogram_weighted_auc"):
        with pytest.raises(InvalidInputError, match="listed one by one, up to 4194304"):
            getattr(fastad.measures, name)(y, s, fpr=0.5, sample_weight=[1, 10**17, 1, 10**17])


def test_random_subsamples_agree_with_the_distribution() -> None:
    rng = np.random.default_rng(9)
    m, h, rate, n_draws = 1000, 500, 0.05, 4000
    y = np.arange(m + 200) < 200
    s = rng.normal(1.5 * y)
    normals = np.sort(s[~y])[::-1]
    thresholds = [np.sort(rng.choice(normals, h, replace=False))[h - 26] for _ in range(n_draws)]
    flagged = np.array([np.count_nonzero(normals > t) for t in thresholds])
    ranked = fastad.rank_scores(y, s)
    tpr = [ranked.tpr_at_fpr(fpr=rate / m) for rate in flagged]
    error = float(np.std(tpr)) / math.sqrt(n_draws)
    result = histogram_weighted_auc(y, s, fpr=rate)
    assert abs(result - float(np.mean(tpr))) < 4 * error < 0.003
    # Constant scores show the mean rate, and the middle of the central part.
    low, high = np.quantile(flagged, [0.025, 0.975], method="inverted_cdf")
    mean = histogram_weighted_auc(y, 0 * s, fpr=rate)
    assert abs(mean - flagged.mean() / m) < 4 * flagged.std() / math.sqrt(n_draws) / m
    middle = localized_auc(y, 0 * s, fpr=rate)
    assert abs(middle * m - (low + high) / 2) <= 1
    part = fastad.auc_at_fpr(y, s, min_fpr=low / m, fpr=high / m)
    assert localized_auc(y, s, fpr=rate) == pytest.approx(part, abs=0.003)
    # The authors fit a beta density to the rates of their draws.
    centre, variance = np.mean(flagged / m), np.var(flagged / m)
    strength = centre * (1 - centre) / variance - 1
    fitted = stats.beta(centre * strength, (1 - centre) * strength)
    grid = (np.arange(50_000) + 0.5) / 50_000
    weights = fitted.pdf(grid)
    curve = fastad.roc_curve(y, s)
    expected = np.sum(np.interp(grid, curve.fpr, curve.tpr) * weights) / np.sum(weights)
    assert beta_weighted_auc(y, s, fpr=rate) == pytest.approx(expected, abs=0.002)


# Ends of the distribution.


@pytest.mark.parametrize(("coverage", "high"), [(Fraction(2, 3), 1), (0.666, 1), (0.667, 2)])
def test_a_tail_that_is_exactly_the_bound_lies_outside(coverage: Any, high: int) -> None:
    # J = 0, 1, 2 with probabilities 1/2, 1/3, 1/6; constant scores show the middle of the range.
    result = localized_auc([0, 0, 0, 0, 1], [1] * 5, fpr=0, coverage=coverage)
    assert result == high / 8


def test_bounds_next_to_a_tail_are_distinguished() -> None:
    # With 30 normals and k = 0 the tails are quotients of integers.
    m, h = 30, 15
    tail = Fraction(math.comb(m - 3, h), math.comb(m, h))  # P(J > 2)
    y, s = [0] * m + [1], [1] * (m + 1)
    tiny = Fraction(1, 10**20)
    for bound, high in ((tail, 2), (tail - tiny, 3), (tail + tiny, 2)):
        result = localized_auc(y, s, fpr=0, coverage=1 - 2 * bound)
        assert result == high / (2 * m)


def test_subsample_is_the_decimal_that_is_written() -> None:
    # 0.29 of 100 normals are 29, of which 0.07 are 2.03; floats would make 28 of 0.29 * 100.
    y, s = [0] * 100 + [1], [1] * 101
    mean = (Fraction(3 * 101, 30) - 1) / 100
    result = histogram_weighted_auc(y, s, fpr=0.07, subsample=0.29)
    assert result == pytest.approx(float(mean), rel=1e-14)


# Undefined, and bad input.


@pytest.mark.parametrize("name", OF_SUBSAMPLES)
def test_no_normal_is_drawn(name: str) -> None:
    with pytest.raises(UndefinedMeasureError, match=f"{name} .*subsample = 0.5 of 1"):
        getattr(fastad.measures, name)([0, 1, 1], [1, 2, 3], fpr=0.1)
    with pytest.raises(UndefinedMeasureError, match=r"subsample = 0\.2 of 4"):
        getattr(fastad.measures, name)(Y[2:], S[2:], fpr=0.1, subsample=0.2)


def test_rates_0_and_1() -> None:
    assert histogram_weighted_auc(Y, S, fpr=1) == 1
    for name in ("localized_auc", "beta_weighted_auc", "gaussian_weighted_auc"):
        with pytest.raises(UndefinedMeasureError, match=f"{name} is undefined at fpr = 1"):
            getattr(fastad.measures, name)(Y, S, fpr=1)
    with pytest.raises(UndefinedMeasureError, match="at fpr = 0, where the weights have no var"):
        gaussian_weighted_auc(Y, S, fpr=0)
    for tiny in (1e-310, Fraction(1, 10**300)):
        assert gaussian_weighted_auc(Y, S, fpr=tiny) == pytest.approx(1 / 3)
    with pytest.raises(UndefinedMeasureError, match="no variance"):
        gaussian_weighted_auc(Y, S, fpr=Fraction(1, 10**700))
    for name in OF_SUBSAMPLES:
        assert 1 / 3 < getattr(fastad.measures, name)(Y, S, fpr=0) < 1


def test_a_distribution_of_a_single_rate_has_no_width() -> None:
    y, s = [0] * 100 + [1], range(101)
    with pytest.raises(
        UndefinedMeasureError, match=r"fraction 0\.95 .* at fpr = 0 has the .* rate 0$"
    ):
        localized_auc(y, s, fpr=0, subsample=0.99)
    assert beta_weighted_auc(y, s, fpr=0, subsample=0.99) == 1


@loop("option", ["subsample", "coverage"])
@loop("value", [0, 1, -0.1, 1.5, math.nan, "0.5", None, [0.5]])
def test_options_lie_inside(option: str, value: Any) -> None:
    names = OF_SUBSAMPLES if option == "subsample" else ("localized_auc",)
    for name in names:
        for measure in (
            lambda name=name, **options: getattr(fastad.measures, name)(Y, S, **options),
            getattr(fastad.rank_scores(Y, S), name),
        ):
            with pytest.raises((InvalidInputError, TypeError), match=f"^{option} must"):
                measure(fpr=0.1, **{option: value})


def test_labels_in_tables() -> None:
    labels = ["auc_local@0.1", "auc_beta@0.1", "auc_gauss@0.1", "auc_hist@0.1"]
    names = ["localized_auc", "beta_weighted_auc", "gaussian_weighted_auc"]
    names += ["histogram_weighted_auc"]
    expected = [getattr(fastad.measures, name)(Y, S, fpr=0.1) for name in names]
    for measures in (labels, names):
        table = fastad.evaluate(Y, S, measures=measures, fpr=[0.1])
        assert table.measure_keys == labels
        assert list(table["score"].values()) == expected

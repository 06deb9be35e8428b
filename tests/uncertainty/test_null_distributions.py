"""Null distributions and their moments, against enumeration, SciPy and published formulas."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fastad
from fastad._kernels.random import bits
from fastad._kernels.resampling.resample import relabel
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from fastad.uncertainty.chance.chance_level import ChanceLevel, chance_level, chance_of
from fastad.uncertainty.chance.null_distributions import (
    area_probabilities,
    moments,
    normal_approximation,
    null_distribution,
    sizes_of,
)
from fastad.uncertainty.samples.bootstrap import IndependentSample
from tests.support.uncertainty import SCORES, VALUES, Vector, labelled, point_options

# What is known whole, and of what the mean is, for distinct scores and for tied ones.
EXACT = {"roc_auc", "precision_at_k", "recall_at_k"}
EXACT_DISTINCT = EXACT | {"tpr_at_fpr", "fpr_at_tpr", "f1_at_fpr", "precision_at_fpr"}
MEANS = {*EXACT, "average_precision", "precision_at_p", "rp_auc", "probabilistic_auc"}
MEANS |= {"enrichment_factor", "robust_initial_enhancement", "bedroc"}
MEANS_DISTINCT = MEANS | {"auc_at_fpr", "auc_at_tpr", "weighted_auc", "ht_auc", "lf_auc"}


@pytest.mark.parametrize(
    ("ties", "exact", "means"),
    [("distinct", EXACT_DISTINCT, MEANS_DISTINCT), ("tied", EXACT, MEANS)],
)
def test_known_distributions_are_not_drawn(ties: str, exact: set[str], means: set[str]) -> None:
    counts = count(labelled(8, [0, 1, 4]), SCORES[ties])
    for row in VALUES:
        bound = bind(row.name, point_options(row.name))
        assert (null_distribution(counts, bound) is not None) == (row.name in exact)
        assert (moments(counts, bound) is not None) == (row.name in means)
        drawn = chance_of(IndependentSample(counts), bound, n_resamples=9, key=np.uint64(0))
        assert (drawn.method == "permutation") == (row.name not in exact)
        if row.name in exact | means:
            again = chance_of(IndependentSample(counts), bound, n_resamples=99, key=np.uint64(0))
            assert drawn.expected == again.expected


@pytest.mark.parametrize(("n", "m"), [(1, 1), (4, 9), (9, 4), (25, 30), (3, 200)])
def test_area_against_scipy(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    y = np.arange(n + m) < n
    for shift in (-1, 0, 1):
        s = rng.normal(size=n + m) + shift * y
        test = stats.mannwhitneyu(s[:n], s[n:], alternative="greater", method="exact")
        result = chance_level(y, s, measure="auc", n_resamples=1)
        assert result.method == "exact"
        assert result.value == pytest.approx(test.statistic / (n * m))
        assert result.p_value == pytest.approx(test.pvalue, rel=1e-10)


@pytest.mark.parametrize(("n", "m"), [(7, 15), (15, 7), (10, 10)])
def test_area_with_ties_against_integers(n: int, m: int) -> None:
    """Choices counted group by group, in Python's integers."""
    rng = np.random.default_rng(n)
    y, s = rng.permutation(n + m) < n, rng.integers(0, 6, n + m)
    ways: Counter[tuple[int, int]] = Counter({(0, 0): 1})
    above = 0
    for score in sorted(set(s.tolist()), reverse=True):
        size = int(np.sum(s == score))
        step: Counter[tuple[int, int]] = Counter()
        for (a, twice), count_ in ways.items():
            for e in range(size + 1):
                area = twice + (size - e) * (2 * a + e)
                step[a + e, area] += count_ * math.comb(size, e)
        ways, above = step, above + size
    twice = round(2 * n * m * fastad.roc_auc(y, s))
    reached = sum(c for (a, area), c in ways.items() if a == n and area >= twice)
    result = chance_level(y, s, measure="auc", n_resamples=1)
    assert result.p_value == pytest.approx(reached / math.comb(n + m, n), rel=1e-12)


@pytest.mark.parametrize(("n", "m"), [(10, 30), (30, 10), (5, 500), (60, 60)])
def test_the_smallest_probability_has_all_its_digits(n: int, m: int) -> None:
    """One choice of all is perfect."""
    result = chance_level(np.arange(n + m) >= m, np.arange(n + m), measure="auc")
    assert result.p_value == pytest.approx(1 / math.comb(n + m, n), rel=1e-11)


def areas(y: Vector, s: Vector) -> tuple[ChanceLevel, Any]:
    """What chance finds, and SciPy's normal approximation."""
    test = stats.mannwhitneyu(s[y], s[~y], alternative="greater", method="asymptotic")
    return chance_level(y, s, measure="auc", n_resamples=19, rng=0), test


@pytest.mark.parametrize("digits", [9, 1])
@pytest.mark.parametrize(("n", "m"), [(50, 2000), (2000, 50), (400, 500)])
def test_large_areas_against_scipy(n: int, m: int, digits: int) -> None:
    rng = np.random.default_rng(n)
    y = np.arange(n + m) < n
    for shift in (-0.3, 0, 0.1, 0.5):
        result, test = areas(y, (2 * rng.normal(size=n + m) + shift * y).round(digits))
        assert (result.method, result.n_resamples) == ("normal", 0)
        assert (result.expected, result.undefined_fraction) == (0.5, 0)
        assert result.value == pytest.approx(test.statistic / (n * m))
        assert result.p_value == pytest.approx(test.pvalue, rel=1e-9)


def test_where_the_normal_approximation_is_not_taken() -> None:
    """Fewer than 50 points of a class, or more than a twentieth of all in one tie."""
    rng = np.random.default_rng(0)
    for n, tied, method in (
        (50, 1, "normal"),
        (49, 1, "permutation"),
        (50, 100, "normal"),
        (50, 101, "permutation"),
    ):
        y, s = np.arange(2000) < n, rng.normal(size=2000)
        s[rng.choice(2000, tied, replace=False)] = 0
        assert chance_level(y, s, measure="auc", n_resamples=19, rng=0).method == method
        assert chance_level(1 - y, s, measure="auc", n_resamples=19, rng=0).method == method


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes", [[1] * 450, [22] * 20 + [10], [22] * 10 + [1] * 230, [1] * 230 + [22] * 10]
)
def test_the_normal_approximation_against_the_exact_one(sizes: list[int]) -> None:
    """The errors that its bounds are justified by, at the smallest class."""
    s = np.repeat(np.arange(450)[: len(sizes)], sizes)
    y = np.random.default_rng(0).permutation(450) < 50
    counts = count(y, s)
    normal = normal_approximation(counts, bind("auc", {}))
    assert normal is not None
    probabilities = area_probabilities(sizes_of(counts).tolist(), 50, 400)
    exact = np.cumsum(probabilities[::-1])[::-1][probabilities > 0]
    values = np.flatnonzero(probabilities > 0) / (2 * 50 * 400)
    # Some thousands of them.
    values, exact = values[::4], exact[::4]
    near = np.array([normal.at_least(area) for area in values])
    np.testing.assert_allclose(near, exact, atol=0.006)
    middle = (exact > 0.01) & (exact < 0.05)
    np.testing.assert_allclose(near[middle], exact[middle], rtol=0.05)
    tail = (exact > 0.0001) & (exact < 0.001)
    assert np.all((near[tail] > exact[tail]) & (near[tail] < 1.29 * exact[tail]))


@pytest.mark.parametrize(("n", "total"), [(1, 1), (1, 9), (4, 10), (12, 40), (39, 40)])
def test_average_precision_against_bestgen(n: int, total: int) -> None:
    """The sum over ranks k and hits i of i/k times the chance that rank k is the i-th hit."""
    expected = sum(
        Fraction(i, k) * math.comb(k - 1, i - 1) * math.comb(total - k, n - i)
        for k in range(1, total + 1)
        for i in range(1, min(k, n) + 1)
    ) / (n * math.comb(total, n))
    y = labelled(total, range(n))
    result = chance_level(y, np.arange(total), measure="ap", n_resamples=1, rng=0)
    assert result.expected == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.evidence
@pytest.mark.parametrize("digits", [1, 9])
def test_moments_of_average_precision_by_simulation(digits: int) -> None:
    """4 000 permutations by NumPy: the deviation of a deviation is about 1.2 %."""
    rng = np.random.default_rng(0)
    s, y = rng.normal(size=400).round(digits), np.arange(400) < 30
    result = chance_level(y, s, measure="ap", n_resamples=1, rng=0)
    trials = [fastad.average_precision(rng.permutation(y), s) for _ in range(4000)]
    deviation = result.standard_deviation
    assert np.mean(trials) == pytest.approx(result.expected, abs=4 * deviation / 4000**0.5)
    assert np.std(trials) == pytest.approx(deviation, rel=0.06)


@pytest.mark.slow
def test_moments_of_a_million_points() -> None:
    """Known: the mean of the AUC, its variance (N + 1) / (12 n m), the bounds of harmonic sums."""
    n, total = 300_000, 1_000_000
    y, s = np.arange(total) < n, np.arange(total)
    auc = chance_level(y, s, measure="auc", n_resamples=1, rng=0)
    variance = (total + 1) / (12 * n * (total - n))
    assert auc.expected == 0.5
    assert auc.standard_deviation == pytest.approx(variance**0.5, rel=1e-14)
    ap = chance_level(y, s, measure="ap", n_resamples=1, rng=0)
    harmonic = math.log(total) + np.euler_gamma + 0.5 / total
    assert ap.expected == pytest.approx(
        (n - 1) / (total - 1) + (total - n) / total * harmonic / (total - 1), rel=1e-13
    )


@pytest.mark.parametrize("k", [5, 40, 300])
def test_hits_against_fisher(k: int) -> None:
    rng = np.random.default_rng(k)
    s = rng.permutation(1000)
    y = rng.random(1000) < np.where(s >= 1000 - k, 0.2, 0.1)
    hits = int(np.sum(y[s >= 1000 - k]))
    n = int(np.sum(y))
    table = np.array([[hits, k - hits], [n - hits, 1000 - k - n + hits]])
    expected = stats.fisher_exact(table, alternative="greater").pvalue
    for name in ("precision_at_k", "recall_at_k"):
        result = chance_level(y, s, measure=name, k=k, n_resamples=1)
        assert result.p_value == pytest.approx(expected, rel=1e-10)
    at_threshold = chance_level(y, s, measure="precision", threshold=1000 - k, n_resamples=1)
    assert at_threshold.p_value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("fpr", [0.0, 0.013, 0.2])
def test_rates_against_the_negative_hypergeometric_distribution(fpr: float) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(700) < 100
    s = rng.normal(size=700) + 0.3 * y
    allowed = math.floor(Fraction(repr(fpr)) * 600)
    result = chance_level(y, s, measure="tpr_at_fpr", fpr=fpr, n_resamples=1)
    # Anomalies drawn before as many normals: SciPy counts those of the first kind.
    null = stats.nhypergeom(700, 100, allowed + 1)
    assert result.expected == pytest.approx((allowed + 1) / 601, rel=1e-13)
    assert result.standard_deviation == pytest.approx(null.std() / 100, rel=1e-10)
    assert result.p_value == pytest.approx(null.sf(round(100 * result.value) - 1), rel=1e-9)


@pytest.mark.parametrize(("sizes", "n_drawn"), [([1] * 6, 3), ([1] * 7, 2), ([3, 1, 2, 1], 3)])
def test_all_choices_are_equally_likely(sizes: list[int], n_drawn: int) -> None:
    """Chi-square of 10 000 choices, at its 99.9 % quantile."""
    ends = np.cumsum([0, *sizes])
    lasts, marks = np.zeros(ends[-1], np.uint8), np.empty(ends[-1], np.uint8)
    lasts[ends[1:] - 1] = 1
    drawn, others = np.empty((2, len(ends)), np.int64)
    seen: Counter[tuple[int, ...]] = Counter()
    for i in range(10_000):
        relabel(np.uint64(bits(np.uint64(11), i)), lasts, n_drawn, marks, drawn, others)
        assert np.array_equal(drawn + others, ends)
        assert drawn[-1] == np.sum(marks) == n_drawn
        seen[tuple(np.diff(drawn).tolist())] += 1
    expected_counts: Counter[tuple[int, ...]] = Counter()
    tie = np.repeat(np.arange(len(sizes)), sizes)
    for chosen in combinations(range(ends[-1]), n_drawn):
        expected_counts[tuple(np.bincount(tie[list(chosen)], minlength=len(sizes)).tolist())] += 1
    assert seen.keys() == expected_counts.keys()
    expected = np.array([expected_counts[hits] for hits in seen]) * 10_000 / expected_counts.total()
    result = stats.chisquare(list(seen.values()), expected)
    assert result.pvalue > 0.001


@pytest.mark.parametrize("fraction", [0.01, 0.5])
def test_all_positions_are_equally_likely(fraction: float) -> None:
    """A thousand points in ten parts, 2000 times; hits in a part are hypergeometric."""
    total, n_drawn = 1000, round(1000 * fraction)
    lasts, marks = np.ones(total, np.uint8), np.empty(total, np.uint8)
    drawn, others = np.empty((2, total + 1), np.int64)
    hits = np.zeros((2000, 10))
    for i in range(2000):
        relabel(np.uint64(bits(np.uint64(3), i)), lasts, n_drawn, marks, drawn, others)
        hits[i] = np.diff(drawn[::100])
    null = stats.hypergeom(total, n_drawn, 100)
    np.testing.assert_allclose(np.mean(hits, axis=0), null.mean(), atol=4 * null.std() / 2000**0.5)
    np.testing.assert_allclose(np.var(hits, axis=0), null.var(), rtol=4 * (2 / 2000) ** 0.5)


@pytest.mark.evidence
@pytest.mark.parametrize("name", ["best_f1", "average_precision"])
@pytest.mark.parametrize("digits", [0, 9])
def test_drawn_permutations_have_the_exact_distribution(name: str, digits: int) -> None:
    rng = np.random.default_rng(5)
    y, s = np.arange(16) < 6, rng.normal(size=16).round(digits)
    exact = chance_level(y, s, measure=name, n_resamples=math.comb(16, 6))
    # Rounded scores have fewer outcomes than there are choices.
    drawn = chance_level(y, s, measure=name, n_resamples=2000 if digits else 60, rng=0)
    assert (exact.method, drawn.method) == ("exact", "permutation")
    size = drawn.n_resamples
    error = exact.standard_deviation / size**0.5
    assert drawn.expected == pytest.approx(exact.expected, abs=4 * error)
    p = exact.p_value
    assert drawn.p_value == pytest.approx(p, abs=4 * (p * (1 - p) / size) ** 0.5 + 1 / size)

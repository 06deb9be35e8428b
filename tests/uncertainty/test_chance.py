"""Measures by chance, against every choice of anomalies, closed forms of others, and trials."""

import json
import math
from collections import Counter
from dataclasses import asdict
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad._kernels.random import bits
from fastad._kernels.resampling.resample import relabel
from fastad.measures.rates import RATES
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from fastad.uncertainty.chance import ChanceLevel, chance_level, chance_of, chances_of
from fastad.uncertainty.null_distributions import area_probabilities, null_distribution, sizes_of
from fastad.uncertainty.null_moments import moments, normal_approximation
from tests.support.operating import domain

Vector = npt.NDArray[Any]

POINTS: dict[str, Any] = {"rate": 0.4, "count": 3, "percentile": 75, "positive": 1.25}
POINTS_OF: dict[str, Any] = {"precision_at_p": 0.25, "recall_at_precision": 0.4, "np_score": 0.3}
VALUES = [row for row in MEASURES.values() if row.kind == "value"]
# Falling scores of eight points, without ties and with more and more of them.
SCORES: dict[str, Vector] = {
    "distinct": np.arange(8.0)[::-1],
    "tied": np.array([5.0, 4, 4, 3, 3, 3, 1, 0]),
    "two": np.array([9.0, 9, 9, 2, 2, 2, 2, 2]),
    "constant": np.ones(8),
}
# What is known whole, and of what the mean is, for distinct scores and for tied ones.
LAWS = {"roc_auc", "precision_at_k", "recall_at_k"}
LAWS_DISTINCT = LAWS | {"tpr_at_fpr", "fpr_at_tpr", "f1_at_fpr", "precision_at_fpr"}
MEANS = {*LAWS, "average_precision", "precision_at_p", "rp_auc", "probabilistic_auc"}
MEANS_DISTINCT = MEANS | {"auc_at_fpr", "auc_at_tpr", "weighted_auc", "ht_auc", "lf_auc"}


def options_of(name: str) -> dict[str, Any]:
    row = MEASURES[name]
    options: dict[str, Any] = {"score_range": (-1, 10)} if row.takes_score_range else {}
    if row.operating_point:
        options[row.operating_point] = POINTS_OF.get(name, POINTS[domain(row)])
    return options


def labelled(total: int, anomalies: Any) -> Vector:
    y = np.zeros(total, int)
    y[list(anomalies)] = 1
    return y


def value(name: str, y: Vector, s: Vector, options: dict[str, Any]) -> float:
    try:
        if name in RATES:
            return float(getattr(fastad.confusion_at(y, s, **options), name))
        return float(getattr(fastad.measures, name)(y, s, **options))
    except UndefinedMeasureError:
        return math.nan


def every_value(name: str, n: int, s: Vector, options: dict[str, Any]) -> Vector:
    """The values of all choices of n anomalies."""
    choices = combinations(range(len(s)), n)
    return np.array([value(name, labelled(len(s), chosen), s, options) for chosen in choices])


def better(name: str, values: Vector, than: Any) -> Any:
    row = RATES[name] if name in RATES else MEASURES[name]
    sign = -1 if row.higher_is_better is False else 1
    return sign * values >= sign * than - 1e-12


def agrees(found: ChanceLevel, name: str, values: Vector) -> None:
    """The law of the values, as `every_value` gives them."""
    defined = values[~np.isnan(values)]
    assert found.expected == pytest.approx(np.mean(defined), abs=1e-12)
    # A deviation of 0 is the root of what rounding has left.
    assert found.standard_deviation == pytest.approx(np.std(defined), abs=1e-8, rel=1e-10)
    assert found.p_value == pytest.approx(np.mean(better(name, defined, found.value)), abs=1e-12)
    assert found.undefined_fraction == pytest.approx(np.mean(np.isnan(values)), abs=1e-12)
    assert (found.method, found.n_resamples) == ("exact", 0)


@pytest.mark.parametrize("row", VALUES, ids=lambda row: row.name)
@pytest.mark.parametrize("ties", SCORES)
def test_every_choice_of_anomalies(ties: str, row: Any) -> None:
    rng = np.random.default_rng(3)
    s, options = SCORES[ties], options_of(row.name)
    for n in (1, 3, 5):
        values = every_value(row.name, n, s, options)
        for _ in range(2):
            y = labelled(8, rng.choice(8, n, replace=False))
            if math.isnan(value(row.name, y, s, options)):
                with pytest.raises(UndefinedMeasureError):
                    chance_level(y, s, measure=row.name, **options)
            elif np.mean(np.isnan(values)) > 0.5:
                with pytest.raises(UndefinedMeasureError, match="more than half"):
                    chance_level(y, s, measure=row.name, **options)
            else:
                agrees(chance_level(y, s, measure=row.name, **options), row.name, values)


@pytest.mark.parametrize("name", RATES)
def test_rates_at_a_threshold(name: str) -> None:
    s, y = SCORES["tied"], labelled(8, [0, 2, 5])
    options: dict[str, Any] = {"threshold": 3.5}
    found = chance_level(y, s, measure=name, **options, n_resamples=1)
    agrees(found, name, every_value(name, 3, s, options))
    best = value(name, labelled(8, [0, 1, 2]), s, options)
    assert found.adjusted == pytest.approx(
        (found.value - found.expected) / (best - found.expected), abs=1e-12
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("auc_at_fpr", {"fpr": 0.7, "min_fpr": 0.3}),
        ("auc_at_fpr", {"fpr": 0.55, "normalize": "none"}),
        ("auc_at_tpr", {"min_tpr": 0.25, "max_tpr": 0.9}),
        ("auc_at_tpr", {"min_tpr": 0.5, "normalize": "none"}),
        ("auc_at_fpr", {"fpr": 0.7, "normalize": "mcclish"}),
        ("weighted_auc", {"quadrature": "exact"}),
        ("tpr_at_fpr", {"fpr": 0.3, "interpolation": "conservative"}),
        ("tpr_at_fpr", {"fpr": 0}),
        ("tpr_at_fpr", {"fpr": 1}),
        ("fpr_at_tpr", {"tpr": 0}),
        ("fpr_at_tpr", {"tpr": 1, "interpolation": "conservative"}),
        ("f1_at_fpr", {"fpr": 0}),
        ("f1_at_fpr", {"fpr": 0.4, "prevalence": 0.1}),
        ("precision_at_fpr", {"fpr": 0.4, "prevalence": 0.1}),
        ("average_precision", {"prevalence": 0.1}),
        ("precision_at_k", {"k": 8}),
        ("precision_at_k", {}),
        ("recall_at_k", {"k": 1}),
        ("recall_at_k", {"k": 5}),
        ("ht_auc", {"alpha": 1}),
        ("lf_auc", {"alpha": 0}),
    ],
)
@pytest.mark.parametrize("ties", ["distinct", "tied"])
def test_options(ties: str, name: str, options: dict[str, Any]) -> None:
    s, y = SCORES[ties], labelled(8, [0, 1, 4])
    agrees(chance_level(y, s, measure=name, **options), name, every_value(name, 3, s, options))


@pytest.mark.parametrize("name", ["f1_at_fpr", "precision_at_fpr", "tpr_at_fpr", "roc_auc"])
@pytest.mark.parametrize("fpr", [0, 0.4])
def test_infinite_scores(name: str, fpr: float) -> None:
    s, y = np.array([np.inf, 3, 2, 1, 0, -np.inf]), labelled(6, [0, 1, 3])
    options: dict[str, Any] = {"fpr": fpr} if name != "roc_auc" else {}
    agrees(chance_level(y, s, measure=name, **options), name, every_value(name, 3, s, options))


@pytest.mark.parametrize(
    ("ties", "laws", "means"), [("distinct", LAWS_DISTINCT, MEANS_DISTINCT), ("tied", LAWS, MEANS)]
)
def test_what_is_known_is_not_drawn(ties: str, laws: set[str], means: set[str]) -> None:
    counts = count(labelled(8, [0, 1, 4]), SCORES[ties])
    for row in VALUES:
        asked = bind(row.name, options_of(row.name))
        assert (null_distribution(counts, asked) is not None) == (row.name in laws)
        assert (moments(counts, asked) is not None) == (row.name in means)
        drawn = chance_of(counts, asked, n_resamples=9, key=np.uint64(0))
        assert (drawn.method == "permutation") == (row.name not in laws)
        if row.name in laws | means:
            exact = chance_of(counts, asked, n_resamples=99, key=np.uint64(0))
            assert drawn.expected == exact.expected


def test_no_order_of_distinct_scores_is_better_than_the_perfect_one() -> None:
    s = SCORES["distinct"]
    for row in VALUES:
        for n in (1, 3, 5):
            options = options_of(row.name)
            values = every_value(row.name, n, s, options)
            defined = values[~np.isnan(values)]
            perfect = value(row.name, labelled(8, range(n)), s, options)
            assert np.all(better(row.name, np.array(perfect), defined))


@pytest.mark.parametrize("label", ["auc", "ap", "auc_w", "f1@0.3", "fpr@tpr0.9", "eer", "auc_prg"])
def test_the_perfect_order_adjusts_to_one(label: str) -> None:
    found = chance_level(np.arange(40) >= 30, np.arange(40), measure=label, n_resamples=9, rng=0)
    assert found.adjusted == 1
    worst = chance_level(np.arange(40) < 10, np.arange(40), measure=label, n_resamples=9, rng=0)
    assert worst.adjusted < 0


def test_ties_that_keep_from_a_perfect_order_are_not_excused() -> None:
    """One anomaly tied with a normal: of four pairs half a one is lost."""
    found = chance_level([1, 1, 0, 0], [2, 1, 1, 0], measure="auc")
    assert (found.value, found.adjusted) == (0.875, 0.75)
    assert chance_level([1, 1, 0, 0], [2, 1, 1, 0], measure="fpr@tpr1").adjusted < 1


def test_where_nothing_can_be_gained() -> None:
    found = chance_level([1, 0, 0], [3, 2, 1], measure="recall_at_k", k=3)
    assert (found.value, found.expected, found.p_value) == (1, 1, 1)
    assert math.isnan(found.adjusted)
    found = chance_level([1, 0, 0], [1, 1, 1], measure="auc")
    assert (found.adjusted, found.standard_deviation, found.p_value) == (0, 0, 1)
    assert chance_level([1, 1], [2, 1], measure="ap").p_value == 1


@pytest.mark.parametrize(("n", "m"), [(1, 1), (4, 9), (9, 4), (25, 30), (3, 200)])
def test_area_against_scipy(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    y = np.arange(n + m) < n
    for shift in (-1, 0, 1):
        s = rng.normal(size=n + m) + shift * y
        test = stats.mannwhitneyu(s[:n], s[n:], alternative="greater", method="exact")
        found = chance_level(y, s, measure="auc", n_resamples=1)
        assert found.method == "exact"
        assert found.value == pytest.approx(test.statistic / (n * m))
        assert found.p_value == pytest.approx(test.pvalue, rel=1e-10)


@pytest.mark.parametrize(("n", "m"), [(7, 15), (15, 7), (10, 10)])
def test_area_with_ties_against_whole_numbers(n: int, m: int) -> None:
    """Choices counted group by group, in Python's whole numbers."""
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
    found = chance_level(y, s, measure="auc", n_resamples=1)
    assert found.p_value == pytest.approx(reached / math.comb(n + m, n), rel=1e-12)


@pytest.mark.parametrize(("n", "m"), [(10, 30), (30, 10), (5, 500), (60, 60)])
def test_the_smallest_probability_has_all_its_digits(n: int, m: int) -> None:
    """One choice of all is perfect."""
    found = chance_level(np.arange(n + m) >= m, np.arange(n + m), measure="auc")
    assert found.p_value == pytest.approx(1 / math.comb(n + m, n), rel=1e-11)


def areas(y: Vector, s: Vector) -> tuple[ChanceLevel, Any]:
    """What chance finds, and SciPy's normal law."""
    test = stats.mannwhitneyu(s[y], s[~y], alternative="greater", method="asymptotic")
    return chance_level(y, s, measure="auc", n_resamples=19, rng=0), test


@pytest.mark.parametrize("digits", [9, 1])
@pytest.mark.parametrize(("n", "m"), [(50, 2000), (2000, 50), (400, 500)])
def test_large_areas_against_scipy(n: int, m: int, digits: int) -> None:
    rng = np.random.default_rng(n)
    y = np.arange(n + m) < n
    for shift in (-0.3, 0, 0.1, 0.5):
        found, test = areas(y, (2 * rng.normal(size=n + m) + shift * y).round(digits))
        assert (found.method, found.n_resamples) == ("normal", 0)
        assert (found.expected, found.undefined_fraction) == (0.5, 0)
        assert found.value == pytest.approx(test.statistic / (n * m))
        assert found.p_value == pytest.approx(test.pvalue, rel=1e-9)


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
    shares = area_probabilities(sizes_of(counts).tolist(), 50, 400)
    exact = np.cumsum(shares[::-1])[::-1][shares > 0]
    areas_ = np.flatnonzero(shares > 0) / (2 * 50 * 400)
    near = np.array([normal.at_least(area) for area in areas_])
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
    found = chance_level(y, np.arange(total), measure="ap", n_resamples=1, rng=0)
    assert found.expected == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize("digits", [1, 9])
def test_moments_of_average_precision_by_trial(digits: int) -> None:
    """4 000 permutations by NumPy: the deviation of a deviation is about 1.2 %."""
    rng = np.random.default_rng(0)
    s, y = rng.normal(size=400).round(digits), np.arange(400) < 30
    found = chance_level(y, s, measure="ap", n_resamples=1, rng=0)
    trials = [fastad.average_precision(rng.permutation(y), s) for _ in range(4000)]
    deviation = found.standard_deviation
    assert np.mean(trials) == pytest.approx(found.expected, abs=4 * deviation / 4000**0.5)
    assert np.std(trials) == pytest.approx(deviation, rel=0.06)


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
    wanted = stats.fisher_exact(table, alternative="greater").pvalue
    for name in ("precision_at_k", "recall_at_k"):
        found = chance_level(y, s, measure=name, k=k, n_resamples=1)
        assert found.p_value == pytest.approx(wanted, rel=1e-10)
    at_threshold = chance_level(y, s, measure="precision", threshold=1000 - k, n_resamples=1)
    assert at_threshold.p_value == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("fpr", [0.0, 0.013, 0.2])
def test_rates_against_the_negative_hypergeometric_law(fpr: float) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(700) < 100
    s = rng.normal(size=700) + 0.3 * y
    allowed = math.floor(Fraction(repr(fpr)) * 600)
    found = chance_level(y, s, measure="tpr_at_fpr", fpr=fpr, n_resamples=1)
    # Anomalies drawn before as many normals: SciPy counts those of the first kind.
    null = stats.nhypergeom(700, 100, allowed + 1)
    assert found.expected == pytest.approx((allowed + 1) / 601, rel=1e-13)
    assert found.standard_deviation == pytest.approx(null.std() / 100, rel=1e-10)
    assert found.p_value == pytest.approx(null.sf(round(100 * found.value) - 1), rel=1e-9)


def test_adjustment_against_a_published_one() -> None:
    """Campos et al. 2016, supplement: InternetAds 10 %, version 9, KNNW with k = 17 and 26.

    1775 objects, 177 outliers: P@n 0.50847 and its adjusted value 0.45403, 0.52542 and 0.47286.
    """
    for hits, published, adjusted in ((90, 0.50847, 0.45403), (93, 0.52542, 0.47286)):
        y = labelled(1775, [*range(hits), *range(1000, 1177 - hits)])
        found = chance_level(y, -np.arange(1775.0), measure="precision@n")
        assert found.value == pytest.approx(published, abs=5e-6)
        assert found.adjusted == pytest.approx(adjusted, abs=5e-6)


@pytest.mark.parametrize(("sizes", "n_drawn"), [([1] * 6, 3), ([1] * 7, 2), ([3, 1, 2, 1], 3)])
def test_all_choices_are_alike(sizes: list[int], n_drawn: int) -> None:
    """Chi-square of 20 000 choices, at its 99.9 % quantile."""
    ends = np.cumsum([0, *sizes])
    lasts, marks = np.zeros(ends[-1], np.uint8), np.empty(ends[-1], np.uint8)
    lasts[ends[1:] - 1] = 1
    drawn, others = np.empty((2, len(ends)), np.int64)
    seen: Counter[tuple[int, ...]] = Counter()
    for i in range(20_000):
        relabel(np.uint64(bits(np.uint64(11), i)), lasts, n_drawn, marks, drawn, others)
        assert np.array_equal(drawn + others, ends)
        assert drawn[-1] == np.sum(marks) == n_drawn
        seen[tuple(np.diff(drawn).tolist())] += 1
    wanted: Counter[tuple[int, ...]] = Counter()
    tie = np.repeat(np.arange(len(sizes)), sizes)
    for chosen in combinations(range(ends[-1]), n_drawn):
        wanted[tuple(np.bincount(tie[list(chosen)], minlength=len(sizes)).tolist())] += 1
    assert seen.keys() == wanted.keys()
    expected = np.array([wanted[one] for one in seen]) * 20_000 / wanted.total()
    found = stats.chisquare(list(seen.values()), expected)
    assert found.pvalue > 0.001


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_every_place_is_drawn_as_often(share: float) -> None:
    """A thousand points in ten parts, 2000 times; hits in a part are hypergeometric."""
    total, n_drawn = 1000, round(1000 * share)
    lasts, marks = np.ones(total, np.uint8), np.empty(total, np.uint8)
    drawn, others = np.empty((2, total + 1), np.int64)
    hits = np.zeros((2000, 10))
    for i in range(2000):
        relabel(np.uint64(bits(np.uint64(3), i)), lasts, n_drawn, marks, drawn, others)
        hits[i] = np.diff(drawn[::100])
    law = stats.hypergeom(total, n_drawn, 100)
    np.testing.assert_allclose(np.mean(hits, axis=0), law.mean(), atol=4 * law.std() / 2000**0.5)
    np.testing.assert_allclose(np.var(hits, axis=0), law.var(), rtol=4 * (2 / 2000) ** 0.5)


@pytest.mark.parametrize("name", ["pr_auc", "equal_error_rate", "best_f1", "average_precision"])
@pytest.mark.parametrize("digits", [0, 9])
def test_drawn_permutations_have_the_law_of_all(name: str, digits: int) -> None:
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


@pytest.mark.parametrize("label", ["auc", "ap", "tpr@0.2", "eer", "auc_pr"])
@pytest.mark.parametrize("digits", [0, 9])
def test_p_values_hold_their_level(label: str, digits: int) -> None:
    """Without a difference p <= 0.05 in at most 5 % of 250 samples, and values adjust to 0."""
    rng = np.random.default_rng(8)
    found = []
    for i in range(250):
        y, s = np.arange(25) < 8, rng.normal(size=25).round(digits)
        found.append(chance_level(y, s, measure=label, n_resamples=59, rng=i))
    low = np.mean([one.p_value <= 0.05 for one in found])
    assert low <= 0.05 + 4 * (0.05 * 0.95 / 250) ** 0.5
    adjusted = np.array([one.adjusted for one in found])
    assert abs(np.mean(adjusted)) < 4 * np.std(adjusted) / 250**0.5


def test_the_smallest_p_value_of_permutations() -> None:
    y, s = np.arange(60) >= 40, np.arange(60)
    assert chance_level(y, s, measure="auc_pr", n_resamples=99, rng=0).p_value == 0.01
    assert chance_level(y, s, measure="eer", n_resamples=99, rng=0).p_value == 0.01
    assert chance_level(~y, s, measure="auc_pr", n_resamples=99, rng=0).p_value == 1
    assert chance_level(~y, s, measure="eer", n_resamples=99, rng=0).p_value == 1


def test_a_seed_has_one_result_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    y, s = rng.random(300) < 0.2, rng.normal(size=300)
    first = asdict(chance_level(y, s, measure="auc_pr", rng=7, n_resamples=333, n_threads=1))
    for n_threads in (2, 5):
        again = chance_level(y, s, measure="auc_pr", rng=7, n_resamples=333, n_threads=n_threads)
        assert asdict(again) == first
    other = chance_level(y, s, measure="auc_pr", rng=8, n_resamples=333)
    assert other.expected != first["expected"]
    generator = np.random.default_rng(7)
    assert asdict(chance_level(y, s, measure="auc_pr", rng=generator, n_resamples=333)) == first
    order = rng.permutation(300)
    assert (
        asdict(chance_level(y[order], s[order], measure="auc_pr", rng=7, n_resamples=333)) == first
    )


def test_questions_share_their_permutations() -> None:
    rng = np.random.default_rng(0)
    counts = count(rng.random(300) < 0.2, rng.normal(size=300))
    labels = ["auc", "ap", "auc_pr", "tpr@0.1", "eer"]
    questions = [bind(label, {}) for label in labels]
    wanted: dict[str, Any] = {"n_resamples": 99, "key": np.uint64(5)}
    for one, found in zip(questions, chances_of(counts, questions, **wanted), strict=True):
        assert isinstance(found, ChanceLevel)
        assert asdict(found) == asdict(chance_of(counts, one, **wanted))
    assert chances_of(counts, [], **wanted) == []


def test_a_question_without_an_answer_leaves_the_others_theirs() -> None:
    counts = count([1, 0, 0], [3, 2, 1])
    questions = [bind("precision_at_fpr", {"fpr": 0}), bind("auc", {})]
    unanswered, found = chances_of(counts, questions, n_resamples=9, key=np.uint64(0))
    assert isinstance(unanswered, UndefinedMeasureError)
    assert isinstance(found, ChanceLevel)
    real = count([0, 0, 1], [1, 2, 3], sample_weight=[0.5, 1, 1])
    for one in chances_of(real, questions, n_resamples=9, key=np.uint64(0)):
        assert isinstance(one, UndefinedMeasureError)


def test_plain_values() -> None:
    found = chance_level([1, 0, 0], [3, 2, 1], measure="recall_at_k", k=3)
    assert found.to_dict() == {
        "value": 1.0,
        "expected": 1.0,
        "standard_deviation": 0.0,
        "p_value": 1.0,
        "adjusted": None,
        "method": "exact",
        "n_resamples": 0,
        "undefined_fraction": 0.0,
    }
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_whole_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(0)
    y, s, w = rng.random(50) < 0.3, rng.integers(0, 30, 50), rng.integers(0, 4, 50)
    key = np.uint64(5)
    for label in ("auc", "ap", "auc_pr", "precision@n", "tpr@0.1"):
        weighted = chance_of(count(y, s, sample_weight=w), bind(label, {}), n_resamples=49, key=key)
        repeated = chance_of(
            count(np.repeat(y, w), np.repeat(s, w)), bind(label, {}), n_resamples=49, key=key
        )
        assert asdict(weighted) == asdict(repeated)


def test_real_weights_cannot_be_permuted() -> None:
    counts = count([0, 0, 1], [1, 2, 3], sample_weight=[0.5, 1, 1])
    with pytest.raises(UndefinedMeasureError, match="not integers"):
        chance_of(counts, bind("auc", {}), n_resamples=9, key=np.uint64(0))


def test_permutations_without_a_value_are_left_out() -> None:
    """Nothing is flagged at FPR 0 where a normal is highest: in four of ten permutations."""
    y, s = [1, 1, 1, 0, 0], [5, 4, 3, 2, 1]
    found = chance_level(y, s, measure="precision_at_fpr", fpr=0)
    assert found.undefined_fraction == pytest.approx(0.4)
    assert (found.expected, found.p_value) == (1, 1)
    drawn = chance_level(
        y * 20, [x + i for i in range(20) for x in s], measure="precision_at_fpr", fpr=0, rng=0
    )
    assert drawn.n_resamples == 9999
    with pytest.raises(UndefinedMeasureError, match="more than half"):
        chance_level([1, 0, 0], [3, 2, 1], measure="precision_at_fpr", fpr=0)


@pytest.mark.parametrize(
    ("y", "s", "keywords", "message"),
    [
        ([1, 0], [1, 2], {"n_resamples": 0}, "n_resamples must be at least 1"),
        ([1, 0], [1, 2], {"n_resamples": 9.5}, "n_resamples must be a whole number"),
        ([1, 0], [1, 2], {"rng": "seed"}, "rng must be"),
        ([1, 0], [1, 2], {"rng": -1}, "rng must not be negative"),
        ([1, 0], [1, 2], {"n_threads": 0}, "n_threads"),
        ([1, 0], [1, 2], {"fpr": 0.1}, "fpr"),
        ([1, 0], [1, np.nan], {}, "y_score"),
        ([1, 0], [1, 2, 3], {}, "y_score"),
        ([1, 2], [1, 2], {}, "y_true"),
    ],
)
def test_bad_input_is_named(y: Any, s: Any, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        chance_level(y, s, measure="auc", **keywords)


@pytest.mark.parametrize("measure", ["no_such", "roc_curve", "threshold_at_fpr", 5])
def test_bad_measures_are_named(measure: Any) -> None:
    with pytest.raises((InvalidInputError, TypeError), match="measure"):
        chance_level([1, 0], [1, 2], measure=measure)


@pytest.mark.parametrize(("y", "label"), [([0, 0], "ap"), ([1, 1], "auc"), ([0, 0], "precision@n")])
def test_a_class_that_is_absent(y: list[int], label: str) -> None:
    with pytest.raises(UndefinedMeasureError, match="undefined"):
        chance_level(y, [1, 2], measure=label)

"""The methods that compare two detectors: DeLong's test, the bootstrap, permutations."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import InvalidInputError
from fastad._core.random import random_key
from fastad.errors import LowCoverageWarning, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.uncertainty import Comparison
from fastad.uncertainty.comparisons.paired import rank_detectors
from fastad.uncertainty.samples.influence import INFLUENCES
from tests.support import oracles
from tests.support.operating import options_of
from tests.support.strategies import Sample
from tests.support.uncertainty import PROC, PROC_Y, correlated_detectors, two_detectors

PRINTED = 1e-12
Y = np.array([0, 0, 0, 1, 0, 1, 1, 0, 1, 1])
A = np.array([1.0, 2, 3, 3, 4, 5, 6, 6, 7, 8])
B = np.array([2.0, 1, 3, 1, 5, 5, 9, 6, 4, 8])


@pytest.mark.parametrize("case", PROC["tests"], ids=lambda case: f"{case['a']}-{case['b']}")
def test_delong_is_that_of_proc(case: dict[str, Any]) -> None:
    scores = {name: PROC["markers"][name]["scores"] for name in (case["a"], case["b"])}
    result = fastad.compare(PROC_Y, *scores.values(), measure="auc", method="delong")
    assert result.difference == pytest.approx(
        PROC["auc"][case["a"]] - PROC["auc"][case["b"]], rel=PRINTED
    )
    assert result.p_value == pytest.approx(case["p_value"], rel=PRINTED)
    assert result.low == pytest.approx(case["low"], rel=PRINTED)
    assert result.high == pytest.approx(case["high"], rel=PRINTED)
    deviation = (result.high - result.low) / 2 / stats.norm.ppf(0.975)
    assert result.difference / deviation == pytest.approx(case["z"], rel=PRINTED)
    assert (result.n_anomalies, result.n_normals) == (41, 72)


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@given(two_detectors(), st.sampled_from([0.5, 0.95, 0.999]))
def test_delong_by_the_covariance_of_placements(sample: Sample, level: float) -> None:
    data = [oracles.rows(sample.y, s) for s in sample.s]
    values = [oracles.roc_auc(rows) for rows in data]
    (aa, ab), (_, bb) = oracles.delong_covariance(data)
    spread, difference = aa + bb - 2 * ab, values[0] - values[1]
    result = fastad.compare(
        sample.y, *sample.s, measure="auc", method="delong", confidence_level=level
    )
    assert result.values == (float(values[0]), float(values[1]))
    assert result.difference == pytest.approx(float(difference), abs=1e-15)
    half = stats.norm.isf((1 - level) / 2) * math.sqrt(spread)
    if spread == 0:
        assert result.method == "pairs" or (result.low, result.high, result.p_value) == (0, 0, 1)
    else:
        assert result.low == pytest.approx(max(float(difference) - half, -1), abs=1e-13)
        assert result.high == pytest.approx(min(float(difference) + half, 1), abs=1e-13)
        p_value = 2 * stats.norm.sf(abs(float(difference)) / math.sqrt(spread))
        assert result.p_value == pytest.approx(p_value, rel=1e-9)


@pytest.mark.parametrize("name", sorted(INFLUENCES))
def test_the_variance_of_a_difference_follows_from_the_matrix(name: str) -> None:
    y, scores = correlated_detectors(1, 40, 70, [0.4, 0.8])
    options = options_of(MEASURES[name])
    covariance = fastad.uncertainty.delong_covariance(y, scores, measure=name, **options)
    result = fastad.compare(y, *scores, measure=name, method="delong", **options)
    assert (result.method, result.values) == ("delong", tuple(covariance.values))
    (aa, ab), (_, bb) = covariance.matrix
    half = stats.norm.ppf(0.975) * math.sqrt(aa + bb - 2 * ab)
    assert result.high - result.difference == pytest.approx(half, rel=1e-9)
    assert result.difference - result.low == pytest.approx(half, rel=1e-9)


SMOOTH, OTHERS = ("auc", "ap", "auc@0.3"), ("tpr@0.3", "f1_best", "eer")
METHODS_OF_MEASURES = [
    *product(["delong", "bootstrap", "permutation"], SMOOTH),
    *product(["bootstrap", "permutation"], OTHERS),
]


@pytest.mark.parametrize(("method", "measure"), METHODS_OF_MEASURES)
def test_a_detector_is_no_better_than_itself(method: Any, measure: str) -> None:
    y, scores = correlated_detectors(2, 20, 30, [1.0])
    for other in (scores[0], 5 * scores[0] - 1, np.exp(scores[0])):
        result = fastad.compare(
            y, scores[0], other, measure=measure, method=method, rng=0, n_resamples=200
        )
        assert (result.difference, result.low, result.high, result.p_value) == (0, 0, 0, 1)
        assert not result.is_significant


def test_a_difference_without_variance() -> None:
    """One separates the classes, the other turns them round."""
    y = [0] * 5 + [1] * 4

    def compare(a: Any, b: Any, labels: Any = y, **options: Any) -> Comparison:
        with pytest.warns(LowCoverageWarning, match="variance is zero"):
            return fastad.compare(labels, a, b, **{"measure": "auc", "method": "delong"} | options)

    result = compare(range(9), range(9, 0, -1))
    # The sign test of four disjoint pairs, all of which the first alone is right on.
    assert result.p_value == pytest.approx(stats.binomtest(4, 4).pvalue)
    low = stats.binomtest(4, 4).proportion_ci(0.95, "exact").low
    assert (result.low, result.high) == pytest.approx((2 * low - 1, 1))
    assert (result.difference, result.method) == (1, "pairs")
    assert not result.is_significant
    constant = compare(range(9), [0] * 9)
    # With one of 1/2 on each pair, another one takes at most 3/2 from the mean.
    assert constant.low == pytest.approx(0.5 - 1.5 * (1 - low))
    assert constant.p_value == pytest.approx(2 * (2 / 3) ** 4)
    equal = compare(range(9), y, min_difference=0.1)
    assert (equal.difference, equal.p_value, equal.required_anomalies) == (0, 1, None)
    assert (equal.low, equal.high) == pytest.approx((low - 1, 1 - low))
    many = np.repeat([0, 1], [40, 30])
    opposite = compare(range(70), range(70, 0, -1), many)
    assert opposite.p_value == pytest.approx(2**-29)
    assert opposite.is_significant
    assert opposite.low > 0


@pytest.mark.parametrize("measure", ["auc", "ap", "tpr@0.05"])
@pytest.mark.parametrize("method", ["auto", "bootstrap", "permutation"])
def test_two_perfect_detectors_may_differ(measure: str, method: Any) -> None:
    y = np.repeat([0, 1], [100, 40])
    first = np.arange(140.0)
    second = np.concatenate([first[:100][::-1], first[100:]])
    with pytest.warns(LowCoverageWarning, match="variance is zero"):
        result = fastad.compare(
            y, first, second, measure=measure, method=method, rng=0, min_difference=0.01
        )
    assert result.low < 0 < result.high
    assert (result.difference, result.p_value, result.required_anomalies) == (0, 1, None)


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@given(
    two_detectors(max_size=9),
    st.sampled_from(["auto", "delong", "student", "bootstrap", "permutation"]),
    st.sampled_from(["auc", "ap", "auc@0.3"]),
    st.sampled_from([0.5, 0.95, 0.999]),
)
def test_an_interval_lies_within_the_range(
    sample: Sample, method: Any, measure: str, level: float
) -> None:
    result = fastad.compare(
        sample.y,
        *sample.s,
        measure=measure,
        method=method,
        confidence_level=level,
        n_resamples=60,
        rng=0,
    )
    assert -1 <= result.low <= result.difference <= result.high <= 1
    if abs(result.difference) > 1e-9:
        assert result.is_significant == (result.low > 0 or result.high < 0)


def test_student_is_delong_with_degrees_of_freedom_of_the_influences() -> None:
    y, scores = correlated_detectors(2, 12, 30, [0.5, 1.0])
    data = [oracles.rows(y, s) for s in scores]
    (aa, ab), (_, bb) = oracles.delong_covariance(data)
    spread = float(aa + bb - 2 * ab)
    # A placement is the fraction of the other class that a sample is on the right side of.
    placed = []
    for s in scores:
        wins = (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
        placed.append((wins.mean(axis=1), wins.mean(axis=0)))
    variance_of_it = 0.0
    for first, second in zip(*placed, strict=True):
        squares = (first - second - np.mean(first - second)) ** 2
        variance_of_it += squares.var() / squares.shape[0] ** 3
    df = 1 / (variance_of_it / (2 * spread**2) + 1 / 12)
    result = fastad.compare(y, *scores, measure="auc", method="student")
    half = stats.t.isf(0.025, df) * math.sqrt(spread)
    assert (result.low, result.high) == pytest.approx(
        (result.difference - half, result.difference + half)
    )
    p_value = 2 * stats.t.sf(abs(result.difference) / math.sqrt(spread), df)
    assert result.p_value == pytest.approx(p_value)


def test_a_p_value_does_not_print_as_0() -> None:
    y, scores = correlated_detectors(0, 3000, 3000, [0.1, 3.0])
    every = fastad.compare_all(y, scores, measure="auc", method="delong")
    (result,) = every.values()
    assert result.p_value < 1e-200
    assert "p < 1e-16, delong" in result.summary
    assert str(every).count("< 1e-16") == 2
    assert "95 % interval, unadjusted" in str(every)


@pytest.mark.parametrize(("method", "measure"), METHODS_OF_MEASURES)
def test_exchanged_detectors_have_the_opposite_difference(method: Any, measure: str) -> None:
    y, scores = correlated_detectors(3, 15, 25, [0.5, 1.5])
    keywords: Any = {"measure": measure, "method": method, "rng": 6, "n_resamples": 500}
    one = fastad.compare(y, *scores, **keywords)
    other = fastad.compare(y, *scores[::-1], **keywords)
    assert other.difference == -one.difference
    # A permutation and its complement exchange the sign: the test is the same, the draw is not.
    loose = method == "permutation"
    assert other.p_value == pytest.approx(one.p_value, rel=1e-12, abs=0.03 if loose else 0)
    assert [-other.high, -other.low] == pytest.approx([one.low, one.high], abs=1e-14)
    assert other.values == one.values[::-1]
    # The winner is the same detector under its other name.
    assert one.summary.split(" ")[0] != other.summary.split(" ")[0] or not one.is_significant


@pytest.mark.parametrize("measure", ["auc", "ap", "tpr@0.1", "eer", "f1_best"])
@pytest.mark.parametrize("stratified", [True, False])
def test_bootstrapped_differences_share_their_replicates(measure: str, stratified: bool) -> None:
    y, scores = correlated_detectors(4, 12, 30, [0.6, 1.4])
    bound = bind(measure, {})
    detectors = rank_detectors(check_labels(y), [("a", "a", scores[0]), ("b", "b", scores[1])])
    key = random_key(8)
    drawn = [
        sample.replicates([bound], 400, key, stratified=stratified)[0]
        for sample in detectors.samples
    ]
    differences = drawn[0] - drawn[1]
    keywords: Any = {"measure": measure, "method": "bootstrap", "rng": 8, "n_resamples": 400}
    result = fastad.compare(y, *scores, stratified=stratified, confidence_level=0.9, **keywords)
    # Two degrees of freedom for each sample beyond the operating point, and of those that keep the
    # values from the ends of their range.
    n_beyond = 3 if measure == "tpr@0.1" else 12
    df = 2.0 * n_beyond
    if bound.measure.name not in INFLUENCES:
        errors = 12 * max(abs(result.difference), *(min(x, 1 - x) for x in result.values))
        df = 2 / (1 / n_beyond + 1 / errors)
    alpha = 2 * stats.norm.cdf(stats.t.ppf(0.05, df))
    rank = math.floor(alpha * 401 / 2) - 1
    ordered = np.sort(differences)
    low, high = (ordered[rank], ordered[-1 - rank]) if rank >= 0 else (-1, 1)
    assert result.low == pytest.approx(min(low, result.difference), abs=1e-15)
    assert result.high == pytest.approx(max(high, result.difference), abs=1e-15)
    fewer = min(np.sum(differences <= 0), np.sum(differences >= 0))
    p_value = min(1, 2 * (1 + fewer) / 401)
    assert result.p_value == pytest.approx(2 * stats.t.cdf(stats.norm.ppf(p_value / 2), df))
    assert (result.method, result.n_resamples, result.n_undefined) == ("bootstrap", 400, 0)
    for threads in (1, 3):
        again = fastad.compare(
            y, *scores, stratified=stratified, confidence_level=0.9, n_threads=threads, **keywords
        )
        assert again == result


def test_a_paired_difference_is_narrower_than_two_intervals() -> None:
    y, scores = correlated_detectors(5, 100, 200, [1.0, 1.0])
    rng = np.random.default_rng(0)
    close = scores[0] + 0.1 * rng.normal(size=300)
    result = fastad.compare(y, scores[0], close, measure="auc", method="bootstrap", rng=0)
    alone = fastad.interval(y, scores[0], measure="auc", method="bootstrap", rng=0)
    assert result.high - result.low < (alone.high - alone.low) / 3
    delong = fastad.compare(y, scores[0], close, measure="auc", method="delong")
    assert result.high - result.low == pytest.approx(delong.high - delong.low, rel=0.1)


@pytest.mark.filterwarnings("ignore:.* with fewer than 5 anomalies")
def test_undefined_replicates_of_a_difference_are_counted() -> None:
    y = [0] * 4 + [1] * 2
    result = fastad.compare(
        y,
        [1, 2, 3, 4, 3, 5],
        [1, 5, 3, 4, 3, 5],
        measure="auc",
        method="bootstrap",
        stratified=False,
        rng=0,
        n_resamples=2000,
    )
    # A class is absent with probability (2/3)**6 + (1/3)**6.
    p = (2 / 3) ** 6 + (1 / 3) ** 6
    assert abs(result.n_undefined - 2000 * p) < 4 * math.sqrt(2000 * p * (1 - p))


def twice_mean_ranks(s: Any) -> list[int]:
    """From the highest score, tied ones sharing."""
    return [sum(2 * (t > x) + (t == x) for t in s) + 1 for x in s]


def all_swaps(
    y: Any, a: Any, b: Any, value: Callable[[oracles.Rows], Fraction]
) -> tuple[Fraction, list[Fraction | None]]:
    """The difference, and those of all 2**N exchanges of the two ranks of each point."""
    first, second = twice_mean_ranks(a), twice_mean_ranks(b)
    measured_before: dict[tuple[int, ...], Fraction | None] = {}

    def measured(ranks: tuple[int, ...]) -> Fraction | None:
        if ranks not in measured_before:
            data = oracles.rows(y, [-rank for rank in ranks])
            measured_before[ranks] = oracles.attempt(lambda: value(data))
        return measured_before[ranks]

    results: list[Fraction | None] = []
    for swaps in product((False, True), repeat=len(y)):
        pairs = [
            (q, p) if swap else (p, q) for p, q, swap in zip(first, second, swaps, strict=True)
        ]
        one, other = (measured(tuple(ranks)) for ranks in zip(*pairs, strict=True))
        results.append(None if one is None or other is None else one - other)
    assert results[0] is not None
    return results[0], results


CASES: list[tuple[BoundMeasure, Callable[[oracles.Rows], Fraction]]] = [
    (bind("auc", {}), oracles.roc_auc),
    (bind("ap", {}), oracles.average_precision),
    (bind("tpr@0.4", {}), lambda data: oracles.tpr_at_fpr(data, Fraction(2, 5), "linear")),
    (bind("precision@n", {}), lambda data: oracles.precision_at_k(data, None)),
]


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@given(two_detectors(max_size=7, fewest=1), st.sampled_from(range(len(CASES))))
def test_all_permutations_are_enumerated_where_they_are_few(sample: Sample, case: int) -> None:
    bound, value = CASES[case]
    difference, swapped = all_swaps(sample.y, sample.s[0], sample.s[1], value)
    assert all(one is not None for one in swapped)
    extreme = sum(abs(one) >= abs(difference) for one in swapped if one is not None)
    result = fastad.compare(
        sample.y,
        *sample.s,
        measure=bound.measure.name,
        method="permutation",
        n_resamples=128,
        **bound.parameters,
    )
    assert result.method in ("exact permutation", "pairs")
    assert result.difference == pytest.approx(float(difference), abs=1e-15)
    assert result.p_value == pytest.approx(extreme / len(swapped), abs=1e-15)
    # Ranks that are equal need no exchange.
    differ = [p != q for p, q in zip(*(twice_mean_ranks(s) for s in sample.s), strict=True)]
    assert result.n_resamples == 2 ** sum(differ)
    sizes = [abs(float(one)) for one in swapped if one is not None]
    # Each exchange of the points that differ comes equally often among all.
    distinct = sorted(sizes)[:: 2 ** (len(differ) - sum(differ))]
    # So many permutations may be as extreme where the p-value is at most 0.05.
    spread = distinct[-1 - len(distinct) // 20]
    if result.method == "pairs":
        assert spread == 0
    for end in (result.low, result.high) if result.method != "pairs" else ():
        # An end is as far from the difference as permutations spread there; within the range.
        distance = abs(result.difference - end)
        assert distance == pytest.approx(spread * math.sqrt(1 - end**2), abs=1e-7)
        assert -1 <= result.low <= result.difference <= result.high <= 1


@pytest.mark.slow
def test_drawn_permutations_are_near_all_of_them() -> None:
    y, scores = correlated_detectors(7, 5, 7, [0.2, 1.2])
    keywords: Any = {"measure": "ap", "method": "permutation", "rng": 1}
    exact = fastad.compare(y, *scores, n_resamples=2**12, **keywords)
    drawn = fastad.compare(y, *scores, n_resamples=2000, n_threads=1, **keywords)
    assert (exact.method, drawn.method) == ("exact permutation", "permutation")
    assert drawn.n_resamples == 2000 < exact.n_resamples
    p = exact.p_value
    assert abs(drawn.p_value - p) < 4 * math.sqrt(p * (1 - p) / 2000) + 1 / 2000
    assert fastad.compare(y, *scores, n_resamples=2000, n_threads=3, **keywords) == drawn


def test_a_drawn_p_value_is_never_0() -> None:
    y = np.repeat([0, 1], [60, 40])
    result = fastad.compare(
        y, range(100), range(100, 0, -1), measure="auc", method="permutation", rng=0, n_resamples=99
    )
    assert result.p_value == 1 / 100


@pytest.mark.parametrize(("level", "n_resamples"), [(0.9, 9), (0.95, 19), (0.98, 49), (0.99, 99)])
def test_a_p_value_of_just_the_level_is_significant(level: float, n_resamples: int) -> None:
    """1 - 0.9 is below 0.1 as a float; here p-value, interval, summary and table agree."""
    y = np.repeat([0, 1], [60, 40])
    scores = {"up": range(100), "down": range(100, 0, -1)}
    options: Any = {"method": "permutation", "rng": 0, "confidence_level": level}
    table = fastad.compare_all(
        y, scores, measure="auc", n_resamples=n_resamples, correction="none", **options
    )
    result = table["up", "down"]
    assert result.p_value == 1 / (n_resamples + 1)
    assert result.is_significant
    assert result.low > 0
    assert "up is better than down" in result.summary
    assert "not significant" not in str(table)


@pytest.mark.slow
@pytest.mark.parametrize("n_resamples", [50, 256])
def test_permutations_read_only_ranks(n_resamples: int) -> None:
    y, scores = correlated_detectors(9, 3, 5, [0.5, 1.0])
    options: Any = {"method": "permutation", "rng": 2, "n_resamples": n_resamples}
    for case in ({"measure": name} for name in ("auc", "ap", "tpr@0.3", "cost_auc@2")):
        keywords = options | case
        expected = fastad.compare(y, scores[0], scores[1], **keywords)
        relabelled: list[tuple[Any, Any]] = [
            (np.exp(scores[0]), scores[1]),
            (scores[0], 1000 * scores[1] - 5),
            (stats.rankdata(scores[0]).astype(np.int16), scores[1].astype(np.float32)),
        ]
        for a, b in relabelled:
            assert fastad.compare(y, a, b, **keywords) == expected


def test_one_sample_of_a_class_can_be_permuted() -> None:
    result = fastad.compare(
        [0, 0, 0, 1], [1, 2, 3, 4], [4, 2, 3, 1], measure="auc", method="permutation"
    )
    assert result.method == "exact permutation"
    # Two points differ: exchanging both turns the difference round.
    assert (result.difference, result.p_value) == (1, 0.5)


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        (row.name, options_of(row))
        for row in MEASURES.values()
        if row.takes_score_range and row.kind == "value"
    ],
)
def test_measures_of_values_cannot_be_permuted(measure: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=f"the scores' values; found measure {measure}"):
        fastad.compare(Y, A, B, measure=measure, method="permutation", **options)


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("measure", "method", "n_tried"),
    [("auc", "delong", 400), ("ap", "bootstrap", 150), ("auc", "permutation", 150)],
)
def test_false_positive_rate_of_comparisons(measure: str, method: Any, n_tried: int) -> None:
    shown = 0
    for seed in range(n_tried):
        y, scores = correlated_detectors(seed, 40, 60, [1.0, 1.0])
        result = fastad.compare(
            y, *scores, measure=measure, method=method, rng=seed, n_resamples=99
        )
        shown += result.is_significant
    # Beyond 5 % by 3 standard deviations of chance and by what small samples cost.
    assert shown / n_tried < 0.06 + 3 * math.sqrt(0.05 * 0.95 / n_tried)
    assert shown > 0


@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
def test_a_measure_without_weights_can_be_compared(method: Any) -> None:
    y, scores = correlated_detectors(0, 30, 50, [0.3, 1.0])
    options: Any = {"measure": "weighted_auc", "quadrature": "exact"}
    result = fastad.compare(y, *scores, method=method, n_resamples=20, rng=0, **options)
    assert result.values == tuple(fastad.weighted_auc(y, s, quadrature="exact") for s in scores)
    values = fastad.uncertainty.delong_covariance(y, scores, **options).values
    assert tuple(values) == result.values


@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
def test_a_large_difference_is_significant(method: Any) -> None:
    y, scores = correlated_detectors(0, 60, 90, [0.3, 2.0])
    result = fastad.compare(y, *scores, measure="auc", method=method, rng=0, n_resamples=999)
    assert result.is_significant
    assert result.difference < 0
    assert result.high < 0
    assert result.summary.startswith("b is better than a in auc: a - b = -0.")


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("name", [name for name, row in MEASURES.items() if row.kind == "value"])
def test_the_method_of_a_result_gives_the_same_comparison(name: str) -> None:
    options = options_of(MEASURES[name])
    rng = np.random.default_rng(0)
    for n, m, shift in ((3, 12, 9.0), (40, 300, 2.0)):
        labels = np.arange(n + m) < n
        scores = np.clip(rng.normal(shift * labels, size=(2, n + m)), -9, 9)
        for arguments in (
            {},
            {"clusters": np.arange(n + m) // 3},
            {"sample_weight": 1 + labels / 2},
        ):
            keywords: Any = {"measure": name, "n_resamples": 20, "rng": 1, **options, **arguments}
            try:
                selected = fastad.compare(labels, *scores, **keywords)
            except (InvalidInputError, UndefinedMeasureError):
                continue
            method: Any = selected.method
            if method == "pairs":  # what that of `auto` gives without a variance
                method = "student" if name in INFLUENCES else "bootstrap"
            result = fastad.compare(labels, *scores, method=method, **keywords)
            assert replace(result, reliability_note=selected.reliability_note) == selected


@pytest.mark.parametrize("measure", ["bedroc", "robust_initial_enhancement"])
def test_an_exponent_is_no_rate_of_normals(measure: str) -> None:
    """At an exponent near 0 BEDROC is the area under the ROC curve, and RIE is 1."""
    rng = np.random.default_rng(1)
    y = np.arange(1500) < 500
    a, b = rng.normal(size=(2, 1500)) + np.outer([1.0, 1.2], y)
    area = fastad.compare(y, a, b, measure="auc")
    early = fastad.compare(y, a, b, measure=measure, alpha=1e-3)
    assert early.reliability_note is None
    assert early.p_value == pytest.approx(area.p_value, rel=0.02)

"""Unpaired comparisons of a measure on two independent samples."""

import itertools
import json
import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad.errors import LowCoverageWarning
from fastad.measures.rates import OF_PROPORTION, TRIALS
from fastad.uncertainty import IndependentComparison, noninferiority
from fastad.uncertainty.comparisons import unpaired
from fastad.uncertainty.rates.order_statistics import EachRank
from tests.support import oracles
from tests.support.uncertainty import PROC, PROC_Y

PRINTED = 1e-12
Pair = tuple[Any, Any]


def sample(seed: int, n: int, m: int, shift: float) -> Pair:
    rng = np.random.default_rng(seed)
    return [1] * n + [0] * m, [*(rng.normal(size=n) + shift), *rng.normal(size=m)]


def rate_sample(hits: int, n: int) -> Pair:
    """So many of n anomalies at or above threshold 1."""
    return [1] * n + [0, 0], [2] * hits + [0] * (n - hits) + [0, 2]


@pytest.mark.parametrize("case", PROC["unpaired"], ids=lambda case: f"{case['a']}-{case['b']}")
def test_delong_is_the_unpaired_test_of_proc(case: dict[str, Any]) -> None:
    a, b = ((PROC_Y, PROC["markers"][case[side]]["scores"]) for side in ("a", "b"))
    result = fastad.compare_independent(a, b, measure="auc", method="delong")
    assert result.p_value == pytest.approx(case["p_value"], rel=PRINTED)
    half = stats.t.ppf(0.975, result.df)
    deviation = (result.high - result.low) / 2 / half
    assert result.difference / deviation == pytest.approx(case["d"], rel=PRINTED)


@given(st.integers(0, 99), st.integers(2, 9), st.integers(2, 9), st.sampled_from([0.5, 0.95]))
def test_delong_is_welchs_test_of_placements(seed: int, n: int, m: int, level: float) -> None:
    pair = sample(seed, n, m, 0.5), sample(seed + 100, m + 1, n + 2, 0.0)
    data = [oracles.rows(np.array(y), np.array(s)) for y, s in pair]
    variances = [oracles.delong_covariance([rows])[0][0] for rows in data]
    values = [oracles.roc_auc(rows) for rows in data]
    total = sum(variances)
    assume(total > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowCoverageWarning)
        result = fastad.compare_independent(
            *pair, measure="auc", method="delong", confidence_level=level
        )
    df = total**2 / sum(v**2 / (len(rows) - 1) for v, rows in zip(variances, data, strict=True))
    half = stats.t.ppf((1 + level) / 2, float(df)) * math.sqrt(total)
    difference = float(values[0] - values[1])
    assert result.difference == pytest.approx(difference, abs=1e-12)
    # A difference of areas lies within [-1, 1].
    assert (result.low, result.high) == pytest.approx(
        (max(difference - half, -1), min(difference + half, 1)), abs=1e-9
    )
    assert result.df == pytest.approx(float(df), rel=1e-9)


# Newcombe 1998, "Interval estimation for the difference between independent proportions",
# table II, method 10 (the square-and-add method of Wilson's intervals): eight contrasts.
NEWCOMBE = [
    (56, 70, 48, 80, 0.0524, 0.3339),
    (9, 10, 3, 10, 0.1705, 0.8090),
    (6, 7, 2, 7, 0.0582, 0.8062),
    (5, 56, 0, 29, -0.0381, 0.1926),
    (0, 10, 0, 20, -0.1611, 0.2775),
    (0, 10, 0, 10, -0.2775, 0.2775),
    (10, 10, 0, 20, 0.6791, 1.0),
    (10, 10, 0, 10, 0.6075, 1.0),
]


@pytest.mark.parametrize(("a", "n", "b", "m", "low", "high"), NEWCOMBE)
@pytest.mark.parametrize("method", ["auto", "hybrid"])
def test_a_rate_at_a_threshold_has_newcombes_interval(
    a: int, n: int, b: int, m: int, low: float, high: float, method: Any
) -> None:
    result = fastad.compare_independent(
        rate_sample(a, n), rate_sample(b, m), measure="tpr", threshold=1, method=method
    )
    assert (result.method, result.intervals[0].method) == ("hybrid", "wilson")
    assert result.low == pytest.approx(low, abs=6e-5)
    assert result.high == pytest.approx(high, abs=6e-5)


@pytest.mark.parametrize(("n", "m", "rate"), [(10, 20_000, 0.983), (40, 2000, 0.996)])
def test_equal_rates_of_a_small_and_a_large_sample_seldom_differ(
    n: int, m: int, rate: float
) -> None:
    """Wilson's interval of the small sample is too narrow near 0 and 1: 16 % differed."""
    large = rate_sample(round(m * rate), m)
    rejected = 0.0
    for k in range(n + 1):
        if (chance := float(stats.binom.pmf(k, n, rate))) > 1e-4:
            result = fastad.compare_independent(
                rate_sample(k, n), large, measure="tpr", threshold=1
            )
            assert result.method == "exact"
            assert (result.p_value <= 0.05) == (not result.low <= 0 <= result.high)
            rejected += chance * (result.p_value <= 0.05)
    assert rejected <= 0.05


@pytest.mark.parametrize("name", [name for name in TRIALS if name != "n_flagged"])
def test_estimates_of_unlike_sizes_are_those_of_the_measure(name: str) -> None:
    """F1 is no proportion of its trials: what was tested of it exactly was another number."""
    y, flags = np.repeat([1, 1, 0, 0], [30, 9, 8, 60]), np.repeat([1, 0, 1, 0], [30, 9, 8, 60])
    few, many = (y[::3], flags[::3]), (np.tile(y, 30), np.tile(flags, 30))
    result = fastad.compare_independent(few, many, measure=name, threshold=1)
    assert result.method == ("hybrid" if name in OF_PROPORTION else "exact")
    assert result.difference == result.values[0] - result.values[1]
    assert result.low <= result.difference <= result.high
    tested = noninferiority(
        (few[0], many[0]), few[1], many[1], measure=name, threshold=1, margin=0.5
    )
    assert tested.estimate == pytest.approx(result.difference, abs=1e-12)
    assert tested.low <= tested.estimate <= tested.high


@pytest.mark.parametrize("detected", [1, 0])
def test_a_rate_takes_samples_of_its_class_alone(detected: int) -> None:
    """Those of the other class are not read; their number was divided by."""
    rate = "tpr@threshold1" if detected else "fpr@threshold1"
    both = [rate_sample(3, 20), rate_sample(9, 25)]
    alone = [([detected] * k, scores[:k]) for k, (_, scores) in zip((20, 25), both, strict=True)]
    found = fastad.compare_independent(*alone, measure=rate)
    expected = fastad.compare_independent(*both, measure="tpr@threshold1")
    assert (found.difference, found.p_value) == (expected.difference, expected.p_value)
    assert (found.low, found.high) == (expected.low, expected.high)


def test_samples_without_normals_do_not_differ_in_precision() -> None:
    """Every precision is 1, in all samples: the interval has the width that few samples leave."""
    alone = [1] * 6, [0.1, 0.2, 0.3, 0.3, 0.4, 0.5]
    with pytest.warns(LowCoverageWarning, match="the estimated variance is zero"):
        found = fastad.compare_independent(alone, alone, measure="ef@0.1")
    assert (found.difference, found.p_value) == (0, 1)
    assert found.low < 0 < found.high


HYBRIDS = [
    {"measure": "auc"},
    {"measure": "tpr_at_fpr", "fpr": 0.1},
    {"measure": "tpr", "threshold": 0.7},
    {"measure": "f1", "threshold": 0.7},
    {"measure": "fpr@tpr0.9"},
]


@pytest.mark.parametrize("measure", HYBRIDS, ids=lambda x: x["measure"])
def test_the_ends_are_those_of_both_intervals_squared_and_added(measure: dict[str, Any]) -> None:
    a, b = sample(1, 40, 60, 1.5), sample(2, 50, 45, 0.8)
    result = fastad.compare_independent(a, b, **measure, method="hybrid", rng=3)
    first, second = result.intervals
    assert result.difference == first.value - second.value
    below = (first.value - first.low) ** 2 + (second.high - second.value) ** 2
    above = (first.high - first.value) ** 2 + (second.value - second.low) ** 2
    assert (result.difference - result.low) ** 2 == pytest.approx(below, rel=1e-9)
    assert (result.high - result.difference) ** 2 == pytest.approx(above, rel=1e-9)
    if "threshold" not in measure:
        alone = fastad.interval(*a, **measure)
        if first.n_resamples == 0:
            assert (alone.low, alone.high) == (first.low, first.high)


@pytest.mark.parametrize(
    ("measure", "method"),
    [({"measure": "ap"}, "delong"), *((measure, "hybrid") for measure in HYBRIDS)],
    ids=lambda x: x if isinstance(x, str) else x["measure"],
)
def test_the_interval_ends_at_0_at_the_level_of_the_p_value(
    measure: dict[str, Any], method: Any
) -> None:
    a, b = sample(1, 40, 60, 1.2), sample(2, 50, 45, 0.8)
    p_value = fastad.compare_independent(a, b, **measure, method=method, rng=3).p_value
    assert 0 < p_value < 1
    for level, excluded in ((1 - p_value * 1.02, True), (1 - p_value * 0.98, False)):
        result = fastad.compare_independent(
            a, b, **measure, method=method, rng=3, confidence_level=level
        )
        assert (not result.low <= 0 <= result.high) is excluded
        assert result.is_significant is excluded


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_verdict_and_interval_agree_where_scipy_has_no_quantile(level: float) -> None:
    """At levels below 1e-150 an end was NaN: p was 2.2e-308, of an interval around 0."""
    rng = np.random.default_rng([7, 56])
    labels = np.repeat([1, 0], [20, 500])
    shift = labels == 1
    a = stats.cauchy.ppf(rng.random(520)) + 6 * shift
    b = stats.norm.ppf(rng.random(520)) + 2 * shift
    result = fastad.compare_independent(
        (labels, a), (labels, b), measure="tpr@0.05", confidence_level=level
    )
    assert result.low < 0 < result.high
    assert result.p_value > 1 - level
    ends = EachRank(500, 1e-250)
    ranks = np.arange(502)
    assert np.all(np.diff(ends.upper(ranks)) >= 0)
    assert np.all(ends.lower(ranks) <= ends.upper(ranks))


def test_too_few_replicates_leave_the_whole_range() -> None:
    """The smallest p-value of 10 replicates is 1 / 11."""
    a, b = sample(1, 60, 300, 3.0), sample(2, 60, 300, 0.0)
    result = fastad.compare_independent(a, b, measure="ap", n_resamples=10, rng=0)
    assert result.p_value == 1 / 11
    assert (result.low, result.high) == (-1, 1)


def test_anomalies_that_a_perfect_sample_does_not_have_are_allowed_for() -> None:
    """2 % of the anomalies are below all normals: 64 % of the samples of 50 have one.

    The mean precision at the anomalies above is 1, and at those below a fraction f of the anomalies
    the precision of all that are flagged, pi f / (pi f + 1 - pi).
    """
    pi, hidden = 50 / 1050, 0.02
    first = 1 - hidden + np.mean([pi * f / (pi * f + 1 - pi) for f in (0.985, 0.995)]) * hidden
    covered = 0
    labels = np.repeat([1, 0], [50, 1000])
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = rng.normal(size=1050), rng.normal(size=1050)
        a[:50] = np.where(rng.random(50) < hidden, -9, 9)
        result = fastad.compare_independent(
            (labels, a), (labels, b), measure="ap", n_resamples=200, rng=seed
        )
        # Of a chance level it is the prevalence.
        covered += result.low <= first - pi <= result.high
    assert stats.binom.cdf(covered, 40, 0.95) > 0.001


def test_equal_samples_do_not_differ() -> None:
    a = sample(1, 30, 30, 1.0)
    for method in ("delong", "hybrid", "bootstrap", "permutation"):
        result = fastad.compare_independent(a, a, measure="auc", method=method, rng=0)
        assert result.difference == 0
        assert result.p_value > 0.9
        assert result.low < 0 < result.high


def test_perfect_samples_have_intervals_with_a_width() -> None:
    perfect = [1] * 30 + [0] * 30, [2] * 30 + [1] * 30
    result = fastad.compare_independent(perfect, perfect, measure="auc", method="hybrid")
    assert result.low < 0 < result.high
    with pytest.warns(
        LowCoverageWarning, match="variance is zero, and the interval one of disjoint"
    ):
        result = fastad.compare_independent(perfect, perfect, measure="auc", method="delong")
    assert result.low < 0 < result.high


def test_replicates_of_the_two_samples_are_independent() -> None:
    """The variance of the difference of a sample and itself is twice its own."""
    a = sample(4, 60, 80, 1.0)
    alone = fastad.interval(*a, measure="auc", method="bootstrap", n_resamples=4000, rng=1)
    result = fastad.compare_independent(
        a, a, measure="auc", method="bootstrap", n_resamples=4000, rng=1
    )
    deviation = (result.high - result.low) / 2 / 1.96
    assert deviation == pytest.approx(math.sqrt(2) * alone.standard_error, rel=0.06)


def test_all_permutations_are_those_of_the_definition() -> None:
    a = [1, 1, 0, 0, 0], [3.0, 5.0, 1.0, 2.0, 4.0]
    b = [1, 1, 1, 0, 0], [2.0, 4.0, 6.0, 3.0, 5.5]
    result = fastad.compare_independent(a, b, measure="auc", method="permutation")
    pooled = {
        label: [s for y, x in (a, b) for t, s in zip(y, x, strict=True) if t == label]
        for label in (1, 0)
    }

    def auc(anomalies: list[float], normals: list[float]) -> float:
        pairs = list(itertools.product(anomalies, normals))
        return sum((x > y) + (x == y) / 2 for x, y in pairs) / len(pairs)

    null = []
    for ones in itertools.combinations(range(5), 2):
        for zeros in itertools.combinations(range(5), 3):
            sides = [
                [
                    [pooled[label][i] for i in range(5) if (i in chosen) is first]
                    for label, chosen in ((1, ones), (0, zeros))
                ]
                for first in (True, False)
            ]
            null.append(auc(*sides[0]) - auc(*sides[1]))
    observed = auc([3, 5], [1, 2, 4]) - auc([2, 4, 6], [3, 5.5])
    expected = np.mean(np.abs(null) >= abs(observed) - 1e-12)
    assert result.method == "exact permutation"
    assert result.n_resamples == len(null) == 100
    assert result.p_value == pytest.approx(expected, rel=1e-12)
    sampled = fastad.compare_independent(
        a, b, measure="auc", method="permutation", n_resamples=99, rng=0
    )
    assert sampled.method == "permutation"
    assert sampled.p_value == pytest.approx(expected, abs=0.2)


def test_choices_that_cannot_be_drawn_are_not_counted() -> None:
    """Of a million samples their number has a million bits, which take seconds."""
    assert unpaired._n_choices(unpaired._PooledClass(np.arange(40), 35)) == math.comb(40, 5)
    assert unpaired._n_choices(unpaired._PooledClass(np.arange(10**6), 5 * 10**5)) == math.inf


@pytest.mark.parametrize("largest", [2**62 + 1, 2**63 - 1])
def test_permutations_need_scores_in_one_type(largest: int) -> None:
    a = [0, 1, 0, 1], np.array([largest, 3, 2, 1])
    b = [0, 1, 0, 1], [0.5, 1.5, 2.5, 3.5]
    with pytest.raises(fastad.InvalidInputError, match="scores of the type of sample_a"):
        fastad.compare_independent(a, b, measure="auc", method="permutation")


def test_measures_of_values_are_permuted_too() -> None:
    a, b = sample(1, 12, 20, 1.0), sample(2, 15, 11, 1.0)
    result = fastad.compare_independent(
        a, b, measure="tpr", threshold=0.5, method="permutation", n_resamples=300, rng=0
    )
    assert 0 < result.p_value <= 1


@pytest.mark.parametrize("method", ["delong", "hybrid", "bootstrap", "permutation"])
def test_exchanged_samples_have_the_negative_difference(method: Any) -> None:
    a, b = sample(1, 40, 60, 1.2), sample(2, 50, 45, 0.8)
    there = fastad.compare_independent(a, b, measure="auc", method=method, rng=3)
    back = fastad.compare_independent(b, a, measure="auc", method=method, rng=3)
    assert back.difference == -there.difference
    exact = method in ("delong", "hybrid")
    tolerance = 1e-12 if exact else 0.05
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low), abs=tolerance)
    assert back.p_value == pytest.approx(there.p_value, abs=tolerance)


@pytest.mark.parametrize("method", ["hybrid", "bootstrap", "permutation"])
def test_threads_do_not_change_a_bit(method: Any) -> None:
    a, b = sample(1, 40, 60, 1.2), sample(2, 50, 45, 0.8)
    options: dict[str, Any] = {"method": method, "rng": 3, "n_resamples": 500}
    one, two = (
        fastad.compare_independent(a, b, measure="auc_at_fpr", fpr=0.2, n_threads=n, **options)
        for n in (1, 2)
    )
    assert one == two


def test_auto_takes_what_is_known_to_cover() -> None:
    a, b = sample(1, 300, 400, 1.2), sample(2, 350, 300, 0.8)
    chosen = {
        key: fastad.compare_independent(a, b, measure=key, rng=0).method
        for key in ("auc", "tpr@0.1", "ap")
    }
    assert chosen == {"auc": "hybrid", "tpr@0.1": "hybrid", "ap": "hybrid"}
    few = fastad.compare_independent(sample(1, 6, 8, 1.0), sample(2, 7, 9, 1.0), measure="auc")
    assert few.method == "hybrid"
    with pytest.warns(LowCoverageWarning, match="by 'bootstrap' on such data is not known"):
        rough = fastad.compare_independent(a, b, measure="auc_beta@0.01", rng=0, n_resamples=200)
    assert rough.method == "bootstrap"


def test_the_result_says_what_it_is() -> None:
    a, b = sample(1, 300, 400, 2.0), sample(2, 350, 300, 0.2)
    result = fastad.compare_independent(a, b, measure="ap")
    assert isinstance(result, IndependentComparison)
    assert (result.n_anomalies, result.n_normals) == ((300, 350), (400, 300))
    assert str(result).startswith("a is better than b in ap: a - b = 0.")
    content = result.to_dict()
    assert content["summary"] == result.summary
    assert content["intervals"] == [each.to_dict() for each in result.intervals]
    assert content["reliability_note"] is None
    assert json.loads(json.dumps(content))["p_value"] == result.p_value


GOOD = ([0, 0, 1, 1], [1.0, 2.0, 3.0, 1.5])


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        (GOOD[0], GOOD, {}, r"sample_a must be a pair \(y_true, y_score\); found 4 entries"),
        (GOOD, "ab", {}, r"sample_b must be a pair \(y_true, y_score\); found str"),
        (GOOD, ([0, 2, 1, 1], GOOD[1]), {}, r"sample_b\[0\] must contain 0 \(normal\)"),
        ((GOOD[0], GOOD[1][:3]), GOOD, {}, r"sample_a\[1\] must have one score for each label"),
        (GOOD, (GOOD[0], [1, 2, math.nan, 0]), {}, r"sample_b\[1\] must not contain NaN"),
        (GOOD, GOOD, {"method": "order"}, "method must be one of 'auto', 'exact', 'delong'"),
        (GOOD, GOOD, {"method": "exact"}, "for a measure that is no proportion at a threshold"),
        (GOOD, GOOD, {"measure": "tpr@0.1", "method": "delong"}, "needs a smooth measure"),
        (GOOD, GOOD, {"measure": "n_flagged", "threshold": 1}, "of which more, or less, is better"),
        (GOOD, GOOD, {"confidence_level": 1}, "confidence_level must lie strictly"),
        (GOOD, GOOD, {"n_resamples": 0}, "n_resamples must be at least 1"),
        (GOOD, GOOD, {"rng": -1}, "rng must not be negative"),
    ],
)
def test_bad_input_is_refused(a: Any, b: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        fastad.compare_independent(a, b, **{"measure": "auc", **options})


def test_a_class_of_one_sample_has_no_variance() -> None:
    one = [0, 0, 1], [1.0, 2.0, 3.0]
    cases: list[tuple[str, Any]] = [
        *(("auc", "delong"), ("auc", "bootstrap"), ("f1_best", "hybrid"))
    ]
    for measure, method in cases:
        with pytest.raises(fastad.UndefinedMeasureError, match="two samples of each class"):
            fastad.compare_independent(GOOD, one, measure=measure, method=method)
    assert fastad.compare_independent(GOOD, one, measure="auc", method="hybrid").p_value <= 1
    assert fastad.compare_independent(GOOD, one, measure="auc", method="permutation").p_value <= 1
    with pytest.raises(fastad.UndefinedMeasureError, match="without anomalies"):
        fastad.compare_independent(GOOD, ([0, 0], [1, 2]), measure="auc")


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("measure", "n_sets", "truth"),
    [
        ("auc", 250, lambda shift: stats.norm.cdf(shift / math.sqrt(2))),
        ("tpr@0.1", 30, lambda shift: stats.norm.cdf(shift - stats.norm.isf(0.1))),
    ],
)
def test_intervals_of_the_difference_cover_it(measure: str, n_sets: int, truth: Any) -> None:
    expected = truth(1.5) - truth(1.0)
    covered = 0
    for seed in range(n_sets):
        result = fastad.compare_independent(
            sample(2 * seed, 60, 150, 1.5),
            sample(2 * seed + 1, 90, 250, 1.0),
            measure=measure,
            n_resamples=300,
            rng=seed,
        )
        covered += result.low <= expected <= result.high
    # 95 % less three standard errors.
    assert covered >= (0.95 - 3 * math.sqrt(0.95 * 0.05 / n_sets)) * n_sets


@pytest.mark.parametrize(
    ("measure", "n", "m", "note"),
    [
        ("auc", 19, 300, "coverage of intervals by 'delong' on such data is not known"),
        ("auc", 20, 300, None),
        ("auc@0.05", 300, 300, "coverage of intervals by 'delong' on such data is not known"),
        ("auc_pr", 30, 100, "intervals by 'delong' cover the true value in 91% of the samples"),
    ],
)
def test_delong_of_few_samples_has_a_note_where_it_is_given(
    measure: str, n: int, m: int, note: str | None
) -> None:
    """Of 10 anomalies and 300 normals against ten times as many, areas were covered in 83 %."""
    few, many = sample(1, n, m, 1.5), sample(2, 300, 3000, 1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for a, b in ((few, many), (many, few)):
            result = fastad.compare_independent(a, b, measure=measure, method="delong")
            assert (result.reliability_note or "").endswith(note or "")
            assert (result.reliability_note is None) == (note is None)
    assert len(caught) == (0 if note is None else 2)


@pytest.mark.parametrize(("n", "m"), [(4, 50), (50, 4)])
def test_replicates_of_few_samples_have_the_note_of_the_paired_comparison(n: int, m: int) -> None:
    few, many = sample(1, n, m, 0.5), sample(2, 50, 50, 0.5)
    note = "fewer than 5 anomalies or 5 normal samples how reliable comparisons by 'bootstrap' are"
    options: dict[str, Any] = {"measure": "auc", "method": "bootstrap", "n_resamples": 99}
    with pytest.warns(LowCoverageWarning, match=note):
        fastad.compare_independent(many, few, **options, rng=0)
    with pytest.warns(LowCoverageWarning, match=note):
        fastad.compare(few[0], few[1], few[1][::-1], **options, rng=0)
    five = sample(1, 5, 5, 0.5)
    result = fastad.compare_independent(five, many, **options, rng=0)
    assert result.reliability_note is None


@pytest.mark.parametrize("method", ["delong", "bootstrap"])
def test_a_sample_without_a_variance_has_a_note_by_any_method(method: Any) -> None:
    """Of 12 anomalies, all above the normals: "better", p = 0.001, without a word."""
    rng = np.random.default_rng(0)
    perfect = np.repeat([0, 1], [200, 12]), np.r_[rng.normal(size=200), rng.normal(9, 1, 12)]
    other = np.repeat([0, 1], [3000, 100]), np.r_[rng.normal(size=3000), rng.normal(3, 1, 100)]
    with pytest.warns(LowCoverageWarning, match="variance of .* is zero"):
        fastad.compare_independent(perfect, other, measure="auc", method=method, rng=0)


def test_samples_without_an_error_are_limited_by_the_normals_beyond_the_point() -> None:
    """As two detectors on one sample are: of 1000 normals 10 are beyond an FPR of 0.01."""
    rng = np.random.default_rng(0)
    y = np.arange(1050) < 50
    a, b = rng.random((2, 1050)) + 10 * y
    options: dict[str, Any] = {"measure": "auc@0.01", "method": "delong"}
    with pytest.warns(LowCoverageWarning, match="variance is zero"):
        unpaired = fastad.compare_independent((y, a), (y, b), **options)
    with pytest.warns(LowCoverageWarning, match="variance is zero"):
        paired = fastad.compare(y, a, b, **options)
    assert (unpaired.low, unpaired.high) == (paired.low, paired.high)
    assert unpaired.high == pytest.approx(1 - 0.025 ** (1 / 10))

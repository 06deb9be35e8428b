"""Tests of margins and limits: by definition, and where they must not pass."""

import dataclasses
import math
import warnings
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, binomtest, multinomial
from scipy.stats import t as student

import fastad
from fastad.errors import InvalidInputError, LowCoverageWarning, UndefinedMeasureError
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.uncertainty import MarginTest, at_least, equivalence, noninferiority
from fastad.uncertainty.comparisons.one_sided import (
    OneSidedTests,
    allow_unseen_kind,
    third_cumulant,
)
from fastad.uncertainty.comparisons.paired import rank_detectors
from fastad.uncertainty.comparisons.rate_margins import RateTest
from fastad.uncertainty.samples.sampling import DesignedSample, SamplingDesign
from tests.support.loops import loop

LABELS = np.repeat([0, 1], [400, 80])


def pair(loss: float = 0.0, seed: int = 0) -> tuple[Any, Any]:
    """Scores of a new and an old detector, whose anomalies lie 2 - loss and 2 above the rest."""
    rng = np.random.default_rng(seed)
    common, *own = rng.normal(size=(3, LABELS.shape[0]))
    new, old = (common + 0.5 * each for each in own)
    return new + (2 - loss) * LABELS, old + 2 * LABELS


NEW, OLD = pair()
MEASURES: tuple[dict[str, Any], ...] = (
    {"measure": "auc"},
    {"measure": "ap"},
    {"measure": "tpr@0.05"},
    {"measure": "fpr@tpr0.9"},
    {"measure": "precision@k50"},
    {"measure": "tpr", "threshold": 1.0},
    {"measure": "fpr", "threshold": 1.0},
)
# They have replicates, as TPR at an FPR.
SLOW = ("fpr@tpr0.9", "precision@k50")
DESIGNS: dict[str, Any] = {
    "paired": {"y_true": LABELS},
    "independent": {"y_true": (LABELS, LABELS)},
    "clusters": {"y_true": LABELS, "clusters": np.random.default_rng(1).integers(150, size=480)},
    "blocks": {"y_true": LABELS, "blocks": 2},
    "weights": {"y_true": LABELS, "sample_weight": np.linspace(1, 2, 480)},
}


def quietly(function: Any, **options: Any) -> MarginTest:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowCoverageWarning)
        result = function(new=NEW, old=OLD, n_resamples=199, rng=0, **options)
    assert isinstance(result, MarginTest)
    return result


@loop("design", list(DESIGNS))
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(
            each,
            id=str(each["measure"]),
            marks=[pytest.mark.slow] if each["measure"] in SLOW else [],
        )
        for each in MEASURES
    ],
)
def test_bounds_and_p_values_belong_together(options: dict[str, Any], design: str) -> None:
    """The p-value is at most alpha exactly where the bound lies within the margin."""
    result = quietly(noninferiority, margin=0.04, **options, **DESIGNS[design])
    assert result.low <= result.estimate <= result.high
    is_lower = result.higher_is_better
    for step in (-0.004, 0.004):
        end = result.low if is_lower else -result.high
        margin = -end + step
        if margin <= 0.001:
            continue
        again = quietly(noninferiority, margin=margin, **options, **DESIGNS[design])
        assert (again.p_value <= 0.05) == (step > 0), (end, again)
        assert (again.low, again.high) == (result.low, result.high)


@loop("design", list(DESIGNS))
def test_exchanged_detectors_exchange_the_bounds(design: str) -> None:
    options = {"measure": "auc", "margin": 0.1, **DESIGNS[design]}
    result = quietly(equivalence, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowCoverageWarning)
        other = equivalence(new=OLD, old=NEW, n_resamples=199, rng=0, **options)
    assert (other.low, other.high) == pytest.approx((-result.high, -result.low), abs=1e-9)
    assert other.p_value == pytest.approx(result.p_value, rel=1e-6)


def exact_paired(up: int, down: int, n: int, x: float) -> float:
    """Return the unconditional p-value by enumeration, over a fine grid of the open rate."""
    test = RateTest((up, down), (n, n), is_paired=True)
    observed = float(test.statistic(up, down, x)) - 1e-9
    outcomes = [(a, b) for a, b in product(range(n + 1), repeat=2) if a + b <= n]
    extreme = np.array([o for o in outcomes if float(test.statistic(*o, x)) >= observed])
    counts = np.column_stack([extreme, n - extreme.sum(axis=1)])
    rates = np.linspace(max(0.0, -x), (1 - x) / 2, 400)
    return max(
        float(multinomial.pmf(counts, n, [q + x, q, max(0.0, 1 - 2 * q - x)]).sum()) for q in rates
    )


@pytest.mark.parametrize(
    ("up", "down", "n", "x"),
    [(0, 0, 25, -0.1), (1, 3, 20, -0.3), (5, 2, 18, -0.05), (2, 2, 12, 0.1)],
)
def test_paired_rates_are_tested_exactly(up: int, down: int, n: int, x: float) -> None:
    test = RateTest((up, down), (n, n), is_paired=True)
    expected = exact_paired(up, down, n, x)
    assert test.p_value(x, 0) == pytest.approx(expected, abs=0.004, rel=0.02)
    assert test.p_value(-x, 1) == pytest.approx(exact_paired(down, up, n, x), abs=0.004, rel=0.02)


def test_unpaired_rates_are_tested_exactly() -> None:
    n, m, x = 15, 22, -0.2
    test = RateTest((9, 13), (n, m), is_paired=False)
    observed = float(test.statistic(9, 13, x)) - 1e-9
    largest = 0.0
    up, down = np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")
    extreme = test.statistic(up, down, x) >= observed
    # Where neither rate is refuted at 10^-6.
    ends = [binomtest(k, size).proportion_ci(1 - 5e-7) for k, size in ((9, n), (13, m))]
    first, last = max(ends[0].low - x, ends[1].low), min(ends[0].high - x, ends[1].high)
    for q in np.linspace(first, last, 400):
        chance = np.outer(binom.pmf(np.arange(n + 1), n, q + x), binom.pmf(np.arange(m + 1), m, q))
        largest = max(largest, float(chance[extreme].sum()))
    assert test.p_value(x, 0) == pytest.approx(largest, abs=0.003, rel=0.02)


def test_tests_of_two_samples_by_influences_have_the_name_of_the_paired_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By "delong" two samples are compared with the degrees of freedom of Welch."""
    module = "fastad.uncertainty.comparisons.one_sided.select_unpaired_method"
    monkeypatch.setattr(module, lambda *_: ("delong", None))
    y, s = np.arange(40) % 4 == 0, np.arange(40.0) % 7
    given: dict[str, Any] = {"measure": "auc", "margin": 0.1}
    methods = [noninferiority(labels, s, s[::-1], **given).method for labels in (y, (y, y))]
    assert methods == ["student", "student"]


def test_a_small_and_a_large_sample_are_tested_exactly() -> None:
    """The normal distribution of their statistic passed a loss of the margin in 8 %."""
    n, m, rate, margin = 10, 100_000, 0.2, 0.02
    passed = 0.0
    for k in range(n + 1):
        test = RateTest((k, round(m * rate)), (n, m), is_paired=False)
        # The large sample has its rate, nearly.
        if test.p_value(-margin, 0) <= 0.05:
            passed += float(binom.pmf(k, n, rate - margin))
    assert 0 < passed <= 0.05


@pytest.mark.parametrize(("n", "m"), [(3000, 3000), (100_000, 20_000)])
def test_rates_near_one_are_tested_as_those_near_zero(n: int, m: int) -> None:
    """Their tests were normal: of 3 000 samples a loss of the margin passed in 9.6 %."""
    for up, down, margin in ((0, 0, 8e-4), (2, 0, 8e-4), (5, 1, 1e-3)):
        errors = RateTest((up, down), (n, m), is_paired=False)
        rights = RateTest((n - up, m - down), (n, m), is_paired=False)
        assert rights.p_value(-margin, 0) == pytest.approx(errors.p_value(margin, 1), rel=1e-6)
    passed = 0.0
    for k in range(12):
        test = RateTest((3000 - k, 3000), (3000, 3000), is_paired=False)
        if test.p_value(-7.8e-4, 0) <= 0.05:
            passed += float(binom.pmf(k, 3000, 7.8e-4))
    assert passed <= 0.05


def test_without_discordant_samples_the_test_is_the_binomial_one() -> None:
    """A detector that misses q of what the other detects is not seen with (1 - q)^n."""
    flags = np.repeat([0.0, 1.0], [20, 60])
    for n, margin in ((60, 0.04), (60, 0.05)):
        result = noninferiority(
            np.ones(80), flags, flags, measure="tpr", threshold=1, margin=margin
        )
        assert result.p_value == pytest.approx((1 - margin) ** 80, abs=1e-5)
        assert n == flags.sum()


def test_rates_of_many_samples_are_normal() -> None:
    test = RateTest((400, 500), (20_000, 20_000), is_paired=True)
    z = (-0.005 + 0.01) / math.sqrt((0.045 - 0.005**2) / 20_000)
    assert test.p_value(-0.01, 0) == pytest.approx(0.5 * math.erfc(z / math.sqrt(2)), rel=0.05)


def test_flagging_all_of_60_benign_samples_fails() -> None:
    """An FPR of at most 5 % is what a public gate called passed."""
    result = at_least(np.zeros(60), np.ones(60), measure="fpr", threshold=0.5, value=0.05)
    assert result.verdict == "fail"
    assert result.p_value_inside == pytest.approx(0.05**60, rel=1e-6)
    none = at_least(np.zeros(60), np.zeros(60), measure="fpr", threshold=0.5, value=0.05)
    assert none.verdict == "pass"
    assert none.p_value == pytest.approx(0.95**60, rel=1e-6)
    few = at_least(np.zeros(50), np.zeros(50), measure="fpr", threshold=0.5, value=0.05)
    assert few.verdict == "not enough data"


def test_verdicts() -> None:
    good, _ = pair(-0.3)
    worse, _ = pair(1.0)
    options: dict[str, Any] = {"measure": "auc", "margin": 0.05}
    assert noninferiority(LABELS, good, OLD, **options).verdict == "pass"
    assert noninferiority(LABELS, worse, OLD, **options).verdict == "fail"
    assert noninferiority(LABELS, OLD, worse, **options).verdict == "pass"
    assert equivalence(LABELS, OLD, worse, **options).verdict == "fail"
    near: dict[str, Any] = {"measure": "auc", "margin": 0.005}
    assert noninferiority(LABELS, NEW, OLD, **near).verdict == "not enough data"
    assert equivalence(LABELS, NEW, OLD, **options).verdict == "pass"


def test_few_anomalies_do_not_pass_a_small_margin_though_ranks_are_equal() -> None:
    """A tenth of the anomalies may be missing among 20, and cost up to 0.05 of the AUC."""
    labels = np.repeat([0, 1], [400, 20])
    scores = np.arange(420.0)
    options: dict[str, Any] = {"measure": "auc", "margin": 0.05}
    result = noninferiority(labels, scores, scores, **options)
    assert result.verdict == "not enough data"
    assert result.p_value == pytest.approx(0.9**20)
    assert result.low == pytest.approx(-0.5 * (1 - 0.05 ** (1 / 20)))
    labels = np.repeat([0, 1], [400, 40])
    assert noninferiority(labels, np.arange(440.0), np.arange(440.0), **options).verdict == "pass"


def test_a_kind_reaches_as_far_as_it_is_likely_to_be_missing() -> None:
    """At its reach the p-value is alpha: 30 samples, which may fall by 0.4 and rise by 0.2."""
    certain = OneSidedTests(0.1, (0.1, 0.1), lambda x, side: 0.0, "student")
    for alpha in (0.05, 0.2):
        tests = allow_unseen_kind(certain, bind("auc", {}), (0.9, 0.7), (30, 99), alpha)
        assert tests.ends[0] == pytest.approx(0.1 - 0.4 * (1 - alpha ** (1 / 30)))
        assert tests.ends[1] == pytest.approx(0.1 + 0.2 * (1 - alpha ** (1 / 30)))
        assert tests.p_value(tests.ends[0], 0) == pytest.approx(alpha)
        assert tests.p_value(tests.ends[1], 1) == pytest.approx(alpha)
    assert (tests.p_value(-0.4, 0), tests.p_value(0.2, 0), tests.p_value(0.05, 1)) == (
        0.0,
        1.0,
        1.0,
    )
    # A kind of false alarms is one of the 99 normal samples.
    tests = allow_unseen_kind(certain, bind("fpr@threshold1", {}), (0.3, 0.2), (30, 99), 0.05)
    assert tests.ends[1] == pytest.approx(0.1 + 0.7 * (1 - 0.05 ** (1 / 99)))


def placements(scores: Any) -> list[Any]:
    """For each anomaly the part of the normals below it, for each normal of the anomalies above."""
    above = scores[LABELS == 1][:, None] > scores[LABELS == 0]
    return [above.mean(axis=1), above.mean(axis=0)]


def test_two_samples_must_pass_both_tests() -> None:
    """The bounds are the wider ones of Zou and Donner's and of Hall's, or those of a kind."""
    new, old = pair(-1.0, seed=4)
    new[LABELS == 1] -= 6.0 * (np.arange(80) % 20 == 0)
    of_sides = [placements(each) for each in (new, old)]
    values = [float(each[0].mean()) for each in of_sides]
    d = values[0] - values[1]
    parts = [part for side in of_sides for part in side]
    variance = sum(float(np.var(part, ddof=1)) / len(part) for part in parts)
    spreads = [(part - part.mean()) ** 2 for part in parts]
    fourth = sum(float(np.var(each)) / len(each) ** 3 for each in spreads)
    df = 1 / (fourth / (2 * variance**2) + 1 / 80)
    thirds = [np.mean((part - part.mean()) ** 3) / len(part) ** 2 for part in parts]
    skewness = float(thirds[0] + thirds[1] - thirds[2] - thirds[3]) / variance**1.5
    z = float(student.ppf(0.95, df))

    def ratio(level: float) -> float:
        return brentq(
            lambda x: x + skewness * x**2 / 3 + skewness**2 * x**3 / 27 + skewness / 6 - level,
            -20,
            20,
        )

    intervals = [
        fastad.interval(LABELS, each, measure="auc", confidence_level=0.9) for each in (new, old)
    ]
    below = [value - each.low for value, each in zip(values, intervals, strict=True)]
    above = [each.high - value for value, each in zip(values, intervals, strict=True)]
    rare = 1 - 0.05 ** (1 / 80)
    low = max(
        math.sqrt(variance) * max(z, ratio(z)),
        math.hypot(below[0], above[1]),
        (values[0] - 0.5) * rare,
    )
    high = max(
        math.sqrt(variance) * max(z, -ratio(-z)),
        math.hypot(above[0], below[1]),
        (values[1] - 0.5) * rare,
    )
    result = noninferiority((LABELS, LABELS), new, old, measure="auc", margin=0.1)
    assert (result.low, result.high) == pytest.approx((d - low, d + high))
    # A few anomalies that are missed are a long tail below.
    assert low == math.sqrt(variance) * ratio(z)
    at_low = noninferiority((LABELS, LABELS), new, old, measure="auc", margin=-result.low)
    assert at_low.p_value == pytest.approx(0.05)


def test_blocks_have_the_skewness_of_their_sums() -> None:
    """Blocks of 3.2 rows are summed four by four, the last ones alone."""
    change = np.random.default_rng(0).exponential(size=482) - 1
    labels = check_labels(np.arange(482) % 5 == 0)
    design = SamplingDesign(blocks=4)
    arguments = [(name, name, np.arange(482.0)) for name in ("new", "old")]
    detectors = rank_detectors(labels, arguments, design)
    samples = [
        each.in_blocks(3.2) for each in detectors.samples if isinstance(each, DesignedSample)
    ]
    expected = sum(float(change[i : i + 4].sum()) ** 3 for i in range(0, 482, 4))
    found = third_cumulant(dataclasses.replace(detectors, samples=samples), change)
    assert found == pytest.approx(expected)


def test_hidden_anomalies_move_areas_linearly() -> None:
    plain = noninferiority(LABELS, NEW, OLD, measure="auc", margin=0.05)
    corrected = noninferiority(LABELS, NEW, OLD, measure="auc", margin=0.05, contamination=0.02)
    assert corrected.estimate == pytest.approx(plain.estimate / 0.98)
    assert corrected.low == pytest.approx(plain.low / 0.98)
    assert corrected.p_value > plain.p_value
    of_rate = quietly(
        noninferiority, y_true=LABELS, measure="tpr@0.1", margin=0.2, contamination=0.01
    )
    assert of_rate.method == "bootstrap"


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["auc", "ap", "precision@n", "tpr@0.1", "fpr@threshold1"])
def test_limits_have_the_bounds_of_the_interval_or_wider_ones(measure: str) -> None:
    """Each end by itself misses more often than an interval of twice the level."""
    interval = fastad.interval(LABELS, OLD, measure=measure, confidence_level=0.9, rng=0)
    limit = at_least(LABELS, OLD, measure=measure, value=interval.value, rng=0)
    if measure == "fpr@threshold1":
        assert (limit.low, limit.high) == (interval.low, interval.high)
    assert limit.low <= interval.low < interval.high <= limit.high
    worse, better = (limit.low, limit.high)[:: 1 if measure != "fpr@threshold1" else -1]
    assert at_least(LABELS, OLD, measure=measure, value=better, rng=0).verdict != "pass"
    at_bound = at_least(LABELS, OLD, measure=measure, value=worse, rng=0)
    assert at_bound.p_value == pytest.approx(0.05, rel=0.01)


def test_the_average_precision_of_few_anomalies_passes_by_both_methods() -> None:
    some = np.concatenate([np.flatnonzero(LABELS)[:12], np.flatnonzero(np.equal(LABELS, 0))])
    labels, scores = np.asarray(LABELS)[some], np.asarray(OLD)[some]
    limit = at_least(labels, scores, measure="ap", value=0.1, rng=0)
    lows = [
        fastad.interval(
            labels, scores, measure="ap", confidence_level=0.9, method=method, rng=0
        ).low
        for method in ("combined", "fiducial")
    ]
    assert 0 <= limit.low <= min(lows)


def test_bounds_of_a_value_stay_in_its_range() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        labels = np.repeat([1, 0], [10, 1000])
        scores = rng.normal(size=1010) + labels
        limit = at_least(labels, scores, measure="ap", value=0.5, rng=0)
        assert 0 <= limit.low < limit.high <= 1


def test_few_clusters_have_no_verdict_about_a_limit() -> None:
    with pytest.warns(LowCoverageWarning):
        few = at_least(LABELS, OLD, measure="auc", value=0.1, clusters=np.arange(480) // 30)
    assert few.verdict == "not enough data"


def test_the_result_is_a_record() -> None:
    result = noninferiority(LABELS, NEW, OLD, measure="auc", margin=0.05)
    assert result.to_dict()["verdict"] == result.verdict
    assert str(result).startswith("pass: new - old = ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 0}, "margin must lie above 0; found 0"),
        ({"margin": 1.0}, "margin must be below 1, the largest difference in auc; found 1.0"),
        ({"confidence_level": 0.5}, "confidence_level must lie above 0.5; found 0.5"),
        ({"measure": "n_flagged", "threshold": 1}, "of which more, or less, is better"),
        ({"y_true": (LABELS, LABELS), "blocks": 3}, "blocks must not be given for two independent"),
        ({"contamination": 0.01, "blocks": 3}, "contamination must not be given for samples"),
        ({"contamination": 0.9}, "contamination must not exceed what the data allow"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    arguments = {"y_true": LABELS, "measure": "auc", "margin": 0.1, **options}
    with pytest.raises(InvalidInputError, match=message):
        noninferiority(new=NEW, old=OLD, **arguments)


def test_limits_outside_the_range_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"value must lie in \[0, 1\], the range of auc"):
        at_least(LABELS, OLD, measure="auc", value=1.5)


@pytest.mark.parametrize(
    "measure", ["tpr@threshold0.5", "fpr@threshold0.5", "accuracy@threshold0.5"]
)
@pytest.mark.parametrize(
    ("y_true", "clusters", "message"),
    [
        (
            np.arange(200) < 4,
            np.arange(200) // 4,
            "anomalies in two clusters at least; found them in 1",
        ),
        (np.arange(200) < 20, np.arange(200) // 40, "needs 10 clusters; found 5"),
    ],
)
def test_rates_of_too_few_clusters_are_refused_as_by_compare(
    measure: str, y_true: Any, clusters: Any, message: str
) -> None:
    """They divided by zero."""
    new, old = np.random.default_rng(0).random((2, 200))
    options: dict[str, Any] = {"measure": measure, "clusters": clusters, "n_resamples": 50}
    for test in (partial(noninferiority, margin=0.1), fastad.compare):
        with pytest.raises(UndefinedMeasureError, match=message):
            test(y_true, new, old, **options)


@pytest.mark.parametrize("labels", [np.ones(9), np.arange(9) == 0])
def test_two_samples_of_one_class_have_no_variance(labels: Any) -> None:
    new, old = np.random.default_rng(0).random((2, 9))
    with pytest.raises(UndefinedMeasureError, match="a test of ap needs two samples of each class"):
        noninferiority((labels, labels), new, old, measure="ap", margin=0.1)


def test_the_limit_of_an_area_is_no_nearer_than_newcombes() -> None:
    """A twentieth of the normals above all anomalies: by `auto` the interval is narrower."""
    labels = np.repeat([1, 0, 0], [100, 1900, 100])
    scores = np.repeat([1, 0, 2], [100, 1900, 100]) + np.linspace(0, 0.9, 2100)
    options: Any = {"measure": "auc", "confidence_level": 0.9}
    combined, newcombe = (
        fastad.interval(labels, scores, method=method, **options)
        for method in ("combined", "newcombe")
    )
    assert combined.low > newcombe.low
    result = at_least(labels, scores, measure="auc", value=newcombe.low)
    assert result.p_value == pytest.approx(0.05, rel=1e-6)


@pytest.mark.evidence
def test_a_skewed_correlation_passes_seldom_at_its_value() -> None:
    """Of few missed anomalies: 9 % passed by percentiles of replicates alone.

    By the probabilities of what is flagged: anomalies by number, normals by fifths.
    """
    n, m, tpr, fpr = 30, 600, 0.84, 0.309
    y = np.arange(n + m) < n
    tp, fp = tpr * n, fpr * m
    flagged, rest = tp + fp, n + m - tp - fp
    value = (tp * (m - fp) - fp * (n - tp)) / math.sqrt(flagged * rest * n * m)
    options: dict[str, Any] = {"measure": "mcc", "threshold": 0.5, "value": value}
    passed = 0.0
    for quantile, k in product([0.1, 0.3, 0.5, 0.7, 0.9], range(31)):
        n_false = int(binom.ppf(quantile, m, fpr))
        chance = float(binom.pmf(k, n, tpr)) / 5
        if chance > 1e-3:
            flags = np.repeat([1.0, 0.0, 1.0, 0.0], [k, n - k, n_false, m - n_false])
            result = at_least(y, flags, n_resamples=200, rng=0, **options)
            assert result.reliability_note is None
            passed += chance * (result.verdict == "pass")
    assert 0.01 < passed <= 0.05


def test_a_rate_of_no_events_has_a_p_value_of_all_its_digits() -> None:
    """None of 10 000 normal samples is flagged: 0.95 ** 10000, far below the rounding of 1."""
    y, s = np.zeros(10_000, int), np.zeros(10_000)
    test = at_least(y, s, measure="fpr@threshold1", value=0.05)
    assert math.log(test.p_value) == pytest.approx(10_000 * math.log(0.95), rel=1e-9)


@pytest.mark.parametrize(("level", "verdict"), [(0.9999, "not enough data"), (0.95, "fail")])
def test_replicates_that_are_too_few_for_a_level_are_named(level: float, verdict: str) -> None:
    """A p-value is at least 1 / 2001, which is above 1 - 0.9999."""
    options: dict[str, Any] = {"measure": "precision@k50", "margin": 0.02, "rng": 0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        worse = noninferiority(LABELS, NEW - 4 * LABELS, OLD, confidence_level=level, **options)
    assert worse.verdict == verdict
    note = "2000 replicates are too few for any verdict at this level"
    assert worse.reliability_note == (note if level > 0.99 else None)
    assert [str(each.message) for each in caught] == (
        [f"precision@k50: {note}"] if level > 0.99 else []
    )

"""Intervals of measures corrected for anomalies hidden among the normals."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.errors import LowCoverageWarning
from fastad.measures.contamination import corrected
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from fastad.uncertainty.intervals import inversion
from fastad.uncertainty.intervals.interval import fractions_between
from tests.support.uncertainty import contaminated


def clopper_pearson(k: float, n: int, alpha: float) -> tuple[float, float]:
    low = stats.beta.ppf(alpha / 2, k, n - k + 1) if k else 0.0
    high = stats.beta.ppf(1 - alpha / 2, k + 1, n - k) if k < n else 1.0
    return float(low), float(high)


@pytest.mark.parametrize(
    "method", ["delong", "logit", "newcombe", "fiducial", "bootstrap", "basic", "bca"]
)
def test_the_area_has_the_ends_of_the_observed_one(method: Any) -> None:
    y, s = contaminated(1, 80, 400, 0.1, 1.5)
    options: Any = {"measure": "auc", "method": method, "n_resamples": 200, "rng": 0}
    plain = fastad.interval(y, s, **options)
    result = fastad.interval(y, s, contamination=0.1, **options)
    for field in ("value", "low", "high"):
        assert getattr(result, field) == pytest.approx(
            min((getattr(plain, field) - 0.05) / 0.9, 1), rel=1e-12
        )
    assert result.standard_error == pytest.approx(plain.standard_error / 0.9, rel=1e-12)
    assert result.method == method


def test_auto_takes_the_method_of_the_observed_area() -> None:
    y, s = contaminated(1, 300, 2000, 0.1, 1.5)
    result = fastad.interval(y, s, measure="auc", contamination=0.1, rng=0)
    plain = fastad.interval(y, s, measure="auc", rng=0)
    assert (result.method, result.coverage) == (plain.method, plain.coverage)


def in_levels(seed: int, n: int, m: int, fraction: float, levels: int) -> tuple[Any, Any]:
    """Binomial scores, .3 for normals and .65 for anomalies, some hidden among the normals."""
    rng = np.random.default_rng(seed)
    is_anomaly = np.append(np.ones(n, bool), rng.random(m) < fraction)
    scores = rng.binomial(levels - 1, np.where(is_anomaly, 0.65, 0.3))
    return np.repeat([1, 0], [n, m]), scores


INTERPOLATIONS = ["linear", "conservative"]


def population_at(rate: float, levels: int, measure: str, interpolation: str) -> float:
    """TPR at an FPR, or FPR at a TPR, of those scores without hidden anomalies."""
    at = np.arange(levels)[::-1]
    fpr, tpr = (np.append(0, stats.binom.sf(at - 1, levels - 1, p)) for p in (0.3, 0.65))
    given_, other = (fpr, tpr) if measure == "tpr_at_fpr" else (tpr, fpr)
    if interpolation == "linear":
        return float(np.interp(rate, given_, other))
    i = int(np.searchsorted(given_, rate))
    return float(other[i - 1] if measure == "tpr_at_fpr" else other[i])


@given(
    st.integers(0, 50),
    st.sampled_from(["tpr_at_fpr", "fpr_at_tpr"]),
    st.sampled_from(INTERPOLATIONS),
)
def test_a_tie_is_a_segment_of_the_observed_curve(
    seed: int, measure: str, interpolation: str
) -> None:
    """Each distinct score, and each step of one sample between two, tried one by one."""
    y, s = in_levels(seed, 12, 40, 0.1, 5)
    fraction, level = 0.1, 1 - math.sqrt(0.95)
    rate = 0.1 if measure == "tpr_at_fpr" else 0.7
    options: Any = {"fpr" if measure == "tpr_at_fpr" else "tpr": rate}
    try:
        result = fastad.interval(
            y, s, measure=measure, contamination=fraction, interpolation=interpolation, **options
        )
    except UndefinedMeasureError:
        reject()
    ends = []
    points = [(0, 0)] + [
        (int(np.sum(s[y == 1] >= t)), int(np.sum(s[y == 0] >= t))) for t in np.unique(s)[::-1]
    ]
    for first, last in zip(points, points[1:] + points[-1:], strict=True):
        n_steps = max(last[0] - first[0], last[1] - first[1], 1)
        for step in range(n_steps):
            k, f = (a + (b - a) * step / n_steps for a, b in zip(first, last, strict=True))
            before, after = (first, last if step else first)
            tprs, fprs = clopper_pearson(k, 12, level), clopper_pearson(f, 40, level)
            if measure == "tpr_at_fpr":
                low, high = (
                    pick(tpr, (x - (1 - fraction) * rate) / fraction)
                    for pick, tpr, x in zip((max, min), tprs, fprs, strict=True)
                )
                if low > high:
                    continue
                if interpolation == "conservative":
                    tprs = clopper_pearson(before[0], 12, level)
                    least = clopper_pearson(before[1], 40, level)[0]
                    low = max(tprs[0], (least - (1 - fraction) * rate) / fraction)
                    high = min(tprs[1], high)
                if low <= high:
                    ends += [low, high]
            elif tprs[0] <= rate <= tprs[1]:
                low, high = ((x - fraction * rate) / (1 - fraction) for x in fprs)
                if interpolation == "conservative":
                    most = clopper_pearson(after[1], 40, level)[1]
                    least_tpr = max(clopper_pearson(after[0], 12, level)[0], rate)
                    high = (most - fraction * least_tpr) / (1 - fraction)
                ends += [low, high]
    ends = [min(max(x, 0.0), 1.0) for x in ends] or [0.0, 1.0]
    assert result.low == pytest.approx(min(*ends, result.value), abs=1e-9)
    assert result.high == pytest.approx(max(*ends, result.value), abs=1e-9)


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize(("measure", "rate"), [("tpr_at_fpr", 0.05), ("fpr_at_tpr", 0.7)])
def test_intervals_of_tied_scores_cover_the_value_of_the_population(
    measure: str, rate: float, interpolation: str
) -> None:
    truth = population_at(rate, 5, measure, interpolation)
    options: Any = {"fpr" if measure == "tpr_at_fpr" else "tpr": rate}
    covered = 0
    for seed in range(100):
        y, s = in_levels(seed, 50, 500, 0.05, 5)
        result = fastad.interval(
            y, s, measure=measure, contamination=0.05, interpolation=interpolation, **options
        )
        covered += result.low <= truth <= result.high
    assert covered >= 92


@pytest.mark.slow
def test_weights_are_not_passed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inversion, "_MOST_STEPS", 1 << 16)
    y, s = in_levels(0, 50, 500, 0.05, 8)
    options: Any = {"measure": "tpr@0.05", "contamination": 0.05}
    result = fastad.interval(y, s, sample_weight=np.full(550, 10**6), **options)
    plain = fastad.interval(y, s, **options)
    assert plain.low < result.low <= result.value <= result.high < plain.high


def test_real_weights_are_refused_by_both_functions() -> None:
    y, s = in_levels(0, 50, 500, 0.05, 8)
    options: Any = {"contamination": 0.05, "sample_weight": np.full(550, 1.5)}
    message = "contamination must not be given for samples in clusters or in time, or with real"
    with pytest.raises(InvalidInputError, match=message):
        fastad.interval(y, s, measure="auc", **options)
    with pytest.raises(InvalidInputError, match=message):
        fastad.evaluate(y, s, measures=["auc"], confidence_level=0.95, **options)
    fastad.evaluate(y, s, measures=["auc"], **options)  # values alone


@given(st.integers(0, 50), st.sampled_from([0.05, 0.2]), st.sampled_from([0.05, 0.3]))
def test_the_tpr_is_whatever_both_observed_rates_allow(
    seed: int, fraction: float, fpr: float
) -> None:
    """A grid of rates, each tried at each threshold."""
    y, s = contaminated(seed, 12, 30, 0.1, 2.0)
    try:
        result = fastad.interval(
            y, s, measure="tpr_at_fpr", fpr=fpr, contamination=fraction, method="inversion"
        )
    except UndefinedMeasureError:
        reject()
    level = 1 - math.sqrt(0.95)
    possible = []
    for threshold in [np.inf, *s]:
        low, high = clopper_pearson(int(np.sum(s[y == 1] >= threshold)), 12, level)
        least, most = clopper_pearson(int(np.sum(s[y == 0] >= threshold)), 30, level)
        for tpr in np.linspace(0, 1, 401):
            if low <= tpr <= high and least <= (1 - fraction) * fpr + fraction * tpr <= most:
                possible.append(tpr)
    if possible:
        assert result.low == pytest.approx(min(*possible, result.value), abs=1 / 400)
        assert result.high == pytest.approx(max(*possible, result.value), abs=1 / 400)
    assert math.isnan(result.standard_error)


@given(st.integers(0, 50), st.sampled_from([0.05, 0.2]), st.sampled_from([0.5, 0.9]))
def test_the_fpr_is_that_of_the_thresholds_that_may_have_the_tpr(
    seed: int, fraction: float, tpr: float
) -> None:
    y, s = contaminated(seed, 12, 30, 0.1, 2.0)
    result = fastad.interval(y, s, measure="fpr_at_tpr", tpr=tpr, contamination=fraction)
    level = 1 - math.sqrt(0.95)
    ends = []
    for threshold in [np.inf, *s]:
        low, high = clopper_pearson(int(np.sum(s[y == 1] >= threshold)), 12, level)
        if low <= tpr <= high:
            both = clopper_pearson(int(np.sum(s[y == 0] >= threshold)), 30, level)
            ends += [min(max((x - fraction * tpr) / (1 - fraction), 0), 1) for x in both]
    assert result.low == pytest.approx(min(*ends, result.value), abs=1e-9)
    assert result.high == pytest.approx(max(*ends, result.value), abs=1e-9)


def test_rates_at_a_threshold_are_extremes_over_both_observed_rates() -> None:
    y, s = contaminated(3, 40, 300, 0.1, 2.0)
    k, f = int(np.sum(s[y == 1] >= 1)), int(np.sum(s[y == 0] >= 1))
    level = 1 - math.sqrt(0.95)
    tprs, fprs = clopper_pearson(k, 40, level), clopper_pearson(f, 300, level)
    grid = [
        (t, max(x * 300 - 30 * t, 0))
        for t in np.linspace(*tprs, 21)
        for x in np.linspace(*fprs, 21)
    ]
    expected = {
        "fpr": [fp / 270 for _, fp in grid],
        "precision": [70 * t / (70 * t + fp) for t, fp in grid],
        "f1": [2 * 70 * t / (70 * t + fp + 70) for t, fp in grid],
        "balanced_accuracy": [(t + 1 - fp / 270) / 2 for t, fp in grid],
    }
    for name, values in expected.items():
        result = fastad.interval(y, s, measure=name, threshold=1, contamination=0.1)
        assert (result.low, result.high) == pytest.approx((min(values), max(values)), rel=1e-9)
        assert result.method == "inversion"
    tpr = fastad.interval(y, s, measure="tpr", threshold=1, contamination=0.1)
    plain = fastad.interval(y, s, measure="tpr", threshold=1, method="clopper-pearson")
    assert (tpr.low, tpr.high) == pytest.approx((plain.low, plain.high), rel=1e-12)


RANGED: list[dict[str, Any]] = [
    {"measure": "auc"},
    {"measure": "tpr@0.1"},
    {"measure": "fpr", "threshold": 1.0},
    {"measure": "mcc", "threshold": 1.0},
    {"measure": "ap"},
    {"measure": "auc@0.2"},
    {"measure": "eer"},
    {"measure": "recall@k50"},
]


@pytest.mark.parametrize("options", RANGED, ids=lambda x: x["measure"])
@pytest.mark.parametrize("shift", [1.5, -0.5])
def test_extremes_over_a_range_are_those_of_a_fine_grid(
    options: dict[str, Any], shift: float
) -> None:
    y, s = contaminated(4, 60, 500, 0.05, shift)
    counts = count(y, s)
    parameters = {name: value for name, value in options.items() if name != "measure"}
    bound = bind(options["measure"], parameters)
    low, high = Fraction(2, 100), Fraction(8, 100)
    values = [
        corrected(bound, fraction).value(counts)
        for fraction in fractions_between(counts, bound, low, high)
    ]
    fine = [corrected(bound, low + (high - low) * Fraction(i, 64)).value(counts) for i in range(65)]
    slack = 0 if len(values) == 2 else 0.01
    assert min(values) <= min(fine) + slack + 1e-12
    assert max(values) >= max(fine) - slack - 1e-12


@pytest.mark.slow
def test_the_interval_of_a_range_covers_those_of_its_fractions() -> None:
    y, s = contaminated(5, 200, 3000, 0.03, 2.0)
    for options in ({"measure": "auc"}, {"measure": "tpr@0.1"}, {"measure": "auc@0.1"}):
        common: Any = {**options, "n_resamples": 200, "rng": 0}
        result = fastad.interval(y, s, contamination=(0.02, 0.04), **common)
        ends = [fastad.interval(y, s, contamination=c, **common) for c in (0.02, 0.03, 0.04)]
        assert result.value == ends[1].value
        assert result.low <= min(end.low for end in ends)
        assert result.high >= max(end.high for end in ends)


def test_fractions_that_the_data_rule_out_do_not_widen_the_interval() -> None:
    y, s = contaminated(6, 200, 3000, 0.02, 8.0)
    wide, wider = (
        fastad.interval(y, s, measure="auc", contamination=(0.01, high), rng=0)
        for high in (0.1, 0.9)
    )
    assert (wide.low, wide.high, wide.value) == (wider.low, wider.high, wider.value)


def test_a_level_near_0() -> None:
    y, s = contaminated(3, 40, 300, 0.1, 2.0)
    options: list[dict[str, Any]] = [{"measure": "tpr@0.1"}, {"measure": "fpr", "threshold": 1}]
    for each in options:
        result = fastad.interval(y, s, contamination=0.1, confidence_level=1e-17, **each)
        assert result.low <= result.value <= result.high
        assert result.high - result.low < 0.1


@pytest.mark.parametrize(("label", "absent"), [(0, "anomalies"), (1, "normal samples")])
def test_a_class_that_is_absent_is_refused(label: int, absent: str) -> None:
    for fraction in (0.01, (0.01, 0.1)):
        with pytest.raises(UndefinedMeasureError, match=f"roc_auc is undefined without {absent}"):
            fastad.interval([label] * 9, range(9), measure="auc", contamination=fraction)


def test_methods_without_a_correction_are_refused() -> None:
    y, s = contaminated(5, 200, 3000, 0.03, 2.0)
    with pytest.raises(InvalidInputError, match="method must be one of 'auto', 'inversion'"):
        fastad.interval(y, s, measure="tpr@0.1", method="order", contamination=0.03)
    with pytest.raises(InvalidInputError, match="method must be one of 'auto', 'order'"):
        fastad.interval(y, s, measure="tpr@0.1", method="inversion")
    with pytest.raises(InvalidInputError, match="contamination must not be given for samples"):
        fastad.interval(y, s, measure="auc", contamination=0.03, sample_weight=np.full(len(y), 0.5))
    with pytest.warns(LowCoverageWarning, match="not known"):
        fastad.interval(y, s, measure="auc@0.02", contamination=0.03, n_resamples=50, rng=0)


def test_ranked_scores_have_the_same_intervals() -> None:
    y, s = contaminated(5, 200, 3000, 0.03, 2.0)
    ranked = fastad.rank_scores(y, s, contamination=0.03)
    # As text, for they have standard errors that are NaN.
    for key in ("auc", "tpr@0.1", "ap"):
        result = ranked.interval(measure=key, n_resamples=100, rng=1)
        assert repr(result) == repr(
            fastad.interval(y, s, measure=key, n_resamples=100, rng=1, contamination=0.03)
        )
    table = fastad.evaluate(
        y, s, measures=["auc", "tpr@0.1"], contamination=0.03, confidence_level=0.95, rng=1
    )
    for key in ("auc", "tpr@0.1"):
        expected = ranked.interval(measure=key, rng=1)
        assert repr(table["score"].intervals[key]) == repr(expected)


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("measure", "truth"),
    [
        ("auc", stats.norm.cdf(2 / math.sqrt(2))),
        ("tpr@0.05", stats.norm.cdf(2 - stats.norm.isf(0.05))),
        ("fpr@tpr0.8", stats.norm.sf(2 - stats.norm.isf(0.2))),
    ],
)
def test_intervals_cover_the_value_of_the_population(measure: str, truth: float) -> None:
    """By the fraction that is hidden; intervals of a range contain them."""
    covered = 0
    for seed in range(120):
        y, s = contaminated(seed, 150, 2000, 0.03, 2.0)
        result = fastad.interval(
            y, s, measure=measure, contamination=0.03, n_resamples=300, rng=seed
        )
        covered += int(result.low <= truth <= result.high)
    assert covered >= 0.89 * 120


@pytest.mark.parametrize("key", ["tpr@0.1", "fpr@tpr0.8", "precision@threshold1.5"])
@pytest.mark.parametrize("interpolation", ["linear", "conservative"])
def test_inversion_of_a_range_begins_where_nothing_is_hidden(key: str, interpolation: str) -> None:
    rng = np.random.default_rng(3)
    y = np.arange(600) < 100
    s = rng.normal(size=600) + 2 * y
    point = {} if "threshold" in key else {"interpolation": interpolation}

    def at(contamination: Any) -> Any:
        options: dict[str, Any] = {"measure": key, "method": "inversion", **point}
        return fastad.interval(y, s, contamination=contamination, **options)

    both = at((0, 0.02))
    for fraction in (1e-6, 0.01, 0.02):
        one = at(fraction)
        assert both.low <= one.low + 1e-5
        assert one.high <= both.high + 1e-5
    least = at(1e-6)
    # Only at the end of the range, which an interval of its own comes near.
    assert min(abs(both.low - least.low), abs(both.high - least.high)) < 1e-4

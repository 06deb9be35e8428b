"""Intervals in closed form: against pROC, SciPy, and their definitions."""

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad._core.types import IntervalMethod
from fastad.measures.rates import RATES, TRIALS
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from fastad.uncertainty.samples.closed_forms import BINOMIAL, gamma_ends, student_quantile, variance
from fastad.uncertainty.samples.influence import INFLUENCES, influence
from tests.support import oracles
from tests.support.operating import options_of
from tests.support.strategies import Sample, samples
from tests.support.uncertainty import PROC, PROC_Y, two_of_each_class

# Their expectations are printed to fifteen digits.
PRINTED = 1e-13
Y = np.array([0, 0, 0, 1, 0, 1, 1, 0, 1, 1])
S = np.array([1.0, 2, 3, 3, 4, 5, 6, 6, 7, 8])


def scores_of(marker: str) -> list[int]:
    result: list[int] = PROC["markers"][marker]["scores"]
    return result


@pytest.mark.parametrize("marker", PROC["markers"])
def test_placements_are_those_of_proc(marker: str) -> None:
    golden = PROC["markers"][marker]
    above, below = oracles.placements(oracles.rows(PROC_Y, golden["scores"]))
    assert [2 * 72 * x for x in above] == golden["anomalies"]
    assert [2 * 41 * x for x in below] == golden["normals"]


@pytest.mark.parametrize("marker", PROC["markers"])
def test_area_and_variance_are_those_of_proc(marker: str) -> None:
    counts, bound = count(PROC_Y, scores_of(marker)), bind("auc", {})
    assert bound.value(counts) == pytest.approx(PROC["auc"][marker], rel=PRINTED)
    result = variance(counts, influence(counts, bound))
    assert result == pytest.approx(PROC["variance"][marker], rel=PRINTED)


def test_interval_and_covariances_are_those_of_proc() -> None:
    for marker, ends in PROC["interval"].items():
        result = fastad.interval(PROC_Y, scores_of(marker), measure="auc", method="delong")
        assert [result.low, result.high] == pytest.approx(ends, rel=PRINTED)
    names = list(PROC["markers"])
    covariance = fastad.uncertainty.delong_covariance(
        PROC_Y, {name: scores_of(name) for name in names}
    )
    assert list(covariance.names) == names
    for first, second, value in PROC["covariance"]:
        i, j = names.index(first), names.index(second)
        assert covariance.matrix[i, j] == pytest.approx(value, rel=PRINTED)


@given(two_of_each_class())
def test_delong_is_the_normal_interval_of_the_placements(sample: Sample) -> None:
    data = oracles.rows(sample.y, sample.s)
    area, spread = oracles.roc_auc(data), oracles.delong_covariance([data])[0][0]
    for level in (0.5, 0.95, 0.999):
        result = fastad.interval(
            sample.y, sample.s, measure="auc", method="delong", confidence_level=level
        )
        assert result.value == float(area)
        assert result.confidence_level == level
        if spread == 0:
            assert result.method == "pairs"
            continue
        half = stats.norm.isf((1 - level) / 2) * math.sqrt(spread)
        assert result.method == "delong"
        assert result.low == pytest.approx(max(float(area) - half, 0), abs=1e-13)
        assert result.high == pytest.approx(min(float(area) + half, 1), abs=1e-13)


@given(two_of_each_class())
def test_logit_is_normal_on_the_log_odds(sample: Sample) -> None:
    data = oracles.rows(sample.y, sample.s)
    area, spread = oracles.roc_auc(data), oracles.delong_covariance([data])[0][0]
    assume(spread > 0)
    result = fastad.interval(sample.y, sample.s, measure="auc", method="logit")
    scaled = float(area)
    half = stats.norm.isf(0.025) * math.sqrt(spread) / (scaled * (1 - scaled))
    odds = math.log(scaled / (1 - scaled))
    ends = [1 / (1 + math.exp(-(odds + sign * half))) for sign in (-1, 1)]
    assert [result.low, result.high] == pytest.approx(ends, rel=1e-10, abs=1e-300)
    assert 0 < result.low < result.value < result.high < 1


def test_logit_of_a_measure_that_ends_elsewhere() -> None:
    """An area of a range without normalisation lies between 0 and its width."""
    options: Any = {"fpr": 0.5, "min_fpr": 0.1, "normalize": "none"}
    result = fastad.interval(Y, S, measure="auc_at_fpr", method="logit", **options)
    counts, bound = count(Y, S), bind("auc_at_fpr", options)
    deviation = math.sqrt(variance(counts, influence(counts, bound)))
    scaled = result.value / 0.4
    half = 1.959963984540054 * deviation / 0.4 / (scaled * (1 - scaled))
    ends = [0.4 * float(stats.logistic.cdf(stats.logistic.ppf(scaled) + x)) for x in (-half, half)]
    assert [result.low, result.high] == pytest.approx(ends, rel=1e-12)
    upper = fastad.interval(
        Y, S, measure="auc_at_fpr", method="logit", fpr=0.9, normalize="mcclish"
    )
    assert 0.5 < upper.low < upper.value < upper.high < 1


def test_a_value_at_an_end_of_its_range_has_no_log_odds() -> None:
    """A partial area just at the chance level, which other samples would not have."""
    y = np.isin(np.arange(8), [0, 3, 4, 5])
    options: Any = {"measure": "auc_at_fpr", "fpr": 0.5, "normalize": "mcclish"}
    logit, plain = (
        fastad.interval(y, -np.arange(8), method=method, **options)
        for method in ("logit", "delong")
    )
    assert logit.standard_error > 0
    assert (logit.value, logit.low, logit.high) == (0.5, 0.5, plain.high)
    assert plain.high > 0.9


@given(st.integers(0, 2**32), st.booleans())
def test_covariance_of_many_detectors(seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    y = rng.permutation([0] * 7 + [1] * 5)
    scores = rng.normal(size=(4, 12)).round(0 if ties else 9)
    scores[3] = scores[1]
    result = fastad.uncertainty.delong_covariance(y, scores)
    data = [oracles.rows(y, row) for row in scores]
    expected = np.array(oracles.delong_covariance(data), float)
    assert list(result.names) == ["score_0", "score_1", "score_2", "score_3"]
    assert result.values.tolist() == [float(oracles.roc_auc(rows)) for rows in data]
    assert result.matrix == pytest.approx(expected, abs=1e-15)
    # NumPy's covariance of the same placements.
    placed = [np.array(rows, float) for rows in zip(*map(oracles.placements, data), strict=True)]
    by_numpy = np.cov(placed[0]) / 5 + np.cov(placed[1]) / 7
    assert result.matrix == pytest.approx(by_numpy, abs=1e-15)
    assert np.linalg.eigvalsh(result.matrix).min() > -1e-15
    assert (result.matrix == result.matrix.T).all()


@pytest.mark.parametrize("name", sorted(INFLUENCES))
def test_the_diagonal_is_the_variance_of_the_interval(name: str) -> None:
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], [90, 60])
    scores = rng.normal(y * 0.7, 1, size=(2, 150))
    options = options_of(MEASURES[name])
    covariance = fastad.uncertainty.delong_covariance(y, scores, measure=name, **options)
    for i in range(2):
        result = fastad.interval(y, scores[i], measure=name, method="delong", **options)
        assert covariance.values[i] == result.value
        half = 1.959963984540054 * math.sqrt(covariance.matrix[i, i])
        low, high = bind(name, options).bounds
        assert result.low == pytest.approx(max(result.value - half, low), abs=1e-13)
        assert result.high == pytest.approx(min(result.value + half, high), abs=1e-13)


def test_one_detector_has_a_matrix_too() -> None:
    result = fastad.uncertainty.delong_covariance(PROC_Y, scores_of("ndka"))
    assert list(result.names) == ["score"]
    assert result.matrix.shape == (1, 1)
    assert result.matrix[0, 0] == pytest.approx(PROC["variance"]["ndka"], rel=PRINTED)
    assert not result.matrix.flags.writeable
    assert not result.values.flags.writeable


@given(st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.999, 1e-6]))
def test_binomial_intervals_are_those_of_scipy(data: st.DataObject, level: float) -> None:
    n = data.draw(st.integers(1, 10**6) | st.integers(1, 20))
    k = data.draw(st.integers(0, n))
    alpha = 1 - level
    test, tail = stats.binomtest(k, n), alpha / 2
    exact, jeffreys = stats.beta(k, n - k + 1), stats.beta(k + 0.5, n - k + 0.5)
    expected = {
        "wilson": test.proportion_ci(level, "wilson"),
        "clopper-pearson": (
            0.0 if k == 0 else exact.ppf(tail),
            1.0 if k == n else stats.beta(k + 1, n - k).isf(tail),
        ),
        "jeffreys": (0.0 if k == 0 else jeffreys.ppf(tail), 1.0 if k == n else jeffreys.isf(tail)),
    }
    for method, ends in expected.items():
        low, high = BINOMIAL[method](k, n, alpha)
        # A quantile is right to some thousand roundings of its probability.
        assert [low, high] == pytest.approx(list(ends), rel=1e-10, abs=1e-15)
        # Jeffreys' posterior is skewed: its middle need not be the proportion.
        assert 0 <= low <= high <= 1
        assert method == "jeffreys" or low <= k / n <= high
    # SciPy finds the exact ends by bisection.
    ends = test.proportion_ci(level, "exact")
    assert BINOMIAL["clopper-pearson"](k, n, alpha) == pytest.approx(tuple(ends), abs=1e-11)


@pytest.mark.parametrize("method", BINOMIAL)
def test_binomial_intervals_have_ends_at_any_level(method: str) -> None:
    """Searches for a p-value go as far; SciPy has no such quantile."""
    for k, n in ((2, 5), (4, 5), (6, 7), (9, 10)):
        for alpha in (1e-150, 1e-200, 1e-300):
            low, high = BINOMIAL[method](k, n, alpha)
            assert 0 <= low < k / n < high <= 1


@pytest.mark.parametrize("rate", sorted(set(TRIALS) - {"f1", "n_flagged"}))
@pytest.mark.parametrize("threshold", [1, 3, 5.5, 8])
def test_a_proportion_counts_its_trials(rate: str, threshold: float) -> None:
    k, n = oracles.trials(rate, *oracles.confusion(Y, S, threshold))
    for method in ("wilson", "clopper-pearson", "jeffreys"):
        if n == 0:
            with pytest.raises(UndefinedMeasureError, match=f"{rate} is undefined where"):
                fastad.interval(Y, S, measure=rate, method=method, threshold=threshold)
            continue
        result = fastad.interval(Y, S, measure=rate, method=method, threshold=threshold)
        assert result.value == k / n
        assert (result.low, result.high) == BINOMIAL[method](k, n, 0.05)
        assert (result.method, result.n_resamples) == (method, 0)


@pytest.mark.parametrize("rate", sorted(RATES))
def test_a_rate_is_that_of_the_confusion(rate: str) -> None:
    result = fastad.interval(
        Y, S, measure=rate, method="bootstrap", threshold=4, rng=0, n_resamples=99
    )
    assert result.value == getattr(fastad.confusion_at(Y, S, threshold=4), rate)
    assert result.low <= result.value <= result.high


def test_rates_of_one_class() -> None:
    """The FPR needs no anomaly, and one normal sample is a trial."""
    assert (
        fastad.interval([0] * 5, range(5), measure="fpr", method="wilson", threshold=4).value == 0.2
    )
    result = fastad.interval([0], [1.0], measure="tnr", method="clopper-pearson", threshold=2)
    assert (result.value, result.high) == (1.0, 1.0)
    assert result.low == pytest.approx(0.025)


@given(two_of_each_class(), st.fractions(0, 1, max_denominator=12))
def test_the_order_interval_is_the_band_and_its_mirror(sample: Sample, rate: Fraction) -> None:
    y, ranks = sample.y, np.unique(sample.s, return_inverse=True)[1]
    band = fastad.uncertainty.roc_band(y, ranks, fpr=rate, confidence_level=0.9)
    keywords: Any = {"method": "order", "confidence_level": 0.9}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
        result = fastad.interval(y, ranks, measure="tpr_at_fpr", fpr=rate, **keywords)
        mirrored = fastad.interval(1 - y, -ranks, measure="fpr_at_tpr", tpr=1 - rate, **keywords)
    assert [result.low] == band.low.tolist()
    assert [result.high] == band.high.tolist()
    assert mirrored.low == pytest.approx(1 - result.high, abs=1e-15)
    assert mirrored.high == pytest.approx(1 - result.low, abs=1e-15)
    assert result.low <= result.value <= result.high
    assert mirrored.low <= mirrored.value <= mirrored.high


@pytest.mark.parametrize("method", ["delong", "logit", "bootstrap", "basic", "bca"])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 50), (3, 7), (20, 20), (41, 1000)])
def test_perfect_separation_has_a_width(method: Any, n: int, m: int) -> None:
    y = np.repeat([0, 1], [m, n])
    for level in (0.5, 0.95, 0.99):
        keywords: Any = {"method": method, "confidence_level": level, "n_resamples": 50, "rng": 1}
        # P(k pairs without a point in common are all concordant) = AUC ** k.
        end = ((1 - level) / 2) ** (1 / min(n, m))
        for scores in (y, np.arange(n + m), y * 7.5 - 3):
            result = fastad.interval(y, scores, measure="auc", **keywords)
            assert (result.value, result.high, result.method) == (1.0, 1.0, "pairs")
            assert result.low == pytest.approx(end, rel=1e-12)
            result = fastad.interval(y, -scores, measure="auc", **keywords)
            assert (result.value, result.low, result.method) == (0.0, 0.0, "pairs")
            assert result.high == pytest.approx(1 - end, rel=1e-12)
        result = fastad.interval(y, np.zeros(n + m), measure="auc", **keywords)
        assert result.value == 0.5
        assert result.low < 0.5 < result.high


@given(st.integers(2, 60), st.integers(2, 60), st.sampled_from(["delong", "logit"]))
def test_rounding_leaves_no_width_of_its_own(n: int, m: int, method: Any) -> None:
    """Placements of one value average to that value to a rounding, which is no variance."""
    y = np.repeat([0, 1], [m, n])
    for scores in (y, -y, np.arange(n + m), -np.arange(n + m), 0 * y):
        result = fastad.interval(y, scores, measure="auc", method=method)
        assert result.method == "pairs"
        assert result.high - result.low > 0.02


@pytest.mark.evidence
def test_coverage_of_the_bound_of_pairs() -> None:
    """Samples that look perfect come from an area below the bound as seldom as promised."""
    n, alpha = 5, 0.05
    low = fastad.interval([0] * n + [1] * n, range(2 * n), measure="auc", method="delong").low
    rng = np.random.default_rng(0)
    # The true area is that of two normal distributions at this distance.
    shift = math.sqrt(2) * stats.norm.ppf(low)
    normals = rng.normal(size=(20_000, n)).max(axis=1)
    anomalies = rng.normal(shift, size=(20_000, n)).min(axis=1)
    assert np.mean(anomalies > normals) < alpha / 2


def test_no_width_is_warned_of() -> None:
    y, s = np.repeat([0, 1], [50, 40]), np.arange(90)
    for measure in ("ap", "tpr@0.1", "f1_best"):
        method: Any = "delong" if measure == "ap" else "bootstrap"
        with pytest.warns(fastad.errors.LowCoverageWarning, match="variance is zero"):
            result = fastad.interval(y, s, measure=measure, method=method, rng=0)
        assert result.low == result.high == result.value == 1
        assert result.reliability_note is not None


@pytest.mark.parametrize("measure", ["auc_pr", "bedroc@20", "ht_auc@0.2", "auc@0.05"])
def test_a_width_of_rounding_alone_is_warned_of(measure: str) -> None:
    y, s, folds = np.repeat([0, 1], [60, 40]), np.arange(100), np.arange(100) % 4
    methods: list[IntervalMethod] = ["delong", "logit"]
    designs: list[dict[str, Any]] = [{}, {"clusters": np.arange(100) // 2}]
    for options in designs:
        for method in methods:
            with pytest.warns(fastad.errors.LowCoverageWarning, match="variance is zero"):
                result = fastad.interval(y, s, measure=measure, method=method, **options)
            assert result.low == result.high == result.value == 1
            assert result.standard_error == 0
    with pytest.warns(fastad.errors.LowCoverageWarning, match="variance is zero"):
        fastad.uncertainty.cross_validated_interval(y, s, folds, measure=measure)


@pytest.mark.parametrize("method", ["delong", "logit", "bootstrap", "basic", "bca"])
def test_two_samples_of_each_class_are_required(method: Any) -> None:
    for y in ([0, 0, 0, 1], [1, 1, 1, 0]):
        with pytest.raises(UndefinedMeasureError, match="two samples of each class"):
            fastad.interval(y, range(4), measure="auc", method=method)
    for y in ([0] * 4, [1] * 4):
        with pytest.raises(UndefinedMeasureError, match="roc_auc is undefined without"):
            fastad.interval(y, range(4), measure="auc", method=method)
    for y in ([0, 0, 0, 1], [1, 1, 1, 0]):
        with pytest.raises(UndefinedMeasureError, match="two samples of each class"):
            fastad.uncertainty.delong_covariance(y, [range(4), range(4)])


@given(samples(both=True), st.sampled_from([0.5, 0.95, 0.999]))
def test_newcombe_solves_its_equation(sample: Sample, level: float) -> None:
    """Newcombe 2006, part 2, method 5: (t - area)^2 = z^2 V(t) at both ends."""
    n, m = int(sample.y.sum()), sample.n_normals
    z = stats.norm.isf((1 - level) / 2)

    def variance_at(t: float) -> float:
        n_star = (n + m) / 2 - 1
        return t * (1 - t) * (1 + n_star * ((1 - t) / (2 - t) + t / (1 + t))) / (m * n)

    result = fastad.interval(
        sample.y, sample.s, measure="auc", method="newcombe", confidence_level=level
    )
    area = float(oracles.roc_auc(oracles.rows(sample.y, sample.s)))
    assert result.value == area
    assert 0 <= result.low <= area <= result.high <= 1
    assert result.low < result.high
    for end, outermost in ((result.low, 0.0), (result.high, 1.0)):
        if area == outermost:
            assert end == outermost
        else:
            # A root is found to 2e-12.
            slope = 2 * abs(end - area) + z**2 * 10
            assert abs((end - area) ** 2 - z**2 * variance_at(end)) < 1e-11 * slope


def test_newcombe_of_an_area_of_1_has_a_width() -> None:
    for n, m in ((1, 1), (2, 5), (10, 1000)):
        y = np.repeat([0, 1], [m, n])
        result = fastad.interval(y, np.arange(n + m), measure="auc", method="newcombe")
        assert (result.value, result.high, result.method) == (1, 1, "newcombe")
        assert 0 < result.low < 0.99
        exchanged = fastad.interval(y, -np.arange(n + m), measure="auc", method="newcombe")
        assert exchanged.high == pytest.approx(1 - result.low, abs=1e-11)
        assert exchanged.low == 0


def test_standard_errors() -> None:
    y = np.repeat([0, 1], [500, 60])
    s = np.random.default_rng(0).normal(1.2 * y)
    delong = fastad.interval(y, s, measure="auc", method="delong")
    assert delong.standard_error == pytest.approx((delong.high - delong.value) / 1.959963984540054)
    tolerances: dict[IntervalMethod, float] = {
        "logit": 1e-15,
        "newcombe": 0.2,
        "bca": 0.1,
        "basic": 0.1,
    }
    for method, tolerance in tolerances.items():
        result = fastad.interval(y, s, measure="auc", method=method, rng=0)
        assert result.standard_error == pytest.approx(delong.standard_error, rel=tolerance)
    tpr = fastad.interval(y, s, measure="tpr", threshold=1.0)
    binomial = math.sqrt(tpr.value * (1 - tpr.value) / 60)
    assert tpr.standard_error == pytest.approx(binomial, rel=1e-12)
    resampled = fastad.interval(y, s, measure="tpr", threshold=1.0, method="bootstrap", rng=0)
    assert resampled.standard_error == pytest.approx(binomial, rel=0.1)
    order = fastad.interval(y, s, measure="tpr@0.1", method="order")
    pairs = fastad.interval(y, y, measure="auc", method="delong")
    assert (order.method, pairs.method) == ("order", "pairs")
    for exact in (order, pairs):
        assert math.isnan(exact.standard_error)
        assert exact.to_dict()["standard_error"] is None


@pytest.mark.parametrize("measure", ["best_f1", "tpr@0.1", "equal_error_rate", "eer"])
def test_a_covariance_needs_a_smooth_measure(measure: str) -> None:
    with pytest.raises(InvalidInputError, match="measure must be smooth"):
        fastad.uncertainty.delong_covariance(Y, [S, S], measure=measure)


@pytest.mark.parametrize("k", [1, 2, 7, 60])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
def test_gamma_ends_are_where_so_many_samples_would_be_as_rare_as_alpha(
    k: int, alpha: float
) -> None:
    """Of k samples that each move the value by 0.001 from an end, the number is Poisson."""
    distance, standard_error = 0.001 * k, 0.001 * math.sqrt(k)
    low, _ = gamma_ends(2 + distance, standard_error, (2, 3), alpha)
    _, high = gamma_ends(3 - distance, standard_error, (2, 3), alpha)
    for mean in ((low - 2) / 0.001, (3 - high) / 0.001):
        assert stats.poisson.sf(k - 1, mean) == pytest.approx(alpha, rel=1e-9)


def test_gamma_ends_of_a_value_at_an_end() -> None:
    assert gamma_ends(1.0, 0.1, (0, 1), 0.05)[1] == 1
    assert gamma_ends(0.0, 0.1, (0, 1), 0.05)[0] == 0


@given(two_of_each_class())
def test_the_interval_of_pairs_is_binomial(sample: Sample) -> None:
    """Clopper and Pearson's, of a proportion that is the area of so many pairs."""
    area = float(oracles.roc_auc(oracles.rows(sample.y, sample.s)))
    result = fastad.interval(sample.y, sample.s, measure="auc", method="pairs")
    size = min(sum(sample.y == 1), sum(sample.y == 0))
    k = area * size
    low = stats.beta.ppf(0.025, k, size - k + 1) if k else 0
    high = stats.beta.ppf(0.975, k + 1, size - k) if k < size else 1
    assert (result.method, math.isnan(result.standard_error)) == ("pairs", True)
    assert [result.low, result.high] == pytest.approx([low, high], rel=1e-9, abs=1e-12)


@given(two_of_each_class(), st.sampled_from([0.5, 0.95]))
def test_combined_of_an_area_contains_the_others(sample: Sample, level: float) -> None:
    """Newcombe's ends as far as a kind reaches that 8 % of samples lack, if his variance is larger.

    Such a kind lies below all normals, or above all anomalies, and takes its part of the area.
    """
    keywords: Any = {"measure": "auc", "confidence_level": level}
    combined, logit, newcombe = (
        fastad.interval(sample.y, sample.s, method=method, **keywords)
        for method in ("combined", "logit", "newcombe")
    )
    if logit.method == "pairs":
        assert combined == logit
        return
    sizes, alpha, area = np.bincount(sample.y), 1 - level, logit.value
    few = gamma_ends(area, logit.standard_error, (0, 1), alpha / 2 if sizes[1] <= 20 else alpha)
    low, high = min(logit.low, few[0]), max(logit.high, few[1])
    larger = max(logit, newcombe, key=lambda each: each.standard_error)
    if larger is newcombe:
        kind = 1 - min(1, 1.6 * alpha) ** (1 / sizes.min())
        low = min(low, max(newcombe.low, area * (1 - kind)))
        high = max(high, min(newcombe.high, area + (1 - area) * kind))
    assert (combined.low, combined.high) == pytest.approx((low, high), rel=1e-12)
    assert combined.standard_error == larger.standard_error
    same = (combined.low, combined.high) == (larger.low, larger.high)
    assert combined.method == (larger.method if same else "combined")


@pytest.mark.parametrize("df", [1.5, 5.0, 65.0, 500.0])
def test_quantiles_of_students_distribution_rise_to_the_smallest_levels(df: float) -> None:
    """Of 5 degrees it was minus infinity at 1e-300, and a limit inside the bounds had p 2e-308."""
    quantiles = [student_quantile(alpha, df) for alpha in (0.05, 1e-100, 1e-290, 1e-300, 4e-308)]
    assert quantiles == sorted(quantiles)
    assert math.isfinite(quantiles[-1])

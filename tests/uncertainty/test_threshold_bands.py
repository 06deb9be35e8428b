"""Bands of differences by threshold: against the covariance sample by sample, and by simulation."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.errors import InvalidTypeError, LowCoverageWarning
from fastad.measures import from_counts
from fastad.uncertainty import difference_band
from fastad.uncertainty.samples.dependence import long_run_variance
from tests.support import custom
from tests.support.strategies import Sample
from tests.support.uncertainty import degrees_of_sizes, two_detectors

BENEFIT = from_counts("net_benefit", custom.net_benefit, at="threshold", takes_threshold=True)
ACCURACY = from_counts("own_accuracy", custom.balanced_accuracy, at="threshold")
MATTHEWS = from_counts("matthews", custom.matthews, at="threshold")


def detectors(seed: int, n: int, m: int) -> tuple[Any, Any, Any]:
    """Probabilities of two correlated detectors, calibrated for these proportions."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, 0], [n, m]))
    common = rng.normal(size=n + m)
    odds = math.log(n / m)
    results = []
    for shift in (1.6, 1.2):
        x = (common + rng.normal(size=n + m)) / math.sqrt(2) + shift * y
        results.append(1 / (1 + np.exp(-(odds + shift * (x - shift / 2)))))
    first, second = results
    return y, first, second


def by_sample(y: Any, a: Any, b: Any, thresholds: Any) -> Any:
    """The covariance of the difference of net benefits from the terms of each sample."""
    terms = []
    for t in thresholds:
        gain = np.where(y == 1, 1.0, -t / (1 - t))
        terms.append(gain * ((a >= t).astype(float) - (b >= t)))
    total = len(y)
    covariance = np.zeros((len(thresholds), len(thresholds)))
    for label in (0, 1):
        of_class = np.array(terms)[:, y == label]
        size = of_class.shape[1]
        covariance += np.atleast_2d(np.cov(of_class)) * size / total**2
    return covariance


@given(
    sample=two_detectors(max_size=30),
    thresholds=st.lists(st.integers(0, 4), min_size=1, max_size=5),
)
def test_pointwise_bands_have_the_variance_of_the_samples(
    sample: Sample, thresholds: list[int]
) -> None:
    y, (a, b) = sample.y, sample.s
    cuts = [t / 5 + 0.1 for t in thresholds]
    a, b = np.asarray(a) / 5, np.asarray(b) / 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowCoverageWarning)
        result = difference_band(
            y, a, b, measure=BENEFIT, threshold=cuts, simultaneous=False, confidence_level=0.9
        )
    for values, s in ((result.values_a, a), (result.values_b, b)):
        assert values.tolist() == [BENEFIT.of(y, s, threshold=cut) for cut in cuts]
    assert result.difference.tolist() == (result.values_a - result.values_b).tolist()
    deviations = np.sqrt(np.diag(by_sample(y, a, b, cuts)))
    half = norm.ppf(0.95) * deviations
    assert result.high - result.difference == pytest.approx(half, rel=1e-6, abs=1e-9)
    assert result.difference - result.low == pytest.approx(half, rel=1e-6, abs=1e-9)
    assert (result.confidence_level, result.simultaneous) == (0.9, False)


def test_simultaneous_bands_are_as_wide_as_normal_curves_need() -> None:
    y, a, b = detectors(0, 400, 1200)
    cuts = np.linspace(0.05, 0.6, 23)
    result = difference_band(y, a, b, measure=BENEFIT, threshold=cuts, simultaneous=True, rng=3)
    covariance = by_sample(y, a, b, cuts)
    deviations = np.sqrt(np.diag(covariance))
    curves = np.random.default_rng(1).multivariate_normal(np.zeros(23), covariance, 40_000)
    quantile = np.quantile(np.abs(curves / deviations).max(axis=1), 0.95)
    width = (result.high - result.difference) / deviations
    assert width == pytest.approx(np.full(23, quantile), rel=0.02)
    assert norm.ppf(0.975) < quantile < norm.ppf(1 - 0.025 / 23)
    one = difference_band(y, a, b, measure=BENEFIT, threshold=0.3, simultaneous=True, rng=3)
    assert (one.high - one.difference)[0] == pytest.approx(
        norm.ppf(0.975) * math.sqrt(by_sample(y, a, b, [0.3])[0, 0]), rel=0.02
    )


@pytest.mark.parametrize("measure", [ACCURACY, MATTHEWS, BENEFIT], ids=lambda m: m.name)
@pytest.mark.parametrize("threshold", [0.15, 0.4])
def test_at_one_threshold_it_is_the_paired_comparison(measure: Any, threshold: float) -> None:
    y, a, b = detectors(1, 300, 900)
    result = difference_band(y, a, b, measure=measure, threshold=threshold, simultaneous=False)
    expected = fastad.compare(y, a, b, measure=measure, threshold=threshold, method="delong")
    assert result.low[0] == pytest.approx(expected.low, rel=1e-6)
    assert result.high[0] == pytest.approx(expected.high, rel=1e-6)


def test_thresholds_may_come_in_any_order_and_twice() -> None:
    y, a, b = detectors(2, 300, 900)
    rising = difference_band(
        y, a, b, measure=BENEFIT, threshold=[0.1, 0.2, 0.4], simultaneous=True, rng=0
    )
    mixed = difference_band(
        y, a, b, measure=BENEFIT, threshold=[0.4, 0.1, 0.2, 0.1], simultaneous=True, rng=0
    )
    assert mixed.thresholds.tolist() == [0.4, 0.1, 0.2, 0.1]
    assert mixed.difference.tolist() == rising.difference[[2, 0, 1, 0]].tolist()
    assert mixed.low == pytest.approx(rising.low[[2, 0, 1, 0]], abs=2e-4)


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8"])
def test_scores_of_every_type_are_compared_as_in_numpy(dtype: str) -> None:
    y, a, b = detectors(3, 300, 900)
    a, b = ((10 * each).round(1).astype(dtype) for each in (a, b))
    cuts = [0.3, 1.1, 2, 4.7]
    result = difference_band(y, a, b, measure=ACCURACY, threshold=cuts, simultaneous=False)
    for i, cut in enumerate(cuts):
        for values, scores in ((result.values_a, a), (result.values_b, b)):
            flagged = scores >= cut
            assert values[i] == (flagged[y == 1].mean() + 1 - flagged[y == 0].mean()) / 2
        differ = ((a >= cut).astype(float) - (b >= cut)) * np.where(y == 1, 1, -1) / 2
        variance = sum(np.var(differ[y == k], ddof=1) / np.sum(y == k) for k in (0, 1))
        half = norm.ppf(0.975) * math.sqrt(variance)
        assert result.high[i] - result.difference[i] == pytest.approx(half, rel=1e-6)


def test_the_same_seed_gives_the_same_band_for_any_threads() -> None:
    y, a, b = detectors(4, 30_000, 300_000)
    bands = [
        difference_band(
            y,
            a,
            b,
            measure=BENEFIT,
            threshold=[0.1, 0.3],
            simultaneous=True,
            rng=5,
            n_threads=n_threads,
        )
        for n_threads in (1, 2)
    ]
    assert bands[0].low.tolist() == bands[1].low.tolist()
    assert bands[0].high.tolist() == bands[1].high.tolist()


def test_bounds_lie_within_the_range_of_a_difference() -> None:
    """Of values from 0 to 1; 19 of 20 anomalies and no normal sample are flagged by one alone."""
    y = np.repeat([1, 0], 20)
    first = np.where(np.arange(40) < 19, 0.9, 0.1)
    tpr = from_counts("hits", lambda tp, fp, n, m: tp / n, at="threshold", value_range=(0, 1))
    data = (y, first, 0.1 * first), (y, 0.1 * first, first)
    for (labels, a, b), end in zip(data, (1.0, -1.0), strict=True):
        with pytest.warns(LowCoverageWarning):
            band = difference_band(labels, a, b, measure=tpr, threshold=0.5)
        # The standard error is sqrt(0.95 * 0.05 / 19), 0.05.
        assert band.difference == end * 0.95
        assert sorted([band.low[0], band.high[0]], key=abs) == [
            pytest.approx(end * (0.95 - 0.05 * norm.ppf(0.975))),
            end,
        ]


def test_detectors_that_hardly_differ_warn() -> None:
    y, a, _ = detectors(5, 300, 900)
    with pytest.warns(LowCoverageWarning, match="at threshold 0.2 0 samples"):
        result = difference_band(y, a, a, measure=BENEFIT, threshold=0.2)
    assert result.low == result.high == result.difference == 0


def test_bad_arguments_are_named() -> None:
    y, a, b = detectors(6, 30, 90)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"measure": "tpr@threshold0.5"}, "measure"),
        ({"measure": from_counts("f2", custom.f2, at="best")}, "measure"),
        ({"threshold": []}, "threshold"),
        ({"threshold": [0.1, math.nan]}, "threshold"),
        ({"threshold": np.linspace(0, 1, 3000)}, "threshold"),
        ({"threshold": "0.1"}, "threshold"),
        ({"simultaneous": 1}, "simultaneous"),
        ({"confidence_level": 1}, "confidence_level"),
    ]
    for options, argument in cases:
        with pytest.raises((InvalidInputError, InvalidTypeError)) as caught:
            difference_band(y, a, b, **{"measure": BENEFIT, "threshold": 0.3, **options})
        assert caught.value.argument == argument
    with pytest.raises(InvalidInputError, match="scores_b"):
        difference_band(y, a, b[1:], measure=BENEFIT, threshold=0.3)
    with pytest.raises(UndefinedMeasureError, match="two samples of each class"):
        difference_band([0, 0, 1], [1, 2, 3], [1, 2, 4], measure=ACCURACY, threshold=2)


@pytest.mark.evidence
def test_simultaneous_bands_cover_the_true_difference() -> None:
    """Pointwise bands cover all six differences in 78 %."""
    measure, n, m = MATTHEWS, 100, 900
    cuts = np.array([0.03, 0.05, 0.1, 0.15, 0.2, 0.3])
    y, a, b = detectors(999, 1000 * n, 1000 * m)
    of_a, of_b = ([measure.of(y, s, threshold=cut) for cut in cuts.tolist()] for s in (a, b))
    true = np.subtract(of_a, of_b)
    n_tried, n_covered = 200, 0
    for seed in range(n_tried):
        sample = detectors(seed, n, m)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowCoverageWarning)
            band = difference_band(
                *sample, measure=measure, threshold=cuts, simultaneous=True, rng=seed
            )
        n_covered += int(((band.low <= true) & (true <= band.high)).all())
    # 92 % of 200, less three standard deviations.
    assert n_covered >= n_tried * 0.92 - 3 * math.sqrt(n_tried * 0.92 * 0.08), n_covered


def flagged_fraction(tp: Any, fp: Any, n_anomalies: Any, n_normals: Any) -> Any:
    return tp / n_anomalies - 0.5 * fp / n_normals


DESIGN_RNG = np.random.default_rng(4)
DESIGN_CLUSTERS = np.repeat(np.arange(40), 15)
DESIGN_Y = DESIGN_RNG.random(600) < 0.4
DESIGN_A = DESIGN_RNG.normal(size=40)[DESIGN_CLUSTERS] + DESIGN_RNG.normal(size=600) + DESIGN_Y
DESIGN_B = DESIGN_RNG.normal(size=600) + DESIGN_Y


def band_of_design(rows: Any = slice(None), **options: Any) -> Any:
    measure = fastad.measures.from_counts("flagged_fraction", flagged_fraction, at="threshold")
    return fastad.uncertainty.difference_band(
        DESIGN_Y[rows],
        DESIGN_A[rows],
        DESIGN_B[rows],
        measure=measure,
        threshold=[-0.5, 0.5, 1.0],
        rng=0,
        **options,
    )


@pytest.mark.filterwarnings("ignore:with .* clusters of equal size")
@pytest.mark.parametrize("weighted", [False, True])
def test_a_difference_in_clusters_varies_as_sums_within_them(*, weighted: bool) -> None:
    w = DESIGN_RNG.random(600) + 0.5 if weighted else np.ones(600)
    given = {"sample_weight": w} if weighted else {}
    band = band_of_design(clusters=DESIGN_CLUSTERS, simultaneous=False, **given)
    for i, threshold in enumerate([-0.5, 0.5, 1.0]):
        alarms = (threshold <= DESIGN_A).astype(float) - (threshold <= DESIGN_B)
        sums = np.zeros(40)
        for of_class, factor in ((DESIGN_Y, 1.0), (~DESIGN_Y, -0.5)):
            mean = np.average(alarms[of_class], weights=w[of_class])
            for cluster in range(40):
                rows = of_class & (cluster == DESIGN_CLUSTERS)
                sums[cluster] += factor * (w[rows] @ (alarms[rows] - mean)) / w[of_class].sum()
        degrees = min(
            degrees_of_sizes(np.bincount(DESIGN_CLUSTERS[of_class], w[of_class]))
            for of_class in (DESIGN_Y, ~DESIGN_Y)
        )
        half = student.ppf(0.975, degrees) * np.sqrt(40 / 39 * (sums @ sums))
        assert band.high[i] - band.difference[i] == pytest.approx(half, rel=1e-6)


def test_designs_that_say_nothing_change_nothing() -> None:
    plain = band_of_design()
    alone = band_of_design(clusters=DESIGN_RNG.permutation(600))
    np.testing.assert_array_equal(alone.high, plain.high)
    w = DESIGN_RNG.integers(0, 3, 600)
    np.testing.assert_array_equal(
        band_of_design(sample_weight=w).high, band_of_design(np.repeat(np.arange(600), w)).high
    )
    for options in ({"sample_weight": np.full(600, 0.5)}, {"blocks": 1}):
        np.testing.assert_allclose(band_of_design(**options).high, plain.high, atol=0.003, rtol=0)


def test_a_series_has_the_long_run_variance_at_each_threshold() -> None:
    band = band_of_design(blocks=6, simultaneous=False)
    alarms = (DESIGN_A >= 0.5).astype(float) - (DESIGN_B >= 0.5)
    n, m = DESIGN_Y.sum(), (~DESIGN_Y).sum()
    parts = np.where(
        DESIGN_Y,
        (alarms - alarms[DESIGN_Y].mean()) / n,
        -0.5 * (alarms - alarms[~DESIGN_Y].mean()) / m,
    )
    k = np.arange(1, 600)
    whole, third = ((1 - k / 600) * p**k + k / 600 * p ** (600 - k) for p in (5 / 6, 1 / 2))
    degrees = 600 / (1 + 2 * np.sum((2 * whole - third) ** 2))
    half = student.ppf(0.975, degrees) * np.sqrt(long_run_variance(parts, 6.0))
    assert band.high[1] - band.difference[1] == pytest.approx(half, rel=1e-6)


def test_bad_designs_of_bands_are_named() -> None:
    with pytest.raises(InvalidInputError, match="clusters must have one value"):
        band_of_design(clusters=DESIGN_CLUSTERS[1:])
    with pytest.raises(InvalidInputError, match="blocks must be at most the number of rows"):
        band_of_design(blocks=601)
    with pytest.raises(UndefinedMeasureError, match="10 clusters; found 9"):
        band_of_design(clusters=np.arange(600) % 9)
    with pytest.warns(LowCoverageWarning, match="with 17.89 clusters of equal size") as caught:
        band_of_design(clusters=np.arange(600) % 20)
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(LowCoverageWarning, match=r"with 2\.\d+ clusters of equal size"):
        band_of_design(clusters=np.maximum(np.arange(600) - 300, 0))
    many = np.arange(600) % 120
    result = band_of_design(clusters=many, confidence_level=1e-17, simultaneous=False)
    assert result.low.tolist() == result.high.tolist() == result.difference.tolist()


def test_the_clusters_of_a_class_tell_how_it_varies() -> None:
    """Ten clusters have the anomalies, and 500 others the normal samples."""
    rng = np.random.default_rng(8)
    y = np.arange(1020) < 20
    clusters = np.arange(1020) // 2
    a, b = rng.normal(size=510)[clusters] + rng.normal(size=(2, 1020)) + y
    with pytest.warns(LowCoverageWarning, match="with 10 clusters of equal size"):
        band = difference_band(
            y, a, b, measure=ACCURACY, threshold=0.5, clusters=clusters, simultaneous=False
        )
    change = np.where(y, 0.5, -0.5) * ((a >= 0.5).astype(float) - (b >= 0.5))
    means = change.reshape(510, 2).mean(axis=1)
    variance = sum(np.var(part, ddof=1) / len(part) for part in (means[:10], means[10:]))
    half = student.ppf(0.975, 9) * math.sqrt(variance)
    assert band.high[0] - band.difference[0] == pytest.approx(half, rel=1e-9)


def test_float32_scores_reach_a_threshold_of_float64_as_their_values_do() -> None:
    """Of float32 the number that 0.7 is printed for lies below it."""
    scores = np.tile([0.7, 0.2, 0.9, 0.1], 30).astype(np.float32)
    other = np.tile([0.9, 0.2, 0.7, 0.8], 30).astype(np.float32)
    y = np.tile([1, 1, 0, 0], 30)
    exact = difference_band(
        y, scores.astype(float), other.astype(float), measure=ACCURACY, threshold=np.float64(0.7)
    )
    band = difference_band(y, scores, other, measure=ACCURACY, threshold=np.float64(0.7))
    assert band.difference.tolist() == exact.difference.tolist()
    assert band.high.tolist() == exact.high.tolist()


def test_no_integer_reaches_a_threshold_beyond_its_type() -> None:
    rng = np.random.default_rng(9)
    y = rng.random(200) < 0.5
    a, b = np.where(rng.random((2, 200)) < 0.5, 2**63 - 1, 0)
    with pytest.warns(LowCoverageWarning, match="0 samples are flagged by one detector alone"):
        band = difference_band(y, a, b, measure=ACCURACY, threshold=[1.0, 1e300, math.inf])
    assert band.low[0] < band.high[0]
    assert band.low[1:].tolist() == band.high[1:].tolist() == [0.0, 0.0]

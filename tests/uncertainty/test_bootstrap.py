"""Bootstrap intervals: replicates, ends, seeds and threads."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import UndefinedMeasureError
from fastad._core.random import random_key
from fastad._core.threads import thread_limit
from fastad._kernels.random import bits
from fastad._kernels.resampling import draws
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count
from fastad.ordering.labels import check_labels
from fastad.uncertainty.comparisons.paired import rank_detectors
from fastad.uncertainty.intervals.interval_estimation import check_options, intervals_of
from fastad.uncertainty.samples.bootstrap import (
    IndependentSample,
    Resamples,
    plan,
    replicate_values,
)
from fastad.uncertainty.samples.closed_forms import acceleration, basic, bias_corrected, percentile
from fastad.uncertainty.samples.influence import influence
from tests.support.operating import domain, options_of
from tests.support.strategies import samples
from tests.support.uncertainty import replicates_of


def times_drawn(resamples: Resamples, replicate: int, n: int, m: int) -> Sequence[Any]:
    """How often each anomaly and each normal sample is in a replicate."""
    stream = np.uint64(bits(resamples.key, replicate))
    drawn = []
    for of_class, size in enumerate((n, m)):
        times = np.empty(size, np.uint8)
        key = np.uint64(bits(stream, of_class))
        n_drawn = int(resamples.n_drawn[replicate, of_class])
        draws.draw(key, size, n_drawn, 0, times, np.empty(7, np.int64))
        drawn.append(times)
    return drawn


POINTS: dict[str, Any] = {"fpr": 0.2, "tpr": 0.7, "min_tpr": 0.6, "k": 3, "precision": 0.3}
POINTS |= {"p": 0.2, "alpha": 0.4}
VALUES = sorted(row.name for row in MEASURES.values() if row.kind == "value")


def options_for(name: str) -> dict[str, Any]:
    row = MEASURES[name]
    options = options_of(row)
    if row.operating_point in POINTS and domain(row) != "percentile":
        options[row.operating_point] = POINTS[row.operating_point]
    return options


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("stratified", [True, False])
def test_a_replicate_is_the_measure_of_the_drawn_rows(name: str, stratified: bool) -> None:
    rng = np.random.default_rng(8)
    y = rng.permutation(np.repeat([0, 1], [17, 9]))
    scores = rng.normal(y, 1, size=(2, 26)).round(1)
    bound = bind(name, options_for(name))
    detectors = rank_detectors(check_labels(y), [("a", "a", scores[0]), ("b", "b", scores[1])])
    counts = detectors.samples[0].counts
    resamples = plan(counts, 25, random_key(4), stratified=stratified)
    anomalies, normals = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    for sample, s in zip(detectors.samples, scores, strict=True):
        result = sample.replicates([bound], 25, random_key(4), stratified=stratified)[0]
        for i, value in enumerate(result.tolist()):
            times = times_drawn(resamples, i, 9, 17)
            rows = np.r_[np.repeat(anomalies, times[0]), np.repeat(normals, times[1])]
            assert len(rows) == 26
            try:
                expected = getattr(fastad.measures, name)(y[rows], s[rows], **bound.parameters)
            except UndefinedMeasureError:
                expected = math.nan
            assert value == expected or (math.isnan(value) and math.isnan(expected))


@given(samples(both=True), st.integers(0, 2**32), st.booleans())
def test_the_fused_area_is_that_of_the_counts(sample: Any, seed: int, stratified: bool) -> None:
    bound = bind("auc", {})
    fused, _ = replicates_of(sample.y, sample.s, [bound], 30, seed, stratified=stratified)
    general, _ = replicates_of(sample.y, sample.s, [bound, bound], 30, seed, stratified=stratified)
    assert fused[0].tobytes() == general[0].tobytes() == general[1].tobytes()


@given(samples(both=True, weights="integer"), st.integers(0, 2**32), st.booleans())
def test_samples_of_one_detector_are_numbered_down_the_order(
    sample: Any, seed: int, stratified: bool
) -> None:
    """Without rows the i-th point drawn is the i-th of its class from the highest score."""
    counts = count(sample.y, sample.s, sample_weight=sample.w)
    n, m = int(counts.n_anomalies), int(counts.n_normals)
    assume(min(n, m) > 0)
    resamples = plan(counts, 10, random_key(seed), stratified=stratified)
    rows = np.arange(n, dtype=np.int32), np.arange(m, dtype=np.int32)
    for labels in (["auc"], ["auc", "ap", "eer"]):
        bound = [bind(label, {}) for label in labels]
        alone = replicate_values(IndependentSample(counts), bound, resamples)
        numbered = replicate_values(IndependentSample(counts, rows), bound, resamples)
        assert alone.tobytes() == numbered.tobytes()
    falling = np.argsort(-np.unique(sample.s, return_inverse=True)[1], kind="stable")
    falling = np.repeat(falling, sample.w.astype(np.int64)[falling])
    y, scores = sample.y[falling], np.unique(sample.s, return_inverse=True)[1][falling]
    assert len(y) == n + m
    for i, value in enumerate(
        replicate_values(IndependentSample(counts), [bind("auc", {})], resamples)[0]
    ):
        times = times_drawn(resamples, i, n, m)
        drawn = np.r_[
            np.repeat(np.flatnonzero(y == 1), times[0]), np.repeat(np.flatnonzero(y == 0), times[1])
        ]
        if math.isnan(value):
            assert np.unique(y[drawn]).shape[0] == 1
        else:
            assert value == fastad.roc_auc(y[drawn], scores[drawn])


# SciPy's name of the seed, before 1.15 and from then on.
SEED: dict[str, Any] = (
    {"rng": 0} if np.lib.NumpyVersion(scipy.__version__) >= "1.15.0" else {"random_state": 0}
)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.99])
def test_ends_are_those_of_scipy(level: float) -> None:
    """A difference of two means, whose influences are its own jackknife."""
    rng = np.random.default_rng(6)
    normals, anomalies = rng.exponential(1, 25).clip(0, 8), rng.exponential(2, 14).clip(0, 8)
    y, s = np.repeat([0, 1], [25, 14]), np.r_[normals, anomalies]
    options: Any = {"score_range": (0, 8)}
    values, _ = replicates_of(y, s, [bind("probabilistic_auc", options)], 2000, 9)

    def difference(x: Any, z: Any, axis: int = -1) -> Any:
        return (np.mean(x, axis=axis) - np.mean(z, axis=axis)) / 16 + 0.5

    bootstrap: Any = stats.bootstrap
    interval = bootstrap(
        (anomalies, normals), difference, n_resamples=2, method="percentile", **SEED
    )
    interval.bootstrap_distribution = values[0]
    methods: list[tuple[Any, str]] = [("bootstrap", "percentile"), ("basic", "basic")]
    for method, of_scipy in [*methods, ("bca", "BCa")]:
        ends = bootstrap(
            (anomalies, normals),
            difference,
            n_resamples=0,
            bootstrap_result=interval,
            method=of_scipy,
            confidence_level=level,
            **SEED,
        ).confidence_interval
        result = fastad.interval(
            y,
            s,
            measure="probabilistic_auc",
            method=method,
            rng=9,
            confidence_level=level,
            **options,
        )
        assert [result.low, result.high] == pytest.approx([ends.low, ends.high], rel=1e-11)


@pytest.mark.parametrize("measure", ["auc", "ap", "auc@0.3", "auc_prg", "auc_pr"])
def test_bca_by_its_formulas(measure: str) -> None:
    """DiCiccio and Efron 1996, (2.3), with the acceleration of Efron 1987, (7.3)."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [40, 15])
    s = rng.normal(y * 1.3, 1).round(1)
    bound = bind(measure, {})
    counts = count(y, s)
    values, _ = replicates_of(y, s, [bound], 2000, 3)
    value = bound.value(counts)
    below = np.mean(values[0] < value) + np.mean(values[0] == value) / 2
    z0 = stats.norm.ppf(below)
    moved = influence(counts, bound)
    parts = np.r_[
        np.repeat(moved.anomalies, np.diff(counts.tps)) / 15,
        np.repeat(moved.normals, np.diff(counts.fps)) / 40,
    ]
    a = np.sum(parts**3) / 6 / np.sum(parts**2) ** 1.5
    assert acceleration(counts, moved) == pytest.approx(a, rel=1e-10)
    z = z0 + stats.norm.ppf([0.05, 0.95])
    ends = np.quantile(values[0], stats.norm.cdf(z0 + z / (1 - a * z)))
    result = fastad.interval(y, s, measure=measure, method="bca", rng=3, confidence_level=0.9)
    assert [result.low, result.high] == pytest.approx(ends.tolist(), rel=1e-12)
    assert (result.method, result.n_resamples, result.n_undefined) == ("bca", 2000, 0)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=40),
    st.integers(-4, 4),
    st.floats(-2, 2),
    st.sampled_from([0.01, 0.1, 0.5, 0.9]),
)
def test_ends_lie_within_the_replicates_and_in_order(
    replicates: list[int], value: int, skewed: float, alpha: float
) -> None:
    drawn = np.array(replicates, float)
    low, high = percentile(drawn, alpha)
    assert drawn.min() <= low <= high <= drawn.max()
    assert basic(value, drawn, alpha) == (2 * value - high, 2 * value - low)
    low, high = bias_corrected(value, drawn, skewed, alpha)
    assert drawn.min() <= low <= high <= drawn.max()


def test_without_skewness_and_bias_bca_is_the_percentile_interval() -> None:
    drawn = np.random.default_rng(0).normal(size=999)
    middle = float(np.median(drawn))
    assert bias_corrected(middle, drawn, 0.0, 0.1) == pytest.approx(percentile(drawn, 0.1))


@pytest.mark.slow
@given(samples(both=True, max_size=10), st.integers(0, 99), st.sampled_from([0.2, 0.9, 0.99]))
def test_ends_are_numbers_within_the_range(sample: Any, seed: int, level: float) -> None:
    assume(2 <= sample.y.sum() <= len(sample.y) - 2)
    options: Any = {"rng": seed, "n_resamples": 40, "confidence_level": level}
    ranks = np.unique(sample.s, return_inverse=True)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
        for measure in ("auc", "ap", "tpr@0.3", "f1_best", "eer", "auc_w"):
            for method in ("bootstrap", "basic"):
                result = fastad.interval(sample.y, ranks, measure=measure, method=method, **options)
                low, high = bind(measure, {}).bounds
                assert low <= result.low <= result.high <= high


def hard_sample() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(2)
    y = rng.permutation(np.repeat([0, 1], [3000, 600]))
    return y, rng.normal(y, 1).round(2)


@pytest.mark.parametrize("measure", ["auc", "ap", "tpr@0.05"])
@pytest.mark.parametrize("stratified", [True, False])
def test_a_seed_makes_the_same_interval(measure: str, stratified: bool) -> None:
    """For any number of threads, any order of the rows, and a generator of that seed."""
    y, s = hard_sample()
    keywords: Any = {"method": "bootstrap", "n_resamples": 600, "stratified": stratified}
    expected = fastad.interval(y, s, measure=measure, rng=11, **keywords)
    for threads in (1, 2, 3):
        assert (
            fastad.interval(y, s, measure=measure, rng=11, n_threads=threads, **keywords)
            == expected
        )
    generator = np.random.default_rng(11)
    assert fastad.interval(y, s, measure=measure, rng=generator, **keywords) == expected
    # A generator goes on, a seed does not.
    assert fastad.interval(y, s, measure=measure, rng=generator, **keywords) != expected
    assert fastad.interval(y, s, measure=measure, rng=12, **keywords) != expected
    assert fastad.interval(y, s, measure=measure, rng=np.int32(11), **keywords) == expected
    order = np.random.default_rng(0).permutation(len(y))
    assert fastad.interval(y[order], s[order], measure=measure, rng=11, **keywords) == expected
    if measure != "auc":
        return
    assert fastad.interval(y, 3 * s - 7, measure=measure, rng=11, **keywords) == expected
    assert fastad.interval(y, s.astype(np.float32), measure=measure, rng=11, **keywords) == expected


def test_without_a_seed_intervals_differ() -> None:
    y, s = hard_sample()
    drawn = {
        fastad.interval(y, s, measure="auc", method="bootstrap", n_resamples=50) for _ in range(3)
    }
    assert len(drawn) == 3


def test_measures_share_their_replicates() -> None:
    """BoundMeasure together or one by one, by whatever method; and undefined ones harm no other."""
    y, s = hard_sample()
    counts = count(y, s)
    labels = ["auc", "ap", "tpr@0.01", "auc@0.05", "f1_best", "eer"]
    options = check_options("bootstrap", 0.9, 200, 7)
    bound = [*(bind(label, {}) for label in labels), bind("precision_at_k", {"k": 10**6})]
    together = intervals_of(IndependentSample.of(counts), bound, options)
    assert isinstance(together[-1], UndefinedMeasureError)
    for label, result in zip(labels, together, strict=False):
        alone = fastad.interval(
            y, s, measure=label, method="bootstrap", confidence_level=0.9, n_resamples=200, rng=7
        )
        assert result == alone


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        *(("best_f1", {"prevalence": prevalence}) for prevalence in (None, 0.002, 0.4)),
        *(("min_detection_cost", {"prevalence": each}) for each in (None, 0.002, 0.9)),
        *(("np_score", {"alpha": alpha}) for alpha in (0.001, 0.3)),
        *(("enrichment_factor", {"fraction": fraction}) for fraction in (0.001, 0.2, 1)),
    ],
)
@pytest.mark.parametrize(("n", "shift"), [(1, 1.0), (5, -3.0), (40, 1.0), (40, 4.0), (3000, 2.0)])
def test_a_measure_of_a_part_is_that_of_the_whole_curve(
    n: int, shift: float, measure: str, options: dict[str, Any]
) -> None:
    """Beside a measure that reads all of the curve, no part of it is drawn alone.

    One anomaly lies above all: without it the best F1 of few is much lower.
    """
    rng = np.random.default_rng(n)
    y = np.arange(20_000) < n
    s = np.round(rng.normal(size=20_000) + shift * y, 2)
    s[0] = 9.0
    best = bind(measure, options)
    ranking = IndependentSample(count(y, s))
    for stratified in (True, False):
        resamples = plan(ranking.counts, 50, random_key(3), stratified=stratified)
        alone = replicate_values(ranking, [best], resamples)[0]
        beside = replicate_values(ranking, [best, bind("auc", {})], resamples)[0]
        np.testing.assert_array_equal(alone, beside)


def test_a_measure_with_a_part_by_its_value_is_computed_once_a_replicate() -> None:
    """Whichever declares it: a copy of the best F1 under another name has its part, too."""
    rng = np.random.default_rng(0)
    y = np.arange(20_000) < 3000
    ranking = IndependentSample(count(y, rng.normal(size=20_000) + 2 * y))
    best, sizes = bind("best_f1", {}), []

    def compute(counts: OrderedCounts, **parameters: Any) -> float:
        sizes.append(counts.keys.shape[0])
        return float(best.measure.compute(counts, **parameters))

    copied = replace(best, measure=replace(best.measure, name="copy", compute=compute))
    resamples = plan(ranking.counts, 50, random_key(3), stratified=True)
    values = replicate_values(ranking, [copied], resamples)
    np.testing.assert_array_equal(values, replicate_values(ranking, [best], resamples))
    assert len(sizes) == 1 + 50
    assert max(sizes[1:]) < sizes[0] / 2


def test_many_threads_share_the_same_replicates() -> None:
    y, s = hard_sample()
    bound = [bind("ap", {}), bind("auc", {})]
    results = []
    for threads in (1, 2, 5):
        with thread_limit(threads):
            values, _ = replicates_of(y, s, bound, 700, 1)
        results.append(values.tobytes())
    assert len(set(results)) == 1


@pytest.mark.parametrize("measure", ["auc", "ap"])
def test_the_spread_of_replicates_is_that_of_delong(measure: str) -> None:
    y, s = hard_sample()
    values, _ = replicates_of(y, s, [bind(measure, {})], 3000, 0)
    spread = math.sqrt(fastad.uncertainty.delong_covariance(y, s, measure=measure).matrix[0, 0])
    # A deviation of 3 000 numbers is right to 1.3 %.
    assert np.std(values) == pytest.approx(spread, rel=0.06)
    value = fastad.uncertainty.delong_covariance(y, s, measure=measure).values[0]
    assert np.mean(values) == pytest.approx(value, abs=0.1 * spread)

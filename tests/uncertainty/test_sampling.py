"""Intervals and comparisons of samples in clusters, in time, and with real weights."""

import math
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.stats import t as student

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.errors import LowCoverageWarning
from fastad.measures import from_counts
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.uncertainty import at_least
from fastad.uncertainty.samples.dependence import (
    autocovariances,
    block_length,
    bootstrap_variance,
    df_of_sizes,
    long_run_variance,
)
from fastad.uncertainty.samples.sampling import DesignedSample, check_design
from tests.support import custom
from tests.support.uncertainty import correlated_detectors, degrees_of_sizes

RNG = np.random.default_rng(0)
N = 600
CLUSTERS = np.repeat(np.arange(60), 10)
Y = (RNG.random(60) < 0.3)[CLUSTERS] | (RNG.random(N) < 0.1)
S = np.round(RNG.normal(size=60)[CLUSTERS] + RNG.normal(size=N) + 1.5 * Y, 1)
MEASURES = ["auc", "ap", "auc@0.1", "tpr@0.05", "f1@0.1", "precision@k40", "best_f1", "eer"]


pytestmark = pytest.mark.filterwarnings("ignore:.*such data is not known")


def sample_of(y: Any = Y, s: Any = S, w: Any = None, **design: Any) -> DesignedSample:
    labels = check_labels(y, sample_weight=w)
    arguments = {"clusters": None, "blocks": None, **design}
    return DesignedSample.of(np.asarray(s), labels, check_design(**arguments, labels=labels))


def above(x: float, z: float) -> float:
    return 1.0 if x > z else 0.5 if x == z else 0.0


def obuchowski(y: Any, s: Any, clusters: Any) -> float:
    """Return the variance of the area as section 2 of the paper writes it, pair by pair."""
    anomalies = [(x, c) for x, label, c in zip(s, y, clusters, strict=True) if label]
    normals = [(x, c) for x, label, c in zip(s, y, clusters, strict=True) if not label]
    m, n = len(anomalies), len(normals)
    v10 = [(sum(above(x, z) for z, _ in normals) / n, c) for x, c in anomalies]
    v01 = [(sum(above(x, z) for x, _ in anomalies) / m, c) for z, c in normals]
    area = sum(v for v, _ in v10) / m
    names = sorted(set(clusters))
    of_anomalies = [sum(v - area for v, c in v10 if c == name) for name in names]
    of_normals = [sum(v - area for v, c in v01 if c == name) for name in names]
    i10, i01, i = len({c for _, c in v10}), len({c for _, c in v01}), len(names)
    s10 = i10 / ((i10 - 1) * m) * sum(v * v for v in of_anomalies)
    s01 = i01 / ((i01 - 1) * n) * sum(v * v for v in of_normals)
    s11 = i / (i - 1) * sum(a * b for a, b in zip(of_anomalies, of_normals, strict=True))
    return s10 / m + s01 / n + 2 * s11 / (m * n)


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 15)), min_size=14, max_size=50
    )
)
def test_variance_of_an_area_is_obuchowskis(rows: list[tuple[bool, int, int]]) -> None:
    y, s, clusters = map(np.array, zip(*rows, strict=True))
    assume(len(set(clusters.tolist())) >= 10)
    assume(min(len(set(clusters[y == label])) for label in (0, 1)) >= 2)
    assume(len(set(clusters.tolist())) < len(y))
    expected = obuchowski(y.tolist(), s.tolist(), clusters.tolist())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowCoverageWarning)
        result = fastad.interval(y, s, measure="auc", method="delong", clusters=clusters)
    assert result.standard_error**2 == pytest.approx(max(expected, 0.0), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("measure", ["auc", "ap", "tpr@0.05"])
def test_a_cluster_for_each_row_changes_nothing(measure: str) -> None:
    plain = fastad.interval(Y, S, measure=measure, rng=0)
    assert repr(fastad.interval(Y, S, measure=measure, rng=0, clusters=RNG.permutation(N))) == repr(
        plain
    )
    options: dict[str, Any] = {"measure": measure, "rng": 0, "n_resamples": 50}
    other = np.sin(S)
    assert repr(fastad.compare(Y, S, other, clusters=np.arange(N), **options)) == repr(
        fastad.compare(Y, S, other, **options)
    )


def test_equal_weights_and_blocks_of_one_row_are_independent_rows() -> None:
    plain = fastad.interval(Y, S, measure="auc", method="delong")
    weighted = fastad.interval(Y, S, measure="auc", method="delong", sample_weight=np.full(N, 0.5))
    assert weighted.value == plain.value
    assert weighted.standard_error == pytest.approx(plain.standard_error, rel=1e-12)
    # Without the correction by n - 1, as draws have none.
    blocks = fastad.interval(Y, S, measure="auc", method="delong", blocks=1)
    assert blocks.standard_error == pytest.approx(plain.standard_error, rel=0.01)


BENEFIT = from_counts("net_benefit", custom.net_benefit, at="threshold", takes_threshold=True)


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        *((key, {}) for key in ("auc", "ap", "auc_pr", "auc_prg", "rie@20", "bedroc@20")),
        (BENEFIT, {"threshold": 0.3}),
        ("auc_w", {"quadrature": "exact"}),
    ],
    ids=lambda x: getattr(x, "name", None),
)
def test_the_ratio_of_the_classes_varies_between_clusters(
    measure: Any, options: dict[str, Any]
) -> None:
    """Measures that depend on it vary with it, as replicates of clusters do."""
    options = {"measure": measure, "clusters": CLUSTERS, **options}
    result = fastad.interval(Y, S, method="delong", **options)
    drawn = fastad.interval(Y, S, method="bootstrap", n_resamples=1000, rng=0, **options)
    assert result.standard_error == pytest.approx(drawn.standard_error, rel=0.15)


@pytest.mark.parametrize("left_out", ["groups", "weights", "missing scores"])
def test_clusters_of_one_row_each_among_the_rows_in_use_change_nothing(left_out: str) -> None:
    """Each user has one row of each day, say: the rows of a day are independent."""
    n, rows = Y.shape[0], np.arange(2 * Y.shape[0])
    y, s = np.tile(Y, 2), np.tile(S, 2).astype(np.float64)
    options: dict[str, Any] = {"clusters": rows % n, "confidence_level": 0.9, "rng": 0}
    options |= {"measures": ["auc", "tpr@0.05"], "n_resamples": 99}
    if left_out == "groups":
        result = fastad.evaluate(y, s, groups=rows // n, **options)[0]["score"]
    elif left_out == "weights":
        result = fastad.evaluate(y, s, sample_weight=rows < n, **options)["score"]
    else:
        s[n:] = np.nan
        result = fastad.evaluate(y, s, nan_policy="omit", **options)["score"]
    expected = fastad.evaluate(Y, S, **options | {"clusters": None})["score"]
    assert result.intervals == expected.intervals


def test_names_of_clusters_do_not_matter() -> None:
    names = np.array([f"user {c}" for c in RNG.permutation(60)])[CLUSTERS]
    expected = fastad.interval(Y, S, measure="ap", clusters=CLUSTERS)
    rows = RNG.permutation(N)
    for clusters in (names, CLUSTERS * 1e9, names.astype(object)):
        result = fastad.interval(Y[rows], S[rows], measure="ap", clusters=clusters[rows])
        assert result.low == pytest.approx(expected.low, rel=1e-12)
        assert result.high == pytest.approx(expected.high, rel=1e-12)


@pytest.mark.parametrize("measure", ["auc", "ap", "tpr@0.05"])
def test_whole_weights_of_clusters_of_one_row_are_no_repeats(measure: str) -> None:
    """Twice as large weights say no more: the same interval as from real weights."""
    weights = np.random.default_rng(1).choice([2, 20], N)
    rows: dict[str, Any] = {"clusters": np.arange(N), "measure": measure, "rng": 0}
    once, twice, real = (
        fastad.interval(Y, S, sample_weight=each, **rows)
        for each in (weights, 2 * weights, weights * 0.37)
    )
    repeated = fastad.interval(Y, S, sample_weight=weights, measure=measure, rng=0)
    assert (once.low, once.high) == pytest.approx((twice.low, twice.high))
    assert once.sampling is not None
    if measure != "tpr@0.05":  # drawn: rows of equal weights are drawn alike
        assert (once.low, once.high) == pytest.approx((real.low, real.high))
    assert once.high - once.low > 2 * (repeated.high - repeated.low)


def test_whole_weights_repeat_rows_of_a_cluster() -> None:
    w = RNG.integers(0, 4, N)
    rows = np.repeat(np.arange(N), w)
    for measure in ("auc", "tpr@0.05"):
        options: dict[str, Any] = {"measure": measure, "rng": 0, "n_resamples": 50}
        result = fastad.interval(Y, S, sample_weight=w, clusters=CLUSTERS, **options)
        expected = fastad.interval(Y[rows], S[rows], clusters=CLUSTERS[rows], **options)
        assert result.low == pytest.approx(expected.low, rel=1e-12)
        assert result.high == pytest.approx(expected.high, rel=1e-12)
        assert result.sampling is not None
        assert expected.sampling is not None
        effects = result.sampling.design_effect, expected.sampling.design_effect
        assert effects[0] == pytest.approx(effects[1], rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*fewer than 5 beyond the operating point")
@pytest.mark.parametrize("measure", ["auc@0.02", "tpr@0.05"])
def test_whole_weights_repeat_rows_of_a_comparison_in_clusters(measure: str) -> None:
    w = RNG.integers(0, 6, N)
    rows = np.repeat(np.arange(N), w)
    options: dict[str, Any] = {"measure": measure, "rng": 0, "n_resamples": 200}
    b = S + RNG.normal(size=N)
    for compared in (fastad.compare, partial(fastad.uncertainty.noninferiority, margin=0.1)):
        result = compared(Y, S, b, sample_weight=w, clusters=CLUSTERS, **options)
        expected = compared(Y[rows], S[rows], b[rows], clusters=CLUSTERS[rows], **options)
        for name in ("low", "high", "p_value"):
            assert getattr(result, name) == pytest.approx(getattr(expected, name), rel=1e-9)


@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
def test_whole_weights_repeat_rows_of_a_comparison(method: Any) -> None:
    w = RNG.integers(0, 4, N)
    rows = np.repeat(np.arange(N), w)
    options: dict[str, Any] = {"measure": "auc", "method": method, "rng": 0, "n_resamples": 40}
    b = S + RNG.normal(size=N)
    assert repr(fastad.compare(Y, S, b, sample_weight=w, **options)) == repr(
        fastad.compare(Y[rows], S[rows], b[rows], **options)
    )
    together = fastad.compare_all(Y, {"a": S, "b": b}, sample_weight=w, **options)
    assert together["a", "b"].p_value == fastad.compare(Y, S, b, sample_weight=w, **options).p_value


@pytest.mark.parametrize("design", [{"clusters": CLUSTERS}, {"blocks": 7}, {"w": RNG.random(N)}])
def test_replicates_are_measures_of_the_rows_that_are_drawn(design: dict[str, Any]) -> None:
    sample = sample_of(**design)
    measures = [bind(name, {}) for name in MEASURES]
    values = sample.replicates(measures, 5, np.uint64(3))
    weights = design.get("w", np.ones(N, np.int64))
    for replicate in range(5):
        times = sample._draw(np.uint64(3), replicate)[sample.units]
        assert len(times) == N
        for bound, value in zip(measures, values[:, replicate], strict=True):
            table = fastad.evaluate(Y, S, measures=[bound], sample_weight=times * weights)
            assert value == pytest.approx(table["score"][bound.key], rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("design", [{"clusters": CLUSTERS}, {"blocks": 2}])
def test_threads_change_no_bit(design: dict[str, Any]) -> None:
    results = {
        repr(
            fastad.interval(Y, S, measure="tpr@0.05", rng=1, n_resamples=60, n_threads=n, **design)
        )
        for n in (1, 2, 3)
    }
    assert len(results) == 1


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=30), st.floats(1, 9))
def test_long_run_variance_is_that_of_the_definition(values: list[int], length: float) -> None:
    series = np.array(values, float)
    n, centred = len(values), series - series.mean()
    covariances = [float(centred[: n - k] @ centred[k:]) / n for k in range(n)]
    np.testing.assert_allclose(autocovariances(series), covariances, atol=1e-9)
    p = 1 / length

    def of_blocks(p: float) -> float:
        weights = [(1 - k / n) * (1 - p) ** k + k / n * (1 - p) ** (n - k) for k in range(1, n)]
        return n * (covariances[0] + 2 * float(np.dot(weights, covariances[1:])))

    whole, third = of_blocks(p), of_blocks(min(3 * p, 1.0))
    assert bootstrap_variance(series, length) == pytest.approx(max(whole, 0.0), abs=1e-6)
    expected = max(2 * whole - third, whole, 0.0)
    assert long_run_variance(series, length) == pytest.approx(expected, abs=1e-6)


def test_the_bias_of_blocks_is_that_of_blocks_of_a_third_of_their_length() -> None:
    """A series that remembers 0.9 of its last value varies 19 times as much."""
    rng = np.random.default_rng(4)
    ratios = []
    for _ in range(40):
        series = lfilter([np.sqrt(0.19)], [1, -0.9], rng.normal(size=4500))[500:]
        ratios.append(
            [f(series, 25.0) / (19 * 4000) for f in (bootstrap_variance, long_run_variance)]
        )
    biased, corrected = np.mean(ratios, axis=0)
    assert 0.6 < biased < 0.8
    assert 0.9 < corrected < 1.1


def test_draws_of_blocks_have_that_variance() -> None:
    rng = np.random.default_rng(2)
    n, length = 400, 12.0
    series = np.convolve(rng.normal(size=n + 20), np.ones(21), "valid")
    sample = sample_of(np.arange(n) % 2, series, blocks=12)
    draws = np.array([sample._draw(np.uint64(5), i) for i in range(4000)])
    assert (draws.sum(axis=1) == n).all()
    assert (draws >= 0).all()
    # A variance of 4 000 draws has a relative standard error of 2.2 %.
    expected = bootstrap_variance(series, length)
    assert np.var(draws @ series) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("memory", [0.5, 0.9])
def test_length_of_blocks_is_near_the_best_one_of_a_known_series(memory: float) -> None:
    rng = np.random.default_rng(3)
    n = 20_000
    noise, series = rng.normal(size=n + 500), np.zeros(n + 500)
    for t in range(1, n + 500):
        series[t] = memory * series[t - 1] + noise[t]
    # Politis and White 2004, with the covariances of the autoregression.
    best = (2 * memory / (1 - memory**2)) ** (2 / 3) * n ** (1 / 3)
    assert block_length(series[500:]) == pytest.approx(best, rel=0.5)


def test_rows_that_forget_at_once_need_no_blocks() -> None:
    assert block_length(np.random.default_rng(4).normal(size=10_000)) < 8
    assert block_length(np.zeros(50)) == 1


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("design", [{"clusters": CLUSTERS}, {"blocks": 10}])
@pytest.mark.parametrize("measure", ["auc", "tpr@0.1"])
def test_all_pairs_are_compared_as_one_by_one(design: dict[str, Any], measure: str) -> None:
    scores: dict[str, Any] = {"a": S, "b": S + RNG.normal(size=N), "c": -S}
    options: dict[str, Any] = {"measure": measure, "rng": 0, "n_resamples": 80, **design}
    together = fastad.compare_all(Y, scores, **options)
    for (a, b), result in together.items():
        one = fastad.compare(Y, scores[a], scores[b], **options)
        assert (one.low, one.high, one.p_value) == (result.low, result.high, result.p_value)
        assert (result.p_value <= 0.05) == (not result.low <= 0 <= result.high)


def test_a_detector_does_not_differ_from_itself() -> None:
    for method in ("delong", "bootstrap"):
        result = fastad.compare(
            Y, S, S, measure="auc", method=method, clusters=CLUSTERS, rng=0, n_resamples=60
        )
        assert (result.difference, result.p_value) == (0, 1)


def test_the_variance_of_a_difference_is_that_of_the_differences() -> None:
    """A detector against one whose scores are all equal has the variance of its own area."""
    alone = fastad.interval(Y, S, measure="auc", method="delong", clusters=CLUSTERS)
    result = fastad.compare(Y, S, np.zeros(N), measure="auc", method="delong", clusters=CLUSTERS)
    assert result.high - result.low == pytest.approx(
        2 * (result.high - result.difference), rel=1e-12
    )
    assert result.high - result.difference == pytest.approx(
        (alone.high - alone.value) if alone.high < 1 else (alone.value - alone.low), rel=1e-9
    )


@pytest.mark.parametrize("design", [{"clusters": CLUSTERS}, {"blocks": 5}, {"blocks": "auto"}])
def test_tables_have_the_intervals_of_the_function(design: dict[str, Any]) -> None:
    options: dict[str, Any] = {"rng": 0, "n_resamples": 60, **design}
    scores = {"a": S, "b": -S}
    table = fastad.evaluate(Y, scores, measures=MEASURES, confidence_level=0.9, **options)
    for name, values in scores.items():
        for key in ("auc", "tpr@0.05"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LowCoverageWarning)
                one = fastad.interval(Y, values, measure=key, confidence_level=0.9, **options)
            assert repr(table[name].intervals[key]) == repr(one)
    assert "design effect" in str(table)
    halves = fastad.evaluate(
        Y, S, measures="auc", confidence_level=0.9, groups=np.arange(N) >= 300, **options
    )
    if "clusters" in design:
        with pytest.warns(LowCoverageWarning, match="30 clusters"):
            one = fastad.interval(
                Y[:300],
                S[:300],
                measure="auc",
                confidence_level=0.9,
                rng=0,
                clusters=CLUSTERS[:300],
            )
        assert halves[False]["score"].intervals["auc"].low == one.low


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": CLUSTERS[1:]}, "clusters must have one value for each label"),
        ({"clusters": np.where(Y, np.nan, 1.0)}, "clusters must not have missing values"),
        ({"clusters": CLUSTERS, "blocks": 5}, "blocks must not be given with clusters"),
        ({"blocks": N + 1}, "blocks must be at most the number of rows, 600; found 601"),
        ({"blocks": 0}, "blocks must be at least 1; found 0"),
        ({"blocks": "long"}, "blocks must be an integer or 'auto'; found 'long'"),
        (
            {"clusters": CLUSTERS, "method": "newcombe"},
            "method must be one of 'auto', 'combined', 'logit'",
        ),
        ({"clusters": CLUSTERS, "contamination": 0.01}, "contamination must not be given"),
        ({"sample_weight": S / 7 + 9, "method": "fiducial"}, "method must be one of"),
    ],
)
def test_bad_designs_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        fastad.interval(Y, S, **{"measure": "auc", **options})


def test_too_few_clusters() -> None:
    few = np.arange(N) % 9
    with pytest.raises(UndefinedMeasureError, match="needs 10 clusters; found 9"):
        fastad.interval(Y, S, measure="auc", clusters=few)
    with pytest.raises(UndefinedMeasureError, match="needs 10 blocks; found 6"):
        fastad.compare(Y, S, -S, measure="auc", blocks=100)
    one = np.where(Y, 0, np.arange(N) % 20)
    with pytest.raises(UndefinedMeasureError, match="anomalies in two clusters at least"):
        fastad.interval(Y, S, measure="auc", clusters=one)
    with pytest.warns(LowCoverageWarning, match="with 20 clusters, fewer than 50") as caught:
        fastad.interval(Y, S, measure="auc", clusters=np.arange(N) % 20)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.filterwarnings("ignore:.*the interval has no width")
@pytest.mark.parametrize("method", ["logit", "delong", "bootstrap", "basic"])
def test_extreme_confidence_levels(method: Any) -> None:
    for level in (0.001, 1e-17, 1 - 2**-53):
        result = fastad.interval(
            Y,
            S,
            measure="auc",
            method=method,
            clusters=CLUSTERS,
            confidence_level=level,
            n_resamples=20,
            rng=0,
        )
        assert 0 <= result.low <= result.value <= result.high <= 1
        assert result.confidence_level == level


def test_tables_refuse_what_nothing_allows_for() -> None:
    with pytest.raises(InvalidInputError, match="confidence_level must be given with clusters"):
        fastad.evaluate(Y, S, clusters=CLUSTERS)
    with pytest.raises(InvalidInputError, match="must not be given with clusters or blocks"):
        fastad.evaluate(Y, S, clusters=CLUSTERS, confidence_level=0.9, contamination=0.01)
    with pytest.raises(InvalidInputError, match="not exchangeable one by one"):
        fastad.compare(Y, S, -S, measure="auc", method="permutation", clusters=CLUSTERS)


@given(st.lists(st.integers(1, 400), min_size=2, max_size=30))
def test_degrees_of_sizes_are_those_of_the_quadratic_form(sizes: list[int]) -> None:
    expected = degrees_of_sizes(sizes)
    assert df_of_sizes(np.array(sizes, float)) == pytest.approx(expected, rel=1e-5)
    assert df_of_sizes(np.full(len(sizes), 0.1)) == len(sizes) - 1


@pytest.mark.parametrize("measure", ["auc", "ap", "tpr@0.05"])
@pytest.mark.parametrize(
    "design",
    [
        {"clusters": np.where(np.arange(N) < N // 2, 0, np.arange(N) % 100)},
        {"sample_weight": np.where(np.arange(N) == 7, N / 2, 0.5)},
    ],
    ids=["one cluster with half of the rows", "one row with half of the weight"],
)
def test_one_unit_with_half_of_a_class_is_warned_of(measure: str, design: Any) -> None:
    """The scores are without any pattern, and their sums vary as if there were many units."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        with pytest.warns(LowCoverageWarning, match="not known"):
            fastad.interval(
                Y, rng.normal(size=N) + Y, measure=measure, rng=0, n_resamples=50, **design
            )


def test_a_comparison_has_the_degrees_of_the_sizes() -> None:
    half = np.where(np.arange(N) < N // 2, 0, np.arange(N) % 100)
    a, b = (sample_of(s=s, clusters=half) for s in (S, S + RNG.normal(size=N)))
    auc = bind("auc", {})
    variance = a.variances(a.contributions(auc) - b.contributions(auc))
    degrees = min(degrees_of_sizes(np.bincount(half[label == Y])) for label in (0, 1))
    assert variance.df <= degrees + 1e-6
    result = fastad.compare(Y, S, np.zeros(N), measure="auc", method="delong", clusters=half)
    alone = a.variances(a.contributions(auc))
    assert result.difference - result.low == pytest.approx(
        student.ppf(0.975, alone.df) * math.sqrt(alone.total), rel=1e-6
    )


@pytest.mark.evidence
def test_intervals_of_unequal_clusters_cover_or_warn() -> None:
    covered, n_silent, n_sets = 0, 0, 150
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        sizes = np.minimum(3 * (1 + rng.pareto(2.0, 150)), 400).astype(int)
        clusters = np.repeat(np.arange(150), sizes)
        y = rng.random(clusters.shape[0]) < 0.2
        noise = 2 * rng.normal(size=150)[clusters] + rng.normal(size=clusters.shape[0])
        s = noise / math.sqrt(5) + 2 * y
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = fastad.interval(y, s, measure="auc", clusters=clusters)
        n_silent += not caught
        covered += not caught and result.low <= 0.9213503964748574 <= result.high
    assert n_silent >= 30
    # At least 92 % but for two standard deviations.
    assert covered >= 0.92 * n_silent - 2 * math.sqrt(0.08 * 0.92 * n_silent)


@pytest.mark.evidence
def test_intervals_cover_where_independent_rows_would_not() -> None:
    truth = 0.9213503964748574  # of two normal distributions that lie 2 apart
    assert truth == pytest.approx(0.5 * math.erfc(-1.0), abs=1e-12)
    hits = np.zeros(2)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        clusters = np.repeat(np.arange(150), 20)
        y = (rng.random(150) < 0.2)[clusters]
        noise = rng.normal(size=150)[clusters] + rng.normal(size=3000)
        s = noise / math.sqrt(2) + 2 * y
        for i, design in enumerate((clusters, None)):
            result = fastad.interval(y, s, measure="auc", method="logit", clusters=design)
            hits[i] += result.low <= truth <= result.high
    # The first is at least 92 % but for three standard deviations of 200.
    assert hits[0] >= 175
    assert hits[1] <= 130


def test_detectors_of_support_are_compared_within_blocks() -> None:
    y, scores = correlated_detectors(3, 60, 140, [0.5, 1.5])
    result = fastad.compare(y, scores[0], scores[1], measure="auc", blocks=4)
    assert result.sampling is not None
    assert result.sampling.kind == "blocks"


@pytest.mark.parametrize(
    ("n_clusters", "key", "has_note"),
    [
        (150, "auc", False),
        (150, "tpr@0.01", True),
        (150, "auc@0.05", False),
        (51, "ap", False),
        (51, "auc@0.09", True),
    ],
)
def test_the_note_of_few_clusters_depends_on_their_sizes_alone(
    n_clusters: int, key: str, has_note: bool
) -> None:
    clusters = np.repeat(np.arange(n_clusters), 8)
    y = np.arange(8 * n_clusters) % 4 == 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        # Now and then a cluster far above the others: few degrees of freedom by the scores.
        level = rng.normal(size=n_clusters) + 5 * (rng.random(n_clusters) < 0.02)
        scores = 2 * y + level[clusters] + rng.normal(size=y.shape[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowCoverageWarning)
            result = fastad.interval(
                y, scores, measure=key, clusters=clusters, n_resamples=50, rng=0
            )
        assert (result.reliability_note is not None) == has_note


@pytest.mark.slow
@pytest.mark.parametrize("design", ["weights", "clusters"])
def test_few_anomalies_that_decide_are_allowed_for_as_without_a_design(design: str) -> None:
    """Of heavy tails a fifth of the intervals lay above the area, without a word."""
    y, rng = np.repeat([1, 0], [60, 600]), np.random.default_rng(0)
    n_tried, n_above, n_passed = 40, 0, 0
    true = 0.9704  # of t with 2 degrees of freedom, shifted by 6
    for _ in range(n_tried):
        s = rng.standard_t(2, 660) + 6 * y
        options: dict[str, Any] = {"clusters": rng.permutation(660) // 2}
        if design == "weights":
            options = {"sample_weight": rng.choice([1.8, 2.2], 660)}
        n_above += fastad.interval(y, s, measure="auc", **options).low > true
        n_passed += at_least(y, s, measure="auc", value=true, **options).verdict == "pass"
    # In at most 2.5 and 5 %: more than so many have chances of 0.02 and 0.003.
    assert n_above <= 3
    assert n_passed <= 6


@pytest.mark.slow
def test_intervals_of_short_series_cover() -> None:
    """Both classes and scores remember 0.9 of their last value: few runs of anomalies."""
    truth = 0.9213503964748574  # of two normal distributions that lie 2 apart
    n_covered, n_sets = 0, 150
    for seed in range(n_sets):
        noise = np.random.default_rng(seed).normal(size=(2, 3500))
        hidden, s = lfilter([math.sqrt(0.19)], [1, -0.9], noise)[:, 500:]
        y = hidden > 1.6448536269514722  # of a twentieth
        result = fastad.interval(y, s + 2 * y, measure="auc", method="logit", blocks="auto")
        n_covered += result.low <= truth <= result.high
    # At least 92 % but for two standard deviations.
    assert n_covered >= 0.92 * n_sets - 2 * math.sqrt(0.08 * 0.92 * n_sets)


@pytest.mark.parametrize("length", [2, 5, 20])
def test_a_series_is_decided_by_runs_of_anomalies_and_blocks_of_normals(length: int) -> None:
    y = np.arange(1000) % 100 < 5
    s = RNG.normal(size=1000)
    sample = sample_of(y, s, blocks=length)
    # A run of five is two blocks of two.
    assert sample.deciding_sizes == pytest.approx((10 * max(5 // length, 1), 950 / length))
    # Alone, every row is a unit.
    assert sample_of(y, s, blocks=1).deciding_sizes == (50, 950)


def test_the_variance_of_a_series_has_fewer_degrees_of_freedom_by_longer_blocks() -> None:
    """Of n / (the sum of the squares of all weights of lags), both ways and at lag 0."""
    auc, y, s = bind("auc", {}), np.arange(1000) % 7 == 0, RNG.normal(size=1000)
    degrees = []
    for length in (1, 2, 5, 20, 80):
        sample = sample_of(y, s, blocks=length)
        degrees.append(sample.variances(sample.contributions(auc)).df)

        def kept(p: float) -> Any:
            k = np.arange(1, 1000)
            return (1 - k / 1000) * (1 - p) ** k + k / 1000 * (1 - p) ** (1000 - k)

        weights = 2 * kept(1 / length) - kept(min(3 / length, 1.0))
        expected = math.inf if length == 1 else 1000 / (1 + 2 * np.sum(weights**2))
        assert degrees[-1] == pytest.approx(expected)
    assert all(math.isfinite(each) for each in degrees[1:])
    assert degrees == sorted(degrees, reverse=True)


def test_neighbours_that_depend_negatively_leave_a_variance() -> None:
    """Lag windows alone would leave hardly any; it is at least that of replicates by blocks."""
    for seed in range(20):
        series = lfilter([1], [1, 0.5], np.random.default_rng(seed).normal(size=1000))
        for length in (2.0, 3.0, 10.0):
            assert long_run_variance(series, length) >= bootstrap_variance(series, length) > 0

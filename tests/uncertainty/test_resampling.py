"""The bootstrap: its law by enumeration, its draws, and what becomes of replicates."""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
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
from fastad._kernels.resampling import resample
from fastad.measures.measure import BoundMeasure
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from fastad.ordering.labels import check_labels
from fastad.uncertainty.bootstrap import (
    Ranking,
    Resamples,
    acceleration,
    basic,
    bias_corrected,
    percentile,
    plan,
    replicate_values,
)
from fastad.uncertainty.influence import influence
from fastad.uncertainty.intervals import check_interval_options, intervals_of
from fastad.uncertainty.paired import rank_detectors
from tests.support import oracles
from tests.support.operating import domain, options_of
from tests.support.strategies import samples

# A test of fixed numbers fails by chance as often as its p-value says: 1 in 1 000, once for all.
LUCK = 1e-3


def replicates_of(
    y: Any,
    s: Any,
    asked: Sequence[BoundMeasure],
    n_resamples: int,
    seed: int,
    *,
    stratified: bool = True,
) -> tuple[npt.NDArray[np.float64], Resamples]:
    counts = count(y, s)
    resamples = plan(counts, n_resamples, random_key(seed), stratified=stratified)
    return replicate_values(Ranking(counts), asked, resamples), resamples


def times_drawn(resamples: Resamples, replicate: int, n: int, m: int) -> Sequence[Any]:
    """How often each anomaly and each normal point is in a replicate."""
    stream = np.uint64(bits(resamples.key, replicate))
    drawn = []
    for of_class, size in enumerate((n, m)):
        times = np.empty(size, np.uint8)
        key = np.uint64(bits(stream, of_class))
        n_drawn = int(resamples.n_drawn[replicate, of_class])
        resample.draw(key, n_drawn, times, np.empty(7, np.int64))
        drawn.append(times)
    return drawn


# --- The draws ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "n_draws"), [(1, 1), (1, 4), (2, 3), (3, 3), (3, 4), (4, 5)])
def test_draws_are_multinomial(n: int, n_draws: int) -> None:
    """Every way to draw, by chi-square."""
    block, times = np.empty(512, np.int64), np.empty(n, np.uint8)
    observed: Counter[tuple[int, ...]] = Counter()
    n_tried = 20_000
    for i in range(n_tried):
        resample.draw(np.uint64(bits(np.uint64(n), i)), n_draws, times, block)
        assert times.sum() == n_draws
        observed[tuple(times.tolist())] += 1
    expected = {
        way: math.factorial(n_draws)
        / math.prod(math.factorial(k) for k in way)
        / n**n_draws
        * n_tried
        for way in product(range(n_draws + 1), repeat=n)
        if sum(way) == n_draws
    }
    assert set(observed) <= set(expected)
    if len(expected) > 1:
        test = stats.chisquare([observed[way] for way in expected], list(expected.values()))
        assert test.pvalue > LUCK


@pytest.mark.parametrize("n_draws", [999, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 5001])
def test_every_point_comes_as_often_as_any_other(n_draws: int) -> None:
    """Numbers of draws around those that fill the block of random numbers."""
    n, n_tried = 1000, 400
    block, times = np.empty(512, np.int64), np.empty(n, np.uint8)
    total, squares = np.zeros(n, np.int64), 0.0
    for i in range(n_tried):
        resample.draw(np.uint64(bits(np.uint64(n_draws), i)), n_draws, times, block)
        assert times.sum() == n_draws
        total += times
        squares += float(np.sum((times - n_draws / n) ** 2))
    assert stats.chisquare(total).pvalue > LUCK
    # A multiplicity has the variance of a binomial number.
    variance = n_draws / n * (1 - 1 / n)
    assert squares / (n * n_tried) == pytest.approx(variance, rel=0.02)


@given(st.integers(1, 50), st.integers(0, 3000), st.integers(0, 2**64 - 1), st.integers(1, 600))
def test_draws_do_not_depend_on_the_room(n: int, n_draws: int, key: int, room: int) -> None:
    assume(n_draws < 100 * n)
    one, other = np.empty(n, np.uint8), np.empty(n, np.uint8)
    resample.draw(np.uint64(key), n_draws, one, np.empty(512, np.int64))
    resample.draw(np.uint64(key), n_draws, other, np.empty(room, np.int64))
    assert one.tolist() == other.tolist()
    assert one.sum() == n_draws


def test_bits_are_those_of_splitmix64() -> None:
    """The first numbers of the published generator from the state 1234567."""
    # Steele, Lea and Flood 2014; the numbers are those of Rosetta Code's task "splitmix64".
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    expected += [4593380528125082431, 16408922859458223821]
    assert [int(bits(np.uint64(1234567), i)) for i in range(5)] == expected


def test_coins_are_fair_and_independent() -> None:
    flips = np.empty(200, np.uint8)
    heads, pairs = np.zeros(200), np.zeros(199)
    for i in range(4000):
        resample.flip(np.uint64(bits(np.uint64(3), i)), flips)
        heads += flips
        pairs += flips[1:] == flips[:-1]
    for found in (heads, pairs):
        z = (found - 2000) / math.sqrt(1000)
        assert stats.kstest(z, "norm").pvalue > LUCK


# --- The law of replicates ----------------------------------------------------------------------


def law(
    y: Sequence[int], s: Sequence[float], value: Callable[[oracles.Rows], Fraction]
) -> dict[Fraction, Fraction]:
    """Every resample of each class, with its probability."""
    data = oracles.rows(y, s)
    anomalies, normals = ([row for row in data if row[0] == label] for label in (1, 0))
    found: Counter[Fraction] = Counter()
    for first in product(anomalies, repeat=len(anomalies)):
        for second in product(normals, repeat=len(normals)):
            found[value([*first, *second])] += 1
    total = sum(found.values())
    return {x: Fraction(times, total) for x, times in found.items()}


def tpr_at_a_third(data: oracles.Rows) -> Fraction:
    return oracles.tpr_at_fpr(data, Fraction(1, 3), "linear")


def tpr_at_a_quarter(data: oracles.Rows) -> Fraction:
    return oracles.tpr_at_fpr(data, Fraction(1, 4), "conservative")


@pytest.mark.parametrize(
    ("y", "s"),
    [
        ([0, 0, 0, 1, 1], [1, 2, 3, 2.5, 4]),
        ([0, 0, 0, 1, 1], [1, 2, 3, 2, 4]),
        ([0, 0, 0, 1, 1, 1], [1, 4, 3, 2, 5, 3.5]),
        ([1, 0, 1, 0, 1, 0], [1, 1, 2, 2, 3, 3]),
        ([1, 0, 1, 0, 0], [1, 1, 1, 0, 0]),
    ],
)
def test_replicates_have_the_law_of_all_resamples(y: list[int], s: list[float]) -> None:
    cases: list[tuple[BoundMeasure, Callable[[oracles.Rows], Fraction]]] = [
        (bind("auc", {}), oracles.roc_auc),
        (bind("ap", {}), oracles.average_precision),
        (bind("tpr_at_fpr", {"fpr": Fraction(1, 3)}), tpr_at_a_third),
        (bind("tpr_at_fpr", {"fpr": 0.25, "interpolation": "conservative"}), tpr_at_a_quarter),
    ]
    n_resamples = 20_000
    together, _ = replicates_of(y, s, [asked for asked, _ in cases], n_resamples, 1)
    alone, _ = replicates_of(y, s, [cases[0][0]], n_resamples, 1)
    assert alone[0].tobytes() == together[0].tobytes()
    for (_, value), found in zip(cases, together, strict=True):
        expected = law(y, s, value)
        # Two fractions may be the same float; none here are.
        by_float = {float(x): p for x, p in expected.items()}
        assert len(by_float) == len(expected)
        places = {x: i for i, x in enumerate(by_float)}
        nearest = [min(places, key=lambda x: abs(x - one)) for one in np.unique(found).tolist()]
        assert np.abs(np.array(nearest) - np.unique(found)).max() < 1e-14
        renamed = dict(zip(np.unique(found).tolist(), nearest, strict=True))
        observed = Counter(renamed[x] for x in found.tolist())
        # Rare values together, so that each cell expects five.
        rare = [x for x, p in by_float.items() if p * n_resamples < 5]
        usual = [x for x in by_float if x not in rare]
        counts = [observed[x] for x in usual]
        means = [float(by_float[x]) * n_resamples for x in usual]
        if rare:
            counts.append(sum(observed[x] for x in rare))
            means.append(n_resamples - sum(means))
        if len(counts) > 1:
            assert stats.chisquare(counts, means).pvalue > LUCK


def test_without_strata_the_number_of_anomalies_is_binomial() -> None:
    y, s = [0, 0, 0, 1, 1], [1, 3, 2, 2, 4]
    n_resamples = 20_000
    values, resamples = replicates_of(y, s, [bind("auc", {})], n_resamples, 5, stratified=False)
    n_anomalies = resamples.n_drawn[:, 0]
    assert (resamples.n_drawn.sum(axis=1) == 5).all()
    expected = stats.binom(5, 0.4).pmf(range(6)) * n_resamples
    assert stats.chisquare(np.bincount(n_anomalies, minlength=6), expected).pvalue > LUCK
    # A replicate without one of the classes has no area.
    lacks = (n_anomalies == 0) | (n_anomalies == 5)
    assert np.isnan(values[0]).tolist() == lacks.tolist()
    # Given the numbers, the law is that of draws from each class.
    both = n_anomalies == 2
    by_value = law([0, 0, 0, 1, 1], s, oracles.roc_auc)
    means = {float(x): float(p) * both.sum() for x, p in by_value.items()}
    observed = Counter(values[0][both].tolist())
    assert set(observed) == set(means)
    assert stats.chisquare([observed[x] for x in means], list(means.values())).pvalue > LUCK


@pytest.mark.parametrize("measure", ["auc", "tpr@0.4"])
def test_undefined_replicates_are_counted_and_left_out(measure: str) -> None:
    y, s = [0, 0, 0, 1, 1], [1, 3, 2, 2, 4]
    options: Any = {"method": "bootstrap", "rng": 5, "n_resamples": 3000}
    found = fastad.interval(y, s, measure=measure, stratified=False, **options)
    values, _ = replicates_of(y, s, [bind(measure, {})], 3000, 5, stratified=False)
    assert found.n_resamples == 3000
    assert found.n_undefined == np.count_nonzero(np.isnan(values[0])) > 0
    assert (found.low, found.high) == tuple(np.nanquantile(values[0], [0.025, 0.975]))
    # A class is absent with probability 0.4 ** 5 + 0.6 ** 5.
    p = 0.4**5 + 0.6**5
    assert abs(found.n_undefined - 3000 * p) < 4 * math.sqrt(3000 * p * (1 - p))
    assert fastad.interval(y, s, measure=measure, **options).n_undefined == 0


def test_one_in_three_may_be_undefined() -> None:
    """A precision of 1 needs the one anomaly on top, absent from (3/4)**4 of the replicates."""
    y, s = [0] * 20 + [1] * 4, [*range(20), 10, 5, 7, 30]
    values, _ = replicates_of(y, s, [bind("recall@precision1", {})], 2000, 0)
    n_undefined = int(np.isnan(values).sum())
    p = 0.75**4
    assert abs(n_undefined - 2000 * p) < 4 * math.sqrt(2000 * p * (1 - p))
    found = fastad.interval(y, s, measure="recall@precision1", method="bootstrap", rng=0)
    assert found.n_undefined == n_undefined


def test_more_than_half_undefined_is_an_error() -> None:
    """Of two replicates without strata, at a seed where both lack a class, nothing is left."""
    y, s = [0, 0, 1, 1], [1, 3, 2, 4]
    outcomes = set()
    for seed in range(60):
        values, _ = replicates_of(y, s, [bind("auc", {})], 2, seed, stratified=False)
        n_undefined = int(np.isnan(values).sum())
        keywords: Any = {"method": "bootstrap", "n_resamples": 2, "rng": seed}
        outcomes.add(n_undefined)
        if n_undefined == 2:
            with pytest.raises(UndefinedMeasureError, match="undefined on 2 of 2"):
                fastad.interval(y, s, measure="auc", stratified=False, **keywords)
        else:
            found = fastad.interval(y, s, measure="auc", stratified=False, **keywords)
            assert found.n_undefined == n_undefined
    assert outcomes == {0, 1, 2}


# --- Replicates are measures of resampled rows --------------------------------------------------

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
    asked = bind(name, options_for(name))
    detectors = rank_detectors(check_labels(y), [("a", "a", scores[0]), ("b", "b", scores[1])])
    counts = detectors.rankings[0].counts
    resamples = plan(counts, 25, random_key(4), stratified=stratified)
    anomalies, normals = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    for ranking, s in zip(detectors.rankings, scores, strict=True):
        found = replicate_values(ranking, [asked], resamples)[0]
        for i, value in enumerate(found.tolist()):
            times = times_drawn(resamples, i, 9, 17)
            rows = np.r_[np.repeat(anomalies, times[0]), np.repeat(normals, times[1])]
            assert len(rows) == 26
            try:
                expected = getattr(fastad.measures, name)(y[rows], s[rows], **asked.parameters)
            except UndefinedMeasureError:
                expected = math.nan
            assert value == expected or (math.isnan(value) and math.isnan(expected))


@given(samples(both=True), st.integers(0, 2**32), st.booleans())
def test_the_fused_area_is_that_of_the_counts(sample: Any, seed: int, stratified: bool) -> None:
    asked = bind("auc", {})
    fused, _ = replicates_of(sample.y, sample.s, [asked], 30, seed, stratified=stratified)
    general, _ = replicates_of(sample.y, sample.s, [asked, asked], 30, seed, stratified=stratified)
    assert fused[0].tobytes() == general[0].tobytes() == general[1].tobytes()


@given(samples(both=True, weights="whole"), st.integers(0, 2**32), st.booleans())
def test_points_alone_are_numbered_down_the_order(sample: Any, seed: int, stratified: bool) -> None:
    """Without rows the i-th point drawn is the i-th of its class from the highest score."""
    counts = count(sample.y, sample.s, sample_weight=sample.w)
    n, m = int(counts.n_anomalies), int(counts.n_normals)
    assume(min(n, m) > 0)
    resamples = plan(counts, 10, random_key(seed), stratified=stratified)
    rows = np.arange(n, dtype=np.int32), np.arange(m, dtype=np.int32)
    for labels in (["auc"], ["auc", "ap", "eer"]):
        asked = [bind(label, {}) for label in labels]
        alone = replicate_values(Ranking(counts), asked, resamples)
        numbered = replicate_values(Ranking(counts, rows), asked, resamples)
        assert alone.tobytes() == numbered.tobytes()
    falling = np.argsort(-np.unique(sample.s, return_inverse=True)[1], kind="stable")
    falling = np.repeat(falling, sample.w.astype(np.int64)[falling])
    y, scores = sample.y[falling], np.unique(sample.s, return_inverse=True)[1][falling]
    assert len(y) == n + m
    for i, value in enumerate(replicate_values(Ranking(counts), [bind("auc", {})], resamples)[0]):
        times = times_drawn(resamples, i, n, m)
        drawn = np.r_[
            np.repeat(np.flatnonzero(y == 1), times[0]), np.repeat(np.flatnonzero(y == 0), times[1])
        ]
        if math.isnan(value):
            assert np.unique(y[drawn]).shape[0] == 1
        else:
            assert value == fastad.roc_auc(y[drawn], scores[drawn])


# --- From replicates to ends --------------------------------------------------------------------


# SciPy's name of the seed, before 1.15 and from then on.
SEED: dict[str, Any] = (
    {"rng": 0} if np.lib.NumpyVersion(scipy.__version__) >= "1.15.0" else {"random_state": 0}
)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
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
        found = fastad.interval(
            y,
            s,
            measure="probabilistic_auc",
            method=method,
            rng=9,
            confidence_level=level,
            **options,
        )
        assert [found.low, found.high] == pytest.approx([ends.low, ends.high], rel=1e-11)


@pytest.mark.parametrize("measure", ["auc", "ap", "auc@0.3", "auc_prg", "auc_pr"])
def test_bca_by_its_formulas(measure: str) -> None:
    """DiCiccio and Efron 1996, (2.3), with the acceleration of Efron 1987, (7.3)."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [40, 15])
    s = rng.normal(y * 1.3, 1).round(1)
    asked = bind(measure, {})
    counts = count(y, s)
    values, _ = replicates_of(y, s, [asked], 2000, 3)
    value = asked.value(counts)
    below = np.mean(values[0] < value) + np.mean(values[0] == value) / 2
    z0 = stats.norm.ppf(below)
    moved = influence(counts, asked)
    shares = np.r_[
        np.repeat(moved.anomalies, np.diff(counts.tps)) / 15,
        np.repeat(moved.normals, np.diff(counts.fps)) / 40,
    ]
    a = np.sum(shares**3) / 6 / np.sum(shares**2) ** 1.5
    assert acceleration(counts, moved) == pytest.approx(a, rel=1e-10)
    z = z0 + stats.norm.ppf([0.05, 0.95])
    ends = np.quantile(values[0], stats.norm.cdf(z0 + z / (1 - a * z)))
    found = fastad.interval(y, s, measure=measure, method="bca", rng=3, confidence_level=0.9)
    assert [found.low, found.high] == pytest.approx(ends.tolist(), rel=1e-12)
    assert (found.method, found.n_resamples, found.n_undefined) == ("bca", 2000, 0)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=40),
    st.integers(-4, 4),
    st.floats(-2, 2),
    st.sampled_from([0.01, 0.1, 0.5, 0.9]),
)
def test_ends_lie_within_the_replicates_and_in_order(
    replicates: list[int], value: int, skewed: float, doubt: float
) -> None:
    drawn = np.array(replicates, float)
    low, high = percentile(drawn, doubt)
    assert drawn.min() <= low <= high <= drawn.max()
    assert basic(value, drawn, doubt) == (2 * value - high, 2 * value - low)
    low, high = bias_corrected(value, drawn, skewed, doubt)
    assert drawn.min() <= low <= high <= drawn.max()


def test_without_skewness_and_bias_bca_is_the_percentile_interval() -> None:
    drawn = np.random.default_rng(0).normal(size=999)
    middle = float(np.median(drawn))
    assert bias_corrected(middle, drawn, 0.0, 0.1) == pytest.approx(percentile(drawn, 0.1))


@given(samples(both=True, max_size=10), st.integers(0, 99), st.sampled_from([0.2, 0.9, 0.99]))
def test_ends_are_numbers_within_the_range(sample: Any, seed: int, level: float) -> None:
    assume(2 <= sample.y.sum() <= len(sample.y) - 2)
    options: Any = {"rng": seed, "n_resamples": 40, "confidence_level": level}
    ranks = np.unique(sample.s, return_inverse=True)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
        for measure in ("auc", "ap", "tpr@0.3", "f1_best", "eer", "auc_w"):
            for method in ("bootstrap", "basic"):
                found = fastad.interval(sample.y, ranks, measure=measure, method=method, **options)
                low, high = bind(measure, {}).bounds
                assert low <= found.low <= found.high <= high


# --- Seeds and threads --------------------------------------------------------------------------


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
    wanted = check_interval_options("bootstrap", 0.9, 200, 7)
    asked = [*(bind(label, {}) for label in labels), bind("precision_at_k", {"k": 10**6})]
    together = intervals_of(counts, asked, wanted)
    assert isinstance(together[-1], UndefinedMeasureError)
    for label, found in zip(labels, together, strict=False):
        alone = fastad.interval(
            y, s, measure=label, method="bootstrap", confidence_level=0.9, n_resamples=200, rng=7
        )
        assert found == alone


def test_many_threads_share_the_same_replicates() -> None:
    y, s = hard_sample()
    asked = [bind("ap", {}), bind("auc", {})]
    found = []
    for threads in (1, 2, 5):
        with thread_limit(threads):
            values, _ = replicates_of(y, s, asked, 700, 1)
        found.append(values.tobytes())
    assert len(set(found)) == 1


@pytest.mark.parametrize("measure", ["auc", "ap"])
def test_the_spread_of_replicates_is_that_of_delong(measure: str) -> None:
    y, s = hard_sample()
    values, _ = replicates_of(y, s, [bind(measure, {})], 3000, 0)
    spread = math.sqrt(fastad.uncertainty.delong_covariance(y, s, measure=measure).matrix[0, 0])
    # A deviation of 3 000 numbers is right to 1.3 %.
    assert np.std(values) == pytest.approx(spread, rel=0.06)
    value = fastad.uncertainty.delong_covariance(y, s, measure=measure).values[0]
    assert np.mean(values) == pytest.approx(value, abs=0.1 * spread)

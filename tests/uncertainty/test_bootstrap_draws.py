"""Draws of the bootstrap: their distribution, and undefined replicates."""

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import UndefinedMeasureError
from fastad._kernels.random import bits
from fastad._kernels.resampling import draws, resample
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from tests.support import oracles
from tests.support.uncertainty import LUCK, replicates_of


@pytest.mark.parametrize(("n", "n_draws"), [(1, 1), (1, 4), (2, 3), (3, 3), (3, 4), (4, 5)])
def test_draws_are_multinomial(n: int, n_draws: int) -> None:
    """Every way to draw, by chi-square."""
    block, times = np.empty(512, np.int64), np.empty(n, np.uint8)
    observed: Counter[tuple[int, ...]] = Counter()
    n_tried = 10_000
    for i in range(n_tried):
        draws.draw_evenly(np.uint64(bits(np.uint64(n), i)), n_draws, times, block)
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
def test_all_samples_are_drawn_equally_often(n_draws: int) -> None:
    """Numbers of draws around those that fill the block of random numbers."""
    n, n_tried = 1000, 400
    block, times = np.empty(512, np.int64), np.empty(n, np.uint8)
    total, squares = np.zeros(n, np.int64), 0.0
    for i in range(n_tried):
        draws.draw_evenly(np.uint64(bits(np.uint64(n_draws), i)), n_draws, times, block)
        assert times.sum() == n_draws
        total += times
        squares += float(np.sum((times - n_draws / n) ** 2))
    assert stats.chisquare(total).pvalue > LUCK
    # A multiplicity has the variance of a binomial number.
    variance = n_draws / n * (1 - 1 / n)
    assert squares / (n * n_tried) == pytest.approx(variance, rel=0.02)


@given(st.integers(1, 50), st.integers(0, 3000), st.integers(0, 2**64 - 1), st.integers(1, 600))
def test_draws_do_not_depend_on_the_buffer(n: int, n_draws: int, key: int, room: int) -> None:
    assume(n_draws < 100 * n)
    one, other = np.empty(n, np.uint8), np.empty(n, np.uint8)
    draws.draw_evenly(np.uint64(key), n_draws, one, np.empty(512, np.int64))
    draws.draw_evenly(np.uint64(key), n_draws, other, np.empty(room, np.int64))
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
    for result in (heads, pairs):
        z = (result - 2000) / math.sqrt(1000)
        assert stats.kstest(z, "norm").pvalue > LUCK


def ways(rows: oracles.Rows) -> list[tuple[oracles.Rows, int]]:
    """Every resample of some rows, with the number of orders in which these are drawn."""
    return [
        (
            [rows[i] for i in drawn],
            math.factorial(len(rows)) // math.prod(map(math.factorial, Counter(drawn).values())),
        )
        for drawn in combinations_with_replacement(range(len(rows)), len(rows))
    ]


def exact_distribution(
    y: Sequence[int], s: Sequence[float], value: Callable[[oracles.Rows], Fraction]
) -> dict[Fraction, Fraction]:
    """Every resample of each class, in any order of its rows, with its probability."""
    data = oracles.rows(y, s)
    anomalies, normals = ([row for row in data if row[0] == label] for label in (1, 0))
    result: Counter[Fraction] = Counter()
    for (first, n), (second, m) in product(ways(anomalies), ways(normals)):
        result[value([*first, *second])] += n * m
    total = sum(result.values())
    return {x: Fraction(times, total) for x, times in result.items()}


def tpr_at_a_third(data: oracles.Rows) -> Fraction:
    return oracles.tpr_at_fpr(data, Fraction(1, 3), "linear")


def tpr_at_a_quarter(data: oracles.Rows) -> Fraction:
    return oracles.tpr_at_fpr(data, Fraction(1, 4), "conservative")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("y", "s"), [([0, 0, 0, 1, 1, 1], [1, 4, 3, 2, 5, 3.5]), ([1, 0, 1, 0, 0], [1, 1, 1, 0, 0])]
)
def test_replicates_have_the_exact_distribution(y: list[int], s: list[float]) -> None:
    cases: list[tuple[BoundMeasure, Callable[[oracles.Rows], Fraction]]] = [
        (bind("auc", {}), oracles.roc_auc),
        (bind("ap", {}), oracles.average_precision),
        (bind("tpr_at_fpr", {"fpr": Fraction(1, 3)}), tpr_at_a_third),
        (bind("tpr_at_fpr", {"fpr": 0.25, "interpolation": "conservative"}), tpr_at_a_quarter),
    ]
    n_resamples = 20_000
    together, _ = replicates_of(y, s, [bound for bound, _ in cases], n_resamples, 1)
    alone, _ = replicates_of(y, s, [cases[0][0]], n_resamples, 1)
    assert alone[0].tobytes() == together[0].tobytes()
    for (_, value), result in zip(cases, together, strict=True):
        expected = exact_distribution(y, s, value)
        # Two fractions may be the same float; none here are.
        by_float = {float(x): p for x, p in expected.items()}
        assert len(by_float) == len(expected)
        indices = {x: i for i, x in enumerate(by_float)}
        nearest = [min(indices, key=lambda x: abs(x - one)) for one in np.unique(result).tolist()]
        assert np.abs(np.array(nearest) - np.unique(result)).max() < 1e-14
        renamed = dict(zip(np.unique(result).tolist(), nearest, strict=True))
        observed = Counter(renamed[x] for x in result.tolist())
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
    # Given the numbers, the distribution is that of draws from each class.
    both = n_anomalies == 2
    by_value = exact_distribution([0, 0, 0, 1, 1], s, oracles.roc_auc)
    means = {float(x): float(p) * both.sum() for x, p in by_value.items()}
    observed = Counter(values[0][both].tolist())
    assert set(observed) == set(means)
    assert stats.chisquare([observed[x] for x in means], list(means.values())).pvalue > LUCK


@pytest.mark.parametrize("measure", ["auc", "tpr@0.4"])
def test_undefined_replicates_are_counted_and_left_out(measure: str) -> None:
    y, s = [0, 0, 0, 1, 1], [1, 3, 2, 2, 4]
    options: Any = {"method": "bootstrap", "rng": 5, "n_resamples": 3000}
    result = fastad.interval(y, s, measure=measure, stratified=False, **options)
    values, _ = replicates_of(y, s, [bind(measure, {})], 3000, 5, stratified=False)
    assert result.n_resamples == 3000
    assert result.n_undefined == np.count_nonzero(np.isnan(values[0])) > 0
    assert (result.low, result.high) == tuple(np.nanquantile(values[0], [0.025, 0.975]))
    # A class is absent with probability 0.4 ** 5 + 0.6 ** 5.
    p = 0.4**5 + 0.6**5
    assert abs(result.n_undefined - 3000 * p) < 4 * math.sqrt(3000 * p * (1 - p))
    assert fastad.interval(y, s, measure=measure, **options).n_undefined == 0


def test_one_in_three_may_be_undefined() -> None:
    """A precision of 1 needs the one anomaly on top, absent from (3/4)**4 of the replicates."""
    y, s = [0] * 20 + [1] * 4, [*range(20), 10, 5, 7, 30]
    values, _ = replicates_of(y, s, [bind("recall@precision1", {})], 2000, 0)
    n_undefined = int(np.isnan(values).sum())
    p = 0.75**4
    assert abs(n_undefined - 2000 * p) < 4 * math.sqrt(2000 * p * (1 - p))
    result = fastad.interval(y, s, measure="recall@precision1", method="bootstrap", rng=0)
    assert result.n_undefined == n_undefined


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
            result = fastad.interval(y, s, measure="auc", stratified=False, **keywords)
            assert result.n_undefined == n_undefined
    assert outcomes == {0, 1, 2}


@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="page faults are not counted there")
def test_replicates_of_many_points_use_the_same_memory() -> None:
    """The system handed it out anew for each, which took longer than all that was computed."""
    import resource

    n = 1_000_000
    y_score = np.random.default_rng(0).normal(size=n)
    y_true = (np.arange(n) % 10 == 0).astype(int)

    def faults(n_resamples: int) -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        fastad.interval(
            y_true, y_score, measure="tpr@0.01", method="bootstrap", n_resamples=n_resamples, rng=0
        )
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    faults(4)
    # With new memory some 500 for each replicate, where pages are large, and 7000 elsewhere.
    assert faults(40) - faults(4) < 36 * 250

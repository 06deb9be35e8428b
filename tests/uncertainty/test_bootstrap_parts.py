"""Draws of a part of the samples: exact binomials, the same draws whichever blocks are drawn."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastad._core.random import random_key
from fastad._kernels.random import bits
from fastad._kernels.resampling import draws
from fastad._kernels.resampling.draws import BLOCK
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.ordering import counts as counts_module
from fastad.ordering.counts import OrderedCounts, count
from fastad.ordering.labels import check_labels
from fastad.uncertainty.comparisons.paired import rank_detectors
from fastad.uncertainty.samples import bootstrap
from fastad.uncertainty.samples.bootstrap import (
    IndependentSample,
    numbered_from_top,
    plan,
    replicate_values,
)
from tests.support.uncertainty import LUCK


def drawn(key: int, n: int, n_draws: int, first: int = 0, stop: int | None = None) -> Any:
    """How often the samples of some blocks are drawn, and how many draws lie before them."""
    stop = n if stop is None else min(stop * BLOCK, n)
    times = np.empty(stop - first * BLOCK, np.uint8)
    before = draws.draw(np.uint64(key), n, n_draws, first, times, np.empty(512, np.int64))
    return times, before


@pytest.mark.parametrize("z", [0, 1, 2**63, 2**64 - 1, 0xF0F1, 0x123456789ABCDEF0])
def test_ones_are_counted(z: int) -> None:
    assert draws.count_ones(np.uint64(z)) == z.bit_count()


@pytest.mark.parametrize(
    ("n", "numerator", "denominator"),
    [
        *((1, 1, 3), (7, 1, 2), (63, 2, 3), (64, 5, 8), (65, 1, 1000)),
        *((200, 999, 1000), (1000, 355, 1130)),
    ],
)
def test_binomial_numbers(n: int, numerator: int, denominator: int) -> None:
    """By chi-square against SciPy's probabilities, rare numbers together."""
    n_tried = 20_000
    results = [
        draws.binomial(np.uint64(bits(np.uint64(n), i)), n, numerator, denominator)
        for i in range(n_tried)
    ]
    assert 0 <= min(results) <= max(results) <= n
    p = stats.binom(n, numerator / denominator)
    low, high = int(p.ppf(1e-3)), int(p.ppf(1 - 1e-3))
    observed = np.bincount(np.clip(results, low, high), minlength=high + 1)[low:]
    expected = p.pmf(np.arange(low, high + 1))
    expected[0], expected[-1] = p.cdf(low), p.sf(high - 1)
    assert stats.chisquare(observed, expected * n_tried).pvalue > LUCK


@pytest.mark.parametrize("n_draws", [0, 5])
def test_certain_trials(n_draws: int) -> None:
    assert draws.binomial(np.uint64(3), n_draws, 0, 7) == 0
    assert draws.binomial(np.uint64(3), 0, 3, 7) == 0


@given(st.integers(1, 6 * BLOCK), st.integers(0, 3 * BLOCK), st.integers(0, 2**64 - 1), st.data())
def test_blocks_have_the_same_draws_whichever_are_drawn(
    n: int, n_draws: int, key: int, data: st.DataObject
) -> None:
    n_blocks = -(-n // BLOCK)
    n_draws = min(n_draws, 100 * n)
    first = data.draw(st.integers(0, n_blocks - 1))
    stop = data.draw(st.integers(first + 1, n_blocks))
    whole, none = drawn(key, n, n_draws)
    assert none == 0
    assert whole.sum(dtype=np.int64) == n_draws
    times, before = drawn(key, n, n_draws, first, stop)
    assert times.tolist() == whole[first * BLOCK : stop * BLOCK].tolist()
    assert before == whole[: first * BLOCK].sum(dtype=np.int64)


def test_one_block_has_all_draws() -> None:
    n_drawn, keys = np.empty(1, np.int64), np.empty(1, np.int64)
    assert draws.share_out(np.uint64(1), BLOCK, 2000, 0, n_drawn, keys) == 0
    assert n_drawn.tolist() == [2000]


@pytest.mark.parametrize("n", [BLOCK + 1, 3 * BLOCK, 5 * BLOCK + 77, 11 * BLOCK - 1])
def test_blocks_share_the_draws_as_samples_do(n: int) -> None:
    """The draws of each block are binomial, those of all of them multinomial."""
    n_tried, n_draws = 3000, 2000
    sizes = np.minimum(BLOCK, n - BLOCK * np.arange(-(-n // BLOCK)))
    n_drawn, keys = (np.empty((n_tried, len(sizes)), np.int64) for _ in range(2))
    for i in range(n_tried):
        key = np.uint64(bits(np.uint64(n), i))
        assert draws.share_out(key, n, n_draws, 0, n_drawn[i], keys[i]) == 0
    assert (n_drawn.sum(axis=1) == n_draws).all()
    assert np.unique(keys).size == keys.size
    # Pearson's statistic of multinomial numbers has this distribution, nearly.
    means = n_draws * sizes / n
    usual = means > 5
    statistic = ((n_drawn - means) ** 2 / means)[:, usual].sum(axis=1)
    if usual.all():
        assert stats.kstest(statistic, stats.chi2(len(sizes) - 1).cdf).pvalue > LUCK
    for column, size in zip(n_drawn.T, sizes, strict=True):
        p = size / n
        z = (column.sum() - n_tried * n_draws * p) / math.sqrt(n_tried * n_draws * p * (1 - p))
        assert abs(z) < 4
    # Two blocks: the covariance is -n p q.
    covariance = np.cov(n_drawn.T)[0, 1]
    expected = -n_draws * sizes[0] * sizes[1] / n**2
    spread = n_draws * math.sqrt(sizes[0] * (n - sizes[0]) * sizes[1] * (n - sizes[1])) / n**2
    assert abs(covariance - expected) < 4.5 * spread / math.sqrt(n_tried)


def test_all_samples_of_many_blocks_are_drawn_equally_often() -> None:
    n, n_tried = 2 * BLOCK + 1500, 300
    total, squares = np.zeros(n, np.int64), 0.0
    for i in range(n_tried):
        times, _ = drawn(int(bits(np.uint64(1), i)), n, n)
        total += times
        squares += float(np.sum((times - 1.0) ** 2))
    assert stats.chisquare(total).pvalue > LUCK
    # A multiplicity has the variance of a binomial number.
    assert squares / (n * n_tried) == pytest.approx(1 - 1 / n, rel=0.01)


def many(ties: str, n: int = 60_000) -> OrderedCounts:
    rng = np.random.default_rng(3)
    y = rng.random(n) < 0.2
    s = rng.normal(y * 1.2)
    decimals = {"none": 9, "some": 2, "heavy": 0}[ties]
    return count(y, s.round(decimals))


PARTIAL = (
    *("tpr@0.01", "tpr@0.3", "f1@0.1", "precision@fpr0.5", "auc@0.05", "tpr@0", "tpr@0.999"),
    *("tpr@1", "f1@0"),
)


@pytest.mark.parametrize("ties", ["none", "some", "heavy"])
@pytest.mark.parametrize("stratified", [True, False])
def test_a_part_has_the_values_of_the_whole(ties: str, stratified: bool) -> None:
    """Alone, together, and beside a measure that reads the whole curve."""
    counts = many(ties)
    resamples = plan(counts, 30, random_key(8), stratified=stratified)
    measures = [bind(key, {}) for key in PARTIAL]
    ranking = IndependentSample(counts)
    whole = replicate_values(ranking, [*measures, bind("eer", {})], resamples)[:-1]
    assert np.unique(whole[0]).size > 5
    for chosen in ([0], [1], [2], [3], [4], [5], [6], [7], [8], [0, 2], [1, 3], list(range(9))):
        part = replicate_values(ranking, [measures[i] for i in chosen], resamples)
        assert part.tobytes() == whole[chosen].tobytes()


@pytest.mark.parametrize("ties", ["none", "some"])
def test_a_part_that_is_too_narrow_is_drawn_again_as_a_whole(
    ties: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = many(ties)
    resamples = plan(counts, 30, random_key(8), stratified=True)
    measures = [bind(key, {}) for key in ("tpr@0.3", "f1@0.31")]
    expected = replicate_values(IndependentSample(counts), measures, resamples)
    monkeypatch.setattr(bootstrap, "_DEVIATIONS", 0.3)
    monkeypatch.setattr(bootstrap, "_POINTS", 1)
    covered: list[bool] = []

    def covers(*arguments: Any) -> bool:
        covered.append(original(*arguments))
        return covered[-1]

    original = counts_module.covers
    monkeypatch.setattr(bootstrap, "covers", covers)
    assert (
        replicate_values(IndependentSample(counts), measures, resamples).tobytes()
        == expected.tobytes()
    )
    assert set(covered) == {True, False}


def test_a_part_is_small() -> None:
    counts = many("none", 1_000_000)
    for rate, most in (("0.01", 5 * BLOCK), ("0.5", 7 * BLOCK)):
        (window,) = bootstrap._windows(IndependentSample(counts), [bind(f"tpr@{rate}", {})])
        assert window.sizes.sum() <= most
        assert window.cost < 0.07 * counts.total
    # Measures of points that are far from one another have a small part each, others one together.
    far = [bind(key, {}) for key in ("tpr@0.01", "tpr@0.9", "f1@0.01")]
    assert [window.measures for window in bootstrap._windows(IndependentSample(counts), far)] == [
        [0, 2],
        [1],
    ]
    near = [bind(key, {}) for key in ("tpr@0.01", "auc@0.011")]
    (window,) = bootstrap._windows(IndependentSample(counts), near)
    assert list(window.measures) == [0, 1]


def literal(
    y: npt.NDArray[Any], s: npt.NDArray[Any], measures: list[BoundMeasure], n_resamples: int
) -> npt.NDArray[np.float64]:
    """The bootstrap as it is defined: rows of each class drawn by NumPy, and measured anew."""
    rng = np.random.default_rng(99)
    classes = [np.flatnonzero(y == label) for label in (0, 1)]
    values = np.empty((len(measures), n_resamples))
    for i in range(n_resamples):
        rows = np.concatenate([rng.choice(rows, len(rows)) for rows in classes])
        counts = count(y[rows], s[rows])
        values[:, i] = [bound.value(counts) for bound in measures]
    return values


@pytest.mark.evidence
def test_replicates_are_distributed_as_those_of_the_literal_bootstrap() -> None:
    """Quantiles and spread of several blocks of samples; parts have the values of the whole."""
    rng = np.random.default_rng(5)
    y = rng.random(20_000) < 0.15
    s = rng.normal(y * 1.4).round(2)
    measures = [
        bind(key, {})
        for key in ("auc", "ap", "auc_w", "eer", "auc@0.05", "tpr@0.01", "tpr@0.3", "f1@0.05")
    ]
    n_resamples = 1000
    expected = literal(y, s, measures, n_resamples)
    counts = count(y, s)
    resamples = plan(counts, n_resamples, random_key(4), stratified=True)
    together = replicate_values(IndependentSample(counts), measures, resamples)
    for bound, result, values in zip(measures, together, expected, strict=True):
        assert stats.ks_2samp(result, values).pvalue > LUCK, bound.key
        # The deviation of 1 000 values is right to 2.2 %; 4.5 such errors of both.
        assert np.std(result) == pytest.approx(np.std(values), rel=0.14), bound.key
    # Measures of one replicate belong together.
    difference = np.corrcoef(together) - np.corrcoef(expected)
    assert np.abs(difference).max() < 4.5 * math.sqrt(2 / n_resamples)


@pytest.mark.parametrize("key", ["tpr@0.01", "auc@0.02", "precision@fpr0.01"])
def test_pairs_of_which_the_top_is_drawn_have_the_values_of_whole_ones(key: str) -> None:
    """The same numbers of samples, all of them drawn."""
    rng = np.random.default_rng(0)
    labels = np.arange(30_000) < 300
    common, *own = rng.normal(size=(3, 30_000))
    bound = bind(key, {})
    scores = [
        (each, each, common + noise + 2 * labels) for each, noise in zip("ab", own, strict=True)
    ]
    samples = rank_detectors(check_labels(labels), scores).samples
    independent = [each for each in samples if isinstance(each, IndependentSample)]
    numbered = numbered_from_top(independent, bound)
    for sample, before in zip(numbered, independent, strict=True):
        assert sample.n_first is not None
        whole = sample._replace(n_first=None)
        values, expected = (each.replicates([bound], 20, np.uint64(3)) for each in (sample, whole))
        assert np.array_equal(values, expected)
        assert np.ptp(values) > 0
        assert sample.counts is before.counts
    few = [each._replace(counts=each.counts) for each in independent]
    assert numbered_from_top(few, bind("auc", {})) is few

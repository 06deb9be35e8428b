"""Tests of all pairs of models, against slow definitions, SciPy and tables made by hand."""

import math
import sys
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from fastad._core.threads import thread_limit
from fastad._kernels.rank_tests.pairs import least_rank, most_tests
from fastad.benchmarking.pairwise_tests import models as of_models
from fastad.benchmarking.pairwise_tests import pairs as of_pairs
from fastad.benchmarking.pairwise_tests.models import Models
from fastad.benchmarking.pairwise_tests.pairs import (
    CRITERIA,
    WELCH_CORRECTIONS,
    PairwiseTests,
    compare_pairs,
    pair_p_values,
)
from fastad.errors import InvalidInputError
from fastad.uncertainty.comparisons.corrections import possible, shaffer
from tests.support import pairwise_tests as oracle
from tests.support.agreement import bits

Values = npt.NDArray[np.float64]

# In place of a p-value of 0.
SMALLEST = sys.float_info.min


def results(n_models: int, n_folds: int, n_levels: int, *, seed: int = 0) -> Values:
    """Results whose models differ about as much as their folds do."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0.4, 0.8, (n_models, 1, n_levels))
    spread = 0.1 * rng.uniform(0.1, 2.0, (n_models, 1, n_levels))
    return np.asarray(centres + spread * rng.standard_normal((n_models, n_folds, n_levels)))


def contents(result: PairwiseTests) -> Any:
    """All numbers of a result, as bits."""
    tables = (result.criteria, result.critical_values, result.n_significant, result.n_infinite)
    return [
        *[(name, bits(row)) for table in tables for name, row in table.items()],
        *[bits(row) for row in (result.f, result.df_between, result.df_within, result.p_value)],
    ]


@st.composite
def tables(draw: st.DrawFn) -> Values:
    """Few distinct values: ties of means, models without variance, several of them."""
    n_models = draw(st.integers(2, 6))
    n_folds = draw(st.integers(2, 5))
    unit = draw(st.sampled_from([1.0, 0.1, 2.0**-1000, 2.0**900]))
    fold = st.integers(-2, 3).map(lambda x: x * unit)
    constant = fold.map(lambda x: [x] * n_folds)
    varied = st.lists(fold, min_size=n_folds, max_size=n_folds)
    rows = draw(st.lists(constant | varied, min_size=n_models, max_size=n_models))
    return np.array(rows)[:, :, None]


@pytest.mark.slow
@settings(max_examples=12)
@given(tables(), st.sampled_from([0.05, 0.3]))
def test_slow_definitions(values: Values, alpha: float) -> None:
    models = values[:, :, 0].tolist()
    n_models = len(models)
    result = compare_pairs(values, alpha=alpha)
    for name, expected in oracle.criteria(models).items():
        assert result.criteria[name][0] == pytest.approx(expected, rel=1e-11, nan_ok=True), name
    critical = oracle.welch_critical(models, alpha)
    assert result.critical_values["welch"][0] == pytest.approx(critical, rel=1e-11, nan_ok=True)
    t, _, p_values = zip(*oracle.pairs(models), strict=True)
    q = oracle.tukey(models)
    assert result.n_infinite["welch"][0] == t.count(math.inf)
    assert result.n_infinite["tukey"][0] == q.count(math.inf)
    tukey = [x for x in q if x > result.critical_values["tukey"][0]]
    assert result.n_significant["tukey"] is not None
    assert result.n_significant["tukey"][0] == len(tukey)
    for correction in WELCH_CORRECTIONS:
        adjusted = oracle.adjusted(list(p_values), correction, n_models)
        counts = result.n_significant[correction]
        assert counts is not None
        # Rounding could decide where p is alpha to 13 digits.
        if min(abs(p / alpha - 1) for p in adjusted) > 1e-12:
            assert counts[0] == sum(p <= alpha for p in adjusted), correction
        matrix = pair_p_values(values[:, :, 0], correction=correction)
        pairs = matrix[np.triu_indices(n_models, 1)]
        np.testing.assert_allclose(pairs, adjusted, rtol=1e-11, atol=1e-300)
        assert counts[0] == (pairs <= alpha).sum()


@pytest.mark.parametrize("n_folds", [2, 3, 10, 40])
def test_welch_of_scipy(n_folds: int) -> None:
    values = results(12, n_folds, 1, seed=n_folds)[:, :, 0]
    result = pair_p_values(values)
    for i in range(12):
        assert result[i, i] == 1.0
        peer = scipy.stats.ttest_ind(values[i], np.delete(values, i, 0), axis=1, equal_var=False)
        np.testing.assert_allclose(np.delete(result[i], i), peer.pvalue, rtol=1e-10)


@pytest.mark.parametrize("n_models", [2, 3, 6])
def test_tukey_of_scipy(n_models: int) -> None:
    values = results(n_models, 8, 1)[:, :, 0]
    expected = scipy.stats.tukey_hsd(*values).pvalue
    # Its integral is one less another.
    result = pair_p_values(values, test="tukey")
    np.testing.assert_allclose(result, expected, rtol=1e-7, atol=1e-13)
    # Either way the same pairs are significant.
    counts = compare_pairs(values[:, :, None], alpha=0.05).n_significant["tukey"]
    assert counts is not None
    assert counts[0] == (expected[np.triu_indices(n_models, 1)] <= 0.05).sum()


@pytest.mark.slow
def test_false_discoveries_of_scipy() -> None:
    values = results(40, 6, 1, seed=3)
    raw = pair_p_values(values[:, :, 0])[np.triu_indices(40, 1)]
    for alpha in (0.01, 0.05, 0.4):
        result = compare_pairs(values, alpha=alpha).n_significant["benjamini-hochberg"]
        assert result is not None
        peer = scipy.stats.false_discovery_control(raw)
        assert result[0] == (peer <= alpha).sum()


def test_all_models_at_once() -> None:
    values = results(7, 6, 5)
    result = compare_pairs(values, alpha=0.05)
    for level in range(5):
        f, df_between, df_within = oracle.several(values[:, :, level].tolist())
        assert result.f[level] == pytest.approx(f, rel=1e-12)
        assert result.df_between[level] == df_between
        assert result.df_within[level] == pytest.approx(df_within, rel=1e-12)
        assert result.p_value[level] == pytest.approx(scipy.stats.f.sf(f, df_between, df_within))


def test_two_models_at_once_are_one_pair() -> None:
    values = results(2, 9, 1)
    result = compare_pairs(values, alpha=0.05)
    assert result.f[0] == pytest.approx(result.criteria["welch-mean"][0] ** 2, rel=1e-12)
    assert result.p_value[0] == pytest.approx(pair_p_values(values[:, :, 0])[0, 1], rel=1e-10)


# Rows are models; the test of all at once: F and p.
NO_VARIANCE = [
    ([[0.1] * 10, [0.1] * 10], 0.0, 1.0),
    ([[0.1] * 10, [0.3] * 10], math.inf, SMALLEST),
    ([[0.1] * 4, [0.0, 0.1, 0.1, 0.3], [0.3] * 4], math.inf, SMALLEST),
    ([[0.25] * 4, [0.0, 0.5, 0.25, 0.25]], 0.0, 1.0),
    ([[0.1] * 4, [0.0, 0.1, 0.1, 0.3]], math.nan, math.nan),
]


@pytest.mark.parametrize(("models", "f", "p_value"), NO_VARIANCE)
def test_all_models_without_variance(models: Any, f: float, p_value: float) -> None:
    result = compare_pairs(np.array(models)[:, :, None], alpha=0.05)
    np.testing.assert_array_equal([result.f[0], result.p_value[0]], [f, p_value])


def test_table_by_hand() -> None:
    # Means 0, 0, 1, 1 and variances 0, 0, 0, 2; four folds.
    values = np.zeros((4, 4, 1))
    values[2] = 1.0
    values[3, :, 0] = [1 - math.sqrt(3), 1, 1, 1 + math.sqrt(3)]
    result = compare_pairs(values, alpha=0.05)
    # q: 0 twice and 1 / sqrt(0.5 / 4) four times; the best model is the one that varies.
    q = math.sqrt(8)
    expected = [2.0, q * 4 / 6, q, (2 * math.sqrt(2) + 0) / 4, math.sqrt(2) / 2]
    for name, value in zip(CRITERIA, expected, strict=True):
        assert result.criteria[name][0] == pytest.approx(value, rel=1e-14), name
    # Welch: 0, 0, infinite twice, and sqrt(2) twice with 3 degrees of freedom.
    assert result.n_infinite["welch"][0] == 2
    assert result.critical_values["welch"][0] == pytest.approx(3.182446305284263, rel=1e-14)
    assert {key: None if row is None else row[0] for key, row in result.n_significant.items()} == {
        "tukey": 0, "none": 2, "bonferroni": 2, "holm": 2, "shaffer": 2, "benjamini-hochberg": 2,
    }  # fmt: skip
    p_values = pair_p_values(values[:, :, 0])
    assert p_values[0, 1] == p_values[2, 3] == 1.0
    assert p_values[0, 2] == p_values[1, 2] == SMALLEST


def test_no_variance_anywhere() -> None:
    # 0.1 three times is more than 0.3, and its third is not 0.1.
    values = np.array([[0.1] * 3, [0.1] * 3, [0.7] * 3])[:, :, None]
    result = compare_pairs(values, alpha=0.05)
    assert [result.criteria[name][0] for name in CRITERIA[1:]] == [0.0] * 4
    assert math.isnan(result.criteria["tukey-q"][0])
    assert math.isnan(result.critical_values["welch"][0])
    assert result.n_infinite["tukey"][0] == result.n_infinite["welch"][0] == 2
    apart = compare_pairs(values[1:], alpha=0.05)
    assert all(math.isnan(apart.criteria[name][0]) for name in CRITERIA)
    same = compare_pairs(values[:2], alpha=0.05)
    assert [same.criteria[name][0] for name in CRITERIA] == [0.0] * 5
    expected = np.array([[1.0, 1.0, SMALLEST], [1.0, 1.0, SMALLEST], [SMALLEST, SMALLEST, 1.0]])
    for test in ("welch", "tukey"):
        np.testing.assert_array_equal(pair_p_values(values[:, :, 0], test=test), expected)


def test_constant_folds_have_no_variance() -> None:
    rng = np.random.default_rng(0)
    for n_folds in (3, 5, 6, 7, 10, 23, 49):
        values = np.repeat(rng.uniform(-1, 1, (300, 1)), n_folds, axis=1)
        result = Models.of(values)
        assert not result.deviations.any()
        _, exponent = math.frexp(float(np.abs(values).max()))
        np.testing.assert_array_equal(np.ldexp(result.means, exponent), np.sort(values[:, 0]))


@pytest.mark.parametrize("n_folds", [2, 3, 7, 10, 100])
def test_means_and_deviations_are_exact(n_folds: int) -> None:
    rng = np.random.default_rng(n_folds)
    values = rng.uniform(0.5, 1, (200, n_folds))
    # Sums that cancel, and folds that differ in their last bit.
    values[:50] *= rng.choice([-1.0, 1.0, 1e-9], (50, n_folds))
    values[150:] = values[150:, :1]
    values[150:, -1] = np.nextafter(values[150:, -1], 2)
    values[0, 0] = 1.0 - 2.0**-53  # so that the unit is 1
    result = Models.of(values)
    rows = values[result.order].tolist()
    assert result.means.tolist() == [oracle.average(row) for row in rows]
    expected = [math.sqrt(oracle.variance(row)) for row in rows]
    np.testing.assert_allclose(result.deviations, expected, rtol=1e-14)


def test_spreads_whose_squares_vanish() -> None:
    tiny = 2.0**-700
    values = np.array([[0.0, tiny, 2 * tiny], [5 * tiny, 6 * tiny, 7 * tiny], [0.5, 0.6, 0.7]])
    expected = pair_p_values(values[:2] / tiny)[0, 1]
    assert pair_p_values(values)[0, 1] == pytest.approx(expected, rel=1e-12)
    result = compare_pairs(values[:, :, None], alpha=0.05)
    assert result.n_infinite["welch"][0] == 0
    f, _, df_within = oracle.several(values.tolist())
    assert result.f[0] == pytest.approx(f, rel=1e-12)
    assert result.df_within[0] == pytest.approx(df_within, rel=1e-12)


def test_order_of_models_and_folds_and_number_of_threads() -> None:
    values = results(60, 5, 4)
    values[::3] = np.round(values[::3], 1)
    values[::7] = values[:1]
    expected = contents(compare_pairs(values, alpha=0.05))
    rng = np.random.default_rng(1)
    for n_threads in (1, 2, 5):
        order = rng.permutation(60)
        mixed = rng.permuted(values[order], axis=1)
        # Folds are the same for all levels, but nothing depends on that.
        with thread_limit(n_threads):
            assert contents(compare_pairs(mixed, alpha=0.05)) == expected
            for correction in WELCH_CORRECTIONS:
                first = pair_p_values(values[:, :, 0], correction=correction)
                again = pair_p_values(mixed[:, :, 0], correction=correction)
                np.testing.assert_array_equal(again, first[np.ix_(order, order)])


@pytest.mark.slow
def test_steps_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = results(300, 4, 2)
    values[100:180, :, 1] = [0.1, 0.2, 0.3, 0.4]
    whole = compare_pairs(values, alpha=0.05)
    monkeypatch.setattr(of_pairs, "LARGEST_CORRECTED", 200)
    monkeypatch.setattr(of_models, "_PAIRS_A_STEP", 1000)
    assert len(Models.of(values[:, :, 0]).steps()) > 40
    result = [compare_pairs(values, alpha=0.05)]
    with thread_limit(3):
        result.append(compare_pairs(values[:, :, :1], alpha=0.05))
    for parts in result:
        levels = parts.f.shape[0]
        for name in CRITERIA:
            rows = whole.criteria[name][:levels]
            # Sums are rounded at other places.
            np.testing.assert_allclose(parts.criteria[name], rows, rtol=1e-14)
        for name in ("tukey-q", "tukey-mean", "tukey-median", "welch-median"):
            np.testing.assert_array_equal(parts.criteria[name], whole.criteria[name][:levels])
        for name in ("tukey", "none", "bonferroni"):
            counts, expected = parts.n_significant[name], whole.n_significant[name]
            assert counts is not None
            assert expected is not None
            np.testing.assert_array_equal(counts, expected[:levels])
        for name in ("holm", "shaffer", "benjamini-hochberg"):
            assert parts.n_significant[name] is None


@pytest.mark.parametrize("alpha", [1e-4, 0.05, 0.5])
def test_counts_are_those_of_all_p_values(alpha: float) -> None:
    values = results(150, 4, 1, seed=5)
    values[:40] = values[60:100]
    result = compare_pairs(values, alpha=alpha).n_significant
    for correction in WELCH_CORRECTIONS:
        matrix = pair_p_values(values[:, :, 0], correction=correction)
        counts = result[correction]
        assert counts is not None
        assert counts[0] == (matrix[np.triu_indices(150, 1)] <= alpha).sum() > 0


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0 - 2.0**-53])
@pytest.mark.parametrize("m", [3, 45, 499500])
def test_rounding_next_to_integers(alpha: float, m: int) -> None:
    for s in {1, 2, 3, 7, 10, 41, m // 3, m - 1} & set(range(1, m)):
        for start in (alpha / s, alpha / (m / s)):
            for p in (math.nextafter(start, 0), start, math.nextafter(start, 1)):
                if not p <= alpha < p * m:
                    continue
                tests = most_tests(p, float(m), alpha, alpha / p)
                assert p * tests <= alpha < p * (tests + 1)
                rank = least_rank(p, float(m), alpha, p * m / alpha)
                assert p * (m / rank) <= alpha
                assert rank == 1 or p * (m / (rank - 1)) > alpha


def test_possible_numbers_of_equal_pairs() -> None:
    for n_models in (2, 3, 4, 5, 6, 7, 11, 16):
        numbers = oracle.possible(n_models)
        expected = [
            max(x for x in numbers if x <= left) for left in range(math.comb(n_models, 2) + 1)
        ]
        assert possible(n_models).tolist() == expected
    # Shaffer's own table, 1986, section 4: of five groups.
    assert sorted(set(possible(5).tolist())) == [0, 1, 2, 3, 4, 6, 10]


def test_possible_numbers_by_recursion() -> None:
    # Bit x of the n-th number: x pairs of n models can be equal together.
    sets = [1, 1]
    for n in range(2, 71):
        result = 0
        for j in range(1, n + 1):
            result |= sets[n - j] << (j * (j - 1) // 2)
        sets.append(result)
    for n in (25, 40, 70):
        numbers = [x for x in range(math.comb(n, 2) + 1) if sets[n] >> x & 1]
        assert sorted(set(possible(n).tolist())) == numbers


def test_shaffer_by_hand() -> None:
    # Four models: six pairs, of which 6, 3, 2, 1 or none can be equal together.
    result = shaffer(np.array([0.02, 0.001, 0.015, 0.5, 0.016, 0.03]))
    assert result.tolist() == pytest.approx([0.06, 0.006, 0.045, 0.5, 0.048, 0.06])


@pytest.mark.parametrize("test", ["welch", "tukey"])
def test_corrections_that_do_not_fit(test: Any) -> None:
    if test == "tukey":
        with pytest.raises(InvalidInputError, match="correction must be 'none' for Tukey's test"):
            pair_p_values(results(3, 3, 1)[:, :, 0], test="tukey", correction="holm")
    else:
        with pytest.raises(InvalidInputError, match="more than 1500 models; found 1501"):
            pair_p_values(results(1501, 2, 1)[:, :, 0], correction="shaffer")


def test_threads_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(of_pairs.StoppedError):
        of_pairs.welch(Models.of(results(5, 3, 1)[:, :, 0]), 0.05, stop)

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(of_pairs, "Event", lambda: stop)
    monkeypatch.setattr(of_pairs, "thread_map", interrupted)
    stop.clear()
    with pytest.raises(KeyboardInterrupt):
        compare_pairs(results(5, 3, 2), alpha=0.05)
    assert stop.is_set()

"""The corrected resampled t-test on the splits of one data set."""

import json
import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad.benchmarking import resampled_t_test


def table(values: Any, **options: Any) -> fastad.ResultTable:
    return fastad.ResultTable.from_arrays({"auc": np.array(values)[None]}, **options)


@given(
    st.integers(0, 99),
    st.integers(2, 12),
    st.sampled_from([0.1, 0.2, 0.5, 0.9]),
    st.sampled_from([0.8, 0.95]),
)
def test_it_is_the_statistic_of_nadeau_and_bengio(
    seed: int, n: int, fraction: float, level: float
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 1, (2, n))
    result = resampled_t_test(table(values), test_fraction=fraction, confidence_level=level)
    d = values[0] - values[1]
    # Section 4.3: the variance over splits times 1 / J + n2 / n1.
    error = math.sqrt((1 / n + fraction / (1 - fraction)) * sum((d - d.mean()) ** 2) / (n - 1))
    half = stats.t.ppf((1 + level) / 2, n - 1) * error
    assert result.difference[0] == pytest.approx(d.mean(), rel=1e-12)
    assert result.standard_error[0] == pytest.approx(error, rel=1e-12)
    assert result.statistic[0] == pytest.approx(d.mean() / error, rel=1e-12)
    assert (result.low[0], result.high[0]) == pytest.approx((d.mean() - half, d.mean() + half))
    assert result.p_values[0] == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, n - 1))


def test_without_shared_samples_it_is_the_paired_t_test() -> None:
    """As the fraction that is tested on goes to 0."""
    values = np.random.default_rng(1).uniform(0.5, 1, (2, 8))
    result = resampled_t_test(table(values), test_fraction=1e-12)
    expected = stats.ttest_rel(values[0], values[1])
    assert result.statistic[0] == pytest.approx(expected.statistic, rel=1e-9)
    assert result.p_values[0] == pytest.approx(expected.pvalue, rel=1e-9)


def test_pairs_are_adjusted_together_and_printed() -> None:
    rng = np.random.default_rng(2)
    values = np.array([0.9, 0.8, 0.8])[:, None] + 0.01 * rng.normal(size=(3, 10))
    result = resampled_t_test(
        table(values, detectors=["knn", "lof", "svm"]), test_fraction=0.1, correction="bonferroni"
    )
    assert result.pairs == [("knn", "lof"), ("knn", "svm"), ("lof", "svm")]
    assert result.adjusted_p_values.tolist() == np.minimum(1, 3 * result.p_values).tolist()
    assert result.significant_pairs == [("knn", "lof"), ("knn", "svm")]
    assert "lof - svm" in str(result)
    assert "not significant" in str(result)
    rows = json.loads(result.to_json())
    assert "knn" in json.dumps(rows)
    assert result.to_columns()["p_value"] == result.p_values.tolist()


def test_lower_is_better_where_the_measure_says_so() -> None:
    rng = np.random.default_rng(2)
    values = np.array([0.1, 0.3])[:, None] + 0.01 * rng.normal(size=(2, 10))
    results = fastad.ResultTable.from_arrays({"eer": values[None]}, detectors=["a", "b"])
    assert resampled_t_test(results, test_fraction=0.1).significant_pairs == [("a", "b")]


def test_splits_in_which_one_has_no_value_are_left_out() -> None:
    values = np.array([[0.9, 0.8, 0.7, math.nan], [0.8, 0.75, math.nan, 0.5]])
    result = resampled_t_test(table(values), test_fraction=0.25)
    assert result.n_splits.tolist() == [2]
    assert result.difference[0] == pytest.approx(0.075)
    assert any("undefined" in note for note in result.notes)


def test_equal_models_do_not_differ_and_constant_differences_do() -> None:
    equal = resampled_t_test(table([[0.5, 0.75], [0.5, 0.75]]), test_fraction=0.5)
    assert (equal.p_values[0], equal.low[0]) == (1, 0)
    assert math.isnan(equal.statistic[0])
    apart = resampled_t_test(table([[0.75, 0.5], [0.5, 0.25]]), test_fraction=0.5)
    assert apart.p_values[0] == sys.float_info.min
    assert apart.statistic[0] == math.inf
    note = "0 - 1: the same difference on all splits, whose estimated variance is zero"
    assert (equal.notes, str(apart).splitlines()[-1][: len(note)]) == ([], note)


def test_differences_are_those_of_fractions() -> None:
    # In floats, 0.1 + 0.7 is not 0.4 + 0.4, nor 0.7 - 0.6 the same as 0.4 - 0.3.
    even = resampled_t_test(table([[0.1, 0.7], [0.4, 0.4]]), test_fraction=0.5)
    assert (even.difference[0], even.p_values[0]) == (0, 1)
    constant = resampled_t_test(table([[0.4, 0.5, 0.7], [0.3, 0.4, 0.6]]), test_fraction=0.5)
    assert (constant.low[0], constant.high[0]) == (0.1, 0.1)
    assert constant.p_values[0] == sys.float_info.min


@pytest.mark.parametrize("unit", [2.0**-700, 2.0**700])
def test_squares_neither_vanish_nor_overflow(unit: float) -> None:
    values = np.random.default_rng(3).uniform(size=(2, 6))
    result = resampled_t_test(table(values * unit), test_fraction=0.2)
    expected = resampled_t_test(table(values), test_fraction=0.2)
    assert result.standard_error[0] == expected.standard_error[0] * unit
    assert result.p_values[0] == pytest.approx(expected.p_values[0], rel=1e-9)


def test_the_confidence_level_is_the_given_one() -> None:
    result = resampled_t_test(table([[0.5, 0.75], [0.5, 0.5]]), test_fraction=0.5,
                             confidence_level=0.68)  # fmt: skip
    assert result.confidence_level == 0.68 != 1 - float(1 - Fraction("0.68"))


def test_the_interval_ends_at_0_at_the_level_of_a_tiny_p_value() -> None:
    noise = 1e-5 * np.random.default_rng(0).normal(size=6)
    models = table([0.9 + noise, [0.5] * 6])
    p_value = float(resampled_t_test(models, test_fraction=0.5).p_values[0])
    assert 1e-30 < p_value < 1e-16
    for factor, excluded in ((1.001, True), (0.999, False)):
        level = 1 - Fraction(p_value * factor)
        result = resampled_t_test(models, test_fraction=0.5, confidence_level=level)
        assert (result.low[0] > 0) == excluded


def test_equal_infinities_do_not_differ_and_others_cannot_be_compared() -> None:
    inf = math.inf
    result = resampled_t_test(table([[inf, 0.5, 0.75], [inf, 0.25, 0.5]]), test_fraction=0.5)
    assert (result.difference[0], result.n_splits[0]) == (pytest.approx(1 / 6), 3)
    with pytest.raises(fastad.UndefinedMeasureError, match="0 and 1 needs finite differences"):
        resampled_t_test(table([[inf, 0.5], [0.25, 0.5]]), test_fraction=0.5)


@pytest.mark.parametrize(
    ("values", "options", "error", "message"),
    [
        ([[0.5, 0.6]], {}, fastad.InvalidInputError, "at least two models to compare"),
        ([[0.5], [0.6]], {}, fastad.UndefinedMeasureError, "needs two splits .* found 1"),
        ([[0.5, 0.6]] * 2, {"test_fraction": 1}, fastad.InvalidInputError, "test_fraction must"),
        ([[0.5, 0.6]] * 2, {"dataset": "x"}, fastad.InvalidInputError, "dataset must be one of"),
        ([[0.5, 0.6]] * 2, {"correction": "x"}, fastad.InvalidInputError, "correction must be"),
        ([[0.5, 0.6]] * 2, {"measure": "ap"}, fastad.InvalidInputError, "measure must be one of"),
    ],
)
def test_bad_input_is_refused(
    values: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        resampled_t_test(table(values), **{"test_fraction": 0.2, **options})


def test_one_of_several_data_sets_is_named() -> None:
    auc = np.random.default_rng(0).uniform(size=(2, 2, 5))
    results = fastad.ResultTable.from_arrays({"auc": auc}, datasets=["x", "y"])
    with pytest.raises(fastad.InvalidInputError, match="found None, and 2 data sets"):
        resampled_t_test(results, test_fraction=0.2)
    result = resampled_t_test(results, test_fraction=0.2, dataset="y")
    assert result.dataset == "y"
    assert result.difference[0] == pytest.approx((auc[1, 0] - auc[1, 1]).mean())


@pytest.mark.evidence
def test_equal_models_differ_as_seldom_as_it_says() -> None:
    """Splits of one sample: an ordinary paired t-test rejects several times as often."""
    n_splits, n, fraction = 15, 100, 0.2
    rejected = ordinary = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(2, n))
        differences = []
        for _ in range(n_splits):
            order = rng.permutation(n)
            test, train = order[: int(n * fraction)], order[int(n * fraction) :]
            # Two equally good predictors of 0: each trained on its own noise.
            errors = [np.mean((x[k, test] - x[k, train].mean()) ** 2) for k in range(2)]
            differences.append(errors)
        values = np.array(differences).T
        results = fastad.ResultTable.from_arrays(
            {"loss": values[None]}, higher_is_better={"loss": False}
        )
        rejected += resampled_t_test(results, test_fraction=fraction).p_values[0] <= 0.05
        ordinary += stats.ttest_rel(values[0], values[1]).pvalue <= 0.05
    assert rejected <= 0.09 * 300
    assert ordinary >= 3 * rejected

"""Kendall's tau between measures: pairs counted one by one, SciPy, and what changes nothing."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastad import ResultTable
from fastad._kernels.rank_tests.concordance import concordance, sort_counting, tied_pairs
from fastad.benchmarking import kendall_matrix
from fastad.benchmarking.matrix import kendall_by_problem
from tests.support.comparison_oracles import as_columns, bits_of, result_rows, tau_b

LABELS = ["auc", "tpr@0.05", "cost"]
DOWN = {"cost": False}

# Heavy ties, neighbours one ulp apart, infinities and both zeros.
VALUES = st.sampled_from(
    [-math.inf, -1e308, -0.5, -0.0, 0.0, 5e-324, 0.5, float(np.nextafter(0.5, 1)), 1e308, math.inf]
)


def columns(n_measures: int) -> st.SearchStrategy[list[list[float]]]:
    value = st.one_of(VALUES, st.just(math.nan))
    model = st.lists(value, min_size=n_measures, max_size=n_measures)
    return st.lists(model, min_size=2, max_size=9)


def tau_of(models: list[list[float]]) -> npt.NDArray[np.float64]:
    (tau,) = kendall_by_problem(np.array([models]))
    return np.asarray(tau)


# Tau, against loops and SciPy.


@given(columns(3))
def test_tau_is_that_of_the_pairs(models: list[list[float]]) -> None:
    result = tau_of(models)
    for i, j in itertools.product(range(3), repeat=2):
        expected = tau_b([model[i] for model in models], [model[j] for model in models])
        if math.isnan(expected):
            assert math.isnan(result[i, j])
        else:
            assert result[i, j] == pytest.approx(expected, rel=1e-15, abs=0)


@given(columns(4))
def test_tau_is_symmetric_with_diagonal_1(models: list[list[float]]) -> None:
    result = tau_of(models)
    assert np.array_equal(result, result.T, equal_nan=True)
    diagonal = np.diag(result)
    assert (diagonal[~np.isnan(diagonal)] == 1).all()
    assert (np.abs(result[~np.isnan(result)]) <= 1).all()
    for i, value in enumerate(diagonal):
        distinct = {model[i] for model in models if model[i] == model[i]}
        assert math.isnan(value) == (len(distinct) < 2)


@pytest.mark.parametrize("n_models", [2, 3, 17, 64, 65, 500])
@pytest.mark.parametrize("n_values", [2, 5, 10**6])
@pytest.mark.parametrize("nans", [0.0, 0.3])
def test_tau_is_that_of_scipy(n_models: int, n_values: int, nans: float) -> None:
    rng = np.random.default_rng([n_models, n_values])
    merits = rng.integers(0, n_values, (3, n_models, 4)).astype(float)
    merits[rng.random(merits.shape) < nans] = math.nan
    merits[rng.random(merits.shape) < 0.05] = math.inf
    result = kendall_by_problem(merits)
    for k, i, j in itertools.product(range(3), range(4), range(4)):
        a, b = merits[k, :, i], merits[k, :, j]
        both = ~(np.isnan(a) | np.isnan(b))
        a, b = (np.unique(x[both], return_inverse=True)[1] for x in (a, b))
        expected = math.nan
        if len(a) > 1 and len(set(a)) > 1 and len(set(b)) > 1:
            expected = float(stats.kendalltau(a, b).statistic)
        assert result[k, i, j] == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True)


@pytest.mark.slow
def test_many_models_and_few_data_sets() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((3, 10_000)).round(2)
    b = np.where(rng.random(a.shape) < 0.5, a, rng.standard_normal(a.shape).round(1))
    result = kendall_matrix(ResultTable.from_arrays({"auc": a, "ap": b}), rng=0)
    for k in range(3):
        expected = stats.kendalltau(a[k], b[k]).statistic
        assert result.by_dataset[k, 0, 1] == pytest.approx(expected, rel=1e-12)
    assert np.diag(result.value).tolist() == [1, 1]


@given(st.lists(VALUES, max_size=40))
def test_exchanges_and_ties_are_those_of_the_pairs(values: list[float]) -> None:
    array = np.array(values, np.float64)
    exchanges = sort_counting(array, np.empty_like(array))
    pairs = list(itertools.combinations(values, 2))
    assert exchanges == sum(first > second for first, second in pairs)
    assert array.tolist() == sorted(values)
    assert tied_pairs(array) == sum(first == second for first, second in pairs)


@given(columns(2))
def test_pairs_are_counted_in_integers(models: list[list[float]]) -> None:
    merits = np.ascontiguousarray(np.array(models).T)
    balance, untied = np.full((2, 2, 2), -99, np.int64)
    concordance(merits, np.argsort(merits, axis=1), balance, untied, np.empty((2, len(models))))
    there = [(x, y) for x, y in models if x == x and y == y]
    pairs = list(itertools.combinations(there, 2))
    signs = [int(np.sign((x > u) - (x < u)) * ((y > v) - (y < v))) for (x, y), (u, v) in pairs]
    assert balance[0, 1] == balance[1, 0] == sum(signs)
    assert untied[0, 1] == sum(x != u for (x, _), (u, _) in pairs)
    assert untied[1, 0] == sum(y != v for (_, y), (_, v) in pairs)


def test_by_hand() -> None:
    # Of 6 pairs 1 is tied by the one and 1 by the other, and 4 are in the same order.
    assert tau_of([[1, 1], [1, 2], [2, 2], [3, 3]])[0, 1] == 4 / 5
    assert tau_of([[1, 3], [2, 2], [3, 1]])[0, 1] == -1
    assert tau_of([[1, 1], [2, 3], [3, 2]])[0, 1] == pytest.approx(1 / 3)
    assert np.isnan(tau_of([[1, 5], [2, 5]])[0, 1])


# The mean over data sets.


@pytest.mark.slow
@given(result_rows(LABELS))
def test_undefined_data_sets_are_left_out_and_counted(rows: list[dict[str, Any]]) -> None:
    table = ResultTable.from_table(as_columns(rows), measures=LABELS, higher_is_better=DOWN)
    result = kendall_matrix(table, rng=0, n_resamples=3)
    signs = [1, 1, -1]
    for i, j in itertools.product(range(3), repeat=2):
        one, other = table.means(LABELS[i]), table.means(LABELS[j])
        taus = [
            signs[i] * signs[j] * tau_b(a, b)
            for a, b in zip(one.tolist(), other.tolist(), strict=True)
        ]
        there = [tau for tau in taus if tau == tau]
        assert result.n_datasets[i, j] == len(there)
        assert result.n_undefined[i, j] == len(taus) - len(there)
        expected = sum(there) / len(there) if there else math.nan
        assert result.value[i, j] == pytest.approx(expected, rel=1e-13, abs=1e-15, nan_ok=True)


def test_measures_where_lower_is_better_change_their_sign() -> None:
    table = ResultTable.from_arrays(
        {"auc": [[0.9, 0.8, 0.7]], "cost": [[1, 2, 3]]}, higher_is_better=DOWN
    )
    assert kendall_matrix(table, rng=0).value.tolist() == [[1, 1], [1, 1]]


def test_the_mean_of_a_row_contains_its_diagonal() -> None:
    table = ResultTable.from_arrays(
        {
            "auc": [[0.9, 0.8, 0.7]],
            "tpr@0.05": [[0.1, 0.2, 0.3]],
            "tpr@0.01": [[0.1, 0.3, 0.2]],
            "f1@0.01": [[0.3, 0.2, 0.1]],
        }
    )
    result = kendall_matrix(table, rng=0)
    assert list(result.means) == ["mean", "mean@0.01"]  # at 0.05 there is one measure alone
    assert result.value[0] == pytest.approx([1, -1, -1 / 3, 1])
    assert result.means["mean"].value[0] == pytest.approx((1 - 1 - 1 / 3 + 1) / 4)
    # Of tpr@0.01 and f1@0.01: (-1 + 3) / 6, (1 - 3) / 6, then 1 and -1/3 of the one and the other.
    assert result.means["mean@0.01"].value == pytest.approx([1 / 3, -1 / 3, 1 / 3, 1 / 3])


# What changes nothing.


@given(result_rows(LABELS, most_folds=1))
def test_rising_maps_of_measures_leave_tau(rows: list[dict[str, Any]]) -> None:
    turned = [
        {**row, "auc": math.atan(row["auc"]), "cost": 5 * row["cost"] ** 3 - 1} for row in rows
    ]
    one, other = (
        kendall_matrix(
            ResultTable.from_table(as_columns(order), measures=LABELS, higher_is_better=DOWN),
            rng=2,
            n_resamples=20,
        )
        for order in (rows, turned)
    )
    assert bits_of(one) == bits_of(other)


# What it prints and refuses.


def test_frame() -> None:
    table = ResultTable.from_arrays({"auc": [[0.9, 0.8]] * 2, "ap": [[0.1, 0.2], [0.5, 0.5]]})
    frame = kendall_matrix(table, rng=0).to_frame("pandas")
    assert frame.columns.tolist() == [
        "measure", "other", "tau", "low", "high", "n_datasets", "n_undefined"
    ]  # fmt: skip
    assert frame["tau"].tolist() == [1, -1, -1, 1]
    assert frame["n_undefined"].tolist() == [0, 1, 1, 1]


def test_notes_name_the_measure_that_is_undefined() -> None:
    # ap ties all models; auc and tpr@0.05 have a value on the data set.
    table = ResultTable.from_arrays(
        {"auc": [[0.9, 0.8]], "ap": [[0.5, 0.5]], "tpr@0.05": [[0.2, 0.1]]}
    )
    (note,) = kendall_matrix(table, rng=0).notes
    assert note.startswith("nan: no tau by ap in 1 of 1 data set,")


def test_the_mean_of_a_diagonal_alone_is_not_the_best() -> None:
    table = ResultTable.from_arrays({"auc": [[0.9, 0.8]], "ap": [[0.5, 0.5]]})
    places = kendall_matrix(table, rng=0).text_table().marks
    assert [row[-1] for row in places] == [0, 0]

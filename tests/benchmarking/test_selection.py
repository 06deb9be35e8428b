"""What selecting by another measure, or on another class of anomalies, costs."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad import ResultTable
from fastad.benchmarking import class_sensitivity, selection_loss
from fastad.benchmarking.resampling import check_resampling
from fastad.errors import InvalidInputError, UndefinedMeasureError
from tests.support.comparison_oracles import (
    Rows,
    as_columns,
    bits_of,
    loss,
    losses_between_classes,
    mean_of,
    mean_over_folds,
    result_rows,
)

# "cost" is lower is better; some values are 0 and some negative.
LABELS = ["auc", "tpr@0.05", "cost"]
UP = {"auc": True, "tpr@0.05": True, "cost": False}


def table_of(rows: Rows, anomaly_class: bool = False) -> ResultTable:
    columns = as_columns(rows)
    if not anomaly_class:
        del columns["anomaly_class"]
    return ResultTable.from_table(columns, measures=LABELS, higher_is_better={"cost": False})


def found(**measures: Any) -> Any:
    """The loss of one data set, from the measures of its models."""
    up = {name: not name.startswith("low") for name in measures}
    arrays = {name: [values] for name, values in measures.items()}
    return selection_loss(ResultTable.from_arrays(arrays, higher_is_better=up), rng=0).value


def assert_cell(value: float, expected: Fraction | None) -> None:
    if expected is None:
        assert math.isnan(value)
    else:
        assert value == pytest.approx(float(expected), rel=1e-13, abs=0)


# The loss, against loops.


@given(result_rows(LABELS))
def test_loss_is_that_of_the_loops(rows: Rows) -> None:
    means = {label: mean_over_folds(rows, label) for label in LABELS}
    result = selection_loss(table_of(rows), rng=0, n_resamples=3)
    problems = [(name,) for name in result.datasets]
    assert set(problems) == set(means["auc"])
    for i, row in enumerate(result.rows):
        for j, column in enumerate(result.columns):
            losses = [
                loss(means[row][name], means[column][name], UP[row], UP[column])
                for name in problems
            ]
            for k, expected in enumerate(losses):
                assert_cell(result.by_dataset[k, i, j], expected)
            assert_cell(result.value[i, j], mean_of(losses))
            assert result.n_undefined[i, j] == losses.count(None)
            assert result.n_datasets[i, j] == len(losses) - losses.count(None)


@pytest.mark.slow
@given(result_rows(LABELS, classes=3))
def test_class_sensitivity_is_that_of_the_loops(rows: Rows) -> None:
    keys = ("dataset", "anomaly_class")
    means = {label: mean_over_folds(rows, label, keys) for label in LABELS}
    table = table_of(rows, anomaly_class=True)
    several = {name for name, anomalies in means["auc"] if anomalies > 0}
    result = class_sensitivity(table, rng=0, n_resamples=3)
    assert set(result.datasets) == several
    for i, row in enumerate(result.rows):
        for j, column in enumerate(result.columns):
            expected = losses_between_classes(means[row], means[column], UP[row], UP[column])
            for k, name in enumerate(result.datasets):
                assert_cell(result.by_dataset[k, i, j], expected[name])
            assert_cell(result.value[i, j], mean_of(list(expected.values())))


@given(result_rows(LABELS))
def test_losses_are_not_negative_and_nothing_is_lost_by_its_own_measure(rows: Rows) -> None:
    result = selection_loss(table_of(rows), rng=0, n_resamples=50)
    there = ~np.isnan(result.value)
    assert (result.value[there] >= 0).all()
    assert (result.by_dataset[~np.isnan(result.by_dataset)] >= 0).all()
    for cells in (result.value, result.low, result.high):
        diagonal = np.diag(cells)
        assert (diagonal[~np.isnan(diagonal)] == 0).all()
        assert not np.signbit(diagonal[~np.isnan(diagonal)]).any()
    bounded = ~np.isnan(result.low)
    assert (result.low[bounded] <= result.high[bounded]).all()


# By hand.


def test_the_choice_is_shared_by_models_with_the_same_best_value() -> None:
    # Three are selected: (0.5 + 0.25 + 0) / 3.
    value = found(auc=[0.9, 0.9, 0.9, 0.1], ap=[0.25, 0.375, 0.5, 0.125])
    assert value.tolist() == [[0, pytest.approx(0.25, rel=1e-15)], [0, 0]]


def test_a_tie_is_one_of_the_means_and_of_nothing_near_it() -> None:
    near = np.nextafter(0.9, 1)
    assert found(auc=[0.9, near], ap=[0.5, 0.25])[0, 1] == 0.5
    assert found(auc=[0.9, 0.9], ap=[0.5, 0.25])[0, 1] == 0.25
    folds = [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]]
    table = ResultTable.from_arrays({"auc": [folds], "ap": [[[0.5] * 3, [0.25] * 3]]})
    assert selection_loss(table, rng=0).value[0, 1] == 0.25


def test_lower_is_better() -> None:
    # (c_used - c_best) / c_best may exceed 1.
    assert found(auc=[0.9, 0.8], low=[10.0, 4.0])[0, 1] == 1.5
    assert found(auc=[0.9, 0.8], low=[10.0, 4.0])[1, 0] == pytest.approx(1 / 9)


def test_a_negative_best_value() -> None:
    assert found(auc=[0.9, 0.8], ap=[-3.0, -2.0])[0, 1] == 0.5
    assert found(auc=[0.9, 0.8], low=[-1.0, -2.0])[0, 1] == 0.5


def test_a_best_value_of_nothing_is_undefined() -> None:
    assert np.isnan(found(auc=[0.9, 0.8], ap=[0.0, -1.0])[:, 1]).all()
    assert np.isnan(found(auc=[0.9, 0.8], low=[0.0, 1.0])[:, 1]).all()
    assert np.isnan(found(auc=[0.9, 0.8], ap=[-0.0, 0.0])[:, 1]).all()


def test_undefined_measures() -> None:
    nan = math.nan
    # The chosen one lacks the column's measure; its own choice does not.
    assert np.isnan(found(auc=[0.9, 0.8], ap=[nan, 0.5])[0, 1])
    assert found(auc=[0.9, 0.8], ap=[nan, 0.5])[1, 1] == 0
    # One of two that are selected lacks it.
    assert np.isnan(found(auc=[0.9, 0.9, 0.1], ap=[nan, 0.5, 0.6])[0, 1])
    # One that is not chosen may lack it, and the best is that of all others.
    assert found(auc=[0.9, nan, 0.8], ap=[0.5, 0.75, nan])[0, 1] == pytest.approx(1 / 3)
    # None can be selected, none is the best.
    assert np.isnan(found(auc=[nan, nan], ap=[0.5, 0.6])[[0, 0, 1], [0, 1, 0]]).all()


def test_infinite_measures() -> None:
    # The best is infinite: no fraction of it is defined.
    assert np.isnan(found(auc=[0.9, 0.8], ap=[math.inf, 1.0])[0, 1])
    assert np.isnan(found(auc=[0.9, 0.8], ap=[-math.inf, 1.0])[0, 1])
    assert found(auc=[math.inf, 0.8], ap=[0.5, 1.0])[0, 1] == 0.5
    assert found(auc=[-math.inf, -math.inf], ap=[0.5, 1.0])[0, 1] == 0.25


@pytest.mark.parametrize("ap", [[5e-324, -1.0], [-1.7e308, 1.7e308], [1e308, 1e-308]])
def test_no_warning_of_large_and_small_measures(ap: list[float]) -> None:
    found(auc=[0.5, 0.9], ap=ap)
    found(auc=[0.5, 0.9], low=ap)


def test_given_rows_and_columns() -> None:
    table = ResultTable.from_arrays(
        {"auc": [[0.9, 0.8]], "ap": [[0.25, 0.5]], "tpr@0.05": [[0.5, 0.75]]}
    )
    part = selection_loss(table, measures=["ap", "auc", "ap"], evaluated_by=["tpr@0.05"], rng=0)
    assert (part.rows, part.columns) == (["ap", "auc"], ["tpr@0.05"])
    assert part.value.tolist() == [[0], [pytest.approx(1 / 3)]]
    assert list(part.means) == ["mean"]
    every = selection_loss(table, evaluated_by=["ap"], rng=0)
    assert every.rows == ["auc", "ap", "tpr@0.05"]
    assert every.value.tolist() == [[0.5], [0], [0]]
    with pytest.raises(InvalidInputError, match=r"evaluated_by must be one of .*; found 'f1'"):
        selection_loss(table, evaluated_by=["f1"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"evaluated_by": "auc"}, "^evaluated_by must be a sequence of keys; found 'auc' alone"),
        ({"evaluated_by": 3}, "^evaluated_by must be a sequence of keys; found 3"),
    ],
)
def test_measures_of_another_type(options: dict[str, Any], message: str) -> None:
    table = ResultTable.from_arrays({"auc": [[0.9, 0.8]], "ap": [[0.25, 0.5]]})
    with pytest.raises(TypeError, match=message):
        selection_loss(table, **options)
    with pytest.raises(InvalidInputError, match=r"^evaluated_by must name at least one"):
        selection_loss(table, evaluated_by=[])


def test_class_sensitivity_refuses() -> None:
    columns = {"dataset": ["a"] * 2, "detector": ["k", "l"], "auc": [0.5, 0.6]}
    with pytest.raises(InvalidInputError, match="anomaly_class; found none"):
        class_sensitivity(columns)
    with pytest.raises(UndefinedMeasureError, match=r"at least two classes .* found none in 1"):
        class_sensitivity({**columns, "anomaly_class": ["x", "x"]})


def test_data_sets_of_several_columns_have_names_as_elsewhere() -> None:
    rows = {"set": ["a"] * 4, "size": [1] * 4, "anomaly_class": ["x", "x", "y", "y"]}
    table = ResultTable.from_table(
        {**rows, "detector": ["k", "l"] * 2, "auc": [0.5, 0.6, 0.7, 0.8]},
        dataset_columns=["set", "size"],
    )
    assert class_sensitivity(table, rng=0).datasets == ["a 1"]


def test_class_sensitivity_of_the_papers_example() -> None:
    # Table 9 of skvara-2019: a choice on one class is wrong on the other, but not by the volume.
    table = {
        "dataset": ["cardio"] * 4,
        "anomaly_class": [5, 5, 8, 8],
        "detector": ["ocsvm"] * 4,
        "params": ["0.01", "50"] * 2,
        "auc": [0.87, 0.74, 0.02, 0.99],
        "cvol@0.05": [0.10, 0.91, 0.11, 0.91],
    }
    result = class_sensitivity(table, rng=0)
    wrong = [(0.87 - 0.74) / 0.87, (0.99 - 0.02) / 0.99]
    assert result.value[0, 0] == pytest.approx(sum(wrong) / 2)
    assert result.value[0, 1] == pytest.approx((0.91 - 0.11) / 0.91 / 2)
    assert result.value[1].tolist() == [pytest.approx((0.87 - 0.74) / 0.87 / 2), 0]


# What changes nothing.


def renamed(rows: Rows, key: str, names: list[str]) -> Rows:
    known = sorted({row[key] for row in rows})
    return [{**row, key: names[known.index(row[key])]} for row in rows]


@given(result_rows(LABELS))
def test_names_change_no_loss(rows: Rows) -> None:
    turned = renamed(renamed(rows, "dataset", list("wvut")), "detector", list("cab"))
    one, other = (selection_loss(table_of(order), rng=5, n_resamples=3) for order in (rows, turned))
    assert np.allclose(one.value, other.value, rtol=1e-14, atol=0, equal_nan=True)
    assert np.array_equal(one.n_datasets, other.n_datasets)


@given(result_rows(LABELS, most_folds=1))
def test_a_rising_map_of_the_selecting_measure_leaves_the_choice(rows: Rows) -> None:
    turned = [{**row, "auc": math.exp(3 * row["auc"]) - 7} for row in rows]
    one, other = (
        selection_loss(
            table_of(order),
            measures=["auc"],
            evaluated_by=["tpr@0.05", "cost"],
            rng=1,
            n_resamples=3,
        )
        for order in (rows, turned)
    )
    assert bits_of(one) == bits_of(other)


@given(result_rows(LABELS), st.integers(-20, 20))
def test_a_unit_of_the_evaluating_measure_leaves_the_loss(rows: Rows, power: int) -> None:
    turned = [{**row, "cost": row["cost"] * 2.0**power} for row in rows]
    one, other = (selection_loss(table_of(order), rng=1, n_resamples=3) for order in (rows, turned))
    assert bits_of(one) == bits_of(other)


# Intervals.


def test_intervals_are_reproducible_and_known_only_of_several_data_sets() -> None:
    rng = np.random.default_rng(0)
    table = ResultTable.from_arrays({k: rng.random((9, 4)) for k in ("auc", "ap")})
    one, same, other = (selection_loss(table, rng=seed) for seed in (1, 1, 2))
    for name in ("value", "low", "high"):
        assert getattr(one, name).tobytes() == getattr(same, name).tobytes()
    assert one.low.tobytes() != other.low.tobytes()
    wide = selection_loss(table, rng=1, confidence_level=0.99)
    assert wide.high[0, 1] - wide.low[0, 1] > one.high[0, 1] - one.low[0, 1]

    alone = selection_loss(ResultTable.from_arrays({"auc": [[0.5, 0.6]], "ap": [[0.5, 0.4]]}))
    assert np.isnan(alone.low).all()
    assert np.isnan(alone.high).all()
    assert np.isnan(alone.means["mean"].low).all()
    assert not np.isnan(alone.value).any()


def test_one_data_set_of_many_classes_has_no_interval() -> None:
    values = np.random.default_rng(0).random((5, 2))
    alone = check_resampling(np.zeros(5, int), 0.95, 100, 0).means(values)
    assert np.isnan([alone.low, alone.high]).all()
    assert alone.value == pytest.approx(values.mean(axis=0))
    assert alone.n.tolist() == [5, 5]


def test_classes_of_a_data_set_are_drawn_together() -> None:
    # Three data sets of which one has eight equal classes: a mean is one of few ratios.
    clusters = np.array([0, 1, 1, 1, 1, 1, 1, 1, 1, 2])
    values = np.where(clusters == 1, 1.0, 0.0)[:, None]
    drawn = check_resampling(clusters, 0.95, 500, 0).average(values)
    counts = [(a, b, 3 - a - b) for a in range(4) for b in range(4 - a)]
    possible = {8 * b / (a + 8 * b + c) for a, b, c in counts}
    assert set(drawn.replicates[:, 0].tolist()) == possible
    assert drawn.value[0] == 0.8
    assert (drawn.n[0], drawn.n_clusters[0]) == (10, 3)


@pytest.mark.evidence
@pytest.mark.parametrize(("n_datasets", "least"), [(12, 0.88), (100, 0.92)])
def test_coverage_of_skewed_losses(n_datasets: int, least: float) -> None:
    # Of 95 %, 2000 samples of exponential losses: the standard error of a fraction is 0.006.
    losses = np.random.default_rng(7).standard_exponential((n_datasets, 2000))
    found = check_resampling(np.arange(n_datasets), 0.95, 1000, 0).means(losses)
    assert least < np.mean((found.low <= 1) & (found.high >= 1)) < 0.97


@pytest.mark.evidence
def test_coverage_where_data_sets_have_several_classes() -> None:
    # Classes of a data set lose alike: drawn one by one, they would seem to be more than they are.
    rng = np.random.default_rng(8)
    clusters = np.repeat(np.arange(60), rng.integers(1, 9, 60))
    losses = rng.standard_exponential((60, 1000))[clusters]
    losses += 0.3 * rng.standard_normal(losses.shape)
    covered = []
    for drawn in (clusters, np.arange(len(clusters))):
        found = check_resampling(drawn, 0.95, 500, 0).means(losses)
        covered.append(np.mean((found.low <= 1) & (found.high >= 1)))
    assert covered[0] > 0.9
    assert covered[1] < 0.8

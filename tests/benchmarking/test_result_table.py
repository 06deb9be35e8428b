"""Tables of results: what is read, what is refused, means over folds, missing rows."""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import ResultTable
from fastad.benchmarking.result_table import as_results
from fastad.errors import InvalidInputError
from tests.support.comparison_oracles import as_columns, mean_over_folds, result_rows
from tests.support.loops import loop

TABLE: dict[str, Any] = {
    "dataset": ["a", "a", "b", "b"],
    "detector": ["knn", "lof", "knn", "lof"],
    "auc": [0.9, 0.8, 0.7, 0.6],
    "tpr@0.05": [0.4, 0.5, 0.6, 0.3],
}


def one_cell(folds: list[float]) -> float:
    """The mean over the folds of a model, beside another."""
    other = [0.0] * len(folds)
    return float(ResultTable.from_arrays({"auc": [[folds, other]]}).means("auc")[0, 0])


# Means over folds.


@given(result_rows(["auc", "tpr@0.05"]))
def test_means_and_folds_are_those_of_the_rows(rows: list[dict[str, Any]]) -> None:
    table = ResultTable.from_table(as_columns(rows))
    for label in ("auc", "tpr@0.05"):
        expected = mean_over_folds(rows, label, ("dataset", "anomaly_class"))
        means, by_fold = table.means(label), table.by_fold(label)
        assert means.shape == (len(expected), len(table.models))
        names = list(zip(table.datasets, table.anomaly_classes or (), strict=True))
        for i, problem in enumerate(names):
            for j, model in enumerate(table.models):
                detector, params = model.split()
                exact = expected[problem][detector, int(params)]
                result = float(means[i, j])
                assert math.isnan(result) if exact is None else result == float(exact)
                there: dict[Any, float] = {
                    row["fold"]: row[label]
                    for row in rows
                    if (row["dataset"], row["anomaly_class"]) == problem
                    and (row["detector"], row["params"]) == (detector, int(params))
                }
                cells: list[float] = [there.get(fold, math.nan) for fold in table.folds]
                assert np.array_equal(by_fold[i, j], cells, equal_nan=True)


@given(result_rows(["auc"]))
def test_missing_rows_are_counted_and_named(rows: list[dict[str, Any]]) -> None:
    table = ResultTable.from_table(as_columns(rows), anomaly_class_column="anomaly_class")
    there = {
        (f"{r['dataset']} {r['anomaly_class']}", f"{r['detector']} {r['params']}", r["fold"])
        for r in rows
    }
    full = {(p, m, f) for p in table.problems for m in table.models for f in table.folds}
    assert set(table.missing) == full - there
    assert len(table.missing) == table.n_missing == len(full) - len(rows)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_equal_multisets_of_folds_have_equal_means(
    folds: list[float], shuffler: random.Random
) -> None:
    turned = folds.copy()
    shuffler.shuffle(turned)
    assert one_cell(folds).hex() == one_cell(turned).hex()
    exact = sum(map(Fraction, folds), Fraction(0)) / len(folds)
    # Within a rounding of the mean, and of each fold: it may stand for a fraction next to it.
    roundings = abs(exact) + max(abs(Fraction(fold)) for fold in folds)
    assert abs(Fraction(one_cell(folds)) - exact) <= roundings / 2**53


def test_no_order_of_folds_moves_a_bit_where_rounding_is_heavy() -> None:
    # Errors of 1 and of 1e50 do not fit in one correction.
    orders = itertools.permutations([1e100, -1e100, 1e50, -1e50, 1.0, 0.1])
    assert len({one_cell(list(order)).hex() for order in orders}) == 1


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("folds", "mean"),
    [
        ([1.0, 1e16, 1.0, -1e16], 0.5),  # left to right, 1e16 + 1 + 1 is 1e16
        ([0.1] * 10, 0.1),
        ([NAN, 0.25, 0.5], 0.375),
        ([0.5, NAN, NAN], 0.5),
        ([NAN, NAN], NAN),
        ([INF, 1.0, 2.0], INF),
        ([2.0, -INF, 1.0], -INF),
        ([INF, -INF, 1.0], NAN),
        ([INF, NAN], INF),
        ([5e-324, 5e-324], 5e-324),
        ([-0.0, 0.0], 0.0),
        ([1e308] * 3, 1e308),
        ([-1e308, -1e308, 1.7e308], -1e307),
    ],
)
def test_means_of_some_folds(folds: list[float], mean: float) -> None:
    assert one_cell(folds) == pytest.approx(mean, rel=1e-15, abs=0, nan_ok=True)


# What holds a table.


@pytest.mark.parametrize(
    "frame", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pandas", "polars", "arrow"]
)
def test_tables_of_every_library(frame: Callable[[Any], Any]) -> None:
    table = ResultTable.from_table(frame(TABLE))
    assert table.measure_keys == ["auc", "tpr@0.05"]
    assert table.datasets == ["a", "b"]
    assert table.detectors == table.models == ["knn", "lof"]
    assert table.means("auc").tolist() == [[0.9, 0.8], [0.7, 0.6]]
    assert not table.missing
    assert not table.notes
    assert repr(table) == "<ResultTable of 2 data sets, 2 models, 1 folds: auc, tpr@0.05>"


def test_a_frame_with_an_index_of_its_own() -> None:
    frame = pd.DataFrame(TABLE, index=[7, 7, 3, 1])
    assert ResultTable.from_table(frame).means("auc").tolist() == [[0.9, 0.8], [0.7, 0.6]]


def test_evaluations() -> None:
    y = np.tile([0, 0, 0, 1, 1], 2)
    scores = {"lof": np.arange(10.0), "knn": np.cos(np.arange(10.0))}
    groups = {"dataset": ["a"] * 5 + ["b"] * 5}
    table = ResultTable.from_table(fastad.evaluate(y, scores, groups=groups))
    for i, rows in enumerate((slice(0, 5), slice(5, 10))):
        for j, name in enumerate(("knn", "lof")):
            expected = fastad.roc_auc(y[rows], scores[name][rows])
            assert table.means("auc")[i, j] == expected
    assert table.datasets == ["a", "b"]
    assert "tpr@0.05" in table.measure_keys
    assert not any(name.startswith(("threshold", "n_", "flagged")) for name in table.measure_keys)

    alone = ResultTable.from_table(fastad.evaluate(y, scores), dataset_columns=[])
    assert alone.n_datasets == 1
    assert alone.means("auc")[0, 0] == fastad.roc_auc(y, scores["knn"])


@pytest.mark.parametrize(
    "column",
    [
        [0.9, None, 1, 0],
        np.array([0.9, None, 1, 0], object),
        np.array([0.9, pd.NA, True, False], object),
        pd.array([0.9, pd.NA, 1, 0], "Float64"),
        pd.Series([0.9, None, 1, 0]),
        pd.array([0.9, pd.NA, 1, 0], "double[pyarrow]"),
        pl.Series([0.9, None, 1.0, 0.0]),
        pa.array([0.9, None, 1.0, 0.0]),
        pa.chunked_array([[0.9, None], [1.0, 0.0]]),
    ],
)
def test_missing_values_become_undefined(column: Any) -> None:
    table = ResultTable.from_table({**TABLE, "auc": column})
    expected = np.array([[0.9, math.nan], [1, 0]])
    assert np.array_equal(table.means("auc"), expected, equal_nan=True)
    assert table.notes == ["nan: auc is undefined in 1 of 4 rows"]


@pytest.mark.parametrize(
    "column",
    [
        [True, False, False, True],
        pd.array([True, False, False, True], "boolean"),
        np.array([1, 0, 0, 1], np.uint8),
        np.array([1, 0, 0, 1], np.float16),
        np.array([1, 0, 0, 1], ">f4"),
        pd.array([1, 0, 0, 1], "Int64"),
        pl.Series([True, False, False, True]),
        np.array([1, 9, 0, 9, 0, 9, 1, 9], np.float64)[::2],
    ],
)
def test_numbers_of_every_type(column: Any) -> None:
    assert ResultTable.from_table({**TABLE, "auc": column}).means("auc").tolist() == [
        [1, 0],
        [0, 1],
    ]


def test_float32_columns_keep_their_values() -> None:
    column = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    means = ResultTable.from_table({**TABLE, "auc": column}).means("auc")
    assert means.reshape(-1).tolist() == column.astype(float).tolist()


@loop(
    "column",
    [
        ["y", "x"],
        pd.Categorical(["y", "x"], categories=["z", "y", "x"]),
        pd.array(["y", "x"], "string"),
        pl.Series(["y", "x"], dtype=pl.Categorical),
        pl.Series(["y", "x"], dtype=pl.Enum(["y", "x"])),
        pa.array(["y", "x"]).dictionary_encode(),
        np.array(["y", "x"], object),
    ],
)
@loop("key", ["dataset", "detector", "params", "fold", "anomaly_class"])
def test_names_of_every_type(column: Any, key: str) -> None:
    base = {"dataset": ["d", "d"], "detector": ["k", "l"], "auc": [0.25, 0.5], key: column}
    if key == "params":
        base["detector"] = ["k", "k"]
    table = ResultTable.from_table(base)
    results = {
        "dataset": table.datasets,
        "detector": table.models,
        "params": [model.split()[1] for model in table.models if " " in model],
        "fold": table.folds,
        "anomaly_class": table.anomaly_classes,
    }
    assert results[key] == ["x", "y"]
    assert np.nansum(table.by_fold("auc")) == 0.75
    # x is the second row.
    at_x: dict[str, Any] = {"dataset": np.s_[0], "fold": np.s_[:, :, 0], "anomaly_class": np.s_[0]}
    assert np.nansum(table.by_fold("auc")[at_x.get(key, np.s_[:, 0])]) == 0.5


def test_rates_of_contamination_may_be_parameters_or_folds() -> None:
    columns: dict[str, Any] = {
        "collection": ["a"] * 4,
        "contamination": [0.0, 0.0, 0.1, 0.1],
        "dataset": ["d"] * 4,
        "detector": ["knn", "lof"] * 2,
        "auc": [0.9, 0.8, 0.7, 0.6],
    }
    left_out = "left out: rows of contamination 0.1; those of 0 are compared"
    assert ResultTable.from_table(columns).notes == [left_out]
    table = ResultTable.from_table(columns, params_columns="contamination")
    assert table.means("auc").tolist() == [[0.9, 0.7, 0.8, 0.6]]
    table = ResultTable.from_table(columns, fold_columns=["contamination"])
    assert (table.folds, table.notes) == ([0.0, 0.1], [])
    for column, says in (
        (["low", "high"] * 2, r"table\['contamination'\] must be a column of numbers"),
        ([0, 1], "found 4 rows of 'collection' and 2 of 'contamination'"),
    ):
        with pytest.raises(InvalidInputError, match=says):
            ResultTable.from_table({**columns, "contamination": column})


def test_several_columns_make_a_name() -> None:
    rows = [
        {"set": s, "size": n, "detector": "knn", "k": k, "metric": m, "seed": seed, "split": split}
        | {"auc": 100 * (s == "b") + 10 * n + k + seed / 4}
        for s, n in (("a", 1), ("a", 2), ("b", 1))
        for k, m in ((3, "l1"), (5, None))
        for seed in (0, 1)
        for split in ("x", "y")
    ]
    columns = as_columns(rows)
    table = ResultTable.from_table(
        columns,
        dataset_columns=["set", "size"],
        params_columns=("k", "metric"),
        fold_columns=["seed", "split"],
    )
    assert table.datasets == [("a", 1), ("a", 2), ("b", 1)]
    assert table.problems == ["a 1", "a 2", "b 1"]
    assert table.models == ["knn k=3, metric=l1", "knn k=5"]
    assert table.folds == [(0, "x"), (0, "y"), (1, "x"), (1, "y")]
    assert table.means("auc").tolist() == [[13.125, 15.125], [23.125, 25.125], [113.125, 115.125]]
    assert table.by_fold("auc")[2, 0].tolist() == [113, 113, 113.25, 113.25]


def test_parameters_may_be_missing_and_integers_are_the_same_string() -> None:
    base = {"dataset": ["d"] * 3, "detector": ["knn", "knn", "if"], "auc": [0.1, 0.2, 0.3]}
    for k in ([3, 51, None], [3.0, 51.0, math.nan], pd.array([3, 51, pd.NA], "Int64")):
        table = ResultTable.from_table({**base, "params": k})
        assert table.models == ["if", "knn 3", "knn 51"]
        assert table.means("auc").tolist() == [[0.3, 0.1, 0.2]]
        assert table.detectors == ["if", "knn"]
        assert table.detector_of.tolist() == [0, 1, 1]


def test_clusters_are_data_sets() -> None:
    rows = {
        "dataset": ["b", "b", "a", "a", "b", "b"],
        "anomaly_class": [1, 1, 1, 1, 2, 2],
        "detector": ["k", "l"] * 3,
        "auc": [0.5] * 6,
    }
    table = ResultTable.from_table(rows)
    assert table.problems == ["a 1", "b 1", "b 2"]
    assert table.clusters.tolist() == [0, 1, 1]


# Measures.


def test_which_columns_are_measures() -> None:
    names = ["auc", "tpr@0.05", "em", "mv", "vol@0.1", "cvol@0.01", "auc@7", "fit_time_s", "AUC"]
    table = ResultTable.from_table({**TABLE, **{name: [1, 2, 3, 4] for name in names}})
    results = {one.key: (one.higher_is_better, one.rate, one.sign) for one in table.measures}
    assert results == {
        "auc": (True, None, 1.0),
        "tpr@0.05": (True, Fraction(1, 20), 1.0),
        "em": (True, None, 1.0),
        "mv": (False, None, -1.0),
        "vol@0.1": (False, Fraction(1, 10), -1.0),
        "cvol@0.01": (True, Fraction(1, 100), 1.0),
    }


def test_measures_are_read_in_the_given_order() -> None:
    table = {**TABLE, "cost@0.05": [1, 2, 3, 4]}
    read = ResultTable.from_table(
        table, measures=["cost@0.05", "auc", "auc"], higher_is_better={"cost@0.05": False}
    )
    assert read.measure_keys == ["cost@0.05", "auc"]
    assert read.measure("cost@0.05").rate == Fraction(1, 20)
    assert not read.measure("cost@0.05").higher_is_better
    with pytest.raises(InvalidInputError, match=r"measure must be one of cost@0\.05, auc; found"):
        read.measure("tpr@0.05")


def test_a_measure_may_name_a_key() -> None:
    table = {**TABLE, "auc": ["x", "x", "y", "y"]}
    read = ResultTable.from_table(table, dataset_columns="auc")
    assert read.datasets == ["x", "y"]
    assert read.measure_keys == ["tpr@0.05"]


def test_as_results() -> None:
    table = ResultTable.from_table(TABLE)
    assert as_results(table, None) is table
    part = as_results(table, ["tpr@0.05", "tpr@0.05"])
    assert part.measure_keys == ["tpr@0.05"]
    assert part.means("tpr@0.05").tolist() == table.means("tpr@0.05").tolist()
    assert table.measure_keys == ["auc", "tpr@0.05"]
    assert as_results(TABLE, ["auc"]).measure_keys == ["auc"]


def test_means_are_kept_and_cannot_be_written() -> None:
    table = ResultTable.from_table(TABLE)
    assert table.means("auc") is table.means("auc")
    with pytest.raises(ValueError, match="read-only"):
        table.means("auc")[0, 0] = 0


def test_notes_name_the_first_missing_rows() -> None:
    values = np.full((2, 3, 2), 0.6)
    whole = ResultTable.from_arrays({"auc": values}, datasets=["a", "b"], detectors=list("klm"))
    assert whole.notes == []
    rows = [
        {"dataset": d, "detector": m, "fold": f, "auc": math.nan if (d, m) == ("b", "m") else 0.6}
        for d in "ab"
        for m in "klm"
        for f in range(2)
        if (d, m) not in (("a", "l"), ("b", "k"))
    ]
    table = ResultTable.from_table(as_columns(rows))
    assert table.notes == [
        "missing: 4 of 12 rows (a, l, fold 0; a, l, fold 1; b, k, fold 0; …)",
        "nan: auc is undefined in 2 of 8 rows",
    ]
    rows.append({"dataset": "a", "detector": "l", "fold": 0, "auc": 0.6})
    three = ResultTable.from_table(as_columns(rows)).notes[0]
    assert three == "missing: 3 of 12 rows (a, l, fold 1; b, k, fold 0; b, k, fold 1)"


def test_areas_that_look_like_a_mistake_are_noted_in_every_table() -> None:
    auc = [[[0.5, 0.5], [0.2, 0.3], [0.9, 0.3]], [[0.6, 0.7], [0.1, 0.39], [0.9, 0.5]]]
    table = ResultTable.from_arrays(
        {"auc": auc}, datasets=["x", "y"], detectors=["equal", "turned", "good"]
    )
    notes = [
        "auc is exactly 0.5 in all folds, as of scores that are all equal: x, equal",
        "auc of turned is below 0.4 wherever it is defined: the orientation of the scores may be "
        "reversed (higher must be more anomalous)",
    ]
    assert table.notes == notes
    for function in (
        fastad.benchmarking.average_ranks,
        fastad.benchmarking.nemenyi,
        fastad.benchmarking.mean_values,
    ):
        assert set(notes) <= set(function(table).notes)
    assert not fastad.ResultTable.from_arrays({"ap": auc}).notes

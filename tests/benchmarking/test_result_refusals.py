"""Tables of results that are refused, and tables made of arrays."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from fastad import ResultTable
from fastad.benchmarking import average_ranks
from fastad.errors import InvalidInputError
from tests.benchmarking.test_result_table import TABLE
from tests.support.loops import loop

MASKED = np.ma.array([0.1, 0.2, 0.3, 0.4], mask=[True, False, False, False])

REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"auc": list("wxyz")}, {}, r"table\['auc'\] must be a column of numbers; found <U1"),
    ({"auc": ["0.1", "0.2", "0.3", "0.4"]}, {}, r"table\['auc'\] must be a column of numbers"),
    ({"auc": [0.1, None, "0.3", 0.4]}, {}, r"table\['auc'\] must be a column of numbers"),
    ({"auc": [1j, 2, 3, 4]}, {}, r"table\['auc'\] .* found complex128 of shape \(4,\)"),
    ({"auc": np.array([1, 2, 3, 4], "M8[D]")}, {}, r"table\['auc'\] .* found datetime64"),
    ({"auc": np.array([1, 2, 3, 4], "m8[s]")}, {}, r"table\['auc'\] .* found timedelta64"),
    ({"auc": np.ones((4, 1))}, {}, r"table\['auc'\] .* of shape \(4, 1\)"),
    ({"auc": [[1], [2, 3], 4, 5]}, {}, r"table\['auc'\] must be a column of numbers"),
    ({"auc": [10**400, 2, 3, 4]}, {}, r"table\['auc'\] must be a column of numbers"),
    ({"auc": [0.1, 0.2, 0.3]}, {}, "columns of one length; found 4 rows of 'dataset' and 3 of"),
    ({"auc": 0.5}, {}, r"table\['auc'\] must be a column; found float"),
    ({"auc": MASKED, "fold": [0, 1, 2, 3]}, {}, r"table\['auc'\] must not be a masked array"),
    ({"dataset": MASKED, "fold": [0, 1, 2, 3]}, {}, r"table\['dataset'\] must not be a masked"),
    ({"dataset": np.ones((4, 1))}, {}, r"table\['dataset'\] must .* found shape \(4, 1\)"),
    ({"dataset": ["a", None, "b", "b"]}, {}, r"\['dataset'\] .* found 1, the first at index 1"),
    ({"detector": ["k", "k", None, "l"]}, {}, r"table\['detector'\] .* the first at index 2"),
    ({"fold": [0, 1, 2, math.nan]}, {}, r"table\['fold'\] .* found 1, the first at index 3"),
    ({"params": np.ones((4, 1))}, {}, r"table\['params'\] must be a column; found shape \(4, 1\)"),
    ({"detector": ["k"] * 4, "dataset": list("abcd")}, {}, "two models to compare; found 1"),
    ({"detector": ["k", "k", "k", "l"]}, {}, "1 repeated row, the first at row 1: a, k, fold"),
    ({"detector": ["k", "l", "k", "k"], "fold": [3, 3, 7, 7], "params": list("aabb")}, {},
     "once; found 1 repeated row, the first at row 3: b, k b, fold 7"),
    ({}, {"measures": ["auc", "f1@0.05"]}, "measures must name .* auc, tpr@0.05; found 'f1@0.05'"),
    ({}, {"measures": ["dataset"]}, "measures must name columns .* found 'dataset'"),
    ({}, {"measures": []}, "measures must name at least one measure; found none"),
    ({"x": [1] * 4}, {"measures": ["x"]}, "measures must be known, .* found 'x'"),
    ({}, {"higher_is_better": {"x": True}}, "higher_is_better must name columns .* found 'x'"),
    ({}, {"dataset_columns": "set"},
     "dataset_columns must name a column of the table; found 'set', and the"),
    ({}, {"detector_column": "algorithm"},
     "detector_column must name a column .* found 'algorithm'"),
    ({}, {"params_columns": ["k"]},
     "params_columns must name a column .* found 'k'"),
    ({}, {"fold_columns": ("detector", "split")},
     "fold_columns must name a column .* found 'split'"),
    ({}, {"anomaly_class_column": "class"},
     "anomaly_class_column must name a column .* found 'class'"),
]  # fmt: skip


@loop(("columns", "options", "message"), REFUSED)
def test_tables_that_are_refused(
    columns: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ResultTable.from_table({**TABLE, **columns}, **options)


def test_tables_without_rows_or_measures() -> None:
    with pytest.raises(InvalidInputError, match="table must not be empty; found no row"):
        ResultTable.from_table({name: [] for name in TABLE})
    with pytest.raises(InvalidInputError, match="at least one column"):
        ResultTable.from_table({})
    with pytest.raises(InvalidInputError, match="must have a column of a measure"):
        ResultTable.from_table({"dataset": ["a"] * 2, "detector": ["k", "l"], "x": [1, 2]})
    with pytest.raises(InvalidInputError, match="dataset_columns must name a column"):
        ResultTable.from_table({"detector": ["k", "l"], "auc": [1, 2]})
    with pytest.raises(InvalidInputError, match=r"^table must .* in memory; found a LazyFrame"):
        ResultTable.from_table(pl.LazyFrame(TABLE))
    with pytest.raises(InvalidInputError, match=r"^results must .* in memory; found a LazyFrame"):
        average_ranks(pl.LazyFrame(TABLE))


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (3, {}, "table must be a data frame, .* found int"),
        ([TABLE], {}, "table must be a data frame, .* found list"),
        (TABLE, {"measures": "auc"}, "measures must be a sequence of keys; found 'auc' alone"),
        (TABLE, {"higher_is_better": ["auc"]}, "higher_is_better must map .* found list"),
        (TABLE, {"higher_is_better": {"auc": 1}}, r"higher_is_better\['auc'\] must be True or Fal"),
        (TABLE, {"higher_is_better": {"auc": "no"}}, r"higher_is_better\['auc'\] .* found str"),
        (TABLE, {"measures": 3}, "measures must be a sequence of keys; found 3"),
        (TABLE, {"measures": [["auc"]]}, r"measures must contain keys; found \['auc'\]"),
        (
            TABLE,
            {"dataset_columns": 3},
            "dataset_columns must be the name of a column, or several; found 3",
        ),
        (
            TABLE,
            {"detector_column": ["detector"]},
            r"detector_column must be the name .* found \['detector'\]",
        ),
    ],
)
def test_arguments_of_another_type(table: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}"):
        ResultTable.from_table(table, **options)


# Arrays.


def test_arrays_with_names() -> None:
    auc = np.arange(12).reshape(2, 3, 2) / 16
    cost = 1 - auc
    table = ResultTable.from_arrays(
        {"auc": auc, "cost": cost},
        datasets=[("z", 1), ("a", 2)],
        detectors=["b", "b", "a"],
        params=["k=1", "k=2", "k=1"],
        higher_is_better={"cost": False},
    )
    assert table.problems == ["a 2", "z 1"]
    assert table.models == ["a k=1", "b k=1", "b k=2"]
    assert table.folds == [0, 1]
    assert table.by_fold("auc").tolist() == auc[::-1, [2, 0, 1]].tolist()
    assert table.means("cost").tolist() == cost[::-1, [2, 0, 1]].mean(axis=2).tolist()
    assert [one.higher_is_better for one in table.measures] == [True, False]


def test_arrays_without_names() -> None:
    auc = np.random.default_rng(0).random((3, 12))
    table = ResultTable.from_arrays({"auc": auc})
    assert table.datasets == [0, 1, 2]
    assert table.models == [str(i) for i in range(12)]
    assert table.means("auc").tolist() == auc.tolist()


@loop(
    ("values", "options", "message"),
    [
        ({}, {}, "values must contain at least one measure; found none"),
        ({"auc": [1, 2]}, {}, r"values\['auc'\] must have shape .* found \(2,\)"),
        ({"auc": np.zeros((1, 2, 3, 4))}, {}, r"values\['auc'\] .* found \(1, 2, 3, 4\)"),
        ({"auc": np.zeros((0, 2))}, {}, r"values\['auc'\] .* found \(0, 2\)"),
        ({"auc": [[1, 2]], "ap": [[1, 2, 3]]}, {}, r"values\['ap'\] .* \(1, 3\) and \(1, 2\)"),
        ({"auc": [[1]]}, {}, "at least two models to compare; found 1"),
        ({"auc": [[1, 2]]}, {"datasets": ["a", "b"]}, "datasets must have 1 name; found 2"),
        ({"auc": [[1, 2]]}, {"detectors": ["a"]}, "detectors must have 2 names; found 1"),
        ({"auc": [[1, 2]]}, {"params": ["a"] * 3}, "params must have 2 names; found 3"),
        ({"auc": [[1, 2, 3]]}, {"detectors": list("aab")}, "1 repeated row, .* 0, a, fold 0"),
        ({"auc": [[1, 2], [3, 4]]}, {"datasets": ["a", "a"]}, "2 repeated rows, .* a, 0, fold 0"),
        ({"x": [[1, 2]]}, {}, "measures must be known, .* found 'x'"),
        ({"auc": [["1", "2"]]}, {}, r"values\['auc'\] must be an array of numbers; found <U1"),
        ({"auc": [[1, 2], [1]]}, {}, r"values\['auc'\] must be an array of numbers"),
        ({"auc": [[1j, 2]]}, {}, r"values\['auc'\] must be an array of numbers; found complex"),
        ({"auc": MASKED[None]}, {}, r"values\['auc'\] must not be a masked array"),
    ],
)
def test_arrays_that_are_refused(values: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ResultTable.from_arrays(values, **options)


def test_arrays_and_names_of_another_type() -> None:
    with pytest.raises(TypeError, match="values must map keys to arrays; found list"):
        ResultTable.from_arrays([1, 2])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="datasets must be a sequence of names; found 3"):
        ResultTable.from_arrays({"auc": [[1, 2]]}, datasets=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("label", ["dataset", "detector", "fold", "params"])
def test_an_array_cannot_take_the_place_of_a_key(label: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"values.*'{label}'"):
        ResultTable.from_arrays({label: [[1, 2]]}, higher_is_better={label: True})

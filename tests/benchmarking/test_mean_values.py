"""``mean_values``: mean and standard deviation over folds, and which detector is marked."""

import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad.benchmarking import mean_values

nan = math.nan


def table_of(values: Any, label: str = "auc", **names: Any) -> fastad.ResultTable:
    return fastad.ResultTable.from_arrays({label: values}, **names)


def marked(result: fastad.benchmarking.MeanValues) -> list[list[str]]:
    """Names of the detectors with the first mark, row by row."""
    head = result.text_table().header
    return [
        [name for name, mark in zip(head[1:], marks, strict=True) if mark == 1]
        for marks in result.text_table().marks
    ]


@pytest.mark.slow
@given(st.data())
def test_values_are_the_definition(data: st.DataObject) -> None:
    """Of the rates k/10, or none, of five models of three detectors: the sums are exact."""
    detectors = ["a", "a", "b", "c", "c"]
    rate = st.one_of(st.integers(0, 10).map(lambda k: k / 10), st.just(nan))
    fold = st.lists(rate, min_size=3, max_size=3)
    values = data.draw(
        st.lists(st.lists(fold, min_size=5, max_size=5), min_size=1, max_size=3), label="values"
    )
    label, higher = data.draw(st.sampled_from([("auc", True), ("fpr@tpr0.9", False)]))
    params = ["1", "2", "", "1", "2"]
    result = mean_values(table_of(values, label, detectors=detectors, params=params))
    for i, row in enumerate(values):
        exact: list[Fraction | None] = []
        for j, name in enumerate("abc"):
            models = [
                [one for one in row[m] if one == one] for m in range(5) if detectors[m] == name
            ]
            sums = [
                sum((Fraction(round(10 * one), 10) for one in model), Fraction()) / len(model)
                for model in models
                if model
            ]
            if not sums:
                exact.append(None)
                assert math.isnan(result.mean[0, i, j])
                assert (result.n_folds[0, i, j], result.model_of[0, i, j]) == (0, -1)
                continue
            best = max(sums) if higher else min(sums)
            exact.append(best)
            model = [model for model in models if model][sums.index(best)]
            assert result.mean[0, i, j] == float(best)
            assert result.n_folds[0, i, j] == len(model)
            if len(model) > 1:
                wanted = statistics.stdev(Fraction(round(10 * one), 10) for one in model)
                assert result.std[0, i, j] == pytest.approx(float(wanted), rel=1e-9, abs=1e-15)
            else:
                assert math.isnan(result.std[0, i, j])
        defined = [one for one in exact if one is not None]
        top = (max(defined) if higher else min(defined)) if defined else None
        best_names = [
            name for name, one in zip("abc", exact, strict=True) if one is not None and one == top
        ]
        assert marked(result)[i] == best_names


def test_the_best_is_marked_by_the_direction_of_the_measure() -> None:
    values = [[[0.2], [0.4]], [[0.6], [0.4]]]
    names: dict[str, Any] = {"detectors": ["knn", "lof"]}
    assert marked(mean_values(table_of(values, **names))) == [["lof"], ["knn"]]
    assert marked(mean_values(table_of(values, "fpr@tpr0.9", **names))) == [["knn"], ["lof"]]
    result = mean_values(table_of(values, "hours", **names, higher_is_better={"hours": False}))
    assert marked(result) == [["knn"], ["lof"]]


def test_equal_sums_of_rates_share_the_mark() -> None:
    """0.1 + 0.7 is not 0.4 + 0.4 in floats."""
    result = mean_values(table_of([[[0.1, 0.7], [0.4, 0.4]]], detectors=["knn", "lof"]))
    assert marked(result) == [["knn", "lof"]]
    assert result.text_table().rows == [["auc", "0", "0.4000 ± 0.4243", "0.4000 ± 0.0000"]]


def test_cells_that_lack_folds_are_named() -> None:
    values = [[[0.5, nan], [nan, nan]], [[0.5, 0.7], [0.6, 0.8]]]
    result = mean_values(table_of(values, datasets=["d0", "d1"], detectors=["knn", "lof"]))
    assert result.notes == ["auc: 2 of 4 values are of fewer than 2 folds (d0, knn: 1; d0, lof: 0)"]
    assert result.text_table().rows[0] == ["auc", "d0", "0.5000", "-"]
    assert result.to_columns()["model"] == ["knn", None, "knn", "lof"]
    for text in (str(result), result.to_markdown(), result.to_latex()):
        assert result.notes[0] in text


def test_a_missing_row_is_named_and_leaves_the_value() -> None:
    rows = {"dataset": ["d", "d", "d"], "detector": ["a", "a", "b"], "fold": [0, 1, 0]}
    result = mean_values({**rows, "auc": [0.5, 0.7, 0.9]})
    assert result.notes[0] == "missing: 1 of 4 rows (d, b, fold 1)"
    assert result.n_folds.tolist() == [[[2, 1]]]


def test_classes_of_anomalies_have_rows_of_their_own() -> None:
    rows: dict[str, list[Any]] = {
        "dataset": ["d"] * 4,
        "anomaly_class": ["x", "x", "y", "y"],
        "detector": ["a", "b"] * 2,
        "auc": [0.5, 0.6, 0.8, 0.7],
    }
    result = mean_values(rows)
    assert marked(result) == [["b"], ["a"]]
    assert result.to_columns()["anomaly_class"] == ["x", "x", "y", "y"]
    assert result.to_columns()["mean"] == [0.5, 0.6, 0.8, 0.7]


def test_infinite_values_have_no_deviation() -> None:
    result = mean_values(table_of([[[math.inf, math.inf], [0.5, 0.5]]], "em"))
    assert marked(result) == [["0"]]
    assert math.isnan(result.std[0, 0, 0])
    assert result.std[0, 0, 1] == 0


@pytest.mark.parametrize("unit", [2.0**-700, 2.0**700])
def test_deviations_neither_vanish_nor_overflow(unit: float) -> None:
    values = np.random.default_rng(0).uniform(size=(2, 3, 4))
    result = mean_values(table_of(values * unit, "vol@0.05"))
    expected = mean_values(table_of(values, "vol@0.05"))
    np.testing.assert_allclose(result.std, expected.std * unit, rtol=1e-12)


def test_markdown_and_latex_mark_the_best() -> None:
    result = mean_values(table_of([[0.5, 0.6]], datasets=["wine"], detectors=["a", "b"]))
    assert "| auc | wine | 0.5000 | **0.6000** |" in result.to_markdown()
    assert r"auc & wine & 0.5000 & \cellcolor[gray]{0.70}0.6000 \\" in result.to_latex()

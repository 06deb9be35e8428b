"""Groups: each is evaluated as if it stood alone."""

import datetime
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import fastad
from fastad import InvalidInputError, streaming

N = 600
RNG = np.random.default_rng(20260101)
Y = RNG.random(N) < 0.2
SCORES: dict[str, Any] = {
    "a": np.round(RNG.normal(size=N) + Y, 1),
    "b": RNG.normal(size=N).astype(np.float32) + Y,
}
DATASET = RNG.choice(["wine", "iris", "cover"], N)
FOLD = RNG.integers(-1, 3, N)
COLUMNS = {"dataset": DATASET, "fold": FOLD}


def assert_alone(
    result: Any, key: Any, rows: npt.NDArray[np.bool_], weights: Any = None, **options: Any
) -> None:
    """The values of one group are those of its rows alone, bit for bit."""
    alone = fastad.evaluate(
        Y[rows],
        {name: values[rows] for name, values in SCORES.items()},
        sample_weight=None if weights is None else weights[rows],
        **options,
    )
    assert list(result[key]) == list(alone)
    for name, expected in alone.items():
        estimate = result[key][name]
        assert estimate.to_dict() == expected.to_dict()


@pytest.mark.parametrize("weights", [None, RNG.integers(0, 3, N), RNG.random(N) + 0.1])
def test_each_group_has_the_values_that_its_rows_have_alone(weights: Any) -> None:
    result = fastad.evaluate(Y, SCORES, groups=COLUMNS, sample_weight=weights)
    keys = sorted(set(zip(DATASET.tolist(), FOLD.tolist(), strict=True)))
    assert list(result) == keys
    for dataset, fold in keys:
        assert_alone(result, (dataset, fold), (dataset == DATASET) & (fold == FOLD), weights)


@pytest.mark.parametrize(
    "scores",
    [
        SCORES["a"],
        SCORES["a"].astype(np.float16),
        (SCORES["a"] * 10).astype(np.int64) * 2**55,
        np.where(np.arange(N) % 2, 1e300, -1e-300) * (1 + np.arange(N)),
    ],
    ids=["float64", "float16", "wide integers", "wide floats"],
)
def test_the_area_of_each_group_is_that_of_its_rows(scores: npt.NDArray[Any]) -> None:
    result = fastad.evaluate(Y, scores, groups=FOLD, measures=["auc"])
    for fold in np.unique(FOLD).tolist():
        alone = fastad.rank_scores(Y[fold == FOLD], scores[fold == FOLD])
        estimate = result[fold]["score"]
        assert estimate["auc"] == alone.roc_auc()
        assert estimate.tied_fraction == alone.tied_fraction
        assert (estimate.n_anomalies, estimate.n_normals) == (alone.n_anomalies, alone.n_normals)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 4), st.integers(-3, 3), st.sampled_from("xy")),
        min_size=1,
        max_size=40,
    )
)
def test_groups_of_any_shape_equal_their_rows_alone(rows: list[tuple[bool, int, int, str]]) -> None:
    y, s, first, second = (np.array(column) for column in zip(*rows, strict=True))
    result = fastad.evaluate(y, s, groups={"first": first, "second": second}, fpr=0.3)
    assert sum(int(r["score"].n_anomalies + r["score"].n_normals) for r in result.values()) == len(
        y
    )
    for (one, two), estimate in result.items():
        kept = (first == one) & (second == two)
        alone = fastad.evaluate(y[kept], s[kept], fpr=0.3)
        assert estimate["score"].to_dict() == alone["score"].to_dict()


@pytest.mark.parametrize(
    "column",
    [
        [str(name) for name in DATASET],
        pd.Series(DATASET, dtype="string"),
        pd.Series(pd.Categorical(DATASET)),
        pl.Series(DATASET.tolist()),
        pa.array(DATASET.tolist()),
        pa.chunked_array([DATASET[:100].tolist(), DATASET[100:].tolist()]),
    ],
    ids=["list", "pandas", "categorical", "polars", "arrow", "chunked"],
)
def test_columns_of_every_library_name_the_same_groups(column: Any) -> None:
    expected = fastad.evaluate(Y, SCORES, groups=DATASET).to_dict()
    assert fastad.evaluate(Y, SCORES, groups=column).to_dict() == expected


@pytest.mark.parametrize("values", [DATASET.astype(object), FOLD, FOLD / 4, FOLD > 0])
@pytest.mark.parametrize("argument", ["groups", "kinds", "segments"])
def test_categories_are_the_values_that_they_stand_for(
    argument: str, values: npt.NDArray[Any]
) -> None:
    """In whatever order they stand, and with some that do not occur."""
    kept = values != values[0]
    expected = fastad.evaluate(Y[kept], SCORES["b"][kept], **{argument: values[kept]})
    column = pd.Series(pd.Categorical(values, np.unique(values)[::-1]))[kept]
    for each in (column, column.array):
        result = fastad.evaluate(Y[kept], SCORES["b"][kept], **{argument: each})
        assert str(result) == str(expected)


@pytest.mark.parametrize("wrap", [np.array, list, pd.Series, pl.Series, pa.array])
def test_groups_of_booleans_are_named_by_booleans(wrap: Any) -> None:
    result = fastad.evaluate(Y, SCORES["a"], groups=wrap((FOLD > 0).tolist()), measures=["auc"])
    assert [*map(repr, result)] == ["False", "True"]
    assert json.loads(result.to_json())["detectors"][0]["group"] == {"group": False}


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates_of_any_unit_name_groups(unit: str) -> None:
    """Those in nanoseconds, which pandas makes, were integers."""
    days = np.array(["2024-01-02", "2024-01-01"], "datetime64[D]")
    groups = np.repeat(days, 2).astype(f"datetime64[{unit}]")
    names = list(fastad.evaluate([0, 1, 0, 1], [1, 2, 4, 3], groups=groups, measures=["auc"]))
    assert [np.datetime64(name, "D") for name in names] == sorted(days)
    assert all(isinstance(name, datetime.date) for name in names)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "+01:00"])
@pytest.mark.parametrize("source", ["pandas", "polars", "arrow", "file"])
def test_times_of_a_zone_name_groups_in_that_zone(source: str, zone: str, tmp_path: Path) -> None:
    """Midnights of Berlin were the evenings before, in no zone."""
    utc = np.array(["2026-03-02T23:00", "2026-03-01T23:00"], "M8[us]").repeat(2)
    rows = pa.array(utc).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone))
    names = names_of_groups(rows, source, tmp_path)
    assert list(map(str, names)) == ["2026-03-02 00:00:00+01:00", "2026-03-03 00:00:00+01:00"]


@pytest.mark.parametrize("source", ["pandas", "polars", "arrow", "file"])
def test_times_that_clocks_show_twice_are_two_groups(source: str, tmp_path: Path) -> None:
    """Datetimes of one zone are equal if clocks show the same."""
    utc = np.datetime64("2026-10-25T00:30", "us") + np.arange(4) * np.timedelta64(30, "m")
    rows = (
        pa.array(utc.repeat(2))
        .cast(pa.timestamp("us", "UTC"))
        .cast(pa.timestamp("us", "Europe/Berlin"))
    )
    names = names_of_groups(rows, source, tmp_path)
    shown = ["02:30:00+02:00", "02:00:00+01:00", "02:30:00+01:00", "03:00:00+01:00"]
    assert [str(name).split()[1] for name in names] == shown


def names_of_groups(rows: Any, source: str, folder: Path) -> list[Any]:
    """Return the names of the groups of rows that come as a column, or in a file."""
    y, s = [0, 1] * (len(rows) // 2), list(range(len(rows)))
    if source == "file":
        parquet.write_table(pa.table({"y": y, "s": s, "time": rows}), folder / "times.parquet")
        given: dict[str, Any] = {"score_columns": "s", "group_columns": "time", "measures": "auc"}
        return [name for name, _ in streaming.evaluate(folder / "times.parquet", **given)]
    makes: dict[str, Any] = {"pandas": lambda x: x.to_pandas(), "polars": pl.from_arrow}
    result = fastad.evaluate(y, s, groups=makes.get(source, lambda x: x)(rows), measures=["auc"])
    assert len(result.to_frame("pandas")) == len(rows) // 2
    return list(result)


def test_objects_without_an_order_stand_as_they_come() -> None:
    for names in ([(Decimal("NaN"), 1), (2, 1)], [frozenset({2}), frozenset({1})], [2, "a"]):
        groups = np.empty(4, object)
        groups[:] = names * 2
        assert list(fastad.evaluate([0, 0, 1, 1], [1, 2, 3, 4], groups=groups)) == names


def test_objects_name_groups_in_their_order() -> None:
    days = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)] * 2
    for groups in (days, pd.Series(days), pl.Series(days)):
        assert list(fastad.evaluate([0, 0, 1, 1], [1, 2, 3, 4], groups=groups)) == days[1::-1]


def test_dates_finer_than_python_s_stay_apart() -> None:
    groups = np.array([1, 1, 2, 2], "datetime64[ns]")
    names = list(fastad.evaluate([0, 1, 0, 1], [1, 2, 4, 3], groups=groups, measures=["auc"]))
    assert names == [groups[0], groups[2]]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_of_columns_is_several_groups(library: Any) -> None:
    expected = fastad.evaluate(Y, SCORES, groups=COLUMNS)
    plain = {"dataset": DATASET.tolist(), "fold": FOLD.tolist()}
    make: Any = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library]
    result = fastad.evaluate(Y, SCORES, groups=make(plain))
    assert result.to_dict() == expected.to_dict()
    frame = result.to_frame(library)
    assert list(getattr(frame, "column_names", None) or frame.columns)[:3] == [
        "dataset",
        "fold",
        "detector",
    ]
    assert len(frame) == 2 * len(expected)


def test_a_group_with_one_class_is_undefined_and_counted() -> None:
    groups = np.where(Y & (FOLD == 0), 9, FOLD)
    for measures in (None, ["auc"]):
        result = fastad.evaluate(Y, SCORES["a"], groups=groups, measures=measures)
        for key in (0, 9):
            assert math.isnan(result[key]["score"]["auc"])
            assert "undefined" in result[key]["score"].undefined["auc"]
        assert result.n_undefined["auc"] == 2
        assert "in 2 of 5 runs: undefined without" in str(result)


def test_a_detector_among_the_groups_names_the_rows() -> None:
    """A long table: one column of scores, one of the detectors that gave them."""
    y = np.concatenate([Y, Y])
    s = np.concatenate([SCORES["a"], SCORES["b"]])
    result = fastad.evaluate(
        y,
        s,
        groups={"fold": np.concatenate([FOLD, FOLD]), "detector": np.repeat(["a", "b"], N)},
        measures=["auc"],
    )
    columns = result.to_columns()
    assert list(columns)[:2] == ["fold", "detector"]
    assert columns["detector"] == ["a", "b"] * len(np.unique(FOLD))
    wide = fastad.evaluate(Y, SCORES, groups=FOLD, measures=["auc"])
    assert columns["auc"] == wide.to_columns()["auc"]


def test_groups_are_not_named_as_other_columns_of_the_result() -> None:
    """All columns of tables, of summaries and of the rates of kinds."""
    y, fold, kinds = np.arange(24) % 2, np.arange(24) // 12, np.tile(["p", "q"], 12)
    scores: Any = {"a": np.arange(24), "b": -y}
    options: Any = {"measures": ["auc", "tpr@0.5"]}
    result = fastad.evaluate(y, scores, groups=fold, confidence_level=0.9, **options)
    rates = fastad.evaluate(y, scores, kinds=kinds, **options).breakdown
    assert rates is not None
    names = {*result.to_columns(), *result.summary().to_columns()} - {"group"}
    for parts, columns in ((None, names), (kinds, rates.to_columns())):
        for name in columns:
            match = f"groups must not name columns that the result has; found '{name}'"
            with pytest.raises(InvalidInputError, match=match) as refused:
                fastad.evaluate(y, scores, groups={name: fold}, kinds=parts, **options)
            assert refused.value.argument == "groups"


def test_measures_are_not_named_as_other_columns_of_the_result() -> None:
    for name in ("detector", "n_anomalies", "auc_low", "auc_mean", "name"):
        measure = fastad.measures.from_counts(name, lambda tp, fp, n, m: tp / n, at="best")
        kinds = Y if name == "name" else None
        with pytest.raises(InvalidInputError, match=f"measures must not name .* found '{name}'"):
            fastad.evaluate(Y, SCORES["a"], measures=["auc", measure], kinds=kinds)


def test_a_summary_is_mean_and_deviation_over_the_column() -> None:
    groups = np.where(Y & (FOLD == 0), 9, FOLD)
    result = fastad.evaluate(
        Y, SCORES, groups={"dataset": DATASET, "fold": groups}, measures=["auc", "ap"]
    )
    summary = result.summary("fold")
    rows = list(zip(summary.groups["dataset"], summary.groups["detector"], strict=True))
    assert rows == [(d, s) for d in ("cover", "iris", "wine") for s in ("a", "b")]
    for i, (dataset, detector) in enumerate(rows):
        values = [
            estimate[detector]["auc"] for (name, _), estimate in result.items() if name == dataset
        ]
        defined = [value for value in values if not math.isnan(value)]
        assert summary.mean["auc"][i] == pytest.approx(sum(defined) / len(defined), rel=1e-14)
        assert summary.std["auc"][i] == pytest.approx(float(np.std(defined, ddof=1)), rel=1e-14)
        assert summary.n_undefined["auc"][i] == len(values) - len(defined) > 0
        assert summary.n_runs[i] == len(values)
    assert list(summary.to_frame("pandas").columns) == list(summary.to_columns())
    assert f"{summary.mean['auc'][0]:.4f} ± {summary.std['auc'][0]:.4f}" in str(summary)


def test_a_summary_over_everything_has_a_row_for_each_detector() -> None:
    result = fastad.evaluate(Y, SCORES, groups=FOLD, measures=["auc"])
    summary = result.summary()
    assert summary.groups == {"detector": ["a", "b"]}
    values = [estimate["b"]["auc"] for estimate in result.values()]
    assert summary.mean["auc"][1] == pytest.approx(float(np.mean(values)), rel=1e-14)
    one = fastad.evaluate(Y, SCORES["a"], groups=np.zeros(N, int), measures=["auc"]).summary()
    assert math.isnan(one.std["auc"][0])


def test_json_carries_the_group_of_each_run() -> None:
    result = fastad.evaluate(Y, SCORES["a"], groups=COLUMNS, measures=["auc"])
    runs = json.loads(result.to_json())["detectors"]
    for run in runs:
        group = run["group"]
        assert run["values"]["auc"] == result[group["dataset"], group["fold"]]["score"]["auc"]


def test_scores_that_are_nan_in_one_group_fail_there_only() -> None:
    bad = SCORES["a"].copy()
    row = int(np.flatnonzero(FOLD == 1)[3])
    bad[row] = np.nan
    with pytest.raises(InvalidInputError, match=rf"NaN; found 1, the first at index {row}"):
        fastad.evaluate(Y, bad, groups=FOLD)
    result = fastad.evaluate(Y, bad, groups=FOLD, on_error="record", fpr=0.1)
    assert f"the first at index {row}" in str(result[1]["score"].error)
    assert result.n_undefined["auc"] == 1
    assert result[0]["score"].error is None


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (FOLD[:-1], r"groups\['group'\] must have one value for each label; found 599 values"),
        ({"fold": FOLD, "x": [[1]] * N}, r"groups\['x'\] must be one-dimensional; found"),
        ({}, r"groups must contain at least one column"),
        ({"g": [None, *DATASET[1:]]}, r"groups\['g'\] must not have missing values; found 1, .*0"),
        ({"g": np.where(FOLD == 0, np.nan, 1.0)}, r"groups\['g'\] must not have missing values"),
        (pd.Series([1, None] * (N // 2), dtype="Int64"), r"missing values; found 300, .* index 1$"),
        (np.array(["2020-01-01", "NaT"] * (N // 2), "M8[D]"), r"missing values; found 300"),
    ],
    ids=["short", "2-D", "none", "None", "NaN", "NA", "NaT"],
)
def test_bad_groups_are_refused(groups: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fastad.evaluate(Y, SCORES["a"], groups=groups)


def test_an_unknown_column_of_a_summary_is_refused() -> None:
    result = fastad.evaluate(Y, SCORES["a"], groups=COLUMNS, measures=["auc"])
    with pytest.raises(InvalidInputError, match="over must be one of dataset, fold; found 'seed'"):
        result.summary("seed")


def test_rows_of_weight_0_are_in_no_group() -> None:
    weights = (FOLD != 2).astype(int)
    result = fastad.evaluate(Y, SCORES["a"], groups=FOLD, sample_weight=weights, measures=["auc"])
    assert list(result) == [-1, 0, 1]


def test_infinite_values_of_groups_are_text_in_json() -> None:
    runs = fastad.evaluate([0, 1, 0, 1], [1, 2, 3, 4], groups=[np.inf, np.inf, -np.inf, -np.inf])
    groups = [run["group"]["group"] for run in json.loads(runs.to_json())["detectors"]]
    assert sorted(groups) == ["-inf", "inf"]

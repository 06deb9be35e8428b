"""Scores that are NaN: refused, or their rows left out and counted."""

import json
import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError

N = 240
_RNG = np.random.default_rng(5)
Y = (_RNG.random(N) < 0.25).astype(int)
GROUPS = _RNG.integers(0, 4, N)
IN_ORDER = np.sort(GROUPS)
WEIGHTS: dict[str, Any] = {
    "none": None,
    "integer": _RNG.integers(0, 3, N),
    "real": _RNG.random(N) + 0.5,
}


def some_nan(values: npt.NDArray[Any], fraction: float) -> npt.NDArray[Any]:
    return np.where(_RNG.random(len(values)) < fraction, np.nan, values).astype(values.dtype)


RAW = _RNG.normal(size=N) + Y
SCORES: dict[str, npt.NDArray[Any]] = {
    "complete": RAW,
    "integers": _RNG.integers(0, 9, N),
    "few": some_nan(RAW, 0.02),
    "many": some_nan(np.round(RAW, 1), 0.6),
    "float32": some_nan(RAW.astype(np.float32), 0.1),
    "float16": some_nan(RAW.astype(np.float16), 0.1),
    "infinite": some_nan(np.where(RAW > 2, np.inf, np.where(RAW < -1, -np.inf, RAW)), 0.1),
}
OPTIONS: dict[str, Any] = {"fpr": 0.1, "threshold": 0.5}


def without_count(result: Any) -> dict[str, Any]:
    return {key: value for key, value in result.to_dict().items() if key != "n_omitted"}


def on_rows(
    name: str, rows: Any, weights: Any, **options: Any
) -> tuple[dict[str, Any], npt.NDArray[np.bool_]]:
    """What the rows with a score have alone, and which rows have none."""
    scores = SCORES[name]
    nan = np.isnan(scores.astype(float)) & rows
    kept = rows & ~nan
    if weights is not None:
        nan &= weights > 0
    alone = fastad.evaluate(
        Y[kept],
        {name: scores[kept]},
        sample_weight=None if weights is None else weights[kept],
        **{**OPTIONS, **options},
    )
    return without_count(alone[name]), nan


@pytest.mark.parametrize("weights", WEIGHTS)
def test_each_detector_is_measured_on_the_rows_with_a_score(weights: str) -> None:
    w = WEIGHTS[weights]
    result = fastad.evaluate(Y, SCORES, nan_policy="omit", sample_weight=w, **OPTIONS)
    for name in SCORES:
        expected, nan = on_rows(name, np.ones(N, np.bool_), w)
        assert without_count(result[name]) == expected
        assert result[name].n_omitted == np.count_nonzero(nan)


@pytest.mark.parametrize("measures", [None, ["auc"]])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("groups", [GROUPS, IN_ORDER], ids=["shuffled", "in order"])
def test_each_group_is_measured_on_its_rows_with_a_score(
    groups: npt.NDArray[Any], weights: str, measures: Any
) -> None:
    w = WEIGHTS[weights]
    options: Any = {"measures": measures, **({"threshold": None} if measures else {})}
    result = fastad.evaluate(
        Y, SCORES, groups=groups, nan_policy="omit", sample_weight=w, **{**OPTIONS, **options}
    )
    assert list(result) == [0, 1, 2, 3]
    for group in result:
        for name in SCORES:
            expected, nan = on_rows(name, group == groups, w, **options)
            assert without_count(result[group][name]) == expected
            assert result[group][name].n_omitted == np.count_nonzero(nan)


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.integers(0, 3), st.sampled_from([math.nan, 0.0, 1.0, math.inf])
        ),
        min_size=1,
        max_size=14,
    ),
    st.booleans(),
)
def test_groups_may_lose_all_their_rows(
    rows: list[tuple[bool, int, float]], in_order: bool
) -> None:
    if in_order:
        rows = sorted(rows, key=lambda row: row[1])
    y, groups, s = (np.array(column) for column in zip(*rows, strict=True))
    for measures in (None, ["auc"]):
        result = fastad.evaluate(y, s, groups=groups, nan_policy="omit", measures=measures)
        assert list(result) == np.unique(groups).tolist()
        for group in result:
            mine = group == groups
            kept = mine & ~np.isnan(s)
            estimate = result[group]["score"]
            assert estimate.n_omitted == np.count_nonzero(mine) - np.count_nonzero(kept)
            if kept.any():
                alone = fastad.evaluate(y[kept], s[kept], measures=measures)["score"]
                assert without_count(estimate) == without_count(alone)
            else:
                assert (estimate.n_anomalies, estimate.n_normals, estimate.error) == (0, 0, None)
                assert all(math.isnan(value) for value in estimate.values())
                assert set(estimate.undefined) == set(estimate)
                assert f"all {np.count_nonzero(mine)} are NaN" in estimate.undefined["auc"]


def test_without_nan_nothing_changes_but_the_count() -> None:
    scores = {name: SCORES[name] for name in ("complete", "integers")}
    for groups in (None, GROUPS):
        plain: Any = fastad.evaluate(Y, scores, groups=groups)
        omit: Any = fastad.evaluate(Y, scores, groups=groups, nan_policy="omit")
        result = omit.to_dict()["detectors"]
        assert [row.pop("n_omitted") for row in result] == [0] * len(result)
        expected = plain.to_dict()["detectors"]
        assert [row.pop("n_omitted") for row in expected] == [None] * len(result)
        assert result == expected
        columns = omit.to_columns()
        assert columns.pop("n_omitted") == [0] * len(result)
        assert list(columns) == list(plain.to_columns())


@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("name", ["few", "many", "float32", "float16", "infinite"])
def test_nan_is_refused_by_default_with_its_first_index(name: str, groups: Any) -> None:
    first = int(np.flatnonzero(np.isnan(SCORES[name]))[0])
    with pytest.raises(InvalidInputError, match=rf"y_score\['{name}'\] must .* index {first};"):
        fastad.evaluate(Y, {name: SCORES[name]}, groups=groups)
    with pytest.raises(InvalidInputError, match=rf"y_score must not contain NaN.* index {first};"):
        fastad.rank_scores(Y, SCORES[name])


def test_a_detector_without_scores_does_not_cost_the_others() -> None:
    result = fastad.evaluate(
        Y, {"a": RAW, "none": np.full(N, np.nan)}, nan_policy="omit", **OPTIONS
    )
    assert result["none"].n_omitted == N
    assert all(math.isnan(value) for value in result["none"].values())
    assert result["a"]["auc"] == fastad.roc_auc(Y, RAW)
    assert result["none"].error is None


def test_ordered_scores_leave_rows_out_too() -> None:
    for name, scores in SCORES.items():
        for weights in WEIGHTS.values():
            kept = ~np.isnan(scores.astype(float))
            ranked = fastad.rank_scores(Y, scores, sample_weight=weights, nan_policy="omit")
            alone = fastad.rank_scores(
                Y[kept], scores[kept], sample_weight=None if weights is None else weights[kept]
            )
            used = kept if weights is None else kept[weights > 0]
            assert ranked.n_omitted == np.count_nonzero(~used), name
            assert alone.n_omitted == 0
            assert (ranked.n_anomalies, ranked.n_normals) == (alone.n_anomalies, alone.n_normals)
            assert ranked.roc_auc() == alone.roc_auc()
            assert ranked.tpr_at_fpr(fpr=0.1) == alone.tpr_at_fpr(fpr=0.1)
    with pytest.raises(InvalidInputError, match="y_score must contain numbers; found 2 NaN"):
        fastad.rank_scores([0, 1], [math.nan, math.nan], nan_policy="omit")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 2, 3], dtype="Int64"),
        pd.Series([1, None, 2, 3], dtype="Float64"),
        pl.Series([1.0, None, 2.0, 3.0]),
        pa.array([1.0, None, 2.0, 3.0]),
        pa.chunked_array([[1.0, None], [2.0, 3.0]]),
    ],
    ids=["Int64", "Float64", "polars", "arrow", "chunked"],
)
def test_missing_values_of_columns_are_nan(column: Any) -> None:
    result = fastad.evaluate([0, 0, 1, 1], column, nan_policy="omit", measures=["auc"])["score"]
    assert (result["auc"], result.n_omitted) == (1.0, 1)


def test_other_bad_scores_and_bad_policies_are_refused() -> None:
    for function in (fastad.evaluate, fastad.rank_scores):
        with pytest.raises(InvalidInputError, match="nan_policy must be one of 'raise', 'omit'"):
            function(Y, RAW, nan_policy=cast(Any, "propagate"))
        with pytest.raises(InvalidInputError, match="y_score must have one score for each label"):
            function(Y, RAW[1:], nan_policy="omit")
        with pytest.raises(InvalidInputError, match="y_true"):
            function(np.where(GROUPS, Y, np.nan), RAW, nan_policy="omit")
    short = {"a": RAW, "short": RAW[1:]}
    recorded = fastad.evaluate(Y, short, nan_policy="omit", on_error="record")
    assert "one score for each label" in str(recorded["short"].error)
    assert recorded["short"].n_omitted == 0


# What prints.


def test_the_number_left_out_prints() -> None:
    result = fastad.evaluate(Y, {"a": RAW, "few": SCORES["few"]}, nan_policy="omit")
    n = int(np.count_nonzero(np.isnan(SCORES["few"])))
    line = f"note: rows whose score is NaN are left out: {n} of few"
    assert result.notes.count(line) == 1
    assert str(result).endswith("\n".join(result.notes))
    runs = fastad.evaluate(Y, {"few": SCORES["few"]}, nan_policy="omit", groups=GROUPS)
    n_runs = len(np.unique(GROUPS[np.isnan(SCORES["few"])]))
    assert f"are left out: {n}, in {n_runs} of 4 runs" in str(runs)
    assert f"are left out: {n}, in {n_runs} of 4 runs" in str(runs.summary())
    assert "n_omitted" in str(runs).splitlines()[0].split()
    (row, *_) = json.loads(runs.to_json())["detectors"]
    assert row["n_omitted"] == runs[0]["few"].n_omitted


def test_reasons_print_below_groups_and_summaries() -> None:
    y = np.where(GROUPS == 0, 0, Y)
    scores = np.where(GROUPS == 1, np.nan, RAW)
    runs = fastad.evaluate(
        y, scores, groups=GROUPS, nan_policy="omit", measures=["auc", "ap", "f1@0.5"]
    )
    n = np.count_nonzero(GROUPS == 1)
    (reasons, omitted) = runs.notes
    assert reasons == (
        "nan: all measures in 2 of 4 runs: undefined without anomalies (label 1) (1), "
        f"undefined without scores: all {n} are NaN (1)"
    )
    assert f"left out: {n}, in 1 of 4 runs" in omitted
    for text in (str(runs), str(runs.summary()), runs.to_markdown(), runs.summary().to_markdown()):
        assert reasons in text
        assert omitted in text


def test_measures_with_one_reason_share_a_line() -> None:
    measures, reason = ["auc", "ap", "auc@1"], "undefined without normal samples (label 0)"
    result = fastad.evaluate([1, 1], {"a": [1, 2], "b": [3, 4]}, measures=measures)
    assert result.notes == [f"not shown: auc, auc@1 of all detectors: {reason}"]
    groups = [0, 1, 2, 2]
    runs = fastad.evaluate([1, 1, 1, 0], [1, 2, 3, 4], groups=groups, measures=measures)
    assert runs.notes == [f"nan: auc, auc@1 in 2 of 3 runs: {reason}"]


def test_many_reasons_are_the_most_frequent_ones() -> None:
    """Runs of 1, 2, … normals beside one anomaly: each has its own reason."""
    sizes = [*range(2, 9), 3, 3]
    y = np.concatenate([[1] + [0] * size for size in sizes])
    groups = np.repeat(np.arange(len(sizes)), [1 + size for size in sizes])
    runs = fastad.evaluate(y, np.arange(len(y)), groups=groups, measures=["precision@p0.05"])
    (note,) = runs.notes
    assert "in 9 of 9 runs" in note
    assert "beside 3 normals takes 0 of 1 anomalies (3), " in note
    assert note.endswith("and 5 more reasons")


def test_missing_intervals_of_groups_print_with_their_reasons() -> None:
    y, s, groups = [0, 1, *[0, 1] * 20], np.arange(42), [0, 0, *[1] * 40]
    runs = fastad.evaluate(y, s, groups=groups, measures=["auc_w"], confidence_level=0.9, rng=0)
    reason = runs[0]["score"].interval_notes["auc_w"]
    assert math.isnan(runs.to_columns()["auc_w_low"][0])
    (note,) = (line for line in str(runs).splitlines() if reason in line)
    n = sum("auc_w" in runs[group]["score"].interval_notes for group in runs)
    assert note.startswith(f"note: auc_w in {n} of 2 runs: ")

"""What is undefined, operating points, and the forms that a table of results turns into."""

import importlib.util
import json
import math
import sys
from collections import Counter
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.errors import MissingExtraError
from tests.support.loops import loop
from tests.support.score_types import of_many_types

Array = npt.NDArray[Any]

_RNG = np.random.default_rng(99)
N, M = 40, 160
Y = _RNG.permutation(np.repeat([1, 0], [N, M]))
_RAW = _RNG.normal(size=N + M) + Y
SCORES: dict[str, Array] = {
    **of_many_types(_RAW),
    "infinite": np.where(_RAW < -1, -np.inf, _RAW),
    "constant": np.zeros(N + M),
}
BAD = {
    "nan": np.where(np.arange(N + M) % 3 == 1, np.nan, _RAW),
    "short": _RAW[:-1],
    "text": _RAW.astype(str),
    "complex": _RAW + 0j,
    "table": np.zeros((2, N + M)),
}


def strict(text: str) -> Any:
    """Read JSON that holds neither NaN nor infinities."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


# Undefined values.


def test_without_normals_what_needs_them_is_nan_with_its_reason() -> None:
    measures = ["auc", "auc_w", "ap", "auc@0.1", "tpr@0.1", "precision@p0.1", "f1@0.1"]
    measures += ["precision@fpr0.1", "fpr@tpr0.9", "auc@tpr0.9", "precision@n", "recall@n"]
    result = fastad.evaluate(np.ones(5), np.arange(5.0), measures=measures)["score"]
    # All points are anomalies: whatever is flagged is one.
    defined = {label: value for label, value in result.items() if not math.isnan(value)}
    assert defined == {"ap": 1.0, "precision@n": 1.0, "recall@n": 1.0}
    assert set(result.undefined) == set(measures) - set(defined)
    assert all("normal" in reason for reason in result.undefined.values())
    assert result.operating_points[0].threshold is None
    assert "normal" in str(result.operating_points[0].undefined)
    assert (result.n_anomalies, result.n_normals) == (5, 0)


def test_without_anomalies_thresholds_remain() -> None:
    scores = np.arange(10.0)
    result = fastad.evaluate(np.zeros(10), scores, fpr=0.2)["score"]
    assert all(math.isnan(value) for value in result.values())
    assert set(result.undefined) == set(result)
    (point,) = result.operating_points
    assert point.threshold is not None
    assert int(np.sum(scores >= point.threshold)) == 2
    assert (point.tp, point.fp) == (0, 2)


def test_a_fraction_that_takes_no_anomaly_is_nan_with_its_reason() -> None:
    """floor(10 * 0.05 / 0.95) is 0 anomalies; floor(10 * 0.5 / 0.5) is more than 3."""
    labels = np.repeat([0, 1], [10, 3])
    result = fastad.evaluate(labels, np.arange(13), measures=["precision@p0.05", "precision@p0.5"])
    values = result["score"]
    assert all(math.isnan(value) for value in values.values())
    assert "takes 0 of 3 anomalies" in values.undefined["precision@p0.05"]
    assert "takes 10 of 3 anomalies" in values.undefined["precision@p0.5"]


def test_real_weights_leave_precision_at_p_undefined_and_the_rest_defined() -> None:
    weights = np.linspace(0.5, 1.5, N + M)
    measures = ["auc", "ap", "tpr@0.05", "precision@fpr0.05", "precision@p0.05"]
    result = fastad.evaluate(Y, _RAW, measures=measures, sample_weight=weights)["score"]
    assert set(result.undefined) == {"precision@p0.05"}
    assert {label for label, value in result.items() if math.isnan(value)} == set(result.undefined)
    with pytest.raises(InvalidInputError, match="integer"):
        fastad.precision_at_p(Y, _RAW, p=0.05, sample_weight=weights)


def test_more_flagged_points_than_points_and_a_range_of_no_width_are_undefined() -> None:
    result = fastad.evaluate(Y, _RAW, measures=["precision@k201", "auc@0", "auc@tpr1"])["score"]
    assert all(math.isnan(value) for value in result.values())
    assert set(result.undefined) == {"precision@k201", "auc@0", "auc@tpr1"}


def test_the_reason_is_what_the_single_function_raises() -> None:
    result = fastad.evaluate(np.ones(3), [1, 2, 3], measures=["auc"])["score"]
    with pytest.raises(UndefinedMeasureError) as error:
        fastad.roc_auc(np.ones(3), [1, 2, 3])
    assert result.undefined == {"auc": str(error.value)}


# Operating points.


@loop("fpr", [0.0, 0.001, 0.05, 0.29, 0.5, 1.0])
@loop("kind", list(SCORES))
def test_counts_are_those_of_what_the_threshold_flags(kind: str, fpr: float) -> None:
    scores = SCORES[kind]
    (point,) = fastad.evaluate(Y, scores, measures=["tpr_at_fpr"], fpr=fpr)[
        "score"
    ].operating_points
    assert point.fpr == fpr
    assert point.threshold == fastad.threshold_at_fpr(Y, scores, fpr=fpr)
    assert point.threshold is not None
    flagged = scores >= point.threshold
    assert point.tp == np.sum(flagged & (Y == 1))
    assert point.fp == np.sum(flagged & (Y == 0))
    assert point.n_flagged == np.sum(flagged)
    assert np.sum(flagged & (Y == 0)) <= Fraction(str(fpr)) * M


def test_counts_under_weights_are_the_weights_of_what_is_flagged() -> None:
    weights = np.random.default_rng(1).integers(0, 9, N + M) / 4
    (point,) = fastad.evaluate(Y, _RAW, sample_weight=weights, fpr=0.1)["score"].operating_points
    assert point.threshold is not None
    flagged = point.threshold <= _RAW
    assert point.tp == np.sum(weights[flagged & (Y == 1)])
    assert point.fp == np.sum(weights[flagged & (Y == 0)])


def test_every_operating_point_stands_once_in_the_order_of_use() -> None:
    result = fastad.evaluate(Y, SCORES, measures=["tpr@0.3", "auc", "f1@0.1", "auc@0.3"])
    for detector in result.values():
        assert [point.fpr for point in detector.operating_points] == [0.3, 0.1]
    assert fastad.evaluate(Y, _RAW, measures=["auc"])["score"].operating_points == []


def test_a_rate_below_that_of_infinite_normals_has_no_threshold() -> None:
    """One of two normals scores +inf: no threshold flags fewer than half of them."""
    result = fastad.evaluate([0, 0, 1], [np.inf, 1, 0], measures=["f1_at_fpr"], fpr=[0.1, 0.5])
    below, reached = result["score"].operating_points
    assert (below.threshold, below.tp, below.fp, below.n_flagged) == (None, None, None, None)
    assert "+inf" in str(below.undefined)
    assert (reached.threshold, reached.fp, reached.undefined) == (np.inf, 1, None)
    assert math.isnan(result["score"]["f1@0.1"])


# Bad detectors.


@pytest.mark.parametrize("kind", list(BAD))
def test_a_bad_detector_raises_by_its_name(kind: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        fastad.evaluate(Y, {"good": _RAW, kind: BAD[kind]})
    assert str(error.value).startswith(f"y_score[{kind!r}] must")


def test_bad_detectors_are_recorded_and_the_others_measured() -> None:
    alone = fastad.evaluate(Y, SCORES)
    estimate = fastad.evaluate(Y, {**BAD, **SCORES}, on_error="record")
    assert list(estimate) == [*BAD, *SCORES]
    for name in SCORES:
        assert estimate[name].to_dict() == alone[name].to_dict()
    for name in BAD:
        result = estimate[name]
        assert str(result.error).startswith(f"y_score[{name!r}] must")
        assert all(math.isnan(value) for value in result.values())
        assert set(result.undefined.values()) == {result.error}
        assert [point.undefined for point in result.operating_points] == [result.error] * 2
        assert (result.n_anomalies, result.n_normals) == (N, M)
        assert math.isnan(result.tied_fraction)
    strict(estimate.to_json())
    assert str(estimate).count("must not contain NaN; found 67, the first at index 1") == 1


def test_a_bad_detector_hides_no_correction() -> None:
    scores = {"nan": BAD["nan"], "good": _RAW}
    options: dict[str, Any] = {"contamination": 0.02, "measures": ["auc"], "on_error": "record"}
    result = fastad.evaluate(Y, scores, **options)
    note = "note: values are corrected for a fraction 0.02 of anomalies among normals"
    assert note in result.notes
    assert [x["contamination"] for x in result.to_dict()["detectors"]] == [0.02, 0.02]
    assert result.to_columns()["contamination"] == [0.02, 0.02]
    assert note in fastad.evaluate(Y, scores, groups=np.arange(N + M) % 2, **options).notes


def test_recording_covers_scores_not_labels() -> None:
    with pytest.raises(InvalidInputError, match="y_true"):
        fastad.evaluate(Y + 1, SCORES, on_error="record")
    with pytest.raises(InvalidInputError, match="on_error must be one of 'raise', 'record'"):
        fastad.evaluate(Y, SCORES, on_error=cast(Any, "ignore"))


# Forms.


def test_json_is_strict_and_holds_versions_counts_and_ties() -> None:
    result = fastad.evaluate(Y, {"a [b]": np.round(_RAW), "ünï": _RAW}, fpr=0.05)
    estimate = strict(result.to_json(indent=2))
    assert estimate == strict(result.to_json()) == result.to_dict()
    assert isinstance(estimate["schema_version"], int)
    assert estimate["fastad_version"] == fastad.__version__
    assert [detector["detector"] for detector in estimate["detectors"]] == ["a [b]", "ünï"]
    first = estimate["detectors"][0]
    tied = sum(count for count in Counter(np.round(_RAW)).values() if count > 1)
    assert (first["n_anomalies"], first["n_normals"]) == (N, M)
    assert first["tied_fraction"] == tied / (N + M)
    assert estimate["detectors"][1]["tied_fraction"] == 0
    assert first["values"] == dict(result["a [b]"])
    assert first["error"] is None
    (point,) = first["operating_points"]
    assert point["n_flagged"] == point["tp"] + point["fp"]


def test_json_writes_nan_as_null_beside_its_reason() -> None:
    result = fastad.evaluate([0, 0, 1], [np.inf, 1, 0], fpr=[0, 0.5])
    (detector,) = strict(result.to_json())["detectors"]
    nulls = {label for label, value in detector["values"].items() if value is None}
    assert nulls == set(detector["undefined"])
    assert {"auc@0", "f1@0", "precision@fpr0"} <= nulls
    below, reached = detector["operating_points"]
    assert below["threshold"] is None
    assert below["undefined"]
    assert reached["threshold"] == "inf"


def test_json_writes_infinite_thresholds_as_text_and_integers_whole() -> None:
    labels = [0, 0, 1]
    scores = {"low": [-np.inf, -np.inf, 0], "int": np.array([2**62 + 3, 0, 2**62 + 1])}
    result = strict(fastad.evaluate(labels, scores, fpr=[0, 0.5, 1]).to_json())["detectors"]
    low, whole = ([point["threshold"] for point in d["operating_points"]] for d in result)
    assert low == [0, 0, "-inf"]
    assert whole == ["inf", 2**62 + 1, 0]


def test_columns_have_a_row_for_each_detector() -> None:
    detectors = {name: scores for name, scores in SCORES.items() if "int64" not in name}
    result = fastad.evaluate(Y, detectors, fpr=[0.05, 0.1])
    columns = result.to_columns()
    assert list(columns) == [
        "detector",
        "n_anomalies",
        "n_normals",
        "tied_fraction",
        *result.measure_keys,
        *(f"{what}@{fpr}" for fpr in (0.05, 0.1) for what in ("threshold", "flagged")),
        "unresolved",
    ]
    assert columns["detector"] == list(detectors)
    assert {len(column) for column in columns.values()} == {len(detectors)}
    assert columns["auc"] == [result[name]["auc"] for name in detectors]
    for i, (name, scores) in enumerate(detectors.items()):
        assert columns["flagged@0.1"][i] == np.sum(scores >= columns["threshold@0.1"][i]), name


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_each_library_hold_the_columns(library: Any) -> None:
    result = fastad.evaluate(
        Y, {"a": _RAW, "b": SCORES["int8"], "c": BAD["nan"]}, on_error="record"
    )
    columns = result.to_columns()
    frame = result.to_frame(library)
    kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
    assert isinstance(frame, kinds[library])
    names = frame.column_names if library == "pyarrow" else list(frame.columns)
    assert names == list(columns)
    for name, expected in columns.items():
        estimate = frame[name].to_pylist() if library == "pyarrow" else list(frame[name])
        if name in ("detector", "unresolved"):
            assert estimate == expected
        else:
            floats = [math.nan if x is None else float(x) for x in expected]
            np.testing.assert_array_equal(np.array(estimate, np.float64), floats)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_holds_thresholds_of_large_unsigned_scores(library: Any) -> None:
    scores = np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], np.uint64)
    frame = fastad.evaluate([0, 0, 1], scores, fpr=0.5).to_frame(library)
    column = frame["threshold@0.5"]
    result = column.to_pylist() if library == "pyarrow" else list(column)
    assert [int(value) for value in result] == [2**64 - 2]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("groups", [(2**70, 5), (-(2**70), 5), (2**63 + 5, 2**63 + 6, -5)])
def test_a_frame_holds_groups_that_are_integers_of_no_type_of_64_bits(
    groups: tuple[int, ...], library: Any
) -> None:
    column = np.repeat(np.array(groups, object), 2)
    result = fastad.evaluate([0, 1] * len(groups), range(len(column)), groups={"g": column})
    cells = result.to_frame(library)["g"]
    cells = cells.to_pylist() if library == "pyarrow" else list(cells)
    assert sorted(map(int, cells)) == sorted(groups)


def test_without_a_library_requested_the_first_installed_one_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = fastad.evaluate(Y, _RAW)
    assert isinstance(result.to_frame(), pd.DataFrame)
    estimate = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pandas" else estimate(name)
    )
    assert isinstance(result.to_frame(), pl.DataFrame)
    with pytest.raises(MissingExtraError, match="pandas"):
        result.to_frame("pandas")


def test_a_frame_without_any_library_or_narwhals_is_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = fastad.evaluate(Y, _RAW)
    with pytest.raises(InvalidInputError, match="library must be one of"):
        result.to_frame(cast(Any, "excel"))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "narwhals.stable.v2", None)
        with pytest.raises(MissingExtraError, match=r"'\.\[df\]'"):
            result.to_frame()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="pandas or polars or pyarrow"):
        result.to_frame()


def test_a_table_of_few_detectors_prints_measures_down() -> None:
    """By hand: 3 of 4 pairs and all 4; AP (1 + 2/3) / 2 and 1; thresholds by linear steps."""
    labels, scores = [0, 0, 1, 1], {"a": [0.1, 0.4, 0.35, 0.8], "b": [1, 2, 3, 4]}
    weights = [5] * 4  # of each sample five, so that five normals are beyond FPR 0.5
    result = fastad.evaluate(
        labels, scores, measures=["auc", "ap", "tpr@0.5"], sample_weight=weights
    )
    assert str(result).splitlines() == [
        "              a       b",
        "auc      0.7500  1.0000",
        "ap       0.8333  1.0000",
        "tpr@0.5  1.0000  1.0000",
        "",
        "   fpr  threshold  flagged  anomalies  normals",
        "a  0.5       0.35       15         10        5",
        "b  0.5          2       15         10        5",
    ]


def test_a_table_of_many_detectors_prints_a_row_for_each() -> None:
    names = [f"detector {i}" for i in range(500)]
    result = fastad.evaluate([0, 1], {name: [1, 2] for name in names}, measures=["auc", "ap"])
    lines = str(result).splitlines()
    assert len(lines) == 501
    assert lines[0].split() == ["auc", "ap"]
    assert lines[-1].split() == ["detector", "499", "1.0000", "1.0000"]
    assert repr(result) == "<Evaluation of 500 detectors: auc, ap>"


def test_undefined_values_print_with_their_reasons() -> None:
    lines = str(fastad.evaluate([1, 1], [1, 2], measures=["auc", "auc@0.1"])).splitlines()
    assert lines[1].split() == ["auc", "nan"]
    assert lines[-1] == "nan: all measures of score: undefined without normal samples (label 0)"


UNDEFINED = ["precision@p0.01", "precision@k500"]


@pytest.mark.parametrize("n_detectors", [1, 2, 9])
def test_what_is_undefined_for_every_detector_is_not_printed(n_detectors: int) -> None:
    """floor(43 * 0.01 / 0.99) is 0 anomalies, and there are no 500 scores."""
    y, s = np.repeat([0, 1], [43, 20]), np.arange(63)
    scores = {f"d{i}": s for i in range(n_detectors)}
    measures = [UNDEFINED[0], "auc", UNDEFINED[1], "ap"]
    result = fastad.evaluate(y, scores, measures=measures)
    for text in (str(result), result.to_markdown(), result.to_latex()):
        for label in UNDEFINED:
            (line,) = [line for line in text.splitlines() if label in line]
            assert "not shown: " in line
            assert "takes 0 of 20 anomalies" in line
    assert list(result["d0"]) == result.measure_keys == measures
    assert set(UNDEFINED) < set(result.to_columns())
    assert set(result.to_dict()["detectors"][0]["undefined"]) == set(UNDEFINED)


def test_what_one_detector_defines_is_printed() -> None:
    """Nothing is flagged where a normal has the highest score."""
    y, s = np.repeat([0, 1], 20), np.arange(40)
    measures = ["precision@fpr0", "auc"]
    scores = {"best": s, "worst": -s}
    lines = str(fastad.evaluate(y, scores, measures=measures)).splitlines()
    assert lines[1].split() == ["precision@fpr0", "1.0000", "nan"]
    assert lines[-2].startswith("nan: precision@fpr0 of worst: ")
    assert lines[-1].startswith("note: the AUC of worst is far below 0.5: ")
    alone = str(fastad.evaluate(y, -s, measures=measures))
    assert alone.splitlines()[1].split() == ["auc", "0.0000"]
    only = str(fastad.evaluate(y, -s, measures=measures[:1]))
    assert only.splitlines()[1].split() == ["precision@fpr0", "nan"]


def test_runs_are_counted() -> None:
    y, s = np.tile([0, 1], 21), np.arange(42)
    measures = ["auc", UNDEFINED[1]]
    runs = fastad.evaluate(y, s, groups=np.arange(42) // 2, measures=measures)
    assert str(runs).splitlines()[21] == "and 1 more run"
    one = fastad.evaluate(y, s, groups=np.zeros(42), measures=measures)
    assert f"not shown: {UNDEFINED[1]} of 1 run: " in str(one)
    one = fastad.evaluate(y, s, groups=np.zeros(42), measures=UNDEFINED[1:])
    assert f"nan: {UNDEFINED[1]} in 1 of 1 run: " in str(one)


def test_runs_print_groups_as_they_are_and_thresholds_with_six_digits() -> None:
    groups = np.repeat([1e-6, 0.25], 3)
    scores = np.array([1, 2, 3, 2, 4, 6]) * 1e-9
    weights = np.full(6, 0.5**30)
    options: dict[str, Any] = {"measures": ["tpr@0.5"], "sample_weight": weights}
    table = fastad.evaluate([0, 0, 1] * 2, scores, groups=groups, **options)
    rows = [line.split() for line in str(table).splitlines()[1:3]]
    sizes, flagged = ["9.31323e-10", "1.86265e-09"], "1.86265e-09"
    assert rows == [
        ["1e-06", "score", *sizes, "0.0000", "1.0000", "2e-09", flagged],
        ["0.25", "score", *sizes, "0.0000", "1.0000", "4e-09", flagged],
    ]


@pytest.mark.parametrize("level", [None, 0.95])
def test_what_is_undefined_in_all_runs_is_not_printed(level: float | None) -> None:
    y, s = np.tile([0, 1], 30), np.arange(60)
    groups = np.repeat([0, 1], 30)
    options: dict[str, Any] = {"confidence_level": level, "rng": 0}
    runs = fastad.evaluate(y, s, groups=groups, measures=["auc", *UNDEFINED], **options)
    for table in (runs, runs.summary()):
        (note,) = table.notes
        assert note.startswith(f"not shown: {', '.join(UNDEFINED)} of all 2 runs: ")
        assert not [head for head in table.text_table().header if head.startswith("precision")]
        assert "auc" in table.text_table().header
        assert [name for name in table.to_columns() if name.startswith("precision")]
    # In one run of the two it is defined.
    uneven = np.where(np.arange(60) < 4, 0, 1)
    runs = fastad.evaluate(y, s, groups=uneven, measures=["auc", "precision@k5"])
    for table in (runs, runs.summary()):
        assert "precision@k5" in table.text_table().header
        (note,) = table.notes
        assert note.startswith("nan: precision@k5 in 1 of 2 runs: ")


def test_intervals_that_are_not_reliable_print_with_their_reasons() -> None:
    y, s = [0, 1, 0, 1], [1, 2, 3, 4]
    result = fastad.evaluate(y, s, measures=["auc_w"], confidence_level=0.9, rng=0)
    assert result["score"].intervals["auc_w"].reliability_note is not None
    (note,) = result.notes
    assert note.startswith("note: auc_w of score: ")

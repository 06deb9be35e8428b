"""Validation: the right error, with the argument, what was found, where and how many."""

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad._core.declared import (
    Choice,
    Flag,
    Generator,
    Integer,
    OpenRate,
    Parameter,
    Percentile,
    Positive,
    Prevalence,
    Rate,
    ScoreBounds,
    ThresholdValue,
)
from fastad.measures.measure import Measure
from fastad.measures.registry import MEASURES
from tests.support.loops import loop

Y = [0, 0, 1, 1, 0]
S = [0.1, 0.4, 0.35, 0.8, 0.2]

# Every function with labels, at some operating point.
FUNCTIONS: dict[str, dict[str, Any]] = {
    "roc_curve": {},
    "roc_auc": {},
    "weighted_auc": {},
    "tpr_at_fpr": {"fpr": 0.4},
    "fpr_at_tpr": {"tpr": 0.4},
    "auc_at_fpr": {"fpr": 0.4},
    "auc_at_tpr": {"min_tpr": 0.4},
    "threshold_at_fpr": {"fpr": 0.4},
    "f1_at_fpr": {"fpr": 0.4},
    "precision_at_fpr": {"fpr": 0.4},
    "confusion_at": {"threshold": 0.3},
    "precision_recall_curve": {},
    "average_precision": {},
    "precision_at_k": {},
    "recall_at_k": {},
    "precision_at_p": {"p": 0.3},
    "rank_scores": {},
}
EVERY = loop("name", FUNCTIONS)


def call(name: str, y: Any = Y, s: Any = S, **options: Any) -> Any:
    home = fastad if name == "rank_scores" else fastad.measures
    return getattr(home, name)(y, s, **{**FUNCTIONS[name], **options})


BAD_SCORES: dict[str, tuple[Any, list[str]]] = {
    "two NaN": ([0.1, np.nan, 0.3, np.nan, 0.2], ["NaN", "found 2", "index 1"]),
    "float32 NaN": (np.array([1, 2, 3, 4, np.nan], np.float32), ["NaN", "found 1", "index 4"]),
    "float16 NaN": (np.array([np.nan, 2, 3, 4, 5], np.float16), ["NaN", "found 1", "index 0"]),
    "negative NaN": (np.array([1, 2, -np.nan, 4, 5]), ["NaN", "found 1", "index 2"]),
    "missing in pandas": (pd.Series([1, None, 2, 3, 4], dtype="Int64"), ["NaN", "found 1"]),
    "missing in polars": (pl.Series([1, 2, None, None, 3]), ["NaN", "found 2", "index 2"]),
    "empty": ([], ["empty"]),
    "too few": ([0.1, 0.2], ["2", "5"]),
    "too many": ([0.1] * 6, ["6", "5"]),
    "complex": (np.array(S) + 0j, ["complex"]),
    "text": (["1", "2", "3", "4", "5"], ["strings"]),
    "dates": (np.arange(5).astype("M8[s]"), ["date"]),
    "objects": (np.array([*S[1:], "0.1"], object), ["objects such as '0.1'"]),
    "None": ([None] * 5, ["missing values", "found 5", "index 0"]),
    "beyond 64 bits": ([1, 2**70 + 1, 2, 3, 4], [f"{2**70 + 1} at index 1", "round"]),
    "merged": ([2**53 + 1, 0.5, 1, 2, 3], ["found 9007199254740993 at index 0", "round"]),
    "merged by NumPy's": ([0, np.int64(2**53 + 1), 0.5, 1, 2], ["at index 1", "round"]),
    "merged beside NaN": ([2**53 + 1, np.nan, 1, 2, 3], ["at index 0", "round"]),
    "merged in a column": (pl.Series([None, 2**53 + 1, 1, 2, 3]), ["at index 1", "round"]),
    "merged in Arrow": (pa.array([None, 2**53 + 1, 1, 2, 3]), ["at index 1", "round"]),
    "long double": (np.array(S, np.longdouble), ["64 bits"]),
    "a column": (np.array(S)[:, None], ["one-dimensional", "(5, 1)"]),
    "a scalar": (0.5, ["one-dimensional"]),
    "ragged": ([[1], [1, 2]], ["one-dimensional"]),
    "a generator": ((x for x in S), ["one-dimensional"]),
    "masked": (np.ma.masked_array(np.array(S), np.array(S) > 0.7), ["masked"]),
}
BAD_LABELS: dict[str, tuple[Any, list[str]]] = {
    "outlier labels": ([1, 1, -1, -1, 1], ["-1", "found 2", "index 2", "pos_label"]),
    "1 and 2": ([1, 1, 2, 2, 1], ["found 2", "index 2: 2", "pos_label"]),
    "fractions": ([0, 0, 1, 0.5, 1], ["found 1", "index 3: 0.5"]),
    "NaN": ([0, np.nan, 1, 1, 0], ["found 1", "index 1"]),
    "text": (["a", "a", "b", "b", "a"], ["strings", "pos_label"]),
    "complex": (np.array(Y) + 0j, ["complex"]),
    "objects": (np.array([*Y[1:], "1"], object), ["objects such as '1'", "pos_label"]),
    "empty": ([], ["empty"]),
    "a matrix": ([Y, Y], ["one-dimensional", "(2, 5)"]),
    "masked": (np.ma.masked_array(np.array(Y), np.array(S) > 0.7), ["masked"]),
}
BAD_WEIGHTS: dict[str, tuple[Any, list[str]]] = {
    "negative": ([1, 1, -1, 1, -2], ["found 2", "index 2", "-1"]),
    "NaN": ([1, 1, 1, np.nan, 1], ["found 1", "index 3"]),
    "infinite": ([1, np.inf, 1, 1, 1], ["found 1", "index 1"]),
    "too few": ([1, 1, 1], ["3", "5"]),
    "all zero": ([0] * 5, ["positive"]),
    "text": (["1"] * 5, ["strings"]),
    "complex": ([1j] * 5, ["complex"]),
    "a matrix": (np.ones((5, 1)), ["one-dimensional", "(5, 1)"]),
    "masked": (np.ma.masked_array(np.ones(5), np.array(S) > 0.7), ["masked"]),
}


def assert_refused(call: Callable[..., Any], name: str, words: list[str], **options: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call(**options)
    assert caught.value.argument == name
    for word in [name, *words]:
        assert word in str(caught.value)


@EVERY
@loop("case", BAD_SCORES)
def test_bad_scores(name: str, case: str) -> None:
    scores, words = BAD_SCORES[case]
    assert_refused(lambda: call(name, s=scores), "y_score", words)


@EVERY
@loop("case", BAD_LABELS)
def test_bad_labels(name: str, case: str) -> None:
    labels, words = BAD_LABELS[case]
    assert_refused(lambda: call(name, y=labels), "y_true", words)


@EVERY
@loop("case", BAD_WEIGHTS)
def test_bad_weights(name: str, case: str) -> None:
    weights, words = BAD_WEIGHTS[case]
    assert_refused(lambda: call(name, sample_weight=weights), "sample_weight", words)


@loop("case", [case for case in BAD_SCORES if not case.startswith("too")])
def test_bad_scores_of_a_measure_without_labels(case: str) -> None:
    scores, words = BAD_SCORES[case]
    if case == "a generator":
        scores = iter(S)
    assert_refused(lambda: fastad.measures.threshold_at_rate(scores, rate=0.1), "y_score", words)


@EVERY
def test_indices_in_messages_are_rows_of_the_user(name: str) -> None:
    weights = [0, 1, 0, 1, 1]
    scores = [1, 2, 3, 4, np.nan]
    assert_refused(lambda: call(name, s=scores, sample_weight=weights), "y_score", ["index 4"])
    labels = [0, 1, 0, 1, 7]
    assert_refused(lambda: call(name, y=labels, sample_weight=weights), "y_true", ["index 4: 7"])


@EVERY
def test_data_are_the_only_positional_arguments(name: str) -> None:
    with pytest.raises(TypeError, match="positional"):
        getattr(fastad if name == "rank_scores" else fastad.measures, name)(Y, S, None)


# What is declared for each parameter of a measure.

# Values that a declared parameter refuses, as one value: out of range, and what the message shows.
OUT_OF_RANGE: dict[type[Parameter], list[tuple[Any, str]]] = {
    Rate: [
        *[(-0.1, "-0.1"), (1.5, "1.5"), (5, "5"), (-(2**70), "[0, 1]"), (Fraction(4, 3), "[0, 1]")],
        *[(math.nan, "nan"), (math.inf, "inf")],
    ],
    Percentile: [(-1, "-1"), (100.5, "100.5"), (math.nan, "nan"), (math.inf, "inf")],
    OpenRate: [(0, "0"), (1, "1"), (-0.5, "-0.5"), (math.nan, "nan"), (5e-324, "5e-324")],
    Prevalence: [(0, "0"), (1, "1"), (-0.5, "-0.5"), (math.nan, "nan"), (5e-324, "5e-324")],
    Positive: [(0, "0"), (-1, "-1"), (math.nan, "nan"), (math.inf, "inf")],
    Integer: [(0, "0"), (-1, "-1"), (np.int64(-3), "-3")],
    ThresholdValue: [(math.nan, "NaN")],
    Choice: [*((value, repr(value)) for value in ("widht", "", None, 1, True, ["width"]))],
    Flag: [],
    ScoreBounds: [((1, 0), "(1, 0)"), ((1, 1), "(1, 1)"), ((0, math.nan), "nan")],
    Generator: [(-1, "-1")],
}
_NO_NUMBERS = ["0.1", b"1", True, np.bool_(True), 0.1j, {0.1}, ["a"]]
OF_WRONG_TYPE: dict[type[Parameter], list[Any]] = {
    **{kind: [*_NO_NUMBERS, None] for kind in (Rate, Percentile, OpenRate, Positive)},
    Prevalence: _NO_NUMBERS,
    Integer: [1.5, "1", True, np.float32(2.5), 1j],
    ThresholdValue: ["1", [1], 1j],
    Choice: [],
    Flag: ["no", None, 2, [True]],
    ScoreBounds: ["ab", 1, (0, 1, 2), ("0", 1), None],
    Generator: ["a", 1.0, True],
}
# Sequences of operating points: the message shows the shape, or the index.
BAD_SEQUENCES: list[tuple[Any, str]] = [
    *[([], "(0,)"), ([[1]], "(1, 1)"), ([1, -2], "[1]"), (np.array([1, 1, -3]), "[2]")]
]
DECLARED = [(measure, name) for measure in MEASURES.values() for name in measure.parameters]
EVERY_PARAMETER = loop(("measure", "name"), DECLARED)


def calls(measure: Measure[Any], **options: Any) -> list[Callable[[], Any]]:
    """Return the public function and the method with valid parameters, but for those given."""
    given: dict[str, Any] = {
        name: (0, 1) if isinstance(parameter, ScoreBounds) else parameter.example
        for name, parameter in measure.parameters.items()
        if parameter.is_required
    } | options
    data = (S,) if measure.name == "threshold_at_rate" else (Y, S)
    ranked = fastad.rank_scores(Y, S)
    return [
        partial(getattr(fastad.measures, measure.name), *data, **given),
        partial(getattr(ranked, measure.name), **given),
    ]


@EVERY_PARAMETER
def test_values_out_of_range_are_refused_by_name(measure: Measure[Any], name: str) -> None:
    parameter = measure.parameters[name]
    for value, shown in [
        *OUT_OF_RANGE[type(parameter)],
        *(BAD_SEQUENCES if parameter.sequence else []),
    ]:
        for call in calls(measure, **{name: value}):
            with pytest.raises(InvalidInputError) as caught:
                call()
            assert caught.value.argument == name
            assert str(caught.value).startswith(name)
            assert shown in str(caught.value)


@EVERY_PARAMETER
def test_values_of_a_wrong_type_are_refused_by_name(measure: Measure[Any], name: str) -> None:
    for value in OF_WRONG_TYPE[type(measure.parameters[name])]:
        for call in calls(measure, **{name: value}):
            with pytest.raises(TypeError, match=rf"^{name}\b.* must be"):
                call()


@EVERY_PARAMETER
def test_several_operating_points_are_for_tables_and_orders(
    measure: Measure[Any], name: str
) -> None:
    if name != measure.operating_point or measure.parameters[name].sequence:
        return
    point = measure.parameters[name].example or 1.0
    for several in ([point], (point, point), np.array([float(point)] * 2), range(1, 3), []):
        for call in calls(measure, **{name: several}):
            with pytest.raises(TypeError, match=f"^{name} must be one .* evaluate .* rank_scores"):
                call()


def test_an_array_without_axes_is_one_point() -> None:
    points: tuple[Any, ...] = (np.array(0.4), np.array(0.4, np.float32))
    for point in points:
        assert fastad.tpr_at_fpr(Y, S, fpr=point) == fastad.tpr_at_fpr(Y, S, fpr=0.4)


def test_every_type_of_parameter_has_refusals() -> None:
    declared = {type(measure.parameters[name]) for measure, name in DECLARED}
    assert declared == set(OUT_OF_RANGE) == set(OF_WRONG_TYPE)


@pytest.mark.parametrize("name", ["precision_at_k", "recall_at_k", "confusion_at"])
def test_more_samples_than_there_are_make_a_measure_undefined(name: str) -> None:
    options = {"threshold": None} if name == "confusion_at" else {}
    for value in (6, 2**70):
        with pytest.raises(UndefinedMeasureError, match=f"{value} of 5"):
            call(name, k=value, **options)


def test_confusion_takes_one_cut() -> None:
    for options, result in (({}, "neither"), ({"threshold": 1, "k": 1}, "both")):
        with pytest.raises(InvalidInputError, match=f"not both; found {result}"):
            fastad.confusion_at(Y, S, **options)


def test_integer_scores_meet_a_float_threshold_exactly() -> None:
    # As float64, 2**53 + 3 would become 2**53 + 4.
    scores = np.array([2**53 + 3, 2**53 + 4])
    result = fastad.confusion_at([0, 1], scores, threshold=2.0**53 + 4)
    assert (result.tp, result.fp) == (1, 0)


@loop("dtype", [bool, np.int8, np.uint64, np.int64, np.float32, np.float64])
@loop("threshold", [2**63, 2**64, 10**400])
def test_a_threshold_above_all_scores_flags_nothing(dtype: Any, threshold: int) -> None:
    scores = np.array([0, 1, 0, 1, 1], dtype)
    result = fastad.confusion_at(Y, scores, threshold=threshold)
    assert (result.tp, result.fp, result.tn, result.fn) == (0, 0, 3, 2)


def test_whole_weights_where_only_they_are_defined() -> None:
    half = [1, 1, 0.5, 1, 1]
    with pytest.raises(InvalidInputError, match="integer"):
        call("precision_at_p", sample_weight=half)
    with pytest.raises(InvalidInputError, match="sample_weight must"):
        call("weighted_auc", quadrature="exact", sample_weight=half)


def test_ends_of_a_range_in_the_wrong_order() -> None:
    assert_refused(lambda: call("auc_at_fpr", fpr=0.1, min_fpr=0.2), "fpr", ["min_fpr", "0.1"])
    assert_refused(lambda: call("auc_at_tpr", min_tpr=0.5, max_tpr=0.2), "max_tpr", ["0.5"])


NEEDS_ANOMALIES = set(FUNCTIONS) - {"threshold_at_fpr", "confusion_at", "rank_scores"}
NEEDS_NORMALS = NEEDS_ANOMALIES - {
    "precision_recall_curve",
    "average_precision",
    "precision_at_k",
    "recall_at_k",
} | {"threshold_at_fpr"}


@EVERY
def test_one_class_is_undefined_where_both_are_needed(name: str) -> None:
    for labels, needy in (([0] * 5, NEEDS_ANOMALIES), ([1] * 5, NEEDS_NORMALS)):
        if name in needy:
            with pytest.raises(UndefinedMeasureError, match=name):
                call(name, y=labels)
        else:
            call(name, y=labels)


def test_one_class_has_a_value_where_one_is_enough() -> None:
    assert fastad.threshold_at_fpr([0] * 5, S, fpr=0.4) == 0.4
    assert fastad.average_precision([1, 1], [1, 2]) == 1
    assert fastad.precision_at_k([1, 1], [1, 2], k=1) == 1
    assert fastad.recall_at_k([1, 1], [1, 2], k=1) == 0.5
    assert fastad.precision_at_k([0, 0], [1, 2], k=1) == 0


def test_undefined_values() -> None:
    cases: list[Callable[[], Any]] = [
        lambda: fastad.auc_at_fpr(Y, S, fpr=0),
        lambda: fastad.auc_at_fpr(Y, S, fpr=0.3, min_fpr=0.3),
        lambda: fastad.measures.auc_at_tpr(Y, S, min_tpr=1),
        lambda: fastad.measures.auc_at_tpr(Y, S, min_tpr=0.2, max_tpr=0.2),
        lambda: fastad.auc_at_fpr([0, 1], [2, 1], fpr=0.5, normalize="mcclish"),
        lambda: fastad.measures.auc_at_tpr([0, 1], [2, 1], min_tpr=0.5, normalize="mcclish"),
        lambda: fastad.precision_at_fpr([0, 1], [2, 1], fpr=0.5),
        lambda: fastad.precision_at_p(Y, S, p=0),
        lambda: fastad.precision_at_p(Y, S, p=0.2),  # floor(3 / 4) = 0 anomalies
        lambda: fastad.precision_at_p(Y, S, p=0.5),  # 3 of 2 anomalies
        lambda: fastad.precision_at_p(Y, S, p=1),
        lambda: fastad.threshold_at_fpr([0, 0, 1], [np.inf, 0, 1], fpr=0.4),
        lambda: fastad.f1_at_fpr([0, 0, 1], [np.inf, 0, 1], fpr=0.4),
        lambda: fastad.precision_at_fpr([0, 0, 1], [np.inf, 0, 1], fpr=0.4),
        lambda: fastad.measures.threshold_at_rate([np.inf, 0], rate=0.4),
    ]
    for case in cases:
        with pytest.raises(UndefinedMeasureError, match=r"undefined|no threshold"):
            case()


def test_weighted_area_from_1_to_1_is_undefined() -> None:
    # One normal: the range [1/m, 1] has no width.
    with pytest.raises(UndefinedMeasureError, match="undefined for a single normal sample"):
        fastad.weighted_auc([0, 1], [1, 2], quadrature="exact")


def test_a_normal_at_infinity_leaves_higher_rates_reachable() -> None:
    y, s = [0, 0, 1], [np.inf, 0, 1]
    assert fastad.threshold_at_fpr(y, s, fpr=0.5) == 1
    assert fastad.tpr_at_fpr(y, s, fpr=0.25) == 0


def test_errors_are_value_errors() -> None:
    assert issubclass(InvalidInputError, ValueError)
    assert issubclass(UndefinedMeasureError, ValueError)
    error = pickle.loads(pickle.dumps(UndefinedMeasureError("why")))
    assert isinstance(error, UndefinedMeasureError)


@EVERY
def test_inputs_are_not_modified(name: str) -> None:
    for scores in (np.array(S), np.array(S, np.float32), np.array([3, 1, 2, 5, 4])):
        y, s, w = np.array(Y), scores.copy(), np.array([1, 0, 1, 1, 3])
        for weights in (None, w):
            call(name, y, s, sample_weight=weights)
        assert y.tolist() == Y
        assert s.tobytes() == scores.tobytes()
        assert w.tolist() == [1, 0, 1, 1, 3]


def test_lists_of_short_floats_are_scores() -> None:
    """2^53, from which on floats round integers, overflowed in float16, with a warning."""
    scores = [np.float16(x) for x in (1, 2, 3, 2.5)]
    assert fastad.roc_auc([0, 1, 1, 0], scores) == 0.75

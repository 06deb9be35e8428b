"""What ``evaluate`` takes, and what stands in its table."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastad
from fastad import InvalidInputError
from fastad.streaming import ScoreSketch
from tests.support.loops import loop
from tests.support.score_types import of_many_types

Array = npt.NDArray[Any]

_RNG = np.random.default_rng(20240711)
N, M = 60, 340
Y = _RNG.permutation(np.repeat([1, 0], [N, M]))
_RAW = _RNG.normal(size=N + M) + Y
SCORES: dict[str, Array] = {
    **of_many_types(_RAW),
    "bool": _RAW > 1,
    "infinite": np.where(_RAW > 2, np.inf, np.where(_RAW < -1, -np.inf, _RAW)),
    "constant": np.zeros(N + M),
}

# Every label beside the single function that defines it.
SINGLE: dict[str, Callable[..., Any]] = {
    "auc": fastad.roc_auc,
    "auc_w": fastad.weighted_auc,
    "ap": fastad.average_precision,
    "auc@0.05": lambda *data, **kw: fastad.auc_at_fpr(*data, fpr=0.05, **kw),
    "auc@0.2": lambda *data, **kw: fastad.auc_at_fpr(*data, fpr=0.2, **kw),
    "tpr@0.01": lambda *data, **kw: fastad.tpr_at_fpr(*data, fpr=0.01, **kw),
    "tpr@1e-05": lambda *data, **kw: fastad.tpr_at_fpr(*data, fpr=1e-5, **kw),
    "precision@p0.05": lambda *data, **kw: fastad.precision_at_p(*data, p=0.05, **kw),
    "f1@0.05": lambda *data, **kw: fastad.f1_at_fpr(*data, fpr=0.05, **kw),
    "precision@fpr0.3": lambda *data, **kw: fastad.precision_at_fpr(*data, fpr=0.3, **kw),
    "fpr@tpr0.95": lambda *data, **kw: fastad.fpr_at_tpr(*data, tpr=0.95, **kw),
    "auc@tpr0.9": lambda *data, **kw: fastad.measures.auc_at_tpr(*data, min_tpr=0.9, **kw),
    "precision@n": fastad.precision_at_k,
    "precision@k10": lambda *data, **kw: fastad.precision_at_k(*data, k=10, **kw),
    "recall@n": fastad.recall_at_k,
    "recall@k25": lambda *data, **kw: fastad.recall_at_k(*data, k=25, **kw),
}
# Function names, beside their labels at the false positive rates 0.01 and 0.2.
FUNCTIONS = {
    "roc_auc": ["auc"],
    "weighted_auc": ["auc_w"],
    "average_precision": ["ap"],
    "auc_at_fpr": ["auc@0.01", "auc@0.2"],
    "tpr_at_fpr": ["tpr@0.01", "tpr@0.2"],
    "precision_at_p": ["precision@p0.01", "precision@p0.2"],
    "f1_at_fpr": ["f1@0.01", "f1@0.2"],
    "precision_at_fpr": ["precision@fpr0.01", "precision@fpr0.2"],
    "fpr_at_tpr": ["fpr@tpr0.95"],
    "auc_at_tpr": ["auc@tpr0.9"],
    "precision_at_k": ["precision@n"],
    "recall_at_k": ["recall@n"],
}


def value_or_nan(measure: Callable[..., Any], *data: Any, **options: Any) -> float:
    try:
        return float(measure(*data, **options))
    except fastad.UndefinedMeasureError:
        return math.nan


def bits(values: Any) -> list[str]:
    return [float(value).hex() for value in values]


# What holds scores.


@pytest.mark.parametrize("container", [list, tuple, np.array, pd.Series, pl.Series, pa.array])
def test_a_vector_is_one_detector_named_score(container: Callable[..., Any]) -> None:
    result = fastad.evaluate(container(Y.tolist()), container(_RAW.tolist()), measures=["auc"])
    assert list(result) == ["score"]
    assert result["score"]["auc"] == fastad.roc_auc(Y, _RAW)


@pytest.mark.parametrize("container", [np.array, list, tuple])
def test_rows_of_an_array_are_detectors_by_number(container: Callable[..., Any]) -> None:
    rows = [_RAW, -_RAW, np.round(_RAW)]
    result = fastad.evaluate(Y, container(rows), measures=["auc"])
    assert list(result) == ["score_0", "score_1", "score_2"]
    assert [result[name]["auc"] for name in result] == [fastad.roc_auc(Y, row) for row in rows]


def test_a_mapping_keeps_its_names_their_order_and_the_type_of_each() -> None:
    names = list(SCORES)[::-1]
    result = fastad.evaluate(Y, {name: SCORES[name] for name in names}, measures=["auc"])
    assert list(result) == names
    assert len(result) == len(names)
    assert [detector.detector for detector in result.values()] == names
    assert all(result[n]["auc"] == fastad.roc_auc(Y, SCORES[n]) for n in names)
    assert "nobody" not in result
    with pytest.raises(KeyError):
        result["nobody"]


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_any_library_is_a_mapping_of_its_columns(table: Callable[..., Any]) -> None:
    columns = {name: SCORES[name] for name in ("rounded", "float32", "int64", "bool")}
    result = fastad.evaluate(Y, table(columns))
    assert result.to_json() == fastad.evaluate(Y, columns).to_json()


@pytest.mark.parametrize("name", ["columns", "column_names", "values", "index", "score"])
def test_a_table_may_have_columns_of_any_name(name: str) -> None:
    result = fastad.evaluate(Y, pd.DataFrame({name: _RAW, "b": -_RAW}), measures=["auc"])
    assert list(result) == [name, "b"]


@pytest.mark.parametrize(
    "scores",
    [
        {1: _RAW, "1": -_RAW},
        pd.DataFrame(np.column_stack([_RAW, -_RAW]), columns=["a", "a"]),
        pa.table([_RAW, -_RAW], names=["a", "a"]),
    ],
    ids=["mapping", "pandas", "pyarrow"],
)
def test_two_detectors_of_one_name_are_refused(scores: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"y_score must name each .* once"):
        fastad.evaluate(Y, scores)


def test_an_array_with_points_in_rows_is_refused_as_transposed() -> None:
    with pytest.raises(InvalidInputError, match=r"\(400, 2\).*transposed: pass y_score\.T"):
        fastad.evaluate(Y, np.column_stack([_RAW, _RAW]))


def test_a_square_array_has_detectors_in_rows() -> None:
    result = fastad.evaluate([0, 1], [[1, 2], [2, 1]], measures=["auc"])
    assert [result[name]["auc"] for name in result] == [1.0, 0.0]


@pytest.mark.parametrize(
    "scores", [{}, [], np.zeros((0, 400)), np.zeros((1, 1, 400)), None, "text", [[1.0], [1, 2]]]
)
def test_what_holds_no_detectors_is_refused(scores: Any) -> None:
    with pytest.raises(InvalidInputError, match="y_score"):
        fastad.evaluate(Y, scores)


# Which measures.


@pytest.mark.parametrize(
    "fpr", [0.01, [0.05], (0.01, 0.05), np.array([0.001, 0.25]), [1e-5, 0.5], Fraction(1, 3)]
)
def test_the_default_set_is_labelled_by_the_operating_points(fpr: Any) -> None:
    points = [fpr] if isinstance(fpr, float | Fraction) else fpr
    expected = ["auc", "auc_w", "ap"]
    for point in points:
        expected += [f"{kind}{float(point):g}" for kind in ("auc@", "tpr@", "f1@", "precision@fpr")]
    result = fastad.evaluate(Y, _RAW, fpr=fpr)
    assert list(result["score"]) == result.measure_keys == expected


def test_the_default_operating_points_are_one_and_five_percent() -> None:
    result = fastad.evaluate(Y, _RAW)
    assert result.to_json() == fastad.evaluate(Y, _RAW, fpr=[0.01, 0.05]).to_json()


@loop("weights", ["none", "integer", "zeros", "real"])
@loop("kind", list(SCORES))
def test_every_value_has_the_bits_of_the_single_function(kind: str, weights: str) -> None:
    rng = np.random.default_rng(7)
    drawn: dict[str, Array] = {
        "integer": rng.integers(1, 4, N + M),
        "zeros": rng.integers(0, 3, N + M),
        "real": rng.random(N + M),
    }
    options: dict[str, Any] = {} if weights == "none" else {"sample_weight": drawn[weights]}
    labels = [x for x in SINGLE if weights != "real" or x != "precision@p0.05"]
    result = fastad.evaluate(Y, SCORES[kind], measures=labels, **options)["score"]
    expected = {x: value_or_nan(SINGLE[x], Y, SCORES[kind], **options) for x in labels}
    assert list(result) == labels
    assert bits(result.values()) == bits(expected.values())
    assert set(result.undefined) == {x for x in labels if math.isnan(expected[x])}


@loop("name", list(FUNCTIONS))
def test_a_function_name_stands_for_its_labels(name: str) -> None:
    by_name = fastad.evaluate(Y, _RAW, measures=[name], fpr=[0.01, 0.2])
    assert by_name.measure_keys == FUNCTIONS[name]
    assert bits(by_name["score"].values()) == bits(
        fastad.evaluate(Y, _RAW, measures=FUNCTIONS[name])["score"].values()
    )


def test_a_value_is_found_by_the_name_that_was_asked_for() -> None:
    names = {"best_f1": "f1_best", "roc_auc": "auc"}
    result = fastad.evaluate(Y, _RAW, measures=list(names))["score"]
    sketch = ScoreSketch()
    sketch.update(Y, _RAW)
    bounded = sketch.evaluate(list(names))
    for table in (result, bounded):
        assert list(table) == list(names.values())
        for name, key in names.items():
            assert table[name] == table[key]
            assert name in table
        for other in ("tpr_at_fpr", "f1", "average_precision"):
            with pytest.raises(KeyError):
                table[other]


def test_labels_name_their_own_points_whatever_fpr_is() -> None:
    labels = ["tpr@0.3", "auc", "precision@k10", "fpr@tpr0.95", "tpr@0.3", "roc_auc"]
    result = fastad.evaluate(Y, _RAW, measures=labels, fpr=0.01)
    assert result.measure_keys == ["tpr@0.3", "auc", "precision@k10", "fpr@tpr0.95"]


@loop(
    "label",
    [
        *("AUC", " auc", "", "auc@", "auc@x", "auc@2", "auc@-0.1", "auc@nan", "auc@inf"),
        *("auc@0.1x", "auc@1/0", "precision@k0", "precision@k", "precision@k1.5", "no_such"),
        *("fpr@0.05", "rank_scores", "confusion_at", "roc_curve", "precision_recall_curve"),
    ],
)
def test_an_unknown_measure_is_refused_by_its_name(label: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        fastad.evaluate(Y, _RAW, measures=["auc", label])
    assert repr(label) in str(error.value)


def test_no_measures_and_no_operating_points_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="measures must name at least one"):
        fastad.evaluate(Y, _RAW, measures=[])
    with pytest.raises(InvalidInputError, match="fpr must be"):
        fastad.evaluate(Y, _RAW, fpr=[])


@pytest.mark.parametrize("fpr", [-0.1, 1.1, math.nan, math.inf, [0.1, 2]])
def test_an_fpr_outside_the_unit_interval_is_refused(fpr: Any) -> None:
    with pytest.raises(InvalidInputError, match="fpr"):
        fastad.evaluate(Y, _RAW, fpr=fpr)


def test_points_that_print_alike_are_never_mixed_up() -> None:
    with pytest.raises(InvalidInputError, match=r"auc@0\.01"):
        fastad.evaluate(Y, _RAW, fpr=[0.01, 0.0100000001])
    assert fastad.evaluate(Y, _RAW, fpr=[0.01, 0.01]).measure_keys == (
        fastad.evaluate(Y, _RAW, fpr=0.01).measure_keys
    )


def test_points_of_two_measures_that_print_alike_are_never_mixed_up() -> None:
    with pytest.raises(InvalidInputError, match=r"must differ in six digits; found two for 0\.2"):
        fastad.evaluate(Y, _RAW, measures=["auc@0.2", "tpr@0.2000000001"])


# Labels, weights, threads.


@pytest.mark.parametrize(
    ("labels", "positive"),
    [(1 - 2 * Y, -1), (np.where(Y, "bad", "good"), "bad"), (Y == 0, False), (Y + 1, 2)],
)
def test_pos_label_names_the_anomalies(labels: Array, positive: Any) -> None:
    result = fastad.evaluate(labels, SCORES, pos_label=positive)
    assert result.to_json() == fastad.evaluate(Y, SCORES).to_json()


@pytest.mark.parametrize("scale", [1e100, 1e-100, 3])
def test_equal_weights_change_no_rate_however_large_or_small(scale: float) -> None:
    """Of y = 0 0 0 1 1, AUC 4 pairs of 6."""
    labels, scores = [0, 0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8, 0.2]
    result = fastad.evaluate(labels, scores, sample_weight=[scale] * 5, fpr=0.5)["score"]
    assert result["auc"] == pytest.approx(4 / 6, abs=1e-14)


@pytest.mark.parametrize("weight", [1e308, 1.001e100, 0.999e-100, 5e-324])
def test_weights_whose_products_may_overflow_are_refused(weight: float) -> None:
    message = r"sample_weight must be 0 or lie in \[1e-100, 1e\+100\]; found weights from"
    for weights in ([weight] * 5, [weight, 1, 1, 1, 0]):
        with pytest.raises(InvalidInputError, match=message):
            fastad.evaluate([0, 0, 0, 1, 1], [1, 4, 3, 8, 2], sample_weight=weights)


@pytest.mark.parametrize("n_threads", [2, 3, 16])
def test_threads_change_no_bit(n_threads: int) -> None:
    one = fastad.evaluate(Y, SCORES, measures=list(SINGLE), n_threads=1)
    many = fastad.evaluate(Y, SCORES, measures=list(SINGLE), n_threads=n_threads)
    assert many.to_json() == one.to_json()
    assert list(many) == list(SCORES)
    weights = np.random.default_rng(3).random(N + M)
    one = fastad.evaluate(Y, SCORES, sample_weight=weights, n_threads=1)
    many = fastad.evaluate(Y, SCORES, sample_weight=weights, n_threads=n_threads)
    assert many.to_json() == one.to_json()


def test_measures_of_many_scores_are_those_of_functions_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(4)
    y = rng.random(250_000) < 0.05
    s = rng.normal(size=len(y)) + y
    keys = ["precision@k250001", "ap", "auc_w", "precision@k300000", "auc", "tpr@0.01"]
    one, two = (fastad.evaluate(y, s, measures=keys, n_threads=n) for n in (1, 2))
    assert one.to_json() == two.to_json()
    result = two["score"]
    assert list(result) == keys
    assert list(result.undefined) == ["precision@k250001", "precision@k300000"]
    assert result["auc"] == fastad.roc_auc(y, s)
    assert result["auc_w"] == fastad.weighted_auc(y, s)
    assert result["ap"] == fastad.average_precision(y, s)
    with pytest.raises(InvalidInputError, match="y_score must lie in"):
        fastad.evaluate(y, s, measures=["auc", "auc_smooth"], score_range=(0, 1), n_threads=2)


@pytest.mark.parametrize(
    ("n_threads", "error", "found"),
    [(0, InvalidInputError, 0), (-1, InvalidInputError, -1), (1.5, TypeError, 1.5),
     (True, TypeError, "bool"), ("2", TypeError, "str")],
)  # fmt: skip
def test_a_bad_number_of_threads_is_refused(
    n_threads: Any, error: type[Exception], found: Any
) -> None:
    with pytest.raises(error, match=f"n_threads must be .*; found {found}$"):
        fastad.evaluate(Y, _RAW, n_threads=n_threads)


@pytest.mark.parametrize("measures", [3, 2.5, object(), np.array("auc"), np.ma.array(1, mask=True)])
def test_measures_of_another_type_are_named(measures: Any) -> None:
    with pytest.raises(TypeError, match="measures must be a sequence of strings"):
        fastad.evaluate([0, 1], [0.0, 1.0], measures=measures)


def test_measures_come_in_any_sequence() -> None:
    sequences: list[Any] = [np.array(["auc", "ap"]), ("auc", "ap"), (x for x in ("auc", "ap"))]
    for measures in sequences:
        result = fastad.evaluate([0, 1], [0.0, 1.0], measures=measures)
        assert list(result["score"]) == ["auc", "ap"]


# Notes.


def test_plain_results_have_the_notes() -> None:
    """Of 60 normals a rate of 0.01 is less than one sample."""
    y, scores = np.repeat([0, 1], [60, 1]), np.arange(61.0)
    alone = fastad.evaluate(y, scores, measures=["tpr@0.01"])
    groups = np.repeat([0, 1], 61)
    grouped = fastad.evaluate(
        np.tile(y, 2), np.tile(scores, 2), measures=["tpr@0.01"], groups=groups
    )
    for result in (alone, grouped):
        assert any("fewer than 500 normals" in note for note in result.notes)
        assert result.to_dict()["notes"] == list(result.notes)
    sound = fastad.evaluate(Y, _RAW, measures=["auc"])
    assert not sound.notes
    assert "notes" not in sound.to_dict()


def test_groups_of_clusters_have_the_design_effects_of_their_runs() -> None:
    rng = np.random.default_rng(0)
    n = 400
    y, groups, clusters = rng.integers(0, 2, n), np.arange(n) % 2, np.arange(n) // 4
    scores = {"a": rng.normal(size=n) + y, "b": rng.normal(size=n) + 2 * y}
    options: dict[str, Any] = {"measures": ["auc"], "confidence_level": 0.9}
    result = fastad.evaluate(y, scores, groups=groups, clusters=clusters, **options)
    expected = []
    for name, values in scores.items():
        effects = []
        for group in (0, 1):
            rows = groups == group
            alone = fastad.interval(
                y[rows], values[rows], measure="auc", confidence_level=0.9, clusters=clusters[rows]
            )
            assert alone.sampling is not None
            effects.append(alone.sampling.design_effect)
        ends = f"{min(effects):.3g} to {max(effects):.3g}"
        expected.append(f"sampling: {name}: design effects {ends} in 2 runs")
    assert [note for note in result.notes if note.startswith("sampling:")] == expected
    plain = fastad.evaluate(y, scores, groups=groups, **options)
    assert not any("sampling" in note for note in plain.notes)

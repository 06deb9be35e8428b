"""Columns of result tables by name: what is read, what is left out, and what may be meant."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fastad
from fastad import ResultTable
from fastad.benchmarking import average_ranks, nemenyi, rank_distance, wilcoxon_holm
from fastad.benchmarking.columns import find_columns
from fastad.errors import InvalidInputError
from fastad.measures.registry import MEASURES
from fastad.measures.requests import example_key, read_key
from tests.support.loops import loop

ROWS: dict[str, Any] = {"dataset": ["a", "a", "b", "b", "c", "c"], "detector": ["knn", "lof"] * 3}
VALUES = [0.9, 0.8, 0.7, 0.6, 0.8, 0.7]
# Functions that stand for one column, and those that need an operating point in its label.
PLAIN = [
    row
    for row in MEASURES.values()
    if row.kind == "value"
    and row.higher_is_better is not None
    and (row.operating_point is None or row.default_points == (None,))
]
AT_POINTS = [
    row
    for row in MEASURES.values()
    if row.kind == "value" and row.higher_is_better is not None and row not in PLAIN
]


def table(**columns: Any) -> ResultTable:
    return ResultTable.from_table({**ROWS, **columns})


@loop("row", PLAIN)
def test_a_column_with_the_name_of_a_function_is_its_measure(row: Any) -> None:
    by_name, by_key = table(**{row.name: VALUES}), table(**{row.key: VALUES})
    assert by_name.measure_keys == by_key.measure_keys == [row.key]
    assert by_name.measures[0].higher_is_better == row.higher_is_better
    for results in (by_name, by_key):
        for text in (row.key, row.name):
            assert results.measure(text).key == row.key
            assert results.means(text).ravel().tolist() == VALUES
            assert results.by_fold(text).ravel().tolist() == VALUES
            assert ResultTable.from_table(
                {**ROWS, results.measures[0].column: VALUES}, measures=[text]
            ).measure_keys == [row.key]
    with pytest.raises(InvalidInputError, match=f"found .* which are both {row.key}"):
        table(**{row.name: VALUES, row.key: VALUES})


@loop("row", AT_POINTS)
def test_a_function_at_operating_points_is_all_of_its_columns(row: Any) -> None:
    first = example_key(row)
    example = row.point_parameter.example
    second = row.key_at(1 if isinstance(example, int) else Fraction("0.075"))
    named = read_key(second)
    assert named is not None
    results = table(**{first: VALUES, second: VALUES, "auc": VALUES})
    assert [column.key for column in results.select([row.name], "measures")] == [first, second]
    ranks = average_ranks(results, measures=[row.name], n_resamples=1, rng=0)
    assert list(ranks.measures) == [first, second]
    with pytest.raises(InvalidInputError, match=f"measure must be one of {first}, {second}; found"):
        nemenyi(results, measure=row.name)
    # As a column it does not say at which.
    assert "left out: " + row.name in table(auc=VALUES, **{row.name: VALUES}).notes[0]


def test_columns_that_are_left_out_are_named() -> None:
    results = table(auc=VALUES, roc_acu=VALUES, accuracy=VALUES, hours=VALUES, name=list("uvwxyz"))
    assert results.measure_keys == ["auc"]
    (note,) = results.notes
    assert note == (
        "left out: roc_acu, accuracy, hours, which are not measures that fastad knows: say which "
        "way is better with higher_is_better={'roc_acu': True}; did you mean 'roc_auc', 'rp_auc' "
        "or 'pr_auc'?"
    )
    # Wherever a result is printed.
    for result in (average_ranks(results, rng=0), nemenyi(results, rng=0), wilcoxon_holm(results)):
        assert note in str(result)
    overview = fastad.compare_runs(results, rng=0)
    assert str(overview).count(note) == 1
    # Whoever names what is read, or its direction, has nothing left out.
    assert not ResultTable.from_table({**ROWS, "auc": VALUES, "x": VALUES}, measures=["auc"]).notes
    named = ResultTable.from_table({**ROWS, "x": VALUES}, higher_is_better={"x": False})
    assert named.measure_keys == ["x"]
    assert not named.notes


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"confidence_level": 0.9, "chance": True, "n_resamples": 20}, {"threshold": 0.5},
     {"threshold": {"a": 1, "b": 2}}, {"nan_policy": "omit"}],
    ids=lambda options: next(iter(options)),
)  # fmt: skip
def test_what_evaluate_writes_beside_measures_is_not_named(options: Any) -> None:
    rng = np.random.default_rng(0)
    labels = rng.random(400) < 0.3
    scores = {"a": rng.normal(size=400) + labels, "b": rng.normal(size=400)}
    if "nan_policy" in options:
        scores["a"][3] = np.nan
    runs = fastad.evaluate(labels, scores, groups={"dataset": np.arange(400) % 2}, **options)
    for given in (runs, runs.to_frame("pandas")):
        table = ResultTable.from_table(given)
        assert not any(note.startswith("left out") for note in table.notes), table.notes
        names = find_columns(list(runs.to_columns()))
        assert not names.unknown


def test_a_wide_table_is_refused_with_what_reads_it() -> None:
    wide = pd.DataFrame({"dataset": ["a", "b"], "knn": [0.9, 0.7], "lof": [0.8, 0.6]})
    with pytest.raises(InvalidInputError, match="detector_column must name a column") as caught:
        average_ranks(wide)
    call = str(caught.value).rpartition("pass ")[2]
    assert call == (
        "ResultTable.from_arrays({'auc': table[['knn', 'lof']]}, datasets=table['dataset'], "
        "detectors=['knn', 'lof'])"
    )
    results = eval(call, {"ResultTable": ResultTable, "table": wide})
    assert results.means("auc").tolist() == [[0.9, 0.8], [0.7, 0.6]]
    assert results.detectors == ["knn", "lof"]
    assert results.datasets == ["a", "b"]


def test_of_many_columns_the_message_names_a_few() -> None:
    wide = pd.DataFrame({f"d{j}": [0.9, 0.7] for j in range(500)})
    with pytest.raises(InvalidInputError, match=r"d11 and 488 more.*'d2', \.\.\.") as caught:
        average_ranks(wide)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_data_set_with_one_class_of_anomalies_may_lack_its_name(missing: Any) -> None:
    classes = np.array(["5", "5", missing, "8", "8", "8"], object)
    named = np.where([name == missing or name != name for name in classes], "anomalies", classes)
    result = table(anomaly_class=classes, auc=VALUES)
    expected = table(anomaly_class=named, auc=VALUES)
    assert result.anomaly_classes == expected.anomaly_classes
    assert "anomalies" in (result.anomaly_classes or ())
    np.testing.assert_array_equal(result.means("auc"), expected.means("auc"))
    without = table(anomaly_class=np.full(6, missing, object), auc=VALUES)
    assert without.anomaly_classes is None


@pytest.mark.parametrize("compare", [nemenyi, wilcoxon_holm])
def test_the_only_measure_of_a_table_need_not_be_named(compare: Any) -> None:
    one = table(auc=VALUES)
    assert str(compare(one, rng=0)) == str(compare(one, measure="auc", rng=0))
    assert compare(one, rng=0).measure == "auc"
    with pytest.raises(InvalidInputError, match="must be one of auc, ap; found None, and 2"):
        compare(table(auc=VALUES, ap=VALUES))


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("acu", "; did you mean 'auc'?"),
        ("AUC", "; did you mean 'auc'?"),
        ("tpr@0.5", "; did you mean 'tpr@0.05'?"),
        ("roc_auc_score", "; did you mean 'auc' or 'roc_auc'?"),
        ("zzz", "found 'zzz'"),
    ],
)
def test_misspelt_labels_of_a_table(text: str, ending: str) -> None:
    results = table(**{"auc": VALUES, "tpr@0.05": VALUES})
    for call in (
        lambda: nemenyi(results, measure=text),
        lambda: average_ranks(results, measures=[text]),
        lambda: rank_distance(results, reference=text),
    ):
        with pytest.raises(InvalidInputError) as caught:
            call()
        assert str(caught.value).endswith(ending)


def test_dates_are_names_and_cells_without_a_value_no_parameters() -> None:
    days = pd.to_datetime(["2026-11-27", "2026-11-28"] * 2)
    missing = [Decimal("NaN"), np.float32("nan"), np.datetime64("NaT"), None]
    columns = {"dataset": ["a"] * 4, "detector": ["x", "x", "y", "y"], "fold": days}
    table = ResultTable.from_table({**columns, "k": missing, "auc": [0.5, 0.6, 0.7, 0.8]})
    assert table.detectors == ["x", "y"]
    assert [str(fold) for fold in table.folds] == ["2026-11-27 00:00:00", "2026-11-28 00:00:00"]

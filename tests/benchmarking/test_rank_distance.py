"""How far the ranking by a measure lies from that by a reference, against loops over rows."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad import ResultTable
from fastad.benchmarking import rank_distance
from fastad.errors import InvalidInputError
from tests.support.comparison_oracles import Rows, as_columns, best_of, mean_over_folds, result_rows

nan = math.nan
LABELS = ["tpr@0.4", "auc", "fpr@tpr0.8"]


def ranks_of(rows: Rows, label: str) -> dict[str, dict[str, float] | None]:
    """Ranks of detectors by data set: 1 and one for each better one, half for each equal one."""
    up = not label.startswith("fpr")
    results: dict[str, dict[str, float] | None] = {}
    for (name,), models in mean_over_folds(rows, label).items():
        merits: dict[str, Fraction | None] = {
            detector: best_of({m: v for m, v in models.items() if m[0] == detector}, up)
            for detector, _ in models
        }
        there = [value for value in merits.values() if value is not None]
        if len(there) < len(merits):
            results[name] = None
            continue
        results[name] = {
            detector: 1
            + sum((x > value) == up and x != value for x in there)
            + (sum(x == value for x in there) - 1) / 2
            for detector, value in merits.items()
            if value is not None
        }
    return results


def distance(a: dict[str, float] | None, b: dict[str, float] | None) -> float:
    return nan if a is None or b is None else math.sqrt(sum((a[k] - b[k]) ** 2 for k in a))


def read(rows: Rows) -> ResultTable:
    columns = as_columns(rows)
    del columns["anomaly_class"]
    return ResultTable.from_table(columns)


def several(rows: Rows) -> bool:
    return len({row["detector"] for row in rows}) > 1


@pytest.mark.slow
@given(result_rows(LABELS).filter(several), st.sampled_from(LABELS))
def test_distances_are_those_of_the_loops(rows: Rows, reference: str) -> None:
    result = rank_distance(read(rows), reference=reference, rng=0, n_resamples=3)
    assert result.measures == [label for label in LABELS if label != reference]
    goal = ranks_of(rows, reference)
    assert set(result.datasets) == set(goal)
    by_measure = {label: ranks_of(rows, label) for label in result.measures}
    nearest = {label: 0 for label in result.measures}
    counted = 0
    known = [
        label
        for label, own in zip(result.measures, result.distances.T, strict=True)
        if not np.isnan(own).all()
    ]
    for i, name in enumerate(result.datasets):
        expected = [distance(by_measure[label][name], goal[name]) for label in result.measures]
        # Squares of halves are exact.
        assert np.array_equal(result.distances[i], expected, equal_nan=True)
        there = [one for one in expected if one == one]
        if any(one != one for one, label in zip(expected, result.measures, strict=True)
               if label in known) or not there:  # fmt: skip
            continue
        counted += 1
        for label, one in zip(result.measures, expected, strict=True):
            nearest[label] += one == min(there)
    for i, label in enumerate(result.measures):
        own = result.distances[:, i].tolist()
        there = [one for one in own if one == one]
        assert (result.means.n[i], result.means.n_undefined[i]) == (
            len(there),
            len(own) - len(there),
        )
        if counted and label in known:
            assert result.closest[i] == pytest.approx(nearest[label] / counted, rel=1e-15)
        else:
            assert math.isnan(result.closest[i])
        if len(there):
            assert result.means.value[i] == pytest.approx(sum(there) / len(there))
        else:
            assert math.isnan(result.means.value[i])


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8, 33])
def test_bounds_are_reached(k: int) -> None:
    up = [list(range(k))]
    down = [list(range(k, 0, -1))]
    table = ResultTable.from_arrays({"tpr@0.4": up, "auc": up, "ap": down, "fpr@tpr0.8": up})
    result = rank_distance(table, reference="tpr@0.4", rng=0)
    farthest = math.sqrt(k * (k * k - 1) / 3)
    assert result.distances.tolist() == [[0, farthest, farthest]]
    # Lower is better: alarms that rise are ranked as what falls.
    turned = rank_distance(table, reference="fpr@tpr0.8", rng=0)
    assert turned.measures == ["tpr@0.4", "auc", "ap"]
    assert turned.distances.tolist() == [[farthest, farthest, 0]]


def test_ties_share_their_mean_rank() -> None:
    tpr, auc, ap = [[0.9, 0.9, 0.5, 0.1]], [[0.8, 0.7, 0.6, 0.5]], [[0.5, 0.5, 0.5, 0.5]]
    table = ResultTable.from_arrays({"tpr@0.4": tpr, "auc": auc, "ap": ap})
    result = rank_distance(table, reference="tpr@0.4", rng=0)
    # Ranks 1.5 1.5 3 4, against 1 2 3 4 and four times 2.5.
    assert result.distances.tolist() == [[math.sqrt(0.5), math.sqrt(1 + 1 + 0.25 + 2.25)]]
    near = [[0.9, np.nextafter(0.9, 1), 0.5, 0.1]]
    table = ResultTable.from_arrays({"tpr@0.4": near, "auc": auc})
    assert rank_distance(table, reference="tpr@0.4", rng=0).distances.tolist() == [[math.sqrt(2)]]


def test_closest_shares_ties_and_leaves_out_what_none_has() -> None:
    values: dict[str, Any] = {
        "tpr@0.4": [[1, 2, 3], [1, 2, 3], [1, 2, 3], [nan, 2, 3]],
        "auc": [[1, 2, 3], [3, 2, 1], [nan, 2, 1], [1, 2, 3]],
        "ap": [[1, 2, 3], [2, 1, 3], [1, 2, 3], [1, 2, 3]],
    }
    result = rank_distance(ResultTable.from_arrays(values), reference="tpr@0.4", rng=0)
    assert result.closest == pytest.approx([1 / 2, 1])  # of the first two
    assert result.means.n.tolist() == [2, 3]
    assert result.notes == [
        "nan: auc or tpr@0.4 lacks a detector in 2 of 4 data sets",
        "nan: ap or tpr@0.4 lacks a detector in 1 of 4 data sets",
    ]
    lines = str(result).splitlines()
    assert lines[0].startswith("distance from tpr@0.4 ")
    assert " 95 % interval " in lines[0]
    assert "1.414 " in lines[1]
    assert "50% " in lines[1]
    assert "²" not in lines[1]  # a mean over other data sets
    assert "0.471¹" in lines[2]
    assert "100%¹" in lines[2]
    assert lines[3:] == result.notes


def test_nothing_is_closest_where_nothing_is_there() -> None:
    values: dict[str, Any] = {"tpr@0.4": [[nan, 1]], "auc": [[1, 2]]}
    result = rank_distance(ResultTable.from_arrays(values), reference="tpr@0.4", rng=0)
    for array in (result.closest, result.means.value, result.means.low, result.distances):
        assert np.isnan(array).all()
    assert "-" in str(result).splitlines()[1]


def test_intervals_draw_data_sets_with_all_their_classes() -> None:
    # One data set with nine classes at distance 0, one with a class at the root of 2.
    rows: dict[str, list[Any]] = {
        "dataset": ["a"] * 18 + ["b"] * 2,
        "anomaly_class": [i // 2 for i in range(20)],
        "detector": ["knn", "lof"] * 10,
        "tpr@0.4": [1, 2] * 10,
        "auc": [1, 2] * 9 + [2, 1],
    }
    result = rank_distance(rows, reference="tpr@0.4", rng=0)
    assert result.means.value == pytest.approx([math.sqrt(2) / 10])
    # Two data sets: one of them, or one that was not drawn, may have almost all of the weight.
    assert result.means.low[0] == pytest.approx(0, abs=0.01)
    assert result.means.high[0] == pytest.approx(math.sqrt(2), abs=0.1)
    assert result.means.n.tolist() == [10]
    assert result.datasets[-1] == "b 9"


def test_frame_and_missing_rows() -> None:
    rows = {
        "dataset": ["a", "a", "b", "b"],
        "detector": ["knn", "lof", "knn", "lof"],
        "fold": [0, 0, 0, 1],
        "tpr@0.4": [1, 2, 1, 2],
        "auc": [1, 2, 2, 1],
        "ap": [2, 1, 1, 2],
    }
    result = rank_distance(rows, reference="tpr@0.4", rng=0)
    assert result.to_columns() == {
        "dataset": ["a", "a", "b", "b"],
        "measure": ["auc", "ap"] * 2,
        "reference": ["tpr@0.4"] * 4,
        "distance": [0, math.sqrt(2), math.sqrt(2), 0],
    }
    assert result.to_frame().shape == (4, 4)
    assert str(result).splitlines()[-1].startswith("missing: 4 of 8 rows (a, knn, fold 1; ")
    assert repr(result) == "<RankDistances of 2 measures from tpr@0.4>"


def test_measures_are_chosen_from_a_table_or_its_columns() -> None:
    rows = {
        "dataset": ["a"] * 3,
        "detector": ["iforest", "knn", "lof"],
        "tpr@0.4": [0.9, 0.7, 0.8],
        "auc": [0.8, 0.6, 0.5],
        "ap": [0.9, 0.7, 0.8],
        "seconds": [1, 2, 3],
    }
    for table in (rows, ResultTable.from_table(rows)):
        result = rank_distance(table, reference="tpr@0.4", measures=["ap", "auc", "ap"], rng=0)
        assert (result.measures, result.distances.tolist()) == (["ap", "auc"], [[0, math.sqrt(2)]])
    own = rank_distance(rows, reference="auc", measures=["auc"], rng=0)
    assert own.distances.tolist() == [[0]]


def test_the_reference_may_be_the_name_of_a_function() -> None:
    for reference in ("auc", "roc_auc"):
        result = rank_distance(TWO, reference=reference, rng=0)
        assert (result.reference, result.measures) == ("auc", ["tpr@0.4"])
        assert result.to_columns()["reference"] == ["auc"]


TWO = {"dataset": ["a"] * 2, "detector": ["k", "l"], "tpr@0.4": [1, 2], "auc": [1, 2]}


def test_a_reference_alone_has_no_distance() -> None:
    rows = {name: TWO[name] for name in ("dataset", "detector", "auc")}
    with pytest.raises(InvalidInputError, match="a measure beside auc; found none"):
        rank_distance(rows, reference="auc")

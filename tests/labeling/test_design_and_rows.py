"""Designs, the rows that they draw, and their files."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.labeling import Target, design, draw, read_drawn
from fastad.labeling.plans import _Expected
from tests.support.labeling import population
from tests.support.loops import loop

Y_TRUE, SCORES = population(5000, 0.02, np.random.default_rng(0))


def test_probabilities_add_up_to_the_budget_and_none_is_0() -> None:
    for budget in (1, 50, 4999, 5000):
        plan = design(SCORES, budget=budget, target=["auc a", "tpr@0.01 a vs b"])
        assert plan.probability.sum() == pytest.approx(budget)
        assert plan.probability.min() >= 0.1 * budget / 5000 * (1 - 1e-9)
        assert plan.probability.max() <= 1
        drawn = draw(plan, rng=0)
        assert np.unique(drawn.row).shape == (budget,)


def test_rows_on_which_detectors_disagree_are_drawn_more_often() -> None:
    plan = design(SCORES, budget=200, target="tpr@0.01 a vs b")
    flagged = [values >= np.quantile(values, 0.99) for values in SCORES.values()]
    p = plan.probability
    assert p[flagged[0] ^ flagged[1]].mean() > 5 * p[flagged[0] & flagged[1]].mean()
    assert p[flagged[0] & flagged[1]].mean() > p[~flagged[0] & ~flagged[1]].mean()


def test_a_bound_on_what_is_missed_rests_on_no_model() -> None:
    plan = design(np.repeat([0.0, 1.0], [900, 100]), budget=20, target="missed@threshold1")
    assert plan.gain[0] == pytest.approx(1.0)
    assert np.ptp(plan.probability) == pytest.approx(0, abs=1e-12)


def test_targets_are_strings_or_their_parts() -> None:
    names = design(SCORES, budget=9, target=["auc", "auc b", Target("ap", "b", "a")]).targets
    assert names == ["auc a vs b", "auc b", "ap b vs a"]
    assert design(SCORES["a"], budget=9, target="auc").targets == ["auc score"]
    plan = design(SCORES, budget=9, target="auc")
    assert "times fewer" in str(plan)
    assert plan.to_columns()["gain"] == plan.gain


@loop(
    "changes, message",
    [
        ({"budget": 5001}, "number of rows without a label, 5000; found 5001"),
        ({"budget": 0}, "budget must be at least 1"),
        ({"target": "auc c"}, "must name detectors of the scores, a, b; found 'c'"),
        ({"target": "auc a vs a"}, "two different detectors"),
        ({"target": ["auc a", "auc a"]}, "each target once"),
        ({"target": "missed@thresholdx a"}, "number as its threshold"),
        ({"target": "best_f1 a"}, "measure with a gradient|key or a name"),
        ({"target": "f1_best a"}, "measure with a gradient"),
        ({"target": "precision@n a"}, "must name k"),
        ({"prevalence": 0}, "prevalence must lie strictly between"),
        ({"auc": 1}, "auc must lie strictly between"),
        ({"scores": {"a": SCORES["a"], "b": SCORES["b"][1:]}}, "as many rows for each detector"),
        (
            {"scores": {"a": pd.Series([1, 2]), "b": pd.Series([1, 2], [1, 0])}},
            r"scores\['b'\] must have the index of scores\['a'\]",
        ),
        ({"scores": np.array([1.0, np.nan])}, "scores must not contain NaN"),
    ],
)
def test_impossible_arguments_are_refused(changes: dict[str, object], message: str) -> None:
    arguments = {"scores": SCORES, "budget": 20, "target": "auc a", **changes}
    with pytest.raises(InvalidInputError, match=message):
        design(arguments.pop("scores"), **arguments)  # type: ignore[arg-type]


def test_targets_of_other_types_are_refused() -> None:
    for target in (3, [], [3]):
        with pytest.raises(InvalidTypeError, match="target must be a string or Target"):
            design(SCORES, budget=20, target=target)  # type: ignore[arg-type]
    three = {**SCORES, "c": SCORES["a"]}
    with pytest.raises(InvalidInputError, match="must name a detector, or two"):
        design(three, budget=20, target="auc")


@loop("extension", [".csv", ".parquet", ".arrow"])
def test_rows_come_back_from_files_as_they_were(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"rows{extension}"
    plan = design(SCORES, budget=40, target="auc a")
    drawn = draw(plan, path=path, rng=0)
    read = read_drawn(path)
    assert read.to_dict() == drawn.to_dict()
    # A second call draws nothing new, whatever the seed, and labels stay.
    labeled = read.with_labels(Y_TRUE[read.row][:30])
    labeled.save(path)
    assert draw(plan, path=path, rng=1).to_dict() == labeled.to_dict()
    changed = {**SCORES, "a": SCORES["a"] + 1}
    for other in (
        design(SCORES, budget=41, target="auc a"),
        design(changed, budget=40, target="auc a"),
        design(SCORES, budget=40, target="auc b"),
    ):
        with pytest.raises(InvalidInputError, match="new file, or one of this design"):
            draw(other, path=path)


def edited(path: Path, column: str, row: int, value: str) -> Path:
    """Return a copy of a file with one cell changed; all of the column with row -1."""
    with path.open(newline="") as file:
        table = list(csv.DictReader(file))
    table[row][column] = value
    copy = path.with_name("edited.csv")
    with copy.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    return copy


@loop(
    "column, value, message",
    [
        ("probability", "0", "probability must lie above 0"),
        ("probability", "0.5", "probability must be the size"),
        ("size", "0", "size must lie above 0"),
        ("label", "2", "label must be 0 or 1"),
        ("label", "yes", "label"),
        ("row", "-1", "row must not be negative"),
        ("row", "1.5", "row must be integers"),
        ("priority", "1.5", r"priority must lie in \[0, 1\]"),
        ("priority", "0", "priority must rise"),
        ("round", "2", "'round' must have one value"),
        ("population", "0123", "'population' must have one value"),
    ],
)
def test_files_that_were_not_drawn_are_refused(
    tmp_path: Path, column: str, value: str, message: str
) -> None:
    path = tmp_path / "rows.csv"
    draw(design(SCORES, budget=20, target="auc a"), path=path, rng=0)
    with pytest.raises(InvalidInputError, match=message):
        read_drawn(edited(path, column, 3, value))


def test_rows_of_a_file_that_are_doubled_or_no_rows_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    drawn = draw(design(SCORES, budget=20, target="auc a"), path=path, rng=0)
    with pytest.raises(InvalidInputError, match="row must name each row once"):
        read_drawn(edited(path, "row", 3, str(drawn.row[2])))
    other = tmp_path / "other.csv"
    other.write_text("y,a\n1,2\n")
    with pytest.raises(InvalidInputError, match="no column 'row'"):
        read_drawn(other)


def test_labels_of_rows_that_were_not_asked_for_are_refused() -> None:
    drawn = draw(design(SCORES, budget=20, target="auc a"), rng=0)
    other = int(np.setdiff1d(np.arange(5000), drawn.row)[0])
    with pytest.raises(InvalidInputError, match=f"rows must have been drawn.*: {other}"):
        drawn.with_labels([0, 1], rows=[drawn.row[0], other])
    with pytest.raises(InvalidInputError, match="rows must name each row once"):
        drawn.with_labels([0, 1], rows=[drawn.row[0], drawn.row[0]])
    with pytest.raises(InvalidInputError, match="labels must be 0 or 1"):
        drawn.with_labels([0, 3])
    with pytest.raises(InvalidInputError, match="at most as many as rows were drawn, 20"):
        drawn.with_labels(np.zeros(21))
    with pytest.raises(InvalidInputError, match="one number for each label"):
        drawn.with_labels([0, 1], rows=[drawn.row[0]])
    some = drawn.with_labels([1, 0], rows=drawn.row[[5, 3]])
    assert (some.label[5], some.label[3], some.n_labeled, some.n_complete) == (1, 0, 2, 0)
    with pytest.raises(InvalidInputError, match="equal those that rows already have"):
        some.with_labels([0], rows=[drawn.row[5]])
    assert some.with_labels([1], rows=[drawn.row[5]]).n_labeled == 2


def test_uniform_labels_have_the_variance_that_is_asked_for() -> None:
    expected = _Expected(np.array([1e-4, 3e-6]), np.array([2e-5, 1e-6]))
    rows = np.array([50.0, 900.0])
    for odds in (0.01, 3.0, 400.0):
        assert expected.odds(rows, expected.of(rows * odds)) == pytest.approx(odds)

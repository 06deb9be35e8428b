"""Designs, the rows that they draw, and their files."""

import csv
import errno
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import LinearConstraint, minimize

from fastad._core.types import FloatVector
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.labeling import DrawnRows, design, draw, estimate, plans, read_drawn
from fastad.labeling.plans import _Expected
from fastad.labeling.targets import check_targets
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


@loop(
    "prevalence, auc", [(1e-30, 0.9), (1e-9, 0.5), (0.5, 0.9), (0.999999, 0.001), (1e-9, 0.999999)]
)
def test_any_guess_has_a_design(prevalence: float, auc: float) -> None:
    plan = design(SCORES, budget=50, target="auc a vs b", prevalence=prevalence, auc=auc)
    assert plan.probability.sum() == pytest.approx(50)
    assert plan.probability.min() >= 0.1 * 50 / 5000 * (1 - 1e-9)


def test_opposed_detectors_have_a_design_that_promises_little() -> None:
    """Both cannot be good: what is known of the rows is hardly more than their number."""
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.1
    a = rng.normal(size=2000) + y
    for b in (-a, -a + rng.normal(scale=0.05, size=2000)):
        scores = {"a": a, "b": b}
        plan = design(scores, budget=200, target="auc a vs b")
        assert plan.probability.sum() == pytest.approx(200)
        assert plan.gain[0] < 2
        drawn = draw(plan, rng=0)
        labeled = drawn.with_labels(y[drawn.row])
        assert estimate(scores, labeled, target="auc a vs b").estimates[0].low > -1


def test_a_bound_on_what_is_missed_rests_on_no_model() -> None:
    plan = design(np.repeat([0.0, 1.0], [900, 100]), budget=20, target="missed@threshold1")
    assert plan.gain[0] == pytest.approx(1.0)
    assert np.ptp(plan.probability) == pytest.approx(0, abs=1e-12)


def test_targets_are_strings_or_their_parts() -> None:
    names = design(SCORES, budget=9, target=["auc", "auc b", " ap  b vs a "]).targets
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
        ({"target": "f1@0 a"}, "an FPR above 0 and a TPR below 1; found f1@0"),
        ({"target": "fpr@tpr1 a"}, "an FPR above 0 and a TPR below 1; found fpr@tpr1"),
        ({"target": "precision@p0.1 a"}, "labels that are probabilities; found 'precision_at_p'"),
        ({"prevalence": 0}, "prevalence must lie strictly between"),
        ({"auc": 1}, "auc must lie strictly between"),
        ({"scores": {"a": SCORES["a"], "b": SCORES["b"][1:]}}, "as many rows for each detector"),
        (
            {"scores": {"a": pd.Series([1, 2]), "b": pd.Series([1, 2], [1, 0])}},
            r"scores\['b'\] must have the index of scores\['a'\]",
        ),
        ({"scores": np.array([1.0, np.nan])}, "scores must not contain NaN"),
        ({"scores": {"row": SCORES["a"]}, "target": "auc"}, "other names of detectors than row"),
        ({"target": "missed@threshold1"}, "one detector, such as 'missed@threshold1 a'; found 'a"),
    ],
)
def test_impossible_arguments_are_refused(changes: dict[str, object], message: str) -> None:
    arguments = {"scores": SCORES, "budget": 20, "target": "auc a", **changes}
    with pytest.raises(InvalidInputError, match=message):
        design(arguments.pop("scores"), **arguments)  # type: ignore[arg-type]


def test_targets_of_other_types_are_refused() -> None:
    for target in (3, [], [3]):
        with pytest.raises(InvalidTypeError, match="target must be a string, or several"):
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
        ("size", "0", "probability must be the size"),
        ("label", "2", "label must be 0 or 1"),
        ("label", "yes", "label"),
        ("row", "-1", "row must not be negative"),
        ("row", "1.5", "row must be integers"),
        ("priority", "1.5", r"priority must lie in \[0, 1\]"),
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


def rewritten(path: Path, lines: list[str]) -> DrawnRows:
    path.write_text("\n".join(lines) + "\n")
    return read_drawn(path)


def test_a_spreadsheet_may_sort_rows_and_round_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    drawn = draw(design(SCORES, budget=20, target="auc a"), path=path, rng=0)
    head, *lines = path.read_text().splitlines()
    by_row = sorted(lines, key=lambda line: int(line.partition(",")[0]))
    assert rewritten(path, [head, *by_row]).to_dict() == drawn.to_dict()
    rounded = [
        ",".join(f"{float(x):.12g}" if "." in x and "e" not in x else x for x in line.split(","))
        for line in lines
    ]
    labels = np.arange(20) % 2
    read, labeled = rewritten(path, [head, *rounded]).with_labels(labels), drawn.with_labels(labels)
    found, expected = (
        estimate(SCORES, each, target="auc a").estimates[0] for each in (read, labeled)
    )
    assert found.value == pytest.approx(expected.value)


@loop("extension", [".csv", ".parquet"])
def test_scores_of_any_type_and_comments_come_back(tmp_path: Path, extension: str) -> None:
    for i, values in enumerate(
        (SCORES["a"] > 0, SCORES["a"].astype(np.float32), (SCORES["a"] * 1e17).astype(np.int64))
    ):
        path = tmp_path / f"rows{i}{extension}"
        drawn = draw(design(values, budget=20, target="auc"), path=path, rng=0)
        assert read_drawn(path).row.tolist() == drawn.row.tolist()
        columns = {**drawn.to_columns(), "label": [0, 1] * 10, "comment": ["", "odd"] * 10}
        pd.DataFrame(columns).to_csv(path.with_suffix(".csv"), index=False)
        read = read_drawn(path.with_suffix(".csv"))
        assert list(read.scores) == ["score"]
        found = estimate(values, read, target="auc")
        assert (
            found.estimates
            == estimate(values, drawn.with_labels(read.label), target="auc").estimates
        )


@loop("cells", [["True", "False", ""], ["1", "0", "NA"], ["1.0", " 0", "nan"], [True, False, None]])
def test_labels_of_other_programs_are_read(tmp_path: Path, cells: list[object]) -> None:
    drawn = draw(design(SCORES, budget=3, target="auc a"), rng=0)
    columns = {**drawn.to_columns(), "label": cells}
    pd.DataFrame(columns).to_csv(tmp_path / "rows.csv", index=False)
    pd.DataFrame(columns).to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        assert np.array_equal(read_drawn(tmp_path / name).label, [1, 0, np.nan], equal_nan=True)


def test_labels_with_an_index_of_rows_are_in_their_order_or_refused() -> None:
    drawn = draw(design(SCORES, budget=20, target="auc a"), rng=0)
    labels = pd.Series(Y_TRUE.astype(int))[drawn.row]
    expected = drawn.with_labels(Y_TRUE[drawn.row]).label
    for given in (labels, labels[:9], labels.reset_index(drop=True)):
        assert drawn.with_labels(given).label[:9].tolist() == expected[:9].tolist()
    by_row = labels.sort_index()
    with pytest.raises(InvalidInputError, match=r"order of row.*rows=labels.index"):
        drawn.with_labels(by_row)
    assert drawn.with_labels(by_row, rows=by_row.index).label.tolist() == expected.tolist()


def test_rows_that_were_left_out_or_added_are_refused(tmp_path: Path) -> None:
    """Each of the rows has a label, but which row comes next is no longer known."""
    path = tmp_path / "rows.csv"
    plan = design(SCORES, budget=20, target="auc a")
    draw(plan, path=path, rng=0).with_labels(np.arange(20) % 2).save(path)
    lines = path.read_text().splitlines()
    for some in (lines[:11], [lines[0], *lines[2:]]):
        drawn = rewritten(path, some)
        with pytest.raises(InvalidInputError, match="rows that were added or left out"):
            estimate(SCORES, drawn, target="auc a")
        with pytest.raises(InvalidInputError, match="new file, or one of this design"):
            draw(plan, path=path)


@loop(
    "name, message",
    [
        ("rows.txt", "path must end in one of .csv, .parquet"),
        ("rows", "path must end in one of .csv, .parquet"),
        ("none/rows.csv", "path must be in a directory that is there"),
        (3, "path must be a path"),
    ],
)
def test_files_that_cannot_be_are_refused_before_any_work(
    tmp_path: Path, name: object, message: str
) -> None:
    path = tmp_path / name if isinstance(name, str) else name
    plan = design(SCORES, budget=20, target="auc a")
    for save in (lambda: draw(plan, path=path), lambda: draw(plan, rng=0).save(path)):  # type: ignore[arg-type]
        with pytest.raises((InvalidInputError, InvalidTypeError), match=message):
            save()
    assert not list(tmp_path.iterdir())


def test_of_two_processes_that_draw_into_a_file_both_have_the_rows_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = design(SCORES, budget=20, target="auc a")
    for name in ("rows.csv", "rows.parquet"):
        path = tmp_path / name
        first = draw(plan, path=path, rng=0)
        # As the other one saw it, before the file was there.
        with monkeypatch.context() as earlier:
            earlier.setattr(Path, "exists", lambda _: False)
            second = draw(plan, path=path, rng=1)
        assert second.to_dict() == first.to_dict() == read_drawn(path).to_dict()
    assert {each.name for each in tmp_path.iterdir()} == {"rows.csv", "rows.parquet"}


def test_rows_are_saved_where_a_file_system_has_no_links_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "rows.csv"
    plan = design(SCORES, budget=20, target="auc a")
    with monkeypatch.context() as full:
        full.setattr(csv, "writer", fail)
        with pytest.raises(OSError, match="No space left"):
            draw(plan, path=path, rng=0)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(os, "link", fail)
    assert draw(plan, path=path, rng=0).to_dict() == read_drawn(path).to_dict()


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
    for number in (1e30, np.inf, np.nan, 0.5):
        with pytest.raises(InvalidInputError, match="rows must be integers"):
            drawn.with_labels([0], rows=[number])
    some = drawn.with_labels([1, 0], rows=drawn.row[[5, 3]])
    assert (some.label[5], some.label[3], some.n_labeled, some.n_complete) == (1, 0, 2, 0)
    with pytest.raises(InvalidInputError, match="equal those that rows already have"):
        some.with_labels([0], rows=[drawn.row[5]])
    assert some.with_labels([1], rows=[drawn.row[5]]).n_labeled == 2


def test_intervals_that_are_expected_are_within_the_range_of_their_measure() -> None:
    plan = design(SCORES, budget=30, target=["tpr@0.01 a", "auc a", "tpr@0.01 a vs b"])
    for value, low, width, uniform in zip(
        plan.value, (0, 0, -1), plan.half_width, plan.uniform_half_width, strict=True
    ):
        assert low < value < 1
        assert 0 < width <= uniform <= (1 - low) / 2


def test_intervals_that_are_expected_have_the_half_width_of_their_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1.959964 standard errors; on the scale of the log odds to first order."""
    monkeypatch.setattr(_Expected, "of", lambda self, rows: 1e-6)
    plan = design(SCORES, budget=3000, target=["tpr@0.01 a", "auc a", "tpr@0.01 a vs b"])
    for widths in (plan.half_width, plan.uniform_half_width):
        assert widths == pytest.approx([1.959964e-3] * 3, rel=1e-3)


def test_uniform_labels_have_the_variance_that_is_asked_for() -> None:
    expected = _Expected(np.array([1e-4, 3e-6]), np.array([2e-5, 1e-6]))
    rows = np.array([50.0, 900.0])
    for odds in (0.01, 3.0, 400.0):
        assert expected.odds(rows, expected.of(rows * odds)) == pytest.approx(odds)


def test_what_no_label_changes_needs_no_more_labels_of_uniform_rows() -> None:
    """The area of equal scores is 0.5, and nothing is below the lowest score."""
    for target in ("auc", "missed@threshold0"):
        plan = design(np.zeros(50), budget=10, target=target)
        assert plan.half_width == plan.uniform_half_width == [0]
        assert (plan.uniform_labels, plan.gain) == ([10], [1])


def test_sizes_have_the_least_product_of_variances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a general optimiser, of rows in six cells and two targets, without the floor."""
    monkeypatch.setattr(plans, "FLOOR", 0.0)
    rng = np.random.default_rng(0)
    targets = check_targets(["auc a", "tpr@0.01 a vs b"], ["a", "b"])
    unknown = np.array([5.0, 20, 50, 200, 300, 900])
    for n_labels in (40, 300):
        of_targets, of_number = rng.gamma(0.5, size=(2, 6)) / 100, rng.gamma(0.5, size=6) / 100
        expected = [_Expected(of_targets[0], 0 * of_number), _Expected(of_targets[1], of_number)]

        def product(p: FloatVector, expected: list[_Expected] = expected) -> float:
            return float(sum(np.log(each.of(unknown * (1 / p - 1))) for each in expected))

        best = minimize(
            product,
            np.full(6, n_labels / unknown.sum()),
            bounds=[(1e-6, 1)] * 6,
            constraints=LinearConstraint(unknown, n_labels, n_labels),
            method="SLSQP",
        )
        assert best.success
        p = np.minimum(plans._sizes(unknown, targets, expected, n_labels), 1)
        assert unknown @ p == pytest.approx(n_labels)
        assert product(p) == pytest.approx(best.fun, abs=2e-3)


def test_a_score_next_to_a_large_threshold_is_missed() -> None:
    """As floats 2^53 and 2^53 + 1 are one number."""
    scores = np.repeat([2**53, 2**53 + 1], 10)
    target = f"missed@threshold{2**53 + 1}"
    drawn = draw(design(scores, budget=20, target=target), rng=0)
    labeled = drawn.with_labels(np.ones(20, int))
    (found,) = estimate(scores, labeled, target=target).estimates
    assert found.value == 10

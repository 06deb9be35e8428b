"""``fastad label``: what it prints and writes is what Python returns."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastad.labeling import design, draw, estimate, read_drawn
from tests.support.command_line import error_of, invoke, json_of, stdout_of
from tests.support.labeling import population

TARGET = "tpr@0.05 a vs b"
Y_TRUE, SCORES = population(3000, 0.05, np.random.default_rng(0))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("label") / "scores.parquet"
    pq.write_table(pa.table(SCORES), path)
    return path


def test_two_rounds_from_a_plan_to_estimates(file: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.parquet"
    options = ("--target", TARGET, "--budget", 200, "--prevalence", 0.05)
    plan = design(SCORES, budget=200, target=TARGET, prevalence=0.05)
    printed = json_of("label", "plan", file, *options)
    assert printed == plan.to_dict()
    shown = stdout_of("label", "draw", file, *options, "--output", first, "--seed", 3)
    assert shown == f"{first}: round 1, 0 of 200 rows have labels\n"
    drawn = draw(plan, rng=3)
    assert read_drawn(first).row.tolist() == drawn.row.tolist()
    labeled = drawn.with_labels(Y_TRUE[drawn.row])
    labeled.save(first)
    found = int(Y_TRUE[drawn.row].sum())
    text = f"{first}: round 1, 200 of 200 rows have labels, {found} are anomalies\n"
    assert stdout_of("label", "status", first) == text
    # What is there stays.
    assert stdout_of("label", "draw", file, *options, "--output", first) == text
    stdout_of("label", "draw", file, *options, "--labeled", first, "--output", second)
    again = read_drawn(second)
    assert (again.round, again.n_labeled) == (2, 0)
    again.with_labels(Y_TRUE[again.row[:150]]).save(second)
    both = ("--labeled", first, "--labeled", second)
    result = json_of("label", "evaluate", file, *both, "--target", TARGET)
    expected = estimate(SCORES, [labeled, read_drawn(second)], target=TARGET)
    assert result == expected.to_dict()
    # What is printed below the tables.
    assert (result["notes"], printed["notes"]) == (expected.notes, plan.notes)
    sizes = [result[name] for name in ("n_rows", "n_labels", "n_anomalies", "n_unused")]
    used = [labeled.label, again.label[:0], Y_TRUE[again.row[:150]]]
    assert sizes == [len(Y_TRUE), 350, int(sum(map(np.sum, used))), 0]
    # Columns of whoever labels are no detectors.
    lines = first.read_text().splitlines()
    notes = [f"{lines[0]},id,note", *(f"{line},{i},odd" for i, line in enumerate(lines[1:]))]
    first.write_text("\n".join(notes) + "\n")
    assert json_of("label", "evaluate", file, *both, "--target", TARGET) == result
    # Labels that somebody gave are not replaced.
    refused = error_of(
        "label", "evaluate", file, *both, "--target", TARGET, "--output", first, code=2
    )
    assert f"--output: would replace a file that is read: {first}" in refused
    table = tmp_path / "table.csv"
    shown = stdout_of("label", "evaluate", file, *both, "--target", TARGET, "--output", table)
    assert str(expected.notes[0]) in shown
    assert table.read_text("utf-8").startswith("file,target,value,low,high")


def test_status_says_which_label_is_missing_first(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    drawn = draw(design(SCORES, budget=20, target="auc a"), rng=0)
    drawn.with_labels([1, 0], rows=drawn.row[[0, 5]]).save(path)
    assert stdout_of("label", "status", path) == (
        f"{path}: round 1, 2 of 20 rows have labels, 1 are anomalies; the first one without is "
        "number 2\n"
    )


def test_what_is_wrong_names_the_option_or_the_file(file: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    options = ("--target", "auc a", "--budget", 20)
    stdout_of("label", "draw", file, *options, "--output", rows)
    unlike = ("--target", "auc a", "--budget", 30)
    for words, code, message in (
        (("plan", file, "--target", "auc c", "--budget", 20), 2, "--target: must name detectors"),
        (("plan", file, "--target", "auc a", "--budget", 3001), 2, "--budget: must be at most"),
        (
            ("draw", file, *options, "--output", tmp_path / "x.txt"),
            2,
            "--output: must end in one of",
        ),
        (("draw", file, *options, "--output", tmp_path / "a" / "x.csv"), 2, "--output: must be in"),
        (("draw", file, *unlike, "--output", rows), 2, "--output: must be a new file"),
        (("plan", file, *options, "--labeled", rows), 2, "--labeled: must have all labels"),
        (("evaluate", file, "--target", "auc a", "--labeled", file), 1, "there is no column 'row'"),
        (("status", tmp_path / "none.csv"), 1, "there is no such file"),
    ):
        result = invoke("label", *words)
        assert (result.exit_code, message in result.stderr) == (code, True), result.stderr

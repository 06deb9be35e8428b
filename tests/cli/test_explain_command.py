"""``fastad explain``: the answer first, for each detector and file."""

from pathlib import Path

import pytest

from tests.support.command_line import error_of, invoke, json_of, stdout_of

TRAPEZOID = "trapezoid area under the precision-recall curve sorted by recall"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "scores.csv"
    labels = [0, 1, 1, 1, 0, 0, 0, 0, 1, 1]
    forest = [0.59, 0.35, 0.72, 0.33, 0.73, 0.81, 0.30, 0.05, 0.04, 0.48]
    rows = [f"{y},{s},{1 - y + s / 9},1" for y, s in zip(labels, forest, strict=True)]
    file.write_text("\n".join(["label,forest,nearest,fold", *rows]))
    return file


def test_the_answer_comes_first(path: Path) -> None:
    shown = stdout_of("explain", path, "--value", "0.4899", "--label", "label", "--score", "forest")
    lines = shown.splitlines()
    assert lines[0] == f"0.4899 is the {TRAPEZOID}."
    assert "anomalib#3781" in shown


def test_each_detector_is_explained(path: Path) -> None:
    result = invoke("explain", path, "--value", "0.4899", "--label", "label")
    assert "detectors: forest, nearest; left out: 'fold'" in result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == f"forest: 0.4899 is the {TRAPEZOID}."
    assert "nearest: No definition that is known gives 0.4899." in lines


def test_a_right_number_is_said_to_be_right(path: Path) -> None:
    shown = stdout_of(
        "explain", path, "--value", "0.460952", "--label", "label", "--score", "forest"
    )
    assert shown.splitlines()[0] == "0.460952 is right: it is ap of fastad."


def test_json_has_an_answer_for_each_detector_and_file(path: Path) -> None:
    content = json_of("explain", path, path, "--value", "0.4899", "--label", "label")
    assert content.keys() == {"schema_version", "fastad_version", "explanations"}
    first, *others = content["explanations"]
    assert len(others) == 3
    assert (first["file"], first["detector"]) == (str(path), "forest")
    assert first["matches"][0]["name"] == TRAPEZOID
    assert first["matches"][0]["measure_value"] == first["measures"]["ap"]


def test_groups_are_columns(tmp_path: Path) -> None:
    file = tmp_path / "folds.csv"
    file.write_text("y,s,fold\n0,1,a\n1,2,a\n0,2,b\n1,1,b\n1,3,b\n0,0,b\n")
    result = json_of("explain", file, "--value", "0.875", "--group", "fold")["explanations"][0]
    assert "mean of the area under the ROC curve over groups" in [
        match["name"] for match in result["matches"]
    ]


def test_what_is_wrong_is_named(path: Path) -> None:
    usual = ("explain", path, "--label", "label")
    assert "--value: must be a number; found 'half'" in error_of(*usual, "--value", "half", code=2)
    assert "Missing option '--value'" in error_of(*usual, code=2)
    assert "there is no column 'y'" in error_of("explain", path, "--value", "0.5")
    path.write_text("label,forest\n0,1\n0,2\n")
    assert "explain is undefined without anomalies" in error_of(*usual, "--value", "0.5")
    path.write_text("label,forest\n0,1\n1,nan\n")
    assert "column 'forest', line 3: 'nan' is a missing value" in error_of(
        *usual, "--score", "forest", "--value", "0.5"
    )

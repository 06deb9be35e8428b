"""``fastad evaluate`` on good files: what it reads, prints and saves."""

import csv
import html
import io
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import fastad
from tests.support.command_line import error_of, invoke, json_of, save, stdout_of
from tests.support.loops import loop

# y and s of four points: of the four pairs three are in order, AUC 0.75.
ROWS = "0,0.1\n0,0.3\n1,0.2\n1,0.4\n"

_RNG = np.random.default_rng(17)
Y = _RNG.permutation(np.repeat([0, 1], [80, 20]))
SCORES: dict[str, npt.NDArray[Any]] = {
    "knn": _RNG.normal(size=100) + Y,
    "ties": np.round(_RNG.normal(size=100) + Y),
    "ünï 中": _RNG.normal(size=100) - Y,
}


def run(*arguments: object) -> str:
    """Run ``fastad evaluate`` and return its stdout."""
    return stdout_of("evaluate", *arguments)


def aucs(*arguments: object) -> dict[str, float]:
    detectors = json_of("evaluate", *arguments, "--measure", "auc")["detectors"]
    return {detector["detector"]: detector["values"]["auc"] for detector in detectors}


def save_table(path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y", *SCORES])
        writer.writerows(zip(Y.tolist(), *(s.tolist() for s in SCORES.values()), strict=True))
    return path


# Reading; `tests.tables` has more files.


@pytest.mark.slow
@loop(
    "name", ["a, b", 'say ""hi""', "a;b;c;d", "a\tb\tc", "[red]x[/red]", "[/x]", "ünï 中", "y_true"]
)
def test_columns_may_have_any_quoted_name(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / "scores.csv", f'y,"{name}"\n{ROWS}')
    plain = name.replace('""', '"')
    assert aucs(path) == {plain: 0.75}
    assert aucs(path, "--label", "y", "--score", plain) == {plain: 0.75}
    assert plain in run(path)


def test_columns_are_chosen_by_name_and_come_in_the_order_requested(tmp_path: Path) -> None:
    path = save_table(tmp_path / "scores.csv")
    assert list(aucs(path)) == list(SCORES)
    assert list(aucs(path, "--score", "ties", "--score", "knn")) == ["ties", "knn"]
    assert list(aucs(path, "--score", "knn", "--score", "knn")) == ["knn"]
    # Columns that are not read may hold anything.
    path = save(tmp_path / "scores.csv", 'name,y,s,s2,s2\n"x,y",0,1,,\nz,1,2,a,b\n')
    assert aucs(path, "--score", "s") == {"s": 1.0}


def test_archives_of_arrays_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    big = np.array([2**60, 2**60 + 1, 2**60 + 2])
    who = np.array(["a", None, "c"], object)
    half = np.array([0.1, 0.2, 0.1], np.float16)
    np.savez(path, y=np.array([False, False, True]), big=big, half=half, n=np.array(3), who=who)
    assert aucs(path) == {"big": 1.0, "half": 0.25}
    np.savez_compressed(path, truth=[0, 0, 1], big=big)
    assert aucs(path, "--label", "truth", "--score", "big") == {"big": 1.0}


@loop(
    ("labels", "option"),
    [
        (["n", "n", "a"], "a"),
        ([1, 1, -1], "-1"),
        # Floats would be equal.
        ([2**53, 2**53, 2**53 + 1], f"{2**53 + 1}"),
    ],
)
def test_pos_label_names_the_anomalies(tmp_path: Path, labels: list[Any], option: str) -> None:
    np.savez(tmp_path / "scores.npz", y=labels, s=[0.1, 0.2, 0.3])
    rows = "\n".join(f"{y},{i}" for i, y in enumerate(labels))
    for path in (tmp_path / "scores.npz", save(tmp_path / "scores.csv", f"y,s\n{rows}")):
        assert aucs(path, "--pos-label", option) == {"s": 1.0}


# Printing.


def test_stdout_is_the_table_of_the_api_with_its_notes(tmp_path: Path) -> None:
    path = save_table(tmp_path / "scores.csv")
    result = invoke("evaluate", path, "--fpr", 0.05, "--fpr", 0.001)
    expected = fastad.evaluate(Y, SCORES, fpr=[0.05, 0.001])
    shown = [line for line in str(expected).splitlines() if line]
    assert [line for line in result.stdout.splitlines() if line] == shown
    assert expected.notes


def test_several_files_print_under_their_names(tmp_path: Path) -> None:
    first = save(tmp_path / "a.csv", "y,s\n" + ROWS)
    second = save(tmp_path / "b.csv", "y,s\n0,1\n1,2\n")
    shown = run(first, second, "--measure", "auc").split()
    assert shown == [str(first), "s", "auc", "0.7500", str(second), "s", "auc", "1.0000"]


# JSON and files.


def test_json_has_the_values_of_the_api(tmp_path: Path) -> None:
    path = save_table(tmp_path / "scores.csv")
    result = json_of("evaluate", path, "--fpr", 0.1)
    expected = fastad.evaluate(Y, SCORES, fpr=0.1).to_dict()
    for detector in expected["detectors"]:
        detector["file"] = str(path)
    assert result == expected


def test_json_of_several_files_is_one_document(tmp_path: Path) -> None:
    paths = [save(tmp_path / f"{name}.csv", "y,s\n" + ROWS) for name in "ab"]
    result = json_of("evaluate", *paths)
    assert [detector["file"] for detector in result["detectors"]] == [str(path) for path in paths]
    assert result["fastad_version"] == fastad.__version__


def test_measures_are_those_requested(tmp_path: Path) -> None:
    path = save_table(tmp_path / "scores.csv")
    chosen = ["precision@k10", "fpr@tpr0.95", "tpr_at_fpr", "auc", "tpr@threshold0.5"]
    options = [part for label in chosen for part in ("--measure", label)]
    result = json_of("evaluate", path, "--fpr", 0.2, *options)["detectors"]
    labels = ["precision@k10", "fpr@tpr0.95", "tpr@0.2", "auc", "tpr@threshold0.5"]
    expected = fastad.evaluate(Y, SCORES, measures=labels)
    assert [detector["values"] for detector in result] == [dict(x) for x in expected.values()]


def test_a_saved_csv_file_holds_the_values_to_the_last_bit(tmp_path: Path) -> None:
    paths = [save_table(tmp_path / name) for name in ("a.csv", "b.csv")]
    output = save(tmp_path / "out.csv", "an older, longer file\n" * 1000)
    assert run(*paths, "--output", output) == run(*paths)
    with output.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = fastad.evaluate(Y, SCORES)
    assert [(row["file"], row["detector"]) for row in rows] == [
        (str(path), name) for path in paths for name in SCORES
    ]
    for row in rows:
        for label, value in expected[row["detector"]].items():
            assert float(row[label]) == value or (math.isnan(value) and row[label] == "nan")
    assert sorted(x.name for x in tmp_path.iterdir()) == ["a.csv", "b.csv", "out.csv"]


def test_a_saved_page_has_the_curves_of_each_file(tmp_path: Path) -> None:
    paths = [save_table(tmp_path / name) for name in ("a&b.csv", "b.csv")]
    run(*paths, "--output", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<h2>ROC curves</h2>") == 2
    for path in paths:
        assert f"<section><h2>{html.escape(str(path))}</h2>" in page
    run(paths[0], "--output", tmp_path / "page.HTML")
    page = (tmp_path / "page.HTML").read_text(encoding="utf-8")
    body = fastad.evaluate(Y, SCORES, curves=True).page_body()
    assert page.count(body) == 1
    run(paths[0], "--memory", "100MB", "--output", tmp_path / "streamed.html")
    assert "<td>auc</td>" in (tmp_path / "streamed.html").read_text(encoding="utf-8")


def test_thresholds_in_a_saved_csv_file_flag_what_stands_beside_them(tmp_path: Path) -> None:
    whole = [2**60 + 2 * i + 1 for i in range(4)]
    path = save(tmp_path / "scores.csv", "y,i,f\n" + "".join(f"0,{x},{x % 7}.5\n" for x in whole))
    run(path, "--fpr", 0.5, "--output", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    threshold, flagged = row["threshold@0.5"], row["flagged@0.5"]
    assert sum(x >= Fraction(threshold) for x in whole) == int(flagged) == 2


# Fixed thresholds.


def test_thresholds_are_those_of_the_library(tmp_path: Path) -> None:
    path = save_table(tmp_path / "scores.csv")
    one = json_of("evaluate", path, "--threshold", "0.5", "--threshold", "-1", "--measure", "auc")
    expected = fastad.evaluate(Y, SCORES, threshold=[0.5, -1], measures=["auc"]).to_dict()
    results = [{k: v for k, v in row.items() if k != "file"} for row in one["detectors"]]
    assert results == expected["detectors"]
    own = {"knn": 0.5, "ties": 1, "ünï 中": -1.5}
    named = [word for name, x in own.items() for word in ("--threshold", f"{name}={x}")]
    expected = fastad.evaluate(Y, SCORES, threshold=own, measures=["auc"]).to_dict()
    results = json_of("evaluate", path, *named, "--measure", "auc")["detectors"]
    assert [row["values"] for row in results] == [row["values"] for row in expected["detectors"]]


@loop(
    ("words", "message"),
    [
        (["x"], "must be a number, or a detector with its number (NAME=0.5); found 'x'"),
        (["s="], "found ''"),
        (["s=1", "2"], "must be numbers, or name each detector once (NAME=0.5); found s=1, 2"),
        (["s=1", "s=2"], "found s=1, s=2"),
        (["s=1", "t=2"], "must have one number for each of s; found one for 't'"),
        (["nan"], "must be a number; found NaN"),
    ],
)
def test_bad_thresholds_are_wrong_usage(tmp_path: Path, words: list[str], message: str) -> None:
    path = save(tmp_path / "scores.csv", "y,s\n" + ROWS)
    options = [part for word in words for part in ("--threshold", word)]
    error = error_of("evaluate", path, *options, code=2)
    assert "--threshold" in error
    assert message in error


# Rows without a score.


def test_rows_without_a_score_are_left_out_and_counted(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", "y,s,g\n0,1,0\n0,nan,0\n1,2,0\n0,nan,1\n")
    scores, groups = [1, math.nan, 2, math.nan], [0, 0, 0, 1]
    words = ("--score", "s", "--nan-policy", "omit", "--measure", "auc")
    expected: Any = fastad.evaluate(
        [0, 0, 1, 0], {"s": scores}, measures=["auc"], nan_policy="omit"
    )
    assert str(expected) in run(path, *words)
    (row,) = json_of("evaluate", path, *words)["detectors"]
    assert (row["n_omitted"], row["values"]) == (2, {"auc": 1.0})
    rows = json_of("evaluate", path, *words, "--group", "g")["detectors"]
    assert [row["n_omitted"] for row in rows] == [1, 1]
    assert [row["values"]["auc"] for row in rows] == [1.0, None]
    expected = fastad.evaluate(
        [0, 0, 1, 0], {"s": scores}, measures=["auc"], nan_policy="omit", groups={"g": groups}
    )
    assert all(note in run(path, *words, "--group", "g") for note in expected.notes)
    assert "line 3: 'nan' is a missing value" in error_of("evaluate", path, "--score", "s")
    assert "--nan-policy" in error_of("evaluate", path, "--nan-policy", "drop", code=2)


GAPS = "y,whole,real,full\n0,1,0.5,1\n0,,,2\n1,3, ,3\n1,4,2.5,4\n"


@loop("ending", [".csv", ".parquet", ".feather"])
def test_missing_cells_are_rows_without_a_score(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"scores{ending}"
    if ending == ".csv":
        save(path, GAPS)
    else:
        frame = pd.read_csv(io.StringIO(GAPS.replace(" ", "")))
        columns = {"whole": frame["whole"].astype("Int64")}
        getattr(frame.assign(**columns), f"to_{ending[1:]}")(path)
    detectors = json_of("evaluate", path, "--nan-policy", "omit", "--measure", "auc")["detectors"]
    assert [row["n_omitted"] for row in detectors] == [1, 2, 0]
    # Above one normal sample stand both anomalies of "whole", and one of "real".
    assert [row["n_anomalies"] for row in detectors] == [2, 1, 2]
    assert [row["values"]["auc"] for row in detectors] == [1, 1, 1]
    message = error_of("evaluate", path)
    where = "line 3: the cell" if ending == ".csv" else "row 1: the value"
    assert f"column 'whole', {where} is missing" in message


@loop(
    ("text", "message"),
    [
        ("y,s\n0,1\n,2\n1,\n", "column 'y', line 3: the cell is missing"),
        ("y,s\n0,1\n1,x\n1,\n", "column 's', line 3: 'x' is not a number"),
        ("y,s\n0,1\n1\n1,\n", "column 's', line 3: the cell is missing"),
    ],
)
def test_only_cells_of_scores_may_be_missing(tmp_path: Path, text: str, message: str) -> None:
    path = save(tmp_path / "scores.csv", text)
    assert message in error_of("evaluate", path, "--nan-policy", "omit")


def test_values_are_corrected_for_hidden_anomalies(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    hidden = rng.random(2000) < 0.05
    y = np.repeat([1, 0], [100, 2000])
    s = rng.normal(size=2100) + np.append(np.full(100, 2.0), 2.0 * hidden)
    np.savez(tmp_path / "s.npz", y=y, s=s)
    options = ("--measure", "auc", "--contamination", 0.05)
    shown = stdout_of("evaluate", tmp_path / "s.npz", *options)
    expected = fastad.rank_scores(y, s, contamination=0.05).roc_auc()
    assert f"{expected:.4f}" in shown
    assert "note: values are corrected for a fraction 0.05" in shown
    message = error_of("evaluate", tmp_path / "s.npz", "--contamination", 1, code=2)
    assert "--contamination: must lie in [0, 1)" in message
    assert "must not exceed what the data allow" in error_of(
        "evaluate", tmp_path / "s.npz", "--contamination", 0.9, code=2
    )


@loop("rate", [2.0, -0.5, float("nan"), float("inf")])
def test_a_wrong_rate_is_refused_in_the_words_of_the_library(tmp_path: Path, rate: float) -> None:
    path = save(tmp_path / "scores.csv", "y,s\n" + ROWS)
    with pytest.raises(fastad.InvalidInputError) as caught:
        fastad.tpr_at_fpr([0, 1], [0, 1], fpr=rate)
    expected = str(caught.value).removeprefix("fpr ")
    for options in (["--fpr"], ["--fpr", "0.1", "--fpr"]):
        assert f"--fpr: {expected}" in error_of("evaluate", path, *options, rate, code=2)

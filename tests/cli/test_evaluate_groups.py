"""``fastad evaluate`` on columnar files, with groups and summaries."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import fastad
from tests.support.command_line import error_of, json_of, stdout_of
from tests.support.loops import loop

N = 400
RNG = np.random.default_rng(8)
Y = RNG.permutation(np.repeat([0, 1], [320, 80]))
TABLE: dict[str, Any] = {
    "y": Y,
    "near": RNG.normal(size=N) + Y,
    "large": 2**60 + RNG.integers(0, 50, N) + 20 * Y,
    "dataset": RNG.choice(["wine", "iris"], N),
    "fold": RNG.integers(0, 12, N),
    "verdict": np.where(Y, "attack", "fine"),
}


def run(*arguments: object) -> str:
    return stdout_of("evaluate", *arguments)


def read(*arguments: object) -> Any:
    return json_of("evaluate", *arguments)


@pytest.fixture(params=[".parquet", ".arrow", ".feather", ".csv"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The table as a file of each kind."""
    path = tmp_path / f"table{request.param}"
    table = pa.table({name: pa.array(values) for name, values in TABLE.items()})
    if request.param == ".parquet":
        parquet.write_table(table, path)
    elif request.param == ".csv":
        pd.DataFrame(TABLE).to_csv(path, index=False)
    else:
        feather.write_feather(table, str(path))
    return path


SCORES = ("--score", "near", "--score", "large")


def test_values_are_those_of_the_columns(path: Path) -> None:
    expected = fastad.evaluate(Y, {"near": TABLE["near"], "large": TABLE["large"]})
    result = read(path, *SCORES)["detectors"]
    assert [{k: v for k, v in d.items() if k != "file"} for d in result] == json.loads(
        expected.to_json()
    )["detectors"]


def test_labels_may_be_text(path: Path) -> None:
    out = run(
        path, "--label", "verdict", "--pos-label", "attack", *SCORES, "--measure", "auc", "--json"
    )
    (near, _) = json.loads(out)["detectors"]
    assert near["values"]["auc"] == fastad.roc_auc(Y, TABLE["near"])


def test_each_group_has_its_own_values(path: Path) -> None:
    out = run(path, *SCORES, "--group", "dataset", "--group", "fold", "--measure", "auc", "--json")
    runs = json.loads(out)["detectors"]
    assert [list(run["group"].values()) for run in runs[::2]] == sorted(
        [
            list(key)
            for key in {*zip(TABLE["dataset"].tolist(), TABLE["fold"].tolist(), strict=True)}
        ]
    )
    for result in runs:
        rows = (result["group"]["dataset"] == TABLE["dataset"]) & (
            result["group"]["fold"] == TABLE["fold"]
        )
        if 0 < Y[rows].sum() < rows.sum():
            score = TABLE[result["detector"]][rows]
            assert result["values"]["auc"] == fastad.roc_auc(Y[rows], score)
        else:
            assert result["values"]["auc"] is None
            assert "undefined" in result["undefined"]["auc"]


def test_a_summary_averages_over_the_last_group(path: Path) -> None:
    arguments = (*SCORES, "--group", "dataset", "--group", "fold", "--measure", "auc")
    groups = {"dataset": TABLE["dataset"], "fold": TABLE["fold"]}
    scores = {"near": TABLE["near"], "large": TABLE["large"]}
    summary = fastad.evaluate(Y, scores, groups=groups, measures=["auc"]).summary("fold")
    shown = [line for line in run(path, *arguments, "--summary").splitlines() if line]
    assert shown == str(summary).splitlines()
    rows = read(path, *arguments, "--summary")["summary"]
    assert [row["auc_mean"] for row in rows] == summary.mean["auc"].tolist()
    assert [row["dataset"] for row in rows] == ["iris", "iris", "wine", "wine"]


@pytest.mark.parametrize("options", [(), ("--group", "fold"), ("--group", "fold", "--summary")])
def test_values_of_too_few_samples_have_a_mark(path: Path, options: tuple[str, ...]) -> None:
    measures = ("--measure", "auc", "--measure", "tpr@0.0001")
    shown = run(path, *SCORES, *measures, *options)
    line = "†: of fewer than 50000 normals fewer than 5 are beyond FPR 0.0001"
    assert shown.count(line) == 1
    assert shown.count("†") > 2
    content = read(path, *SCORES, *measures, *options)
    if "--summary" in options:
        assert [row["tpr@0.0001_unresolved"] for row in content["summary"]] == [
            row["n_runs"] for row in content["summary"]
        ]
    else:
        assert all(list(row["unresolved"]) == ["tpr@0.0001"] for row in content["detectors"])


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather", ".csv"])
def test_saved_tables_hold_all_runs(path: Path, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"saved{ending}"
    run(path, *SCORES, "--group", "fold", "--output", output)
    if ending == ".csv":
        # As text: pandas' own parsers of floats differ in the last digit from version to version.
        frame = pd.read_csv(output, dtype=str).astype({"auc": object})
    elif ending == ".parquet":
        frame = pd.read_parquet(output)
    else:
        frame = feather.read_feather(str(output))
    expected = fastad.evaluate(
        Y, {"near": TABLE["near"], "large": TABLE["large"]}, groups={"fold": TABLE["fold"]}
    ).to_columns()
    assert list(frame.columns) == ["file", *expected]
    assert [float(value) for value in frame["auc"]] == expected["auc"]
    assert frame["file"].unique().tolist() == [str(path)]
    assert list(tmp_path.glob(".fastad-*")) == []


def test_a_summary_is_saved_in_place_of_the_runs(path: Path, tmp_path: Path) -> None:
    output = tmp_path / "summary.csv"
    run(path, *SCORES, "--group", "fold", "--summary", "--measure", "auc", "--output", output)
    rows = list(csv.DictReader(io.StringIO(output.read_text(encoding="utf-8"))))
    assert [row["detector"] for row in rows] == ["near", "large"]
    assert float(rows[0]["auc_mean"]) == pytest.approx(
        np.nanmean(
            [
                fastad.roc_auc(Y[rows], TABLE["near"][rows])
                for fold in np.unique(TABLE["fold"])
                for rows in [fold == TABLE["fold"]]
            ]
        ),
        rel=1e-14,
    )


def test_several_files_are_evaluated_each_by_itself(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("y,near\n0,1\n1,2\n0,3\n", encoding="utf-8")
    runs = read(path, other, "--score", "near", "--measure", "auc")
    assert [(r["file"], r["values"]["auc"]) for r in runs["detectors"]] == [
        (str(path), fastad.roc_auc(Y, TABLE["near"])),
        (str(other), 0.5),
    ]


@loop("column", ["y", "near", "dataset"])
def test_a_missing_value_is_named_with_its_row(tmp_path: Path, column: str) -> None:
    frame = pd.DataFrame(TABLE).astype({column: object})
    frame.loc[7, column] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name, place in (("t.csv", "line 9"), ("t.parquet", "row 7")):
        stderr = error_of("evaluate", tmp_path / name, "--score", "near", "--group", "dataset")
        assert f"column {column!r}, {place}" in stderr


def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path: Path) -> None:
    for ending in (".parquet", ".arrow", ".feather"):
        path = tmp_path / f"table{ending}"
        for content in (b"", b"y,s\n0,1\n", b"PAR1" * 20, bytes(range(256)) * 8):
            path.write_bytes(content)
            assert str(path) in error_of("evaluate", path, "--score", "s")


@loop(
    ("arguments", "code", "message"),
    [
        (["--group", "seed"], 1, "there is no column 'seed'"),
        (["--summary"], 2, "--group"),
        (["--measure", "auc_rp"], 2, "--score-range"),
        (["--measure", "auc_rp", "--score-range", "1", "0"], 2, "--score-range"),
        (["--measure", "auc_rp", "--score-range", "0", "1"], 1, "must lie in score_range"),
        (["--measure", "rank_power"], 2, "rank_power@k10"),
    ],
)
def test_misuse_is_told_from_wrong_data(
    path: Path, arguments: list[str], code: int, message: str
) -> None:
    assert message in error_of("evaluate", path, "--score", "near", *arguments, code=code)


@pytest.mark.parametrize("options", [(), ("--memory", "64MB")], ids=["in memory", "in batches"])
def test_a_name_of_a_group_that_is_taken_is_wrong_usage(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = tmp_path / "table.csv"
    pd.DataFrame(TABLE).rename(columns={"dataset": "detector"}).to_csv(path, index=False)
    message = error_of("evaluate", path, *SCORES, "--group", "detector", *options, code=2)
    assert "--group" in message
    assert "must not name columns that the result has; found 'detector'" in message


def test_a_group_called_file_is_refused_where_rows_have_their_file(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    pd.DataFrame(TABLE).rename(columns={"dataset": "file"}).to_csv(path, index=False)
    asked = ("evaluate", path, "--score", "near", "--group", "file", "--measure", "auc")
    saved = ("--output", tmp_path / "saved.csv")
    for options in (saved, (*saved, "--memory", "64MB"), ("--summary", "--json")):
        message = error_of(*asked, *options, code=2)
        assert "--group: must not name columns that the result has; found 'file'" in message
    rows = json_of(*asked, "--json")["detectors"]
    assert [row["group"]["file"] for row in rows] == ["iris", "wine"]


def test_a_missing_kind_is_wrong_data_and_clusters_beside_kinds_are_wrong_usage(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.csv"
    kinds = np.where(np.arange(N) == np.flatnonzero(Y)[3], "", TABLE["dataset"])
    pd.DataFrame({**TABLE, "kind": kinds}).to_csv(path, index=False)
    asked = ("evaluate", path, "--score", "near", "--measure", "tpr@0.1", "--kinds")
    missing = "must name the kind of each anomaly (label 1); found 1 without"
    assert f"{path}: column 'kind' {missing}" in error_of(*asked, "kind", code=1)
    assert missing in error_of(*asked, "kind", "--memory", "64MB", code=1)
    message = error_of(*asked, "dataset", "--clusters", "fold", "--ci", code=2)
    assert "--clusters: must not be given with kinds" in message


def test_a_range_of_scores_reaches_the_measures_that_scale(path: Path) -> None:
    out = run(path, "--score", "near", "--measure", "auc_rp", "--score-range", "-9", "9", "--json")
    (near,) = json.loads(out)["detectors"]
    assert near["values"]["auc_rp"] == fastad.measures.rp_auc(Y, TABLE["near"], score_range=(-9, 9))


@pytest.mark.parametrize("summary", [False, True])
def test_tables_for_papers_are_those_of_the_library(tmp_path: Path, summary: bool) -> None:
    rng = np.random.default_rng(0)
    labels, fold = np.arange(90) % 3 == 0, np.arange(90) % 5
    scores = {name: rng.normal(size=90) + shift * labels for name, shift in (("a", 1), ("b", 2))}
    path = tmp_path / "scores.npz"
    np.savez(path, y=labels.astype(int), fold=fold, **scores)
    result = fastad.evaluate(labels, scores, groups={"fold": fold}, measures=["auc", "ap"])
    shown = result.summary("fold") if summary else result
    options = ["--score", "a", "--score", "b", "--group", "fold", "--measure", "auc"]
    options += ["--measure", "ap", *(["--summary"] if summary else [])]
    for extension, text in ((".md", shown.to_markdown()), (".tex", shown.to_latex())):
        output = tmp_path / f"table{extension}"
        stdout_of("evaluate", path, *options, "--output", output)
        assert output.read_text(encoding="utf-8") == text.rstrip() + "\n"
    both = tmp_path / "both.md"
    second = tmp_path / "second.npz"
    np.savez(second, y=labels.astype(int), fold=fold, **scores)
    stdout_of("evaluate", path, second, *options, "--output", both)
    titles = [line for line in both.read_text(encoding="utf-8").splitlines() if line[:3] == "## "]
    assert titles == [f"## {path}", f"## {second}"]

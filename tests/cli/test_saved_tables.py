"""``--output``: every command that prints a table saves it."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fastad
from fastad.explain import explain
from tests.support.command_line import error_of, json_of, save, stdout_of
from tests.support.loops import loop

RNG = np.random.default_rng(0)
N = 300
Y = (RNG.random(N) < 0.3).astype(int)
# As many digits as the file has.
A, B, C = (np.round(RNG.normal(size=N) + shift * Y, 6) for shift in (2, 1, 1.5))
SCORES = {"a": A, "b": B, "c": C}
SEGMENT = np.arange(N) % 2
COMPARE = ("compare", "--method", "delong", "--score", "a", "--score", "b", "--score", "c")
EXPLAIN = ("explain", "--value", "0.9", "--score", "a", "--score", "b")
DETECTOR = ("--detector", "mahalanobis", "--n-draws", 1000)
VOLUME = ("volume", "--feature", "a", "--feature", "b", *DETECTOR)
UNSUPERVISED = ("evaluate-unsupervised", "--feature", "a", "--feature", "b", *DETECTOR)
EVALUATE = ("evaluate", "--score", "a", "--measure", "auc")
COMMANDS = [COMPARE, EXPLAIN, VOLUME, UNSUPERVISED]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = zip(Y, A, B, C, SEGMENT, strict=True)
    lines = ["y,a,b,c,segment", *(",".join(map(str, row)) for row in rows)]
    return save(tmp_path_factory.mktemp("tables") / "t.csv", "\n".join(lines) + "\n")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_read(columns: dict[str, list[Any]]) -> list[dict[str, str]]:
    """Return the rows of columns, as a reader of text gives them."""
    cells = zip(*columns.values(), strict=True)
    return [dict(zip(columns, map(str, row), strict=True)) for row in cells]


@pytest.mark.slow
@loop("command", [EVALUATE, *COMMANDS])
def test_files_have_what_is_printed_which_stays_the_same(
    command: tuple[object, ...], table: Path, tmp_path: Path
) -> None:
    name, *options = command
    json_of(name, table, *options, "--output", tmp_path / "t.json")
    saved = json.loads((tmp_path / "t.json").read_text("utf-8"))
    assert saved == json_of(name, table, *options)
    shown = stdout_of(name, table, *options)
    for extension in (".md", ".tex"):
        output = tmp_path / f"t{extension}"
        assert stdout_of(name, table, *options, "--output", output) == shown
        assert len(output.read_text("utf-8").splitlines()) > 2


def test_saved_comparisons_are_those_of_python(table: Path, tmp_path: Path) -> None:
    stdout_of(COMPARE[0], table, *COMPARE[1:], "--output", tmp_path / "t.csv")
    columns = fastad.compare_all(Y, SCORES, measure="auc", method="delong").to_columns()
    assert rows_of(tmp_path / "t.csv") == [{"file": str(table), **row} for row in as_read(columns)]


def test_saved_comparisons_in_groups_have_the_columns_of_the_groups(
    table: Path, tmp_path: Path
) -> None:
    options = (*COMPARE[1:], "--group", "segment", "--output")
    stdout_of("compare", table, *options, tmp_path / "t.csv")
    rows = rows_of(tmp_path / "t.csv")
    assert [row["segment"] for row in rows] == ["0"] * 3 + ["1"] * 3
    assert "file" not in rows[0]
    for segment in (0, 1):
        some = segment == SEGMENT
        part = {name: values[some] for name, values in SCORES.items()}
        expected = fastad.compare_all(Y[some], part, measure="auc", method="delong").to_columns()[
            "difference"
        ]
        found = [float(row["difference"]) for row in rows if row["segment"] == str(segment)]
        assert found == expected
    stdout_of("compare", table, *options, tmp_path / "t.md")
    text = (tmp_path / "t.md").read_text("utf-8")
    assert text.startswith("## segment 0\n")
    assert "## segment 1\n" in text


def test_groups_of_other_types_in_other_files_are_saved_as_text(tmp_path: Path) -> None:
    files = []
    for name, groups in (("a", ["1", "2"]), ("b", ["x", "y"])):
        rows = [f"{i // 2 % 2},{i},{groups[i % 2]}\n" for i in range(8)]
        files.append(save(tmp_path / f"{name}.csv", "".join(["y,s,g\n", *rows])))
    output = tmp_path / "t.parquet"
    stdout_of("evaluate", *files, "--group", "g", "--measure", "auc", "--output", output)
    assert pd.read_parquet(output)["g"].tolist() == ["1", "2", "x", "y"]


def test_saved_explanations_name_file_and_detector(table: Path, tmp_path: Path) -> None:
    stdout_of("explain", table, *EXPLAIN[1:], "--output", tmp_path / "t.csv")
    rows = rows_of(tmp_path / "t.csv")
    expected = [
        {"file": str(table), "detector": name, **row}
        for name in ("a", "b")
        for row in as_read(explain(Y, SCORES[name], value="0.9").to_columns())
    ]
    assert rows == expected


@loop(
    ("command", "keys"),
    [(VOLUME, {"vol@0.01", "vol@0.01_low", "vol@0.05"}), (UNSUPERVISED, {"em", "mv_high"})],
)
def test_saved_columns_have_the_detectors(
    command: tuple[object, ...], keys: set[str], table: Path, tmp_path: Path
) -> None:
    name, *options = command
    stdout_of(name, table, *options, "--output", tmp_path / "t.csv")
    rows = rows_of(tmp_path / "t.csv")
    assert keys <= rows[0].keys()
    assert {(row["file"], row["detector"]) for row in rows} == {(str(table), "mahalanobis")}


@loop("command", COMMANDS)
def test_an_unsupported_extension_is_refused_before_any_file_is_read(
    command: tuple[object, ...],
) -> None:
    name, *options = command
    message = error_of(name, "absent.csv", *options, "--output", "t.doc", code=2)
    assert "--output: unsupported file extension" in message


def test_an_output_that_is_read_is_refused_and_stays(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    folder.mkdir()
    part = save(folder / "part.csv", table.read_text())
    (tmp_path / "link.csv").symlink_to(part)
    for read, output in ((part, part), (folder, part), (part, tmp_path / "link.csv")):
        message = error_of("evaluate", read, "--output", output, code=2)
        assert f"--output: would replace a file that is read: {output}" in message
    message = error_of(*COMPARE, table, "--output", table, code=2)
    assert "would replace a file that is read" in message
    message = error_of(*VOLUME, table, "--train", part, "--output", part, code=2)
    assert "would replace a file that is read" in message
    assert part.read_text() == table.read_text()

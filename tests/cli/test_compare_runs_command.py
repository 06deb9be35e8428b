"""``fastad compare-runs``: what it reads, prints and saves, and how it ends."""

import csv
import os
import shlex
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fastad
from fastad.benchmarking.overview import compare_runs
from fastad.cli import _compare_runs as command
from fastad.plot import overview as plot
from tests.support.command_line import PAGE, examples_of, hide, invoke
from tests.support.runs import FEW, RUNS, call, read, run, save


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return save(tmp_path / "runs.parquet")


def leave_out_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take seconds, and have their own test."""
    monkeypatch.setattr(plot, "draw_overview", lambda overview: ())


# What is printed.


def test_runs_of_evaluate_are_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(320) % 4 == 0
    scores = pd.DataFrame({"y": y.astype(int), "a": rng.normal(size=320) + y, "b": rng.random(320)})
    scores["dataset"] = np.array(["d1", "d2"])[np.arange(320) // 160]
    scores["fold"] = np.arange(320) // 80 % 2
    path, output = save(tmp_path / "scores.csv", scores), tmp_path / "runs.parquet"
    words = ["evaluate", path, "--group", "dataset", "--group", "fold", "--output", output]
    assert invoke(*words).exit_code == 0
    ranks = read(output)["sections"]["ranks"]
    auc = {one["detector"]: one for one in ranks if one["measure"] == "auc"}
    assert auc["a"]["mean_rank"] == 1
    assert auc["b"]["n_datasets"] == 2


@pytest.mark.slow
def test_all_sections_and_what_they_say_are_printed(runs: Path) -> None:
    result = run(runs, "--operating-fpr", 0.1, "--reference", "tpr@0.05", "--control", "pca")
    estimate = compare_runs(
        RUNS, operating_fpr=0.1, reference="tpr@0.05", control="pca", n_resamples=40, rng=0
    )
    wanted = [*estimate.answer(), ""]
    for name, words in estimate.new_notes().items():
        wanted += [estimate.title(name), estimate[name].text_table().plain(), ""]
        wanted += [*words, ""] if words else []
    assert result.stdout == "\n".join(wanted) + "\n"
    assert "\x1b" not in result.stdout
    assert result.stderr.splitlines() == estimate.reasons()
    assert len(estimate) == 18


@pytest.mark.slow
def test_long_tables_are_not_printed_but_saved(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven measures on three data sets are 21 rows of values."""
    leave_out_pictures(monkeypatch)
    labels = ["auc", *(f"{name}@{rate}" for name in ("auc", "tpr") for rate in (0.01, 0.05, 0.1))]
    words = [word for label in labels for word in ("--measure", label)]
    printed, saved = (
        run(runs, *words).stdout,
        run(runs, *words, "--output", tmp_path / "out").stdout,
    )
    table = (tmp_path / "out" / "values.md").read_text("utf-8")
    assert "| auc | wine |" in table
    assert "± standard deviation over folds\na table of 21 rows; --output saves it\n" in printed
    assert f"a table of 21 rows; it is in {tmp_path / 'out' / 'values.md'}\n" in saved
    for text in (printed, saved):
        assert "auc           wine" not in text
        assert text.startswith("By auc knn has the best mean rank, 1.00 among 4 detectors on 3 ")
    assert "auc           wine" in run(runs, *words[:8]).stdout


@pytest.mark.slow
def test_json_holds_the_rows_of_each_section(runs: Path) -> None:
    one = read(runs, "--seed", 3)
    result = compare_runs(RUNS, n_resamples=40, rng=3)
    assert list(one["sections"]) == list(result)
    for name, rows in one["sections"].items():
        columns = result[name].to_columns()
        wanted = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
        assert len(rows) == len(wanted)
        for row, cells in zip(rows, wanted, strict=True):
            for key, cell in cells.items():
                lost = isinstance(cell, float) and not np.isfinite(cell)
                assert row[key] == (None if cell != cell else str(cell) if lost else cell)
        assert one["notes_of_sections"][name] == result.notes_of(name)
    assert one["fastad_version"] == fastad.__version__
    assert (one["files"], one["measure"]) == ([str(runs)], "auc")
    assert one["measures"] == list(result.measures)
    assert one["answer"] == result.answer()
    assert one["skipped"] == dict(result.skipped)
    assert read(runs, "--seed", 4)["sections"]["ranks"] != one["sections"]["ranks"]


def test_a_terminal_shows_drawn_tables_and_plain_ones_where_they_are_too_wide(runs: Path) -> None:
    shown = call(runs, FORCE_COLOR="1", COLUMNS="90").stdout
    assert "┃" in shown
    wide = "criterion     optimal FPR   95 % interval  of the mean curve"
    assert wide in shown
    assert wide not in call(runs, FORCE_COLOR="1", COLUMNS="150").stdout


# What is saved.


def cells_of(text: str) -> list[list[str]]:
    rows = [
        line.strip("| \\").split("|" if text.startswith("|") else "&") for line in text.split("\n")
    ]
    return [[cell.strip(" *¹²³") for cell in row] for row in rows]


@pytest.mark.evidence
def test_a_folder_holds_all_that_is_printed(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new" / "report"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (folder / "ranks.csv").write_text("old")
    printed = run(runs).stdout
    assert run(runs, "--output", folder).stdout == printed
    result = compare_runs(RUNS, n_resamples=40, rng=0)
    index = (folder / "index.md").read_text("utf-8")
    pictures = {
        "rank_intervals",
        "nemenyi",
        "wilcoxon",
        "multi_comparison",
        *(n for n in result if n[:4] in ("kend", "sele", "disc", "loss")),
    }
    wanted = {"index.md", "notes.txt"}
    for name in result:
        wanted |= {f"{name}{ending}" for ending in (".csv", ".md", ".tex")}
        table = result[name].text_table()
        page, latex = ((folder / f"{name}{end}").read_text("utf-8") for end in (".md", ".tex"))
        for row in table.rows:
            assert list(row) in cells_of(page)
        assert latex == result[name].to_latex()
        assert page.split("\n\n")[0].strip() in index
        assert f"## {result.title(name)}\n" in index
        columns = result[name].to_columns()
        with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        assert head == list(columns)
        texts = [
            ["" if cell is None else str(cell) for cell in row]
            for row in zip(*columns.values(), strict=True)
        ]
        assert rows == texts
        assert (f"![{result.title(name)}]({name}.png)" in index) == (name in pictures)
    for name in pictures:
        wanted |= {f"{name}.png", f"{name}.svg"}
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        assert "</svg>" in (folder / f"{name}.svg").read_text("utf-8")
    assert "- rank_distance: no reference is given" in index
    assert set(os.listdir(folder)) == wanted
    assert (folder / "notes.txt").read_text() == "mine"
    # The same bytes again: of all tables, and of two pictures, which take long to draw.
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    draw = plot.draw_overview
    monkeypatch.setattr(plot, "draw_overview", lambda overview: islice(draw(overview), 2))
    run(runs, "--output", folder)
    (folder / "index.md").write_bytes(before["index.md"])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_folder_that_cannot_be_written_is_an_error_before_the_work(
    runs: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(command, "compare_runs", work)
    runs.with_name("file").write_text("mine")
    result = call(runs, "--output", runs.with_name("file") / name.partition("/")[2])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the folder cannot be written to" in result.stderr
    assert runs.with_name("file").read_text() == "mine"


def test_without_matplotlib_there_are_tables_only(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide("matplotlib", monkeypatch)
    result = run(runs, "--output", tmp_path / "report")
    assert "There are no pictures: fastad.plot needs matplotlib: pip install" in result.stderr
    endings = {path.suffix for path in (tmp_path / "report").iterdir()}
    assert endings == {".csv", ".md", ".tex"}
    assert "![" not in (tmp_path / "report" / "index.md").read_text("utf-8")


@pytest.mark.system
@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
def test_ctrl_c_leaves_no_part_of_a_file(runs: Path, tmp_path: Path) -> None:
    """A picture is half written when it comes."""
    code = """
import time
from matplotlib.figure import Figure
def half(figure, path, **_):
    path.write_bytes(b"half")
    print("half", flush=True)
    time.sleep(60)
Figure.savefig = half
from fastad.cli import main; main()
"""
    words = ["compare-runs", str(runs), "--output", str(tmp_path / "out"), *FEW]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode not in (0, 2)
    assert (out, b"Traceback" in err) == (b"", False)
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".csv", ".md", ".tex"}
    assert not any(name.startswith(".") for name in os.listdir(tmp_path / "out"))


# Docs.


EXAMPLES = examples_of("compare-runs")


def test_the_page_of_the_command_line_describes_it() -> None:
    assert "`--lower-is-better`" in PAGE
    assert len(EXAMPLES) == 3


@pytest.mark.system
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_page_run(
    runs: Path, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = RUNS.assign(k=3, hours=1.0, **{"tpr@0.4": RUNS.auc})
    save(runs, table)
    save(runs.with_name("first.csv"), table[:9])
    save(runs.with_name("second.csv"), table[9:])
    monkeypatch.chdir(runs.parent)
    leave_out_pictures(monkeypatch)
    run(*shlex.split(example))

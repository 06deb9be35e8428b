"""``fastad compare-runs``: what it reads, prints and saves, and how it ends."""

import csv
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import fastad
from fastad.cli import compare_runs as command
from fastad.cli.app import app
from fastad.comparison.overview import compare_runs

PLAIN = {"FORCE_COLOR": None, "TTY_COMPATIBLE": None, "COLUMNS": None, "FASTAD_NUM_THREADS": None}
FEW = ("--n-resamples", "40")
TITLE = "Mean ranks of detectors"


def evaluated() -> pd.DataFrame:
    """Runs of four detectors on three data sets and two folds."""
    rng = np.random.default_rng(2)
    n = 480
    y = np.arange(n) % 4 == 0
    gains = {"knn": 1.5, "lof": 1.0, "pca": 0.8, "svm": 0.2}
    scores = {name: rng.normal(size=n) + gain * y for name, gain in gains.items()}
    groups = {"dataset": np.array(["cardio", "wine", "yeast"])[np.arange(n) // 160]}
    groups["fold"] = np.arange(n) // 80 % 2
    measures = ["auc", "tpr_at_fpr", "auc_at_fpr"]
    found = fastad.evaluate(y, scores, groups=groups, measures=measures, fpr=[0.01, 0.05, 0.1])
    return found.to_frame("pandas")


RUNS = evaluated()
N = len(RUNS)


def save(path: Path, table: pd.DataFrame = RUNS) -> Path:
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    elif path.suffix == ".arrow":
        table.to_feather(path, compression="uncompressed")
    else:
        texts = table.select_dtypes(exclude="number").columns
        arrays = {name: table[name].to_numpy(str if name in texts else None) for name in table}
        np.savez(path, **arrays)
    return path


def call(*arguments: object, **env: str) -> Result:
    words = ["compare-runs", *map(str, arguments), *FEW]
    return CliRunner().invoke(app, words, env={**PLAIN, **env})


def run(*arguments: object) -> Result:
    result = call(*arguments)
    assert result.exit_code == 0, (result.stderr, result.exception)
    return result


def read(*arguments: object) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(run(*arguments, "--json").stdout, parse_constant=refuse)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return save(tmp_path / "runs.parquet")


# --- what is printed


def test_runs_of_evaluate_are_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(320) % 4 == 0
    scores = pd.DataFrame({"y": y.astype(int), "a": rng.normal(size=320) + y, "b": rng.random(320)})
    scores["dataset"] = np.array(["d1", "d2"])[np.arange(320) // 160]
    scores["fold"] = np.arange(320) // 80 % 2
    path, output = save(tmp_path / "scores.csv", scores), tmp_path / "runs.parquet"
    words = ["evaluate", path, "--group", "dataset", "--group", "fold", "--output", output]
    assert CliRunner().invoke(app, [str(word) for word in words], env=PLAIN).exit_code == 0
    ranks = read(output)["sections"]["ranks"]
    auc = {one["detector"]: one for one in ranks if one["measure"] == "auc"}
    assert auc["a"]["mean_rank"] == 1
    assert auc["b"]["n_datasets"] == 2


def test_all_sections_and_what_they_say_are_printed(runs: Path) -> None:
    result = run(runs, "--operating-fpr", 0.1, "--reference", "tpr@0.05", "--control", "pca")
    found = compare_runs(
        RUNS, operating_fpr=0.1, reference="tpr@0.05", control="pca", n_resamples=40, rng=0
    )
    wanted = []
    for name, words in found.new_words().items():
        wanted += [found.title(name), found[name].text_table().plain(), ""]
        wanted += [*words, ""] if words else []
    assert result.stdout == "\n".join(wanted) + "\n"
    assert "\x1b" not in result.stdout
    assert result.stderr.splitlines() == found.reasons()
    assert len(found) == 15


def test_json_holds_the_rows_of_each_section(runs: Path) -> None:
    one = read(runs, "--seed", 3)
    found = compare_runs(RUNS, n_resamples=40, rng=3)
    assert list(one["sections"]) == list(found)
    for name, rows in one["sections"].items():
        columns = found[name].to_columns()
        wanted = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values())]
        assert len(rows) == len(wanted)
        for row, cells in zip(rows, wanted, strict=True):
            for key, cell in cells.items():
                lost = isinstance(cell, float) and not np.isfinite(cell)
                assert row[key] == (None if cell != cell else str(cell) if lost else cell)
        assert one["words"][name] == found.words(name)
    assert one["fastad_version"] == fastad.__version__
    assert (one["files"], one["measure"]) == ([str(runs)], "auc")
    assert one["measures"] == list(found.measures)
    assert one["skipped"] == dict(found.skipped)
    assert read(runs, "--seed", 4)["sections"]["ranks"] != one["sections"]["ranks"]


def test_a_terminal_shows_drawn_tables_and_plain_ones_where_they_are_too_wide(runs: Path) -> None:
    shown = call(runs, FORCE_COLOR="1", COLUMNS="90").stdout
    assert "┃" in shown
    wide = "criterion     optimal FPR        interval  of the mean curve"
    assert wide in shown
    assert wide not in call(runs, FORCE_COLOR="1", COLUMNS="150").stdout


# --- what is read


@pytest.mark.parametrize("ending", [".csv", ".arrow", ".npz"])
def test_all_kinds_of_files_print_the_same(runs: Path, ending: str) -> None:
    table = RUNS.assign(params=np.where(RUNS.fold == 7, 0.5, 10.0))
    table.loc[4, ["auc", "tpr@0.05"]] = np.nan
    result = run(save(runs, table))
    assert "nan: auc, tpr@0.05 are undefined in 1 of 24 rows" in result.stderr
    other = run(save(runs.with_suffix(ending), table))
    assert (other.stdout, other.stderr) == (result.stdout, result.stderr)


def test_texts_and_numbers_of_a_csv_file_are_those_of_parquet(tmp_path: Path) -> None:
    table = RUNS.assign(
        dataset=np.repeat(["007", "7", "70"], N // 3),
        fold=RUNS.fold + 9,
        params=pd.Series([None, "gamma=0.1"] * (N // 2), dtype=object),
    )
    table["detector"] = "svm"
    table["params"] = [None, "gamma=0.1", "1e3", "0.50"] * (N // 4)
    table.loc[0, "auc"] = np.nan
    one, other = (run(save(tmp_path / f"r{ending}", table)) for ending in (".csv", ".parquet"))
    assert (one.stdout, one.stderr) == (other.stdout, other.stderr)
    assert "found svm alone, with 4 models" in one.stderr


def test_rows_of_several_files_are_one_table(runs: Path, tmp_path: Path) -> None:
    shuffled = RUNS.sample(frac=1, random_state=0)
    first = save(tmp_path / "a.csv", shuffled[:10])
    second = save(tmp_path / "b.parquet", shuffled[10:])
    assert run(first, second).stdout == run(runs).stdout
    save(second, shuffled[10:].drop(columns=["auc"]))
    result = run(first, second)
    assert f"{second}: there is no column auc; its rows have no such value" in result.stderr
    assert f"nan: auc is undefined in {N - 10} of {N} rows" in result.stderr


def test_several_columns_name_a_data_set_parameters_and_a_fold(tmp_path: Path) -> None:
    table = RUNS.rename(columns={"dataset": "source", "detector": "who"})
    table = table.assign(part="x", k=5, metric="l2", repeat=table.fold, fold=0)
    options = "--dataset source --dataset part --detector who --params k --params metric"
    path = save(tmp_path / "r.csv", table)
    found = read(path, *options.split(), "--fold", "repeat", "--fold", "fold")
    assert "folds" not in str(found["skipped"])
    named = table.assign(dataset=table.source + " x", detector=table.who, params="k=5, metric=l2")
    wanted = fastad.ResultTable.from_table(named.drop(columns="fold"), fold="repeat")
    ranks = fastad.average_ranks(wanted, measures=["auc"], n_resamples=40, rng=0)
    auc = [one["mean_rank"] for one in found["sections"]["ranks"] if one["measure"] == "auc"]
    assert auc == ranks.mean[0].tolist()
    text = run(path, *options.split(), "--fold", "repeat").stdout
    assert "cardio x" not in text.replace("\n", "")[:100]


def test_classes_of_anomalies_are_found_by_their_column(tmp_path: Path) -> None:
    table = RUNS.assign(dataset="d", anomaly_class=RUNS.dataset)
    path = save(tmp_path / "r.csv", table)
    assert "class_sensitivity" in read(path)["sections"]
    save(path, table.rename(columns={"anomaly_class": "kind"}))
    found = read(path, "--anomaly-class", "kind")["sections"]
    assert "class_sensitivity" in found


def test_other_measures_are_read_where_their_direction_is_said(tmp_path: Path) -> None:
    table = RUNS.assign(hours=-RUNS.auc, gain=RUNS.auc)
    path = save(tmp_path / "r.csv", table)
    found = read(
        *(path, "--lower-is-better", "hours", "--higher-is-better", "gain"),
        *("--measure", "auc", "--measure", "hours", "--measure", "gain", "--by", "hours"),
    )
    ranks = [one["mean_rank"] for one in found["sections"]["ranks"]]
    assert ranks[:4] == ranks[4:8] == ranks[8:]
    assert (found["measures"], found["measure"]) == (["auc", "hours", "gain"], "hours")


# --- what is wrong


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("--dataset x", 1, "no column 'x' for --dataset; found dataset, fold, detector"),
        ("--params k", 1, "no column 'k' for --params"),
        ("--fold x", 1, "no column 'x' for --fold"),
        ("--anomaly-class x", 1, "no column 'x' for --anomaly-class"),
        ("--detector x", 1, "no column 'x' for --detector"),
        ("--measure f1", 2, "--measure: must be one of auc, "),
        ("--measure n_normals", 2, "--measure: 'n_normals' is no measure that fastad knows"),
        ("--by f1", 2, "--by: must be one of auc, "),
        ("--reference f1", 2, "--reference: must be one of auc, "),
        ("--control x", 2, "--control: must be one of knn, lof, pca, svm; found 'x'"),
        ("--operating-fpr 0.2", 2, "--operating-fpr: must be the rate of a column tpr@"),
        ("--operating-fpr 2", 2, "--operating-fpr"),
        ("--confidence-level 1", 2, "--confidence-level: must lie strictly between 0 and 1"),
        ("--higher-is-better x", 2, "--higher-is-better: 'x' is no column of a measure"),
        ("--lower-is-better fold", 2, "--lower-is-better: 'fold' is no column of a measure"),
        ("--higher-is-better auc --lower-is-better auc", 2, "'auc' is also --higher-is-better"),
    ],
)
def test_a_wrong_option_is_named(runs: Path, options: str, code: int, message: str) -> None:
    result = call(runs, *options.split())
    assert (result.exit_code, result.stdout) == (code, "")
    shown = " ".join(result.stderr.replace("│", " ").split())
    assert message in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.assign(auc=["good", *t.auc[1:]]), "column 'auc', line 2: 'good' is not a num"),
        (lambda t: t.assign(auc=["1_0", *t.auc[1:]]), "column 'auc', line 2: '1_0' is not a num"),
        (lambda t: t.assign(dataset=[*t.dataset[:-1], None]), f"'dataset', line {N + 1}: the cell"),
        (lambda t: pd.concat([t, t[3:5]]), "found 2 repeated rows, the first at row 24: cardio, "),
        (lambda t: t.drop(columns="fold"), "what tells rows apart is named by --params, --fold"),
        (lambda t: t[["dataset", "detector", "fold"]], "there is no column of a measure"),
        (lambda t: t[t.detector == "knn"], "at least two models"),
        (lambda t: t[:0], "there are no rows"),
    ],
)
def test_wrong_data_are_an_error_that_says_where(tmp_path: Path, change: Any, message: str) -> None:
    path = save(tmp_path / "r.csv", change(RUNS))
    result = call(path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {path}")
    assert message in result.stderr


def test_wrong_columns_of_parquet_are_named(tmp_path: Path) -> None:
    path = save(tmp_path / "r.parquet", RUNS.assign(auc=RUNS.auc.astype(str)))
    assert "column 'auc' must hold numbers; found " in call(path).stderr
    save(path, RUNS.assign(dataset=[None, *RUNS.dataset[1:]]))
    assert (
        "'dataset' must not have missing values; found 1, the first at row 0" in call(path).stderr
    )


@pytest.mark.parametrize("text", ["dataset,detector,auc\na,b\n", 'dataset,detector,auc\na,"b\n'])
def test_a_damaged_csv_file_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text)
    result = call(path)
    assert result.exit_code == 1
    assert f"{path}: line " in result.stderr


def test_missing_rows_are_named_and_one_data_set_is_enough(tmp_path: Path) -> None:
    result = run(save(tmp_path / "r.csv", RUNS[1:8]))
    assert "missing: 1 of 8 rows (cardio, knn, fold 0)" in result.stderr
    assert TITLE in result.stdout
    assert "1 data set" in result.stdout


def test_where_nothing_can_be_compared_the_reasons_are_the_error(tmp_path: Path) -> None:
    table = RUNS[["dataset", "fold", "detector", "auc"]].assign(params=RUNS.detector, detector="a")
    result = call(save(tmp_path / "r.csv", table))
    assert result.exit_code == 1
    assert "nothing can be compared: skipped: ranks" in result.stderr


# --- what is saved


def cells_of(text: str) -> list[list[str]]:
    rows = [
        line.strip("| \\").split("|" if text.startswith("|") else "&") for line in text.split("\n")
    ]
    return [[cell.strip(" *¹²³") for cell in row] for row in rows]


def test_a_folder_holds_all_that_is_printed(runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (folder / "ranks.csv").write_text("old")
    printed = run(runs).stdout
    assert run(runs, "--output", folder).stdout == printed
    found = compare_runs(RUNS, n_resamples=40, rng=0)
    index = (folder / "index.md").read_text("utf-8")
    pictures = {
        "nemenyi",
        "wilcoxon",
        *(n for n in found if n[:4] in ("kend", "sele", "disc", "loss")),
    }
    wanted = {"index.md", "notes.txt"}
    for name in found:
        wanted |= {f"{name}{ending}" for ending in (".csv", ".md", ".tex")}
        table = found[name].text_table()
        page, latex = ((folder / f"{name}{end}").read_text("utf-8") for end in (".md", ".tex"))
        for row in table.rows:
            assert list(row) in cells_of(page)
        assert latex == found[name].to_latex()
        assert page.split("\n\n")[0].strip() in index
        assert f"## {found.title(name)}\n" in index
        columns = found[name].to_columns()
        with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        assert head == list(columns)
        texts = [
            ["" if cell is None else str(cell) for cell in row] for row in zip(*columns.values())
        ]
        assert rows == texts
        assert (f"![{found.title(name)}]({name}.png)" in index) == (name in pictures)
    for name in pictures:
        wanted |= {f"{name}.png", f"{name}.svg"}
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        assert "</svg>" in (folder / f"{name}.svg").read_text("utf-8")
    assert "- rank_distance: no reference is given" in index
    assert set(os.listdir(folder)) == wanted
    assert (folder / "notes.txt").read_text() == "mine"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    run(runs, "--output", folder)
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
    for module in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run(runs, "--output", tmp_path / "report")
    assert "There are no pictures: fastad.plot needs matplotlib: pip install" in result.stderr
    endings = {path.suffix for path in (tmp_path / "report").iterdir()}
    assert endings == {".csv", ".md", ".tex"}
    assert "![" not in (tmp_path / "report" / "index.md").read_text("utf-8")


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


# --- docs


PAGE = (Path(__file__).parents[1] / "docs" / "cli.md").read_text("utf-8")
EXAMPLES = [
    line.removeprefix("$ fastad compare-runs ")
    for line in PAGE.splitlines()
    if line.startswith("$ fastad compare-runs ")
]


def test_the_page_of_the_command_line_describes_it() -> None:
    assert "`--lower-is-better`" in PAGE
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_page_run(
    runs: Path, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = RUNS.assign(k=3, hours=1.0, **{"tpr@0.4": RUNS.auc})
    save(runs, table)
    save(runs.with_name("first.csv"), table[:9])
    save(runs.with_name("second.csv"), table[9:])
    monkeypatch.chdir(runs.parent)
    run(*shlex.split(example))

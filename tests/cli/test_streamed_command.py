"""``fastad evaluate`` on files that do not fit in memory, where asked and by itself."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pyarrow import csv, feather, parquet

import fastad
from fastad import streaming
from fastad.cli import _evaluate
from tests.support.command_line import FASTAD, error_of, invoke, json_of, on_terminal, shown_on
from tests.support.command_line import stdout_of as run
from tests.support.loops import loop
from tests.support.processes import environment, files_below
from tests.support.score_files import FORMATS, check_bounds, save, save_parts

RNG = np.random.default_rng(2)
N = 2000
Y = (RNG.random(N) < 0.2).astype(np.int64)
S = RNG.normal(size=N) + Y
COLUMNS: dict[str, npt.NDArray[Any]] = {"y": Y, "knn": S, "forest": np.round(-S, 1)}
SMALL = ["--memory", "60kB"]
EXACT = [*SMALL, "--exact"]
ASKED = ["--measure", "auc", "--measure", "tpr@0.1"]
KEYS = ["auc", "tpr@0.1", "threshold@0.1"]


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """Save the scores of two detectors."""
    return save(tmp_path / "scores.parquet", COLUMNS)


def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_evaluate, "available_memory", lambda: 1000)


def values_of(rows: list[dict[str, Any]]) -> dict[str, dict[str, streaming.BoundedValue]]:
    """Return the values of the rows of JSON, by detector."""
    return {
        row["detector"]: {
            key: streaming.BoundedValue(**value) for key, value in row["measures"].items()
        }
        for row in rows
    }


@loop("suffix", FORMATS)
def test_exact_values_are_those_in_memory_to_the_bit(tmp_path: Path, suffix: str) -> None:
    path = save(tmp_path / f"scores{suffix}", COLUMNS)
    rows = json_of("evaluate", path, *EXACT, *ASKED)["detectors"]
    assert [row["file"] for row in rows] == [str(path)] * 2
    for detector, table in values_of(rows).items():
        assert check_bounds(table, Y, COLUMNS[detector]) == set(KEYS)


def test_measures_of_scaled_scores(scores: Path) -> None:
    asked = ["--measure", "auc_p", "--score-range", "-9", "9"]
    exact = values_of(
        json_of("evaluate", scores, "--memory", "9MB", "--exact", *asked)["detectors"]
    )
    bounds = values_of(json_of("evaluate", scores, *SMALL, *asked)["detectors"])
    for detector in ("knn", "forest"):
        expected = fastad.measures.probabilistic_auc(Y, COLUMNS[detector], score_range=(-9, 9))
        assert exact[detector]["auc_p"] == streaming.BoundedValue(expected, expected, expected)
        assert bounds[detector]["auc_p"].low <= expected <= bounds[detector]["auc_p"].high
    assert not bounds["knn"]["auc_p"].is_exact
    message = error_of("evaluate", scores, *SMALL, "--measure", "auc", *asked[2:], code=2)
    assert "no --measure scales scores" in message


def test_bounds_hold_and_are_printed(scores: Path) -> None:
    table = values_of(json_of("evaluate", scores, *SMALL, *ASKED)["detectors"])["knn"]
    assert check_bounds(table, Y, S) != set(KEYS)
    lines = run("evaluate", scores, *SMALL, *ASKED).splitlines()
    assert lines[0].split() == ["detector", "measure", "value", "certain", "bounds"]
    row = next(line.split() for line in lines if line.split()[:2] == ["knn", "auc"])
    low, to, high = row[3:]
    assert to == "to"
    assert float(low) == pytest.approx(table["auc"].low, rel=1e-4)
    assert float(high) == pytest.approx(table["auc"].high, rel=1e-4)
    exact, _, notes = run("evaluate", scores, *EXACT, *ASKED).partition("\n\n")
    assert {line.split()[-1] for line in exact.splitlines()[1:]} == {"exact"}
    assert "the AUC is far below 0.5" in notes  # of the second column


def test_a_folder_is_one_table_in_memory_and_in_batches(tmp_path: Path) -> None:
    whole = save(tmp_path / "whole.parquet", COLUMNS)
    folder = save_parts(tmp_path / "lake", COLUMNS, [500, 900], ".parquet")
    for options in ([], SMALL, EXACT, ["--ci", "--n-resamples", "20"]):
        if "--memory" in options:
            rows = json_of("evaluate", folder, *ASKED, *EXACT)["detectors"]
            for detector, table in values_of(rows).items():
                assert check_bounds(table, Y, COLUMNS[detector]) == set(KEYS)
        expected = run("evaluate", whole, *ASKED, *options)
        assert run("evaluate", folder, *ASKED, *options) == expected


def test_several_sources_are_told_apart(tmp_path: Path, scores: Path) -> None:
    folder = save_parts(tmp_path / "lake", COLUMNS, [500], ".csv")
    rows = json_of("evaluate", scores, folder, *ASKED, *EXACT)["detectors"]
    assert [row["file"] for row in rows] == [str(scores)] * 2 + [str(folder)] * 2
    assert rows[0]["measures"] == rows[2]["measures"]
    out = run("evaluate", scores, folder, *ASKED, *EXACT)
    assert str(scores) in out
    assert str(folder) in out


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet", ".arrow", ".md", ".tex"])
def test_results_are_saved(tmp_path: Path, scores: Path, suffix: str) -> None:
    output = tmp_path / f"results{suffix}"
    printed = json_of("evaluate", scores, *SMALL, *ASKED, "--output", output)
    expected = values_of(printed["detectors"])
    if suffix == ".json":
        assert json.loads(output.read_text("utf-8")) == printed
        return
    if suffix in (".md", ".tex"):
        text = output.read_text("utf-8")
        for part in ("knn", "forest", "auc", f"{expected['knn']['auc'].value:.6g}"):
            assert part in text
        return
    read = {
        ".csv": csv.read_csv,
        ".parquet": parquet.read_table,
        ".arrow": lambda path: feather.read_table(str(path)),
    }[suffix]
    rows = read(output).to_pylist()
    assert [(row["detector"], row["measure"]) for row in rows] == [
        (detector, key) for detector in ("knn", "forest") for key in KEYS
    ]
    for row in rows:
        value = expected[row["detector"]][row["measure"]]
        assert (row["value"], row["low"], row["high"]) == (value.value, value.low, value.high)


def test_groups_are_evaluated_each_by_itself(tmp_path: Path) -> None:
    segment = RNG.integers(0, 3, N)
    path = save(tmp_path / "scores.csv", {**COLUMNS, "segment": segment})
    columns = ["--group", "segment", "--score", "knn"]
    rows = json_of("evaluate", path, *ASKED, *columns, *EXACT)["detectors"]
    assert [row["group"] for row in rows] == [{"segment": i} for i in range(3)]
    for row in rows:
        inside = segment == row["group"]["segment"]
        (table,) = values_of([row]).values()
        assert check_bounds(table, Y[inside], S[inside]) == set(KEYS)
    lines = run("evaluate", path, *ASKED, *columns, *EXACT).splitlines()
    assert lines[0].split()[:3] == ["segment", "detector", "measure"]


def test_groups_may_be_named_like_other_keys(tmp_path: Path) -> None:
    names = {"file": ["a", "b"], "measures": ["c", "d"], "undefined": ["e", "f"]}
    path = save(
        tmp_path / "scores.csv", {**COLUMNS, **{k: np.resize(v, N) for k, v in names.items()}}
    )
    groups = [word for name in names for word in ("--group", name)]
    words = ("evaluate", path, "--measure", "auc", "--score", "knn", *groups)
    for rows in (json_of(*words)["detectors"], json_of(*words, *EXACT)["detectors"]):
        assert [row["group"] for row in rows] == [
            {name: values[i] for name, values in names.items()} for i in (0, 1)
        ]
        assert {row["file"] for row in rows} == {str(path)}


@loop(("labels", "text"), [(Y * 1.5, "1.5"), (np.where(Y == 1, "1", "2"), "1")])
def test_labels_of_anomalies(tmp_path: Path, labels: Any, text: str) -> None:
    for suffix in (".parquet", ".csv"):
        path = save(tmp_path / f"scores{suffix}", {"y": labels, "knn": S})
        rows = json_of("evaluate", path, *ASKED, *EXACT, "--pos-label", text)["detectors"]
        assert check_bounds(values_of(rows)["knn"], Y, S) == set(KEYS)


def test_rates_and_other_columns(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", {"truth": Y, "s": S, "id": np.arange(N)})
    columns = ["--label", "truth", "--score", "s"]
    rows = json_of("evaluate", path, *columns, "--fpr", "0.3", "--measure", "tpr_at_fpr", *EXACT)
    assert check_bounds(values_of(rows["detectors"])["s"], Y, S) == {"tpr@0.3", "threshold@0.3"}


def test_a_threshold_that_is_infinite_is_json(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", {"y": [0, 0, 1, 1], "s": [4.0, 3, 2, 1]})
    row = json_of("evaluate", path, *SMALL, "--measure", "tpr@0.1")["detectors"][0]
    assert row["measures"]["threshold@0.1"] == {"value": "inf", "low": "inf", "high": "inf"}
    assert "threshold@0.1    inf" in run("evaluate", path, *SMALL, "--measure", "tpr@0.1")


# By itself.


def test_a_file_that_would_not_fit_is_read_in_batches(
    scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_batches = run("evaluate", scores, *ASKED, "--memory", _evaluate.DEFAULT_MEMORY)
    assert "detectors" in json_of("evaluate", scores, *ASKED)
    little_memory(monkeypatch)
    result = invoke("evaluate", scores, *ASKED)
    assert result.exit_code == 0
    assert result.stdout == in_batches
    assert f"{scores} would not fit in memory" in result.stderr
    assert "--memory" in result.stderr
    assert "--exact" in result.stderr


@loop("options", [["--chance", "--n-resamples", "20"], ["--threshold", "1"]])
def test_what_needs_all_scores_reads_them_at_once_wherever_it_can(
    scores: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    little_memory(monkeypatch)
    assert "detectors" in json_of("evaluate", scores, *ASKED, *options)


def test_intervals_of_scores_read_batch_by_batch(
    scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nearly as in memory, as cells are narrow. Also without being asked to."""
    asked = ["evaluate", scores, "--measure", "auc", "--ci", "--n-resamples", "20"]
    in_memory = json_of(*asked)["detectors"]
    streamed = [json_of(*asked, "--memory", "9MB", "--exact")["detectors"]]
    little_memory(monkeypatch)
    streamed.append(json_of(*asked)["detectors"])
    for rows in streamed:
        for row, expected in zip(rows, in_memory, strict=True):
            found, interval = row["measures"]["auc"]["interval"], expected["intervals"]["auc"]
            for end in ("low", "high"):
                assert found[end] == pytest.approx(interval[end], abs=1e-3)


# Refusals.


def test_options_for_scores_in_memory_are_refused(scores: Path) -> None:
    for options in (
        ["--ci", "--clusters", "forest"],
        ["--chance"],
        ["--threshold", "1"],
        ["--nan-policy", "omit"],
        ["--group", "forest", "--summary"],
    ):
        message = error_of("evaluate", scores, *SMALL, *ASKED, *options, code=2)
        assert "would be ignored beside --memory" in message
    assert "only with --memory" in error_of("evaluate", scores, "--exact", code=2)


def test_wrong_options_are_named(scores: Path) -> None:
    for options, part in (
        (["--memory", "much"], "Invalid value for --memory: must be a number of bytes"),
        (["--memory", "1"], "Invalid value for --memory: must be at least 4096 bytes"),
        ([*SMALL, "--pos-label", "bad"], "Invalid value for --pos-label: must be a number, as the"),
        ([*SMALL, "--measure", "aucc"], "Invalid value for --measure: "),
        ([*SMALL, "--measure", "auc_p", "--fpr", "3"], "Invalid value for --fpr: "),
        ([*SMALL, "--output", "x.xyz"], "Invalid value for --output: "),
    ):
        assert part in error_of("evaluate", scores, *options, code=2)


@loop("options", [["--label", "z"], ["--score", "kn"], ["--group", "g"]])
def test_columns_that_are_not_there_are_named_as_in_memory(
    scores: Path, options: list[str]
) -> None:
    message = error_of("evaluate", scores, *options, code=1)
    assert f"there is no column {options[1]!r}" in message
    assert error_of("evaluate", scores, *SMALL, *options, code=1) == message


def test_the_standard_input_is_read_once() -> None:
    message = error_of("evaluate", "-", *SMALL, code=2)
    assert "Invalid value for --memory: reads files several times" in message


def test_wrong_data_are_named_and_nothing_is_saved(tmp_path: Path) -> None:
    output = tmp_path / "results.csv"
    nan = S.copy()
    nan[1500] = np.nan
    whole = save(tmp_path / "whole.parquet", COLUMNS).read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole[: len(whole) // 2])
    for path, part in (
        (save(tmp_path / "nan.parquet", {"y": Y, "s": nan}), "column 's', row 1500: the value"),
        (
            save(tmp_path / "label.parquet", {"y": Y * 2, "s": S}),
            "with --pos-label if it is another",
        ),
        (cut, "cannot be read"),
        (tmp_path / "none.csv", "there is no such file"),
    ):
        message = error_of("evaluate", path, *SMALL, "--output", output)
        assert part in message
        assert str(path) in message
        assert not output.exists()


def test_one_bad_file_of_several_prints_and_saves_nothing(tmp_path: Path, scores: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("y,s\n1,2\n0\n")
    message = error_of("evaluate", scores, bad, *SMALL, "--output", tmp_path / "results.csv")
    assert str(bad) in message
    assert not (tmp_path / "results.csv").exists()


# Processes.


def test_progress_is_silent_off_a_terminal(scores: Path) -> None:
    result = invoke("evaluate", scores, *EXACT, *ASKED)
    assert (result.exit_code, result.stderr) == (0, f"{scores}: detectors: knn, forest\n")


@pytest.mark.system
def test_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    n_rows = 600_000
    y = np.arange(n_rows) % 10 == 0
    path = save(tmp_path / "s.parquet", {"y": y, "s": np.sin(np.arange(n_rows))}, 100_000)
    with on_terminal("evaluate", path, *EXACT, *ASKED) as (process, terminal):
        shown = shown_on(terminal)
        assert process.stdout is not None
        assert b"threshold@0.1" in process.stdout.read()
        assert process.wait() == 0
    assert b"rows" in shown
    assert b"%" in shown


def spilling(path: Path, folder: Path) -> "subprocess.Popen[str]":
    """Start an evaluation that writes to a folder; wait until it does."""
    process = subprocess.Popen(
        [*FASTAD, "evaluate", str(path), "--memory", "2MB", "--exact", "--measure", "auc"],
        env=environment(TMPDIR=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    start = time.monotonic()
    while process.poll() is None and time.monotonic() - start < 90:
        # Python writes a file of its own to find out whether a temporary folder can be written.
        if any(map(files_below, folder.glob("fastad-spill-*"))):
            break
        time.sleep(0.01)
    return process


@pytest.fixture(scope="module")
def many_scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    n_rows = 6_000_000
    s = rng.normal(size=n_rows)
    path = tmp_path_factory.mktemp("many") / "scores.parquet"
    return save(path, {"y": rng.random(n_rows) < 0.3, "s": s}, 500_000)


@pytest.mark.system
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_leave_nothing(
    many_scores: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    folder = tmp_path / "spilled"
    folder.mkdir()
    process = spilling(many_scores, folder)
    assert process.poll() is None, process.communicate()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert out == ""
    assert "Traceback" not in err
    assert list(folder.iterdir()) == []


@pytest.mark.system
def test_a_disk_that_is_really_full_is_named_and_emptied(many_scores: Path, tmp_path: Path) -> None:
    folder = tmp_path / "full"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("a small file system can be mounted by the administrator of Linux alone")
    try:
        process = spilling(many_scores, folder)
        out, err = process.communicate(timeout=90)
        assert (process.returncode, out) == (1, "")
        assert f"the disk of {folder} is full" in err
        assert list(folder.iterdir()) == []
    finally:
        subprocess.run(["umount", str(folder)], check=True)

"""Commands on a terminal: drawn tables, progress, Ctrl-C, and libraries that are not installed."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import fastad
from fastad._core.extras import missing_extra
from fastad._core.text_tables import TextTable
from fastad.cli._console import print_table
from tests.support.command_line import (
    FASTAD,
    PLAIN,
    error_of,
    hide,
    invoke,
    on_terminal,
    run_without,
    shown_on,
)

pytestmark = pytest.mark.system

_RNG = np.random.default_rng(17)
Y = _RNG.permutation(np.repeat([0, 1], [80, 20]))
SCORES = {"knn": _RNG.normal(size=100) + Y, "ünï 中": _RNG.normal(size=100) - Y}
SUBSPACES = ("--n-features", 2, "--n-subspaces", 4)
NO_DETECTOR = missing_extra("--detector", "scikit-learn", extra="sklearn")
ENDLESS = {
    "volume": ("volume", "--method", "uniform", "--n-draws", 10**12),
    "points": ("evaluate-unsupervised", "--method", "uniform", "--n-draws", 300_000_000),
    "draws": ("evaluate-unsupervised", "--n-features", 2, "--n-subspaces", 10**6),
    "replicates": ("evaluate-unsupervised", "--n-draws", 2000, "--n-resamples", 10**7),
}


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scores") / "scores.npz"
    np.savez(path, y=Y, **SCORES)
    return path


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("points") / "points.npz"
    np.savez(path, X=np.random.default_rng(5).normal(size=(240, 3)))
    return path


def drawn(*arguments: object, columns: int) -> str:
    """Return what a command shows where it takes its output for a terminal, without colours."""
    result = invoke(*arguments, FORCE_COLOR="1", COLUMNS=str(columns))
    assert result.exit_code == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", result.stdout)


def test_a_pipe_gets_plain_text(scores: Path) -> None:
    env = {k: v for k, v in os.environ.items() if k not in PLAIN} | {"TERM": "xterm-256color"}
    result = subprocess.run([*FASTAD, "evaluate", scores], capture_output=True, env=env, check=True)
    assert b"\x1b" not in result.stdout
    # Beside names, the mark of rates for which samples are too few.
    assert all(ord(x) < 128 or x in "ünï 中†" for x in result.stdout.decode())


def test_a_terminal_gets_a_drawn_table_unless_it_is_too_narrow(scores: Path) -> None:
    arguments = ("evaluate", scores, "--measure", "auc")
    with on_terminal(*arguments, stream="stdout") as (process, terminal):
        wide = shown_on(terminal).decode()
    assert process.returncode == 0
    narrow = drawn(*arguments, columns=12)
    assert ("│" in wide, "│" in narrow) == (True, False)
    for name, values in SCORES.items():
        assert name in wide
        assert name in narrow
        assert f"{fastad.roc_auc(Y, values):.4f}" in narrow


@pytest.mark.parametrize("terminal", ["", "1"])
def test_cells_of_a_table_that_is_not_drawn_are_not_measured(
    terminal: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rich takes seconds for hundreds of rows and columns."""
    monkeypatch.setenv("FORCE_COLOR", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(Console, "measure", None)
    print_table(TextTable(["name", *"abcdefghijklmnopqrst"], [["knn", *"12345678901234567890"]]))
    assert capsys.readouterr().out.splitlines()[1].split() == ["knn", *"12345678901234567890"]


def test_a_terminal_shows_unusual_names_as_they_are(tmp_path: Path) -> None:
    # Of columns, and of files, which are titles.
    names = ["[red]x[/red]", "[/red]", ":rocket:", "[bold]", "a[0]"]
    paths = [tmp_path / f"{name.replace('/', '')}.csv" for name in names]
    for path, name in zip(paths, names, strict=True):
        path.write_text(f"y,{name},b\n0,0.1,1\n0,0.3,2\n1,0.2,3\n1,0.4,4\n", encoding="utf-8")
    shown = drawn("evaluate", *paths, "--measure", "auc", columns=500)
    lines = [line.replace("│", "|").split("|") for line in shown.splitlines()]
    cells = {cell.strip() for line in lines for cell in line}
    assert {*names, "b"} <= cells, cells
    # A long title is broken over lines.
    assert all(str(path) in "".join(shown.split()) for path in paths)


def test_progress_is_shown_on_a_terminal_and_the_table_stays_clean(points: Path) -> None:
    arguments = ("volume", points, "--detector", "knn", "--n-draws", 3000)
    with on_terminal(*arguments) as (process, terminal):
        shown = shown_on(terminal)
        assert process.stdout is not None
        out = process.stdout.read()
    assert b"points" in shown
    assert b"relative error" in shown
    assert out.startswith(b"detector")
    assert b"\x1b" not in out


REPLICATES = {
    "intervals": ("evaluate", "--measure", "eer", "--ci"),
    "of a part": ("evaluate", "--measure", "tpr@0.05", "--ci"),
    "chance": ("evaluate", "--measure", "eer", "--chance"),
    "compare": ("compare", "--measure", "eer"),
}


@pytest.fixture(scope="module")
def many_scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "scores.npz"
    y = np.arange(300_000) % 10 == 0
    np.savez(path, y=y.astype(int), a=_RNG.normal(size=y.size) + y, b=_RNG.normal(size=y.size) + y)
    return path


def assert_ended_by_ctrl_c(process: subprocess.Popen[bytes], terminal: int) -> None:
    """Press Ctrl-C; the process ends soon, and prints nothing but what a terminal shows."""
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    shown = shown_on(terminal)
    assert process.wait(60) not in (0, 1, 2)
    # Some tenths of a second; a busy machine takes longer.
    assert time.monotonic() - start < 20
    assert process.stdout is not None
    assert process.stdout.read() == b""
    assert b"Traceback" not in shown


@pytest.mark.parametrize("kind", list(REPLICATES))
def test_replicates_of_many_points_are_shown_and_ctrl_c_ends_them(
    many_scores: Path, kind: str
) -> None:
    command, *options = REPLICATES[kind]
    with on_terminal(command, many_scores, *options, "--n-resamples", 10**6) as (process, terminal):
        assert b"replicates" in shown_on(terminal, until=b"replicates")
        time.sleep(0.3)
        assert_ended_by_ctrl_c(process, terminal)


@pytest.mark.parametrize("kind", ENDLESS)
def test_ctrl_c_ends_a_long_run(points: Path, kind: str) -> None:
    command, *options = ENDLESS[kind]
    what = b"draws" if kind == "draws" else b"points"
    detector = "iforest" if kind == "volume" else "knn"
    arguments = (command, points, "--detector", detector, *options)
    with on_terminal(*arguments) as (process, terminal):
        assert what in shown_on(terminal, until=what)
        time.sleep(0.5)
        assert process.poll() is None
        assert_ended_by_ctrl_c(process, terminal)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_warmup_shows_progress_and_its_processes_end_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("FASTAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("FASTAD_NUM_THREADS", "2")
    with on_terminal("warmup") as (process, terminal):
        assert b"compiled" in shown_on(terminal, until=b"compiled")
        time.sleep(0.5)
        process.send_signal(number)
        start = time.monotonic()
        # To its end: nobody has the terminal any more.
        shown = shown_on(terminal)
        assert process.wait(60) not in (0, 1, 2)
        assert time.monotonic() - start < 20
    assert b"Traceback" not in shown


@pytest.mark.parametrize(
    ("module", "command", "options", "message"),
    [
        ("sklearn", "evaluate-unsupervised", ("--detector", "knn", *SUBSPACES), NO_DETECTOR),
        ("pyarrow", "evaluate", (), missing_extra("a .parquet file", "pyarrow", extra="df")),
    ],
)
def test_without_its_extra_a_command_says_what_to_install(
    points: Path, module: str, command: str, options: tuple[object, ...], message: Exception
) -> None:
    path = points if options else points.with_suffix(".parquet")
    path.touch()
    result = run_without(module, command, path, *options)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"Error: {message}\n"


def test_without_joblib_no_model_is_loaded(points: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide("joblib", monkeypatch)
    message = missing_extra("--model", "joblib", extra="sklearn")
    assert error_of("volume", points, "--model", __file__, "--trust") == f"Error: {message}"


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_without_the_extra_cli_no_command_runs(module: str) -> None:
    result = run_without(module, "doctor")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"{missing_extra('The command line', module, extra='cli')}\n"


@pytest.mark.parametrize(
    ("module", "library"), [("sklearn", "scikit-learn"), ("matplotlib", "matplotlib")]
)
def test_without_its_extra_the_demo_says_what_to_install(
    module: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(module, monkeypatch)
    message = missing_extra("the demo", library, extra="demo")
    assert error_of("demo", "--output", tmp_path / "demo") == f"Error: {message}"
    assert not (tmp_path / "demo").exists()

"""Commands in processes of their own: full disks, closed pipes, Ctrl-C, odd encodings."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import FASTAD, stdout_of

CLEARED = ("FORCE_COLOR", "TTY_COMPATIBLE", "FASTAD_NUM_THREADS")
pytestmark = pytest.mark.system
POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows has no such limits and signals")


def run(*arguments: object, cwd: Path | None = None, **env: str) -> CompletedProcess[str]:
    """Run a command in a process of its own."""
    inherited = {key: value for key, value in os.environ.items() if key not in CLEARED}
    return subprocess.run(
        [*FASTAD, *map(str, arguments)],
        env={**inherited, "PYTHONUTF8": "1", **env},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
        cwd=cwd,
    )


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scores of detectors, whose table is longer than a small disk."""
    return save_scores(tmp_path_factory.mktemp("scores") / "scores.npz", 30)


def save_scores(path: Path, n_detectors: int) -> Path:
    rng = np.random.default_rng(4)
    y = np.arange(400) % 8 == 0
    arrays: dict[str, Any] = {f"d{i}": rng.normal(size=400) + y for i in range(n_detectors)}
    np.savez(path, y=y, **arrays)
    return path


def test_doctor_names_the_cache_folder_that_kernels_go_to(tmp_path: Path) -> None:
    assert str(tmp_path) in run("doctor", FASTAD_CACHE_DIR=str(tmp_path)).stdout


# Saving.


@POSIX
@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    scores: Path, tmp_path: Path, ending: str
) -> None:
    output = tmp_path / f"out{ending}"
    output.write_text("old")
    command = shlex.join([*FASTAD, "evaluate", str(scores), "--output", str(output)])
    # Files end at 8 blocks, as on a full disk.
    result = subprocess.run(
        ["sh", "-c", f"ulimit -f 8; {command}"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert str(output) in result.stderr
    assert "Traceback" not in result.stderr
    assert output.read_text() == "old"
    assert os.listdir(tmp_path) == [output.name]


def test_processes_that_save_at_once_leave_one_whole_file(scores: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    command = [*FASTAD, "evaluate", str(scores), "--output", str(output), "--measure", "auc"]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in processes] == [0] * 2
    assert len(json.loads(output.read_text())["detectors"]) == 30
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_file_name_as_long_as_the_system_allows_is_written(scores: Path, tmp_path: Path) -> None:
    output = tmp_path / f"{'x' * 251}.csv"
    output.write_text("")
    stdout_of("evaluate", scores, "--output", output, "--measure", "auc")
    assert output.read_text()


# Ends.


@POSIX
@pytest.mark.parametrize("reader", ["true", "head -c 100"])
def test_a_closed_pipe_ends_the_command_quietly(tmp_path: Path, reader: str) -> None:
    # More than fits into a pipe.
    scores = save_scores(tmp_path / "scores.npz", 100)
    command = shlex.join([*FASTAD, "evaluate", str(scores), "--json"])
    result = subprocess.run(
        ["sh", "-c", f"{command} | {reader}"], capture_output=True, text=True, check=True
    )
    # Only which columns are detectors.
    assert result.stderr.startswith(f"{scores}: detectors: ")
    assert result.stderr.count("\n") == 1


# What a reader leaves when it ends at once: the code of the command, not that of the pipe.
UNREAD = "({command}; echo $? >{code}) | {reader}"


@POSIX
def test_a_closed_pipe_is_no_verdict(scores: Path, tmp_path: Path) -> None:
    """Of a gate the code is its verdict, and of other commands not that of wrong data."""
    policy, strict = tmp_path / "policy.toml", tmp_path / "strict.toml"
    policy.write_text('[[require]]\nmeasure = "auc"\nmargin = 0.5\n', "utf-8")
    strict.write_text('[[require]]\nmeasure = "tpr@threshold0.95"\nat_least = 0.5\n', "utf-8")
    code = tmp_path / "code"
    new = tmp_path / "new.csv"
    new.write_text("y,score\n" + "1,0.9\n0,0.1\n" * 200, "utf-8")
    for words, reader, expected in (
        (["gate", policy, new, new, "--json"], "true", 0),
        (["gate", strict, new, new], "head -c 0", 1),
        (["evaluate", scores], "true", 141),
    ):
        command = shlex.join([*FASTAD, *map(str, words)])
        line = UNREAD.format(command=command, code=shlex.quote(str(code)), reader=reader)
        result = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
        assert int(code.read_text()) == expected, result.stderr
        assert "Traceback" not in result.stderr
        assert "BrokenPipe" not in result.stderr


@POSIX
@pytest.mark.parametrize("command", ["evaluate", "gate"])
def test_a_closed_standard_output_is_no_error(scores: Path, tmp_path: Path, command: str) -> None:
    policy, new = tmp_path / "policy.toml", tmp_path / "new.csv"
    policy.write_text('[[require]]\nmeasure = "auc"\nmargin = 0.5\n', "utf-8")
    new.write_text("y,score\n" + "1,0.9\n0,0.1\n" * 200, "utf-8")
    files = {"evaluate": [scores], "gate": [policy, new, new]}[command]
    words = shlex.join([*FASTAD, command, *map(str, files)])
    result = subprocess.run(
        ["sh", "-c", f"{words} >&-"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, "Traceback" in result.stderr) == (0, False), result.stderr


@POSIX
def test_a_closed_standard_input_is_an_error() -> None:
    command = shlex.join([*FASTAD, "evaluate", "-"])
    result = subprocess.run(
        ["sh", "-c", f"{command} <&-"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "Error: -: the standard input is closed\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_stdout_is_an_error(scores: Path) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*FASTAD, "evaluate", scores, "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert result.returncode == 1
    assert b"No space left" in result.stderr
    assert b"Traceback" not in result.stderr


@POSIX
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_end_the_command_and_leave_no_part_of_a_file(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    """The file to read is a pipe under the name of a file that never ends."""
    source = tmp_path / "scores.csv"
    os.mkfifo(source)
    (tmp_path / "out").mkdir()
    code = (
        "import pathlib; pathlib.Path.is_file = pathlib.Path.exists\n"
        "from fastad.cli import main; main()"
    )
    output = tmp_path / "out" / "o.csv"
    command = [sys.executable, "-c", code, "evaluate", str(source), "--output", str(output)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process, source.open("w") as never_ends:
        never_ends.write("y,s\n0,1\n")
        never_ends.flush()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert (out, b"Traceback" in err) == (b"", False)
    assert os.listdir(tmp_path / "out") == []


def test_names_that_stdout_cannot_show_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("y,ünï\n0,0.1\n1,0.2\n", encoding="utf-8")
    result = run("evaluate", path, PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0].strip() == r"\xfcn\xef"


@POSIX
@pytest.mark.parametrize("ending", [".json", ".csv"])
def test_file_names_that_are_no_text_are_escaped(scores: Path, tmp_path: Path, ending: str) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.npz"
    Path(os.fsdecode(path)).write_bytes(scores.read_bytes())
    output = tmp_path / f"out{ending}"
    result = subprocess.run(
        [*FASTAD, "evaluate", path, "--output", output], capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert rb"\udcff.npz" in output.read_bytes()

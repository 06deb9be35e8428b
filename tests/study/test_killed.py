"""Studies that are killed, interrupted, out of disk, or run twice at once."""

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fastad.cli.app import app
from fastad.study.config import StudyConfig, read_config
from fastad.study.results import read_study, study_status
from fastad.study.runner import Progress, run_study
from tests.support import small_studies
from tests.support.command_line import PLAIN
from tests.support.processes import environment
from tests.support.small_studies import TOML, write_config

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals"),
]
ROOT = Path(__file__).parents[2]
# Neighbours of three problems, for which no process has to load scikit-learn.
SMALL = (
    TOML.split("[goix]")[0]
    .replace("repeats = 2", "repeats = 4")
    .replace("n_draws = 300", "n_draws = 100")
    + '[[detectors]]\nkind = "knn"\nk = [1, 5]\n'
)
N_BATCHES = 3 * 2 * 4
contents = partial(small_studies.contents, files=("results.parquet", "curves.parquet"))

WAITING = """
[[detectors]]
name = "waits"
estimator = "tests.support.small_studies.Waits"
higher_is = "anomalous"
file = {file}
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_config(tmp_path_factory.mktemp("data"), SMALL)


@pytest.fixture(scope="module")
def config(file: Path) -> StudyConfig:
    return read_config(file)


@pytest.fixture(scope="module")
def expected(config: StudyConfig, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("expected")
    run_study(config, folder)
    return contents(folder)


# The runner rests after each batch, so that it can be met at work.
RESTING = """
import sys, time
from fastad.cli import main
from fastad.study.store import StudyStore
save = StudyStore.save
StudyStore.save = lambda *batch: (save(*batch), time.sleep(0.05))
sys.argv[0] = "fastad"
main()
"""


def start(file: Path, folder: Path, *options: str) -> subprocess.Popen[str]:
    """Run a study by the command line, in a session of its own."""
    words = ["study", "run", str(file), "--output", str(folder), *options]
    return subprocess.Popen(
        [sys.executable, "-c", RESTING, *words],
        env=environment(PYTHONPATH=str(ROOT)),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.002)


def end(process: subprocess.Popen[str]) -> None:
    """End whatever a process has left behind in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def lines(folder: Path) -> list[bytes]:
    """Return what is saved of each finished batch."""
    log = folder / "done.log"
    return log.read_bytes().splitlines() if log.exists() else []


def kill_again_and_again(name: str, path: str) -> None:
    """Run a study in processes that are killed after nine batches each, but for the last one."""
    config, folder = read_config(path), Path(name, "out")
    # What is loaded once need not be in each process.
    run_study(config, Path(name, "first"))
    for n in range(9, N_BATCHES + 9, 9):
        child = os.fork()
        if not child:
            run_study(config, folder, progress=lambda one, n=n: _die(one, n))  # type: ignore[misc]
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert study_status(folder).runner is None
        if n < N_BATCHES:
            assert os.WTERMSIG(status) == signal.SIGKILL
            assert study_status(folder).n_done == n
        else:
            assert status == 0


def _die(result: Progress, after: int) -> None:
    if result.done == after < N_BATCHES:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_study_may_be_killed_again_and_again(
    file: Path, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    name = "kill_again_and_again"
    code = f"import sys; from tests.study.test_killed import {name} as f; f(*sys.argv[1:])"
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), str(file)],
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert contents(tmp_path / "out") == expected


def test_kill_9_loses_nothing_that_was_done(
    file: Path, config: StudyConfig, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    folder = tmp_path / "out"
    with start(file, folder, "--jobs", "2") as process:
        wait_for(process, lambda: len(lines(folder)) >= 9)
        process.kill()
        # Workers of joblib live on for a while, which does not matter.
        process.wait()
        done = lines(folder)
        status = study_status(folder)
        assert (status.runner, status.n_done) == (None, len(done))
        assert 9 <= len(done) < N_BATCHES
        assert read_study(folder).tasks.num_rows >= len(done)
        seen: list[Progress] = []
        run_study(config, folder, progress=seen.append)
        end(process)
    assert seen[0].done == len(done)
    assert contents(folder) == expected
    # What was done was not done again.
    assert lines(folder)[: len(done)] == done
    assert len(lines(folder)) == N_BATCHES


@pytest.mark.parametrize(("number", "n_jobs"), [(signal.SIGINT, "2"), (signal.SIGTERM, "1")])
def test_ctrl_c_and_sigterm_end_with_a_message(
    file: Path,
    config: StudyConfig,
    tmp_path: Path,
    expected: dict[str, bytes],
    number: signal.Signals,
    n_jobs: str,
) -> None:
    folder = tmp_path / "out"
    with start(file, folder, "--jobs", n_jobs) as process:
        wait_for(process, lambda: len(lines(folder)) >= 3)
        # As a terminal and a scheduler do: to all processes.
        os.killpg(process.pid, number)
        out, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert errors.splitlines()[-1] == (
        "Error: interrupted; what is done is saved, and the same command continues"
    )
    assert "Traceback" not in errors
    assert not out
    run_study(config, folder)
    assert contents(folder) == expected


def test_workers_end_with_a_runner_that_is_killed(tmp_path: Path) -> None:
    folder, go = tmp_path / "out", tmp_path / "go"
    text = TOML.split("[[detectors]]")[0] + WAITING.format(file=json.dumps(str(go)))
    file = write_config(tmp_path, text)
    with start(file, folder, "--jobs", "1") as process:
        number = tmp_path / "go waits"
        wait_for(process, lambda: number.exists() and number.read_text() != "")
        worker = int(number.read_text())
        process.kill()
        process.wait()
        (title,) = study_status(folder).at_work
        assert title.startswith("waits file=")
        until = time.monotonic() + 10
        while _lives(worker):
            assert time.monotonic() < until
            time.sleep(0.05)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    # One that has ended and that nobody has asked for is no more than a number.
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def call(file: Path, folder: Path) -> Result:
    words = ["study", "run", str(file), "--output", str(folder), "--jobs", "1"]
    return CliRunner().invoke(app, words, env=PLAIN)


def test_a_full_disk_ends_with_a_message(
    file: Path, config: StudyConfig, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    import resource

    folder = tmp_path / "out"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may be larger.
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(expected["results.parquet"]) - 1, limits[1]))
    try:
        result = call(file, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert f"Error: [Errno {errno.EFBIG}] " in last
    assert last.endswith(
        f" in {folder}: what is done is saved; make room, and run the same study again"
    )
    assert not list(folder.rglob(".fastad-*"))
    assert not (folder / "results.parquet").exists()
    run_study(config, folder)
    assert contents(folder) == expected


def test_a_second_runner_is_refused_and_the_first_goes_on(
    file: Path, config: StudyConfig, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    folder = tmp_path / "out"
    seen: list[Result] = []

    def progress(estimate: Progress) -> None:
        if estimate.done == 2:
            seen.append(call(file, folder))

    run_study(config, folder, progress=progress)
    (result,) = seen
    assert result.exit_code == 1
    assert f"folder must not be in use; process {os.getpid()} on " in result.stderr
    assert contents(folder) == expected


def test_two_that_start_at_once_leave_one_whole_study(
    file: Path, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    folder = tmp_path / "out"
    processes = [start(file, folder, "--jobs", "1") for _ in range(2)]
    codes = [(process.communicate(timeout=60)[1], process.returncode) for process in processes]
    assert sorted(code for _, code in codes) in ([0, 1], [0, 0])
    for errors, code in codes:
        assert code == 0 or "folder must not be in use" in errors
    assert contents(folder) == expected

"""``fastad study``: what it runs, prints and writes, and how it ends."""

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from PIL import Image
from typer.testing import Result

from fastad.cli import _study as command
from fastad.study import runner
from fastad.study.config import StudyConfig, read_config
from fastad.study.results import StudyTables, read_study
from fastad.study.runner import Progress, run_study
from tests.support.command_line import invoke
from tests.support.small_studies import N_BATCHES, N_GOIX, N_TASKS, TOML, contents, write_config

pytestmark = pytest.mark.slow

FAILING = """
[[detectors]]
name = "fails"
estimator = "tests.support.study_runs.RaisesInFit"
"""


def call(*words: object, **env: str) -> Result:
    return invoke("study", *words, **env)


def error_of(result: Result) -> str:
    assert result.exit_code in (1, 2), (result.stdout, result.exception)
    assert isinstance(result.exception, SystemExit)
    last: str = result.stderr.splitlines()[-1]
    return last


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_config(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module", autouse=True)
def untried() -> Iterator[None]:
    """Leave out the trial of the detectors, which takes seconds and has its own tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "try_detectors", lambda *arguments: None)
        yield


@pytest.fixture(scope="module")
def whole(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ä ö") / "neue Läufe"
    result = call("run", file, "--output", folder, "--jobs", 1)
    assert result.exit_code == 0, (result.stderr, result.exception)
    assert result.stdout == f"{folder / 'results.parquet'}\n"
    lines = result.stderr.splitlines()
    assert re.fullmatch(rf"0/{N_BATCHES} batches, about \d+ s left", lines[0])
    assert lines[-3:] == [
        f"{N_BATCHES}/{N_BATCHES} batches, about 0 s left",
        f"{N_TASKS + N_GOIX} tasks are done; 0 of them failed.",
        f"Tables and figures: fastad study report {folder}",
    ]
    return folder


def test_results_are_those_of_python_with_any_number_of_threads(
    file: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASTAD_NUM_THREADS", "3")
    run_study(read_config(file), tmp_path)
    assert contents(tmp_path) == contents(whole)


def test_a_study_that_is_done_is_not_run_again(file: Path, whole: Path) -> None:
    before = contents(whole)
    result = call("run", file, "--output", whole)
    assert result.exit_code == 0
    assert result.stderr.startswith(f"{N_BATCHES}/{N_BATCHES} batches, about 0 s left\n")
    assert contents(whole) == before


def test_status_of_a_whole_study(whole: Path) -> None:
    result = call("status", whole)
    assert result.exit_code == 0
    assert result.stdout == (
        f"{N_BATCHES} of {N_BATCHES} batches are done; no runner is at work.\n"
    )


def test_status_while_a_runner_is_at_work_and_of_failures(tmp_path: Path) -> None:
    text = "goix = false\n" + TOML.split("[goix]")[0] + FAILING
    file, folder = write_config(tmp_path, text), tmp_path / "out"
    seen: list[str] = []

    def progress(found: Progress) -> None:
        seen.append(call("status", folder).stdout)

    run_study(read_config(file), folder, progress=progress)
    total = 3 * 2 * 2
    assert len(seen) == total + 1
    for n, line in enumerate(seen):
        assert line.startswith(f"{n} of {total} batches are done; a runner is at work (process ")
    result = call("status", folder)
    assert "no runner is at work." in result.stdout
    assert re.search(rf"RuntimeError: singular matrix +{total}\n", result.stdout)
    again = call("run", file, "--output", folder, "--jobs", 1)
    assert error_of(again) == "Error: every task of 'fails' failed; all results are saved"
    assert f"{total} tasks are done; {total} of them failed." in again.stderr


@pytest.mark.evidence
def test_report(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pictures take seconds to save, and have their own tests.
    dot = BytesIO()
    Image.new("RGB", (1, 1)).save(dot, "PNG")
    monkeypatch.setattr(Figure, "savefig", lambda _, path, **__: path.write_bytes(dot.getvalue()))
    result = call("report", whole, "--output", tmp_path / "bericht", "--n-resamples", 20)
    assert result.exit_code == 0, (result.stderr, result.exception)
    page = Path(result.stdout.strip())
    assert page.parent == tmp_path / "bericht"
    text = page.read_text(encoding="utf-8")
    assert "Täglich" in text
    assert "1 of 3 classes left out with fewer than 2 anomalies: r (1)" in text
    assert list((tmp_path / "bericht" / "tables").iterdir())
    assert list((tmp_path / "bericht" / "figures").iterdir())


# What it runs by default.


Called = dict[str, Any]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, whole: Path, tmp_path: Path) -> Called:
    """What `run_study` was given."""
    seen: Called = {}

    def run(config: StudyConfig, folder: Path, **options: Any) -> StudyTables:
        seen.update(config=config, folder=folder, **options)
        return read_study(whole)

    monkeypatch.setattr(runner, "run_study", run)
    monkeypatch.chdir(tmp_path)
    return seen


def test_by_default_the_bundled_data_are_studied_quickly(called: Called) -> None:
    assert call("run").exit_code == 0
    config = called["config"]
    assert config.data.bundled
    assert not config.data.paths
    assert (config.protocol.repeats, config.volumes.n_draws) == (3, 20_000)
    assert len(config.detectors) == 42
    assert called["folder"] == Path("study-quick")
    assert called["n_jobs"] >= 1


@pytest.mark.parametrize(("profile", "repeats"), [("medium", 3), ("full", 10)])
def test_other_profiles(called: Called, profile: str, repeats: int) -> None:
    assert call("run", "--profile", profile).exit_code == 0
    assert called["config"].protocol.repeats == repeats
    assert called["config"].data.bundled
    assert called["folder"] == Path(f"study-{profile}")


def test_the_folder_is_named_as_the_file(called: Called, file: Path) -> None:
    assert call("run", file, "--jobs", -1).exit_code == 0
    assert called["folder"] == Path("täglich")
    assert called["n_jobs"] == -1


# How it ends.


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[protocol]\nrepeats = "3"', "täglich.toml: protocol.repeats must be an integer"),
        ("title = ", "täglich.toml: the file is not TOML"),
        (TOML.replace('"toy"', '"nowhere"'), "found no 'nowhere'"),
    ],
)
def test_errors_of_a_file_come_before_any_work(tmp_path: Path, text: str, says: str) -> None:
    data = "" if "[data]" in text else "\n[data]\nbundled = true\n"
    file = write_config(tmp_path, text + data)
    before = sorted(tmp_path.rglob("*"))
    result = call("run", file, "--output", tmp_path / "out")
    assert says in error_of(result)
    assert not result.stdout
    assert sorted(tmp_path.rglob("*")) == before


def test_errors_of_the_output(file: Path, whole: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        result = error_of(call("run", file, "--output", place))
        assert "folder must be one that can be written" in result
    other = write_config(tmp_path, TOML.replace("seed = 7", "seed = 8"))
    result = error_of(call("run", other, "--output", whole))
    assert result.endswith("contains another: seed is 8 here and 7 in the folder")
    assert "--jobs: must not be 0" in error_of(call("run", file, "--jobs", 0))
    new = tmp_path / "new"
    result = error_of(call("run", file, "--output", new, "--jobs", 1, FASTAD_NUM_THREADS="many"))
    assert result == "Error: FASTAD_NUM_THREADS must be an integer from 1; found 'many'"
    assert not new.exists()


def test_errors_of_the_command_line(tmp_path: Path, file: Path) -> None:
    assert "none.toml: the file cannot be read" in error_of(call("run", tmp_path / "none.toml"))
    assert "--profile: must be one of" in error_of(call("run", "--profile", "fast"))
    for name in ("status", "report"):
        assert "has no study.json" in error_of(call(name, tmp_path))
        assert "has no study.json" in error_of(call(name, tmp_path / "nowhere"))


def test_errors_of_fastad_are_not_called_wrong_data(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TypeError("unexpected")

    monkeypatch.setattr(runner, "run_study", fail)
    with pytest.raises(TypeError, match="unexpected"):
        call("run", file, "--output", tmp_path / "out")


# Words.


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (3599, "59 min")),
        *((3600, "1 h 00 min"), (90_061, "25 h 01 min")),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert command._duration(seconds) == text


def test_lines_come_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [1e6]
    monkeypatch.setattr("fastad.cli._study.time.monotonic", lambda: now[0])
    lines = command._Lines()
    for done in range(101):
        lines(Progress(done, 100, done // 50, 200.0 - done))
        now[0] += 1
    result = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in result] == [
        "0/100",
        "30/100",
        "60/100",
        "90/100",
        "100/100",
    ]
    assert result[0] == "0/100 batches, about 3 min left"
    assert result[-1] == "100/100 batches, 2 tasks failed, about 1 min left"


def test_data_of_the_command_line_replace_the_bundled_ones(called: Called, tmp_path: Path) -> None:
    file = write_config(tmp_path, "[data]\nbundled = true\n")
    folder = tmp_path / "own"
    folder.mkdir()
    for words in ((file,), ()):
        assert call("run", *words, "--data", folder).exit_code == 0
        assert not called["config"].data.bundled
        assert [Path(path) for path in called["config"].data.paths] == [folder]
    assert call("run", file).exit_code == 0
    assert called["config"].data.bundled

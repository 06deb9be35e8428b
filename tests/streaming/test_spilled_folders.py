"""What a process that is ended while it sorts scores on disk leaves in the folder."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import fastad
from fastad.streaming import evaluate
from fastad.streaming.large_files import exact
from fastad.streaming.large_files.spill import SpilledScores
from tests.support.processes import environment, files_below
from tests.support.score_files import save

DETECTORS = ["a", "b", "c", "d"]
RNG = np.random.default_rng(0)
N_ROWS = 100_000
Y = RNG.random(N_ROWS) < 0.3
SCORES = {name: RNG.normal(size=N_ROWS) + Y for name in DETECTORS}


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scores") / "scores.parquet"
    return save(path, {"y": Y, **SCORES}, 12_500)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "spilled"
    path.mkdir()
    return path


@contextmanager
def spilling(scores: Path, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Evaluate scores over and over in a process, until it has written to the folder."""
    code = (
        "import sys\nfrom fastad import streaming\n"
        "while True:\n"
        "    streaming.evaluate(sys.argv[1], measures='auc', memory='100kB', exact=True,\n"
        "                       folder=sys.argv[2])\n"
    )
    before = files_below(folder)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(scores), str(folder)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            start = time.monotonic()
            while not files_below(folder) - before:
                assert process.poll() is None, process.communicate()
                assert time.monotonic() - start < 90
                time.sleep(0.01)
            yield process
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]", number: int) -> None:
    process.send_signal(number)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == -number


@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_sigterm_leaves_nothing(scores: Path, folder: Path) -> None:
    with spilling(scores, folder) as process:
        # The test below ends one as soon as there are files.
        time.sleep(0.1)
        ended(process, signal.SIGTERM)
    assert os.listdir(folder) == []


@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals and locks of folders")
def test_what_sigkill_leaves_is_removed_by_the_next_and_what_is_in_use_is_not(
    scores: Path, folder: Path
) -> None:
    with spilling(scores, folder) as killed:
        ended(killed, signal.SIGKILL)
    left = list(folder.iterdir())
    assert len(left) == 1
    with spilling(scores, folder) as lives:
        assert not left[0].exists()
        # Stopped, so that its folder stays the same.
        lives.send_signal(signal.SIGSTOP)
        os.waitpid(lives.pid, os.WUNTRACED)
        in_use = sorted(folder.rglob("*"))
        options = {"measures": "auc", "memory": "100kB", "exact": True, "folder": folder}
        result = evaluate(scores, **options)  # type: ignore[arg-type]
        for name in DETECTORS:
            assert result[name]["auc"].value == fastad.roc_auc(Y, SCORES[name])
        assert sorted(folder.rglob("*")) == in_use != []
        lives.send_signal(signal.SIGCONT)
        ended(lives, signal.SIGTERM)
    assert os.listdir(folder) == []


def test_all_detectors_share_one_folder(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: each[:3000] for name, each in SCORES.items()}
    path = save(tmp_path / "few.parquet", {"y": Y[:3000], **few})
    pieces = SpilledScores.pieces
    seen: set[tuple[str, ...]] = set()

    def watched(self: SpilledScores) -> object:
        (shared,) = folder.iterdir()
        seen.add(tuple(sorted(each.name for each in shared.iterdir())))
        return pieces(self)

    monkeypatch.setattr(SpilledScores, "pieces", watched)
    evaluate(path, measures="auc", memory=4 * exact.FEWEST_BYTES, exact=True, folder=folder)
    assert seen == {("0", "1", "2", "3")}
    assert os.listdir(folder) == []


@pytest.mark.parametrize("change", ["removed", "cut", "longer"])
def test_scores_that_something_else_changes_are_an_error(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = save(tmp_path / "few.parquet", {"y": Y[:3000], "s": SCORES["a"][:3000]})
    pieces = SpilledScores.pieces

    def changed(self: SpilledScores) -> object:
        self._write()
        file = next(each for each in folder.rglob("*") if each.is_file())
        if change == "removed":
            file.unlink()
        else:
            size = file.stat().st_size
            os.truncate(file, size - 8 if change == "cut" else size + 8)
        return pieces(self)

    monkeypatch.setattr(SpilledScores, "pieces", changed)
    with pytest.raises(OSError, match=r"must contain the \d+ scores that were counted before"):
        evaluate(path, measures="auc", memory=exact.FEWEST_BYTES, exact=True, folder=folder)
    assert os.listdir(folder) == []

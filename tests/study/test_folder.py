import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fastad.errors import InvalidInputError, MissingExtraError
from fastad.study.files import file_lock, make_table
from fastad.study.manifest import Manifest, changes, conflicts
from fastad.study.results import read_study, study_status
from fastad.study.store import open_store
from tests.support.processes import environment
from tests.support.stored import (
    GOIX,
    LOG,
    TASKS,
    begin,
    check_tables,
    finish,
    keep,
    leftovers,
    plan,
    rows_of,
    singles,
)

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")
ROOT = Path(__file__).parents[2]


def start(call: str, *arguments: object) -> subprocess.Popen[str]:
    """Call a function of this file in a process of its own."""
    code = f"import sys; from tests.study.test_folder import {call} as f; f(*sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment(),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def hold(folder: str) -> None:
    with open_store(folder, plan()) as store:
        keep(store, "uci-a")
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        time.sleep(60)


@pytest.mark.system
@POSIX
def test_one_runner_at_a_time_and_a_killed_one_does_not_count(tmp_path: Path) -> None:
    with start("hold", tmp_path) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        who = f"process {other.pid} on "
        with pytest.raises(InvalidInputError, match=f"must not be in use; {who}.* is at work in"):
            begin(tmp_path)
        assert who in str(study_status(tmp_path).runner)
        check_tables(tmp_path, {"uci-a"})
        other.kill()
    assert study_status(tmp_path).runner is None
    with open_store(tmp_path, plan()) as store:
        assert store.done == {"uci-a"}
        with pytest.raises(InvalidInputError, match=f"process {os.getpid()} on "):
            begin(tmp_path)
        (tmp_path / "study.runner.json").write_text("{")
        with pytest.raises(InvalidInputError, match="another runner is at work"):
            begin(tmp_path)
    begin(tmp_path)


def work(folder: Path) -> None:
    """Everything that a store does."""
    with open_store(folder, plan()) as store:
        batches = [*TASKS, *GOIX]
        for batch in batches:
            if batch not in store.done:
                keep(store, batch)
        store.finish()


def stop_everywhere(name: str, number: str, *before: str) -> None:
    """Send a signal to processes that work in folders, before each of their steps.

    The folders are new, or copies of another.
    """
    # What is imported once need not be in each process; the first table imports pandas.
    make_table(rows_of("uci-a"))
    file_lock()
    for step in range(1, 10_000):
        folder = Path(name, str(step))
        for other in before:
            shutil.copytree(other, folder)
        child = os.fork()
        if not child:
            _stopped_at(step, folder, int(number))
        status = os.waitpid(child, 0)[1]
        if status == 0:
            return
        ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        assert ended == int(number)


def _stopped_at(step: int, folder: Path, number: int) -> None:
    left = step

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        # Whatever touches a file of the folder: open, os.rename, os.remove, os.mkdir ...
        if arguments and str(arguments[0]).startswith(str(folder)):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), number)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.addaudithook(count)
    try:
        work(folder)
    except KeyboardInterrupt:
        os._exit(signal.SIGINT)
    os._exit(0)


@pytest.mark.system
@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, getattr(signal, "SIGKILL", None)])
def test_a_run_may_be_stopped_at_any_instant(tmp_path: Path, number: signal.Signals) -> None:
    expected = finish(tmp_path / "expected")
    with start("stop_everywhere", tmp_path, int(number)) as process:
        pass
    assert process.returncode == 0
    folders = sorted(path for path in tmp_path.iterdir() if path.name.isdigit())
    assert len(folders) > 30
    seen = set()
    for folder in folders:
        if (folder / "study.json").exists():
            seen.add(frozenset(check_tables(folder)))
        assert finish(folder) == expected
        check_tables(folder, {*TASKS, *GOIX})
        assert not leftovers(folder)
    assert len(seen) == len([*TASKS, *GOIX]) + 1


@pytest.mark.system
@POSIX
def test_a_study_that_changes_may_be_stopped_at_any_instant(tmp_path: Path) -> None:
    old = ["gone", "uci-d", "uci-b"]
    with open_store(tmp_path / "old", plan(batches={"results": singles(old)})) as store:
        for batch in old:
            keep(store, batch)
        store.finish()
    expected = finish(tmp_path / "expected")
    with start("stop_everywhere", tmp_path / "new", int(signal.SIGKILL), tmp_path / "old") as other:
        pass
    assert other.returncode == 0
    seen = set()
    for folder in (tmp_path / "new").iterdir():
        if "goix" in read_study(folder).manifest["batches"]:
            seen.add(frozenset(check_tables(folder)))
        else:
            assert set(read_study(folder).tasks["dataset"].to_pylist()) == set(old)
        assert finish(folder) == expected
        check_tables(folder, {*TASKS, *GOIX})
        assert not leftovers(folder)
    # What is in both is there from the first instant on.
    assert all({"uci-b", "uci-d"} <= result for result in seen)
    assert len(seen) == len([*TASKS, *GOIX]) - 2 + 1


def endless(folder: str, n_batches: str) -> None:
    batches = [f"b{i}" for i in range(int(n_batches))]
    with open_store(folder, plan(batches={"results": singles(batches)})) as store:
        for i, batch in enumerate(x for x in batches if x not in store.done):
            if i == 1:
                sys.stdout.write("ready\n")
                sys.stdout.flush()
            store.save([batch], rows_of(batch))
            time.sleep(0.001)


@pytest.mark.system
@POSIX
def test_reading_while_a_runner_works_and_is_killed(tmp_path: Path) -> None:
    rng = random.Random(3)
    n_done = 0
    for _ in range(2):
        with start("endless", tmp_path, 3_000) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            end = time.monotonic() + 0.3 + rng.random() / 2
            while time.monotonic() < end:
                n_done = _check_growing(tmp_path, n_done)
            process.kill()
        n_done = _check_growing(tmp_path, n_done)
    assert n_done > 10


def _check_growing(folder: Path, least: int) -> int:
    """Check that the batches from the first on are there; return how many."""
    study = read_study(folder)
    assert study.n_done >= least
    wanted = [x for i in range(study.n_done) for x in rows_of(f"b{i}")["repeat"]]
    assert study.tasks.num_rows == len(wanted)
    if wanted:
        assert study.tasks["repeat"].to_pylist() == wanted
    return study.n_done


def fill_disk(folder: str) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_store(folder, plan()) as store:
        keep(store, "uci-b")
        keep(store, "uci-a")
        before = (Path(folder) / LOG).read_bytes()
        for room in (0, 100):
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, limits[1]))
            with pytest.raises(OSError, match="make room") as caught:
                keep(store, "uci-d")
            assert caught.value.errno == errno.EFBIG
            assert (Path(folder) / LOG).read_bytes() == before
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert store.done == {"uci-a", "uci-b"}
        keep(store, "uci-d")


@pytest.mark.system
@POSIX
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    expected = finish(tmp_path / "expected")
    with start("fill_disk", tmp_path / "full") as process:
        pass
    assert process.returncode == 0
    assert finish(tmp_path / "full") == expected


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (file, file / "below", file / "far" / "below"):
        with pytest.raises(
            InvalidInputError, match=r"folder must be one that can be written; .*file"
        ):
            begin(path)

    def refuse(**options: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(InvalidInputError, match="Read-only file system"):
        begin(tmp_path / "new")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    (tmp_path / "report").mkdir()
    with pytest.raises(InvalidInputError, match=r"no study.json and contains thesis.tex$"):
        begin(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["report", "thesis.tex"]
    (tmp_path / "thesis.tex").rename(tmp_path / ".hidden")
    begin(tmp_path)
    assert (tmp_path / ".hidden").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not whole JSON"),
        (plan().to_json()[:-20], "not whole JSON"),
        ("[1]", "schema_version is None, and"),
        (plan().to_json().replace('"schema_version": 4', '"schema_version": 3'), "is 3, and"),
        ('{"schema_version": 4, "config": {}}', "missing .*'problems', 'batches'"),
        (json.dumps(plan().to_dict() | {"batches": "abc"}), "batches must be a dict; found str"),
    ],
)
def test_a_damaged_manifest_is_said(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "study.json").write_text(text, encoding="utf-8")
    calls: list[Callable[[], object]] = [
        lambda: begin(tmp_path),
        lambda: read_study(tmp_path),
        lambda: study_status(tmp_path),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError, match=f"study.json cannot be read: .*{says}"):
            call()
    assert (tmp_path / "study.json").read_text(encoding="utf-8") == text


def test_other_versions_are_noted_and_kept(tmp_path: Path) -> None:
    newer = {"fastad": "1", "numpy": "3", "scipy": "1"}
    for _ in range(2):
        begin(tmp_path)
        with open_store(tmp_path, plan(versions=newer, created="later")) as store:
            assert store.notes == ["numpy is 3 here and was 2 when the study began"]
        manifest = read_study(tmp_path).manifest
        assert manifest["versions"] == {**plan().versions, "scipy": "1"}
        assert manifest["later_versions"] == [newer]
        assert manifest["created"] == plan().created


@pytest.mark.parametrize("library", ["pyarrow", "filelock"])
def test_libraries_of_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"needs {library}: pip .*'\.\[study\]'"):
        begin(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_manifest_comes_back_as_it_was() -> None:
    manifest = plan(later_versions=[{"fastad": "2"}])
    back = Manifest.from_json(manifest.to_json())
    assert back.to_dict() == manifest.to_dict()
    assert conflicts(manifest, back) == changes(manifest, back) == []


def test_a_setting_that_adds_tasks_changes_none_and_a_number_of_the_protocol_does() -> None:
    def study(settings: list[str], n: int) -> Manifest:
        tasks = [[f"{setting} {n}"] for setting in settings]
        goix = {"settings": settings, "protocol": {"n_uniform": n}}
        return plan(config={"goix": goix}, batches={"goix": tasks})

    one, both = study(["novelty"], 9), study(["novelty", "unsupervised"], 9)
    assert changes(both, one) == changes(one, both) == []
    (change,) = changes(study(["novelty"], 8), one)
    assert change == "goix.protocol.n_uniform is 8 here and 9 in the folder"


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"config": {"a": object()}}, TypeError, "object is not JSON serializable"),
        ({"config": {"a": float("inf")}}, ValueError, "not JSON compliant"),
        ({"config": [1]}, TypeError, "config must be a dict; found list"),
    ],
)
def test_manifests_that_cannot_be(
    changed: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        plan(**changed)

"""Detectors that end their process, and worker processes that end with their runner."""

import os
import struct
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config

from fastad.errors import InvalidInputError
from fastad.study.execution import _Pool, _Worker, run_alone
from fastad.study.papers.goix_plan import GoixBatch
from fastad.study.plan import plan_batches
from fastad.study.problems import find_problems
from fastad.study.results import study_status
from fastad.study.runner import Progress, run_study
from tests.support.small_studies import Ends, Matrix, Plain, SlowAtFirst, SlowToLoad, Waits, few
from tests.support.study_runs import GOOD, Centre

PLAIN: dict[str, Any] = {"name": "plain", "estimator": Plain, "higher_is": "anomalous"}
HOWS = {
    "exit code": "ended its process: exit code 3",
    "SIGSEGV": "ended its process: signal 11",
    "KeyboardInterrupt": "raised KeyboardInterrupt:",
    "endless": "took longer than 4 s",
}


@pytest.mark.system
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
def test_a_detector_that_ends_its_process_fails_alone(tmp_path: Path) -> None:
    detectors = [{**PLAIN, "name": "ends", "estimator": Ends, "how": [*HOWS]}, PLAIN]
    config = few(tmp_path, detectors, data={"paths": ["toy/plain.csv"]})
    study = run_study(config, tmp_path / "out", n_jobs=2, timeout=4)
    rows = {row["params"]: row for row in study.tasks.to_pylist()}
    for how, reason in HOWS.items():
        row = rows[f"how={how}"]
        assert row["reason"].startswith(reason), (how, row["reason"])
        assert (row["n_train"], row["n_test"]) == (48, 24)
    assert rows[""]["reason"] == ""
    alone = run_study(few(tmp_path, [PLAIN], data={"paths": ["toy/plain.csv"]}), tmp_path / "plain")
    assert rows[""]["auc"] == alone.tasks["auc"].to_pylist()[0]


@pytest.mark.skipif(os.name != "posix", reason="writes to the pipe itself")
def test_a_process_may_end_in_the_middle_of_a_message() -> None:
    ours, theirs = Pipe()
    life, _ = Pipe(duplex=False)
    ended = SimpleNamespace(exitcode=-9, join=lambda *_: None, is_alive=lambda: False)
    worker = _Worker(ended, ours, life, ready=True)
    pool = _Pool(1)
    pool._workers.append(worker)
    os.write(theirs.fileno(), struct.pack("!i", 100) + b"half")
    theirs.close()
    assert str(pool._receive(worker)).startswith("ended its process: signal 9")


@pytest.mark.system
def test_what_comes_before_a_task_does_not_count(tmp_path: Path) -> None:
    detectors = [{**PLAIN, "estimator": SlowToLoad()}]
    config = few(tmp_path, detectors, data={"paths": ["toy/plain.csv"]})
    study = run_study(config, tmp_path / "out", n_jobs=1, timeout=2)
    assert study.tasks["reason"].to_pylist() == [""]


@pytest.mark.system
def test_the_first_use_of_a_library_does_not_count(tmp_path: Path) -> None:
    detectors = [{**PLAIN, "estimator": SlowAtFirst}, {"kind": "knn", "k": 1}]
    config = few(tmp_path, detectors, data={"paths": ["toy/plain.csv"]})
    study = run_study(config, tmp_path / "out", n_jobs=1, timeout=2)
    assert study.tasks["reason"].to_pylist() == ["", ""]


@pytest.mark.slow
def test_a_batch_begins_when_all_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    detectors = [{**PLAIN, "estimator": SlowAtFirst}]
    config = few(tmp_path, detectors, data={"paths": ["toy/plain.csv"]}, goix={"n_uniform": 100})
    problems = find_problems(config.data, folder=config.folder, seed=config.seed).problems
    tasks, *goix = plan_batches(config, problems)
    monkeypatch.setattr("fastad.study.tasks._RAN", set())
    monkeypatch.setattr(SlowAtFirst, "is_loaded", False)
    began: list[bool] = []
    result = run_alone(tasks, lambda: began.append(SlowAtFirst.is_loaded))
    assert began == [True]
    assert max(result.rows["fit_time_s"]) < 1
    for batch in goix:
        batch.warm_up()


class Random(Centre):
    """Draws from the generator of the process."""

    def fit(self, X: Matrix, y: Any = None) -> "Random":
        super().fit(X)
        self.noise = np.random.normal()  # noqa: NPY002
        return self

    def score_samples(self, X: Matrix) -> Any:
        return super().score_samples(X) * np.sign(self.noise) + self.noise * X[:, 0]


def test_a_warm_up_draws_nothing_from_what_tasks_draw_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first study in a process had other numbers than the same one after it."""
    monkeypatch.setattr("fastad.study.tasks._RAN", set())
    detectors = [{"name": "random", "estimator": Random}]
    values = []
    for name in ("first", "second"):
        np.random.seed(0)  # noqa: NPY002
        study = run_study(few(tmp_path, detectors), tmp_path / name)
        values.append(study.tasks["auc"].to_pylist())
    assert values[0] == values[1]


def test_what_is_no_error_of_python_is_a_failure_too(tmp_path: Path) -> None:
    hows = {"SystemExit": "SystemExit: 2", "MemoryError": "MemoryError: unable to allocate"}
    config = few(tmp_path, [{**PLAIN, "name": "ends", "estimator": Ends, "how": [*hows]}, PLAIN])
    tasks = run_study(config, tmp_path / "out").tasks.to_pylist()
    for how, reason in hows.items():
        assert {row["reason"] for row in tasks if row["params"] == f"how={how}"} == {reason}
    assert {row["reason"] for row in tasks if row["detector"] == "plain"} == {""}


def test_failed_tasks_run_again_on_request(tmp_path: Path) -> None:
    go = tmp_path / "go"
    waits = {**PLAIN, "name": "waits", "estimator": Waits}
    detectors = [{**waits, "file": str(go), "patience_s": 0.0}, GOOD, {"kind": "knn", "k": 60}]
    config = few(tmp_path, detectors)
    study = run_study(config, tmp_path / "out")
    failed = study_status(tmp_path / "out")
    assert sum(failed.failures.values()) == 3
    assert sum(failed.not_applicable.values()) == 3
    assert study.failed_detectors() == [f"waits file={go}, patience_s=0.0"]
    go.touch()
    assert run_study(config, tmp_path / "out").failed_detectors()
    seen: list[Progress] = []
    again = run_study(config, tmp_path / "out", retry_failed=True, progress=seen.append)
    assert (seen[0].done, seen[-1].done) == (6, 9)
    assert not again.failed_detectors()
    assert not study_status(tmp_path / "out").failures
    assert again.tasks.num_rows == study.tasks.num_rows


def test_what_is_at_work_is_named(tmp_path: Path) -> None:
    seen: list[dict[str, str]] = []

    def progress(state: Progress) -> None:
        seen.append(dict(study_status(tmp_path / "out").at_work))

    config = few(tmp_path, [GOOD], data={"paths": ["toy/plain.csv"]})
    run_study(config, tmp_path / "out", progress=progress)
    # At the start nothing; when the batch is done, its note is still there.
    assert [list(work) for work in seen] == [[], ["good on toy/plain, contamination 0, repeat 1"]]
    assert not study_status(tmp_path / "out").at_work


def test_a_data_set_in_goix_s_protocol_has_a_limit(tmp_path: Path) -> None:
    protocol = {"n_subspaces": 4, "max_direct": 2, "n_features": 2}
    config = few(tmp_path, [GOOD], goix=protocol)
    problems = find_problems(config.data, folder=config.folder, seed=config.seed).problems
    limits = {
        (batch.problem.n_features, batch.time_limit(10.0))
        for batch in plan_batches(config, problems)
        if isinstance(batch, GoixBatch)
    }
    # Three detectors, once on all features and in as many draws of features as there are.
    assert limits == {(2, 30.0), (3, 150.0)}


@pytest.mark.system
def test_what_takes_too_long_in_goix_s_protocol_fails_with_that_reason(tmp_path: Path) -> None:
    slow: dict[str, Any] = {
        "n_subspaces": 100,
        "max_direct": 1,
        "n_features": 2,
        "n_uniform": 10**7,
    }
    slow["settings"] = ["novelty"]
    config = few(tmp_path, [{"kind": "knn", "k": 1}], data={"paths": ["toy/plain.csv"]}, goix=slow)
    study = run_study(config, tmp_path / "out", n_jobs=1, timeout=0.001)
    reasons = study.extra["goix"]["reason"].to_pylist()
    assert len(reasons) == 3
    assert {reason.partition("longer")[0] for reason in reasons} == {"took "}


def test_timeout_is_refused_where_processes_cannot_be_ended(tmp_path: Path) -> None:
    config = few(tmp_path, [GOOD])
    for n_jobs in (None, 2):
        with (
            parallel_config(backend="threading", n_jobs=2),
            pytest.raises(InvalidInputError, match=r"cannot be ended one by one; found Threading"),
        ):
            run_study(config, tmp_path / "out", timeout=5, n_jobs=n_jobs)
    assert not (tmp_path / "out").exists()


def test_timeout_needs_processes(tmp_path: Path) -> None:
    config = few(tmp_path, [GOOD])
    with pytest.raises(InvalidInputError, match="n_jobs must be given with timeout"):
        run_study(config, tmp_path / "out", timeout=5)
    options: dict[str, Any]
    for options in ({"timeout": 0}, {"timeout": -1.0}):
        with pytest.raises(InvalidInputError, match="timeout must lie above 0"):
            run_study(config, tmp_path / "out", n_jobs=1, **options)
    assert not (tmp_path / "out").exists()

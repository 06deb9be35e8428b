"""``run_study`` from end to end: its numbers, its order, and what is refused."""

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from fastad._core.random import string_seed
from fastad.errors import InvalidInputError, MissingExtraError
from fastad.regions.box import Box
from fastad.regions.uniform import Draws
from fastad.study import runner
from fastad.study.config import StudyConfig, read_config
from fastad.study.extensions import BatchResult
from fastad.study.papers import GoixPlan, goix_cell
from fastad.study.papers.goix_plan import GoixBatch
from fastad.study.plan import plan_batches
from fastad.study.problems import find_problems
from fastad.study.report.overview import made_section
from fastad.study.report.study_results import StudyResults
from fastad.study.results import StudyTables, read_study, study_status
from fastad.study.runner import Progress, run_study
from fastad.study.split import split_problem
from fastad.study.tasks import detector_seed
from tests.support.small_studies import (
    N_BATCHES,
    N_TASKS,
    TOML,
    Matrix,
    Waits,
    contents,
    few,
    problem_of,
    save_data,
    toy_data,
    write_config,
)
from tests.support.study_runs import GOOD
from tests.support.study_sections import table

Score = Callable[[Matrix], Matrix]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> StudyConfig:
    return read_config(write_config(tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def expected(config: StudyConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("expected")
    run_study(config, folder)
    return folder


@pytest.fixture(scope="module")
def study(expected: Path) -> StudyTables:
    return read_study(expected)


# Numbers.


def kappa(X_train: Matrix, k: int) -> Score:
    def score(X: Matrix) -> Matrix:
        return np.array([sorted(math.dist(x, own) for own in X_train)[k - 1] for x in X])

    return score


def delta(X_train: Matrix, k: int) -> Score:
    def score(X: Matrix) -> Matrix:
        result = []
        for x in X:
            nearest = sorted(X_train, key=lambda own: math.dist(x, own))[:k]
            result.append(np.linalg.norm(np.mean(nearest, axis=0) - x))
        return np.array(result)

    return score


def fitted(key: str, X_train: Matrix, seed: int) -> Score:
    """The score of a configuration, by scikit-learn or in plain words."""
    simple = {
        "kNN k=1, score=kappa": kappa(X_train, 1),
        "kNN k=5, score=kappa": kappa(X_train, 5),
        # The vector to the one nearest point is as long as the distance.
        "kNN k=1, score=delta": kappa(X_train, 1),
        "kNN k=5, score=delta": delta(X_train, 5),
    }
    if key in simple:
        return simple[key]
    estimator = {
        "LOF n_neighbors=5": LocalOutlierFactor(n_neighbors=5, novelty=True),
        "IForest n_estimators=10": IsolationForest(n_estimators=10, random_state=seed),
        "OCSVM gamma=0.1, nu=0.5": OneClassSVM(gamma=0.1, nu=0.5),
        "OCSVM gamma=1.0, nu=0.5": OneClassSVM(gamma=1.0, nu=0.5),
    }[key].fit(X_train)
    return lambda X: -estimator.score_samples(X)


def threshold_at(y: Any, scores: Matrix, rate: float) -> float:
    """Between the thresholds of the last point of the curve up to a rate and the next."""
    rates, _, thresholds = roc_curve(y, scores, drop_intermediate=False)
    left = int(np.flatnonzero(rates <= rate)[-1])
    if not np.isfinite(thresholds[left]):
        return math.inf
    fraction = (rate - rates[left]) / (rates[left + 1] - rates[left])
    return float(thresholds[left] + fraction * (thresholds[left + 1] - thresholds[left]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "contamination", "repeat"), [("toy/plain", 0.05, 2), ("toy/classes (q)", 0.0, 1)]
)
def test_rows_are_what_plain_code_finds(
    config: StudyConfig, study: StudyTables, name: str, contamination: float, repeat: int
) -> None:
    problem = problem_of(config, name)
    X, y = problem.load()
    key = (config.seed, string_seed(problem.name), repeat)
    split = split_problem(
        *(X, y),
        contamination=contamination,
        repeat=repeat,
        seed_key=key[:2],
        protocol=config.protocol,
    )
    box = Box.from_data(np.concatenate([split.X_train, split.X_test]))
    draws = Draws(box, np.random.SeedSequence([*key, 2]).generate_state(1, np.uint64)[0])
    uniform = draws.points(0, 300).T.copy()
    assert (uniform >= box.low).all()
    assert (uniform <= box.high).all()
    rows = [
        row
        for row in study.tasks.to_pylist()
        if (row["dataset"], row["anomaly_class"]) == (problem.dataset, problem.anomaly_class)
        and (row["contamination"], row["repeat"]) == (contamination, repeat)
    ]
    assert len(rows) == len(config.detectors)
    for one, row in zip(config.detectors, rows, strict=True):
        assert (row["detector"], row["params"]) == (one.detector, one.params)
        score = fitted(one.key, split.X_train, detector_seed(key, one, contamination))
        tested, drawn = score(split.X_test), score(uniform)
        assert row["n_train"] == len(split.X_train) == 48 + row["n_train_anomalies"]
        assert row["n_train_anomalies"] == int(48 * contamination)
        assert row["n_test"] == len(split.y_test) == 12 + row["n_test_anomalies"]
        assert row["auc"] == pytest.approx(roc_auc_score(split.y_test, tested), rel=1e-9)
        assert row["ap"] == pytest.approx(average_precision_score(split.y_test, tested), rel=1e-9)
        for rate in config.volumes.fpr:
            outside = np.mean(drawn >= threshold_at(split.y_test, tested, rate))
            assert row[f"cvol@{rate:g}"] == pytest.approx(outside, abs=1e-12)
        rates, hits, _ = roc_curve(split.y_test, tested, drop_intermediate=False)
        assert row["tpr@0.1"] == pytest.approx(np.interp(0.1, rates, hits), rel=1e-9)
        assert 0 <= row["mv"] <= 0.1
        assert row["reason"] == ""


@pytest.mark.slow
def test_tables_hold_every_task_once_and_in_order(config: StudyConfig, study: StudyTables) -> None:
    rows = study.tasks.to_pylist()
    result = [(r["dataset"], r["anomaly_class"], r["contamination"], r["repeat"]) for r in rows]
    problems = [("classes", "p"), ("classes", "q"), ("plain", None)]
    groups = [("kNN", "LOF"), ("IForest",), ("OCSVM",)]
    assert result == [
        (*problem, contamination, repeat)
        for problem in problems
        for contamination in (0.0, 0.05)
        for repeat in (1, 2)
        for group in groups
        for one in config.detectors
        if one.detector in group
    ]
    assert len(rows) == N_TASKS
    assert (study.n_done, study.n_batches) == (N_BATCHES, N_BATCHES)
    curves = study.curves.to_pylist()
    assert [(r["dataset"], r["anomaly_class"]) for r in curves] == [
        problem for problem in (problems[0], problems[2]) for _ in config.detectors
    ]
    assert {(r["contamination"], r["repeat"]) for r in curves} == {(0.0, 1)}
    assert not any(name.endswith("_s") for name in study.tasks.column_names)


@pytest.mark.slow
def test_goix_rows_are_those_of_its_protocol(config: StudyConfig, study: StudyTables) -> None:
    # Each data set once in each setting, with the anomalies of all its classes.
    rows = study.extra["goix"].to_pylist()
    assert [(r["dataset"], r["setting"]) for r in rows] == [
        (name, setting)
        for name in ("toy/classes", "toy/plain")
        for setting in ("novelty", "unsupervised")
        for _ in range(3)
    ]
    plan = config.extra["goix"]
    assert isinstance(plan, GoixPlan)
    with np.load(config.folder / "toy" / "classes.npz") as file:
        wanted = goix_cell(
            *(file["X"], file["y"]),
            dataset="toy/classes",
            setting="unsupervised",
            protocol=plan.protocol,
            rng=7,
        )
    for row, own in zip(rows[3:6], wanted, strict=True):
        assert repr({key: row[key] for key in own.to_dict()}) == repr(own.to_dict())


@pytest.mark.slow
def test_what_was_left_out_is_in_the_manifest(expected: Path) -> None:
    assert read_study(expected).manifest["notes"] == [
        "toy/classes: 1 of 3 classes left out with fewer than 2 anomalies: r (1)"
    ]


def test_what_was_left_out_is_in_the_report(study: StudyTables) -> None:
    notes = study.manifest["notes"]
    result = made_section(StudyResults(study, 0, 10))
    assert table(result, "left-out").rows == [(note,) for note in notes]
    nothing = replace(study, manifest={**study.manifest, "notes": []})
    result = made_section(StudyResults(nothing, 0, 10))
    assert "left-out" not in {part.name for part in result.parts}
    assert "Nothing was left out of the data." in result.paragraphs


def test_times_have_a_file_of_their_own(expected: Path, study: StudyTables) -> None:
    import pyarrow.parquet as pq

    times = pq.read_table(expected / "times.parquet")
    keys = study.tasks.column_names[:7]
    assert times.column_names == [*keys, "fit_time_s", "score_time_s"]
    assert times.select(keys).equals(study.tasks.select(keys))
    assert all(one > 0 for name in times.column_names[-2:] for one in times[name].to_pylist())


# The same table in any way.


def check_progress(seen: list[Progress]) -> None:
    # Where a batch takes long, what is done is told again.
    assert [*dict.fromkeys(one.done for one in seen)] == list(range(N_BATCHES + 1))
    assert {(one.total, one.n_failed) for one in seen} == {(N_BATCHES, 0)}
    assert all(0 < one.seconds_left < 60 for one in seen[:-1])
    assert seen[-1].seconds_left < 1e-6


@pytest.fixture
def no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the trial of the detectors, which takes seconds and has its own tests."""
    monkeypatch.setattr(runner, "try_detectors", lambda *arguments: None)


@pytest.mark.system
@pytest.mark.usefixtures("no_trial")
def test_results_are_the_same_bytes_on_processes(
    config: StudyConfig, expected: Path, tmp_path: Path
) -> None:
    seen: list[Progress] = []

    def progress(result: Progress) -> None:
        # Whatever is told to be done can be read already.
        assert study_status(tmp_path).n_done == result.done
        seen.append(result)

    run_study(config, tmp_path, n_jobs=2, progress=progress)
    assert contents(tmp_path) == contents(expected)
    check_progress(seen)


@pytest.mark.slow
def test_results_are_the_same_bytes_on_threads(
    config: StudyConfig, expected: Path, tmp_path: Path
) -> None:
    from joblib import parallel_config

    with parallel_config(backend="threading", n_jobs=3):
        run_study(config, tmp_path)
    assert contents(tmp_path) == contents(expected)


@pytest.mark.system
@pytest.mark.usefixtures("no_trial")
@pytest.mark.filterwarnings("ignore")
def test_results_are_the_same_bytes_on_a_cluster_and_saved_as_they_come(
    config: StudyConfig, expected: Path, tmp_path: Path
) -> None:
    from dask.distributed import Client, LocalCluster
    from joblib import parallel_config

    file = tmp_path / "go on"
    # Its batches come first, and can only be done when all others were saved.
    slow = few(
        tmp_path,
        [
            {"name": "waits", "estimator": Waits, "file": str(file), "higher_is": "anomalous"},
            {"kind": "knn", "k": 1},
        ],
        data={"paths": ["toy/plain.csv"]},
    )

    def progress(result: Progress) -> None:
        if study_status(tmp_path / "slow").n_done == result.total - 1:
            file.touch()

    # A process of two threads, as two processes would load all libraries twice.
    options: dict[str, Any] = {"dashboard_address": None, "threads_per_worker": 2}
    with (
        LocalCluster(n_workers=1, **options) as cluster,
        Client(cluster),
        parallel_config(backend="dask"),
    ):
        run_study(config, tmp_path / "dask")
        result = run_study(slow, tmp_path / "slow", progress=progress)
    assert contents(tmp_path / "dask") == contents(expected)
    assert result.tasks["reason"].to_pylist() == ["", ""]


def test_the_seed_decides(tmp_path: Path) -> None:
    detectors: list[dict[str, Any]] = [{"kind": "iforest", "n_estimators": 5}]
    tables: list[list[dict[str, Any]]] = []
    for seed in (0, 0, 10**25):
        result = run_study(few(tmp_path, detectors, seed=seed), tmp_path / str(len(tables)))
        tables.append(result.tasks.to_pylist())
    assert repr(tables[0]) == repr(tables[1])
    assert repr(tables[0]) != repr(tables[2])


def test_rows_do_not_depend_on_what_else_runs(study: StudyTables, tmp_path: Path) -> None:
    text = TOML.split("[goix]")[0] + '[[detectors]]\nkind = "iforest"\nn_estimators = [20, 10]\n'
    alone = text.replace('paths = ["toy"]', 'paths = ["toy/plain.csv"]').replace(
        "[0, 0.05]", "[0.05]"
    )
    result = run_study(read_config(write_config(tmp_path, alone)), tmp_path / "out").tasks
    wanted = [
        row
        for row in study.tasks.to_pylist()
        if (row["dataset"], row["contamination"], row["detector"]) == ("plain", 0.05, "IForest")
    ]
    own = [row for row in result.to_pylist() if row["params"] == "n_estimators=10"]
    assert repr(own) == repr(wanted)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, error: type[BaseException]) -> None:
    config = few(tmp_path, [{"kind": "knn", "k": 1}])

    def progress(result: Progress) -> None:
        if result.done == 2:
            raise error("enough")

    with pytest.raises(error, match="enough"):
        run_study(config, tmp_path / "out", progress=progress)
    assert study_status(tmp_path / "out").n_done == 2
    assert study_status(tmp_path / "out").runner is None
    partial = read_study(tmp_path / "out")
    whole = run_study(config, tmp_path / "out")
    assert whole.n_done == 3
    # What is there reads as it does in the end.
    assert partial.tasks.equals(whole.tasks.slice(0, 2))
    assert partial.curves.num_rows == 1


# What is refused before any work.


def test_what_cannot_be_used_is_named(tmp_path: Path) -> None:
    config = few(tmp_path, [GOOD])
    with pytest.raises(InvalidInputError, match="n_jobs must not be 0"):
        run_study(config, tmp_path / "out", n_jobs=0)
    X, y = toy_data(2)
    np.savez(tmp_path / "toy" / "odd.npz", X=X, y=0 * y)
    with pytest.raises(InvalidInputError, match=r"odd.npz: y must contain both 0 .* found only 0"):
        run_study(config, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_data_may_lie_elsewhere(expected: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    run_study(read_config(write_config(tmp_path / "new")), expected, progress=seen.append)
    assert [(one.done, one.total) for one in seen] == [(N_BATCHES, N_BATCHES)]


def test_data_that_change_while_it_runs_are_named(tmp_path: Path) -> None:
    config = few(tmp_path, [GOOD])

    def progress(result: Progress) -> None:
        if result.done == 1:
            save_data(tmp_path)
            X, y = toy_data(2)
            rows = "\n".join(f"{a},{b},{c}" for (a, b), c in zip(X.round(1), y, strict=True))
            (tmp_path / "toy" / "plain.csv").write_text(f"f0,f1,y\n{rows}\n", encoding="utf-8")

    with pytest.raises(InvalidInputError, match=r"plain.csv: .*they changed"):
        run_study(config, tmp_path / "out", progress=progress)
    assert study_status(tmp_path / "out").n_done == 2


def test_what_is_damaged_while_it_runs_is_done_again_in_the_same_run(tmp_path: Path) -> None:
    config = few(tmp_path, [GOOD])
    run_study(config, tmp_path / "expected")
    seen: list[int] = []

    def progress(result: Progress) -> None:
        seen.append(result.done)
        if len(seen) == 3:
            path = tmp_path / "out" / "done.log"
            path.write_bytes(b"x" + path.read_bytes()[1:])

    with pytest.warns(UserWarning, match=r"done.log is damaged: 1 .*to be done again") as caught:
        run_study(config, tmp_path / "out", progress=progress)
    assert [warning.filename for warning in caught] == [__file__]
    assert seen == [0, 1, 2, 3, 2, 3]
    wanted = (tmp_path / "expected" / "results.parquet").read_bytes()
    assert (tmp_path / "out" / "results.parquet").read_bytes() == wanted


def test_a_library_of_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = few(tmp_path, [GOOD])
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(MissingExtraError, match=r"needs joblib: pip .*'\.\[study\]'"):
        run_study(config, tmp_path / "out")


# Time left.


@pytest.mark.parametrize("speed", [0.25, 1.0, 3.0])
def test_time_left_comes_from_what_was_done(
    config: StudyConfig, monkeypatch: pytest.MonkeyPatch, speed: float
) -> None:
    problems = find_problems(config.data, folder=config.folder, seed=config.seed).problems
    # Long enough for the first guess not to count any more.
    many = StudyConfig(config.data, volumes=type(config.volumes)(n_draws=10**8))
    batches = plan_batches(many, problems)
    seconds = [batch.estimated_seconds() / speed for batch in batches]
    now, seen = [100.0], list[Progress]()
    monkeypatch.setattr(runner, "perf_counter", lambda: now[0])
    monitor = runner._Monitor(batches, batches, 1, seen.append, lambda work: None)
    assert seen[0].seconds_left == pytest.approx(sum(seconds) * speed)
    for batch, took in zip(batches, seconds, strict=True):
        now[0] += took
        monitor.tick(batch, BatchResult({"reason": ["failed"]}))
    half = len(seen) // 2
    assert seen[half].seconds_left == pytest.approx(sum(seconds[half:]), rel=0.15)
    assert (seen[-1].done, seen[-1].n_failed) == (len(batches), len(batches))
    assert seen[-1].seconds_left == pytest.approx(0, abs=1e-6 * sum(seconds))


def test_costs_grow_with_what_there_is_to_do(config: StudyConfig) -> None:
    problems = find_problems(config.data, folder=config.folder, seed=config.seed).problems
    more = replace(config, volumes=type(config.volumes)(n_draws=10**5))
    both = (plan_batches(one, problems) for one in (config, more))
    for batch, larger in zip(*both, strict=True):
        assert batch.estimated_seconds() > 0
        if not isinstance(batch, GoixBatch):
            assert larger.estimated_seconds() > batch.estimated_seconds()

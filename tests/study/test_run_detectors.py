"""Detectors in a study: those that fail, unusual ones, and those of other libraries."""

import math
import warnings
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

from fastad._core.random import string_seed
from fastad.errors import InvalidInputError
from fastad.study.configurations import read_detectors
from fastad.study.fitting import fit_batch
from fastad.study.results import StudyTables, study_status
from fastad.study.runner import Progress, run_study
from fastad.study.split import split_problem
from tests.support import study_runs
from tests.support.small_studies import Plain, few, problem_of, toy_data
from tests.support.study_runs import GOOD, Centre


def by_detector(study: StudyTables) -> dict[str, dict[str, Any]]:
    return {row["detector"]: row for row in study.tasks.to_pylist() if row["dataset"] == "plain"}


def test_a_detector_that_fails_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    kinds = ("RaisesInFit", "RaisesInScoring", "NotNumbers", "AllInfinite", "WrongShape")
    detectors = [{"name": kind, "estimator": f"tests.support.study_runs.{kind}"} for kind in kinds]
    large = {"kind": "knn", "k": [5, 60]}
    seen: list[Progress] = []
    config = few(tmp_path, [*detectors, large, {"kind": "lof", "n_neighbors": 48}, GOOD])
    study = run_study(config, tmp_path / "out", progress=seen.append)
    rows = by_detector(study)
    for kind, reason in {
        "RaisesInFit": "RuntimeError: singular matrix",
        "RaisesInScoring": "KeyError: 'no such thing'",
        "NotNumbers": "NaN in 1 of 24 scores of test rows",
        "AllInfinite": "equal scores of all 24 test rows: -inf",
        "WrongShape": "InvalidInputError: score_samples of WrongShape must return one score for "
        "each row; it returned 23 scores for 24 rows",
        "LOF": "not applicable: k=48 needs at least 49 training rows; found 48",
    }.items():
        row = rows[kind]
        assert row["reason"].startswith(reason)
        assert all(math.isnan(row[name]) for name in ("auc", "ap", "cvol@0.05", "em", "mv"))
        assert (row["undefined"], row["n_train"], row["n_test"]) == ("", 48, 24)
    assert rows["good"]["reason"] == ""
    assert rows["good"]["auc"] > 0.5
    neighbours = {
        row["params"]: row["reason"]
        for row in study.tasks.to_pylist()
        if row["detector"] == "kNN" and row["dataset"] == "plain"
    }
    assert neighbours == {
        "k=5, score=kappa": "",
        "k=60, score=kappa": "not applicable: k=60 needs at least 60 training rows; found 48",
    }
    n_failed = sum(study_status(tmp_path / "out").failures.values())
    assert seen[-1].n_failed == n_failed == 5 * 3
    assert sum(study_status(tmp_path / "out").not_applicable.values()) == 2 * 3
    assert study.failed_detectors() == list(kinds)
    failed = {one for one in study.curves["detector"].to_pylist()}
    assert failed == {"kNN", "good"}


def test_detectors_may_be_called_as_a_group_is(tmp_path: Path) -> None:
    shared: list[dict[str, Any]] = [{"kind": "knn", "k": 1}, {"kind": "ocsvm", "gamma": 0.5}]
    own: list[dict[str, Any]] = [
        {"name": name, "estimator": Centre} for name in ("neighbours", "ocsvm")
    ]
    for name, detectors in (("before", [*own, *shared]), ("after", [*shared, *own])):
        rows = by_detector(run_study(few(tmp_path, detectors), tmp_path / name))
        assert {row["reason"] for row in rows.values()} == {""}
        assert rows["neighbours"]["auc"] == rows["ocsvm"]["auc"] > 0.5


def test_machines_fail_one_by_one() -> None:
    machines = read_detectors([{"kind": "ocsvm", "gamma": [-1.0, 0.5], "nu": 0.5}])
    fitted = fit_batch(machines, toy_data(2)[0], [0, 0])
    assert "gamma" in fitted.reasons.pop(machines[0])
    assert not fitted.reasons
    ((_, members),) = fitted.scorers
    assert members == [machines[1]]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kind": "ocsvm", "nu": [0.5, 2]}, r"OCSVM nu=2 \(InvalidParameterError: .*'nu'.*Got 2"),
        ({"kind": "iforest", "n_estimators": -1}, r"IForest n_estimators=-1 \(.*n_estimators"),
        (
            {"name": "LOF", "estimator": "sklearn.neighbors.LocalOutlierFactor", "novelty": False},
            r"LOF novelty=False \(",
        ),
        ({"name": "own", "estimator": Plain}, "own .*higher_is must say whether"),
        (
            {"name": "own", "estimator": Centre, "higher_is": "anomalous"},
            "own .*higher_is must be 'normal' for Centre, which is of the kind outlier detector",
        ),
        (
            {"kind": "ocsvm", "higher_is": "anomalous"},
            r"OCSVM \(.*higher_is must be 'normal' for OneClassSVM",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_any_work(
    tmp_path: Path, wrong: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"detectors must be able to .* {says}"):
        run_study(few(tmp_path, [GOOD, wrong]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_needs_more_rows_than_the_trial_is_not_refused(tmp_path: Path) -> None:
    detectors = [{"name": "needs", "estimator": study_runs.NeedsRows}]
    rows = by_detector(run_study(few(tmp_path, detectors), tmp_path / "out"))
    assert rows["needs"]["reason"] == ""


def test_equal_scores_on_one_data_set_do_not_refuse_a_study(tmp_path: Path) -> None:
    # So narrow that no test row is near a training row.
    rows = by_detector(
        run_study(few(tmp_path, [{"kind": "ocsvm", "gamma": 1e9}]), tmp_path / "out")
    )
    assert rows["OCSVM"]["reason"] == "equal scores of all 24 test rows: -0"


def test_a_detector_of_ones_own_needs_only_to_fit_and_to_score(tmp_path: Path) -> None:
    (tmp_path / "beside_the_file.py").write_text(
        "from tests.support.small_studies import Plain\n\nclass Own(Plain):\n    pass\n"
    )
    detectors: list[dict[str, Any]] = [
        {"name": "good", "estimator": Centre, "power": 1.0},
        {"name": "text", "estimator": "beside_the_file.Own", "higher_is": "anomalous"},
        {"name": "class", "estimator": Plain, "higher_is": "anomalous"},
        {"name": "object", "estimator": Plain(-2.0), "higher_is": "normal"},
    ]
    rows = by_detector(run_study(few(tmp_path, detectors), tmp_path / "out"))
    assert {row["reason"] for row in rows.values()} == {""}
    assert len({(row["auc"], row["cvol@0.05"]) for row in rows.values()}) == 1
    reversed_ = [{"name": "good", "estimator": Plain, "higher_is": "normal"}]
    backwards = by_detector(run_study(few(tmp_path, reversed_), tmp_path / "backwards"))
    assert backwards["good"]["auc"] == pytest.approx(1 - rows["good"]["auc"], abs=1e-12)


def test_a_module_beside_the_file_must_not_be_hidden_by_another(tmp_path: Path) -> None:
    (tmp_path / "json.py").touch()
    with pytest.raises(InvalidInputError, match=r"estimator must name one module; found .*json"):
        few(tmp_path, [{"name": "own", "estimator": "json.JSONDecoder"}])


@pytest.mark.parametrize("raises", [False, True])
def test_uniform_points_without_scores_leave_the_other_measures(
    tmp_path: Path, *, raises: bool
) -> None:
    odd = {"name": "odd", "estimator": study_runs.FailsOnUniform, "raises": raises}
    rows = by_detector(run_study(few(tmp_path, [GOOD, odd]), tmp_path / "out"))
    assert rows["odd"]["reason"] == ""
    assert all(rows["odd"][name] == rows["good"][name] for name in ("auc", "ap"))
    volumes = ("cvol@0.01", "cvol@0.05", "em", "mv")
    assert all(math.isnan(rows["odd"][name]) for name in volumes)
    says = "RuntimeError: too far away" if raises else "NaN in 3 of 200 scores of uniform points"
    parts = rows["odd"]["undefined"].split("; ")
    assert [part.split(": ")[0] for part in parts] == list(volumes)
    assert all(says in part for part in parts)


def test_infinite_scores_are_scores(tmp_path: Path) -> None:
    detectors = [{"name": "infinite", "estimator": study_runs.Infinite}, GOOD]
    rows = by_detector(run_study(few(tmp_path, detectors), tmp_path / "out"))
    assert rows["infinite"]["reason"] == ""
    assert 0.5 < rows["infinite"]["auc"] <= 1
    assert 0 < rows["infinite"]["cvol@0.05"] <= 1


@pytest.mark.parametrize("kind", ["Warns", "Overwrites"])
def test_odd_detectors_do_no_harm(tmp_path: Path, kind: str) -> None:
    odd = {"name": "odd", "estimator": getattr(study_runs, kind)}
    wanted = by_detector(run_study(few(tmp_path, [GOOD]), tmp_path / "good"))["good"]
    for name, detectors in (("before", [odd, GOOD]), ("after", [GOOD, odd])):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rows = by_detector(run_study(few(tmp_path, detectors), tmp_path / name))
        assert rows["good"] == wanted
        assert {**rows["odd"], "detector": "good"} == wanted


@pytest.mark.slow
def test_an_estimator_of_python_is_copied_with_its_parameters(tmp_path: Path) -> None:
    own = Centre(power=0.5)
    detectors = [
        {"name": "given", "estimator": own},
        {"name": "changed", "estimator": own, "power": [1.0, 3.0]},
    ]
    study = run_study(few(tmp_path, detectors), tmp_path / "out")
    assert not hasattr(own, "centre_")
    assert set(study.tasks["params"].to_pylist()) == {"", "power=1.0", "power=3.0"}
    # Any power orders points in the same way.
    assert len({(r["dataset"], r["anomaly_class"], r["auc"]) for r in study.tasks.to_pylist()}) == 3
    # Another parameter of the object is another detector.
    seen: list[Progress] = []
    changed = few(tmp_path, [{"name": "given", "estimator": Centre(power=0.25)}, detectors[1]])
    run_study(changed, tmp_path / "out", progress=seen.append)
    assert (seen[0].done, seen[-1].done) == (6, 9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_detectors_of_pyod(tmp_path: Path) -> None:
    hbos = pytest.importorskip("pyod.models.hbos").HBOS
    mad = pytest.importorskip("pyod.models.mad").MAD
    detectors = [{"name": "HBOS", "estimator": "pyod.models.hbos.HBOS", "n_bins": 5}, GOOD]
    with pytest.raises(InvalidInputError, match=r"MAD .*MAD"):
        run_study(few(tmp_path, [{"name": "MAD", "estimator": mad}]), tmp_path / "mad")
    config = few(tmp_path, detectors)
    rows = by_detector(run_study(config, tmp_path / "out"))
    problem = problem_of(config, "toy/plain")
    X, y = problem.load()
    split = split_problem(
        *(X, y),
        contamination=0,
        repeat=1,
        seed_key=(0, string_seed(problem.name)),
        protocol=config.protocol,
    )
    scores = hbos(n_bins=5).fit(split.X_train).decision_function(split.X_test)
    assert rows["HBOS"]["auc"] == pytest.approx(roc_auc_score(split.y_test, scores), rel=1e-9)
    assert rows["good"]["reason"] == ""

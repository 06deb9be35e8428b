"""Columns of a study of measures that a user has made."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastad.errors import InvalidInputError
from fastad.measures import from_counts
from fastad.measures.registry import MEASURES
from fastad.study import StudyConfig, make_config, run_study
from fastad.study.config import keys_of
from fastad.study.digests import own_code
from fastad.study.plan import plan_batches
from fastad.study.problems import find_problems
from tests.support import custom

CONFIG: dict[str, Any] = {
    "data": {"bundled": True, "include": ["*/iris"]},
    "protocol": {"repeats": 2, "contaminations": [0]},
    "volumes": {"n_draws": 1000, "fpr": [0.05]},
    "detectors": [{"kind": "knn", "k": [1, 5]}],
}
TPR_AT_FPR = MEASURES["tpr_at_fpr"]
F1 = from_counts("own_f1", custom.f1, at="fpr", value_range=(0, 1), monotone=True)
COST = from_counts("expected_cost", custom.expected_cost, at="best", higher_is_better=False)


def config_with(*measures: Any) -> StudyConfig:
    return dataclasses.replace(make_config(CONFIG), measures=measures)


@pytest.mark.parametrize("n_jobs", [None, pytest.param(1, marks=pytest.mark.system)])
def test_declared_measures_are_columns(tmp_path: Path, n_jobs: int | None) -> None:
    config = config_with("auc", F1, COST, "f1@0.05")
    assert keys_of(config.measures) == ["auc", "own_f1@0.05", "expected_cost", "f1@0.05"]
    study = run_study(config, tmp_path / "study", n_jobs=n_jobs)
    columns = {name: study.tasks[name].to_pylist() for name in study.tasks.column_names}
    assert columns["own_f1@0.05"] == pytest.approx(columns["f1@0.05"], rel=1e-14)
    assert np.isfinite(columns["expected_cost"]).all()
    table = study.results()
    assert table.measure("own_f1@0.05").higher_is_better
    assert not table.measure("expected_cost").higher_is_better
    # What is done is found again, also by a copy of the configuration.
    again = run_study(dataclasses.replace(config, title="again"), tmp_path / "study")
    assert again.tasks.equals(study.tasks)


def test_other_code_of_a_measure_is_another_task(monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_with("auc", COST)
    code = [bound.measure.compute for bound in config.own_measures.values()]
    assert {*own_code(code)} == {"tests.support.custom"}

    def tasks() -> list[Any]:
        problems = find_problems(config.data, folder=config.folder, seed=0).problems
        return [task for batch in plan_batches(config, problems) for task in batch.tasks]

    before = tasks()
    assert tasks() == before
    monkeypatch.setattr(
        "fastad.study.config.own_code", lambda values: {"tests.support.custom": "changed"}
    )
    assert not set(tasks()) & set(before)


def test_measures_that_a_study_cannot_have() -> None:
    alerts = from_counts("alerts", custom.alerts_per_day, at="threshold", higher_is_better=None)
    with pytest.raises(InvalidInputError, match="found alerts@threshold5"):
        config_with(alerts.bind(threshold=5))
    with pytest.raises(InvalidInputError, match="keys of their own; found two for 'own_f1'"):
        config_with(
            from_counts("own_f1", custom.f1, at="best"), from_counts("own_f1", custom.f1, at="best")
        )
    with pytest.raises(InvalidInputError, match="threshold must be given for 'own_f1'"):
        config_with(from_counts("own_f1", custom.f1, at="threshold"))
    with pytest.raises(TypeError, match="measures"):
        config_with(3)


def weighted(tp: Any, fp: Any, n: Any, m: Any, *, beta: float) -> Any:
    return tp / n - beta * fp / m


def test_arguments_of_a_measure_are_settings_of_a_study() -> None:
    values: dict[str, Any] = {"data": {"bundled": True}, "detectors": [{"kind": "knn", "k": 1}]}
    plain = []
    for beta in (1.0, 5.0):
        measure = from_counts("weighted", partial(weighted, beta=beta), at="fpr")
        plain.append(make_config({**values, "measures": [measure.bind(fpr=0.1)]}).to_dict())
    assert plain[0]["own_measures"] != plain[1]["own_measures"]


def test_a_declaration_of_fastad_is_the_measure_of_its_key() -> None:
    declared = config_with(MEASURES["roc_auc"], TPR_AT_FPR.bind(fpr=0.05), "auc")
    assert declared.to_dict() == config_with("auc", "tpr@0.05").to_dict()


def test_options_of_a_measure_are_settings_of_a_study() -> None:
    options = "linear", "conservative"
    plain, other = (
        config_with(TPR_AT_FPR.bind(fpr=0.05, interpolation=each)).to_dict() for each in options
    )
    assert plain != other


def test_functions_within_functions_are_refused_as_their_variables_have_no_name() -> None:
    def made(beta: float) -> Any:
        return lambda tp, fp, n, m: tp / n - beta * fp / m

    measure = from_counts("made", made(2.0), at="fpr").bind(fpr=0.1)
    with pytest.raises(InvalidInputError, match="measures must be a value whose text is the same"):
        config_with(measure)


def test_columns_of_results_are_no_names_of_measures() -> None:
    measure = from_counts("contamination", partial(weighted, beta=1.0), at="best").bind()
    with pytest.raises(InvalidInputError, match="keys that are no columns of the results"):
        make_config(
            {
                "data": {"bundled": True},
                "detectors": [{"kind": "knn", "k": 1}],
                "measures": ["auc", measure],
            }
        )

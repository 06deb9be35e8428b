"""``fastad evaluate-unsupervised``: what it reads, trains and prints, and how it ends."""

import json
import shlex
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import Result

import fastad
from tests.support.command_line import (
    PAGE,
    assert_wrong_data,
    assert_wrong_usage,
    examples_of,
    invoke,
    json_of,
    stdout_of,
)
from tests.support.loops import loop

FEW = ("--n-draws", "3000", "--n-resamples", "60")
DRAWS = ("--n-features", "2", "--n-subspaces", "4")

_RNG = np.random.default_rng(5)
X = _RNG.normal(size=(240, 3)) * [1, 10, 100]
NAMES = ["a", "b", "c"]


def call(*arguments: object) -> Result:
    return invoke("evaluate-unsupervised", *arguments)


def run(*arguments: object) -> str:
    return stdout_of("evaluate-unsupervised", *arguments, *FEW)


def read(*arguments: object) -> Any:
    return json_of("evaluate-unsupervised", *arguments, *FEW)


def criteria(result: Any) -> Any:
    return {one["detector"]: (one["em"], one["mv"]) for one in result["detectors"]}


def expected(scores: Any, test: Any = X, **options: Any) -> Any:
    how = {"n_draws": 3000, "n_resamples": 60, "rng": 0}
    result = fastad.evaluate_unsupervised(scores, test, **{**how, **options})
    return json.loads(result.to_json())


def halves(seed: int = 0) -> tuple[Any, Any]:
    rows = np.random.default_rng(seed).permutation(240)
    return X[rows[:120]], X[rows[120:]]


def fitted(detector: Any, train: Any) -> Any:
    return fastad.compile_scorer(detector.fit(train))


def write(path: Path, rows: Any = X, names: Any = None, **more: Any) -> Path:
    pd.DataFrame(rows, columns=names or NAMES[: rows.shape[1]]).assign(**more).to_csv(
        path, index=False
    )
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "points.csv")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "forest.joblib"
    joblib.dump(IsolationForest(random_state=1, n_estimators=20).fit(X[:200]), path)
    return path


# Detectors.


def test_several_detectors_share_halves_points_and_replicates(table: Path) -> None:
    train, test = halves()
    result = read(table, "--detector", "knn", "--detector", "mahalanobis", "--detector", "lof")
    assert list(criteria(result)) == ["knn", "mahalanobis", "lof"]
    assert (result["n_train"], result["n_test"]) == (120, 120)
    scores = {"knn": NearestNeighbors(), "lof": LocalOutlierFactor(novelty=True)}
    wanted = criteria(expected({k: fitted(one, train) for k, one in scores.items()}, test))
    assert {name: criteria(result)[name] for name in wanted} == wanted


@pytest.mark.slow
def test_the_seed_is_that_of_halves_points_and_detectors(table: Path) -> None:
    one = read(table, "--detector", "iforest", "--seed", 3)
    assert one == read(table, "--detector", "iforest", "--seed", 3)
    train, test = halves(3)
    wanted = expected({"iforest": fitted(IsolationForest(random_state=3), train)}, test, rng=3)
    assert criteria(one) == criteria(wanted)
    assert criteria(one) != criteria(read(table, "--detector", "iforest", "--seed", 4))


def test_a_detector_is_trained_on_another_file_and_all_rows_are_evaluated(
    table: Path, tmp_path: Path
) -> None:
    train = _RNG.normal(size=(90, 3)) * [1, 10, 100]
    result = read(table, "--detector", "knn", "--train", write(tmp_path / "t.csv", train))
    wanted = expected({"knn": fitted(NearestNeighbors(), np.round(train, 17))})
    assert result["n_train"] == 90
    assert result["n_test"] == 240
    assert criteria(result)["knn"][1]["value"] == pytest.approx(
        criteria(wanted)["knn"][1]["value"], rel=1e-9
    )


def test_a_saved_detector_is_evaluated_on_all_rows(table: Path, model: Path) -> None:
    forest = IsolationForest(random_state=1, n_estimators=20)
    result = read(table, "--model", model, "--trust")
    assert criteria(result) == criteria(expected({str(model): fitted(forest, X[:200])}))
    assert (result["n_train"], result["n_test"]) == (0, 240)


def test_saved_and_trained_ones_share_the_half_that_is_evaluated(table: Path, model: Path) -> None:
    result = read(table, "--model", model, "--trust", "--detector", "knn")
    assert list(criteria(result)) == [str(model), "knn"]
    assert result["n_test"] == 120


def test_features_are_standardised_where_that_is_requested(table: Path) -> None:
    train, test = halves()
    pipeline = make_pipeline(StandardScaler(), NearestNeighbors())
    result = read(table, "--detector", "knn", "--standardize")
    assert criteria(result) == criteria(expected({"knn": fitted(pipeline, train)}, test))
    plain = read(table, "--detector", "knn")
    assert criteria(plain) != criteria(result)
    drawn = read(table, "--detector", "knn", *DRAWS)
    assert criteria(read(table, "--detector", "knn", *DRAWS, "--standardize")) != criteria(drawn)


# Columns.


@pytest.mark.parametrize(
    "labels",
    [np.arange(240) % 2, np.arange(240), 1, 7.5, np.nan, "odd"],
    ids=["0 and 1", "numbers", "ones", "others", "missing", "text"],
)
@pytest.mark.parametrize("name", ["y", "kind"])
def test_labels_are_no_feature_and_not_used(tmp_path: Path, labels: Any, name: str) -> None:
    path = write(tmp_path / "points.csv", **{name: labels})
    asked = ("--label", name) if name != "y" else ()
    result = read(path, "--detector", "knn", *asked)
    plain = read(write(tmp_path / "plain.csv"), "--detector", "knn")
    assert criteria(result) == criteria(plain)


# Subspaces.


@pytest.mark.slow
def test_draws_are_those_of_the_function(table: Path) -> None:
    train, test = halves()
    result = read(table, "--detector", "knn", "--detector", "iforest", *DRAWS)
    few: Any = {"n_subspaces": 4, "n_features": 2, "n_draws": 3000, "n_resamples": 60, "rng": 0}
    detectors = {"knn": NearestNeighbors(), "iforest": IsolationForest()}
    wanted = fastad.evaluate_unsupervised(detectors, test, X_train=train, **few)
    assert criteria(result) == criteria(json.loads(wanted.to_json()))
    assert (result["n_train"], result["n_test"]) == (120, 120)


def test_draws_are_trained_on_another_file(table: Path, tmp_path: Path) -> None:
    train = write(tmp_path / "t.csv", X[:90])
    result = read(table, "--detector", "knn", "--train", train, *DRAWS)
    assert (result["n_train"], result["n_test"]) == (90, 240)


def test_constant_columns_are_not_drawn(tmp_path: Path) -> None:
    path = write(tmp_path / "points.csv", constant=3.0)
    assert len(read(path, "--detector", "knn", *DRAWS)["detectors"]) == 1
    result = call(path, "--detector", "knn", "--n-features", 4)
    assert result.exit_code == 2
    assert "features that vary" in " ".join(result.stderr.split())


@pytest.mark.parametrize("n_features", [(), ("--n-features", "1", "--n-subspaces", "2")])
def test_one_feature(tmp_path: Path, n_features: tuple[str, ...]) -> None:
    path = write(tmp_path / "points.csv", X[:, :1])
    (em, mv), *_ = criteria(read(path, "--detector", "knn", *n_features)).values()
    # Of 120 points of a normal law: MV is 0.099 of some four deviations.
    assert 0.3 < mv["value"] < 0.6
    assert em["value"] > 0


# Output.


def test_the_table_ranks_detectors_and_says_what_is_significant(table: Path) -> None:
    shown = run(table, "--detector", "knn", "--detector", "lof").splitlines()
    result = read(table, "--detector", "knn", "--detector", "lof")
    assert shown[0].split("  ")[0] == "detector"
    assert "EM [95 %], high is good" in shown[0]
    assert "MV [95 %], low is good" in shown[0]
    for row, one in zip(shown[1:3], result["detectors"], strict=True):
        assert row.startswith(one["detector"])
        assert f"{one['em']['value']:.3g} [{one['em']['low']:.3g}, " in row
        assert f"{one['mv']['value']:.3g} [{one['mv']['low']:.3g}, " in row
    assert [line for line in shown if "significantly" in line] == [shown[-1]]
    assert shown[-1].startswith("EM and MV: at 95 % each, ")
    assert "95 %" in shown[-1]


def test_one_detector_has_no_pairs_to_compare(table: Path) -> None:
    shown = run(table, "--detector", "knn")
    assert "EM and MV: fewer than two detectors to compare" in shown


def test_json_has_versions_rankings_and_counts(table: Path) -> None:
    result = read(table, "--detector", "knn", "--detector", "lof", "--confidence-level", 0.9)
    assert (result["schema_version"], result["fastad_version"]) == (1, fastad.__version__)
    assert result["file"] == str(table)
    assert result["confidence_level"] == 0.9
    for criterion in ("em", "mv"):
        assert {one["detector"] for one in result["rankings"][criterion]} == {"knn", "lof"}
        assert [one["rank"] for one in result["rankings"][criterion]] == [1, 2]
        assert all(len(pair) == 2 for pair in result["significant_pairs"][criterion])


def test_options_are_those_of_the_function(table: Path, model: Path) -> None:
    result = read(
        *(table, "--model", model, "--trust", "--mass", 0.5, 0.8, "--excess-mass", 0.6),
        *("--method", "uniform", "--confidence-level", 0.8),
    )
    forest = fitted(IsolationForest(random_state=1, n_estimators=20), X[:200])
    wanted = expected(
        {str(model): forest},
        **{"mass": (0.5, 0.8), "excess_mass": 0.6, "method": "uniform", "confidence_level": 0.8},
    )
    assert criteria(result) == criteria(wanted)


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A cluster that no uniform point meets, in a box that some outliers make wide."""
    rng = np.random.default_rng(0)
    rows = 0.01 * rng.normal(size=(200, 8))
    rows[:10] = rng.uniform(-1, 1, size=(10, 8))
    path = tmp_path / "cluster.npz"
    np.savez(path, X=rows)
    return path


@pytest.mark.system
def test_splitting_finds_volumes_that_no_uniform_draw_does(cluster: Path) -> None:
    how = ("--detector", "knn", "--method", "splitting", "--n-draws", 60_000)
    result = call(cluster, *how, "--n-resamples", 60, "--json")
    assert result.exit_code == 0, result.stderr
    (one,) = json.loads(result.stdout)["detectors"]
    assert one["em"]["n_uniform"] is None
    assert one["mv"]["log_low"] < one["mv"]["log_value"] < one["mv"]["log_high"]
    (one,) = read(cluster, "--detector", "knn", "--method", "uniform")["detectors"]
    assert one["em"]["value"] is None
    assert "undefined" in one["em"]["reason"]


def test_undefined_em_is_shown_with_its_reason_on_stderr(cluster: Path) -> None:
    result = call(cluster, "--detector", "knn", "--method", "uniform", *FEW)
    assert result.exit_code == 0, result.exception
    assert "undefined" in result.stdout
    assert "knn: EM is undefined: the area of excess mass" in result.stderr


@pytest.mark.slow
def test_subspaces_are_offered_where_they_would_help(tmp_path: Path) -> None:
    """Of many features that vary; to detectors that are trained, and by a method that fits."""
    rows = np.random.default_rng(0).normal(size=(100, 9))
    names = [f"f{k}" for k in range(9)]
    nine = write(tmp_path / "nine.csv", rows, names)
    knn = ("--detector", "knn", *FEW)
    assert "--n-features 5" in call(nine, *knn).stderr
    eight = write(tmp_path / "eight.csv", rows[:, :8], names[:8])
    constant = write(tmp_path / "points.csv", **{f"constant{k}": 3.0 for k in range(7)})
    for words in ((eight, *knn), (constant, *knn), (nine, *knn, *DRAWS)):
        assert call(*words).stderr == ""
    saved = tmp_path / "knn.joblib"
    joblib.dump(NearestNeighbors().fit(rows), saved)
    many = ("--detector", "knn", "--n-draws", 60_000, "--n-resamples", 60, "--method")
    others: Any = (("--model", saved, "--trust", *FEW), (*many, "sobol"), (*many, "splitting"))
    for options in others:
        result = call(nine, *options)
        assert result.exit_code == 0
        assert "--n-features" not in result.stderr


def test_one_replicate_has_no_interval_and_is_shown(table: Path) -> None:
    result = call(table, "--detector", "knn", "--n-draws", 1000, "--n-resamples", 1)
    assert result.exit_code == 0, result.exception
    assert "knn" in result.stdout


# Few rows.


# Of so many rows a half is enough to train on.
LEAST_ROWS = {"iforest": 2, "ocsvm": 2, "lof": 4, "mahalanobis": 4, "knn": 10}


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("detector", LEAST_ROWS)
@pytest.mark.parametrize("draws", [(), DRAWS])
def test_few_rows_give_a_result_or_a_message(
    tmp_path: Path, n_rows: int, detector: str, draws: tuple[str, ...]
) -> None:
    path = write(tmp_path / "points.csv", X[:n_rows])
    result = call(path, "--detector", detector, *draws, *FEW)
    if n_rows == 1:
        message = f"{path}: a half to train on and one to evaluate on need two rows; found 1"
        assert_wrong_data(result, message)
    elif n_rows == 2 and draws:
        # All features of one row are constant.
        message = "--n-features: must be at most the number of features that vary"
        assert_wrong_usage(result, message)
    elif n_rows < LEAST_ROWS[detector]:
        assert_wrong_data(result, detector)
    else:
        assert result.exit_code == 0, result.stderr
        assert result.stdout.splitlines()[1].startswith(detector)


def test_a_detector_that_cannot_be_trained_in_a_subspace_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "points.csv", X[:6])
    result = call(path, "--detector", "knn", *DRAWS, *FEW)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {path}: ")
    assert "knn" in result.stderr
    assert result.stderr.count("\n") == 1


def test_warnings_of_libraries_are_messages(tmp_path: Path) -> None:
    path = write(tmp_path / "points.csv", X[:20])
    for draws in ((), DRAWS):
        result = call(path, "--detector", "lof", *draws, *FEW)
        assert result.exit_code == 0, result.exception
        # In Python's own words it would have the file and line.
        assert result.stderr.startswith("Warning: n_neighbors (20) is greater")
        assert result.stderr.count("\n") == 1


# Wrong usage.


@loop(
    ("arguments", "message"),
    [
        (["--n-features", "2"], "a detector is needed"),
        (["--detector", "knn", *DRAWS, "--method", "splitting"], "--method: must be auto"),
        (["--detector", "knn", "--mass", "0.9", "0.1"], "--mass"),
        (["--detector", "knn", "--mass", "0.9", "2"], "--mass"),
        (["--detector", "knn", "--excess-mass", "1"], "--excess-mass"),
        (["--detector", "knn", "--n-draws", "0"], "--n-draws"),
        (["--detector", "knn", "--n-features", "0"], "--n-features"),
        (["--detector", "knn", "--n-features", "4"], "--n-features"),
        (["--detector", "knn", "--n-features", "2", "--n-subspaces", "0"], "--n-subspaces"),
        (["--detector", "knn", "--n-resamples", "0"], "--n-resamples"),
        (["--detector", "knn", "--seed", "-1"], "--seed"),
    ],
)
def test_wrong_usage(table: Path, arguments: list[str], message: str) -> None:
    assert_wrong_usage(call(table, *arguments), message)


@pytest.mark.parametrize("draws", [(), DRAWS])
def test_more_points_than_memory_are_a_message(table: Path, draws: tuple[str, ...]) -> None:
    arguments = (*draws, "--n-draws", 10**15)
    if not draws:
        arguments += ("--method", "uniform")
    result = call(table, "--detector", "knn", *arguments)
    assert_wrong_usage(result, "--n-draws: must fit into memory, 8 bytes each; found 1000000000000")


# Docs.


EXAMPLES = examples_of("evaluate-unsupervised")


def test_the_page_of_the_command_line_describes_it() -> None:
    assert "fastad evaluate-unsupervised" in PAGE
    assert "--n-features" in PAGE
    assert len(EXAMPLES) == 4


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_page_run(
    table: Path, model: Path, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(table.with_name("train.csv"), X[:90])
    assert model.parent == table.parent
    monkeypatch.chdir(table.parent)
    result = call(*shlex.split(example), *FEW)
    assert result.exit_code == 0, (result.stderr, result.exception)
    assert result.stderr == ""

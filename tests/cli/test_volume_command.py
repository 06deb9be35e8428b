"""``fastad volume``: what it reads, loads, fits and prints, and how it ends."""

import importlib
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM
from typer.testing import Result

import fastad
from tests.support.command_line import (
    assert_wrong_data,
    assert_wrong_usage,
    invoke,
    json_of,
    save,
    stdout_of,
)
from tests.support.loops import loop

FEW = ("--n-draws", "3000")

_RNG = np.random.default_rng(5)
X = _RNG.normal(size=(220, 3)) * [1, 10, 100]
Y = np.repeat([0, 1], [200, 20])


def call(*arguments: object) -> Result:
    return invoke("volume", *arguments)


def run(*arguments: object) -> str:
    return stdout_of("volume", *arguments)


def read(*arguments: object) -> Any:
    return json_of("volume", *arguments, *FEW)


def estimates(*arguments: object) -> dict[str, Any]:
    return {one["detector"]: one["volumes"] for one in read(*arguments)["detectors"]}


def expected(score: Any, *, X: Any = X, y: Any = Y, box: Any = None, **options: Any) -> Any:
    result = fastad.volumes({"it": score}, X, y, box=box, n_draws=3000, rng=0, **options)
    return {at: one.to_dict() for at, one in result["it"].items()}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "points.csv"
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "forest.joblib"
    joblib.dump(IsolationForest(random_state=1, n_estimators=20).fit(X[:200]), path)
    return path


# Detectors.


def test_a_saved_detector_is_measured(table: Path, model: Path) -> None:
    forest = fastad.compile_scorer(IsolationForest(random_state=1, n_estimators=20).fit(X[:200]))
    result = estimates(table, "--model", model, "--trust")
    assert result == {str(model): expected(forest)}
    assert list(result[str(model)]) == ["vol@0.01", "vol@0.05"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "detector"),
    [
        ("iforest", IsolationForest(random_state=0)),
        ("knn", NearestNeighbors()),
        ("lof", LocalOutlierFactor(novelty=True)),
        ("ocsvm", OneClassSVM()),
    ],
)
def test_a_detector_is_fitted_on_the_normal_rows(table: Path, name: str, detector: Any) -> None:
    fitted = fastad.compile_scorer(detector.fit(X[:200]))
    assert estimates(table, "--detector", name)[name] == expected(fitted)


def test_a_gaussian_s_region_is_an_ellipsoid(table: Path) -> None:
    result = estimates(table, "--detector", "mahalanobis", "--fpr", "0.5")["mahalanobis"]
    # Of a normal law, half of the mass in three dimensions is within 1.54 deviations.
    box = fastad.Box.from_data(X)
    ellipsoid = 4 / 3 * np.pi * 1.54**3 * 1000
    assert result["vol@0.5"]["value"] == pytest.approx(ellipsoid / box.volume, rel=0.25)


def test_a_detector_is_fitted_on_another_file_and_the_box_holds_both(
    table: Path, tmp_path: Path
) -> None:
    train = tmp_path / "train.npz"
    wide = _RNG.normal(size=(100, 3)) * [2, 20, 200]
    labels = np.repeat([0, 1], [90, 10])
    np.savez(train, X=wide, y=labels)
    fitted = fastad.compile_scorer(NearestNeighbors().fit(wide[:90]))
    result = estimates(table, "--detector", "knn", "--train", train)["knn"]
    assert result == expected(fitted, box=fastad.Box.from_data(np.concatenate([wide, X])))


def test_a_detector_without_a_compiled_form_is_asked_and_named(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "linear.joblib"
    joblib.dump(SGDOneClassSVM(random_state=0).fit(X[:200]), path)
    result = call(table, "--model", path, "--trust", "--method", "uniform", *FEW)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("Warning: SGDOneClassSVM has no compiled form")
    assert result.stderr.count("\n") == 1


def test_detectors_share_one_table(table: Path, model: Path) -> None:
    result = estimates(
        *(table, "--detector", "knn", "--detector", "lof", "--model", model, "--trust")
    )
    assert list(result) == [str(model), "knn", "lof"]


@pytest.mark.slow
def test_the_seed_is_that_of_points_and_of_detectors(table: Path) -> None:
    one = estimates(table, "--detector", "iforest", "--seed", 1)
    assert one == estimates(table, "--detector", "iforest", "--seed", 1)
    other = estimates(table, "--detector", "iforest", "--seed", 2)
    assert one["iforest"]["vol@0.05"]["threshold"] != other["iforest"]["vol@0.05"]["threshold"]


# Files.


def test_without_labels_all_rows_are_normal(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    pd.DataFrame(X, columns=["a", "b", "c"]).to_csv(path, index=False)
    result = read(path, "--detector", "knn")
    assert (result["n_normals"], result["n_anomalies"]) == (220, 0)
    fitted = fastad.compile_scorer(NearestNeighbors().fit(X))
    assert result["detectors"][0]["volumes"] == expected(fitted, y=np.zeros(220))


def test_labels_may_be_named_and_of_any_kind(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    kinds = np.where(Y == 1, "odd", "fine")
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": kinds}).to_csv(path, index=False)
    result = read(path, "--detector", "knn", "--label", "kind", "--pos-label", "odd")
    assert (result["n_normals"], result["n_anomalies"]) == (200, 20)
    assert len(result["box"]["low"]) == 2


def test_a_feature_may_be_called_y(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    pd.DataFrame({"x": X[:, 0], "y": X[:, 1]}).to_csv(path, index=False)
    result = read(path, "--detector", "knn", "--feature", "x", "--feature", "y")
    assert (result["n_normals"], len(result["box"]["low"])) == (220, 2)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_columns_of_numbers_are_features(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"points{ending}"
    frame = pd.DataFrame({"name": ["p"] * 220, "a": X[:, 0], "b": X[:, 1], "y": Y})
    frame.to_parquet(path) if ending == ".parquet" else frame.to_feather(path)
    assert len(read(path, "--detector", "knn")["box"]["low"]) == 2


def test_arrays_of_an_archive(tmp_path: Path) -> None:
    matrix, vectors, bare = (tmp_path / f"{name}.npz" for name in ("matrix", "vectors", "bare"))
    np.savez(matrix, X=X.astype(np.float32), y=Y, other=Y)
    np.savez(vectors, a=X[:, 0], b=X[:, 1], y=Y, names=np.array(["p"] * 220))
    np.savez(bare, a=X[:, 0], b=X[:, 1], short=np.arange(3))
    widths = [
        len(read(path, "--detector", "knn")["box"]["low"]) for path in (matrix, vectors, bare)
    ]
    assert widths == [3, 2, 2]


def test_a_detector_that_knows_its_columns_gets_them_in_its_order(
    table: Path, tmp_path: Path
) -> None:
    path = tmp_path / "svm.joblib"
    frame = pd.DataFrame({"c": X[:200, 2], "a": X[:200, 0]})
    fitted = OneClassSVM().fit(frame)
    joblib.dump(fitted, path)
    result = estimates(table, "--model", path, "--trust")[str(path)]
    assert result == expected(fastad.compile_scorer(fitted), X=X[:, [2, 0]])


# Output.


def test_the_table_shows_each_detector_at_each_rate(table: Path) -> None:
    shown = run(table, "--detector", "knn", "--fpr", 0.1, "--fpr", 0.2, *FEW).splitlines()
    assert shown[0].split("  ")[0] == "detector"
    assert "95 % interval" in shown[0]
    result = estimates(table, "--detector", "knn", "--fpr", 0.1, "--fpr", 0.2)["knn"]
    for row, (at, one) in zip(shown[1:3], result.items(), strict=True):
        name, rate, threshold, value, *interval, complement = row.split()
        assert (name, f"vol@{rate}", value) == ("knn", at, f"{one['value']:.4g}")
        assert threshold == f"{one['threshold']:.6g}"
        assert " ".join(interval) == f"[{one['low']:.4g}, {one['high']:.4g}]"
        assert complement == f"{1 - one['value']:.4g}"
    log10 = fastad.Box.from_data(X).log_volume / np.log(10)
    assert shown[-2:] == [
        f"log10 volume of the box: {log10:.4g} (3 features)",
        "knn: method uniform, 3000 points scored: other methods are considered from n_draws=20000 "
        "on",
    ]


def test_a_bound_is_shown_as_one(tmp_path: Path) -> None:
    """In twenty dimensions no draw falls into a ball around the middle."""
    path = tmp_path / "points.npz"
    np.savez(path, X=np.random.default_rng(0).normal(size=(300, 20)))
    row = run(path, "--detector", "mahalanobis", "--fpr", 0.9, *FEW).splitlines()[1]
    assert " < 0.00" in row
    assert " > 0.9" in row


def test_splitting_shows_what_holds_if_parts_were_missed(tmp_path: Path) -> None:
    path = tmp_path / "points.npz"
    np.savez(path, X=np.random.default_rng(0).normal(size=(300, 6)))
    how = ("--detector", "mahalanobis", "--method", "splitting", "--n-draws", 10_000)
    options = (path, *how, "--fpr", 0.2, "--fpr", 0.1, "--seed", 0)
    *_, reason, wide = run(*options).splitlines()
    assert "assumes that no part of the region was missed" in reason
    result = json_of("volume", *options)["detectors"][0]["volumes"]
    shown = ", ".join(
        f"[{result[key]['uniform_low']:.4g}, {result[key]['uniform_high']:.4g}] at fpr {key[4:]}"
        for key in ("vol@0.2", "vol@0.1")
    )
    assert wide == f"mahalanobis: by uniform draws alone {shown}"


def test_json_has_versions_box_and_counts(table: Path) -> None:
    result = read(table, "--detector", "knn")
    assert (result["schema_version"], result["fastad_version"]) == (1, fastad.__version__)
    assert result["file"] == str(table)
    assert (result["n_normals"], result["n_anomalies"]) == (200, 20)
    assert result["box"] == {"low": X.min(axis=0).tolist(), "high": X.max(axis=0).tolist()}


def test_options_are_those_of_the_function(table: Path) -> None:
    fitted = fastad.compile_scorer(NearestNeighbors().fit(X[:200]))
    result = estimates(table, "--detector", "knn", "--method", "sobol", "--margin", 0.5)["knn"]
    assert result == expected(fitted, box=fastad.Box.from_data(X, margin=0.5), method="sobol")
    assert {one["method"] for one in result.values()} == {"sobol"}
    until = ("--detector", "knn", "--rtol", 0.5, "--confidence-level", 0.8, "--fpr", 0.3)
    (one,) = estimates(table, *until)["knn"].values()
    assert (one["n_inside"], one["confidence_level"]) == (6, 0.8)


# Wrong usage and wrong data.


@loop(
    ("arguments", "message"),
    [
        (["--detector", "knn", "--rtol", "2"], "--rtol"),
        (["--detector", "knn", "--fpr", "2"], "--fpr"),
        (["--detector", "knn", "--margin", "-1"], "--margin"),
        (["--detector", "knn", "--method", "sobol", "--n-draws", "3"], "--n-draws"),
    ],
)
def test_wrong_usage(table: Path, arguments: list[str], message: str) -> None:
    assert_wrong_usage(call(table, *arguments), message)


@loop(
    ("text", "arguments", "message"),
    [
        ("a,y\n1,0\n2,3\n", [], "column 'y', line 3: the label must be 0"),
        ("a,y\n1,1\n2,1\n", [], "there are no normal rows"),
        ("a,y\n1,0\n2,0\n", ["--pos-label", "odd"], "column 'y' has no label 'odd'"),
        ("a,b\n1,0\n2,0\n", ["--pos-label", "1"], "there is no column 'y'"),
    ],
)
def test_wrong_data(tmp_path: Path, text: str, arguments: list[str], message: str) -> None:
    path = save(tmp_path / "points.csv", text)
    assert_wrong_data(call(path, "--detector", "iforest", *arguments), message)


@loop(
    ("arrays", "message"),
    [
        ({}, "there is no column of features"),
        ({"X": np.zeros((0, 2))}, "column 'X' must contain numbers; found float64 of shape (0, 2)"),
        ({"X": np.zeros((4, 2, 2))}, "column 'X' must contain numbers"),
        ({"X": np.zeros(())}, "column 'X' must contain numbers"),
        ({"X": np.array([["a"]])}, "column 'X' must contain numbers; found <U1"),
        ({"X": np.zeros((9, 2)), "y": np.zeros(5)}, "9 rows of features, 5 labels"),
        ({"X": np.zeros((9, 2)), "y": np.zeros((9, 1))}, "column 'y' must be one-dimensional"),
    ],
)
def test_archives_without_a_table_of_numbers(
    tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    path = tmp_path / "points.npz"
    np.savez(path, **arrays)
    result = call(path, "--detector", "knn")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {path}: {message}")


def test_a_detector_that_scores_batches_is_refused(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "ecod.joblib"
    joblib.dump(importlib.import_module("pyod.models.ecod").ECOD().fit(X[:200]), path)
    assert_wrong_data(call(table, "--model", path, "--trust"), "ECOD scores a batch together")

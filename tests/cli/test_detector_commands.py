"""What ``fastad volume`` and ``fastad evaluate-unsupervised`` have in common."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import NearestNeighbors

from tests.support.command_line import TouchesWhenLoaded, error_of, json_of, save

COMMANDS = {
    "volume": ("--n-draws", "2000"),
    "evaluate-unsupervised": ("--n-draws", "2000", "--n-resamples", "20"),
}

_RNG = np.random.default_rng(3)
X = _RNG.normal(size=(200, 3)) * [1, 10, 100]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
TRAIN = pd.DataFrame(_RNG.normal(size=(80, 3)) * [1, 10, 100], columns=["a", "b", "c"])
TURNED = ["c", "a", "b"]


def read(command: str, *arguments: object) -> Any:
    return json_of(command, *arguments, *COMMANDS[command])["detectors"]


def refused(command: str, *arguments: object, code: int = 1) -> str:
    return error_of(command, *arguments, *COMMANDS[command], code=code)


def table(path: Path, frame: pd.DataFrame) -> Path:
    frame.to_csv(path, index=False)
    return path


def archive(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def saved(path: Path, columns: Sequence[str] | None) -> Path:
    """Save a detector that knows its columns, or none."""
    rows = FRAME if columns is None else FRAME[list(columns)]
    joblib.dump(NearestNeighbors().fit(rows.to_numpy() if columns is None else rows), path)
    return path


@pytest.fixture
def points(tmp_path: Path) -> Path:
    return table(tmp_path / "points.csv", FRAME)


@pytest.fixture(params=list(COMMANDS))
def command(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# A file to train on.


def test_columns_to_train_on_are_found_by_name(command: str, points: Path, tmp_path: Path) -> None:
    straight = table(tmp_path / "t.csv", TRAIN)
    wanted = read(command, points, "--detector", "knn", "--train", straight)
    others = TRAIN[TURNED].assign(id=range(80), name="p", y=0)
    turned = table(tmp_path / "u.csv", others)
    assert read(command, points, "--detector", "knn", "--train", turned) == wanted
    vectors = archive(tmp_path / "v.npz", **{name: TRAIN[name] for name in TURNED})
    assert read(command, points, "--detector", "knn", "--train", vectors) == wanted


def test_a_matrix_to_train_on_is_taken_as_it_stands(
    command: str, points: Path, tmp_path: Path
) -> None:
    wanted = read(
        *(command, points, "--detector", "knn", "--train", table(tmp_path / "t.csv", TRAIN))
    )
    matrix = archive(tmp_path / "t.npz", X=TRAIN.to_numpy())
    assert read(command, points, "--detector", "knn", "--train", matrix) == wanted
    data = archive(tmp_path / "points.npz", X=X)
    train = table(tmp_path / "named.csv", TRAIN.set_axis(["u", "v", "w"], axis=1))
    assert read(command, data, "--detector", "knn", "--train", train) == wanted
    narrow = archive(tmp_path / "narrow.npz", X=X[:, :2])
    message = refused(command, points, "--detector", "knn", "--train", narrow)
    assert f"{narrow}: there are 2 features, in {points} 3" in message


def test_a_column_that_a_file_to_train_on_lacks_is_named(
    command: str, points: Path, tmp_path: Path
) -> None:
    train = table(tmp_path / "t.csv", TRAIN.rename(columns={"b": "d"}))
    message = refused(command, points, "--detector", "knn", "--train", train)
    assert message == (f"Error: {train}: there are 3 features, in {points} 3; missing are 'b'")


def test_named_features_are_read_from_both_files(
    command: str, points: Path, tmp_path: Path
) -> None:
    train = table(tmp_path / "t.csv", TRAIN[TURNED])
    two = ("--feature", "b", "--feature", "a")
    result = read(command, points, "--detector", "knn", "--train", train, *two)
    data = archive(tmp_path / "points.npz", X=FRAME[["b", "a"]].to_numpy())
    matrix = archive(tmp_path / "t.npz", X=TRAIN[["b", "a"]].to_numpy())
    assert result == read(command, data, "--detector", "knn", "--train", matrix)


def test_a_file_to_train_on_needs_no_labels_that_are_not_used(tmp_path: Path) -> None:
    data = table(tmp_path / "points.csv", FRAME.assign(kind="p"))
    train = table(tmp_path / "t.csv", TRAIN)
    how = ("--detector", "knn", "--train", train, "--label", "kind")
    plain = table(tmp_path / "plain.csv", FRAME)
    wanted = read("evaluate-unsupervised", plain, "--detector", "knn", "--train", train)
    assert read("evaluate-unsupervised", data, *how) == wanted


# Saved detectors.


def test_all_get_the_columns_that_a_saved_detector_knows(
    command: str, points: Path, tmp_path: Path
) -> None:
    model = saved(tmp_path / "knn.joblib", TURNED)
    train = table(tmp_path / "t.csv", TRAIN)
    how = ("--model", model, "--trust", "--detector", "lof", "--train")
    result = read(command, points, *how, train)
    turned, matrix = (
        archive(tmp_path / name, X=frame[TURNED].to_numpy())
        for name, frame in (("points.npz", FRAME), ("t.npz", TRAIN))
    )
    assert result == read(command, turned, *how, matrix)
    # Nothing is known of the order of the data but that of the detector.
    assert result == read(command, turned, *how, train)


@pytest.mark.parametrize("columns", [TURNED, ["a", "b"]])
def test_detectors_that_know_other_columns_are_refused(
    command: str, points: Path, tmp_path: Path, columns: list[str]
) -> None:
    one = saved(tmp_path / "one.joblib", ["a", "b", "c"])
    two = saved(tmp_path / "two.joblib", columns)
    message = refused(command, points, "--model", one, "--model", two, "--trust")
    listed = ", ".join(map(repr, columns))
    assert f"'a', 'b', 'c' of {one}, and {listed} of {two}" in message


def test_a_detector_that_knows_no_names_is_not_given_another_order(
    command: str, points: Path, tmp_path: Path
) -> None:
    bare, turned = saved(tmp_path / "bare.joblib", None), saved(tmp_path / "c.joblib", TURNED)
    straight = saved(tmp_path / "straight.joblib", ["a", "b", "c"])
    message = refused(command, points, "--model", bare, "--model", turned, "--trust")
    assert str(bare) in message
    assert f"{turned} was fitted on 'c', 'a', 'b'" in message
    assert len(read(command, points, "--model", bare, "--model", straight, "--trust")) == 2
    said = [word for name in TURNED for word in ("--feature", name)]
    assert len(read(command, points, "--model", bare, "--model", turned, "--trust", *said)) == 2


def test_a_column_that_a_detector_knows_and_the_file_lacks_is_named(
    command: str, tmp_path: Path
) -> None:
    model = saved(tmp_path / "knn.joblib", ["a", "b", "c"])
    renamed = table(tmp_path / "points.csv", FRAME.rename(columns={"b": "d"}))
    message = refused(command, renamed, "--model", model, "--trust")
    assert f"{renamed}: there are 3 features, in {model} 3; missing are 'b'" in message
    said = ("--feature", "a", "--feature", "d", "--feature", "c")
    assert len(read(command, renamed, "--model", model, "--trust", *said)) == 1


def test_features_in_another_order_than_a_detector_knows_are_wrong_usage(
    command: str, points: Path, tmp_path: Path
) -> None:
    model = saved(tmp_path / "knn.joblib", ["a", "b", "c"])
    said = [word for name in TURNED for word in ("--feature", name)]
    message = refused(command, points, "--model", model, "--trust", *said, code=2)
    assert f"--feature: {model} was fitted on 'a', 'b', 'c'; found 'c', 'a', 'b'" in message


# Labels that are not used.


@pytest.mark.parametrize(
    "labels",
    [np.array(["p"] * 200, dtype=object), np.zeros((200, 2)), np.zeros(3), np.array(["p"] * 200)],
    ids=["objects", "matrix", "few", "text"],
)
def test_labels_of_an_archive_may_hold_anything(tmp_path: Path, labels: Any) -> None:
    vectors = {name: FRAME[name].to_numpy() for name in FRAME}
    wanted = read(
        "evaluate-unsupervised", archive(tmp_path / "p.npz", **vectors), "--detector", "knn"
    )
    for arrays in (vectors, {"X": X}):
        path = archive(tmp_path / "labelled.npz", y=labels, **arrays)
        assert read("evaluate-unsupervised", path, "--detector", "knn") == wanted


def test_the_label_cannot_be_a_feature(points: Path, tmp_path: Path) -> None:
    how = ("--label", "b", "--feature", "a", "--feature", "b")
    message = refused("evaluate-unsupervised", points, "--detector", "knn", *how)
    assert message == f"Error: {points}: column 'b' is the label, and cannot be a feature"
    model = saved(tmp_path / "knn.joblib", ["a", "b"])
    message = refused("evaluate-unsupervised", points, "--model", model, "--trust", "--label", "b")
    assert "column 'b' is the label" in message


# Trust, wrong usage and wrong data.


def test_a_detector_is_loaded_only_on_the_user_s_word(
    command: str, points: Path, tmp_path: Path
) -> None:
    path, trace = tmp_path / "bomb.joblib", tmp_path / "trace"
    joblib.dump(TouchesWhenLoaded(trace), path)
    message = refused(command, points, "--model", path, code=2)
    assert "runs whatever code" in message
    assert "--trust" in message
    assert not trace.exists()


def test_wrong_options_are_named(command: str, points: Path) -> None:
    for options, message in (
        ([], "a detector is needed"),
        (["--detector", "magic"], "iforest, knn, lof, mahalanobis, ocsvm; found 'magic'"),
        (["--detector", "knn", "--method", "magic"], "--method"),
        (["--detector", "knn", "--confidence-level", "1"], "--confidence-level"),
    ):
        assert message in refused(command, points, *options, code=2)


def test_wrong_tables_are_named_with_their_place(command: str, tmp_path: Path) -> None:
    forest = ["--detector", "iforest"]
    for text, options, message in (
        ("a,b\n1,0\nx,0\n", forest, "column 'a', line 3: 'x' is not a number"),
        ("a,b\n1,0\ninf,0\n", forest, "column 'a' must contain finite numbers; found 1 others"),
        ("a,b\n1,0\n2,0\n", [*forest, "--feature", "c"], "there is no column 'c'"),
        ("a,b\n1,0\n2,0\n", [*forest, "--label", "z"], "there is no column 'z'"),
        ("y\n1\n0\n", forest, "there is no column of features"),
        ("a,b\n", forest, "there are no rows"),
        ("a\n1\n2\n", ["--detector", "knn"], "knn"),
    ):
        path = save(tmp_path / "points.csv", text)
        assert message in refused(command, path, *options)


def test_files_that_are_missing_damaged_or_do_not_fit(
    command: str, points: Path, tmp_path: Path
) -> None:
    missing, damaged = tmp_path / "no.csv", save(tmp_path / "m.joblib", "no detector")
    narrow = table(tmp_path / "narrow.csv", FRAME[["a"]])
    thing, three = tmp_path / "thing.joblib", saved(tmp_path / "three.joblib", None)
    joblib.dump({"no": "detector"}, thing)
    for words, message in (
        ((missing, "--detector", "knn"), f"{missing}: there is no such file"),
        ((points, "--detector", "knn", "--train", missing), f"{missing}: there is no such file"),
        ((points, "--model", missing, "--trust"), f"{missing}: there is no such file"),
        ((damaged, "--detector", "knn"), "unsupported file extension"),
        ((points, "--model", damaged, "--trust"), f"{damaged}: the detector cannot be read"),
        ((points, "--model", thing, "--trust"), f"{thing}: detector must be"),
        (
            (points, "--detector", "knn", "--train", narrow, "--feature", "a", "--feature", "b"),
            f"{narrow}: there is no column 'b'",
        ),
        ((narrow, "--model", three, "--trust"), f"1 features; {three} was fitted on 3"),
    ):
        assert message in refused(command, *words)

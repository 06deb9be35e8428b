"""Which columns are detectors where ``--score`` names none, in every format alike.

`tests.tables` has more files of which the reader finds the detectors.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.command_line import error_of, invoke
from tests.support.loops import loop

N = 60
RNG = np.random.default_rng(5)
Y = (np.arange(N) % 3 == 0).astype(int)
DETECTORS = {"forest": RNG.normal(size=N) + Y, "lof": RNG.integers(0, 9, N) + Y}
# No detectors: the column, and what the message calls it.
OTHERS: dict[str, tuple[Any, str]] = {
    "Unnamed: 0": (RNG.permutation(N), "an index"),
    "index": (RNG.permutation(N), "an index"),
    "id": (RNG.permutation(N) + 1000, "an index"),
    "__index_level_0__": (RNG.permutation(N), "an index"),
    "fold": (np.arange(N) % 5, "tells runs apart"),
    "dataset": (np.arange(N) % 2, "tells runs apart"),
    "version": (np.full(N, 3), "constant"),
    "zero": (np.zeros(N), "constant"),
    "site": (np.array(["a", "b", "c"])[np.arange(N) % 3], "no numbers"),
    "day": (np.array(["2024-01-01", "2024-01-02"])[np.arange(N) % 2], "no numbers"),
}
each_format = loop("extension", [".csv", ".parquet", ".feather"])


def save(columns: dict[str, Any], path: Path) -> Path:
    frame = pd.DataFrame(columns)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_feather(path)
    return path


def detectors_of(path: Path, *options: str) -> tuple[list[str], str]:
    """Return the detectors that are evaluated, and what is said of the columns."""
    result = invoke("evaluate", path, "--measure", "auc", "--json", *options)
    assert result.exit_code == 0, result.stderr
    return [row["detector"] for row in json.loads(result.stdout)["detectors"]], result.stderr


@each_format
def test_what_is_no_detector_is_left_out_and_named(extension: str, tmp_path: Path) -> None:
    columns = {name: values for name, (values, _) in OTHERS.items()}
    path = save({**columns, "y": Y, **DETECTORS}, tmp_path / f"scores{extension}")
    taken, said = detectors_of(path)
    assert taken == list(DETECTORS)
    named = ", ".join(f"{name!r} ({reason})" for name, (_, reason) in OTHERS.items())
    assert said == f"{path}: detectors: forest, lof; left out: {named}; --score names others\n"


@each_format
def test_numbers_of_rows_are_an_index_in_the_first_column_only(
    extension: str, tmp_path: Path
) -> None:
    for start in (0, 1):
        rows = np.arange(N) + start
        first = save({"row": rows, "y": Y, **DETECTORS}, tmp_path / f"a{extension}")
        assert detectors_of(first)[0] == list(DETECTORS)
        last = save({"y": Y, **DETECTORS, "row": rows}, tmp_path / f"b{extension}")
        assert detectors_of(last)[0] == [*DETECTORS, "row"]


@each_format
def test_numbers_of_rows_are_an_index_where_each_file_has_its_own(
    extension: str, tmp_path: Path
) -> None:
    folder = tmp_path / extension
    folder.mkdir()
    for i, part in enumerate(np.split(np.arange(N), [10, 35])):
        columns = {"y": Y, **DETECTORS}
        own = {name: values[part] for name, values in columns.items()}
        save({"row": np.arange(len(part)), **own}, folder / f"{i}{extension}")
    assert detectors_of(folder)[0] == list(DETECTORS)


def test_groups_and_named_columns_are_taken_as_they_are(tmp_path: Path) -> None:
    columns = {"id": np.arange(N), "segment": np.arange(N) % 2, "y": Y, **DETECTORS}
    path = save(columns, tmp_path / "scores.csv")
    assert set(detectors_of(path, "--group", "segment")[0]) == set(DETECTORS)
    # Then nothing is said.
    assert detectors_of(path, "--score", "id") == (["id"], "")


def test_compare_says_what_it_compares(tmp_path: Path) -> None:
    path = save({"id": np.arange(N), "y": Y, **DETECTORS}, tmp_path / "scores.csv")
    result = invoke("compare", path)
    assert f"{path}: detectors: forest, lof; left out: 'id' (an index)" in result.stderr
    path = save({"fold": np.arange(N) % 2, "y": Y, "forest": DETECTORS["forest"]}, path)
    message = error_of("compare", path, code=2)
    assert "two columns of scores are needed" in message
    assert "'fold' (tells runs apart)" in message


@each_format
def test_labels_get_the_hints_to_their_options(extension: str, tmp_path: Path) -> None:
    y = np.array(["normal", "fraud"])[Y]
    path = save({"y": y, **DETECTORS}, tmp_path / f"scores{extension}")
    for command in ("evaluate", "compare"):
        message = error_of(command, path)
        assert "the label must be 0 (normal) or 1 (anomaly); found 'fraud'" in message
        assert "--pos-label" in message
    assert detectors_of(path, "--pos-label", "fraud")[0] == list(DETECTORS)
    path = save({"outlier": Y, **DETECTORS}, path)
    for command in ("evaluate", "compare"):
        message = error_of(command, path)
        assert "no column 'y'; found outlier, forest, lof: --label names" in message
    assert detectors_of(path, "--label", "outlier")[0] == list(DETECTORS)


@pytest.mark.slow
@each_format
def test_labels_may_be_true_and_false_in_text_too(extension: str, tmp_path: Path) -> None:
    printed = []
    for y in (Y, Y == 1, np.array(["False", "True"])[Y], np.array(["false", "true"])[Y]):
        path = save({"y": y, **DETECTORS}, tmp_path / f"scores{extension}")
        for memory in ([], ["--memory", "1MB"]):
            printed.append(invoke("evaluate", path, *memory).stdout)
    assert printed == printed[:2] * 4


def test_arrays_of_another_shape_are_left_out_with_theirs(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    others: dict[str, Any] = {
        "short": RNG.normal(size=N - 1),
        "X": np.zeros((N, 2)),
        "names": np.full(N, "a"),
    }
    np.savez(path, y=Y, forest=DETECTORS["forest"], **others)
    reasons = f"'short' ({N - 1} values, 'y' has {N}), 'X' (of shape ({N}, 2), 'y' of ({N},))"
    left_out = f"left out: {reasons}, 'names' (no numbers); --score names others"
    assert detectors_of(path) == (["forest"], f"{path}: detectors: forest; {left_out}\n")
    assert left_out in error_of("compare", path, code=2)
    np.savez(path, y=Y, **others)
    for command in ("evaluate", "compare"):
        assert f"no column of scores beside 'y'; {left_out}" in error_of(command, path)


@pytest.mark.parametrize("memory", [[], ["--memory", "1MB"]])
def test_a_column_that_was_taken_for_scores_is_named(memory: list[str], tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("y,knn,site\n0,0.1,3\n1,0.5,NA\n0,0.2,4\n", "utf-8")
    wrong = "column 'site', line 3: 'NA' is a missing value"
    hint = "; the column was taken for scores, and --score names those that are"
    assert error_of("evaluate", path, *memory).endswith(f"{wrong}{hint}")
    assert error_of("evaluate", path, *memory, "--score", "site").endswith(wrong)
    path.write_text("y,knn,site\n0,0.1,3\nx,0.5,5\n0,0.2,4\n", "utf-8")
    assert "taken for scores" not in error_of("evaluate", path, *memory)

"""Data of a study that are refused: selections, paths, arrays, columns and damaged files."""

import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from fastad.errors import InvalidInputError, MissingExtraError
from fastad.study.problems import DataSelection, find_problems
from tests.support.data_files import KINDS, classed, columns, find, graded, table, write
from tests.support.loops import loop


@loop(
    ("options", "message"),
    [
        ({"paths": "uci"}, "data.paths must be a list of strings; found str"),
        ({"paths": [1]}, "data.paths[0] must be a string; found int"),
        ({"include": ("a", "")}, "data.include[1] must not be empty"),
        ({"exclude": None}, "data.exclude must be a list of strings; found NoneType"),
        ({"bundled": 1}, "data.bundled must be True or False; found int"),
        ({"max_subproblems": 0}, "data.max_subproblems must be at least 1; found 0"),
        ({"min_anomalies": 2.5}, "data.min_anomalies must be an integer; found 2.5"),
        (
            {"difficulties": ["easy", "very hard"]},
            "data.difficulties must be one of 'easy', 'medium', 'hard', 'very_hard'; "
            "found 'very hard'",
        ),
    ],
)
def test_selections_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=re.escape(message)):
        DataSelection(**options)


def test_lists_of_a_configuration_become_tuples() -> None:
    lists: dict[str, Any] = {"paths": ["a"], "difficulties": ["easy"]}
    selection = DataSelection(**lists)
    assert selection == DataSelection(paths=("a",), difficulties=("easy",))
    assert hash(selection) == hash(DataSelection(paths=("a",), difficulties=("easy",)))


def test_paths_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("text")
    for paths, message in [
        ((), "data.paths must name files or folders of data, or data.bundled be true"),
        (("gone",), f"found no 'gone' ({tmp_path / 'gone'})"),
        (("notes.txt",), "data.paths must name .npz or .csv or .parquet files; found 'notes.txt'"),
        (("empty",), "found none in 'empty'"),
    ]:
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            find_problems(DataSelection(paths=paths), folder=tmp_path, seed=0)


def test_names_that_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "own" / "a.npz", table())
    with pytest.raises(InvalidInputError, match=r"data.include .*'b\*' matches none of own/a"):
        find(tmp_path, include=("own/*", "b*"))
    with pytest.raises(InvalidInputError, match="must leave something; found own/a, all left out"):
        find(tmp_path, exclude=("own/*",))
    write(tmp_path / "own" / "a.csv", table())
    with pytest.raises(InvalidInputError, match=r"'own/a' twice: .*a\.csv and .*a\.npz"):
        find(tmp_path)


def spoilt(column: Any, row: Any, value: object) -> Any:
    changed = np.array(column)
    changed[row] = value
    return changed


def bad_arrays() -> dict[str, tuple[dict[str, Any], str]]:
    """Return data that any kind of file can hold, and what is said of them."""
    plain, many, grades = table(), classed({"a": 3, "b": 3}), graded({"easy": 3, "hard": 3})
    X, y = plain["X"], plain["y"]
    normal, anomaly = int(np.argmin(many["y"])), int(np.argmax(many["y"]))
    return {
        "labels": (
            {"X": X, "y": spoilt(y, 3, 2)},
            "y must contain 0 (normal) and 1 (anomaly); found 1 other values, the first at row 3: "
            "2",
        ),
        "one class": (
            {"X": X, "y": np.zeros_like(y)},
            "y must contain both 0 (normal) and 1 (anomaly); found only 0",
        ),
        "no normals": ({"X": X, "y": np.ones_like(y)}, "found only 1"),
        "few normals": (table(9, 20), "needs at least 10 normal rows; found 9"),
        "few anomalies": (table(20, 1), "needs at least 2 anomalies (data.min_anomalies); found 1"),
        "infinite": (
            {"X": spoilt(X, (2, 0), np.inf), "y": y},
            "found 1 that are missing, NaN, infinite or larger, the first at row 2, column",
        ),
        "large": ({"X": spoilt(X, (4, 1), -1e101), "y": y}, "the first at row 4, column"),
        "two normal classes": (
            {**many, "cls": spoilt(many["cls"], normal, "other")},
            "cls must be one class for all normal rows (y = 0); found other, usual",
        ),
        "normal anomaly": (
            {**many, "cls": spoilt(many["cls"], anomaly, "usual")},
            "cls must tell anomalies (y = 1) from the normal class 'usual'; found it on 1 of them, "
            f"the first at row {anomaly}",
        ),
        "nameless class": (
            {**many, "cls": spoilt(many["cls"], 5, "")},
            "cls must name the class of each row; found 1 without, the first at row 5",
        ),
        "small classes": (
            classed({"a": 1, "b": 1}),
            "needs a class of anomalies that is large enough; all with fewer than 2 anomalies: "
            "a (1), b (1)",
        ),
        "grade": (
            {**grades, "difficulty": spoilt(grades["difficulty"], anomaly, "odd")},
            "difficulty must be easy, medium, hard, very_hard for an anomaly and empty for a "
            f"normal row; found 1 other values, the first at row {anomaly}: 'odd'",
        ),
        "graded normal row": (
            {**grades, "difficulty": spoilt(grades["difficulty"], normal, "easy")},
            f"found 1 other values, the first at row {normal}: 'easy'",
        ),
    }


@loop("case", bad_arrays())
def test_data_that_are_refused(tmp_path: Path, case: str) -> None:
    arrays, message = bad_arrays()[case]
    for kind in KINDS:
        path = write(tmp_path / "own" / f"a.{kind}", arrays)
        with pytest.raises(InvalidInputError, match=re.escape(message)) as caught:
            find(tmp_path)
        assert str(caught.value).startswith(f"{path}: ")
        path.unlink()


def without(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: values for key, values in arrays.items() if key != name}


@loop(
    ("arrays", "message"),
    [
        (without(table(), "X"), "must contain the arrays X and y; found no X, but y"),
        ({"labels": np.zeros(3)}, "found no X and no y, but labels"),
        ({**table(), "X": np.zeros(26)}, "X must have the shape (n_rows, n_features); found (26,)"),
        ({**table(), "X": np.zeros((26, 0))}, "found (26, 0)"),
        ({**table(), "X": np.full((26, 2), "1")}, "X must contain numbers; found <U1"),
        ({**table(), "X": spoilt(table()["X"], (7, 1), np.nan)}, "at row 7, column 1: nan"),
        (
            {**table(), "y": table()["y"][:-1]},
            "y must have a value for each of the 26 rows of X; found 25",
        ),
        ({**table(), "y": np.zeros((26, 1))}, "y must be one-dimensional; found shape (26, 1)"),
        (
            {**table(), "y": np.full(26, "normal")},
            "y must contain 0 (normal) and 1 (anomaly); found <U6",
        ),
        ({**table(), "y": spoilt(table()["y"] * 1.0, 2, np.nan)}, "the first at row 2: nan"),
        (
            {**table(), "cls": np.full(25, "a")},
            "cls must have a value for each of the 26 rows of X; found 25",
        ),
        (
            {**table(), "cls": np.zeros(26)},
            "cls must contain strings or integers; found 0.0 at row 0",
        ),
        (
            {**table(), "difficulty": np.zeros(26, np.bool_)},
            "difficulty must contain strings or integers; found False at row 0",
        ),
        ({"X": np.zeros((0, 2)), "y": np.zeros(0)}, "found no rows"),
        ({**table(), "cls": np.array(["a"] * 26, object)}, "the array 'cls' cannot be read"),
    ],
)
def test_arrays_that_are_refused(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    write(tmp_path / "own" / "a.npz", arrays)
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        find(tmp_path)


@loop(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "must have a column y and at least one feature; found a, b"),
        ("y,cls\n1,2\n", "must have a column y and at least one feature; found y, cls"),
        ("a,y,a\n1,0,2\n", "columns must have different names; found 2 of 'a'"),
        (",a,y\n0,1,0\n", "found '', which pandas calls an index"),
        ("a,y\n1,0\nred,1\n", "column 'a', line 3: 'red' is not a number"),
        ("a,y\n1,no\n", "column 'y', line 2: 'no' is not a number"),
        ("a,y\n2020-01-01,0\n", "column 'a', line 2: '2020-01-01' is not a number"),
        ("a,b,y\n1,2,0\n1,,1\n1,,1\n", "found 2 that are missing, NaN, infinite or larger, the"),
        ("a,b,y\n1,2,0\n1,nan,1\n", "the first at row 1, column 'b': nan"),
        ("a,y\n1,0\n1,\n", "y must contain 0 (normal) and 1 (anomaly); found 1 other values, the"),
        ("a,y\n", "there are no rows"),
        ("", "the file is empty; its first line must name the columns"),
        ("a,y\n1,2,3\n", "line 2: there are more cells than columns"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        find(tmp_path, "a.csv")


def test_columns_of_parquet_files(tmp_path: Path) -> None:
    arrays = table()
    mixed = columns(arrays)
    mixed["f0"] = pa.array(mixed["f0"].tolist()).cast(pa.decimal128(10, 3))
    mixed["f1"] = mixed["f1"] > 0
    (tmp_path / "set=1").mkdir()  # no partition, whatever it looks like
    path = tmp_path / "set=1" / "a.parquet"
    parquet.write_table(pa.table(mixed), path)
    (one,) = find(tmp_path).problems
    want = np.column_stack([arrays["X"][:, 0], arrays["X"][:, 1] > 0, arrays["X"][:, 2]])
    np.testing.assert_array_equal(one.load()[0], want)
    indexed = {**columns(arrays), "__index_level_0__": np.arange(26)}
    parquet.write_table(pa.table(indexed), path)
    with pytest.raises(InvalidInputError, match="pandas calls an index: write the file without"):
        find(tmp_path)
    missing = classed({"a": 3})
    missing["cls"] = spoilt(missing["cls"].astype(object), 4, None)
    write(path, missing)
    with pytest.raises(
        InvalidInputError, match=r"cls must name the class .* without, the first at row 4"
    ):
        find(tmp_path)


@loop(("kind", "damage"), product(["npz", "parquet"], ["cut", "changed", "other"]))
def test_damaged_files_are_named(tmp_path: Path, kind: str, damage: str) -> None:
    path = write(tmp_path / kind / damage / f"a.{kind}", table(200, 50, 10))
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "changed":
        content[80:200] = bytes(120)
    else:
        content = bytearray(b"not what the suffix says, at all")
    path.write_bytes(content)
    message = rf"{re.escape(str(path))}: the .* (cannot be read: |is not an archive of arrays)"
    with pytest.raises(InvalidInputError, match=message):
        find(path.parent)


def test_missing_libraries_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "own" / "a.csv", table())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"a \.csv file needs pyarrow: pip .*'\.\[df\]'"):
        find(tmp_path)
    for name in ("sklearn", "sklearn.datasets"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"data.bundled needs scikit-learn"):
        find_problems(DataSelection(bundled=True), folder=tmp_path, seed=0)


def test_import_loads_no_library_of_an_extra() -> None:
    code = (
        "import fastad.study.problems, fastad.study.split, sys; "
        "assert not {'sklearn', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""The data of a study: which problems files hold, and which rows train and test."""

import dataclasses
import math
import pickle
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet
from sklearn import datasets

from fastad.errors import InvalidInputError, MissingExtraError
from fastad.study.data import read_data
from fastad.study.problems import DataSelection, FoundProblems, Problem, find_problems
from fastad.study.split import Protocol, Split, split_problem, standardized

Matrix = npt.NDArray[np.float64]

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not here")
KINDS = ("npz", "csv", "parquet")
PLAIN = Protocol(standardize=False)


# --- files of data


def table(n_normals: int = 20, n_anomalies: int = 6, d: int = 3, seed: int = 0) -> dict[str, Any]:
    """Make arrays of a data set, mixed rows of numbers that are short in decimals."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [n_normals, n_anomalies])).astype(np.uint8)
    return {"X": rng.integers(-900, 900, (y.shape[0], d)) / 8, "y": y}


def classed(sizes: dict[str, int], n_normals: int = 20, seed: int = 0) -> dict[str, Any]:
    """Make arrays of a data set with classes of so many anomalies, mixed."""
    rng = np.random.default_rng(seed)
    arrays = table(n_normals, sum(sizes.values()), seed=seed)
    classes = np.full(arrays["y"].shape[0], "usual", "<U9")
    classes[arrays["y"] == 1] = rng.permutation(np.repeat(list(sizes), list(sizes.values())))
    return {**arrays, "cls": classes}


def graded(sizes: dict[str, int], n_normals: int = 20) -> dict[str, Any]:
    """Make arrays of a data set with so many anomalies of each grade."""
    arrays = classed(sizes, n_normals)
    grades = np.where(arrays["y"] == 1, arrays.pop("cls"), "")
    return {**arrays, "difficulty": grades}


def columns(arrays: dict[str, Any]) -> dict[str, Any]:
    features = {f"f{i}": column for i, column in enumerate(np.asarray(arrays["X"]).T)}
    return {**features, **{name: values for name, values in arrays.items() if name != "X"}}


def write(path: Path, arrays: dict[str, Any]) -> Path:
    """Write a data set as the kind of file that the path says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npz":
        np.savez_compressed(path, **arrays)
    elif path.suffix == ".csv":
        csv.write_csv(pa.table(columns(arrays)), path)
    else:
        parquet.write_table(pa.table(columns(arrays)), path)
    return path


def find(folder: Path, *paths: str, seed: int = 1, **options: Any) -> FoundProblems:
    selection = DataSelection(paths=paths or (".",), **options)
    return find_problems(selection, folder=folder, seed=seed)


def names(problems: FoundProblems) -> list[str]:
    return [one.name for one in problems.problems]


# --- problems


def test_a_file_without_classes_is_one_problem(tmp_path: Path) -> None:
    arrays = table()
    path = write(tmp_path / "own" / "plain.npz", arrays)
    problems = find(tmp_path, "own")
    (one,) = problems.problems
    assert one == Problem("own", "plain", None, 20, 6, 3, str(path), one.digest, ())
    assert one.name == "own/plain"
    assert problems.notes == []
    X, y = one.load()
    np.testing.assert_array_equal(X, arrays["X"])
    np.testing.assert_array_equal(y, arrays["y"])
    assert [X.dtype, y.dtype] == [np.dtype(np.float64), np.dtype(np.uint8)]


@pytest.mark.parametrize("kind", KINDS)
def test_each_class_of_anomalies_is_a_problem_with_all_normal_rows(
    tmp_path: Path, kind: str
) -> None:
    arrays = classed({"10": 4, "2": 5, "b": 3})
    write(tmp_path / "own" / f"many.{kind}", arrays)
    problems = find(tmp_path)
    assert names(problems) == ["own/many (10)", "own/many (2)", "own/many (b)"]
    for one in problems.problems:
        X, y = one.load()
        keep = (arrays["y"] == 0) | (arrays["cls"] == one.anomaly_class)
        np.testing.assert_array_equal(X, arrays["X"][keep])
        np.testing.assert_array_equal(y, arrays["y"][keep])
        assert one.n_anomalies == y.sum() == {"10": 4, "2": 5, "b": 3}[str(one.anomaly_class)]
        assert (one.n_normals, one.n_features) == (20, 3)


@pytest.mark.parametrize("arrays", [table(), classed({"1": 3, "02": 4}), graded({"hard": 5})])
def test_kinds_of_files_hold_the_same(tmp_path: Path, arrays: dict[str, Any]) -> None:
    first, *others = [read_data(write(tmp_path / f"own.{kind}", arrays)) for kind in KINDS]
    for other in others:
        assert other.digest() == first.digest()
        for one in dataclasses.fields(other):
            np.testing.assert_array_equal(getattr(other, one.name), getattr(first, one.name))


def test_types_of_numbers_make_no_difference(tmp_path: Path) -> None:
    arrays = table()
    arrays["X"] = np.round(arrays["X"])
    want = read_data(write(tmp_path / "a.npz", arrays)).digest()
    for kind in (np.int16, np.int64, np.float32, ">f8"):
        for label in (np.bool_, np.float64, np.int64):
            changed = {"X": np.asfortranarray(arrays["X"].astype(kind))}
            changed["y"] = arrays["y"].astype(label)
            assert read_data(write(tmp_path / "b.npz", changed)).digest() == want


def test_digests_differ_with_the_content(tmp_path: Path) -> None:
    arrays = classed({"a": 3, "b": 4})
    moved = {**arrays, "X": arrays["X"] + np.eye(27, 3)[::-1]}
    relabelled = {**arrays, "cls": np.where(arrays["cls"] == "a", "c", arrays["cls"])}
    plain = {name: arrays[name] for name in "Xy"}
    turned = {"X": plain["X"], "y": 1 - plain["y"]}
    digests = {
        read_data(write(tmp_path / "a.npz", one)).digest()
        for one in (arrays, moved, relabelled, plain, turned)
    }
    assert len(digests) == 5


def test_classes_may_be_whole_numbers_or_categories(tmp_path: Path) -> None:
    arrays = classed({"1": 3, "2": 4})
    numbers = np.where(arrays["cls"] == "usual", "0", arrays["cls"]).astype(np.int64)
    write(tmp_path / "own" / "a.npz", {**arrays, "cls": numbers})
    columns_ = {**columns(arrays), "cls": pa.array(arrays["cls"].tolist()).dictionary_encode()}
    parquet.write_table(pa.table(columns_), tmp_path / "own" / "b.parquet")
    assert names(find(tmp_path)) == ["own/a (1)", "own/a (2)", "own/b (1)", "own/b (2)"]


def test_names_of_classes_in_csv_files_stay_as_they_are(tmp_path: Path) -> None:
    lines = ["f,y,cls", *["1,0,0"] * 20, *["2,1,01"] * 2, *["3,1,1"] * 2, *["4,1,NA"] * 2]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    problems = find(tmp_path, "a.csv").problems
    assert [one.anomaly_class for one in problems] == ["01", "1", "NA"]


def test_problems_are_sorted_whatever_the_order_of_paths(tmp_path: Path) -> None:
    for name in ("b/two", "a/z", "b/One", "a/deep/y"):
        write(tmp_path / f"{name}.npz", table())
    want = ["a/z", "b/One", "b/two", "deep/y"]
    assert names(find(tmp_path)) == want
    # What is found twice is one data set.
    assert names(find(tmp_path, "b", "a", "b/two.npz", "a/../b")) == want


def test_hidden_and_other_files_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "own" / "a.npz", table())
    (tmp_path / "own" / ".fastad-0.npz").write_bytes(b"half")
    (tmp_path / "own" / "README.md").write_text("text")
    write(tmp_path / ".venv" / "b.npz", table())
    assert names(find(tmp_path)) == ["own/a"]
    assert names(find(tmp_path, ".venv")) == [".venv/b"]


def test_patterns_choose_data_sets_before_they_are_read(tmp_path: Path) -> None:
    for name in ("uci/ecoli", "uci/iris", "uci-umap/ecoli"):
        write(tmp_path / f"{name}.npz", table())
    (tmp_path / "uci" / "damaged.npz").write_bytes(b"nothing")
    ecoli = find(tmp_path, include=("*/ecoli",))
    assert names(ecoli) == ["uci/ecoli", "uci-umap/ecoli"]
    chosen = find(tmp_path, include=("uci/*",), exclude=("*/dam*", "uci/ecoli", "uci/Iris"))
    assert names(chosen) == ["uci/iris"]
    assert chosen.notes == ["data.exclude: 'uci/Iris' matches no data set"]


def test_small_classes_are_left_out_with_a_remark(tmp_path: Path) -> None:
    write(tmp_path / "own" / "a.npz", classed({"a": 1, "b": 3, "c": 2}))
    assert names(find(tmp_path)) == ["own/a (b)", "own/a (c)"]
    three = find(tmp_path, min_anomalies=3)
    assert names(three) == ["own/a (b)"]
    assert three.notes == [
        "own/a: 2 of 3 classes left out with fewer than 3 anomalies: a (1), c (2)"
    ]
    assert len(find(tmp_path, min_anomalies=1).problems) == 3


def test_classes_are_drawn_by_the_seed_and_the_name(tmp_path: Path) -> None:
    sizes = dict.fromkeys("abcdefghij", 2) | {"k": 1}
    for name in ("own/a", "own/b"):
        write(tmp_path / f"{name}.npz", classed(sizes))
    both = find(tmp_path, max_subproblems=4)
    alone = find(tmp_path, "own/b.npz", max_subproblems=4)
    drawn = [one.anomaly_class for one in alone.problems]
    assert len(drawn) == 4
    assert drawn == sorted(set(map(str, drawn)))
    assert both.problems[4:] == alone.problems
    assert [one.anomaly_class for one in both.problems[:4]] != drawn
    assert alone.notes[1] == f"own/b: 4 of 10 classes drawn: {', '.join(map(str, drawn))}"
    # Over seeds each class comes as often as any other, and never the one that is too small.
    draws = [find(tmp_path, "own/b.npz", max_subproblems=4, seed=seed) for seed in range(100)]
    counts = [sum(f"own/b ({one})" in names(draw) for draw in draws) for one in "abcdefghijk"]
    assert counts[-1] == 0
    assert all(20 < count < 60 for count in counts[:-1])
    assert len(find(tmp_path, "own/b.npz", max_subproblems=10).problems) == 10


def test_grades_choose_anomalies_of_graded_files_alone(tmp_path: Path) -> None:
    arrays = graded({"easy": 5, "hard": 3, "very_hard": 1})
    write(tmp_path / "own" / "graded.npz", arrays)
    write(tmp_path / "own" / "plain.npz", table())
    all_of_them = find(tmp_path)
    assert [one.n_anomalies for one in all_of_them.problems] == [9, 6]
    some = find(tmp_path, difficulties=("very_hard", "easy"))
    assert [one.n_anomalies for one in some.problems] == [6, 6]
    assert [one.difficulties for one in some.problems] == [("very_hard", "easy"), ()]
    X, y = some.problems[0].load()
    keep = arrays["difficulty"] != "hard"
    np.testing.assert_array_equal(X, arrays["X"][keep])
    np.testing.assert_array_equal(y, arrays["y"][keep])
    few = find(tmp_path, difficulties=("very_hard",))
    assert names(few) == ["own/plain"]
    assert few.notes == ["own/graded: left out: 1 anomalies of difficulty very_hard, fewer than 2"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_grades_of_normal_rows_may_be_missing(tmp_path: Path, kind: str) -> None:
    arrays = graded({"easy": 2, "hard": 3})
    grades = [grade or None for grade in arrays["difficulty"].tolist()]
    write(tmp_path / "own" / f"a.{kind}", {**arrays, "difficulty": grades})
    (one,) = find(tmp_path, difficulties=("hard",)).problems
    assert one.n_anomalies == 3


def test_problems_are_picklable_and_light(tmp_path: Path) -> None:
    write(tmp_path / "own" / "a.npz", classed({"a": 3, "b": 4}))
    problems = find(tmp_path).problems
    text = pickle.dumps(problems[0])
    assert len(text) < 1000
    again = pickle.loads(text)
    assert again == problems[0]
    np.testing.assert_array_equal(again.load()[0], problems[0].load()[0])


def test_sub_problems_read_a_file_once(tmp_path: Path) -> None:
    path = write(tmp_path / "own" / "a.npz", classed({"a": 3, "b": 4}))
    one, other = find(tmp_path).problems
    one.load()
    path.unlink()
    assert other.load()[1].sum() == 4


def test_what_is_loaded_cannot_be_written_to(tmp_path: Path) -> None:
    write(tmp_path / "own" / "a.npz", classed({"a": 3, "b": 4}))
    write(tmp_path / "own" / "b.npz", table())
    for one in find(tmp_path).problems:
        assert not any(array.flags.writeable for array in one.load())


def test_files_that_change_are_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "own" / "a.npz", table())
    (before,) = find(tmp_path).problems
    write(path, table(seed=1))
    with pytest.raises(InvalidInputError, match=r"a\.npz: the data must be those that were found"):
        before.load()
    (after,) = find(tmp_path).problems
    np.testing.assert_array_equal(after.load()[0], table(seed=1)["X"])


# --- data sets that come with scikit-learn


def test_bundled_data_sets() -> None:
    problems = find_problems(DataSelection(bundled=True), folder=Path(), seed=0)
    sizes = {one.name: (one.n_normals, one.n_anomalies) for one in problems.problems}
    assert len(sizes) == 1 + 1 + 9 + 2 + 2
    assert sizes["scikit-learn/breast-cancer"] == (357, 212)
    # Three and five are not alike: the largest class is normal.
    assert sizes["scikit-learn/digits (5)"] == (183, 182)
    assert "scikit-learn/digits (3)" not in sizes
    # Setosa is the first among equals.
    assert sizes["scikit-learn/iris (versicolor)"] == (50, 50)
    assert sizes["scikit-learn/iris (virginica)"] == (50, 50)
    assert sizes["scikit-learn/wine (class_0)"] == (71, 59)
    assert sizes["scikit-learn/wine (class_2)"] == (71, 48)
    assert {one.source for one in problems.problems if one.dataset == "iris"} == {"bundled:iris"}
    iris = next(one for one in problems.problems if one.anomaly_class == "virginica")
    X, y = iris.load()
    data = datasets.load_iris()
    np.testing.assert_array_equal(X, data.data[data.target != 1])
    np.testing.assert_array_equal(y, data.target[data.target != 1] == 2)


def test_the_upper_tenth_of_diabetes_is_anomalous() -> None:
    selection = DataSelection(bundled=True, include=("*/diabetes",))
    (one,) = find_problems(selection, folder=Path(), seed=0).problems
    y = one.load()[1]
    target = datasets.load_diabetes().target
    assert y.sum() == 44
    assert target[y == 1].min() > target[y == 0].max()


def test_bundled_data_sets_and_files_go_together(tmp_path: Path) -> None:
    write(tmp_path / "scikit-learn" / "own.npz", table())
    both = find(tmp_path, bundled=True, include=("*/own", "scikit-learn/iris"))
    assert len(both.problems) == 3
    write(tmp_path / "scikit-learn" / "iris.npz", table())
    with pytest.raises(InvalidInputError, match=r"'scikit-learn/iris' twice: .*bundled:iris"):
        find(tmp_path, bundled=True)


# --- the shared data


def readme_rows() -> dict[str, Sequence[str]]:
    """Return the rows of the README's tables, by the names of data sets."""
    rows: dict[str, Sequence[str]] = {}
    collection = ""
    for line in (SHARED / "README.md").read_text("utf-8").splitlines():
        if heading := re.match(r"### `([\w-]+)/`", line):
            collection = heading[1]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if collection and len(cells) == 8 and cells[2].isdigit():
            rows[f"{collection}/{cells[0]}"] = cells
    return rows


@needs_shared
def test_all_shared_files_are_what_their_readme_says() -> None:
    paths = ("uci", "uci-umap", "adbench", "goix")
    problems = find(SHARED, *paths, min_anomalies=2).problems
    by_name: dict[str, list[Problem]] = {}
    for one in problems:
        by_name.setdefault(f"{one.collection}/{one.dataset}", []).append(one)
    rows = readme_rows()
    assert len(by_name) == 97
    assert by_name.keys() - rows.keys() == {"goix/adult", "goix/arrhythmia"}
    for name, (_, _, n_normals, n_anomalies, d, n_classes, _, notes) in rows.items():
        several = by_name[name]
        assert {(one.n_normals, one.n_features) for one in several} == {(int(n_normals), int(d))}
        sizes = [one.n_anomalies for one in several]
        assert sum(sizes) == int(n_anomalies)
        assert len(several) == int(n_classes) - 1
        if sub := re.search(r"(\d+) sub-problems of (\d+)(?:\u2013(\d+))? anomalies", notes):
            assert len(several) == int(sub[1])
            assert (min(sizes), max(sizes)) == (int(sub[2]), int(sub[3] or sub[2]))
        else:
            assert several[0].anomaly_class is None


@needs_shared
def test_grades_of_a_shared_file() -> None:
    chosen = find(SHARED, "uci", include=("uci/abalone",), difficulties=("easy", "hard"))
    (one,) = chosen.problems
    assert one.n_anomalies == one.load()[1].sum() == 7 + 955


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"paths": "uci"}, "data.paths must be a list of strings; found str"),
        ({"paths": [1]}, "data.paths[0] must be a string; found int"),
        ({"include": ("a", "")}, "data.include[1] must not be empty"),
        ({"exclude": None}, "data.exclude must be a list of strings; found NoneType"),
        ({"bundled": 1}, "data.bundled must be True or False; found int"),
        ({"max_subproblems": 0}, "data.max_subproblems must be at least 1; found 0"),
        ({"min_anomalies": 2.5}, "data.min_anomalies must be an integer; found float"),
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", list(bad_arrays()))
def test_data_that_are_refused(tmp_path: Path, case: str, kind: str) -> None:
    arrays, message = bad_arrays()[case]
    path = write(tmp_path / "own" / f"a.{kind}", arrays)
    with pytest.raises(InvalidInputError, match=re.escape(message)) as caught:
        find(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")


def without(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: values for key, values in arrays.items() if key != name}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (without(table(), "X"), "must contain the arrays X and y; found no X, but y"),
        ({"labels": np.zeros(3)}, "found no X and no y, but labels"),
        (
            {**table(), "X": np.zeros(26)},
            "X must have the shape (n_rows, n_features); found (26,)",
        ),
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
        ({**table(), "cls": np.array(["a"] * 26, object)}, "cannot be read as a .npz file"),
    ],
)
def test_arrays_that_are_refused(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    write(tmp_path / "own" / "a.npz", arrays)
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        find(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "must have a column y and at least one feature; found a, b"),
        ("y,cls\n1,2\n", "must have a column y and at least one feature; found y, cls"),
        ("a,y,a\n1,0,2\n", "columns must have different names; found 2 of 'a'"),
        (",a,y\n0,1,0\n", "found '', which pandas calls an index"),
        ("a,y\n1,0\nred,1\n", "column 'a' must contain numbers; found string, the first at row 1"),
        ("a,y\n1,no\n", "column 'y' must contain numbers; found string, the first at row 0: 'no'"),
        ("a,y\n2020-01-01,0\n", "column 'a' must contain numbers; found date32"),
        ("a,b,y\n1,2,0\n1,,1\n1,,1\n", "found 2 that are missing, NaN, infinite or larger, the"),
        ("a,b,y\n1,2,0\n1,nan,1\n", "the first at row 1, column 'b': nan"),
        ("a,y\n1,0\n1,\n", "y must contain 0 (normal) and 1 (anomaly); found 1 other values, the"),
        ("a,y\n", "found no rows"),
        ("", "cannot be read as a .csv file: Empty CSV file"),
        ("a,y\n1,2,3\n", "cannot be read as a .csv file: CSV parse error"),
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
        InvalidInputError, match=r"cls must contain strings or .*; found None at row 4"
    ):
        find(tmp_path)


@pytest.mark.parametrize("kind", ["npz", "parquet"])
@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_damaged_files_are_named(tmp_path: Path, kind: str, damage: str) -> None:
    path = write(tmp_path / "own" / f"a.{kind}", table(200, 50, 10))
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "changed":
        content[80:200] = bytes(120)
    else:
        content = bytearray(b"not what the suffix says, at all")
    path.write_bytes(content)
    message = rf"{re.escape(str(path))}: cannot be read as a \.{kind} file: "
    with pytest.raises(InvalidInputError, match=message):
        find(tmp_path)


def test_missing_libraries_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "own" / "a.csv", table())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"csv files need pyarrow: pip .*fastad\[study\]"):
        find(tmp_path)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"data.bundled needs scikit-learn"):
        find_problems(DataSelection(bundled=True), folder=tmp_path, seed=0)


def test_import_loads_no_library_of_an_extra() -> None:
    code = (
        "import fastad.study.problems, fastad.study.split, sys; "
        "assert not {'sklearn', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- the protocol


def decimal(value: float | Fraction) -> Fraction:
    return Fraction(repr(float(value)))


def expected_counts(n: int, m: int, contamination: float, protocol: Protocol) -> tuple[int, ...]:
    """Count normal rows and anomalies in training and in test: points 5 to 7 of the README."""
    share = math.floor(decimal(protocol.train_fraction) * n)

    def in_training(n_train: int) -> int:
        return min(math.floor(decimal(contamination) * n_train), m // 2)

    limit = math.inf if protocol.max_train is None else protocol.max_train
    n_train = max(k for k in range(share + 1) if k + in_training(k) <= limit)
    most = math.inf if protocol.max_test is None else protocol.max_test
    n_test, m_test = min(n - share, most), min(m - in_training(n_train), most)
    return n_train, in_training(n_train), int(n_test), int(m_test)


def numbered(n: int, m: int, seed: int = 0) -> tuple[Matrix, npt.NDArray[np.uint8]]:
    """Rows that hold their numbers, so that it shows where each went."""
    y = np.random.default_rng(seed).permutation(np.repeat([0, 1], [n, m])).astype(np.uint8)
    return np.arange(n + m, dtype=np.float64)[:, None], y


def cut(
    n: int, m: int, c: float = 0.0, repeat: int = 1, protocol: Protocol = PLAIN, key: int = 5
) -> Split:
    X, y = numbered(n, m)
    return split_problem(X, y, contamination=c, repeat=repeat, seed_key=(key, 7), protocol=protocol)


def parts(split: Split) -> list[list[int]]:
    """Return the rows in training and test: normal ones, anomalies, normal ones, anomalies."""
    n_train = split.X_train.shape[0] - split.n_train_anomalies
    train, test = split.X_train[:, 0].astype(int), split.X_test[:, 0].astype(int)
    return [
        rows.tolist()
        for rows in (
            train[:n_train],
            train[n_train:],
            test[split.y_test == 0],
            test[split.y_test == 1],
        )
    ]


sizes = st.integers(10, 400)
rates = st.sampled_from([0.0, 0.01, 0.05, 0.07, 0.29, 0.3, 1.0])
limits = st.none() | st.integers(4, 300)


@settings(max_examples=200, deadline=None)
@given(
    n=sizes,
    m=st.integers(1, 200),
    c=rates,
    share=st.sampled_from([0.2, 0.29, 0.5, 0.57, 0.6, 0.8, 0.9, 0.99]),
    max_train=limits,
    max_test=st.none() | st.integers(1, 100),
)
def test_rows_go_where_the_protocol_says(
    n: int, m: int, c: float, share: float, max_train: int | None, max_test: int | None
) -> None:
    protocol = Protocol(share, max_train=max_train, max_test=max_test, standardize=False)
    split = cut(n, m, c, protocol=protocol)
    found_parts = parts(split)
    assert tuple(map(len, found_parts)) == expected_counts(n, m, c, protocol)
    _, y = numbered(n, m)
    for rows, label in zip(found_parts, (0, 1, 0, 1), strict=True):
        assert all(y[row] == label for row in rows)
    everywhere = [row for rows in found_parts for row in rows]
    assert len(set(everywhere)) == len(everywhere)
    assert split.y_test.dtype == np.uint8
    for X in split[:2]:
        assert X.dtype == np.float64
        assert X.flags.c_contiguous
        assert X.flags.writeable


def test_examples_of_the_protocol() -> None:
    # 0.29 of 100 normal rows is 29, although the float is less.
    protocol = Protocol(0.29, contaminations=(0.07,), standardize=False)
    assert [len(rows) for rows in parts(cut(100, 50, protocol=protocol))] == [29, 0, 71, 50]
    assert [len(rows) for rows in parts(cut(125, 50, 0.07))] == [100, 7, 25, 43]
    # A ratio to the normal rows of training; at most half of the anomalies.
    assert [len(rows) for rows in parts(cut(1000, 90, 0.05))] == [800, 40, 200, 50]
    assert [len(rows) for rows in parts(cut(1000, 15, 0.05))] == [800, 7, 200, 8]
    small = dataclasses.replace(PLAIN, max_train=105, max_test=30)
    assert [len(rows) for rows in parts(cut(1000, 90, 0.05, protocol=small))] == [100, 5, 30, 30]
    assert [len(rows) for rows in parts(cut(1000, 6, 0.05, protocol=small))] == [102, 3, 30, 3]


@settings(max_examples=50, deadline=None)
@given(n=sizes, m=st.integers(2, 100), max_train=limits, max_test=limits)
def test_contaminations_of_a_repeat_share_their_rows(
    n: int, m: int, max_train: int | None, max_test: int | None
) -> None:
    whole = parts(cut(n, m, protocol=PLAIN))
    protocol = dataclasses.replace(PLAIN, max_train=max_train, max_test=max_test)
    clean = parts(cut(n, m, protocol=protocol))
    before = clean
    for c in (0.01, 0.05, 0.5):
        these = parts(cut(n, m, c, protocol=protocol))
        # Fewer normal rows train, the first of them; the same ones test.
        assert these[0] == before[0][: len(these[0])] == whole[0][: len(these[0])]
        assert these[2] == clean[2]
        assert set(before[1]) <= set(these[1])
        assert these[3] == clean[3][: len(these[3])]
        before = these
    # The normal rows that the limit takes from training do not test.
    assert clean[2] == whole[2][:max_test]


def test_splits_depend_on_the_seeds_and_the_repeat_alone() -> None:
    one = cut(100, 40, 0.05, 3)
    cut(50, 10, 0.0, 1)
    again = cut(100, 40, 0.05, 3)
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert parts(one) != parts(cut(100, 40, 0.05, 4))
    assert parts(one) != parts(cut(100, 40, 0.05, 3, key=6))
    X, y = numbered(100, 40)
    other = split_problem(X, y, contamination=0.05, repeat=3, seed_key=(5, 8), protocol=PLAIN)
    assert parts(one) != parts(other)
    # The global state of NumPy has no part in it.
    np.random.seed(0)  # noqa: NPY002
    state = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    assert parts(cut(100, 40, 0.05, 3)) == parts(one)
    assert np.random.get_state()[1].tolist() == state  # type: ignore[index]  # noqa: NPY002


def test_each_row_trains_as_often_as_any_other() -> None:
    _, y = numbered(50, 20)
    times = np.zeros(70)
    n_repeats = 400
    for repeat in range(1, n_repeats + 1):
        train_normals, train_anomalies, *_ = parts(cut(50, 20, 0.1, repeat))
        times[train_normals + train_anomalies] += 1
    # Four of five normal rows, four of twenty anomalies; five deviations around.
    for label, share in ((0, 0.8), (1, 0.2)):
        spread = 5 * math.sqrt(n_repeats * share * (1 - share))
        assert np.all(np.abs(times[y == label] - n_repeats * share) < spread)


def standardized_slowly(X: Matrix) -> Matrix:
    """Point 4 of the README, a feature at a time."""
    scaled = np.empty_like(X)
    for j, column in enumerate(X.T.tolist()):
        mean, variance = statistics.mean(column), statistics.variance(column)
        deviation = 1.0 if variance <= 1e-15 else math.sqrt(variance)
        for i, value in enumerate(column):
            centred = 0.0 if abs(value - mean) <= 1e-8 else value - mean
            scaled[i, j] = centred / deviation
    return scaled


def test_features_are_standardized_over_all_rows() -> None:
    X, y = numbered(60, 20)
    rng = np.random.default_rng(0)
    tiny = np.where(X[:, 0] == 0, 1e-8 * 3, 0.0)  # a variance of 1e-17: not divided
    small = rng.normal(size=80) * 1e-7  # a variance of 1e-14: divided, some of it 0
    constant = np.full(80, 1e15 / 3)  # its mean is not it, as sums are rounded
    X = np.column_stack([X, rng.exponential(size=80) + 1e6, constant, tiny, small])
    want = standardized_slowly(X)
    np.testing.assert_allclose(standardized(X), want, rtol=1e-9, atol=1e-12)
    assert not standardized(X)[:, 2].any()
    assert np.count_nonzero(standardized(X)[:, 3]) == 1
    assert 0 < np.count_nonzero(want[:, 4] == 0) == np.count_nonzero(standardized(X)[:, 4] == 0)
    before = X.copy()
    arguments: dict[str, Any] = {"contamination": 0.05, "repeat": 2, "seed_key": (1,)}
    plain = split_problem(X, y, protocol=PLAIN, **arguments)
    split = split_problem(X, y, protocol=Protocol(), **arguments)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(plain.y_test, split.y_test)
    for rows, scaled in zip(plain[:2], split[:2], strict=True):
        np.testing.assert_allclose(scaled, want[rows[:, 0].astype(int)], rtol=1e-9, atol=1e-12)


def test_one_hot_and_label_columns_have_unit_variance_with_test_rows() -> None:
    X, y = numbered(60, 20)
    X = np.column_stack([X % 2, y])
    split = split_problem(X, y, contamination=0.0, repeat=1, seed_key=(1,), protocol=Protocol())
    rows = np.concatenate([split.X_train, split.X_test])
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows.var(axis=0, ddof=1), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_fraction": 1.0}, "protocol.train_fraction must lie strictly between 0 and 1"),
        ({"train_fraction": 0.1}, "protocol.train_fraction must be at least 0.2; found 0.1"),
        ({"train_fraction": "0.8"}, "protocol.train_fraction must be a number; found str"),
        ({"contaminations": 0.1}, "protocol.contaminations must be a list of numbers; found float"),
        ({"contaminations": ()}, "protocol.contaminations must be different numbers, at least one"),
        ({"contaminations": (0, 0.0)}, "must be different numbers, at least one; found (0, 0.0)"),
        ({"contaminations": (0.1, 1.5)}, "protocol.contaminations[1] must lie in [0, 1]"),
        ({"contaminations": (True,)}, "protocol.contaminations[0] must be a number; found bool"),
        ({"repeats": 0}, "protocol.repeats must be at least 1; found 0"),
        ({"max_train": 3}, "protocol.max_train must be at least 4; found 3"),
        ({"max_train": 1e4}, "protocol.max_train must be an integer; found float"),
        ({"max_test": 0}, "protocol.max_test must be at least 1; found 0"),
        ({"standardize": "yes"}, "protocol.standardize must be True or False; found str"),
    ],
)
def test_protocols_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=re.escape(message)):
        Protocol(**options)


def test_contaminations_of_a_configuration_become_floats() -> None:
    lists: dict[str, Any] = {"contaminations": [0, 0.05]}
    rates_found = Protocol(**lists).contaminations
    assert rates_found == (0.0, 0.05)
    assert [type(rate) for rate in rates_found] == [float, float]


@pytest.mark.parametrize(("n", "m"), [(2, 5), (0, 5), (50, 0)])
def test_too_few_rows_are_refused(n: int, m: int) -> None:
    message = f"found {n} normal rows and {m} anomalies"
    with pytest.raises(InvalidInputError, match=message):
        cut(n, m)


def test_the_smallest_problem_can_be_split_by_any_protocol() -> None:
    for protocol in (Protocol(0.2), Protocol(0.99), Protocol(max_train=4, max_test=1)):
        for c in (0.0, 1.0):
            n_train, _, n_test, m_test = expected_counts(10, 1, c, protocol)
            assert n_train >= 2
            assert min(n_test, m_test) >= 1
            split = cut(10, 1, c, protocol=protocol)
            assert split.X_train.shape[0] == n_train


def test_repeats_and_ratios_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="repeat must be at least 1; found 0"):
        cut(20, 5, repeat=0)
    with pytest.raises(InvalidInputError, match=r"contamination must lie in \[0, 1\]; found 1.5"):
        cut(20, 5, c=1.5)


def test_results_of_a_study_are_no_data(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", X=np.arange(40.0).reshape(20, 2), y=np.repeat([0, 1], [15, 5]))
    (tmp_path / "study" / "parts").mkdir(parents=True)
    (tmp_path / "study" / "study.json").write_text("{}")
    for name in ("results.parquet", "parts/one.parquet"):
        (tmp_path / "study" / name).write_bytes(b"no data")
    find = find_problems(DataSelection(paths=(str(tmp_path),)), folder=tmp_path, seed=0)
    assert [one.dataset for one in find.problems] == ["own"]

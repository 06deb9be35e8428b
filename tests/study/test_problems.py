"""The problems of a study: which files, classes and grades of anomalies."""

import dataclasses
import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn import datasets

from fastad.errors import InvalidInputError
from fastad.study.data import read_data
from fastad.study.problems import DataSelection, Problem, find_problems
from tests.support.data_files import KINDS, classed, columns, find, graded, names, table, write
from tests.support.shared_data import DATA, needs_shared_data


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


def test_classes_may_be_integers_or_categories(tmp_path: Path) -> None:
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


def test_small_classes_are_left_out_with_a_note(tmp_path: Path) -> None:
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
    problems = find(tmp_path).problems
    assert len(problems) == 3
    for one in problems:
        assert not any(array.flags.writeable for array in one.load())


def test_files_that_change_are_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "own" / "a.npz", table())
    (before,) = find(tmp_path).problems
    write(path, table(seed=1))
    with pytest.raises(InvalidInputError, match=r"a\.npz: the data must be those that were found"):
        before.load()
    (after,) = find(tmp_path).problems
    np.testing.assert_array_equal(after.load()[0], table(seed=1)["X"])


# Data sets that come with scikit-learn.


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


# The shared data.


def readme_rows() -> dict[str, Sequence[str]]:
    """Return the rows of the README's tables, by the names of data sets."""
    rows: dict[str, Sequence[str]] = {}
    collection = ""
    for line in (DATA / "README.md").read_text("utf-8").splitlines():
        if heading := re.match(r"### `([\w-]+)/`", line):
            collection = heading[1]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if collection and len(cells) == 8 and cells[2].isdigit():
            rows[f"{collection}/{cells[0]}"] = cells
    return rows


@pytest.mark.slow
@needs_shared_data
def test_all_shared_files_are_what_their_readme_says() -> None:
    paths = ("uci", "uci-umap", "adbench", "goix")
    problems = find(DATA, *paths, min_anomalies=2).problems
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


@needs_shared_data
def test_grades_of_a_shared_file() -> None:
    chosen = find(DATA, "uci", include=("uci/abalone",), difficulties=("easy", "hard"))
    (one,) = chosen.problems
    assert one.n_anomalies == one.load()[1].sum() == 7 + 955


def test_results_of_a_study_are_no_data(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", X=np.arange(40.0).reshape(20, 2), y=np.repeat([0, 1], [15, 5]))
    (tmp_path / "study" / "parts").mkdir(parents=True)
    (tmp_path / "study" / "study.json").write_text("{}")
    for name in ("results.parquet", "parts/one.parquet"):
        (tmp_path / "study" / name).write_bytes(b"no data")
    find = find_problems(DataSelection(paths=(str(tmp_path),)), folder=tmp_path, seed=0)
    assert [one.dataset for one in find.problems] == ["own"]

"""Files of scores: formats, parts, columns, groups, and everything that can be wrong with them."""

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from pyarrow import parquet

import fastad
from fastad import streaming
from fastad._tables import columnar
from fastad._tables.columns import Labels, Numbers, Role
from fastad._tables.table import Batch, Table
from fastad.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from fastad.streaming.large_files.evaluation import split
from tests.support.loops import loop
from tests.support.processes import run
from tests.support.score_files import FORMATS, check_bounds, defined, save, save_parts

RNG = np.random.default_rng(1)
N = 1500
Y = (RNG.random(N) < 0.2).astype(np.int64)
S = RNG.normal(size=N) + Y
COLUMNS: dict[str, npt.NDArray[Any]] = {
    "y": Y,
    "score": S,
    "other": np.round(-S, 1),
    "count": np.floor(RNG.uniform(0, 50, N)),
}
MEASURES = ["auc", "ap", "tpr@0.2"]


def evaluate(source: Any, **options: Any) -> streaming.StreamedEvaluation:
    return streaming.evaluate(source, **{"measures": MEASURES, **options})


def refused(source: Any, *parts: object, argument: str = "source", **options: Any) -> str:
    """Check that files or arguments are refused with a message that has some parts."""
    with pytest.raises((InvalidInputError, InvalidTypeError)) as error:
        evaluate(source, **options)
    assert error.value.argument == argument
    message = str(error.value)
    for part in parts:
        assert str(part) in message
    return message


def check_exact(
    result: streaming.StreamedEvaluation, columns: dict[str, Any] | None = None
) -> None:
    columns = COLUMNS if columns is None else columns
    for name, table in result.items():
        y, s = columns["y"], columns[name]
        assert check_bounds(table, y, s) >= defined(MEASURES, y, s) == set(MEASURES)


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let batches be short."""
    monkeypatch.setattr(columnar, "_ROWS", 101)


# What can be read.


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("suffix", FORMATS)
def test_formats(tmp_path: Path, suffix: str, *, exact: bool) -> None:
    path = save(tmp_path / f"scores{suffix}", COLUMNS)
    result = evaluate(path, exact=exact, memory="60kB")
    assert list(result) == ["score", "other", "count"]
    if exact:
        check_exact(result)
    else:
        assert result.n_passes == 1
        assert not result["score"]["auc"].is_exact
        for name, table in result.items():
            check_bounds(table, Y, COLUMNS[name])


@pytest.mark.parametrize("late", [0, 1])
def test_one_class_may_come_late(tmp_path: Path, late: int) -> None:
    order = np.argsort(late == Y, kind="stable")
    columns = {name: each[order] for name, each in COLUMNS.items()}
    folder = save_parts(tmp_path / "lake", columns, [500, 1000], ".parquet")
    check_exact(evaluate(folder, exact=True, memory="60kB"))


@pytest.mark.usefixtures("few_rows")
@loop("labels, pos_label", [(Y * 3, 3), (1 - Y, 0), (Y == 0, False), (0.5 - 2 * Y, -1.5)])
def test_labels_of_any_type(tmp_path: Path, labels: Any, pos_label: Any) -> None:
    path = save(tmp_path / "scores.parquet", {"is bad": labels, "score": S})
    options = {"label_column": "is bad", "pos_label": pos_label, "score_columns": "score"}
    check_exact(evaluate(path, exact=True, **options))


def test_text_whose_columns_are_in_another_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("y,score\n0,1\n1,2\n")
    # Behind the first block, from which the types are taken.
    (tmp_path / "b.csv").write_text("score,y\n" + "3,0\n8,1\n" * 150_000 + "8.25,1\n")
    y, s = np.append(np.tile([0, 1], 150_001), 1), np.tile([3.0, 8.0], 150_001)
    s = np.append(s, 8.25)
    s[:2] = 1, 2
    assert check_bounds(evaluate(tmp_path)["score"], y, s) >= set(MEASURES)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_groups_cross_batches_and_files(tmp_path: Path, suffix: str) -> None:
    segment = RNG.integers(0, 3, N)
    name = np.array(["a", "b"])[RNG.integers(0, 2, N)]
    columns = {**COLUMNS, "segment": segment, "name": name}
    folder = save_parts(tmp_path / "lake", columns, [300, 1000], suffix)
    scores = ["score", "other"]
    by_one = evaluate(folder, group_columns="segment", score_columns=scores, exact=True)
    assert list(by_one) == [(group, score) for group in (0, 1, 2) for score in scores]
    for (group, score), table in by_one.items():
        rows = segment == group
        assert check_bounds(table, Y[rows], columns[score][rows]) >= set(MEASURES)
    by_two = evaluate(folder, group_columns=["name", "segment"], score_columns="score", exact=True)
    assert list(by_two) == [((a, b), "score") for a in ("a", "b") for b in (0, 1, 2)]
    for ((a, b), _), table in by_two.items():
        rows = (name == a) & (segment == b)
        assert check_bounds(table, Y[rows], S[rows]) >= set(MEASURES)
    columns_of = by_two.to_columns()
    assert list(columns_of) == ["name", "segment", "detector", "measure", "value", "low", "high"]
    assert columns_of["segment"][: len(MEASURES) + 1] == [0] * (len(MEASURES) + 1)


def test_groups_of_more_combinations_than_integers_are_kept_apart() -> None:
    """Five columns of 2^13 values, of which 2^12 steps of the first would be 2^64 combinations."""
    n = 2**13
    same = np.append(np.arange(n), 0)
    columns = {name: same for name in "bcde"} | {"a": np.append(np.arange(n), n // 2)}
    groups = [name for name, _ in split(Batch(columns, "here", n + 1), list("abcde"))]
    assert len(set(groups)) == n + 1
    assert {(0, 0, 0, 0, 0), (n // 2, 0, 0, 0, 0)} <= set(groups)


def test_a_group_of_both_zeros_has_one_name_in_any_order() -> None:
    for zeros in (np.array([-0.0, 0.0]), np.array([0.0, -0.0])):
        ((name, _),) = split(Batch({"g": zeros}, "here", 2), ["g"])
        (group,) = fastad.evaluate([0, 1], [0.5, 0.7], groups=zeros)
        assert str(name) == str(group) == "0.0"


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_groups_of_dates_are_dates(tmp_path: Path, unit: str) -> None:
    days = np.array(["2026-03-01", "2026-03-02"], f"M8[{unit}]")
    path = save(tmp_path / "scores.parquet", {**COLUMNS, "day": days[Y]})
    result = evaluate(path, group_columns="day", score_columns="score", measures="auc")
    assert [str(day)[:10] for day, _ in result] == ["2026-03-01", "2026-03-02"]


def test_a_group_without_a_class_says_so(tmp_path: Path) -> None:
    columns = {"y": [0, 1, 0, 0], "score": [1, 2, 3, 4.0], "g": ["x", "x", "y", "y"]}
    result = evaluate(save(tmp_path / "scores.csv", columns), group_columns="g", measures="auc")
    assert result["x", "score"]["auc"].value == 1
    assert "auc" not in result["y", "score"]
    assert repr(result) == "<StreamedEvaluation of 1 detectors, 2 groups>"
    assert repr(result["x", "score"]) == "<BoundedEvaluation of 1 measures: auc>"
    assert result.notes == [f"y, score: {result['y', 'score'].undefined['auc']}"]
    assert "without anomalies" in result.notes[0]


def test_passes_and_rows_are_counted(tmp_path: Path) -> None:
    """Rows of all passes, also where a file does not say how many it has."""
    for suffix, total in ((".parquet", N), (".csv", None)):
        path = save(tmp_path / f"scores{suffix}", {**COLUMNS, "g": np.zeros(N, np.int64)})
        for groups, before in ((None, 0), ("g", 1)):
            seen: list[tuple[int, int | None]] = []
            result = evaluate(
                path,
                score_columns="score",
                group_columns=groups,
                exact=True,
                memory="60kB",
                progress=lambda done, of, seen=seen: seen.append((done, of)),
            )
            assert result.n_passes >= before + 2
            done, of = zip(*seen, strict=True)
            assert list(done) == sorted(set(done))
            assert done[-1] == result.n_passes * N
            assert {*done} >= {k * N for k in range(before + 1, result.n_passes + 1)}
            # The end of the pass.
            assert list(of) == [total and -(-rows // N) * N for rows in done]


# Damaged files.


def altered(path: Path, start: int, size: int) -> Path:
    content = bytearray(path.read_bytes())
    content[start : start + size] = b"\xff" * size
    path.write_bytes(bytes(content))
    return path


@pytest.mark.parametrize("part", [0.3, 0.7, 0.99, 0])
@pytest.mark.parametrize("suffix", [*FORMATS[:2], ".csv.gz"])
def test_a_file_that_is_cut_off_is_named(tmp_path: Path, suffix: str, part: float) -> None:
    """Alone, and behind a good one."""
    folder = save_parts(tmp_path / "lake", COLUMNS, [700], suffix)
    bad = folder / f"part-1{suffix}"
    content = bad.read_bytes()
    bad.write_bytes(content[: int(len(content) * part)])
    refused(bad, bad, "cannot be read" if part else "")
    refused(folder, bad, "cannot be read" if part else "")


@pytest.mark.parametrize("group", [0, 2])
def test_a_page_that_is_altered_is_named(tmp_path: Path, group: int) -> None:
    folder = save_parts(tmp_path / "lake", COLUMNS, [200], ".parquet")
    bad = folder / "part-1.parquet"
    column = parquet.read_metadata(bad).row_group(group).column(1)
    altered(bad, column.data_page_offset, 40)
    refused(folder, bad, "cannot be read")


def test_a_footer_that_is_altered_is_named(tmp_path: Path) -> None:
    folder = save_parts(tmp_path / "lake", COLUMNS, [200], ".parquet")
    bad = folder / "part-1.parquet"
    size = bad.stat().st_size
    length = int.from_bytes(bad.read_bytes()[-8:-4], "little")
    altered(bad, size - 8 - length, 64)
    refused(folder, bad)


# Other columns, types and values.


@loop("suffix", [".parquet", ".csv"])
@loop("column", ["y", "score", "g"])
def test_missing_values_are_named(tmp_path: Path, suffix: str, column: str) -> None:
    columns: dict[str, Any] = {"y": Y.astype(str), "score": S, "g": ["x", "y"] * (N // 2)}
    save(tmp_path / f"a{suffix}", columns)
    columns[column] = [None if i == 7 else x for i, x in enumerate(np.array(columns[column]))]
    bad = save(tmp_path / f"b{suffix}", columns)
    where = "line 9: the cell" if suffix == ".csv" else "row 7: the value"
    source = sorted(tmp_path.glob(f"*{suffix}"))
    message = f"{bad}: column '{column}', {where} is missing"
    for pos_label in (None, "1"):
        refused(source, message, group_columns="g", pos_label=pos_label)


@pytest.mark.usefixtures("few_rows")
def test_a_column_of_values_that_python_does_not_have_is_named(tmp_path: Path) -> None:
    times = pa.array([1, 2], pa.time64("ns"))
    path = save(tmp_path / "scores.parquet", {"y": [0, 1], "score": [0.5, 0.7], "time": times})
    with pytest.raises(InvalidInputError, match=r"parquet: column 'time' cannot be read: Value 1"):
        evaluate(path, score_columns="score", group_columns="time")


def test_labels_must_be_two_in_all_batches(tmp_path: Path) -> None:
    y = Y.copy()
    y[1000] = 2
    path = save(tmp_path / "a.parquet", {"y": y, "score": S})
    refused(path, f"{path}: column 'y', row 1000: the label must be 0 (normal) or 1")
    refused(path, f"{path}: column 'y', row", "pos_label=7; found 0 and 1", pos_label=7)
    # No batch has three labels.
    text = np.where(Y == 1, "bad", "good")
    text[1200:] = np.where(Y[1200:] == 1, "bad", "fine")
    path = save(tmp_path / "b.parquet", {"y": text, "score": S})
    refused(path, path, "row 12", "pos_label='bad'; found 'good' and 'fine'", pos_label="bad")
    segment = np.repeat([0, 1], [1200, 300])
    path = save(tmp_path / "c.parquet", {"y": text, "score": S, "g": segment})
    refused(
        path, "found 'good' and 'fine'", pos_label="bad", group_columns="g", score_columns="score"
    )


def test_columns_are_checked(tmp_path: Path) -> None:
    path = save(tmp_path / "a.parquet", COLUMNS)
    wrong: Any = 3
    refused(path, "did you mean 'score'", argument="score_columns", score_columns="scor")
    refused(path, "there is no column 'x'", argument="label_column", label_column="x")
    refused(path, "there is no column 'g'", argument="group_columns", group_columns=["count", "g"])
    refused(path, "found 3", argument="score_columns", score_columns=wrong)
    refused(path, "found [3]", argument="group_columns", group_columns=[wrong])
    refused(path, "score_columns must name a column", argument="score_columns", score_columns=[])
    nested = save(tmp_path / "c.parquet", {"y": Y, "score": S, "g": [["a"]] * N})
    refused(nested, "column 'g' must contain single values; found list<", group_columns="g")
    bare = save(tmp_path / "b.parquet", {"y": Y, "text": ["a"] * N})
    refused(bare, "no column of scores", "left out: 'text' (no numbers)", argument="score_columns")
    refused(bare, "column 'text' must contain numbers; found string", score_columns="text")
    assert list(evaluate(path, score_columns=["score", "score"])) == ["score"]
    twice = evaluate(path, group_columns=["count", "count"], score_columns="score", memory="2MB")
    assert twice.group_columns == ("count",)
    by_label = evaluate(path, group_columns="y", score_columns="score", measures=["ap", "auc"])
    assert by_label[1, "score"]["ap"].value == 1


def test_sources_are_checked(tmp_path: Path) -> None:
    wrong: Any = 3
    refused(wrong, "source must be the path of a file or folder, or several; found 3")
    refused([tmp_path, wrong], "source must be the path")
    refused([], "an empty list of files: there are no tables")
    refused(tmp_path, f"{tmp_path}: there are no tables")
    refused(tmp_path / "none", f"{tmp_path / 'none'}: there is no such file")
    save(tmp_path / "a.csv", COLUMNS)
    save(tmp_path / "b.parquet", COLUMNS)
    refused(tmp_path, "files must have one format; found .csv, .parquet")
    (tmp_path / "c.txt").touch()
    refused(tmp_path / "c.txt", "unsupported file extension '.txt'")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("groups", [None, "count"])
def test_files_without_rows_are_refused(tmp_path: Path, suffix: str, groups: str | None) -> None:
    nothing = {name: each[:0] for name, each in COLUMNS.items()}
    save(tmp_path / f"a{suffix}", nothing)
    save(tmp_path / f"b{suffix}", nothing)
    refused(tmp_path, f"{tmp_path}: there are no rows", group_columns=groups)
    save(tmp_path / f"c{suffix}", COLUMNS)
    check_exact(evaluate(tmp_path, score_columns="score", exact=True))


def test_options_are_checked_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "a.parquet", COLUMNS)
    monkeypatch.setattr(Table, "_batches", None)
    wrong: Any = 3
    for argument, value, part in [
        ("memory", 2047, "memory must be at least 6144 bytes, 2048 for each column of scores in"),
        ("memory", 0, "found 0"),
        ("memory", "much", "found 'much'"),
        ("folder", tmp_path / "none", f"found {tmp_path / 'none'}"),
        ("folder", path, f"folder must be a folder that exists; found {path}"),
        ("folder", wrong, "folder must be a path; found 3"),
        ("exact", wrong, "found int"),
        ("fpr", 2, "found 2"),
        ("measures", "aucc", "did you mean"),
    ]:
        refused(path, part, argument=argument, **{argument: value})


def test_without_pyarrow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "a.csv", COLUMNS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"a \.csv file needs pyarrow: pip install pyarrow"):
        evaluate(path)


# The thread that reads ahead.


def readers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("fastad-reader")]


@pytest.mark.usefixtures("few_rows")
def test_the_reader_ends_with_its_consumer(tmp_path: Path) -> None:
    path = save(tmp_path / "a.parquet", COLUMNS)

    def stop(done: int, _: object) -> None:
        assert readers()
        if done > 500:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        evaluate(path, progress=stop)
    assert not readers()
    batches = Table(path).batches({"score": Numbers()})
    assert next(batches).n_rows == 101
    assert len(readers()) == 1
    batches.close()  # type: ignore[attr-defined]
    assert not readers()
    evaluate(path)
    assert not readers()


@pytest.mark.usefixtures("few_rows")
def test_batches_are_the_rows_of_the_files_in_order(tmp_path: Path) -> None:
    folder = save_parts(tmp_path / "lake", COLUMNS, [450], ".parquet")
    table = Table(folder)
    assert table.n_rows == N
    roles: dict[str, Role] = {"score": Numbers(), "y": Labels()}
    batches = list(table.batches(roles))
    assert table.n_read == N
    assert list(batches[0].columns) == ["score", "y"]
    for name in ("score", "y"):
        together = np.concatenate([batch.columns[name] for batch in batches])
        np.testing.assert_array_equal(together, COLUMNS[name])
    assert {batch.where for batch in batches} == {str(path) for path in folder.iterdir()}
    for name, values in table.read(roles).items():
        np.testing.assert_array_equal(values, COLUMNS[name])


@pytest.mark.system
def test_one_group_of_rows_is_read_in_slices(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    n = 4_000_000
    columns = {"y": RNG.integers(0, 2, n), "score": RNG.normal(size=n)}
    parquet.write_table(pa.table(columns), path, row_group_size=n, use_dictionary=False)
    code = f"""
import pyarrow as pa
from fastad import streaming
streaming.evaluate({str(path)!r}, measures=["auc"], memory="1MB")
print(pa.default_memory_pool().max_memory())
"""
    # Of 64 MB, a few batches of 4 MB.
    assert int(run(code)) < 20_000_000


def test_groups_are_not_named_as_columns_of_the_result(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", {"y": [0, 1], "s": [1, 2], "detector": ["p", "q"]})
    with pytest.raises(InvalidInputError, match="columns that the result has; found 'detector'"):
        streaming.evaluate(path, score_columns="s", group_columns="detector")
    parts: dict[str, Any] = {"kind_columns": "s", "confidence_level": 0.9}
    result = streaming.evaluate(path, score_columns="s", measures=["auc"], **parts)
    assert result.breakdown is not None
    for name in {*result.to_columns(), *result.breakdown.to_columns()}:
        with pytest.raises(InvalidInputError, match=f"the result has; found '{name}'"):
            streaming.evaluate(path, score_columns="s", group_columns=name, **parts)


def test_a_file_by_two_paths_is_read_once(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", {"y": [0, 1, 1], "s": [1, 2, 0]})
    (tmp_path / "other").mkdir()
    twice = [path, tmp_path / "other" / ".." / "scores.csv"]
    results = [streaming.evaluate(source, score_columns="s") for source in (path, twice)]
    assert results[0].to_dict() == results[1].to_dict()

"""Folders of tables: which files are read, what the names of folders say, and what is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastad._tables.columns import Labels, Names, Numbers, Role
from fastad._tables.errors import TableError
from fastad._tables.table import Table
from tests.support.command_line import error_of, json_of
from tests.support.score_files import save
from tests.tables.test_routes import in_batches, in_memory

SUFFIXES = (".parquet", ".arrow", ".csv", ".csv.gz")
each_format = pytest.mark.parametrize("suffix", SUFFIXES)


def put(folder: Path, name: str, start: int = 0, **changes: Any) -> Path:
    """Write four rows whose scores begin with a number."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"y": [0, 1, 0, 1], "s": [start + i + 0.5 for i in range(4)], **changes}
    return save(path, {key: values for key, values in columns.items() if values is not None})


def read(source: Any, **roles: Role) -> dict[str, list[Any]]:
    """Read columns in memory, and check that they are the same in batches."""

    def again() -> Mapping[str, Role]:
        return {
            name: Labels() if isinstance(role, Labels) else role for name, role in roles.items()
        }

    columns: Any = again
    memory = in_memory(Table(source), columns)
    assert in_batches(Table(source), columns) == memory
    return memory


def scores(source: Any) -> list[float]:
    return read(source, s=Numbers())["s"]


def refusal(source: Path, *options: object) -> str:
    """Return what both ways of the command print."""
    message = error_of("evaluate", source, *options)
    assert error_of("evaluate", source, *options, "--memory", "64MB") == message
    return message


FIRST, SECOND = [0.5, 1.5, 2.5, 3.5], [10.5, 11.5, 12.5, 13.5]


@each_format
def test_files_are_read_in_the_order_of_their_names(tmp_path: Path, suffix: str) -> None:
    put(tmp_path, f"b/part{suffix}", 10)
    put(tmp_path, f"a{suffix}")
    assert scores(tmp_path) == FIRST + SECOND
    assert scores([tmp_path / f"b/part{suffix}", tmp_path / f"a{suffix}"]) == FIRST + SECOND
    # The same file twice is one.
    assert scores([tmp_path / f"a{suffix}", tmp_path]) == FIRST + SECOND


@pytest.mark.parametrize(("suffix", "where"), [(".parquet", "row 2"), (".csv", "line 4")])
def test_a_missing_number_is_named_by_its_file(tmp_path: Path, suffix: str, where: str) -> None:
    """The seventh of eight rows is the third of the second file."""
    put(tmp_path, f"a{suffix}", s=[None, 1.5, 2.5, 3.5])
    put(tmp_path, f"b{suffix}", s=[0.5, 1.5, None, None])
    table, rows = Table(tmp_path), np.arange(1, 8)
    values = table.read({"s": Numbers(may_miss=True)})["s"]
    with pytest.raises(TableError, match=rf"b\{suffix}: column 's', {where}: the value is missing"):
        table.numbers_in(rows, values, "s")


@each_format
@pytest.mark.parametrize(
    "hidden",
    [
        *("_temporary/0/part", ".ipynb_checkpoints/a-checkpoint", "deep/er/_tmp/x/part"),
        *("_part", ".part", "deep/.part", "deep/_metadata"),
    ],
)
def test_hidden_names_are_not_read(tmp_path: Path, suffix: str, hidden: str) -> None:
    """What a job that failed, or is under way, has left."""
    put(tmp_path, f"deep/a{suffix}")
    put(tmp_path, f"{hidden}{suffix}", 10)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("no table", encoding="utf-8")
    assert scores(tmp_path) == FIRST
    # By its name it is read, as is a folder in a hidden one.
    assert scores(tmp_path / f"{hidden}{suffix}") == SECOND


def test_a_folder_in_a_hidden_one_is_read(tmp_path: Path) -> None:
    put(tmp_path, "_lake/a.csv")
    assert scores(tmp_path / "_lake") == FIRST


# What the names of folders say.


@each_format
def test_names_of_folders_are_groups(tmp_path: Path, suffix: str) -> None:
    put(tmp_path, f"site=a/part{suffix}")
    put(tmp_path, f"site=b%2Fc%20d/deep/part{suffix}", 10)
    assert read(tmp_path, s=Numbers(), site=Names()) == {
        "s": FIRST + SECOND,
        "site": ["a"] * 4 + ["b/c d"] * 4,
    }
    words = ("evaluate", tmp_path, "--group", "site", "--measure", "auc")
    memory, batches = json_of(*words), json_of(*words, "--memory", "64MB", "--exact")
    assert [row["group"]["site"] for row in memory["detectors"]] == ["a", "b/c d"]
    assert [row["group"]["site"] for row in batches["detectors"]] == ["a", "b/c d"]
    assert [row["values"]["auc"] for row in memory["detectors"]] == [0.75, 0.75]
    assert [row["measures"]["auc"]["value"] for row in batches["detectors"]] == [0.75, 0.75]


@pytest.mark.parametrize(
    ("years", "names"),
    [(("2025", "2026"), [2025, 2026]), (("007", "8"), ["007", "8"]), (("1", "b"), ["1", "b"])],
)
def test_years_are_integers_if_all_are(
    tmp_path: Path, years: tuple[str, str], names: list[Any]
) -> None:
    for year in years:
        put(tmp_path, f"year={year}/month=1/part.parquet")
    words = ("evaluate", tmp_path, "--group", "year", "--group", "month", "--measure", "auc")
    memory, batches = json_of(*words), json_of(*words, "--memory", "64MB", "--exact")
    expected = [{"year": name, "month": 1} for name in names]
    assert [row["group"] for row in memory["detectors"]] == expected
    assert [row["group"] for row in batches["detectors"]] == expected


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_labels_may_be_in_the_names_of_folders(tmp_path: Path, suffix: str) -> None:
    put(tmp_path, f"kind=good/part{suffix}", y=None)
    put(tmp_path, f"kind=bad/part{suffix}", 10, y=None)
    assert read(tmp_path / "kind=bad", s=Numbers())["s"] == SECOND
    words = ("evaluate", tmp_path, "--label", "kind", "--pos-label", "bad", "--measure", "auc")
    assert json_of(*words)["detectors"][0]["values"]["auc"] == 1
    batches = json_of(*words, "--memory", "64MB", "--exact")
    assert batches["detectors"][0]["measures"]["auc"]["value"] == 1
    bad = tmp_path / "kind=bad" / f"part{suffix}"
    message = refusal(tmp_path, "--label", "kind")
    assert f"{bad}: column 'kind', in the name of its folder: the label must be 0" in message
    assert "column 'kind' must contain numbers" in refusal(
        tmp_path, "--label", "s", "--score", "kind"
    )


def test_a_value_that_is_missing_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "site=a/part.csv")
    bad = put(tmp_path, "site=__HIVE_DEFAULT_PARTITION__/part.csv")
    assert f"{bad}: the value of 'site' is missing in its folder" in refusal(tmp_path)
    bad.rename(tmp_path / "part.csv")
    first = tmp_path / "site=a" / "part.csv"
    assert f"{first}: its folders name site; found no column in" in refusal(tmp_path)


def test_an_empty_value_is_a_missing_group(tmp_path: Path) -> None:
    bad = put(tmp_path, "site=/part.csv")
    put(tmp_path, "site=a/part.csv")
    message = refusal(tmp_path, "--group", "site")
    assert f"{bad}: column 'site', in the name of its folder: the cell is missing" in message


@pytest.mark.parametrize("which", ["both", "first", "second"])
def test_a_column_of_a_file_and_of_its_folder_is_refused(tmp_path: Path, which: str) -> None:
    site = ["x"] * 4
    first = put(tmp_path, "site=a/part.csv", site=site if which != "second" else None)
    second = put(tmp_path, "site=b/part.csv", site=site if which != "first" else None)
    message = refusal(tmp_path, "--group", "site")
    if which == "second":
        assert f"{second}: there is a column 'site', which its folders name, too" in message
    else:
        assert f"{first}: there is a column 'site', which its folders name, too" in message
    # Other columns are read.
    assert scores(tmp_path) == FIRST * 2


# What is wrong in one of many files.


@each_format
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\0\1" * 10, b"PAR1", b"\x1f\x8b\x08\0\0"])
def test_a_file_that_is_none_is_named(tmp_path: Path, suffix: str, content: bytes) -> None:
    put(tmp_path, f"a{suffix}")
    bad = tmp_path / f"b{suffix}"
    bad.write_bytes(content)
    assert f"Error: {bad}: " in refusal(tmp_path)


@each_format
def test_a_file_without_a_column_is_named(tmp_path: Path, suffix: str) -> None:
    first = put(tmp_path, f"a{suffix}")
    bad = put(tmp_path, f"b{suffix}", s=None, t=[1, 2, 3, 4])
    expected = f"{bad}: there is no column 's', or more than one, as there is in {first}"
    assert expected in refusal(tmp_path)
    assert read(tmp_path, y=Labels())["y"] == [0, 1] * 4


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_file_with_another_type_is_named(tmp_path: Path, suffix: str) -> None:
    first = put(tmp_path, f"a{suffix}")
    bad = put(tmp_path, f"b{suffix}", s=[1, 2, 3, 4])
    assert (
        f"{bad}: column 's' must have one type in all files; found int64, and double in {first}"
    ) in refusal(tmp_path)


@pytest.mark.parametrize("kinds", [(np.float32, np.float64), (np.int32, np.int64)])
def test_an_archive_with_another_type_is_named(tmp_path: Path, kinds: tuple[type, type]) -> None:
    """0.7 as float32 lies below 0.7: equal scores would be no ties."""
    first, bad = (tmp_path / f"{kind.__name__}.npz" for kind in kinds)
    for path, kind, names in ((first, kinds[0], ["a", "b"]), (bad, kinds[1], ["long", "b"])):
        np.savez(path, y=[0, 1], s=np.array([0.7, 7]).astype(kind), g=names)
    found = f"found {kinds[1].__name__}, and {kinds[0].__name__} in {first}"
    assert f"{bad}: column 's' must have one type in all files; {found}" in refusal(tmp_path)
    Table(tmp_path).check(["g"], "group_columns")


@each_format
def test_a_wrong_cell_is_named_with_its_file_and_row(tmp_path: Path, suffix: str) -> None:
    put(tmp_path, f"a{suffix}")
    bad = put(tmp_path, f"b{suffix}", s=[1.0, 2.0, None, 4.0])
    where = "line 4: the cell" if "csv" in suffix else "row 2: the value"
    assert f"{bad}: column 's', {where} is missing" in refusal(tmp_path)


def test_columns_of_text_are_one_type_in_all_files(tmp_path: Path) -> None:
    """Large integers in one file, small ones in another; fractions are refused in either."""
    put(tmp_path, "a.csv", s=[1, 2, 3, 4])
    large = put(tmp_path, "b.csv", s=[2**53 + i for i in range(4)])
    assert scores(tmp_path) == [1, 2, 3, 4, *(2**53 + i for i in range(4))]
    put(tmp_path, "c.csv", s=[0.5, 1.5, 2.5, 3.5])
    message = refusal(tmp_path)
    assert f"{large}: column 's', line 3: {2**53 + 1} would be rounded to a float" in message


def test_files_have_one_format(tmp_path: Path) -> None:
    put(tmp_path, "a.csv")
    put(tmp_path, "b.parquet")
    assert f"{tmp_path}: files must have one format; found .csv, .parquet" in refusal(tmp_path)
    (tmp_path / "b.parquet").rename(tmp_path / "_b.parquet")
    assert scores(tmp_path) == FIRST


def test_archives_are_one_table(tmp_path: Path) -> None:
    for name, start in (("a", 0), ("b", 10)):
        np.savez(tmp_path / f"{name}.npz", y=[0, 1, 0, 1], s=np.arange(4) + start + 0.5)
    assert scores(tmp_path) == FIRST + SECOND
    np.savez(tmp_path / "c.npz", y=[0, 1, 0, 1], s=np.arange(3.0))
    message = refusal(tmp_path)
    assert f"{tmp_path / 'c.npz'}: columns must be of one length" in message


def test_a_folder_without_tables(tmp_path: Path) -> None:
    put(tmp_path, "_hidden.csv")
    with pytest.raises(TableError, match="there are no tables"):
        Table(tmp_path)

"""Folders: which files are read, columns that names of folders stand for, and refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastad import streaming
from fastad._tables.columns import Labels, Names, Numbers, Role
from fastad._tables.table import Table
from fastad.errors import InvalidInputError
from tests.support.command_line import json_of
from tests.support.score_files import save

N = 60
RNG = np.random.default_rng(4)
Y = np.arange(N) % 3 == 0
S = RNG.normal(size=N) + Y
COLUMNS: dict[str, Any] = {"y": Y.astype(int), "s": S}
ROLES: dict[str, Role] = {"y": Labels(), "s": Numbers()}


def part(rows: slice) -> dict[str, Any]:
    return {name: values[rows] for name, values in COLUMNS.items()}


def scores_in(folder: Path) -> list[float]:
    result: list[float] = Table(folder).read({"s": Numbers()})["s"].tolist()
    return result


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".csv.gz"])
def test_hidden_names_are_not_read(tmp_path: Path, suffix: str) -> None:
    save(tmp_path / f"part-0{suffix}", part(slice(0, 40)))
    (tmp_path / "inner").mkdir()
    save(tmp_path / "inner" / f"part-1{suffix}", part(slice(40, N)))
    for hidden in ("_temporary/0", ".ipynb_checkpoints", "inner/_x", "inner/.x/y"):
        folder = tmp_path / hidden
        folder.mkdir(parents=True)
        save(folder / f"part-0{suffix}", part(slice(0, 5)))
    save(tmp_path / f"_part-2{suffix}", part(slice(0, 5)))
    save(tmp_path / f".part-2{suffix}", part(slice(0, 5)))
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("no table")
    # Folders lie behind files of the folder that they are in.
    assert sorted(scores_in(tmp_path)) == sorted(S.tolist())
    result = streaming.evaluate(tmp_path, label="y", measures="auc")
    assert (
        result["s"]["auc"].value
        == streaming.evaluate(
            save(tmp_path / "_whole.parquet", COLUMNS), label="y", measures="auc"
        )["s"]["auc"].value
    )


def test_a_file_that_is_named_may_be_hidden(tmp_path: Path) -> None:
    assert scores_in(save(tmp_path / "_scores.csv", COLUMNS)) == pytest.approx(S)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_folders_of_partitions_are_columns(tmp_path: Path, suffix: str) -> None:
    sites = np.array(["a b", "c"])[np.arange(N) // 30]
    years = np.array([2025, 2026])[np.arange(N) // 15 % 2]
    for site in ("a b", "c"):
        for year in (2025, 2026):
            folder = tmp_path / f"site={site.replace(' ', '%20')}" / f"year={year}"
            folder.mkdir(parents=True)
            rows = (sites == site) & (years == year)
            save(folder / f"part{suffix}", {name: each[rows] for name, each in COLUMNS.items()})
    table = Table(tmp_path)
    assert table.names == ["y", "s", "site", "year"]
    columns = table.read({**ROLES, "site": Names(), "year": Names()})
    for site, year, score in zip(columns["site"], columns["year"], columns["s"], strict=True):
        row = np.flatnonzero(score == S)[0]
        assert (site, year) == (sites[row], str(years[row]))
    # Years are integers, as in text.
    result = streaming.evaluate(tmp_path, label="y", groups=["site", "year"], measures="auc")
    groups = [("a b", 2025), ("a b", 2026), ("c", 2025), ("c", 2026)]
    assert [group for group, _ in result] == groups
    whole = {**COLUMNS, "site": sites, "year": years}
    path = save(tmp_path / "_whole.csv", whole)
    options = ("--group", "site", "--group", "year", "--measure", "auc", "--score", "s")
    expected = json_of("evaluate", path, *options)["detectors"]
    for row, one in zip(
        json_of("evaluate", tmp_path, *options)["detectors"], expected, strict=True
    ):
        assert {**row, "file": ""} == {**one, "file": ""}


def refused(source: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        Table(source).read(ROLES)
    assert message in str(error.value)


def test_partitions_that_differ_are_refused(tmp_path: Path) -> None:
    for name in ("a=1", "b=2"):
        (tmp_path / name).mkdir()
        save(tmp_path / name / "part.csv", COLUMNS)
    refused(tmp_path, f"{tmp_path / 'b=2' / 'part.csv'}: its folders name b; found a in")


def test_a_partition_that_is_missing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a=__HIVE_DEFAULT_PARTITION__").mkdir()
    path = save(tmp_path / "a=__HIVE_DEFAULT_PARTITION__" / "part.csv", COLUMNS)
    refused(tmp_path, f"{path}: the value of 'a' is missing in its folder")


def test_a_column_beside_a_partition_of_its_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s=1").mkdir()
    save(tmp_path / "s=1" / "part.csv", COLUMNS)
    with pytest.raises(InvalidInputError, match="there is more than one column 's'"):
        Table(tmp_path).check(["s"], "score")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npz", ".csv.gz", ".csv.zst"])
def test_a_foreign_file_is_named(tmp_path: Path, suffix: str) -> None:
    if suffix == ".npz":
        np.savez(tmp_path / "a.npz", **COLUMNS)
    elif suffix != ".csv.zst":
        save(tmp_path / f"a{suffix}", COLUMNS)
    bad = tmp_path / f"b{suffix}"
    bad.write_bytes(b"something else")
    refused(tmp_path, f"{bad}: ")

"""Files of several batches, the first of which does not show what the columns are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import fastad
from fastad import streaming
from fastad._tables import text
from fastad._tables.columns import Labels, Names, Numbers
from fastad._tables.table import Table
from fastad.errors import InvalidInputError
from tests.support.command_line import TAKEN_FOR_SCORES, error_of, invoke, json_of
from tests.support.odd_tables import same
from tests.tables.test_routes import in_batches, in_memory, python

# Rows of about 200 kB, and batches of a third.
N, BLOCK = 14_000, 2**16
Y = [i // 3 % 2 for i in range(N)]
COUNTS = [i * 7919 % 1000 for i in range(N)]
BIG = 2**53


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_BLOCK", BLOCK)


def written(path: Path, cells: Sequence[Any], name: str = "s") -> Path:
    """Write labels, some cells, and a column that fills the file."""
    rows = (f"{y},{cell},{'x' * 10}\n" for y, cell in zip(Y, cells, strict=True))
    path.write_text(f"y,{name},name\n" + "".join(rows), encoding="utf-8")
    assert path.stat().st_size > 3 * BLOCK
    return path


def with_end(*end: Any) -> list[Any]:
    return [*COUNTS[: N - len(end)], *end]


GOOD = {
    "fractions": with_end(0.5, 0.1, 1e-3),
    "infinities": with_end(float("inf"), float("-inf")),
    "large integers": with_end(BIG + 1, BIG, BIG + 2, -BIG - 1),
    "integers of 64 bits": with_end(2**64 - 1, 2**64 - 2),
    "large integers that floats have": with_end(2**70, 0.5),
}


@pytest.mark.parametrize("kind", list(GOOD))
def test_integers_go_on_as_other_numbers(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / "scores.csv", GOOD[kind])
    for read in (in_memory, in_batches):
        columns = read(Table(path), lambda: {"s": Numbers(), "y": Labels()})
        assert columns["y"] == Y
        assert all(map(same, columns["s"], GOOD[kind]))
    exact = streaming.evaluate(path, label_column="y", measures="auc", exact=True)
    # Ranks of the exact numbers.
    order = {number: rank for rank, number in enumerate(sorted(set(GOOD[kind])))}
    expected = fastad.roc_auc(Y, [order[number] for number in GOOD[kind]])
    assert exact["s"]["auc"].value == expected
    words = ("evaluate", path, "--label", "y", "--measure", "auc")
    assert json_of(*words)["detectors"][0]["values"]["auc"] == expected


BAD = {
    "a word": (with_end("high"), f"line {N + 1}: 'high' is not a number"),
    "a missing score": (with_end("NA", 1), f"line {N}: 'NA' is a missing value"),
    "a large integer beside a fraction": (
        with_end(0.5, BIG + 1, 3),
        f"line {N}: {BIG + 1} would be rounded to a float: it stands beside numbers that are no "
        "integers",
    ),
    "missing at first": (["", *["NA"] * (N - 3), 1, 2], "line 2: the cell is missing"),
}


@pytest.mark.parametrize("kind", list(BAD))
def test_what_is_wrong_late_is_found_by_all(tmp_path: Path, kind: str) -> None:
    cells, message = BAD[kind]
    path = written(tmp_path / "scores.csv", cells)
    message = f"{path}: column 's', {message}"
    words = ("evaluate", path, "--label", "y")
    hint = f"Error: {message}{TAKEN_FOR_SCORES}"
    assert error_of(*words) == error_of(*words, "--memory", "64MB") == hint
    with pytest.raises(InvalidInputError) as error:
        streaming.evaluate(path, label_column="y", exact=True)
    assert str(error.value) == message


def test_a_detector_that_is_missing_at_first_is_one(tmp_path: Path) -> None:
    """Alone, and beside one that is text at first, which is none."""
    n_missing = N - 3000
    s = [*[float("nan")] * n_missing, *COUNTS[n_missing:]]
    path = written(tmp_path / "scores.csv", ["NA" if x != x else x for x in s])
    for read in (in_memory, in_batches):
        columns = read(Table(path), lambda: {"s": Numbers(may_miss=True)})
        assert all(map(same, columns["s"], s))
    result = invoke("evaluate", path, "--nan-policy", "omit", "--measure", "auc", "--json")
    assert "detectors: s; left out: 'name' (no numbers)" in result.stderr
    expected = fastad.roc_auc(Y[n_missing:], COUNTS[n_missing:])
    row = json_of("evaluate", path, "--nan-policy", "omit", "--measure", "auc")["detectors"][0]
    assert (row["values"]["auc"], row["n_omitted"]) == (expected, n_missing)


def test_large_integers_with_gaps_are_joined_exactly(tmp_path: Path) -> None:
    """Of batches some have large integers, some have gaps, some both, some neither."""
    s: list[Any] = with_end(None, BIG + 1, None, BIG + 3)
    s[0], s[N // 2] = BIG + 5, None
    path = written(tmp_path / "scores.csv", ["" if x is None else x for x in s])
    read = Table(path).read({"s": Numbers(may_miss=True)})["s"]
    assert python(read) == s


@pytest.mark.parametrize("last", ["7", "007", "x"])
def test_groups_are_integers_if_all_are(tmp_path: Path, last: str) -> None:
    names = [str(i % 5) for i in range(N - 1)] + [last]
    path = written(tmp_path / "scores.csv", names, "g")
    for read in (in_memory, in_batches):
        assert read(Table(path), lambda: {"g": Names()})["g"] == names
    result = json_of("evaluate", path, "--score", "y", "--group", "g", "--measure", "ap")
    groups = [row["group"]["g"] for row in result["detectors"]]
    assert groups == ([0, 1, 2, 3, 4, 7] if last == "7" else sorted(set(names)))
    batches = json_of(
        *("evaluate", path, "--score", "y", "--group", "g", "--measure", "ap"),
        *("--memory", "64MB", "--exact"),
    )
    assert [row["group"]["g"] for row in batches["detectors"]] == groups


@pytest.mark.parametrize(
    ("label", "what"),
    [
        ("2", "must have one label beside --pos-label '1'; found 0 and 2"),
        ("odd", "must have one label beside --pos-label '1'; found 0 and 'odd'"),
        ("", "the cell is missing"),
    ],
)
def test_a_third_label_late(tmp_path: Path, label: str, what: str) -> None:
    path = tmp_path / "scores.csv"
    rows = (f"{y},{i},{'x' * 10}\n" for i, y in enumerate(Y))
    path.write_text("y,s,name\n" + "".join(rows) + f"{label},1,x\n", encoding="utf-8")
    words = ("evaluate", path, "--score", "s", "--pos-label", "1")
    message = f"Error: {path}: column 'y', line {N + 2}: {what}"
    assert error_of(*words) == error_of(*words, "--memory", "64MB") == message


def test_flags_of_parquet_in_many_batches(tmp_path: Path) -> None:
    flags = pa.array([None if i == 150 else bool(i % 3) for i in range(400)])
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.table({"s": flags}), path, row_group_size=100)
    read = Table(path).read({"s": Numbers(may_miss=True)})["s"]
    expected = [np.nan if i == 150 else float(bool(i % 3)) for i in range(400)]
    np.testing.assert_array_equal(read, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_short_floats_with_missing_ones_keep_their_type(tmp_path: Path, dtype: str) -> None:
    """A threshold of another type would flag other rows."""
    values = pa.array([0.1, None, 0.3], dtype)
    path = tmp_path / "scores.arrow"
    feather.write_feather(pa.table({"s": values}), str(path), compression="uncompressed")
    read = Table(path).read({"s": Numbers(may_miss=True)})["s"]
    assert read.dtype == dtype
    np.testing.assert_array_equal(read, np.array([0.1, np.nan, 0.3], dtype))

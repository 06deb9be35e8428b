"""The command line on bad input: a message that names it, exit code 1 for data, 2 for usage.

`tests.tables` has many more odd files, which the same command reads.
"""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from fastad._tables.errors import TableError, reading
from tests.support.command_line import error_of, invoke, save
from tests.support.loops import loop

GOOD = "y,s\n0,0.1\n1,0.2\n"


def refused(*arguments: object, code: int = 1) -> str:
    return error_of("evaluate", *arguments, code=code)


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


# Files.


@loop("name", ["missing.csv", "missing.npz", "missing/scores.csv"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    assert f"{tmp_path / name}: there is no such file" in refused(tmp_path / name)


@loop("command", ["evaluate", "compare", "volume", "evaluate-unsupervised", "compare-runs"])
def test_a_folder_without_tables_is_named(tmp_path: Path, command: str) -> None:
    detector = ("--detector", "knn") if command in ("volume", "evaluate-unsupervised") else ()
    assert f"{tmp_path}: there are no tables (.csv, " in error_of(command, tmp_path, *detector)


@loop("name", ["scores.txt", "scores", "scores.csv.zip"])
def test_an_unknown_ending_is_named_with_the_known_ones(tmp_path: Path, name: str) -> None:
    message = refused(save(tmp_path / name, GOOD))
    assert all(ending in message for ending in (name, ".csv", ".tsv", ".npz"))


def test_one_bad_file_among_several_is_named_and_nothing_printed(tmp_path: Path) -> None:
    good, bad = save(tmp_path / "good.csv", GOOD), save(tmp_path / "bad.csv", "y,s\n0,x\n")
    message = refused(good, bad, good)
    assert f"{bad}: there is no column of scores beside 'y'; left out: 's'" in message


# Text.

NO_HEADER = "the first line must name the columns"


@loop(
    ("content", "expected"),
    [
        ("\n\n", "the file is empty"),
        ("\n\ny,s\n0,1\n1,2\n", "the first line is blank; it must name the columns"),
        ("y,s", "there are no rows"),
        ('y,"s', f"{NO_HEADER}: a quote is not closed in it"),
        ("z,s\n0,1\n", "there is no column 'y'; found z, s: --label names the column"),
        ("y\n0\n1\n", "there is no column of scores beside 'y'"),
        ("y,y,s\n0,0,1\n", "there is more than one column 'y'"),
        ("y,s\n0,0.1\n\n1,\n", "column 's', line 4: the cell is missing"),
        ("y,s\n0,0,1\n1,0,2\n", "line 2"),
        ("y,s\n# 0,0.1\n1,0.2\n", "column 'y', line 2: the label must be 0 (normal) or 1"),
        ("y,s\n0,1\n1,\0\n", "column 's', line 3"),
        ("y,s\n1,0.1\n-1,0.2\n", "column 'y', line 3: the label must be 0"),
    ],
)
def test_bad_text_is_refused_with_its_place(tmp_path: Path, content: str, expected: str) -> None:
    path = save(tmp_path / "scores.csv", content)
    assert f"{path}: {expected}" in refused(path)


@pytest.mark.slow
@loop(
    ("content", "expected"),
    [
        (bytes(range(256)) * 64, "the text is not UTF-8"),
        (bytes(200_000), NO_HEADER),
        (b"y" * 200_000, NO_HEADER),
        (b'y,s\n0,"' + b"x" * 200_000 + b'"\n', ""),
        ("y,scör\n0,1\n".encode("latin-1"), "the text is not UTF-8"),
        ("y,s\n0,1\n1,ö\n".encode("latin-1"), "the text is not UTF-8"),
        (b"PK\x03\x04" + bytes(100), NO_HEADER),
    ],
)
def test_bytes_that_are_no_table_are_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    path = save(tmp_path / "scores.csv", content)
    for options in ((), ("--pos-label", "1"), ("--score", "s"), ("--nan-policy", "omit")):
        assert f"{path}: {expected}" in refused(path, *options)


def test_a_long_bad_cell_is_shown_in_part(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", f"y,s\n0,0.1\n1,{'x' * 5000}\n")
    message = refused(path, "--score", "s")
    assert "column 's', line 3: 'xxx" in message
    assert message.endswith("xxx' is not a number")
    assert message.count("x") < 50


@loop(
    "names",
    [("y", "y_true_s"), ("y", "score", "y_score"), ("y_true", "y_score"), ("y", "pos_label=")],
)
def test_messages_quote_the_names_of_columns_as_they_are(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    cells = ["1"] * (len(names) - 1)
    text = f"{','.join(names)}\n0,{','.join(cells)}\n1,{','.join([*cells[1:], 'nan'])}\n"
    message = refused(save(tmp_path / "scores.csv", text), "--label", names[0])
    assert f": column {names[-1]!r}, line 3: 'nan' is a missing value" in message


# Archives.

Y_NPY, S_NPY = npy(np.array([0, 1])), npy(np.array([0.1, 0.2]))


@pytest.mark.slow
@loop(
    # Labels, if any, and scores, if any; what is said of them, and of named scores.
    ("labels", "scores", "expected", "options"),
    [
        (None, None, "there is no column 'y'; found none", ()),
        (None, S_NPY, "there is no column 'y'; found s", ()),
        (Y_NPY, None, "there is no column of scores beside 'y'", ()),
        (b"garbage", b"more", "'y' is not an array", ()),
        (Y_NPY[:-3], S_NPY, "the array 'y' cannot be read", ()),
        (Y_NPY[:20], S_NPY, "the array 'y' cannot be read", ()),
        (npy(np.array([0, None])), S_NPY, "the array 'y' cannot be read: Object", ()),
        (npy(np.eye(2)), npy(np.eye(2)), "column 'y' must be one-dimensional", ()),
        (npy(np.array(1)), npy(np.array(0.1)), "column 'y' must be one-dimensional", ()),
        (npy(np.zeros(0)), npy(np.zeros(0)), "there are no rows", ()),
        (Y_NPY, npy(np.array([0.1, np.nan])), "column 's', row 1: the value must not be", ()),
        (npy(np.array([1, 2])), S_NPY, "column 'y', row 1: the label must be 0", ()),
        (Y_NPY, S_NPY, "there is no column 'other'; found y, s", ("--score", "other")),
        (Y_NPY, npy(np.array([0.1, None])), "the array 's' cannot be read: Object", "s"),
        (Y_NPY, npy(np.array(["a", "b"])), "column 's' must contain numbers; found <U1", "s"),
        (Y_NPY, npy(np.array([1j, 2j])), "column 's' must contain numbers; found complex", "s"),
        (Y_NPY, npy(np.zeros(3)), "columns must be of one length; found 3 values of 's'", "s"),
        (Y_NPY, npy(np.zeros((2, 2))), "column 's' must be one-dimensional; found shape", "s"),
    ],
)
def test_a_bad_archive_is_refused(
    tmp_path: Path, labels: bytes | None, scores: bytes | None, expected: str, options: Any
) -> None:
    members = {"y.npy": labels, "s.npy": scores}
    path = archive(tmp_path / "scores.npz", {k: v for k, v in members.items() if v is not None})
    named = ("--score", "s") if options == "s" else options
    assert f"{path}: {expected}" in refused(path, *named)


def test_a_member_that_is_text_is_no_array_and_does_no_harm(tmp_path: Path) -> None:
    path = archive(tmp_path / "scores.npz", {"y": b"text", "s.npy": S_NPY})
    assert f"{path}: 'y' is not an array" in refused(path)
    archive(path, {"y.npy": Y_NPY, "s.npy": S_NPY, "about.json": b'{"a": 1}'})
    assert invoke("evaluate", path).exit_code == 0


@loop("content", [b"", b"text", bytes(1000), npy(np.zeros(3))])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "not an archive" in refused(save(tmp_path / "scores.npz", content))


@pytest.mark.evidence
def test_a_damaged_archive_is_read_or_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores = npy(rng.normal(size=300))
    members = {"y.npy": npy(np.arange(300) % 2), "s.npy": scores}
    whole = archive(tmp_path / "whole.npz", members).read_bytes()
    path, seen = tmp_path / "damaged.npz", set()
    for i in range(250):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        # Without its end, where the directory is, no archive can be read.
        save(path, bytes(damaged[: rng.integers(1, len(whole)) if i % 5 == 0 else None]))
        result = invoke("evaluate", path, "--measure", "auc")
        assert result.exit_code == 0 or result.stderr.startswith(f"Error: {path}")
        seen.add(result.exit_code)
    assert seen == {0, 1}


@loop("option", ["a", "True", ""])
def test_a_text_names_no_label_among_numbers(tmp_path: Path, option: str) -> None:
    path = archive(tmp_path / "scores.npz", {"y.npy": Y_NPY, "s.npy": S_NPY})
    message = refused(path, "--pos-label", option, code=2)
    assert f"--pos-label: must be a number, as the labels are; found {option!r}" in message


def test_columns_without_rows_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    parquet.write_table(pa.table({name: pa.array([], "double") for name in "sty"}), path)
    assert f"{path}: there are no rows" in refused(path)


# Usage.


@pytest.mark.slow
@loop(
    ("options", "expected"),
    [
        *((["--fpr", rate], "--fpr") for rate in ("-0.1", "1.5", "nan", "inf", "x", "")),
        *(
            (["--measure", "auc", "--measure", key], repr(key))
            for key in ("no_such", "", "auc@2", "auc@1/0", "precision@k1.5", "roc_curve")
        ),
        (["--fpr", "0.1", "--fpr", "0.1000000001"], "six digits"),
        *((["--output", name], "--output") for name in ("out.txt", "out", "out.csv.gz")),
        (["--no-such"], "--no-such"),
    ],
)
def test_bad_options_are_misuse(tmp_path: Path, options: list[str], expected: str) -> None:
    assert expected in refused(save(tmp_path / "scores.csv", GOOD), *options, code=2)
    assert [x.name for x in tmp_path.iterdir()] == ["scores.csv"]


def test_wrong_commands_are_misuse() -> None:
    assert [invoke(*words).exit_code for words in (["evaluate"], ["no-such"], [])] == [2, 2, 2]


@loop("text", ["bad", "0"])
def test_a_bad_number_of_threads_is_named(tmp_path: Path, text: str) -> None:
    path = save(tmp_path / "scores.csv", GOOD)
    for words in (["evaluate", path], ["doctor"]):
        result = invoke(*words, FASTAD_NUM_THREADS=text)
        assert result.exit_code == 2
        assert "FASTAD_NUM_THREADS" in result.stderr


def test_an_error_without_words_is_named_by_its_type() -> None:
    message = r"^x\.joblib: the detector cannot be read: EOFError$"
    with pytest.raises(TableError, match=message), reading("x.joblib", "the detector"):
        raise EOFError

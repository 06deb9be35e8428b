"""The command line on bad input: a message that names it, exit code 1 for data, 2 for usage."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.support.command_line import error_of, invoke, save

GOOD = "y,s\n0,0.1\n1,0.2\n"


def refused(*arguments: object) -> str:
    """Evaluate bad data; return the message."""
    return error_of("evaluate", *arguments)


def misused(*arguments: object) -> str:
    """Evaluate with bad options; return the message."""
    return error_of("evaluate", *arguments, code=2)


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


@pytest.mark.parametrize("name", ["missing.csv", "missing.npz", "missing/scores.csv"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    message = refused(tmp_path / name)
    assert str(tmp_path / name) in message
    assert "no such file" in message


def test_a_folder_without_tables_is_named(tmp_path: Path) -> None:
    for command in ("evaluate", "compare", "volume", "evaluate-unsupervised", "compare-runs"):
        detector = ("--detector", "knn") if command in ("volume", "evaluate-unsupervised") else ()
        assert f"{tmp_path}: there are no tables (.csv, " in error_of(command, tmp_path, *detector)


@pytest.mark.parametrize("name", ["scores.txt", "scores", "scores.csv.zip"])
def test_an_unknown_ending_is_named_with_the_known_ones(tmp_path: Path, name: str) -> None:
    message = refused(save(tmp_path / name, GOOD))
    assert all(ending in message for ending in (name, ".csv", ".tsv", ".npz"))


def test_one_bad_file_among_several_is_named_and_nothing_printed(tmp_path: Path) -> None:
    good = save(tmp_path / "good.csv", GOOD)
    bad = save(tmp_path / "bad.csv", "y,s\n0,x\n")
    assert f"{bad}: there is no column of scores beside 'y'; left out: 's'" in refused(
        good, bad, good
    )


# Text.

BAD_TEXT = {
    "empty": ("", "the file is empty"),
    "blank": ("\n\n", "the file is empty"),
    "header only": ("y,s\n", "there are no rows"),
    "header only, no end": ("y,s", "there are no rows"),
    "header and blank lines": ("y,s\n\n  \n", "there are no rows"),
    "open quote": ('y,"s\n0,0.1\n1,0.2\n', "name the columns: a quote is not closed in it"),
    "open quote at the end": ('y,"s', "name the columns: a quote is not closed in it"),
    "no label column": ("z,s\n0,1\n", "no column 'y'; found z, s"),
    "no score column": ("y\n0\n1\n", "no column of scores beside 'y'"),
    "two labels": ("y,y,s\n0,0,1\n", "more than one column 'y'"),
    "two scores": ("y,s,s\n0,0,1\n", "more than one column 's'"),
    "text": ("y,s\n0,0.1\n1,high\n", "column 's', line 3: 'high' is not a number"),
    "empty cell": ("y,s\n0,0.1\n\n1,\n", "column 's', line 4: the cell is missing"),
    "decimal comma": ("y;s\n0;0,1\n1;0,2\n", "column 's', line 2: '0,1' is not a number"),
    "short row": ("y,s\n0,0.1\n1\n", "column 's', line 3: the cell is missing"),
    "long row": ("y,s\n0,0.1\n1,0.2,0.3\n", "line 3"),
    "decimal commas": ("y,s\n0,0,1\n1,0,2\n", "line 2"),
    "comment": ("y,s\n# 0,0.1\n1,0.2\n", "column 'y', line 2: the label must be 0"),
    "nan": ("y,s\n0,0.1\n1,nan\n0,NaN\n", "column 's', line 3: 'nan' is a missing value"),
    "label 2": ("y,s\n0,0.1\n2,0.2\n", "line 3: the label must be 0 (normal) or 1 (anomaly)"),
    "label -1": ("y,s\n1,0.1\n-1,0.2\n", "--pos-label"),
    "label text": ("y,s\ngood,0.1\nbad,0.2\n", "line 2: the label must be 0 (normal) or 1"),
    "label empty": ("y,s\n0,0.1\n,0.2\n", "column 'y', line 3: the cell is missing"),
    "label nan": ("y,s\n0,0.1\nnan,0.2\n", "column 'y', line 3: 'nan' is a missing value"),
    "digits": ("y,s\n0,\u0661\n1,2\n", "column 's', line 2: '\u0661' is not a number"),
    "underscore": ("y,s\n0,1_0\n1,2\n", "column 's', line 2"),
    "nul": ("y,s\n0,1\n1,\0\n", "column 's', line 3"),
}
NOT_UTF_8 = "the text is not UTF-8"
NO_HEADER = "the first line must name the columns"
BAD_BYTES = {
    "binary": (bytes(range(256)) * 64, NOT_UTF_8),
    "zeros": (bytes(200_000), NO_HEADER),
    "one long line": (b"y" * 200_000, NO_HEADER),
    "one long cell": (b'y,s\n0,"' + b"x" * 200_000 + b'"\n', ""),
    "latin-1 header": ("y,scör\n0,1\n".encode("latin-1"), NOT_UTF_8),
    "latin-1 cell": ("y,s\n0,1\n1,ö\n".encode("latin-1"), NOT_UTF_8),
    "utf-16": (GOOD.encode("utf-16"), NOT_UTF_8),
    "utf-16 without a mark": (GOOD.encode("utf-16-le"), f"{NO_HEADER}: a NUL is in it"),
    "zip": (b"PK\x03\x04" + bytes(100), NO_HEADER),
}


@pytest.mark.parametrize("kind", list(BAD_TEXT))
def test_bad_text_is_refused_with_its_place(tmp_path: Path, kind: str) -> None:
    content, expected = BAD_TEXT[kind]
    path = save(tmp_path / "scores.csv", content)
    message = refused(path)
    assert str(path) in message
    assert expected in message


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "options",
    [(), ("--pos-label", "1"), ("--score", "s"), ("--nan-policy", "omit")],
    ids=" ".join,
)
@pytest.mark.parametrize("kind", list(BAD_BYTES))
def test_bytes_that_are_no_table_are_refused(
    tmp_path: Path, kind: str, options: tuple[str, ...]
) -> None:
    content, expected = BAD_BYTES[kind]
    path = save(tmp_path / "scores.csv", content)
    assert f"{path}: {expected}" in refused(path, *options)


def test_a_long_bad_cell_is_shown_in_part(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", f"y,s\n0,0.1\n1,{'x' * 5000}\n")
    message = refused(path, "--score", "s")
    assert "column 's', line 3: 'xxx" in message
    assert message.endswith("xxx' is not a number")
    assert message.count("x") < 50


def test_a_label_that_is_missing_in_a_row_is_refused_under_pos_label_too(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", "s,y\n0.1,a\n0.2\n")
    assert "line 3: the cell is missing" in refused(path, "--pos-label", "a")


def test_a_third_label_is_refused_under_pos_label(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", "y,s\na,1\nb,2\nc,3\n")
    message = refused(path, "--pos-label", "a")
    assert "column 'y', line 4: must have one label beside --pos-label 'a'; found" in message
    assert "'b' and 'c'" in message


@pytest.mark.parametrize(
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
# Labels, if any, and scores, if any; and what is said of them.
BAD_ARCHIVES: dict[str, tuple[bytes | None, bytes | None, str]] = {
    "empty": (None, None, "there is no column 'y'; found none"),
    "no label": (None, S_NPY, "there is no column 'y'; found s"),
    "no score": (Y_NPY, None, "there is no column of scores beside 'y'"),
    "no arrays": (b"garbage", b"more", "'y' is not an array"),
    "cut label": (Y_NPY[:-3], S_NPY, "the array 'y' cannot be read"),
    "cut head": (Y_NPY[:20], S_NPY, "the array 'y' cannot be read"),
    "object labels": (npy(np.array([0, None])), S_NPY, "the array 'y' cannot be read: Object"),
    "label matrix": (npy(np.eye(2)), npy(np.eye(2)), "column 'y' must be one-dimensional"),
    "label scalar": (npy(np.array(1)), npy(np.array(0.1)), "column 'y' must be one-dimensional"),
    "empty arrays": (npy(np.zeros(0)), npy(np.zeros(0)), "there are no rows"),
    "nan": (Y_NPY, npy(np.array([0.1, np.nan])), "column 's', row 1: the value must not be NaN"),
    "labels 1, 2": (npy(np.array([1, 2])), S_NPY, "column 'y', row 1: the label must be 0"),
}
BAD_SCORES = {
    "missing": (Y_NPY, "there is no column 'other'; found y, s"),
    "objects": (npy(np.array([0.1, None])), "the array 's' cannot be read: Object arrays"),
    "texts": (npy(np.array(["a", "b"])), "column 's' must contain numbers; found <U1"),
    "complex": (npy(np.array([1j, 2j])), "column 's' must contain numbers; found complex128"),
    "longer": (npy(np.zeros(3)), "columns must be of one length; found 3 values of 's' and 2"),
    "matrix": (npy(np.zeros((2, 2))), "column 's' must be one-dimensional; found shape (2, 2)"),
}


@pytest.mark.parametrize("kind", list(BAD_ARCHIVES))
def test_a_bad_archive_is_refused(tmp_path: Path, kind: str) -> None:
    labels, scores, expected = BAD_ARCHIVES[kind]
    members = {"y.npy": labels, "s.npy": scores}
    path = archive(tmp_path / "scores.npz", {k: v for k, v in members.items() if v is not None})
    assert f"{path}: {expected}" in refused(path)


def test_a_member_that_is_text_is_no_array(tmp_path: Path) -> None:
    path = archive(tmp_path / "scores.npz", {"y": b"text", "s.npy": S_NPY})
    assert f"{path}: 'y' is not an array" in refused(path)


@pytest.mark.parametrize("kind", list(BAD_SCORES))
def test_a_bad_array_that_is_requested_is_refused_by_its_name(tmp_path: Path, kind: str) -> None:
    scores, expected = BAD_SCORES[kind]
    name = "other" if kind == "missing" else "s"
    path = archive(tmp_path / "scores.npz", {"y.npy": Y_NPY, "s.npy": scores})
    assert f"{path}: {expected}" in refused(path, "--score", name)


@pytest.mark.parametrize("content", [b"", b"text", bytes(1000), npy(np.zeros(3))])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "not an archive" in refused(save(tmp_path / "scores.npz", content))


def test_texts_beside_the_arrays_are_left_alone(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "scores.npz", {"y.npy": Y_NPY, "s.npy": S_NPY, "about.json": b'{"a": 1}'}
    )
    assert invoke("evaluate", path).exit_code == 0


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


@pytest.mark.parametrize("option", ["a", "True", ""])
def test_a_text_names_no_label_among_numbers(tmp_path: Path, option: str) -> None:
    path = archive(tmp_path / "scores.npz", {"y.npy": Y_NPY, "s.npy": S_NPY})
    message = misused(path, "--pos-label", option)
    assert f"--pos-label: must be a number, as the labels are; found {option!r}" in message


def test_columns_without_rows_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    parquet.write_table(pa.table({name: pa.array([], "double") for name in "sty"}), path)
    assert f"{path}: there are no rows" in refused(path)


# Usage.


@pytest.mark.parametrize("fpr", ["-0.1", "1.5", "nan", "inf", "x", ""])
def test_a_bad_fpr_is_misuse(tmp_path: Path, fpr: str) -> None:
    assert "--fpr" in misused(save(tmp_path / "scores.csv", GOOD), "--fpr", fpr)


@pytest.mark.parametrize(
    "measure", ["no_such", "", "auc@2", "auc@1/0", "precision@k1.5", "roc_curve"]
)
def test_a_bad_measure_is_misuse(tmp_path: Path, measure: str) -> None:
    path = save(tmp_path / "scores.csv", GOOD)
    assert repr(measure) in misused(path, "--measure", "auc", "--measure", measure)


def test_rates_that_print_alike_are_misuse(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", GOOD)
    assert "six digits" in misused(path, "--fpr", 0.1, "--fpr", 0.1000000001)


@pytest.mark.parametrize("output", ["out.txt", "out", "out.csv.gz"])
def test_an_unknown_ending_of_the_output_is_misuse(tmp_path: Path, output: str) -> None:
    path = save(tmp_path / "scores.csv", GOOD)
    assert "--output" in misused(path, "--output", tmp_path / output)
    assert [x.name for x in tmp_path.iterdir()] == ["scores.csv"]


@pytest.mark.parametrize("arguments", [["evaluate"], ["no-such"], ["evaluate", "--no-such"], []])
def test_wrong_commands_are_misuse(arguments: list[str]) -> None:
    assert invoke(*arguments).exit_code == 2


@pytest.mark.parametrize("text", ["bad", "0"])
@pytest.mark.parametrize("command", ["evaluate", "doctor"])
def test_a_bad_number_of_threads_is_named(tmp_path: Path, command: str, text: str) -> None:
    path = save(tmp_path / "scores.csv", GOOD)
    files = [path] if command == "evaluate" else []
    result = invoke(command, *files, FASTAD_NUM_THREADS=text)
    assert result.exit_code == 2
    assert "FASTAD_NUM_THREADS" in result.stderr

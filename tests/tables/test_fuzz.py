"""Any bytes as a file: the same columns in memory and in batches, or one line with its name."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from fastad._tables import text
from fastad._tables.columns import Labels, Names, Numbers, Role
from fastad._tables.detectors import find_detectors
from fastad._tables.errors import TableError
from fastad._tables.table import Table
from tests.support.command_line import invoke
from tests.tables.test_routes import assert_same, in_batches, in_memory

ARROW = {
    "y": [0, 1, 0, 1, 1, 0],
    "s": [0.1, 0.9, 0.4, 0.3, 2.5, -1.0],
    "n": [2**60, 2**60 + 1, 3, 4, 5, 6],
    "g": ["a", "b", "a", "b", "a", "b"],
    "d": pa.array(["x", "y", "x", "x", "y", "y"]).dictionary_encode(),
    "b": [True, False, None, True, None, False],
}
OPTIONS = [
    (),
    ("--json",),
    ("--score", "s"),
    ("--score", "s", "--pos-label", "1"),
    ("--label", "g", "--pos-label", "a", "--score", "n"),
    ("--score", "s", "--group", "g"),
    ("--score", "n", "--group", "d", "--json"),
    ("--score", "s", "--group", "s", "--json"),
    ("--score", "s", "--group", "g", "--summary"),
    ("--score", "s", "--measure", "auc", "--group", "g", "--group", "n"),
]
TEXTS = [
    "y,s,n,g,d\n0,0.1,1152921504606846976,a,x\n1,0.9,1152921504606846977,b,y\n0,1,3,a,x\n",
    'y;s;n;g;"d"\r\n1;1e3;4;"a;b";x\r\n0;-0.5;5;b;"y"\r\n\r\n1;0;5;b;y',
    "y\ts\tn\tg\td\n0\t 1\t2\ta\tx\n1\t 2\t3\ta\tx\n",
    "y,s\n0,1\n1,2\n",
]
CELLS = ["0", "1", "", " ", "0.5", "-1", "+1", "1e5", "nan", "inf", "-Infinity", "1e400", "1_0"]
CELLS += ["0x1", "9" * 400, "9" * 5000, "18446744073709551615", "9007199254740993", "1.", ".5", "a"]
CELLS += ["True", '"1"', '"a,b"', '"', '""', '"1', "-nan", "nan(1)", "NA", " NA", "1j", "\0", "#1"]
CELLS += ["\N{FULLWIDTH DIGIT ONE}", "\N{MINUS SIGN}1", "\N{SUPERSCRIPT TWO}", "\ufeff1", "1 2"]
CELLS += ["\x0b1", "\x1c", "\x85", "\N{LINE SEPARATOR}", 'a"b', '"a"b', '"a""b"']
CHUNKS = [cell.encode() for cell in CELLS]
CHUNKS += [b"\r", b"\n", b"\r\n", b"\n\n", b",", b";", b"\t", b"\xff\xfe", b"\x80", b"\xff" * 8]
CHUNKS += [bytes(8)]
ENCODINGS = ["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32-be", "latin-1", "cp037", "utf-7"]


def npy(values: object) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(values), allow_pickle=True)
    return buffer.getvalue()


def npz(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def columnar(suffix: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    write = parquet.write_table if suffix == ".parquet" else feather.write_feather
    write(pa.table(ARROW), buffer, **options)
    return buffer.getvalue()


MEMBERS = {name: npy(ARROW[name]) for name in ("y", "s", "n", "g")}
COLUMNAR = {
    ".parquet": [
        columnar(".parquet"),
        columnar(".parquet", compression="none", use_dictionary=False),
        columnar(".parquet", compression="gzip", data_page_version="2.0", row_group_size=2),
    ],
    ".arrow": [
        columnar(".arrow", compression="uncompressed"),
        columnar(".arrow", compression="lz4", chunksize=2),
        columnar(".arrow", compression="zstd"),
    ],
}


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """The same bytes with some of them flipped, cut out, put in or repeated."""
    damage = bytearray(content)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(damage)))
        kind = draw(st.sampled_from(["flip", "insert", "overwrite", "cut", "repeat", "end"]))
        size = draw(st.integers(1, 16))
        if kind == "flip" and at < len(damage):
            damage[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "insert":
            damage[at:at] = draw(st.sampled_from(CHUNKS))
        elif kind == "overwrite":
            chunk = draw(st.one_of(st.sampled_from(CHUNKS), st.binary(max_size=9)))
            damage[at : at + len(chunk)] = chunk
        elif kind == "cut":
            del damage[at : at + size]
        elif kind == "repeat":
            damage[at:at] = damage[at : at + size]
        elif kind == "end":
            del damage[at:]
    return bytes(damage)


@st.composite
def odd_texts(draw: st.DrawFn) -> bytes:
    """A table of odd cells, in some encoding."""
    names = draw(st.lists(st.sampled_from([*"ysngd", *CELLS]), max_size=4))
    width = len(names) + 2
    cells = st.one_of(st.sampled_from("01"), st.sampled_from(CELLS))
    row = st.one_of(
        st.lists(cells, min_size=width, max_size=width), st.lists(cells, max_size=width + 1)
    )
    rows = draw(st.lists(row, max_size=4))
    delimiter, end = draw(st.sampled_from(",;\t| ")), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lines = end.join(delimiter.join(cells) for cells in [["y", "s", *names], *rows])
    return lines.encode(draw(st.sampled_from(ENCODINGS)), "replace")


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """The extension of a file's name, and its content."""
    suffix = draw(st.sampled_from([".csv", ".csv", ".tsv", ".npz", ".npz", ".parquet", ".arrow"]))
    kind = draw(st.sampled_from(["damaged"] * 8 + ["random", "other"]))
    if kind == "random":
        return suffix, draw(st.binary(max_size=300))
    if kind == "other" or suffix in (".csv", ".tsv"):
        whole = draw(st.sampled_from(TEXTS)).encode(draw(st.sampled_from(ENCODINGS)))
        return suffix, draw(st.one_of(damaged(whole), odd_texts()))
    if suffix == ".npz" and draw(st.booleans()):
        # Within the archive, whose checksums would tell.
        chosen = draw(st.sampled_from(sorted(MEMBERS)))
        return suffix, npz({**MEMBERS, chosen: draw(damaged(MEMBERS[chosen]))})
    whole = npz(MEMBERS) if suffix == ".npz" else draw(st.sampled_from(COLUMNAR[suffix]))
    return suffix, draw(damaged(whole))


numbers_of_files = count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    """Let even short texts come in several batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK", 64)
        patch.setattr(text, "_LINES_A_BLOCK", 2)
        yield


def saved(folder: Path, suffix: str, content: bytes) -> Path:
    # A name of its own: Arrow may still have the last one open.
    path = folder / f"scores-{next(numbers_of_files)}{suffix}"
    path.write_bytes(content)
    return path


# The reader.

ROLES: list[Callable[[str], Role]] = [
    lambda name: Numbers(),
    lambda name: Numbers(may_miss=True),
    lambda name: Names(),
    lambda name: Names(may_miss=True),
    lambda name: Labels(),
    lambda name: Labels("1"),
]


def outcome(path: Path, call: Callable[[Table], Any]) -> Any:
    """Return what a call returns, or the message of its error."""
    try:
        return call(Table(path))
    except TableError as error:
        message = str(error)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1 or path.suffix not in (".csv", ".tsv")
    # NumPy's messages may have addresses of objects in them.
    return re.sub(r"0x[0-9a-f]+", "0x", message)


def check_routes(path: Path) -> None:
    """Read each column in each way, in memory and in batches, and all columns together."""
    outcome(path, lambda table: find_detectors(table, table.names[:1]))
    try:
        names = [name for name in Table(path).names if Table(path).names.count(name) == 1]
    except TableError:
        return
    for role in ROLES:
        for columns in [[name] for name in names] + [names]:
            if not columns:
                continue

            def roles(columns: Any = columns, role: Any = role) -> dict[str, Role]:
                return {name: role(name) for name in columns}

            memory = outcome(path, lambda table: in_memory(table, roles))
            assert_same(outcome(path, lambda table: in_batches(table, roles)), memory)


@pytest.mark.evidence
@settings(max_examples=120)
@given(files())
def test_many_bytes_are_read_alike(folder: Path, file: tuple[str, bytes]) -> None:
    check_routes(saved(folder, *file))


# The command.


def check_command(path: Path, options: tuple[str, ...]) -> None:
    """Evaluate a file; an exception that the command does not turn into a message escapes."""
    results = [invoke("evaluate", path, *options)]
    if "--summary" not in options:
        results.append(invoke("evaluate", path, *options, "--memory", "64MB", "--exact"))
    for result in results:
        assert (result.exit_code, result.stderr) == (results[0].exit_code, results[0].stderr)
        if result.exit_code == 2:
            # An option that does not fit what was read.
            assert result.stdout == ""
            assert "Invalid value for --pos-label" in result.stderr
        elif result.exit_code:
            assert (result.exit_code, result.stdout) == (1, "")
            assert result.stderr.startswith("Error: ")
            assert str(path) in result.stderr
            assert result.stderr.count("\n") == 1
        else:
            assert result.stdout


@pytest.mark.evidence
@settings(max_examples=100)
@given(files(), st.sampled_from(OPTIONS))
def test_any_bytes_as_a_file(
    folder: Path, file: tuple[str, bytes], options: tuple[str, ...]
) -> None:
    check_command(saved(folder, *file), options)


BEYOND_CHARACTERS = npy(ARROW["g"]).replace(b"a\0\0\0", b"a\0\0\xff")
# What the tests above once found.
REGRESSIONS = {
    "blank line before a group": (".csv", TEXTS[1].encode(), ("--score", "s", "--group", "g")),
    "cut directory": (".npz", npz(MEMBERS).replace(b"PK\1\2", b"PK\1\3", 1), ()),
    "pickle": (".npz", npz(MEMBERS).replace(b"y.npy", b"y.opy"), ()),
    "head of an array": (".npz", npz({**MEMBERS, "y": MEMBERS["y"].replace(b"}", b"(")}), ()),
    "no characters": (".npz", npz({**MEMBERS, "g": BEYOND_CHARACTERS}), OPTIONS[5]),
    "magic": (".arrow", b"ARRROW1" + COLUMNAR[".arrow"][0][6:], ()),
}


@pytest.mark.parametrize("kind", list(REGRESSIONS))
def test_examples_that_once_failed_are_read_or_refused(folder: Path, kind: str) -> None:
    suffix, content, options = REGRESSIONS[kind]
    path = saved(folder, suffix, content)
    check_command(path, options)
    check_routes(path)


# Numbers.

digits = st.text("0123456789", min_size=1, max_size=40)
exponents = st.integers(-400, 400).map("e{}".format) | st.just("")
decimals = st.tuples(digits, digits, exponents).map(lambda parts: "-{}.{}{}".format(*parts))


@settings(max_examples=50)
@given(st.lists(st.floats(allow_nan=False).map(repr) | decimals, min_size=1))
def test_floats_are_those_of_python(folder: Path, cells: list[str]) -> None:
    # No integer that a float would round is refused.
    cells = [cell for cell in cells if not float(cell).is_integer() or abs(float(cell)) < 2**53]
    rows = [f"{i % 2},{cell}\n" for i, cell in enumerate(cells or ["0.5"])]
    path = saved(folder, ".csv", ("y,s\n" + "".join(rows)).encode())
    read = Table(path).read({"s": Numbers()})["s"].astype(np.float64)
    np.testing.assert_array_equal(read, np.array([float(cell) for cell in cells or ["0.5"]]))


@settings(max_examples=50)
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=1))
def test_integers_are_those_of_python(folder: Path, integers: list[int | None]) -> None:
    """With gaps too, in text and in Arrow's types."""
    rows = ["0," + ("" if number is None else str(number)) + "\n" for number in integers]
    path = saved(folder, ".csv", ("y,s\n" + "".join(rows)).encode())
    arrow = folder / f"scores-{next(numbers_of_files)}.arrow"
    feather.write_feather(pa.table({"s": pa.array(integers, "int64")}), str(arrow), chunksize=3)
    for table in (path, arrow):
        read = in_memory(Table(table), lambda: {"s": Numbers(may_miss=True)})["s"]
        assert [None if value != value else value for value in read] == integers

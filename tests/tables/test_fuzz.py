"""Any bytes as a file: the same in memory and in batches, or one line that names the file."""

import io
import zipfile
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from fastad._tables import columnar, text
from fastad._tables.columns import Labels, Names, Numbers, Role
from fastad._tables.table import Table
from fastad.errors import InvalidInputError
from tests.support.command_line import invoke
from tests.tables.test_routes import in_batches

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
CELLS += [
    "True",
    '"1"',
    '"a,b"',
    '"',
    '""',
    '"1',
    "\N{FULLWIDTH DIGIT ONE}",
    "\N{MINUS SIGN}1",
    "1j",
]
CELLS += [
    "\0",
    "\ufeff1",
    "#1",
    "1 2",
    "\x0b1",
    "\x1c",
    "\x85",
    "\N{LINE SEPARATOR}",
    "\N{SUPERSCRIPT TWO}",
]
CHUNKS = [cell.encode() for cell in CELLS]
CHUNKS += [
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b",",
    b";",
    b"\t",
    b"\xff\xfe",
    b"\x80",
    b"\xff" * 8,
    bytes(8),
]
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


def arrow_bytes(ending: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    write = parquet.write_table if ending == ".parquet" else feather.write_feather
    write(pa.table(ARROW), buffer, **options)
    return buffer.getvalue()


MEMBERS = {name: npy(ARROW[name]) for name in ("y", "s", "n", "g")}
COLUMNAR = {
    ".parquet": [
        arrow_bytes(".parquet"),
        arrow_bytes(".parquet", compression="none", use_dictionary=False),
        arrow_bytes(".parquet", compression="gzip", data_page_version="2.0"),
    ],
    ".arrow": [arrow_bytes(".arrow", compression=kind) for kind in ("uncompressed", "lz4", "zstd")],
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
def texts(draw: st.DrawFn) -> bytes:
    """A table of odd cells, in some encoding."""
    names = draw(st.lists(st.sampled_from([*"ysngd", *CELLS]), max_size=4))
    width = len(names)
    cells = st.one_of(st.sampled_from("01"), st.sampled_from(CELLS))
    row = st.one_of(
        st.lists(cells, min_size=width, max_size=width), st.lists(cells, max_size=width + 1)
    )
    rows = draw(st.lists(row, max_size=4))
    delimiter, end = draw(st.sampled_from(",;\t| ")), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = end.join(delimiter.join(cells) for cells in [["y", "s", *names], *rows])
    return text.encode(draw(st.sampled_from(ENCODINGS)), "replace")


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """The ending of a file's name, and its content."""
    ending = draw(st.sampled_from([".csv", ".csv", ".tsv", ".npz", ".npz", ".parquet", ".arrow"]))
    kind = draw(st.sampled_from(["damaged"] * 8 + ["random", "other"]))
    if kind == "random":
        return ending, draw(st.binary(max_size=300))
    if kind == "other" or ending in (".csv", ".tsv"):
        whole = draw(st.sampled_from(TEXTS)).encode(draw(st.sampled_from(ENCODINGS)))
        return ending, draw(st.one_of(damaged(whole), texts()))
    if ending == ".npz" and draw(st.booleans()):
        # Within the archive, whose checksums would tell.
        chosen = draw(st.sampled_from(sorted(MEMBERS)))
        return ending, npz({**MEMBERS, chosen: draw(damaged(MEMBERS[chosen]))})
    whole = npz(MEMBERS) if ending == ".npz" else draw(st.sampled_from(COLUMNAR[ending]))
    return ending, draw(damaged(whole))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def check(path: Path, content: bytes, options: tuple[str, ...]) -> None:
    """Evaluate a file; an exception that the command does not turn into a message escapes."""
    path.write_bytes(content)
    result = invoke("evaluate", path, *options)
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
@settings(max_examples=150)
@given(files(), st.sampled_from(OPTIONS))
def test_any_bytes_as_a_file(
    folder: Path, file: tuple[str, bytes], options: tuple[str, ...]
) -> None:
    ending, content = file
    check(folder / f"scores{ending}", content, options)


BEYOND_CHARACTERS = npy(ARROW["g"]).replace(b"a\0\0\0", b"a\0\0\xff")
# What the test above once found.
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
    ending, content, options = REGRESSIONS[kind]
    check(folder / f"scores{ending}", content, options)


def outcome(call: Callable[[], dict[str, Any]]) -> object:
    """Return what a call returns, to the bit, or the message of its error."""
    try:
        result = call()
    except InvalidInputError as error:
        return str(error)
    return {
        name: values.to_pylist()
        if hasattr(values, "to_pylist")
        else (values.dtype.kind, [repr(value) for value in values.tolist()])
        for name, values in result.items()
    }


def check_alike(path: Path, content: bytes) -> None:
    """Read every column in every role, in memory and in batches."""
    path.write_bytes(content)
    refusal = outcome(lambda: vars(Table(path)) and {})
    if isinstance(refusal, str):
        assert refusal.startswith(f"{path}: ")
        return
    table = Table(path)
    names = [name for name in table.names if table.names.count(name) == 1]
    roles: list[Callable[[], Role]] = [
        Numbers,
        Names,
        Labels,
        partial(Numbers, may_miss=True),
        partial(Names, may_miss=True),
        partial(Labels, "a"),
    ]
    for name in names:
        for role in roles:
            whole = outcome(partial(table.read, {name: role()}))
            batched = outcome(partial(in_batches, table, {name: role()}))
            assert batched == whole
            if isinstance(whole, str):
                assert whole.startswith((f"{path}: ", "pos_label must be a number"))


any_text = files().filter(lambda file: file[0] in (".csv", ".tsv"))


@given(any_text)
def test_any_text_is_read_alike_in_memory_and_in_batches(
    folder: Path, file: tuple[str, bytes]
) -> None:
    check_alike(folder / f"scores{file[0]}", file[1])


@pytest.mark.evidence
@settings(max_examples=500)
@given(files())
def test_any_file_is_read_alike_in_memory_and_in_batches(
    folder: Path, file: tuple[str, bytes]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columnar, "_ROWS", 2)
        patch.setattr(text, "_BLOCK", 1)
        check_alike(folder / f"scores{file[0]}", file[1])


digits = st.text("0123456789", min_size=1, max_size=40)
exponents = st.integers(-400, 400).map("e{}".format) | st.just("")


@given(
    st.lists(
        st.floats(allow_nan=False).map(repr) | st.tuples(digits, digits, exponents), min_size=1
    )
)
def test_numbers_are_those_of_python_to_the_bit(
    folder: Path, numbers: list[str | tuple[str, str, str]]
) -> None:
    cells = [x if isinstance(x, str) else f"-{x[0]}.{x[1]}{x[2]}" for x in numbers]
    path = folder / "numbers.csv"
    path.write_text("\n".join(["y,s", *(f"{cell},0" for cell in cells)]), encoding="utf-8")
    result = outcome(lambda: Table(path).read({"y": Numbers()}))
    if isinstance(result, str):
        # Integers that a float would round.
        assert "would be rounded to a float" in result
        return
    assert isinstance(result, dict)
    kind, values = result["y"]
    for value, cell in zip(values, cells, strict=True):
        assert Fraction(cell) == int(value) if kind in "iu" else float(value) == float(cell)


def test_an_ending_may_be_in_upper_case(folder: Path) -> None:
    path = folder / "scores.PARQUET"
    path.write_bytes(COLUMNAR[".parquet"][0])
    assert invoke("evaluate", path, "--score", "s").exit_code == 0

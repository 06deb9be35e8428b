"""One reader: a table has the same columns, values and refusals by every route to it."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from fastad._tables import columnar, text
from fastad._tables.columns import Labels, Names, Numbers, Role
from fastad._tables.detectors import find_detectors
from fastad._tables.errors import RereadError
from fastad._tables.table import Table
from fastad.errors import InvalidInputError
from tests.support.command_line import invoke, pipe

BEYOND = 2**53
# What a reader of text must give for the scores: exact numbers, or None where it must refuse.
Cells = list[str]


def column(*cells: str) -> str:
    """Return a table of two labels by turns and some scores."""
    return "y,s\n" + "".join(f"{i % 2},{cell}\n" for i, cell in enumerate(cells))


# Scores as they are written. Each must be read exactly as a float or integer, or be refused.
SCORES: dict[str, Cells] = {
    "floats": ["0.1", "-2.5e-3", ".5", "1.", "1E5"],
    "signs": ["+1", "-1", "+0.5"],
    "infinities": ["inf", "-Infinity", "1", "INF"],
    "beyond floats": ["1e400", "-1e400", "1", "9" * 400],
    "spaces": [" 1", "2 ", "\t3"],
    "integers": ["3", "1", "2"],
    "large": [str(BEYOND), str(BEYOND + 1), str(BEYOND + 2)],
    "large negative": [str(-BEYOND - 1), str(-BEYOND), "5"],
    "nanoseconds": ["1556559573141592653", "1556559573141592654", "1556559573141592655"],
    "large with points": [f"{BEYOND + 1}.0", f"{BEYOND}.0", "1."],
    "unsigned": [str(2**63 + 1), str(2**63), "0"],
    "unsigned and negative": [str(2**63 + 1), str(2**63), "-1"],
    "large and fractions": [str(BEYOND + 1), str(BEYOND), "0.5"],
    "exact and fractions": [str(2**60), "0.5", "1"],
    "65 bits": [str(2**64 + 1), str(2**64), "1"],
    "hashes": [str(2**128 - 1), str(2**128 - 2), "5"],
    "gap": ["1", "", "2"],
    "large with a gap": [str(BEYOND + 1), str(BEYOND), "", "1"],
    "NA": ["1", "NA", "2", "N/A"],
    "null": ["null", "1", "NULL", "2", "None"],
    "pandas": ["1", "<NA>", "nan", "NaN", "n/a"],
    "padded NA": ["1", " NA ", "2"],
    "only missing": ["NA", "", "nan"],
    "text": ["1", "high", "2"],
    "only text": ["low", "high", "low"],
    "decimal comma": ['"0,5"', '"1,5"', '"2,5"'],
    "underscore": ["1_0", "2", "3"],
    "hexadecimal": ["0x1", "2", "3"],
    "Arabic digits": ["\u0661", "\u0662", "3"],
    "full-width digits": ["\uff11", "2", "3"],
    "nan with a word": ["nan(1)", "1", "2"],
    "negative nan": ["-nan", "1", "2"],
    "complex": ["1j", "2", "3"],
    "constant": ["1", "1", "1.0"],
    "row numbers": ["0", "1", "2"],
    "one": ["1"],
}
# Tables of text of other kinds.
TEXTS: dict[str, str | bytes] = {
    "nothing": "",
    "blank": "\n\n",
    "names only": "y,s",
    "names and blank lines": "y,s\n\n \n",
    "blank lines": "y,s\n\n0,1\n\n1,2\n",
    "semicolons": "y;s\n0;1\n1;2\n",
    "tabs": "y\ts\n0\t1\n1\t2\n",
    "bars": "y|s\n0|1\n1|2\n",
    "ends of lines": "y,s\r\n0,1\r\n1,2\r\n",
    "old ends of lines": "y,s\r0,1\r1,2\r",
    "no last end": "y,s\n0,1\n1,2",
    "quotes": '"y","s"\n"0","1"\n"1","2"\n',
    "line break": 'y,s,t\n0,1,"a\nb"\n1,2,"c,d"\n',
    "open quote": 'y,s\n0,"1\n1,2\n',
    "quote in the names": 'y,"s\n0,1\n1,2\n',
    "padded names": "y , s \n0,1\n1,2\n",
    "same names": "y,s,s\n0,1,2\n1,2,3\n",
    "no names": "0,1\n1,2\n",
    "short row": "y,s\n0,1\n1\n",
    "long row": "y,s\n0,1,2\n1,2\n",
    "mark": b"\xef\xbb\xbfy,s\n0,1\n1,2\n",
    "UTF-16": "y,s\n0,1\n1,2\n".encode("utf-16"),
    "UTF-16 without a mark": "y,s\n0,1\n1,2\n".encode("utf-16-le"),
    "Latin-1 names": "y,s,ö\n0,1,2\n1,2,3\n".encode("latin-1"),
    "Latin-1 cell": "y,s\n0,ö\n1,2\n".encode("latin-1"),
    "NUL": "y,s\n0,1\n1,\0\n",
    "index of pandas": ",y,s\n0,1,.9\n1,0,.2\n2,1,.8\n",
    "index column": "y,__index_level_0__,s\n1,3,.9\n0,4,.2\n",
    "fold": "fold,y,s\n0,1,.9\n0,0,.2\n1,0,.3\n",
    "constant column": "y,s,k\n1,.9,1\n0,.2,1\n",
    "text column": "y,s,site\n1,.9,a\n0,.2,b\n",
    "flags": "y,s,late\n1,.9,true\n0,.2,false\n",
    "missing label": "y,s\n1,.9\n,.2\n0,.1\n",
    "NA label": "y,s\n1,.9\nNA,.2\n0,.1\n",
    "true and false": "y,s\nTrue,.9\nfalse,.2\nFALSE,.3\n",
    "real labels": "y,s\n1.0,.9\n0.0,.2\n",
    "label 2": "y,s\n1,.9\n2,.2\n",
    "text labels": "y,s\nfraud,.9\nok,.2\n",
    "no scores": "y\n0\n1\n",
}
# Options for the labels of some of them.
POS_LABELS = {"text labels": "fraud", "label 2": "2", "real labels": "1", "NA label": "1"}


def typed() -> dict[str, pa.Table]:
    """Return tables with types."""
    y = pa.array([1, 0, 1, 0])
    scores = {
        "half": pa.array(np.array([1, 2, 3, 4], np.float16)),
        "single": pa.array([0.1, 0.2, 0.3, 0.4], pa.float32()),
        "unsigned": pa.array([2**63 + 1, 2**63, 0, 1], pa.uint64()),
        "nulls": pa.array([1.5, None, 2.5, 3.5]),
        "large with nulls": pa.array([BEYOND + 1, BEYOND, None, 1]),
        "small with nulls": pa.array([3, 2, None, 1]),
        "nan": pa.array([1.5, float("nan"), 2.5, 3.5]),
        "decimal": pa.array([Decimal("0.85"), Decimal("0.1"), Decimal("0.3"), Decimal("0.2")]),
        "long decimal": pa.array([Decimal(f"{i}.{'1' * 30}") for i in range(4)]),
        "long type of short decimals": pa.array(
            [Decimal("0.85"), Decimal("0.1"), Decimal("0.3"), Decimal("0.2")]
        ).cast(pa.decimal128(38, 18)),
        "flags": pa.array([True, False, True, None]),
        "only nulls": pa.array([None] * 4, pa.float64()),
        "null type": pa.array([None] * 4),
        "categories": pa.array([1, 2, 3, 1]).dictionary_encode(),
        "strings": pa.array(["1", "2", "3", "4"]),
        "dates": pa.array(np.array(["2026-01-01"] * 4, "M8[D]")),
        "nested": pa.array([[1], [2], [3], [4]]),
    }
    tables = {f"scores: {name}": pa.table({"y": y, "s": s}) for name, s in scores.items()}
    labels = {
        "flags": pa.array([True, False, True, False]),
        "floats": pa.array([1.0, 0.0, 1.0, 0.0]),
        "nulls": pa.array([1, None, 1, 0]),
        "strings": pa.array(["fraud", "ok", "fraud", "ok"]),
        "categories": pa.array(["1", "0", "1", "0"]).dictionary_encode(),
        "three": pa.array([1, 0, 2, 0]),
    }
    tables |= {
        f"labels: {name}": pa.table({"y": each, "s": [0.9, 0.2, 0.8, 0.85]})
        for name, each in labels.items()
    }
    rows = {"y": y, "s": [0.9, 0.2, 0.8, 0.85], "__index_level_0__": [5, 6, 8, 7]}
    return {**tables, "index of pandas": pa.table(rows), "no rows": pa.table(rows)[:0]}


TYPED = typed()


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call returns, as plain values with their types, or its message."""
    try:
        result = call()
    except InvalidInputError as error:
        return str(error)
    return {
        name: (str(values.type), values.to_pylist())
        if hasattr(values, "to_pylist")
        else (values.dtype.str.rstrip("0123456789"), [repr(value) for value in values.tolist()])
        for name, values in result.items()
    }


def in_memory(table: Table, roles: dict[str, Role]) -> dict[str, Any]:
    return table.read(roles)


def in_batches(table: Table, roles: dict[str, Role]) -> dict[str, Any]:
    """Join batches, and begin again where a column of text turns out to have another type."""
    while True:
        try:
            parts = [batch.columns for batch in table.batches(roles)]
        except RereadError:
            continue
        if not parts:
            raise InvalidInputError(f"{table.title}: there are no rows")
        joined = {}
        for name in roles:
            arrays = [part[name] for part in parts]
            if all(isinstance(array, np.ndarray) for array in arrays):
                joined[name] = np.concatenate(arrays)
            else:
                joined[name] = pa.chunked_array([pa.array(array) for array in arrays])
        return joined


def by_all_routes(path: Path, pos_label: str | None, *, may_miss: bool) -> Any:
    """Return what a table contains by every route, all alike; the file is called FILE."""

    def outcomes() -> Iterator[Any]:
        for read in (in_memory, in_batches):

            def call(read: Any = read) -> Any:
                table = Table(path)
                table.check(["y"], "label")
                detectors = find_detectors(table, ["y"])
                roles: dict[str, Role] = {
                    "y": Labels(pos_label),
                    **{name: Numbers(may_miss=may_miss) for name in detectors.names},
                }
                said = np.array([detectors.message(table.title)])
                return {"": said, **read(table, roles)}

            yield json.loads(json.dumps(outcome(call)).replace(json.dumps(str(path))[1:-1], "FILE"))

    first, *others = outcomes()
    assert all(other == first for other in others)
    return first


@pytest.fixture(params=["whole", "small batches"])
def batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let batches be whole files, or a few rows."""
    if request.param == "small batches":
        monkeypatch.setattr(columnar, "_ROWS", 2)
        monkeypatch.setattr(text, "_BLOCK", 1)
        monkeypatch.setattr(text, "_LINES_A_BLOCK", 2)
    return str(request.param)


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("may_miss", [False, True])
@pytest.mark.parametrize("name", SCORES)
def test_scores_of_text_are_exact_or_refused(tmp_path: Path, name: str, *, may_miss: bool) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(column(*SCORES[name]), encoding="utf-8")
    result = by_all_routes(path, None, may_miss=may_miss)
    if isinstance(result, str):
        assert result.startswith("FILE: ")
        return
    _, values = result["s"]
    for value, cell in zip(values, SCORES[name], strict=True):
        if cell.strip().lower() in ("", "na", "n/a", "<na>", "nan", "null", "none"):
            assert may_miss
            assert value in ("nan", None)
        elif isinstance(value, int) or value.lstrip("-").isdecimal():
            assert Fraction(cell.strip()) == int(value)
        else:
            # The nearest float, as Python has it, which is an integer where the cell is one.
            assert float(value) == float(cell)
            if cell.strip().lstrip("+-").isdecimal() and np.isfinite(float(cell)):
                assert int(float(cell)) == int(cell)


REFUSED = {
    *("unsigned and negative", "large and fractions", "65 bits", "hashes", "text"),
    *("only text", "decimal comma", "underscore", "hexadecimal", "Arabic digits"),
    *("full-width digits", "nan with a word", "negative nan", "complex", "constant"),
}
WITH_GAPS = {
    *("gap", "large with a gap", "NA", "null", "pandas", "padded NA", "only missing"),
}


@pytest.mark.parametrize("name", SCORES)
def test_what_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(column(*SCORES[name]), encoding="utf-8")
    for may_miss in (False, True):
        refused = isinstance(by_all_routes(path, None, may_miss=may_miss), str)
        assert refused == (name in REFUSED or (name in WITH_GAPS and not may_miss))


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("name", TEXTS)
def test_text_is_the_same_however_it_comes(tmp_path: Path, name: str) -> None:
    content = TEXTS[name]
    content = content.encode() if isinstance(content, str) else content
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    expected = by_all_routes(path, POS_LABELS.get(name), may_miss=False)
    if expected == "FILE: there are no rows":
        expected = None  # a folder is named by itself
    compressors: dict[str, Callable[[bytes], Any]] = {
        ".csv.gz": gzip.compress,
        ".csv.bz2": bz2.compress,
        ".csv.xz": lzma.compress,
        ".csv.zst": lambda plain: pa.compress(plain, "zstd", asbytes=True),
        ".tsv": bytes,
    }
    for extension, compress in compressors.items():
        packed = tmp_path / f"scores{extension}"
        packed.write_bytes(compress(content))
        result = by_all_routes(packed, POS_LABELS.get(name), may_miss=False)
        assert expected is None or result == expected
    # A folder of one file is the file; its name stands before what is said of all files.
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "part.csv").write_bytes(content)
    result = by_all_routes(folder, POS_LABELS.get(name), may_miss=False)
    if isinstance(expected, dict):
        assert result == expected
    elif expected is not None:
        assert result.replace("FILE/part.csv", "FILE") == expected


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("may_miss", [False, True])
@pytest.mark.parametrize("name", TYPED)
def test_tables_with_types_are_the_same_in_both_formats(
    tmp_path: Path, name: str, *, may_miss: bool
) -> None:
    parquet.write_table(TYPED[name], tmp_path / "a.parquet", row_group_size=3)
    feather.write_feather(TYPED[name], str(tmp_path / "a.arrow"), chunksize=3)
    pos_label = "fraud" if name == "labels: strings" else None
    results = [
        by_all_routes(tmp_path / f"a{extension}", pos_label, may_miss=may_miss)
        for extension in (".parquet", ".arrow")
    ]
    assert results[0] == results[1]


def test_types_are_exact_or_refused(tmp_path: Path) -> None:
    def read(name: str, *, may_miss: bool = False) -> Any:
        parquet.write_table(TYPED[f"scores: {name}"], tmp_path / "a.parquet")
        return by_all_routes(tmp_path / "a.parquet", None, may_miss=may_miss)

    assert read("decimal")["s"][1] == ["0.85", "0.1", "0.3", "0.2"]
    assert read("long type of short decimals")["s"][1] == ["0.85", "0.1", "0.3", "0.2"]
    assert "must contain numbers of at most 64 bits; found decimal128(31, 30) with" in read(
        "long decimal"
    )
    assert read("large with nulls", may_miss=True)["s"] == ["int64", [BEYOND + 1, BEYOND, None, 1]]
    assert read("small with nulls", may_miss=True)["s"][1] == ["3.0", "2.0", "nan", "1.0"]
    assert read("large with nulls") == "FILE: column 's', row 2: the value is missing"
    assert read("unsigned")["s"] == ["<u", [str(x) for x in (2**63 + 1, 2**63, 0, 1)]]


EVALUATE = ("--measure", "auc", "--json")


def printed(result: Any) -> tuple[int, dict[str, Any], str]:
    """Return the exit code, the area of each detector and group, and what stands on stderr."""
    values = {}
    if result.exit_code == 0:
        for row in next(v for k, v in json.loads(result.stdout).items() if k in KINDS):
            area = row.get("values") or row["measures"]
            area = area["auc"] if "values" in row else area.get("auc", {}).get("value")
            group = row.get("group", {}).get("g", row.get("g"))
            values[str((group, row["detector"]))] = area
    return result.exit_code, values, result.stderr


KINDS = ("detectors", "results")


@pytest.mark.parametrize("name", [*SCORES, *TEXTS])
def test_the_command_line_prints_the_same_by_both_routes(tmp_path: Path, name: str) -> None:
    content = TEXTS[name] if name in TEXTS else column(*SCORES[name])
    path = tmp_path / "scores.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    options = ["--pos-label", POS_LABELS[name]] if name in POS_LABELS else []
    whole = printed(invoke("evaluate", path, *EVALUATE, *options))
    batched = printed(invoke("evaluate", path, *EVALUATE, *options, "--memory", "1MB", "--exact"))
    if whole[0] == 1 and batched[0] == 0:
        # Without a class there is no area: an error in memory, a note in batches.
        assert "without" in whole[2]
        return
    assert batched == whole
    piped = printed(pipe(path.read_bytes(), "evaluate", "-", *EVALUATE, *options))
    assert piped == (*whole[:2], whole[2].replace(str(path), "-"))


GROUPS = {
    "zip codes": ["01730", "01730", "1730", "1730"],
    "numbers": ["10", "10", "9", "9"],
    "agents": ["007", "007", "7", "7"],
    "reals": ["1", "1", "1.0", "1.0"],
    "Namibia": ["NA", "NA", "null", "null"],
    "dates": ["2026-01-01", "2026-01-01", "2026-01-02", "2026-01-02"],
    "flags": ["true", "true", "false", "false"],
    "spaces": [" a", " a", "a", "a"],
    "large": [str(2**70), str(2**70), "1", "1"],
    "negative": ["-1", "-1", "-01", "-01"],
}


@pytest.mark.parametrize("name", GROUPS)
def test_names_of_groups_keep_their_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / "scores.csv"
    rows = [f"{i % 2},{[0.9, 0.2, 0.1, 0.5][i]},{g}\n" for i, g in enumerate(GROUPS[name])]
    path.write_text("y,s,g\n" + "".join(rows))
    results = [
        printed(invoke("evaluate", path, *EVALUATE, "--group", "g", "--score", "s", *memory))
        for memory in ([], ["--memory", "1MB", "--exact"])
    ]
    assert results[0] == results[1]
    code, values, _ = results[0]
    assert code == 0
    assert len(values) == 2
    assert sorted(values.values()) == [0, 1]
    names = Table(path).read({"g": Names()})["g"]
    assert names.tolist() == GROUPS[name]


def many(first: str, last: str, n_rows: int = 200_000) -> str:
    """Return scores of one kind in the first blocks of a file, and of another at its end."""
    return column(*[first.format(i) for i in range(n_rows)], last)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("{}", "0.5", "0.5"),
        ("{}", str(BEYOND + 1), str(BEYOND + 1)),
        ("{}.5", str(BEYOND + 1), None),
        ("NA", "0.5", "0.5"),
        ("", "7", "7.0"),
        ("{}", "high", None),
        ("{}", str(2**63 + 1), str(2**63 + 1)),
        (str(BEYOND) + "{:06}", "0.5", None),
        ("{}", "+5", "5.0"),
    ],
)
def test_what_comes_behind_the_first_block(
    tmp_path: Path, first: str, last: str, expected: str | None
) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(many(first, last))
    result = by_all_routes(path, None, may_miss=True)
    if expected is None:
        assert any(f"line {line}:" in result for line in (2, 3, 200_002))
    else:
        assert result["s"][1][-1] == expected

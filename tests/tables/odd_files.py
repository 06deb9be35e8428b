"""The list of odd files that each route must read alike: what is in them is stated here."""

import datetime
from decimal import Decimal

import numpy as np

from tests.support.odd_tables import (
    LABEL_HINT,
    Columns,
    OddTable,
    columnar,
    dictionary,
    groups,
    labels,
    scores,
    text,
    typed_groups,
    typed_labels,
)

BIG = 2**53
GOOD = "y,s\n0,0.5\n1,1.5\n0,2.5\n1,0.25\n"
_NO_SCORES = "there is no column of scores beside 'y'"


def _missing(cell: str) -> OddTable:
    what = f"{cell!r} is a missing value" if cell.strip() else "the cell is missing"
    return scores("1", cell, "3", expected=f": column 's', line 3: {what}")


def _no_number(cell: str) -> OddTable:
    return scores("1", cell, "3", expected=f": column 's', line 3: {cell!r} is not a number")


def _not_binary(cell: str, line: int) -> str:
    found = f"the label must be 0 (normal) or 1 (anomaly); found {cell!r}"
    return f": column 'y', line {line}: {found}. {LABEL_HINT}"


def _detectors(header: str, *rows: str, expected: Columns | str) -> OddTable:
    return text(header, *rows, expected=expected, scores=None)


NUMBERS = {
    "plain": text(*GOOD.splitlines()),
    "one row of each": scores("1", "2"),
    "integers beyond 2^53": scores(*(str(BIG + i) for i in (0, 1, 2, 3))),
    "negative integers beyond 2^53": scores(*(str(-BIG - i) for i in (3, 1, 2, 0))),
    "integers with zeros behind a point": scores(f"{BIG + 1}.0", f"{BIG}.", str(BIG + 2)),
    "integers of 64 bits": scores(str(2**63 - 1), str(2**63 - 2), str(-(2**63))),
    "unsigned integers of 64 bits": scores(str(2**64 - 1), str(2**64 - 2), "0"),
    "large integers that floats have": scores(str(2**60), "0.5", str(2**61), "1e3"),
    "integers beyond 64 bits that floats have": scores(str(2**70), "1", str(2**71)),
    "large integers beside fractions": scores(
        str(BIG + 1),
        "0.5",
        expected=f": column 's', line 2: {BIG + 1} would be rounded to a float: it stands beside "
        "numbers that are no integers",
    ),
    "large integers beside an infinity": scores(
        "inf",
        str(BIG + 1),
        expected=f": column 's', line 3: {BIG + 1} would be rounded to a float: it stands beside "
        "numbers that are no integers",
    ),
    "integers beyond 64 bits": scores(
        "1",
        str(2**64 + 1),
        expected=f": column 's', line 3: {2**64 + 1} would be rounded to a float: it has more than "
        "64 bits",
    ),
    "negative and unsigned integers": scores(
        "-1",
        str(2**64 - 1),
        expected=f": column 's', line 3: {2**64 - 1} would be rounded to a float: it stands "
        "beside negative numbers",
    ),
    "large integers with a gap": scores(
        str(BIG + 1), "", expected=": column 's', line 3: the cell is missing"
    ),
    "large integers and a word": scores(
        str(BIG + 1), "nan(1)", expected=": column 's', line 3: 'nan(1)' is not a number"
    ),
    "large numbers and -nan": scores(
        "1e300", "-nan", expected=": column 's', line 3: '-nan' is not a number"
    ),
    "plus signs": scores("+1", "+1.5", "+1e3", "-2"),
    "plus signs of large integers": scores(f"+{BIG + 1}", str(BIG + 2), "1"),
    "more than a float has": scores("1e400", "-1e400", "1e308", "1"),
    "less than a float has": scores("1e-400", "5e-324", "-1e-400", "2e-324"),
    "infinities": scores("inf", "-inf", "Infinity", "-INFINITY", "+inf", "1"),
    "400 digits": scores("9" * 400, "1", "-" + "9" * 400),
    "5000 digits": scores("9" * 5000, "1"),
    "points without digits": scores("1.", ".5", "-.5", "1.e2", "0"),
    "exponents": scores("1E5", "1e+5", "1e-5", "2E05"),
    "digits that round": scores(
        "0.1", "0.30000000000000004", "9007199254740992.5", "123456789012345678e-17", "1e23"
    ),
    "padded": scores(" 1", "2 ", "\t3", " -4 "),
    "quoted": scores('"1"', '"2.5"', '"-1e3"'),
    "quoted and padded": scores('" 1"', '"2 "', "3"),
    "negative zeros": scores("-0", "0", "-0.0", "1"),
    **{
        f"missing: {cell!r}": _missing(cell)
        for cell in (
            *("", "NA", "N/A", "n/a", "null", "NULL", "<NA>", "nan", "NaN", "None"),
            *(" ", " NA ", "\tnan"),
        )
    },
    **{
        f"no number: {cell!r}": _no_number(cell)
        for cell in (
            *("-nan", "NAN", "nan(1)", "-", ".", "e5", "1e", "1_0", "0x1", "1 2", "1j", "True"),
            "\N{ARABIC-INDIC DIGIT ONE}",
            "\N{FULLWIDTH DIGIT ONE}",
            "\N{MINUS SIGN}1",
            "\N{SUPERSCRIPT TWO}",
            "\ufeff1",
        )
    },
    "decimal commas": scores('"1,5"', "2", expected=": column 's', line 2: '1,5' is not a number"),
    "decimal commas between semicolons": text(
        "y;s", "0;1,5", "1;2,5", expected=": column 's', line 2: '1,5' is not a number"
    ),
}
LABELS = {
    "true and false": labels("true", "false", "TRUE", " False"),
    "labels as floats": labels("1.0", "0.0", "1e0", "+1", "-0"),
    "a label of another number": labels("0", "1", "2", expected=_not_binary("2", 4)),
    "labels of text": labels("good", "bad", expected=_not_binary("good", 2)),
    "a label beyond floats": labels("0", "1e400", expected=_not_binary("1e400", 3)),
    "pos_label a string": labels("good", "bad", "bad", pos_label="bad"),
    "pos_label a padded string": labels("good", "bad", " bad", pos_label="bad"),
    "pos_label a number": labels("2", "5", "2.0", pos_label="2"),
    "pos_label written as a float": labels("0", "1", "+1", pos_label="1.0"),
    "pos_label a truth": labels("true", "False", "TRUE", pos_label="false"),
    "pos_label a truth beside numbers": labels(
        *("-1", "1", "-1"),
        pos_label="true",
        expected=": column 'y', line 3: must have one label beside pos_label='true'; "
        "found -1 and 1",
    ),
    "pos_label a spelling of missing": labels(
        "NA", "ok", "NA", expected={"y": [1, 0, 1], "s": [0.0, 0.5, 1.0]}, pos_label="NA"
    ),
    "three labels": labels(
        *("good", "bad", "odd"),
        pos_label="bad",
        expected=": column 'y', line 4: must have one label beside pos_label='bad'; "
        "found 'good' and 'odd'",
    ),
    "three labels of numbers": labels(
        *("3", "1", "2"),
        pos_label="1",
        expected=": column 'y', line 4: must have one label beside pos_label='1'; found 3 and 2",
    ),
    "a label is missing": labels(
        "0", "", "1", expected=": column 'y', line 3: the cell is missing"
    ),
    "a label is missing beside pos_label": labels(
        *("bad", "None", "good"),
        pos_label="bad",
        expected=": column 'y', line 3: 'None' is a missing value",
    ),
    "truths in Parquet": typed_labels(".parquet", [False, True, False, True], [0, 1, 0, 1]),
    "floats in Arrow": typed_labels(".arrow", [0.0, 1.0, 0.0, 1.0], [0, 1, 0, 1]),
    "decimals as labels": typed_labels(
        ".parquet", [Decimal("1.0"), *map(Decimal, (0, 1, 0))], [1, 0, 1, 0]
    ),
    "pos_label of integers": typed_labels(".parquet", [3, 2, 3, 2], [1, 0, 1, 0], "3.0"),
    "pos_label of digits": typed_labels(".arrow", ["7", "007", "007", "7"], [0, 1, 1, 0], "007"),
    "pos_label of strings": typed_labels(".arrow", ["n", "a", "a", "n"], [0, 1, 1, 0], "a"),
    "pos_label of an archive": typed_labels(".npz", ["n", "a", "a", "n"], [0, 1, 1, 0], "a"),
    "categories that no row has": typed_labels(
        ".arrow", dictionary(["good", "bad", "unknown"]), [0, 1, 0, 1], "bad"
    ),
    "digits as categories": typed_labels(".arrow", dictionary(["0", "1", "x"]), [0, 1, 0, 1]),
    "a missing category": typed_labels(
        ".arrow", dictionary(["good", None]), ": column 'y', row 1: the value is missing", "good"
    ),
    "a missing truth": typed_labels(
        ".parquet", [True, False, None, True], ": column 'y', row 2: the value is missing"
    ),
    "a missing label and a missing score": OddTable(
        ".arrow",
        columnar(".arrow", {"y": [0, None, 1], "s": [None, 1.5, 2.5]}),
        ": column 'y', row 1: the value is missing",
    ),
    "a label that is NaN": typed_labels(
        ".npz", [0, 1, np.nan, 1], ": column 'y', row 2: a label must not be NaN"
    ),
    "dates as labels": typed_labels(
        ".parquet",
        [datetime.date(2026, 1, day) for day in (1, 2, 3, 4)],
        ": column 'y' must contain numbers; found date32[day]",
    ),
}
GROUPS = {
    "groups of text": groups("a", "b", "a", "b"),
    "zip codes": groups("01730", "1730", "01730", "1730"),
    "groups of integers": groups("10", "9", "-1", "9"),
    "groups of numbers with zeros": groups("007", "7", "007", "7"),
    "groups of integers and floats": groups("1", "1.0", "1", "1.0"),
    "groups of integers beyond 64 bits": groups(str(2**63), "1", str(2**63), "1"),
    "groups of integers beyond 2^53": groups(str(BIG), str(BIG + 1), str(BIG), str(BIG + 1)),
    "groups of spellings of missing": groups("NA", "US", "nan", "None"),
    "padded groups": groups(" a", "a", " a", "a"),
    "groups in quotes, with line breaks": groups('"a\nb"', '"a,b"', '"a\nb"', '"say ""a"""'),
    "groups in other digits": groups("\N{FULLWIDTH DIGIT ONE}", "1", "1", "1"),
    "a group is missing": groups("a", "", expected=": column 'g', line 3: the cell is missing"),
    "groups of strings": typed_groups(".parquet", ["b", "a", "01", "b"], ["b", "a", "01", "b"]),
    "groups of categories": typed_groups(
        ".arrow", dictionary(["x", "y", "z"]), ["x", "y", "x", "y"]
    ),
    "groups with a missing category": typed_groups(
        ".arrow", dictionary(["x", None]), ": column 'g', row 1: the value is missing"
    ),
    "groups of categories of integers": typed_groups(".parquet", dictionary([7, 9]), [7, 9, 7, 9]),
    "groups of floats": typed_groups(".parquet", [1.0, 2.5, 1.0, 2.5], [1.0, 2.5, 1.0, 2.5]),
    "groups of truths": typed_groups(
        ".parquet", [True, False, True, True], [True, False, True, True]
    ),
    "groups of arrays": typed_groups(".npz", ["b", "a", "01", "b"], ["b", "a", "01", "b"]),
    "groups of large integers": typed_groups(
        ".arrow", [BIG, BIG + 1, BIG, BIG + 1], [BIG, BIG + 1, BIG, BIG + 1]
    ),
    "a group that is null": typed_groups(
        ".parquet", ["a", None, "a", "b"], ": column 'g', row 1: the value is missing"
    ),
    "a group that is NaN": typed_groups(
        ".npz", [1.0, np.nan, 1.0, 2.0], ": column 'g', row 1: the value is missing"
    ),
    "nested groups": typed_groups(
        ".parquet",
        [["a"]] * 4,
        ": column 'g' must contain single values; found list<element: string>",
    ),
}
_BINARY: Columns = {"y": [0, 1, 0], "s": [1.5, 2.5, 0.5]}
TEXTS = {
    "semicolons": text("y;s", "0;1.5", "1;2.5"),
    "tabs": OddTable(".tsv", b"y\ts\n0\t1.5\n1\t2.5\n"),
    "commas in .tsv": OddTable(".tsv", GOOD.encode()),
    "bars": text("y|s", "0|1.5", "1|2.5"),
    "commas in a name above a cell of 200 kB": text(
        "a,b,c,d;y;s", f"{'x' * 200_000};0;1.5", "2;1;2.5", expected={"y": [0, 1], "s": [1.5, 2.5]}
    ),
    "commas in a quoted name": text('"a,b";y;s', "1;0;1.5", "2;1;2.5"),
    "a BOM": OddTable(".csv", b"\xef\xbb\xbf" + GOOD.encode()),
    "UTF-16 with a mark": OddTable(
        ".csv",
        GOOD.encode("utf-16"),
        ": the text is not UTF-8: 'utf-8' codec can't decode byte 0xff in position 0: invalid "
        "start byte",
    ),
    "UTF-16 without a mark": OddTable(
        ".csv",
        GOOD.encode("utf-16-le"),
        ": the first line must name the columns: a NUL is in it, as UTF-16 has it",
    ),
    "an empty file": OddTable(
        ".csv", b"", ": the file is empty; its first line must name the columns"
    ),
    "a header only": OddTable(".csv", b"y,s\n", ": there are no rows"),
    "a header and blank lines": OddTable(".csv", b"y,s\n\n  \n\n", ": there are no rows"),
    "blank lines": text("y,s", "", "0,1.5", "", "", "1,2.5", "0,0.5", ""),
    "no end of the last line": OddTable(".csv", GOOD.encode().rstrip()),
    "ends of Windows": OddTable(".csv", GOOD.replace("\n", "\r\n").encode()),
    "ends of old Macs": OddTable(".csv", GOOD.replace("\n", "\r").encode()),
    "a short row": text(
        "s,y", "1.5,0", "2.5", expected=": column 'y', line 3: the cell is missing"
    ),
    "a long row": text(
        "y,s", "0,1.5", "1,2.5,3", expected=": line 3: there are more cells than columns"
    ),
    "a line break in quotes before a wrong cell": text(
        "y,s,t", '0,1.5,"a\nb"', "1,x,c", expected=": column 's', line 4: 'x' is not a number"
    ),
    "padded names": text(" y , s", "0,1.5", "1,2.5", "0,0.5", expected=_BINARY),
    "quoted names": text('"y","s"', "0,1.5", "1,2.5", "0,0.5", expected=_BINARY),
    "a name twice": text(
        "y,s,s", "0,1.5,2", expected=": there is more than one column 's'; found y, s, s"
    ),
    "a name that is not there": text(
        "y,sc,t",
        "0,1,2",
        scores=["scr"],
        expected=": there is no column 'scr'; found y, sc, t; did you mean 'sc'?",
    ),
    "a quote that is not closed in the header": text(
        'y,"s',
        "0,1.5",
        expected=": the first line must name the columns: a quote is not closed in it",
    ),
    "a cell of 200 kB before a wrong label": text(
        "y,s,t", f"0,1.5,{'x' * 200_000}", "2,2.5,z", expected=_not_binary("2", 3)
    ),
    "a cell of 200 kB and 100 000 lines before a wrong score": text(
        "y,s,t",
        '0,1.5,"' + "x\n" * 100_000 + '"',
        "1,2.5z,z",
        expected=": column 's', line 100003: '2.5z' is not a number",
    ),
}
DETECTORS = {
    "all columns of numbers": _detectors(
        "y,a,b",
        "0,1,2",
        "1,3,1",
        "0,2,5",
        expected={"y": [0, 1, 0], "a": [1, 3, 2], "b": [2, 1, 5]},
    ),
    "an index without a name": _detectors(
        ",y,s", "0,0,1.5", "1,1,2.5", "2,0,0.5", expected=_BINARY
    ),
    "an index by its numbers": _detectors(
        "row,y,s", "1,0,1.5", "2,1,2.5", "3,0,0.5", expected=_BINARY
    ),
    "names of an index, a fold and a constant": _detectors(
        "__index_level_0__,id,fold,c,y,s",
        "7,3,1,5,0,1.5",
        "8,4,2,5,1,2.5",
        "9,6,1,5,0,0.5",
        expected=_BINARY,
    ),
    "flags and text": _detectors(
        "y,flag,name,s", "0,true,a,1.5", "1,False,b,2.5", "0,true,c,0.5", expected=_BINARY
    ),
    "no detector": _detectors(
        "y,name",
        "0,a",
        "1,b",
        expected=f": {_NO_SCORES}; left out: 'name' (no numbers); --score names others",
    ),
    "a detector with a word": _detectors(
        "y,s", "0,1", "1,high", expected=": column 's', line 3: 'high' is not a number"
    ),
    "a detector that is missing": _detectors(
        "y,s", "0,NA", "1,", expected=": column 's', line 2: 'NA' is a missing value"
    ),
    "columns of Parquet": OddTable(
        ".parquet",
        columnar(
            ".parquet",
            {
                "__index_level_0__": [5, 6, 7],
                "y": [0, 1, 0],
                "flag": [True, False, True],
                "day": [datetime.date(2026, 1, 1)] * 3,
                "name": ["a", "b", "c"],
                "s": [1.5, 2.5, 0.5],
                "constant": [4, 4, 4],
            },
        ),
        _BINARY,
        scores=None,
    ),
    "an index of 8 bits in many batches": OddTable(
        ".arrow",
        columnar(
            ".arrow",
            {
                "i": np.arange(400).astype("u1"),
                "y": np.arange(400) % 2,
                "s": np.arange(400) % 7 / 4,
            },
            128,
        ),
        {
            "y": [i % 2 for i in range(400)],
            "i": [i % 256 for i in range(400)],
            "s": [i % 7 / 4 for i in range(400)],
        },
        scores=None,
    ),
    "other arrays of an archive": OddTable(
        ".npz",
        columnar(
            ".npz",
            {"y": [0, 1, 0], "s": [1.5, 2.5, 0.5], "X": np.zeros((3, 2)), "names": ["a", "b"]},
        ),
        _BINARY,
        scores=None,
    ),
}
ODD = {**NUMBERS, **LABELS, **GROUPS, **TEXTS, **DETECTORS}
# Wrong twice: which error a command prints; groups are found before scores are read.
WRONG_TWICE = {
    "a wrong score before a group that is missing": text(
        "y,s,g",
        "0,x,a",
        "1,2.5,",
        groups=["g"],
        expected=": column 'g', line 3: the cell is missing",
    ),
    "a wrong label and a wrong score": text(
        "y,s", "2,1.5", "1,x", expected=": column 's', line 3: 'x' is not a number"
    ),
}

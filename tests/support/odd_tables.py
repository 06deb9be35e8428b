"""Tables that are unusual, or wrong, and what each contains by a definition of its own."""

import bz2
import csv
import gzip
import io
import lzma
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

Columns = dict[str, list[Any]]
_INTEGER = re.compile(r"\s*([+-]?[0-9]{1,300})(\.0*)?\s*")
_TRUTHS = {"true": 1, "false": 0}
LABEL_HINT = "Name the anomalies' label with pos_label= if it is another"
COMPRESSORS: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lambda content: lzma.compress(content, preset=0),
    ".zst": lambda content: bytes(pa.compress(content, "zstd", asbytes=True)),
}


@dataclass(frozen=True)
class OddTable:
    """A file, how it is read, and the columns or the message that must come of it.

    ``expected`` begins behind the name of the file where it is a message; ``FILE`` in it is the
    name. None stands for what Python's csv reads of a text.
    """

    suffix: str
    content: bytes
    expected: Columns | str | None = None
    label: str = "y"
    scores: Sequence[str] | None = ("s",)
    groups: Sequence[str] = ()
    pos_label: Any = None

    @property
    def is_text(self) -> bool:
        return self.suffix in (".csv", ".tsv")

    def columns(self) -> Columns | str:
        """Return what must come of it."""
        if self.expected is not None:
            return self.expected
        assert self.scores is not None
        cells = cells_of(self.content)
        return {
            self.label: [label_of(cell, self.pos_label) for cell in cells[self.label]],
            **{name: [number_of(cell) for cell in cells[name]] for name in self.scores},
            **{name: names_of(cells[name]) for name in self.groups},
        }


def cells_of(content: bytes) -> dict[str, list[str]]:
    """Return the columns of a text as strings, by Python's csv."""
    text = content.decode("utf-8-sig")
    first = text.splitlines()[0]
    delimiter = max(",;\t|", key=first.count)
    header, *rows = (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    rows = [row for row in rows if row]
    return {
        name.strip(): list(cells)
        for name, cells in zip(header, zip(*rows, strict=True), strict=True)
    }


def number_of(cell: str) -> int | float:
    """Return a number as Python has it: an integer that may be large, or a float."""
    integer = _INTEGER.fullmatch(cell)
    return float(cell) if integer is None else int(integer[1])


def label_of(cell: str, pos_label: Any) -> int:
    """Return 1 for the label of the anomalies, in whatever way it is written."""
    plain: Any = cell.strip()
    try:
        plain = float(cell)
    except ValueError:
        plain = _TRUTHS.get(plain.lower(), plain)
    if pos_label is None:
        return int(plain)
    try:
        wanted: Any = float(pos_label)
    except ValueError:
        wanted = _TRUTHS.get(pos_label.lower(), pos_label)
    return int(plain == wanted)


def names_of(cells: Sequence[str]) -> list[int | str]:
    """Return names, as integers if each is written as one."""
    are_integers = all(re.fullmatch(r"0|-?[1-9][0-9]*", cell, re.ASCII) for cell in cells)
    if are_integers and all(-(2**63) <= int(cell) < 2**63 for cell in cells):
        return [int(cell) for cell in cells]
    return list(cells)


def text(
    *rows: str, expected: Columns | str | None = None, end: str = "\n", **options: Any
) -> OddTable:
    """A text of some lines."""
    content = "".join(row + end for row in rows)
    return OddTable(".csv", content.encode(), expected, **options)


def scores(*cells: str, expected: Columns | str | None = None, **options: Any) -> OddTable:
    """A text of two columns, labels that alternate and some scores."""
    rows = [f"{i % 2},{cell}" for i, cell in enumerate(cells)]
    return text("y,s", *rows, expected=expected, **options)


def labels(*cells: str, expected: Columns | str | None = None, **options: Any) -> OddTable:
    """A text of two columns, some labels and the numbers of the rows."""
    rows = [f"{cell},{i / 2}" for i, cell in enumerate(cells)]
    return text("y,s", *rows, expected=expected, **options)


def groups(*cells: str, expected: Columns | str | None = None, **options: Any) -> OddTable:
    """A text of labels, scores and groups."""
    rows = [f"{i // 2 % 2},{i / 4},{cell}" for i, cell in enumerate(cells)]
    return text("y,s,g", *rows, expected=expected, groups=["g"], **options)


def columnar(suffix: str, columns: Mapping[str, Any], rows_a_batch: int = 3) -> bytes:
    """Return the bytes of a Parquet or Arrow file, or of an archive of arrays."""
    buffer = io.BytesIO()
    if suffix == ".npz":
        arrays: Any = {name: np.asarray(values) for name, values in columns.items()}
        np.savez(buffer, **arrays)
        return buffer.getvalue()
    table = pa.table(dict(columns))
    if suffix == ".parquet":
        parquet.write_table(table, buffer, row_group_size=rows_a_batch)
    else:
        feather.write_feather(table, buffer, chunksize=rows_a_batch)
    return buffer.getvalue()


def typed(
    suffix: str, values: Any, expected: Any, y: Any = (0, 1, 0, 1), **options: Any
) -> OddTable:
    """A columnar file of labels and some scores."""
    content = columnar(suffix, {"y": list(y), "s": values})
    result = expected if isinstance(expected, str) else {"y": list(y), "s": expected}
    return OddTable(suffix, content, result, **options)


def typed_groups(suffix: str, values: Any, expected: Any) -> OddTable:
    """A columnar file with some groups."""
    y, s = [0, 1, 0, 1], [0.5, 1.5, 2.5, 0.25]
    content = columnar(suffix, {"y": y, "s": s, "g": values})
    result = expected if isinstance(expected, str) else {"y": y, "s": s, "g": expected}
    return OddTable(suffix, content, result, groups=["g"])


def typed_labels(suffix: str, values: Any, expected: Any, pos_label: Any = None) -> OddTable:
    """A columnar file with some labels."""
    s = [0.5, 1.5, 2.5, 0.25]
    content = columnar(suffix, {"y": values, "s": s})
    result = expected if isinstance(expected, str) else {"y": expected, "s": s}
    return OddTable(suffix, content, result, pos_label=pos_label)


def dictionary(values: Sequence[object], codes: Sequence[int] = (0, 1, 0, 1)) -> pa.Array:
    """Return an array of Arrow's with a dictionary."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, "int32"), pa.array(values))


def same(first: Any, second: Any) -> bool:
    """Tell whether two values are the same number or name; a float is exactly its number."""
    if isinstance(first, str) or isinstance(second, str):
        return type(first) is type(second) and bool(first == second)
    if isinstance(first, float) and math.isnan(first):
        return isinstance(second, float) and math.isnan(second)
    return bool(first == second)

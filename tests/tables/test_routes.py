"""Odd files by every route: columns, values and messages are those of one reader, to the bit.

A file may be read in memory or batch by batch, alone or in a folder, compressed or from the
standard input, by the library or by a command. `odd_files` and
`odd_types` state what must come of each.
"""

import io
import json
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastad import streaming
from fastad._tables import columnar, text
from fastad._tables.columns import Labels, Names, Numbers, Role
from fastad._tables.detectors import find_detectors
from fastad._tables.errors import RereadError, TableError
from fastad._tables.table import Table
from fastad.errors import InvalidInputError
from tests.support.command_line import TAKEN_FOR_SCORES, invoke
from tests.support.odd_tables import COMPRESSORS, Columns, OddTable, same
from tests.tables import odd_files
from tests.tables.odd_files import WRONG_TWICE
from tests.tables.odd_types import ODD_TYPES

ODD = {**odd_files.ODD, **ODD_TYPES}
MEASURES = ["auc", "ap", "tpr@0.2"]


def python(values: Any) -> list[Any]:
    """Return an array as Python's values."""
    listed: list[Any] = values.to_pylist() if hasattr(values, "to_pylist") else values.tolist()
    return listed


def in_memory(table: Table, roles: Callable[[], dict[str, Role]]) -> Columns:
    return {name: python(values) for name, values in table.read(roles()).items()}


def in_batches(table: Table, roles: Callable[[], dict[str, Role]]) -> Columns:
    while True:
        parts = dict[str, list[Any]]()
        try:
            for batch in table.batches(roles()):
                for name, values in batch.columns.items():
                    parts.setdefault(name, []).extend(python(values))
        except RereadError:
            continue
        if not parts:
            raise TableError(f"{table.title}: there are no rows")
        return parts


def outcome(
    source: Path, odd: OddTable, read: Callable[[Table, Any], Columns] = in_memory
) -> Columns | str:
    """Return the columns that are read, or the message behind the name of the file."""
    try:
        table = Table(source)
        table.check([odd.label], "label")
        others = [odd.label, *odd.groups]
        table.check([*others, *(odd.scores or ())], "score")
        scores = odd.scores or find_detectors(table, others).names

        def roles() -> dict[str, Role]:
            return {
                odd.label: Labels(odd.pos_label),
                **{name: Numbers() for name in scores},
                **{name: Names() for name in odd.groups},
            }

        columns = read(table, roles)
        for name in odd.groups:
            distinct = list(dict.fromkeys(columns[name]))
            names = dict(zip(distinct, table.group_names(name, distinct), strict=True))
            columns[name] = [names[value] for value in columns[name]]
    except TableError as error:
        return without_name(str(error), source)
    return columns


def without_name(message: str, source: Path) -> str:
    """Return a message without the file, or the folder, that it begins with."""
    files = [source, *source.rglob("*")] if source.is_dir() else [source]
    for file in sorted(map(str, files), key=len, reverse=True):
        if message.startswith(file):
            assert "\n" not in message
            return message.removeprefix(file)
    raise AssertionError(message)


def assert_same(found: Columns | str, expected: Columns | str) -> None:
    if isinstance(found, str) or isinstance(expected, str):
        assert found == expected
        return
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert len(found[name]) == len(values)
        for one, other in zip(found[name], values, strict=True):
            assert same(one, other), (name, one, other)


def saved(folder: Path, odd: OddTable) -> Path:
    path = folder / f"table{odd.suffix}"
    path.write_bytes(odd.content)
    return path


@pytest.mark.parametrize("name", list(ODD))
def test_every_way_to_read(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = ODD[name]
    expected = odd.columns()
    alone = tmp_path / "alone"
    alone.mkdir()
    sources = [saved(alone, odd), alone]
    for extension, compressed in COMPRESSORS.items() if odd.is_text else ():
        sources.append(tmp_path / f"table{odd.suffix}{extension}")
        sources[-1].write_bytes(compressed(odd.content))
    reads = in_memory, in_batches
    for read in reads:
        for source in sources:
            assert_same(outcome(source, odd, read), expected)
        if odd.is_text:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(odd.content)))
            assert_same(outcome(Path("-"), odd, read), expected)
    # In small batches.
    longest = max(map(len, odd.content.splitlines() or [b""]))
    monkeypatch.setattr(columnar, "_ROWS", 2)
    monkeypatch.setattr(text, "_BLOCK", longest + 8)
    monkeypatch.setattr(text, "_LINES_A_BLOCK", 1)
    for read in reads:
        assert_same(outcome(sources[0], odd, read), expected)


# What is evaluated.


def options_of(odd: OddTable) -> list[str]:
    options = ["--label", odd.label]
    options += [word for name in odd.scores or () for word in ("--score", name)]
    options += [word for name in odd.groups for word in ("--group", name)]
    options += [] if odd.pos_label is None else ["--pos-label", odd.pos_label]
    return options + [word for measure in MEASURES for word in ("--measure", measure)]


def values_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the measures and thresholds of a detector as a command printed them."""
    if "measures" in row:
        values = {key: value["value"] for key, value in row["measures"].items()}
        assert all(value["low"] == value["high"] for value in row["measures"].values())
        return values
    values = {key: value for key, value in row["values"].items() if value is not None}
    points = row["operating_points"]
    thresholds = {f"threshold@{point['fpr']:g}": point["threshold"] for point in points}
    return values | {key: value for key, value in thresholds.items() if value is not None}


def slow_auc(y: list[int], s: list[Any]) -> float | None:
    """Return the fraction of pairs in which the anomaly has the higher score."""
    exact = [x if isinstance(x, float) and np.isinf(x) else Fraction(x) for x in s]
    anomalies = [x for x, label in zip(exact, y, strict=True) if label]
    normals = [x for x, label in zip(exact, y, strict=True) if not label]
    wins = [Fraction(2 * (a > n) + (a == n), 2) for a in anomalies for n in normals]
    return float(sum(wins) / len(wins)) if wins else None


def expected_aucs(odd: OddTable, columns: Columns) -> Iterator[float | None]:
    """Yield the AUC of each group and detector, in the order of the commands."""
    y = columns[odd.label]
    groups = columns[odd.groups[0]] if odd.groups else [None] * len(y)
    for group in sorted(set(groups)) if odd.groups else [None]:
        rows = [row for row, name in enumerate(groups) if name == group]
        for name, values in columns.items():
            if name not in (odd.label, *odd.groups):
                yield slow_auc([y[row] for row in rows], [values[row] for row in rows])


@pytest.mark.parametrize("name", [*ODD, *WRONG_TWICE])
def test_commands_print_the_same(tmp_path: Path, name: str) -> None:
    odd = {**ODD, **WRONG_TWICE}[name]
    path = saved(tmp_path, odd)
    columns = odd.columns()
    words = ["evaluate", path, *options_of(odd), "--json"]
    memory, batches = invoke(*words), invoke(*words, "--memory", "64MB", "--exact")
    assert memory.exit_code == batches.exit_code
    assert memory.stderr == batches.stderr
    if isinstance(columns, str):
        assert (memory.exit_code, memory.stdout, batches.stdout) == (1, "", "")
        message = columns.replace("with pos_label=", "with --pos-label")
        message = message.replace("beside pos_label=", "beside --pos-label ")
        own = [f"column {name!r}" for name in (odd.label, *odd.groups)]
        is_score = message.startswith(": column") and not any(x in message for x in own)
        hint = TAKEN_FOR_SCORES if is_score and not odd.scores else ""
        assert memory.stderr == f"Error: {path}{message}{hint}\n"
        return
    assert memory.exit_code == 0
    first = json.loads(memory.stdout)["detectors"]
    second = json.loads(batches.stdout)["detectors"]
    assert [row["detector"] for row in first] == [row["detector"] for row in second]
    for one, other, auc in zip(first, second, expected_aucs(odd, columns), strict=True):
        assert one.get("group") == other.get("group")
        values, exact = values_of(one), values_of(other)
        assert {**exact, **values} == exact
        assert {*exact} - {*values} <= {"threshold@0.2"}
        assert values.get("auc") == auc


# The command with a memory, which is tried with every file, calls this.
@pytest.mark.parametrize("name", list(ODD)[::8])
def test_the_library_evaluates_the_same(tmp_path: Path, name: str) -> None:
    odd = ODD[name]
    path = saved(tmp_path, odd)
    columns = odd.columns()

    def evaluate() -> streaming.StreamedEvaluation:
        return streaming.evaluate(
            path,
            label_column=odd.label,
            score_columns=odd.scores,
            group_columns=odd.groups or None,
            pos_label=odd.pos_label,
            measures="auc",
            exact=True,
        )

    if isinstance(columns, str):
        with pytest.raises(InvalidInputError) as error:
            evaluate()
        assert str(error.value) == f"{path}{columns}"
        return
    result = evaluate()
    aucs = [float(each["auc"].value) if "auc" in each else None for each in result.values()]
    assert aucs == list(expected_aucs(odd, columns))

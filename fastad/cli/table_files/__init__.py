"""Tables in files: labels, scores and groups are read, results are saved."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fastad._core.files import written_aside
from fastad._core.frames import frame
from fastad._core.text_tables import some_of
from fastad._core.types import AnyVector, Label
from fastad.cli._console import DataError
from fastad.cli.table_files.columnar import ArrayArchive, ArrowFile
from fastad.cli.table_files.delimited import DelimitedFile, is_number
from fastad.ordering.named_scores import score_name

# File extensions that results are saved under.
SAVED_FORMATS = (".csv", ".json", ".parquet", ".arrow", ".feather")
# Columns of a file that a message names; of more it says how many.
N_NAMED = 12
# Names of files may contain what UTF-8 does not.
_ERRORS = "backslashreplace"


class Source(Protocol):
    """The columns of one file."""

    names: list[str]

    def candidates(self, excluded: Sequence[str]) -> list[str]:
        """Return the columns that may be scores."""

    def numbers(self, names: Sequence[str], may_miss: Sequence[str] = ()) -> dict[str, AnyVector]:
        """Read columns of numbers; what is missing is NaN in those that may miss some."""

    def values(self, name: str) -> AnyVector:
        """Read one column of any type."""


_READERS: dict[str, Callable[[Path], Source]] = {
    ".csv": DelimitedFile,
    ".tsv": DelimitedFile,
    ".npz": ArrayArchive,
    ".parquet": ArrowFile,
    ".arrow": ArrowFile,
    ".feather": ArrowFile,
}


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Columns of a file of scores.

    Attributes
    ----------
    label : str
        Column of the labels.
    scores : sequence of str or None
        Columns of scores; None for all others that may be.
    groups : sequence of str
        Columns of the groups.
    pos_label : str or None
        Label of the anomalies.
    may_miss : bool
        Whether scores that are missing are read, as NaN.
    """

    label: str
    scores: Sequence[str] | None
    groups: Sequence[str]
    pos_label: str | None
    may_miss: bool = False


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """Labels, the scores of detectors and the groups by name, and the anomalies' label.

    ``columns`` has the column that each argument of the library comes from.
    """

    labels: AnyVector
    scores: Mapping[str, AnyVector]
    groups: Mapping[str, AnyVector]
    pos_label: Label | None
    columns: Mapping[str, str]


def open_source(path: Path) -> Source:
    """Open a table by its file extension."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"{path}: unsupported file extension {path.suffix!r}; it must be one of "
            f"{', '.join(_READERS)}"
        )
    return reader(path)


def read_scored_table(path: Path, columns: ScoreColumns) -> ScoredTable:
    """Read labels, scores and groups from a file."""
    source = open_source(path)
    others = [columns.label, *columns.groups]
    check_columns(path, source, [*others, *(columns.scores or ())])
    names = columns.scores or source.candidates(others)
    check_columns(path, source, names)
    if not names:
        raise DataError(f"{path}: there is no column of scores beside {columns.label!r}")
    pos_label: Label | None = None
    may_miss = names if columns.may_miss else ()
    if columns.pos_label is None:
        numbers = source.numbers([columns.label, *names], may_miss)
        labels, scores = numbers[columns.label], {name: numbers[name] for name in names}
    else:
        scores = source.numbers(names, may_miss)
        labels = source.values(columns.label)
        pos_label = label_like(labels, columns.pos_label, f"{path}: the labels {columns.label!r}")
    groups = {name: _integers_if_possible(source.values(name)) for name in columns.groups}
    items = {
        "y_true": columns.label,
        **{score_name(name): name for name in scores},
        **{f"groups[{name!r}]": name for name in groups},
    }
    return ScoredTable(labels, scores, groups, pos_label, items)


def check_columns(path: Path, source: Source, names: Sequence[str]) -> None:
    """Check that each column is there, and only once."""
    for name in names:
        if source.names.count(name) != 1:
            what = "no column" if name not in source.names else "more than one column"
            raise DataError(
                f"{path}: there is {what} {name!r}; found {some_of(source.names, N_NAMED)}"
            )


def label_like(labels: AnyVector, pos_label: str, where: str) -> Label:
    """Return the option --pos-label, a string, in the type of the labels."""
    if labels.dtype.kind not in "biuf":
        return pos_label
    if not is_number(pos_label):
        raise DataError(f"{where} are numbers; found --pos-label {pos_label!r}")
    return float(pos_label)


def _integers_if_possible(values: AnyVector) -> AnyVector:
    """Return strings as the integers that they are, which sort as numbers do."""
    if values.dtype.kind == "U":
        try:
            return values.astype(np.int64)
        except (ValueError, OverflowError):
            pass
    return values


def save_text(text: str, path: Path) -> None:
    """Save a string, completely or not at all."""
    with written_aside(path) as aside:
        aside.write_text(text, encoding="utf-8", errors=_ERRORS)


def save_columns(columns: Mapping[str, list[Any]], path: Path) -> None:
    """Save columns of equal length in the format of the file extension, whole or not at all."""
    extension = path.suffix.lower()
    with written_aside(path) as aside:
        if extension == ".csv":
            with aside.open("w", encoding="utf-8", errors=_ERRORS, newline="") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(zip(*columns.values(), strict=True))
            return
        table = frame(columns, "pyarrow")
        # Inside, as other formats need no pyarrow.
        from pyarrow import feather, parquet

        if extension == ".parquet":
            parquet.write_table(table, aside)
        else:
            feather.write_feather(table, str(aside), compression="uncompressed")

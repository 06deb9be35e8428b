"""Tables in files: labels, scores and groups are read, results are saved."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fastad._core.files import written_aside
from fastad._core.frames import frame
from fastad._core.text_cells import is_number
from fastad._core.text_tables import some_of
from fastad._core.types import AnyVector, Label
from fastad.cli._console import DataError
from fastad.cli.table_files.columnar import ArrayArchive, ArrowFile
from fastad.cli.table_files.content import COMPRESSED, STDIN
from fastad.cli.table_files.delimited import DelimitedFile
from fastad.cli.table_files.detector_columns import guess_detectors
from fastad.ordering.named_scores import score_name

# File extensions that results are saved under.
SAVED_FORMATS = (".csv", ".json", ".parquet", ".arrow", ".feather")
# Columns of a file that a message names; of more it says how many.
N_NAMED = 12
# Names of files may contain what UTF-8 does not.
_ERRORS = "backslashreplace"


# The columns of one file.
Source: TypeAlias = DelimitedFile | ArrayArchive | ArrowFile

_TEXT = (".csv", ".tsv")
_READERS: dict[str, Callable[[Path], Source]] = {
    **dict.fromkeys(_TEXT, DelimitedFile),
    **{text + packed: DelimitedFile for text in _TEXT for packed in COMPRESSED},
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
    clusters : str or None
        Column of the clusters.
    """

    label: str
    scores: Sequence[str] | None
    groups: Sequence[str]
    pos_label: str | None
    may_miss: bool = False
    clusters: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """Labels, the scores of detectors and the groups by name, and the anomalies' label.

    ``columns`` has the column that each argument of the library comes from, ``message`` which
    columns are detectors where no option names them, else it is empty.
    """

    labels: AnyVector
    scores: Mapping[str, AnyVector]
    groups: Mapping[str, AnyVector]
    pos_label: Label | None
    columns: Mapping[str, str]
    message: str
    clusters: AnyVector | None = None


def open_source(path: Path) -> Source:
    """Open a table by its file extension; the standard input is text."""
    if path == STDIN:
        return DelimitedFile(path)
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    extension = "".join(
        path.suffixes[-2:] if path.suffix.lower() in COMPRESSED else path.suffixes[-1:]
    )
    reader = _READERS.get(extension.lower())
    if reader is None:
        raise DataError(
            f"{path}: unsupported file extension {extension!r}; it must be one of "
            f"{', '.join(_READERS)}"
        )
    return reader(path)


def read_scored_table(path: Path, columns: ScoreColumns) -> ScoredTable:
    """Read labels, scores and groups from a file."""
    source = open_source(path)
    in_clusters = [] if columns.clusters is None else [columns.clusters]
    others = [columns.label, *columns.groups, *in_clusters]
    check_label(path, source.names, columns.label)
    check_columns(path, source.names, [*others, *(columns.scores or ())])
    check_labels_are_numbers(path, source, columns.label, columns.pos_label)
    if columns.scores is None:
        check_columns(path, source.names, source.candidates(others))
        guessed = guess_detectors(path, source, others, may_miss=columns.may_miss)
        scores, message = guessed.scores, guessed.message(path)
    else:
        may_miss = columns.scores if columns.may_miss else ()
        scores, message = source.numbers(columns.scores, may_miss), ""
    pos_label: Label | None = None
    if columns.pos_label is None:
        labels = source.numbers([columns.label])[columns.label]
    else:
        labels = source.values(columns.label)
        pos_label = label_like(labels, columns.pos_label, f"{path}: the labels {columns.label!r}")
    groups = {name: _integers_if_possible(source.values(name)) for name in columns.groups}
    items = {
        "y_true": columns.label,
        **{score_name(name): name for name in scores},
        **{f"groups[{name!r}]": name for name in groups},
    }
    clusters = None
    if columns.clusters is not None:
        clusters = _integers_if_possible(source.values(columns.clusters))
        items["clusters"] = columns.clusters
    return ScoredTable(labels, scores, groups, pos_label, items, message, clusters)


def check_label(path: Path, names: Sequence[str], label: str) -> None:
    """Check that there is a column of labels."""
    if label not in names:
        shown = some_of(names, N_NAMED) or "none"
        raise DataError(
            f"{path}: there is no column {label!r}; found {shown}: --label names the column of the "
            "labels"
        )


def check_columns(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Check that each column is there, and only once."""
    for name in wanted:
        if names.count(name) != 1:
            what = "no column" if name not in names else "more than one column"
            raise DataError(f"{path}: there is {what} {name!r}; found {some_of(names, N_NAMED)}")


def check_labels_are_numbers(path: Path, source: Source, label: str, pos_label: str | None) -> None:
    """Check that labels without --pos-label are no text, such as True and False."""
    if pos_label is None and source.texts([label]):
        texts = [repr(str(value)) for value in np.unique(source.values(label))]
        raise DataError(
            f"{path}: the labels {label!r} must be 0 and 1; found {some_of(texts, N_NAMED)}: "
            "--pos-label names the label of the anomalies"
        )


def label_like(labels: AnyVector, pos_label: str, where: str) -> Label:
    """Return the option --pos-label, a string, in the type of the labels."""
    if labels.dtype.kind not in "biuf":
        return pos_label
    if not is_number(pos_label):
        raise DataError(f"{where} are numbers; found --pos-label {pos_label!r}")
    return read_number(pos_label)


def read_number(text: str) -> int | float:
    """Return a number, which is an integer if it is written so: a float would merge large ones."""
    try:
        return int(text)
    except ValueError:
        return float(text)


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

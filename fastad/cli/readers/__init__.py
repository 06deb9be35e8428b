"""Reading labels, scores and groups from files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fastad._core.types import Label
from fastad.cli._console import DataError
from fastad.cli.readers.arrays import ArrayArchive
from fastad.cli.readers.arrow import ArrowFile
from fastad.cli.readers.delimited import DelimitedFile
from fastad.cli.readers.source import Column, Source, is_number

_READERS: dict[str, Callable[[Path], Source]] = {
    ".csv": DelimitedFile,
    ".tsv": DelimitedFile,
    ".npz": ArrayArchive,
    ".parquet": ArrowFile,
    ".arrow": ArrowFile,
    ".feather": ArrowFile,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns that are asked for.

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
    """

    label: str
    scores: Sequence[str] | None
    groups: Sequence[str]
    pos_label: str | None


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """Labels, the scores of detectors and the groups by name, and the anomalies' label."""

    labels: Column
    scores: Mapping[str, Column]
    groups: Mapping[str, Column]
    pos_label: Label | None


def open_source(path: Path) -> Source:
    """Open a table by the ending of its name."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(_READERS)
        raise DataError(f"{path}: the ending must be one of {known}; found {path.suffix!r}")
    return reader(path)


def read_table(path: Path, wanted: Wanted) -> ScoredTable:
    """Read the columns that are asked for from a file."""
    source = open_source(path)
    excluded = [wanted.label, *wanted.groups]
    need_once(path, source, [*excluded, *(wanted.scores or ())])
    chosen = wanted.scores or source.candidates(excluded)
    need_once(path, source, chosen)
    if not chosen:
        raise DataError(f"{path}: there is no column of scores beside {wanted.label!r}")
    pos_label: Label | None = None
    if wanted.pos_label is None:
        numbers = source.numbers([wanted.label, *chosen])
        labels, scores = numbers[wanted.label], {name: numbers[name] for name in chosen}
    else:
        scores = source.numbers(chosen)
        labels = source.values(wanted.label)
        pos_label = typed(wanted.pos_label, labels, f"{path}: the labels {wanted.label!r}")
    groups = {name: _integers_if_possible(source.values(name)) for name in wanted.groups}
    return ScoredTable(labels, scores, groups, pos_label)


def need_once(path: Path, source: Source, names: Sequence[str]) -> None:
    """Check that each column is there, and only once."""
    for name in names:
        if source.names.count(name) != 1:
            what = "no column" if name not in source.names else "more than one column"
            raise DataError(f"{path}: there is {what} {name!r}; found {', '.join(source.names)}")


def typed(pos_label: str, labels: Column, where: str) -> Label:
    """Return the label in the type of the column: an option is text."""
    if labels.dtype.kind not in "biuf":
        return pos_label
    if not is_number(pos_label):
        raise DataError(f"{where} are numbers; found --pos-label {pos_label!r}")
    return float(pos_label)


def _integers_if_possible(values: Column) -> Column:
    """Return texts as the integers that they are, which sort as numbers do."""
    if values.dtype.kind == "U":
        try:
            return values.astype(np.int64)
        except (ValueError, OverflowError):
            pass
    return values

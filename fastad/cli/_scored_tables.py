"""Labels, scores, groups and clusters in tables of scores, as options name their columns."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fastad._core.types import AnyVector, BoolVector
from fastad._tables.columns import Labels, Names, Numbers, Role
from fastad._tables.detectors import find_detectors
from fastad._tables.errors import TableError
from fastad._tables.table import Table
from fastad.ordering.labels import score_name


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Columns of a table of scores."""

    label: str
    # None for all others that may be.
    scores: Sequence[str] | None
    groups: Sequence[str]
    pos_label: str | None
    # Whether scores that are missing are read, as NaN.
    may_miss: bool = False
    clusters: str | None = None
    kinds: Sequence[str] = ()
    segments: Sequence[str] = ()

    @property
    def parts(self) -> list[str]:
        """Columns of kinds and segments, each once."""
        return list(dict.fromkeys([*self.kinds, *self.segments]))


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """Labels (1 for an anomaly), the scores of detectors, groups, clusters, kinds and segments.

    ``columns`` has the column that each argument of the library comes from, ``message`` which
    columns are detectors where no option names them, else it is empty.
    """

    labels: AnyVector
    scores: Mapping[str, AnyVector]
    groups: Mapping[str, AnyVector]
    columns: Mapping[str, str]
    message: str
    clusters: AnyVector | None = None
    parts: Mapping[str, Mapping[str, AnyVector]] = field(default_factory=dict)


def open_scored_table(path: Path, columns: ScoreColumns) -> tuple[Table, Sequence[str], str]:
    """Open a table; return it, its columns of scores, and what is said of their choice."""
    table = Table(path)
    try:
        table.check([columns.label], "label_column")
    except TableError as error:
        hint = "--label names the column of the labels"
        raise TableError(f"{error}: {hint}", argument="label_column") from None
    clusters = [] if columns.clusters is None else [columns.clusters]
    others = [columns.label, *columns.groups, *clusters, *columns.parts]
    table.check([*others, *(columns.scores or ())], "score_columns")
    if columns.scores is not None:
        return table, list(dict.fromkeys(columns.scores)), ""
    detectors = find_detectors(table, others)
    return table, detectors.names, detectors.message(table.title)


@contextmanager
def reads_found_scores(columns: ScoreColumns, scores: Sequence[str]) -> Iterator[None]:
    """Say of a wrong column that it was taken for scores, where no option named it."""
    try:
        yield
    except TableError as error:
        is_found = columns.scores is None
        if not (is_found and any(f": column {name!r}" in str(error) for name in scores)):
            raise
        hint = "the column was taken for scores, and --score names those that are"
        raise TableError(f"{error}; {hint}", argument=error.item or "source") from None


def read_scored_table(path: Path, columns: ScoreColumns) -> ScoredTable:
    """Read labels, scores, groups and clusters into memory."""
    table, scores, message = open_scored_table(path, columns)
    clusters = [] if columns.clusters is None else [columns.clusters]
    names = list(dict.fromkeys([*columns.groups, *clusters]))
    # A column may serve twice: as scores and as groups.
    requests: list[dict[str, Role]] = [
        {columns.label: Labels(columns.pos_label)},
        {name: Numbers(may_miss=columns.may_miss) for name in scores},
        {name: Names() for name in names},
        # Rows of the other class may have no kind, and no segment.
        {name: Names(may_miss=True) for name in columns.parts},
    ]
    try:
        with reads_found_scores(columns, scores):
            label, numbers, named, parted = _read_each(table, requests)
    except TableError:
        # Of several errors it is the same as where groups are found first, batch by batch.
        if columns.groups:
            table.read(requests[2])
        raise
    named = {name: table.named(name, values) for name, values in named.items()}
    own = {"kinds": label[columns.label] == 1, "segments": label[columns.label] == 0}
    items = {
        "y_true": columns.label,
        **{score_name(name): name for name in scores},
        **{f"groups[{name!r}]": name for name in columns.groups},
    }
    parts = {"kinds": columns.kinds, "segments": columns.segments}
    items |= {part: ", ".join(of_part) for part, of_part in parts.items()}
    return ScoredTable(
        label[columns.label],
        numbers,
        {name: named[name] for name in columns.groups},
        items,
        message,
        named[columns.clusters] if columns.clusters is not None else None,
        {
            part: {name: _part_values(table, name, parted[name], own[part]) for name in of_part}
            for part, of_part in parts.items()
            if of_part
        },
    )


def _read_each(table: Table, requests: Sequence[Mapping[str, Role]]) -> list[dict[str, AnyVector]]:
    """Read columns for several uses, all at once unless a column has two."""
    together = {name: role for request in requests for name, role in request.items()}
    if len(together) == sum(map(len, requests)):
        values = table.read(together)
        return [{name: values[name] for name in request} for request in requests]
    return [table.read(request) if request else {} for request in requests]


def _part_values(table: Table, column: str, values: AnyVector, own: BoolVector) -> AnyVector:
    """Return names of kinds or segments, as integers where text says nothing else of their class.

    Names of the other class are not read.
    """
    if values.dtype.kind not in "OU":
        return values
    present = np.flatnonzero(own & (values != None))  # noqa: E711 - of each entry
    of_own = table.named(column, values[present].astype(np.str_))
    if of_own.dtype.kind == "U":
        return values
    named = np.full(values.shape, None, object)
    named[present] = of_own
    return named

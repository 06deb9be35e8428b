"""``evaluate``: measures of scores in files that do not fit in memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from fastad._core.arrays import RowIndex, python_values
from fastad._core.parameters import (
    N_RESAMPLES,
    check_column_names,
    check_flag,
    refuse_given,
    short_repr,
)
from fastad._core.progress import Progress, reporting
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import AnyVector, Label, Point, Points
from fastad._tables.columns import Labels, Names, Numbers, Role
from fastad._tables.detectors import find_detectors
from fastad._tables.errors import RereadError, TableError
from fastad._tables.table import Batch, Table
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.evaluation.breakdown import PART_COLUMNS
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.ordering.groups import factorize, in_order, refuse_taken
from fastad.ordering.labels import check_labels
from fastad.ordering.membership import Overlap
from fastad.streaming.large_files.counts import cells_of, is_counts, read_counts
from fastad.streaming.large_files.exact import FEWEST_BYTES, ScorePasses
from fastad.streaming.large_files.parts import (
    PartColumns,
    add_thresholds,
    breakdown_of,
    check_parts,
    part_counter,
)
from fastad.streaming.large_files.spill import spill_folder
from fastad.streaming.sketches.bounds import (
    check_intervals,
    evaluate_cells,
    measures_to_bound,
    tied_intervals,
)
from fastad.streaming.sketches.cells import ScoreCells
from fastad.streaming.sketches.checks import check_memory, check_points
from fastad.streaming.sketches.results import BoundedEvaluation, StreamedEvaluation

if TYPE_CHECKING:
    from fastad.uncertainty.intervals.interval_estimation import InferenceOptions

# Passes, and what counts in one (`Pass`, or `PartCounter`), by group and column of scores.
Streams: TypeAlias = dict[Any, ScorePasses]
Counters: TypeAlias = dict[Any, Any]
Each = TypeVar("Each")
# Greatest number of passes; each but the first refines values that are not certain yet.
_MOST_PASSES = 10


class Columns(NamedTuple):
    """Columns of labels, scores and groups."""

    label_column: str
    score_columns: Sequence[str]
    group_columns: Sequence[str]
    pos_label: Label | None
    parts: PartColumns | None = None

    def roles(self, names: Iterable[str]) -> dict[str, Role]:
        """Return the roles of columns: labels, scores, else names of groups.

        A column of labels or scores may divide the rows into groups, too: their names are numbers.
        """
        return {
            name: Labels(self.pos_label)
            if name == self.label_column
            else Numbers()
            if name in self.score_columns
            # Rows of the other class may have no kind, and no segment.
            else Names(may_miss=self.parts is not None and name not in self.group_columns)
            for name in names
        }

    def names(self, counters: Counters) -> list[str]:
        """Return the columns that counters need, each once."""
        scores = (column for _, column in counters)
        return list(dict.fromkeys([self.label_column, *scores, *self.group_columns]))

    def count_batch(self, batch: Batch, counters: Counters) -> None:
        """Give the rows of a batch, whose labels are 0 and 1, to the counters of their groups."""
        scores = list(dict.fromkeys(column for _, column in counters))
        for name, rows in split(batch, self.group_columns):
            for column in scores:
                if (name, column) not in counters:
                    continue
                points = check_points(
                    batch.columns[self.label_column][rows], batch.columns[column][rows], None, None
                )
                if points is not None:
                    counters[name, column].count_points(points)


class PartedColumns(Columns):
    """The columns, for counters of kinds and segments at the thresholds of each table."""

    def names(self, counters: Counters) -> list[str]:
        """Return the columns that counters need, each once."""
        parts = () if self.parts is None else self.parts.names
        return list(dict.fromkeys([*super().names(counters), *parts]))

    def count_batch(self, batch: Batch, counters: Counters) -> None:
        """Count the kinds and segments of a batch in the counters of its groups."""
        assert self.parts is not None
        labels = batch.columns[self.label_column]
        members = self.parts.members(batch, check_labels(labels))
        for name, chosen in split(batch, self.group_columns):
            rows = np.arange(batch.n_rows)[chosen]
            of_rows = {part: member.take(rows) for part, member in members.items()}
            for column in self.score_columns:
                scores = batch.columns[column][rows]
                counters[name, column].count(labels[rows] == 1, scores, of_rows)


@suggests_arguments
def evaluate(
    source: str | Path | Sequence[str | Path],
    *,
    label_column: str = "y",
    score_columns: str | Sequence[str] | None = None,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    fpr: Point | Points = (0.01, 0.05),
    score_range: tuple[Point, Point] | None = None,
    group_columns: str | Sequence[str] | None = None,
    kind_columns: str | Sequence[str] | None = None,
    segment_columns: str | Sequence[str] | None = None,
    overlap: Overlap = "raise",
    events_per_day: Point | None = None,
    exact: bool = False,
    memory: int | str = "512MB",
    folder: str | Path | None = None,
    pos_label: Label | None = None,
    confidence_level: Point | None = None,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    progress: Progress | bool | None = None,
    n_threads: int | None = None,
) -> StreamedEvaluation:
    r"""Evaluate scores in files of any size, with bounds that are certain, or exactly.

    One pass counts the scores in cells and bounds every measure. ``exact=True`` reads the files
    again, for the scores on which measures still depend: what is read at a point of the curve (a
    rate, a threshold, a precision at k) depends on a few cells, so that one more pass is enough;
    areas and average precision depend on the order of all anomalies and normals, which is counted
    around the anomalies where these fit the memory, and range by range on disk where they do not;
    ``weighted_auc`` always takes the latter.
    Exact values have the bits that `fastad.evaluate` returns of the same scores in memory.

    Parameters
    ----------
    source : path or sequence of paths
        Parquet, Arrow (.arrow, .feather), NumPy (.npz) or text files (.csv, .tsv, also .gz, .bz2,
        .xz and .zst), or a folder of them; names in it that begin with ``_`` or ``.`` are not read,
        and folders such as ``site=a`` are values of a column ``site``. A table without the column
        of labels, but with columns ``normals`` and ``anomalies`` and either ``low`` and ``high`` or
        ``le``, has counts in ranges of scores, or cumulative counts, in place of scores; its
        detector is called ``score``.
    label_column : str, default "y"
        Column of the labels: 1 or True for an anomaly.
    score_columns : str or sequence of str, optional
        Columns of scores, a detector each; by default all other columns of numbers but an index, a
        constant or a fold.
    measures : str, Measure, BoundMeasure, or sequence of such, optional
        Keys such as ``"tpr@0.01"``, names of measures, or declarations; by default the measures
        of `fastad.evaluate`. The thresholds at the rates in use, ``threshold@0.01``, are added.
    fpr : float or sequence of floats, default (0.01, 0.05)
        False positive rates for names without one.
    score_range : (float, float), optional
        Lowest and highest possible score, for measures that scale the scores.
    group_columns : str or sequence of str, optional
        Columns whose values divide the rows into groups, each evaluated by itself.
    kind_columns, segment_columns : str or sequence of str, optional
        Columns of kinds of anomalies and of segments of normals: one more pass counts their rates
        at the thresholds of the table, as ``kinds`` and ``segments`` of `fastad.evaluate`, for
        ``breakdown``. A threshold that is not exact is taken at its value.
    overlap : {"raise", "count"}, default "raise"
        What to do about rows of several kinds or segments: refuse them, or count them in each.
    events_per_day : float, optional
        Number of normal events a day: adds alarms a day to the rates of segments.
    exact : bool, default False
        Read the files again until values are exact. Those for which that is not possible keep their
        bounds.
    memory : int or str, default "512MB"
        Bytes for counts and scores, beyond what reading the files takes; all groups and detectors
        share it.
    folder : path, optional
        Where scores that do not fit the memory are written while they are sorted; by default the
        system's temporary folder. Nothing is left there; what a killed process left is removed.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    confidence_level, n_resamples, rng
        Level of confidence intervals, which stand beside the bounds; with the options of
        `fastad.interval`. They are computed from the counts of the first pass.
    progress : callable or True, optional
        True draws a bar where rich or tqdm is installed. A function is called with the rows read so
        far in all passes, and all that are to be read where the files say so.
    n_threads : int, optional
        Threads; by default all.

    Returns
    -------
    StreamedEvaluation
        ``result["score"]["auc"]`` is a `BoundedValue`; with ``group_columns``,
        ``result[group, "score"]["auc"]``.

    Raises
    ------
    InvalidInputError
        If a file is invalid; the message names it and the part.
    MissingExtraError
        If pyarrow is not installed.

    Notes
    -----
    O(n) time for n rows in a pass.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fastad import streaming
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scores.csv")
    ...     _ = path.write_text("y,score\n0,0.1\n0,0.4\n1,0.35\n1,0.8\n")
    ...     print(streaming.evaluate(path, measures=["auc", "ap"]))
    detector  measure     value  certain bounds
    score         auc      0.75           exact
    score          ap  0.833333           exact
    """
    check_flag(exact, "exact")
    n_bytes = check_memory(memory)
    bound = measures_to_bound(measures, fpr, score_range)
    if not isinstance(folder, str | Path | None):
        raise InvalidTypeError(f"folder must be a path; found {short_repr(folder)}")
    if folder is not None and not Path(folder).is_dir():
        raise InvalidInputError(f"folder must be a folder that exists; found {folder}")
    intervals = check_intervals(confidence_level, n_resamples, rng)
    parts = check_parts(kind_columns, segment_columns, overlap, events_per_day, confidence_level)
    grouping = check_group_columns(group_columns, parts)
    if parts is not None:
        bound = add_thresholds(bound, fpr)
    passes = partial(by_passes, bound, n_bytes, exact=exact, intervals=intervals)
    with thread_limit(n_threads), reporting(progress, "rows") as report:
        table = Table(source)
        if is_counts(table, label_column):
            ignored = {"score_columns": score_columns, "pos_label": pos_label, "folder": folder}
            ignored |= {"kind_columns": kind_columns, "segment_columns": segment_columns}
            ignored |= {"exact": exact or None}
            refuse_given(ignored, "for a table of counts, which has neither scores nor labels")
            cells = counted_cells(table, grouping)
            tables = {
                (name, "score"): evaluate_cells(each, bound, tied_intervals(each, bound, intervals))
                for name, each in cells.items()
            }
            named = _with_group_names(table, grouping, tables)
            return StreamedEvaluation.of(named, grouping, n_passes=1)
        while True:
            try:
                table.n_read = 0
                scores = _scores_of(table, label_column, score_columns, grouping, parts)
                columns = Columns(label_column, scores, grouping, pos_label, parts)
                return _evaluate(table, columns, bound, passes, folder, report)
            except RereadError:
                pass


def counted_cells(table: Table, group_columns: Sequence[str]) -> dict[Any, ScoreCells]:
    """Return the cells of a table of counts by group, None where there are no groups."""
    table.check(group_columns, "group_columns")
    batch = read_counts(table, group_columns)
    groups = dict(split(batch, group_columns))
    return {name: cells_of(batch, groups[name]) for name in in_order(groups)}


def check_other_columns(
    table: Any, label_column: str, group_columns: Sequence[str], parts: PartColumns | None
) -> list[str]:
    """Check that a table has the columns that are no scores, and return them."""
    table.check([label_column], "label_column")
    table.check(group_columns, "group_columns")
    if parts is None:
        return [label_column, *group_columns]
    table.check(parts.kinds, "kind_columns")
    table.check(parts.segments, "segment_columns")
    return [label_column, *group_columns, *parts.names]


def _scores_of(
    table: Table,
    label_column: str,
    score_columns: str | Sequence[str] | None,
    group_columns: Sequence[str],
    parts: PartColumns | None,
) -> list[str]:
    others = check_other_columns(table, label_column, group_columns, parts)
    if score_columns is None:
        return list(find_detectors(table, others).names)
    scores = distinct_names(score_columns, "score_columns")
    check_some(scores, table.names)
    table.check(scores, "score_columns")
    return scores


def _evaluate(
    table: Table,
    columns: Columns,
    measures: Sequence[BoundMeasure],
    passes: Callable[..., tuple[dict[Any, BoundedEvaluation], int]],
    folder: str | Path | None,
    report: Progress | None,
) -> StreamedEvaluation:
    group_columns = columns.group_columns
    names: list[Any] = [None]
    if group_columns:
        batches = table.batches(columns.roles(group_columns))
        names = in_order(name for batch in batches for name, _ in split(batch, group_columns))
    # The groups had to be found first.
    n_before = 1 if group_columns else 0

    def count(left: Streams, n_passes: int, stack: ExitStack) -> Counters:
        spilled = None
        if any(each.can_spill for each in left.values()):
            spilled = stack.enter_context(spill_folder(None if folder is None else Path(folder)))
        counters = {
            key: each.next_pass(None if spilled is None else spilled / f"{index}")
            for index, (key, each) in enumerate(left.items())
        }
        n_rows = table.n_rows
        for batch in table.batches(columns.roles(columns.names(counters))):
            columns.count_batch(batch, counters)
            if report is not None:
                n_all = None if n_rows is None else (n_before + n_passes + 1) * n_rows
                report(table.n_read, n_all)
        return counters

    tables, n_passes = passes(names, columns.score_columns, count)
    if not table.n_read:
        raise TableError(f"{table.title}: there are no rows")
    breakdown, parts = None, columns.parts
    if parts is not None:
        counters = {key: part_counter(measures, each) for key, each in tables.items()}
        parted = PartedColumns(*columns)
        for batch in table.batches(columns.roles(parted.names(counters))):
            parted.count_batch(batch, counters)
        for name, of_part in (("kinds", parts.kinds), ("segments", parts.segments)):
            if len(of_part) == 1:
                # Of all groups: a kind has one name.
                named = dict.fromkeys(x for each in counters.values() for x in each.names(name))
                new = dict(zip(named, table.group_names(of_part[0], list(named)), strict=True))
                for each in counters.values():
                    each.rename(name, new)
        by_group = _with_group_names(table, group_columns, counters)
        breakdown = breakdown_of(by_group, group_columns, parts)
    return StreamedEvaluation.of(
        _with_group_names(table, group_columns, tables),
        group_columns,
        n_before + n_passes + (parts is not None),
        breakdown,
    )


def _with_group_names(
    table: Table, group_columns: Sequence[str], tables: Mapping[Any, Each]
) -> dict[Any, Each]:
    """Return results by the names of groups: integers where text says nothing else of all."""
    if not group_columns:
        return dict(tables)
    several = len(group_columns) > 1
    groups = list(dict.fromkeys(group for group, _ in tables))
    parts = [list(part) for part in zip(*groups, strict=True)] if several else [groups]
    renamed = [
        table.group_names(column, part) for column, part in zip(group_columns, parts, strict=True)
    ]
    new = list(zip(*renamed, strict=True)) if several else renamed[0]
    name_of = dict(zip(groups, new, strict=True))
    by_name = {(name_of[group], column): each for (group, column), each in tables.items()}
    columns = list(dict.fromkeys(column for _, column in by_name))
    return {(group, name): by_name[group, name] for group in in_order(new) for name in columns}


def by_passes(
    measures: Sequence[BoundMeasure],
    memory: int,
    groups: Sequence[Any],
    scores: Sequence[str],
    count: Callable[[Streams, int, ExitStack], Counters],
    *,
    exact: bool,
    intervals: "InferenceOptions | None" = None,
) -> tuple[dict[Any, BoundedEvaluation], int]:
    """Evaluate each group and column of scores, in as many passes as it takes.

    ``count`` is given the streams that need a pass, the number of passes before, and a stack that
    closes at the end of the pass; it counts all rows and returns what counted. All streams share
    the bytes of ``memory``. Returns tables by group and column, and the number of passes.
    """
    n_streams = len(groups) * len(scores)
    n_bytes = memory // max(n_streams, 1)
    if n_streams and n_bytes < FEWEST_BYTES:
        raise InvalidInputError(
            f"memory must be at least {FEWEST_BYTES * n_streams} bytes, {FEWEST_BYTES} for each "
            f"column of scores in each group; found {memory}"
        )
    streams = {
        (group, column): ScorePasses(measures, n_bytes, exact=exact, intervals=intervals)
        for group in groups
        for column in scores
    }
    n_passes = 0
    while n_passes < _MOST_PASSES and not all(each.is_done for each in streams.values()):
        left = {key: each for key, each in streams.items() if not each.is_done}
        with ExitStack() as stack:
            counted = count(left, n_passes, stack)
            for key, each in left.items():
                each.end(counted.pop(key))
        n_passes += 1
    return {key: each.result() for key, each in streams.items()}, n_passes


def check_some(scores: Sequence[str], names: Sequence[object]) -> None:
    """Check that there is a column of scores."""
    if not scores:
        raise InvalidInputError(
            "score_columns must name a column; found no other column of numbers among "
            f"{', '.join(map(str, names))}"
        )


def split(batch: Batch, group_columns: Sequence[str]) -> Iterator[tuple[Any, AnyVector | slice]]:
    """Yield the groups in a batch with their rows."""
    if not group_columns:
        yield None, slice(None)
        return
    codes, firsts = np.zeros(batch.n_rows, np.int64), np.zeros(1, np.int64)
    columns = []
    for name in group_columns:
        own, values = factorize(batch.columns[name], name, RowIndex(batch.n_rows))
        columns.append((own, values))
        # Numbered anew, so that no product of the numbers of values is beyond 64 bits.
        _, firsts, codes = np.unique(
            codes * values.shape[0] + own, return_index=True, return_inverse=True
        )
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(firsts.shape[0] + 1))
    for i, first in enumerate(firsts.tolist()):
        names = tuple(python_values(values[own[[first]]])[0] for own, values in columns)
        yield names if len(names) > 1 else names[0], order[bounds[i] : bounds[i + 1]]


def check_group_columns(value: object, parts: PartColumns | None) -> list[str]:
    """Return the columns of groups; refuse names that the result has for columns of its own."""
    names = [] if value is None else distinct_names(value, "group_columns")
    taken = ["detector", "measure", "value", "low", "high", "interval_low", "interval_high"]
    refuse_taken(names, [*taken, *(PART_COLUMNS if parts else ())], "group_columns")
    return names


def distinct_names(value: object, argument: str) -> list[str]:
    """Return the columns that an argument names, each once."""
    return list(dict.fromkeys(check_column_names(value, argument)))

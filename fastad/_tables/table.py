"""A table: one file or many of the same columns, read in memory or batch by batch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastad._core.suggestions import did_you_mean
from fastad._core.text_tables import some_of
from fastad._core.types import AnyVector, IntVector
from fastad._tables.columnar import ArrayArchive, ArrowFile
from fastad._tables.columns import (
    MISSING_VALUE,
    Names,
    Numbers,
    NumberSummary,
    Role,
    convert,
    integers_if_canonical,
    join_integers,
)
from fastad._tables.errors import (
    CellError,
    ColumnError,
    InexactColumnError,
    RereadError,
    TableError,
    reading,
)
from fastad._tables.files import format_of, paths_of
from fastad._tables.text import TextFile

# Columns or files that a message names; of more it says how many.
N_NAMED = 12

File: TypeAlias = TextFile | ArrowFile | ArrayArchive


class Batch(NamedTuple):
    """Some rows of a table."""

    columns: Mapping[str, AnyVector]
    where: str  # the file, or the partition
    n_rows: int


class Table:
    """Columns of text, Parquet, Arrow or NumPy files, or of folders of them.

    Messages name the source by ``title``. The columns that folders stand for are the last ones in
    ``names``. ``n_rows`` is None where a file does not say how many it has; ``n_read`` counts the
    rows that have been read batch by batch, in all passes.
    """

    def __init__(self, source: str | Path | Sequence[str | Path]) -> None:
        paths = paths_of(source)
        self.title = str(source) if isinstance(source, str | Path) else str(paths[0].path)
        self._partitions = [each.partition for each in paths]
        self._files = [_open(each.path) for each in paths]
        first = self._files[0]
        self.names = [*first.names, *self._partitions[0]]
        counts = [file.n_rows for file in self._files]
        self.n_rows = None if None in counts else sum(count or 0 for count in counts)
        self.n_read = 0
        # Of each file the number of rows, when it has been read.
        self._sizes = [0] * len(self._files)
        self._states = [file.state() for file in self._files]

    @property
    def archive(self) -> ArrayArchive | None:
        """The archive of arrays that the table is; None if it is something else."""
        first = self._files[0]
        return first if isinstance(first, ArrayArchive) else None

    def kind(self, name: str) -> str:
        """Return the content of a column: text, number, boolean or other."""
        return "other" if name in self._partitions[0] else self._files[0].kind(name)

    def check(self, names: Sequence[str], argument: str) -> None:
        """Check that all files have some columns once, each of one type."""
        for name in names:
            if name in self._partitions[0]:
                self._check_partition(name)
                continue
            if self.names.count(name) != 1:
                what, hint = "more than one column", ""
                if name not in self.names:
                    what = "no column"
                    hint = did_you_mean(name, {each: each for each in self.names})
                raise TableError(
                    f"{self.title}: there is {what} {name!r}; found "
                    f"{some_of(self.names, N_NAMED) or 'none'}{hint}",
                    argument=argument,
                )
        first = self._files[0]
        for file in self._files[1:]:
            for name in names:
                if name in self._partitions[0]:
                    continue
                if file.names.count(name) != 1:
                    raise TableError(
                        f"{file.path}: there is no column {name!r}, or more than one, as there is "
                        f"in {first.path}"
                    )
                if isinstance(file, TextFile) or isinstance(first, TextFile):
                    continue
                if file.type_of(name) != first.type_of(name):
                    raise TableError(
                        f"{file.path}: column {name!r} must have one type in all files; found "
                        f"{file.type_of(name)}, and {first.type_of(name)} in {first.path}"
                    )

    def _check_partition(self, name: str) -> None:
        """Check that no file has a column that its folders name."""
        for file in self._files:
            if name in file.names:
                raise TableError(
                    f"{file.path}: there is a column {name!r}, which its folders name, too"
                )

    def read(self, roles: Mapping[str, Role]) -> dict[str, AnyVector]:
        """Read columns into memory, as their roles have them; there must be a row."""
        while True:
            try:
                parts = list(self._batches(roles))
                break
            except RereadError:
                pass
        if not sum(part.n_rows for part in parts):
            raise TableError(f"{self.title}: there are no rows")
        return {name: _joined([part.columns[name] for part in parts]) for name in roles}

    def batches(self, roles: Mapping[str, Role]) -> Iterator[Batch]:
        """Yield columns of all rows; the next batch is read while one is in use.

        Raises RereadError if a column of text turns out to have another type than in the batches
        before.
        """
        batches = self._batches(roles)
        with ThreadPoolExecutor(1, thread_name_prefix="fastad-reader") as reader:
            ahead = reader.submit(next, batches, None)
            while (batch := ahead.result()) is not None:
                ahead = reader.submit(next, batches, None)
                self.n_read += batch.n_rows
                yield batch

    def cells(self, names: Sequence[str], n_rows: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the number of a file and its columns as they are, about ``n_rows`` rows at once."""
        for number, file in enumerate(self._files):
            for columns in file.cells(names, n_rows):
                yield number, columns

    def group_names(self, column: str, names: Sequence[Any]) -> list[Any]:
        """Return names of groups, as integers where text says nothing else of all of them."""
        untyped = column in self._partitions[0] or self._files[0].untyped
        return integers_if_canonical(names) if untyped else list(names)

    def named(self, column: str, values: AnyVector) -> AnyVector:
        """Return a column of names of groups, as integers where text says nothing else of all."""
        if values.dtype.kind != "U":
            return values
        distinct, codes = np.unique(values, return_inverse=True)
        names = np.array(self.group_names(column, distinct.tolist()))
        return values if names.dtype.kind == "U" else names[codes]

    def numbers_in(self, rows: IntVector, values: Any, name: str) -> AnyVector:
        """Return some rows of a column of numbers that has been read; name the first missing one.

        The others may be missing, of which integers beyond 2^53 are an array of Arrow's.
        """
        try:
            chosen = values[rows] if isinstance(values, np.ndarray) else values.take(rows)
            return convert(chosen, Numbers())  # type: ignore[no-any-return]
        except CellError as error:
            row = int(rows[error.row])
            ends = np.cumsum(self._sizes)
            number = int(np.searchsorted(ends, row, side="right"))
            file = self._files[number]
            with located(str(file.path), name, file.where):
                row += self._sizes[number] - int(ends[number])
                raise CellError(row, MISSING_VALUE) from None

    def _batches(self, roles: Mapping[str, Role]) -> Iterator[Batch]:
        for number, file in enumerate(self._files):
            partition = self._partitions[number]
            within = {name: role for name, role in roles.items() if name not in partition}
            constants = _constants(file, partition, roles)
            n_rows = 0
            try:
                for values in file.batches(within or {file.names[0]: Names(may_miss=True)}):
                    some = len(next(iter(values.values())))
                    if some:
                        columns = _converted(file, values, within, n_rows)
                        columns |= {name: value.repeat(some) for name, value in constants.items()}
                        yield Batch({name: columns[name] for name in roles}, str(file.path), some)
                        n_rows += some
                self._sizes[number] = n_rows
            except InexactColumnError as error:
                self._find_type(error.column)
                raise RereadError from None
        for file, state in zip(self._files, self._states, strict=True):
            if file.state() != state:
                raise TableError(f"{file.path}: the file has changed while it was read")

    def _find_type(self, name: str) -> None:
        """Find the type of a column of text that is no float64 in all files."""
        summary = NumberSummary()
        for number, file in enumerate(self._files):
            assert isinstance(file, TextFile)
            with located(str(file.path), name, file.where):
                file.summarize(name, summary, number)
        kind = summary.kind()
        for number, file in enumerate(self._files):
            assert isinstance(file, TextFile)
            if kind is not None:
                file.exact[name] = kind
            elif summary.rounded is not None and summary.rounded[0] == number:
                where = file.where(summary.rounded[1])
                raise TableError(f"{file.path}: column {name!r}, {where}: {summary.reason()}")


def _converted(
    file: File, values: Mapping[str, Any], roles: Mapping[str, Role], first_row: int
) -> dict[str, AnyVector]:
    columns = {}
    for name, role in roles.items():
        # Some types have values that no type of Python's holds, such as times in nanoseconds.
        with (
            located(str(file.path), name, lambda row: file.where(first_row + row)),
            reading(file.path, f"column {name!r}"),
        ):
            columns[name] = convert(values[name], role, untyped=file.untyped)
    return columns


def _constants(
    file: File, partition: Mapping[str, str], roles: Mapping[str, Role]
) -> dict[str, AnyVector]:
    """Return the value of each column that the folders of a file stand for."""
    constants = {}
    for name, value in partition.items():
        if name in roles:
            with located(str(file.path), name, lambda _: "in the name of its folder"):
                constants[name] = convert(np.array([value]), roles[name], untyped=True)
    return constants


def _open(path: Path) -> File:
    kind = format_of(path)
    if kind == "text":
        return TextFile(path)
    return ArrayArchive(path) if kind == "archive" else ArrowFile(path)


@contextmanager
def located(title: str, name: str, where: Callable[[int], str]) -> Iterator[None]:
    """Let errors about values name the file, the column and the line or row."""
    try:
        yield
    except CellError as error:
        message = f"{title}: column {name!r}, {where(error.row)}: {error}"
        raise TableError(message) from None
    except ColumnError as error:
        raise TableError(f"{title}: column {name!r} {error}") from None


def _joined(parts: Sequence[Any]) -> Any:
    """Return the values of all batches as one array."""
    if len(parts) == 1:
        return parts[0]
    kinds = {part.dtype.kind if isinstance(part, np.ndarray) else "gaps" for part in parts}
    if "gaps" not in kinds and ("f" not in kinds or kinds.isdisjoint("iu")):
        return np.concatenate(parts)
    # Batches of a column of integers are floats where some are missing.
    return convert(join_integers(parts), Numbers(may_miss=True))

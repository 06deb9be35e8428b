"""Columns of files of any size, batch by batch, through pyarrow's data sets."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastad._core.extras import missing_extra
from fastad._core.parameters import short_repr
from fastad._core.suggestions import did_you_mean
from fastad._core.text_cells import guess_delimiter, is_number
from fastad._core.types import AnyVector
from fastad.errors import InvalidInputError, InvalidTypeError

# Rows of a batch.
_ROWS = 2**20
# Bytes of a text file in which the first two lines end.
_TWO_LINES = 2**20
_FORMATS = {
    ".parquet": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    **{text + packed: "csv" for text in (".csv", ".tsv") for packed in ("", ".gz", ".bz2", ".zst")},
}
# Of numbers in text that began as integers: pyarrow takes the types from the first block.
_NO_INTEGER = re.compile(r"In CSV column #(\d+): .*conversion error to int64: invalid value '(.*)'")


class NoIntegerError(InvalidInputError):
    """A column of text began with integers, and has other numbers, too."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message, argument="source")
        self.column = column


class Batch(NamedTuple):
    """Some rows of a file.

    Attributes
    ----------
    columns : mapping of str to numpy.ndarray
        Their columns.
    where : str
        The file, and its part.
    n_rows : int
        How many rows.
    """

    columns: Mapping[str, AnyVector]
    where: str
    n_rows: int


class ScoreFiles:
    """Parquet, Arrow or CSV files of the same columns, or a folder of such files.

    Parameters
    ----------
    source : path or sequence of paths
        The files, or folders of them.
    floats : collection of str
        Columns of text that are read as float64, though they begin with integers.

    Attributes
    ----------
    paths : sequence of str
        The files, in order.
    names : sequence of str
        The columns.
    n_rows : int or None
        Rows of all files, where the files say how many.
    n_read : int
        Rows that have been read, in all passes.
    """

    def __init__(
        self, source: str | Path | Sequence[str | Path], floats: Collection[str] = ()
    ) -> None:
        dataset = _open(_paths(source), floats)
        self.n_read = 0
        self._fragments: list[Any] = sorted(dataset.get_fragments(), key=lambda each: each.path)
        self.paths: Sequence[str] = [each.path for each in self._fragments]
        self._types = {field.name: field.type for field in dataset.schema}
        self.names: Sequence[str] = list(self._types)
        self.n_rows = self._count()

    def numbers(self) -> list[str]:
        """Return the columns of numbers."""
        from pyarrow import types  # Inside, as scores in memory need no pyarrow.

        return [
            name
            for name, kind in self._types.items()
            if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)
        ]

    def check(self, names: Sequence[str], argument: str) -> None:
        """Check that all files have some columns, each of one type of single values."""
        from pyarrow import types  # Inside, as scores in memory need no pyarrow.

        for name in names:
            if name not in self._types:
                raise InvalidInputError(
                    f"{argument} must be a column of the files, which have "
                    f"{', '.join(self.names)}; found {short_repr(name)}"
                    f"{did_you_mean(name, {each: each for each in self.names})}",
                    argument=argument,
                )
            if types.is_nested(self._types[name]):
                raise InvalidInputError(
                    f"{argument} must be a column of single values; found {self._types[name]} in "
                    f"column {name!r}",
                    argument=argument,
                )
        for fragment in self._fragments:
            with _reading(fragment.path, "the file"):
                schema = fragment.physical_schema
            is_text = fragment.format.default_extname == "csv"
            for name in names:
                index = schema.get_field_index(name)
                if index < 0:
                    raise InvalidInputError(
                        f"source must be files of the same columns; found no column {name!r} in "
                        f"{fragment.path}",
                        argument="source",
                    )
                kinds = [schema.field(index).type, self._types[name]]
                if kinds[0] != kinds[1]:
                    message = (
                        f"source must have one type of column {name!r} in all files; found "
                        f"{kinds[0]} in {fragment.path} and {kinds[1]} in "
                        f"{self.paths[0]}"
                    )
                    if is_text and sorted(map(str, kinds)) == ["double", "int64"]:
                        raise NoIntegerError(name, message)
                    raise InvalidInputError(message, argument="source")

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """Yield some columns of all rows; the next batch is read while one is in use."""
        batches = self._batches(list(dict.fromkeys(names)))
        with ThreadPoolExecutor(1, thread_name_prefix="fastad-reader") as reader:
            ahead = reader.submit(next, batches, None)
            while (batch := ahead.result()) is not None:
                ahead = reader.submit(next, batches, None)
                self.n_read += batch.n_rows
                yield batch

    def _batches(self, names: list[str]) -> Iterator[Batch]:
        for fragment in self._fragments:
            with _reading(fragment.path, "the file"):
                columns = fragment.physical_schema.names
            for part, where in _parts(fragment):
                n_rows = 0
                with _reading(where, "it", columns):
                    scanner = part.scanner(columns=names, batch_size=_ROWS)
                    for batch in scanner.to_batches():
                        if batch.num_rows:
                            rows = f"{where}, from row {n_rows}" if n_rows else where
                            yield Batch(_columns(batch, names, rows), rows, batch.num_rows)
                            n_rows += batch.num_rows

    def _count(self) -> int | None:
        n_rows = 0
        for fragment in self._fragments:
            with _reading(fragment.path, "the file"):
                metadata = getattr(fragment, "metadata", None)
            if metadata is None:
                return None
            n_rows += metadata.num_rows
        return n_rows


def names_of(value: object, argument: str) -> list[str]:
    """Return the columns that an argument names, each once."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidTypeError(
            f"{argument} must be the name of a column, or several; found {short_repr(value)}",
            argument=argument,
        )
    return list(dict.fromkeys(names))


def _paths(source: str | Path | Sequence[str | Path]) -> list[str]:
    given = [source] if isinstance(source, str | Path) else source
    if not isinstance(given, Sequence) or not all(isinstance(each, str | Path) for each in given):
        raise InvalidTypeError(
            f"source must be the path of a file or folder, or several; found {short_repr(source)}",
            argument="source",
        )
    paths: list[str] = []
    for each in map(Path, given):
        if not each.exists():
            raise InvalidInputError(
                f"source must be files or folders that exist; found {each}", argument="source"
            )
        inside = sorted(each.rglob("*")) if each.is_dir() else [each]
        paths += [str(path) for path in inside if not each.is_dir() or _format(path)]
    if not paths:
        raise InvalidInputError(
            "source must contain Parquet, Arrow or CSV files; found none in "
            f"{', '.join(map(str, given)) or 'an empty list'}",
            argument="source",
        )
    return paths


def _format(path: Path) -> str | None:
    if not path.is_file():
        return None
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    return _FORMATS.get("".join(suffixes)) or _FORMATS.get("".join(suffixes[-1:]))


def _open(paths: list[str], floats: Collection[str]) -> Any:
    try:
        # Inside, as scores in memory need no pyarrow.
        from pyarrow import dataset
    except ModuleNotFoundError:
        raise missing_extra("fastad.streaming.evaluate", "pyarrow", extra="df") from None
    formats = {path: _format(Path(path)) for path in paths}
    different = set(formats.values())
    if None in different or len(different) > 1:
        found = ", ".join(sorted({Path(path).suffix or path for path in paths}))
        raise InvalidInputError(
            f"source must be files of one format, Parquet, Arrow or CSV; found {found}",
            argument="source",
        )
    with _reading(paths[0], "the file"):
        name = different.pop()
        return dataset.dataset(
            paths, format=_csv_format(paths[0], floats) if name == "csv" else name
        )


def _csv_format(path: str, floats: Collection[str]) -> Any:
    # Inside, as scores in memory need no pyarrow.
    import pyarrow as pa
    from pyarrow import csv, dataset

    with pa.input_stream(path, compression="detect") as stream:
        text = stream.read(_TWO_LINES).decode("utf-8-sig", errors="replace")
    first, second = (*text.splitlines()[:2], "", "")[:2]
    return dataset.CsvFileFormat(
        parse_options=csv.ParseOptions(delimiter=guess_delimiter(first, second)),
        # Cells without text are missing, in columns of text too; all other text is a value.
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(floats, pa.float64()),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def _parts(fragment: Any) -> Iterator[tuple[Any, str]]:
    """Yield the row groups of a file, or the file itself where it has none."""
    row_groups = getattr(fragment, "row_groups", None)
    if row_groups is None:
        yield fragment, str(fragment.path)
        return
    for group in row_groups:
        yield fragment.subset(row_group_ids=[group.id]), f"{fragment.path}, row group {group.id}"


@contextmanager
def _reading(where: str, what: str, names: Sequence[str] = ()) -> Iterator[None]:
    """Turn an error of pyarrow on a damaged file into one that says where it is.

    ``names`` are the columns of the file, in their order.
    """
    import pyarrow as pa  # Inside, as scores in memory need no pyarrow.

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        message = f"source must be readable; found {where}: {what} cannot be read: {error}"
        found = _NO_INTEGER.search(str(error))
        if found is not None and names and is_number(found[2]):
            raise NoIntegerError(names[int(found[1])], message) from None
        raise InvalidInputError(message, argument="source") from None


def _columns(batch: Any, names: Sequence[str], where: str) -> dict[str, AnyVector]:
    columns = {}
    for name in names:
        column = batch.column(name)
        if column.null_count:
            raise InvalidInputError(
                f"source must have no missing values; found {column.null_count} in column "
                f"{name!r} of {where}",
                argument="source",
            )
        columns[name] = np.asarray(column.to_numpy(zero_copy_only=False))
    return columns

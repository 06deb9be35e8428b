"""Files of a source: formats by extension, folders, and compressed bytes."""

import bz2
import csv
import gzip
import importlib
import io
import lzma
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from fastad._core.extras import import_extra
from fastad._core.files import written_aside
from fastad._core.frames import frame
from fastad._core.parameters import short_repr
from fastad._tables.errors import TableError, reading
from fastad.errors import InvalidTypeError

# Path of the standard input.
STDIN = Path("-")
# The value that Hive writes into the name of a folder where a row has none.
_HIVE_MISSING = "__HIVE_DEFAULT_PARTITION__"
_TEXT = (".csv", ".tsv")

# File extensions of tables that can be written.
WRITTEN_FORMATS = (".csv", ".parquet", ".arrow", ".feather")
# Names of files may contain what UTF-8 does not.
_ERRORS = "backslashreplace"


def _zstd(path: Path) -> Any:
    """Open a .zst file; Python has a module of its own for it only from 3.14 on."""
    pyarrow = importlib.import_module("pyarrow")
    return pyarrow.CompressedInputStream(str(path), "zstd")


_COMPRESSED: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _zstd,
}
# Compressions that Arrow reads, too.
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
# Formats by extension.
FORMATS: Mapping[str, str] = {
    **dict.fromkeys((text + packed for text in _TEXT for packed in ("", *_COMPRESSED)), "text"),
    ".npz": "archive",
    ".parquet": "parquet",
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
}


class TablePath(NamedTuple):
    """A file, and the columns that the names of its folders stand for (``site=a``)."""

    path: Path
    partition: Mapping[str, str]


def format_of(path: Path) -> str | None:
    """Return the format of a file by its extension; the standard input is text."""
    return "text" if path == STDIN else FORMATS.get(extension_of(path))


def extension_of(path: Path) -> str:
    """Return the extension in lower case, with the inner one of a compressed file before it."""
    packed = path.suffix.lower() in _COMPRESSED
    return "".join(path.suffixes[-2:] if packed else path.suffixes[-1:]).lower()


def paths_of(source: str | Path | Sequence[str | Path]) -> list[TablePath]:
    """Return the files of a source, in order; of folders all tables below them.

    Names that begin with ``_`` or ``.`` are not read, as Arrow, Spark and Hive do: they are files
    of a job that failed or is under way.
    """
    given = [source] if isinstance(source, str | Path) else source
    if not isinstance(given, Sequence) or not all(isinstance(each, str | Path) for each in given):
        raise InvalidTypeError(
            f"source must be the path of a file or folder, or several; found {short_repr(source)}"
        )
    paths: list[TablePath] = []
    for each in map(Path, given):
        if each.is_dir():
            paths += _inside(each)
        elif each != STDIN and not each.is_file():
            raise TableError(f"{each}: there is no such file")
        elif format_of(each) is None:
            raise TableError(
                f"{each}: unsupported file extension {extension_of(each)!r}; it must be one of "
                f"{', '.join(FORMATS)}"
            )
        else:
            paths.append(TablePath(each, {}))
    title = ", ".join(map(str, given)) or "an empty list of files"
    if not paths:
        raise TableError(f"{title}: there are no tables ({', '.join(FORMATS)})")
    # The same file twice would count its rows twice; where a folder names its columns, they count.
    files: dict[Path, TablePath] = {}
    for found in paths:
        path = found.path.resolve()
        if path not in files or (found.partition and not files[path].partition):
            files[path] = found
    paths = sorted(files.values(), key=lambda each: str(each.path))
    if len({format_of(each.path) for each in paths}) > 1:
        extensions = sorted({extension_of(each.path) for each in paths})
        raise TableError(f"{title}: files must have one format; found {', '.join(extensions)}")
    _check_partitions(paths)
    return paths


def _inside(folder: Path) -> list[TablePath]:
    found = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if any(part.startswith(("_", ".")) for part in parts) or not path.is_file():
            continue
        if format_of(path) is None:
            continue
        pairs = [part.partition("=") for part in parts[:-1] if "=" in part]
        partition = {unquote(name): unquote(value) for name, _, value in pairs if name}
        found.append(TablePath(path, partition))
    return found


def _check_partitions(paths: Sequence[TablePath]) -> None:
    """Check that all files lie in folders that name the same columns."""
    first = paths[0]
    for each in paths:
        if each.partition.keys() != first.partition.keys():
            columns = [", ".join(file.partition) or "no column" for file in (each, first)]
            raise TableError(
                f"{each.path}: its folders name {columns[0]}; found {columns[1]} in {first.path}"
            )
        missing = [name for name, value in each.partition.items() if value == _HIVE_MISSING]
        if missing:
            raise TableError(f"{each.path}: the value of {missing[0]!r} is missing in its folder")


# Content of standard inputs, which a second table of the same input needs, too.
_READ: "WeakKeyDictionary[BinaryIO, bytes]" = WeakKeyDictionary()


class Bytes:
    """The bytes of a file, decompressed; bytes of the standard input are kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept = None
        if path == STDIN:
            if sys.stdin is None:
                raise TableError(f"{path}: the standard input is closed")
            if sys.stdin.buffer not in _READ:
                _READ[sys.stdin.buffer] = sys.stdin.buffer.read()
            self._kept = _READ[sys.stdin.buffer]

    def open(self) -> BinaryIO:
        """Open the bytes."""
        if self._kept is not None:
            return io.BytesIO(self._kept)
        opened = _COMPRESSED.get(self.path.suffix.lower())
        if opened is None:
            return self.path.open("rb")
        with reading(self.path, "the compressed file"):
            stream: BinaryIO = opened(self.path)
        return stream

    def stream(self) -> Any:
        """Open the bytes for Arrow, whose threads must not call Python: the process would hang.

        They read ahead, and may still do so when the interpreter ends.
        """
        import pyarrow as pa  # Inside, as arrays need no pyarrow.

        if self._kept is not None:
            return pa.BufferReader(self._kept)
        extension = self.path.suffix.lower()
        if extension in _COMPRESSED and extension not in _CODECS:
            with reading(self.path, "the compressed file"), self.open() as file:
                return pa.BufferReader(file.read())
        file = pa.OSFile(str(self.path))
        codec = _CODECS.get(extension)
        return file if codec is None else pa.CompressedInputStream(file, codec)

    def state(self) -> object:
        """Return a value that changes where the file is written anew."""
        return None if self._kept is not None else state_of(self.path)


def state_of(path: Path) -> object:
    """Return the identity, size and time of a file, which change where it is written anew."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def need_pyarrow(what: str) -> None:
    """Refuse a call without pyarrow, with the command that installs it."""
    import_extra("pyarrow", what, extra="df")


def save_columns(columns: Mapping[str, list[Any]], path: Path, *, is_new: bool = False) -> None:
    """Save columns of equal length in the format of the file extension, whole or not at all.

    With ``is_new`` FileExistsError is raised where the file is there.
    """
    extension = path.suffix.lower()
    with written_aside(path, is_new=is_new) as aside:
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

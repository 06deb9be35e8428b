"""The text of a file: plain, compressed, or from the standard input."""

import importlib
import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, TextIO

from fastad.cli._console import DataError
from fastad.cli.table_files.columnar import reading

# What stands for the standard input.
STDIN = Path("-")
# The modules that decompress, by file extension.
COMPRESSED: Mapping[str, str] = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}


class Content:
    """The text of a file; what is decompressed, or comes from the standard input, is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept: bytes | None = None
        if path == STDIN:
            self.kept = sys.stdin.buffer.read()
        elif path.suffix.lower() in COMPRESSED:
            # Here, as few files are compressed.
            module = importlib.import_module(COMPRESSED[path.suffix.lower()])
            with reading(path, "the compressed file"), module.open(path) as file:
                self.kept = file.read()

    def size(self) -> int:
        """Return the number of bytes."""
        return self.path.stat().st_size if self.kept is None else len(self.kept)

    def binary(self) -> BinaryIO:
        """Open the bytes."""
        return self.path.open("rb") if self.kept is None else io.BytesIO(self.kept)

    def lines(self) -> TextIO:
        """Open the text, with the ends of lines as they are."""
        return io.TextIOWrapper(self.binary(), encoding="utf-8-sig", newline="")

    def not_utf8(self, error: UnicodeDecodeError) -> DataError:
        """Return the error that says so."""
        return DataError(f"{self.path}: the text is not UTF-8: {error}")

"""Errors about tables, which name the file, the column and the line or row."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from fastad.errors import InvalidInputError, MissingExtraError

# Address of an object in a message, which differs from call to call.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class TableError(InvalidInputError):
    """A file is wrong; the message begins with its name."""

    def __init__(self, message: str, *, argument: str = "source") -> None:
        super().__init__(message, argument=argument)


class CellError(Exception):
    """A cell is wrong: its row counts from the first of the values at hand."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(what)
        self.row = row


class ColumnError(Exception):
    """A whole column is wrong."""


class InexactColumnError(Exception):
    """Numbers of a column of text do not fit the type that it was read as."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


class RereadError(Exception):
    """A column of text has another type than its first batches: batches must be read again."""


@contextmanager
def reading(where: object, what: str) -> Iterator[None]:
    """Turn any error of a library on a damaged file into a message that names the file.

    They may be of any type: of zip, of zlib, of Python's parser, of memory.
    """
    try:
        yield
    except (InvalidInputError, MissingExtraError, CellError, ColumnError, InexactColumnError):
        raise
    except Exception as error:
        # Some have no words, as of a pickle that is none.
        message = _ADDRESS.sub("", str(error)) or type(error).__name__
        raise TableError(f"{where}: {what} cannot be read: {message}") from None

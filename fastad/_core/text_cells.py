"""Cells of text files: what separates them, and which are numbers."""

import csv
from contextlib import suppress

_DELIMITERS = ",;\t|"


def guess_delimiter(first: str, second: str) -> str:
    """Return what separates the names in the first line, and the cells in the second one."""
    # Names may contain a sign too, but rows have as many cells as there are names.
    return max(
        _DELIMITERS,
        key=lambda sign: (
            1 < _n_cells(first, sign) == _n_cells(second, sign),
            _n_cells(first, sign),
        ),
    )


def is_number(text: str) -> bool:
    """Return whether a cell is a number."""
    try:
        float(text)
    except ValueError:
        return False
    # Python reads "1_000" as a number, tables do not.
    return "_" not in text


def _n_cells(line: str, delimiter: str) -> int:
    """Return the number of cells of a line; 0 where it cannot be read."""
    with suppress(csv.Error, StopIteration):
        return len(next(csv.reader([line], delimiter=delimiter)))
    return 0

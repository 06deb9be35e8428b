"""Cells of text: delimiters, numbers, and missing values."""

import csv
import re
from contextlib import suppress

_DELIMITERS = ",;\t|"
# Cells that stand for a missing number or label. Of names only the empty cell is missing: NA is
# Namibia, too.
MISSING = ("", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "null", "NULL", "None")
_NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)[ \t]*",
    re.ASCII | re.IGNORECASE,
)
_TRUTHS = {"true": 1, "false": 0}


def guess_delimiter(first: str, second: str) -> str:
    """Return the delimiter of the names in the first line, and of the cells in the second one."""
    # Names may contain a sign too, but rows have as many cells as there are names.
    return max(
        _DELIMITERS,
        key=lambda sign: (
            1 < _n_cells(first, sign) == _n_cells(second, sign),
            _n_cells(first, sign),
        ),
    )


def is_number(text: str) -> bool:
    """Return whether a cell is a number in ASCII digits, or an infinity."""
    return _NUMBER.fullmatch(text) is not None


def is_missing(text: str) -> bool:
    """Return whether a cell stands for a missing number or label."""
    return text.strip() in MISSING


def read_number(text: str) -> int | float:
    """Return a number, which is an integer if it is written so: a float would merge large ones."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def label_of(cell: str) -> int | float | str:
    """Return the label that a cell is: a number if it is one, 1 and 0 for true and false."""
    stripped = cell.strip()
    if is_number(stripped):
        return read_number(stripped)
    return _TRUTHS.get(stripped.lower(), stripped)


def _n_cells(line: str, delimiter: str) -> int:
    """Return the number of cells of a line; 0 where it cannot be read."""
    with suppress(csv.Error, StopIteration):
        return len(next(csv.reader([line], delimiter=delimiter)))
    return 0

"""Saving results to files, whole or not at all."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastad._core.files import written_aside
from fastad._core.frames import frame

# Names of files may hold what UTF-8 does not.
_ERRORS = "backslashreplace"
FORMATS = (".csv", ".json", ".parquet", ".arrow", ".feather")


def save_text(text: str, path: Path) -> None:
    """Save a text."""
    with written_aside(path) as aside:
        aside.write_text(text, encoding="utf-8", errors=_ERRORS)


def save_columns(columns: Mapping[str, list[Any]], path: Path) -> None:
    """Save columns of equal length as the kind of table that the ending names."""
    if path.suffix.lower() != ".csv":
        _save_arrow(columns, path)
        return
    with (
        written_aside(path) as aside,
        aside.open("w", encoding="utf-8", errors=_ERRORS, newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _save_arrow(columns: Mapping[str, list[Any]], path: Path) -> None:
    table = frame(columns, "pyarrow")
    from pyarrow import feather, parquet

    with written_aside(path) as aside:
        if path.suffix.lower() == ".parquet":
            parquet.write_table(table, aside)
        else:
            feather.write_feather(table, str(aside), compression="uncompressed")

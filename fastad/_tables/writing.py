"""Writing columns to files."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastad._core.files import written_aside
from fastad._core.frames import frame

# File extensions of tables that can be written.
WRITTEN_FORMATS = (".csv", ".parquet", ".arrow", ".feather")
# Names of files may contain what UTF-8 does not.
_ERRORS = "backslashreplace"


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

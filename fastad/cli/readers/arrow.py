"""Columns of Parquet and Arrow files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastad._core.frames import as_array
from fastad.cli._console import DataError
from fastad.cli.readers.source import Column, reading
from fastad.errors import InvalidInputError, MissingExtraError


class ArrowFile:
    """The columns of a .parquet, .arrow or .feather file; only what is asked for is read."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow as pa
            from pyarrow import feather, parquet
        except ModuleNotFoundError:
            raise MissingExtraError(
                f"{path.suffix} files need pyarrow: pip install 'fastad[df]'"
            ) from None
        self.path = path
        is_parquet = path.suffix.lower() == ".parquet"
        self._read: Any = parquet.read_table if is_parquet else feather.read_table
        with reading(path, "the file"):
            if is_parquet:
                schema = parquet.read_schema(path)
            else:
                with pa.memory_map(str(path)) as file:
                    schema = pa.ipc.open_file(file).schema
            self.names = list(schema.names)
            self._numeric = [
                field.name
                for field in schema
                if pa.types.is_integer(field.type)
                or pa.types.is_floating(field.type)
                or pa.types.is_boolean(field.type)
            ]

    def candidates(self, excluded: Sequence[str]) -> list[str]:
        """Return the columns of numbers."""
        return [name for name in self._numeric if name not in excluded]

    def numbers(self, chosen: Sequence[str]) -> dict[str, Column]:
        """Read columns."""
        return {name: self.values(name) for name in chosen}

    def values(self, name: str) -> Column:
        """Read one column, which must not have missing values."""
        with reading(self.path, f"column {name!r}"):
            column = self._read(self.path, columns=[name])[name]
            # Texts and categories of a damaged file may lie outside of it.
            column.validate(full=True)
        if column.null_count:
            first = column.is_null().index(True).as_py()
            raise DataError(
                f"{self.path}: column {name!r} must not have missing values; "
                f"found {column.null_count}, the first at row {first}"
            )
        try:
            return as_array(column, name)
        except InvalidInputError as error:
            raise DataError(f"{self.path}: {error}") from None

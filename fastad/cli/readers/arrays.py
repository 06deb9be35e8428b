"""Columns of archives of NumPy arrays."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fastad.cli._console import DataError
from fastad.cli.readers.source import Column, reading


class ArrayArchive:
    """The arrays of an .npz file."""

    def __init__(self, path: Path) -> None:
        if not zipfile.is_zipfile(path):
            raise DataError(f"{path}: the file is not an archive of arrays (.npz)")
        self.path = path
        # Of an open file: NumPy leaves its own open where an archive is damaged.
        with reading(path, "the archive"), path.open("rb") as file:
            self.names = list(np.load(file, allow_pickle=False))

    def candidates(self, excluded: Sequence[str]) -> list[str]:
        """Return the vectors of numbers as long as the first excluded array.

        Data sets travel with other arrays, such as names, and the matrix of features.
        """
        shape = self.values(excluded[0]).shape
        found = []
        for name in self.names:
            try:
                array = self.values(name)
            except DataError:
                continue
            if name not in excluded and array.shape == shape and array.dtype.kind in "biuf":
                found.append(name)
        return found

    def numbers(self, chosen: Sequence[str]) -> dict[str, Column]:
        """Read arrays."""
        return {name: self.values(name) for name in chosen}

    def values(self, name: str) -> Column:
        """Read one array."""
        with reading(self.path, f"the array {name!r}"), self.path.open("rb") as file:
            array = np.load(file, allow_pickle=False)[name]
            if isinstance(array, np.ndarray) and array.dtype.kind == "U":
                # Numbers beyond all characters, from a damaged file, fail here.
                array.tolist()
        if not isinstance(array, np.ndarray):
            raise DataError(f"{self.path}: {name!r} is not an array")
        return array

"""Files of labels and scores, as Parquet, Arrow and CSV."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv, feather, parquet

import fastad
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.streaming import BoundedValue

FORMATS = [".parquet", ".arrow", ".feather", ".csv", ".csv.gz"]
# Measures that read a point of the curve, an area or its precision: those that can be exact.
CAN_BE_EXACT = [
    *("auc", "ap", "eer", "tpr@0.01", "tpr@0.2", "fpr@tpr0.9", "f1@0.1", "precision@n"),
    *("precision@k10", "recall@precision0.5", "np@0.1"),
]


def save(path: Path, columns: Mapping[str, Any], rows_a_group: int = 300) -> Path:
    """Write columns to a file of the format that its name says."""
    table = pa.table(dict(columns))
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=rows_a_group)
    elif path.suffix in (".arrow", ".feather"):
        feather.write_feather(table, str(path), compression="lz4", chunksize=rows_a_group)
    elif path.suffix == ".gz":
        with pa.CompressedOutputStream(str(path), "gzip") as stream:
            csv.write_csv(table, stream)
    else:
        csv.write_csv(table, path)
    return path


def save_parts(
    folder: Path, columns: Mapping[str, npt.NDArray[Any]], ends: Sequence[int], suffix: str
) -> Path:
    """Write parts of the rows to files of a folder."""
    folder.mkdir()
    n_rows = len(next(iter(columns.values())))
    for i, rows in enumerate(np.split(np.arange(n_rows), ends)):
        save(folder / f"part-{i}{suffix}", {name: each[rows] for name, each in columns.items()})
    return folder


def in_memory(key: str, y: npt.NDArray[Any], s: npt.NDArray[Any]) -> Any:
    """Return a measure of scores in memory, or a threshold; None where it is undefined."""
    try:
        if key.startswith("threshold@"):
            rate = float(key.removeprefix("threshold@"))
            return MEASURES["threshold_at_fpr"].of(y, s, None, None, fpr=rate)
        bound = bind(key, {})
        return bound.measure.of(y, s, None, None, **bound.parameters)
    except fastad.UndefinedMeasureError:
        return None


def defined(keys: Iterable[str], y: npt.NDArray[Any], s: npt.NDArray[Any]) -> set[str]:
    """Return the measures that are defined."""
    return {key for key in keys if in_memory(key, y, s) is not None}


def check_bounds(table: Mapping[str, BoundedValue], y: Any, s: Any) -> set[str]:
    """Check that bounds hold and exact values have the bits; return the keys that are exact."""
    exact = set()
    for key, value in table.items():
        expected = in_memory(key, y, s)
        if expected is None:
            assert not value.is_exact, key
            continue
        assert value.low <= expected <= value.high, key
        if value.is_exact:
            assert float(value.value) == float(value.low) == float(expected), key
            exact.add(key)
    return exact

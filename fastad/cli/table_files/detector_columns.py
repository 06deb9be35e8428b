"""Which columns of a file are scores of detectors, where no option names them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fastad._core.text_tables import some_of
from fastad._core.types import AnyVector
from fastad.cli._console import DataError
from fastad.cli.table_files.columnar import ArrayArchive, ArrowFile
from fastad.cli.table_files.delimited import DelimitedFile

# Names that pandas, polars and R give to what numbers the rows.
_INDEX = re.compile(r"(unnamed: \d+|__index_level_\d+__|level_\d+|index|id|rownames|)", re.I)
# Names of what tells runs apart, as `ResultTable.from_table` has them.
_RUNS = {"anomaly_class", "dataset", "fold", "group", "params", "repeat", "split"}
# So many columns are named in a message.
_NAMED = 12


@dataclass(frozen=True, slots=True)
class DetectorColumns:
    """The scores of detectors by column, and why other columns are none.

    Attributes
    ----------
    scores : mapping of str to numpy.ndarray
        Scores, in the order of the columns.
    left_out : mapping of str to str
        What each column that was left out is instead.
    """

    scores: Mapping[str, AnyVector]
    left_out: Mapping[str, str]

    def message(self, path: Path) -> str:
        """Return which columns are detectors, and which are not."""
        return f"{path}: detectors: {some_of(list(self.scores), _NAMED)}{self.reasons()}"

    def reasons(self) -> str:
        """Return the end of a message: which columns were left out."""
        reasons = [f"{name!r} ({reason})" for name, reason in self.left_out.items()]
        return f"; left out: {some_of(reasons, _NAMED)}; --score names others" if reasons else ""


def guess_detectors(
    path: Path,
    source: ArrayArchive | ArrowFile | DelimitedFile,
    others: Sequence[str],
    *,
    may_miss: bool,
) -> DetectorColumns:
    """Take the columns of numbers that are no index, no constant, and tell no runs apart.

    Parameters
    ----------
    path : Path
        The file, for messages.
    source : ArrayArchive, ArrowFile or DelimitedFile
        Its columns.
    others : sequence of str
        Columns of labels and groups.
    may_miss : bool
        Whether scores may be missing.
    """
    left_out = dict.fromkeys((name for name in source.names if name not in others), "no numbers")
    if isinstance(source, ArrayArchive):
        left_out = source.left_out(others)
    names = source.candidates(others)
    for name in source.texts(names):
        names.remove(name)
    for name in list(names):
        left_out[name] = _kind_by_name(name)
        if left_out[name]:
            names.remove(name)
    columns = source.numbers(names, names if may_miss else ()) if names else {}
    first = source.names[0]
    for name, values in columns.items():
        left_out[name] = _kind_by_values(values)
        if name == first and len(columns) > 1 and _counts_rows(values):
            left_out[name] = "an index"
    scores = {name: values for name, values in columns.items() if not left_out[name]}
    detectors = DetectorColumns(scores, {name: kind for name, kind in left_out.items() if kind})
    if not scores:
        raise DataError(
            f"{path}: there is no column of scores beside {others[0]!r}{detectors.reasons()}"
        )
    return detectors


def _kind_by_name(name: str) -> str:
    """Return what a column is by its name, other than scores."""
    if _INDEX.fullmatch(name):
        return "an index"
    return "tells runs apart" if name.lower() in _RUNS else ""


def _kind_by_values(values: AnyVector) -> str:
    """Return what a column is by its values, other than scores."""
    if values.dtype.kind == "b":
        return "true or false"
    # Not if a score is missing, which is an error later.
    return "constant" if values.size > 1 and np.all(values == values.flat[0]) else ""


def _counts_rows(values: AnyVector) -> bool:
    """Return whether values are the numbers of the rows, from 0 or 1."""
    return bool(
        values.ndim == 1
        and values.size
        and values.dtype.kind in "iuf"
        and values[0] in (0, 1)
        and np.array_equal(values, np.arange(len(values)) + values[0])
    )

"""Checks of points that come in batches, and of amounts of memory."""

import re
from fractions import Fraction
from numbers import Integral
from typing import NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly, real_vector
from fastad._core.parameters import short_repr
from fastad._core.threads import slices, thread_map
from fastad._core.types import ArrayLike, BoolVector, IntVector, Label, LabelVector
from fastad.errors import InvalidInputError
from fastad.ordering.labels import check_labels, check_scores
from fastad.ordering.raw import RawScores, view_raw
from fastad.streaming.sketches.cells import UNLABELLED

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
# A serialized sketch stores its memory in 8 bytes.
_MOST = 2**63
_SIZE = re.compile(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


class StreamedPoints(NamedTuple):
    """A batch that has been checked."""

    raw: RawScores
    kinds: LabelVector  # (n_points,) labels, or that there are none
    weights: IntVector | None  # (n_points,) weight of each point
    # Extremes of the rank bits.
    lowest: int
    highest: int
    rows: IntVector | None  # (n_points,) rows of the points in the batch; None for all rows

    @property
    def n_points(self) -> int:
        """How many points are counted."""
        return self.raw.values.shape[0] if self.weights is None else int(self.weights.sum())

    def keep(self, kept: IntVector | BoolVector) -> "StreamedPoints":
        """Return some of the points, with the extremes of all points."""
        raw = self.raw._replace(
            scores=self.raw.scores[kept], values=as_readonly(self.raw.values[kept])
        )
        weights = None if self.weights is None else self.weights[kept]
        rows = np.arange(self.kinds.shape[0]) if self.rows is None else self.rows
        return self._replace(
            raw=raw, kinds=as_readonly(self.kinds[kept]), weights=weights, rows=rows[kept]
        )

    def part(self, rows: IntVector) -> "StreamedPoints":
        """Return some of the points, at least one, as if they had come alone."""
        some = self.keep(rows)
        lowest, highest, _ = some.raw.scan()
        return some._replace(lowest=lowest, highest=highest)


def check_points(
    y_true: ArrayLike | None,
    y_score: ArrayLike | None,
    sample_weight: ArrayLike | None,
    pos_label: Label | None,
    *,
    is_labelled: bool = False,
) -> StreamedPoints | None:
    """Check points as a user gives them; None where there are none."""
    if y_true is None and is_labelled:
        raise InvalidInputError("y_true must be given; found None")
    if y_score is None:
        raise InvalidInputError("y_score must be given; found None")
    if np.size(y_score) == 0 and (y_true is None or np.size(y_true) == 0):
        return None
    shapes = {np.shape(each) for each in (y_true, y_score, sample_weight) if each is not None}
    if sample_weight is not None and len(shapes) == 1 and not np.any(sample_weight):
        # Rows of weight 0 are left out.
        return None
    if y_true is None:
        scores = real_vector(y_score, "y_score")
        labels = check_labels(np.zeros(scores.shape[0], np.uint8), sample_weight=sample_weight)
        labels.row_index.check(y_score, "y_score")
        y_score = scores
    else:
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
    if labels.weights is not None and labels.weights.dtype != np.int64:
        raise InvalidInputError(
            "sample_weight must contain integers for a sketch; found other values"
        )
    raw = view_raw(check_scores(y_score, labels))
    scans = thread_map(raw.scan, slices(raw.values.shape[0]))
    lowest, highest = min(scan[0] for scan in scans), max(scan[1] for scan in scans)
    raw.refuse_nan(lowest, highest, labels, "y_score")
    kinds = labels.values
    if y_true is None:
        kinds = as_readonly(np.full(kinds.shape[0], UNLABELLED, np.uint8))
    return StreamedPoints(raw, kinds, labels.weights, lowest, highest, labels.rows)


def check_memory(memory: object) -> int:
    """Return the bytes of an integer, or of a string such as "8MB" or "512 KiB"."""
    size = None
    if isinstance(memory, Integral) and not isinstance(memory, bool):
        size = int(memory)
    elif isinstance(memory, str) and (match := _SIZE.fullmatch(memory)):
        number, unit, binary = match.groups()
        units = _BINARY if binary else _UNITS
        if unit.lower() in units:
            size = int(Fraction(number) * units[unit.lower()])
    if size is None or not 1 <= size < _MOST:
        raise InvalidInputError(
            "memory must be a number of bytes from 1 to 2^63 - 1, or a size such as '8MB' or "
            f"'512KiB'; found {short_repr(memory)}",
            argument="memory",
        )
    return size


def shown_size(n_bytes: int) -> str:
    """Return a number of bytes in the largest unit that leaves at least 1."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"

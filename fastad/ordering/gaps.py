"""Counts at the corners of the ROC curve where anomalies are few, without sorting the normals.

The curve turns at anomalies alone. They are sorted, and each normal is counted in the gap between
two of them: by its cell, or compared with the anomalies of its cell.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.threads import slices, thread_map
from fastad._core.types import IntVector
from fastad._kernels.ordering import cell_curves, gaps, keys
from fastad.ordering.labels import Labels, refuse_missing_scores
from fastad.ordering.orders import numpy_sorts_fast, sort
from fastad.ordering.raw import RawScores

# A cell counts in 32 bits.
_MOST_SAMPLES = 2**31 - 1
# With more anomalies too many samples lie in a cell with one, and more cells than these leave a
# core's cache: how many, and which fraction, where NumPy sorts by fast instructions and where not.
_LIMITS = {True: (2**15, 0.02), False: (2**18, 0.05)}
# Fewer samples of 32 bits are sorted by fast instructions as soon as they are counted.
_FEWEST_SHORT = {True: 2**17, False: 0}
_N_SAMPLED = 2**10
_CELLS_PER_ANOMALY = 16
# More cells leave a core's second-level cache.
_MOST_CELLS = 2**19
# A map is used if it leaves at most this fraction of the samples to be compared.
_MOST_COMPARED = 0.2
# With relative widths of cells, magnitudes below this quantile share a cell.
_SMALLEST = 1 / 64


class Corners(NamedTuple):
    """Flagged normals and anomalies at the corners of the curve, from (0, 0)."""

    fps: IntVector
    tps: IntVector


class _Map(NamedTuple):
    """A map of scores to cells that never falls."""

    by_value: bool  # whether cells have equal widths in scores, or in rank bits
    base: int  # magnitudes of rank bits that are taken out around zero
    low: float  # lowest and highest anomaly
    high: float
    scale: float  # cells for each unit
    n_cells: int  # with the one below all anomalies, and the one above

    @classmethod
    def between(cls, low: float, high: float, n_cells: int, base: int | None = None) -> "_Map":
        """Return the map with so many cells of equal width, in rank bits if there is a base."""
        scale = (n_cells - 3) / (high - low) if high > low else 0.0
        return cls(base is None, base or 0, low, high, scale, n_cells)

    def cells(self, raw: RawScores) -> npt.NDArray[np.uint32]:
        """Return the cells of scores."""
        cells = np.empty(raw.values.shape[0], np.uint32)
        ends = (self.low, self.high, self.scale, self.n_cells - 1)
        if self.by_value:
            gaps.cells_of_scores(raw.scores, *ends, cells)
        else:
            gaps.cells_of_bits(raw.values, raw.largest, raw.infinity, self.base, *ends, cells)
        return cells


class _Table(NamedTuple):
    """Cells of a map, and the anomalies in them."""

    map: _Map
    starts: npt.NDArray[np.int32]  # (n_cells + 1,): anomalies in lower cells
    # (n_cells,): counts before any sample is counted; negative where there is an anomaly.
    marked: npt.NDArray[np.int32]

    @classmethod
    def of(cls, cell_map: _Map, anomalies: RawScores) -> "_Table":
        """Return the table of some anomalies."""
        cells = cell_map.cells(anomalies)
        cells.sort()
        starts = np.empty(cell_map.n_cells + 1, np.int32)
        marked = np.empty(cell_map.n_cells, np.int32)
        gaps.mark_cells(as_readonly(cells), starts, marked)
        return cls(cell_map, set_readonly(starts), set_readonly(marked))


def count_corners(raw: RawScores, labels: Labels, name: str) -> Corners | None:
    """Count at the corners in O(n) time; None where sorting all scores is as fast."""
    n_samples, n = raw.values.shape[0], labels.n_anomalies
    if raw.dtype not in (np.float64, np.float32) or n_samples > _MOST_SAMPLES:
        return None
    is_fast = numpy_sorts_fast()
    if raw.values.itemsize == 4 and n_samples < _FEWEST_SHORT[is_fast]:
        return None
    most, prevalence = _LIMITS[is_fast]
    if not 0 < n <= min(most, prevalence * n_samples):
        return None
    anomalies = raw.take(np.flatnonzero(labels.values.view(np.bool_)))
    table = _choose_table(anomalies, raw.sample(_N_SAMPLED))
    if table is None:
        return None
    points = np.empty(n, np.int64)
    keys.fall(anomalies.values, raw.largest, raw.signed, points)
    np.invert(points, out=points)
    sort(points)
    set_readonly(points)

    def place(some: slice) -> tuple[IntVector, IntVector, int]:
        counts = table.marked.copy()
        between, equal = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
        n_missing = gaps.place(
            raw.scores[some],
            raw.values[some],
            raw.largest,
            raw.infinity,
            *table.map[:-1],
            points,
            table.starts,
            counts,
            between,
            equal,
        )
        gaps.add_cells(table.starts, as_readonly(counts), between)
        return between, equal, n_missing

    parts = thread_map(place, slices(n_samples))
    of_parts, equal_in_parts, n_missing = zip(*parts, strict=True)
    if any(n_missing):
        refuse_missing_scores(raw.scores, labels, name)
    between, equal = np.sum(of_parts, axis=0), np.sum(equal_in_parts, axis=0)
    # The anomalies were counted, too: at themselves.
    first = np.flatnonzero(np.append(True, points[1:] != points[:-1]))
    equal[first] -= np.diff(first, append=n)
    fps, tps = np.empty(2 * n + 2, np.int64), np.empty(2 * n + 2, np.int64)
    size = cell_curves.write_corners(points, between, equal, n, 0, 0, 0, fps, tps)
    return Corners(as_readonly(fps[:size]), as_readonly(tps[:size]))


def _choose_table(anomalies: RawScores, sample: RawScores) -> _Table | None:
    """Return the first table that leaves few of a sample of the scores to be compared."""
    for cell_map in _maps(anomalies, sample):
        table = _Table.of(cell_map, anomalies)
        if np.mean(table.marked[cell_map.cells(sample)] < 0) <= _MOST_COMPARED:
            return table
    return None


def _maps(anomalies: RawScores, sample: RawScores) -> Iterator[_Map]:
    """Yield a map by value, and one by rank bits, for where few scores are far from all others."""
    n_cells = min(_CELLS_PER_ANOMALY * anomalies.values.shape[0] + 3, _MOST_CELLS)
    low, high = (float(end) for end in (anomalies.scores.min(), anomalies.scores.max()))
    by_value = _Map.between(low, high, n_cells)
    # Not where scores are too far from each other or too near, or NaN, refused when it is counted.
    if math.isfinite(high - low) and math.isfinite(by_value.scale):
        yield by_value
    smallest = int(_SMALLEST * sample.values.shape[0])
    base = int(np.partition(sample.values & sample.largest, smallest)[smallest])
    bits = anomalies.values.astype(np.int64)
    left = np.where(bits < 0, -1, 1) * np.maximum((bits & anomalies.largest) - base, 0)
    yield _Map.between(float(left.min()), float(left.max()), n_cells, base)

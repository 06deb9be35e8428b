"""Exact curves in memory, for which only the anomalies have to fit."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.threads import current_threads, thread_map
from fastad._core.types import IntVector
from fastad._kernels.ordering import cell_curves, rank_ranges
from fastad.ordering.orders import sort
from fastad.streaming.large_files.curves import CurveSegment
from fastad.streaming.sketches.cell_table import SHORT
from fastad.streaming.sketches.cells import ANOMALY, NORMAL
from fastad.streaming.sketches.checks import StreamedPoints

# Least and greatest batch size of normals; anomalies of a piece of the curve.
_FEWEST, _MOST = 2**11, 2**23
_PIECE = 2**17
# Anomalies and normals of a thread's part; fewer are counted sooner by one thread.
_FEWEST_ANOMALIES, _FEWEST_NORMALS, _PARTS_A_THREAD = 2**16, 2**18, 4
# Bytes for each anomaly: its score, the normals below it, and those that tie with it.
BYTES_AN_ANOMALY = 16
# Bytes for each normal that waits, and the part of the memory for them.
_BYTES_A_NORMAL = 8
_PART = 8


def most_anomalies(memory: int) -> int:
    """Return the number of anomalies that fit the memory beside the normals that wait."""
    return max(memory - _block_size(memory, memory) * _BYTES_A_NORMAL, 0) // BYTES_AN_ANOMALY


def _block_size(memory: int, n_used: int) -> int:
    """Return the batch size of normals: the free memory, or at least one eighth of the total."""
    room = max(memory - n_used, memory // _PART)
    return min(max(room // _BYTES_A_NORMAL, _FEWEST), _MOST)


class KeptAnomalies:
    """Rank bits of anomalies, as long as they are at most ``most``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._n = 0
        # The system gives memory for what is written. Freed arrays that grow would leave as much.
        self._bits: IntVector | None = np.empty(most + 1, np.int64)

    def empty(self) -> "KeptAnomalies":
        """Return an empty store of the same size."""
        return KeptAnomalies(self._most)

    def count_points(self, points: StreamedPoints) -> None:
        """Keep the anomalies among some points, or none if they are too many."""
        bits = self._with_room(int(np.count_nonzero(points.kinds == ANOMALY)))
        if bits is not None:
            raw = points.raw
            self._n = rank_ranges.take_bits(
                raw.values, points.kinds, ANOMALY, raw.largest, raw.signed, bits, self._n
            )

    def merge(self, other: "KeptAnomalies") -> None:
        """Keep others, too, or none if they are too many."""
        bits = None if other._bits is None else self._with_room(other._n)
        if bits is None or other._bits is None:
            self._bits = None
            return
        bits[self._n : self._n + other._n] = other._bits[: other._n]
        self._n += other._n

    def sorted(self) -> IntVector | None:
        """Return all of them in rising order, sorted in place; None if they were too many."""
        if self._bits is None:
            return None
        bits = self._bits[: self._n]
        sort(bits)
        return bits

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_bits": None if self._bits is None else self._bits[: self._n]}

    def _with_room(self, n: int) -> IntVector | None:
        """Return the array if ``n`` more fit into it."""
        bits = self._bits
        if bits is None or self._n + n > self._most:
            self._bits = None
        elif bits.shape[0] <= self._most:
            # It has been pickled without its free room.
            self._bits = np.empty(self._most + 1, np.int64)
            self._bits[: self._n] = bits
        return self._bits


class AnomalyRanks:
    """Numbers of normals between the anomalies, on which area and precision depend.

    ``anomalies`` are their rising rank bits; the number of points to count decides on the width of
    the counts, and ``memory`` are the bytes for all of it.
    """

    def __init__(self, anomalies: IntVector, n_points: int, memory: int) -> None:
        self._memory = memory
        self._anomalies = as_readonly(anomalies)
        dtype = np.uint32 if n_points < SHORT else np.int64
        self._between: npt.NDArray[Any] = np.zeros(anomalies.shape[0] + 1, dtype)
        self._equal: npt.NDArray[Any] = np.zeros(anomalies.shape[0], dtype)
        # Rank bits of normals that wait; made when the first ones come.
        self._waiting = np.empty(0, np.int64)
        self._n_waiting = 0

    def empty(self) -> "AnomalyRanks":
        """Return an empty counter around the same anomalies, for other normals."""
        n_points = SHORT if self._between.dtype == np.int64 else 0
        return AnomalyRanks(self._anomalies, n_points, self._memory)

    def count_points(self, points: StreamedPoints) -> None:
        """Count the normals among some points; they wait until there are many."""
        if self._waiting.shape[0] == 0:
            n_used = self._anomalies.shape[0] * BYTES_AN_ANOMALY
            self._waiting = np.empty(_block_size(self._memory, n_used), np.int64)
        raw, start = points.raw, 0
        while start < points.kinds.shape[0]:
            if self._n_waiting == self._waiting.shape[0]:
                self._flush()
            rows = slice(start, start + self._waiting.shape[0] - self._n_waiting)
            self._n_waiting = rank_ranges.take_bits(
                raw.values[rows],
                points.kinds[rows],
                NORMAL,
                raw.largest,
                raw.signed,
                self._waiting,
                self._n_waiting,
            )
            start = rows.stop

    def merge(self, other: "AnomalyRanks") -> None:
        """Add the normals that were counted apart, around the same anomalies."""
        other._flush()
        self._flush()
        self._between += other._between
        self._equal += other._equal

    def __getstate__(self) -> dict[str, Any]:
        self._flush()
        return self.__dict__

    def pieces(self) -> Iterator[CurveSegment]:
        """Yield the curve from the highest scores down."""
        self._flush()
        self._waiting = np.empty(0, np.int64)
        start, fp, tp = self._anomalies.shape[0], 0, 0
        while start > 0:
            stop = max(start - _PIECE, 0)
            if stop:
                # Down to the end of a tie.
                stop = int(np.searchsorted(self._anomalies, self._anomalies[stop], side="left"))
            fps, tps = (np.empty(2 * (start - stop) + 2, np.int64) for _ in range(2))
            n = cell_curves.write_corners(
                self._anomalies, self._between, self._equal, start, stop, fp, tp, fps, tps
            )
            piece = CurveSegment(as_readonly(fps[:n]), as_readonly(tps[:n]))
            yield piece
            fp, tp = int(piece.fps[-1]), int(piece.tps[-1])
            start = stop

    def _flush(self) -> None:
        """Count the normals that wait; sorts them in place."""
        anomalies, normals = self._anomalies, self._waiting[: self._n_waiting]
        self._n_waiting = 0
        if not normals.shape[0]:
            return
        _sort_in_parts(normals)
        n_parts = _n_parts(anomalies.shape[0], _FEWEST_ANOMALIES)
        # Each part begins with the first anomaly of a tie.
        starts = anomalies.searchsorted(anomalies[_cuts(anomalies.shape[0], n_parts)])
        bounds = sorted({0, *starts.tolist(), anomalies.shape[0]})
        cuts = [0, *normals.searchsorted(anomalies[bounds[1:-1]]).tolist(), normals.shape[0]]

        def count(i: int) -> None:
            some = slice(bounds[i], bounds[i + 1])
            rank_ranges.count_between(
                anomalies[some],
                as_readonly(normals[cuts[i] : cuts[i + 1]]),
                self._between[some.start : some.stop + 1],
                self._equal[some],
            )

        thread_map(count, range(len(bounds) - 1))


def _sort_in_parts(numbers: IntVector) -> None:
    """Sort in place, in several threads."""
    size = numbers.shape[0]
    inner = _cuts(size, min(_n_parts(size, _FEWEST_NORMALS), current_threads()))
    if inner:
        numbers.partition(inner)
    thread_map(sort, [numbers[start:stop] for start, stop in pairwise([0, *inner, size])])


def _n_parts(size: int, fewest: int) -> int:
    return max(min(_PARTS_A_THREAD * current_threads(), size // fewest), 1)


def _cuts(size: int, n_parts: int) -> list[int]:
    """Return where parts of one size meet."""
    return [size * i // n_parts for i in range(1, n_parts)]

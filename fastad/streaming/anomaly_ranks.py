"""Exact curves of scores of which only the anomalies fit in memory."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.threads import thread_map
from fastad._core.types import IntVector
from fastad._kernels.curves import area
from fastad._kernels.ordering import cells as kernels
from fastad.measures.points import twice_area
from fastad.ordering.orders import sort
from fastad.streaming.cell_table import SHORT

# Normals that are sorted together, at least and at most, and anomalies of a piece of the curve.
_FEWEST, _MOST = 2**10, 2**21
_PIECE = 2**19
# Bytes for each anomaly: its score, the normals below it, and those that tie with it.
BYTES_AN_ANOMALY = 16
# Bytes for each normal of a block: two blocks wait for one another and are then sorted together.
_BYTES_OF_BLOCKS = 4 * 8
# This part of the memory is for blocks.
_PART = 4


def block_size(memory: int) -> int:
    """Return how many normals are sorted together in so many bytes for all."""
    return min(max(memory // (_PART * _BYTES_OF_BLOCKS), _FEWEST), _MOST)


def most_anomalies(memory: int) -> int:
    """Return how many anomalies fit into so many bytes beside the blocks."""
    return max(memory - block_size(memory) * _BYTES_OF_BLOCKS, 0) // BYTES_AN_ANOMALY


class Piece(NamedTuple):
    """Corners of a curve, from above down; the first is the last one of the piece before."""

    fps: IntVector
    tps: IntVector


class AnomalyRanks:
    """The normals between all anomalies: what the area and the precision of a curve depend on.

    Parameters
    ----------
    anomalies : numpy.ndarray of shape (n,)
        Rising rank bits of the anomalies.
    n_points : int
        Points that there are to count, which decides on the width of the counts.
    memory : int
        Bytes for all of it.
    """

    def __init__(self, anomalies: IntVector, n_points: int, memory: int) -> None:
        self._memory = memory
        self._block = block_size(memory)
        self._anomalies = as_readonly(anomalies)
        dtype = np.uint32 if n_points < SHORT else np.int64
        self._between: npt.NDArray[Any] = np.zeros(anomalies.shape[0] + 1, dtype)
        self._equal: npt.NDArray[Any] = np.zeros(anomalies.shape[0], dtype)
        self._waiting: list[IntVector] = []
        self._n_waiting = 0

    def empty(self) -> "AnomalyRanks":
        """Return what counts other normals around the same anomalies."""
        n_points = SHORT if self._between.dtype == np.int64 else 0
        return AnomalyRanks(self._anomalies, n_points, self._memory)

    def count(self, normals: IntVector) -> None:
        """Count normals, given by their rank bits; blocks are sorted in threads."""
        for start in range(0, normals.shape[0], self._block):
            block = normals[start : start + self._block]
            self._waiting.append(block)
            self._n_waiting += block.shape[0]
            if self._n_waiting >= 2 * self._block:
                self._flush()

    def merge(self, other: "AnomalyRanks") -> None:
        """Add the normals that were counted apart, around the same anomalies."""
        other._flush()
        self._flush()
        self._between += other._between
        self._equal += other._equal

    def __getstate__(self) -> dict[str, Any]:
        self._flush()
        return self.__dict__

    def pieces(self, fp: int = 0, tp: int = 0) -> Iterator[Piece]:
        """Yield the curve below what has been flagged, from above down."""
        self._flush()
        start = self._anomalies.shape[0]
        if start == 0:
            yield Piece(np.array([fp, fp + int(self._between[0])]), np.array([tp, tp]))
        while start > 0:
            stop = max(start - _PIECE, 0)
            if stop:
                # Down to the end of a tie.
                stop = int(np.searchsorted(self._anomalies, self._anomalies[stop], side="left"))
            fps, tps = (np.empty(2 * (start - stop) + 2, np.int64) for _ in range(2))
            n = kernels.write_corners(
                self._anomalies, self._between, self._equal, start, stop, fp, tp, fps, tps
            )
            piece = Piece(as_readonly(fps[:n]), as_readonly(tps[:n]))
            yield piece
            fp, tp = int(piece.fps[-1]), int(piece.tps[-1])
            start = stop

    def _flush(self) -> None:
        if not self._n_waiting:
            return
        together = np.concatenate(self._waiting)
        self._waiting.clear()
        self._n_waiting = 0
        middle = together.shape[0] // 2
        blocks = [together[:middle], together[middle:]] if middle else [together]
        thread_map(sort, blocks)
        for block in blocks:
            kernels.count_between(self._anomalies, as_readonly(block), self._between, self._equal)


class AreaSums:
    """The area under a curve and its average precision, piece after piece.

    Both have the bits that they would have in memory: areas are integers, and precisions are added
    in the same order.
    """

    def __init__(self) -> None:
        self.twice_area = 0
        self.fp = self.tp = 0
        self._total = self._lost = 0.0

    def add(self, piece: Piece) -> None:
        """Go on along the curve."""
        fps, tps = piece
        self.twice_area += int(twice_area(fps, tps, 0, fps.shape[0] - 1))
        self._total, self._lost = area.precision_sum_from(fps, tps, self._total, self._lost)
        self.fp, self.tp = int(fps[-1]), int(tps[-1])

    @property
    def roc_auc(self) -> float:
        """Area under the curve."""
        return self.twice_area / (2 * self.fp * self.tp)

    @property
    def average_precision(self) -> float:
        """Average precision."""
        return (self._total + self._lost) / self.tp

"""Exact curves of scores that do not fit in memory: sorted range by range on disk."""

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.files import temporary_folder
from fastad._core.types import IntVector
from fastad._kernels.ordering import cell_curves, rank_ranges
from fastad.ordering.orders import sort
from fastad.streaming.large_files.curves import CurveSegment
from fastad.streaming.sketches.cell_table import CellTable
from fastad.streaming.sketches.cells import ANOMALY, NORMAL, CellCounts, ScoreCells
from fastad.streaming.sketches.checks import StreamedPoints

# Bytes that a point takes while its range is sorted.
BYTES_A_POINT = 32
# Bytes that are gathered before they are written, at most.
_GATHERED = 2**25
_READ = 2**20
# Bytes of the rank bits of a score.
_BYTES = 8


@contextmanager
def spill_folder(folder: Path | None) -> Iterator[Path]:
    """Make a folder that is removed whatever happens; name its parent where the disk is full."""
    where = folder or Path(tempfile.gettempdir())
    with temporary_folder(where, "fastad-spill") as path:
        try:
            yield path
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise OSError(
                error.errno,
                f"the disk of {where} is full; scores that do not fit the memory are written "
                "there. Nothing is left of them. Give another folder, or more memory",
            ) from None


class SpilledScores:
    """Points in files by ranges of their scores, each of which can be sorted in memory.

    With ``corners`` the curve has no point between two anomalies, so that less of it is kept.
    """

    def __init__(self, cells: ScoreCells, folder: Path, memory: int, *, corners: bool) -> None:
        self._cells = cells
        self._corners = corners
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self._memory = memory
        self._starts = _range_starts(cells, max(memory // BYTES_A_POINT, 1))
        self._ends = np.append(self._starts[1:], cells.lowest.shape[0])
        # Rising lowest rank bits of the ranges, which fall.
        self._lows = cells.lowest[self._ends - 1][::-1]
        # The counts of a range of one score are enough.
        self._is_tie = cells.lowest[self._ends - 1] == cells.highest[self._starts]
        self._gathered: dict[tuple[int, int], list[IntVector]] = {}
        self._n_gathered = 0

    def count_points(self, points: StreamedPoints) -> None:
        """Write points to the files of their ranges."""
        raw, kinds = points.raw, points.kinds
        for kind in (NORMAL, ANOMALY):
            # One more than there are: rows of the other kind are written there, too.
            bits = np.empty(np.count_nonzero(kinds == kind) + 1, np.int64)
            n = rank_ranges.take_bits(raw.values, kinds, kind, raw.largest, raw.signed, bits, 0)
            self._add(bits[:n], kind)

    def pieces(self) -> Iterator[CurveSegment]:
        """Yield the curve from the highest scores down."""
        self._write()
        fp = tp = 0
        ranges = zip(self._starts.tolist(), self._ends.tolist(), strict=True)
        for index, (start, end) in enumerate(ranges):
            for piece in self._pieces_of(index, slice(start, end), fp, tp):
                yield piece
                fp, tp = int(piece.fps[-1]), int(piece.tps[-1])
            for kind in (NORMAL, ANOMALY):
                self._path(index, kind).unlink(missing_ok=True)

    def _add(self, bits: IntVector, kind: int) -> None:
        """Write rank bits of points of one class; sorts them in place."""
        if self._lows.shape[0] > 1:
            sort(bits)
        ends = np.append(np.searchsorted(bits, self._lows[1:]), bits.shape[0])
        start = 0
        for position, end in enumerate(ends.tolist()):
            index = self._lows.shape[0] - 1 - position
            if end > start and not self._is_tie[index]:
                self._gathered.setdefault((index, kind), []).append(bits[start:end])
            start = end
        self._n_gathered += bits.nbytes
        if self._n_gathered >= min(_GATHERED, self._memory):
            self._write()

    def _pieces_of(self, index: int, some: slice, fp: int, tp: int) -> Iterator[CurveSegment]:
        cells = self._cells
        n_normals, n_anomalies = int(cells.normals[some].sum()), int(cells.anomalies[some].sum())
        if self._is_tie[index]:
            key = ~cells.lowest[some][:1]
            yield CurveSegment(
                np.array([fp, fp + n_normals]), np.array([tp, tp + n_anomalies]), key
            )
            return
        self._check_number(index, NORMAL, n_normals)
        self._check_number(index, ANOMALY, n_anomalies)
        n_points = n_normals + n_anomalies
        if n_points * BYTES_A_POINT > self._memory:
            yield from self._of_wide_cell(index, fp, tp)
            return
        anomalies, normals = self._read(index, ANOMALY), self._read(index, NORMAL)
        sort(anomalies)
        sort(normals)
        keys, fps, tps = (np.empty(size, np.int64) for size in (n_points, *2 * (n_points + 1,)))
        n = cell_curves.write_points(
            as_readonly(anomalies), as_readonly(normals), fp, tp, self._corners, keys, fps, tps
        )
        yield CurveSegment(as_readonly(fps[: n + 1]), as_readonly(tps[: n + 1]), keys[:n])

    def _of_wide_cell(self, index: int, fp: int, tp: int) -> Iterator[CurveSegment]:
        """Split a single cell with too many points again."""
        table = CellTable(self._memory)
        lowest, highest = 2**63 - 1, -(2**63)
        for bits, kind in self._blocks(index):
            kinds = np.full(bits.shape[0], kind, np.uint8)
            table.plus(CellCounts.of(bits >> table.shift, kinds, None, table.shift))
            lowest, highest = min(lowest, int(bits.min())), max(highest, int(bits.max()))
        finer = ScoreCells.of(table.listed(), lowest, highest, self._cells.codec)
        folder = self._folder / f"{index}"
        inner = SpilledScores(finer, folder, self._memory, corners=self._corners)
        for bits, kind in self._blocks(index):
            inner._add(bits, kind)
        for piece in inner.pieces():
            yield piece._replace(fps=piece.fps + fp, tps=piece.tps + tp)

    def _write(self) -> None:
        for (index, kind), parts in self._gathered.items():
            with self._path(index, kind).open("ab") as file:
                for part in parts:
                    file.write(np.ascontiguousarray(part).data)
        self._gathered.clear()
        self._n_gathered = 0

    def _path(self, index: int, kind: int) -> Path:
        return self._folder / f"{index}.{kind}"

    def _check_number(self, index: int, kind: int, n_points: int) -> None:
        """Refuse other scores than were counted: services that empty folders may remove some."""
        path = self._path(index, kind)
        found = path.stat().st_size // _BYTES if path.exists() else 0
        if found != n_points:
            raise OSError(
                f"{path} must contain the {n_points} scores that were counted before; found "
                f"{found}: something else changes this folder, or what is read"
            )

    def _read(self, index: int, kind: int) -> IntVector:
        path = self._path(index, kind)
        return np.fromfile(path, np.int64) if path.exists() else np.empty(0, np.int64)

    def _blocks(self, index: int) -> Iterator[tuple[IntVector, int]]:
        """Read the points of a range part by part, with their class."""
        for kind in (NORMAL, ANOMALY):
            path = self._path(index, kind)
            if path.exists():
                with path.open("rb") as file:
                    while (bits := np.fromfile(file, np.int64, _READ)).shape[0]:
                        yield bits, kind


def _range_starts(cells: ScoreCells, most: int) -> IntVector:
    """Return the first cells of ranges with at most ``most`` points, or of a single cell."""
    sizes = cells.normals + cells.anomalies
    starts = [0]
    # Cells are many, ranges few: each is found by a search in the sums.
    sums = np.cumsum(sizes)
    while True:
        first = starts[-1]
        n_before = int(sums[first - 1]) if first else 0
        end = max(int(np.searchsorted(sums, n_before + most, side="right")), first + 1)
        if end >= sizes.shape[0]:
            return np.array(starts, np.int64)
        starts.append(end)

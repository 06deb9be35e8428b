"""`CellCounts`: the cells with a point, listed with the numbers of points in them."""

from typing import NamedTuple

import numpy as np

from fastad._core.types import IntMatrix, IntVector, LabelVector
from fastad.ordering.orders import sort

# Columns of the counts: normal samples, anomalies, points without a label yet.
NORMAL, ANOMALY, UNLABELLED = 0, 1, 2

N_KINDS = 3


class CellCounts(NamedTuple):
    """Cells with a point, in rising order, and the numbers of points in them.

    Attributes
    ----------
    cells : numpy.ndarray of shape (n_cells,)
        Rank bits without the lowest ``shift`` ones.
    counts : numpy.ndarray of shape (n_cells, 3)
        Normal samples, anomalies, points without a label.
    shift : int
        Number of lowest bits that are dropped; with 0, a cell is a single score.
    """

    cells: IntVector
    counts: IntMatrix
    shift: int

    @property
    def n_points(self) -> int:
        """Number of points in all cells."""
        return int(self.counts.sum())

    @classmethod
    def of(
        cls, cells: IntVector, kinds: LabelVector, weights: IntVector | None, shift: int
    ) -> "CellCounts":
        """Count points, each given by its cell."""
        if weights is not None:
            counts = np.zeros((cells.shape[0], N_KINDS), np.int64)
            counts[np.arange(cells.shape[0]), kinds] = weights
            return _added_up(cells, counts, shift)
        # Values are sorted in a tenth of the time that positions are.
        of_kinds = [_of_one_kind(cells[kinds == kind], kind) for kind in range(N_KINDS)]
        return _added_up(
            np.concatenate([distinct for distinct, _ in of_kinds]),
            np.concatenate([counts for _, counts in of_kinds]),
            shift,
        )

    def coarsened(self, n_bits: int) -> "CellCounts":
        """Return the counts in cells that drop ``n_bits`` more bits."""
        if n_bits == 0:
            return self
        return _added_up(self.cells >> n_bits, self.counts, self.shift + n_bits)

    def plus(self, other: "CellCounts") -> "CellCounts":
        """Return the counts of both, at the coarser of their resolutions."""
        shift = max(self.shift, other.shift)
        both = [each.coarsened(shift - each.shift) for each in (self, other)]
        return _added_up(
            np.concatenate([each.cells for each in both]),
            np.concatenate([each.counts for each in both]),
            shift,
        )


def _of_one_kind(cells: IntVector, kind: int) -> tuple[IntVector, IntMatrix]:
    """Return the distinct cells of points of one kind, and their counts; cells are sorted here."""
    sort(cells)
    firsts = np.flatnonzero(np.concatenate([cells[:1] == cells[:1], cells[1:] != cells[:-1]]))
    counts = np.zeros((firsts.shape[0], N_KINDS), np.int64)
    counts[:, kind] = np.diff(firsts, append=cells.shape[0])
    return cells[firsts], counts


def _added_up(cells: IntVector, counts: IntMatrix, shift: int) -> CellCounts:
    """Add up what lies in the same cell."""
    if cells.shape[0] == 0:
        return CellCounts(cells, counts, shift)
    if np.any(cells[1:] < cells[:-1]):
        order = np.argsort(cells, kind="stable")
        cells, counts = cells[order], counts[order]
    firsts = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    return CellCounts(cells[firsts], np.add.reduceat(counts, firsts, axis=0), shift)

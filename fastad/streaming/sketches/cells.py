"""Cells of scores: the numbers of points in them, and the curves that these allow."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.types import BoolVector, Count, CountVector, IntMatrix, IntVector, LabelVector
from fastad._kernels.ordering import cell_curves
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.orders import sort
from fastad.ordering.raw import KeyCodec

# Columns of the counts: normal samples, anomalies, points without a label yet.
NORMAL, ANOMALY, UNLABELLED = 0, 1, 2

N_KINDS = 3


class CellCounts(NamedTuple):
    """Cells with a point, in rising order, and the numbers of points in them."""

    cells: IntVector  # (n_cells,) rank bits without the lowest ``shift`` ones
    counts: IntMatrix  # (n_cells, 3) normal samples, anomalies, points without a label
    shift: int  # number of lowest bits that are dropped; with 0, a cell is a single score

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


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCells:
    """Labelled points in ranges of scores, from the highest down; ranges do not overlap."""

    # (n_cells,) rank bits of the ends of each range; both are the same where all points have one
    # score.
    lowest: IntVector
    highest: IntVector
    # (n_cells,) numbers of points, or their total weights (float64).
    normals: CountVector
    anomalies: CountVector
    codec: KeyCodec  # decodes rank bits to scores
    joined: bool = False  # whether ranges of unlike ends were joined to wider ones

    @classmethod
    def of(cls, listed: CellCounts, lowest: int, highest: int, codec: KeyCodec) -> "ScoreCells":
        """Return the cells of a table, cut to the lowest and highest rank bits."""
        labelled = listed.counts[:, NORMAL] + listed.counts[:, ANOMALY] > 0
        cells = listed.cells[labelled][::-1]
        counts = listed.counts[labelled][::-1]
        first = cells << listed.shift
        last = first | ((1 << listed.shift) - 1)
        return cls(
            set_readonly(np.maximum(first, lowest)),
            set_readonly(np.minimum(last, highest)),
            set_readonly(np.ascontiguousarray(counts[:, NORMAL])),
            set_readonly(np.ascontiguousarray(counts[:, ANOMALY])),
            codec,
        )

    @classmethod
    def joining(
        cls,
        lowest: IntVector,
        highest: IntVector,
        normals: CountVector,
        anomalies: CountVector,
        codec: KeyCodec,
    ) -> "ScoreCells":
        """Return cells of ranges in any order, of which those that overlap become one."""
        # By all columns: the last digit of a sum of real weights depends on its order.
        order = np.lexsort((anomalies, normals, highest, lowest))
        lowest, highest = lowest[order], highest[order]
        reach = np.maximum.accumulate(highest)
        is_first = np.ones(lowest.shape[0], np.bool_)
        is_first[1:] = lowest[1:] > reach[:-1]
        firsts = np.flatnonzero(is_first)
        lows, highs = lowest[firsts], np.maximum.reduceat(highest, firsts)
        of = np.cumsum(is_first) - 1
        unlike = (lowest != lows[of]) | (highest != highs[of])
        normals, anomalies = (
            np.add.reduceat(counts[order], firsts) for counts in (normals, anomalies)
        )
        lows, highs, normals, anomalies = (
            set_readonly(each[::-1].copy()) for each in (lows, highs, normals, anomalies)
        )
        return cls(lows, highs, normals, anomalies, codec, joined=bool(unlike.any()))

    @property
    def n_points(self) -> Count:
        """Number of points in all cells, or their total weight."""
        total: Count = (self.normals.sum() + self.anomalies.sum()).item()
        return total

    @property
    def is_real(self) -> bool:
        """Whether points have real weights, so that their number is not known."""
        return self.normals.dtype.kind == "f"

    @property
    def class_sizes(self) -> tuple[int, int]:
        """Numbers of anomalies and normals; of real weights at least one point in each cell."""
        size = np.count_nonzero if self.is_real else np.sum
        return int(size(self.anomalies)), int(size(self.normals))

    @property
    def ties(self) -> BoolVector:
        """Which cells are a single score."""
        ties: BoolVector = self.lowest == self.highest
        return ties

    def uncertain(self, *, values: bool) -> IntVector:
        """Return the cells whose scores are not known, or only those whose order is not."""
        known = not (values or self.is_real)
        ordered = self.normals + self.anomalies == 1 if known else np.False_
        return np.flatnonzero(~(self.ties | ordered))

    @property
    def best(self) -> OrderedCounts:
        """Counts where cells have their anomalies at the highest score, normals at the lowest."""
        return self._arranged(self.lowest, self.highest, anomalies_first=True)

    @property
    def worst(self) -> OrderedCounts:
        """Counts where cells have their normals at the highest score, anomalies at the lowest."""
        return self._arranged(self.lowest, self.highest, anomalies_first=False)

    @property
    def tied(self) -> OrderedCounts:
        """Counts where all points of a cell have its lowest score: at it, they are exact."""
        return self._arranged(self.lowest, self.lowest)

    @property
    def tied_highest(self) -> OrderedCounts:
        """Counts where all points of a cell have its highest score."""
        return self._arranged(self.highest, self.highest)

    def as_ties(self, chosen: BoolVector) -> "ScoreCells":
        """Return the cells, of which some are taken to be single scores."""
        return replace(self, highest=as_readonly(np.where(chosen, self.lowest, self.highest)))

    def only(self, kept: BoolVector) -> "ScoreCells":
        """Return some of the cells."""
        return ScoreCells(
            set_readonly(self.lowest[kept]),
            set_readonly(self.highest[kept]),
            set_readonly(self.normals[kept]),
            set_readonly(self.anomalies[kept]),
            self.codec,
            self.joined,
        )

    def cut(self, lowest: int, highest: int) -> "ScoreCells":
        """Return the cells without what lies beyond rank bits; cells wholly beyond stay."""
        low, high = np.maximum(self.lowest, lowest), np.minimum(self.highest, highest)
        beyond = low > high
        return replace(
            self,
            lowest=as_readonly(np.where(beyond, self.lowest, low)),
            highest=as_readonly(np.where(beyond, self.highest, high)),
        )

    def plus(self, other: "ScoreCells") -> "ScoreCells":
        """Return the points of both; ranges that overlap become one."""
        sum_of = ScoreCells.joining(
            np.concatenate([self.lowest, other.lowest]),
            np.concatenate([self.highest, other.highest]),
            np.concatenate([self.normals, other.normals]),
            np.concatenate([self.anomalies, other.anomalies]),
            self.codec,
        )
        return replace(sum_of, joined=sum_of.joined or self.joined or other.joined)

    def _arranged(
        self, lowest: IntVector, highest: IntVector, *, anomalies_first: bool = True
    ) -> OrderedCounts:
        n_cells = lowest.shape[0]
        keys = np.empty(2 * n_cells, np.int64)
        fps, tps = np.empty((2, 2 * n_cells + 1), self.normals.dtype)
        points = cell_curves.arrange(
            lowest, highest, self.normals, self.anomalies, anomalies_first, keys, fps, tps
        )
        n_normals, n_anomalies = fps[points].item(), tps[points].item()
        sizes = self.normals + self.anomalies
        return OrderedCounts(
            fps=set_readonly(fps[: points + 1]),
            tps=set_readonly(tps[: points + 1]),
            keys=set_readonly(keys[:points]),
            codec=self.codec,
            n_anomalies=n_anomalies,
            n_normals=n_normals,
            # Of real weights at least one point in each cell.
            n_points=n_cells if self.is_real else n_normals + n_anomalies,
            n_tied=0 if self.is_real else int(sizes[sizes > 1].sum()),
            weighting="real" if self.is_real else "none",
        )

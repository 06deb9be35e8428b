"""`CellTable`: counts of scores in cells, in as little memory as it is given.

Of all resolutions the table has the finest one at which its cells fit the memory. What fits
depends on the points alone, and no further point makes room: so a resolution that has been left
is never right again, and the state does not depend on the order in which points came.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.threads import current_threads, thread_map
from fastad._core.types import IntMatrix, IntVector, LabelVector
from fastad._kernels.ordering import cells as kernels
from fastad._kernels.ordering import keys
from fastad.errors import InvalidInputError
from fastad.ordering.raw import RawScores
from fastad.streaming.sketches.cells import ANOMALY, N_KINDS, NORMAL, UNLABELLED, CellCounts

# Bits of a page: a single cell while few cells have a point, 64 where most have one.
_PAGE_BITS = (0, 6)
# Bytes of an entry of the directory (a page and its slot) and of a page's number.
_ENTRY, _PAGE = 16, 8
# Dropping all bits but the sign leaves two cells, whatever the scores. Shifts by 64 are undefined.
_MOST_DROPPED = 63
# Counts of 32 bits are for fewer points than this.
SHORT = 2**32
MOST_POINTS = 2**62
_FEWEST_SLOTS = 64
# Rows of a thread between two entries of new pages; fewer at first, when all pages are new.
_FIRST_ROWS, _MOST_ROWS = 2**12, 2**20
# The first rows that are sorted at once, for each cell that fits.
_BEGIN = 2
# Fewer rows are counted sooner by one thread. More threads would take more memory than it is worth.
_ROWS_A_THREAD, _MOST_THREADS = 2**19, 8
_NO_WEIGHTS = as_readonly(np.empty(0, np.int64))


class CellTable:
    """Counts in cells, found by hashing, in pages of one cell or of many.

    ``memory`` bounds the bytes for labelled points, and suffices for two cells. Points without a
    label take half as much again while there are any, and each further thread takes as much again
    while it counts.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.shift = 0
        self.n_points = 0
        self._page_bits = _PAGE_BITS[0]
        self._of_threads: list[npt.NDArray[Any]] = []
        # What `_allocate` makes: pages by slot, where to find them, and their counts.
        self._n_pages: int
        self._pages: IntVector
        self._directory: IntMatrix
        self._counts: npt.NDArray[Any]
        self._allocate(min(_FEWEST_SLOTS, self._most_pages(self._page_bits)), UNLABELLED)

    def __reduce__(self) -> tuple[Any, ...]:
        return CellTable.of, (self.memory, self.listed())

    @classmethod
    def of(cls, memory: int, listed: CellCounts) -> "CellTable":
        """Return a table of what another one with as much memory listed."""
        table = cls(memory)
        table.plus(listed)
        return table

    def copy(self) -> "CellTable":
        """Return a table of the same points that changes by itself."""
        table = CellTable.__new__(CellTable)
        vars(table).update(vars(self))
        table._of_threads = []
        table._pages, table._directory = self._pages.copy(), self._directory.copy()
        table._counts = self._counts.copy()
        return table

    @staticmethod
    def most_cells(memory: int) -> int:
        """Return the least number of cells that fit the memory; two are the coarsest resolution."""
        return _most_pages(memory, 0, short=False)

    @property
    def nbytes(self) -> int:
        """Bytes that the table takes now."""
        return self._directory.nbytes + self._pages.nbytes + self._counts.nbytes

    def check_room(self, n_points: int, argument: str) -> None:
        """Refuse further points if their number would not fit into the counts."""
        if self.n_points + n_points >= MOST_POINTS:
            raise InvalidInputError(
                f"{argument} must leave fewer than 2^62 points in all; found "
                f"{self.n_points + n_points}",
                argument=argument,
            )

    def add(self, raw: RawScores, kinds: LabelVector, weights: IntVector | None) -> None:
        """Count points, whose scores are numbers; O(n) for n of them."""
        self._expect(raw.values.shape[0] if weights is None else int(weights.sum()))
        self._add(raw, kinds, weights)

    def coarsen_to(self, shift: int) -> None:
        """Coarsen to at least ``shift`` dropped bits."""
        if shift > self.shift:
            listed = self.listed().coarsened(shift - self.shift)
            self.shift = shift
            if self._n_pages:
                self._rebuild(listed)

    def add_table(self, other: "CellTable", weight: int) -> None:
        """Add the points of a table that is not coarser, each ``weight`` times.

        It takes a tenth of the time of `plus`, where most pages are there.
        """
        if self.n_points == 0 and weight == 1 and self.shift <= other.shift:
            vars(self).update(vars(other.copy()))
            return
        self._expect(other.n_points * weight)
        pages = as_readonly(other._pages[: other._n_pages])
        size = N_KINDS * other._counts.shape[0]
        bits, weights = np.empty(size, np.int64), np.empty(size, np.int64)
        kinds = np.empty(size, np.uint8)
        for first, last in ((NORMAL, ANOMALY), (UNLABELLED, UNLABELLED)):
            if last >= other._counts.shape[1]:
                continue
            if last == UNLABELLED:
                self._have_column_of_unlabelled()
            n_missing = kernels.add_table(
                pages,
                other._counts,
                other._page_bits,
                other.shift,
                first,
                last,
                weight,
                self.shift,
                self._page_bits,
                self._directory,
                self._counts,
                bits,
                kinds,
                weights,
            )
            if n_missing:
                some = as_readonly(bits[:n_missing])
                # Rank bits are integers that stand for themselves.
                raw = RawScores(some, some, -1, 0, 2**63)
                self._add(raw, as_readonly(kinds[:n_missing]), as_readonly(weights[:n_missing]))

    def _add(self, raw: RawScores, kinds: LabelVector, weights: IntVector | None) -> None:
        n_rows = raw.values.shape[0]
        start = self._begin(raw, kinds, weights) if self._n_pages == 0 else 0
        if n_rows and kinds[0] == UNLABELLED:
            self._have_column_of_unlabelled()
        n_threads = max(1, min(n_rows // _ROWS_A_THREAD, _MOST_THREADS))
        if n_threads > 1:
            n_threads = min(current_threads(), n_threads)
        size = _FIRST_ROWS
        while start < n_rows:
            stop = min(start + size * n_threads, n_rows)
            bounds = [start + (stop - start) * i // n_threads for i in range(n_threads + 1)]
            while len(self._of_threads) < n_threads - 1:
                self._of_threads.append(np.zeros_like(self._counts))

            def count(i: int, bounds: list[int] = bounds) -> IntVector:
                rows = slice(bounds[i], bounds[i + 1])
                counts = self._of_threads[i - 1] if i else self._counts
                return self._count(raw, kinds, weights, rows, counts) + bounds[i]

            missing = np.concatenate(thread_map(count, range(n_threads)))
            if missing.shape[0]:
                self._count_missing(raw, kinds, weights, missing)
            start = stop
            size = min(4 * size, _MOST_ROWS)
        self._gather()

    def plus(self, other: CellCounts) -> None:
        """Add the counts of another table."""
        self._expect(other.n_points)
        is_first = self._n_pages == 0 and self.shift <= other.shift
        self._rebuild(other if is_first else self.listed().plus(other))

    def label(self, raw: RawScores, kinds: LabelVector, weights: IntVector | None) -> IntVector:
        """Move points without a label to their class; return the rows for which there are none.

        If there is such a row, nothing is moved.
        """
        labelled, positions, unknown = self._waiting(raw, kinds, weights)
        if not unknown.shape[0]:
            counts = self._counts
            for kind in (NORMAL, ANOMALY):
                counts[positions, kind] += labelled.counts[:, kind].astype(counts.dtype)
            counts[positions, UNLABELLED] -= labelled.counts.sum(axis=1).astype(counts.dtype)
        return unknown

    def unknown(self, raw: RawScores, kinds: LabelVector, weights: IntVector | None) -> IntVector:
        """Return the rows for which there are no points without a label; nothing is moved."""
        return self._waiting(raw, kinds, weights)[2]

    def _waiting(
        self, raw: RawScores, kinds: LabelVector, weights: IntVector | None
    ) -> tuple[CellCounts, IntVector, IntVector]:
        """Return the counts of late labels, the positions of their cells, and the excess rows."""
        labelled = CellCounts.of(self._cells_of(raw), kinds, weights, self.shift)
        positions = np.empty(labelled.cells.shape[0], np.int64)
        kernels.find_cells(as_readonly(labelled.cells), self._page_bits, self._directory, positions)
        moved = labelled.counts.sum(axis=1)
        waiting = np.zeros(moved.shape[0], np.int64)
        if self._counts.shape[1] == N_KINDS:
            there = positions >= 0
            waiting[there] = self._counts[positions[there], UNLABELLED]
        too_many = labelled.cells[waiting < moved]
        unknown = np.empty(0, np.int64)
        if too_many.shape[0]:
            unknown = np.flatnonzero(np.isin(self._cells_of(raw), too_many))
        return labelled, positions, unknown

    def listed(self) -> CellCounts:
        """Return the cells with a point."""
        slots = as_readonly(np.argsort(self._pages[: self._n_pages]))
        cells = np.empty(self._n_pages << self._page_bits, np.int64)
        counts = np.zeros((cells.shape[0], self._counts.shape[1]), np.int64)
        n_cells = kernels.list_cells(
            self._pages, slots, self._page_bits, self._counts, cells, counts
        )
        all_kinds = np.zeros((n_cells, N_KINDS), np.int64)
        all_kinds[:, : counts.shape[1]] = counts[:n_cells]
        return CellCounts(cells[:n_cells].copy(), all_kinds, self.shift)

    def totals(self) -> tuple[int, int, int]:
        """Return the numbers of normal samples, of anomalies, and of points without a label."""
        n_normals, n_anomalies, *others = self._counts.sum(axis=0, dtype=np.int64).tolist()
        return n_normals, n_anomalies, sum(others)

    def _begin(self, raw: RawScores, kinds: LabelVector, weights: IntVector | None) -> int:
        """Sort the first rows and lay them out at once; return how many.

        Growing step by step to the resolution at which they fit would take ten times as long.
        """
        most = _BEGIN * max(self.most_cells(self.memory), _FEWEST_SLOTS)
        n_rows: int = min(raw.values.shape[0], most)
        if n_rows:
            some = raw._replace(values=as_readonly(raw.values[:n_rows]))
            some_weights = None if weights is None else weights[:n_rows]
            cells = self._cells_of(some)
            self._rebuild(CellCounts.of(cells, kinds[:n_rows], some_weights, self.shift))
        return n_rows

    def _count(
        self,
        raw: RawScores,
        kinds: LabelVector,
        weights: IntVector | None,
        rows: slice | IntVector,
        counts: npt.NDArray[Any],
    ) -> IntVector:
        """Count some rows; return those whose page is not there."""
        values = raw.values[rows]
        missing = np.empty(values.shape[0], np.int64)
        n_missing = kernels.count_cells(
            as_readonly(values),
            as_readonly(kinds[rows]),
            _NO_WEIGHTS if weights is None else as_readonly(weights[rows]),
            raw.largest,
            raw.signed,
            self.shift,
            self._page_bits,
            self._directory,
            counts,
            missing,
        )
        return missing[:n_missing]

    def _count_missing(
        self, raw: RawScores, kinds: LabelVector, weights: IntVector | None, rows: IntVector
    ) -> None:
        """Count rows for which pages have to be made first."""
        most = self._most_pages(self._page_bits)
        while True:
            n_pages = kernels.add_pages(
                raw.values,
                as_readonly(rows),
                raw.largest,
                raw.signed,
                self.shift + self._page_bits,
                self._directory,
                self._pages,
                self._n_pages,
            )
            n_slots = self._pages.shape[0]
            self._n_pages = min(n_pages, n_slots)
            if n_pages <= n_slots:
                self._count(raw, kinds, weights, rows, self._counts)
                return
            self._gather()
            if n_slots == most:
                break
            self._grow(min(2 * n_slots, most))
        some = raw._replace(values=as_readonly(raw.values[rows]))
        new = CellCounts.of(
            self._cells_of(some),
            kinds[rows],
            None if weights is None else weights[rows],
            self.shift,
        )
        self._rebuild(self.listed().plus(new))

    def _cells_of(self, raw: RawScores) -> IntVector:
        falling = np.empty(raw.values.shape[0], np.int64)
        keys.fall(raw.values, raw.largest, raw.signed, falling)
        cells: IntVector = ~falling >> self.shift
        return cells

    def _gather(self) -> None:
        """Add the counts of the threads."""
        for counts in self._of_threads:
            self._counts += counts
        self._of_threads.clear()

    def _expect(self, n_points: int) -> None:
        """Make counts wide enough for further points."""
        self.n_points += n_points
        if self._is_short and self.n_points >= SHORT:
            self._rebuild(self.listed())

    def _have_column_of_unlabelled(self) -> None:
        if self._counts.shape[1] < N_KINDS:
            new = np.zeros_like(self._counts, shape=(self._counts.shape[0], 1))
            self._counts = np.hstack([self._counts, new])

    @property
    def _is_short(self) -> bool:
        return self._counts.dtype == np.uint32

    def _most_pages(self, page_bits: int) -> int:
        return _most_pages(self.memory, page_bits, short=self.n_points < SHORT)

    def _grow(self, n_slots: int) -> None:
        pages, counts = self._pages[: self._n_pages], self._counts
        n_pages = self._n_pages
        self._allocate(n_slots, counts.shape[1])
        self._pages[:n_pages] = pages
        self._counts[: counts.shape[0]] = counts
        self._n_pages = n_pages
        kernels.fill_directory(as_readonly(self._pages[:n_pages]), self._directory)

    def _rebuild(self, listed: CellCounts) -> None:
        """Lay the cells out anew, at the finest resolution at which they fit."""
        n_bits, page_bits, n_pages = self._finest(listed)
        listed = listed.coarsened(n_bits)
        self.shift, self._page_bits = listed.shift, page_bits
        n_kinds = N_KINDS if listed.counts[:, UNLABELLED].any() else UNLABELLED
        n_slots = max(_FEWEST_SLOTS, 1 << n_pages.bit_length())
        self._allocate(min(n_slots, self._most_pages(page_bits)), n_kinds)
        self._n_pages = kernels.put_cells(
            as_readonly(listed.cells),
            as_readonly(np.ascontiguousarray(listed.counts[:, :n_kinds])),
            page_bits,
            self._pages,
            self._counts,
        )
        kernels.fill_directory(as_readonly(self._pages[: self._n_pages]), self._directory)

    def _finest(self, listed: CellCounts) -> tuple[int, int, int]:
        """Return how many bits to drop so that cells fit, bits of pages, and pages that they take.

        A page drops bits as well: all together are at most 63.
        """
        if listed.cells.shape[0] == 0:
            return 0, 0, 0
        # Two neighbours are one cell when all bits are dropped in which they differ.
        numbers = np.zeros(65, np.int64)
        kernels.count_differing_bits(as_readonly(listed.cells), numbers)
        # By how many bits are dropped.
        n_cells = 1 + np.cumsum(numbers[:0:-1])[::-1]
        most = _MOST_DROPPED - listed.shift
        for n_bits in range(most + 1):
            for page_bits in _PAGE_BITS:
                dropped = n_bits + page_bits
                if dropped <= most and n_cells[dropped] <= self._most_pages(page_bits):
                    return n_bits, page_bits, int(n_cells[dropped])
        raise AssertionError("two cells fit any memory that is accepted")

    def _allocate(self, n_slots: int, n_kinds: int) -> None:
        self._n_pages = 0
        self._pages = np.empty(n_slots, np.int64)
        self._directory = np.empty((_n_entries(n_slots), 2), np.int64)
        self._directory[:, 0] = 0
        self._directory[:, 1] = -1
        short = self.n_points < SHORT
        self._counts = np.zeros(
            (n_slots << self._page_bits, n_kinds), np.uint32 if short else np.int64
        )


def _n_entries(n_slots: int) -> int:
    """Return the entries of a directory: a power of two of which at most 3/4 are taken."""
    return 1 << (-(-4 * n_slots // 3)).bit_length()


# Every update and merge may ask for each resolution.
@lru_cache(maxsize=256)
def _most_pages(memory: int, page_bits: int, *, short: bool) -> int:
    page = _PAGE + (UNLABELLED * (4 if short else 8) << page_bits)
    most = 0
    for bits in range(1, 48):
        # The slots for which the directory has 2**bits entries.
        n_slots = min((memory - (_ENTRY << bits)) // page, ((1 << bits) - 1) * 3 // 4)
        if n_slots > 0 and _n_entries(n_slots) <= 1 << bits:
            most = max(most, n_slots)
    return most

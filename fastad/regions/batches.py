"""Batches of points for scores that are functions of Python, of a size that is measured."""

import math
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TypeAlias

import numpy as np

from fastad._core.threads import points_at_once
from fastad._core.types import FloatMatrix, FloatVector

# Scores of rows, checked.
BatchFunction: TypeAlias = Callable[[FloatMatrix], FloatVector]

# Points of a batch until others are measured, and where these would change a bit. All sizes, and
# all ranges of points, are multiples of the smallest unit, so that the last batch of all ends alike
# with any of them: products of matrices treat the last rows otherwise than those before.
BATCH = 1024
_UNIT, _ODD = 64, 37
_SIZES = (256, 1024, 4096, 16384)
# Points scored before anything is measured: the points that are scored a second time, at most 500,
# are then less than 0.4 % of them. (A function that rounds otherwise in the largest
# batches alone scores the trial of that size again.) No count has them: methods keep a budget by
# counts, and numbers would depend on how fast a function is.
_SCORED_BEFORE = 2**17
# Trials of each size, points of a trial at least, and seconds of a batch that is tried at most.
_TRIES, _TRIAL, _LONGEST = 2, 4096, 0.25
# A smaller batch, after which progress is shown sooner, may be slower by that factor.
_SLOWER = 1.1
# Seconds between two reports of progress, if a batch does not take longer.
_REPORT = 0.1


class Batches:
    """Number of points that a function of a batch is given at once.

    Batches have 1024 points. Once a run is long, other sizes are tried on its next points, and the
    one with the most points a second is taken, provided that some points have the same bits in
    batches of all these sizes. A function that rounds otherwise in other batches always has the
    same ones.
    """

    def __init__(self) -> None:
        self.size = BATCH
        self._n_scored = 0
        self._seconds_a_point = math.inf
        self._is_measuring = True
        # Seconds a point by size, in the better one of the tries.
        self._seconds: dict[int, float] = {}
        self._left = [size for size in _SIZES for _ in range(_TRIES)]

    def ranges(self, start: int, stop: int, n_features: int) -> Iterator[range]:
        """Yield ranges of points, of about a tenth of a second each."""
        most = points_at_once(n_features)
        while start < stop:
            # Until a batch has been timed, one.
            fitting = _REPORT / max(self._seconds_a_point, 1e-9)
            step = min(max(int(fitting) // self.size, 1) * self.size, most)
            yield range(start, min(start + step, stop))
            start += step

    def write(self, function: BatchFunction, rows: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of rows, batch by batch."""
        start, n = 0, rows.shape[0]
        while start < n:
            if self._is_measuring and self._n_scored >= _SCORED_BEFORE:
                n_tried = self._try(function, rows[start:], scores[start:])
                if n_tried:
                    start += n_tried
                    continue
            part = slice(start, start + self.size)
            began = perf_counter()
            scores[part] = function(rows[part])
            n_done = min(n - start, self.size)
            # The best of all, as another process may have had the processor.
            seconds = (perf_counter() - began) / n_done
            self._seconds_a_point = min(seconds, self._seconds_a_point)
            self._n_scored += n_done
            start += n_done

    def _try(self, function: BatchFunction, rows: FloatMatrix, scores: FloatVector) -> int:
        """Score some rows in batches of the next size; return how many, 0 if none are."""
        while self._left and self._left[0] * self._seconds_a_point > _LONGEST:
            self._left.pop(0)
        if not self._left:
            self._is_measuring = False
            if self._seconds:  # the smallest size that is about as fast as the fastest
                longest = _SLOWER * min(self._seconds.values())
                self.size = min(size for size, took in self._seconds.items() if took <= longest)
            return 0
        size = self._left[0]
        n = max(size, _TRIAL)
        if rows.shape[0] < n:
            return 0
        some = rows[: _UNIT + _ODD]
        if not self._seconds and not _same(
            function(some.copy()), _in_batches(function, some, _UNIT)
        ):
            self._is_measuring = False
            return 0
        began = perf_counter()
        values = _in_batches(function, rows[:n], size)
        seconds = (perf_counter() - began) / n
        if size in self._seconds or _same(values[:_UNIT], function(rows[:_UNIT].copy())):
            self._left.pop(0)
            self._seconds[size] = min(seconds, self._seconds.get(size, np.inf))
        else:
            self._is_measuring = False
            values = _in_batches(function, rows[:n], BATCH)
        scores[:n] = values
        self._n_scored += n
        return n


def _in_batches(function: BatchFunction, rows: FloatMatrix, size: int) -> FloatVector:
    """Return scores of rows that are still needed: a function may overwrite its argument."""
    return np.concatenate(
        [function(rows[start : start + size].copy()) for start in range(0, len(rows), size)]
    )


def _same(some: FloatVector, others: FloatVector) -> bool:
    return np.array_equal(some, others, equal_nan=True)

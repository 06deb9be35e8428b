"""Work in rounds of about a tenth of a second, after which progress is shown and Ctrl-C noticed."""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TypeVar

from fastad._core.progress import Progress
from fastad._core.threads import current_threads, in_steps, thread_map

Result = TypeVar("Result")

# Seconds of a round, and how much larger than the one before it may be.
_ROUND = 0.1
_GROWTH = 16
# Points of the first round, whose speed is unknown: some may take a tenth of a second each.
_FIRST = 16
_PARTS_PER_THREAD = 4
# Seconds below which a round is one part.
_SHORT = 1e-3
# Samples that a thread treats between two checks of whether it is to stop.
_SAMPLES = 1_000_000


class Pace:
    """Size of the rounds in which points are treated, from the time that earlier rounds took."""

    def __init__(self) -> None:
        self.size = _FIRST
        self._seconds_a_point = 0.0

    def took(self, n_points: int, seconds: float) -> None:
        """Record the duration of a round."""
        self._seconds_a_point = seconds / n_points
        # The last points of all, which are few, say little.
        if n_points >= self.size or seconds > _ROUND:
            fitting = n_points * _ROUND / max(seconds, 1e-9)
            self.size = max(_FIRST, min(int(fitting), _GROWTH * self.size))

    def map(
        self, function: Callable[[range], Result], start: int, stop: int, largest: int
    ) -> Iterator[tuple[int, list[Result]]]:
        """Apply a function to ranges of points on threads; yield each round's end and results.

        No range has more than the largest number of points.
        """
        while start < stop:
            end = min(start + self.size, stop)
            n_points = end - start
            is_short = n_points * self._seconds_a_point < _SHORT
            n_parts = 1 if is_short else _PARTS_PER_THREAD * current_threads()
            began = perf_counter()
            step = min(largest, -(-n_points // n_parts))
            results = thread_map(function, in_steps(start, end, step))
            self.took(n_points, perf_counter() - began)
            yield end, results
            start = end


def fill_in_steps(
    fill: Callable[[range], None], n_items: int, size: float, progress: Progress | None
) -> None:
    """Call a function with all items, of ``size`` samples each, on threads; report the progress."""
    step = max(1, int(_SAMPLES / size))
    if progress is None:
        thread_map(fill, in_steps(0, n_items, step))
        return
    for done, _ in Pace().map(fill, 0, n_items, step):
        progress(done, n_items)

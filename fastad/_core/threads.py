"""Threads: how many may be used, and one pool of them over items that do not depend on each other.

Serial code inside, threads outside: kernels release the interpreter's lock, and Numba's own
threading layers, which stop a process that calls them from two threads or after a fork, are not
used.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Generic, TypeVar

from fastad._core.limits import available_processors
from fastad._core.parameters import check_count
from fastad.errors import InvalidInputError

Item = TypeVar("Item")
Result = TypeVar("Result")

_VARIABLE = "FASTAD_NUM_THREADS"
# Handing work to a thread costs as much as ordering some ten thousand points.
_POINTS_A_THREAD = 100_000

_state = threading.local()
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_pool_size = 0


def _forget_pool() -> None:
    """Leave the parent's pool behind: its threads do not exist in a forked child."""
    global _lock, _pool, _pool_size
    _lock, _pool, _pool_size = threading.Lock(), None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def available_threads() -> int:
    """Return how many threads the process may use: the variable, else its processors."""
    text = os.environ.get(_VARIABLE)
    if text:
        if not text.isdecimal() or int(text) < 1:
            raise InvalidInputError(f"{_VARIABLE} must be an integer from 1; found {text!r}")
        return int(text)
    return available_processors()


def current_threads() -> int:
    """Return among how many threads work may be divided here; in a worker, no more than itself."""
    limit: int | None = getattr(_state, "limit", None)
    return available_threads() if limit is None else limit


@contextmanager
def thread_limit(n_threads: int | None) -> Iterator[None]:
    """Divide work among at most ``n_threads`` threads, and never more than an outer limit."""
    outer: int | None = getattr(_state, "limit", None)
    limit = available_threads() if n_threads is None else check_count(n_threads, "n_threads")
    _state.limit = limit if outer is None else min(limit, outer)
    try:
        yield
    finally:
        _state.limit = outer


def slices(n_points: int) -> list[slice]:
    """Return a slice of points for each thread that is worth its while."""
    if n_points < 2 * _POINTS_A_THREAD:
        return [slice(0, n_points)]
    n_slices = min(current_threads(), n_points // _POINTS_A_THREAD)
    if n_slices < 2:
        return [slice(0, n_points)]
    bounds = [n_points * i // n_slices for i in range(n_slices + 1)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def in_steps(start: int, stop: int, step: int) -> list[range]:
    """Cut a range of items into ranges of ``step`` items; the last may have fewer."""
    return [range(i, min(i + step, stop)) for i in range(start, stop, step)]


def thread_map(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Apply a function to each item; results come in the order of the items.

    The caller takes part, so that nothing waits for a busy pool, not even a worker of the pool
    itself. After an error, and after Ctrl-C, no item is begun any more; of several errors the first
    item's is raised. After Ctrl-C no item of an inner call is begun either.
    """
    if len(items) < 2 or current_threads() < 2:
        return [function(item) for item in _while_wanted(items)]
    n_threads = min(current_threads(), len(items))
    job = _Job(function, items)
    helpers = _submit(job.work, n_threads - 1)
    try:
        job.work()
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    except BaseException:
        job.abandon()
        for helper in helpers:
            helper.cancel()
        raise
    return job.results()


class _AbandonedError(Exception):
    """Nobody waits for the result any more."""


def _while_wanted(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items as long as somebody waits for the job that this thread works on."""
    job: _Job[Any, Any] | None = getattr(_state, "job", None)
    for item in items:
        if job is not None and job.is_abandoned:
            raise _AbandonedError
        yield item


class _Job(Generic[Item, Result]):
    """Items that several threads process one after the other."""

    def __init__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self._function = function
        self._items = items
        self._results: dict[int, Result] = {}
        self._errors: dict[int, Exception] = {}
        self._claimed = 0
        self._lock = threading.Lock()
        self.is_abandoned = False

    def work(self) -> None:
        """Process items until none is left."""
        outer: _Job[Any, Any] | None = getattr(_state, "job", None)
        _state.job = self
        try:
            with thread_limit(1):
                while (i := self._claim()) is not None:
                    try:
                        self._results[i] = self._function(self._items[i])
                    except Exception as error:
                        self._errors[i] = error
                        self.stop()
        finally:
            _state.job = outer

    def abandon(self) -> None:
        """Stop, and leave the items that have not begun: nobody waits for them."""
        self.is_abandoned = True
        self.stop()

    def stop(self) -> None:
        """Leave the items that no thread has begun."""
        with self._lock:
            self._claimed = len(self._items)

    def results(self) -> list[Result]:
        """Return the results, or raise the error of the first item with one."""
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._results[i] for i in range(len(self._items))]

    def _claim(self) -> int | None:
        with self._lock:
            if self._claimed == len(self._items):
                return None
            self._claimed += 1
            return self._claimed - 1


def _submit(work: Callable[[], None], n_helpers: int) -> list[Future[Any]]:
    """Ask the pool for ``n_helpers`` threads; as many as there are help."""
    helpers: list[Future[Any]] = []
    try:
        for _ in range(n_helpers):
            helpers.append(_pool_of(n_helpers).submit(work))
    except RuntimeError:
        # The interpreter shuts down, the system has no more threads, or another caller has just
        # replaced the pool by a larger one: the work gets done anyway.
        pass
    return helpers


def _pool_of(n_threads: int) -> ThreadPoolExecutor:
    """Return the pool, with at least ``n_threads`` threads."""
    global _pool, _pool_size
    with _lock:
        if _pool is None or _pool_size < n_threads:
            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool = ThreadPoolExecutor(n_threads, thread_name_prefix="fastad")
            _pool_size = n_threads
        return _pool


# Coordinates: as much as a core's own memory holds, and some more, because two threads that ask
# for the interpreter's lock every few microseconds wait for one another.
_COORDINATES = 2**18
# Fewer points cost more to call for than to treat; more do not pay.
_FEWEST, MOST = 256, 2**15


def points_at_once(n_features: int) -> int:
    """Return how many points of ``n_features`` features are treated together, a power of two."""
    fitting = max(_COORDINATES // n_features, 1)
    return min(max(1 << (fitting.bit_length() - 1), _FEWEST), MOST)

"""One pool of threads for the package, over items that do not depend on each other."""

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fastad._arguments import check_count
from fastad.errors import InvalidInputError

Item = TypeVar("Item")
Result = TypeVar("Result")

_VARIABLE = "FASTAD_NUM_THREADS"
_state = threading.local()
_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}


def _forget_pools() -> None:
    """Leave the parent's pools behind: their threads do not exist in a forked child."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


def available_threads() -> int:
    """Return how many threads the process may use: the variable, else its processors."""
    text = os.environ.get(_VARIABLE)
    if text:
        if not text.isdecimal() or int(text) < 1:
            raise InvalidInputError(f"{_VARIABLE} must be a whole number from 1; found {text!r}")
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_threads(n_threads: int | None) -> int:
    """Return the number of threads that an argument asks for."""
    if n_threads is None:
        return available_threads()
    return check_count(n_threads, "n_threads")


def _pool(n_threads: int) -> ThreadPoolExecutor:
    with _lock:
        if n_threads not in _pools:
            _pools[n_threads] = ThreadPoolExecutor(n_threads, thread_name_prefix="fastad")
        return _pools[n_threads]


def thread_map(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> list[Result]:
    """Apply a function to each item; results come in the order of the items.

    Runs in the calling thread where one thread is asked for, where there is at most one item,
    and inside a worker of this pool, which would otherwise wait for itself.
    """
    items = list(items)
    if n_threads == 1 or len(items) < 2 or getattr(_state, "is_worker", False):
        return [function(item) for item in items]

    def work(item: Item) -> Result:
        _state.is_worker = True
        return function(item)

    futures = [_pool(n_threads).submit(work, item) for item in items]
    try:
        return [future.result() for future in futures]
    finally:
        # After an error or Ctrl-C nothing that has not begun is begun.
        for future in futures:
            future.cancel()

"""Threads and other processes: one pool, how many threads and how much memory a call may use.

Serial code inside, threads outside: kernels release the interpreter's lock, and Numba's own
threading layers, which stop a process that calls them from two threads or after a fork, are not
used.

A container or a batch job is often given a fraction of the time of many processors rather than few
processors, by control groups on Linux. Threads beyond that fraction do not run at once: the system
stops all of them for the rest of each period, and the work takes longer than with fewer threads.
"""

import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, Generic, ParamSpec, TypeVar

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

# For both versions of control groups: the limit, the memory in use, and the field of memory.stat
# that counts pages read from files, which the system takes back as needed.
_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}
# If the system does not say.
_ASSUMED = 4 * 2**30

Parameters = ParamSpec("Parameters")


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


def available_processors() -> int:
    """Return how many processors this process may use, at least one.

    The affinity is read anew in each call, as a program may change its own; the quota once.
    """
    n_processors = _processors_by_affinity()
    quota = _process_quota()
    return n_processors if quota is None else min(n_processors, quota)


def cgroup_quota(root: Path = Path("/")) -> int | None:
    """Return the quota of this process's control groups in whole processors, or None.

    A group's limit applies to the groups inside it too, so that the tightest from the process's
    group upwards counts: Kubernetes limits the container, other systems a group around it.
    Where the path is the host's and the container sees its own group only, mounted as the
    top, the files at the top are the ones that exist.

    The quota is rounded up. None without a limit, on systems without control groups, and where the
    files below ``root`` are absent, unreadable or not understood.
    """
    quotas = [
        _whole_processors(fields)
        for directory, version in _control_groups(root, "cpu")
        for names in [("cpu.max",) if version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
        for fields in [" ".join(_read_text(directory / name) for name in names).split()]
    ]
    return min((quota for quota in quotas if quota is not None), default=None)


def _processors_by_affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        try:
            return len(os.sched_getaffinity(0))
        except OSError:  # refused by some sandboxes, and by kernels with very many processors
            pass
    return os.cpu_count() or 1


@functools.cache
def _process_quota() -> int | None:
    return cgroup_quota()


def _whole_processors(fields: list[str]) -> int | None:
    """Return time over period, rounded up; a limit that is off is the word max, or -1."""
    if len(fields) != 2:
        return None
    try:
        time, period = int(fields[0]), int(fields[1])
    except ValueError:
        return None
    return -(-time // period) if time > 0 and period > 0 else None


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes that the system, and all control groups of the process, have left."""
    left = [_of_group(*group) for group in _control_groups(root, "memory")]
    return max(min([_of_system(root), *(each for each in left if each is not None)]), 0)


def _of_system(root: Path) -> int:
    fields = _fields(root / "proc" / "meminfo")
    if "MemAvailable:" in fields:
        return fields["MemAvailable:"] * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (OSError, ValueError, AttributeError):
        return _ASSUMED


def _of_group(directory: Path, version: int) -> int | None:
    """Return the memory that a group has left; None without a limit."""
    limit, used, of_files = _FILES[version]
    try:
        left = int(_read_text(directory / limit)) - int(_read_text(directory / used))
    except ValueError:  # no such file, or no limit ("max")
        return None
    return left + _fields(directory / "memory.stat").get(of_files, 0)


def _fields(path: Path) -> dict[str, int]:
    """Return the numbers of a file by the words before them."""
    fields = {}
    for line in _read_text(path).splitlines():
        words = line.split()
        if len(words) > 1 and words[1].isdecimal():
            fields[words[0]] = int(words[1])
    return fields


def _control_groups(root: Path, controller: str) -> Iterator[tuple[Path, int]]:
    """Yield the directories of the process's groups and of all around them, with the version."""
    top = root / "sys" / "fs" / "cgroup"
    for line in _read_text(root / "proc" / "self" / "cgroup").splitlines():
        # number:controllers:path, where the path itself may contain colons.
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "" and path:
            # Beside version 1, version 2 has a separate directory, and no limits.
            yield from ((directory, 2) for directory in _upwards(top, path))
        elif controller in controllers.split(","):
            # Systems mount the controller under its name, or under the list of those it shares.
            for mount in {controller, controllers}:
                yield from ((directory, 1) for directory in _upwards(top / mount, path))


def _upwards(top: Path, path: str) -> Iterator[Path]:
    parts = [part for part in PurePosixPath(path).parts if part != "/"]
    if ".." in parts:  # the container cannot see the group
        return
    for n_parts in range(len(parts), -1, -1):
        yield top.joinpath(*parts[:n_parts])


def _read_text(path: Path) -> str:
    """Return a file's content, or nothing; names of groups are bytes of any kind."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except (OSError, ValueError):
        return ""


class RemoteHook(Generic[Parameters, Result]):
    """A function that does some work in place of this process, for the length of a block.

    Its result must equal this process's own, to the last bit.
    """

    def __init__(self, name: str) -> None:
        self._function: ContextVar[Callable[Parameters, Result] | None] = ContextVar(
            name, default=None
        )

    def get(self) -> Callable[Parameters, Result] | None:
        """Return the function, or None where the work is done here."""
        return self._function.get()

    @contextmanager
    def use(self, function: Callable[Parameters, Result] | None) -> Iterator[None]:
        """Use a function for the length of a block; None does the work here again."""
        token = self._function.set(function)
        try:
            yield
        finally:
            self._function.reset(token)

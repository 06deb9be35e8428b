"""Changes of state that Ctrl-C, threads and forks must not cut in two, and SIGTERM as Ctrl-C."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from fastad.errors import ForkedStateError

Result = TypeVar("Result")

# Signals for which programs have handlers that raise; a system lacks some.
_INTERRUPTING = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGBREAK", "SIGHUP", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)

# Forks between the first process and this one.
_n_forks = 0
_after_fork = threading.Lock()


class TerminationInterrupt(KeyboardInterrupt):
    """SIGTERM, raised as Ctrl-C is."""


@contextmanager
def handled_sigterm(handle: Callable[[int, object], None]) -> Iterator[None]:
    """Handle SIGTERM in the block, where it would end the process at once.

    Python handles signals in the main thread alone; a handler of somebody else stays.
    """
    handles = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if handles:
        try:
            signal.signal(signal.SIGTERM, handle)
        except ValueError:  # in another thread
            handles = False
    try:
        yield
    finally:
        if handles and signal.getsignal(signal.SIGTERM) is handle:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def raise_termination(_number: int, _frame: object) -> None:
    """Handle SIGTERM as Python does Ctrl-C."""
    raise TerminationInterrupt


class _Deferral:
    """A handler of signals that defers exceptions of the handlers it replaces until a call ends."""

    __slots__ = ("error", "handlers", "has_ended", "thread")

    def __init__(self) -> None:
        self.handlers: dict[int, Callable[[int, Any], Any]] = {}
        self.error: BaseException | None = None
        self.has_ended = False
        self.thread = threading.get_ident()

    def __call__(self, number: int, frame: Any) -> None:
        try:
            self.handlers[number](number, frame)
        except BaseException as error:
            if not self.is_active:
                raise
            self.error = error

    @property
    def is_active(self) -> bool:
        """Whether the call goes on; in a child that another thread forked meanwhile it does not."""
        return not self.has_ended and threading.get_ident() == self.thread

    def begin(self) -> None:
        """Replace the handlers in Python, unless an outer call defers them already."""
        for number in _INTERRUPTING:
            handler = signal.getsignal(number)
            if isinstance(handler, _Deferral) and handler.is_active:
                return
            if callable(handler):
                self.handlers[number] = handler
                try:
                    signal.signal(number, self)
                except ValueError:  # embedded, Python may handle signals in a thread unknown to it
                    self.handlers.clear()
                    return

    def end(self) -> None:
        """Restore the handlers, and raise the deferred exception."""
        try:
            for number, handler in self.handlers.items():
                new = signal.signal(number, handler)
                if new is not self:  # a handler has set another one for the next time
                    signal.signal(number, new)
        finally:
            self.has_ended = True
        if self.error is not None:
            raise self.error


def uninterrupted(function: Callable[[], Result]) -> Result:
    """Call a function to its end; a Ctrl-C that comes meanwhile is raised after it.

    So are exceptions of handlers of other signals, such as time limits. Python calls handlers
    in the main thread alone.
    """
    if threading.current_thread() is not threading.main_thread():
        return function()
    deferral = _Deferral()
    try:
        deferral.begin()
        return function()
    finally:
        deferral.end()


def _count_fork() -> None:
    global _n_forks, _after_fork
    _n_forks, _after_fork = _n_forks + 1, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class StateLock:
    """Lock of an object's state, which a forked child uses only where no thread was changing it.

    A child has none of its parent's other threads: a lock that one of them had would never be
    released, and the state that it protects may be half changed. The message names ``owner``, the
    class of the object.
    """

    __slots__ = ("_lock", "_n_forks", "_owner")

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._n_forks = _n_forks
        # None where the state may be half changed.
        self._lock: threading.Lock | None = threading.Lock()

    def checked(self) -> threading.Lock:
        """Return the lock to hold; raise ForkedStateError where it was held at the fork.

        A plain lock, because a Ctrl-C cannot come between acquiring it and the ``with`` block.
        """
        if self._n_forks != _n_forks:
            self._renew()
        if self._lock is None:
            raise ForkedStateError(
                f"a thread was using this {self._owner} when the process was forked, so that its "
                "state may be half changed here; give the child a copy or bytes made before, fork "
                "before threads use it, or start processes by spawn or forkserver"
            )
        return self._lock

    def _renew(self) -> None:
        with _after_fork:
            # Every thread of this process comes here before it holds the lock.
            if self._n_forks != _n_forks:
                held = self._lock is None or self._lock.locked()
                self._lock = None if held else threading.Lock()
                self._n_forks = _n_forks

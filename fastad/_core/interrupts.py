"""Changes that Ctrl-C must not cut in two, and SIGTERM in place of Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")

# Signals for which programs have handlers that raise; a system lacks some.
_INTERRUPTING = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGBREAK", "SIGHUP", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)


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

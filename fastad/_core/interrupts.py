"""Changes that Ctrl-C must not cut in two, and SIGTERM in place of Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


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


def uninterrupted(function: Callable[[], Result]) -> Result:
    """Call a function to its end; a Ctrl-C that comes meanwhile is raised after it.

    Python raises it in the main thread alone, so that there the function runs in another one.
    """
    if threading.current_thread() is not threading.main_thread():
        return function()
    results: list[Result] = []
    errors: list[BaseException] = []
    begun, ended = threading.Lock(), threading.Event()

    def call() -> None:
        if not begun.acquire(blocking=False):
            return
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    worker = threading.Thread(target=call, name="fastad-uninterrupted")
    interrupt: KeyboardInterrupt | None = None
    try:
        worker.start()
    except KeyboardInterrupt as error:
        # The thread may have begun all the same; if not, it never does.
        if begun.acquire(blocking=False):
            raise
        interrupt = error
    while not ended.is_set():
        try:
            ended.wait()
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if errors:
        raise errors[0]
    return results[0]

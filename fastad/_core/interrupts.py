"""Changes that Ctrl-C must not cut in two."""

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


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

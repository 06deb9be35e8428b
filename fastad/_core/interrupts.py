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

    def call() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    worker = threading.Thread(target=call, name="fastad-uninterrupted")
    interrupt: KeyboardInterrupt | None = None
    worker.start()
    while worker.is_alive():
        try:
            worker.join()
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if errors:
        raise errors[0]
    return results[0]

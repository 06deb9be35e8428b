"""Progress of long computations: a function of the caller's, or a bar."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from fastad.errors import InvalidTypeError

# Called with what is done and what is to be done, None if that is not known.
Progress: TypeAlias = Callable[[int, int | None], object]
_Option: TypeAlias = Progress | bool | None


@contextmanager
def reporting(progress: _Option, what: str) -> Iterator[Progress | None]:
    """Return what to call with progress: a function as it is, or what draws a bar for True.

    The bar is that of rich or else of tqdm; without both of them there is none.
    """
    if progress is not True:
        if not (progress is None or progress is False or callable(progress)):
            raise InvalidTypeError(
                f"progress must be True, False or a function; found {type(progress).__name__}",
                argument="progress",
            )
        yield progress or None
    elif importlib.util.find_spec("rich") is not None:
        yield from _rich_bar(what)
    elif importlib.util.find_spec("tqdm") is not None:
        yield from _tqdm_bar(what)
    else:
        yield None


def _rich_bar(what: str) -> Iterator[Progress]:
    # Here, because rich is an optional extra.
    from rich import progress
    from rich.console import Console

    with progress.Progress(console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _tqdm_bar(what: str) -> Iterator[Progress]:
    # Here, because tqdm may be absent.
    tqdm: Any = importlib.import_module("tqdm").tqdm
    with tqdm(desc=what, leave=False) as bar:

        def show(done: int, total: int | None) -> None:
            bar.total = total
            # Several detectors are reported on one after the other, each from 0.
            bar.update(done - bar.n)

        yield show

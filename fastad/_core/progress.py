"""Progress of long computations: a function of the caller's, or a bar."""

import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

from fastad.errors import InvalidTypeError

if TYPE_CHECKING:
    from rich.console import Console

# Called with the amount done and the total, None if that is not known.
Progress: TypeAlias = Callable[[int, int | None], object]
ProgressOption: TypeAlias = Progress | bool | None

# Seconds after which a bar is drawn for work that is mostly done by then.
LATE = 1.0
# Seconds between two calls, where parts are finished one after the other.
_PAUSE = 0.05
# Characters of a bar of rich's, beside which there are words.
_WIDTH = 24
# Functions that show words beside the bar, once it is drawn.
_beside: ContextVar[Sequence[Callable[[str], object]]] = ContextVar("beside", default=())


def show_note(words: Callable[[], str]) -> None:
    """Show beside a bar of rich's how good the result is by now; without one nothing is called."""
    for show in _beside.get():
        show(words())


@contextmanager
def notes_about(what: str) -> Iterator[None]:
    """Prefix the words beside a bar with their subject, for the length of a block."""
    outside = _beside.get()
    if not outside:
        yield
        return
    (show,) = outside
    # Behind them: names may be cut off.
    token = _beside.set([lambda words: show(f"{words} ({what})")])
    try:
        show(f"({what})")
        yield
    finally:
        _beside.reset(token)


@contextmanager
def reporting(
    progress: ProgressOption, what: str, *, after: float = 0.0
) -> Iterator[Progress | None]:
    """Yield the function to call with progress: a function as it is, or a bar for True.

    The bar comes from rich or else from tqdm; without both of them there is none. It is drawn after
    ``after`` seconds, and not at all if it is closed before.
    """
    if callable(progress):
        yield progress
    elif progress is None or progress is False:
        yield None
    elif progress is not True:
        raise InvalidTypeError(
            f"progress must be True, False or a function; found {type(progress).__name__}"
        )
    elif importlib.util.find_spec("rich") is not None:
        # Here, because rich is an optional extra.
        from rich.console import Console

        with rich_bar(what, Console(file=sys.stderr), after=after) as show:
            yield show
    elif importlib.util.find_spec("tqdm") is not None:
        with ExitStack() as stack:
            yield _late(lambda: _tqdm_bar(what, stack), after)
    else:
        yield None


@contextmanager
def rich_bar(what: str, console: "Console", *, after: float = 0.0) -> Iterator[Progress]:
    """Yield a function that draws a bar of rich's after ``after`` seconds.

    It shows the time that is left, where the total is known, and the words of `show_note`.
    """
    # Here, because rich is an optional extra.
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    with ExitStack() as stack:
        shown: list[Callable[[str], object]] = []

        def open_bar() -> Progress:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(_WIDTH),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[words]}", markup=False),
            )
            bar = stack.enter_context(Bar(*columns, console=console, transient=True))
            task = bar.add_task(what, total=None, words="")
            shown.append(lambda words: bar.update(task, words=words))
            return lambda done, total: bar.update(task, completed=done, total=total)

        # Here and not where the bar is opened, which may be in another thread and its context.
        stack.callback(_beside.reset, _beside.set(shown))
        yield _late(open_bar, after)


def _tqdm_bar(what: str, stack: ExitStack) -> Progress:
    # Here, because tqdm may be absent.
    tqdm: Any = importlib.import_module("tqdm").tqdm
    bar = stack.enter_context(tqdm(desc=what, leave=False))

    def show(done: int, total: int | None) -> None:
        bar.total = total
        # Several detectors are reported on one after the other, each from 0.
        bar.update(done - bar.n)

    return show


def _late(open_bar: Callable[[], Progress], after: float) -> Progress:
    """Return a function that opens a bar when ``after`` seconds are over."""
    began = perf_counter()
    bar = open_bar() if after == 0 else None

    def show(done: int, total: int | None) -> None:
        nonlocal bar
        if bar is None and perf_counter() - began >= after:
            bar = open_bar()
        if bar is not None:
            bar(done, total)

    return show


def part_of(progress: Progress | None, part: int, n_parts: int) -> Progress | None:
    """Return the progress of one of several parts of equal size, done in turn."""
    if progress is None:
        return None

    def report(done: int, total: int | None) -> None:
        progress(done if total is None else part * total + done, total and n_parts * total)

    return report


class SharedProgress:
    """Progress of several computations of one size, which threads may share, as one."""

    def __init__(self, progress: Progress, n_parts: int, size: int) -> None:
        self._progress = progress
        self._size, self._total = size, n_parts * size
        self._done, self._last = 0, perf_counter()
        self._lock = threading.Lock()

    def part(self) -> Progress:
        """Return the progress of one computation."""
        before = 0

        def report(done: int, total: int | None) -> None:
            nonlocal before
            # A computation that ends without any work is done.
            now = self._size * done // total if total else self._size
            if now > before:
                self._add(now - before)
                before = now

        return report

    def _add(self, more: int) -> None:
        with self._lock:
            self._done += more
            now = perf_counter()
            if self._done == self._total or now - self._last >= _PAUSE:
                self._last = now
                self._progress(self._done, self._total)

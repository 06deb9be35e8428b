"""Progress of long computations: a function or a bar that shows it, and rounds of work between."""

import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from fastad._core.threads import current_threads, in_steps, thread_map
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

Result = TypeVar("Result")

# Seconds of a round, and how much larger than the one before it may be.
_ROUND = 0.1
_GROWTH = 16
# Points of the first round, whose speed is unknown: some may take a tenth of a second each.
_FIRST = 16
_PARTS_PER_THREAD = 4
# Seconds below which a round is one part.
_SHORT = 1e-3
# Samples that a thread treats between two checks of whether it is to stop.
_SAMPLES = 1_000_000


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


class Pace:
    """Size of the rounds in which points are treated, from the time that earlier rounds took."""

    def __init__(self) -> None:
        self.size = _FIRST
        self._seconds_a_point = 0.0

    def took(self, n_points: int, seconds: float) -> None:
        """Record the duration of a round."""
        self._seconds_a_point = seconds / n_points
        # The last points of all, which are few, say little.
        if n_points >= self.size or seconds > _ROUND:
            fitting = n_points * _ROUND / max(seconds, 1e-9)
            self.size = max(_FIRST, min(int(fitting), _GROWTH * self.size))

    def map(
        self, function: Callable[[range], Result], start: int, stop: int, largest: int
    ) -> Iterator[tuple[int, list[Result]]]:
        """Apply a function to ranges of points on threads; yield each round's end and results.

        No range has more than the largest number of points.
        """
        while start < stop:
            end = min(start + self.size, stop)
            n_points = end - start
            is_short = n_points * self._seconds_a_point < _SHORT
            n_parts = 1 if is_short else _PARTS_PER_THREAD * current_threads()
            began = perf_counter()
            step = min(largest, -(-n_points // n_parts))
            results = thread_map(function, in_steps(start, end, step))
            self.took(n_points, perf_counter() - began)
            yield end, results
            start = end


def fill_in_steps(
    fill: Callable[[range], None], n_items: int, size: float, progress: Progress | None
) -> None:
    """Call a function with all items, of ``size`` samples each, on threads; report the progress."""
    step = max(1, int(_SAMPLES / size))
    if progress is None:
        thread_map(fill, in_steps(0, n_items, step))
        return
    for done, _ in Pace().map(fill, 0, n_items, step):
        progress(done, n_items)

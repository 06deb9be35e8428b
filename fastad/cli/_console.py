"""Printed output of commands, and the one handler of their errors."""

import errno
import inspect
import io
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from typer.models import OptionInfo

from fastad._core.interrupts import TerminationInterrupt, handled_sigterm, raise_termination
from fastad._core.progress import Progress, rich_bar
from fastad._core.text_tables import TextTable
from fastad._core.threads import available_threads
from fastad._tables.errors import TableError
from fastad.errors import (
    InvalidInputError,
    InvalidTypeError,
    MissingExtraError,
    UndefinedMeasureError,
)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_ABOUT_ARGUMENTS = (InvalidInputError, InvalidTypeError)
DATA_ARE_WRONG = 1
WRONG_USAGE = 2
TERMINATED = 128 + signal.SIGTERM
UNREAD = 128 + 13  # SIGPIPE, which Windows lacks

# Parameters of commands that an argument of the library comes from, where the names differ. A
# command that has none of them has one of the argument's own name.
_PARAMETERS: Mapping[str, Sequence[str]] = {
    "group_columns": ("group",),
    "groups": ("group",),
    "higher_is_better": ("higher_is_better", "lower_is_better"),
    "label_column": ("label",),
    "measure": ("by",),
    "measures": ("measure",),
    "n_jobs": ("jobs",),
    "n_uniform": ("n_draws",),
    "path": ("output",),
    "rng": ("seed",),
    "score_column": ("score",),
    "score_columns": ("score",),
}
# Wide enough for any table to be measured as it would like to be.
_ANY_WIDTH = 1_000_000


class DataError(Exception):
    """The data are wrong; the message names what."""


class _LocatedError(Exception):
    """An error of the library, with the files and the columns that its arguments come from."""

    def __init__(self, error: Exception, files: str, columns: Mapping[str, str]) -> None:
        super().__init__(str(error))
        self.error = error
        self.files = files
        self.columns = columns


@contextmanager
def data_from(files: object, columns: Mapping[str, str] | None = None) -> Iterator[None]:
    """Let messages about arguments name the files, and the columns, that these come from.

    Messages about the data start with ``files``; ``columns`` has the column of each argument, such
    as ``{"y_score['a']": "a"}``.
    """
    try:
        yield
    except TableError:
        raise
    except (*_ABOUT_ARGUMENTS, UndefinedMeasureError) as error:
        raise _LocatedError(error, str(files), columns or {}) from None


def handle_errors(
    command: Callable[Parameters, Result], *, wrong_data: int = DATA_ARE_WRONG
) -> Callable[Parameters, Result]:
    """Turn errors into a message and an exit code.

    1, or ``wrong_data``, where data are wrong, or files cannot be read or written; 2 where an
    option or an environment variable is wrong; 143 after SIGTERM, as after Ctrl-C 130; 141 where
    the reader of the output has ended.
    """
    options = _options_of(command)

    @wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            # Schedulers and containers send SIGTERM before they kill.
            with handled_sigterm(raise_termination), warnings_as_messages():
                # A wrong environment variable is reported as that, before any file is read.
                available_threads()
                result = command(*args, **kwargs)
                _flush()
                return result
        except TerminationInterrupt:
            raise typer.Exit(TERMINATED) from None
        except (DataError, MissingExtraError, OSError) as error:
            if _is_unread(error):
                _discard_output()
                raise typer.Exit(UNREAD) from None
            raise _failure(str(error), wrong_data) from None
        except TableError as error:
            raise _failure(_with_options(str(error)), wrong_data) from None
        except _LocatedError as located:
            # The values of a column, which an option only names, are data.
            is_option = getattr(located.error, "item", None) not in located.columns
            option = _option_for(located.error, options) if is_option else None
            if option is not None:
                raise _bad_option(located.error, option) from None
            raise _failure(_message_on_data(located), wrong_data) from None
        except _ABOUT_ARGUMENTS as error:
            option = _option_for(error, options)
            if option is not None:
                raise _bad_option(error, option) from None
            raise _failure(str(error), WRONG_USAGE) from None

    return run


def _options_of(command: Callable[..., Any]) -> dict[str, str]:
    """Return how the options of a command are written, by their parameters."""
    options = {}
    for name, parameter in inspect.signature(command).parameters.items():
        for info in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(info, OptionInfo):
                written = info.param_decls or (f"--{name.replace('_', '-')}",)
                options[name] = written[0]
    return options


def _option_for(error: Exception, options: Mapping[str, str]) -> str | None:
    """Return the option that the argument of an error comes from."""
    argument = error.argument if isinstance(error, _ABOUT_ARGUMENTS) else None
    if argument is None:
        return None
    renamed = [options[name] for name in _PARAMETERS.get(argument, ()) if name in options]
    return " or ".join(renamed) or options.get(argument)


def _bad_option(error: Exception, option: str) -> typer.BadParameter:
    message = str(error)
    if isinstance(error, _ABOUT_ARGUMENTS):
        # Without the index too: the option stands before the message.
        message = message.removeprefix(f"{error.item} ")
    return typer.BadParameter(message, param_hint=option)


def _message_on_data(located: _LocatedError) -> str:
    message, error = str(located.error), located.error
    item = error.item if isinstance(error, _ABOUT_ARGUMENTS) else None
    if item is not None and item in located.columns:
        rest = message.removeprefix(item).replace("pos_label=", "--pos-label")
        message = f"column {located.columns[item]!r}{rest}"
    else:
        message = _with_options(message)
    return f"{located.files}: {message}" if located.files else message


def _with_options(message: str) -> str:
    """Return a message with the option in place of the argument; columns may have any name."""
    message = message.replace("label with pos_label= if", "label with --pos-label if")
    return message.replace("one label beside pos_label=", "one label beside --pos-label ")


def _failure(message: str, code: int) -> typer.Exit:
    """Print why a command ends; libraries and names of files may break lines."""
    with suppress(BrokenPipeError):  # the code remains
        print_message(f"Error: {' '.join(message.splitlines())}")
    return typer.Exit(code)


def print_message(message: str) -> None:
    """Print a message to stderr."""
    if sys.stderr is not None:  # it is where it was closed from the start, and stdout would have it
        print(message, file=sys.stderr)  # noqa: T201 - the command line prints


def print_result(text: str) -> None:
    """Print results to stdout."""
    print(text)  # noqa: T201 - the command line prints


@contextmanager
def maybe_unread() -> Iterator[None]:
    """Print what a reader may not read to its end, such as ``head``, and go on."""
    try:
        yield
        _flush()
    except OSError as error:
        if not _is_unread(error):
            raise
        _discard_output()


def _flush() -> None:
    if sys.stdout is not None:  # it is where it was closed from the start
        sys.stdout.flush()


def _is_unread(error: Exception) -> bool:
    """Return whether the reader of a pipe has ended; Windows has another error for it."""
    is_invalid = isinstance(error, OSError) and error.errno == errno.EINVAL
    return isinstance(error, BrokenPipeError) or (os.name == "nt" and is_invalid)


def _discard_output() -> None:
    """Let the rest of the output go nowhere, also what Python writes when it ends."""
    with suppress(io.UnsupportedOperation), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def print_table(text: TextTable, title: str = "") -> None:
    """Print a table to stdout: drawn on a terminal, plain columns in a pipe."""
    console = Console(emoji=False, markup=False, highlight=False)
    # Rich takes long to measure cells, and more than three characters for each column.
    if console.is_terminal and 3 * len(text.header) < console.width:
        table = Table(title=title or None, title_justify="left")
        for column, head in enumerate(text.header):
            table.add_column(head, justify="right" if column else "left", no_wrap=True)
        for row in text.marked_cells():
            table.add_row(*row)
        # Rich would cut numbers off where the terminal is narrow.
        natural = console.measure(table, options=console.options.update(width=_ANY_WIDTH)).maximum
        if natural <= console.width:
            console.print(table)
            return
    print_result("\n".join([*([title] if title else []), text.plain(), ""]))


def print_notes(notes: Sequence[str]) -> None:
    """Print notes below a table to stdout, if there are any."""
    if notes:
        print_result("\n".join([*notes, ""]))


@contextmanager
def progress_bar(what: str = "points", *, after: float = 0.0) -> Iterator[Progress]:
    """Show on a terminal how many points, or what else, are done, when so many seconds are over."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total: None
        return
    with rich_bar(what, console, after=after) as show:
        yield show


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Print warnings as messages, each once; a message why a command failed stands alone."""
    ended: typer.Exit | None = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            yield
        except typer.Exit as verdict:
            ended = verdict
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print_message(f"Warning: {' '.join(message.split())}")
    if ended is not None:
        raise ended

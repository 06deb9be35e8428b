"""What commands print, and how they end."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from fastad._core.text_tables import TextTable
from fastad.errors import InvalidInputError, MissingExtraError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

DATA_ARE_WRONG = 1
WRONG_USAGE = 2

# Wide enough for any table to be measured as it would like to be.
_ANY_WIDTH = 1_000_000


class DataError(Exception):
    """The data are wrong; the message names what."""


def ends_cleanly(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Turn wrong data, and files that cannot be read or written, into a message and exit code 1."""

    @wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except BrokenPipeError:
            raise
        except (DataError, MissingExtraError, OSError) as error:
            # Libraries and names of files may break lines.
            say(f"Error: {' '.join(str(error).splitlines())}")
            raise typer.Exit(DATA_ARE_WRONG) from None
        except InvalidInputError as error:
            # Not of a file: an environment variable.
            say(f"Error: {error}")
            raise typer.Exit(WRONG_USAGE) from None

    return run


def say(message: str) -> None:
    """Print a message to stderr."""
    print(message, file=sys.stderr)  # noqa: T201 - the command line prints


def show(text: str) -> None:
    """Print results to stdout."""
    print(text)  # noqa: T201 - the command line prints


def show_table(text: TextTable, title: str = "") -> None:
    """Print a table to stdout: drawn on a terminal, plain columns in a pipe."""
    console = Console(emoji=False, markup=False, highlight=False)
    table = Table(title=title or None, title_justify="left")
    for column, head in enumerate(text.header):
        table.add_column(head, justify="right" if column else "left", no_wrap=True)
    for row in text.marked_cells():
        table.add_row(*row)
    # Rich would cut numbers off where the terminal is narrow.
    natural = console.measure(table, options=console.options.update(width=_ANY_WIDTH)).maximum
    if console.is_terminal and natural <= console.width:
        console.print(table)
    else:
        show("\n".join([*([title] if title else []), text.plain(), ""]))

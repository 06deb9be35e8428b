"""Saving: results of several files in one file, columns, and text."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from fastad._core.files import save_text
from fastad._core.page import html_page
from fastad._core.results import TableResult, json_text, with_versions
from fastad._tables.files import save_columns
from fastad.cli._console import DataError, print_result

# File extensions that results are saved under.
SAVED_FORMATS = (".csv", ".json", ".parquet", ".arrow", ".feather")
# Tables for papers: how a table is written, and what names its file before it.
TYPESET: Mapping[str, tuple[Callable[[TableResult], str], str]] = {
    ".md": (lambda result: result.to_markdown(), "## {}\n\n"),
    ".tex": (lambda result: result.to_latex(), "% {}\n"),
}
PAGE = ".html"


def check_groups(groups: Sequence[str], output: Path | None, *, has_json_rows: bool) -> None:
    """Refuse a group called as the column of files, where rows have the columns of both."""
    extension = "" if output is None else output.suffix.lower()
    if (extension in SAVED_FORMATS and extension != ".json") or has_json_rows:
        # Here, because it imports Numba, without which the command line starts.
        from fastad.ordering.groups import refuse_taken

        refuse_taken(groups, ["file"], "group_columns")


def check_output(output: Path | None, *others: str) -> None:
    """Check that results can be saved to a file of that name, or with another extension."""
    extensions = (*SAVED_FORMATS, *TYPESET, PAGE, *others)
    if output is not None and output.suffix.lower() not in extensions:
        raise typer.BadParameter(
            f"unsupported file extension; it must be one of {', '.join(extensions)}; found "
            f"{output.name!r}",
            param_hint="--output",
        )


def deliver(
    results: Mapping[str, TableResult],
    make_json: Callable[[], str],
    print_text: Callable[[], None],
    *,
    as_json: bool,
    output: Path | None,
    keys: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Save results to the output, if there is one; print them as JSON or as text.

    Results are named by the titles of their tables. ``keys`` are the cells by which rows of each
    are known in columns; by default the title is the name of a file.
    """
    if output is not None:
        keys = {name: {"file": name} for name in results} if keys is None else keys
        with writes(output):
            _save(results, output, make_json, keys)
    if as_json:
        print_result(make_json())
    else:
        print_text()


@contextmanager
def writes(output: Path) -> Iterator[None]:
    """Let errors name the output: their own message names a file that was written aside."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{output}: the file cannot be written: {error.strerror}") from None


def versioned_json(**content: Any) -> str:
    """Return JSON that names the version of fastad."""
    return json_text(with_versions(content), indent=2)


def _save(
    results: Mapping[str, TableResult],
    output: Path,
    make_json: Callable[[], str],
    keys: Mapping[str, Mapping[str, Any]],
) -> None:
    extension = output.suffix.lower()
    if extension == ".json":
        save_text(make_json() + "\n", output)
    elif extension in TYPESET:
        save_text(_typeset(results, extension), output)
    elif extension == PAGE:
        title = next(iter(results)) if len(results) == 1 else "Evaluation"
        save_text(
            html_page(title, {name: each.page_body() for name, each in results.items()}), output
        )
    else:
        tables = [(keys[name], each.to_columns()) for name, each in results.items()]
        save_columns(_joined_columns(tables), output)


def _typeset(results: Mapping[str, TableResult], extension: str) -> str:
    """Return tables in Markdown or LaTeX, each below its title if there are several."""
    write, title = TYPESET[extension]
    tables = [
        (title.format(name) if len(results) > 1 else "") + write(result).rstrip()
        for name, result in results.items()
    ]
    return "\n\n".join(tables) + "\n"


def _joined_columns(
    tables: Sequence[tuple[Mapping[str, Any], Mapping[str, Sequence[Any]]]],
) -> dict[str, list[Any]]:
    """Return the columns of all tables, behind the columns of their keys.

    Where a file has no intervals at all, as each is undefined, its table lacks their columns.
    """
    taken = next((name for keys, columns in tables for name in keys if name in columns), None)
    if taken is not None:
        raise DataError(
            f"a table has a column {taken!r}, by which the rows of several are told apart"
        )
    by_width = sorted((columns for _, columns in tables), key=len, reverse=True)
    names = dict.fromkeys(name for columns in by_width for name in columns)
    joined: dict[str, list[Any]] = {name: [] for name in (*tables[0][0], *names)}
    for keys, columns in tables:
        n_rows = len(next(iter(columns.values())))
        for name, cells in joined.items():
            cells += columns.get(name, [keys.get(name, math.nan)] * n_rows)
    return joined

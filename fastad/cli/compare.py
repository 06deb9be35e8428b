"""``fastad compare``: which of some detectors is better."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from fastad._core.threads import available_threads
from fastad.cli._console import DataError, show, show_table
from fastad.cli.evaluate import about_columns
from fastad.cli.readers import Wanted, read_table
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.uncertainty.all_pairs import compare_all

# Options of the function that are options of the command.
_OPTIONS = ("measure", "method", "correction", "confidence_level", "min_difference")


def run(path: Path, columns: Wanted, options: Mapping[str, Any], *, as_json: bool) -> None:
    """Compare the detectors of a file, and print what may be said of them."""
    available_threads()
    table = read_table(path, columns)
    if len(table.scores) < 2:
        raise typer.BadParameter("two columns of scores are needed", param_hint="--score")
    try:
        result = compare_all(table.labels, table.scores, pos_label=table.pos_label, **options)
    except (InvalidInputError, UndefinedMeasureError, TypeError) as error:
        message = str(error)
        for name in _OPTIONS:
            if message.startswith(name):
                option = f"--{name.replace('_', '-')}"
                raise typer.BadParameter(message, param_hint=option) from None
        if isinstance(error, TypeError):
            raise typer.BadParameter(message, param_hint="--measure") from None
        raise DataError(f"{path}: {about_columns(message, table, columns)}") from None
    if as_json:
        show(result.to_json(indent=2))
        return
    if len(result) > 1:
        show_table(result.text_table())
    for comparison in result.values():
        show(comparison.verdict)

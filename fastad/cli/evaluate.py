"""``fastad evaluate``: the measures of detectors whose scores are in files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import typer

from fastad._core.results import json_text, plain_rows, with_versions
from fastad._core.threads import available_threads
from fastad.cli._console import DataError, say, show, show_table
from fastad.cli.readers import ScoredTable, Wanted, read_table
from fastad.cli.writers import FORMATS, save_columns, save_text
from fastad.errors import InvalidInputError
from fastad.evaluation.entry import evaluate
from fastad.evaluation.groups import GroupedEvaluation
from fastad.evaluation.results import Evaluation
from fastad.measures.requests import parse_measures
from fastad.ordering.named_scores import score_name

Result: TypeAlias = Evaluation | GroupedEvaluation


@dataclass(frozen=True, slots=True)
class Certainty:
    """What stands beside the values.

    Attributes
    ----------
    confidence_level : float or None
        Of intervals; None for none.
    chance : bool
        Whether to tell what values are worth by chance.
    n_resamples, seed : int
        Replicates for both.
    """

    confidence_level: float | None = None
    chance: bool = False
    n_resamples: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """What to measure, and what to do with it.

    Attributes
    ----------
    columns : Wanted
        Columns of the files.
    fpr : sequence of float
        Operating points.
    measures : sequence of str or None
        Labels and names of measures; None for the default set.
    score_range : (float, float) or None
        Lowest and highest possible score.
    certainty : Certainty
        Intervals and levels of chance.
    summary : bool
        Whether to average over the last column of groups.
    as_json : bool
        Whether to print JSON.
    output : Path or None
        File to save to.
    """

    columns: Wanted
    fpr: Sequence[float]
    measures: Sequence[str] | None
    score_range: tuple[float, float] | None
    certainty: Certainty
    summary: bool
    as_json: bool
    output: Path | None


def run(files: Sequence[Path], request: Request) -> None:
    """Evaluate each file, print the results and save them."""
    _check_usage(request)
    available_threads()
    results = {str(path): _evaluate_file(path, request) for path in files}
    if request.output is not None:
        _save(results, request, request.output)
    if request.as_json:
        show(_as_json(results, request))
        return
    for name, result in results.items():
        _print_tables(result, request, title=name if len(results) > 1 else "")


def _check_usage(request: Request) -> None:
    if request.output is not None and request.output.suffix.lower() not in FORMATS:
        raise typer.BadParameter(
            f"the ending must be one of {', '.join(FORMATS)}; found {request.output.name!r}",
            param_hint="--output",
        )
    if request.summary and not request.columns.groups:
        raise typer.BadParameter("there is no --group to average over", param_hint="--summary")
    bounds = request.score_range
    if bounds is not None and not bounds[0] < bounds[1]:
        raise typer.BadParameter("the range must rise", param_hint="--score-range")
    level = request.certainty.confidence_level
    if level is not None and not 0 < level < 1:
        raise typer.BadParameter(
            f"it must lie between 0 and 1; found {level}", param_hint="--confidence-level"
        )
    try:
        rates = [Fraction(repr(rate)) for rate in request.fpr]
        if request.measures is not None:
            ranges = None if bounds is None else (Fraction(bounds[0]), Fraction(bounds[1]))
            parse_measures(request.measures, rates, ranges)
    except InvalidInputError as error:
        message = str(error).replace("score_range", "--score-range").replace("; found None", "")
        raise typer.BadParameter(message, param_hint="--measure") from None


def _evaluate_file(path: Path, request: Request) -> Result:
    table = read_table(path, request.columns)
    options: dict[str, Any] = {
        "measures": request.measures,
        "fpr": request.fpr,
        "score_range": request.score_range,
        "pos_label": table.pos_label,
        "confidence_level": request.certainty.confidence_level,
        "chance": request.certainty.chance,
        "n_resamples": request.certainty.n_resamples,
        "rng": request.certainty.seed,
    }
    if table.groups:
        options["groups"] = table.groups
    try:
        result: Result = evaluate(table.labels, table.scores, **options)
    except InvalidInputError as error:
        raise DataError(f"{path}: {about_columns(str(error), table, request.columns)}") from None
    return result


def about_columns(message: str, table: ScoredTable, columns: Wanted) -> str:
    """Return a message about an argument as one about the column that it came from."""
    arguments = {
        "y_true": columns.label,
        **{score_name(name): name for name in table.scores},
        **{f"groups[{name!r}]": name for name in table.groups},
    }
    for argument, column in arguments.items():
        if message.startswith(f"{argument} "):
            about = message[len(argument) :]
            if argument == "y_true":
                about = about.replace("pos_label=", "--pos-label")
            return f"column {column!r}{about}"
    return message


def _print_tables(result: Result, request: Request, title: str) -> None:
    if isinstance(result, GroupedEvaluation):
        if request.summary:
            show_table(result.summary(request.columns.groups[-1]).text_table(), title)
        else:
            show_table(result.text_table(), title)
    else:
        show_table(result.text_table(), title)
        for table in (result.operating_table(), result.chance_table()):
            if table.rows:
                show_table(table)
    for note in result.notes:
        say(note)


def _columns(result: Result, request: Request) -> dict[str, list[Any]]:
    if request.summary and isinstance(result, GroupedEvaluation):
        return result.summary(request.columns.groups[-1]).to_columns()
    return result.to_columns()


def _as_json(results: Mapping[str, Result], request: Request) -> str:
    """Return one list, of detectors or of rows of the summary, each with its file."""
    if request.summary:
        rows = [
            {"file": name, **row}
            for name, result in results.items()
            for row in plain_rows(_columns(result, request))
        ]
        return json_text(with_versions({"summary": rows}), indent=2)
    detectors = [
        {"file": name, **detector}
        for name, result in results.items()
        for detector in result.to_dict()["detectors"]
    ]
    return json_text(with_versions({"detectors": detectors}), indent=2)


def _save(results: Mapping[str, Result], request: Request, output: Path) -> None:
    try:
        if output.suffix.lower() == ".json":
            save_text(_as_json(results, request) + "\n", output)
            return
        together: dict[str, list[Any]] = {}
        for name, result in results.items():
            columns = _columns(result, request)
            n_rows = len(next(iter(columns.values())))
            for key, cells in {"file": [name] * n_rows, **columns}.items():
                together.setdefault(key, []).extend(cells)
        save_columns(together, output)
    except OSError as error:
        raise DataError(f"{output}: the file cannot be written: {error.strerror}") from None

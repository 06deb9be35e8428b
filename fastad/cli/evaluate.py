"""``fastad evaluate``: the measures of detectors whose scores are in files."""

import csv
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import typer

from fastad._files import written_aside
from fastad.cli._console import DataError, say, show, show_table
from fastad.cli.readers import Wanted, read_table
from fastad.errors import InvalidInputError
from fastad.evaluation import evaluate
from fastad.registry import parse_questions
from fastad.report import Evaluation, envelope

_FORMATS = (".csv", ".json")


def run(
    files: Sequence[Path],
    *,
    wanted: Wanted,
    fpr: Sequence[float],
    measures: Sequence[str] | None,
    as_json: bool,
    output: Path | None,
) -> None:
    """Evaluate each file, print the results and save them."""
    _check_usage(fpr, measures, output)
    results = {str(path): _evaluate_file(path, wanted, fpr, measures) for path in files}
    if output is not None:
        try:
            _save(results, output)
        except OSError as error:
            raise DataError(f"{output}: the file cannot be written: {error.strerror}") from None
    if as_json:
        show(_as_json(results))
        return
    for name, result in results.items():
        _print_tables(result, title=name if len(results) > 1 else "")


def _check_usage(fpr: Sequence[float], measures: Sequence[str] | None, output: Path | None) -> None:
    if output is not None and output.suffix.lower() not in _FORMATS:
        raise typer.BadParameter(
            f"the ending must be .csv or .json; found {output.name!r}", param_hint="--output"
        )
    try:
        parse_questions(measures or ["auc"], [Fraction(repr(rate)) for rate in fpr])
    except InvalidInputError as error:
        raise typer.BadParameter(str(error), param_hint="--measure") from None


def _evaluate_file(
    path: Path, wanted: Wanted, fpr: Sequence[float], measures: Sequence[str] | None
) -> Evaluation:
    table = read_table(path, wanted)
    try:
        return evaluate(
            table.labels, table.scores, fpr=fpr, measures=measures, pos_label=table.pos_label
        )
    except InvalidInputError as error:
        message = str(error)
        for name in table.scores:
            shown = "y_score" if name == "score" else f"y_score[{name!r}]"
            message = message.replace(shown, f"column {name!r}")
        message = message.replace("y_true", f"column {wanted.label!r}")
        raise DataError(f"{path}: {message.replace('pos_label=', '--pos-label')}") from None


def _print_tables(result: Evaluation, title: str) -> None:
    show_table(*result.measure_table(), title=title)
    points = result.operating_table()
    if points[1]:
        show_table(*points)
    for remark in result.remarks():
        say(remark)


def _as_json(results: dict[str, Evaluation]) -> str:
    """Return one list of detectors, each with the file that it came from."""
    detectors = [
        {"file": name, **result.to_dict()}
        for name, evaluation in results.items()
        for result in evaluation.values()
    ]
    return json.dumps(envelope(detectors), indent=2, allow_nan=False, ensure_ascii=False)


def _save(results: dict[str, Evaluation], output: Path) -> None:
    with written_aside(output) as aside:
        if output.suffix.lower() == ".json":
            aside.write_text(_as_json(results) + "\n", encoding="utf-8")
            return
        with aside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            for i, (name, result) in enumerate(results.items()):
                columns = result.to_columns()
                if i == 0:
                    writer.writerow(["file", *columns])
                writer.writerows([name, *row] for row in zip(*columns.values(), strict=True))

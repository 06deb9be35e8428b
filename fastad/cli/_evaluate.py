"""``fastad evaluate``: the measures of detectors whose scores are in files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import typer

from fastad._core.parameters import check_choice
from fastad._core.progress import LATE
from fastad._core.results import TableResult, json_text, plain_rows, with_versions
from fastad._core.types import Blocks
from fastad._tables.columns import read_number
from fastad.cli._console import (
    data_from,
    print_message,
    print_result,
    print_table,
    progress_bar,
)
from fastad.cli._saving import PAGE, check_output, save_results
from fastad.cli._scored_tables import ScoreColumns, read_scored_table
from fastad.evaluation.entry import evaluate
from fastad.evaluation.groups import GroupedEvaluation
from fastad.evaluation.results import Evaluation
from fastad.measures.registry import MEASURES
from fastad.measures.requests import function_of
from fastad.ordering.labels import NAN_POLICIES

Result: TypeAlias = Evaluation | GroupedEvaluation


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """What is printed beside the values.

    Attributes
    ----------
    confidence_level : float or None
        Of intervals; None for none.
    chance : bool
        Whether to print the chance level of every value.
    n_resamples, seed : int
        Replicates for both.
    blocks : int, "auto" or None
        Mean length of blocks of rows in the order of time, for intervals and chance levels.
    """

    confidence_level: float | None = None
    chance: bool = False
    n_resamples: int = 2000
    seed: int = 0
    blocks: Blocks | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """What to measure, and what to do with it.

    Attributes
    ----------
    columns : ScoreColumns
        Columns of the files.
    fpr : sequence of float or None
        Operating points; None for those of `evaluate`.
    measures : sequence of str or None
        Labels and names of measures; None for the default set.
    thresholds : sequence of str
        Fixed thresholds: numbers, or detectors with theirs (``forest=0.5``).
    score_range : (float, float) or None
        Lowest and highest possible score.
    nan_policy : str
        Whether scores that are NaN are refused, or left out.
    contamination : float or None
        Fraction of anomalies hidden among the normals.
    uncertainty : Uncertainty
        Intervals and chance levels.
    summary : bool
        Whether to average over the last column of groups.
    as_json : bool
        Whether to print JSON.
    output : Path or None
        File to save to.
    """

    columns: ScoreColumns
    fpr: Sequence[float] | None
    measures: Sequence[str] | None
    thresholds: Sequence[str]
    score_range: tuple[float, float] | None
    nan_policy: str
    contamination: float | None
    uncertainty: Uncertainty
    summary: bool
    as_json: bool
    output: Path | None


def run(files: Sequence[Path], task: Task) -> None:
    """Evaluate each file, print the results and save them."""
    _check_usage(task)
    thresholds = _thresholds(task.thresholds)
    results, messages = {}, []
    for path in files:
        results[str(path)], message = _evaluate_file(path, task, thresholds)
        messages.append(message)
    for message in filter(None, messages):
        print_message(message)
    if task.output is not None:
        shown = {name: _shown(result, task) for name, result in results.items()}
        save_results(shown, task.output, lambda: _as_json(results, task))
    if task.as_json:
        print_result(_as_json(results, task))
        return
    for name, result in results.items():
        _print_tables(result, task, title=name if len(results) > 1 else "")


def _check_usage(task: Task) -> None:
    check_output(task.output)
    check_choice(task.nan_policy, NAN_POLICIES, "nan_policy")
    if task.measures is not None:
        _check_measures(task.measures, task)


def _check_measures(texts: Sequence[str], task: Task) -> None:
    """Check that some measure reads each option of measures."""
    # Others are rates at a threshold, or are refused later.
    measures = [MEASURES[name] for name in map(function_of, texts) if name is not None]
    named = [MEASURES[text] for text in texts if text in MEASURES]
    if task.fpr is not None and not any(
        measure.operating_point is not None and measure.default_points is None for measure in named
    ):
        raise typer.BadParameter(
            "would be ignored: no --measure is a function that takes it, such as tpr_at_fpr; "
            f"found {', '.join(texts)}",
            param_hint="--fpr",
        )
    if task.score_range is not None and not any(measure.takes_score_range for measure in measures):
        raise typer.BadParameter(
            f"would be ignored: no --measure scales scores; found {', '.join(texts)}",
            param_hint="--score-range",
        )


def _thresholds(texts: Sequence[str]) -> list[float] | dict[str, float] | None:
    """Read thresholds: numbers, or one for each detector by its name."""
    # Names may contain the sign.
    named = [text.rpartition("=") for text in texts]
    by_name = {name: _number(number) for name, sign, number in named if sign}
    if not by_name:
        return [_number(text) for text in texts] or None
    if len(by_name) < len(texts):
        raise typer.BadParameter(
            f"must be numbers, or name each detector once (NAME=0.5); found {', '.join(texts)}",
            param_hint="--threshold",
        )
    return by_name


def _number(text: str) -> float:
    try:
        return read_number(text)
    except ValueError:
        raise typer.BadParameter(
            f"must be a number, or a detector with its number (NAME=0.5); found {text!r}",
            param_hint="--threshold",
        ) from None


def _evaluate_file(
    path: Path, task: Task, thresholds: list[float] | dict[str, float] | None
) -> tuple[Result, str]:
    table = read_scored_table(path, task.columns)
    options: dict[str, Any] = {
        "measures": task.measures,
        "threshold": thresholds,
        "score_range": task.score_range,
        "nan_policy": task.nan_policy,
        "contamination": task.contamination,
        "confidence_level": task.uncertainty.confidence_level,
        "chance": task.uncertainty.chance,
        "n_resamples": task.uncertainty.n_resamples,
        "rng": task.uncertainty.seed,
        "clusters": table.clusters,
        "blocks": task.uncertainty.blocks,
    }
    if task.fpr is not None:
        options["fpr"] = task.fpr
    if table.groups:
        options["groups"] = table.groups
    elif task.output is not None:
        options["curves"] = task.output.suffix.lower() == PAGE
    with data_from(path, table.columns), progress_bar("replicates", after=LATE) as progress:
        result: Result = evaluate(table.labels, table.scores, **options, progress=progress)
    return result, table.message


def _print_tables(result: Result, task: Task, title: str) -> None:
    print_table(_shown(result, task).text_table(), title)
    if isinstance(result, Evaluation):
        for table in (result.operating_table(), result.chance_table()):
            if table.rows:
                print_table(table)
    if result.notes:
        print_result("\n".join([*result.notes, ""]))


def _shown(result: Result, task: Task) -> TableResult:
    """Return the result, or its summary where `--summary` is given."""
    if task.summary and isinstance(result, GroupedEvaluation):
        return result.summary(task.columns.groups[-1])
    return result


def _as_json(results: Mapping[str, Result], task: Task) -> str:
    """Return one list, of detectors or of rows of the summary, each with its file."""
    if task.summary:
        rows = [
            {"file": name, **row}
            for name, result in results.items()
            for row in plain_rows(_shown(result, task).to_columns())
        ]
        return json_text(with_versions({"summary": rows}), indent=2)
    detectors = [
        {"file": name, **detector}
        for name, result in results.items()
        for detector in result.to_dict()["detectors"]
    ]
    return json_text(with_versions({"detectors": detectors}), indent=2)

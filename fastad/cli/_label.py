"""``fastad label``: which rows to label, and measures from their labels."""

# Commands import what does their work in their own functions, so that each starts fast.

from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from fastad.cli._console import data_from, handle_errors, print_message, print_result, print_table
from fastad.cli._option_rules import CheckedCommand
from fastad.cli._options import (
    AsJson,
    ConfidenceLevel,
    OneFile,
    Output,
    ScoreColumn,
    SectionedGroup,
    Seed,
    count_option,
)
from fastad.cli._saving import check_output, deliver, writes

if TYPE_CHECKING:
    from fastad._core.results import TableResult
    from fastad._core.types import ScoreVector
    from fastad.labeling import DrawnRows, LabelingDesign

app = typer.Typer(
    name="label",
    cls=SectionedGroup,
    help="Choose rows to label, and estimate measures from their labels.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Target: TypeAlias = Annotated[
    list[str],
    typer.Option(
        help='What labels are to tell: "tpr@0.01 a vs b", "auc a", "missed@threshold2.5 a"; may be '
        "repeated."
    ),
]
Budget: TypeAlias = Annotated[int, count_option("Number of rows to label.")]
_GUESS = "Expected {}, a guess that labels replace."
Prevalence: TypeAlias = Annotated[float, typer.Option(help=_GUESS.format("fraction of anomalies"))]
Auc: TypeAlias = Annotated[float, typer.Option(help=_GUESS.format("area under the ROC curve"))]
Labeled: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(help="Rows of an earlier round with their labels; may be repeated."),
]


@app.command(cls=CheckedCommand)
@handle_errors
def plan(
    *,
    file: OneFile,
    target: Target,
    budget: Budget,
    score: ScoreColumn = None,
    prevalence: Prevalence = 0.01,
    auc: Auc = 0.9,
    labeled: Labeled = None,
    confidence_level: ConfidenceLevel = 0.95,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Print what labels are expected to tell, beside labels drawn uniformly."""
    check_output(output)
    options = {"target": target, "budget": budget, "prevalence": prevalence, "auc": auc}
    result = _design(file, score, labeled, confidence_level=confidence_level, **options)
    _deliver(result, file, as_json=as_json, output=output)


@app.command(cls=CheckedCommand)
@handle_errors
def draw(
    *,
    file: OneFile,
    target: Target,
    budget: Budget,
    output: Annotated[
        Path,
        typer.Option(
            help="File of the rows, .csv, .parquet or .arrow, whose column label is to be filled "
            "in. Rows that it has already stay."
        ),
    ],
    score: ScoreColumn = None,
    prevalence: Prevalence = 0.01,
    auc: Auc = 0.9,
    labeled: Labeled = None,
    seed: Seed = 0,
) -> None:
    """Draw the rows to label, and save them."""
    from fastad.labeling import draw as draw_rows
    from fastad.labeling.drawn_rows import check_file

    check_file(output)
    options = {"target": target, "budget": budget, "prevalence": prevalence, "auc": auc}
    design = _design(file, score, labeled, **options)
    with data_from(""), writes(output):
        drawn = draw_rows(design, path=output, rng=seed)
    print_result(_status(output, drawn))


@app.command(cls=CheckedCommand)
@handle_errors
def status(
    *,
    files: Annotated[
        list[Path], typer.Argument(metavar="ROWS…", help="Files that draw has saved.")
    ],
) -> None:
    """Print how many rows have labels."""
    for path, drawn in zip(files, _read_rounds(files), strict=True):
        print_result(_status(path, drawn))


@app.command(cls=CheckedCommand)
@handle_errors
def evaluate(
    *,
    file: OneFile,
    target: Target,
    labeled: Annotated[
        list[Path], typer.Option(help="Rows with their labels; repeated for each round.")
    ],
    score: ScoreColumn = None,
    confidence_level: ConfidenceLevel = 0.95,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Print measures of all rows, as the labels of some show them."""
    from fastad.labeling import estimate

    check_output(output)
    rounds = _read_rounds(labeled)
    scores = _read_scores(file, score, rounds[0].scores)
    with data_from(file):
        result = estimate(scores, rounds, target=target, confidence_level=confidence_level)
    _deliver(result, file, as_json=as_json, output=output)


def _design(
    file: Path, score: list[str] | None, labeled: list[Path] | None, **options: Any
) -> "LabelingDesign":
    from fastad.labeling import design

    rounds = _read_rounds(labeled or [])
    scores = _read_scores(file, score)
    with data_from(file):
        return design(scores, labeled=rounds, **options)


def _read_scores(
    file: Path, score: list[str] | None, drawn: Container[str] = ()
) -> "dict[str, ScoreVector]":
    """Read the named columns, or the columns of drawn rows, or all that may be scores."""
    from fastad._tables.columns import Numbers
    from fastad._tables.detectors import find_detectors
    from fastad._tables.table import Table

    table = Table(file)
    score = score or [name for name in table.names if name in drawn]
    if not score:
        detectors = find_detectors(table, [])
        print_message(detectors.message(table.title))
        score = list(detectors.names)
    table.check(score, "score_columns")
    return table.read(dict.fromkeys(score, Numbers()))


def _read_rounds(paths: list[Path]) -> "list[DrawnRows]":
    from fastad.labeling import read_drawn

    with data_from(""):
        return [read_drawn(path) for path in paths]


def _status(path: Path, drawn: "DrawnRows") -> str:
    """Return how many rows of a file have labels, and of how many these are a sample."""
    n, n_anomalies = drawn.row.shape[0], int((drawn.label == 1).sum())
    text = f"{path}: round {drawn.round}, {drawn.n_labeled} of {n} rows have labels"
    if drawn.n_labeled:
        text += f", {n_anomalies} are anomalies"
    if drawn.n_complete < drawn.n_labeled:
        text += f"; the first one without is number {drawn.n_complete + 1}"
    return text


def _deliver(result: "TableResult", file: Path, **options: Any) -> None:
    def print_text() -> None:
        print_table(result.text_table())
        print_result("\n".join(result.notes))

    deliver({str(file): result}, lambda: result.to_json(indent=2), print_text, **options)

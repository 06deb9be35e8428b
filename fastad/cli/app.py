"""The commands and their options; each calls one function that does the work."""

# Commands import what does their work in their own functions, so that each starts fast.

from pathlib import Path
from typing import Annotated, Any

import typer

import fastad
from fastad.cli._comparison_commands import compare, compare_runs, gate
from fastad.cli._console import WRONG_USAGE, handle_errors, print_result
from fastad.cli._detector_commands import evaluate_unsupervised, volume
from fastad.cli._label import app as label_app
from fastad.cli._option_rules import CheckedCommand
from fastad.cli._options import (
    HELP_OPTIONS,
    AsJson,
    BlockLength,
    Clusters,
    ConfidenceLevel,
    Files,
    LabelColumn,
    Output,
    PosLabel,
    Rates,
    Resamples,
    ScoreColumn,
    SectionedGroup,
    Seed,
    block_length,
    count_option,
)
from fastad.cli._study import app as study_app

# Sections of the help.
_SCORES = "Scores with labels"
_MANY = "Many data sets"
_DETECTORS = "Detectors, fitted or to be fitted"
_INSTALLATION = "Installation"

app = typer.Typer(
    name="fastad",
    cls=SectionedGroup,
    context_settings=HELP_OPTIONS,
    help="Measure how good anomaly detectors are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(study_app, rich_help_panel=_MANY)


def _version(value: bool) -> None:  # noqa: FBT001 - typer's form of a callback
    if value:
        print_result(fastad.__version__)
        raise typer.Exit


@app.callback()
def _common(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(cls=CheckedCommand, rich_help_panel=_SCORES)
@handle_errors
def evaluate(
    *,
    files: Files,
    label: LabelColumn = "y",
    score: ScoreColumn = None,
    pos_label: PosLabel = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a segment, data set or fold, each evaluated by itself; may be repeated."
        ),
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of the kind of each anomaly: prints the TPR of each kind at the same "
            "thresholds; may be repeated, for family and technique."
        ),
    ] = None,
    segments: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of the segment of each normal sample: prints the FPR of each segment; "
            "may be repeated."
        ),
    ] = None,
    overlap: Annotated[
        str, typer.Option(help="Rows of several kinds or segments: raise, or count them in each.")
    ] = "raise",
    events_per_day: Annotated[
        float | None, typer.Option(help="Normal events a day: prints false alarms a day.")
    ] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Print mean ± std over the last --group.")
    ] = False,
    fpr: Rates = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help='Measure, by key ("auc", "tpr@0.01") or function ("tpr_at_fpr"); may be repeated.'
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            help="Threshold that is in use, or NAME=NUMBER for each detector: prints rates and "
            "alarms at it; may be repeated."
        ),
    ] = None,
    score_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH",
            help="Lowest and highest possible score, for measures that scale scores.",
        ),
    ] = None,
    nan_policy: Annotated[
        str, typer.Option(help="Rows without a score (NaN): raise, or omit them and count them.")
    ] = "raise",
    contamination: Annotated[
        float | None,
        typer.Option(
            help="Fraction of anomalies hidden among the samples that are labelled normal: all "
            "values are corrected for them."
        ),
    ] = None,
    ci: Annotated[
        bool, typer.Option("--ci", help="Put a confidence interval beside every value.")
    ] = False,
    confidence_level: ConfidenceLevel = 0.95,
    clusters: Clusters = None,
    blocks: BlockLength = None,
    chance: Annotated[
        bool, typer.Option("--chance", help="Print the chance level of every value.")
    ] = False,
    n_resamples: Resamples = 2000,
    seed: Seed = 0,
    as_json: AsJson = False,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Read files or folders of any size batch by batch, in so much memory (512MB): "
            "values come with bounds that are certain."
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Read them again until values are exact.")
    ] = False,
    output: Output = None,
) -> None:
    """Print the measures of detectors whose scores and labels are in files."""
    from fastad._tables.files import STDIN
    from fastad.cli import _evaluate
    from fastad.cli._scored_tables import ScoreColumns

    may_miss = nan_policy == "omit"
    columns = ScoreColumns(
        label,
        score or None,
        group or [],
        pos_label,
        may_miss,
        clusters,
        kinds or [],
        segments or [],
    )
    options: dict[str, Any] = {"measures": measure or None, "fpr": fpr or None}
    options |= {"overlap": overlap, "events_per_day": events_per_day, "score_range": score_range}
    _evaluate.check_measures(options, has_parts=bool(columns.parts))
    in_memory = chance or threshold or summary or nan_policy != "raise"
    in_memory = in_memory or any(each is not None for each in (contamination, clusters, blocks))
    # With --memory the standard input is refused unread.
    counts = _evaluate.have_counts([x for x in files if not memory or x != STDIN], label)
    if counts:
        _evaluate.refuse_for_counts(
            files,
            {
                "--score": score,
                "--pos-label": pos_label,
                "--threshold": threshold,
                "--nan-policy": nan_policy != "raise",
                "--contamination": contamination is not None,
                "--chance": chance,
                "--clusters": clusters,
                "--blocks": blocks,
                "--summary": summary,
                "--memory": memory,
                "--kinds": kinds,
                "--segments": segments,
            },
        )
    if counts or memory is not None or (not in_memory and _evaluate.needs_passes(files)):
        if not counts:
            options |= {"memory": memory or _evaluate.DEFAULT_MEMORY, "exact": exact}
        if ci:
            options |= {"confidence_level": confidence_level, "n_resamples": n_resamples}
            options["rng"] = seed
        _evaluate.run_streamed(
            files, columns, options, counts=counts, as_json=as_json, output=output
        )
        return
    options |= {
        "nan_policy": nan_policy,
        "contamination": contamination,
        "confidence_level": confidence_level if ci else None,
        "chance": chance,
        "n_resamples": n_resamples,
        "rng": seed,
        "blocks": block_length(blocks),
    }
    _evaluate.run(
        files,
        columns,
        options,
        thresholds=threshold or [],
        summary=summary,
        as_json=as_json,
        output=output,
    )


app.command(cls=CheckedCommand, rich_help_panel=_SCORES)(handle_errors(compare))
# Its exit code 1 is a verdict.
app.command(cls=CheckedCommand, rich_help_panel=_SCORES)(
    handle_errors(gate, wrong_data=WRONG_USAGE)
)


@app.command(cls=CheckedCommand, rich_help_panel=_SCORES)
@handle_errors
def explain(
    *,
    files: Files,
    value: Annotated[
        str, typer.Option(help="The number that was printed, with all its digits: 0.5250.")
    ],
    measure: Annotated[
        str | None,
        typer.Option(help='What it was printed as, by key: "auc", "ap", …. By default any.'),
    ] = None,
    label: LabelColumn = "y",
    score: ScoreColumn = None,
    pos_label: PosLabel = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a fold, data set or region, over which others may have averaged; "
            "may be repeated."
        ),
    ] = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Find the definition by which a printed number was computed."""
    from fastad.cli._explain import run
    from fastad.cli._scored_tables import ScoreColumns

    columns = ScoreColumns(label, score or None, group or [], pos_label)
    options = {"value": value, "measure": measure}
    run(files, columns, options, as_json=as_json, output=output)


@app.command(cls=CheckedCommand, rich_help_panel=_SCORES)
@handle_errors
def counts(
    *,
    sql: Annotated[
        str, typer.Option(help="Dialect: duckdb, clickhouse, postgres, spark or bigquery.")
    ],
    table: Annotated[str, typer.Option(help="Table, or what else stands behind FROM.")],
    score: Annotated[str, typer.Option(help="Column of scores, higher is more anomalous.")],
    label: LabelColumn = "y",
    group: Annotated[
        list[str] | None,
        typer.Option(help="Column whose values divide the rows into groups; may be repeated."),
    ] = None,
    bins: Annotated[int, count_option("Number of bins.")] = 4096,
    refine: Annotated[
        Path | None,
        typer.Option(help="Result of the query, whose bins are split where --measure needs it."),
    ] = None,
    measure: Annotated[
        str | None, typer.Option(help='Measure to refine, by key: "auc", "tpr@0.001".')
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="Largest error of the measure; 0 counts single values.")
    ] = 0.0,
) -> None:
    """Print the query by which a database counts scores, for evaluate to read its result."""
    from fastad.cli._counts import run

    if refine is not None and measure is None:
        raise typer.BadParameter("needs --measure", param_hint="--refine")
    columns = {"score_column": score, "label_column": label, "group_columns": group or []}
    run({"sql": sql, "table": table, **columns, "bins": bins}, refine, measure, tolerance)


app.add_typer(label_app, rich_help_panel=_SCORES)
# In the order of the help.
app.command(cls=CheckedCommand, rich_help_panel=_MANY)(handle_errors(compare_runs))
app.command(cls=CheckedCommand, rich_help_panel=_DETECTORS)(handle_errors(volume))
app.command(cls=CheckedCommand, rich_help_panel=_DETECTORS)(handle_errors(evaluate_unsupervised))


@app.command(cls=CheckedCommand, rich_help_panel=_INSTALLATION)
@handle_errors
def demo(
    output: Annotated[Path, typer.Option(help="Folder for the scores and the figure.")] = Path(
        "fastad-demo"
    ),
) -> None:
    """Train four detectors on drawn data, and evaluate them."""
    from fastad.cli._demo import run

    run(output)


@app.command(cls=CheckedCommand, rich_help_panel=_INSTALLATION)
@handle_errors
def warmup() -> None:
    """Compile everything into the cache, so that later processes start fast."""
    from fastad.cli._warmup import warm_up

    warm_up()


@app.command(cls=CheckedCommand, rich_help_panel=_INSTALLATION)
@handle_errors
def doctor() -> None:
    """Print versions, cache folder, threads, and what the sort runs on."""
    from fastad.cli._installation import diagnose

    diagnose()

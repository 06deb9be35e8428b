"""The commands and their options; each calls one function that does the work."""

# Commands import what does their work in their own functions, so that each starts fast.

from pathlib import Path
from typing import Annotated

import typer

import fastad
from fastad.cli._console import handle_errors, print_result
from fastad.cli._detector_commands import evaluate_unsupervised, volume
from fastad.cli._option_rules import CheckedCommand
from fastad.cli._options import (
    AsJson,
    BlockLength,
    Clusters,
    ConfidenceLevel,
    Files,
    LabelColumn,
    OneFile,
    PosLabel,
    Rates,
    Resamples,
    ScoreColumn,
    Seed,
    block_length,
)
from fastad.cli._study import app as study_app

app = typer.Typer(
    name="fastad",
    help="Measure how good anomaly detectors are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(study_app)


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


@app.command(cls=CheckedCommand)
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
            help="Column of a segment, data set or fold, each evaluated by itself; "
            "may be repeated.",
        ),
    ] = None,
    summary: Annotated[
        bool,
        typer.Option("--summary", help="Print mean ± std over the last --group."),
    ] = False,
    fpr: Rates = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help='Measure, by label ("auc", "tpr@0.01") or function ("tpr_at_fpr"); '
            "may be repeated.",
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            help="Threshold that is in use, or NAME=NUMBER for each detector: prints rates and "
            "alarms at it; may be repeated.",
        ),
    ] = None,
    score_range: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Lowest and highest possible score, for measures that scale scores."),
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
        bool, typer.Option("--chance", help="Print the level of chance of every value.")
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
        bool,
        typer.Option("--exact", help="Read them again until values are exact."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="Save to a .csv, .json, .parquet, .arrow, .md or .tex file too."),
    ] = None,
) -> None:
    """Print the measures of detectors whose scores and labels are in files."""
    from fastad.cli import _streamed
    from fastad.cli._evaluate import Task, Uncertainty, run
    from fastad.cli._saving import check_output
    from fastad.cli.table_files import ScoreColumns

    columns = ScoreColumns(
        label,
        score or None,
        group or [],
        pos_label,
        may_miss=nan_policy == "omit",
        clusters=clusters,
    )
    in_memory = ci or chance or threshold or score_range or summary or nan_policy != "raise"
    in_memory = in_memory or contamination is not None
    if memory is not None or (not in_memory and _streamed.needs_passes(files)):
        check_output(output)
        _streamed.run(
            files,
            columns,
            _streamed.Passes(memory, exact),
            measures=measure or None,
            fpr=fpr or None,
            as_json=as_json,
            output=output,
        )
        return
    run(
        files,
        Task(
            columns=columns,
            fpr=fpr or None,
            measures=measure or None,
            thresholds=threshold or [],
            score_range=score_range,
            nan_policy=nan_policy,
            contamination=contamination,
            uncertainty=Uncertainty(
                confidence_level if ci else None,
                chance=chance,
                n_resamples=n_resamples,
                seed=seed,
                blocks=block_length(blocks),
            ),
            summary=summary,
            as_json=as_json,
            output=output,
        ),
    )


@app.command(cls=CheckedCommand)
@handle_errors
def compare(
    *,
    file: OneFile,
    label: LabelColumn = "y",
    score: ScoreColumn = None,
    pos_label: PosLabel = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a segment, data set or fold, in each of which detectors are compared; "
            "may be repeated. P-values are corrected for the comparisons of all groups.",
        ),
    ] = None,
    independent: Annotated[
        Path | None,
        typer.Option(
            help="Table of other samples, such as those of another week or site: the measure of "
            "each detector here is compared with that there, unpaired.",
        ),
    ] = None,
    measure: Annotated[
        str, typer.Option(help='What to compare, by label: "auc", "tpr@0.01", ….')
    ] = "auc",
    method: Annotated[
        str,
        typer.Option(
            help="auto, delong, bootstrap or permutation; with --independent also hybrid."
        ),
    ] = "auto",
    clusters: Clusters = None,
    blocks: BlockLength = None,
    correction: Annotated[
        str,
        typer.Option(help="For several comparisons: holm, benjamini-hochberg, bonferroni or none."),
    ] = "holm",
    confidence_level: ConfidenceLevel = 0.95,
    min_difference: Annotated[
        float | None,
        typer.Option(help="Print how many anomalies it takes to detect a difference of this size."),
    ] = None,
    n_resamples: Resamples = 2000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare two or more detectors on the same data, or each on two data sets."""
    from fastad.cli._compare import run_compare
    from fastad.cli._compare_independent import run_compare_independent
    from fastad.cli.table_files import ScoreColumns

    columns = ScoreColumns(label, score or None, group or [], pos_label, clusters=clusters)
    options = {
        "measure": measure,
        "method": method,
        "confidence_level": confidence_level,
        "n_resamples": n_resamples,
        "rng": seed,
    }
    if independent is not None:
        run_compare_independent(
            (file, independent), columns, options, correction=correction, as_json=as_json
        )
        return
    paired = {
        "correction": correction,
        "min_difference": min_difference,
        "blocks": block_length(blocks),
    }
    run_compare(file, columns, {**options, **paired}, as_json=as_json)


@app.command(cls=CheckedCommand)
@handle_errors
def explain(
    *,
    files: Files,
    value: Annotated[
        str,
        typer.Option(help="The number that was printed, with all its digits: 0.5250."),
    ],
    measure: Annotated[
        str | None,
        typer.Option(help='What it was printed as, by label: "auc", "ap", …. By default any.'),
    ] = None,
    label: LabelColumn = "y",
    score: ScoreColumn = None,
    pos_label: PosLabel = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a fold, data set or region, over which others may have averaged; "
            "may be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the definition by which a printed number was computed."""
    from fastad.cli._explain import run
    from fastad.cli.table_files import ScoreColumns

    columns = ScoreColumns(label, score or None, group or [], pos_label)
    run(files, columns, {"value": value, "measure": measure}, as_json=as_json)


@app.command(cls=CheckedCommand)
@handle_errors
def compare_runs(
    *,
    files: Files,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="Column of the data set, by default dataset; may be repeated."),
    ] = None,
    detector: Annotated[
        str | None, typer.Option(help="Column of the detector, by default detector.")
    ] = None,
    params: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a parameter of the detector; may be repeated. By default params, where "
            "there is one.",
        ),
    ] = None,
    fold: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of the fold or repeat; may be repeated. By default fold, where there is "
            "one.",
        ),
    ] = None,
    anomaly_class: Annotated[
        str | None,
        typer.Option(
            help="Column of the class of the anomalies. By default anomaly_class, where there is "
            "one.",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure to compare with others, a column; may be repeated. By default all that "
            "fastad knows.",
        ),
    ] = None,
    higher_is_better: Annotated[
        list[str] | None,
        typer.Option(help="Column of a measure that fastad does not know; may be repeated."),
    ] = None,
    lower_is_better: Annotated[
        list[str] | None,
        typer.Option(help="Column of a measure that fastad does not know; may be repeated."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Measure by which detectors are compared. By default tpr@ at --operating-fpr, "
            "else auc.",
        ),
    ] = None,
    operating_fpr: Annotated[
        float | None,
        typer.Option(help="False positive rate at which the detector will be used."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="Measure from whose ranking the distances of the others are taken."),
    ] = None,
    control: Annotated[
        str | None, typer.Option(help="Detector to compare the others with.")
    ] = None,
    confidence_level: ConfidenceLevel = 0.95,
    n_resamples: Resamples = 2000,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option(help="Folder to save tables and figures to.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare detectors, measures and operating points on many data sets."""
    from fastad.cli._compare import run_compare_runs
    from fastad.cli.table_files.results import ResultColumns

    run_compare_runs(
        files,
        ResultColumns(
            dataset or [],
            detector,
            params or [],
            fold or [],
            anomaly_class,
            higher_is_better or [],
            lower_is_better or [],
        ),
        {
            "measures": measure or None,
            "measure": by,
            "operating_fpr": operating_fpr,
            "reference": reference,
            "control": control,
            "confidence_level": confidence_level,
            "n_resamples": n_resamples,
            "rng": seed,
        },
        output=output,
        as_json=as_json,
    )


# In the order of the help.
app.command(cls=CheckedCommand)(handle_errors(volume))
app.command(cls=CheckedCommand)(handle_errors(evaluate_unsupervised))


@app.command(cls=CheckedCommand)
@handle_errors
def demo(
    output: Annotated[Path, typer.Option(help="Folder for the scores and the figure.")] = Path(
        "fastad-demo"
    ),
) -> None:
    """Train four detectors on real data, and compare them."""
    from fastad.cli._demo import run

    run(output)


@app.command(cls=CheckedCommand)
@handle_errors
def warmup() -> None:
    """Compile everything into the cache, so that later processes start fast."""
    from fastad.cli._warmup import warm_up

    warm_up()


@app.command(cls=CheckedCommand)
@handle_errors
def doctor() -> None:
    """Print versions, cache folder, threads, and what the sort runs on."""
    from fastad.cli._installation import diagnose

    diagnose()

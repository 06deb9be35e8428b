"""The commands that compare detectors, and their options."""

# They import what does their work in their own functions, so that each starts fast.

from pathlib import Path
from typing import Annotated

import typer

from fastad.cli._options import (
    AsJson,
    BlockLength,
    Clusters,
    ConfidenceLevel,
    Files,
    LabelColumn,
    OneFile,
    Output,
    PosLabel,
    Resamples,
    ScoreColumn,
    Seed,
    block_length,
)

UnknownMeasures = Annotated[
    list[str] | None,
    typer.Option(help="Column of a measure that fastad does not know; may be repeated."),
]


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
            "may be repeated. P-values are corrected for the comparisons of all groups."
        ),
    ] = None,
    independent: Annotated[
        Path | None,
        typer.Option(
            help="Table of other samples, such as those of another week or site: the measure of "
            "each detector here is compared with that there, unpaired."
        ),
    ] = None,
    measure: Annotated[
        str, typer.Option(help='What to compare, by key: "auc", "tpr@0.01", ….')
    ] = "auc",
    method: Annotated[
        str,
        typer.Option(
            help="auto, delong, student, bootstrap or permutation; with --independent exact and "
            "hybrid, and not student."
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
    output: Output = None,
) -> None:
    """Compare two or more detectors on the same data, or each on two data sets."""
    from fastad.cli._compare import run_compare, run_compare_independent
    from fastad.cli._scored_tables import ScoreColumns

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
    run_compare(file, columns, {**options, **paired}, as_json=as_json, output=output)


def gate(
    *,
    policy: Annotated[
        Path, typer.Argument(metavar="POLICY.toml", help="What the new detector must fulfil.")
    ],
    new: Annotated[
        Path,
        typer.Argument(
            metavar="NEW", help="Table with the new detector's scores; with --power the old one's."
        ),
    ],
    old: Annotated[
        Path | None, typer.Argument(metavar="OLD", help="Table with the old detector's scores.")
    ] = None,
    power: Annotated[
        bool,
        typer.Option(
            "--power", help="Print how often the policy passes a new detector, from the old alone."
        ),
    ] = False,
    loss: Annotated[float, typer.Option(help="Supposed loss of the new detector.")] = 0.0,
    as_json: AsJson = False,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            help="Save to a file too: .xml (JUnit), .md, .json, .csv, .parquet, .html, …; may be "
            "repeated."
        ),
    ] = None,
) -> None:
    """Decide whether a new detector may replace the old one: 0 pass, 1 fail, 3 not enough data."""
    from fastad.cli._gate import run_gate

    if power and old is not None:
        raise typer.BadParameter("one table is enough with --power", param_hint="OLD")
    if not power and old is None:
        raise typer.BadParameter("the old detector's table is missing", param_hint="OLD")
    raise typer.Exit(run_gate(policy, new, old, loss, as_json=as_json, outputs=output or []))


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
            "there is one."
        ),
    ] = None,
    fold: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of the fold or repeat; may be repeated. By default fold, where there is "
            "one."
        ),
    ] = None,
    anomaly_class: Annotated[
        str | None,
        typer.Option(
            help="Column of the class of the anomalies. By default anomaly_class, where there is "
            "one."
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure to compare with others, a column; may be repeated. By default all that "
            "fastad knows."
        ),
    ] = None,
    higher_is_better: UnknownMeasures = None,
    lower_is_better: UnknownMeasures = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Measure by which detectors are compared. By default tpr@ at --operating-fpr, "
            "else auc."
        ),
    ] = None,
    operating_fpr: Annotated[
        float | None, typer.Option(help="False positive rate at which the detector will be used.")
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
    from fastad.cli._compare_runs import run_compare_runs

    columns = {
        "dataset_columns": dataset,
        "detector_column": detector,
        "params_columns": params,
        "fold_columns": fold,
        "anomaly_class_column": anomaly_class,
    }
    run_compare_runs(
        files,
        {argument: names for argument, names in columns.items() if names},
        {"--higher-is-better": higher_is_better or [], "--lower-is-better": lower_is_better or []},
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

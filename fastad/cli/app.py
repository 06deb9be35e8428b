"""The commands."""

from pathlib import Path
from typing import Annotated

import typer

import fastad
from fastad.cli._console import ends_cleanly, show

app = typer.Typer(
    name="fastad",
    help="Measure how good anomaly detectors are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(value: bool) -> None:  # noqa: FBT001 - typer's form of a callback
    if value:
        show(fastad.__version__)
        raise typer.Exit


@app.callback()
def _common(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
@ends_cleanly
def evaluate(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Tables: .csv, .npz, .parquet, .arrow."),
    ],
    label: Annotated[
        str, typer.Option(help="Column of the labels: 1 for an anomaly, 0 for a normal point.")
    ] = "y",
    score: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of scores, higher is more anomalous; may be repeated. "
            "By default every other column.",
        ),
    ] = None,
    pos_label: Annotated[
        str | None, typer.Option(help="Label of the anomalies where labels are not 0 and 1.")
    ] = None,
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
    fpr: Annotated[
        list[float] | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="False positive rate of interest; may be repeated. By default 0.01 and 0.05.",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help='Measure, by label ("auc", "tpr@0.01") or function ("tpr_at_fpr"); '
            "may be repeated.",
        ),
    ] = None,
    score_range: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Lowest and highest possible score, for measures that scale scores."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    output: Annotated[
        Path | None, typer.Option(help="Save to a .csv, .json, .parquet or .arrow file too.")
    ] = None,
) -> None:
    """Print the measures of detectors whose scores and labels are in files."""
    from fastad.cli.evaluate import Request, run
    from fastad.cli.readers import Wanted

    run(
        files,
        Request(
            columns=Wanted(label, score or None, group or [], pos_label),
            fpr=fpr or [0.01, 0.05],
            measures=measure or None,
            score_range=score_range,
            summary=summary,
            as_json=as_json,
            output=output,
        ),
    )


@app.command()
@ends_cleanly
def demo(
    output: Annotated[Path, typer.Option(help="Folder for the scores and the picture.")] = Path(
        "fastad-demo"
    ),
) -> None:
    """Train four detectors on real data, and compare them."""
    from fastad.cli.demo import run

    run(output)


@app.command()
@ends_cleanly
def warmup() -> None:
    """Compile everything into the cache, so that later processes start fast."""
    from fastad.cli.warmup import run

    run()


@app.command()
@ends_cleanly
def doctor() -> None:
    """Print versions, cache folder, threads, and what the sort runs on."""
    from fastad.cli.doctor import run

    run()

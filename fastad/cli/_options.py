"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

OneFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="Table: .csv, .npz, .parquet, .arrow.")
]
LabelColumn: TypeAlias = Annotated[
    str, typer.Option(help="Column of the labels: 1 for an anomaly, 0 for a normal point.")
]
PosLabel: TypeAlias = Annotated[
    str | None, typer.Option(help="Label of the anomalies where labels are not 0 and 1.")
]
Level: TypeAlias = Annotated[float, typer.Option(help="Of the intervals, in (0, 1).")]
Model: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(help="Fitted detector, saved with joblib; may be repeated. Needs --trust."),
]
Trust: TypeAlias = Annotated[
    bool,
    typer.Option("--trust", help="Load --model, which runs whatever code is in the file."),
]
Standardize: TypeAlias = Annotated[
    bool, typer.Option("--standardize", help="Standardise the features before fitting.")
]
Feature: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of a feature; may be repeated. By default every other column, of an "
        ".npz file the matrix X.",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Of the replicates.")]

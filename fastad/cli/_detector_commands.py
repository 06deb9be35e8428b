"""The commands that fit or load detectors, and their options."""

# They import what does their work in their own functions, so that each starts fast.

from pathlib import Path
from typing import Annotated

import typer

from fastad.cli._options import (
    AsJson,
    ConfidenceLevel,
    Feature,
    Model,
    OneFile,
    Output,
    PosLabel,
    Rates,
    Resamples,
    Seed,
    Standardize,
    Trust,
    count_option,
)


def volume(
    *,
    file: OneFile,
    model: Model = None,
    trust: Trust = False,
    detector: Annotated[
        list[str] | None,
        typer.Option(
            help="Detector to fit on the normal rows: iforest, knn, lof, mahalanobis or ocsvm; "
            "may be repeated."
        ),
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="Table to fit on instead; its normal rows.")
    ] = None,
    standardize: Standardize = False,
    feature: Feature = None,
    label: Annotated[
        str | None,
        typer.Option(
            help="Column of the labels: 1 for an anomaly, 0 for a normal sample. By default y; "
            "without it all rows are normal."
        ),
    ] = None,
    pos_label: PosLabel = None,
    fpr: Rates = None,
    method: Annotated[str, typer.Option(help="auto, uniform, sobol, splitting or exact.")] = "auto",
    n_draws: Annotated[int | None, count_option("Monte Carlo points; with --rtol at most.")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative error to reach, in (0, 1).")] = None,
    margin: Annotated[
        float,
        typer.Option(min=0.0, help="Widen the box on both sides by this fraction of its widths."),
    ] = 0.0,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Print the fraction of the data's box that detectors classify as normal."""
    from fastad.cli._detectors import Detectors, FeatureColumns
    from fastad.cli._volume import run

    run(
        file,
        FeatureColumns(feature or None, label, pos_label),
        Detectors(model or [], trust, detector or [], train, standardize),
        {
            "fpr": fpr or [0.01, 0.05],
            "method": method,
            "n_draws": n_draws,
            "rtol": rtol,
            "confidence_level": confidence_level,
            "rng": seed,
        },
        margin=margin,
        as_json=as_json,
        output=output,
    )


def evaluate_unsupervised(
    *,
    file: OneFile,
    model: Model = None,
    trust: Trust = False,
    detector: Annotated[
        list[str] | None,
        typer.Option(
            help="Detector to train on one half of the rows and evaluate on the other: iforest, "
            "knn, lof, mahalanobis or ocsvm; may be repeated."
        ),
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="Table to train on instead; then all rows are evaluated.")
    ] = None,
    standardize: Standardize = False,
    feature: Feature = None,
    label: Annotated[
        str | None,
        typer.Option(help="Column of labels, by default y: it is no feature, and not used."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="How volumes are estimated: auto, uniform, sobol or splitting.")
    ] = "auto",
    n_draws: Annotated[int | None, count_option("Monte Carlo points for each detector.")] = None,
    n_features: Annotated[
        int | None, typer.Option(min=1, help="Evaluate in random subspaces of this many features.")
    ] = None,
    n_subspaces: Annotated[int | None, count_option("Number of subspaces. By default 50.")] = None,
    mass: Annotated[
        tuple[float, float],
        typer.Option(metavar="LOW HIGH", help="Masses between which MV is the area."),
    ] = (0.9, 0.999),
    excess_mass: Annotated[
        float, typer.Option(help="Excess mass at which the area EM ends, in (0, 1).")
    ] = 0.9,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Rank detectors on data without labels, with the differences that are significant."""
    from fastad.cli._detectors import Detectors, FeatureColumns
    from fastad.cli._unsupervised import run

    run(
        file,
        FeatureColumns(feature or None, label, None),
        Detectors(model or [], trust, detector or [], train, standardize),
        {
            "method": method,
            "n_draws": n_draws,
            "mass": mass,
            "excess_mass": excess_mass,
            "n_resamples": n_resamples,
            "confidence_level": confidence_level,
            "rng": seed,
        },
        n_subspaces=n_subspaces,
        n_features=n_features,
        as_json=as_json,
        output=output,
    )

"""``fastad evaluate-unlabelled``: which detectors are better, without labels."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fastad._threads import available_threads
from fastad._types import FloatMatrix
from fastad.cli._console import DataError, say, show, show_table
from fastad.cli.detectors import (
    Columns,
    Detectors,
    bad_option,
    check_known,
    check_usage,
    check_width,
    compile_named,
    fit,
    load,
    read_samples,
    shown_progress,
    unfitted,
)
from fastad.errors import InvalidInputError
from fastad.unlabelled.evaluation import evaluate_unlabelled
from fastad.unlabelled.ranking import CRITERIA
from fastad.unlabelled.subsampled import emmv_subsampled
from fastad.unlabelled.table import UnlabelledEvaluation

# Options of the functions that are options of the command.
_OPTIONS = (
    *("method", "n_samples", "mass", "excess_mass", "n_resamples", "confidence_level"),
    *("n_draws", "n_features"),
)
# Of more features no uniform draw of 10⁵ sees the volumes that matter.
_MANY_FEATURES = 8


@dataclass(frozen=True, slots=True)
class Draws:
    """Random subspaces, in which detectors are trained.

    Attributes
    ----------
    n_draws : int
        How many.
    n_features : int or None
        Features of each; None for no subspaces.
    """

    n_draws: int
    n_features: int | None


def run(
    path: Path,
    columns: Columns,
    detectors: Detectors,
    options: Mapping[str, Any],
    draws: Draws,
    *,
    as_json: bool,
) -> None:
    """Load or train detectors, judge them on data that they have not seen, and print a ranking."""
    check_usage(detectors)
    _check_draws(detectors, draws, options)
    available_threads()
    loaded = {str(model): load(model) for model in detectors.models}
    data = read_samples(path, columns, loaded)
    train, test = data.X, data.X
    if detectors.train is not None:
        other = read_samples(detectors.train, columns, {})
        check_width(detectors.train, other, path, data)
        train = other.X
    elif detectors.names:
        train, test = _halves(path, data.X, int(options["rng"]))
    try:
        with shown_progress() as progress:
            how = {**options, "progress": progress}
            if draws.n_features is None:
                scorers = {name: compile_named(name, fitted) for name, fitted in loaded.items()}
                for name in detectors.names:
                    scorers[name] = fit(
                        name, train, int(options["rng"]), standardize=detectors.standardize
                    )
                check_known(path, data, scorers)
                found = evaluate_unlabelled(scorers, test, **how)
            else:
                found = _subsampled(detectors, train, test, draws, how)
    except InvalidInputError as error:
        raise bad_option(error, _OPTIONS, path) from None
    if as_json:
        content = {**found.to_dict(), "file": str(path), "n_train": len(train), "n_test": len(test)}
        show(json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False))
        return
    _print(found)
    if data.X.shape[1] > _MANY_FEATURES and draws.n_features is None:
        say(
            f"Of {data.X.shape[1]} features volumes are hard to see: --n-features 5 judges "
            "detectors in random subspaces"
        )


def _check_draws(detectors: Detectors, draws: Draws, options: Mapping[str, Any]) -> None:
    if draws.n_features is not None and detectors.models:
        raise typer.BadParameter(
            "detectors are trained anew in each subspace, which a saved one cannot be",
            param_hint="--n-features",
        )
    if draws.n_features is not None and options["method"] not in ("auto", "uniform"):
        raise typer.BadParameter(
            f"in subspaces points are uniform; found {options['method']!r}", param_hint="--method"
        )


def _halves(path: Path, X: FloatMatrix, seed: int) -> tuple[FloatMatrix, FloatMatrix]:
    """Cut rows into two random halves: to train on, and to judge on."""
    if len(X) < 2:
        raise DataError(f"{path}: a half to train on and one to judge on need two rows; found 1")
    rows = np.random.default_rng(seed).permutation(len(X))
    half = len(X) // 2
    return X[rows[:half]], X[rows[half:]]


def _subsampled(
    detectors: Detectors,
    train: FloatMatrix,
    test: FloatMatrix,
    draws: Draws,
    options: Mapping[str, Any],
) -> UnlabelledEvaluation:
    """Judge detectors in random subspaces."""
    how = {name: value for name, value in options.items() if name not in ("method", "n_samples")}
    if options["n_samples"] is not None:
        how["n_uniform"] = options["n_samples"]
    makers = {
        name: unfitted(name, 0, standardize=detectors.standardize) for name in detectors.names
    }
    return emmv_subsampled(
        makers, train, test, n_draws=draws.n_draws, n_features=draws.n_features or 1, **how
    )


def _print(found: UnlabelledEvaluation) -> None:
    show_table(*found.table())
    for criterion in CRITERIA:
        show(found.verdict(criterion))
    for name, criteria in found.items():
        for criterion, one in zip(CRITERIA, criteria, strict=True):
            if one.reason:
                say(f"{name}: {criterion.upper()} is undefined: {one.reason}")

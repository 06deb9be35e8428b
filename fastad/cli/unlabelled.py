"""``fastad evaluate-unsupervised``: which detectors are better, without labels."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fastad._core.threads import available_threads
from fastad._core.types import FloatMatrix
from fastad.cli._console import DataError, say, show, show_table
from fastad.cli.detectors import (
    Columns,
    Detectors,
    Features,
    Order,
    bad_option,
    check_known,
    check_usage,
    check_width,
    compile_named,
    fit,
    known_order,
    load,
    order_to_train,
    read_features,
    remarks,
    shown_progress,
    unfitted,
)
from fastad.errors import InvalidInputError
from fastad.unsupervised.criteria import CRITERIA
from fastad.unsupervised.evaluation import evaluate_unsupervised
from fastad.unsupervised.subsampled import emmv_subsampled
from fastad.unsupervised.table import UnsupervisedEvaluation

# Options of the functions that are options of the command.
_OPTIONS = (
    *("method", "n_draws", "mass", "excess_mass", "n_resamples", "confidence_level"),
    *("n_subspaces", "n_features"),
)
# Of more features no uniform draw of 10⁵ sees the volumes that matter.
_MANY_FEATURES = 8
# How volumes may be found in subspaces.
_METHODS_OF_DRAWS = ("auto", "uniform")


@dataclass(frozen=True, slots=True)
class Draws:
    """Random subspaces, in which detectors are trained.

    Attributes
    ----------
    n_subspaces : int or None
        How many; None for as many as the function takes.
    n_features : int or None
        Features of each; None for no subspaces.
    """

    n_subspaces: int | None
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
    order = known_order(columns, loaded)
    data = read_features(path, columns, order, need_label=True)
    train, test = _parts(path, columns, detectors, data, order, int(options["rng"]))
    try:
        if draws.n_features is None:
            scorers = {name: compile_named(name, fitted) for name, fitted in loaded.items()}
            for name in detectors.names:
                scorers[name] = fit(
                    name, train, int(options["rng"]), standardize=detectors.standardize
                )
            check_known(path, data, scorers)
            with remarks(), shown_progress() as progress:
                found = evaluate_unsupervised(scorers, test, **options, progress=progress)
        else:
            found = _subsampled(detectors, train, test, draws, options)
    except InvalidInputError as error:
        raise bad_option(error, _OPTIONS, path) from None
    if as_json:
        content = {**found.to_dict(), "file": str(path), "n_train": len(train), "n_test": len(test)}
        show(json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False))
        return
    _print(found)
    # Constant features are drawn in no subspace, and make no volume hard to see.
    n_varying = int(np.count_nonzero(test.min(axis=0) < test.max(axis=0)))
    may_be_drawn = not detectors.models and options["method"] in _METHODS_OF_DRAWS
    if may_be_drawn and draws.n_features is None and n_varying > _MANY_FEATURES:
        say(
            f"Of {n_varying} features volumes are hard to see: --n-features 5 judges "
            "detectors in random subspaces"
        )


def _check_draws(detectors: Detectors, draws: Draws, options: Mapping[str, Any]) -> None:
    if draws.n_features is not None and detectors.models:
        raise typer.BadParameter(
            "detectors are trained anew in each subspace, which a saved one cannot be",
            param_hint="--n-features",
        )
    if draws.n_features is None and draws.n_subspaces is not None:
        raise typer.BadParameter("there is no --n-features to draw", param_hint="--n-subspaces")
    if draws.n_features is not None and options["method"] not in _METHODS_OF_DRAWS:
        raise typer.BadParameter(
            f"in subspaces points are uniform; found {options['method']!r}", param_hint="--method"
        )


def _parts(
    path: Path, columns: Columns, detectors: Detectors, data: Features, order: Order, seed: int
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the rows to train on, none for saved detectors, and those to judge on."""
    if not detectors.names:
        return data.X[:0], data.X
    if detectors.train is None:
        return _halves(path, data.X, seed)
    wanted = order_to_train(path, data, order)
    train = read_features(detectors.train, columns, wanted, need_label=False)
    check_width(detectors.train, train, path, data)
    return train.X, data.X


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
) -> UnsupervisedEvaluation:
    """Judge detectors in random subspaces."""
    how = {name: value for name, value in options.items() if name not in ("method", "n_draws")}
    given = {
        "n_uniform": options["n_draws"],
        "n_subspaces": draws.n_subspaces,
        "n_features": draws.n_features,
    }
    how |= {name: value for name, value in given.items() if value is not None}
    makers = {
        name: unfitted(name, 0, standardize=detectors.standardize) for name in detectors.names
    }
    try:
        with remarks(), shown_progress("draws") as progress:
            return emmv_subsampled(makers, train, test, **how, progress=progress)
    except InvalidInputError as error:
        # The option has one name, with subspaces and without.
        raise InvalidInputError(re.sub("^n_uniform ", "n_draws ", str(error))) from None


def _print(found: UnsupervisedEvaluation) -> None:
    show_table(found.text_table())
    for criterion in CRITERIA:
        show(found.verdict(criterion))
    for name, criteria in found.items():
        for criterion, one in zip(CRITERIA, criteria, strict=True):
            if one.reason:
                say(f"{name}: {criterion.upper()} is undefined: {one.reason}")

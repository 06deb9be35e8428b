"""``fastad evaluate-unsupervised``: which detectors are better, without labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fastad._core.results import json_text
from fastad._core.types import FloatMatrix
from fastad.cli._console import (
    DataError,
    data_from,
    print_message,
    print_result,
    print_table,
    progress_bar,
    warnings_as_messages,
)
from fastad.cli._detectors import (
    Detectors,
    FeatureColumns,
    FeatureOrder,
    Features,
    check_n_features,
    check_same_width,
    check_usage,
    compile_named,
    fit,
    fitted_order,
    load,
    order_to_train,
    read_features,
    unfitted,
)
from fastad.cli._saving import check_output, save_results
from fastad.unsupervised.criteria import CRITERIA
from fastad.unsupervised.many_detectors import evaluate_unsupervised
from fastad.unsupervised.ranking import UnsupervisedEvaluation

# In more features 10⁵ uniform draws miss the volumes that matter.
_MANY_FEATURES = 8
_SUBSPACE_METHODS = ("auto", "uniform")


@dataclass(frozen=True, slots=True)
class Subspaces:
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
    columns: FeatureColumns,
    detectors: Detectors,
    options: Mapping[str, Any],
    subspaces: Subspaces,
    *,
    as_json: bool,
    output: Path | None,
) -> None:
    """Load or train detectors, evaluate them on unseen data, print and save a ranking."""
    check_output(output)
    check_usage(detectors)
    if subspaces.n_features is not None and options["method"] not in _SUBSPACE_METHODS:
        raise typer.BadParameter(
            f"must be {' or '.join(_SUBSPACE_METHODS)} with --n-features, as points of subspaces "
            f"are uniform; found {options['method']!r}",
            param_hint="--method",
        )
    loaded = {str(model): load(model) for model in detectors.models}
    order = fitted_order(columns, loaded)
    data = read_features(path, columns, order, need_label=True)
    train, test = _parts(path, columns, detectors, data, order, int(options["rng"]))
    with data_from(path):
        if subspaces.n_features is None:
            scorers = {name: compile_named(name, fitted) for name, fitted in loaded.items()}
            for name in detectors.names:
                scorers[name] = fit(
                    name, train, int(options["rng"]), standardize=detectors.standardize
                )
            check_n_features(path, data, scorers)
            with warnings_as_messages(), progress_bar() as progress:
                evaluation = evaluate_unsupervised(scorers, test, **options, progress=progress)
        else:
            evaluation = _subsampled(detectors, train, test, subspaces, options)
    counts = {"file": str(path), "n_train": len(train), "n_test": len(test)}
    if output is not None:
        save_results({str(path): evaluation}, output, lambda: _as_json(evaluation, counts))
    if as_json:
        print_result(_as_json(evaluation, counts))
        return
    _print(evaluation)
    # Constant features are in no subspace, and make no volume hard to estimate.
    n_varying = int(np.count_nonzero(test.min(axis=0) < test.max(axis=0)))
    may_be_drawn = not detectors.models and options["method"] in _SUBSPACE_METHODS
    if may_be_drawn and subspaces.n_features is None and n_varying > _MANY_FEATURES:
        print_message(
            f"In {n_varying} features volumes are hard to estimate: --n-features 5 evaluates "
            "detectors in random subspaces"
        )


def _as_json(evaluation: UnsupervisedEvaluation, counts: Mapping[str, Any]) -> str:
    return json_text({**evaluation.to_dict(), **counts}, indent=2)


def _parts(
    path: Path,
    columns: FeatureColumns,
    detectors: Detectors,
    data: Features,
    order: FeatureOrder,
    seed: int,
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the rows to train on, none for saved detectors, and those to evaluate on."""
    if not detectors.names:
        return data.X[:0], data.X
    if detectors.train is None:
        return _halves(path, data.X, seed)
    train_order = order_to_train(path, data, order)
    train = read_features(detectors.train, columns, train_order, need_label=False)
    check_same_width(detectors.train, train, path, data)
    return train.X, data.X


def _halves(path: Path, X: FloatMatrix, seed: int) -> tuple[FloatMatrix, FloatMatrix]:
    """Split rows into two random halves: to train on, and to evaluate on."""
    if len(X) < 2:
        raise DataError(f"{path}: a half to train on and one to evaluate on need two rows; found 1")
    rows = np.random.default_rng(seed).permutation(len(X))
    half = len(X) // 2
    return X[rows[:half]], X[rows[half:]]


def _subsampled(
    detectors: Detectors,
    train: FloatMatrix,
    test: FloatMatrix,
    subspaces: Subspaces,
    options: Mapping[str, Any],
) -> UnsupervisedEvaluation:
    """Evaluate detectors in random subspaces."""
    untrained = {
        name: unfitted(name, 0, standardize=detectors.standardize) for name in detectors.names
    }
    with warnings_as_messages(), progress_bar("draws") as progress:
        return evaluate_unsupervised(
            untrained,
            test,
            X_train=train,
            n_features=subspaces.n_features,
            n_subspaces=subspaces.n_subspaces,
            **options,
            progress=progress,
        )


def _print(evaluation: UnsupervisedEvaluation) -> None:
    print_table(evaluation.text_table())
    print_result(evaluation.summary())
    for name, criteria in evaluation.items():
        for criterion, estimate in zip(CRITERIA, criteria, strict=True):
            if estimate.reason:
                print_message(f"{name}: {criterion.upper()} is undefined: {estimate.reason}")

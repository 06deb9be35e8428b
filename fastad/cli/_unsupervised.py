"""``fastad evaluate-unsupervised``: which detectors are better, without labels."""

from collections.abc import Mapping
from functools import partial
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
)
from fastad.cli._detectors import (
    Detectors,
    FeatureColumns,
    check_usage,
    fitted_order,
    load,
    make_scorers,
    read_features,
    read_train,
    unfitted,
)
from fastad.cli._saving import check_output, deliver
from fastad.unsupervised.criteria import CRITERIA
from fastad.unsupervised.many_detectors import evaluate_unsupervised
from fastad.unsupervised.ranking import UnsupervisedEvaluation

# In more features 10⁵ uniform draws miss the volumes that matter.
_MANY_FEATURES = 8
_SUBSPACE_METHODS = ("auto", "uniform")


def run(
    path: Path,
    columns: FeatureColumns,
    detectors: Detectors,
    options: Mapping[str, Any],
    *,
    n_subspaces: int | None,
    n_features: int | None,
    as_json: bool,
    output: Path | None,
) -> None:
    """Load or train detectors, evaluate them on unseen data, print and save a ranking."""
    check_output(output)
    check_usage(detectors)
    if n_features is not None and options["method"] not in _SUBSPACE_METHODS:
        raise typer.BadParameter(
            f"must be {' or '.join(_SUBSPACE_METHODS)} with --n-features, as points of subspaces "
            f"are uniform; found {options['method']!r}",
            param_hint="--method",
        )
    loaded = {str(model): load(model) for model in detectors.models}
    order = fitted_order(columns, loaded)
    data = read_features(columns, path, order, need_label=True)
    seed = int(options["rng"])
    # None to train on for saved detectors.
    train, test = data.X[:0], data.X
    if detectors.names and detectors.train is None:
        train, test = _halves(path, data.X, seed)
    elif detectors.names:
        read = partial(read_features, columns, need_label=False)
        train = read_train(detectors, path, data, order, read).X
    with data_from(path):
        if n_features is None:
            what, own = "points", dict[str, Any]()
            scorers: dict[str, Any] = make_scorers(path, data, loaded, detectors, train, seed)
        else:
            what = "draws"
            own = {"X_train": train, "n_features": n_features, "n_subspaces": n_subspaces}
            scorers = {
                name: unfitted(name, 0, standardize=detectors.standardize)
                for name in detectors.names
            }
        with progress_bar(what) as progress:
            evaluation = evaluate_unsupervised(scorers, test, **own, **options, progress=progress)
    counts = {"file": str(path), "n_train": len(train), "n_test": len(test)}

    def print_text() -> None:
        _print(evaluation)
        # Constant features are in no subspace, and make no volume hard to estimate.
        n_varying = int(np.count_nonzero(test.min(axis=0) < test.max(axis=0)))
        may_be_drawn = not detectors.models and options["method"] in _SUBSPACE_METHODS
        if may_be_drawn and n_features is None and n_varying > _MANY_FEATURES:
            print_message(
                f"In {n_varying} features volumes are hard to estimate: --n-features 5 evaluates "
                "detectors in random subspaces"
            )

    deliver(
        {str(path): evaluation},
        lambda: json_text({**evaluation.to_dict(), **counts}, indent=2),
        print_text,
        as_json=as_json,
        output=output,
    )


def _halves(path: Path, X: FloatMatrix, seed: int) -> tuple[FloatMatrix, FloatMatrix]:
    """Split rows into two random halves: to train on, and to evaluate on."""
    if len(X) < 2:
        raise DataError(f"{path}: a half to train on and one to evaluate on need two rows; found 1")
    rows = np.random.default_rng(seed).permutation(len(X))
    half = len(X) // 2
    return X[rows[:half]], X[rows[half:]]


def _print(evaluation: UnsupervisedEvaluation) -> None:
    print_table(evaluation.text_table())
    print_result(evaluation.summary())
    for name, criteria in evaluation.items():
        for criterion, estimate in zip(CRITERIA, criteria, strict=True):
            if estimate.reason:
                print_message(f"{name}: {criterion.upper()} is undefined: {estimate.reason}")

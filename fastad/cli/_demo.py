"""``fastad demo``: four detectors on drawn data, their table, and their ROC curves."""

import importlib.util
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.extras import missing_extra
from fastad._core.files import written_aside
from fastad._core.types import FloatVector, LabelVector
from fastad._tables.files import save_columns
from fastad.cli._console import print_message, print_notes, print_result, print_table
from fastad.evaluation.entry import evaluate
from fastad.plot import RocCurveDisplay

# Normal samples to train on, and samples of both classes to evaluate on: enough normals for a
# false positive rate of 0.01.
_N_TRAIN, _N_NORMALS, _N_ANOMALIES = 5_000, 10_000, 500
_N_CLUSTERS, _N_FEATURES = 3, 8
_N_NEIGHBORS = 10


def run(folder: Path) -> None:
    """Train, score, print the table, save scores and picture."""
    modules = {"sklearn": "scikit-learn", "matplotlib": "matplotlib"}
    missing = [name for module, name in modules.items() if not importlib.util.find_spec(module)]
    if missing:
        raise missing_extra("the demo", *missing, extra="demo")
    folder.mkdir(parents=True, exist_ok=True)
    print_message(
        f"Normal samples come from {_N_CLUSTERS} Gaussian clusters in {_N_FEATURES} features. Half "
        "of the anomalies\nlie twice as far from the centre of such a cluster, half in a small "
        "cluster of their own."
    )
    train, test, y_true = _draw_samples(np.random.default_rng(0))
    print_message(f"Training four detectors on {_N_TRAIN} normal samples.")
    scores = _score(train, test)
    print_message(f"Scoring {_N_NORMALS} other normal samples and {_N_ANOMALIES} anomalies.\n")
    result = evaluate(y_true, scores)
    print_table(result.text_table())
    print_table(result.operating_table())
    print_notes(result.notes)
    print_message(
        "auc@0.01 is the mean TPR up to an FPR of 0.01; auc_w is the area with weight 1/FPR; the "
        "second\ntable has the thresholds."
    )
    table, picture = folder / "scores.csv", folder / "roc.png"
    columns = {name: values.tolist() for name, values in scores.items()}
    save_columns({"y": y_true.tolist(), **columns}, table)
    _draw(picture, y_true, scores)
    print_message(f"\nROC curves: {picture}\nScores: {table}. The same table from this file:")
    names = " ".join(f"--score {name}" for name in scores)
    print_result(f"fastad evaluate {shlex.quote(str(table))} --label y {names}")


def _draw_samples(
    rng: np.random.Generator,
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], LabelVector]:
    """Return normal samples to train on, samples to evaluate on and their labels, standardised."""
    centres = rng.normal(scale=3, size=(_N_CLUSTERS, _N_FEATURES))
    # Each cluster has correlations of its own.
    shape = (_N_CLUSTERS, _N_FEATURES, _N_FEATURES)
    factors = rng.normal(scale=_N_FEATURES**-0.5, size=shape)

    def draw(n: int, scale: float = 1.0) -> npt.NDArray[Any]:
        clusters = rng.integers(_N_CLUSTERS, size=n)
        noise = rng.normal(scale=scale, size=(n, _N_FEATURES))
        offsets = np.einsum("nij,nj->ni", factors[clusters], noise)
        samples: npt.NDArray[Any] = centres[clusters] + offsets
        return samples

    train = draw(_N_TRAIN)
    half = _N_ANOMALIES // 2
    own_cluster = centres[0] + 2 + rng.normal(scale=0.3, size=(half, _N_FEATURES))
    test = np.concatenate([draw(_N_NORMALS), draw(_N_ANOMALIES - half, 2.0), own_cluster])
    mean, scale = train.mean(axis=0), train.std(axis=0)
    y_true = np.repeat(np.array([0, 1], np.uint8), [_N_NORMALS, _N_ANOMALIES])
    return (train - mean) / scale, (test - mean) / scale, y_true


def _score(train: npt.NDArray[Any], test: npt.NDArray[Any]) -> dict[str, FloatVector]:
    """Return anomaly scores: scikit-learn's ``score_samples`` are higher for normal samples."""
    from sklearn.ensemble import IsolationForest
    from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
    from sklearn.svm import OneClassSVM

    distances, _ = NearestNeighbors(n_neighbors=_N_NEIGHBORS).fit(train).kneighbors(test)
    lof = LocalOutlierFactor(n_neighbors=_N_NEIGHBORS, novelty=True).fit(train)
    return {
        "knn": distances[:, -1],
        "lof": -lof.score_samples(test),
        "iforest": -IsolationForest(random_state=0).fit(train).score_samples(test),
        "ocsvm": -OneClassSVM(nu=0.1, gamma="scale").fit(train).score_samples(test),
    }


def _draw(path: Path, y_true: LabelVector, scores: Mapping[str, FloatVector]) -> None:
    """Draw the ROC curves over a logarithmic axis, where low false positive rates are seen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.subplots()
    RocCurveDisplay.from_predictions(y_true, scores, xscale="log", ax=axes)
    axes.set_title(f"Four detectors, {_N_NORMALS} normal samples, {_N_ANOMALIES} anomalies")
    with written_aside(path) as aside:
        figure.savefig(aside, dpi=150)

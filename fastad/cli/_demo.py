"""``fastad demo``: four detectors on real data, their table, and their ROC curves."""

import csv
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
from fastad.cli._console import print_message, print_result, print_table
from fastad.evaluation.entry import evaluate
from fastad.plot import RocCurveDisplay

# The fraction of the normal samples that detectors are trained on, without labels.
_TRAINED = 0.6
_N_NEIGHBORS = 10


def run(folder: Path) -> None:
    """Train, score, print the table, save scores and picture."""
    modules = {"sklearn": "scikit-learn", "matplotlib": "matplotlib"}
    missing = [name for module, name in modules.items() if not importlib.util.find_spec(module)]
    if missing:
        raise missing_extra("the demo", *missing, extra="demo")
    folder.mkdir(parents=True, exist_ok=True)
    print_message(
        "Breast cancer (Wisconsin): benign tumours are normal, malignant ones are anomalies."
    )
    train, test, y_true = _split()
    print_message(
        f"Training four detectors on {len(train)} normal samples, {train.shape[1]} features each."
    )
    scores = _score(train, test)
    print_message(
        f"Scoring {np.sum(y_true == 0)} other normal samples and {np.sum(y_true)} anomalies.\n"
    )
    result = evaluate(y_true, scores)
    print_table(result.text_table())
    print_table(result.operating_table())
    if result.notes:
        print_result("\n".join([*result.notes, ""]))
    table, picture = folder / "scores.csv", folder / "roc.png"
    _save_scores(table, y_true, scores)
    _draw(picture, y_true, scores)
    print_message(f"\nROC curves: {picture}\nScores: {table}. The same table from this file:")
    names = " ".join(f"--score {name}" for name in scores)
    print_result(f"fastad evaluate {shlex.quote(str(table))} --label y {names}")


def _split() -> tuple[npt.NDArray[Any], npt.NDArray[Any], LabelVector]:
    """Return training samples (normal), test samples and their labels, standardised."""
    from sklearn.datasets import load_breast_cancer

    features, benign = load_breast_cancer(return_X_y=True)
    normals = np.random.default_rng(0).permutation(features[benign == 1])
    anomalies = features[benign == 0]
    n_train = int(_TRAINED * len(normals))
    train, rest = normals[:n_train], normals[n_train:]
    test = np.concatenate([rest, anomalies])
    mean, scale = train.mean(axis=0), train.std(axis=0)
    y_true = np.repeat(np.array([0, 1], np.uint8), [len(rest), len(anomalies)])
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


def _save_scores(path: Path, y_true: LabelVector, scores: Mapping[str, FloatVector]) -> None:
    columns = [y_true.tolist(), *(values.tolist() for values in scores.values())]
    with written_aside(path) as aside, aside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y", *scores])
        writer.writerows(zip(*columns, strict=True))


def _draw(path: Path, y_true: LabelVector, scores: Mapping[str, FloatVector]) -> None:
    """Draw the ROC curves over a logarithmic axis, where low false positive rates are seen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.subplots()
    RocCurveDisplay.from_predictions(y_true, scores, xscale="log", ax=axes)
    axes.set_title("Four detectors on breast cancer")
    with written_aside(path) as aside:
        figure.savefig(aside, dpi=150)

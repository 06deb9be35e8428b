"""Values with intervals, a curve and the whole table in a run of MLflow.

    python docs/examples/mlflow_run.py

needs what ``pip install . mlflow`` installs.
"""

import tempfile
from pathlib import Path

import mlflow
import numpy as np

import fastad

MEASURES = ["auc", "ap"]


def log(labels: np.ndarray, scores: np.ndarray) -> None:
    """Log to the active run."""
    result = fastad.evaluate(labels, scores, measures=MEASURES)
    mlflow.log_metrics(dict(result["score"].items()))
    for name in MEASURES:
        interval = fastad.interval(labels, scores, measure=name, rng=0)
        mlflow.log_metrics({f"{name}_low": interval.low, f"{name}_high": interval.high})
    few = fastad.roc_curve(labels, scores, drop_collinear=True).simplify(max_points=1000)
    points = {"fpr": few.curve.fpr.tolist(), "tpr": few.curve.tpr.tolist()}
    mlflow.log_dict({**points, "area_error": few.area_error}, "roc_curve.json")
    mlflow.log_text(result.to_html(), "evaluation.html")


def main() -> None:
    """Log made-up scores to a folder, and read them."""
    rng = np.random.default_rng(0)
    labels = rng.random(2000) < 0.1
    scores = rng.standard_normal(2000) + 2 * labels
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
        experiment = mlflow.create_experiment("fastad", Path(folder, "artifacts").as_uri())
        with mlflow.start_run(experiment_id=experiment) as run:
            log(labels, scores)
        logged = mlflow.get_run(run.info.run_id).data.metrics
        print(logged)
        print("same:", logged["auc"] == fastad.roc_auc(labels, scores))


if __name__ == "__main__":
    main()

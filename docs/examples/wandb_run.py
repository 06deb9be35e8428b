"""Values with intervals and a curve in a run of Weights & Biases.

    python docs/examples/wandb_run.py

needs what ``pip install . wandb`` installs. Here it stays offline; without ``mode`` it is uploaded.
"""

import tempfile

import numpy as np
import wandb

import fastad

MEASURES = ["auc", "ap"]


def log(run: wandb.Run, labels: np.ndarray, scores: np.ndarray) -> None:
    """Log to a run."""
    result = fastad.evaluate(labels, scores, measures=MEASURES)
    run.log(dict(result["score"].items()))
    for name in MEASURES:
        interval = fastad.interval(labels, scores, measure=name, rng=0)
        run.log({f"{name}_low": interval.low, f"{name}_high": interval.high})
    curve = fastad.roc_curve(labels, scores, drop_collinear=True).simplify(max_points=1000).curve
    table = wandb.Table(["fpr", "tpr"], data=np.column_stack([curve.fpr, curve.tpr]).tolist())
    run.log({"roc_curve": wandb.plot.line(table, "fpr", "tpr", title="ROC curve")})


def main() -> None:
    """Log made-up scores to a folder."""
    rng = np.random.default_rng(0)
    labels = rng.random(2000) < 0.1
    scores = rng.standard_normal(2000) + 2 * labels
    with (
        tempfile.TemporaryDirectory() as folder,
        wandb.init(project="fastad", mode="offline", dir=folder) as run,
    ):
        log(run, labels, scores)
        print("same:", run.summary["auc"] == fastad.roc_auc(labels, scores))


if __name__ == "__main__":
    main()

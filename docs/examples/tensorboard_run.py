"""Values with intervals after each epoch, and a curve, in TensorBoard.

    python docs/examples/tensorboard_run.py

needs what ``pip install . tensorboard`` installs. `SummaryWriter` of PyTorch takes the same calls.
"""

import tempfile

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.summary import Writer

import fastad

MEASURES = ["auc", "ap"]


def log(writer: Writer, labels: np.ndarray, scores: np.ndarray, epoch: int) -> None:
    """Log an epoch."""
    for name, value in fastad.evaluate(labels, scores, measures=MEASURES)["score"].items():
        interval = fastad.interval(labels, scores, measure=name, rng=0)
        writer.add_scalar(f"{name}/value", value, epoch)
        writer.add_scalar(f"{name}/low", interval.low, epoch)
        writer.add_scalar(f"{name}/high", interval.high, epoch)


def log_curve(writer: Writer, labels: np.ndarray, scores: np.ndarray) -> None:
    """Log a ROC curve as a scalar, with the FPR in thousandths as its step."""
    ranked = fastad.rank_scores(labels, scores)
    for step in range(0, 1001, 10):
        writer.add_scalar("roc/tpr", ranked.tpr_at_fpr(fpr=step / 1000), step)


def main() -> None:
    """Log made-up scores of three epochs to a folder, and read them."""
    rng = np.random.default_rng(0)
    labels = rng.random(2000) < 0.1
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(folder)
        for epoch in range(3):
            scores = rng.standard_normal(2000) + epoch * labels
            log(writer, labels, scores, epoch)
        log_curve(writer, labels, scores)
        writer.close()
        logged = EventAccumulator(folder, {"tensors": 0}).Reload()
        # Its scalars are tensors of 32 bits.
        (last,) = logged.Tensors("auc/value")[-1].tensor_proto.float_val
        print("curve points:", len(logged.Tensors("roc/tpr")))
    print("same:", last == np.float32(fastad.roc_auc(labels, scores)))


if __name__ == "__main__":
    main()

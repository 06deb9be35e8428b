"""The measures of each library, called with the library's own containers."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, TypeAlias

import numba
import numpy as np
import polars as pl
import polars_ds
import torch
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from torcheval.metrics import functional as torcheval
from torchmetrics.functional import classification as torchmetrics

import fastad
from bench.data import Labels, Scores
from fastad._core.threads import available_threads

FPR = 0.05

# A number, or a curve that begins with the false and the true positive rates.
Output: TypeAlias = Any


def _as_is(labels: Labels, scores: Scores) -> tuple[Labels, Scores]:
    return labels, scores


@dataclass(frozen=True)
class Library:
    """A library, its measures by name, and how far they may be from scikit-learn's.

    ``container`` makes the arguments of the measures; ``left_out`` names the kinds and types of
    scores that the library refuses, or on which its values are wrong.
    """

    name: str
    measures: Mapping[str, Callable[..., Output]]
    tolerance: float
    container: Callable[[Labels, Scores], tuple[Any, ...]] = _as_is
    left_out: frozenset[str] = frozenset()


def _fastad_curve(labels: Labels, scores: Scores) -> Output:
    curve = fastad.roc_curve(labels, scores)
    return curve.fpr, curve.tpr


def _fastad_evaluate(labels: Labels, scores: Scores) -> Output:
    return fastad.evaluate(labels, scores)["score"]["auc"]


def _fastad_interval(labels: Labels, scores: Scores) -> Output:
    result = fastad.interval(labels, scores, measure=f"tpr@{FPR}", method="fiducial", rng=0)
    return np.array([result.low, result.high])


def _sklearn_tpr(labels: Labels, scores: Scores) -> Output:
    fpr, tpr, _ = roc_curve(labels, scores)
    return np.interp(FPR, fpr, tpr)


def _tensors(labels: Labels, scores: Scores) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(scores), torch.from_numpy(labels)


def _frame(labels: Labels, scores: Scores) -> tuple[pl.DataFrame]:
    return (pl.DataFrame({"label": labels, "score": scores}),)


def _polars_auc(frame: pl.DataFrame) -> Output:
    return frame.select(polars_ds.query_roc_auc("label", "score")).item()


@numba.njit
def _sweep(labels: Labels, scores: Scores, rows: Labels, fps: Labels, tps: Labels) -> Any:
    """Walk down the rows; return the number of distinct scores, FP, TP and twice the area.

    Where there is room, the counts at each distinct score are written after a first 0.
    """
    k, fp, tp, last_fp, last_tp, twice_area = 0, 0, 0, 0, 0, 0
    for i in range(rows.shape[0] - 1, -1, -1):
        fp += 1 - labels[rows[i]]
        tp += labels[rows[i]]
        if i == 0 or scores[rows[i - 1]] != scores[rows[i]]:
            k += 1
            if fps.shape[0] > 0:
                fps[k], tps[k] = fp, tp
            twice_area += (fp - last_fp) * (tp + last_tp)
            last_fp, last_tp = fp, tp
    return k, fp, tp, twice_area


def _sweep_auc(labels: Labels, scores: Scores) -> Output:
    no_room = np.empty(0, np.int64)
    _, fp, tp, twice_area = _sweep(labels, scores, np.argsort(scores), no_room, no_room)
    return twice_area / (2 * fp * tp)


def _sweep_counts(labels: Labels, scores: Scores) -> tuple[Labels, Labels]:
    fps, tps = np.zeros((2, scores.shape[0] + 1), np.int64)
    k, *_ = _sweep(labels, scores, np.argsort(scores), fps, tps)
    return fps[: k + 1], tps[: k + 1]


def _sweep_ap(labels: Labels, scores: Scores) -> Output:
    fps, tps = _sweep_counts(labels, scores)
    return np.sum(np.diff(tps) * (tps[1:] / (fps[1:] + tps[1:]))) / tps[-1]


def _sweep_curve(labels: Labels, scores: Scores) -> Output:
    fps, tps = _sweep_counts(labels, scores)
    return fps / fps[-1], tps / tps[-1]


def _sweep_tpr(labels: Labels, scores: Scores) -> Output:
    return np.interp(FPR, *_sweep_curve(labels, scores))


def _sweep_partial(labels: Labels, scores: Scores) -> Output:
    fpr, tpr = _sweep_curve(labels, scores)
    stop = np.searchsorted(fpr, FPR, side="right")
    x = np.append(fpr[:stop], FPR)
    y = np.append(tpr[:stop], np.interp(FPR, fpr, tpr))
    chance = FPR**2 / 2
    return (1 + (np.trapezoid(y, x) - chance) / (FPR - chance)) / 2


REFERENCE = Library(
    "scikit-learn",
    {
        "AUC": roc_auc_score,
        "AUC@5%": partial(roc_auc_score, max_fpr=FPR),
        "TPR@5%": _sklearn_tpr,
        "AP": average_precision_score,
        # As many points as the others return.
        "ROC curve": partial(roc_curve, drop_intermediate=False),
        # All measures of `evaluate` are set against this one alone.
        "evaluate": roc_auc_score,
    },
    tolerance=0.0,
)

LIBRARIES = (
    Library(
        "fastad",
        {
            "AUC": fastad.roc_auc,
            # McClish's normalisation is the only one that the others have; it costs nothing.
            "AUC@5%": partial(fastad.auc_at_fpr, fpr=FPR, normalize="mcclish"),
            "TPR@5%": partial(fastad.tpr_at_fpr, fpr=FPR),
            "AP": fastad.average_precision,
            "ROC curve": _fastad_curve,
            "evaluate": _fastad_evaluate,
            "interval of TPR@5%": _fastad_interval,
        },
        tolerance=1e-12,
    ),
    REFERENCE,
    Library(
        "torchmetrics",
        {
            "AUC": torchmetrics.binary_auroc,
            "AUC@5%": partial(torchmetrics.binary_auroc, max_fpr=FPR),
            "AP": torchmetrics.binary_average_precision,
            "ROC curve": torchmetrics.binary_roc,
        },
        tolerance=1e-5,  # rates in float32
        container=_tensors,
        # It puts scores outside of [0, 1] through a sigmoid, which merges those far from 0.
        left_out=frozenset({"wide", "int16", "uint8"}),
    ),
    Library(
        "torcheval",
        {"AUC": torcheval.binary_auroc, "AP": torcheval.binary_auprc},
        tolerance=1e-5,  # areas in float32
        container=_tensors,
    ),
    Library(
        "polars-ds",
        {"AUC": _polars_auc},
        tolerance=1e-11,  # rates are added one after the other
        container=_frame,
    ),
    Library(
        "argsort + sweep",
        {
            "AUC": _sweep_auc,
            "AUC@5%": _sweep_partial,
            "TPR@5%": _sweep_tpr,
            "AP": _sweep_ap,
            "ROC curve": _sweep_curve,
        },
        tolerance=1e-12,
        left_out=frozenset({"float16"}),  # Numba has no such type
    ),
)


def versions() -> dict[str, str]:
    """Return the versions of all that takes part."""
    names = ("fastad", "scikit-learn", "torchmetrics", "torcheval", "polars-ds")
    installed = {name: version(name) for name in (*names, "numba", "numpy", "polars", "torch")}
    return {"Python": platform.python_version(), **installed}


def threads() -> dict[str, int]:
    """Return the number of threads of each library that has some."""
    return {
        "fastad": available_threads(),
        "polars": pl.thread_pool_size(),
        "torch": torch.get_num_threads(),
    }

"""Definitions that read a curve at fixed thresholds, in bins, or after a sigmoid; hard labels."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from fastad._core.types import FloatVector, IntVector
from fastad.explain.definition import (
    AREAS,
    AUC,
    TRAPEZOID,
    CurveSummary,
    Definition,
    Points,
    ScoredRows,
    anchored_area,
    area,
    f1_at,
    of_other_points,
)

_TORCHMETRICS_GRIDS = (5, 10, 11, 20, 50, 100, 101, 200, 500, 1000)
_TORCHEVAL_AUC_GRID = 200
_KERAS_GRID = 200
_LUDWIG_GRID = 201
# By which the outermost thresholds of Keras and Ludwig lie outside [0, 1].
_MARGIN = 1e-7
_PYCALEVA_GRID = 250
_SPARK_BINS = (1000, 100)

# Number of distinct scores that are labelled 1; None if the rule does not apply.
Rule: TypeAlias = Callable[[ScoredRows], int | None]


def _are_fractions(scores: FloatVector) -> bool:
    return bool(scores.min() >= 0 and scores.max() <= 1)


def _sigmoid(scores: FloatVector) -> FloatVector:
    """Return the sigmoid with every step in single precision, in which it is 1 from 16.7 on."""
    one = np.float32(1)
    with np.errstate(over="ignore"):
        sigmoid: FloatVector = (one / (one + np.exp(-scores.astype(np.float32)))).astype(np.float64)
    return sigmoid


def _after_sigmoid(rows: ScoredRows) -> Points | None:
    if _are_fractions(rows.scores):
        return None
    return rows.points.mapped(_sigmoid(rows.points.scores))


def _sigmoid_row_by_row(rows: ScoredRows) -> Points | None:
    inside = (rows.scores >= 0) & (rows.scores <= 1)
    if inside.all() or not inside.any():
        return None
    scores = rows.scores.astype(np.float32)
    return Points.from_rows(rows.labels, np.where(inside, scores, _sigmoid(rows.scores)))


def _torch_grid(n_thresholds: int) -> FloatVector:
    """Return falling thresholds from 1 to 0, in single precision from both ends as torch does."""
    step = float(np.float32(1) / np.float32(n_thresholds - 1))
    steps = np.arange(n_thresholds) * step
    # Each is rounded once.
    rising = np.where(np.arange(n_thresholds) < n_thresholds // 2, steps, 1 - steps[::-1])
    return rising[::-1].astype(np.float32).astype(np.float64)


def _torch_points(rows: ScoredRows) -> Points:
    """Return the points of scores in single precision, of their sigmoid where they need it."""
    return _after_sigmoid(rows) or rows.points.mapped(
        rows.points.scores.astype(np.float32).astype(np.float64)
    )


def _area_at(points: Points, at: IntVector) -> float:
    return area(points.fps[at] / points.n_normals, points.tps[at] / points.n_anomalies)


def _torchmetrics_auc(rows: ScoredRows, n_thresholds: int) -> float:
    points = _torch_points(rows)
    return _area_at(points, points.at(_torch_grid(n_thresholds)))


def _torchmetrics_ap(rows: ScoredRows, n_thresholds: int) -> float:
    points = _torch_points(rows)
    at = points.at(_torch_grid(n_thresholds))
    fps, tps = points.fps[at], points.tps[at]
    precision = tps / np.maximum(tps + fps, 1)
    return float(np.sum(np.diff(np.append(0, tps)) * precision) / points.n_anomalies)


def _torcheval_auc(rows: ScoredRows) -> float:
    points = rows.points.mapped(rows.points.scores.astype(np.float32).astype(np.float64))
    at = np.append(0, points.at(_torch_grid(_TORCHEVAL_AUC_GRID)))
    fps, tps = points.fps[at], points.tps[at]
    if fps[-1] == 0 or tps[-1] == 0:
        return 0.5
    return area(fps / fps[-1], tps / tps[-1])


def _keras_auc(rows: ScoredRows) -> float:
    if not _are_fractions(rows.scores):
        return np.nan
    inner = np.arange(_KERAS_GRID - 2, 0, -1) / (_KERAS_GRID - 1)
    thresholds = np.concatenate([[1 + _MARGIN], inner, [-_MARGIN]])
    at = rows.points.at(thresholds.astype(np.float32).astype(np.float64), strict=True)
    return _area_at(rows.points, at)


def _ludwig_auc(rows: ScoredRows) -> float:
    if not _are_fractions(rows.scores):
        return np.nan
    points = _torch_points(rows)
    thresholds = _torch_grid(_LUDWIG_GRID)
    thresholds[0] += _MARGIN
    thresholds[-1] -= _MARGIN
    return _area_at(points, points.at(thresholds))


def _pycaleva_auc(rows: ScoredRows) -> float:
    if not _are_fractions(rows.scores):
        return np.nan
    at = rows.points.at(np.arange(_PYCALEVA_GRID, -1, -1) / _PYCALEVA_GRID)
    fpr = rows.points.fps[at] / rows.points.n_normals
    tpr = rows.points.tps[at] / rows.points.n_anomalies
    return float(np.sum(np.diff(fpr) * tpr[1:]))


def _spark_points(rows: ScoredRows, n_bins: int) -> Points | None:
    """Return points at equal distances, where there are at least two of them for each bin."""
    n_scores = rows.points.scores.shape[0]
    size = n_scores // n_bins
    if size < 2:
        return None
    kept = np.arange(1, n_scores + 1) % size == 0
    kept[-1] = True
    return rows.points.keep(kept)


_ANCHORED = CurveSummary(
    "trapezoid area under the precision-recall curve from its first precision", "ap", anchored_area
)
_MISSING_POINTS = "Points between the thresholds are missing"

THRESHOLDS: list[Definition] = [
    *of_other_points(
        _after_sigmoid,
        "the sigmoid of the scores in single precision",
        "torchmetrics where a score lies outside [0, 1], torchmetrics#2819, anomalib#2337",
        "Scores above 16.7 are all 1 in single precision, and others that lie close are equal too.",
    ),
    *of_other_points(
        _sigmoid_row_by_row,
        "the sigmoid of those scores that lie outside [0, 1]",
        "torchmetrics update() row by row, torchmetrics#1989, torchmetrics#2195, anomalib#2003",
        "The sigmoid is taken of some rows and not of others, which changes their order.",
    ),
    *(
        Definition(
            f"area under the ROC curve at {n} thresholds from 0 to 1",
            "torchmetrics AUROC(thresholds=…)",
            "auc",
            f"{_MISSING_POINTS}, and the curve starts at the highest one instead of (0, 0).",
            partial(_torchmetrics_auc, n_thresholds=n),
        )
        for n in _TORCHMETRICS_GRIDS
    ),
    *(
        Definition(
            f"average precision at {n} thresholds from 0 to 1",
            "torchmetrics AveragePrecision(thresholds=…), of scores in [0, 1] torcheval "
            "BinaryBinnedAUPRC",
            "ap",
            f"{_MISSING_POINTS}.",
            partial(_torchmetrics_ap, n_thresholds=n),
        )
        for n in _TORCHMETRICS_GRIDS
    ),
    Definition(
        f"area under the ROC curve at {_TORCHEVAL_AUC_GRID} thresholds from 0 to 1 and (0, 0)",
        "torcheval BinaryBinnedAUROC",
        "auc",
        f"{_MISSING_POINTS}, and scores below 0 are left out.",
        _torcheval_auc,
    ),
    Definition(
        f"area under the ROC curve above {_KERAS_GRID} thresholds",
        "Keras AUC(), tensorflow#14834",
        "auc",
        f"{_MISSING_POINTS}.",
        _keras_auc,
    ),
    Definition(
        f"area under the ROC curve at {_LUDWIG_GRID} thresholds from below 0 to above 1",
        "Ludwig roc_auc of 2022, ludwig#1758",
        "auc",
        f"{_MISSING_POINTS}.",
        _ludwig_auc,
    ),
    Definition(
        f"sum of rectangles under the ROC curve at {_PYCALEVA_GRID + 1} thresholds",
        "pycaleva auroc before 0.8, pycaleva#2",
        "auc",
        f"{_MISSING_POINTS}, and rectangles of the higher of two rates lie above the curve.",
        _pycaleva_auc,
    ),
    *(
        definition
        for n_bins in _SPARK_BINS
        for definition in of_other_points(
            partial(_spark_points, n_bins=n_bins),
            f"about {n_bins} points",
            "Spark BinaryClassificationMetrics(numBins=…)",
            "The curve is thinned to every so many distinct scores.",
            (AUC, _ANCHORED, TRAPEZOID),
        )
    ),
]


def _above(rows: ScoredRows, threshold: float) -> int:
    return int(rows.points.at(np.array([threshold]), strict=True)[0])


def _from(rows: ScoredRows, threshold: float) -> int | None:
    """Count scores from a threshold on, if that is not the same as above it."""
    n_scores = int(rows.points.at(np.array([threshold]))[0])
    return None if n_scores == _above(rows, threshold) else n_scores


def _above_deviations(rows: ScoredRows) -> int | None:
    threshold = rows.scores.mean() + 3 * rows.scores.std()
    return _above(rows, threshold) if np.isfinite(threshold) else None


def _highest(rows: ScoredRows, fraction: float) -> int | None:
    threshold = np.percentile(rows.scores, 100 * (1 - fraction))
    return _above(rows, threshold) if np.isfinite(threshold) else None


def _as_many_as_anomalies(rows: ScoredRows) -> int | None:
    return _highest(rows, rows.points.n_anomalies / rows.scores.shape[0])


def _best_f1(rows: ScoredRows) -> int:
    tps, fps = rows.points.tps[1:], rows.points.fps[1:]
    return int(np.argmax(tps / (tps + fps + rows.points.n_anomalies))) + 1


def _hard_points(rows: ScoredRows, rule: Rule) -> Points | None:
    n_scores = rule(rows)
    return None if n_scores is None else rows.points.hard(n_scores)


def _hard_f1(rows: ScoredRows, rule: Rule) -> float:
    n_scores = rule(rows)
    return np.nan if n_scores is None else f1_at(rows.points, n_scores)


_COMMON = "predict() instead of predict_proba()"
_RULES: Sequence[tuple[str, str, Rule]] = (
    (
        "score > 0.5",
        f"{_COMMON}: simpletransformers#1239, gentropy#1283, MedMNIST#4, catboost#1108",
        partial(_above, threshold=0.5),
    ),
    ("score >= 0.5", f"{_COMMON}", partial(_from, threshold=0.5)),
    (
        "score > 0",
        "the sign of logits or of a decision function, scikit-learn outlier detectors",
        partial(_above, threshold=0.0),
    ),
    *(
        (
            f"highest {fraction:.0%}",
            "PyOD and scikit-learn predict() with contamination=…",
            partial(_highest, fraction=fraction),
        )
        for fraction in (0.1, 0.05, 0.01)
    ),
    (
        "as many as there are anomalies",
        "contamination set to the fraction of anomalies",
        _as_many_as_anomalies,
    ),
    ("score > mean + 3 standard deviations", "TSB-UAD, time series", _above_deviations),
    ("score at the best F1 or higher", "labels at the best threshold", _best_f1),
)

HARD_LABELS: list[Definition] = [
    *(
        definition
        for what, source, rule in _RULES
        for definition in of_other_points(
            partial(_hard_points, rule=rule),
            f"hard labels ({what})",
            source,
            "Labels have one threshold where scores have many: the curve has a single point "
            "between its ends.",
            AREAS,
        )
    ),
    *(
        Definition(
            f"F1 of hard labels ({what})",
            source,
            "f1_best",
            "It is the F1 at a fixed threshold, not the best one.",
            partial(_hard_f1, rule=rule),
        )
        for what, source, rule in _RULES
        if rule is not _best_f1
    ),
]

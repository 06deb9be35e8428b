"""Definitions that read rows in the order of time: runs of anomalies, and point adjustment."""

import numpy as np

from fastad._core.types import FloatVector, IntVector
from fastad.explain.definition import Definition, Points, ScoredRows, area, best_f1_of, f1_at

_TSB_THRESHOLDS = 250
_TSB_F1_THRESHOLDS = 100
_TSB_EPSILON = 1e-5


def _runs(rows: ScoredRows) -> tuple[IntVector, IntVector]:
    """Return where each run of anomalies starts, and where it has ended."""
    edges = np.diff(np.concatenate([[0], rows.labels.astype(np.int8), [0]]))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def _highest_of_runs(rows: ScoredRows) -> FloatVector:
    starts, stops = _runs(rows)
    # Every other piece lies between two runs.
    pieces = np.column_stack([starts, stops]).ravel()
    highest: FloatVector = np.maximum.reduceat(np.append(rows.scores, -np.inf), pieces)[::2]
    return highest


def _at_ranks(rows: ScoredRows) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Return FPR, TPR times the fraction of runs that are met, and precision, at 250 ranks."""
    points, n_rows = rows.points, rows.scores.shape[0]
    ranks = np.linspace(0, n_rows - 1, _TSB_THRESHOLDS).astype(np.int64)
    # The first point that flags more rows than the rank.
    at = np.searchsorted(points.fps[1:] + points.tps[1:], ranks, side="right") + 1
    thresholds = points.scores[at - 1]
    highest = np.sort(_highest_of_runs(rows))
    met = 1 - np.searchsorted(highest, thresholds) / highest.shape[0]
    fps, tps = points.fps[at], points.tps[at]
    tpr = np.append(0.0, tps / points.n_anomalies * met)
    return np.append(0.0, fps / points.n_normals), tpr, np.append(1.0, tps / (tps + fps))


def _range_auc(rows: ScoredRows) -> float:
    fpr, tpr, _ = _at_ranks(rows)
    return area(np.append(fpr, 1.0), np.append(tpr, 1.0))


def _range_ap(rows: ScoredRows) -> float:
    _, tpr, precision = _at_ranks(rows)
    return float(np.sum(np.diff(tpr) * precision[1:]))


def _range_trapezoid(rows: ScoredRows) -> float:
    _, tpr, precision = _at_ranks(rows)
    return area(tpr, precision)


def _adjusted(rows: ScoredRows) -> Points:
    """Return the points of scores where each anomaly has the highest one of its run."""
    starts, stops = _runs(rows)
    scores = rows.scores.copy()
    anomalous = rows.labels == 1
    scores[anomalous] = np.repeat(_highest_of_runs(rows), stops - starts)
    # The code that is in use stops before the first row.
    scores[0] = rows.scores[0]
    return Points.from_rows(rows.labels, scores)


def _adjusted_at_grid(rows: ScoredRows) -> float:
    low, high = rows.scores.min(), rows.scores.max()
    if not np.isfinite(high - low):
        return np.nan
    points = _adjusted(rows)
    at = points.at(np.linspace(low, high, _TSB_F1_THRESHOLDS), strict=True)
    return max(f1_at(points, point) for point in np.unique(at).tolist())


def _adjusted_at_deviations(rows: ScoredRows) -> float:
    threshold = rows.scores.mean() + 3 * rows.scores.std()
    if not np.isfinite(threshold):
        return np.nan
    points = _adjusted(rows)
    return f1_at(points, int(points.at(np.array([threshold]), strict=True)[0]))


def _best_f1_with_epsilon(rows: ScoredRows) -> float:
    recall = rows.points.tps[1:] / rows.points.n_anomalies
    precision = rows.points.tps[1:] / (rows.points.tps[1:] + rows.points.fps[1:])
    return float(np.max(2 * precision * recall / (precision + recall + _TSB_EPSILON)))


_RANKS = (
    f"Only {_TSB_THRESHOLDS} ranks are thresholds, and the TPR is multiplied by the fraction of "
    "runs of anomalies in which something is flagged."
)
_ADJUSTMENT = (
    "All rows of a run of anomalies count as flagged where one of them is, so that long runs are "
    "met by chance"
)

TIME_ORDER: list[Definition] = [
    Definition(
        f"range area under the ROC curve at {_TSB_THRESHOLDS} ranks without a window",
        "TSB-AD, TSB-UAD and VUS: RangeAUC, and VUS-ROC of window 0",
        "auc",
        _RANKS,
        _range_auc,
    ),
    Definition(
        f"range average precision at {_TSB_THRESHOLDS} ranks without a window",
        "TSB-AD, TSB-UAD and VUS: RangeAUC, and VUS-PR of window 0",
        "ap",
        _RANKS,
        _range_ap,
    ),
    Definition(
        f"range trapezoid area under the precision-recall curve at {_TSB_THRESHOLDS} ranks",
        "DCdetector and PatchAD: VUS_PR of window 0, PatchAD#11",
        "ap",
        _RANKS,
        _range_trapezoid,
    ),
    Definition(
        "best F1 after point adjustment",
        "OmniAnomaly, Anomaly Transformer, TranAD and others",
        "f1_best",
        f"{_ADJUSTMENT}.",
        lambda rows: best_f1_of(_adjusted(rows)),
    ),
    Definition(
        f"best F1 after point adjustment above {_TSB_F1_THRESHOLDS} thresholds",
        "TSB-AD metric_PointF1PA",
        "f1_best",
        f"{_ADJUSTMENT}; thresholds are evenly spaced between the lowest and the highest score.",
        _adjusted_at_grid,
    ),
    Definition(
        "F1 after point adjustment above mean + 3 standard deviations",
        "TSB-UAD PointF1PA",
        "f1_best",
        f"{_ADJUSTMENT}; the threshold is fixed.",
        _adjusted_at_deviations,
    ),
    Definition(
        "best F1 with 0.00001 in its denominator",
        "TSB-AD metric_PointF1",
        "f1_best",
        "What keeps the quotient from 0 / 0 makes every F1 a little lower.",
        _best_f1_with_epsilon,
    ),
]

"""Definitions that average over groups: folds, data sets, regions of images."""

from functools import partial

import numpy as np

from fastad._core.types import FloatVector, IntVector
from fastad.explain.definition import (
    AREAS,
    BEST_F1,
    CurveSummary,
    Definition,
    Points,
    ScoredRows,
    area,
    partial_area,
)

_FPR_LIMIT = 0.3


def _mean(rows: ScoredRows, summary: CurveSummary, *, by_rows: bool) -> float:
    """Return the mean over groups, each of which counts once or by its rows."""
    if len(rows.parts) < 2:
        return np.nan
    values = [summary.compute(part.points) for part in rows.parts]
    weights = [part.labels.shape[0] for part in rows.parts] if by_rows else None
    return float(np.average(values, weights=weights))


def _regions(rows: ScoredRows) -> list[Points]:
    """Return the points of the anomalies of each group among all normals."""
    anomalous = rows.labels == 1
    regions = []
    for group in rows.groups:
        kept = ~anomalous
        kept[group] = True
        if anomalous[group].any():
            regions.append(Points.from_rows(rows.labels[kept], rows.scores[kept]))
    return regions


def _overlap(rows: ScoredRows) -> float:
    """Return the area under the mean ROC curve of regions up to a limit, divided by the limit."""
    regions = _regions(rows)
    if len(regions) < 2:
        return np.nan
    areas = [partial_area(points, _FPR_LIMIT) for points in regions]
    return float(np.mean(areas)) / _FPR_LIMIT


def _resampled_overlap(rows: ScoredRows) -> float:
    """Return the area under curves that were resampled by index, divided by where they end."""
    regions = _regions(rows)
    if len(regions) < 2:
        return np.nan
    size = int(np.sum(rows.points.fps / rows.points.n_normals <= _FPR_LIMIT))
    if size < 2:
        return np.nan
    curves = [_resampled(points, size) for points in regions]
    fpr = np.mean([curve[0] for curve in curves], axis=0)
    tpr = np.mean([curve[1] for curve in curves], axis=0)
    if fpr[-1] == 0:
        return np.nan
    order = np.argsort(fpr, kind="stable")
    return area(fpr[order], tpr[order]) / float(fpr[-1])


def _resampled(points: Points, size: int) -> tuple[FloatVector, FloatVector]:
    """Return a region's curve up to the limit at ``size`` evenly spaced indices."""
    fpr, tpr = points.fps / points.n_normals, points.tps / points.n_anomalies
    limit = _FPR_LIMIT
    if fpr[fpr <= limit].max() == 0:
        limit = fpr[fpr > limit].min()
    kept: IntVector = np.flatnonzero(fpr <= limit)
    new = np.arange(size, dtype=np.float64)
    slope = None
    if not np.isclose(fpr[kept].max(), _FPR_LIMIT):
        beyond = int(np.searchsorted(fpr, _FPR_LIMIT))
        slope = 1 - (fpr[beyond] - _FPR_LIMIT) / (fpr[beyond] - fpr[beyond - 1])
        kept = np.append(kept, beyond)
    old = kept / kept.max() * (size - 1)
    if slope is not None:
        new[-1] = old[-2] + (old[-1] - old[-2]) * slope
    return np.interp(new, old, fpr[kept]), np.interp(new, old, tpr[kept])


AVERAGES: list[Definition] = [
    *(
        Definition(
            f"mean of the {summary.name} over groups{weighting}",
            source,
            summary.measure,
            f"Each group is ranked by itself{same}; pooled rows are ranked together.",
            partial(_mean, summary=summary, by_rows=bool(weighting)),
        )
        for weighting, source, same in (
            ("", "cross_val_score, tables of benchmarks", " and counts the same"),
            (", weighted by their rows", "federated learning, averages over batches", ""),
        )
        for summary in (*AREAS, BEST_F1)
    ),
    Definition(
        f"per-region overlap up to FPR {_FPR_LIMIT}, regions being groups",
        "MVTec AD, anomalib AUPRO from 2.3 on",
        f"auc@{_FPR_LIMIT}",
        "Each region of anomalies counts the same, whatever its size.",
        _overlap,
    ),
    Definition(
        f"per-region overlap up to FPR {_FPR_LIMIT}, divided by where the mean curve ends",
        "anomalib AUPRO before 2.3, anomalib#3718, anomalib#1651",
        f"auc@{_FPR_LIMIT}",
        "Curves of regions are resampled by index, and the area is divided by the last mean FPR "
        "instead of the limit, so that values above 1 occur.",
        _resampled_overlap,
    ),
]

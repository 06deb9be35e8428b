"""Slow, obvious versions of what other libraries compute, threshold by threshold."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from fastad._core.types import AnyVector, FloatVector


def rates(y: AnyVector, flagged: AnyVector) -> tuple[float, float, float]:
    """Return FPR, TPR and precision (NaN where nothing is flagged) of flagged rows."""
    tp, fp = int(np.sum(flagged & (y == 1))), int(np.sum(flagged & (y == 0)))
    precision = tp / (tp + fp) if tp + fp else np.nan
    return fp / int(np.sum(y == 0)), tp / int(np.sum(y == 1)), precision


def falling(s: FloatVector) -> Iterator[float]:
    yield from sorted(set(s.tolist()), reverse=True)


def precision_recall(y: AnyVector, s: FloatVector) -> tuple[list[float], list[float]]:
    """Return recall and precision from the lowest threshold up, and (0, 1) at the end."""
    points = [rates(y, s >= t)[1:] for t in reversed(list(falling(s)))]
    return [r for r, _ in points] + [0.0], [p for _, p in points] + [1.0]


def trapezoid(x: list[float], y: list[float]) -> float:
    return abs(sum((b - a) * (c + d) / 2 for a, b, c, d in zip(x, x[1:], y, y[1:], strict=False)))


def sorted_trapezoid(y: AnyVector, s: FloatVector) -> float:
    """Sort the points by recall, keeping the order of equal ones, as `torch.sort(stable=True)`."""
    recall, precision = precision_recall(y, s)
    order = sorted(range(len(recall)), key=lambda i: recall[i])
    return trapezoid([recall[i] for i in order], [precision[i] for i in order])


def odin_aupr(y: AnyVector, s: FloatVector) -> float:
    """Go through thresholds upwards; precision is TPR / (TPR + FPR)."""
    area, recall_before = 0.0, 1.0
    for t in reversed(list(falling(s))):
        fpr, tpr, _ = rates(y, s >= t)
        if tpr + fpr == 0:
            continue
        precision = tpr / (tpr + fpr)
        area += (recall_before - tpr) * precision
        recall_before = tpr
    return area + recall_before * precision


def at_thresholds(
    y: AnyVector, s: FloatVector, thresholds: FloatVector
) -> list[tuple[float, float, float]]:
    return [rates(y, s >= t) for t in thresholds]


def rectangles(y: AnyVector, s: FloatVector, n: int) -> float:
    """Add steps of the FPR between thresholds i / n times the TPR at the lower one."""
    points = at_thresholds(y, s, np.arange(n + 1) / n)
    return sum((a[0] - b[0]) * a[1] for a, b in pairwise(points))


def range_areas(y: AnyVector, s: FloatVector, n: int = 250) -> tuple[float, float, float]:
    """Return the areas at n ranks: of ROC, of steps and of trapezoids of precision and recall."""
    runs: list[list[int]] = []
    for i, label in enumerate(y):
        if label == 1:
            if i == 0 or y[i - 1] == 0:
                runs.append([])
            runs[-1].append(i)
    highest = np.sort(s)[::-1]
    fpr, tpr, precision = [0.0], [0.0], [1.0]
    for i in np.linspace(0, len(s) - 1, n).astype(int):
        flagged = s >= highest[i]
        met = sum(bool(flagged[run].any()) for run in runs) / len(runs)
        point = rates(y, flagged)
        fpr.append(point[0])
        tpr.append(point[1] * met)
        precision.append(point[2])
    steps = sum((b - a) * p for a, b, p in zip(tpr, tpr[1:], precision[1:], strict=False))
    return trapezoid([*fpr, 1.0], [*tpr, 1.0]), steps, trapezoid(tpr, precision)


def f1(y: AnyVector, flagged: AnyVector) -> float:
    return 2 * int(np.sum(flagged & (y == 1))) / (int(np.sum(flagged)) + int(np.sum(y)))


def adjusted(y: AnyVector, flagged: AnyVector) -> AnyVector:
    """Flag whole runs of anomalies of which a row is flagged, but never the first row."""
    changed: AnyVector = flagged.copy()
    met = False
    for i in range(len(y)):
        if y[i] == 0:
            met = False
        elif flagged[i] and not met:
            met = True
            for j in range(i, 0, -1):
                if y[j] == 0:
                    break
                changed[j] = True
        if met:
            changed[i] = True
    return changed

"""Points of curves and the areas that others compute from them; definitions taken for a measure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fastad._core.types import BoolVector, CountVector, FloatVector, IntVector, LabelVector


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Normals and anomalies that are flagged, from the highest score down."""

    # (n_points + 1,) flagged normals and anomalies; nothing is flagged at first.
    fps: CountVector
    tps: CountVector
    scores: FloatVector  # (n_points,) falling scores at which the others are flagged

    @staticmethod
    def from_rows(labels: LabelVector, scores: FloatVector) -> "Points":
        """Count at each distinct score."""
        order = np.argsort(-scores, kind="stable")
        falling = scores[order]
        last = np.append(falling[1:] != falling[:-1], True)
        tps = np.cumsum(labels[order], dtype=np.int64)[last]
        fps = np.flatnonzero(last) + 1 - tps
        return Points(np.append(0, fps), np.append(0, tps), falling[last])

    @property
    def n_normals(self) -> int:
        """Number of normal samples."""
        return int(self.fps[-1])

    @property
    def n_anomalies(self) -> int:
        """Number of anomalies."""
        return int(self.tps[-1])

    def flipped(self) -> "Points":
        """Return the points of the negated scores."""
        return Points(
            self.n_normals - self.fps[::-1], self.n_anomalies - self.tps[::-1], -self.scores[::-1]
        )

    def swapped(self) -> "Points":
        """Return the points with both classes exchanged."""
        return Points(self.tps, self.fps, self.scores)

    def keep(self, kept: BoolVector) -> "Points":
        """Return some of the points, and that which flags nothing."""
        kept = np.append(True, kept)
        return Points(self.fps[kept], self.tps[kept], self.scores[kept[1:]])

    def mapped(self, scores: FloatVector) -> "Points":
        """Return the points of other scores in the same order, of which some may be equal."""
        kept = np.append(scores[1:] != scores[:-1], True)
        return Points(self.fps, self.tps, scores).keep(kept)

    def hard(self, n_flagged_scores: int) -> "Points":
        """Return the points of two scores: high for the highest distinct ones, low for others."""
        kept = np.zeros(self.scores.shape[0], np.bool_)
        kept[-1] = True
        if n_flagged_scores > 0:
            kept[n_flagged_scores - 1] = True
        return self.keep(kept)

    def at(self, thresholds: FloatVector, *, strict: bool = False) -> IntVector:
        """Return the point of each threshold, which flags the scores not below or above it."""
        rising = -self.scores
        if strict:
            return rising.searchsorted(-thresholds, side="left")
        return rising.searchsorted(-thresholds, side="right")


def area(x: FloatVector, y: FloatVector) -> float:
    """Return the area below straight lines between points."""
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2)


def precision_of(points: Points) -> FloatVector:
    """Return the precision at each point but the first; NaN where nothing is flagged."""
    with np.errstate(invalid="ignore"):
        precision: FloatVector = points.tps[1:] / (points.tps[1:] + points.fps[1:])
    return precision


def recall_of(points: Points) -> FloatVector:
    """Return the recall at each point."""
    recall: FloatVector = points.tps / points.n_anomalies
    return recall


def roc_area(points: Points) -> float:
    """Return the area under the ROC curve."""
    return area(points.fps / points.n_normals, points.tps / points.n_anomalies)


def partial_area(points: Points, rate: float) -> float:
    """Return the area under the ROC curve up to a false positive rate in (0, 1)."""
    fpr, tpr = points.fps / points.n_normals, points.tps / points.n_anomalies
    stop = int(np.searchsorted(fpr, rate, side="right"))
    step = (rate - fpr[stop - 1]) / (fpr[stop] - fpr[stop - 1])
    end = tpr[stop - 1] + step * (tpr[stop] - tpr[stop - 1])
    return area(np.append(fpr[:stop], rate), np.append(tpr[:stop], end))


def step_area(points: Points) -> float:
    """Return the average precision: the sum of steps of recall with the precision behind each."""
    return float(np.sum(np.diff(recall_of(points)) * precision_of(points)))


def trapezoid_area(points: Points) -> float:
    """Return the area below straight lines between precision-recall points, from (0, 1)."""
    return area(recall_of(points), np.append(1.0, precision_of(points)))


def anchored_area(points: Points) -> float:
    """Return the same from recall 0 with the precision of the first point."""
    precision = precision_of(points)
    return area(recall_of(points), np.append(precision[0], precision))


def sorted_area(points: Points) -> float:
    """Return the same where points of equal recall come in rising order of their precision."""
    tps, precision = points.tps[1:], precision_of(points)
    first = np.append(True, tps[1:] != tps[:-1])
    last = np.append(first[1:], True)
    # The first point of a recall flags the fewest normals: its precision is the highest.
    recall, highest, lowest = tps[first] / points.n_anomalies, precision[first], precision[last]
    if recall[0] > 0:
        recall, lowest = np.append(0.0, recall), np.append(1.0, lowest)
        highest = np.append(1.0, highest)
    else:
        highest[0] = 1.0
    return float(np.sum(np.diff(recall) * (highest[:-1] + lowest[1:])) / 2)


def best_f1_of(points: Points) -> float:
    """Return the best F1 of all points."""
    flagged = points.tps[1:] + points.fps[1:]
    return float(np.max(2 * points.tps[1:] / (flagged + points.n_anomalies)))


def f1_at(points: Points, point: int) -> float:
    """Return the F1 of one point."""
    flagged = points.tps[point] + points.fps[point]
    return float(2 * points.tps[point] / (flagged + points.n_anomalies))


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Input of definitions: labels and scores row by row, and their points in order."""

    labels: LabelVector  # 1 for an anomaly
    scores: FloatVector
    points: Points
    groups: Sequence[IntVector] = ()  # rows of each group

    @cached_property
    def parts(self) -> Sequence["ScoredRows"]:
        """The rows of each group that has both classes."""
        parts = []
        for rows in self.groups:
            labels, scores = self.labels[rows], self.scores[rows]
            if 0 < labels.sum() < labels.shape[0]:
                parts.append(ScoredRows(labels, scores, Points.from_rows(labels, scores)))
        return parts


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A way to compute a number that is printed under the name of a measure."""

    name: str  # definition in a few words
    source: str  # libraries or papers that use it
    measure: str  # key of the measure of fastad that it is taken for
    reason: str  # difference from the measure, in one sentence
    # The number of scored rows; NaN where the definition does not apply to them.
    compute: Callable[[ScoredRows], float]


@dataclass(frozen=True, slots=True)
class CurveSummary:
    """A number of points, and the measure of fastad that it is taken for."""

    name: str
    measure: str
    compute: Callable[[Points], float]


AUC = CurveSummary("area under the ROC curve", "auc", roc_area)
AP = CurveSummary("average precision", "ap", step_area)
TRAPEZOID = CurveSummary("trapezoid area under the precision-recall curve", "ap", trapezoid_area)
BEST_F1 = CurveSummary("best F1", "f1_best", best_f1_of)
PRECISION_AREAS = (AP, TRAPEZOID)
AREAS = (AUC, AP, TRAPEZOID)


def of_other_points(
    change: Callable[[ScoredRows], Points | None],
    what: str,
    source: str,
    reason: str,
    summaries: Sequence[CurveSummary] = AREAS,
) -> list[Definition]:
    """Return the definitions that read a usual summary from unusual points, if there are any."""

    def computed(summary: CurveSummary) -> Callable[[ScoredRows], float]:
        def compute(rows: ScoredRows) -> float:
            points, usual = change(rows), rows.points
            # A change without effect on these rows is no other definition.
            if points is None or all(
                map(np.array_equal, (points.fps, points.tps), (usual.fps, usual.tps))
            ):
                return np.nan
            return summary.compute(points)

        return compute

    return [
        Definition(f"{each.name} of {what}", source, each.measure, reason, computed(each))
        for each in summaries
    ]

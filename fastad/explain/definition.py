"""``Definition``: a way to compute a number that is taken for a measure; summaries of points."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fastad._core.types import FloatVector, IntVector, LabelVector
from fastad.explain.points import Points, best_f1_of, roc_area, step_area, trapezoid_area
from fastad.ordering.counts import OrderedCounts


class ScoredRows:
    """Input of definitions: labels and scores row by row, and their points in order.

    Labels are 1 for an anomaly. ``groups`` has the rows of each group, and is empty without groups.
    """

    def __init__(
        self,
        labels: LabelVector,
        scores: FloatVector,
        points: Points,
        groups: Sequence[IntVector] = (),
    ) -> None:
        self.labels = labels
        self.scores = scores
        self.points = points
        self.groups = groups

    @staticmethod
    def from_counts(
        labels: LabelVector,
        scores: FloatVector,
        counts: OrderedCounts,
        groups: Sequence[IntVector] = (),
    ) -> "ScoredRows":
        """Return rows with the points that were counted already."""
        thresholds = counts.thresholds().astype(np.float64)
        # Counts may lie in memory that is used again.
        points = Points(counts.fps.copy(), counts.tps.copy(), thresholds)
        return ScoredRows(labels, scores, points, groups)

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
            points = change(rows)
            # A change without effect on these rows is no other definition.
            if points is None or points.same_counts(rows.points):
                return np.nan
            return summary.compute(points)

        return compute

    return [
        Definition(f"{each.name} of {what}", source, each.measure, reason, computed(each))
        for each in summaries
    ]
